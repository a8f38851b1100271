"""Logs of nccl-tests and rccl-tests: from lines to runs, with what is doubtful about each.

A log may hold several runs, one after the other or, under the labels of a launcher, between each
other. The file is taken as hostile: it is read line by line, lines are cut, rows and runs bounded.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from gpuflow.errors import ImportFormatError, Problem
from gpuflow.importers import nccl_lines as lines
from gpuflow.importers.nccl_debug import DebugFacts
from gpuflow.importers.nccl_json import MOST_CHARACTERS, table_lines
from gpuflow.importers.nccl_lines import RankLine, RawRow
from gpuflow.scenario.source import file_trouble

MOST_BYTES = 32 << 20
"""Of a log; what follows is not read, and that is said."""
MOST_LINES = 150_000
"""Of a log, likewise."""
LONGEST_LINE = 4096
"""Characters of a line that are looked at."""
MOST_ROWS = 5000
MOST_RUNS = 100
"""Of one log; where more begin, reading stops, and that is said."""
MOST_LABELS = 64
MOST_RANKS_LISTED = 20_000
MOST_ROWS_LOOKED_AT = 60_000
"""Rows of all runs together after which the rest of a log is not read, and that is said."""


@dataclass(slots=True)
class RawRun:
    """One run as its lines say it, nothing concluded yet."""

    file: str
    line: int = 0
    """Of its first line that says anything."""
    options: dict[str, int | str] = field(default_factory=dict)
    ranks: list[RankLine] = field(default_factory=list)
    rows: list[RawRow] = field(default_factory=list)
    collective: str | None = None
    """By a program's name; None where none was seen."""
    has_root: bool | None = None
    n_figures: int = 0
    """Columns of figures, by the row of titles; 0 where none was seen."""
    units: float | None = None
    """Seconds that a figure of time stands for, by the header."""
    is_cpu_time: bool = False
    """Whether the column of times has those of the CPU; bandwidths are the GPU's all the same."""
    average: float | None = None
    wrong: int = 0
    """Values that the foot calls out of bounds."""
    has_foot: bool = False
    has_table: bool = False
    is_elided: bool = False
    headers: int = 0
    """Lines `# nThread ...` before the first row."""
    said_ranks: int | None = None
    failures: list[str] = field(default_factory=list)
    is_doubled: bool = False
    """Whether each line stood there twice, as where output is copied into its own log."""
    is_clipped: bool = False
    """More rows than are read."""
    is_last_read: bool = False
    """More runs follow than are read."""
    is_log_cut: bool = False
    """The log goes on after what is read of it."""
    library: str | None = None
    is_amd: bool = False
    debug: DebugFacts = field(default_factory=DebugFacts)

    @property
    def is_empty(self) -> bool:
        """Whether nothing of a run was seen."""
        return not (self.options or self.ranks or self.rows or self.has_table)


def read_log(path: str) -> tuple[RawRun, ...]:
    """Read the runs of a file; `-` is standard input.

    Raises:
        ImportFormatError: The file is compressed, a folder, a pipe or a device.
        OSError: The file cannot be read.
    """
    if path == "-":
        return _read(_LogLines(sys.stdin.buffer, path), path)
    # however long a log is, only its first part is read
    trouble = file_trouble(Path(path), path, sys.maxsize)
    if trouble is not None:
        if trouble.code == "file_not_regular":
            trouble = replace(trouble, hint="pipe_in")
        raise ImportFormatError([trouble])
    with Path(path).open("rb") as stream:
        try:
            return _read(_LogLines(stream, path), path)
        except OSError as error:
            # Opening names the file in its error; a disk or share that fails later does not.
            values = {"reason": error.strerror or str(error)}
            problem = Problem(code="file_unreadable", file=path, values=values)
            raise ImportFormatError([problem]) from None


def _read(log: _LogLines, path: str) -> tuple[RawRun, ...]:
    table = log.table()
    if table is not None:
        runs = read_runs(table, path)
        for run in runs:
            run.line = 1  # all of the document, whatever line its table would have had it in
        return runs
    runs = read_runs(log, path)
    runs[-1].is_log_cut |= log.is_cut
    return runs


