"""`solve_friction`: one entrance to all methods, every answer checked on the original problem."""

from __future__ import annotations

import functools
import threading
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from stickslip.checks import checked_time, counted, unknown_name
from stickslip.contact.alternating import Alternating
from stickslip.contact.augmented_lagrangian import ProximalFixedPoint
from stickslip.contact.auto import Ladder
from stickslip.contact.contacts import contacts_from
from stickslip.contact.effort import EFFORT, EFFORT_PER_CONTACT, LARGEST
from stickslip.contact.enumeration import Enumeration, all_impulses, check_size
from stickslip.contact.interior_point import InteriorPoint
from stickslip.contact.matrix_free import MatrixFreeContacts
from stickslip.contact.method import ENDLESS, FrictionMethod, Outcome, Progress
from stickslip.contact.newton import ConeNewton
from stickslip.contact.planar import PlanarSolver
from stickslip.contact.problem import FrictionProblem, FrictionSolution, checked_measure
from stickslip.contact.proximal_point import ProximalPoint
from stickslip.contact.pyramid import PyramidLemke
from stickslip.contact.residual import MEASURES, MOST_ROUNDING, RUNAWAY
from stickslip.contact.sweeps import Sweeps
from stickslip.debug import bar_wanted, say
from stickslip.lcp.methods import asked
from stickslip.lcp.problems import _check_finite, _floats, checked_tolerance
from stickslip.markup import Answers

METHODS: dict[str, type[FrictionMethod]] = {
    method.name: method
    for method in (
        Ladder,
        Sweeps,
        ConeNewton,
        InteriorPoint,
        ProximalPoint,
        Alternating,
        ProximalFixedPoint,
        PyramidLemke,
        Enumeration,
    )
}
TOLERANCE = 1e-8  # of the measure asked for, unless a call or a solver object says otherwise


def solve_friction(
    problem: FrictionProblem,
    method: str | FrictionMethod | PlanarSolver = "auto",
    *,
    tol: float = TOLERANCE,
    max_iterations: int | None = None,
    time_limit: float | None = None,
    measure: str = MEASURES[0],
    r0: Any = None,
    record: bool = False,
    progress: bool | None = None,
    **options: Any,
) -> FrictionSolution:
    """Solve a frictional contact problem: find impulses r whose error is at most `tol` (see `FrictionProblem`).

    Parameters
    ----------
    problem : the problem.
    method : "auto" (islands; accelerated Gauss-Seidel, then harder methods where needed), "gauss-seidel", "newton",
        "interior-point", "proximal-point", "alternating", "augmented-lagrangian", "lemke" (on a pyramid, small
        problems), "enumerate" (very small ones), or a solver object of that name, such as `GaussSeidel(tol=1e-6)`.
    tol : largest error that counts as solved, the same measure for every method: the violation of the laws at the worst
        contact [m/s], relative to the largest velocity in q.
    measure : "velocity", the error of `tol`, or "natural-map", FCLIB's: a sum over contacts that compares impulses with
        velocities, relative to max(|q|, |r|, |u|).  The solution tells both.
    max_iterations : sweeps, steps or products, None for the method's default.
    time_limit : seconds by the clock after which the best impulses so far are returned.  None: a fixed amount of work,
        counted, so that the same problem gets the same answer, bit for bit, however busy the machine is.
    r0 : impulses to start from, like q, default zero.
    progress : say on stderr every few seconds how far it got; None: where stderr is a terminal.
    record : keep the error after every iteration in `history` (slower: each costs a product with W).
    options : of the method: memory, relaxation ("gauss-seidel"); formulation ("newton"); relaxation
        ("augmented-lagrangian"); directions, refine ("lemke"); see the classes in `stickslip.contact`.

    Returns
    -------
    FrictionSolution : `solved` only if the error, computed anew on the given problem, is at most `tol`.

    Raises
    ------
    ValueError : for an unknown method, a wrong shape or number; one line.

    Examples
    --------
    >>> p = FrictionProblem([[1.0, 0.0], [0.0, 2.0]], [-1.0, 3.0], 0.5, dim=2)  # slides: |r_T| = mu r_N
    >>> s = solve_friction(p)
    >>> s.solved, s.r.tolist(), s.u.tolist()
    (True, [1.0, -0.5], [0.0, 2.0])
    """
    chosen, tol = _checked_method(method, tol, max_iterations, options)
    _compile(type(chosen))
    limit = checked_time(time_limit)
    _check_problem(problem)
    tolerance, measure = checked_tolerance(tol), checked_measure(measure)
    unlimited = max_iterations is not None and not isinstance(chosen, Ladder)
    work = _progress(problem, limit, bool(record), unlimited, bar_wanted(progress))
    start = None if r0 is None else _checked_impulses(r0, problem)
    request = _Request(problem, tolerance, measure, chosen, work)
    if problem.matrix_free:
        crowded = isinstance(chosen, Ladder) and 8 * problem.dim**2 * problem.W.expected_blocks(problem.dim) > LARGEST
        if chosen.matrix_free or crowded:
            solution = _without_matrix(request, start, crowded)
            if chosen.matrix_free or solution.solved or work.expired:
                return solution
            start = solution.r
    contacts = problem.contacts_in(measure)
    z = np.zeros(len(contacts.q)) if start is None else problem.scaled(start)
    outcome = _run(chosen, contacts, z, tolerance, work)
    return _solution(request, problem.impulses_of(outcome.r), outcome)


