"""Frames of a play without a terminal: any moment, at one size, in one language."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from gpuflow.cells import cell_width
from gpuflow.draw.ascii import to_ascii
from gpuflow.draw.focus import Focus
from gpuflow.draw.frame import Frame, Row, Run
from gpuflow.draw.play import draw_play
from gpuflow.draw.questions import caption_from
from gpuflow.draw.scene import scene_of
from gpuflow.draw.view import PlayView, Scene
from gpuflow.engine.moment import Moments
from gpuflow.engine.pace import Pace
from gpuflow.engine.parts import still_moment
from gpuflow.scenario.spec import Language


@dataclass(frozen=True)
class Film:
    """A play that can be drawn at any moment."""

    pace: Pace
    language: Language
    columns: int
    rows: int
    is_ascii: bool = False
    """What ASCII has no signs for is said in English."""
    is_big: bool = False
    """For a room: little, and that in large."""
    focus: Focus | None = None
    """What of the cluster is looked at; None: all of it."""

    @cached_property
    def moments(self) -> Moments:
        """States by screen second."""
        return Moments(self.pace)

    @cached_property
    def scene(self) -> Scene:
        """The play in the language at hand."""
        return scene_of(self.moments, "en" if self.is_ascii else self.language)

    def frame(
        self,
        screen_s: float,
        *,
        is_playing: bool = False,
        speed: float = 1.0,
        size: tuple[int, int] | None = None,
    ) -> Frame:
        """The picture at a screen second; in another size (columns, rows) if one is given."""
        columns, rows = size or (self.columns, self.rows)
        view = PlayView(
            scene=self.scene,
            state=self.moments.at(screen_s),
            width=columns,
            height=rows,
            is_playing=is_playing,
            speed=speed,
            focus=self.focus,
            is_big=self.is_big,
            is_ascii=self.is_ascii,
        )
        return self._drawn(view)

    def question(self, screen_s: float) -> Frame:
        """The picture with the next question from a screen second on; its answer is covered."""
        size = (self.columns, self.rows)
        moment_s, caption = caption_from(self.scene, self.moments, screen_s, size)
        view = PlayView(
            scene=self.scene,
            state=self.moments.at(moment_s, is_covered=caption is not None),
            width=self.columns,
            height=self.rows,
            caption=caption,
            is_covered=caption is not None,
            marks=(self.scene.word("ask.on"),),
            is_playing=False,
            focus=self.focus,
            is_big=self.is_big,
            is_ascii=self.is_ascii,
        )
        return self._drawn(view)

    def _drawn(self, view: PlayView) -> Frame:
        frame = draw_play(view)
        return to_ascii(frame) if self.is_ascii else frame

    def still(self, step: int) -> Frame:
        """The picture that says most about a step, counted from 0."""
        return self.frame(still_moment(self.pace, step))


def row_part(row: Row, first: int, last: int) -> Row:
    """The cells from `first` up to `last`, which must not cut a wide character."""
    runs: list[Run] = []
    x = 0
    for text, role in row:
        kept = ""
        for character in text:
            if first <= x < last:
                kept += character
            x += cell_width(character)
        if kept:
            runs.append(Run(kept, role))
    return tuple(runs)
