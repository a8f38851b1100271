"""Fabrics as documents and tables."""

from __future__ import annotations

import pytest

from gpuflow.exporters.catalogue import fabric_record, record_table
from gpuflow.scenario import catalog
from gpuflow.scenario.spec import Language
from gpuflow.words import LANGUAGES, has


def rows(name: str, language: Language) -> dict[str, str]:
    record = fabric_record(catalog.fabric(name))
    table = record_table(str(record["title"]), record, language)
    return {row[0].text: row[1].text for row in table.rows}


def test_what_a_topology_does_not_have_is_null() -> None:
    switch, tree, rail = (
        fabric_record(catalog.fabric(name)) for name in ("nvlink-4", "pcie-5-switch", "ib-ndr-rail")
    )
    assert (switch["gpus_per_switch"], tree["gpus_per_switch"]) == (None, 4)
    assert (switch["leaf_ports"], rail["leaf_ports"]) == (None, 32)
    assert (tree["pxn"], rail["pxn"]) == (None, True)


def test_a_bridge_is_a_fabric_of_its_own() -> None:
    record = fabric_record(catalog.fabric("pcie-5-bridge"))
    bridge = record["bridge"]
    assert isinstance(bridge, dict)
    assert bridge["bus_bandwidth_bytes_per_s"] == 247e9
    assert "name" not in bridge


def test_tables_write_bridges_ratios_and_latencies_with_their_units() -> None:
    assert rows("pcie-5-bridge", "en")["Pairs joined by"].startswith("NVLink 4 bridges, 247 GB/s")
    rail = rows("ib-ndr-rail", "en")
    assert (rail["Oversubscription"], rail["Each further switch"]) == ("1 : 1", "450 ns")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_value_has_a_name_in_every_language(language: Language) -> None:
    for name in catalog.fabric_names():
        for key, value in fabric_record(catalog.fabric(name)).items():
            assert value is None or has(f"field.{key}", language)
