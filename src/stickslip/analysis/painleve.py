"""Painleve's paradox: how many accelerations a sliding state has, and what resolves it where there is none.

For closed contacts that slide with sgn(gamma_T) = s, friction is -mu s lambda_N, and the normal accelerations

    gamma_N' = (alpha - mu s delta) lambda_N + b,    0 <= gamma_N' perp lambda_N >= 0        (one contact)

have no solution if alpha - mu s delta < 0 and b < 0, and two if b > 0.  Below the critical friction alpha/|delta| that
cannot happen.  Where no finite force will do, an impulse does: the impact without collision of [PG05] section 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from stickslip.complementarity.solve import enumerate_lcp
from stickslip.laws import ImpactLaw
from stickslip.model.system import CONTACT, KIND_NAMES, Array, System
from stickslip.stepping.impact import Impact, impact


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
    """What `painleve` returns.

    Attributes
    ----------
    verdict : "unique", "none" or "several" solutions on acceleration level
    solutions : all of them, told apart by du/dt
    slip : sgn(gamma_T) of every contact, (n,); 0 where it sticks or is open
    friction, critical_friction : mu, and the smallest mu with alpha - mu |delta| <= 0, (n,); nan where open
    jam : contacts that slide with alpha - mu s delta <= 0, (n,)
    resolution : the impact without collision, None where the state does not need or allow one
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
    law : of the impulsive resolution; Newton's with the system's coefficients where it is not given
    gap_tol : contacts with at most this gap are closed [m]
    velocity_tol : relative velocities below this share of their terms are zero

    Raises
    ------
    ValueError : no closed contact; a closed contact approaches (that is an impact); elements other than contacts.
    """
    q, u, p = system.check(q, u, params, t)
    state = _sliding(system, q, u, p, t, gap_tol, velocity_tol)
    found: list[Acceleration] = []
    A, b = state.lcp()
    for answer in enumerate_lcp(A, b):
        solution = state.read(answer.x)
        size = 1e-8 * max(1e-300, float(np.abs(solution.acceleration).max()), float(np.abs(state.free).max()))
        if all(np.abs(solution.acceleration - other.acceleration).max() > size for other in found):
            found.append(solution)
    hit = impact(system, q, state.u, law, params=params, t=t, gap_tol=gap_tol)
    return Painleve(
        verdict="unique" if len(found) == 1 else ("several" if found else "none"),
        solutions=tuple(found),
        slip=state.spread(state.s, 0.0),
        friction=state.spread(state.mu),
        critical_friction=state.spread(_critical(state.alpha, np.abs(state.delta))),
        jam=state.spread((state.s != 0.0) & (state.alpha - state.mu * state.s * state.delta <= 0.0), 0.0) > 0.0,
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
    """The smallest mu with alpha - mu |delta| <= 0 at a configuration, inf if there is none ([PG05] Fig. 6).

    With slip = 1 or -1, that of one direction: alpha - mu slip delta <= 0.
    """
    alpha, delta = _local_mass(system, np.asarray(q, dtype=float), t, system.parameter_vector(params), contact)
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
    """The smallest critical friction over one coordinate, and where it is: the paradox needs more than that.

    The interval is sampled at 361 places and the best one refined.
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


