"""What the name of a kernel says: which collective by which library, or which kind of computing.

Names come as compilers print them (templates, parameters, namespaces), mangled, or bare; only the
function's own name counts, since templates are full of words that mean something else.
Forms seen in the field:

    ncclKernel_AllReduce_RING_LL_Sum_float       NCCL up to 2.18: algorithm before the operation
    ncclDevKernel_AllReduce_Sum_bf16_RING_LL     NCCL 2.19 and later
    ncclAllReduceRingLLKernel_sum_f32            NCCL up to 2.7
    ncclSymkDevKernel_AllReduce_RSxLDMC_AGxSTMC  symmetric memory, NCCL 2.27 and later
    ncclDevKernel_Generic                        RCCL: the name hides the collective
    multimem_all_reduce_kernel                   PyTorch's symmetric memory, added in the switch
    vllm::cross_device_reduce_1stage             the engines' own, one- and two-shot
    deep_ep::internode_ll::dispatch              DeepEP
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from gpuflow.scenario.spec import Collective

Kind = Collective | Literal["barrier", "unknown"]
"""Names of collectives as everywhere in the project; unknown: it is communication and nothing says
of which kind."""
Role = Literal["", "dispatch", "combine", "notify"]
"""What an all_to_all of experts does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A kernel that communicates, by its name."""

    kind: Kind
    library: str
    """nccl, rccl, symmetric_memory, vllm, flashinfer, tensorrt_llm, deep_ep, mori, nvshmem,
    copy_engine, other."""
    algorithm: str = ""
    """ring, tree, nvls, one_shot ... as the schedules are called; empty where it is not said."""
    protocol: str = ""
    """ll, ll128 or simple."""
    role: Role = ""
    ranks: int | None = None
    """Where the name has it as a template argument."""


_KINDS: tuple[tuple[str, Kind], ...] = (
    ("allreduce", "all_reduce"),
    ("allgather", "all_gather"),
    ("reducescatter", "reduce_scatter"),
    ("alltoall", "all_to_all"),
    ("a2a", "all_to_all"),
    ("broadcast", "broadcast"),
    ("bcast", "broadcast"),
    ("barrier", "barrier"),
    ("sendrecv", "send_recv"),
    ("reduce", "reduce"),
    ("scatter", "scatter"),
    ("gather", "gather"),
    ("send", "send_recv"),
    ("recv", "send_recv"),
)
"""By how a name begins, without signs and in lower case; longer words first."""


def kind_of_words(text: str) -> Kind:
    """The collective that PyTorch calls so: `_allgather_base`, `nccl:all_reduce`, `recv 0<-1`."""
    plain = re.sub(r"[^a-z0-9]", "", text.lower().removeprefix("nccl:").removeprefix("gloo:"))
    if plain.endswith("barrier"):
        return "barrier"
    return next((kind for word, kind in _KINDS if plain.startswith(word)), "unknown")


def communication(name: str) -> Named | None:
    """The communication a kernel does; None where its name does not speak of any."""
    return _communication(name[:MOST_READ])


MOST_READ = 4096
"""Characters of a name that are looked at."""
_LONGEST_OWN = 256
"""Characters of a function's own name that are."""


@lru_cache(maxsize=4096)
def _communication(name: str) -> Named | None:
    if name.startswith("Memcpy"):
        is_between = "PtoP" in name or "Peer" in name
        return Named(kind="send_recv", library="copy_engine") if is_between else None
    plain = own_name(name)[:_LONGEST_OWN]
    return _of_nccl(plain) or _of_experts(plain) or _of_engines(plain, name)


# ---------------------------------------------------------------- the function's own name

_ANONYMOUS = "(anonymous namespace)::"
_OPENING = {">": "<", ")": "("}
_LENGTH = re.compile(r"(\d{1,3})")
"""Of the part of a mangled name that follows."""


@lru_cache(maxsize=4096)
def own_name(name: str) -> str:
    """The function with its namespaces, without return type, templates and parameters.

    Example:
        >>> own_name("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)")
        'vllm::cross_device_reduce_1stage'
        >>> own_name("_ZN7deep_ep9intranode7combineI13__nv_bfloat16Li8EEEvPT_")
        'deep_ep::intranode::combine'
    """
    name = name[:MOST_READ]
    if name.startswith("_Z"):
        return _demangled(name)
    plain = name.replace(_ANONYMOUS, "").replace("{lambda", "<lambda").replace("operator()", "call")
    kept: list[str] = []
    open_signs: list[str] = []
    for piece in re.split(r"([<>()])", plain):
        if piece in {"<", "("}:
            if piece == "(" and not open_signs and "".join(kept).strip():
                break
            open_signs.append(piece)
        elif piece in _OPENING:
            # A comparison among template arguments closes nothing: (8)>(0).
            if open_signs and open_signs[-1] == _OPENING[piece]:
                open_signs.pop()
        elif not open_signs:
            kept.append(piece)
    words = "".join(kept).split()
    return words[-1] if words else plain.strip()


