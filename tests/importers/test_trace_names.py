"""Names of kernels as the field has them: which collective, or which kind of computing."""

from __future__ import annotations

import pytest

from gpuflow.importers.trace.names import (
    communication,
    compute_kind,
    kind_of_words,
    own_name,
    short_name,
)

TALKS = {
    "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)": (
        *("all_reduce", "nccl", "ring", "ll", ""),
    ),
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)": (
        *("all_reduce", "nccl", "ring", "ll", ""),
    ),
    "ncclDevKernel_AllReduce_Sum_f16_TREE_LL128(x)": ("all_reduce", "nccl", "tree", "ll128", ""),
    "ncclDevKernel_AllReduce_Sum_bf16_NVLS_SIMPLE": ("all_reduce", "nccl", "nvls", "simple", ""),
    "ncclAllReduceRingLLKernel_sum_f32(ncclColl)": ("all_reduce", "nccl", "ring", "ll", ""),
    "ncclReduceScatterTreeLL128Kernel_sum_f16(x)": ("reduce_scatter", "nccl", "tree", "ll128", ""),
    "ncclKernel_AllGather_RING_LL_Sum_int8_t(x)": ("all_gather", "nccl", "ring", "ll", ""),
    "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL": ("reduce_scatter", "nccl", "ring", "ll", ""),
    "ncclDevKernel_Broadcast_RING_LL(x)": ("broadcast", "nccl", "ring", "ll", ""),
    "ncclDevKernel_Reduce_Sum_f32_RING_SIMPLE": ("reduce", "nccl", "ring", "simple", ""),
    "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)": ("send_recv", "nccl", "", "", ""),
    "ncclSymkDevKernel_AllReduce_RSxLDMC_AGxSTMC_sum_bf16(x)": (
        *("all_reduce", "nccl", "nvls", "", ""),
    ),
    "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)": ("unknown", "rccl", "", "", ""),
    "ncclDevKernel_Generic_4(x)": ("unknown", "rccl", "", "", ""),
    "mscclKernel_Sum_half_LL(x)": ("unknown", "rccl", "", "", ""),
    "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)": (
        *("all_reduce", "symmetric_memory", "nvls", "", ""),
    ),
    "void two_shot_all_reduce_kernel<c10::Half, 8, 4>(T*)": (
        *("all_reduce", "symmetric_memory", "two_shot", "", ""),
    ),
    "void vllm::cross_device_reduce_2stage<__nv_bfloat16, 4>(x)": (
        *("all_reduce", "vllm", "two_shot", "", ""),
    ),
    "_ZN4vllm26cross_device_reduce_1stageI14__hip_bfloat16Li8EEEvPNS_8RankDataE": (
        *("all_reduce", "vllm", "one_shot", "", ""),
    ),
    "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<8>(P)": (
        *("all_reduce", "flashinfer", "one_shot", "", ""),
    ),
    "void tensorrt_llm::kernels::twoShotAllReduceKernel<half, 8>(P)": (
        *("all_reduce", "tensorrt_llm", "two_shot", "", ""),
    ),
    "userbuffers_fp16_sum_inplace_gpu_mc_rw(x)": ("all_reduce", "tensorrt_llm", "nvls", "", ""),
    "userbuffers_fp16_sum_inplace_gpu_rr_rs_oop(x)": (
        *("reduce_scatter", "tensorrt_llm", "", "", ""),
    ),
    "userbuffers_fp16_sum_inplace_gpu_mc_ag(x)": ("all_gather", "tensorrt_llm", "nvls", "", ""),
    "kuserbuffers_pushrecv(x)": ("send_recv", "tensorrt_llm", "", "", ""),
    "void aiter::allreduce_fusion_kernel_2stage<__hip_bfloat16>(x)": (
        *("all_reduce", "aiter", "two_shot", "", ""),
    ),
    "void hybrid_ep::dispatch_kernel<x>(y)": ("all_to_all", "deep_ep", "", "", "dispatch"),
    "a2a_combine_recv_kernel(x)": ("all_to_all", "pplx", "", "", "combine"),
    "void deep_ep::internode_ll::dispatch<true, false, 7168>(void*)": (
        *("all_to_all", "deep_ep", "", "", "dispatch"),
    ),
    "_ZN7deep_ep9intranode7combineI13__nv_bfloat16Li8EEEvPT_": (
        *("all_to_all", "deep_ep", "", "", "combine"),
    ),
    "void deep_ep::intranode::notify_dispatch<8>(int)": ("all_to_all", "deep_ep", "", "", "notify"),
    "void mori::moe::EpDispatchIntraNodeKernel<float>(x)": (
        "all_to_all",
        "mori",
        "",
        "",
        "dispatch",
    ),
    "tensorrt_llm::kernels::moeA2ACombineKernel(x)": (
        *("all_to_all", "tensorrt_llm", "", "", "combine"),
    ),
    "nvshmemi_barrier_kernel(x)": ("barrier", "nvshmem", "", "", ""),
    "Memcpy PtoP (Device -> Device)": ("send_recv", "copy_engine", "", "", ""),
}
COMPUTES = {
    "_combined_routing_compute": "experts",
    "_combined_routing_memset": "experts",
    "void flash_fwd_splitkv_combine_kernel<Flash_traits>(Params)": "attention",
    "reduce_segments": "attention",
    "void blockAllReduceKernel<float>(float*)": "other",
    "layer_all_reduced_norm": "norm",
    "void at::native::reduce_kernel<512, 1, ReduceOp<float>>(x)": "elementwise",
    "void at::native::vectorized_elementwise_kernel<4, AllReduceFunctor>(x)": "elementwise",
    "_finalize_matmul_scatter_bf16": "gemm",
    "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV": "gemm",
    "fmhaSm100aKernel_QkvE4m3OBfloat16H64": "attention",
    "void vllm::reshape_and_cache_flash_kernel<A, B>(x)": "cache",
    "implicit_convolve_sgemm": "gemm",
    "_fwd_grouped_kernel_stage1": "attention",
    "void hybrid_ep::scan<4, 256>(y)": "other",
    "void vllm::convert_fp8_kernel<__nv_bfloat16>(x)": "elementwise",
    "triton_poi_fused_convert_element_type_0": "elementwise",
    "Memcpy DtoD (Device -> Device)": "copy",
    "Memset (Device)": "copy",
    "void moe::dev::routing::routingIndicesHistogramKernel<A>(x)": "experts",
}


