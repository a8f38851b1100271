"""Published measurements as CSV files; what a file holds is told by its columns, not its name."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from itertools import islice
from pathlib import Path

from gpuflow.engine.accuracy import Measurement, MeasurementKind
from gpuflow.errors import ImportFormatError, Problem
from gpuflow.scenario.source import file_trouble

MOST_FILES = 64
MOST_BYTES = 4 << 20
MOST_ROWS = 5_000
"""Of a file: each row is predicted, which is work."""

_NEEDED: Mapping[MeasurementKind, frozenset[str]] = {
    "collective": frozenset({"gpu", "ranks", "nodes", "collective", "kernel", "size_bytes"}),
    "gemm": frozenset({"operator", "model", "gpu", "tp", "tokens", "time_us"}),
    "inference": frozenset({"engine", "model", "gpu", "tp", "pp", "batch", "metric", "value"}),
    "kv_transfer": frozenset({"model", "fabric", "tokens", "size_bytes", "time_ms"}),
    "expert": frozenset({"gpu", "ep", "tokens_per_rank", "op", "kernel", "time_us"}),
    "serving": frozenset({"backend", "model", "gpu", "concurrency", "ttft_ms", "tpot_ms"}),
}
"""Columns that make a file one of the kinds; it may have more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """All measurements of a folder."""

    rows: tuple[Measurement, ...]
    skipped: tuple[str, ...]
    """CSV files whose columns are not known."""


def shipped_truth() -> Path:
    """The folder of measurements that comes with the program."""
    return Path(str(resources.files("gpuflow"))) / "data" / "truth"


def read_truth(folder: Path) -> Truth:
    """Read every CSV file of a folder.

    Raises:
        ImportFormatError: There is no such folder, no file of a known kind in it, too many of
            them, or one that is far too large or no CSV text in UTF-8.
    """
    if not folder.is_dir():
        code = "truth_is_file" if folder.exists() else "truth_no_folder"
        raise ImportFormatError([Problem(code=code, file=str(folder))])
    rows: list[Measurement] = []
    skipped: list[str] = []
    problems: list[Problem] = []
    paths = sorted(islice(folder.glob("*.csv"), MOST_FILES + 1))
    if len(paths) > MOST_FILES:
        values = {"limit": MOST_FILES}
        raise ImportFormatError([Problem(code="truth_files", file=str(folder), values=values)])
    for path in paths:
        try:
            records = _records(path)
        except ImportFormatError as error:
            problems += error.problems
            continue
        except (UnicodeDecodeError, csv.Error) as error:
            problems.append(
                Problem(code="truth_unreadable", file=str(path), values={"reason": str(error)})
            )
            continue
        kind = _kind(records)
        if kind is None:
            skipped.append(path.name)
        else:
            rows += [Measurement(file=path.name, kind=kind, columns=record) for record in records]
    if not rows and not problems:
        problems.append(Problem(code="truth_no_rows", file=str(folder)))
    if problems:
        raise ImportFormatError(problems)
    return Truth(rows=tuple(rows), skipped=tuple(skipped))


def _records(path: Path) -> list[dict[str, str]]:
    """Rows by column name; a short row has empty fields at its end.

    Raises:
        ImportFormatError: It is no regular file, or a far too large one.
    """
    trouble = file_trouble(path, str(path), MOST_BYTES)
    if trouble is not None:
        raise ImportFormatError([replace(trouble, hint="")])
    with path.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.DictReader(stream, restkey="", restval="")
        rows = list(islice(reader, MOST_ROWS + 1))
    if len(rows) > MOST_ROWS:
        values = {"limit": MOST_ROWS}
        raise ImportFormatError([Problem(code="truth_rows", file=str(path), values=values)])
    return [{name: text or "" for name, text in row.items() if name} for row in rows]


def _kind(records: Sequence[Mapping[str, str]]) -> MeasurementKind | None:
    columns = frozenset(records[0]) if records else frozenset()
    return next((kind for kind, needed in _NEEDED.items() if needed <= columns), None)
