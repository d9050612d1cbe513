"""The algebraic impact law of Chatterjee and Ruina: one contact in closed form, several one after the other.

With G = W^T M^-1 W of the contact, rows N, 1, 2, and u the velocities before, u_N < 0:

    P_I   the normal impulse after which u_N = 0,    P_II = -G^-1 u, after which u = 0
    P = (1 + e) P_I + kappa (P_II - P_I)

kappa = 1 + e_T, or the largest below it with |P_T| <= mu P_N.  Since P_I . G (P_II - P_I) = 0,

    u_N^+ = -e u_N,    T^+ - T^- = -(1 - e^2)/2 P_I . G P_I - kappa (2 - kappa)/2 |P_II - P_I|_G^2 <= 0

for e in [0, 1] and e_T in [-1, 1]: energy is never gained.  e_T = -1 is an impact without friction.

Reference: Chatterjee and Ruina 1998, "A new algebraic rigid-body collision law based on impulse space considerations".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from stickslip.jit import entry
from stickslip.laws.base import Array, Coefficient, ImpactLaw, LawSolution

if TYPE_CHECKING:
    from stickslip.contact.planar import PlanarProblem, PlanarSolver

FLAT = 1e-12  # of its trace squared: a determinant that is none
STILL = 1e-12  # of the velocities before: an approach that is left
ROUNDS = 400  # impacts for each contact of a sequence


@entry
def algebraic_impact(G: np.ndarray, u: np.ndarray, mu: float, e: float, e_T: float, Lambda: np.ndarray) -> bool:
    """Write the impulse (3,) of one contact in its frame N, 1, 2; u_N < 0; always True.

    G (9,) [1/kg], u (3,) [m/s].  Directions that cannot move, as those of a planar contact out of its plane, have no
    impulse.
    """
    p = -u[0] / G[0]
    x, y = u[1] + G[3] * p, u[2] + G[6] * p  # slip after P_I
    a, b, c = G[4] - G[3] * G[1] / G[0], G[5] - G[3] * G[2] / G[0], G[8] - G[6] * G[2] / G[0]
    det, trace, D1, D2 = a * c - b * b, a + c, 0.0, 0.0
    if det > FLAT * trace * trace:
        D1, D2 = -(c * x - b * y) / det, -(a * y - b * x) / det
    elif trace > FLAT * (G[4] + G[8]):  # one direction of slip: the least impulse that stops it
        D1, D2 = -(a * x + b * y) / (trace * trace), -(b * x + c * y) / (trace * trace)
    D0, size = -(G[1] * D1 + G[2] * D2) / G[0], math.sqrt(D1 * D1 + D2 * D2)
    kappa = 1.0 + e_T
    if kappa * size > mu * ((1.0 + e) * p + kappa * D0):
        kappa = mu * (1.0 + e) * p / (size - mu * D0)
    Lambda[0], Lambda[1], Lambda[2] = (1.0 + e) * p + kappa * D0, kappa * D1, kappa * D2
    return True


@dataclass(frozen=True)
class ChatterjeeRuina(ImpactLaw):
    """The algebraic law of Chatterjee and Ruina, with two coefficients; several contacts one after the other.

        P = (1 + e) P_I + kappa (P_II - P_I),    kappa = 1 + e_T, or less where friction bounds it

    P_I stops the approach without friction, P_II stops approach and slip.  So gamma_N^+ = -e gamma_N^-, and a contact
    that sticks has e_T = 0.  Energy never grows.  Of several contacts the one that approaches fastest is struck first,
    until none approaches.  Reference: Chatterjee and Ruina 1998.

    Parameters
    ----------
    restitution_normal : e in [0, 1], one number or one per contact; None: the system's own
    restitution_tangential : e_T in [-1, 1], likewise; -1 is an impact without friction
    """

    restitution_normal: Coefficient = None
    restitution_tangential: Coefficient = None

    name = "chatterjee-ruina"
    LEAST: ClassVar[dict[str, float]] = {"restitution_tangential": -1.0}

    def _impact(self, problem: PlanarProblem, eps_N: Array, eps_T: Array, solver: PlanarSolver) -> LawSolution:
        k, rows = problem.contacts, np.flatnonzero(problem.normal)
        N, T, Lambda, done = np.zeros(k), np.zeros(k), np.zeros(3), 0
        v_N, v_T = problem.c_N, problem.c_T
        rest = STILL * float(np.abs(np.concatenate([v_N, v_T])).max(initial=0.0))
        while done < ROUNDS * (k + 1):
            i = rows[np.argmin(v_N[rows])]
            if v_N[i] >= -rest:
                break
            done += 1
            across = 0.0 if not problem.tangential[i] else 1.0
            G = np.zeros(9)
            G[0], G[1], G[4] = problem.G_NN[i, i], across * problem.G_NT[i, i], across * problem.G_TT[i, i]
            G[3] = G[1]
            u = np.array([v_N[i], across * v_T[i], 0.0])
            algebraic_impact(G, u, float(problem.mu[i]), float(eps_N[i]), float(eps_T[i]), Lambda)
            N[i] += Lambda[0]
            T[i] += Lambda[1]
            v_N, v_T = problem.slip_velocities(N, T)
        worst = float(max(0.0, -v_N[rows].min(initial=0.0)))
        solved = worst <= rest
        status = f"{done} impacts in closed form" if solved else "impacts one after the other do not end"
        return LawSolution(N, T, worst, solved, status, done)
