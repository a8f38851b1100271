"""The time of a collective: calibrated where that machine was measured, else the nearest thing.

In order: rows of the very machine; the same GPU and kernel under another launch mode; other rank
counts of the GPU; other GPUs, scaled; NCCL's planner. Several nodes are put together from one
node's times unless their fabric has a calibration of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, NamedTuple

import numpy as np

from gpuflow.cluster.calibration import DENSE_ROWS, Calibration, HandOver, fit, ladder
from gpuflow.cluster.curves import BoolArray, FloatArray
from gpuflow.cluster.engine_kernels import kernel_changes
from gpuflow.cluster.gpu_scaling import LIBRARY_KERNELS, scale_from_others
from gpuflow.cluster.kinship import sister_weight
from gpuflow.cluster.measurements import Key, Row, is_test_only, settings, shipped_rows
from gpuflow.cluster.multi_node import multi_node_seconds, nic_of
from gpuflow.cluster.nccl_model import chip
from gpuflow.cluster.own import own_calibrations
from gpuflow.cluster.unmeasured import planned_seconds, seconds_of
from gpuflow.errors import ScenarioError
from gpuflow.scenario import catalog
from gpuflow.units import parse_time

TimeSource = Literal["calibrated", "extrapolated", "simulated"]
Step = Literal[
    "fit", "other_launch", "other_ranks", "other_gpus", "planner", "several_nodes", "fabric"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """Where a predicted time comes from."""

    step: Step
    """What was done last: fit is the machine's own curve."""
    calibrations: tuple[Calibration, ...]
    """The curves it rests on, each with its rows, GPU, source, form and error."""

    @property
    def rows(self) -> tuple[str, ...]:
        """Rows the curves were fitted on, as file and line."""
        return tuple(place for one in self.calibrations for place in one.rows)

    @property
    def gpus(self) -> tuple[str, ...]:
        """GPUs those rows were measured on."""
        return tuple(dict.fromkeys(one.key.gpu for one in self.calibrations))

    @property
    def sources(self) -> tuple[str, ...]:
        """Who published them."""
        return tuple(dict.fromkeys(one.source for one in self.calibrations))

    @property
    def error(self) -> float | None:
        """Mean left-out error of the curves (a fraction); None where none has one."""
        known = [c.left_out_error for c in self.calibrations if not np.isnan(c.left_out_error)]
        return float(np.mean(known)) if known else None


class Prediction(NamedTuple):
    """A predicted time, where it comes from, and how that was worked out."""

    seconds: FloatArray
    time_source: TimeSource
    """calibrated only if every size asked for lies in the range fitted."""
    detail: Detail


