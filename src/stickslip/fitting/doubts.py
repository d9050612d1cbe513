"""Reasons to doubt a fit: values at the ends of their ranges, and data that the model does not explain.

Intervals say how far chance may have moved the values, if the model is right and its noise is independent.  Where
residuals tell otherwise, the intervals are too narrow.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from scipy import stats

from stickslip.checks import Array
from stickslip.fitting import intervals
from stickslip.fitting.experiments import Stepped
from stickslip.fitting.problem import Problem
from stickslip.fitting.result import Curve

_CHANCE = 1e-4  # probability below which residuals are not called chance
_CLEARLY = 1.5  # times the degrees of freedom: what many samples make certain may still be small
_LITTLE = 0.5  # share of what a column ranges over: residuals of this size leave most of it unexplained
_ENOUGH = 12  # samples of a column that tell whether neighbours are alike
_MOVED = 0.5  # standard errors: moved so far, 95 % intervals hold the truth in 92 %
_ALIKE = 0.3  # correlation of neighbouring residuals


def ends(
    problem: Problem, z: Array, at_edge: Collection[int], bounds: Mapping[str, tuple[float, float]],
    fixed: Mapping[str, bool],
) -> list[str]:  # fmt: skip
    """Quantities that lie at an end of their range, or whose interval ends there though the data bounds it."""
    found = []
    for i, name in enumerate(problem.names):
        near = 1e-9 * problem.width[i]
        if i in at_edge:
            side = "lower" if z[i] < 0.5 else "upper"
            found.append(f"{name} lies at the {side} end of its range; give a wider one if there is one")
        elif fixed[name]:
            low, high = bounds[name]
            reached = [low < problem.low[i] + near, high > problem.high[i] - near]
            found += [
                f"the interval of {name} is cut off at the {side} end of its range"
                for side, there in zip(("lower", "upper"), reached, strict=True)
                if there
            ]
    return found


def stepping(problem: Problem, z: Array, spread: Array) -> list[str]:
    """What time stepping does to the values and their intervals.

    spread : (k,) standard errors as shares of the ranges
    """
    if not any(isinstance(each, Stepped) for each in problem.experiments):
        return []
    helps = 'give options={"stepper": "event-driven"}, or a smaller dt'
    found = []
    jump = intervals.rough(problem, z, spread)
    if jump:
        found.append(
            f"intervals of {', '.join(jump)} are too narrow: predictions of time stepping jump within them; {helps}"
        )
    moved = intervals.moved_by_steps(problem, z, spread)
    far = [
        f"{name} by about {off:+.{1 if abs(off) < 10.0 else 0}f} standard errors"
        for name, off in moved.items()
        if abs(off) > _MOVED
    ]
    if far:
        found.append(
            f"the step size has moved {', '.join(far)}: predictions with steps of an eighth say so, and intervals do "
            f"not know it; {helps}"
        )
    return found


def misfit(curves: Sequence[Curve], chi2: float, freedom: int, estimated: bool) -> list[str]:
    """What the residuals say against the model: too large for the noise, large as the data, or alike in neighbours."""
    found = []
    if not estimated and freedom > 0 and chi2 > _CLEARLY * freedom and stats.chi2.sf(chi2, freedom) < _CHANCE:
        found.append(
            f"the model misses the data by {np.sqrt(chi2 / freedom):.3g} times the noise that was given: one of the "
            "two is wrong, and intervals are too narrow"
        )
    if estimated:
        little = [
            f"{curve.channel} of {curve.experiment}"
            for curve in curves
            if len(curve.t) >= _ENOUGH
            and np.std(curve.predicted - curve.measured) > _LITTLE * np.std(curve.measured) > 0.0
        ]
        if little:
            found.append(f"the model explains little of {', '.join(little[:4])}: residuals are as large as the data")
    alike = [
        f"{curve.channel} of {curve.experiment} ({correlation:.2f})"
        for curve in curves
        if len(curve.t) >= _ENOUGH
        and float(np.ptp(curve.t)) > 0.0
        and (correlation := _of_neighbours(curve)) > max(_ALIKE, stats.norm.isf(_CHANCE) / np.sqrt(len(curve.t)))
    ]
    if alike:
        found.append(
            f"neighbouring residuals are alike: {', '.join(alike[:4])}; the model misses something, or the noise is "
            "not independent, and intervals are too narrow"
        )
    return found


def _of_neighbours(curve: Curve) -> float:
    """Correlation of the residuals of neighbouring samples; 0 where there are none to speak of."""
    r = curve.predicted - curve.measured
    size = float(r @ r)
    if not np.isfinite(size) or size <= (1e-9 * float(np.max(np.abs(curve.measured)))) ** 2 * len(r):
        return 0.0
    return float(r[1:] @ r[:-1]) / size
