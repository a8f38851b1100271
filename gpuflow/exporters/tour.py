"""The guided tour as text and as records."""

from __future__ import annotations

from gpuflow.draw.tour import stop_words
from gpuflow.engine.pace import Pace
from gpuflow.engine.tour import tour_stops
from gpuflow.exporters.plain import safe_lines, scenario_line
from gpuflow.scenario.spec import Language
from gpuflow.words import t


def tour_text(pace: Pace, language: Language, width: int | None) -> str:
    """A paragraph a stop, after what the tour is about.

    Args:
        pace: The play it goes through.
        language: In which language.
        width: Cells of a line; None: lines are as long as they are.
    """
    scenario = pace.timeline.scenario
    opening = t("tour.plain.opening", language, title=scenario.title.in_language(language))
    paragraphs = [[opening, scenario_line(scenario, language)]]
    stops = tour_stops(pace)
    for number, stop in enumerate(stops, start=1):
        words = stop_words(pace, stop, language)
        heading = t(
            "tour.plain.heading", language, number=number, count=len(stops), title=words.title
        )
        paragraphs.append([heading, words.lead, words.text])
    return "\n\n".join("\n".join(safe_lines(one, width)) for one in paragraphs)


def stop_records(pace: Pace, language: Language) -> list[dict[str, object]]:
    """The stops for programs: where they are, and the words of one language."""
    found: list[dict[str, object]] = []
    for number, stop in enumerate(tour_stops(pace), start=1):
        words = stop_words(pace, stop, language)
        found.append(
            {
                "id": stop.id,
                "number": number,
                "step": pace.timeline.steps[stop.step].id,
                "collective": stop.subject.collective if stop.subject else None,
                "title": words.title,
                "lead": words.lead,
                "text": words.text,
            }
        )
    return found
