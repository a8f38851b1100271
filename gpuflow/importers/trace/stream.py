"""The events of a trace, one after the other, however long the file is.

A trace is one JSON object whose `traceEvents` is a list of millions of small objects (the older
form is the bare list). Only a window of it is in memory. Events are decoded by the C scanner of
Python's json, many at a time: a window that ends behind an object and reads as a list was cut at
the right place, because JSON is read from left to right.

Most events are of no interest here (Python frames, host calls), and those of Kineto begin with
`"ph"` and `"cat"`. The bytes `{"ph":` cannot stand inside a string of valid JSON, where the quote
would have a backslash, so events are told apart by searching for them, and only those of interest
are decoded. Whatever does not fit that form is decoded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gpuflow.importers.trace.blocks import Blocks
from gpuflow.importers.trace.doubt import Doubt

Event = Mapping[str, object]

EVENTS_KEY = "traceEvents"
HEAD_KEYS = frozenset(
    {"schemaVersion", "deviceProperties", "distributedInfo", "baseTimeNanoseconds"}
)
"""What stands beside the events and is of use."""
MOST_HEAD_BYTES = 2**25
"""One value beside the events; the process groups of 10,000 ranks have some megabytes."""
MOST_EVENT_BYTES = 2**22
"""One event; the longest have some hundred kilobytes of shapes."""
_MOST_TRIES = 100
"""Braces that are looked at for the end of the last whole event of a window."""
_NEAR_END = 4096
"""An error so close to the end of what is in memory may be the end's doing."""

_PIECE = 2**12
"""Signs that are decoded first: an error counts the lines before it, so a window with many of them
is not handed over whole."""
MOST_MEMBERS = 500
"""Of the top object; traces have some twenty."""

_LONGEST_WORD = 24
"""Signs of a number or word that the end of a file may have cut."""

_BETWEEN = re.compile(r"[ \t\r\n,]*")
_SEPARATOR = re.compile(rb'\}[ \t\r\n]*,[ \t\r\n]*\{[ \t\r\n]*"ph"[ \t]*:')
_NEIGHBOURS = re.compile(rb"\}[ \t\r\n]*,[ \t\r\n]*\{")
_ODD_BORDER = re.compile(rb"\}[ \t\r\n]*(?:,[ \t\r\n]*\{(?![ \t\r\n]*\"ph\"[ \t]*:)|\])")
"""The border to an object that does not begin as events do, or the end of a list of objects."""
_NEVER = re.compile(rb"(?!)")
_NOT_ALONE = re.compile(rb"\}[ \t\r\n]*(?:,[ \t\r\n]*\{|\])")
"""Inside what should be one event: the border to another, or the end of a list of objects."""
_RESYNC = re.compile(r'\{\s*"(?:ph|cat|name|pid|ts)"\s*:')
_DECODER = json.JSONDecoder(strict=False)


@dataclass(slots=True)
class Faults:
    """What was wrong with a file, as far as it was read."""

    cut_at_byte: int | None = None
    """Unpacked bytes before the place where it breaks off."""
    broken: int = 0
    """Events that were no JSON."""
    broken_at_byte: int | None = None
    """Where the first of them begins, in unpacked bytes."""
    goes_on_at_byte: int | None = None
    """Where something follows that is no part of the trace."""
    has_events: bool = False
    """Whether the list of events was met."""
    refused: Doubt | None = None