class Book:
    """Calibrations of a set of rows, fitted when they are asked for."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._groups: dict[Key, dict[str, list[Row]]] = {}
        for row in rows:
            if not is_test_only(row.source):
                self._groups.setdefault(row.key, {}).setdefault(row.source, []).append(row)
        self._fitted: dict[tuple[Key, str], Calibration] = {}
        self._ladders: dict[Key, Calibration | None] = {}

    # ------------------------------------------------------------ groups

    def machines(self) -> tuple[Key, ...]:
        """Machines that were measured."""
        return tuple(self._groups)

    def sources(self, key: Key) -> tuple[str, ...]:
        """Who measured a machine, most rows first."""
        found = self._groups.get(key, {})
        return tuple(sorted(found, key=lambda source: -len(found[source])))

    def rows_of(self, row: Row) -> tuple[Row, ...]:
        """All rows of a row's machine by the same publisher."""
        return tuple(self._groups.get(row.key, {}).get(row.source, ()))

    def has_sisters(self, key: Key) -> bool:
        """Whether other groups bend at the same sizes."""
        return bool(self._sisters(key))

    def calibration(self, key: Key, source: str | None = None) -> Calibration | None:
        """The curve of a machine; None if it was not measured.

        Args:
            key: The machine.
            source: Whose rows; None or an unknown one: whoever has most.
        """
        sources = self.sources(key)
        if not sources:
            return None
        chosen = source if source in sources else sources[0]
        if (key, chosen) not in self._fitted:
            self._fitted[key, chosen] = self._fit(self._groups[key][chosen])
        return self._fitted[key, chosen]

    def left_out(self, row: Row, *, sisters: bool) -> Calibration | None:
        """The curve of a row's machine without that row; None if it was the only one.

        Args:
            row: One of the book's rows.
            sisters: Whether sister groups may tell how the curve bends at the size left out; they
                were measured there, and without them nobody was.
        """
        rest = [one for one in self._groups[row.key][row.source] if one is not row]
        if sisters and rest:
            return ladder(rest, self._hand_overs(row.key), self._sisters(row.key))
        return self._fit(rest, sisters=False) if rest else None

    def _fit(self, rows: list[Row], *, sisters: bool = True) -> Calibration:
        key, source = rows[0].key, rows[0].source
        is_dense = len(rows) >= DENSE_ROWS
        return fit(
            rows,
            sisters=self._sisters(key) if is_dense and sisters else (),
            shapes=() if is_dense else self._shapes(key, source),
            hand_overs=self._hand_overs(key),
        )

    def _ladder(self, key: Key) -> Calibration | None:
        """The machine's rows as knots if there are many."""
        if key not in self._ladders:
            dense = [r for r in self._groups.get(key, {}).values() if len(r) >= DENSE_ROWS]
            self._ladders[key] = ladder(dense[0], self._hand_overs(key)) if dense else None
        return self._ladders[key]

    def _sisters(self, key: Key) -> list[tuple[float, Calibration]]:
        """Ladders that bend at the same sizes, with weights found by leaving sizes out."""
        found = []
        for other in self._groups:
            weight = sister_weight(key, other)
            sister = self._ladder(other) if weight else None
            if sister is not None:
                found.append((weight, sister))
        return found

    def _shapes(self, key: Key, source: str) -> list[Calibration]:
        """Ladders of the same GPU, ranks, collective and kind of kernel, for rows too few."""
        return [
            shape
            for other in self._groups
            if (other.gpu, other.ranks, other.collective, other.nodes)
            == (key.gpu, key.ranks, key.collective, 1)
            and (other.kernel in LIBRARY_KERNELS) == (key.kernel in LIBRARY_KERNELS)
            and (shape := self._ladder(other)) is not None
            and shape.source != source
        ]

    def _hand_overs(self, key: Key) -> tuple[HandOver, ...]:
        changes = kernel_changes(key.kernel, key.gpu, key.ranks)
        nccl = Key(key.gpu, key.collective, "nccl", "nccl-tests", key.ranks, 1, "")
        return tuple(
            HandOver(size_bytes=size, next_kernel=self._ladder(nccl) if is_nccl else None)
            for size, is_nccl in changes
        )

    # ------------------------------------------------------------ predicting

    def predict(
        self, key: Key, size_bytes: FloatArray | float, source: str | None = None
    ) -> Prediction:
        """Times of a machine at sizes, measured or not.

        Args:
            key: GPU, collective, kernel, launch mode, ranks, nodes and fabric between nodes.
            size_bytes: By nccl-tests' convention, above 0; any shape.
            source: Prefer rows of this publisher, where the machine has several.

        Raises:
            ValueError: Nothing is known of the GPU, the kernel or the collective.
        """
        size = np.asarray(size_bytes, dtype=float)
        users = own_calibrations()
        known = users.find(key) if users is not None else None
        if known is not None:
            return _launched(_read(known, size), key.launch)
        own = self.calibration(key, source)
        if own is not None:
            return _read(own, size)
        if key.nodes > 1:
            return self._several_nodes(key, size)
        for attempt in (self._other_launch, self._other_ranks, self._other_gpus, _planned):
            found = attempt(key, size)
            if found is not None:
                return found
        raise ValueError(f"nothing known of {key.kernel} {key.collective} on {key.gpu}")

    def _measured(self, **wanted: object) -> list[Calibration]:
        """Calibrations of machines with these properties."""
        fits = [
            key
            for key in self._groups
            if all(_matches(getattr(key, name), value) for name, value in wanted.items())
        ]
        return [one for key in fits if (one := self.calibration(key)) is not None]

    def _other_launch(self, key: Key, size: FloatArray) -> Prediction | None:
        """The same kernel launched otherwise; eager launches take the host's time at least."""
        found = self._measured(
            gpu=key.gpu, collective=key.collective, kernel=key.kernel, ranks=key.ranks, nodes=1
        )
        if not found:
            return None
        best = max(found, key=lambda one: (one.key.launch != "eager", len(one.rows)))
        times = seconds_of(best, size)
        if key.launch == "eager":
            host = parse_time(str(settings()["eager_launch"]["time"]))
            times = np.hypot(times, host)
        return _extrapolated(times, "other_launch", [best])

    def _other_ranks(self, key: Key, size: FloatArray) -> Prediction | None:
        """Between rank counts that were measured: straight in logarithms of ranks and time.

        Beyond them the nearest one in proportion to NCCL's plans; a single count says nothing.
        """
        counts = {
            other.ranks
            for other in self._groups
            if (other.gpu, other.collective, other.nodes) == (key.gpu, key.collective, 1)
            and _matches(other.kernel, key.kernel)
        }
        curves = [
            replace_ranks
            for count in sorted(counts)
            if (replace_ranks := self._other_launch(replace(key, ranks=count), size)) is not None
        ]
        ranks = np.array(sorted(counts), dtype=float)
        if len(curves) < 2:
            return None
        used = [one.detail.calibrations[0] for one in curves]
        times = np.stack([one.seconds for one in curves])
        if ranks[0] <= key.ranks <= ranks[-1]:
            high = int(np.searchsorted(ranks, key.ranks))
            low = high - 1
            part = np.log(key.ranks / ranks[low]) / np.log(ranks[high] / ranks[low])
            between = np.exp((1 - part) * np.log(times[low]) + part * np.log(times[high]))
            return _extrapolated(between, "other_ranks", used[low : high + 1])
        end = 0 if key.ranks < ranks[0] else len(ranks) - 1
        plan = _planned(key, size)
        known = _planned(replace(key, ranks=int(ranks[end])), size)
        if plan is None or known is None:
            return None
        times_there = times[end] * plan.seconds / known.seconds
        return _extrapolated(times_there, "other_ranks", [used[end]])

    def _other_gpus(self, key: Key, size: FloatArray) -> Prediction | None:
        found = self._measured(
            collective=key.collective, kernel=key.kernel, ranks=key.ranks, nodes=1
        )
        others = [one for one in found if one.key.gpu != key.gpu]
        others = [one for one in others if one.key.launch == key.launch] or others
        scaled = scale_from_others(key.gpu, size, others)
        if scaled is None:
            return None
        return _extrapolated(scaled.seconds, "other_gpus", scaled.donors)

    def _several_nodes(self, key: Key, size: FloatArray) -> Prediction:
        gpu, nic = chip(key.gpu), nic_of(key.fabric)
        if gpu is None or nic is None:
            raise ValueError(f"nothing known of {key.gpu} over {key.fabric}")
        if key.ranks % key.nodes:
            raise ValueError(f"{key.ranks} ranks on {key.nodes} nodes")
        inside = replace(key, ranks=key.ranks // key.nodes, nodes=1, fabric="")
        alone = inside.ranks == 1
        used = () if alone else self.predict(inside, size).detail.calibrations
        times = multi_node_seconds(
            key.collective,
            key.ranks,
            key.nodes,
            size,
            gpu,
            nic,
            None if alone else lambda at: self.predict(inside, at).seconds,
        )
        return Prediction(
            times,
            "extrapolated" if used else "simulated",
            Detail(step="several_nodes", calibrations=used),
        )


def _matches(value: object, wanted: object) -> bool:
    return value == wanted or (value in LIBRARY_KERNELS and wanted in LIBRARY_KERNELS)


def _read(own: Calibration, size: FloatArray) -> Prediction:
    outside: BoolArray = own.extrapolates(size)
    source: TimeSource = "extrapolated" if outside.any() else "calibrated"
    return Prediction(seconds_of(own, size), source, Detail(step="fit", calibrations=(own,)))


def _launched(found: Prediction, launch: str) -> Prediction:
    """The user's own measurement, back to back in a stream, under another launch mode.

    Eager launches take the host's time at least.
    """
    if launch != "eager":
        return found
    host = parse_time(str(settings()["eager_launch"]["time"]))
    return Prediction(np.hypot(found.seconds, host), "extrapolated", found.detail)


def _extrapolated(times: FloatArray, step: Step, used: Sequence[Calibration]) -> Prediction:
    return Prediction(times, "extrapolated", Detail(step=step, calibrations=tuple(used)))


def _planned(key: Key, size: FloatArray) -> Prediction | None:
    """NCCL's own expectation."""
    times = planned_seconds(key, size)
    if times is None:
        return None
    return Prediction(times, "simulated", Detail(step="planner", calibrations=()))


@cache
def shipped_book() -> Book:
    """Calibrations of the project's own measurements."""
    return Book(shipped_rows())


def predict(
    gpu: str,
    collective: str,
    kernel: str,
    launch: str,
    ranks: int,
    nodes: int,
    size_bytes: FloatArray | float,
    *,
    fabric: str | None = None,
    source: str | None = None,
    exclude: Iterable[str] = (),
) -> Prediction:
    """Time of a collective, its source and how it was found.

    Args:
        gpu: Id or alias in the catalogue, or a name in the measurements.
        collective: By NCCL's name in snake case.
        kernel: nccl, rccl, vllm_custom, trtllm_custom, nvls_multimem, one_shot, two_shot, custom.
        launch: nccl-tests, cuda_graph, eager, profiler, stream, rccl-tests.
        ranks: Ranks in all.
        nodes: Nodes.
        size_bytes: By nccl-tests' convention; any shape.
        fabric: Fabric between nodes; None: the GPU's usual one.
        source: Prefer rows of this publisher.
        exclude: Places of rows (file and line) not to be used.

    Raises:
        ValueError: Nothing is known of the GPU, the kernel or the collective.
    """
    try:
        device = catalog.device(gpu)
        name, usual = device.name, device.nic
    except ScenarioError:
        name, usual = gpu, "ib-ndr"
    between = (fabric or usual) if nodes > 1 else ""
    key = Key(name, collective, kernel, launch, ranks, nodes, between)
    left_out = frozenset(exclude)
    book = shipped_book()
    if left_out:
        book = Book(row for row in shipped_rows() if row.place not in left_out)
    return book.predict(key, size_bytes, source)
