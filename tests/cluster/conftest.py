"""Random machines for the tests of this room."""

from dataclasses import replace

import pytest
from hypothesis import strategies as st

from gpuflow.cluster.fabric import build_fabric
from gpuflow.scenario import catalog
from gpuflow.scenario.spec import ClusterSpec


@st.composite
def _fabrics(draw, most_gpus=30):
    """Any node, any network, any number of GPUs."""
    per_node = draw(st.integers(1, 8))
    nvlink = replace(
        catalog.fabric("nvlink-4"),
        name="inside",
        topology=draw(st.sampled_from(["switch", "mesh", "cube_mesh", "pcie"])),
    )
    inside = replace(
        nvlink,
        gpus_per_switch=draw(st.integers(0, 4)),
        hosts=draw(st.integers(1, 4)),
        host_link_bandwidth_bytes_per_s=draw(st.sampled_from([None, 20e9])),
        bridge=draw(st.sampled_from([None, nvlink])),
    )
    between = replace(
        catalog.fabric("ib-ndr"),
        name="between",
        topology=draw(st.sampled_from(["fat_tree", "rail"])),
        leaf_ports=draw(st.integers(0, 9)),
        oversubscription=draw(st.sampled_from([1.0, 2.5])),
        pxn=draw(st.booleans()),
        switch_latency_s=0.5e-6,
    )
    machine = ClusterSpec(
        device=catalog.device("h100-sxm"),
        scale_up=inside,
        scale_out=between,
        gpus_per_node=per_node,
        nics_per_node=draw(
            st.sampled_from([n for n in range(1, per_node + 1) if per_node % n == 0])
        ),
    )
    return build_fabric(machine, draw(st.integers(1, most_gpus)))


@pytest.fixture(scope="session")
def any_fabric():
    """A strategy that draws fabrics of up to 30 GPUs."""
    return _fabrics()
