"""Matrices of tools that write them otherwise, brought into the common form.

`amd-smi topology` names GPUs by their PCIe addresses and prints a table for each property;
`npu-smi info -t topo` calls them NPUs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpuflow.scenario.topology import Tool

_AMD_TABLE = re.compile(r"\s*([A-Z][A-Z ]{2,40}) TABLE:?\s*$")
_AMD_LINKS = "LINK TYPE"
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]", re.IGNORECASE)
_NPU = re.compile(r"\bNPU(?=\d{1,2}\b)")
_NPU_LINKS = re.compile(r"\bHCCS\b")


def tool_of(texts: Sequence[str]) -> Tool | None:
    """Which of these tools printed a text; None: neither."""
    if any(_table(text) == _AMD_LINKS for text in texts):
        return "amd-smi"
    is_npu = any(_NPU.search(text) for text in texts)
    return "npu-smi" if is_npu and any(_NPU_LINKS.search(text) for text in texts) else None


def as_common(texts: Sequence[str]) -> list[str]:
    """The same lines with GPUs by number; of several tables the one of links."""
    tool = tool_of(texts)
    if tool == "npu-smi":
        return [_NPU.sub("GPU", text) for text in texts]
    return _amd(texts) if tool == "amd-smi" else list(texts)


def _table(text: str) -> str:
    found = _AMD_TABLE.match(text[:80])
    return found[1] if found else ""


def _amd(texts: Sequence[str]) -> list[str]:
    found: list[str] = []
    names: dict[str, str] = {}
    is_links = False
    for text in texts:
        table = _table(text)
        if table:
            is_links = table == _AMD_LINKS
        words = text.split()
        if not is_links or not words or not _ADDRESS.fullmatch(words[0]):
            continue
        if all(map(_ADDRESS.fullmatch, words)) and not names:
            names = {word.lower(): f"GPU{number}" for number, word in enumerate(words)}
            found.append("     " + " ".join(names.values()))
        else:
            row = [names.get(words[0].lower(), ""), *words[1:]]
            found.append(" ".join("X" if word == "SELF" else word for word in row))
    return found
