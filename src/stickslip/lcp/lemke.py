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
from typing import Any, NamedTuple

import numpy as np

from stickslip.jit import entry, kernel
from stickslip.lcp.linear import drop_tiny, solve_support
from stickslip.lcp.residuals import lcp_residual

SOLVED = 0
RAY = 1
PIVOT_LIMIT = 2
INACCURATE = 3

PIVOT_TOLERANCE = 1e-11  # entries of the scaled dictionary below this are round-off, not pivots
ROUND_OFF = 1e-12  # unknowns below this share of the largest may be zeros of a degenerate solution
BLOCK = 4  # exchanges done at a time for n >= IN_BLOCKS_FROM
IN_BLOCKS_FROM = 12
TIE_TOLERANCE = 1e-12  # ratios closer than this are equal: the lexicographic rule decides


class Dictionary(NamedTuple):
    """The dictionary  basic = r + D nonbasic  of a scaled problem with n unknowns, and the names of its variables.

    Variables are numbered y_i = i, x_i = n + i, x_0 = 2 n.

    D, r : (n, n + 1) and (n,); on entry column n of D is the covering vector.
    basis, nonbasic : (n,) and (n + 1,), the variable of every row and of every column.
    row_of, column_of : (n,), the row of y_j, or -1 where it is nonbasic; its column, or -1 where it is basic.
    line : (n,), room for one row or column.
    """

    D: np.ndarray
    r: np.ndarray
    basis: np.ndarray
    nonbasic: np.ndarray
    row_of: np.ndarray
    column_of: np.ndarray
    line: np.ndarray


class Late(NamedTuple):
    """Exchanges that were put off: the dictionary is D + U[:k]^T V[:k] with k of them, U (4, n), V (4, n + 1)."""

    U: np.ndarray
    V: np.ndarray


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


@entry(inline=True)
def exchange(n: int, dictionary: Dictionary, row: int, col: int) -> None:
    """Swap the basic variable of `row` with the nonbasic one of `col` in basic = r + D nonbasic.

    The new row is copied into `line[:n]`, because for all the compiler knows two rows of one matrix may overlap.
    Without the copy the inner loop would not be vectorised (four times slower for n = 300).
    """
    D, r, pivot_row = dictionary.D, dictionary.r, dictionary.line
    p = 1.0 / D[row, col]
    for c in range(n + 1):
        D[row, c] *= -p
    D[row, col] = p
    r[row] *= -p
    for c in range(n):
        pivot_row[c] = D[row, c]
    last = D[row, n]
    right = r[row]
    for i in range(n):
        f = D[i, col]
        if i != row and f != 0.0:
            D[i, col] = 0.0
            for c in range(n):
                D[i, c] += f * pivot_row[c]
            D[i, n] += f * last
            r[i] += f * right


@entry
def lexicographically_smaller(
    n: int, dictionary: Dictionary, late: Late, terms: int, i: int, k: int, pivot_i: float, pivot_k: float
) -> bool:
    """Whether row i precedes row k in the ratio test when b is perturbed by (eps, eps^2, ..., eps^n).

    The perturbation adds -D[i, c] eps^j where y_j is nonbasic in column c, and eps^j where y_j is basic in row i.
    The dictionary is D + U[:terms]^T V[:terms], `pivot_i` and `pivot_k` are its entries in the entering column.
    """
    D, row_of, column_of, U, V = dictionary.D, dictionary.row_of, dictionary.column_of, late.U, late.V
    inverse_i = -1.0 / pivot_i
    inverse_k = -1.0 / pivot_k
    for j in range(n):
        vi = 0.0
        vk = 0.0
        c = column_of[j]
        if c >= 0:
            vi = D[i, c]
            vk = D[k, c]
            for q in range(terms):
                vi += U[q, i] * V[q, c]
                vk += U[q, k] * V[q, c]
            vi *= -inverse_i
            vk *= -inverse_k
        elif row_of[j] == i:
            vi = inverse_i
        elif row_of[j] == k:
            vk = inverse_k
        if vi < vk - TIE_TOLERANCE:
            return True
        if vi > vk + TIE_TOLERANCE:
            return False
    return False


