"""What collectives of an unknown kind probably are, by the order in which the known ones repeat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gpuflow.importers.trace.names import Kind

LEAST_AGREEING = 2
"""Pairs of known ones, a period apart, that must agree; and none may disagree."""
MOST_LOOKED_AT = 5000


def likely_kinds(kinds: Sequence[Kind]) -> Counter[Kind]:
    """Counts of what the unknown ones are by the shortest period that fits; empty without one.

    Args:
        kinds: Collectives of one queue in the order in which they ran.

    Example:
        >>> known = ["broadcast", "all_reduce", "broadcast", "all_reduce", "broadcast"]
        >>> dict(likely_kinds(["unknown", *known]))
        {'all_reduce': 1}
    """
    kinds = kinds[:MOST_LOOKED_AT]
    if len(set(kinds) - {"unknown"}) < 2:
        return Counter()
    for period in range(2, min(len(kinds) // 2, 256) + 1):
        pattern = _pattern(kinds, period)
        if pattern is not None:
            unknown = [place for place, kind in enumerate(kinds) if kind == "unknown"]
            return Counter(pattern[place % period] for place in unknown)
    return Counter()


def _pattern(kinds: Sequence[Kind], period: int) -> list[Kind] | None:
    """The kind at each place of a period; None where known ones disagree or a place has none."""
    pattern: list[Kind] = ["unknown"] * period
    agreeing = 0
    for place, kind in enumerate(kinds):
        if kind == "unknown":
            continue
        said = pattern[place % period]
        if said not in {"unknown", kind}:
            return None
        agreeing += said == kind
        pattern[place % period] = kind
    return pattern if "unknown" not in pattern and agreeing >= LEAST_AGREEING else None
