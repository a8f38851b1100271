"""A request rate's load on the network: rows of the requirement table, and sentences."""

from __future__ import annotations

from collections.abc import Iterator

from gpuflow.engine.load import ClassBytes, HandOver, NetworkLoad, Oversubscription, Place
from gpuflow.engine.requirements import OK_HEADROOM, TIGHT_HEADROOM, Verdict
from gpuflow.exporters.figures import rate_both, share_or_nothing, size_or_nothing, time_or_nothing
from gpuflow.exporters.tables import NOTHING, Cell, Column, Table
from gpuflow.scenario.spec import Language
from gpuflow.units import Quantity, format_bytes, format_count
from gpuflow.words import t

NULLS = (
    *("bandwidth_rule", "latency_rule", "topology", "hardware", "fabric_here", "collective"),
    *("ranks", "available_latency_s", "predicted_s", "predicted_share", "target_s"),
)
"""Keys of a row of the requirement table that mean nothing for a load."""


def load_rows(load: NetworkLoad, language: Language) -> list[dict[str, object]]:
    """Rows beside those of the requirement table, under the same names and some more.

    needed_bandwidth is what is sustained; burst, hand-over and utilisation have names of their own.
    """
    return [_handover_row(load, language), *(_place_row(p, load, language) for p in load.places)]


def _row(row_id: str, language: Language, **values: object) -> dict[str, object]:
    names = {
        "id": row_id,
        "type": t(f"load.row.{row_id}", language),
        "phase": None,
        "tier": "Scale-out",
        "tier_here": "scale_out",
        "messages_per_pass": None,
        "needed_latency_s": None,
        "needed_bandwidth_here_bytes_per_s": None,
        "note": None,
    }
    return {**names, **dict.fromkeys(NULLS), **values}


def _handover_row(load: NetworkLoad, language: Language) -> dict[str, object]:
    over = load.handover
    headroom = over.capacity_bytes_per_s / over.sustained_bytes_per_s
    return _row(
        "kv_handover",
        language,
        message_size_bytes=over.request_bytes,
        needed_bandwidth_bytes_per_s=over.sustained_bytes_per_s,
        needed_latency_s=over.budget_s,
        available_bandwidth_bytes_per_s=over.capacity_bytes_per_s,
        headroom=headroom,
        verdict=_verdict(headroom),
        note=_handover_note(load, language),
        request_bytes=over.request_bytes,
        sustained_bytes_per_s=over.sustained_bytes_per_s,
        burst_bytes_per_s=over.burst_bytes_per_s,
        per_nic_bytes_per_s=over.per_nic_bytes_per_s,
        layered_bytes_per_s=over.layered_bytes_per_s,
        utilisation=1 / headroom,
    )


def _place_row(place: Place, load: NetworkLoad, language: Language) -> dict[str, object]:
    headroom = _headroom(place)
    tolerated = load.oversubscription.tolerated if place.id != "nic" else None
    return _row(
        f"load_{place.id}",
        language,
        message_size_bytes=None,
        needed_bandwidth_bytes_per_s=place.sustained_bytes_per_s,
        available_bandwidth_bytes_per_s=place.capacity_bytes_per_s,
        headroom=headroom,
        verdict=None if headroom is None else _verdict(headroom),
        request_bytes=place.request_bytes,
        sustained_bytes_per_s=place.sustained_bytes_per_s,
        burst_bytes_per_s=place.burst_bytes_per_s,
        handover_bytes_per_s=place.handover_bytes_per_s,
        utilisation=place.utilisation,
        oversubscription_tolerated=tolerated,
    )


def _headroom(place: Place) -> float | None:
    return 1 / place.utilisation if place.utilisation else None


def _verdict(headroom: float) -> Verdict:
    if headroom >= OK_HEADROOM:
        return "ok"
    return "tight" if headroom >= TIGHT_HEADROOM else "short"


def load_record(load: NetworkLoad, language: Language) -> dict[str, object]:
    """What stands under `load` in the document."""
    over = load.oversubscription
    return {
        "rate_per_s": load.rate_per_s,
        "served_per_s": load.served_per_s,
        "classes": [
            {
                "class": one.traffic_class,
                "phase": one.phase,
                "request_bytes": one.request_bytes,
                "sustained_bytes_per_s": load.rate_per_s * one.request_bytes,
            }
            for one in load.by_class
        ],
        "oversubscription": {
            "here": over.here,
            "tolerated": over.tolerated,
            "bound": over.bound,
            "bound_class": over.bound_class,
            "with_handover": over.with_handover,
        },
        "notes": list(_notes(load, language)),
    }


# ---------------------------------------------------------------- for people


