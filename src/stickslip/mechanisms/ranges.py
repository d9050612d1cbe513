"""Ranges of expressions and of their rates: what an expression takes on between two times, and nothing less.

Interval arithmetic (Moore 1966): every operation maps the ranges of its operands to a range that holds all its values.
With the chain rule the same is done for rates of change.  So a range without zero proves that there is no zero, and a
rate of one sign proves that there is one at most.  Samples prove neither.

Ranges are arrays of bounds, many intervals at a time.  A rate that has no bound is infinite; so is that of an
expression that may jump.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.checks import Array

Truth = tuple[Any, Any]
"""Whether a condition may be true, and whether it may be false, somewhere in the intervals."""

_PI = np.pi


@dataclass(frozen=True, eq=False, slots=True)
class Range:
    """Bounds `low` <= x <= `high`, numbers or one per interval."""

    low: Any
    high: Any

    @classmethod
    def of(cls, low: Any, high: Any) -> Range:
        """A range from bounds that may be undefined, such as 0 times infinity: then there is no bound."""
        return cls(np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high))

    def __add__(self, other: Range) -> Range:
        return Range.of(self.low + other.low, self.high + other.high)

    def __mul__(self, other: Range) -> Range:
        parts = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        parts = [np.where(np.isnan(x), 0.0, x) for x in parts]  # 0 times infinity: 0 is in the range
        low, high = parts[0], parts[0]
        for x in parts[1:]:
            low, high = np.minimum(low, x), np.maximum(high, x)
        return Range(low, high)

    def __neg__(self) -> Range:
        return Range(-self.high, -self.low)

    def has(self, value: float) -> Any:
        return (self.low <= value) & (value <= self.high)

    def hull(self, other: Range) -> Range:
        return Range(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def where(self, chosen: Any, other: Range) -> Range:
        return Range(np.where(chosen, self.low, other.low), np.where(chosen, self.high, other.high))

    @property
    def size(self) -> Any:
        return np.maximum(np.abs(self.low), np.abs(self.high))


@dataclass(frozen=True, eq=False, slots=True)
class Course:
    """The range of an expression, and that of its rate."""

    value: Range
    rate: Range


_ZERO, _ALL = Range(0.0, 0.0), Range(-np.inf, np.inf)


class Ranges:
    """Ranges of expressions, given those of their symbols.

    Parameters
    ----------
    expressions : of the `symbols`
    symbols : in the order in which `courses` takes them
    """

    def __init__(self, expressions: Sequence[Any], symbols: Sequence[Any]) -> None:
        self._places = {symbol: k for k, symbol in enumerate(symbols)}
        self._steps: list[tuple[Any, tuple[int, ...]]] = []  # in the order of their evaluation
        known: dict[Any, int] = {}
        self._ends = [self._add(x, known) for x in expressions]

    @property
    def count(self) -> int:
        """How many symbols there are."""
        return len(self._places)

    def _add(self, x: Any, known: dict[Any, int]) -> int:
        if x not in known:
            parts = tuple(self._add(part, known) for part in _parts(x))
            known[x] = len(self._steps)
            self._steps.append((x, parts))
        return known[x]

    def courses(self, given: Sequence[Course]) -> list[Course]:
        """The ranges of the expressions and of their rates, given those of the symbols."""
        found = self._all(given)
        return [found[k] for k in self._ends]

    def _all(self, given: Sequence[Course]) -> list[Any]:
        """Ranges, or truths, of everything that the expressions are made of."""
        found: list[Any] = []
        with np.errstate(all="ignore"):
            for x, parts in self._steps:
                known = x in self._places
                found.append(given[self._places[x]] if known else _of(x, [found[k] for k in parts]))
        return found

    def sizes(self, given: Sequence[Course]) -> Array:
        """The largest sum of the magnitudes of terms of every expression, (j,): its round-off is a share of that."""
        found, sizes = self._all(given), []
        for end in self._ends:
            x, parts = self._steps[end]
            terms = [found[k] for k in parts] if x.is_Add else [found[end]]
            sizes.append(float(np.max(sum(term.value.size for term in terms))))
        return np.array(sizes)


def _parts(x: Any) -> tuple[Any, ...]:
    """What a step of the evaluation is made of."""
    import sympy as sp

    if isinstance(x, sp.Piecewise):
        return tuple(part for pair in x.args for part in pair)
    if isinstance(x, sp.Mod):
        a, b = x.args
        return (a - b * sp.floor(a / b),)
    return tuple(x.args) if not x.is_Number else ()


def _of(x: Any, parts: list[Any]) -> Any:
    """One operation on ranges."""
    import sympy as sp
    from sympy.core.relational import Relational

    if x is sp.true or x is sp.false:
        return (x is sp.true, x is sp.false)
    if x.is_number and not x.is_Boolean:
        value = float(x)
        return Course(Range(value, value), _ZERO)
    if isinstance(x, Relational):
        return _compared(x, parts[0].value + -parts[1].value)
    if isinstance(x, sp.Not):
        return (parts[0][1], parts[0][0])
    if isinstance(x, (sp.And, sp.Or)):
        every, some = (np.logical_and, np.logical_or) if isinstance(x, sp.And) else (np.logical_or, np.logical_and)
        true, false = parts[0]
        for more, less in parts[1:]:
            true, false = every(true, more), some(false, less)
        return (true, false)
    if isinstance(x, sp.Piecewise):
        return _pieces(parts)
    rule = _RULES.get(type(x).__name__)
    return Course(_ALL, _ALL) if rule is None else rule(*parts)


def _compared(x: Any, gap: Range) -> Truth:
    """What a comparison of two sides with a difference `gap` may be."""
    import sympy as sp

    if isinstance(x, (sp.Gt, sp.Ge)):
        return (gap.high >= 0.0, gap.low <= 0.0)
    if isinstance(x, (sp.Lt, sp.Le)):
        return (gap.low <= 0.0, gap.high >= 0.0)
    open_, nothing = gap.has(0.0), (gap.low == 0.0) & (gap.high == 0.0)
    return (open_, ~nothing) if isinstance(x, sp.Eq) else (~nothing, open_)


def _pieces(parts: list[Any]) -> Course:
    """One of several pieces; where more than one may hold, the rate is open."""
    value = rate = None
    left: Any = True  # no condition before holds for sure
    several: Any = False
    for course, (true, false) in zip(parts[::2], parts[1::2], strict=True):
        here = np.logical_and(left, true)
        if value is None:
            empty = Range(np.inf, -np.inf)
            value, rate = course.value.where(here, empty), course.rate.where(here, empty)
            several = np.zeros(np.shape(here), bool)
            taken = here
        else:
            value = value.hull(course.value).where(here, value)
            assert rate is not None
            rate = rate.hull(course.rate).where(here, rate)
            several, taken = several | (here & taken), taken | here
        left = np.logical_and(left, false)
    assert value is not None and rate is not None
    open_ = several | ~taken
    return Course(_ALL.where(~taken, value), _ALL.where(open_, rate))


def _added(*parts: Course) -> Course:
    value, rate = parts[0].value, parts[0].rate
    for part in parts[1:]:
        value, rate = value + part.value, rate + part.rate
    return Course(value, rate)


def _times(*parts: Course) -> Course:
    found = parts[0]
    for part in parts[1:]:
        found = Course(found.value * part.value, found.value * part.rate + found.rate * part.value)
    return found


def _inverse(x: Range) -> Range:
    through = (x.low < 0.0) & (x.high > 0.0) | (x.low == 0.0) & (x.high == 0.0)
    low = np.where(x.high == 0.0, -np.inf, 1.0 / np.where(x.high == 0.0, 1.0, x.high))
    high = np.where(x.low == 0.0, np.inf, 1.0 / np.where(x.low == 0.0, 1.0, x.low))
    return _ALL.where(through, Range(low, high))


def _to_the(x: Range, n: float) -> Range:
    """x^n with a fixed n."""
    if n == 0.0:
        return Range(1.0 + 0.0 * x.low, 1.0 + 0.0 * x.low)
    if n < 0.0:
        return _inverse(_to_the(x, -n))
    if n == round(n) and round(n) % 2:
        return Range.of(x.low**n, x.high**n)
    if n == round(n):
        least = np.where(x.has(0.0), 0.0, np.minimum(np.abs(x.low), np.abs(x.high)))
        return Range.of(least**n, x.size**n)
    return Range.of(np.maximum(x.low, 0.0) ** n, np.maximum(x.high, 0.0) ** n)


def _power(base: Course, exponent: Course) -> Course:
    fixed = exponent.value
    if np.ndim(fixed.low) == 0 and fixed.low == fixed.high and np.all(exponent.rate.size == 0.0):
        n = float(fixed.low)
        slope = Range(n, n) * _to_the(base.value, n - 1.0)
        return Course(_to_the(base.value, n), slope * base.rate)
    log = _log(base)
    return _exp(_times(exponent, log))


def _chained(value: Callable[[Range], Range], slope: Callable[[Range], Range]) -> Callable[[Course], Course]:
    """The rule of a function of one number."""

    def rule(x: Course) -> Course:
        by = slope(x.value)
        rate = by * x.rate
        still = (x.rate.low == 0.0) & (x.rate.high == 0.0)
        return Course(value(x.value), _ZERO.where(still, rate))

    return rule


def _rising(function: Callable[[Any], Any], least: float = -np.inf, most: float = np.inf) -> Callable[[Range], Range]:
    """The range of a function that rises from `least` to `most`, its ends where it is not defined beyond."""

    def value(x: Range) -> Range:
        low, high = function(x.low), function(x.high)
        return Range(np.where(np.isnan(low), least, low), np.where(np.isnan(high), most, high))

    return value


def _cosine(x: Range) -> Range:
    """Largest where 2 pi k is inside, least where 2 pi k + pi is."""
    top = np.floor(x.high / (2.0 * _PI)) >= np.ceil(x.low / (2.0 * _PI))
    bottom = np.floor((x.high - _PI) / (2.0 * _PI)) >= np.ceil((x.low - _PI) / (2.0 * _PI))
    a, b = np.cos(x.low), np.cos(x.high)
    open_ = ~np.isfinite(x.low + x.high)
    slack = 4.0 * np.finfo(float).eps * np.where(open_, 0.0, 1.0 + x.size)  # of the argument's round-off
    low = np.where(bottom | open_, -1.0, np.maximum(np.minimum(a, b) - slack, -1.0))
    return Range(low, np.where(top | open_, 1.0, np.minimum(np.maximum(a, b) + slack, 1.0)))


def _sine(x: Range) -> Range:
    return _cosine(Range(x.low - 0.5 * _PI, x.high - 0.5 * _PI))


def _has_pole(x: Range) -> Any:
    pole = np.floor((x.high - 0.5 * _PI) / _PI) >= np.ceil((x.low - 0.5 * _PI) / _PI)
    return pole | ~np.isfinite(x.low + x.high)


def _tangent(x: Range) -> Range:
    return _ALL.where(_has_pole(x), Range.of(np.tan(x.low), np.tan(x.high)))


def _tangent_slope(x: Range) -> Range:
    """1 + tan^2; across a pole there is a jump."""
    return _ALL.where(_has_pole(x), _one_plus_square(_tangent(x)))


def _even(function: Callable[[Any], Any]) -> Callable[[Range], Range]:
    """The range of an even function that rises from 0 on."""

    def value(x: Range) -> Range:
        least = np.where(x.has(0.0), 0.0, np.minimum(np.abs(x.low), np.abs(x.high)))
        return Range.of(function(least), function(x.size))

    return value


def _one_plus_square(x: Range) -> Range:
    return Range(1.0, 1.0) + _to_the(x, 2.0)


def _erf(x: Any) -> Any:
    from scipy.special import erf

    return erf(x)


def _erfc(x: Any) -> Any:
    from scipy.special import erfc

    return erfc(x)


def _bell(x: Range) -> Range:
    two = 2.0 / np.sqrt(_PI)
    return Range(two, two) * _rising(np.exp)(-_to_the(x, 2.0))


def _under_the_root(x: Range, sign: float, shift: float) -> Range:
    """1 / sqrt(shift + sign x^2)."""
    return _inverse(_to_the(Range(shift, shift) + Range(sign, sign) * _to_the(x, 2.0), 0.5))


_exp = _chained(_rising(np.exp), _rising(np.exp))
_log = _chained(_rising(np.log), lambda x: _inverse(Range(np.maximum(x.low, 0.0), np.maximum(x.high, 0.0))))


def _magnitude(x: Course) -> Course:
    value = _even(np.abs)(x.value)
    up, down = x.value.low > 0.0, x.value.high < 0.0
    both = x.rate.hull(-x.rate)
    return Course(value, x.rate.where(up, (-x.rate).where(down, both)))


def _largest(*parts: Course) -> Course:
    found = parts[0]
    for part in parts[1:]:
        above, below = found.value.low > part.value.high, found.value.high < part.value.low
        value = Range(
            np.maximum(found.value.low, part.value.low), np.maximum(found.value.high, part.value.high)
        )  # fmt: skip
        found = Course(value, found.rate.where(above, part.rate.where(below, found.rate.hull(part.rate))))
    return found


def _negative(x: Course) -> Course:
    return Course(-x.value, -x.rate)


def _least(*parts: Course) -> Course:
    return _negative(_largest(*(_negative(part) for part in parts)))


def _stepped(function: Callable[[Any], Any]) -> Callable[..., Course]:
    """The rule of a function with steps."""

    def rule(x: Course, *_: Any) -> Course:
        low, high = function(x.value.low), function(x.value.high)
        return Course(Range(low, high), _ZERO.where(low == high, _ALL))

    return rule


def _angle(y: Course, x: Course) -> Course:
    """atan2(y, x), which jumps where y changes sign at x < 0."""
    right = x.value.low > 0.0
    inside = Course(_times(y, Course(_inverse(x.value), _ALL)).value, _ALL)
    value = _rising(np.arctan)(inside.value).where(right, Range(-_PI, _PI))
    square = _to_the(x.value, 2.0) + _to_the(y.value, 2.0)
    rate = (x.value * y.rate + -(y.value * x.rate)) * _inverse(square)
    jumps = (x.value.low <= 0.0) & y.value.has(0.0)
    return Course(value, _ALL.where(jumps, rate))


_RULES: dict[str, Callable[..., Course]] = {
    "Add": _added,
    "Mul": _times,
    "Pow": _power,
    "Mod": lambda x: x,  # written out, see `_parts`
    "exp": _exp,
    "log": _log,
    "sin": _chained(_sine, _cosine),
    "cos": _chained(_cosine, lambda x: -_sine(x)),
    "tan": _chained(_tangent, _tangent_slope),
    "sinh": _chained(_rising(np.sinh), _even(np.cosh)),
    "cosh": _chained(_even(np.cosh), _rising(np.sinh)),
    "tanh": _chained(_rising(np.tanh), lambda x: _to_the(_inverse(_even(np.cosh)(x)), 2.0)),
    "asin": _chained(_rising(np.arcsin, -0.5 * _PI, 0.5 * _PI), lambda x: _under_the_root(x, -1.0, 1.0)),
    "acos": _chained(
        lambda x: Range(0.5 * _PI, 0.5 * _PI) + -_rising(np.arcsin, -0.5 * _PI, 0.5 * _PI)(x),
        lambda x: -_under_the_root(x, -1.0, 1.0),
    ),
    "atan": _chained(_rising(np.arctan), lambda x: _inverse(_one_plus_square(x))),
    "asinh": _chained(_rising(np.arcsinh), lambda x: _under_the_root(x, 1.0, 1.0)),
    "acosh": _chained(_rising(np.arccosh, 0.0), lambda x: _under_the_root(x, 1.0, -1.0)),
    "atanh": _chained(_rising(np.arctanh), lambda x: _inverse(Range(1.0, 1.0) + -_to_the(x, 2.0))),
    "erf": _chained(_rising(_erf), _bell),
    "erfc": _chained(lambda x: -_rising(lambda y: -_erfc(y))(x), lambda x: -_bell(x)),
    "atan2": _angle,
    "Abs": _magnitude,
    "Max": _largest,
    "Min": _least,
    "sign": _stepped(np.sign),
    "Heaviside": _stepped(lambda x: np.heaviside(x, 0.5)),
    "floor": _stepped(np.floor),
    "ceiling": _stepped(np.ceil),
}
