"""Velocities that are expected at the end of a step: what is not linear in velocities is linearised about these.

Those of driven bodies are given, and of others they are those before.  But what is held by a driven body goes on with
it.  With D from the driven body's centre to that of the body, both at the midpoint, and velocities from one midpoint to
the next, a body that moved with it as one, and does so again, has

    v_A = v'_A + (1 - exp [-dt omega'_A]) D / dt,    v_E = v'_E + (exp [dt omega'_E] - 1) D / dt,    omega_E = omega'_E,

which is exact through all turns and shifts.  (v', omega': of the driven body.)  A body on a hinge of something fixed
goes on about it, v_E = exp [dt omega] v_A, and what moves as one with it goes along.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.islands.row_kinds import REVOLUTE, SPHERICAL
from stickslip.scenes.islands.slips import TOGETHER, cross, turn_as_one, turned_arm
from stickslip.scenes.layout import DRIVEN, MOVING, STATIC, Bodies, Contacts


@kernel
def begin_holders(bodies: Bodies, joints: Any, points: int, dt: float, holder: np.ndarray) -> bool:
    """Driven bodies that turn hold themselves, and in contact those on fixed hinges; whether there are any."""
    found = False
    for i in range(bodies.kind.shape[0]):
        holder[i] = -1
        if bodies.kind[i] == DRIVEN and bodies.alive[i]:
            v, w = bodies.vel[i], bodies.free[i]
            turn = abs(v[3]) + abs(v[4]) + abs(v[5]) + abs(w[3]) + abs(w[4]) + abs(w[5])
            if turn > 0.0:
                holder[i], found = i, True
    if joints is not None:
        for j in range(joints.link.kind.shape[0] if points > 0 else 0):
            a, b, kind = joints.link.a[j], joints.link.b[j], joints.link.kind[j]
            if kind != REVOLUTE and kind != SPHERICAL:
                continue
            for i, other in ((a, b), (b, a)):
                v, out = bodies.vel[i], bodies.ahead[i]
                if bodies.kind[i] == MOVING and bodies.alive[i] and bodies.kind[other] == STATIC:
                    if abs(v[3]) + abs(v[4]) + abs(v[5]) > 0.0:
                        holder[i], found = i, True
                        p, q, r = cross(v[3], v[4], v[5], v[0], v[1], v[2])
                        x, y, z = turned_arm(v, v[:3], dt, True)
                        out[0], out[1], out[2] = v[0] + dt * (p + x), v[1] + dt * (q + y), v[2] + dt * (r + z)
    return found


@kernel
def hand_on(bodies: Bodies, holder: np.ndarray, a: int, b: int) -> bool:
    """Let the holder of one body hold the other, if that has none; whether it is so."""
    p, q = holder[a], holder[b]
    if p >= 0 and q < 0 and bodies.kind[b] == MOVING:
        holder[b] = p
        return True
    if q >= 0 and p < 0 and bodies.kind[a] == MOVING:
        holder[a] = q
        return True
    return False


@kernel
def find_holders(bodies: Bodies, joints: Any, contacts: Contacts, points: int, holder: np.ndarray) -> None:
    """The driven body that each body is joined to, by joints and contacts."""
    more = True
    while more:
        more = False
        for c in range(points):
            more = hand_on(bodies, holder, contacts.a[c], contacts.b[c]) or more
        if joints is not None:
            for j in range(joints.link.kind.shape[0]):
                more = hand_on(bodies, holder, joints.link.a[j], joints.link.b[j]) or more


@kernel
def go_along(bodies: Bodies, i: int, h: int, dt: float) -> None:
    """Expect body i to go along with the body h, if it has done so."""
    v, before, after, out, D = bodies.vel[i], bodies.vel[h], bodies.ahead[h], bodies.ahead[i], np.empty(3)
    for k in range(3):
        D[k] = bodies.mid[i, k] - bodies.mid[h, k]
    p, q, r = cross(before[3], before[4], before[5], D[0], D[1], D[2])
    x, y, z = turned_arm(before, D, -dt, True)
    x, y, z = v[0] - before[0] - p - x, v[1] - before[1] - q - y, v[2] - before[2] - r - z
    size = abs(v[0]) + abs(v[1]) + abs(v[2]) + abs(before[0]) + abs(before[1]) + abs(before[2])
    if abs(x) + abs(y) + abs(z) > TOGETHER * size or not turn_as_one(v, before):
        return
    p, q, r = cross(after[3], after[4], after[5], D[0], D[1], D[2])
    d, e, f = turned_arm(after, D, dt, True)
    # what it moved beside it, it moves on
    out[0], out[1], out[2] = after[0] + p + d + x, after[1] + q + e + y, after[2] + r + f + z
    for k in range(3):
        out[3 + k] = after[3 + k] + (v[3 + k] - before[3 + k])


@kernel(apart=True)
def expect(bodies: Bodies, joints: Any, contacts: Contacts, points: int, dt: float, holder: np.ndarray) -> None:
    """Write the velocities that are expected of bodies that others hold; holder (bodies,): room."""
    if not begin_holders(bodies, joints, points, dt, holder):
        return
    find_holders(bodies, joints, contacts, points, holder)
    for i in range(bodies.kind.shape[0]):
        if bodies.kind[i] == MOVING and bodies.alive[i] and holder[i] >= 0 and holder[i] != i:
            go_along(bodies, i, holder[i], dt)
