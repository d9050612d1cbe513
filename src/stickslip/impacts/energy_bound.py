"""Whether an impact can gain energy under Newton's law, asked before any impact happens.

Let E be the diagonal matrix of the restitution coefficients, xi = gamma+ + E gamma-, gamma+ - gamma- = G Lambda.  Then

    T+ - T- = Lambda . (gamma+ + gamma-)/2 = Lambda . (1 + E)^-1 xi - Lambda . D G Lambda / 2,    D = (1 - E)(1 + E)^-1

The first term is never positive: Lambda_N xi_N = 0 and Lambda_T xi_T <= 0 at each contact ([GS05] eq. (12)).  So no
impact gains energy if Lambda . D G Lambda >= 0 for every Lambda in the friction cone.

Where all coefficients are equal, D is a multiple of 1 and G is positive semidefinite.  Then no impact gains energy in
any configuration ([PG05] section 3, [FLG10] 3.1).  Else the cone is spanned by the edges (1, mu) and (1, -mu) of each
contact.  Lambda = R z with z >= 0, and the question is whether Q = R^T (D G + G D) R / 2 is copositive.

A matrix is copositive if no principal submatrix has an eigenvector with positive entries to a negative eigenvalue
(Kaplan).  For few contacts all submatrices are looked at.  An eigenvector found gives impulses, and velocities before
the impact to which they belong: an example that gains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.checks import Array, real_array, real_number
from stickslip.impacts.impact import impact
from stickslip.laws import Newton, RestitutionCurve
from stickslip.mechanisms.inertia import Inertia
from stickslip.mechanisms.penetration import PENETRATION_TOLERANCE, check_state, gap_tolerance
from stickslip.mechanisms.system import CLUTCH, CONTACT, System, require_system

MOST_EDGES = 12  # 4,095 submatrices; six contacts with friction
MOST_SWIFT = 6  # coefficients of the approach speed, 64 corners
MOST_EXAMPLES = 20  # directions that are tried as impacts
CHECKED = 1e300  # [m], penetration_tol of a configuration that was judged before
NEGATIVE = 1e-12  # eigenvalues above minus this share of the largest one are round-off

NEVER, CAN, OPEN = "never gains", "can gain", "not excluded"


@dataclass(frozen=True, eq=False)
class EnergyBound:
    """Result of `energy_bound`.

    Attributes
    ----------
    verdict : "never gains" (proven), "can gain" (an example is given) or "not excluded" (neither is known)
    reason : why, in words
    u : velocities before an impact that gains energy, (f,); None without an example
    gain : energy gained by the example, as a share of the kinetic energy before it
    """

    verdict: str
    reason: str
    u: Array | None = None
    gain: float = 0.0

    @property
    def cannot_gain(self) -> bool:
        """Whether it is proven that no impact gains energy."""
        return self.verdict == NEVER

    def __str__(self) -> str:
        return f"an impact {self.verdict} energy: {self.reason}" if self.verdict != OPEN else self.reason


def energy_bound(
    system: System,
    q: ArrayLike | None = None,
    *,
    params: Mapping[Any, float] | None = None,
    t: float = 0.0,
    gap_tol: float = 1e-9,
    penetration_tol: float = PENETRATION_TOLERANCE,
) -> EnergyBound:
    """Whether impacts under Newton's law with the system's coefficients can gain energy, [FLG10] 3.1.

    Parameters
    ----------
    q : configuration, (f,); its closed contacts are looked at.  None: any configuration, with any contacts closed.
        Coefficients that depend on coordinates or time need q; those of the approach speed may have any value in [0, 1]
    params : parameters that differ from the system's
    t : time [s]
    gap_tol : contacts with at most this gap are closed [m]
    penetration_tol : deepest penetration, and largest |g| of a constraint, that is accepted [m]

    Examples
    --------
    >>> import stickslip as ss
    >>> bar = ss.library.impacting_bar(restitution_normal=0.5, restitution_tangential=0.5)
    >>> ss.energy_bound(bar.system).verdict
    'never gains'
    """
    require_system(system)
    system.require_planar("energy_bound")
    p, gap_tol = system.parameter_vector(params), gap_tolerance(gap_tol)
    if q is not None:
        start = real_array(q, f"q must be {system.n_dof} numbers, one per coordinate, got {q!r}.")
        q, _, p = system.check(start, np.zeros(system.n_dof), params, real_number(t, "t"), ("q", "u"))
        check_state(system, q, t, p, penetration_tol)
    kinds = np.array(system.contact_kinds, dtype=int)
    mu, eps_N, eps_T, _ = system.laws(p)
    if system.state_laws and q is None:
        (name, k), text = next(iter(system.state_laws.items()))
        return EnergyBound(OPEN, f"{name} of contact {system.contact_names[k]!r} depends on the state, {text}: give q.")
    if q is not None:
        mu, eps_N, eps_T, _ = system.laws_at(q, t, p)
    contacts = np.flatnonzero((kinds == CONTACT) | (kinds == CLUTCH))  # what else there is has no impulse at an instant
    frictional = mu > 0.0
    coefficients = np.concatenate([eps_N[contacts], eps_T[contacts][frictional[contacts]]])
    swift = _of_the_approach(system)
    if np.any(coefficients > 1.0):
        return EnergyBound(OPEN, f"a restitution coefficient of {coefficients.max():g} is above 1.")
    if not swift and (len(coefficients) == 0 or np.ptp(coefficients) == 0.0):
        moving = _moves(system, q, params, t)
        if moving is None:
            return EnergyBound(NEVER, "all restitution coefficients are equal, in every configuration")
        return EnergyBound(OPEN, f"contact {moving!r} moves by itself and may do work.")
    if q is None:
        return EnergyBound(
            OPEN,
            f"restitution coefficients from {coefficients.min():g} to {coefficients.max():g} may gain energy in some "
            "configuration: give q.",
        )
    place = np.asarray(q)
    moving = _moves(system, place, params, t)
    if moving is not None:
        return EnergyBound(OPEN, f"contact {moving!r} moves by itself and may do work.")
    index = contacts[system.start_gap(place, t, p)[contacts] <= gap_tol]
    if not len(index):
        return EnergyBound(NEVER, "no contact is closed here")
    return _at(system, place, p, t, index, params, gap_tol)


def _at(
    system: System, q: Array, p: Array, t: float, index: np.ndarray, params: Mapping[Any, float] | None, gap_tol: float
) -> EnergyBound:
    """The verdict at a configuration with the closed contacts `index`."""
    mu, eps_N, eps_T, _ = (law[index] for law in system.laws_at(q, t, p, None, index))
    W_N, W_T, _ = (rows[index] for rows in system.geometry(q, t, p))
    k, frictional = len(index), mu > 0.0
    W = np.concatenate([W_N, W_T[frictional]])
    V = Inertia.at(system, q, t, p).solve(W.T)
    G, eps = W @ V, np.concatenate([eps_N, eps_T[frictional]])
    D = (1.0 - eps) / (1.0 + eps)
    R = _edges(mu, frictional)
    if k == 1 and frictional[0]:
        R = _approached(R, G)
    swift = _of_the_approach(system)
    rows = [i for i, c in enumerate(index) if ("restitution_normal", c) in swift]
    rows += [k + i for i, c in enumerate(index[frictional]) if ("restitution_tangential", c) in swift]
    if rows:
        return _for_all_speeds(G, D, R, rows, k)
    Q = 0.5 * R.T @ (D[:, None] * G + G * D) @ R
    if np.linalg.eigvalsh(Q)[0] >= -NEGATIVE * max(np.abs(Q).max(), 1e-300) or np.all(Q >= 0.0):
        return EnergyBound(NEVER, f"its quadratic form is not negative on the friction cones of {k} closed contacts")
    if Q.shape[0] > MOST_EDGES:
        return EnergyBound(
            OPEN, f"{k} closed contacts are too many to decide; all coefficients equal would exclude it."
        )
    found = negative_directions(Q)
    if not found:
        return EnergyBound(NEVER, f"its quadratic form is copositive on the friction cones of {k} closed contacts")
    best = EnergyBound(OPEN, "the sufficient condition fails, but no impact was found that gains energy.")
    for z in found[:MOST_EXAMPLES]:
        # contacts that stick have xi = 0: gamma- = -(1 + E)^-1 G Lambda; u- of least energy with gamma- = W u-
        u = V @ np.linalg.lstsq(G, -(G @ (R @ z)) / (1.0 + eps), rcond=1e-12)[0]
        gain = _gain(system, q, u, params, t, gap_tol)
        if gain > max(best.gain, 1e-9):
            u = u / float(np.abs(u).max())
            best = EnergyBound(CAN, f"with the velocities `u` it gains {100 * gain:.3g} % of its energy", u, gain)
    return best


def _of_the_approach(system: System) -> set[tuple[str, int]]:
    """The restitution coefficients that depend on the approach speed: they are known at an impact only."""
    found = set()
    for name, k in system.state_laws:
        curve = getattr(getattr(system, "contacts", (None,) * (k + 1))[k], name, None)
        if isinstance(curve, RestitutionCurve):
            found.add((name, k))
    return found


def _for_all_speeds(G: Array, D: Array, R: Array, rows: list[int], k: int) -> EnergyBound:
    """The verdict for coefficients in `rows` anywhere in [0, 1], since they depend on the approach speed.

    The quadratic form is linear in D = (1 - eps)/(1 + eps), which lies in [0, 1].  So it is copositive for all of them
    if it is at the corners.
    """
    if R.shape[1] > MOST_EDGES or len(rows) > MOST_SWIFT:
        return EnergyBound(OPEN, f"{k} closed contacts with restitution of the approach speed are too many to decide.")
    for corner in product((0.0, 1.0), repeat=len(rows)):
        ends = D.copy()
        ends[rows] = corner
        Q = 0.5 * R.T @ (ends[:, None] * G + G * ends) @ R
        if np.linalg.eigvalsh(Q)[0] < -NEGATIVE * max(np.abs(Q).max(), 1e-300) and negative_directions(Q):
            return EnergyBound(
                OPEN, "restitution depends on the approach speed, and some values in [0, 1] would gain energy."
            )
    return EnergyBound(
        NEVER,
        f"its quadratic form is not negative for {k} closed contacts, whatever restitution in [0, 1] their speeds give",
    )


def _moves(system: System, q: ArrayLike | None, params: Mapping[Any, float] | None, t: float) -> str | None:
    """The name of a contact that moves by itself, None where none does.

    Without q an odd place and time stand for all: w_hat is made of smooth functions, which vanish there only if they
    vanish everywhere.
    """
    if q is None:
        q, t = 0.1 * np.sin(1.0 + np.arange(system.n_dof)), t + 0.123456789
    with np.errstate(all="ignore"):
        w_hat = system.geometry(np.asarray(q, dtype=float), t, system.parameter_vector(params))[2]
    moving = np.flatnonzero(~(np.abs(w_hat).max(axis=1, initial=0.0) == 0.0))
    return system.contact_names[moving[0]] if len(moving) else None


def _edges(mu: Array, frictional: np.ndarray) -> Array:
    """Edges of the friction cones as columns; rows are Lambda_N of all contacts, Lambda_T of those with friction."""
    k, T = len(mu), np.cumsum(frictional) - 1
    columns = []
    for i in range(k):
        for sign in (1.0, -1.0) if frictional[i] else (0.0,):
            edge = np.zeros(k + int(frictional.sum()))
            edge[i] = 1.0
            if frictional[i]:
                edge[k + T[i]] = sign * mu[i]
            columns.append(edge)
    return np.array(columns).T


def _approached(R: Array, G: Array) -> Array:
    """Edges of the impulses of one contact that belong to velocities which approach, (G Lambda)_N >= 0.

    An edge against it gives way to the impulse on the border between both edges.
    """
    normal = G[0] @ R
    if np.all(normal >= 0.0):
        return R
    bad = int(np.argmin(normal))
    border = R[:, bad] * normal[1 - bad] - R[:, 1 - bad] * normal[bad]
    return np.column_stack([R[:, 1 - bad], border / np.abs(border).max()])


def negative_directions(Q: Array) -> list[Array]:
    """All z >= 0 with z Q z < 0 that are eigenvectors of principal submatrices, the steepest first.

    There is none if and only if Q is copositive.
    """
    n, size = len(Q), max(float(np.abs(Q).max()), 1e-300)
    found: list[tuple[float, Array]] = []
    for many in range(1, n + 1):
        for chosen in combinations(range(n), many):
            rows = list(chosen)
            values, vectors = np.linalg.eigh(Q[np.ix_(rows, rows)])
            for value, vector in zip(values, vectors.T, strict=True):
                if value >= -NEGATIVE * size:
                    break
                upward = vector if vector.sum() > 0.0 else -vector
                if np.all(upward > 0.0):
                    z = np.zeros(n)
                    z[rows] = upward
                    found.append((float(value), z))
    return [z for _, z in sorted(found, key=lambda pair: pair[0])]


def _gain(system: System, q: Array, u: Array, params: Mapping[Any, float] | None, t: float, gap_tol: float) -> float:
    """Energy that an impact gains, as a share of the kinetic energy before it; 0 where all contacts separate."""
    try:
        hit = impact(system, q, u, Newton(), params=params, t=t, gap_tol=gap_tol, penetration_tol=CHECKED)
    except ValueError:
        return 0.0
    kinetic = float(system.energy(q, u, t, system.parameter_vector(params))[0])
    return float(hit.energy_change) / kinetic if hit.solved and kinetic > 0.0 else 0.0
