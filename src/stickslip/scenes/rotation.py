"""Rotations: unit quaternions (w, x, y, z), and the angular momentum balance of a free body over one step.

A body with inertia J at the midpoint and angular velocity omega at an end of the step is turned from the midpoint to
that end by E(phi) = exp [phi], phi = theta dt omega, and has there the momentum E(phi) J omega, because E leaves
omega itself alone.  The balance of momentum over the step,

    E(theta dt omega_E) J omega_E = E(-(1 - theta) dt omega_A) J omega_A + dt tau,

keeps the momentum of a free body exactly, is of order two for theta = 1/2, and holds all gyroscopic terms.  Its slope

    K = E (J - theta dt [J omega] T(phi)),   T(phi) = 1 - (1 - cos p)/p^2 [phi] + (p - sin p)/p^3 [phi]^2,  p = |phi|,

is what an impulse meets: d omega_E = K^-1 d(angular impulse).

That is linear in impulses that are small.  A body that is struck changes omega at once, at the midpoint, where it has
the inertia J: there omega = J^-1 L is linear in the impulses, however large, and omega_E follows from L by the balance.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import kernel

ROUNDS, HALVINGS = 60, 12
SLOW = 1e-8  # radians in a half step, whose square is below the last digit of a number
MOST_TURN = 0.5  # radians by which one iteration may change what omega turns: larger steps reach other branches
ROUNDING = 1e-14  # of the momentum: a smaller error is rounding, and no iteration improves on it
# The momentum of a slender body that spins about its own axis is a small difference of large products J_ij omega_j.
MOST_CANCELLED = 1e6  # these products over the momentum, up to which their rounding explains an error


@kernel
def rotate(pose: np.ndarray, x: float, y: float, z: float) -> tuple[float, float, float]:
    """The vector (x, y, z), given in body axes, in world axes."""
    w, a, b, c = pose[3], pose[4], pose[5], pose[6]
    p = 2.0 * (b * z - c * y)
    q = 2.0 * (c * x - a * z)
    r = 2.0 * (a * y - b * x)
    return x + w * p + b * r - c * q, y + w * q + c * p - a * r, z + w * r + a * q - b * p


@kernel(inline=True)
def x_axis(pose: np.ndarray) -> tuple[float, float, float]:
    """rotate(pose, 1, 0, 0), without the products with zero."""
    w, a, b, c = pose[3], pose[4], pose[5], pose[6]
    q, r = 2.0 * c, -2.0 * b
    return 1.0 + b * r - c * q, w * q - a * r, w * r + a * q


@kernel(inline=True)
def y_axis(pose: np.ndarray) -> tuple[float, float, float]:
    """rotate(pose, 0, 1, 0)."""
    w, a, b, c = pose[3], pose[4], pose[5], pose[6]
    p, r = -2.0 * c, 2.0 * a
    return w * p + b * r, 1.0 + c * p - a * r, w * r - b * p


@kernel(inline=True)
def z_axis(pose: np.ndarray) -> tuple[float, float, float]:
    """rotate(pose, 0, 0, 1)."""
    w, a, b, c = pose[3], pose[4], pose[5], pose[6]
    p, q = 2.0 * b, -2.0 * a
    return w * p - c * q, w * q + c * p, 1.0 + a * q - b * p


@kernel
def rotate_back(pose: np.ndarray, x: float, y: float, z: float) -> tuple[float, float, float]:
    """The vector (x, y, z), given in world axes, in body axes."""
    w, a, b, c = pose[3], -pose[4], -pose[5], -pose[6]
    p = 2.0 * (b * z - c * y)
    q = 2.0 * (c * x - a * z)
    r = 2.0 * (a * y - b * x)
    return x + w * p + b * r - c * q, y + w * q + c * p - a * r, z + w * r + a * q - b * p


@kernel
def to_world(pose: np.ndarray, x: float, y: float, z: float) -> tuple[float, float, float]:
    """The point (x, y, z) of a body, in world coordinates."""
    a, b, c = rotate(pose, x, y, z)
    return pose[0] + a, pose[1] + b, pose[2] + c


@kernel
def to_body(pose: np.ndarray, x: float, y: float, z: float) -> tuple[float, float, float]:
    """A point of the world in body coordinates."""
    return rotate_back(pose, x - pose[0], y - pose[1], z - pose[2])


@kernel
def compose(outer: np.ndarray, inner: np.ndarray, out: np.ndarray) -> None:
    """out = the pose `inner`, given in the frame `outer`, in world coordinates."""
    w, a, b, c = outer[3], outer[4], outer[5], outer[6]
    p, q, r, s = inner[3], inner[4], inner[5], inner[6]
    x, y, z = to_world(outer, inner[0], inner[1], inner[2])
    out[0], out[1], out[2] = x, y, z
    out[3] = w * p - a * q - b * r - c * s
    out[4] = w * q + a * p + b * s - c * r
    out[5] = w * r - a * s + b * p + c * q
    out[6] = w * s + a * r - b * q + c * p


@kernel
def advance(pose: np.ndarray, vel: np.ndarray, time: float, out: np.ndarray) -> None:
    """out = pose moved with constant velocity and angular velocity; the quaternion stays of unit length."""
    out[0] = pose[0] + time * vel[0]
    out[1] = pose[1] + time * vel[1]
    out[2] = pose[2] + time * vel[2]
    w, a, b, c = pose[3], pose[4], pose[5], pose[6]
    x, y, z = time * vel[3], time * vel[4], time * vel[5]
    angle = math.sqrt(x * x + y * y + z * z)
    if angle == 0.0:
        out[3], out[4], out[5], out[6] = w, a, b, c
        return
    p, k = 1.0, 0.5
    if angle >= SLOW:  # below, these are cosine and sine to the last digit
        p, k = math.cos(0.5 * angle), math.sin(0.5 * angle) / angle
    q, r, s = k * x, k * y, k * z
    n0 = p * w - q * a - r * b - s * c
    n1 = p * a + q * w + r * c - s * b
    n2 = p * b - q * c + r * w + s * a
    n3 = p * c + q * b - r * a + s * w
    scale = 1.0 / math.sqrt(n0 * n0 + n1 * n1 + n2 * n2 + n3 * n3)
    out[3], out[4], out[5], out[6] = scale * n0, scale * n1, scale * n2, scale * n3


@kernel
def world_matrix(pose: np.ndarray, A: np.ndarray, out: np.ndarray) -> None:
    """out = R A R^T of a 3 x 3 matrix in body axes."""
    B = np.empty(9)
    for j in range(3):
        B[j], B[3 + j], B[6 + j] = rotate(pose, A[j], A[3 + j], A[6 + j])  # R A, column by column
    for i in range(3):
        out[3 * i], out[3 * i + 1], out[3 * i + 2] = rotate(pose, B[3 * i], B[3 * i + 1], B[3 * i + 2])


@kernel
def times(A: np.ndarray, x: float, y: float, z: float) -> tuple[float, float, float]:
    """A (x, y, z) of a 3 x 3 matrix given as nine numbers."""
    return (
        A[0] * x + A[1] * y + A[2] * z,
        A[3] * x + A[4] * y + A[5] * z,
        A[6] * x + A[7] * y + A[8] * z,
    )


@kernel
def invert(A: np.ndarray, out: np.ndarray) -> None:
    """Inverse of a 3 x 3 matrix given as nine numbers."""
    c0 = A[4] * A[8] - A[5] * A[7]
    c1 = A[5] * A[6] - A[3] * A[8]
    c2 = A[3] * A[7] - A[4] * A[6]
    scale = 1.0 / (A[0] * c0 + A[1] * c1 + A[2] * c2)
    out[0], out[3], out[6] = scale * c0, scale * c1, scale * c2
    out[1], out[4], out[7] = (
        scale * (A[2] * A[7] - A[1] * A[8]),
        scale * (A[0] * A[8] - A[2] * A[6]),
        scale * (A[1] * A[6] - A[0] * A[7]),
    )
    out[2], out[5], out[8] = (
        scale * (A[1] * A[5] - A[2] * A[4]),
        scale * (A[2] * A[3] - A[0] * A[5]),
        scale * (A[0] * A[4] - A[1] * A[3]),
    )


@kernel(inline=True)
def turn_factors(square: float, angle: float) -> tuple[float, float]:
    """sin p / p and (1 - cos p) / p^2 of Rodrigues' formula; square = p^2, angle = p."""
    if angle < 1e-4:  # series; the next terms are below the last digit
        return 1.0 - square / 6.0, 0.5 - square / 24.0
    return math.sin(angle) / angle, (1.0 - math.cos(angle)) / square


