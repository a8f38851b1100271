"""Times of expert-parallel dispatch and combine, fitted to measured kernels.

A rank sends its copies (tokens x experts per token) to n ranks alike: (g-1)/n of the bytes stay on
the links of its node of g GPUs, (n-g)/n cross its NIC, both at once; 1/n it keeps.

    one node       t = (a^(1/q) + (bytes / b)^(1/q))^q, a and bytes growing with log2(n/8)
    several nodes  t = max(one node's rule without its a, alpha + grow log2 k + NIC bytes / rate)

DeepEP's low-latency kernels reach the NIC's own rate, so that one row over several nodes suffices:
it gives alpha, the fabric gives the rate. With rows over several node counts all three are fitted.
Sources of the rows: DeepEP V1 README, aiconfigurator-core 0.12, TensorRT-LLM blog 18.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from gpuflow.cluster.curves import FloatArray
from gpuflow.cluster.measurements import (
    EXPERT_COLUMNS,
    MOST_RANKS,
    MOST_SIZE_BYTES,
    figure,
    read_tables,
    shipped_truth,
)
from gpuflow.cluster.multi_node import nic_of
from gpuflow.cluster.nccl_model import chip

FP8_BYTES = 1.0 + 4 / 128
"""One scale of 4 bytes for 128 values (DeepEP)."""
BYTES_PER_VALUE: Mapping[str, float] = {"fp8": FP8_BYTES, "bf16": 2.0, "fp16": 2.0}
DOMAIN_GPUS: Mapping[str, int] = {"gb200": 72, "gb300": 72}
"""GPUs in one NVLink domain, where it is not a node of eight."""
REFERENCE_RANKS = 8
NORMAL_KERNEL_SHARE = 0.95
"""Of the links' planned rate, by DeepEP's normal kernels inside a node (153 to 158 of 165 GB/s)."""

ASSUMED_ALPHA_S = 12e-6
"""Fixed time inside a node where a single row was measured: DeepEP's on H100 is 10 to 15 us."""

_EXPONENTS = np.linspace(0.4, 1.6, 13)
_GROWTHS = np.linspace(0.0, 0.3, 7)


@dataclass(frozen=True, slots=True)
class Exchange:
    """What is sent."""

    gpu: str
    kernel: str
    op: str
    """dispatch or combine."""
    ranks: int
    nodes: int
    copies_bytes: float
    """All copies one rank sends, its own share included."""
    fabric: str
    """Fabric between nodes."""


@dataclass(frozen=True, slots=True)
class ExchangeRow:
    """One measured exchange."""

    exchange: Exchange
    time_s: float
    source: str
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeFit:
    """Constants of one kernel on one GPU."""

    alpha_s: float
    """One node: fixed time of eight ranks."""
    bandwidth_bytes_per_s: float
    q: float
    alpha_growth: float
    """Part by which the fixed time grows when ranks double."""
    wire_growth: float
    """Part by which the time of the bytes grows when ranks double."""
    nic_alpha_s: float
    """Several nodes: fixed time of two."""
    nic_growth_s: float
    """Added when nodes double."""
    nic_bytes_per_s: float
    rows: tuple[str, ...]
    sources: tuple[str, ...]
    error: float
    """Mean relative error on those rows."""

    def seconds(self, exchange: Exchange) -> float:
        """Time of one exchange."""
        inside = local_bytes(exchange)
        doublings = np.log2(exchange.ranks / exchange.nodes / REFERENCE_RANKS)
        alpha = self.alpha_s * max(1 + self.alpha_growth * doublings, 0.5)
        wire = inside / self.bandwidth_bytes_per_s * max(1 + self.wire_growth * doublings, 0.5)
        if exchange.nodes == 1:
            return float((alpha ** (1 / self.q) + wire ** (1 / self.q)) ** self.q)
        grown = self.nic_growth_s * (np.log2(exchange.nodes) - 1)
        over_nic = self.nic_alpha_s + grown + nic_bytes(exchange) / self.nic_bytes_per_s
        return float(max(wire, over_nic))


def local_bytes(exchange: Exchange) -> float:
    """Bytes to other ranks of the node."""
    per_node = exchange.ranks / exchange.nodes
    return exchange.copies_bytes * (per_node - 1) / exchange.ranks


def nic_bytes(exchange: Exchange) -> float:
    """Bytes to ranks of other nodes."""
    return exchange.copies_bytes * (1 - 1 / exchange.nodes)


# ---------------------------------------------------------------- rows


