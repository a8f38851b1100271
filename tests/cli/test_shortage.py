"""Where a scenario does not fit: a warning on stderr with the smallest split that does."""

from __future__ import annotations

import json
from typing import Any

import pytest

TOO_LARGE = ("--model", "llama-3-70b", "--tp", "1", "--pp", "1")
SMALLEST = {"en": "The smallest split that fits: TP 2 × PP 1, 2 GPUs.",
            "zh": "放得下的最小切分：TP 2 × PP 1，共 2 张卡。"}  # fmt: skip


@pytest.mark.parametrize(
    "verb", [("estimate",), ("table",), ("play", "--print"), ("play", "--plain")]
)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_does_not_fit_is_warned_of(gpuflow: Any, verb: tuple[str, ...], language: str) -> None:
    done = gpuflow(*verb, *TOO_LARGE, "--lang", language)
    assert done.code == 0
    assert SMALLEST[language] in done.err
    assert done.out


def test_what_fits_is_not_warned_of(gpuflow: Any) -> None:
    assert gpuflow("estimate").err == ""


def test_programs_read_what_fits(gpuflow: Any) -> None:
    done = gpuflow("estimate", *TOO_LARGE, "--format", "json")
    found = json.loads(done.out)
    assert found["fits"] == {
        "fits": False,
        "max_batch": 0,
        "max_context_tokens": 0,
        "smallest_split": {"tp": 2, "pp": 1, "layers": None, "gpus": 2},
    }
    row = found["memory"][0]
    assert row["spare_bytes"] == pytest.approx(row["free_bytes"] - row["activations_bytes"])
    assert row["spare_bytes"] < 0


def test_stages_of_unequal_length_are_proposed_with_their_layers(gpuflow: Any) -> None:
    done = gpuflow("estimate", "--model", "deepseek-v3", "--gpu", "h100", "--tp", "8", "--pp", "1")
    assert "TP 8 × PP 2, 16 GPUs (--layers 31,30)" in done.err
    done = gpuflow("estimate", "--model", "deepseek-v3", "--gpu", "h100", "--tp", "8",
                   "--layers", "31,30", "--format", "json")  # fmt: skip
    assert done.err == ""
    assert json.loads(done.out)["inputs"]["layers"] == [31, 30]


@pytest.mark.parametrize("text", ["31,", "a,b", "0,61", "", "31;30"])
def test_a_list_of_layers_that_is_none(gpuflow: Any, text: str) -> None:
    done = gpuflow("estimate", "--model", "deepseek-v3", "--layers", text)
    assert done.code == 2
    assert "--layers" in done.err
