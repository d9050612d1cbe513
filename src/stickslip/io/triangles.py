"""Corners and triangles of OBJ and STL files, read in bulk."""

from __future__ import annotations

from codecs import BOM_UTF8
from typing import NamedTuple

import numpy as np

from stickslip.io.words import NoNumber, Words, chunks

HEADER, TRIANGLE = 84, 50  # bytes of a binary STL file: up to its first triangle, and of each triangle
MOST_TRIANGLES = 2_000_000
_FACET = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("rest", "<u2")])


class Triangles(NamedTuple):
    """Corners (v, 3) as the file has them, and triangles (f, 3), numbers of corners."""

    corners: np.ndarray
    triangles: np.ndarray


def read_obj(content: bytes, lenient: bool = False) -> Triangles:
    """Corners and triangles of an OBJ file; polygons are cut into fans.  ValueError names the line that is wrong.

    lenient : leave out faces with fewer than three corners, and with corners that the file does not have.
    """
    corners: list[np.ndarray] = []
    faces: list[_Faces] = []
    above = 0
    for line, text in chunks(content.removeprefix(BOM_UTF8)):
        words = Words(text, "#")
        own = _corners(words, "v", line, text)
        corners.append(own)
        faces.append(_faces(words, above, line, text))
        above += len(own)
    points = np.concatenate([np.zeros((0, 3)), *corners])
    return Triangles(points, _fans(faces, len(points), lenient))


def _corners(words: Words, name: str, line: int, text: bytes) -> np.ndarray:
    """Three numbers behind each line's first word of this name."""
    rows = words.is_word(words.first, name.encode())
    chosen = rows[words.row] & (words.place >= 1) & (words.place <= 3)
    short = np.flatnonzero(rows & (np.bincount(words.row[chosen], minlength=len(rows)) < 3))
    try:
        values = words.numbers(chosen)
    except NoNumber as problem:
        word = np.flatnonzero(chosen)[problem.word]
        if not len(short) or words.row[word] < short[0]:
            raise _wrong(line + words.line[word], text, words.line[word], "a corner has three numbers") from None
    if len(short):
        at = words.line[words.first[short[0]]]
        raise _wrong(line + at, text, at, "a corner has three coordinates")
    return values.reshape(-1, 3)


def _wrong(number: int, text: bytes, line: int, rule: str) -> ValueError:
    begin = 0
    for _ in range(int(line)):
        begin = text.find(b"\n", begin) + 1
    shown = text[begin : begin + 200].split(b"\n")[0].decode("utf-8", "replace").strip()[:60]
    return ValueError(f"line {number}: {rule}, got {shown!r}")


class _Faces(NamedTuple):
    """Polygons of a piece of a file: corners one behind the other, where each begins, and what is told of it.

    number : of each corner, from 0, or below 0 where it stands above the first.
    above : corners that stand above each polygon.
    line : in the piece of text, whose first line has the number `begin`.
    """

    number: np.ndarray
    size: np.ndarray
    above: np.ndarray
    line: np.ndarray
    begin: int
    text: bytes


def _faces(words: Words, above: int, begin: int, text: bytes) -> _Faces:
    rows = words.is_word(words.first, b"f")
    chosen = rows[words.row] & (words.place >= 1)
    own = np.flatnonzero(chosen)
    words.cut("/")  # numbers of textures and normals
    slashes = own[words.text[words.begins[own]] == ord(" ")]
    try:
        if len(slashes):
            raise NoNumber(int(np.searchsorted(own, slashes[0])))
        number = words.numbers(chosen, np.int64)
    except NoNumber as problem:
        at = words.line[own[problem.word]]
        raise _wrong(begin + at, text, at, "a face has whole numbers of corners") from None
    size = np.bincount(words.row[own], minlength=len(rows))[rows]
    before = above + np.cumsum(words.is_word(words.first, b"v"))[rows]
    many = np.repeat(before, size)
    number = np.where(number > 0, number - 1, np.where(number < 0, many + number, many))  # corners count from 1
    return _Faces(number, size, before, words.line[words.first[rows]], begin, text)


def _fans(faces: list[_Faces], corners: int, lenient: bool) -> np.ndarray:
    """Triangles of the polygons, as fans about their first corners."""
    found = [np.zeros((0, 3), np.int64)]
    count = 0
    for each in faces:
        most = corners if lenient else np.repeat(each.above, each.size)
        polygon = np.repeat(np.arange(len(each.size)), each.size)
        right = (each.number >= 0) & (each.number < most)
        wrong = (each.size < 3) | (np.bincount(polygon[~right], minlength=len(each.size)) > 0)
        if not lenient and np.any(wrong):
            at = each.line[np.argmax(wrong)]
            raise _wrong(each.begin + at, each.text, at, "a face has three or more corners that stand above it")
        kept = ~wrong
        fans = np.where(kept, each.size - 2, 0)
        count += int(fans.sum())
        if count > MOST_TRIANGLES:
            raise ValueError(f"a mesh may have at most {MOST_TRIANGLES} triangles, got more")
        first = np.repeat(np.cumsum(each.size) - each.size, fans)
        k = np.arange(len(first)) - np.repeat(np.cumsum(fans) - fans, fans) + 1
        found.append(np.stack([each.number[first], each.number[first + k], each.number[first + k + 1]], axis=1))
    return np.concatenate(found)


def read_stl(content: bytes, lenient: bool = False) -> Triangles:
    """Corners and triangles of an STL file, binary or text; equal corners are one.

    lenient : take a binary file with more bytes behind its triangles, and a text without its head.
    """
    count = int.from_bytes(content[80:HEADER], "little") if len(content) >= HEADER else -1
    needed = HEADER + TRIANGLE * count
    if count >= 0 and (len(content) == needed or (lenient and 0 < count and len(content) > needed)):
        points = np.frombuffer(content, _FACET, count, HEADER)["corners"].reshape(-1, 3).astype(float)
    else:
        content = content.removeprefix(BOM_UTF8)
        found = [_corners(Words(text), "vertex", line, text) for line, text in chunks(content)]
        points = np.concatenate([np.zeros((0, 3)), *found])
        if len(points) % 3 or not (lenient or content[:1000].lstrip().startswith(b"solid")):
            raise ValueError(f"not an STL file: its length is not that of {max(count, 0)} triangles")
        if not lenient and content.rfind(b"endsolid") < content.rfind(b"vertex"):
            raise ValueError("the text of an STL file must end with endsolid: it was cut off")
    if not np.all(np.isfinite(points)):
        raise ValueError("coordinates must be finite")
    corners, numbers = once_each(points)
    return Triangles(corners, numbers.reshape(-1, 3))


def once_each(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, 3) in their order, equal ones once, and the number of each: `np.unique` along rows, faster."""
    points = points + 0.0  # -0.0 is 0.0
    order = np.lexsort(points.T[::-1])
    placed = points[order]
    new = np.ones(len(points), bool)
    new[1:] = np.any(placed[1:] != placed[:-1], axis=1)
    numbers = np.empty(len(points), np.int64)
    numbers[order] = np.cumsum(new) - 1
    return placed[new], numbers
