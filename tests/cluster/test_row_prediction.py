from __future__ import annotations

import pytest

from gpuflow.cluster.measurements import (
    CACHE_COLUMNS,
    COLLECTIVE_COLUMNS,
    EXPERT_COLUMNS,
    read_tables,
    shipped_truth,
)
from gpuflow.cluster.row_prediction import (
    collective_seconds,
    exchange_rate,
    exchange_seconds,
    hand_over_seconds,
)


def test_every_row_of_the_tables_has_a_figure() -> None:
    folder = shipped_truth()
    for columns, _ in read_tables(folder, COLLECTIVE_COLUMNS):
        seconds, source = collective_seconds(columns)
        assert seconds > 0
        assert source in {"calibrated", "extrapolated"}
    for columns, _ in read_tables(folder, EXPERT_COLUMNS):
        if columns["time_us"]:
            seconds, source = exchange_seconds(columns)
            assert (1e6 * seconds, source) == (
                pytest.approx(float(columns["time_us"]), rel=0.11),
                "calibrated",
            )
        else:
            rate, source = exchange_rate(columns)
            measured = 1e9 * float(columns["bandwidth_GB_per_s"])
            assert rate == pytest.approx(measured, rel=0.11)
            assert source == ("calibrated" if columns["ep"] == "8" else "simulated")
    for columns, _ in read_tables(folder, CACHE_COLUMNS):
        seconds, source = hand_over_seconds(columns)
        assert 1e3 * seconds == pytest.approx(float(columns["time_ms"]), rel=0.05)


def test_rows_that_cannot_be_read_are_refused() -> None:
    for predict in (collective_seconds, exchange_seconds, exchange_rate, hand_over_seconds):
        with pytest.raises(ValueError, match=r"unreadable row|could not convert"):
            predict({})
