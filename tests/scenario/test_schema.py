from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from gpuflow.scenario.load import scenario_names, scenario_path
from gpuflow.scenario.schema import json_schema

DATA = Path(__file__).parent.parent / "data"
VALIDATOR = Draft202012Validator(json_schema())


def errors(path: Path) -> list[str]:
    data = yaml.safe_load(path.read_text("utf-8"))
    return [error.message for error in VALIDATOR.iter_errors(data)]


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize("name", scenario_names())
def test_shipped_scenarios_pass(name: str) -> None:
    assert errors(scenario_path(name)) == []


def test_the_small_example_passes() -> None:
    assert errors(DATA / "scenarios" / "small.yaml") == []


@pytest.mark.parametrize(
    "name",
    [
        "unknown-keys",
        "missing-keys",
        "wrong-types",
        "numbers",
        "seven-steps",
        "missing-language",
        "misplaced-operations",
        "collective-payload",
        "unknown-words",
        "bare-number",
        "top-list",
    ],
)
def test_files_of_broken_structure_fail(name: str) -> None:
    assert errors(DATA / "broken" / f"{name}.yaml") != []


def test_every_object_is_closed_and_every_property_described() -> None:
    def walk(schema: Any, path: str) -> None:
        if isinstance(schema, list):
            for number, item in enumerate(schema):
                walk(item, f"{path}/{number}")
        if not isinstance(schema, dict):
            return
        if schema.get("type") == "object":
            assert schema["additionalProperties"] is False, path
            assert schema["description"], path
        for name, inner in schema.items():
            walk(inner, f"{path}/{name}")

    walk(json_schema(), "")
    for name, property_schema in json_schema()["properties"].items():  # type: ignore[attr-defined]
        assert "description" in property_schema, name
