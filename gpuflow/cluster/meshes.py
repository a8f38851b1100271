"""Nodes whose GPUs are joined directly: all pairs (xGMI, HCCS), or DGX-1's hybrid cube mesh.

A ring uses one link of each GPU, so libraries run several at a time that have no link in common.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np

from gpuflow.cluster.wiring import NO_LINK, DirectWiring, Parts, Rate, direct
from gpuflow.collectives.schedule import IntArray
from gpuflow.scenario.spec import CUBE_MESH_GPUS, FabricSpec

_CUBE_ROWS = (
    "01122000",
    "10210200",
    "12020010",
    "21200001",
    "20000112",
    "02001021",
    "00101202",
    "00012120",
)
"""NVLinks from GPU to GPU as `nvidia-smi topo -m` prints them on a DGX-1 with V100: six each, two
quads joined at four corners."""
CUBE_STRANDS = 6
MOST_SEARCHED_GPUS = 8
"""Rings of larger nodes are not searched for but taken at equal steps."""


def full_mesh(parts: Parts, gpus: IntArray, fabric: FabricSpec, rate: Rate) -> DirectWiring:
    """A link to each other GPU of the node, each an equal share of what the GPU reaches."""
    g = parts.gpus_per_node
    share = fabric.bus_bandwidth_bytes_per_s / max(g - 1, 1)
    capacity = fabric.hop_bandwidth_bytes_per_s if rate == "hop" else share
    sizes = (g, len(gpus) % g)
    strands = tuple(1 - np.eye(m, dtype=np.int64) for m in sizes)
    none = tuple(np.full((m, m), NO_LINK) for m in sizes)
    return direct(parts, gpus, _two(strands), capacity, _two(none))


def cube_mesh(parts: Parts, gpus: IntArray, fabric: FabricSpec, rate: Rate) -> DirectWiring:
    """Two quads; GPUs without a common link go by way of one that both have a link to.

    Raises:
        ValueError: The node has more than eight GPUs.
    """
    g = parts.gpus_per_node
    if g > CUBE_MESH_GPUS:
        raise ValueError(f"{fabric.name}: a cube mesh has {CUBE_MESH_GPUS} GPUs, not {g}")
    share = fabric.bus_bandwidth_bytes_per_s / CUBE_STRANDS
    strand = fabric.hop_bandwidth_bytes_per_s if rate == "hop" else share
    sizes = (g, len(gpus) % g)
    strands = tuple(cube_strands(m) for m in sizes)
    via = tuple(_cube_via(m) for m in sizes)
    return direct(parts, gpus, _two(strands), strand, _two(via))


def _two(pair: tuple[IntArray, ...]) -> tuple[IntArray, IntArray]:
    return pair[0], pair[1]


def cube_strands(n_gpus: int) -> IntArray:
    """NVLinks between each two of the first GPUs; shape (n_gpus, n_gpus)."""
    table = np.array([[int(x) for x in row] for row in _CUBE_ROWS])
    return table[:n_gpus, :n_gpus]


def _cube_via(n_gpus: int) -> IntArray:
    """The corner of the sender's own quad below the receiver, or the one below the sender.

    The first where it is in use: it spreads what everybody sends to everybody over all links.
    """
    via = np.full((n_gpus, n_gpus), NO_LINK)
    strands = cube_strands(n_gpus)
    for a, b in zip(*np.nonzero((strands == 0) & ~np.eye(n_gpus, dtype=bool)), strict=True):
        own_quad = (b + 4) % CUBE_MESH_GPUS
        via[a, b] = own_quad if own_quad < n_gpus else (a + 4) % CUBE_MESH_GPUS
    return via


# ---- rings


def disjoint_rings(strands: IntArray) -> IntArray:
    """As many rings through all GPUs as there can be at once, no strand used twice one way.

    Seven for a full mesh of eight (Tillson 1980), two for one of four, six for a cube mesh. NCCL
    and RCCL search their rings likewise. GPUs that no ring joins are taken in order.

    Args:
        strands: Parallel links from place to place, shape (g, g).

    Returns:
        Places in the order of a visit, shape (rings, g).
    """
    g = len(strands)
    if g < 2:
        return np.zeros((1, g), dtype=np.int64)
    if g <= MOST_SEARCHED_GPUS:
        found = _search(tuple(map(tuple, strands.tolist())))
    else:
        steps = [step for step in range(1, g) if math.gcd(step, g) == 1 and strands[0, step]]
        found = tuple(tuple(step * turn % g for turn in range(g)) for step in steps)
    return np.array(found or [range(g)])


_LANE = 4
"""Bits that count the strands left of one link; the highest of them is a guard."""


@lru_cache(maxsize=64)
def _search(strands: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """All rings from place 0 are known; those are combined whose links do not run out."""
    g = len(strands)
    guards = sum(1 << (_LANE * (lane + 1) - 1) for lane in range(g * g))
    left = sum(
        strands[a][b] << (_LANE * (a * g + b)) for a, b in itertools.product(range(g), repeat=2)
    )
    rings_by_first: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
    for order in itertools.permutations(range(1, g)):
        ring = (0, *order)
        hops = list(zip(ring, (*order, 0), strict=True))
        if all(strands[a][b] for a, b in hops):
            use = sum(1 << (_LANE * (a * g + b)) for a, b in hops)
            rings_by_first.setdefault(order[0], []).append((use, ring))
    starts = [b for b in range(1, g) for _ in range(strands[0][b]) if b in rings_by_first]
    most = min((min(sum(row), len(starts)) for row in strands), default=0)

    def choose(place: int, skips: int, left: int) -> tuple[tuple[int, ...], ...] | None:
        if place == len(starts):
            return ()
        for use, ring in rings_by_first[starts[place]]:
            rest = (left | guards) - use
            if rest & guards == guards:
                more = choose(place + 1, skips, rest ^ guards)
                if more is not None:
                    return (ring, *more)
        return choose(place + 1, skips - 1, left) if skips else None

    for wanted in range(most, 0, -1):
        found = choose(0, len(starts) - wanted, left)
        if found is not None:
            return found
    return ()
