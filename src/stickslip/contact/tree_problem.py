"""Contacts and rows between bodies, free or held together by joints, with twists of bases and joint rates as unknowns.

Each body i has a parent p, or none, and moves relative to it as its joint lets it, in the columns of S_i:

    V_i = X_i V_p + S_i y_i + B_i,    so that    V = T y + V_0,    H = T^T M T,    H y = T^T (M (V_free - V_0) + J^T z).

V_i is the twist (v, omega) at the centre of mass of body i in world axes.  X_i takes the twist of the parent to that
centre.  B_i closes the joint at the next midpoint.  A body without a parent is free (S = 1) or joined to a body whose
motion is given; V_0 has that motion then.  No Coriolis terms are needed, because the velocities of all bodies are
carried on from step to step.  The momentum balance of each body gives the joint's reaction, from leaves to roots.

Where no body has a joint and there are no rows, H = M and T = 1: six unknowns for a body, however many contacts it has.
Such a problem has no `tree` (`is_free`).

z are the impulses of contacts and of rows.  Contact i takes the velocity at its point in the frame (n, t_1, t_2),

    u = F (v_b + omega_b x q - v_a - omega_a x p) + bias.

Bodies whose velocity is given are no unknowns: what they add to u is part of the bias.  In the plane the third row of
each frame has no impulse, and the velocities across the plane stay as they are.

Rows have one direction and two bounds each: motors, limits, dry friction, springs, and the rows of joints that close
loops, whose bounds are infinite.  Their laws are

    low <= z <= high,   w = 0 inside,   w >= 0 at low,   w <= 0 at high,   w = direction . V + bias + soft z.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from stickslip.contact.pool import Pool, zero_table, zeros
from stickslip.jit import kernel
from stickslip.projections import norm_2d, project_cone_2d, project_cone_3d, worse

OUTSIDE = -1  # in place of a body whose velocity is given


class VelocityProblem(NamedTuple):
    """n contacts between m bodies."""

    a: np.ndarray  # (n,) first body, 0 .. m - 1, or OUTSIDE
    b: np.ndarray  # (n,) second body: the impulse acts on it
    frame: np.ndarray  # (n, 9) rows n, t_1, t_2
    arm_a: np.ndarray  # (n, 3) from the centre of mass to the contact point [m], world axes
    arm_b: np.ndarray
    bias: np.ndarray  # (n, 3) [m/s]
    mu: np.ndarray  # (n,)
    size: np.ndarray  # (n,) mean diagonal of the contact's block of W [1/kg]
    mass: np.ndarray  # (m,) [kg]
    inertia: np.ndarray  # (m, 9) d (angular impulse) / d omega, world axes; not symmetric for a body that spins
    inv_mass: np.ndarray  # (m,)
    inv_inertia: np.ndarray  # (m, 9)
    free: np.ndarray  # (m, 6) velocities without impulses


class Motion(NamedTuple):
    """Impulses, and the velocities that belong to them."""

    r: np.ndarray  # (n, 3) [N s], in the frames
    v: np.ndarray  # (m, 6)
    u: np.ndarray  # (n, 3) [m/s], with the bias


@kernel
def motion_room(n: int, m: int) -> Any:
    """Room for the motion of m bodies with n contacts."""
    return Motion(np.zeros((n, 3)), np.zeros((m, 6)), np.zeros((n, 3)))


@kernel(inline=True)
def apply_frame(f: np.ndarray, x: float, y: float, z: float) -> tuple[float, float, float]:
    """F (x, y, z)."""
    return (
        f[0] * x + f[1] * y + f[2] * z,
        f[3] * x + f[4] * y + f[5] * z,
        f[6] * x + f[7] * y + f[8] * z,
    )


@kernel(inline=True)
def world_vector(f: np.ndarray, d: np.ndarray) -> tuple[float, float, float]:
    """F^T d."""
    return (
        f[0] * d[0] + f[3] * d[1] + f[6] * d[2],
        f[1] * d[0] + f[4] * d[1] + f[7] * d[2],
        f[2] * d[0] + f[5] * d[1] + f[8] * d[2],
    )


@kernel
def relative_velocity(problem: VelocityProblem, i: int, v: np.ndarray) -> tuple[float, float, float]:
    """Row i of J v, without the bias."""
    x, y, z = 0.0, 0.0, 0.0
    a, b = problem.a[i], problem.b[i]
    if a >= 0:
        w, p = v[a], problem.arm_a[i]
        x -= w[0] + w[4] * p[2] - w[5] * p[1]
        y -= w[1] + w[5] * p[0] - w[3] * p[2]
        z -= w[2] + w[3] * p[1] - w[4] * p[0]
    if b >= 0:
        w, p = v[b], problem.arm_b[i]
        x += w[0] + w[4] * p[2] - w[5] * p[1]
        y += w[1] + w[5] * p[0] - w[3] * p[2]
        z += w[2] + w[3] * p[1] - w[4] * p[0]
    return apply_frame(problem.frame[i], x, y, z)


@kernel
def contact_velocities(problem: VelocityProblem, v: np.ndarray, u: np.ndarray) -> None:
    """u = J v + bias."""
    for i in range(u.shape[0]):
        x, y, z = relative_velocity(problem, i, v)
        u[i, 0] = x + problem.bias[i, 0]
        u[i, 1] = y + problem.bias[i, 1]
        u[i, 2] = z + problem.bias[i, 2]


@kernel(inline=True)
def add_wrench(w: np.ndarray, arm: np.ndarray, sign: float, x: float, y: float, z: float) -> None:
    """Add the wrench of an impulse at the end of an arm."""
    w[0] += sign * x
    w[1] += sign * y
    w[2] += sign * z
    w[3] += sign * (arm[1] * z - arm[2] * y)
    w[4] += sign * (arm[2] * x - arm[0] * z)
    w[5] += sign * (arm[0] * y - arm[1] * x)


@kernel
def add_impulse(problem: VelocityProblem, i: int, d: np.ndarray, wrench: np.ndarray) -> None:
    """Add J^T of impulse d at contact i to the wrenches of its bodies."""
    x, y, z = world_vector(problem.frame[i], d)
    if problem.a[i] >= 0:
        add_wrench(wrench[problem.a[i]], problem.arm_a[i], -1.0, x, y, z)
    if problem.b[i] >= 0:
        add_wrench(wrench[problem.b[i]], problem.arm_b[i], 1.0, x, y, z)


@kernel
def body_velocities(problem: VelocityProblem, r: np.ndarray, v: np.ndarray) -> None:
    """v = v_free + M^-1 J^T r."""
    m = v.shape[0]
    for j in range(m):
        for k in range(6):
            v[j, k] = 0.0
    for i in range(r.shape[0]):
        if r[i, 0] != 0.0 or r[i, 1] != 0.0 or r[i, 2] != 0.0:
            add_impulse(problem, i, r[i], v)
    for j in range(m):
        w, g = v[j], problem.free[j]
        x, y, z = apply_frame(problem.inv_inertia[j], w[3], w[4], w[5])
        for k in range(3):
            w[k] = g[k] + problem.inv_mass[j] * w[k]
        w[3], w[4], w[5] = g[3] + x, g[4] + y, g[5] + z


@kernel
def rough_defect(r: np.ndarray, mu: float, rho: float, u0: float, u1: float, u2: float, dim: int) -> float:
    """Violation of the laws where mu > 1, times rho: r_N = max(0, r_N - rho u_N), r_T = P_D(mu r_N)(r_T - rho u_T).

    The same laws (Alart and Curnier), without the product mu |u_T|, in which the rounding of a slip of zero is large.
    """
    a, limit = r[0] - rho * u0, mu * max(0.0, r[0])
    if a < 0.0:  # max might lose what is not a number
        a = 0.0
    b, c = r[1] - rho * u1, r[2] - rho * u2 if dim == 3 else r[2]
    size = norm_2d(b, c) if dim == 3 else abs(b)
    if size > limit:
        b, c = b * limit / size, c * limit / size if dim == 3 else c
    return math.sqrt((r[0] - a) ** 2 + (r[1] - b) ** 2 + (r[2] - c) ** 2)


@kernel
def disc_defect(r: np.ndarray, mu: float, size: float, u0: float, u1: float, u2: float, dim: int) -> float:
    """Violation of the laws of one contact [m/s]: |r - P_K(r - rho (u + mu |u_T| e_N))| / rho, rho = 1 / size, or -u_N.

    The approach -u_N counts by itself: of a slipping contact without impulse the map sees only about -u_N / mu.
    """
    if size == 0.0:
        return 0.0
    rho, c = 1.0 / size, r[2]
    if mu > 1.0:
        return size * rough_defect(r, mu, rho, u0, u1, u2, dim)
    if dim == 3:
        s = mu * norm_2d(u1, u2)
        a, b, c = project_cone_3d(r[0] - rho * (u0 + s), r[1] - rho * u1, r[2] - rho * u2, mu)
    else:
        a, b = project_cone_2d(r[0] - rho * (u0 + mu * abs(u1)), r[1] - rho * u1, mu)
    defect = size * math.sqrt((r[0] - a) ** 2 + (r[1] - b) ** 2 + (r[2] - c) ** 2)
    return -u0 if -u0 > defect else defect  # max might lose what is not a number


class Rows(NamedTuple):
    """k rows with bounds."""

    a: np.ndarray  # (k,) first body, or OUTSIDE
    b: np.ndarray  # (k,) second body: a positive impulse pushes it along the direction
    direction: np.ndarray  # (k, 12) linear, angular on a, angular on b, and what is linear on b alone
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
    freedom: np.ndarray  # (m,) columns of S; 6: turns about x, y, z, then shifts, of a body that no joint holds
    S: np.ndarray  # (m, 36) columns of S, one after the other: 6 numbers each
    given: np.ndarray  # (m, 6) V_0


class TreeProblem(NamedTuple):
    """Contacts, rows and joints of the bodies of one island."""

    contacts: VelocityProblem  # and the bodies; `size` is that of bodies held by their joints
    mobility: (
        np.ndarray
    )  # (n,) mean diagonal of a contact's block of W of the bodies without joints: the unit of errors
    rows: Rows
    tree: Any  # Tree, or None where all bodies are free


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
def is_free(problem: TreeProblem) -> bool:
    """Whether no body has a joint, and there are no rows."""
    return problem.tree is None


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
        total += d[9] * w[0] + d[10] * w[1] + d[11] * w[2]
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
            f[k] += impulse * (d[k] + d[9 + k])
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
