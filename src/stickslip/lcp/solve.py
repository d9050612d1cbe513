"""`solve_lcp`, `enumerate_lcp`, `solve_mlcp`, `classify_matrix`: one entrance to the solvers, every answer checked."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stickslip.checks import shown
from stickslip.jit import entry
from stickslip.lcp import gauss_seidel, matrices, newton
from stickslip.lcp import lemke as lemke_method
from stickslip.lcp.enumeration import LIMIT as ENUMERATION_LIMIT
from stickslip.lcp.enumeration import enumerate_first, enumerate_points
from stickslip.lcp.infeasibility import find_proof
from stickslip.lcp.linear import all_finite
from stickslip.lcp.methods import asked
from stickslip.lcp.outcomes import (
    _SOLVED_BY_LEMKE,
    NO_SUPPORT,
    PROVED,
    TOLERANCE,
    in_given_units,
    mixed_solution,
    sentence,
    solution_of,
)
from stickslip.lcp.pivoting import RAY, SOLVED
from stickslip.lcp.problems import (
    LCPSolution,
    checked_count,
    checked_matrix,
    checked_problem,
    checked_start,
    checked_tolerance,
)
from stickslip.lcp.residuals import make_complementary, mlcp_residual
from stickslip.lcp.scaling import is_far_out, scaled
from stickslip.lcp.threads import in_threads
from stickslip.markup import Answers

METHODS = ("auto", "lemke", "enumerate", "gauss-seidel", "newton")

AUTO_ATTEMPTS = 50  # paths of Lemke's method that `auto` follows
AUTO_ENUMERATION = 12  # `auto` looks at all supports up to this size when Lemke and Newton both end without a solution
AUTO_ENUMERATION_FIRST = 8  # up to this size looking at all supports is faster than Newton's method

_ndarray, _float64, _empty = np.ndarray, np.dtype(np.float64), np.empty
_new: Any = tuple.__new__
_LIMITS = {"auto": None, "lemke": None, "enumerate": None, "gauss-seidel": 10_000, "newton": 100}  # None: 50 n + 200
ENUMERATE, GAUSS_SEIDEL, NEWTON = 0, 1, 2
_CODES = {"enumerate": ENUMERATE, "gauss-seidel": GAUSS_SEIDEL, "newton": NEWTON}


def solve_lcp(
    A: Any,
    b: Any,
    method: str | Any = "auto",
    *,
    tol: float = TOLERANCE,
    max_iterations: int | None = None,
    x0: Any = None,
) -> LCPSolution:
    """Solve the linear complementarity problem  y = A x + b,  0 <= y perp x >= 0.

    Parameters
    ----------
    A, b : shapes (n, n) and (n,); or a stack (k, n, n) and (k, n), solved in parallel.
    method : a word, or a solver object of that name, such as `Lemke()` or `GaussSeidel(tol=1e-6)`.
        "auto": Lemke, then Newton, then all supports of a small problem, then a proof that no solution exists.
        "lemke": complementary pivoting, lexicographic, on the scaled problem.
        "newton": semismooth; Lemke's method follows when Newton's stalls.
        "gauss-seidel": projected sweeps; "pgs" is the old word.
        "enumerate": all 2^n supports in turn until one solves, n <= 20.
    tol : largest scaled residual that counts as solved.
    max_iterations : pivots (default 50 n + 200), Newton steps (100) or sweeps (10000).
    x0 : start of "newton" and "gauss-seidel", shape (n,), default zero; single problems only.

    Returns
    -------
    LCPSolution : `solved` only after a check on the given A and b.

    Raises
    ------
    ValueError : wrong shapes, entries that are not finite, an unknown method, more than 20 unknowns for "enumerate".

    Examples
    --------
    >>> s = solve_lcp([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0])
    >>> s.x.round(6).tolist(), s.solved
    ([1.333333, 2.333333], True)
    """
    if (  # the usual case, in two microseconds: nothing to convert, and Lemke's method solves it; else the careful way
        type(A) is type(b) is _ndarray
        and A.dtype is b.dtype is _float64
        and A.ndim == 2
        and b.ndim == 1
        and A.flags.carray
        and b.flags.carray
        and method == "auto"
        and max_iterations is x0 is None
        and type(tol) is float
    ):
        n = len(b)
        x, y = _empty(n), _empty(n)
        code, count, residual = _lemke_at_once(A, b, x, y, tol)
        if code == 0:
            status = _SOLVED_BY_LEMKE[count] if count < 100 else f"solved by lemke in {count} pivots"
            # A named tuple without the quarter of a microsecond in which its constructor fills in the defaults.
            return _new(LCPSolution, (x, y, True, status, residual, count, "lemke", None, None, None))
    return _solve_checked(A, b, method, tol, max_iterations, x0)


def _solve_checked(A: Any, b: Any, method: Any, tol: Any, max_iterations: Any, x0: Any) -> LCPSolution:
    """Check the arguments of `solve_lcp`, and solve one problem or a stack by the method asked for."""
    M, v = checked_problem(A, b, stack=True)
    word, method, tol, max_iterations = asked(method, METHODS, tol, TOLERANCE, max_iterations)
    tolerance = checked_tolerance(tol)
    n = M.shape[-1]
    if method == "enumerate":
        _check_enumerable(n)
    limit = _LIMITS[method] or 50 * n + 200
    if max_iterations is not None:
        limit = checked_count(max_iterations, "max_iterations", limit)
    if M.ndim == 3:
        if x0 is not None:
            raise ValueError("x0 is for single problems; a stack of shape (k, n, n) starts every problem at zero.")
        return _solve_stack(M, v, method, tolerance, limit, word)
    start = np.maximum(0.0, checked_start(x0, n))
    if n == 0:
        return LCPSolution(np.zeros(0), np.zeros(0), True, "solved: nothing to solve, n = 0", 0.0, 0, word)
    if not is_far_out(M, v):
        return _by_method(method, M, v, tolerance, limit, start, word)
    with np.errstate(all="ignore"):  # the answer is judged, whatever overflowed on the way
        problem = scaled(M, v)
        answer = _by_method(method, problem.A, problem.b, tolerance, limit, problem.start(start), word)
        return in_given_units(M, v, np.zeros(n, dtype=bool), problem, answer, tolerance)


def _by_method(
    method: str, A: np.ndarray, b: np.ndarray, tol: float, limit: int, start: np.ndarray, word: str
) -> LCPSolution:
    """Solve one problem; `word` is what the caller called the method."""
    n = len(b)
    if method == "auto":
        return _by_auto(A, b, tol, limit)
    if method == "lemke":
        return _by_lemke(A, b, tol, limit)
    if method == "enumerate":
        return _by_enumeration(A, b, tol)
    if method == "gauss-seidel":
        x, y = start, np.empty(n)
        code, count, residual = gauss_seidel.projected_gauss_seidel(A, b, x, y, lemke_method.workspace(n), limit, tol)
        return solution_of(word, x, y, code, count, residual)
    first = by_newton(A, b, tol, limit, start)
    if first.solved:
        return first
    second = _by_lemke(A, b, tol, 50 * n + 200)
    note = f"Newton's method stalled at residual {first.residual:.1e}; {second.status}"
    return second._replace(status=note) if second.solved or second.proof is not None else first


def enumerate_lcp(A: Any, b: Any, *, tol: float = TOLERANCE) -> list[LCPSolution]:
    """List every solution of a small LCP  y = A x + b,  0 <= y perp x >= 0,  n <= 20.

    Parameters
    ----------
    A, b : shapes (n, n) and (n,).
    tol : largest scaled residual that counts as solved.

    Returns
    -------
    list of LCPSolution : all isolated solutions (`isolated` is True) and one representative of each continuum of
        solutions (`isolated` is False); empty when there is no solution.

    Raises
    ------
    ValueError : wrong shapes, entries that are not finite, n > 20.
    """
    M, v = checked_problem(A, b)
    tolerance = checked_tolerance(tol)
    n = len(v)
    _check_enumerable(n)
    if n == 0:
        return [LCPSolution(np.zeros(0), np.zeros(0), True, "solved: nothing to solve, n = 0", 0.0, 0, "enumerate")]
    problem = scaled(M, v) if is_far_out(M, v) else None
    with np.errstate(all="ignore" if problem is not None else None):
        points = enumerate_points(*(problem[:2] if problem is not None else (M, v)), tolerance)
    answers = Answers()
    for point in points:
        x, y = point.x if problem is None else problem.unknowns(point.x), np.empty(n)
        residual = mlcp_residual(M, v, np.zeros(n, dtype=bool), x, y)
        if residual > tolerance:  # of a scaled problem, and not to be had in floating-point numbers of the given one
            continue
        make_complementary(x, y)
        status = "isolated solution" if point.isolated else "representative of a continuum of solutions"
        answers.append(LCPSolution(x, y, True, status, residual, 1 << n, "enumerate", isolated=point.isolated))
    return answers


def classify_matrix(A: Any, *, tol: float = 0.0) -> matrices.MatrixClass:
    """Which of P, PSD, copositive and Z a square matrix is; exact for n <= 12.

    Exact means: for the floating-point entries as given.  A product B @ B.T of low rank is PSD only up to round-off.
    With tol > 0 PSD and copositive are asked of A + tol max|a_ij| I instead; 1e-12 forgives round-off.

    Parameters
    ----------
    A : shape (n, n).
    tol : from 0 (exact) to 1, relative to the largest entry.

    Returns
    -------
    MatrixClass : True, False or None (undecided, n > 12) for each class; `explain()` says what the classes promise.

    Raises
    ------
    ValueError : A is not square or not finite, or tol lies outside.

    Examples
    --------
    >>> str(classify_matrix([[1.0, 2.0, 0.0], [0.0, 1.0, 2.0], [2.0, 0.0, 1.0]]))
    'P, PSD, copositive'
    """
    M = checked_matrix(A)
    if not (isinstance(tol, (int, float)) and 0.0 <= tol < 1.0):
        raise ValueError(f"tol must be a number from 0 (exact) to 1, got {shown(tol)}.")
    return matrices.classify(M, float(tol))


def _check_enumerable(n: int) -> None:
    if n > ENUMERATION_LIMIT:
        raise ValueError(
            f"enumeration looks at 2^n supports and takes n <= {ENUMERATION_LIMIT}, got n = {n}; "
            "use method='lemke' or 'newton' for one solution."
        )


@entry
def _lemke_at_once(A: np.ndarray, b: np.ndarray, x: np.ndarray, y: np.ndarray, tol: float) -> tuple:
    """One path of Lemke's method, for the fast lane of `solve_lcp`; no success where A, b and tol make no problem."""
    n = b.shape[0]
    if not (0 < n == A.shape[0] == A.shape[1] and 0.0 < tol < 1.0 and all_finite(A, b)):
        return lemke_method.INACCURATE, 0, 0.0
    floats, integers = lemke_method.storage(n)
    work = lemke_method.carve(n, floats, integers)
    first = 0
    code, count, _, residual = lemke_method.follow_path(A, b, x, y, work, lemke_method.Limits(50 * n + 200, tol), first)
    if code == 0:
        make_complementary(x, y)
    return code, count, residual


