"""Recordings: asciicast version 2, one JSON document a line, as `asciinema play` reads them.

The clock is the play's own and the differences between frames are worked out from the frames, so
the same scenario and options give the same bytes on every machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from gpuflow.draw.changes import changed_span
from gpuflow.draw.frame import Frame, Row
from gpuflow.draw.theme import MONOCHROME, Theme
from gpuflow.exporters.film import Film, row_part

_ATTRIBUTES = {"bold": 1, "dim": 2, "underline": 4, "reverse": 7}
_FIRST_S = 0.5
"""How long the first picture stands."""


def recording(
    film: Film,
    theme: Theme,
    *,
    first_s: float,
    last_s: float,
    fps: float,
    speed: float = 1.0,
    has_color: bool = True,
    sizes: Sequence[tuple[float, int, int]] = (),
) -> Iterator[str]:
    """The lines of a recording.

    Args:
        film: What is played.
        theme: Its colours.
        first_s: Screen second of the first picture.
        last_s: Screen second of the last picture.
        fps: Pictures per second of the recording.
        speed: Screen seconds per second of the recording.
        has_color: False: attributes such as bold alone.
        sizes: (seconds, columns, rows): sizes that the screen takes on while it is recorded, by
            seconds after the first picture; before the first of them it is the film's own.

    Yields:
        A line, without its end.
    """
    title = f"gpuflow · {film.scene.timeline.scenario.name}"
    header = {"version": 2, "width": film.columns, "height": film.rows, "title": title}
    header["env"] = {"TERM": "xterm-256color"}
    yield json.dumps(header, ensure_ascii=False)
    painter = _Painter(theme, has_color=has_color)
    shown = film.frame(first_s)
    yield _event(0.0, f"\x1b[?25l\x1b[2J{painter.whole(shown)}")
    changing = sorted(sizes, key=lambda change: change[0])
    count = 1 + int(max(last_s - first_s, 0.0) / speed * fps)
    for index in range(1, count + 1):
        is_last = index == count
        screen_s = last_s if is_last else first_s + index / fps * speed
        size = (shown.width, shown.height)
        while changing and changing[0][0] <= index / fps:
            size = changing.pop(0)[1:]
        frame = film.frame(screen_s, is_playing=not is_last, speed=speed, size=size)
        if (frame.width, frame.height) != (shown.width, shown.height):
            yield _event(_FIRST_S + index / fps, f"{frame.width}x{frame.height}", kind="r")
            yield _event(_FIRST_S + index / fps, f"\x1b[0m\x1b[2J{painter.whole(frame)}")
        elif changes := painter.changes(shown, frame):
            yield _event(_FIRST_S + index / fps, changes)
        shown = frame
    yield _event(_FIRST_S + (count + 1) / fps, f"\x1b[0m\x1b[{shown.height};1H\x1b[?25h")


def _event(time_s: float, data: str, *, kind: str = "o") -> str:
    """Output ("o"), or the terminal's new size ("r")."""
    return json.dumps([round(time_s, 6), kind, data], ensure_ascii=False)


class _Painter:
    """Rows as a terminal takes them."""

    def __init__(self, theme: Theme, *, has_color: bool) -> None:
        self._theme = theme
        self._has_color = has_color
        self._styles: dict[str, str] = {}

    def whole(self, frame: Frame) -> str:
        return "".join(self._row(0, y, row) for y, row in enumerate(frame.rows))

    def changes(self, before: Frame, after: Frame) -> str:
        parts: list[str] = []
        for y, (old, new) in enumerate(zip(before.rows, after.rows, strict=True)):
            span = changed_span(old, new)
            if span is not None:
                parts.append(self._row(span[0], y, row_part(new, *span)))
        return "".join(parts)

    def _row(self, x: int, y: int, row: Row) -> str:
        return f"\x1b[{y + 1};{x + 1}H" + "".join(self._style(run.role) + run.text for run in row)

    def _style(self, role: str) -> str:
        if role not in self._styles:
            self._styles[role] = self._sequence(role)
        return self._styles[role]

    def _sequence(self, role: str) -> str:
        look = self._theme.look(role)
        if self._has_color:
            names = [name for name in _ATTRIBUTES if getattr(look, name)]
            colours = f";38;2;{_channels(look.fg)};48;2;{_channels(look.bg)}"
        else:
            names = [name for name in _ATTRIBUTES if name in MONOCHROME.get(role, frozenset())]
            colours = ""
        return f"\x1b[0{''.join(f';{_ATTRIBUTES[name]}' for name in names)}{colours}m"


def _channels(colour: str) -> str:
    return ";".join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))
