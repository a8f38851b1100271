"""The play screen: the Frame, the foldable table over its lower part, the footer."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from gpuflow.draw.big import fits_big
from gpuflow.draw.keys import hints, key_rows
from gpuflow.draw.play import draw_play, fits, page_count
from gpuflow.draw.stage import stage_at_work
from gpuflow.draw.strip import step_in_strip
from gpuflow.draw.view import TABS, Mode
from gpuflow.tui.big_steps import go_on, hold
from gpuflow.tui.predicting import PASSING
from gpuflow.tui.screens.whatif import OPENING, PANEL_BINDINGS, WhatIfKeys
from gpuflow.tui.tables import table_frame
from gpuflow.tui.widgets.canvas import FrameCanvas
from gpuflow.tui.widgets.keybar import KeyBar
from gpuflow.tui.widgets.sheet import Sheet

STAGE_ROWS = 9
"""Rows of the picture that an unfolded table leaves in sight."""


class PlayScreen(WhatIfKeys):
    """Shows the moment and lets time pass."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *PANEL_BINDINGS,
        OPENING,
        Binding("right,l", "step(1)", show=False),
        Binding("left,h,backspace", "step(-1)", show=False),
        Binding("home", "edge(0)", show=False),
        Binding("end,G", "edge(1)", show=False),
        Binding("space,p", "play", show=False),
        Binding("plus,equals_sign", "speed(1)", show=False),
        Binding("minus", "speed(-1)", show=False),
        *(Binding(str(n), f"jump({n})", show=False) for n in range(1, 9)),
        Binding("full_stop", "event(1)", show=False),
        Binding("comma", "event(-1)", show=False),
        Binding("tab", "next_text", show=False),
        Binding("r", "restart", show=False),
        Binding("t", "table", show=False),
        Binding("z", "zoom(1)", show=False),
        Binding("Z", "zoom(-1)", show=False),
        Binding("right_square_bracket", "focus_next(1)", show=False),
        Binding("left_square_bracket", "focus_next(-1)", show=False),
        Binding("f", "follow", show=False),
        Binding("a", "ask", show=False),
        Binding("B", "big", show=False),
        Binding("escape", "fold", show=False),
        Binding("up", "scroll_table(-1)", show=False),
        Binding("down", "scroll_table(1)", show=False),
        # a presenter's remote sends the page keys
        Binding("k", "turn(-1, 1)", show=False),
        Binding("j", "turn(1, 1)", show=False),
        Binding("pageup", "turn(-1, 8)", show=False),
        Binding("pagedown", "turn(1, 8)", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.tab = 0
        self.page = 0
        self.is_unfolded = False
        self._mode: Mode = "play"

    def compose(self) -> ComposeResult:
        """Picture, table, footer."""
        yield FrameCanvas(has_color=self.player.has_color)
        yield Sheet(has_color=self.player.has_color, id="table")
        yield KeyBar(lambda: hints(self.player.language, self.player.options.keys, mode=self._mode))

    # ------------------------------------------------------------ time

    def on_mount(self) -> None:
        """A question may come first; Textual calls the handler of the base class after this."""
        self.player.predicting.look(is_jump=True)

    @property
    def is_moving(self) -> bool:
        """Whether it plays."""
        return self.player.playhead.is_playing

    def pass_time(self, elapsed_s: float) -> None:
        """Let the play go on; every step's text begins at its first page."""
        step = self.player.step_index
        self.player.playing.let_pass(elapsed_s)
        if self.player.is_big:
            hold(self.player.playing, step)
        self.player.predicting.look()
        self.player.touring.look()
        if self.player.step_index != step:
            self.page = 0

    # ------------------------------------------------------------ picture

    async def rebuild(self) -> None:
        """Everything that depends on size or language."""
        if not self.can_show:
            return
        bar = self.query_one(KeyBar)
        is_big = self.player.is_big and fits_big(*self.app.size)
        bar.set_class(is_big or not fits(*self.app.size), "-hidden")
        await bar.rebuild()
        self.redraw()

    def redraw(self) -> None:
        """Show the moment."""
        if not self.can_show:
            return
        view = self.player.view(tab=self.tab, page=self.page)
        self.query_one(FrameCanvas).show(draw_play(view), self.player.look)
        bar = self.query_one(KeyBar)
        if view.mode != self._mode:
            self._mode = view.mode
            self.call_later(bar.rebuild)
        self.player.announcer.look()
        if self.is_unfolded:
            self._show_table(0 if bar.has_class("-hidden") else key_rows(view))

    def _show_table(self, bar_rows: int) -> None:
        """The table above the footer, which has so many rows."""
        width, height = self.app.size
        sheet = self.query_one("#table", Sheet)
        # One column is left for the scroll bar.
        table = self.player.playing.requirements
        before = self.player.what_if.original_table()
        is_recorded = self.player.playing.timeline.recording is not None
        frame = table_frame(
            table, self.player.language, max(width - 1, 1), before, is_recorded=is_recorded
        )
        # A small screen has no picture to leave in sight.
        room = height - bar_rows - (STAGE_ROWS if fits(width, height) else 1)
        sheet.styles.height = max(min(frame.height + 1, room), 3)
        sheet.styles.margin = (0, 0, bar_rows, 0)
        sheet.show(frame, self.player.look)

    # ------------------------------------------------------------ keys

    def _moved(self, *, is_jump: bool = False) -> None:
        self.page = 0
        self.player.predicting.look(is_jump=is_jump)
        self.redraw()
        self.keep_time()

    def action_step(self, way: int) -> None:
        """Next or previous step."""
        self.player.playing.go_step(self.player.step_index + way)
        self._moved()

    def action_turn(self, way: int, rows: int) -> None:
        """Next or previous step; of the unfolded table, rows on or back."""
        if self.is_unfolded:
            self.action_scroll_table(way * rows)
        else:
            self.action_step(way)

    def action_edge(self, is_last: int) -> None:
        """To the first or the last step."""
        self.action_jump(len(self.player.timeline.steps) if is_last else 1)

    def action_jump(self, number: int) -> None:
        """To a step by its number, from 1."""
        self.player.playing.go_step(number - 1)
        self._moved(is_jump=True)

    def on_click(self, event: events.Click) -> None:
        """A click on the strip goes to the step there."""
        canvas = self.query_one(FrameCanvas)
        if event.widget is canvas and canvas.shown and event.y < canvas.shown.height:
            step = step_in_strip(canvas.shown.rows[event.y], event.x)
            if step is not None:
                self.action_jump(step + 1)

    def action_event(self, way: int) -> None:
        """One event on or back, and pause."""
        self.player.playhead.go_event(self.player.pace.events, way)
        self._moved()

    def action_zoom(self, way: int) -> None:
        """Nearer or farther: all stages, one, a group of GPUs, a single one."""
        if not self.player.focusing.zoom(self.player.scene.mesh, way):
            self.app.bell()
        self.redraw()

    def action_focus_next(self, way: int) -> None:
        """The next or previous stage, group or GPU, whichever is looked at."""
        if not self.player.focusing.move(self.player.scene.mesh, way, self._at_work()):
            self.app.bell()
        self.redraw()

    def action_follow(self) -> None:
        """Follow the GPU that is looked at, or let go of it."""
        self.player.focusing.follow(self.player.scene.mesh, self._at_work())
        self.redraw()

    def _at_work(self) -> int | None:
        return stage_at_work(self.player.view(tab=self.tab, page=self.page))

    def action_restart(self) -> None:
        """Play from the start."""
        self.player.playhead.restart()
        self._moved(is_jump=True)

    def action_play(self) -> None:
        """Play or pause; in big mode, at the end of a step, play the next."""
        if not (self.player.is_big and go_on(self.player.playing)):
            self.player.playhead.toggle()
        self.player.predicting.look()
        self.redraw()
        self.keep_time()

    def action_speed(self, steps: int) -> None:
        """Faster or slower."""
        self.player.playhead.change_speed(steps)
        self.redraw()

    def action_next_text(self) -> None:
        """Next page of the text, then the next text."""
        if self.page + 1 < self._pages():
            self.page += 1
        elif self.player.view(tab=self.tab, page=self.page).caption is not None:
            self.page = 0
        else:
            self.tab, self.page = (self.tab + 1) % len(TABS), 0
        self.redraw()

    def _pages(self) -> int:
        return page_count(self.player.view(tab=self.tab, page=self.page))

    def action_table(self) -> None:
        """Unfold or fold the table."""
        self.is_unfolded = not self.is_unfolded
        sheet = self.query_one("#table", Sheet)
        sheet.display = self.is_unfolded
        if not self.is_unfolded:
            # The next key may come before Textual has seen that nothing of it shows any more.
            self.set_focus(None)
        sheet.scroll_home(animate=False)
        self.redraw()

    async def action_big(self) -> None:
        """Big mode, or all of it."""
        self.player.is_big = not self.player.is_big
        self.page = 0
        await self.rebuild()

    def action_ask(self) -> None:
        """Ask before results, or no more."""
        self.player.predicting.toggle()
        self.page = 0
        self.redraw()
        self.keep_time()

    def is_answered_by(self, key: str) -> bool:
        """Whether a key goes on with the open question instead of doing what it usually does."""
        if self.app.screen is not self or self.player.predicting.question is None:
            return False
        bound = self.active_bindings.get(key)
        action = bound.binding.action if bound else ""
        if action == "next_text" and self.page + 1 < self._pages():
            return False
        return action.removeprefix("app.") not in PASSING

    def answer(self) -> None:
        """Show the answer to the open question, or go on after it."""
        self.player.predicting.press()
        self.page = 0
        self.redraw()
        self.keep_time()

    def action_fold(self) -> None:
        """Fold the table."""
        if self.is_unfolded:
            self.action_table()

    def action_scroll_table(self, rows: int) -> None:
        """Move the unfolded table."""
        if self.is_unfolded:
            self.query_one("#table", Sheet).scroll_relative(y=rows, animate=False)
