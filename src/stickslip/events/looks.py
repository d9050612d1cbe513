"""Where to look at a level along a step of the integrator, so that none of its zeros is missed.

Coordinates and velocities are polynomials of time between two ends of a step.  The range of a level over a part of the
step, and that of its rate, follow from these (`mechanisms.ranges`).  A part whose range is free of zero has no zero.
One whose rate keeps its sign has one at most, and its ends tell.  Any other part is halved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from stickslip.checks import Array
from stickslip.mechanisms.ranges import Course, Range, Ranges

DEGREE = 7
"""Of the polynomials that the integrator's dense output is made of."""

PARTS = 8
"""Equal parts of a step at whose ends everything is looked at."""

_ON = 1e-9  # levels below this share of their terms touch zero: the motion itself is not known better
_MOST = 512  # parts of a step that are looked at in one go
_HALVINGS = 60
_POINTS = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
_TO_COEFFICIENTS = np.linalg.inv(chebyshev.chebvander(_POINTS, DEGREE))
_ROUNDING = 16.0 * np.finfo(float).eps
_ENDS = np.linspace(-1.0, 1.0, PARTS + 1)
_STAGES = np.array([0, 0.0526, 0.0789, 0.11835, 0.25, 0.28165, 4 / 13, 1 / 3, 0.6, 254 / 390, 6 / 7, 1])
"""Shares of a step at which DOP853 evaluates forces: all that its error estimate sees.  Between 1/3 and 0.6 is none."""
_AT_STAGES = chebyshev.chebvander(2.0 * _STAGES - 1.0, DEGREE)
_SLOPE = np.vstack([chebyshev.chebder(np.eye(DEGREE + 1)), np.zeros(DEGREE + 1)])  # coefficients of the derivative


@dataclass(frozen=True, eq=False)
class Looks:
    """Times at which to look.

    times : rising, the given ones among them; between two of them every level has one zero at most, seen by its sign
    touches : (time, number of the level), where a level comes as near to zero as the motion is known
    open : numbers of the levels of which nothing could be proved
    sizes : (j,) of the terms that levels are made of; 0 where all was proved at once
    free : no level that was asked for is zero anywhere
    """

    times: Array
    touches: tuple[tuple[float, int], ...]
    open: tuple[int, ...]
    sizes: Array
    free: bool = False


@dataclass(frozen=True, eq=False)
class Levels:
    """Levels of the coordinates, velocities, time and parameters, in this order, with their ranges.

    values(t, y, p) : the levels (j, k) at k times, with the states y (k, 2 f)
    """

    ranges: Ranges
    values: Callable[[Array, Array, Array], Array]

    def looks(
        self, dense: Callable[[Any], Array], f: int, times: Array, p: Array, skipped: np.ndarray | None = None,
        floor: float = 0.0,
    ) -> Looks:  # fmt: skip
        """Where to look between the first and the last of the `times` of a step, which are the ends of equal parts.

        dense : states (size, k) at k times;  skipped : (j,) bool, levels that nobody asks for;  floor : levels below
        are zero, as far as is known
        """
        begin, length = float(times[0]), float(times[-1] - times[0])
        if not length > 64.0 * np.spacing(max(abs(begin), abs(float(times[-1])))):
            return Looks(times, (), (), np.zeros(len(self.ranges.expressions)))
        return _Search(_step_of(dense, f, begin, length), self, p).through(times, skipped, dense, floor)

    def zeros(self, dense: Callable[[Any], Array], times: Array, p: Array) -> list[tuple[float, int]]:
        """Times in order, and numbers of levels, at which these go through zero between two of the times."""
        rows = self.values(times, dense(times).T, p)
        found = []
        for j, i in np.argwhere(rows[:, :-1] * rows[:, 1:] < 0.0):

            def level(t: float, j: int = int(j)) -> float:
                at = np.array([t])
                return float(self.values(at, dense(at).T, p)[j, 0])

            found.append((root_between(level, float(times[i]), float(times[i + 1])), int(j)))
        return sorted(found)


def root_between(value: Callable[[float], float], a: float, b: float) -> float:
    """Where `value`, which has different signs at a and at b, is zero: to the last digit."""
    from scipy.optimize import brentq  # takes 0.2 s to load: only event-driven runs pay for it

    return float(brentq(value, a, b, xtol=1e-16, rtol=1e-15))


def courses_of(dense: Callable[[Any], Array], f: int, times: Array) -> tuple[list[Course], list[Course]]:
    """Ranges of the states and of time: within the equal parts of a step between the `times`, and at its stages."""
    step = _step_of(dense, f, float(times[0]), float(times[-1] - times[0]))
    moving = [*(_AT_STAGES @ step.C).T, step.begin + step.length * _STAGES]
    return step.equal_parts.courses(times[:-1], times[1:]), [Course(Range(x, x), _STILL) for x in moving]


_STILL = Range(0.0, 0.0)


@dataclass(eq=False)
class _Step:
    """A step: C (8, 2 f), Chebyshev coefficients of its states."""

    C: Array
    begin: float
    length: float

    @cached_property
    def slopes(self) -> Array:
        """Coefficients (8, 2 f) of the rates."""
        return _SLOPE @ self.C * (2.0 / self.length)

    @cached_property
    def equal_parts(self) -> _Parts:
        return _Parts(self, _ON_EQUAL_PARTS)

    def parts(self, a: Array, b: Array) -> _Parts:
        """Those between times a and b (n,)."""
        shares = (2.0 * (x - self.begin) / self.length - 1.0 for x in (a, b))
        return _Parts(self, _onto(*shares))


