"""The time stepping of Paoli and Schatzman: contacts on position level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip import codes
from stickslip.checks import Array
from stickslip.contact.planar import PlanarSolver
from stickslip.laws import ImpactLaw
from stickslip.mechanisms.inertia import Inertia
from stickslip.mechanisms.steppers.contact_problem import Begun, gaps, mass_matrix
from stickslip.mechanisms.steppers.stepper import Instant, Onward, Stepper, StepReport, solve_on_position_level
from stickslip.mechanisms.system import System


@dataclass(frozen=True)
class PaoliSchatzman(Stepper):
    """Central differences with the contact conditions on position level.

        M (q_E - 2 q_A + q_B) / dt = dt h(q_A, u_A, t_A) + W_N Lambda_N + W_T Lambda_T
        0 <= Lambda_N perp g_N(q_E, t_E) + eps_N g_N(q_B, t_B) >= 0,    -Lambda_T in mu Lambda_N Sgn(gamma_T(u_E))

    with q_B one step before q_A.  Velocities are the differences u_A = (q_A - q_B) / dt, u_E = (q_E - q_A) / dt: then
    (q, u) is the whole state, and u belongs to the middle of the step that led to it.  M and the directions are taken
    at q_A, and the speeds of what moves by itself at the middle of the step, as u_E: what sticks goes along with it.
    Gaps that are not linear are met exactly, by iteration; a contact takes part from the iterate on in which
    its condition would be violated.  With eps_N = 0 no gap is ever negative beyond that tolerance; with eps_N > 0 a
    contact may dip in by eps_N times its last gap.

    Order: 1 in smooth motion (positions and velocities as a pair; symplectic Euler), 1 across impacts.  Restitution:
    Newton's normal law through q_E + eps_N q_B: an impact takes two steps, and its two rows are one in the table of
    impacts; there is no tangential restitution.  How the impact splits is left to where in a step it falls; so the
    impulses of all contacts obey the laws in sum over the two steps, which gives Newton's law with friction and with
    several contacts, too (ours; step by step, the end of slip would be left to chance).  Energy gains are judged over
    two steps for the same reason.  `simulate` first moves a start that penetrates onto the contact, since one step
    would push it out with a velocity of its depth over dt.  Reference: Paoli and Schatzman 2002, without friction.
    """

    name = "paoli-schatzman"
    order_smooth = 1
    level = "position"
    scheme = codes.PAOLI
    at_end = True
    impact_steps = 2

    def check(self, system: System, p: Array) -> None:
        super().check(system, p)
        _, _, eps_T, _ = system.laws(p)
        for name, value in zip(system.contact_names, eps_T, strict=True):
            if value != 0.0:  # nan, too: one that depends on the state
                raise ValueError(
                    f"stepper {self.name!r} has no tangential restitution, but contact {name!r} has {value:g}; set it "
                    "to 0, or take a stepper on velocity level such as 'moreau-midpoint'."
                )

    def step(
        self, system: System, state: Instant, dt: float, solver: PlanarSolver, p: Array, law: ImpactLaw | None = None
    ) -> tuple[Instant, StepReport]:
        q_A, u_A, t_E = state.q, state.u, state.t + dt
        M = mass_matrix(system, q_A, state.t, p)
        u_free = u_A + dt * np.linalg.solve(M, system.force(q_A, u_A, state.t, p))
        directions = system.geometry(q_A, state.t + 0.5 * dt, p)
        g_B = gaps(system, q_A - dt * u_A, state.t - dt, p)
        inertia = Inertia.at(system, q_A, state.t, p, M, directions)
        begun = Begun(inertia, u_A, directions, dt, (q_A, state.t))
        onward = Onward(lambda _: u_free, lambda u: q_A + dt * u, t_E, g_B)
        u_E, report = solve_on_position_level(system, solver, p, begun, onward, state.carried, state.sticks, state.shut)
        return Instant(t_E, q_A + dt * u_E, u_E), report
