"""Joints as rows: velocity of a row = l . (v_b - v_a) + m_b . omega_b - m_a . omega_a, impulse between two bounds.

Equality rows hold the joint together at the next midpoint.  With g the position error and u_A the velocity before,

    row . (u_E - u_A) = -g(q_M + dt u_A) / dt,

the linearisation of g(q_M + dt u_E) = 0 about the velocity before: SHAKE up to O(dt^3), so that a joint neither
drifts nor loses the second order of the midpoint rule.  Where velocities change much within a step, they are linearised
again about the end velocities found, until g is small (`scenes.islands.trees`).  Positions are known to GRAIN of their
size, so redundant rows agree to GRAIN size / dt and no better.

A limit is a row with impulse >= 0, a motor one with a speed and a largest effort, dry friction one with speed 0 and a
largest effort.

A motor with a stiffness k and a damping c is a soft row: its effort, within its largest one, is that of the next
midpoint,

    k (x* - x_M - dt u_E) + c (u* - u_E).

This is backward Euler's method for (x_M, u): no gain makes it unstable, and a stiff motor is at its target, at rest,
after two steps.  With the effort of x_E = x_M + dt u_E / 2 the velocity of a stiff motor would change its sign with
every step, for ever.

The inertia J of a rotor (armature) and viscous damping d are one more soft row, -Lambda = J (u_E - u_A) + dt d u_E.  A
torque that is given is an impulse dt tau before the contact problem.

A spring that is implicit is a soft row without bounds.  Jean's theta-method weights its force at both ends of the step,
(1 - theta) f_A + theta f_E with f = k (l - l_0) + c u, and l_A, l_E follow from the midpoint length l_M:

    -Lambda = dt (k (l_M - l_0 - (1 - theta)^2 dt u_A) + (1 - theta) c u_A) + (theta^2 dt^2 k + theta dt c) u_E;

divided by the factor of u_E it reads u_E + soft Lambda = target.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.codes import GRAIN
from stickslip.jit import kernel
from stickslip.scenes.layout import ROWS_PER_JOINT, Bodies, Joints
from stickslip.scenes.rotation import advance, compose, rotate, times

SPHERICAL, REVOLUTE, PRISMATIC, FIXED, DISTANCE, SPRING = range(6)
LIMIT, MOTOR, FRICTION, PASSIVE = 6, 7, 8, 9
CLOSED = 1e-12  # of a coordinate [rad or m], and of 1: a joint that is nearer to its limit is at it
LENGTH, LOWER, UPPER, SPEED, EFFORT, HOLD, STIFFNESS, DAMPING, TARGET, TORQUE, ARMATURE, VISCOUS = range(12)
NUMBERS = 12


@kernel
def relative_turn(A: np.ndarray, B: np.ndarray) -> tuple[float, float, float, float]:
    """Quaternion of frame B seen from frame A, with w >= 0."""
    w, x, y, z = A[3], -A[4], -A[5], -A[6]
    p, q, r, s = B[3], B[4], B[5], B[6]
    n0 = w * p - x * q - y * r - z * s
    n1 = w * q + x * p + y * s - z * r
    n2 = w * r - x * s + y * p + z * q
    n3 = w * s + x * r - y * q + z * p
    sign = -1.0 if n0 < 0.0 else 1.0
    return sign * n0, sign * n1, sign * n2, sign * n3


@kernel
def joint_errors(kind: int, planar: bool, A: np.ndarray, B: np.ndarray, length: float, out: np.ndarray) -> int:
    """Position errors of a joint whose frames are at A and B; returns how many there are."""
    d0, d1, d2 = B[0] - A[0], B[1] - A[1], B[2] - A[2]
    if kind == DISTANCE:
        out[0] = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2) - length
        return 1
    count = 0
    if kind == PRISMATIC:
        a, b, c = rotate(A, 1.0, 0.0, 0.0)
        out[0] = a * d0 + b * d1 + c * d2
        count = 1
        if not planar:
            a, b, c = rotate(A, 0.0, 1.0, 0.0)
            out[1] = a * d0 + b * d1 + c * d2
            count = 2
    else:
        out[0], out[1] = d0, d1
        count = 2
        if not planar:
            out[2] = d2
            count = 3
    if kind == REVOLUTE and not planar:
        x, y, z = rotate(A, 0.0, 0.0, 1.0)
        p, q, r = rotate(B, 0.0, 0.0, 1.0)
        x, y, z = y * r - z * q, z * p - x * r, x * q - y * p  # z_A x z_B = the turn of B across the axis
        a, b, c = rotate(A, 1.0, 0.0, 0.0)
        out[count] = a * x + b * y + c * z
        a, b, c = rotate(A, 0.0, 1.0, 0.0)
        out[count + 1] = a * x + b * y + c * z
        count += 2
    if kind == PRISMATIC or kind == FIXED:
        _, x, y, z = relative_turn(A, B)
        x, y, z = rotate(A, 2.0 * x, 2.0 * y, 2.0 * z)
        if planar:
            out[count] = z
            count += 1
        else:
            out[count], out[count + 1], out[count + 2] = x, y, z
            count += 3
    return count


@kernel
def point_errors(kind: int, planar: bool) -> int:
    """Number of position errors of a joint that are lengths; the errors after these are angles."""
    if kind == DISTANCE:
        return 1
    return (2 if planar else 3) - (1 if kind == PRISMATIC else 0)


@kernel
def opening(errors: np.ndarray, points: int, count: int, extent: float) -> float:
    """How far a joint is apart [m]: its position errors, and its turns at the distance `extent`."""
    total = 0.0
    for k in range(count):
        total += errors[k] ** 2 if k < points else (extent * errors[k]) ** 2
    return math.sqrt(total)


@kernel
def came_apart(joints: Joints) -> bool:
    """Whether a joint's position error is beyond its limit."""
    beyond = -np.inf
    for j in range(joints.link.kind.shape[0]):
        beyond = max(beyond, joints.link.error[j] - joints.link.limit[j])
    return beyond > 0.0


