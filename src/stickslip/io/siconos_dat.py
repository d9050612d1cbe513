"""Siconos' `.dat` files of friction problems: read, and write as blocks.

`dim`, `nc`, then W, q, mu ("local") or M, H, f, w, mu ("global": M v = H r + f, u = H^T v + w), some with one number
more at the end.  A matrix: storage, rows, columns, then
  0  dense: rows, columns again, values column by column;
  1  blocks: their number, block rows, block columns, cumulative row and column sizes, filled1, filled2, CSR pointers,
     column indices, then per block its index and its values column by column;
  2  a text dump of a compressed sparse matrix.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from stickslip.contact.blocks import block_arrays
from stickslip.contact.problem import FrictionProblem
from stickslip.io.disk import open_binary, replacing

_DENSE, _BLOCKS, _SPARSE = 0, 1, 2
_DUMP_LINE = re.compile(r"^(?:CSparse|.*\d+-by-\d+|\s*col\b|\s*\d+(?:\s+\d+)?\s*:)")


class _Tokens:
    """Numbers of a file, in order; dumps of sparse matrices are read line by line."""

    def __init__(self, text: str, name: str) -> None:
        self.lines = text.splitlines()
        self.line, self.name, self.what = 0, name, ""
        self.pending: list[str] = []

    def _fill(self) -> None:
        while not self.pending:
            if self.line >= len(self.lines):
                raise ValueError(f"{self.name} ends too early: {self.what} is cut off or missing.")
            self.pending = self.lines[self.line].split()
            self.line += 1

    def numbers(self, count: int, what: str = "a number") -> np.ndarray:
        """The next `count` numbers of the file; ValueError that names them by `what` if the file ends before."""
        parts: list[str] = []
        self.what = what
        while len(parts) < count:
            self._fill()
            take = count - len(parts)
            parts += self.pending[:take]
            self.pending = self.pending[take:]
        try:
            return np.array(parts, dtype=float)
        except ValueError as problem:
            raise ValueError(
                f"{self.name} has something other than a number near line {self.line}, in {what}."
            ) from problem

    def integers(self, count: int, what: str, low: int = 0, high: int = 2**40, note: str = "") -> np.ndarray:
        """The next `count` whole numbers, each between low and high; the note says what they stand for."""
        values = self.numbers(count, what)
        wrong = ~((values == np.round(values)) & (values >= low) & (values <= high))
        if np.any(wrong):
            raise ValueError(
                f"{self.name}: {what} must be {'a whole number' if count == 1 else 'whole numbers'} "
                f"from {low} to {high}{note}, got {values[wrong][0]:g} near line {self.line}."
            )
        return values.astype(np.int64)

    def integer(self, what: str, low: int = 0, high: int = 2**40, note: str = "") -> int:
        return int(self.integers(1, what, low, high, note)[0])

    def remaining(self) -> int:
        """How many words are left."""
        return len(self.pending) + sum(len(line.split()) for line in self.lines[self.line :])

    def dump(self) -> list[str]:
        """The lines of a sparse dump."""
        start = self.line
        while self.line < len(self.lines) and _DUMP_LINE.match(self.lines[self.line]):
            self.line += 1
        return self.lines[start : self.line]


def read_dat(path: str | Path) -> FrictionProblem:
    """The problem of a `.dat` file; ValueError with one line where it cannot be read."""
    path = Path(path)
    try:
        with open_binary(path) as file:
            text = file.read().decode("ascii")
    except UnicodeDecodeError as problem:
        raise ValueError(f"{path.name} is not a text file; FCLIB files end in .hdf5.") from problem
    tokens = _Tokens(text, path.name)
    dim, n = tokens.integer("the dimension", 2, 3), tokens.integer("the number of contacts")
    first = _read_matrix(tokens, "the first matrix (W or M)")
    left = tokens.remaining()
    try:
        if first.shape == (dim * n, dim * n) and left in (dim * n + n, dim * n + n + 1):
            q, mu = tokens.numbers(dim * n, "q"), tokens.numbers(n, "mu")
            return FrictionProblem(_dense_if_small(first), q, mu, dim)
        H = _read_matrix(tokens, "the second matrix (H)")
        f = tokens.numbers(first.shape[0], "f")
        w, mu = tokens.numbers(dim * n, "w"), tokens.numbers(n, "mu")
        return FrictionProblem.from_dynamics(first, H, f, w, mu, dim)
    except ValueError as problem:
        already = str(problem).startswith(path.name)
        raise ValueError(str(problem) if already else f"{path.name}: {problem}") from problem


def _dense_if_small(W: sp.csr_matrix) -> np.ndarray | sp.csr_matrix:
    return W.toarray() if W.shape[0] <= 30 else W


def _read_matrix(tokens: _Tokens, what: str) -> sp.csr_matrix:
    storage = tokens.integer(f"the storage of {what}", _DENSE, _SPARSE, ": dense, blocks or sparse")
    rows, columns = (int(k) for k in tokens.integers(2, f"the size of {what}"))
    if storage == _DENSE:
        if tuple(tokens.integers(2, f"the size of {what}")) != (rows, columns):
            raise ValueError(f"{tokens.name}: {what}, dense, {rows} x {columns}, repeats its size differently.")
        if rows * columns > tokens.remaining():
            raise ValueError(f"{tokens.name} ends too early: {what}, {rows} x {columns}, is cut off.")
        return sp.csr_matrix(tokens.numbers(rows * columns, what).reshape(columns, rows).T)
    if storage == _BLOCKS:
        return _read_blocks(tokens, rows, columns, what)
    return _read_dump(tokens, rows, columns, what)


def _read_blocks(tokens: _Tokens, rows: int, columns: int, what: str) -> sp.csr_matrix:
    most = tokens.remaining()  # no count in a sound file is larger
    count, block_rows, block_columns = tokens.integers(3, f"the numbers of blocks of {what}", high=most)
    row_begins, row_ends = _sizes(tokens, block_rows, rows, f"the row sizes of {what}")
    column_begins, column_ends = _sizes(tokens, block_columns, columns, f"the column sizes of {what}")
    filled_1, filled_2 = tokens.integers(2, f"the numbers of indices of {what}", high=most)
    indptr = tokens.integers(filled_1, f"the row pointers of {what}", high=int(filled_2))
    indices = tokens.integers(filled_2, f"the block columns of {what}", high=int(block_columns) - 1)
    if np.any(np.diff(indptr) < 0) or len(indptr) > block_rows + 1:
        raise ValueError(f"{tokens.name}: the row pointers of {what} must never fall, one per block row and one more.")
    i_parts, j_parts, values = [], [], []
    block_row = np.repeat(np.arange(max(0, len(indptr) - 1)), np.diff(indptr))
    for _ in range(count):
        index = tokens.integer(f"the number of a block of {what}", high=len(block_row) - 1)
        a, b = block_row[index], indices[index]
        height, width = row_ends[a] - row_begins[a], column_ends[b] - column_begins[b]
        values.append(tokens.numbers(height * width, f"block {index} of {what}"))
        i_parts.append(np.tile(np.arange(row_begins[a], row_ends[a]), width))
        j_parts.append(np.repeat(np.arange(column_begins[b], column_ends[b]), height))
    if not values:
        return sp.csr_matrix((rows, columns))
    i, j = np.concatenate(i_parts), np.concatenate(j_parts)
    return sp.csr_matrix((np.concatenate(values), (i, j)), shape=(rows, columns))


def _sizes(tokens: _Tokens, count: int, end: int, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Where the blocks of a row or column begin and end, from their cumulative sizes."""
    ends = tokens.integers(count, what, high=end)
    begins = np.r_[0, ends[:-1]].astype(np.int64)
    if np.any(ends < begins) or (count and ends[-1] != end):
        raise ValueError(f"{tokens.name}: {what} must add up to {end}, got {ends[-3:].tolist()} at the end.")
    return begins, ends


