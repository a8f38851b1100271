"""The player in browsers: textual-serve in front, our player on a pseudo-terminal behind.

Each visitor gets a process of their own on a terminal of its own, so that it is the same player
as anywhere, and ends as anywhere: when the server goes, in whatever way, the terminal hangs up.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from importlib import resources
from typing import Any

from aiohttp import WSCloseCode, web
from textual_serve.app_service import AppService
from textual_serve.server import Server

MOST_VISITORS = 32
"""Each is a process of some 60 MiB."""
LARGEST = (500, 200)
"""Columns and rows; a visitor's window may say anything."""
_CLAIM = (
    "import fcntl, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    " from gpuflow.__main__ import main; sys.exit(main())"
)
"""The terminal has to be the session's own, or it could not hang up; only its first process can
claim it, and code between fork and exec is unsafe where there are threads."""
_CHUNK = 65536
PATIENCE_S = 3.0
"""For a player to end by itself before it is ended."""
_NOT_UNDERSTOOD = (
    *(ValueError, TypeError, LookupError, AttributeError, AssertionError),
    *(OverflowError, RecursionError, struct.error),
)
"""What textual-serve raises of messages that its own page would not send."""


class TerminalService(AppService):
    """One visitor's player, on a pseudo-terminal."""

    arguments: Sequence[str] = ()
    """The player's command line."""

    async def start(self, width: int, height: int) -> None:
        """Start the player and hand on what it writes.

        Args:
            width: Columns of the visitor's terminal.
            height: Its rows.
        """
        self._master, slave = pty.openpty()
        try:
            os.set_blocking(self._master, False)
            await self.set_terminal_size(width, height)
            self._player = subprocess.Popen(
                [sys.executable, "-c", _CLAIM, *self.arguments],
                stdin=slave,
                stdout=slave,
                stderr=slave,
                env=_environment(),
                start_new_session=True,
            )
        except OSError:
            # No more processes, for one; the visitors who are there already keep theirs.
            os.close(self._master)
            raise
        finally:
            os.close(slave)
        self._task = asyncio.create_task(self.run())

    async def run(self) -> None:
        """Hand on what the player writes, no faster than the visitor takes it, until it ends."""
        loop = asyncio.get_running_loop()
        is_there = asyncio.Event()
        loop.add_reader(self._master, is_there.set)
        try:
            while True:
                await is_there.wait()
                is_there.clear()
                try:
                    data = os.read(self._master, _CHUNK)
                except BlockingIOError:
                    continue
                except OSError:
                    break
                if not data:
                    break
                await self.remote_write_bytes(data)
        except ConnectionError:
            pass
        finally:
            loop.remove_reader(self._master)
        await self.remote_close()

    async def send_bytes(self, data: bytes) -> bool:
        """Keys of the visitor."""
        with contextlib.suppress(OSError):
            os.write(self._master, data)
            return True
        return False

    async def set_terminal_size(self, width: int, height: int) -> None:
        """The visitor's window has another size."""
        columns, rows = min(max(width, 1), LARGEST[0]), min(max(height, 1), LARGEST[1])
        with contextlib.suppress(OSError):
            size = struct.pack("HHHH", rows, columns, 0, 0)
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, size)

    async def send_meta(self, data: dict[str, str | int | bool | None]) -> bool:
        """Nothing: what the page has to say beside keys and size is of no use to a terminal."""
        return True

    async def stop(self) -> None:
        """Hang up, and see to it that the player goes."""
        if self._task is None:
            return
        task, self._task = self._task, None
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        os.close(self._master)
        try:
            await asyncio.to_thread(self._player.wait, PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._player.kill()
            self._player.wait()


def _environment() -> dict[str, str]:
    """As a terminal program of a browser has it."""
    left_out = {"COLUMNS", "LINES", "TMUX", "STY", "COLORFGBG", "NO_COLOR"}
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**kept, "TERM": "xterm-256color", "COLORTERM": "truecolor"}


class PlayerServer(Server):
    """textual-serve's server with a page of our own, which asks nobody else for anything.

    Args:
        arguments: The player's command line.
        host: Address to listen on.
        port: Port to listen on.
    """

    def __init__(self, arguments: Sequence[str], host: str, port: int) -> None:
        pages = resources.files("gpuflow") / "data" / "web"
        super().__init__("gpuflow", host=host, port=port, templates_path=str(pages))
        self._service = type("Service", (TerminalService,), {"arguments": tuple(arguments)})
        self._visitors: set[web.WebSocketResponse] = set()
        self._is_ending = False

    def initialize_logging(self) -> None:
        """None: what goes wrong with one visitor is no matter of the terminal."""
        if os.environ.get("GPUFLOW_DEBUG", "0") in {"", "0"}:
            for name in ("aiohttp", "asyncio"):
                # Where nobody handles them, Python writes errors on stderr.
                logging.getLogger(name).addHandler(logging.NullHandler())

    async def on_startup(self, app: web.Application) -> None:
        """Nothing to say; the verb has said where it listens."""

    async def on_shutdown(self, app: web.Application) -> None:
        """Send the visitors home; the server would wait for them to go by themselves."""
        self._is_ending = True
        leaving = [visitor.close(code=WSCloseCode.GOING_AWAY) for visitor in self._visitors]
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.gather(*leaving, return_exceptions=True), PATIENCE_S)

    async def handle_index(self, request: web.Request) -> Any:
        """The page; where it comes from the browser knows, so that it works through `ssh -L`."""
        page = (resources.files("gpuflow") / "data" / "web" / "index.html").read_text("utf-8")
        return web.Response(text=page, content_type="text/html")

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """One visitor, from the page's own origin, unless there are too many already."""
        if self._is_ending:
            raise web.HTTPServiceUnavailable
        origin = request.headers.get("Origin", "")
        if origin.rpartition("//")[2] != request.host or len(self._visitors) >= MOST_VISITORS:
            raise web.HTTPForbidden
        websocket = web.WebSocketResponse(heartbeat=15)
        await websocket.prepare(request)
        service = self._service(
            "gpuflow",
            write_bytes=websocket.send_bytes,
            write_str=websocket.send_str,
            close=websocket.close,
            download_manager=self.download_manager,
        )
        self._visitors.add(websocket)
        try:
            await service.start(_whole(request, "width", 80), _whole(request, "height", 24))
            if not self._is_ending:
                await self._process_messages(websocket, service)
        except _NOT_UNDERSTOOD:
            await websocket.close(code=WSCloseCode.UNSUPPORTED_DATA)
        finally:
            self._visitors.discard(websocket)
            await service.stop()
        return websocket


def _whole(request: web.Request, name: str, default: int) -> int:
    text = request.query.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 5 else default
