"""Gauss collocation of the linear equations X' = A X + B along a motion."""

from __future__ import annotations

import numpy as np

from stickslip.checks import Array

STAGES = 5  # order 10


def _gauss(stages: int) -> tuple[Array, Array, Array]:
    """Nodes, weights and coefficients of Gauss-Legendre collocation on (0, 1) (Butcher 1964)."""
    nodes, weights = np.polynomial.legendre.leggauss(stages)
    nodes, weights = 0.5 * (nodes + 1.0), 0.5 * weights
    powers = np.arange(stages)
    V = nodes[:, None] ** powers
    A = (nodes[:, None] ** (powers + 1) / (powers + 1)) @ np.linalg.inv(V)
    return nodes, weights, A


NODES, WEIGHTS, COEFFICIENTS = _gauss(STAGES)
_TWICE = COEFFICIENTS @ COEFFICIENTS


def collocated(X: Array, A: Array, B: Array, h: float) -> Array:
    """X behind one collocation step of X' = A X + B, with A (stages, 2 f, 2 f) and B at the nodes.

    The upper half of the equations is q' = u.  So the slopes K of velocities alone are unknown: f, not 2 f, for each
    stage, with Q = X_q + h c X_u + h^2 a^2 K and U = X_u + h a K at the nodes.
    """
    f, k = A.shape[1] // 2, X.shape[1]
    by_q, by_u = A[:, f:, :f], A[:, f:, f:]
    G = np.eye(STAGES * f)
    G -= np.einsum("ij,iab->iajb", h * h * _TWICE, by_q).reshape(STAGES * f, -1)
    G -= np.einsum("ij,iab->iajb", h * COEFFICIENTS, by_u).reshape(STAGES * f, -1)
    drift = X[:f] + h * NODES[:, None, None] * X[f:]
    K = np.linalg.solve(G, (by_q @ drift + by_u @ X[f:] + B[:, f:]).reshape(STAGES * f, k)).reshape(STAGES, f, k)
    U = X[f:] + h * np.tensordot(COEFFICIENTS, K, 1)
    return X + h * np.concatenate([np.tensordot(WEIGHTS, U, 1), np.tensordot(WEIGHTS, K, 1)])
