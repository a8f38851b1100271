"""Frames as pixels: PNG stills and GIF animations, drawn cell by cell.

Line pieces, blocks and marks are drawn as shapes, so that lines join and columns stand straight in
any font. Letters come from the fonts of the machine, or from one that is named. Needs Pillow.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gpuflow.cells import cell_width
from gpuflow.draw.ascii import ascii_text
from gpuflow.draw.changes import changed_span
from gpuflow.draw.frame import Frame, Row
from gpuflow.draw.theme import Look, Theme
from gpuflow.errors import InputError, Problem
from gpuflow.exporters.film import row_part
from gpuflow.exporters.fonts import Fonts, pillow
from gpuflow.exporters.pictures import Titled
from gpuflow.exporters.signs import ARMS, CORNERS, POLYGONS, Arms, is_box

STILL_CELL = (12, 24)
"""Pixels of a cell in a PNG: sharp on slides."""
FILM_CELL = (8, 16)
"""Pixels of a cell in a GIF: small enough to send."""
PAD = 8
MOST_STILL, MOST_FILM = 100_000_000, 600_000_000
"""Pixels of a picture, and of all pictures of an animation; more would fill the memory."""
_COLOURS = 240
"""In a GIF; Pillow needs one more for what does not change."""
_FINE = 4
"""Shapes are drawn so many times as large, for smooth edges."""


def png(pictures: Sequence[Titled], theme: Theme, language: str, fonts: Sequence[str]) -> bytes:
    """One picture with all frames under each other.

    Args:
        pictures: Frames with their titles; the titles become the file's.
        theme: Colours.
        language: A Chinese picture needs a font that has Chinese.
        fonts: Files to take letters from before those of the machine.

    Raises:
        MissingExtra: Pillow is absent.
        InputError: A font is, or the picture would be too large.
    """
    image_module = pillow("Image")
    painter = _Painter(STILL_CELL, theme, language, fonts)
    sizes = [painter.size(frame) for _, frame in pictures]
    width = max(size[0] for size in sizes)
    height = sum(size[1] for size in sizes) - PAD * (len(sizes) - 1)
    _refuse_giants(width * height, MOST_STILL)
    sheet = image_module.new("RGB", (width, height), theme.background)
    top = 0
    for (_, frame), size in zip(pictures, sizes, strict=True):
        painter.paint(sheet, frame, top=top)
        top += size[1] - PAD
    info = pillow("PngImagePlugin").PngInfo()
    info.add_itxt("Title", " / ".join(title for title, _ in pictures))
    data = io.BytesIO()
    sheet.save(data, "PNG", pnginfo=info, optimize=True)
    return data.getvalue()


def gif(
    frames: Iterable[Frame], theme: Theme, language: str, fonts: Sequence[str], *, fps: float
) -> bytes:
    """An endless animation of frames of one size; the rest is as for `png`."""
    image_module = pillow("Image")
    painter = _Painter(FILM_CELL, theme, language, fonts)
    palette = image_module.new("P", (1, 1))
    palette.putpalette(painter.palette())
    page: Any = None
    shown: Frame | None = None
    pages: list[Any] = []
    durations_ms: list[int] = []
    due_ms = 0.0
    for frame in frames:
        due_ms += 1000 / fps
        # A GIF counts in hundredths of a second; what is rounded off is made up for later.
        lasts_ms = round(due_ms / 10) * 10 - sum(durations_ms)
        if frame == shown:
            durations_ms[-1] += lasts_ms
            continue
        if page is None:
            page = image_module.new("RGB", painter.size(frame), theme.background)
        _refuse_giants(page.width * page.height * (len(pages) + 1), MOST_FILM)
        painter.paint(page, frame, before=shown)
        pages.append(page.quantize(palette=palette, dither=image_module.Dither.NONE))
        durations_ms.append(lasts_ms)
        shown = frame
    data = io.BytesIO()
    pages[0].save(
        data,
        "GIF",
        save_all=True,
        append_images=pages[1:],
        duration=durations_ms,
        loop=0,
        optimize=True,
    )
    return data.getvalue()


def _refuse_giants(pixels: int, most: int) -> None:
    if pixels > most:
        values = {"most": most // 1_000_000}
        raise InputError([Problem(code="picture_too_large", key="--size", values=values)])


class _Painter:
    """Draws frames at a size of cell, in a theme's colours.

    Args:
        cell: Width and height of a cell in pixels.
        theme: Colours.
        language: Of the frames.
        fonts: Files to take letters from first.
    """

    def __init__(
        self, cell: tuple[int, int], theme: Theme, language: str, fonts: Sequence[str]
    ) -> None:
        self._width, self._height = cell
        self._theme = theme
        self._is_chinese = language == "zh"
        self._fonts = Fonts(fonts, round(cell[1] * 0.82))
        self._chosen: dict[str, tuple[str, Any]] = {}
        self._tiles: dict[tuple[str, Look], Any] = {}
        # The first font sets where all letters stand.
        ascent, descent = self._fonts.regular[0].getmetrics()
        self._baseline = round((self._height + ascent - descent) / 2)

    def size(self, frame: Frame) -> tuple[int, int]:
        """Pixels of a picture of a frame."""
        return frame.width * self._width + 2 * PAD, frame.height * self._height + 2 * PAD

    def palette(self) -> list[int]:
        """The theme's colours and, for smooth letters, what lies between each and its ground."""
        pairs = sorted({(look.fg, look.bg) for look in self._theme.looks.values()})
        steps = (_COLOURS - len(pairs)) // len(pairs)
        return [
            round(ground + (colour - ground) * part / steps)
            for fg, bg in pairs
            for part in range(steps + 1)
            for colour, ground in zip(_rgb(fg), _rgb(bg), strict=True)
        ]

    def paint(self, image: Any, frame: Frame, *, top: int = 0, before: Frame | None = None) -> None:
        """Draw a frame, or what differs from the one that is there."""
        for y, row in enumerate(frame.rows):
            first = 0
            if before is not None:
                span = changed_span(before.rows[y], row)
                if span is None:
                    continue
                first, row = span[0], row_part(row, *span)
            self._row(image, PAD + first * self._width, top + PAD + y * self._height, row)

    def _row(self, image: Any, x: int, y: int, row: Row) -> None:
        for text, role in row:
            look = self._theme.look(role)
            for character in text:
                if cell_width(character):
                    tile = self._tile(character, look)
                    image.paste(tile, (x, y))
                    x += tile.width

    def _tile(self, character: str, look: Look) -> Any:
        """A character on its ground; what letters have outside their cells is cut off."""
        if (character, look) not in self._tiles:
            size = cell_width(character) * self._width, self._height
            if character in ARMS or character in CORNERS or character in POLYGONS:
                tile = self._shape(character, size, look)
            else:
                tile = pillow("Image").new("RGB", size, look.bg)
                if character != " ":
                    self._letter(pillow("ImageDraw").Draw(tile), character, size[0], look)
            if look.underline:
                line = self._height - 2
                pillow("ImageDraw").Draw(tile).line((0, line, size[0], line), fill=look.fg)
            self._tiles[character, look] = tile
        return self._tiles[character, look]

    def _shape(self, character: str, size: tuple[int, int], look: Look) -> Any:
        """A sign that is no letter, drawn larger and made smaller again for smooth edges."""
        width, height = size
        tile = pillow("Image").new("RGB", (width * _FINE, height * _FINE), look.bg)
        draw = pillow("ImageDraw").Draw(tile)
        thick = max(round(self._width / 10), 1)
        left, top = (width - thick) // 2, (height - thick) // 2

        def box(x: int, y: int, right: int, bottom: int) -> None:
            corners = (x * _FINE, y * _FINE, right * _FINE - 1, bottom * _FINE - 1)
            draw.rectangle(corners, fill=look.fg)

        if character in ARMS:
            _arms(ARMS[character], size, thick, box)
        elif character in CORNERS:
            arms = CORNERS[character]
            radius = width - left
            x = left if arms.right else left + thick - 2 * radius
            y = top if arms.down else top + thick - 2 * radius
            place = (x, y, x + 2 * radius, y + 2 * radius)
            fine = tuple(edge * _FINE - (index > 1) for index, edge in enumerate(place))
            start = _ARC_STARTS[arms.right, arms.down]
            draw.arc(fine, start, start + 90, fill=look.fg, width=thick * _FINE)
            straight = (top + radius, height) if arms.down else (0, top + thick - radius)
            box(left, straight[0], left + thick, straight[1])
        for polygon in POLYGONS.get(character, ()):
            points = [(x * width, y * height) for x, y in polygon]
            if is_box(polygon):
                (x, y), (right, bottom) = (
                    (round(px), round(py)) for px, py in (points[0], points[2])
                )
                box(x, y, max(right, x + 1), max(bottom, y + 1))
            else:
                draw.polygon([(px * _FINE, py * _FINE) for px, py in points], fill=look.fg)
        return tile.reduce(_FINE)

    def _letter(self, draw: Any, character: str, width: int, look: Look) -> None:
        shown, font = self._choice(character)
        bold = self._fonts.bold if look.bold and font is self._fonts.regular[0] else None
        room = width / len(shown)
        for index, one in enumerate(shown):
            middle = ((index + 0.5) * room, self._baseline)
            draw.text(middle, one, font=bold or font, fill=look.fg, anchor="ms")
            if look.bold and bold is None:
                draw.text((middle[0] + 1, middle[1]), one, font=font, fill=look.fg, anchor="ms")

    def _choice(self, character: str) -> tuple[str, Any]:
        """What is drawn for a character, and in which font."""
        if character not in self._chosen:
            font = self._fonts.font_of(character)
            shown = character
            if font is None and self._is_chinese and cell_width(character) == 2:
                raise InputError([Problem(code="no_chinese_font", key="--font", hint="no_font")])
            if font is None:
                shown, font = ascii_text(character), self._fonts.regular[0]
            self._chosen[character] = shown, font
        return self._chosen[character]


_ARC_STARTS = {(1, 1): 180, (0, 1): 270, (0, 0): 0, (1, 0): 90}
"""Degrees at which the quarter of a corner begins, by its arms to the right and down."""


def _arms(
    arms: Arms, size: tuple[int, int], light: int, box: Callable[[int, int, int, int], None]
) -> None:
    width, height = size
    for index, weight in enumerate(arms):
        thick = light * weight
        left, top = (width - thick) // 2, (height - thick) // 2
        right, bottom = left + thick, top + thick
        if weight:
            box(
                *(
                    (left, 0, right, bottom),
                    (left, top, width, bottom),
                    (left, top, right, height),
                    (0, top, right, bottom),
                )[index]
            )


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
