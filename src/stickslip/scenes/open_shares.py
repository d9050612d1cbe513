"""Loads of a body that the laws leave open, where its motion follows the share.

Balances of force and moment tell the loads of a body only where none of them can be shifted without an acceleration
across a contact.  Columns: N of normals, T of both tangents of points that stick, C = N - mu d of points that slip,
whose friction goes with their load.  A change z of the loads keeps the contacts closed and sticking where

    (N, T)^T M^-1 (C, T) z = 0.

If the acceleration M^-1 (C, T) z vanishes as well, z presses nothing: the fourth corner of a box that slides straight.
If not, the laws allow more than one motion: a capsule across two belts, four corners of a box that turns, a box between
two walls.  Others than the body are taken for fixed, and moving ones are left out: see `notes.shares_openly` for these.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.islands.problem import approach, world_impulse
from stickslip.scenes.layout import MOVING, Active, Bodies, Contacts, Options
from stickslip.scenes.rotation import times

MOST_CONTACTS = 64  # of a step: more are not looked at
MOST_COLUMNS = 24  # of a body
SINGULAR = 1e-6  # of the largest pivot: less is none, since bodies that sink in tilt by as much
SLIPS = 1e-8  # of the velocities at a contact, as in `notes`


@kernel
def write_column(column: np.ndarray, arm: np.ndarray, sign: float, lever: float, x: tuple[float, float, float]) -> None:
    """The force `sign` x at an arm and its moment, divided by a lever [m]."""
    a, b, c = sign * x[0], sign * x[1], sign * x[2]
    column[0], column[1], column[2] = a, b, c
    column[3] = (arm[1] * c - arm[2] * b) / lever
    column[4] = (arm[2] * a - arm[0] * c) / lever
    column[5] = (arm[0] * b - arm[1] * a) / lever


@kernel
def other_side(bodies: Bodies, contacts: Contacts, c: int, body: int) -> int:
    """The body that touches `body` at point c where it does not move freely; -1 elsewhere."""
    a, b = contacts.a[c], contacts.b[c]
    if a == body and bodies.kind[b] != MOVING:
        return b
    if b == body and bodies.kind[a] != MOVING:
        return a
    return -1


@kernel
def is_one_face(bodies: Bodies, contacts: Contacts, active: Active, n: int, body: int, one_way: float) -> bool:
    """Whether all points at which fixed bodies touch a body are of one pair and lie on one face."""
    first = -1
    for i in range(n):
        c = active.contact[i]
        other = other_side(bodies, contacts, c, body)
        if other < 0:
            continue
        if first < 0:
            first = c
        p, q = contacts.normal[first], contacts.normal[c]
        if other_side(bodies, contacts, first, body) != other or p[0] * q[0] + p[1] * q[1] + p[2] * q[2] < one_way:
            return False
    return True


@kernel
def write_contact(
    bodies: Bodies, contacts: Contacts, active: Active, i: int, body: int, lever: float, dim: int, W: np.ndarray
) -> int:
    """Rows W[0] and columns W[1] of active contact i on a body, lengths in levers; how many: 1 where it slips."""
    N, C = W[0], W[1]
    c, f, r, bias = active.contact[i], active.frame[i], active.r[i], active.bias[i]
    first = contacts.a[c] == body
    arm, sign = (active.arm_a[i], -1.0) if first else (active.arm_b[i], 1.0)
    before = active.before[i]
    _, u1, u2 = approach(active, i, bodies, bodies.end, contacts.a[c], contacts.b[c])
    u1, u2 = u1 + bias[1], u2 + bias[2] if dim == 3 else 0.0
    slip, speed = math.sqrt(u1 * u1 + u2 * u2), abs(before[0]) + abs(before[1]) + abs(before[2])
    write_column(N[0], arm, sign, lever, (f[0], f[1], f[2]))
    if active.mu[i] > 0.0 and not slip > SLIPS * speed:
        write_column(C[0], arm, sign, lever, (f[0], f[1], f[2]))
        for k in range(1, dim):
            write_column(N[k], arm, sign, lever, (f[3 * k], f[3 * k + 1], f[3 * k + 2]))
            write_column(C[k], arm, sign, lever, (f[3 * k], f[3 * k + 1], f[3 * k + 2]))
        return dim
    if r[0] > 0.0:
        x, y, z = world_impulse(active, i, dim)
        write_column(C[0], arm, sign, lever, (x / r[0], y / r[0], z / r[0]))
        return 1
    share = active.mu[i] / slip if slip > 0.0 else 0.0
    write_column(
        C[0], arm, sign, lever,
        (
            f[0] - share * (u1 * f[3] + u2 * f[6]), f[1] - share * (u1 * f[4] + u2 * f[7]),
            f[2] - share * (u1 * f[5] + u2 * f[8]),
        ),
    )  # fmt: skip
    return 1


@kernel
def null_vectors(G: np.ndarray, k: int, Z: np.ndarray) -> int:
    """Vectors z with G z = 0 in rows of Z, G (k, k) is used up; returns how many there are."""
    column, rank, largest = np.empty(k, np.int64), 0, 0.0
    for j in range(k):
        column[j] = j
    for step in range(k):
        best, row, at = 0.0, step, step
        for i in range(step, k):
            for j in range(step, k):
                if abs(G[i, j]) > best:
                    best, row, at = abs(G[i, j]), i, j
        largest = max(largest, best)
        if not best > SINGULAR * largest:
            break
        for j in range(k):
            G[step, j], G[row, j] = G[row, j], G[step, j]
        for i in range(k):
            G[i, step], G[i, at] = G[i, at], G[i, step]
        column[step], column[at] = column[at], column[step]
        for i in range(k):
            if i != step:
                share = G[i, step] / G[step, step]
                for j in range(step, k):
                    G[i, j] -= share * G[step, j]
        rank += 1
    for v in range(rank, k):
        z = Z[v - rank]
        for j in range(k):
            z[j] = 0.0
        z[column[v]] = 1.0
        for i in range(rank):
            z[column[i]] = -G[i, v] / G[i, i]
    return k - rank


@kernel(apart=True)
def leaves_open(
    bodies: Bodies, contacts: Contacts, active: Active, n: int, body: int, options: Options, near: float, fanned: float
) -> bool:
    """Whether the loads that fixed bodies put on a body, and with them its motion, are open.

    near: gap up to which points touch [m], or as deep as others of the body are: what has sunk in on one side hovers on
    the other; fanned: accelerations that are less, relative to their terms, vanish.
    """
    for i in range(n):
        if other_side(bodies, contacts, active.contact[i], body) >= 0:
            near = max(near, -2.0 * active.gap[i])
    W, B = np.empty((2, MOST_COLUMNS, 6)), np.empty((MOST_COLUMNS, 6))
    lever, k, J = bodies.radius[body], 0, bodies.inv_inertia[body]
    lever = lever if 0.0 < lever < np.inf else 1.0
    for i in range(n):
        c = active.contact[i]
        if other_side(bodies, contacts, c, body) < 0 or not (active.r[i, 0] > 0.0 or active.gap[i] <= near):
            continue
        if k + 3 > MOST_COLUMNS:
            return False
        k += write_contact(bodies, contacts, active, i, body, lever, options.dim, W[:, k:])
    N, C = W[0], W[1]
    G, Z, d, size = np.empty((k, k)), np.empty((k, k)), np.empty(6), bodies.inv_mass[body]
    for j in range(k):
        for m in range(3):
            B[j, m] = size * C[j, m]
        x, y, z = times(J, C[j, 3], C[j, 4], C[j, 5])
        B[j, 3], B[j, 4], B[j, 5] = lever * lever * x, lever * lever * y, lever * lever * z
        for i in range(k):
            G[i, j] = 0.0
            for m in range(6):
                G[i, j] += N[i, m] * B[j, m]
    for v in range(null_vectors(G, k, Z)):
        terms, left = 0.0, 0.0
        for m in range(6):
            d[m] = 0.0
        for j in range(k):
            own = 0.0
            for m in range(6):
                d[m] += Z[v, j] * B[j, m]
                own += (Z[v, j] * B[j, m]) ** 2
            terms = max(terms, math.sqrt(own))
        for m in range(6):
            left += d[m] ** 2
        if math.sqrt(left) > fanned * terms:
            return True
    return False


@kernel(apart=True)
def any_open(
    bodies: Bodies, contacts: Contacts, active: Active, n: int, options: Options, near: float, fanned: float,
    one_way: float,
) -> bool:  # fmt: skip
    """Whether the motion of a body that fixed ones touch at several faces is open."""
    if n > MOST_CONTACTS:
        return False
    for i in range(n):
        c = active.contact[i]
        body = contacts.b[c] if bodies.kind[contacts.b[c]] == MOVING else contacts.a[c]
        if other_side(bodies, contacts, c, body) < 0:
            continue
        seen = False
        for j in range(i):
            seen = seen or contacts.a[active.contact[j]] == body or contacts.b[active.contact[j]] == body
        if seen or is_one_face(bodies, contacts, active, n, body, one_way):
            continue
        if leaves_open(bodies, contacts, active, n, body, options, near, fanned):
            return True
    return False
