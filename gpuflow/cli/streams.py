"""stdout, stderr and stdin as they really are: closed, piped, or in an old encoding.

stdout is data, stderr is talk. Whatever the encoding of a stream, writing to it never raises and
never shows an escape: a character it lacks becomes its nearest ASCII likeness.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from gpuflow.draw.ascii import ascii_text
from gpuflow.errors import InputError, Problem

ASCII_ERRORS = "gpuflow.ascii"
"""Name of the codec error handler that stands in for missing characters."""


@dataclass(frozen=True, slots=True)
class Streams:
    """The process's standard streams, every one of them usable."""

    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    missing: frozenset[str] = frozenset()
    """Names of those that were closed when the program started."""

    def is_terminal(self) -> bool:
        """Whether somebody can watch and press keys: all three are terminals that can move."""
        return (
            not self.missing
            and all(stream.isatty() for stream in (self.stdin, self.stdout, self.stderr))
            and os.environ.get("TERM", "") != "dumb"
        )


@dataclass(slots=True)
class Status:
    """Exit status, filled in when a `closing` block ends."""

    code: int = 0


def prepare_streams() -> Streams:
    """The standard streams, closed ones replaced and all of them made unable to raise."""
    codecs.register_error(ASCII_ERRORS, ascii_likeness)
    found: dict[str, TextIO | None] = {
        "stdin": sys.stdin,
        "stdout": sys.stdout,
        "stderr": sys.stderr,
    }
    missing = frozenset(name for name, stream in found.items() if stream is None)
    if missing:
        _occupy_descriptors()
    for name, stream in found.items():
        if stream is None:
            mode = "r" if name == "stdin" else "w"
            # It is a standard stream from now on, and stays open as long as the program runs.
            stand_in = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115
            setattr(sys, name, stand_in)
        elif isinstance(stream, io.TextIOWrapper) and name != "stdin":
            stream.reconfigure(errors=ASCII_ERRORS)
    return Streams(sys.stdin, sys.stdout, sys.stderr, missing)


def _occupy_descriptors() -> None:
    """Keep a file opened later from landing on a standard descriptor that was closed."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free number is taken, which is this one.
            os.open(os.devnull, os.O_RDWR)


class WriteError(Exception):
    """stdout took no more; holds the system's reason."""

    def __init__(self, reason: OSError) -> None:
        self.reason = reason
        super().__init__(str(reason))


def write_text(stream: TextIO, text: str) -> None:
    """Write, so that trouble with the stream cannot be taken for trouble with some other file.

    Raises:
        WriteError: The reader has gone, the disk is full, or the like.
    """
    try:
        stream.write(text)
    except OSError as reason:
        raise WriteError(reason) from None


def write_data(streams: Streams, text: str, *, may_be_lost: bool = False) -> None:
    """Write on stdout.

    Args:
        streams: Where stdout is.
        text: The data.
        may_be_lost: Whether a stdout that was closed from the start is no trouble.

    Raises:
        WriteError: As `write_text` does, or stdout is closed.
    """
    if "stdout" in streams.missing and not may_be_lost:
        raise WriteError(OSError(errno.EBADF, os.strerror(errno.EBADF)))
    write_text(streams.stdout, text)


def put_file(file: str, data: bytes) -> None:
    """Write a file that the user named; one that is new is there whole or not at all.

    Raises:
        InputError: It cannot be written.
    """
    try:
        with _whole_or_not(Path(file)):
            Path(file).write_bytes(data)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        problem = Problem(code="file_unwritable", file=file, values={"reason": reason})
        raise InputError([problem]) from None


@contextmanager
def _whole_or_not(path: Path) -> Iterator[None]:
    """Take away the half of a new file where the disk is full or somebody has pressed Ctrl+C."""
    is_new = not os.path.lexists(path)
    try:
        yield
    except BaseException:
        if is_new:
            with suppress(OSError):
                path.unlink()
        raise


def write_bytes(streams: Streams, data: bytes) -> None:
    """Write on stdout what is no text.

    Raises:
        WriteError: As `write_data` does.
    """
    write_data(streams, "")
    try:
        streams.stdout.buffer.write(data)
    except OSError as reason:
        raise WriteError(reason) from None


@contextmanager
def closing(streams: Streams) -> Iterator[Status]:
    """Flush at the end; a reader who has gone away is no error.

    Yields:
        The status to exit with: as set inside, 1 when the data could not be written.
    """
    status = Status()
    try:
        yield status
        try:
            streams.stdout.flush()
        except OSError as reason:
            raise WriteError(reason) from None
    except WriteError as failed:
        _discard(streams.stdout)
        if not isinstance(failed.reason, BrokenPipeError):
            status.code = status.code or 1
            with suppress(OSError, ValueError):
                streams.stderr.write(f"gpuflow: stdout: {failed.reason.strerror}\n")
    try:
        streams.stderr.flush()
    except (OSError, ValueError):
        _discard(streams.stderr)


def _discard(stream: TextIO) -> None:
    """Let what is still buffered go nowhere, so that the interpreter's last flush is quiet."""
    with suppress(OSError, ValueError):
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, stream.fileno())
        os.close(sink)


def ascii_likeness(error: UnicodeError) -> tuple[str, int]:
    """Codec error handler: what to write for characters that the encoding lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return ascii_text(error.object[error.start : error.end]), error.end


CHINESE = "\u4e2d"
"""Stands for all Chinese characters when it comes to what an encoding holds."""


def can_show(stream: TextIO, text: str) -> bool:
    """Whether a stream's encoding holds every character of `text`."""
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
