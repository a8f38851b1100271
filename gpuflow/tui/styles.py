"""From a theme's looks to rich styles and to a Textual theme."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rich.style import Style

from gpuflow.draw.theme import MONOCHROME, Theme, load_theme

if TYPE_CHECKING:
    from textual.theme import Theme as TextualTheme


@lru_cache(maxsize=256)
def role_style(theme_name: str, role: str, *, has_color: bool) -> Style:
    """The style of a role in a theme; attributes alone where the user wants no colour."""
    if not has_color:
        attributes = MONOCHROME.get(role, frozenset())
        return Style(
            bold="bold" in attributes,
            dim="dim" in attributes,
            underline="underline" in attributes,
            reverse="reverse" in attributes,
        )
    look = load_theme(theme_name).look(role)
    return Style(
        color=look.fg,
        bgcolor=look.bg,
        bold=look.bold,
        dim=look.dim,
        underline=look.underline,
        reverse=look.reverse,
    )


def textual_theme(theme: Theme) -> TextualTheme:
    """The same colours for Textual's own widgets: footer, command palette, scroll bars."""
    # Styles are also wanted before Textual is loaded.
    from textual.theme import Theme as TextualTheme

    def fg(role: str) -> str:
        return theme.look(role).fg

    return TextualTheme(
        name=theme_id(theme.name),
        primary=fg("tp"),
        secondary=fg("pp"),
        accent=fg("accent"),
        warning=fg("warn"),
        error=fg("bad"),
        success=fg("good"),
        foreground=fg("text"),
        background=theme.background,
        surface=theme.background,
        panel=theme.background,
        dark=theme.is_dark,
        variables={
            "footer-background": theme.background,
            "footer-item-background": theme.background,
            "footer-key-background": theme.background,
            "footer-description-background": theme.background,
            "footer-foreground": fg("dim"),
            "footer-key-foreground": fg("key"),
            "footer-description-foreground": fg("dim"),
            "scrollbar": fg("border"),
            "scrollbar-hover": fg("border_lit"),
            "scrollbar-active": fg("border_lit"),
            "scrollbar-background": theme.background,
            "scrollbar-background-hover": theme.background,
            "scrollbar-background-active": theme.background,
            "scrollbar-corner-color": theme.background,
        },
    )


def theme_id(name: str) -> str:
    """Textual's name of one of our themes."""
    return f"gpuflow-{name}"
