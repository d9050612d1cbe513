"""Interior point for the friction problem itself, which minimises nothing (a non-associated law).

Scaled r' = (mu r_N, r_T), y' = (y_N / mu, y_T) both lie in the cone of Lorentz L, and the problem reads

    W' r' + q' = phi(y'),   phi(y) = y - |y_T| e_0,   r' in L,  y' in L,  r' o y' = 0.

Newton on r' o y' = sigma nu e with the scaling of Nesterov and Todd, y' = H r': (W' + Phi H + delta I) dr = ..., Phi
the Jacobian of phi, delta = `regularisation` min(1, nu).  Contacts without friction have no such scaling: their
tangential rows are replaced by r_T = y_T, whose only solution in L with r o y = 0 is zero, and the normal pair is then
the LCP's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as linalg
import scipy.sparse as sp

from stickslip.contact.contacts import Contacts
from stickslip.contact.effort import STEP, better_dense, factorise
from stickslip.contact.method import Best, FrictionMethod, Outcome, Progress
from stickslip.contact.newton import TOO_LONG, newton_iterations
from stickslip.jit import entry

TINY = 1e-300
LEAST_CENTRING = 0.3
PATIENCE, HOPELESS = 40, 1e-2  # with crossover: an error above HOPELESS after PATIENCE iterations will stay
CROSSOVER = (1e-3, 1e-5, 1e-7)  # errors below which Newton is tried from the iterate


def _norm_T(x: np.ndarray) -> np.ndarray:
    return np.sqrt((x[:, 1:] ** 2).sum(axis=1))


def _determinant(x: np.ndarray) -> np.ndarray:
    """x_0^2 - |x_T|^2, as a product: the difference of squares would cancel near the boundary."""
    t = _norm_T(x)
    return np.maximum((x[:, 0] - t) * (x[:, 0] + t), TINY)


def nesterov_todd(r: np.ndarray, y: np.ndarray) -> np.ndarray:
    """H with H r = y, symmetric positive definite, for r, y inside the cone; shapes (n, d) -> (n, d, d)."""
    root_r, root_y = np.sqrt(_determinant(r)), np.sqrt(_determinant(y))
    x, s = r / root_r[:, None], y / root_y[:, None]
    gamma = np.sqrt(np.maximum(0.5 * (1.0 + (x * s).sum(axis=1)), TINY))
    w = s - x
    w[:, 0] = s[:, 0] + x[:, 0]
    w /= (2.0 * gamma)[:, None]
    H = 2.0 * w[:, :, None] * w[:, None, :]
    diagonal = np.arange(r.shape[1])
    H[:, diagonal, diagonal] += np.where(diagonal == 0, -1.0, 1.0)
    return (root_y / root_r)[:, None, None] * H


@entry
def longest_step(x: np.ndarray, dx: np.ndarray) -> float:
    """The largest t with x + t dx in the cone, x inside; inf where there is no end."""
    longest = np.inf
    for i in range(x.shape[0]):
        a, b, c, s = dx[i, 0] ** 2, x[i, 0] * dx[i, 0], x[i, 0], 0.0
        for k in range(1, x.shape[1]):
            a -= dx[i, k] ** 2
            b -= x[i, k] * dx[i, k]
            s += x[i, k] ** 2
        s = math.sqrt(s)
        c = max((x[i, 0] - s) * (x[i, 0] + s), TINY)
        if dx[i, 0] < 0.0:
            longest = min(longest, -x[i, 0] / dx[i, 0])
        if b * b - a * c >= 0.0:  # roots of a t^2 + 2 b t + c
            root = math.sqrt(b * b - a * c)
            half = -(b + root) if b >= 0.0 else -(b - root)
            for t in (half / a, c / half):
                if t > 0.0:
                    longest = min(longest, t)
    return longest


def _slope_of_phi(y: np.ndarray) -> np.ndarray:
    """Phi, the Jacobian of y - |y_T| e_0."""
    n, d = y.shape
    Phi = np.zeros((n, d, d))
    Phi[:, np.arange(d), np.arange(d)] = 1.0
    Phi[:, 0, 1:] = -y[:, 1:] / np.sqrt(_norm_T(y) ** 2 + 1e-28)[:, None]
    return Phi


def _apply(blocks: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.einsum("iab,ib->ia", blocks, x)


class _Scaled:
    """W' and q' normalised to mean diagonal 1 and q of size 1 per contact; K = W' + blocks is factorised from here."""

    def __init__(self, contacts: Contacts) -> None:
        n, d = len(contacts), contacts.dim
        slippery = contacts.mu == 0.0
        self.keep = np.ones((n, d))
        self.keep[slippery, 1:] = 0.0
        self.D = np.ones((n, d))
        self.D[:, 0] = np.where(slippery, 1.0, contacts.mu)
        left = self.keep / self.D
        row = np.repeat(np.arange(n), np.diff(contacts.indptr))
        data = contacts.data * left[row][:, :, None] * left[contacts.indices][:, None, :]
        self.own = np.flatnonzero(row == contacts.indices)
        self.r_unit = 1.0 / (float(np.einsum("iaa->ia", data[self.own]).mean()) or 1.0)
        self.q_unit = float(np.linalg.norm(contacts.q)) / np.sqrt(n) or 1.0
        data *= self.r_unit
        data[self.own] += (1.0 - self.keep)[:, :, None] * np.eye(d)
        self.data, self.shape = data, (n * d, n * d)
        self.W = sp.bsr_matrix((data, contacts.indices, contacts.indptr), shape=self.shape).tocsr()
        self.q = (self.keep * contacts.q.reshape(n, d) / self.D) / self.q_unit
        # Where each entry of the blocks lands in compressed columns: the pattern is the same in every iteration.
        numbers = np.arange(1.0, data.size + 1.0).reshape(data.shape)
        self._arrange(sp.bsr_matrix((numbers, contacts.indices, contacts.indptr), shape=self.shape).tocsc())
        self.order: np.ndarray | None = None
        self.dense = better_dense(n * d, data.size)

    def _arrange(self, pattern: sp.csc_matrix) -> None:
        pattern.sort_indices()
        self.pattern, self.place = pattern, pattern.data.astype(np.int64) - 1

    def impulses(self, r: np.ndarray) -> np.ndarray:
        return (self.keep * r / self.D * (self.q_unit * self.r_unit)).ravel()

    def sizes(self, r: np.ndarray) -> np.ndarray:
        """Scaled sizes (n,) of impulses r (n, d): where on the axis of its cone each has an interior start near it."""
        scaled = self.keep * self.D * r / (self.q_unit * self.r_unit)
        return np.maximum(np.abs(scaled[:, 0]), _norm_T(scaled))

    def factorise(self, blocks: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """b -> (W' + blocks)^-1 b, the blocks on the diagonal."""
        data = self.data.copy()
        data[self.own] += blocks
        K = sp.csc_matrix((data.ravel()[self.place], self.pattern.indices, self.pattern.indptr), shape=self.shape)
        if self.dense:
            factors, pivots, singular = linalg.lapack.dgetrf(K.toarray(), overwrite_a=1)
            if singular:
                raise linalg.LinAlgError("singular")
            return lambda b: linalg.lapack.dgetrs(factors, pivots, b)[0]
        if self.order is None:
            factors = factorise(K)
            self.order = np.argsort(factors.perm_c)  # from now on the matrix is built in this order, a quarter faster
            self._arrange(self.pattern[self.order][:, self.order].tocsc())
            return factors.solve
        return _Reordered(factorise(K, "NATURAL").solve, self.order)


class _Reordered:
    """Solve with the factors of a matrix whose rows and columns stand in another order."""

    def __init__(self, solve: Callable[[np.ndarray], np.ndarray], order: np.ndarray) -> None:
        self.solve, self.order = solve, order

    def __call__(self, b: np.ndarray) -> np.ndarray:
        x = np.empty_like(b)
        x[self.order] = self.solve(b[self.order])
        return x


def _direction(
    solve: Callable, H: np.ndarray, Phi: np.ndarray, residual: np.ndarray, c: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """dx and dy with W' dx - Phi dy = -residual and H dx + dy = c."""
    dx = solve((_apply(Phi, c) - residual).ravel()).reshape(c.shape)
    return dx, c - _apply(H, dx)


@dataclass(frozen=True)
class InteriorPoint(FrictionMethod):
    """Interior point; begins in the middle of the cones, as far out as the impulses to start from are large.

    Attributes: crossover, whether a few Newton steps are tried whenever the error has fallen by another two digits;
    regularisation, relative to the mean diagonal of W: 1e-2 suits most problems, 1e-8 tall stacks from a good start;
    cold, whether to begin with ones wherever the start is.
    """

    crossover: bool = False
    regularisation: float = 1e-2
    cold: bool = False

    name = "interior-point"
    default_iterations = 100

    def _start(self, scaled: _Scaled, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """r' and y' on the axes of the cones, r' y' the same for all.

        In a tall stack impulses differ by factors of thousands: from ones, steps stay short until all have grown.
        """
        x = np.zeros(r.shape)
        x[:, 0] = 1.0
        size = scaled.sizes(r)
        mean = float(size.mean())
        if self.cold or not 0.0 < mean < np.inf:
            return x, x.copy()
        y = x.copy()
        x[:, 0] = 1.1 * size + 0.3 * mean
        y[:, 0] = mean / x[:, 0]
        return x, y

    def run(self, contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        with np.errstate(all="ignore"):  # an iterate that runs away is noticed below
            return self._run(contacts, r, tol, progress)

    def _run(self, contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        n, d = len(contacts), contacts.dim
        best = Best(r, contacts.error(r))
        if not progress.affords(contacts.analysis_cost):
            return Outcome(best.r, best.error, 0, TOO_LONG)
        scaled = _Scaled(contacts)
        cost = 3.0 * STEP + contacts.factorisation_cost + 5.0 * contacts.product_cost
        x, y = self._start(scaled, r.reshape(n, d))
        step, thresholds = 1.0, list(CROSSOVER) if self.crossover else []
        for k in range(self.limit):
            nu = float((x * y).sum()) / n
            residual = (scaled.W @ x.ravel()).reshape(n, d) + scaled.q - y
            residual[:, 0] += _norm_T(y)
            candidate = scaled.impulses(x)
            error = contacts.error(candidate)
            best.offer(candidate, error)
            progress.note(error)
            hopeless = self.crossover and k >= PATIENCE and error > HOPELESS
            if error <= tol or hopeless or not nu > 1e-18 or progress.expired:
                return Outcome(best.r, best.error, k)
            if not progress.affords(cost):
                return Outcome(best.r, best.error, k, TOO_LONG)
            progress.spend(cost)
            if thresholds and error < thresholds[0]:
                thresholds = [t for t in thresholds if t < error]
                landed = newton_iterations(contacts, candidate, tol, 8, progress, stall=3)
                best.offer(landed.r, landed.error)
                if landed.error <= tol:
                    return Outcome(best.r, best.error, k + landed.iterations)
            H, Phi = nesterov_todd(x, y), _slope_of_phi(y)
            try:
                solve = scaled.factorise(Phi @ H + self.regularisation * min(1.0, nu) * np.eye(d))
            except (RuntimeError, linalg.LinAlgError):
                return Outcome(best.r, best.error, k, "singular system")
            inverse = x * np.where(np.arange(d) == 0, 1.0, -1.0) / _determinant(x)[:, None]
            dx, dy = _direction(solve, H, Phi, residual, -y)
            t = min(1.0, longest_step(x, dx), longest_step(y, dy))
            sigma = _centring(float(((x + t * dx) * (y + t * dy)).sum()) / n / nu, t, step)
            dx, dy = _direction(solve, H, Phi, residual, sigma * nu * inverse - y)
            fraction = min(0.995, max(0.9, 1.0 - nu)) if nu < 0.1 else 0.9
            step = min(1.0, fraction * longest_step(x, dx), fraction * longest_step(y, dy))
            x, y = x + step * dx, y + step * dy
            if not np.all(np.isfinite(x)):
                return Outcome(best.r, best.error, k, "left the cone")
        return Outcome(best.r, best.error, self.limit)


def _centring(decrease: float, predictor: float, last_step: float) -> float:
    """Centring sigma: the cube of the share of nu that the predictor would leave; near 1 after a short step."""
    sigma = max(min(1.0, max(decrease, 0.0)) ** 3, LEAST_CENTRING, 1e-3 if predictor > 0.9 else 0.1 * (1.0 - predictor))
    return max(sigma, 0.8) if last_step < 0.2 else sigma
