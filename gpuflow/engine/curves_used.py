"""The measured curves that a timeline's times rest on."""

from __future__ import annotations

from dataclasses import dataclass

from gpuflow.cluster.mesh import mesh_of
from gpuflow.cluster.prediction import Detail
from gpuflow.engine.kernel_time import kernel_curve
from gpuflow.engine.timeline import Timeline, TimeSource


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveUse:
    """One collective in groups of one size, and where its times come from."""

    collective: str
    ranks: int
    time_sources: tuple[TimeSource, ...]
    """Of the messages that take their time from it, in the order in which they occur."""
    detail: Detail


def curves_used(timeline: Timeline) -> tuple[CurveUse, ...]:
    """What every calibrated or extrapolated time rests on, in the order of first use."""
    mesh = mesh_of(timeline.scenario)
    uses: dict[tuple[object, ...], CurveUse] = {}
    for span in timeline.spans:
        if span.collective is None or span.time_source not in {"calibrated", "extrapolated"}:
            continue
        curve = kernel_curve(timeline.scenario, mesh, span.groups, span.collective)
        if curve is None:
            continue
        key = (span.collective, len(span.groups[0]), id(curve))
        known = uses[key].time_sources if key in uses else ()
        uses[key] = CurveUse(
            collective=span.collective,
            ranks=len(span.groups[0]),
            time_sources=tuple(dict.fromkeys((*known, span.time_source))),
            detail=curve.detail,
        )
    return tuple(uses.values())
