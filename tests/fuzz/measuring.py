"""One command line at a time inside this process: what it did, how long, with how much memory.

Time is the processor's, so that what else the machine does is not held against a reader.
"""

from __future__ import annotations

import io
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import frames

MOST_SECONDS = 2.0
MOST_BYTES = 500e6
ABANDONED_SECONDS = 15


@dataclass
class Outcome:
    """What running one command line showed."""

    arguments: Sequence[str]
    code: object = None
    """Exit status."""
    seconds: float = 0.0
    """Of the processor."""
    grown_bytes: float = 0.0
    """By how much the most memory that this process ever had has grown."""
    n_frames: int = 0
    """Pictures and pages that were drawn and looked at."""
    faults: list[str] = field(default_factory=list)
    """What must not be."""


class AbandonedError(BaseException):
    """It takes far too long."""


class Program:
    """The command line, its parser built once; a bug is kept instead of being confessed."""

    def __init__(self) -> None:
        from gpuflow.cli import app, failures

        self._app: Any = app
        self._failures: Any = failures
        self._bugs: list[BaseException] = []
        self._patience = 0

    @contextmanager
    def open(self, *, is_timed: bool = True) -> Iterator[Program]:
        """Put the program's own report of a bug aside while it is fuzzed.

        Args:
            is_timed: Whether to end what takes far too long; somebody else may do it.
        """
        build, confess = self._app.build_program, self._failures._confess
        self._app.build_program = cache(build)
        self._failures._confess = lambda error, output: self._bugs.append(error)
        filters = warnings.filters[:]
        # What numpy has to say about a number is no business of who reads a file.
        warnings.simplefilter("error")
        before = signal.signal(signal.SIGPROF, _abandon) if is_timed else None
        self._patience = ABANDONED_SECONDS if is_timed else 0
        try:
            yield self
        finally:
            warnings.filters[:] = filters
            if is_timed:
                signal.signal(signal.SIGPROF, before)
            self._app.build_program, self._failures._confess = build, confess

    def run(self, arguments: Sequence[str]) -> Outcome:
        """Run one command line with captured streams and judge what it did."""
        outcome = Outcome(arguments)
        standard = sys.stdin, sys.stdout, sys.stderr
        out, err = _stream(), _stream()
        self._bugs.clear()
        peak = _peak_bytes()
        sys.stdin, sys.stdout, sys.stderr = _stream(), out, err
        signal.setitimer(signal.ITIMER_PROF, self._patience)
        start = time.process_time()
        looked = frames.Looked()
        try:
            with frames.looking(looked):
                code: object = self._app.run(list(arguments))
        except BaseException as error:  # noqa: BLE001 - whatever comes out is a finding
            code = None
            self._bugs.append(error)
        finally:
            outcome.seconds = time.process_time() - start
            signal.setitimer(signal.ITIMER_PROF, 0)
            sys.stdin, sys.stdout, sys.stderr = standard
        outcome.code = code
        outcome.grown_bytes = _peak_bytes() - peak
        outcome.faults = [*map(_of_bug, self._bugs), *self._judged(outcome, code)]
        outcome.faults += _steering("stdout", out) + _steering("stderr", err) + looked.faults
        outcome.n_frames = looked.n_frames
        return outcome

    def _judged(self, outcome: Outcome, code: object) -> Iterator[str]:
        if not self._bugs and code not in {0, 1, 2}:
            yield f"exit status {code}"
        if outcome.seconds > MOST_SECONDS:
            yield f"takes {outcome.seconds:.1f} s"
        if outcome.grown_bytes > MOST_BYTES:
            yield f"takes {outcome.grown_bytes / 1e6:.0f} MB"


def _abandon(number: int, frame: object) -> None:
    raise AbandonedError


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")


def _peak_bytes() -> float:
    """The most memory this process ever had."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _of_bug(error: BaseException) -> str:
    """A bug's kind and where it happened, so that one bug is one line."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "gpuflow" in Path(frame.filename).parts[-4:]]
    where = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in (own or frames)[-1:]]
    return f"{type(error).__name__} at {', '.join(where)}: {ascii(str(error))[:120]}"


def _steering(name: str, stream: io.TextIOWrapper) -> list[str]:
    stream.flush()
    buffer = stream.buffer
    text = buffer.getvalue().decode("utf-8", "surrogateescape")  # type: ignore[attr-defined]
    found = frames.STEERING.search(text.replace("\n", ""))
    if found is None:
        return []
    at = text.index(found[0])
    about = ascii(text[max(at - 30, 0) : at + 10])
    return [f"U+{ord(found[0]):04X} on {name}: {about}"]
