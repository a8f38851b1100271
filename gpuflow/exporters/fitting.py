"""What to say where a scenario does not fit into its GPUs' memory."""

from __future__ import annotations

from gpuflow.cluster.memory import Fits, smallest_split, stage_memories
from gpuflow.scenario.spec import Language, ParallelSpec, Scenario
from gpuflow.units import format_bytes, format_count
from gpuflow.words import joined, t


def fits_document(fits: Fits) -> dict[str, object]:
    """What fits, for programs."""
    return {
        "fits": fits.fits,
        "max_batch": fits.max_batch,
        "max_context_tokens": fits.max_context_tokens,
        "smallest_split": _split_record(fits.smallest) if fits.smallest else None,
    }


def _split_record(parallel: ParallelSpec) -> dict[str, object]:
    return {
        "tp": parallel.tp,
        "pp": parallel.pp,
        "layers": list(parallel.stage_layers) or None,
        "gpus": parallel.world,
    }


def fits_rows(fits: Fits, language: Language) -> list[str]:
    """What fits, as sentences for people."""
    endless = t("fits.any_length", language)
    context = fits.max_context_tokens
    length = endless if context is None else format_count(context)
    return [t("fits.most", language, batch=format_count(fits.max_batch), context=length)]


def shortage_text(scenario: Scenario, language: Language) -> str:
    """Why a scenario does not fit and which split would; empty where it fits."""
    stages = stage_memories(scenario)
    fullest = min(range(len(stages)), key=lambda stage: stages[stage].spare_bytes)
    worst = stages[fullest]
    if worst.spare_bytes >= 0:
        return ""
    shortage = t(
        "fits.short",
        language,
        stage=fullest + 1,
        needed=format_bytes(worst.device_bytes - worst.spare_bytes),
        weights=format_bytes(worst.weights_bytes),
        kv=format_bytes(worst.kv_bytes),
        working=format_bytes(worst.activations_bytes),
        memory=format_bytes(worst.device_bytes),
        gpu=scenario.cluster.device.title,
    )
    return joined((shortage, _way_out(smallest_split(scenario), language)), language)


def _way_out(split: ParallelSpec | None, language: Language) -> str:
    if split is None:
        return t("fits.nowhere", language)
    values = {"tp": split.tp, "pp": split.pp, "gpus": format_count(split.world)}
    if not split.stage_layers:
        return t("fits.smallest", language, **values)
    listed = ",".join(map(str, split.stage_layers))
    return t("fits.smallest_uneven", language, layers=listed, **values)
