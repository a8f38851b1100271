"""How a checkpoint's weights are quantised: the method, bits with their scales, what is left out.

Read from `quantization_config` (or `compression_config`) of a config.json, or from the
hf_quant_config.json that NVIDIA's Model Optimizer writes beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gpuflow.importers.hf.fields import Config, shown
from gpuflow.importers.json_file import JsonFile

WIDE_BITS = 16.0
"""What is not quantised."""
_SCALE_BITS = 16
_FLOAT_SCALE_BITS = 32

NVFP4_BITS = 4.5
"""4 bits and an 8-bit scale per 16 weights."""
MXFP4_BITS = 4.25
"""4 bits and an 8-bit scale per 32 weights."""
MXFP8_BITS = 8.25
NF4_BITS = 4.5
"""bitsandbytes: a 32-bit scale per 64 weights."""
NF4_DOUBLE_BITS = 4.127
"""The same with the scales quantised too: 8 bits per 64 weights, 32 per 16,384."""


@dataclass(frozen=True, slots=True)
class Group:
    """One way of storing weights, and the modules it is for."""

    bits: float
    """Bits a weight, scales included."""
    precision: str
    """Our name: fp8, fp4, int8, int4."""
    targets: tuple[str, ...] = ("Linear",)


@dataclass(frozen=True, slots=True)
class Quantisation:
    """All of a checkpoint's quantisation."""

    method: str
    groups: tuple[Group, ...]
    ignored: tuple[str, ...]
    """Modules left in 16 bit, as the file writes them: names, wildcards, `re:` expressions."""
    experts_only: bool = False

    @property
    def precision(self) -> str:
        """That of the narrowest group: the one that holds most weights in published checkpoints."""
        return min(self.groups, key=lambda group: group.bits).precision


def find_quantisation(config: Config, beside: JsonFile | None) -> Quantisation | None:
    """What the file, or the one beside it, says; None where neither says anything.

    A method that cannot be counted is a problem.
    """
    for key in ("quantization_config", "compression_config"):
        value = config.said_around(key)
        if not value:
            continue
        if not isinstance(value, Mapping):
            config.problem("config_not_block", key, found=shown(value))
            return None
        return _read(config, key, value)
    if beside is None:
        return None
    config.assume("hf_quant_config.json", "hf_quant_config.json", "side_file")
    inner = beside.data.get("quantization")
    if not isinstance(inner, Mapping):
        problem = beside.problem("config_side_file", "quantization", "config_quantised")
        config.problems.append(problem)
        return None
    if inner.get("quant_algo") is None and not inner.get("quantized_layers"):
        return None
    return _read(config, "quantization", {"quant_method": "modelopt", **inner})


def _read(config: Config, key: str, value: Mapping[str, object]) -> Quantisation | None:
    method = str(value.get("quant_method") or value.get("quant_algo") or "").lower()
    for name, reader in _READERS.items():
        if method.startswith(name) or method.replace("-", "_").startswith(name):
            found = reader(value)
            if found is None:
                break
            _note_cache(config, value)
            return found
    config.problem("config_quantised", key, "config_quantised", found=method or key)
    return None


def _note_cache(config: Config, value: Mapping[str, object]) -> None:
    """A quantised KV cache is a choice of the engine: said, not counted."""
    scheme = value.get("kv_cache_quant_algo") or value.get("kv_cache_scheme")
    if scheme:
        name = scheme if isinstance(scheme, str) else "FP8"
        config.assume("kv_cache_scheme", name, "kv_cache_scheme")


def _number(value: Mapping[str, object], key: str, default: int) -> int:
    found = value.get(key)
    is_number = isinstance(found, int) and not isinstance(found, bool)
    return found if is_number and isinstance(found, int) else default


def _names(value: Mapping[str, object], *keys: str) -> tuple[str, ...]:
    """Module names of the first list that is there."""
    for key in keys:
        found = value.get(key)
        if isinstance(found, Sequence) and not isinstance(found, str):
            return tuple(item for item in found if isinstance(item, str))
    return ()


