"""YAML as a tree that remembers where everything stood, built from parser events.

Only the plain part of YAML is taken: mappings with text keys, sequences, scalars. Anchors,
aliases, tags, merge keys and further documents are problems, and depth and size are limited
while the events come in, so that no bomb is ever unfolded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Mapping as MappingOf
from dataclasses import dataclass, field

import yaml

from gpuflow.errors import Problem, ScenarioError
from gpuflow.scenario.source import Source, describe_character, first_hidden
from gpuflow.scenario.syntax import explain

MAX_DEPTH = 32
MAX_NODES = 20_000
MAX_PROBLEMS = 50
"""A report longer than that helps nobody; the rest is counted."""

_Loader: type[yaml.CSafeLoader] | type[yaml.SafeLoader] = getattr(
    yaml, "CSafeLoader", yaml.SafeLoader
)
YAML_TYPES = ("bool", "int", "float", "null", "timestamp", "merge", "value")
"""What YAML makes of plain words that look like one; everything else is a str."""

_EXPONENT = re.compile(r"[-+]?[0-9]+(?:\.[0-9]*)?[eE][-+]?[0-9]+", re.ASCII)
_LAST = ("\U0010ffff", 0, 0)
_Resolve = Callable[[type[yaml.Node], str, tuple[bool, bool]], str]
_resolve: _Resolve = yaml.resolver.Resolver().resolve


@dataclass(slots=True, kw_only=True)
class Node:
    """Something in the file; lines and columns count from 0."""

    line: int
    column: int
    end_line: int = 0
    """Line of its last character, for scalars."""


@dataclass(slots=True, kw_only=True)
class Scalar(Node):
    """A single value, as written."""

    value: str
    is_plain: bool
    """Without quotes and not a block scalar: where YAML converts silently."""

    @property
    def yaml_type(self) -> str:
        """What YAML would make of it: str, bool, int, float, null, timestamp, merge, value."""
        if not self.is_plain:
            return "str"
        if _EXPONENT.fullmatch(self.value):
            # PyYAML keeps 1e3 a word, YAML 1.2 and most editors make it a number.
            return "float"
        name = _resolve(yaml.ScalarNode, self.value, (True, False)).rpartition(":")[2]
        return name if name in YAML_TYPES else "str"


@dataclass(slots=True, kw_only=True)
class Sequence(Node):
    """A list."""

    items: list[Node] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Mapping(Node):
    """A block of keys; the first of equal keys is kept."""

    keys: dict[str, Scalar] = field(default_factory=dict)
    values: dict[str, Node] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Broken(Node):
    """Stands where a value was refused, so that nothing else is said about it."""


class Problems:
    """What is wrong so far."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.found: list[Problem] = []
        self.n_left_out = 0

    def add(
        self,
        code: str,
        node: Node | None = None,
        *,
        key: str = "",
        hint: str = "",
        at: tuple[int, int] | None = None,
        values: MappingOf[str, object] | None = None,
        **more: object,
    ) -> None:
        """Notes a problem at a node, or at a 0-based (line, column), or of the whole file.

        Args:
            code: What is wrong; `problem.<code>` in words.
            node: Where.
            key: Dotted key it concerns.
            hint: What to do; `hint.<hint>` in words.
            at: Where, when it is not the beginning of a node.
            values: What the sentences are filled with; `more` is added to them.
            more: The same, one by one.
        """
        if len(self.found) >= MAX_PROBLEMS:
            self.n_left_out += 1
            return
        place = at or ((node.line, node.column) if node else None)
        self.found.append(
            Problem(
                code=code,
                key=key,
                file=self.source.file,
                mark=self.source.mark(*place) if place else None,
                values={**(values or {}), **more},
                hint=hint,
            )
        )

    def extend(self, problems: Iterable[Problem]) -> None:
        """Adds problems made elsewhere."""
        self.found.extend(problems)

    def in_order(self) -> list[Problem]:
        """All of them by file and line, those without a place last."""
        ordered = sorted(
            self.found,
            key=lambda p: (p.mark.file, p.mark.line, p.mark.column) if p.mark else _LAST,
        )
        if self.n_left_out:
            values = {"count": self.n_left_out}
            ordered.append(Problem(code="more_problems", file=self.source.file, values=values))
        return ordered


class _StopError(Exception):
    """The rest of the file makes no sense after what was just reported."""


def parse_document(source: Source, problems: Problems, *, most_nodes: int = MAX_NODES) -> Mapping:
    """The top mapping of a file.

    Args:
        source: Its text.
        problems: What is wrong is added here.
        most_nodes: Values that the file may have.

    Raises:
        ScenarioError: There is none.
    """
    root: Node | None = None
    try:
        root = _Composer(source, problems, most_nodes).document()
    except yaml.MarkedYAMLError as error:
        problems.extend(explain(source, error))
    except yaml.YAMLError:
        problems.add("yaml_syntax")
    except _StopError:
        pass
    if isinstance(root, Mapping):
        return root
    if not problems.found:
        if root is None or (isinstance(root, Scalar) and root.yaml_type == "null"):
            problems.add("file_empty", hint="start_from_shipped")
        else:
            problems.extend(explain(source, None))
            if not problems.found:
                problems.add("top_not_mapping", root, hint="start_from_shipped")
    raise ScenarioError(problems.in_order())


