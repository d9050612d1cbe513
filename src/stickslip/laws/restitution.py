"""Restitution that depends on how the bodies approach: on the speed, and on the inertia that the contact feels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Expr = Any
"""A SymPy expression."""


@dataclass(frozen=True)
class RestitutionCurve:
    """A coefficient of restitution eps(v, m) of your own, for `restitution_normal=` and `restitution_tangential=`.

    Viscoelastic spheres (Schwager and Poeschel 1998) have eps = 1 - a v^(1/5) to first order:

        v = sp.Symbol("v", nonnegative=True)
        RestitutionCurve(1 - a * v ** sp.Rational(1, 5), v)

    curve : SymPy expression in `speed`, `mass`, coordinates, time and parameters of the system
    speed : the symbol of the approach speed v = max(0, -gamma_N) before the impact [m/s]
    mass : the symbol of the inertia m = 1 / (w_N^T M^-1 w_N) that the contact feels [kg]; None where it does not occur.
        Constraints make it larger: P of `mechanisms.inertia` stands in place of M^-1.
        m v is the impulse that stops the approach of this contact alone, the load of a plastic impact

    In a time step v is the approach speed at its begin; a contact that rests has v = 0.  The coefficient must lie in
    [0, 1] at every impact; a run stops at the first other value.
    """

    curve: Expr
    speed: Expr
    mass: Expr = None

    def __post_init__(self) -> None:
        symbols = getattr(self.curve, "free_symbols", None)
        if symbols is None:
            raise ValueError(f"curve of RestitutionCurve must be a SymPy expression, got {self.curve!r}.")
        for name, symbol in (("speed", self.speed), ("mass", self.mass)):
            if symbol is not None and not getattr(symbol, "is_Symbol", False):
                raise ValueError(f"{name} of RestitutionCurve must be a SymPy symbol, got {symbol!r}.")
        if self.speed is None or self.speed not in symbols:
            raise ValueError(
                f"speed of RestitutionCurve must be the symbol of the approach speed in the curve {self.curve}, got "
                f"{self.speed!r}; for a coefficient without it give the expression itself."
            )
        if self.mass is not None and self.mass not in symbols:
            raise ValueError(f"mass of RestitutionCurve must occur in the curve {self.curve}, got {self.mass!r}.")

    def at(self, speed: Expr, mass: Expr) -> Expr:
        """The curve with expressions in place of its two symbols."""
        put = {self.speed: speed}
        if self.mass is not None:
            put[self.mass] = mass
        return self.curve.xreplace(put)
