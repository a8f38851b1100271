from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from gpuflow.cells import cell_width
from gpuflow.draw.roles import ROLES
from gpuflow.engine.requirements import requirement_table
from gpuflow.engine.timeline import Recording
from gpuflow.scenario.spec import Language
from gpuflow.tui.app import PlayerApp
from gpuflow.tui.options import PlayerOptions
from gpuflow.tui.tables import table_frame
from gpuflow.tui.widgets.sheet import Sheet
from gpuflow.words import t


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("width", [1, 20, 40, 79, 99, 119, 199])
@pytest.mark.parametrize("name", ["tp2-pp2", "moe-ep4"])
def test_the_table_is_whole_at_every_width(
    name: str, width: int, language: Language, make_app: Callable[..., PlayerApp]
) -> None:
    table = requirement_table(make_app(name).timeline.scenario)
    frame = table_frame(table, language, width)
    assert {sum(cell_width(run.text) for run in row) for row in frame.rows} == {width}
    assert {run.role for row in frame.rows for run in row} <= set(ROLES)
    assert not any("\ue000" <= sign <= "\ue002" for sign in frame.text())
    if width >= 40:
        whole = "".join(frame.text().split()).replace("•", "")
        for name in ("tp_decode", "tp_prefill", "pp", "ep"):
            assert "".join(t(f"conclusion.{name}.rule", language).split()) in whole
        assert "…" not in whole


def test_the_verdicts_have_their_colours(make_app: Callable[..., PlayerApp]) -> None:
    table = requirement_table(make_app().timeline.scenario)
    frame = table_frame(table, "en", 199)
    verdicts = {run.role for row in frame.rows for run in row if "✓ ok" in run.text}
    assert verdicts == {"good"}


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_recording_has_the_rules_alone_and_says_why(
    language: Language, make_app: Callable[..., PlayerApp]
) -> None:
    recording = Recording(file="x", rank=0, has_model=False, has_layers=False, has_phase=False)
    timeline = replace(make_app().timeline, recording=recording)
    app = PlayerApp(timeline, PlayerOptions(language=language, is_playing=False))
    shown: list[str] = []

    async def session() -> None:
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("t")
            await pilot.pause()
            frame = app.screen.query_one("#table", Sheet).shown
            assert frame is not None
            shown.append(frame.text())

    asyncio.run(session())
    whole = "".join(shown[0].split())
    assert "".join(t("table.recorded", language).split()) in whole
    assert "".join(t("conclusion.pp.rule", language).split()) in whole
    for claimed in (timeline.scenario.model.title, "TP2", "✓", timeline.scenario.profile.name):
        assert claimed not in whole
