"""Themes: what each role looks like. Read from gpuflow/data/themes/<name>.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

import yaml

from gpuflow.draw.roles import ROLES

_Loader: type[yaml.CSafeLoader] | type[yaml.SafeLoader] = getattr(
    yaml, "CSafeLoader", yaml.SafeLoader
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How text of one role is shown."""

    fg: str
    """Colour as #rrggbb."""
    bg: str
    bold: bool = False
    dim: bool = False
    underline: bool = False
    reverse: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """A look for every role."""

    name: str
    is_dark: bool
    background: str
    looks: Mapping[str, Look]

    def look(self, role: str) -> Look:
        """The look of a role.

        Raises:
            KeyError: No such role: a bug.
        """
        return self.looks[role]


THEMES = ("dark", "light", "high-contrast", "colour-blind-safe", "16-colour")
"""Names, in the order in which the player goes through them."""


_LIGHT_GROUNDS = frozenset({7, *range(9, 16)})
"""Of the sixteen colours those that dark words stand out from."""


def theme_for(environ: Mapping[str, str], *, colours: int = 256) -> str:
    """The theme that suits a terminal by what it says of itself.

    Args:
        environ: COLORFGBG, where set, ends in the number of the ground's colour.
        colours: How many the terminal has.

    Example:
        >>> theme_for({"COLORFGBG": "0;15"}), theme_for({}), theme_for({}, colours=16)
        ('light', 'dark', '16-colour')
    """
    if colours <= 16:
        return "16-colour"
    ground = environ.get("COLORFGBG", "").rpartition(";")[2]
    is_light = ground.isascii() and ground.isdigit() and int(ground[:3]) in _LIGHT_GROUNDS
    return "light" if is_light else "dark"


@cache
def load_theme(name: str) -> Theme:
    """The theme of that name.

    Raises:
        KeyError: There is none, or it lacks a role.
    """
    if name not in THEMES:
        raise KeyError(name)
    file = resources.files("gpuflow") / "data" / "themes" / f"{name}.yaml"
    data = yaml.load(file.read_text("utf-8"), _Loader)
    background = data["background"]
    looks = {role: Look(**{"bg": background, **data["roles"][role]}) for role in ROLES}
    return Theme(name=name, is_dark=data["dark"], background=background, looks=looks)


MONOCHROME: Mapping[str, frozenset[str]] = {
    "strong": frozenset({"bold"}),
    "title": frozenset({"bold"}),
    "clock": frozenset({"bold"}),
    "border_lit": frozenset({"bold"}),
    "tp": frozenset({"bold"}),
    "pp": frozenset({"bold"}),
    "ep": frozenset({"bold"}),
    "host": frozenset({"bold"}),
    "compute": frozenset({"bold"}),
    "reduce": frozenset({"bold", "underline"}),
    "good": frozenset({"bold"}),
    "bad": frozenset({"bold", "underline"}),
    "warn": frozenset({"underline"}),
    "badge_prefill": frozenset({"reverse"}),
    "badge_decode": frozenset({"reverse", "bold"}),
    "tab_open": frozenset({"bold", "underline"}),
    "key": frozenset({"bold"}),
    "accent": frozenset({"bold"}),
    "dim": frozenset({"dim"}),
    "subtitle": frozenset({"dim"}),
    "border": frozenset({"dim"}),
    "tp_dim": frozenset({"dim"}),
    "pp_dim": frozenset({"dim"}),
    "ep_dim": frozenset({"dim"}),
    "kv_free": frozenset({"dim"}),
}
"""Attributes that stand in for colour where the user wants none; absent roles are plain."""
