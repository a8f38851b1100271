"""Tables for a LaTeX document: a fragment that stock packages typeset, to be taken in by "input".

Only what the base of LaTeX has is used: sections, `tabular`, lists. Fonts in the T1 encoding are
expected, and signs that they lack are written as commands; Chinese needs XeLaTeX or LuaLaTeX with
a font that has it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gpuflow.cells import cell_width
from gpuflow.exporters.tables import Cell, Table, clean

_WIDEST = 30
"""Cells of a text column that is not folded."""
_FOLDED = "p{4.5cm}"

_SIGNS: Mapping[str, str] = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    # Right after a row's end these would be read as its options.
    "[": "{[}",
    "*": "{*}",
}
_OUTSIDE_FONTS: Mapping[str, str] = {
    "µ": r"\mu",
    "μ": r"\mu",
    "α": r"\alpha",
    "β": r"\beta",
    "γ": r"\gamma",
    "η": r"\eta",
    "λ": r"\lambda",
    "ν": r"\nu",
    "ρ": r"\rho",
    "Δ": r"\Delta",
    "×": r"\times",
    "÷": r"\div",
    "·": r"\cdot",
    "±": r"\pm",
    "−": "-",
    "≈": r"\approx",
    "≥": r"\geq",
    "≤": r"\leq",
    "→": r"\rightarrow",
    "←": r"\leftarrow",
    "⇄": r"\leftrightarrow",
    "⇒": r"\Rightarrow",
    "∞": r"\infty",
    "²": "^2",
    "³": "^3",
    "✓": r"\surd",
    "✗": r"\times",
}
_PLAIN: Mapping[str, str] = {"–": "--", "—": "---", "…": r"\ldots{}", "\u00a0": "~", "\u202f": "~"}
_COMMANDS = str.maketrans(
    {
        **_SIGNS,
        **{sign: rf"\ensuremath{{{command}}}" for sign, command in _OUTSIDE_FONTS.items()},
        **_PLAIN,
    }
)
_PICTURES = re.compile("[\U0001f000-\U0001faff\u2600-\u26ff\ufe0f]+ ?")
"""Coloured signs, which go before words that say the same."""
_JOINED = re.compile(r"(?<=-)(?=-)|(?<=')(?=')|(?<=,)(?=,)")
"""Between signs that LaTeX would make into one: two hyphens, quotes or commas."""


def latex_text(text: str) -> str:
    r"""Text in which no sign means anything to LaTeX.

    Example:
        >>> print(latex_text("50 % of all_reduce, --tp 4"))
        50 \% of all\_reduce, -{}-tp 4
    """
    parts = _JOINED.split(_PICTURES.sub("", text))
    return "{}".join(part.translate(_COMMANDS) for part in parts)


def latex(table: Table) -> str:
    """A section with the table's title, its sentences, its rows and its notes."""
    table = clean(table)
    blocks = [rf"\subsection*{{{latex_text(table.title)}}}"] if table.title else []
    blocks += [latex_text(sentence) for sentence in table.intro]
    if table.columns:
        blocks.append(_tabular(table))
    if table.notes:
        items = (rf"\item {latex_text(note)}" for note in table.notes)
        blocks.append("\n".join([r"\begin{itemize}", *items, r"\end{itemize}"]))
    return "\n\n".join(blocks)


def _tabular(table: Table) -> str:
    titles = [Cell(column.title) for column in table.columns]
    columns = [
        _column([titles[index], *(row[index] for row in table.rows)], column.align == "right")
        for index, column in enumerate(table.columns)
    ]
    lines = [
        r"\noindent",
        rf"\begin{{tabular}}{{{''.join(columns)}}}",
        r"\hline",
        _row(titles, columns),
        r"\hline",
        *(_row(row, columns) for row in table.rows),
        r"\hline",
        r"\end{tabular}",
    ]
    return "\n".join(lines)


def _column(cells: Sequence[Cell], is_right: bool) -> str:
    """How a column stands: text that is long is folded."""
    widest = max(cell_width(line) for cell in cells for line in cell.text.split("\n"))
    if is_right:
        return "r"
    return _FOLDED if widest > _WIDEST else "l"


def _row(cells: Sequence[Cell], columns: Sequence[str]) -> str:
    texts = (_cell(cell.text, column) for cell, column in zip(cells, columns, strict=True))
    return f"{' & '.join(texts)} \\\\"


def _cell(text: str, column: str) -> str:
    """A cell's lines under each other."""
    lines = [latex_text(line) for line in text.split("\n")]
    if len(lines) == 1:
        return lines[0]
    if column == _FOLDED:
        return r" \newline ".join(lines)
    stacked = r" \\ ".join(lines)
    return rf"\shortstack[{column}]{{{stacked}}}"
