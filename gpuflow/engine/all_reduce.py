"""Which algorithms a scenario may ask for in its tensor-parallel groups."""

from __future__ import annotations

from gpuflow.cluster.mesh import mesh_of
from gpuflow.engine.kernel_time import choices
from gpuflow.errors import Problem, ScenarioError
from gpuflow.scenario.spec import ALL_REDUCES, AUTO, AllReduce, Scenario


def all_reduce_choices(scenario: Scenario) -> tuple[AllReduce, ...]:
    """Algorithms that the tensor-parallel groups can run; none where nothing tells them apart."""
    mesh = mesh_of(scenario)
    found = set(choices(scenario, mesh, mesh.groups("tp", 0)))
    return tuple(name for name in ALL_REDUCES if name in found)


def check_all_reduce(scenario: Scenario) -> None:
    """See to it that the algorithm asked for means something here.

    Raises:
        ScenarioError: The profile has one rule for all algorithms, there is no tensor parallelism,
            or its groups cannot run that one.
    """
    asked = scenario.all_reduce
    allowed = all_reduce_choices(scenario)
    if asked is None or asked in allowed:
        return
    code = "all_reduce_not_here"
    if scenario.parallel.tp < 2:
        code = "all_reduce_without_tp"
    elif scenario.profile.collective_times != "calibrated":
        code = "all_reduce_one_rule"
    problem = Problem(
        code=code,
        key="--all-reduce",
        values={
            "found": asked,
            "profile": scenario.profile.name,
            "tp": scenario.parallel.tp,
            "gpu": scenario.cluster.device.title,
            "allowed": [AUTO, *allowed],
        },
        hint="allowed_here",
    )
    raise ScenarioError([problem])
