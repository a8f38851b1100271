"""Reading the user's config file: strictly, every problem with its line and column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gpuflow.cli.config import Config
from gpuflow.cli.screens import LEAST, MOST_FPS
from gpuflow.draw.bound import DEFAULT_KEYS, KEY_NAMES, RESERVED, Bound, is_key, scope_of
from gpuflow.draw.theme import THEMES
from gpuflow.errors import InputError, Problem
from gpuflow.scenario import nodes
from gpuflow.scenario.nodes import Broken, Node, Problems, Scalar, parse_document
from gpuflow.scenario.reader import Fields, wrong_type
from gpuflow.scenario.source import Source, read_source
from gpuflow.scenario.spelling import nearest
from gpuflow.words import LANGUAGES

MAX_BYTES = 64 * 1024
MOST_KEYS = 8
"""Keys of one command."""
_TOP = ("keys", "theme", "lang", "fps", "ascii", "profile")
_ALSO = {"esc": "escape", "pgup": "pageup", "pgdn": "pagedown", "return": "enter"}
"""Other spellings of keys' names."""
_ABOUT_SCENARIOS = frozenset({"start_from_shipped", "file_too_large", "write_ratio"})


def read_file(path: Path, *, is_named: bool = False) -> Config:
    """What a file says.

    Args:
        path: Where it is.
        is_named: Whether a variable of the environment says so, which people forget.

    Raises:
        InputError: Something is wrong with it.
    """
    source = read_source(path, str(path), MAX_BYTES)
    if isinstance(source, list):
        raise _refused(source, hint="config_named" if is_named else "")
    return _read(source)


def _read(source: Source) -> Config:
    if all(not line.strip() or line.lstrip().startswith("#") for line in source.lines):
        return Config(file=source.file)
    problems = Problems(source)
    try:
        top = Fields(problems, parse_document(source, problems), "", None)
    except InputError as error:
        raise _refused(error.problems) from None
    top.known(_TOP)
    lang = top.choice("lang", LANGUAGES, "config_choice")
    config = Config(
        file=source.file,
        keys=_keys(top),
        theme=top.choice("theme", THEMES, "config_choice"),
        lang=next((one for one in LANGUAGES if one == lang), None),
        fps=top.ratio("fps", LEAST, MOST_FPS),
        is_ascii=bool(top.flag("ascii")),
        profile=_profile(top),
    )
    if problems.found:
        raise _refused(problems.in_order())
    return config


def _refused(problems: Sequence[Problem], hint: str = "") -> InputError:
    """The problems, with another hint where there is none or one that is about scenarios."""
    return InputError(
        [
            replace(one, hint=hint) if not one.hint or one.hint in _ABOUT_SCENARIOS else one
            for one in problems
        ]
    )


def _profile(top: Fields) -> str | None:
    if not top.has("profile"):
        return None
    from gpuflow.scenario.catalog import profile_names

    return top.choice("profile", profile_names(), "config_choice")


def _keys(top: Fields) -> Bound:
    fields = top.mapping("keys")
    if fields is None:
        return {}
    fields.known(tuple(DEFAULT_KEYS))
    bound: dict[str, tuple[str, ...]] = {}
    taken: dict[str, list[str]] = {}
    """Commands that have claimed a key, by key."""
    for name, node in fields.node.values.items():
        keys = []
        for item in _items(node):
            key = _key(fields, name, item, taken)
            if key is not None:
                keys.append(key)
        if name in DEFAULT_KEYS and keys:
            bound[name] = tuple(dict.fromkeys(keys))
    return bound


def _items(node: Node) -> list[Node]:
    """One key, or a list of them."""
    return list(node.items[: MOST_KEYS + 1]) if isinstance(node, nodes.Sequence) else [node]


def _key(fields: Fields, name: str, item: Node, taken: dict[str, list[str]]) -> str | None:
    """A key of a command, where it is one and nobody else's."""
    path, problems = fields.path(name), fields.problems
    if isinstance(item, Broken):
        return None
    if not isinstance(item, Scalar) or item.yaml_type == "null":
        wrong_type(problems, item, path, "text", fields.node.keys.get(name))
        return None
    key = _spelled(item.value)
    if not is_key(key):
        near = nearest(key, KEY_NAMES)
        problems.add(
            "config_key",
            item,
            key=path,
            hint="did_you_mean" if near else "config_keys",
            found=item.value,
            suggestion=near,
            known=list(KEY_NAMES),
        )
        return None
    if key in RESERVED:
        problems.add("config_key_reserved", item, key=path, found=item.value)
        return None
    others = [one for one in taken.get(key, ()) if one != name and scope_of(one) & scope_of(name)]
    if others:
        problems.add("config_key_twice", item, key=path, found=item.value, other=others[0])
        return None
    taken.setdefault(key, []).append(name)
    return key


def _spelled(text: str) -> str:
    """A key in the spelling of `DEFAULT_KEYS`: names in small letters, characters as they are."""
    if len(text) == 1:
        return text
    plain = text.strip().lower()
    if plain.startswith("ctrl-"):
        plain = f"ctrl+{plain[5:]}"
    return _ALSO.get(plain, plain)
