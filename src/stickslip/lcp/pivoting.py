"""Complementary pivoting on a dictionary: ratio test, lexicographic ties, exchanges one at a time or in blocks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stickslip.jit import entry

SOLVED = 0
RAY = 1
PIVOT_LIMIT = 2
PIVOT_TOLERANCE = 1e-11  # entries of the scaled dictionary below this are round-off, not pivots
BLOCK = 4  # exchanges done at a time for n >= IN_BLOCKS_FROM
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
