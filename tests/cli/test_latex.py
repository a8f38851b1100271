"""Tables as LaTeX: every sign stands for itself, and stock LaTeX typesets them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gpuflow.exporters.latex import latex, latex_text
from gpuflow.exporters.tables import Cell, Column, Table

COMMANDS = (
    ("table",),
    ("estimate",),
    ("estimate", "--explain"),
    ("compare", "gpu=h100", "gpu=mi300x"),
    ("collective", "all_reduce", "--sizes", "1KiB..1MiB"),
    ("list",),
    ("show", "fabric", "pcie-5-bridge"),
    ("doctor",),
)
AWKWARD = r"50 % of $x_1$ & #2 ~ ^ {a} \frac <b> |c| `d` --e ''f'' [g] *h* " + '"i"'


def test_every_sign_is_escaped() -> None:
    text = latex_text(AWKWARD)
    left = re.sub(r"\\[A-Za-z]+\{\}|\\[%$&#_{}]|\{[\[*]?\}", " ", text)
    assert not re.search(r"[%$&#_^~\\<>|`\"*{}]|--|''", left)
    assert (
        latex_text("µs → 2 × 3")
        == r"\ensuremath{\mu}s \ensuremath{\rightarrow} 2 \ensuremath{\times} 3"
    )
    assert latex_text("🟦 TP") == "TP"


def test_structure() -> None:
    table = Table(
        title="All_reduce",
        columns=(Column("name"), Column("value", "right"), Column("about")),
        rows=(
            (Cell("[a]"), Cell("1\n2"), Cell("x" * 40 + "\ny")),
            (Cell("b"), Cell("3"), Cell("")),
        ),
        notes=("one & two",),
    )
    lines = latex(table).splitlines()
    assert lines[0] == r"\subsection*{All\_reduce}"
    assert r"\begin{tabular}{lrp{4.5cm}}" in lines
    rows = [line for line in lines if line.endswith(r"\\")]
    assert all(len(re.split(r"(?<!\\)&", row)) == 3 for row in rows)
    assert rows[1].startswith(r"{[}a] & \shortstack[r]{1 \\ 2} & ")
    assert lines[-2:] == [r"\item one \& two", r"\end{itemize}"]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_english_needs_no_font_of_its_own(command: tuple[str, ...], gpuflow: Any) -> None:
    text = gpuflow(*command, "--format", "latex", "--lang", "en").out
    assert r"\begin{tabular}" in text
    assert text.isascii()


def test_verbs_without_tables_have_no_latex(gpuflow: Any) -> None:
    for verb in ("card", "play", "new", "schema"):
        assert gpuflow(verb, "--format", "latex").code == 2


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_stock_latex_typesets_them(gpuflow: Any, tmp_path: Path) -> None:
    parts = [gpuflow(*one, "--format", "latex", "--lang", "en").out for one in COMMANDS]
    table = Table(title=AWKWARD, columns=(Column(AWKWARD),), rows=((Cell(AWKWARD),),) * 2)
    body = "\n\n".join([*parts, latex(table)])
    head = "\\documentclass{article}\n\\usepackage[T1]{fontenc}\n\\usepackage{textcomp}\n"
    file = tmp_path / "tables.tex"
    file.write_text(f"{head}\\begin{{document}}\n{body}\n\\end{{document}}\n", "utf-8")
    done = subprocess.run(
        ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", file.name],
        cwd=tmp_path,
        capture_output=True,
        encoding="latin-1",
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert file.with_suffix(".pdf").exists()
