"""The error measures and the laws of contact in plain NumPy: a second route beside the package's kernels."""

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
    """Worst violation of the laws of contact in velocities, beyond rounding, relative to max |q_i|."""
    W, d = problem.matrix, problem.dim
    W = W if isinstance(W, np.ndarray) else W.toarray()
    u, load, worst = W @ r + problem.q, np.abs(W) @ np.abs(r), 0.0
    v = max(np.linalg.norm(problem.q[d * i : d * i + d]) for i in range(problem.contacts)) or 1.0
    for i in range(problem.contacts):
        part = slice(d * i, d * i + d)
        m = np.trace(W[part, part]) / d
        normal = min(u[part][0], m * r[part][0])
        pull, bound = r[part][1:] - u[part][1:] / m, problem.mu[i] * max(0.0, r[part][0])
        nearest = pull if np.linalg.norm(pull) <= bound else pull * bound / np.linalg.norm(pull)
        found = np.hypot(normal, m * np.linalg.norm(r[part][1:] - nearest))
        rounding = np.finfo(float).eps * load[part].max()
        worst = max(worst, found - 8.0 * rounding if 8.0 * rounding <= 1e-6 * v else max(found, rounding))
    return worst / v


def natural_map(problem, r):
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
