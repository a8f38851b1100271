"""What NCCL said of the machines it ran on: for people, and as a scenario on such machines."""

from __future__ import annotations

from pathlib import Path

from gpuflow.errors import Problem, ScenarioError
from gpuflow.exporters.box_scenario import scenario_on
from gpuflow.importers.nccl_debug import DebugFacts
from gpuflow.importers.nccl_judge import fabric_said
from gpuflow.importers.nccl_reading import Reading
from gpuflow.scenario import catalog
from gpuflow.scenario.spec import Language
from gpuflow.words import t

_MOST_NAMES = 4
_USUAL_IB, _USUAL_ROCE = "ib-ndr", "roce-400"
_STAGES = 2
"""Pipeline stages of a scenario on several nodes: enough for traffic to cross them."""


def said_facts(debug: DebugFacts, language: Language) -> list[tuple[str, str]]:
    """Name and value of each thing that was said; nothing where nothing was."""
    found = {
        "inside": _inside(debug, language),
        "between": _between(debug, language),
        "graph": _graph(debug, language),
        "settings": [f"{name}={value}" for name, value in [*debug.settings.items()][:_MOST_NAMES]],
    }
    return [
        (t(f"import_nccl.fact.{name}", language), ", ".join(parts))
        for name, parts in found.items()
        if parts
    ]


def _inside(debug: DebugFacts, language: Language) -> list[str]:
    parts = list(debug.inside[:_MOST_NAMES])
    if debug.nvls_heads:
        parts.append(t("import_nccl.heads", language, count=debug.nvls_heads))
    elif debug.has_nvls:
        parts.append("NVLS")
    return parts


def _between(debug: DebugFacts, language: Language) -> list[str]:
    parts = list(debug.between[:_MOST_NAMES]) or list(debug.networks[:_MOST_NAMES])
    parts += ["GDRDMA"] if debug.has_gpu_direct else []
    parts += ["PXN"] if debug.has_pxn else []
    if debug.nics:
        names = ", ".join(debug.nics[:_MOST_NAMES])
        names += ", ..." if len(debug.nics) > _MOST_NAMES else ""
        values = {"count": len(debug.nics), "kind": debug.nic_kind, "names": names}
        parts.append(t("import_nccl.nics", language, **values))
    parts += ["SHARP"] if debug.has_sharp else []
    return parts


def _graph(debug: DebugFacts, language: Language) -> list[str]:
    parts = []
    if debug.channels:
        parts.append(t("import_nccl.channels", language, count=debug.channels))
    if debug.rings:
        parts.append(t("import_nccl.rings", language, count=debug.rings))
    parts += [t("import_nccl.trees", language)] if debug.has_trees else []
    if debug.nvls_channels:
        parts.append(f"NVLS {debug.nvls_channels}")
    return parts


def said_scenario(reading: Reading, file: str) -> str:
    """The default scenario on the machines that NCCL spoke of.

    Args:
        reading: A log that tells ranks and nodes, and whose GPU is known.
        file: The log, for a comment.

    Raises:
        ScenarioError: GPU, ranks or nodes are not known, or the GPU is not in the catalogue.
    """
    debug = reading.raw.debug
    nodes = reading.nodes
    if reading.gpu is None or not reading.ranks or not nodes or reading.ranks % nodes:
        raise ScenarioError([Problem(code="nccl_not_writable", key="--write", hint="nccl_say_gpu")])
    device = catalog.device(reading.gpu)
    per_node = reading.ranks // nodes
    lines = [
        "cluster:",
        f"  # by NCCL's lines in {_comment(Path(file).name)}: {reading.ranks} ranks, {nodes} nodes",
        f"  # inside: {_comment(', '.join(_inside(debug, 'en')) or 'not said')}",
        f"  # between: {_comment(', '.join(_between(debug, 'en')) or 'not said')}",
        f"  gpu: {device.name}",
        f"  scale_up: {device.fabric}",
        f"  scale_out: {_scale_out(debug, device.nic)} # the log does not tell its rate",
        f"  gpus_per_node: {per_node}",
    ]
    n_nics = len(debug.nics)
    if n_nics and n_nics <= per_node and per_node % n_nics == 0:
        lines.append(f"  nics_per_node: {n_nics}")
    return scenario_on("\n".join(lines), per_node, _STAGES if nodes > 1 else 1)


def _scale_out(debug: DebugFacts, usual: str) -> str:
    """The catalogue's fabric between the nodes: the GPU's usual one if it is of the kind said."""
    if debug.nic_kind == "IB":
        return usual if usual.startswith("ib-") else _USUAL_IB
    if debug.nic_kind == "RoCE":
        return usual if usual.startswith("roce-") else _USUAL_ROCE
    return fabric_said(debug) or usual


def _comment(text: str) -> str:
    """Text from outside on one line of a comment."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)
