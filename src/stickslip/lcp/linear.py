"""Small dense linear algebra for kernels, without allocation.

LU with row pivoting on the leading part of a work matrix; Cholesky's L L^T and, without roots, L D L^T of positive
definite matrices.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stickslip.jit import entry


class Room(NamedTuple):
    """Arrays that `solve_support` works in: factors (n, n) and their pivots, a right-hand side, scales of rows."""

    F: np.ndarray
    pivot: np.ndarray
    v: np.ndarray
    row_scale: np.ndarray


@entry(inline=True, reorder_sums=True)
def all_finite(A: np.ndarray, b: np.ndarray) -> bool:
    """Whether neither a matrix nor the vector that goes with it has an infinite entry or a NaN."""
    total = 0.0
    for i in range(b.shape[0]):
        total += 0.0 * b[i]
        for j in range(A.shape[1]):
            total += 0.0 * A[i, j]
    return total == 0.0


@entry
def lu_factor(k: int, F: np.ndarray, pivot: np.ndarray) -> float:
    """Factor F[:k, :k] in place, P F = L U; return the smallest pivot relative to the largest, 0.0 when singular."""
    smallest = np.inf
    largest = 0.0
    for j in range(k):
        row = j
        best = abs(F[j, j])
        for i in range(j + 1, k):
            if abs(F[i, j]) > best:
                best = abs(F[i, j])
                row = i
        pivot[j] = row
        if not (best > 0.0):
            return 0.0
        smallest = min(smallest, best)
        largest = max(largest, best)
        if row != j:
            for c in range(k):
                F[j, c], F[row, c] = F[row, c], F[j, c]
        inverse = 1.0 / F[j, j]
        for i in range(j + 1, k):
            factor = F[i, j] * inverse
            F[i, j] = factor
            if factor != 0.0:
                for c in range(j + 1, k):
                    F[i, c] -= factor * F[j, c]
    return smallest / largest if k > 0 else 1.0


@entry
def lu_solve(k: int, F: np.ndarray, pivot: np.ndarray, v: np.ndarray) -> None:
    """Solve M w = v, with F and `pivot` the factors of M that `lu_factor` left; w replaces v[:k]."""
    for j in range(k):
        row = pivot[j]
        if row != j:
            v[j], v[row] = v[row], v[j]
    for i in range(1, k):
        s = v[i]
        for c in range(i):
            s -= F[i, c] * v[c]
        v[i] = s
    for i in range(k - 1, -1, -1):
        s = v[i]
        for c in range(i + 1, k):
            s -= F[i, c] * v[c]
        v[i] = s / F[i, i]


@entry
def solve_support(A: np.ndarray, b: np.ndarray, k: int, active: np.ndarray, x: np.ndarray, room: Room) -> bool:
    """Solve A_ss x_s = -b_s for the support s = active[:k]; x is zero elsewhere.  False where A_ss is singular.

    LU of the row-scaled submatrix and one step of refinement.  The error left in row i is a few units of round-off of
    the terms in row i, whatever the scaling of the other rows.
    """
    F, pivot, v, row_scale = room
    for i in range(b.shape[0]):
        x[i] = 0.0
    for i in range(k):
        largest = 0.0
        for j in range(k):
            largest = max(largest, abs(A[active[i], active[j]]))
        row_scale[i] = 1.0 / largest if largest > 0.0 else 1.0
        for j in range(k):
            F[i, j] = A[active[i], active[j]] * row_scale[i]
        v[i] = -b[active[i]] * row_scale[i]
    if k == 0:
        return True
    if lu_factor(k, F, pivot) == 0.0:
        return False
    lu_solve(k, F, pivot, v)
    for i in range(k):
        x[active[i]] = v[i]
    for i in range(k):
        defect = -b[active[i]]
        for j in range(k):
            defect -= A[active[i], active[j]] * x[active[j]]
        v[i] = defect * row_scale[i]
    lu_solve(k, F, pivot, v)
    for i in range(k):
        x[active[i]] += v[i]
    return True


@entry
def drop_tiny(x: np.ndarray, C: np.ndarray, fraction: float) -> None:
    """Set components of x below `fraction` of the largest one to zero, measured in the column units C.

    At a degenerate solution a basic unknown is zero but comes out as round-off.  If round-off stayed in x, it would
    count as positive, and its equation would have to hold to the last bit.
    """
    largest = 0.0
    for i in range(x.shape[0]):
        largest = max(largest, abs(x[i]) / C[i])
    for i in range(x.shape[0]):
        if abs(x[i]) / C[i] < fraction * largest:
            x[i] = 0.0


@entry
def factor(M: np.ndarray) -> bool:
    """Cholesky factorisation M = L L^T in place, L in the lower triangle; False where M is not positive definite."""
    f = M.shape[0]
    for j in range(f):
        for i in range(j, f):
            s = M[i, j]
            for k in range(j):
                s -= M[i, k] * M[j, k]
            if i == j:
                if not s > 0.0:
                    return False
                M[j, j] = math.sqrt(s)
            else:
                M[i, j] = s / M[j, j]
    return True


@entry
def solve_factored(L: np.ndarray, w: np.ndarray, x: np.ndarray) -> None:
    """Write x = M^-1 w for M = L L^T, with L from `factor`."""
    f = L.shape[0]
    for j in range(f):
        s = w[j]
        for i in range(j):
            s -= L[j, i] * x[i]
        x[j] = s / L[j, j]
    for j in range(f - 1, -1, -1):
        s = x[j]
        for i in range(j + 1, f):
            s -= L[i, j] * x[i]
        x[j] = s / L[j, j]


@entry(inline=True)
def ldl_factor(M: np.ndarray) -> bool:
    """M = L D L^T in place, with 1 / D on the diagonal; False where M is not positive definite."""
    for j in range(M.shape[0]):
        for k in range(j):
            s = M[j, k]
            for i in range(k):
                s -= M[j, i] * M[k, i]
            M[j, k] = s
        s = M[j, j]
        for i in range(j):
            scaled = M[j, i] * M[i, i]
            s -= M[j, i] * scaled
            M[j, i] = scaled
        if not s > 0.0:
            return False
        M[j, j] = 1.0 / s
    return True


@entry(inline=True)
def ldl_solve(M: np.ndarray, x: np.ndarray) -> None:
    """x <- M^-1 x with the factors of `ldl_factor`."""
    n = M.shape[0]
    for j in range(n):
        s = x[j]
        for i in range(j):
            s -= M[j, i] * x[i]
        x[j] = s
    for j in range(n - 1, -1, -1):
        s = x[j] * M[j, j]
        for i in range(j + 1, n):
            s -= M[i, j] * x[i]
        x[j] = s
