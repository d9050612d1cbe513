"""Impacts of many states at once: one compiled loop over the states.

States with one closed contact are solved here, in closed form.  States with several are left to the caller (status
MULTIPLE), who solves their LCPs as a stack and calls `finish` for the energies.  States whose answer the loop cannot
check are left to the caller, too (LEFT).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stickslip.checks import Array
from stickslip.contact.relative import velocities
from stickslip.impacts.books import Books
from stickslip.jit import entry
from stickslip.laws.lumped import MAX_LUMPED_PHASES
from stickslip.laws.newton import COUPLING
from stickslip.laws.poisson import GAIN
from stickslip.laws.routh import MAX_PHASES
from stickslip.laws.scalar import POISSON, OneContact, impact_of_one
from stickslip.lcp.linear import factor, solve_factored

SOLVED, NO_CLOSED, SEPARATING, SEVERAL, COUPLED, NOT_FINITE, MULTIPLE, LEFT = range(8)
OPEN, BACKWARD, STICK, FORWARD, RELEASED, FRICTIONLESS = range(6)
STATE_NAMES = ("open", "backward slip", "stick", "forward slip", "released", "frictionless")
"""released: closed, but without an impulse; frictionless: an impulse, and no tangential one possible."""
ENERGY, ENERGY_NORMAL, ENERGY_TANGENTIAL, KINETIC_BEFORE, RESIDUAL, UNSCALED = range(6)
CONTACT, CLUTCH = 0, 1
ZERO_VELOCITY = 1e-12  # normal velocities below this share of their terms are zero


class Options(NamedTuple):
    """Wishes of the law and the caller; decoupled: only where delta = 0 (Walton)."""

    single: bool
    decoupled: bool
    dissipative: bool
    stiffness_ratio: float
    gap_tol: float
    tol: float


class Model(NamedTuple):
    """k states of a system: M (k, f, f), g (k, n), W_N, W_T (k, n, f), w_hat (k, n, 2)."""

    M: Array
    g: Array
    W_N: Array
    W_T: Array
    w_hat: Array


class Coefficients(NamedTuple):
    """Friction and restitution of k states, (k, n)."""

    mu: Array
    eps_N: Array
    eps_T: Array


@entry
def state_of(N: float, T: float, mu: float, has_tangent: bool) -> int:
    """State of a closed contact by [PG05] section 5: where the tangential impulse lies in its interval."""
    if N == 0.0:
        return RELEASED
    if mu == 0.0 or not has_tangent:
        return FRICTIONLESS
    if abs(T) < mu * N * (1.0 - 1e-12):
        return STICK
    return BACKWARD if T > 0.0 else FORWARD


@entry
def reverses(before: float, after: float, size: float) -> bool:
    """Whether the tangential velocity changes its sign, round-off apart."""
    return before * after < 0.0 and min(abs(before), abs(after)) > 1e-12 * size


@entry
def closed_contacts(
    kinds: np.ndarray, gap_tol: float, g: np.ndarray, before: np.ndarray, size: np.ndarray, closed: np.ndarray
) -> tuple[int, int, int]:
    """Count of closed contacts, which are marked in `closed`, the number of the last one, and the state's status."""
    m = 0
    last = 0
    touching = 0
    approaching = 0
    for i in range(kinds.shape[0]):
        if not abs(g[i]) + abs(before[i, 0]) + abs(before[i, 1]) < math.inf:
            return m, last, NOT_FINITE
        if kinds[i] > CLUTCH or (kinds[i] == CONTACT and g[i] > gap_tol):
            continue
        closed[i] = True
        last = i
        m += 1
        if abs(before[i, 0]) <= ZERO_VELOCITY * size[i, 0]:
            before[i, 0] = 0.0
        if kinds[i] == CONTACT or before[i, 0] < 0.0:  # a clutch that is overtaken engages
            touching += 1
        if before[i, 0] <= 0.0:
            approaching += 1
    if touching == 0:
        return m, last, NO_CLOSED
    if approaching == 0:
        return m, last, SEPARATING
    return m, last, SOLVED if m == 1 else MULTIPLE


@entry
def sizes(W_N: np.ndarray, W_T: np.ndarray, w_hat: np.ndarray, u: np.ndarray, size: np.ndarray) -> None:
    """How large the numbers are that the velocities are made of."""
    for i in range(W_N.shape[0]):
        size[i, 0] = abs(w_hat[i, 0])
        size[i, 1] = abs(w_hat[i, 1])
        for j in range(u.shape[0]):
            size[i, 0] += abs(W_N[i, j] * u[j])
            size[i, 1] += abs(W_T[i, j] * u[j])


@entry
def dot(a: np.ndarray, b: np.ndarray) -> float:
    s = 0.0
    for j in range(a.shape[0]):
        s += a[j] * b[j]
    return s


@entry
def delassus_of_one(L: np.ndarray, w_N: np.ndarray, w_T: np.ndarray, V: np.ndarray) -> tuple[float, float, float]:
    """alpha, beta, delta of [PG05] eq. (22)."""
    solve_factored(L, w_N, V[0])
    solve_factored(L, w_T, V[1])
    return dot(w_N, V[0]), dot(w_T, V[1]), dot(w_N, V[1])


