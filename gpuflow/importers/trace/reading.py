"""One trace, understood: its communication and computing, its layers and steps, what is doubtful.

K  rows of the table on the device that does the work    Q  kernels of its busiest queue
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from gpuflow.importers.trace.blocks import Blocks
from gpuflow.importers.trace.doubt import Doubt
from gpuflow.importers.trace.doubts import (
    collective_doubts,
    device_doubts,
    file_doubts,
    talk_doubts,
)
from gpuflow.importers.trace.head import Head, read_head
from gpuflow.importers.trace.kernels import UNWANTED, KernelTable, Note
from gpuflow.importers.trace.model import recognised
from gpuflow.importers.trace.names import compute_kind, short_name
from gpuflow.importers.trace.overlap import Floats
from gpuflow.importers.trace.phases import Pass, passes_of
from gpuflow.importers.trace.rows import Rows
from gpuflow.importers.trace.steps import Ints, Repeat, find_layers, find_steps, steps_of_spans
from gpuflow.importers.trace.stream import Faults, TraceStream
from gpuflow.importers.trace.talks import Collective, Talk, collectives_of, talks_of
from gpuflow.scenario.model_spec import ModelSpec

ACTIVATION_BYTES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute:
    """All kernels of one kind of computing."""

    kind: str
    count: int
    time_s: float
    longest_kernel: str
    """The name that takes the most time of it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Queue:
    """The kernels of the busiest queue in order, with what communicates on any."""

    names: Ints
    """Q indexes into `texts`."""
    start_s: Floats
    """Q seconds since the first kernel."""
    end_s: Floats
    texts: tuple[str, ...]
    talk: Ints
    """Q indexes into `talks`, -1 for kernels that compute."""
    talks: tuple[Talk, ...]
    """Of all queues."""
    talk_start_s: Floats
    talk_end_s: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A layer or a step that repeats, and how long one takes."""

    repeat: Repeat
    duration_s: float
    """Median, from the start of one to the start of the next."""
    mean_s: float
    """The same in the mean: a pass over a prompt among many of one token counts in full."""
    n_kernels: int
    """Median, of the busiest queue."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reading:
    """One file."""

    file: str
    head: Head
    gpu: str | None
    """Id: the user's, else the file's."""
    faults: Faults
    n_kernels: int = 0
    n_copies: int = 0
    n_bytes: int = 0
    """Unpacked bytes read."""
    start_us: float = 0.0
    """Of the first kernel, on the trace's own clock."""
    span_s: float = 0.0
    """From the first kernel's start to the last one's end."""
    busy_s: float = 0.0
    """While at least one kernel runs, or a copy from GPU to GPU; other copies and fills do not
    count."""
    communication_s: float = 0.0
    """While at least one collective runs."""
    exposed_s: float = 0.0
    """Of that, while nothing computes."""
    collectives: tuple[Collective, ...] = ()
    computes: tuple[Compute, ...] = ()
    host_collectives: tuple[tuple[str, int, float], ...] = ()
    """Collectives of the host, by name: count and seconds."""
    layer: Found | None = None
    step: Found | None = None
    """The step of a server or of training, where there are several."""
    passes: tuple[Pass, ...] = ()
    queue: Queue | None = None
    model: ModelSpec | None = None
    """What ran: the user's, or the one that fits."""
    doubts: tuple[Doubt, ...] = ()
    refused: Doubt | None = None

    @property
    def repeating(self) -> Found | None:
        """The longest part that repeats: the step, or else the layer."""
        return self.step or self.layer

    @property
    def n_steps(self) -> float:
        """Steps in the trace, parts of one included; 1 where it holds one, or nobody can tell."""
        if self.step is None or self.queue is None:
            return float(max(len(self.passes), 1))
        repeat = self.step.repeat
        if repeat.by == "annotation":
            return repeat.count * len(self.queue.names) / (sum(repeat.last) - sum(repeat.first))
        return len(self.queue.names) / self.step.n_kernels

    @property
    def steps_s(self) -> float:
        """How long all steps take, with what lies between; without several, the whole trace."""
        return self.n_steps * self.step.mean_s if self.step is not None else self.span_s


