"""What is kept of a trace's events: a row of numbers for each kernel, and little besides.

A kernel takes 28 bytes here and some hundred in the file. What could grow without bound in a
hostile file (names, streams, annotations, operators) is bounded.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping
from typing import NamedTuple, TypeGuard

from gpuflow.importers.trace.messages import (
    MOST_ITEMS,
    Message,
    matrix_widths,
    noted_message,
    shaped_message,
)
from gpuflow.importers.trace.names import communication
from gpuflow.importers.trace.stream import Event

MOST_KERNELS = 4_000_000
"""Rows in memory; they take 110 MB."""
MOST_NAMES = 20_000
MOST_NAME_CHARACTERS = 2**20
"""Of all names together; the largest traces have some 200,000."""
MOST_STREAMS = 4096
MOST_NOTES = 300_000
"""Annotations, and operators that communicate."""
MOST_WIDTHS = 64
LONGEST_NAME = 1024
OTHER_NAME = "(other names)"

_GPU_WORK = frozenset({"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"})
_ANNOTATIONS = frozenset({"gpu_user_annotation", "user_annotation"})
_OPERATORS = frozenset({"cpu_op", "operator"})
_LEFT_OUT = frozenset(
    {
        "python_function",
        "ac2g",
        "async_cpu_to_gpu",
        "async_gpu",
        "cuda_runtime",
        "cuda_driver",
        "runtime",
        "fwdbwd",
        "forward_backward",
        "overhead",
        "cpu_instant_event",
        "cuda_sync",
        "trace",
    }
)
"""Categories of which nothing is used."""
_COMMUNICATES = re.compile(
    r"record_param_comms|c10d::|symm_mem::|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all",
    re.IGNORECASE,
)
_BLANKS = rb"[ \t\r\n]*"
UNWANTED = re.compile(
    _BLANKS.join((b"", rb'"\w"', b",", rb'"cat"', b":", b'"'))
    + rb"(?i:(?:"
    + "|".join(sorted(_LEFT_OUT)).encode()
    + rb')"|(?:'
    + "|".join(sorted(_OPERATORS)).encode()
    + b')"'
    + _BLANKS.join((b"", b",", rb'"name"', b":", b'"'))
    + rb'(?![^"]{0,200}?(?:'
    + _COMMUNICATES.pattern.encode()
    + rb")))"
)
"""How events go on behind `"ph":` of which nothing is used: their category, or the operator's name;
in Kineto's order, any other is decoded and looked at."""
_STEP = re.compile(r"^(?:ProfilerStep#|execute_|decode|prefill|iteration|train_step|step\b)")


class Stream(NamedTuple):
    """A queue of one device, as the trace names both."""

    device: str
    stream: str


class Note(NamedTuple):
    """An annotation in time."""

    name: str
    stream: int
    """Index into `KernelTable.streams`; -1 on the host."""
    start_us: float
    end_us: float


