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
from typing import NamedTuple

import numpy as np

from stickslip.codes import GRAIN
from stickslip.jit import kernel
from stickslip.scenes.islands.gear_rows import distance, gear_error, gear_row
from stickslip.scenes.islands.held_rows import equality_rows, joint_errors, opening, point_errors
from stickslip.scenes.islands.row_kinds import (
    ARMATURE,
    DAMPING,
    DISTANCE,
    EFFORT,
    GEAR,
    HOLD,
    LENGTH,
    LOWER,
    PRISMATIC,
    REVOLUTE,
    ROPE,
    SCREW,
    SPEED,
    SPRING,
    STIFFNESS,
    TARGET,
    TORQUE,
    UPPER,
    VISCOUS,
    point_row,
    turn_about,
    turn_row,
)
from stickslip.scenes.layout import ROWS_PER_JOINT, Bodies, Joints
from stickslip.scenes.rotation import advance, compose, rotate, times, z_axis

LIMIT, MOTOR, FRICTION, PASSIVE = 6, 7, 8, 9
CLOSED = 1e-12  # of a coordinate [rad or m], and of 1: a joint that is nearer to its limit is at it


@kernel
def came_apart(joints: Joints) -> bool:
    """Whether a joint's position error is beyond its limit."""
    beyond = -np.inf
    for j in range(joints.link.kind.shape[0]):
        beyond = max(beyond, joints.link.error[j] - joints.link.limit[j])
    return beyond > 0.0


@kernel
def row_velocity(joints: Joints, row: int, vel: np.ndarray, a: int, b: int) -> float:
    """Velocity of a row for body velocities `vel`."""
    d = joints.row.direction[row]
    total = 0.0
    for k in range(3):
        total += d[k] * (vel[b, k] - vel[a, k]) + d[6 + k] * vel[b, 3 + k] - d[3 + k] * vel[a, 3 + k]
        total += d[9 + k] * vel[b, k]
    return total


@kernel(inline=True)
def add_pull(joints: Joints, row: int, pull: np.ndarray) -> None:
    """Add the impulse of a row to pull (12,), in the order of its direction."""
    d, x = joints.row.direction[row], joints.row.impulse[row]
    for k in range(12):
        pull[k] += x * d[k]


@kernel
def apply_pull(pull: np.ndarray, bodies: Bodies, velocities: np.ndarray, a: int, b: int) -> None:
    """Add what the impulses of a joint's rows, summed up, do to `velocities` of the bodies, (bodies, 6)."""
    for k in range(3):
        velocities[a, k] -= bodies.inv_mass[a] * pull[k]
        velocities[b, k] += bodies.inv_mass[b] * (pull[k] + pull[9 + k])
    x, y, z = times(bodies.inv_inertia[a], pull[3], pull[4], pull[5])
    velocities[a, 3] -= x
    velocities[a, 4] -= y
    velocities[a, 5] -= z
    x, y, z = times(bodies.inv_inertia[b], pull[6], pull[7], pull[8])
    velocities[b, 3] += x
    velocities[b, 4] += y
    velocities[b, 5] += z


@kernel
def joint_coordinate(joints: Joints, j: int, A: np.ndarray, B: np.ndarray) -> float:
    """Angle [rad] of a revolute joint or a screw, counted over turns, or travel [m] of a prismatic one."""
    if joints.link.kind[j] == PRISMATIC:
        x, y, z = z_axis(A)
        joints.link.turns[j] = x * (B[0] - A[0]) + y * (B[1] - A[1]) + z * (B[2] - A[2])
        return joints.link.turns[j]
    joints.link.turns[j] = turn_about(A, B, joints.link.turns[j])
    return joints.link.turns[j]


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
def has_axis(kind: int) -> bool:
    """Whether a joint has a coordinate of its own, with a motor, limits and friction."""
    return kind == REVOLUTE or kind == PRISMATIC or kind == SCREW


