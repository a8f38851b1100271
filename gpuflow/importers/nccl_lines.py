"""What single lines of logs of nccl-tests and rccl-tests say, whatever stands before or after.

Launchers put labels before lines (srun, mpirun, kubectl), mails and issues put `> `, colours and
progress signs come in between; a line is searched for what it holds instead of being split by
columns. Forms: NVIDIA/nccl-tests src/common.cu over its history, ROCm/rccl-tests, NCCL 1's
single-process tests.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import islice

ITEM_BYTES: dict[str, int] = {
    **dict.fromkeys(("char", "int8", "uint8", "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2"), 1),
    **dict.fromkeys(("half", "float16", "fp16", "bf16", "bfloat16"), 2),
    **dict.fromkeys(("int", "int32", "uint", "uint32", "float", "float32"), 4),
    **dict.fromkeys(("int64", "uint64", "double", "float64"), 8),
}
"""Bytes of one element by the name that the tests print."""

MOST = 1e15
"""Beyond it a figure is damage: neither microseconds nor GB/s get there."""
_LABEL = re.compile(
    r"^[\s>]*(?:\d{4}-\d\d-\d\d[T ][\d:.,]+Z?\s+)?"
    r"(\[\d+(?:,\d+)?\]<std(?:out|err)>:?|\[pod/[^\]]{1,200}\]|\d{1,5}:(?=[\s#]|$)"
    r"|[\w.-]{1,80}\s+\|(?=\s)|[\w.-]{1,80}:(?=\s+(?:#|\d+\s+\d+\s+[a-z])))?"
)
_STEERING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[^\[]")
_DTYPES = "|".join(sorted(ITEM_BYTES, key=len, reverse=True))
_DTYPE = re.compile(rf"\d\s+(?=[bcdfhiu])({_DTYPES})(?=\s|$)")
"""A row is looked for from here to the left: far cheaper than from each number to the right."""
_DTYPE_PARTS = ("float", "half", "int", "char", "double", "f8", "fp", "bf16")
"""One of them is in every name; cheaper still."""
_SIZE = re.compile(r"(?<![\w.:-])\d{1,16}$")
_COUNT = re.compile(r"\d{1,16}$")
_ROOT = re.compile(r"-?\d{1,6}")
_BEHIND_BUS = re.compile(r"\bbusbw\s*(\S*)")
ALL_FIGURES = 8
"""Columns of figures: time, two bandwidths and an error, out of place and in place."""
_UNITS = frozenset({"us", "µs", "ms", "GB/s"})
"""Some wrappers print them behind each figure; which they are, size and bandwidth tell."""
_WIDEST = 96
"""Characters from the size to the type at most."""
_RANK = re.compile(
    r"#?\s*Rank\s+(\d{1,7})\s+(?:Group\s+\d+\s+)?Pid\s+(\d+)\s+(?:on\s+(\S+)\s+)?device\s+(\d+)"
    r"\s+\[([^\]]*)\]\s*(.*)"
)
_DEVICE = re.compile(r"#\s*Device\s+(\d{1,5})\s+->\s+(\d{1,5})\s+\[([^\]]*)\]\s+(.*)")
_OPTION = {
    "threads": re.compile(r"nThread\s+(\d{1,9})"),
    "gpus": re.compile(r"nGpus\s+(\d{1,9})"),
    "min_bytes": re.compile(r"minBytes\s+(\d{1,18})"),
    "max_bytes": re.compile(r"maxBytes\s+(\d{1,18})"),
    "warmup": re.compile(r"warmup iters:\s*(\d{1,9})"),
    "iterations": re.compile(r"(?<!warmup )(?<!agg )iters:\s*(\d{1,9})"),
    "aggregated": re.compile(r"agg iters:\s*(\d{1,9})"),
    "check": re.compile(r"validation:\s*(\d{1,9})"),
    "graph": re.compile(r"graph:\s*(\d{1,9})"),
}
_OPTION_LINE = re.compile(r"(?:nThread|nGpus|minBytes|maxBytes)\s+\d")
_STEP = re.compile(r"step:\s*(\d{1,18})\((factor|bytes)\)")
_AVERAGE = re.compile(r"Avg bus bandwidth\s*:\s*([\d.]{1,20})")
_BOUNDS = re.compile(r"Out of bounds values\s*:\s*(\d{1,18})\s+(OK|FAILED)")
_ENDING = re.compile(r"_(?:perf|test)(?:_mpi)?\b")
_LAST_WORD = re.compile(r"\w+$")
_NAMES = frozenset(
    (
        *("all_reduce", "allreduce", "all_gather", "allgather", "reduce_scatter", "alltoall"),
        *("all_to_all", "alltoallv", "broadcast", "reduce", "sendrecv", "scatter", "gather"),
        "hypercube",
    )
)
"""What programs are called, without the ending."""
_MOST_TRIED = 4
"""Places of a line that may be what is looked for; it is the first or the last of them."""
_OPTION_NAME = re.compile(r"-t\s+(all_reduce|all_gather|reduce_scatter|alltoall|broadcast)\b")
COLLECTIVES = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "reducescatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "alltoallv": "all_to_all",
    "sendrecv": "send_recv",
}
"""The tests' names, without underscores, that are not the project's own."""
_FAILURES = (
    *("failure", "srun: error", "cuda error", "nccl error", "unhandled", "segmentation fault"),
    *("mpi_abort", "out of memory", "oom-kill", "mpirun noticed", "mpirun was unable"),
    *("command not found", "no such file or directory", "cancelled", "due to time limit"),
)
"""Words of lines that tell of a failure, in small letters."""
_SAID_BY_NAME = re.compile(r"(?:nccl-test|h(?<!\wh)\d00|a(?<!\wa)100|b(?<!\wb)200)-(\d{2,5})-\w")
_SAID_BY_WORD = re.compile(r"\b(\d{1,5}) GPUs\b(?!\s*(?:/|(?:per|each|a node|[io]n each)\b))")
_VERSION = re.compile(r"(?:NCCL|RCCL) version\s*:?\s*(\d[\w.+-]{0,40})")
_VERSION_CODE = re.compile(r"nccl-library=(\d{4,6})\b")


@dataclass(frozen=True, slots=True)
class RawRow:
    """One row of the table as printed; a figure that is missing or cut is None."""

    size_bytes: int
    count: int
    dtype: str
    redop: str | None
    root: int | None
    figures: tuple[float | None, ...]
    """time, algbw, busbw, error; then the same in place. None for N/A and what is cut."""
    is_cut: bool
    n_printed: int = 8
    """Figures that stand there."""


@dataclass(frozen=True, slots=True)
class RankLine:
    """One rank of the device list."""

    rank: int
    pid: str
    host: str
    device: int
    bus_id: str
    gpu: str


def plain(line: str) -> str:
    """A line without colours and without what a progress bar wrote over."""
    line = line.rstrip("\r\n").split("\r")[-1]
    return _STEERING.sub("", line) if "\x1b" in line else line


def label_of(line: str) -> str:
    """The launcher's label before a line, which tells processes apart; often empty."""
    if ":" not in line and "|" not in line and "]" not in line:
        return ""  # every label has one of them
    found = _LABEL.match(line)
    return (found[1] or "").strip() if found else ""


