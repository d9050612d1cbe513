"""Every solution of a small LCP, by looking at all 2^n complementary supports.

For a support s the LCP is the linear system A_ss x_s = -b_s with x_s >= 0 and y >= 0 elsewhere.  A regular A_ss gives
at most one point.  A singular, consistent A_ss gives a polyhedron: empty, a point or a continuum.  Lemke's method on
the (skew-symmetric) LCP of its feasibility decides whether the polyhedron is empty.  Two linear programs with one
generic objective decide whether it is more than a point.  Continua that touch are one continuum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from stickslip.jit import entry, kernel
from stickslip.lcp.lemke import Workspace, polish, scale
from stickslip.lcp.lemke import workspace as lemke_workspace
from stickslip.lcp.pivoting import SOLVED, pivot_path
from stickslip.lcp.residuals import lcp_residual
from stickslip.lcp.threads import in_threads

LIMIT = 20
RANK_TOLERANCE = 1e-11  # pivots of a submatrix, scaled to entries of size 1, that count as zero
LEAST_PIVOT = 1e-14  # the stricter zero of a second try, for a support without a solution at RANK_TOLERANCE
SCREEN = 1e-8  # tolerance of a first look at a support; points that pass are checked at the caller's tolerance
MAX_POLYHEDRA = 2000  # singular supports looked at for continua

EMPTY, POINT, POLYHEDRON, RETRY = 0, 1, 2, 3


@entry
def eliminate(k: int, n_columns: int, F: np.ndarray, order: np.ndarray, tolerance: float) -> int:
    """Reduce F[:k, :n_columns] = [A_ss | rhs] to row echelon form by complete pivoting on the first k columns.

    Afterwards F[:rank, :rank] is the identity in the column order `order`; returns the rank.
    """
    for j in range(k):
        order[j] = j
    for step in range(k):
        best = 0.0
        row = step
        col = step
        for i in range(step, k):
            for j in range(step, k):
                if abs(F[i, j]) > best:
                    best = abs(F[i, j])
                    row = i
                    col = j
        if best <= tolerance:
            return step
        for c in range(n_columns):
            F[step, c], F[row, c] = F[row, c], F[step, c]
        for i in range(k):
            F[i, step], F[i, col] = F[i, col], F[i, step]
        order[step], order[col] = order[col], order[step]
        inverse = 1.0 / F[step, step]
        for c in range(step, n_columns):
            F[step, c] *= inverse
        for i in range(k):
            factor = F[i, step]
            if i != step and factor != 0.0:
                for c in range(step, n_columns):
                    F[i, c] -= factor * F[step, c]
    return k


class Room(NamedTuple):
    """Room to examine supports of a problem of size n, one after another.

    F, order : (n, n + 1) and (n,), see `eliminate`.  active, inactive : (n,), indices in the support and outside.
    lemke : workspace of Lemke's method.
    """

    F: np.ndarray
    order: np.ndarray
    active: np.ndarray
    inactive: np.ndarray
    lemke: Workspace


@kernel(inline=True)
def room_for(n: int, lemke: Workspace) -> Room:
    """Allocate room to examine supports of a problem of size n."""
    return Room(np.empty((n, n + 1)), np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64), lemke)


@entry
def feasible_point(n: int, k: int, rank: int, D: np.ndarray, r: np.ndarray, x: np.ndarray, room: Room) -> bool:
    """Find x >= 0 with y_s = 0 and y >= 0 elsewhere, for a consistent singular support s.

    Writes the point into x and returns True; returns False when no point exists.

    Let z be the k - rank undetermined unknowns.  Then the conditions read H z + e >= 0, z >= 0.  They can be met iff
    Lemke's method solves the LCP  u = -H^T v, s = H z + e, 0 <= (u, s) perp (z, v) >= 0.  Its matrix is skew-symmetric,
    hence copositive-plus.  `active[:k]` must be in the order left by `eliminate`.
    """
    F, active, inactive, dictionary = room.F, room.active, room.inactive, room.lemke.dictionary
    T, right, basis = dictionary.D, dictionary.r, dictionary.basis
    f = k - rank
    for i in range(n):
        right[i] = 0.0
        for j in range(n):
            T[i, j] = 0.0
        T[i, n] = 1.0
    for i in range(rank):
        right[f + i] = F[i, k]
        for j in range(f):
            T[f + i, j] = -F[i, rank + j]
    for i in range(n - k):
        row = inactive[i]
        value = r[row]
        for j in range(rank):
            value += D[row, active[j]] * F[j, k]
        right[f + rank + i] = value
        for j in range(f):
            entry = D[row, active[rank + j]]
            for c in range(rank):
                entry -= D[row, active[c]] * F[c, rank + j]
            T[f + rank + i, j] = entry
    for i in range(f, n):
        if abs(right[i]) < 1e-13:
            right[i] = 0.0
        for j in range(f):
            T[j, i] = -T[i, j]
    status, _, _ = pivot_path(n, dictionary, 60 * n + 60, 1e-12)
    if status != SOLVED:
        return False
    for i in range(n):
        x[i] = 0.0
    for i in range(n):
        variable = basis[i] - n
        if 0 <= variable < f:
            x[active[rank + variable]] = max(0.0, right[i])
    for i in range(rank):
        value = F[i, k]
        for j in range(f):
            value -= F[i, rank + j] * x[active[rank + j]]
        x[active[i]] = max(0.0, value)
    return True


@entry
def examine_support_once(
    n: int, mask: int, D: np.ndarray, r: np.ndarray, x: np.ndarray, room: Room, rank_tolerance: float
) -> int:
    """Examine one support with pivots below `rank_tolerance` taken for zero: EMPTY, POINT, POLYHEDRON or RETRY.

    RETRY means that the submatrix counts as singular and leaves no solution; a smaller `rank_tolerance` may find one.
    A point of the support is written into x, in scaled units.
    """
    F, order, active, inactive = room.F, room.order, room.active, room.inactive
    k = 0
    m = 0
    for i in range(n):
        if (mask >> i) & 1:
            active[k] = i
            k += 1
        else:
            inactive[m] = i
            m += 1
    for i in range(k):
        for j in range(k):
            F[i, j] = D[active[i], active[j]]
        F[i, k] = -r[active[i]]
    rank = eliminate(k, k + 1, F, order, rank_tolerance)
    for i in range(rank, k):
        if abs(F[i, k]) > SCREEN:
            return RETRY
    for i in range(k):  # active in the column order of the elimination; x serves as scratch
        x[i] = active[order[i]]
    for i in range(k):
        active[i] = int(x[i])
    if rank < k:
        return POLYHEDRON if feasible_point(n, k, rank, D, r, x, room) else RETRY
    largest = 1.0
    for i in range(k):
        largest = max(largest, abs(F[i, k]))
    for i in range(k):
        if F[i, k] < -SCREEN * largest:
            return EMPTY
    for i in range(m):
        value = r[inactive[i]]
        size = abs(value)
        for j in range(k):
            term = D[inactive[i], active[j]] * F[j, k]
            value += term
            size += abs(term)
        if value < -SCREEN * size:
            return EMPTY
    for i in range(n):
        x[i] = 0.0
    for i in range(k):
        x[active[i]] = max(0.0, F[i, k])
    return POINT


@entry
def examine_support(n: int, mask: int, D: np.ndarray, r: np.ndarray, x: np.ndarray, room: Room) -> int:
    """EMPTY, POINT or POLYHEDRON for the support given by the bits of `mask`.

    Unless the support is EMPTY, x receives one of its points, in scaled units.
    """
    kind = examine_support_once(n, mask, D, r, x, room, RANK_TOLERANCE)
    if kind == RETRY:
        kind = examine_support_once(n, mask, D, r, x, room, LEAST_PIVOT)
    return EMPTY if kind == RETRY else kind


@entry
def _examine_range(start: int, stop: int, n: int, D: np.ndarray, r: np.ndarray, kinds: np.ndarray) -> None:
    """Write EMPTY, POINT or POLYHEDRON into `kinds` for the supports with numbers start to stop - 1."""
    room = room_for(n, lemke_workspace(n))
    x = np.empty(n)
    for mask in range(start, stop):
        kinds[mask] = examine_support(n, mask, D, r, x, room)


def examine_all(n: int, D: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Kind (EMPTY, POINT or POLYHEDRON) of all 2^n supports of the scaled problem (D, r), shape (2^n,)."""
    kinds = np.zeros(1 << n, np.uint8)
    in_threads(lambda start, stop: _examine_range(start, stop, n, D, r, kinds), 1 << n, n * n)
    return kinds


