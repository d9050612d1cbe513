"""CSV files as columns of numbers, read in bulk."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from stickslip.checks import Array
from stickslip.io.disk import open_regular, read_regular
from stickslip.io.printable import printable
from stickslip.io.words import NoNumber, Words, chunks

LARGEST_FILE = 1 << 28  # bytes of a table
MOST_COLUMNS = 10_000
_BLANK, _LINE = ord(" "), ord("\n")


def read_csv(path: Path) -> dict[str, Array]:
    """Columns of a CSV file with a head line; empty fields, 'nan' and 'na' are missing samples."""
    shown = printable(path.name)
    with _told(path):
        raw = read_regular(path, LARGEST_FILE + 1)
    if len(raw) > LARGEST_FILE:
        raise ValueError(f"{shown} must be smaller than {LARGEST_FILE >> 20} MB.")
    raw = raw.removeprefix(b"\xef\xbb\xbf")  # a byte order mark
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{shown} must be a text of comma-separated values in UTF-8.") from None
    head: list[str] | None = None
    split, rows = ",", 1
    parts: list[np.ndarray] = []
    for _, text in chunks(raw):
        if head is None:
            line, text = _first_line(text)
            if line is None:
                continue
            head, split = _head(line, shown)
        values = _values(text, split, head, shown, rows)
        parts.append(values)
        rows += len(values)
    if head is None:
        raise ValueError(f"{shown} must have a head line and rows, got an empty file.")
    table = np.concatenate([np.zeros((0, len(head))), *parts])
    return {name: np.ascontiguousarray(column) for name, column in zip(head, table.T, strict=True)}


def require_file(path: Path) -> None:
    """ValueError where there is no regular file that can be opened."""
    with _told(path):
        os.close(open_regular(path))


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Say in one line why a file cannot be read."""
    try:
        yield
    except FileNotFoundError:
        raise ValueError(f"there is no file {printable(str(path))!r} with measured motions.") from None
    except OSError as error:
        raise ValueError(f"{printable(str(path))} cannot be read: {error.strerror}.") from None


def _first_line(text: bytes) -> tuple[bytes | None, bytes]:
    """The first line that is neither empty nor a comment, None where there is none, and the text behind it."""
    words = Words(text)
    first = words.text[words.begins[words.first]] != ord("#")
    if not np.any(first):
        return None, b""
    at = words.begins[words.first[np.argmax(first)]]
    end = text.find(b"\n", at) + 1 or len(text)
    return text[text.rfind(b"\n", 0, at) + 1 : end].strip(b"\n"), text[end:]


def _head(line: bytes, shown: str) -> tuple[list[str], str]:
    """The names of the columns, and the sign between them."""
    split = ";" if line.count(b";") > line.count(b",") else "\t" if b"\t" in line else ","
    if line.count(split.encode()) >= MOST_COLUMNS:
        raise ValueError(f"{shown} may have {MOST_COLUMNS} columns, got more.")
    try:
        head = [cell.strip() for cell in next(csv.reader([line.decode("utf-8")], delimiter=split, strict=True))]
    except csv.Error as error:  # a cell without end
        raise ValueError(f"{shown} must be a text of comma-separated values: {error}.") from None
    if len(set(head)) != len(head):
        raise ValueError(f"{shown}: each column must have a name of its own, got {listed(head)}.")
    return head, split


def _values(text: bytes, split: str, head: list[str], shown: str, row: int) -> np.ndarray:
    """The rows of a piece of the file, nan where a sample is missing; `row` is the number of the row before it."""
    if split == ";":
        text = text.replace(b",", b".")
    between = ord(split)
    lines = _rows(text, between)
    marks = np.flatnonzero((lines == between) | (lines == _LINE))
    quotes = np.searchsorted(marks, np.flatnonzero(lines == ord('"')))  # the cells in which they stand
    text = lines.tobytes()
    ends = np.flatnonzero(lines[marks] == _LINE)
    fields = np.diff(ends, prepend=-1)
    short = np.flatnonzero(fields != len(head))
    sound = ends[short[0] - 1] + 1 if len(short) and short[0] else 0 if len(short) else len(marks)
    words = Words(text.replace(split.encode(), b" ").replace(b'"', b" "))
    cell = np.searchsorted(marks, words.begins)  # the cell of each word
    missing = _is_missing(words)
    given = ~missing & (cell < sound)
    own = cell[given]
    inside = cell[cell < sound]
    twice = inside[1:][inside[1:] == inside[:-1]]  # cells with two words
    quoted, quotes = np.unique(quotes, return_counts=True)
    alone = quoted[(quotes % 2 == 1) & (quoted < sound)]  # cells with a quotation mark alone
    wrong_cells = [*twice[:1], *alone[:1]]
    try:
        if wrong_cells:
            raise NoNumber(0)
        numbers = words.numbers(given)
    except NoNumber as problem:
        at = int(min(wrong_cells) if wrong_cells else own[problem.word])
        begin, end = (int(marks[at - 1]) + 1 if at else 0), int(marks[at])
        name, wrong = head[at % len(head)], text[begin:end].decode("utf-8", "replace").strip()
        raise ValueError(
            f"{shown}: column {printable(name)!r}, row {row + 1 + at // len(head)} must be a number, "
            f"got {printable(wrong[:60])!r}."
        ) from None
    if len(short):
        raise ValueError(
            f"{shown}: row {row + 1 + int(short[0])} must have {len(head)} fields, got {fields[short[0]]}."
        )
    values = np.full(len(marks), np.nan)
    values[own] = numbers
    return values.reshape(-1, len(head))


def _rows(text: bytes, between: int) -> np.ndarray:
    """The lines that are neither empty nor comments, each with its end."""
    letters = np.frombuffer(text if text.endswith(b"\n") or not text else text + b"\n", np.uint8)
    words = Words(letters.tobytes())
    kept = np.zeros(int(np.count_nonzero(letters == _LINE)), bool)
    comment = words.text[words.begins[words.first]] == ord("#")
    kept[words.line[words.first[~comment]]] = True
    if kept.all():
        return letters
    line = np.cumsum(letters == _LINE, dtype=np.int32) - (letters == _LINE)
    return letters[kept[line]]


def _is_missing(words: Words) -> np.ndarray:
    """Whether each word says that a sample is missing."""
    every = np.arange(len(words))
    small = words.text | np.uint8(32)
    found = small[words.begins] == ord("n")
    some = every[found]
    if len(some):
        lower = Words(words.text.tobytes().lower())
        found[some] = lower.is_word(some, b"na") | lower.is_word(some, b"nan")
    return found


def listed(names: Iterable[str]) -> str:
    """Names for a message, no more than eight."""
    given = list(names)
    shown = [printable(str(name)) for name in given[:8]]
    return ", ".join(shown) + (", ..." if len(given) > 8 else "") if shown else "none"
