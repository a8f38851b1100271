"""A collective for programs: one chosen point a size, measurements, calibration, winners."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpuflow.cluster.selection import Case, select
from gpuflow.cluster.winners import choice_winners, measured_winners, schedule_winners
from gpuflow.collectives.algorithms import ALGORITHMS, has_levels
from gpuflow.exporters.collective_tables import (
    schedules_table,
    selected_table,
    selection_notes,
    winners_table,
)
from gpuflow.exporters.collectives import document, measured_rows, point_records
from gpuflow.scenario.machines import machines

SIZES = [2**power for power in range(10, 31, 4)]


def case(collective: str = "all_reduce", gpu: str = "h100", ranks: int = 8, **more: str) -> Case:
    return Case(collective=collective, cluster=machines(gpu, ranks), n_ranks=ranks, **more)


CASES = [
    *(case(collective, ranks=2) for collective in ALGORITHMS),
    case(ranks=16),
    case(ranks=12),
    case(gpu="mi300x", kernel="rccl", launch="rccl-tests"),
    case(kernel="vllm_custom", launch="cuda_graph"),
    case(gpu="h20", kernel="trtllm_custom", launch="fused"),
]


@pytest.mark.parametrize(
    "asked", CASES, ids=lambda one: f"{one.collective}-{one.kernel}-{one.n_ranks}"
)
def test_exactly_one_point_of_each_size_is_chosen(asked: Case) -> None:
    for algorithm in (None, "ring" if asked.collective == "all_reduce" else None):
        selection = select(asked, SIZES, algorithm)
        records = point_records(selection)
        chosen = [record for record in records if record["chosen"]]
        assert [record["size_bytes"] for record in chosen] == SIZES
        assert [record["time_s"] for record in chosen] == pytest.approx(selection.time_s.tolist())
        assert len({tuple(record) for record in records}) == 1


def test_rivals_are_every_schedule_and_every_plan() -> None:
    records = [r for r in point_records(select(case(), SIZES)) if r["size_bytes"] == 1024]
    by_basis: dict[object, list[Any]] = {}
    for record in records:
        by_basis.setdefault(record["basis"], []).append((record["algorithm"], record["protocol"]))
    on_one_node = [name for name in ALGORITHMS["all_reduce"] if not has_levels("all_reduce", name)]
    assert [name for name, _ in by_basis["schedule"]] == on_one_node
    assert [len(by_basis[name]) for name in ("curve", "planner")] == [1, 7]
    assert by_basis["curve"] == [("ring", "ll")]
    assert ("tree", "ll128") in by_basis["planner"]


def test_bus_bandwidth_is_bus_factor_times_size_over_time() -> None:
    for record in point_records(select(case(), SIZES)):
        assert record["bus_bandwidth_bytes_per_s"] == pytest.approx(
            1.75 * record["size_bytes"] / record["time_s"]  # type: ignore[operator]
        )


def found(asked: Case, sizes: list[int] = SIZES) -> dict[str, Any]:
    low, high = sizes[0], sizes[-1]
    winners = {
        "choice": choice_winners(asked, low, high),
        "schedule": schedule_winners(asked, low, high),
        "measured": measured_winners(asked, low, high),
    }
    return json.loads(json.dumps(document(select(asked, sizes), winners), allow_nan=False))


def test_the_document_says_where_a_calibrated_time_is_from() -> None:
    calibration = found(case())["calibration"]
    assert calibration["step"] == "fit"
    assert calibration["gpus"] == ["h100-sxm"]
    assert 0 < calibration["mean_abs_error"] < 0.11
    curve = calibration["curves"][0]
    assert len(calibration["rows"]) == curve["rows"] == 11
    assert calibration["rows"][0].startswith("collectives_one_node.csv:")
    assert curve["form"] in curve["forms_tried"]
    assert (curve["first_size_bytes"], curve["last_size_bytes"]) == (512, 2**29)


def test_simulated_times_have_no_calibration() -> None:
    document = found(case("broadcast"))
    assert document["calibration"] is None
    assert document["choice"]["rule"] == "nccl_planner"
    assert "tuning.cc" in document["choice"]["source"]


def test_a_curve_through_too_few_rows_has_no_error() -> None:
    document = found(case("send_recv", ranks=2, launch="profiler"))
    json.dumps(document, allow_nan=False)


def test_measured_points_are_of_the_same_machine_within_the_sizes() -> None:
    measured = found(case(), [2**15, 2**20])["measured"]
    assert {record["size_bytes"] for record in measured} <= set(range(2**15, 2**20 + 1))
    assert {"nccl", "vllm_custom", "trtllm_custom"} <= {record["kernel"] for record in measured}
    for record in measured:
        assert record["bus_bandwidth_bytes_per_s"] == pytest.approx(
            1.75 * record["size_bytes"] / record["time_s"]
        )
        assert record["source"]
        assert record["launch"]


def test_winners_cover_the_sizes_by_rule_by_schedule_and_by_kernel() -> None:
    winners = found(case())["winners"]
    for basis in ("choice", "schedule"):
        ranges = [one for one in winners if one["basis"] == basis]
        assert ranges[0]["first_size_bytes"] == SIZES[0]
        assert ranges[-1]["end_size_bytes"] == SIZES[-1]
        assert all(one["algorithm"] and one["protocol"] and not one["kernel"] for one in ranges)
    kernels = [one for one in winners if one["basis"] == "measured"]
    assert all(one["kernel"] and one["launch"] and not one["algorithm"] for one in kernels)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    "asked", CASES, ids=lambda one: f"{one.collective}-{one.kernel}-{one.n_ranks}"
)
def test_notes_say_where_times_are_from(asked: Case, language: Any) -> None:
    selection = select(asked, SIZES)
    notes = list(selection_notes(selection, language))
    says = {
        "calibrated": ("Curve of", "标定曲线"),
        "extrapolated": ("xtrapolated", "外推"),
        "simulated": ("Simulated", "模拟"),
    }
    for source in set(selection.time_source):
        assert any(says[source][language == "zh"] in note for note in notes)
    for curve in selection.detail.calibrations[:4] if selection.detail else ():
        assert any(curve.source in note for note in notes)


def test_the_table_holds_the_measured_time_at_its_size() -> None:
    selection = select(case(), [2**15, 2**16])
    table = selected_table(selection, "en")
    assert table.columns[-1].title == "Measured"
    row = next(r for r in measured_rows(selection) if r.key == selection.case.key)
    assert row.size_bytes == 2**15
    assert table.rows[0][-1].text == "18.4 µs"
    assert table.rows[1][-1].text == "–"
    assert len(selected_table(select(case("broadcast"), [2**15]), "en").columns) == 5


def test_rivals_go_by_letters_where_the_screen_is_narrow() -> None:
    selection = select(case(), SIZES)
    algorithms = selection.simulated.algorithms
    letters = dict(zip(algorithms, "RTDHOSNVWXYZ"[: len(algorithms)], strict=True))
    wide, narrow = (schedules_table(selection, letters, "en", width) for width in (None, 80))
    assert [column.title for column in wide.columns[1:]] == list(letters)
    assert [column.title for column in narrow.columns[1:]] == list(letters.values())
    assert "D recursive_doubling" in narrow.notes[0]


def test_ranges_read_as_sentences() -> None:
    winners = {"choice": choice_winners(case(), 1024, 2**30), "measured": ()}
    for language, text in (
        ("en", "ring LL up to 1.08 MiB; nvls Simple from 1.08 MiB."),
        ("zh", "ring LL（1.08 MiB 以下）；nvls Simple（1.08 MiB 以上）。"),
    ):
        table = winners_table(select(case(), SIZES), winners, language)  # type: ignore[arg-type]
        assert len(table.notes) == 1
        assert table.notes[0].endswith(text)
