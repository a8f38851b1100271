"""One collective as text and as records: every round, what moves and what each rank has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpuflow.draw.explore_boxes import value_pieces
from gpuflow.draw.explore_costs import cost_forms, round_forms, time_forms
from gpuflow.draw.explore_view import ExploreView
from gpuflow.engine.explore import Outlook


def rounds_text(view: ExploreView) -> str:
    """A paragraph for the whole and one for each round, without escapes or boxes.

    Args:
        view: Of any round; it need not fit a screen.
    """
    subject = view.subject
    heading = f"{view.title()} · {subject.algorithm} · {view.t('gpus', ranks=subject.n_ranks)}"
    how = view.t(f"how.{subject.collective}.{subject.algorithm}")
    paragraphs = [[heading, how, cost_forms(view)[0], time_forms(view)[0]]]
    paragraphs += [_round(replace(view, round=number)) for number in range(view.rounds + 1)]
    return "\n\n".join("\n".join(lines) for lines in paragraphs)


def _round(view: ExploreView) -> list[str]:
    number = view.t("round", round=view.round, rounds=view.rounds)
    lines = [f"{number} · {round_forms(view)[0]}"]
    if not view.subject.is_drawn:
        return lines
    one = view.current
    if one is not None:
        switch = view.t("switch")
        ends = [
            [switch if end == view.subject.n_ranks else str(end) for end in p]
            for p in one.transfers
        ]
        signs = ["+" if adds else "" for adds in one.adds]
        lines.append("  ".join(f"{a}»{b}{s}" for (a, b), s in zip(ends, signs, strict=True)))
    for rank in range(view.subject.n_ranks):
        values = "".join(piece.text for piece in value_pieces(view, rank))
        lines.append(f"GPU {rank} {values}")
    return lines


def round_records(outlook: Outlook) -> dict[str, Any]:
    """The same for programs; ranks and their numbers only where they are drawn one by one."""
    subject = outlook.subject
    return {
        "collective": subject.collective,
        "algorithm": subject.algorithm,
        "ranks": subject.n_ranks,
        "ranks_per_node": subject.ranks_per_node if subject.has_levels else None,
        "size_bytes": outlook.size_bytes,
        "algorithms": [
            {
                "algorithm": one.algorithm,
                "rounds": one.rounds,
                "bytes_sent_least": one.sent_least * outlook.size_bytes,
                "bytes_sent_most": one.sent_most * outlook.size_bytes,
                "time_s": one.time_s,
                "time_source": None if one.time_s is None else "simulated",
            }
            for one in outlook.algorithms
        ],
        "start": [list(row.values) for row in subject.replay().before] if subject.is_drawn else [],
        "rounds": _rounds(outlook) if subject.is_drawn else [],
    }


def _rounds(outlook: Outlook) -> list[dict[str, Any]]:
    """Switches are numbered after the ranks, as in `collective --trace`."""
    return [
        {
            "transfers": [
                {"from": source, "to": to, "count": count, "op": "add" if adds else "copy"}
                for (source, to), count, adds in zip(
                    one.transfers, one.counts, one.adds, strict=True
                )
            ],
            "values": [list(row.values) for row in one.rows],
            "final": [list(row.is_final) for row in one.rows],
            "switch": list(one.switch_row.values) if one.switch_row else None,
        }
        for one in outlook.subject.replay().rounds
    ]
