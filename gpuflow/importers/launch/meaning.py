"""What an engine's flags say about the split, the weights, the cache and the memory.

vLLM: `tp` and `pp` split one replica, `dp` counts replicas; with expert parallelism all tp x dp
ranks share the experts (EP = TP x DP), and without it they share every expert's columns instead.
SGLang: `dp` counts replicas unless attention is data-parallel; then it divides the `tp` ranks among
`dp` groups that each hold their own requests, and the experts are shared by all of them.
TensorRT-LLM: the same with `enable_attention_dp`, which makes every `tp` rank a group of its own.
Sources: the engines' documents: vLLM on data and expert parallel deployment, SGLang on its server
arguments, TensorRT-LLM on parallelism.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuflow.errors import ImportFormatError, Problem
from gpuflow.importers.launch import values
from gpuflow.importers.launch.engines import Engine
from gpuflow.importers.launch.flags import Given
from gpuflow.importers.launch.reading import Launch, MemoryRule, Note, Taken

_MEMORY: Mapping[str, tuple[float, MemoryRule]] = {
    "vllm": (0.9, "all"),
    "sglang": (0.88, "static"),
    "trtllm": (0.9, "free"),
}
"""What engines take where nothing is said; SGLang's depends on the GPU and lies near this."""
_SPANNING = frozenset({"deepep", "mooncake", "nixl", "mori", "deepep_v2", "megamoe", "flashinfer"})
"""SGLang's exchanges that put the experts of a layer on all ranks."""
_GATHERING = frozenset({"", "none", "naive", "allgather_reducescatter"})
"""Exchanges by all_gather and reduce_scatter, which are the engines' default."""
_DEGREES = ("tp", "pp", "dp", "ep", "attention_dp_size", "nodes", "dp_local", "gpus_per_node")
_AMOUNTS = ("context_limit", "max_sequences", "chunk_tokens")
_SAFE_VALUE = re.compile(r"[\w./:,@=+~ -]{0,80}")