def load_table(load: NetworkLoad, language: Language) -> Table:
    """The load's rows with their sentences."""
    names = ("place", "request", "sustained", "burst", "handover", "available", "used", "verdict")
    return Table(
        title=t("load.heading", language, rate=format_count(load.rate_per_s)),
        intro=(t("load.basis", language),),
        columns=tuple(
            Column(t(f"load.column.{name}", language), marks_row=name == "place") for name in names
        ),
        rows=(
            _handover_cells(load.handover, language),
            *(_place_cells(place, language) for place in load.places),
        ),
        notes=tuple(_notes(load, language)),
    )


def _rate(rate_bytes_per_s: float | None) -> Cell:
    return Cell(rate_both(rate_bytes_per_s, "scale_out"))


def _handover_cells(over: HandOver, language: Language) -> tuple[Cell, ...]:
    used = over.sustained_bytes_per_s / over.capacity_bytes_per_s
    return (
        Cell(t("load.row.kv_handover", language)),
        Cell(size_or_nothing(over.request_bytes)),
        _rate(over.sustained_bytes_per_s),
        _burst_a_nic(over, language),
        Cell(NOTHING),
        _rate(over.capacity_bytes_per_s),
        Cell(share_or_nothing(used)),
        _verdict_cell(1 / used, language),
    )


def _burst_a_nic(over: HandOver, language: Language) -> Cell:
    """It is of one NIC, in a row that is otherwise of all: a replica's alone burst at once."""
    if over.burst_bytes_per_s is None:
        return Cell(NOTHING)
    return Cell(t("load.a_nic", language, rate=rate_both(over.burst_bytes_per_s, "scale_out")))


def _place_cells(place: Place, language: Language) -> tuple[Cell, ...]:
    headroom = _headroom(place)
    return (
        Cell(t(f"load.row.load_{place.id}", language)),
        Cell(format_bytes(place.request_bytes)),
        _rate(place.sustained_bytes_per_s),
        _rate(place.burst_bytes_per_s),
        _rate(place.handover_bytes_per_s),
        _rate(place.capacity_bytes_per_s),
        Cell(share_or_nothing(place.utilisation)),
        Cell(NOTHING, "dim") if headroom is None else _verdict_cell(headroom, language),
    )


def _verdict_cell(headroom: float, language: Language) -> Cell:
    verdict = _verdict(headroom)
    return Cell(t(f"table.verdict.{verdict}", language), verdict)


def _notes(load: NetworkLoad, language: Language) -> Iterator[str]:
    key = "load.served" if load.rate_per_s <= load.served_per_s else "load.too_many"
    served = Quantity(load.served_per_s, "count")
    yield t(key, language, served=served, rate=Quantity(load.rate_per_s, "count"))
    if load.by_class:
        told = [_class_text(one, language) for one in _heaviest(load)]
        yield t("load.classes", language, classes=told)
    else:
        yield t("load.inside", language)
    yield _handover_note(load, language)
    yield _oversubscription_note(load.oversubscription, language)
    with_handover = load.oversubscription.with_handover
    if with_handover is None:
        yield t("load.handover_overloads", language)
    else:
        yield t("load.with_handover", language, times=Quantity(with_handover, "count"))


def _heaviest(load: NetworkLoad) -> list[ClassBytes]:
    """Kinds of traffic that make up the load, without crumbs."""
    most = max(one.request_bytes for one in load.by_class)
    found = [one for one in load.by_class if one.request_bytes >= most / 1000]
    return sorted(found, key=lambda one: -one.request_bytes)


def _class_text(one: ClassBytes, language: Language) -> str:
    return t(
        "load.class",
        language,
        name=t(f"class.{one.traffic_class}", language),
        phase=t(f"explain.phase.{one.phase}", language),
        size=format_bytes(one.request_bytes),
    )


def _handover_note(load: NetworkLoad, language: Language) -> str:
    over = load.handover
    key = "load.handover" if over.burst_bytes_per_s is not None else "load.handover_no_time"
    return t(
        key,
        language,
        size=format_bytes(over.request_bytes),
        sustained=rate_both(over.sustained_bytes_per_s, "scale_out"),
        nic=rate_both(over.per_nic_bytes_per_s, "scale_out"),
        budget=time_or_nothing(over.budget_s),
        burst=rate_both(over.burst_bytes_per_s, "scale_out"),
        layered=rate_both(over.layered_bytes_per_s, "scale_out"),
        available=rate_both(over.nic_bytes_per_s, "scale_out"),
    )


def _oversubscription_note(over: Oversubscription, language: Language) -> str:
    name = t(f"class.{over.bound_class}", language) if over.bound_class else ""
    times = format_count(over.tolerated) if over.tolerated is not None else NOTHING
    here = Quantity(over.here, "count")
    text = t(f"load.oversubscription.{over.bound}", language, times=times, name=name, here=here)
    is_over = over.tolerated is not None and over.here > over.tolerated
    return text + (t("load.oversubscription.here", language, here=here) if is_over else "")
