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
from stickslip.io.words import NoNumber, Words, parsed, word_begins

_DENSE, _BLOCKS, _SPARSE = 0, 1, 2
_HEAD_OF_DUMP = re.compile(rb"[ \t]*+(?:CSparse[^\n]*+|[^\n]*?\d-by-\d[^\n]*+|\r?)(?:\n|\Z)")
MOST_ODD_BLOCKS = 20_000
"""Blocks of different sizes in another order than that of their numbers: read one by one."""


class _Tokens:
    """Numbers of a file, in order; dumps of sparse matrices are read line by line."""

    def __init__(self, text: bytes, name: str) -> None:
        self.name, self.content = name, text
        self.text = np.frombuffer(text, np.uint8)
        self.begins = word_begins(self.text)
        self.at = 0  # the next word

    def _place(self, word: int) -> int:
        return int(self.begins[word]) if word < len(self.begins) else len(self.text)

    def line(self, word: int) -> int:
        """The number of a word's line."""
        return self.content.count(b"\n", 0, self._place(min(word, len(self.begins) - 1))) + 1

    def numbers(self, count: int, what: str = "a number") -> np.ndarray:
        """The next `count` numbers of the file; ValueError that names them by `what` if the file ends before."""
        if count > self.remaining():
            raise ValueError(f"{self.name} ends too early: {what} is cut off or missing.")
        begin, end = self._place(self.at), self._place(self.at + count)
        try:
            values = parsed(self.text[begin:end], self.begins[self.at : self.at + count] - begin)
        except NoNumber as problem:
            raise ValueError(
                f"{self.name} has something other than a number near line {self.line(self.at + problem.word)}, "
                f"in {what}."
            ) from None
        self.at += count
        return values

    def integers(self, count: int, what: str, low: int = 0, high: int = 2**40, note: str = "") -> np.ndarray:
        """The next `count` whole numbers, each between low and high; the note says what they stand for."""
        return self.checked(self.numbers(count, what), what, low, high, note)

    def checked(self, values: np.ndarray, what: str, low: int = 0, high: int = 2**40, note: str = "") -> np.ndarray:
        """Numbers as whole numbers between low and high."""
        wrong = ~((values == np.round(values)) & (values >= low) & (values <= high))
        if np.any(wrong):
            raise ValueError(
                f"{self.name}: {what} must be {'a whole number' if len(values) == 1 else 'whole numbers'} "
                f"from {low} to {high}{note}, got {values[wrong][0]:g} near line {self.line(self.at - 1)}."
            )
        return values.astype(np.int64)

    def integer(self, what: str, low: int = 0, high: int = 2**40, note: str = "") -> int:
        return int(self.integers(1, what, low, high, note)[0])

    def remaining(self) -> int:
        """How many words are left."""
        return len(self.begins) - self.at

    def dump(self) -> Words:
        """The words of a sparse dump behind its head: lines that begin with `col`, or hold a colon."""
        begin = self._place(self.at)
        while (head := _HEAD_OF_DUMP.match(self.content, begin)) and begin < len(self.content):
            begin = head.end()
        rest = Words(self.content[begin:])
        colons = np.bincount(np.cumsum(rest.text == 10)[rest.text == ord(":")], minlength=1)
        line = rest.line[rest.first]
        inside = rest.is_word(rest.first, b"col")
        inside |= np.where(line < len(colons), colons[np.minimum(line, len(colons) - 1)], 0) > 0
        ends = int(rest.begins[rest.first[np.argmin(inside)]]) if not inside.all() else len(rest.text)
        self.at = int(np.searchsorted(self.begins, begin + ends))
        return Words(self.content[begin : begin + ends].replace(b":", b" : "))


def read_dat(path: str | Path) -> FrictionProblem:
    """The problem of a `.dat` file; ValueError with one line where it cannot be read."""
    path = Path(path)
    with open_binary(path) as file:
        text = file.read()
    if not text.isascii():
        raise ValueError(f"{path.name} is not a text file; FCLIB files end in .hdf5.")
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
    block_row = np.repeat(np.arange(max(0, len(indptr) - 1)), np.diff(indptr))
    if count and not len(block_row):
        raise ValueError(f"{tokens.name}: {what} has {count} blocks and no block rows.")
    a, b = block_row, indices[: len(block_row)]
    height, width = (row_ends - row_begins)[a], (column_ends - column_begins)[b]
    number, values = _blocks(tokens, int(count), height * width, what)
    a, b, height, width = a[number], b[number], height[number], width[number]
    size = height * width
    block = np.repeat(np.arange(len(number)), size)
    inside = np.arange(len(block)) - (np.cumsum(size) - size)[block]
    i = row_begins[a][block] + inside % height[block]
    j = column_begins[b][block] + inside // height[block]
    return sp.csr_matrix((values, (i, j)), shape=(rows, columns))