@kernel
def body_speed(bodies: Bodies, i: int, extent: float) -> float:
    """A bound on the speed of points within `extent` of the centre of body i, before the step and without impulses."""
    fastest = 0.0
    for vel in (bodies.vel, bodies.free):
        v = vel[i]
        speed = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
        fastest = max(fastest, speed + extent * math.sqrt(v[3] * v[3] + v[4] * v[4] + v[5] * v[5]))
    return fastest


@kernel
def joint_way(joints: Joints, j: int, bodies: Bodies, dt: float) -> float:
    """How far joint j may drive a body in a step [m]: by its velocity, the forces on its bodies, and its motor.

    Its own body, or others by way of joints between them: what comes to a limit drives its neighbours on.
    """
    kind, data, a, b = joints.link.kind[j], joints.link.numbers[j], joints.link.a[j], joints.link.b[j]
    if kind >= GEAR:
        return dt * (body_speed(bodies, a, joints.link.extent[j]) + body_speed(bodies, b, joints.link.extent[j]))
    if not has_axis(kind):
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
    rotor = data[ARMATURE] * row_velocity(joints, s, bodies.vel, a, b) - joints.row.blow[s]  # its momentum
    joints.row.target[s] = (rotor + given) / factor


@kernel
def note_passed(joints: Joints, j: int, x: float) -> None:
    """Keep how far the coordinate x of joint j has been beyond a limit at a midpoint [m]; turns times its extent."""
    data = joints.link.numbers[j]
    beyond = max(data[LOWER] - x, x - data[UPPER])
    if joints.link.kind[j] != PRISMATIC:
        beyond *= joints.link.extent[j]
    joints.link.passed[j] = max(joints.link.passed[j], beyond)


@kernel
def led_velocity(joints: Joints, j: int, bodies: Bodies, free: float, sign: float, dt: float) -> float:
    """Velocity in the direction of the limit row of joint j that its given torque, rotor and motor lead to.

    free : that without them; sign : of the row against the joint's coordinate, which stands in `turns`.
    Its bodies take the impulses as if nothing else held them, so that it is rather too large.
    """
    s, data, a, b = j * ROWS_PER_JOINT, joints.link.numbers[j], joints.link.a[j], joints.link.b[j]
    d, W, v = joints.row.direction[s + LIMIT], 0.0, free
    x, y, z = times(bodies.inv_inertia[a], d[3], d[4], d[5])
    W += x * d[3] + y * d[4] + z * d[5]
    x, y, z = times(bodies.inv_inertia[b], d[6], d[7], d[8])
    W += x * d[6] + y * d[7] + z * d[8]
    for k in range(3):
        W += bodies.inv_mass[a] * d[k] ** 2 + bodies.inv_mass[b] * (d[k] + d[9 + k]) ** 2
    if joints.row.used[s + PASSIVE]:
        soft = joints.row.soft[s + PASSIVE]
        v = (soft * v + W * sign * joints.row.target[s + PASSIVE]) / (soft + W)
    if data[EFFORT] > 0.0:
        target, soft = motor_law(data, joints.link.turns[j], dt)
        push = (sign * target - v) / max(soft + W, 1e-300)
        v += W * min(max(push, -dt * data[EFFORT]), dt * data[EFFORT])
    return v


class Sides(NamedTuple):
    """Both sides of a joint: its points A and B on the bodies [m], and their arms from the centres of mass [m]."""

    A: np.ndarray
    B: np.ndarray
    arm_a: np.ndarray
    arm_b: np.ndarray


