"""Which ways of splitting a model over GPUs there are, and what stands against the others.

Tensor parallelism divides attention heads, and KV heads or else GPUs into them: ranks beyond the
KV heads hold copies. It also divides what mixes tokens without attention, and the width of every
MLP. Pipeline stages hold as many layers each, unless the scenario lists them stage by stage.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from gpuflow.scenario.draft import MAX_RANKS, Draft
from gpuflow.scenario.model_spec import ModelSpec
from gpuflow.scenario.spec import ParallelSpec

_MAX_SUGGESTED = 12
_LONGEST_SPREAD = 16


def parallel_of(draft: Draft) -> ParallelSpec:
    """The split that was asked for; stages listed one by one are counted where pp is not given."""
    degrees = {name: draft.numbers.get(name, 1) for name in ("tp", "pp", "dp", "ep")}
    if draft.stage_layers and "pp" not in draft.numbers:
        degrees["pp"] = len(draft.stage_layers)
    return ParallelSpec(**degrees, stage_layers=draft.stage_layers)


def check_split(draft: Draft, model: ModelSpec | None, parallel: ParallelSpec) -> None:
    """Adds a problem for everything that does not divide, with the nearest values that do."""
    if parallel.world > MAX_RANKS:
        draft.blame(
            "world_too_large",
            ("tp", "pp", "dp"),
            hint="world_too_large",
            found=parallel.world,
            limit=MAX_RANKS,
        )
        return
    if model is not None:
        _check_tensor(draft, model, parallel)
        _check_layers(draft, model, parallel)
    _check_experts(draft, model, parallel)


def is_possible(model: ModelSpec, parallel: ParallelSpec) -> bool:
    """Whether a split works for a model, memory aside."""
    n_layers, ranks = len(model.layers), parallel.tp * parallel.dp
    if parallel.world > MAX_RANKS or not splits_tensors(model, parallel.tp):
        return False
    listed = parallel.stage_layers
    if (sum(listed), len(listed)) != (n_layers, parallel.pp) if listed else n_layers % parallel.pp:
        return False
    experts = model.moe.experts if model.moe else 0
    if parallel.ep == 1:
        return True
    return experts > 0 and ranks % parallel.ep == 0 and experts % parallel.ep == 0


def splits_tensors(model: ModelSpec, tp: int) -> bool:
    """Whether every layer can be divided among `tp` ranks."""
    return all(rule(model, tp) for rule, _, _ in _TENSOR_RULES)


def tensor_degrees(model: ModelSpec, near: int) -> list[int]:
    """Values of tp that work; of many, those nearest to `near`."""
    candidates = divisors(_heads(model) or _mixer_heads(model) or 1)
    return _nearest([tp for tp in candidates if splits_tensors(model, tp)], near)


def even_spread(n_layers: int, n_stages: int) -> tuple[int, ...]:
    """Layers of each stage, as alike as can be: the first stages hold one more."""
    least, more = divmod(n_layers, n_stages)
    return tuple(least + (1 if stage < more else 0) for stage in range(n_stages))


# ---------------------------------------------------------------- tensor parallelism


def _heads(model: ModelSpec) -> int:
    return math.gcd(*(layer.attention.heads for layer in model.layers if layer.attention))


def _mixer_heads(model: ModelSpec) -> int:
    """Heads of the mixers; a single matrix has none and is divided by its columns."""
    return math.gcd(
        *(m.heads for layer in model.layers if (m := layer.mixer) and m.kind != "linear")
    )


def _ffn_size(model: ModelSpec) -> int:
    return math.gcd(*(layer.mlp.ffn_size for layer in model.layers))


def _kv_heads(model: ModelSpec) -> list[int]:
    """KV heads of layers that cache them; a latent is not divided at all."""
    own = {a.kv_heads for layer in model.layers if (a := layer.attention) and a.latent is None}
    return sorted(own)


def _divides_heads(model: ModelSpec, tp: int) -> bool:
    return _heads(model) % tp == 0


def _divides_kv_heads(model: ModelSpec, tp: int) -> bool:
    return all(n % tp == 0 or tp % n == 0 for n in _kv_heads(model))


def _divides_mixers(model: ModelSpec, tp: int) -> bool:
    return _mixer_heads(model) % tp == 0


def _divides_ffn(model: ModelSpec, tp: int) -> bool:
    return _ffn_size(model) % tp == 0


def _awkward_kv_heads(model: ModelSpec) -> int:
    return _kv_heads(model)[0] if _kv_heads(model) else 0


_Rule = Callable[[ModelSpec, int], bool]
_Count = Callable[[ModelSpec], int]
_TENSOR_RULES: tuple[tuple[_Rule, str, _Count], ...] = (
    (_divides_heads, "tp_heads", _heads),
    (_divides_kv_heads, "tp_kv_heads", _awkward_kv_heads),
    (_divides_mixers, "tp_mixer_heads", _mixer_heads),
    (_divides_ffn, "tp_ffn", _ffn_size),
)
"""What must hold, the problem where it does not, and the number it is about."""


def _check_tensor(draft: Draft, model: ModelSpec, parallel: ParallelSpec) -> None:
    """The first thing that does not divide; the values named divide them all."""
    for holds, code, count in _TENSOR_RULES:
        if holds(model, parallel.tp):
            continue
        draft.blame(
            code,
            ("tp", "model"),
            hint="values_that_do",
            tp=parallel.tp,
            heads=count(model),
            model=model.title,
            allowed=tensor_degrees(model, near=parallel.tp),
        )
        return


# ---------------------------------------------------------------- stages and experts


def _check_layers(draft: Draft, model: ModelSpec, parallel: ParallelSpec) -> None:
    n_layers, pp = len(model.layers), parallel.pp
    listed = parallel.stage_layers
    spread = even_spread(n_layers, pp) if pp <= min(n_layers, _LONGEST_SPREAD) else ()
    if listed and len(listed) != pp:
        draft.blame("stage_count", ("layers", "pp"), hint="stage_count", found=len(listed), pp=pp)
    elif listed and sum(listed) != n_layers:
        draft.blame(
            "stage_sum",
            ("layers", "model"),
            hint="stage_spread" if spread else "",
            found=sum(listed),
            layers=n_layers,
            model=model.title,
            spread=list(spread),
        )
    elif not listed and n_layers % pp:
        hint = "pp_layers" if spread else "values_that_do"
        if spread and draft.is_option("model") and not draft.is_option("pp"):
            hint = "pp_of_scenario"
        draft.blame(
            "pp_layers",
            ("pp", "model"),
            hint=hint,
            scenario=draft.name or "",
            pp=pp,
            layers=n_layers,
            model=model.title,
            allowed=divisors_near(n_layers, pp),
            spread=list(spread),
            stages=",".join(map(str, spread)),
        )


def _check_experts(draft: Draft, model: ModelSpec | None, parallel: ParallelSpec) -> None:
    if parallel.ep == 1:
        return
    ranks = parallel.tp * parallel.dp
    experts = model.moe.experts if model and model.moe else 0
    if model is not None and not experts:
        draft.blame(
            "ep_without_experts", ("ep", "model"), hint="ep_one", ep=parallel.ep, model=model.title
        )
        return
    allowed = divisors_near(math.gcd(ranks, experts), parallel.ep)
    if ranks % parallel.ep:
        draft.blame(
            "ep_ranks",
            ("ep", "tp", "dp"),
            hint="ep_values",
            ep=parallel.ep,
            tp=parallel.tp,
            dp=parallel.dp,
            ranks=ranks,
            allowed=allowed,
        )
    elif model is not None and experts % parallel.ep:
        draft.blame(
            "ep_experts",
            ("ep", "model"),
            hint="ep_values",
            ep=parallel.ep,
            experts=experts,
            model=model.title,
            allowed=allowed,
        )


def divisors_near(n: int, near: int) -> list[int]:
    """Divisors of n; of many, those nearest to `near`."""
    return _nearest(divisors(n), near)


def divisors(n: int) -> list[int]:
    """All divisors of n, rising."""
    small = [d for d in range(1, math.isqrt(n) + 1) if n % d == 0]
    return sorted({*small, *(n // d for d in small)})


def _nearest(values: list[int], near: int) -> list[int]:
    """Of many values those nearest to one, in order."""
    found = sorted(values, key=lambda d: abs(math.log(d / near)))[:_MAX_SUGGESTED]
    return sorted(found)


def with_split(parallel: ParallelSpec, tp: int, pp: int) -> ParallelSpec:
    """The same replicas and expert groups at another tp and pp, stages equal."""
    return replace(parallel, tp=tp, pp=pp, stage_layers=())
