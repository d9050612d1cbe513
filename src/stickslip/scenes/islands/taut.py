"""Links under tension: what makes a chain with a heavy load stable at steps longer than the swing of its links.

A joint's force F at the arm p turns a body back like a pendulum: the moment p x F changes by (phi x p) x F with the
turn phi.  Across a link under the tension T with the inertia J that is a swing with omega^2 = T l / J.  The midpoint
rule holds F and p at one time of the step, and grows without bound where omega dt > 2.  With the arms averaged over the
midpoints before, in and after the step, with the weights beta, 1 - 2 beta, beta, the moment is

    p x F - dt beta A (omega_E - omega_A),    A = (p . F) 1 - p F^T (its symmetric part),

which is stable at any step for beta >= 1/4 (Newmark), damps nothing, and stays of order two.  dt beta A adds to the
inertia of the body.  It is taken with the force of the last step, where dt A is larger than TAUT times the inertia, and
for pulls alone: what is pushed shall buckle.

Twelve links of 0.1 kg that swing down with 100 kg at the end (omega dt up to 4, 8.7 at dt = 2, 5 ms), change of the
energy: beta = 0: comes apart; 1/4: comes apart; 0.3: 0.013 %, comes apart; 1/2: 0.02 %, 0.035 %.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import kernel
from stickslip.scenes.islands.held_rows import point_errors
from stickslip.scenes.islands.row_kinds import REVOLUTE, SPHERICAL
from stickslip.scenes.layout import MOVING, ROWS_PER_JOINT, Bodies, Joints
from stickslip.scenes.rotation import invert, rotate, times

BETA = 0.5
TAUT = 1.0  # (omega dt)^2 from which on the moment is averaged; the midpoint rule fails at 4


@kernel
def add_tension(joints: Joints, j: int, bodies: Bodies, planar: bool, A: np.ndarray) -> None:
    """Add A of the bodies of joint j, with its impulses in place of the force."""
    x, y, z = 0.0, 0.0, 0.0
    for k in range(point_errors(joints.link.kind[j], planar)):
        s = j * ROWS_PER_JOINT + k
        if joints.row.used[s]:
            d, f = joints.row.direction[s], joints.row.impulse[s]
            x, y, z = x + f * d[0], y + f * d[1], z + f * d[2]
    for body, frame, sign in (
        (joints.link.a[j], joints.link.frame_a[j], -1.0),
        (joints.link.b[j], joints.link.frame_b[j], 1.0),
    ):
        if bodies.kind[body] == MOVING:
            p, q, r = rotate(bodies.mid[body], frame[0], frame[1], frame[2])
            f, g, h = sign * x, sign * y, sign * z
            pull, M = p * f + q * g + r * h, A[body]
            M[0] += pull - p * f
            M[4] += pull - q * g
            M[8] += pull - r * h
            M[1] -= 0.5 * (p * g + q * f)
            M[2] -= 0.5 * (p * h + r * f)
            M[5] -= 0.5 * (q * h + r * g)


@kernel
def add_inertia(bodies: Bodies, i: int, dt: float, planar: bool, A: np.ndarray) -> None:
    """Add dt beta A to what an impulse meets in body i, and to its free motion."""
    J, K, v, free = np.empty(9), np.empty(9), bodies.vel[i], bodies.free[i]
    for k in range(9):
        bodies.taut[i, k] = BETA * dt * A[k]
    x, y, z = free[3] - v[3], free[4] - v[4], free[5] - v[5]
    if planar:
        inertia = 1.0 / bodies.inv_inertia[i, 8]
        bodies.inv_inertia[i, 8] = 1.0 / (inertia + bodies.taut[i, 8])
        free[5] = v[5] + inertia * bodies.inv_inertia[i, 8] * z
        return
    invert(bodies.inv_inertia[i], J)
    x, y, z = times(J, x, y, z)
    for k in range(9):
        K[k] = J[k] + bodies.taut[i, k]
    invert(K, bodies.inv_inertia[i])
    x, y, z = times(bodies.inv_inertia[i], x, y, z)
    free[3], free[4], free[5] = v[3] + x, v[4] + y, v[5] + z


@kernel
def length(M: np.ndarray) -> float:
    """Root of the sum of the squares of a matrix (9,): no turn changes it."""
    total = 0.0
    for k in range(9):
        total += M[k] * M[k]
    return math.sqrt(total)


@kernel
def fastest(inverse: np.ndarray, A: np.ndarray) -> float:
    """The largest omega^2 dt of J^-1 A, with J^-1 positive definite and A symmetric; no turn changes it.

    Its three eigenvalues are real: with the mean m and B = J^-1 A - m 1 they are m + 2 p cos((acos r + 2 pi k) / 3),
    p^2 = tr B^2 / 6, r = det B / (2 p^3).
    """
    B = np.empty(9)
    for i in range(3):
        for k in range(3):
            B[3 * i + k] = inverse[3 * i] * A[k] + inverse[3 * i + 1] * A[3 + k] + inverse[3 * i + 2] * A[6 + k]
    mean = (B[0] + B[4] + B[8]) / 3.0
    for k in range(3):
        B[4 * k] -= mean
    square = B[0] * B[0] + B[4] * B[4] + B[8] * B[8] + 2.0 * (B[1] * B[3] + B[2] * B[6] + B[5] * B[7])
    if square <= 0.0:
        return mean
    p = math.sqrt(square / 6.0)
    det = B[0] * (B[4] * B[8] - B[5] * B[7]) - B[1] * (B[3] * B[8] - B[5] * B[6]) + B[2] * (B[3] * B[7] - B[4] * B[6])
    r = min(1.0, max(-1.0, 0.5 * det / (p * p * p)))
    return mean + 2.0 * p * math.cos(math.acos(r) / 3.0)


@kernel(apart=True)
def stiffen(joints: Joints, bodies: Bodies, planar: bool, dt: float) -> None:
    """Average the moments of taut joints over the step; bodies have their free motion, joints their last impulses."""
    n = bodies.kind.shape[0]
    A = np.zeros((n, 9))
    for j in range(joints.link.kind.shape[0]):
        kind = joints.link.kind[j]
        if kind == SPHERICAL or kind == REVOLUTE:
            if bodies.alive[joints.link.a[j]] and bodies.alive[joints.link.b[j]]:
                add_tension(joints, j, bodies, planar, A)
    for i in range(n):
        if bodies.kind[i] != MOVING or not bodies.alive[i]:
            continue
        M, inverse = A[i], bodies.inv_inertia[i]
        if bodies.isotropic[i] and bodies.taut[i, 8] != 0.0:  # free motion leaves it as it was
            for k in range(9):
                inverse[k] = 0.0
            inverse[8] = 1.0 / bodies.inertia[i, 8]
            if not planar:
                inverse[0], inverse[4] = inverse[8], inverse[8]
        for k in range(9):
            bodies.taut[i, k] = 0.0
        M[3], M[6], M[7] = M[1], M[2], M[5]
        if planar:
            if dt * M[8] * inverse[8] > TAUT:
                add_inertia(bodies, i, dt, planar, M)
            continue
        if dt * length(M) * length(inverse) <= TAUT:  # a bound on what follows
            continue
        least = M[0] * M[4] - M[1] * M[3] + M[0] * M[8] - M[2] * M[6] + M[4] * M[8] - M[5] * M[7]
        if least > 0.0 and dt * fastest(inverse, M) > TAUT:
            add_inertia(bodies, i, dt, planar, M)


@kernel
def taut_work(bodies: Bodies) -> float:
    """Work that taut joints do in this step by the average of their arms [J]."""
    total = 0.0
    for i in range(bodies.kind.shape[0]):
        if bodies.kind[i] == MOVING and bodies.alive[i] and bodies.taut[i, 8] + bodies.taut[i, 0] != 0.0:
            v, w = bodies.vel[i], bodies.end[i]
            x, y, z = times(bodies.taut[i], w[3] - v[3], w[4] - v[4], w[5] - v[5])
            total -= 0.5 * ((w[3] + v[3]) * x + (w[4] + v[4]) * y + (w[5] + v[5]) * z)
    return total
