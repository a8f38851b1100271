"""Figures over the whole play, bucket by bucket of its screen time."""

from __future__ import annotations

from gpuflow.engine.moment import Moments
from gpuflow.engine.pace import Pace, Stretch
from gpuflow.scenario.spec import Phase

BUCKETS = 120
"""Enough for every width at which they are drawn."""


def communication_over(pace: Pace, buckets: int = BUCKETS) -> tuple[float, ...]:
    """Share of the time spent on communication in each bucket, 0..1.

    Layers skipped through count with their mean, folded laps with that of the lap shown.
    """
    shares = [_share(pace, stretch) for stretch in pace.stretches]
    lasts_s = pace.duration_s / buckets
    found, first = [], 0
    for i in range(buckets):
        start_s, end_s = i * lasts_s, (i + 1) * lasts_s
        while pace.stretches[first].screen_end_s <= start_s and first + 1 < len(shares):
            first += 1
        total, k = 0.0, first
        while k < len(shares) and pace.stretches[k].screen_start_s < end_s:
            stretch = pace.stretches[k]
            inside = min(stretch.screen_end_s, end_s) - max(stretch.screen_start_s, start_s)
            total += max(inside, 0.0) * shares[k]
            k += 1
        found.append(min(total / lasts_s, 1.0))
    return tuple(found)


def cache_over(moments: Moments, buckets: int = BUCKETS) -> tuple[float, ...]:
    """KV cache of all GPUs in the middle of each bucket, as a part of what the answer needs."""
    pace = moments.pace
    full = moments.kv_bytes(pace.time(pace.duration_s))
    if not full:
        return (0.0,) * buckets
    middles = ((i + 0.5) / buckets * pace.duration_s for i in range(buckets))
    return tuple(moments.kv_bytes(pace.time(middle_s)) / full for middle_s in middles)


def _share(pace: Pace, stretch: Stretch) -> float:
    timeline = pace.timeline
    spans = timeline.spans[stretch.first_span : stretch.last_span]
    if any(span.kind == "fold" for span in spans):
        return _phase_share(pace, spans[0].phase)
    lasts_s = sum(span.duration_s for span in spans)
    moving = [span for span in spans if span.traffic_class is not None]
    if lasts_s <= 0:
        return 1.0 if moving else 0.0
    return sum(span.duration_s for span in moving) / lasts_s


def _phase_share(pace: Pace, phase: Phase) -> float:
    steps = [step for step in pace.timeline.steps if step.phase == phase]
    lasts_s = sum(step.duration_s for step in steps)
    return sum(step.communication_s for step in steps) / lasts_s if lasts_s else 0.0
