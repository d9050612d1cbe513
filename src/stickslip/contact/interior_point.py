"""Interior point for the friction problem itself, which minimises nothing (a non-associated law).

Scaled r' = (mu r_N, r_T), y' = (y_N / mu, y_T) both lie in the cone of Lorentz L, and the problem reads

    W' r' + q' = phi(y'),   phi(y) = y - |y_T| e_0,   r' in L,  y' in L,  r' o y' = 0.

Newton on r' o y' = sigma nu e with the scaling of Nesterov and Todd, y' = H r': (W' + Phi H + delta I) dr = ..., Phi
the Jacobian of phi, delta = SHARP min(1, nu).  Contacts without friction have no such scaling.  Their
tangential rows are replaced by r_T = y_T, whose only solution in L with r o y = 0 is zero; what is left is the LCP.

Four things keep the steps long where others stall at an error of 1 (heavy bodies on light ones, tall stacks):
- the start is as large as impulses that bring all contacts to rest (`_Scaled.middle`), each contact in its own unit;
- nu waits for the equations: it falls only where their residual is at most NEAR nu, so that the iterates stay near the
  path of centres, which the kink of |y_T| would throw them off;
- the slope of |y_T| makes the matrix indefinite: after a short step it counts half (theta), after a long one more;
- what a step leaves of the equations beyond (1 - step) times their residual comes from |y_T| alone.  It is solved for
  again with the same factors (`_bent`), which costs little beside them.

Newton is tried from the path: its active sets are right long before nu is small.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg as linalg
import scipy.sparse as sp

from stickslip.contact.constants import (
    CORRECTIONS,
    CROSSOVER,
    NEAR,
    NEWTON_STEPS,
    SHARP,
    SHORT,
    TO_THE_BOUNDARY,
)
from stickslip.contact.contacts import Contacts
from stickslip.contact.effort import STEP, better_dense, factorise
from stickslip.contact.method import Best, FrictionMethod, Outcome, Progress
from stickslip.contact.newton import TOO_LONG, newton_iterations
from stickslip.contact.on_bodies import DELTA, BodyEquations, newton_on_bodies
from stickslip.contact.rounding import ROOT, TINY
from stickslip.jit import entry
from stickslip.projections import EPS

Direction = tuple[np.ndarray, np.ndarray, np.ndarray]  # of x, y, and velocities of bodies
Solve = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


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


def _slope_of_phi(y: np.ndarray, theta: float) -> np.ndarray:
    """Phi, the Jacobian of y - theta |y_T| e_0."""
    n, d = y.shape
    Phi = np.zeros((n, d, d))
    Phi[:, np.arange(d), np.arange(d)] = 1.0
    Phi[:, 0, 1:] = -theta * y[:, 1:] / np.maximum(_norm_T(y), TINY)[:, None]
    return Phi


def _apply(blocks: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.einsum("iab,ib->ia", blocks, x)


class _Scaled:
    """W' and q': cones made Lorentz cones, trace(W'_ii) = d, q' of size 1 per contact; K = W' + blocks is factorised.

    r = x / D: where friction is small, mu r_N is, and its row of W' is large; so each contact has a unit of its own.
    """

    def __init__(self, contacts: Contacts) -> None:
        self.contacts = contacts
        n, d = len(contacts), contacts.dim
        slippery = contacts.mu == 0.0
        self.keep = np.ones((n, d))
        self.keep[slippery, 1:] = 0.0
        D = np.ones((n, d))
        D[:, 0] = np.where(slippery, 1.0, contacts.mu)
        size = (self.keep * contacts.diagonal / D**2).sum(axis=1) / self.keep.sum(axis=1)
        moving = size > 0.0
        self.D = D * np.sqrt(np.where(moving, size, size[moving].mean() if moving.any() else 1.0))[:, None]
        left = self.keep / self.D
        row = np.repeat(np.arange(n), np.diff(contacts.indptr))
        data = contacts.data * left[row][:, :, None] * left[contacts.indices][:, None, :]
        self.own = np.flatnonzero(row == contacts.indices)
        data[self.own] += (1.0 - self.keep)[:, :, None] * np.eye(d)
        self.data, self.shape = data, (n * d, n * d)
        self.W = sp.bsr_matrix((data, contacts.indices, contacts.indptr), shape=self.shape).tocsr()
        q = left * contacts.q.reshape(n, d)
        self.q_unit = float(np.linalg.norm(q)) / np.sqrt(n) or 1.0
        self.q = q / self.q_unit
        # Where each entry of the blocks lands in compressed columns: the pattern is the same in every iteration.
        numbers = np.arange(1.0, data.size + 1.0).reshape(data.shape)
        self._arrange(sp.bsr_matrix((numbers, contacts.indices, contacts.indptr), shape=self.shape).tocsc())
        self.order: np.ndarray | None = None
        self.dense = better_dense(n * d, data.size)

    def _arrange(self, pattern: sp.csc_matrix) -> None:
        pattern.sort_indices()
        self.pattern, self.place = pattern, pattern.data.astype(np.int64) - 1

    def motion(self, x: np.ndarray) -> np.ndarray:
        """Velocities of bodies that go with x: none, where the equations do not have them."""
        return np.empty(0)

    def product(self, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """W' x, where p is the motion of x."""
        return self.W @ x.ravel()

    def residual(self, x: np.ndarray, y: np.ndarray, p: np.ndarray) -> np.ndarray:
        """W' x + q' - phi(y)."""
        left = self.product(x, p).reshape(x.shape) + self.q - y
        left[:, 0] += _norm_T(y)
        return left

    def newton(self, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        """Newton from a point of the path."""
        return newton_iterations(self.contacts, r, tol, NEWTON_STEPS, progress, floor=SHARP, stall=5)

    def regular(self, nu: float) -> float:
        """delta, for rows that others make redundant."""
        return SHARP * min(1.0, nu)

    def impulses(self, r: np.ndarray) -> np.ndarray:
        return (self.keep * r / self.D * self.q_unit).ravel()

    def middle(self) -> tuple[np.ndarray, np.ndarray]:
        """r' and y' on the axes of the cones, r' as large as impulses that bring all contacts to rest, r' y' constant.

        In a tall stack, or where heavy bodies press light ones, impulses differ by factors of millions.  From ones,
        steps stay short until all have grown.
        """
        n, d = self.q.shape
        x, y = np.zeros((n, d)), np.zeros((n, d))
        x[:, 0], y[:, 0] = 1.0, 1.0
        rest, _ = self.factorise(np.broadcast_to(ROOT * np.eye(d), (n, d, d)))(-self.q.ravel())
        rest = rest.reshape(n, d)
        size = np.maximum(np.abs(rest[:, 0]), _norm_T(rest))
        mean = float(size.mean())
        if 0.0 < mean < np.inf:
            x[:, 0] = 1.1 * size + 0.3 * mean
            y[:, 0] = mean / x[:, 0]
        return x, y

    def factorise(self, blocks: np.ndarray) -> Solve:
        """b -> x = (W' + blocks)^-1 b, the blocks on the diagonal, and the motion of x."""
        solve, none = self._factors(blocks), np.empty(0)
        return lambda b: (solve(b), none)

    def _factors(self, blocks: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
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


class _OnBodies(_Scaled):
    """The equations with velocities of the bodies as further unknowns, see `on_bodies`."""

    def __init__(self, contacts: Contacts) -> None:
        super().__init__(contacts)
        self.equations = BodyEquations(contacts, (self.keep / self.D).ravel(), (1.0 - self.keep).ravel())

    def motion(self, x: np.ndarray) -> np.ndarray:
        return self.equations.motion(x.ravel())

    def product(self, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        return self.equations.velocity(x.ravel(), p)

    def factorise(self, blocks: np.ndarray) -> Solve:
        return self.equations.solver(None, np.ascontiguousarray(blocks))

    def newton(self, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        progress.spend(NEWTON_STEPS * self.contacts.factorisation_cost)
        return newton_on_bodies(self.contacts, r, tol)

    def regular(self, nu: float) -> float:
        return DELTA


class _Reordered:
    """Solve with the factors of a matrix whose rows and columns stand in another order."""

    def __init__(self, solve: Callable[[np.ndarray], np.ndarray], order: np.ndarray) -> None:
        self.solve, self.order = solve, order

    def __call__(self, b: np.ndarray) -> np.ndarray:
        x = np.empty_like(b)
        x[self.order] = self.solve(b[self.order])
        return x


class _Linearised(NamedTuple):
    """The equations at a point x, y: solve is the inverse of W' + Phi H, residual what they leave there."""

    scaled: _Scaled
    solve: Solve
    H: np.ndarray
    Phi: np.ndarray
    x: np.ndarray
    y: np.ndarray
    p: np.ndarray
    residual: np.ndarray

    def direction(self, residual: np.ndarray, c: np.ndarray) -> Direction:
        """dx and dy with W' dx - Phi dy = -residual and H dx + dy = c; the motion of dx."""
        dx, dp = self.solve((_apply(self.Phi, c) - residual).ravel())
        dx = dx.reshape(c.shape)
        return dx, c - _apply(self.H, dx), dp

    def longest(self, dx: np.ndarray, dy: np.ndarray) -> float:
        """The step, at most 1, that leaves a part of the way to the boundary of the cones."""
        return min(1.0, TO_THE_BOUNDARY * longest_step(self.x, dx), TO_THE_BOUNDARY * longest_step(self.y, dy))

    def at(self, step: float, way: Direction) -> np.ndarray:
        """The residual after a step."""
        dx, dy, dp = way
        return self.scaled.residual(self.x + step * dx, self.y + step * dy, self.p + step * dp)

    def bent(self, way: Direction, enough: float) -> tuple[float, Direction]:
        """Step and direction, corrected for the kink of |y_T| while that makes the residual smaller.

        A correction keeps H dx + dy, and is not taken where it halves the step.
        """
        step = self.longest(*way[:2])
        left = self.at(step, way)
        for _ in range(CORRECTIONS):
            kink = left - (1.0 - step) * self.residual
            if np.abs(kink).max() <= enough:
                break
            ex, ey, ep = self.direction(kink / step, np.zeros_like(self.y))
            other = way[0] + ex, way[1] + ey, way[2] + ep
            longest = self.longest(*other[:2])
            less = self.at(longest, other)
            if not (longest > 0.5 * step and np.abs(less).max() < np.abs(left).max()):
                break
            step, way, left = longest, other, less
        return step, way


@dataclass(frozen=True)
class InteriorPoint(FrictionMethod):
    """Interior point; begins in the middle of the cones, as far out as impulses will be large.

    Attributes: crossover, whether Newton is tried whenever nu has fallen by another factor of ten; on_bodies, whether
    velocities of bodies are unknowns, too, where they are known (see `on_bodies`).
    """

    crossover: bool = True
    on_bodies: bool = False

    name = "interior-point"
    default_iterations = 300

    def run(self, contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        with np.errstate(all="ignore"):  # an iterate that runs away is noticed below
            return self._run(contacts, r, tol, progress)

    def _run(self, contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        n, d = len(contacts), contacts.dim
        best, newton_steps = Best(r, contacts.error(r)), 0
        cost = 3.0 * STEP + contacts.factorisation_cost + 5.0 * contacts.product_cost
        if not (progress.affords(contacts.analysis_cost) and progress.affords(2.0 * cost)):
            return Outcome(best.r, best.error, 0, TOO_LONG)
        scaled, one = (_OnBodies if self.on_bodies and contacts.bodies else _Scaled)(contacts), np.eye(d)
        try:
            x, y = scaled.middle()
            p = scaled.motion(x)
        except (RuntimeError, linalg.LinAlgError):
            return Outcome(best.r, best.error, 0, "singular system")
        theta, step, cross_at = 1.0, 1.0, CROSSOVER
        for k in range(self.limit):
            nu = float((x * y).sum()) / n
            residual = scaled.residual(x, y, p)
            off = float(np.abs(residual).max()) / nu
            candidate = scaled.impulses(x)
            error = contacts.error(candidate)
            best.offer(candidate, error)
            progress.note(error)
            if best.error <= tol or not nu > EPS or progress.expired:
                return Outcome(best.r, best.error, k + newton_steps)
            if not progress.affords(cost):
                return Outcome(best.r, best.error, k + newton_steps, TOO_LONG)
            progress.spend(cost)
            if self.crossover and nu < cross_at and off < 10.0 * NEAR:
                cross_at = CROSSOVER * nu
                landed = scaled.newton(candidate, tol, progress)
                newton_steps += landed.iterations
                best.offer(landed.r, landed.error)
                if best.error <= max(tol, contacts.knowable(best.r)):
                    return Outcome(best.r, best.error, k + newton_steps)
            H, Phi = nesterov_todd(x, y), _slope_of_phi(y, theta)
            try:
                solve = scaled.factorise(Phi @ H + scaled.regular(nu) * one)
            except (RuntimeError, linalg.LinAlgError):
                return Outcome(best.r, best.error, k + newton_steps, "singular system")
            here = _Linearised(scaled, solve, H, Phi, x, y, p, residual)
            dx, dy, _ = here.direction(residual, -y)
            sigma = _centring(min(1.0, longest_step(x, dx), longest_step(y, dy)), step, off)
            inverse = x * np.where(np.arange(d) == 0, 1.0, -1.0) / _determinant(x)[:, None]
            step, (dx, dy, dp) = here.bent(here.direction(residual, sigma * nu * inverse - y), NEAR * nu)
            x, y, p = x + step * dx, y + step * dy, p + step * dp
            theta = 0.5 * theta if step < SHORT else 0.5 * (1.0 + theta)
            if not np.all(np.isfinite(x)):
                return Outcome(best.r, best.error, k + newton_steps, "left the cone")
        return Outcome(best.r, best.error, self.limit + newton_steps)


def _centring(predictor: float, last_step: float, off: float) -> float:
    """Centring sigma from the step of the predictor, the step before, and the residual relative to nu."""
    sigma = max((1.0 - predictor) ** 2, 1e-3)
    if off > 10.0 * NEAR:
        return 1.0
    return max(sigma, 0.8) if off > NEAR or last_step < 0.2 else sigma
