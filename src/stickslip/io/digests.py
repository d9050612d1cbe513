"""Digests of our own over what a file holds: HDF5's checksum of data, Fletcher-32, takes 0x0000 for 0xffff.

Values are digested in blocks of rows.  The digest of a block covers name, type and width of its variable, its number
and its number of rows, so that neither a changed block passes nor a valid one in a wrong place.  One more digest covers
the attributes and whatever else there is only once.  It is SHA-256, cut to 16 bytes: some 1.7 GB a second of one core.

The digests lie in the group `digest` of a file, where netCDF programs overlook them.  A file without that group was
written by another program or by an earlier version; it is read, with a warning.
"""

from __future__ import annotations

import copy
import hashlib
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from stickslip.io.disk import member
from stickslip.io.printable import visible
from stickslip.io.whole import array, is_bare, require_room, require_whole

GROUP = "digest"
SIZE = 16
_HEADER = "header"
_PIECE = 2**24  # bytes read at a time


class DigestError(ValueError):
    """The data of a file differ from the data that were written."""


def digest(parts: Iterable[bytes | memoryview]) -> bytes:
    """One digest of several pieces; where one ends and the next begins counts."""
    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "little"))
        total.update(part)
    return total.digest()[:SIZE]


class Running:
    """Digests of a variable to which rows are appended, in blocks of `rows` rows."""

    def __init__(self, name: str, dtype: str, width: tuple[int, ...], rows: int, first: int = 0) -> None:
        self._what = f"{name}\0{np.dtype(dtype).str}\0{width}\0".encode("utf-8", "surrogatepass")
        self._dtype, self._rows, self._block, self._count = dtype, rows, first, 0
        self._begin()

    def _begin(self) -> None:
        self._state = hashlib.sha256(self._what + self._block.to_bytes(8, "little"))

    def append(self, values: np.ndarray) -> list[bytes]:
        """Take in more rows; returns the digests of the blocks that have become full."""
        values = np.ascontiguousarray(values, dtype=self._dtype)
        full, begin = [], 0
        while begin < len(values):
            end = min(len(values), begin + self._rows - self._count)
            self._state.update(values[begin:end].data if values.size else b"")
            self._count += end - begin
            begin = end
            if self._count == self._rows:
                full.append(self.begun())
                self._block, self._count = self._block + 1, 0
                self._begin()
        return full

    def begun(self) -> bytes:
        """The digest of the rows of the block that is not full yet."""
        state = self._state.copy()
        state.update(self._count.to_bytes(8, "little"))
        return state.digest()[:SIZE]

    def copy(self) -> Running:
        """A copy that goes on by itself."""
        other = copy.copy(self)
        other._state = self._state.copy()
        return other

    @property
    def count(self) -> int:
        """Rows of the block that is not full yet."""
        return self._count


