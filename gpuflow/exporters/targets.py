"""Targets, how the scenario stands to them, and which splits meet them."""

from __future__ import annotations

from collections.abc import Sequence

from gpuflow.engine.split_choice import SplitResult
from gpuflow.engine.targets import Targets
from gpuflow.engine.timeline import Timeline
from gpuflow.exporters.figures import count_or_nothing, ratio, time_or_nothing
from gpuflow.exporters.tables import Cell, Column, Table
from gpuflow.scenario.spec import Language, ParallelSpec
from gpuflow.units import format_count, format_time
from gpuflow.words import joined, t

MOST_SPLITS = 16
"""Rows of the table; JSON has all."""


def target_text(metric: str, target_s: float, language: Language) -> str:
    """One target, as part of a sentence."""
    return t(f"target.{metric}", language, time=format_time(target_s))


def targets_text(targets: Targets, language: Language) -> str:
    """All targets."""
    both = (("ttft", targets.ttft_s), ("tpot", targets.tpot_s))
    told = [target_text(name, value, language) for name, value in both if value is not None]
    return t("target.both", language, first=told[0], second=told[1]) if len(told) > 1 else told[0]


def target_records(timeline: Timeline, targets: Targets) -> list[dict[str, object]]:
    """How the scenario itself stands to each target."""
    found: list[dict[str, object]] = []
    for metric, target_s, here_s in _standing(timeline, targets):
        found.append(
            {
                "metric": metric,
                "target_s": target_s,
                "predicted_s": here_s,
                "headroom": target_s / here_s if here_s else None,
                "met": None if here_s is None else here_s <= target_s,
            }
        )
    return found


def _standing(timeline: Timeline, targets: Targets) -> list[tuple[str, float, float | None]]:
    tpot_s = timeline.tpot_s if timeline.laps else None
    both = (("ttft", targets.ttft_s, timeline.ttft_s), ("tpot", targets.tpot_s, tpot_s))
    return [(name, wanted, here) for name, wanted, here in both if wanted is not None]


def split_records(results: Sequence[SplitResult]) -> list[dict[str, object]]:
    """Every split with its times, those that meet the targets first."""
    return [
        {
            **split_record(one.parallel),
            "batch": one.batch,
            "ttft_s": one.ttft_s,
            "tpot_s": one.tpot_s,
            "tokens_per_s": one.tokens_per_s,
            "fits": one.fits,
            "meets_ttft": one.meets_ttft,
            "meets_tpot": one.meets_tpot,
            "meets": one.meets,
            "own": one.is_own,
        }
        for one in results
    ]


def split_record(parallel: ParallelSpec) -> dict[str, object]:
    """The degrees of a split."""
    return {
        "tp": parallel.tp,
        "pp": parallel.pp,
        "dp": parallel.dp,
        "ep": parallel.ep,
        "layers": list(parallel.stage_layers) or None,
    }


def split_name(parallel: ParallelSpec) -> str:
    """A split in few cells.

    Example:
        >>> split_name(ParallelSpec(tp=8, pp=2)), split_name(ParallelSpec(dp=4, ep=4))
        ('TP 8 × PP 2', 'TP 1 × DP 4, EP 4')
    """
    text = f"TP {parallel.tp}"
    text += f" × PP {parallel.pp}" if parallel.pp > 1 else ""
    text += f" × DP {parallel.dp}" if parallel.dp > 1 else ""
    return text + (f", EP {parallel.ep}" if parallel.ep > 1 else "")


def splits_table(
    timeline: Timeline, targets: Targets, results: Sequence[SplitResult], language: Language
) -> Table:
    """Which splits of as many GPUs meet the targets."""
    names = ("split", "batch", "ttft", "tpot", "tokens_per_s", "verdict")
    return Table(
        title=t("splits.heading", language, gpus=timeline.scenario.parallel.world),
        intro=(_standing_text(timeline, targets, language),),
        columns=tuple(
            Column(
                t(f"splits.column.{name}", language),
                "left" if name in {"split", "verdict"} else "right",
            )
            for name in names
        ),
        rows=tuple(_split_row(one, targets, language) for one in results[:MOST_SPLITS]),
        notes=tuple(_split_notes(results, language)),
    )


def _standing_text(timeline: Timeline, targets: Targets, language: Language) -> str:
    """The scenario's own times beside the targets."""
    parts: list[str] = []
    for metric, target_s, here_s in _standing(timeline, targets):
        if here_s is None:
            continue
        key = "splits.met" if here_s <= target_s else "splits.missed"
        parts.append(
            t(
                key,
                language,
                metric=metric.upper(),
                here=format_time(here_s),
                target=format_time(target_s),
                ratio=ratio(target_s / here_s),
            )
        )
    return joined(parts, language)


def _split_row(one: SplitResult, targets: Targets, language: Language) -> tuple[Cell, ...]:
    name = split_name(one.parallel)
    if one.is_own:
        name = t("splits.own", language, split=name)
    return (
        Cell(name),
        Cell(format_count(one.batch)),
        _time(one.ttft_s, targets.ttft_s),
        _time(one.tpot_s, targets.tpot_s),
        Cell(count_or_nothing(one.tokens_per_s and round(one.tokens_per_s))),
        _verdict(one, language),
    )


def _time(found_s: float | None, target_s: float | None) -> Cell:
    """A time, red where it misses its target."""
    misses = found_s is not None and target_s is not None and found_s > target_s
    return Cell(time_or_nothing(found_s), "short" if misses else "")


def _verdict(one: SplitResult, language: Language) -> Cell:
    if one.meets:
        return Cell(t("splits.verdict.meets", language), "ok")
    if not one.fits:
        return Cell(t("splits.verdict.no_room", language), "short")
    missed = [
        name
        for name, meets in (("TTFT", one.meets_ttft), ("TPOT", one.meets_tpot))
        if meets is False
    ]
    return Cell(t("splits.verdict.misses", language, metrics=missed), "short")


def _split_notes(results: Sequence[SplitResult], language: Language) -> list[str]:
    meeting = sum(one.meets for one in results)
    notes = [t("splits.count", language, meeting=meeting, all=len(results))]
    if len(results) > MOST_SPLITS:
        notes.append(t("splits.more", language, count=len(results) - MOST_SPLITS))
    notes.append(t("splits.basis", language))
    return notes
