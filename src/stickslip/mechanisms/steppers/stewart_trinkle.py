"""The time stepping of Stewart and Trinkle, [S00] (2.11)-(2.15)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip import codes
from stickslip.checks import Array
from stickslip.contact.planar import PlanarSolver
from stickslip.laws import ImpactLaw
from stickslip.mechanisms.inertia import Inertia
from stickslip.mechanisms.steppers.contact_problem import (
    Active,
    Ahead,
    Begun,
    active_contacts,
    closing_velocities,
    gaps,
    mass_matrix,
    met_ahead,
    onto_constraints,
    roundings,
    step_problem,
)
from stickslip.mechanisms.steppers.sliding import Sliding
from stickslip.mechanisms.steppers.stepper import Instant, Iteration, Stepper, StepReport, check_projection, report
from stickslip.mechanisms.system import System


@dataclass(frozen=True)
class StewartTrinkle(Stepper):
    """Partly implicit Euler method on velocity level, [S00] (2.11)-(2.15).

        M(q_E) (u_E - u_A) = dt h(q_A, u_A, t_A) + W_N Lambda_N + W_T Lambda_T                        [S00] (2.11)
        q_E = q_A + dt u_E                                                                            [S00] (2.12)
        0 <= Lambda_N perp gamma_N(u_E) + eps_N gamma_N(u_A) >= 0                                     [S00] (2.13)

    and Coulomb's law: with the two directions d = +-w_T of the plane, [S00] (2.14), (2.15) say
    -Lambda_T in mu Lambda_N Sgn(gamma_T), the law of [GS05] eq. (12), and the LCP (2.16) has the solutions of (33).
    Directions are taken at q_A; a contact takes part where its gap would close, g_N(q_A + dt u_A, t_E) <= 0 ([S00] has
    < 0: the difference keeps a body at rest that starts with a gap of zero).  M(q_E) is found by the fixed-point
    iteration of [S00] 2.3.

    Order: 1 in smooth motion, 1 across impacts and stick-slip transitions.  Restitution: Newton's law in inequality
    form; the tangential one ([S00] has none) as in [GS05] eq. (12).  Reference: Stewart and Trinkle 1996; [S00] 2.2.

    projection : as for `MoreauMidpoint`; [S00] 2.2 recommends it now and then.
    """

    projection: float = 0.0

    name = "stewart-trinkle"
    order_smooth = 1
    scheme = codes.STEWART
    at_end = True

    def __post_init__(self) -> None:
        check_projection(self.projection)

    def step(
        self, system: System, state: Instant, dt: float, solver: PlanarSolver, p: Array, law: ImpactLaw | None = None
    ) -> tuple[Instant, StepReport]:
        q_A, u_A, t_E = state.q, state.u, state.t + dt
        q_E = q_A + dt * u_A
        g = gaps(system, q_E, t_E, p)
        rounding = roundings(system, q_E, t_E, p)
        index = active_contacts(system, g, rounding, dt, state.reach, state.shut)
        directions = system.geometry(q_A, state.t, p)
        closing = closing_velocities(g, rounding, dt, directions[0] @ u_A + directions[2][:, 0])
        active = Active(index, closing=closing, rounding=rounding)
        h = system.force(q_A, u_A, state.t, p)
        M = mass_matrix(system, q_E, t_E, p)
        fixed_point = Iteration(np.diag(M), u_A, q_A, dt, "the fixed-point iteration on M(q_E)")
        sliding = Sliding(system, p, state.sticks)
        u_E = u_A
        for _ in range(codes.ITERATION_LIMIT * (2 if sliding.active else 1)):
            inertia = Inertia.at(system, q_A, state.t, p, M, directions)
            u_loose = u_A + dt * np.linalg.solve(M, h)
            u_free = onto_constraints(inertia, u_loose, met_ahead(system, inertia, u_A, g, dt))
            begun = Begun(inertia, u_A, directions, dt, (q_A, state.t))
            problem = step_problem(system, active, g, begun, u_free, p, Ahead(u_A), u_loose)
            problem = sliding.applied(problem)
            solution = solver.solve(problem.local)
            u_before, u_E = u_E, problem.end_velocity(solution.Lambda_N, solution.Lambda_T)
            q_E = q_A + dt * u_E  # [S00] (2.12)
            if not np.all(np.isfinite(u_E)):
                break
            if system.mass_constant:
                fixed_point.correction = 0.0
            if system.mass_constant or fixed_point.settled(u_free, u_E, u_before):
                if not sliding.moved(problem, solution.Lambda_N, solution.Lambda_T, u_E):
                    break
                fixed_point.correction = np.inf
            M = mass_matrix(system, q_E, t_E, p)
        residual = max(fixed_point.correction, problem.residual(u_E, solution.Lambda_N, solution.Lambda_T))
        complaint = fixed_point.complaint(solver.tol)
        return Instant(t_E, q_E, u_E), report(problem, solution, residual, solver.tol, complaint, sliding)
