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

from stickslip.complementarity.friction.blocks import block_arrays
from stickslip.complementarity.friction.problem import FrictionProblem
from stickslip.io.disk import replacing

_DENSE, _BLOCKS, _SPARSE = 0, 1, 2
_LARGEST = 50_000_000  # rows and columns of a matrix
_DUMP_LINE = re.compile(r"^(?:CSparse|.*\d+-by-\d+|\s*col\b|\s*\d+(?:\s+\d+)?\s*:)")


class _Tokens:
    """Numbers of a file, in order; dumps of sparse matrices are read line by line."""

    def __init__(self, text: str, name: str) -> None:
        self.lines = text.splitlines()
        self.line, self.name = 0, name
        self.pending: list[str] = []

    def _fill(self) -> None:
        while not self.pending:
            if self.line >= len(self.lines):
                raise ValueError(f"{self.name} ends too early: a matrix or a vector is cut off.")
            self.pending = self.lines[self.line].split()
            self.line += 1

    def numbers(self, count: int) -> np.ndarray:
        """The next `count` numbers."""
        parts: list[str] = []
        while len(parts) < count:
            self._fill()
            take = count - len(parts)
            parts += self.pending[:take]
            self.pending = self.pending[take:]
        try:
            return np.array(parts, dtype=float)
        except ValueError as problem:
            raise ValueError(f"{self.name} has something other than a number near line {self.line}.") from problem

    def integers(self, count: int) -> np.ndarray:
        values = self.numbers(count)
        if np.any(values != np.round(values)) or np.any(np.abs(values) > 2**40):
            raise ValueError(f"{self.name} has {values[values != np.round(values)][:1]} where a whole number belongs.")
        return values.astype(np.int64)

    def integer(self) -> int:
        return int(self.integers(1)[0])

    def remaining(self) -> list[str]:
        """All tokens that are left, without consuming them."""
        return self.pending + [token for line in self.lines[self.line :] for token in line.split()]

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
        text = path.read_text(encoding="ascii")
    except UnicodeDecodeError as problem:
        raise ValueError(f"{path.name} is not a text file; FCLIB files end in .hdf5.") from problem
    tokens = _Tokens(text, path.name)
    dim, n = tokens.integer(), tokens.integer()
    if dim not in (2, 3) or n < 0:
        raise ValueError(f"{path.name} must begin with dimension (2 or 3) and number of contacts, got {dim} and {n}.")
    first = _read_matrix(tokens)
    left = tokens.remaining()
    if first.shape[0] == dim * n and len(left) in (dim * n + n, dim * n + n + 1):
        q, mu = tokens.numbers(dim * n), tokens.numbers(n)
        return FrictionProblem(_dense_if_small(first), q, mu, dim)
    H = _read_matrix(tokens)
    f, w, mu = tokens.numbers(first.shape[0]), tokens.numbers(dim * n), tokens.numbers(n)
    return FrictionProblem.from_dynamics(first, H, f, w, mu, dim)


def _dense_if_small(W: sp.csr_matrix) -> np.ndarray | sp.csr_matrix:
    return W.toarray() if W.shape[0] <= 30 else W


def _read_matrix(tokens: _Tokens) -> sp.csr_matrix:
    storage, rows, columns = tokens.integers(3)
    if not (0 <= rows <= _LARGEST and 0 <= columns <= _LARGEST):
        raise ValueError(f"{tokens.name}: a matrix of {rows} x {columns} is beyond {_LARGEST} rows or columns.")
    if storage == _DENSE:
        if tuple(tokens.integers(2)) != (rows, columns):
            raise ValueError(f"{tokens.name}: a dense matrix of {rows} x {columns} repeats its size differently.")
        return sp.csr_matrix(tokens.numbers(rows * columns).reshape(columns, rows).T)
    if storage == _BLOCKS:
        return _read_blocks(tokens, rows, columns)
    if storage == _SPARSE:
        return _read_dump(tokens, rows, columns)
    raise ValueError(f"{tokens.name}: matrix storage must be 0 (dense), 1 (blocks) or 2 (sparse), got {storage}.")


def _read_blocks(tokens: _Tokens, rows: int, columns: int) -> sp.csr_matrix:
    count, block_rows, block_columns = tokens.integers(3)
    row_ends, column_ends = tokens.integers(block_rows), tokens.integers(block_columns)
    filled_1, filled_2 = tokens.integers(2)
    indptr, indices = tokens.integers(filled_1), tokens.integers(filled_2)
    row_begins, column_begins = np.r_[0, row_ends[:-1]], np.r_[0, column_ends[:-1]]
    i_parts, j_parts, values = [], [], []
    block_row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    for _ in range(count):
        index = tokens.integer()
        if not 0 <= index < len(indices):
            raise ValueError(f"{tokens.name}: block number {index} of {count} does not exist.")
        a, b = block_row[index], indices[index]
        height, width = row_ends[a] - row_begins[a], column_ends[b] - column_begins[b]
        values.append(tokens.numbers(height * width))
        i_parts.append(np.tile(np.arange(row_begins[a], row_ends[a]), width))
        j_parts.append(np.repeat(np.arange(column_begins[b], column_ends[b]), height))
    if not values:
        return sp.csr_matrix((rows, columns))
    i, j = np.concatenate(i_parts), np.concatenate(j_parts)
    return sp.csr_matrix((np.concatenate(values), (i, j)), shape=(rows, columns))


def _read_dump(tokens: _Tokens, rows: int, columns: int) -> sp.csr_matrix:
    tokens.integer()  # 1 triplets, 2 compressed columns: the text tells as well
    i, j, values, column = [], [], [], -1
    for line in tokens.dump():
        head, _, tail = line.partition(":")
        numbers = head.split()
        if numbers[:1] == ["col"]:
            column = int(numbers[1])
        elif all(word.isdigit() for word in numbers) and numbers:
            i.append(int(numbers[0]))
            j.append(int(numbers[1]) if len(numbers) == 2 else column)
            values.append(float(tail))
    try:
        return sp.csr_matrix((values, (i, j)), shape=(rows, columns))
    except ValueError as problem:
        raise ValueError(f"{tokens.name}: a sparse matrix has an entry outside its {rows} x {columns}.") from problem


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
