"""The exact solution of one contact, all others held: u = D r + q, D the local matrix, normal component first.

    take-off   r = 0,                  u_N >= 0
    stick      u = 0,                  |r_T| <= mu r_N
    slip       u_N = 0,  r_T = mu r_N t,  u_T = -kappa t,  kappa >= 0,  |t| = 1

In the plane t is +1 or -1 and every case is a division.  In space t = (cos a, sin a) and u_N = 0 gives r_N(a); what is
left is one equation for the angle, u_T(a) x t(a) = 0.  Multiplied by its denominator it is a trigonometric polynomial
of degree two, with at most four roots and no poles: Newton from the last direction finds its root as a rule, and a scan
of the circle with bisection ends always.

Supercritical friction, mu |D_NT| > D_NN (Painleve), allows several solutions or, for a matrix that is not positive
definite, none: the order below is fixed, so the answer is reproducible, and (where there is none) the best slip is
returned; the natural map of the whole problem tells.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.compiled import compiled

SCAN = 48  # angles of the scan; the polynomial has at most four roots
NEWTON_STEPS = 20


@compiled
def stick_2d(D: np.ndarray, S: np.ndarray, q0: float, q1: float) -> tuple[float, float]:
    """-D^-1 q from the regularised inverse S, with one step of refinement."""
    r0 = -(S[0, 0] * q0 + S[0, 1] * q1)
    r1 = -(S[1, 0] * q0 + S[1, 1] * q1)
    e0 = D[0, 0] * r0 + D[0, 1] * r1 + q0
    e1 = D[1, 0] * r0 + D[1, 1] * r1 + q1
    return r0 - (S[0, 0] * e0 + S[0, 1] * e1), r1 - (S[1, 0] * e0 + S[1, 1] * e1)


@compiled
def slip_2d(D: np.ndarray, q0: float, q1: float, mu: float, t: float) -> tuple[float, float]:
    """Impulse r_N of slip against direction t = +-1, and t u_T, which must not be positive; r_N < 0: no such slip."""
    slope = D[0, 0] + t * mu * D[0, 1]
    if slope == 0.0 or q0 / slope > 0.0:
        return -1.0, 0.0
    r_N = -q0 / slope
    return r_N, t * (q1 + r_N * (D[1, 0] + t * mu * D[1, 1]))


@compiled
def one_contact_2d(D: np.ndarray, S: np.ndarray, q0: float, q1: float, mu: float) -> tuple[float, float]:
    """Impulse of a planar contact: take-off, then stick, then slip with slope > 0, then the rest."""
    if q0 >= 0.0 or D[0, 0] <= 0.0:
        return 0.0, 0.0
    if mu == 0.0:
        return -q0 / D[0, 0], 0.0
    s0, s1 = stick_2d(D, S, q0, q1)
    if s0 >= 0.0 and abs(s1) <= mu * s0:
        return s0, s1
    t = 1.0 if s1 > 0.0 else -1.0
    if s0 < 0.0:
        t = -1.0 if q1 > 0.0 else 1.0
    for _ in range(2):
        r_N, along = slip_2d(D, q0, q1, mu, t)
        if r_N >= 0.0 and along <= 0.0:
            return r_N, t * mu * r_N
        t = -t
    slope = max(D[0, 0] + t * mu * D[0, 1], 1e-12 * D[0, 0])
    return -q0 / slope, -t * mu * q0 / slope


@compiled
def stick_3d(D: np.ndarray, S: np.ndarray, q0: float, q1: float, q2: float) -> tuple[float, float, float]:
    """-D^-1 q from the regularised inverse S, with one step of refinement."""
    r0 = -(S[0, 0] * q0 + S[0, 1] * q1 + S[0, 2] * q2)
    r1 = -(S[1, 0] * q0 + S[1, 1] * q1 + S[1, 2] * q2)
    r2 = -(S[2, 0] * q0 + S[2, 1] * q1 + S[2, 2] * q2)
    e0 = D[0, 0] * r0 + D[0, 1] * r1 + D[0, 2] * r2 + q0
    e1 = D[1, 0] * r0 + D[1, 1] * r1 + D[1, 2] * r2 + q1
    e2 = D[2, 0] * r0 + D[2, 1] * r1 + D[2, 2] * r2 + q2
    r0 -= S[0, 0] * e0 + S[0, 1] * e1 + S[0, 2] * e2
    r1 -= S[1, 0] * e0 + S[1, 1] * e1 + S[1, 2] * e2
    r2 -= S[2, 0] * e0 + S[2, 1] * e1 + S[2, 2] * e2
    return r0, r1, r2


@compiled
def slip_equation(
    D: np.ndarray, q0: float, q1: float, q2: float, mu: float, c: float, s: float
) -> tuple[float, float, float, float]:
    """For t = (c, s): the slope D_NN + mu D_NT t, F = slope (u_T x t), dF/da, and slope (u_T . t).

    With n = dt/da = (-s, c), g = D_TN + mu D_TT t and slope r_N = -q_N:  slope u_T = slope q_T - q_N g.
    """
    slope = D[0, 0] + mu * (D[0, 1] * c + D[0, 2] * s)
    g1 = D[1, 0] + mu * (D[1, 1] * c + D[1, 2] * s)
    g2 = D[2, 0] + mu * (D[2, 1] * c + D[2, 2] * s)
    x1 = slope * q1 - q0 * g1
    x2 = slope * q2 - q0 * g2
    turn = mu * (-D[0, 1] * s + D[0, 2] * c)  # d slope / da
    y1 = turn * q1 - q0 * mu * (-D[1, 1] * s + D[1, 2] * c)
    y2 = turn * q2 - q0 * mu * (-D[2, 1] * s + D[2, 2] * c)
    along = x1 * c + x2 * s
    return slope, -x1 * s + x2 * c, -y1 * s + y2 * c - along, along


@compiled
def slip_newton(
    D: np.ndarray, q0: float, q1: float, q2: float, mu: float, c: float, s: float
) -> tuple[float, float, bool]:
    """Newton for the angle from (c, s), steps of at most half a radian; True where it settled on a slip."""
    for _ in range(NEWTON_STEPS):
        slope, F, dF, along = slip_equation(D, q0, q1, q2, mu, c, s)
        if dF == 0.0:
            return c, s, False
        step = max(-0.5, min(0.5, -F / dF))
        c, s = c - step * s, s + step * c
        norm = 1.0 / math.sqrt(c * c + s * s)
        c *= norm
        s *= norm
        if abs(step) < 1e-9:  # the next step would be below 1e-17
            return c, s, slope > 0.0 and along <= 1e-12 * abs(slope) * (abs(q0) + abs(q1) + abs(q2))
    return c, s, False


@compiled
def slip_scan(D: np.ndarray, q0: float, q1: float, q2: float, mu: float, c: float, s: float) -> tuple[float, float]:
    """The slip direction nearest to (c, s) among all roots on the circle; without one, the best angle of the scan."""
    best_c, best_s, closest = c, s, -3.0
    least_c, least_s, least = c, s, np.inf
    before = 0.0
    for k in range(SCAN + 1):
        angle = 2.0 * math.pi * k / SCAN
        slope, F, _, along = slip_equation(D, q0, q1, q2, mu, math.cos(angle), math.sin(angle))
        if slope > 0.0 and along <= 0.0 and abs(F) / slope < least:
            least, least_c, least_s = abs(F) / slope, math.cos(angle), math.sin(angle)
        if k > 0 and before * F <= 0.0:
            low, high = angle - 2.0 * math.pi / SCAN, angle
            for _ in range(60):
                middle = 0.5 * (low + high)
                value = slip_equation(D, q0, q1, q2, mu, math.cos(middle), math.sin(middle))[1]
                if before * value <= 0.0:
                    high = middle
                else:
                    low = middle
            root_c, root_s = math.cos(high), math.sin(high)
            slope, _, _, along = slip_equation(D, q0, q1, q2, mu, root_c, root_s)
            nearness = c * root_c + s * root_s
            if slope > 0.0 and along <= 1e-12 * slope * (abs(q0) + abs(q1) + abs(q2)) and nearness > closest:
                closest, best_c, best_s = nearness, root_c, root_s
        before = F
    if closest > -2.0:
        return best_c, best_s
    return least_c, least_s


@compiled
def unit(x: float, y: float) -> tuple[float, float]:
    """(x, y) made a unit vector; (1, 0) for zero."""
    norm = math.sqrt(x * x + y * y)
    return (x / norm, y / norm) if norm > 0.0 else (1.0, 0.0)


@compiled
def one_contact_3d(
    D: np.ndarray, S: np.ndarray, q0: float, q1: float, q2: float, mu: float, r1: float, r2: float
) -> tuple[float, float, float]:
    """Impulse of a spatial contact.

    r1, r2: the friction impulse along which the search for the slip begins; where it is zero, that of stick.
    """
    if q0 >= 0.0 or D[0, 0] <= 0.0:
        return 0.0, 0.0, 0.0
    if mu == 0.0:
        return -q0 / D[0, 0], 0.0, 0.0
    s0, s1, s2 = stick_3d(D, S, q0, q1, q2)
    if s0 >= 0.0 and s1 * s1 + s2 * s2 <= mu * mu * s0 * s0:
        return s0, s1, s2
    c, s = unit(r1, r2) if r1 != 0.0 or r2 != 0.0 else unit(s1, s2)
    c, s, settled = slip_newton(D, q0, q1, q2, mu, c, s)
    if not settled:
        c, s = slip_scan(D, q0, q1, q2, mu, c, s)
    slope = D[0, 0] + mu * (D[0, 1] * c + D[0, 2] * s)
    if slope <= 0.0:
        return 0.0, 0.0, 0.0
    r_N = -q0 / slope
    return r_N, mu * r_N * c, mu * r_N * s


def one_contact_solutions_2d(D: np.ndarray, q: np.ndarray, mu: float) -> list[tuple[str, np.ndarray]]:
    """Every solution of one planar contact, as (case, impulse): take-off, stick, slip+ (t = 1), slip-.

    Supercritical friction gives up to three; several cases that give the same impulse are named once.
    """
    D, q = np.asarray(D, float), np.asarray(q, float)
    found: list[tuple[str, np.ndarray]] = []
    if q[0] >= 0.0:
        found.append(("take-off", np.zeros(2)))
    if np.linalg.det(D) != 0.0:
        r = -np.linalg.solve(D, q)
        if r[0] >= 0.0 and abs(r[1]) <= mu * r[0]:
            found.append(("stick", r))
    for case, t in (("slip+", 1.0), ("slip-", -1.0)):
        r_N, along = slip_2d(D, q[0], q[1], mu, t)
        r = np.array([r_N, t * mu * r_N])
        if r_N >= 0.0 and along <= 0.0 and all(np.linalg.norm(r - o) > 1e-12 * np.linalg.norm(r) for _, o in found):
            found.append((case, r))
    return found