@entry(inline=True)
def leaving_row(n: int, dictionary: Dictionary, late: Late, terms: int, column: np.ndarray, tie: float) -> int:
    """Lexicographic ratio test on the dictionary D + U[:terms]^T V[:terms]: the row that leaves; -1 on a ray.

    `column` is the column of the dictionary that enters.  Among rows with the smallest ratio, x_0 leaves first: then
    the path ends in a solution.
    """
    r, basis = dictionary.r, dictionary.basis
    row = -1
    best = 0.0
    for i in range(n):
        if column[i] < -PIVOT_TOLERANCE:
            ratio = -r[i] / column[i]
            margin = tie * (1.0 + abs(best))
            if row < 0 or ratio < best - margin:
                row = i
                best = ratio
            elif ratio <= best + margin and (
                basis[i] == 2 * n
                or (
                    basis[row] != 2 * n
                    and lexicographically_smaller(n, dictionary, late, terms, i, row, column[i], column[row])
                )
            ):
                row = i
                best = min(ratio, best)
    return row


@entry(inline=True)
def first_row(n: int, dictionary: Dictionary) -> int:
    """Make every y_i basic, every x_i and x_0 nonbasic; return the row in which x_0 enters, or -1 where b >= 0."""
    D, r, nonbasic = dictionary.D, dictionary.r, dictionary.nonbasic
    lowest = 0.0
    row = -1
    for i in range(n):
        dictionary.basis[i] = i
        nonbasic[i] = n + i
        dictionary.row_of[i] = i
        dictionary.column_of[i] = -1
        ratio = r[i] / D[i, n]
        if r[i] < 0.0 and ratio <= lowest:  # of equal rows the last one: eps^i falls with i
            lowest = ratio
            row = i
    nonbasic[n] = 2 * n
    return row


@entry(inline=True)
def swap_names(n: int, dictionary: Dictionary, row: int, col: int) -> int:
    """Swap the names of the basic variable of `row` and the nonbasic one of `col`; return the column that enters next.

    The complement of the variable that left enters next.  Returns -1 if x_0 left: the path has ended in a solution.
    """
    basis, nonbasic, row_of, column_of = dictionary.basis, dictionary.nonbasic, dictionary.row_of, dictionary.column_of
    leaving = basis[row]
    entering = nonbasic[col]
    basis[row] = entering
    nonbasic[col] = leaving
    if leaving < n:
        row_of[leaving] = -1
        column_of[leaving] = col
    if entering < n:
        row_of[entering] = row
        column_of[entering] = -1
    if leaving == 2 * n:
        return -1
    complement = leaving + n if leaving < n else leaving - n
    col = 0
    while nonbasic[col] != complement:
        col += 1
    return col


@entry
def pivot_path(n: int, dictionary: Dictionary, max_pivots: int, tie: float) -> tuple:
    """Follow Lemke's path from the scaled dictionary; return (status, pivots, column of the ray or -1)."""
    row = first_row(n, dictionary)
    if row < 0:
        return SOLVED, 0, -1
    col = n
    none = 0
    for pivots in range(1, max_pivots + 1):
        exchange(n, dictionary, row, col)
        col = swap_names(n, dictionary, row, col)
        if col < 0:
            return SOLVED, pivots, -1
        row = leaving_row(n, dictionary, Late(dictionary.D, dictionary.D), none, dictionary.D[:, col], tie)
        if row < 0:
            return RAY, pivots, col
    return PIVOT_LIMIT, max_pivots, -1


@entry(inline=True)
def put_off_exchange(
    n: int, dictionary: Dictionary, row: int, col: int, late: Late, k: int, new_row: np.ndarray
) -> None:
    """Make an `exchange` on the dictionary D + U[:k]^T V[:k] without touching all of D: it becomes term k of U and V.

    `line` is column `col` of the dictionary.  Row `row` and column `col` are brought up to date in D itself, as no
    later term may touch their new entries.
    """
    D, r, column, U, V = dictionary.D, dictionary.r, dictionary.line, late.U, late.V
    p = -1.0 / column[row]
    for c in range(n + 1):
        new_row[c] = D[row, c]
    for q in range(k):
        f = U[q, row]
        U[q, row] = 0.0
        V[q, col] = 0.0
        if f != 0.0:
            for c in range(n + 1):
                new_row[c] += f * V[q, c]
    for c in range(n + 1):
        new_row[c] *= p
    new_row[col] = -p
    for i in range(n):
        D[i, col] = 0.0
    for c in range(n + 1):
        D[row, c] = new_row[c]
        V[k, c] = new_row[c]
    right = p * r[row]
    column[row] = 0.0
    for i in range(n):
        U[k, i] = column[i]
        r[i] += column[i] * right
    r[row] = right


