"""Newton for one island with few contacts (Alart and Curnier), with full matrices.

The matrix is C (W + alpha 1) + E.  alpha regularises redundant contacts, and what it leaves over is taken out by the
next iteration.  Unknowns are scaled to unit diagonal blocks, so that impulses and velocities have the same units: the
root of an energy.

Redundant impulses
------------------
Where W d = 0 the laws leave the part of the impulses along d open, and a Newton step moves it by d . u / alpha:
rounding in u, divided by alpha.  With alpha = 1e-11 some per cent of the load of a grasp went from corner to corner in
each step, until the corners that were left could not hold the box; "it turns" is a solution then as well.  So alpha is
QUIET, and comes down only where the next iteration shows that alpha holds up: heavy loads on light bodies, whose W has
small eigenvalues.  From the impulses of the last step Newton then ends at a solution near to them.

`soften` is for contacts that carry nothing yet: the solutions of (W + a D, q), a from 0.1 to 1e-6, lead to the impulses
of least norm, which are as symmetric as the bodies.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.contact.cones import natural_map_square, squares
from stickslip.contact.constants import SLOW, SOFT_TOL, SOFTER, WINDOW
from stickslip.contact.newton import alart_curnier_slopes, alart_curnier_value, scale_rows
from stickslip.jit import entry, kernel
from stickslip.lcp.linear import lu_factor, lu_solve

FLOOR = 1e-11  # least alpha, relative to the unit diagonal
QUIET = 1e-7  # alpha: rounding of 1e-15 moves redundant impulses by 1e-8 of the others
REFINEMENTS, WORTH = 10, 0.5  # at most, and the factor that makes the next one worth while
REFINED = 1e-13  # part of the right side that does not ask for more
BLAMED = 0.3  # of an error above SLOW of the last one: alpha, which explains so much of it, holds up
EXACT = 1e-15
STALLED = 25  # iterations without an error of half the last best one: no more is to be had


@kernel
def island_error(u: np.ndarray, q: np.ndarray, z: np.ndarray, mu: np.ndarray, dim: int) -> float:
    """Natural map of contacts, or their approach, relative to max(|q|, |z|, |u|)."""
    n = mu.shape[0]
    total, approach = natural_map_square(u, z, mu, dim, 0, n), 0.0
    for i in range(n):
        approach += min(0.0, u[dim * i]) ** 2
    if approach > total:  # with large friction the map hardly sees it
        total = approach
    count = z.shape[0]
    size = max(squares(q, 0, count), max(squares(z, 0, count), squares(u, 0, count)))
    if not (total < np.inf and size < np.inf):
        return np.inf
    return math.sqrt(total / size) if size > 0.0 else math.sqrt(total)


@kernel
def multiply(W: np.ndarray, x: np.ndarray, q: np.ndarray, out: np.ndarray) -> None:
    """out = W x + q."""
    for i in range(out.shape[0]):
        total = q[i]
        for j in range(x.shape[0]):
            total += W[i, j] * x[j]
        out[i] = total


@kernel
def left_over(C: np.ndarray, active: np.ndarray, dim: int, alpha: float, dz: np.ndarray, b: np.ndarray) -> float:
    """b = alpha C dz, what a step dz with the regularised matrix leaves of the right side; returns |b|^2."""
    total = 0.0
    for i in range(active.shape[0]):
        for a in range(dim):
            value = 0.0
            if active[i]:
                for e in range(dim):
                    value += C[i, a, e] * dz[dim * i + e]
            b[dim * i + a] = alpha * value
            total += (alpha * value) ** 2
    return total


@kernel(apart=True)
def newton_step(
    W: np.ndarray, at: tuple[np.ndarray, np.ndarray], mu: np.ndarray, rho: np.ndarray, dim: int, alpha: float,
    F: np.ndarray, dz: np.ndarray,
) -> float:  # fmt: skip
    """Write the Newton step, refined; returns what alpha leaves of its right side, -1 where the matrix is singular.

    at : velocities and impulses of the iterate, whose function has the value F.
    Refinement solves for alpha C dz with the factors at hand.  That costs next to nothing, and takes a factor
    alpha / (alpha + lambda) off the error along each eigenvalue lambda of W.
    """
    u, z = at
    n, count = mu.shape[0], z.shape[0]
    C, E, active = np.empty((n, dim, dim)), np.empty((n, dim, dim)), np.empty(n, np.bool_)
    b, part = np.empty(count), np.empty(count)
    alart_curnier_slopes(u, z, mu, rho, dim, C, E, active)
    scale_rows(F, rho, active, dim, b)
    A = np.zeros((count, count))
    for i in range(n):
        for a in range(dim):
            k = dim * i + a
            if active[i]:
                for e in range(dim):
                    c = C[i, a, e]
                    if c != 0.0:
                        for j in range(count):
                            A[k, j] += c * W[dim * i + e, j]
                for e in range(dim):
                    A[k, dim * i + e] += E[i, a, e] + alpha * C[i, a, e]
            else:
                A[k, k] = 1.0
    pivot = np.empty(count, np.int64)
    if not lu_factor(count, A, pivot) > 0.0:
        return -1.0
    first, before, rest = squares(b, 0, count), np.inf, 0.0
    for k in range(count):
        dz[k] = 0.0
    for _ in range(1 + REFINEMENTS):
        lu_solve(count, A, pivot, b)
        for k in range(count):
            part[k] = b[k]
            dz[k] += b[k]
            if not abs(b[k]) < np.inf:
                return -1.0
        rest = left_over(C, active, dim, alpha, part, b)
        if rest <= REFINED**2 * first or rest > WORTH**2 * before:
            break
        before = rest
    return math.sqrt(rest)


@kernel
def set_penalties(W: np.ndarray, dim: int, rho: np.ndarray) -> None:
    """Penalties of each contact in its normal direction and across it: the inverse of W's diagonal, or of its mean."""
    for i in range(rho.shape[0]):
        rho[i, 0] = 1.0 / W[dim * i, dim * i]
        total = 0.0
        for a in range(1, dim):
            total += W[dim * i + a, dim * i + a]
        rho[i, 1] = (dim - 1) / total