def short_name(name: str) -> str:
    """The function without its namespaces; what does not read as one is cut.

    Example:
        >>> short_name("void (anonymous namespace)::multimem_all_reduce_kernel<T, 16>(T*)")
        'multimem_all_reduce_kernel'
    """
    if name.startswith("Mem"):
        return name.split("(")[0].strip()[:80]
    plain = own_name(name)
    parts = [part for part in plain.split("::") if part]
    if len(parts) > 2 and parts[0] == "deep_ep":
        return "::".join(parts[-2:])
    return (parts[-1] if parts else name)[:80]


def _demangled(name: str) -> str:
    """Nested names of the Itanium mangling: `_ZN7deep_ep9intranode8dispatch...`."""
    at = 3 if name.startswith("_ZN") else 2
    parts: list[str] = []
    while match := _LENGTH.match(name, at):
        length = int(match[1])
        part = name[match.end() : match.end() + length]
        if not length or len(part) < length:
            break
        at = match.end() + length
        if not part.startswith("_GLOBAL__"):
            parts.append(part)
    return "::".join(parts) or name


# ---------------------------------------------------------------- libraries

_NCCL = re.compile(
    r"^nccl(?:Symk?)?(?:Dev)?Kernel_(?P<kind>[A-Za-z]+)(?P<rest>.*)$"
    r"|^nccl(?P<old>AllReduce|AllGather|ReduceScatter|Broadcast|Reduce|SendRecv)(?P<tail>.*)$"
)
_ALGORITHM = re.compile(
    r"(?:^|_)(RING|TREE|COLLNET_DIRECT|COLLNET_CHAIN|NVLS_TREE|NVLS|PAT)(?:_|$)"
)
_PROTOCOL = re.compile(r"(?:^|_|x)(LL128|LL|SIMPLE)(?=_|$|MC)")
_OLD = re.compile(r"^(Ring|Tree|CollNet)?(LL128|LL)?", re.IGNORECASE)


def _of_nccl(plain: str) -> Named | None:
    if re.match(r"^(?:rccl|msccl)\w*[Kk]ernel", plain):
        return Named(kind="unknown", library="rccl")
    match = _NCCL.match(plain)
    if match is None:
        return None
    if match["old"]:
        old = _OLD.match(match["tail"])
        algorithm = (old[1] or "" if old else "").lower()
        protocol = (old[2] or "simple" if old else "").lower()
        kind = kind_of_words(match["old"])
        return Named(kind=kind, library="nccl", algorithm=algorithm, protocol=protocol)
    if match["kind"] == "Generic":
        return Named(kind="unknown", library="rccl")
    rest = match["rest"]
    algorithm_found, protocol_found = _ALGORITHM.search(rest), _PROTOCOL.search(rest)
    algorithm = algorithm_found[1].lower() if algorithm_found else ""
    if "MC" in rest and plain.startswith("ncclSym"):
        algorithm = "nvls"
    protocol = protocol_found[1].lower() if protocol_found else ""
    kind = kind_of_words(match["kind"])
    return Named(kind=kind, library="nccl", algorithm=algorithm, protocol=protocol)


_EXPERTS = re.compile(
    r"(?:deep|hybrid)_ep::(?:\w+::)*(?P<deep>\w*(?:dispatch|combine|notify|barrier)\w*)"
    r"|mori::(?:\w+::)*Ep(?P<mori>Dispatch|Combine)\w*"
    r"|(?:^|::)(?P<trt>moeA2A(?:Prepare)?(?:Dispatch|Combine)\w*|moeAllToAll\w*)"
    r"|(?:pplx|all_to_all|internode|intranode)::(?:\w+::)*(?P<pplx>(?:dispatch|combine)\w*[Kk]ernel)"
    r"|(?:^|::)(?P<a2a>a2a_(?:dispatch|combine)\w*)"
)
_EXPERT_LIBRARIES = {
    "deep": "deep_ep",
    "mori": "mori",
    "trt": "tensorrt_llm",
    "pplx": "pplx",
    "a2a": "pplx",
}


def _of_experts(plain: str) -> Named | None:
    """Tokens on their way to experts and back; local kernels that route or add up are none."""
    match = _EXPERTS.search(plain)
    if match is None:
        return None
    group = match.lastgroup or "deep"
    text = match[group].lower()
    role: Role = "dispatch" if "dispatch" in text else "combine" if "combine" in text else ""
    if "notify" in text or "prepare" in text or "layout" in text or "barrier" in text:
        role = "notify"
    return Named(kind="all_to_all", library=_EXPERT_LIBRARIES[group], role=role)


_SPELLED = re.compile(
    r"(?:^|[_:]|(?<=[a-z0-9]))"
    r"(?P<kind>all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|(?<![a-z])a2a(?![a-z]))"
    r"(?![dr])",
    re.IGNORECASE,
)
_LOCAL = re.compile(r"(?:block|warp|thread|group|quad|cta|wave|lane)_?all_?reduce", re.IGNORECASE)
_LIBRARIES = (
    ("flashinfer", "flashinfer"),
    ("trtllm", "flashinfer"),
    ("tensorrt_llm", "tensorrt_llm"),
    ("userbuffers", "tensorrt_llm"),
    ("vllm", "vllm"),
    ("sglang", "sglang"),
    ("aiter", "aiter"),
    ("quickreduce", "vllm"),
    ("mscclpp", "mscclpp"),
    ("multimem", "symmetric_memory"),
    ("_shot_all", "symmetric_memory"),
)