class KernelTable:
    """Kernels of one file as columns, with what helps to understand them."""

    def __init__(self) -> None:
        self.start_us = array("d")
        self.length_us = array("d")
        self.name = array("i")
        """Index into `names`."""
        self.stream = array("i")
        """Index into `streams`."""
        self.talks = array("q")
        """Rows that communicate."""
        self.talk_message = array("i")
        """For each of them: index into `messages`, or -1."""
        self.talk_external = array("q")
        """For each of them: the operator that launched it, or -1."""
        self.names: list[str] = []
        self.streams: list[Stream] = []
        self.messages: list[Message] = []
        self.operators: dict[int, int] = {}
        """Index into `messages` by External id."""
        self.notes: list[Note] = []
        self.host_collectives: dict[str, list[float]] = {}
        """Count and microseconds of `gloo:` and `nccl:` on the host, by name."""
        self.widths: set[int] = set()
        """Last dimensions of the matrices that are communicated."""
        self.malformed = 0
        self.n_copies = 0
        self.n_unnamed = 0
        """Rows whose name came when there were too many."""
        self.is_full = False
        self._names: dict[str, int] = {}
        self._streams: dict[Stream, int] = {}
        self._numbered: dict[tuple[int, int], int] = {}
        """The same streams by numbers, as nearly all traces have them."""
        self._messages: dict[Message, int] = {}
        self._talks: list[bool] = []
        self._name_characters = 0

    def __len__(self) -> int:
        return len(self.start_us)

    @property
    def n_kernels(self) -> int:
        """Without copies and fills."""
        return len(self) - self.n_copies

    def add(self, event: Event) -> None:
        """Take what is of use in an event."""
        category = event.get("cat")
        if not isinstance(category, str):
            return
        category = category.lower()
        if category in _GPU_WORK:
            self._kernel(event, category)
        elif category in _ANNOTATIONS:
            self._note(event, is_gpu=category[0] == "g")
        elif category in _OPERATORS:
            self._operator(event)

    # ------------------------------------------------------------ kinds of events

    def _kernel(self, event: Event, category: str) -> None:
        if len(self.start_us) >= MOST_KERNELS:
            self.is_full = True
            return
        start, length, name = event.get("ts"), event.get("dur"), event.get("name")
        if type(start) is str or type(length) is str:
            start, length = _number(start), _number(length)
        if not (_is_time(start) and _is_length(length) and isinstance(name, str)):
            self.malformed += 1
            return
        args = event.get("args")
        if not isinstance(args, dict):
            args = {}
        row = len(self.start_us)
        index = self._names.get(name, -1)
        if index < 0:
            index = self._name(name)
        self.start_us.append(start)
        self.length_us.append(length)
        self.name.append(index)
        self.stream.append(self._stream(event, args))
        self.n_copies += category != "kernel"
        if self._talks[index] or "Collective name" in args:
            self.talks.append(row)
            message = noted_message(args)
            if message is None and name.startswith("Mem"):
                message = Message("send_recv", _count(args.get("bytes")), None, 1, 2)
            self.talk_message.append(-1 if message is None else self._message(message))
            self.talk_external.append(_identity(args))

    def _note(self, event: Event, *, is_gpu: bool) -> None:
        start, length, name = event.get("ts"), event.get("dur"), event.get("name")
        if type(start) is str or type(length) is str:
            start, length = _number(start), _number(length)
        if not (_is_time(start) and _is_length(length) and isinstance(name, str)):
            return
        is_collective = name.startswith(("nccl:", "gloo:", "mpi:"))
        if is_collective and not is_gpu:
            name = name[:60]
            if name in self.host_collectives or len(self.host_collectives) < MOST_STREAMS:
                sums = self.host_collectives.setdefault(name, [0, 0.0])
                sums[0] += 1
                sums[1] += length
        is_step = _STEP.match(name) is not None
        if not (is_collective or is_step) or len(self.notes) >= MOST_NOTES:
            return
        args = event.get("args")
        args = args if isinstance(args, dict) else {}
        end = start + length
        if is_collective and not is_gpu:
            message = shaped_message(name.split(":", 1)[1], args)
            if message is not None:
                self._remember(_identity(args) - 1, message)
            return
        stream = self._stream(event, args) if is_gpu else -1
        self.notes.append(Note(plain_text(name)[:200], stream, start, end))

    def _operator(self, event: Event) -> None:
        name, args = event.get("name"), event.get("args")
        if not (isinstance(name, str) and isinstance(args, dict) and _COMMUNICATES.search(name)):
            return
        message = noted_message(args) or shaped_message(name, args)
        if message is not None:
            self._remember(_identity(args), message)
        if len(self.widths) < MOST_WIDTHS:
            self.widths.update(matrix_widths(args))

    def _remember(self, identity: int, message: Message) -> None:
        if identity >= 0 and len(self.operators) < MOST_NOTES:
            self.operators.setdefault(identity, self._message(message))

    # ------------------------------------------------------------ what repeats is kept once

    def _name(self, name: str) -> int:
        index = self._names.get(name)
        if index is not None:
            return index
        kept = plain_text(name)[:LONGEST_NAME]
        found = self._names.get(kept)
        if found is None and self._is_full_of_names(kept):
            self.n_unnamed += 1
            kept = OTHER_NAME
            found = self._names.get(kept)
        if found is None:
            self._name_characters += len(kept)
            found = len(self.names)
            self.names.append(kept)
            self._names[kept] = found
            self._talks.append(communication(kept) is not None)
        if kept != OTHER_NAME and len(self._names) < 2 * MOST_NAMES and len(name) <= LONGEST_NAME:
            self._names[name] = found
        return found

    def _is_full_of_names(self, name: str) -> bool:
        is_long = self._name_characters + len(name) > MOST_NAME_CHARACTERS
        return is_long or len(self.names) >= MOST_NAMES

    def _stream(self, event: Event, args: Mapping[str, object]) -> int:
        device, stream = args.get("device", event.get("pid")), args.get("stream", event.get("tid"))
        if isinstance(device, int) and isinstance(stream, int):
            index = self._numbered.get((device, stream))
            if index is not None:
                return index
        key = Stream(plain_text(str(device))[:40], plain_text(str(stream))[:40])
        index = self._streams.get(key)
        if index is None:
            if len(self.streams) >= MOST_STREAMS:
                return 0
            index = self._streams[key] = len(self.streams)
            self.streams.append(key)
            if isinstance(device, int) and isinstance(stream, int):
                self._numbered[device, stream] = index
        return index

    def _message(self, message: Message) -> int:
        index = self._messages.get(message)
        if index is None:
            if len(self.messages) >= MOST_NOTES:
                return -1
            index = self._messages[message] = len(self.messages)
            self.messages.append(message)
        return index


_LATEST = 1e18
_LONGEST_NUMBER = 32


def plain_text(text: str) -> str:
    """Text that every encoding can carry: lone halves of characters become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _number(value: object) -> object:
    """A number, also where it stands between quotes, as some converters of traces write times."""
    if not isinstance(value, str) or len(value) > _LONGEST_NUMBER:
        return value
    try:
        return float(value)
    except ValueError:
        return None


def _is_time(value: object) -> TypeGuard[float]:
    """A number that is no NaN and no infinity."""
    return (type(value) is float or type(value) is int) and -_LATEST < value < _LATEST


def _is_length(value: object) -> TypeGuard[float]:
    return (type(value) is float or type(value) is int) and 0 <= value < _LATEST


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 < value <= MOST_ITEMS else None


def _identity(args: Mapping[str, object]) -> int:
    found = args.get("External id", args.get("external id", -1))
    if not isinstance(found, int) or isinstance(found, bool):
        return -1
    return found if 0 <= found < 2**62 else -1
