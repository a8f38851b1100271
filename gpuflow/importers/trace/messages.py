"""How large the message of a collective is, by what the profiler notes beside it.

S  bytes by nccl-tests' convention: the whole vector in all_reduce, broadcast and reduce, the
gathered total in all_gather, gather, reduce_scatter and scatter, each rank's send buffer
in all_to_all
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gpuflow.importers.trace.names import Kind, kind_of_words

ITEM_BYTES = {
    "float": 4,
    "double": 8,
    "half": 2,
    "bfloat16": 2,
    "long": 8,
    "longint": 8,
    "int": 4,
    "short": 2,
    "char": 1,
    "signedchar": 1,
    "byte": 1,
    "unsignedchar": 1,
    "bool": 1,
    "complexfloat": 8,
    "complexdouble": 16,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
}
"""By the names of PyTorch's scalar types and of the C++ types behind them."""
MOST_ITEMS = 2**50


class Message(NamedTuple):
    """What one event says of a message; None where it does not."""

    kind: Kind
    n_in: int | None
    n_out: int | None
    item_bytes: int | None
    ranks: int | None
    dtype: str = ""


def item_bytes(name: object) -> int | None:
    """Bytes of an element of a type: `BFloat16`, `c10::Half`, `long int`, `Float8_e4m3fn`."""
    if not isinstance(name, str):
        return None
    plain = re.sub(r"[^a-z0-9_]", "", name.lower().removeprefix("c10::"))
    if plain.startswith(("float8", "float4")):
        return 1
    return ITEM_BYTES.get(plain)


def noted_message(args: Mapping[str, object]) -> Message | None:
    """The message in the arguments of a kernel or of `record_param_comms`."""
    name = args.get("Collective name")
    if not isinstance(name, str) or name in {"", "wait"}:
        return None
    ranks = _whole(args.get("Group size"))
    dtype = args.get("dtype")
    return Message(
        kind=kind_of_words(name),
        n_in=_whole(args.get("In msg nelems")),
        n_out=_whole(args.get("Out msg nelems")),
        item_bytes=item_bytes(dtype),
        ranks=ranks if ranks and ranks > 0 else None,
        dtype=dtype if isinstance(dtype, str) else "",
    )


def shaped_message(name: str, args: Mapping[str, object]) -> Message | None:
    """The message by the shapes of an operator's tensors: its first one is what is sent."""
    dims, types = args.get("Input Dims"), args.get("Input type")
    if not isinstance(dims, list) or not isinstance(types, list):
        return None
    found = next((place for place, shape in enumerate(dims) if shape), None)
    if found is None:
        return None
    count = _items(dims[found])
    size = next((b for t in types[found:] if (b := item_bytes(t)) is not None), None)
    dtype = next((t for t in types[found:] if item_bytes(t) is not None), "")
    if count is None:
        return None
    kind = kind_of_words(name.rsplit("::", 1)[-1].removeprefix("multimem_"))
    return Message(kind, count, None, size, None, str(dtype))


def matrix_widths(args: Mapping[str, object]) -> set[int]:
    """Last dimensions of an operator's matrices: of activations, the width of the model."""
    dims = args.get("Input Dims")
    shapes = [one for one in dims if isinstance(one, list)] if isinstance(dims, list) else []
    widths = {shape[-1] for shape in shapes if len(shape) == 2 and isinstance(shape[-1], int)}
    return {width for width in widths if width > 1}


def message_bytes(kind: Kind, message: Message, ranks: int | None) -> int | None:
    """S; None where the event does not say enough.

    Args:
        kind: The collective, which the message itself may not know.
        message: What is known of it.
        ranks: Of the group.
    """
    n_in, n_out, size = message.n_in, message.n_out, message.item_bytes
    if size is None or kind in {"unknown", "barrier"}:
        return None
    if kind in {"all_gather", "gather"}:
        count = n_out or (n_in * ranks if n_in and ranks else None)
    elif kind in {"reduce_scatter", "scatter"}:
        count = n_in or (n_out * ranks if n_out and ranks else None)
    else:
        count = n_in or n_out
    return count * size if count else None


def _whole(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= MOST_ITEMS else None


def _items(shape: object, depth: int = 0) -> int | None:
    """Elements of a tensor of that shape, or of a list of tensors together."""
    if not isinstance(shape, list) or depth > 2:
        return None
    if all(isinstance(size, int) and not isinstance(size, bool) for size in shape):
        count = 1
        for size in shape:
            count *= size
            if not 0 <= count <= MOST_ITEMS:
                return None
        return count
    parts: Sequence[int | None] = [_items(part, depth + 1) for part in shape]
    return sum(part for part in parts if part) or None
