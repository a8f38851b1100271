"""What every option is called and how its text becomes a value, declared once.

A verb takes a `Request` and gets all options that choose and change a scenario; every verb also
gets the options of `COMMON`. Help texts are in the locale files, under `option.<name>`.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer

from gpuflow.errors import InputError, Problem
from gpuflow.importers.launch.reading import Launch
from gpuflow.units import UnitError, parse_share, parse_size

Format = Literal["table", "markdown", "latex", "csv", "json"]

FORMATS: tuple[Format, ...] = ("table", "markdown", "latex", "csv", "json")
DEFAULT_FORMAT: Format = "table"
"""Text for people; a verb without tables has some other text."""
LANGUAGES = ("zh", "en")
_LARGEST = 10**9

PARSER_ERRORS: Any = sys.modules[typer.BadParameter.__module__]
"""The parser's own errors, in the copy of click that typer carries under a private name."""


def bad_option(option: str, code: str, /, **values: object) -> InputError:
    """The error of an option whose value cannot be used; a value called `hint` is the hint."""
    hint = str(values.pop("hint", ""))
    return InputError([Problem(code=code, key=option, values=values, hint=hint)])


def bad_quantity(option: str, error: UnitError, example: str = "") -> InputError:
    """The error of an option that takes a quantity and got none, with an example."""
    values = {**error.values, **({"example": example} if example else {})}
    hint = "write_unit" if "example" in values else ""
    return bad_option(option, error.code, **values, hint=hint)


def nearest(text: str, allowed: Sequence[str]) -> str:
    """The allowed spelling that `text` was probably meant to be; empty when none is near."""
    return next(iter(difflib.get_close_matches(text, allowed, 1, cutoff=0.7)), "")


def one_of(option: str, allowed: Sequence[str]) -> Callable[[str], str]:
    """A parser that takes one of a few words."""

    def parse(text: str) -> str:
        if text in allowed:
            return text
        near = nearest(text, allowed)
        raise bad_option(
            option,
            "option_choice",
            hint="did_you_mean" if near else "",
            found=text,
            allowed=list(allowed),
            suggestion=near,
        )

    return parse


def whole(option: str, least: int = 1, most: int = _LARGEST) -> Callable[[str], int]:
    """A parser that takes a whole number, written plainly."""

    def parse(text: str) -> int:
        plain = text.strip()
        if not (plain.isascii() and plain.isdigit()) or not least <= int(plain[:12]) <= most:
            raise bad_option(option, "option_whole", found=text, least=least, most=most)
        return int(plain)

    return parse


def limited(option: str) -> Callable[[str], int]:
    """A parser that takes a whole number up to what scenarios take."""

    def parse(text: str) -> int:
        # With it comes YAML, which a help page does without.
        from gpuflow.scenario.draft import LIMITS

        return whole(option, 1, LIMITS[option.lstrip("-").replace("-", "_")])(text)

    return parse


def named(option: str) -> Callable[[str], str]:
    """A parser that takes any word but none; an unset variable of a script is no name."""

    def parse(text: str) -> str:
        if not text.strip():
            raise bad_option(option, "option_empty")
        return text

    return parse


def language(text: str) -> str:
    """A parser that takes a language as locales spell it: zh, ZH, zh_CN, zh-CN.UTF-8."""
    return _language(text) or one_of("--lang", LANGUAGES)(text)


def _language(text: str) -> str | None:
    """The language that is meant; None where it is none of ours."""
    first = re.split(r"[_.@-]", text.strip().lower(), maxsplit=1)[0]
    return first if first in LANGUAGES else None


def share(option: str) -> Callable[[str], float]:
    """A parser that takes `20%` or `0.2`; the whole of a step cannot be communication."""

    def parse(text: str) -> float:
        try:
            value = parse_share(text)
        except UnitError as error:
            raise bad_quantity(option, error) from None
        if not 0 < value < 1:
            raise bad_option(option, "option_share", found=text)
        return value

    return parse


@dataclass(frozen=True, slots=True)
class Sizes:
    """Message sizes, rising."""

    size_bytes: tuple[int, ...]


def sizes(option: str) -> Callable[[str], Sizes]:
    """A parser of sizes and ranges `A..B` (A, twice A, ... up to B) with commas between them."""

    def parse(text: str) -> Sizes:
        found = {size for part in text.split(",") for size in ladder(part)}
        if len(found) > 1 and 0 in found:
            raise bad_option(option, "option_sizes", found=text)
        return Sizes(tuple(sorted(found)))

    def ladder(text: str) -> list[int]:
        first, separator, last = text.partition("..")
        try:
            low = round(parse_size(first, short=True))
            high = round(parse_size(last, short=True)) if separator else low
        except UnitError as error:
            raise bad_quantity(option, error) from None
        if high < low or high > _LARGEST_SIZE or (separator and not low):
            raise bad_option(option, "option_sizes", found=text)
        found = [low]
        while 0 < found[-1] * 2 <= high:
            found.append(found[-1] * 2)
        return found if found[-1] == high else [*found, high]

    return parse


_LARGEST_SIZE = 2**50
"""Bytes; beyond a pebibyte a message is a slip of the keyboard."""


