"""A scenario as one Markdown document: its figures, steps, requirements, and who says so."""

from __future__ import annotations

from gpuflow.draw.scene import step_texts
from gpuflow.engine.explain import explain
from gpuflow.engine.metrics import estimate
from gpuflow.engine.requirements import requirement_table
from gpuflow.engine.timeline import StepTime, Timeline
from gpuflow.exporters.estimates import estimate_tables
from gpuflow.exporters.explanations import sources_table
from gpuflow.exporters.requirements import requirement_view
from gpuflow.exporters.tables import Table, clean, literal, markdown
from gpuflow.scenario.spec import Language
from gpuflow.words import t


def report(timeline: Timeline, language: Language, overhead: float) -> str:
    """The whole document.

    Args:
        timeline: What was simulated.
        language: Of every word.
        overhead: Share of a pass that communication may take, for the requirement table.
    """
    found = estimate(timeline)
    scenario = timeline.scenario
    results, *rest = estimate_tables(found, language)
    requirements, conclusions = requirement_view(
        requirement_table(scenario, overhead), language, None
    )
    blocks = [
        f"# {_line(scenario.title.in_language(language))}",
        markdown(results),
        f"## {t('report.steps', language)}",
        *(_step(timeline, step, language) for step in timeline.steps),
        *map(markdown, (*rest, requirements, conclusions)),
        markdown(sources_table(explain(found), language)),
    ]
    return "\n\n".join(blocks)


def _line(text: str) -> str:
    """Text from a scenario, with nothing in it that steers a terminal or Markdown."""
    return literal(clean(Table(title=text, columns=(), rows=())).title)


def _step(timeline: Timeline, step: StepTime, language: Language) -> str:
    """A heading, and one paragraph for each thing there is to say."""
    texts = step_texts(timeline, step.index, language)
    values = {"number": step.index + 1, "count": len(timeline.steps), "title": texts.title}
    heading = t(f"plain.heading.{step.phase}", language, **values)
    said = [texts.summary, texts.detail]
    said += [t("plain.network", language, text=texts.network)] if texts.network else []
    said += [t("plain.latency", language, text=texts.latency)] if texts.latency else []
    said += [t("plain.takeaway", language, text=texts.takeaway)] if texts.takeaway else []
    return "\n\n".join([f"### {_line(heading)}", *(_line(text) for text in said if text)])