@lru_cache(maxsize=4)  # several searches look at one step
def _step_of(dense: Callable[[Any], Array], f: int, begin: float, length: float) -> _Step:
    C = _TO_COEFFICIENTS @ dense(begin + 0.5 * length * (1.0 + _POINTS)).T[:, : 2 * f]
    return _Step(C, begin, length)


@dataclass(eq=False)
class _Parts:
    """Parts of a step; `onto` (n, 8, 8), see `_onto`."""

    step: _Step
    onto: Array

    @cached_property
    def values(self) -> list[Range]:
        """Of each state, over the parts."""
        return self._ranges(self.step.C)

    @cached_property
    def rates(self) -> list[Range]:
        return self._ranges(self.step.slopes)

    def _ranges(self, C: Array) -> list[Range]:
        """Of polynomials with Chebyshev coefficients C: on a part the first one, give or take the sizes of the rest."""
        own = self.onto @ C
        rest = np.abs(own[:, 1:]).sum(axis=1) + _ROUNDING * np.abs(C).sum(axis=0)
        return [Range(low, high) for low, high in zip((own[:, 0] - rest).T, (own[:, 0] + rest).T, strict=True)]

    def courses(self, a: Array, b: Array) -> list[Course]:
        """Of all symbols; the parts are those between times a and b (n,)."""
        states = [Course(value, lambda k=k: self.rates[k]) for k, value in enumerate(self.values)]  # type: ignore[misc]
        return [*states, Course(Range(a, b), Range(1.0, 1.0))]


def _onto(s_A: Array, s_E: Array) -> Array:
    """Matrices (n, 8, 8): from Chebyshev coefficients on [-1, 1] to those on its parts between s_A and s_E (n,)."""
    points = 0.5 * (s_A + s_E)[:, None] + 0.5 * (s_E - s_A)[:, None] * _POINTS
    return np.asarray(_TO_COEFFICIENTS @ chebyshev.chebvander(points, DEGREE))


_ON_EQUAL_PARTS = _onto(_ENDS[:-1], _ENDS[1:])


@dataclass(eq=False)
class _Search:
    """The search of one step."""

    step: _Step
    levels: Levels
    p: Array

    def __post_init__(self) -> None:
        self.ranges = self.levels.ranges.held(self.p)

    def through(self, times: Array, skipped: np.ndarray | None, dense: Callable[[Any], Array], floor: float) -> Looks:
        """Halve the parts between the times until nothing is left to prove."""
        a, b = times[:-1], times[1:]
        count = len(self.ranges.expressions)
        pending = np.ones((count, len(a)), bool)
        if skipped is not None:
            pending[skipped] = False
        if pending.any():
            given = self.step.equal_parts.courses(a, b)
            low, high = _bounds([x.value for x in self.ranges.courses(given, rates=False)], len(a))
            pending &= (low <= 0.0) & (high >= 0.0)
        nothing = Looks(times, (), (), np.zeros(count), free=not pending.any())
        if nothing.free:
            return nothing
        open_, size = self._unproved(self.step.equal_parts, a, b, dense, pending)
        if not (open_ & (size > 0.0)).any():
            return nothing
        sizes = self.ranges.sizes(self.step.parts(times[:1], times[-1:]).courses(times[:1], times[-1:]))
        noise = (_ON * sizes + floor)[:, None]
        seen: list[Array] = [times]
        touches: list[tuple[float, int]] = []
        least = 64.0 * np.spacing(np.abs(times).max())
        for _ in range(_HALVINGS):
            on = open_ & (size <= noise)
            pending = open_ & ~on
            touches += [(float(0.5 * (a[i] + b[i])), int(j)) for j, i in np.argwhere(on)]
            left = pending.any(axis=0) & (b - a > least)
            if not left.any():
                break
            if left.sum() > _MOST:
                return Looks(np.unique(np.concatenate(seen)), tuple(touches), tuple(_numbers(pending)), sizes)
            a, b, pending = a[left], b[left], pending[:, left]
            middle = 0.5 * (a + b)
            seen.append(middle)
            a, b, pending = np.append(a, middle), np.append(middle, b), np.tile(pending, 2)
            open_, size = self._unproved(self.step.parts(a, b), a, b, dense, pending)
        return Looks(np.unique(np.concatenate(seen)), tuple(touches), (), sizes)

    def _unproved(
        self, parts: _Parts, a: Array, b: Array, dense: Callable[[Any], Array], pending: np.ndarray
    ) -> tuple[np.ndarray, Array]:
        """Which levels (j,) may have zeros in which parts (n,) that their ends hide, and how large they are there."""
        found = self.ranges.courses(parts.courses(a, b))
        low, high = _bounds([x.value for x in found], len(a))
        rate_low, rate_high = _bounds([x.rate for x in found], len(a))
        middle, half = 0.5 * (a + b), 0.5 * (b - a)
        here = self.levels.values(middle, dense(middle).T, self.p)
        with np.errstate(invalid="ignore"):
            spread = half * np.maximum(np.abs(rate_low), np.abs(rate_high))
            low, high = np.fmax(low, here - spread), np.fmin(high, here + spread)
            open_ = pending & ~((low > 0.0) | (high < 0.0) | (rate_low > 0.0) | (rate_high < 0.0))
        return open_, np.maximum(np.abs(low), np.abs(high))


def _bounds(ranges: list[Range], n: int) -> tuple[Array, Array]:
    """The bounds of ranges (j,) over n parts, (j, n) each."""
    low, high = np.empty((len(ranges), n)), np.empty((len(ranges), n))
    for j, x in enumerate(ranges):
        low[j], high[j] = x.low, x.high
    return low, high


def _numbers(pending: np.ndarray) -> list[int]:
    return [int(j) for j in np.flatnonzero(pending.any(axis=1))]
