"""What a fit says of rows kept back, and why it misses where it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuflow.exporters.nccl_runs import ReadRun
from gpuflow.importers.nccl_fit import MOST_FITTED, ROWS_TO_TEST, LogFit, between_columns, fit_log
from gpuflow.importers.nccl_log import read_log, read_runs
from gpuflow.importers.nccl_reading import Doubt, Reading, understand

HEAD = (
    "# nThread 1 nGpus 8 minBytes 8 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20"
)
NOISY = {
    "gh200-8gpu-2node-allreduce-slownet-noisy.log": (
        0.15,
        "a wrong network: 373 us at 1 KiB, and 2 MiB quicker than 1 MiB",
    )
}
"""Logs whose rows kept back may be missed by more than 10 %, and why."""


def reading(times: list[tuple[float, float]]) -> Reading:
    """A run of all_reduce on eight GPUs from 8 B on: times (us) out of place and in place."""
    ranks = [
        f"#  Rank {n} Group 0 Pid 1 on node device {n} [0000:0{n}:00] NVIDIA H100 80GB HBM3"
        for n in range(8)
    ]
    rows = []
    for place, (out, inside) in enumerate(times):
        size = 8 << place
        rates = [f"{size / t / 1e3:.2f} {1.75 * size / t / 1e3:.2f} 0" for t in (out, inside)]
        rows.append(f"{size} {size // 4} float sum -1 {out} {rates[0]} {inside} {rates[1]}")
    lines = ["# Collective test starting: all_reduce_perf", HEAD, *ranks, *rows]
    return understand(read_runs(lines, "made.log")[0])


def doubts(found: Reading) -> set[str]:
    fitted = fit_log(found)
    run = ReadRun(reading=found, fit=fitted, verdict=Doubt("no_verdict_gpu"), command=None)
    return {doubt.code for doubt in run.doubts}


def smooth(place: int) -> float:
    return 12 + (8 << place) / 200e3


def test_steps_that_repeat_are_not_called_noise() -> None:
    steps = [smooth(n) * (1, 1, 2.4, 2.4)[n % 4] for n in range(26)]
    stepped = reading([(t, 1.01 * t) for t in steps])
    assert between_columns(stepped) == pytest.approx(0.01, abs=0.003)
    assert "stepped" in doubts(stepped)
    noisy = reading([(smooth(n) * (1, 1.5)[n % 2], smooth(n) * (1.4, 1)[n % 2]) for n in range(26)])
    assert "noisy" in doubts(noisy)
    assert not {"stepped", "noisy"} & doubts(reading([(smooth(n),) * 2 for n in range(26)]))


def test_a_run_of_very_many_rows_is_fitted_through_some() -> None:
    row = "{} {} float sum -1 {:.2f} 0.1 0.2 0 {:.2f} 0.1 0.2 0"
    sizes = [1024 * (n + 1) for n in range(2000)]
    rows = [row.format(s, s // 4, 12 + s / 200e3, 12 + s / 200e3) for s in sizes]
    ranks = [f"# Rank {n} Pid 1 on node device {n} [0000:0{n}:00] H100" for n in range(8)]
    found = fit_log(understand(read_runs(["all_reduce_perf", *ranks, *rows], "many.log")[0]))
    assert isinstance(found, LogFit)
    assert len(found.calibration.rows) <= MOST_FITTED
    assert found.mean_abs_error < 0.01


def test_rows_kept_back_are_predicted(inputs: Path) -> None:
    """Every real log with sixteen usable rows over a thousandfold range of sizes."""
    seen = set()
    for path in sorted((inputs / "nccl-tests").iterdir()):
        for raw in read_log(str(path)):
            found = understand(raw)
            fitted = fit_log(found)
            if not isinstance(fitted, LogFit) or len(found.usable) < ROWS_TO_TEST:
                continue
            seen.add(path.name)
            most, _ = NOISY.get(path.name, (0.10, ""))
            assert fitted.mean_abs_error <= most, path.name
    assert set(NOISY) <= seen
    assert len(seen) == 11


def test_the_one_run_that_no_form_describes_says_why(inputs: Path) -> None:
    """Fourteen usable rows, in steps of up to 3.3 times that its in-place column repeats to 2 %.

    Rows left out are missed by 28 % in the best form: what stands between two sizes of such a
    staircase cannot be known from its ends. Curve and two lines miss by more.
    """
    path = inputs / "nccl-tests" / "mi250x-32gcd-4node-allgather-then-allreduce-label.log"
    found = understand(read_log(str(path))[0])
    fitted = fit_log(found)
    assert isinstance(fitted, LogFit)
    assert (len(found.rows), len(found.usable)) == (17, 14)
    assert fitted.mean_abs_error == min(fitted.calibration.forms_tried.values())
    apart = between_columns(found)
    assert apart is not None
    assert apart < 0.02
    assert "stepped" in doubts(found)
