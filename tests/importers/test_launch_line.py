"""Shell texts, flags, values and models of launch lines."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuflow.errors import InputError
from gpuflow.importers.launch.commands import servers
from gpuflow.importers.launch.engines import ENGINES, engine
from gpuflow.importers.launch.flags import read_flags
from gpuflow.importers.launch.models import find_model
from gpuflow.importers.launch.script import read_script
from gpuflow.importers.launch.values import amount, cache_bits_of, precision_of
from gpuflow.importers.launch_line import read_launch
from gpuflow.scenario.source import source_of


def words(text: str) -> list[tuple[str, ...]]:
    return [command.words for command in read_script(source_of("", text)).commands]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a \\\n  --b 1 # c\n", [("a", "--b", "1")]),
        ("a \\ \n --b", [("a", "--b")]),
        (r"a --x 1 \ --b 2", [("a", "--x", "1", "--b", "2")]),
        ("a '#no' b#c # yes", [("a", "#no", "b#c")]),
        ("X=1; Y=$X$Z; a $Y ${Y} ${W:-9} '$X'", [("a", "1$Z", "1$Z", "9", "1")]),
        ("export M=m\na $M", [("a", "m")]),
        ("E='--tp 8 --dp 2'\na $E", [("a", "--tp", "8", "--dp", "2")]),
        ('A=(--tp 8)\nA+=(--x "1 2")\na "${A[@]}" z', [("a", "--tp", "8", "--x", "1 2", "z")]),
        ("a $(hostname -I | cut -d' ' -f1):5000 `b c` d", [("a", "$?:5000", "$?", "d")]),
        ("a > log 2>&1 &\nb | tee c && d; e", [("a",), ("b",), ("tee", "c"), ("d",), ("e",)]),
        ("""a '{"m": [1, 2], "n": "x;y"}' b""", [("a", '{"m": [1, 2], "n": "x;y"}', "b")]),
        ("a 'b\nc' d", [("a", "b\nc", "d")]),
        ("$ a b", [("a", "b")]),
        ("$ a \\\n$   --b 1", [("a", "--b", "1")]),
        ("a --b 1 \\  # of all\n --c  # end\nd", [("a", "--b", "1", "--c"), ("d",)]),
        ("a '\\ #' b", [("a", "\\ #", "b")]),
        ("a --b 1\n  --c\nd", [("a", "--b", "1", "--c"), ("d",)]),
        ("a --b <HEAD_NODE_IP> -c=<X>:8 > f", [("a", "--b", "<HEAD_NODE_IP>", "-c=<X>:8")]),
        ("", []),
    ],
)
def test_a_text_is_read_as_a_shell_would(text: str, found: list[tuple[str, ...]]) -> None:
    assert words(text) == found


def test_files_that_a_script_writes_are_kept_and_nothing_is_run(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    text = (
        f"touch {marker}\n"
        "cat > ./a.yml <<'EOF'\nx: 1\n  y: $Z\nEOF\n"
        "tee b.yml <<-END\n\tz: 2\n\tEND\n"
        'echo -e "p: 1\\nq: 2" > c.yml\n'
        "F=d.yml N=3\ncat <<EOF > ${F}\nn: ${N}\nm: $M\nEOF\n"
    )
    script = read_script(source_of("", text))
    assert script.documents == {
        "a.yml": "x: 1\n  y: $Z\n",
        "b.yml": "z: 2\n",
        "c.yml": "p: 1\nq: 2\n",
        "d.yml": "n: 3\nm: $M\n",
    }
    assert not marker.exists()


@pytest.mark.parametrize(
    ("line", "name", "rest"),
    [
        ("vllm serve m -tp 8", "vllm", ("m", "-tp", "8")),
        (".venv/bin/vllm serve m", "vllm", ("m",)),
        ("python3 -m vllm.entrypoints.openai.api_server --model m", "vllm", ("--model", "m")),
        ("python -m vllm.entrypoints.cli.main serve m", "vllm", ("m",)),
        ("docker run -it vllm/vllm-openai:v0.11.0 --model m", "vllm", ("--model", "m")),
        ("sudo podman run reg.io/vllm/vllm-openai@sha256:0 m", "vllm", ("m",)),
        ("torchrun --nproc_per_node 8 -m sglang.launch_server --tp 8", "sglang", ("--tp", "8")),
        ("python -m sglang_router.launch_server --dp-size 4", "sglang", ("--dp-size", "4")),
        ("uv run sglang serve m", "sglang", ("m",)),
        ("mpirun -n 16 trtllm-llmapi-launch trtllm-serve m", "trtllm", ("m",)),
        ("srun bash -lc 'cd /x && exec trtllm-serve serve m'", "trtllm", ("m",)),
        ("if true; then CUDA_VISIBLE_DEVICES=0 vllm serve m; fi", "vllm", ("m",)),
        ("docker run vllm/vllm-openai bash -c 'vllm serve m'", "vllm", ("m",)),
    ],
)
def test_an_engine_is_found_behind_whatever_starts_it(
    line: str, name: str, rest: tuple[str, ...]
) -> None:
    (found,) = servers(read_script(source_of("", line)))
    assert (found.engine, found.words) == (name, rest)


@pytest.mark.parametrize(
    ("line", "gpu"),
    [
        ("docker run rocm/vllm:latest vllm serve m", "mi300x"),
        ("docker run lmsysorg/sglang:v0.5.8-rocm700-mi30x sglang serve m", "mi300x"),
        ("HIP_VISIBLE_DEVICES=0 vllm serve m", "mi300x"),
        ("python -m sglang.launch_server --model m --device npu", "ascend-910b"),
        ("vllm serve m", ""),
    ],
)
def test_images_and_devices_imply_a_gpu(line: str, gpu: str) -> None:
    assert read_launch(line).gpu == gpu


@pytest.mark.parametrize(
    ("name", "line", "given", "unknown"),
    [
        ("vllm", "-tp 8", [("-tp", "8")], []),
        ("vllm", "-tp=8 -n2", [("-tp", "8"), ("-n", "2")], []),
        ("vllm", "-tp8", [], ["-tp8"]),
        ("vllm", "--tensor_parallel_size=8", [("--tensor-parallel-size", "8")], []),
        ("vllm", "--tensor-par 8", [("--tensor-parallel-size", "8")], []),
        ("vllm", "--max-num 8", [], ["--max-num"]),
        ("vllm", "-O3 -O 2", [("-O", "3"), ("-O", "2")], []),
        ("vllm", "--speculative-config.method mtp", [("--speculative-config", "method")], []),
        ("vllm", "--no-enable-prefix-caching", [("--enable-prefix-caching", "off")], []),
        ("vllm", "--enable-chunked-prefill False", [("--enable-chunked-prefill", "off")], []),
        ("vllm", "--api-key abc --seed -1", [("--api-key", ""), ("--seed", "-1")], []),
        ("sglang", "--tp 8 --dp 2", [("--tp-size", "8"), ("--dp-size", "2")], []),
        ("sglang", "--ep 8", [("--ep", "8")], []),
        ("sglang", "--pp 2", [], ["--pp"]),
        ("sglang", "--tp_size 8", [], ["--tp_size"]),
        (
            "sglang",
            "--cuda-graph-bs 1 2 4 --tp-size 8",
            [("--cuda-graph-bs", "1"), ("--tp-size", "8")],
            [],
        ),
        ("trtllm", "--tp_size 8 --pp_size=2", [("--tp_size", "8"), ("--pp_size", "2")], []),
        ("trtllm", "--tp_siz 8 --tp-size 4", [], ["--tp_siz", "--tp-size"]),
    ],
)
def test_flags_are_taken_as_the_engine_takes_them(
    name: Any, line: str, given: list[tuple[str, str]], unknown: list[str]
) -> None:
    flags = read_flags(line.split(), engine(name))
    found = [(flag.name, flag.value if flag.is_on else "off") for flag in flags.given]
    assert [(name, value.partition(".")[0]) for name, value in found] == given
    assert flags.unknown == unknown


@pytest.mark.parametrize("name", ENGINES)
def test_every_flag_that_means_something_is_in_the_table(name: Any) -> None:
    table = engine(name)
    assert {*table.means, *table.changes, *table.secrets} <= set(table.arity)
    assert not set(table.means) & set(table.changes)


def test_amounts_are_read_as_vllm_reads_them() -> None:
    read = [amount("--x", text) for text in ("8192", "32k", "32K", "25.6k", "auto", "-1")]
    assert read == [8192, 32_000, 32_768, 25_600, None, None]


@pytest.mark.parametrize(
    ("word", "precision"),
    [
        ("fp8", "fp8"),
        ("modelopt_fp4", "fp4"),
        ("modelopt", None),
        ("compressed-tensors", None),
        ("awq_marlin", "int4"),
        ("experts_int8", "int8"),
        ("w8a8_fp8", "fp8"),
        ("Qwen3-32B-AWQ", "int4"),
        ("DeepSeek-R1-0528-FP4", "fp4"),
        ("Llama-3.3-70B-Instruct-quantized.w8a8", "int8"),
        ("gpt-oss-120b", None),
        ("half", "fp16"),
    ],
)
def test_precisions_are_recognised_in_words_and_names(word: str, precision: str | None) -> None:
    assert precision_of(word) == precision


def test_cache_types_are_bits() -> None:
    words = ("auto", "fp8", "fp8_e5m2", "bfloat16", "nvfp4")
    assert [cache_bits_of(word) for word in words] == [None, 8, 8, 16, 4]


@pytest.mark.parametrize(
    ("written", "name", "precision"),
    [
        ("llama-3-8b", "llama-3-8b", None),
        ("meta-llama/Llama-3.3-70B-Instruct", "llama-3-70b", None),
        ("meta-llama/Meta-Llama-3.1-405B-Instruct-FP8", "llama-3.1-405b", "fp8"),
        ("Qwen/Qwen3-235B-A22B-Instruct-2507-FP8", "qwen3-235b-a22b", "fp8"),
        ("nvidia/DeepSeek-R1-0528-FP4", "deepseek-v3", "fp4"),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-70B", "llama-3-70b", None),
        ("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16", "llama-3-8b", "int4"),
        ("/data/models/Mixtral-8x7B-Instruct-v0.1/", "mixtral-8x7b", None),
        ("~/hub/models--openai--gpt-oss-120b/snapshots/0a1b", "gpt-oss-120b", None),
        ("RedHatAI/Llama-4-Scout-17B-16E-Instruct-FP8-dynamic", "llama-4-scout", "fp8"),
        ("~nobody-of-that-name/models/gpt-oss-120b", "gpt-oss-120b", None),
    ],
)
def test_models_are_found_by_the_names_of_their_checkpoints(
    written: str, name: str, precision: str | None
) -> None:
    found = find_model(written, Path())
    assert (found.name, found.precision) == (name, precision)


@pytest.mark.parametrize(
    "written",
    ["deepseek-ai/DeepSeek-V3.2", "deepseek-ai/DeepSeek-V9", "Qwen/Qwen3", "gpt-2", "x/y"],
)
def test_a_model_is_never_taken_for_another_one(written: str) -> None:
    with pytest.raises(InputError):
        find_model(written, Path())


def test_a_folder_at_hand_is_the_model(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.json").write_text("{}")
    assert find_model("mine", tmp_path).name == str(tmp_path / "mine")
    script = tmp_path / "run.sh"
    script.write_text("vllm serve ./mine -tp 2\n")
    launch = read_launch(str(script))
    assert find_model(launch.model, Path(launch.folder)).name == str(tmp_path / "mine")


@pytest.mark.parametrize(
    ("text", "name", "tp"),
    [
        (
            "model: Qwen/Qwen3-8B\ntensor-parallel-size: 2\nenable-expert-parallel: true\n",
            "vllm",
            2,
        ),
        ("model-path: Qwen/Qwen3-8B\ntp-size: 4\nmem-fraction-static: 0.8\n", "sglang", 4),
        (
            "tensor_parallel_size: 8\nkv_cache_config: {dtype: fp8}\nenable_attention_dp: false\n",
            "trtllm",
            8,
        ),
    ],
)
def test_a_yaml_file_is_of_the_engine_whose_keys_it_has(
    text: str, name: str, tp: int, tmp_path: Path
) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(text)
    launch = read_launch(str(file))
    assert (launch.engine, launch.tp, launch.unknown) == (name, tp, ())


def test_the_environment_of_a_kubernetes_manifest_counts(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(
        "kind: Pod\nspec:\n  containers:\n  - image: vllm/vllm-openai:latest\n"
        "    env:\n    - {name: VLLM_ALL2ALL_BACKEND, value: deepep_low_latency}\n"
        "    command: [/bin/sh, -c]\n"
        "    args: ['vllm serve deepseek-ai/DeepSeek-V3 -dp ${DP:-8} -ep']\n"
    )
    launch = read_launch(str(file))
    assert (launch.dp, launch.experts_over_all, launch.exchange) == (8, True, "deepep_low_latency")


def test_the_line_overrules_the_file_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("tensor-parallel-size: 2\nmax-num-seqs: 7\n")
    (tmp_path / "t.yaml").write_text("tensor_parallel_size: 2\n")
    (tmp_path / "run.sh").write_text("vllm serve m -tp 8 --config c.yaml\n")
    (tmp_path / "trt.sh").write_text("trtllm-serve m --tp_size 8 --config t.yaml\n")
    vllm, trtllm = (read_launch(str(tmp_path / name)) for name in ("run.sh", "trt.sh"))
    assert (vllm.tp, vllm.max_sequences) == (8, 7)
    assert trtllm.tp == 8
    assert [note.code for note in trtllm.assumed] == ["file_overruled"]


def test_a_broken_settings_file_does_not_show_a_secret(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("model: m\napi-key: sk-secret: x\n")
    (tmp_path / "run.sh").write_text("vllm serve --config c.yaml\n")
    with pytest.raises(InputError) as caught:
        read_launch(str(tmp_path / "run.sh"))
    assert "sk-secret" not in repr(caught.value.problems)


FRAGMENTS = st.sampled_from(
    [
        *"'\"\\\n#);`}",
        "vllm serve ",
        "m ",
        "-tp ",
        "8 ",
        "$(",
        "${A",
        "<<E\n",
        "E\n",
        "A=(",
        "&&",
        "> f",
        "--config x ",
        "sglang serve ",
        "trtllm-serve ",
        "-x=",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(FRAGMENTS | st.text(max_size=4), max_size=12).map("".join))
def test_whatever_the_text_only_problems_are_raised(text: str) -> None:
    with suppress(InputError):
        read_launch(f"{text} ")
