"""Textual's terminal driver, with an end: it notices when nobody is at the other side any more."""

from __future__ import annotations

import _thread
import os
import selectors
import signal
import time
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TextIO, cast

from textual._parser import ParseError
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from gpuflow.tui.lifecycle import PATIENCE_S, leave_now
from gpuflow.tui.opening import ENTER
from gpuflow.tui.options import PlayerOptions

_A_MOMENT_S = 0.05
"""Until a stop is tried again that came before there was a terminal to give back."""
_PIECE_BYTES = 1024
"""What is sent at once: half of what Linux takes at once."""
_MOST_WAITING = 1000
"""Writes in store; Textual's 30 are soon there, and then nothing is heard any more."""


class _Screen:
    """The terminal as a file that knows how much of what it was given has been taken.

    Args:
        stream: Where it is written to, without going through its buffers.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.n_taken = 0
        """Pieces that the terminal has taken."""

    def fileno(self) -> int:
        """The descriptor."""
        return self._stream.fileno()

    def flush(self) -> None:
        """Nothing is held back."""

    def write(self, text: str) -> int:
        """Send; waits for a terminal that is slow."""
        stream, descriptor = self._stream, self.fileno()
        data = text.encode(stream.encoding or "ascii", stream.errors or "replace")
        while data:
            data = data[os.write(descriptor, data[:_PIECE_BYTES]) :]
            self.n_taken += 1
        return len(text)


class Leaving(Protocol):
    """An app that can be told to leave from another thread, and may have keys in store."""

    options: PlayerOptions
    is_leaving: bool

    def input_has_ended(self) -> None:
        """Stdin is at its end."""


class PlayerDriver(LinuxDriver):
    """Reads keys until the terminal hangs up.

    Textual reads on after the end of input, which keeps a core busy for ever once the terminal
    is gone.
    """

    def __init__(
        self,
        app: App[Any],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        # Before the rest, which hands the signals over.
        self._is_stopping = False
        self._is_given_back = True
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._screen = _Screen(cast(TextIO, self._file))
        self._file = cast(Any, self._screen)
        self._early = cast(Leaving, app).options.typed_ahead
        # Textual asks stdin first; two sizes at the start would chase each other for ever.
        self._size = size or self._get_terminal_size()

    # Neither handler does its work at once: it would wait for ever for a lock that is held by what
    # it has interrupted, such as the queue of the writer's thread.

    def _sigtstp_application(self, *_: object) -> None:
        if self._is_stopping:
            return
        self._is_stopping = True
        self._soon(self._stop)

    def _sigcont_application(self, *_: object) -> None:
        self._soon(self._go_on)

    def _soon(self, call: Callable[[], None]) -> None:
        """Call it between two tasks; at once where there are none any more."""
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:
            call()

    def _stop(self) -> None:
        """Give the terminal back for a while, then stop the process."""
        if self._writer_thread is None:
            self._loop.call_later(_A_MOMENT_S, self._stop)
            return
        self._is_stopping = False
        if self._has_terminal and self._auto_restart:
            self._must_signal_resume = True
            self.suspend_application_mode()
        os.kill(os.getpid(), signal.SIGSTOP)

    def _go_on(self) -> None:
        """Go on after a stop, also after one that could not be seen coming (SIGSTOP).

        The shell has set the terminal its own way by then. Textual starts a second time, without
        having ended: two threads would share the keys.
        """
        if not self._auto_restart or cast(Leaving, self._app).is_leaving:
            return
        if self._has_terminal:
            self._must_signal_resume = True
            self.suspend_application_mode()
        if self._must_signal_resume:
            self.resume_application_mode()

    @property
    def _has_terminal(self) -> bool:
        """Whether what is written gets there: not before the start, in a stop or after the end."""
        return self._writer_thread is not None and self._writer_thread.is_alive()

    def _get_terminal_size(self) -> tuple[int, int]:
        """The size of the terminal that is drawn on; stdin may be another one."""
        try:
            columns, rows = os.get_terminal_size(self._file.fileno() if self._file else 2)
        except OSError:
            return super()._get_terminal_size()
        return columns or 80, rows or 24

    def run_input_thread(self) -> None:
        """Wait for input and hand it on, until told to stop or the input ends."""
        decode = getincrementaldecoder("utf-8")("replace").decode
        parser = XTermParser(self._debug)
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            if early := self._taken_early():
                # Nothing at all would mean the end of input.
                self._hand_on(parser.feed(decode(early)))
            while not self.exit_event.is_set():
                if selector.select(0.1):
                    data = self._read()
                    if not data:
                        cast(Leaving, self._app).input_has_ended()
                        break
                    self._hand_on(parser.feed(decode(data)))
                self._hand_on(parser.tick())
        try:
            for _ in parser.feed(""):
                pass
        except (EOFError, ParseError):
            pass  # half a key at the very end means nothing

    def _taken_early(self) -> bytes:
        """What was typed before the first start; a later one, after a stop, has none."""
        early, self._early = self._early, b""
        return early

    def _read(self) -> bytes:
        try:
            return os.read(self.fileno, 4096)
        except OSError:
            # Linux says EIO, not end of file, when the other side of a terminal is closed.
            return b""

    def _hand_on(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.process_message(message)

    def start_application_mode(self) -> None:
        """Take the terminal over."""
        cast(Callable[[], None], super().start_application_mode)()
        # Where another program is in the foreground, nothing has been started.
        if self._has_terminal and self._writer_thread is not None:
            self._is_given_back = False
            self._writer_thread._queue.maxsize = _MOST_WAITING

    def watch_the_end(self, status: int) -> None:
        """See to it that the player goes, too, where the terminal takes nothing any more.

        Giving it back would wait for ever, and no key would be heard. One that is only slow is
        given its time.

        Args:
            status: To exit with then.
        """
        _thread.start_new_thread(self._end_where_stuck, (status,))

    def _end_where_stuck(self, status: int) -> None:
        taken, since_s = -1, time.monotonic()
        while True:
            if not self.is_behind or taken != self._screen.n_taken:
                taken, since_s = self._screen.n_taken, time.monotonic()
            elif time.monotonic() - since_s > PATIENCE_S:
                leave_now(status)
            time.sleep(_A_MOMENT_S)

    @property
    def is_behind(self) -> bool:
        """Whether the terminal has not yet taken what was last sent."""
        writer = self._writer_thread
        return writer is not None and not writer._queue.empty()

    def write(self, data: str) -> None:
        """Send to the terminal; the alternate screen is entered once."""
        opening = cast(Leaving, self._app).options.opening
        if data == ENTER and opening is not None and opening.take():
            return
        # A queue that nobody empties would in the end hold the player.
        if self._has_terminal:
            super().write(data)

    def disable_input(self) -> None:
        """Hear no key any more."""
        if not self._is_given_back:
            super().disable_input()

    def stop_application_mode(self) -> None:
        """Give the terminal back as it was.

        After a stop that is done already: whoever ends a stopped player (`kill %1`) has it now, and
        the system would stop us again for touching it.
        """
        if self._is_given_back:
            return
        if self._mouse_pixels:
            self.write("\x1b[?1016l")
        super().stop_application_mode()

    def close(self) -> None:
        """Let the terminal take what is left, and write no more."""
        super().close()
        self._is_given_back = True