def exchange_of(columns: Mapping[str, str]) -> Exchange | None:
    """What a row of the table of exchanges sent; None where it cannot be read."""
    try:
        ranks = int(figure(columns["ep"]))
        values = figure(columns["tokens_per_rank"]) * figure(columns["hidden"])
        copies = values * figure(columns["top_k"])
        sent = copies * BYTES_PER_VALUE[columns["dtype"]]
    except (KeyError, ValueError):
        return None
    if not (0 < ranks <= MOST_RANKS and 0 < sent <= MOST_SIZE_BYTES):
        return None
    text = columns.get("fabric", "")
    written = re.search(r"(\d{1,6}) nodes?\b", text, re.ASCII)
    domain = DOMAIN_GPUS.get(columns["gpu"], 8)
    nodes = int(written.group(1)) if written else -(-ranks // domain)
    if nodes < 1 or ranks % nodes:
        return None
    # 400 Gb/s by any maker reach the same share of the NIC
    fabric = "ib-ndr" if "400G" in text else ""
    return Exchange(columns["gpu"], columns["kernel"], columns["op"], ranks, nodes, sent, fabric)


def read_exchanges(folder: Path) -> tuple[ExchangeRow, ...]:
    """Rows with a time; those that give a rate only are not fitted."""
    found = []
    for columns, place in read_tables(folder, EXPERT_COLUMNS):
        exchange = exchange_of(columns)
        try:
            time_s = 1e-6 * figure(columns.get("time_us", ""))
        except ValueError:
            continue
        if exchange is not None and time_s > 0:
            found.append(ExchangeRow(exchange, time_s, columns.get("source", ""), place))
    return tuple(found)


# ---------------------------------------------------------------- fitting


def fit_exchange(rows: Sequence[ExchangeRow]) -> ExchangeFit:
    """Fit one kernel's constants.

    Args:
        rows: Of one GPU, kernel and operation; at least one within a node.

    Raises:
        ValueError: None is within a node, or several nodes have no known network.
    """
    inside = [row for row in rows if row.exchange.nodes == 1]
    across = [row for row in rows if row.exchange.nodes > 1]
    if not inside:
        raise ValueError("no row within one node")
    alpha, bandwidth, q, alpha_growth, wire_growth = _fit_inside(inside)
    nic_alpha, nic_growth, nic_rate = _fit_across(across) if across else (np.nan, 0.0, np.nan)
    found = ExchangeFit(
        alpha_s=alpha,
        bandwidth_bytes_per_s=bandwidth,
        q=q,
        alpha_growth=alpha_growth,
        wire_growth=wire_growth,
        nic_alpha_s=nic_alpha,
        nic_growth_s=nic_growth,
        nic_bytes_per_s=nic_rate,
        rows=tuple(row.place for row in rows),
        sources=tuple(dict.fromkeys(row.source for row in rows)),
        error=0.0,
    )
    misses = [abs(found.seconds(row.exchange) / row.time_s - 1) for row in rows]
    return replace(found, error=float(np.mean(misses)))


def _fit_inside(rows: Sequence[ExchangeRow]) -> tuple[float, float, float, float, float]:
    """alpha, bandwidth, q and both growths; a straight line without growth for few rows."""
    times = np.array([row.time_s for row in rows])
    wire = np.array([local_bytes(row.exchange) for row in rows])
    doublings = np.log2([row.exchange.ranks / REFERENCE_RANKS for row in rows])
    if len(rows) == 1:
        # one row cannot tell latency from bytes
        alpha = min(ASSUMED_ALPHA_S, 0.5 * float(times[0]))
        return alpha, float(wire[0] / (times[0] - alpha)), 1.0, 0.0, 0.0
    exponents = _EXPONENTS if len(rows) > 4 else np.ones(1)
    growths = _GROWTHS if np.ptp(doublings) > 0 else np.zeros(1)
    best: tuple[float, tuple[float, float, float, float, float]] | None = None
    for q in exponents:
        y = times ** (1 / q)
        for alpha_growth in growths:
            u = (1 + alpha_growth * doublings) ** (1 / q) / y
            for wire_growth in growths:
                v = (wire * (1 + wire_growth * doublings)) ** (1 / q) / y
                a, b = _positive_pair(u, v)
                miss = float(np.mean(np.abs((a * u + b * v) ** q - 1)))
                if best is None or miss < best[0] - 1e-9:
                    alpha, rate = float(a**q), float(b**-q)
                    constants = (alpha, rate, float(q), float(alpha_growth), float(wire_growth))
                    best = (miss, constants)
    if best is None:
        raise ValueError("nothing to fit")
    return best[1]


def _positive_pair(u: FloatArray, v: FloatArray) -> tuple[float, float]:
    """Least squares of a u + b v = 1 with neither below (nearly) nothing."""
    found, *_ = np.linalg.lstsq(np.stack([u, v], axis=1), np.ones(len(u)), rcond=None)
    a, b = float(found[0]), float(found[1])
    if a <= 0:
        return 1e-9 / float(u.max()), float(v.sum() / (v @ v))
    if b <= 0:
        return float(u.sum() / (u @ u)), 1e-9 / float(v.max())
    return a, b


def _fit_across(rows: Sequence[ExchangeRow]) -> tuple[float, float, float]:
    """Fixed time of two nodes, growth with doublings, and the rate of the NIC.

    The rate is the fabric's unless three node counts were measured.
    """
    times = np.array([row.time_s for row in rows])
    wire = np.array([nic_bytes(row.exchange) for row in rows])
    doublings = np.log2([row.exchange.nodes for row in rows]) - 1
    if len(rows) >= 4 and len(set(doublings)) >= 3:
        terms = np.stack([np.ones(len(rows)), doublings, wire], axis=1) / times[:, None]
        alpha, growth, per_byte = np.linalg.lstsq(terms, np.ones(len(rows)), rcond=None)[0]
        if alpha > 0 and per_byte > 0:
            return float(alpha), max(float(growth), 0.0), 1 / float(per_byte)
    nic = nic_of(rows[0].exchange.fabric)
    if nic is None:
        raise ValueError("several nodes without a known network")
    left = times - wire / nic.bytes_per_s
    # every row weighs by its relative error
    alpha = float(np.sum(left / times**2) / np.sum(1 / times**2))
    return max(alpha, 0.0), 0.0, nic.bytes_per_s


@dataclass(frozen=True, slots=True)
class ExchangePrediction:
    """A predicted exchange."""

    time_s: float
    is_extrapolated: bool
    """Whether it is another GPU's, or nodes or bytes lie beyond what was measured."""
    fit: ExchangeFit


class ExchangeBook:
    """Kernels fitted to a set of rows."""

    def __init__(self, rows: Iterable[ExchangeRow]) -> None:
        self._rows: dict[tuple[str, str, str], list[ExchangeRow]] = {}
        for row in rows:
            one = row.exchange
            self._rows.setdefault((one.gpu, one.kernel, one.op), []).append(row)
        self._fitted: dict[tuple[str, str, str], ExchangeFit] = {}

    def fit(self, gpu: str, kernel: str, op: str) -> ExchangeFit | None:
        """The kernel's constants on a GPU; None if it was not measured there."""
        name = (gpu, kernel, op)
        if name not in self._rows:
            return None
        if name not in self._fitted:
            self._fitted[name] = fit_exchange(self._rows[name])
        return self._fitted[name]

    def predict(self, exchange: Exchange) -> ExchangePrediction:
        """Time of an exchange; on a GPU not measured, that of one that was.

        Raises:
            ValueError: The kernel was never measured, or never over several nodes.
        """
        own = self.fit(exchange.gpu, exchange.kernel, exchange.op)
        found = own
        if found is None:
            for gpu, kernel, op in self._rows:
                if (kernel, op) == (exchange.kernel, exchange.op):
                    found = self.fit(gpu, kernel, op)
        if found is None or (exchange.nodes > 1 and not found.nic_bytes_per_s > 0):
            raise ValueError(f"nothing known of {exchange.kernel} {exchange.op} on {exchange.gpu}")
        rows = self._rows.get((exchange.gpu, exchange.kernel, exchange.op), [])
        sizes = [row.exchange.copies_bytes for row in rows]
        inside = (
            own is not None
            and min(sizes) <= exchange.copies_bytes <= max(sizes)
            and exchange.nodes <= max(row.exchange.nodes for row in rows)
        )
        return ExchangePrediction(found.seconds(exchange), not inside, found)


@cache
def shipped_exchanges() -> ExchangeBook:
    """Kernels fitted to the project's own rows."""
    return ExchangeBook(read_exchanges(shipped_truth()))


def normal_bandwidth(exchange: Exchange) -> float:
    """Rate (bytes/s) of DeepEP's normal kernels, which report one instead of a time.

    Inside a node nearly what NCCL's planner counts for its links, between nodes what the NIC
    reaches.

    Raises:
        ValueError: The GPU or the network is not known.
    """
    gpu, nic = chip(exchange.gpu), nic_of(exchange.fabric)
    if exchange.nodes == 1 and gpu is not None:
        return NORMAL_KERNEL_SHARE * gpu.bus_bytes_per_s
    if nic is None:
        raise ValueError(f"nothing known of {exchange.gpu} over {exchange.fabric}")
    return nic.bytes_per_s