@kernel
def point_row(joints: Joints, row: int, x: float, y: float, z: float, arm_a: np.ndarray, arm_b: np.ndarray) -> None:
    """Relative velocity of two points along (x, y, z); arms from the centres of mass."""
    d = joints.row.direction[row]
    d[0], d[1], d[2] = x, y, z
    d[3], d[4], d[5] = arm_a[1] * z - arm_a[2] * y, arm_a[2] * x - arm_a[0] * z, arm_a[0] * y - arm_a[1] * x
    d[6], d[7], d[8] = arm_b[1] * z - arm_b[2] * y, arm_b[2] * x - arm_b[0] * z, arm_b[0] * y - arm_b[1] * x


@kernel
def turn_row(joints: Joints, row: int, x: float, y: float, z: float) -> None:
    """Relative angular velocity along (x, y, z)."""
    d = joints.row.direction[row]
    d[0], d[1], d[2] = 0.0, 0.0, 0.0
    d[3], d[4], d[5] = x, y, z
    d[6], d[7], d[8] = x, y, z


@kernel
def row_velocity(joints: Joints, row: int, vel: np.ndarray, a: int, b: int) -> float:
    """Velocity of a row for body velocities `vel`."""
    d = joints.row.direction[row]
    total = 0.0
    for k in range(3):
        total += d[k] * (vel[b, k] - vel[a, k]) + d[6 + k] * vel[b, 3 + k] - d[3 + k] * vel[a, 3 + k]
    return total


@kernel(inline=True)
def add_pull(joints: Joints, row: int, pull: np.ndarray) -> None:
    """Add the impulse of a row to pull (9,): linear, angular on a, angular on b."""
    d, x = joints.row.direction[row], joints.row.impulse[row]
    for k in range(9):
        pull[k] += x * d[k]


