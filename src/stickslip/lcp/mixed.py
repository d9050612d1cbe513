"""Mixed linear complementarity problems: free unknowns beside those with a sign."""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.lcp import lemke as lemke_method
from stickslip.lcp import newton
from stickslip.lcp.methods import asked
from stickslip.lcp.outcomes import TOLERANCE, in_given_units, mixed_solution
from stickslip.lcp.pivoting import RAY, SOLVED
from stickslip.lcp.problems import LCPSolution, checked_count, checked_mask, checked_problem, checked_tolerance
from stickslip.lcp.residuals import mlcp_residual
from stickslip.lcp.scaling import is_far_out, scaled
from stickslip.lcp.solve import by_newton

MIXED_METHODS = ("auto", "lemke", "newton")


def solve_mlcp(
    A: Any, b: Any, free: Any, method: str | Any = "auto", *, tol: float = TOLERANCE, max_iterations: int | None = None
) -> LCPSolution:
    """Solve the mixed LCP  y = A x + b with y_i = 0, x_i of any sign where free[i], 0 <= y_i perp x_i >= 0 elsewhere.

    Parameters
    ----------
    A, b : shapes (n, n) and (n,).
    free : boolean mask, shape (n,): True where the unknown may have any sign.
    method : a word, or a solver object of that name.
        "lemke" eliminates the free unknowns where their block is regular.  Where it is singular (redundant bilateral
        constraints), each free unknown is split into two non-negative ones; PSD and copositive-plus matrices stay so.
        "newton" works on the mixed problem as it stands.
        "auto" takes Lemke's method, then Newton's.
    tol : largest scaled residual that counts as solved.
    max_iterations : pivots (default 100 n + 200) or Newton steps (100).

    Returns
    -------
    LCPSolution : `solved` only after a check on the given A and b.

    Raises
    ------
    ValueError : wrong shapes, entries that are not finite, an unknown method.
    """
    M, v = checked_problem(A, b)
    n = len(v)
    mask = checked_mask(free, n)
    _, method, tol, max_iterations = asked(method, MIXED_METHODS, tol, TOLERANCE, max_iterations)
    tolerance = checked_tolerance(tol)
    if n == 0:
        return LCPSolution(np.zeros(0), np.zeros(0), True, "solved: nothing to solve, n = 0", 0.0, 0, method)
    pivots = checked_count(max_iterations, "max_iterations", 100 * n + 200)
    steps = checked_count(max_iterations, "max_iterations", 100)
    if not is_far_out(M, v):
        return _mixed_by_method(method, M, v, mask, tolerance, pivots, steps)
    with np.errstate(all="ignore"):
        problem = scaled(M, v)
        answer = _mixed_by_method(method, problem.A, problem.b, mask, tolerance, pivots, steps)
        return in_given_units(M, v, mask, problem, answer, tolerance)


def _mixed_by_method(
    method: str, A: np.ndarray, b: np.ndarray, free: np.ndarray, tol: float, pivots: int, steps: int
) -> LCPSolution:
    solution: LCPSolution | None = None
    if method in ("auto", "lemke"):
        solution = _mixed_by_lemke(A, b, free, tol, pivots)
        if solution.solved or method == "lemke":
            return solution
    other = by_newton(A, b, tol, steps, np.zeros(len(b)), free)
    return other if solution is None or other.solved else solution


def _mixed_by_lemke(A: np.ndarray, b: np.ndarray, free: np.ndarray, tol: float, limit: int) -> LCPSolution:
    n = len(b)
    y = np.empty(n)
    bound = ~free
    A_ff, A_fc = A[np.ix_(free, free)], A[np.ix_(free, bound)]
    x = np.zeros(n)
    code, count, residual = lemke_method.INACCURATE, 0, np.inf
    K = _free_part(A_ff, np.column_stack([A_fc, b[free]]))
    if K is not None:
        S = A[np.ix_(bound, bound)] - A[np.ix_(bound, free)] @ K[:, :-1]
        s = b[bound] - A[np.ix_(bound, free)] @ K[:, -1]
        code, count, x[bound] = _lemke_raw(S, s, tol, limit)
        x[free] = -(K[:, -1] + K[:, :-1] @ x[bound])
        residual = _mixed_polish(A, b, free, x, y)
    if residual > tol and free.any() and code != RAY:
        split = np.concatenate([np.arange(n), np.flatnonzero(free)])
        sign = np.concatenate([np.ones(n), -np.ones(int(free.sum()))])
        code, more, z = _lemke_raw(
            np.ascontiguousarray(A[np.ix_(split, split)] * sign[:, None] * sign), b[split] * sign, tol, limit
        )
        count += more
        x = z[:n].copy()
        x[free] -= z[n:]
        residual = _mixed_polish(A, b, free, x, y)
    if code == SOLVED and not residual <= tol:
        code = lemke_method.INACCURATE
    return mixed_solution("lemke", x, y, free, code, count, residual)


def _lemke_raw(A: np.ndarray, b: np.ndarray, tol: float, limit: int) -> tuple[int, int, np.ndarray]:
    n = len(b)
    x, y, ray = np.zeros(n), np.empty(n), np.empty(n)
    if n == 0:
        return SOLVED, 0, x
    A, b = np.ascontiguousarray(A), np.ascontiguousarray(b)
    code, count, _ = lemke_method.lemke_alone(A, b, x, y, ray, limit, tol, 3)
    if code != SOLVED:
        other = np.zeros(n)
        found, more, _ = lemke_method.lemke_by_right_side(A, b, other, y, limit, tol)
        if found == SOLVED:
            return found, count + more, other
    return code, count, x


def _mixed_polish(A: np.ndarray, b: np.ndarray, free: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    """Recompute x from its support, keep it where its residual is smaller; write y = A x + b, return the residual."""
    before = mlcp_residual(A, b, free, x, y)
    better, y_better = np.empty_like(x), np.empty_like(y)
    work = newton.workspace(len(x))
    lemke_method.scale(A, b, *work[:4])
    after = newton.from_support(A, b, free, x, np.zeros_like(x), better, y_better, work)
    if after < before:
        x[:], y[:] = better, y_better
        return after
    return before


def _free_part(A: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """A^-1 right, for the rows of the free unknowns; None where A is singular, or as good as that."""
    if A.shape[0] == 0:
        return np.zeros_like(right)
    if not _regular(A):
        return None
    try:
        return np.asarray(np.linalg.solve(A, right))
    except np.linalg.LinAlgError:  # a pivot vanished between rows of very different size
        size = 2.0 ** np.floor(np.log2(np.abs(A).max(axis=1)))[:, None]
        return np.asarray(np.linalg.solve(A / size, right / size))


def _regular(A: np.ndarray) -> bool:
    scale = np.abs(A).max(axis=1)
    return bool(np.all(scale > 0.0)) and 1.0 / np.linalg.cond(A / scale[:, None], 1) > 1e-12
