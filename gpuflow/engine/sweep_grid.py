"""Every combination of splits, batches and prompt lengths, block by block.

TTFT is one prefill pass over all prompts of a batch, TPOT one step of decoding at the mean context
of the answer; memory counts weights, the cache once the answers are there, and the working memory
of the largest pass. The figures are those of `gpuflow estimate` without chunks and micro-batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from gpuflow.cluster.cost import ACTIVATION_BYTES, PassShape
from gpuflow.cluster.elementwise import amount
from gpuflow.cluster.memory import LOGIT_BYTES, TOKENS_AT_ONCE, widest_values
from gpuflow.cluster.pass_shape import growth_of
from gpuflow.engine.pareto import IntArray, front
from gpuflow.engine.pass_terms import PassTerms
from gpuflow.engine.sweep import BLOCK, Sweep
from gpuflow.engine.targets import NO_TARGETS, Targets
from gpuflow.scenario.spec import ParallelSpec, Scenario
from gpuflow.scenario.splits import is_possible

FloatArray = NDArray[np.float64]
MOST_POINTS = 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """Values that are combined, each rising."""

    tp: tuple[int, ...]
    pp: tuple[int, ...]
    dp: tuple[int, ...]
    ep: tuple[int, ...]
    batch: tuple[int, ...]
    """Sequences per replica."""
    prompt: tuple[int, ...]
    """Tokens."""

    @property
    def n_points(self) -> int:
        """Combinations, possible ones or not."""
        sizes = [len(getattr(self, field.name)) for field in fields(self)]
        return int(np.prod([float(size) for size in sizes]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One configuration."""

    parallel: ParallelSpec
    batch: int
    prompt_tokens: int
    ttft_s: float
    tpot_s: float
    tokens_per_s_per_user: float
    tokens_per_s_per_gpu: float
    spare_bytes: float
    """Left on the fullest GPU; negative where it does not fit."""


