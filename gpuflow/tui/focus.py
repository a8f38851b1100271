"""What of the cluster the play screen looks at, as the keys z, Z, [, ] and f change it."""

from __future__ import annotations

from dataclasses import replace

from gpuflow.cluster.mesh import Mesh
from gpuflow.draw.focus import Focus, followed, moved, zoomed


class Focusing:
    """The focus of one play screen.

    Args:
        focus: What to look at first; None: everything.
    """

    def __init__(self, focus: Focus | None) -> None:
        self.focus = focus

    def within(self, mesh: Mesh) -> Focus | None:
        """The focus on a mesh, which may have fewer GPUs than the one it was set on."""
        if self.focus is not None and self.focus.rank >= mesh.n_ranks:
            self.focus = replace(self.focus, rank=mesh.n_ranks - 1)
        return self.focus

    def zoom(self, mesh: Mesh, way: int) -> bool:
        """Nearer (1) or farther (-1); whether that was possible."""
        return self._set(zoomed(self.within(mesh), mesh, way))

    def move(self, mesh: Mesh, way: int, at_work: int | None) -> bool:
        """To the next (1) or previous (-1) of what is shown; whether there is one to choose."""
        return self._set(moved(self.within(mesh), mesh, way, at_work))

    def follow(self, mesh: Mesh, at_work: int | None) -> None:
        """Follow the rank in the middle of the view, or let go of it."""
        self._set(followed(self.within(mesh), mesh, at_work))

    def _set(self, focus: Focus | None) -> bool:
        is_new = focus != self.focus
        self.focus = focus
        return is_new
