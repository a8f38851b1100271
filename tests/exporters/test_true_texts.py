"""What the steps say stays true when options change the split, the model or the workload."""

from __future__ import annotations

import re

import pytest

from gpuflow.draw.scene import step_texts
from gpuflow.engine.composition import composed
from gpuflow.engine.facts import facts
from gpuflow.engine.moment import Moments
from gpuflow.engine.pace import Pace
from gpuflow.engine.simulate import simulate
from gpuflow.exporters.plain import steps_text
from gpuflow.scenario.load import Overrides, load_scenario
from gpuflow.scenario.spec import Language
from gpuflow.units import format_quantity

ONE_GPU = Overrides(tp=1, pp=1)
DENSE = Overrides(model="llama-3-8b", ep=1)
IN_TP_GROUP = Overrides(tp=4, dp=1, ep=4)
ACROSS_NODES = Overrides(tp=16, pp=4, model="llama-3-70b")
LANGUAGES: tuple[Language, ...] = ("en", "zh")


def told(
    overrides: Overrides, language: Language = "en", name: str = "tp2-pp2", step: int = 0
) -> str:
    """The plain text of all steps, or of one; what is to be remembered is a part of it."""
    text = steps_text(simulate(load_scenario(name, overrides)), language, None)
    return text.split("\n\n")[step] if step else text


@pytest.mark.parametrize("word", ["all_reduce", "Tensor parallelism", "column split", "TP groups"])
def test_a_pipeline_without_tensor_parallelism_does_not_speak_of_it(word: str) -> None:
    assert word in told(Overrides())
    assert word not in told(Overrides(tp=1, pp=4))


def test_the_hops_of_a_pipeline_are_not_called_the_demand_of_stage_1() -> None:
    step = told(Overrides(tp=1, pp=4), step=4)
    assert "as in stage 1" not in step
    assert "2 messages of 4 MiB" in step
    assert "as in stage 1" in told(Overrides(), step=4)


def test_pipeline_only_in_chinese() -> None:
    text = told(Overrides(tp=1, pp=4), "zh")
    for word in ("AllReduce", "列切", "TP 组", "TP 的通信"):
        assert word not in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_one_gpu_sends_nothing(language: Language) -> None:
    text = told(ONE_GPU, language)
    for word in ("roadcast", "ather", "several GPUs", "TP pays", "Such amounts", "广播", "多 GPU"):
        assert word not in text, word


@pytest.mark.parametrize("name", ["tp2-pp2", "moe-ep4"])
def test_decode_has_a_reason_of_its_own_when_it_does_not_run(name: str) -> None:
    for step in (7, 8) if name == "moe-ep4" else (6, 7, 8):
        assert "One output token only" in told(Overrides(output=1), name=name, step=step)
        assert "只输出一个 Token" in told(Overrides(output=1), "zh", name=name, step=step)
    assert "One stage only" not in told(Overrides(output=1), name=name)


def test_large_messages_are_not_called_small() -> None:
    large = Overrides(tp=8, pp=1, batch=128)
    for step in (5, 8):
        assert "31.3 MiB" in told(large, step=step)
        assert "ask nothing of bandwidth" not in told(large, step=step)
        assert "not of bandwidth" not in told(large, step=step)
        assert "takes bandwidth" in told(large, step=step)
    assert "small batch" not in told(large)
    assert "Such amounts ask nothing" in told(Overrides(), step=5)


@pytest.mark.parametrize("name", ["tp2-pp2", "moe-ep4"])
def test_time_on_the_host_is_told_where_it_counts(name: str) -> None:
    engine, ideal = Overrides(profile="vllm"), Overrides(profile="ideal")
    assert "counts no host time" not in told(engine, name=name)
    assert "leaves it out" not in told(engine, name=name)
    assert "host 672 µs." in told(engine, name=name, step=1)
    assert "主机 672 µs。" in told(engine, "zh", name=name, step=1)
    assert "host 0" not in told(ideal, name=name)
    assert re.search("counts no host time|leaves it out", told(ideal, name=name, step=1))


@pytest.mark.parametrize(
    "word", ["its own experts", "two all_to_alls", "experts of a GPU", "Combine"]
)
def test_a_model_without_experts_has_none_in_its_texts(word: str) -> None:
    assert word in told(Overrides(), name="moe-ep4")
    assert word not in told(DENSE, name="moe-ep4")


def test_experts_that_every_gpu_has_need_no_all_to_all() -> None:
    assert "all_to_all" not in told(Overrides(ep=1), name="moe-ep4")
    assert "All-to-All" not in told(Overrides(ep=1), "zh", name="moe-ep4")


def test_attention_of_a_tensor_parallel_group_has_traffic() -> None:
    step = told(IN_TP_GROUP, name="moe-ep4", step=2)
    assert "no all_reduce" not in step
    assert "no traffic" not in step
    assert "an all_reduce adds them up" in step


def test_the_first_layer_of_deepseek_is_dense() -> None:
    v3 = Overrides(model="deepseek-v3", gpu="h200", dp=16, ep=16)
    assert "第一层是稠密层" in told(v3, "zh", name="moe-ep4", step=3)
    assert "two all_to_alls" in told(v3, name="moe-ep4", step=5)
    assert "router" not in told(v3, name="moe-ep4", step=2)


