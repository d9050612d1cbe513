"""Two schemes that do not work, as [S00] 4.2 shows: for demonstrations, never to compute with.

Both impose contacts on positions without a word about restitution.  So the rebound depends on the place within a step
at which the contact happens to close.  They know contacts without friction only, and run on the reference engine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip.checks import Array
from stickslip.contact.planar import PlanarSolver
from stickslip.laws import ImpactLaw
from stickslip.mechanisms.inertia import Inertia
from stickslip.mechanisms.steppers.contact_problem import Begun, mass_matrix
from stickslip.mechanisms.steppers.stepper import Instant, Onward, Stepper, StepReport, solve_on_position_level
from stickslip.mechanisms.system import CONTACT, System


class _Failing(Stepper):
    """Base of the two schemes: the systems that they refuse, and the warning of every run."""

    order_impact = 0
    level = "position"
    at_end = True
    warning = "this scheme fails at impacts ([S00] 4.2), its rebounds mean nothing; take it for demonstrations only"

    def check(self, system: System, p: Array) -> None:
        mu, _, _, threshold = system.laws(p)
        kinds = np.array(system.contact_kinds, dtype=int)
        for name, good in zip(system.contact_names, (kinds == CONTACT) & (mu == 0.0) & (threshold == 0.0), strict=True):
            if not good:
                raise ValueError(f"stepper {self.name!r} knows contacts without friction only, {name!r} is another.")


@dataclass(frozen=True)
class FailingMidpoint(_Failing):
    """The implicit midpoint rule with complementarity of positions, which fails at impacts: [S00] 4.2.

        M (u_E - u_A) = dt h(q_M, u_M, t_M) + W_N Lambda_N,     0 <= Lambda_N perp g_N(q_M) >= 0
        q_E = q_A + dt u_M,     q_M = (q_A + q_E) / 2,     u_M = (u_A + u_E) / 2

    Order: 2 in smooth motion, where the rule is symplectic; none across impacts.  A step that starts at a q_A inside
    the obstacle rebounds faster than the body came, by 4 |g_N| / dt.  Level: position.  Restitution: none is imposed,
    any comes out.  Reference: [S00] 4.2.
    """

    name = "failing-midpoint"
    order_smooth = 2

    def step(
        self, system: System, state: Instant, dt: float, solver: PlanarSolver, p: Array, law: ImpactLaw | None = None
    ) -> tuple[Instant, StepReport]:
        q_A, u_A, t_M = state.q, state.u, state.t + 0.5 * dt
        M = mass_matrix(system, q_A + 0.5 * dt * u_A, t_M, p)

        def middle(u_E: Array) -> Array:
            return q_A + 0.25 * dt * (u_A + u_E)

        def free(u_E: Array) -> Array:
            return u_A + dt * np.linalg.solve(M, system.force(middle(u_E), 0.5 * (u_A + u_E), t_M, p))

        place = q_A + 0.5 * dt * u_A, t_M
        inertia = Inertia.at(system, q_A, state.t, p, M)
        begun = Begun(inertia, u_A, system.geometry(*place, p), 0.25 * dt, place)
        onward = Onward(free, middle, t_M, np.zeros(system.n_contacts))
        u_E, report = solve_on_position_level(system, solver, p, begun, onward)
        return Instant(state.t + dt, q_A + 0.5 * dt * (u_A + u_E), u_E), report


@dataclass(frozen=True)
class FailingNewmark(_Failing):
    """Newmark's scheme with beta = 0, gamma = 1 and contacts on positions, which fails at impacts: [S00] 4.2.

        q_E = q_A + dt u_A + dt^2/2 (a_A + M^-1 w_N lambda_N),     0 <= lambda_N perp g_N(q_E) >= 0
        u_E = u_A + dt (a_E + M^-1 w_N lambda_N),     a = M^-1 h

    The contact force of the step stands in both lines.  This is our reading of the explicit-implicit scheme of Kane and
    Ortiz that [S00] cites.

    Order: 1 in smooth motion; none across impacts.  A ball that comes with speed v from the height x < v dt leaves with
    |v - 2 x / dt|, anything between 0 and v.  Level: position.  Restitution: none is imposed, any comes out.
    Reference: [S00] 4.2 and its [59].
    """

    name = "failing-newmark"
    order_smooth = 1

    def step(
        self, system: System, state: Instant, dt: float, solver: PlanarSolver, p: Array, law: ImpactLaw | None = None
    ) -> tuple[Instant, StepReport]:
        q_A, u_A, t_E = state.q, state.u, state.t + dt
        M = mass_matrix(system, q_A, state.t, p)
        a_A = np.linalg.solve(M, system.force(q_A, u_A, state.t, p))

        def end(y: Array) -> Array:
            return q_A + 0.5 * dt * y

        y_free = 2.0 * u_A + dt * a_A  # q_E = q_A + dt/2 y, y = y_free + M^-1 w_N Lambda_N
        inertia = Inertia.at(system, q_A, state.t, p, M)
        begun = Begun(inertia, u_A, system.geometry(q_A, state.t, p), 0.5 * dt, (q_A, state.t))
        onward = Onward(lambda _: y_free, end, t_E, np.zeros(system.n_contacts))
        y, report = solve_on_position_level(system, solver, p, begun, onward)
        q_E = end(y)
        u_E = u_A + dt * np.linalg.solve(M, system.force(q_E, u_A, t_E, p)) + (y - y_free)
        return Instant(t_E, q_E, u_E), report
