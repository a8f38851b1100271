"""The predicted figure of one row of a table of measurements, from the row's own columns."""

from __future__ import annotations

from collections.abc import Mapping

from gpuflow.cluster.cache_transfer import nics_of_text, shipped_hand_overs
from gpuflow.cluster.expert_exchange import exchange_of, normal_bandwidth, shipped_exchanges
from gpuflow.cluster.measurements import collective_row, figure
from gpuflow.cluster.prediction import TimeSource, shipped_book


def collective_seconds(columns: Mapping[str, str]) -> tuple[float, TimeSource]:
    """Time of a row of the tables of collectives.

    Raises:
        ValueError: The row cannot be read, or nothing is known of its GPU, kernel or collective.
    """
    row = collective_row(columns, "")
    if row is None:
        raise ValueError("unreadable row")
    found = shipped_book().predict(row.key, row.size_bytes, row.source)
    return float(found.seconds), found.time_source


def exchange_seconds(columns: Mapping[str, str]) -> tuple[float, TimeSource]:
    """Time of a dispatch or combine.

    Raises:
        ValueError: The row cannot be read, or the kernel was never measured.
    """
    exchange = exchange_of(columns)
    if exchange is None:
        raise ValueError("unreadable row")
    found = shipped_exchanges().predict(exchange)
    return found.time_s, "extrapolated" if found.is_extrapolated else "calibrated"


def exchange_rate(columns: Mapping[str, str]) -> tuple[float, TimeSource]:
    """Rate (bytes/s) of a dispatch or combine by a kernel that reports one instead of a time.

    Raises:
        ValueError: The row cannot be read, or its GPU or network is not known.
    """
    exchange = exchange_of(columns)
    if exchange is None:
        raise ValueError("unreadable row")
    # inside a node the share of the links is fitted, between nodes the NIC's own rate stands
    return normal_bandwidth(exchange), "calibrated" if exchange.nodes == 1 else "simulated"


def hand_over_seconds(columns: Mapping[str, str]) -> tuple[float, TimeSource]:
    """Time of a cache hand-over.

    Raises:
        ValueError: The row cannot be read.
    """
    rate = nics_of_text(columns.get("fabric", ""))
    size = figure(columns.get("size_bytes", ""))
    if rate is None or not size > 0:
        raise ValueError("unreadable row")
    return shipped_hand_overs().seconds(size, rate), "calibrated"
