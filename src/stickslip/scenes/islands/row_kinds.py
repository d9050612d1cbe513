"""Kinds of joints as kernels know them, and what rows of all kinds are made of.

A row has the velocity

    l . (v_b - v_a) + m_b . omega_b - m_a . omega_a + e . v_b;

its direction holds l, m_a, m_b and e.  e is zero but for couplings and pulleys, where bodies go different ways.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.layout import ROWS_PER_JOINT, Joints

SPHERICAL, REVOLUTE, PRISMATIC, FIXED, DISTANCE, SPRING = range(6)
UNIVERSAL, CYLINDRICAL, SCREW, PLANAR, TRANSLATIONAL = range(6, 11)
GEAR, RACK, COUPLING, ROPE, PULLEY = range(11, 16)
"""From GEAR on: one row beside the joints that hold the bodies; from ROPE on it only pulls."""

LENGTH, LOWER, UPPER, SPEED, EFFORT, HOLD, STIFFNESS, DAMPING, TARGET, TORQUE, ARMATURE, VISCOUS = range(12)
NUMBERS = 12
"""Numbers of a joint."""


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
def counted(angle: float, seen: float) -> float:
    """An angle with the turns that bring it nearest to the one seen last."""
    return angle + 2.0 * math.pi * round((seen - angle) / (2.0 * math.pi))


@kernel
def turn_about(A: np.ndarray, B: np.ndarray, seen: float) -> float:
    """Angle of frame B against frame A about their z axis, nearest to the one seen last."""
    w, _, _, z = relative_turn(A, B)
    return counted(2.0 * math.atan2(z, w), seen)


@kernel
def point_row(joints: Joints, row: int, x: float, y: float, z: float, arm_a: np.ndarray, arm_b: np.ndarray) -> None:
    """Relative velocity of two points along (x, y, z); arms from the centres of mass."""
    d = joints.row.direction[row]
    d[0], d[1], d[2] = x, y, z
    d[3], d[4], d[5] = arm_a[1] * z - arm_a[2] * y, arm_a[2] * x - arm_a[0] * z, arm_a[0] * y - arm_a[1] * x
    d[6], d[7], d[8] = arm_b[1] * z - arm_b[2] * y, arm_b[2] * x - arm_b[0] * z, arm_b[0] * y - arm_b[1] * x
    d[9], d[10], d[11] = 0.0, 0.0, 0.0


@kernel
def turn_row(joints: Joints, row: int, x: float, y: float, z: float) -> None:
    """Relative angular velocity along (x, y, z)."""
    d = joints.row.direction[row]
    d[0], d[1], d[2] = 0.0, 0.0, 0.0
    d[3], d[4], d[5] = x, y, z
    d[6], d[7], d[8] = x, y, z
    d[9], d[10], d[11] = 0.0, 0.0, 0.0


@kernel
def row_length(joints: Joints, row: int) -> float:
    """Length [m] that makes the velocity of a row one of points, in m/s: its joint's extent where it turns, else 1.

    Residuals compare rows with one another and with contacts.  In rad/s a small mechanism would be held to more than a
    large one that moves alike.
    """
    d, j = joints.row.direction[row], row // ROWS_PER_JOINT
    extent = joints.link.extent[j]
    if joints.link.kind[j] >= GEAR or not extent > 0.0:
        return 1.0
    moves = d[0] != 0.0 or d[1] != 0.0 or d[2] != 0.0 or d[9] != 0.0 or d[10] != 0.0 or d[11] != 0.0
    return 1.0 if moves else extent


@kernel
def add_turns(joints: Joints, row: int, z: tuple[float, float, float], first: float, second: float) -> None:
    """Add turns about z to a row: `second` times that of b, less `first` times that of a."""
    d = joints.row.direction[row]
    d[3], d[4], d[5] = d[3] + first * z[0], d[4] + first * z[1], d[5] + first * z[2]
    d[6], d[7], d[8] = d[6] + second * z[0], d[7] + second * z[1], d[8] + second * z[2]


@kernel
def along(A: np.ndarray, B: np.ndarray, e: tuple[float, float, float]) -> float:
    """How far B is from A in the direction e [m]."""
    return e[0] * (B[0] - A[0]) + e[1] * (B[1] - A[1]) + e[2] * (B[2] - A[2])