@dataclass(frozen=True)
class _Sliding:
    """The acceleration problem of k closed contacts, r of which may stick; `free` is M^-1 h with known friction."""

    index: np.ndarray
    n: int
    u: Array
    s: Array
    mu: Array
    a: Array
    alpha: Array
    delta: Array
    free: Array
    V: Array  # M^-1 (W_N - mu s W_T), (f, k)
    V_T: Array  # M^-1 W_T of the stick candidates, (f, r)
    W_N: Array
    W_T: Array
    zeta_N: Array
    zeta_T: Array

    @property
    def stick(self) -> np.ndarray:
        return np.flatnonzero(self.s == 0.0)

    def lcp(self) -> tuple[Array, Array]:
        """x = (lambda_N, lambda_R, dgamma_L), y = (dgamma_N, dgamma_R, lambda_L)."""
        k, S = len(self.index), self.stick
        r = len(S)
        mu = np.zeros((r, k))
        mu[np.arange(r), S] = self.mu[S]
        W_TS = self.W_T[S]
        V_E = self.V - self.V_T @ mu  # stick: lambda_T = lambda_R - mu lambda_N - a
        free = self.free - self.V_T @ self.a[S]
        A = np.block(
            [
                [self.W_N @ V_E, self.W_N @ self.V_T, np.zeros((k, r))],
                [W_TS @ V_E, W_TS @ self.V_T, np.eye(r)],
                [2.0 * mu, -np.eye(r), np.zeros((r, r))],
            ]
        )
        b = np.concatenate([self.W_N @ free + self.zeta_N, W_TS @ free + self.zeta_T[S], 2.0 * self.a[S]])
        return A, b

    def read(self, x: Array) -> Acceleration:
        k, S = len(self.index), self.stick
        N = x[:k]
        T = -self.s * (self.mu * N + self.a)
        T[S] = x[k : k + len(S)] - self.mu[S] * N[S] - self.a[S]
        acceleration = self.free + self.V @ N + self.V_T @ T[S]
        rise = self.W_N @ acceleration + self.zeta_N
        slide = self.W_T @ acceleration + self.zeta_T
        tiny = 1e-10 * max(1e-300, float(np.abs(acceleration).max()), float(np.abs(self.free).max()))
        motion = ["open"] * self.n
        for i, contact in enumerate(self.index):
            if N[i] == 0.0 and rise[i] > tiny:
                motion[contact] = "lifts off"
            else:
                motion[contact] = "slips" if self.s[i] != 0.0 or abs(slide[i]) > tiny else "sticks"
        return Acceleration(acceleration, self.spread(N, 0.0), self.spread(T, 0.0), self.spread(rise), tuple(motion))

    def spread(self, values: Array, open_value: float = np.nan) -> Array:
        """Values of the closed contacts in their places among all n."""
        everywhere = np.full(self.n, open_value)
        everywhere[self.index] = values
        return everywhere


def _sliding(system: System, q: Array, u: Array, p: Array, t: float, gap_tol: float, velocity_tol: float) -> _Sliding:
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
    M = system.mass(q, t, p)
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
    mu, _, _, a = (law[index] for law in system.laws(p))
    zeta = _drift(system, q, u, t, p)[index]
    V_N, V_T = (np.asarray(np.linalg.solve(M, W.T), dtype=float) for W in (W_N, W_T))
    h = system.force(q, u, t, p) - W_T.T @ (s * a)
    return _Sliding(
        index=index,
        n=system.n_contacts,
        u=u,
        s=s,
        mu=mu,
        a=a,
        alpha=np.diag(W_N @ V_N),
        delta=np.diag(W_N @ V_T),
        free=np.asarray(np.linalg.solve(M, h), dtype=float),
        V=V_N - V_T * (mu * s),
        V_T=V_T[:, s == 0.0],
        W_N=W_N,
        W_T=W_T,
        zeta_N=zeta[:, 0],
        zeta_T=zeta[:, 1],
    )


def _velocities(W_N: Array, W_T: Array, w_hat: Array, u: Array, index: np.ndarray) -> tuple[Array, Array]:
    gamma = np.stack([W_N @ u, W_T @ u], axis=-1) + w_hat
    size = np.stack([np.abs(W_N) @ np.abs(u), np.abs(W_T) @ np.abs(u)], axis=-1) + np.abs(w_hat)
    return gamma[index], size[index]


def _drift(system: System, q: Array, u: Array, t: float, p: Array) -> Array:
    """zeta = (dW/dt)^T u + d w_hat/dt, (n, 2): the part of d gamma/dt that is there without du/dt.

    Central differences of sixth order along the motion; the step keeps truncation and round-off near 1e-12.
    """
    step = 2e-3 / (1.0 + float(np.abs(u).max()))

    def gamma(tau: float) -> Array:
        W_N, W_T, w_hat = system.geometry(q + tau * u, t + tau, p)
        return np.stack([W_N @ u, W_T @ u], axis=-1) + w_hat

    pairs = [gamma(i * step) - gamma(-i * step) for i in (1, 2, 3)]
    return (45.0 * pairs[0] - 9.0 * pairs[1] + pairs[2]) / (60.0 * step)


def _local_mass(system: System, q: Array, t: float, p: Array, contact: int) -> tuple[float, float]:
    W_N, W_T, _ = system.geometry(q, t, p)
    V_N = np.linalg.solve(system.mass(q, t, p), W_N[contact])
    return float(W_N[contact] @ V_N), float(W_T[contact] @ V_N)


def _critical(alpha: Array, delta: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.where(delta > 0.0, alpha / np.where(delta > 0.0, delta, 1.0), np.inf)
