"""How close predictions come to the project's own measurements, held so that they get no worse."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from gpuflow.cluster.accuracy import AccuracyGroup, accuracy_groups
from gpuflow.cluster.curves import interpolate, settle

Groups = dict[str, AccuracyGroup]


@pytest.fixture(scope="module")
def groups() -> tuple[AccuracyGroup, ...]:
    return accuracy_groups()


@pytest.fixture(scope="module")
def pooled(groups: tuple[AccuracyGroup, ...]) -> Groups:
    return {g.name: g for g in groups if g.name.startswith("pooled ")}


@pytest.mark.parametrize(
    ("name", "rows", "alone", "with_sisters"),
    [
        ("all_reduce nccl", 72, 0.08, 0.05),
        ("all_gather nccl", 72, 0.105, 0.065),
        ("reduce_scatter nccl", 72, 0.095, 0.06),
        ("all_to_all nccl", 72, 0.09, None),
        ("engine kernels", 180, 0.095, None),
    ],
)
def test_sizes_left_out(
    pooled: Groups, name: str, rows: int, alone: float, with_sisters: float | None
) -> None:
    """A100, H100 and B200 with 2, 4 and 8 ranks; alone: no group was measured at that size."""
    found = pooled[f"pooled {name}: left out"]
    assert found.rows == rows
    assert found.split == "test"
    assert found.mean_abs_error <= alone
    assert abs(found.bias) <= 0.03
    if with_sisters is not None:
        helped = pooled[f"pooled {name}: left out, sisters measured"]
        assert helped.rows == rows
        assert helped.mean_abs_error <= with_sisters


def test_gpus_left_out(groups: tuple[AccuracyGroup, ...], pooled: Groups) -> None:
    """All_reduce of 8 ranks; even with the whole generation unseen."""
    for what, mean in (("GPU left out", 0.10), ("GPU generation left out", 0.16)):
        assert pooled[f"pooled all_reduce nccl: {what}"].mean_abs_error <= mean
        found = [
            g for g in groups if g.name.endswith(f": {what}") and g.file.endswith("one_node.csv")
        ]
        judged = {g.gpu for g in found if g.gpu is not None}
        assert judged == {"a100-80gb-sxm", "h100-sxm", "h200-sxm", "b200-sxm", "rtx-pro-6000"}
        assert all(g.mean_abs_error <= 0.21 for g in found)


def test_fitted_rows_are_told_from_tests(groups: tuple[AccuracyGroup, ...]) -> None:
    fitted = [g for g in groups if g.split == "fit"]
    assert sum(g.rows for g in fitted) > 1000
    dense = [g for g in fitted if g.file == "collectives_one_node.csv"]
    assert np.mean([g.mean_abs_error for g in dense]) <= 0.02
    tests = [g for g in groups if g.file == "collectives.csv" and "several_nodes" in g.name]
    assert {g.split for g in tests} == {"test"}
    assert {g.gpu for g in tests} == {"b200-sxm", "mi300x"}


def test_a_folder_of_other_rows_is_predicted_from_the_shipped_curves(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(
        "gpu,ranks,nodes,collective,kernel,launch,dtype,size_bytes,time_us,source\n"
        "h100-sxm,8,1,all_reduce,nccl,nccl-tests,half,1048576,27.4,someone\n"
        "abacus,8,1,all_reduce,nccl,nccl-tests,half,1048576,27.4,someone\n",
        encoding="utf-8",
    )
    (found,) = accuracy_groups(tmp_path)
    assert (found.split, found.rows, found.file) == ("test", 1, "mine.csv")
    assert found.mean_abs_error < 0.1


@pytest.mark.parametrize(
    ("log", "mean"),
    [
        ("a100-80g-4gpu-allreduce.log", 0.075),
        ("h100-8gpu-allreduce-sidework-header.log", 0.05),
        ("a100-40g-8gpu-allgather-oldcols-noredop.log", 0.055),
        ("a100-40g-8gpu-reducescatter-oldcols.log", 0.055),
    ],
)
def test_every_other_size_of_a_finer_ladder(inputs: Path, log: str, mean: float) -> None:
    """Knots a factor of 4 apart predict the sizes between, in tables of nccl-tests by factors of 2.

    The time is the first number with a decimal point in a row.
    """
    row = re.compile(r"^ +(\d+) +\d+ +[a-z]\w* .*?(\d+\.\d+|\d{5,}) ")
    text = (inputs / "nccl-tests" / log).read_text(encoding="utf-8")
    table = {int(m[1]): 1e-6 * float(m[2]) for m in map(row.match, text.splitlines()) if m}
    errors = []
    for parity in (0, 1):
        known = [s for s in sorted(table) if s >= 512 and s.bit_length() % 2 == parity]
        sizes, times, _ = settle(
            np.array(known, dtype=float), np.array([table[s] for s in known]), 0.2
        )
        asked = [s for s in table if 2**14 <= s < known[-1] and s.bit_length() % 2 != parity]
        asked = [s for s in asked if s <= 2**29]
        found = interpolate(sizes, times, np.array(asked, dtype=float))
        errors += list(np.abs(found / np.array([table[s] for s in asked]) - 1))
    assert len(errors) >= 10
    assert np.mean(errors) <= mean
