"""Semismooth Newton method for LCP and mixed LCP on the Fischer-Burmeister equation.

    Phi_i(x) = sqrt(x_i^2 + y_i^2) - x_i - y_i = 0   <=>   x_i >= 0, y_i >= 0, x_i y_i = 0,      y = A x + b,
    Phi_i(x) = y_i                                    where x_i is free (mixed problems).

The merit function |Phi|^2 / 2 is smooth.  A Newton step that is singular or no direction of descent is replaced by a
Levenberg-Marquardt step.  An Armijo line search sets the length of the step.  The problem is scaled as for Lemke's
method, and the support found at the end is solved for directly.
References: Fischer, Optimization 24 (1992) 269; De Luca, Facchinei and Kanzow, Math. Programming 75 (1996) 407.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stickslip.jit import entry, kernel
from stickslip.lcp.lemke import ROUND_OFF, scale
from stickslip.lcp.linear import Room, drop_tiny, lu_factor, lu_solve, solve_support
from stickslip.lcp.residuals import mlcp_residual

SOLVED = 0
ITERATION_LIMIT = 6
STALLED = 7


class Workspace(NamedTuple):
    """Arrays that one solve of size n needs; many solves can share one workspace, one after another.

    D, r, R, C : the scaled problem D = R A C, r = R b / size, see `lemke.scale`.
    J, F, pivots : the Jacobian, a factored matrix and its pivots.
    z, w, Phi : scaled unknowns, w = D z + r, and the equation's left side.
    step, gradient, trial, active : of Newton's method, and the support that the iterate suggests.
    """

    D: np.ndarray
    r: np.ndarray
    R: np.ndarray
    C: np.ndarray
    J: np.ndarray
    F: np.ndarray
    pivots: np.ndarray
    z: np.ndarray
    w: np.ndarray
    Phi: np.ndarray
    step: np.ndarray
    gradient: np.ndarray
    trial: np.ndarray
    active: np.ndarray


@kernel(inline=True)
def workspace(n: int) -> Workspace:
    """Allocate a workspace for problems of size n."""
    return Workspace(
        np.empty((n, n + 1)), np.empty(n), np.empty(n), np.empty(n),
        np.empty((n, n)), np.empty((n, n)), np.empty(n, np.int64),
        np.empty(n), np.empty(n), np.empty(n),
        np.empty(n), np.empty(n), np.empty(n), np.empty(n, np.int64),
    )  # fmt: skip


@entry
def fischer_burmeister(n: int, work: Workspace, free: np.ndarray, z: np.ndarray) -> float:
    """Write w = D z + r and Phi(z) of the scaled problem; return the merit |Phi|^2 / 2."""
    D, r, w, Phi = work.D, work.r, work.w, work.Phi
    merit = 0.0
    for i in range(n):
        s = r[i]
        for j in range(n):
            s += D[i, j] * z[j]
        w[i] = s
        if free[i]:
            Phi[i] = s
        else:
            a = z[i]
            length = math.hypot(a, s)
            # a + s and length nearly cancel for a, s > 0: use (a^2 + s^2 - (a + s)^2) / (length + a + s)
            Phi[i] = -2.0 * a * s / (length + a + s) if a + s > 0.0 else length - a - s
        merit += Phi[i] * Phi[i]
    return 0.5 * merit


@entry
def generalised_jacobian(n: int, work: Workspace, free: np.ndarray) -> None:
    """Write one element of the generalised Jacobian of Phi at z into J: diag(alpha) + diag(beta) D."""
    D, J, z, w = work.D, work.J, work.z, work.w
    for i in range(n):
        if free[i]:
            for j in range(n):
                J[i, j] = D[i, j]
            continue
        length = math.hypot(z[i], w[i])
        if length > 0.0:
            alpha = z[i] / length - 1.0
            beta = w[i] / length - 1.0
        else:  # kink: the element that belongs to the direction (1, 1)
            alpha = math.sqrt(0.5) - 1.0
            beta = alpha
        for j in range(n):
            J[i, j] = beta * D[i, j]
        J[i, i] += alpha


@entry
def direction(n: int, work: Workspace, merit: float) -> float:
    """Write a Newton step, or a Levenberg-Marquardt step where Newton's fails; return the slope gradient . step."""
    J, F, pivot, Phi, step, gradient = work.J, work.F, work.pivots, work.Phi, work.step, work.gradient
    for j in range(n):
        s = 0.0
        for i in range(n):
            s += J[i, j] * Phi[i]
        gradient[j] = s
    for i in range(n):
        for j in range(n):
            F[i, j] = J[i, j]
        step[i] = -Phi[i]
    if lu_factor(n, F, pivot) > 1e-15:
        lu_solve(n, F, pivot, step)
        slope = 0.0
        length = 0.0
        for j in range(n):
            slope += gradient[j] * step[j]
            length += step[j] * step[j]
        if slope < -1e-10 * math.sqrt(merit) * math.sqrt(length) and length < 1e30:
            return slope
    damping = 1e-10 + 1e-3 * math.sqrt(2.0 * merit)
    for i in range(n):
        for j in range(n):
            s = damping if i == j else 0.0
            for k in range(n):
                s += J[k, i] * J[k, j]
            F[i, j] = s
        step[i] = -gradient[i]
    if lu_factor(n, F, pivot) > 0.0:
        lu_solve(n, F, pivot, step)
    slope = 0.0
    for j in range(n):
        slope += gradient[j] * step[j]
    return slope


