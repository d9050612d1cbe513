"""Contacts of free bodies with the velocities of the bodies as unknowns: six for a body, however many contacts it has.

    M (v - v_free) = J^T r,    u = J v + bias,    laws of contact between r and u at each contact

Row i of J takes the velocity at the contact point, in the frame (n, t_1, t_2) of the contact:

    u = F (v_b + omega_b x q - v_a - omega_a x p) + bias.

Bodies whose velocity is given are no unknowns: what they add to u is part of the bias.  The matrix J^T K J with a 3 x 3
block K for each contact follows from X = F^T K F, the block in world axes.

In the plane the third row of each frame has no impulse, and the velocities across the plane stay as they are.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

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


@kernel
def copy_motion(source: Motion, target: Motion) -> None:
    """target = source."""
    for i in range(source.r.shape[0]):
        for k in range(3):
            target.r[i, k], target.u[i, k] = source.r[i, k], source.u[i, k]
    for j in range(source.v.shape[0]):
        for k in range(6):
            target.v[j, k] = source.v[j, k]


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


@kernel
def worst_defect(problem: VelocityProblem, r: np.ndarray, u: np.ndarray, dim: int) -> float:
    """Largest violation of the laws at a contact [m/s]; infinite where a number is not finite."""
    worst = 0.0
    for i in range(r.shape[0]):
        defect = disc_defect(r[i], problem.mu[i], problem.size[i], u[i, 0], u[i, 1], u[i, 2], dim)
        worst = worse(worst, defect)
    return worst


@kernel
def measure_motion(problem: VelocityProblem, motion: Motion, dim: int) -> float:
    """Set all velocities from the impulses; returns the largest violation of the laws [m/s]."""
    body_velocities(problem, motion.r, motion.v)
    contact_velocities(problem, motion.v, motion.u)
    return worst_defect(problem, motion.r, motion.u, dim)
