"""Numbers that remember how they were computed: a drawing is called with them, and its shapes come back as expressions.

`Traced` is a number at one state and an expression in the symbols of the system.  A comparison, a rounding or a number
put into words would make the result depend on this state in a way that the expression does not show; they are refused.
Functions that look at the number alone, such as `float` or `math.cos`, cannot be noticed.  So the caller compares the
expressions with the drawing at other states.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

import sympy as sp

Expr = Any


class Untraceable(ValueError):
    """A step that no expression stands for."""


def expression_of(x: Any) -> Expr:
    """The expression of a traced number; whole numbers stay exact, others are doubles."""
    if isinstance(x, Traced):
        return x.expression
    return sp.Integer(int(x)) if float(x).is_integer() and abs(float(x)) < 2**53 else sp.Float(float(x))


class Traced(float):
    """A number with its expression."""

    expression: Expr

    def __new__(cls, value: float, expression: Expr) -> Traced:
        made = super().__new__(cls, value)
        made.expression = expression
        return made

    def _joined(self, other: Any, value: Callable[[float, float], float], make: Callable[[Expr, Expr], Expr]) -> Any:
        if not isinstance(other, int | float):
            return NotImplemented
        return Traced(value(float(self), float(other)), make(self.expression, expression_of(other)))

    def __add__(self, other: Any) -> Any:
        return self._joined(other, lambda a, b: a + b, lambda a, b: a + b)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._joined(other, lambda a, b: a - b, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return self._joined(other, lambda a, b: b - a, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Any:
        return self._joined(other, lambda a, b: a * b, lambda a, b: a * b)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._joined(other, lambda a, b: a / b, lambda a, b: a / b)

    def __rtruediv__(self, other: Any) -> Any:
        return self._joined(other, lambda a, b: b / a, lambda a, b: b / a)

    def __pow__(self, other: Any, modulo: Any = None) -> Any:
        return self._joined(other, lambda a, b: a**b, lambda a, b: a**b)

    def __mod__(self, other: Any) -> Any:
        return self._joined(other, lambda a, b: a % b, sp.Mod)

    def largest(self, other: Any) -> Any:
        return self._joined(other, max, sp.Max)

    def __neg__(self) -> Traced:
        return Traced(-float(self), -self.expression)

    def __pos__(self) -> Traced:
        return self

    def __abs__(self) -> Traced:
        return Traced(abs(float(self)), sp.Abs(self.expression))

    def cos(self) -> Traced:
        return Traced(math.cos(self), sp.cos(self.expression))

    def sin(self) -> Traced:
        return Traced(math.sin(self), sp.sin(self.expression))

    def sqrt(self) -> Traced:
        return Traced(math.sqrt(self), sp.sqrt(self.expression))

    def _refuse(self, *_: Any) -> NoReturn:
        raise Untraceable("a comparison, a rounding or words depend on the state")

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __int__ = __floor__ = __ceil__ = __round__ = _refuse
    __trunc__ = __floordiv__ = __rfloordiv__ = __divmod__ = __format__ = __str__ = _refuse
    __eq__ = __ne__ = _refuse
    __hash__ = object.__hash__  # caches that are kept by values never mix it up with the number
