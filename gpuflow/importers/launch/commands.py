"""Which command of a script starts an engine's server, and with which words.

Whatever stands before it does not matter: `srun`, `mpirun`, `torchrun`, `numactl`, `docker run`,
`bash -c`. Only the arguments behind it are the engine's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath

from gpuflow.errors import ImportFormatError, Problem
from gpuflow.importers.launch.reading import EngineId
from gpuflow.importers.launch.script import Command, Script, read_script
from gpuflow.scenario.source import source_of

_MODULES: Mapping[str, EngineId] = {
    "vllm.entrypoints.openai.api_server": "vllm",
    "vllm.entrypoints.api_server": "vllm",
    "vllm.entrypoints.cli.main": "vllm",
    "sglang.launch_server": "sglang",
    "sglang_router.launch_server": "sglang",
}
_PROGRAMS: Mapping[str, EngineId] = {"vllm": "vllm", "sglang": "sglang"}
_TRTLLM = "trtllm-serve"
_OTHER_SERVERS = frozenset({"disaggregated", "disaggregated_mpi_worker", "mm_embedding_serve"})
_RUNNERS = frozenset({"docker", "podman", "nerdctl", "enroot", "singularity", "apptainer"})
_VLLM_IMAGE = re.compile(r"(?:^|.*/)vllm-openai[\w.-]*(?:[:@].*)?")
_RANKS = frozenset({"--node-rank", "--node_rank", "--data-parallel-start-rank"})
_NESTED = re.compile(r"\b(?:vllm|sglang|trtllm)")
_MOST_NESTED = 3
_GPU_SIGNS = (("rocm", "mi300x"), ("mi30x", "mi300x"), ("vllm-ascend", "ascend-910b"))


@dataclass(frozen=True, slots=True)
class Started:
    """An engine's server as a command starts it."""

    engine: EngineId
    words: tuple[str, ...]
    environment: Mapping[str, str]
    gpu: str
    """A GPU of the catalogue that the image or the environment implies."""
    is_follower: bool
    """Whether it is a further node of a server whose first node has a line of its own."""


def servers(script: Script, depth: int = 0) -> Iterator[Started]:
    """Every engine's server that a script starts, in order.

    Raises:
        ImportFormatError: A command starts something of an engine that is no server of one model.
    """
    for command in script.commands:
        yield from _servers_of(command, depth)


def _servers_of(command: Command, depth: int) -> Iterator[Started]:
    words = command.words
    for index in range(len(words)):
        for recognise in (_program, _module, _trtllm):
            found = recognise(words, index)
            if found is not None:
                yield _started(*found, command)
                return
    nested = [
        started
        for word in words
        if depth < _MOST_NESTED and len(word.split()) > 1 and _NESTED.search(word)
        for started in servers(read_script(source_of("", word), command.variables), depth + 1)
    ]
    yield from nested
    image = None if nested else _image(words)
    if image is not None:
        yield _started("vllm", words[image + 1 :], command)


_Found = tuple[EngineId, tuple[str, ...]] | None
_Recogniser = Callable[[tuple[str, ...], int], _Found]


def _program(words: tuple[str, ...], index: int) -> _Found:
    name = PurePosixPath(words[index]).name
    if name in _PROGRAMS and words[index + 1 : index + 2] == ("serve",):
        return _PROGRAMS[name], words[index + 2 :]
    return None


def _module(words: tuple[str, ...], index: int) -> _Found:
    if words[index] != "-m" or index + 1 >= len(words):
        return None
    name = words[index + 1]
    rest = words[index + 2 :]
    if name.endswith(".cli.main"):
        return (_MODULES[name], rest[1:]) if name in _MODULES and rest[:1] == ("serve",) else None
    return (_MODULES[name], rest) if name in _MODULES else None


def _trtllm(words: tuple[str, ...], index: int) -> _Found:
    if PurePosixPath(words[index]).name != _TRTLLM:
        return None
    rest = words[index + 1 :]
    if rest and rest[0] in _OTHER_SERVERS:
        values = {"found": f"{_TRTLLM} {rest[0]}"}
        raise ImportFormatError(
            [Problem(code="launch_other_server", key="--launch", values=values)]
        )
    return "trtllm", rest[1:] if rest[:1] == ("serve",) else rest


def _image(words: tuple[str, ...]) -> int | None:
    """Where the image stands whose entry point is vLLM's server."""
    if not any(PurePosixPath(word).name in _RUNNERS for word in words[:3]):
        return None
    return next((i for i, word in enumerate(words) if _VLLM_IMAGE.fullmatch(word)), None)


def _started(engine: EngineId, words: tuple[str, ...], command: Command) -> Started:
    before = command.words[: len(command.words) - len(words)]
    environment = {**command.variables, **_container_environment(before)}
    gpu = _gpu(before, environment)
    return Started(engine, words, environment, gpu, is_follower=_is_follower(words))


def _is_follower(words: tuple[str, ...]) -> bool:
    pairs = pairwise(words)
    return "--headless" in words or any(word in _RANKS and rank != "0" for word, rank in pairs)


def _container_environment(words: tuple[str, ...]) -> dict[str, str]:
    """Variables that `docker run -e`, `mpirun -x` and `env` set."""
    found = {}
    for word in words:
        name, equals, value = word.removeprefix("--env=").removeprefix("-e").partition("=")
        if equals and re.fullmatch(r"[A-Z_][A-Z0-9_]*", name):
            found[name] = value
    return found


def _gpu(words: tuple[str, ...], environment: Mapping[str, str]) -> str:
    text = " ".join(words).lower()
    for sign, gpu in _GPU_SIGNS:
        if sign in text:
            return gpu
    return "mi300x" if "HIP_VISIBLE_DEVICES" in environment else ""
