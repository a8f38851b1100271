"""`--launch`: the scenario that an engine's launch line means, and what has to be said about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpuflow import words
from gpuflow.cli.options import Request
from gpuflow.cli.output import Output
from gpuflow.importers.launch.reading import Launch, Note
from gpuflow.scenario.spec import Language

if TYPE_CHECKING:
    from gpuflow.importers.launch.models import NamedModel
    from gpuflow.scenario.model_spec import ModelSpec
    from gpuflow.scenario.spec import Scenario

DEFAULT_GPU = "h100-sxm"
MOST_NAMED = 12
"""Flags of one sentence; the rest is counted."""
_EXPERT_NOTES = frozenset({"experts_by_columns", "exchange"})


@dataclass(frozen=True, slots=True)
class LaunchReport:
    """What was made of a launch line, for people and programs."""

    launch: Launch
    assumed: tuple[Note, ...]
    not_modelled: tuple[Note, ...]


def scenario_of_launch(request: Request, launch: Launch) -> Scenario:
    """The scenario of a launch line, options laid over it.

    Raises:
        InputError: The model is not known, or what the line asks for does not go together.
    """
    from gpuflow.importers.hf_config import read_model
    from gpuflow.scenario.load import DEFAULT_SCENARIO, Overrides, load_scenario

    named = _named(request, launch)
    model = _model(named.name)
    changes = {field.name: getattr(request, field.name) for field in fields(Overrides)}
    changes |= {
        "model": request.model or named.name,
        "gpu": request.gpu or launch.gpu or (None if request.scenario else DEFAULT_GPU),
        "tp": request.tp or launch.tp,
        "pp": request.pp or launch.pp,
        "dp": request.dp or launch.dp,
        "precision": request.precision or launch.precision or named.precision,
        "profile": request.profile or launch.profile,
        "chunk": request.chunk or launch.chunk_tokens,
        "overlap": launch.overlap or None if request.overlap is None else request.overlap,
    }
    changes["ep"] = request.ep or _expert_ranks(launch, model, changes["tp"] * changes["dp"])
    changes["layers"] = _layers(request, launch, model, changes["pp"])
    name = request.scenario or DEFAULT_SCENARIO
    scenario = load_scenario(name, Overrides(**changes), resolve_model=read_model)
    return _adjusted(scenario, launch, is_titled=request.scenario is None)


def _named(request: Request, launch: Launch) -> NamedModel:
    from gpuflow.errors import ImportFormatError, Problem
    from gpuflow.importers.launch.models import NamedModel, find_model

    if request.model is not None:
        return NamedModel(request.model, None, is_exact=True)
    if not launch.model:
        raise ImportFormatError([Problem(code="launch_no_model", key="--launch")])
    return find_model(launch.model, Path(launch.folder))


def _model(name: str) -> ModelSpec | None:
    """The model, where it can be had; what is wrong otherwise is reported by the scenario."""
    from gpuflow.errors import InputError
    from gpuflow.importers.hf_config import read_model
    from gpuflow.scenario import catalog

    try:
        return catalog.model(name) if catalog.has_model(name) else read_model(Path(name))
    except InputError:
        return None


def _expert_ranks(launch: Launch, model: ModelSpec | None, ranks: int) -> int:
    """Ranks that share the experts of a layer; 1 for a model without any."""
    if model is None or not model.has_experts:
        return 1
    return ranks if launch.experts_over_all else launch.ep


def _layers(
    request: Request, launch: Launch, model: ModelSpec | None, stages: int
) -> tuple[int, ...] | None:
    """Layers of each stage: as said, or as the engine spreads what does not divide."""
    if request.layers is not None:
        return request.layers.counts
    if launch.stage_layers:
        return launch.stage_layers
    n_layers = len(model.layers) if model is not None else 0
    if n_layers <= stages or n_layers % stages == 0:
        return None
    least, more = divmod(n_layers, stages)
    if launch.engine == "trtllm":
        longer = range(more)
    elif launch.engine == "sglang":
        longer = range(stages - more, stages)
    else:
        # vLLM spares the last stage, which has the head to compute.
        longer = range(stages - 1 - more, stages - 1)
    return tuple(least + (1 if stage in longer else 0) for stage in range(stages))


def _adjusted(scenario: Scenario, launch: Launch, *, is_titled: bool) -> Scenario:
    """The line's settings that no option has."""
    from gpuflow.scenario.spec import Text

    cluster, profile = scenario.cluster, scenario.profile
    if launch.nodes is not None and cluster.nics_per_node is None:
        per_node = scenario.parallel.world // launch.nodes
        if launch.nodes * per_node == scenario.parallel.world and per_node < cluster.gpus_per_node:
            cluster = replace(cluster, gpus_per_node=per_node)
    if launch.library_all_reduce:
        profile = replace(profile, all_reduce_kernel="nccl")
    changed = replace(scenario, cluster=cluster, profile=profile, cache_bits=launch.cache_bits)
    if not is_titled:
        return changed
    titles = {
        language: words.t("launch.title", language, engine=launch.title)
        for language in words.LANGUAGES
    }
    return replace(changed, name=launch.engine, title=Text(zh=titles["zh"], en=titles["en"]))


# ---------------------------------------------------------------- what has to be said


