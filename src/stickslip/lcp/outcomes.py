"""Answers in words: the statuses of the LCP methods as sentences, and solutions in the units that were given."""

from __future__ import annotations

import numpy as np

from stickslip.lcp import gauss_seidel, newton
from stickslip.lcp import lemke as lemke_method
from stickslip.lcp.infeasibility import proves_no_solution
from stickslip.lcp.pivoting import PIVOT_LIMIT, RAY, SOLVED
from stickslip.lcp.problems import LCPSolution
from stickslip.lcp.residuals import make_complementary, mlcp_residual
from stickslip.lcp.scaling import ScaledProblem

TOLERANCE = 1e-10  # unless a call or a solver object says otherwise
NO_SUPPORT = 8  # enumeration: every support looked at, none solves
_SENTENCES = {
    SOLVED: "solved by {method} in {iterations} {unit}",
    RAY: "Lemke's path ended on a secondary ray after {iterations} pivots: no solution it can reach",
    PIVOT_LIMIT: "stopped after {iterations} pivots without a solution; raise max_iterations",
    lemke_method.INACCURATE: "lost accuracy: residual {residual:.1e} after {iterations} {unit}; try method='newton'",
    gauss_seidel.SWEEP_LIMIT: "not converged: residual {residual:.1e} after {iterations} sweeps; try method='lemke'",
    gauss_seidel.DIAGONAL: "{method} needs a positive diagonal and this matrix has none throughout; try method='lemke'",
    newton.ITERATION_LIMIT: "not converged: residual {residual:.1e} after {iterations} steps; try method='lemke'",
    newton.STALLED: "Newton's method stalled at residual {residual:.1e} after {iterations} steps; try method='lemke'",
    NO_SUPPORT: "no solution found: none of the {iterations} complementary supports gives one within the tolerance",
}
PROVED = "no solution exists (proof returned); "
_UNITS = {"lemke": "pivots", "newton": "Newton steps", "enumerate": "supports"}  # of the others: sweeps
_SOLVED_BY_LEMKE = [f"solved by lemke in {count} pivots" for count in range(100)]


def in_given_units(
    A: np.ndarray, b: np.ndarray, free: np.ndarray, problem: ScaledProblem, answer: LCPSolution, tol: float
) -> LCPSolution:
    """Turn the answer to a scaled problem into an answer to the given problem, and judge it on the given A and b.

    In the given units x or y may overflow or vanish; then the answer is not solved, and its status says why.
    """
    x, y = problem.unknowns(answer.x), np.empty(len(b))
    residual = mlcp_residual(A, b, free, x, y)
    solved = bool(answer.solved and residual <= tol)
    status = answer.status
    if solved:
        make_complementary(x, y)
        y[free] = 0.0
    elif answer.solved:
        status = f"no solution in floating-point numbers: x or y overflows or vanishes; of the scaled problem: {status}"
    proof = None if answer.proof is None else problem.multipliers(answer.proof)
    if proof is not None and not proves_no_solution(A, b, proof):
        proof, status = None, status.replace(PROVED, "")
    ray = None if answer.ray is None else problem.direction(answer.ray)
    return answer._replace(x=x, y=y, solved=solved, status=status, residual=float(residual), ray=ray, proof=proof)


def sentence(method: str, code: int, count: int, residual: float) -> str:
    unit = _UNITS.get(method, "sweeps")
    unit = unit.removesuffix("s") if count == 1 else unit
    return _SENTENCES[code].format(method=method, iterations=count, unit=unit, residual=residual)


def solution_of(method: str, x: np.ndarray, y: np.ndarray, code: int, count: int, residual: float) -> LCPSolution:
    solved = code == SOLVED
    if solved:
        make_complementary(x, y)
    return LCPSolution(x, y, solved, sentence(method, code, count, residual), float(residual), int(count), method)


def mixed_solution(
    method: str, x: np.ndarray, y: np.ndarray, free: np.ndarray, code: int, count: int, residual: float
) -> LCPSolution:
    solution = solution_of(method, x, y, code, count, residual)
    if solution.solved:
        solution.y[free] = 0.0
    return solution