@entry
def _fill_points(n: int, masks: np.ndarray, D: np.ndarray, r: np.ndarray, X: np.ndarray) -> None:
    """Write a point of each of the given supports to a row of X."""
    room = room_for(n, lemke_workspace(n))
    for i in range(masks.shape[0]):
        examine_support(n, masks[i], D, r, X[i], room)


def points_of(n: int, masks: np.ndarray, D: np.ndarray, r: np.ndarray) -> np.ndarray:
    """One point of each non-empty support in `masks`, in scaled units, shape (len(masks), n)."""
    X = np.zeros((len(masks), n))
    _fill_points(n, masks.astype(np.int64), D, r, X)
    return X


@entry
def enumerate_first(A: np.ndarray, b: np.ndarray, x: np.ndarray, y: np.ndarray, work: Workspace, tol: float) -> tuple:
    """Look at supports in the order of their bits until the point of one solves the LCP within tol.

    Writes x and y = A x + b; returns (found, number of supports looked at, residual).
    """
    n = b.shape[0]
    scaled, trial = np.empty((n, n + 1)), np.empty(n)
    r, R, C = np.empty(n), np.empty(n), np.empty(n)
    room = room_for(n, work)
    size = scale(A, b, scaled, r, R, C)
    for mask in range(1 << n):
        if examine_support(n, mask, scaled, r, trial, room) != EMPTY:
            for i in range(n):
                x[i] = trial[i] * C[i] * size
            residual = polish(A, b, x, y, lcp_residual(A, b, x, y), work)
            if residual <= tol:
                return True, mask + 1, residual
    for i in range(n):
        x[i] = 0.0
    return False, 1 << n, lcp_residual(A, b, x, y)


