"""From a timeline to a Scene: texts filled with the engine's figures, steps on screen time."""

from __future__ import annotations

from gpuflow.draw.bound import Bound
from gpuflow.draw.view import Scene, StepTexts
from gpuflow.engine.facts import facts
from gpuflow.engine.moment import Moments
from gpuflow.engine.over_time import cache_over, communication_over
from gpuflow.engine.telling import tell, tell_if_true
from gpuflow.engine.timeline import Timeline
from gpuflow.scenario.spec import Language, Text


def scene_of(moments: Moments, language: Language, bound: Bound | None = None) -> Scene:
    """What a timeline shows in a language.

    Args:
        moments: States of the paced timeline.
        language: Of every word.
        bound: Keys that were bound anew, by command.
    """
    timeline, pace = moments.timeline, moments.pace
    end = moments.at(pace.duration_s)
    return Scene(
        timeline=timeline,
        language=language,
        bound=bound or {},
        texts=tuple(step_texts(timeline, i, language) for i in range(len(timeline.steps))),
        step_starts=tuple(pace.step_start(i) / pace.duration_s for i in range(len(timeline.steps))),
        duration_s=pace.duration_s,
        kv_full_bytes=tuple(gpu.kv_bytes for gpu in end.gpus),
        communication_over=communication_over(pace),
        cache_over=cache_over(moments),
    )


def step_texts(timeline: Timeline, index: int, language: Language) -> StepTexts:
    """The texts of one step, every placeholder filled with the engine's figure."""
    spec = timeline.scenario.steps[index]
    values = facts(timeline, index)
    idle = timeline.steps[index].is_idle and spec.idle is not None
    summary = spec.idle if idle and spec.idle is not None else spec.summary

    def fill(text: Text) -> str:
        return tell(text.in_language(language), values)

    def fill_if_true(text: Text | None) -> str:
        return "" if text is None else tell_if_true(text.in_language(language), values)

    if idle:
        # What the step would do is not true here; the reason is all there is to say.
        return StepTexts(
            title=fill(spec.title), summary=fill(summary), detail="", network="", latency=""
        )
    return StepTexts(
        title=fill(spec.title),
        summary=fill(summary),
        detail=fill(spec.detail),
        network=fill(spec.network),
        latency=fill(spec.latency),
        takeaway=fill_if_true(spec.takeaway),
        notes=fill_if_true(spec.notes),
    )
