"""Sizes far below all that was measured: NCCL's own expectation says how times fall there."""

from __future__ import annotations

import numpy as np

from gpuflow.cluster.calibration import Calibration
from gpuflow.cluster.curves import FloatArray
from gpuflow.cluster.gpu_scaling import LIBRARY_KERNELS
from gpuflow.cluster.measurements import Key
from gpuflow.cluster.nccl_model import nccl_predict

NO_LATENCY_BYTES = 64 << 20
"""Rows from here on are of bandwidth alone: what their line has left for an empty message is its
slope's error, such as 570 µs for 72 GB200 measured from 512 MiB on."""


def planned_seconds(key: Key, size: FloatArray) -> FloatArray | None:
    """What NCCL itself expects (its tuning.cc); None for other kernels and unknown GPUs.

    Args:
        key: The machine.
        size: Bytes, any shape.
    """
    if key.kernel not in LIBRARY_KERNELS:
        return None
    try:
        found = nccl_predict(key.collective, key.ranks, key.nodes, size, key.gpu)
    except ValueError:
        return None
    times: FloatArray = np.stack([*found.values()]).min(axis=0)
    return times


def seconds_of(own: Calibration, size: FloatArray) -> FloatArray:
    """Times of a calibration (s); below one of large messages only, as NCCL expects them to fall.

    Args:
        own: The calibration.
        size: Bytes, any shape.
    """
    times = own.seconds(size)
    low = own.size_range[0]
    if low < NO_LATENCY_BYTES or not (size < low).any():
        return times
    planned = planned_seconds(own.key, size)
    at_low = planned_seconds(own.key, np.array([low]))
    if planned is None or at_low is None:
        return times
    falling = float(own.seconds(low)) * planned / at_low[0]
    return np.where(size < low, np.minimum(times, falling), times)
