"""What the columns of a table of nccl-tests tell of its run, beside the figures themselves.

n ranks    r bus bandwidth over algorithm bandwidth    S size    E bytes of an element
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from gpuflow.importers.nccl_lines import ITEM_BYTES, RawRow

LEAST_RATE = 1.0
"""GB/s of which two decimals tell a time to half a per cent."""
MOST_BY_RATIO = 4096
"""Ranks that two decimals could tell from more."""


def by_bandwidth(rows: Sequence[RawRow]) -> list[RawRow]:
    """Rows with the GPU's times (us), which only their bandwidths tell; those too slow to tell go.

    nccl-tests -C 1 prints how long the CPU was busy, and bandwidths by how long the GPU was.
    """
    found = []
    for row in rows:
        _, rate, *others, in_rate = row.figures[:6]
        if rate is None or rate < LEAST_RATE:
            continue
        inside = row.size_bytes / in_rate / 1e3 if in_rate and in_rate >= LEAST_RATE else None
        outside = row.size_bytes / rate / 1e3
        figures = (outside, rate, *others[:2], inside, in_rate, *row.figures[6:])
        found.append(replace(row, figures=figures))
    return found


def shares(rows: Sequence[RawRow]) -> tuple[float | None, int | None]:
    """Share r of the rows with the most digits, and S / (count E) where it is a whole number."""
    ratios = [
        row.figures[2] / row.figures[1]
        for row in rows
        if row.figures[1] and row.figures[2] and row.figures[1] >= 1
    ]
    digits = max((row.figures[1] or 0 for row in rows), default=0)
    best = [
        row.figures[2] / row.figures[1]
        for row in rows
        if row.figures[1] and row.figures[2] and row.figures[1] >= max(digits / 2, 0.5)
    ]
    share = median(best or ratios) if best or ratios else None
    quotients = {
        row.size_bytes / (row.count * ITEM_BYTES[row.dtype])
        for row in sorted(rows, key=lambda row: row.size_bytes)[-4:]
        if row.count
    }
    one = quotients.pop() if len(quotients) == 1 else None
    return share, int(one) if one is not None and one == int(one) and one >= 1 else None


def collective_by_shape(
    rows: Sequence[RawRow], share: float | None, per_rank: int | None
) -> str | None:
    """The collective by the form of its rows; None where nothing tells."""
    if not rows or per_rank is None:
        return None
    first = rows[0]
    adds = first.redop not in (None, "none")
    has_place = first.figures[3] is not None and first.figures[4] is not None
    is_unchecked = has_place and first.figures[7] is None and not first.is_cut
    if per_rank > 1:
        if adds:
            return "reduce_scatter"
        return "all_to_all" if is_unchecked else "all_gather"
    if first.root is not None and first.root >= 0:
        return "reduce" if adds else "broadcast"
    is_plain = share is None or abs(share - 1) < 0.02
    if is_plain and (is_unchecked or (first.redop is None and share is not None)):
        return "send_recv"
    return "all_reduce" if adds else None


def could_be(
    collective: str, rows: Sequence[RawRow], share: float | None, per_rank: int | None
) -> bool:
    """Whether the rows do not speak against a name."""
    by_shape = collective_by_shape(rows, share, per_rank)
    alike = ({"all_gather", "all_to_all"}, {"send_recv", "broadcast", "all_reduce"})
    return by_shape in (None, collective) or {by_shape, collective} in [
        {a, b} for group in alike for a in group for b in group
    ]


def ranks_by_ratio(
    collective: str | None, share: float | None, rounding: float = 0.0
) -> int | None:
    """Ranks n by r; None where r is the same for any n, or cannot be.

    Args:
        collective: What ran.
        share: r as printed.
        rounding: What rounding may have done to r; of all n within it a round one is taken, the
            next power of two or else whole nodes of 8.
    """
    if share is None:
        return None
    if collective == "all_reduce":
        share, rounding = share / 2, rounding / 2
    elif collective not in {"all_gather", "reduce_scatter", "all_to_all"}:
        return None
    if not 0.4 < share < 0.9998:
        return None
    likely = max(2, round(1 / (1 - share)))
    low = math.ceil(1 / (1 - share + rounding))
    high = math.floor(1 / max(1 - share - rounding, 1 / MOST_BY_RATIO))
    for each in (1 << round(math.log2(likely)), round(likely / 8) * 8):
        if max(low, 8) <= each <= high:
            return each
    return likely


def rounding_of(rows: Sequence[RawRow]) -> float:
    """What two decimals of both bandwidths leave open of r, in the row that tells most."""
    slack = [
        0.005 * (1 / rate + bus / rate**2)
        for row in rows
        for rate, bus in (row.figures[1:3],)
        if rate and bus and rate >= LEAST_RATE
    ]
    return min(slack, default=0.0)