@pytest.mark.parametrize("name", TALKS)
def test_collectives_are_told_by_their_names(name: str) -> None:
    found = communication(name)
    assert found is not None
    told = (found.kind, found.library, found.algorithm, found.protocol, found.role)
    assert told == TALKS[name]


@pytest.mark.parametrize("name", COMPUTES)
def test_what_only_sounds_like_communication_computes(name: str) -> None:
    assert communication(name) is None
    assert compute_kind(name) == COMPUTES[name]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("_allgather_base", "all_gather"),
        ("nccl:_reduce_scatter_base", "reduce_scatter"),
        ("all_to_allv", "all_to_all"),
        ("recv 0<-1", "send_recv"),
        ("allreduce_coalesced", "all_reduce"),
        ("nccl:all_reduce_barrier", "barrier"),
        ("gloo:broadcast", "broadcast"),
        ("coalesced", "unknown"),
        ("", "unknown"),
    ],
)
def test_pytorchs_words_for_collectives(words: str, kind: str) -> None:
    assert kind_of_words(words) == kind


def test_template_arguments_may_compare() -> None:
    name = "std::enable_if<(((8)>(0)))&&T<B>::exists, void>::type vllm::fused_norm<B, 8>(B*, long)"
    assert own_name(name) == "vllm::fused_norm"
    assert short_name(name) == "fused_norm"


def test_ranks_stand_among_the_template_arguments() -> None:
    found = communication("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 4>(x)")
    assert found is not None
    assert found.ranks == 4


@pytest.mark.parametrize(
    "name", ["", "(", "<<<<", ">" * 5000, "_ZN999999x", "_Z", "::", "a" * 9000]
)
def test_no_name_is_too_odd(name: str) -> None:
    assert communication(name) is None
    assert compute_kind(name) in {"other", "elementwise"}
    assert len(short_name(name)) <= 80
