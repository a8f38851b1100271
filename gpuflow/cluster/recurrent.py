"""Layers without a KV cache: weights, state and work of Mamba, linear attention and the like.

h hidden size    V = heads x head size, the width of the values    K = key heads x key size
N key size (Mamba: the state of one channel)    k tokens the convolution spans
Formulas: reference code in Transformers of Nemotron-H, Jamba, Qwen3-Next, MiniMax-01 and LFM2.
"""

from __future__ import annotations

from functools import lru_cache

from gpuflow.cluster.held import SplitWeights
from gpuflow.scenario.model_spec import MixerSpec

CONV_VALUE_BYTES = 2.0
"""The convolution keeps its last tokens in 16 bit."""
FLOP_PER_STATE_VALUE = 6.0
"""Decay, update and read of one value of the state by one token, a multiply and an add each."""


@lru_cache(maxsize=256)
def mixer_weights(mixer: MixerSpec, hidden_size: int) -> SplitWeights:
    """All weights of a mixer.

    mamba2: h (2V + 2K + heads) in, V h out, a convolution over V + 2K; delta: one gate more a
    head; mamba: 2 h V in, V (rank + 2N) and rank V inside; lightning: 4 h V in, V h out;
    conv: 3 h V in, V h out; linear: one matrix.
    """
    m, h = mixer, hidden_size
    value, key = m.heads * m.head_size, m.key_heads * m.key_size
    taps = m.kernel + (1 if m.conv_bias else 0)
    out_bias = h if m.bias else 0
    if m.kind in {"mamba2", "delta"}:
        gates = m.heads if m.kind == "mamba2" else 2 * m.heads
        in_bias = 2 * value + 2 * key + gates if m.bias else 0
        norm = value if m.kind == "mamba2" else m.head_size
        a_head = 3 if m.kind == "mamba2" else 2
        return SplitWeights(
            split=h * (3 * value + gates) + value * taps + a_head * m.heads + norm + in_bias,
            kv_split=2 * key * (h + taps),
            replicated=out_bias,
        )
    if m.kind == "mamba":
        state = m.key_size
        inner = value * (m.rank + 2 * state) + value * (m.rank + 1) + value * (state + 1)
        norms = m.rank + 2 * state if m.inner_norms else 0
        in_bias = 2 * value if m.bias else 0
        return SplitWeights(
            split=3 * h * value + value * taps + inner + in_bias,
            kv_split=0,
            replicated=norms + out_bias,
        )
    if m.kind == "lightning":
        return SplitWeights(split=5 * h * value + value, kv_split=0, replicated=0)
    if m.kind == "conv":
        in_bias = 3 * value if m.bias else 0
        return SplitWeights(
            split=4 * h * value + value * taps + in_bias, kv_split=0, replicated=out_bias
        )
    return SplitWeights(split=h * h, kv_split=0, replicated=out_bias)


def recurrent_values(mixer: MixerSpec) -> int:
    """Values of the recurrent state of one sequence: V N, none for a convolution or a matrix."""
    if mixer.kind in {"conv", "linear"}:
        return 0
    size = mixer.head_size if mixer.kind == "lightning" else mixer.key_size
    return mixer.heads * mixer.head_size * size


def state_bytes(mixer: MixerSpec, tp: int = 1) -> float:
    """State of one sequence on one of `tp` ranks: V N, and k - 1 tokens of what is convolved.

    Heads are divided; key heads fewer than tp are replicated.
    """
    value = mixer.heads * mixer.head_size / tp
    key = mixer.key_heads * mixer.key_size / min(tp, mixer.key_heads)
    convolved = value + 2 * key if mixer.kind in {"mamba2", "delta"} else value
    if mixer.kind == "linear":
        convolved = 0.0
    kept = (mixer.kernel - 1) * convolved * CONV_VALUE_BYTES
    return recurrent_values(mixer) / tp * mixer.state_value_bytes + kept


def recurrent_flop(mixer: MixerSpec, tokens: float, tp: int) -> float:
    """Work of the recurrence on one rank; prefill in chunks does about as much a token."""
    return FLOP_PER_STATE_VALUE * tokens * recurrent_values(mixer) / tp