def _blocks(tokens: _Tokens, count: int, sizes: np.ndarray, what: str) -> tuple[np.ndarray, np.ndarray]:
    """The number of each block, and the values of all, one behind the other; each block has its number before it."""
    high, label = len(sizes) - 1, f"the number of a block of {what}"
    first = sizes[0] if count and np.all(sizes == sizes[0]) else None
    own = np.full(count, first) if first is not None else sizes[:count]
    if first is not None or count <= len(sizes):  # blocks of one size, or in order
        start = tokens.at
        words = tokens.numbers(count + int(own.sum()), f"one of the blocks of {what}")
        heads = np.cumsum(own + 1) - own - 1
        number = words[heads]
        if first is not None or np.array_equal(number, np.arange(count)):
            return tokens.checked(number, label, 0, high), np.delete(words, heads)
        tokens.at = start
    if count > MOST_ODD_BLOCKS:
        raise ValueError(f"{tokens.name}: {what} may have {MOST_ODD_BLOCKS} blocks of different sizes out of order.")
    numbers, values = [], [np.zeros(0)]
    for _ in range(count):
        numbers.append(tokens.integer(label, 0, high))
        values.append(tokens.numbers(int(sizes[numbers[-1]]), f"block {numbers[-1]} of {what}"))
    return np.array(numbers, np.int64), np.concatenate(values)


def _sizes(tokens: _Tokens, count: int, end: int, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Where the blocks of a row or column begin and end, from their cumulative sizes."""
    ends = tokens.integers(count, what, high=end)
    begins = np.r_[0, ends[:-1]].astype(np.int64)
    if np.any(ends < begins) or (count and ends[-1] != end):
        raise ValueError(f"{tokens.name}: {what} must add up to {end}, got {ends[-3:].tolist()} at the end.")
    return begins, ends


def _read_dump(tokens: _Tokens, rows: int, columns: int, what: str) -> sp.csr_matrix:
    tokens.integer(f"the format of {what}")  # 1 triplets, 2 compressed columns: the text tells as well
    words = tokens.dump()
    size = np.bincount(words.row, minlength=len(words.first))
    columnwise = words.is_word(words.first, b"col")
    colon = words.is_word(np.arange(len(words)), b":")
    entry = ~columnwise
    own = np.where(entry, size, 4)
    # i : value, or i j : value
    right = (own >= 3) & (own <= 4) & (np.bincount(words.row[colon], minlength=len(size)) == 1)
    right[right] &= colon[(words.first + size - 2)[right]]
    right = np.where(columnwise, size >= 2, right)
    last = words.place == size[words.row] - 1
    of_entry = entry[words.row] & ~colon
    wrong = np.flatnonzero(~right)
    if len(wrong):
        raise _no_entry(tokens.name, words, int(wrong[0]), what)
    try:
        indices = words.numbers((of_entry & ~last) | (columnwise[words.row] & (words.place == 1)), np.int64)
        values = words.numbers(of_entry & last)
    except NoNumber as problem:
        raise _no_entry(tokens.name, words, None, what) from problem
    per_row = np.where(entry, own - 2, 1)
    begins = np.cumsum(per_row) - per_row
    current = np.maximum.accumulate(np.where(columnwise, np.arange(len(size)), -1)) if len(size) else columnwise
    column = np.where(current >= 0, indices[begins[np.maximum(current, 0)]], -1) if len(size) else indices
    i = indices[begins[entry]]
    j = np.where(own[entry] == 4, indices[(begins + per_row - 1)[entry]], column[entry])
    if len(i) and (i.max() >= rows or j.max() >= columns or j.min() < 0 or i.min() < 0):
        raise ValueError(f"{tokens.name}: {what} has an entry outside its {rows} x {columns}.")
    return sp.csr_matrix((values, (i, j)), shape=(rows, columns))


def _no_entry(name: str, words: Words, row: int | None, what: str) -> ValueError:
    shown = ""
    if row is not None:
        begin = int(words.begins[words.first[row]])
        shown = f": {words.text[begin : begin + 40].tobytes().split(bytes([10]))[0].decode()!r}"
    return ValueError(f"{name}: {what} has a line that is no entry{shown}.")


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