@kernel
def apply_pull(pull: np.ndarray, bodies: Bodies, velocities: np.ndarray, a: int, b: int) -> None:
    """Add what the impulses of a joint's rows, summed up, do to `velocities` of the bodies, (bodies, 6)."""
    for k in range(3):
        velocities[a, k] -= bodies.inv_mass[a] * pull[k]
        velocities[b, k] += bodies.inv_mass[b] * pull[k]
    x, y, z = times(bodies.inv_inertia[a], pull[3], pull[4], pull[5])
    velocities[a, 3] -= x
    velocities[a, 4] -= y
    velocities[a, 5] -= z
    x, y, z = times(bodies.inv_inertia[b], pull[6], pull[7], pull[8])
    velocities[b, 3] += x
    velocities[b, 4] += y
    velocities[b, 5] += z


@kernel
def equality_rows(
    joints: Joints, j: int, planar: bool, A: np.ndarray, B: np.ndarray, arm_a: np.ndarray, arm_b: np.ndarray
) -> int:
    """Directions of the equality rows, in the order of `joint_errors`; arm_a of a prismatic joint reaches to B."""
    s = j * ROWS_PER_JOINT
    kind = joints.link.kind[j]
    d0, d1, d2 = B[0] - A[0], B[1] - A[1], B[2] - A[2]
    if kind == DISTANCE or kind == SPRING:
        length = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
        if length == 0.0:
            return 0
        point_row(joints, s, d0 / length, d1 / length, d2 / length, arm_a, arm_b)
        return 1
    if kind == PRISMATIC:
        x, y, z = rotate(A, 1.0, 0.0, 0.0)
        point_row(joints, s, x, y, z, arm_a, arm_b)
        count = 1
        if not planar:
            x, y, z = rotate(A, 0.0, 1.0, 0.0)
            point_row(joints, s + 1, x, y, z, arm_a, arm_b)
            count = 2
    else:
        point_row(joints, s, 1.0, 0.0, 0.0, arm_a, arm_b)
        point_row(joints, s + 1, 0.0, 1.0, 0.0, arm_a, arm_b)
        count = 2
        if not planar:
            point_row(joints, s + 2, 0.0, 0.0, 1.0, arm_a, arm_b)
            count = 3
    if kind == REVOLUTE and not planar:
        x, y, z = rotate(A, 1.0, 0.0, 0.0)
        turn_row(joints, s + count, x, y, z)
        x, y, z = rotate(A, 0.0, 1.0, 0.0)
        turn_row(joints, s + count + 1, x, y, z)
        count += 2
    if kind == PRISMATIC or kind == FIXED:
        if not planar:
            turn_row(joints, s + count, 1.0, 0.0, 0.0)
            turn_row(joints, s + count + 1, 0.0, 1.0, 0.0)
            count += 2
        turn_row(joints, s + count, 0.0, 0.0, 1.0)
        count += 1
    return count


@kernel
def joint_coordinate(joints: Joints, j: int, A: np.ndarray, B: np.ndarray) -> float:
    """Angle [rad] of a revolute joint, counted over turns, or travel [m] of a prismatic one."""
    if joints.link.kind[j] == PRISMATIC:
        x, y, z = rotate(A, 0.0, 0.0, 1.0)
        joints.link.turns[j] = x * (B[0] - A[0]) + y * (B[1] - A[1]) + z * (B[2] - A[2])
        return joints.link.turns[j]
    w, _, _, z = relative_turn(A, B)
    angle = 2.0 * math.atan2(z, w)
    turns = round((joints.link.turns[j] - angle) / (2.0 * math.pi))
    angle += 2.0 * math.pi * turns
    joints.link.turns[j] = angle
    return angle


@kernel
def coordinate_row(
    joints: Joints, j: int, slot: int, sign: float, A: np.ndarray, arm_a: np.ndarray, arm_b: np.ndarray
) -> None:
    """Row of the joint's own motion: turn about, or travel along, its axis."""
    x, y, z = rotate(A, 0.0, 0.0, sign)
    if joints.link.kind[j] == PRISMATIC:
        point_row(joints, j * ROWS_PER_JOINT + slot, x, y, z, arm_a, arm_b)
    else:
        turn_row(joints, j * ROWS_PER_JOINT + slot, x, y, z)