def read_trace(
    file: str,
    gpu: str | None = None,
    model: ModelSpec | None = None,
    on_read: Callable[[int], None] | None = None,
) -> Reading:
    """Read one trace.

    Args:
        file: Its path.
        gpu: Id of the GPU that the user names.
        model: What ran, where the user says so; it makes sizes of tokens.
        on_read: Told how many bytes of the file are behind.

    Raises:
        ImportFormatError: The file cannot be opened.
    """
    blocks = Blocks(file, on_read)
    table = KernelTable()
    stream = TraceStream(blocks, UNWANTED)
    try:
        for event in stream:
            table.add(event)
            if table.is_full:
                break
    finally:
        blocks.close()
    stream.faults.refused = stream.faults.refused or blocks.refused
    head = read_head(stream.head)
    return understand(file, table, head, stream.faults, gpu or head.gpu, model, blocks.n_out)


def understand(
    file: str,
    table: KernelTable,
    head: Head,
    faults: Faults,
    gpu: str | None,
    model: ModelSpec | None,
    n_bytes: int,
) -> Reading:
    """Make sense of what was kept of a file."""
    about = partial(Reading, file=file, head=head, gpu=gpu, faults=faults, n_bytes=n_bytes)
    doubts = [*file_doubts(file, faults, table), *head.doubts]
    host = tuple(
        (name, int(count), 1e-6 * length)
        for name, (count, length) in sorted(table.host_collectives.items())
    )
    if not table.n_kernels:
        missing = Doubt("no_whole_kernel" if table.malformed else "no_kernels")
        doubts += [missing] if faults.refused is None else []
        return about(host_collectives=host, doubts=tuple(doubts), refused=faults.refused)
    rows = Rows(table)
    notes = rows.notes()
    passes = passes_of(notes)
    guess = _guess(table, passes, model.hidden_size if model else None)
    talks = talks_of(table, head.group, rows.is_mine, guess)
    layer, step = _repeats(rows, notes)
    computes = _computes(rows, table)
    doubts += [*device_doubts(rows, head), *talk_doubts(talks, head, rows.n_kernels, model)]
    if model is None and layer is not None:
        n_passes = step.repeat.count if step else max(len(passes), 1)
        has_experts = any(one.kind == "experts" for one in computes)
        n_layers = layer.repeat.count // n_passes
        model, why = recognised(n_layers, table.widths, has_experts=has_experts)
        doubts += why
    exposed = rows.exposed_us(talks)
    collectives = collectives_of(table, talks, exposed.tolist())
    doubts += collective_doubts(collectives)
    doubts += [] if layer or step else [Doubt("no_step")]
    communication = rows.union_of_talks(talks)
    return about(
        n_kernels=rows.n_kernels,
        n_copies=rows.n_copies,
        start_us=rows.origin_us,
        span_s=1e-6 * rows.span_us,
        busy_s=1e-6 * rows.busy_us,
        communication_s=1e-6 * communication.length,
        exposed_s=1e-6 * rows.alone_us(communication),
        collectives=collectives,
        computes=computes,
        host_collectives=host,
        layer=layer,
        step=step,
        passes=passes,
        queue=_queue(rows, table, talks),
        model=model,
        doubts=tuple(doubts),
        refused=faults.refused,
    )


# ---------------------------------------------------------------- parts of the reading