@kernel
def bounded_rows(joints: Joints, j: int, bodies: Bodies, sides: Sides, dt: float, blow: float) -> None:
    """Limit, motor, dry friction, rotor and torque of a joint with an axis; blow: how far one may send a body [m]."""
    A, B, arm_a, arm_b = sides
    s, data = j * ROWS_PER_JOINT, joints.link.numbers[j]
    a, b = joints.link.a[j], joints.link.b[j]
    if data[ARMATURE] > 0.0 or data[VISCOUS] > 0.0 or data[TORQUE] != 0.0:
        coordinate_row(joints, j, PASSIVE, 1.0, A, arm_a, arm_b)
        passive_row(joints, j, bodies, dt)
    x = 0.0
    if data[LOWER] > -np.inf or data[UPPER] < np.inf or data[STIFFNESS] > 0.0:
        x = joint_coordinate(joints, j, A, B)
    if data[LOWER] > -np.inf or data[UPPER] < np.inf:
        note_passed(joints, j, x)
        low, high = x - data[LOWER], data[UPPER] - x
        sign, gap, far = (1.0, low, high) if low <= high else (-1.0, high, low)
        coordinate_row(joints, j, LIMIT, sign, A, arm_a, arm_b)
        free, before = (
            row_velocity(joints, s + LIMIT, bodies.free, a, b),
            row_velocity(joints, s + LIMIT, bodies.vel, a, b),
        )
        # Within what this step's forces can do, and a blow: these may drive a joint that is free to leave its limit.
        reach = dt * (abs(free - before) - min(free, before, 0.0)) + CLOSED * (1.0 + abs(x))
        reach += blow if joints.link.kind[j] == PRISMATIC else blow / joints.link.extent[j]
        if joints.row.used[s + PASSIVE] and data[TORQUE] != 0.0:  # which `free` does not have
            reach += dt * abs(led_velocity(joints, j, bodies, free, sign, dt))
        # The nearer limit counts, unless this step alone leads past the other one.
        if far <= reach and not joints.row.impulse[s + LIMIT] > 0.0 and gap + dt * min(free, before) > 0.0:
            if dt * led_velocity(joints, j, bodies, free, sign, dt) > far:
                sign, gap = -sign, far
                coordinate_row(joints, j, LIMIT, sign, A, arm_a, arm_b)
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
    return joint_errors(joints, j, planar, A, B, errors)


@kernel(apart=True)
def gap_with(joints: Joints, j: int, bodies: Bodies, vel: np.ndarray, planar: bool, dt: float) -> float:
    """How far joint j is apart at the next midpoint with the velocities `vel` [m]."""
    errors, p, q, a, b = np.empty(6), np.empty(7), np.empty(7), joints.link.a[j], joints.link.b[j]
    advance(bodies.mid[a], vel[a], dt, p)
    advance(bodies.mid[b], vel[b], dt, q)
    count = errors_at(joints, j, p, q, planar, errors)
    return opening(joints, j, planar, errors, count)


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


@kernel
def tie_row(joints: Joints, j: int, bodies: Bodies, A: np.ndarray, B: np.ndarray, reach: float) -> int:
    """The row of a gear, coupling, rope or pulley; returns how many take part: a rope that is slack has none.

    reach: a rope that has less than that to go may come taut in this step [m].
    """
    s, length = j * ROWS_PER_JOINT, joints.link.numbers[j, LENGTH]
    if not gear_row(joints, j, bodies, A, B):
        return 0
    if joints.link.kind[j] >= ROPE and joints.row.impulse[s] == 0.0:
        return 1 if gear_error(joints, j, A, B, length) <= reach + CLOSED * (1.0 + length) else 0
    return 1


