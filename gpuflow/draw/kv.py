"""The KV cache in words: how much of this answer's is written, and what it takes of the memory.

The bar stands for the first, so the figure beside it is a fraction of the same whole; a share of
the memory that the weights leave is told as such.
"""

from __future__ import annotations

from functools import lru_cache

from gpuflow.draw.view import Scene
from gpuflow.engine.state import GpuState, State
from gpuflow.units import format_bytes

NOTHING = "–"


def fill_text(held_bytes: float, full_bytes: float) -> str:
    """What is written of what the answer will need, both in the unit of the whole.

    Example:
        >>> fill_text(12.4 * 2**20, 20 * 2**20), fill_text(2**30, 2.5 * 2**30), fill_text(9, 2**20)
        ('12/20 MiB', '1.0/2.5 GiB', '<0.1/1.0 MiB')
    """
    if full_bytes <= 0:
        return format_bytes(held_bytes) if held_bytes else NOTHING
    number, unit = format_bytes(full_bytes).split(" ")
    whole = float(number.replace(",", ""))
    decimals = 0 if whole >= 9.95 or unit == "B" else 1
    held, least = held_bytes / full_bytes * whole, 10.0**-decimals
    written = f"<{least:.{decimals}f}" if 0 < held < least else f"{held:.{decimals}f}"
    return f"{written}/{whole:.{decimals}f} {unit}"


@lru_cache(maxsize=256)
def widest_fill(full_bytes: float) -> int:
    """Cells that `fill_text` takes at most on the way to the whole."""
    return max(len(fill_text(part * full_bytes, full_bytes)) for part in (1.0, 1e-9))


def kv_share(scene: Scene, gpu: GpuState) -> str:
    """Share of the memory that the weights leave, as short as it can be said."""
    if scene.timeline.recording is not None:
        return NOTHING
    if gpu.kv_capacity_bytes <= 0:
        return scene.t("gpu.kv_none")
    share = gpu.kv_bytes / gpu.kv_capacity_bytes
    if 0 < share < 0.0005:
        return "<0.1 %"
    return f"{share * 100:.1f} %"


def kv_forms(scene: Scene, gpu: GpuState) -> tuple[str, ...]:
    """Bytes and what they are of the memory that the weights leave, longest form first."""
    size, share = format_bytes(gpu.kv_bytes), kv_share(scene, gpu)
    if scene.timeline.recording is not None:
        return (scene.t("gpu.kv_not_recorded"), NOTHING)
    if gpu.kv_capacity_bytes <= 0:
        weights = scene.t("gpu.kv_no_room")
        return (f"{size} · {weights}", weights, share)
    room = format_bytes(gpu.kv_capacity_bytes)
    if gpu.kv_bytes > gpu.kv_capacity_bytes:
        over = scene.t("gpu.kv_over", room=room)
        return (f"{size} · {over}", over, scene.t("gpu.kv_none"))
    return (
        scene.t("gpu.kv_of_rest", size=size, share=share, room=room),
        scene.t("gpu.kv_of", size=size, share=share, room=room),
        scene.t("gpu.kv_share_of", share=share, room=room),
        size,
    )


def kv_metric(scene: Scene, state: State) -> tuple[str, str]:
    """(value, meaning) of all GPUs together; where some have no room for it, that is said first."""
    if scene.timeline.recording is not None:
        return NOTHING, scene.t("gpu.kv_not_recorded")
    stages = state.gpus.stages
    if any(stage.kv_capacity_bytes <= 0 for stage in stages):
        return scene.t("gpu.kv_none"), scene.t("gpu.kv_no_room")
    size = format_bytes(state.known.kv_bytes)
    room = format_bytes(state.known.kv_capacity_bytes)
    if any(stage.kv_bytes > stage.kv_capacity_bytes for stage in stages):
        return scene.t("gpu.kv_none"), scene.t("metric.kv_over", size=size, room=room)
    return size, scene.t("metric.kv_of", room=room)