@dataclass(frozen=True)
class EnumeratedPoint:
    """One solution found by enumeration; `isolated` is False for the representative of a continuum."""

    x: np.ndarray
    isolated: bool


@dataclass(frozen=True)
class _Polyhedron:
    """Solutions with x = 0 outside `support` and y = 0 on `support`, in scaled variables."""

    support: np.ndarray  # boolean
    points: list[np.ndarray]

    def contains(self, D: np.ndarray, r: np.ndarray, x: np.ndarray) -> bool:
        y = D @ x + r
        size = np.abs(r) + np.abs(D) @ x + 1e-300
        slack = 1e-9 * max(1.0, float(x.max(initial=0.0)))
        return bool(np.all(x[~self.support] <= slack) and np.all(np.abs(y[self.support]) <= 1e-9 * size[self.support]))


def _extreme_points(
    D: np.ndarray, r: np.ndarray, zero_x: np.ndarray, zero_y: np.ndarray, objective: np.ndarray, bound: float
) -> list[np.ndarray]:
    """Points of {x >= 0, D x + r >= 0, x = 0 on zero_x, D x + r = 0 on zero_y} with least and largest objective."""
    from scipy.optimize import linprog

    free = ~zero_x
    if not free.any():
        return [np.zeros(len(r))] if np.all(np.abs(r[zero_y]) <= 1e-9) and np.all(r >= -1e-9) else []
    points = []
    for sign in (1.0, -1.0):
        answer = linprog(
            sign * objective[free],
            A_ub=-D[np.ix_(~zero_y, free)],
            b_ub=r[~zero_y],
            A_eq=D[np.ix_(zero_y, free)],
            b_eq=-r[zero_y],
            bounds=(0.0, bound),
            method="highs",
        )
        if answer.status != 0:
            return []
        x = np.zeros(len(r))
        x[free] = np.maximum(0.0, answer.x)
        points.append(x)
    return points


