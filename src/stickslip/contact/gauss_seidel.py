"""Gauss-Seidel over contacts (Moreau, Jean): each contact solved exactly, the others held; with Anderson acceleration.

The sweep g maps impulses to impulses, r* = g(r*).  Type-II Anderson over the last m sweeps, f_k = g(r_k) - r_k,

    r_{k+1} = g_k - sum_j gamma_j (g_{j+1} - g_j),    gamma = argmin | f_k - sum_j gamma_j (f_{j+1} - f_j) |,

projected onto the cones; a step that doubles |f| is taken back and the memory cleared.  Memory 0: plain sweeps.
The change |f| costs nothing, so the true error is computed only when the change is small or after CHECK_EVERY sweeps.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stickslip.contact.blocks import Coupled, add_product
from stickslip.contact.one_contact import one_contact_2d, one_contact_3d
from stickslip.contact.residual import SCALE, error_in, loads, natural_map, sharpened, worst_violation
from stickslip.jit import entry, kernel
from stickslip.lcp.linear import lu_factor, lu_solve
from stickslip.projections import EPS, project_cone_2d, project_cone_3d

F, F_BEFORE, G_BEFORE, X = -4, -3, -2, -1  # rows of `work`, see `anderson_step`
# of the state: sweeps since the memory was cleared, last |f| accepted, |f| of this sweep, the relative change that
# calls for a look at the error, the error then seen, how many of them are in the history
KEPT, NORM, CHANGE, LIGHT, ERROR, CHECKS = range(6)


class Asked(NamedTuple):
    """Wishes for sweeps.

    max_sweeps, tol : when they end.  memory : sweeps that Anderson acceleration looks back on; 0 for plain sweeps.
    relaxation : 0 < omega < 2.  check_every : sweeps after which the error is computed in any case.
    """

    max_sweeps: int
    tol: float
    memory: int
    relaxation: float
    check_every: int


class Anderson(NamedTuple):
    """Memory of Anderson acceleration over m sweeps.

    work : (2 m + 4, numbers of the longest range), see `anderson_step`.
    gram, factors, gamma, pivots : (m, m), (m, m), (m,), (m,), of the equations for gamma.
    state : (6,), from KEPT to CHECKS.
    """

    work: np.ndarray
    gram: np.ndarray
    factors: np.ndarray
    gamma: np.ndarray
    pivots: np.ndarray
    state: np.ndarray


class Part(NamedTuple):
    """Contacts first .. last - 1 of a problem, whose impulses are looked for.

    r, u : impulses and velocities of all contacts.  gauge : measure of the error.
    """

    r: np.ndarray
    u: np.ndarray
    gauge: tuple
    first: int
    last: int


@entry
def update_3d(contacts: Coupled, local: tuple, r: np.ndarray, relaxation: float, i: int) -> None:
    """Solve contact i, the others held, and write its impulse."""
    data, indptr, indices, q, mu = contacts
    diagonal, inverse = local
    k = 3 * i
    b0, b1, b2 = q[k], q[k + 1], q[k + 2]
    for p in range(indptr[i], indptr[i + 1]):
        j = 3 * indices[p]
        if j != k and r[j] != 0.0:  # r_N = 0 means r = 0
            b0 += data[p, 0, 0] * r[j] + data[p, 0, 1] * r[j + 1] + data[p, 0, 2] * r[j + 2]
            b1 += data[p, 1, 0] * r[j] + data[p, 1, 1] * r[j + 1] + data[p, 1, 2] * r[j + 2]
            b2 += data[p, 2, 0] * r[j] + data[p, 2, 1] * r[j + 1] + data[p, 2, 2] * r[j + 2]
    n0, n1, n2 = one_contact_3d(diagonal[i], inverse[i], b0, b1, b2, mu[i], r[k + 1], r[k + 2])
    if relaxation != 1.0:
        n0 = r[k] + relaxation * (n0 - r[k])
        n1 = r[k + 1] + relaxation * (n1 - r[k + 1])
        n2 = r[k + 2] + relaxation * (n2 - r[k + 2])
        n0, n1, n2 = project_cone_3d(n0, n1, n2, mu[i])
    r[k], r[k + 1], r[k + 2] = n0, n1, n2


@entry
def update_2d(contacts: Coupled, local: tuple, r: np.ndarray, relaxation: float, i: int) -> None:
    """Solve contact i of the plane, the others held, and write its impulse."""
    data, indptr, indices, q, mu = contacts
    diagonal, inverse = local
    k = 2 * i
    b0, b1 = q[k], q[k + 1]
    for p in range(indptr[i], indptr[i + 1]):
        j = 2 * indices[p]
        if j != k and r[j] != 0.0:
            b0 += data[p, 0, 0] * r[j] + data[p, 0, 1] * r[j + 1]
            b1 += data[p, 1, 0] * r[j] + data[p, 1, 1] * r[j + 1]
    n0, n1 = one_contact_2d(diagonal[i], inverse[i], b0, b1, mu[i])
    if relaxation != 1.0:
        n0 = r[k] + relaxation * (n0 - r[k])
        n1 = r[k + 1] + relaxation * (n1 - r[k + 1])
        n0, n1 = project_cone_2d(n0, n1, mu[i])
    r[k], r[k + 1] = n0, n1


@entry(apart=True)
def sweep(contacts: Coupled, local: tuple, r: np.ndarray, relaxation: float, first: int, last: int) -> None:
    """One sweep over contacts first .. last - 1, in place; `local` are the blocks W_ii and their inverses."""
    if contacts.data.shape[1] == 3:  # asked once and not per contact, which would take half as long again
        for i in range(first, last):
            update_3d(contacts, local, r, relaxation, i)
    else:
        for i in range(first, last):
            update_2d(contacts, local, r, relaxation, i)


@entry
def project_all(r: np.ndarray, mu: np.ndarray, dim: int, first: int, last: int) -> None:
    """Project the impulses of contacts first .. last - 1 onto their cones, in place."""
    for i in range(first, last):
        k = dim * i
        if dim == 3:
            r[k], r[k + 1], r[k + 2] = project_cone_3d(r[k], r[k + 1], r[k + 2], mu[i])
        else:
            r[k], r[k + 1] = project_cone_2d(r[k], r[k + 1], mu[i])


@entry
def dot(x: np.ndarray, y: np.ndarray) -> float:
    """Scalar product in a fixed order, eight sums side by side: fast, and the same bits wherever it is inlined."""
    a0, a1, a2, a3, a4, a5, a6, a7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    n = x.shape[0]
    whole = n - n % 8
    for k in range(0, whole, 8):
        a0 += x[k] * y[k]
        a1 += x[k + 1] * y[k + 1]
        a2 += x[k + 2] * y[k + 2]
        a3 += x[k + 3] * y[k + 3]
        a4 += x[k + 4] * y[k + 4]
        a5 += x[k + 5] * y[k + 5]
        a6 += x[k + 6] * y[k + 6]
        a7 += x[k + 7] * y[k + 7]
    for k in range(whole, n):
        a0 += x[k] * y[k]
    return ((a0 + a1) + (a2 + a3)) + ((a4 + a5) + (a6 + a7))


@entry(apart=True)
def error_of(contacts: Coupled, r: np.ndarray, u: np.ndarray, gauge: tuple, first: int, last: int) -> float:
    """Write u = W r + q of contacts first .. last - 1 and return their error, measured by `gauge`."""
    data, indptr, indices, q, _ = contacts
    dim = data.shape[1]
    for k in range(dim * first, dim * last):
        u[k] = q[k]
    add_product(data, indptr, indices, r, u, first, last)
    return error_in(contacts, u, r, gauge, first, last)


@entry(apart=True)
def errors_of(
    contacts: Coupled, z: np.ndarray, units: np.ndarray, u: np.ndarray, gauge: tuple
) -> tuple[float, float, float]:
    """Write the velocities of scaled impulses z [m/s]; error in velocities, natural map, rounding of u / v."""
    data, indptr, indices, q, mu = contacts
    n = mu.shape[0]
    dim = data.shape[1]
    for k in range(dim * n):
        u[k] = q[k]
    add_product(data, indptr, indices, z, u, 0, n)
    load, rounding = loads(data, indptr, indices, z, 0, n), 0.0
    for i in range(n):
        rounding = max(rounding, EPS * load[i] * gauge[2][i])
    error = worst_violation(sharpened(contacts, u, z, load, gauge, 0, n), z, mu, load, gauge, dim, 0, n)
    other = natural_map(u, q, z, mu, gauge, dim, 0, n)
    for k in range(dim * n):
        u[k] /= units[k]
    return error, other, rounding / gauge[3][SCALE]


@entry
def mixing(n: int, stored: int, new: int, anderson: Anderson) -> None:
    """gamma of the Anderson step; row and column `new` of the Gram matrix of the DF_j are brought up to date."""
    work, gram, A, gamma, pivot, _ = anderson
    f = work[F, :n]
    for j in range(stored):
        gram[new, j] = dot(work[new, :n], work[j, :n])
        gram[j, new] = gram[new, j]
    for j in range(stored):
        for k in range(stored):
            A[j, k] = gram[j, k]
        A[j, j] += 1e-10 * A[j, j] + 1e-300
        gamma[j] = dot(work[j, :n], f)
    if lu_factor(stored, A, pivot) > 0.0:
        lu_solve(stored, A, pivot, gamma)
    else:
        for j in range(stored):
            gamma[j] = 0.0


@kernel
def new_anderson(memory: int, numbers: int) -> Anderson:
    """Memory over `memory` sweeps for ranges of contacts with up to `numbers` impulses."""
    work, gram, factors = np.empty((2 * memory + 4, numbers)), np.empty((memory, memory)), np.empty((memory, memory))
    anderson = Anderson(work, gram, factors, np.empty(memory), np.empty(memory, np.int64), np.empty(6))
    forget(anderson)
    return anderson


@entry
def forget(anderson: Anderson) -> None:
    """Begin with another range of contacts, or anew."""
    anderson.state[KEPT], anderson.state[NORM] = 0.0, np.inf


@entry
def sweep_change(r: np.ndarray, first: int, work: np.ndarray, n: int) -> tuple[float, float]:
    """Write f = g - x, x the impulses before the sweep (work[X]) and g those after; returns |f| and |g|."""
    f, x = work[F, :n], work[X, :n]
    for k in range(n):
        f[k] = r[first + k] - x[k]
    g = r[first : first + n]
    return math.sqrt(dot(f, f)), math.sqrt(dot(g, g))


@entry
def anderson_mix(g: np.ndarray, memory: int, anderson: Anderson) -> bool:
    """From the result g of a sweep and f (in work) to the next iterate, in place; whether it is not g itself.

    Rows of `work`: DF_j = f_{j+1} - f_j, then DG_j = g_{j+1} - g_j, `memory` of each, and the last f, g.
    """
    n = g.shape[0]
    work, gamma, state = anderson.work, anderson.gamma, anderson.state
    f, f_before, g_before = work[F, :n], work[F_BEFORE, :n], work[G_BEFORE, :n]
    kept = int(state[KEPT])
    if kept > 0 and not (state[CHANGE] <= 2.0 * state[NORM]):  # take the step back, forget
        for k in range(n):
            g[k] = g_before[k]
        forget(anderson)
        return False
    new = (kept - 1) % memory
    if kept > 0:
        for k in range(n):
            work[new, k] = f[k] - f_before[k]
            work[memory + new, k] = g[k] - g_before[k]
    for k in range(n):
        f_before[k] = f[k]
        g_before[k] = g[k]
    state[KEPT], state[NORM] = kept + 1.0, state[CHANGE]
    stored = min(kept, memory)
    if stored > 0:
        mixing(n, stored, new, anderson)
        for j in range(stored):
            for k in range(n):
                g[k] -= gamma[j] * work[memory + j, k]
    return stored > 0


@entry
def anderson_step(
    r: np.ndarray, mu: np.ndarray, dim: int, first: int, last: int, memory: int, anderson: Anderson
) -> None:
    """From the result of a sweep (in r) and f (in work) to the next iterate, projected onto the cones, in place."""
    if anderson_mix(r[dim * first : dim * last], memory, anderson):
        project_all(r, mu, dim, first, last)


@entry(inline=True)
def begin_sweep(r: np.ndarray, first: int, work: np.ndarray, n: int) -> None:
    """Keep the impulses that a sweep begins with."""
    for k in range(n):
        work[X, k] = r[first + k]


@entry(inline=True)
def end_sweep(contacts: Coupled, part: Part, count: int, asked: Asked, history: np.ndarray, anderson: Anderson) -> bool:
    """Steps after sweep number `count`: a look at its change, at the error now and then, the acceleration.

    True where it was the last one: solved, max_sweeps reached, or no change is left.
    """
    r, u, gauge, first, last = part
    dim = contacts.data.shape[1]
    state = anderson.state
    if count == 1:
        state[LIGHT], state[ERROR], state[CHECKS] = asked.tol, np.inf, 0.0
    state[CHANGE], size = sweep_change(r, dim * first, anderson.work, dim * (last - first))
    quiet = state[CHANGE] <= state[LIGHT] * size
    if quiet or count % asked.check_every == 0 or count == asked.max_sweeps:
        state[ERROR] = error_of(contacts, r, u, gauge, first, last)
        checks = int(state[CHECKS])
        if checks < history.shape[0]:
            history[checks] = state[ERROR]
            state[CHECKS] += 1.0
        if state[ERROR] <= asked.tol or count == asked.max_sweeps or (quiet and state[LIGHT] < 1e-17):
            return True
        if quiet:
            state[LIGHT] *= 0.5
    if asked.memory > 0:
        anderson_step(r, contacts.mu, dim, first, last, asked.memory, anderson)
    return False


@entry(apart=True)
def accelerated_sweeps(
    contacts: Coupled, local: tuple, part: Part, asked: Asked, history: np.ndarray, anderson: Anderson
) -> tuple[int, float, int]:
    """Sweep a range of contacts until its error is at most tol, accelerated unless memory is 0.

    Returns sweeps, error, and how many errors `history` holds.  r ends as the result of a sweep, inside the cones.
    `anderson` is carried from call to call: `forget` it where the range is another one.
    """
    r, _, _, first, last = part
    dim = contacts.data.shape[1]
    count = 0
    while count < asked.max_sweeps:
        count += 1
        begin_sweep(r, dim * first, anderson.work, dim * (last - first))
        sweep(contacts, local, r, asked.relaxation, first, last)
        if end_sweep(contacts, part, count, asked, history, anderson):
            break
    return count, anderson.state[ERROR], int(anderson.state[CHECKS])
