"""What was asked, as frozen values: model, devices, fabric, split, workload, steps.

Everything here is complete and valid once built; readers report problems before building.
Sizes are bytes, times seconds, rates per second, bandwidths bytes per second per direction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from gpuflow.scenario.model_spec import ModelSpec

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
COLLECTIVES: tuple[Collective, ...] = get_args(Collective)
AllReduce = Literal[
    "ring",
    "tree",
    "recursive_doubling",
    "halving_doubling",
    "one_shot",
    "two_shot",
    "nvls",
    "nvls_one_shot",
    "hierarchical",
]
"""Algorithms of all_reduce, as the collectives room has them."""
ALL_REDUCES: tuple[AllReduce, ...] = get_args(AllReduce)
AUTO = "auto"
"""Said where the library or engine chooses the algorithm."""
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


CUBE_MESH_GPUS = 8
"""GPUs at the corners of a hybrid cube mesh."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricSpec:
    """What connects GPUs: inside a node (scale-up) or between nodes (scale-out)."""

    name: str
    title: str
    tier: Literal["scale_up", "scale_out"]
    topology: Literal["switch", "mesh", "cube_mesh", "pcie", "fat_tree", "rail"]
    """switch: one hop through a switch; mesh: a direct link to each peer; cube_mesh: six links to
    four of the seven peers (DGX-1); pcie: a tree of switches and host bridges; fat_tree: NICs of
    a node below one leaf; rail: NICs of like number below one leaf."""
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
    """Cost of one round of a schedule, for simulated times (NCCL's per-step latency of LL)."""
    source: str
    adds_in_switch: bool = False
    """Whether the switch can add and multicast what passes (NVLink SHARP)."""
    gpus_per_switch: int = 0
    """pcie: neighbouring GPUs below one PCIe switch; 0: they hang at the host bridges."""
    hosts: int = 1
    """pcie: host bridges of a node, one for each socket or NUMA domain."""
    host_link_bandwidth_bytes_per_s: float | None = None
    """pcie: reached by one host bridge towards the others; None: as much as a GPU's port."""
    bridge: FabricSpec | None = None
    """pcie: what joins GPUs 2i and 2i + 1 of a node directly."""
    leaf_ports: int = 0
    """fat_tree, rail: NICs below a leaf switch before another one is begun; 0: any number."""
    oversubscription: float = 1.0
    """fat_tree, rail: what the NICs below a leaf carry together over what its uplink does."""
    pxn: bool = False
    """rail: data goes over NVLink to the GPU on the receiver's rail before it leaves the node."""
    switch_latency_s: float = 0.0
    """fat_tree, rail: what every switch beyond the first one adds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSpec:
    """The machines: one kind of device, one fabric inside a node, one between nodes."""

    device: DeviceSpec
    scale_up: FabricSpec
    scale_out: FabricSpec
    """Rates are those that one GPU has, also where several share a NIC."""
    gpus_per_node: int
    nics_per_node: int | None = None
    """A divisor of `gpus_per_node`, neighbouring GPUs sharing a NIC; None: one a GPU."""

    @property
    def gpus_per_nic(self) -> int:
        """GPUs that share a NIC."""
        return self.gpus_per_node // (self.nics_per_node or self.gpus_per_node)


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
    collective_times: Literal["assumed", "calibrated"]
    """assumed: fixed latency plus bytes over reached bandwidth; calibrated: measured curves."""
    source: str
    narrow_compute_share: float = 1.0
    """Of `compute_fraction`, what GEMMs with weights of 8 bits or fewer reach of their peak."""
    quantised_expert_overhead_s: float = 0.0
    """Added in a layer of experts where all linear layers are quantised."""
    expert_block_rows: int = 0
    """Rows that the grouped GEMM computes for nothing for every expert it meets: its row block."""
    scores_in_16_bit: bool = False
    """Whether attention scores run in 16 bit whatever the GEMMs run in."""
    cache_bits: int = 16
    """Bits of a cached value where all linear layers are quantised; elsewhere 16."""
    all_reduce_kernel: str = "nccl"
    all_reduce_launch: str = "cuda_graph"
    """Kernel and launch mode whose curve times an all_reduce within a node."""
    joins_prefill: bool = True
    """How a loaded server treats a new prompt: its chunks join the steps of running requests, or
    (False) all waiting prompts go first and decoding stands still."""
    chunk_tokens: int = 8192
    """Prompt tokens of one step at most, on a loaded server."""
    request_s: float = 0.0
    """What a request spends outside the engine's steps on a loaded server: its way in, tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelSpec:
    """World = tp x pp x dp; expert groups of ep ranks overlay tp x dp."""

    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: int = 1
    stage_layers: tuple[int, ...] = ()
    """Layers of each stage; empty: as many in every stage."""

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
    chunk_tokens: int | None = None
    """Prompt tokens of one prefill pass at most; None: all of the batch's prompts in one pass."""
    micro_batches: int = 1
    """Groups the batch is cut into, which follow one another through the pipeline's stages."""
    overlap: bool = False
    """Whether the messages of one half of a pass run beside the computing of its other half."""


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
    takeaway: Text | None = None
    """The one sentence to remember of it."""
    notes: Text | None = None
    """For whoever presents it, a paragraph a line: what to say, to show and to ask."""
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
    """Precision of weights and GEMMs; activations stay 16 bit."""
    profile: ProfileSpec
    steps: tuple[StepSpec, ...]
    cache_bits: int | None = None
    """Bits of a cached value; None: as the profile has it."""
    all_reduce: AllReduce | None = None
    """Algorithm of every all_reduce whose group can run it; None: as library or engine choose."""
    is_altered: bool = False
    """Whether options replaced its model or split, of which its name may speak."""

    def with_workload(self, **changes: int | None) -> Scenario:
        """A copy with some workload fields changed."""
        fields: dict[str, Any] = {**changes}
        return replace(self, workload=replace(self.workload, **fields))
