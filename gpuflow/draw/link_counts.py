"""Links told by their number, where they are too many to draw one by one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from gpuflow.cluster.mesh import Groups, Mesh
from gpuflow.draw.links import flow_labels, flow_role
from gpuflow.draw.view import PlayView
from gpuflow.scenario.spec import ClusterSpec, GroupName

FEW = 8
"""GPUs of a stage from which on its links are counted."""


def inside_forms(view: PlayView, stage: int, *, gpus: int | None = None) -> list[str]:
    """The links within a stage, longest form first; empty where nothing is split.

    Args:
        view: The moment.
        stage: Of the pipeline.
        gpus: How many of its GPUs are in the picture; None: all.
    """
    p = view.scene.mesh.parallel
    n_gpus = p.tp * p.dp if gpus is None else gpus
    parts: list[tuple[str, GroupName, int]] = []
    if p.tp > 1:
        parts.append(("TP", "tp", max(n_gpus // p.tp, 1)))
    if view.scene.has_dispatch:
        parts.append(("EP", "ep", max(n_gpus // p.ep, 1)))
    long, short = [], []
    for name, kind, groups in parts:
        count = f"{name} ×{groups:,}" if groups > 1 else name
        long.append(f"{count} · {_links(view, kind, stage, n_gpus)}")
        short.append(count)
    return [" · ".join(long), " · ".join(short)] if parts else []


def between_forms(view: PlayView, upper: int) -> list[str]:
    """The links from a stage to the next, longest form first."""
    p = view.scene.mesh.parallel
    pairs = p.tp * p.dp
    name = f"PP ×{pairs:,}" if pairs > 1 else "PP"
    if pairs < FEW:
        return [name]
    cluster = view.scene.timeline.scenario.cluster
    is_far = _hops_cross(view.scene.mesh, upper)
    links = _counted(cluster, pairs, is_far=is_far)
    is_said = not is_far or cluster.gpus_per_nic == 1
    return [f"{'PP' if is_said else name} · {links}", name]


def crossing_forms(view: PlayView, counts: Sequence[str]) -> list[str]:
    """What moves between two stages, longest form first.

    Args:
        view: The moment.
        counts: The links of the hand-over; another message that passes there goes by its own name.
    """
    if flow_role(view.state.span) != "pp":
        return flow_labels(view, with_name=True)
    forms = flow_labels(view, with_name=False)
    return [f"{count} · {form}" for count in counts for form in forms]


def busy_forms(view: PlayView, *, counted: bool = True) -> list[str]:
    """What moves inside a stage and in how many groups at once, longest form first."""
    forms = flow_labels(view, with_name=True)
    span = view.state.span
    if not counted or span is None or span.stage is None or len(span.groups) < 2:
        return forms
    return [f"{len(span.groups):,} × {form}" for form in forms]


def _links(view: PlayView, kind: GroupName, stage: int, gpus: int) -> str:
    cluster = view.scene.timeline.scenario.cluster
    return _counted(cluster, gpus, is_far=_cross(view.scene.mesh, kind, stage))


def _counted(cluster: ClusterSpec, gpus: int, *, is_far: bool) -> str:
    """So many ports of the fabric that these GPUs use: a GPU's own, or its share of a NIC."""
    if is_far:
        return f"{-(-gpus // cluster.gpus_per_nic):,} × {cluster.scale_out.title}"
    return f"{gpus:,} × {cluster.scale_up.title}"


@lru_cache(maxsize=256)
def _cross(mesh: Mesh, kind: GroupName, stage: int) -> bool:
    return mesh.crosses_nodes(mesh.groups(kind, stage))


@lru_cache(maxsize=256)
def _hops_cross(mesh: Mesh, upper: int) -> bool:
    groups: Groups = mesh.hops(upper)
    return mesh.crosses_nodes(groups)
