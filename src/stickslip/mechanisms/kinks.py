"""Kinks: places where Max, Min, Abs, sign, Heaviside or Piecewise of coordinates and time change their branch.

Integrators on acceleration level need every expression to be smooth between events.  `hold` writes each of these
functions with its branch held: Max(a, b) is a while the branch of a - b is positive, else b, whatever a and b are.  A
branch is one more parameter, +1 or -1.  The sign of the level a - b tells when the branch must change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sympy as sp
from sympy.core.relational import Relational

from stickslip.mechanisms.derivation import derivative, gradient, shorten
from stickslip.mechanisms.ranges import Ranges
from stickslip.mechanisms.source import function_source, source_symbols
from stickslip.mechanisms.symbolic import Equations

Expr = Any

_LAWS = ("mu", "threshold", "mu_slip", "law_values")  # what acts between impacts

_KINKED = (sp.Max, sp.Min, sp.Abs, sp.sign, sp.Heaviside, sp.Piecewise)


class Branches:
    """The branches of expressions: `levels` are positive on one side of each kink, `names` its parameters.

    Kinks of expressions that contain velocities are left as they are: what turns with a velocity, such as friction
    that was written as a force, may stay right on its kink.
    """

    def __init__(self, moving: set[Expr], velocities: set[Expr], first: int) -> None:
        self.moving, self.velocities, self.first = moving, velocities, first
        self.levels: list[Expr] = []
        self.names: list[Expr] = []
        self.gates: list[Expr] = []  # names of the branches that say whether an open contact may close

    def gate(self, gap: Expr, condition: Expr) -> Expr:
        """A gap that is there only while its branch is +1, see `Contact.closes_when`; else it reads 1.

        The branch of an open contact turns to -1 where its condition ends, and back to +1 where the condition holds and
        the gap is positive again.  While the contact is closed nobody asks.
        """
        name = sp.Symbol(f"p[{self.first + len(self.names)}]", real=True)
        self.levels.append(sp.Piecewise((condition, name > 0), (sp.Min(condition, gap), True)))
        self.names.append(name)
        self.gates.append(name)
        return sp.Piecewise((gap, name > 0), (sp.S.One, True))

    def above(self, level: Expr) -> Expr:
        """The relation that says level > 0, by its branch."""
        level = shorten(sp.sympify(level))
        turned = level.could_extract_minus_sign()
        level = shorten(-level) if turned else level
        if level not in self.levels:
            self.levels.append(level)
            self.names.append(sp.Symbol(f"p[{self.first + len(self.names)}]", real=True))
        name = self.names[self.levels.index(level)]
        return name < 0 if turned else name > 0

    def hold(self, x: Expr) -> Expr:
        """An expression with all its branches held."""
        if x.is_Atom or self.moving.isdisjoint(x.free_symbols):
            return x
        if isinstance(x, sp.Piecewise):
            return sp.Piecewise(*[(self.hold(value), self._condition(condition)) for value, condition in x.args])
        parts = [self.hold(part) for part in x.args]
        if isinstance(x, (sp.Max, sp.Min)):
            parts = [self.hold(part) for part in sorted(x.args, key=sp.default_sort_key)]
            held = parts[0]
            for other in parts[1:]:
                if not self._turns(held - other):
                    return x.func(*parts)
                larger = self.above(held - other)
                pair = (held, other) if isinstance(x, sp.Max) else (other, held)
                held = sp.Piecewise((pair[0], larger), (pair[1], True))
            return held
        if isinstance(x, (sp.Abs, sp.sign, sp.Heaviside)) and self._turns(parts[0]):
            ends = {sp.Abs: (parts[0], -parts[0]), sp.sign: (1, -1), sp.Heaviside: (1, 0)}[x.func]
            return sp.Piecewise((ends[0], self.above(parts[0])), (ends[1], True))
        if isinstance(x, sp.Pow) and x.args[0].is_nonnegative and parts[0] != x.args[0] and not x.args[1].is_integer:
            parts[0] = sp.Abs(parts[0])  # max(0, -x)^(3/2) is real a little beyond its kink, too
        return x.func(*parts)

    def _turns(self, level: Expr) -> bool:
        symbols = level.free_symbols
        return not self.moving.isdisjoint(symbols) and self.velocities.isdisjoint(symbols)

    def _condition(self, condition: Expr) -> Expr:
        held: dict[Expr, Expr] = {}
        for relation in condition.atoms(Relational):
            level = self.hold(relation.lhs - relation.rhs)
            if not self._turns(level) or isinstance(relation, (sp.Eq, sp.Ne)):
                continue
            held[relation] = self.above(level if isinstance(relation, (sp.Gt, sp.Ge)) else -level)
        return condition.xreplace(held)


def branched(equations: Equations, from_gaps: Sequence[bool]) -> tuple[Equations, Branches] | None:
    """The equations with their branches held, and those; None where they have none.

    `from_gaps` says of each contact whether its normal is the derivative of its gap.  Energies stay as they are: they
    are looked at in the book only.
    """
    eq = equations.replaced(source_symbols(equations.q, equations.u, equations.t, equations.parameters))
    rows = (eq.M, eq.h, eq.g_N, eq.W_N, eq.w_hat_N, eq.W_T, eq.w_hat_T, *(sp.Tuple(*getattr(eq, x)) for x in _LAWS))
    if not any(part.atoms(*_KINKED) for part in rows) and not eq.gates:
        return None
    speeds = {sp.Symbol(f"speed[{k}]", nonnegative=True) for k in range(len(eq.kind))}
    branches = Branches({*eq.q, eq.t}, {*eq.u, *speeds}, len(eq.parameters))
    held = {name: getattr(eq, name).applyfunc(branches.hold) for name in ("M", "h", "g_N", "W_T", "w_hat_T")}
    g_N, W_N, w_hat_N = held["g_N"], eq.W_N.as_mutable(), eq.w_hat_N.as_mutable()
    for k, derived in enumerate(from_gaps):
        if derived:
            W_N[k, :] = sp.Matrix([gradient(g_N[k], eq.q)])
            w_hat_N[k] = derivative(g_N[k], eq.t)
    held |= {"W_N": W_N.applyfunc(branches.hold), "w_hat_N": w_hat_N.applyfunc(branches.hold)}
    if eq.gates:
        held["g_N"] = sp.Matrix([g if c == 1 else branches.gate(g, c) for g, c in zip(g_N, eq.gates, strict=True)])
    laws: dict[str, Any] = {name: tuple(branches.hold(sp.sympify(x)) for x in getattr(eq, name)) for name in _LAWS}
    if not branches.levels:
        return None
    matrices = {name: sp.ImmutableMatrix(matrix) for name, matrix in held.items()}
    return replace(eq, parameters=(*eq.parameters, *branches.names), gates=(), **matrices, **laws), branches


def kink_source(branches: Branches) -> str:
    """The source of `kinks(q, t, p, k)`, which writes the levels of all branches into k."""
    return function_source("kinks", "q, t, p, k", [(f"k[{j}]", level) for j, level in enumerate(branches.levels)])


def kink_levels(equations: Equations, branches: Branches) -> Ranges:
    """Ranges of the levels by (q, u, t), the branches among the parameters."""
    eq = equations
    symbols = source_symbols(eq.q, eq.u, eq.t, eq.parameters)
    moving, fixed = ([symbols.get(x, x) for x in part] for part in ((*eq.q, *eq.u, eq.t), eq.parameters))
    return Ranges(branches.levels, moving, fixed)


def kink_contacts(equations: Equations, branches: Branches) -> tuple[tuple[int, ...], ...]:
    """The contacts whose gap or slip each kink is part of; none where it is one of the forces alone."""
    rows = [
        (equations.g_N[k], *equations.W_N[k, :], *equations.W_T[k, :], equations.w_hat_T[k])
        for k in range(len(equations.kind))
    ]
    inside = [set().union(*(x.free_symbols for x in row)) for row in rows]
    names = []
    for name in branches.names:
        outer = {
            other for other, around in zip(branches.names, branches.levels, strict=True) if name in around.free_symbols
        }
        names.append(tuple(k for k, symbols in enumerate(inside) if symbols & {name, *outer}))
    return tuple(names)