def _of_engines(plain: str, name: str) -> Named | None:
    """The kernels that engines bring along, and all that is spelled like a collective."""
    lower = plain.lower()
    library = next((library for word, library in _LIBRARIES if word in lower), "other")
    if "cross_device_reduce" in lower:
        shot = _stage(lower)
        ranks = re.search(r"<[^<>]*?,\s*(\d{1,3})\s*[,>]", name)
        found = int(ranks[1]) if ranks else None
        library = "vllm" if library == "other" else library
        return Named(kind="all_reduce", library=library, algorithm=shot, ranks=found)
    if lower.startswith("nvshmem") or "::nvshmem" in lower:
        kind = kind_of_words(lower.split("nvshmem")[-1].strip("xi_"))
        return Named(kind=kind, library="nvshmem")
    if "userbuffers" in lower:
        return _of_user_buffers(lower, library)
    spelled = _SPELLED.search(plain)
    if spelled is None or _LOCAL.search(plain):
        return None
    algorithm = _stage(lower)
    if "multimem" in lower or "mnnvl" in lower or "nvls" in lower:
        algorithm = "nvls"
    if "one_shot" in lower or "oneshot" in lower:
        algorithm = "one_shot"
    elif "two_shot" in lower or "twoshot" in lower:
        algorithm = "two_shot"
    return Named(kind=kind_of_words(spelled["kind"]), library=library, algorithm=algorithm)


def _stage(lower: str) -> str:
    """The algorithm of kernels that count their stages."""
    return "one_shot" if "1stage" in lower else "two_shot" if "2stage" in lower else ""


_HALVES: tuple[tuple[str, Kind], ...] = (("_rs", "reduce_scatter"), ("_ag", "all_gather"))


def _of_user_buffers(lower: str, library: str) -> Named | None:
    """Transformer Engine's kernels on registered buffers: by reads (rr), writes (rw), multicast."""
    if "userbuffers_push" in lower:
        return Named(kind="send_recv", library=library)
    if "sum" not in lower:
        return None
    halves: list[Kind] = [kind for sign, kind in _HALVES if sign in lower]
    kind: Kind = halves[0] if halves else "all_reduce"
    return Named(kind=kind, library=library, algorithm="nvls" if "_mc_" in lower else "")


# ---------------------------------------------------------------- computing

COMPUTE_KINDS = (
    "attention",
    "gemm",
    "experts",
    "norm",
    "cache",
    "sampling",
    "elementwise",
    "copy",
    "other",
)

_COMPUTE = (
    (
        "attention",
        re.compile(
            r"^_fwd_(?:grouped_)?kernel|attention|attn|fmha|flash_?(?:fwd|bwd|fwd_splitkv|decod)|mla_|paged_kv|reduce_segments",
            re.IGNORECASE,
        ),
    ),
    ("cache", re.compile(r"reshape_and_cache|rotary|rope|kv_?cache|append_paged", re.IGNORECASE)),
    (
        "experts",
        re.compile(
            r"moe|routing|topk_?(?:forward|gating|softmax)|expert|grouped_?gemm|matmul_ogs"
            r"|bitmatrix|bmm_(?:Mx|Bfloat16_Mx|E4m3|E2m1)",
            re.IGNORECASE,
        ),
    ),
    (
        "gemm",
        re.compile(
            r"gemm|gemv|nvjet|cutlass|cublas|cijk_|matmul|wgrad|dgrad|fprop|xmma|conv(?!ert)|igemm"
            r"|splitk",
            re.IGNORECASE,
        ),
    ),
    ("norm", re.compile(r"norm(?!al_)|bn_(?:fw|bw)", re.IGNORECASE)),
    ("sampling", re.compile(r"sampl|argmax|softmax|logit|penalt|top_?k|top_?p", re.IGNORECASE)),
    (
        "elementwise",
        re.compile(
            r"elementwise|triton_(?:poi|red|per)|quant|convert|transpose|nchw|nhwc|reduce_kernel|gather"
            r"|cat_?array|multi_tensor|pool|subtensor|act_and_mul|activation|copy|fill|silu|gelu",
            re.IGNORECASE,
        ),
    ),
)


@lru_cache(maxsize=4096)
def compute_kind(name: str) -> str:
    """The kind of computing of a kernel that does not communicate; one of COMPUTE_KINDS."""
    if name.startswith("Mem"):
        return "copy"
    plain = own_name(name)[:_LONGEST_OWN]
    if plain in {"kernel", "Kernel", "cutlass::Kernel", "kentry"} or "kentry" in plain:
        plain = name[:MOST_READ]
    return next((kind for kind, pattern in _COMPUTE if pattern.search(plain)), "other")
