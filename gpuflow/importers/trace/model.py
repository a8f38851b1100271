"""Which model a trace is of, where its layers and the width of its matrices leave only one."""

from __future__ import annotations

from collections.abc import Iterable

from gpuflow.importers.trace.doubt import Doubt
from gpuflow.scenario import catalog
from gpuflow.scenario.model_spec import ModelSpec


def recognised(
    n_layers: int, widths: Iterable[int], *, has_experts: bool
) -> tuple[ModelSpec | None, list[Doubt]]:
    """The one model of the catalogue that fits, with the doubt that says why.

    Args:
        n_layers: Layers of one pass.
        widths: Last dimensions of the matrices that are communicated.
        has_experts: Whether kernels of experts ran.
    """
    wanted = set(widths)
    if not wanted:
        return None, []
    models = [catalog.model(name) for name in catalog.model_names()]
    fitting = [
        model
        for model in models
        if len(model.layers) == n_layers
        and model.hidden_size in wanted
        and model.has_experts == has_experts
    ]
    if len(fitting) != 1:
        return None, []
    model = fitting[0]
    values = {"layers": n_layers, "width": model.hidden_size, "model": model.title}
    return model, [Doubt("model_by_shape", values)]
