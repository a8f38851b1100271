"""A file's bytes in blocks, unpacked on the way if it is gzip; never more than one block at a time.

A small file may unpack to any size, so both what comes out and how many times more than what
went in are bounded. Traces of the field unpack to 10 to 60 times their size.
"""

from __future__ import annotations

import stat
import zlib
from collections.abc import Callable
from io import BufferedReader
from pathlib import Path

from gpuflow.errors import ImportFormatError, Problem
from gpuflow.importers.trace.doubt import Doubt

BLOCK_BYTES = 2**20
MAGIC = b"\x1f\x8b"
MOST_RATIO = 100
"""Unpacked over packed; a list of the same event packs to a thirtieth."""
FREE_BYTES = 2**25
"""Unpacked bytes below which the ratio does not matter."""
MOST_BYTES = 2**38
"""Unpacked bytes of one file; the largest traces that people send around have some 10 GB."""
_HEADER_AND_TRAILER = 31
"""zlib's word for gzip with a window of 32 KiB."""


class Blocks:
    """The bytes of one file, in order."""

    def __init__(self, path: str, on_read: Callable[[int], None] | None = None) -> None:
        """Open a file.

        Args:
            path: Where it is; nothing that the file names is ever opened.
            on_read: Told after each block how many bytes of the file are behind.

        Raises:
            ImportFormatError: It is missing, no regular file, or cannot be read.
        """
        self.path = path
        self.stream: BufferedReader = _opened(path)
        self.on_read = on_read
        self.n_in = self.n_out = 0
        """Bytes of the file, and bytes handed out."""
        self.refused: Doubt | None = None
        self.is_cut = False
        """Whether a packed file ends before its end."""
        try:
            self.is_packed = self.stream.peek(2)[:2] == MAGIC
        except OSError as error:
            self.stream.close()
            raise _problem(path, "file_unreadable", reason=error.strerror) from None
        self._unpacker = zlib.decompressobj(_HEADER_AND_TRAILER)
        self._waiting = b""

    def close(self) -> None:
        """Close the file."""
        self.stream.close()

    def next(self) -> bytes:
        """The next block; empty at the end."""
        data = self._unpacked() if self.is_packed else self._plain()
        self.n_out += len(data)
        if self.on_read is not None:
            self.on_read(self.n_in)
        if self.n_out > MOST_BYTES:
            self.refused = Doubt("too_long", {"limit": MOST_BYTES >> 30})
            return b""
        return data

    def _plain(self) -> bytes:
        try:
            data = self.stream.read(BLOCK_BYTES)
        except OSError:
            self.is_cut = True
            return b""
        self.n_in += len(data)
        return data

    def _unpacked(self) -> bytes:
        while self.refused is None:
            if not self._waiting:
                self._waiting = self._plain()
            if not self._waiting:
                self.is_cut = self.is_cut or not self._unpacker.eof
                return b""
            try:
                data = self._unpacker.decompress(self._waiting, BLOCK_BYTES)
            except zlib.error:
                # Damage is the end: what came before it is good.
                self.is_cut = True
                return b""
            self._waiting = self._unpacker.unconsumed_tail
            if self._unpacker.eof:
                self._next_member()
            if self._is_bomb(len(data)):
                return b""
            if data:
                return data
        return b""

    def _next_member(self) -> None:
        """Several packed files one behind the other are one; what is no such file is left."""
        rest = self._unpacker.unused_data or self._plain()
        if rest[:2] == MAGIC:
            self._unpacker = zlib.decompressobj(_HEADER_AND_TRAILER)
            self._waiting = rest
        else:
            self._waiting = b""

    def _is_bomb(self, n_more: int) -> bool:
        whole = self.n_out + n_more
        # What is read ahead has not unpacked to anything yet.
        used = self.n_in - len(self._waiting)
        if whole <= FREE_BYTES or whole <= MOST_RATIO * used:
            return False
        self.refused = Doubt("bomb", {"ratio": MOST_RATIO})
        return True


_INSIDE = bytes(range(0x80, 0xC0))
"""Bytes of UTF-8 that go on with a character."""


def line_and_column(path: str, byte: int) -> tuple[int, int]:
    """Where an unpacked byte stands, both from 1, in characters; the file is read up to there."""
    blocks = Blocks(path)
    line = column = 1
    while byte > 0 and (data := blocks.next()[:byte]):
        byte -= len(data)
        ends = data.count(b"\n")
        if ends:
            line, column = line + ends, 1
            data = data[data.rfind(b"\n") + 1 :]
        column += len(data.translate(None, _INSIDE))
    blocks.close()
    return line, column


def size_of(path: str) -> int:
    """Bytes of a file as it lies there; 0 where nobody can tell."""
    try:
        return Path(path).stat().st_size
    except (OSError, ValueError):
        return 0


def _opened(path: str) -> BufferedReader:
    if not path:
        raise _problem(path, "file_name_empty")
    try:
        mode = Path(path).stat().st_mode
        if stat.S_ISDIR(mode):
            raise _problem(path, "file_is_folder", "name_a_file")
        if not stat.S_ISREG(mode):
            raise _problem(path, "file_not_regular", "save_to_file")
        return Path(path).open("rb")
    except (FileNotFoundError, NotADirectoryError):
        raise _problem(path, "file_missing") from None
    except (OSError, ValueError) as error:
        # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or str(error)
        raise _problem(path, "file_unreadable", reason=reason) from None


def _problem(path: str, code: str, hint: str = "", **values: object) -> ImportFormatError:
    return ImportFormatError([Problem(code=code, file=path, values=values, hint=hint)])