class TableDigests:
    """Digests of a table to which rows are appended: a row of digests per block, one for each variable, in order."""

    def __init__(self, variables: Mapping[str, tuple[str, tuple[int, ...]]], rows: int, blocks: int = 0) -> None:
        self._running = {n: Running(n, dtype, width, rows, blocks) for n, (dtype, width) in variables.items()}
        self.names = list(self._running)
        self.full: list[list[bytes]] = []  # of full blocks, since `taken`
        self.blocks = blocks  # full ones before those

    def append(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take in rows of all variables."""
        new = [running.append(arrays[name]) for name, running in self._running.items()]
        self.full += [list(row) for row in zip(*new, strict=True)]

    def copy(self) -> TableDigests:
        """A copy to come back to where rows are taken back."""
        other = copy.copy(self)
        other._running = {name: running.copy() for name, running in self._running.items()}
        other.full = list(self.full)
        return other

    def rows(self) -> np.ndarray:
        """The digests since `blocks`, that of the block begun among them; shape (n, variables, SIZE)."""
        found = [*self.full]
        if any(running.count for running in self._running.values()):
            found.append([running.begun() for running in self._running.values()])
        return np.frombuffer(b"".join(d for row in found for d in row), np.uint8).reshape(-1, len(self._running), SIZE)

    def taken(self) -> None:
        """Note that the digests which `rows` returned have been written to the file."""
        self.blocks += len(self.full)
        self.full.clear()


def attribute_parts(attributes: Mapping[str, Any]) -> Iterator[bytes]:
    """The attributes of an HDF5 object as bytes, in the order of their names; those of netCDF itself apart."""
    for key in sorted(attributes):
        if not key.startswith("_"):
            value = np.asarray(attributes[key])
            yield f"{key}\0{value.dtype.str}\0{value.shape}".encode("utf-8", "surrogatepass")
            yield value.tobytes() if value.dtype != object else repr(value.tolist()).encode("utf-8", "surrogatepass")


def dataset_parts(datasets: Mapping[str, Any]) -> Iterator[bytes]:
    """Small datasets as bytes, with their names and shapes."""
    for name, dataset in datasets.items():
        values = np.asarray(dataset[...])
        yield f"{name}\0{values.dtype.str}\0{values.shape}".encode()
        yield values.tobytes()


def write_header(group: Any, value: bytes) -> None:
    group.attrs[_HEADER] = np.frombuffer(value, np.uint8)


def check_header(group: Any, value: bytes) -> None:
    """DigestError unless the digest of the header is the one written."""
    if np.asarray(group.attrs[_HEADER]).tobytes() != value:
        raise DigestError("its attributes or names are not those that were written: their digest differs")


def check_blocks(what: str, found: np.ndarray, written: np.ndarray) -> None:
    """DigestError unless digests of blocks are those written."""
    if found.shape != written.shape:
        raise DigestError(f"{what} has {len(found)} blocks and digests of {len(written)}")
    wrong = np.flatnonzero(np.any(found != written, axis=tuple(range(1, found.ndim))))
    if wrong.size:
        raise DigestError(f"{what} differs from what was written: the digest of block {wrong[0]} does")


def warn_of_none(path: Any) -> None:
    """Say that a file cannot be checked."""
    warnings.warn(
        f"{visible(path)} carries no digests, so that not every damage would be noticed: it was written by an "
        "earlier version "
        "or by another program; saving it again adds them.",
        UserWarning,
        stacklevel=4,
    )


# -- files written in one go -------------------------------------------------------------------------------------------


def seal(file: Any) -> None:
    """Add the digests of all datasets of a file that is complete."""
    group = file.create_group(GROUP)
    datasets = {name: file[name] for name in sorted(file) if name != GROUP}
    group["blocks"] = _all_blocks(datasets)
    write_header(group, digest([*attribute_parts(dict(file.attrs)), *_descriptions(datasets)]))


def verify(file: Any) -> bool:
    """Raise DigestError unless a file holds the data that `seal` digested; return False for a file without digests.

    No values are read before names, types and sizes are known to be those that were written.
    """
    datasets = _datasets(file)
    group = member(file, GROUP)
    if group is None:
        return False
    check_header(group, digest([*attribute_parts(dict(file.attrs)), *_descriptions(datasets)]))
    check_blocks("the file", _all_blocks(datasets), np.asarray(array(group, "blocks")[...]))
    return True


def _datasets(file: Any) -> dict[str, Any]:
    """All datasets of a file but the digests, in the order of their names."""
    found = {name: member(file, name) for name in sorted(file) if name != GROUP}
    held = {name: dataset for name, dataset in found.items() if not is_bare(dataset)}
    for name, dataset in held.items():
        require_whole(dataset, name)
    require_room(held.values())
    return found


def _descriptions(datasets: Mapping[str, Any]) -> list[bytes]:
    """Name, type and shape of each dataset."""
    return [f"{n}\0{d.dtype.str}\0{d.shape}".encode("utf-8", "surrogatepass") for n, d in datasets.items()]


def _all_blocks(datasets: Mapping[str, Any]) -> np.ndarray:
    """Digests of the blocks of all datasets, one behind the other."""
    found: list[bytes] = []
    for name, dataset in datasets.items():
        shape, dtype = dataset.shape, dataset.dtype
        if dtype.kind not in "biufS":
            raise ValueError(f"variable {name} has the type {dtype}, which no variable of ours has")
        if is_bare(dataset):
            continue
        length = shape[0] if shape else 1
        width = shape[1:]
        rows = max(1, _PIECE // max(1, dataset.nbytes // max(1, length)))
        running = Running(name, dtype.str, width, rows)
        for begin in range(0, length, rows):
            piece = dataset[begin : begin + rows] if shape else np.asarray(dataset[()]).reshape(1)
            found += running.append(piece)
        if running.count:
            found.append(running.begun())
    return np.frombuffer(b"".join(found), np.uint8).reshape(-1, SIZE)
