"""Lemke's method for the LCP  y = A x + b,  0 <= y perp x >= 0: complementary pivoting on a scaled dictionary.

The problem is embedded in  y = b + A x + d x_0  with a covering vector d > 0.  The method drives x_0 from large to zero
along an edge path of almost complementary bases.  Ties are broken lexicographically, so no basis repeats and the path
is finite.

* Rows and columns are scaled to entries of size 1 first.  With x = C x', y' = R y the path of the scaled problem is the
  path of the given problem with d = R^-1 (1, ..., 1).  So guarantees that hold for every d > 0 are kept.  A P matrix
  always gets a solution.  A copositive-plus matrix (every PSD matrix is one) gets a solution whenever the inequalities
  can be met at all.
* The path can end on a secondary ray: an unbounded edge with x_0 > 0.  The status RAY says so, apart from PIVOT_LIMIT
  and INACCURATE, and the direction of the ray is returned.
* The answer is checked on the given problem; `polish` first recomputes it from its active set.

References: Cottle, Pang and Stone, The Linear Complementarity Problem (1992), 4.4 and 4.9; Murty, Linear
Complementarity, Linear and Nonlinear Programming (1988), ch. 2.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stickslip.jit import entry, kernel
from stickslip.lcp.linear import Room, drop_tiny, solve_support
from stickslip.lcp.pivoting import PIVOT_LIMIT, RAY, SOLVED, TIE_TOLERANCE, Dictionary, pivot_path, pivot_path_in_blocks
from stickslip.lcp.residuals import lcp_residual

INACCURATE = 3

ROUND_OFF = 1e-12  # unknowns below this share of the largest may be zeros of a degenerate solution
IN_BLOCKS_FROM = 12


class Limits(NamedTuple):
    """When a path is given up, and which residual counts as solved."""

    max_pivots: int
    tol: float


class Workspace(NamedTuple):
    """Arrays that one solve of size n needs; many solves can share one workspace, one after another.

    R, C : factors of the rows and of the columns, see `scale`.
    F, pivots, trial, active, other : room of `polish`: factors and their pivots, an answer, its support, its y.
    put_off : room for the exchanges that `pivot_path_in_blocks` puts off.
    """

    dictionary: Dictionary
    R: np.ndarray
    C: np.ndarray
    F: np.ndarray
    pivots: np.ndarray
    trial: np.ndarray
    active: np.ndarray
    other: np.ndarray
    put_off: np.ndarray


@kernel(inline=True)
def workspace(n: int) -> Workspace:
    """Allocate a workspace for problems of size n."""
    floats, integers = storage(n)
    return carve(n, floats, integers)


@kernel(inline=True)
def storage(n: int) -> tuple:
    """The two arrays, of floats and of integers, from which `carve` cuts the 15 arrays of a workspace.

    Fifteen allocations would take as long as a small solve.
    """
    return np.empty((2 * n + 16) * n + 5), np.empty(6 * n + 1, np.int64)


@kernel(inline=True)
def carve(n: int, floats: np.ndarray, integers: np.ndarray) -> Workspace:
    """Cut the arrays of a workspace of size n from the two arrays of `storage(n)`."""
    f = floats[n * (2 * n + 1) :]
    i = integers[n + 1 :]
    return Workspace(
        dictionary=Dictionary(
            D=floats[: n * (n + 1)].reshape((n, n + 1)),
            r=f[:n],
            basis=i[:n],
            nonbasic=integers[: n + 1],
            row_of=i[n : 2 * n],
            column_of=i[2 * n : 3 * n],
            line=f[3 * n : 4 * n],
        ),
        R=f[n : 2 * n],
        C=f[2 * n : 3 * n],
        F=floats[n * (n + 1) : n * (2 * n + 1)].reshape((n, n)),
        pivots=i[3 * n : 4 * n],
        trial=f[4 * n : 5 * n],
        active=i[4 * n : 5 * n],
        other=f[5 * n : 6 * n],
        put_off=f[6 * n : 15 * n + 5],
    )


@entry(inline=True)
def scale(A: np.ndarray, b: np.ndarray, D: np.ndarray, r: np.ndarray, R: np.ndarray, C: np.ndarray) -> float:
    """D = R A C with row and column maxima of 1, r = R b / max|R b|; return max|R b|."""
    n = b.shape[0]
    for j in range(n):
        C[j] = 0.0
    for i in range(n):
        largest = 0.0
        for j in range(n):
            largest = max(largest, abs(A[i, j]))
        if largest == 0.0:
            largest = abs(b[i])
        factor = 1.0 / largest if largest > 0.0 else 1.0
        R[i] = factor
        for j in range(n):
            entry = A[i, j] * factor
            D[i, j] = entry
            C[j] = max(C[j], abs(entry))
    for j in range(n):
        C[j] = 1.0 / C[j] if C[j] > 0.0 else 1.0
    largest = 0.0
    for i in range(n):
        for j in range(n):
            D[i, j] *= C[j]
        r[i] = b[i] * R[i]
        largest = max(largest, abs(r[i]))
    if largest > 0.0:
        for i in range(n):
            r[i] /= largest
    return largest


@entry
def scale_by_right_side(
    A: np.ndarray, b: np.ndarray, D: np.ndarray, r: np.ndarray, R: np.ndarray, C: np.ndarray
) -> None:
    """D = R A C and r = R b with r of ones, minus ones and zeros, and column maxima of 1.

    Rows whose right-hand side is zero have row maxima of 1.
    """
    n = b.shape[0]
    for j in range(n):
        C[j] = 0.0
    for i in range(n):
        R[i] = 1.0 / abs(b[i]) if b[i] != 0.0 else 0.0
        for j in range(n):
            C[j] = max(C[j], abs(A[i, j]) * R[i])
    for j in range(n):
        C[j] = 1.0 / C[j] if C[j] > 0.0 else 1.0
    for i in range(n):
        if b[i] == 0.0:
            largest = 0.0
            for j in range(n):
                largest = max(largest, abs(A[i, j]) * C[j])
            R[i] = 1.0 / largest if largest > 0.0 else 1.0
        r[i] = b[i] * R[i]
        for j in range(n):
            D[i, j] = A[i, j] * R[i] * C[j]


@entry
def polish(A: np.ndarray, b: np.ndarray, x: np.ndarray, y: np.ndarray, residual: float, work: Workspace) -> float:
    """Recompute x from its own support, A_ss x_s = -b_s, and keep the new x if its residual is smaller.

    Returns the residual of the x that is kept.
    `residual` and y belong to x on entry and on return.
    """
    n = b.shape[0]
    trial, active, other = work.trial, work.active, work.other
    k = 0
    for i in range(n):
        if x[i] > 0.0:
            active[k] = i
            k += 1
    room = Room(work.F, work.pivots, work.dictionary.line, other)
    if k == 0 or not solve_support(A, b, k, active, trial[:n], room):
        return residual
    for i in range(n):
        trial[i] = max(0.0, trial[i])
    after = lcp_residual(A, b, trial[:n], other)
    if after < residual:
        for i in range(n):
            x[i] = trial[i]
            y[i] = other[i]
        return after
    return residual


@entry
def lemke(
    A: np.ndarray,
    b: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    ray: np.ndarray,
    work: Workspace,
    max_pivots: int,
    tol: float,
) -> tuple:
    """Solve one LCP; write x, y = A x + b and, on a ray, its direction in x; return (status, pivots, residual).

    A path that ends in anything but a solution within `tol` is walked again with another covering vector and then
    with stricter ties, before the first outcome is reported.
    """
    return lemke_attempts(A, b, x, y, ray, work, Limits(max_pivots, tol), 3)


@entry(inline=True)
def covering(attempt: int, i: int) -> float:
    """Component i of the covering vector d > 0: ones, then 1 to 1.1, later four decades, by a Weyl sequence."""
    if attempt == 0 or attempt == 2:
        return 1.0
    u = attempt * (0.6180339887498949 * (i + 1.0) + 0.7548776662466927)
    u -= math.floor(u)
    return 1.0 + 0.1 * u if attempt == 1 else 10.0 ** (4.0 * u - 2.0)


@entry(inline=True)
def follow_path(
    A: np.ndarray,
    b: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    work: Workspace,
    limits: Limits,
    attempt: int,
) -> tuple:
    """Scale the problem, follow one path of Lemke's method, and check its end on the given problem.

    `attempt` chooses the covering vector and the rule for ties.  Writes x and y; returns (status, pivots, column of
    the ray or -1, residual).
    """
    size = scale(A, b, work.dictionary.D, work.dictionary.r, work.R, work.C)
    return follow_scaled(A, b, x, y, work, limits, attempt, size)


@entry(inline=True)
def follow_scaled(
    A: np.ndarray,
    b: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    work: Workspace,
    limits: Limits,
    attempt: int,
    size: float,
) -> tuple:
    """`follow_path` on a problem that is scaled already: D = R A C and r = R b / size lie in `work`."""
    n = b.shape[0]
    dictionary, C = work.dictionary, work.C
    max_pivots, tol = limits
    for i in range(n):
        dictionary.D[i, n] = covering(attempt, i)
        x[i] = 0.0
    tie = 0.0 if attempt == 2 else TIE_TOLERANCE
    if attempt != 2:  # where round-off has undone the lexicographic order a path may cycle; another one will not
        max_pivots = min(max_pivots, (6 if attempt == 0 else 20) * n + 200)
    if n < IN_BLOCKS_FROM:
        status, pivots, column = pivot_path(n, dictionary, max_pivots, tie)
    else:
        status, pivots, column = pivot_path_in_blocks(n, dictionary, work.put_off, max_pivots, tie)
    if status != SOLVED:
        return status, pivots, column, np.inf
    for i in range(n):
        if n <= dictionary.basis[i] < 2 * n:
            j = dictionary.basis[i] - n
            x[j] = max(0.0, dictionary.r[i]) * size * C[j]
    residual = lcp_residual(A, b, x, y)
    if residual > 1e-13:
        residual = polish(A, b, x, y, residual, work)
    if residual > tol:
        drop_tiny(x, C, ROUND_OFF)
        residual = polish(A, b, x, y, lcp_residual(A, b, x, y), work)
    return (SOLVED if residual <= tol else INACCURATE), pivots, -1, residual


@entry
def lemke_attempts(
    A: np.ndarray,
    b: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    ray: np.ndarray,
    work: Workspace,
    limits: Limits,
    attempts: int,
) -> tuple:
    """Solve one LCP by up to `attempts` paths of Lemke's method, each with its own covering vector.

    Writes x, y = A x + b and, on a ray, its direction in x; returns (status, pivots of all paths, residual).

    Where A is in no class with a guarantee, each new covering vector is a new chance.  Of random problems with 10
    contacts 3 paths solve two thirds, 50 paths all.  With 33 contacts 3 paths solve 15 %, 50 paths 90 %.
    """
    n = b.shape[0]
    outcome = INACCURATE
    total = 0
    for attempt in range(attempts):
        status, pivots, column, residual = follow_path(A, b, x, y, work, limits, attempt)
        total += pivots
        if status == SOLVED:
            return SOLVED, total, residual
        if attempt == 0 or outcome == PIVOT_LIMIT:
            outcome = status
            if status == RAY:
                (D, _, basis, nonbasic, _, _, _), C = work.dictionary, work.C
                for i in range(n):
                    ray[i] = 0.0
                for i in range(n):
                    if n <= basis[i] < 2 * n:
                        ray[basis[i] - n] = max(0.0, D[i, column]) * C[basis[i] - n]
                if n <= nonbasic[column] < 2 * n:
                    ray[nonbasic[column] - n] = C[nonbasic[column] - n]
    return outcome, total, lcp_residual(A, b, x, y)


@entry
def lemke_by_right_side(
    A: np.ndarray, b: np.ndarray, x: np.ndarray, y: np.ndarray, max_pivots: int, tol: float
) -> tuple:
    """One path with rows divided by their right-hand side; returns (status, pivots, residual).

    With rows of size 1 the path begins at the largest entry of the right-hand side.  Entries 10^16 times smaller are
    lost against it, and with them the rows in which they stand.
    """
    work = workspace(b.shape[0])
    scale_by_right_side(A, b, work.dictionary.D, work.dictionary.r, work.R, work.C)
    status, pivots, _, residual = follow_scaled(A, b, x, y, work, Limits(max_pivots, tol), 1, 1.0)
    return status, pivots, residual


@entry
def lemke_alone(
    A: np.ndarray,
    b: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    ray: np.ndarray,
    max_pivots: int,
    tol: float,
    attempts: int,
) -> tuple:
    """Solve one LCP by up to `attempts` paths of Lemke's method, in a workspace allocated here.

    For calls from Python: passing the fifteen arrays of a workspace would take a microsecond.  See `lemke_attempts`.
    """
    return lemke_attempts(A, b, x, y, ray, workspace(b.shape[0]), Limits(max_pivots, tol), attempts)
