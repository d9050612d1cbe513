"""Random LCPs of known kind, for tests and benchmarks."""

from __future__ import annotations

import numpy as np

KINDS = ("P", "PSD", "copositive", "degenerate", "contact", "general")


def random_lcp(kind: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A and b of a random LCP with about n unknowns (a contact problem has 3 per contact).

    Kinds:
    "P": one solution, rows and columns of very different size.
    "PSD": rank about n / 2, with or without a skew part; some problems have no solution.
    "copositive": sparse, non-negative plus PSD.
    "degenerate": small whole numbers; ties, several solutions and no solution are frequent.
    "contact": see `contact_lcp`.
    "general": normally distributed entries.
    """
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
    if kind == "general":
        return rng.standard_normal((n, n)), b
    raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}.")


def p_matrix(n: int, rng: np.random.Generator) -> np.ndarray:
    """Positive definite plus skew, with rows and columns multiplied by positive numbers: all minors stay positive."""
    B = rng.standard_normal((n, n))
    K = rng.standard_normal((n, n))
    A = B @ B.T / n + 0.05 * np.eye(n) + rng.choice([0.0, 1.0, 5.0]) * (K - K.T)
    spread = rng.choice([0.0, 2.0, 6.0])
    return A * 10.0 ** rng.uniform(-spread, spread, (n, 1)) * 10.0 ** rng.uniform(-spread, spread, n)


def contact_lcp(contacts: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """[GS05] eq. (33) for a random mechanism: inertias 1e-9..1e3, friction 0..2, no restitution.

    x = (Lambda_N, Lambda_R, gamma_L), y = (gamma_N, gamma_R, Lambda_L), three unknowns a contact.
    """
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
