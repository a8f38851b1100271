"""The eight steps as text: one paragraph a step, for pipes, files and screen readers.

No escapes, no boxes, no columns; every figure comes from the same timeline as the picture.
"""

from __future__ import annotations

from gpuflow.cells import sanitise
from gpuflow.draw.scene import step_texts
from gpuflow.draw.wrap import wrap
from gpuflow.engine.timeline import StepTime, Timeline
from gpuflow.scenario.spec import Language, Scenario, WorkloadSpec
from gpuflow.units import Quantity
from gpuflow.words import t


def steps_text(
    timeline: Timeline, language: Language, width: int | None, *, only: int | None = None
) -> str:
    """All steps, with what they are about before and the result after; or one step alone.

    Args:
        timeline: What to tell.
        language: In which language.
        width: Cells of a line; None: a paragraph's lines are as long as their sentences.
        only: Index of the step that is told alone; None: all are.
    """
    if only is not None:
        return "\n".join(safe_lines(_paragraph(timeline, timeline.steps[only], language), width))
    told = [_paragraph(timeline, step, language) for step in timeline.steps]
    if timeline.recording is not None:
        # Split, workload and result are what a trace does not know.
        paragraphs = [[timeline.scenario.title.in_language(language)], *told]
    else:
        paragraphs = [_opening(timeline.scenario, language), *told, _closing(timeline, language)]
    return "\n\n".join("\n".join(safe_lines(sentences, width)) for sentences in paragraphs)


def safe_lines(sentences: list[str], width: int | None) -> list[str]:
    """Lines of a paragraph; what a scenario or a model is called cannot steer the terminal."""
    lines = [sanitise(line) for sentence in sentences for line in sentence.splitlines()]
    return lines if width is None else [part for line in lines for part in wrap(line, width)]


def step_record(step: StepTime) -> dict[str, object]:
    """A step's times for programs."""
    return {
        "id": step.id,
        "number": step.index + 1,
        "phase": step.phase,
        "duration_s": step.duration_s,
        "compute_s": step.compute_s,
        "communication_s": step.communication_s,
        "host_s": step.host_s,
    }


def step_records(timeline: Timeline, language: Language) -> list[dict[str, object]]:
    """The steps for programs: ids, figures and the texts of one language."""
    found: list[dict[str, object]] = []
    for step in timeline.steps:
        texts = step_texts(timeline, step.index, language)
        found.append(
            {
                **step_record(step),
                "title": texts.title,
                "summary": texts.summary,
                "detail": texts.detail,
                "network": texts.network,
                "latency": texts.latency,
                "takeaway": texts.takeaway or None,
                "notes": texts.notes or None,
            }
        )
    return found


def scenario_line(scenario: Scenario, language: Language) -> str:
    """Model, machines, split and workload in one line."""
    parallel, workload = scenario.parallel, scenario.workload
    return t(
        "plain.setup",
        language,
        name=scenario.name,
        model=scenario.model.title,
        precision=scenario.precision,
        gpus=Quantity(parallel.world, "count"),
        gpu=scenario.cluster.device.title,
        split=split_text(scenario, language),
        batch=Quantity(workload.batch, "count"),
        prompt=Quantity(workload.prompt_tokens, "count"),
        output=_output(workload, language),
        profile=scenario.profile.title.in_language(language),
    )


def _output(workload: WorkloadSpec, language: Language) -> Quantity | str:
    """Tokens of the answer, and of the context where it is given and does not grow."""
    output = Quantity(workload.output_tokens, "count")
    if workload.context_tokens is None:
        return output
    context = Quantity(workload.context_tokens, "count")
    return t("plain.output_context", language, output=output, context=context)


def split_text(scenario: Scenario, language: Language = "en") -> str:
    """How the model is split: `TP 2 × PP 2`."""
    parallel = scenario.parallel
    parts = [f"TP {parallel.tp}", f"PP {parallel.pp}"]
    if parallel.dp > 1:
        parts.append(f"DP {parallel.dp}")
    split = " × ".join(parts)
    if parallel.ep == 1:
        return split
    return t("plain.split_experts", language, split=split, ep=parallel.ep)


def _opening(scenario: Scenario, language: Language) -> list[str]:
    return [scenario.title.in_language(language), scenario_line(scenario, language)]


def _paragraph(timeline: Timeline, step: StepTime, language: Language) -> list[str]:
    texts = step_texts(timeline, step.index, language)
    recording = timeline.recording
    is_known = recording is None or recording.has_phase
    heading = t(
        f"plain.heading.{step.phase if is_known else 'recorded'}",
        language,
        number=step.index + 1,
        count=len(timeline.steps),
        title=texts.title,
    )
    if step.is_idle:
        return [heading, texts.summary]
    closing = [t("plain.takeaway", language, text=texts.takeaway)] if texts.takeaway else []
    return [
        heading,
        texts.summary,
        texts.detail,
        t("plain.network", language, text=texts.network),
        t("plain.latency", language, text=texts.latency),
        t("plain.time_host" if step.host_s else "plain.time", language, **_times(step)),
        *closing,
    ]


def _times(step: StepTime) -> dict[str, Quantity]:
    shares = step.communication_s / step.duration_s if step.duration_s else 0.0
    return {
        "duration": Quantity(step.duration_s, "time"),
        "compute": Quantity(step.compute_s, "time"),
        "communication": Quantity(step.communication_s, "time"),
        "share": Quantity(shares, "share"),
        "host": Quantity(step.host_s, "time"),
    }


def _closing(timeline: Timeline, language: Language) -> list[str]:
    ttft = Quantity(timeline.ttft_s, "time")
    if not timeline.laps:
        return [t("plain.result_prefill", language, ttft=ttft)]
    return [
        t(
            "plain.result",
            language,
            ttft=ttft,
            tpot=Quantity(timeline.tpot_s, "time"),
            rate=Quantity(1 / timeline.tpot_s, "count"),
            whole=Quantity(timeline.end_s, "time"),
        )
    ]
