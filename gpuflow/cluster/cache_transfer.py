"""Time of handing a KV cache from the prefill to the decode machine.

t = alpha + bytes / (share x rate of the NICs together): one read of all blocks after the prefill.
alpha and share are fitted to measured hand-overs; other machines take the same two.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from gpuflow.cluster.measurements import CACHE_COLUMNS, figure, read_tables, shipped_truth
from gpuflow.cluster.multi_node import nic_of


@dataclass(frozen=True, slots=True)
class HandOverRow:
    """One measured hand-over."""

    size_bytes: float
    nics_bytes_per_s: float
    """Rate that collectives reach over all NICs of the machine."""
    time_s: float
    source: str
    place: str


@dataclass(frozen=True, slots=True)
class HandOverFit:
    """What was fitted, and on which rows."""

    alpha_s: float
    share: float
    """Of the NICs' reached rate."""
    rows: tuple[str, ...]
    sources: tuple[str, ...]
    error: float
    """Mean relative error on those rows."""

    def seconds(self, size_bytes: float, nics_bytes_per_s: float) -> float:
        """Time of one hand-over."""
        return self.alpha_s + size_bytes / (self.share * nics_bytes_per_s)


def nics_of_text(text: str) -> float | None:
    """Reached rate (bytes/s) of NICs written as "8 x 200G RoCE"; None where that cannot be read.

    Example:
        >>> nics_of_text("8 x 200G RoCE") == 8 * 23e9
        True
    """
    found = re.fullmatch(r"\s*(?:(\d{1,4})\s*x\s*)?(\d{1,4})G\s+(RoCE|IB)\b.*", text, re.I | re.A)
    if found is None:
        return None
    rates = {"200": "hdr", "400": "ndr", "800": "xdr"}
    speed, kind = found.group(2), found.group(3).lower()
    nic = nic_of(f"roce-{speed}" if kind == "roce" else f"ib-{rates.get(speed, speed)}")
    return None if nic is None else int(found.group(1) or 1) * nic.bytes_per_s


def read_hand_overs(folder: Path) -> tuple[HandOverRow, ...]:
    """Readable rows of the table of hand-overs."""
    found = []
    for columns, place in read_tables(folder, CACHE_COLUMNS):
        rate = nics_of_text(columns["fabric"])
        try:
            size, time_s = figure(columns["size_bytes"]), 1e-3 * figure(columns["time_ms"])
        except ValueError:
            continue
        if rate is not None and size > 0 and time_s > 0:
            found.append(HandOverRow(size, rate, time_s, columns.get("source", ""), place))
    return tuple(found)


def fit_hand_overs(rows: Sequence[HandOverRow]) -> HandOverFit:
    """Least squares of relative errors.

    Raises:
        ValueError: Fewer than two rows.
    """
    if len(rows) < 2:
        raise ValueError("two rows are needed")
    times = np.array([row.time_s for row in rows])
    ideal = np.array([row.size_bytes / row.nics_bytes_per_s for row in rows])
    terms = np.stack([1 / times, ideal / times], axis=1)
    alpha, per_ideal = np.linalg.lstsq(terms, np.ones(len(rows)), rcond=None)[0]
    alpha, per_ideal = max(float(alpha), 0.0), max(float(per_ideal), 1.0)
    misses = np.abs((alpha + per_ideal * ideal) / times - 1)
    return HandOverFit(
        alpha,
        1 / per_ideal,
        tuple(row.place for row in rows),
        tuple(dict.fromkeys(row.source for row in rows)),
        float(misses.mean()),
    )


@cache
def shipped_hand_overs() -> HandOverFit:
    """Fitted to the project's own rows."""
    return fit_hand_overs(read_hand_overs(shipped_truth()))
