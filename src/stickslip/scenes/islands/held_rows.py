"""Position errors of joints that hold bodies together, and the directions of their rows, in one order.

Lengths come first, then angles: across the axis of a hinge, along x, y and z where nothing may turn.  The third row of
a screw is its travel less lead / (2 pi) times its turn.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.islands.gear_rows import distance, gear_error
from stickslip.scenes.islands.row_kinds import (
    CYLINDRICAL,
    DISTANCE,
    FIXED,
    GEAR,
    LENGTH,
    PLANAR,
    PRISMATIC,
    REVOLUTE,
    ROPE,
    SCREW,
    SPRING,
    TRANSLATIONAL,
    UNIVERSAL,
    add_turns,
    along,
    point_row,
    relative_turn,
    turn_about,
    turn_row,
)
from stickslip.scenes.layout import ROWS_PER_JOINT, Joints
from stickslip.scenes.rotation import rotate, x_axis, y_axis, z_axis


@kernel
def slides(kind: int) -> bool:
    """Whether points of b move along the axis of a joint that holds them across it."""
    return kind == PRISMATIC or kind == CYLINDRICAL or kind == SCREW


@kernel
def shift_errors(joints: Joints, j: int, planar: bool, A: np.ndarray, B: np.ndarray, out: np.ndarray) -> int:
    """Position errors of a joint that are lengths; returns how many there are."""
    kind = joints.link.kind[j]
    if kind == TRANSLATIONAL:
        return 0
    if kind == PLANAR:
        out[0] = along(A, B, z_axis(A))
        return 1
    if not slides(kind):
        out[0], out[1], out[2] = B[0] - A[0], B[1] - A[1], B[2] - A[2]
        return 2 if planar else 3
    out[0] = along(A, B, x_axis(A))
    if planar:
        return 1
    out[1] = along(A, B, y_axis(A))
    if kind != SCREW:
        return 2
    turn = turn_about(A, B, joints.link.turns[j])
    out[2] = along(A, B, z_axis(A)) - joints.link.law[j, 0] * turn
    return 3


@kernel
def keeps_axis(kind: int) -> bool:
    """Whether, in space, the z axes of both frames of a joint are one."""
    return kind == REVOLUTE or kind == CYLINDRICAL or kind == SCREW or kind == PLANAR


@kernel
def keeps_turn(kind: int) -> bool:
    """Whether b does not turn against a."""
    return kind == PRISMATIC or kind == FIXED or kind == TRANSLATIONAL


@kernel
def joint_errors(joints: Joints, j: int, planar: bool, A: np.ndarray, B: np.ndarray, out: np.ndarray) -> int:
    """Position errors of joint j whose frames are at A and B; returns how many there are."""
    kind, length = joints.link.kind[j], joints.link.numbers[j, LENGTH]
    if kind == DISTANCE:
        out[0] = distance(A, B) - length
        return 1
    if kind >= GEAR:
        out[0] = gear_error(joints, j, A, B, length)
        return 1
    count = shift_errors(joints, j, planar, A, B, out)
    if keeps_axis(kind) and not planar:
        x, y, z = z_axis(A)
        p, q, r = z_axis(B)
        x, y, z = y * r - z * q, z * p - x * r, x * q - y * p  # z_A x z_B = the turn of B across the axis
        a, b, c = x_axis(A)
        out[count] = a * x + b * y + c * z
        a, b, c = y_axis(A)
        out[count + 1] = a * x + b * y + c * z
        count += 2
    if kind == UNIVERSAL:
        x, y, z = z_axis(A)
        p, q, r = x_axis(B)
        out[count] = -(x * p + y * q + z * r)
        count += 1
    if keeps_turn(kind):
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
    if kind == DISTANCE or kind >= GEAR or kind == PLANAR:
        return 1
    if kind == TRANSLATIONAL:
        return 0
    return (2 if planar else 3) - (1 if kind == PRISMATIC or kind == CYLINDRICAL else 0)


@kernel
def opening(joints: Joints, j: int, planar: bool, errors: np.ndarray, count: int) -> float:
    """How far joint j is apart [m]: its position errors, and its turns at the distance of its extent."""
    kind, extent, total = joints.link.kind[j], joints.link.extent[j], 0.0
    if kind >= ROPE:
        return max(0.0, -errors[0])
    points = point_errors(kind, planar)
    for k in range(count):
        total += errors[k] ** 2 if k < points else (extent * errors[k]) ** 2
    return math.sqrt(total)


@kernel
def shift_rows(joints: Joints, j: int, planar: bool, A: np.ndarray, arm_a: np.ndarray, arm_b: np.ndarray) -> int:
    """Directions of the rows of `shift_errors`; returns how many there are."""
    s, kind = j * ROWS_PER_JOINT, joints.link.kind[j]
    if kind == TRANSLATIONAL:
        return 0
    if kind == PLANAR:
        x, y, z = z_axis(A)
        point_row(joints, s, x, y, z, arm_a, arm_b)
        return 1
    if not slides(kind):
        point_row(joints, s, 1.0, 0.0, 0.0, arm_a, arm_b)
        point_row(joints, s + 1, 0.0, 1.0, 0.0, arm_a, arm_b)
        if not planar:
            point_row(joints, s + 2, 0.0, 0.0, 1.0, arm_a, arm_b)
        return 2 if planar else 3
    x, y, z = x_axis(A)
    point_row(joints, s, x, y, z, arm_a, arm_b)
    if planar:
        return 1
    x, y, z = y_axis(A)
    point_row(joints, s + 1, x, y, z, arm_a, arm_b)
    if kind != SCREW:
        return 2
    x, y, z = z_axis(A)
    point_row(joints, s + 2, x, y, z, arm_a, arm_b)
    add_turns(joints, s + 2, (x, y, z), -joints.link.law[j, 0], -joints.link.law[j, 0])
    return 3


@kernel
def equality_rows(
    joints: Joints, j: int, planar: bool, A: np.ndarray, B: np.ndarray, arm_a: np.ndarray, arm_b: np.ndarray
) -> int:
    """Directions of the equality rows, in the order of `joint_errors`; arm_a of a prismatic joint reaches to B."""
    s = j * ROWS_PER_JOINT
    kind = joints.link.kind[j]
    if kind == DISTANCE or kind == SPRING:
        d0, d1, d2 = B[0] - A[0], B[1] - A[1], B[2] - A[2]
        length = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
        if length == 0.0:
            return 0
        point_row(joints, s, d0 / length, d1 / length, d2 / length, arm_a, arm_b)
        return 1
    count = shift_rows(joints, j, planar, A, arm_a, arm_b)
    if keeps_axis(kind) and not planar:
        x, y, z = x_axis(A)
        turn_row(joints, s + count, x, y, z)
        x, y, z = y_axis(A)
        turn_row(joints, s + count + 1, x, y, z)
        count += 2
    if kind == UNIVERSAL:
        x, y, z = z_axis(A)
        p, q, r = x_axis(B)
        x, y, z = y * r - z * q, z * p - x * r, x * q - y * p
        size = math.sqrt(x * x + y * y + z * z)
        if size > 0.0:
            turn_row(joints, s + count, x / size, y / size, z / size)
            count += 1
    if keeps_turn(kind):
        if not planar:
            turn_row(joints, s + count, 1.0, 0.0, 0.0)
            turn_row(joints, s + count + 1, 0.0, 1.0, 0.0)
            count += 2
        turn_row(joints, s + count, 0.0, 0.0, 1.0)
        count += 1
    return count
