"""Matrices of M + J^T K J: a 6 x 6 block for each body and each pair of bodies that touch, and their factors.

Bodies are eliminated in the order of least degree.  The pattern is that of a symmetric matrix, the numbers are not:
contacts that slip make J^T K J unsymmetric.  Pivots are taken within the block of a body alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stickslip.contact.velocity_problem import VelocityProblem
from stickslip.jit import kernel


class Pattern(NamedTuple):
    """Which blocks there are, with those that elimination fills in; bodies are numbered in the order of elimination."""

    place: np.ndarray  # (m,) number of each body in the order
    begins: np.ndarray  # (m + 1,) where the later neighbours of each body begin
    later: np.ndarray  # (e,) later neighbours, ascending
    pair: np.ndarray  # (n,) block of the pair of bodies of each contact, e.g. in `later`; -1: one body alone


class Blocks(NamedTuple):
    """Blocks of a matrix, or of its factors; rows of 36 numbers."""

    diagonal: np.ndarray  # (m, 36); factors: the inverse of the pivot block
    upper: np.ndarray  # (e, 36) block (body, later neighbour)
    lower: np.ndarray  # (e, 36) block (later neighbour, body); factors: times the inverse pivot block


@kernel(apart=True)
def find_pattern(problem: VelocityProblem) -> Any:
    """Order of least degree, ties to the first body, and the blocks of the factors."""
    n, m = problem.a.shape[0], problem.mass.shape[0]
    near = np.zeros((m, m), np.bool_)
    degree, place = np.zeros(m, np.int64), np.full(m, -1, np.int64)
    for i in range(n):
        a, b = problem.a[i], problem.b[i]
        if a >= 0 and b >= 0 and not near[a, b]:
            near[a, b], near[b, a] = True, True
            degree[a] += 1
            degree[b] += 1
    begins, order, found, neighbours = np.zeros(m + 1, np.int64), np.empty(m, np.int64), 0, np.empty(m, np.int64)
    for k in range(m):
        best = -1
        for j in range(m):
            if place[j] < 0 and (best < 0 or degree[j] < degree[best]):
                best = j
        place[best], order[k], count = k, best, 0
        if degree[best] > 0:
            for j in range(m):
                if near[best, j] and place[j] < 0:
                    neighbours[count] = j
                    count += 1
        for s in range(count):
            i = neighbours[s]
            degree[i] -= 1
            for t in range(s):
                j = neighbours[t]
                if not near[i, j]:
                    near[i, j], near[j, i] = True, True
                    degree[i] += 1
                    degree[j] += 1
        found += count
        begins[k + 1] = found
    later, at = np.empty(found, np.int64), 0
    for k in range(m):
        for s in range(k + 1, m):
            if near[order[k], order[s]]:
                later[at] = s
                at += 1
    pair = np.full(n, -1, np.int64)
    for i in range(n):
        a, b = problem.a[i], problem.b[i]
        if a >= 0 and b >= 0:
            p, q = min(place[a], place[b]), max(place[a], place[b])
            e = begins[p]
            while later[e] != q:
                e += 1
            pair[i] = e
    return Pattern(place, begins, later, pair)


@kernel
def block_room(pattern: Pattern) -> Any:
    """Room for the blocks of a pattern."""
    m, e = pattern.place.shape[0], pattern.later.shape[0]
    return Blocks(np.empty((m, 36)), np.empty((e, 36)), np.empty((e, 36)))


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


@kernel(apart=True)
def assemble(problem: VelocityProblem, pattern: Pattern, K: np.ndarray, on: np.ndarray, blocks: Blocks) -> None:
    """M + J^T K J; K (n, 9), on (n,): contacts whose K is not zero."""
    for e in range(pattern.later.shape[0]):
        for k in range(36):
            blocks.upper[e, k], blocks.lower[e, k] = 0.0, 0.0
    for j in range(problem.mass.shape[0]):
        D = blocks.diagonal[pattern.place[j]]
        for k in range(36):
            D[k] = 0.0
        for k in range(3):
            D[7 * k] = problem.mass[j]
            for s in range(3):
                D[6 * (3 + k) + 3 + s] = problem.inertia[j, 3 * k + s]
    X = np.empty(9)
    for i in range(problem.a.shape[0]):
        if not on[i]:
            continue
        world_block(problem.frame[i], K[i], X)
        a, b, p, q = problem.a[i], problem.b[i], problem.arm_a[i], problem.arm_b[i]
        if a >= 0:
            add_block(blocks.diagonal[pattern.place[a]], X, p, p, 1.0)
        if b >= 0:
            add_block(blocks.diagonal[pattern.place[b]], X, q, q, 1.0)
        if a >= 0 and b >= 0:
            e = pattern.pair[i]
            if pattern.place[a] < pattern.place[b]:
                add_block(blocks.upper[e], X, p, q, -1.0)
                add_block(blocks.lower[e], X, q, p, -1.0)
            else:
                add_block(blocks.upper[e], X, q, p, -1.0)
                add_block(blocks.lower[e], X, p, q, -1.0)


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
def factor(pattern: Pattern, blocks: Blocks) -> bool:
    """Replace the blocks of a matrix by its factors; False where a pivot block is singular."""
    m = pattern.place.shape[0]
    where, T = np.empty(m, np.int64), np.empty(36)
    for p in range(m):
        D = blocks.diagonal[p]
        if not invert_block(D):
            return False
        first, last = pattern.begins[p], pattern.begins[p + 1]
        for e in range(first, last):
            L = blocks.lower[e]
            for k in range(36):
                T[k] = 0.0
            subtract_product(T, L, D)
            for k in range(36):
                L[k] = -T[k]
        for e in range(first, last):
            i = pattern.later[e]
            subtract_product(blocks.diagonal[i], blocks.lower[e], blocks.upper[e])
            for s in range(pattern.begins[i], pattern.begins[i + 1]):
                where[pattern.later[s]] = s
            for g in range(e + 1, last):
                s = where[pattern.later[g]]
                subtract_product(blocks.upper[s], blocks.lower[e], blocks.upper[g])
                subtract_product(blocks.lower[s], blocks.lower[g], blocks.upper[e])
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
def solve_blocks(pattern: Pattern, factors: Blocks, wrench: np.ndarray, x: np.ndarray, room: np.ndarray) -> None:
    """Solve for x (m, 6) with the factors; room (m, 6)."""
    m = pattern.place.shape[0]
    for j in range(m):
        for k in range(6):
            room[pattern.place[j], k] = wrench[j, k]
    for p in range(m):
        for e in range(pattern.begins[p], pattern.begins[p + 1]):
            subtract_times(room[pattern.later[e]], factors.lower[e], room[p])
    t = np.empty(6)
    for p in range(m - 1, -1, -1):
        for e in range(pattern.begins[p], pattern.begins[p + 1]):
            subtract_times(room[p], factors.upper[e], room[pattern.later[e]])
        for k in range(6):
            t[k] = room[p, k]
            room[p, k] = 0.0
        subtract_times(room[p], factors.diagonal[p], t)
        for k in range(6):
            room[p, k] = -room[p, k]
    for j in range(m):
        for k in range(6):
            x[j, k] = room[pattern.place[j], k]
