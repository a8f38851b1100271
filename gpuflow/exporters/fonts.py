"""Fonts for pictures: those of the machine, found by the names that their files have everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from gpuflow.errors import InputError, MissingExtra, Problem

EXTRA = "pictures"
LETTERS = (
    ("DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf"),
    ("NotoSansMono-Regular.ttf", "NotoSansMono-Bold.ttf"),
    ("LiberationMono-Regular.ttf", "LiberationMono-Bold.ttf"),
    ("UbuntuMono-R.ttf", "UbuntuMono-B.ttf"),
    ("FreeMono.ttf", "FreeMonoBold.ttf"),
    ("Menlo.ttc", "Menlo.ttc"),
    ("consola.ttf", "consolab.ttf"),
    ("cour.ttf", "courbd.ttf"),
)
"""Files of monospaced fonts, regular and bold, as systems name them."""
CHINESE = (
    *("NotoSansCJK-Regular.ttc", "NotoSansMonoCJKsc-Regular.otf", "NotoSansCJKsc-Regular.otf"),
    *("SourceHanSansSC-Regular.otf", "wqy-zenhei.ttc", "wqy-microhei.ttc"),
    *("DroidSansFallbackFull.ttf", "PingFang.ttc", "Hiragino Sans GB.ttc", "STHeiti Medium.ttc"),
    *("msyh.ttc", "simhei.ttf", "simsun.ttc"),
)
"""Files of fonts that hold Chinese."""
_ABSENT = chr(0x10FFFF)
"""No font has it: what is drawn for it stands for every missing character."""


def pillow(name: str) -> Any:
    """A module of Pillow.

    Raises:
        MissingExtra: It is not installed.
    """
    try:
        return import_module(f"PIL.{name}")
    except ImportError:
        raise MissingExtra(EXTRA) from None


@dataclass
class Fonts:
    """Where letters come from.

    Args:
        named: Files that the user names.
        pixels: Size of the letters.
    """

    named: Sequence[str]
    pixels: int

    @cached_property
    def regular(self) -> list[Any]:
        """All fonts there are, the one to ask first in front."""
        own = [self._named(file) for file in self.named]
        found = [self._found(pair[0]) for pair in LETTERS]
        letters = next((font for font in found if font is not None), None)
        if letters is None and not own:
            raise InputError([Problem(code="no_font", key="--font", hint="no_font")])
        chinese = (self._found(name) for name in CHINESE)
        return [*own, *(font for font in (letters, *chinese) if font is not None)]

    @cached_property
    def bold(self) -> Any:
        """The bold twin of the first font; None where it has none, or is one that was named."""
        if self.named:
            return None
        for regular, bold in LETTERS:
            if self._found(regular) is not None:
                return self._found(bold) if bold != regular else None
        return None

    def _named(self, file: str) -> Any:
        try:
            return pillow("ImageFont").truetype(file, self.pixels)
        except OSError:
            code = "font_unreadable" if Path(file).is_file() else "font_absent"
            raise InputError([Problem(code=code, key="--font", file=file)]) from None

    def _found(self, name: str) -> Any:
        try:
            return pillow("ImageFont").truetype(name, self.pixels)
        except OSError:
            return None

    def font_of(self, character: str) -> Any:
        """The first font that has a character; None where none has."""
        for font in self.regular:
            if _has(font, character):
                return font
        return None


def _has(font: Any, character: str) -> bool:
    mask, absent = font.getmask(character), font.getmask(_ABSENT)
    return mask.size != absent.size or bytes(mask) != bytes(absent)
