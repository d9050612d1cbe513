"""One contact in space under Poisson's law in two steps, and under Walton's: closed forms but for one number.

Poisson [PG05]: compression ends as a contact without restitution would, decompression gives back the share e of its
normal impulse, or more where the bodies would still approach:

    -Lambda_N^c in Upr(u_N^c),    -Lambda_T^c in mu Lambda_N^c Sgn(u_T^c),
    -(Lambda_N^d - e Lambda_N^c) in Upr(u_N^+),    -Lambda_T^d in mu Lambda_N^d Sgn(u_T^+).

For a given normal impulse p the friction impulse of a stage is the least of a convex function on the disc mu p: that
without a bound, or the one on its rim, (G_TT + s 1) Lambda_T = -c with the s > 0 that makes |Lambda_T| = mu p.  What is
left is p itself, the root of u_N(p).

Walton [PG05] (54)-(57), for balls, whose G has no coupling: u_N^+ = -e u_N^-, and u_T^+ = -e_T u_T^- within Coulomb's
bound.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.jit import entry, kernel
from stickslip.scenes.routh import FLAT, LOCKED

HALVINGS = 200  # at most: a bisection ends where its ends are neighbours
DOUBLINGS = 60
SLACK = 1e-13  # of the approach: a body that wedges, as joints let it, comes to rest but for rounding


@kernel
def on_disc(G: np.ndarray, x: float, y: float, radius: float, T: np.ndarray) -> None:
    """Write the friction impulse T (2,) with -T in radius Sgn(u_T), u_T = (x, y) + G_TT T; G (9,): rows N, 1, 2."""
    a, b, c = G[4], 0.5 * (G[5] + G[7]), G[8]
    det = a * c - b * b
    T[0], T[1] = 0.0, 0.0
    if radius <= 0.0 or (x == 0.0 and y == 0.0):
        return
    if det > FLAT * (a + c) * (a + c):
        T[0], T[1] = -(c * x - b * y) / det, -(a * y - b * x) / det
    elif a + c > 0.0:  # slip has one direction alone: the least impulse that stops it
        T[0], T[1] = -(a * x + b * y) / (a + c) ** 2, -(b * x + c * y) / (a + c) ** 2
    if a + c > 0.0 and T[0] * T[0] + T[1] * T[1] <= radius * radius:
        return
    low, high = 0.0, math.sqrt(x * x + y * y) / radius  # |(G + s 1)^-1 c| < |c| / s
    for _ in range(HALVINGS):
        s = 0.5 * (low + high)
        if s <= low or s >= high:
            break
        det = (a + s) * (c + s) - b * b
        p, q = -((c + s) * x - b * y) / det, -((a + s) * y - b * x) / det
        if p * p + q * q > radius * radius:
            low = s
        else:
            high = s
    det = (a + high) * (c + high) - b * b
    T[0], T[1] = -((c + high) * x - b * y) / det, -((a + high) * y - b * x) / det


@kernel
def normal_after(G: np.ndarray, u: np.ndarray, mu: float, p: float, T: np.ndarray) -> float:
    """u_N after the normal impulse p and its friction impulse, which is written into T (2,)."""
    on_disc(G, u[1] + G[3] * p, u[2] + G[6] * p, mu * p, T)
    return u[0] + G[0] * p + G[1] * T[0] + G[2] * T[1]


@kernel
def slack_of(G: np.ndarray, approach: float) -> float:
    """What counts as no approach [m/s]: zero, but for bodies that stick as they come to rest."""
    a, b, c = G[4], 0.5 * (G[5] + G[7]), G[8]
    det, trace, held = a * c - b * b, a + c, 0.0
    if det > FLAT * trace * trace:
        held = (c * G[3] * G[3] - 2.0 * b * G[3] * G[6] + a * G[6] * G[6]) / det
    elif trace > 0.0:
        held = (a * G[3] * G[3] + 2.0 * b * G[3] * G[6] + c * G[6] * G[6]) / (trace * trace)
    return SLACK * approach if G[0] - held <= LOCKED * G[0] else 0.0


@kernel
def closing_impulse(G: np.ndarray, u: np.ndarray, mu: float, least: float, slack: float, T: np.ndarray) -> float:
    """The normal impulse after which u_N = 0, more than `least`, after which the bodies approach; -1: there is none.

    slack: as `slack_of`.  T (2,): its friction impulse.
    """
    low, high = least, max(2.0 * least, -u[0] / G[0])
    for _ in range(DOUBLINGS):
        if normal_after(G, u, mu, high, T) >= -slack:
            break
        low, high = high, 2.0 * high
    if not normal_after(G, u, mu, high, T) >= -slack:
        return -1.0
    for _ in range(HALVINGS):
        p = 0.5 * (low + high)
        if p <= low or p >= high:
            break
        if normal_after(G, u, mu, p, T) >= -slack:
            high = p
        else:
            low = p
    normal_after(G, u, mu, high, T)
    return high


@kernel
def move_on(G: np.ndarray, u: np.ndarray, p: float, T: np.ndarray) -> None:
    """Add what the impulse (p, T) changes to u (3,)."""
    for i in range(3):
        u[i] += G[3 * i] * p + G[3 * i + 1] * T[0] + G[3 * i + 2] * T[1]


@entry(apart=True)
def impact_in_two_steps(G: np.ndarray, before: np.ndarray, mu: float, e: float, Lambda: np.ndarray) -> bool:
    """Write Poisson's impulse (3,) of one contact in its frame N, 1, 2; False where compression has no end.

    G (9,) [1/kg], before (3,) velocities [m/s] with u_N < 0.
    """
    u, T, slack = before.copy(), np.zeros(2), slack_of(G, -before[0])
    p = closing_impulse(G, u, mu, 0.0, slack, T)
    if p < 0.0:
        return False
    Lambda[0], Lambda[1], Lambda[2] = p, T[0], T[1]
    move_on(G, u, p, T)
    if e == 0.0:
        return True
    back = e * p
    if normal_after(G, u, mu, back, T) < -slack:  # friction presses the bodies together: they get more
        back = closing_impulse(G, u, mu, back, slack, T)
        if back < 0.0:
            return False
    Lambda[0], Lambda[1], Lambda[2] = Lambda[0] + back, Lambda[1] + T[0], Lambda[2] + T[1]
    return True


@entry
def impact_of_balls(G: np.ndarray, u: np.ndarray, mu: float, e: float, e_T: float, Lambda: np.ndarray) -> bool:
    """Write Walton's impulse (3,) of two balls, or of a ball on a wall, in the frame N, 1, 2."""
    p, g = -(1.0 + e) * u[0] / G[0], G[4]
    x, y = -(1.0 + e_T) * u[1] / g, -(1.0 + e_T) * u[2] / g
    size = math.sqrt(x * x + y * y)
    share = mu * p / size if size > mu * p else 1.0
    Lambda[0], Lambda[1], Lambda[2] = p, share * x, share * y
    return True
