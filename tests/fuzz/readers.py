"""Every reader of text from outside: what it reads, and the command lines that show it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import grammars
import records
from mutations import MOST_BYTES, mutated

DATA = Path(__file__).parents[1] / "data"
PACKAGE = Path(__file__).parents[2] / "gpuflow"
FORMATS = ("table", "json", "csv", "markdown")
PICTURES = ("svg", "html", "perfetto", "json", "md")
LARGEST_SEED = 60_000
Lines = Callable[[Path, Random], list[list[str]]]


@dataclass(frozen=True)
class Reader:
    """One kind of file."""

    name: str
    file: str
    """What an input is called, a folder in front of it where one is read as a whole."""
    seeds: tuple[str, ...]
    """Patterns of files in tests/data."""
    grammar: grammars.Grammar
    lines: Lines
    """Command lines for a file, the one that only reads it first."""
    more: str = ""
    """A sub-verb of `import` that must be there."""

    def examples(self) -> list[bytes]:
        """Files that are read well, or badly on purpose."""
        found = [path for pattern in self.seeds for path in sorted(DATA.glob(pattern))]
        found += sorted((PACKAGE.parent / "scenarios").glob("*")) if "scenario" in self.name else []
        data = [path.read_bytes() for path in found if path.is_file()]
        return [one for one in data if len(one) <= LARGEST_SEED] or [b""]

    def input(self, random: Random, seeds: Sequence[bytes]) -> bytes:
        """A hostile file: a known one changed, one made by the grammar, or that changed."""
        kind = random.random()
        if kind < 0.45:
            data = mutated(random.choice(seeds), random, seeds)
        else:
            data = self.grammar(grammars.Maker(str(random.random())))
            data = mutated(data, random, seeds) if kind > 0.85 else data
        return data[:MOST_BYTES]

    def written(self, data: bytes, folder: Path) -> Path:
        """The file on disk; a folder where that is what is read."""
        path = folder / self.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path.parent if "/" in self.file else path


def _shown(random: Random) -> list[str]:
    """One of the ways to print."""
    return ["--format", random.choice(FORMATS), "--lang", random.choice(("zh", "en"))]


def _sometimes(random: Random, share: float, *line: str) -> list[list[str]]:
    return [[*line, *_shown(random)]] if random.random() < share else []


def _framed(random: Random, share: float, *line: str) -> list[list[str]]:
    """One picture of a play at some size, sometimes near or in large."""
    if random.random() >= share:
        return []
    size = random.choice(("80x24", "60x16", "120x40", "40x10", "200x60"))
    language = random.choice(("zh", "en"))
    return [[*line, "--print", "--size", size, "--lang", language]]


def _played(random: Random, share: float, *line: str) -> list[list[str]]:
    more = random.choice(([], [], ["--big"], ["--zoom", "gpu"], ["--ascii"], ["--at", "5"]))
    return _framed(random, share, "play", *line, *more)


def _scenario(path: Path, random: Random) -> list[list[str]]:
    file = str(path)
    return [
        ["validate", file, *_shown(random)],
        *_played(random, 0.2, file),
        *_sometimes(random, 0.1, "estimate", file),
        *_sometimes(random, 0.1, "table", file),
        *_sometimes(random, 0.03, "card", file),
        *([["export", file, "--to", random.choice(PICTURES)]] if random.random() < 0.02 else []),
    ]


def _calibration(path: Path, random: Random) -> list[list[str]]:
    line = ("collective", "all_reduce", "--ranks", "8", "--sizes", "1MiB")
    return [
        [*line, "--calibration", str(path), *_shown(random)],
        *_played(random, 0.1, "--calibration", str(path)),
    ]


def _config(path: Path, random: Random) -> list[list[str]]:
    return [
        ["show", "model", str(path), *_shown(random)],
        *_played(random, 0.1, "--model", str(path)),
        *_sometimes(random, 0.1, "estimate", "--model", str(path)),
    ]


def _launch(path: Path, random: Random) -> list[list[str]]:
    return [
        ["validate", "--launch", str(path), *_shown(random)],
        *_played(random, 0.1, "--launch", str(path)),
        *_sometimes(random, 0.1, "estimate", "--launch", str(path)),
        *_sometimes(random, 0.05, "card", "--launch", str(path)),
    ]


def _topo(path: Path, random: Random) -> list[list[str]]:
    return [
        ["import", "topo", str(path), *_shown(random)],
        *_played(random, 0.1, "--topo", str(path), "--tp", "2"),
    ]


def _trace(path: Path, random: Random) -> list[list[str]]:
    return [
        ["import", "trace", str(path), *_shown(random)],
        *_framed(random, 0.3, "import", "trace", str(path)),
    ]


def _nccl(path: Path, random: Random) -> list[list[str]]:
    more = random.choice(([], [], ["--gpu", "h100-sxm"], ["--plot"], ["--ranks", "8"]))
    own = str(path.with_suffix(".yaml"))
    written = [["import", "nccl", str(path), "--write", own]] if random.random() < 0.05 else []
    return [
        ["import", "nccl", str(path), *more, *_shown(random)],
        *written,
        *(_played(random, 1.0, "--calibration", own) if written else []),
    ]


def _truth(path: Path, random: Random) -> list[list[str]]:
    rows = ["--rows"] if random.random() < 0.5 else []
    return [["accuracy", "--truth", str(path), *rows, *_shown(random)]]


READERS: tuple[Reader, ...] = (
    Reader(
        "scenario", "s.yaml", ("scenarios/*.yaml", "broken/*.yaml"), grammars.scenario, _scenario
    ),
    Reader("calibration", "c.yaml", ("calibration/*.yaml",), grammars.calibration, _calibration),
    Reader("config", "config.json", ("hf-config/*.json",), grammars.config, _config),
    Reader("launch", "run.sh", ("launch/*.txt",), grammars.launch, _launch),
    Reader(
        "launch-yaml",
        "run.yaml",
        ("launch/*compose*.txt", "launch/*kubernetes*.txt"),
        grammars.launch_yaml,
        _launch,
    ),
    Reader("nccl", "n.log", ("nccl-tests/*.log", "nccl-debug/*.log"), records.nccl, _nccl),
    Reader("topo", "t.txt", ("topo/*",), records.topo, _topo),
    Reader("truth", "truth/t.csv", ("truth/*.csv",), records.truth, _truth),
    Reader(
        "trace",
        "t.json",
        ("traces/*", "trace/*"),
        records.trace,
        _trace,
        more="trace",
    ),
)


def readers() -> dict[str, Reader]:
    """The readers that this version has."""
    from gpuflow.cli.import_ import IMPORTS

    return {one.name: one for one in READERS if not one.more or one.more in IMPORTS}
