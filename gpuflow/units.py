"""Quantities with their unit: from what people write to SI numbers, and back to three digits.

GB is 10^9 bytes and GiB is 2^30; Gb/s counts bits. Inside the program every number is in its SI
base unit (bytes, seconds, bytes per second, FLOP/s); prefixed units exist only in text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "bytes",
    "decimal_bytes",
    "time",
    "rate",
    "bit_rate",
    "flop",
    "flops",
    "count",
    "share",
    "text",
]

NOT_A_NUMBER = "n/a"
"""Shown for infinities and what is not a number."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value and how it is to be written."""

    value: float | str
    """SI base unit of `kind`; a `bit_rate` is held in bytes per second all the same; a `text`
    is the text itself."""
    kind: Kind


class UnitError(ValueError):
    """A quantity that cannot be read.

    `code` is the code of a Problem: unit_missing, unit_unknown, number_unreadable,
    number_negative, number_too_large or share_range; `values` fill its sentence.
    """

    def __init__(self, code: str, values: Mapping[str, object]) -> None:
        self.code = code
        self.values = values
        super().__init__(f"{code}: {dict(values)}")


def format_quantity(quantity: Quantity) -> str:
    """Text of a quantity: three significant digits and its unit, the same in every language.

    Example:
        >>> format_quantity(Quantity(4 * 2**20, "bytes"))
        '4 MiB'
        >>> format_quantity(Quantity(19.34e-6, "time"))
        '19.3 µs'
    """
    if isinstance(quantity.value, str):
        return quantity.value
    return _FORMATS[quantity.kind](quantity.value)


def format_bytes(size_bytes: float) -> str:
    """Bytes in binary units.

    Example:
        >>> format_bytes(8192), format_bytes(1536), format_bytes(-3 * 2**30)
        ('8 KiB', '1.5 KiB', '-3 GiB')
    """
    return _scaled(size_bytes, 1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB"))


def format_decimal_bytes(size_bytes: float) -> str:
    """Bytes in decimal units, as memory and disks are sold.

    Example:
        >>> format_decimal_bytes(85.52e9)
        '85.5 GB'
    """
    return _scaled(size_bytes, 1000, ("B", "kB", "MB", "GB", "TB", "PB"))


_NO_TIME_S = 1e-15
"""Less than this is what rounding leaves of a difference; no clock and no light tells it apart."""


def format_time(time_s: float) -> str:
    """Seconds as ns, µs, ms or s.

    Example:
        >>> format_time(7.5649e-3), format_time(8e-6), format_time(0), format_time(75)
        ('7.56 ms', '8 µs', '0 s', '75 s')
    """
    if abs(time_s) < _NO_TIME_S:
        return "0 s"
    return _scaled(time_s * 1e9, 1000, ("ns", "µs", "ms", "s"))


def format_rate(rate_bytes_per_s: float) -> str:
    """Bytes per second in decimal units.

    Example:
        >>> format_rate(370e9), format_rate(3.35e12)
        ('370 GB/s', '3.35 TB/s')
    """
    return _scaled(rate_bytes_per_s, 1000, ("B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"))


def format_bit_rate(rate_bytes_per_s: float) -> str:
    """Bytes per second, written in bits as network people read them.

    Example:
        >>> format_bit_rate(50e9), format_bit_rate(200e9)
        ('400 Gb/s', '1.6 Tb/s')
    """
    return _scaled(8 * rate_bytes_per_s, 1000, ("b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s", "Pb/s"))


def format_flops(rate_flop_per_s: float) -> str:
    """FLOP/s, in TFLOP/s as data sheets give them.

    Example:
        >>> format_flops(989e12), format_flops(4.5e15)
        ('989 TFLOP/s', '4,500 TFLOP/s')
    """
    if not math.isfinite(rate_flop_per_s):
        return NOT_A_NUMBER
    return f"{_digits(rate_flop_per_s / 1e12)} TFLOP/s"


def format_flop(flop: float) -> str:
    """An amount of floating-point operations.

    Example:
        >>> format_flop(214.7e9)
        '215 GFLOP'
    """
    return _scaled(flop, 1000, ("FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"))


def format_count(count: float) -> str:
    """A number of things, with thousands apart; a fraction keeps three significant digits.

    Example:
        >>> format_count(128256), format_count(2.5)
        ('128,256', '2.5')
    """
    return _digits(count) if math.isfinite(count) else NOT_A_NUMBER


def format_share(share: float) -> str:
    """A fraction of one as a percentage.

    Example:
        >>> format_share(0.14512), format_share(1), format_share(0)
        ('14.5 %', '100 %', '0 %')
    """
    if not math.isfinite(share):
        return NOT_A_NUMBER
    return f"{_digits(100 * share) if abs(share) >= LEAST_SHARE else 0} %"


LEAST_SHARE = 1e-9
"""Below it a share is what adding up leaves."""

_FORMATS: Mapping[Kind, Callable[[float], str]] = {
    "bytes": format_bytes,
    "decimal_bytes": format_decimal_bytes,
    "time": format_time,
    "rate": format_rate,
    "bit_rate": format_bit_rate,
    "flop": format_flop,
    "flops": format_flops,
    "count": format_count,
    "share": format_share,
    "text": str,
}


def _scaled(value: float, base: int, units: tuple[str, ...]) -> str:
    if not math.isfinite(value):
        return NOT_A_NUMBER
    index = 0
    # Rounding may reach the next unit: 1023.9 KiB is written 1 MiB.
    while index < len(units) - 1 and float(_digits(abs(value)).replace(",", "")) >= base:
        value /= base
        index += 1
    return f"{_digits(value)} {units[index]}"


def _digits(value: float) -> str:
    """Three significant digits without trailing zeros; from 1000 on, whole numbers."""
    if value == 0:
        return "0"
    if abs(value) >= 999.5:
        return f"{value:,.0f}"
    places = max(2 - math.floor(math.log10(abs(value))), 0)
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_BINARY = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_DECIMAL = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}

