"""Square matrices of d x d blocks, one block row per contact: products, diagonals, permutations.

Three arrays as in SciPy's BSR format: `data` (k, d, d), `indptr` (n + 1,), `indices` (k,), columns sorted, every
diagonal block present.  Kernels that take a range `first`, `last` work on those contacts alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from stickslip.jit import entry

SINGULAR = 1e-14  # regularisation of a local matrix, relative to its trace; one refinement step takes it out again


class Coupled(NamedTuple):
    """n contacts with velocities u = W r + q: the three arrays of W, q (n d,), and coefficients of friction mu (n,)."""

    data: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    q: np.ndarray
    mu: np.ndarray


def block_arrays(W: Any, dim: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """data, indptr, indices of a dense or sparse matrix; blocks of zeros are dropped except on the diagonal."""
    n = W.shape[0] // dim
    if isinstance(W, np.ndarray):
        blocks = W.reshape(n, dim, n, dim).transpose(0, 2, 1, 3)
        present = np.any(blocks != 0.0, axis=(2, 3))
        np.fill_diagonal(present, True)
        row, column = np.nonzero(present)
        indptr = np.zeros(n + 1, np.int64)
        np.cumsum(np.bincount(row, minlength=n), out=indptr[1:])
        return np.ascontiguousarray(blocks[row, column]), indptr, column.astype(np.int64)
    B = sp.bsr_matrix(W, blocksize=(dim, dim))
    B.sum_duplicates()
    row = np.repeat(np.arange(n), np.diff(B.indptr))
    if np.count_nonzero(row == B.indices) < n:
        # SciPy keeps explicit zero blocks of a BSR matrix but drops them in a sum, so the blocks are merged by hand.
        missing = np.setdiff1d(np.arange(n), row[row == B.indices])
        row = np.concatenate([row, missing])
        column = np.concatenate([B.indices, missing])
        order = np.lexsort((column, row))
        data = np.concatenate([B.data, np.zeros((len(missing), dim, dim))])[order]
        indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n))])
        return np.ascontiguousarray(data), indptr.astype(np.int64), column[order].astype(np.int64)
    return (
        np.ascontiguousarray(B.data, dtype=np.float64),
        B.indptr.astype(np.int64),
        B.indices.astype(np.int64),
    )


@entry
def add_product(
    data: np.ndarray, indptr: np.ndarray, indices: np.ndarray, x: np.ndarray, y: np.ndarray, first: int, last: int
) -> None:
    """y <- y + W x on the rows of contacts first .. last - 1."""
    dim = data.shape[1]
    if dim == 3:
        for i in range(first, last):
            y0 = y[3 * i]
            y1 = y[3 * i + 1]
            y2 = y[3 * i + 2]
            for p in range(indptr[i], indptr[i + 1]):
                k = 3 * indices[p]
                y0 += data[p, 0, 0] * x[k] + data[p, 0, 1] * x[k + 1] + data[p, 0, 2] * x[k + 2]
                y1 += data[p, 1, 0] * x[k] + data[p, 1, 1] * x[k + 1] + data[p, 1, 2] * x[k + 2]
                y2 += data[p, 2, 0] * x[k] + data[p, 2, 1] * x[k + 1] + data[p, 2, 2] * x[k + 2]
            y[3 * i] = y0
            y[3 * i + 1] = y1
            y[3 * i + 2] = y2
    else:
        for i in range(first, last):
            y0 = y[2 * i]
            y1 = y[2 * i + 1]
            for p in range(indptr[i], indptr[i + 1]):
                k = 2 * indices[p]
                y0 += data[p, 0, 0] * x[k] + data[p, 0, 1] * x[k + 1]
                y1 += data[p, 1, 0] * x[k] + data[p, 1, 1] * x[k + 1]
            y[2 * i] = y0
            y[2 * i + 1] = y1


@entry
def invert_3(A: np.ndarray, out: np.ndarray) -> None:
    """Inverse of a 3 x 3 matrix with SINGULAR times its trace added to the diagonal; zero for a matrix of trace 0."""
    shift = SINGULAR * (A[0, 0] + A[1, 1] + A[2, 2])
    a = A[0, 0] + shift
    e = A[1, 1] + shift
    i = A[2, 2] + shift
    b, c, d, f, g, h = A[0, 1], A[0, 2], A[1, 0], A[1, 2], A[2, 0], A[2, 1]
    determinant = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    scale = 1.0 / determinant if determinant != 0.0 else 0.0
    out[0, 0] = scale * (e * i - f * h)
    out[0, 1] = scale * (c * h - b * i)
    out[0, 2] = scale * (b * f - c * e)
    out[1, 0] = scale * (f * g - d * i)
    out[1, 1] = scale * (a * i - c * g)
    out[1, 2] = scale * (c * d - a * f)
    out[2, 0] = scale * (d * h - e * g)
    out[2, 1] = scale * (b * g - a * h)
    out[2, 2] = scale * (a * e - b * d)


@entry
def invert_2(A: np.ndarray, out: np.ndarray) -> None:
    """`invert_3` for a 2 x 2 matrix."""
    shift = SINGULAR * (A[0, 0] + A[1, 1])
    a = A[0, 0] + shift
    d = A[1, 1] + shift
    determinant = a * d - A[0, 1] * A[1, 0]
    scale = 1.0 / determinant if determinant != 0.0 else 0.0
    out[0, 0] = scale * d
    out[0, 1] = -scale * A[0, 1]
    out[1, 0] = -scale * A[1, 0]
    out[1, 1] = scale * a


@entry
def copy_block(source: np.ndarray, p: int, target: np.ndarray, w: int) -> None:
    """target[w] = source[p]."""
    for a in range(source.shape[1]):
        for b in range(source.shape[2]):
            target[w, a, b] = source[p, a, b]


@entry
def invert_blocks(A: np.ndarray) -> np.ndarray:
    """`invert_3` or `invert_2` of every block, (n, d, d)."""
    out = np.zeros(A.shape)
    for i in range(A.shape[0]):
        if A.shape[1] == 3:
            invert_3(A[i], out[i])
        else:
            invert_2(A[i], out[i])
    return out


@entry(apart=True)
def diagonal_blocks(data: np.ndarray, indptr: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The local matrices W_ii and their (regularised) inverses, each (n, d, d)."""
    n = indptr.shape[0] - 1
    dim = data.shape[1]
    diagonal = np.zeros((n, dim, dim))
    for i in range(n):
        for p in range(indptr[i], indptr[i + 1]):
            if indices[p] == i:
                copy_block(data, p, diagonal, i)
    return diagonal, invert_blocks(diagonal)


