"""Inputs made from the ground up: the structure right, what stands in it not always."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from mutations import HOSTILE


class Maker(Random):
    """A source of chance that makes some files almost right and others wild."""

    def __init__(self, seed: str) -> None:
        super().__init__(seed)
        self.usual = self.choice((0.75, 0.95, 0.99))
        """How often something is what it usually is in its place."""

    def value(self, usual: Sequence[object]) -> object:
        """Something that is usual in its place, mostly."""
        if self.random() < self.usual:
            return self.choice(usual)
        if self.random() < 0.6:
            return self.choice(HOSTILE)
        return self.choice((-1, 0, 1, 2**31, 2**63, 10**30, 1.5, True, None, [], {}, [1, "a"]))


Grammar = Callable[[Maker], bytes]


def yaml_value(value: object) -> str:
    """A value on one line; texts sometimes bare, as people write them."""
    if isinstance(value, str) and value.isascii() and value.isprintable() and ":" not in value:
        return value
    return json.dumps(value, ensure_ascii=False)


_STEPS = (
    (Path(__file__).parents[1] / "data" / "scenarios" / "small.yaml")
    .read_text("utf-8")
    .partition("steps:\n")[2]
)
_SCENARIO: dict[str, tuple[object, ...]] = {
    "gpuflow": ("scenario/1",) * 9,
    "name": ("small", "x-y", "a1"),
    "title": ({"zh": "题", "en": "t"},) * 3,
    "model": ("llama-3-8b", "deepseek-v3", "mixtral-8x7b", "gpt-oss-120b", "jamba-1.5-mini"),
    "precision": ("bf16", "fp8", "fp4"),
    "profile": ("ideal", "vllm", "sglang"),
    "all_reduce": ("auto", "ring", "tree"),
}
_CLUSTER: dict[str, tuple[object, ...]] = {
    "gpu": ("h100-sxm", "b200-sxm", "h20"),
    "gpus_per_node": (1, 2, 8, 72),
    "nics_per_node": (1, 8),
    "scale_up": ("nvlink-4", "pcie-5"),
    "scale_out": ("ib-ndr", "roce-400"),
    "nic_bandwidth": ("400 Gb/s", "50 GB/s", "1 TB/s"),
    "oversubscription": (1, 2, 4),
}
_PARALLEL: dict[str, tuple[object, ...]] = {
    "tp": (1, 2, 4),
    "pp": (1, 2),
    "dp": (1, 2),
    "ep": (1,),
}
_WORKLOAD: dict[str, tuple[object, ...]] = {
    "batch": (1, 16, 1000),
    "prompt": (1, 512, 8192),
    "output": (1, 128),
    "context": (1024, 4096),
    "chunk": (512, 1),
    "micro_batches": (1,),
    "overlap": (True, False),
}


def scenario(random: Maker) -> bytes:
    """A scenario file, with the steps of a small one."""
    lines = [
        f"{key}: {yaml_value(random.value(usual))}"
        for key, usual in _SCENARIO.items()
        if key in {"gpuflow", "name", "title", "model"} or random.random() < 0.4
    ]
    for name, block in (("cluster", _CLUSTER), ("parallel", _PARALLEL), ("workload", _WORKLOAD)):
        lines.append(f"{name}:")
        lines.append(f"  {next(iter(block))}: {yaml_value(next(iter(block.values()))[0])}")
        for key, usual in list(block.items())[1:]:
            if key in {"prompt", "output"} or random.random() < 0.4:
                lines.append(f"  {key}: {yaml_value(random.value(usual))}")
    if random.random() > random.usual:
        random.shuffle(lines)
    return "\n".join([*lines, "steps:", _STEPS]).encode("utf-8", "surrogatepass")


def calibration(random: Maker) -> bytes:
    """A calibration file."""
    usual: dict[str, tuple[object, ...]] = {
        "gpu": ("H100", "h100-sxm"),
        "collective": ("all_reduce", "all_gather", "all_to_all"),
        "kernel": ("nccl", "custom"),
        "launch": ("nccl-tests", "cuda_graph"),
        "ranks": (2, 8, 16),
        "nodes": (1, 2),
        "fabric": ("", "ib-ndr"),
        "source": ("a.log", "x"),
        "curve": ({"alpha_s": 1e-5},),
    }
    text = f"gpuflow: {yaml_value(random.value(('calibration/1',) * 9))}\ncalibrations:\n"
    for _ in range(random.randrange(1, 4)):
        text += "- points:\n"
        size = 1
        for _ in range(random.randrange(1, 9)):
            size *= random.choice((2, 16, 1) if random.random() > random.usual else (2, 16))
            wild = (1, 0, 5e-324, 1e300, 1e-9, 2**59)
            time = random.value((1e-5 + size / 1e11,) if random.random() < random.usual else wild)
            text += f"  - [{yaml_value(random.value((size,) * 5))}, {yaml_value(time)}]\n"
        for key, values in usual.items():
            if random.random() < 0.95:
                text += f"  {key}: {yaml_value(random.value(values))}\n"
    return text.encode("utf-8", "surrogatepass")


_TYPES = (
    *("llama", "qwen2", "qwen3", "qwen3_moe", "deepseek_v3", "mixtral", "gemma3", "gpt_oss"),
    *("falcon", "opt", "gpt2", "jamba", "nemotron_h", "minimax_m2", "phimoe", "llama4", "glm4_moe"),
)
_CONFIG: dict[str, tuple[object, ...]] = {
    "hidden_size": (1, 64, 4096, 7168),
    "num_hidden_layers": (1, 2, 32, 61, 4097),
    "num_attention_heads": (1, 8, 32, 128),
    "num_key_value_heads": (1, 8, 32),
    "head_dim": (64, 128),
    "intermediate_size": (128, 14336),
    "vocab_size": (100, 128256),
    "max_position_embeddings": (2048, 131072),
    "num_local_experts": (8, 128),
    "n_routed_experts": (256,),
    "num_experts_per_tok": (1, 2, 8),
    "moe_intermediate_size": (768, 2048),
    "n_shared_experts": (1,),
    "first_k_dense_replace": (3,),
    "kv_lora_rank": (512,),
    "q_lora_rank": (1536, None),
    "qk_rope_head_dim": (64,),
    "qk_nope_head_dim": (128,),
    "v_head_dim": (128,),
    "sliding_window": (4096, None),
    "layer_types": (["full_attention"] * 2, ["sliding_attention", "linear_attention"]),
    "hybrid_override_pattern": ("M-M*", "*-" * 26),
    "tie_word_embeddings": (True, False),
    "torch_dtype": ("bfloat16", "float16"),
    "quantization_config": ({"quant_method": "fp8"}, {"quant_method": "awq", "bits": 4}),
    "text_config": ({"model_type": "gemma3_text", "hidden_size": 64}, {}),
    "rope_scaling": (None, {"factor": 8}),
}


_KNOWN = sorted((Path(__file__).parents[1] / "data" / "hf-config").glob("*.json"))


def config(random: Maker) -> bytes:
    """A model's config.json: a known one with other values, or with keys of all of them."""
    try:
        made = json.loads(random.choice(_KNOWN).read_text("utf-8"))
    except ValueError:
        made = {"model_type": random.value(_TYPES)}
    if not isinstance(made, dict):
        made = {"text_config": made}
    inner = [made, *(value for value in made.values() if isinstance(value, dict))]
    for block in inner:
        for key, value in list(block.items()):
            if not isinstance(value, dict):
                block[key] = random.value((value,))
    for key, usual in _CONFIG.items():
        if random.random() > random.usual:
            random.choice(inner)[key] = random.value(usual)
    return json.dumps(made, indent=random.choice((None, 1))).encode()


