"""The first rows: the clock at the left (it ticks), then step, phase, and what is played."""

from __future__ import annotations

from pathlib import PurePath

from gpuflow.cells import cell_width, pad, sanitise
from gpuflow.draw.canvas import Canvas, Piece
from gpuflow.draw.view import PlayView
from gpuflow.engine.timeline import Recording

PLAYING, PAUSED = "⏵", "⏸"
_LEAST_MARK = 8
"""Cells from which a mark that is cut still says something."""


def clock_text(time_s: float) -> str:
    """Simulated time in a unit that does not change while it runs, to the microsecond.

    Example:
        >>> clock_text(0.00150312), clock_text(12.5)
        ('1.503 ms', '12.500 s')
    """
    return f"{time_s * 1e3:.3f} ms" if time_s < 1 else f"{time_s:.3f} s"


def slowdown_text(view: PlayView) -> str:
    """How much slower (÷) or faster (×) than life the picture runs, to two digits."""
    slowdown = view.state.slowdown / view.speed
    if slowdown <= 0:
        return view.scene.t("header.still")
    factor = slowdown if slowdown >= 1 else 1 / slowdown
    sign = "÷" if slowdown >= 1 else "×"
    return f"{sign}{_two_digits(factor)}"


def _two_digits(value: float) -> str:
    if value >= 999_500:
        return f"{_two_digits(value / 1e6)} M"
    if value < 10:
        return f"{value:.1f}".removesuffix(".0")
    size = 10 ** (len(str(int(value))) - 2)
    return f"{round(value / size) * size:,}"


def setup_forms(view: PlayView) -> list[str]:
    """What is played, longest form first.

    Where options replaced what the scenario's name speaks of, the split stands for the name.
    """
    scenario = view.scene.timeline.scenario
    if view.scene.timeline.recording is not None:
        return _recorded_forms(view, view.scene.timeline.recording)
    p, w = scenario.parallel, scenario.workload
    gpus = f"{p.world}×{scenario.cluster.device.title}"
    split = "×".join(
        f"{name}{size}" for name, size in (("TP", p.tp), ("PP", p.pp), ("DP", p.dp)) if size > 1
    )
    if view.scene.has_dispatch:
        split = f"{split} EP{p.ep}".strip()
    model = f"{scenario.model.title} {scenario.precision}"
    profile = view.scene.t("header.profile", name=scenario.profile.name)
    work = view.scene.t("header.workload", prompt=w.prompt_tokens, output=w.output_tokens)
    own = "" if scenario.is_altered else scenario.name
    name = own or split
    forms = (
        (own, model, gpus, scenario.cluster.scale_up.title, split, work, profile),
        (own, model, gpus, split, work, profile),
        (own, model, gpus, split, profile),
        (name, scenario.model.title, gpus, profile),
        (name, scenario.model.title, gpus, scenario.profile.name),
        (name, scenario.model.title, scenario.profile.name),
        (name, scenario.profile.name),
        (scenario.profile.name,),
    )
    return [" · ".join(part for part in form if part) for form in forms]


def _recorded_forms(view: PlayView, recording: Recording) -> list[str]:
    """Which trace is played, longest form first; what it does not say is left out."""
    scenario = view.scene.timeline.scenario
    file = sanitise(PurePath(recording.file).name)
    measured = view.scene.t("header.recorded")
    gpus = f"{scenario.parallel.world}×{sanitise(scenario.cluster.device.title)}"
    model = scenario.model.title if recording.has_model else ""
    forms = ((file, model, gpus, measured), (file, gpus, measured), (gpus, measured), (measured,))
    return [" · ".join(part for part in form if part) for form in forms]


def phase_name(view: PlayView) -> str:
    """The phase of the step; of a recording that does not say which, that it is one."""
    recording = view.scene.timeline.recording
    is_known = recording is None or recording.has_phase
    return view.state.step.phase.upper() if is_known else view.scene.t("header.recorded_badge")


def draw_header(canvas: Canvas, view: PlayView, rows: int) -> None:
    """One row, or two with the title and the line under it.

    Args:
        canvas: Where to draw.
        view: The moment.
        rows: 1 or 2.
    """
    scene = view.scene
    y = rows - 1
    x = _moment(canvas, view, y, is_short=rows == 1)
    if rows == 1:
        _setup(canvas, view, x + 1, y)
        return
    room = canvas.width - x - 3
    forms = (scene.word("app.subtitle"), scene.word("app.subtitle.short"))
    subtitle = next((form for form in forms if cell_width(form) <= room), "")
    canvas.put_right(canvas.width - 1, y, (Piece(subtitle, "subtitle"),), width=max(room, 0))
    end = canvas.put(1, 0, scene.word("app.title"), "title")
    _setup(canvas, view, end + 2, 0)


def _moment(canvas: Canvas, view: PlayView, y: int, *, is_short: bool) -> int:
    """Clock, slow-down, step and phase; returns the cell after them."""
    state, scene = view.state, view.scene
    canvas.put(1, y, PLAYING if view.is_playing else PAUSED, "accent")
    canvas.put_right(13, y, (Piece(clock_text(state.time_s), "clock"),), width=10)
    x = canvas.put(14, y, f"{pad(slowdown_text(view), 8)} ", "dim")
    if not is_short and view.speed != 1:
        x = canvas.put(x, y, f"{scene.t('header.speed', speed=f'{view.speed:g}')}  ", "accent")
    short = f"{state.step.index + 1}/{len(scene.texts)}"
    step = scene.t("header.step", step=state.step.index + 1, steps=len(scene.texts))
    x = canvas.put(x, y, f"{short if is_short else step} ", "strong")
    x = canvas.put(x, y, f" {phase_name(view)} ", f"badge_{state.step.phase}")
    for mark in view.marks:
        room = canvas.width - x - 2
        if cell_width(mark) <= room or room >= _LEAST_MARK:
            x = canvas.put(x + 1, y, mark, "accent", width=room)
    return x


def _setup(canvas: Canvas, view: PlayView, x: int, y: int) -> None:
    room = canvas.width - x - 1
    forms = setup_forms(view)
    form = next((form for form in forms if cell_width(form) <= room), forms[-1])
    if cell_width(form) <= room:
        canvas.put_right(canvas.width - 1, y, (Piece(form, "dim"),), width=room)
