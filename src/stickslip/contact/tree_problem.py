"""Contacts and rows between bodies that joints hold together, with base twists and joint rates as unknowns.

Each body i has a parent p, or none, and moves relative to it as its joint lets it, in the columns of S_i:

    V_i = X_i V_p + S_i y_i + B_i,    so that    V = T y + V_0,    H = T^T M T,    H y = T^T (M (V_free - V_0) + J^T z).

V_i is the twist (v, omega) at the centre of mass of body i in world axes.  X_i takes the twist of the parent to that
centre.  B_i closes the joint at the next midpoint.  A body without a parent is free (S = 1) or joined to a body whose
motion is given; V_0 has that motion then.  No Coriolis terms are needed, because the velocities of all bodies are
carried on from step to step.  The momentum balance of each body gives the joint's reaction, from leaves to roots.

z are the impulses of contacts and of rows with one direction and two bounds each: motors, limits, dry friction,
springs, and the rows of joints that close loops, whose bounds are infinite.  The laws of a row are

    low <= z <= high,   w = 0 inside,   w >= 0 at low,   w <= 0 at high,   w = direction . V + bias + soft z.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stickslip.contact.pool import Pool, zero_table, zeros
from stickslip.contact.velocity_problem import (
    Motion,
    VelocityProblem,
    add_impulse,
    contact_velocities,
    disc_defect,
    motion_room,
)
from stickslip.jit import kernel
from stickslip.projections import worse


class Rows(NamedTuple):
    """k rows with bounds."""

    a: np.ndarray  # (k,) first body, or OUTSIDE
    b: np.ndarray  # (k,) second body: a positive impulse pushes it along the direction
    direction: np.ndarray  # (k, 9) linear, angular on a, angular on b
    bias: np.ndarray  # (k,) velocity of given bodies, less the velocity asked for
    soft: np.ndarray  # (k,) what an impulse adds to the velocity of the row [1/kg]
    low: np.ndarray  # (k,) bounds of the impulse
    high: np.ndarray
    size: np.ndarray  # (k,) diagonal of W, with `soft`; of rows without bounds: `mobility`
    mobility: np.ndarray  # (k,) diagonal of W of the bodies without their joints, with `soft`: the unit of errors
    grain: np.ndarray  # (k,) rounding of the bias: redundant rows contradict one another by it


class Tree(NamedTuple):
    """How joints hold m bodies."""

    parent: np.ndarray  # (m,) body, or OUTSIDE
    arm: np.ndarray  # (m, 3) from the parent's centre of mass [m]; any where there is no parent
    freedom: np.ndarray  # (m,) columns of S
    S: np.ndarray  # (m, 36) columns of S, one after the other: 6 numbers each
    given: np.ndarray  # (m, 6) V_0


class TreeProblem(NamedTuple):
    """Contacts, rows and joints of the bodies of one island."""

    contacts: VelocityProblem  # and the bodies; `size` is that of bodies held by their joints
    mobility: (
        np.ndarray
    )  # (n,) mean diagonal of a contact's block of W of the bodies without joints: the unit of errors
    rows: Rows
    tree: Tree


class TreeMotion(NamedTuple):
    """Impulses, and the velocities that belong to them."""

    contacts: Motion  # and the velocities of the bodies
    z: np.ndarray  # (k,) impulses of the rows
    w: np.ndarray  # (k,) velocities of the rows, with bias and softness


@kernel
def tree_motion_room(n: int, k: int, m: int) -> Any:
    """Room for the motion of m bodies with n contacts and k rows."""
    return TreeMotion(motion_room(n, m), np.zeros(k), np.zeros(k))


@kernel
def motion_from(pool: Pool, n: int, k: int, m: int) -> Any:
    """Room of `tree_motion_room` from a pool."""
    contacts = Motion(zero_table(pool, n, 3), zero_table(pool, m, 6), zero_table(pool, n, 3))
    return TreeMotion(contacts, zeros(pool, k), zeros(pool, k))


@kernel(inline=True)
def closes_loop(rows: Rows, i: int) -> bool:
    """Whether row i has no bounds."""
    return rows.low[i] == -np.inf and rows.high[i] == np.inf


@kernel(inline=True)
def row_speed(rows: Rows, i: int, v: np.ndarray) -> float:
    """Velocity of row i from those of the bodies, without bias and softness."""
    d, total = rows.direction[i], 0.0
    a, b = rows.a[i], rows.b[i]
    if a >= 0:
        w = v[a]
        total -= d[0] * w[0] + d[1] * w[1] + d[2] * w[2] + d[3] * w[3] + d[4] * w[4] + d[5] * w[5]
    if b >= 0:
        w = v[b]
        total += d[0] * w[0] + d[1] * w[1] + d[2] * w[2] + d[6] * w[3] + d[7] * w[4] + d[8] * w[5]
    return total


@kernel(inline=True)
def add_row(rows: Rows, i: int, impulse: float, wrench: np.ndarray) -> None:
    """Add the wrenches of an impulse of row i on its bodies."""
    d, a, b = rows.direction[i], rows.a[i], rows.b[i]
    if a >= 0:
        f = wrench[a]
        for k in range(6):
            f[k] -= impulse * d[k]
    if b >= 0:
        f = wrench[b]
        for k in range(3):
            f[k] += impulse * d[k]
            f[3 + k] += impulse * d[6 + k]


@kernel
def clear(wrench: np.ndarray) -> None:
    """wrench = 0."""
    for j in range(wrench.shape[0]):
        for k in range(6):
            wrench[j, k] = 0.0


@kernel
def add_all(problem: TreeProblem, r: np.ndarray, z: np.ndarray, wrench: np.ndarray) -> None:
    """Add the wrenches of all impulses."""
    for i in range(r.shape[0]):
        if r[i, 0] != 0.0 or r[i, 1] != 0.0 or r[i, 2] != 0.0:
            add_impulse(problem.contacts, i, r[i], wrench)
    for i in range(z.shape[0]):
        if z[i] != 0.0:
            add_row(problem.rows, i, z[i], wrench)


@kernel(inline=True)
def add_momentum(bodies: VelocityProblem, j: int, v: np.ndarray, sign: float, f: np.ndarray) -> None:
    """f += sign M v of body j."""
    A = bodies.inertia[j]
    for k in range(3):
        f[k] += sign * bodies.mass[j] * v[k]
        f[3 + k] += sign * (A[3 * k] * v[3] + A[3 * k + 1] * v[4] + A[3 * k + 2] * v[5])


@kernel
def row_defect(z: float, w: float, size: float, low: float, high: float) -> float:
    """Violation of the laws of a row [m/s]."""
    x = z - w / size
    if x < low:
        return size * abs(z - low)
    if x > high:
        return size * abs(z - high)
    return abs(w)


@kernel
def law_error(problem: TreeProblem, motion: TreeMotion, soft: float, grained: bool, dim: int) -> float:
    """Set the velocities of contacts and rows from those of the bodies; returns the largest violation [m/s].

    soft [1/kg]: what contacts give way to impulses.  grained: velocities of rows within half their grain count as none.
    Redundant rows cannot all be met; Newton would set up ever larger impulses against one another.
    """
    contacts, rows = problem.contacts, problem.rows
    r, v, u = motion.contacts
    contact_velocities(contacts, v, u)
    if soft > 0.0:
        for i in range(r.shape[0]):
            for k in range(3):
                u[i, k] += soft * r[i, k]
    worst = 0.0
    for i in range(r.shape[0]):
        defect = disc_defect(r[i], contacts.mu[i], problem.mobility[i], u[i, 0], u[i, 1], u[i, 2], dim)
        worst = worse(worst, defect)
    for i in range(motion.z.shape[0]):
        motion.w[i] = row_speed(rows, i, v) + rows.bias[i] + rows.soft[i] * motion.z[i]
        if grained and abs(motion.w[i]) <= 0.5 * rows.grain[i]:
            motion.w[i] = 0.0
        defect = row_defect(motion.z[i], motion.w[i], rows.mobility[i], rows.low[i], rows.high[i])
        worst = worse(worst, defect)
    return worst


@kernel
def copy_tree_motion(source: TreeMotion, target: TreeMotion) -> None:
    """target = source."""
    a, b = source.contacts, target.contacts
    for i in range(a.r.shape[0]):
        for k in range(3):
            b.r[i, k], b.u[i, k] = a.r[i, k], a.u[i, k]
    for j in range(a.v.shape[0]):
        for k in range(6):
            b.v[j, k] = a.v[j, k]
    copy_rows(source, target)


@kernel
def copy_rows(source: TreeMotion, target: TreeMotion) -> None:
    """Impulses and velocities of the rows of `target` become those of `source`."""
    for i in range(source.z.shape[0]):
        target.z[i], target.w[i] = source.z[i], source.w[i]


@kernel(inline=True)
def carry(v: np.ndarray, arm: np.ndarray, out: np.ndarray) -> None:
    """out = X v: the twist of the parent at the centre of its child."""
    out[0] = v[0] + v[4] * arm[2] - v[5] * arm[1]
    out[1] = v[1] + v[5] * arm[0] - v[3] * arm[2]
    out[2] = v[2] + v[3] * arm[1] - v[4] * arm[0]
    out[3], out[4], out[5] = v[3], v[4], v[5]


@kernel(inline=True)
def hand_down(f: np.ndarray, arm: np.ndarray, out: np.ndarray) -> None:
    """out += X^T f: the wrench on the child, as one on its parent."""
    out[0] += f[0]
    out[1] += f[1]
    out[2] += f[2]
    out[3] += f[3] + arm[1] * f[2] - arm[2] * f[1]
    out[4] += f[4] + arm[2] * f[0] - arm[0] * f[2]
    out[5] += f[5] + arm[0] * f[1] - arm[1] * f[0]
