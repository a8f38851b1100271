"""A scenario as a commented file that reads as people would have written it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuflow.cells import cell_width
from gpuflow.cluster.memory import stage_memories
from gpuflow.cluster.mesh import mesh_of
from gpuflow.draw.wrap import wrap
from gpuflow.engine.simulate import simulate
from gpuflow.scenario import catalog
from gpuflow.scenario.spec import (
    CollectiveOp,
    ComputeOp,
    HostOp,
    Language,
    LayersOp,
    Operation,
    Scenario,
    SendOp,
    StagesOp,
    StepSpec,
    Text,
)
from gpuflow.scenario.splits import divisors_near, tensor_degrees
from gpuflow.units import format_bit_rate, format_bytes, format_time
from gpuflow.words import LANGUAGES, t

WIDTH = 100
_VALUE_WIDTH, _COMMENT_CELL = 30, 40
"""Cells before a comment behind a value, and behind an operation."""
_NEW_LINE = "\\n"
"""As it is written between quotes."""
TEXTS = ("summary", "detail", "network", "latency", "takeaway", "notes", "idle")


def scenario_file(scenario: Scenario, model: str, language: Language) -> str:
    """The file.

    Args:
        scenario: What it says, texts without conditions.
        model: How the file names the model.
        language: Of the comments; texts are in both.
    """
    said = {"inner"}
    lines = [
        *_comment(_about(scenario, language)),
        "gpuflow: scenario/1",
        f"name: {scenario.name}",
        *_text("title", scenario.title, ""),
        *_keys(_model_keys(scenario, model, language), ""),
        "cluster:",
        *_keys(_cluster_keys(scenario, language), "  "),
        *_comment([t("new.comment.cluster_more", language)], "  "),
        "parallel:",
        *_keys(_parallel_keys(scenario, language), "  "),
        "workload:",
        *_keys(_workload_keys(scenario, language), "  "),
        f"profile: {scenario.profile.name}",
        *([f"all_reduce: {scenario.all_reduce}"] if scenario.all_reduce else []),
        "",
        *_comment([t("new.comment.steps", language)]),
        "steps:",
    ]
    for step in scenario.steps:
        lines += [*_step(step, said, language), ""]
    return "\n".join(lines[:-1]) + "\n"


def scenario_title(scenario: Scenario) -> Text:
    """Model, machines and split, in both languages."""
    parallel = scenario.parallel
    degrees = [f"TP{parallel.tp}"]
    degrees += [f"PP{parallel.pp}"] if parallel.pp > 1 else []
    degrees += [f"DP{parallel.dp}"] if parallel.dp > 1 else []
    split = "×".join(degrees) + (f", EP{parallel.ep}" if parallel.ep > 1 else "")
    values = {
        "model": scenario.model.title,
        "gpus": parallel.world,
        "gpu": scenario.cluster.device.title,
    }
    told = {
        language: t("new.title", language, split=_split(split, language), **values)
        for language in LANGUAGES
    }
    return Text(zh=told["zh"], en=told["en"])


def _split(split: str, language: Language) -> str:
    return split.replace(", ", "，") if language == "zh" else split


# ---------------------------------------------------------------- the head of the file


def _about(scenario: Scenario, language: Language) -> Iterator[str]:
    """What the file is, and what it comes to today."""
    timeline = simulate(scenario)
    memories = stage_memories(scenario)
    fullest = min(memories, key=lambda stage: stage.spare_bytes)
    yield t("new.comment.about", language)
    yield t(
        "new.comment.figures",
        language,
        gpus=scenario.parallel.world,
        gpu=scenario.cluster.device.title,
        nodes=mesh_of(scenario).n_nodes,
        profile=scenario.profile.title.in_language(language),
        ttft=format_time(timeline.ttft_s),
        tpot=format_time(timeline.tpot_s) if timeline.laps else "–",
        weights=format_bytes(fullest.weights_bytes),
        left=format_bytes(fullest.spare_bytes),
    )
    if fullest.spare_bytes < 0:
        yield t("new.comment.no_room", language)


Key = tuple[str, object, str]
"""A key, its value and the comment behind it."""


def _model_keys(scenario: Scenario, model: str, language: Language) -> Iterator[Key]:
    yield "model", _scalar(model), t("new.comment.model", language)
    allowed = [
        name
        for name in catalog.PRECISIONS
        if catalog.has_peak(scenario.cluster.device, name) and name != scenario.precision
    ]
    yield "precision", scenario.precision, t("new.comment.precision", language, allowed=allowed)


def _cluster_keys(scenario: Scenario, language: Language) -> Iterator[Key]:
    cluster = scenario.cluster
    yield "gpu", cluster.device.name, t("new.comment.gpu", language)
    yield "scale_up", cluster.scale_up.name, t("new.comment.scale_up", language)
    network = t(
        "new.comment.scale_out",
        language,
        rate=format_bit_rate(cluster.scale_out.link_bandwidth_bytes_per_s),
    )
    yield "scale_out", cluster.scale_out.name, network
    nodes = mesh_of(scenario).n_nodes
    yield "gpus_per_node", cluster.gpus_per_node, t("new.comment.nodes", language, nodes=nodes)


def _parallel_keys(scenario: Scenario, language: Language) -> Iterator[Key]:
    parallel, model = scenario.parallel, scenario.model
    degrees = ", ".join(map(str, tensor_degrees(model, near=parallel.tp)))
    comment = t("new.comment.tp", language, allowed=degrees)
    kv_heads = model.attention.kv_heads if model.attention else 0
    latent = model.attention is not None and model.attention.latent is not None
    if kv_heads and parallel.tp > kv_heads and not latent:
        copies = parallel.tp // kv_heads
        comment += t("new.comment.kv_copies", language, heads=kv_heads, copies=copies)
    if latent and parallel.tp > 1:
        comment += t("new.comment.latent", language)
    yield "tp", parallel.tp, comment
    yield "pp", parallel.pp, t("new.comment.pp", language, layers=len(model.layers))
    if parallel.stage_layers:
        listed = "[" + ", ".join(map(str, parallel.stage_layers)) + "]"
        yield "layers", listed, t("new.comment.layers", language)
    yield "dp", parallel.dp, t("new.comment.dp", language)
    experts = model.moe.experts if model.moe else 0
    if not experts:
        yield "ep", parallel.ep, t("new.comment.no_experts", language)
        return
    ranks = parallel.tp * parallel.dp
    allowed = ", ".join(map(str, _expert_degrees(ranks, experts, parallel.ep)))
    yield "ep", parallel.ep, t("new.comment.ep", language, experts=experts, allowed=allowed)


def _expert_degrees(ranks: int, experts: int, near: int) -> list[int]:
    return [n for n in divisors_near(ranks, near) if experts % n == 0]


def _workload_keys(scenario: Scenario, language: Language) -> Iterator[Key]:
    workload = scenario.workload
    yield "batch", workload.batch, t("new.comment.batch", language)
    yield "prompt", workload.prompt_tokens, t("new.comment.prompt", language)
    yield "output", workload.output_tokens, t("new.comment.output", language)
    if workload.context_tokens is not None:
        yield "context", workload.context_tokens, t("new.comment.context", language)
    if workload.chunk_tokens is not None:
        yield "chunk", workload.chunk_tokens, t("new.comment.chunk", language)
    if workload.micro_batches > 1:
        yield "micro_batches", workload.micro_batches, t("new.comment.micro_batches", language)
    if workload.overlap:
        yield "overlap", "true", t("new.comment.overlap", language)


def _keys(keys: Iterator[Key], indent: str) -> Iterator[str]:
    for name, value, comment in keys:
        text = f"{indent}{name}: {value}"
        text += " " * max(_VALUE_WIDTH - cell_width(text), 2)
        if cell_width(text) + cell_width(comment) + 2 <= WIDTH:
            yield f"{text}# {comment}"
            continue
        yield from _comment([comment], indent)
        yield text.rstrip()


def _comment(sentences: Iterator[str] | Sequence[str], indent: str = "") -> Iterator[str]:
    for sentence in sentences:
        for line in wrap(sentence, WIDTH - len(indent) - 2):
            yield f"{indent}# {line}"


# ---------------------------------------------------------------- steps


def _step(step: StepSpec, said: set[str], language: Language) -> Iterator[str]:
    """A step; what its operations mean is commented where they first occur."""
    yield f"  - id: {step.id}"
    yield f"    phase: {step.phase}"
    yield from _text("title", step.title, "    ")
    for name in TEXTS:
        text = getattr(step, name)
        if text is not None:
            yield from _text(name, text, "    ")
    yield "    operations:"
    for line, key in _operations(step.operations, "      "):
        if key in said:
            yield line
            continue
        said.add(key)
        comment = t(f"new.operation.{key}", language)
        text = line + " " * max(_COMMENT_CELL - cell_width(line), 2)
        if cell_width(text) + cell_width(comment) + 2 <= WIDTH:
            yield f"{text}# {comment}"
            continue
        yield from _comment([comment], " " * (len(line) - len(line.lstrip())))
        yield line


def _text(name: str, text: Text, indent: str) -> Iterator[str]:
    yield f"{indent}{name}:"
    yield from _quoted(f"{indent}  zh: ", text.zh)
    yield from _quoted(f"{indent}  en: ", text.en)


def _quoted(head: str, text: str) -> Iterator[str]:
    """A text in double quotes, folded at blanks, or after a Chinese stop; nothing is added to it.

    A backslash at the end of a line joins it to the next one.
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", _NEW_LINE)
    first, *rest = _folded(escaped, WIDTH - cell_width(head) - 3)
    indent = " " * (len(head) - len(head.lstrip()) + 4)
    if not rest:
        yield f'{head}"{first}"'
        return
    yield f'{head}"{first}\\'
    for line in rest[:-1]:
        yield f"{indent}{_kept(line)}\\"
    yield f'{indent}{_kept(rest[-1])}"'


