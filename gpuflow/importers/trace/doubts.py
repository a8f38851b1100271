"""What is doubtful about a trace, as far as it can be seen from the trace."""

from __future__ import annotations

from collections.abc import Sequence

from gpuflow.cells import sanitise
from gpuflow.importers.trace.blocks import line_and_column
from gpuflow.importers.trace.doubt import Doubt
from gpuflow.importers.trace.head import Head
from gpuflow.importers.trace.kernels import KernelTable
from gpuflow.importers.trace.order import likely_kinds
from gpuflow.importers.trace.rows import Rows
from gpuflow.importers.trace.stream import Faults
from gpuflow.importers.trace.talks import Collective, Talk
from gpuflow.scenario.model_spec import ModelSpec
from gpuflow.units import Quantity

WAITED = 3.0
"""A collective so many times longer than the median of its kind has waited for other ranks."""


def file_doubts(file: str, faults: Faults, table: KernelTable) -> list[Doubt]:
    """What is wrong with the file."""
    doubts = []
    if faults.cut_at_byte is not None:
        values = {"byte": faults.cut_at_byte, "kernels": table.n_kernels}
        doubts.append(Doubt("cut", values))
    if faults.broken + table.malformed:
        count = faults.broken + table.malformed
        doubts.append(Doubt("broken_events", {"count": count, "place": _place(file, faults)}))
    if faults.goes_on_at_byte is not None:
        doubts.append(Doubt("goes_on", {"byte": faults.goes_on_at_byte}))
    if table.n_unnamed:
        doubts.append(Doubt("names_full", {"count": table.n_unnamed}))
    if table.is_full:
        doubts.append(Doubt("full", {"kernels": len(table)}))
    return doubts


def _place(file: str, faults: Faults) -> str:
    """Where the first event begins that is no JSON; empty without one."""
    if faults.broken_at_byte is None:
        return ""
    line, column = line_and_column(file, faults.broken_at_byte)
    return f" ({sanitise(file)}:{line}:{column})"


def device_doubts(rows: Rows, head: Head) -> list[Doubt]:
    """Which device is told of."""
    doubts = []
    if rows.devices > 1:
        doubts.append(Doubt("several_devices", {"count": rows.devices, "device": rows.device}))
    # Compared as texts: what stands for a digit somewhere is no number everywhere.
    is_number = rows.device.isascii() and rows.device.isdigit()
    is_other = (
        head.rank is not None
        and is_number
        and rows.device.lstrip("0") != (str(head.rank).lstrip("0"))
    )
    if is_other and rows.devices == 1:
        doubts.append(Doubt("device_not_rank", {"device": rows.device, "rank": head.rank}))
    return doubts


def talk_doubts(
    talks: Sequence[Talk], head: Head, n_kernels: int, model: ModelSpec | None
) -> list[Doubt]:
    """What is not known of the communication."""
    doubts = []
    unknown = sum(talk.kind == "unknown" for talk in talks)
    if unknown:
        doubts.append(Doubt("kind_unknown", {"count": unknown}))
        likely = likely_kinds([talk.kind for talk in talks])
        if likely:
            found = [f"{count} × {kind}" for kind, count in sorted(likely.items())]
            doubts.append(Doubt("kind_likely", {"found": found}))
    sizeless = sum(
        talk.size_bytes is None and talk.kind not in {"unknown", "barrier"} for talk in talks
    )
    if sizeless:
        doubts.append(Doubt("size_unknown", {"count": sizeless}))
    made = sum(talk.is_size_made for talk in talks)
    if made and model is not None:
        doubts.append(Doubt("size_by_model", {"count": made, "model": model.title}))
    assumed = sum(talk.is_group_assumed and talk.ranks is not None for talk in talks)
    if assumed:
        doubts.append(Doubt("group_assumed", {"count": assumed, "ranks": head.group or 0}))
    nobody = sum(talk.ranks is None for talk in talks)
    if nobody:
        doubts.append(Doubt("group_unknown", {"count": nobody}))
    if not talks and n_kernels:
        doubts.append(Doubt("no_communication"))
    return doubts


def collective_doubts(collectives: Sequence[Collective]) -> list[Doubt]:
    """What is odd about the figures."""
    doubts = []
    if any(one.kind == "send_recv" and one.named.library == "nccl" for one in collectives):
        doubts.append(Doubt("send_recv"))
    for one in collectives:
        known = [row.size_bytes for row in one.sizes if row.size_bytes]
        is_alike = len(known) == len(one.sizes) and max(known) <= 2 * min(known)
        if one.count > 1 and is_alike and one.longest_s > WAITED * one.median_s:
            values = {
                "kernel": one.kernel,
                "longest": Quantity(one.longest_s, "time"),
                "median": Quantity(one.median_s, "time"),
            }
            doubts.append(Doubt("waited", values))
    return doubts
