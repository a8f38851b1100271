"""A shell script as the words of its commands, read and never run.

Only what stands in the text is used: its own assignments fill its variables, its here-documents
are kept by the name of their file. The user's environment and files play no part, and what a shell
would have to run, such as `$(hostname)`, stays a variable without a value.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gpuflow.errors import ImportFormatError, Mark, Problem
from gpuflow.scenario.source import Source

UNKNOWN_VALUE = "$?"
"""Stands for what only a running shell would know."""
MAX_WORDS = 8_000
"""Of all commands together, those of arrays each time that they are filled in."""
MAX_FILLED = 2**18
"""Characters that variables are filled in with, all together."""
MAX_VARIABLES = 250

_HERE_DOCUMENT = re.compile(r"<<(-?)\s*(['\"]?)([A-Za-z_]\w*)\2")
_TARGET = re.compile(r"(?:>>?|\btee(?:\s+-a)?)\s*([^\s<>|;&]+)")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL)
_VARIABLE = re.compile(
    r"\$(?:\{([A-Za-z_]\w*)(?:\[[@*]\])?(?::?[-=]([^}]{0,400}))?\}|([A-Za-z_]\w*))"
)
_BLANK_REST = re.compile(r"\s*$|\s+#.*$")
"""What may stand behind the backslash that ends a line: documents put a comment there, too."""
_PLACEHOLDER = re.compile(r"(?<![<\w])<[A-Za-z_][\w.-]*>")
"""`<HEAD_NODE_IP>`, as documents write what the reader fills in."""
_PROMPT = re.compile(r"^\s*\$ ")
_LOST_LINE_END = re.compile(r"\\\s+(?=-)")
_EXPORTS = frozenset({"export", "declare", "typeset", "readonly", "local"})
_OPERATOR = frozenset("();<>|&")
_REDIRECTIONS = "<>"


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its words, and the variables that were set when it ran."""

    words: tuple[str, ...]
    variables: Mapping[str, str]


@dataclass(slots=True)
class Script:
    """What a text holds."""

    commands: list[Command] = field(default_factory=list)
    documents: dict[str, str] = field(default_factory=dict)
    """Texts that the script writes into files, by the file's name."""


def read_script(source: Source, variables: Mapping[str, str] | None = None) -> Script:
    """The commands of a shell text.

    Args:
        source: The text.
        variables: Set before it begins.

    Raises:
        ImportFormatError: A quote is not closed, or the text has far too many words.
    """
    reader = _Reader(dict(variables or {}))
    for line in _logical_lines(source, reader):
        reader.take(line, source)
    return reader.script


# ---------------------------------------------------------------- lines


def _logical_lines(source: Source, reader: _Reader) -> Iterator[str]:
    """Lines with continuations joined, comments left out and here-documents put aside.

    Each line is read before the next one is asked for, so that variables are known by then.
    """
    lines = list(source.lines)
    number = 0
    while number < len(lines):
        line, number = _joined(source, lines, number)
        found = _HERE_DOCUMENT.search(line)
        if found is None:
            yield line
            continue
        body, number = _body(lines, number, found[3], strips_tabs=bool(found[1]))
        rest = line[: found.start()] + line[found.end() :]
        target = _TARGET.search(rest)
        if target is not None:
            reader.keep(target[1].strip("'\""), body, is_literal=bool(found[2]))
        yield rest


def file_key(name: str) -> str:
    """A file's name in the form under which documents are kept."""
    return posixpath.normpath(name)


def _body(lines: list[str], number: int, end: str, *, strips_tabs: bool) -> tuple[str, int]:
    body: list[str] = []
    while number < len(lines):
        line = lines[number].lstrip("\t") if strips_tabs else lines[number]
        number += 1
        if line.strip() == end:
            break
        body.append(line)
    return "\n".join(body) + "\n", number


