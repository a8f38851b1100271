"""Models of the catalogue, from their entries in models.yaml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpuflow.scenario.model_spec import (
    NO_MLP,
    AttentionSpec,
    LatentSpec,
    LayerSpec,
    MixerSpec,
    MlpSpec,
    ModelSpec,
)

Entry = Mapping[str, Any]

_ALL_PARTS = ("attention", "mlp")


def build_model(name: str, entry: Entry) -> ModelSpec:
    """The model that an entry describes.

    Equal layers share one object. `layers` is a list of runs, or one letter a layer that `kinds`
    explains.
    """
    return ModelSpec(
        name=name,
        title=entry["title"],
        hidden_size=entry["hidden_size"],
        vocab_size=entry["vocab_size"],
        layers=tuple(_layers(entry)) * entry.get("repeat", 1),
        tied_embeddings=entry.get("tied_embeddings", False),
        precision=entry["precision"],
        quantised=entry.get("quantised", "none"),
        extra_parameters=entry.get("extra_parameters", 0),
        source=entry["source"],
    )


def _layers(entry: Entry) -> Iterator[LayerSpec]:
    listed = entry["layers"]
    if isinstance(listed, str):
        kinds = {letter: _layer(entry, kind) for letter, kind in entry["kinds"].items()}
        yield from (kinds[letter] for letter in listed)
        return
    for run in listed:
        layer = _layer(entry, run)
        yield from (layer for _ in range(run["count"]))


def _layer(entry: Entry, kind: Entry) -> LayerSpec:
    """One layer: what all share, with the fields in which its kind differs."""
    parts = kind.get("parts", _ALL_PARTS)
    return LayerSpec(
        attention=_attention(entry, kind) if "attention" in parts else None,
        mixer=MixerSpec(**_merged(entry, kind, "mixer")) if "mixer" in parts else None,
        mlp=MlpSpec(**_merged(entry, kind, "mlp")) if "mlp" in parts else NO_MLP,
        norm_vectors=kind.get("norm_vectors", entry.get("norm_vectors", 2)),
    )


def _attention(entry: Entry, kind: Entry) -> AttentionSpec:
    values = _merged(entry, kind, "attention")
    latent = values.pop("latent", None)
    return AttentionSpec(**values, latent=LatentSpec(**latent) if latent else None)


def _merged(entry: Entry, kind: Entry, part: str) -> dict[str, Any]:
    return {**entry[part], **kind.get(part, {})}
