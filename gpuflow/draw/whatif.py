"""The what-if panel: what may be changed, and under or beside it what the changes make of it all.

A changed value has a dot before it and the original behind it; a figure that follows has an arrow.
Where rows are few the knobs are a window around the chosen one, and the figures have pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuflow.cells import cell_width, clip, pad
from gpuflow.cluster.mesh import mesh_of
from gpuflow.draw.canvas import Canvas, Piece, Rect
from gpuflow.draw.view import Scene, WhatIfPanel
from gpuflow.draw.whatif_figures import Line, difference_lines
from gpuflow.draw.wrap import wrap
from gpuflow.scenario import catalog
from gpuflow.scenario.spec import Language, Scenario
from gpuflow.words import problem_text, t

if TYPE_CHECKING:
    from gpuflow.engine.whatif import Knob, KnobId, Value

CHOSEN, CHANGED = "▸", "●"
TWO_COLUMNS = 74
"""Cells inside the frame from which knobs and figures stand beside each other where rows lack."""
LEAST_KNOBS, LEAST_LINES = 3, 3
SHORT_MARK, LONG_MARK = 26, 44
"""Cells of a header of 80 cells, and of one of 120, for what was changed."""


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the parts of a panel stand."""

    knobs: Rect
    note: Rect
    lines: Rect


def draw_panel(canvas: Canvas, scene: Scene, panel: WhatIfPanel, area: Rect) -> None:
    """The whole panel in a frame.

    Args:
        canvas: Where to draw.
        scene: The present scenario, in a language.
        panel: What is shown.
        area: Its place, frame included.
    """
    places, pages = _laid_out(scene, panel, area)
    title = scene.word("whatif.busy") if panel.is_busy else scene.word("whatif.title")
    page = panel.page % len(pages)
    mark = f"[⇥ {page + 1}/{len(pages)}]" if len(pages) > 1 else ""
    canvas.box(area, "border_lit", foot=_keys(scene, area.width - 6))
    canvas.head_box(area, (Piece(title, "title"),), (Piece(mark, "tab_open"),))
    _knobs(canvas, scene, panel, places.knobs)
    _note(canvas, scene, panel, places.note)
    for y, line in enumerate(pages[page], start=places.lines.y):
        canvas.put_pieces(places.lines.x, y, line, width=places.lines.width)


def panel_pages(scene: Scene, panel: WhatIfPanel, area: Rect) -> int:
    """Pages of the figures."""
    return len(_laid_out(scene, panel, area)[1])


def rows_needed(panel: WhatIfPanel) -> int:
    """Rows, frame included, that show every knob beside the figures."""
    return len(panel.knobs) + 3


def rows_wanted(scene: Scene, panel: WhatIfPanel, width: int) -> int:
    """Rows, frame included, that show every knob above all figures."""
    return rows_needed(panel) + len(difference_lines(scene, panel.difference, width - 4))


def changes_text(scene: Scene, knobs: Sequence[Knob], room: int = SHORT_MARK) -> str:
    """What was changed, in so many cells of a header; empty where nothing was."""
    changed = [knob for knob in knobs if knob.is_changed]
    if not changed:
        return ""
    scenario, language = scene.timeline.scenario, scene.language
    told = [
        f"{knob_name(knob.id, language)} {_original_text(knob, language)}→"
        f"{value_text(knob.id, knob.value, scenario, language)}"
        for knob in changed
    ]
    while len(told) > 1 and cell_width(_listed(told, len(changed))) > room:
        told.pop()
    return clip(_listed(told, len(changed)), room)


def _original_text(knob: Knob, language: Language) -> str:
    """What a knob was; the machines' own fabrics go without saying."""
    return value_text(knob.id, knob.original, None, language) if knob.original else ""


def _listed(told: Sequence[str], n_changed: int) -> str:
    rest = n_changed - len(told)
    return " · ".join([*told, *([f"+{rest}"] if rest else [])])


# ---------------------------------------------------------------- words


def knob_name(name: KnobId, language: Language) -> str:
    """What a knob is called."""
    return t(f"whatif.knob.{name}", language)


def value_text(name: KnobId, value: Value, scenario: Scenario | None, language: Language) -> str:
    """A value as people read it.

    Args:
        name: Whose.
        value: Which.
        scenario: Has it, where it is one that only the scenario can spell out.
        language: In which language.
    """
    if name == "gpu":
        return catalog.device(str(value)).title
    if name == "fabric":
        return _fabric_text(value, scenario, language)
    if name == "profile":
        return catalog.profile(str(value)).title.in_language(language)
    return str(value)


def _fabric_text(value: Value, scenario: Scenario | None, language: Language) -> str:
    if value:
        return catalog.fabric(str(value)).title
    if scenario is None:
        return t("whatif.own", language)
    cluster = scenario.cluster
    titles = [cluster.scale_up.title]
    if mesh_of(scenario).n_nodes > 1:
        titles.append(cluster.scale_out.title)
    return " + ".join(titles)


def _keys(scene: Scene, room: int) -> tuple[Piece, ...]:
    """Which key does what, as much of it as fits."""
    forms = [scene.word(f"whatif.keys.{name}") for name in ("long", "medium", "short")]
    text = next((form for form in forms if cell_width(form) <= room), "")
    return (Piece(text, "key"),) if text else ()