@kernel(apart=True)
def rows_of(
    joints: Joints, j: int, bodies: Bodies, A: np.ndarray, B: np.ndarray, planar: bool, dt: float, blow: float
) -> int:
    """Directions of the rows without which joint j is none, and all of its rows with bounds; returns their number."""
    kind, a, b, arm_a, arm_b = joints.link.kind[j], joints.link.a[j], joints.link.b[j], np.empty(3), np.empty(3)
    if kind >= GEAR:
        return tie_row(joints, j, bodies, A, B, 2.0 * blow)
    for k in range(3):
        # one point for both bodies, so that an impulse keeps their angular momentum
        arm_a[k] = (A[k] if kind == DISTANCE or kind == SPRING else B[k]) - bodies.mid[a, k]
        arm_b[k] = B[k] - bodies.mid[b, k]
    count = equality_rows(joints, j, planar, A, B, arm_a, arm_b)
    if kind == SCREW:
        joint_coordinate(joints, j, A, B)
    if has_axis(kind):
        bounded_rows(joints, j, bodies, Sides(A, B, arm_a, arm_b), dt, blow)
    return count


@kernel
def note_opening(joints: Joints, j: int, planar: bool, A: np.ndarray, B: np.ndarray) -> float:
    """Keep the largest opening of joint j; returns the size of the coordinates that its errors are differences of."""
    errors, size = np.empty(6), joints.link.extent[j]
    count = joint_errors(joints, j, planar, A, B, errors)
    joints.link.error[j] = max(joints.link.error[j], opening(joints, j, planar, errors, count))
    for k in range(3):
        size = max(size, max(abs(A[k]), abs(B[k])))
    return size


@kernel
def begin_rows(joints: Joints, j: int) -> int:
    """Let the rows of joint j begin with the last impulses, within their bounds; returns how many take part."""
    s, used = j * ROWS_PER_JOINT, 0
    for k in range(s, s + ROWS_PER_JOINT):
        if joints.row.used[k]:
            used += 1
            joints.row.asked[k] = abs(joints.row.target[k])
            joints.row.impulse[k] = min(joints.row.high[k], max(joints.row.low[k], joints.row.impulse[k]))
        else:
            joints.row.impulse[k] = 0.0
    return used


@kernel
def farthest_way(joints: Joints, bodies: Bodies, dt: float) -> float:
    """How far a body that joints hold, or one that it may hit, can come in a step [m]."""
    blow = 0.0
    for j in range(joints.link.kind.shape[0]):
        blow = max(blow, max(bodies.stir[joints.link.a[j]], bodies.stir[joints.link.b[j]]))
        blow = max(blow, joint_way(joints, j, bodies, dt))
    return blow


@kernel(apart=True)
def joint_rows(joints: Joints, bodies: Bodies, planar: bool, dt: float, theta: float) -> int:
    """Set up the rows of all joints at the midpoint; returns how many take part."""
    A, B = np.empty(7), np.empty(7)
    used, blow = 0, farthest_way(joints, bodies, dt)
    ahead = np.empty((bodies.kind.shape[0], 7))
    midpoints_ahead(joints, bodies, bodies.ahead, dt, ahead)
    for j in range(joints.link.kind.shape[0]):
        s, a, b = j * ROWS_PER_JOINT, joints.link.a[j], joints.link.b[j]
        for k in range(ROWS_PER_JOINT):
            joints.row.used[s + k] = False
        if not (bodies.alive[a] and bodies.alive[b]):
            continue
        kind, size = joints.link.kind[j], 0.0
        compose(bodies.mid[a], joints.link.frame_a[j], A)
        compose(bodies.mid[b], joints.link.frame_b[j], B)
        count = rows_of(joints, j, bodies, A, B, planar, dt, blow)
        points = point_errors(kind, planar)
        if kind != SPRING:
            size = note_opening(joints, j, planar, A, B)
        elif count == 1:
            spring_row(joints, j, bodies, distance(A, B), dt, theta)
        for k in range(count):
            joints.row.used[s + k] = True
            joints.row.low[s + k], joints.row.high[s + k] = 0.0 if kind >= ROPE else -np.inf, np.inf
            if kind != SPRING:
                joints.row.grain[s + k] = GRAIN * (size if k < points else 1.0) / dt
        if kind != SPRING:
            ask_to_close(joints, j, ahead, bodies.ahead, planar, dt)
        used += begin_rows(joints, j)
    return used
