"""Newton for one island with few contacts or with joints: contacts (Alart-Curnier) and rows with bounds, dense.

    contacts   as in contact.newton
    rows       F = l - min(high, max(low, l - rho w)),   w = row velocity - target

The matrix is C (W + alpha 1) + E; rows at a bound are l = bound.  alpha regularises redundant contacts and joints,
and what it leaves over is taken out by the next iteration.  Unknowns are scaled to unit diagonal blocks, so that
impulses and velocities have the same units: the root of an energy.

Redundant impulses
------------------
Where W d = 0 the laws leave the part of the impulses along d open, and a Newton step moves it by d . u / alpha:
rounding in u, divided by alpha.  With alpha = 1e-11 some per cent of the load of a grasp went from corner to corner in
each step, until the corners that were left could not hold the box; "it turns" is a solution then as well.  So alpha is
QUIET where there are contacts, and comes down only where the next iteration shows that alpha holds up: heavy loads on
light bodies, whose W has small eigenvalues.  Without contacts the motion is unique, whatever the redundant impulses,
and alpha is FLOOR: chains need it.  From the impulses of the last step Newton then ends at a solution near to them.

Near is a matter of the contacts alone.  A joint's reactions follow from them, and are no less quiet for being large:
where a box slips along a finger on a slide, the moment on the slide grows with every step.  If the rows of the joint
counted as much as the contacts, these would shift their loads to spare the slide.  And rows are scaled one by one, so
that the shift would depend on how the axes of the rows lie in the world: a box that falls straight would spin in a
scene that is turned.  So alpha of a joint's rows is JOINT_SHARE of that of the contacts, and `follow` gives them their
reactions to the last step's impulses before Newton starts.

`soften` is for contacts that carry nothing yet: the solutions of (W + a D, q), a from 0.1 to 1e-6, lead to the impulses
of least norm, which are as symmetric as the bodies.
"""

from __future__ import annotations

import math

import numpy as np

from stickslip.contact.cones import natural_map_square, squares
from stickslip.contact.newton import alart_curnier_slopes, alart_curnier_value, scale_rows
from stickslip.jit import entry, kernel
from stickslip.lcp.linear import lu_factor, lu_solve

FLOOR = 1e-11  # least alpha, relative to the unit diagonal
QUIET = 1e-7  # alpha of contacts alone: rounding of 1e-15 moves redundant impulses by 1e-8 of the others
QUIET_JOINTS = 1e-6  # of contacts and joints, whose rows have more rounding
STEADY, LOUD = 1e-8, 1e-2  # with joints, in whose rows positions are rounded: alpha for such a move, and the largest
JOINT_SHARE = 1e-5  # of alpha, in rows of joints beside contacts: their reactions follow from the contacts
NOISES = 1.0  # times the rounding of joint rows: smaller errors are no reason for a smaller alpha, or to move loads
REFINEMENTS, WORTH = 10, 0.5  # at most, and the factor that makes the next one worth while
REFINED = 1e-13  # part of the right side that does not ask for more
LESS = 1e-2  # of alpha, where it is what holds up
SLOW, BLAMED = 0.1, 0.3  # an error above SLOW of the last one, of which alpha explains BLAMED: it holds up
SOFTER = (0.1, 1e-3, 1e-6)  # a of the problems that lead to impulses of least norm
SOFT_TOL = 1e-9  # error of those problems that does
WINDOW = 8
EXACT = 1e-15
STALLED = 25  # iterations without an error of half the last best one: no more is to be had
EXACT_STEPS = 3  # iterations in which the rounding of joint rows is not thought of: those do where no row is redundant


@kernel
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


@kernel
def multiply(W: np.ndarray, x: np.ndarray, q: np.ndarray, out: np.ndarray) -> None:
    """out = W x + q."""
    for i in range(out.shape[0]):
        total = q[i]
        for j in range(x.shape[0]):
            total += W[i, j] * x[j]
        out[i] = total


@kernel
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


@kernel
def unbounded(low: float, high: float) -> bool:
    """Whether a row with these bounds is one of a joint, which may carry any impulse: no motor, limit or friction."""
    return low == -np.inf and high == np.inf


