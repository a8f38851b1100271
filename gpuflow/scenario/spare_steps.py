"""Steps and titles beyond those of the shipped scenarios, from gpuflow/data/steps.yaml."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from gpuflow.errors import ScenarioError
from gpuflow.scenario.nodes import Problems, parse_document
from gpuflow.scenario.reader import Fields
from gpuflow.scenario.source import read_source
from gpuflow.scenario.spec import StepSpec, Text
from gpuflow.scenario.steps import read_step
from gpuflow.scenario.texts import read_text


@dataclass(frozen=True, slots=True, kw_only=True)
class SpareSteps:
    """All of them."""

    add_up: StepSpec
    """The first layer's all_reduce after attention, as a step of its own."""
    mlp: StepSpec
    """The first layer's MLP in a model without experts."""
    quiet: Text
    """What a step asks of the network that computes partial sums and does not add them up yet."""
    hops: Text
    """That stages follow one another, for steps that hold several of them."""
    second_stage: Text
    """Title of the step of the later stages where there is one."""
    later_stages: Text
    """The same where there are several."""


@cache
def spare_steps() -> SpareSteps:
    """Read the file.

    Raises:
        ScenarioError: The file is not as it should be.
    """
    path = Path(str(resources.files("gpuflow") / "data" / "steps.yaml"))
    source = read_source(path, path.name)
    if isinstance(source, list):
        raise ScenarioError(source)
    problems = Problems(source)
    top = Fields(problems, parse_document(source, problems), "", None)
    steps = [
        read_step(problems, top.node.values[name], name)
        for name in ("add-up", "mlp")
        if name in top.node.values
    ]
    titles = top.mapping("titles")
    texts = [read_text(top, "quiet"), read_text(top, "hops")]
    texts += [read_text(titles, name) for name in ("second", "later") if titles is not None]
    known_steps = [step for step in steps if step is not None]
    known_texts = [text for text in texts if text is not None]
    if problems.found or len(known_steps) != 2 or len(known_texts) != 4:
        raise ScenarioError(problems.in_order())
    return SpareSteps(
        add_up=known_steps[0],
        mlp=known_steps[1],
        quiet=known_texts[0],
        hops=known_texts[1],
        second_stage=known_texts[2],
        later_stages=known_texts[3],
    )
