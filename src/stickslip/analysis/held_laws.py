"""The laws of contacts and joint rows in a solved step, with the sets of the solution held, and their derivatives.

Unknowns are the impulses y = (r, z) of contacts and rows, velocities are c = c_0 + G y.  With held sets

    c_N = 0, c_T = 0          where a contact pushes and sticks,
    r_T + mu r_N c_T/|c_T| = 0   where it slides,         r = 0      where it does not push,
    c = 0                     where a row is free,        z = bound  where it is at a bound.

All rows are scaled by the roots of the mobilities, so that velocities, turns and impulses are of one kind.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stickslip.checks import Array

MARGIN = 1e-7  # contacts nearer to the edge of their law, relative, are at a corner of it
_RANK = 1e-9  # relative: directions of impulses below do not change velocities
_LEAST_SHARE = 1e-3  # of a step of Newton's method
_NEWTON = 30  # steps of Newton's method, at most; where all contacts stick one does


class Solved(NamedTuple):
    """A step as it was solved, m contacts and R rows of joints."""

    r: Array  # (m, dim) impulses
    slip: Array  # (m, dim) velocities with what contacts ask for
    mu: Array  # (m,)
    size: Array  # (m,) mobilities [1/kg]; 0: left out, joints hold it along its normal
    z: Array  # (R,) impulses of rows
    rate: Array  # (R,) velocities of rows less what they ask for, with their softness
    bounds: Array  # (R, 2) of z
    row_size: Array  # (R,) mobilities of rows
    axis: Array  # (R,) number of the joint whose coordinate a row acts along, -1 for others
    soft: Any  # (R,) bool: the row gives way

    @property
    def impulses(self) -> Array:
        """(m dim + R,)"""
        return np.concatenate([self.r.ravel(), self.z])


class Change(NamedTuple):
    """Derivatives by k quantities at held impulses: velocities of contacts and rows, friction, bounds."""

    slip: Array  # (m dim, k)
    mu: Array  # (m, k)
    rate: Array  # (R, k)
    bounds: Array  # (R, 2, k)


class Slopes(NamedTuple):
    """What `impulse_slopes` found."""

    impulses: Array  # (m dim + R, k)
    free: Array  # (m dim + R, j) directions in which impulses are open
    missing: float  # how far the equations contradict, relative to what is asked for


def states_of(solved: Solved) -> tuple[Any, Any, Array]:
    """Which contacts push and slide, by the projections of their laws, and how near they are to a corner, (m,) each.

    With rho the inverse of the mobility: a contact pushes where r_N - rho c_N > 0, and slides where |r_T - rho c_T|
    exceeds mu r_N.  One that is left out does neither.
    """
    there = solved.size > 0.0
    rho = 1.0 / np.where(there, solved.size, 1.0)
    r, c = solved.r, rho[:, None] * solved.slip
    push = r[:, 0] - c[:, 0]
    size = np.abs(r).sum(axis=1) + np.abs(c).sum(axis=1)
    reach, bound = np.linalg.norm(r[:, 1:] - c[:, 1:], axis=1), solved.mu * r[:, 0]
    pushes, slides = (push > 0.0) & there, (reach > bound) & (solved.mu > 0.0)
    margin = np.abs(push)
    margin = np.where(pushes & (solved.mu > 0.0), np.minimum(margin, np.abs(reach - bound)), margin)
    margin = np.where(size > 0.0, margin / np.where(size > 0.0, size, 1.0), 0.0)
    return pushes, slides, np.where(there, margin, 1.0)


def row_states(solved: Solved) -> tuple[Array, Array]:
    """At which bound rows are, -1, 0 for none, 1, and how near they are to a corner, (R,) each.

    Limit, motor and friction of one joint act along one coordinate.  Where one of them holds it, well within its
    bounds, the others share the load in some way, and no motion depends on it: they are at no corner.
    """
    rho = 1.0 / np.where(solved.row_size > 0.0, solved.row_size, 1.0)
    aim = solved.z - rho * solved.rate
    low, high = solved.bounds.T
    at = np.where(aim < low, -1, np.where(aim > high, 1, 0))
    size = np.abs(solved.z) + np.abs(rho * solved.rate)
    margin = np.ones(len(at))
    for bound in (low, high):
        finite = np.isfinite(bound)
        whole = np.where(finite, size + np.abs(bound), 1.0)
        off = np.where(finite, np.abs(aim - np.where(finite, bound, 0.0)), 1.0)
        margin = np.minimum(margin, np.where(whole > 0.0, off / np.where(whole > 0.0, whole, 1.0), 0.0))
    firm = (at == 0) & (margin > MARGIN) & ~solved.soft
    held = np.isin(solved.axis, solved.axis[firm & (solved.axis >= 0)])
    return at, np.where(held, np.maximum(margin, np.where(firm, margin, 1.0)), margin)


def scales(solved: Solved) -> Array:
    """Factors of impulses that make all of them of one kind, (m dim + R,)."""
    size = np.concatenate([np.repeat(solved.size, solved.r.shape[1]), solved.row_size])
    return 1.0 / np.sqrt(np.where(size > 0.0, size, 1.0))


def slip_directions(solved: Solved, i: int) -> tuple[Array, Array]:
    """Direction of slip of contact i, and how the impulse of friction turns with the slip."""
    c, dim = solved.slip[i, 1:], solved.r.shape[1]
    speed = float(np.linalg.norm(c))
    s = c / speed if speed > 0.0 else -solved.r[i, 1:] / max(float(np.linalg.norm(solved.r[i, 1:])), 1e-300)
    turn = solved.mu[i] * solved.r[i, 0] * (np.eye(dim - 1) - np.outer(s, s)) / max(speed, 1e-300)
    return s, turn


def slide_size(solved: Solved, i: int, scale: float) -> float:
    """What the equations of a contact that slides are divided by: near rest friction turns ever faster with slip."""
    speed = max(float(np.linalg.norm(solved.slip[i, 1:])), 1e-300)
    return 1.0 + solved.mu[i] * solved.r[i, 0] / (speed * scale * scale)


def held_system(G: Array, solved: Solved, change: Change) -> tuple[Array, Array]:
    """A x = B for scaled changes x of the impulses; G (m dim + R, m dim + R): velocities by impulses, with softness."""
    (m, dim), k = solved.r.shape, change.slip.shape[1]
    s = scales(solved)
    H, first = G * s, m * dim
    A, B = np.eye(len(s)), np.zeros((len(s), k))
    pushes, slides, _ = states_of(solved)
    for i in np.flatnonzero(pushes).tolist():
        normal, rows = i * dim, slice(i * dim, (i + 1) * dim)
        tangents = slice(i * dim + 1, (i + 1) * dim)
        held = rows if solved.mu[i] > 0.0 and not slides[i] else slice(normal, normal + 1)
        A[held], B[held] = s[normal] * H[held], -s[normal] * change.slip[held]
        if solved.mu[i] > 0.0 and slides[i]:
            along, turn = slip_directions(solved, i)
            A[tangents] += turn @ H[tangents] / s[normal]
            A[tangents, normal] += solved.mu[i] * along
            B[tangents] = -(turn @ change.slip[tangents] + solved.r[i, 0] * np.outer(along, change.mu[i])) / s[normal]
            size = slide_size(solved, i, s[normal])
            A[tangents], B[tangents] = A[tangents] / size, B[tangents] / size
    at, _ = row_states(solved)
    for i, side in enumerate(at.tolist()):
        row = first + i
        if side == 0:
            A[row], B[row] = s[row] * H[row], -s[row] * change.rate[i]
        else:
            B[row] = change.bounds[i, (side + 1) // 2] / s[row]
    return A, B


def impulse_slopes(G: Array, solved: Solved, change: Change, least: float) -> Slopes:
    """Derivatives of the impulses.  least: velocities by quantities below which contacts ask for rounding alone."""
    A, B = held_system(G, solved, change)
    s = scales(solved)
    U, sizes, V = np.linalg.svd(A)
    good = sizes > _RANK * sizes[0]
    x = V[good].T @ ((U[:, good].T @ B) / sizes[good, None])
    missing = float(np.abs(U[:, ~good].T @ B).max(initial=0.0))
    asked = float(np.abs(B).max(initial=0.0)) + least * float(s.max())
    return Slopes(s[:, None] * x, s[:, None] * V[~good].T, missing / asked if missing > 0.0 else 0.0)


def left_over(solved: Solved) -> Array:
    """How far impulses and velocities are from the laws with the sets held, scaled, (m dim + R,)."""
    (m, dim), s = solved.r.shape, scales(solved)
    left = solved.impulses / s
    pushes, slides, _ = states_of(solved)
    for i in np.flatnonzero(pushes).tolist():
        left[i * dim] = s[i * dim] * solved.slip[i, 0]
        rest = slice(i * dim + 1, (i + 1) * dim)
        if solved.mu[i] > 0.0 and slides[i]:
            left[rest] += solved.mu[i] * solved.r[i, 0] * slip_directions(solved, i)[0] / s[i * dim]
            left[rest] /= slide_size(solved, i, s[i * dim])
        elif solved.mu[i] > 0.0:
            left[rest] = s[i * dim] * solved.slip[i, 1:]
    at, _ = row_states(solved)
    for i, side in enumerate(at.tolist()):
        row = m * dim + i
        left[row] = s[row] * solved.rate[i] if side == 0 else left[row] - solved.bounds[i, (side + 1) // 2] / s[row]
    return left


def sets_of(solved: Solved) -> Array:
    """The sets of a step as one list of whole numbers."""
    pushes, slides, _ = states_of(solved)
    return np.concatenate([pushes.astype(int), (pushes & slides).astype(int), row_states(solved)[0]])


def moved_by(G: Array, solved: Solved, y: Array) -> Solved:
    """A step with changed impulses."""
    m, dim = solved.r.shape
    c = G @ y
    return solved._replace(
        r=solved.r + y[: m * dim].reshape(m, dim), z=solved.z + y[m * dim :],
        slip=solved.slip + c[: m * dim].reshape(m, dim), rate=solved.rate + c[m * dim :],
    )  # fmt: skip


def solved_again(G: Array, solved: Solved) -> Solved:
    """The solution of the laws, by Newton's method from the impulses of a problem beside it; sets may change.

    A step of the method that does not help is halved, unless sets change: then the next one tells.
    """
    m, dim, rows = *solved.r.shape, len(solved.z)
    none = Change(np.zeros((m * dim, 0)), np.zeros((m, 0)), np.zeros((rows, 0)), np.zeros((rows, 2, 0)))
    s, left = scales(solved), left_over(solved)
    for _ in range(_NEWTON):
        before = float(np.abs(left).max(initial=0.0))
        if before == 0.0:
            break
        A, _ = held_system(G, solved, none)
        y = -s * np.linalg.lstsq(A, left, rcond=_RANK)[0]
        sets, share = sets_of(solved), 1.0
        trial = moved_by(G, solved, y)
        while share > _LEAST_SHARE and np.array_equal(sets_of(trial), sets):
            if np.abs(left_over(trial)).max() < (1.0 - 0.5 * share) * before:
                break
            share *= 0.5
            trial = moved_by(G, solved, share * y)
        if share <= _LEAST_SHARE:
            break
        solved, left = trial, left_over(trial)
    return solved
