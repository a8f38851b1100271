"""Traces for programs: runs, their collectives, computing, steps, and what grew between two."""

from __future__ import annotations

from collections.abc import Sequence

from gpuflow.collectives.oracle import bus_factor
from gpuflow.importers.trace.doubt import Doubt
from gpuflow.importers.trace.reading import Found, Reading
from gpuflow.importers.trace.runs import Comparison, Merged, Run
from gpuflow.importers.trace.talks import SizeRow
from gpuflow.scenario.spec import Language
from gpuflow.words import t

Record = dict[str, object]

_LEAST_SURE = ("simulated", "extrapolated", "calibrated")
_WITHOUT_FACTOR = frozenset({"unknown", "barrier"})


def doubt_text(doubt: Doubt, language: Language) -> str:
    """A doubt or a refusal as a sentence."""
    return t(f"doubt.trace.{doubt.code}", language, **doubt.values)


def _doubt_record(doubt: Doubt, file: str | None, language: Language) -> Record:
    return {"code": doubt.code, "file": file, "message": doubt_text(doubt, language)}


def bus_bytes(kind: str, row: SizeRow) -> float | None:
    """Bus factor x bytes of all messages of a row; None where size or ranks are unknown."""
    if row.size_bytes is None or not row.ranks or row.ranks < 2 or kind in _WITHOUT_FACTOR:
        return None
    return bus_factor(kind, row.ranks) * row.size_bytes * row.count


def bus_bandwidth(kind: str, rows: Sequence[SizeRow]) -> float | None:
    """Bus bandwidth of those messages whose size is known, bytes per second."""
    known = [(found, row.time_s) for row in rows if (found := bus_bytes(kind, row)) is not None]
    seconds = sum(time_s for _, time_s in known)
    return sum(found for found, _ in known) / seconds if seconds > 0 else None


def share_of_step(merged: Merged, run: Run) -> float | None:
    """What steps spend on it in the mean, of their time; beside computing or not."""
    whole_s = run.first.steps_s
    return merged.time_s / whole_s if whole_s else None


def collective_record(merged: Merged, run: Run) -> Record:
    """One kind of communication by one kernel; bytes and times are those of all its messages."""
    one, busy_s = merged.collective, run.mean("busy_s")
    rows = one.sizes
    sources = {row.time_source for row in rows if row.time_source}
    ranks = {row.ranks for row in rows}
    sizes = {row.size_bytes for row in rows}
    return {
        "kind": one.kind,
        "kernel": one.kernel,
        "library": one.named.library,
        "algorithm": one.named.algorithm or None,
        "protocol": one.named.protocol or None,
        "role": one.named.role or None,
        "ranks": next(iter(ranks)) if len(ranks) == 1 else None,
        "count": one.count,
        "bytes": one.bytes,
        "message_size_bytes": next(iter(sizes)) if len(sizes) == 1 else None,
        "time_s": merged.time_s,
        "bus_bandwidth_bytes_per_s": bus_bandwidth(one.kind, rows),
        "predicted_s": one.predicted_s,
        "predicted_time_source": next((one for one in _LEAST_SURE if one in sources), None),
        "share_of_busy": merged.time_s / busy_s if busy_s else None,
        "share_of_step": share_of_step(merged, run),
        "exposed_s": merged.exposed_s,
        "overlapped_s": round(merged.overlapped_s, 12),
        "shortest_s": one.shortest_s,
        "median_s": one.median_s,
        "longest_s": one.longest_s,
        "transfer_s": merged.transfer_s,
        "waiting_s": merged.waiting_s,
        "sizes": [_size_record(one.kind, row) for row in rows],
    }


def _size_record(kind: str, row: SizeRow) -> Record:
    return {
        "size_bytes": row.size_bytes,
        "ranks": row.ranks,
        "count": row.count,
        "time_s": row.time_s,
        "shortest_s": row.shortest_s,
        "bus_bandwidth_bytes_per_s": bus_bandwidth(kind, [row]),
        "predicted_s": row.predicted_s,
        "time_source": row.time_source,
    }


