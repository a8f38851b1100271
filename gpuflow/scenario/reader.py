"""Typed values out of a YAML tree; whatever does not fit becomes a problem and reads as None."""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Mapping as Mapped
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass
from types import MappingProxyType

from gpuflow.scenario.nodes import Broken, Mapping, Node, Problems, Scalar, Sequence
from gpuflow.scenario.spelling import nearest
from gpuflow.scenario.syntax import fullwidth_colon
from gpuflow.units import UnitError

_WHOLE = re.compile(r"[0-9]{1,15}", re.ASCII)
_RATIO = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?", re.ASCII)
_OUTSIDE = re.compile(r"-[0-9]+|[1-9][0-9]{15,}", re.ASCII)
_NUMBER_WITHIN = re.compile(r"^[+]?([0-9][0-9_,]*)(?:\.0+)?(?:\s|$)", re.ASCII)
_EXPONENT = re.compile(r"[0-9]+(?:\.[0-9]+)?[eE][+]?[0-9]{1,2}", re.ASCII)
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*", re.ASCII)
_LARGEST_EXPONENT = 15
_NOTHING: Mapped[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Fields:
    """One mapping of the file, read key by key."""

    problems: Problems
    node: Mapping
    key: str
    """Dotted path of the mapping; empty at the top."""
    place: Node | None
    """Where a missing key is reported: the mapping's own key; None at the top."""

    def path(self, name: str) -> str:
        """Dotted path of one of its keys."""
        return f"{self.key}.{name}" if self.key else name

    def has(self, name: str) -> bool:
        """Whether the key was written."""
        return name in self.node.values

    def known(self, names: SequenceOf[str], required: Mapped[str, str] = _NOTHING) -> None:
        """Reports keys that have no meaning here and those that are missing.

        Args:
            names: All keys that have a meaning.
            required: An example of the value by each key that must be there.
        """
        for name, key_node in self.node.keys.items():
            if name not in names:
                self._unknown(name, key_node, names)
        for name, example in required.items():
            if name not in self.node.values:
                self.problems.add(
                    "missing_key",
                    self.place,
                    key=self.path(name),
                    hint="add_key",
                    name=name,
                    example=f"{name}: {example}",
                )

    def _unknown(self, name: str, key_node: Scalar, names: SequenceOf[str]) -> None:
        if "：" in name:
            typo = fullwidth_colon(self.problems.source, key_node.line, key_node.column)
            if typo is not None:
                self.problems.extend([typo])
                return
        near = nearest(name, names)
        self.problems.add(
            "unknown_key",
            key_node,
            key=self.path(name),
            hint="did_you_mean" if near else "known_keys",
            found=name,
            suggestion=near,
            known=list(names),
        )

    def mapping(self, name: str) -> Fields | None:
        """A mapping under a key."""
        node = self.node.values.get(name)
        return fields_of(self.problems, node, self.path(name), self.node.keys.get(name))

    def items(self, name: str) -> list[Node] | None:
        """The items of a list under a key."""
        node = self.node.values.get(name)
        if node is None or isinstance(node, Broken):
            return None
        if isinstance(node, Sequence):
            return node.items
        wrong_type(self.problems, node, self.path(name), "list", self.node.keys[name])
        return None

    def scalar(self, name: str, wanted: str) -> Scalar | None:
        """A single value under a key, not null."""
        node = self.node.values.get(name)
        if node is None or isinstance(node, Broken):
            return None
        if isinstance(node, Scalar) and node.yaml_type != "null":
            return node
        wrong_type(self.problems, node, self.path(name), wanted, self.node.keys[name])
        return None

    def word(self, name: str) -> str | None:
        """A word or sentence; one that YAML would turn into something else must be quoted."""
        node = self.scalar(name, "text")
        if node is None:
            return None
        if node.yaml_type != "str":
            self.problems.add(
                "silent_conversion",
                node,
                key=self.path(name),
                hint="quote_it",
                found=node.value,
                yaml_kind=node.yaml_type,
            )
            return None
        return node.value

    def identifier(self, name: str) -> str | None:
        """A name of small letters, digits, dots and hyphens."""
        word = self.word(name)
        if word is not None and not _NAME.fullmatch(word):
            self.problems.add(
                "bad_name", self.node.values[name], key=self.path(name), hint="bad_name", found=word
            )
            return None
        return word

    def choice(self, name: str, allowed: SequenceOf[str], code: str) -> str | None:
        """One of a few words."""
        node = self.scalar(name, "text")
        if node is None:
            return None
        if node.value in allowed:
            return node.value
        near = nearest(node.value.replace("-", "_"), allowed)
        self.problems.add(
            code,
            node,
            key=self.path(name),
            hint="did_you_mean" if near else "allowed_here",
            found=node.value,
            allowed=list(allowed),
            suggestion=near,
        )
        return None

    def whole(self, name: str, least: int, most: int) -> int | None:
        """A whole number within bounds, written in plain digits."""
        node = self.scalar(name, "whole_number")
        return self._whole(node, self.path(name), least, most) if node is not None else None

    def wholes(self, name: str, least: int, most: int) -> tuple[int, ...]:
        """A list of whole numbers within bounds; empty where there is none or one is wrong."""
        key = self.path(name)
        nodes = self.items(name)
        if nodes is None:
            return ()
        if not nodes:
            self.problems.add("list_empty", self.node.values[name], key=key)
        found: list[int] = []
        for node in nodes:
            if not isinstance(node, Scalar) or node.yaml_type == "null":
                wrong_type(self.problems, node, key, "whole_number", self.node.keys[name])
                continue
            value = self._whole(node, key, least, most)
            if value is not None:
                found.append(value)
        return tuple(found) if len(found) == len(nodes) else ()

    def _whole(self, node: Scalar, key: str, least: int, most: int) -> int | None:
        if not node.is_plain or not _WHOLE.fullmatch(node.value) or _has_leading_zero(node.value):
            if node.is_plain and _OUTSIDE.fullmatch(node.value):
                self._out_of_range(node, key, least, most)
                return None
            suggestion = whole_number_meant(node.value)
            self.problems.add(
                "not_whole_number",
                node,
                key=key,
                hint="write_digits" if suggestion is not None else "write_whole_number",
                found=node.value if node.is_plain else f'"{node.value}"',
                suggestion=suggestion if suggestion is not None else "",
            )
            return None
        value = int(node.value)
        if not least <= value <= most:
            self._out_of_range(node, key, least, most)
            return None
        return value

    def _out_of_range(self, node: Scalar, key: str, least: float, most: float) -> None:
        self.problems.add(
            "out_of_range", node, key=key, hint="in_range", found=node.value, least=least, most=most
        )

    def ratio(self, name: str, least: float, most: float) -> float | None:
        """A plain number within bounds, whole or with a decimal point."""
        node = self.scalar(name, "ratio")
        if node is None:
            return None
        key = self.path(name)
        if not node.is_plain or not _RATIO.fullmatch(node.value):
            found = node.value if node.is_plain else f'"{node.value}"'
            self.problems.add("not_a_ratio", node, key=key, hint="write_ratio", found=found)
            return None
        value = float(node.value)
        if not least <= value <= most:
            self._out_of_range(node, key, least, most)
            return None
        return value

    def flag(self, name: str) -> bool | None:
        """True or false, in any of YAML's spellings."""
        node = self.scalar(name, "bool")
        if node is None:
            return None
        if node.yaml_type != "bool":
            wrong_type(self.problems, node, self.path(name), "bool", self.node.keys[name])
            return None
        return node.value.lower() in {"true", "yes", "on"}

    def quantity(self, name: str, parse: Callable[[str], float]) -> float | None:
        """A number with its unit, more than zero."""
        node = self.scalar(name, "quantity")
        if node is None:
            return None
        key = self.path(name)
        try:
            value = parse(node.value)
        except UnitError as error:
            self.problems.add(error.code, node, key=key, hint="write_unit", values=error.values)
            return None
        if value <= 0:
            self.problems.add(
                "not_positive", node, key=key, hint="write_quantity", found=node.value
            )
            return None
        return value


def fields_of(problems: Problems, node: Node | None, key: str, place: Node | None) -> Fields | None:
    """The fields of a node that should be a mapping."""
    if node is None or isinstance(node, Broken):
        return None
    if isinstance(node, Mapping):
        return Fields(problems, node, key, place)
    wrong_type(problems, node, key, "mapping", place)
    return None


def wrong_type(
    problems: Problems, node: Node, key: str, wanted: str, place: Node | None = None
) -> None:
    """Reports a value of the wrong kind; kinds are named by the locale keys `kind.<kind>`."""
    if isinstance(node, Scalar) and node.yaml_type == "null":
        # An empty value has no place of its own: its key has.
        problems.add(
            "value_missing", place or node, key=key, hint=f"write_{wanted}", wanted_kind=wanted
        )
        return
    found = {Mapping: "mapping", Sequence: "list"}.get(type(node), "text")
    if isinstance(node, Scalar) and node.yaml_type in {"int", "float"}:
        found = "number"
    problems.add(
        "wrong_type",
        node,
        key=key,
        hint=f"write_{wanted}",
        wanted_kind=wanted,
        found_kind=found,
    )


def whole_number_meant(text: str) -> int | None:
    """The whole number behind 1e3, 1,024, 1_024, 512.0, 512 tokens or full-width digits."""
    plain = text.strip().translate(_HALF_WIDTH)
    if _EXPONENT.fullmatch(plain) and int(re.split("[eE]", plain)[1]) <= _LARGEST_EXPONENT:
        value = float(plain)
        return int(value) if value.is_integer() else None
    match = _NUMBER_WITHIN.match(plain)
    digits = match[1].replace("_", "").replace(",", "") if match else ""
    return int(digits) if 0 < len(digits) <= _LARGEST_EXPONENT else None


_HALF_WIDTH = {0xFF10 + digit: str(digit) for digit in range(10)} | {0xFF0C: ",", 0x3000: " "}


def _has_leading_zero(digits: str) -> bool:
    return len(digits) > 1 and digits.startswith("0")
