"""Newton for one island with few contacts or with joints: contacts (Alart-Curnier) and rows with bounds, dense.

    contacts   as in complementarity.friction.newton
    rows       F = l - min(high, max(low, l - rho w)),   w = row velocity - target

The matrix is C (W + alpha 1) + E; rows at a bound are l = bound.  alpha regularises redundant contacts and joints,
and what it leaves over is taken out by the next iteration.  Unknowns are scaled to unit diagonal blocks, so that
impulses and velocities have the same units: the root of an energy.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.compiled import compiled
from stickslip.complementarity.friction.cones import natural_map_square, squares
from stickslip.complementarity.friction.newton import alart_curnier_slopes, alart_curnier_value, scale_rows
from stickslip.complementarity.linear import lu_factor, lu_solve

FLOOR = 1e-11  # least alpha, relative to the unit diagonal
WINDOW = 8
EXACT = 1e-15
EXACT_STEPS = 3  # iterations in which the rounding of joint rows is not thought of: those do where no row is redundant


@compiled(inside=True)
def island_error(
    u: np.ndarray, q: np.ndarray, z: np.ndarray, mu: np.ndarray, low: np.ndarray, high: np.ndarray, dim: int
) -> float:
    """Natural map of contacts and rows, or approach of the contacts, relative to max(|q|, |z|, |u|)."""
    n, m = mu.shape[0], dim * mu.shape[0]
    total, approach = natural_map_square(u, z, mu, dim, 0, n), 0.0
    for i in range(n):
        approach += min(0.0, u[dim * i]) ** 2
    if approach > total:  # with large friction the map hardly sees it
        total = approach
    for k in range(low.shape[0]):
        x = z[m + k]
        total += (x - min(high[k], max(low[k], x - u[m + k]))) ** 2
    count = z.shape[0]
    size = max(squares(q, 0, count), max(squares(z, 0, count), squares(u, 0, count)))
    if not (total < np.inf and size < np.inf):
        return np.inf
    return math.sqrt(total / size) if size > 0.0 else math.sqrt(total)


@compiled(inside=True)
def multiply(W: np.ndarray, x: np.ndarray, q: np.ndarray, out: np.ndarray) -> None:
    """out = W x + q."""
    for i in range(out.shape[0]):
        total = q[i]
        for j in range(x.shape[0]):
            total += W[i, j] * x[j]
        out[i] = total


@compiled(inside=True)
def merit(
    u: np.ndarray, z: np.ndarray, mu: np.ndarray, rho: np.ndarray, low: np.ndarray, high: np.ndarray, dim: int,
    F: np.ndarray,
) -> float:  # fmt: skip
    """Write F and return |F|^2."""
    m = dim * mu.shape[0]
    total = alart_curnier_value(u, z, mu, rho, dim, F)
    for k in range(low.shape[0]):
        x = z[m + k]
        F[m + k] = x - min(high[k], max(low[k], x - u[m + k]))
        total += F[m + k] ** 2
    return total


@compiled(inside=True, apart=True)
def newton_step(
    W: np.ndarray, u: np.ndarray, z: np.ndarray, mu: np.ndarray, rho: np.ndarray, low: np.ndarray, high: np.ndarray,
    dim: int, alpha: float, F: np.ndarray, dz: np.ndarray,
) -> bool:  # fmt: skip
    """Write the Newton step; False where the matrix is singular."""
    n, count = mu.shape[0], z.shape[0]
    m = dim * n
    C, E, active = np.empty((n, dim, dim)), np.empty((n, dim, dim)), np.empty(n, np.bool_)
    b = np.empty(count)
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
    for k in range(low.shape[0]):
        row = m + k
        x = z[row] - u[row]
        b[row] = -F[row]
        if low[k] < x < high[k]:
            for j in range(count):
                A[row, j] = W[row, j]
            A[row, row] += alpha
        else:
            A[row, row] = 1.0
    pivot = np.empty(count, np.int64)
    if not lu_factor(count, A, pivot) > 0.0:
        return False
    lu_solve(count, A, pivot, b)
    for k in range(count):
        dz[k] = b[k]
        if not abs(b[k]) < np.inf:
            return False
    return True


@compiled(inside=True)
def drop_grains(u: np.ndarray, grain: np.ndarray) -> None:
    """Take velocities of rows within their grain as none.

    Redundant rows that differ by rounding cannot all be met; without this, Newton would set up ever larger impulses
    against one another.
    """
    m = u.shape[0] - grain.shape[0]
    for k in range(grain.shape[0]):
        if abs(u[m + k]) <= grain[k]:
            u[m + k] = 0.0


@compiled(inside=True, apart=True)
def newton_island(
    W: np.ndarray, q: np.ndarray, mu: np.ndarray, low: np.ndarray, high: np.ndarray, grain: np.ndarray, dim: int,
    z: np.ndarray, tol: float, max_iterations: int,
) -> float:  # fmt: skip
    """Improve the impulses z of an island, down to rounding where that comes cheaply; returns the error reached."""
    n, count = mu.shape[0], z.shape[0]
    rho = np.ones((n, 2))
    for i in range(n):
        rho[i, 0] = 1.0 / W[dim * i, dim * i]
        total = 0.0
        for a in range(1, dim):
            total += W[dim * i + a, dim * i + a]
        rho[i, 1] = (dim - 1) / total
    u, F, dz, du = np.empty(count), np.empty(count), np.empty(count), np.empty(count)
    trial, trial_u, zero = np.empty(count), np.empty(count), np.zeros(count)
    best, best_error = z.copy(), np.inf
    merits = np.full(WINDOW, -1.0)
    alpha, stalled = FLOOR, 0
    for k in range(max_iterations):
        multiply(W, z, q, u)
        if k >= EXACT_STEPS:
            drop_grains(u, grain)
        error = island_error(u, q, z, mu, low, high, dim)
        if error < best_error:
            stalled = 0 if error < 0.5 * best_error else stalled + 1
            best_error = error
            for i in range(count):
                best[i] = z[i]
        else:
            stalled += 1
        # The error is relative to the impulses too, which a heavy load makes large: what counts are the velocities.
        free, loads = math.sqrt(squares(q, 0, count)), math.sqrt(squares(z, 0, count))
        enough = tol * free / max(free, loads) if free > 0.0 else tol
        if error <= EXACT or (best_error <= enough and stalled > 0) or stalled > 25:
            break
        value = merit(u, z, mu, rho, low, high, dim, F)
        merits[k % WINDOW] = value
        if not newton_step(W, u, z, mu, rho, low, high, dim, alpha, F, dz):
            alpha = max(1e3 * alpha, 1e-10)
            if alpha > 1.0:
                break
            for i in range(count):
                z[i] = best[i]
            continue
        multiply(W, dz, zero, du)
        reference = merits.max()
        t = 1.0
        for _ in range(10):
            for i in range(count):
                trial[i] = z[i] + t * dz[i]
                trial_u[i] = u[i] + t * du[i]
            if merit(trial_u, trial, mu, rho, low, high, dim, F) <= (1.0 - 1e-4 * t) * reference:
                break
            t *= 0.5
        for i in range(count):
            z[i] = trial[i]
        if t == 1.0:
            alpha = max(FLOOR, 0.2 * alpha)
        elif t < 0.2:
            alpha = min(1.0, max(1e-9, 3.0 * alpha))
    for i in range(count):
        z[i] = best[i]
    return best_error


@compiled
def newton_alone(
    W: np.ndarray, q: np.ndarray, mu: np.ndarray, low: np.ndarray, high: np.ndarray, grain: np.ndarray, dim: int,
    z: np.ndarray, tol: float, max_iterations: int,
) -> float:  # fmt: skip
    """`newton_island` for callers from Python."""
    return newton_island(W, q, mu, low, high, grain, dim, z, tol, max_iterations)
