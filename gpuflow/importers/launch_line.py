"""Launch lines: the command that starts an inference engine's server, read and never run.

vLLM (`vllm serve`, its module, its image), SGLang (`sglang serve`, its module) and TensorRT-LLM
(`trtllm-serve`), on the command line, in a shell script, in an engine's YAML file, or in a compose
file. Nothing is executed; files are read only where the line names them as its configuration.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpuflow.errors import ImportFormatError, InputError, Problem
from gpuflow.importers.launch.commands import Started, servers
from gpuflow.importers.launch.engines import Engine, engine
from gpuflow.importers.launch.files import (
    as_words,
    manifest_script,
    owner_of,
    read_assignments,
    read_settings,
)
from gpuflow.importers.launch.flags import Flags, read_flags
from gpuflow.importers.launch.meaning import Meanings, launch_of
from gpuflow.importers.launch.models import find_model
from gpuflow.importers.launch.reading import Launch, Note
from gpuflow.importers.launch.script import Script, file_key, read_script
from gpuflow.scenario.source import Source, read_source, source_of

__all__ = ["Launch", "find_model", "read_launch"]

MAX_BYTES = 2**18
_YAML = (".yaml", ".yml")


def read_launch(text: str) -> Launch:
    """What a launch line says.

    Args:
        text: The line itself, or the path of a file that holds it: a shell script, an engine's YAML
            file, or a compose file.

    Raises:
        ImportFormatError: The file cannot be read, no engine is started, or a value makes no sense.
    """
    source, folder = _source(text)
    if source.file.endswith(_YAML):
        return _from_yaml(source, folder)
    script = read_script(source)
    return _from_script(script, source, folder)


def _source(text: str) -> tuple[Source, Path]:
    stripped = text.strip()
    path = Path(stripped)
    if len(text) > MAX_BYTES:
        values = {"most": MAX_BYTES}
        raise ImportFormatError([Problem(code="launch_too_long", key="--launch", values=values)])
    if not _is_path(stripped):
        return source_of("", text), Path()
    source = read_source(path, stripped, MAX_BYTES)
    if isinstance(source, list):
        raise ImportFormatError(source)
    return source, path.parent


def _is_path(text: str) -> bool:
    """A single word is the name of a file; so is anything that is one."""
    if not text.split() or "\n" in text:
        return False
    try:
        return len(text.split()) == 1 or Path(text).is_file()
    except (OSError, ValueError):
        return False


def _from_yaml(source: Source, folder: Path) -> Launch:
    settings = read_settings(source)
    script = manifest_script(settings)
    if script.commands:
        return _from_script(script, source, folder)
    owner = owner_of(settings)
    if owner is None:
        raise ImportFormatError([Problem(code="launch_no_engine", file=source.file)])
    table = engine(owner)
    said = Meanings(table)
    model = _take_settings(said, table, settings)
    return launch_of(said, model, str(folder), "")


def _from_script(script: Script, source: Source, folder: Path) -> Launch:
    found = list(servers(script))
    if not found:
        key = "" if source.file else "--launch"
        problem = Problem(code="launch_no_engine", hint="launch_forms", file=source.file, key=key)
        raise ImportFormatError([problem])
    started, table = found[0], engine(found[0].engine)
    flags = read_flags(started.words, table)
    said = Meanings(table)
    others = sum(not other.is_follower for other in found[1:])
    if others:
        said.not_modelled.append(Note("other_servers", {"count": others}))
    model = _combined(said, flags, started, script, folder)
    return launch_of(said, model, str(folder), started.gpu or _device(flags))


def _combined(said: Meanings, flags: Flags, started: Started, script: Script, folder: Path) -> str:
    """Flags and the files they name: a flag overrules a file, and `--set` overrules both.

    Returns:
        The model.
    """
    table, model = said.engine, ""
    files = [flag for flag in flags.given if table.means.get(flag.name) == "config"]
    settings = [_settings(flag.value, script, folder, said) for flag in files]
    # A file only fills in what the command line leaves open.
    for found in settings:
        model = _take_settings(said, table, found)
    by_file = dict(said.said)
    said.take_flags(flags.given)
    said.unknown += flags.unknown
    if table.file is not None:
        said.note_overruled(by_file)
        said.take_keys(read_assignments(flags, table))
    said.take_environment(started.environment)
    # A switch that is not known may have taken the model for its value.
    lost = [] if said.text("model") else [word for word in flags.swallowed if "/" in word]
    words = [word for word in flags.words + lost if word not in {"$@", "$*"}]
    named = words[0] if words else said.text("model") or model
    said.unknown += flags.words[1:]
    if named and "model" not in said.said:
        said.say("model", "MODEL", named)
    return named


def _take_settings(said: Meanings, table: Engine, settings: Mapping[str, Any]) -> str:
    """A file's settings; returns the model that it names, or nothing."""
    if table.file is not None:
        said.take_keys(settings)
        return said.text("model")
    flags = read_flags(as_words(settings, table), table)
    said.take_flags(flags.given)
    said.unknown += flags.unknown
    return said.text("model")


def _settings(name: str, script: Script, folder: Path, said: Meanings) -> dict[str, Any]:
    """The settings of a file that a flag names; the script's own document first.

    A file that is not at hand, such as one inside a container, is said to be missing.
    """
    text = script.documents.get(file_key(name))
    source: Source | list[Problem]
    if text is not None:
        source = source_of(name, text)
    else:
        source = read_source(folder / name, name, MAX_BYTES)
    if isinstance(source, list):
        said.not_modelled.append(Note("file_unread", {"file": name}))
        return {}
    try:
        return read_settings(source)
    except InputError as error:
        raise ImportFormatError(error.problems) from None


def _device(flags: Flags) -> str:
    """SGLang's `--device npu` means an Ascend card."""
    is_ascend = any(flag.name == "--device" and flag.value == "npu" for flag in flags.given)
    return "ascend-910b" if is_ascend else ""
