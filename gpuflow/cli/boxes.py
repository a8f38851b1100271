"""`--topo`: a scenario on one real machine, and what has to be said about it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from gpuflow import words
from gpuflow.cli.options import Request, bad_option
from gpuflow.cli.output import Output
from gpuflow.cluster.box import assumed_gpu, box_cluster, box_finding
from gpuflow.errors import ImportFormatError, InputError, Problem
from gpuflow.exporters.tables import NOTHING, Table
from gpuflow.exporters.topo import doubt_texts, finding_texts, warnings
from gpuflow.importers.topo import MAX_BYTES, parse_topology, read_topology
from gpuflow.scenario.source import source_of
from gpuflow.scenario.spec import Language, Scenario
from gpuflow.scenario.topology import Topology
from gpuflow.units import format_time

_PRINTED = frozenset({"table", "estimate"})
"""Verbs whose tables are read beside what is said of the machine."""


@cache
def topology_of(name: str) -> Topology:
    """The machine that a file describes; - is standard input, which can be read only once.

    Raises:
        ImportFormatError: The file cannot be read.
    """
    if not name:
        # As a path it would be the folder one is in.
        raise ImportFormatError([Problem(code="file_name_empty")])
    if name != "-":
        return read_topology(Path(name))
    stream = getattr(sys.stdin, "buffer", None)
    data = stream.read(MAX_BYTES + 1) if stream is not None else b""
    if len(data) > MAX_BYTES:
        raise ImportFormatError([Problem(code="topo_input_too_large", file="-")])
    return parse_topology(source_of("-", data.decode("utf-8", "replace")))


def usable_topology(name: str) -> Topology:
    """Likewise, where something is to be played on it.

    Raises:
        ImportFormatError: The file cannot be read, or must not be relied on.
    """
    topology = topology_of(name)
    if topology.refused:
        code = f"topo_refused_{topology.refused}"
        raise ImportFormatError([Problem(code=code, key="--topo", file=name)])
    return topology


def scenario_on_box(request: Request) -> Scenario:
    """The scenario of a request on the machine that `--topo` names.

    A degree of tensor parallelism by itself means one stage and one replica here: the shipped
    scenario's own stages have nothing to do with the machine.

    Raises:
        InputError: The file, an option or what they make together is wrong.
    """
    from gpuflow.cli.request import scenario_of

    if request.fabric is not None:
        raise bad_option("--fabric", "topo_fabric")
    topology = usable_topology(request.topo or "")
    gpu = _named_gpu(request) or assumed_gpu(topology)
    pp = request.pp
    if request.scenario is None and request.launch is None and request.tp is not None:
        pp = request.pp or 1
    scenario = scenario_of(replace(request, topo=None, gpu=gpu, pp=pp))
    cluster = box_cluster(scenario.cluster, topology, scenario.parallel)
    return replace(scenario, cluster=cluster)


def _named_gpu(request: Request) -> str | None:
    return request.gpu or (request.launch.gpu if request.launch is not None else "") or None


def _speed(scenario: Scenario) -> tuple[float, float | None]:
    """TTFT and TPOT."""
    from gpuflow.engine.metrics import estimate
    from gpuflow.engine.simulate import simulate

    found = estimate(simulate(scenario))
    return found.ttft_s, found.tpot_s


def _compared(request: Request, scenario: Scenario, better_tp: int) -> Comparison | None:
    """The split and the one that stays on better links; None where that cannot be had."""
    pp = scenario.parallel.pp * scenario.parallel.tp // better_tp
    try:
        other = scenario_on_box(replace(request, tp=better_tp, pp=pp, layers=None))
    except InputError:
        return None
    return Comparison(better_tp, pp, _speed(scenario), _speed(other))


@dataclass(frozen=True, slots=True)
class Comparison:
    """What another split of the same GPUs makes of TTFT and TPOT."""

    tp: int
    pp: int
    here: tuple[float, float | None]
    there: tuple[float, float | None]

    def text(self, language: Language) -> str:
        """One sentence."""
        names = ("ttft", "tpot", "other_ttft", "other_tpot")
        values = dict(zip(names, map(_time, (*self.here, *self.there)), strict=True))
        return words.t("topo.compared", language, tp=self.tp, pp=self.pp, **values)

    def document(self) -> dict[str, object]:
        """Likewise for programs."""
        return {
            "tp": self.tp,
            "pp": self.pp,
            "ttft_s": self.there[0],
            "tpot_s": self.there[1],
            "ttft_here_s": self.here[0],
            "tpot_here_s": self.here[1],
        }


def _time(seconds: float | None) -> str:
    return NOTHING if seconds is None else format_time(seconds)


def announce_box(request: Request, output: Output) -> Output:
    """Say what the machine means for the split, what is wrong with it and what was assumed.

    Returns:
        The output, whose JSON documents say so too.
    """
    topology, language = usable_topology(request.topo or ""), output.language
    scenario = scenario_on_box(request)
    parallel, cluster = scenario.parallel, scenario.cluster
    finding = box_finding(topology, parallel)
    texts = finding_texts(finding, cluster, parallel.tp, parallel.pp, language)
    compared = _compared(request, scenario, finding.better_tp) if finding.better_tp else None
    if compared is not None:
        texts.append(compared.text(language))
    assumed = ""
    if _named_gpu(request) is None:
        assumed = words.t("topo.assumed_gpu", language, gpu=cluster.device.title)
    warned = [text for code, text in warnings(topology, language) if code == "lost_link"]
    said = [*texts, *warned, *doubt_texts(topology, language), *filter(None, [assumed])]
    if output.verb in _PRINTED and output.format in {"table", "markdown", "latex"}:
        title = words.t("topo.machine", language, gpus=topology.n_gpus, file=topology.file)
        output.tables(Table(title=title, columns=(), rows=(), notes=tuple(said)))
        output.write("")
    else:
        for text in said:
            output.tell(text)
    beside = {
        "bound": finding.bound,
        "group": list(finding.group),
        "pair": list(finding.pair) if finding.pair else None,
        "kind": finding.kind or None,
        "better_tp": finding.better_tp or None,
        "scale_up_bus_bandwidth_bytes_per_s": cluster.scale_up.bus_bandwidth_bytes_per_s,
        "host_link_bandwidth_bytes_per_s": cluster.scale_up.host_link_bandwidth_bytes_per_s,
        "other_split": compared.document() if compared is not None else None,
        "text": texts,
        "warnings": warned,
        "assumed": assumed or None,
    }
    return replace(output, beside={**output.beside, "topology": beside})
