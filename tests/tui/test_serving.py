"""The player in a browser: page, keys, sizes, visitors who leave, a server that is killed."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pyte
import pytest

import gpuflow

aiohttp = pytest.importorskip("aiohttp", reason="needs the extra `serve`")
pytest.importorskip("textual_serve", reason="needs the extra `serve`")

DEADLINE_S = 60.0
BROWSER = shutil.which("chromium")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Served:
    """`gpuflow serve` on a port of its own."""

    def __init__(self, *arguments: str) -> None:
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}/"
        env = {**os.environ, "PYTHONPATH": str(Path(gpuflow.__file__).parents[1])}
        env |= {"LC_ALL": "C.UTF-8"}
        command = [sys.executable, "-m", "gpuflow", "serve", "--port", str(self.port)]
        self.process = subprocess.Popen(
            [*command, "--lang", "en", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=env,
        )
        assert self.process.stderr is not None
        self.said = self.process.stderr.readline().decode()
        end_s = time.monotonic() + DEADLINE_S
        while time.monotonic() < end_s and self.process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError(f"not served: {self.said}")

    def players(self) -> list[int]:
        """Process numbers of the visitors' players."""
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in listed.split()]

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()


@pytest.fixture
def served() -> Iterator[Served]:
    server = Served()
    yield server
    server.close()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def gone(pids: list[int]) -> bool:
    end_s = time.monotonic() + DEADLINE_S
    while any(map(is_alive, pids)) and time.monotonic() < end_s:
        time.sleep(0.05)
    return not any(map(is_alive, pids))


@contextlib.asynccontextmanager
async def visit(served: Served, size: str = "width=80&height=24") -> AsyncIterator[Any]:
    """The socket that a page opens."""
    origin = {"Origin": served.address.rstrip("/")}
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{served.address}ws?{size}", headers=origin) as place,
    ):
        yield place


class Seen:
    """What a visitor's terminal shows."""

    def __init__(self, place: Any, columns: int = 80, rows: int = 24) -> None:
        self.place, self.raw = place, b""
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)

    async def until(self, is_there: Callable[[str], bool]) -> None:
        end_s = time.monotonic() + DEADLINE_S
        while not is_there("\n".join(self.rows())):
            left_s = end_s - time.monotonic()
            message = await asyncio.wait_for(self.place.receive(), max(left_s, 0.1))
            assert message.type == aiohttp.WSMsgType.BINARY, "\n".join(self.rows())
            self.raw += message.data
            # pyte takes the key mode for a cursor position.
            self.stream.feed(re.sub(rb"\x1b\[[<>=?]?[\d;]*u", b"", message.data))

    def rows(self) -> list[str]:
        columns, rows = self.screen.columns, self.screen.lines
        return ["".join(self.screen.buffer[y][x].data for x in range(columns)) for y in range(rows)]


def test_a_visitor_sees_the_player_presses_keys_and_leaves_nothing(served: Served) -> None:
    assert served.address in served.said

    async def stay() -> list[int]:
        async with visit(served) as place:
            seen = Seen(place)
            await seen.until(lambda shown: "Llama-3-8B" in shown and "q quit" in shown)
            assert b"38;2;" in seen.raw
            await place.send_json(["stdin", " 3"])
            await seen.until(lambda shown: "3/8" in shown)
            await place.send_json(["resize", {"width": 60, "height": 20}])
            seen.screen.resize(20, 60)
            # So small a screen has no key hints.
            await seen.until(lambda shown: "3/8" in shown and "q quit" not in shown)
            return served.players()

    players = asyncio.run(stay())
    assert len(players) == 1
    assert gone(players)


def test_quitting_closes_the_socket(served: Served) -> None:
    async def quit_() -> None:
        async with visit(served) as place:
            await Seen(place).until(lambda shown: "q quit" in shown)
            await place.send_json(["stdin", "q"])
            async for _ in place:
                pass
            assert place.closed

    asyncio.run(quit_())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=str)
def test_no_player_outlives_its_server(number: signal.Signals, served: Served) -> None:
    async def stay() -> list[int]:
        async with visit(served) as place:
            await Seen(place).until(lambda shown: "q quit" in shown)
            players = served.players()
            served.process.send_signal(number)
            return players

    players = asyncio.run(stay())
    assert players
    assert gone([served.process.pid, *players])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=str)
def test_a_server_that_is_told_to_end_sends_its_visitors_home(
    number: signal.Signals, served: Served
) -> None:
    async def stay() -> list[object]:
        async with visit(served) as first, visit(served) as second:
            for place in (first, second):
                await Seen(place).until(lambda shown: "q quit" in shown)
            served.process.send_signal(number)
            for place in (first, second):
                async for _ in place:
                    pass
            return [first.close_code, second.close_code]

    assert asyncio.run(stay()) == [aiohttp.WSCloseCode.GOING_AWAY] * 2
    assert served.process.wait(DEADLINE_S) == 0


