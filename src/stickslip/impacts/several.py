"""Stacks of impacts in which every state has several closed contacts, equal from state to state: one stack of LCPs.

Arrays: k states, m closed contacts.  The equations are those of `PlanarProblem`, written for all states at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stickslip.lcp.solve import solve_lcp

Array = np.ndarray


@dataclass(frozen=True)
class Problems:
    """k contact problems: G_NN, G_NT, G_TT (k, m, m); c, size (k, m, 2); mu, a (k, m); frictional (m,)."""

    G_NN: Array
    G_NT: Array
    G_TT: Array
    c: Array
    size: Array
    mu: Array
    a: Array
    frictional: np.ndarray

    @classmethod
    def of(cls, M: Array, W_N: Array, W_T: Array, gamma: Array, size: Array, mu: Array) -> Problems:
        """From mass matrices (k, f, f) and directions (k, m, f); frictional alike in every state."""
        V_N, V_T = (np.linalg.solve(M, W.swapaxes(1, 2)) for W in (W_N, W_T))
        G_TT = W_T @ V_T
        frictional = (mu[0] > 0.0) & (np.diag(G_TT[0]) > 0.0)
        return cls(W_N @ V_N, W_N @ V_T, G_TT, gamma, size, mu, np.zeros_like(mu), frictional)

    def velocities(self, Lambda: Array) -> Array:
        """c + G Lambda, (k, m, 2)."""
        N, T = Lambda[..., :1], Lambda[..., 1:]
        normal = self.G_NN @ N + self.G_NT @ T
        tangential = self.G_NT.swapaxes(1, 2) @ N + self.G_TT @ T
        return self.c + np.concatenate([normal, tangential], axis=2)

    def solve(self) -> tuple[Array, Array]:
        """Impulses (k, m, 2) and residuals (k,), inf where there is no solution."""
        A, b, scale = self._lcp()
        answer = solve_lcp(A, b, tol=1e-9)
        x = answer.x * scale
        m, T, r = self.mu.shape[1], self.frictional, int(self.frictional.sum())
        Lambda = np.zeros((*self.mu.shape, 2))
        Lambda[..., 0] = x[:, :m]
        bound = self.mu * Lambda[..., 0] + self.a
        right, left = x[:, m : m + r], x[:, m + r :]  # Lambda_R = 0 or xi_L > 0: on the bound, to the last digit
        limit = bound[:, T]
        Lambda[:, T, 1] = np.where(
            right <= 0.0, -limit, np.where(left > 0.0, limit, np.clip(right - limit, -limit, limit))
        )
        return Lambda, np.where(answer.solved, self.residuals(Lambda), np.inf)

    def _lcp(self) -> tuple[Array, Array, Array]:
        """A, b of [GS05] eq. (33) and the scaling to unit diagonals."""
        k, m = self.mu.shape
        T = np.flatnonzero(self.frictional)
        n, r = np.arange(m), len(T)
        R, L = m + np.arange(r), m + r + np.arange(r)
        G_TN = self.G_NT.swapaxes(1, 2)
        A, b = np.zeros((k, m + 2 * r, m + 2 * r)), np.zeros((k, m + 2 * r))
        friction = self.mu[:, None, :] * self.frictional
        A[:, :m, :m] = self.G_NN - self.G_NT * friction
        A[:, :m, R] = self.G_NT[:, :, T]
        A[:, R[:, None], n] = (G_TN - self.G_TT * friction)[:, T]
        A[:, R[:, None], R] = self.G_TT[:, T[:, None], T]
        A[:, R, L] = 1.0
        A[:, L, T] = 2.0 * self.mu[:, T]
        A[:, L, R] = -1.0
        a = (self.a * self.frictional)[:, :, None]
        b[:, :m] = self.c[..., 0] - (self.G_NT @ a)[..., 0]
        b[:, R] = (self.c[..., 1] - (self.G_TT @ a)[..., 0])[:, T]
        b[:, L] = 2.0 * self.a[:, T]
        d_N = 1.0 / np.sqrt(np.diagonal(self.G_NN, axis1=1, axis2=2))
        d_T = 1.0 / np.sqrt(np.diagonal(self.G_TT, axis1=1, axis2=2)[:, T])
        d = np.concatenate([d_N, d_T, 1.0 / d_T], axis=1)
        return d[:, :, None] * A * d[:, None, :], d * b, d

    def residuals(self, Lambda: Array) -> Array:
        """Worst violation of the contact laws in each problem, relative to the velocities in it, (k,)."""
        sizes = replace(
            self, G_NN=np.abs(self.G_NN), G_NT=np.abs(self.G_NT), G_TT=np.abs(self.G_TT), c=self.size
        ).velocities(np.abs(Lambda))
        sizes = np.where(sizes > 0.0, sizes, 1.0)
        xi = self.velocities(Lambda)
        N, T = Lambda[..., 0], Lambda[..., 1]
        bound = self.mu * N + self.a
        defect_N = np.where(N > 0.0, np.abs(xi[..., 0]), np.maximum(0.0, -xi[..., 0]))
        slip = np.maximum(0.0, np.where(T > 0.0, xi[..., 1], -xi[..., 1]))
        defect_T = np.where(np.abs(T) < bound * (1.0 - 1e-12), np.abs(xi[..., 1]), slip)
        defect_T = np.where((bound > 0.0) & self.frictional, defect_T, 0.0)
        worst = np.maximum(defect_N / sizes[..., 0], defect_T / sizes[..., 1]).max(axis=1)
        possible = np.isfinite(worst) & np.all(N >= 0.0, axis=1)
        return np.where(possible, worst, np.inf)

    def may_jam(self) -> np.ndarray:
        """States with a resting contact whose friction is supercritical: which solution is the limit, is not said."""
        alpha, delta = (np.diagonal(G, axis1=1, axis2=2) for G in (self.G_NN, self.G_NT))
        return np.any((self.c[..., 0] == 0.0) & (self.mu * np.abs(delta) >= alpha), axis=1)


def newton_several(problems: Problems, eps: Array) -> tuple[Array, Array]:
    """Impulses (k, m, 2) and residuals under Newton's law; eps (k, m, 2)."""
    return replace(problems, c=(1.0 + eps) * problems.c).solve()


def poisson_several(problems: Problems, eps: Array) -> tuple[Array, Array]:
    """Impulses (k, m, 2) and residuals under Poisson's law, not scaled; eps (k, m, 2)."""
    stored, first = problems.solve()
    a = problems.mu * (eps[..., 0] - eps[..., 1]) * stored[..., 0]
    given = (1.0 + eps) * stored
    more, second = replace(problems, c=problems.velocities(given), a=a).solve()
    return given + more, np.maximum(first, second)


def groups(*masks: np.ndarray) -> list[Any]:
    """Row numbers of equal rows of all masks (k, n) together."""
    _, which = np.unique(np.concatenate(masks, axis=1), axis=0, return_inverse=True)
    which = which.reshape(-1)
    order = np.argsort(which, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(which[order])) + 1)
