"""The LLM as frozen values: layers, attention, experts, how weights are stored."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

MixerKind = Literal["mamba", "mamba2", "delta", "lightning", "conv", "linear"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentSpec:
    """Multi-head latent attention: what is cached is one compressed vector a token."""

    query_rank: int
    """0 when queries are not compressed."""
    kv_rank: int
    rope_size: int
    nope_size: int
    value_size: int
    index_heads: int = 0
    """Heads of the indexer that picks the tokens attended to (DeepSeek-V3.2); 0: none."""
    index_size: int = 0
    """Size of its heads, and of the one key a token leaves in its cache."""
    index_tokens: int = 0
    """Tokens it picks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionSpec:
    """Attention of one layer."""

    heads: int
    kv_heads: int
    head_size: int
    window: int | None = None
    """Tokens a sliding-window layer looks back on; None: all."""
    qkv_bias: bool = False
    output_bias: bool = False
    qk_norm: bool = False
    qk_norm_across_heads: bool = False
    """One norm over all heads together instead of one a head."""
    sinks: bool = False
    has_gate: bool = False
    """The query projection is twice as wide: half of it gates the output."""
    value_is_key: bool = False
    """One projection makes keys and values; both are cached all the same."""
    latent: LatentSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MixerSpec:
    """What mixes tokens without a KV cache: Mamba, linear attention, a short convolution.

    It keeps a state of fixed size a sequence. Which fields mean something depends on `kind`:
    mamba2 and delta (gated delta net) have all; lightning has heads only; mamba has `heads`
    channels of size 1 and a `rank`; conv has a kernel; linear is one square matrix.
    """

    kind: MixerKind
    heads: int = 1
    head_size: int = 1
    """Size of a value head."""
    key_heads: int = 1
    """Key heads (Mamba-2: groups)."""
    key_size: int = 1
    """Size of a key head (Mamba: the state of one channel)."""
    kernel: int = 1
    """Tokens the convolution spans."""
    rank: int = 0
    """Rank of Mamba's time-step projection."""
    bias: bool = False
    """Biases on the projections."""
    conv_bias: bool = False
    inner_norms: bool = False
    """Norms on Mamba's time step, B and C (Jamba)."""
    state_value_bytes: float = 2.0
    """Bytes of one value of the recurrent state; the convolution's stay 16 bit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MlpSpec:
    """Feed-forward part of one layer, dense or a mixture of experts."""

    ffn_size: int
    """Width of the dense MLP, or of one routed expert; 0: the layer has none."""
    gated: bool = True
    """Three matrices (gate, up, down) instead of two."""
    experts: int = 0
    """Routed experts; 0 means a dense MLP."""
    experts_per_token: int = 0
    shared_ffn_size: int = 0
    """Width of the shared experts, or of a dense MLP beside the routed ones, taken together."""
    shared_gate: bool = False
    """A gate of h weights scales what the shared experts add."""
    latent_size: int = 0
    """Routed experts work on vectors of this size, projected down and up around them; 0: on h."""
    bias: bool = False
    router_bias: bool = False


NO_MLP = MlpSpec(ffn_size=0)
"""For layers that only mix tokens; every count of it is zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSpec:
    """Bytes a weight takes in the checkpoint, scales included, by the part of a layer."""

    attention: float
    """Attention or mixer."""
    experts: float
    dense: float
    """Dense MLP and shared experts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerSpec:
    """One transformer block; equal layers share one object."""

    attention: AttentionSpec | None
    """None in layers that mix tokens otherwise, or not at all."""
    mlp: MlpSpec
    mixer: MixerSpec | None = None
    """May stand beside attention (Falcon-H1)."""
    norm_vectors: int = 2
    """Vectors of h weights in norms: a LayerNorm with bias has two."""
    stored: StoredSpec | None = None
    """How the checkpoint stores this layer; None: as `precision` and `quantised` say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """A value the source did not give, and what was taken instead."""

    key: str
    value: str
    reason: str
    """Locale key `assumed.<reason>`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """The LLM."""

    name: str
    """Catalogue id, or the file it came from."""
    title: str
    """As people write it: Llama-3-8B."""
    hidden_size: int
    vocab_size: int
    layers: tuple[LayerSpec, ...]
    tied_embeddings: bool
    precision: str
    """What the published weights are stored in: bf16, fp16, fp8, fp4."""
    quantised: Literal["none", "linear", "experts"] = "none"
    """Which weights `precision` holds for; the others stay bf16. none: all of them."""
    extra_parameters: int = 0
    """Weights outside the layers beyond embedding, head and one norm vector: position tables,
    biases of the head, further norms."""
    source: str
    assumed: tuple[Assumption, ...] = ()

    @property
    def has_experts(self) -> bool:
        """True for a mixture of experts."""
        return any(layer.mlp.experts for layer in self.layers)

    @property
    def attention(self) -> AttentionSpec | None:
        """The attention that most layers have, of equals the first; None: the model has none."""
        found = [layer.attention for layer in self.layers if layer.attention is not None]
        counts = Counter(found)
        return max(found, key=lambda attention: counts[attention], default=None)

    @property
    def moe(self) -> MlpSpec | None:
        """The first mixture-of-experts MLP, or None."""
        return next((layer.mlp for layer in self.layers if layer.mlp.experts), None)

    @property
    def expert_width(self) -> int:
        """Size of the vectors that travel to routed experts and back."""
        moe = self.moe
        return moe.latent_size if moe is not None and moe.latent_size else self.hidden_size
