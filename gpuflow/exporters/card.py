"""The card of a scenario: one screen of plain text to paste anywhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gpuflow.cells import clip, pad, sanitise
from gpuflow.cluster.mesh import mesh_of
from gpuflow.draw.wrap import wrap
from gpuflow.engine.bottleneck import Part
from gpuflow.engine.card import Card
from gpuflow.engine.changes import HARDWARE, Change
from gpuflow.engine.wire import MessageKind
from gpuflow.exporters.plain import split_text
from gpuflow.exporters.tables import NOTHING
from gpuflow.scenario import catalog
from gpuflow.scenario.spec import Language, Phase
from gpuflow.units import (
    format_bit_rate,
    format_bytes,
    format_count,
    format_rate,
    format_time,
)
from gpuflow.words import t

WIDTH, HEIGHT = 80, 24
_LABEL, _COLUMNS = 17, (6, 10, 6, 9, 10, 6, 10, 6)
"""Cells of the first column, and of the others."""
_MINOR = frozenset({"input", "token", "output", "logits", "kv"})
"""Classes that share one row."""
_LEAST_ROWS = 2
_LEAST_SHARE = 0.005
"""Of a pass; what takes less is not worth a word."""
_INDENT = 2
_UNIT = re.compile(r"(?<=\d) (?=(?:[KMGT]iB|B|[nµm]?s|%)(?![A-Za-z]))")
_TIE = "\ue000"
"""Stands for the blank before a unit while lines are folded."""


def card_text(card: Card, notes: Sequence[str], language: Language) -> tuple[str, list[str]]:
    """The card as text, at most 80 cells wide and 24 lines high.

    Args:
        card: The figures.
        notes: Further sentences, the most important first.
        language: In which language.

    Returns:
        The text, and the sentences that found no room on it.
    """
    top = [*map(sanitise, _setup(card, language)), "-" * WIDTH]
    bottom = ["-" * WIDTH, *_conclusions(card, language)]
    phases: list[Phase] = ["prefill", "decode"] if card.timeline.laps else ["prefill"]
    room = HEIGHT - len(top) - len(bottom) - 1 - len(phases)
    most = max(room // len(phases), _LEAST_ROWS)
    middle = [_heads(language, is_overlapping=card.timeline.scenario.workload.overlap)]
    for phase in phases:
        middle.append(_time_line(card, phase, language))
        middle += _rows([kind for kind in card.kinds if kind.phase == phase], most, language)
    lines = [*top, *middle, *bottom]
    left = list(notes)
    while left:
        folded = _hanging(left[0])
        if len(lines) + len(folded) > HEIGHT:
            break
        lines += folded
        left.pop(0)
    return "\n".join(clip(line, WIDTH).rstrip() for line in lines[:HEIGHT]), left


# ---------------------------------------------------------------- what was asked


def _setup(card: Card, language: Language) -> list[str]:
    scenario = card.timeline.scenario
    cluster, workload = scenario.cluster, scenario.workload
    nodes = mesh_of(scenario).n_nodes
    machines = t(
        "card.machines" if nodes == 1 else "card.machines_nodes",
        language,
        gpus=format_count(scenario.parallel.world),
        gpu=cluster.device.title,
        nodes=format_count(nodes),
    )
    overlap = t("card.overlap", language) if workload.overlap else ""
    asked = t(
        "card.workload",
        language,
        batch=format_count(workload.batch),
        prompt=format_count(workload.prompt_tokens),
        output=format_count(workload.output_tokens),
    )
    profile = t("card.profile", language, profile=scenario.profile.title.in_language(language))
    inside = f"{cluster.scale_up.title} {format_rate(cluster.scale_up.link_bandwidth_bytes_per_s)}"
    links = [inside]
    if nodes > 1:
        rate = format_bit_rate(cluster.scale_out.link_bandwidth_bytes_per_s)
        links.append(f"{cluster.scale_out.title} {rate}")
    bits = scenario.cache_bits
    cache = t("card.cache", language, bits=bits) if bits else ""
    model = f"{scenario.model.title} {scenario.precision}{cache}"
    return [
        f"{model} · {machines} · {split_text(scenario, language)}",
        f"{asked}{overlap} · {profile}",
        t("card.links", language, links=" · ".join(links)),
    ]


# ---------------------------------------------------------------- time and traffic


def _heads(language: Language, *, is_overlapping: bool) -> str:
    time = "exposed" if is_overlapping else "time"
    names = ("ranks", "message", "count", time, "gpu", "rate", "nic", "rate")
    return _line("", [t(f"card.column.{name}", language) for name in names])


def _line(label: str, cells: Sequence[str]) -> str:
    return pad(label, _LABEL) + "".join(
        pad(cell, width, "right") for cell, width in zip(cells, _COLUMNS, strict=True)
    )


def _time_line(card: Card, phase: Phase, language: Language) -> str:
    """TTFT or TPOT with the shares of what the time goes into."""
    timeline = card.timeline
    whole = timeline.pass_s(phase)
    shares: dict[str, float] = {}
    for part in card.parts[phase]:
        shares[_group(part)] = shares.get(_group(part), 0.0) + part.seconds
    ordered = sorted(shares.items(), key=lambda item: -item[1])
    listed = [
        f"{t(f'card.share.{name}', language)} {_percent(seconds / whole)}"
        for name, seconds in ordered
        if whole and seconds / whole >= _LEAST_SHARE
    ]
    is_prefill = phase == "prefill"
    name = "TTFT" if is_prefill else "TPOT"
    text = f"{name} {format_time(timeline.ttft_s if is_prefill else timeline.tpot_s)}"
    if not is_prefill:
        workload, dp = timeline.scenario.workload, timeline.scenario.parallel.dp
        rate = format_count(round(workload.batch * dp / timeline.tpot_s))
        text += t("card.rate", language, rate=rate)
    return f"{text} = {' + '.join(listed)}"


def _percent(share: float) -> str:
    """A share in whole per cent."""
    return f"{100 * share:.0f} %"


def _rounded(count: int) -> str:
    """A count to three digits."""
    scale = 10 ** max(len(str(count)) - 3, 0)
    return format_count(count // scale * scale)


def _group(part: Part) -> str:
    """What a part counts under where only its owner is told apart."""
    if part.traffic_class is None:
        return "overhead" if part.resource == "overhead" else "computing"
    return "other" if part.traffic_class in _MINOR else part.traffic_class


@dataclass(frozen=True, slots=True)
class _Sum:
    """Kinds of messages that share a row."""

    label: str
    kinds: tuple[MessageKind, ...]


def _rows(kinds: list[MessageKind], most: int, language: Language) -> list[str]:
    """Rows of a phase's messages, the ones that take least time together in the last."""
    major = [kind for kind in kinds if kind.traffic_class not in _MINOR]
    minor = [kind for kind in kinds if kind.traffic_class in _MINOR]
    major.sort(key=lambda kind: -kind.time_s)
    while len(major) + bool(minor) > most:
        minor.insert(0, major.pop())
    rows = [_Sum(_label(kind, language), (kind,)) for kind in major]
    if len(minor) == 1:
        rows.append(_Sum(_label(minor[0], language), tuple(minor)))
    elif minor:
        label = t("card.others", language, count=len(minor))
        rows.append(_Sum(label, tuple(minor)))
    if not rows:
        return [t("card.no_messages", language)]
    return [_row(row) for row in rows]