def without_label(line: str) -> str:
    """The line behind quotes, times and the label."""
    found = _LABEL.match(line)
    return (line[found.end() :] if found else line).strip()


def read_row(line: str, has_root: bool | None, n_figures: int = ALL_FIGURES) -> RawRow | None:
    """A row of the table, if the line holds one.

    Args:
        line: The line.
        has_root: Whether there is a column `root`, as header or earlier rows say; None if unknown.
        n_figures: Columns of figures, likewise: 8; 4 without those in place; 6 or 3 where errors
            have no column.
    """
    for part in _DTYPE_PARTS:
        if part in line:
            break
    else:
        return None
    found = _left_of_row(line)
    if found is None:
        return None
    size, count, dtype, behind = found
    rest = [word for word in behind.split() if word not in _UNITS]
    redop = rest.pop(0) if rest and rest[0].isalpha() and rest[0] != "N" else None
    if redop == "nan" or redop == "inf":
        return None
    known = has_root
    if len(rest) > n_figures:
        known = True
    elif len(rest) == n_figures and rest[0] != "-1" and not has_root:
        known = False
    elif rest and (known is None or known):
        known = _ROOT.fullmatch(rest[0]) is not None
    root = None
    if known and rest:
        text = rest.pop(0)
        root = int(text) if _ROOT.fullmatch(text) else None
    n_printed = len(rest)
    is_cut = n_printed < n_figures
    # the last thing of a cut row may be half a number, but what fills a block of columns is whole
    if is_cut and rest and n_printed != 4:
        rest.pop()
    figures = [_figure(text) for text in rest[:n_figures]]
    if n_figures % 4:
        # a column that nobody printed
        figures = [*figures[:3], None, *figures[3:]]
    figures += [None] * (8 - len(figures))
    return RawRow(size, count, dtype, redop, root, tuple(figures[:8]), is_cut, n_printed)


def _left_of_row(line: str) -> tuple[int, int, str, str] | None:
    """Size, count and type where they stand beside each other, and what follows them."""
    for found in islice(_DTYPE.finditer(line), _MOST_TRIED):
        words = line[max(0, found.start() - _WIDEST) : found.start() + 1].split()[-2:]
        size = _SIZE.search(words[-2]) if len(words) > 1 else None
        if size and _COUNT.match(words[-1]):
            return int(size[0]), int(words[-1]), found[1], line[found.end() :]
    return None


