"""Whether a player that loops for long stays as small as it was.

    python tests/benchmarks/run.py memory

Ten minutes of play at the usual rate, every frame drawn and sent, the clock put forward instead of
waited for; beside it an interpreter that has only imported the libraries.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

from measure import Measure
from terminals import DEADLINE_S, ROOT

if TYPE_CHECKING:
    from textual._compositor import CompositorUpdate

MINUTES, FPS = 10, 12
WARM_UP_FRAMES = 600
MIB = 2**20
LIBRARIES = "import numpy, textual.app, textual.widgets"
_REPORT = "import re; print(*re.findall(r'VmRSS:\\s+(\\d+)', open('/proc/self/status').read()))"


def resident() -> int:
    """Bytes of this process in memory."""
    status = Path("/proc/self/status").read_text().splitlines()
    line = next(line for line in status if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


def measure() -> Iterator[Measure]:
    """Growth and size."""
    command = [sys.executable, "-c", f"{LIBRARIES}; {_REPORT}"]
    libraries = int(subprocess.run(command, capture_output=True, check=True).stdout) * 1024
    command = [sys.executable, str(Path(__file__)), str(MINUTES * 60 * FPS)]
    done = subprocess.run(
        command, capture_output=True, check=True, env={"PYTHONPATH": str(ROOT), "TERM": "xterm"}
    )
    early, late = map(int, done.stdout.split()[-2:])
    yield Measure("memory_above_libraries", (late - libraries) / MIB, "MiB", 60.0, "allowed")
    yield Measure(f"memory_growth_{MINUTES}_min", (late - early) / MIB, "MiB", 1.0, "allowed")


async def play(frames: int) -> tuple[int, int]:
    """Bytes in memory after the warm-up and after all frames."""
    from gpuflow.engine.simulate import simulate
    from gpuflow.scenario.load import DEFAULT_SCENARIO, Overrides, load_scenario
    from gpuflow.tui.app import PlayerApp
    from gpuflow.tui.options import PlayerOptions
    from gpuflow.tui.screens.play import PlayScreen

    timeline = simulate(load_scenario(DEFAULT_SCENARIO, Overrides()))
    app = PlayerApp(timeline, PlayerOptions(language="en", is_playing=False, loops=True))
    early = 0
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        app.playhead.is_playing = True
        screen = app.screen
        assert isinstance(screen, PlayScreen)
        for number in range(frames):
            app.playing.let_pass(1 / FPS)
            screen.redraw()
            await asyncio.sleep(0)
            found = screen._compositor.render_update(simplify=True)
            update = cast("CompositorUpdate | None", found)
            if update is not None:
                update.render_segments(app.console)
            if number % FPS == 0:
                await pilot.pause(0)
            if number == WARM_UP_FRAMES:
                early = resident()
        late = resident()
    return early, late


if __name__ == "__main__":
    print(*asyncio.run(asyncio.wait_for(play(int(sys.argv[1])), 20 * DEADLINE_S)))