class _LogLines:
    """Lines of text, each cut to a bearable length; UTF-16 as PowerShell writes it, else UTF-8."""

    def __init__(self, stream: BinaryIO, path: str) -> None:
        head = stream.read(4)
        if head[:2] == b"\x1f\x8b" or head[:4] in (b"PK\x03\x04", b"\x28\xb5\x2f\xfd"):
            raise ImportFormatError(
                [Problem(code="nccl_compressed", file=path, hint="nccl_unpack")]
            )
        encoding = "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        self._text = io.TextIOWrapper(
            io.BufferedReader(_Resumed(head, stream)), encoding, errors="replace", newline="\n"
        )
        self._front = io.StringIO()
        """What was read ahead."""
        self.is_cut = False
        """Whether more follows than is read."""

    def table(self) -> list[str] | None:
        """The lines of the table that the file stands for, if it is a JSON document of one."""
        front = self._text.read(1)
        if front == "{":
            front += self._text.read(MOST_CHARACTERS)
        self._front = io.StringIO(front)
        return table_lines(front) if front[:1] == "{" else None

    def _line(self) -> str:
        line = self._front.readline(LONGEST_LINE)
        if not line.endswith("\n") and len(line) < LONGEST_LINE:
            line += self._text.readline(LONGEST_LINE - len(line))
        return line

    def __iter__(self) -> Iterator[str]:
        taken = 0
        for _ in range(MOST_LINES):
            line = self._line()
            if not line:
                return
            taken += len(line)
            yield line
            while len(line) == LONGEST_LINE and not line.endswith("\n") and taken < MOST_BYTES:
                line = self._line()
                taken += len(line)
            if taken >= MOST_BYTES:
                break
        self.is_cut = bool(self._front.read(1) or self._text.read(1))


class _Resumed(io.RawIOBase):
    """A stream whose first bytes have been looked at already."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        super().__init__()
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The first bytes, then the others."""
        found = self._head or self._rest.read(len(buffer))
        self._head = b""
        buffer[: len(found)] = found
        return len(found)


def read_runs(log: Iterable[str], file: str) -> tuple[RawRun, ...]:
    """The runs of a log's lines, in the order in which they begin; at least one.

    Args:
        log: The lines.
        file: The path as the user wrote it.
    """
    reader = _Reader(file)
    has_more = False
    for number, line in enumerate(log, 1):
        has_more = reader.rows >= MOST_ROWS_LOOKED_AT
        if has_more or reader.is_full:
            break
        reader.read(lines.plain(line), number)
    runs = reader.finished()
    runs[-1].is_log_cut = has_more
    return runs


def _count_once(run: RawRun) -> None:
    """Count lines once of which each stands there twice, those of the same process among them."""
    if run.ranks and run.ranks[::2] == run.ranks[1::2] and run.rows[::2] == run.rows[1::2]:
        run.is_doubled = True
        run.rows, run.ranks = run.rows[::2], run.ranks[::2]
        run.headers -= run.headers // 2


