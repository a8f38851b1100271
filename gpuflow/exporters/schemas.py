"""JSON Schemas of the documents that `--format json` prints, from one short description a verb.

A description is a YAML file of `gpuflow/data/schemas`: `document` (or several `documents`, one of
which it is; none where it only tells problems), and `parts` that its types name. Types are written

    integer, number, text, flag, any    of JSON; flag is true or false
    a|b|c                               one of these words, or of these types
    phase                               a word list of shared.yaml
    =name                               an object described under `parts`, here or in shared.yaml
    [T], {T}                            a list of T; T by free names
    T?                                  T or null
    T -- text                           with a description

A key that ends with ? may be missing; `<` takes in the keys of another part; `*` is the type of
keys that are not named. Everything else that a document has and the description has not is an
error of the one or the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import yaml

Schema = dict[str, Any]

_SHARED = "shared"
_TYPES: Mapping[str, Schema] = {
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "text": {"type": "string"},
    "flag": {"type": "boolean"},
    "any": {},
}
_UNITS = (
    ("_bytes_per_s", "bytes per second"),
    ("_bytes", "bytes"),
    ("_flop_per_s", "FLOP per second"),
    ("_per_s", "per second"),
    ("_s", "seconds"),
)
"""What the end of a name says about its figure."""


@cache
def document_names() -> tuple[str, ...]:
    """Names of all documents, as they stand in `schema` between the slashes."""
    folder = resources.files("gpuflow.data") / "schemas"
    names = (item.name.removesuffix(".yaml") for item in folder.iterdir())
    return tuple(sorted(name for name in names if name != _SHARED))


@cache
def _described(name: str) -> Any:
    file = resources.files("gpuflow.data") / "schemas" / f"{name}.yaml"
    return yaml.safe_load(file.read_text("utf-8"))


def document_schema(name: str) -> Schema:
    """JSON Schema (draft 2020-12) of one verb's documents, of its problems too.

    Args:
        name: One of `document_names`.
    """
    found = _described(name)
    shared = _described(_SHARED)
    reader = _Reader(shared["words"], {**shared["parts"], **found.get("parts", {})})
    forms = found["documents"] if "documents" in found else {"result": found["document"]}
    mark = {"const": f"gpuflow/{name}/1"}
    documents = {f"document_{form}": reader.document(keys, mark) for form, keys in forms.items()}
    documents["document_problems"] = reader.document({"problems": "[=problem]"}, mark)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"gpuflow/{name}/1",
        "description": found["about"],
        "anyOf": [{"$ref": f"#/$defs/{form}"} for form in documents],
        "$defs": {**documents, **reader.used},
    }


@dataclass
class _Reader:
    """Turns descriptions into schemas, and keeps those of the parts that are named."""

    words: Mapping[str, str]
    parts: Mapping[str, Mapping[str, str]]
    used: dict[str, Schema] = field(default_factory=dict)

    def document(self, keys: Mapping[str, str], mark: Schema) -> Schema:
        """A whole document, which begins with its schema's name."""
        found = self.object(keys)
        return {
            **found,
            "properties": {"schema": mark, **found["properties"]},
            "required": ["schema", *found["required"]],
        }

    def object(self, keys: Mapping[str, str]) -> Schema:
        """An object of named keys."""
        properties: Schema = {}
        required: list[str] = []
        extra: Schema | bool = False
        for key, text in keys.items():
            name = key.removesuffix("?")
            if key == "<":
                taken = self.object(self.parts[text])
                properties |= taken["properties"]
                required += taken["required"]
            elif key == "*":
                extra = self.described("", text)
            else:
                properties[name] = self.described(name, text)
                required += [name] if name == key else []
        return {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": extra,
        }

    def described(self, name: str, text: str) -> Schema:
        """A type with its description, in which the unit stands that the name says."""
        kind, _, about = text.partition(" -- ")
        unit = next((unit for end, unit in _UNITS if name.endswith(end)), "")
        said = "; ".join(part for part in (about, unit and f"in {unit}") if part)
        schema = self.type(kind.strip())
        return {**schema, "description": said} if said else schema

    def type(self, text: str) -> Schema:
        """One type."""
        if text.endswith("?"):
            return _or_null(self.type(text[:-1]))
        if text.startswith("[") and _closes(text):
            return {"type": "array", "items": self.type(text[1:-1])}
        if text.startswith("{") and _closes(text):
            return {"type": "object", "additionalProperties": self.type(text[1:-1])}
        if text.startswith("="):
            return self._part(text[1:])
        if text in _TYPES:
            return dict(_TYPES[text])
        if text in self.words:
            return self.type(self.words[text])
        choices = text.split("|")
        if len(choices) > 1 and not all(one in _TYPES or one.startswith("[") for one in choices):
            return {"enum": choices}
        if len(choices) == 1:
            raise ValueError(f"no such type: {text}")
        return {"anyOf": [self.type(one) for one in choices]}

    def _part(self, name: str) -> Schema:
        if name not in self.used:
            self.used[name] = {}  # a part may name itself
            self.used[name] = self.object(self.parts[name])
        return {"$ref": f"#/$defs/{name}"}


def _closes(text: str) -> bool:
    """Whether the bracket that opens a type closes at its end."""
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign in "[{") - (sign in "]}")
        if not depth:
            return place == len(text) - 1
    return False


def _or_null(schema: Schema) -> Schema:
    if isinstance(schema.get("type"), str):
        return {**schema, "type": [schema["type"], "null"]}
    if "enum" in schema:
        return {"enum": [*schema["enum"], None]}
    return {"anyOf": [schema, {"type": "null"}]}