WEBSOCKET = (
    "GET /ws HTTP/1.1\r\nHost: HOST\r\nOrigin: http://HOST\r\nConnection: Upgrade\r\n"
    "Upgrade: websocket\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    "Sec-WebSocket-Version: 13\r\n\r\n"
)


def test_a_visitor_who_comes_as_the_server_ends_cannot_hold_it(served: Served) -> None:
    host = f"127.0.0.1:{served.port}"
    with socket.create_connection(("127.0.0.1", served.port)) as visitor:
        visitor.sendall(WEBSOCKET.replace("HOST", host).encode())
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(DEADLINE_S) == 0


NONSENSE = ("x", "[]", '["stdin", 5]', '["resize", {"width": NaN, "height": 1}]', "[" * 100_000)


def test_who_sends_nonsense_is_sent_home_and_nobody_hears_of_it(served: Served) -> None:
    async def send() -> list[object]:
        codes: list[object] = []
        for text in NONSENSE:
            async with visit(served) as place:
                await place.send_str(text)
                async for _ in place:
                    pass
                codes.append(place.close_code)
        return codes

    assert asyncio.run(send()) == [aiohttp.WSCloseCode.UNSUPPORTED_DATA] * len(NONSENSE)
    assert gone(served.players())
    served.process.send_signal(signal.SIGINT)
    assert served.process.wait(DEADLINE_S) == 0
    assert served.process.stderr is not None
    assert served.process.stderr.read() == b""


def test_other_pages_cannot_open_a_player(served: Served) -> None:
    async def intrude() -> int:
        async with aiohttp.ClientSession() as session:
            headers = {"Origin": "http://elsewhere.example"}
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await session.ws_connect(f"{served.address}ws", headers=headers)
            return int(refused.value.status)

    assert asyncio.run(intrude()) == 403
    assert served.players() == []


def test_the_page_asks_nobody_else_for_anything(served: Served) -> None:
    async def read() -> str:
        async with aiohttp.ClientSession() as session, session.get(served.address) as response:
            return str(await response.text())

    page = asyncio.run(read())
    assert not re.search(r"https?://", page)
    assert sys.executable not in page


# ---------------------------------------------------------------- in a browser


class Browser:
    """Headless Chromium, steered through its debugging socket."""

    def __init__(self, socket_: Any) -> None:
        self._socket = socket_
        self._count = 0

    async def ask(self, method: str, **values: object) -> dict[str, Any]:
        self._count += 1
        await self._socket.send_json({"id": self._count, "method": method, "params": values})
        async for message in self._socket:
            answer = json.loads(message.data)
            if answer.get("id") == self._count:
                found: dict[str, Any] = answer["result"]
                return found
        raise AssertionError("the browser has gone")

    async def value(self, expression: str) -> Any:
        return (await self.ask("Runtime.evaluate", expression=expression))["result"].get("value")


@contextlib.asynccontextmanager
async def browser(address: str, folder: Path) -> AsyncIterator[Browser]:
    options = (
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        *(f"--user-data-dir={folder}", "--remote-debugging-port=0", "--window-size=1000,700"),
    )
    process = subprocess.Popen(
        [str(BROWSER), *options, address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        place = folder / "DevToolsActivePort"
        end_s = time.monotonic() + DEADLINE_S
        while not (place.is_file() and place.read_text().strip()) and time.monotonic() < end_s:
            await asyncio.sleep(0.05)
        port = place.read_text().split()[0]
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json/list") as response:
                pages = await response.json(content_type=None)
            target = next(p["webSocketDebuggerUrl"] for p in pages if p["type"] == "page")
            async with session.ws_connect(target, max_msg_size=0) as socket_:
                yield Browser(socket_)
    finally:
        process.kill()
        process.wait()


async def when(condition: Callable[[], Awaitable[bool]]) -> None:
    end_s = time.monotonic() + DEADLINE_S
    while not await condition():
        assert time.monotonic() < end_s
        await asyncio.sleep(0.2)


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_a_browser_shows_the_picture_in_its_colours(served: Served, tmp_path: Path) -> None:
    images = pytest.importorskip("PIL.Image")

    async def look() -> None:
        async with browser(served.address, tmp_path) as page:

            async def is_drawn() -> bool:
                shot = await page.ask("Page.captureScreenshot", format="png")
                data = base64.b64decode(shot["data"])
                if keep := os.environ.get("GPUFLOW_KEEP_SHOT"):
                    Path(keep).write_bytes(data)
                image = images.open(io.BytesIO(data)).convert("RGB")
                found = {colour for _, colour in image.getcolors(image.width * image.height)}
                # The ground and the bright clock of the dark theme.
                return {(0x11, 0x15, 0x1C), (0xFF, 0xD8, 0x66)} <= found

            await when(is_drawn)
            assert await page.value("document.body.classList.contains('-closed')") is False
            players = served.players()
            assert len(players) == 1
            os.kill(players[0], signal.SIGKILL)

            async def is_closed() -> bool:
                found = await page.value("document.body.classList.contains('-closed')")
                return bool(found)

            await when(is_closed)

    asyncio.run(look())
    assert gone(served.players())
