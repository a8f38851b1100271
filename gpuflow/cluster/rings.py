"""In which orders rings visit GPUs: one ring a channel, several channels at a time.

One ring of a group would use one NIC of a node, and on a mesh one link of a GPU. NCCL and RCCL run
rings side by side: over several nodes one for each NIC, which leaves every node at another place;
on a mesh as many as there are without a common link.
"""

from __future__ import annotations

import numpy as np

from gpuflow.cluster.fabric import Fabric
from gpuflow.cluster.wiring import DirectWiring
from gpuflow.collectives.schedule import IntArray


def ring_orders(fabric: Fabric) -> IntArray:
    """GPUs in the order of each ring over all of them; shape (channels, G).

    Every ring carries an equal share of the data.
    """
    g = fabric.gpus_per_node
    filled, last = _cycles(fabric, is_last=False), _cycles(fabric, is_last=True)
    n_filled, rest = divmod(fabric.n_gpus, g)
    if fabric.between is None:
        return filled if n_filled else last
    n_nics = int(fabric.between.nic_of[g - 1]) + 1
    firsts = np.arange(n_nics) * (g // n_nics)
    base = np.arange(n_filled)[:, np.newaxis] * g
    return np.stack(
        [
            np.append(
                (base + _begun_at(filled, channel, first)).ravel(),
                n_filled * g + _begun_at(last, channel, first if first < rest else 0),
            )
            for channel, first in enumerate(firsts.tolist())
        ]
    )


def _cycles(fabric: Fabric, *, is_last: bool) -> IntArray:
    """Rings inside a node that is filled, or in what is left for the last one; (rings, places)."""
    if isinstance(fabric.inside, DirectWiring):
        return fabric.inside.cycles[is_last]
    places = fabric.n_gpus % fabric.gpus_per_node if is_last else fabric.gpus_per_node
    return np.arange(places)[np.newaxis]


def _begun_at(cycles: IntArray, channel: int, first: int) -> IntArray:
    """One of the cycles, from a place on; empty for a node without GPUs."""
    cycle: IntArray = cycles[channel % len(cycles)]
    if not len(cycle):
        return cycle
    return np.roll(cycle, -int(np.flatnonzero(cycle == first)[0]))
