"""`solve_friction`: one entrance to all methods, every answer checked on the original problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.complementarity.friction.auto import Auto
from stickslip.complementarity.friction.interior_point import InteriorPoint
from stickslip.complementarity.friction.method import FrictionMethod, Outcome, Progress
from stickslip.complementarity.friction.newton import Newton
from stickslip.complementarity.friction.problem import FrictionProblem, FrictionSolution
from stickslip.complementarity.friction.proximal_point import ProximalPoint
from stickslip.complementarity.friction.sweeps import GaussSeidel
from stickslip.complementarity.problems import _check_finite, _floats, checked_tolerance

METHODS: dict[str, type[FrictionMethod]] = {
    method.name: method for method in (Auto, GaussSeidel, Newton, InteriorPoint, ProximalPoint)
}
TIME_LIMIT = 60.0  # [s], by default


def solve_friction(
    problem: FrictionProblem,
    method: str | FrictionMethod = "auto",
    *,
    tol: float = 1e-8,
    max_iterations: int | None = None,
    time_limit: float | None = TIME_LIMIT,
    r0: Any = None,
    record: bool = False,
) -> FrictionSolution:
    """Solve a frictional contact problem to a relative natural-map error of `tol`."""
    progress = Progress(_checked_time(time_limit), bool(record))
    chosen = _checked_method(method, max_iterations)
    if not isinstance(problem, FrictionProblem):
        raise ValueError(f"problem must be a FrictionProblem, got {type(problem).__name__}.")
    tolerance = checked_tolerance(tol)
    contacts, expand = problem.contacts_alone
    start = _checked_impulses(r0, problem)[: len(contacts.q)]
    if not len(contacts):
        outcome = Outcome(start, 0.0, 0)
    else:
        outcome = chosen.run(contacts, start, tolerance, progress)
    if not progress.stages:
        progress.stage(chosen.name, len(contacts), outcome.iterations, outcome.error, 0.0)
    return _solution(problem, expand(outcome.r), tolerance, chosen, outcome, progress)


def _solution(
    problem: FrictionProblem,
    r: np.ndarray,
    tol: float,
    method: FrictionMethod,
    outcome: Outcome,
    progress: Progress,
) -> FrictionSolution:
    u, error = problem.evaluate(r)
    solved = error <= tol
    how = " - ".join(dict.fromkeys(stage.method for stage in progress.stages))
    if solved:
        status = f"solved by {how} in {outcome.iterations} iterations"
    elif progress.expired:
        status = f"time limit of {progress.time_limit:g} s reached at error {error:.1e} ({how})"
    else:
        status = f"not solved: error {error:.1e} > {tol:.1e} after {outcome.iterations} iterations of {how}"
    if outcome.note and not solved:
        status += f"; {outcome.note}"
    history = np.array(progress.history).reshape(-1, 2)
    return FrictionSolution(
        r, u, solved, status, error, outcome.iterations, method.name, tuple(progress.stages), progress.seconds, history
    )


def _checked_method(method: str | FrictionMethod, max_iterations: int | None) -> FrictionMethod:
    if isinstance(method, FrictionMethod):
        if max_iterations is not None:
            raise ValueError("max_iterations belongs into the method object where one is given.")
        return method
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)} or a method object, got {method!r}.")
    return METHODS[method](max_iterations)


def _checked_time(limit: float | None) -> float:
    if limit is None:
        return np.inf
    if isinstance(limit, int | float | np.number) and not isinstance(limit, bool) and limit > 0.0:
        return float(limit)
    raise ValueError(f"time_limit must be a positive number of seconds or None, got {limit!r}.")


def _checked_impulses(r0: Any, problem: FrictionProblem) -> np.ndarray:
    n = len(problem.q)
    if r0 is None:
        return np.zeros(n)
    r = _floats(r0, "r0")
    if r.shape != (n,):
        raise ValueError(f"r0 must have shape ({n},) like q, got {r.shape}.")
    _check_finite(r, "r0")
    return r.copy()
