"""What was asked, as frozen values: model, devices, fabric, split, workload, steps.

Everything here is complete and valid once built; readers report problems before building.
Sizes are bytes, times seconds, rates per second, bandwidths bytes per second per direction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

Language = Literal["zh", "en"]
Phase = Literal["prefill", "decode"]
TrafficClass = Literal["tp", "pp", "ep", "logits", "token", "kv", "input", "output"]
Payload = Literal["token_ids", "activations", "dispatch", "combine", "logits", "token", "output"]
Collective = Literal[
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
    "broadcast",
    "reduce",
    "scatter",
    "gather",
    "send_recv",
]
GroupName = Literal["tp", "pp", "dp", "ep", "replica", "world"]
StageSelector = Literal["first", "rest", "last", "all"]
ComputePart = Literal["embedding", "attention", "mlp", "head", "sampling"]
Condition = Literal["always", "dispatched", "not_dispatched"]
HostAction = Literal["deliver_prompts", "tokenize", "detokenize", "schedule"]
LayerSelector = Literal["all", "first", "rest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """One text in both languages; may hold placeholders such as `{message_size}`."""

    zh: str
    en: str

    def in_language(self, language: Language) -> str:
        """The text of `language`."""
        return self.zh if language == "zh" else self.en


# ---------------------------------------------------------------- model


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentSpec:
    """Multi-head latent attention: what is cached is one compressed vector a token."""

    query_rank: int
    """0 when queries are not compressed."""
    kv_rank: int
    rope_size: int
    nope_size: int
    value_size: int


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
    sinks: bool = False
    latent: LatentSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MlpSpec:
    """Feed-forward part of one layer, dense or a mixture of experts."""

    ffn_size: int
    """Width of the dense MLP, or of one routed expert."""
    gated: bool = True
    """Three matrices (gate, up, down) instead of two."""
    experts: int = 0
    """Routed experts; 0 means a dense MLP."""
    experts_per_token: int = 0
    shared_ffn_size: int = 0
    """Width of the shared experts taken together."""
    bias: bool = False
    router_bias: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerSpec:
    """One transformer block; equal layers share one object."""

    attention: AttentionSpec
    mlp: MlpSpec


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
    source: str
    assumed: tuple[Assumption, ...] = ()

    @property
    def has_experts(self) -> bool:
        """True for a mixture of experts."""
        return any(layer.mlp.experts for layer in self.layers)

    @property
    def attention(self) -> AttentionSpec:
        """Attention of the first layer: heads and KV heads are alike in all catalogue models."""
        return self.layers[0].attention

    @property
    def moe(self) -> MlpSpec | None:
        """The first mixture-of-experts MLP, or None."""
        return next((layer.mlp for layer in self.layers if layer.mlp.experts), None)


# ---------------------------------------------------------------- cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSpec:
    """One accelerator."""

    name: str
    title: str
    memory_bytes: float
    memory_bandwidth_bytes_per_s: float
    peak_flop_per_s: Mapping[str, float]
    """Dense peak by precision: bf16, fp8, fp4 ... (fp16 is read as bf16)."""
    fabric: str
    """Scale-up fabric inside a node."""
    nic: str
    """Scale-out fabric, one port a GPU unless the cluster says otherwise."""
    gpus_per_node: int
    source: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricSpec:
    """What connects GPUs: inside a node (scale-up) or between nodes (scale-out)."""

    name: str
    title: str
    tier: Literal["scale_up", "scale_out"]
    topology: Literal["switch", "mesh", "pcie", "fat_tree"]
    """switch: one hop through a switch; mesh: a direct link to each peer; pcie: a root complex
    that all share; fat_tree: a NIC and leaf switches."""
    link_bandwidth_bytes_per_s: float
    """Nominal, per GPU and direction."""
    bus_bandwidth_bytes_per_s: float
    """Reached by collectives (nccl-tests busbw)."""
    hop_bandwidth_bytes_per_s: float
    """Reached by one point-to-point transfer."""
    collective_latency_s: float
    """Fixed cost of a collective in the ideal profile."""
    hop_latency_s: float
    """Fixed cost of a point-to-point message in the ideal profile."""
    step_latency_s: float
    """Cost of one round of a schedule, for simulated times (NCCL's per-step latency)."""
    source: str
    adds_in_switch: bool = False
    """Whether the switch can add and multicast what passes (NVLink SHARP)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSpec:
    """The machines: one kind of device, one fabric inside a node, one between nodes."""

    device: DeviceSpec
    scale_up: FabricSpec
    scale_out: FabricSpec
    gpus_per_node: int


# ---------------------------------------------------------------- profile, split, workload


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSpec:
    """Host and kernel constants of an inference engine (domain: cost model)."""

    name: str
    title: Text
    compute_fraction: float
    """Part of the peak FLOP/s a GEMM reaches."""
    memory_fraction: float
    attention_compute_fraction: float
    attention_memory_fraction: float
    roofline_exponent: float | None
    """q of the soft maximum (x^q + y^q)^(1/q); None: hard maximum."""
    host_s_per_step: float
    layer_overhead_s: float
    elementwise: bool
    """Whether norms, residuals and activations are charged as memory passes."""
    collective_times: Literal["assumed", "simulated"]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelSpec:
    """World = tp x pp x dp; expert groups of ep ranks overlay tp x dp."""

    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: int = 1

    @property
    def world(self) -> int:
        """Number of GPUs."""
        return self.tp * self.pp * self.dp


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadSpec:
    """What one replica is asked."""

    batch: int
    """Sequences per data-parallel replica."""
    prompt_tokens: int
    output_tokens: int
    context_tokens: int | None = None
    """Context every decoded token attends to; None: it grows from the prompt's length."""


# ---------------------------------------------------------------- steps


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeOp:
    """A part of the model on the stage at hand (on the last stage where none is)."""

    part: ComputePart


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveOp:
    """A collective in every group of that name; it vanishes in groups of one rank."""

    collective: Collective
    group: GroupName
    payload: Payload
    when: Condition = "always"
    """dispatched: only where experts are reached by all_to_all; not_dispatched: only elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SendOp:
    """Point to point from the stage at hand to the next; it vanishes on the last stage."""

    payload: Payload


@dataclass(frozen=True, slots=True, kw_only=True)
class HostOp:
    """Something the host does: no bytes on the fabric."""

    action: HostAction


@dataclass(frozen=True, slots=True, kw_only=True)
class LayersOp:
    """Its operations once per layer of the stage at hand."""

    which: LayerSelector
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StagesOp:
    """Its operations for each selected pipeline stage, in order."""

    stages: StageSelector
    operations: tuple[Operation, ...]


Operation = ComputeOp | CollectiveOp | SendOp | HostOp | LayersOp | StagesOp


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSpec:
    """One of the eight steps."""

    id: str
    phase: Phase
    title: Text
    summary: Text
    detail: Text
    network: Text
    latency: Text
    idle: Text | None = None
    """Said instead of the summary when the split leaves nothing to do here."""
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """All of it."""

    name: str
    title: Text
    model: ModelSpec
    cluster: ClusterSpec
    parallel: ParallelSpec
    workload: WorkloadSpec
    precision: str
    """Precision of weights and GEMMs; activations and KV cache stay 16 bit."""
    profile: ProfileSpec
    steps: tuple[StepSpec, ...]

    def with_workload(self, **changes: int | None) -> Scenario:
        """A copy with some workload fields changed."""
        return replace(self, workload=replace(self.workload, **changes))  # type: ignore[arg-type]
