"""What one collective takes by size, for programs and for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpuflow.cluster.calibration import Calibration
from gpuflow.cluster.measurements import Row, shipped_rows
from gpuflow.cluster.nccl_model import PROTOCOLS
from gpuflow.cluster.prediction import Detail
from gpuflow.cluster.selection import RULE_SOURCES, Case, Choice, Selection
from gpuflow.cluster.winners import Winner
from gpuflow.collectives.oracle import bus_factor

Record = dict[str, object]


def measured_rows(selection: Selection) -> tuple[Row, ...]:
    """Measurements of the same GPU, ranks, nodes and collective within the sizes, by size.

    Every kernel, launch mode and fabric between nodes.
    """
    if not selection.case.is_usual:
        return ()
    key, sizes = selection.case.key, selection.sizes
    found = [
        row
        for row in shipped_rows()
        if (row.key.gpu, row.key.collective, row.key.ranks, row.key.nodes)
        == (key.gpu, key.collective, key.ranks, key.nodes)
        and sizes.min() <= row.size_bytes <= sizes.max()
    ]
    return tuple(sorted(found, key=lambda row: row.size_bytes))


def is_same_way(row: Row, case: Case) -> bool:
    """Whether a row was measured with the kernel, the launch mode and the fabric of the case."""
    return row.key == case.key and case.launch != "fused"


def point_records(selection: Selection) -> list[Record]:
    """All points by size: the chosen one, every schedule, every plan of the library.

    `basis` says what a time was worked out from: curve, schedule or planner.
    """
    simulated = selection.simulated
    found: list[Record] = []
    for which, size in enumerate(selection.sizes.tolist()):
        choice = selection.choices[int(selection.choice[which])]
        has_curve = selection.detail is not None
        is_planned = not has_curve and choice in selection.planned
        if has_curve:
            time_s = float(selection.time_s[which])
            source = selection.time_source[which]
            found.append(_record(selection.case, size, *choice, time_s, source, True, "curve"))
        for row, name in enumerate(simulated.algorithms):
            one = Choice(name, PROTOCOLS[int(simulated.protocol[row, which])])
            time_s = float(simulated.time_s[row, which])
            is_chosen = one == choice and not has_curve and not is_planned
            found.append(
                _record(selection.case, size, *one, time_s, "simulated", is_chosen, "schedule")
            )
        for one, times in selection.planned.items():
            is_chosen = is_planned and one == choice
            time_s = float(times[which])
            found.append(
                _record(selection.case, size, *one, time_s, "simulated", is_chosen, "planner")
            )
    return found


def _record(
    case: Case,
    size_bytes: float,
    algorithm: str,
    protocol: str,
    time_s: float,
    time_source: str,
    is_chosen: bool,
    basis: str,
) -> Record:
    return {
        "size_bytes": int(size_bytes),
        "ranks": case.n_ranks,
        "algorithm": algorithm,
        "protocol": protocol,
        "time_s": time_s,
        "bus_bandwidth_bytes_per_s": bus_bandwidth(case, size_bytes, time_s),
        "time_source": time_source,
        "chosen": is_chosen,
        "basis": basis,
    }


def bus_bandwidth(case: Case, size_bytes: float, time_s: float) -> float:
    """Bus factor x size / time, as nccl-tests has it; 0 for a message of nothing."""
    return bus_factor(case.collective, case.n_ranks) * size_bytes / time_s if time_s else 0.0


def document(selection: Selection, winners: Mapping[str, Sequence[Winner]]) -> Record:
    """Points, measurements, calibration and winners for programs.

    Args:
        selection: The times.
        winners: Ranges of sizes by basis: choice, schedule, measured.
    """
    return {
        "points": point_records(selection),
        "measured": [_measured_record(row, selection.case) for row in measured_rows(selection)],
        "calibration": calibration_record(selection.detail),
        "choice": {"rule": selection.rule, "source": RULE_SOURCES.get(selection.rule)},
        "winners": [record for name in winners for record in _winner_records(name, winners[name])],
    }


def _measured_record(row: Row, case: Case) -> Record:
    return {
        "size_bytes": int(row.size_bytes),
        "time_s": row.time_s,
        "bus_bandwidth_bytes_per_s": bus_bandwidth(case, row.size_bytes, row.time_s),
        "kernel": row.key.kernel,
        "launch": row.key.launch,
        "fabric": row.key.fabric or None,
        "source": row.source,
        "row": row.place,
    }


def calibration_record(detail: Detail | None) -> Record | None:
    """The curves a time rests on, for programs; None where it rests on none."""
    if detail is None:
        return None
    return {
        "step": detail.step,
        "gpus": list(detail.gpus),
        "sources": list(detail.sources),
        "rows": list(detail.rows),
        "mean_abs_error": detail.error,
        "curves": [_curve_record(one) for one in detail.calibrations],
    }


def _curve_record(curve: Calibration) -> Record:
    low, high = curve.size_range
    return {
        "gpu": curve.key.gpu,
        "ranks": curve.key.ranks,
        "nodes": curve.key.nodes,
        "kernel": curve.key.kernel,
        "launch": curve.key.launch,
        "fabric": curve.key.fabric or None,
        "source": curve.source,
        "form": curve.form,
        "rows": len(curve.rows),
        "first_size_bytes": int(low),
        "last_size_bytes": int(high),
        "mean_abs_error": left_out_error(curve),
        "forms_tried": dict(curve.forms_tried),
        "dropped_sizes_bytes": [int(size) for size in curve.dropped],
        "borrowed_sizes_bytes": [int(size) for size in curve.borrowed],
    }


def left_out_error(curve: Calibration) -> float | None:
    """Mean relative error of each row predicted from the others; None with too few rows."""
    error = curve.left_out_error
    return None if error != error else error


def _winner_records(name: str, winners: Sequence[Winner]) -> Iterator[Record]:
    for one in winners:
        first, second = one.label.split(" ", 1)
        is_kernel = name == "measured"
        yield {
            "basis": name,
            "first_size_bytes": int(one.first_bytes),
            "end_size_bytes": int(one.end_bytes),
            "algorithm": None if is_kernel else first,
            "protocol": None if is_kernel else second,
            "kernel": first if is_kernel else None,
            "launch": second if is_kernel else None,
        }
