"""Two planar contacts at once: the branch of each (open, stick, slip either way) found by an active-set iteration.

    (xi_N)   [ G_NN    G_NT ] (Lambda_N)   (c_N)      0 <= xi_N perp Lambda_N >= 0
    (xi_T) = [ G_NT^T  G_TT ] (Lambda_T) + (c_T)      -xi_T in the normal cone of |Lambda_T| <= mu Lambda_N + a

With the branches held this is a linear system of four unknowns; its solution says which branches are wrong.  Most
steps with two closed contacts end after one or two rounds.  Sweeps from contact to contact would crawl (the corners of
a slider), and pivoting would change a table of six rows.  Everything has a fixed size and a fixed order of operations:
the unknowns stay in registers, on a GPU as well.  Reference: Alart and Curnier 1991 (the branches of the prox).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stickslip.jit import entry

ROUNDS = 8
NEARLY_SINGULAR = 1e-2  # a pivot below this share of its diagonal entry: two digits are lost, sweeps lose none
ROUNDING = 1e-14  # of the velocities without impulses: what is left over beyond is taken out by a `correction`
ALL, NORMALS = 4, 2  # unknowns of two contacts; of two without tangents
FREE, STICK, UP, DOWN = 0, 1, 2, 3  # no friction; Lambda_T inside its bound; at the upper bound; at the lower


class Pair(NamedTuple):
    """Two contacts and their problem; unknowns in the order N_1, N_2, T_1, T_2.

    contact (2,) int64: which ones.  pushes, branch (2,) int64: state of each.  mu, a (2,): friction.  G (4, 4):
    Delassus matrix.  A (4, 5): room to solve.  c (4,): velocities.  x (4,): impulses; dx (4,): their correction.
    """

    contact: np.ndarray
    pushes: np.ndarray
    branch: np.ndarray
    mu: np.ndarray
    a: np.ndarray
    G: np.ndarray
    A: np.ndarray
    c: np.ndarray
    x: np.ndarray
    dx: np.ndarray


@entry(inline=True)
def first_branch(c_T: float, frictional: bool) -> int:
    """The branch to begin with: slip in the sense of the velocity without impulses."""
    if not frictional:
        return FREE
    return UP if c_T < 0.0 else DOWN


@entry(inline=True)
def held_branches(pair: Pair, unknowns: int) -> None:
    """The linear system A = (matrix, right-hand side), shape (4, 5), of (Lambda_N1, Lambda_N2, Lambda_T1, Lambda_T2).

    xi_N = 0 where a contact pushes, else Lambda_N = 0; xi_T = 0 where it sticks, else Lambda_T = s (mu Lambda_N + a).
    """
    G, A, c, pushes, branch = pair.G, pair.A, pair.c, pair.pushes, pair.branch
    for i in range(2):
        for j in range(unknowns):
            A[i, j] = G[i, j] if pushes[i] != 0 else 0.0
        A[i, 4] = -c[i] if pushes[i] != 0 else 0.0
        if pushes[i] == 0:
            A[i, i] = 1.0
        if unknowns == NORMALS:
            continue
        for j in range(4):
            A[2 + i, j] = G[2 + i, j] if branch[i] == STICK else 0.0
        if branch[i] == STICK:
            A[2 + i, 4] = -c[2 + i]
        else:
            s = 1.0 if branch[i] == UP else (-1.0 if branch[i] == DOWN else 0.0)
            A[2 + i, i] = -s * pair.mu[i]
            A[2 + i, 2 + i] = 1.0
            A[2 + i, 4] = s * pair.a[i]


@entry(inline=True)
def factor(A: np.ndarray, unknowns: int) -> bool:
    """Factor the matrix of the equations in place, pivots in their order; False where one nearly vanishes.

    The diagonal holds the reciprocals of the pivots at the end: divisions are dear on a GPU.
    """
    size_1 = abs(A[1, 1])
    size_2 = abs(A[2, 2]) if unknowns > NORMALS else 0.0
    size_3 = abs(A[3, 3]) if unknowns > NORMALS else 0.0
    for k in range(unknowns):
        if not abs(A[k, k]) > 0.0:
            return False
        inverse = 1.0 / A[k, k]
        A[k, k] = inverse
        for i in range(k + 1, unknowns):
            part = A[i, k] * inverse
            A[i, k] = part
            for j in range(k + 1, unknowns):
                A[i, j] -= part * A[k, j]
    if unknowns == NORMALS:
        return NEARLY_SINGULAR * size_1 * abs(A[1, 1]) < 1.0
    return (
        NEARLY_SINGULAR * size_1 * abs(A[1, 1]) < 1.0
        and NEARLY_SINGULAR * size_2 * abs(A[2, 2]) < 1.0
        and NEARLY_SINGULAR * size_3 * abs(A[3, 3]) < 1.0
    )


@entry(inline=True)
def substitute(A: np.ndarray, x: np.ndarray, unknowns: int) -> None:
    """x <- solution for the right-hand side A[:, 4], with the factors in A."""
    for k in range(unknowns):
        s = A[k, 4]
        for j in range(k):
            s -= A[k, j] * x[j]
        x[k] = s
    for k in range(unknowns - 1, -1, -1):
        s = x[k]
        for j in range(k + 1, unknowns):
            s -= A[k, j] * x[j]
        x[k] = s * A[k, k]


@entry(inline=True)
def left_over(pair: Pair) -> float:
    """The largest of the velocities c that the branches hold at zero: rounding errors of one solve."""
    worst = 0.0
    for i in range(2):
        if pair.pushes[i] != 0:
            worst = max(worst, abs(pair.c[i]))
        if pair.branch[i] == STICK:
            worst = max(worst, abs(pair.c[2 + i]))
    return worst


@entry(inline=True)
def correction(pair: Pair, unknowns: int) -> None:
    """dx that the impulses x lack, from the velocities c at their end.

    The factors in A are those that `two_contacts` left behind.
    """
    A, x, dx, branch = pair.A, pair.x, pair.dx, pair.branch
    for i in range(2):
        A[i, 4] = -pair.c[i] if pair.pushes[i] != 0 else 0.0
        A[2 + i, 4] = -pair.c[2 + i] if branch[i] == STICK else 0.0
        dx[2 + i] = 0.0
    substitute(A, dx, unknowns)
    for i in range(2):
        bound = pair.mu[i] * max(0.0, x[i] + dx[i]) + pair.a[i]
        if branch[i] == STICK:
            dx[2 + i] = max(-bound, min(bound, x[2 + i] + dx[2 + i])) - x[2 + i]
        elif branch[i] != FREE:
            dx[2 + i] = (bound if branch[i] == UP else -bound) - x[2 + i]


@entry(inline=True)
def next_branches(pair: Pair, unknowns: int) -> bool:
    """Correct the branches that a solution contradicts; whether there was one."""
    G, c, x, pushes, branch = pair.G, pair.c, pair.x, pair.pushes, pair.branch
    wrong = False
    for i in range(2):
        xi_N = c[i]
        for j in range(unknowns):
            xi_N += G[i, j] * x[j]
        pushing = pushes[i]
        if pushes[i] != 0 and x[i] < 0.0:
            pushing = 0
        elif pushes[i] == 0 and xi_N < 0.0:
            pushing = 1
        if unknowns == NORMALS:
            wrong = wrong or pushing != pushes[i]
            pushes[i] = pushing
            continue
        xi_T = c[2 + i]
        for j in range(4):
            xi_T += G[2 + i, j] * x[j]
        bound = pair.mu[i] * max(0.0, x[i]) + pair.a[i]
        now = branch[i]
        if bound == 0.0:  # any slip goes with no impulse
            now = UP if branch[i] == STICK else branch[i]
        elif branch[i] == STICK:
            if abs(x[2 + i]) > bound:
                now = UP if x[2 + i] > 0.0 else DOWN
        elif (branch[i] == UP and xi_T > 0.0) or (branch[i] == DOWN and xi_T < 0.0):
            now = STICK
        if pushing != pushes[i] or now != branch[i]:
            wrong = True
        pushes[i] = pushing
        branch[i] = now
    return wrong


@entry(inline=True)
def two_contacts(pair: Pair, unknowns: int) -> int:
    """Find the branches of two contacts, starting from the given ones; return the rounds, negative without success.

    `pair` is changed in place: pushes and branch; x, where Lambda_T of a slip lies on its bound to the last digit; A,
    which holds the factors, for a `correction`.  unknowns : ALL, or NORMALS where neither contact has a tangent: then
    Lambda_T = 0, and Lambda_N has the bits that four unknowns give.

    The caller judges the result.
    """
    x, branch = pair.x, pair.branch
    x[2] = 0.0
    x[3] = 0.0
    for rounds in range(1, ROUNDS + 1):
        held_branches(pair, unknowns)
        if not factor(pair.A, unknowns):
            return -rounds
        substitute(pair.A, x, unknowns)
        if not next_branches(pair, unknowns):
            for i in range(2):
                bound = pair.mu[i] * x[i] + pair.a[i]
                if branch[i] == STICK:
                    x[2 + i] = max(-bound, min(bound, x[2 + i]))
                elif branch[i] != FREE:
                    x[2 + i] = bound if branch[i] == UP else -bound
            return rounds
    return -ROUNDS