def _by_lemke(A: np.ndarray, b: np.ndarray, tol: float, limit: int) -> LCPSolution:
    solution = _follow_paths(A, b, tol, limit, 3)
    if solution.solved:
        return solution
    x, y = np.empty(len(b)), np.empty(len(b))
    code, count, residual = lemke_method.lemke_by_right_side(A, b, x, y, limit, tol)
    if code == SOLVED:
        return solution_of("lemke", x, y, code, solution.iterations + count, residual)
    return _explained(A, b, solution)


def _follow_paths(A: np.ndarray, b: np.ndarray, tol: float, limit: int, attempts: int) -> LCPSolution:
    n = len(b)
    x, y, ray = np.empty(n), np.empty(n), np.zeros(n)
    code, count, residual = lemke_method.lemke_alone(A, b, x, y, ray, limit, tol, attempts)
    solution = solution_of("lemke", x, y, code, count, residual)
    return solution._replace(ray=ray) if code == RAY else solution


def _explained(A: np.ndarray, b: np.ndarray, solution: LCPSolution) -> LCPSolution:
    """Add to an answer without a solution the reason: a proof that none exists, or advice after a secondary ray."""
    proof = find_proof(A, b, solution.ray)
    if proof is not None:
        return solution._replace(status=PROVED + solution.status, proof=proof)
    if solution.ray is not None and solution.method == "lemke":
        return solution._replace(status=solution.status + _advice(A))
    return solution


