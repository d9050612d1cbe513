"""Jean's theta-method: Moreau's time stepping with forces taken at both ends of the step, implicitly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip import codes
from stickslip.checks import Array
from stickslip.contact.planar import PlanarSolver
from stickslip.laws import ImpactLaw
from stickslip.mechanisms.inertia import Inertia
from stickslip.mechanisms.steppers.contact_problem import (
    Active,
    Begun,
    active_contacts,
    closing_velocities,
    gaps,
    mass_matrix,
    onto_constraints,
    roundings,
    step_problem,
)
from stickslip.mechanisms.steppers.sliding import Sliding
from stickslip.mechanisms.steppers.stepper import Instant, Iteration, Stepper, StepReport, check_projection, report
from stickslip.mechanisms.system import System


@dataclass(frozen=True)
class MoreauJean(Stepper):
    """The theta-method on velocity level, implicit in all forces.

    With M, the closed contacts (g_N <= 0) and their directions at the midpoint q_A + dt/2 u_A, one step solves

        M (u_E - u_A) = dt [theta h(q_E, u_E, t_E) + (1 - theta) h(q_A, u_A, t_A)] + W_N Lambda_N + W_T Lambda_T
        q_E = q_A + dt [theta u_E + (1 - theta) u_A]

    with the contact laws of [GS05] eq. (12) on u_E, by Newton's method: the matrix of an iterate is
    M - theta dt C - theta^2 dt^2 K with the symmetric parts of C = dh/du and K = dh/dq, so that its contact problem
    keeps the form of [GS05] eq. (33).  A skew part (gyroscopic forces) slows the iteration, and leaves its limit alone.

    Order: 2 in smooth motion and across stick-slip transitions for theta = 1/2, also where h depends on u, if the
    directions of closed contacts are constant; otherwise 1; 1 across impacts.  theta = 1 is the backward Euler method
    and damps stiff springs, theta = 1/2 lets them ring.  Restitution: Newton's law in inequality form, normal and
    tangential.  Reference: Jean 1999; Acary and Brogliato 2008.

    theta : in [1/2, 1]; below, no step size is stable.
    projection : as for `MoreauMidpoint`.
    """

    theta: float = 0.5
    projection: float = 0.0

    name = "moreau-jean"
    scheme = codes.THETA

    def __post_init__(self) -> None:
        if isinstance(self.theta, bool) or not isinstance(self.theta, (int, float)) or not 0.5 <= self.theta <= 1.0:
            raise ValueError(f"theta must lie between 0.5 and 1, got {self.theta!r}.")
        check_projection(self.projection)

    @property
    def order_smooth(self) -> int:  # type: ignore[override]
        return 2 if self.theta == 0.5 else 1

    @property
    def order_stick(self) -> int:  # type: ignore[override]
        return self.order_smooth

    @property
    def options(self) -> dict[str, Any]:
        return {**super().options, "THETA_VALUE": float(self.theta), "JACOBIAN": True}

    def step(
        self, system: System, state: Instant, dt: float, solver: PlanarSolver, p: Array, law: ImpactLaw | None = None
    ) -> tuple[Instant, StepReport]:
        theta, q_A, u_A, t_E = self.theta, state.q, state.u, state.t + dt
        q_M, t_M = q_A + 0.5 * dt * u_A, state.t + 0.5 * dt
        M, g = mass_matrix(system, q_M, t_M, p), gaps(system, q_M, t_M, p)
        rounding = roundings(system, q_M, t_M, p)
        index = active_contacts(system, g, rounding, dt, state.reach, state.shut)
        closing = closing_velocities(g, rounding, (theta + 0.5) * dt)  # from midpoint to midpoint
        active = Active(index, closing=closing, rounding=rounding)
        directions = system.geometry(q_M, t_M, p)
        h_A = system.force(q_A, u_A, state.t, p)
        newton = Iteration(np.diag(M), u_A, q_A, dt, "Newton's method for the end velocity")
        sliding = Sliding(system, p, state.sticks)
        u_E = u_A
        for _ in range(codes.ITERATION_LIMIT * (2 if sliding.active else 1)):
            q_E = q_A + dt * (theta * u_E + (1.0 - theta) * u_A)
            h = theta * system.force(q_E, u_E, t_E, p) + (1.0 - theta) * h_A
            K, C = (0.5 * (J + J.T) for J in system.jacobian(q_E, u_E, t_E, p))
            A = M - theta * dt * C - (theta * dt) ** 2 * K
            _require_definite(A)
            inertia = Inertia.at(system, q_M, t_M, p, A, directions)
            u_loose = u_E - np.linalg.solve(A, M @ (u_E - u_A) - dt * h)
            wanted = -(inertia.b + (1.0 - theta) * (inertia.J @ u_A)) / theta  # of theta u_E + (1 - theta) u_A
            u_free = onto_constraints(inertia, u_loose, wanted)
            begun = Begun(inertia, u_A, directions, dt, (q_M, t_M))
            problem = sliding.applied(step_problem(system, active, g, begun, u_free, p, u_loose=u_loose))
            solution = solver.solve(problem.local)
            u_before, u_E = u_E, problem.end_velocity(solution.Lambda_N, solution.Lambda_T)
            if not np.all(np.isfinite(u_E)):
                break
            if newton.settled(u_free, u_E, u_before):
                if not sliding.moved(problem, solution.Lambda_N, solution.Lambda_T, u_E):
                    break
                newton.correction = np.inf
        residual = max(newton.correction, problem.residual(u_E, solution.Lambda_N, solution.Lambda_T))
        q_E = q_A + dt * (theta * u_E + (1.0 - theta) * u_A)
        complaint = newton.complaint(solver.tol)
        return Instant(t_E, q_E, u_E), report(problem, solution, residual, solver.tol, complaint, sliding)


class IterationMatrixError(np.linalg.LinAlgError):
    """M - theta dt C - theta^2 dt^2 K is not positive definite: the step is longer than an unstable force allows."""


def _require_definite(A: Array) -> None:
    try:
        np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        raise IterationMatrixError from None
