"""The communication of one trace: of which kind, how many bytes, how long, and what hides it.

A kernel's name says the kind where it can. Where it hides it (RCCL's generic kernel) or says only
half of it (an all_to_all runs as send and receive), the kernel's own arguments decide, then the
operator that launched it, then NCCL's annotation over the same time on the same queue.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import NamedTuple

import numpy as np

from gpuflow.importers.trace.kernels import KernelTable, Note
from gpuflow.importers.trace.messages import Message, message_bytes
from gpuflow.importers.trace.names import Kind, Named, communication, kind_of_words, short_name
from gpuflow.importers.trace.overlap import Floats

_UNNAMED = Named(kind="unknown", library="other")


class Talk(NamedTuple):
    """One kernel that communicates."""

    row: int
    """Of the table."""
    kind: Kind
    ranks: int | None
    size_bytes: int | None
    is_group_assumed: bool
    algorithm: str = ""
    """As the kernel's name has it."""
    is_size_made: bool = False
    """Whether the size is made of tokens and the model's width."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeRow:
    """All messages of one kind and size."""

    size_bytes: int | None
    ranks: int | None
    count: int
    time_s: float
    shortest_s: float
    predicted_s: float | None = None
    """Of all of them together."""
    time_source: str | None = None
    """Where the prediction comes from."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Collective:
    """All kernels of one name that do the same collective."""

    kind: Kind
    kernel: str
    named: Named
    count: int
    time_s: float
    exposed_s: float
    """Of that, while nothing computes on the GPU."""
    shortest_s: float
    median_s: float
    longest_s: float
    sizes: tuple[SizeRow, ...]
    """By size, unknown ones last."""
    times_s: Floats
    """Of each kernel, in the order in which they ran."""

    @property
    def bytes(self) -> int | None:
        """Of all messages; None where the size of any is unknown."""
        known = [row.size_bytes * row.count for row in self.sizes if row.size_bytes is not None]
        return sum(known) if len(known) == len(self.sizes) and known else None

    @property
    def predicted_s(self) -> float | None:
        """Of all messages; None where any cannot be predicted."""
        known = [row.predicted_s for row in self.sizes if row.predicted_s is not None]
        return sum(known) if len(known) == len(self.sizes) and known else None


class Annotations:
    """NCCL's annotations on the GPU, asked for the one over a kernel."""

    def __init__(self, notes: Sequence[Note]) -> None:
        self._by_stream: dict[int, list[Note]] = {}
        for note in sorted(notes, key=lambda note: note.start_us):
            if note.stream >= 0 and note.name.startswith("nccl:"):
                self._by_stream.setdefault(note.stream, []).append(note)

    def kind_at(self, stream: int, middle_us: float) -> Kind:
        """The collective that runs on a queue at a time."""
        found = self._by_stream.get(stream, [])
        place = bisect_right(found, middle_us, key=lambda note: note.start_us) - 1
        if place >= 0 and middle_us <= found[place].end_us:
            return kind_of_words(found[place].name)
        return "unknown"


def talks_of(
    table: KernelTable,
    group: int | None,
    rows: Callable[[int], bool],
    guessed_bytes: Callable[[int], int | None],
) -> list[Talk]:
    """The communicating kernels in the order in which they ran, understood.

    Args:
        table: The trace.
        group: Ranks of the group, where a kernel does not say.
        rows: Which rows of the table count.
        guessed_bytes: The size of an all_reduce that nothing in the trace tells.
    """
    notes = Annotations(table.notes)
    found: list[Talk] = []
    for row, place, identity in zip(
        table.talks, table.talk_message, table.talk_external, strict=True
    ):
        if not rows(row):
            continue
        place = place if place >= 0 else table.operators.get(identity, -1)
        message = table.messages[place] if place >= 0 else None
        named = communication(table.names[table.name[row]]) or _UNNAMED
        middle = table.start_us[row] + table.length_us[row] / 2
        annotated = partial(notes.kind_at, table.stream[row], middle)
        kind = _kind(named, message, annotated)
        said = (message.ranks if message else None) or named.ranks
        ranks = said or group
        size = message_bytes(kind, message, ranks) if message else None
        is_made = size is None and kind == "all_reduce"
        if is_made:
            size = guessed_bytes(row)
        is_made = is_made and size is not None
        found.append(Talk(row, kind, ranks, size, said is None, named.algorithm, is_made))
    return sorted(found, key=lambda talk: table.start_us[talk.row])


def _kind(named: Named, message: Message | None, annotated: Callable[[], Kind]) -> Kind:
    """The collective, by the one who knows best."""
    said: Kind = message.kind if message is not None else "unknown"
    if named.kind == "unknown":
        return said if said != "unknown" else annotated()
    if named.kind == "send_recv" and named.library in {"nccl", "rccl"}:
        inner = said if said != "unknown" else annotated()
        return inner if inner in {"all_to_all", "gather", "scatter", "all_gather"} else "send_recv"
    return "barrier" if said == "barrier" else named.kind


def collectives_of(
    table: KernelTable, talks: Sequence[Talk], exposed_us: Sequence[float]
) -> tuple[Collective, ...]:
    """Kernels of like kind and name together, most time first."""
    groups: dict[tuple[Kind, str], list[int]] = {}
    for place, talk in enumerate(talks):
        key = (talk.kind, table.names[table.name[talk.row]])
        groups.setdefault(key, []).append(place)
    joined: dict[tuple[Kind, str], list[int]] = {}
    names: dict[tuple[Kind, str], str] = {}
    for (kind, name), places in groups.items():
        short = (kind, short_name(name))
        joined.setdefault(short, []).extend(places)
        names.setdefault(short, name)
    found = [
        _collective(table, [talks[p] for p in places], names[key], key, exposed_us, places)
        for key, places in joined.items()
    ]
    return tuple(sorted(found, key=lambda one: -one.time_s))


def _collective(
    table: KernelTable,
    talks: Sequence[Talk],
    name: str,
    key: tuple[Kind, str],
    exposed_us: Sequence[float],
    places: Sequence[int],
) -> Collective:
    order = sorted(range(len(talks)), key=lambda place: table.start_us[talks[place].row])
    talks = [talks[place] for place in order]
    lengths = [table.length_us[talk.row] / 1e6 for talk in talks]
    sizes: dict[tuple[int | None, int | None], list[float]] = {}
    for talk, length in zip(talks, lengths, strict=True):
        sizes.setdefault((talk.size_bytes, talk.ranks), []).append(length)
    rows = [
        SizeRow(
            size_bytes=size,
            ranks=ranks,
            count=len(times),
            time_s=sum(times),
            shortest_s=min(times),
        )
        for (size, ranks), times in sizes.items()
    ]
    return Collective(
        kind=key[0],
        kernel=key[1],
        named=communication(name) or _UNNAMED,
        count=len(talks),
        time_s=sum(lengths),
        exposed_s=1e-6 * sum(exposed_us[place] for place in places),
        shortest_s=min(lengths),
        median_s=median(lengths),
        longest_s=max(lengths),
        sizes=tuple(sorted(rows, key=lambda row: (row.size_bytes is None, row.size_bytes or 0))),
        times_s=np.array(lengths),
    )