@entry
def from_support(
    A: np.ndarray,
    b: np.ndarray,
    free: np.ndarray,
    z: np.ndarray,
    w: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    work: Workspace,
) -> float:
    """Solve for x on the support {i : z_i > w_i or free} that the iterate suggests; return the residual of x.

    Returns inf when the submatrix of the support is singular.
    """
    n = b.shape[0]
    trial, active = work.trial, work.active
    k = 0
    for i in range(n):
        if free[i] or z[i] > w[i]:
            active[k] = i
            k += 1
    if not solve_support(A, b, k, active, x, Room(work.F, work.pivots, work.step, trial)):
        return np.inf
    for i in range(n):
        if not free[i]:
            x[i] = max(0.0, x[i])
    residual = mlcp_residual(A, b, free, x, y)
    if residual > 1e-13:
        for i in range(n):
            trial[i] = x[i]
        drop_tiny(trial, work.C, ROUND_OFF)
        cleaned = mlcp_residual(A, b, free, trial, y)
        if cleaned < residual:
            for i in range(n):
                x[i] = trial[i]
            return cleaned
        residual = mlcp_residual(A, b, free, x, y)
    return residual


@entry
def semismooth_newton(
    A: np.ndarray,
    b: np.ndarray,
    free: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    work: Workspace,
    max_iterations: int,
    tol: float,
) -> tuple:
    """Solve one (mixed) LCP from x; write x, y = A x + b; return (status, iterations, residual)."""
    n = b.shape[0]
    C, z, w, step, trial = work.C, work.z, work.w, work.step, work.trial
    size = scale(A, b, work.D, work.r, work.R, C)
    if size == 0.0:
        size = 1.0
    for i in range(n):
        z[i] = x[i] / (C[i] * size)
    merit = fischer_burmeister(n, work, free, z)
    iteration = 0
    for iteration in range(max_iterations + 1):
        if merit < 1e-6:
            residual = from_support(A, b, free, z, w, x, y, work)
            if residual <= tol:
                return SOLVED, iteration, residual
        if merit < 1e-30 or iteration == max_iterations:
            break
        generalised_jacobian(n, work, free)
        slope = direction(n, work, merit)
        if not (slope < 0.0):
            break
        length, new_merit = 1.0, merit
        accepted = False
        while length > 1e-12:
            for i in range(n):
                trial[i] = z[i] + length * step[i]
            new_merit = fischer_burmeister(n, work, free, trial)
            if new_merit <= merit + 1e-4 * length * slope:
                accepted = True
                break
            length *= 0.5
        if not accepted:
            break
        for i in range(n):
            z[i] = trial[i]
        merit = new_merit
    fischer_burmeister(n, work, free, z)
    for i in range(n):  # no support solves it: hand back the iterate itself
        value = z[i] * C[i] * size
        x[i] = value if free[i] else (max(0.0, value) if z[i] > w[i] else 0.0)
    residual = mlcp_residual(A, b, free, x, y)
    if residual <= tol:
        return SOLVED, iteration, residual
    return (ITERATION_LIMIT if iteration == max_iterations else STALLED), iteration, residual
