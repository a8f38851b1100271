"""From a draft to a scenario: names looked up, and everything that must fit together checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

from gpuflow.errors import InputError
from gpuflow.scenario import catalog
from gpuflow.scenario.draft import Draft
from gpuflow.scenario.model_spec import ModelSpec
from gpuflow.scenario.spec import (
    ALL_REDUCES,
    AUTO,
    CUBE_MESH_GPUS,
    AllReduce,
    ClusterSpec,
    DeviceSpec,
    FabricSpec,
    ProfileSpec,
    Scenario,
    WorkloadSpec,
)
from gpuflow.scenario.splits import check_split, divisors_near, parallel_of
from gpuflow.units import format_bit_rate

ResolveModel = Callable[[Path], ModelSpec]
"""Reads a model from a config.json or its folder."""
NAMED = ("model", "tp", "pp", "dp", "ep")
"""What the name of a scenario tends to speak of."""


def assemble(draft: Draft, folder: Path, resolve_model: ResolveModel | None) -> Scenario | None:
    """The scenario of a draft, or None when it has problems.

    Args:
        draft: What was asked; problems are added to it.
        folder: Paths in the file are relative to it.
        resolve_model: Reads models that are not in the catalogue; None: there are none.
    """
    model = _model(draft, folder, resolve_model)
    cluster = _cluster(draft)
    profile = _profile(draft)
    precision = _precision(draft, model, cluster)
    parallel = parallel_of(draft)
    check_split(draft, model, parallel)
    workload = _workload(draft)
    all_reduce = _all_reduce(draft)
    if not (model and cluster and profile and precision and workload and draft.steps):
        return None
    if draft.name is None or draft.title is None or draft.problems.found:
        return None
    return Scenario(
        name=draft.name,
        title=draft.title,
        model=model,
        cluster=cluster,
        parallel=parallel,
        workload=workload,
        precision=precision,
        profile=profile,
        steps=draft.steps,
        all_reduce=all_reduce,
        is_altered=any(draft.is_option(name) for name in NAMED),
    )


def _model(draft: Draft, folder: Path, resolve_model: ResolveModel | None) -> ModelSpec | None:
    name = draft.words.get("model")
    if name is None:
        return None
    path = Path(name) if draft.is_option("model") else folder / name
    try:
        if resolve_model is not None and not catalog.has_model(name) and _is_path(name, path):
            return resolve_model(path)
        return catalog.model(name)
    except InputError as error:
        _look_up_failed(draft, "model", error)
        return None


def _is_path(name: str, path: Path) -> bool:
    """Whether a model's name means a file: it is written like one, or there is one."""
    if name.endswith(".json") or name.startswith(("/", "./", "../")) or name in {".", ".."}:
        return True
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _look_up_failed(draft: Draft, name: str, error: InputError) -> None:
    """Points a catalogue's problem at the value; problems in other files keep their place."""
    for problem in error.problems:
        if problem.file or problem.mark:
            draft.problems.extend([problem])
        else:
            draft.blame(problem.code, (name,), hint=problem.hint, **problem.values)


def _cluster(draft: Draft) -> ClusterSpec | None:
    device = _device(draft)
    chosen = _chosen_fabric(draft)
    scale_up = _fabric(draft, "scale_up", device.fabric if device else None, chosen)
    scale_out = _fabric(draft, "scale_out", device.nic if device else None, chosen)
    if device is None or scale_up is None or scale_out is None:
        return None
    per_node = draft.numbers.get("gpus_per_node", device.gpus_per_node)
    nics = draft.numbers.get("nics_per_node")
    _check_node(draft, scale_up, per_node, nics)
    network = scale_out
    if scale_out is not chosen:
        # What a file says of its own network is not said of another.
        _check_rails(draft, scale_out)
        network = replace(
            _at_rate(scale_out, draft.nic_bandwidth_bytes_per_s),
            oversubscription=draft.oversubscription or scale_out.oversubscription,
            pxn=scale_out.pxn if draft.pxn is None else draft.pxn,
        )
    return ClusterSpec(
        device=device,
        scale_up=scale_up,
        scale_out=network if nics is None else _shared(network, nics, per_node),
        gpus_per_node=per_node,
        nics_per_node=nics,
    )


def _check_node(draft: Draft, scale_up: FabricSpec, per_node: int, nics: int | None) -> None:
    if nics is not None and per_node % nics:
        draft.blame(
            "nics_divide",
            ("nics_per_node", "gpus_per_node"),
            hint="values_that_do",
            nics=nics,
            gpus=per_node,
            allowed=divisors_near(per_node, nics),
        )
    if scale_up.topology == "cube_mesh" and per_node > CUBE_MESH_GPUS:
        draft.blame(
            "cube_mesh_size",
            ("gpus_per_node", "scale_up", "gpu"),
            hint="in_range",
            fabric=scale_up.title,
            found=per_node,
            least=1,
            most=CUBE_MESH_GPUS,
        )


def _check_rails(draft: Draft, scale_out: FabricSpec) -> None:
    if draft.pxn is not None and scale_out.topology != "rail":
        rails = [n for n in catalog.fabric_names() if catalog.fabric(n).topology == "rail"]
        draft.blame(
            "pxn_without_rails",
            ("pxn",),
            hint="rail_fabrics",
            fabric=scale_out.title,
            allowed=rails,
        )


