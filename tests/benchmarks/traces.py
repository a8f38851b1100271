"""How fast a long trace is read and in how little memory, beside Python's own json module.

    python tests/benchmarks/run.py trace                 64 MB of it
    python tests/benchmarks/traces.py 1000 [compact|pretty]   1 GB, by name only

The trace is made up: a server's decode steps of 32 layers, each kernel with the frames, operators,
calls and flow arrows that a profiler notes beside it, spaced as Kineto spaces them (pretty) or as
tools write it again (compact). Reader and json module each run in a process of their own on the
same file, json on so much of it as its memory allows (64 MB at most: it takes some six times that).
Seconds are the processor's, so that what else runs on the machine counts less.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from measure import Measure

ROOT = Path(__file__).resolve().parents[2]
SIZE_MB = 64
MOST_JSON_MB = 64
MOST_PEAK_MB = 300.0
LAYERS = 32
KERNELS = (
    "nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT",
    "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::BFloat16*, int)",
    "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128PersistentContext",
    "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals)",
    "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::"
    "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}>>(int, at::native::{lambda})",
)
READ = """
import json, resource, sys, time
from gpuflow.importers.trace.reading import read_trace
begin = time.process_time()
reading = read_trace(sys.argv[1])
spent = time.process_time() - begin
found = [(one.kind, one.count) for one in reading.collectives]
step = reading.repeating.repeat.count if reading.repeating else 0
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
print(json.dumps([spent, peak, reading.n_kernels, found, step]))
"""
LOAD = """
import json, resource, sys, time
begin = time.process_time()
with open(sys.argv[1], "rb") as stream:
    data = json.load(stream)
spent = time.process_time() - begin
print(json.dumps([spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000]))
"""


def events() -> Iterator[dict[str, object]]:
    """Events without end."""
    clock, number = 1.0e9, 0
    for _ in iter(int, 1):
        note = {"ph": "X", "cat": "gpu_user_annotation", "pid": 0, "tid": 7, "ts": clock}
        yield {**note, "name": "execute_context_0(0)_generation_32(32)", "dur": 2500.0, "args": {}}
        for _ in range(LAYERS):
            for name in KERNELS:
                number += 1
                clock += 14.25
                yield from beside(name, number, clock)
        clock += 300.0


def beside(name: str, number: int, clock: float) -> Iterator[dict[str, object]]:
    """A kernel and what is noted with it."""
    for depth in range(3):
        args: dict[str, object] = {"Python parent id": number + depth, "Python id": number}
        frame = f"vllm/model_executor/models/llama.py({200 + depth}): forward"
        yield event("python_function", frame, 1001, 1001, clock - 9, 8.5, args)
    dims = {"Input Dims": [[32, 4096], [4096, 4096]], "Input type": ["c10::BFloat16"] * 2}
    args = {"External id": number, "Sequence number": number, "Fwd thread id": 0, **dims}
    yield event("cpu_op", "aten::linear", 1001, 1001, clock - 8, 6.2, args)
    args = {"External id": number, "cbid": 211, "correlation": number}
    yield event("cuda_runtime", "cudaLaunchKernel", 1001, 1001, clock - 7, 4.1, args)
    flow = {"ph": "s", "id": number, "pid": 1001, "tid": 1001, "ts": clock - 7}
    yield {**flow, "cat": "ac2g", "name": "ac2g"}
    args = {"External id": number, "queued": 0, "device": 0, "context": 1, "stream": 7}
    shape = {"grid": [8, 1, 1], "block": [1024, 1, 1], "est. achieved occupancy %": 3}
    args |= {"correlation": number, "registers per thread": 26, "shared memory": 0, **shape}
    yield event("kernel", name, 0, 7, clock, 12.5, args)


def event(
    category: str,
    name: str,
    process: int,
    thread: int,
    start: float,
    length: float,
    args: dict[str, object],
) -> dict[str, object]:
    """One event in Kineto's order."""
    about = {"ph": "X", "cat": category, "name": name, "pid": process, "tid": thread}
    return {**about, "ts": start, "dur": length, "args": args}


def write(path: Path, size_mb: int, form: str) -> None:
    """A trace of about that size."""
    head = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}],
        "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8},
    }
    written, limit = 0, size_mb * 10**6
    with path.open("w") as stream:
        stream.write(json.dumps(head)[:-1] + ', "traceEvents": [\n  ')
        separator = ""
        for one in events():
            text = pretty(one) if form == "pretty" else json.dumps(one, separators=(",", ":"))
            stream.write(separator + text)
            separator = ",\n  " if form == "pretty" else ","
            written += len(text)
            if written >= limit:
                break
        stream.write('], "traceName": "made up"}')


def pretty(one: dict[str, object]) -> str:
    """An event in Kineto's lines."""
    args = one.get("args")
    first = json.dumps({key: value for key, value in one.items() if key != "args"})[1:-1]
    if not args:
        return "{\n    " + first + "\n  }"
    inner = json.dumps(args)[1:-1]
    return "{\n    " + first + ',\n    "args": {\n      ' + inner + "\n    }\n  }"


def child(code: str, path: Path) -> list[float]:
    """What a process of its own measured."""
    command = [sys.executable, "-c", code, str(path)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, check=True, env=environ, text=True)
    found: list[float] = json.loads(done.stdout)
    return found


def measure(size_mb: int = SIZE_MB, form: str = "pretty") -> Iterator[Measure]:
    """Processor time and peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        path, part = Path(folder) / "trace.json", Path(folder) / "part.json"
        write(path, size_mb, form)
        part_mb = min(size_mb, MOST_JSON_MB)
        write(part, part_mb, form)
        rounds = 3 if size_mb <= MOST_JSON_MB else 1
        ours = min((child(READ, path) for _ in range(rounds)), key=lambda one: one[0])
        theirs = min((child(LOAD, part) for _ in range(rounds)), key=lambda one: one[0])
        rate = path.stat().st_size / 1e6 / ours[0]
        json_rate = part.stat().st_size / 1e6 / theirs[0]
    name = f"trace_{size_mb}_mb_{form}"
    about = (
        f"json.load of {part_mb} MB scaled to it; {rate:.0f} MB/s against {json_rate:.0f} MB/s;"
        f" {ours[2]:.0f} kernels, {ours[3]}, {ours[4]} steps"
    )
    yield Measure(name, ours[0], "s", size_mb / json_rate, about)
    peak = f"allowed; json.load takes {theirs[1]:.0f} MB for {part_mb} MB"
    yield Measure(f"{name}_peak", ours[1], "MB", MOST_PEAK_MB, peak)


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else SIZE_MB
    results = list(measure(size, *sys.argv[2:3]))
    for result in results:
        print(result.line())
    sys.exit(0 if all(result.is_within for result in results) else 1)