@kernel(inline=True)
def turned_by(phi: np.ndarray, f: float, g: float, x: float, y: float, z: float) -> tuple[float, float, float]:
    """exp [phi] (x, y, z) by Rodrigues' formula, with its `turn_factors`."""
    a, b, c = phi[0], phi[1], phi[2]
    p, q, r = b * z - c * y, c * x - a * z, a * y - b * x
    return x + f * p + g * (b * r - c * q), y + f * q + g * (c * p - a * r), z + f * r + g * (a * q - b * p)


@kernel
def turned(phi: np.ndarray, x: float, y: float, z: float) -> tuple[float, float, float]:
    """exp [phi] (x, y, z)."""
    square = phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2]
    f, g = turn_factors(square, math.sqrt(square))
    return turned_by(phi, f, g, x, y, z)


@kernel
def momentum_slope(J: np.ndarray, omega: np.ndarray, time: float, phi: np.ndarray, K: np.ndarray) -> None:
    """K = d/d omega of E(time omega) J omega."""
    x, y, z = times(J, omega[0], omega[1], omega[2])
    a, b, c = time * omega[0], time * omega[1], time * omega[2]
    phi[0], phi[1], phi[2] = a, b, c
    square = a * a + b * b + c * c
    angle = math.sqrt(square)
    if angle < 1e-3:
        f, g = 0.5 - square / 24.0, 1.0 / 6.0 - square / 120.0
    else:
        f, g = (1.0 - math.cos(angle)) / square, (angle - math.sin(angle)) / (square * angle)
    sine, cosine = turn_factors(square, angle)
    for j in range(3):
        e0, e1, e2 = (1.0 if j == 0 else 0.0), (1.0 if j == 1 else 0.0), (1.0 if j == 2 else 0.0)
        p, q, r = b * e2 - c * e1, c * e0 - a * e2, a * e1 - b * e0  # phi x e
        t0 = e0 - f * p + g * (b * r - c * q)
        t1 = e1 - f * q + g * (c * p - a * r)
        t2 = e2 - f * r + g * (a * q - b * p)
        k0 = J[j] - time * (y * t2 - z * t1)
        k1 = J[3 + j] - time * (z * t0 - x * t2)
        k2 = J[6 + j] - time * (x * t1 - y * t0)
        K[j], K[3 + j], K[6 + j] = turned_by(phi, sine, cosine, k0, k1, k2)