class _Reader:
    """Sorts lines into runs, label by label."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._runs: list[RawRun] = []
        self._open: dict[str, RawRun] = {}
        self._debug = DebugFacts()
        self._said: int | None = None
        self._failures: list[str] = []
        self._name: str | None = None
        self._library: str | None = None
        self._is_amd = False
        self.rows = 0
        """Rows of the table seen so far, kept or not."""
        self.is_full = False
        """Whether more runs begin than are read."""

    def finished(self) -> tuple[RawRun, ...]:
        """All runs; what was said outside of any belongs to every one."""
        runs = [run for run in self._runs if not run.is_empty] or [RawRun(self._file)]
        for run in runs:
            _count_once(run)
            run.debug = self._debug
            run.said_ranks = run.said_ranks or self._said
            run.library, run.is_amd = self._library, self._is_amd
            if not run.rows:
                run.failures = run.failures or self._failures[:4]
        alone = runs[0]
        if len(runs) == 1 and alone.collective is None and not alone.rows:
            alone.collective = self._name
        return tuple(runs)

    def _run(self, label: str, number: int) -> RawRun:
        """The run that a label's lines belong to."""
        found = self._open.get(label)
        if found is None:
            if len(self._open) >= MOST_LABELS or len(self._runs) >= MOST_RUNS:
                return self._runs[-1]
            found = RawRun(self._file, line=number, collective=self._name)
            self._open[label] = found
            self._runs.append(found)
        return found

    def _begin(self, label: str, number: int) -> RawRun:
        """A fresh run for a label."""
        if len(self._runs) < MOST_RUNS:
            self._open.pop(label, None)
        elif label in self._open:
            self.is_full = self._runs[-1].is_last_read = True
            return RawRun(self._file)  # takes in what nobody reads
        return self._run(label, number)

    def read(self, line: str, number: int) -> None:
        """Take one line."""
        if not line or line.isspace():
            return
        if "NCCL" in line:
            self._debug.read(line)
        label = lines.label_of(line)
        if self._row(line, label, number):
            return
        if "NCCL INFO" in line or "NCCL WARN" in line:
            self._library = self._library or lines.version_of(line)
            return
        self._program(line, label)
        if self._head(line, label, number):
            return
        self._around(line)
        self._foot(line, label)

    def _row(self, line: str, label: str, number: int) -> bool:
        current = self._open.get(label)
        row = self._read_row(line, current)
        if row is None:
            return False
        self.rows += 1
        run = self._run(label, number)
        if run.has_foot:
            run = self._begin(label, number)
        if len(run.rows) >= MOST_ROWS:
            run.is_clipped = True
            return True
        if not row.is_cut:
            run.has_root = row.root is not None
        run.rows.append(row)
        return True

    @staticmethod
    def _read_row(line: str, run: RawRun | None) -> RawRow | None:
        """A row of the run; without titles it has as many figures as the rows before it."""
        if run is None:
            return lines.read_row(line, None)
        before = max((row.n_printed for row in run.rows[-2:]), default=lines.ALL_FIGURES)
        known = before if before in {3, 4, 6} else lines.ALL_FIGURES
        return lines.read_row(line, run.has_root, run.n_figures or known)

    def _around(self, line: str) -> None:
        """What lines between the tables say."""
        self._library = self._library or lines.version_of(line)
        small = line.lower()
        self._is_amd |= "rccl" in small
        self._said = self._said or lines.said_ranks(line)
        failure = lines.failure_of(line, small)
        if failure and len(self._failures) < MOST_RUNS:
            self._failures.append(failure)
            for run in self._open.values():
                if not run.has_foot and len(run.failures) < 4:
                    run.failures.append(failure)

    def _head(self, line: str, label: str, number: int) -> bool:
        """Take what stands above a table; whether the line was of that kind."""
        if lines.is_options(line):
            run = self._run(label, number)
            if run.rows or run.has_foot or run.failures:
                run = self._begin(label, number)
            run.options = run.options or lines.read_options(line)
            run.headers += 1
        elif rank := lines.read_rank(line):
            run = self._run(label, number)
            if run.has_foot or run.rows:
                run = self._begin(label, number)
            if len(run.ranks) < MOST_RANKS_LISTED:
                run.ranks.append(rank)
        elif lines.is_columns(line):
            run = self._run(label, number)
            if run.rows:
                run = self._begin(label, number)
            run.has_table = True
            run.has_root = lines.has_root_column(line)
            run.n_figures = lines.figures_of(line)
            run.is_cpu_time = lines.has_cpu_time(line)
            run.units = 1e-3 if "bytes" in line and "size" not in line else run.units
        else:
            if "(GB/s)" in line:
                self._run(label, number).units = 1e-3 if "(ms)" in line else 1e-6
            return False
        return True

    def _program(self, line: str, label: str) -> None:
        """The program that a line names."""
        name = lines.collective_of(line)
        if name and "concluded" not in line:
            current = self._open.get(label)
            self._name = name
            if current and not current.rows and current.collective is None:
                current.collective = name

    def _foot(self, line: str, label: str) -> None:
        has_dots = "..." in line or "…" in line
        if has_dots and lines.without_label(line) in {"...", "…"}:
            for one in self._open.values():
                one.is_elided |= not one.has_foot
        run = self._open.get(label)
        if run is None:
            return
        average, wrong = lines.average_of(line), lines.wrong_values(line)
        if average is not None:
            run.average, run.has_foot = average, True
        elif wrong is not None:
            run.wrong = wrong
        elif "Collective test concluded" in line:
            name = lines.collective_of(line)
            run.collective = run.collective or name
            run.has_foot = True
