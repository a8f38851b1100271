"""The player: an app around pure drawing, holding the moment, the speed and whether it runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, cast

from textual import events
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.command import CommandPalette
from textual.driver import Driver
from textual.screen import Screen

from gpuflow.draw.bound import is_changed, keys_of, shown_key
from gpuflow.draw.view import Caption, PlayView, Scene
from gpuflow.engine.explore import subject_at
from gpuflow.engine.pace import Pace
from gpuflow.engine.timeline import Timeline
from gpuflow.tui.announcing import Announcer
from gpuflow.tui.commands import COMMANDS
from gpuflow.tui.driver import PlayerDriver
from gpuflow.tui.focus import Focusing
from gpuflow.tui.keymap import Keymap, Scope
from gpuflow.tui.kiosk import FORBIDDEN, IdleWatch
from gpuflow.tui.options import DEFAULT_FPS, PlayerOptions
from gpuflow.tui.playhead import Playhead
from gpuflow.tui.playing import Playing
from gpuflow.tui.predicting import Predicting
from gpuflow.tui.screens.explore import ExploreScreen
from gpuflow.tui.screens.pages import PAGES, ReadingPage
from gpuflow.tui.screens.play import PlayScreen
from gpuflow.tui.screens.whatif import PANEL_KEYS
from gpuflow.tui.terminal_app import TerminalApp
from gpuflow.tui.touring import HEARD_ON_TOUR, Touring
from gpuflow.tui.whatif import WhatIf

NOTICE_S = 12
"""Seconds a warning stays on the screen."""


class PlayerApp(TerminalApp):
    """Plays one timeline."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "page('primitives')", show=False),
        Binding("b", "page('basics')", show=False),
        Binding("g", "page('glossary')", show=False),
        Binding("x", "explore", show=False),
        Binding("n", "tour", show=False),
        Binding("question_mark,f1", "page('help')", show=False),
        Binding("L", "next_language", show=False),
    ]

    def __init__(self, timeline: Timeline, options: PlayerOptions) -> None:
        super().__init__(options)
        self.is_kiosk = options.is_kiosk
        self.use_command_palette = not options.is_kiosk
        self._idle = IdleWatch(options.idle_s) if options.idle_s else None
        self.fps = options.fps or DEFAULT_FPS
        self.playing = Playing(timeline, options)
        self.predicting = Predicting(self.playing, is_on=options.is_asking)
        self.what_if = WhatIf(timeline, options.vary, options.locks)
        self.caption: Caption | None = None
        """Words that stand where the step's own texts do, until somebody takes them away."""
        self.is_big = options.is_big
        self.keymap = Keymap(options.keys)
        self.focusing = Focusing(options.focus)
        self._play_screen = PlayScreen()
        self.announcer = Announcer(self)
        self.touring = Touring(self, is_by_itself=options.tours_by_itself)

    # ------------------------------------------------------------ what is shown

    @property
    def play_screen(self) -> PlayScreen:
        """The screen that is always there."""
        return self._play_screen

    @property
    def timeline(self) -> Timeline:
        """What is played."""
        return self.playing.timeline

    @property
    def pace(self) -> Pace:
        """Its screen time."""
        return self.playing.pace

    @property
    def playhead(self) -> Playhead:
        """The moment, the speed, and whether it runs."""
        return self.playing.playhead

    @property
    def scene(self) -> Scene:
        """The timeline in the language at hand."""
        return self.playing.scene(self.language)

    @property
    def step_index(self) -> int:
        """The step at the moment, from 0."""
        return self.playing.step_index

    def view(self, *, tab: int, page: int) -> PlayView:
        """The play screen at the moment."""
        asked, what_if = self.predicting, self.what_if
        mark = self.scene.word("ask.on") if asked.is_on else ""
        size = (self.size.width, self.size.height)
        view = PlayView(
            scene=self.scene,
            state=self.playing.moments.at(self.playhead.moment_s, is_covered=asked.is_covering),
            width=self.size.width,
            height=self.size.height,
            tab=tab,
            page=page,
            is_playing=self.playhead.is_playing,
            speed=self.playhead.speed,
            caption=asked.caption(self.scene, size) or self.caption,
            focus=self.focusing.within(self.scene.mesh),
            is_big=self.is_big,
            is_ascii=self.is_ascii,
            is_covered=asked.is_covering,
            panel=None if asked.question or not what_if.is_open else what_if.panel(self.playing),
            marks=tuple(filter(None, (mark, what_if.mark(self.scene, size[0])))),
        )
        return self.touring.captioned(view)

    def play_instead(self, playing: Playing) -> None:
        """Play something else of the same steps, from where this one is."""
        playing.go_on_from(self.playing)
        self.playing = playing
        self.predicting = Predicting(playing, is_on=self.predicting.is_on)
        self.predicting.look(is_jump=True)
        # A change that took long may come while something else is shown.
        if self.touring.is_on:
            self.call_later(self.touring.start)
        elif isinstance(self.screen, ExploreScreen):
            self.screen.redraw()

    @property
    def is_terminal_behind(self) -> bool:
        """Whether the terminal has not taken the last frame yet: better skip one than queue."""
        driver: Driver | None = self._driver
        return isinstance(driver, PlayerDriver) and driver.is_behind

    # ------------------------------------------------------------ Textual's hooks

    async def on_ready(self) -> None:
        """Open the collective that was asked for, and show what the viewer should know first."""
        self.watch_for_idleness()
        subject, number = self.options.explore, self.options.explore_round
        if subject is not None:
            is_playing = self.playhead.is_playing and not number
            await self.push_screen(ExploreScreen(subject, round_=number, is_playing=is_playing))
        if self.options.is_touring:
            await self.touring.start()
        if self.options.notice:
            self.notify(self.options.notice, severity="warning", timeout=NOTICE_S, markup=False)

    def get_default_screen(self) -> Screen[Any]:
        """The play screen is there from the start."""
        return self._play_screen

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Every command with its key, in the language at hand."""
        for name, action in COMMANDS:
            yield SystemCommand(
                self.scene.t(f"command.{name}"),
                self._keys_of(name),
                lambda action=action: self.run_command(action),
            )

    def _keys_of(self, command: str) -> str:
        """The keys of a command, as the palette writes them."""
        bound = self.options.keys
        if not is_changed(command, bound):
            return self.scene.t(f"command.{command}.keys")
        return " ".join(map(shown_key, keys_of(command, bound)))

    async def run_command(self, action: str) -> None:
        """Do what a command of the palette names."""
        await self.touring.mind(action)
        if action.startswith("play."):
            while isinstance(self.screen, (ReadingPage, ExploreScreen)):
                await self.pop_screen()
            await self.run_action(action.removeprefix("play."), self._play_screen)
        elif action.startswith("explore."):
            if not isinstance(self.screen, ExploreScreen):
                await self.action_explore()
            await self.run_action(action.removeprefix("explore."), self.screen)
        else:
            await self.run_action(action)

    def action_command_palette(self) -> None:
        """Search all commands, with the hint in the language at hand."""
        if self.use_command_palette and not CommandPalette.is_open(cast("App[object]", self)):
            placeholder = self.scene.t("palette.placeholder")
            self.push_screen(CommandPalette(placeholder=placeholder, id="--command-palette"))

    # ------------------------------------------------------------ actions

    async def action_page(self, name: str) -> None:
        """Open a page, or close it when it is open."""
        page = PAGES[name]
        if isinstance(self.screen, page):
            await self.pop_screen()
        elif await self._is_uncovered(page):
            return
        elif isinstance(self.screen, ReadingPage):
            await self.switch_screen(page())
        else:
            await self.push_screen(page())

    async def action_explore(self) -> None:
        """Open the explorer at the collective of the moment, or close it when it is open."""
        if isinstance(self.screen, ExploreScreen):
            await self.pop_screen()
        elif not await self._is_uncovered(ExploreScreen):
            subject = subject_at(self.timeline, self.playing.moments.at(self.playhead.moment_s))
            is_playing = self.playhead.is_playing
            await self.push_screen(ExploreScreen(subject, is_playing=is_playing))

    async def action_tour(self) -> None:
        """Begin the guided tour, or leave it."""
        if self.touring.is_on:
            await self.touring.leave()
            return
        await self._is_uncovered(PlayScreen)
        await self.touring.start()

    async def _is_uncovered(self, kind: type[Screen[Any]]) -> bool:
        """Go back to a screen of that kind, if there is one under the others."""
        if not any(isinstance(screen, kind) for screen in self.screen_stack):
            return False
        while not isinstance(self.screen, kind):
            await self.pop_screen()
        return True

    async def action_close_page(self) -> None:
        """Back to where the page was opened."""
        if isinstance(self.screen, (ReadingPage, ExploreScreen)):
            await self.pop_screen()

    async def action_next_language(self) -> None:
        """The other language, on every screen; ASCII has only one."""
        if self.is_ascii:
            self.bell()
            return
        self.language = "en" if self.language == "zh" else "zh"
        for screen in self.screen_stack:
            if isinstance(screen, (PlayScreen, ReadingPage, ExploreScreen)):
                await screen.rebuild()

    # ------------------------------------------------------------ kiosk

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key may do this here."""
        if self.is_kiosk and action in FORBIDDEN:
            return False
        return super().check_action(action, parameters)

    async def on_event(self, event: events.Event) -> None:
        """Whatever is pressed says that somebody is there."""
        if self._idle is not None and isinstance(event, events.InputEvent):
            self._idle.stir()
        scope = self._scope()
        if scope and isinstance(event, events.Key) and not event.is_forwarded:
            key = self.keymap.meant(event.key, scope)
            if key is None and not self._is_kept(event.key):
                return
            if key not in {None, event.key}:
                event = events.Key(str(key), None)
        is_key = isinstance(event, events.Key) and not event.is_forwarded
        if is_key and await self.touring.takes(cast("events.Key", event).key):
            return
        if isinstance(event, events.Key) and self._play_screen.is_answered_by(event.key):
            self._play_screen.answer()
            return
        await super().on_event(event)

    def _is_kept(self, key: str) -> bool:
        """Whether a key that its command has lost still is the panel's or the tour's."""
        is_panels = self.what_if.is_open and key in PANEL_KEYS
        return is_panels or (self.touring.is_on and key in HEARD_ON_TOUR)

    def _scope(self) -> Scope | None:
        """The kind of screen that keys are pressed on; None where words are typed."""
        if not self.screen_stack:
            return None
        if isinstance(self.screen, ExploreScreen):
            return "explore"
        if isinstance(self.screen, ReadingPage):
            return "page"
        return "play" if self.screen is self._play_screen else None

    def watch_for_idleness(self) -> None:
        """Leave when nobody has pressed a key for long enough; look again when that may be."""
        if self._idle is None:
            return
        if self._idle.left_s <= 0:
            self.exit(return_code=0)
        else:
            self.set_timer(self._idle.left_s + 0.01, self.watch_for_idleness)
