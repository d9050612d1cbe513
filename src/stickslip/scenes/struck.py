"""Bodies that are struck: their rotation at the midpoint, where an impulse of any size acts on it linearly.

With omega_E as the unknown an impulse of a step acts through the slope of the momentum balance, which is exact for
small impulses alone.  In a step in which a body is struck, the unknown is omega = J^-1 L at the midpoint instead:
velocities before and after obey the laws of impact there, and angular momentum is that of the impulses to the last
digit.  omega_E follows at the end of the step from the balance, so that the flight stays of order two.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import kernel
from stickslip.projections import worse
from stickslip.scenes.islands.problem import bore
from stickslip.scenes.layout import MOVING, Active, Bodies, Contacts, Options
from stickslip.scenes.rotation import rotation_with, rotations_at_midpoint, times, world_matrix

HARD = 4.0  # times what forces and gyroscopic terms change in a step: an approach that is faster is a blow
FIRST = 0.5  # the same of a contact that carried nothing in the step before


@kernel
def change_in_step(bodies: Bodies, i: int, dt: float) -> float:
    """Change that forces and the rotation of body i make at its surface within a step [m/s]."""
    change, spin = 0.0, 0.0
    for k in range(3):
        change += (bodies.free[i, k] - bodies.vel[i, k]) ** 2
        spin += bodies.vel[i, 3 + k] ** 2
    return math.sqrt(change) + dt * spin * bodies.radius[i]


@kernel
def least_change(bodies: Bodies, a: int, b: int) -> float:
    """A bound from below of `change_in_step` of two bodies together, that is cheaper [m/s]."""
    largest = 0.0
    for k in range(3):
        for i in (a, b):
            largest = max(largest, abs(bodies.free[i, k] - bodies.vel[i, k]))
    return (1.0 - 1e-15) * largest


@kernel
def is_hard(bodies: Bodies, contacts: Contacts, active: Active, m: int, dt: float) -> bool:
    """Whether active contact m approaches faster than forces and rotations change velocities in a step."""
    c = active.contact[m]
    a, b = contacts.a[c], contacts.b[c]
    share = HARD if bore(bodies, contacts, c, -active.before[m, 0]) else FIRST
    if not -active.before[m, 0] > share * least_change(bodies, a, b):
        return False
    return -active.before[m, 0] > share * (change_in_step(bodies, a, dt) + change_in_step(bodies, b, dt))


@kernel(apart=True)
def strike(bodies: Bodies, contacts: Contacts, active: Active, n: int, options: Options) -> bool:
    """Mark the bodies that a contact strikes, and turn to their rotation at the midpoint; whether there are any.

    Balls and planar bodies need none of it.
    """
    found = False
    for m in range(n):
        if not active.impact[m] or not is_hard(bodies, contacts, active, m, options.dt):
            continue
        c = active.contact[m]
        for i in (contacts.a[c], contacts.b[c]):
            if bodies.kind[i] == MOVING and not bodies.isotropic[i]:
                bodies.struck[i] = True
                found = True
    return found


@kernel(apart=True)
def at_midpoint(bodies: Bodies, options: Options) -> np.ndarray:
    """Put the rotation at the midpoint in place of that at the end, for struck bodies; the velocities before."""
    vel = bodies.vel.copy()
    J, old, new = np.empty(9), np.empty(3), np.empty(3)
    for i in range(bodies.kind.shape[0]):
        if bodies.struck[i]:
            world_matrix(bodies.mid[i], bodies.inertia[i], J)
            rotations_at_midpoint(
                J, bodies.vel[i, 3:], bodies.free[i, 3:], options.dt, options.theta, old, new, bodies.inv_inertia[i]
            )
            for k in range(3):
                vel[i, 3 + k], bodies.free[i, 3 + k], bodies.end[i, 3 + k] = old[k], new[k], new[k]
    return vel


@kernel
def any_struck(bodies: Bodies) -> bool:
    """Whether a body is marked as struck in this step."""
    found = False
    for i in range(bodies.kind.shape[0]):
        found = found or bodies.struck[i]
    return found


@kernel(apart=True)
def to_end(bodies: Bodies, options: Options) -> float:
    """Angular velocities at the end of the step, of struck bodies; returns the largest part of a momentum missing."""
    worst = 0.0
    J, K, L, phi, omega = np.empty(9), np.empty(9), np.empty(3), np.empty(3), np.empty(3)
    for i in range(bodies.kind.shape[0]):
        if bodies.struck[i]:
            world_matrix(bodies.mid[i], bodies.inertia[i], J)
            v = bodies.end[i, 3:]
            L[0], L[1], L[2] = times(J, v[0], v[1], v[2])
            missing = rotation_with(J, L, v, options.theta * options.dt, omega, bodies.inv_inertia[i], phi, K)
            worst = worse(worst, missing)
            for k in range(3):
                v[k] = omega[k]
    return worst
