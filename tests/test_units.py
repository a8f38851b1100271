from __future__ import annotations

import math

import pytest

from gpuflow.units import (
    Kind,
    Quantity,
    UnitError,
    format_quantity,
    format_time,
    parse_bandwidth,
    parse_flops,
    parse_share,
    parse_size,
    parse_time,
)


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (0, "bytes", "0 B"),
        (4, "bytes", "4 B"),
        (1023, "bytes", "1,023 B"),
        (2048, "bytes", "2 KiB"),
        (131072, "bytes", "128 KiB"),
        (1023.9 * 1024, "bytes", "1 MiB"),
        (81559 * 2**20, "bytes", "79.6 GiB"),
        (-5 * 2**30, "bytes", "-5 GiB"),
        (80e9, "decimal_bytes", "80 GB"),
        (999.9e6, "decimal_bytes", "1 GB"),
        (1e-10, "time", "0.1 ns"),
        (600e-9, "time", "600 ns"),
        (19.336e-6, "time", "19.3 µs"),
        (3.5e-3, "time", "3.5 ms"),
        (0.99996e-3, "time", "1 ms"),
        (1234.5, "time", "1,234 s"),
        (370e9, "rate", "370 GB/s"),
        (4.8e12, "rate", "4.8 TB/s"),
        (25e9, "bit_rate", "200 Gb/s"),
        (989e12, "flops", "989 TFLOP/s"),
        (2250e12, "flops", "2,250 TFLOP/s"),
        (16384, "count", "16,384"),
        (0.145, "share", "14.5 %"),
        (1.0, "share", "100 %"),
        (2.59e-16, "share", "0 %"),
        (-2.59e-16, "share", "0 %"),
        (math.inf, "time", "n/a"),
        (math.nan, "share", "n/a"),
        ("1–16", "text", "1–16"),
    ],
)
def test_format_gives_three_digits_and_the_unit(value: float | str, kind: Kind, text: str) -> None:
    assert format_quantity(Quantity(value, kind)) == text


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (parse_size, "16 MiB", 16 * 2**20),
        (parse_size, "80GB", 80e9),
        (parse_size, "4 B", 4),
        (parse_bandwidth, "400 Gb/s", 50e9),
        (parse_bandwidth, "400Gbps", 50e9),
        (parse_bandwidth, "3.35 TB/s", 3.35e12),
        (parse_time, "2.5 us", 2.5e-6),
        (parse_time, "2.5 µs", 2.5e-6),
        (parse_time, "8 \u03bcs", 8e-6),
        (parse_flops, "989 TFLOP/s", 989e12),
        (parse_share, "20 %", 0.2),
        (parse_share, "0.2", 0.2),
        (parse_share, "1", 1),
    ],
)
def test_parse_reads_what_people_write(parse: object, text: str, value: float) -> None:
    assert parse(text) == pytest.approx(value, rel=1e-15)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("parse", "text", "code"),
    [
        (parse_size, "16", "unit_missing"),
        (parse_bandwidth, "400", "unit_missing"),
        (parse_bandwidth, "400 Gb", "unit_unknown"),
        (parse_bandwidth, "400 gb/s", "unit_unknown"),
        (parse_time, "8 min", "unit_unknown"),
        (parse_time, "soon", "number_unreadable"),
        (parse_time, "１２ us", "number_unreadable"),
        (parse_time, "", "number_unreadable"),
        (parse_size, "-1 GB", "number_negative"),
        (parse_bandwidth, "1e999 GB/s", "number_too_large"),
        (parse_share, "20", "share_range"),
        (parse_share, "120%", "share_range"),
    ],
)
def test_parse_refuses_with_a_code(parse: object, text: str, code: str) -> None:
    with pytest.raises(UnitError) as caught:
        parse(text)  # type: ignore[operator]
    assert caught.value.code == code


def test_short_sizes_are_powers_of_two_as_in_nccl_tests() -> None:
    assert [parse_size(text, short=True) for text in ("8", "8K", "1G", "1 GB")] == [
        8,
        8192,
        2**30,
        10**9,
    ]


def test_what_rounding_leaves_of_a_time_is_none() -> None:
    assert format_time(4.34e-19) == "0 s"
    assert format_time(-4.34e-19) == "0 s"
    assert format_time(9.46e-11) == "0.0946 ns"