def _read_dump(tokens: _Tokens, rows: int, columns: int, what: str) -> sp.csr_matrix:
    tokens.integer(f"the format of {what}")  # 1 triplets, 2 compressed columns: the text tells as well
    i, j, values, column = [], [], [], -1
    for line in tokens.dump():
        head, _, tail = line.partition(":")
        numbers = head.split()
        try:
            if numbers[:1] == ["col"]:
                column = int(numbers[1])
            elif all(word.isdigit() for word in numbers) and numbers:
                i.append(int(numbers[0]))
                j.append(int(numbers[1]) if len(numbers) == 2 else column)
                values.append(float(tail))
        except (ValueError, IndexError) as problem:
            raise ValueError(f"{tokens.name}: {what} has a line that is no entry: {line.strip()[:40]!r}.") from problem
    if i and (max(i) >= rows or max(j) >= columns or min(j) < 0):
        raise ValueError(f"{tokens.name}: {what} has an entry outside its {rows} x {columns}.")
    return sp.csr_matrix((values, (i, j)), shape=(rows, columns))


def write_dat(problem: FrictionProblem, path: str | Path) -> None:
    """Write a problem without joints and ellipses as `.dat` with block storage, all digits."""
    if problem.bilateral or problem.elliptic:
        raise ValueError("a .dat file holds neither joints nor elliptic friction; write .hdf5 (joints).")
    d, n = problem.dim, problem.contacts
    data, indptr, indices = block_arrays(problem.matrix, d)
    ends = "\t".join(str(d * (k + 1)) for k in range(n))
    head = [d, n, _BLOCKS, d * n, d * n, len(data), n, n, ends, ends, len(indptr), len(data)]
    lines = [str(entry) for entry in head]
    lines += ["\t".join(map(str, indptr)), "\t".join(map(str, indices))]
    for k, block in enumerate(data):
        lines.append(str(k))
        lines += [f"{value:.17e}" for value in block.T.ravel()]
    lines += [" ".join(f"{value:.17e}" for value in vector) for vector in (problem.q, problem.mu)]
    with replacing(Path(path)) as draft:
        draft.write_text("\n".join(lines) + "\n", encoding="ascii")
