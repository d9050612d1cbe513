"""One blow of a scene: the matrix of a contact, its impulse on the bodies, with or without joints, and its note."""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.islands.problem import side_product
from stickslip.scenes.islands.reduced import push_pair
from stickslip.scenes.layout import MOVING, Active, Bodies, Contacts
from stickslip.scenes.rotation import times
from stickslip.scenes.struck_joints import take_joints

HELD = 1e-8  # of the mobility of free bodies: a contact with less along its normal is held by joints, and not struck


@kernel
def local_matrix(bodies: Bodies, contacts: Contacts, active: Active, m: int, G: np.ndarray) -> None:
    """G = W^T M^-1 W (9,) of active contact m alone [1/kg]."""
    c, f = active.contact[m], active.frame[m]
    a, b, p, q = contacts.a[c], contacts.b[c], active.arm_a[m], active.arm_b[m]
    for i in range(3):
        for j in range(3):
            G[3 * i + j] = side_product(bodies, a, f, p, f, p, i, j) + side_product(bodies, b, f, q, f, q, i, j)


@kernel
def push(bodies: Bodies, body: int, arm: np.ndarray, x: float, y: float, z: float, vel: np.ndarray) -> None:
    """Add an impulse (x, y, z) [N s] at `arm` to the velocities of one body, in the table `vel`."""
    m, v = bodies.inv_mass[body], vel[body]
    v[0] += m * x
    v[1] += m * y
    v[2] += m * z
    d, e, f = times(bodies.inv_inertia[body], arm[1] * z - arm[2] * y, arm[2] * x - arm[0] * z, arm[0] * y - arm[1] * x)
    v[3] += d
    v[4] += e
    v[5] += f


@kernel
def matrix_of(
    bodies: Bodies, contacts: Contacts, active: Active, m: int, joints: Any, parts: Any, G: np.ndarray
) -> bool:
    """G (9,) of active contact m, with what joints hold; False where they hold it along its normal."""
    local_matrix(bodies, contacts, active, m, G)
    if joints is None:
        return True
    alone = G[0]
    take_joints(contacts, active, m, parts, G)
    return G[0] > HELD * alone


@kernel
def give(
    bodies: Bodies, contacts: Contacts, active: Active, m: int, impulse: tuple[float, float, float], vel: np.ndarray,
    joints: Any, parts: Any,
) -> tuple[float, float, float]:  # fmt: skip
    """Give an impulse in the frame of active contact m: velocities `vel` and free ones change.

    Returns the impulse on b as a world vector.
    """
    c, f, (N, S, T) = active.contact[m], active.frame[m], impulse
    a, b = contacts.a[c], contacts.b[c]
    x = f[0] * N + f[3] * S + f[6] * T
    y = f[1] * N + f[4] * S + f[7] * T
    z = f[2] * N + f[5] * S + f[8] * T
    if joints is None:
        if bodies.kind[a] == MOVING:
            push(bodies, a, active.arm_a[m], -x, -y, -z, vel)
            push(bodies, a, active.arm_a[m], -x, -y, -z, bodies.free)
        if bodies.kind[b] == MOVING:
            push(bodies, b, active.arm_b[m], x, y, z, vel)
            push(bodies, b, active.arm_b[m], x, y, z, bodies.free)
    else:
        first, second, p, q = np.empty(6), np.empty(6), active.arm_a[m], active.arm_b[m]
        first[0], first[1], first[2] = -x, -y, -z
        first[3], first[4], first[5] = p[2] * y - p[1] * z, p[0] * z - p[2] * x, p[1] * x - p[0] * y
        second[0], second[1], second[2] = x, y, z
        second[3], second[4], second[5] = q[1] * z - q[2] * y, q[2] * x - q[0] * z, q[0] * y - q[1] * x
        push_pair(bodies, parts, (a, b), first, second, vel, bodies.free)
    return x, y, z


@kernel
def note_hit(
    contacts: Contacts, c: int, u: np.ndarray, after: tuple[float, float, float], impulse: tuple[float, float, float],
    work: float,
) -> None:  # fmt: skip
    """Write down an impact of point c: velocities before and after, impulse on b in world axes, work."""
    hit, prior, end = contacts.hit[c], contacts.prior[c], contacts.after[c]
    if hit[0] == 0.0 and hit[1] == 0.0 and hit[2] == 0.0:
        prior[0], prior[1], prior[2] = u[0], u[1], u[2]
    hit[0], hit[1], hit[2] = hit[0] + impulse[0], hit[1] + impulse[1], hit[2] + impulse[2]
    end[0], end[1], end[2] = after
    contacts.work[c] += work
