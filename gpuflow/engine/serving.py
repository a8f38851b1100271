"""TTFT and TPOT of a loaded server: a fixed number of requests, each followed by the next one.

c requests run per replica, of I prompt and O output tokens each. While one decodes its O - 1
tokens, every other one ends and its successor brings a prompt in, once. How that is paid for
depends on the engine:

- joins_prefill: a prompt comes in chunks that join the steps of the others. P, the time its chunks
  add to their steps, is paid by all of them: TPOT = step + (n - 1) P / (O - 1), less what falls
  into the request's own waiting. TTFT is its own chunks' steps and the queue before them (one
  server with even service times: half of u / (1 - u) services), and the crowd at a run's start.
- otherwise prompts go first and decoding stands still. Requests that began together then end
  together, so all n prompts come at once, in b batches of the chunk size: a request waits for
  (b + 1) / 2 of them, and (b - 1) / 2 more pass while it decodes.

Data-parallel replicas of a mixture of experts step together, so one replica's prompts hold up all.
No more requests run than the KV cache has room for. Sources: Agrawal et al. 2024 (Sarathi-Serve)
for chunks that join; vLLM, TensorRT-LLM and SGLang documentation for which engine does what.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpuflow.cluster.cost import Joined, PassShape
from gpuflow.cluster.elementwise import amount
from gpuflow.engine.pass_terms import PassTerms
from gpuflow.scenario.spec import Scenario

FloatArray = NDArray[np.float64]

USABLE_MEMORY = 0.92
"""Part of the GPU's memory that weights and cache may take (vLLM's default)."""
ROUNDS = 6
"""TTFT, TPOT and the number of decoding requests depend on one another; so often are they worked
out anew."""
RUN_ROUNDS = 5
"""Requests one after the other in each place of a measured run (assumed). The first of them all
come at once, and wait for half of the others' prompts."""
MOST_BUSY = 0.98
"""Prefill's share of the time is held below this: beyond it the queue has no bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingTime:
    """What a request meets on the loaded server; arrays where the load is one."""

    ttft_s: FloatArray
    tpot_s: FloatArray
    step_s: FloatArray
    """A step of decoding that takes no prompt along."""
    prefill_s: FloatArray
    """What one prompt, or one batch of prompts, adds."""
    decoding: FloatArray
    """Requests that decode at the same time, per replica."""


def serving_time(
    scenario: Scenario, concurrency: float, prompt_tokens: float, output_tokens: float
) -> ServingTime:
    """Times of a closed loop of requests.

    Args:
        scenario: Model, cluster, split and profile; its own workload does not matter.
        concurrency: Requests in flight over all replicas; a number or an array, as the others.
        prompt_tokens: Of each request.
        output_tokens: Of each request, at least 2.
    """
    return ServingModel(scenario).times(concurrency, prompt_tokens, output_tokens)


class ServingModel:
    """The closed loop on one split; keeps the terms of its passes."""

    def __init__(self, scenario: Scenario, terms: PassTerms | None = None) -> None:
        self.terms = terms or PassTerms(scenario)
        self.scenario = self.terms.scenario
        self.replicas = self.scenario.parallel.dp

    def with_terms(self, terms: PassTerms) -> ServingModel:
        """The same loop under another profile's terms."""
        return ServingModel(terms.scenario, terms)

    def room(self, tokens: FloatArray) -> FloatArray:
        """Requests of so many tokens whose cache fits beside the weights, at least one."""
        cost, device = self.terms.cost, self.scenario.cluster.device
        usable = USABLE_MEMORY * device.memory_bytes
        rooms = []
        for stage in range(self.scenario.parallel.pp):
            free = usable - cost.stage_weight_bytes(stage)
            rooms.append(free / np.asarray(cost.stage_sequence_bytes(stage, amount(tokens))))
        return np.asarray(np.maximum(np.minimum.reduce(rooms), 1.0))

    def fits(self) -> bool:
        """Whether the weights leave any memory for a cache."""
        cost, device = self.terms.cost, self.scenario.cluster.device
        stages = range(self.scenario.parallel.pp)
        return all(cost.stage_weight_bytes(stage) < device.memory_bytes for stage in stages)

    def times(
        self,
        concurrency: float,
        prompt_tokens: float,
        output_tokens: float,
        *,
        limited: bool = True,
    ) -> ServingTime:
        """Times of loads; see `serving_time`. Unless `limited`, the cache has room for all."""
        prompt, output = np.asarray(prompt_tokens, float), np.asarray(output_tokens, float)
        running = np.maximum(np.asarray(concurrency, float) / self.replicas, 1.0)
        if limited:
            running = np.minimum(running, self.room(prompt + output / 2))
        load = _Load(running, prompt, output, self.replicas)
        if self.scenario.profile.joins_prefill:
            return self._joined(load)
        return self._prompts_first(load)

    def _step(self, decoding: FloatArray, context: FloatArray, joined: Joined | None) -> FloatArray:
        shape = PassShape(
            phase="decode",
            sequences=amount(decoding),
            tokens=amount(decoding),
            context=amount(context),
            joined=joined,
        )
        return np.asarray(self.terms.seconds("decode", shape))

    def _joined(self, load: _Load) -> ServingTime:
        n, decoding = load.all_running, load.running
        joined = load.joined(self.scenario.profile.chunk_tokens)
        chunks, laps = load.chunks(self.scenario.profile.chunk_tokens), load.output - 1
        waiting = np.zeros_like(load.running)
        tpot = step = added = waiting
        for round_number in range(ROUNDS):
            step = self._step(decoding, load.context, None)
            added = chunks * (self._step(decoding, load.context, joined) - step)
            if round_number == 0:
                tpot = step + (n - 1) / laps * added
            tpot = step + (n - 1) * added * tpot / (waiting + laps * tpot)
            busy = np.minimum(n * added / (waiting + added + laps * tpot), MOST_BUSY)
            before = busy * (n - 1) / n
            queued = np.minimum(
                (added + step) * (1 + before / (2 * (1 - before))), n * added + step
            )
            waiting = (waiting + queued) / 2
            decoding = np.maximum(load.running * laps * tpot / (waiting + laps * tpot), 1.0)
        return ServingTime(
            ttft_s=self.scenario.profile.request_s + waiting + (n - 1) * added / (2 * RUN_ROUNDS),
            tpot_s=tpot,
            step_s=step,
            prefill_s=added,
            decoding=decoding,
        )

    def _prompts_first(self, load: _Load) -> ServingTime:
        tokens = load.running * load.prompt
        batches = np.ceil(tokens / self.scenario.profile.chunk_tokens)
        shape = PassShape(
            phase="prefill",
            sequences=amount(load.running / batches),
            tokens=amount(tokens / batches),
            context=amount(load.prompt),
        )
        batch = np.asarray(self.terms.seconds("prefill", shape))
        step = self._step(load.running, load.context, None)
        return ServingTime(
            ttft_s=self.scenario.profile.request_s + (batches + 1) / 2 * batch,
            tpot_s=step + (batches - 1) / 2 * batch / (load.output - 1),
            step_s=step,
            prefill_s=batch,
            decoding=load.running,
        )


@dataclass(frozen=True, slots=True)
class _Load:
    """Requests of one replica; arrays of the same shape."""

    running: FloatArray
    prompt: FloatArray
    output: FloatArray
    replicas: int

    @property
    def all_running(self) -> FloatArray:
        """Requests whose prompts hold up a step: those of all replicas."""
        return self.running * self.replicas

    @property
    def context(self) -> FloatArray:
        """Mean context of a decoding request."""
        return self.prompt + self.output / 2

    def chunks(self, chunk_tokens: int) -> FloatArray:
        """Steps that one prompt is spread over."""
        return np.maximum(np.ceil(self.prompt / chunk_tokens), 1.0)

    def joined(self, chunk_tokens: int) -> Joined:
        """The mean chunk of a prompt: it sees half the prompt, and reads what came before it."""
        chunks = self.chunks(chunk_tokens)
        return Joined(
            tokens=amount(self.prompt / chunks),
            sequences=amount(1 / chunks),
            keys=amount(self.prompt / 2),
            cached_tokens=amount(self.prompt * (chunks + 1) / 2 / chunks),
        )