_FLAGS: dict[str, dict[str, tuple[object, ...]]] = {
    "vllm": {
        "-tp": (1, 2, 8),
        "--data-parallel-size": (1, 2),
        "--pipeline-parallel-size": (1, 2),
        "--enable-expert-parallel": ("",),
        "--quantization": ("fp8", "awq"),
        "--kv-cache-dtype": ("fp8",),
        "--gpu-memory-utilization": (0.9,),
        "--max_model_len": ("32k", 4096),
        "--max-num-seqs": (256,),
        "--speculative-config": ('\'{"method": "mtp"}\'',),
        "--served-model-name": ("a b",),
        "--compilation-config.level": (3,),
        "-O3": ("",),
        "--api-key": ("secret",),
        "--no-such": (1, ""),
    },
    "sglang": {
        "--tp": (1, 8),
        "--dp-size": (1, 2, 8),
        "--pp-size": (1, 2),
        "--ep-size": (1, 8),
        "--enable-dp-attention": ("",),
        "--moe-a2a-backend": ("deepep", "none"),
        "--nnodes": (1, 2),
        "--mem-fraction-static": (0.8,),
        "--context-length": (32768,),
        "--chunked-prefill-size": (4096, -1),
        "--cuda-graph-bs": ("1 2 4",),
        "--trust-remote": ("",),
        "--config": ("x.yaml",),
        "--no-such": (1, ""),
    },
    "trtllm": {
        "--tp_size": (1, 8),
        "--ep_size": (1, 8),
        "--pp_size": (1, 2),
        "--max_batch_size": (1, 640),
        "--max_num_tokens": (8192,),
        "--max_seq_len": (2048,),
        "--kv_cache_free_gpu_memory_fraction": (0.9,),
        "--config": ("c.yaml", "x.yaml"),
        "--set": ("enable_attention_dp=true", "kv_cache_config.dtype=fp8"),
        "--no_such": (1, ""),
    },
}
_STARTS: dict[str, tuple[str, ...]] = {
    "vllm": (
        "vllm serve {}",
        "python3 -m vllm.entrypoints.openai.api_server --model {}",
        "docker run --gpus all -e A=b vllm/vllm-openai:latest --model {}",
        "srun $X vllm serve {}",
    ),
    "sglang": (
        "sglang serve {}",
        "python -m sglang.launch_server --model-path {}",
        "cat > x.yaml <<EOF\ntp-size: 2\nEOF\nsglang serve {}",
        "A=1 B=$A sglang serve {}",
    ),
    "trtllm": (
        "trtllm-serve {}",
        "mpirun -n 8 trtllm-llmapi-launch trtllm-serve serve {}",
        'echo "tensor_parallel_size: 2" > c.yaml\ntrtllm-serve {}',
    ),
}
_NAMES = (
    *("meta-llama/Llama-3.1-8B-Instruct", "deepseek-ai/DeepSeek-V3", "Qwen/Qwen3-30B-A3B"),
    *("openai/gpt-oss-120b", "mistralai/Mixtral-8x7B-v0.1", "nvidia/DeepSeek-R1-0528-FP4"),
)


