"""Reading a user's SymPy expressions: which symbols are coordinates, velocities, time and parameters."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from stickslip.checks import require_unique, unknown_name
from stickslip.laws.friction import FrictionLaw
from stickslip.laws.restitution import RestitutionCurve
from stickslip.mechanisms.derivation import Expr


def _time_symbol() -> Expr:
    """The symbol of time in a user's `dynamicsymbols`.

    Loading SymPy's mechanics takes 0.2 s. Whoever has used `dynamicsymbols` has loaded it; for all others time is `t`.
    """
    vectors = sys.modules.get("sympy.physics.vector")
    return vectors.dynamicsymbols._t if vectors else sp.Symbol("t")


class Notation:
    """The symbols of a model: what the user calls coordinates, velocities, time and parameters.

    Expressions are read into plain symbols known to be real (else SymPy differentiates Abs as a complex
    function); `original` maps those back to the user's own.
    """

    def __init__(
        self,
        q: Sequence[Expr],
        velocities: Sequence[Expr] | None,
        time: Expr,
        parameters: Mapping[Expr, float],
        expressions: Any,
    ) -> None:
        q = tuple(q) if isinstance(q, (Sequence, sp.MatrixBase, sp.Tuple)) else (q,)
        found: dict[str, Expr] = {}
        for symbol in symbols_in(expressions):
            found.setdefault(symbol.name, symbol)

        self.values = {str(getattr(key, "name", key)): value for key, value in parameters.items()}
        if len(self.values) < len(parameters):
            raise ValueError(f"parameter names must be unique, got {', '.join(str(key) for key in parameters)}.")
        self.parameters = tuple(
            key if isinstance(key, sp.Symbol) else found.get(str(key), sp.Symbol(str(key))) for key in parameters
        )
        if time is None:
            time = found["t"] if "t" in found and "t" not in self.values else _time_symbol()
        self.t = time

        self.plain: dict[Expr, Expr] = {}
        self.q = tuple(self._plain_symbol(x, "coordinate") for x in q)
        self.u = self._velocity_symbols(q, velocities)
        self.symbols = {s.name: s for s in (*self.q, *self.u, *self.parameters, self.t)}
        if len(self.symbols) < 2 * len(self.q) + len(self.parameters) + 1:
            names = [s.name for s in (*self.q, *self.u, *self.parameters, self.t)]
            require_unique("coordinate, velocity, parameter and time names", names)
        self.real = {s: s if s.is_real else sp.Symbol(s.name, real=True) for s in self.symbols.values()}
        self.original = {real: s for s, real in self.real.items()}

    @property
    def state(self) -> tuple[list[Expr], list[Expr], Expr]:
        """Coordinates, velocities and time as real symbols."""
        return [self.real[s] for s in self.q], [self.real[s] for s in self.u], self.real[self.t]

    def _plain_symbol(self, x: Expr, kind: str) -> Expr:
        if isinstance(x, sp.Symbol):
            return x
        if isinstance(x, AppliedUndef) and x.args == (self.t,):
            self.plain[x] = sp.Symbol(x.func.__name__, real=True)
            return self.plain[x]
        raise ValueError(f"a {kind} must be a SymPy symbol or a function of time {self.t} (dynamicsymbols), got {x!r}.")

    def _velocity_symbols(self, q: Sequence[Expr], velocities: Sequence[Expr] | None) -> tuple[Expr, ...]:
        if velocities is None:
            if any(isinstance(x, sp.Symbol) for x in q):
                raise ValueError(
                    "plain symbols need velocities=, the symbols that stand for their time derivatives in kinetic "
                    "and forces; or take q from sympy.physics.mechanics.dynamicsymbols and write x.diff()."
                )
            u: tuple[Expr, ...] = tuple(sp.Symbol(f"{x.name}_dot", real=True) for x in self.q)
        else:
            u = tuple(self._plain_symbol(x, "velocity") for x in velocities)
            if len(u) != len(q):
                raise ValueError(f"velocities must have {len(q)} entries, one per coordinate, got {len(u)}.")
        for x, symbol in zip(q, u, strict=True):
            if isinstance(x, AppliedUndef):
                self.plain[sp.Derivative(x, self.t)] = symbol
        return u

    def read(self, value: Any, origin: str, allowed: str = "qutp", also: frozenset[Expr] = frozenset()) -> Expr:
        """Return a user's expression in real plain symbols; those of the groups `allowed`, and `also`, may occur."""
        if isinstance(value, str):
            if value not in self.symbols:
                raise ValueError(f"{origin}: {unknown_name('symbol', value, self.symbols)}")
            value = self.symbols[value]
        try:
            expression = sp.sympify(value, strict=True)
        except sp.SympifyError:
            raise ValueError(f"{origin} must be a number or a SymPy expression, got {value!r}.") from None
        if not isinstance(expression, sp.Expr):
            raise ValueError(f"{origin} must be one SymPy expression, got {type(value).__name__} {value!r}.")
        if self.plain:
            if any(d not in self.plain for d in expression.atoms(sp.Derivative)):
                expression = expression.doit()
            expression = expression.xreplace(self.plain)
        left = sorted(expression.atoms(AppliedUndef, sp.Derivative), key=sp.default_sort_key)
        if left:
            raise ValueError(f"{origin} contains {left[0]}, which is neither a coordinate nor its first derivative.")
        groups = {"q": self.q, "u": self.u, "t": (self.t,), "p": self.parameters}
        permitted = {symbol for key in allowed for symbol in groups[key]} | also
        for symbol in sorted(expression.free_symbols - permitted, key=sp.default_sort_key):
            self._refuse(symbol, origin, allowed)
        return expression.xreplace(self.real)

    def _refuse(self, symbol: Expr, origin: str, allowed: str) -> None:
        known = self.symbols.get(symbol.name)
        if known is None:
            raise ValueError(
                f"{origin} contains {symbol.name!r}, which is neither coordinate, velocity, time nor parameter; "
                f"add it as parameters={{{symbol.name}: value}}."
            )
        if known != symbol:
            raise ValueError(
                f"{origin} contains a second symbol called {symbol.name!r} with other assumptions than the "
                "coordinate, velocity, time or parameter of that name; use one symbol for both."
            )
        words = {"q": "coordinates", "u": "velocities", "t": "time", "p": "parameters"}
        raise ValueError(
            f"{origin} may depend on {', '.join(words[key] for key in allowed)} only, but contains {symbol.name!r}."
        )


def symbols_in(values: Any) -> Iterator[Expr]:
    """Symbols of all expressions in nested containers, in a fixed order."""
    if isinstance(values, Mapping):
        values = list(values.values())
    if isinstance(values, sp.Basic):
        yield from sorted(values.free_symbols, key=sp.default_sort_key)
    elif isinstance(values, (list, tuple, sp.MatrixBase)):
        for value in values:
            yield from symbols_in(value)
    elif isinstance(values, FrictionLaw):
        yield from symbols_in(values.parameters)
    elif isinstance(values, RestitutionCurve):
        yield from (x for x in symbols_in(values.curve) if x not in (values.speed, values.mass))
