"""Erdmann's condition: whether impulses can occur without a collision.

[S00] section 3 asks of one contact that n^T M^-1 z >= 0 for all z in the friction cone FC(q): contact forces then never
press the bodies together.  With alpha = w_N^T M^-1 w_N and delta = w_N^T M^-1 w_T this reads alpha - mu |delta| >= 0.

For several contacts the condition on every pair is too strict: it would forbid a row of frictionless balls.  So its
purpose is checked here instead.  An impulse Lambda takes u^- to u^+ = u^- + M^-1 W Lambda.  It is no collision if the
contacts that push have gamma_N^- >= 0; at these contacts it obeys Coulomb's law and gamma_N^+ = 0.  If an impulse
without collision exists at all, then also one that stops everything, u^+ = 0, with gamma_N^- = -(G Lambda)_N.  The
question is whether

    Lambda_N >= 0,  |Lambda_T| <= mu Lambda_N,  sum Lambda_N = 1,  (G Lambda)_N <= 0 on the contacts that push

has a solution that moves something, M^-1 W Lambda != 0: a linear program for every set of contacts.  For one contact it
is Erdmann's condition.  Without friction G_NN is positive semidefinite, and no solution exists.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from stickslip.checks import Array, real_number, shown
from stickslip.mechanisms.inertia import Inertia
from stickslip.mechanisms.system import CONTACT, KIND_NAMES, System, require_system

_MOST = 10
"""Contacts whose sets are all looked at."""
_PRESSED = 1e-9
"""Rounding of the linear programs, as a share of the largest alpha."""


@dataclass(frozen=True, eq=False)
class Erdmann:
    """Whether impulses without collision can occur at a configuration; `erdmann` returns it.

    Attributes
    ----------
    holds : True if impulses without collision cannot occur at this configuration
    contacts : names of the k contacts that were looked at
    margin : alpha - mu |delta| of each contact alone [1/kg], (k,); negative where it can jam by itself
    critical_friction : alpha/|delta| of each contact, inf where delta = 0, (k,)
    pushing : contacts that push in the impulse found, () where none was found
    normal_impulse, tangential_impulse : the impulse found, with sum Lambda_N = 1 N s, (k,); zero where none was found
    velocity_before : u^- for which the impulse occurs, (f,): gamma_N^- >= 0 at the contacts that push, and it stops
        them
    """

    holds: bool
    contacts: tuple[str, ...]
    margin: Array
    critical_friction: Array
    pushing: tuple[str, ...]
    normal_impulse: Array
    tangential_impulse: Array
    velocity_before: Array

    def __str__(self) -> str:
        if self.holds:
            least = "" if not len(self.margin) else f"; smallest margin {self.margin.min():.4g} 1/kg"
            return f"Erdmann's condition holds: no impulses without collision{least}"
        return f"impulses without collision can occur: {', '.join(self.pushing)} can jam"


def erdmann(
    system: System,
    q: ArrayLike,
    *,
    contacts: Sequence[str] | None = None,
    params: Mapping[Any, float] | None = None,
    t: float = 0.0,
    gap_tol: float = 1e-9,
) -> Erdmann:
    """Whether impulses without collision can occur at a configuration ([S00] section 3).

    Parameters
    ----------
    q : configuration, shape (f,)
    contacts : names of the contacts to look at; by default all with a gap of at most `gap_tol` [m]
    params : parameters that differ from the system's
    t : time [s]

    Raises
    ------
    ValueError : no closed contact, more than 10 closed contacts, an unknown name, elements other than contacts, or a
        contact whose gap has no gradient at q.

    Examples
    --------
    >>> import stickslip as ss
    >>> rod = ss.library.painleve_rod(friction=2.0)
    >>> ss.erdmann(rod.system, rod.q0).holds, ss.erdmann(rod.system, rod.q0, params={"friction": 1.0}).holds
    (False, True)
    """
    require_system(system)
    system.require_planar("erdmann")
    t = real_number(t, "t")
    place, _, p = system.check(q, np.zeros(system.n_dof), params, t, ("q", "u"))
    index = _chosen(system, place, t, p, contacts, gap_tol)
    inertia = Inertia.at(system, place, t, p)
    W_N, W_T, _ = (rows[index] for rows in system.geometry(place, t, p))
    V_N, V_T = inertia.solve(W_N.T), inertia.solve(W_T.T)
    mu = system.laws_at(place, t, p, None, index)[0][index]
    alpha = np.einsum("ij,ji->i", W_N, V_N)
    delta = np.einsum("ij,ji->i", W_N, V_T)
    names = tuple(system.contact_names[k] for k in index)
    if np.any(alpha <= 0.0):
        name = names[int(np.argmin(alpha))]
        raise ValueError(
            f"the gap of contact {name!r} has no gradient at this configuration: it has no normal direction."
        )
    N, T, pushing = _impulse(W_N, V_N, V_T, mu, alpha, delta)
    with np.errstate(divide="ignore", invalid="ignore"):
        critical = np.where(np.abs(delta) > 1e-12 * alpha, alpha / np.abs(delta), np.inf)
    return Erdmann(
        holds=not pushing,
        contacts=names,
        margin=alpha - mu * np.abs(delta),
        critical_friction=critical,
        pushing=tuple(names[k] for k in pushing),
        normal_impulse=N,
        tangential_impulse=T,
        velocity_before=-(V_N @ N + V_T @ T),
    )


def _chosen(system: System, q: Array, t: float, p: Array, contacts: Sequence[str] | None, gap_tol: float) -> np.ndarray:
    """Numbers of the contacts to look at."""
    g = system.gap(q, t, p)
    if contacts is None:
        kinds = np.array(system.contact_kinds, dtype=int)
        index = np.flatnonzero((kinds == CONTACT) & (g <= gap_tol))
        if not len(index):
            raise ValueError(
                f"no contact is closed: the smallest gap is {g.min(initial=np.inf):.6g} m, gap_tol = {gap_tol:g} m; "
                "name the contacts to look at with contacts=."
            )
    else:
        if isinstance(contacts, str) or not isinstance(contacts, Iterable):
            raise ValueError(f"contacts must be a list of names, got {shown(contacts)}.")
        contacts = list(contacts)
        known = {*system.contact_names}
        unknown = [name for name in contacts if not isinstance(name, str) or name not in known]
        if unknown or not len(contacts):
            raise ValueError(f"contacts must be names among {', '.join(system.contact_names)}, got {shown(contacts)}.")
        index = np.array(sorted({system.contact_names.index(name) for name in contacts}))
    other = [k for k in index if system.contact_kinds[k] != CONTACT]
    if other:
        raise ValueError(
            f"erdmann looks at unilateral contacts; {system.contact_names[other[0]]!r} is a "
            f"{KIND_NAMES[system.contact_kinds[other[0]]]} element."
        )
    if len(index) > _MOST:
        raise ValueError(
            f"erdmann looks at all sets of at most {_MOST} contacts, got {len(index)}: name fewer of them."
        )
    return index


def _impulse(
    W_N: Array, V_N: Array, V_T: Array, mu: Array, alpha: Array, delta: Array
) -> tuple[Array, Array, tuple[int, ...]]:
    """An impulse without collision, N and T (k,), and the contacts that push; zeros and () where none exists."""
    k = len(mu)
    N, T = np.zeros(k), np.zeros(k)
    jams = np.flatnonzero(alpha < mu * np.abs(delta))
    if len(jams):  # by itself: alpha Lambda_N + delta Lambda_T = 0
        one = int(jams[0])
        N[one], T[one] = 1.0, -alpha[one] / delta[one]
        return N, T, (one,)
    scale = float(alpha.max(initial=0.0))
    for pushing in _sets(k):
        rows = list(pushing)
        program = _Program(
            np.hstack([W_N[rows] @ V_N[:, rows], W_N[rows] @ V_T[:, rows]]) / scale,
            mu[rows],
            np.hstack([V_N[:, rows], V_T[:, rows]]),
        )
        x = program.impulse()
        if x is not None:
            N[rows], T[rows] = x[: len(rows)], x[len(rows) :]
            return N, T, pushing
    return N, T, ()


def _sets(k: int) -> Iterator[tuple[int, ...]]:
    """All sets of two and more contacts, small ones first."""
    for size in range(2, k + 1):
        yield from combinations(range(k), size)


@dataclass(frozen=True)
class _Program:
    """The linear programs of one set of n contacts: x = (N, T, s) with G (N, T) <= s, |T| <= mu N, sum N = 1.

    Attributes: G, rows (G_NN, G_NT) of the contacts that push, scaled to 1, (n, 2 n); mu (n,); V, M^-1 W, (f, 2 n).
    """

    G: Array
    mu: Array
    V: Array

    def impulse(self) -> Array | None:
        """An impulse (N, T) that presses no contact in and moves something; None where none exists.

        Of several it is one whose velocities before, -(G Lambda)_N, are nearest to zero.
        """
        n = len(self.mu)
        least = self._minimise(np.append(np.zeros(2 * n), 1.0), free=True)
        if least is None or least[-1] > _PRESSED:
            return None
        candidates = [-np.append(self.G.sum(axis=0), 0.0)]
        candidates += [np.append(sign * row, 0.0) for row in self.V for sign in (1.0, -1.0)]
        for cost in candidates:  # a self-stress, V Lambda = 0, changes no velocity: look for what does
            x = self._minimise(cost, free=False)
            if x is not None and np.abs(self.V @ x[:-1]).max(initial=0.0) > 1e-7 * np.abs(self.V).max(initial=0.0):
                return x[:-1]
        return None

    def _minimise(self, cost: Array, *, free: bool) -> Array | None:
        """The solution of the program, with s free or s = 0; None where it has none."""
        n, mu = len(self.mu), np.diag(self.mu)
        column = np.zeros((n, 1))
        A = np.block([[self.G, column - 1.0], [-mu, np.eye(n), column], [-mu, -np.eye(n), column]])
        total = np.concatenate([np.ones(n), np.zeros(n + 1)])[None]
        bounds = [(0.0, None)] * n + [(None, None)] * n + [(None, None) if free else (0.0, 0.0)]
        answer = linprog(cost, A_ub=A, b_ub=np.zeros(3 * n), A_eq=total, b_eq=[1.0], bounds=bounds)
        return np.asarray(answer.x) if answer.success else None
