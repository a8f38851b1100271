"""Linear modules of a layer under the names that quantisation files use, and which patterns match.

Checkpoints name the same matrix differently (`self_attn.q_proj`, `self_attn.qkv_proj`,
`block_sparse_moe.experts.0.w1`); a pattern counts when it matches any of a module's names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
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
_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(\d{1,6})(?:\.|$)")


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
    """Names, wildcards and expressions of modules, sorted by the layer they are about.

    A pattern that names a block holds for all that is in it.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._names: dict[int, set[str]] = {}
        """Names below a layer, by its number: `self_attn`; an empty one is the whole layer."""
        self._wildcards: dict[int, list[re.Pattern[str]]] = {}
        self._general: set[str] = set()
        """Names without a layer, such as `lm_head` or `gate`."""
        self._is_numbered = False
        self._n_wildcards = 0
        self.unreadable: list[str] = []
        """Expressions that are none, or could take for ever."""
        sources = [source for pattern in patterns for source in self._sorted_in(pattern)]
        self.unreadable += sources[_MOST_SOURCES:]
        self._holds_anywhere: dict[tuple[str, ...], bool] = {}
        """Whether a general name is one of a module's, by the module's names."""
        self._union = _joined(sources[:_MOST_SOURCES])
        self._work_left = _MOST_WORK
        self._work_a_name = _WORK_OF_NAME + sum(1 + 4 * one.count("*") for one in sources)

    def _sorted_in(self, pattern: str) -> Iterator[str]:
        """Puts a pattern where it belongs; those for any layer come back as expressions."""
        if pattern.startswith("re:"):
            expression = re.sub(r"(?:\.\*)+", ".*", pattern[3:])
            if _is_readable(expression):
                self._is_numbered |= _DIGITS.search(expression) is not None
                yield expression
            else:
                self.unreadable.append(pattern)
            return
        found = _LAYER.search(pattern)
        head = pattern[: found.start(1)] if found else pattern
        if found and any(word in head for word in _OTHER_TOWERS):
            return
        if found and "*" not in head:
            number, below = int(found[1]), pattern[found.start(1) :]
            if "*" in below:
                self._add_wildcard(number, below, pattern)
            else:
                self._names.setdefault(number, set()).add(pattern[found.end(1) :].strip("."))
        elif "*" in pattern:
            self._is_numbered |= _DIGITS.search(pattern) is not None
            yield translate(pattern)
            yield translate(f"{pattern}.*")
        else:
            self._general.add(pattern)

    def layers(self) -> set[int]:
        """Numbers of the layers that patterns name one by one."""
        return self._names.keys() | self._wildcards.keys()

    def depends_on_number(self) -> bool:
        """Whether a pattern that is not about one layer may still hold for some layers only."""
        return self._is_numbered

    def match(self, module: Module, layer: int) -> bool:
        """Whether any pattern holds for a module of a layer, counted from 0."""
        if self._holds_in_any_layer(module):
            return True
        if not _blocks_of(module.names).isdisjoint(self._names.get(layer, ())):
            return True
        wildcards = self._wildcards.get(layer, ())
        for name in module.names if wildcards else ():
            below = f"{layer}.{name}"
            if any(wildcard.match(below) for wildcard in wildcards):
                return True
        return self._union_holds(module, layer)

    def _union_holds(self, module: Module, layer: int) -> bool:
        """Whether an expression for any layer holds; False too where they take too much work."""
        if self._union is None:
            return False
        for head, tail in _forms_of(module.names):
            self._work_left -= self._work_a_name
            if self._work_left < 0:
                return False
            if self._union.match(f"{head}{layer}{tail}"):
                return True
        return False

    @property
    def is_exhausted(self) -> bool:
        """Whether there were so many expressions and layers that some were not looked at."""
        return self._work_left < 0

    def _add_wildcard(self, number: int, below: str, pattern: str) -> None:
        of_layer = self._wildcards.setdefault(number, [])
        self._n_wildcards += 1
        if self._n_wildcards > _MOST_WILDCARDS or len(of_layer) >= _MOST_OF_LAYER:
            self.unreadable.append(pattern)
            return
        of_layer += [re.compile(translate(below)), re.compile(translate(f"{below}.*"))]

    def _holds_in_any_layer(self, module: Module) -> bool:
        """Whether a name without a layer is a part of one of the module's names."""
        found = self._holds_anywhere.get(module.names)
        if found is None:
            found = bool(self._general) and any(
                path in self._general
                for name in module.names
                for path in _inner_paths(name.split("."))
            )
            found = found or "layers" in self._general
            self._holds_anywhere[module.names] = found
        return found


@lru_cache(maxsize=256)
def _blocks_of(names: tuple[str, ...]) -> frozenset[str]:
    """The names and all that holds them: the layer itself, `self_attn`, `self_attn.q_proj`."""
    parts = (name.split(".") for name in names)
    return frozenset(".".join(one[:end]) for one in parts for end in range(len(one) + 1))


def _inner_paths(parts: Sequence[str]) -> Iterator[str]:
    """Every run of neighbouring parts: a name without a layer may be any of them."""
    for start in range(len(parts)):
        for end in range(start + 1, len(parts) + 1):
            yield ".".join(parts[start:end])


def _joined(sources: Sequence[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(f"(?:{source})" for source in sources)) if sources else None


@lru_cache(maxsize=256)
def _forms_of(names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """What stands before and behind the layer's number in every full name that may be meant."""
    return tuple(
        (f"{prefix}{stack}.", f".{name}")
        for prefix in _PREFIXES
        for stack in (_STACKS[:1] if prefix != "transformer." else _STACKS[1:])
        for name in names
    )


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
_MOST_SOURCES = 400
_MOST_WILDCARDS = 2_000
_MOST_OF_LAYER = 64
_WORK_OF_NAME = 20
"""Making a name costs as much as trying so many expressions on it."""
_MOST_WORK = 8_000_000
"""An expression about numbers of layers takes 50,000 a layer; checkpoints have few of them."""
_DIGITS = re.compile(r"\d|\[|\(")
