"""TOML as text: reading with the line of every key, and writing.

`tomllib` reads the values and checks the grammar; it does not say where a key stands, so a small scanner does.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stickslip.io.disk import NotRegular, file_path, read_regular

KeyPath = tuple[str | int, ...]
LARGEST_FILE = 8_000_000
"""Bytes of a model file."""
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


class ModelError(ValueError):
    """One line about a model file: file, line, key, what was expected, what came."""


def read_toml(path: str | Path) -> tuple[dict[str, Any], str]:
    """The content and the text of a TOML file, or `ModelError`."""
    path = file_path(path, "path")
    try:
        content = read_regular(path, LARGEST_FILE)
        if len(content) > LARGEST_FILE:
            raise ModelError(f"{path} has {path.stat().st_size} bytes, a model file at most {LARGEST_FILE}.")
        text = content.decode("utf-8")
    except NotRegular as problem:
        raise ModelError(str(problem).replace("a regular file", "a model file, or of a library system")) from None
    except FileNotFoundError:
        raise ModelError(f"{path} does not exist; give the name of a model file, or of a library system.") from None
    except UnicodeDecodeError as problem:
        raise ModelError(f"{path} is not a text file in UTF-8 (byte {problem.start}).") from None
    except OSError as problem:
        raise ModelError(f"{path} cannot be read: {problem.strerror or problem}.") from None
    return parse_toml(text, str(path)), text


def parse_toml(text: str, name: str) -> dict[str, Any]:
    """The content of TOML text, or `ModelError`; `name` is what messages call it."""
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


# -- where keys stand --------------------------------------------------------------------------------------------------


def key_lines(text: str) -> dict[KeyPath, int]:
    """Line numbers, from 1, of the keys and list entries of valid TOML text."""
    return _Scanner(text).lines


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
        while self.peek and (self.peek in " \t" or (newlines and self.peek in "\r\n,") or self.peek == "#"):
            if self.peek == "#":
                end = self.text.find("\n", self.position)
                self.position = len(self.text) if end < 0 else end
                if not newlines:
                    return
            else:
                self.advance()

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
            while self.peek and self.peek not in ",]}#\r\n":
                self.advance()

    def quoted(self) -> str:
        """Pass a string of any kind; returns what stands between its quotes."""
        mark = self.peek
        quotes = mark * 3 if self.text.startswith(mark * 3, self.position) else mark
        self.advance(len(quotes))
        begin = self.position
        while self.peek and not self.text.startswith(quotes, self.position):
            self.advance(2 if mark == '"' and self.peek == "\\" else 1)
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
            here = (*path, key)
            for index, entry in enumerate(value if _is_tables(value) else [value]):
                self.lines.append("")
                if index == 0:
                    self.comment(here)
                name = ".".join(_key(str(part)) for part in here if isinstance(part, str))
                self.lines.append(f"[[{name}]]" if _is_tables(value) else f"[{name}]")
                self.table(entry, (*here, index) if _is_tables(value) else here)

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
