"""TOML as text: reading with the line of every key, and writing.

`tomllib` reads the values and checks the grammar; it does not say where a key stands, so a small scanner does.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from stickslip.io.disk import NotRegular, file_path, read_regular
from stickslip.io.printable import printable

KeyPath = tuple[str | int, ...]
LARGEST_FILE = 2_000_000
"""Bytes of a model file, and characters of the text of one."""
MOST_KEYS, MOST_VALUES, MOST_PARTS, DEEPEST, LONGEST_WORD, MOST_ESCAPES = 60_000, 50_000, 16, 64, 400, 20_000
"""Keys and entries of lists of a file, parts of a dotted key, nesting, characters of a key or number, escapes."""
_INSIDE = {
    '"': re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*', re.DOTALL),
    "'": re.compile(r"[^']*+"),
    '"""': re.compile(r'[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*', re.DOTALL),
    "'''": re.compile(r"[^']*+(?:'(?!'')[^']*+)*"),
}
"""Texts up to their closing quotes.  Only single characters are repeated possessively: before Python 3.11.5 a group
with alternatives that is repeated so matches too little."""
_SCALAR = re.compile(r"[^,\]}#\r\n]*")
_BLANK = re.compile(r"[ \t]*+(?:#[^\n]*+)?")
_BETWEEN = re.compile(r"(?:[ \t\r\n,]++|#[^\n]*+)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


class ModelError(ValueError):
    """One line about a model file: file, line, key, what was expected, what came."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message if len(message) <= 1200 else f"{message[:900]} ... {message[-200:]}"))


def read_toml(path: str | Path) -> tuple[dict[str, Any], str]:
    """The content and the text of a TOML file, or `ModelError`."""
    text = read_text(path)
    return parse_toml(text, str(path)), text


def read_text(path: str | Path) -> str:
    """The text of a TOML file, or `ModelError`."""
    path = file_path(path, "path")
    try:
        content = read_regular(path, LARGEST_FILE)
        if len(content) > LARGEST_FILE:
            raise ModelError(f"{path} has {path.stat().st_size} bytes, a model file at most {LARGEST_FILE}.")
        return content.decode("utf-8-sig")  # editors of Windows begin files with a byte order mark
    except NotRegular as problem:
        raise ModelError(str(problem).replace("a regular file", "a model file, or of a library system")) from None
    except FileNotFoundError:
        raise ModelError(f"{path} does not exist; give the name of a model file, or of a library system.") from None
    except UnicodeDecodeError as problem:
        raise ModelError(f"{path} is not a text file in UTF-8 (byte {problem.start}).") from None
    except OSError as problem:
        raise ModelError(f"{path} cannot be read: {problem.strerror or problem}.") from None


def parse_toml(text: str, name: str) -> dict[str, Any]:
    """The content of TOML text, or `ModelError`; `name` is what messages call it."""
    _require_readable(text, name)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        found = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", str(problem), re.DOTALL)
        if found is None:
            raise ModelError(f"{name} is no TOML: {problem}.") from None
        said, line, column = found.groups()
        raise ModelError(f"{name}, line {line}, column {column}: {said}.") from None
    except RecursionError:
        raise ModelError(f"{name} is no model file: lists or tables are nested too deeply.") from None
    except ValueError as problem:  # a date or a number that Python cannot hold
        raise ModelError(f"{name} is no TOML: {' '.join(str(problem).split())[:200]}.") from None


_LEXEME = re.compile(
    r"""(?P<blank>(?:[ \t\r\n]++|\#[^\n]*+)+)
    |(?P<text>\"{3}[^"\\]*+(?:(?:\\[\s\S]|"(?!""))[^"\\]*+)*"{3,5}|'{3}[^']*+(?:'(?!'')[^']*+)*'{3,5}
        |"[^"\\\n]*+(?:\\.[^"\\\n]*+)*"|'[^'\n]*+')
    |(?P<word>[^\s\#"'=,\[\]{}]++)
    |(?P<mark>[\s\S])""",
    re.VERBOSE,
)


def _require_readable(text: str, name: str) -> None:
    """Refuse what `tomllib` would take long to read: it needs the square of the parts of a dotted key, for one.

    One pass over keys, texts and brackets, given up where a limit is passed; whether the text is TOML is not asked.
    """
    if len(text) > LARGEST_FILE:
        raise ModelError(f"{name} has {len(text)} characters, a model file at most {LARGEST_FILE}.")
    keys = values = depth = dots = escapes = 0

    def refuse(rule: str) -> ModelError:
        return ModelError(f"{name}, line {text.count(chr(10), 0, match.start()) + 1}: {rule}.")

    for match in _LEXEME.finditer(text):
        kind = match.lastgroup
        if kind == "blank":
            dots = 0 if "\n" in match[0] else dots
        elif kind == "text":
            escapes += match[0].count("\\") if match[0][0] == '"' else 0
            if escapes > MOST_ESCAPES:
                raise refuse(f"the texts of a file may have {MOST_ESCAPES} escapes with \\ together")
        elif kind == "word":
            if len(match[0]) > LONGEST_WORD and match[0].count(".") <= MOST_PARTS:
                raise refuse(f"a key or a number may have {LONGEST_WORD} characters, got {len(match[0])}")
            dots += (new := match[0].count("."))
            keys += new if dots > 1 else 0  # one is that of a number
            if dots >= MOST_PARTS:
                raise refuse(f"a key may have {MOST_PARTS} parts with dots between them")
        else:
            mark = match[0]
            depth += (mark in "[{") - (mark in "]}")
            if depth < 0 or mark not in "=,[]{}":
                return  # no TOML has this mark here: `tomllib` stops at it or before it
            keys += mark in "=["
            values += mark == ","
            dots = 0
            if depth > DEEPEST:
                raise refuse(f"lists and tables may be {DEEPEST} deep")
            if keys > MOST_KEYS or values > MOST_VALUES:
                raise refuse(f"a file may have {MOST_KEYS} keys and lists, and {MOST_VALUES} entries of lists")


# -- where keys stand --------------------------------------------------------------------------------------------------


def key_lines(text: str) -> Mapping[KeyPath, int]:
    """Line numbers, from 1, of the keys and list entries of valid TOML text; looked for when one is asked for."""
    return _Lines(text)


class _Lines(Mapping[KeyPath, int]):
    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _found(self) -> dict[KeyPath, int]:
        return _Scanner(self._text).lines

    def __getitem__(self, path: KeyPath) -> int:
        return self._found[path]

    def __iter__(self) -> Iterator[KeyPath]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


class _Scanner:
    """Walks through TOML that `tomllib` has accepted and notes where keys and list entries begin."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.line = 1
        self.lines: dict[KeyPath, int] = {}
        self.counts: dict[KeyPath, int] = {}  # entries of arrays of tables so far
        self.tables: dict[KeyPath, KeyPath] = {}
        table: KeyPath = ()
        while True:
            self.skip(newlines=True)
            if self.position >= len(self.text):
                break
            if self.peek == "[":
                table = self.header()
            else:
                self.pair(table)

    @property
    def peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def advance(self, count: int = 1) -> None:
        self.line += self.text.count("\n", self.position, self.position + count)
        self.position += count

    def skip(self, newlines: bool) -> None:
        """Pass blanks and comments; with `newlines`, lines and commas as well."""
        found = (_BETWEEN if newlines else _BLANK).match(self.text, self.position)
        if found is not None:
            self.advance(found.end() - self.position)

    def header(self) -> KeyPath:
        several = self.text.startswith("[[", self.position)
        self.advance(2 if several else 1)
        line = self.line
        given = self.keys()
        path: KeyPath = ()
        for key in given[:-1]:  # a table inside the last entry of an array of tables
            path = self.entered((*path, key))
        path = (*path, given[-1])
        if several:
            self.lines.setdefault(path, line)
            self.counts[path] = self.counts.get(path, 0) + 1
            path = (*path, self.counts[path] - 1)
        else:
            path = self.entered(path)
        self.lines.setdefault(path, line)
        self.advance(2 if several else 1)
        return path

    def entered(self, path: KeyPath) -> KeyPath:
        return (*path, self.counts[path] - 1) if path in self.counts else path

    def keys(self) -> list[str]:
        found = []
        while True:
            self.skip(newlines=False)
            found.append(self.quoted() if self.peek in "\"'" else self.bare())
            self.skip(newlines=False)
            if self.peek != ".":
                return found
            self.advance()

    def bare(self) -> str:
        match = _BARE_KEY.match(self.text, self.position)
        word = match[0] if match else self.peek
        self.advance(max(1, len(word)))
        return word

    def pair(self, table: KeyPath) -> None:
        line = self.line
        path = table
        for key in self.keys():
            path = (*path, key)
            self.lines.setdefault(path, line)
        self.advance()  # =
        self.skip(newlines=False)
        self.value(path)

    def value(self, path: KeyPath) -> None:
        self.lines.setdefault(path, self.line)
        if self.peek in ('"', "'"):
            self.quoted()
        elif self.peek == "[":
            self.advance()
            for index in range(len(self.text)):
                self.skip(newlines=True)
                if self.peek in ("]", ""):
                    break
                self.value((*path, index))
            self.advance()
        elif self.peek == "{":
            self.advance()
            while True:
                self.skip(newlines=True)
                if self.peek in ("}", ""):
                    break
                self.pair(path)
            self.advance()
        else:
            self.position = _SCALAR.match(self.text, self.position).end()  # type: ignore[union-attr]

    def quoted(self) -> str:
        """Pass a string of any kind; returns what stands between its quotes."""
        mark = self.peek
        quotes = mark * 3 if self.text.startswith(mark * 3, self.position) else mark
        self.advance(len(quotes))
        begin = self.position
        inside = _INSIDE[mark if len(quotes) == 1 else quotes]
        self.advance(inside.match(self.text, begin).end() - begin)  # type: ignore[union-attr]
        end = self.position
        self.advance(len(quotes))
        while len(quotes) == 3 and self.peek == mark:  # up to two quotes may stand before the closing three
            self.advance()
        return self.text[begin:end]


# -- writing -----------------------------------------------------------------------------------------------------------


def toml_text(content: Mapping[str, Any], comments: Mapping[KeyPath, str] | None = None) -> str:
    """TOML of nested mappings, lists, texts, numbers and flags; every number reads back bit for bit.

    `comments` go before the key or header they belong to.
    """
    writer = _Writer(comments or {})
    writer.table(content, ())
    return "\n".join(writer.lines).strip() + "\n"


class _Writer:
    def __init__(self, comments: Mapping[KeyPath, str]) -> None:
        self.lines: list[str] = []
        self.comments = comments

    def table(self, content: Mapping[str, Any], path: KeyPath) -> None:
        """Plain values first: in TOML what follows a header belongs to it."""
        later = {key: value for key, value in content.items() if _is_table(value, path) or _is_tables(value)}
        for key, value in content.items():
            if key not in later:
                self.comment((*path, key))
                self.lines.append(f"{_key(key)} = {inline(value)}")
        for key, value in later.items():
            here, several = (*path, key), _is_tables(value)
            for index, entry in enumerate(value if several else [value]):
                self.lines.append("")
                if index == 0:
                    self.comment(here)
                name = ".".join(_key(str(part)) for part in here if isinstance(part, str))
                self.lines.append(f"[[{name}]]" if several else f"[{name}]")
                self.table(entry, (*here, index) if several else here)

    def comment(self, path: KeyPath) -> None:
        self.lines.extend(f"# {line}" for line in self.comments.get(path, "").splitlines())


def _is_table(value: Any, path: KeyPath) -> bool:
    return isinstance(value, Mapping) and not path  # deeper ones are written inline: a line each


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, Mapping) for entry in value)


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _quoted(key)


def inline(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return repr(value)
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {inline(entry)}" for key, entry in value.items()) + " }"
    if isinstance(value, Sequence):
        return "[" + ", ".join(inline(entry) for entry in value) + "]"
    raise TypeError(f"TOML has no {type(value).__name__}.")


def _quoted(text: str) -> str:
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    plain = "".join(escapes.get(c) or (c if c >= " " and c != "\x7f" else f"\\u{ord(c):04x}") for c in text)
    return f'"{plain}"'
