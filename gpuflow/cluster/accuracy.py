"""How far predicted times of collectives, exchanges and hand-overs lie from measured ones.

A row that a curve was fitted on is judged twice: as fitted (split fit), and left out (split test).
Left out means by its own group's other sizes (few rows also follow the shape of a denser ladder);
groups whose sisters were measured at the size are judged once more with those. Rows that nothing
was fitted on are tests as they are. Further tests leave out a whole GPU, or its whole generation,
and fit DeepEP on one row over several nodes.
Errors are relative: predicted / measured - 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np

from gpuflow.cluster.cache_transfer import fit_hand_overs, read_hand_overs, shipped_hand_overs
from gpuflow.cluster.calibration import DENSE_ROWS
from gpuflow.cluster.expert_exchange import (
    ExchangeRow,
    fit_exchange,
    read_exchanges,
    shipped_exchanges,
)
from gpuflow.cluster.gpu_scaling import LIBRARY_KERNELS
from gpuflow.cluster.measurements import (
    Row,
    is_test_only,
    read_collectives,
    shipped_rows,
    shipped_truth,
)
from gpuflow.cluster.nccl_model import chip
from gpuflow.cluster.prediction import Book, TimeSource, shipped_book

Split = Literal["fit", "test"]

LIBRARY_FROM_BYTES = 16 * 1024
ENGINE_FROM_BYTES = 4 * 1024
"""Smaller messages are all latency and are left out of pooled errors."""
POOLED_GPUS = ("a100-80gb-sxm", "h100-sxm", "b200-sxm")
"""Three generations over NVLink, whose groups of 2, 4 and 8 ranks are pooled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One measured time and what was predicted for it."""

    file: str
    source: str
    gpu: str | None
    ranks: int | None
    name: str
    """What was measured and how it was predicted, without its size."""
    split: Split
    size_bytes: float
    measured_s: float
    predicted_s: float
    time_source: TimeSource
    place: str

    @property
    def error(self) -> float:
        """Relative."""
        return self.predicted_s / self.measured_s - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyGroup:
    """Errors of rows that are alike; fractions."""

    file: str
    source: str
    gpu: str | None
    ranks: int | None
    name: str
    split: Split
    rows: int
    mean_abs_error: float
    worst_abs_error: float
    bias: float


def accuracy_groups(truth_dir: Path | None = None) -> tuple[AccuracyGroup, ...]:
    """All groups of the tables of collectives, exchanges and hand-overs in a folder.

    Args:
        truth_dir: Folder of CSV files; None: the project's own. Curves are those fitted on the
            project's own rows either way.
    """
    folder = truth_dir or shipped_truth()
    rows = read_collectives(folder)
    judged = [
        *judge_collectives(rows),
        *judge_left_out(rows),
        *judge_without_gpu(rows),
        *judge_exchanges(read_exchanges(folder)),
        *judge_hand_overs(folder),
    ]
    return (*grouped(judged), *pooled(judged))


def grouped(judged: Iterable[Judgement]) -> list[AccuracyGroup]:
    """One group for each file, source, GPU, ranks, name and split, in order of appearance."""
    members: dict[tuple[object, ...], list[Judgement]] = {}
    for one in judged:
        key = (one.file, one.source, one.gpu, one.ranks, one.name, one.split)
        members.setdefault(key, []).append(one)
    return [_summed(found) for found in members.values()]


def pooled(judged: Sequence[Judgement]) -> list[AccuracyGroup]:
    """Groups of the dense tables together by collective or kernel, small messages left out."""
    members: dict[tuple[str, str], list[Judgement]] = {}
    for one in judged:
        words = one.name.split(" ")
        is_engine = words[1] not in LIBRARY_KERNELS if len(words) > 1 else True
        is_left_out = one.split == "test" and "left out" in one.name
        least = ENGINE_FROM_BYTES if is_engine else LIBRARY_FROM_BYTES
        if not is_left_out or one.gpu not in POOLED_GPUS or one.size_bytes < least:
            continue
        if one.source.startswith("aiconfigurator"):
            what = "engine kernels" if is_engine else f"{words[0]} {words[1]}"
            how = one.name.split(": ", 1)[1]
            members.setdefault((one.file, f"pooled {what}: {how}"), []).append(one)
    return [
        replace(_summed(found), gpu=None, ranks=None, name=name)
        for (_, name), found in members.items()
    ]


def _summed(found: Sequence[Judgement]) -> AccuracyGroup:
    errors = np.array([one.error for one in found])
    first = found[0]
    return AccuracyGroup(
        file=first.file,
        source=first.source,
        gpu=first.gpu,
        ranks=first.ranks,
        name=first.name,
        split=first.split,
        rows=len(found),
        mean_abs_error=float(np.abs(errors).mean()),
        worst_abs_error=float(np.abs(errors).max()),
        bias=float(errors.mean()),
    )


# ---------------------------------------------------------------- collectives


def is_fitted(row: Row) -> bool:
    """Whether a shipped curve was fitted on this very measurement."""
    return _shipped_twin(row) is not None


def _shipped_twin(row: Row) -> Row | None:
    if is_test_only(row.source):
        return None
    return _twins().get(_identity(row))


def _identity(row: Row) -> tuple[object, ...]:
    return (row.key, row.source, row.size_bytes, round(row.time_s * 1e9))


@cache
def _twins() -> dict[tuple[object, ...], Row]:
    return {_identity(row): row for row in shipped_rows()}


def judge_collectives(rows: Iterable[Row]) -> list[Judgement]:
    """Rows as the shipped curves have them; those nothing is known of are passed over."""
    found = []
    for row in rows:
        try:
            prediction = shipped_book().predict(row.key, row.size_bytes, row.source)
        except ValueError:
            continue
        split: Split = "fit" if is_fitted(row) else "test"
        how = "" if prediction.detail.step == "fit" else f": {prediction.detail.step}"
        seconds = float(prediction.seconds)
        found.append(_judged(row, how, split, seconds, prediction.time_source))
    return found


def judge_left_out(rows: Iterable[Row]) -> list[Judgement]:
    """Fitted rows, each predicted by a curve that has not seen it."""
    book, found = shipped_book(), []
    for row in rows:
        twin = _shipped_twin(row)
        if twin is None:
            continue
        for sisters, how in ((False, ": left out"), (True, ": left out, sisters measured")):
            is_dense = len(book.rows_of(twin)) > DENSE_ROWS
            if sisters and not (is_dense and book.has_sisters(twin.key)):
                continue
            curve = book.left_out(twin, sisters=sisters)
            if curve is not None:
                outside = bool(curve.extrapolates(row.size_bytes))
                source: TimeSource = "extrapolated" if outside else "calibrated"
                seconds = float(curve.seconds(row.size_bytes))
                found.append(_judged(row, how, "test", seconds, source))
    return found


def judge_without_gpu(rows: Iterable[Row]) -> list[Judgement]:
    """All_reduce by NCCL of 8 ranks on a GPU none of whose rows are used."""
    wanted = [
        row
        for row in rows
        if is_fitted(row)
        and (row.key.collective, row.key.kernel, row.key.ranks) == ("all_reduce", "nccl", 8)
        and (row.key.launch, row.key.nodes) == ("nccl-tests", 1)
        and row.size_bytes >= LIBRARY_FROM_BYTES
    ]
    found = []
    for gpu in dict.fromkeys(row.key.gpu for row in wanted):
        for kin, how in ((False, ": GPU left out"), (True, ": GPU generation left out")):
            book = Book(row for row in shipped_rows() if not _is_of(row.key.gpu, gpu, kin))
            for row in wanted:
                if row.key.gpu == gpu:
                    seconds = float(book.predict(row.key, row.size_bytes).seconds)
                    found.append(_judged(row, how, "test", seconds, "extrapolated"))
    return found


def _is_of(gpu: str, other: str, kin: bool) -> bool:
    """Whether two GPUs are the same, or with `kin` of one generation and link."""
    mine, its = chip(gpu), chip(other)
    if gpu == other or mine is None or its is None:
        return gpu == other
    return kin and (mine.architecture, mine.link) == (its.architecture, its.link)


def _judged(
    row: Row, how: str, split: Split, predicted_s: float, time_source: TimeSource
) -> Judgement:
    key = row.key
    words = [key.collective, key.kernel, key.launch]
    if key.nodes > 1:
        words.append(f"{key.nodes} nodes")
    return Judgement(
        file=row.place.split(":")[0],
        source=row.source,
        gpu=key.gpu,
        ranks=key.ranks,
        name=" ".join(words) + how,
        split=split,
        size_bytes=row.size_bytes,
        measured_s=row.time_s,
        predicted_s=predicted_s,
        time_source=time_source,
        place=row.place,
    )


# ---------------------------------------------------------------- exchanges, hand-overs


def judge_exchanges(rows: Sequence[ExchangeRow]) -> list[Judgement]:
    """Dispatch and combine as fitted, and DeepEP on H100 from one node and one row over two."""
    shipped = {(row.exchange, row.time_s) for row in read_exchanges(shipped_truth())}
    found = []
    for row in rows:
        try:
            prediction = shipped_exchanges().predict(row.exchange)
        except ValueError:
            continue
        split: Split = "fit" if (row.exchange, row.time_s) in shipped else "test"
        source: TimeSource = "extrapolated" if prediction.is_extrapolated else "calibrated"
        found.append(_judged_exchange(row, "", split, prediction.time_s, source))
    for op in ("dispatch", "combine"):
        found += _from_one_row(
            [r for r in rows if (r.exchange.kernel, r.exchange.op) == ("deepep_low_latency", op)]
        )
    return found


def _from_one_row(rows: Sequence[ExchangeRow]) -> list[Judgement]:
    """Several nodes from rows within one and the largest row over two."""
    inside = [row for row in rows if row.exchange.nodes == 1]
    two = [row for row in rows if row.exchange.nodes == 2]
    if not inside or not two:
        return []
    one = max(two, key=lambda row: row.exchange.copies_bytes)
    fitted = fit_exchange([*inside, one])
    return [
        _judged_exchange(row, ": from one row", "test", fitted.seconds(row.exchange), "calibrated")
        for row in rows
        if row.exchange.nodes > 1 and row is not one
    ]


def _judged_exchange(
    row: ExchangeRow, how: str, split: Split, predicted_s: float, time_source: TimeSource
) -> Judgement:
    one = row.exchange
    return Judgement(
        file=row.place.split(":")[0],
        source=row.source,
        gpu=one.gpu,
        ranks=one.ranks,
        name=f"{one.op} {one.kernel} {one.nodes} nodes{how}",
        split=split,
        size_bytes=one.copies_bytes,
        measured_s=row.time_s,
        predicted_s=predicted_s,
        time_source=time_source,
        place=row.place,
    )


def judge_hand_overs(folder: Path) -> list[Judgement]:
    """Cache hand-overs as fitted, and each from the others."""
    rows = read_hand_overs(folder)
    shipped = read_hand_overs(shipped_truth())
    known = {(row.size_bytes, row.time_s) for row in shipped}
    found = []
    for row in rows:
        is_known = (row.size_bytes, row.time_s) in known
        guesses: list[tuple[str, Split, float]] = [
            (
                "",
                "fit" if is_known else "test",
                shipped_hand_overs().seconds(row.size_bytes, row.nics_bytes_per_s),
            )
        ]
        rest = [one for one in shipped if one.size_bytes != row.size_bytes]
        if is_known and len(rest) >= 2:
            left_out = fit_hand_overs(rest).seconds(row.size_bytes, row.nics_bytes_per_s)
            guesses.append((": left out", "test", left_out))
        found += [
            Judgement(
                file=row.place.split(":")[0],
                source=row.source,
                gpu=None,
                ranks=None,
                name=f"kv_transfer{how}",
                split=split,
                size_bytes=row.size_bytes,
                measured_s=row.time_s,
                predicted_s=seconds,
                time_source="calibrated",
                place=row.place,
            )
            for how, split, seconds in guesses
        ]
    return found
