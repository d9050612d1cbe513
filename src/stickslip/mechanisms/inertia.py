"""Effect of impulses on velocities: the inverse of the mass matrix, and with constraints its projection.

Constraints J u + b = 0 answer an impulse W Lambda by reactions Lambda_C of either sign,

    M (u^+ - u) = W Lambda + J^T Lambda_C,    J u^+ + b = 0.

Eliminating Lambda_C leaves the contact problem in its old form, with P in the place of M^-1:

    u^+ = u - V S^+ (J u + b) + P W Lambda,    V = M^-1 J^T,  S = J V,    P = M^-1 - V S^+ V^T
    Lambda_C = -S^+ (J (u + M^-1 W Lambda) + b)

Constraints that say one thing make S singular.  S^+ is its generalised inverse in rows that are scaled to s_ii = 1:
reactions of the least sum s_ii Lambda_i^2, which share a load equally, in whatever units the equations are written.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stickslip import codes
from stickslip.checks import Array
from stickslip.mechanisms.system import CONSTRAINT, CONTACT, System

_NEWTON_STEPS = 40


_ROUNDING = 1e-12  # of the velocities of a motion


class Contradiction(ArithmeticError):
    """Constraints that no velocity, or no position, fulfils together."""


@dataclass(frozen=True, eq=False)
class Inertia:
    """M (f, f), and the rows J (m, f) and b (m,) of the constraints; `index` (m,) are their numbers among the contacts.

    Without constraints it is M alone.
    """

    M: Array
    J: Array
    b: Array
    index: np.ndarray

    @classmethod
    def at(
        cls, system: System, q: Array, t: float, p: Array, M: Array | None = None,
        directions: tuple[Array, Array, Array] | None = None,
    ) -> Inertia:  # fmt: skip
        """The inertia at a configuration; M and (W_N, W_T, w_hat) are evaluated where they are not given."""
        M = system.mass(q, t, p) if M is None else M
        index = system.constraints
        if not len(index):
            return cls(M, np.zeros((0, len(M))), np.zeros(0), index)
        _, W_T, w_hat = system.geometry(q, t, p) if directions is None else directions
        return cls(M, W_T[index], w_hat[index, 1], index)

    def __bool__(self) -> bool:
        """Whether there are constraints."""
        return len(self.index) > 0

    @cached_property
    def V(self) -> Array:
        """M^-1 J^T, (f, m)."""
        return np.asarray(np.linalg.solve(self.M, self.J.T))

    @cached_property
    def pseudo_inverse(self) -> Array:
        """S^+, (m, m)."""
        S = self.J @ self.V
        d = np.diag(S).copy()
        scale = np.where(d > 0.0, 1.0 / np.sqrt(np.where(d > 0.0, d, 1.0)), 0.0)
        return np.asarray(np.linalg.pinv(S * np.outer(scale, scale), codes.DEPENDENT, True) * np.outer(scale, scale))

    def solve(self, X: Array) -> Array:
        """P X, (f,) or (f, k); M^-1 X where nothing is constrained."""
        Y = np.linalg.solve(self.M, X)
        return np.asarray(Y - self.V @ (self.pseudo_inverse @ (self.J @ Y)) if self else Y)

    def directions(self, W: Array) -> Array:
        """P W^T, one column per row of W (k, f); 0 where the constraints leave nothing of a direction but rounding."""
        V = self.solve(W.T)
        if self:
            whole, rest = np.einsum("ij,ji->i", W, np.linalg.solve(self.M, W.T)), np.einsum("ij,ji->i", W, V)
            V[:, rest <= codes.DEPENDENT * whole] = 0.0
        return V

    def answer(self, rate: Array) -> Array:
        """Reactions (m,) that change the velocities J u of the constraints by -rate: -S^+ rate."""
        return np.asarray(-self.pseudo_inverse @ rate)

    def reactions(self, X: Array) -> Array:
        """Reactions (m,) to a generalised impulse X (f,): -S^+ J M^-1 X."""
        return self.answer(self.J @ np.linalg.solve(self.M, X))

    def accelerate(self, h: Array, zeta: Array) -> tuple[Array, Array]:
        """du/dt under the forces h with J du/dt + zeta = 0, zeta (m,), and what it would be without reactions."""
        loose = np.asarray(np.linalg.solve(self.M, h), dtype=float)
        return (loose + self.V @ self.answer(self.J @ loose + zeta) if self else loose), loose

    def rate(self, u: Array) -> Array:
        """J u + b, (m,)."""
        return np.asarray(self.J @ u + self.b)

    def size(self, u: Array) -> Array:
        """How large the terms are that J u + b is the sum of, (m,)."""
        return np.asarray(np.abs(self.J) @ np.abs(u) + np.abs(self.b))

    def onto(self, u: Array) -> tuple[Array, Array]:
        """Velocities with J u + b = 0, changed along M^-1 J^T, and the reactions for it, (m,).

        Once more for the rounding errors of the first time.
        """
        first = self.answer(self.rate(u))
        u = u + self.V @ first
        second = self.answer(self.rate(u))
        return u + self.V @ second, first + second


def require_free(system: System, index: np.ndarray, V_N: Array, closing: Array, size: Array) -> None:
    """Raise `Contradiction` where constraints move a contact of `index` (k,) against its wall: no impulse stops it.

    V_N (f, k) are its directions P w_N; closing (k,) its velocities, `size` (k,) their terms.
    """
    kinds = system.kinds[index]
    stuck = (kinds == CONTACT) & ~V_N.any(axis=0) & (closing < -codes.HELD_LIMIT * size)
    if stuck.any():
        first = int(np.argmax(stuck))
        name, speed = system.contact_names[index[first]], -float(closing[first])
        raise Contradiction(
            f"contact {name!r} closes with {speed:.3g} m/s, and constraints hold its normal: no impulse can stop it"
        )


def require_together(system: System, inertia: Inertia, u: Array, t: float) -> None:
    """Raise `Contradiction` where velocities that were projected still violate a constraint.

    The terms of a constraint may all be rounding of other velocities, as the sideways velocity of a top's tip is: what
    is small beside the fastest that the motion's energy allows, sqrt(J M^-1 J^T) sqrt(u^T M u), contradicts nothing.
    """
    off, size = np.abs(inertia.rate(u)), inertia.size(u)
    fastest = np.sqrt(np.abs(np.einsum("ij,ji->i", inertia.J, inertia.V) * (u @ inertia.M @ u)))
    if np.any((off > codes.HELD_LIMIT * size) & (off > _ROUNDING * fastest)) or not np.all(np.isfinite(u)):
        worst = int(np.argmax(off / np.maximum(size, 1e-300)))
        name = system.contact_names[inertia.index[worst]]
        raise Contradiction(
            f"constraint {name!r} and the others contradict one another at t = {t:.9g} s: no velocity fulfils them all"
        )


def require_slopes(system: System, inertia: Inertia) -> None:
    """Raise `Contradiction` where all derivatives of a constraint's equation vanish, as those of (x - 1)^2 = 0 do."""
    for row, k in zip(inertia.J, inertia.index, strict=True):
        if system.contact_kinds[k] == CONSTRAINT and not row.any():
            raise Contradiction(
                f"constraint {system.contact_names[k]!r} has no direction at the start, since all derivatives of its "
                "equation are zero there: no reaction can keep it. Write it with a simple root, x - 1 for (x - 1)**2"
            )


def onto_equations(system: System, t: float, q: Array, p: Array) -> Array:
    """Coordinates with g(q, t) = 0 at every constraint, moved along M^-1 J^T: Newton's method, to rounding errors.

    Raises `Contradiction` where it does not arrive.
    """
    if not len(system.constraints):
        return q
    before = math.inf
    for _ in range(_NEWTON_STEPS):
        inertia = Inertia.at(system, q, t, p)
        g = system.gap(q, t, p)[inertia.index]
        size = np.abs(inertia.J) @ (1.0 + np.abs(q))
        off = float(np.max(np.abs(g) / np.maximum(size, 1e-300), initial=0.0))
        if off <= 2.0**-52 or (off <= codes.HELD_ERROR and off > 0.5 * before):
            return q
        if not math.isfinite(off):
            break
        q = q + inertia.V @ inertia.answer(g)
        before = off
    if off <= codes.HELD_ERROR:
        return q
    worst = system.contact_names[inertia.index[int(np.argmax(np.abs(g)))]]
    raise Contradiction(f"constraint {worst!r} cannot be met at t = {t:.9g} s: g = {np.abs(g).max():.3g} is left")
