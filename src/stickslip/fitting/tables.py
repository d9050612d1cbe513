"""CSV files as columns of numbers, read in bulk."""

from __future__ import annotations

import codecs
import csv
import os
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from stickslip.checks import Array
from stickslip.io.disk import open_regular, read_regular
from stickslip.io.printable import printable
from stickslip.io.words import NoNumber, Words, chunks

LARGEST_FILE = 1 << 28  # bytes of a table
MOST_COLUMNS = 10_000
_LINE = ord("\n")
_SEP = re.compile(rb'\s*"?sep=(?P<sign>[,;\t])"?\s*', re.IGNORECASE)  # as spreadsheets write it
_NUMBER = re.compile(r"[-+]?[0-9]*[.,]?[0-9]+([eE][-+]?[0-9]+)?")
_ONE_SIGN = "write points before decimals, and nothing else"
_MISSING = tuple(
    word.encode()
    for word in ("nan", "-nan", "+nan", "nan(ind)", "-nan(ind)", "na", "n/a", "#n/a", "#nv", "null", "none", "-", "--")
)


def read_csv(path: Path) -> dict[str, Array]:
    """Columns of a CSV file with a head line; empty fields and words such as 'nan' or 'N/A' are missing samples.

    Columns stand between commas, semicolons or tabs; a first line `sep=;` says which.  Where these are no commas, the
    decimal sign may be one.  Columns without a name and without a number are left out, and so are empty last rows.
    """
    shown = printable(path.name)
    with _told(path):
        raw = read_regular(path, LARGEST_FILE + 1)
    if len(raw) > LARGEST_FILE:
        raise ValueError(f"{shown} must be smaller than {LARGEST_FILE >> 20} MB.")
    raw = _in_utf8(raw, shown)
    head: list[str] | None = None
    split, rows = "", 1
    parts: list[np.ndarray] = []
    signs: set[bytes] = set()
    for _, text in chunks(raw):
        if head is None:
            line, text = _first_line(text)
            told = _SEP.fullmatch(line or b"")
            if told is not None:
                split, rows = told["sign"].decode(), 2
                line, text = _first_line(text)
            if line is None:
                continue
            head, split = _head(line, split, shown)
        values = _values(text, split, head, shown, rows, signs)
        parts.append(values)
        rows += len(values)
    if head is None:
        raise ValueError(f"{shown} must have a head line and rows, got an empty file.")
    table = np.concatenate([np.zeros((0, len(head))), *parts])
    filled = np.flatnonzero(~np.all(np.isnan(table), axis=1))
    table = table[: filled[-1] + 1 if len(filled) else 0]
    columns = {}
    for k, (name, column) in enumerate(zip(head, table.T, strict=True), 1):
        if name or not np.all(np.isnan(column)):
            columns[name or f"column {k} without a name"] = np.ascontiguousarray(column)
    return columns


def _in_utf8(raw: bytes, shown: str) -> bytes:
    """The text without its byte order mark; one of UTF-16 is believed."""
    try:
        if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return raw.decode("utf-16").encode("utf-8")
        raw = raw.removeprefix(codecs.BOM_UTF8)
        raw.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(
            f"{shown} must be a text of comma-separated values in UTF-8; save it once more in this encoding."
        ) from None
    return raw


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


def _head(line: bytes, split: str, shown: str) -> tuple[list[str], str]:
    """The names of the columns, and the sign between them: the one that was told, or the most frequent one."""
    split = split or (";" if line.count(b";") > line.count(b",") else "\t" if b"\t" in line else ",")
    if line.count(split.encode()) >= MOST_COLUMNS:
        raise ValueError(f"{shown} may have {MOST_COLUMNS} columns, got more.")
    try:
        head = [cell.strip() for cell in next(csv.reader([line.decode("utf-8")], delimiter=split, strict=True))]
    except csv.Error as error:  # a cell without end
        raise ValueError(f"{shown} must be a text of comma-separated values: {error}.") from None
    named = [name for name in head if name]
    if len(head) == 1:
        raise ValueError(
            f"{shown}: the first line must name the columns, with a comma, a semicolon or a tab between them, got "
            f"{printable(head[0][:60])!r}; put # before a line that is a comment."
        )
    if len(set(named)) != len(named):
        raise ValueError(f"{shown}: each column must have a name of its own, got {listed(head)}.")
    if named and all(_NUMBER.fullmatch(name) for name in named):
        raise ValueError(f"{shown}: the first line must name the columns, got the numbers {listed(named)}.")
    return head, split


