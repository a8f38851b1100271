"""Many configurations of one model, device and profile in one call, as numpy arrays.

Batch, context, tp and pp may all vary. Each split is planned once and kept; its passes are then
sums of a few formulas over arrays. The figures are those of `simulate`, to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpuflow.cluster.cost import PassShape
from gpuflow.cluster.elementwise import amount
from gpuflow.engine.pass_terms import PassTerms, TimeKind
from gpuflow.scenario.spec import ParallelSpec, Phase, Scenario
from gpuflow.scenario.splits import is_possible

FloatArray = NDArray[np.float64]

BLOCK = 8192
"""Configurations worked on at a time, so that what is in use stays in the processor's cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepResult:
    """Figures of every configuration, in the inputs' common shape; nan where a split cannot be."""

    prefill_s: FloatArray
    """One prefill pass over the context."""
    decode_s: FloatArray
    """One step of decoding with that context in the cache."""
    seconds: Mapping[tuple[Phase, TimeKind], FloatArray]
    """What the passes' time goes into: computing, the host, each class of traffic."""
    weights_bytes: FloatArray
    """On the GPU that holds most."""
    kv_bytes: FloatArray
    """Cache of the batch on the GPU that holds most."""
    free_bytes: FloatArray
    """Memory left on the fullest GPU; negative where it does not fit."""


class Sweep:
    """Evaluates configurations of one scenario; splits that occurred once are kept."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._terms: dict[tuple[int, int], PassTerms | None] = {}

    def evaluate(
        self,
        batch: ArrayLike,
        context: ArrayLike,
        tp: ArrayLike | None = None,
        pp: ArrayLike | None = None,
    ) -> SweepResult:
        """Times and memory of all configurations.

        Args:
            batch: Sequences per replica.
            context: Tokens of the prompt in prefill, and of the cache in decoding.
            tp: Tensor-parallel ranks; None: the scenario's.
            pp: Pipeline stages; None: the scenario's.
        """
        parallel = self.scenario.parallel
        arrays = np.broadcast_arrays(
            np.asarray(batch, float),
            np.asarray(context, float),
            np.asarray(parallel.tp if tp is None else tp, int),
            np.asarray(parallel.pp if pp is None else pp, int),
        )
        shape = arrays[0].shape
        flat_batch, flat_context, flat_tp, flat_pp = (array.ravel() for array in arrays)
        tables = _Tables(len(flat_batch))
        for ranks, stages, where in _splits(flat_tp, flat_pp):
            terms = self.planned(ranks, stages)
            if terms is None:
                continue
            for begin in range(0, len(where), BLOCK):
                block = where[begin : begin + BLOCK]
                tables.fill(terms, block, flat_batch[block], flat_context[block])
        return tables.result(shape)

    def planned(self, tp: int, pp: int) -> PassTerms | None:
        """The terms of a split; None where the model does not divide so."""
        if (tp, pp) not in self._terms:
            self._terms[tp, pp] = None
            parallel = self._split(tp, pp)
            if parallel.stage_layers or is_possible(self.scenario.model, parallel):
                self._terms[tp, pp] = PassTerms(replace(self.scenario, parallel=parallel))
        return self._terms[tp, pp]

    def _split(self, tp: int, pp: int) -> ParallelSpec:
        """Stages listed one by one hold for the scenario's own split only."""
        own = self.scenario.parallel
        if (tp, pp) == (own.tp, own.pp):
            return own
        return replace(own, tp=tp, pp=pp, stage_layers=())


def _splits(
    tp: NDArray[np.int_], pp: NDArray[np.int_]
) -> Iterator[tuple[int, int, NDArray[np.int_]]]:
    """Each split that occurs, and where."""
    code = tp * (int(pp.max(initial=1)) + 1) + pp
    order = np.argsort(code, kind="stable")
    ends = np.flatnonzero(np.diff(code[order])) + 1
    for where in np.split(order, ends):
        if len(where):
            yield int(tp[where[0]]), int(pp[where[0]]), where


class _Tables:
    """The flat result while it is filled."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.seconds: dict[tuple[Phase, TimeKind], FloatArray] = {}
        self.weights, self.kv, self.free = (np.full(size, np.nan) for _ in range(3))
        self.is_known = np.zeros(size, dtype=bool)

    def fill(
        self, terms: PassTerms, where: NDArray[np.int_], batch: FloatArray, context: FloatArray
    ) -> None:
        self.is_known[where] = True
        tokens = {"prefill": batch * context, "decode": batch}
        phases: tuple[Phase, Phase] = ("prefill", "decode")
        for phase in phases:
            shape = PassShape(
                phase=phase,
                sequences=amount(batch),
                tokens=amount(tokens[phase]),
                context=amount(context),
            )
            for kind, seconds in terms.seconds_by_kind(phase, shape).items():
                if (phase, kind) not in self.seconds:
                    self.seconds[phase, kind] = np.zeros(self.size)
                self.seconds[phase, kind][where] = seconds
        cost, device = terms.cost, terms.scenario.cluster.device
        stages = range(terms.scenario.parallel.pp)
        weights = [cost.stage_weight_bytes(stage) for stage in stages]
        kv = [batch * cost.stage_sequence_bytes(stage, amount(context)) for stage in stages]
        used = [w + k for w, k in zip(weights, kv, strict=True)]
        self.weights[where] = max(weights)
        self.kv[where] = np.maximum.reduce(kv)
        self.free[where] = device.memory_bytes - np.maximum.reduce(used)

    def result(self, shape: tuple[int, ...]) -> SweepResult:
        totals = {}
        for phase in ("prefill", "decode"):
            parts = [found for (of, _), found in self.seconds.items() if of == phase]
            total = np.sum(parts, axis=0) if parts else np.zeros(self.size)
            totals[phase] = np.where(self.is_known, total, np.nan).reshape(shape)
        return SweepResult(
            prefill_s=totals["prefill"],
            decode_s=totals["decode"],
            seconds={key: found.reshape(shape) for key, found in self.seconds.items()},
            weights_bytes=self.weights.reshape(shape),
            kv_bytes=self.kv.reshape(shape),
            free_bytes=self.free.reshape(shape),
        )
