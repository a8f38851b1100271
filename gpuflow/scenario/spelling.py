"""The word that was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LIKENESS = 0.7
"""From which another spelling is worth proposing; 1 is equal."""
_LONGEST = 100


def nearest(found: str, known: Iterable[str], likeness: float = LIKENESS) -> str:
    """The known word most like the one that was found, in any case; empty when none is near.

    Example:
        >>> nearest("Prefil", ["prefill", "decode"]), nearest("colour", ["cluster"])
        ('prefill', '')
    """
    if len(found) > _LONGEST:
        return ""
    return next(iter(difflib.get_close_matches(found.lower(), known, 1, likeness)), "")
