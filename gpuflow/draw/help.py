"""The help screen: every key with what it does, and how to read the picture."""

from __future__ import annotations

from gpuflow.cells import cell_width
from gpuflow.draw.bound import keys_shown
from gpuflow.draw.canvas import Piece
from gpuflow.draw.frame import Frame
from gpuflow.draw.gpu import FAST, SIGNS
from gpuflow.draw.keys import EXPLORE_HELP_KEYS, HELP_KEYS
from gpuflow.draw.links import ACROSS, DOWN
from gpuflow.draw.page import Block, Line, Page
from gpuflow.draw.view import Scene

_BARRED = frozenset({"palette", "suspend"})
"""Keys that do nothing where strangers watch."""
READING = ("clock", "slow", "kv", "numbers", "rate", "fold", "tiles", "experts", "copy")


def draw_help(scene: Scene, width: int, *, is_kiosk: bool = False) -> Frame:
    """The whole screen at a width.

    Args:
        scene: Language and keys.
        width: Cells.
        is_kiosk: Whether strangers watch, who must not reach a shell or a file.
    """
    page = Page(width)
    page.words(Piece(scene.word("app.title"), "title"))
    page.paragraph(scene.word("app.subtitle"), "subtitle")
    blocks = (_keys(scene, is_kiosk=is_kiosk), _explore_keys(scene), _signs(scene), _reading(scene))
    if width >= 110:
        page.columns((blocks[:2], blocks[2:]))
    else:
        for block in blocks:
            page.beside((block,))
    return page.to_frame()


def _keys(scene: Scene, *, is_kiosk: bool) -> Block:
    barred = _BARRED if is_kiosk else frozenset()
    shown = {
        key.id: keys_shown(key.id, key.show, scene.bound, is_short=False)
        for key in HELP_KEYS
        if key.id not in barred
    }
    indent = max(map(cell_width, shown.values())) + 2
    lines = tuple(
        Line(scene.t(f"help.{name}"), indent=indent, bullet=keys) for name, keys in shown.items()
    )
    return Block(title=(Piece(scene.t("help.keys"), "title"),), lines=lines)


def _explore_keys(scene: Scene) -> Block:
    """The explorer's own keys; T, L, ?, Esc and q do there what they do everywhere."""
    shown = {
        key.id: keys_shown(f"explore.{key.id}", key.show, scene.bound, is_short=False)
        for key in EXPLORE_HELP_KEYS
    }
    indent = max(map(cell_width, shown.values())) + 2
    lines = tuple(
        Line(scene.word(f"explore.help.{key.id}"), indent=indent, bullet=shown[key.id])
        for key in EXPLORE_HELP_KEYS
    )
    return Block(title=(Piece(scene.word("explore.help.title"), "title"),), lines=lines)


def _signs(scene: Scene) -> Block:
    roles = {"compute": "compute", "wait": "wait", "idle": "wait", "host": "host"}
    lines = [
        Line(
            pieces=(
                Piece(f"{sign} ", roles.get(activity, "tp")),
                Piece(scene.t(f"help.state.{activity}")),
            )
        )
        for activity, sign in SIGNS.items()
    ]
    lines.append(Line(pieces=(Piece(f"{FAST} ", "compute"), Piece(scene.t("help.state.fast")))))
    for name in ("tp", "pp", "ep"):
        line = DOWN[name] if name == "pp" else ACROSS[name] * 2
        title, text = scene.word(f"legend.{name}.title"), scene.word(f"legend.{name}.text")
        lines.append(
            Line(pieces=(Piece(f"{line.ljust(2)} ", name), Piece(title), Piece(f"  {text}", "dim")))
        )
    return Block(title=(Piece(scene.t("help.signs"), "title"),), lines=tuple(lines))


def _reading(scene: Scene) -> Block:
    lines = tuple(Line(scene.t(f"help.read.{name}"), indent=2, bullet="•") for name in READING)
    return Block(title=(Piece(scene.t("help.reading"), "title"),), lines=lines)
