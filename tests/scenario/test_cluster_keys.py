"""Keys of `cluster:` that shape the network: NICs of a node, oversubscription, PXN."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from gpuflow.errors import ScenarioError
from gpuflow.scenario.load import Overrides, load_scenario
from gpuflow.scenario.schema import json_schema
from gpuflow.scenario.spec import ClusterSpec

DATA = Path(__file__).parent.parent / "data"


def cluster(tmp_path: Path, keys: str, overrides: Overrides | None = None) -> ClusterSpec:
    text = (DATA / "scenarios" / "small.yaml").read_text("utf-8")
    path = tmp_path / "edited.yaml"
    path.write_text(text.replace("{gpu: h100-sxm}", f"{{gpu: h100-sxm{keys}}}"), "utf-8")
    assert keys in path.read_text("utf-8")
    Draft202012Validator(json_schema()).validate(yaml.safe_load(path.read_text("utf-8")))
    return load_scenario(path, overrides or Overrides()).cluster


def test_without_them_every_gpu_has_a_nic(tmp_path: Path) -> None:
    plain = cluster(tmp_path, "")
    assert (plain.nics_per_node, plain.gpus_per_nic) == (None, 1)
    assert (plain.scale_out.oversubscription, plain.scale_out.pxn) == (1.0, False)


def test_shared_nics_leave_each_gpu_a_part_of_the_rate(tmp_path: Path) -> None:
    plain, shared = cluster(tmp_path, ""), cluster(tmp_path, ", nics_per_node: 4")
    assert (shared.nics_per_node, shared.gpus_per_nic) == (4, 2)
    for rate in ("link", "bus", "hop"):
        name = f"{rate}_bandwidth_bytes_per_s"
        assert getattr(shared.scale_out, name) == getattr(plain.scale_out, name) / 2
    assert shared.scale_out.title == "4 × InfiniBand NDR"
    faster = cluster(tmp_path, ", nics_per_node: 4, nic_bandwidth: 800 Gb/s")
    assert faster.scale_out.bus_bandwidth_bytes_per_s == plain.scale_out.bus_bandwidth_bytes_per_s
    assert faster.scale_out.title == "4 × InfiniBand NDR @ 800 Gb/s"


@pytest.mark.parametrize(("written", "is_on"), [("true", True), ("off", False), ("No", False)])
def test_pxn_can_be_switched_on_rails(tmp_path: Path, written: str, is_on: bool) -> None:
    rails = cluster(tmp_path, ", scale_out: ib-ndr-rail")
    assert rails.scale_out.pxn
    switched = cluster(tmp_path, f", scale_out: ib-ndr-rail, pxn: {written}")
    assert switched.scale_out.pxn is is_on


@pytest.mark.parametrize("written", ["2", "2.5", "1.0"])
def test_oversubscription_is_a_plain_number(tmp_path: Path, written: str) -> None:
    found = cluster(tmp_path, f", oversubscription: {written}")
    assert found.scale_out.oversubscription == float(written)


def test_another_gpu_brings_its_own_network(tmp_path: Path) -> None:
    keys = ", scale_out: ib-ndr-rail, nics_per_node: 2, oversubscription: 3, pxn: false"
    found = cluster(tmp_path, keys, Overrides(gpu="mi300x"))
    assert (found.scale_out.name, found.nics_per_node) == ("roce-400", None)
    assert (found.scale_out.oversubscription, found.scale_out.pxn) == (1.0, False)


@pytest.mark.parametrize("name", ["network-values", "oversubscription-range"])
def test_the_schema_refuses_what_the_reader_does(name: str) -> None:
    data = yaml.safe_load((DATA / "broken" / f"{name}.yaml").read_text("utf-8"))
    assert list(Draft202012Validator(json_schema()).iter_errors(data))


def test_a_fabric_takes_the_place_of_the_one_of_its_tier(tmp_path: Path) -> None:
    plain = cluster(tmp_path, "")
    inside = cluster(tmp_path, "", Overrides(fabric="pcie-5"))
    assert (inside.scale_up.name, inside.scale_out) == ("pcie-5", plain.scale_out)
    between = cluster(tmp_path, "", Overrides(fabric="roce-800"))
    assert (between.scale_up, between.scale_out.name) == (plain.scale_up, "roce-800")
    other = cluster(tmp_path, "", Overrides(gpu="a100", fabric="ib-xdr"))
    assert (other.scale_up.name, other.scale_out.name) == ("nvlink-3", "ib-xdr")


def test_what_a_file_says_of_its_network_is_not_said_of_another(tmp_path: Path) -> None:
    keys = ", scale_out: ib-ndr-rail, nic_bandwidth: 200 Gb/s, oversubscription: 2, pxn: false"
    own = cluster(tmp_path, keys)
    assert (own.scale_out.link_bandwidth_bytes_per_s, own.scale_out.oversubscription) == (25e9, 2)
    other = cluster(tmp_path, keys, Overrides(fabric="ib-xdr"))
    assert other.scale_out.link_bandwidth_bytes_per_s == 100e9
    assert other.scale_out.oversubscription == 1
    kept = cluster(tmp_path, keys, Overrides(fabric="pcie-5"))
    assert kept.scale_out == own.scale_out


def test_an_unknown_fabric_is_blamed_on_the_option(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        cluster(tmp_path, "", Overrides(fabric="nvlink-44"))
    (problem,) = caught.value.problems
    assert (problem.code, problem.key) == ("unknown_fabric", "--fabric")
    assert problem.values["suggestion"] == "nvlink-4"