SIZE_UNITS: Mapping[str, float] = (
    {"B": 1} | {f"{prefix}B": factor for prefix, factor in _DECIMAL.items() if prefix} | _BINARY
)
"""What `parse_size` reads, in bytes."""

SHORT_SIZE_UNITS: Mapping[str, float] = {
    "": 1,
    "K": 2**10,
    "M": 2**20,
    "G": 2**30,
    "T": 2**40,
    "k": 2**10,
    "m": 2**20,
    "g": 2**30,
}
"""What nccl-tests' own options mean by 8, 8K, 8M and 8G."""

BANDWIDTH_UNITS: Mapping[str, float] = (
    {f"{unit}/s": factor for unit, factor in SIZE_UNITS.items()}
    | {f"{prefix}b/s": factor / 8 for prefix, factor in _DECIMAL.items()}
    | {f"{prefix}bit/s": factor / 8 for prefix, factor in _DECIMAL.items()}
    | {f"{prefix}bps": factor / 8 for prefix, factor in _DECIMAL.items() if prefix}
    | {f"{prefix}Bps": factor for prefix, factor in _DECIMAL.items() if prefix}
)
"""What `parse_bandwidth` reads, in bytes per second."""

TIME_UNITS: Mapping[str, float] = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
}
"""What `parse_time` reads, in seconds; both code points that look like µ are taken."""

FLOPS_UNITS: Mapping[str, float] = {
    f"{prefix}FLOP{tail}": factor
    for prefix, factor in {"G": 1e9, "T": 1e12, "P": 1e15}.items()
    for tail in ("/s", "S")
}
"""What `parse_flops` reads, in FLOP/s."""


def parse_size(text: str, *, short: bool = False) -> float:
    """Bytes of a size such as `16 MiB` or `80 GB`.

    Args:
        text: A number and its unit.
        short: Also take a bare number as bytes, and K, M, G as powers of two (nccl-tests' way).

    Raises:
        UnitError: There is no number, no unit, or one that is not a size's.

    Example:
        >>> parse_size("16 MiB"), parse_size("8K", short=True)
        (16777216.0, 8192.0)
    """
    units = {**SHORT_SIZE_UNITS, **SIZE_UNITS} if short else SIZE_UNITS
    return _parse(text, units, example="16 MiB")


def parse_bandwidth(text: str) -> float:
    """Bytes per second of a bandwidth such as `400 Gb/s` or `50 GB/s`.

    Raises:
        UnitError: There is no number, no unit, or one that is not a bandwidth's.

    Example:
        >>> parse_bandwidth("400 Gb/s") == parse_bandwidth("50 GB/s") == 50e9
        True
    """
    return _parse(text, BANDWIDTH_UNITS, example="400 Gb/s")


def parse_time(text: str) -> float:
    """Seconds of a time such as `8 us` or `3.5 ms`.

    Raises:
        UnitError: There is no number, no unit, or one that is not a time's.

    Example:
        >>> parse_time("8 us")
        8e-06
    """
    return _parse(text, TIME_UNITS, example="8 us")


def parse_flops(text: str) -> float:
    """FLOP/s of a peak such as `989 TFLOP/s`.

    Raises:
        UnitError: There is no number, no unit, or one that is not a computing rate's.
    """
    return _parse(text, FLOPS_UNITS, example="989 TFLOP/s")


def parse_share(text: str) -> float:
    """A fraction of one, written `20%`, `20 %` or `0.2`.

    Raises:
        UnitError: There is no number, or the share is not within 0 and 1.

    Example:
        >>> parse_share("20%"), parse_share("0.2")
        (0.2, 0.2)
    """
    value = _parse(text, {"": 1.0, "%": 0.01, "％": 0.01}, example="20%")
    if value > 1:
        raise UnitError("share_range", {"found": text.strip()})
    return value


def _parse(text: str, units: Mapping[str, float], *, example: str) -> float:
    text = text.strip()
    match = _NUMBER.match(text)
    if match is None:
        raise UnitError("number_unreadable", {"found": text, "example": example})
    unit = text[match.end() :].strip()
    if unit not in units:
        values = {"found": text, "number": match[0], "unit": unit, "example": example}
        raise UnitError("unit_unknown" if unit else "unit_missing", values)
    number = float(match[0])
    # Division keeps 8 us at exactly 8e-06, where 8 * 1e-6 is one bit off.
    factor = units[unit]
    value = number * factor if factor >= 1 else number / round(1 / factor)
    if not math.isfinite(value):
        raise UnitError("number_too_large", {"found": text, "example": example})
    if value < 0:
        raise UnitError("number_negative", {"found": text, "example": example})
    return value
