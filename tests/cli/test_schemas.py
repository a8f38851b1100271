"""Every verb's JSON is what `gpuflow schema VERB` says, no key more and none less.

Beside these commands, the fixture `gpuflow` holds every document to its schema that any test of
the command line prints: those of accuracy, probe and the imports with real files among them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator, ValidationError

from gpuflow.cli.app import VERBS
from gpuflow.cli.import_ import IMPORTS
from gpuflow.cluster.box import Bound
from gpuflow.engine.timeline import FoldKind, SpanKind, TimeSource
from gpuflow.exporters.schemas import document_names, document_schema
from gpuflow.scenario.spec import Collective, Phase, TrafficClass

DATA = Path(__file__).parents[1] / "data"
SILENT = {"record", "schema", "serve", "import"}
"""They print no document of their own, only problems."""

COMMANDS: tuple[tuple[str, ...], ...] = (
    ("play",),
    ("tour", "--tp", "8", "--pp", "1"),
    ("notes",),
    ("estimate", "moe-ep4"),
    ("estimate", "--explain", "--output", "1", "--ttft", "100ms"),
    ("estimate", "--profile", "ideal", "--tp", "1", "--pp", "1"),
    ("table", "--rate", "2", "--tpot", "10ms"),
    ("table", "moe-ep4"),
    ("card",),
    ("card", "moe-ep4", "--output", "1"),
    ("compare", "gpu=h100", "gpu=mi300x,tp=4,pp=1"),
    ("sweep", "--tp", "1,2", "--pp", "1,2", "--all"),
    ("collective", "all_reduce", "--gpu", "h100", "--ranks", "8", "--sizes", "1KiB..1MiB"),
    ("collective", "all_reduce", "--ranks", "4", "--sizes", "64", "--algorithm", "ring", "--trace"),
    ("collective", "send_recv", "--ranks", "2"),
    ("list",),
    ("show", "model", "deepseek-v3"),
    ("show", "model", "nemotron-h-56b"),
    ("show", "gpu", "h100"),
    ("show", "fabric", "pcie-5-bridge"),
    ("show", "fabric", "ib-ndr"),
    ("show", "profile", "vllm"),
    ("show", "scenario", "moe-ep4"),
    ("validate", str(DATA / "none.yaml")),
    ("new",),
    ("doctor",),
    ("export", "--to", "json"),
    ("export", "moe-ep4", "--step", "2", "--to", "json"),
    ("estimate", "--tp", "3"),
    ("import", "nccl", str(DATA / "none.log")),
    ("import", "none"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_what_is_printed_is_what_the_schema_says(command: tuple[str, ...], gpuflow: Any) -> None:
    asked = () if command[0] == "export" else ("--format", "json")
    text = gpuflow(*command, *asked, "--lang", "en").out
    document = json.loads(text)
    name = document["schema"].split("/")[1]
    assert name.split("-")[0] == command[0]
    validator = Draft202012Validator(document_schema(name))
    validator.validate(document)
    with pytest.raises(ValidationError):
        validator.validate({**document, "one_more": 1})
    for key in document:
        less = {name: value for name, value in document.items() if name != key}
        if key in {"schema", "inputs", "problems"} and command[0] != "validate":
            with pytest.raises(ValidationError):
                validator.validate(less)


def test_every_verb_has_a_schema(gpuflow: Any) -> None:
    wanted = {*VERBS, "import", *(f"import-{kind}" for kind in IMPORTS)}
    assert set(document_names()) == wanted
    for name in document_names():
        printed = json.loads(gpuflow("schema", name).out)
        Draft202012Validator.check_schema(printed)
        assert printed == document_schema(name)
        assert printed["title"] == f"gpuflow/{name}/1"
        assert (len(printed["anyOf"]) == 1) == (name in SILENT)
        for form in printed["anyOf"]:
            document = printed["$defs"][form["$ref"].rpartition("/")[2]]
            assert document["additionalProperties"] is False


def test_without_a_verb_it_is_the_schema_of_scenarios(gpuflow: Any) -> None:
    assert json.loads(gpuflow("schema").out)["title"] == "gpuflow scenario/1"
    result = gpuflow("schema", "estimat", "--lang", "en")
    assert result.code == 2
    assert "did you mean `estimate`" in result.err


def test_words_are_those_of_the_engine() -> None:
    spans = document_schema("export")["$defs"]["span"]["properties"]

    def words(key: str) -> set[str]:
        return set(spans[key]["enum"]) - {None}

    assert words("phase") == set(get_args(Phase))
    assert words("class") == set(get_args(TrafficClass))
    assert words("time_source") == set(get_args(TimeSource))
    assert words("kind") == set(get_args(SpanKind))
    assert words("fold") == set(get_args(FoldKind))
    assert words("collective") == set(get_args(Collective))
    box = document_schema("table")["$defs"]["topology"]["properties"]
    assert set(box["bound"]["enum"]) == set(get_args(Bound))


def test_units_stand_in_the_descriptions() -> None:
    figures = document_schema("estimate")["$defs"]["memory"]["properties"]
    assert figures["kv_bytes"]["description"] == "once the whole answer is there; in bytes"
    assert figures["weights_bytes"]["description"] == "in bytes"