def _grouped(bits: int, group_size: int, zero_bits: int) -> float:
    """Bits a weight with a 16-bit scale, and a zero point, per group; none per channel."""
    return bits + ((_SCALE_BITS + zero_bits) / group_size if group_size > 0 else 0.0)


def _fp8(value: Mapping[str, object]) -> Quantisation:
    block = value.get("weight_block_size")
    bits = 8.0
    if isinstance(block, list) and len(block) == 2 and all(isinstance(n, int) for n in block):
        size = block[0] * block[1]
        bits += _FLOAT_SCALE_BITS / size if size > 0 else 0.0
    ignored = _names(value, "modules_to_not_convert", "ignored_layers", "ignore")
    return Quantisation("fp8", (Group(bits, "fp8"),), ignored)


def _mxfp4(value: Mapping[str, object]) -> Quantisation:
    ignored = _names(value, "modules_to_not_convert", "ignore")
    return Quantisation("mxfp4", (Group(MXFP4_BITS, "fp4"),), ignored, experts_only=not ignored)


def _mxfp8(value: Mapping[str, object]) -> Quantisation:
    ignored = _names(value, "modules_to_not_convert", "ignored_layers", "ignore")
    return Quantisation("mxfp8", (Group(MXFP8_BITS, "fp8"),), ignored)


def _awq(value: Mapping[str, object]) -> Quantisation | None:
    return _integer(value, "awq", has_zero=value.get("zero_point") is not False)


def _gptq(value: Mapping[str, object]) -> Quantisation | None:
    return _integer(value, "gptq", has_zero=True)


def _autoround(value: Mapping[str, object]) -> Quantisation | None:
    return _integer(value, "auto-round", has_zero=value.get("sym") is False)


def _integer(value: Mapping[str, object], method: str, *, has_zero: bool) -> Quantisation | None:
    bits = _number(value, "bits", _number(value, "w_bit", 4))
    if bits not in {4, 8}:
        return None
    size = _number(value, "group_size", _number(value, "q_group_size", 128))
    ignored = list(_names(value, "modules_to_not_convert", "ignore"))
    dynamic = value.get("dynamic")
    if isinstance(dynamic, Mapping):
        ignored += [f"re:{key[2:]}" for key in dynamic if str(key).startswith("-:")]
    group = Group(_grouped(bits, size, bits if has_zero else 0), f"int{bits}")
    return Quantisation(method, (group,), tuple(ignored))


def _bitsandbytes(value: Mapping[str, object]) -> Quantisation:
    ignored = _names(value, "llm_int8_skip_modules")
    if value.get("load_in_8bit") or value.get("_load_in_8bit"):
        return Quantisation("bitsandbytes", (Group(8.0, "int8"),), ignored)
    bits = NF4_DOUBLE_BITS if value.get("bnb_4bit_use_double_quant") else NF4_BITS
    return Quantisation("bitsandbytes", (Group(bits, "int4"),), ignored)


def _compressed(value: Mapping[str, object]) -> Quantisation | None:
    groups = value.get("config_groups")
    if not isinstance(groups, Mapping):
        return None
    form = str(value.get("format") or "")
    made = [_compressed_group(group, form) for group in groups.values()]
    found = tuple(group for group in made if group is not None)
    if not found or len(found) != len(made):
        return None
    return Quantisation("compressed-tensors", found, _names(value, "ignore"))


def _compressed_group(group: object, form: str) -> Group | None:
    if not isinstance(group, Mapping):
        return None
    weights = group.get("weights")
    if not isinstance(weights, Mapping):
        return None
    bits, size = _number(weights, "num_bits", 0), _number(weights, "group_size", 0)
    targets = _names(group, "targets") or ("Linear",)
    if weights.get("type") == "float":
        if bits == 4:
            is_mx = "mxfp4" in form or size == 32
            return Group(MXFP4_BITS if is_mx else NVFP4_BITS, "fp4", targets)
        return Group(8.0, "fp8", targets) if bits == 8 else None
    if bits not in {4, 8}:
        return None
    zero = 0 if weights.get("symmetric") is not False else bits
    return Group(_grouped(bits, size, zero), f"int{bits}", targets)


