"""Moreau's midpoint rule, exactly the five steps of [GS05] section 5."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip import codes
from stickslip.checks import Array, truth
from stickslip.contact.planar import PlanarSolution, PlanarSolver
from stickslip.engine import EVENT_COLUMNS
from stickslip.laws import ImpactLaw, LawSolution
from stickslip.mechanisms.inertia import Contradiction, Inertia, onto_equations, require_slopes, require_together
from stickslip.mechanisms.steppers.contact_problem import contact_problem, solve_step
from stickslip.mechanisms.steppers.sliding import Sliding
from stickslip.mechanisms.steppers.stepper import Instant, Stepper, StepReport, check_projection, report
from stickslip.mechanisms.system import System


@dataclass(frozen=True)
class MoreauMidpoint(Stepper):
    """Moreau's midpoint rule on velocity level.

    Order: 2 in smooth motion and across stick-slip transitions where h does not depend on u (h is taken at u_A) and the
    directions of closed contacts are constant, otherwise 1; 1 across impacts.  Contacts are closed when the gap at the
    midpoint is not positive, but for its rounding error.  A contact that carried load in the step before takes part
    again; where it is open, it may close its gap until the next midpoint, but no more.  Restitution: Newton's law in
    inequality form, normal and tangential [GS05] eqs. (11), (12).  Reference: Moreau 1988; [GS05] 5.

    projection : depth [m] beyond which penetrations are removed at the end of a step by moving q along M^-1 w_N
        ([FLG10] 6.4); 0: none.  Velocities are left alone; the energy this adds or removes is booked in the
        certificate (`projection_energy`), and the penetration is then measured at the ends of the steps.
    lasting : a contact that carried load in the step before takes part until it loses its load, without restitution,
        whatever its gap at the midpoint, and keeps this gap.  Then the error of the rule can be extrapolated.
    """

    projection: float = 0.0
    lasting: bool = False

    name = "moreau-midpoint"
    order_smooth = 2
    order_stick = 2
    scheme = codes.MIDPOINT
    takes_laws = True

    def __post_init__(self) -> None:
        check_projection(self.projection)
        truth(self.lasting, "lasting")

    @property
    def options(self) -> dict[str, Any]:
        """Compile-time constants of the kernel."""
        return {**super().options, "LASTING": self.lasting}

    def step(
        self, system: System, state: Instant, dt: float, solver: PlanarSolver, p: Array, law: ImpactLaw | None = None
    ) -> tuple[Instant, StepReport]:
        """One step in plain NumPy, the reference of the compiled kernel.  `law` replaces Newton's impact law."""
        q_M = state.q + 0.5 * dt * state.u  # [GS05] 5, step 2
        problem = contact_problem(
            system, state.t + 0.5 * dt, q_M, state.u, dt, p, state.reach, self.lasting, state.shut
        )
        if not len(problem.index):
            law = None
        sliding = Sliding(system, p, state.sticks)
        again = True
        while again:  # once, but for friction that depends on slip
            problem = sliding.applied(problem)
            solution: PlanarSolution | LawSolution
            if law is None:
                solution = solver.solve(problem.local)  # [GS05] eq. (33)
            else:
                solution = solve_step(system, problem, law, solver, p)
            u_E = problem.end_velocity(solution.Lambda_N, solution.Lambda_T)  # [GS05] eq. (32)
            again = solution.solved and sliding.moved(problem, solution.Lambda_N, solution.Lambda_T, u_E)
        if law is None:
            residual = problem.residual(u_E, solution.Lambda_N, solution.Lambda_T)
        else:  # the residual above is Newton's law's; another law has its own
            residual = solution.residual
        q_E = q_M + 0.5 * dt * u_E  # step 5
        return Instant(state.t + dt, q_E, u_E), report(problem, solution, residual, solver.tol, sliding=sliding)


def consistent_velocities(
    system: System, t: float, q: Array, u: Array, solver: PlanarSolver, p: Array
) -> tuple[Array, Array]:
    """Velocities after the impact equations at (t, q), [GS05] end of 6: admissible at every closed contact.

    Returns them and the rows of the contacts with an impulse, columns as `trajectory.IMPACT_COLUMNS`.
    """
    problem = contact_problem(system, t, q, u, 0.0, p)
    sliding = Sliding(system, p, None)
    again = True
    while again:
        problem = sliding.applied(problem)
        solution = solver.solve(problem.local)
        u_E = problem.end_velocity(solution.Lambda_N, solution.Lambda_T)
        again = solution.solved and sliding.moved(problem, solution.Lambda_N, solution.Lambda_T, u_E)
    residual = max(sliding.defect, problem.residual(u_E, solution.Lambda_N, solution.Lambda_T))
    if not residual <= solver.tol:
        raise ArithmeticError(
            f"the initial velocities could not be made consistent: {sliding.complaint() or solution.status}"
        )
    before, after = problem.gamma_A, problem.velocities(u_E)
    columns = (before[0], after[0], solution.Lambda_N, solution.Lambda_T, before[1], after[1])
    rows = np.column_stack([np.full(len(problem.index), t), problem.index, *columns])
    pushes, reactions = solution.Lambda_N > 0.0, problem.reactions(u_E, solution.Lambda_N, solution.Lambda_T)
    rows = rows[pushes]
    if pushes.any() and reactions.any():
        none, rate = np.zeros(len(reactions)), problem.inertia.rate
        answers = (none, none, none, reactions, rate(u), rate(u_E))
        rows = np.concatenate([rows, np.column_stack([none + t, problem.inertia.index, *answers])[reactions != 0.0]])
    return np.asarray(u_E), rows


def start_on_constraints(system: System, t: float, q: Array, u: Array, p: Array) -> tuple[Array, Array, Array]:
    """A start on the constraints to the last digit, and the rows of impulses that bring its velocities there.

    Columns of the rows as `trajectory.IMPACT_COLUMNS`.
    """
    none = np.zeros((0, EVENT_COLUMNS))
    if not len(system.constraints):
        return q, u, none
    try:
        q = onto_equations(system, t, q, p)
        inertia = Inertia.at(system, q, t, p)
        require_slopes(system, inertia)
        before, size = inertia.rate(u), inertia.size(u)
        u, Lambda = inertia.onto(u)
        require_together(system, inertia, u, t)
    except Contradiction as problem:
        raise ValueError(f"{problem}; check the equations and the start.") from None
    if np.all(np.abs(before) <= codes.HELD_ERROR * size):
        return q, u, none
    zero = np.zeros(len(Lambda))
    columns = (zero + t, inertia.index, zero, zero, zero, Lambda, before, inertia.rate(u))
    return q, u, np.column_stack(columns)[Lambda != 0.0]
