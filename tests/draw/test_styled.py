"""Roles of the runs on some screens, and the look of every role: changed colours show up here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpuflow.draw.frame import Frame
from gpuflow.draw.roles import ROLES
from gpuflow.draw.theme import MONOCHROME, THEMES, load_theme

Approved = Callable[[str, str], None]
STYLED = ("all-reduce", "what-if", "question", "explore", "primitives")
"""Screens that between them hold nearly every role."""


def styled(frame: Frame) -> str:
    """Rows with each run in its role, `<role>text</>`; plain text is left bare."""
    rows = (
        "".join(
            run.text if run.role == "text" or not run.text.strip() else f"<{run.role}>{run.text}</>"
            for run in row
        ).rstrip()
        for row in frame.rows
    )
    return "\n".join(rows)


def look_in(theme: str, role: str) -> str:
    """The look of a role in a theme, in a few words."""
    look = load_theme(theme).look(role)
    marks = [name for name in ("bold", "dim", "underline", "reverse") if getattr(look, name)]
    return " ".join((look.fg, *([f"on {look.bg}"] if look.bg != BARE[theme] else []), *marks))


BARE = {name: load_theme(name).background for name in THEMES}


@pytest.mark.parametrize("name", STYLED)
def test_every_run_has_the_role_that_was_approved(
    name: str, screens: Any, approved: Approved
) -> None:
    approved(f"styled-{name}", styled(screens.frame(name, (80, 24), "en")))


def test_every_role_has_the_look_that_was_approved(approved: Approved) -> None:
    lines = []
    for theme in THEMES:
        lines += [f"{theme} on {BARE[theme]}"]
        lines += [f"  {role:<14} {look_in(theme, role)}" for role in ROLES]
    lines += ["no colour"]
    lines += [
        f"  {role:<14} {' '.join(sorted(MONOCHROME.get(role, ())))}".rstrip() for role in ROLES
    ]
    approved("looks", "\n".join(lines))


def test_the_screens_with_approved_roles_hold_nearly_all_of_them(screens: Any) -> None:
    shown = {
        run.role
        for name in STYLED
        for row in screens.frame(name, (80, 24), "en").rows
        for run in row
    }
    assert len(set(ROLES) - shown) <= 8, set(ROLES) - shown