@kernel
def joint_alpha(alpha: float) -> float:
    """The regularisation of rows of joints that goes with that of contacts."""
    return max(FLOOR, JOINT_SHARE * alpha)


@kernel
def left_over(
    C: np.ndarray, active: np.ndarray, held: np.ndarray, dim: int, alpha: float, row_alpha: np.ndarray, dz: np.ndarray,
    b: np.ndarray,
) -> float:  # fmt: skip
    """b = alpha C dz, what a step dz with the regularised matrix leaves of the right side; returns |b|^2."""
    n, total = active.shape[0], 0.0
    for i in range(n):
        for a in range(dim):
            value = 0.0
            if active[i]:
                for e in range(dim):
                    value += C[i, a, e] * dz[dim * i + e]
            b[dim * i + a] = alpha * value
            total += (alpha * value) ** 2
    for k in range(held.shape[0]):
        row = dim * n + k
        b[row] = 0.0 if held[k] else row_alpha[k] * dz[row]
        total += b[row] ** 2
    return total


@kernel(apart=True)
def newton_step(
    W: np.ndarray, u: np.ndarray, z: np.ndarray, mu: np.ndarray, rho: np.ndarray, low: np.ndarray, high: np.ndarray,
    dim: int, alpha: float, quiet: bool, noise: float, F: np.ndarray, dz: np.ndarray,
) -> float:  # fmt: skip
    """Write the Newton step, refined; returns what alpha leaves of its right side, -1 where the matrix is singular.

    Refinement solves for alpha C dz with the factors at hand.  That costs next to nothing, and takes a factor
    alpha / (alpha + lambda) off the error along each eigenvalue lambda of W.

    quiet: loads of contacts stay where they are if the laws leave them open.  What refinement cannot take off is a
    contradiction between redundant rows, for which each pass moves the impulses by the same part along d, W d = 0.
    Where that is no more than `noise`, the rounding of joint rows, all those parts are taken back.
    """
    n, count = mu.shape[0], z.shape[0]
    m = dim * n
    C, E, active = np.empty((n, dim, dim)), np.empty((n, dim, dim)), np.empty(n, np.bool_)
    b, part, held = np.empty(count), np.empty(count), np.empty(low.shape[0], np.bool_)
    row_alpha = np.empty(low.shape[0])
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
        held[k] = not low[k] < x < high[k]
        row_alpha[k] = joint_alpha(alpha) if quiet and unbounded(low[k], high[k]) else alpha
        if held[k]:
            A[row, row] = 1.0
        else:
            for j in range(count):
                A[row, j] = W[row, j]
            A[row, row] += row_alpha[k]
    pivot = np.empty(count, np.int64)
    if not lu_factor(count, A, pivot) > 0.0:
        return -1.0
    first, before, rest = squares(b, 0, count), np.inf, 0.0
    for k in range(count):
        dz[k] = 0.0
    for passes in range(1, 2 + REFINEMENTS):
        lu_solve(count, A, pivot, b)
        for k in range(count):
            part[k] = b[k]
            dz[k] += b[k]
            if not abs(b[k]) < np.inf:
                return -1.0
        rest = left_over(C, active, held, dim, alpha, row_alpha, part, b)
        if rest <= REFINED**2 * first:
            break
        if rest > WORTH**2 * before:
            if quiet and rest <= (NOISES * noise) ** 2:
                for k in range(count):  # this pass has nothing but the part along d
                    dz[k] -= passes * part[k]
            break
        before = rest
    return math.sqrt(rest)


@kernel
def drop_grains(u: np.ndarray, grain: np.ndarray) -> None:
    """Take velocities of rows within their grain as none.

    Redundant rows that differ by rounding cannot all be met; without this, Newton would set up ever larger impulses
    against one another.
    """
    m = u.shape[0] - grain.shape[0]
    for k in range(grain.shape[0]):
        if abs(u[m + k]) <= grain[k]:
            u[m + k] = 0.0


