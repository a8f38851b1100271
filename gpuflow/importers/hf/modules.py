"""Linear modules of a layer under the names that quantisation files use, and which patterns match.

Checkpoints name the same matrix differently (`self_attn.q_proj`, `self_attn.qkv_proj`,
`block_sparse_moe.experts.0.w1`); a pattern counts when it matches any of a module's names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import translate
from typing import Literal

from gpuflow.scenario.model_spec import AttentionSpec, LayerSpec, MlpSpec

Part = Literal["attention", "experts", "dense"]

_PREFIXES = (
    "model.",
    "",
    "model.language_model.",
    "language_model.model.",
    "backbone.",
    "transformer.",
    "thinker.model.",
)
_STACKS = ("layers", "h", "blocks")
_ATTENTION = ("self_attn", "attn", "self_attention", "attention", "mixer")
_MIXER = ("mixer", "mamba", "linear_attn", "conv", "self_attn")
_MLP = ("mlp", "block_sparse_moe", "feed_forward", "moe", "mixer", "ffn")
_SHARED = ("shared_experts", "shared_expert", "shared_mlp")
_GATE = ("gate_proj", "gate_up_proj", "w1", "dense_h_to_4h", "linear_fc1", "c_fc")
_UP = ("up_proj", "gate_up_proj", "w3", "dense_h_to_4h", "linear_fc1", "fc1", "c_fc")
_DOWN = ("down_proj", "w2", "dense_4h_to_h", "linear_fc2", "fc2", "c_proj")
_OTHER_TOWERS = ("vis", "audio", "talker", "image", "projector", "mtp", "draft")
_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(\d+)(?:\.|$)")


@dataclass(frozen=True, slots=True)
class Module:
    """One matrix of a layer."""

    part: Part
    weights: int
    names: tuple[str, ...]
    """Below the layer: `self_attn.q_proj`."""


def modules_of(layer: LayerSpec, hidden_size: int) -> Iterator[Module]:
    """The matrices of a layer that can be quantised; routers, norms and embeddings never are."""
    if layer.attention is not None:
        yield from _attention_modules(layer.attention, hidden_size)
    if layer.mixer is not None:
        yield from _mixer_modules(layer, hidden_size)
    mlp = layer.mlp
    if mlp.ffn_size:
        part: Part = "experts" if mlp.experts else "dense"
        inner = ("experts.0", "experts") if mlp.experts else ("",)
        width = mlp.latent_size or hidden_size
        yield from _mlp_modules(part, mlp, mlp.ffn_size * max(mlp.experts, 1) * width, inner)
    if mlp.shared_ffn_size:
        yield from _mlp_modules("dense", mlp, mlp.shared_ffn_size * hidden_size, _SHARED)


def _attention_modules(a: AttentionSpec, h: int) -> Iterator[Module]:
    def module(weights: int, *names: str) -> Module:
        return Module("attention", weights, tuple(_below(_ATTENTION, names)))

    if a.latent is not None:
        lat, query_size = a.latent, a.latent.nope_size + a.latent.rope_size
        if lat.query_rank:
            yield module(h * lat.query_rank, "q_a_proj", "fused_qkv_a_proj_with_mqa")
        queries = (lat.query_rank or h) * a.heads * query_size
        yield module(queries, "q_b_proj" if lat.query_rank else "q_proj")
        yield module(
            h * (lat.kv_rank + lat.rope_size), "kv_a_proj_with_mqa", "fused_qkv_a_proj_with_mqa"
        )
        yield module(lat.kv_rank * a.heads * (lat.nope_size + lat.value_size), "kv_b_proj")
        yield module(a.heads * lat.value_size * h, "o_proj")
        return
    fused = ("qkv_proj", "query_key_value", "W_pack", "c_attn", "Wqkv")
    query, kv = a.heads * a.head_size * h, a.kv_heads * a.head_size * h
    yield module(query * (2 if a.has_gate else 1), "q_proj", *fused)
    yield module(kv, "k_proj", *fused)
    if not a.value_is_key:
        yield module(kv, "v_proj", *fused)
    yield module(query, "o_proj", "dense", "out_proj", "c_proj", "wo")


def _mixer_modules(layer: LayerSpec, h: int) -> Iterator[Module]:
    m = layer.mixer
    if m is None:
        return
    value, key = m.heads * m.head_size, m.key_heads * m.key_size
    entering = {"mamba2": 2 * value + 2 * key + m.heads, "delta": 2 * value + 2 * key}
    width = entering.get(m.kind, 2 * value if m.kind == "mamba" else 3 * value)
    names = ("in_proj", "in_proj_qkvz", "in_proj_qkv", "qkv_proj")
    yield Module("attention", h * width, tuple(_below(_MIXER, names)))
    yield Module("attention", h * value, tuple(_below(_MIXER, ("out_proj",))))


def _mlp_modules(part: Part, mlp: MlpSpec, weights: int, inner: Iterable[str]) -> Iterator[Module]:
    rows = (_GATE, _UP, _DOWN) if mlp.gated else (_UP, _DOWN)
    for names in rows:
        paths = [f"{middle}.{name}" if middle else name for middle in inner for name in names]
        yield Module(part, weights, tuple(_below(_MLP, paths)))


def _below(containers: Iterable[str], names: Iterable[str]) -> Iterator[str]:
    listed = tuple(names)
    return (f"{container}.{name}" for container in containers for name in listed)


class Patterns:
    """Names, wildcards and expressions of modules, sorted by the layer they are about."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._of_layer: dict[int, list[str]] = {}
        self._everywhere: list[str] = []
        for pattern in patterns:
            if not pattern.startswith("re:") and "*" not in pattern:
                head = pattern.split("layers.")[0]
                found = _LAYER.search(pattern)
                if any(word in head for word in _OTHER_TOWERS):
                    continue
                if found:
                    self._of_layer.setdefault(int(found[1]), []).append(pattern)
                    continue
            self._everywhere.append(pattern)
        self._plain = [p for p in self._everywhere if "*" not in p and not p.startswith("re:")]
        self.unreadable: list[str] = []
        """Expressions that are none, or could take for ever."""
        self._union = self._joined()

    def _joined(self) -> re.Pattern[str] | None:
        """Wildcards and expressions as one; a wildcard that names a block holds for all in it."""
        sources: list[str] = []
        for pattern in self._everywhere:
            if pattern.startswith("re:"):
                expression = _collapsed(pattern[3:])
                if _is_readable(expression):
                    sources.append(expression)
                else:
                    self.unreadable.append(pattern)
            elif "*" in pattern:
                sources += [translate(pattern), translate(f"{pattern}.*")]
        return re.compile("|".join(f"(?:{source})" for source in sources)) if sources else None

    def layers(self) -> set[int]:
        """Numbers of the layers that patterns name one by one."""
        return set(self._of_layer)

    def depends_on_number(self) -> bool:
        """Whether a pattern that is not about one layer may still hold for some layers only."""
        return any(_DIGITS.search(pattern) for pattern in self._everywhere)

    def match(self, module: Module, layer: int) -> bool:
        """Whether any pattern holds for a module of a layer, counted from 0."""
        exact = [_from_stack(p) for p in self._of_layer.get(layer, ())]
        for name in module.names:
            below = f"{layer}.{name}."
            # A pattern holds for all that is below what it names.
            if any(below.startswith(f"{p}.") for p in exact):
                return True
            dotted = f".layers.{layer}.{name}."
            if any(f".{p}." in dotted for p in self._plain):
                return True
        union = self._union
        return union is not None and any(union.match(full) for full in _full_names(module, layer))


def _full_names(module: Module, layer: int) -> Iterator[str]:
    for prefix in _PREFIXES:
        for stack in _STACKS[:1] if prefix != "transformer." else _STACKS[1:]:
            for name in module.names:
                yield f"{prefix}{stack}.{layer}.{name}"


def _from_stack(pattern: str) -> str:
    """A pattern from its layer's number on: `0.self_attn`."""
    found = _LAYER.search(pattern)
    return pattern[found.start(1) :] if found else pattern


def _collapsed(expression: str) -> str:
    return re.sub(r"(?:\.\*)+", ".*", expression)


def _is_readable(expression: str) -> bool:
    """Whether it is an expression, and of the plain kind that module names need.

    Repeated groups and many repetitions could take for ever on a name that does not match.
    """
    if re.search(r"\)[*+{]", expression) or len(re.findall(r"[*+{]", expression)) > _MOST_REPEATS:
        return False
    try:
        re.compile(expression)
    except (re.error, RecursionError, OverflowError):
        return False
    return not expression.startswith("(?")


_MOST_REPEATS = 6
_DIGITS = re.compile(r"\d|\[|\(")
