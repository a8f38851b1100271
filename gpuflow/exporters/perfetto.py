"""A timeline as a Chrome trace that Perfetto opens: a track for each GPU and each link.

The form is the Trace Event Format (JSON): times in microseconds, here to the nanosecond. Three
processes: the steps, the GPUs, the links. A slice of a link says in `args.bytes` what the message
puts on it, so that a sum over the slices of category `link` is what `gpuflow estimate` says;
counters hold the KV cache of each GPU and the rate of each link; arrows lead from a GPU to the
links it sends on, from links to the GPU they end at, and from the sender of a send to its receiver.
Names of categories, slices and arguments are the same in every language.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from gpuflow.cluster.mesh import mesh_of
from gpuflow.draw.scene import step_texts
from gpuflow.engine.cache import CacheFill
from gpuflow.engine.link_traffic import FabricTraffic, fabric_traffic, message_of
from gpuflow.engine.timeline import Span, Timeline
from gpuflow.errors import InputError, Problem
from gpuflow.exporters.timeline import span_record
from gpuflow.scenario.spec import Language, Phase
from gpuflow.words import t

MOST_EVENTS = 1_000_000
"""More than that no viewer opens with pleasure."""
STEPS, GPUS, LINKS = 1, 2, 3
"""Process numbers."""
_EVENTS_A_LINK = 5
"""Of one message on one link, at most: a slice, an arrow's two ends, two values of the rate."""

Event = dict[str, object]


def perfetto(timeline: Timeline, language: Language, inputs: Mapping[str, object]) -> str:
    """The whole trace, one event a line; the same every time.

    Args:
        timeline: What is shown: one prefill pass, one decode lap, and the folds.
        language: Of the steps' titles.
        inputs: The options as they came out, written beside the events.

    Raises:
        InputError: It would have more than `MOST_EVENTS` events.
    """
    trace = _Trace(timeline)
    _refuse_if_large(trace)
    events = [
        *_names(trace, language),
        *_steps(timeline, language),
        *_spans(trace),
        *_caches(timeline),
        *_rates(trace),
    ]
    beside = {
        "schema": "gpuflow/perfetto/1",
        "inputs": inputs,
        "ttft_s": timeline.ttft_s,
        "tpot_s": timeline.tpot_s if timeline.laps else None,
    }
    lines = ",\n".join(_json(event) for event in events)
    return f'{{"displayTimeUnit":"ns","otherData":{_json(beside)},"traceEvents":[\n{lines}\n]}}'


def _json(value: object) -> str:
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("\x7f", "\\u007f")  # the one control character that JSON lets through


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)


def _slice(pid: int, tid: int, start_s: float, end_s: float, **more: object) -> Event:
    """A complete event; its end is rounded, not its length, so that neighbours never overlap."""
    start, end = _ns(start_s), _ns(end_s)
    return {
        "ph": "X",
        "pid": pid,
        "tid": tid,
        "ts": start / 1e3,
        "dur": (end - start) / 1e3,
        **more,
    }


# ---------------------------------------------------------------- what the links carry


@dataclass(frozen=True, slots=True)
class _Load:
    """What one span puts on the links."""

    span: Span
    category: str
    """link; other_laps for the laps beyond the one that `estimate` counts."""
    carried: Mapping[int, float]
    """Bytes by link."""
    seconds: float
    """While the links are busy, whether computing hides it or not."""