@kernel
def motor_law(data: np.ndarray, x: float, dt: float) -> tuple[float, float]:
    """Velocity asked for and softness of a motor whose coordinate at the midpoint is x."""
    k, c = data[STIFFNESS], data[DAMPING]
    factor = c + dt * k
    if factor == 0.0:
        return data[SPEED], 0.0
    return (k * (data[TARGET] - x) + c * data[SPEED]) / factor, 1.0 / (dt * factor)


@kernel
def joint_way(joints: Joints, j: int, bodies: Bodies, dt: float) -> float:
    """How far joint j may drive a body in a step [m]: by its velocity, the forces on its bodies, and its motor.

    Its own body, or others by way of joints between them: what comes to a limit drives its neighbours on.
    """
    kind, data, a, b = joints.link.kind[j], joints.link.numbers[j], joints.link.a[j], joints.link.b[j]
    if kind != REVOLUTE and kind != PRISMATIC:
        return 0.0
    first, speed = 0 if kind == PRISMATIC else 3, 0.0
    for vel in (bodies.vel, bodies.free):
        total = 0.0
        for k in range(first, first + 3):
            total += (vel[b, k] - vel[a, k]) ** 2
        speed = max(speed, total)
    speed = math.sqrt(speed)
    if data[EFFORT] > 0.0:
        target, _ = motor_law(data, joints.link.turns[j], dt)
        speed = max(speed, abs(target))
    return dt * speed if kind == PRISMATIC else dt * speed * joints.link.extent[j]


@kernel
def passive_row(joints: Joints, j: int, bodies: Bodies, dt: float) -> None:
    """Rotor, viscous damping and given torque of a joint; the direction of its row is set."""
    s, data, a, b = j * ROWS_PER_JOINT + PASSIVE, joints.link.numbers[j], joints.link.a[j], joints.link.b[j]
    factor, given = data[ARMATURE] + dt * data[VISCOUS], dt * data[TORQUE]
    if factor == 0.0:
        apply_pull(given * joints.row.direction[s], bodies, bodies.free, a, b)
        return
    joints.row.used[s] = True
    joints.row.low[s], joints.row.high[s] = -np.inf, np.inf
    joints.row.soft[s] = 1.0 / factor
    joints.row.target[s] = (data[ARMATURE] * row_velocity(joints, s, bodies.vel, a, b) + given) / factor


@kernel
def bounded_rows(
    joints: Joints,
    j: int,
    bodies: Bodies,
    A: np.ndarray,
    B: np.ndarray,
    arm_a: np.ndarray,
    arm_b: np.ndarray,
    dt: float,
    blow: float,
) -> None:
    """Limit, motor, dry friction, rotor and torque of a joint with an axis; blow: how far one may send a body [m]."""
    s, data = j * ROWS_PER_JOINT, joints.link.numbers[j]
    a, b = joints.link.a[j], joints.link.b[j]
    if data[ARMATURE] > 0.0 or data[VISCOUS] > 0.0 or data[TORQUE] != 0.0:
        coordinate_row(joints, j, PASSIVE, 1.0, A, arm_a, arm_b)
        passive_row(joints, j, bodies, dt)
    x = 0.0
    if data[LOWER] > -np.inf or data[UPPER] < np.inf or data[STIFFNESS] > 0.0:
        x = joint_coordinate(joints, j, A, B)
    if data[LOWER] > -np.inf or data[UPPER] < np.inf:
        low, high = x - data[LOWER], data[UPPER] - x
        sign, gap = (1.0, low) if low <= high else (-1.0, high)
        coordinate_row(joints, j, LIMIT, sign, A, arm_a, arm_b)
        free, before = (
            row_velocity(joints, s + LIMIT, bodies.free, a, b),
            row_velocity(joints, s + LIMIT, bodies.vel, a, b),
        )
        # Within what this step's forces can do, and a blow: these may drive a joint that is free to leave its limit.
        reach = dt * (abs(free - before) - min(free, before, 0.0)) + CLOSED * (1.0 + abs(x))
        reach += blow if joints.link.kind[j] == PRISMATIC else blow / joints.link.extent[j]
        # A limit that carries load keeps it, however its gap is rounded: reactions may be all that presses it.
        if gap <= reach or joints.row.impulse[s + LIMIT] > 0.0:
            joints.row.used[s + LIMIT] = True
            joints.row.target[s + LIMIT] = -gap / dt if gap > 0.0 else 0.0
            joints.row.low[s + LIMIT], joints.row.high[s + LIMIT] = 0.0, np.inf
    if data[EFFORT] > 0.0:
        coordinate_row(joints, j, MOTOR, 1.0, A, arm_a, arm_b)
        joints.row.used[s + MOTOR] = True
        joints.row.target[s + MOTOR], joints.row.soft[s + MOTOR] = motor_law(data, x, dt)
        joints.row.low[s + MOTOR], joints.row.high[s + MOTOR] = -dt * data[EFFORT], dt * data[EFFORT]
    if data[HOLD] > 0.0:
        coordinate_row(joints, j, FRICTION, 1.0, A, arm_a, arm_b)
        joints.row.used[s + FRICTION] = True
        joints.row.target[s + FRICTION] = 0.0
        joints.row.low[s + FRICTION], joints.row.high[s + FRICTION] = -dt * data[HOLD], dt * data[HOLD]


