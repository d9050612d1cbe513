"""Laws of contacts, linearised (Alart and Curnier): changes of impulses from those of velocities.

With y = r - rho u, rho = 1 / size of each contact, and g = 1 / (alpha / rho + soft):

    open    y_N <= 0            dr = -r
    stick   |y_T| <= mu y_N     dr = -g (u + J dv)
    slip    otherwise           dr_N = -g (u_N + J_N dv),    r_T + dr_T = mu y_N t, linearised, t = y_T / |y_T|

so that dr = k - K J dv with a 3 x 3 block K for each contact.  alpha regularises contacts that are redundant.
soft [1/kg] gives way to impulses, u = J v + bias + soft r.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stickslip.contact.tree_problem import Motion, VelocityProblem, relative_velocity
from stickslip.jit import kernel

OPEN, STICK, SLIP = 0, 1, 2


@kernel
def linearise_slip(
    K: np.ndarray, k: np.ndarray, r: np.ndarray, u: np.ndarray, y: tuple[float, float, float], mu: float, rho: float,
    rules: Any,
) -> None:  # fmt: skip
    """K and k of a contact that slips; y = r - rho u; rules: alpha and soft."""
    y0, y1, y2 = y
    g, stiff = 1.0 / (rules.alpha / rho + rules.soft), 1.0 - rho * rules.soft
    size = math.sqrt(y1 * y1 + y2 * y2)
    t1, t2, s = y1 / size, y2 / size, mu * y0 / size
    p11, p12, p22 = s * (1.0 - t1 * t1), -s * t1 * t2, s * (1.0 - t2 * t2)
    a11, a12, a22 = 1.0 + rules.alpha - stiff * p11, -stiff * p12, 1.0 + rules.alpha - stiff * p22
    d = 1.0 / (a11 * a22 - a12 * a12)
    c = mu * (rho + stiff * g)
    e1, e2 = mu * t1 * (y0 - stiff * g * u[0]) - r[1], mu * t2 * (y0 - stiff * g * u[0]) - r[2]
    K[0], K[1], K[2] = g, 0.0, 0.0
    K[3], K[6] = c * (a22 * t1 - a12 * t2) * d, c * (a11 * t2 - a12 * t1) * d
    K[4], K[5] = rho * (a22 * p11 - a12 * p12) * d, rho * (a22 * p12 - a12 * p22) * d
    K[7], K[8] = rho * (a11 * p12 - a12 * p11) * d, rho * (a11 * p22 - a12 * p12) * d
    k[0], k[1], k[2] = -g * u[0], (a22 * e1 - a12 * e2) * d, (a11 * e2 - a12 * e1) * d


@kernel(inline=True)
def attempt(problem: VelocityProblem, motion: Motion, i: int, dim: int) -> tuple[float, float, float]:
    """y = r - rho u of contact i."""
    r, u, rho = motion.r[i], motion.u[i], 1.0 / problem.size[i]
    return r[0] - rho * u[0], r[1] - rho * u[1], r[2] - rho * u[2] if dim == 3 else 0.0


@kernel
def find_states(problem: VelocityProblem, motion: Motion, dim: int, room: Any) -> tuple[bool, bool]:
    """State of all contacts; whether one differs from what the room had, and whether one slips."""
    changed, slips = False, False
    for i in range(motion.r.shape[0]):
        y0, y1, y2 = attempt(problem, motion, i, dim)
        state = STICK
        if not y0 > 0.0:
            state = OPEN
        elif y1 * y1 + y2 * y2 > (problem.mu[i] * y0) ** 2:
            state = SLIP
            slips = True
        changed = changed or state != room.state[i]
        room.state[i], room.loaded[i] = state, state != OPEN
    return changed, slips


@kernel
def linearise(problem: VelocityProblem, motion: Motion, rules: Any, room: Any) -> None:
    """K and k of all contacts, in the states that the room has."""
    for i in range(motion.r.shape[0]):
        r, u, K, k, rho = motion.r[i], motion.u[i], room.K[i], room.dr[i], 1.0 / problem.size[i]
        if room.state[i] == OPEN:
            for j in range(3):
                k[j] = -r[j]
        elif room.state[i] == STICK:
            g = 1.0 / (rules.alpha / rho + rules.soft)
            for j in range(9):
                K[j] = 0.0
            for j in range(rules.dim):
                K[4 * j], k[j] = g, -g * u[j]
            if rules.dim == 2:
                k[2] = 0.0
        else:
            linearise_slip(K, k, r, u, attempt(problem, motion, i, rules.dim), problem.mu[i], rho, rules)
            if rules.dim == 2:
                K[5], K[6], K[7], K[8], k[2] = 0.0, 0.0, 0.0, 0.0, 0.0


@kernel
def local_changes(problem: VelocityProblem, room: Any) -> None:
    """dr = k - K J dv."""
    for i in range(problem.a.shape[0]):
        if room.loaded[i]:
            K, d = room.K[i], room.dr[i]
            x, y, z = relative_velocity(problem, i, room.dv)
            d[0] -= K[0] * x + K[1] * y + K[2] * z
            d[1] -= K[3] * x + K[4] * y + K[5] * z
            d[2] -= K[6] * x + K[7] * y + K[8] * z
