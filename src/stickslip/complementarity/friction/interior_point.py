"""Interior point for the friction problem itself, which is not the optimality condition of anything (non-associated law).

Scaled r' = (mu r_N, r_T), y' = (y_N / mu, y_T) both lie in the cone of Lorentz L, and the problem reads

    W' r' + q' = phi(y'),   phi(y) = y - |y_T| e_0,   r' in L,  y' in L,  r' o y' = 0.

Newton on r' o y' = sigma nu e with the scaling of Nesterov and Todd, y' = H r': (W' + Phi H + delta I) dr = ..., Phi the
Jacobian of phi, delta = 1e-2 min(1, nu).  Contacts without friction have no such scaling: their tangential rows are
replaced by r_T = y_T, whose only solution in L with r o y = 0 is zero, and the normal pair is then the LCP's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as linalg
import scipy.sparse as sp
import scipy.sparse.linalg as sparse_linalg

from stickslip.complementarity.friction.contacts import Contacts
from stickslip.complementarity.friction.method import Best, FrictionMethod, Outcome, Progress

DENSE_LIMIT = 300
TINY = 1e-300
REGULARISATION = 1e-2
LEAST_CENTRING = 0.3


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


def longest_step(x: np.ndarray, dx: np.ndarray) -> float:
    """The largest t with x + t dx in the cone; inf where there is no end."""
    with np.errstate(divide="ignore", invalid="ignore"):
        a = dx[:, 0] ** 2 - (dx[:, 1:] ** 2).sum(axis=1)
        b = x[:, 0] * dx[:, 0] - (x[:, 1:] * dx[:, 1:]).sum(axis=1)
        c = _determinant(x)
        root = np.sqrt(b * b - a * c)  # NaN where the line never meets the boundary
        half = np.where(b >= 0.0, -(b + root), -(b - root))
        times = np.stack([np.where(dx[:, 0] < 0.0, -x[:, 0] / dx[:, 0], np.inf), half / a, c / half])
    times = times[(times > 0.0)]
    return float(times.min(initial=np.inf))


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
    """W' and q' normalised to mean diagonal 1 and q of size 1 per contact."""

    def __init__(self, contacts: Contacts) -> None:
        n, d = len(contacts), contacts.dim
        slippery = contacts.mu == 0.0
        D = np.ones((n, d))
        D[:, 0] = np.where(slippery, 1.0, contacts.mu)
        keep = np.ones((n, d))
        keep[slippery, 1:] = 0.0
        self.D = D
        left = sp.diags((keep / D).ravel())
        W = left @ contacts.matrix @ left
        self.r_unit = 1.0 / (float(W.diagonal().mean()) or 1.0)
        self.q_unit = float(np.linalg.norm(contacts.q)) / np.sqrt(n) or 1.0
        self.W = (W * self.r_unit + sp.diags((1.0 - keep).ravel())).tocsr()
        self.q = (keep * contacts.q.reshape(n, d) / D) / self.q_unit
        self.keep = keep

    def impulses(self, r: np.ndarray) -> np.ndarray:
        return (self.keep * r / self.D * (self.q_unit * self.r_unit)).ravel()


def _factorise(W: sp.csr_matrix, dense: np.ndarray | None, blocks: np.ndarray, delta: float) -> Callable:
    n, d = blocks.shape[:2]
    if dense is not None:
        K = dense.copy()
        K.reshape(n, d, n, d)[np.arange(n), :, np.arange(n), :] += blocks
        K[np.diag_indices(n * d)] += delta
        factors = linalg.lu_factor(K, check_finite=False)
        return lambda b: linalg.lu_solve(factors, b, check_finite=False)
    B = sp.bsr_matrix((blocks, np.arange(n), np.arange(n + 1)), shape=W.shape).tocsr()
    return sparse_linalg.splu((W + B + delta * sp.eye(n * d, format="csr")).tocsc()).solve


def _direction(
    solve: Callable, H: np.ndarray, Phi: np.ndarray, residual: np.ndarray, c: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """dx and dy with W' dx - Phi dy = -residual and H dx + dy = c."""
    dx = solve((_apply(Phi, c) - residual).ravel()).reshape(c.shape)
    return dx, c - _apply(H, dx)


@dataclass(frozen=True)
class InteriorPoint(FrictionMethod):
    """Interior point; takes no start: it begins in the middle of the cones."""

    name = "interior-point"
    default_iterations = 100

    def run(self, contacts: Contacts, r: np.ndarray, tol: float, progress: Progress) -> Outcome:
        n, d = len(contacts), contacts.dim
        scaled = _Scaled(contacts)
        dense = scaled.W.toarray() if n * d <= DENSE_LIMIT else None
        x = np.zeros((n, d))
        x[:, 0] = 1.0
        y = x.copy()
        best = Best(r, contacts.error(r))
        step = 1.0
        for k in range(self.limit):
            nu = float((x * y).sum()) / n
            residual = (scaled.W @ x.ravel()).reshape(n, d) + scaled.q - y
            residual[:, 0] += _norm_T(y)
            candidate = scaled.impulses(x)
            error = contacts.error(candidate)
            best.offer(candidate, error)
            progress.note(error)
            if error <= tol or not nu > 1e-18 or progress.expired:
                return Outcome(best.r, best.error, k)
            H, Phi = nesterov_todd(x, y), _slope_of_phi(y)
            try:
                solve = _factorise(scaled.W, dense, Phi @ H, REGULARISATION * min(1.0, nu))
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
    """sigma: the cube of what the predictor would leave of nu, but never bold after a short step."""
    sigma = max(min(1.0, max(decrease, 0.0)) ** 3, LEAST_CENTRING, 1e-3 if predictor > 0.9 else 0.1 * (1.0 - predictor))
    return max(sigma, 0.8) if last_step < 0.2 else sigma
