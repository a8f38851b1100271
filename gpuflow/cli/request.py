"""From a Request to the Scenario it means, and back to the options as they were resolved."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from gpuflow.cli.options import Request
from gpuflow.cli.output import Output
from gpuflow.cluster.mesh import mesh_of
from gpuflow.scenario.load import DEFAULT_SCENARIO, Overrides, load_scenario
from gpuflow.scenario.model_spec import ModelSpec
from gpuflow.scenario.spec import AUTO, Scenario


def scenario_of(request: Request) -> Scenario:
    """Load the scenario and apply the options; a launch line counts as options too.

    Raises:
        ScenarioError: The file, an option, or what they make together is wrong.
        ImportFormatError: `--model` names a config.json that cannot be read.
    """
    scenario = _resolved(request)
    if scenario.all_reduce is not None:
        from gpuflow.engine.all_reduce import check_all_reduce

        check_all_reduce(scenario)
    return scenario


def _read_model(path: Path) -> ModelSpec:
    """The model of a config.json; few ask for one, so that its reader is loaded late."""
    from gpuflow.importers.hf_config import read_model

    return read_model(path)


def _resolved(request: Request) -> Scenario:
    if request.topo is not None:
        from gpuflow.cli.boxes import scenario_on_box

        return scenario_on_box(request)
    if request.launch is not None:
        from gpuflow.cli.launching import scenario_of_launch

        return scenario_of_launch(request, request.launch)
    changes = {field.name: getattr(request, field.name) for field in fields(Overrides)}
    changes["layers"] = request.layers.counts if request.layers else None
    name = request.scenario or DEFAULT_SCENARIO
    return load_scenario(name, Overrides(**changes), resolve_model=_read_model)


def warn_of_shortage(scenario: Scenario, output: Output) -> str:
    """Say where the GPUs' memory is too small for the scenario; its figures are given all the same.

    Returns:
        The warning, empty where everything fits.
    """
    from gpuflow.exporters.fitting import shortage_text

    text = shortage_text(scenario, output.language)
    if text:
        output.tell(text)
    return text


def inputs_of(scenario: Scenario, **more: object) -> dict[str, object]:
    """The options as they came out, under the names the options have."""
    parallel, workload, cluster = scenario.parallel, scenario.workload, scenario.cluster
    return {
        "scenario": scenario.name,
        "model": scenario.model.name,
        "gpu": cluster.device.name,
        "scale_up": cluster.scale_up.name,
        "scale_out": cluster.scale_out.name,
        "nodes": mesh_of(scenario).n_nodes,
        "gpus": parallel.world,
        "tp": parallel.tp,
        "pp": parallel.pp,
        "layers": list(parallel.stage_layers) or None,
        "ep": parallel.ep,
        "dp": parallel.dp,
        "batch": workload.batch,
        "prompt": workload.prompt_tokens,
        "output": workload.output_tokens,
        "context": workload.context_tokens,
        "chunk": workload.chunk_tokens,
        "micro_batches": workload.micro_batches,
        "overlap": workload.overlap,
        "precision": scenario.precision,
        "profile": scenario.profile.name,
        "all_reduce": scenario.all_reduce or AUTO,
        **more,
    }
