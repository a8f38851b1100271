"""What users of such tools complain of, in public threads, and the test that each has here.

The first part is the list; the second holds the tests that belong nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gpuflow.tui.app import PlayerApp

ROOT = Path(__file__).parents[2]
Start = Callable[..., Any]
IDEAL = ("play", "--profile", "ideal", "--no-autoplay")
MOUSE_MODES = {1000, 1002, 1003, 1006, 1015, 1016}


class Complaint(NamedTuple):
    """One of them."""

    threads: str
    trouble: str
    tests: tuple[str, ...]
    """`file::test`, below tests/; none: `why` says why not."""
    why: str = ""


COMPLAINTS: dict[int, Complaint] = {
    1: Complaint(
        "tmux/tmux#2901",
        "panes of a tmux in a tmux flicker",
        (
            "tui/test_multiplexers.py::"
            "test_in_tmux_within_tmux_nothing_is_cleared_and_little_is_sent",
        ),
    ),
    2: Complaint(
        "aristocratos/btop#86",
        "flicker and wrong colours over mosh",
        ("tui/test_multiplexers.py::test_over_mosh_the_same_picture_arrives",),
    ),
    3: Complaint(
        "stolk/diskgraph#7",
        "megabits a second over ssh, since every frame is drawn whole",
        ("tui/test_compositor.py::test_a_frame_of_the_play_sends_no_more_than_what_changed",),
    ),
    4: Complaint(
        "carzum/termviz#71",
        "keys are answered after seconds on a slow line",
        ("tui/test_ssh.py::test_ssh_gets_256_colours_and_a_slow_line_still_quits",),
    ),
    5: Complaint(
        "1ay1/agentty#36",
        "fewer frames save no bytes",
        ("tui/test_rate.py::test_fewer_frames_send_fewer_bytes_and_none_send_none",),
    ),
    6: Complaint(
        "fathyb/carbonyl#78",
        "no way to ask for fewer frames",
        (
            "tui/test_rate.py::test_fewer_frames_send_fewer_bytes_and_none_send_none",
            "tui/test_rate.py::test_a_still_step_says_most_and_waits_for_keys",
        ),
    ),
    7: Complaint(
        "Textualize/textual#5625",
        "what stands left of a change is sent again",
        ("tui/test_compositor.py::test_one_changed_cell_costs_little_wherever_it_is",),
    ),
    8: Complaint(
        "XuehaiPan/nvitop#16, #97, #108",
        "garbled, or no start, for some TERM",
        ("tui/test_complaints.py::test_every_kind_of_terminal_is_drawn_on",),
    ),
    9: Complaint(
        "tmux/tmux#3843",
        "Esc comes half a second late",
        ("tui/test_complaints.py::test_nothing_needs_escape",),
    ),
    10: Complaint(
        "Textualize/textual#6690",
        "the terminal has gone, and the process takes a whole core for ever",
        (
            "tui/test_terminal.py::test_the_end_of_input_leaves_the_terminal_as_it_was",
            "tui/test_terminal.py::test_a_hang_up_ends_the_player",
            "tui/test_ssh.py::test_a_killed_client_leaves_no_player",
            "tui/test_ssh.py::test_without_a_terminal_the_steps_are_told_and_nothing_stays",
            "cli/test_play.py::test_playing_takes_a_terminal_on_all_three_streams",
        ),
    ),
    11: Complaint(
        "Textualize/textual#1171",
        "the mouse types into the shell after the program was killed",
        ("tui/test_terminal.py::test_a_signal_leaves_the_terminal_as_it_was",),
    ),
    12: Complaint(
        "zeroclaw-labs/zeroclaw#9800, QwenLM/qwen-code#7781",
        "signals leave raw mode and the other screen",
        ("tui/test_terminal.py::test_a_signal_leaves_the_terminal_as_it_was",),
    ),
    13: Complaint(
        "sxyazi/yazi#105, Textualize/textual#1582",
        "Ctrl+Z does nothing",
        ("tui/test_terminal.py::test_suspending_gives_the_terminal_back_for_a_while",),
    ),
    14: Complaint(
        "tallpress/nnav#21, Textualize/textual#5466",
        "Ctrl+C does not quit",
        ("tui/test_terminal.py::test_keys_that_leave",),
    ),
    15: Complaint(
        "Textualize/rich#4197",
        "lines are two cells wide on some terminals of East Asia",
        (
            "tui/test_widths.py::test_wide_lines_are_drawn_in_ascii",
            "tui/test_multiplexers.py::test_an_xterm_with_wide_lines_gets_ascii",
        ),
    ),
    16: Complaint(
        "tmux/tmux#3923, Textualize/rich#3897, mobile-shell/mosh#724",
        "emoji with a selector shift the line",
        (
            "test_house.py::test_no_character_that_terminals_measure_differently",
            "test_cells.py::test_sanitise_leaves_no_character_that_steers_a_terminal",
        ),
    ),
    17: Complaint(
        "aristocratos/btop#81, #310, #752",
        "a refusal although the terminal is UTF-8",
        ("tui/test_complaints.py::test_a_character_type_alone_is_enough_for_lines",),
    ),
    18: Complaint(
        "tavily-ai/tavily-cli#28, knownsec/aipyapp#47",
        "every command dies on a GBK console",
        (
            "cli/test_streams.py::test_no_encoding_raises_or_shows_an_escape",
            "cli/test_streams.py::test_gbk_keeps_chinese",
            "tui/test_complaints.py::test_a_gbk_terminal_gets_no_escapes",
        ),
    ),
    19: Complaint(
        "GeorgeFilipkin/pulsemixer#42",
        "Chinese names break the columns",
        (
            "draw/test_play.py::test_the_borders_of_a_box_stand_in_one_column",
            "exporters/test_tables.py::test_columns_stand_under_each_other_beside_chinese_text",
        ),
    ),
    20: Complaint(
        "orf/gping#48, Textualize/textual#52",
        "a crash when the window gets very small",
        (
            "draw/test_play.py::test_every_size_down_to_one_cell_is_drawn",
            "tui/test_screen.py::test_resizing_while_playing_redraws_at_the_new_size",
        ),
    ),
    21: Complaint(
        "aristocratos/btop#909, #1820, htop-dev/htop#1259",
        "too small a pane is refused where less could be shown",
        (
            "tui/test_screen.py::test_small_screens_show_what_fits_and_no_footer",
            "draw/test_compact.py::test_the_stage_at_work_is_the_one_shown",
        ),
    ),
    22: Complaint(
        "mobile-shell/mosh#936, browsh-org/browsh#74",
        "24-bit colours come out garbled",
        ("tui/test_terminal.py::test_colours_are_no_finer_than_the_terminal_says",),
    ),
    23: Complaint(
        "XuehaiPan/nvitop#10, charmbracelet/soft-serve#37, pythops/impala#7",
        "unreadable on a light ground",
        (
            "draw/test_theme.py::test_words_stand_out_from_their_ground",
            "tui/test_terminal.py::test_the_theme_suits_the_terminal",
        ),
    ),
    24: Complaint(
        "Textualize/textual#839",
        "NO_COLOR is ignored",
        ("tui/test_terminal.py::test_no_colour_code_is_sent_under_no_color",),
    ),
    25: Complaint(
        "Textualize/textual#2425, earendil-works/pi#4687, NousResearch/hermes-agent#26689",
        "screen readers drown in lines and redraws",
        ("exporters/test_plain.py::test_no_boxes_no_escapes_no_open_placeholder",),
    ),
    26: Complaint(
        "mistralai/mistral-vibe#41, Textualize/textual#2724",
        "text cannot be marked, since the program takes the mouse",
        ("tui/test_complaints.py::test_the_mouse_stays_the_terminal_s_own",),
    ),
    27: Complaint(
        "Textualize/rich#501, snowflakedb/snowflake-cli#2941",
        "tables are squeezed and cut in a pipe",
        ("cli/test_formats.py::test_every_table_is_whole_in_a_pipe",),
    ),
    28: Complaint(
        "darrenburns/posting#220, basicmachines-co/basic-memory#740",
        "a slow start",
        ("test_imports.py::test_a_verb_loads_no_more_than_it_needs",),
    ),
    29: Complaint(
        "tconbeer/harlequin#229, #425, #71",
        "keys are taken by editors, tmux or the desktop",
        (
            "tui/test_multiplexers.py::test_keys_reach_it_through_tmux",
            "tui/test_complaints.py::test_every_action_has_a_plain_key",
        ),
    ),
    30: Complaint(
        "DiamondLightSource/blueapi#1396, dynatrace-oss/dt-ext-cli#13",
        "a broken YAML file gives a traceback",
        (
            "scenario/test_broken.py::test_the_report_is_exact",
            "scenario/test_broken.py::test_no_slip_of_the_keyboard_is_a_crash",
        ),
    ),
    31: Complaint(
        "tldr-pages/tldr-python-client#299",
        "pip refuses to install into the system's own Python",
        (
            "test_house.py::test_the_checks_run_the_readme_s_own_command",
            "test_house.py::test_the_built_package_ships_scenarios_and_data",
        ),
    ),
    32: Complaint(
        "Textualize/textual-serve#42",
        "one fixed address breaks a page behind a forwarded port",
        ("tui/test_serving.py::test_the_page_asks_nobody_else_for_anything",),
    ),
    33: Complaint(
        "bloomberg/memray#654, Textualize/pytest-textual-snapshot#28",
        "tests of pictures break with each release of a library",
        ("draw/test_play_golden.py::test_the_screen_looks_as_it_was_approved",),
    ),
    34: Complaint(
        "microsoft/terminal#15716",
        "flicker in the Windows console",
        (),
        "the player needs a POSIX terminal; what is sent is what 3 and 7 hold small",
    ),
}


def test_every_complaint_is_answered() -> None:
    assert list(COMPLAINTS) == list(range(1, 35))
    assert all(complaint.tests or complaint.why for complaint in COMPLAINTS.values())


@pytest.mark.parametrize("number", COMPLAINTS)
def test_the_tests_of_a_complaint_are_there(number: int) -> None:
    for place in COMPLAINTS[number].tests:
        file, _, name = place.partition("::")
        source = (ROOT / "tests" / file).read_text("utf-8")
        assert re.search(rf"^(async )?def {name}\b", source, re.M), place


# ---------------------------------------------------------------- tests of their own


@pytest.mark.parametrize("term", ["tmux-256color", "linux", "vt100", "xterm-kitty", "nobody-knows"])
def test_every_kind_of_terminal_is_drawn_on(term: str, on_terminal: Start) -> None:
    terminal = on_terminal(*IDEAL, "--lang", "en", env={"TERM": term, "COLORTERM": ""})
    screen = terminal.until(lambda screen: "q quit" in screen)
    assert "╭ Stage 1" in screen
    assert b"38;2;" not in terminal.raw
    terminal.press("q")
    assert terminal.status() == 0
    assert terminal.is_as_it_was()


def test_a_terminal_that_cannot_move_gets_text(on_terminal: Start) -> None:
    terminal = on_terminal(*IDEAL, env={"TERM": "dumb"})
    assert terminal.status() == 0
    assert b"\x1b" not in terminal.raw


def test_a_character_type_alone_is_enough_for_lines(on_terminal: Start) -> None:
    env = {"LANG": "", "LC_CTYPE": "C.UTF-8", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    terminal = on_terminal(*IDEAL, env=env)
    assert "╭ Stage 1" in terminal.until(lambda screen: "q quit" in screen)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_gbk_terminal_gets_no_escapes(language: str, on_terminal: Start) -> None:
    env = {"PYTHONIOENCODING": "gbk", "PYTHONUTF8": "0"}
    terminal = on_terminal(*IDEAL, "--lang", language, env=env)
    deadline = 600
    while b"PREFILL" not in terminal.raw and deadline:
        terminal.read(0.1)
        deadline -= 1
    for _ in range(5):
        terminal.read(0.2)
    assert b"PREFILL" in terminal.raw
    assert b"\\u" not in terminal.raw
    assert b"\\x" not in terminal.raw
    terminal.press("q")
    assert terminal.status() == 0


def test_the_mouse_stays_the_terminal_s_own(on_terminal: Start) -> None:
    terminal = on_terminal(*IDEAL)
    terminal.until(lambda screen: "q quit" in screen)
    assert MOUSE_MODES & {mode for mode, is_on in terminal.modes().items() if is_on} == set()


def actions(app: PlayerApp) -> dict[str, set[str]]:
    """Keys of every action, of all screens."""
    from gpuflow.tui.screens.explore import ExploreScreen
    from gpuflow.tui.screens.pages import ReadingPage
    from gpuflow.tui.screens.play import PlayScreen

    found: dict[str, set[str]] = {}
    for owner in (PlayerApp, PlayScreen, ExploreScreen, ReadingPage):
        for binding in vars(owner).get("BINDINGS", ()):
            place = f"{owner.__name__}.{binding.action}"
            found.setdefault(place, set()).update(binding.key.split(","))
    return found


OPENERS = {"fold": "t", "close_page": "the key that opened the page", "what_if_close": "w"}
"""What Esc does, and the plain key that does it too."""


def test_nothing_needs_escape(make_app: Callable[..., PlayerApp]) -> None:
    alone = {place for place, keys in actions(make_app()).items() if keys == {"escape"}}
    assert {place.rpartition(".")[2] for place in alone} <= set(OPENERS)


def test_every_action_has_a_plain_key(make_app: Callable[..., PlayerApp]) -> None:
    taken_elsewhere = re.compile(r"ctrl\+|alt\+|shift\+|f\d+$|escape$")
    for place, keys in actions(make_app()).items():
        name = place.rpartition(".")[2]
        if name in {*OPENERS, "interrupt", "suspend_process"}:
            continue
        assert [key for key in keys if not taken_elsewhere.match(key)], place
