"""Why two scenarios differ, in sentences: which work or message, and what binds it."""

from __future__ import annotations

from collections.abc import Mapping

from gpuflow.engine.comparison import Cause, Comparison, Messages, Work
from gpuflow.exporters.tables import NOTHING
from gpuflow.scenario.spec import Language, Phase, Scenario
from gpuflow.units import (
    format_bytes,
    format_count,
    format_flop,
    format_flops,
    format_rate,
    format_share,
    format_time,
)
from gpuflow.words import t

METRIC_OF: Mapping[Phase, str] = {"prefill": "TTFT", "decode": "TPOT"}


def signed_share(share: float) -> str:
    """A share with its sign.

    Example:
        >>> signed_share(0.125), signed_share(-0.4), signed_share(0.0)
        ('+12.5 %', '−40 %', '0 %')
    """
    return _signed(share, format_share(abs(share)))


def signed_time(time_s: float) -> str:
    """A time with its sign.

    Example:
        >>> signed_time(-1.5e-3)
        '−1.5 ms'
    """
    return _signed(time_s, format_time(abs(time_s)))


def _signed(value: float, text: str) -> str:
    return text if not value else f"{'+' if value > 0 else '−'}{text}"


def part_text(cause: Cause, language: Language) -> str:
    """A part of the time by its name: what binds it, and whose traffic it is."""
    text = t(f"compare.bound.{cause.bound}", language)
    if cause.traffic_class is None:
        return text
    name = t(f"class.{cause.traffic_class}", language)
    if not name.isascii():
        # Between two Chinese words stands no blank.
        return f"{name}{text}"
    return t("compare.bound.of_class", language, name=name, bound=text)


def reason(cause: Cause, found: Comparison, language: Language) -> str:
    """Why a part of the time differs."""
    values: dict[str, object] = {
        "part": part_text(cause, language),
        "metric": METRIC_OF[cause.phase],
        "a_time": format_time(cause.a_s),
        "b_time": format_time(cause.b_s),
        "difference": signed_time(cause.difference_s),
        "share": signed_share(cause.share),
    }
    if cause.traffic_class is not None:
        return _message_reason(cause, values, language)
    a_work, b_work = found.work[cause.phase]
    if cause.bound in {"memory", "arithmetic"}:
        values |= {
            "a_work": _work_text(cause, a_work, language),
            "b_work": _work_text(cause, b_work, language),
        }
    if cause.bound == "overhead":
        values |= {
            "a_layers": format_count(_layers(found.a.scenario)),
            "b_layers": format_count(_layers(found.b.scenario)),
        }
    return t(f"compare.reason.{cause.bound}", language, **values)


def _layers(scenario: Scenario) -> int:
    return len(scenario.model.layers)


def _work_text(cause: Cause, work: Work, language: Language) -> str:
    if cause.bound == "memory":
        return t(
            "compare.work.memory",
            language,
            size=format_bytes(work.read_bytes),
            rate=format_rate(work.memory_bytes_per_s),
        )
    return t(
        "compare.work.arithmetic",
        language,
        flop=format_flop(work.flop),
        peak=format_flops(work.peak_flop_per_s),
    )


def _message_reason(cause: Cause, values: dict[str, object], language: Language) -> str:
    a, b = cause.a_messages, cause.b_messages
    if a is None or b is None:
        there = a or b
        key = "compare.reason.only_a" if b is None else "compare.reason.only_b"
        return t(key, language, messages=_messages_text(there, cause, language), **values)
    text = t(
        "compare.reason.messages",
        language,
        a_messages=_messages_text(a, cause, language),
        b_messages=_messages_text(b, cause, language),
        **values,
    )
    if a.time_source == b.time_source:
        return text
    sources = [t(f"time_source.{one.time_source}", language) for one in (a, b)]
    return text + t("compare.sources", language, a=sources[0], b=sources[1])


def _messages_text(messages: Messages | None, cause: Cause, language: Language) -> str:
    if messages is None:
        return NOTHING
    return t(
        "compare.messages.latency" if cause.bound == "latency" else "compare.messages.bandwidth",
        language,
        count=format_count(messages.count),
        collective=messages.collective,
        size=format_bytes(messages.size_bytes),
        ranks=messages.ranks,
        fabric=messages.fabric,
        floor=format_time(messages.floor_s),
    )
