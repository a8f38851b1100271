"""What a scenario file and the overrides say, value by value, before it is known to fit."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from gpuflow.errors import Problem
from gpuflow.scenario.nodes import Node, Problems
from gpuflow.scenario.reader import Fields
from gpuflow.scenario.spec import StepSpec, Text
from gpuflow.scenario.steps import read_steps
from gpuflow.scenario.texts import TEXT_EXAMPLE, read_text
from gpuflow.units import parse_bandwidth

FORMAT = "scenario/1"
MAX_RANKS = 16_384
"""Ranks of one scenario, and so the largest degree of any split."""
LIMITS = {
    "tp": MAX_RANKS,
    "pp": MAX_RANKS,
    "dp": MAX_RANKS,
    "ep": MAX_RANKS,
    "gpus_per_node": MAX_RANKS,
    "nics_per_node": MAX_RANKS,
    "batch": 1_000_000,
    "prompt": 100_000_000,
    "output": 100_000_000,
    "context": 100_000_000,
    "chunk": 100_000_000,
    "micro_batches": 1_000_000,
}
"""Largest value of each whole number; the smallest is 1."""

TOP_KEYS = (
    "gpuflow",
    "name",
    "title",
    "model",
    "precision",
    "cluster",
    "parallel",
    "workload",
    "profile",
    "all_reduce",
    "steps",
)
CLUSTER_KEYS = (
    "gpu",
    "scale_up",
    "scale_out",
    "gpus_per_node",
    "nics_per_node",
    "nic_bandwidth",
    "oversubscription",
    "pxn",
)
LEAST_OVERSUBSCRIPTION, MOST_OVERSUBSCRIPTION = 1, 100
PARALLEL_KEYS = ("tp", "pp", "dp", "ep")
STAGE_KEY = "layers"
"""Of `parallel`: the layers of each stage, where stages are not alike."""
MOST_LAYERS = 10_000
WORKLOAD_KEYS = ("batch", "prompt", "output", "context", "chunk", "micro_batches")
OVERLAP_KEY = "overlap"

TOP_REQUIRED = {
    "gpuflow": FORMAT,
    "name": "my-scenario",
    "title": TEXT_EXAMPLE,
    "model": "llama-3-8b",
    "cluster": "{gpu: h100-sxm}",
    "workload": "{batch: 1, prompt: 512, output: 128}",
    "steps": "[...]",
}
CLUSTER_REQUIRED = {"gpu": "h100-sxm"}
WORKLOAD_REQUIRED = {"batch": "1", "prompt": "512", "output": "128"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """Options that replace what a scenario says; None leaves it."""

    model: str | None = None
    """Catalogue name, a config.json or its folder."""
    gpu: str | None = None
    """Brings its own fabrics and number of GPUs a node."""
    fabric: str | None = None
    """Inside nodes or between them, whichever tier it is of."""
    tp: int | None = None
    pp: int | None = None
    ep: int | None = None
    dp: int | None = None
    batch: int | None = None
    prompt: int | None = None
    output: int | None = None
    context: int | None = None
    chunk: int | None = None
    """Prompt tokens of one prefill pass at most."""
    micro_batches: int | None = None
    overlap: bool | None = None
    """Whether messages run beside computing."""
    precision: str | None = None
    profile: str | None = None
    all_reduce: str | None = None
    """Algorithm of all_reduce, or auto."""
    layers: tuple[int, ...] | None = None
    """Layers of each pipeline stage."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value came from: a node of the file, or an option."""

    key: str
    """Dotted key, or `--option`."""
    node: Node | None


@dataclass(slots=True)
class Draft:
    """Values by their short name; what was missing or broken is absent."""

    problems: Problems
    name: str | None = None
    title: Text | None = None
    steps: tuple[StepSpec, ...] | None = None
    words: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    stage_layers: tuple[int, ...] = ()
    overlap: bool | None = None
    nic_bandwidth_bytes_per_s: float | None = None
    oversubscription: float | None = None
    pxn: bool | None = None
    places: dict[str, Place] = field(default_factory=dict)

    def is_option(self, name: str) -> bool:
        """Whether a value was given as an option."""
        return name in self.places and self.places[name].key.startswith("--")

    def blame(self, code: str, names: tuple[str, ...], *, hint: str = "", **values: object) -> None:
        """Reports a problem between values at the one the user should look at.

        An option is looked at before the file, and of either the first of `names`.
        """
        given = [name for name in names if name in self.places]
        options = [name for name in given if self.is_option(name)]
        chosen = next(iter(options or given), None)
        if chosen is None:
            self.problems.add(code, hint=hint, values=values)
            return
        place = self.places[chosen]
        if self.is_option(chosen):
            self.problems.extend([Problem(code=code, key=place.key, values=values, hint=hint)])
        else:
            self.problems.add(code, place.node, key=place.key, hint=hint, values=values)


