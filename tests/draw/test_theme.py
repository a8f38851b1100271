from __future__ import annotations

import pytest

from gpuflow.draw.roles import CLASS_ROLES, ROLES, at_rest
from gpuflow.draw.theme import MONOCHROME, THEMES, load_theme

LINES_ONLY = {"border", "border_lit", "kv", "kv_free"}
"""Roles that never hold words."""


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2) of #rrggbb."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("name", THEMES)
def test_words_stand_out_from_their_ground(name: str) -> None:
    theme = load_theme(name)
    weak = {
        role: round(contrast(theme.look(role).fg, theme.look(role).bg), 2)
        for role in ROLES
        if role not in LINES_ONLY and contrast(theme.look(role).fg, theme.look(role).bg) < 4.5
    }
    assert weak == {}


@pytest.mark.parametrize("name", THEMES)
def test_the_three_classes_differ_from_each_other_and_from_their_rest(name: str) -> None:
    theme = load_theme(name)
    looks = [theme.look(role) for role in ("tp", "pp", "ep", "tp_dim", "pp_dim", "ep_dim")]
    assert len({look.fg for look in looks}) == 6


def test_without_colour_what_is_bright_still_differs_from_what_rests() -> None:
    assert set(MONOCHROME) <= set(ROLES)
    for role in {*CLASS_ROLES.values()} - {"host"}:
        assert MONOCHROME[role] != MONOCHROME[at_rest(role)]


def test_an_unknown_theme_is_an_error() -> None:
    with pytest.raises(KeyError):
        load_theme("no-such-theme")
