"""Projected Gauss-Seidel for the LCP: x_i <- max(0, x_i - y_i / a_ii), row after row, until the residual is small.

Converges for symmetric positive definite A (and for strictly diagonally dominant A with positive diagonal); needs
a_ii > 0 throughout.  Elsewhere it may stall or run away: the residual decides, never the number of sweeps.
Reference: Cottle, Pang and Stone (1992), 5.2; in contact mechanics Moreau and Jean, cited in [GS05] 5.
"""

from __future__ import annotations

import numpy as np

from stickslip.codes import DEPENDENT
from stickslip.jit import entry
from stickslip.lcp.lemke import Workspace, polish
from stickslip.lcp.residuals import lcp_residual

SOLVED = 0
SWEEP_LIMIT = 4
DIAGONAL = 5  # some a_ii <= 0: the method does not apply


@entry
def projected_gauss_seidel(
    A: np.ndarray, b: np.ndarray, x: np.ndarray, y: np.ndarray, work: Workspace, max_sweeps: int, tol: float
) -> tuple:
    """Sweep from the given x >= 0; write x and y = A x + b; return (status, sweeps, residual).

    Every tenth sweep the support is solved for directly (`polish`): once it is the right one, that ends the iteration.
    """
    n = b.shape[0]
    saved = work.R
    for i in range(n):
        if not (A[i, i] > 0.0):
            return DIAGONAL, 0, lcp_residual(A, b, x, y)
    residual = lcp_residual(A, b, x, y)
    for sweep in range(1, max_sweeps + 1):
        if residual <= tol:
            return SOLVED, sweep - 1, residual
        for i in range(n):
            s = b[i]
            for j in range(n):
                s += A[i, j] * x[j]
            x[i] = max(0.0, x[i] - s / A[i, i])
        residual = lcp_residual(A, b, x, y)
        if not (residual < np.inf):  # ran away: hand back a usable point
            for i in range(n):
                x[i] = 0.0
            return SWEEP_LIMIT, sweep, lcp_residual(A, b, x, y)
        if residual > tol and sweep % 10 == 0:
            for i in range(n):
                saved[i] = x[i]
            polished = polish(A, b, x, y, residual, work)
            if polished <= tol:
                return SOLVED, sweep, polished
            for i in range(n):  # a merely better point would break the descent of the sweeps: put the iterate back
                x[i] = saved[i]
    return (SOLVED if residual <= tol else SWEEP_LIMIT), max_sweeps, residual


@entry
def one_contact(
    alpha: float, beta: float, delta: float, c_N: float, c_T: float, mu: float, a: float
) -> tuple[float, float]:
    """Impulses of one planar contact, the others held: open, stick, then the two slips; (0, 0) if none is consistent.

    alpha = G_NN, beta = G_TT, delta = G_NT of the contact ([PG05] eq. (22)); c_N, c_T what the slip velocities would
    be without its own impulses; friction bound mu Lambda_N + a.  alpha = 0 or beta = 0: that part is absent.
    """
    free_T = 0.0
    if beta > 0.0 and a > 0.0:
        free_T = max(-a, min(a, -c_T / beta))
    if alpha == 0.0 or c_N + delta * free_T >= 0.0:
        return 0.0, free_T
    if beta == 0.0 or (mu == 0.0 and a == 0.0):
        return -c_N / alpha, 0.0
    determinant = alpha * beta - delta * delta
    if determinant <= DEPENDENT * alpha * beta:  # both velocities are those of one motion
        N = -c_N / alpha
        if abs(c_T + delta * N) <= DEPENDENT * (abs(c_T) + abs(delta * N)):  # it stops, without any friction
            return N, 0.0
    else:
        N = (-beta * c_N + delta * c_T) / determinant
        T = (delta * c_N - alpha * c_T) / determinant
        if N >= 0.0 and abs(T) <= mu * N + a:
            return N, T
    for s in (1.0, -1.0):
        slope = alpha + s * mu * delta
        if slope > 0.0:
            N = -(c_N + s * delta * a) / slope
            T = s * (mu * N + a)
            if N >= 0.0 and s * (c_T + delta * N + beta * T) <= 0.0:
                return N, T
    return 0.0, 0.0