@dataclass
class _Trace:
    """A timeline with what its spans put on the fabric."""

    timeline: Timeline
    traffic: FabricTraffic = field(init=False)
    loads: list[_Load] = field(init=False)
    links: list[int] = field(init=False)
    """Those that carry anything, in the order of their ends' names."""

    def __post_init__(self) -> None:
        self.traffic = fabric_traffic(self.timeline)
        self.loads = list(self._loads())
        self.links = sorted({link for load in self.loads for link in load.carried})

    def _loads(self) -> Iterator[_Load]:
        by_message = {
            one.message: {
                int(link): float(one.carried[link]) for link in np.flatnonzero(one.carried)
            }
            for one in self.traffic.messages
        }
        for span in self.timeline.spans:
            message = message_of(span)
            if message is not None:
                yield _Load(span, "link", by_message[message], message.time_s)
            elif span.kind == "fold":
                is_lap = span.fold == "laps"
                phase: Phase = "prefill" if span.fold == "passes" else "decode"
                times = span.repeats * (self._turns if is_lap else 1)
                carried = times * self.traffic.carried(phase)
                found = {int(link): float(carried[link]) for link in np.flatnonzero(carried)}
                yield _Load(span, "other_laps" if is_lap else "link", found, span.duration_s)

    @property
    def _turns(self) -> int:
        """Groups of sequences that take turns in a lap."""
        pipelining = self.timeline.pipelining
        return pipelining.micro_batches if pipelining is not None else 1

    def ends(self, link: int) -> tuple[str, str]:
        """Names of what a link joins."""
        return self.traffic.fabric.link_ends(link)


def _refuse_if_large(trace: _Trace) -> None:
    on_links = _EVENTS_A_LINK * sum(len(load.carried) for load in trace.loads)
    on_gpus = sum(len(group) for span in trace.timeline.spans for group in span.groups)
    if on_links + on_gpus > MOST_EVENTS:
        values = {"events": on_links + on_gpus, "most": MOST_EVENTS}
        raise InputError([Problem(code="export_too_large", key="--to", values=values)])


# ---------------------------------------------------------------- tracks


def _names(trace: _Trace, language: Language) -> Iterator[Event]:
    """What processes and tracks are called, and in which order they stand."""
    for pid, name in ((STEPS, "steps"), (GPUS, "gpus"), (LINKS, "links")):
        yield _named("process", pid, 0, t(f"perfetto.{name}", language))
        yield _placed("process", pid, 0)
    yield _named("thread", STEPS, 1, t("perfetto.steps", language))
    mesh = mesh_of(trace.timeline.scenario)
    for rank in range(mesh.n_ranks):
        yield _named("thread", GPUS, rank + 1, f"gpu{rank}")
        yield _placed("thread", GPUS, rank + 1)
    for link in trace.links:
        yield _named("thread", LINKS, link + 1, _link_name(trace, link))
        yield _placed("thread", LINKS, link + 1)


def _named(what: str, pid: int, tid: int, name: str) -> Event:
    return {"ph": "M", "pid": pid, "tid": tid, "name": f"{what}_name", "args": {"name": name}}


def _placed(what: str, pid: int, tid: int) -> Event:
    place = pid if what == "process" else tid
    key = f"{what}_sort_index"
    return {"ph": "M", "pid": pid, "tid": tid, "name": key, "args": {"sort_index": place}}


def _link_name(trace: _Trace, link: int) -> str:
    return " -> ".join(trace.ends(link))


def _steps(timeline: Timeline, language: Language) -> Iterator[Event]:
    """Prefill and the decode lap, the steps inside them, and what is folded."""
    parts: list[tuple[Phase, float, float]] = [("prefill", 0.0, timeline.ttft_s)]
    if timeline.laps:
        parts.append(("decode", timeline.ttft_s, timeline.ttft_s + timeline.tpot_s))
    for phase, start_s, end_s in parts:
        seconds = {"ttft_s" if phase == "prefill" else "tpot_s": end_s - start_s}
        yield _slice(STEPS, 1, start_s, end_s, name=phase, cat="phase", args=seconds)
        for step in timeline.steps:
            if step.phase == phase and not step.is_idle:
                args = {
                    "number": step.index + 1,
                    "title": step_texts(timeline, step.index, language).title,
                    "compute_s": step.compute_s,
                    "communication_s": step.communication_s,
                    "host_s": step.host_s,
                }
                yield _slice(
                    STEPS, 1, step.start_s, step.end_s, name=step.id, cat="step", args=args
                )
    for span in timeline.spans:
        if span.kind == "fold":
            args = {"fold": span.fold, "repeats": span.repeats}
            name = f"other {span.fold}"
            yield _slice(STEPS, 1, span.start_s, span.end_s, name=name, cat="fold", args=args)


# ---------------------------------------------------------------- slices and arrows


