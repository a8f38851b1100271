"""An engine's YAML file as flags or keys, and containers' manifests as command lines."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpuflow.errors import ImportFormatError, InputError, Problem
from gpuflow.importers.launch.engines import ENGINES, Engine, engine
from gpuflow.importers.launch.flags import Flags
from gpuflow.importers.launch.reading import EngineId
from gpuflow.importers.launch.script import Script, read_script
from gpuflow.scenario import nodes
from gpuflow.scenario.source import Source, source_of

_TRUE = frozenset({"true", "yes", "on"})
_SECRET = re.compile(r"key|token|secret|password", re.IGNORECASE)


def read_settings(source: Source) -> dict[str, Any]:
    """The keys of a YAML file, those inside others behind a dot, with texts as values.

    A switch is True or False, a list the texts of its items; null is left out.

    Raises:
        ImportFormatError: It is no YAML, or not of the plain kind that settings need.
    """
    problems = nodes.Problems(source)
    try:
        tree = nodes.parse_document(source, problems)
    except InputError as error:
        raise ImportFormatError(list(map(_guarded, error.problems))) from None
    if problems.found:
        raise ImportFormatError(list(map(_guarded, problems.in_order())))
    return dict(_flat("", tree))


def _guarded(problem: Problem) -> Problem:
    """The problem without the line it is about, where that may hold a secret."""
    if problem.mark is None or not _SECRET.search(problem.mark.source_line):
        return problem
    return replace(problem, mark=replace(problem.mark, source_line=""))


def _flat(path: str, node: nodes.Node) -> Iterator[tuple[str, Any]]:
    if isinstance(node, nodes.Mapping):
        if path:
            # What has settings inside is itself set.
            yield path, True
        for key, value in node.values.items():
            yield from _flat(f"{path}.{key}" if path else key, value)
    elif isinstance(node, nodes.Sequence):
        if all(isinstance(item, nodes.Scalar) for item in node.items):
            yield path, [item.value for item in node.items if isinstance(item, nodes.Scalar)]
            return
        for index, item in enumerate(node.items):
            yield from _flat(f"{path}.{index}", item)
    elif isinstance(node, nodes.Scalar) and node.yaml_type != "null":
        yield path, _value(node)


def _value(node: nodes.Scalar) -> bool | str:
    if node.yaml_type == "bool":
        return node.value.lower() in _TRUE
    return node.value


def as_words(settings: Mapping[str, Any], owner: Engine) -> list[str]:
    """Settings named like flags, as the words they stand for."""
    words: list[str] = []
    for key, value in settings.items():
        flag = f"--{key}"
        if isinstance(value, bool):
            plain = flag if flag in owner.arity else flag.replace("_", "-")
            if owner.arity.get(plain, "switch") == "switch":
                words += [flag] if value else []
            elif "." not in key:
                words.append(f"{flag}={str(value).lower()}")
        elif isinstance(value, list):
            words += [flag, *value] if value else []
        elif "." not in key:
            words.append(f"{flag}={value}")
    return words


def read_assignments(flags: Flags, owner: Engine) -> dict[str, Any]:
    """Keys of the engine's file that `--set KEY=VALUE` gives on the command line."""
    given = [flag.value for flag in flags.given if owner.means.get(flag.name) == "assignment"]
    pairs = (text.partition("=") for text in given)
    return {
        key: value == "true" if value in {"true", "false"} else value for key, _, value in pairs
    }


def owner_of(settings: Mapping[str, Any]) -> EngineId | None:
    """The engine whose settings a file most probably holds; None where it fits no engine."""
    scores = {name: sum(_is_key(key, engine(name)) for key in settings) for name in ENGINES}
    best = max(ENGINES, key=lambda name: scores[name])
    return best if scores[best] else None


def _is_key(key: str, owner: Engine) -> bool:
    if owner.file is not None:
        known = {*owner.file.means, *owner.file.changes, *owner.file.known}
        return key in known or key.partition(".")[0] in known
    return f"--{key.replace('_', '-')}" in owner.arity


# ---------------------------------------------------------------- manifests


def manifest_script(settings: Mapping[str, Any]) -> Script:
    """The commands that the containers of a compose file or a Kubernetes manifest run."""
    script = Script()
    for key in settings:
        place, _, last = key.rpartition(".")
        if last not in {"command", "args"} or (last == "args" and f"{place}.command" in settings):
            continue
        parts = [f"{place}.{name}" for name in ("entrypoint", "command", "args")]
        words = [word for part in parts for word in _words(settings.get(part))]
        image = settings.get(f"{place}.image")
        if isinstance(image, str):
            # The image's own entry point is recognised as on a command line.
            words = ["docker", "run", image, *words]
        read = read_script(source_of("", shlex.join(words)), _environment(settings, place))
        script.commands += read.commands
    return script


def _words(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(item) for item in value]
    try:
        return shlex.split(value) if isinstance(value, str) else []
    except ValueError:
        return []


def _environment(settings: Mapping[str, Any], place: str) -> dict[str, str]:
    """Compose's list or mapping, and Kubernetes' list of names with values."""
    start, listed = f"{place}.environment", settings.get(f"{place}.environment")
    pairs = [item.partition("=") for item in listed] if isinstance(listed, list) else []
    found = {name: value for name, _, value in pairs}
    for key, value in settings.items():
        if not isinstance(value, str):
            continue
        if key.startswith(f"{start}."):
            found[key.removeprefix(f"{start}.")] = value
        elif key.startswith(f"{place}.env.") and key.endswith(".name"):
            said = settings.get(f"{key.removesuffix('name')}value")
            if isinstance(said, str):
                found[value] = said
    return found