@entry
def components(indptr: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Connected components of the block graph: contacts sorted by component, and where each begins, (k + 1,).

    Inside a component the contacts keep their order.  The graph is taken as symmetric, as the pattern of W is.
    """
    n = indptr.shape[0] - 1
    label = np.empty(n, np.int64)
    for i in range(n):
        label[i] = -1
    stack = np.empty(n, np.int64)
    order = np.empty(n, np.int64)
    offsets = np.zeros(n + 1, np.int64)
    k = 0
    for seed in range(n):
        if label[seed] >= 0:
            continue
        label[seed] = k
        stack[0] = seed
        height = 1
        while height > 0:
            height -= 1
            i = stack[height]
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                if label[j] < 0:
                    label[j] = k
                    stack[height] = j
                    height += 1
        k += 1
    for i in range(n):
        offsets[label[i] + 1] += 1
    for c in range(k):
        offsets[c + 1] += offsets[c]
    place = offsets[: k + 1].copy()
    for i in range(n):
        order[place[label[i]]] = i
        place[label[i]] += 1
    return order, offsets[: k + 1].copy()


@entry
def permute(
    data: np.ndarray, indptr: np.ndarray, indices: np.ndarray, order: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The matrix with contact order[k] in place k.  Columns within a row keep the order of the old row."""
    n = order.shape[0]
    place = np.empty(n, np.int64)
    for k in range(n):
        place[order[k]] = k
    new_data = np.empty_like(data)
    new_indptr = np.zeros_like(indptr)
    new_indices = np.empty_like(indices)
    w = 0
    for k in range(n):
        i = order[k]
        for p in range(indptr[i], indptr[i + 1]):
            copy_block(data, p, new_data, w)
            new_indices[w] = place[indices[p]]
            w += 1
        new_indptr[k + 1] = w
    return new_data, new_indptr, new_indices
