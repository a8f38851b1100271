"""The card of a scenario as a document for programs."""

from __future__ import annotations

from gpuflow.engine.card import Card
from gpuflow.engine.changes import Change
from gpuflow.engine.wire import MessageKind
from gpuflow.exporters.card import cause_text, change_text
from gpuflow.scenario.spec import Language


def card_document(card: Card, language: Language) -> dict[str, object]:
    """What `card --format json` holds besides schema and inputs."""
    timeline, memory = card.timeline, card.memory
    has_laps = timeline.laps > 0
    return {
        "ttft_s": timeline.ttft_s,
        "tpot_s": timeline.tpot_s if has_laps else None,
        "answer_s": timeline.end_s,
        "time": [
            {
                "phase": phase,
                "resource": part.resource,
                "class": part.traffic_class,
                "across_nodes": part.is_across_nodes,
                "time_s": part.seconds,
                "share": part.seconds / timeline.pass_s(phase),
            }
            for phase, parts in card.parts.items()
            for part in parts
        ],
        "traffic": [_kind_record(kind) for kind in card.kinds],
        "bottleneck": [
            {
                "phase": phase,
                "resource": parts[0].resource,
                "class": parts[0].traffic_class,
                "share": parts[0].seconds / timeline.pass_s(phase),
                "text": cause_text(parts[0], language),
            }
            for phase, parts in card.parts.items()
            if parts
        ],
        "memory": {
            "device_bytes": memory.device_bytes,
            "weights_bytes": memory.weights_bytes,
            "kv_bytes": memory.kv_bytes,
            "activations_bytes": memory.activations_bytes,
            "pool_bytes": memory.pool_bytes,
            "pool_tokens": memory.pool_tokens,
            "request_tokens": memory.request_tokens,
            "requests": memory.requests,
            "fits": memory.fits,
        },
        "best_change": _change_record(card, card.best, language),
        "second_change": _change_record(card, card.second, language),
        "changes": [_change_record(card, change, language) for change in card.changes],
    }


def _kind_record(kind: MessageKind) -> dict[str, object]:
    return {
        "class": kind.traffic_class,
        "phase": kind.phase,
        "collective": kind.collective,
        "payload": kind.payload,
        "ranks": kind.ranks,
        "message_size_bytes": kind.message_size_bytes,
        "messages": kind.messages,
        "time_s": kind.time_s,
        "share": kind.share,
        "time_source": kind.time_source,
        "gpu_bytes": kind.gpu_bytes,
        "gpu_bytes_per_s": kind.gpu_bytes_per_s,
        "nic_bytes": kind.nic_bytes,
        "nic_bytes_per_s": kind.nic_bytes_per_s,
    }


def _change_record(
    card: Card, change: Change | None, language: Language
) -> dict[str, object] | None:
    if change is None:
        return None
    p = change.parallel
    return {
        "kind": change.kind,
        "value": change.value or None,
        "tp": p.tp,
        "pp": p.pp,
        "dp": p.dp,
        "ep": p.ep,
        "batch": change.batch,
        "gpus": p.world,
        "fits": change.fits,
        "ttft_s": change.ttft_s,
        "tpot_s": change.tpot_s,
        "answer_s": change.answer_s,
        "tokens_per_s": change.tokens_per_s,
        "gain": change.gain(card.timeline),
        "text": change_text(card, change, language),
    }
