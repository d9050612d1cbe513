"""Where to look at a level along a step of the integrator, so that none of its zeros is missed.

Coordinates and velocities are polynomials of time between two ends of a step.  The range of a level over a part of the
step, and that of its rate, follow from these (`mechanisms.ranges`).  A part whose range is free of zero has no zero.
One whose rate keeps its sign has one at most, and its ends tell.  Any other part is halved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from stickslip.checks import Array
from stickslip.mechanisms.ranges import Course, Range, Ranges

DEGREE = 7
"""Of the polynomials that the integrator's dense output is made of."""

_ON = 1e-9  # levels below this share of their terms touch zero: the motion itself is not known better
_MOST = 512  # parts of a step that are looked at in one go
_HALVINGS = 60
_POINTS = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
_TO_COEFFICIENTS = np.linalg.inv(chebyshev.chebvander(_POINTS, DEGREE))
_ROUNDING = 16.0 * np.finfo(float).eps


@dataclass(frozen=True, eq=False)
class Looks:
    """Times at which to look.

    times : rising, the given ones among them; between two of them every level has one zero at most, seen by its sign
    touches : (time, number of the level), where a level comes as near to zero as the motion is known
    open : numbers of the levels of which nothing could be proved
    sizes : (j,) of the terms that levels are made of; 0 where all was proved at once
    """

    times: Array
    touches: tuple[tuple[float, int], ...]
    open: tuple[int, ...]
    sizes: Array


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
        """Where to look between the first and the last of the `times` (rising) of a step.

        dense : states (size, k) at k times;  skipped : (j,) bool, levels that nobody asks for;  floor : levels below
        are zero, as far as is known
        """
        begin, length = float(times[0]), float(times[-1] - times[0])
        if not length > 64.0 * np.spacing(max(abs(begin), abs(float(times[-1])))):
            return Looks(times, (), (), np.zeros(len(self.ranges.expressions)))
        C = _TO_COEFFICIENTS @ dense(begin + 0.5 * length * (1.0 + _POINTS)).T[:, : 2 * f]
        search = _Search(C, begin, length, self, p)
        return search.through(times, skipped, dense, floor)

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
    """Ranges of the states and of time: between the times (rising) of a step, and at them."""
    begin, length = float(times[0]), float(times[-1] - times[0])
    C = _TO_COEFFICIENTS @ dense(begin + 0.5 * length * (1.0 + _POINTS)).T[:, : 2 * f]
    step = _Step(C, begin, length)
    return step.courses(times[:-1], times[1:]), step.courses(times, times)


@dataclass(eq=False)
class _Step:
    """A step: C (8, 2 f), Chebyshev coefficients of its states."""

    C: Array
    begin: float
    length: float

    def __post_init__(self) -> None:
        self.rates: Array = np.asarray(chebyshev.chebder(self.C) * (2.0 / self.length), float)

    def courses(self, a: Array, b: Array) -> list[Course]:
        """Of all symbols, between times a and b (n,)."""
        low, high = _bounds(self.C, *self._shares(a, b))
        rate_low, rate_high = _bounds(self.rates, *self._shares(a, b))
        states = [
            Course(Range(*value), Range(*rate))
            for value, rate in zip(
                zip(low.T, high.T, strict=True), zip(rate_low.T, rate_high.T, strict=True), strict=True
            )
        ]
        return [*states, Course(Range(a, b), Range(1.0, 1.0))]

    def _shares(self, a: Array, b: Array) -> tuple[Array, Array]:
        return 2.0 * (a - self.begin) / self.length - 1.0, 2.0 * (b - self.begin) / self.length - 1.0


@dataclass(eq=False)
class _Search(_Step):
    """The search of one step."""

    levels: Levels
    p: Array

    def __post_init__(self) -> None:
        super().__post_init__()
        self.ranges = self.levels.ranges.held(self.p)

    def through(self, times: Array, skipped: np.ndarray | None, dense: Callable[[Any], Array], floor: float) -> Looks:
        """Halve the parts between the times until nothing is left to prove."""
        a, b = times[:-1], times[1:]
        count = len(self.ranges.expressions)
        pending = np.ones((count, len(a)), bool)
        if skipped is not None:
            pending[skipped] = False
        sizes = np.zeros(count)
        if not pending.any() or not self._unproved(a, b, dense, pending, sizes)[1].any():
            return Looks(times, (), (), sizes)
        sizes = self.ranges.sizes(self.courses(times[:1], times[-1:]))
        noise = _ON * sizes + floor
        seen: list[Array] = [times]
        touches: list[tuple[float, int]] = []
        least = 64.0 * np.spacing(np.abs(times).max())
        for _ in range(_HALVINGS):
            on, pending = self._unproved(a, b, dense, pending, noise)
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
        return Looks(np.unique(np.concatenate(seen)), tuple(touches), (), sizes)

    def _unproved(
        self, a: Array, b: Array, dense: Callable[[Any], Array], pending: np.ndarray, noise: Array
    ) -> tuple[np.ndarray, np.ndarray]:
        """Which levels (j,) touch zero all along which parts (n,), and which may have zeros that their ends hide."""
        found = self.ranges.courses(self.courses(a, b))
        low, high, rate_low, rate_high = (
            np.array([np.broadcast_to(x, len(a)) for x in bounds])
            for bounds in zip(*((c.value.low, c.value.high, c.rate.low, c.rate.high) for c in found), strict=True)
        )
        middle, half = 0.5 * (a + b), 0.5 * (b - a)
        here = self.levels.values(middle, dense(middle).T, self.p)
        with np.errstate(invalid="ignore"):
            spread = half * np.maximum(np.abs(rate_low), np.abs(rate_high))
            low, high = np.fmax(low, here - spread), np.fmin(high, here + spread)
            open_ = pending & ~((low > 0.0) | (high < 0.0) | (rate_low > 0.0) | (rate_high < 0.0))
            on = open_ & (np.maximum(np.abs(low), np.abs(high)) <= noise[:, None])
        return on, open_ & ~on


def _numbers(pending: np.ndarray) -> list[int]:
    return [int(j) for j in np.flatnonzero(pending.any(axis=1))]


def _bounds(C: Array, s_A: Array, s_E: Array) -> tuple[Array, Array]:
    """Bounds (n, m) of polynomials with Chebyshev coefficients C (8, m) between s_A and s_E (n,).

    On a part of the interval the coefficients are others.  The first one, plus or minus the sizes of the others.
    """
    degree = len(C) - 1
    points = 0.5 * (s_A + s_E)[:, None] + 0.5 * (s_E - s_A)[:, None] * _POINTS
    own = _TO_COEFFICIENTS @ (chebyshev.chebvander(points, degree) @ C)
    rest = np.abs(own[:, 1:]).sum(axis=1) + _ROUNDING * np.abs(C).sum(axis=0)
    return own[:, 0] - rest, own[:, 0] + rest
