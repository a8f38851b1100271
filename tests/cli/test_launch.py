"""Launch lines as they are found in the engines' documents, read on the command line."""

from __future__ import annotations

import io
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuflow.cells import cell_width
from gpuflow.cli.options import launch_line

FOLDER = Path(__file__).parents[1] / "data" / "launch"
FILES = sorted(FOLDER.glob("*.txt"))


def expected(file: Path) -> dict[str, Any]:
    """What a file says about itself, in lines that begin with `#:`."""
    lines = [line[3:] for line in file.read_text("utf-8").splitlines() if line.startswith("#: ")]
    found: dict[str, Any] = yaml.safe_load("\n".join(lines))
    return found


@pytest.fixture(params=FILES, ids=lambda file: file.stem)
def sample(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, dict[str, Any]]:
    """The path of a launch line, and its reading."""
    file: Path = request.param
    wanted = expected(file)
    if "form" not in wanted:
        return str(file), wanted
    copy = tmp_path / wanted["form"]
    shutil.copyfile(file, copy)
    return str(copy), wanted


def source_of(file: Path) -> str:
    """The document that a line stands in, as the file's first line says."""
    first = file.read_text("utf-8").splitlines()[0]
    assert first.startswith("# From: ")
    return first.removeprefix("# From: ")


DOCUMENTED = [file for file in FILES if not source_of(file).startswith("written for this test")]


def test_more_than_twenty_lines_of_three_engines_stand_in_their_documents() -> None:
    engines = [expected(file)["engine"] for file in DOCUMENTED]
    assert len(DOCUMENTED) >= 20
    assert all(engines.count(name) >= 5 for name in ("vllm", "sglang", "trtllm"))
    projects = ("vLLM, docs/", "vLLM recipes, ", "SGLang, ", "TensorRT-LLM, ")
    assert all(source_of(file).startswith(projects) for file in DOCUMENTED)


@pytest.mark.parametrize(
    "form",
    [
        r"(?m)^ *--[\w-]+ \d",
        r" -[a-z]{1,3} \w",
        r"--[\w-]+=\S",
        r"docker run",
        r"python3? -m ",
        r"--(config|extra_llm_api_options) ",
        r"(?m)^services:",
        r"(?m)^kind: ",
        r"srun|mpirun",
    ],
)
def test_they_have_every_form_that_a_line_can_have(form: str) -> None:
    texts = [file.read_text("utf-8") for file in DOCUMENTED]
    assert any(re.search(form, text) for text in texts)


def test_a_line_gives_the_right_split_precision_context_and_memory(
    sample: tuple[str, dict[str, Any]], gpuflow: Any
) -> None:
    path, wanted = sample
    result = gpuflow("card", "--launch", path, "--gpu", wanted["gpu"], "--format", "json")
    assert result.code == 0, result.out
    found = result.json
    inputs, launch = found["inputs"], found["launch"]
    assert launch["engine"] == inputs["profile"] == wanted["engine"]
    assert inputs["model"] == wanted["model"]
    assert {key: inputs[key] for key in wanted["split"]} == wanted["split"]
    assert inputs["layers"] == wanted.get("layers")
    assert inputs["precision"] == wanted["precision"]
    assert inputs["chunk"] == wanted.get("chunk")
    assert inputs["overlap"] == wanted.get("overlap", False)
    assert launch["memory_fraction"] == wanted["memory_fraction"]
    assert launch["context_limit"] == wanted.get("context_limit")
    assert launch["max_sequences"] == wanted.get("max_sequences")
    assert launch["kv_bits"] == wanted.get("kv_bits")
    assert launch["unknown"] == wanted["unknown"]
    left_out = sorted(note["id"] for note in launch["not_modelled"])
    assert left_out == sorted(wanted.get("not_modelled", []))
    if "ep_backend" in wanted:
        assert launch["ep_backend"] == wanted["ep_backend"]
    if "assumed" in wanted:
        assert [note["id"] for note in launch["assumed"]] == wanted["assumed"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_its_card_fits_a_screen_and_pastes_as_plain_text(
    sample: tuple[str, dict[str, Any]], language: str, gpuflow: Any
) -> None:
    path, wanted = sample
    options = ("--gpu", wanted["gpu"], "--batch", "16", "--prompt", "1024", "--lang", language)
    result = gpuflow("card", "--launch", path, *options, width=120)
    assert result.code == 0
    lines = result.out.removesuffix("\n").split("\n")
    assert len(lines) <= 24
    assert max(map(cell_width, lines)) <= 80
    assert "\x1b" not in result.out
    assert [line for line in lines if line.rstrip() != line] == []
    text = result.out + result.err
    assert all(flag in text for flag in wanted["unknown"])
    assert re.search(r"^TTFT .*\n(.*\n)+TPOT ", result.out, re.M)


@pytest.mark.parametrize(
    "file", [file for file in FILES if "secrets" in expected(file)], ids=lambda file: file.stem
)
def test_no_secret_is_printed(file: Path, gpuflow: Any) -> None:
    wanted = expected(file)
    for options in (("card",), ("estimate",), ("estimate", "--format", "json"), ("table",)):
        result = gpuflow(*options, "--launch", str(file), "--gpu", wanted["gpu"])
        assert result.code == 0
        assert [word for word in wanted["secrets"] if word in result.out + result.err] == []


LINE = "vllm serve Qwen/Qwen3-32B -tp 4 --max-model-len 32k --frobnicate"


@pytest.mark.parametrize("verb", [("table",), ("estimate",), ("play", "--plain")])
def test_a_line_is_taken_wherever_a_scenario_is(verb: tuple[str, ...], gpuflow: Any) -> None:
    result = gpuflow(*verb, "--launch", LINE)
    assert result.code == 0
    assert "Qwen3-32B" in result.out
    assert "vLLM: understood -tp 4, --max-model-len 32k, MODEL Qwen/Qwen3-32B\n" in result.err
    assert "vLLM: assumed: H100 SXM, as --gpu does not say; " in result.err
    assert result.err.endswith("vLLM: not understood: --frobnicate\n")


def test_a_line_comes_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(LINE))
    assert launch_line("-").tp == 4


