"""Painleve's paradox: how many accelerations a sliding state has, and the impulse that resolves it where none exists.

For closed contacts that slide with sgn(gamma_T) = s, friction is -mu s lambda_N, and the normal accelerations

    gamma_N' = (alpha - mu s delta) lambda_N + b,    0 <= gamma_N' perp lambda_N >= 0        (one contact)

have no solution if alpha - mu s delta < 0 and b < 0, and two if b > 0.  Below the critical friction alpha/|delta| they
have exactly one.  Where no finite force exists, an impulse does: the impact without collision of [PG05] section 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from stickslip.analysis.accelerations import Acceleration, closed_problem, solved
from stickslip.checks import Array, real_array, real_number
from stickslip.events.acceleration import AccelerationProblem
from stickslip.impacts.impact import Impact, impact
from stickslip.laws import ImpactLaw
from stickslip.mechanisms.inertia import Inertia
from stickslip.mechanisms.system import CONTACT, KIND_NAMES, System, require_system


@dataclass(frozen=True, eq=False)
class Painleve:
    """Accelerations of a state and its critical friction; `painleve` returns it.

    Attributes
    ----------
    verdict : "unique", "none" or "several": number of solutions on acceleration level
    solutions : all solutions with different du/dt
    slip : sgn(gamma_T) of every contact, (n,); 0 where it sticks or is open
    friction, critical_friction : mu, and the smallest mu with alpha - mu |delta| <= 0, (n,); nan where open
    jam : contacts that slide with alpha - mu s delta <= 0, (n,)
    resolution : the impact without collision; None where the state does not need or allow it
    """

    verdict: str
    solutions: tuple[Acceleration, ...]
    slip: Array
    friction: Array
    critical_friction: Array
    jam: np.ndarray
    resolution: Impact | None = field(repr=False)

    def __str__(self) -> str:
        found = {"unique": "one acceleration", "none": "no acceleration", "several": "several accelerations"}
        text = f"{found[self.verdict]} ({'; '.join(', '.join(s.motion) for s in self.solutions) or 'inconsistent'})"
        jammed = np.flatnonzero(self.jam)
        if len(jammed):
            pairs = ", ".join(f"{self.friction[i]:.6g} >= {self.critical_friction[i]:.6g}" for i in jammed)
            text += f"; friction is supercritical ({pairs})"
        if self.resolution is not None:
            text += "; an impact without collision is possible"
        return text


def painleve(
    system: System,
    q: ArrayLike,
    u: ArrayLike,
    *,
    params: Mapping[Any, float] | None = None,
    t: float = 0.0,
    law: ImpactLaw | None = None,
    gap_tol: float = 1e-9,
    velocity_tol: float = 1e-9,
) -> Painleve:
    """All accelerations of a state whose closed contacts slide or stick, the critical friction, and the resolution.

    The acceleration LCP is enumerated: slipping contacts have lambda_T = -mu s lambda_N, sticking ones the two one-way
    elements of [GS05] eq. (33) on acceleration level.

    Parameters
    ----------
    q, u : state, shape (f,)
    params : parameters that differ from the system's
    law : impact law of the resolution; by default Newton's with the system's coefficients
    gap_tol : contacts with at most this gap are closed [m]
    velocity_tol : relative velocities below this share of their terms are zero

    Raises
    ------
    ValueError : no closed contact; a closed contact that approaches, which is an impact; elements other than contacts.
    """
    require_system(system)
    system.require_planar("painleve")
    q, u, p = system.check(q, u, params, real_number(t, "t"), ("q", "u"))
    state, u = _sliding(system, q, u, p, t, gap_tol, velocity_tol)
    found = solved(system, state, t, q, u, p)

    def spread(values: Array, open_value: float = np.nan) -> Array:
        """Values of the closed contacts in their places among all."""
        everywhere = np.full(system.n_contacts, open_value)
        everywhere[state.index] = values
        return everywhere

    hit = impact(system, q, u, law, params=params, t=t, gap_tol=gap_tol)
    return Painleve(
        verdict=found.verdict,
        solutions=found.solutions,
        slip=found.slip,
        friction=spread(state.mu),
        critical_friction=spread(_critical(state.alpha, np.abs(state.delta))),
        jam=spread(state.jams, 0.0) > 0.0,
        resolution=hit if np.any(hit.normal_impulse > 0.0) else None,
    )


def critical_friction(
    system: System,
    q: ArrayLike,
    *,
    contact: int = 0,
    slip: int | None = None,
    params: Mapping[Any, float] | None = None,
    t: float = 0.0,
) -> float:
    """The smallest mu with alpha - mu |delta| <= 0 at a configuration, inf if none exists ([PG05] Fig. 6).

    With slip = 1 or -1 only one direction of slip counts: alpha - mu slip delta <= 0.
    """
    require_system(system)
    system.require_planar("painleve")
    place = real_array(q, f"q must be {system.n_dof} numbers, one per coordinate, got {q!r}.")
    alpha, delta = _local_mass(system, place, t, system.parameter_vector(params), contact)
    return float(_critical(np.array([alpha]), np.array([abs(delta) if slip is None else slip * delta]))[0])


def smallest_critical_friction(
    system: System,
    q: ArrayLike,
    vary: str,
    bounds: tuple[float, float],
    *,
    contact: int = 0,
    slip: int | None = None,
    params: Mapping[Any, float] | None = None,
) -> tuple[float, float]:
    """The smallest critical friction over one coordinate, and the value of the coordinate at which it lies.

    Below this friction Painleve's paradox does not occur.  The interval is sampled at 361 places; the best is refined.
    """
    if vary not in system.coordinate_names:
        raise ValueError(f"vary must be one of {', '.join(system.coordinate_names)}, got {vary!r}.")
    start, place = np.array(q, dtype=float), system.coordinate_names.index(vary)

    def reciprocal(value: float) -> float:  # -1/mu_c is smooth where delta passes through zero
        state = start.copy()
        state[place] = value
        return -1.0 / critical_friction(system, state, contact=contact, slip=slip, params=params)

    grid = np.linspace(*bounds, 361)
    best = int(np.argmin([reciprocal(float(value)) for value in grid]))
    interval = grid[max(0, best - 1)], grid[min(360, best + 1)]
    answer = minimize_scalar(reciprocal, bounds=interval, method="bounded", options={"xatol": 1e-10})
    return (-1.0 / float(answer.fun) if answer.fun < 0.0 else np.inf), float(answer.x)


def _sliding(
    system: System, q: Array, u: Array, p: Array, t: float, gap_tol: float, velocity_tol: float
) -> tuple[AccelerationProblem, Array]:
    """`closed_problem` of unilateral contacts of which at least one is closed."""
    other = sorted({kind for kind in system.contact_kinds if kind != CONTACT})
    if other:
        raise ValueError(
            f"painleve looks at unilateral contacts; {system.name!r} has a {KIND_NAMES[other[0]]} element."
        )
    g = system.gap(q, t, p)
    if not np.any(g <= gap_tol):
        raise ValueError(
            f"no contact is closed: the smallest gap is {g.min(initial=np.inf):.6g} m, gap_tol = {gap_tol:g} m."
        )
    problem, u = closed_problem(system, q, u, p, t, gap_tol, velocity_tol)
    if not len(problem.index):
        W_N, _, w_hat = system.geometry(q, t, p)
        slowest = (W_N @ u + w_hat[:, 0])[g <= gap_tol].min()
        raise ValueError(f"all closed contacts separate, the slowest with {slowest:.6g} m/s.")
    return problem, u


def _local_mass(system: System, q: Array, t: float, p: Array, contact: int) -> tuple[float, float]:
    W_N, W_T, _ = system.geometry(q, t, p)
    V_N = Inertia.at(system, q, t, p).solve(W_N[contact])
    return float(W_N[contact] @ V_N), float(W_T[contact] @ V_N)


def _critical(alpha: Array, delta: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.where(delta > 0.0, alpha / np.where(delta > 0.0, delta, 1.0), np.inf)
