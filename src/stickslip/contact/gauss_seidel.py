"""Gauss-Seidel over contacts (Moreau, Jean): each contact solved exactly, the others held; with Anderson acceleration.

The sweep g maps impulses to impulses, r* = g(r*).  Type-II Anderson over the last m sweeps, f_k = g(r_k) - r_k,

    r_{k+1} = g_k - sum_j gamma_j (g_{j+1} - g_j),    gamma = argmin | f_k - sum_j gamma_j (f_{j+1} - f_j) |,

projected onto the cones; a step that doubles |f| is taken back and the memory cleared.  Memory 0: plain sweeps.
The change |f| costs nothing, so the true error is computed only when the change is small or after CHECK_EVERY sweeps.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.contact.blocks import add_product
from stickslip.contact.one_contact import one_contact_2d, one_contact_3d
from stickslip.contact.residual import SCALE, error_in, loads, natural_map, worst_violation
from stickslip.jit import entry
from stickslip.lcp.linear import lu_factor, lu_solve
from stickslip.projections import EPS, project_cone_2d, project_cone_3d

F, F_BEFORE, G_BEFORE, X = -4, -3, -2, -1  # rows of `work`, see `anderson_step`
# of the state: sweeps since the memory was cleared, last |f| accepted, |f| of this sweep, the relative change that
# calls for a look at the error, the error then seen, how many of them are in the history
KEPT, NORM, CHANGE, LIGHT, ERROR, CHECKS = range(6)


@entry
def update_3d(
    data: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    diagonal: np.ndarray,
    inverse: np.ndarray,
    q: np.ndarray,
    mu: np.ndarray,
    r: np.ndarray,
    relaxation: float,
    i: int,
) -> None:
    """Solve contact i, the others held, and write its impulse."""
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
def update_2d(
    data: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    diagonal: np.ndarray,
    inverse: np.ndarray,
    q: np.ndarray,
    mu: np.ndarray,
    r: np.ndarray,
    relaxation: float,
    i: int,
) -> None:
    """`update_3d` in the plane."""
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
def sweep(
    data: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    diagonal: np.ndarray,
    inverse: np.ndarray,
    q: np.ndarray,
    mu: np.ndarray,
    r: np.ndarray,
    relaxation: float,
    first: int,
    last: int,
) -> None:
    """One sweep over contacts first .. last - 1, in place."""
    if data.shape[1] == 3:  # asked once and not per contact, which would take half as long again
        for i in range(first, last):
            update_3d(data, indptr, indices, diagonal, inverse, q, mu, r, relaxation, i)
    else:
        for i in range(first, last):
            update_2d(data, indptr, indices, diagonal, inverse, q, mu, r, relaxation, i)


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
def error_of(
    data: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    q: np.ndarray,
    mu: np.ndarray,
    r: np.ndarray,
    u: np.ndarray,
    gauge: tuple,
    first: int,
    last: int,
) -> float:
    """Write u = W r + q of a range of contacts and return their error, measured by `gauge`."""
    dim = data.shape[1]
    for k in range(dim * first, dim * last):
        u[k] = q[k]
    add_product(data, indptr, indices, r, u, first, last)
    return error_in(data, indptr, indices, u, q, r, mu, gauge, first, last)


@entry(apart=True)
def errors_of(
    data: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    q: np.ndarray,
    mu: np.ndarray,
    z: np.ndarray,
    units: np.ndarray,
    u: np.ndarray,
    gauge: tuple,
) -> tuple[float, float, float]:
    """Write the velocities of scaled impulses z [m/s]; error in velocities, natural map, rounding of u / v."""
    n = mu.shape[0]
    dim = data.shape[1]
    for k in range(dim * n):
        u[k] = q[k]
    add_product(data, indptr, indices, z, u, 0, n)
    load, rounding = loads(data, indptr, indices, z, 0, n), 0.0
    for i in range(n):
        rounding = max(rounding, EPS * load[i] * gauge[2][i])
    error = worst_violation(u, z, mu, load, gauge, dim, 0, n)
    other = natural_map(u, q, z, mu, gauge, dim, 0, n)
    for k in range(dim * n):
        u[k] /= units[k]
    return error, other, rounding / gauge[3][SCALE]


@entry
def mixing(work: np.ndarray, n: int, stored: int, new: int, anderson: tuple) -> None:
    """gamma of the Anderson step; row and column `new` of the Gram matrix of the DF_j are brought up to date."""
    gram, A, gamma, pivot, _ = anderson
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


@entry
def anderson_state(memory: int) -> tuple:
    """Gram matrix, scratch for its factors, gamma, pivots, and a state (KEPT to CHECKS)."""
    gram, factors = np.empty((memory, memory)), np.empty((memory, memory))
    anderson = gram, factors, np.empty(memory), np.empty(memory, np.int64), np.empty(6)
    forget(anderson)
    return anderson


@entry
def forget(anderson: tuple) -> None:
    """Begin with another range of contacts, or anew."""
    anderson[4][KEPT], anderson[4][NORM] = 0.0, np.inf


@entry
def sweep_change(r: np.ndarray, first: int, work: np.ndarray, n: int) -> tuple[float, float]:
    """Write f = g - x, x the impulses before the sweep (work[X]) and g those after; returns |f| and |g|."""
    f, x = work[F, :n], work[X, :n]
    for k in range(n):
        f[k] = r[first + k] - x[k]
    g = r[first : first + n]
    return math.sqrt(dot(f, f)), math.sqrt(dot(g, g))


@entry
def anderson_step(
    r: np.ndarray, mu: np.ndarray, dim: int, first: int, last: int, memory: int, work: np.ndarray, anderson: tuple
) -> None:
    """From the result g of a sweep (in r) and f (in work) to the next iterate, in place.

    Rows of `work`: DF_j = f_{j+1} - f_j, then DG_j = g_{j+1} - g_j, `memory` of each, and the last f, g.
    """
    a, b = dim * first, dim * last
    n = b - a
    f, f_before, g_before = work[F, :n], work[F_BEFORE, :n], work[G_BEFORE, :n]
    gamma, state = anderson[2], anderson[4]
    g = r[a:b]
    kept = int(state[KEPT])
    if kept > 0 and not (state[CHANGE] <= 2.0 * state[NORM]):  # take the step back, forget
        for k in range(n):
            g[k] = g_before[k]
        forget(anderson)
        return
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
        mixing(work, n, stored, new, anderson)
        for j in range(stored):
            for k in range(n):
                g[k] -= gamma[j] * work[memory + j, k]
        project_all(r, mu, dim, first, last)


@entry(inline=True)
def begin_sweep(r: np.ndarray, first: int, work: np.ndarray, n: int) -> None:
    """Keep the impulses that a sweep begins with."""
    for k in range(n):
        work[X, k] = r[first + k]


@entry(inline=True)
def end_sweep(
    data: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    q: np.ndarray,
    mu: np.ndarray,
    r: np.ndarray,
    u: np.ndarray,
    gauge: tuple,
    first: int,
    last: int,
    count: int,
    max_sweeps: int,
    tol: float,
    memory: int,
    check_every: int,
    history: np.ndarray,
    work: np.ndarray,
    anderson: tuple,
) -> bool:
    """What follows sweep number `count`: a look at its change, at the error now and then, the acceleration.

    True where it was the last one: solved, max_sweeps reached, or no change is left.
    """
    dim = data.shape[1]
    state = anderson[4]
    if count == 1:
        state[LIGHT], state[ERROR], state[CHECKS] = tol, np.inf, 0.0
    state[CHANGE], size = sweep_change(r, dim * first, work, dim * (last - first))
    quiet = state[CHANGE] <= state[LIGHT] * size
    if quiet or count % check_every == 0 or count == max_sweeps:
        state[ERROR] = error_of(data, indptr, indices, q, mu, r, u, gauge, first, last)
        checks = int(state[CHECKS])
        if checks < history.shape[0]:
            history[checks] = state[ERROR]
            state[CHECKS] += 1.0
        if state[ERROR] <= tol or count == max_sweeps or (quiet and state[LIGHT] < 1e-17):
            return True
        if quiet:
            state[LIGHT] *= 0.5
    if memory > 0:
        anderson_step(r, mu, dim, first, last, memory, work, anderson)
    return False


@entry(apart=True)
def accelerated_sweeps(
    data: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    diagonal: np.ndarray,
    inverse: np.ndarray,
    q: np.ndarray,
    mu: np.ndarray,
    r: np.ndarray,
    u: np.ndarray,
    gauge: tuple,
    first: int,
    last: int,
    max_sweeps: int,
    tol: float,
    memory: int,
    relaxation: float,
    check_every: int,
    history: np.ndarray,
    work: np.ndarray,
    anderson: tuple,
) -> tuple[int, float, int]:
    """Sweep a range of contacts until its error is at most tol, accelerated unless memory is 0.

    Returns sweeps, error, and how many errors `history` holds.  r ends as the result of a sweep, inside the cones.
    `work` has 2 memory + 4 rows of at least as many numbers as the range; `anderson`, an `anderson_state`, is carried
    from call to call: `forget` it where the range is another one.
    """
    dim = data.shape[1]
    count = 0
    while count < max_sweeps:
        count += 1
        begin_sweep(r, dim * first, work, dim * (last - first))
        sweep(data, indptr, indices, diagonal, inverse, q, mu, r, relaxation, first, last)
        if end_sweep(
            data, indptr, indices, q, mu, r, u, gauge,
            first, last, count, max_sweeps, tol, memory, check_every, history, work, anderson,
        ):  # fmt: skip
            break
    return count, anderson[4][ERROR], int(anderson[4][CHECKS])
