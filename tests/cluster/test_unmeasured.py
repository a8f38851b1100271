"""Times below everything that was measured of a machine."""

from __future__ import annotations

import numpy as np

from gpuflow.cluster.calibration import fit
from gpuflow.cluster.measurements import Key, Row
from gpuflow.cluster.prediction import shipped_book
from gpuflow.cluster.unmeasured import seconds_of

NVL72 = Key("gb200", "all_reduce", "nccl", "nccl-tests", 72, 1, "")


def test_large_messages_alone_say_nothing_of_an_empty_one() -> None:
    sizes = np.array([8.0, 8192.0, 2.0**20, 2.0**26, 2.0**29, 2.0**30])
    own = shipped_book().calibration(NVL72)
    assert own is not None
    assert own.size_range[0] == 2**29
    found = shipped_book().predict(NVL72, sizes).seconds
    assert 15e-6 < found[0] < 100e-6 < own.seconds(8.0)
    assert (np.diff(found) >= 0).all()
    assert (found <= own.seconds(sizes)).all()
    assert (found[4:] == own.seconds(sizes[4:])).all()
    # what was measured meets what is expected below it
    near = shipped_book().predict(NVL72, np.array([0.999 * 2**29])).seconds[0]
    assert abs(near / found[4] - 1) < 0.01


def test_where_small_messages_were_measured_they_count() -> None:
    rows = [
        Row(NVL72, size, 50e-6 + size / 400e9, "own", f"own:{n}")
        for n, size in enumerate(2.0 ** np.arange(10, 34))
    ]
    own = fit(rows)
    sizes = np.array([8.0, 512.0, 2048.0])
    assert (seconds_of(own, sizes) == own.seconds(sizes)).all()