def _label(kind: MessageKind, language: Language) -> str:
    name = kind.collective
    if kind.payload in {"dispatch", "combine"}:
        name = f"a2a {kind.payload}"
    return f"{t(f'class.{kind.traffic_class}', language)} {name}"


def _row(row: _Sum) -> str:
    kinds = row.kinds
    seconds = sum(kind.time_s for kind in kinds)
    nic = [kind.nic_bytes for kind in kinds if kind.nic_bytes is not None]
    one = kinds[0] if len(kinds) == 1 else None
    cells = [
        format_count(one.ranks) if one else "",
        format_bytes(one.message_size_bytes) if one else "",
        format_count(sum(kind.messages for kind in kinds)),
        format_time(seconds),
        format_bytes(sum(kind.gpu_bytes for kind in kinds)),
        _gigabits(one.gpu_bytes_per_s) if one else "",
        format_bytes(sum(nic)) if nic else NOTHING,
        _gigabits(one.nic_bytes_per_s) if one else "",
    ]
    return _line(row.label, cells)


def _gigabits(rate_bytes_per_s: float | None) -> str:
    if rate_bytes_per_s is None:
        return NOTHING
    gigabits = 8 * rate_bytes_per_s / 1e9
    return f"{gigabits:.1f}" if gigabits < 9.95 else f"{gigabits:.0f}"


# ---------------------------------------------------------------- conclusions


def _conclusions(card: Card, language: Language) -> list[str]:
    lines: list[str] = []
    for key, text in (
        ("bottleneck", _bottleneck(card, language)),
        ("memory", _memory(card, language)),
        ("change", _changes(card, language)),
    ):
        lines += _hanging(t(f"card.{key}", language) + text)
    return lines