_ALGORITHMS: Mapping[str, tuple[float, str]] = {
    "NVFP4": (NVFP4_BITS, "fp4"),
    "W4A8_NVFP4": (NVFP4_BITS, "fp4"),
    "W4A8_MXFP4": (MXFP4_BITS, "fp4"),
    "MXFP4": (MXFP4_BITS, "fp4"),
    "MXFP8": (MXFP8_BITS, "fp8"),
    "FP8": (8.0, "fp8"),
    "W4A16": (4.125, "int4"),
    "W4A8": (4.125, "int4"),
    "INT4": (4.125, "int4"),
    "INT8": (8.0, "int8"),
    "W8A16": (8.0, "int8"),
    "W8A8": (8.0, "int8"),
}
"""Model Optimizer's algorithms, by how their names begin."""


def _algorithm(name: object, targets: tuple[str, ...]) -> Group | None:
    text = str(name or "").upper()
    # The longest name first: W4A8_NVFP4 is not W4A8.
    for known in sorted(_ALGORITHMS, key=len, reverse=True):
        if text.startswith(known):
            return Group(*_ALGORITHMS[known], targets)
    return None


def _modelopt(value: Mapping[str, object]) -> Quantisation | None:
    ignored = _names(value, "exclude_modules", "ignore")
    layers = value.get("quantized_layers")
    if isinstance(layers, Mapping) and layers:
        return _mixed(layers, ignored)
    if isinstance(value.get("config_groups"), Mapping) and not value.get("quant_algo"):
        found = _compressed(value)
        return Quantisation("modelopt", found.groups, ignored) if found else None
    group = _algorithm(value.get("quant_algo"), ("Linear",))
    return Quantisation("modelopt", (group,), ignored) if group else None


def _mixed(layers: Mapping[str, object], ignored: tuple[str, ...]) -> Quantisation | None:
    """Mixed precision: an algorithm a module; what is not listed stays 16 bit."""
    by_algorithm: dict[object, list[str]] = {}
    for name, entry in layers.items():
        algorithm = entry.get("quant_algo") if isinstance(entry, Mapping) else entry
        by_algorithm.setdefault(str(algorithm), []).append(name)
    made = [_algorithm(name, tuple(names)) for name, names in by_algorithm.items()]
    found = tuple(group for group in made if group is not None)
    return Quantisation("modelopt", found, ignored) if len(found) == len(made) else None


def _quark(value: Mapping[str, object]) -> Quantisation | None:
    everywhere = value.get("global_quant_config")
    weight = everywhere.get("weight") if isinstance(everywhere, Mapping) else None
    weight = weight[0] if isinstance(weight, list) and weight else weight
    if not isinstance(weight, Mapping):
        return None
    kind = str(weight.get("dtype"))
    known = {
        "fp8": (8.0, "fp8"),
        "fp4": (MXFP4_BITS, "fp4"),
        "int8": (8.0, "int8"),
        "int4": (4.125, "int4"),
        "uint4": (4.25, "int4"),
    }
    found = next((Group(*known[name]) for name in known if kind.startswith(name)), None)
    return Quantisation("quark", (found,), _names(value, "exclude")) if found else None


def _int8(value: Mapping[str, object]) -> Quantisation:
    ignored = _names(value, "modules_to_not_convert", "ignore")
    return Quantisation("int8", (Group(8.0, "int8"),), ignored)


_READERS: Mapping[str, Callable[[Mapping[str, object]], Quantisation | None]] = {
    "fp8": _fp8,
    "fbgemm_fp8": _fp8,
    "w8a8_fp8": _fp8,
    "mxfp4": _mxfp4,
    "mxfp8": _mxfp8,
    "awq": _awq,
    "gptq": _gptq,
    "auto_round": _autoround,
    "bitsandbytes": _bitsandbytes,
    "compressed_tensors": _compressed,
    "modelopt": _modelopt,
    "quark": _quark,
    "eetq": _int8,
    "w8a8_int8": _int8,
}
"""By the beginning of `quant_method`."""