@dataclass(slots=True)
class Meanings:
    """Values by meaning; the last one said counts."""

    engine: Engine
    said: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Flag as written, and its value."""
    understood: list[Taken] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    not_modelled: list[Note] = field(default_factory=list)
    assumed: list[Note] = field(default_factory=list)

    def take_flags(self, given: Iterable[Given]) -> None:
        """Flags of a command line, or of a file whose keys are flags."""
        for flag in given:
            meaning, reason = self.engine.means.get(flag.name), self.engine.changes.get(flag.name)
            value = flag.value or ("true" if flag.is_on else "false")
            if meaning in {"config", "assignment"}:
                continue
            if meaning is not None:
                self.say(meaning, flag.written, value)
            elif reason is not None and flag.is_on:
                self._leave_out(reason, flag.written, value)
            else:
                self.ignored.append(flag.written)

    def take_keys(self, settings: Mapping[str, Any]) -> None:
        """Keys of a file that has names of its own."""
        keys = self.engine.file
        for key, found in settings.items():
            value = str(found).lower() if isinstance(found, bool) else _joined(found)
            if keys is None:
                continue
            if key in keys.means:
                self.say(keys.means[key], key, value)
            elif key in keys.changes and found is not False:
                self._leave_out(keys.changes[key], key, value)
            elif key.partition(".")[0] in {*keys.known, *keys.changes}:
                self.ignored.append(key)
            else:
                self.unknown.append(key)

    def note_overruled(self, before: Mapping[str, tuple[str, str]]) -> None:
        """Say where a flag overrules what a file said before: older releases let the file."""
        for meaning, (key, value) in before.items():
            flag, now = self.said[meaning]
            if now != value:
                self.assumed.append(Note("file_overruled", {"flag": flag, "key": key}))

    def take_environment(self, variables: Mapping[str, str]) -> None:
        """Variables that the engine reads."""
        for name, meaning in self.engine.environment.items():
            if variables.get(name) and meaning not in self.said:
                self.say(meaning, name, variables[name])

    def say(self, meaning: str, written: str, value: str) -> None:
        """One thing that was said."""
        self.said[meaning] = (written, value)
        self.understood = [taken for taken in self.understood if taken.meaning != meaning]
        shown = "" if value == "true" else value
        self.understood.append(Taken(written, shown, meaning))

    def _leave_out(self, reason: str, written: str, value: str) -> None:
        if reason == "context_parallel" and value in {"1", "0"}:
            return
        if reason in {"offload", "expert_copies"} and value in {"0", "0.0"}:
            return
        if reason == "disaggregation" and value == "null":
            return
        # What stands in a value may be anything; only plain words are repeated.
        shown = value if value != "true" and _SAFE_VALUE.fullmatch(value) else ""
        self.not_modelled.append(Note(reason, {"flag": f"{written} {shown}".strip()}))

    # ------------------------------------------------------------ values

    def number(self, meaning: str) -> int | None:
        """A degree or count; None where nothing was said."""
        if meaning not in self.said:
            return None
        return values.whole(*self.said[meaning])

    def amount(self, meaning: str) -> int | None:
        """A number of tokens or requests; None where the engine chooses."""
        return values.amount(*self.said[meaning]) if meaning in self.said else None

    def is_on(self, meaning: str) -> bool:
        """Whether a switch was turned on."""
        return meaning in self.said and self.said[meaning][1].lower() != "false"

    def text(self, meaning: str) -> str:
        """A word as it was written; empty where nothing was said."""
        return self.said[meaning][1] if meaning in self.said else ""


def _joined(found: Any) -> str:
    return ",".join(map(str, found)) if isinstance(found, list) else str(found)


@dataclass(frozen=True, slots=True)
class _Split:
    tp: int
    pp: int
    dp: int
    experts_over_all: bool
    ep: int
    notes: tuple[Note, ...] = ()


def launch_of(said: Meanings, model: str, folder: str, gpu: str) -> Launch:
    """The launch line's meaning.

    Raises:
        ImportFormatError: Values that cannot be read, or that contradict each other; all of them.
    """
    problems: list[Problem] = []
    numbers = _read(said.number, _DEGREES, problems)
    amounts = _read(said.amount, _AMOUNTS, problems)
    fraction, rule = _MEMORY[said.engine.id]
    if "memory_fraction" in said.said:
        try:
            fraction = values.share(*said.said["memory_fraction"])
        except ImportFormatError as error:
            problems += error.problems
    if problems:
        raise ImportFormatError(problems)
    split = _split(said, numbers)
    precision, notes = _precision(said)
    exchange = said.text("exchange")
    if split.experts_over_all and split.dp > 1 and exchange in _GATHERING:
        notes.append(Note("exchange"))
    return Launch(
        engine=said.engine.id,
        title=said.engine.title,
        profile=said.engine.profile,
        model=model,
        folder=folder,
        tp=split.tp,
        pp=split.pp,
        dp=split.dp,
        experts_over_all=split.experts_over_all,
        ep=split.ep,
        stage_layers=_stage_layers(said),
        nodes=_nodes(numbers, split),
        precision=precision,
        cache_bits=values.cache_bits_of(said.text("cache_dtype")),
        memory_fraction=fraction,
        is_memory_given="memory_fraction" in said.said,
        memory_rule=rule,
        context_limit=amounts["context_limit"],
        max_sequences=amounts["max_sequences"],
        chunk_tokens=amounts["chunk_tokens"],
        overlap=said.is_on("overlap"),
        library_all_reduce=said.is_on("library_all_reduce"),
        exchange=exchange,
        gpu=gpu,
        understood=tuple(said.understood),
        ignored=tuple(dict.fromkeys(said.ignored)),
        unknown=tuple(dict.fromkeys(said.unknown)),
        assumed=(*said.assumed, *split.notes, *notes),
        not_modelled=tuple(said.not_modelled),
    )


def _read(read: Any, names: Iterable[str], problems: list[Problem]) -> dict[str, int | None]:
    found: dict[str, int | None] = {}
    for name in names:
        try:
            found[name] = read(name)
        except ImportFormatError as error:
            problems += error.problems
    return found


# ---------------------------------------------------------------- split


def _split(said: Meanings, numbers: Mapping[str, int | None]) -> _Split:
    tp, pp, dp = (numbers[name] or 1 for name in ("tp", "pp", "dp"))
    if said.engine.id == "vllm":
        return _vllm(said, tp, pp, dp)
    groups = 1
    if said.engine.id == "sglang":
        groups = numbers["attention_dp_size"] or 1
        if groups == 1 and said.is_on("attention_dp"):
            groups, dp = dp, 1
    elif said.is_on("attention_dp"):
        groups = tp
    if tp % groups:
        flag = said.said.get("attention_dp_size", said.said.get("dp", ("--dp-size", "")))[0]
        values_ = {"tp": tp, "groups": groups}
        raise ImportFormatError([Problem(code="launch_attention_dp", key=flag, values=values_)])
    return _shared(said, tp, pp, dp, groups, numbers["ep"])


def _vllm(said: Meanings, tp: int, pp: int, dp: int) -> _Split:
    if said.is_on("expert_parallel"):
        return _Split(tp, pp, dp, experts_over_all=True, ep=1)
    # Experts are then split by columns over all tp x dp ranks: the same bytes on each of them.
    notes = (Note("experts_by_columns", {"ranks": tp * dp}),) if dp > 1 else ()
    return _Split(tp, pp, dp, experts_over_all=dp > 1, ep=1, notes=notes)


def _shared(said: Meanings, tp: int, pp: int, dp: int, groups: int, asked: int | None) -> _Split:
    """SGLang and TensorRT-LLM: the experts of a layer always lie on all `tp` ranks."""
    spans = said.is_on("expert_parallel") or said.text("exchange") in _SPANNING
    experts = tp if spans or asked is None else asked
    if groups == 1:
        return _Split(tp, pp, dp, experts_over_all=False, ep=experts if spans or asked else 1)
    notes: tuple[Note, ...] = ()
    if not spans and (asked or 1) < tp:
        notes = (Note("experts_by_columns", {"ranks": tp}),)
    if dp > 1:
        # Replicas of groups: experts are shared inside a replica.
        return _Split(tp // groups, pp, dp * groups, False, tp, notes)
    return _Split(tp // groups, pp, groups, experts_over_all=True, ep=1, notes=notes)


def _nodes(numbers: Mapping[str, int | None], split: _Split) -> int | None:
    """Nodes, where the line says them, or how many GPUs or replicas one holds."""
    world = split.tp * split.pp * split.dp
    per_node, local, nodes = (numbers[name] for name in ("gpus_per_node", "dp_local", "nodes"))
    if nodes is None and per_node is not None and world % per_node == 0:
        nodes = world // per_node
    if nodes is None and local is not None and split.dp % local == 0:
        nodes = split.dp // local
    return nodes if nodes and world % nodes == 0 else None


def _stage_layers(said: Meanings) -> tuple[int, ...]:
    if "stage_layers" not in said.said:
        return ()
    flag, text = said.said["stage_layers"]
    return tuple(values.whole(flag, part) for part in text.split(","))


# ---------------------------------------------------------------- weights


def _precision(said: Meanings) -> tuple[str | None, list[Note]]:
    """The precision that flags ask for, and what has to be said about it."""
    for meaning in ("quantisation", "dtype"):
        text = said.text(meaning)
        found = values.precision_of(text)
        if found is not None:
            return found, []
        if meaning == "quantisation" and not values.leaves_precision(text):
            return None, [Note("quantisation_own", {"found": text})]
    if said.text("dtype").lower() in {"float", "float32"}:
        return "bf16", [Note("dtype_halved")]
    return None, []
