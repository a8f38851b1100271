"""Coming and going: what the environment must not spoil, and leaving the terminal as it was.

Whatever ends the player (a key, a signal, the end of input, a mistake of ours), the terminal gets
its cursor, echo and main screen back and no mouse, paste, focus or key reporting stays on.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

USUAL = frozenset({signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT})
"""Signals that end the player also where whoever started it had them ignored."""
FAULTS = frozenset({signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE})
"""What a fault of the process itself raises; a handler would come back to the fault for ever."""
NOT_ENDING = frozenset(
    {"SIGKILL", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGCONT"}
    | {"SIGCHLD", "SIGCLD", "SIGURG", "SIGWINCH", "SIGINFO"}
)
"""Signals that cannot be caught, or that do not end a process."""
PATIENCE_S = 2.0
"""How long an orderly end may take; a terminal that takes no output would block it for ever."""

_A_MOMENT_S = 0.05
"""In which a signal reaches us whichever thread has taken it."""

RESTORE = (
    "\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"
    "\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l\x1b[0m"
)
"""Everything that Textual's driver may have switched on, switched off again."""


def prepare_environment(environ: MutableMapping[str, str]) -> None:
    """Take out what would draw at a wrong size or in colours that the terminal lacks.

    To be called before Textual is imported: it reads its settings once.
    """
    for name in ("COLUMNS", "LINES"):
        environ.pop(name, None)
    environ.setdefault("TEXTUAL_COLOR_SYSTEM", color_system(environ))


def color_system(environ: Mapping[str, str]) -> str:
    """24-bit colour only where COLORTERM says so, else 256 or 16 colours by TERM.

    Example:
        >>> color_system({"TERM": "xterm-256color"}), color_system({"TERM": "xterm"})
        ('256', 'standard')
    """
    if environ.get("COLORTERM", "").strip().lower() in {"truecolor", "24bit"}:
        return "truecolor"
    term = environ.get("TERM", "").strip().lower()
    return (
        "256" if "256color" in term or term.endswith("-direct") or "kitty" in term else "standard"
    )


def color_count(environ: Mapping[str, str]) -> int:
    """How many colours will be used: Textual's own setting, then what the terminal says."""
    system = environ.get("TEXTUAL_COLOR_SYSTEM", "auto")
    known = {"truecolor": 1 << 24, "256": 256, "standard": 16}
    return known.get(system) or known[color_system(environ)]


_leaves: list[Callable[[int], None]] = []
"""What a signal calls, the innermost last."""
_clearings: list[Callable[[], None]] = []
"""What must not be left behind even where there is no time for an orderly end."""
_saved: list[list[Any] | None] = []
"""How the terminal was; empty while no signal is handled."""


def _nothing() -> None:
    pass


@contextlib.contextmanager
def leaving_on_signals(
    leave: Callable[[int], None], clear: Callable[[], None] = _nothing
) -> Iterator[None]:
    """While inside, a signal ends the player in order: `leave` gets 128 + signal number.

    Inside another one, signals are handled already, and only come here instead: two handlers of
    one signal would let the outer one break off what the inner one runs.

    If that takes too long, for instance because the terminal takes no more output, the process
    restores what it can and ends at once with the same status.

    Args:
        leave: Ends what is inside; may raise.
        clear: Takes away what would outlive the process where that has to end at once.
    """
    _leaves.append(leave)
    _clearings.append(clear)
    try:
        with contextlib.nullcontext() if len(_leaves) > 1 else _handling():
            yield
    finally:
        _leaves.pop()
        _clearings.pop()


@contextlib.contextmanager
def _handling() -> Iterator[None]:
    _saved.append(_terminal_attributes())
    handlers: dict[int, Any] = {}
    told: list[int] = []
    is_over = False

    def end_late() -> None:
        time.sleep(PATIENCE_S)
        if not is_over:
            leave_now(told[0])

    def on_signal(number: int, _frame: object) -> None:
        told.append(128 + number)
        if len(told) == 1:
            # Not a Timer: a lock of threading may be held by what the signal has interrupted.
            _thread.start_new_thread(end_late, ())
        _leaves[-1](told[-1])

    for number in ending_signals():
        handlers[number] = signal.signal(number, on_signal)
    try:
        with _faults_told(on_signal):
            yield
    except BaseException:
        if told:
            # What a handler raises comes out as something else where a class was being made.
            raise SystemExit(told[0]) from None
        raise
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        is_over = True
        _saved.pop()