@kernel
def spring_row(joints: Joints, j: int, bodies: Bodies, length: float, dt: float, theta: float) -> None:
    """The law of a spring whose length at the midpoint is `length`; its direction is set."""
    s, data, a, b = j * ROWS_PER_JOINT, joints.link.numbers[j], joints.link.a[j], joints.link.b[j]
    k, c, rest = data[STIFFNESS], data[DAMPING], 1.0 - theta
    u_A = row_velocity(joints, s, bodies.vel, a, b)
    given = dt * (k * (length - data[LENGTH] - rest * rest * dt * u_A) + rest * c * u_A)
    factor = theta * dt * (theta * dt * k + c)
    joints.row.soft[s] = 1.0 / factor
    joints.row.target[s] = -given / factor


@kernel
def errors_at(joints: Joints, j: int, p: np.ndarray, q: np.ndarray, planar: bool, errors: np.ndarray) -> int:
    """Position errors of joint j where its bodies have the poses p and q; returns how many there are."""
    A, B = np.empty(7), np.empty(7)
    compose(p, joints.link.frame_a[j], A)
    compose(q, joints.link.frame_b[j], B)
    return joint_errors(joints.link.kind[j], planar, A, B, joints.link.numbers[j, LENGTH], errors)


@kernel(apart=True)
def gap_with(joints: Joints, j: int, bodies: Bodies, vel: np.ndarray, planar: bool, dt: float) -> float:
    """How far joint j is apart at the next midpoint with the velocities `vel` [m]."""
    errors, p, q, a, b = np.empty(6), np.empty(7), np.empty(7), joints.link.a[j], joints.link.b[j]
    advance(bodies.mid[a], vel[a], dt, p)
    advance(bodies.mid[b], vel[b], dt, q)
    count = errors_at(joints, j, p, q, planar, errors)
    return opening(errors, point_errors(joints.link.kind[j], planar), count, joints.link.extent[j])


@kernel(apart=True)
def midpoints_ahead(joints: Joints, bodies: Bodies, vel: np.ndarray, dt: float, ahead: np.ndarray) -> None:
    """Poses (bodies, 7) of the bodies that joints hold, at the next midpoint with the velocities `vel`."""
    for i in range(ahead.shape[0]):
        ahead[i, 3] = 2.0  # no turn has it
    for j in range(joints.link.kind.shape[0]):
        for i in (joints.link.a[j], joints.link.b[j]):
            if ahead[i, 3] == 2.0:
                advance(bodies.mid[i], vel[i], dt, ahead[i])


@kernel
def forget_rounding(errors: np.ndarray, grain: float) -> None:
    """Take what positions are known to off the size of some errors of a joint.

    Far from the origin a finger on a slide would else be asked for the rounding of its place, in each step another way
    across what it holds: what three fingers hold has no velocity that sticks to all of them, and begins to roll.
    """
    total = 0.0
    for k in range(errors.shape[0]):
        total += errors[k] * errors[k]
    size = math.sqrt(total)
    for k in range(errors.shape[0]):
        errors[k] = errors[k] * (1.0 - grain / size) if size > grain else 0.0