def _kept(line: str) -> str:
    """Blanks at the beginning of a line count only behind a backslash."""
    return f"\\{line}" if line.startswith(" ") else line


def _folded(text: str, width: int) -> list[str]:
    """Pieces of a text, each with what stands before the next one."""
    lines, line = [], ""
    for piece in _pieces(text):
        if line and (line.endswith(_NEW_LINE) or cell_width(line + piece.rstrip()) > width):
            lines.append(line)
            line = ""
        line += piece
    return [*lines, line]


def _pieces(text: str) -> Iterator[str]:
    """Words with the blank behind them; Chinese clauses with their stop. Braces stay whole."""
    piece, depth = "", 0
    for sign in text:
        piece += sign
        depth += (sign == "{") - (sign == "}")
        if not depth and (sign in " \u3002\uff0c\uff1b\uff1a" or piece.endswith(_NEW_LINE)):
            yield piece
            piece = ""
    if piece:
        yield piece


def _operations(operations: Sequence[Operation], indent: str) -> Iterator[tuple[str, str]]:
    """Lines, each with the key of what is said of its operation."""
    for operation in operations:
        if isinstance(operation, (StagesOp, LayersOp)):
            is_stages = isinstance(operation, StagesOp)
            name = "stages" if is_stages else "layers"
            which = operation.stages if isinstance(operation, StagesOp) else operation.which
            yield f"{indent}- {name}: {which}", f"{name}.{which}"
            yield f"{indent}  operations:", "inner"
            yield from _operations(operation.operations, f"{indent}    ")
        else:
            yield f"{indent}- {_single(operation)}", _key(operation)


def _key(operation: Operation) -> str:
    """What an operation is commented as."""
    if isinstance(operation, ComputeOp):
        return f"compute.{operation.part}"
    if isinstance(operation, SendOp):
        return "send"
    if isinstance(operation, HostOp):
        return "host"
    if isinstance(operation, CollectiveOp):
        return f"{operation.payload}.{operation.when}"
    return "inner"


def _single(operation: Operation) -> str:
    if isinstance(operation, ComputeOp):
        return f"{{compute: {operation.part}}}"
    if isinstance(operation, SendOp):
        return f"{{send: {operation.payload}}}"
    if isinstance(operation, HostOp):
        return f"{{host: {operation.action}}}"
    if not isinstance(operation, CollectiveOp):
        raise TypeError(f"{type(operation).__name__} holds other operations")
    text = f"collective: {operation.collective}, group: {operation.group}"
    text += f", payload: {operation.payload}"
    if operation.when != "always":
        text += f", when: {operation.when}"
    return f"{{{text}}}"


def _scalar(text: str) -> str:
    """A word as it is, anything else in quotes."""
    if text and all(sign.isascii() and (sign.isalnum() or sign in "._/-") for sign in text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