@dataclass(slots=True)
class TraceStream:
    """One file being read; iterate once."""

    blocks: Blocks
    unwanted: re.Pattern[bytes]
    """What follows `"ph":` in events that are of no interest."""
    head: dict[str, object] = field(default_factory=dict)
    """What stands beside the events, complete after the last one."""
    faults: Faults = field(default_factory=Faults)
    _text: bytes = b""
    """What is in memory and not yet read."""
    _at_end: bool = False
    _is_lost: bool = False
    """Whether the window begins inside something broken."""
    _wanted: re.Pattern[bytes] = _NEVER
    """Where events of interest begin."""
    _separator: bytes = b""
    """What stands between two events of this file, up to the colon behind `"ph"`."""

    def __iter__(self) -> Iterator[Event]:
        """Events in the order of the file."""
        self._more()
        self._text = self._text.removeprefix(b"\xef\xbb\xbf")
        first = self._sign()
        if first == b"[":
            self._text = self._text[1:]
            yield from self._events()
        elif first == b"{":
            self._text = self._text[1:]
            yield from self._members()
        elif self.faults.refused is None and self.blocks.refused is None:
            self.faults.refused = Doubt("not_json")
        if self.blocks.refused is not None:
            self.faults.refused = self.blocks.refused
        elif not self.faults.has_events and self.faults.refused is None:
            self.faults.refused = Doubt("no_events")
        elif self.faults.cut_at_byte is None and self.faults.refused is None and self._sign():
            self.faults.goes_on_at_byte = self.blocks.n_out - len(self._text)

    # ------------------------------------------------------------ bytes

    def _more(self) -> None:
        block = self.blocks.next()
        self._text += block
        self._at_end = self._at_end or not block

    def _sign(self, blanks: bytes = b" \t\r\n") -> bytes:
        """The next byte that is no blank; empty at the end."""
        while True:
            self._text = self._text.lstrip(blanks)
            if self._text or self._at_end:
                return self._text[:1]
            self._more()

    def _cut(self) -> None:
        # What is given up does not break off.
        is_given_up = self.faults.refused is not None or self.blocks.refused is not None
        if self.faults.cut_at_byte is None and not is_given_up:
            self.faults.cut_at_byte = self.blocks.n_out
        self._text = b""

    # ------------------------------------------------------------ beside the events

    def _members(self) -> Iterator[Event]:
        """The members of the top object."""
        for _ in range(MOST_MEMBERS):
            sign = self._sign(b" \t\r\n,")
            if sign != b'"':
                if sign != b"}":
                    self._cut()
                self._text = self._text[1:]
                return
            key, is_whole = self._value()
            if not is_whole or self._sign() != b":":
                self._cut()
                return
            self._text = self._text[1:]
            if key == EVENTS_KEY and self._sign() == b"[":
                self._text = self._text[1:]
                yield from self._events()
            else:
                value, is_whole = self._value()
                if not is_whole:
                    self._cut()
                    return
                if key in HEAD_KEYS and isinstance(key, str):
                    self.head[key] = value
        self.faults.refused = Doubt("head_too_many", {"limit": MOST_MEMBERS})

    def _value(self) -> tuple[object, bool]:
        """The next value, and whether there is a whole one."""
        self._sign()
        length = _PIECE
        while True:
            text = _decoded(self._text[:length])
            try:
                value, end = _DECODER.raw_decode(text)
            except (ValueError, RecursionError):
                pass
            else:
                # A number that ends where memory ends may go on.
                if end < len(text) or (self._at_end and length >= len(self._text)):
                    self._text = self._text[len(_encoded(text[:end])) :]
                    return value, True
            if length < len(self._text):
                length = len(self._text)
                continue
            if self._at_end:
                return None, False
            if len(self._text) > MOST_HEAD_BYTES:
                self.faults.refused = Doubt("head_too_long", {"limit": MOST_HEAD_BYTES >> 20})
                return None, False
            for _ in range(1 + (len(self._text) >> 20)):
                self._more()
            length = len(self._text)

    # ------------------------------------------------------------ events

    def _events(self) -> Iterator[Event]:
        """What stands in the list, up to its bracket."""
        self.faults.has_events = True
        while True:
            if self._separator or self._find_separator():
                yield from self._sorted()
            elif not self._at_end:
                yield from self._listed()
            found, is_over = self._one_by_one()
            yield from found
            if is_over:
                return
            if self._at_end and not self._text:
                self._cut()
                return
            self._more()

    def _find_separator(self) -> bool:
        """Whether this file's events begin with `"ph"`."""
        found = _SEPARATOR.search(self._text)
        if found is None:
            return False
        self._separator = found[0]
        opening = re.escape(found[0][found[0].index(b"{") :])
        self._wanted = re.compile(opening + b"(?!" + self.unwanted.pattern + b")")
        return True

    def _sorted(self) -> Iterator[Event]:
        """All events of the window but the last, those of no interest left where they are."""
        last = self._text.rfind(self._separator)
        if last < 0:
            return
        opening = self._separator[self._separator.index(b"{") :]
        odd = _ODD_BORDER.search(self._text, 0, last + 1)
        wanted = self._pieces(opening) if odd else self._found(opening, last)
        found = _list_of(b",".join(wanted))
        if found is None:
            # Something in the window is not as it should be, or is the end of the list.
            return
        self._text = opening + self._text[last + len(self._separator) :]
        yield from found

    def _found(self, opening: bytes, last: int) -> list[bytes]:
        """Events of interest in a window in which every object is an event like the others."""
        text, separator = self._text, self._separator
        first = text.find(separator)
        # What stands before the first separator may be more than an event: blanks, a comma.
        wanted = [text[:first].lstrip(b" \t\r\n,") + b"}"]
        for match in self._wanted.finditer(text, first, last):
            start = match.start()
            wanted.append(text[start : text.find(separator, start)] + b"}")
        return wanted

    def _pieces(self, opening: bytes) -> list[bytes]:
        """The same piece by piece, where there are other objects and lists of objects."""
        first, *pieces = self._text.split(self._separator)[:-1]
        wanted = [first.lstrip(b" \t\r\n,") + b"}"]
        wanted += [opening + piece + b"}" for piece in pieces if not self._is_unwanted(piece)]
        return wanted

    def _is_unwanted(self, piece: bytes) -> bool:
        if self.unwanted.match(piece) is None or _NOT_ALONE.search(piece) is not None:
            return False
        # Only what is one event and nothing else may be left out.
        return piece.count(b"{") == piece.count(b"}")

    def _listed(self) -> Iterator[Event]:
        """All events of the window but the last, of a file whose events begin otherwise."""
        end = len(self._text)
        for _ in range(_MOST_TRIES):
            end = self._text.rfind(b"}", 0, end)
            if end > 0 and _NEIGHBOURS.match(self._text, end):
                found = _list_of(self._text[: end + 1].lstrip(b" \t\r\n,"))
                if found is not None:
                    self._text = self._text[end + 1 :]
                    yield from found
                return

    def _one_by_one(self) -> tuple[list[Event], bool]:
        """Events of the window, and whether the list is over; slow, and sure of where it is."""
        if not self._at_end and self._is_quick():
            return [], False
        text, found = _decoded(self._text), list[Event]()
        at, is_over = self._in_step(text), False
        while True:
            at = _end_of(_BETWEEN, text, at)
            if at >= len(text):
                break
            if text[at] == "]":
                at, is_over = at + 1, True
                break
            try:
                value, at = _value_at(text, at)
            except (ValueError, RecursionError) as error:
                after = self._past(text, at, error)
                if after is None:
                    break
                at = after
                continue
            if isinstance(value, dict):
                found.append(value)
        self._text = _encoded(text[at:])
        if self._at_end and not is_over:
            self._cut()
        return found, is_over

    def _in_step(self, text: str) -> int:
        """Where the first event of the window begins; its end where it is all of a broken one."""
        if not self._is_lost:
            return 0
        found = _RESYNC.search(text)
        self._is_lost = found is None
        return len(text) if found is None else found.start()

    def _is_quick(self) -> bool:
        """Whether the window holds no more than an event that goes on behind it."""
        is_short = len(self._text) < MOST_EVENT_BYTES and not self._is_lost
        return is_short and bool(self._separator) and self._separator not in self._text

    def _past(self, text: str, at: int, error: Exception) -> int | None:
        """Where the event after a broken one begins; None where it may only be incomplete."""
        place = at + error.pos if isinstance(error, json.JSONDecodeError) else len(text)
        near = _LONGEST_WORD if self._at_end else _NEAR_END
        is_unfinished = "Unterminated" in str(error) or len(text) - place <= near
        # At the end there is nothing to wait for: the file is cut.
        may_go_on = self._at_end or len(text) - at < MOST_EVENT_BYTES
        if isinstance(error, json.JSONDecodeError) and is_unfinished and may_go_on:
            return None
        if not self.faults.broken:
            self.faults.broken_at_byte = self.blocks.n_out - len(_encoded(text[at:]))
        self.faults.broken += 1
        behind = max(at + 1, min(place, len(text) - 1))
        found = _RESYNC.search(text, behind) or _RESYNC.search(text, at + 1)
        if found is not None:
            return found.start()
        if self._at_end:
            # What nothing follows is not broken but cut.
            self.faults.broken -= 1
            return None
        self._is_lost = True
        return len(text)


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _value_at(text: str, at: int) -> tuple[object, int]:
    """The value that begins at a place, and where it ends; the places of errors count from there.

    Raises:
        ValueError: There is none.
        RecursionError: It is too deep.
    """
    length = _PIECE
    while at + length < len(text):
        try:
            value, end = _DECODER.raw_decode(text[at : at + length])
        except json.JSONDecodeError as error:
            if "Unterminated" not in str(error) and error.pos < length - _LONGEST_WORD:
                raise
        else:
            if end < length:
                return value, at + end
        length *= 4
    value, end = _DECODER.raw_decode(text[at:])
    return value, at + end


def _list_of(text: bytes) -> list[Event] | None:
    """The objects of a list without its brackets; None where it is none."""
    try:
        found = json.loads(_decoded(b"[" + text + b"]"), strict=False)
    except (ValueError, RecursionError):
        return None
    return [value for value in found if isinstance(value, dict)]


def _decoded(data: bytes) -> str:
    """Text of bytes; what is no UTF-8, or not all of a character, is kept as it is."""
    return data.decode("utf-8", "surrogateescape")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
