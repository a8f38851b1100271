"""Figures as people read them: network links in Gb/s, links inside a node in GB/s."""

from __future__ import annotations

from typing import Literal

from gpuflow.exporters.tables import NOTHING
from gpuflow.units import (
    format_bit_rate,
    format_bytes,
    format_count,
    format_rate,
    format_share,
    format_time,
)

Tier = Literal["scale_up", "scale_out"]


def rate_both(rate_bytes_per_s: float | None, tier: Tier | None) -> str:
    """A bandwidth in both units, the one that people of that tier read standing first.

    Example:
        >>> rate_both(50e9, "scale_out"), rate_both(370e9, "scale_up"), rate_both(None, None)
        ('400 Gb/s (50 GB/s)', '370 GB/s (2.96 Tb/s)', '–')
    """
    if rate_bytes_per_s is None:
        return NOTHING
    bits, plain = format_bit_rate(rate_bytes_per_s), format_rate(rate_bytes_per_s)
    return f"{bits} ({plain})" if tier == "scale_out" else f"{plain} ({bits})"


def time_or_nothing(time_s: float | None) -> str:
    """A time, or a dash."""
    return NOTHING if time_s is None else format_time(time_s)


def size_or_nothing(size_bytes: float | None) -> str:
    """A size, or a dash."""
    return NOTHING if size_bytes is None else format_bytes(size_bytes)


def share_or_nothing(share: float | None) -> str:
    """A share, or a dash."""
    return NOTHING if share is None else format_share(share)


def count_or_nothing(count: float | None) -> str:
    """A count, or a dash."""
    return NOTHING if count is None else format_count(count)


def ratio(value: float) -> str:
    """How many times: `3.1×`.

    Example:
        >>> ratio(3.14159), ratio(0.4), ratio(120)
        ('3.1×', '0.40×', '120×')
    """
    places = 2 if value < 1 else 1 if value < 100 else 0
    return f"{value:.{places}f}×"
