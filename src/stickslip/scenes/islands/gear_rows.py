"""Rows that tie bodies to one another beside the joints that hold them: gears, racks, couplings, ropes, pulleys.

Each has one position error g, and one row with the velocity of g.

- Gear: pitch circles with the radii r_a, r_b (negative for a ring) roll on one another.  With the angles alpha, beta of
  the line of centres, seen from both wheels, g = r_a alpha + r_b beta.  That is the slip at the pitch point, and needs
  no third body that carries the wheels: planets and sun wheels need nothing else.
- Rack: g = x - r theta, with the turn theta of the pinion b against the rack a and its travel x along it.
- Coupling of two joints whose other sides stand still: g = c (k x_b - x_a) with their coordinates, and c the extent of
  the first body where that is an angle, so that g is a length.
- Rope: g = L - |x_b - x_a| >= 0, and a row that only pulls.
- Pulley: g = L - |x_a - p_a| - k |x_b - p_b| >= 0 with the points p of the world that the rope runs over.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.islands.row_kinds import (
    COUPLING,
    GEAR,
    PULLEY,
    RACK,
    ROPE,
    add_turns,
    along,
    counted,
    point_row,
    turn_about,
)
from stickslip.scenes.layout import ROWS_PER_JOINT, Bodies, Joints
from stickslip.scenes.rotation import rotate, x_axis, y_axis, z_axis

RATIO = 0  # of couplings and pulleys; radii of gears are 0 and 1, that of a rack is 0
FIRST, SECOND = 1, 2  # of couplings: 1 or -1 for a turn of b or a, 2 or -2 for a travel


@kernel
def distance(A: np.ndarray, B: np.ndarray) -> float:
    """Of two points [m]."""
    return math.sqrt((B[0] - A[0]) ** 2 + (B[1] - A[1]) ** 2 + (B[2] - A[2]) ** 2)


@kernel
def line_angle(F: np.ndarray, A: np.ndarray, B: np.ndarray, seen: float) -> float:
    """Angle of the line from A to B about the z axis of frame F, from its x axis, nearest to the one seen last."""
    return counted(math.atan2(along(A, B, y_axis(F)), along(A, B, x_axis(F))), seen)


@kernel
def coordinate(what: float, P: np.ndarray, F: np.ndarray, seen: float) -> float:
    """Turn or travel of frame F against the frame P of the world; `what` as in FIRST, SECOND."""
    x = along(P, F, z_axis(P)) if abs(what) == 2.0 else turn_about(P, F, seen)
    return x if what > 0.0 else -x


@kernel
def gear_angles(joints: Joints, j: int, A: np.ndarray, B: np.ndarray) -> tuple[float, float]:
    """The angles, or travels, of joint j whose turns are counted."""
    link = joints.link
    kind, x, y = link.kind[j], link.turns[j], link.turns_b[j]
    if kind == GEAR:
        return line_angle(A, A, B, x), line_angle(B, A, B, y)
    if kind == RACK:
        return turn_about(A, B, x), along(A, B, x_axis(A))
    if kind == COUPLING:
        place, law = link.place[j], link.law[j]
        return coordinate(law[FIRST], place[:7], A, x), coordinate(law[SECOND], place[7:], B, y)
    return 0.0, 0.0


@kernel
def coupling_scale(joints: Joints, j: int) -> float:
    """Factor that makes a length of the error of a coupling [m or 1]."""
    extent = joints.link.extent[j]
    return extent if abs(joints.link.law[j, FIRST]) == 1.0 and extent > 0.0 else 1.0


@kernel
def gear_error(joints: Joints, j: int, A: np.ndarray, B: np.ndarray, length: float) -> float:
    """g of joint j whose frames are at A and B [m]; length: of a rope."""
    kind, law, place = joints.link.kind[j], joints.link.law[j], joints.link.place[j]
    if kind == ROPE:
        return length - distance(A, B)
    if kind == PULLEY:
        return length - distance(place, A) - law[RATIO] * distance(place[7:], B)
    x, y = gear_angles(joints, j, A, B)
    if kind == GEAR:
        return law[0] * x + law[1] * y
    if kind == RACK:
        return y - law[0] * x
    return coupling_scale(joints, j) * (law[RATIO] * y - x)


@kernel
def mesh_row(joints: Joints, j: int, A: np.ndarray, B: np.ndarray, arm_a: np.ndarray, arm_b: np.ndarray) -> bool:
    """Direction of the row of a gear; False where its centres meet."""
    s, law = j * ROWS_PER_JOINT, joints.link.law[j]
    z = z_axis(A)
    off = along(A, B, z)
    e0, e1, e2 = B[0] - A[0] - off * z[0], B[1] - A[1] - off * z[1], B[2] - A[2] - off * z[2]
    size = e0 * e0 + e1 * e1 + e2 * e2
    if size == 0.0:
        return False
    c = (law[0] + law[1]) / size  # 1 / length for a unit vector, and once more for the rate of its angle
    t0, t1, t2 = z[1] * e2 - z[2] * e1, z[2] * e0 - z[0] * e2, z[0] * e1 - z[1] * e0
    point_row(joints, s, c * t0, c * t1, c * t2, arm_a, arm_b)
    add_turns(joints, s, z, law[0], -law[1])
    return True


@kernel
def coupling_side(
    what: float, P: np.ndarray, arm: np.ndarray, factor: float, linear: np.ndarray, angular: np.ndarray
) -> None:
    """Write how `factor` times the coordinate of one side of a coupling changes with its body's motion."""
    x, y, z = rotate(P, 0.0, 0.0, factor if what > 0.0 else -factor)
    for k in range(3):
        linear[k] = 0.0
    if abs(what) == 2.0:
        linear[0], linear[1], linear[2] = x, y, z
        x, y, z = arm[1] * z - arm[2] * y, arm[2] * x - arm[0] * z, arm[0] * y - arm[1] * x
    angular[0], angular[1], angular[2] = x, y, z


