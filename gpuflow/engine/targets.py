"""What a target for TTFT or TPOT asks of a fabric: the bandwidth at which it is just met.

The scenario is simulated on its own fabric with another bandwidth and the same latencies until the
target is met exactly. Time is a convex, piecewise linear function of 1 / bandwidth (messages add
up; pipelines and overlap take maxima), so a few steps along the secant end on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from gpuflow.engine.simulate import simulate
from gpuflow.scenario.spec import FabricSpec, Phase, Scenario

Tier = Literal["scale_up", "scale_out"]
RateKind = Literal["bus", "hop"]
"""bus: what collectives reach; hop: what one point-to-point message reaches."""

TOLERANCE = 1e-9
"""Relative, of the time that is to be met."""
_MOST_STEPS = 30
_ALMOST_NOTHING = 1e-9
"""1 / bandwidth, in parts of the present one, at which only latencies are left."""
_MOST_SLOWDOWN = 1e9
_TANGENT = 1e-4
"""Part of an interval over which a slope is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What the user promises; None: nothing."""

    ttft_s: float | None = None
    tpot_s: float | None = None

    def of(self, phase: Phase) -> float | None:
        """The target that a phase has to meet."""
        return self.ttft_s if phase == "prefill" else self.tpot_s

    @property
    def any(self) -> bool:
        """Whether there is one."""
        return self.ttft_s is not None or self.tpot_s is not None

    @property
    def all(self) -> bool:
        """Whether there are both."""
        return self.ttft_s is not None and self.tpot_s is not None


NO_TARGETS = Targets()


def on_scaled_fabric(scenario: Scenario, tier: Tier, kind: RateKind, factor: float) -> Scenario:
    """The scenario with one of a fabric's reached bandwidths times `factor`, latencies as they are.

    A fabric that is not the catalogue's has no measured times: all its messages take a fixed
    latency plus bytes over bandwidth, under every profile.
    """
    fabric = scenario.cluster.scale_up if tier == "scale_up" else scenario.cluster.scale_out
    changed = _scaled(fabric, kind, factor)
    cluster = replace(
        scenario.cluster,
        scale_up=changed if tier == "scale_up" else scenario.cluster.scale_up,
        scale_out=changed if tier == "scale_out" else scenario.cluster.scale_out,
    )
    return replace(scenario, cluster=cluster)


def _scaled(fabric: FabricSpec, kind: RateKind, factor: float) -> FabricSpec:
    bridge = fabric.bridge and _scaled(fabric.bridge, kind, factor)
    named = replace(fabric, bridge=bridge, title=f"{fabric.title} (scaled)")
    if kind == "bus":
        return replace(named, bus_bandwidth_bytes_per_s=fabric.bus_bandwidth_bytes_per_s * factor)
    return replace(named, hop_bandwidth_bytes_per_s=fabric.hop_bandwidth_bytes_per_s * factor)


def phase_seconds(scenario: Scenario, phase: Phase) -> float:
    """TTFT or TPOT."""
    timeline = simulate(scenario)
    return timeline.ttft_s if phase == "prefill" else timeline.tpot_s


def needed_factor(
    scenario: Scenario, phase: Phase, tier: Tier, kind: RateKind, target_s: float
) -> float | None:
    """How many times the fabric's bandwidth meets a target exactly.

    Args:
        scenario: Has messages of that kind on the fabric in that phase.
        phase: prefill for TTFT, decode for TPOT.
        tier: The fabric.
        kind: Which of its bandwidths.
        target_s: The time to meet.

    Returns:
        The factor; None where not even an endless bandwidth would do. Where any bandwidth does, a
        tiny one.
    """

    def late_s(slowness: float) -> float:
        scaled = on_scaled_fabric(scenario, tier, kind, 1 / slowness)
        return phase_seconds(scaled, phase) - target_s

    low, low_s = _ALMOST_NOTHING, late_s(_ALMOST_NOTHING)
    if low_s >= 0:
        return None
    high, high_s = 1.0, late_s(1.0)
    while high_s < 0:
        if high >= _MOST_SLOWDOWN:
            return 1 / high
        # The function is convex: where it rises, the line through both points meets zero late.
        rise = (high_s - low_s) / (high - low)
        further = high - high_s / rise if rise > 0 else _MOST_SLOWDOWN
        low, low_s = high, high_s
        high = min(further * (1 + TOLERANCE), 32 * high, _MOST_SLOWDOWN)
        high_s = late_s(high)
    return 1 / _root(late_s, (low, low_s), (high, high_s), TOLERANCE * target_s)


def _root(
    late_s: Callable[[float], float],
    low: tuple[float, float],
    high: tuple[float, float],
    tolerance: float,
) -> float:
    """Where a rising, convex function is zero between two points on either side.

    Along the tangent at the upper end, then along the chord: on a function made of few straight
    pieces one of them soon ends on the zero.
    """
    (a, at_a), (b, at_b) = low, high
    for _ in range(_MOST_STEPS):
        if at_b <= tolerance:
            break
        before = b - _TANGENT * (b - a)
        rise = (at_b - late_s(before)) / (b - before)
        for middle in (b - at_b / rise if rise > 0 else a, b - at_b * (b - a) / (at_b - at_a)):
            if not a < middle < b:
                continue
            found = late_s(middle)
            if abs(found) <= tolerance:
                return middle
            if found > 0:
                b, at_b = middle, found
            else:
                a, at_a = middle, found
    return b
