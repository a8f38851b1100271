"""`gpuflow doctor`: what this terminal can do, and what gpuflow will use of it."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gpuflow.cells import sanitise
from gpuflow.cli.config import config_file, read_config
from gpuflow.cli.output import Output
from gpuflow.cli.streams import Streams
from gpuflow.draw.compact import form_of
from gpuflow.draw.play import fits
from gpuflow.draw.theme import theme_for
from gpuflow.errors import InputError
from gpuflow.exporters.tables import NOTHING, Column, Table, table_of
from gpuflow.units import format_count
from gpuflow.words import report

LINE, WIDE = "─", "\u4e2d"
WIDE_CELLS = 2
"""One cell in most terminals, two where ambiguous characters are wide; two everywhere."""
_VARIABLES = ("TERM", "COLORTERM", "COLORFGBG", "NO_COLOR", "LANG", "LC_ALL", "GPUFLOW_LANG")

Facts = dict[str, object]


def doctor(output: Output) -> int:
    """Print both."""
    has = terminal_facts(output.streams, os.environ)
    use = use_of(has, output)
    if output.format == "json":
        output.document({"inputs": {}, "terminal": has, "use": use})
    elif output.format == "csv":
        rows = [("terminal", has), ("use", use)]
        output.records(
            [
                {"section": section, "name": name, "value": value}
                for section, facts in rows
                for name, value in facts.items()
            ]
        )
    else:
        output.tables(_table("terminal", has, output), _table("use", use, output))
    try:
        read_config(os.environ)
    except InputError as error:
        output.tell(report(error.problems, output.language))
    return 0


def terminal_facts(streams: Streams, environ: Mapping[str, str]) -> Facts:
    """What the terminal says of itself, or answers when it is asked."""
    from gpuflow.tui.asking import asked_widths
    from gpuflow.tui.lifecycle import can_draw, color_count

    size: os.terminal_size | None = None
    for stream in (streams.stderr, streams.stdout):
        try:
            size = size or os.get_terminal_size(stream.fileno())
        except (OSError, ValueError):
            continue
    encoding = getattr(streams.stderr, "encoding", None) or "ascii"
    line, wide = None, None
    if streams.is_terminal():
        keyboard, screen = streams.stdin.fileno(), streams.stderr.fileno()
        line, wide = asked_widths((LINE, WIDE), encoding, keyboard=keyboard, screen=screen)
    return {
        "stdin": streams.stdin.isatty(),
        "stdout": streams.stdout.isatty(),
        "stderr": streams.stderr.isatty(),
        "columns": size.columns if size else None,
        "rows": size.lines if size else None,
        "colours": color_count(dict(environ)),
        "encoding": encoding,
        "can_draw": can_draw(encoding),
        "line_cells": line,
        "wide_cells": wide,
        "tmux": bool(environ.get("TMUX")) or environ.get("TERM", "").startswith("tmux"),
        "screen": bool(environ.get("STY")),
        "ssh": bool(environ.get("SSH_CONNECTION")),
        **{name: environ.get(name) for name in _VARIABLES},
    }


def use_of(has: Facts, output: Output) -> Facts:
    """What `gpuflow play` does with it."""
    from gpuflow.tui.player import default_fps

    columns, rows = has["columns"], has["rows"]
    layout = None
    if isinstance(columns, int) and isinstance(rows, int):
        layout = "full" if fits(columns, rows) else form_of(columns, rows)
    is_played = output.streams.is_terminal() and layout is not None
    colours = has["colours"] if isinstance(has["colours"], int) else 16
    own = output.config
    has_lines = bool(has["can_draw"]) and has["line_cells"] != WIDE_CELLS and not own.is_ascii
    return {
        "mode": "player" if is_played else "text",
        "layout": layout,
        "language": output.language if has_lines else "en",
        "signs": "unicode" if has_lines else "ascii",
        "colour": output.has_color,
        "theme": _theme(own.theme, colours) if output.has_color else None,
        "fps": own.fps or default_fps(os.environ),
        "config": str(path) if (path := config_file(os.environ)) else None,
        "advice": _advice(has),
    }


def _theme(own: str | None, colours: int) -> str:
    return own or theme_for(os.environ, colours=colours)


def _advice(has: Facts) -> str | None:
    """What the user had better do; None when nothing."""
    if has["can_draw"] and has["line_cells"] == WIDE_CELLS:
        return "ascii"
    if not has["can_draw"]:
        return "encoding"
    if has["ssh"] and not has["COLORTERM"] and has["colours"] == 256:
        return "colorterm"
    return None


def _table(section: str, facts: Facts, output: Output) -> Table:
    columns = [Column(output_word(output, "name")), Column(output_word(output, "value"))]
    rows = [
        (output_word(output, f"{section}.{name}"), _value(section, name, value, output))
        for name, value in facts.items()
        if name != "advice"
    ]
    advice = facts.get("advice")
    notes = [output_word(output, f"advice.{advice}")] if advice else []
    return table_of(output_word(output, section), columns, rows, notes)


def output_word(output: Output, key: str) -> str:
    """A word of this verb in the language at hand."""
    from gpuflow.words import t

    return t(f"doctor.{key}", output.language)


def _value(section: str, name: str, value: object, output: Output) -> str:
    if value is None:
        is_asked = name in {"line_cells", "wide_cells"}
        return output_word(output, "unanswered") if is_asked else NOTHING
    if isinstance(value, bool):
        return output_word(output, "yes" if value else "no")
    if name in {"mode", "layout"} and section == "use":
        return output_word(output, f"{name}.{value}")
    if isinstance(value, int):
        return format_count(value)
    return f"{value:g}" if isinstance(value, float) else sanitise(str(value))
