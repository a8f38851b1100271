"""Models, devices, fabrics and profiles that ship with the program, by id.

Entries are built on demand and once. Names are taken in any case and with `_` for `-`, and by the
aliases an entry lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal

import yaml

from gpuflow.errors import Mark, Problem, ScenarioError
from gpuflow.scenario.model_entries import build_model
from gpuflow.scenario.model_spec import ModelSpec
from gpuflow.scenario.spec import DeviceSpec, FabricSpec, ProfileSpec, Text
from gpuflow.scenario.spelling import nearest
from gpuflow.units import parse_bandwidth, parse_flops, parse_size, parse_time

Kind = Literal["model", "gpu", "fabric", "profile"]
Entry = dict[str, Any]

DEFAULT_PROFILE = "vllm"
PRECISIONS = ("bf16", "fp16", "fp8", "fp4", "int8", "int4")
"""What weights can be stored in."""

_FILES: Mapping[Kind, str] = {
    "model": "models.yaml",
    "gpu": "devices.yaml",
    "fabric": "fabrics.yaml",
    "profile": "profiles.yaml",
}
_Loader: type[yaml.CSafeLoader] | type[yaml.SafeLoader] = getattr(
    yaml, "CSafeLoader", yaml.SafeLoader
)


def model(name: str) -> ModelSpec:
    """The model of a name.

    Raises:
        ScenarioError: There is none; the problem names the nearest or all of them.
    """
    return _build_model(_resolve("model", name))


def device(name: str) -> DeviceSpec:
    """The device of a name.

    Raises:
        ScenarioError: There is none.
    """
    return _build_device(_resolve("gpu", name))


def fabric(name: str) -> FabricSpec:
    """The fabric of a name.

    Raises:
        ScenarioError: There is none.
    """
    return _build_fabric(_resolve("fabric", name))


def profile(name: str) -> ProfileSpec:
    """The profile of a name.

    Raises:
        ScenarioError: There is none.
    """
    return _build_profile(_resolve("profile", name))


def model_names() -> tuple[str, ...]:
    """Ids of all models, in catalogue order."""
    return tuple(_entries("model"))


def device_names() -> tuple[str, ...]:
    """Ids of all devices, in catalogue order."""
    return tuple(_entries("gpu"))


def fabric_names(tier: Literal["scale_up", "scale_out"] | None = None) -> tuple[str, ...]:
    """Ids of all fabrics, or of those of one tier, in catalogue order."""
    return tuple(
        name for name, entry in _entries("fabric").items() if tier in (None, entry["tier"])
    )


def profile_names() -> tuple[str, ...]:
    """Ids of all profiles, in catalogue order."""
    return tuple(_entries("profile"))


def model_spellings() -> Mapping[str, str]:
    """Ids of models by every spelling that leads to them, in small letters."""
    return _aliases("model")


def has_model(name: str) -> bool:
    """Whether the catalogue has a model of that name."""
    return _plain(name) in _aliases("model")


def has_peak(device: DeviceSpec, precision: str) -> bool:
    """Whether the device computes in a precision.

    fp16 is read as bf16. 4-bit weights need no peak of their own: kernels for them unpack to 16
    bit (MXFP4 on Hopper, AWQ and GPTQ everywhere).
    """
    return precision in {"fp16", "fp4", "int4"} or precision in device.peak_flop_per_s


def unknown_name(
    kind: Kind, name: str, *, key: str = "", file: str = "", mark: Mark | None = None
) -> Problem:
    """The problem of a name that the catalogue lacks, with the nearest spelling or all names."""
    known = list(_entries(kind))
    near = nearest(_plain(name), _aliases(kind), likeness=0.6)
    return Problem(
        code=f"unknown_{kind}",
        key=key,
        file=file,
        mark=mark,
        values={
            "found": name,
            "known": known,
            "suggestion": _aliases(kind)[near] if near else "",
        },
        hint="did_you_mean" if near else f"known_{kind}",
    )


def _resolve(kind: Kind, name: str) -> str:
    found = _aliases(kind).get(_plain(name))
    if found is None:
        raise ScenarioError([unknown_name(kind, name)])
    return found


def _plain(name: str) -> str:
    return name.strip().lower().replace("_", "-")


@cache
def _entries(kind: Kind) -> Mapping[str, Entry]:
    text = (resources.files("gpuflow") / "data" / _FILES[kind]).read_text("utf-8")
    return MappingProxyType(yaml.load(text, _Loader))


@cache
def _aliases(kind: Kind) -> Mapping[str, str]:
    """Id by every spelling that leads to it."""
    spellings = {}
    for name, entry in _entries(kind).items():
        for spelling in (name, *entry.get("aliases", ())):
            spellings[_plain(spelling)] = name
    return MappingProxyType(spellings)


@cache
def _build_model(name: str) -> ModelSpec:
    return build_model(name, _entries("model")[name])


@cache
def _build_device(name: str) -> DeviceSpec:
    entry = _entries("gpu")[name]
    peaks = {precision: parse_flops(peak) for precision, peak in entry["peaks"].items()}
    return DeviceSpec(
        name=name,
        title=entry["title"],
        memory_bytes=parse_size(entry["memory"]),
        memory_bandwidth_bytes_per_s=parse_bandwidth(entry["memory_bandwidth"]),
        peak_flop_per_s=MappingProxyType(peaks),
        fabric=entry["fabric"],
        nic=entry["nic"],
        gpus_per_node=entry["gpus_per_node"],
        source=entry["source"],
        aliases=tuple(entry.get("aliases", ())),
    )


@cache
def _build_fabric(name: str) -> FabricSpec:
    return _fabric_of(name, _entries("fabric")[name])


def _fabric_of(name: str, entry: Entry) -> FabricSpec:
    bridge = entry.get("bridge")
    return FabricSpec(
        name=name,
        title=entry["title"],
        tier=entry["tier"],
        topology=entry["topology"],
        link_bandwidth_bytes_per_s=parse_bandwidth(entry["link"]),
        bus_bandwidth_bytes_per_s=parse_bandwidth(entry["bus"]),
        hop_bandwidth_bytes_per_s=parse_bandwidth(entry["hop"]),
        collective_latency_s=parse_time(entry["collective_latency"]),
        hop_latency_s=parse_time(entry["hop_latency"]),
        step_latency_s=parse_time(entry["step_latency"]),
        source=entry["source"],
        adds_in_switch=entry.get("adds_in_switch", False),
        gpus_per_switch=entry.get("gpus_per_switch", 0),
        hosts=entry.get("hosts", 1),
        host_link_bandwidth_bytes_per_s=(
            parse_bandwidth(entry["host_link"]) if "host_link" in entry else None
        ),
        bridge=_fabric_of(f"{name}/bridge", bridge) if bridge else None,
        leaf_ports=entry.get("leaf_ports", 0),
        oversubscription=float(entry.get("oversubscription", 1)),
        pxn=entry.get("pxn", False),
        switch_latency_s=parse_time(entry["switch_latency"]) if "switch_latency" in entry else 0.0,
    )


@cache
def _build_profile(name: str) -> ProfileSpec:
    entry = _entries("profile")[name]
    return ProfileSpec(
        name=name,
        title=Text(**entry["title"]),
        compute_fraction=entry["compute_fraction"],
        memory_fraction=entry["memory_fraction"],
        attention_compute_fraction=entry["attention_compute_fraction"],
        attention_memory_fraction=entry["attention_memory_fraction"],
        roofline_exponent=entry.get("roofline_exponent"),
        host_s_per_step=parse_time(entry["host_per_step"]),
        layer_overhead_s=parse_time(entry["layer_overhead"]),
        elementwise=entry["elementwise"],
        collective_times=entry["collective_times"],
        source=entry["source"],
        narrow_compute_share=entry.get("narrow_compute_share", 1.0),
        quantised_expert_overhead_s=parse_time(entry.get("quantised_expert_overhead", "0 s")),
        expert_block_rows=entry.get("expert_block_rows", 0),
        scores_in_16_bit=entry.get("scores_in_16_bit", False),
        cache_bits=entry.get("cache_bits", 16),
        all_reduce_kernel=entry.get("all_reduce_kernel", "nccl"),
        all_reduce_launch=entry.get("all_reduce_launch", "cuda_graph"),
        joins_prefill=entry.get("joins_prefill", True),
        chunk_tokens=entry.get("chunk_tokens", 8192),
        request_s=parse_time(entry.get("request", "0 s")),
    )
