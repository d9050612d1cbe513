"""The contract of time steppers, and functions that several steppers share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from stickslip import codes
from stickslip.checks import LARGEST, Array, shown
from stickslip.contact.planar import PlanarSolution, PlanarSolver
from stickslip.laws import ImpactLaw, LawSolution
from stickslip.lcp.solve import solve_lcp
from stickslip.mechanisms.inertia import Inertia
from stickslip.mechanisms.steppers.contact_problem import (
    Active,
    Ahead,
    Begun,
    StepProblem,
    gaps,
    laws_of_step,
    met_ahead,
    onto_constraints,
    step_problem,
    with_tangents,
)
from stickslip.mechanisms.steppers.sliding import Sliding
from stickslip.mechanisms.system import CONTACT, TANGENT, System
from stickslip.mechanisms.templates import schemes


@dataclass(frozen=True)
class Instant:
    """Time [s], coordinates and velocities where a step begins or ends, with what its contacts remember.

    `reach` (n,) [m] is how far a contact that carried load in the step before may seem open and still take part; at the
    start, what forces can close within a step.  `carried` (n, 2) [N s] are the impulses Lambda_N, Lambda_T of
    the step before where that was the first half of an impact.  `sticks` (n,) is 1 where a contact stuck at the end of
    the step before, which friction laws with a memory ask for.  None stands for zeros.  `shut` (n,) are contacts that
    do not take part, see `contact_problem.shut_contacts`.
    """

    t: float
    q: Array
    u: Array
    reach: Array | None = None
    carried: Array | None = None
    sticks: Array | None = None
    shut: np.ndarray | None = None


@dataclass(frozen=True)
class StepReport:
    """Report on a step: impulses of the active contacts, residual, the solver's sentence, and friction."""

    problem: StepProblem
    Lambda_N: Array
    Lambda_T: Array
    residual: float
    solved: bool
    status: str
    iterations: int
    sliding: Sliding | None = None


class Stepper(ABC):
    """Base of the time steppers: small frozen options, one method that does a step in plain NumPy.

    A new stepper is a frozen dataclass with the data sheet below and `step`.  A stepper with a compiled kernel names
    its `scheme`, the code by which the template selects it.  It adds to `options` whatever else the kernel has to know
    when it is compiled.  In tests/mechanisms/steppers, test_engines.py holds the two engines together, and
    test_orders.py measures the declared orders.

    Attributes
    ----------
    name : as `--stepper` and `simulate(stepper=...)` know it
    order_smooth : order of (q, u) in motion without events, for h free of u
    order_stick : order across changes between stick and slip, where velocities have kinks
    order_impact : order across impacts and their accumulation, where velocities jump; u in the L1 norm
    level : "velocity" or "position", on which unilateral contacts and constraints are imposed
    scheme : code of the kernel; None for a stepper without a kernel
    at_end : penetrations are measured at the ends of the steps, not where the contacts are evaluated
    impact_steps : steps that an impact takes
    takes_laws : other impact laws than Newton's can be given
    warning : why nobody should use it; empty for all that can be asked for by name
    """

    name: ClassVar[str]
    order_smooth: ClassVar[int]
    order_stick: ClassVar[int] = 1
    order_impact: ClassVar[int] = 1
    level: ClassVar[str] = "velocity"
    scheme: ClassVar[int | None] = None
    at_end: ClassVar[bool] = False
    impact_steps: ClassVar[int] = 1
    takes_laws: ClassVar[bool] = False
    warning: ClassVar[str] = ""

    projection: float = 0.0

    @property
    def options(self) -> dict[str, Any]:
        """Compile-time constants of the kernel."""
        return {"SCHEME": self.scheme, "PROJECTION": float(self.projection)}

    def check(self, system: System, p: Array) -> None:
        """Raise ValueError where the scheme cannot treat a system."""
        if self.projection > 0.0 and any(system.gated):
            name = system.contact_names[system.gated.index(True)]
            raise ValueError(
                f"projection must be 0 for system {system.name!r}, whose contact {name!r} has closes_when: a contact "
                f"that is not there may be as deep as it likes, got {self.projection:g}."
            )

    @abstractmethod
    def step(
        self, system: System, state: Instant, dt: float, solver: PlanarSolver, p: Array, law: ImpactLaw | None = None
    ) -> tuple[Instant, StepReport]:
        """One step in plain NumPy, the reference of the compiled kernel."""

    def project(self, system: System, t: float, q: Array, p: Array) -> Array:
        """The coordinates without penetrations deeper than `projection`; q itself where there are none."""
        unilateral = system.kinds == CONTACT
        for _ in range(20):
            g = system.gap(q, t, p)
            if not unilateral.any() or np.max(-g[unilateral]) <= self.projection:
                break
            index = np.flatnonzero(unilateral & (g < 0.0))
            W = system.geometry(q, t, p)[0][index]
            V = Inertia.at(system, q, t, p).solve(W.T)
            shift = solve_lcp(W @ V, g[index] + 0.5 * self.projection, "auto", tol=1e-9)
            q = q + V @ shift.x
        return q


def check_projection(depth: Any) -> None:
    """Raise unless `projection` is a depth."""
    if isinstance(depth, bool) or not isinstance(depth, (int, float, np.number)) or not 0.0 <= depth <= LARGEST:
        raise ValueError(f"projection must be a depth in metres, such as 5e-10, or 0 for none, got {shown(depth)}.")


