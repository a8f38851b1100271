"""Inputs that lead along new paths through a reader's code, found by atheris; Linux only.

Each reader has a process of its own, because the code is instrumented as it is imported and the
engine underneath ends the process at the first finding.
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any

SLOWEST_S = 3
"""libFuzzer counts whole seconds, and instrumented code is several times slower."""
MOST_MB = 2000


def explore(name: str, seconds: int, keep: Path | None) -> int:
    """Explore one reader in a process of its own; 1 where something was found."""
    with tempfile.TemporaryDirectory() as folder:
        found = (keep or Path(folder)).resolve()
        found.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, __file__, name, str(seconds), folder, f"{found}/{name}-"]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    said = done.stderr.splitlines()
    units = {part.strip(":") for line in said if "cov:" in line for part in line.split()[2:4]}
    covered = max((int(unit) for unit in units if unit.isdigit()), default=0)
    inputs = next((line.split()[1] for line in said if line.startswith("Done ")), "?")
    verdict = "0 failures" if done.returncode == 0 else "a failure"
    print(f"{name:12} {inputs:>8} inputs  {covered:,} places reached  {verdict}", flush=True)
    if done.returncode:
        print(done.stdout[-3000:] + done.stderr[-3000:], flush=True)
    return int(done.returncode != 0)


def _explore_here(name: str, seconds: str, folder: str, artifacts: str) -> None:
    import atheris

    with atheris.instrument_imports(include=["gpuflow"]):
        from measuring import Program
        from readers import readers

        reader = readers()[name]
        seeds, program, numbers = reader.examples(), Program(), itertools.count()
        # Verbs import their modules when they run, and only what is imported here is followed.
        for data in seeds[:6]:
            path = reader.written(data, Path(folder) / f"input{next(numbers)}")
            for line in reader.lines(path, Random(0)):
                program.run(line)
    corpus = Path(folder) / "corpus"
    corpus.mkdir()
    for number, data in enumerate(seeds):
        (corpus / str(number)).write_bytes(data)

    def one_input(data: bytes) -> None:
        own = Path(folder) / f"input{next(numbers)}"
        path = reader.written(data, own)
        for line in reader.lines(path, Random(len(data)))[:1]:
            faults = [fault for fault in program.run(line).faults if not fault.startswith("takes")]
            if faults:
                raise RuntimeError("; ".join(faults))
        shutil.rmtree(own)

    def changed(data: bytes, most: int, seed: int) -> bytes:
        random = Random(seed)
        if random.random() < 0.5:
            return bytes(atheris.Mutate(data, most))
        return reader.input(random, [data])[:most]

    options: list[Any] = [sys.argv[0], f"-max_total_time={seconds}", f"-timeout={SLOWEST_S}"]
    options += [f"-rss_limit_mb={MOST_MB}", f"-artifact_prefix={artifacts}", "-max_len=60000"]
    with program.open(is_timed=False):
        atheris.Setup([*options, str(corpus)], one_input, custom_mutator=changed)
        atheris.Fuzz()


if __name__ == "__main__":
    _explore_here(*sys.argv[1:])