def _values(text: bytes, split: str, head: list[str], shown: str, row: int, signs: set[bytes]) -> np.ndarray:
    """The rows of a piece of the file, nan where a sample is missing.

    row : number of the row before it
    signs : decimal signs of the file so far; those of the piece are added
    """
    between = ord(split)
    lines = _rows(text, between)
    marks = np.flatnonzero((lines == between) | (lines == _LINE))
    quotes = np.searchsorted(marks, np.flatnonzero(lines == ord('"')))  # the cells in which they stand
    text = lines.tobytes()
    ends = np.flatnonzero(lines[marks] == _LINE)
    fields = np.diff(ends, prepend=-1)
    short = np.flatnonzero(fields != len(head))
    sound = ends[short[0] - 1] + 1 if len(short) and short[0] else 0 if len(short) else len(marks)
    here = _decimal_signs(lines) if split != "," else set()
    signs |= here
    if len(signs) == 2 and here == {b"."}:  # commas were read as decimal signs before
        raise ValueError(f"{shown}: numbers up to row {row} have decimal commas, and later ones points; {_ONE_SIGN}.")
    bare = text.replace(b",", b".") if signs == {b","} else text
    words = Words(bare.replace(split.encode(), b" ").replace(b'"', b" "))
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
            f"got {printable(wrong[:60])!r}{_advice(wrong, at < len(head), signs)}."
        ) from None
    if len(short):
        first = text[int(marks[ends[short[0] - 1]]) + 1 if short[0] else 0 : int(marks[ends[short[0]]])]
        raise ValueError(
            f"{shown}: row {row + 1 + int(short[0])} must have {len(head)} fields, got {fields[short[0]]}"
            f"{_why_not(first, split, head)}."
        )
    values = np.full(len(marks), np.nan)
    values[own] = numbers
    return values.reshape(-1, len(head))


def _decimal_signs(lines: np.ndarray) -> set[bytes]:
    """The signs that stand between digits: a point, a comma, or both."""
    digit = (lines >= ord("0")) & (lines <= ord("9"))
    inside = np.zeros(len(lines), bool)
    inside[:-1] |= digit[1:]
    inside[1:] |= digit[:-1]
    return {sign for sign in (b".", b",") if np.any(inside & (lines == ord(sign)))}


def _advice(wrong: str, first: bool, signs: Collection[bytes]) -> str:
    """What may help with a cell that is no number: `first` row of the file's piece, decimal `signs` of the piece."""
    if len(signs) == 2 and "," in wrong:
        return f"; the file has points and commas within numbers: {_ONE_SIGN}"
    if "," in wrong:
        return "; write a point before decimals, and nothing between thousands"
    if first and wrong[:1].isalpha():
        return "; units belong into the first line, as in 't [s]'"
    return ""


def _why_not(line: bytes, split: str, head: list[str]) -> str:
    """What may help with a row that has another number of fields than the head."""
    cells = line.split(split.encode())
    if len(cells) == len(head) + 1 and not cells[-1].strip():
        return "; leave out the sign at its end, or give one to the first line as well"
    if split == "," and len(cells) > len(head):
        return "; where commas stand before decimals, put semicolons or tabs between columns"
    other = [sign for sign in (",", ";", "\t") if sign != split and line.count(sign.encode()) == len(head) - 1]
    if len(cells) == 1 and other:
        names = {",": "commas", ";": "semicolons", "\t": "tabs"}
        return f", with {names[other[0]]} between its numbers, where the first line has {names[split]}"
    return ""


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
    begin = words.text[words.begins]
    found = np.zeros(len(words), bool)
    some = np.flatnonzero(((begin < ord("0")) | (begin > ord("9"))) & (begin != ord(".")))  # no digit begins them
    if len(some):
        lower = Words(words.text.tobytes().lower())
        for word in _MISSING:
            found[some] |= lower.is_word(some, word)
    return found


def listed(names: Iterable[str]) -> str:
    """Names for a message, no more than eight."""
    given = list(names)
    shown = [printable(str(name)) for name in given[:8]]
    return ", ".join(shown) + (", ..." if len(given) > 8 else "") if shown else "none"
