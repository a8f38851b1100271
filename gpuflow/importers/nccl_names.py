"""What names say: of GPUs as drivers print them, and of log files as people call them."""

from __future__ import annotations

import re

from gpuflow.importers.nccl_lines import project_name

_GPU_WORDS = (
    (r"h[12]00[\s-]*nvl\b", ""),
    (r"h100.*pcie", "h100-pcie"),
    (r"h100", "h100-sxm"),
    (r"a100.*pcie", ""),
    (r"a100.*40\s*g", "a100-40gb-sxm"),
    (r"a100", "a100-80gb-sxm"),
    (r"v100.*(?:pcie|fhhl)", ""),
    (r"v100", "v100-sxm2"),
    (r"gh200", ""),
    (r"h200", "h200-sxm"),
    (r"h800", "h800"),
    (r"\bh20\b", "h20"),
    (r"gb200", "gb200"),
    (r"gb300", "gb300"),
    (r"b200", "b200-sxm"),
    (r"b300", "b300-sxm"),
    (r"l40s", "l40s"),
    (r"rtx\s*-?pro\s*-?6000", "rtx-pro-6000"),
    (r"5090", "rtx-5090"),
    (r"4090", "rtx-4090"),
    (r"3090", "rtx-3090"),
    (r"mi300x", "mi300x"),
)
"""From what drivers print to ids; an empty id is a GPU that only resembles one that is known."""


def catalog_gpu(name: str) -> str | None:
    """Id of the GPU that a driver's or a file's name speaks of."""
    plain = name.lower()
    found = next((gpu for words, gpu in _GPU_WORDS if re.search(words, plain)), "")
    return found or None


def collective_in(name: str) -> str | None:
    """The collective that a file's name speaks of."""
    words = re.findall(
        r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|sendrecv|broadcast", name
    )
    spelled = {project_name(word) for word in words}
    return spelled.pop() if len(spelled) == 1 else None


def ranks_in(name: str) -> int | None:
    """Ranks that a file's name speaks of; a name of nodes alone means a GPU on each."""
    for word in ("gpus?", "ranks?", "gcds?", "nodes?"):
        found = re.search(rf"(?<!\d)(\d{{1,5}})[-_ ]?{word}(?![a-z])", name)
        if found and int(found[1]) > 1:
            return int(found[1])
    return None
