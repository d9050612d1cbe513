"""Free motion: where bodies are at the midpoint of a step, and how they would move on without contacts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stickslip.jit import kernel
from stickslip.projections import worse
from stickslip.scenes.fusing import add_member_wrenches
from stickslip.scenes.layout import CARRIED, DRIVEN, MOVING, Bodies, Geoms, Options
from stickslip.scenes.rotation import advance, compose, free_rotation, rotate, world_matrix


@kernel
def spring_wrenches(springs: Any, bodies: Bodies, wrench: np.ndarray) -> None:
    """Add forces and torques of springs and dampers at the midpoint, with the velocities before."""
    for s in range(springs.a.shape[0]):
        a, b = springs.a[s], springs.b[s]
        if not (bodies.alive[a] and bodies.alive[b]):
            continue
        p, q = springs.local_a[s], springs.local_b[s]
        p0, p1, p2 = rotate(bodies.mid[a], p[0], p[1], p[2])
        q0, q1, q2 = rotate(bodies.mid[b], q[0], q[1], q[2])
        v, w = bodies.vel[a], bodies.vel[b]
        d0 = bodies.mid[b, 0] + q0 - bodies.mid[a, 0] - p0
        d1 = bodies.mid[b, 1] + q1 - bodies.mid[a, 1] - p1
        d2 = bodies.mid[b, 2] + q2 - bodies.mid[a, 2] - p2
        length = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
        if length == 0.0:
            continue
        d0, d1, d2 = d0 / length, d1 / length, d2 / length
        rate = d0 * (w[0] + w[4] * q2 - w[5] * q1 - v[0] - v[4] * p2 + v[5] * p1)
        rate += d1 * (w[1] + w[5] * q0 - w[3] * q2 - v[1] - v[5] * p0 + v[3] * p2)
        rate += d2 * (w[2] + w[3] * q1 - w[4] * q0 - v[2] - v[3] * p1 + v[4] * p0)
        force = springs.law[s, 0] * (length - springs.law[s, 2]) + springs.law[s, 1] * rate
        x, y, z = force * d0, force * d1, force * d2  # on a, towards b
        for body, sign, r0, r1, r2 in ((a, 1.0, p0, p1, p2), (b, -1.0, q0, q1, q2)):
            f = wrench[body]
            f[0] += sign * x
            f[1] += sign * y
            f[2] += sign * z
            f[3] += sign * (r1 * z - r2 * y)
            f[4] += sign * (r2 * x - r0 * z)
            f[5] += sign * (r0 * y - r1 * x)


@kernel
def to_midpoint(bodies: Bodies, options: Options, t: float, wrench: np.ndarray) -> None:
    """Which bodies are there, their poses at the midpoint, and the forces and torques that are given."""
    dt, theta = options.dt, options.theta
    for i in range(bodies.kind.shape[0]):
        bodies.alive[i] = bodies.life[i, 0] <= t + 0.5 * dt < bodies.life[i, 1]
        bodies.struck[i] = False
        if bodies.kind[i] == CARRIED:
            for k in range(6):
                wrench[i, k] = bodies.wrench[i, k]
            continue
        if bodies.kind[i] > 0 and bodies.alive[i]:
            advance(bodies.pose[i], bodies.vel[i], (1.0 - theta) * dt, bodies.mid[i])
        else:
            for k in range(7):
                bodies.mid[i, k] = bodies.pose[i, k]
        for k in range(6):
            wrench[i, k] = bodies.wrench[i, k]


@kernel
def farthest(v: np.ndarray, w: np.ndarray, radius: float, dt: float) -> float:
    """How far a point of a body can come in a step with the velocities v or w [m]; no turn of the axes changes it."""
    # w first: `max` keeps what is not a number there
    fast = max(w[0] * w[0] + w[1] * w[1] + w[2] * w[2], v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    slow = max(w[3] * w[3] + w[4] * w[4] + w[5] * w[5], v[3] * v[3] + v[4] * v[4] + v[5] * v[5])
    return dt * (math.sqrt(fast) + math.sqrt(slow) * radius)


@kernel
def free_body(bodies: Bodies, options: Options, i: int, wrench: np.ndarray) -> float:
    """Free end velocity of moving body i, and what an impulse meets; returns the residual of its rotation."""
    dt, g, v, free, missing = options.dt, options.gravity, bodies.vel[i], bodies.free[i], 0.0
    m = bodies.inv_mass[i]
    for k in range(3):
        free[k] = v[k] + dt * (g[k] + m * wrench[k])
    if bodies.isotropic[i]:
        j = 1.0 / bodies.inertia[i, 8]
        for k in range(3):
            free[3 + k] = v[3 + k] + dt * j * wrench[3 + k]
    else:
        J, K, phi = np.empty(9), np.empty(9), np.empty(3)
        world_matrix(bodies.mid[i], bodies.inertia[i], J)
        missing = free_rotation(J, v[3:], wrench[3:], (dt, options.theta), free[3:], bodies.inv_inertia[i], phi, K)
    bodies.travel[i] = farthest(v, free, bodies.radius[i], dt)
    return missing


@kernel
def given_body(bodies: Bodies, dt: float, i: int, given: np.ndarray) -> None:
    """End velocity of body i: the given one."""
    for k in range(6):
        bodies.free[i, k] = given[k]
    bodies.travel[i] = farthest(bodies.vel[i], given, bodies.radius[i], dt) if bodies.kind[i] > 0 else 0.0


@kernel(apart=True)
def free_motion(
    bodies: Bodies, springs: Any, options: Options, t: float, driven: Any, step: int, wrench: np.ndarray, fused: Any
) -> float:
    """Midpoint poses, free end velocities, and what an impulse meets; returns the worst residual of a rotation.

    driven (steps, driven bodies, 6): velocities at the end of each step, of which number `step` is taken, or None.
    """
    to_midpoint(bodies, options, t, wrench)
    if springs is not None:
        if not options.implicit:
            spring_wrenches(springs, bodies, wrench)
    if fused is not None:
        add_member_wrenches(fused, bodies, wrench)
    worst, d = 0.0, 0
    for i in range(bodies.kind.shape[0]):
        if bodies.kind[i] == CARRIED:
            continue
        if bodies.kind[i] == MOVING and bodies.alive[i]:
            missing = free_body(bodies, options, i, wrench[i])
            worst = worse(worst, missing)
        else:
            given_body(bodies, options.dt, i, bodies.vel[i])
        if bodies.kind[i] == DRIVEN:
            if driven is not None:
                given_body(bodies, options.dt, i, driven[step, d])
            d += 1
        for k in range(6):
            bodies.end[i, k] = bodies.free[i, k]
            bodies.ahead[i, k] = bodies.vel[i, k] if bodies.kind[i] == MOVING else bodies.free[i, k]
    return worst


@kernel
def place_geoms(bodies: Bodies, geoms: Geoms) -> None:
    """Poses of all geometries at the midpoint."""
    for i in range(geoms.kind.shape[0]):
        compose(bodies.mid[geoms.body[i]], geoms.local[i], geoms.world[i])
