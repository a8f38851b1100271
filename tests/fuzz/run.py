"""Hostile files for every reader: no traceback, none slow or large, nothing that steers a terminal.

    python tests/fuzz/run.py [--inputs N] [--seed S] [--first I] [--keep DIR] [READER ...]
    python tests/fuzz/run.py --atheris SECONDS [READER ...]

Each input is a known file changed or one made by a grammar, by READER, S and its number alone, so
that any of them can be made again. It is read by the command lines that a person would use, and
what they print is looked at. One line a reader: inputs, worst time, worst growth of memory, what
was found. The exit status is 1 where anything was. --atheris looks for new paths through the
code instead (`pip install atheris`, on Linux).
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

HUNG_SECONDS = 60
"""A child that says nothing for so long is ended; what it was reading is a finding."""
MOST_ADDRESS_BYTES = 4 << 30


@dataclass
class Tally:
    """What the inputs of one reader showed."""

    inputs: int = 0
    accepted: int = 0
    """Inputs that were read without a complaint that stops."""
    n_frames: int = 0
    """Screens that were drawn from them."""
    worst_s: float = 0.0
    worst_input: int = -1
    worst_bytes: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    examples: dict[str, int] = field(default_factory=dict)
    """The first input that showed a fault."""

    def note(
        self,
        number: int,
        seconds: float,
        grown: float,
        faults: list[str],
        *,
        is_read: bool = False,
        n_frames: int = 0,
    ) -> None:
        """One input."""
        self.inputs += 1
        self.accepted += is_read
        self.n_frames += n_frames
        if seconds > self.worst_s:
            self.worst_s, self.worst_input = seconds, number
        self.worst_bytes = max(self.worst_bytes, grown)
        for fault in faults:
            kind = fault.partition(": ")[0]
            self.faults[kind] += 1
            if kind not in self.examples:
                self.examples[kind] = number
                print(f"  input {number}: {fault}", flush=True)


def input_of(name: str, seed: int, number: int) -> bytes:
    """An input made again."""
    from readers import readers

    reader = readers()[name]
    return reader.input(Random(f"{name}/{seed}/{number}"), reader.examples())


def _work(pipe: Connection, name: str, seed: int, first: int, last: int) -> None:
    """In a child: run inputs and send what each showed."""
    from measuring import Program
    from readers import readers

    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESS_BYTES, MOST_ADDRESS_BYTES))
    reader = readers()[name]
    seeds = reader.examples()
    with tempfile.TemporaryDirectory() as folder, Program().open() as program:
        for number, known in enumerate(seeds[:3]):
            path = reader.written(known, Path(folder) / f"known{number}")
            for line in reader.lines(path, Random(0)):
                program.run(line)
        for number in range(first, last):
            pipe.send(number)
            random = Random(f"{name}/{seed}/{number}")
            # A name of its own: a program may keep what it has read by its name.
            own = Path(folder) / str(number)
            path = reader.written(reader.input(random, seeds), own)
            found = [program.run(line) for line in reader.lines(path, random)]
            faults = [f"{one.arguments[0]} {fault}" for one in found for fault in one.faults]
            seconds = max(one.seconds for one in found)
            shutil.rmtree(own)
            grown = max(one.grown_bytes for one in found)
            n_frames = sum(one.n_frames for one in found)
            pipe.send((number, seconds, grown, faults, found[0].code == 0, n_frames))
    pipe.send(None)


def fuzz(name: str, seed: int, first: int, count: int, tally: Tally) -> None:
    """Run inputs in children; one that dies or hangs is a finding, and the next goes on."""
    context = multiprocessing.get_context("spawn")
    at, end = first, first + count
    while at < end:
        ours, theirs = context.Pipe(duplex=False)
        child = context.Process(target=_work, args=(theirs, name, seed, at, end), daemon=True)
        child.start()
        theirs.close()
        try:
            at = _follow(ours, at, name, tally, first, count)
        except (EOFError, TimeoutError) as error:
            why = "hangs" if isinstance(error, TimeoutError) else "ends the process"
            tally.note(at, float(HUNG_SECONDS), 0.0, [why])
            at += 1
        finally:
            child.kill()
            child.join()


def _follow(pipe: Connection, at: int, name: str, tally: Tally, first: int, count: int) -> int:
    """Take what a child sends; returns where it has ended."""
    number = at
    while True:
        if not pipe.poll(HUNG_SECONDS):
            raise TimeoutError
        said = pipe.recv()
        if said is None:
            return first + count
        if isinstance(said, int):
            number = said
            continue
        tally.note(*said[:4], is_read=said[4], n_frames=said[5])
        _progress(name, number + 1 - first, count)


def _progress(name: str, done: int, count: int) -> None:
    if sys.stderr.isatty() and (done % 25 == 0 or done == count):
        filled = 30 * done // count
        bar = "#" * filled + "." * (30 - filled)
        end = "\n" if done == count else ""
        sys.stderr.write(f"\r{name:12} [{bar}] {done:,} of {count:,}{end}")
        sys.stderr.flush()


def report(name: str, tally: Tally, spent: float) -> None:
    """The line of a reader, and one for each thing that was found."""
    found = sum(tally.faults.values())
    worst = f"{tally.worst_s:.3f} s (input {tally.worst_input})"
    grown = f"+{tally.worst_bytes / 1e6:.0f} MB"
    read = f"{100 * tally.accepted // max(tally.inputs, 1)} % read"
    seen = f"{tally.n_frames:,} frames"
    print(
        f"{name:12} {tally.inputs:>8,} inputs, {read:>9}, {seen:>14}  worst {worst}, {grown}",
        end="",
    )
    print(f"  {found} failures  in {spent:.0f} s", flush=True)
    for fault, times in tally.faults.most_common():
        print(f"    {times} x {fault} (first: input {tally.examples[fault]})", flush=True)


def main() -> int:
    """Read the options and fuzz."""
    from readers import readers

    known = readers()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("readers", nargs="*", metavar="READER", help=", ".join(known))
    parser.add_argument("--inputs", type=int, default=2000, help="of all readers together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--keep", type=Path, help="a folder for inputs that showed something")
    parser.add_argument("--atheris", type=int, metavar="SECONDS", help="for each reader")
    options = parser.parse_args()
    names = options.readers or list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"no such reader: {', '.join(unknown)}")
    if options.atheris is not None:
        from coverage_guided import explore

        return max(explore(name, options.atheris, options.keep) for name in names)
    # What cannot even be loaded is said once here, not by a child for each input.
    import measuring  # noqa: F401

    has_found = False
    for name in names:
        tally, start = Tally(), time.monotonic()
        fuzz(name, options.seed, options.first, -(-options.inputs // len(names)), tally)
        report(name, tally, time.monotonic() - start)
        has_found |= bool(tally.faults)
        if options.keep is not None:
            _keep(options.keep, name, options.seed, tally)
    return int(has_found)


def _keep(folder: Path, name: str, seed: int, tally: Tally) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in set(tally.examples.values()):
        (folder / f"{name}-{seed}-{number}").write_bytes(input_of(name, seed, number))


if __name__ == "__main__":
    os.environ.setdefault("GPUFLOW_LANG", "en")
    sys.exit(main())
