"""Whether an expression jumps: gaps must be continuous, or a contact opens and closes without motion."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

import sympy as sp
from sympy.core.relational import Relational

from stickslip.mechanisms.derivation import derivative

Expr = Any

_STEPS = (sp.floor, sp.ceiling, sp.sign, sp.Heaviside)
_POINTS = 2
_ROUNDING = 1e-9


def find_jump(expression: Expr, moving: set[Expr], values: Mapping[Expr, float]) -> Expr | None:
    """The first part of an expression that jumps as the symbols `moving` vary, or None.

    `floor`, `ceiling`, `sign` and `Heaviside` of something that moves count as jumps wherever they stand.  `Mod(x, d)`
    jumps unless the expression has equal values for 0 and d.  The pieces of a `Piecewise` must meet where a condition
    turns that is linear in one symbol.  At other conditions only pieces that differ by a constant are found.  Values
    are compared at random points, with the `values` of the parameters.
    """
    parts = sorted(expression.atoms(*_STEPS, sp.Mod, sp.Piecewise), key=sp.default_sort_key)
    if not parts:
        return None
    points = [_point(moving, values, seed) for seed in range(_POINTS)]
    for part in parts:
        if moving.isdisjoint(part.free_symbols):
            continue
        if isinstance(part, sp.Piecewise):
            found = any(_differ(a, b, point) for a, b in _meetings(part, moving) for point in points)
        elif isinstance(part, sp.Mod):
            first, last = (expression.xreplace({part: end}) for end in (sp.S.Zero, part.args[1]))
            found = any(_differ(first, last, point) for point in points)
        else:
            found = True
        if found:
            return part
    return None


def _point(moving: set[Expr], values: Mapping[Expr, float], seed: int) -> dict[Expr, Expr]:
    draw = random.Random(seed)
    symbols = sorted(moving, key=sp.default_sort_key)
    return {**{s: sp.Float(v) for s, v in values.items()}, **{s: sp.Float(draw.uniform(0.1, 1.0)) for s in symbols}}


def _meetings(piecewise: Expr, moving: set[Expr]) -> Iterator[tuple[Expr, Expr]]:
    """Pairs of expressions that must be equal: a piece and those after it, where the piece's condition turns."""
    pieces = piecewise.args
    for k, (value, condition) in enumerate(pieces[:-1]):
        rest = sp.Piecewise(*pieces[k + 1 :], evaluate=False)
        for relation in sorted(condition.atoms(Relational), key=sp.default_sort_key):
            level = relation.lhs - relation.rhs
            symbol = _linear_in(level, moving)
            if symbol is not None:
                turn = {symbol: symbol - level / derivative(level, symbol)}
                yield value.subs(turn), rest.subs(turn)
            elif all(moving.isdisjoint(piece.free_symbols) for piece, _ in pieces[k:]):
                yield value, pieces[k + 1][0]


def _linear_in(level: Expr, moving: set[Expr]) -> Expr | None:
    """A symbol that an expression is linear in."""
    for symbol in sorted(moving & level.free_symbols, key=sp.default_sort_key):
        slope = derivative(level, symbol)
        if slope != 0 and symbol not in slope.free_symbols:
            return symbol
    return None


def _differ(a: Expr, b: Expr, point: Mapping[Expr, Expr]) -> bool:
    """Whether two expressions have different values at a point; False where either has no value."""
    x, y = (expression.xreplace(point).evalf() for expression in (a, b))
    if not (x.is_Float or x.is_Integer) or not (y.is_Float or y.is_Integer):
        return False
    return abs(float(x) - float(y)) > _ROUNDING * (1.0 + abs(float(x)))
