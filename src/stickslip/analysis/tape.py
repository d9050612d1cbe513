"""Derivatives of a sum of model functions by all parameters at once: a tape that is read backwards.

The text of a model function is executed with parameters that write down each operation on them and its partial
derivatives.  Read backwards, this tape carries the weights of the outputs to the parameters (reverse mode, Linnainmaa
1976).  The cost is a few times that of the function, for any number of parameters.  Operations without a parameter
are not written down.  Values are arrays over many points.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

PARAMETERS = "p"
"""Stands for the parameters among the inputs of a call."""


class Branches(TypeError):
    """A condition asks for a parameter, or for a state: many points have no common answer."""


class Noted:
    """A number, or one per point, that came from parameters: its value, and what it was made of."""

    __slots__ = ("parents", "tape", "value", "weight")
    __array_ufunc__ = None  # numpy leaves operations with arrays to us

    def __init__(self, tape: list[Noted], value: Any, parents: tuple[tuple[Noted, Any], ...] = ()) -> None:
        self.tape, self.value, self.parents = tape, value, parents
        self.weight: Any = None
        tape.append(self)

    def weigh(self, more: Any) -> None:
        """Add to the weight; a value that all points share needs only the sum over the points."""
        more = np.sum(more) if np.ndim(self.value) == 0 else more
        self.weight = more if self.weight is None else self.weight + more

    def _one(self, value: Any, slope: Any) -> Noted:
        return Noted(self.tape, value, ((self, slope),))

    def __add__(self, other: Any) -> Noted:
        if isinstance(other, Noted):
            return Noted(self.tape, self.value + other.value, ((self, 1.0), (other, 1.0)))
        return self._one(self.value + other, 1.0)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Noted:
        if isinstance(other, Noted):
            return Noted(self.tape, self.value - other.value, ((self, 1.0), (other, -1.0)))
        return self._one(self.value - other, 1.0)

    def __rsub__(self, other: Any) -> Noted:
        return self._one(other - self.value, -1.0)

    def __mul__(self, other: Any) -> Noted:
        if isinstance(other, Noted):
            return Noted(self.tape, self.value * other.value, ((self, other.value), (other, self.value)))
        return self._one(self.value * other, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Noted:
        if isinstance(other, Noted):
            value = self.value / other.value
            return Noted(self.tape, value, ((self, 1.0 / other.value), (other, -value / other.value)))
        return self._one(self.value / other, 1.0 / other)

    def __rtruediv__(self, other: Any) -> Noted:
        value = other / self.value
        return self._one(value, -value / self.value)

    def __pow__(self, other: Any) -> Noted:
        if isinstance(other, Noted):
            value = self.value**other.value
            return Noted(
                self.tape, value,
                ((self, other.value * self.value ** (other.value - 1.0)), (other, value * np.log(self.value))),
            )  # fmt: skip
        return self._one(self.value**other, other * self.value ** (other - 1.0))

    def __rpow__(self, other: Any) -> Noted:
        value = other**self.value
        return self._one(value, value * np.log(other))

    def __neg__(self) -> Noted:
        return self._one(-self.value, -1.0)

    def __pos__(self) -> Noted:
        return self

    def __abs__(self) -> Noted:
        return self._one(np.abs(self.value), np.sign(self.value))

    def _ask(self, other: Any = None) -> bool:
        raise Branches("a condition asks for a parameter")

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __float__ = _ask


def _root_slope(x: Any, y: Any) -> Any:
    return 0.5 / y


_ELEMENTARY: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {
    # value and slope(x, value)
    "sin": (np.sin, lambda x, y: np.cos(x)),
    "cos": (np.cos, lambda x, y: -np.sin(x)),
    "tan": (np.tan, lambda x, y: 1.0 + y * y),
    "sinh": (np.sinh, lambda x, y: np.cosh(x)),
    "cosh": (np.cosh, lambda x, y: np.sinh(x)),
    "tanh": (np.tanh, lambda x, y: 1.0 - y * y),
    "exp": (np.exp, lambda x, y: y),
    "log": (np.log, lambda x, y: 1.0 / x),
    "sqrt": (np.sqrt, _root_slope),
    "asin": (np.arcsin, lambda x, y: 1.0 / np.sqrt(1.0 - x * x)),
    "acos": (np.arccos, lambda x, y: -1.0 / np.sqrt(1.0 - x * x)),
    "atan": (np.arctan, lambda x, y: 1.0 / (1.0 + x * x)),
    "fabs": (np.abs, lambda x, y: np.sign(x)),
}


def _elementary(name: str) -> Callable[[Any], Any]:
    value_of, slope_of = _ELEMENTARY[name]

    def function(x: Any) -> Any:
        if not isinstance(x, Noted):
            return value_of(x)
        value = value_of(x.value)
        return Noted(x.tape, value, ((x, slope_of(x.value, value)),))

    return function


class _NotingMath:
    """The names of `math` that model functions use, for numbers, arrays and what is noted."""

    pi, e, inf, nan = math.pi, math.e, math.inf, math.nan

    def __getattr__(self, name: str) -> Any:
        if name in _ELEMENTARY:
            return _elementary(name)
        raise Branches(f"math.{name} has no tape")


class Tape:
    """The model functions of a source text, with their derivatives by parameters in reverse."""

    def __init__(self, *texts: str, name: str = "") -> None:
        noting = _NotingMath()
        sin, cos = noting.sin, noting.cos
        self._namespace: dict[str, Any] = {
            "math": noting, "dev": lambda function: function, "abs": noting.fabs,
            "sincos": lambda x: (sin(x), cos(x)),
        }  # fmt: skip
        for text in texts:
            exec(compile(text, f"<tape of {name}>", "exec"), self._namespace)

    def pull(self, calls: list[tuple[str, tuple[Any, ...], tuple[Any, ...]]], p: Any, active: Any, total: Any) -> None:
        """Add to total (m,) the derivatives by p of sum(weight * output) over points and outputs of the calls.

        calls : name of a function, its inputs with `PARAMETERS` for p, and the weights of its outputs, (..., P) each
        p : (m,) numbers;  active : (m,) bool, parameters that are asked for

        Raises `Branches` where a condition has no common answer.
        """
        tape: list[Noted] = []
        own = [Noted(tape, float(value)) if on else float(value) for value, on in zip(p, active, strict=True)]
        for name, inputs, weights in calls:
            outputs = tuple(np.zeros(weight.shape[:-1], object) for weight in weights)
            try:
                with np.errstate(all="ignore"):
                    self._namespace[name](*(own if x is PARAMETERS else x for x in inputs), *outputs)
            except (TypeError, ValueError) as problem:
                raise Branches(str(problem)) from None
            for output, weight in zip(outputs, weights, strict=True):
                for place in np.ndindex(output.shape):
                    noted: Any = output[place]
                    if isinstance(noted, Noted):
                        noted.weigh(weight[place])
        for noted in reversed(tape):
            if noted.weight is not None:
                for parent, slope in noted.parents:
                    parent.weigh(noted.weight * slope)
        for i, number in enumerate(own):
            if isinstance(number, Noted) and number.weight is not None:
                total[i] += float(number.weight)