@kernel
def coarsest(grain: np.ndarray) -> float:
    """The largest grain of the joint rows; 0 where there are none."""
    largest = 0.0
    for k in range(grain.shape[0]):
        largest = max(largest, grain[k])
    return largest


@kernel
def quiet_alpha(size: float, grain: np.ndarray) -> float:
    """alpha with which rounding moves redundant impulses of contacts by little, in an island of this size."""
    if grain.shape[0] == 0:
        return QUIET
    return max(QUIET_JOINTS, min(LOUD, coarsest(grain) / (STEADY * size) if size > 0.0 else 0.0))


@kernel(apart=True)
def newton_island(
    W: np.ndarray, q: np.ndarray, mu: np.ndarray, low: np.ndarray, high: np.ndarray, grain: np.ndarray, dim: int,
    z: np.ndarray, tol: float, max_iterations: int, quiet: bool,
) -> float:  # fmt: skip
    """Improve the impulses z of an island, down to rounding where that comes cheaply; returns the error reached.

    quiet: redundant impulses of contacts stay where they are.
    """
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
    free, noise, least = math.sqrt(squares(q, 0, count)), coarsest(grain), FLOOR
    quiet = quiet and n > 0
    if quiet:
        least = quiet_alpha(max(free, math.sqrt(squares(z, 0, count))), grain)
    alpha, stalled, t, before, rest = least, 0, 0.0, np.inf, 0.0
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
        loads = math.sqrt(squares(z, 0, count))
        enough = tol * free / max(free, loads) if free > 0.0 else tol
        size = error * max(free, loads)
        if error <= EXACT or (best_error <= enough and stalled > 0) or stalled > STALLED:
            break
        if quiet and size <= NOISES * noise and stalled > EXACT_STEPS:  # joints and contacts contradict by rounding
            break
        if (
            t == 1.0
            and best_error > enough
            and error > SLOW * before
            and BLAMED * size < rest
            and size > NOISES * noise
        ):
            least = max(FLOOR, LESS * least)
            alpha = min(alpha, least)
        before = error
        value = merit(u, z, mu, rho, low, high, dim, F)
        merits[k % WINDOW] = value
        rest = newton_step(W, u, z, mu, rho, low, high, dim, alpha, quiet, noise, F, dz)
        if rest < 0.0:
            t, alpha = 0.0, max(1e3 * alpha, 1e-10)
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
            alpha = max(least, 0.2 * alpha)
        elif t < 0.2:
            alpha = min(1.0, max(1e-9, 3.0 * alpha))
    for i in range(count):
        z[i] = best[i]
    return best_error


@kernel
def unloaded(z: np.ndarray, count: int) -> bool:
    """Whether none of the first `count` impulses is other than zero, and there are any."""
    for i in range(count):
        if z[i] != 0.0:
            return False
    return count > 0


@kernel
def rounded(error: float, q: np.ndarray, z: np.ndarray, grain: np.ndarray) -> bool:
    """Whether an error of `island_error` is no more than the rounding of joint rows."""
    count = z.shape[0]
    return error * math.sqrt(max(squares(q, 0, count), squares(z, 0, count))) <= coarsest(grain)


@kernel(apart=True)
def soften(
    W: np.ndarray, q: np.ndarray, mu: np.ndarray, low: np.ndarray, high: np.ndarray, grain: np.ndarray, dim: int,
    S: np.ndarray, z: np.ndarray, max_iterations: int,
) -> None:  # fmt: skip
    """Take z to the impulses nearest to it, of least norm in the contacts, up to the last `a` that can be solved.

    Each problem is (W + a D, q - a D z).  The norm is that of the impulses themselves, r = S z, as if all contacts gave
    way alike: D = (S / max S)^2 at contacts, 1 at bounded rows and 0 at joints, whose reactions follow from the others.
    """
    n, count = mu.shape[0], z.shape[0]
    m, largest = dim * n, 0.0
    for i in range(m):
        largest = max(largest, S[i])
    D, start, found, soft_q = np.zeros(count), z.copy(), z.copy(), np.empty(count)
    for i in range(m):
        D[i] = (S[i] / largest) ** 2
    for k in range(low.shape[0]):
        D[m + k] = 0.0 if unbounded(low[k], high[k]) else 1.0
    diagonal = np.empty(count)
    for i in range(count):
        diagonal[i] = W[i, i]
    for a in SOFTER:
        for i in range(count):
            W[i, i] = diagonal[i] + a * D[i]
            soft_q[i] = q[i] - a * D[i] * start[i]
        error = newton_island(W, soft_q, mu, low, high, grain, dim, z, SOFT_TOL, max_iterations, True)
        if not error <= SOFT_TOL and not rounded(error, q, z, grain):
            for i in range(count):
                z[i] = found[i]
            break
        for i in range(count):
            found[i] = z[i]
    for i in range(count):
        W[i, i] = diagonal[i]


