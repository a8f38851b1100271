"""Values of a config.json by their usual name, whatever the file calls them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpuflow.cells import sanitise
from gpuflow.errors import Problem
from gpuflow.importers.json_file import JsonFile
from gpuflow.scenario.model_spec import Assumption

SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "hidden_size": ("hidden_size", "n_embd", "d_model", "n_embed", "model_dim"),
    "num_hidden_layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "num_attention_heads": ("num_attention_heads", "n_head", "n_heads", "num_heads"),
    "num_key_value_heads": (
        "num_key_value_heads",
        "num_kv_heads",
        "n_head_kv",
        "n_kv_heads",
        "kv_n_heads",
        "multi_query_group_num",
        "num_query_groups",
    ),
    "head_dim": ("head_dim", "attention_head_dim", "kv_channels", "head_size"),
    "intermediate_size": (
        "intermediate_size",
        "ffn_hidden_size",
        "n_inner",
        "ffn_dim",
        "block_ff_dim",
        "inner_dim",
    ),
    "vocab_size": ("padded_vocab_size", "vocab_size", "n_vocab"),
    "num_experts": (
        "num_experts",
        "n_routed_experts",
        "num_local_experts",
        "moe_num_experts",
        "num_routed_experts",
    ),
    "num_experts_per_tok": (
        "num_experts_per_tok",
        "num_experts_per_token",
        "top_k_experts",
        "moe_top_k",
        "moe_topk",
        "moe_k",
    ),
    "n_shared_experts": ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts"),
    "sliding_window": ("sliding_window", "sliding_window_size", "window_size"),
}
"""What files call a value; the first that is set counts."""

_LARGEST = {"num_hidden_layers": 1_000, "num_attention_heads": 100_000}
_LARGEST_SIZE = 100_000_000


@dataclass(slots=True)
class Config:
    """One block of keys, what was assumed about it, and what is wrong with it."""

    file: JsonFile
    data: Mapping[str, object]
    path: str = ""
    """Dotted key of the block, empty for the whole file."""
    outer: Mapping[str, object] = field(default_factory=dict)
    """Blocks around it, for what they say on its behalf."""
    defaults: Mapping[str, object] = field(default_factory=dict)
    """What the family's configuration class takes where a key is left out."""
    problems: list[Problem] = field(default_factory=list)
    assumed: list[Assumption] = field(default_factory=list)

    def find(self, name: str) -> str | None:
        """The key under which a value stands; None where it is absent or null."""
        spellings = SPELLINGS.get(name, (name,))
        return next((key for key in spellings if self.data.get(key) is not None), None)

    def has(self, name: str) -> bool:
        """Whether a value is set."""
        return self.find(name) is not None

    def get(self, name: str) -> object:
        """A value as the file has it, or None."""
        key = self.find(name)
        return self.data[key] if key is not None else None

    def block(self, name: str) -> Config:
        """A block of keys inside this one; an empty one where there is none."""
        value = self.data.get(name)
        inner = value if isinstance(value, Mapping) else {}
        return Config(
            self.file,
            inner,
            self.dotted(name),
            problems=self.problems,
            assumed=self.assumed,
        )

    def dotted(self, key: str) -> str:
        """A key with the path of its block."""
        return f"{self.path}.{key}" if self.path else key

    # ------------------------------------------------------------ whole numbers

    def whole(self, name: str, least: int = 1) -> int:
        """A whole number, the family's own where it is left out; 1 stands in where it is wrong."""
        key = self.find(name)
        if key is None and name in self.defaults:
            default = self.defaults[name]
            if isinstance(default, int):
                self.assume(name, default, "class_default")
                return default
        if key is None:
            first = SPELLINGS.get(name, (name,))
            self.problem(
                "config_key_missing",
                name,
                "config_spellings" if len(first) > 1 else "",
                found=name,
                known=list(first),
            )
            return 1
        return self._checked(key, self.data[key], _LARGEST.get(name, _LARGEST_SIZE), least)

    def whole_or(self, name: str, default: int, reason: str = "", least: int = 1) -> int:
        """A whole number that may be left out or null."""
        if self.has(name) or name in self.defaults:
            return self.whole(name, least)
        if reason:
            self.assume(name, default, reason)
        return default

    def count_or_none(self, name: str) -> int:
        """A whole number of 0 or more; 0 where it is left out, null or false."""
        key = self.find(name)
        if key is None or self.data[key] is False:
            return 0
        return self._checked(key, self.data[key], _LARGEST_SIZE, 0)

    def _checked(self, key: str, value: object, most: int, least: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            self.problem("config_not_whole", key, found=shown(value))
        elif not least <= value <= most:
            self.problem("out_of_range", key, "in_range", found=value, least=least, most=most)
        else:
            return value
        return max(least, 1)

    # ------------------------------------------------------------ others

    def flag(self, name: str, default: bool = False, reason: str = "") -> bool:
        """A switch that may be left out."""
        value = self.data.get(name)
        if value is None:
            if reason:
                self.assume(name, "true" if default else "false", reason)
            return default
        if not isinstance(value, bool):
            self.problem("config_not_switch", name, found=shown(value))
            return default
        return value

    def names(self, name: str, count: int) -> list[str] | None:
        """A list of one word a layer; None where it is absent."""
        value = self.data.get(name)
        if value is None:
            return None
        if not isinstance(value, Sequence) or isinstance(value, str):
            self.problem("config_not_list", name, found=shown(value))
            return None
        if len(value) != count:
            self.problem("config_list_length", name, found=len(value), layers=count)
            return None
        return [item if isinstance(item, str) else shown(item) for item in value]

    def numbers(self, name: str) -> list[int]:
        """A list of whole numbers, empty where it is absent."""
        value = self.data.get(name)
        if value is None:
            return []
        if not isinstance(value, Sequence) or isinstance(value, str):
            self.problem("config_not_list", name, found=shown(value))
            return []
        found: list[int] = []
        for item in value:
            if isinstance(item, bool) or not isinstance(item, int):
                self.problem("config_not_whole", name, found=shown(item))
                return []
            found.append(item)
        return found

    def said_around(self, name: str) -> object:
        """A value of this block, or of those around it."""
        value = self.data.get(name)
        return value if value is not None else self.outer.get(name)

    # ------------------------------------------------------------ what was found

    def assume(self, key: str, value: object, reason: str) -> None:
        """Notes a value that the file does not give."""
        made = Assumption(key=self.dotted(key), value=sanitise(str(value)), reason=reason)
        if made not in self.assumed:
            self.assumed.append(made)

    def problem(self, code: str, key: str, hint: str = "", **values: object) -> None:
        """Notes what is wrong with a value."""
        made = self.file.problem(code, self.dotted(key), hint, **values)
        if all((p.code, p.key, p.values) != (code, made.key, values) for p in self.problems):
            self.problems.append(made)


def shown(value: object) -> str:
    """A value as the file writes it, cut where it is long."""
    if isinstance(value, float) and not math.isfinite(value):
        text = {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"


_LONGEST_SHOWN = 60
