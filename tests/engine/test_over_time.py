"""Curves over the play are means of what single moments say."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gpuflow.engine.moment import Moments
from gpuflow.engine.over_time import cache_over, communication_over
from gpuflow.engine.pace import Pace
from gpuflow.engine.simulate import simulate

SPLITS = [{}, {"name": "moe-ep4"}, {"tp": 8, "pp": 4}, {"tp": 1, "pp": 1}, {"output": 1}]


@pytest.fixture(params=SPLITS, ids=str)
def moments(request, load) -> Moments:
    return Moments(Pace(simulate(load(**request.param))))


def test_communication_is_a_share_and_agrees_with_what_runs(moments: Moments) -> None:
    pace = moments.pace
    fine = communication_over(pace, 3000)
    assert all(0.0 <= share <= 1.0 for share in fine)
    for i in range(0, 3000, 37):
        first, last = (
            pace.stretch(i / 3000 * pace.duration_s),
            pace.stretch((i + 1) / 3000 * pace.duration_s),
        )
        if first is last and last.last_span - first.first_span == 1:
            span = moments.timeline.spans[first.first_span]
            if span.kind != "fold":
                assert fine[i] == pytest.approx(float(span.traffic_class is not None))
    coarse = communication_over(pace, 30)
    means = [sum(fine[i * 100 : i * 100 + 100]) / 100 for i in range(30)]
    assert coarse == pytest.approx(means, abs=1e-6)


def test_one_gpu_never_communicates_between_gpus(load) -> None:
    pace = Pace(simulate(load(tp=1, pp=1)))
    assert max(communication_over(pace)) < 1.0


def test_the_cache_only_grows_up_to_the_whole(moments: Moments) -> None:
    parts = cache_over(moments)
    assert all(a <= b + 1e-12 for a, b in pairwise(parts))
    assert parts[0] >= 0.0
    assert parts[-1] <= 1.0 + 1e-12
    assert parts[-1] > 0.7