@entry(inline=True)
def catch_up(n: int, D: np.ndarray, late: Late, k: int) -> None:
    """Add the k exchanges that were put off to the dictionary: D += U[:k]^T V[:k]."""
    U, V = late.U, late.V
    if k == BLOCK:
        for i in range(n):
            u0, u1, u2, u3 = U[0, i], U[1, i], U[2, i], U[3, i]
            for c in range(n + 1):
                D[i, c] += u0 * V[0, c] + u1 * V[1, c] + u2 * V[2, c] + u3 * V[3, c]
    else:
        for q in range(k):
            for i in range(n):
                f = U[q, i]
                if f != 0.0:
                    for c in range(n + 1):
                        D[i, c] += f * V[q, c]


@entry(inline=True)
def name_hash(variable: int) -> int:
    """A hash of one variable.  The exclusive or of the hashes of all basic variables is the hash of a basis."""
    mixed: Any = (variable + 1) * np.int64(0x1E3779B97F4A7C15)
    mixed ^= mixed >> 29
    mixed *= np.int64(0x3F58476D1CE4E5B9)
    mixed ^= mixed >> 32
    return mixed


@entry
def pivot_path_in_blocks(n: int, dictionary: Dictionary, space: np.ndarray, max_pivots: int, tie: float) -> tuple:
    """Follow Lemke's path as `pivot_path` does, but change the dictionary for four exchanges at a time.

    This is faster from about twelve unknowns on.  A pivot needs one column and one row of the dictionary; both are
    computed from D + U^T V when a pivot asks for them.  Round-off may undo the lexicographic order, and then a basis
    returns.  The path is given up at the first return (Brent's algorithm, on hashes of the bases).
    `space` is `put_off` of a workspace.  Returns (status, pivots, column of the ray or -1).
    """
    D, column = dictionary.D, dictionary.line
    late = Late(space[: BLOCK * n].reshape((BLOCK, n)), space[BLOCK * n : BLOCK * (2 * n + 1)].reshape((BLOCK, n + 1)))
    new_row = space[BLOCK * (2 * n + 1) :]
    row = first_row(n, dictionary)
    if row < 0:
        return SOLVED, 0, -1
    col = n
    for i in range(n):
        column[i] = D[i, col]
    k = 0
    bases = 0
    remembered = 0
    next_memory = 64
    for pivots in range(1, max_pivots + 1):
        put_off_exchange(n, dictionary, row, col, late, k, new_row)
        k += 1
        bases ^= name_hash(dictionary.basis[row]) ^ name_hash(dictionary.nonbasic[col])
        if bases == remembered:
            return PIVOT_LIMIT, pivots, -1
        if pivots == next_memory:
            remembered = bases
            next_memory *= 2
        col = swap_names(n, dictionary, row, col)
        if col < 0:
            return SOLVED, pivots, -1
        if k == BLOCK:
            catch_up(n, D, late, k)
            k = 0
        for i in range(n):
            column[i] = D[i, col]
        for q in range(k):
            f = late.V[q, col]
            if f != 0.0:
                for i in range(n):
                    column[i] += f * late.U[q, i]
        row = leaving_row(n, dictionary, late, k, column, tie)
        if row < 0:
            catch_up(n, D, late, k)
            return RAY, pivots, col
    return PIVOT_LIMIT, max_pivots, -1


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
    if k == 0 or not solve_support(A, b, k, active, trial[:n], work.F, work.pivots, work.dictionary.line, other):
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
    return lemke_attempts(A, b, x, y, ray, work, max_pivots, tol, 3)


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
    max_pivots: int,
    tol: float,
    attempt: int,
) -> tuple:
    """Scale the problem, follow one path of Lemke's method, and check its end on the given problem.

    `attempt` chooses the covering vector and the rule for ties.  Writes x and y; returns (status, pivots, column of
    the ray or -1, residual).
    """
    size = scale(A, b, work.dictionary.D, work.dictionary.r, work.R, work.C)
    return follow_scaled(A, b, x, y, work, max_pivots, tol, attempt, size)


@entry(inline=True)
def follow_scaled(
    A: np.ndarray,
    b: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    work: Workspace,
    max_pivots: int,
    tol: float,
    attempt: int,
    size: float,
) -> tuple:
    """`follow_path` on a problem that is scaled already: D = R A C and r = R b / size lie in `work`."""
    n = b.shape[0]
    dictionary, C = work.dictionary, work.C
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
    max_pivots: int,
    tol: float,
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
        status, pivots, column, residual = follow_path(A, b, x, y, work, max_pivots, tol, attempt)
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
    status, pivots, _, residual = follow_scaled(A, b, x, y, work, max_pivots, tol, 1, 1.0)
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
    return lemke_attempts(A, b, x, y, ray, workspace(b.shape[0]), max_pivots, tol, attempts)