class _Request(NamedTuple):
    """Problem, tolerance, measure and method of one call of `solve_friction`, with its clock."""

    problem: FrictionProblem
    tol: float
    measure: str
    method: FrictionMethod
    progress: Progress


def _without_matrix(request: _Request, start: np.ndarray | None, crowded: bool) -> FrictionSolution:
    """Sweeps without W; for half of the work where few bodies with many contacts each would fill it."""
    problem, progress = request.problem, request.progress
    contacts = MatrixFreeContacts(problem.W, problem.q, problem.mu, problem.dim, problem.gauge(request.measure, False))
    method = Sweeps(ENDLESS) if crowded else request.method
    part = progress.part(2.0 * progress.share) if crowded else progress
    r = np.zeros(len(problem.q)) if start is None else start
    outcome = _run(method, contacts, r, request.tol, part)
    return _solution(request, outcome.r, outcome)


def _check_problem(problem: Any) -> None:
    if not isinstance(problem, FrictionProblem):
        raise ValueError(f"problem must be a FrictionProblem, got {type(problem).__name__}.")


def _progress(
    problem: FrictionProblem, time_limit: float | None, record: bool, unlimited: bool, show: bool
) -> Progress:
    """The clock starts, and the work is planned: so much per contact, or what the time limit pays for."""
    plan = min(EFFORT, EFFORT_PER_CONTACT * (1 + problem.contacts))
    name = f"friction problem of {counted(problem.contacts, 'contact')}"
    tell = functools.partial(say, name) if show else None
    if time_limit is None:
        return Progress(record=record, effort=np.inf if unlimited else plan, plan=plan, tell=tell)
    return Progress(time_limit, record, plan=time_limit if time_limit < np.inf else plan, tell=tell)


@functools.cache
def _compile(method: type[FrictionMethod]) -> None:
    """Have a method's kernels compiled or loaded before the clock starts, on one contact that slides.

    Those that measure the error at the end are made meanwhile by another thread.
    """
    W, q, mu = np.eye(3), np.array([-1.0, 0.3, 0.2]), np.array([0.1])

    def measure() -> None:
        problem = FrictionProblem(W, q, mu)
        problem.contacts_in(MEASURES[0])
        problem.evaluate(np.zeros(3))

    measuring = threading.Thread(target=measure)
    measuring.start()
    method(1).run(contacts_from(W, q, mu, 3), np.zeros(3), 1e-8 if method is Ladder else -1.0, Progress())
    measuring.join()


def _run(method: FrictionMethod, contacts: Any, start: np.ndarray, tol: float, progress: Progress) -> Outcome:
    if not len(contacts):
        return Outcome(start, 0.0, 0)
    if isinstance(method, Ladder):
        return method.run(contacts, start, tol, progress)
    stages = len(progress.stages)
    with np.errstate(all="ignore"):  # an iterate that runs away is noticed, and what is returned is checked
        outcome = method.run(contacts, start, tol, progress)
    if len(progress.stages) == stages:
        progress.stage(method.name, len(contacts), outcome.iterations, outcome.error, 0.0)
    return outcome


