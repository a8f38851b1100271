"""JSON Schema of scenario files, for editors.

It holds the structure and the catalogue's names; what needs arithmetic (a tp that divides the
heads, eight steps in their order of phases) is left to the reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpuflow.scenario import catalog
from gpuflow.scenario.draft import (
    CLUSTER_REQUIRED,
    FORMAT,
    LEAST_OVERSUBSCRIPTION,
    LIMITS,
    MOST_LAYERS,
    MOST_OVERSUBSCRIPTION,
    OVERLAP_KEY,
    STAGE_KEY,
    TOP_REQUIRED,
    WORKLOAD_REQUIRED,
)
from gpuflow.scenario.operations import (
    COMPUTE_PARTS,
    CONDITIONS,
    FITTING,
    GROUP_COLLECTIVES,
    GROUPS,
    HOST_ACTIONS,
    LAYER_PARTS,
    LAYER_SELECTORS,
    PAYLOADS,
    SENT_PAYLOADS,
    STAGE_SELECTORS,
)
from gpuflow.scenario.placeholders import FIGURES, TEXT_CONDITIONS
from gpuflow.scenario.spec import ALL_REDUCES, AUTO
from gpuflow.scenario.steps import N_STEPS, PHASES, REQUIRED

Schema = dict[str, object]

_NAME = "^[a-z0-9][a-z0-9.-]*$"


def json_schema() -> Schema:
    """The schema of `scenario/1`, JSON Schema draft 2020-12."""
    schema = _object(
        "A gpuflow scenario: a model on a cluster, split over GPUs, answering a prompt in 8 steps.",
        {
            "gpuflow": {"const": FORMAT, "description": "Format of the file."},
            "name": {
                "type": "string",
                "pattern": _NAME,
                "description": "Short name in small letters, digits, dots and hyphens.",
            },
            "title": _ref("text", "What the scenario shows."),
            "model": {
                "anyOf": [{"enum": list(catalog.model_names())}, {"type": "string"}],
                "description": "Catalogue name, or a config.json or its folder, relative to this "
                "file.",
            },
            "precision": {
                "enum": list(catalog.PRECISIONS),
                "description": "Precision of weights; without it the model's own.",
            },
            "cluster": _cluster(),
            "parallel": _parallel(),
            "workload": _workload(),
            "profile": _names(
                "Inference engine whose constants are used.", catalog.profile_names()
            ),
            "all_reduce": _words(
                "Algorithm of all_reduce; auto, as without it: what the library or engine takes.",
                (AUTO, *ALL_REDUCES),
            ),
            "steps": {
                "type": "array",
                "items": {"$ref": "#/$defs/step"},
                "minItems": N_STEPS,
                "maxItems": N_STEPS,
                "description": "Exactly eight, all prefill steps first.",
            },
        },
        TOP_REQUIRED,
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"gpuflow {FORMAT}",
        **schema,
        "$defs": {
            "text": _text(),
            "step": _step(),
            **{f"operation_in_{place}": schema for place, schema in _operations().items()},
            "layer_operations": _list_of("operation_in_layers"),
            "stage_operations": _list_of("operation_in_stages"),
        },
    }


def _object(description: str, properties: Schema, required: Iterable[str]) -> Schema:
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _ref(name: str, description: str) -> Schema:
    return {"$ref": f"#/$defs/{name}", "description": description}


def _list_of(name: str) -> Schema:
    return {"type": "array", "minItems": 1, "items": {"$ref": f"#/$defs/{name}"}}


def _words(description: str, allowed: Sequence[str]) -> Schema:
    return {"enum": list(allowed), "description": description}


def _names(description: str, known: Sequence[str]) -> Schema:
    """Catalogue names; aliases are taken too, so any other word is left to the reader."""
    return {"anyOf": [{"enum": list(known)}, {"type": "string"}], "description": description}


def _number(name: str, description: str) -> Schema:
    return {
        "type": "integer",
        "minimum": 1,
        "maximum": LIMITS[name],
        "description": description,
    }


def _workload() -> Schema:
    numbers = {
        "batch": "Sequences per data-parallel replica.",
        "prompt": "Tokens of each prompt.",
        "output": "Tokens of each answer.",
        "context": "Tokens that every decoded token attends to; without it the context grows from "
        "the prompt.",
        "chunk": "Prompt tokens of one prefill pass at most; without it all prompts go in one.",
        "micro_batches": "Groups the batch is cut into, which follow one another through the "
        "stages; must divide the batch.",
    }
    overlap = {
        "type": "boolean",
        "description": "Messages of one half of a pass run beside the computing of its other half.",
    }
    return _object(
        "What one replica is asked.",
        {**{name: _number(name, text) for name, text in numbers.items()}, OVERLAP_KEY: overlap},
        WORKLOAD_REQUIRED,
    )


def _parallel() -> Schema:
    degrees = {
        "tp": "Tensor parallel degree; must divide the attention heads.",
        "pp": "Pipeline stages; must divide the layers unless `layers` lists them.",
        "dp": "Data-parallel replicas.",
        "ep": "Expert-parallel degree; must divide tp x dp and the experts.",
    }
    listed = {
        "type": "array",
        "minItems": 1,
        "items": {"type": "integer", "minimum": 1, "maximum": MOST_LAYERS},
        "description": "Layers of each stage, where stages differ; their sum is the model's.",
    }
    return _object(
        "How the model is split. World = tp x pp x dp; ep groups overlay tp x dp.",
        {**{name: _number(name, text) for name, text in degrees.items()}, STAGE_KEY: listed},
        (),
    )


def _cluster() -> Schema:
    return _object(
        "The machines.",
        {
            "gpu": _names("Kind of GPU.", catalog.device_names()),
            "scale_up": _names(
                "Fabric inside a node; without it the GPU's own.", catalog.fabric_names("scale_up")
            ),
            "scale_out": _names(
                "Fabric between nodes; without it the GPU's usual one.",
                catalog.fabric_names("scale_out"),
            ),
            "gpus_per_node": _number("gpus_per_node", "GPUs joined by the scale-up fabric."),
            "nics_per_node": _number(
                "nics_per_node",
                "NICs of a node, shared by neighbouring GPUs; must divide the GPUs of a node. "
                "Without it one a GPU.",
            ),
            "nic_bandwidth": {
                "type": "string",
                "pattern": r"^\s*[0-9.]+\s*[A-Za-z/]+\s*$",
                "description": "Nominal rate of a NIC per direction that replaces the scale-out "
                "fabric's, such as 400 Gb/s.",
            },
            "oversubscription": {
                "type": "number",
                "minimum": LEAST_OVERSUBSCRIPTION,
                "maximum": MOST_OVERSUBSCRIPTION,
                "description": "What the NICs below a leaf switch carry together over what its "
                "uplink does; 1 does not block.",
            },
            "pxn": {
                "type": "boolean",
                "description": "Only on rails: data goes over the scale-up fabric to the GPU on "
                "the receiver's rail before it leaves the node.",
            },
        },
        CLUSTER_REQUIRED,
    )


def _text() -> Schema:
    sentence = {"type": "string", "minLength": 1}
    names = ", ".join(f"{{{name}}}" for name in FIGURES)
    asked = "; ".join(f"{{if_{name}}}: {meaning}" for name, meaning in TEXT_CONDITIONS.items())
    return _object(
        f"A text in both languages; sizes and times are placeholders: {names}. Words behind a "
        "condition stand only where it holds, up to the end of the sentence, the next condition "
        f"or {{end}}; {{unless_...}} asks for the contrary. {asked}.",
        {"zh": sentence, "en": sentence},
        ("zh", "en"),
    )


def _step() -> Schema:
    return _object(
        "One of the eight steps.",
        {
            "id": {"type": "string", "pattern": _NAME, "description": "Unique in the file."},
            "phase": _words("Prefill steps come first.", PHASES),
            "title": _ref("text", "A few words."),
            "summary": _ref("text", "One line."),
            "detail": _ref("text", "What happens."),
            "network": _ref("text", "What it asks of the network."),
            "latency": _ref("text", "What its time is made of."),
            "takeaway": _ref("text", "The one sentence to remember; may be left out."),
            "notes": _ref(
                "text", "For whoever presents the step, a paragraph a line; may be left out."
            ),
            "idle": _ref("text", "Said where the split leaves the step nothing to do."),
            "operations": _list_of("operation_in_step"),
        },
        REQUIRED,
    )


def _operations() -> dict[str, Schema]:
    """Operations by what they may stand in."""
    outer = [part for part in COMPUTE_PARTS if part not in LAYER_PARTS]
    stages = _object(
        "Its operations for each selected pipeline stage, in order.",
        {
            "stages": _words("Which stages.", STAGE_SELECTORS),
            "operations": {"$ref": "#/$defs/stage_operations"},
        },
        ("stages", "operations"),
    )
    layers = _object(
        "Its operations once for each selected layer of the stage.",
        {
            "layers": _words("Which layers.", LAYER_SELECTORS),
            "operations": {"$ref": "#/$defs/layer_operations"},
        },
        ("layers", "operations"),
    )
    send = _object(
        "Point to point to the next stage.",
        {"send": _words("What travels.", SENT_PAYLOADS)},
        ("send",),
    )
    host = _object(
        "Something the host does.", {"host": _words("What it does.", HOST_ACTIONS)}, ("host",)
    )
    collectives = _collectives()
    return {
        "step": {"anyOf": [_compute(outer), host, stages, *collectives]},
        "stages": {"anyOf": [_compute(outer), send, layers, *collectives]},
        "layers": {"anyOf": [_compute(LAYER_PARTS), *collectives]},
    }


def _compute(parts: Sequence[str]) -> Schema:
    return _object("A part of the model.", {"compute": _words("Which part.", parts)}, ("compute",))


def _collectives() -> list[Schema]:
    """One form for each payload: it decides which collectives and groups fit."""
    return [
        _object(
            f"A collective that carries {payload}; it vanishes in groups of one rank.",
            {
                "collective": _words(
                    "NCCL's name in snake case.",
                    [c for c in GROUP_COLLECTIVES if c in FITTING[payload][0]],
                ),
                "group": _words(
                    "In every group of that name.", [g for g in GROUPS if g in FITTING[payload][1]]
                ),
                "payload": {"const": payload, "description": "What travels."},
                "when": _words(
                    "dispatched: only where experts are reached by all_to_all; not_dispatched: "
                    "only elsewhere.",
                    CONDITIONS,
                ),
            },
            ("collective", "group", "payload"),
        )
        for payload in PAYLOADS
    ]
