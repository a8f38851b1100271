"""Columns that a table of nccl-tests may lack, and figures that do not belong together."""

from __future__ import annotations

import io

import pytest

from gpuflow.importers.nccl_log import read_runs
from gpuflow.importers.nccl_reading import Reading, understand
from gpuflow.importers.nccl_shape import ranks_by_ratio

ERRORS = "#wrong"
SIZES = tuple(2**power for power in range(20, 28))


def log(
    *,
    titles: str = "time algbw busbw #wrong",
    groups: int = 2,
    has_titles: bool = True,
    has_host: bool = True,
    unit: str = "",
    ranks: int = 8,
    rates: dict[int, float] | None = None,
) -> str:
    """A run of all_reduce at 100 GB/s of algorithm bandwidth, or the rates given by size."""
    host = "on node0 " if has_host else ""
    lines = ["# nThread 1 nGpus 8 minBytes 1048576 maxBytes 134217728 step: 2(factor)"]
    lines += [
        f"#  Rank  {n} Group  0 Pid 7 {host}device  {n} [0000:{n:02x}:00] NVIDIA B200"
        for n in range(ranks)
    ]
    if has_titles:
        lines.append("# size count type redop root" + f" {titles}" * groups)
    share = 2 * (ranks - 1) / ranks
    for size in SIZES:
        rate = (rates or {}).get(size, 100.0)
        spent = size / rate / 1e3
        part = f"{spent:.2f}{unit} {rate:.2f} {share * rate:.2f}"
        part += " 0" if ERRORS in titles else ""
        lines.append(f"{size} {size // 4} float sum -1" + f" {part}" * groups)
    return "\n".join([*lines, "# Avg bus bandwidth    : 175", ""])


def reading(text: str) -> Reading:
    (raw,) = read_runs(io.StringIO(text), "a.log")
    return understand(raw)


def codes(found: Reading) -> set[str]:
    return {doubt.code for doubt in found.doubts}


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    ("titles", "has_titles"),
    [("time algbw busbw #wrong", True), ("time algbw busbw", True), (ERRORS, False)],
)
def test_columns_that_are_not_printed_are_not_missed(
    titles: str, groups: int, has_titles: bool
) -> None:
    found = reading(log(titles=titles, groups=groups, has_titles=has_titles))
    assert (found.collective, found.ranks, found.gpu) == ("all_reduce", 8, "b200-sxm")
    assert not codes(found) & {"row_cut", "ranks_against_ratio", "wrong_data"}
    assert [row.bus_bytes_per_s for row in found.rows] == [175e9] * len(SIZES)
    has_place = [row.in_place_time_s is not None for row in found.rows]
    # Without titles the first row may be one that was cut.
    assert has_place[1:] == [groups == 2] * (len(SIZES) - 1)


def test_a_list_of_devices_need_not_name_the_host() -> None:
    found = reading(log(has_host=False))
    assert (found.ranks, found.nodes, len(found.raw.ranks)) == (8, 1, 8)


@pytest.mark.parametrize("unit", [" us", " µs", ""])
def test_units_behind_figures_are_no_figures(unit: str) -> None:
    found = reading(log(unit=unit, groups=1))
    assert found.rows == reading(log(groups=1)).rows


def test_milliseconds_behind_figures_are_told_by_size_and_bandwidth() -> None:
    text = "1073741824 268435456 float sum -1 11.82 ms 90.84 158.97 0\n"
    found = reading("# size count type redop root time algbw busbw #wrong\n" + text)
    assert found.rows[0].time_s == pytest.approx(11.82e-3)
    assert found.rows[0].bus_bytes_per_s == 158.97e9
    assert "time_unit" in codes(found)
    assert "wrong_data" not in codes(found)


# ---------------------------------------------------------------- figures against each other


def test_a_bandwidth_that_falls_is_told() -> None:
    found = reading(log(rates={SIZES[4]: 30.0, SIZES[5]: 40.0}))
    (doubt,) = (doubt for doubt in found.doubts if doubt.code == "bandwidth_falls")
    assert doubt.values == {
        "count": 2,
        "size": "16 MiB",
        "rate": "52.5 GB/s",
        "before": "175 GB/s",
        "smaller": "1 MiB",
    }
    assert "bandwidth_falls" not in codes(reading(log(rates={SIZES[4]: 55.0})))


def test_a_time_that_is_not_the_bandwidths_is_doubted() -> None:
    text = log().replace(f"{SIZES[3] / 1e5:.2f}", f"{2 * SIZES[3] / 1e5:.2f}")
    (doubt,) = (one for one in reading(text).doubts if one.code == "time_against_rate")
    assert doubt.values == {"count": 1, "found": "8 MiB"}
    assert "time_against_rate" not in codes(reading(log()))


def test_the_same_size_again_is_no_larger_message() -> None:
    rows = "".join(
        f"8589934592 2147483648 float sum {time} {rate:.2f} {rate * 1.99609:.2f} 0\n"
        for time in (47850, 100855, 97920, 79879, 117113)
        for rate in (8589934592 / time / 1e3,)
    )
    found = reading("# size count type redop time algbw busbw #wrong\n" + rows)
    assert found.ranks == 512
    assert "sizes_repeated" in codes(found)
    assert not codes(found) & {"outliers", "bandwidth_falls", "row_cut"}


@pytest.mark.parametrize("ranks", [2, 3, 4, 6, 7, 8, 12, 16, 24, 32, 48, 64, 128, 256, 512])
@pytest.mark.parametrize("rate", [12.34, 187.65])
def test_ranks_come_from_the_bandwidths_as_far_as_these_tell(ranks: int, rate: float) -> None:
    for collective, share in (("all_reduce", 2 - 2 / ranks), ("all_gather", 1 - 1 / ranks)):
        printed, bus = round(rate, 2), round(rate * share, 2)
        slack = 0.005 * (1 / printed + bus / printed**2)
        found = ranks_by_ratio(collective, bus / printed, slack)
        assert found is not None
        assert found == ranks or abs((found - ranks) / ranks) < 2 * ranks * slack


def test_a_ratio_that_no_ranks_have_means_none() -> None:
    rows = "8589934592 2147483648 float sum -1 12345 695.8 780.2 0 12345 695.8 780.2 0\n"
    found = reading(rows)
    assert found.ranks is None
    assert not codes(found) & {"ranks_concluded", "ranks_against_ratio"}
