"""`Reset`: after each return to a section the parts of a mechanism get new names, and the motion goes on as before.

A walker that has done a step is where it was, but for the names of its legs; a wheel with n spokes that has rolled on
by one spoke is where it was, but for an angle of 2 pi / n.  Their return maps are P(x) = R(flow to the section), with

    R: q -> J q + s,   u -> J u         J, s functions of the parameters

R must be a symmetry of the equations: what comes after it is the same motion in other names.  Then contacts change
their names as well, contact k has the gap that contact `partner[k]` had, and nothing has to be said about them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import sympy as sp

from stickslip.checks import Array, unknown_name
from stickslip.mechanisms.system import CONTACT, System

Expr = Any

_SAME = 1e-9  # of the sizes of equations: what differs by less is the same


@dataclass(frozen=True)
class Reset:
    """New names for coordinates at a section: swapped, shifted, turned round, or any affine map of them.

    Parameters
    ----------
    section : where, an object or text as `limit_cycle` takes it; None: where the analysis cuts
    swap : pairs of coordinates that change places, `[("theta_1", "theta_2")]`
    shift : coordinate -> what is added, a number or an expression of parameters: `{"phi": -2 * sympy.pi / 8}`
    flip : coordinates that change their sign
    map : coordinate -> its new value, an affine expression of coordinates, with factors of parameters; in place of the
        three above for this coordinate

    Velocities follow their coordinates, and contacts follow by themselves.  Expressions are SymPy, or names as text.

    >>> Reset(swap=[("theta_1", "theta_2")]).text
    'theta_1 -> theta_2, theta_2 -> theta_1'
    """

    section: Any = None
    swap: Sequence[tuple[str, str]] = ()
    shift: Mapping[str, Expr] = field(default_factory=dict)
    flip: Sequence[str] = ()
    map: Mapping[str, Expr] = field(default_factory=dict)

    def __post_init__(self) -> None:
        pairs = [tuple(pair) if isinstance(pair, (list, tuple)) else pair for pair in self.swap]
        if isinstance(self.swap, str) or not all(isinstance(p, tuple) and len(p) == 2 for p in pairs):
            raise ValueError(f"swap of a reset must be pairs of coordinates, [('a', 'b')], got {self.swap!r}.")
        for name, kind in (("shift", Mapping), ("map", Mapping), ("flip", (list, tuple))):
            if not isinstance(getattr(self, name), kind):
                what = "a list of coordinates" if name == "flip" else "a table, coordinate -> expression"
                raise ValueError(f"{name} of a reset must be {what}, got {getattr(self, name)!r}.")
        swapped = [name for pair in pairs for name in pair]
        for name in swapped:
            if swapped.count(name) > 1:
                raise ValueError(f"swap of a reset must name a coordinate once, got {name!r} twice.")
        object.__setattr__(self, "swap", tuple((str(a), str(b)) for a, b in pairs))
        object.__setattr__(self, "flip", tuple(str(name) for name in self.flip))
        for name in ("shift", "map"):
            object.__setattr__(self, name, {str(key): _expression(x, name) for key, x in getattr(self, name).items()})
        if not (self.swap or self.shift or self.flip or self.map):
            raise ValueError("a reset must change something: give swap, shift, flip or map.")

    @property
    def changes(self) -> dict[str, Expr]:
        """The new value of every coordinate that changes, as an expression."""
        partner = {a: b for pair in self.swap for a, b in (pair, pair[::-1])}
        found: dict[str, Expr] = {}
        for name in dict.fromkeys((*partner, *self.shift, *self.flip, *self.map)):
            value = sp.Symbol(partner.get(name, name))
            value = -value if name in self.flip else value
            found[name] = self.map.get(name, value + self.shift.get(name, 0))
        return found

    @property
    def text(self) -> str:
        """In words: what becomes of each coordinate."""
        return ", ".join(f"{name} -> {sp.sstr(x, full_prec=False)}" for name, x in self.changes.items())

    def on(self, system: System, p: Array) -> Relabelling:
        """The reset for a system with parameters p, contacts not yet known; ValueError for names it does not have."""
        names, f = system.coordinate_names, system.n_dof
        values = {sp.Symbol(name): float(value) for name, value in zip(system.parameter_names, p, strict=True)}
        q = [sp.Symbol(name) for name in names]
        J, s = np.eye(f), np.zeros(f)
        for name in self.changes:
            if name not in names:
                raise ValueError(f"reset: {unknown_name('coordinate', name, names)}")
        for name, given in self.changes.items():
            x = given.xreplace({symbol: sp.Symbol(symbol.name) for symbol in given.free_symbols})
            for symbol in sorted(x.free_symbols, key=str):
                if symbol not in values and symbol not in q:
                    known = (*names, *system.parameter_names)
                    raise ValueError(
                        f"reset of {name!r}: {unknown_name('coordinate or parameter', symbol.name, known)}"
                    )
            i = names.index(name)
            slopes = [sp.diff(x, symbol) for symbol in q]
            if any(not slope.free_symbols.isdisjoint(q) for slope in slopes):
                raise ValueError(f"reset of {name!r} must be affine in the coordinates, a*q + b, got {x}.")
            J[i] = [float(slope.xreplace(values)) for slope in slopes]
            s[i] = float(x.xreplace({**values, **dict.fromkeys(q, sp.S.Zero)}))
        if not (np.isfinite(J).all() and np.isfinite(s).all() and abs(np.linalg.det(J)) > 1e-12):
            raise ValueError(f"reset must be a map that has an inverse, got {self.text}.")
        return Relabelling(J, s)


def _expression(value: Any, what: str) -> Expr:
    """A number, a SymPy expression, or the name of a coordinate or parameter."""
    if isinstance(value, str) and value.isidentifier():
        return sp.Symbol(value)
    try:
        found = sp.sympify(value, strict=True)
    except sp.SympifyError:
        found = None
    if not isinstance(found, sp.Expr):
        raise ValueError(f"{what} of a reset must be numbers, names or SymPy expressions, got {value!r}.")
    return found


@dataclass(frozen=True, eq=False)
class Relabelling:
    """A reset with its numbers: q -> J q + s, u -> J u; contact k has the gap of contact `partner[k]` before.

    `sense` (n,): -1 where the direction of slip turns round.
    """

    J: Array
    s: Array
    partner: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    sense: Array = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def none(cls, f: int, n: int) -> Relabelling:
        """The names as they are, of f coordinates and n contacts."""
        return cls(np.eye(f), np.zeros(f), np.arange(n), np.ones(n))

    def after(self, other: Relabelling) -> Relabelling:
        """Both, the other one first."""
        return Relabelling(
            self.J @ other.J,
            self.J @ other.s + self.s,
            other.partner[self.partner],
            self.sense * other.sense[self.partner],
        )

    @property
    def D(self) -> Array:
        """Derivative of x = (q, u), (2 f, 2 f)."""
        zero = np.zeros_like(self.J)
        return np.block([[self.J, zero], [zero, self.J]])

    def __call__(self, x: Array) -> Array:
        """States (..., 2 f) after the reset."""
        f = len(self.s)
        return np.concatenate([x[..., :f] @ self.J.T + self.s, x[..., f:] @ self.J.T], axis=-1)

    def with_contacts(self, system: System, q: Array, u: Array, p: Array, later: float = 0.0) -> Relabelling:
        """The reset with its contacts, found from the gaps; ValueError where the equations are others after it.

        Compared near (q, u), at time 0 before the reset and `later` after it, and again a little later.
        """
        rng = np.random.default_rng(0)
        size = np.maximum(0.1, np.abs(q))
        found = None
        for t in (0.0, 0.123, 0.381):
            place = q + size * rng.uniform(-1.0, 1.0, len(q))
            speed = u + rng.uniform(-1.0, 1.0, len(u))
            self._require_same_forces(system, place, speed, p, t, later)
            pairs = self._pairs(system, place, p, t, later)
            found = pairs if found is None else found & pairs
        assert found is not None
        n = system.n_contacts
        partner = np.zeros(n, int)
        for k in range(n):
            same = np.flatnonzero(found[k] & ~np.isin(np.arange(n), partner[:k]))
            if not len(same):
                raise ValueError(
                    f"reset ({_short(self)}): contact {system.contact_names[k]!r} of system {system.name!r} is no "
                    "contact of before: none had its gap, slip and coefficients; the reset must be a symmetry."
                )
            partner[k] = same[0]
        x = self(np.concatenate([q, u]))
        W_after = system.geometry(x[: len(q)], later, p)[1] @ self.J
        W_before = system.geometry(q, 0.0, p)[1][partner]
        sense = np.where(np.sum(W_after * W_before, axis=1) < 0.0, -1.0, 1.0)
        return replace(self, partner=partner, sense=sense)

    def _require_same_forces(self, system: System, q: Array, u: Array, p: Array, t: float, later: float) -> None:
        """M and h of the state after the reset, in the old velocities, are those of before."""
        q_E, u_E = self.J @ q + self.s, self.J @ u
        after = self.J.T @ system.mass(q_E, t + later, p) @ self.J, self.J.T @ system.force(q_E, u_E, t + later, p)
        before = system.mass(q, t, p), system.force(q, u, t, p)
        for word, new, old in zip(("mass matrix", "forces"), after, before, strict=True):
            off = float(np.abs(new - old).max()) / max(float(np.abs(old).max()), 1e-300)
            if not off <= _SAME:
                raise ValueError(
                    f"reset ({_short(self)}) must be a symmetry: the {word} of system {system.name!r} differ by "
                    f"{off:.2g} of their size after it."
                )

    def _pairs(self, system: System, q: Array, p: Array, t: float, later: float) -> np.ndarray:
        """Which contact after the reset may be which before it, (n, n) bool."""
        q_E, n = self.J @ q + self.s, system.n_contacts
        kinds = np.array(system.contact_kinds, dtype=int)

        def rows(q: Array, t: float, J: Array) -> Array:
            W_N, _, w_hat = system.geometry(q, t, p)
            gates = np.where(system.gated, system.gates(q, t, p), 1.0)
            gap = np.where(kinds == CONTACT, system.gap(q, t, p), 0.0)
            return np.column_stack([kinds, gap, W_N @ J, w_hat[:, 0], gates, *system.laws(p)])

        def slips(q: Array, t: float, J: Array) -> Array:
            _, W_T, w_hat = system.geometry(q, t, p)
            return np.column_stack([W_T @ J, w_hat[:, 1]])

        new, old = rows(q_E, t + later, self.J), rows(q, t, np.eye(len(q)))
        new_slip, old_slip = slips(q_E, t + later, self.J), slips(q, t, np.eye(len(q)))
        found = np.zeros((n, n), bool)
        for k in range(n):
            for j in range(n):
                same = _close(new[k], old[j])
                found[k, j] = same and (_close(new_slip[k], old_slip[j]) or _close(new_slip[k], -old_slip[j]))
        return found


def _close(a: Array, b: Array) -> bool:
    return bool(np.all(np.abs(a - b) <= _SAME * max(1.0, float(np.abs(b).max(initial=0.0)))))


def _short(change: Relabelling) -> str:
    shift = ", ".join(f"{value:.4g}" for value in change.s)
    return f"q -> J q + ({shift})"