def _advice(A: np.ndarray) -> str:
    n = len(A)
    found = f" (A: {matrices.classify(A, 1e-12)})" if n <= 8 else ""
    return f"{found}; method='enumerate' looks at every support" if n <= ENUMERATION_LIMIT else found


def by_newton(
    A: np.ndarray, b: np.ndarray, tol: float, limit: int, start: np.ndarray, free: np.ndarray | None = None
) -> LCPSolution:
    n = len(b)
    mask = np.zeros(n, dtype=bool) if free is None else free
    x, y = start.copy(), np.empty(n)
    code, count, residual = newton.semismooth_newton(A, b, mask, x, y, newton.workspace(n), limit, tol)
    if free is None:
        return solution_of("newton", x, y, code, count, residual)
    return mixed_solution("newton", x, y, mask, code, count, residual)


def _by_enumeration(A: np.ndarray, b: np.ndarray, tol: float, ray: np.ndarray | None = None) -> LCPSolution:
    n = len(b)
    x, y = np.empty(n), np.empty(n)
    found, count, residual = enumerate_first(A, b, x, y, lemke_method.workspace(n), tol)
    code = SOLVED if found else NO_SUPPORT
    solution = solution_of("enumerate", x, y, code, count, residual)
    return solution if found else _explained(A, b, solution._replace(ray=ray))


