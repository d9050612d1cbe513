"""Limits and slack ropes that a step leads past, though they seemed out of its reach when its rows were set up.

Which of them take part is told before a step is solved, by how far blows may send the bodies (`joint_rows`).  That is
an estimate: with bodies of unlike inertia a blow turns one of them far faster than anything came.  So the end
velocities are looked at.  With x the coordinate at the midpoint and u its rate at the end, a limit is passed where
x + dt u is beyond it, and a rope where its row is slower than what its slack allows.  What is passed takes part, and
the step is solved again from the impulses of the last one.
"""

from __future__ import annotations

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.islands.joint_rows import CLOSED, LIMIT, has_axis, row_velocity
from stickslip.scenes.islands.problem import mobility
from stickslip.scenes.islands.row_kinds import LENGTH, LOWER, PRISMATIC, ROPE, UPPER
from stickslip.scenes.layout import MOVING, ROWS_PER_JOINT, Active, Bodies, Contacts, Joints
from stickslip.scenes.rotation import rotate

LEAPS = 8  # times that a step is solved again for what it leads past, at most


@kernel
def sign_of_limit(joints: Joints, j: int, bodies: Bodies) -> float:
    """1 where the limit row of joint j goes along its coordinate, -1 where it goes against it."""
    d, f, first = joints.row.direction[j * ROWS_PER_JOINT + LIMIT], joints.link.frame_a[j], 0
    # the axis of the joint, by the frame in body a and the turn of the body
    w, x, y, z = f[3], f[4], f[5], f[6]
    along = rotate(
        bodies.mid[joints.link.a[j]], 2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)
    )
    if joints.link.kind[j] != PRISMATIC:
        first = 6
    return 1.0 if d[first] * along[0] + d[first + 1] * along[1] + d[first + 2] * along[2] > 0.0 else -1.0


@kernel
def take_limit(joints: Joints, j: int, bodies: Bodies, dt: float) -> tuple[bool, int]:
    """Let a limit of joint j that the end velocities lead past take part; whether one does, and rows more."""
    s, data, x = j * ROWS_PER_JOINT + LIMIT, joints.link.numbers[j], joints.link.turns[j]
    low, high = data[LOWER], data[UPPER]
    if not (low > -np.inf or high < np.inf):
        return False, 0
    sign = sign_of_limit(joints, j, bodies)
    rate = sign * row_velocity(joints, s, bodies.end, joints.link.a[j], joints.link.b[j])
    ahead, near, side = x + dt * rate, CLOSED * (1.0 + abs(x)), 0.0
    if ahead < low - near:
        side = 1.0
    elif ahead > high + near:
        side = -1.0
    if side == 0.0 or (joints.row.used[s] and side == sign):
        return False, 0
    more = 0 if joints.row.used[s] else 1
    for k in range(12):
        joints.row.direction[s, k] *= side * sign
    gap = x - low if side > 0.0 else high - x
    joints.row.target[s] = -gap / dt if gap > 0.0 else 0.0
    joints.row.low[s], joints.row.high[s], joints.row.impulse[s] = 0.0, np.inf, 0.0
    joints.row.asked[s], joints.row.used[s] = abs(joints.row.target[s]), True
    return True, more


@kernel
def take_rope(joints: Joints, j: int, bodies: Bodies, dt: float) -> int:
    """Let the slack rope j take part, where the end velocities lead past its length; returns rows more."""
    s = j * ROWS_PER_JOINT
    if joints.row.used[s]:
        return 0
    speed = row_velocity(joints, s, bodies.end, joints.link.a[j], joints.link.b[j])
    if not speed < joints.row.target[s] - CLOSED * (1.0 + joints.link.numbers[j, LENGTH]) / dt:
        return 0
    joints.row.low[s], joints.row.high[s], joints.row.impulse[s] = 0.0, np.inf, 0.0
    joints.row.asked[s], joints.row.used[s] = abs(joints.row.target[s]), True
    return 1


@kernel(apart=True)
def take_leapt(joints: Joints, bodies: Bodies, dt: float) -> int:
    """Let limits and ropes that the end velocities lead past take part; returns rows more, -1 where nothing changes."""
    more, any_taken = 0, False
    for j in range(joints.link.kind.shape[0]):
        if not (bodies.alive[joints.link.a[j]] and bodies.alive[joints.link.b[j]]):
            continue
        if has_axis(joints.link.kind[j]):
            taken, rows = take_limit(joints, j, bodies, dt)
            any_taken, more = any_taken or taken, more + rows
        elif joints.link.kind[j] >= ROPE:
            rows = take_rope(joints, j, bodies, dt)
            any_taken, more = any_taken or rows > 0, more + rows
    return more if any_taken else -1


@kernel
def free_held(bodies: Bodies, contacts: Contacts, active: Active, n: int, dim: int) -> None:
    """Give the n active contacts the mobilities that they had before the step was solved; see `trees.drop_held`."""
    for i in range(n):
        c = active.contact[i]
        active.mobility[i] = mobility(bodies, contacts.a[c], contacts.b[c], active, i, dim)


@kernel
def take_expected(bodies: Bodies) -> None:
    """Write the velocities that were expected before the step was solved in place of those at its end."""
    for i in range(bodies.kind.shape[0]):
        if bodies.kind[i] == MOVING:
            for k in range(6):
                bodies.end[i, k] = bodies.ahead[i, k]
