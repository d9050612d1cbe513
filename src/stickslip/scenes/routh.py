"""One contact in space, integrated along its normal impulse: Routh's process, with Poisson's or Stronge's end.

With p the normal impulse so far, S and ph speed and angle of the slip, s = (cos ph, sin ph) and G = W^T M^-1 W:

    d Lambda_T/dp = -mu s,    b = G_TN - mu G_TT s,    S' = s . b,    ph' = s_perp . b / S,
    u_N' = G_NN - mu G_NT . s,    W' = u_N.

Compression ends at u_N = 0 with p_c and W_c < 0.  The impact ends at W = (1 - e^2) W_c (Stronge) or p = (1 + e) p_c
(Poisson).  The equations are integrated in tau, dp = S dtau: in tau all rates are smooth, and slip that comes to an end
is ln S -> -infinity, while p has a limit.  Slip that has ended stays so where mu >= |G_TT^-1 G_TN|.  Otherwise it
begins anew along the one direction with s_perp . b = 0 and s . b > 0.  Rates are constant in both cases.

Stronge's law never gains energy: T^+ - T^- = (1 - e^2) W_c + work of the slip <= 0.  Poisson's may.
Where joints leave a body one motion, slip and approach end together: the rest of the impact finds it wedged, or slip
begins the other way.

References: Routh 1860; Stronge 1990; Batlle 1996 for the flow of slip.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import entry, kernel
from stickslip.laws.routh import KINETIC, rest_of_restitution

STICKS = -39.0  # ln of S over the speeds in the impact: slip below is the last digit of nothing
TOLERANCE = 1e-13  # of a step, in units of the impact
MOST_STEPS = 4000
FLAT = 1e-12  # of its trace squared: a determinant of G_TT that is none, as joints leave one direction of slip alone
LOCKED = 1e-10  # of G_NN: what sticking leaves of it where joints turn slip and approach into one motion
AT_REST = 1e-9  # of the velocities before: they have come to an end together
PARTS = 128  # of a turn, in which roots of s_perp . b are looked for: there are two or four
LOG_S, ANGLE, P, U_N, WORK, FIRST, SECOND, SIZE = range(8)


@kernel
def flow(G: np.ndarray, mu: float, y: np.ndarray, out: np.ndarray) -> None:
    """Rates of (ln S, ph, p, u_N, W, Lambda_1, Lambda_2) in tau; G (9,): rows N, 1, 2."""
    c, s, S = math.cos(y[ANGLE]), math.sin(y[ANGLE]), math.exp(y[LOG_S])
    b1 = G[3] - mu * (G[4] * c + G[5] * s)
    b2 = G[6] - mu * (G[7] * c + G[8] * s)
    out[LOG_S], out[ANGLE] = c * b1 + s * b2, c * b2 - s * b1
    out[P], out[U_N], out[WORK] = S, S * (G[0] - mu * (G[1] * c + G[2] * s)), S * y[U_N]
    out[FIRST], out[SECOND] = -mu * c * S, -mu * s * S


@kernel(apart=True)
def one_step(G: np.ndarray, mu: float, y: np.ndarray, h: float, k: np.ndarray, out: np.ndarray) -> float:
    """A step h of Dormand and Prince's pair of orders 5 and 4 from y; returns the largest difference of the two.

    k (7, SIZE): rates, of which the first is that at y.
    """
    for i in range(SIZE):
        out[i] = y[i] + h * k[0, i] / 5.0
    flow(G, mu, out, k[1])
    for i in range(SIZE):
        out[i] = y[i] + h * (3.0 / 40.0 * k[0, i] + 9.0 / 40.0 * k[1, i])
    flow(G, mu, out, k[2])
    for i in range(SIZE):
        out[i] = y[i] + h * (44.0 / 45.0 * k[0, i] - 56.0 / 15.0 * k[1, i] + 32.0 / 9.0 * k[2, i])
    flow(G, mu, out, k[3])
    for i in range(SIZE):
        slope = 19372.0 / 6561.0 * k[0, i] - 25360.0 / 2187.0 * k[1, i]
        out[i] = y[i] + h * (slope + 64448.0 / 6561.0 * k[2, i] - 212.0 / 729.0 * k[3, i])
    flow(G, mu, out, k[4])
    for i in range(SIZE):
        slope = 9017.0 / 3168.0 * k[0, i] - 355.0 / 33.0 * k[1, i] + 46732.0 / 5247.0 * k[2, i]
        out[i] = y[i] + h * (slope + 49.0 / 176.0 * k[3, i] - 5103.0 / 18656.0 * k[4, i])
    flow(G, mu, out, k[5])
    for i in range(SIZE):
        slope = 35.0 / 384.0 * k[0, i] + 500.0 / 1113.0 * k[2, i] + 125.0 / 192.0 * k[3, i]
        out[i] = y[i] + h * (slope - 2187.0 / 6784.0 * k[4, i] + 11.0 / 84.0 * k[5, i])
    flow(G, mu, out, k[6])
    largest = 0.0
    for i in range(SIZE):
        e = 71.0 / 57600.0 * k[0, i] - 71.0 / 16695.0 * k[2, i] + 71.0 / 1920.0 * k[3, i]
        e += -17253.0 / 339200.0 * k[4, i] + 22.0 / 525.0 * k[5, i] - 1.0 / 40.0 * k[6, i]
        largest = max(largest, abs(h * e))
    return largest


@kernel
def missing(y: np.ndarray, e: float, end: int, stage: int, p_c: float, W_c: float) -> float:
    """Number that is zero at the end of a stage, negative before: u_N, then p - (1 + e) p_c or W - (1 - e^2) W_c."""
    if stage == 0:
        return y[U_N]
    return y[P] - (1.0 + e) * p_c if end == KINETIC else y[WORK] - (1.0 - e * e) * W_c


@kernel
def turning_rate(G: np.ndarray, mu: float, angle: float) -> float:
    """s_perp . b of slip at an angle."""
    c, s = math.cos(angle), math.sin(angle)
    return c * (G[6] - mu * (G[7] * c + G[8] * s)) - s * (G[3] - mu * (G[4] * c + G[5] * s))


@kernel
def growing_direction(G: np.ndarray, mu: float) -> float:
    """Angle of the direction along which slip begins from zero: s_perp . b = 0, s . b the largest of all."""
    best, chosen, step = -np.inf, 0.0, 2.0 * math.pi / PARTS
    for k in range(PARTS):
        low, high = k * step, (k + 1) * step
        # the end of a turn is its begin: a root at 0, off by rounding, must not get lost between the two
        f_low, f_high = turning_rate(G, mu, low), turning_rate(G, mu, high if k + 1 < PARTS else 0.0)
        if f_low != 0.0 and f_low * f_high > 0.0:
            continue
        for _ in range(60):
            middle = 0.5 * (low + high)
            f = turning_rate(G, mu, middle)
            if f_low == 0.0:
                middle, high = low, low
            elif f * f_low > 0.0:
                low, f_low = middle, f
            else:
                high = middle
        angle = 0.5 * (low + high)
        c, s = math.cos(angle), math.sin(angle)
        grows = c * (G[3] - mu * (G[4] * c + G[5] * s)) + s * (G[6] - mu * (G[7] * c + G[8] * s))
        if grows > best:
            best, chosen = grows, angle
    return chosen


@kernel(apart=True)
def without_slip(
    G: np.ndarray, mu: float, e: float, end: int, stage: int, y: np.ndarray, p_c: float, W_c: float
) -> bool:
    """The rest of an impact whose slip is zero, in closed form; False where it does not come to an end."""
    det, trace = G[4] * G[8] - G[5] * G[7], G[4] + G[8]
    r1, r2 = 0.0, 0.0
    if det > FLAT * trace * trace:
        r1, r2 = -(G[8] * G[3] - G[5] * G[6]) / det, -(G[4] * G[6] - G[7] * G[3]) / det
    elif trace > 0.0:  # the least impulse of those that stick: G_TT / trace^2 is its inverse along its one direction
        r1 = -(G[4] * G[3] + G[5] * G[6]) / (trace * trace)
        r2 = -(G[7] * G[3] + G[8] * G[6]) / (trace * trace)
    if r1 * r1 + r2 * r2 > mu * mu:
        angle = growing_direction(G, mu)
        r1, r2 = -mu * math.cos(angle), -mu * math.sin(angle)
    a = G[0] + G[1] * r1 + G[2] * r2
    if a <= LOCKED * G[0] and abs(y[U_N]) <= AT_REST:
        return True  # a body on a hinge that wedges: no impulse moves it any more
    if not a > 0.0:
        return False
    total = 0.0
    if stage == 0:
        total = -y[U_N] / a
        p_c, W_c = y[P] + total, y[WORK] - 0.5 * a * total * total
        y[P], y[WORK], y[U_N] = p_c, W_c, 0.0
    rest = rest_of_restitution(a, y[U_N], y[WORK], W_c, y[P], p_c, e, end)
    y[WORK] += y[U_N] * rest + 0.5 * a * rest * rest
    y[U_N] += a * rest
    y[P] += rest
    y[FIRST] += r1 * (total + rest)
    y[SECOND] += r2 * (total + rest)
    return True


@kernel(apart=True)
def with_slip(G: np.ndarray, mu: float, e: float, end: int, y: np.ndarray) -> bool:
    """An impact that begins with slip; False where it does not come to an end.  G, y in units of the impact."""
    k, trial, h, stage, p_c, W_c = np.empty((7, SIZE)), np.empty(SIZE), 0.05, 0, 0.0, 0.0
    for _ in range(MOST_STEPS):
        if y[LOG_S] < STICKS:
            return without_slip(G, mu, e, end, stage, y, p_c, W_c)
        flow(G, mu, y, k[0])
        error = one_step(G, mu, y, h, k, trial)
        if not error <= TOLERANCE:
            h *= max(0.2, 0.9 * (TOLERANCE / error) ** 0.2) if error < np.inf else 0.1
            continue
        reached = missing(trial, e, end, stage, p_c, W_c)
        if reached >= 0.0:
            low, high = 0.0, h
            for _ in range(100):  # bisection: a step of any part of h is as accurate
                part = 0.5 * (low + high)
                if part <= low or part >= high:
                    break
                one_step(G, mu, y, part, k, trial)
                if missing(trial, e, end, stage, p_c, W_c) >= 0.0:
                    high = part
                else:
                    low = part
            one_step(G, mu, y, high, k, trial)
        for i in range(SIZE):
            y[i] = trial[i]
        if reached >= 0.0:
            if stage == 1:
                return True
            stage, p_c, W_c = 1, y[P], y[WORK]
            if e == 0.0:
                return True
        h = min(1.0, h * min(5.0, max(0.2, 0.9 * (TOLERANCE / max(error, 1e-30)) ** 0.2)))
    return False


@entry(apart=True)
def spatial_impact(G: np.ndarray, u: np.ndarray, mu: float, e: float, end: int, Lambda: np.ndarray) -> bool:
    """Write the impulse (3,) of one contact in its frame N, 1, 2; False where the impact does not come to an end.

    G (9,) [1/kg], u (3,) velocities before [m/s], u_N < 0; end: KINETIC (Poisson) or ENERGETIC (Stronge).
    """
    scale = abs(u[0])
    slip = math.sqrt(u[1] * u[1] + u[2] * u[2])
    unit, most = np.empty(9), max(scale, slip)
    for i in range(9):
        unit[i] = G[i] / G[0]
    y = np.zeros(SIZE)
    y[U_N] = u[0] / most
    if slip > 1e-15 * most:
        y[LOG_S], y[ANGLE] = math.log(slip / most), math.atan2(u[2], u[1])
        found = with_slip(unit, mu, e, end, y)
    else:
        found = without_slip(unit, mu, e, end, 0, y, 0.0, 0.0)
    size = most / G[0]
    Lambda[0], Lambda[1], Lambda[2] = size * y[P], size * y[FIRST], size * y[SECOND]
    return found
