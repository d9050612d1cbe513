"""Points in the Lorentz cones of contacts, and their scaling, for the interior point method (`tree_interior`).

In the scaled coordinates r^ = (mu r_N, r_T) and w = (u_N / mu + |u_T|, u_T) the laws say that both lie in the Lorentz
cone and are orthogonal (de Saxce).  Each iteration takes a Nesterov-Todd scaling T with T r^ = T^-1 w = l, and

    l o (T dr^ + T^-1 dw) = sigma m e - l o l - corrector,    dw = (1 + theta e_0 (0, t)^T) S J dv + rest,

S = diag(1 / mu, 1, 1), t = u_T / |u_T|: the shift |u_T| is differentiated, by a part theta.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from stickslip.contact.constants import LEAST_MU
from stickslip.contact.rounding import TINY
from stickslip.contact.tree_problem import VelocityProblem, apply_frame, contact_velocities
from stickslip.jit import kernel


class Cones(NamedTuple):
    """Points in the Lorentz cones and their scaling, one row for each contact."""

    r: np.ndarray  # (n, 3) scaled impulse
    w: np.ndarray  # (n, 3) scaled velocity, shifted
    u: np.ndarray  # (n, 3) scaled velocity
    scaled: np.ndarray  # (n, 3) l
    T: np.ndarray  # (n, 9)
    inverse: np.ndarray  # (n, 9) T^-1
    tilt: np.ndarray  # (n, 2) theta t
    x: np.ndarray  # (n, 3) right side of the complementarity
    k: np.ndarray  # (n, 3)
    dr: np.ndarray  # (n, 3)
    dw: np.ndarray  # (n, 3)
    v: np.ndarray  # (m, 6)
    momentum: np.ndarray  # (m, 6) M (v - v_free) - J^T r


@kernel
def cone_room(n: int, m: int) -> Any:
    """Room for n contacts and m bodies."""
    return Cones(
        np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 9)), np.zeros((n, 9)),
        np.zeros((n, 2)), np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((n, 3)), np.zeros((m, 6)),
        np.zeros((m, 6)),
    )  # fmt: skip


@kernel
def scaling(r: np.ndarray, w: np.ndarray, T: np.ndarray, inverse: np.ndarray, scaled: np.ndarray) -> None:
    """Nesterov-Todd scaling of one contact: T r = T^-1 w = scaled."""
    a, b = math.sqrt(r[1] * r[1] + r[2] * r[2]), math.sqrt(w[1] * w[1] + w[2] * w[2])
    dr, dw = math.sqrt(max((r[0] - a) * (r[0] + a), TINY)), math.sqrt(max((w[0] - b) * (w[0] + b), TINY))
    a0, a1, a2, b0, b1, b2 = r[0] / dr, r[1] / dr, r[2] / dr, w[0] / dw, w[1] / dw, w[2] / dw
    c = math.sqrt(max(0.5 * (1.0 + a0 * b0 + a1 * b1 + a2 * b2), TINY))
    q0, q1, q2 = 0.5 * (b0 + a0) / c, 0.5 * (b1 - a1) / c, 0.5 * (b2 - a2) / c
    h, f = math.sqrt(dw / dr), 1.0 / (1.0 + q0)
    T[0], T[1], T[2], T[3], T[6] = h * q0, h * q1, h * q2, h * q1, h * q2
    T[4], T[8], T[5], T[7] = h * (1.0 + q1 * q1 * f), h * (1.0 + q2 * q2 * f), h * q1 * q2 * f, h * q1 * q2 * f
    h = 1.0 / h
    inverse[0], inverse[1], inverse[2], inverse[3], inverse[6] = h * q0, -h * q1, -h * q2, -h * q1, -h * q2
    inverse[4], inverse[8] = h * (1.0 + q1 * q1 * f), h * (1.0 + q2 * q2 * f)
    inverse[5], inverse[7] = h * q1 * q2 * f, h * q1 * q2 * f
    scaled[0], scaled[1], scaled[2] = apply_frame(T, r[0], r[1], r[2])


@kernel
def longest_step(x: np.ndarray, d: np.ndarray) -> float:
    """How far x + t d stays in the Lorentz cone."""
    a = d[0] * d[0] - d[1] * d[1] - d[2] * d[2]
    b = x[0] * d[0] - x[1] * d[1] - x[2] * d[2]
    n = math.sqrt(x[1] * x[1] + x[2] * x[2])
    c, t = (x[0] - n) * (x[0] + n), np.inf
    if d[0] < 0.0:
        t = -x[0] / d[0]
    if a == 0.0:
        return min(t, -0.5 * c / b) if b < 0.0 else t
    D = b * b - a * c
    if D >= 0.0:
        q = -(b + (math.sqrt(D) if b >= 0.0 else -math.sqrt(D)))
        if q / a > 0.0:
            t = min(t, q / a)
        if q != 0.0 and c / q > 0.0:
            t = min(t, c / q)
    return t


@kernel
def into_cone(x: np.ndarray, least: float) -> None:
    """Raise the first component until the smaller eigenvalue is `least`."""
    n = math.sqrt(x[1] * x[1] + x[2] * x[2])
    if x[0] - n < least:
        x[0] = n + least


@kernel
def scaled_velocities(problem: VelocityProblem, cones: Cones, u: np.ndarray) -> None:
    """The scaled velocities of cones.v; u (n, 3): room."""
    contact_velocities(problem, cones.v, u)
    for i in range(u.shape[0]):
        cones.u[i, 0] = u[i, 0] / max(problem.mu[i], LEAST_MU)
        cones.u[i, 1], cones.u[i, 2] = u[i, 1], u[i, 2]


@kernel
def scale_contacts(problem: VelocityProblem, cones: Cones, theta: float, room: Any) -> float:
    """Scalings, tilts and the blocks K = S T^-2 (1 + e_0 (0, tilt)^T) S of all contacts; returns the mean of l . l."""
    total, n = 0.0, cones.r.shape[0]
    for i in range(n):
        scaling(cones.r[i], cones.w[i], cones.T[i], cones.inverse[i], cones.scaled[i])
        u, R, K, s = cones.u[i], cones.inverse[i], room.K[i], 1.0 / max(problem.mu[i], LEAST_MU)
        size = math.sqrt(u[1] * u[1] + u[2] * u[2]) + TINY
        cones.tilt[i, 0], cones.tilt[i, 1] = theta * u[1] / size, theta * u[2] / size
        for k in range(3):
            a, b, c = apply_frame(R, R[k], R[3 + k], R[6 + k])  # column k of T^-2, which is symmetric
            K[3 * k], K[3 * k + 1], K[3 * k + 2] = a, b + a * cones.tilt[i, 0], c + a * cones.tilt[i, 1]
            total += cones.scaled[i, k] ** 2
        K[0] *= s * s
        K[1], K[2], K[3], K[6] = s * K[1], s * K[2], s * K[3], s * K[6]
        room.loaded[i] = True
    return total / n


@kernel
def step_length(cones: Cones) -> float:
    """The largest step along dr and dw that stays in all cones."""
    t = np.inf
    for i in range(cones.r.shape[0]):
        t = min(t, min(longest_step(cones.r[i], cones.dr[i]), longest_step(cones.w[i], cones.dw[i])))
    return t


@kernel
def aim(cones: Cones, target: float, corrected: bool) -> None:
    """Right sides -l o l + target e, less (T dr) o (T^-1 dw) of the direction before where it is corrected."""
    for i in range(cones.r.shape[0]):
        p, x = cones.scaled[i], cones.x[i]
        x[0] = target - (p[0] * p[0] + p[1] * p[1] + p[2] * p[2])
        x[1], x[2] = -2.0 * p[0] * p[1], -2.0 * p[0] * p[2]
        if corrected:
            d, e = cones.dr[i], cones.dw[i]
            a0, a1, a2 = apply_frame(cones.T[i], d[0], d[1], d[2])
            b0, b1, b2 = apply_frame(cones.inverse[i], e[0], e[1], e[2])
            x[0] -= a0 * b0 + a1 * b1 + a2 * b2
            x[1] -= a0 * b1 + b0 * a1
            x[2] -= a0 * b2 + b0 * a2


@kernel
def cut_to_cones(problem: VelocityProblem, cones: Cones, r: np.ndarray) -> None:
    """Impulses r of the points in the cones, within the true friction cones."""
    for i in range(r.shape[0]):
        x, mu = cones.r[i], max(problem.mu[i], LEAST_MU)
        r[i, 0] = max(x[0], 0.0) / mu
        size, limit = math.sqrt(x[1] * x[1] + x[2] * x[2]), problem.mu[i] * r[i, 0]
        cut = limit / size if size > limit else 1.0
        r[i, 1], r[i, 2] = cut * x[1], cut * x[2]
