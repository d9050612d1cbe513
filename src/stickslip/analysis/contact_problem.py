"""The contact problem of one step as a user may look at it: the LCP [GS05] eq. (33) of a state, with names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.checks import Array, real_number
from stickslip.contact.planar import PlanarSolution, PlanarSolver, all_solutions, solver_from
from stickslip.contact.planar_lcp import LEFT, NORMAL, RIGHT
from stickslip.mechanisms.penetration import held_velocities
from stickslip.mechanisms.steppers.contact_problem import StepProblem, reach_at_start, shut_contacts
from stickslip.mechanisms.steppers.contact_problem import contact_problem as step_contact_problem
from stickslip.mechanisms.system import System, require_system

UNKNOWNS = {NORMAL: "Lambda_N", RIGHT: "Lambda_R", LEFT: "xi_L"}
COMPLEMENTS = {NORMAL: "xi_N", RIGHT: "xi_R", LEFT: "Lambda_L"}


@dataclass(frozen=True, eq=False)
class StepAnswer:
    """One solution of a `ContactProblem`.

    Attributes
    ----------
    u : velocities at the end of the step, (f,)
    normal_impulse, tangential_impulse : of the k contacts of the problem [N s], (k,)
    normal_velocity, tangential_velocity : relative velocities at the end of the step [m/s], (k,)
    solved, residual, status : whether the laws hold, how far they do not, relative to the velocities, and words
    contact_names : for `print`
    reaction : impulses of the system's constraints, in their order [N s], (m,)
    """

    u: Array
    normal_impulse: Array
    tangential_impulse: Array
    normal_velocity: Array
    tangential_velocity: Array
    solved: bool
    residual: float
    status: str
    contact_names: tuple[str, ...] = ()
    reaction: Array = field(default_factory=lambda: np.zeros(0))

    def __str__(self) -> str:
        lines = [f"{self.status}, residual {self.residual:.1e}", f"  u = {_row(self.u)}"]
        for k, name in enumerate(self.contact_names):
            lines.append(
                f"  {name}: impulses {_row((self.normal_impulse[k], self.tangential_impulse[k]))} N s, "
                f"velocities {_row((self.normal_velocity[k], self.tangential_velocity[k]))} m/s (normal, tangential)"
            )
        return "\n".join(lines)


def _row(values: Iterable[float]) -> str:
    return f"({', '.join(f'{value:.6g}' for value in values)})"


@dataclass(frozen=True, eq=False)
class ContactProblem:
    """The contact problem of one step of Moreau's midpoint rule; `contact_problem` returns it.

        y = A x + b,    0 <= x perp y >= 0                                                          [GS05] eq. (33)

    Attributes
    ----------
    A, b : the LCP, (n, n) and (n,), not scaled
    unknowns, complements : names of the rows of x and of y, such as "Lambda_N[beak]" and "xi_N[beak]"
    contacts : names of the k contacts that take part
    G_NN, G_NT, G_TT : blocks of W^T M^-1 W [1/kg], (k, k); with constraints P in place of M^-1, see docs/constraints.md
    c_N, c_T : xi_N and xi_T without impulses [m/s], (k,)
    friction, threshold : mu (k,), and the load-independent part of the bound of Lambda_T [N s], (k,)
    mass : M (f, f);  directions : W_N and W_T, (k, f) each
    u_free : velocities at the end of the step without impulses, (f,)
    step : what the steppers work on
    """

    A: Array
    b: Array
    unknowns: tuple[str, ...]
    complements: tuple[str, ...]
    contacts: tuple[str, ...]
    step: StepProblem

    @property
    def G_NN(self) -> Array:
        return self.step.local.G_NN

    @property
    def G_NT(self) -> Array:
        return self.step.local.G_NT

    @property
    def G_TT(self) -> Array:
        return self.step.local.G_TT

    @property
    def c_N(self) -> Array:
        return self.step.local.c_N

    @property
    def c_T(self) -> Array:
        return self.step.local.c_T

    @property
    def friction(self) -> Array:
        return self.step.local.mu

    @property
    def threshold(self) -> Array:
        return self.step.local.a

    @property
    def mass(self) -> Array:
        return self.step.M

    @property
    def directions(self) -> tuple[Array, Array]:
        return self.step.W_N, self.step.W_T

    @property
    def u_free(self) -> Array:
        return self.step.u_free

    def solve(self, solver: str | PlanarSolver = "auto") -> StepAnswer:
        """One solution, by a solver of `simulate`."""
        return self._answer(solver_from(solver).solve(self.step.local))

    def solutions(self) -> list[StepAnswer]:
        """Every solution, for up to 20 rows of the LCP."""
        return [self._answer(found) for found in all_solutions(self.step.local)]

    def _answer(self, found: PlanarSolution) -> StepAnswer:
        u = self.step.end_velocity(found.Lambda_N, found.Lambda_T)
        return StepAnswer(
            u, found.Lambda_N, found.Lambda_T, *self.step.velocities(u), found.solved, found.residual, found.status,
            self.contacts, self.step.reactions(u, found.Lambda_N, found.Lambda_T),
        )  # fmt: skip

    def __str__(self) -> str:
        if not self.contacts:
            return "contact problem: no contact takes part"
        wide = max(len(name) for name in (*self.unknowns, *self.complements))
        lines = [f"contact problem of {', '.join(self.contacts)}: y = A x + b, 0 <= x perp y >= 0"]
        for i, (y, x) in enumerate(zip(self.complements, self.unknowns, strict=True)):
            row = " ".join(f"{value:11.4g}" for value in self.A[i])
            lines.append(f"  {y:>{wide}} | {row} | {x:<{wide}} | {self.b[i]:11.4g}")
        return "\n".join(lines)


def contact_problem(
    system: System,
    q: ArrayLike,
    u: ArrayLike,
    dt: float,
    *,
    params: Mapping[Any, float] | None = None,
    t: float = 0.0,
) -> ContactProblem:
    """The LCP [GS05] eq. (33) of a step of length dt from the state (q, u) at time t, with names.

    The step is that of Moreau's midpoint rule: contacts are looked at at t + dt/2, where the coordinates are
    q + u dt/2.  dt = 0 gives the equations of a pure impact.  Contacts take part whose gap is closed there, or so small
    that forces may close it within the step, as in the first step of `simulate`.

    Parameters
    ----------
    q, u : state at the beginning of the step, shape (f,)
    dt : length of the step [s]
    params : parameters that differ from the system's
    t : time at the beginning of the step [s]

    Examples
    --------
    >>> import stickslip as ss
    >>> brick = ss.library.brick_on_ramp(friction=0.5, angle=0.38)
    >>> problem = ss.contact_problem(brick.system, brick.q0, brick.u0, dt=1e-3)
    >>> problem.unknowns
    ('Lambda_N[ramp]', 'Lambda_R[ramp]', 'xi_L[ramp]')
    >>> len(problem.solutions())
    1
    """
    require_system(system)
    system.require_planar("contact_problem, which writes an LCP,")
    if real_number(dt, "dt") < 0.0:
        raise ValueError(f"dt must not be negative, got {dt:g} s; dt = 0 is a pure impact.")
    q, u, p = system.check(q, u, params, real_number(t, "t"), ("q", "u"))
    u = held_velocities(system, q, u, p, t)
    reach = reach_at_start(system, q, u, t, dt, p) if dt > 0.0 else None
    shut = shut_contacts(system, q, u, t, dt, p, np.zeros(system.n_contacts, dtype=bool), first=True)
    step = step_contact_problem(system, t + 0.5 * dt, q + 0.5 * dt * u, u, dt, p, reach, shut=shut)
    lcp = step.local.lcp()
    names = [system.contact_names[k] for k in step.index]
    return ContactProblem(
        A=lcp.A / np.outer(lcp.scale, lcp.scale),
        b=lcp.b / lcp.scale,
        unknowns=tuple(f"{UNKNOWNS[int(part)]}[{names[k]}]" for k, part in zip(lcp.rows, lcp.part, strict=True)),
        complements=tuple(f"{COMPLEMENTS[int(part)]}[{names[k]}]" for k, part in zip(lcp.rows, lcp.part, strict=True)),
        contacts=tuple(names),
        step=step,
    )
