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

from stickslip.checks import Array, real_array, real_number
from stickslip.events.acceleration import AccelerationProblem, Accelerations
from stickslip.impacts.impact import Impact, impact
from stickslip.laws import ImpactLaw
from stickslip.mechanisms.system import CONTACT, KIND_NAMES, System, require_system


@dataclass(frozen=True, eq=False)
class Acceleration:
    """One solution on acceleration level.

    Attributes
    ----------
    acceleration : du/dt, (f,)
    normal_force, tangential_force : of every contact [N], (n,)
    normal_acceleration : d gamma_N/dt of the closed contacts [m/s^2], (n,); nan where open
    motion : "slips", "sticks" or "lifts off" of each closed contact, "open" of the others
    """

    acceleration: Array
    normal_force: Array
    tangential_force: Array
    normal_acceleration: Array
    motion: tuple[str, ...]


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
    q, u, p = system.check(q, u, params, real_number(t, "t"), ("q", "u"))
    state, u = _sliding(system, q, u, p, t, gap_tol, velocity_tol)
    found = state.solutions()

    def spread(values: Array, open_value: float = np.nan) -> Array:
        """Values of the closed contacts in their places among all."""
        everywhere = np.full(system.n_contacts, open_value)
        everywhere[state.index] = values
        return everywhere

    hit = impact(system, q, u, law, params=params, t=t, gap_tol=gap_tol)
    return Painleve(
        verdict="unique" if len(found) == 1 else ("several" if found else "none"),
        solutions=tuple(
            Acceleration(
                x.du, spread(x.lambda_N, 0.0), spread(x.lambda_T, 0.0), spread(x.rise), _motion(system, state, x)
            )
            for x in found
        ),
        slip=spread(state.s, 0.0),
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


def _motion(system: System, state: AccelerationProblem, solution: Accelerations) -> tuple[str, ...]:
    """Words for the motion of each contact in a solution."""
    tiny = 1e-10 * max(1e-300, float(np.abs(solution.du).max()), float(np.abs(state.free).max()))
    motion = ["open"] * system.n_contacts
    for i, contact in enumerate(state.index):
        if solution.lambda_N[i] == 0.0 and solution.rise[i] > tiny:
            motion[contact] = "lifts off"
        else:
            motion[contact] = "slips" if state.s[i] != 0.0 or abs(solution.slide[i]) > tiny else "sticks"
    return tuple(motion)


def _sliding(
    system: System, q: Array, u: Array, p: Array, t: float, gap_tol: float, velocity_tol: float
) -> tuple[AccelerationProblem, Array]:
    """The acceleration problem, and the velocities with normal velocities that are exactly zero."""
    other = sorted({kind for kind in system.contact_kinds if kind != CONTACT})
    if other:
        raise ValueError(
            f"painleve looks at unilateral contacts; {system.name!r} has a {KIND_NAMES[other[0]]} element."
        )
    g = system.gap(q, t, p)
    index = np.flatnonzero(g <= gap_tol)
    if not len(index):
        raise ValueError(
            f"no contact is closed: the smallest gap is {g.min(initial=np.inf):.6g} m, gap_tol = {gap_tol:g} m."
        )
    W_N, W_T, w_hat = system.geometry(q, t, p)
    gamma, size = _velocities(W_N, W_T, w_hat, u, index)
    approaching = gamma[:, 0] < -velocity_tol * size[:, 0]
    if approaching.any():
        name = system.contact_names[index[int(np.argmax(approaching))]]
        raise ValueError(
            f"contact {name!r} approaches with {gamma[:, 0].min():.6g} m/s: that is an impact; use impact."
        )
    index = index[gamma[:, 0] <= velocity_tol * size[:, 0]]
    if not len(index):
        raise ValueError(f"all closed contacts separate, the slowest with {gamma[:, 0].min():.6g} m/s.")
    W_N, W_T, w_hat = W_N[index], W_T[index], w_hat[index]
    u = u - np.linalg.lstsq(W_N, W_N @ u + w_hat[:, 0], rcond=None)[0]  # normal velocities exactly zero
    gamma_T = W_T @ u + w_hat[:, 1]
    s = np.where(
        np.abs(gamma_T) > velocity_tol * (np.abs(w_hat[:, 1]) + np.abs(W_T) @ np.abs(u)), np.sign(gamma_T), 0.0
    )
    return AccelerationProblem.at(system, t, q, u, p, index, s), u


def _velocities(W_N: Array, W_T: Array, w_hat: Array, u: Array, index: np.ndarray) -> tuple[Array, Array]:
    gamma = np.stack([W_N @ u, W_T @ u], axis=-1) + w_hat
    size = np.stack([np.abs(W_N) @ np.abs(u), np.abs(W_T) @ np.abs(u)], axis=-1) + np.abs(w_hat)
    return gamma[index], size[index]


def _local_mass(system: System, q: Array, t: float, p: Array, contact: int) -> tuple[float, float]:
    W_N, W_T, _ = system.geometry(q, t, p)
    V_N = np.linalg.solve(system.mass(q, t, p), W_N[contact])
    return float(W_N[contact] @ V_N), float(W_T[contact] @ V_N)


def _critical(alpha: Array, delta: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.where(delta > 0.0, alpha / np.where(delta > 0.0, delta, 1.0), np.inf)