def test_groups_across_nodes_are_told_so() -> None:
    step = told(ACROSS_NODES, step=4)
    assert "cross nodes and pass over InfiniBand NDR" in step
    assert "NVLink" not in step
    assert "every GPU of a replica" in told(Overrides(dp=2), step=1)
    assert "to every GPU\n" not in told(Overrides(dp=2), step=1)


@pytest.mark.parametrize("overrides", [Overrides(), Overrides(dp=2), ACROSS_NODES])
def test_text_and_metric_name_one_size_of_the_cache(overrides: Overrides) -> None:
    timeline = simulate(load_scenario("tp2-pp2", overrides))
    moments = Moments(Pace(timeline))
    metric = moments.at(moments.pace.step_end(4)).known.kv_bytes
    said = facts(timeline, 3)["kv_after_prefill"]
    assert said.value == pytest.approx(metric)
    assert format_quantity(said) in steps_text(timeline, "en", None)


def test_copies_of_the_cache_are_told() -> None:
    assert "320 MiB, copies" in told(ACROSS_NODES, step=4)
    assert "copies" not in told(Overrides(), step=4)


def test_a_single_layer_is_one() -> None:
    text = told(Overrides(layers=(31, 1)))
    assert "layers 32" not in text
    first = told(Overrides(layers=(1, 31)))
    assert "layer 1\n" in first
    assert "layers 1 " not in first


def test_chinese_keeps_to_its_own_comma() -> None:
    assert "DP 4，EP 4；" in told(Overrides(), "zh", name="moe-ep4")


SPLITS = (
    Overrides(),
    ONE_GPU,
    Overrides(tp=1, pp=4, dp=1, ep=1),
    Overrides(dp=2, tp=4, ep=1),
    Overrides(pp=4, micro_batches=4, batch=4),
    Overrides(model="mixtral-8x7b", tp=2, dp=2, ep=4),
    Overrides(tp=16, dp=1, ep=1),
    Overrides(output=1),
)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["tp2-pp2", "moe-ep4"])
@pytest.mark.parametrize("overrides", SPLITS)
def test_sentences_are_whole(name: str, language: Language, overrides: Overrides) -> None:
    """No empty text, no hole where words went, no sentence that runs into the next."""
    if name == "moe-ep4" and overrides == ONE_GPU:
        overrides = Overrides(tp=1, pp=1, dp=1, ep=1)
    for paragraph in told(overrides, language, name).split("\n\n")[1:9]:
        for line in paragraph.splitlines():
            assert line.rstrip("：: ") == line, line
            assert not re.search(r"[a-z][.;,:][A-Za-z]|  | [,.;:]", line), line
            assert not re.search("[，；：。][，；：。]|：$", line), line
            assert " – " not in line, line


@pytest.mark.parametrize("is_composed", [False, True])
@pytest.mark.parametrize("name", ["tp2-pp2", "moe-ep4"])
@pytest.mark.parametrize("overrides", SPLITS)
def test_every_step_at_work_has_a_takeaway_and_notes_in_whole_sentences(
    name: str, overrides: Overrides, is_composed: bool
) -> None:
    if name == "moe-ep4" and overrides == ONE_GPU:
        overrides = Overrides(tp=1, pp=1, dp=1, ep=1)
    scenario = load_scenario(name, overrides)
    timeline = simulate(composed(scenario) if is_composed else scenario)
    for language in LANGUAGES:
        for step in timeline.steps:
            texts = step_texts(timeline, step.index, language)
            assert bool(texts.takeaway) is not step.is_idle
            notes = texts.notes.splitlines()
            assert len(notes) >= 3 or step.is_idle
            for line in (texts.takeaway, *notes):
                assert not re.search(r"[{}]|[a-z][.;,:][A-Za-z]|  | [,.;:]|: *[?.]", line), line
                assert not re.search("[，；：。][，；：。]|：[？]|[：，]$|^[）)]", line), line
                assert " – " not in line, line
            labels = {"en": "Say: |Show: |Ask: |Beware: ", "zh": "讲：|指：|问：|误区："}[language]
            assert all(re.match(labels, line) for line in notes)


def test_takeaways_are_true_of_the_split() -> None:
    assert "To remember: PP sends 4 MiB" in told(Overrides(), step=3)
    assert "TP sends messages of that size" in told(Overrides(), step=3)
    assert "TP sends" not in told(Overrides(tp=1, pp=4), step=3)
    assert "记住：Decode 拼的是延迟" in told(Overrides(), "zh", step=6)
    large = Overrides(tp=8, pp=1, batch=2048)
    assert "At this batch even decode needs bandwidth" in told(large, step=6)
    assert "sends nothing between GPUs" in told(ONE_GPU, step=6)
    assert "To remember" not in told(Overrides(pp=1), step=3)
    no_dispatch = told(Overrides(ep=1), name="moe-ep4", step=4)
    assert "need not leave its GPU" in no_dispatch
    assert "two trips a layer" in told(Overrides(), name="moe-ep4", step=4)