def _continua(
    n: int, masks: np.ndarray, X: np.ndarray, D: np.ndarray, r: np.ndarray
) -> list[tuple[np.ndarray, list[_Polyhedron]]]:
    """Group the polyhedra that are more than a point into connected continua, each with a representative."""
    objective = np.random.default_rng(20050131).uniform(1.0, 2.0, n)  # generic: no face is orthogonal to it
    groups: list[tuple[np.ndarray, list[_Polyhedron]]] = []
    for mask, x in zip(masks[:MAX_POLYHEDRA], X[:MAX_POLYHEDRA], strict=True):
        support = np.array([(int(mask) >> i) & 1 for i in range(n)], dtype=bool)
        size = max(1.0, float(x.max(initial=0.0)))
        ends = _extreme_points(D, r, ~support, support, objective, 10.0 * size)
        if len(ends) < 2 or objective @ np.abs(ends[1] - ends[0]) <= 1e-7 * size:
            continue
        new = _Polyhedron(support, [x, *ends])
        joined: list[_Polyhedron] = [new]
        representative = 0.5 * (ends[0] + ends[1])
        apart = []
        for group in groups:
            if any(_touch(new, old, D, r, objective) for old in group[1]):
                joined += group[1]
                representative = group[0]
            else:
                apart.append(group)
        groups = [*apart, (representative, joined)]
    return groups


def _touch(a: _Polyhedron, b: _Polyhedron, D: np.ndarray, r: np.ndarray, objective: np.ndarray) -> bool:
    if any(b.contains(D, r, x) for x in a.points) or any(a.contains(D, r, x) for x in b.points):
        return True
    bound = 10.0 * max(float(np.max(x, initial=1.0)) for x in a.points + b.points)
    return bool(_extreme_points(D, r, ~(a.support & b.support), a.support | b.support, objective, bound))


def enumerate_points(A: np.ndarray, b: np.ndarray, tol: float) -> list[EnumeratedPoint]:
    """All isolated solutions and one representative of each continuum, each within `tol` on the given problem."""
    n = len(b)
    D, r, R, C = np.empty((n, n + 1)), np.empty(n), np.empty(n), np.empty(n)
    size = scale(A, b, D, r, R, C) or 1.0
    D = np.ascontiguousarray(D[:, :n])
    kinds = examine_all(n, D, r)
    found: list[np.ndarray] = []
    work = lemke_workspace(n)
    y = np.empty(n)

    def checked(x_scaled: np.ndarray) -> np.ndarray | None:
        x = x_scaled * C * size
        ok = polish(A, b, x, y, lcp_residual(A, b, x, y), work) <= tol
        return x if ok else None

    polyhedra = np.flatnonzero(kinds == POLYHEDRON)
    X = points_of(n, polyhedra, D, r)
    valid = [i for i, x in enumerate(X) if checked(x.copy()) is not None]
    continua = _continua(n, polyhedra[valid], X[valid], D, r)
    members = [p for _, group in continua for p in group]
    points = np.flatnonzero(kinds == POINT)
    for x_scaled in [*points_of(n, points, D, r), *X[valid]]:
        if any(p.contains(D, r, x_scaled) for p in members):
            continue
        x = checked(x_scaled)
        if x is None:
            continue
        size_x = max(1.0, float(np.max(x / (C * size), initial=0.0)))
        if all(np.max(np.abs(x - other) / (C * size), initial=0.0) > 1e-9 * size_x for other in found):
            found.append(x)
    answers = [EnumeratedPoint(x, True) for x in found]
    for representative, group in continua:
        for candidate in (representative, *(p for polyhedron in group for p in polyhedron.points)):
            x = checked(candidate)
            if x is not None:
                answers.append(EnumeratedPoint(x, False))
                break
    return answers
