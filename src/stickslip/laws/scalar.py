"""One impact of one contact by the law that a code names, all in closed form: what `impacts.kernel` calls per state."""

from __future__ import annotations

import math
from typing import NamedTuple

from stickslip.jit import entry
from stickslip.laws.base import Striking
from stickslip.laws.lumped import lumped_impact
from stickslip.laws.routh import ENERGETIC, KINETIC, routh
from stickslip.lcp.gauss_seidel import one_contact
from stickslip.lcp.residuals import IMPULSE_SHARE

NEWTON, POISSON, STRONGE, POISSON_INTEGRATED, STRONGE_LUMPED, WALTON = range(6)


@entry
def from_below(alpha: float, beta: float, delta: float, c_N: float, c_T: float, mu: float) -> tuple[float, float]:
    """One contact under Newton's law; c_N = 0 is the limit from below, [PG05] section 6: stick wherever it can be."""
    if c_N == 0.0 and beta > 0.0:
        determinant = alpha * beta - delta * delta
        if determinant > 0.0:
            N = delta * c_T / determinant
            T = -alpha * c_T / determinant
            if N > 0.0 and abs(T) <= mu * N:
                return N, T
        return 0.0, 0.0
    return one_contact(alpha, beta, delta, c_N, c_T, mu, 0.0)


class OneContact(NamedTuple):
    """The problem of one contact: xi_N = c_N + alpha N + delta T, xi_T = c_T + delta N + beta T, |T| <= mu N + a.

    alpha, beta, delta as in [PG05] eq. (22).  size_N, size_T: how large the terms are that c_N, c_T are sums of.
    """

    alpha: float
    beta: float
    delta: float
    c_N: float
    c_T: float
    size_N: float
    size_T: float
    mu: float
    a: float


@entry
def residual_of_one(one: OneContact, N: float, T: float) -> float:
    """Worst violation of the contact laws by the impulses N, T, relative to the velocities in it."""
    bound = one.mu * N + one.a
    if not (N >= 0.0 and abs(T) <= bound * (1.0 + 1e-12)):
        return math.inf
    xi_N = one.c_N + one.alpha * N + one.delta * T
    defect_N = abs(xi_N) if N > 0.0 else max(0.0, -xi_N)
    residual = 0.0
    if defect_N > 0.0:
        residual = defect_N / (one.size_N + IMPULSE_SHARE * (one.alpha * N + abs(one.delta) * bound))
    if one.beta > 0.0 and bound > 0.0:
        xi_T = one.c_T + one.delta * N + one.beta * T
        defect_T = abs(xi_T)
        if abs(T) >= bound * (1.0 - 1e-12):
            defect_T = max(0.0, xi_T if T > 0.0 else -xi_T)
        if defect_T > 0.0:
            residual = max(residual, defect_T / (one.size_T + IMPULSE_SHARE * (abs(one.delta) * N + one.beta * bound)))
    return residual


@entry
def newton_of_one(one: OneContact, eps_N: float, eps_T: float) -> tuple[float, float, float]:
    """Lambda_N, Lambda_T and the residual under Newton's law; c_N, c_T of `one` are the velocities before."""
    c_N = (1.0 + eps_N) * one.c_N  # [PG05] eq. (27)
    c_T = (1.0 + eps_T) * one.c_T
    N, T = from_below(one.alpha, one.beta, one.delta, c_N, c_T, one.mu)
    posed = OneContact(one.alpha, one.beta, one.delta, c_N, c_T, one.size_N, one.size_T, one.mu, 0.0)
    return N, T, residual_of_one(posed, N, T)


@entry
def poisson_of_one(one: OneContact, eps_N: float, eps_T: float) -> tuple[float, float, float]:
    """Lambda_N, Lambda_T and the larger residual of Poisson's two problems; c_N, c_T are the velocities before."""
    alpha, beta, delta, mu = one.alpha, one.beta, one.delta, one.mu
    N, T = from_below(alpha, beta, delta, one.c_N, one.c_T, mu)
    first = residual_of_one(one, N, T)
    a = mu * (eps_N - eps_T) * N  # what is left of the friction interval once eps_T Lambda_T^c is given back
    N_c = (1.0 + eps_N) * N
    T_c = (1.0 + eps_T) * T
    c_N = one.c_N + alpha * N_c + delta * T_c
    c_T = one.c_T + delta * N_c + beta * T_c
    N, T = one_contact(alpha, beta, delta, c_N, c_T, mu, a)
    posed = OneContact(alpha, beta, delta, c_N, c_T, one.size_N, one.size_T, mu, a)
    return N_c + N, T_c + T, max(first, residual_of_one(posed, N, T))


@entry
def impact_of_one(
    law: int, one: OneContact, eps_N: float, eps_T: float, stiffness_ratio: float, tables: tuple
) -> tuple[float, float, float]:
    """Lambda_N, Lambda_T and the residual, inf where the reference has to do it.

    c_N, c_T of `one` are the velocities before, its a is 0; tables: room for the phases of `routh` and `lumped`.
    """
    if law == NEWTON:
        return newton_of_one(one, eps_N, eps_T)
    if law == POISSON:
        return poisson_of_one(one, eps_N, eps_T)
    struck = Striking(one.alpha, one.beta, one.delta, one.c_N, one.c_T, one.mu)
    if law == STRONGE_LUMPED:
        N, T, count = lumped_impact(struck, eps_N, stiffness_ratio, tables[1])
    else:
        end = ENERGETIC if law == STRONGE else KINETIC
        N, T, count = routh(struck, eps_N, end, tables[0])
    return N, T, 0.0 if count >= 0 else math.inf