@kernel(apart=True)
def follow(W: np.ndarray, q: np.ndarray, low: np.ndarray, high: np.ndarray, alpha: float, z: np.ndarray) -> None:
    """Set the reactions of joints to those that the other impulses in z ask for; alpha regularises redundant rows.

    They are found from zero, so that what redundant rows set up against one another does not grow from step to step.
    """
    count, m, n = z.shape[0], z.shape[0] - low.shape[0], 0
    rows = np.empty(low.shape[0], np.int64)
    others = z.copy()
    for k in range(low.shape[0]):
        if unbounded(low[k], high[k]):
            rows[n] = m + k
            others[m + k] = 0.0
            n += 1
    A, b, x, pivot = np.empty((n, n)), np.empty(n), np.zeros(n), np.empty(n, np.int64)
    for i in range(n):
        total = q[rows[i]]
        for j in range(count):
            total += W[rows[i], j] * others[j]
        b[i] = -total
        for j in range(n):
            A[i, j] = W[rows[i], rows[j]]
        A[i, i] += alpha
    if n == 0 or not lu_factor(n, A, pivot) > 0.0:
        return
    first, before = squares(b, 0, n), np.inf
    for _ in range(1 + REFINEMENTS):
        lu_solve(n, A, pivot, b)
        for i in range(n):
            x[i] += b[i]
            b[i] *= alpha
        rest = squares(b, 0, n)
        if not rest < np.inf:
            return
        if rest <= REFINED**2 * first or rest > WORTH**2 * before:
            break
        before = rest
    for i in range(n):
        z[rows[i]] = x[i]


@kernel(apart=True)
def quiet_newton(
    W: np.ndarray, q: np.ndarray, mu: np.ndarray, low: np.ndarray, high: np.ndarray, grain: np.ndarray, dim: int,
    S: np.ndarray, z: np.ndarray, tol: float, max_iterations: int,
) -> None:  # fmt: skip
    """Improve the impulses z of an island; among many solutions take one near to z, or of least norm at a first touch.

    Where that is not found, any will do.
    """
    count, contacts = z.shape[0], dim * mu.shape[0]
    start = z.copy()
    size = max(math.sqrt(squares(q, 0, count)), math.sqrt(squares(z, 0, count)))
    if unloaded(z, contacts):
        if contacts > dim or contacts < count:
            soften(W, q, mu, low, high, grain, dim, S, z, max_iterations)
    elif contacts > 0:
        follow(W, q, low, high, joint_alpha(quiet_alpha(size, grain)), z)
    error = newton_island(W, q, mu, low, high, grain, dim, z, tol, max_iterations, True)
    if contacts > 0 and not error <= tol and not rounded(error, q, z, grain):
        other = newton_island(W, q, mu, low, high, grain, dim, start, tol, max_iterations, False)
        if not error <= other:
            for i in range(count):
                z[i] = start[i]


@entry
def newton_alone(
    W: np.ndarray, q: np.ndarray, mu: np.ndarray, low: np.ndarray, high: np.ndarray, grain: np.ndarray, dim: int,
    z: np.ndarray, tol: float, max_iterations: int,
) -> float:  # fmt: skip
    """`newton_island` for callers from Python."""
    return newton_island(W, q, mu, low, high, grain, dim, z, tol, max_iterations, True)
