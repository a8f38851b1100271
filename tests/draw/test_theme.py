from __future__ import annotations

import pytest

from gpuflow.draw.roles import CLASS_ROLES, ROLES, at_rest
from gpuflow.draw.theme import MONOCHROME, THEMES, load_theme, theme_for

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


@pytest.mark.parametrize(
    ("environ", "colours", "name"),
    [
        ({}, 256, "dark"),
        ({"COLORFGBG": "15;0"}, 1 << 24, "dark"),
        ({"COLORFGBG": "0;15"}, 256, "light"),
        ({"COLORFGBG": "0;default;7"}, 256, "light"),
        ({"COLORFGBG": "15;default"}, 256, "dark"),
        ({"COLORFGBG": "0;8"}, 256, "dark"),
        ({"COLORFGBG": "nonsense"}, 256, "dark"),
        ({"COLORFGBG": "0;15"}, 16, "16-colour"),
    ],
)
def test_the_theme_follows_what_the_terminal_says(
    environ: dict[str, str], colours: int, name: str
) -> None:
    assert theme_for(environ, colours=colours) == name


def test_high_contrast_is_higher_still() -> None:
    theme = load_theme("high-contrast")
    looks = [theme.look(role) for role in ROLES if role not in LINES_ONLY]
    assert min(contrast(look.fg, look.bg) for look in looks) >= 7


VGA = {
    f"#{red:02x}{green:02x}{blue:02x}"
    for red, green, blue in (
        *((0, 0, 0), (170, 0, 0), (0, 170, 0), (170, 85, 0), (0, 0, 170), (170, 0, 170)),
        *((0, 170, 170), (170, 170, 170), (85, 85, 85), (255, 85, 85), (85, 255, 85)),
        *((255, 255, 85), (85, 85, 255), (255, 85, 255), (85, 255, 255), (255, 255, 255)),
    )
}


def test_sixteen_colours_are_the_sixteen() -> None:
    theme = load_theme("16-colour")
    assert {colour for role in ROLES for colour in (theme.look(role).fg, theme.look(role).bg)} <= (
        VGA
    )


SIGHT = {
    "protan": ((0.11238, 0.88762, 0.0), (0.11238, 0.88762, 0.0), (0.00401, -0.00401, 1.0)),
    "deutan": ((0.29275, 0.70725, 0.0), (0.29275, 0.70725, 0.0), (-0.02234, 0.02234, 1.0)),
}
"""Linear RGB as dichromats see it: Vienot, Brettel and Mollon 1999."""


def seen(colour: str, sight: str) -> tuple[float, ...]:
    """Each channel 0..1 as the eye weighs it, after what the eye mixes up is mixed up."""
    linear = [(int(colour[i : i + 2], 16) / 255) ** 2.2 for i in (1, 3, 5)]
    mixed = (sum(a * b for a, b in zip(row, linear, strict=True)) for row in SIGHT[sight])
    return tuple(max(value, 0.0) ** (1 / 2.2) for value in mixed)


@pytest.mark.parametrize("sight", SIGHT)
def test_classes_and_verdicts_differ_to_colour_blind_eyes(sight: str) -> None:
    theme = load_theme("colour-blind-safe")
    for roles in (("tp", "pp", "ep"), ("good", "warn", "bad")):
        looks = [seen(theme.look(role).fg, sight) for role in roles]
        for i, one in enumerate(looks):
            for other in looks[:i]:
                assert max(abs(a - b) for a, b in zip(one, other, strict=True)) > 0.2
