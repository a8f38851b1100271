"""Frames as files to take home: SVG, a web page that needs nothing else, plain text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape

from gpuflow.cells import cell_width
from gpuflow.draw.frame import Frame, Row
from gpuflow.draw.theme import Look, Theme
from gpuflow.exporters.signs import POLYGONS

Titled = tuple[str, Frame]
"""A picture with its title."""

FONT_SIZE = 14
CELL_WIDTH, CELL_HEIGHT = 8.4, 17
"""Of a cell, in pixels; line pieces of monospaced fonts are as tall as that."""
PAD = 10
RARE_SIGNS = frozenset("⏸⏩🔥")
"""What fonts of letters do not have."""
FONTS = (
    "'DejaVu Sans Mono', 'Noto Sans Mono CJK SC', 'Sarasa Mono SC', Menlo, Consolas, "
    "'PingFang SC', 'Microsoft YaHei', monospace"
)


def plain_text(pictures: Sequence[Titled], _theme: Theme, _language: str) -> str:
    """The pictures under each other, one blank line between them."""
    return "\n\n".join(frame.text() for _, frame in pictures)


# ---------------------------------------------------------------- SVG


def svg(pictures: Sequence[Titled], theme: Theme, language: str) -> str:
    """One drawing with all pictures under each other.

    Every character outside ASCII has its own place, so that columns stand straight in any font.
    """
    width = max(frame.width for _, frame in pictures) * CELL_WIDTH + 2 * PAD
    height = sum(frame.height * CELL_HEIGHT + PAD for _, frame in pictures) + PAD
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width)}" height="{_n(height)}"'
        f' viewBox="0 0 {_n(width)} {_n(height)}" xml:lang="{language}">',
        f"<title>{escape(' / '.join(title for title, _ in pictures))}</title>",
        "<style>",
        f"text{{font-family:{FONTS};font-size:{FONT_SIZE}px;white-space:pre}}",
        *_rules(pictures, theme, _svg_rule),
        "</style>",
        f'<rect width="100%" height="100%" fill="{theme.background}"/>',
    ]
    top = float(PAD)
    for _, frame in pictures:
        for y, row in enumerate(frame.rows):
            lines += _svg_row(row, top + y * CELL_HEIGHT, theme)
        top += frame.height * CELL_HEIGHT + PAD
    return "\n".join([*lines, "</svg>"])


def _svg_row(row: Row, top: float, theme: Theme) -> list[str]:
    lines: list[str] = []
    cell = 0
    for text, role in row:
        look = theme.look(role)
        cells = cell_width(text)
        if look.bg != theme.background:
            lines.append(
                f'<rect x="{_n(PAD + cell * CELL_WIDTH)}" y="{_n(top)}"'
                f' width="{_n(cells * CELL_WIDTH)}" height="{CELL_HEIGHT}" fill="{look.bg}"/>'
            )
        lead = len(text) - len(text.lstrip(" "))
        lines += _svg_text(text.strip(" "), cell + lead, top, role)
        cell += cells
    return lines


def _svg_text(text: str, cell: int, top: float, role: str) -> list[str]:
    """Characters, each with its left edge; signs that few fonts have as shapes."""
    shown, places, shapes = "", [], []
    for character in text:
        x = PAD + cell * CELL_WIDTH
        if character in RARE_SIGNS:
            shapes.append(_svg_sign(character, x, top, role))
        else:
            shown += character
            places.append(_n(x))
        cell += cell_width(character)
    line = (
        f'<text class="{role}" y="{_n(top + FONT_SIZE - 1)}" x="{" ".join(places)}">'
        f"{escape(shown)}</text>"
    )
    return [line, *shapes] if shown.strip() else shapes


def _svg_sign(character: str, x: float, top: float, role: str) -> str:
    width = cell_width(character) * CELL_WIDTH
    path = "".join(
        "M" + "L".join(f"{_n(px * width)} {_n(py * CELL_HEIGHT)}" for px, py in polygon) + "Z"
        for polygon in POLYGONS[character]
    )
    return (
        f'<g class="{role}" transform="translate({_n(x)} {_n(top)})">'
        f'<title>{character}</title><path d="{path}"/></g>'
    )


def _svg_rule(look: Look) -> str:
    return f"fill:{look.fg}{_weight(look)}"


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


# ---------------------------------------------------------------- HTML


def html(
    pictures: Sequence[Titled],
    theme: Theme,
    language: str,
    closings: Mapping[str, str] | None = None,
) -> str:
    """A web page with all pictures and links between them; it asks the network for nothing.

    Args:
        pictures: In their order.
        theme: Colours.
        language: Of the page.
        closings: By a picture's title, the sentence under it.
    """
    lang = "zh-CN" if language == "zh" else language
    lines = [
        "<!DOCTYPE html>",
        f'<html lang="{lang}">',
        '<head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>gpuflow: {escape(pictures[0][0])}</title>",
        "<style>",
        f"body{{background:{theme.background};color:{theme.look('text').fg};font-family:{FONTS}}}",
        f"pre{{font-family:inherit;font-size:{FONT_SIZE}px;line-height:{CELL_HEIGHT}px}}",
        f"h2{{font-size:{FONT_SIZE + 2}px}} a{{color:{theme.look('tp').fg}}}",
        "ul{list-style:none;padding:0}",
        "i{font-style:normal;display:inline-block;width:2ch;text-align:center;overflow:hidden;",
        "vertical-align:top}",
        *_rules(pictures, theme, _html_rule),
        "</style></head>",
        "<body>",
    ]
    if len(pictures) > 1:
        links = (
            f'<li><a href="#step-{number}">{escape(title)}</a></li>'
            for number, (title, _) in enumerate(pictures, start=1)
        )
        lines += ["<ul>", *links, "</ul>"]
    for number, (title, frame) in enumerate(pictures, start=1):
        lines.append(f'<h2 id="step-{number}">{escape(title)}</h2>')
        lines.append("<pre>" + "\n".join(map(_html_row, frame.rows)) + "</pre>")
        closing = (closings or {}).get(title, "")
        if closing:
            lines.append(f"<p><strong>{escape(closing)}</strong></p>")
    return "\n".join([*lines, "</body>", "</html>"])


def _html_row(row: Row) -> str:
    return "".join(f'<span class="{role}">{_html_text(text)}</span>' for text, role in row)


def _html_text(text: str) -> str:
    """Wide characters in boxes of two cells, which fonts do not keep to by themselves."""
    return "".join(
        f"<i>{escape(character)}</i>" if cell_width(character) == 2 else escape(character)
        for character in text
    )


def _html_rule(look: Look) -> str:
    return f"color:{look.fg};background:{look.bg}{_weight(look)}"


def _weight(look: Look) -> str:
    bold = ";font-weight:700" if look.bold else ""
    return f"{bold};text-decoration:underline" if look.underline else bold


def _rules(pictures: Sequence[Titled], theme: Theme, rule: Callable[[Look], str]) -> list[str]:
    """A style for every role in the pictures."""
    roles = {run.role for _, frame in pictures for row in frame.rows for run in row}
    return [f".{role}{{{rule(theme.look(role))}}}" for role in sorted(roles)]


WRITERS: Mapping[str, Callable[[Sequence[Titled], Theme, str], str]] = {
    "svg": svg,
    "html": html,
    "txt": plain_text,
}
"""By the name of the form."""
