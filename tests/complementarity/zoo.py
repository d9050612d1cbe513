"""Random LCPs of known kind, and the check of an answer on its own problem."""

from __future__ import annotations

import numpy as np

from stickslip.complementarity.problems import LCPSolution

KINDS = ("P", "PSD", "copositive", "degenerate", "contact", "general")


def random_lcp(kind: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A problem of about n unknowns (contact problems: 3 per contact)."""
    b = rng.standard_normal(n)
    if kind == "P":
        return p_matrix(n, rng), b
    if kind == "PSD":
        B = rng.standard_normal((n, max(1, n // 2)))
        K = rng.standard_normal((n, n))
        return B @ B.T + rng.choice([0.0, 1.0]) * (K - K.T), b
    if kind == "copositive":
        B = rng.standard_normal((n, n))
        return np.abs(rng.standard_normal((n, n))) * rng.integers(0, 2, (n, n)) + 0.1 * B @ B.T, b
    if kind == "degenerate":
        A = rng.integers(-1, 3, (n, n)).astype(float)
        np.fill_diagonal(A, rng.integers(0, 3, n))
        return A, rng.integers(-2, 2, n).astype(float)
    if kind == "contact":
        return contact_lcp(max(1, n // 3), rng)
    return rng.standard_normal((n, n)), b


def p_matrix(n: int, rng: np.random.Generator) -> np.ndarray:
    """Positive definite plus skew, with rows and columns multiplied by positive numbers: all minors stay positive."""
    B = rng.standard_normal((n, n))
    K = rng.standard_normal((n, n))
    A = B @ B.T / n + 0.05 * np.eye(n) + rng.choice([0.0, 1.0, 5.0]) * (K - K.T)
    spread = rng.choice([0.0, 2.0, 6.0])
    return A * 10.0 ** rng.uniform(-spread, spread, (n, 1)) * 10.0 ** rng.uniform(-spread, spread, n)


def contact_lcp(contacts: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """[GS05] eq. (33) for a random mechanism: inertias 1e-9..1e3, friction 0..2."""
    f = contacts + int(rng.integers(1, 4))
    inertia = 10.0 ** rng.uniform(-9.0, 3.0, f)
    Q, _ = np.linalg.qr(rng.standard_normal((f, f)))
    mix = np.eye(f) if rng.random() < 0.5 else Q
    M_inverse = mix @ np.diag(1.0 / inertia) @ mix.T
    W_N, W_T = rng.standard_normal((2, f, contacts))
    mu = np.diag(rng.choice([0.0, 0.3, 1.0, 2.0]) * rng.random(contacts))
    E, zero = np.eye(contacts), np.zeros((contacts, contacts))
    G = np.block([W_N, W_T]).T @ M_inverse @ np.block([W_N, W_T])
    k = contacts
    G_NN, G_NT, G_TN, G_TT = G[:k, :k], G[:k, k:], G[k:, :k], G[k:, k:]
    A = np.block([[G_NN - G_NT @ mu, G_NT, zero], [G_TN - G_TT @ mu, G_TT, E], [2 * mu, -E, zero]])
    u = rng.standard_normal(f) * 10.0 ** rng.uniform(-2, 2)
    return A, np.concatenate([W_N.T @ u, W_T.T @ u, np.zeros(k)])


def worst_violation(A: np.ndarray, b: np.ndarray, s: LCPSolution) -> float:
    """Largest violation of x >= 0, y >= 0, x_i y_i = 0, y = A x + b, each relative to the numbers that make it up.

    Written without the package's own residual.
    """
    size = np.abs(b) + np.abs(A) @ np.abs(s.x)
    size = np.where(size > 0.0, size, 1.0)
    equation = np.abs(A @ s.x + b - s.y) / size
    signs = np.maximum(-s.x.min(initial=0.0), -s.y.min(initial=0.0))
    product = np.abs(s.x * s.y).max(initial=0.0)
    return float(max(equation.max(initial=0.0), signs, product))
