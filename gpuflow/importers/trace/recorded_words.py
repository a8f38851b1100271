"""What is said about a recorded step: its kernels, its collectives, and what nobody can know."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePath

import numpy as np

from gpuflow.cells import sanitise
from gpuflow.importers.trace.cut import Cut, Piece, talks_in
from gpuflow.importers.trace.names import compute_kind
from gpuflow.importers.trace.reading import Reading
from gpuflow.importers.trace.talks import Talk
from gpuflow.scenario.spec import Language, Phase, StepSpec, Text
from gpuflow.units import format_bytes, format_share, format_time
from gpuflow.words import joined, t

_IDS = ("before", "layers", "after")
MOST_KINDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the words are about."""

    reading: Reading
    cut: Cut
    sections: tuple[int, ...]

    def pieces(self, section: int) -> list[Piece]:
        """The pieces of a section."""
        return [piece for piece in self.cut.pieces if piece.mark.section == section]


def _literal(text: str) -> str:
    """Text from outside in a template: no control characters, and nothing to be filled in."""
    return sanitise(text).replace("{", "(").replace("}", ")")


def _text(make: Callable[[Language], str]) -> Text:
    return Text(zh=_literal(make("zh")), en=_literal(make("en")))


def _word(key: str, language: Language, **values: object) -> str:
    return t(f"import_trace.play.{key}", language, **values)


def title_of(reading: Reading) -> Text:
    """What is played, in a line."""
    name = PurePath(reading.file).name
    return _text(lambda language: _word("title", language, file=name))


def step_specs(told: Told, phase: Phase) -> tuple[StepSpec, ...]:
    """One step a section: before the layers, the layers, behind them; or all in one."""
    return tuple(_spec(told, section, phase) for section in told.sections)


def _spec(told: Told, section: int, phase: Phase) -> StepSpec:
    has_layers = told.cut.n_layers > 0
    key = _IDS[section] if has_layers else "whole"
    is_step = told.reading.step is not None
    title = key if has_layers or is_step else "trace"
    return StepSpec(
        id=key,
        phase=phase,
        title=_text(lambda language: _word(f"{title}.title", language)),
        summary=_text(lambda language: _summary(told, section, key, language)),
        detail=_text(lambda language: _detail(told, section, language)),
        network=_text(lambda language: _network(told, section, language)),
        latency=_text(lambda language: _latency(told, section, language)),
        operations=(),
    )


def _window(told: Told, section: int) -> tuple[float, float]:
    pieces = told.pieces(section)
    return pieces[0].start_s, pieces[-1].end_s


def _talks(told: Told, section: int) -> list[tuple[Talk, float]]:
    """The section's talk that starts in it, with its seconds."""
    queue = told.reading.queue
    start_s, end_s = _window(told, section)
    return [] if queue is None else talks_in(queue, start_s, end_s)


def _kernels(told: Told, section: int) -> np.ndarray:
    """Places of the section's kernels in the busiest queue."""
    queue = told.reading.queue
    if queue is None:
        return np.zeros(0, dtype=np.int64)
    start_s, end_s = _window(told, section)
    inside = (queue.start_s >= start_s - 1e-12) & (queue.start_s < end_s)
    return np.flatnonzero(inside)


def _summary(told: Told, section: int, key: str, language: Language) -> str:
    start_s, end_s = _window(told, section)
    found = told.reading.layer
    values: dict[str, object] = {
        "kernels": len(_kernels(told, section)),
        "time": format_time(end_s - start_s),
        "layers": told.cut.n_layers,
        "each": format_time(found.duration_s) if found is not None else "",
    }
    if key == "layers":
        return _word("layers.summary", language, **values)
    return _word("summary", language, **values)


def _detail(told: Told, section: int, language: Language) -> str:
    """Which kinds of computing, and how much of the time a kernel runs at all."""
    queue = told.reading.queue
    places = _kernels(told, section)
    start_s, end_s = _window(told, section)
    if queue is None or not len(places):
        return _word("no_kernels", language)
    lengths = queue.end_s[places] - queue.start_s[places]
    sums: dict[str, float] = {}
    for place, length in zip(places.tolist(), lengths.tolist(), strict=True):
        if queue.talk[place] < 0:
            kind = compute_kind(queue.texts[queue.names[place]])
            sums[kind] = sums.get(kind, 0.0) + length
    whole = float(lengths.sum())
    most = sorted(sums.items(), key=lambda item: -item[1])[:MOST_KINDS]
    kinds = [
        f"{t(f'import_trace.compute.{kind}', language)} {format_share(spent / whole)}"
        for kind, spent in most
    ]
    busy = format_share(min(whole / (end_s - start_s), 1.0))
    return _word("detail", language, kinds=kinds, busy=busy)


def _network(told: Told, section: int, language: Language) -> str:
    """Collectives by kind, size and time."""
    groups: dict[tuple[str, int | None], list[float]] = {}
    for talk, length in _talks(told, section):
        groups.setdefault((talk.kind, talk.size_bytes), []).append(length)
    if not groups:
        return _word("no_talk", language)
    parts = [_talk_text(kind, size, times, language) for (kind, size), times in groups.items()]
    return _word("network", language, talks=parts[: 2 * MOST_KINDS])


def _talk_text(kind: str, size: int | None, times: Iterable[float], language: Language) -> str:
    lengths = list(times)
    name = t("import_trace.kind.unknown", language) if kind == "unknown" else kind
    values = {"count": len(lengths), "kind": name, "time": format_time(sum(lengths))}
    if size is None:
        return _word("talk", language, **values)
    return _word("talk_sized", language, size=format_bytes(size), **values)


def _latency(told: Told, section: int, language: Language) -> str:
    """How even the times are, and what the picture cannot know."""
    head = told.reading.head
    lengths = [length for _, length in _talks(told, section)]
    parts = []
    if len(lengths) == 1:
        parts.append(_word("latency_one", language, time=format_time(lengths[0])))
    elif lengths:
        parts.append(
            _word(
                "latency",
                language,
                shortest=format_time(min(lengths)),
                median=format_time(float(np.median(lengths))),
                longest=format_time(max(lengths)),
            )
        )
    rank = head.rank if head.rank is not None else "?"
    key = "recorded_alone" if head.world == 1 else "recorded"
    parts.append(_word(key, language, rank=rank, world=head.world or "?"))
    return joined(parts, language)
