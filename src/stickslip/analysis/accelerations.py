"""Forces and accelerations of a state: every solution of the contact problem on acceleration level.

Contacts that touch and do not approach are closed.  Those that slip have friction -mu s lambda_N, s = sgn(gamma_T); the
others may stick.  The problem is the LCP [GS05] eq. (33) one level up ([GS05] end of 6).  With friction it may have one
solution, none or several ([S00] 3.3, [PG05] section 6), so the LCP is enumerated.  Contacts with two tangents have
no LCP: see `accelerations_in_space`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.analysis.accelerations_in_space import SpaceProblem
from stickslip.checks import Array, real_number
from stickslip.events.acceleration import AccelerationProblem, Accelerations
from stickslip.lcp.enumeration import LIMIT as ENUMERATION_LIMIT
from stickslip.mechanisms.penetration import PENETRATION_TOLERANCE, check_state, gap_tolerance, held_velocities
from stickslip.mechanisms.system import CLUTCH, CONSTRAINT, CONTACT, FRICTION, SPRING, TANGENT, System, require_system

TINY = 1e-10  # relative accelerations below this share of the largest one are zero


@dataclass(frozen=True, eq=False)
class Acceleration:
    """One solution on acceleration level.

    Attributes
    ----------
    acceleration : du/dt, (f,)
    normal_force, tangential_force : of every contact [N], (n,); `tangential_force` of a constraint is its reaction
    normal_acceleration : d gamma_N/dt of the closed contacts [m/s^2], (n,); nan where open
    motion : "slips", "sticks" or "lifts off" of each closed contact, "open" of the others; of an element without normal
        part "moves" or "rests", of a constraint "holds"
    """

    acceleration: Array
    normal_force: Array
    tangential_force: Array
    normal_acceleration: Array
    motion: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class StateAccelerations:
    """Result of `accelerations`.

    Attributes
    ----------
    verdict : "unique", "none" or "several": number of solutions; "not enumerated" where one was looked for only: many
        contacts, or several at rest with two tangents
    solutions : all solutions with different du/dt.  Forces of contacts that share one load are one of many
    closed : contacts that take part, (n,) bool
    slip : sgn(gamma_T) of every contact, (n,); 0 where it sticks or is open
    velocity_names, contact_names : for the table that `print` shows
    """

    verdict: str
    solutions: tuple[Acceleration, ...]
    closed: np.ndarray
    slip: Array
    velocity_names: tuple[str, ...]
    contact_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.solutions)

    def __getitem__(self, i: int) -> Acceleration:
        return self.solutions[i]

    def __str__(self) -> str:
        words = {
            "unique": "one solution",
            "none": "no solution: only an impact goes on from here",
            "several": f"{len(self)} solutions",
            "not enumerated": "one solution found; others were not looked for",
        }
        lines = [f"accelerations: {words[self.verdict]}"]
        for i, one in enumerate(self.solutions):
            rates = ", ".join(f"d{n}/dt = {a:.6g}" for n, a in zip(self.velocity_names, one.acceleration, strict=True))
            lines.append(f"  {i}: {rates}")
            for k in np.flatnonzero(self.closed):
                forces = f"normal {one.normal_force[k]:.6g} N, tangential {one.tangential_force[k]:.6g} N"
                if self.contact_names[k].endswith(": tangent 2"):
                    forces = f"{one.tangential_force[k]:.6g} N"
                lines.append(f"     {self.contact_names[k]}: {one.motion[k]}, {forces}")
        return "\n".join(lines)


def accelerations(
    system: System,
    q: ArrayLike,
    u: ArrayLike,
    *,
    params: Mapping[Any, float] | None = None,
    t: float = 0.0,
    gap_tol: float = 1e-9,
    velocity_tol: float = 1e-9,
    penetration_tol: float = PENETRATION_TOLERANCE,
) -> StateAccelerations:
    """Forces and accelerations of a state, all solutions where there are several.

    Parameters
    ----------
    q, u : state, shape (f,)
    params : parameters that differ from the system's
    t : time [s]
    gap_tol : contacts with at most this gap are closed [m]
    velocity_tol : relative velocities below this share of their terms are zero
    penetration_tol : deepest penetration, and largest |g| of a constraint, that is accepted [m]

    Raises
    ------
    ValueError : a closed contact approaches.  It is an impact and has no accelerations: see `impact`.

    Examples
    --------
    A rod slides on its tip with much friction.  It may lift off or be pressed in: Painleve's paradox.

    >>> import stickslip as ss
    >>> rod = ss.library.painleve_rod(friction=2.0, spin=-6.0, slip=-1.0)
    >>> ss.accelerations(rod.system, rod.q0, rod.u0).verdict
    'several'
    """
    require_system(system)
    q, u, p = system.check(q, u, params, real_number(t, "t"), ("q", "u"))
    check_state(system, q, t, p, penetration_tol)
    u, gap_tol = held_velocities(system, q, u, p, t, penetration_tol), gap_tolerance(gap_tol)
    if not 0.0 <= real_number(velocity_tol, "velocity_tol") < 1.0:
        raise ValueError(f"velocity_tol must be a share >= 0 and below 1, got {velocity_tol:g}.")
    if len(system.spatial):
        return _in_space(system, q, u, p, t, gap_tol, velocity_tol)
    problem, _ = closed_problem(system, q, u, p, t, gap_tol, velocity_tol)
    return solved(system, problem, t, q, u, p)


@dataclass(frozen=True, eq=False)
class Rest:
    """Velocities of a state whose contacts do not approach: which of them touch without normal velocity, (n,) bool."""

    at_rest: np.ndarray
    u: Array
    gamma: Array
    size: Array
    gap: Array
    kinds: np.ndarray


def resting(system: System, q: Array, u: Array, p: Array, t: float, gap_tol: float, velocity_tol: float) -> Rest:
    """The contacts that touch and do not approach; their normal velocities are made exactly zero."""
    kinds = np.array(system.contact_kinds, dtype=int)
    W_N, W_T, w_hat = system.geometry(q, t, p)
    gap = system.start_gap(q, t, p)

    def velocities() -> tuple[Array, Array]:
        gamma = np.stack([W_N @ u, W_T @ u], axis=-1) + w_hat
        return gamma, np.stack([np.abs(W_N) @ np.abs(u), np.abs(W_T) @ np.abs(u)], axis=-1) + np.abs(w_hat)

    gamma, size = velocities()
    touching = ((kinds == CONTACT) & (gap <= gap_tol)) | (kinds == CLUTCH)
    approaching = touching & (gamma[:, 0] < -velocity_tol * size[:, 0])
    if approaching.any():
        k = int(np.argmin(np.where(approaching, gamma[:, 0], np.inf)))
        raise ValueError(
            f"contact {system.contact_names[k]!r} approaches with {gamma[k, 0]:.6g} m/s: that is an impact; use impact."
        )
    at_rest = touching & (gamma[:, 0] <= velocity_tol * size[:, 0])
    N = np.flatnonzero(at_rest)
    if len(N):
        u = u - np.linalg.lstsq(W_N[N], gamma[N, 0], rcond=None)[0]
        gamma, size = velocities()
    return Rest(at_rest, u, gamma, size, gap, kinds)


def _in_space(
    system: System, q: Array, u: Array, p: Array, t: float, gap_tol: float, velocity_tol: float
) -> StateAccelerations:
    """The solutions of a system whose contacts have two tangents."""
    rest = resting(system, q, u, p, t, gap_tol, velocity_tol)
    n, second = system.n_contacts, np.roll(rest.kinds == TANGENT, -1)
    speed = np.hypot(rest.gamma[:, 1], np.where(second, np.roll(rest.gamma[:, 1], -1), 0.0))
    terms = np.hypot(rest.size[:, 1], np.where(second, np.roll(rest.size[:, 1], -1), 0.0))
    problem = SpaceProblem.at(system, (t, q, rest.u, p), rest.at_rest, speed > velocity_tol * terms)
    solutions = []
    for one in problem.solutions():
        forces, motion = problem.reactions(one), ["open"] * n
        rise = np.where(rest.at_rest, one.rates[:, 0], np.nan)
        for k in problem.closed:
            word = "slips" if k in problem.slips else one.words[k]
            motion[k] = "lifts off" if one.words[k] == "lifts off" and rise[k] > TINY * np.abs(one.du).max() else word
            if second[k]:
                motion[k + 1] = motion[k]
        for k in system.constraints:
            motion[k] = "holds"
        solutions.append(Acceleration(one.du, forces[:, 0], forces[:, 1], rise, tuple(motion)))
    count = {0: "none", 1: "unique"}.get(len(solutions), "several")
    return StateAccelerations(
        verdict=count if problem.enumerated or not solutions else "not enumerated",
        solutions=tuple(solutions),
        closed=rest.at_rest | np.roll(rest.at_rest & second, 1) | (rest.kinds >= CONSTRAINT),
        slip=np.where([k in problem.slips for k in range(n)], 1.0, 0.0),
        velocity_names=tuple(system.velocity_names),
        contact_names=tuple(system.contact_names),
    )


def closed_problem(
    system: System, q: Array, u: Array, p: Array, t: float, gap_tol: float, velocity_tol: float
) -> tuple[AccelerationProblem, Array]:
    """The acceleration problem of a state, and its velocities with normal velocities that are exactly zero."""
    rest = resting(system, q, u, p, t, gap_tol, velocity_tol)
    kinds, gap, gamma = rest.kinds, rest.gap, rest.gamma
    index = np.flatnonzero(rest.at_rest | (kinds == FRICTION) | (kinds == SPRING))
    s = np.where(np.abs(gamma[:, 1]) > velocity_tol * rest.size[:, 1], np.sign(gamma[:, 1]), 0.0)
    s = np.where((kinds == SPRING) & (np.abs(gap) > gap_tol), np.sign(gap), s)  # Sgn of its displacement
    return AccelerationProblem.at(system, t, q, rest.u, p, index, s[index]), rest.u


def solved(system: System, problem: AccelerationProblem, t: float, q: Array, u: Array, p: Array) -> StateAccelerations:
    """Every solution of an acceleration problem; one, if any, where it has more rows than can be enumerated."""
    enumerated = problem.rows <= ENUMERATION_LIMIT
    if enumerated:
        found = problem.solutions()
    else:
        one = problem.solve()[0]
        found = [] if one is None else [one]
    pairs = [(problem, one) for one in found]
    if system.has_friction_laws:
        pairs = [pair for one in found for pair in _let_go(system, problem, one, (t, q, u, p))]
    solutions = tuple(_solution(system, where, one) for where, one in pairs)
    count = {0: "none", 1: "unique"}.get(len(solutions), "several")
    return StateAccelerations(
        verdict=count if enumerated or not solutions else "not enumerated",
        solutions=solutions,
        closed=(_spread(system, problem, np.ones(len(problem.index)), 0.0) > 0.0)
        | (np.array(system.contact_kinds, dtype=int) >= CONSTRAINT),
        slip=_spread(system, problem, problem.s, 0.0),
        velocity_names=tuple(system.velocity_names),
        contact_names=tuple(system.contact_names),
    )


def _let_go(
    system: System, problem: AccelerationProblem, one: Accelerations, state: tuple[float, Array, Array, Array]
) -> list[tuple[AccelerationProblem, Accelerations]]:
    """Solutions in which contacts that static friction cannot hold have the coefficient of a slip that begins."""
    loose = problem.candidate & (np.abs(one.slide) > TINY * problem.scale(one)[:, 1])
    if not loose.any():
        return [(problem, one)]
    t, q, u, p = state
    s = np.where(loose, np.sign(one.slide), problem.s)
    begun = AccelerationProblem.at(system, t, q, u, p, problem.index, s)
    again = begun.solutions() if begun.rows <= ENUMERATION_LIMIT else [x for x in [begun.solve()[0]] if x is not None]
    return [(replace(begun, s=problem.s), x) for x in again if np.all(s[loose] * x.slide[loose] >= 0.0)]


def _solution(system: System, problem: AccelerationProblem, one: Accelerations) -> Acceleration:
    return Acceleration(
        one.du,
        _spread(system, problem, one.lambda_N, 0.0),
        _with_reactions(system, problem, one),
        _spread(system, problem, np.where(problem.normal, one.rise, np.nan)),
        _motion(system, problem, one),
    )


def _spread(system: System, problem: AccelerationProblem, values: Array, elsewhere: float = np.nan) -> Array:
    """Values (k,) of the closed contacts in their places among all n."""
    everywhere = np.full(system.n_contacts, elsewhere)
    everywhere[problem.index] = values
    return everywhere


def _with_reactions(system: System, problem: AccelerationProblem, one: Accelerations) -> Array:
    """Tangential forces of the contacts, and in their places the forces of the constraints, (n,) [N]."""
    forces = _spread(system, problem, one.lambda_T, 0.0)
    forces[problem.inertia.index] = problem.reactions(one)
    return forces


def _motion(system: System, problem: AccelerationProblem, one: Accelerations) -> tuple[str, ...]:
    """Words for the motion of each contact in a solution."""
    tiny = TINY * max(1e-300, float(np.abs(one.du).max()), float(np.abs(problem.free).max()))
    motion = ["open"] * system.n_contacts
    for k in system.constraints:
        motion[k] = "holds"
    for i, contact in enumerate(problem.index):
        slides = problem.s[i] != 0.0 or abs(one.slide[i]) > tiny
        if not problem.normal[i]:
            motion[contact] = "moves" if slides else "rests"
        elif one.lambda_N[i] == 0.0 and one.rise[i] > tiny:
            motion[contact] = "lifts off"
        else:
            motion[contact] = "slips" if slides else "sticks"
    return tuple(motion)
