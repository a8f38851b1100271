"""Pictures made of pixels: size, joints, colours, fonts, and what is said where something lacks."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from gpuflow.cells import cell_width
from gpuflow.draw.frame import Frame, Run
from gpuflow.draw.theme import THEMES, load_theme
from gpuflow.errors import InputError
from gpuflow.exporters import fonts
from gpuflow.exporters.raster import FILM_CELL, PAD, STILL_CELL, gif, png
from gpuflow.exporters.signs import ARMS, CORNERS, POLYGONS

WIDTH, HEIGHT = STILL_CELL


@pytest.fixture(scope="module")
def images() -> Any:
    """Pillow's module, where there are fonts too."""
    module = pytest.importorskip("PIL.Image")
    try:
        _ = fonts.Fonts([], 20).regular
    except InputError:
        pytest.skip("needs a font with letters of one width")
    return module


def frame_of(*lines: str, role: str = "tp") -> Frame:
    rows = tuple((Run(line, role),) for line in lines)
    return Frame(cell_width(lines[0]), len(lines), rows)


def drawn(images: Any, *lines: str, theme: str = "dark", role: str = "tp") -> Any:
    data = png([("title", frame_of(*lines, role=role))], load_theme(theme), "en", [])
    return images.open(io.BytesIO(data)).convert("RGB")


