"""The error measure and the laws of contact in plain NumPy: a second route beside the package's kernels."""

import numpy as np

from stickslip.contact.problem import FrictionProblem


def project(x, mu):
    """Nearest point of the cone |x_T| <= mu x_N, written from its three cases."""
    t = np.linalg.norm(x[1:])
    if x[0] >= 0.0 and t <= mu * x[0]:
        return x.copy()
    if mu * t <= -x[0]:
        return np.zeros_like(x)
    normal = (x[0] + mu * t) / (1.0 + mu**2)
    return np.concatenate([[normal], mu * normal * x[1:] / t])


def error(problem, r):
    """|| r - P_K(r - u - mu |u_T| e_N) || / max(|q|, |r|, |u|), contact by contact."""
    W = problem.matrix
    u = W @ r + problem.q
    d = problem.dim
    total = 0.0
    for i in range(problem.contacts):
        part = slice(d * i, d * i + d)
        y = u[part].copy()
        y[0] += problem.mu[i] * np.linalg.norm(u[part][1:])
        total += np.sum((r[part] - project(r[part] - y, problem.mu[i])) ** 2)
    return np.sqrt(total) / max(np.linalg.norm(problem.q), np.linalg.norm(r), np.linalg.norm(u), 1e-300)


def shuffled(problem, seed):
    """The problem with its contacts in a random order."""
    order = np.random.default_rng(seed).permutation(problem.contacts)
    rows = (order[:, None] * problem.dim + np.arange(problem.dim)).ravel()
    return FrictionProblem(problem.matrix[rows][:, rows], problem.q[rows], problem.mu[order], problem.dim)
