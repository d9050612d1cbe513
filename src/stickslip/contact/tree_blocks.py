"""Matrices H + J^T K J of bodies on trees: a 6 x 6 block for each body and each pair that touches, and their factors.

Bodies are eliminated one after the other, children before parents, those with the fewest neighbours first.  Of body i
the joint's rates go first, with D = S^T A_ii S:

    A_jk <- A_jk - A_ji S D^-1 S^T A_ik    for j, k = i and its neighbours.

What is left of body i moves with its parent, V_i = X V_p, and its blocks are added to those of the parent.  That is the
recursion of articulated bodies; contacts and rows add neighbours to it.  A chain costs in proportion to its length.

The pattern is that of a symmetric matrix, the numbers are not: contacts that slip make J^T K J unsymmetric.  Pivots are
taken within the block of a body alone.  Where all bodies are free, S = 1, and no more is left of a body: then D^-1 is
kept in place of its factors, and blocks in place of their products with S.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stickslip.contact.pool import Pool, table, whole_numbers
from stickslip.contact.tree_plan import Plan
from stickslip.contact.tree_problem import Rows, Tree, TreeProblem, VelocityProblem, carry, hand_down
from stickslip.jit import kernel


class Parts(NamedTuple):
    """Blocks of a matrix, or of its factors, 36 numbers each."""

    own: np.ndarray  # (m, 36) diagonal
    pair: np.ndarray  # (e, 36) of ordered pairs; factors: S^T A_ij, rows of 6, and A_ji S D^-1, columns of 6
    corner: np.ndarray  # (m, 36) factors of D
    row: np.ndarray  # (m, 6) rows of D that were exchanged
    right: np.ndarray  # (m, 36) S^T A_ii, rows of 6
    left: np.ndarray  # (m, 36) A_ii S D^-1, columns of 6
    rates: np.ndarray  # (m, 6) room: S^T f
    rights: np.ndarray  # (m, 36) room: S^T A_ij of the neighbours of one body; (0, 36) where there are no pairs
    lefts: np.ndarray  # (m, 36) room: A_ji S D^-1 of these


@kernel
def parts_room(pool: Pool, m: int, joined: int, pair: np.ndarray) -> Any:
    """Room for m bodies, on trees all of them or none (joined); pair (e, 36): memory for ordered pairs."""
    width = joined if pair.shape[0] > 0 else 0
    return Parts(
        table(pool, m, 36), pair, table(pool, joined, 36), whole_numbers(pool, 6 * joined).reshape(joined, 6),
        table(pool, joined, 36), table(pool, joined, 36), table(pool, m, 6), table(pool, width, 36),
        table(pool, width, 36),
    )  # fmt: skip


@kernel(inline=True)
def arm_columns(X: np.ndarray, p: np.ndarray, Y: np.ndarray) -> None:
    """Y = X [p x], rows of 9 numbers: the columns of a 3 x 3 block times the cross product with an arm."""
    for i in range(3):
        a, b, c = X[3 * i], X[3 * i + 1], X[3 * i + 2]
        Y[3 * i], Y[3 * i + 1], Y[3 * i + 2] = b * p[2] - c * p[1], c * p[0] - a * p[2], a * p[1] - b * p[0]


@kernel(inline=True)
def add_block(B: np.ndarray, X: np.ndarray, p: np.ndarray, q: np.ndarray, sign: float) -> None:
    """B += sign G_p^T X G_q with G_p = (1, -[p x]): rows belong to the body with arm p, columns to that with arm q."""
    Y = np.empty(9)
    arm_columns(X, q, Y)
    for j in range(3):
        x, y, z = sign * X[j], sign * X[3 + j], sign * X[6 + j]
        B[j] += x
        B[6 + j] += y
        B[12 + j] += z
        B[18 + j] += p[1] * z - p[2] * y
        B[24 + j] += p[2] * x - p[0] * z
        B[30 + j] += p[0] * y - p[1] * x
        x, y, z = -sign * Y[j], -sign * Y[3 + j], -sign * Y[6 + j]
        B[3 + j] += x
        B[9 + j] += y
        B[15 + j] += z
        B[21 + j] += p[1] * z - p[2] * y
        B[27 + j] += p[2] * x - p[0] * z
        B[33 + j] += p[0] * y - p[1] * x


@kernel(inline=True)
def world_block(f: np.ndarray, K: np.ndarray, X: np.ndarray) -> None:
    """X = F^T K F."""
    Y = np.empty(9)
    for i in range(3):
        for j in range(3):
            Y[3 * i + j] = K[3 * i] * f[j] + K[3 * i + 1] * f[3 + j] + K[3 * i + 2] * f[6 + j]
    for i in range(3):
        for j in range(3):
            X[3 * i + j] = f[i] * Y[j] + f[3 + i] * Y[3 + j] + f[6 + i] * Y[6 + j]


@kernel
def set_masses(bodies: VelocityProblem, parts: Parts) -> None:
    """The matrix M."""
    for j in range(bodies.mass.shape[0]):
        D = parts.own[j]
        for k in range(36):
            D[k] = 0.0
        for k in range(3):
            D[7 * k] = bodies.mass[j]
            for s in range(3):
                D[6 * (3 + k) + 3 + s] = bodies.inertia[j, 3 * k + s]
    for e in range(parts.pair.shape[0]):
        for k in range(36):
            parts.pair[e, k] = 0.0


@kernel
def add_row_blocks(rows: Rows, plan: Plan, K: np.ndarray, parts: Parts) -> None:
    """Add J^T K J of rows; K (k,)."""
    for i in range(K.shape[0]):
        if K[i] == 0.0:
            continue
        d, a, b = rows.direction[i], rows.a[i], rows.b[i]
        if a >= 0:
            A = parts.own[a]
            for p in range(6):
                for q in range(6):
                    A[6 * p + q] += K[i] * d[p] * d[q]
        if b >= 0:
            A = parts.own[b]
            for p in range(6):
                x = K[i] * (d[p] + d[9 + p] if p < 3 else d[3 + p])
                for q in range(3):
                    A[6 * p + q] += x * (d[q] + d[9 + q])
                    A[6 * p + 3 + q] += x * d[6 + q]
        if a >= 0 and b >= 0:
            A, B = parts.pair[plan.slot[a, b]], parts.pair[plan.slot[b, a]]
            for p in range(6):
                for q in range(6):
                    x = K[i] * d[p] * (d[q] + d[9 + q] if q < 3 else d[3 + q])
                    A[6 * p + q] -= x
                    B[6 * q + p] -= x


@kernel(apart=True)
def assemble_tree(
    problem: TreeProblem, plan: Plan, K: np.ndarray, on: np.ndarray, row_K: np.ndarray, parts: Parts
) -> None:
    """M + J^T K J; K (n, 9) of contacts, on (n,): those whose K is not zero; row_K (k,) of rows."""
    contacts = problem.contacts
    set_masses(contacts, parts)
    X = np.empty(9)
    for i in range(contacts.a.shape[0]):
        if not on[i]:
            continue
        world_block(contacts.frame[i], K[i], X)
        a, b, p, q = contacts.a[i], contacts.b[i], contacts.arm_a[i], contacts.arm_b[i]
        if a >= 0:
            add_block(parts.own[a], X, p, p, 1.0)
        if b >= 0:
            add_block(parts.own[b], X, q, q, 1.0)
        if a >= 0 and b >= 0:
            add_block(parts.pair[plan.slot[a, b]], X, p, q, -1.0)
            add_block(parts.pair[plan.slot[b, a]], X, q, p, -1.0)
    add_row_blocks(problem.rows, plan, row_K, parts)


@kernel(inline=True)
def eliminate(A: np.ndarray, n: int, k: int, row: np.ndarray) -> bool:
    """Step k of `factor_corner`; False where there is no pivot.

    Pivots are compared as x^2 / |diagonal of their row|, which no unit of length changes: turns and shifts stand in one
    block, and a small body would have its pivots among the shifts.
    """
    best, at = abs(A[7 * k]), k
    weight = best
    for i in range(k + 1, n):
        x, own = abs(A[6 * i + k]), abs(A[7 * i])
        if x * x * weight > best * best * own or (best == 0.0 and x > 0.0):
            best, at, weight = x, i, own
    if not (0.0 < best < np.inf):
        return False
    row[k] = at
    if at != k:
        for j in range(n):
            A[6 * k + j], A[6 * at + j] = A[6 * at + j], A[6 * k + j]
    A[7 * k] = 1.0 / A[7 * k]
    for i in range(k + 1, n):
        A[6 * i + k] *= A[7 * k]
        x = A[6 * i + k]
        for j in range(k + 1, n):
            A[6 * i + j] -= x * A[6 * k + j]
    return True


@kernel
def factor_corner(A: np.ndarray, n: int, row: np.ndarray) -> bool:
    """Replace the first n rows and columns of a 6 x 6 block by L, U and 1 / diagonal of U; row (6,): exchanged with.

    False where they are singular.  An inverse would not do: rows of joints that close loops make A stiff along some
    directions, by 1e10 and more, and A_ji S D^-1 would lose all digits.
    """
    regular = True
    for k in range(n):
        regular = regular and eliminate(A, n, k, row)
    return regular


@kernel
def factor_six(A: np.ndarray, row: np.ndarray) -> bool:
    """`factor_corner` of six rows, its loops of known length."""
    regular = True
    for k in (0, 1, 2, 3, 4, 5):
        regular = regular and eliminate(A, 6, k, row)
    return regular


@kernel
def solve_corner(A: np.ndarray, n: int, row: np.ndarray, x: np.ndarray) -> None:
    """x <- D^-1 x; A, row: factors of D."""
    for k in range(n):
        at = row[k]
        x[k], x[at] = x[at], x[k]
    for k in range(n):
        for i in range(k):
            x[k] -= A[6 * k + i] * x[i]
    for k in range(n - 1, -1, -1):
        for i in range(k + 1, n):
            x[k] -= A[6 * k + i] * x[i]
        x[k] *= A[7 * k]


@kernel(inline=True)
def solve_six(A: np.ndarray, row: np.ndarray, x: np.ndarray) -> None:
    """`solve_corner` of six rows, written out: the body that carries a robot is met in every solution."""
    for k in range(6):
        at = row[k]
        x[k], x[at] = x[at], x[k]
    a, b, c, d, e, f = x[0], x[1], x[2], x[3], x[4], x[5]
    b = b - A[6] * a
    c = c - A[12] * a - A[13] * b
    d = d - A[18] * a - A[19] * b - A[20] * c
    e = e - A[24] * a - A[25] * b - A[26] * c - A[27] * d
    f = (f - A[30] * a - A[31] * b - A[32] * c - A[33] * d - A[34] * e) * A[35]
    e = (e - A[29] * f) * A[28]
    d = (d - A[22] * e - A[23] * f) * A[21]
    c = (c - A[15] * d - A[16] * e - A[17] * f) * A[14]
    b = (b - A[8] * c - A[9] * d - A[10] * e - A[11] * f) * A[7]
    a = (a - A[1] * b - A[2] * c - A[3] * d - A[4] * e - A[5] * f) * A[0]
    x[0], x[1], x[2], x[3], x[4], x[5] = a, b, c, d, e, f


@kernel
def solve_columns(A: np.ndarray, n: int, row: np.ndarray, X: np.ndarray) -> None:
    """X <- X D^-1, n columns of 6; A, row: factors of D."""
    for k in range(n):
        for i in range(k):
            for j in range(6):
                X[6 * k + j] -= X[6 * i + j] * A[6 * i + k]
        for j in range(6):
            X[6 * k + j] *= A[7 * k]
    for k in range(n - 1, -1, -1):
        for i in range(k + 1, n):
            for j in range(6):
                X[6 * k + j] -= X[6 * i + j] * A[6 * i + k]
    for k in range(n - 1, -1, -1):
        at = row[k]
        if at != k:
            for j in range(6):
                X[6 * k + j], X[6 * at + j] = X[6 * at + j], X[6 * k + j]


@kernel(inline=True)
def rows_of(S: np.ndarray, d: int, A: np.ndarray, out: np.ndarray) -> None:
    """out = S^T A, d rows of 6."""
    for k in range(d):
        s = 6 * k
        for j in range(6):
            out[s + j] = (
                S[s] * A[j] + S[s + 1] * A[6 + j] + S[s + 2] * A[12 + j]
                + S[s + 3] * A[18 + j] + S[s + 4] * A[24 + j] + S[s + 5] * A[30 + j]
            )  # fmt: skip


@kernel
def columns_of(A: np.ndarray, S: np.ndarray, d: int, D: np.ndarray, row: np.ndarray, out: np.ndarray) -> None:
    """out = A S D^-1, d columns of 6; D, row: factors."""
    for k in range(d):
        s = 6 * k
        for j in range(0, 36, 6):
            out[s + j // 6] = (
                A[j] * S[s] + A[j + 1] * S[s + 1] + A[j + 2] * S[s + 2]
                + A[j + 3] * S[s + 3] + A[j + 4] * S[s + 4] + A[j + 5] * S[s + 5]
            )  # fmt: skip
    solve_columns(D, d, row, out)


@kernel(inline=True)
def subtract_outer(A: np.ndarray, left: np.ndarray, right: np.ndarray, d: int) -> None:
    """A -= left right: d columns of 6 times d rows of 6."""
    for k in range(d):
        s = 6 * k
        for i in range(6):
            x = left[s + i]
            for j in range(6):
                A[6 * i + j] -= x * right[s + j]


@kernel(inline=True)
def add_from_left(A: np.ndarray, arm: np.ndarray, B: np.ndarray) -> None:
    """B += X^T A: rows of the child become rows of the parent."""
    for j in range(6):
        x, y, z = A[j], A[6 + j], A[12 + j]
        B[j] += x
        B[6 + j] += y
        B[12 + j] += z
        B[18 + j] += A[18 + j] + arm[1] * z - arm[2] * y
        B[24 + j] += A[24 + j] + arm[2] * x - arm[0] * z
        B[30 + j] += A[30 + j] + arm[0] * y - arm[1] * x


@kernel(inline=True)
def add_from_right(A: np.ndarray, arm: np.ndarray, B: np.ndarray) -> None:
    """B += A X: columns of the child become columns of the parent."""
    for i in range(0, 36, 6):
        x, y, z = A[i], A[i + 1], A[i + 2]
        B[i] += x
        B[i + 1] += y
        B[i + 2] += z
        B[i + 3] += A[i + 3] + arm[1] * z - arm[2] * y
        B[i + 4] += A[i + 4] + arm[2] * x - arm[0] * z
        B[i + 5] += A[i + 5] + arm[0] * y - arm[1] * x


@kernel
def join_parent(tree: Tree, plan: Plan, parts: Parts, i: int, first: int, last: int, T: np.ndarray) -> None:
    """Add the blocks of body i to those of its parent; T (36,): room."""
    p, arm = tree.parent[i], tree.arm[i]
    for k in range(36):
        T[k] = 0.0
    add_from_right(parts.own[i], arm, T)
    add_from_left(T, arm, parts.own[p])
    for e in range(first, last):
        j = plan.later[e]
        A, B = parts.pair[2 * e], parts.pair[2 * e + 1]
        if j == p:
            add_from_left(A, arm, parts.own[p])
            add_from_right(B, arm, parts.own[p])
        else:
            add_from_left(A, arm, parts.pair[plan.slot[p, j]])
            add_from_right(B, arm, parts.pair[plan.slot[j, p]])


@kernel(inline=True)
def factor_own(S: np.ndarray, d: int, A: np.ndarray, D: np.ndarray, right: np.ndarray) -> None:
    """S^T A, and D = S^T A S; d is known to the translator where most bodies have it."""
    rows_of(S, d, A, right)
    for a in range(d):
        for b in range(d):
            total = 0.0
            for j in range(6):
                total += right[6 * a + j] * S[6 * b + j]
            D[6 * a + b] = total


@kernel(inline=True)
def take_free(A: np.ndarray, D: np.ndarray) -> None:
    """D = S^T A S of a body that no joint holds: its columns are turns, then shifts."""
    for a in range(6):
        for b in range(6):
            D[6 * a + b] = A[6 * ((a + 3) % 6) + (b + 3) % 6]


@kernel(inline=True)
def factor_body(tree: Tree, parts: Parts, i: int) -> bool:
    """Factors of D, S^T A_ii and A_ii S D^-1 of body i; False where D is singular."""
    S, d, A, D, row = tree.S[i], tree.freedom[i], parts.own[i], parts.corner[i], parts.row[i]
    if d == 1:
        factor_own(S, 1, A, D, parts.right[i])
        if not (0.0 < abs(D[0]) < np.inf):
            return False
        row[0], D[0] = 0, 1.0 / D[0]
        left = parts.left[i]
        for j in range(6):
            left[j] = along(A, j, S) * D[0]
        return True
    if d == 6:
        take_free(A, D)
        return factor_six(D, row)
    factor_own(S, d, A, D, parts.right[i])
    if d > 0 and not factor_corner(D, d, row):
        return False
    if d > 0 and tree.parent[i] >= 0:
        columns_of(A, S, d, D, row, parts.left[i])
    return True


@kernel(inline=True)
def eliminate_body(tree: Tree, plan: Plan, parts: Parts, k: int, d: int) -> None:
    """Take the k-th body of the order out of the blocks of its neighbours and its own; d as for `take_rates`."""
    i, first, last = plan.order[k], plan.begins[k], plan.begins[k + 1]
    S, D, row, right, left = tree.S[i], parts.corner[i], parts.row[i], parts.right[i], parts.left[i]
    rights, lefts = parts.rights, parts.lefts
    for e in range(first, last):
        rows_of(S, d, parts.pair[2 * e], rights[e - first])
        if d == 1:
            for j in range(6):
                lefts[e - first, j] = along(parts.pair[2 * e + 1], j, S) * D[0]
        else:
            columns_of(parts.pair[2 * e + 1], S, d, D, row, lefts[e - first])
    for e in range(first, last):
        j = plan.later[e]
        subtract_outer(parts.own[j], lefts[e - first], rights[e - first], d)
        for g in range(first, last):
            if g != e:
                subtract_outer(parts.pair[plan.slot[j, plan.later[g]]], lefts[e - first], rights[g - first], d)
    if tree.parent[i] >= 0:
        subtract_outer(parts.own[i], left, right, d)
        for e in range(first, last):
            subtract_outer(parts.pair[2 * e], left, rights[e - first], d)
            subtract_outer(parts.pair[2 * e + 1], lefts[e - first], right, d)


@kernel(inline=True)
def fold_hinge(
    A: np.ndarray, S: np.ndarray, arm: np.ndarray, D: np.ndarray, right: np.ndarray, left: np.ndarray, B: np.ndarray
) -> bool:
    """Take a body with one rate and without neighbours out of its parent's block B; False where D is singular.

    What `factor_body`, `eliminate_body` and `join_parent` do one after the other, in one go: nothing is stored on the
    way that the compiler would have to load again.
    """
    r, m, t, total = np.empty(6), np.empty(36), np.empty(36), 0.0
    for j in range(6):
        r[j] = S[0] * A[j] + S[1] * A[6 + j] + S[2] * A[12 + j] + S[3] * A[18 + j] + S[4] * A[24 + j] + S[5] * A[30 + j]
    for j in range(6):
        total += r[j] * S[j]
    if not (0.0 < abs(total) < np.inf):
        return False
    inverse = 1.0 / total
    for i in range(6):
        x = along(A, i, S) * inverse
        for j in range(6):
            t[6 * i + j] = A[6 * i + j] - x * r[j]
        left[i] = x
    D[0] = inverse
    for j in range(6):
        right[j] = r[j]
    for i in range(0, 36, 6):
        x, y, z = t[i], t[i + 1], t[i + 2]
        m[i], m[i + 1], m[i + 2] = x, y, z
        m[i + 3] = t[i + 3] + arm[1] * z - arm[2] * y
        m[i + 4] = t[i + 4] + arm[2] * x - arm[0] * z
        m[i + 5] = t[i + 5] + arm[0] * y - arm[1] * x
    for j in range(6):
        x, y, z = m[j], m[6 + j], m[12 + j]
        t[j], t[6 + j], t[12 + j] = B[j] + x, B[6 + j] + y, B[12 + j] + z
        t[18 + j] = B[18 + j] + (m[18 + j] + arm[1] * z - arm[2] * y)
        t[24 + j] = B[24 + j] + (m[24 + j] + arm[2] * x - arm[0] * z)
        t[30 + j] = B[30 + j] + (m[30 + j] + arm[0] * y - arm[1] * x)
    for j in range(36):
        B[j] = t[j]
    return True


@kernel(apart=True)
def factor_tree(tree: Tree, plan: Plan, parts: Parts) -> bool:
    """Replace the blocks of a matrix by its factors; False where it is singular."""
    T = np.empty(36)
    for k in range(plan.order.shape[0]):
        i, first, last = plan.order[k], plan.begins[k], plan.begins[k + 1]
        d, p = tree.freedom[i], tree.parent[i]
        if d == 1 and p >= 0 and first == last:
            parts.row[i, 0] = 0
            if not fold_hinge(
                parts.own[i], tree.S[i], tree.arm[i], parts.corner[i], parts.right[i], parts.left[i], parts.own[p]
            ):
                return False
            continue
        if not factor_body(tree, parts, i):
            return False
        if d == 1:
            eliminate_body(tree, plan, parts, k, 1)
        else:
            eliminate_body(tree, plan, parts, k, d)
        if p >= 0:
            join_parent(tree, plan, parts, i, first, last, T)
        for e in range(first, last):
            u, w = parts.pair[2 * e], parts.pair[2 * e + 1]
            for j in range(6 * d):
                u[j], w[j] = parts.rights[e - first, j], parts.lefts[e - first, j]
    return True


@kernel(inline=True)
def subtract_columns(f: np.ndarray, left: np.ndarray, g: np.ndarray, d: int) -> None:
    """f -= left g."""
    for k in range(d):
        for j in range(6):
            f[j] -= left[6 * k + j] * g[k]


@kernel(inline=True)
def along(rows: np.ndarray, k: int, f: np.ndarray) -> float:
    """Row k of 6 times f."""
    s = 6 * k
    return (
        rows[s] * f[0] + rows[s + 1] * f[1] + rows[s + 2] * f[2]
        + rows[s + 3] * f[3] + rows[s + 4] * f[4] + rows[s + 5] * f[5]
    )  # fmt: skip


@kernel(inline=True)
def take_rates(tree: Tree, plan: Plan, factors: Parts, wrench: np.ndarray, k: int, d: int) -> None:
    """Load on a joint by the wrench on the k-th body of the order; the rest goes on to its parent.

    d, its freedom, is known to the translator for 1, which most bodies have, and 6: then S takes turns before shifts.
    """
    i = plan.order[k]
    f, g, p = wrench[i], factors.rates[i], tree.parent[i]
    for c in range(d):
        g[c] = f[(c + 3) % 6] if d == 6 else along(tree.S[i], c, f)
    for e in range(plan.begins[k], plan.begins[k + 1]):
        subtract_columns(wrench[plan.later[e]], factors.pair[2 * e + 1], g, d)
    if p >= 0:
        subtract_columns(f, factors.left[i], g, d)
        hand_down(f, tree.arm[i], wrench[p])


@kernel(inline=True)
def give_twist(tree: Tree, plan: Plan, factors: Parts, v: np.ndarray, k: int, d: int) -> None:
    """Twist of the k-th body of the order from those behind it; d as for `take_rates`."""
    i = plan.order[k]
    x, g, p, S = v[i], factors.rates[i], tree.parent[i], tree.S[i]
    if p >= 0:
        carry(v[p], tree.arm[i], x)
        for c in range(d):
            g[c] -= along(factors.right[i], c, x)
    else:
        for c in range(6):
            x[c] = 0.0
    for e in range(plan.begins[k], plan.begins[k + 1]):
        for c in range(d):
            g[c] -= along(factors.pair[2 * e], c, v[plan.later[e]])
    if d == 1:
        g[0] *= factors.corner[i, 0]
    elif d == 6:
        solve_six(factors.corner[i], factors.row[i], g)
    elif d > 1:
        solve_corner(factors.corner[i], d, factors.row[i], g)
    for c in range(d):
        if d == 6:
            x[(c + 3) % 6] = g[c]
        else:
            for b in range(6):
                x[b] += S[6 * c + b] * g[c]


@kernel(apart=True)
def solve_tree(tree: Tree, plan: Plan, factors: Parts, wrench: np.ndarray, v: np.ndarray) -> None:
    """Twists v = T y with (H + J^T K J) y = T^T wrench; the wrenches (m, 6) are used up."""
    m = plan.order.shape[0]
    for k in range(m):
        d = tree.freedom[plan.order[k]]
        if d == 1:
            take_rates(tree, plan, factors, wrench, k, 1)
        elif d == 6:
            take_rates(tree, plan, factors, wrench, k, 6)
        else:
            take_rates(tree, plan, factors, wrench, k, d)
    for k in range(m - 1, -1, -1):
        d = tree.freedom[plan.order[k]]
        if d == 1:
            give_twist(tree, plan, factors, v, k, 1)
        elif d == 6:
            give_twist(tree, plan, factors, v, k, 6)
        else:
            give_twist(tree, plan, factors, v, k, d)


@kernel
def invert_block(A: np.ndarray) -> bool:
    """Invert a 6 x 6 block in place (Gauss-Jordan, pivots by column); False where it is singular."""
    row = np.empty(6, np.int64)
    for k in range(6):
        best, at = abs(A[7 * k]), k
        for i in range(k + 1, 6):
            if abs(A[6 * i + k]) > best:
                best, at = abs(A[6 * i + k]), i
        if not (0.0 < best < np.inf):
            return False
        row[k] = at
        if at != k:
            for j in range(6):
                A[6 * k + j], A[6 * at + j] = A[6 * at + j], A[6 * k + j]
        d = 1.0 / A[7 * k]
        A[7 * k] = 1.0
        for j in range(6):
            A[6 * k + j] *= d
        for i in range(6):
            if i != k:
                f = A[6 * i + k]
                A[6 * i + k] = 0.0
                for j in range(6):
                    A[6 * i + j] -= f * A[6 * k + j]
    for k in range(5, -1, -1):
        at = row[k]
        if at != k:
            for i in range(6):
                A[6 * i + k], A[6 * i + at] = A[6 * i + at], A[6 * i + k]
    return True


@kernel(inline=True)
def subtract_product(C: np.ndarray, A: np.ndarray, B: np.ndarray) -> None:
    """C -= A B, 6 x 6; a row of C stays in registers."""
    for i in range(0, 36, 6):
        c0, c1, c2, c3, c4, c5 = C[i], C[i + 1], C[i + 2], C[i + 3], C[i + 4], C[i + 5]
        for k in range(6):
            x = A[i + k]
            c0 -= x * B[6 * k]
            c1 -= x * B[6 * k + 1]
            c2 -= x * B[6 * k + 2]
            c3 -= x * B[6 * k + 3]
            c4 -= x * B[6 * k + 4]
            c5 -= x * B[6 * k + 5]
        C[i], C[i + 1], C[i + 2], C[i + 3], C[i + 4], C[i + 5] = c0, c1, c2, c3, c4, c5


@kernel(apart=True)
def factor_free(plan: Plan, parts: Parts) -> bool:
    """`factor_tree` of free bodies: own blocks become inverses, those of later bodies with earlier ones A_ji D^-1."""
    T = np.empty(36)
    for k in range(plan.order.shape[0]):
        i, first, last = plan.order[k], plan.begins[k], plan.begins[k + 1]
        D = parts.own[i]
        if not invert_block(D):
            return False
        for e in range(first, last):
            L = parts.pair[2 * e + 1]
            for c in range(36):
                T[c] = 0.0
            subtract_product(T, L, D)
            for c in range(36):
                L[c] = -T[c]
        for e in range(first, last):
            j = plan.later[e]
            L = parts.pair[2 * e + 1]
            for g in range(first, last):
                A = parts.own[j] if g == e else parts.pair[plan.slot[j, plan.later[g]]]
                subtract_product(A, L, parts.pair[2 * g])
    return True


@kernel(inline=True)
def subtract_times(y: np.ndarray, A: np.ndarray, x: np.ndarray) -> None:
    """y -= A x, 6 x 6 and 6."""
    for i in range(6):
        total = 0.0
        for k in range(6):
            total += A[6 * i + k] * x[k]
        y[i] -= total


@kernel(apart=True)
def solve_free(plan: Plan, factors: Parts, wrench: np.ndarray, v: np.ndarray) -> None:
    """`solve_tree` of free bodies; the wrenches (m, 6) are used up."""
    for k in range(plan.order.shape[0]):
        i = plan.order[k]
        for e in range(plan.begins[k], plan.begins[k + 1]):
            j = plan.later[e]
            subtract_times(wrench[j], factors.pair[2 * e + 1], wrench[i])
    for k in range(plan.order.shape[0] - 1, -1, -1):
        i = plan.order[k]
        for e in range(plan.begins[k], plan.begins[k + 1]):
            j = plan.later[e]
            subtract_times(wrench[i], factors.pair[2 * e], v[j])
        for c in range(6):
            v[i, c] = 0.0
        subtract_times(v[i], factors.own[i], wrench[i])
        for c in range(6):
            v[i, c] = -v[i, c]


@kernel
def factor_matrix(problem: TreeProblem, plan: Plan, parts: Parts) -> bool:
    """Replace the blocks of a matrix by its factors; False where it is singular."""
    if problem.tree is None:
        return factor_free(plan, parts)
    return factor_tree(problem.tree, plan, parts)


@kernel
def solve_matrix(problem: TreeProblem, plan: Plan, factors: Parts, wrench: np.ndarray, v: np.ndarray) -> None:
    """Twists v of the bodies from wrenches (m, 6), which are used up, with the factors of a matrix."""
    if problem.tree is None:
        solve_free(plan, factors, wrench, v)
    else:
        solve_tree(problem.tree, plan, factors, wrench, v)


@kernel(inline=True)
def climb_one(tree: Tree, factors: Parts, i: int, d: int, f: np.ndarray) -> float:
    """Cost of a wrench f on body i, f^T S D^-1 S^T f; f becomes what is left of it for the parent.

    d: the freedom of the body, as for `take_rates`.
    """
    g, x, up, total = factors.rates[i], np.empty(d if d == 1 else 6), np.empty(6), 0.0
    for c in range(d):
        g[c] = f[(c + 3) % 6] if d == 6 else along(tree.S[i], c, f)
        x[c] = g[c]
    if d == 1:
        x[0] *= factors.corner[i, 0]
    elif d == 6:
        solve_six(factors.corner[i], factors.row[i], x)
    else:
        solve_corner(factors.corner[i], d, factors.row[i], x)
    for c in range(d):
        total += g[c] * x[c]
    for c in range(6):
        up[c] = 0.0
    if tree.parent[i] >= 0:
        subtract_columns(f, factors.left[i], g, d)
        hand_down(f, tree.arm[i], up)
    for c in range(6):
        f[c] = up[c]
    return total


@kernel(inline=True)
def climb(tree: Tree, factors: Parts, i: int, f: np.ndarray, out: np.ndarray) -> None:
    """`climb_one` for some wrenches f (k, 6) on body i; what they cost is added to `out` (k,)."""
    d = tree.freedom[i]
    for r in range(out.shape[0]):
        if d == 1:
            out[r] += climb_one(tree, factors, i, 1, f[r])
        elif d == 6:
            out[r] += climb_one(tree, factors, i, 6, f[r])
        else:
            out[r] += climb_one(tree, factors, i, d, f[r])


@kernel(apart=True)
def mobilities(
    tree: Tree, place: np.ndarray, factors: Parts, a: int, b: int, f: np.ndarray, g: np.ndarray, out: np.ndarray
) -> None:
    """J H^-1 J^T of rows with the wrenches f (k, 6) on body a, g on body b, with the factors of H, in out (k,).

    H = L D L^T along the tree: the sum of what the wrenches meet on the way to the roots.  f and g are used up.
    """
    for r in range(out.shape[0]):
        out[r] = 0.0
    while a >= 0 or b >= 0:
        if a == b:
            for r in range(out.shape[0]):
                for c in range(6):
                    f[r, c] += g[r, c]
            b = -1
        elif b < 0 or (a >= 0 and place[a] < place[b]):
            climb(tree, factors, a, f, out)
            a = tree.parent[a]
        else:
            climb(tree, factors, b, g, out)
            b = tree.parent[b]