def rgb(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def colours(image: Any) -> set[tuple[int, ...]]:
    return {colour for _, colour in image.getcolors(image.width * image.height)}


@pytest.mark.parametrize("theme", THEMES)
def test_lines_join_without_a_gap(theme: str, images: Any) -> None:
    image = drawn(images, "╭──┬──╮", "│  │  │", "╰──┴──╯", theme=theme)
    look = load_theme(theme).look("tp")
    assert image.getpixel((0, 0)) == rgb(load_theme(theme).background)
    lit = rgb(look.fg)
    middle = PAD + HEIGHT // 2
    for x in range(PAD + WIDTH, PAD + 6 * WIDTH):
        assert lit in {image.getpixel((x, middle + d)) for d in (-1, 0)}
    for cell in (0, 3, 6):
        x = PAD + cell * WIDTH + WIDTH // 2
        for y in range(PAD + HEIGHT, PAD + 2 * HEIGHT):
            assert lit in {image.getpixel((x + d, y)) for d in (-1, 0)}


@pytest.mark.parametrize("sign", sorted({*ARMS, *CORNERS, *POLYGONS}))
def test_every_sign_is_seen_and_keeps_to_its_cells(sign: str, images: Any) -> None:
    image = drawn(images, f" {sign} ")
    ground = rgb(load_theme("dark").look("tp").bg)
    cells = cell_width(sign)
    inside = (PAD + WIDTH, PAD, PAD + (1 + cells) * WIDTH, PAD + HEIGHT)
    assert len(colours(image.crop(inside))) > 1 or sign == "█"
    for cell in (0, 1 + cells):
        beside = (PAD + cell * WIDTH, PAD, PAD + (cell + 1) * WIDTH, PAD + HEIGHT)
        assert colours(image.crop(beside)) == {ground}


def test_wide_characters_do_not_move_what_follows(images: Any) -> None:
    plain = drawn(images, "    │", "    │")
    wide = drawn(images, "🔥⏩│", "    │")
    bar = (PAD + 4 * WIDTH, PAD, PAD + 5 * WIDTH, PAD + 2 * HEIGHT)
    assert wide.crop(bar).tobytes() == plain.crop(bar).tobytes()


def test_the_command_writes_a_sheet_of_all_steps(gpuflow: Any, images: Any, tmp_path: Path) -> None:
    file = tmp_path / "steps.png"
    asked = ("export", "--size", "80x24", "--lang", "en", "--file", str(file))
    result = gpuflow(*asked)
    assert (result.code, result.out, result.err) == (0, "", "")
    sheet = images.open(io.BytesIO(file.read_bytes()))
    assert sheet.size == (80 * WIDTH + 2 * PAD, 8 * (24 * HEIGHT + PAD) + PAD)
    assert sheet.text["Title"].startswith("1 · ")
    gpuflow(*asked, "--step", "2")
    assert images.open(io.BytesIO(file.read_bytes())).size == (
        80 * WIDTH + 2 * PAD,
        24 * HEIGHT + 2 * PAD,
    )


def test_an_animation_plays_a_step_in_its_time(gpuflow: Any, images: Any, tmp_path: Path) -> None:
    file = tmp_path / "step.gif"
    asked = ("--step", "3", "--size", "60x20", "--fps", "3", "--lang", "en", "--file", str(file))
    assert gpuflow("export", "--profile", "ideal", *asked).code == 0
    film = images.open(io.BytesIO(file.read_bytes()))
    width, height = FILM_CELL
    assert film.size == (60 * width + 2 * PAD, 20 * height + 2 * PAD)
    assert film.info["loop"] == 0
    lasts_ms = 0
    for index in range(film.n_frames):
        film.seek(index)
        lasts_ms += film.info["duration"]
    # A hand-over takes 2.2 seconds of screen time.
    assert film.n_frames > 3
    assert 2200 <= lasts_ms < 2200 + 1000 / 3 + 10


def test_an_animation_ends_as_its_last_frame_is_drawn(images: Any) -> None:
    frames = [frame_of("Abc │", "━━━▶╌"), frame_of("Xyz │", "━━━▶╌"), frame_of("  │  ", "━╌╌╌╌")]
    theme = load_theme("dark")
    film = images.open(io.BytesIO(gif(frames, theme, "en", [], fps=7)))
    film.seek(film.n_frames - 1)
    alone = images.open(io.BytesIO(gif(frames[-1:], theme, "en", [], fps=7)))
    assert film.convert("RGB").tobytes() == alone.convert("RGB").tobytes()
    assert {rgb(theme.look("tp").fg), rgb(theme.background)} <= colours(alone.convert("RGB"))


# ---------------------------------------------------------------- what lacks


def test_without_the_extra_its_name_is_said(gpuflow: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.delitem(sys.modules, "PIL.Image", raising=False)
    for form in ("png", "gif"):
        result = gpuflow("export", "--step", "1", "--to", form, "--lang", "en")
        assert result.code == 3
        assert "pip install 'gpuflow[pictures]'" in result.err


def test_without_fonts_it_is_said_what_to_install(
    gpuflow: Any, images: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = str(tmp_path / "x.png")
    monkeypatch.setattr(fonts, "CHINESE", ())
    result = gpuflow("export", "--step", "1", "--file", file, "--lang", "zh")
    assert result.code == 2
    assert "fonts-noto-cjk" in result.err
    # An English picture has Chinese in one place, which can do without.
    assert gpuflow("export", "--step", "1", "--file", file, "--lang", "en").code == 0
    monkeypatch.setattr(fonts, "LETTERS", ())
    result = gpuflow("export", "--step", "1", "--file", file, "--lang", "en")
    assert result.code == 2
    assert "--font FILE" in result.err


def test_a_font_that_is_named_must_be_one(gpuflow: Any, images: Any, tmp_path: Path) -> None:
    wrong = tmp_path / "letters.ttf"
    asked = ("export", "--step", "1", "--to", "png", "--lang", "en", "--font", str(wrong))
    assert "no such file" in gpuflow(*asked).err
    wrong.write_bytes(b"letters")
    result = gpuflow(*asked)
    assert result.code == 2
    assert "not a font" in result.err


def test_options_that_would_do_nothing_are_refused(gpuflow: Any) -> None:
    for option in (("--fps", "3"), ("--font", "x.ttf")):
        result = gpuflow("export", "--to", "svg", *option, "--lang", "en")
        assert result.code == 2
        assert f"{option[0]}: does not apply to --to svg" in result.err


def test_pixels_are_not_thrown_at_a_terminal(gpuflow: Any) -> None:
    result = gpuflow("export", "--to", "png", "--lang", "en", width=80)
    assert result.code == 2
    assert "--file" in result.err


def test_what_would_fill_the_memory_is_refused(
    images: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpuflow.exporters.raster.MOST_STILL", 1000)
    with pytest.raises(InputError, match="picture_too_large"):
        drawn(images, "text")
