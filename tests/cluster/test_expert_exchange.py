from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpuflow.cluster.cache_transfer import (
    fit_hand_overs,
    nics_of_text,
    read_hand_overs,
    shipped_hand_overs,
)
from gpuflow.cluster.expert_exchange import (
    Exchange,
    ExchangeRow,
    exchange_of,
    fit_exchange,
    local_bytes,
    nic_bytes,
    normal_bandwidth,
    read_exchanges,
    shipped_exchanges,
)
from gpuflow.cluster.measurements import shipped_truth

ROWS = read_exchanges(shipped_truth())


def deepep(op: str) -> list[ExchangeRow]:
    wanted = ("h100-sxm", "deepep_low_latency", op)
    return [r for r in ROWS if (r.exchange.gpu, r.exchange.kernel, r.exchange.op) == wanted]


@pytest.mark.parametrize("op", ["dispatch", "combine"])
def test_deepep_from_one_node_and_one_row_over_two(op: str) -> None:
    """The rest at 2, 4 and 8 nodes was never seen; its rate is that of the fabric."""
    rows = deepep(op)
    inside = [r for r in rows if r.exchange.nodes == 1]
    over_two = [r for r in rows if r.exchange.nodes == 2]
    seen = max(over_two, key=lambda r: r.exchange.copies_bytes)
    fitted = fit_exchange([*inside, seen])
    assert fitted.nic_bytes_per_s == pytest.approx(46e9)
    for nodes in (2, 4, 8):
        judged = [r for r in rows if r.exchange.nodes == nodes and r is not seen]
        errors = [abs(fitted.seconds(r.exchange) / r.time_s - 1) for r in judged]
        assert errors
        assert np.mean(errors) <= 0.11


def test_every_kernel_is_fitted_closely() -> None:
    assert len(ROWS) == 42
    for row in ROWS:
        found = shipped_exchanges().predict(row.exchange)
        assert found.time_s == pytest.approx(row.time_s, rel=0.11)
        assert not found.is_extrapolated
        assert row.place in found.fit.rows
        assert found.fit.error <= 0.05


def test_bytes_split_among_self_node_and_nics() -> None:
    exchange = Exchange("h100-sxm", "deepep_low_latency", "dispatch", 32, 4, 3200.0, "ib-ndr")
    kept = exchange.copies_bytes / 32
    assert local_bytes(exchange) + nic_bytes(exchange) + kept == pytest.approx(3200.0)
    assert nic_bytes(exchange) == pytest.approx(2400.0)
    assert nic_bytes(replace(exchange, ranks=8, nodes=1)) == 0.0


def test_times_rise_with_bytes_and_nodes() -> None:
    book = shipped_exchanges()
    one = Exchange("h100-sxm", "deepep_low_latency", "combine", 8, 1, 1e6, "ib-ndr")
    over = [replace(one, ranks=8 * k, nodes=k) for k in (1, 2, 4, 8)]
    assert np.all(np.diff([book.predict(e).time_s for e in over]) > 0)
    larger = [replace(over[2], copies_bytes=x) for x in np.geomspace(1e5, 1e8, 20)]
    times = [book.predict(e).time_s for e in larger]
    assert np.all(np.diff(times) > 0)
    assert all(t > nic_bytes(e) / 50e9 for t, e in zip(times, larger, strict=True))


def test_another_gpu_or_more_nodes_are_extrapolated() -> None:
    book = shipped_exchanges()
    one = Exchange("h200-sxm", "deepep_low_latency", "dispatch", 16, 2, 4e6, "ib-ndr")
    assert book.predict(one).is_extrapolated
    assert book.predict(replace(one, gpu="h100-sxm", ranks=128, nodes=16)).is_extrapolated
    assert not book.predict(replace(one, gpu="h100-sxm")).is_extrapolated
    with pytest.raises(ValueError, match="nothing known"):
        book.predict(replace(one, kernel="telepathy"))
    with pytest.raises(ValueError, match="nothing known"):
        book.predict(replace(one, gpu="gb200", kernel="trtllm_a2a", ranks=144, nodes=2))


def test_rows_are_read_as_written() -> None:
    columns = {
        "gpu": "h100-sxm",
        "fabric": "nvlink4 + 400G IB per GPU, 2 nodes",
        "ep": "16",
        "tokens_per_rank": "128",
        "hidden": "7168",
        "top_k": "8",
        "op": "dispatch",
        "dtype": "fp8",
        "kernel": "normal",
    }
    found = exchange_of(columns)
    assert found is not None
    assert (found.nodes, found.fabric) == (2, "ib-ndr")
    assert found.copies_bytes == pytest.approx(128 * 8 * 7392)
    assert normal_bandwidth(found) == pytest.approx(46e9)
    assert normal_bandwidth(replace(found, gpu="h800", ranks=8, nodes=1)) == pytest.approx(
        156e9, rel=0.03
    )
    assert exchange_of({**columns, "ep": "many"}) is None
    assert exchange_of({**columns, "dtype": "int3"}) is None
    with pytest.raises(ValueError, match="nothing known"):
        normal_bandwidth(replace(found, fabric=""))


def test_a_fit_needs_a_row_inside_a_node() -> None:
    with pytest.raises(ValueError, match="within one node"):
        fit_exchange([r for r in ROWS if r.exchange.nodes == 2][:1])
    alone = [r for r in deepep("dispatch") if r.exchange.nodes == 1][:1]
    assert fit_exchange(alone).seconds(alone[0].exchange) == pytest.approx(alone[0].time_s)


def test_cache_hand_overs() -> None:
    rows = read_hand_overs(shipped_truth())
    fitted = shipped_hand_overs()
    assert fitted.error <= 0.05
    assert 0.5 < fitted.share <= 1
    for row in rows:
        assert fitted.seconds(row.size_bytes, row.nics_bytes_per_s) == pytest.approx(
            row.time_s, rel=0.05
        )
        rest = [one for one in rows if one is not row]
        guess = fit_hand_overs(rest).seconds(row.size_bytes, row.nics_bytes_per_s)
        assert guess == pytest.approx(row.time_s, rel=0.20)
    with pytest.raises(ValueError, match="two rows"):
        fit_hand_overs(rows[:1])


def test_nics_are_read_as_written() -> None:
    assert nics_of_text("8 x 200G RoCE") == pytest.approx(8 * 23e9)
    assert nics_of_text("400G IB") == pytest.approx(46e9)
    assert nics_of_text("a very long cable") is None
