"""Points of a run of nccl-tests with the fitted curve, and what was expected, as a picture."""

from __future__ import annotations

import numpy as np

from gpuflow.exporters.nccl_runs import ReadRun
from gpuflow.exporters.plot import SIGNS, Curve, Paint, Plot, plot_text
from gpuflow.importers.nccl_fit import LogFit
from gpuflow.importers.nccl_judge import Verdict
from gpuflow.scenario.spec import Language
from gpuflow.units import format_time
from gpuflow.words import t

HEIGHT = 16
"""Lines of the picture."""


def run_plot(
    run: ReadRun, language: Language, width: int, paint: Paint, *, is_fine: bool
) -> str | None:
    """Time against size, both logarithmic; None where there is no fit to draw.

    Args:
        run: The run.
        language: Of title and legend.
        width: Cells of a line.
        paint: Colours by role.
        is_fine: Whether the stream shows braille dots; else ASCII.
    """
    if not isinstance(run.fit, LogFit):
        return None
    rows = run.reading.rows
    low, high = (float(f(row.size_bytes for row in rows)) for f in (min, max))
    sizes = np.geomspace(low, high, 4 * width)
    curves: tuple[Curve, ...] = ()
    if isinstance(run.verdict, Verdict):
        by_size = {one.row.size_bytes: one.time_s for one in run.verdict.rows}
        known = np.array(sorted(by_size), dtype=float)
        times = np.array([by_size[int(size)] for size in known])
        expected = np.exp(np.interp(np.log(sizes), np.log(known), np.log(times)))
        curves = (Curve("E", expected),)
    picture = plot_text(
        Plot(
            title=t("plot.time", language),
            sizes=sizes,
            curves=curves,
            thick=run.fit.calibration.seconds(sizes),
            points=tuple((float(row.size_bytes), row.time_s) for row in rows),
            is_log=True,
            label=format_time,
        ),
        width,
        HEIGHT,
        paint,
        is_fine=is_fine,
    )
    line, point = SIGNS[is_fine]
    legend = [t("import_nccl.plot_fit", language, sign=line * 2)]
    legend += [t("plot.points", language, sign=point)]
    legend += [t("import_nccl.plot_expected", language)] if curves else []
    return picture + "\n" + "  ".join(legend)