def _computes(rows: Rows, table: KernelTable) -> tuple[Compute, ...]:
    """Computing by kind, most time first; copies and fills are a kind of their own."""
    counted = ~rows.talks
    lengths = 1e-6 * (rows.end - rows.start)
    n_names = len(table.names)
    time_s = np.bincount(rows.name[counted], weights=lengths[counted], minlength=n_names)
    count = np.bincount(rows.name[counted], minlength=n_names)
    kinds: dict[str, list[int]] = {}
    for index in np.flatnonzero(count).tolist():
        kinds.setdefault(compute_kind(table.names[index]), []).append(index)
    found = [
        Compute(
            kind=kind,
            count=int(count[names].sum()),
            time_s=float(time_s[names].sum()),
            longest_kernel=short_name(table.names[max(names, key=lambda i: time_s[i])]),
        )
        for kind, names in kinds.items()
    ]
    return tuple(sorted(found, key=lambda one: -one.time_s))


def _repeats(rows: Rows, notes: Sequence[Note]) -> tuple[Found | None, Found | None]:
    """The layer and the step that repeat on the busiest queue."""
    chosen = rows.busiest()
    names = rows.name[chosen].astype(np.int64)
    start, end = rows.start[chosen], rows.end[chosen]
    layers = find_layers(names)
    spans = [
        (note.start_us, note.end_us)
        for note in notes
        if note.stream >= 0 and not note.name.startswith("nccl:")
    ]
    steps = steps_of_spans(spans, start) or find_steps(names, start, end, layers)
    return _found(layers, start, end), _found(steps, start, end)


def _found(repeat: Repeat | None, start: Floats, end: Floats) -> Found | None:
    if repeat is None:
        return None
    first, last = np.array(repeat.first), np.array(repeat.last)
    lengths = np.diff(start[first]) if len(first) > 1 else end[last - 1] - start[first]
    return Found(
        repeat=repeat,
        duration_s=1e-6 * float(np.median(lengths)),
        mean_s=1e-6 * _whole(start[first], end[last - 1]) / len(first),
        n_kernels=int(np.median(last - first)),
    )


def _whole(start: Floats, end: Floats) -> float:
    """From the first start to where one more would begin."""
    waits = start[1:] - end[:-1]
    return float(end[-1] - start[0] + (np.median(waits) if len(waits) else 0.0))


def _queue(rows: Rows, table: KernelTable, talks: list[Talk]) -> Queue:
    chosen = rows.busiest()
    place_of = {talk.row: place for place, talk in enumerate(talks)}
    is_talk = rows.talks[chosen]
    talk = np.full(int(chosen.sum()), -1, dtype=np.int64)
    talk_start, talk_end = rows.times(talks)
    places = np.flatnonzero(is_talk)
    talk[places] = [place_of.get(row, -1) for row in rows.rows[chosen][places].tolist()]
    return Queue(
        names=rows.name[chosen].astype(np.int64),
        start_s=1e-6 * (rows.start[chosen] - rows.origin_us),
        end_s=1e-6 * (rows.end[chosen] - rows.origin_us),
        texts=tuple(table.names),
        talk=talk,
        talks=tuple(talks),
        talk_start_s=1e-6 * (talk_start - rows.origin_us),
        talk_end_s=1e-6 * (talk_end - rows.origin_us),
    )


def _guess(
    table: KernelTable, passes: Sequence[Pass], hidden_size: int | None
) -> Callable[[int], int | None]:
    """The size of an all_reduce by the tokens of its pass and the model's width."""
    if hidden_size is None or not passes:
        return lambda row: None
    if not passes[0].is_gpu:
        # The host runs ahead: its times say nothing of the GPU's, but equal passes need none.
        counts = {one.tokens for one in passes}
        size = counts.pop() * hidden_size * ACTIVATION_BYTES if len(counts) == 1 else None
        return lambda row: size
    begins = np.array([one.start_us for one in passes])

    def by_pass(row: int) -> int | None:
        at = table.start_us[row]
        place = int(np.searchsorted(begins, at, side="right")) - 1
        if place < 0 or at > passes[place].end_us or not passes[place].tokens:
            return None
        return passes[place].tokens * hidden_size * ACTIVATION_BYTES

    return by_pass
