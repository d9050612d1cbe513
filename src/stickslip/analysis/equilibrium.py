"""Static equilibrium: whether contact forces exist that hold a mechanism at rest, and how far it is from slipping.

At rest the balance is h(q, 0, t) + W_N lambda_N + W_T lambda_T = 0 with lambda_N >= 0, |lambda_T| <= mu lambda_N + a.
Constraints add J^T lambda_C with reactions of any size; constraints that say one thing share them.
It is a linear program.  With k times the friction, |lambda_T| <= k (mu lambda_N + a), more forces are allowed the
larger k is.  So there is a least k, and 1/k is the factor by which friction may shrink before no forces hold.

That such forces exist does not say that they act.  Rigid bodies with friction may have other solutions with motion
([S00] 3.3); `Equilibrium.certain` tells whether rest is the only one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, linprog

from stickslip.analysis.accelerations import accelerations
from stickslip.checks import Array, real_array, real_number, shown, unknown_name
from stickslip.mechanisms.inertia import Inertia
from stickslip.mechanisms.penetration import PENETRATION_TOLERANCE, check_state, gap_tolerance
from stickslip.mechanisms.system import CLUTCH, CONTACT, FRICTION, SPRING, System, require_system

ROUND_OFF = 1e-13  # an excess of forces below this share of the loads is none
JAMMED = (
    1e-3  # more friction than the least, for forces of mechanisms that are jammed with more friction than they have
)
AT_REST = 1e-9  # accelerations below this share of those of the free system are none


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """Result of `equilibrium`.

    Attributes
    ----------
    holds : forces within the laws balance the loads
    certain : every solution on acceleration level is rest; False where another one moves, None where not enumerated
    safety_factor : all frictions may be divided by it before no forces hold; inf where none is needed; below 1 where
        friction is too small; 0 where no friction is enough
    load_factor : by how much the given load may grow before no forces hold; None without a load
    normal_force, tangential_force : (n,) [N], forces of the least share of friction; nan where nothing balances.  Of a
        constraint `tangential_force` is the reaction.  Where a mechanism is jammed, and larger normal forces always
        need less friction, some forces within the laws
    share : largest |lambda_T| / (mu lambda_N + a) of these forces, or what it tends to, 1 / safety_factor
    contact_names : for `print`
    """

    holds: bool
    certain: bool | None
    safety_factor: float
    load_factor: float | None
    normal_force: Array
    tangential_force: Array
    share: float
    contact_names: tuple[str, ...]

    def __str__(self) -> str:
        if self.safety_factor == 0.0:
            return "no equilibrium: no friction at the closed contacts, however large, balances the loads"
        factor = "no friction needed" if np.isinf(self.safety_factor) else f"safety factor {self.safety_factor:.6g}"
        lines = [f"{'equilibrium' if self.holds else 'no equilibrium'}, {factor}"]
        if self.load_factor is not None:
            lines[0] += f", load factor {self.load_factor:.6g}"
        if self.holds and self.certain is False:
            lines.append("  a solution with motion exists as well: rest is not the only answer")
        for name, N, T in zip(self.contact_names, self.normal_force, self.tangential_force, strict=True):
            lines.append(f"  {name}: normal {N:.6g} N, tangential {T:.6g} N")
        return "\n".join(lines)


@dataclass(frozen=True)
class _Balance:
    """The loads h (f,), directions (n, f) and bounds of the contacts that can carry; forces are counted in `unit` [N].

    a : load-independent part of friction, (n,) [N];  prestress : of springs in their rest position, no friction, (n,)
    J : rows of the constraints, (m, f), whose reactions have any size
    """

    h: Array
    W_N: Array
    W_T: Array
    mu: Array
    a: Array
    prestress: Array
    unit: float
    J: Array

    def forces(self, k: float, load: Array | None = None) -> tuple[Array, Array, float] | None:
        """lambda_N, lambda_T that balance h, and how far they exceed k times the friction, in `unit`; None: no balance.

        The excess is the least possible, at least -1.  With a load nothing may be exceeded, and the last number is the
        largest factor of the load instead.  Unknowns are lambda_N, lambda_T = right - left, the factor, the excess.
        """
        n, grows = len(self.mu), load is not None
        rubs = (self.mu > 0.0) | (self.a > 0.0) | (self.prestress > 0.0)
        growth = np.zeros((len(self.h), 2))
        if load is not None:
            growth[:, 0] = load
        free = len(self.J)
        balance = np.hstack([self.W_N.T, self.W_T.T, -self.W_T.T, growth, self.J.T])
        excess = np.stack([np.zeros(n), np.full(n, -1.0)], axis=1)
        within = np.hstack([-k * np.diag(self.mu), np.eye(n), np.eye(n), excess, np.zeros((n, free))])[rubs]
        cost = np.concatenate([np.zeros(3 * n), [-1.0, 0.0] if grows else [0.0, 1.0], np.zeros(free)])
        bounds: list[tuple[float | None, float | None]] = [(0.0, None)] * n
        bounds += 2 * [(0.0, None if can else 0.0) for can in rubs]
        bounds += [(0.0, None), (0.0, 0.0)] if grows else [(0.0, 0.0), (-1.0, None)]
        bounds += free * [(None, None)]
        limits = ((k * self.a + self.prestress) / self.unit)[rubs]
        answer = linprog(cost, A_ub=within, b_ub=limits, A_eq=balance, b_eq=-self.h / self.unit, bounds=bounds)
        if answer.status == 3:  # the load may grow without bound
            return np.full(n, np.nan), np.full(n, np.nan), np.inf
        if not answer.success:
            return None
        N, right, left = np.split(self.unit * np.asarray(answer.x)[: 3 * n], 3)
        factor, excess_left = answer.x[3 * n : 3 * n + 2]
        return N, right - left, float(factor) * self.unit if grows else float(excess_left)

    def least_friction(self) -> float:
        """The least k; 0 where no friction is needed, inf where none is enough."""

        def excess(k: float) -> float:
            found = self.forces(k)
            return np.inf if found is None else found[2] - ROUND_OFF

        if excess(0.0) <= 0.0:
            return 0.0
        above = 1.0
        while excess(above) > 0.0:
            above *= 4.0
            if above > 1e12 or excess(above) == np.inf:
                return np.inf
        return float(brentq(excess, 0.0, above, xtol=1e-300, rtol=1e-14))


def equilibrium(
    system: System,
    q: ArrayLike,
    *,
    load: Mapping[str, float] | None = None,
    params: Mapping[Any, float] | None = None,
    t: float = 0.0,
    gap_tol: float = 1e-9,
    penetration_tol: float = PENETRATION_TOLERANCE,
) -> Equilibrium:
    """Whether a mechanism can rest at q, the forces that hold it, and how safely they do.

    Parameters
    ----------
    q : configuration, shape (f,)
    load : a further generalised force by the name of its coordinate, such as {"x": 1.0}: the answer has the factor by
        which it may grow
    params : parameters that differ from the system's
    t : time [s]
    gap_tol : contacts with at most this gap are closed [m]
    penetration_tol : deepest penetration, and largest |g| of a constraint, that is accepted [m]

    Examples
    --------
    A brick on a ramp rests while tan(angle) <= friction.

    >>> import math, stickslip as ss
    >>> brick = ss.library.brick_on_ramp(friction=0.5, angle=0.38)
    >>> rest = ss.equilibrium(brick.system, brick.q0)
    >>> math.isclose(rest.safety_factor, 0.5 / math.tan(0.38), rel_tol=1e-9)
    True
    """
    require_system(system)
    system.require_planar("equilibrium")
    start = real_array(q, f"q must be {system.n_dof} numbers, one per coordinate, got {q!r}.")
    u = np.zeros(system.n_dof)
    q, u, p = system.check(start, u, params, real_number(t, "t"), ("q", "u"))
    check_state(system, q, t, p, penetration_tol)
    gap_tol, extra = gap_tolerance(gap_tol), _load(system, load)
    balance, index = _balance(system, q, u, p, t, gap_tol)
    n = system.n_contacts
    normal, tangential = np.full(n, np.nan), np.full(n, np.nan)
    least = balance.least_friction()
    held = balance.forces(least) if np.isfinite(least) else None
    if held is not None and held[2] > 2.0 * ROUND_OFF:  # jammed: at the least friction forces would be infinite
        held = balance.forces(max(1.0, (1.0 + JAMMED) * least))
    if held is not None:
        normal, tangential = np.zeros(n), np.zeros(n)
        normal[index], tangential[index] = held[0], held[1]
        pushed = balance.h + balance.W_N.T @ held[0] + balance.W_T.T @ held[1]
        tangential[system.constraints] = Inertia.at(system, q, t, p).reactions(pushed) if len(balance.J) else 0.0
    growth = balance.forces(1.0, extra) if extra is not None else None
    holds = bool(least <= 1.0 + 1e-9)
    return Equilibrium(
        holds=holds,
        certain=_only_rest(system, q, u, params, t, gap_tol, penetration_tol) if holds else False,
        safety_factor=float(np.inf if least == 0.0 else 1.0 / least),
        load_factor=None if extra is None else (0.0 if growth is None else growth[2]),
        normal_force=normal,
        tangential_force=tangential,
        share=float(least),
        contact_names=tuple(system.contact_names),
    )


def _load(system: System, load: Mapping[str, float] | None) -> Array | None:
    """The load as a vector (f,)."""
    if load is None:
        return None
    names = tuple(system.coordinate_names)
    if not isinstance(load, Mapping):
        raise ValueError(f"load must name coordinates, such as {{{names[0]!r}: 1.0}}, got {shown(load)}.")
    vector = np.zeros(system.n_dof)
    for name, value in load.items():
        if name not in names:
            raise ValueError(f"load: {unknown_name('coordinate', name, names)}")
        vector[names.index(name)] = real_number(value, f"load of {name}")
    if not vector.any():
        raise ValueError("load must name a coordinate and a force that is not zero.")
    return vector


def _balance(system: System, q: Array, u: Array, p: Array, t: float, gap_tol: float) -> tuple[_Balance, np.ndarray]:
    """The balance of forces at rest, and the numbers of the contacts that can carry."""
    kinds = np.array(system.contact_kinds, dtype=int)
    W_N, W_T, w_hat = system.geometry(q, t, p)
    moving = np.flatnonzero(np.abs(w_hat).max(axis=1, initial=0.0) > 0.0)
    if len(moving):
        raise ValueError(f"contact {system.contact_names[moving[0]]!r} moves by itself at t = {t:g} s: nothing rests.")
    gap = system.start_gap(q, t, p)
    springs = (kinds == SPRING) & (np.abs(gap) > gap_tol)
    mu, _, _, a = system.laws_at(q, t, p)
    h = system.force(q, u, t, p) - W_T[springs].T @ (np.sign(gap) * a)[springs]
    closed = ((kinds == CONTACT) & (gap <= gap_tol)) | (kinds == CLUTCH) | (kinds == FRICTION)
    index = np.flatnonzero(closed | ((kinds == SPRING) & ~springs))
    unit = float(np.abs(h).max(initial=0.0)) or 1.0
    spring = kinds[index] == SPRING
    friction, prestress = np.where(spring, 0.0, a[index]), np.where(spring, a[index], 0.0)
    J = W_T[system.constraints]
    return _Balance(h, W_N[index], W_T[index], mu[index], friction, prestress, unit, J), index


def _only_rest(
    system: System, q: Array, u: Array, params: Mapping[Any, float] | None, t: float, gap_tol: float, depth: float
) -> bool | None:
    """Whether every solution on acceleration level is rest; None where they cannot be enumerated."""
    found = accelerations(system, q, u, params=params, t=t, gap_tol=gap_tol, penetration_tol=depth)
    if found.verdict == "not enumerated":
        return None
    p = system.parameter_vector(params)
    free = np.linalg.solve(system.mass(q, t, p), system.force(q, u, t, p))
    scale = float(np.abs(free).max(initial=0.0)) or 1.0
    return all(np.abs(one.acceleration).max(initial=0.0) <= AT_REST * scale for one in found.solutions)