class SweepGrid:
    """The points of all splits, filled block by block; nan where nothing was evaluated yet."""

    def __init__(self, scenario: Scenario, axes: Axes, gpus: int | None = None) -> None:
        """Prepare a grid.

        Args:
            scenario: Model, machines, profile and length of the answer.
            axes: What is combined.
            gpus: Only splits of so many GPUs; None: of any number.
        """
        self.scenario, self.axes = scenario, axes
        self.splits = tuple(_splits(scenario, axes, gpus))
        n_batches, n_prompts = len(axes.batch), len(axes.prompt)
        self.n_points = len(self.splits) * n_batches * n_prompts
        self.shape = (len(self.splits), n_batches, n_prompts)
        self.ttft_s, self.tpot_s, self.spare_bytes = (np.full(self.shape, np.nan) for _ in range(3))
        self._sweeps: dict[tuple[int, int], Sweep] = {}

    # ------------------------------------------------------------ evaluation

    def blocks(self) -> Iterator[int]:
        """Evaluate block by block; yields how many points are done."""
        batch, prompt = (
            array.ravel().astype(float)
            for array in np.meshgrid(self.axes.batch, self.axes.prompt, indexing="ij")
        )
        done = 0
        for place, parallel in enumerate(self.splits):
            terms = self._terms(parallel)
            for begin in range(0, len(batch), BLOCK):
                where = slice(begin, begin + BLOCK)
                self._fill(place, where, terms, batch[where], prompt[where])
                done += len(batch[where])
                yield done

    def _terms(self, parallel: ParallelSpec) -> PassTerms:
        key = (parallel.dp, parallel.ep)
        if key not in self._sweeps:
            split = ParallelSpec(dp=parallel.dp, ep=parallel.ep)
            self._sweeps[key] = Sweep(replace(self.scenario, parallel=split))
        terms = self._sweeps[key].planned(parallel.tp, parallel.pp)
        if terms is None:
            raise ValueError(f"{parallel} cannot be")
        return terms

    def _fill(
        self,
        place: int,
        where: slice,
        terms: PassTerms,
        batch: FloatArray,
        prompt: FloatArray,
    ) -> None:
        output = self.scenario.workload.output_tokens
        fixed = self.scenario.workload.context_tokens
        # of all laps, as `decode_shape` has it
        mean = prompt + max(output, 2) / 2 if fixed is None else np.full_like(prompt, fixed)
        prefill = PassShape(
            phase="prefill",
            sequences=amount(batch),
            tokens=amount(batch * prompt),
            context=amount(prompt),
        )
        decode = PassShape(
            phase="decode",
            sequences=amount(batch),
            tokens=amount(batch),
            context=amount(mean),
            growth=growth_of(self.scenario) if fixed is None else 0.0,
        )
        flat = np.s_[place, :, :]
        self.ttft_s[flat].reshape(-1)[where] = terms.seconds("prefill", prefill)
        self.tpot_s[flat].reshape(-1)[where] = terms.seconds("decode", decode)
        # as `gpuflow.cluster.memory.last_tokens` has it
        grows = fixed is None or output < 2
        last = prompt + max(output - 1, 0) if grows else np.full_like(prompt, fixed)
        self.spare_bytes[flat].reshape(-1)[where] = _spare(terms, batch, prompt, last)

    # ------------------------------------------------------------ results

    @property
    def per_user(self) -> FloatArray:
        """Tokens per second of one user, shape of the grid."""
        return np.asarray(1 / self.tpot_s)

    @property
    def per_gpu(self) -> FloatArray:
        """Tokens per second of one GPU."""
        batch = np.array(self.axes.batch, dtype=float)[:, np.newaxis]
        each = np.array([split.dp / split.world for split in self.splits])
        return np.asarray(each[:, np.newaxis, np.newaxis] * batch / self.tpot_s)

    def is_allowed(self, targets: Targets = NO_TARGETS) -> NDArray[np.bool_]:
        """Which points fit and keep the targets."""
        allowed = self.spare_bytes >= 0
        if targets.ttft_s is not None:
            allowed &= self.ttft_s <= targets.ttft_s
        if targets.tpot_s is not None:
            allowed &= self.tpot_s <= targets.tpot_s
        return np.asarray(allowed)

    def fronts(self, targets: Targets = NO_TARGETS) -> dict[int, IntArray]:
        """For each prompt length the points that no allowed one beats.

        What counts is tokens per second of one user and of one GPU. Lengths are questions of their
        own: a shorter prompt beats a longer one in both and says nothing about it.
        """
        allowed, x, y = self.is_allowed(targets), self.per_user, self.per_gpu
        found: dict[int, IntArray] = {}
        places = np.arange(x.size).reshape(self.shape)
        for index, prompt in enumerate(self.axes.prompt):
            mine = np.where(allowed[:, :, index], x[:, :, index], np.nan)
            best = front(mine.ravel(), y[:, :, index].ravel())
            found[prompt] = places[:, :, index].ravel()[best]
        return found

    def point(self, place: int) -> Point:
        """The configuration at a place of the flat grid."""
        split, batch, prompt = np.unravel_index(place, self.shape)
        parallel = self.splits[int(split)]
        at = (split, batch, prompt)
        tpot_s = float(self.tpot_s[at])
        sequences = self.axes.batch[int(batch)]
        return Point(
            parallel=parallel,
            batch=sequences,
            prompt_tokens=self.axes.prompt[int(prompt)],
            ttft_s=float(self.ttft_s[at]),
            tpot_s=tpot_s,
            tokens_per_s_per_user=1 / tpot_s,
            tokens_per_s_per_gpu=sequences * parallel.dp / tpot_s / parallel.world,
            spare_bytes=float(self.spare_bytes[at]),
        )


def _splits(scenario: Scenario, axes: Axes, gpus: int | None) -> Iterator[ParallelSpec]:
    """Splits that the model allows, of as many GPUs as asked."""
    for tp, pp, dp, ep in product(axes.tp, axes.pp, axes.dp, axes.ep):
        parallel = ParallelSpec(tp=tp, pp=pp, dp=dp, ep=ep)
        if gpus is not None and parallel.world != gpus:
            continue
        if is_possible(scenario.model, parallel):
            yield parallel


def _spare(
    terms: PassTerms, batch: FloatArray, prompt: FloatArray, last_tokens: FloatArray
) -> FloatArray:
    """Memory left on the fullest GPU (`gpuflow.cluster.memory`, over arrays)."""
    scenario, cost = terms.scenario, terms.cost
    stages, width = scenario.parallel.pp, scenario.model.hidden_size
    tokens = np.maximum(np.minimum(batch * prompt, TOKENS_AT_ONCE), batch)
    spare = np.full_like(batch, np.inf)
    for stage in range(stages):
        working = tokens * ACTIVATION_BYTES * (2 * width + widest_values(scenario, stage))
        if stage == stages - 1:
            logits = batch * scenario.model.vocab_size / scenario.parallel.tp * LOGIT_BYTES
            working = np.maximum(working, logits + tokens * ACTIVATION_BYTES * width)
        cache = batch * np.asarray(cost.stage_sequence_bytes(stage, amount(last_tokens)))
        left = scenario.cluster.device.memory_bytes - cost.stage_weight_bytes(stage)
        spare = np.minimum(spare, left - cache - working)
    return spare
