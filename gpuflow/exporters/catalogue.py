"""What the catalogue knows, as documents and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Literal, get_args

from gpuflow.cluster.parameters import (
    active_parameters,
    kv_bytes_per_token,
    lasting_kv_bytes_per_token,
    model_bytes,
    parameters,
    state_bytes_per_sequence,
)
from gpuflow.draw.terms import Term, glossary, group_names
from gpuflow.exporters.figures import rate_both
from gpuflow.exporters.tables import NOTHING, Column, Table, table_of
from gpuflow.scenario import catalog
from gpuflow.scenario.model_spec import ModelSpec
from gpuflow.scenario.spec import AUTO, DeviceSpec, FabricSpec, Language, ProfileSpec, Scenario
from gpuflow.units import (
    format_bytes,
    format_count,
    format_flops,
    format_rate,
    format_share,
    format_time,
)
from gpuflow.words import has, t

Record = dict[str, object]
Kind = Literal["models", "gpus", "fabrics", "profiles", "scenarios", "algorithms", "terms"]
KINDS: tuple[Kind, ...] = get_args(Kind)
NAMED_IN_OPTIONS = KINDS[:-1]
"""Kinds that options and scenario files name; terms are to be read."""


# ---------------------------------------------------------------- records


def model_record(model: ModelSpec, language: Language) -> Record:
    """One model: what its config says and what follows from it."""
    moe, attention = model.moe, model.attention
    kv, lasting = kv_bytes_per_token(model), lasting_kv_bytes_per_token(model)
    return {
        "id": model.name,
        "title": model.title,
        "parameters": parameters(model),
        "active_parameters": active_parameters(model),
        "weight_bytes": model_bytes(model, model.precision),
        "kv_bytes_per_token": kv,
        "kv_bytes_per_token_beyond_windows": lasting if lasting != kv else None,
        "state_bytes_per_sequence": state_bytes_per_sequence(model) or None,
        "layers": len(model.layers),
        "hidden_size": model.hidden_size,
        "heads": attention.heads if attention else None,
        "kv_heads": attention.kv_heads if attention else None,
        "head_size": attention.head_size if attention else None,
        "vocab_size": model.vocab_size,
        "experts": moe.experts if moe else None,
        "experts_per_token": moe.experts_per_token if moe else None,
        "precision": model.precision,
        "source": model.source,
        "assumed": [
            {
                "key": item.key,
                "value": item.value,
                "reason": item.reason,
                "text": t(f"assumed.{item.reason}", language, key=item.key, value=item.value),
            }
            for item in model.assumed
        ],
    }


def device_record(device: DeviceSpec) -> Record:
    """One accelerator."""
    return {
        "id": device.name,
        "title": device.title,
        "memory_bytes": device.memory_bytes,
        "memory_bandwidth_bytes_per_s": device.memory_bandwidth_bytes_per_s,
        "peak_flop_per_s": dict(device.peak_flop_per_s),
        "scale_up": device.fabric,
        "scale_out": device.nic,
        "gpus_per_node": device.gpus_per_node,
        "aliases": list(device.aliases),
        "source": device.source,
    }


_ONLY_FOR: Mapping[str, tuple[str, ...]] = {
    "gpus_per_switch": ("pcie",),
    "hosts": ("pcie",),
    "leaf_ports": ("fat_tree", "rail"),
    "oversubscription": ("fat_tree", "rail"),
    "pxn": ("rail",),
    "switch_latency_s": ("fat_tree", "rail"),
}
"""Topologies that a value of a fabric means something for."""


def fabric_record(fabric: FabricSpec) -> Record:
    """One fabric; bandwidths are per GPU and direction, null what its topology does not have."""
    values = asdict(fabric)
    for name, topologies in _ONLY_FOR.items():
        if fabric.topology not in topologies:
            values[name] = None
    if fabric.bridge is not None:
        values["bridge"] = fabric_record(fabric.bridge)
    return {"id": values.pop("name"), **values}


def profile_record(profile: ProfileSpec, language: Language) -> Record:
    """One engine profile."""
    values = asdict(profile)
    values["title"] = profile.title.in_language(language)
    return {"id": values.pop("name"), **values}


def scenario_record(scenario: Scenario, language: Language) -> Record:
    """One scenario: what is played, on what, and the titles of its steps."""
    return {
        "id": scenario.name,
        "title": scenario.title.in_language(language),
        "model": scenario.model.name,
        "gpu": scenario.cluster.device.name,
        "scale_up": scenario.cluster.scale_up.name,
        "scale_out": scenario.cluster.scale_out.name,
        "gpus_per_node": scenario.cluster.gpus_per_node,
        "nics_per_node": scenario.cluster.nics_per_node,
        **asdict(scenario.parallel),
        "batch": scenario.workload.batch,
        "prompt": scenario.workload.prompt_tokens,
        "output": scenario.workload.output_tokens,
        "context": scenario.workload.context_tokens,
        "precision": scenario.precision,
        "profile": scenario.profile.name,
        "all_reduce": scenario.all_reduce or AUTO,
        "steps": [step.id for step in scenario.steps],
    }


def algorithm_records() -> list[Record]:
    """Every algorithm of every collective."""
    from gpuflow.collectives.algorithms import ALGORITHMS

    return [
        {"id": f"{collective}/{name}", "collective": collective, "algorithm": name}
        for collective, names in ALGORITHMS.items()
        for name in names
    ]


# ---------------------------------------------------------------- for people


_WRITTEN: Mapping[str, Callable[[float], str]] = {
    "parameters": format_count,
    "active_parameters": format_count,
    "weight_bytes": format_bytes,
    "kv_bytes_per_token": format_bytes,
    "kv_bytes_per_token_beyond_windows": format_bytes,
    "state_bytes_per_sequence": format_bytes,
    "memory_bytes": format_bytes,
    "memory_bandwidth_bytes_per_s": format_rate,
    "collective_latency_s": format_time,
    "hop_latency_s": format_time,
    "step_latency_s": format_time,
    "switch_latency_s": format_time,
    "host_s_per_step": format_time,
    "layer_overhead_s": format_time,
    "compute_fraction": format_share,
    "memory_fraction": format_share,
    "attention_compute_fraction": format_share,
    "attention_memory_fraction": format_share,
}


def record_table(title: str, record: Record, language: Language) -> Table:
    """One record, a value a row; values that do not apply are left out."""
    rows = [
        (_label(name, language), _written(name, value, record, language))
        for name, value in record.items()
        if value is not None and value not in ([], ())
    ]
    name, value = (t(f"column.{key}", language) for key in ("name", "value"))
    return table_of(title, [Column(name, marks_row=True), Column(value)], rows)


def records_table(title: str, rows: Sequence[Record], language: Language) -> Table:
    """Records of one kind under each other, all with the same names."""
    columns = [
        Column(
            _label(name, language),
            "right" if name in _WRITTEN else "left",
            marks_row=name == "id",
        )
        for name in rows[0]
    ]
    texts = [[_written(name, value, row, language) for name, value in row.items()] for row in rows]
    return table_of(title, columns, texts)


def _label(name: str, language: Language) -> str:
    key = f"field.{name}"
    return t(key, language) if has(key, language) else name


def _written(name: str, value: object, record: Record, language: Language) -> str:
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return t("value.yes" if value else "value.no", language)
    if name.endswith("bandwidth_bytes_per_s") and "tier" in record and isinstance(value, float):
        return rate_both(value, "scale_out" if record["tier"] == "scale_out" else "scale_up")
    if name == "peak_flop_per_s" and isinstance(value, Mapping):
        return ", ".join(f"{kind} {format_flops(peak)}" for kind, peak in value.items())
    if name == "bridge" and isinstance(value, Mapping):
        return f"{value['title']}, {rate_both(value['bus_bandwidth_bytes_per_s'], 'scale_up')}"
    if name == "oversubscription":
        return f"{value:g} : 1"
    if name == "assumed" and isinstance(value, Sequence):
        return "\n".join(str(item["text"]) for item in value)
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    if name in _WRITTEN and isinstance(value, (int, float)):
        return _WRITTEN[name](value)
    if isinstance(value, int):
        return format_count(value)
    return str(value)


def listing(kind: Kind, language: Language) -> list[Record]:
    """Short records of everything of a kind."""
    if kind == "models":
        models = map(catalog.model, catalog.model_names())
        return [_short_model(model) for model in models]
    if kind == "gpus":
        return [_short_device(catalog.device(name)) for name in catalog.device_names()]
    if kind == "fabrics":
        return [_short_fabric(catalog.fabric(name)) for name in catalog.fabric_names()]
    if kind == "profiles":
        return [
            {"id": name, "title": catalog.profile(name).title.in_language(language)}
            for name in catalog.profile_names()
        ]
    if kind == "scenarios":
        return _short_scenarios(language)
    if kind == "terms":
        return [_short_term(term, language) for term in glossary().values()]
    return algorithm_records()


def term_record(term: Term, language: Language) -> Record:
    """One term of the field."""
    return {
        "id": term.id,
        "title": term.name.in_language(language),
        "group": group_names()[term.group].in_language(language),
        "english": term.name.en,
        "chinese": term.name.zh,
        "also": list(term.also),
        "definition": term.text.in_language(language),
        "seen": term.seen.in_language(language),
    }


def _short_term(term: Term, language: Language) -> Record:
    record = term_record(term, language)
    return {name: record[name] for name in ("id", "english", "chinese", "definition")}


def _short_model(model: ModelSpec) -> Record:
    return {
        "id": model.name,
        "title": model.title,
        "parameters": parameters(model),
        "active_parameters": active_parameters(model),
        "layers": len(model.layers),
        "kv_bytes_per_token": kv_bytes_per_token(model),
        "precision": model.precision,
    }


def _short_device(device: DeviceSpec) -> Record:
    return {
        "id": device.name,
        "title": device.title,
        "memory_bytes": device.memory_bytes,
        "memory_bandwidth_bytes_per_s": device.memory_bandwidth_bytes_per_s,
        "scale_up": device.fabric,
        "scale_out": device.nic,
    }


def _short_fabric(fabric: FabricSpec) -> Record:
    return {
        "id": fabric.name,
        "title": fabric.title,
        "tier": fabric.tier,
        "link_bandwidth_bytes_per_s": fabric.link_bandwidth_bytes_per_s,
        "bus_bandwidth_bytes_per_s": fabric.bus_bandwidth_bytes_per_s,
        "collective_latency_s": fabric.collective_latency_s,
    }


def _short_scenarios(language: Language) -> list[Record]:
    from gpuflow.scenario.load import load_scenario, scenario_names

    found: list[Record] = []
    for name in scenario_names():
        scenario = load_scenario(name)
        found.append(
            {
                "id": name,
                "title": scenario.title.in_language(language),
                "model": scenario.model.name,
                "gpu": scenario.cluster.device.name,
                "gpus": scenario.parallel.world,
            }
        )
    return found