@kernel
def determinant(A: np.ndarray) -> float:
    """Determinant of a 3 x 3 matrix given as nine numbers."""
    return A[0] * (A[4] * A[8] - A[5] * A[7]) + A[1] * (A[5] * A[6] - A[3] * A[8]) + A[2] * (A[3] * A[7] - A[4] * A[6])


@kernel
def momentum_gap(
    J: np.ndarray, omega: np.ndarray, time: float, L: np.ndarray, phi: np.ndarray, gap: np.ndarray
) -> float:
    """Write gap = L - E(time omega) J omega and return its length."""
    for k in range(3):
        phi[k] = time * omega[k]
    x, y, z = times(J, omega[0], omega[1], omega[2])
    x, y, z = turned(phi, x, y, z)
    gap[0], gap[1], gap[2] = L[0] - x, L[1] - y, L[2] - z
    return math.sqrt(gap[0] ** 2 + gap[1] ** 2 + gap[2] ** 2)


@kernel(inline=True)
def slow_rotation(
    J: np.ndarray, L: np.ndarray, before: np.ndarray, short: float, omega: np.ndarray, inverse: np.ndarray,
    K: np.ndarray,
) -> bool:  # fmt: skip
    """`rotation_with` of a body that hardly turns and hardly changes that, as bodies at rest do; False of any other.

    To the last digit E = 1 + [phi] and K = J + [phi] J - short [J omega], and one step of Newton from `before` ends it.
    """
    a, b, c = short * before[0], short * before[1], short * before[2]
    if not a * a + b * b + c * c < SLOW * SLOW:
        return False
    x, y, z = times(J, before[0], before[1], before[2])
    for j in range(3):
        p, q, r = J[j], J[3 + j], J[6 + j]
        K[j], K[3 + j], K[6 + j] = p + (b * r - c * q), q + (c * p - a * r), r + (a * q - b * p)
    p, q, r = short * x, short * y, short * z
    K[1], K[2], K[3], K[5], K[6], K[7] = K[1] + r, K[2] - q, K[3] - r, K[5] + p, K[6] + q, K[7] - p
    invert(K, inverse)
    p, q, r = L[0] - x - (b * z - c * y), L[1] - y - (c * x - a * z), L[2] - z - (a * y - b * x)
    p, q, r = times(inverse, p, q, r)
    omega[0], omega[1], omega[2] = before[0] + p, before[1] + q, before[2] + r
    return short * math.sqrt(p * p + q * q + r * r) <= SLOW * SLOW


