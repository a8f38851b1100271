from __future__ import annotations

from collections.abc import Callable

import pytest

from gpuflow.cells import cell_width
from gpuflow.draw.roles import ROLES
from gpuflow.engine.requirements import requirement_table
from gpuflow.scenario.spec import Language
from gpuflow.tui.app import PlayerApp
from gpuflow.tui.tables import table_frame
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