@kernel(apart=True)
def newton_island(
    W: np.ndarray, q: np.ndarray, mu: np.ndarray, dim: int, z: np.ndarray, tol: float, max_iterations: int, quiet: bool
) -> float:
    """Improve the impulses z of an island, down to rounding where that comes cheaply; returns the error reached.

    quiet: redundant impulses stay where they are.
    """
    count = z.shape[0]
    rho = np.ones((mu.shape[0], 2))
    set_penalties(W, dim, rho)
    u, F, dz, du = np.empty(count), np.empty(count), np.empty(count), np.empty(count)
    trial, trial_u, zero = np.empty(count), np.empty(count), np.zeros(count)
    best, best_error = z.copy(), np.inf
    merits = np.full(WINDOW, -1.0)
    free, least = math.sqrt(squares(q, 0, count)), QUIET if quiet else FLOOR
    alpha, stalled, t, before, rest = least, 0, 0.0, np.inf, 0.0
    for k in range(max_iterations):
        multiply(W, z, q, u)
        error = island_error(u, q, z, mu, dim)
        if error < best_error:
            stalled = 0 if error < 0.5 * best_error else stalled + 1
            best_error = error
            best[:] = z
        else:
            stalled += 1
        # The error is relative to the impulses too, which a heavy load makes large: what counts are the velocities.
        loads = math.sqrt(squares(z, 0, count))
        enough = tol * free / max(free, loads) if free > 0.0 else tol
        size = error * max(free, loads)
        if error <= EXACT or (best_error <= enough and stalled > 0) or stalled > STALLED:
            break
        if t == 1.0 and best_error > enough and error > SLOW * before and BLAMED * size < rest:
            least = max(FLOOR, SLOW * SLOW * least)
            alpha = min(alpha, least)
        before = error
        merits[k % WINDOW] = alart_curnier_value(u, z, mu, rho, dim, F)
        rest = newton_step(W, (u, z), mu, rho, dim, alpha, F, dz)
        if rest < 0.0:
            t, alpha = 0.0, max(1e3 * alpha, 1e-10)
            if alpha > 1.0:
                break
            z[:] = best
            continue
        multiply(W, dz, zero, du)
        reference = merits.max()
        t = 1.0
        for _ in range(10):
            for i in range(count):
                trial[i] = z[i] + t * dz[i]
                trial_u[i] = u[i] + t * du[i]
            if alart_curnier_value(trial_u, trial, mu, rho, dim, F) <= (1.0 - 1e-4 * t) * reference:
                break
            t *= 0.5
        z[:] = trial
        if t == 1.0:
            alpha = max(least, 0.2 * alpha)
        elif t < 0.2:
            alpha = min(1.0, max(1e-9, 3.0 * alpha))
    z[:] = best
    return best_error


@kernel
def unloaded(z: np.ndarray, count: int) -> bool:
    """Whether none of the first `count` impulses is other than zero, and there are any."""
    for i in range(count):
        if z[i] != 0.0:
            return False
    return count > 0


@kernel(apart=True)
def soften(
    W: np.ndarray, q: np.ndarray, mu: np.ndarray, dim: int, S: np.ndarray, z: np.ndarray, max_iterations: int
) -> None:
    """Take z to the impulses nearest to it, of least norm, up to the last `a` that can be solved.

    Each problem is (W + a D, q - a D z).  The norm is that of the impulses themselves, r = S z, as if all contacts gave
    way alike: D = (S / max S)^2.
    """
    count, largest = z.shape[0], S.max()
    start, found, soft_q, diagonal = z.copy(), z.copy(), np.empty(count), np.empty(count)
    for i in range(count):
        diagonal[i] = W[i, i]
    for a in SOFTER:
        for i in range(count):
            d = a * (S[i] / largest) ** 2
            W[i, i] = diagonal[i] + d
            soft_q[i] = q[i] - d * start[i]
        if not newton_island(W, soft_q, mu, dim, z, SOFT_TOL, max_iterations, True) <= SOFT_TOL:
            for i in range(count):
                z[i] = found[i]
            break
        for i in range(count):
            found[i] = z[i]
    for i in range(count):
        W[i, i] = diagonal[i]


@kernel(apart=True)
def quiet_newton(
    W: np.ndarray, q: np.ndarray, mu: np.ndarray, dim: int, S: np.ndarray, z: np.ndarray, tol: float,
    max_iterations: int,
) -> None:  # fmt: skip
    """Improve the impulses z of an island; among many solutions take one near to z, or of least norm at a first touch.

    Where that is not found, any will do.
    """
    count, start = z.shape[0], z.copy()
    if count > dim and unloaded(z, count):
        soften(W, q, mu, dim, S, z, max_iterations)
    error = newton_island(W, q, mu, dim, z, tol, max_iterations, True)
    if not error <= tol:
        other = newton_island(W, q, mu, dim, start, tol, max_iterations, False)
        if not error <= other:
            for i in range(count):
                z[i] = start[i]


@entry
def newton_alone(
    W: np.ndarray, q: np.ndarray, mu: np.ndarray, dim: int, z: np.ndarray, tol: float, max_iterations: int
) -> float:
    """`newton_island` for callers from Python."""
    return newton_island(W, q, mu, dim, z, tol, max_iterations, True)