def read_draft(top: Fields, overrides: Overrides) -> Draft:
    """Reads a scenario's mapping and lays the overrides over it."""
    draft = Draft(top.problems)
    top.known(TOP_KEYS, TOP_REQUIRED)
    _check_format(top)
    draft.name = top.identifier("name")
    draft.title = read_text(top, "title")
    for name in ("model", "precision", "profile", "all_reduce"):
        _take_word(draft, top, name)
    _read_cluster(draft, top.mapping("cluster"))
    _read_parallel(draft, top.mapping("parallel"))
    _read_workload(draft, top.mapping("workload"))
    draft.steps = read_steps(top)
    _lay_over(draft, overrides)
    return draft


def _check_format(top: Fields) -> None:
    word = top.word("gpuflow")
    if word is not None and word != FORMAT:
        node = top.node.values["gpuflow"]
        top.problems.add(
            "unknown_format",
            node,
            key="gpuflow",
            hint="did_you_mean",
            found=word,
            suggestion=FORMAT,
        )


def _read_cluster(draft: Draft, cluster: Fields | None) -> None:
    if cluster is None:
        return
    cluster.known(CLUSTER_KEYS, CLUSTER_REQUIRED)
    for name in ("gpu", "scale_up", "scale_out"):
        _take_word(draft, cluster, name)
    for name in ("gpus_per_node", "nics_per_node"):
        _take_number(draft, cluster, name)
    draft.nic_bandwidth_bytes_per_s = cluster.quantity("nic_bandwidth", parse_bandwidth)
    draft.oversubscription = cluster.ratio(
        "oversubscription", LEAST_OVERSUBSCRIPTION, MOST_OVERSUBSCRIPTION
    )
    draft.pxn = cluster.flag("pxn")
    if draft.pxn is not None:
        draft.places["pxn"] = Place(cluster.path("pxn"), cluster.node.values["pxn"])


def _read_parallel(draft: Draft, parallel: Fields | None) -> None:
    if parallel is None:
        return
    parallel.known((*PARALLEL_KEYS, STAGE_KEY))
    for name in PARALLEL_KEYS:
        _take_number(draft, parallel, name)
    listed = parallel.wholes(STAGE_KEY, 1, MOST_LAYERS)
    if listed:
        draft.stage_layers = listed
        draft.places[STAGE_KEY] = Place(parallel.path(STAGE_KEY), parallel.node.values[STAGE_KEY])


def _read_workload(draft: Draft, workload: Fields | None) -> None:
    if workload is None:
        return
    workload.known((*WORKLOAD_KEYS, OVERLAP_KEY), WORKLOAD_REQUIRED)
    for name in WORKLOAD_KEYS:
        _take_number(draft, workload, name)
    draft.overlap = workload.flag(OVERLAP_KEY)


def _take_word(draft: Draft, inner: Fields, name: str) -> None:
    word = inner.word(name)
    if word is not None:
        draft.words[name] = word
        draft.places[name] = Place(inner.path(name), inner.node.values[name])


def _take_number(draft: Draft, inner: Fields, name: str) -> None:
    number = inner.whole(name, 1, LIMITS[name])
    if number is not None:
        draft.numbers[name] = number
        draft.places[name] = Place(inner.path(name), inner.node.values[name])


def _lay_over(draft: Draft, overrides: Overrides) -> None:
    for option in fields(overrides):
        value = getattr(overrides, option.name)
        if value is None:
            continue
        draft.places[option.name] = Place(f"--{option.name.replace('_', '-')}", None)
        if isinstance(value, bool):
            draft.overlap = value
        elif isinstance(value, str):
            draft.words[option.name] = value
        elif isinstance(value, tuple):
            draft.stage_layers = value
        elif 1 <= value <= LIMITS[option.name]:
            draft.numbers[option.name] = value
        else:
            draft.numbers.pop(option.name, None)
            draft.blame(
                "out_of_range",
                (option.name,),
                hint="in_range",
                found=value,
                least=1,
                most=LIMITS[option.name],
            )
    if overrides.model is not None and overrides.precision is None:
        _forget(draft, "precision")
    if overrides.layers is not None:
        if overrides.pp is None:
            _forget(draft, "pp")
    elif overrides.pp is not None or overrides.model is not None:
        # The file's own list was for its own stages and model.
        _forget(draft, STAGE_KEY)
        draft.stage_layers = ()
    if overrides.gpu is not None:
        for name in ("scale_up", "scale_out", "gpus_per_node", "nics_per_node", "pxn"):
            _forget(draft, name)
        draft.nic_bandwidth_bytes_per_s = draft.oversubscription = draft.pxn = None


def _forget(draft: Draft, name: str) -> None:
    draft.words.pop(name, None)
    draft.numbers.pop(name, None)
    draft.places.pop(name, None)