def _device(draft: Draft) -> DeviceSpec | None:
    name = draft.words.get("gpu")
    if name is None:
        return None
    try:
        return catalog.device(name)
    except InputError as error:
        _look_up_failed(draft, "gpu", error)
        return None


def _chosen_fabric(draft: Draft) -> FabricSpec | None:
    """The fabric that `--fabric` puts in the place of the one of its tier."""
    name = draft.words.get("fabric")
    if name is None:
        return None
    try:
        return catalog.fabric(name)
    except InputError as error:
        _look_up_failed(draft, "fabric", error)
        return None


def _fabric(
    draft: Draft,
    tier: Literal["scale_up", "scale_out"],
    default: str | None,
    chosen: FabricSpec | None,
) -> FabricSpec | None:
    if chosen is not None and chosen.tier == tier:
        return chosen
    name = draft.words.get(tier, default)
    if name is None:
        return None
    try:
        fabric = catalog.fabric(name)
    except InputError as error:
        _look_up_failed(draft, tier, error)
        return None
    if fabric.tier != tier:
        allowed = list(catalog.fabric_names(tier))
        draft.blame(
            "fabric_tier",
            (tier,),
            hint="allowed_here",
            found=fabric.name,
            tier_kind=fabric.tier,
            wanted_kind=tier,
            allowed=allowed,
        )
        return None
    return fabric


def _at_rate(fabric: FabricSpec, rate_bytes_per_s: float | None) -> FabricSpec:
    """The fabric with another nominal rate; what is reached of it scales along."""
    if rate_bytes_per_s is None or rate_bytes_per_s == fabric.link_bandwidth_bytes_per_s:
        return fabric
    share = rate_bytes_per_s / fabric.link_bandwidth_bytes_per_s
    return replace(
        fabric,
        title=f"{fabric.title} @ {format_bit_rate(rate_bytes_per_s)}",
        link_bandwidth_bytes_per_s=rate_bytes_per_s,
        bus_bandwidth_bytes_per_s=fabric.bus_bandwidth_bytes_per_s * share,
        hop_bandwidth_bytes_per_s=fabric.hop_bandwidth_bytes_per_s * share,
    )


def _shared(fabric: FabricSpec, n_nics: int, n_gpus: int) -> FabricSpec:
    """The fabric as one GPU has it that shares its NIC with others."""
    share = n_nics / n_gpus
    return replace(
        fabric,
        title=f"{n_nics} × {fabric.title}",
        link_bandwidth_bytes_per_s=fabric.link_bandwidth_bytes_per_s * share,
        bus_bandwidth_bytes_per_s=fabric.bus_bandwidth_bytes_per_s * share,
        hop_bandwidth_bytes_per_s=fabric.hop_bandwidth_bytes_per_s * share,
    )


def _profile(draft: Draft) -> ProfileSpec | None:
    try:
        return catalog.profile(draft.words.get("profile", catalog.DEFAULT_PROFILE))
    except InputError as error:
        _look_up_failed(draft, "profile", error)
        return None


def _precision(draft: Draft, model: ModelSpec | None, cluster: ClusterSpec | None) -> str | None:
    precision = draft.words.get("precision")
    if precision is not None and precision not in catalog.PRECISIONS:
        draft.blame(
            "unknown_precision",
            ("precision",),
            hint="allowed_here",
            found=precision,
            allowed=list(catalog.PRECISIONS),
        )
        return None
    if precision is None and model is not None:
        precision = model.precision
    if precision is None or cluster is None:
        return precision
    if not catalog.has_peak(cluster.device, precision):
        draft.blame(
            "no_peak",
            ("precision", "gpu", "model"),
            hint="precisions_of_gpu",
            precision=precision,
            gpu=cluster.device.title,
            allowed=[p for p in catalog.PRECISIONS if catalog.has_peak(cluster.device, p)],
        )
        return None
    return precision


def _all_reduce(draft: Draft) -> AllReduce | None:
    """The algorithm that was asked for; whether the machines can run it is seen later."""
    name = draft.words.get("all_reduce", AUTO)
    if name not in (AUTO, *ALL_REDUCES):
        draft.blame(
            "unknown_all_reduce",
            ("all_reduce",),
            hint="allowed_here",
            found=name,
            allowed=[AUTO, *ALL_REDUCES],
        )
    return next((known for known in ALL_REDUCES if known == name), None)


def _workload(draft: Draft) -> WorkloadSpec | None:
    batch, prompt, output = (draft.numbers.get(name) for name in ("batch", "prompt", "output"))
    if batch is None or prompt is None or output is None:
        return None
    return WorkloadSpec(
        batch=batch,
        prompt_tokens=prompt,
        output_tokens=output,
        context_tokens=draft.numbers.get("context"),
        chunk_tokens=draft.numbers.get("chunk"),
        micro_batches=_micro_batches(draft, batch),
        overlap=bool(draft.overlap),
    )


def _micro_batches(draft: Draft, batch: int) -> int:
    """Groups of the batch, which are as large as one another."""
    found = draft.numbers.get("micro_batches", 1)
    if batch % found:
        most = range(1, min(batch, found) + 1)
        draft.blame(
            "micro_batches",
            ("micro_batches", "batch"),
            hint="values_that_do",
            found=found,
            batch=batch,
            allowed=[n for n in most if batch % n == 0][-8:],
        )
        return 1
    return found