# ---------------------------------------------------------------- places


def _laid_out(scene: Scene, panel: WhatIfPanel, area: Rect) -> tuple[_Places, list[list[Line]]]:
    inner, n = area.inner(1), len(panel.knobs)
    note = max(len(_note_lines(scene, panel, inner.width)), 1)
    note = min(note, 2 if inner.height >= LEAST_KNOBS + LEAST_LINES + 2 else 1)
    if inner.width >= TWO_COLUMNS and inner.height < n + 24:
        left = inner.width * 44 // 100
        height = max(inner.height - note, 1)
        places = _Places(
            Rect(inner.x, inner.y, left, height),
            Rect(inner.x, inner.y + height, inner.width, note),
            Rect(inner.x + left + 2, inner.y, inner.width - left - 2, height),
        )
    else:
        least = min(n, max(LEAST_KNOBS, (inner.height - note) // 2))
        lines = difference_lines(scene, panel.difference, inner.width)
        shown = min(n, max(inner.height - note - len(lines), least))
        rest = max(inner.height - shown - note, 1)
        places = _Places(
            Rect(inner.x, inner.y, inner.width, shown),
            Rect(inner.x, inner.y + shown, inner.width, note),
            Rect(inner.x, inner.y + shown + note, inner.width, rest),
        )
    lines = difference_lines(scene, panel.difference, places.lines.width)
    return places, _pages(lines, places.lines.height)


def _pages(lines: list[Line], height: int) -> list[list[Line]]:
    """Lines in pages of so many rows."""
    height = max(height, 1)
    return [lines[start : start + height] for start in range(0, len(lines), height)]


# ---------------------------------------------------------------- parts


def _knobs(canvas: Canvas, scene: Scene, panel: WhatIfPanel, area: Rect) -> None:
    """As many as there are rows for, the chosen one among them."""
    first = min(max(panel.row - area.height // 2, 0), max(len(panel.knobs) - area.height, 0))
    width = max(cell_width(knob_name(knob.id, scene.language)) for knob in panel.knobs) + 1
    for y, knob in enumerate(panel.knobs[first : first + area.height], start=area.y):
        is_chosen = y - area.y + first == panel.row
        pieces = _knob(scene, knob, width, area.width, is_chosen=is_chosen)
        canvas.put_pieces(area.x, y, pieces, width=area.width)


def turn_signs(knob: Knob) -> tuple[str, str]:
    """Signs at the value's sides for the ways it can be turned: numbers end, names go round."""
    if knob.lock:
        return " ", " "
    is_number = isinstance(knob.value, int)
    return (
        " " if is_number and knob.value == knob.values[0] else "‹",
        " " if is_number and knob.value == knob.values[-1] else "›",
    )


def _knob(scene: Scene, knob: Knob, width: int, room: int, *, is_chosen: bool) -> tuple[Piece, ...]:
    language, scenario = scene.language, scene.timeline.scenario
    value = value_text(knob.id, knob.value, scenario, language)
    was = ""
    if knob.is_changed:
        original = value_text(knob.id, knob.original, None, language)
        was = f" {scene.word('whatif.was', value=original)}"
    value_room = max(room - width - 7, 4)
    if cell_width(value) + cell_width(was) > value_room:
        was = clip(was, max(value_room - cell_width(value), value_room // 3, 0))
        value = clip(value, max(value_room - cell_width(was), 4))
    left, right = turn_signs(knob)
    role = "accent" if knob.is_changed else "strong" if is_chosen else "text"
    return (
        Piece(CHOSEN if is_chosen else " ", "accent"),
        Piece(CHANGED if knob.is_changed else " ", "accent"),
        Piece(pad(knob_name(knob.id, language), width), "tab_open" if is_chosen else "dim"),
        Piece(f"{left} " if is_chosen else "  ", "key"),
        Piece(value, "dim" if knob.lock else role),
        Piece(f" {right}" if is_chosen else "  ", "key"),
        Piece(was, "dim"),
    )


def _note(canvas: Canvas, scene: Scene, panel: WhatIfPanel, area: Rect) -> None:
    """Why something cannot be had, else a line."""
    lines = _note_lines(scene, panel, area.width)
    if not lines:
        canvas.hline(area.x, area.y, area.width)
        return
    role = "dim" if panel.refused is None else "warn"
    for y, line in enumerate(lines[: area.height], start=area.y):
        is_cut = y - area.y + 1 == area.height < len(lines)
        canvas.put(area.x, y, f"{line}…" if is_cut else line, role, width=area.width)


def _note_lines(scene: Scene, panel: WhatIfPanel, width: int) -> list[str]:
    language = scene.language
    if panel.refused is not None:
        name, value, problem = panel.refused
        message, _ = problem_text(problem, language)
        told = scene.word(
            "whatif.refused",
            knob=knob_name(name, language),
            value=value_text(name, value, None, language),
            why=message,
        )
        return wrap(told, width - 1)
    lock = panel.knobs[panel.row].lock
    return wrap(scene.word(f"whatif.lock.{lock}"), width - 1) if lock else []
