"""Moreau's midpoint rule, exactly the five steps of [GS05] section 5."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip.complementarity.planar import PlanarSolution, PlanarSolver
from stickslip.complementarity.solve import solve_lcp
from stickslip.laws import ImpactLaw, LawSolution
from stickslip.model.system import CONTACT, Array, System
from stickslip.stepping.contact_problem import StepProblem, contact_problem
from stickslip.stepping.impact import solve_step


@dataclass(frozen=True)
class State:
    """Time [s], coordinates and velocities at the end of a step."""

    t: float
    q: Array
    u: Array


@dataclass(frozen=True)
class StepReport:
    """What happened in a step: impulses of the active contacts, residual, and the solver's sentence."""

    problem: StepProblem
    Lambda_N: Array
    Lambda_T: Array
    residual: float
    solved: bool
    status: str
    iterations: int


@dataclass(frozen=True)
class MoreauMidpoint:
    """Moreau's midpoint rule on velocity level.

    Order: 2 in smooth motion where h does not depend on u (h is taken at u_A; otherwise 1), 1 across impacts and
    stick-slip transitions.  Contacts are closed when the gap at the midpoint is not positive.  Restitution: Newton's
    law in inequality form, normal and tangential [GS05] eqs. (11), (12).  Reference: Moreau 1988; [GS05] 5.

    projection : depth [m] beyond which penetrations are removed at the end of a step by moving q along M^-1 w_N
        ([FLG10] 6.4); 0: none.  Velocities are left alone; the energy this adds or removes is booked in the
        certificate (`projection_energy`), and the penetration is then measured at the ends of the steps.
    """

    projection: float = 0.0

    name = "moreau-midpoint"
    template = "midpoint"

    def __post_init__(self) -> None:
        if isinstance(self.projection, bool) or not (0.0 <= self.projection < np.inf):
            raise ValueError(
                f"projection must be a depth in metres, such as 5e-10, or 0 for none, got {self.projection!r}."
            )

    @property
    def options(self) -> dict[str, float]:
        """Compile-time constants of the kernel."""
        return {"PROJECTION": float(self.projection)}

    def step(
        self,
        system: System,
        state: State,
        dt: float,
        solver: PlanarSolver,
        p: Array,
        law: ImpactLaw | None = None,
    ) -> tuple[State, StepReport]:
        """One step in plain NumPy; the compiled kernel does the same.  `law` replaces Newton's impact law."""
        q_M = state.q + 0.5 * dt * state.u  # [GS05] 5, step 2
        problem = contact_problem(system, state.t + 0.5 * dt, q_M, state.u, dt, p)
        if not len(problem.index):
            law = None
        solution: PlanarSolution | LawSolution
        if law is None:
            solution = solver.solve(problem.local)  # [GS05] eq. (33)
        else:
            solution = solve_step(system, problem, law, solver, p)
        u_E = problem.end_velocity(solution.Lambda_N, solution.Lambda_T)  # [GS05] eq. (32)
        if law is None:
            residual = problem.residual(u_E, solution.Lambda_N, solution.Lambda_T)
        else:  # the residual above is Newton's law's; another law has its own
            residual = solution.residual
        solved = bool(residual <= solver.tol)
        status = solution.status
        if solution.solved and not solved:  # the impulses are right, but their velocities lost too many digits
            status = f"residual {residual:.1e} of the end velocities exceeds {solver.tol:.1e}, {status}"
        report = StepReport(
            problem,
            solution.Lambda_N,
            solution.Lambda_T,
            residual,
            solved,
            status,
            solution.iterations,
        )
        q_E = q_M + 0.5 * dt * u_E  # step 5
        return State(state.t + dt, q_E, u_E), report

    def project(self, system: System, t: float, q: Array, p: Array) -> Array:
        """The coordinates without penetrations deeper than `projection`; q itself where there are none."""
        unilateral = np.array(system.contact_kinds, dtype=int) == CONTACT
        for _ in range(20):
            g = system.gap(q, t, p)
            if not unilateral.any() or np.max(-g[unilateral]) <= self.projection:
                break
            index = np.flatnonzero(unilateral & (g < 0.0))
            W = system.geometry(q, t, p)[0][index]
            V = np.linalg.solve(system.mass(q, t, p), W.T)
            shift = solve_lcp(W @ V, g[index] + 0.5 * self.projection, "auto", tol=1e-9)
            q = q + V @ shift.x
        return q


def consistent_velocities(system: System, t: float, q: Array, u: Array, solver: PlanarSolver, p: Array) -> Array:
    """Velocities after the impact equations at (t, q), [GS05] end of 6: admissible at every closed contact."""
    problem = contact_problem(system, t, q, u, 0.0, p)
    solution = solver.solve(problem.local)
    u_E = problem.end_velocity(solution.Lambda_N, solution.Lambda_T)
    if not problem.residual(u_E, solution.Lambda_N, solution.Lambda_T) <= solver.tol:
        raise ArithmeticError(f"the initial velocities could not be made consistent: {solution.status}")
    return np.asarray(u_E)