def giving_up() -> Callable[[int], None]:
    """A `leave` that raises SystemExit once: a second one would break off the cleaning up."""
    told: list[int] = []

    def give_up(status: int) -> None:
        told.append(status)
        if len(told) == 1:
            raise SystemExit(status)

    return give_up


def ending_signals() -> list[int]:
    """Every signal that would end the process and that can be handled."""
    kept = {int(getattr(signal, name)) for name in NOT_ENDING if hasattr(signal, name)}
    return [
        number
        for number in sorted(signal.valid_signals() - kept)
        if number in USUAL or signal.getsignal(number) is signal.SIG_DFL
    ]


@contextlib.contextmanager
def _faults_told(on_signal: Callable[[int, object], None]) -> Iterator[None]:
    """Hand on the signals of faults where somebody has sent them; a real fault still ends us.

    The kernel never holds a real fault back, blocked or not, and lets no handler run for a
    blocked one. One that was sent reaches the thread that waits for it, or the handler by way of
    a thread that was there before, such as those of a numerical library.
    """
    is_over = threading.Event()

    def wait() -> None:
        while True:
            number = signal.sigwait(FAULTS)
            if is_over.is_set():
                return
            on_signal(number, None)

    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, FAULTS)
    waiting = threading.Thread(target=wait, name="faults", daemon=True)
    waiting.start()
    try:
        yield
    finally:
        is_over.set()
        if waiting.ident is not None:
            signal.pthread_kill(waiting.ident, signal.SIGFPE)
        waiting.join(PATIENCE_S)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _terminal_attributes() -> list[Any] | None:
    try:
        return termios.tcgetattr(sys.__stdin__.fileno()) if sys.__stdin__ else None
    except (termios.error, ValueError, OSError):
        return None


def is_in_front(keyboard: int) -> bool:
    """Whether the terminal may be set: the system stops whoever does so from the background.

    Args:
        keyboard: Its descriptor.
    """
    try:
        return os.tcgetpgrp(keyboard) == os.getpgrp()
    except OSError:
        return True  # not the terminal that could stop us


def stop_in_background(keyboard: int) -> None:
    """Stop as a program does that was started with `&`, until the shell says to go on.

    Setting the terminal stops it, too, but inside a call that is begun again, and stops again,
    before any signal has been heard that came meanwhile.

    Args:
        keyboard: Descriptor of the terminal.
    """
    if not is_in_front(keyboard):
        os.kill(os.getpid(), signal.SIGTTOU)
        time.sleep(_A_MOMENT_S)


def leave_now(status: int) -> None:
    """The last resort: no waiting, and nothing cleaned up but what others would stumble over."""
    with contextlib.suppress(Exception):
        if sys.__stdin__ is None or is_in_front(sys.__stdin__.fileno()):
            _restore()
    for clear in _clearings[::-1]:
        with contextlib.suppress(Exception):
            clear()
    os._exit(status)


def _restore() -> None:
    with contextlib.suppress(Exception):
        if _saved and _saved[0] is not None and sys.__stdin__ is not None:
            termios.tcsetattr(sys.__stdin__.fileno(), termios.TCSANOW, _saved[0])
    with contextlib.suppress(Exception):
        is_waiting = os.get_blocking(2)
        os.set_blocking(2, False)
        try:
            os.write(2, RESTORE.encode())
        finally:
            # Whoever started us has the same open terminal, and goes on with it.
            os.set_blocking(2, is_waiting)


def can_draw(encoding: str | None) -> bool:
    """Whether an encoding has the characters that the player draws with."""
    try:
        "─╭═»▇⇄⏩层".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