def repeat_record(found: Found | None) -> Record | None:
    """A layer or a step that repeats; times are medians."""
    if found is None:
        return None
    repeat = found.repeat
    return {
        "unit": repeat.unit,
        "count": repeat.count,
        "duration_s": found.duration_s,
        "kernels": found.n_kernels,
        "found_by": repeat.by,
        "kinds": len(set(repeat.kinds)) or None,
    }


def run_record(run: Run, language: Language) -> Record:
    """One run as it stands in the JSON document; times of several ranks are means."""
    first = run.first
    head = first.head
    busy_s = run.mean("busy_s")
    return {
        "files": [one.file for one in run.ranks],
        "gpu": first.gpu,
        "gpu_name": head.gpu_name,
        "model": first.model.name if first.model else None,
        "rank": head.rank,
        "world_size": head.world,
        "backend": head.backend,
        "library_version": head.library,
        "kernels": first.n_kernels,
        "copies": first.n_copies,
        "span_s": run.mean("span_s"),
        "busy_s": busy_s,
        "communication_s": run.mean("communication_s"),
        "exposed_s": run.mean("exposed_s"),
        "collectives": [collective_record(one, run) for one in run.collectives],
        "computes": [
            {
                "kind": one.kind,
                "count": one.count,
                "time_s": one.time_s,
                "share_of_busy": one.time_s / busy_s if busy_s else None,
                "longest_kernel": one.longest_kernel,
            }
            for one in run.computes
        ],
        "host_collectives": [
            {"name": name, "count": count, "time_s": time_s}
            for name, count, time_s in first.host_collectives
        ],
        "step": repeat_record(first.repeating),
        "layer": repeat_record(first.layer),
        "passes": [
            {
                "prompts": one.prompts,
                "prompt_tokens": one.prompt_tokens,
                "answers": one.answers,
                "answer_tokens": one.answer_tokens,
            }
            for one in first.passes
        ],
        "ranks": [_rank_record(one) for one in run.ranks],
        "doubts": _doubts(run, language),
        "refused": _doubt_record(first.refused, first.file, language) if first.refused else None,
    }


def _rank_record(one: Reading) -> Record:
    return {
        "file": one.file,
        "rank": one.head.rank,
        "kernels": one.n_kernels,
        "span_s": one.span_s,
        "busy_s": one.busy_s,
        "communication_s": one.communication_s,
        "exposed_s": one.exposed_s,
        "collectives": sum(found.count for found in one.collectives),
    }


def _doubts(run: Run, language: Language) -> list[Record]:
    found = [_doubt_record(doubt, None, language) for doubt in run.doubts]
    for one in run.ranks:
        found += [_doubt_record(doubt, one.file, language) for doubt in one.doubts]
    return found


def comparison_record(comparison: Comparison) -> Record:
    """Two runs, a step of one beside a step of the other."""
    return {
        "first": [one.file for one in comparison.first.ranks],
        "second": [one.file for one in comparison.second.ranks],
        "first_steps": comparison.first.first.n_steps,
        "second_steps": comparison.second.first.n_steps,
        "first_step_s": comparison.first_step_s,
        "second_step_s": comparison.second_step_s,
        "changes": [
            {
                "kind": one.kind,
                "is_communication": one.is_communication,
                "first_s_per_step": one.first_s,
                "second_s_per_step": one.second_s,
                "grown_s_per_step": one.grown_s,
                "first_count_per_step": one.first_count,
                "second_count_per_step": one.second_count,
            }
            for one in comparison.changes
        ],
    }


def trace_document(
    runs: Sequence[Run], comparisons: Sequence[Comparison], language: Language
) -> Record:
    """The first run at the top, all of them in `runs` where there are several."""
    records = [run_record(run, language) for run in runs]
    return {
        **records[0],
        "runs": records if len(records) > 1 else [],
        "comparisons": [comparison_record(one) for one in comparisons],
    }


def collective_rows(runs: Sequence[Run]) -> list[Record]:
    """Every collective of every run as one table, for CSV."""
    rows: list[Record] = []
    for number, run in enumerate(runs, 1):
        for one in run.collectives:
            record = collective_record(one, run)
            del record["sizes"]
            rows.append({"run": number, "file": run.first.file, **record})
    return rows