def launch(random: Maker) -> bytes:
    """A launch line."""
    engine = random.choice(list(_FLAGS))
    words = [random.choice(_STARTS[engine]).replace("{}", str(random.value(_NAMES)))]
    for flag in random.sample(list(_FLAGS[engine]), random.randrange(8)):
        if "such" in flag and random.random() < random.usual:
            continue
        value = random.value(_FLAGS[engine][flag])
        joint = "=" if value != "" and flag.startswith("--") and random.random() < 0.3 else " "
        words.append(f"{flag}{joint}{value}".strip())
    separator = random.choice((" ", " ", " \\\n  ", "\n  ", " \\  # so\n"))
    return separator.join(words).encode("utf-8", "surrogatepass")


_SETTINGS: tuple[dict[str, tuple[object, ...]], ...] = (
    {
        "model": ("Qwen/Qwen3-30B-A3B", "meta-llama/Llama-3.1-8B-Instruct"),
        "tensor-parallel-size": (1, 2, 8),
        "enable-expert-parallel": (True, False),
        "max_model_len": (4096, "32k"),
        "gpu-memory-utilization": (0.9,),
        "served-model-name": (["a", "b"], "a"),
    },
    {
        "model-path": ("deepseek-ai/DeepSeek-V3", "openai/gpt-oss-120b"),
        "tp-size": (8, 16),
        "dp-size": (1, 8),
        "enable-dp-attention": (True,),
        "mem-fraction-static": (0.8, 1),
        "cuda-graph-bs": ([1, 2, 4],),
    },
    {
        "model": ("openai/gpt-oss-120b", "nvidia/DeepSeek-R1-0528-FP4"),
        "tensor_parallel_size": (4, 8),
        "moe_expert_parallel_size": (4, 8),
        "enable_attention_dp": (True, False),
        "max_batch_size": (1, 640),
        "kv_cache_config": ({"dtype": "fp8", "free_gpu_memory_fraction": 0.8},),
        "speculative_config": ({"decoding_type": "MTP"},),
    },
)


def launch_yaml(random: Maker) -> bytes:
    """An engine's settings, or a container's manifest."""
    if random.random() < 0.5:
        usual = random.choice(_SETTINGS)
        lines = [
            f"{key}: {yaml_value(random.value((*values,) * 3))}"
            for number, (key, values) in enumerate(usual.items())
            if number < 2 or random.random() < 0.6
        ]
        return "\n".join(lines).encode("utf-8", "surrogatepass")
    line = launch(random).decode("utf-8", "surrogatepass")
    lines = [
        "services:",
        "  s:",
        f"    image: {yaml_value(random.value(('vllm/vllm-openai:v1',)))}",
    ]
    lines.append(f"    environment: [{yaml_value(random.value(('VLLM_ALL2ALL_BACKEND=deepep',)))}]")
    form = random.randrange(3)
    if form == 0:
        lines.append(f"    command: {json.dumps(line, ensure_ascii=False)}")
    elif form == 1:
        lines.append(f"    command: {json.dumps(line.split(), ensure_ascii=False)}")
    else:
        lines += ["    command: [sh, -c]", f"    args: [{json.dumps(line)}]"]
    return "\n".join(lines).encode("utf-8", "surrogatepass")