def _hanging(sentence: str) -> list[str]:
    """A sentence folded, its later lines set in."""
    text = _UNIT.sub(_TIE, sanitise(sentence))
    first, *rest = wrap(text, WIDTH)
    lines = [first]
    if rest:
        tail = text.removeprefix(first).lstrip()
        lines += [" " * _INDENT + part for part in wrap(tail, WIDTH - _INDENT)]
    return [line.replace(_TIE, " ") for line in lines]


def _bottleneck(card: Card, language: Language) -> str:
    found: list[str] = []
    phases: tuple[Phase, Phase] = ("decode", "prefill")
    for phase in phases:
        parts, whole = card.parts[phase], card.timeline.pass_s(phase)
        if parts and whole:
            cause = cause_text(parts[0], language)
            share = _percent(parts[0].seconds / whole)
            found.append(t(f"card.bottleneck.{phase}", language, cause=cause, share=share))
    return ("；" if language == "zh" else "; ").join(found)


def cause_text(part: Part, language: Language) -> str:
    """What a part of the time is spent on."""
    if part.traffic_class is None:
        return t(f"card.cause.{part.resource}", language)
    owner = t(f"class.{part.traffic_class}", language)
    return t(f"card.cause.{part.resource}", language, owner=owner)


def _memory(card: Card, language: Language) -> str:
    memory = card.memory
    text = t(
        "card.memory.held",
        language,
        device=format_bytes(memory.device_bytes),
        weights=format_bytes(memory.weights_bytes),
        kv=format_bytes(memory.kv_bytes),
        working=format_bytes(memory.activations_bytes),
    )
    if memory.pool_bytes <= 0:
        return text + t("card.memory.none", language, short=format_bytes(-memory.pool_bytes))
    key = "card.memory.room" if memory.fits else "card.memory.short"
    return text + t(
        key,
        language,
        pool=format_bytes(memory.pool_bytes),
        tokens=_rounded(memory.pool_tokens),
        requests=format_count(memory.requests),
        length=format_count(memory.request_tokens),
    )


def _changes(card: Card, language: Language) -> str:
    told: list[str] = []
    if card.best is not None:
        told.append(change_text(card, card.best, language))
    if card.second is not None:
        where = "others" if card.second.kind in HARDWARE else "own"
        text = change_text(card, card.second, language, is_short=True)
        told.append(t(f"card.change.{where}", language, change=text))
    if card.smallest is not None:
        p = card.smallest
        split = f"TP {p.tp} × PP {p.pp}" + (f" × DP {p.dp}" if p.dp > 1 else "")
        told.append(t("card.change.smallest", language, split=split, gpus=format_count(p.world)))
    if card.batch is not None:
        told.append(
            t(
                "card.change.more",
                language,
                what=_what(card, card.batch, language),
                rate=format_count(round(card.batch.tokens_per_s or 0.0)),
                tpot=format_time(card.batch.tpot_s or 0.0),
            )
        )
    if not told:
        return t("card.change.none", language)
    return ("；" if language == "zh" else "; ").join(told)


def change_text(card: Card, change: Change, language: Language, *, is_short: bool = False) -> str:
    """A change and what it gives, in one sentence; a short one leaves TTFT and TPOT out."""
    saved = change.gain(card.timeline)
    text = t(
        "card.change.gives",
        language,
        what=_what(card, change, language),
        before=format_time(card.timeline.end_s),
        after=format_time(change.answer_s),
        saved=("−" if saved >= 0 else "+") + _percent(abs(saved)),
    )
    if change.tpot_s is None or is_short:
        return text
    return text + t(
        "card.change.times",
        language,
        ttft=format_time(change.ttft_s),
        tpot=format_time(change.tpot_s),
    )


def _what(card: Card, change: Change, language: Language) -> str:
    p = change.parallel
    value = change.value
    if change.kind in {"split", "gpus"}:
        value = f"TP {p.tp} × PP {p.pp}" + (f" × DP {p.dp}" if p.dp > 1 else "")
    elif change.kind == "gpu":
        value = catalog.device(change.value).title
    elif change.kind in {"link", "nic"}:
        cluster = card.timeline.scenario.cluster
        value = (cluster.scale_up if change.kind == "link" else cluster.scale_out).title
    gpus = format_count(p.world)
    return t(f"card.change.{change.kind}", language, value=value, gpus=gpus)
