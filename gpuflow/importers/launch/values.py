"""Values of flags: whole numbers, shares, and what engines call precisions."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpuflow.errors import ImportFormatError, Problem

MOST = 10**9
_WHOLE = re.compile(r"(\d{1,12})(?:\.(\d{1,6}))?\s*([kKmMgG]?)", re.ASCII)
_SCALES: Mapping[str, int] = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "K": 2**10,
    "M": 2**20,
    "G": 2**30,
}
"""As vLLM reads them: small letters are decimal, capitals binary."""
_AUTOMATIC = frozenset({"auto", "none", "null", "-1"})

_PRECISIONS: tuple[tuple[str, str], ...] = (
    ("fp4", r"fp4"),
    ("int4", r"w4a8|w4a16|w4afp8|awq|gptq|marlin|int4|4bit|bnb|bitsandbytes|auto.?round|wna16|qoq"),
    ("int8", r"int8|8bit"),
    ("fp8", r"fp8"),
    ("int8", r"w8a8|w8a16"),
    ("bf16", r"bf16|bfloat16"),
    ("fp16", r"fp16|float16|^half$"),
)
"""The first pattern that is found in a name decides; the order puts narrow forms first."""
_OWN = frozenset({"auto", "none", "null", ""})


def whole(flag: str, text: str, least: int = 1) -> int:
    """A whole number, written plainly.

    Raises:
        ImportFormatError: It is none, or a shell's variable whose value is not known.
    """
    found = _WHOLE.fullmatch(text.strip())
    if found is None or found[2] or found[3] or not least <= int(found[1]) <= MOST:
        raise _bad(flag, text, "launch_whole", least=least, most=MOST)
    return int(found[1])


def amount(flag: str, text: str) -> int | None:
    """A number of tokens or requests, also as `32k`; None where the engine is to choose.

    Raises:
        ImportFormatError: It is none.
    """
    if text.strip().lower() in _AUTOMATIC:
        return None
    found = _WHOLE.fullmatch(text.strip())
    if found is None:
        raise _bad(flag, text, "launch_whole", least=1, most=MOST)
    count = round(float(f"{found[1]}.{found[2] or 0}") * _SCALES[found[3]])
    if not 1 <= count <= MOST:
        raise _bad(flag, text, "launch_whole", least=1, most=MOST)
    return count


def share(flag: str, text: str) -> float:
    """A part of the memory, above 0 and up to 1.

    Raises:
        ImportFormatError: It is none.
    """
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise _bad(flag, text, "launch_share")
    return value


def _bad(flag: str, text: str, code: str, **values: object) -> ImportFormatError:
    is_variable = "$" in text
    return ImportFormatError(
        [
            Problem(
                code="launch_variable" if is_variable else code,
                key=flag,
                values={"found": text, **values},
                hint="launch_variable" if is_variable else "",
            )
        ]
    )


def precision_of(name: str) -> str | None:
    """What weights are stored in, by an engine's or a checkpoint's word; None: it does not say.

    Example:
        >>> precision_of("awq_marlin"), precision_of("modelopt_fp4"), precision_of("gguf")
        ('int4', 'fp4', None)
    """
    text = name.lower()
    if text in _OWN:
        return None
    return next((found for found, pattern in _PRECISIONS if re.search(pattern, text)), None)


def leaves_precision(name: str) -> bool:
    """Whether a word leaves the precision to the checkpoint."""
    return name.lower() in _OWN


def cache_bits_of(name: str) -> int | None:
    """Bits of a cached value; None where that follows the model."""
    text = name.lower()
    if text in _OWN:
        return None
    if "fp4" in text:
        return 4
    return 8 if "8" in text else 16