def enumerate_friction(problem: FrictionProblem, *, tol: float = TOLERANCE) -> list[FrictionSolution]:
    """Every solution of a very small problem (6 contacts in the plane, 3 in space); empty where none was found.

    Complete in the plane, up to continua of solutions; in space the slip directions are searched from several angles.
    """
    _check_problem(problem)
    tolerance = checked_tolerance(tol)
    contacts = problem.contacts_in(MEASURES[0])
    check_size(contacts)
    request = _Request(problem, tolerance, MEASURES[0], Enumeration(), Progress())
    with np.errstate(all="ignore"):
        answers = [
            _solution(request, problem.impulses_of(z), Outcome(z, 0.0, 1)) for z in all_impulses(contacts, tolerance)
        ]
    return Answers(answer for answer in answers if answer.solved)


def _solution(request: _Request, r: np.ndarray, outcome: Outcome) -> FrictionSolution:
    problem, tol, measure, method, progress = request
    u, velocity_error, natural_map, rounding = problem.evaluate(r)
    error = velocity_error if measure == MEASURES[0] else natural_map
    if measure == MEASURES[0] and not error <= tol and not rounding <= MOST_ROUNDING:
        # Impulses that ran away: nothing is known of their velocities. None at all are the better answer.
        none = np.zeros_like(r)
        without = problem.evaluate(none)
        if not error <= without[1]:
            r, (u, velocity_error, natural_map, rounding) = none, without
            error = velocity_error
    # Relative to impulses that grow without bound the natural map vanishes, although nothing is solved.
    runaway = error <= tol and not velocity_error <= RUNAWAY
    solved = error <= tol and not runaway
    how = " - ".join(dict.fromkeys(stage.method for stage in progress.stages))
    if solved:
        if how:
            status = f"solved by {how} in {counted(outcome.iterations, 'iteration')}"
        else:  # enumeration of all solutions has no stages
            status = f"solved by {method.name}" if problem.contacts else "solved: there is no contact"
    elif runaway:
        status = (
            f"not solved: at a natural map of {error:.1e} velocities are wrong by {velocity_error:.1e} of the largest; "
            "the problem seems to have no solution, or extreme units: measure='velocity' does not depend on them"
        )
    elif progress.late:
        status = f"time limit of {progress.time_limit:g} s reached at error {error:.1e} ({how})"
    else:
        status = f"not solved: error {error:.1e} > {tol:.1e} after {counted(outcome.iterations, 'iteration')} of {how}"
    if outcome.note and not solved:
        status += f"; {outcome.note}"
    history = np.array(progress.history).reshape(-1, 2) if progress.history else np.empty((0, 2))
    return FrictionSolution(
        r, u, solved, status, error, outcome.iterations, method.name, measure, velocity_error, natural_map,
        rounding, tuple(progress.stages), progress.seconds, history,
    )  # fmt: skip


def _checked_method(
    method: Any, tol: float, max_iterations: int | None, options: dict[str, Any]
) -> tuple[FrictionMethod, float]:
    """The method with its options, and the tolerance that counts."""
    if isinstance(method, FrictionMethod):
        if max_iterations is not None or options:
            given = ["max_iterations"] if max_iterations is not None else list(options)
            raise ValueError(f"{given[0]} belongs into the method object where one is given.")
        return method, tol
    _, word, tol, limit = asked(method, METHODS, tol, TOLERANCE, max_iterations)
    kind = METHODS[word]
    known = [each.name for each in fields(kind) if each.name != "max_iterations"] if options else []
    for name in options:
        if name not in known:
            raise ValueError(f"method {word!r}: {unknown_name('option', name, known)}")
    return kind(limit, **options), tol


def _checked_impulses(r0: Any, problem: FrictionProblem) -> np.ndarray:
    n = len(problem.q)
    r = _floats(r0, "r0")
    if r.shape != (n,):
        raise ValueError(f"r0 must have shape ({n},) like q, got {r.shape}.")
    _check_finite(r, "r0")
    return r.copy()