@kernel(apart=True)
def rotation_with(
    J: np.ndarray, L: np.ndarray, before: np.ndarray, short: float, omega: np.ndarray, inverse: np.ndarray,
    phi: np.ndarray, K: np.ndarray,
) -> float:  # fmt: skip
    """Write omega with E(short omega) J omega = L, and K^-1 there.

    Newton from `before`, damped, on the branch of solutions that begins at slow rotation: det K > 0.  Returns 0, or
    where none is found there (from about 2 rad per step) the part of the momentum that is missing; omega is then
    explicit, with the right length of the momentum and K = J.
    """
    gap, trial = np.empty(3), np.empty(3)
    if slow_rotation(J, L, before, short, omega, inverse, K):
        return 0.0
    for k in range(3):
        omega[k] = before[k]
    size, heaviest = math.sqrt(L[0] ** 2 + L[1] ** 2 + L[2] ** 2), J[0] + J[4] + J[8]
    error = momentum_gap(J, omega, short, L, phi, gap)
    for _ in range(ROUNDS):
        momentum_slope(J, omega, short, phi, K)
        if not determinant(K) > 0.0:
            break
        invert(K, inverse)
        if error <= 4e-16 * size:
            return 0.0
        d0, d1, d2 = times(inverse, gap[0], gap[1], gap[2])
        angle = short * math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
        part, reached = min(1.0, MOST_TURN / angle) if angle > 0.0 else 1.0, np.inf
        for _ in range(HALVINGS):
            trial[0], trial[1], trial[2] = omega[0] + part * d0, omega[1] + part * d1, omega[2] + part * d2
            reached = momentum_gap(J, trial, short, L, phi, gap)
            if reached < error:
                break
            products = heaviest * math.sqrt(omega[0] ** 2 + omega[1] ** 2 + omega[2] ** 2)
            if error <= ROUNDING * max(size, min(products, MOST_CANCELLED * size)):
                return 0.0
            part *= 0.5
        if not reached < error:
            break
        error = reached
        for k in range(3):
            omega[k] = trial[k]
    for k in range(3):
        phi[k] = -short * before[k]
    x, y, z = turned(phi, L[0], L[1], L[2])
    invert(J, inverse)
    omega[0], omega[1], omega[2] = times(inverse, x, y, z)
    return momentum_gap(J, omega, short, L, phi, gap) / size


@kernel
def momentum_at_midpoint(J: np.ndarray, before: np.ndarray, time: float, phi: np.ndarray, L: np.ndarray) -> None:
    """L = E(-time omega) J omega of the angular velocity `before` at the beginning of the step."""
    x, y, z = times(J, before[0], before[1], before[2])
    for k in range(3):
        phi[k] = -time * before[k]
    L[0], L[1], L[2] = turned(phi, x, y, z)


@kernel(apart=True)
def free_rotation(
    J: np.ndarray, before: np.ndarray, torque: np.ndarray, parts: tuple[float, float], omega: np.ndarray,
    inverse: np.ndarray, phi: np.ndarray, K: np.ndarray,
) -> float:  # fmt: skip
    """Write omega_E of a body without contacts, and K^-1 there.  `before` is omega_A; J, torque in world axes.

    parts: dt [s] and theta of the step.  Returns what `rotation_with` returns.
    """
    dt, theta = parts
    L = np.empty(3)
    momentum_at_midpoint(J, before, (1.0 - theta) * dt, phi, L)
    for k in range(3):
        L[k] += dt * torque[k]
    return rotation_with(J, L, before, theta * dt, omega, inverse, phi, K)


@kernel
def rotations_at_midpoint(
    J: np.ndarray, before: np.ndarray, free: np.ndarray, dt: float, theta: float, old: np.ndarray, new: np.ndarray,
    inverse: np.ndarray,
) -> None:  # fmt: skip
    """Angular velocities J^-1 L at the midpoint, with the momenta of the beginning and of the free end; and J^-1."""
    L, phi = np.empty(3), np.empty(3)
    invert(J, inverse)
    momentum_at_midpoint(J, before, (1.0 - theta) * dt, phi, L)
    old[0], old[1], old[2] = times(inverse, L[0], L[1], L[2])
    momentum_at_midpoint(J, free, -theta * dt, phi, L)
    new[0], new[1], new[2] = times(inverse, L[0], L[1], L[2])
