"""GPUs that are made when they are looked at are those that would be made at once."""

from __future__ import annotations

from collections import Counter

import pytest

from gpuflow.cluster.parameters import stage_layers
from gpuflow.engine.gpu_states import activities
from gpuflow.engine.moment import Moments
from gpuflow.engine.pace import Pace
from gpuflow.engine.simulate import simulate
from gpuflow.engine.state import GpuState, State

SPLITS = [
    {},
    {"tp": 1, "pp": 1},
    {"tp": 8, "pp": 8},
    {"tp": 8, "pp": 16, "dp": 8},
    {"name": "moe-ep4"},
    {"model": "deepseek-v3", "tp": 1, "pp": 1, "dp": 64, "ep": 64},
]


@pytest.fixture(params=SPLITS, ids=lambda split: ",".join(f"{k}={v}" for k, v in split.items()))
def moments(request, load) -> Moments:
    return Moments(Pace(simulate(load(**request.param))))


def made_at_once(moments: Moments, state: State) -> list[GpuState]:
    """Every GPU from the span and the cache, one after the other."""
    span, fill, mesh = state.span, moments.fill, moments.mesh
    doing = activities(span)
    made = []
    for rank in range(mesh.n_ranks):
        dp_rank, stage, tp_rank = mesh.position(rank)
        layers = stage_layers(moments.timeline.scenario, stage)
        is_working = span is not None and span.layer > 0 and span.stage == stage
        held, each = fill.bytes_at(stage, state.time_s), fill.bytes_per_token(stage)
        made.append(
            GpuState(
                rank=rank,
                node=mesh.node(rank),
                stage=stage,
                tp_rank=tp_rank,
                dp_rank=dp_rank,
                first_layer=layers.start + 1,
                last_layer=layers.stop,
                activity=doing.get(rank, "idle" if span is None else "wait"),
                layer=span.layer if span is not None and is_working else 0,
                layers=len(layers),
                kv_tokens=round(held / each),
                kv_bytes=held,
                kv_capacity_bytes=fill.capacity_bytes(stage),
            )
        )
    return made


def test_they_are_those_made_at_once(moments: Moments) -> None:
    for part in (0.0, 0.11, 0.35, 0.61, 0.97, 1.0):
        state = moments.at(part * moments.pace.duration_s)
        naive = made_at_once(moments, state)
        assert len(state.gpus) == len(naive)
        # Looked at from the end, so that none is made in its turn.
        assert [state.gpus[rank] for rank in reversed(range(len(naive)))] == naive[::-1]
        assert state.gpus == tuple(naive)
        assert list(state.gpus) == naive
        assert state.gpus[-1] == naive[-1]
        assert state.gpus[1:3] == tuple(naive[1:3])
        for stage in range(moments.mesh.parallel.pp):
            counted = Counter(gpu.activity for gpu in naive if gpu.stage == stage)
            assert dict(state.gpus.counts(stage)) == counted
        known = state.known
        assert known.kv_bytes == pytest.approx(sum(gpu.kv_bytes for gpu in naive))
        room = sum(gpu.kv_capacity_bytes for gpu in naive)
        assert known.kv_capacity_bytes == pytest.approx(room)


def test_there_is_no_gpu_beyond_the_last(load) -> None:
    gpus = Moments(Pace(simulate(load()))).at(0.0).gpus
    with pytest.raises(IndexError):
        gpus[4]
    with pytest.raises(IndexError):
        gpus[-5]
    assert [gpu.rank for gpu in gpus] == [0, 1, 2, 3]
    assert gpus != "four"


def test_lines_are_compared_by_what_they_carry(load) -> None:
    moments = Moments(Pace(simulate(load())))
    one, other = moments.at(3.0).channels, moments.at(3.0).channels
    assert one == other
    assert one == tuple(other)
    assert one[0].source == 0
    assert one[:1] == (one[0],)
    assert one != "lines"
