"""Natural map of the friction problem (`residual` has the error measures), and projection onto elliptic cones.

Per contact, normal component first, u = W r + q, and with s = mu |u_T| (de Saxce)

    K = { |r_T| <= mu r_N },    r in K,    u + s e_N in K*,    r perp u + s e_N:    r = P_K(r - u - s e_N)

For elliptic friction r_T / r_N lies in the ellipse with semi-axes mu_1, mu_2.  Then s is the support function of the
ellipse, s = |(mu_1 u_1, mu_2 u_2)|: the law of maximum dissipation, [S00] (2.17)-(2.19).
"""

from __future__ import annotations

import numpy as np

from stickslip.jit import entry
from stickslip.projections import norm_2d, project_cone_2d, project_cone_3d


@entry
def natural_map_square(u: np.ndarray, r: np.ndarray, mu: np.ndarray, dim: int, first: int, last: int) -> float:
    """|| r - P_K(r - u - mu |u_T| e_N) ||^2 over contacts first .. last - 1."""
    total = 0.0
    for i in range(first, last):
        k = dim * i
        if dim == 3:
            slip = norm_2d(u[k + 1], u[k + 2])
            p0, p1, p2 = project_cone_3d(r[k] - u[k] - mu[i] * slip, r[k + 1] - u[k + 1], r[k + 2] - u[k + 2], mu[i])
            total += (r[k] - p0) ** 2 + (r[k + 1] - p1) ** 2 + (r[k + 2] - p2) ** 2
        else:
            p0, p1 = project_cone_2d(r[k] - u[k] - mu[i] * abs(u[k + 1]), r[k + 1] - u[k + 1], mu[i])
            total += (r[k] - p0) ** 2 + (r[k + 1] - p1) ** 2
    return total


@entry
def squares(x: np.ndarray, first: int, last: int) -> float:
    """Sum of x_k^2 for first <= k < last."""
    total = 0.0
    for k in range(first, last):
        total += x[k] * x[k]
    return total


@entry
def project_elliptic_cone(x_N: float, x_1: float, x_2: float, mu_1: float, mu_2: float) -> tuple[float, float, float]:
    """prox of the cone { r_N >= |(r_1 / mu_1, r_2 / mu_2)| }, mu_1, mu_2 > 0, in the Euclidean metric.

    Outside the cone and its polar the foot point satisfies x - P = t (-P_N, P_1 / mu_1^2, P_2 / mu_2^2), so
    P = (x_N / (1 - t), x_1 / (1 + t / mu_1^2), x_2 / (1 + t / mu_2^2)); t is the root of
    |(P_1 / mu_1, P_2 / mu_2)| = P_N, in (0, 1) for x_N > 0 and in (1, inf) for x_N < 0.  In p = P_N this is the zero
    of the decreasing function |(P_1 / mu_1, P_2 / mu_2)| - p with t = 1 - x_N / p: bisection ends, Newton shortens it.
    """
    if x_N >= 0.0 and norm_2d(x_1 / mu_1, x_2 / mu_2) <= x_N:
        return x_N, x_1, x_2
    if norm_2d(mu_1 * x_1, mu_2 * x_2) <= -x_N:
        return 0.0, 0.0, 0.0
    low = max(x_N, 0.0)
    high = low + norm_2d(x_1 / mu_1, x_2 / mu_2)
    a_1 = mu_1 * mu_1
    a_2 = mu_2 * mu_2
    p = high
    for _ in range(200):
        # P_i / mu_i = x_i p mu_i / (p (mu_i^2 + 1) - x_N)
        d_1 = p * (a_1 + 1.0) - x_N
        d_2 = p * (a_2 + 1.0) - x_N
        v_1 = x_1 * mu_1 / d_1
        v_2 = x_2 * mu_2 / d_2
        value = norm_2d(v_1, v_2)  # / p: the root has value 1
        if value > 1.0:
            low = p
        else:
            high = p
        slope = (v_1 * v_1 * (a_1 + 1.0) / d_1 + v_2 * v_2 * (a_2 + 1.0) / d_2) / max(value, 1e-300)
        step = (value - 1.0) * value / slope if slope > 0.0 else 0.0  # Newton on 1 / value = 1, concave in p
        trial = p + step
        if not (low < trial < high):
            trial = 0.5 * (low + high)
        if abs(trial - p) <= 1e-16 * p or trial in (low, high):
            p = trial
            break
        p = trial
    P_1 = x_1 * a_1 * p / (p * (a_1 + 1.0) - x_N)
    P_2 = x_2 * a_2 * p / (p * (a_2 + 1.0) - x_N)
    return norm_2d(P_1 / mu_1, P_2 / mu_2), P_1, P_2


@entry
def elliptic_map_square(u: np.ndarray, r: np.ndarray, axes: np.ndarray) -> float:
    """`natural_map_square` of all contacts for elliptic cones with semi-axes `axes`, shape (n, 2)."""
    total = 0.0
    for i in range(axes.shape[0]):
        k = 3 * i
        mu_1 = axes[i, 0]
        mu_2 = axes[i, 1]
        slip = norm_2d(mu_1 * u[k + 1], mu_2 * u[k + 2])
        x_N, x_1, x_2 = r[k] - u[k] - slip, r[k + 1] - u[k + 1], r[k + 2] - u[k + 2]
        if mu_1 == mu_2:  # a circle, or no friction at all
            p0, p1, p2 = project_cone_3d(x_N, x_1, x_2, mu_1)
        else:
            p0, p1, p2 = project_elliptic_cone(x_N, x_1, x_2, mu_1, mu_2)
        total += (r[k] - p0) ** 2 + (r[k + 1] - p1) ** 2 + (r[k + 2] - p2) ** 2
    return total
