"""A sweep as a document, as CSV, as a picture and as a table of what nothing else beats."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from gpuflow.engine.sweep_grid import Point, SweepGrid
from gpuflow.engine.targets import Targets
from gpuflow.exporters.grid import painter
from gpuflow.exporters.plot import NARROWEST, SIGNS, Curve, Plot, plot_text
from gpuflow.exporters.tables import Cell, Column, Table
from gpuflow.exporters.targets import split_name, targets_text
from gpuflow.scenario.spec import Language, Scenario
from gpuflow.units import format_bytes, format_count, format_time
from gpuflow.words import t

MOST_ROWS = 24
"""Rows of the front that people see; spread over it."""
MOST_CURVES = 5
"""Further lengths that the picture draws."""
HEIGHT = 16
CSV_BLOCK = 20_000
_LETTERS = "bcdefg"

IntArray = NDArray[np.int64]


def sweep_document(
    grid: SweepGrid, targets: Targets, gpus: int | None, *, is_whole: bool
) -> dict[str, object]:
    """What `sweep --format json` holds besides its schema."""
    axes = {field.name: list(getattr(grid.axes, field.name)) for field in fields(grid.axes)}
    counts = _counts(grid, targets)
    return {
        "inputs": {
            **_scenario_inputs(grid.scenario),
            **axes,
            "gpus": gpus,
            "ttft_s": targets.ttft_s,
            "tpot_s": targets.tpot_s,
        },
        "complete": is_whole,
        "splits": len(grid.splits),
        "points_total": grid.n_points,
        **counts,
        "front_by": "prompt",
        "front": _rows(_columns(grid, _front_places(grid, targets))),
    }


def _scenario_inputs(scenario: Scenario) -> dict[str, object]:
    cluster, workload = scenario.cluster, scenario.workload
    return {
        "scenario": scenario.name,
        "model": scenario.model.name,
        "gpu": cluster.device.name,
        "scale_up": cluster.scale_up.name,
        "scale_out": cluster.scale_out.name,
        "output": workload.output_tokens,
        "context": workload.context_tokens,
        "precision": scenario.precision,
        "profile": scenario.profile.name,
    }


def _counts(grid: SweepGrid, targets: Targets) -> dict[str, int]:
    is_done = np.isfinite(grid.tpot_s)
    return {
        "points_evaluated": int(is_done.sum()),
        "points_that_fit": int((grid.spare_bytes >= 0).sum()),
        "points_within_targets": int(grid.is_allowed(targets).sum()),
    }


def _front_places(grid: SweepGrid, targets: Targets) -> IntArray:
    """Places of all fronts, one length after the other."""
    fronts = list(grid.fronts(targets).values())
    return np.concatenate(fronts) if fronts else np.zeros(0, dtype=np.int64)


def _evaluated(grid: SweepGrid) -> IntArray:
    return np.flatnonzero(np.isfinite(grid.tpot_s)).astype(np.int64)


def point_records(grid: SweepGrid, targets: Targets) -> list[dict[str, object]]:
    """Every point that was evaluated, and whether it stands on the front."""
    found = _columns(grid, _evaluated(grid)) | _standing(grid, targets, _evaluated(grid))
    return _rows(found)


def csv_rows(grid: SweepGrid, targets: Targets, *, wants_all: bool) -> Iterator[str]:
    """Lines of CSV, block by block: the front, or every point evaluated."""
    places = _evaluated(grid) if wants_all else _front_places(grid, targets)
    standing = _standing(grid, targets, places) if wants_all else {}
    for begin in range(0, max(len(places), 1), CSV_BLOCK):
        block = slice(begin, begin + CSV_BLOCK)
        found = _columns(grid, places[block])
        found |= {name: column[block] for name, column in standing.items()}
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        if begin == 0:
            writer.writerow(found)
        writer.writerows(zip(*(_written(column) for column in found.values()), strict=True))
        yield stream.getvalue()


Figures = NDArray[np.int64] | NDArray[np.float64] | NDArray[np.bool_]


def _columns(grid: SweepGrid, places: IntArray) -> dict[str, Figures]:
    """Figures of points, column by column under their names."""
    split, batch, prompt = np.unravel_index(places, grid.shape)
    degrees = {
        name: np.array([getattr(one, name) for one in grid.splits], dtype=np.int64)[split]
        for name in ("tp", "pp", "dp", "ep")
    }
    return {
        **degrees,
        "gpus": degrees["tp"] * degrees["pp"] * degrees["dp"],
        "batch": np.array(grid.axes.batch, dtype=np.int64)[batch],
        "prompt": np.array(grid.axes.prompt, dtype=np.int64)[prompt],
        "ttft_s": grid.ttft_s.ravel()[places],
        "tpot_s": grid.tpot_s.ravel()[places],
        "tokens_per_s_per_user": grid.per_user.ravel()[places],
        "tokens_per_s_per_gpu": grid.per_gpu.ravel()[places],
        "spare_bytes": grid.spare_bytes.ravel()[places],
    }


def _standing(grid: SweepGrid, targets: Targets, places: IntArray) -> dict[str, Figures]:
    """Whether points fit, keep the targets too, and stand on the front."""
    return {
        "fits": grid.spare_bytes.ravel()[places] >= 0,
        "allowed": grid.is_allowed(targets).ravel()[places],
        "front": np.isin(places, _front_places(grid, targets)),
    }


def _rows(columns: Mapping[str, Figures]) -> list[dict[str, object]]:
    lists = [column.tolist() for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def _written(column: Figures) -> list[object]:
    if column.dtype == np.bool_:
        return ["true" if one else "false" for one in column.tolist()]
    return list(column.tolist())


# ---------------------------------------------------------------- for people


def sweep_table(grid: SweepGrid, targets: Targets, language: Language, *, wants_all: bool) -> Table:
    """The front, or every point, with what was counted."""
    front = _front_places(grid, targets).tolist()
    places = _evaluated(grid).tolist() if wants_all else front
    shown = places if wants_all else _spread(places)
    names = ("split", "gpus", "batch", "prompt", "ttft", "tpot", "per_user", "per_gpu", "left")
    best = set(front)
    return Table(
        title=t("sweep.heading", language),
        intro=(_setup(grid, language),),
        columns=tuple(
            Column(t(f"sweep.column.{name}", language), "left" if name == "split" else "right")
            for name in names
        ),
        rows=tuple(_cells(grid.point(place), place in best and wants_all) for place in shown),
        notes=tuple(_notes(grid, targets, front, len(places) - len(shown), language)),
    )


def _spread(places: Sequence[int]) -> list[int]:
    """Some of many, evenly, both ends among them."""
    if len(places) <= MOST_ROWS:
        return list(places)
    picked = np.unique(np.linspace(0, len(places) - 1, MOST_ROWS).round().astype(int))
    return [places[index] for index in picked.tolist()]


def _cells(point: Point, is_best: bool) -> tuple[Cell, ...]:
    role = "ok" if is_best else ""
    return (
        Cell(split_name(point.parallel), role),
        Cell(str(point.parallel.world)),
        Cell(format_count(point.batch)),
        Cell(format_count(point.prompt_tokens)),
        Cell(format_time(point.ttft_s)),
        Cell(format_time(point.tpot_s)),
        Cell(format_count(point.tokens_per_s_per_user)),
        Cell(format_count(point.tokens_per_s_per_gpu)),
        Cell(format_bytes(point.spare_bytes), "" if point.spare_bytes >= 0 else "short"),
    )


def _setup(grid: SweepGrid, language: Language) -> str:
    scenario = grid.scenario
    return t(
        "sweep.setup",
        language,
        model=scenario.model.title,
        precision=scenario.precision,
        gpu=scenario.cluster.device.title,
        output=format_count(scenario.workload.output_tokens),
        profile=scenario.profile.title.in_language(language),
    )


def _notes(
    grid: SweepGrid, targets: Targets, front: Sequence[int], left_out: int, language: Language
) -> Iterator[str]:
    counts = {name: format_count(count) for name, count in _counts(grid, targets).items()}
    yield t(
        "sweep.counts",
        language,
        done=counts["points_evaluated"],
        total=format_count(grid.n_points),
        splits=format_count(len(grid.splits)),
        fit=counts["points_that_fit"],
    )
    if targets.any:
        kept = counts["points_within_targets"]
        yield t("sweep.targets", language, count=kept, targets=targets_text(targets, language))
    if not front:
        yield t("sweep.nothing", language)
        return
    key = "sweep.front" if len(grid.axes.prompt) == 1 else "sweep.fronts"
    yield t(key, language, count=format_count(len(front)))
    if left_out > 0:
        yield t("sweep.more", language, count=format_count(left_out))


def sweep_picture(
    grid: SweepGrid,
    targets: Targets,
    language: Language,
    width: int,
    has_color: bool,
    *,
    is_fine: bool,
) -> str:
    """Tokens/s of a user against tokens/s of a GPU; empty where there is nothing or no room."""
    allowed = grid.is_allowed(targets)
    if not allowed.any() or width < NARROWEST:
        return ""
    cloud = np.stack([grid.per_user[allowed], grid.per_gpu[allowed]], axis=1)
    low, high = float(cloud[:, 0].min()), float(cloud[:, 0].max())
    across = np.geomspace(low, max(high, 1.01 * low), 4 * width)
    fronts = {prompt: cells for prompt, cells in grid.fronts(targets).items() if len(cells)}
    lengths = _drawn(list(fronts))
    stairs = {prompt: _stairs(grid, fronts[prompt], across) for prompt in lengths}
    first, *others = lengths
    curves = tuple(
        Curve(letter, stairs[prompt]) for letter, prompt in zip(_LETTERS, others, strict=False)
    )
    plot = Plot(
        title=t("sweep.picture", language),
        sizes=across,
        curves=curves,
        thick=stairs[first],
        points=tuple(
            (float(grid.per_user.flat[place]), float(grid.per_gpu.flat[place]))
            for place in _spread(fronts[first].tolist())
        ),
        is_log=True,
        label=format_count,
        along=format_count,
        cloud=cloud,
    )
    text = plot_text(plot, width, HEIGHT, painter(has_color), is_fine=is_fine)
    legend = [t("sweep.thick", language, sign=SIGNS[is_fine][0], prompt=format_count(first))]
    legend += [
        t("sweep.curve", language, letter=letter, prompt=format_count(prompt))
        for letter, prompt in zip(_LETTERS, others, strict=False)
    ]
    return text + "\n" + "  ".join(legend)


def _drawn(lengths: list[int]) -> list[int]:
    """Lengths that get a line: all, or some of many, the shortest first."""
    if len(lengths) <= MOST_CURVES + 1:
        return lengths
    picked = np.linspace(0, len(lengths) - 1, MOST_CURVES + 1).round().astype(int)
    return [lengths[index] for index in picked.tolist()]


def _stairs(grid: SweepGrid, front: IntArray, across: NDArray[np.float64]) -> NDArray[np.float64]:
    """The most tokens/s of a GPU at which a user still has so many; a little beyond: the last."""
    x, y = grid.per_user.ravel()[front], grid.per_gpu.ravel()[front]
    order = np.argsort(x)
    x, y = x[order], y[order]
    # y falls as x rises, so the point that counts is the next one to the right
    place = np.minimum(np.searchsorted(x, across * (1 - 1e-12)), len(x) - 1)
    return np.asarray(y[place])