@kernel
def ask_to_close(joints: Joints, j: int, ahead: np.ndarray, vel: np.ndarray, planar: bool, dt: float) -> None:
    """Let the rows of joint j ask for no error at the next midpoint, linearised about the velocities `vel`.

    ahead: poses of the bodies there, with these velocities.
    """
    s, errors = j * ROWS_PER_JOINT, np.empty(6)
    count = errors_at(joints, j, ahead[joints.link.a[j]], ahead[joints.link.b[j]], planar, errors)
    points = point_errors(joints.link.kind[j], planar)
    forget_rounding(errors[:points], dt * joints.row.grain[s])
    forget_rounding(errors[points:count], GRAIN)
    for k in range(count):
        joints.row.target[s + k] = row_velocity(joints, s + k, vel, joints.link.a[j], joints.link.b[j]) - errors[k] / dt


@kernel(apart=True)
def joint_rows(joints: Joints, bodies: Bodies, planar: bool, dt: float, theta: float) -> int:
    """Set up the rows of all joints at the midpoint; returns how many take part."""
    A, B = np.empty(7), np.empty(7)
    arm_a, arm_b, errors = np.empty(3), np.empty(3), np.empty(6)
    used, blow = 0, 0.0
    for j in range(joints.link.kind.shape[0]):
        blow = max(blow, max(bodies.stir[joints.link.a[j]], bodies.stir[joints.link.b[j]]))
        blow = max(blow, joint_way(joints, j, bodies, dt))
    ahead = np.empty((bodies.kind.shape[0], 7))
    midpoints_ahead(joints, bodies, bodies.ahead, dt, ahead)
    for j in range(joints.link.kind.shape[0]):
        s, a, b = j * ROWS_PER_JOINT, joints.link.a[j], joints.link.b[j]
        for k in range(ROWS_PER_JOINT):
            joints.row.used[s + k] = False
        if not (bodies.alive[a] and bodies.alive[b]):
            continue
        kind, length = joints.link.kind[j], joints.link.numbers[j, LENGTH]
        compose(bodies.mid[a], joints.link.frame_a[j], A)
        compose(bodies.mid[b], joints.link.frame_b[j], B)
        for k in range(3):
            # one point for both bodies, so that an impulse keeps their angular momentum
            arm_a[k] = (A[k] if kind == DISTANCE or kind == SPRING else B[k]) - bodies.mid[a, k]
            arm_b[k] = B[k] - bodies.mid[b, k]
        count = equality_rows(joints, j, planar, A, B, arm_a, arm_b)
        points, size = point_errors(kind, planar), joints.link.extent[j]
        if kind != SPRING:
            joint_errors(kind, planar, A, B, length, errors)
            joints.link.error[j] = max(joints.link.error[j], opening(errors, points, count, size))
            for k in range(3):
                size = max(size, max(abs(A[k]), abs(B[k])))
        if kind == REVOLUTE or kind == PRISMATIC:
            bounded_rows(joints, j, bodies, A, B, arm_a, arm_b, dt, blow)
        if kind == SPRING and count == 1:
            distance = math.sqrt((B[0] - A[0]) ** 2 + (B[1] - A[1]) ** 2 + (B[2] - A[2]) ** 2)
            spring_row(joints, j, bodies, distance, dt, theta)
        for k in range(count):
            joints.row.used[s + k] = True
            joints.row.low[s + k], joints.row.high[s + k] = -np.inf, np.inf
            if kind != SPRING:
                joints.row.grain[s + k] = GRAIN * (size if k < points else 1.0) / dt
        if kind != SPRING:
            ask_to_close(joints, j, ahead, bodies.ahead, planar, dt)
        for k in range(ROWS_PER_JOINT):
            if joints.row.used[s + k]:
                used += 1
                joints.row.asked[s + k] = abs(joints.row.target[s + k])
                joints.row.impulse[s + k] = min(
                    joints.row.high[s + k], max(joints.row.low[s + k], joints.row.impulse[s + k])
                )
            else:
                joints.row.impulse[s + k] = 0.0
    return used