def _spans(trace: _Trace) -> Iterator[Event]:
    """The work of each GPU, the messages on each link, and the arrows between them."""
    loads = {load.span.index: load for load in trace.loads}
    arrows = 0
    for span in trace.timeline.spans:
        name = span.part or span.collective or span.host_action or f"other {span.fold}"
        args = _args(span, trace.timeline)
        for rank in sorted({rank for group in span.groups for rank in group}):
            yield _slice(
                GPUS, rank + 1, span.start_s, span.end_s, name=name, cat=span.kind, args=args
            )
        load = loads.get(span.index)
        if load is None:
            continue
        for link, size in load.carried.items():
            yield _slice(
                LINKS,
                link + 1,
                span.start_s,
                span.end_s,
                name=name,
                cat=load.category,
                args={**args, "bytes": size},
            )
        for tail, head in _arrows(trace, load):
            arrows += 1
            yield from _arrow(arrows, span, tail, head)


def _args(span: Span, timeline: Timeline) -> Event:
    """What a slice says about its span, without what does not apply to it."""
    left_out = {"start_s", "end_s", "duration_s", "groups"}
    record = span_record(span, timeline)
    return {
        key: value for key, value in record.items() if key not in left_out and value is not None
    }


_Track = tuple[int, int]
"""Process and thread."""


def _arrows(trace: _Trace, load: _Load) -> Iterator[tuple[_Track, _Track]]:
    """Which track leads to which while a message is on its way."""
    span = load.span
    ranks = {rank for group in span.groups for rank in group}
    if span.kind == "send":
        for sender, receiver in span.groups:
            yield (GPUS, sender + 1), (GPUS, receiver + 1)
    for link in load.carried:
        source, destination = trace.ends(link)
        if _rank(source) in ranks:
            yield (GPUS, int(source[3:]) + 1), (LINKS, link + 1)
        if _rank(destination) in ranks:
            yield (LINKS, link + 1), (GPUS, int(destination[3:]) + 1)


def _rank(vertex: str) -> int | None:
    number = vertex.removeprefix("gpu")
    return int(number) if number != vertex else None


def _arrow(number: int, span: Span, tail: _Track, head: _Track) -> Iterator[Event]:
    """Both ends of an arrow, inside the slices they belong to."""
    start, end = _ns(span.start_s), _ns(span.end_s)
    last = max(start, end - 1)
    for kind, (pid, tid), place in (("s", tail, start), ("f", head, last)):
        event: Event = {"ph": kind, "id": number, "pid": pid, "tid": tid, "ts": place / 1e3}
        yield {**event, "name": "transfer", "cat": "flow", **({"bp": "e"} if kind == "f" else {})}


# ---------------------------------------------------------------- counters


def _caches(timeline: Timeline) -> Iterator[Event]:
    """KV bytes of each GPU wherever they change."""
    fill, mesh = CacheFill(timeline), mesh_of(timeline.scenario)
    times = sorted({0.0, *(s for span in timeline.spans for s in (span.start_s, span.end_s))})
    for stage in range(timeline.scenario.parallel.pp):
        held: float | None = None
        for time_s in times:
            now = fill.bytes_at(stage, time_s)
            if now == held:
                continue
            held = now
            for rank in mesh.stage_ranks(stage):
                yield _counter(GPUS, f"gpu{rank} KV cache", time_s, "bytes", now)


def _rates(trace: _Trace) -> Iterator[Event]:
    """Bytes a second of each link, from each message's first byte to its last."""
    rates: dict[int, list[tuple[float, float]]] = {link: [] for link in trace.links}
    for load in trace.loads:
        for link, size in load.carried.items():
            points = rates[link]
            if points and _ns(points[-1][0]) == _ns(load.span.start_s):
                points.pop()
            points.append((load.span.start_s, size / load.seconds if load.seconds else 0.0))
            points.append((load.span.end_s, 0.0))
    for link, points in rates.items():
        for time_s, rate in points:
            name = f"{_link_name(trace, link)} rate"
            yield _counter(LINKS, name, time_s, "bytes_per_s", rate)


def _counter(pid: int, name: str, time_s: float, key: str, value: float) -> Event:
    return {"ph": "C", "pid": pid, "name": name, "ts": _ns(time_s) / 1e3, "args": {key: value}}