def _by_auto(A: np.ndarray, b: np.ndarray, tol: float, limit: int) -> LCPSolution:
    n = len(b)
    first = _follow_paths(A, b, tol, limit, AUTO_ATTEMPTS)
    if first.solved:
        return first
    if n > AUTO_ENUMERATION_FIRST:
        second = by_newton(A, b, tol, 100, first.x)
        if second.solved:
            return second
    if n <= AUTO_ENUMERATION:
        return _by_enumeration(A, b, tol, first.ray)
    return _explained(A, b, first)


class Stack(NamedTuple):
    """Problems A (k, n, n), b (k, n); answers X, Y (k, n); codes, counts of iterations and residuals (k,)."""

    A: np.ndarray
    b: np.ndarray
    X: np.ndarray
    Y: np.ndarray
    codes: np.ndarray
    counts: np.ndarray
    residuals: np.ndarray


@entry
def _lemke_range(start: int, stop: int, stack: Stack, attempts: int, limit: int, tol: float) -> None:
    """Solve problems start to stop - 1 of a stack by Lemke's method."""
    A, b = stack.A, stack.b
    n = b.shape[1]
    floats, integers = lemke_method.storage(n)
    work, limits = lemke_method.carve(n, floats, integers), lemke_method.Limits(limit, tol)
    first = 0
    for i in range(start, stop):
        x, y = stack.X[i], stack.Y[i]
        code, count, _, residual = lemke_method.follow_path(A[i], b[i], x, y, work, limits, first)
        if code != 0:  # a ray is lost in x: the few problems that end on one are solved again, alone
            code, count, residual = lemke_method.lemke_attempts(A[i], b[i], x, y, x, work, limits, attempts)
        if code == 0:
            make_complementary(x, y)
        stack.codes[i], stack.counts[i], stack.residuals[i] = code, count, residual


@entry
def _other_range(start: int, stop: int, stack: Stack, method: int, limit: int, tol: float) -> None:
    """Solve problems start to stop - 1 of a stack by ENUMERATE, GAUSS_SEIDEL or NEWTON, as `method` says."""
    A, b = stack.A, stack.b
    n = b.shape[1]
    work, newton_work, free = lemke_method.workspace(n), newton.workspace(n), np.zeros(n, np.bool_)
    for i in range(start, stop):
        x, y = stack.X[i], stack.Y[i]
        if method == ENUMERATE:
            found, count, residual = enumerate_first(A[i], b[i], x, y, work, tol)
            code = 0 if found else NO_SUPPORT
        elif method == GAUSS_SEIDEL:
            code, count, residual = gauss_seidel.projected_gauss_seidel(A[i], b[i], x, y, work, limit, tol)
        else:
            code, count, residual = newton.semismooth_newton(A[i], b[i], free, x, y, newton_work, limit, tol)
        if code == 0:
            make_complementary(x, y)
        stack.codes[i], stack.counts[i], stack.residuals[i] = code, count, residual


def _solve_stack(A: np.ndarray, b: np.ndarray, method: str, tol: float, limit: int, word: str) -> LCPSolution:
    k, n = b.shape
    X, Y = np.zeros((k, n)), np.zeros((k, n))
    codes, counts = np.zeros(k, np.int64), np.zeros(k, np.int64)
    residuals = np.zeros(k)
    stack = Stack(A, b, X, Y, codes, counts, residuals)
    if k and n and method in ("auto", "lemke"):
        attempts = AUTO_ATTEMPTS if method == "auto" else 3
        in_threads(lambda start, stop: _lemke_range(start, stop, stack, attempts, limit, tol), k, n * n)
    elif k and n:
        operations = 2**n if method == "enumerate" else 20 * n * n
        in_threads(lambda start, stop: _other_range(start, stop, stack, _CODES[method], limit, tol), k, operations)
    name = "lemke" if method == "auto" else word
    status = np.empty(k, dtype=object)
    status[:] = f"solved by {name}"
    rays = np.zeros((k, n))
    proofs = np.full((k, n), np.nan)
    for i in np.flatnonzero(codes):
        # The few problems that the fast path left unsolved are solved again alone, with all that `solve_lcp` tries.
        if method in ("auto", "lemke", "newton") or is_far_out(A[i], b[i]):
            single = solve_lcp(A[i], b[i], method, tol=tol)
            X[i], Y[i], counts[i], residuals[i] = single.x, single.y, single.iterations, single.residual
            codes[i] = 0 if single.solved else codes[i]
            status[i] = single.status
            rays[i] = 0.0 if single.ray is None else single.ray
            proofs[i] = np.nan if single.proof is None else single.proof
        else:
            status[i] = sentence(name, int(codes[i]), int(counts[i]), float(residuals[i]))
    has_proof = bool(np.isfinite(proofs).any())
    return LCPSolution(
        X,
        Y,
        codes == 0,
        status,
        residuals,
        counts,
        name,
        ray=rays if rays.any() else None,
        proof=proofs if has_proof else None,
    )