def report_of(request: Request, launch: Launch, scenario: Scenario) -> LaunchReport:
    """What was taken for granted, and what the figures leave out."""
    notes = [*launch.assumed, *_assumed(request, launch, scenario)]
    if not scenario.model.has_experts:
        notes = [note for note in notes if note.code not in _EXPERT_NOTES]
    left_out = [*launch.not_modelled, *_beyond_limits(launch, scenario)]
    return LaunchReport(launch, tuple(notes), tuple(left_out))


def _assumed(request: Request, launch: Launch, scenario: Scenario) -> Iterator[Note]:
    if request.gpu is None and request.topo is None and not request.scenario:
        code = "gpu_by_image" if launch.gpu else "gpu"
        yield Note(code, {"gpu": scenario.cluster.device.title})
    if request.scenario is None:
        names = ("batch", "prompt", "output")
        open_ = [name for name in names if getattr(request, name) is None]
        if open_:
            workload = scenario.workload
            found = {
                "batch": workload.batch,
                "prompt": workload.prompt_tokens,
                "output": workload.output_tokens,
            }
            said = [f"{name} {found[name]}" for name in open_]
            yield Note("workload", {"values": said, "options": [f"--{name}" for name in open_]})
    if request.model is None:
        named = _named(request, launch)
        if not named.is_exact:
            yield Note("model", {"model": scenario.model.title, "found": launch.model})
        if named.precision and not (request.precision or launch.precision):
            yield Note("precision", {"precision": named.precision, "found": launch.model})
    if not launch.is_memory_given:
        yield Note("memory_fraction", {"fraction": f"{launch.memory_fraction:g}"})


def _beyond_limits(launch: Launch, scenario: Scenario) -> Iterator[Note]:
    workload = scenario.workload
    tokens = workload.prompt_tokens + workload.output_tokens
    if launch.context_limit is not None and tokens > launch.context_limit:
        yield Note("over_context", {"tokens": tokens, "limit": launch.context_limit})
    if launch.max_sequences is not None and workload.batch > launch.max_sequences:
        yield Note("over_sequences", {"batch": workload.batch, "limit": launch.max_sequences})


def announce(request: Request, output: Output) -> Output:
    """Say on stderr what was made of a launch line, and put it beside the JSON document.

    Returns:
        The output to go on with.
    """
    launch = request.launch
    if launch is None:
        return output
    from gpuflow.cli.request import scenario_of

    report = report_of(request, launch, scenario_of(request))
    if output.format == "json":
        return replace(output, beside={"launch": launch_record(report, output.language)})
    if output.verb != "card":
        # A card holds it itself.
        for line in launch_lines(report, output.language):
            output.tell(line)
    return output


def card_notes(
    request: Request, launch: Launch, scenario: Scenario, language: Language
) -> list[str]:
    """What a card says about its launch line, the most important first."""
    lines = dict(_lines(report_of(request, launch, scenario), language))
    order = ("unknown", "not_modelled", "assumed")
    return [lines[key] for key in order if key in lines]


def launch_lines(report: LaunchReport, language: Language) -> list[str]:
    """The report for people; flags that change nothing are not worth a word."""
    return [line for _, line in _lines(report, language)]


def _lines(report: LaunchReport, language: Language) -> Iterator[tuple[str, str]]:
    launch = report.launch
    parts = {
        "understood": [f"{taken.flag} {taken.value}".strip() for taken in launch.understood],
        "assumed": [note_text(note, language) for note in report.assumed],
        "not_modelled": [note_text(note, language) for note in report.not_modelled],
        "unknown": _some(launch.unknown),
    }
    for key, items in parts.items():
        if items:
            mark = "; " if language == "en" else "；"
            listed = mark.join(items) if key in {"assumed", "not_modelled"} else items
            yield key, words.t(f"launch.{key}", language, engine=launch.title, items=listed)


def _some(flags: Sequence[str]) -> list[str]:
    """The first of many; a file that is no engine's has hundreds of keys, all in JSON."""
    rest = len(flags) - MOST_NAMED
    return [*flags[:MOST_NAMED], *([f"… (+{rest})"] if rest > 0 else [])]


def note_text(note: Note, language: Language) -> str:
    """One note as a sentence."""
    return words.t(f"launch.note.{note.code}", language, **note.values)


def launch_record(report: LaunchReport, language: Language) -> dict[str, object]:
    """The report for programs."""
    launch = report.launch
    return {
        "engine": launch.engine,
        "model": launch.model or None,
        "understood": [
            {"flag": taken.flag, "value": taken.value or None, "meaning": taken.meaning}
            for taken in launch.understood
        ],
        "ignored": list(launch.ignored),
        "unknown": list(launch.unknown),
        "assumed": _records(report.assumed, language),
        "not_modelled": _records(report.not_modelled, language),
        "ep_backend": launch.exchange or None,
        "kv_bits": launch.cache_bits,
        "memory_fraction": launch.memory_fraction,
        "context_limit": launch.context_limit,
        "max_sequences": launch.max_sequences,
    }


def _records(notes: tuple[Note, ...], language: Language) -> list[dict[str, object]]:
    return [{"id": note.code, "text": note_text(note, language)} for note in notes]