@kernel
def coupling_row(joints: Joints, j: int, arm_a: np.ndarray, arm_b: np.ndarray) -> None:
    """Direction of the row of a coupling: c (k dx_b/dt - dx_a/dt)."""
    d, law, place = joints.row.direction[j * ROWS_PER_JOINT], joints.link.law[j], joints.link.place[j]
    c = coupling_scale(joints, j)
    coupling_side(law[FIRST], place[:7], arm_a, c, d[0:3], d[3:6])
    coupling_side(law[SECOND], place[7:], arm_b, c * law[RATIO], d[9:12], d[6:9])
    for k in range(3):
        d[9 + k] -= d[k]


@kernel
def pulley_row(joints: Joints, j: int, A: np.ndarray, B: np.ndarray, arm_a: np.ndarray, arm_b: np.ndarray) -> bool:
    """Direction of the row of a pulley; False where an end is at the point that its rope runs over."""
    s, k, place = j * ROWS_PER_JOINT, joints.link.law[j, RATIO], joints.link.place[j]
    p, q = distance(place, A), distance(place[7:], B)
    if p == 0.0 or q == 0.0:
        return False
    x, y, z = (A[0] - place[0]) / p, (A[1] - place[1]) / p, (A[2] - place[2]) / p
    point_row(joints, s, x, y, z, arm_a, arm_b)
    e0, e1, e2 = -k * (B[0] - place[7]) / q, -k * (B[1] - place[8]) / q, -k * (B[2] - place[9]) / q
    d = joints.row.direction[s]
    d[6], d[7], d[8] = arm_b[1] * e2 - arm_b[2] * e1, arm_b[2] * e0 - arm_b[0] * e2, arm_b[0] * e1 - arm_b[1] * e0
    d[9], d[10], d[11] = e0 - x, e1 - y, e2 - z
    return True


@kernel(apart=True)
def gear_row(joints: Joints, j: int, bodies: Bodies, A: np.ndarray, B: np.ndarray) -> bool:
    """Write the direction of the row of joint j, and count its turns; False where there is none."""
    s, kind, arm_a, arm_b = j * ROWS_PER_JOINT, joints.link.kind[j], np.empty(3), np.empty(3)
    for k in range(3):
        arm_a[k] = (B[k] if kind == RACK else A[k]) - bodies.mid[joints.link.a[j], k]
        arm_b[k] = B[k] - bodies.mid[joints.link.b[j], k]
    joints.link.turns[j], joints.link.turns_b[j] = gear_angles(joints, j, A, B)
    if kind == GEAR:
        return mesh_row(joints, j, A, B, arm_a, arm_b)
    if kind == RACK:
        x, y, z = x_axis(A)
        point_row(joints, s, x, y, z, arm_a, arm_b)
        radius = joints.link.law[j, 0]
        add_turns(joints, s, z_axis(A), -radius, -radius)
        return True
    if kind == COUPLING:
        coupling_row(joints, j, arm_a, arm_b)
        return True
    if kind == PULLEY:
        return pulley_row(joints, j, A, B, arm_a, arm_b)
    size = distance(A, B)
    if size == 0.0:
        return False
    point_row(joints, s, (A[0] - B[0]) / size, (A[1] - B[1]) / size, (A[2] - B[2]) / size, arm_a, arm_b)
    return True
