"""Impacts of many states at once: one compiled loop over the states.

States with one closed contact are solved here, in closed form.  Those with several are left to the caller (status
MULTIPLE), who solves their LCPs as a stack and comes back for the books (`finish`); so are states whose answer the loop
cannot vouch for (LEFT).
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.contact.relative import velocities
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
    """Number of closed contacts, marked in `closed`, the last of them, and the status that follows from all this."""
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
        if kinds[i] == CONTACT:
            touching += 1
        if abs(before[i, 0]) <= ZERO_VELOCITY * size[i, 0]:
            before[i, 0] = 0.0
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
def end_of_impact(
    L: np.ndarray,
    u: np.ndarray,
    directions: tuple,
    mu: np.ndarray,
    closed: np.ndarray,
    size: np.ndarray,
    books: tuple,
) -> float:
    """Velocities, energies and contact states after the impulses; return the energies added up without signs.

    directions: W_N, W_T, w_hat; books: Lambda, before, then written u_after, after, book, state, reversal.
    """
    W_N, W_T, w_hat = directions
    Lambda, before, u_after, after, book, state, reversal = books
    f = u.shape[0]
    momentum = np.zeros(f)
    for i in range(closed.shape[0]):
        if closed[i]:
            for j in range(f):
                momentum[j] += W_N[i, j] * Lambda[i, 0] + W_T[i, j] * Lambda[i, 1]
    solve_factored(L, momentum, u_after)
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
        state[i] = state_of(N, T, mu[i], has_tangent)
        reversal[i] = reverses(before[i, 1], after[i, 1], size[i, 1])
    book[ENERGY] = book[ENERGY_NORMAL] + book[ENERGY_TANGENTIAL]
    return total


@entry
def strike(
    law: int,
    options: tuple,
    kinds: np.ndarray,
    U: np.ndarray,
    model: tuple,
    coefficients: tuple,
    u_after: np.ndarray,
    Lambda: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    book: np.ndarray,
    state: np.ndarray,
    reversal: np.ndarray,
    closed: np.ndarray,
    status: np.ndarray,
) -> None:
    """Impacts of k states.

    options: for one contact only, decoupled only (Walton), dissipative, stiffness_ratio, gap_tol, tol.
    model: M (k, f, f), overwritten; g (k, n); W_N, W_T (k, n, f); w_hat (k, n, 2).
    coefficients: mu, eps_N, eps_T (k, n).
    Written: u_after (k, f); Lambda, before, after (k, n, 2), normal and tangential; book (k, 6); state, reversal,
    closed (k, n); status (k,).  Lambda, state, reversal and closed come in as zeros.
    """
    single, decoupled, dissipative, stiffness_ratio, gap_tol, tol = options
    M, g, W_N, W_T, w_hat = model
    mu, eps_N, eps_T = coefficients
    n, f = W_N.shape[1], W_N.shape[2]
    size = np.empty((n, 2))
    V = np.empty((2, f))
    tables = (np.empty((MAX_PHASES, 3)), np.empty((MAX_LUMPED_PHASES, 4)))
    for s in range(U.shape[0]):
        book[s, KINETIC_BEFORE] = kinetic(M[s], U[s])
        velocities(W_N[s], W_T[s], w_hat[s], U[s], before[s])
        sizes(W_N[s], W_T[s], w_hat[s], U[s], size)
        _, i, outcome = closed_contacts(kinds, gap_tol, g[s], before[s], size, closed[s])
        if single and outcome == MULTIPLE:
            outcome = SEVERAL
        if outcome == SOLVED and not factor(M[s]):
            outcome = NOT_FINITE
        status[s] = outcome
        if outcome != SOLVED:
            continue
        local = delassus_of_one(M[s], W_N[s, i], W_T[s, i], V)
        if decoupled and abs(local[2]) > COUPLING * math.sqrt(local[0] * local[1]):
            status[s] = COUPLED
            continue
        alpha, beta, delta = local
        one = OneContact(alpha, beta, delta, before[s, i, 0], before[s, i, 1], size[i, 0], size[i, 1], mu[s, i], 0.0)
        Lambda[s, i, 0], Lambda[s, i, 1], residual = impact_of_one(
            law, one, eps_N[s, i], eps_T[s, i], stiffness_ratio, tables
        )
        books = (Lambda[s], before[s], u_after[s], after[s], book[s], state[s], reversal[s])
        total = end_of_impact(M[s], U[s], (W_N[s], W_T[s], w_hat[s]), mu[s], closed[s], size, books)
        book[s, RESIDUAL] = residual
        book[s, UNSCALED] = book[s, ENERGY] if law == POISSON else math.nan
        if not residual <= tol or (dissipative and book[s, ENERGY] > GAIN * total):
            status[s] = LEFT


@entry
def finish(
    U: np.ndarray,
    model: tuple,
    mu: np.ndarray,
    dissipative: bool,
    u_after: np.ndarray,
    Lambda: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    book: np.ndarray,
    state: np.ndarray,
    reversal: np.ndarray,
    closed: np.ndarray,
    status: np.ndarray,
) -> None:
    """Books of states whose impulses are known; `dissipative`: those that gain energy are LEFT."""
    M, _, W_N, W_T, w_hat = model
    size = np.empty((W_N.shape[1], 2))
    for s in range(U.shape[0]):
        sizes(W_N[s], W_T[s], w_hat[s], U[s], size)
        if not factor(M[s]):
            status[s] = NOT_FINITE
            continue
        books = (Lambda[s], before[s], u_after[s], after[s], book[s], state[s], reversal[s])
        total = end_of_impact(M[s], U[s], (W_N[s], W_T[s], w_hat[s]), mu[s], closed[s], size, books)
        if dissipative and book[s, ENERGY] > GAIN * total:
            status[s] = LEFT