class _Composer:
    def __init__(self, source: Source, problems: Problems, most_nodes: int) -> None:
        self.source = source
        self.problems = problems
        self.most_nodes = most_nodes
        self.n_nodes = 0
        self.reported: set[str] = set()

    def document(self) -> Node | None:
        """The tree of the only document."""
        root: Node | None = None
        n_documents = 0
        events = iter(yaml.parse(self.source.text, Loader=_Loader))
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                n_documents += 1
                if n_documents > 1:
                    self.problems.add(
                        "several_documents", at=_start(event), hint="several_documents"
                    )
                    break
            elif isinstance(event, yaml.NodeEvent):
                root = self._node(event, events, 1)
        return root

    def _node(self, event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> Node:
        line, column = _start(event)
        self._limit(line, column, depth)
        if isinstance(event, yaml.AliasEvent):
            self._once("alias", line, column, name=f"*{event.anchor}")
            return Broken(line=line, column=column)
        refused = self._refuse_properties(event, line, column)
        node = self._content(event, events, depth)
        return Broken(line=line, column=column) if refused else node

    def _content(self, event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> Node:
        line, column = _start(event)
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        if isinstance(event, yaml.SequenceStartEvent):
            sequence = Sequence(line=line, column=column)
            while not isinstance(inner := next(events), yaml.SequenceEndEvent):
                sequence.items.append(self._node(inner, events, depth + 1))
            return sequence
        mapping = Mapping(line=line, column=column)
        while not isinstance(inner := next(events), yaml.MappingEndEvent):
            key = self._node(inner, events, depth + 1)
            self._entry(mapping, key, self._node(next(events), events, depth + 1))
        return mapping

    def _limit(self, line: int, column: int, depth: int) -> None:
        self.n_nodes += 1
        if depth > MAX_DEPTH:
            self.problems.add(
                "too_deep", at=(line, column), hint="start_from_shipped", limit=MAX_DEPTH
            )
            raise _StopError
        if self.n_nodes > self.most_nodes:
            self.problems.add(
                "too_many_values",
                at=(line, column),
                hint="start_from_shipped",
                limit=self.most_nodes,
            )
            raise _StopError

    def _once(self, code: str, line: int, column: int, **values: object) -> None:
        """One problem of that kind is enough: the cure is the same for all."""
        if code not in self.reported:
            self.reported.add(code)
            self.problems.add(code, at=(line, column), hint=code, values=values)

    def _refuse_properties(self, event: yaml.Event, line: int, column: int) -> bool:
        anchor = getattr(event, "anchor", None)
        if anchor is not None:
            self._once("alias", line, column, name=f"&{anchor}")
        tag = getattr(event, "tag", None)
        if tag is None:
            return False
        written = next((word for word in self._words(line, column) if word.startswith("!")), tag)
        self._once("tag", line, column, found=written)
        return True

    def _words(self, line: int, column: int) -> list[str]:
        return self.source.lines[line][column:].split()

    def _scalar(self, event: yaml.ScalarEvent) -> Scalar:
        line, column = _start(event)
        end_line, end_column = _end(event)
        scalar = Scalar(
            line=line,
            column=column,
            end_line=end_line - 1 if end_column == 0 and end_line > line else end_line,
            value=event.value,
            is_plain=event.style in (None, ""),
        )
        # An escape in double quotes can make what the file itself does not hold.
        hidden = "\r" if "\r" in event.value else first_hidden(event.value)
        if hidden is not None:
            self.problems.add(
                "hidden_escape",
                scalar,
                hint="delete_character",
                character=describe_character(hidden),
            )
        return scalar

    def _entry(self, mapping: Mapping, key: Node, value: Node) -> None:
        if not isinstance(key, Scalar):
            if not isinstance(key, Broken):
                self.problems.add("key_not_text", key, hint="colon_blank")
        elif key.value == "<<" and key.is_plain:
            self._once("merge_key", key.line, key.column)
        elif key.value in mapping.keys:
            first = mapping.keys[key.value].line + 1
            self.problems.add(
                "duplicate_key", key, hint="duplicate_key", name=key.value, first=first
            )
        else:
            mapping.keys[key.value] = key
            mapping.values[key.value] = value


def _start(event: yaml.Event) -> tuple[int, int]:
    mark = event.start_mark
    return (mark.line, mark.column) if mark else (0, 0)


def _end(event: yaml.Event) -> tuple[int, int]:
    mark = event.end_mark
    return (mark.line, mark.column) if mark else (0, 0)