def test_other_options_overrule_the_line(gpuflow: Any) -> None:
    options = ("--tp", "2", "--gpu", "b200", "--model", "qwen3-8b", "--profile", "ideal")
    found = gpuflow("estimate", "--launch", LINE, *options, "--format", "json").json
    inputs = found["inputs"]
    assert (inputs["tp"], inputs["gpu"], inputs["model"]) == (2, "b200-sxm", "qwen3-8b")
    assert inputs["profile"] == "ideal"
    assert [note["id"] for note in found["launch"]["assumed"]] == ["workload", "memory_fraction"]


def test_ep_follows_an_overruled_split(gpuflow: Any) -> None:
    line = "vllm serve Qwen/Qwen3-30B-A3B -tp 2 -dp 4 --enable-expert-parallel"
    found = gpuflow("estimate", "--launch", line, "--dp", "2", "--format", "json").json
    assert found["inputs"]["ep"] == 4


def test_validate_names_unknown_flags_and_what_does_not_divide(gpuflow: Any) -> None:
    line = "vllm serve llama-3-8b --tensor-paralel-size 8 -tp 3"
    result = gpuflow("validate", "--launch", line)
    assert result.code == 2
    assert "--tensor-paralel-size: vLLM has no such flag" in result.err
    assert "did you mean `--tensor-parallel-size`?" in result.err
    assert "--tp: tp 3 does not divide the 32 attention heads" in result.err
    fine = gpuflow("validate", "--launch", "vllm serve llama-3-8b -tp 8")
    assert (fine.code, fine.err) == (0, "1 checked, no problem\n")
    assert gpuflow("validate").code == 2


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("vllm bench latency --model llama-3-8b", "launch_no_engine"),
        ("no-such-file.sh", "file_missing"),
        ("vllm serve --tp 8", "launch_no_model"),
        ("vllm serve nobody/never-heard-of-it", "launch_model"),
        ("vllm serve llama-3-8b -tp", "launch_needs_value"),
        ("vllm serve llama-3-8b -tp eight", "launch_whole"),
        ("vllm serve llama-3-8b -tp $TP", "launch_variable"),
        ("vllm serve llama-3-8b -tp $(nproc)", "launch_variable"),
        ("vllm serve llama-3-8b --gpu-memory-utilization 1.5", "launch_share"),
        ("vllm serve 'llama-3-8b", "launch_quote"),
        (
            "python -m sglang.launch_server --model x --tp 8 --dp 3 --enable-dp-attention",
            "launch_attention_dp",
        ),
        ("trtllm-serve disaggregated -c config.yaml", "launch_other_server"),
        ("vllm serve llama-3-8b " + "-x " * 90_000, "launch_too_long"),
        ("vllm serve llama-3-8b " + "-x " * 30_000, "launch_too_long"),
        ("A=abcd\n" + "A=$A$A$A$A\n" * 20 + "vllm serve $A", "launch_too_long"),
        ("A=(a b)\n" + "A+=(${A[@]})\n" * 40 + "vllm serve ${A[@]}", "launch_too_long"),
        ("".join(f"A{i}=a\n" for i in range(1000)) + "vllm serve a", "launch_too_long"),
        ('vllm serve "$MODEL" -tp 8', "launch_variable"),
    ],
)
def test_a_line_that_cannot_be_used_says_why(line: str, code: str, gpuflow: Any) -> None:
    for language in ("en", "zh"):
        result = gpuflow("estimate", "--launch", line, "--format", "json", "--lang", language)
        assert result.code == 2
        assert [problem["code"] for problem in result.json["problems"]] == [code]


def test_what_stands_in_a_line_cannot_steer_the_terminal(gpuflow: Any) -> None:
    line = "vllm serve llama-3-8b --\x1b[31mred --served-model-name \x1b]0;x\x07"
    result = gpuflow("card", "--launch", line)
    assert result.code == 0
    assert "\x1b" not in result.out + result.err
    assert "--␛[31mred" in result.out + result.err


def test_a_file_of_many_foreign_keys_is_not_listed_whole(gpuflow: Any, tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text("model: llama-3-8b\n" + "".join(f"strange-{i}: 1\n" for i in range(40)))
    done = gpuflow("estimate", "--launch", str(file))
    assert done.code == 0
    assert "strange-11, … (+28)" in done.err
    assert "strange-12" not in done.err