@entry
def kinetic(M: np.ndarray, u: np.ndarray) -> float:
    """u^T M u / 2."""
    energy = 0.0
    for i in range(u.shape[0]):
        energy += 0.5 * u[i] * dot(M[i], u)
    return energy


@entry
def end_of_impact(u: np.ndarray, model: Model, mu: np.ndarray, size: np.ndarray, books: Books, s: int) -> float:
    """Velocities, energies and states of the contacts of state s after its impulses go into the books.

    model.M is factored, size (n, 2).  Returns the energies added up without signs.
    """
    W_N, W_T, w_hat = model.W_N[s], model.W_T[s], model.w_hat[s]
    Lambda, before, after, book = books.Lambda[s], books.before[s], books.after[s], books.book[s]
    closed, u_after = books.closed[s], books.u[s]
    f = u.shape[0]
    momentum = np.zeros(f)
    for i in range(closed.shape[0]):
        if closed[i]:
            for j in range(f):
                momentum[j] += W_N[i, j] * Lambda[i, 0] + W_T[i, j] * Lambda[i, 1]
    solve_factored(model.M[s], momentum, u_after)
    for j in range(f):
        u_after[j] += u[j]
    velocities(W_N, W_T, w_hat, u_after, after)
    total = 0.0
    book[ENERGY_NORMAL] = 0.0
    book[ENERGY_TANGENTIAL] = 0.0
    for i in range(closed.shape[0]):
        if not closed[i]:
            continue
        N = Lambda[i, 0]
        T = Lambda[i, 1]
        book[ENERGY_NORMAL] += N * (0.5 * (before[i, 0] + after[i, 0]) - w_hat[i, 0])
        book[ENERGY_TANGENTIAL] += T * (0.5 * (before[i, 1] + after[i, 1]) - w_hat[i, 1])
        total += N * (abs(before[i, 0]) + abs(after[i, 0])) + abs(T) * (abs(before[i, 1]) + abs(after[i, 1]))
        has_tangent = False
        for j in range(f):
            has_tangent = has_tangent or W_T[i, j] != 0.0
        books.state[s, i] = state_of(N, T, mu[i], has_tangent)
        books.reversal[s, i] = reverses(before[i, 1], after[i, 1], size[i, 1])
    book[ENERGY] = book[ENERGY_NORMAL] + book[ENERGY_TANGENTIAL]
    return total


@entry
def strike(
    law: int, options: Options, kinds: np.ndarray, U: np.ndarray, model: Model, coefficients: Coefficients, books: Books
) -> None:
    """Impacts of k states with velocities U (k, f); model.M is overwritten by its factors.

    Lambda, state, reversal and closed of the books come in as zeros.
    """
    mu, eps_N, eps_T = coefficients
    n, f = model.W_N.shape[1], model.W_N.shape[2]
    size = np.empty((n, 2))
    V = np.empty((2, f))
    tables = (np.empty((MAX_PHASES, 3)), np.empty((MAX_LUMPED_PHASES, 4)))
    for s in range(U.shape[0]):
        W_N, W_T, w_hat, before = model.W_N[s], model.W_T[s], model.w_hat[s], books.before[s]
        books.book[s, KINETIC_BEFORE] = kinetic(model.M[s], U[s])
        velocities(W_N, W_T, w_hat, U[s], before)
        sizes(W_N, W_T, w_hat, U[s], size)
        _, i, outcome = closed_contacts(kinds, options.gap_tol, model.g[s], before, size, books.closed[s])
        if options.single and outcome == MULTIPLE:
            outcome = SEVERAL
        if outcome == SOLVED and not factor(model.M[s]):
            outcome = NOT_FINITE
        books.status[s] = outcome
        if outcome != SOLVED:
            continue
        alpha, beta, delta = delassus_of_one(model.M[s], W_N[i], W_T[i], V)
        if options.decoupled and abs(delta) > COUPLING * math.sqrt(alpha * beta):
            books.status[s] = COUPLED
            continue
        one = OneContact(alpha, beta, delta, before[i, 0], before[i, 1], size[i, 0], size[i, 1], mu[s, i], 0.0)
        books.Lambda[s, i, 0], books.Lambda[s, i, 1], residual = impact_of_one(
            law, one, eps_N[s, i], eps_T[s, i], options.stiffness_ratio, tables
        )
        total = end_of_impact(U[s], model, mu[s], size, books, s)
        energy = books.book[s, ENERGY]
        books.book[s, RESIDUAL] = residual
        books.book[s, UNSCALED] = energy if law == POISSON else math.nan
        if not residual <= options.tol or (options.dissipative and energy > GAIN * total):
            books.status[s] = LEFT


@entry
def finish(U: np.ndarray, model: Model, mu: np.ndarray, dissipative: bool, books: Books) -> None:
    """Books of states whose impulses are known; `dissipative`: those that gain energy are LEFT."""
    size = np.empty((model.W_N.shape[1], 2))
    for s in range(U.shape[0]):
        sizes(model.W_N[s], model.W_T[s], model.w_hat[s], U[s], size)
        if not factor(model.M[s]):
            books.status[s] = NOT_FINITE
            continue
        total = end_of_impact(U[s], model, mu[s], size, books, s)
        if dissipative and books.book[s, ENERGY] > GAIN * total:
            books.status[s] = LEFT