def _joined(source: Source, lines: list[str], number: int) -> tuple[str, int]:
    """The line that begins at `number`, and where the next one begins."""
    text = _PROMPT.sub("", lines[number])
    is_prompted = text != lines[number]
    first, number = number, number + 1
    scan = _Scan()
    scan.take(text)
    while (scan.continues or scan.quote) and number < len(lines):
        if scan.quote and not scan.continues:
            scan.out.append("\n")
        scan.take(_PROMPT.sub("", lines[number]) if is_prompted else lines[number])
        number += 1
    if scan.quote:
        values = {"quote": scan.quote}
        # The line itself is not shown: it may hold a secret.
        mark = Mark(file=source.file, line=first + 1, column=1) if source.file else None
        code = "launch_quote"
        raise ImportFormatError(
            [Problem(code=code, key="" if mark else "--launch", mark=mark, values=values)]
        )
    return "".join(scan.out), number


class _Scan:
    """Characters of a line, quotes kept in mind."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.quote = ""
        self.continues = False

    def take(self, line: str) -> None:
        """One more line of the text; `continues` says whether it ends in a backslash."""
        self.continues = False
        index = 0
        while index < len(line):
            character = line[index]
            if character == "\\" and self.quote != "'":
                rest = _BLANK_REST.match(line, index + 1)
                if rest is not None and not (self.quote and rest[0].strip()):
                    self.continues = True
                    self.out.append("" if self.quote else " ")
                    return
                index += self._escaped(line, index)
            elif self.quote:
                index += self._inside(line, index)
            elif character == "#" and (index == 0 or line[index - 1] in " \t;&|("):
                return
            elif character in "'\"":
                self.quote = character
                self.out.append(character)
                index += 1
            else:
                index += self._plain(line, index)

    def _escaped(self, line: str, index: int) -> int:
        """A backslash; one before blanks and a flag is a line end that was lost in pasting."""
        lost = _LOST_LINE_END.match(line, index)
        if lost is not None and not self.quote:
            self.out.append(" ")
            return lost.end() - index
        self.out.append(line[index : index + 2])
        return 2

    def _inside(self, line: str, index: int) -> int:
        if line[index] == self.quote:
            self.quote = ""
        elif self.quote == '"':
            return self._plain(line, index)
        self.out.append(line[index])
        return 1

    def _plain(self, line: str, index: int) -> int:
        """One character, or a whole substitution that only a shell could fill in."""
        placeholder = None if self.quote else _PLACEHOLDER.match(line, index)
        if placeholder is not None:
            self.out.append(f"'{placeholder[0]}'")
            return len(placeholder[0])
        if line.startswith("$(", index):
            self.out.append(UNKNOWN_VALUE)
            return _balanced(line, index + 1) - index
        if line[index] == "`":
            self.out.append(UNKNOWN_VALUE)
            end = line.find("`", index + 1)
            return (end if end > 0 else len(line)) + 1 - index
        self.out.append(line[index])
        return 1


def _balanced(line: str, index: int) -> int:
    """Where the parenthesis that opens at `index` has been closed."""
    depth = 0
    for place in range(index, len(line)):
        depth += {"(": 1, ")": -1}.get(line[place], 0)
        if depth == 0:
            return place + 1
    return len(line)


# ---------------------------------------------------------------- words


class _Reader:
    """Turns lines into commands, assignments kept in mind."""

    def __init__(self, variables: dict[str, str]) -> None:
        self.script = Script()
        self.variables = variables
        self.arrays: dict[str, list[str]] = {}
        self.words_left = MAX_WORDS
        self.characters_left = MAX_FILLED

    def keep(self, name: str, body: str, *, is_literal: bool) -> None:
        """A text that the script writes into a file; variables in both are filled in."""
        text = body if is_literal else _VARIABLE.sub(self._value, body)
        self.script.documents[file_key(_VARIABLE.sub(self._value, name))] = text

    def take(self, line: str, source: Source) -> None:
        """All commands of one line."""
        tokens = self._tokens(line, source)
        words: list[str] = []
        index = 0
        while index < len(tokens):
            token = tokens[index]
            index += 1
            if not token or not set(token) <= _OPERATOR:
                words.append(token)
            elif token[0] == "(" and words and words[-1].endswith("="):
                end = next((i for i in range(index, len(tokens)) if tokens[i] == ")"), len(tokens))
                self._array(words.pop(), tokens[index:end])
                index = end + 1
            elif set(token) & set(_REDIRECTIONS):
                self._redirect(words, token, tokens[index : index + 1])
                index += 1
            else:
                self._close(words)
                words = []
        self._close(words)

    def _tokens(self, line: str, source: Source) -> list[str]:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        lexer.commenters = ""
        try:
            tokens = list(lexer)
        except ValueError:
            raise ImportFormatError(
                [Problem(code="launch_quote", key="--launch", values={"quote": "\\"})]
            ) from None
        self._count(len(tokens))
        return tokens

    def _count(self, n_words: int) -> None:
        self.words_left -= n_words
        if self.words_left < 0:
            raise _too_long(MAX_WORDS)

    def _array(self, name: str, words: list[str]) -> None:
        bare = name.rstrip("=")
        kept = self.arrays.get(bare.rstrip("+"), []) if bare.endswith("+") else []
        self.arrays[bare.rstrip("+")] = kept + [
            part for word in words for part in self._filled(word)
        ]

    def _redirect(self, words: list[str], token: str, target: list[str]) -> None:
        if words and words[-1] in {"1", "2"}:
            words.pop()
        if words and words[0] in {"echo", "printf"} and ">" in token and target:
            text = " ".join(word for word in words[1:] if word not in {"-e", "-n"})
            self.keep(target[0], text.replace("\\n", "\n") + "\n", is_literal=False)

    def _close(self, words: list[str]) -> None:
        """A command is complete: an assignment, or something that runs."""
        filled = [part for word in words for part in self._filled(word)]
        if filled and filled[0] in _EXPORTS:
            filled = [word for word in filled[1:] if not word.startswith("-")]
            for word in filled:
                self._assign(word, self.variables)
            return
        if filled and filled[0][:1] == "-" and self.script.commands:
            # No command is called so: a backslash was lost at the end of the line before.
            last = self.script.commands[-1]
            self.script.commands[-1] = Command(last.words + tuple(filled), last.variables)
            return
        own = dict(self.variables)
        while filled and _ASSIGNMENT.fullmatch(filled[0]):
            self._assign(filled.pop(0), own)
        if filled:
            self.script.commands.append(Command(tuple(filled), own))
        else:
            self.variables.update(own)

    @staticmethod
    def _assign(word: str, variables: dict[str, str]) -> None:
        found = _ASSIGNMENT.fullmatch(word)
        if found is not None:
            before = variables.get(found[1], "") if found[2] else ""
            variables[found[1]] = before + found[3]
            # Each command keeps what they are when it runs.
            if len(variables) > MAX_VARIABLES:
                raise _too_long(MAX_VARIABLES)

    def _filled(self, word: str) -> list[str]:
        """The word with the script's own variables in it; a variable of flags becomes several."""
        whole = _VARIABLE.fullmatch(word)
        name = (whole[1] or whole[3]) if whole else ""
        if name in self.arrays:
            # Arrays that hold each other grow without end.
            self._count(len(self.arrays[name]))
            return list(self.arrays[name])
        text = _VARIABLE.sub(self._value, word)
        if whole and text.startswith("-") and " " in text:
            try:
                return shlex.split(text)
            except ValueError:
                return [text]
        return [text]

    def _value(self, found: re.Match[str]) -> str:
        name, default = found[1] or found[3], found[2]
        value = self.variables.get(name, found[0] if default is None else default)
        # Variables that hold each other grow without end.
        self.characters_left -= len(value)
        if self.characters_left < 0:
            raise _too_long(MAX_FILLED)
        return value


def _too_long(most: int) -> ImportFormatError:
    return ImportFormatError(
        [Problem(code="launch_too_long", key="--launch", values={"most": most})]
    )
