"""What a frame of the play screen takes with few and many GPUs, and how soon the first is there."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

from measure import Measure

from gpuflow.draw.play import draw_play
from gpuflow.draw.scene import scene_of
from gpuflow.draw.view import PlayView
from gpuflow.engine.moment import Moments
from gpuflow.engine.pace import Pace
from gpuflow.engine.simulate import simulate
from gpuflow.scenario.load import DEFAULT_SCENARIO, Overrides, load_scenario

SIZE = (120, 40)
MOMENTS = 60
"""Frames of a play, evenly over its screen time."""
REPEATS = 5
LIMIT = 3.0
"""Times a frame of four GPUs."""
START_S = 2.0
BASE = "four GPUs, the default scenario"
SPLITS: dict[str, Overrides] = {
    "1": Overrides(tp=1, pp=1),
    "8": Overrides(tp=8, pp=1),
    "64": Overrides(model="llama-3-70b", tp=8, pp=8),
    "1024": Overrides(model="llama-3-70b", tp=8, pp=16, dp=8),
    "1024_replicas": Overrides(tp=8, pp=1, dp=128),
    "256_experts": Overrides(model="deepseek-v3", tp=1, pp=1, dp=256, ep=256),
    "1024_experts": Overrides(model="deepseek-v3", tp=4, pp=1, dp=256, ep=256),
}
"""By what the line is called."""


class Reel:
    """A play whose frames are drawn one after the other, each from its moment on."""

    def __init__(self, changes: Overrides) -> None:
        begin = time.perf_counter()
        self.moments = Moments(Pace(simulate(load_scenario(DEFAULT_SCENARIO, changes))))
        self.scene = scene_of(self.moments, "en")
        self._draw(0.0)
        self.start_s = time.perf_counter() - begin

    def _draw(self, screen_s: float) -> None:
        state = self.moments.at(screen_s)
        draw_play(PlayView(scene=self.scene, state=state, width=SIZE[0], height=SIZE[1]))

    def frame_s(self) -> float:
        """Mean time of a frame."""
        lasts_s = self.moments.pace.duration_s
        begin = time.perf_counter()
        for i in range(MOMENTS):
            self._draw((i + 0.5) / MOMENTS * lasts_s)
        return (time.perf_counter() - begin) / MOMENTS


def measure() -> Iterator[Measure]:
    """A frame of every split beside one of four GPUs, timed in turn, and the longest start."""
    four = Reel(Overrides())
    starts = [four.start_s]
    for name, changes in SPLITS.items():
        reel = Reel(changes)
        starts.append(reel.start_s)
        reel.frame_s(), four.frame_s()
        pairs = [(reel.frame_s(), four.frame_s()) for _ in range(REPEATS)]
        value_s, base_s = (statistics.median(times) for times in zip(*pairs, strict=True))
        yield Measure(f"frame_{name}", value_s * 1e3, "ms", base_s * 1e3, BASE, LIMIT)
    yield Measure("start_of_play", max(starts), "s", START_S, "the time allowed")