def _figure(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and abs(value) < MOST else None


def read_rank(line: str) -> RankLine | None:
    """A line of the device list, of NCCL 2's tests or of NCCL 1's."""
    found = _RANK.search(line) if "Rank" in line else None
    if found is not None:
        rank, pid, host, device, bus, gpu = found.groups()
        return RankLine(int(rank), pid, host or "", int(device), bus, gpu.strip())
    old = _DEVICE.search(line) if "Device" in line else None
    if old is not None:
        return RankLine(int(old[1]), "", "", int(old[2]), old[3], old[4].strip())
    return None


def is_options(line: str) -> bool:
    """Whether it is the line `# nThread 1 nGpus 8 minBytes ...`."""
    return "nThread" in line and "Bytes" in line and _OPTION_LINE.search(line) is not None


def read_options(line: str) -> dict[str, int | str]:
    """What the line `# nThread 1 nGpus 8 minBytes ...` says."""
    found: dict[str, int | str] = {}
    for name, pattern in _OPTION.items():
        value = pattern.search(line)
        if value:
            found[name] = int(value[1])
    step = _STEP.search(line)
    if step:
        found |= {"step": int(step[1]), "step_by": step[2]}
    return found


def is_columns(line: str) -> bool:
    """Whether the line is the row of column titles."""
    return "algbw" in line and ("size" in line or "bytes" in line) and "busbw" in line


def figures_of(line: str) -> int:
    """How many columns of figures the row of column titles names."""
    behind = _BEHIND_BUS.findall(line)
    each = 3 if behind[:1] and behind[0] in {"", "time", "cputime"} else 4
    return each * min(len(behind), 2) or ALL_FIGURES


def has_cpu_time(line: str) -> bool:
    """Whether a row of column titles has the CPU's times in place of the GPU's (-C 1)."""
    return "cputime" in line


def has_root_column(line: str) -> bool:
    """Whether a row of column titles has `root`."""
    return re.search(r"\broot\b", line) is not None


def average_of(line: str) -> float | None:
    """The average bus bandwidth (GB/s) that the foot prints."""
    found = _AVERAGE.search(line) if "Avg" in line else None
    return _figure(found[1]) if found else None


def wrong_values(line: str) -> int | None:
    """How many values the foot calls out of bounds; None in any other line."""
    found = _BOUNDS.search(line) if "bounds" in line else None
    return int(found[1]) if found else None


def collective_of(line: str) -> str | None:
    """The collective that a program's name in the line stands for."""
    if "_perf" not in line and "_test" not in line and "-t " not in line:
        return None
    name = _program_of(line)
    if name is None:
        options = _OPTION_NAME.findall(line)
        name = options[-1] if options else None
    return project_name(name) if name else None


def _program_of(line: str) -> str | None:
    """The last program's name in the line, without its ending."""
    end = len(line)
    for _ in range(_MOST_TRIED):
        end = max(line.rfind("_perf", 0, end), line.rfind("_test", 0, end))
        if end < 0:
            break
        # one sign more than the longest name has, so that no end of a longer word is taken for one
        found = _LAST_WORD.search(line[max(0, end - 15) : end])
        if found is not None and found[0] in _NAMES and _ENDING.match(line, end):
            return found[0]
    return None


def project_name(text: str) -> str:
    """A test's name as the project calls the collective."""
    return COLLECTIVES.get(text.replace("_", ""), text)


def failure_of(line: str, small: str) -> str | None:
    """The line, if it says that something failed.

    Args:
        line: The line.
        small: The same in small letters.
    """
    for words in _FAILURES:  # not any(): logs have many lines that tell of no failure
        if words in small:
            return line.strip()[:160]
    return None


def said_ranks(line: str) -> int | None:
    """How many GPUs text around the table speaks of."""
    found = _SAID_BY_WORD.search(line) if "GPUs" in line else None
    if found is None and ("00-" in line or "nccl-test-" in line):
        found = _SAID_BY_NAME.search(line)
    return int(found[1]) if found else None


def version_of(line: str) -> str | None:
    """The library's version."""
    found = _VERSION.search(line) if "version" in line else None
    if found is None and "nccl-library=" in line:
        code = _VERSION_CODE.search(line)
        return version_by_code(int(code[1])) if code else None
    return found[1] if found else None


def version_by_code(code: int) -> str:
    """NCCL's version by its number: 22807 is 2.28.7, and up to 2.8 2708 is 2.7.8."""
    above = 10_000 if code >= 10_000 else 1000
    return f"{code // above}.{code % above // 100}.{code % 100}"
