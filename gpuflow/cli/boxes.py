"""`--topo`: a scenario on one real machine, and what has to be said about it."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

from gpuflow import words
from gpuflow.cli.options import Request
from gpuflow.cli.output import Output
from gpuflow.cluster.box import assumed_gpu, box_cluster, box_finding
from gpuflow.errors import ImportFormatError, Problem
from gpuflow.exporters.tables import Table
from gpuflow.exporters.topo import doubt_texts, finding_texts, warnings
from gpuflow.importers.topo import MAX_BYTES, parse_topology, read_topology
from gpuflow.scenario.source import source_of
from gpuflow.scenario.spec import Scenario
from gpuflow.scenario.topology import Topology

_PRINTED = frozenset({"table", "estimate"})
"""Verbs whose tables are read beside what is said of the machine."""


@cache
def topology_of(name: str) -> Topology:
    """The machine that a file describes; - is standard input, which can be read only once.

    Raises:
        ImportFormatError: The file cannot be read.
    """
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

    topology = usable_topology(request.topo or "")
    gpu = request.gpu or assumed_gpu(topology)
    pp = request.pp
    if request.scenario is None and request.launch is None and request.tp is not None:
        pp = request.pp or 1
    scenario = scenario_of(replace(request, topo=None, gpu=gpu, pp=pp))
    cluster = box_cluster(scenario.cluster, topology, scenario.parallel)
    return replace(scenario, cluster=cluster)


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
    assumed = ""
    if request.gpu is None:
        assumed = words.t("topo.assumed_gpu", language, gpu=cluster.device.title)
    warned = [text for code, text in warnings(topology, language) if code == "lost_link"]
    said = [*texts, *warned, *doubt_texts(topology, language), *filter(None, [assumed])]
    if output.verb in _PRINTED and output.format in {"table", "markdown"}:
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
        "text": texts,
        "warnings": warned,
        "assumed": assumed or None,
    }
    return replace(output, beside={**output.beside, "topology": beside})