@dataclass(frozen=True, slots=True)
class StageLayers:
    """Layers of each pipeline stage."""

    counts: tuple[int, ...]


def stage_layers(text: str) -> StageLayers:
    """A parser that takes `31,30`."""
    counts = tuple(whole("--layers")(part) for part in text.split(","))
    return StageLayers(counts)


def launch_line(text: str) -> Launch:
    """A parser that takes an engine's launch line, or a file that holds one."""
    # 0.05 s of YAML that other command lines do without
    from gpuflow.importers.launch_line import MAX_BYTES, read_launch

    if text.strip() == "-":
        # The line end keeps a single word from being taken for the name of a file.
        text = sys.stdin.read(MAX_BYTES) + "\n"
    return read_launch(text)


def _number(*names: str) -> object:
    return typer.Option(*names, parser=limited(names[0]), metavar="N")


def _name(option: str, metavar: str = "NAME") -> object:
    return typer.Option(option, parser=named(option), metavar=metavar)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What is changed in a scenario; None leaves the scenario's own value."""

    launch: Annotated[
        Launch | None, typer.Option("--launch", parser=launch_line, metavar="LINE|FILE")
    ] = None
    model: Annotated[str | None, _name("--model", "NAME|PATH")] = None
    gpu: Annotated[str | None, _name("--gpu")] = None
    fabric: Annotated[str | None, _name("--fabric")] = None
    tp: Annotated[int | None, _number("--tp")] = None
    pp: Annotated[int | None, _number("--pp")] = None
    layers: Annotated[
        StageLayers | None, typer.Option("--layers", parser=stage_layers, metavar="N,N,...")
    ] = None
    ep: Annotated[int | None, _number("--ep")] = None
    dp: Annotated[int | None, _number("--dp")] = None
    batch: Annotated[int | None, _number("--batch", "--concurrency")] = None
    prompt: Annotated[int | None, _number("--prompt", "--isl")] = None
    output: Annotated[int | None, _number("--output", "--osl")] = None
    context: Annotated[int | None, _number("--context")] = None
    chunk: Annotated[int | None, _number("--chunk")] = None
    micro_batches: Annotated[int | None, _number("--micro-batches")] = None
    overlap: Annotated[bool | None, typer.Option("--overlap/--no-overlap")] = None
    precision: Annotated[str | None, _name("--precision")] = None
    profile: Annotated[str | None, _name("--profile")] = None
    all_reduce: Annotated[str | None, _name("--all-reduce", "ALGORITHM")] = None
    topo: Annotated[str | None, typer.Option("--topo", metavar="FILE|-")] = None


CalibrationOption = Annotated[str | None, typer.Option("--calibration", metavar="FILE")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Changes):
    """Which scenario, and what is changed in it."""

    scenario: Annotated[
        str | None, typer.Argument(parser=named("SCENARIO"), metavar="[SCENARIO]")
    ] = None
    calibration: CalibrationOption = None


def format_option(formats: tuple[Format, ...]) -> Any:
    """The annotation of `--format` where it takes these words."""
    declared = typer.Option(
        "--format", parser=one_of("--format", formats), metavar=f"{{{','.join(formats)}}}"
    )
    return Annotated[str | None, declared]


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """Options of every verb.

    They are read before the command line is parsed (`look_ahead`), since errors speak a language
    and have a format too; here they are declared and checked.
    """

    lang: Annotated[
        str | None,
        typer.Option("--lang", parser=language, metavar=f"{{{','.join(LANGUAGES)}}}"),
    ] = None
    format: Annotated[
        str | None,
        typer.Option(
            "--format", parser=one_of("--format", FORMATS), metavar=f"{{{','.join(FORMATS)}}}"
        ),
    ] = None
    no_color: Annotated[bool, typer.Option("--no-color")] = False


Overhead = Annotated[
    float | None, typer.Option("--overhead", parser=share("--overhead"), metavar="SHARE")
]
DEFAULT_OVERHEAD = 0.2
"""Part of a step that communication may take before a link counts as short."""


@dataclass(frozen=True, slots=True)
class Early:
    """What has to be known about a command line before it is parsed."""

    verb: str
    """As typed; empty when there is none."""
    lang: str | None
    format: Format
    no_color: bool


def look_ahead(arguments: Sequence[str]) -> Early:
    """Find the verb and the common options, forgiving everything else.

    The verb is the first word, with nothing but common options before it.

    Example:
        >>> look_ahead(["--lang", "zh", "table", "--format=json"])
        Early(verb='table', lang='zh', format='json', no_color=False)
        >>> look_ahead(["--tp", "4", "table"]).verb
        ''
    """
    found: dict[str, str] = {}
    verb, is_open, pending = "", True, ""
    for argument in arguments:
        name, equals, text = argument.partition("=")
        if argument == "--":
            break
        if pending:
            found[pending], pending = argument, ""
        elif name in {"--lang", "--format"}:
            found[name], pending = text, "" if equals else name
        elif argument != "--no-color":
            verb = argument if is_open and not argument.startswith("-") else verb
            is_open = False
    wanted = found.get("--format")
    return Early(
        verb,
        _language(found.get("--lang", "")),
        next((name for name in FORMATS if name == wanted), "table"),
        "--no-color" in arguments,
    )
