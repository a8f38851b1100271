"""What programs write, made from the ground up: logs, matrices, tables of measurements, traces."""

from __future__ import annotations

import gzip
import json

from grammars import Maker

_COLUMNS = (
    "#       size         count      type   redop    root     time   algbw   busbw #wrong"
    "     time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)"
    "            (us)  (GB/s)  (GB/s)\n"
)


def nccl(random: Maker) -> bytes:
    """A log of nccl-tests, as a table or as JSON."""
    return nccl_json(random) if random.random() < 0.2 else nccl_table(random)


def nccl_json(random: Maker) -> bytes:
    """What nccl-tests -J writes."""
    results: list[object] = []
    for size in (8 << power for power in range(0, 30, 3)):
        time = 15 + size / 4e5
        numbers = {"time": time, "alg_bw": size / time / 1e3, "bus_bw": size / time / 1e3}
        body = {**numbers, "nwrong": 0}
        results.append(
            {
                "size": random.value((size,) * 6),
                "count": random.value((size // 4,) * 6),
                "type": random.value(("float", "half")),
                "redop": "sum",
                "root": random.value(("     -1", "0")),
                "out_of_place": {key: random.value((one,) * 6) for key, one in body.items()},
                "in_place": random.value((body,) * 6),
            }
        )
    device = {"rank": random.value((0, 1)), "hostname": random.value(("n1",)), "device": 0}
    device |= {"device_hex": "0000:00:00", "device_info": random.value(("NVIDIA H100",)), "pid": 9}
    config = {"nthreads": 1, "ngpus": random.value((1, 8)), "devices": [device]}
    document = {
        "version": 1,
        "nccl_version": random.value((22807,)),
        "args": random.value((["build/all_reduce_perf"],)),
        "env": random.value((["NCCL_ALGO=ring"],)),
        "config": random.value((config,) * 6),
        "results": random.value((results,) * 6),
        "average_bus_bandwidth": {"bandwidth": random.value((1.5,))},
    }
    return json.dumps(document).encode()


def nccl_table(random: Maker) -> bytes:
    """What nccl-tests print."""
    label = random.choice(("", "", "[1,0]<stdout>:", "0: ", "host: "))
    ranks = random.value((2, 8, 16))
    text = f"# nThread 1 nGpus {ranks} minBytes 8 maxBytes 1024 step: 2(factor)\n"
    text += "# Using devices\n"
    for rank in range(ranks if isinstance(ranks, int) and 0 < ranks < 99 else 3):
        gpu = random.value(("NVIDIA H100 80GB HBM3", "AMD Instinct MI300X"))
        text += f"#  Rank  {rank} Group  0 Pid 1 on node{rank % 2} device  {rank} [0x1b] {gpu}\n"
    groups, has_error = random.choice((2, 2, 1)), random.random() < 0.8
    titles = "time algbw busbw" + (" #wrong" if has_error else "")
    usual = _COLUMNS if groups == 2 and has_error else f"# size count type redop root {titles}\n"
    text += usual if random.random() < 0.8 else ""
    size = 8
    for _ in range(random.randrange(12)):
        time = 12 + size / 50_000
        rate = size / time / 1e3
        half = [f"{time:.2f}", f"{rate:.2f}", f"{rate * 1.75:.2f}", *([0] if has_error else [])]
        cells = [size, size // 4, "float", "sum", -1, *half * groups]
        text += " ".join(str(random.value((cell,) * 6)) for cell in cells) + "\n"
        size *= random.choice((2, 2, 4, 1) if random.random() > random.usual else (4, 16))
    text += f"# Avg bus bandwidth    : {random.value((1.5, 300.1))}\n"
    return "".join(label + line for line in text.splitlines(keepends=True)).encode(
        "utf-8", "surrogatepass"
    )


def topo(random: Maker) -> bytes:
    """A matrix as nvidia-smi or the tool of another maker prints it."""
    make = random.choice(("GPU", "GPU", "GPU", "NPU", "0000:0"))
    gpus, nics = random.randrange(1, 10), random.randrange(4)
    own = (f"{make}{i}:00.0" if ":" in make else f"{make}{i}" for i in range(gpus))
    names = [*own, *(f"NIC{i}" for i in range(nics))]
    joint = random.choice(("\t", "  ", " | ", "\t ", "\t\t"))
    head = random.choice(("ACCESS TABLE:\n", "", "")) + "LINK TYPE TABLE:\n"
    text = head if ":" in make else ""
    text += joint.join(["", *names, "CPU Affinity", "NUMA Affinity"]) + "\n"
    kinds = ("NV18", "NV4", "PIX", "PXB", "PHB", "NODE", "SYS")
    kinds = {"NPU": ("HCCS", "HCCS_SW", "SIO"), "0000:0": ("XGMI", "PCIE", "SELF")}.get(make, kinds)
    said: dict[frozenset[int], str] = {}
    for row, name in enumerate(names):
        cells = ["X"] * len(names)
        for column in range(len(names)):
            pair = frozenset((row, column))
            if len(pair) == 2:
                usual = kinds if max(pair) < gpus else kinds[-2:]
                said.setdefault(pair, random.choice(usual))
                cells[column] = str(random.value((said[pair],)))
        text += joint.join([name, *cells, str(random.value(("0-15",))), "0"]) + "\n"
    if random.random() < 0.5:
        text += "\nLegend:\n\n  X    = Self\n  NIC0: mlx5_0\n"
    return text.encode("utf-8", "surrogatepass")


_TABLES: tuple[tuple[str, ...], ...] = (
    ("gpu", "ranks", "nodes", "collective", "kernel", "size_bytes", "time_us", "dtype", "source"),
    ("operator", "model", "gpu", "tp", "tokens", "time_us", "dtype", "m", "n", "k"),
    ("engine", "model", "gpu", "tp", "pp", "batch", "metric", "value", "prompt", "output", "unit"),
    ("model", "fabric", "tokens", "size_bytes", "time_ms"),
    ("gpu", "ep", "tokens_per_rank", "op", "kernel", "time_us", "hidden", "topk", "experts"),
    ("backend", "model", "gpu", "concurrency", "ttft_ms", "tpot_ms", "tp", "isl", "osl"),
)
_CELLS: dict[str, tuple[object, ...]] = {
    "gpu": ("h100-sxm", "H100 SXM", "b200-sxm", "x"),
    "collective": ("all_reduce", "all_gather", "all_to_all"),
    "kernel": ("nccl", "custom", "deepep"),
    "model": ("llama-3-70b", "deepseek-v3", "x"),
    "operator": ("qkv", "gemm", "mlp"),
    "metric": ("ttft_ms", "tpot_ms", "tokens_per_s"),
    "op": ("dispatch", "combine"),
    "fabric": ("ib-ndr",),
    "engine": ("vllm",),
    "backend": ("vllm", "sglang", "trtllm"),
    "dtype": ("bf16", "fp8"),
}


def truth(random: Maker) -> bytes:
    """A table of measurements."""
    columns = list(random.choice(_TABLES))
    if random.random() < 0.2:
        random.shuffle(columns)
        columns = columns[: random.randrange(1, len(columns) + 1)]
    rows = [",".join(columns)]
    for _ in range(random.randrange(8)):
        cells = [str(random.value(_CELLS.get(name, (1, 2, 8, 1024, 0.5)))) for name in columns]
        rows.append(",".join(f'"{cell}"' if random.random() < 0.2 else cell for cell in cells))
    return "\n".join(rows).encode("utf-8", "surrogatepass")


_KERNELS = (
    *("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "gemm"),
    *("ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)", "void cross_device_reduce_1stage"),
    *("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "deep_ep::dispatch", "Memcpy"),
)


def trace(random: Maker) -> bytes:
    """A profiler's trace."""
    events: list[object] = []
    for _ in range(random.randrange(40)):
        event: dict[str, object] = {
            "ph": random.value(("X", "X", "i", "M", "s", "f")),
            "cat": random.value(("kernel", "cpu_op", "user_annotation", "gpu_user_annotation")),
            "name": random.value((*_KERNELS, "ProfilerStep#1", "aten::mm", "execute_model")),
            "ts": random.value(tuple(random.uniform(0, 1e6) for _ in range(9))),
            "dur": random.value((1, 10.5, 1000)),
            "pid": random.value((0, 1)),
            "tid": random.value((7, 20)),
            "args": random.value(
                (
                    {"stream": 7, "device": 0, "correlation": 3},
                    {"Collective name": "allreduce", "In msg nelems": 4096, "dtype": "BFloat16"},
                    {"Group size": 8, "Process Group Ranks": "[0, 1, 2]"},
                ),
            ),
        }
        events.append(event if random.random() < 0.97 else random.value((1,)))
    document = {"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 8}}
    document["traceEvents"] = random.value((events,) * 9)  # type: ignore[assignment]
    text = json.dumps(document if random.random() < 0.9 else events).encode()
    return gzip.compress(text, 1, mtime=0) if random.random() < 0.2 else text
