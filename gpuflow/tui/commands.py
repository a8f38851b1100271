"""Everything that the palette offers by name."""

from __future__ import annotations

COMMANDS: tuple[tuple[str, str], ...] = (
    ("next_step", "play.step(1)"),
    ("previous_step", "play.step(-1)"),
    ("first_step", "play.edge(0)"),
    ("last_step", "play.edge(1)"),
    ("play", "play.play"),
    ("faster", "play.speed(1)"),
    ("slower", "play.speed(-1)"),
    *((f"jump.{n}", f"play.jump({n})") for n in range(1, 9)),
    ("next_event", "play.event(1)"),
    ("previous_event", "play.event(-1)"),
    ("next_text", "play.next_text"),
    ("restart", "play.restart"),
    ("table", "play.table"),
    ("zoom_in", "play.zoom(1)"),
    ("zoom_out", "play.zoom(-1)"),
    ("focus_next", "play.focus_next(1)"),
    ("focus_previous", "play.focus_next(-1)"),
    ("follow", "play.follow"),
    ("ask", "play.ask"),
    ("big", "play.big"),
    ("what_if", "play.what_if"),
    ("primitives", "page('primitives')"),
    ("basics", "page('basics')"),
    ("glossary", "page('glossary')"),
    ("explore", "explore"),
    ("tour", "tour"),
    ("explore.next_collective", "explore.collective(1)"),
    ("explore.previous_collective", "explore.collective(-1)"),
    ("explore.next_algorithm", "explore.algorithm(1)"),
    ("explore.previous_algorithm", "explore.algorithm(-1)"),
    ("explore.more", "explore.ranks(1)"),
    ("explore.fewer", "explore.ranks(-1)"),
    ("explore.nodes", "explore.nodes"),
    ("explore.next_round", "explore.round(1)"),
    ("explore.previous_round", "explore.round(-1)"),
    ("explore.first", "explore.edge(0)"),
    ("explore.last", "explore.edge(1)"),
    ("explore.play", "explore.play"),
    ("explore.restart", "explore.restart"),
    ("theme", "next_theme"),
    ("language", "next_language"),
    ("help", "page('help')"),
    ("quit", "leave"),
)
"""(name, action) of every command: `ui.command.<name>` are its words in the palette."""

OF_PROGRAM = frozenset(
    {
        "leave",
        "interrupt",
        "suspend_process",
        "command_palette",
        "next_theme",
        "next_language",
    }
)
"""Actions that mean the same whatever is shown, also amid a question or a tour."""