def report(
    problem: StepProblem,
    solution: PlanarSolution | LawSolution,
    residual: float,
    tol: float,
    iteration: str = "",
    sliding: Sliding | None = None,
) -> StepReport:
    """Judge a step by the residual of its end velocities; `iteration` is what went wrong around the contact solver."""
    if sliding is not None:
        residual, iteration = max(residual, sliding.defect), sliding.complaint() or iteration
    solved = bool(residual <= tol) and not (sliding is not None and sliding.exhausted)
    status = iteration or solution.status
    if solution.solved and not solved and not iteration:  # right impulses whose velocities lost too many digits
        status = f"residual {residual:.1e} of the end velocities exceeds {tol:.1e}, {status}"
    impulses = (solution.Lambda_N, solution.Lambda_T)
    return StepReport(problem, *impulses, residual, solved, status, solution.iterations, sliding)


class Onward(NamedTuple):
    """How a scheme on position level goes on from its velocity u.

    free : velocities without impulses.  place : the configuration whose gaps count, d place / d u = dt.
    t : its time [s].  g_before : (n,) gaps that restitution counts with [m].
    """

    free: Callable[[Array], Array]
    place: Callable[[Array], Array]
    t: float
    g_before: Array


def solve_on_position_level(
    system: System,
    solver: PlanarSolver,
    p: Array,
    begun: Begun,
    onward: Onward,
    carried: Array | None = None,
    sticks: Array | None = None,
    shut: np.ndarray | None = None,
) -> tuple[Array, StepReport]:
    """Velocities u = free(u) + M^-1 W Lambda with 0 <= Lambda_N perp g_N(place(u), t) + eps_N g_before >= 0.

    Gaps that are not linear are met by iteration; a contact takes part from the iterate on in which its condition would
    be violated.

    `carried` (n, 2) are impulses of the step before that were the first half of an impact: its two halves obey the laws
    in sum.  They are taken back, M^-1 W carried off u, and with constraints their reactions, P W carried.  The laws are
    solved for the sums, and the report has what this step adds.  Otherwise the split of an impact, which is left to
    chance, would decide where slip ends.
    """
    inertia, u_A, directions, dt, *_ = begun
    M, kinds = inertia.M, system.kinds
    free, ahead, t, g_before = onward
    carried = np.zeros((system.n_contacts, 2)) if carried is None else carried
    active = ((kinds != CONTACT) & (kinds < TANGENT)) | carried.any(axis=1)
    W_N, W_T, _ = directions
    taken_back = inertia.solve(W_N.T @ carried[:, 0] + W_T.T @ carried[:, 1])
    begun = begun._replace(approach=u_A - taken_back)  # the second half of an impact approaches as the first one did
    eps_N = laws_of_step(system, begun, p)[1]
    iteration = Iteration(np.diag(M), u_A, ahead(np.zeros_like(u_A)), dt, "the iteration on the gaps")
    sliding = Sliding(system, p, sticks)
    u = free(u_A)
    for _ in range(codes.ITERATION_LIMIT * (2 if sliding.active else 1)):
        g = gaps(system, ahead(u), t, p)
        newcomers = ~active & (g + eps_N * g_before <= 0.0) & (kinds == CONTACT)
        if shut is not None:
            newcomers &= ~shut
        active = with_tangents(kinds, active | newcomers)
        u_loose = free(u)
        u_free = onto_constraints(inertia, u_loose - taken_back, met_ahead(system, inertia, u, g, dt))
        met = Ahead(u, g_before)
        problem = step_problem(system, Active(np.flatnonzero(active)), g, begun, u_free, p, met, u_loose)
        problem = sliding.applied(problem)
        solution = solver.solve(problem.local)
        u_before, u = u, problem.end_velocity(solution.Lambda_N, solution.Lambda_T)
        if iteration.settled(u_free, u, u_before) and not newcomers.any():
            if not sliding.moved(problem, solution.Lambda_N, solution.Lambda_T, u):
                break
            iteration.correction = np.inf
        if not np.all(np.isfinite(u)):
            break
    residual = max(iteration.correction, problem.residual(u, solution.Lambda_N, solution.Lambda_T))
    judged = report(problem, solution, residual, solver.tol, iteration.complaint(solver.tol), sliding)
    added = carried[problem.index]
    return u, replace(judged, Lambda_N=judged.Lambda_N - added[:, 0], Lambda_T=judged.Lambda_T - added[:, 1])


@dataclass
class Iteration:
    """Iterates of the end velocity of an implicit step, measured in the kinetic energy's norm.

    |x|^2 = sum_j M_jj x_j^2: velocities of different units are weighed by their masses and inertias.  The iteration has
    settled when a correction is 1e-14 of the velocities in the step, or no longer shrinks and is below 1e-10 of these
    velocities.  Velocities below the rounding of positions over a step do not count as a correction: gaps and stiff
    forces are not known better.
    """

    weight: Array  # diagonal of M
    u_A: Array
    q_A: Array
    dt: float
    name: str
    correction: float = np.inf  # relative, of the last iterate

    def settled(self, u_free: Array, u: Array, u_before: Array) -> bool:
        size = self._norm(np.abs(self.u_A) + np.abs(u_free - self.u_A) + np.abs(u))
        grain = codes.GRAIN / self.dt * self._norm(self.q_A)
        change, before = max(0.0, self._norm(u - u_before) - grain), self.correction
        self.correction = schemes.relative.py_func(change, size)
        return bool(schemes.settled.py_func(self.correction, before))

    def _norm(self, x: Array) -> float:
        return float(np.sqrt(self.weight @ (x * x)))

    def complaint(self, tol: float) -> str:
        """Words for an iteration that ended without settling to the tolerance; empty for one that settled."""
        if self.correction <= tol:
            return ""
        return f"{self.name} still moved by {self.correction:.1e} after {codes.ITERATION_LIMIT} iterations"
