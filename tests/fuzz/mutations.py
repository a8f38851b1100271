"""Changes to bytes: those that break readers, and those that put hostile text where text is."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Sequence
from random import Random

MOST_BYTES = 200_000
"""Longer inputs only repeat; what a reader does at its limit is tested apart."""

HOSTILE: tuple[str, ...] = (
    *("\x00", "\x07", "\x08", "\t", "\x0b", "\x0c", "\r", "\x1b", "\x7f", "\x85", "\x9b31m"),
    *("\x1b[31m", "\x1b[2J", "\x1b]0;title\x07", "\x1b]8;;x\x1b\\", "\x1bP1$r\x1b\\"),
    *("\u061c", "\u200b", "\u200e", "\u202a", "\u202e", "\u2028", "\u2029", "\u2066", "\u2069"),
    *("\ufeff", "\ufffe", "\ufe0f", "\U000e0041", "e\u0301" * 9, "\u3000", "\xa0", "\xad"),
    *("[bold red]", "[/]", "[link=x]", "\\[", "$x", "{0}", "%s", "%n", "{x.__class__}"),
    *("²", "٣", "１", "Ⅷ", "½", "İ", "ß", "ﬁ", "名", "：", "，", "😀"),
    *("-1", "0", "1e999", "-1e999", "1e-999", "nan", "inf", "-inf", "Infinity", "0x10", "1_0"),
    *("9" * 19, "9" * 400, "1" * 5000, "0." + "0" * 400 + "1", "1e400", "2147483648", "4294967296"),
    *("18446744073709551616", "-9223372036854775809", "1.7976931348623157e308", "5e-324"),
    *("true", "null", "~", "&a", "*a", "<<: *a", "!!python/object/apply:os.system [x]", "!x"),
    *("---", "...", "%YAML 9.9", "? ", ": ", "- ", "#", "|", ">", "@", "`", "[", "]", "{", "}"),
    *('"', "'", "\\", "\\u0000", "\\ud800", "\\x1b", "${A}", "$(x)", "$((1))", "<<E", "&&", "|"),
    *("../../../etc/passwd", "/dev/zero", "/proc/self/mem", "file:///x", "~", "-", "--", "-x"),
    *("a" * 3000, "名" * 500, " " * 2000, "\n" * 500, ",", ",,", ";", "=", "==", "\n", "\r\n"),
)
"""Texts that some program, at some time, did not stand."""

RAW: tuple[bytes, ...] = (
    *(b"\xff", b"\xfe\xff", b"\xff\xfe", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5", b"\x80"),
    *(b"\x1f\x8b\x08", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"\xef\xbb\xbf", b"\x9b"),
)
"""Bytes that are no UTF-8, or that begin something else."""

_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_WORD = re.compile(rb"[A-Za-z_][\w.-]*")
Change = Callable[[bytes, Random, Sequence[bytes]], bytes]


def hostile(random: Random) -> bytes:
    """A piece to put somewhere."""
    if random.random() < 0.1:
        return random.choice(RAW)
    return random.choice(HOSTILE).encode("utf-8", "surrogatepass")


def mutated(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    """One to eight changes, few mostly."""
    for _ in range(min(1 + int(random.expovariate(0.7)), 8)):
        data = random.choices(CHANGES, WEIGHTS)[0](data, random, seeds)[:MOST_BYTES]
    return data


def _span(data: bytes, random: Random, most: int = 64) -> tuple[int, int]:
    start = random.randrange(len(data) + 1)
    return start, min(len(data), start + random.randrange(most))


def _insert(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    place = random.randrange(len(data) + 1)
    return data[:place] + hostile(random) + data[place:]


def _replace(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    start, end = _span(data, random, 12)
    return data[:start] + hostile(random) + data[end:]


def _flip(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    if not data:
        return data
    place = random.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << random.randrange(8)]) + data[place + 1 :]


def _delete(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    start, end = _span(data, random)
    return data[:start] + data[end:]


def _cut(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    place = random.randrange(len(data) + 1)
    return data[:place] if random.random() < 0.7 else data[place:]


def _repeat(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    start, end = _span(data, random, 400)
    return data[:end] + data[start:end] * random.choice((1, 2, 9, 99)) + data[end:]


def _number(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    """Another number, or hostile text, in the place of a number."""
    found = list(_NUMBER.finditer(data))
    if not found:
        return _insert(data, random, seeds)
    match = random.choice(found)
    new = hostile(random) if random.random() < 0.6 else str(random.randrange(-3, 70000)).encode()
    return data[: match.start()] + new + data[match.end() :]


def _word(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    """A word in the place of another: of the same file, of another one, or hostile."""
    found = list(_WORD.finditer(data))
    if not found:
        return _insert(data, random, seeds)
    match = random.choice(found)
    others = found if random.random() < 0.5 else list(_WORD.finditer(random.choice(seeds)))
    new = random.choice(others)[0] if others and random.random() < 0.6 else hostile(random)
    return data[: match.start()] + new + data[match.end() :]


def _lines(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    """Lines moved, left out, doubled, or indented otherwise."""
    lines = data.split(b"\n")
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    kind = random.randrange(5)
    if kind == 0:
        lines[one], lines[other] = lines[other], lines[one]
    elif kind == 1:
        del lines[one]
    elif kind == 2:
        lines.insert(other, lines[one])
    elif kind == 3:
        lines[one] = random.choice((b" ", b"  ", b"\t", b"- ", b"# ")) + lines[one]
    else:
        lines[one] = lines[one].lstrip()
    return b"\n".join(lines)


def _splice(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    other = random.choice(seeds)
    return data[: random.randrange(len(data) + 1)] + other[random.randrange(len(other) + 1) :]


def _encode(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    """The whole text in another encoding, with other line ends, or packed."""
    text = data.decode("utf-8", "replace")
    kind = random.randrange(6)
    if kind == 0:
        return text.encode("utf-16")
    if kind == 1:
        return text.encode("latin-1", "replace")
    if kind == 2:
        return data.replace(b"\n", b"\r\n")
    if kind == 3:
        return data.replace(b"\n", b"\r")
    if kind == 4:
        return gzip.compress(data, 1, mtime=0)
    return b"\xef\xbb\xbf" + data


CHANGES: tuple[Change, ...] = (
    *(_insert, _replace, _flip, _delete, _cut, _repeat),
    *(_number, _word, _lines, _splice, _encode),
)
WEIGHTS = (6, 4, 3, 3, 2, 2, 8, 8, 4, 2, 1)
