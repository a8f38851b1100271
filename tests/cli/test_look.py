"""What a player looks like: options first, then the config file, then what is usual."""

from __future__ import annotations

import io
from typing import Any

import pytest

from gpuflow.cli.config import Config
from gpuflow.cli.look import player_look
from gpuflow.cli.output import Output
from gpuflow.cli.streams import Streams
from gpuflow.tui.options import PlayerOptions


def output_with(config: Config) -> Output:
    streams = Streams(io.StringIO(), io.StringIO(), io.StringIO())
    return Output(streams, "play", "zh", "table", has_color=True, width=80, config=config)


def test_without_wishes_a_player_is_as_usual() -> None:
    assert player_look(output_with(Config())) == PlayerOptions(language="zh")


def test_the_config_file_decides_where_no_option_does() -> None:
    own = Config(keys={"quit": ("x",)}, theme="light", fps=4.0, is_ascii=True)
    look = player_look(output_with(own))
    assert (look.theme_name, look.fps, look.is_ascii) == ("light", 4.0, True)
    assert look.keys == {"quit": ("x",)}


@pytest.mark.parametrize(
    ("wishes", "field", "value"),
    [
        ({"theme": "dark"}, "theme_name", "dark"),
        ({"fps": 20.0}, "fps", 20.0),
        ({"speed": 2.0}, "speed", 2.0),
        ({"is_ascii": True}, "is_ascii", True),
        ({"is_still": True}, "is_animated", False),
    ],
)
def test_an_option_comes_before_the_config_file(
    wishes: dict[str, Any], field: str, value: object
) -> None:
    look = player_look(output_with(Config(theme="light", fps=4.0)), **wishes)
    assert getattr(look, field) == value
