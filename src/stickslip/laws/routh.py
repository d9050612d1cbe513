"""One planar contact integrated along its normal impulse: Routh's and Darboux-Keller's process.

With p the normal impulse so far, r = dLambda_T/dp and alpha, beta, delta of [PG05] eq. (22):

    d gamma_N/dp = alpha + delta r =: a,    d gamma_T/dp = delta + beta r =: b,    W = int gamma_N dp
    slip  gamma_T != 0: r = -mu sgn(gamma_T)
    stick gamma_T = 0:  r = -delta/beta if that lies within mu; otherwise slip begins with the sign of delta

Rates are constant in each phase, so every phase is closed form.  Compression ends at gamma_N = 0 with p_c and
W_c = W(p_c) < 0; the impact ends where W = (1 - e^2) W_c (energetic, Stronge) or p = (1 + e) p_c (kinetic, Poisson).
Supercritical friction (a < 0 while slipping) drives the bodies together until slip stops; then a > 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stickslip.jit import entry
from stickslip.laws.base import LawSolution, Phase, Striking, numbers_of, one_row

if TYPE_CHECKING:
    from stickslip.contact.planar import PlanarProblem

ENERGETIC, KINETIC = 0, 1
STAGES = ("compression", "restitution")
MOTIONS = {0: "stick", 1: "slip+", -1: "slip-"}
MAX_PHASES = 6


@entry
def direction(gamma_T: float, beta: float, delta: float, mu: float) -> tuple[float, float]:
    """Slip (1, -1, or 0 for stick) and r = dLambda_T/dp."""
    if beta == 0.0:
        return 0.0, 0.0
    slip = 0.0
    if gamma_T != 0.0:
        slip = 1.0 if gamma_T > 0.0 else -1.0
    elif abs(delta) > mu * beta:
        slip = 1.0 if delta > 0.0 else -1.0  # slip reversal: stick would need more friction than there is
    return slip, -mu * slip if slip != 0.0 else -delta / beta


@entry
def rest_of_restitution(
    a: float, gamma_N: float, W: float, W_c: float, p: float, p_c: float, e: float, end: int
) -> float:
    """Normal impulse that is missing to the end of the impact, in a phase with d gamma_N/dp = a > 0."""
    if end == KINETIC:
        return max(0.0, (1.0 + e) * p_c - p)
    missing = (1.0 - e * e) * W_c - W  # the positive root of a d^2/2 + gamma_N d = missing, without cancellation
    root = gamma_N + math.sqrt(max(0.0, gamma_N * gamma_N + 2.0 * a * missing))
    return max(0.0, 2.0 * missing / root) if root > 0.0 else 0.0


@entry
def routh(contact: Striking, e: float, end: int, phases: np.ndarray) -> tuple[float, float, int]:
    """Lambda_N, Lambda_T and the number of phases, -1 if they do not end; rows (stage, slip, impulse) in `phases`.

    `phases` has MAX_PHASES rows.  No impact: gamma_N > 0, or gamma_N = 0 and the slip does not drive the bodies
    together.
    """
    alpha, beta, delta, gamma_N, gamma_T, mu = contact
    p = 0.0
    Lambda_T = 0.0
    W = 0.0
    W_c = 0.0
    p_c = 0.0
    stage = 0
    count = 0
    if gamma_N > 0.0:
        return 0.0, 0.0, 0
    for _ in range(MAX_PHASES):
        slip, r = direction(gamma_T, beta, delta, mu)
        a = alpha + delta * r
        b = delta + beta * r if slip != 0.0 else 0.0
        if gamma_N >= 0.0 and stage == 0 and a >= 0.0:
            return 0.0, 0.0, 0  # gamma_N^- = 0 without a jam

        length = math.inf
        event = -1
        if gamma_T * b < 0.0:
            length = -gamma_T / b
            event = 0
        if stage == 0:
            if a > 0.0 and -gamma_N / a <= length:
                length = -gamma_N / a
                event = 1
        else:
            rest = rest_of_restitution(a, gamma_N, W, W_c, p, p_c, e, end)
            if rest <= length:
                length = rest
                event = 2
        if event < 0:
            return p, Lambda_T, -1
        if length > 0.0:
            phases[count, 0] = stage
            phases[count, 1] = slip
            phases[count, 2] = length
            count += 1
        W += gamma_N * length + 0.5 * a * length * length
        p += length
        Lambda_T += r * length
        gamma_N += a * length
        gamma_T = gamma_T + b * length if slip != 0.0 else 0.0
        if event == 0:
            gamma_T = 0.0
        elif event == 1:
            gamma_N = 0.0
            stage = 1
            W_c = W
            p_c = p
        else:
            return p, Lambda_T, count
    return p, Lambda_T, -1


def integrate(problem: PlanarProblem, i: int, e: float, end: int) -> LawSolution:
    """Contact i of `problem` alone, c_N and c_T its velocities before the impact."""
    table = np.zeros((MAX_PHASES, 3))
    N, T, count = routh(numbers_of(problem, i), e, end, table)
    phases = tuple(Phase(STAGES[int(row[0])], MOTIONS[int(row[1])], float(row[2])) for row in table[: max(0, count)])
    return one_row(problem, i, N, T, count, phases)
