"""How well the data fixes the free quantities: covariance, profile likelihood, bootstrap, what is not fixed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from stickslip.checks import Array
from stickslip.fitting.experiments import Stepped, Unpredictable
from stickslip.fitting.problem import Problem

_TRIES = 24  # refinements of one side of one interval, at most
_NEAR = 0.02  # relative deviation of the rise of the sum of squares that is near enough
_JUMP = 0.25  # squared misses of a straight line: at a third to one, 33 of 40 intervals held a truth, not 38
_FINER = 8  # steps in place of one that tell the error of the step size
_FLAT = 1e-10  # singular values below this share of the largest carry nothing


@dataclass(frozen=True)
class Threshold:
    """Rise of the sum of squares that bounds an interval.

    level : probability that the interval holds the truth;  rise : of the sum of squares, in its own units
    """

    level: float
    rise: float


def threshold(level: float, count: int, unknowns: int, known_noise: bool) -> Threshold:
    """Chi-square of one degree of freedom; F where the noise itself was estimated from the data."""
    left = count - unknowns
    if known_noise or left < 1:
        return Threshold(level, float(stats.chi2.ppf(level, 1)))
    return Threshold(level, float(stats.f.ppf(level, 1, left)))


def covariance(problem: Problem, z: Array, held: tuple[int, ...] = ()) -> Array:
    """(k, k) covariance of the free quantities, in their units; inf where the data says nothing.

    Quantities at an end of their range (`held`) do not move: their rows are zero.
    """
    _, J = problem.linear(z)
    k = len(problem.names)
    free = [i for i in range(problem.size) if i not in held]
    _, values, right = np.linalg.svd(J[:, free], full_matrices=False)
    full = np.zeros((problem.size, problem.size))
    if len(values) and values[0] > 0.0:
        kept = values > _FLAT * values[0]
        inverse = np.where(kept, 1.0 / np.where(kept, values, 1.0) ** 2, 0.0)
        part = (right.T * inverse) @ right
        blind = np.sum(right[~kept] ** 2, axis=0) > 1e-6
        part[blind, blind] = np.inf
        full[np.ix_(free, free)] = part
    else:
        full[free, free] = np.inf
    width = problem.width
    return full[:k, :k] * np.outer(width, width)


def rough(problem: Problem, z: Array, spread: Array) -> list[str]:
    """Free quantities by which predictions are not straight within one standard error: their intervals mislead.

    Time stepping puts impacts on a grid of times.  Where a prediction jumps by more than what a standard error moves
    it, neither derivatives nor the sum of squares say how well the data fixes a quantity.

    spread : (k,) standard errors as shares of the ranges
    """
    r, J = problem.linear(z)
    found = []
    for i, name in enumerate(problem.names):
        for side in (-1.0, 1.0):
            moved = z.copy()
            moved[i] = np.clip(z[i] + side * spread[i], 0.0, 1.0) if np.isfinite(spread[i]) else z[i]
            straight = J[:, i] * (moved[i] - z[i])
            missed = float(np.sum((problem.residuals(moved) - r - straight) ** 2))
            if missed > _JUMP * max(1.0, float(straight @ straight)):
                found.append(name)
                break
    return found


def moved_by_steps(problem: Problem, z: Array, spread: Array) -> dict[str, float]:
    """By how many standard errors the step size of predictions has moved the free quantities, name by name.

    Predictions y(h) with steps h miss y(0) by e(h), of the size of h.  It is y(h) - y(h / 8) to within an eighth;
    y(h / 2) may have its impacts at the times of y(h) by chance, and tell nothing.  A fit of y(h) ends where y(h) meets
    the data: e has moved the unknowns by the dz that makes |W e + J dz| least, with the weights W.  Predictions between
    two records have the error of a straight line, which counts.

    spread : (k,) standard errors as shares of the ranges
    """
    error = np.zeros(problem.count + problem.size - len(problem.names))
    weights, whole = problem.weights(), problem.predictions(z)
    for number, experiment in enumerate(problem.experiments):
        if isinstance(experiment, Stepped):
            rows = np.flatnonzero(problem.experiment == number)
            try:
                finer = replace(experiment, finer=_FINER).predict(problem.of(number, z))
            except Unpredictable:
                continue
            error[rows] = weights[rows] * (whole[rows] - finer)
    error = np.where(np.isfinite(error), error, 0.0)
    _, J = problem.linear(z)
    inside = [i for i in range(problem.size) if i >= len(spread) or 1e-7 <= z[i] <= 1.0 - 1e-7]
    moved = np.zeros(problem.size)
    moved[inside] = -np.linalg.lstsq(J[:, inside], error, rcond=_FLAT)[0]
    known = np.isfinite(spread) & (spread > 0.0)
    return {name: float(moved[i] / spread[i]) for i, name in enumerate(problem.names) if known[i]}


def profile(problem: Problem, z: Array, least: float, index: int, side: int, limit: Threshold, spread: float) -> float:
    """The end of an interval: where the sum of squares, least over all other quantities, has risen by the threshold.

    Parameters
    ----------
    least : the sum of squares at the fit z
    index, side : the quantity, and -1 or +1
    spread : its standard deviation as a share of its range, for a first guess

    Returns
    -------
    float : a share of the range; 0 or 1 where it is not bounded within the range
    """
    here = float(z[index])
    edge = 0.0 if side < 0 else 1.0
    room = abs(edge - here)
    if room <= 1e-12:
        return edge
    step = min(max(float(np.sqrt(limit.rise)) * spread, 1e-9), room) if np.isfinite(spread) and spread > 0 else room
    inner, outer, outer_rise = 0.0, None, np.inf
    inner_rise, warm = 0.0, z
    for _ in range(_TRIES):
        trial = warm.copy()
        trial[index] = here + side * step
        trial, value = problem.refine(trial, held=(index,))
        rise = value - least
        if abs(rise - limit.rise) <= _NEAR * limit.rise:
            return here + side * step
        if rise < limit.rise:
            inner, inner_rise, warm = step, rise, trial
            if step >= room * (1.0 - 1e-12):
                return edge
        else:
            outer, outer_rise = step, rise
        if outer is None:
            grow = np.sqrt(limit.rise / rise) if rise > 0.05 * limit.rise else 4.0
            step = min(room, step * float(np.clip(1.1 * grow, 1.2, 4.0)))
        else:
            # the root of the rise is nearly straight in the step
            a, b = np.sqrt(max(inner_rise, 0.0)), np.sqrt(min(outer_rise, 1e12))
            share = (np.sqrt(limit.rise) - a) / (b - a) if b > a else 0.5
            step = inner + float(np.clip(share, 0.05, 0.95)) * (outer - inner)
            if outer - inner <= 1e-6 * max(outer, 1e-12):
                break
    return here + side * (outer if outer is not None else step)


def bootstrap(problem: Problem, z: Array, draws: int, seed: int, report: Callable[[float], None]) -> Array:
    """(draws, k) values of the free quantities from data made anew: predictions at the fit plus noise.

    The values about which starts vary were measured as well: they are drawn anew about the starts of the fit.
    """
    generator = np.random.default_rng(seed)
    weights = problem.weights()
    clean = problem.y + problem.residuals(z)[: problem.count] / weights
    measured, found = [e.y for e in problem.experiments], np.empty((draws, len(problem.names)))
    starts, asked = z[len(problem.names) :], problem.measured_starts
    try:
        for draw in range(draws):
            noisy = np.where(problem.tied, 0.0, clean + generator.standard_normal(problem.count) / weights)
            row = 0
            for experiment, y in zip(problem.experiments, measured, strict=True):
                experiment.y = noisy[row : row + len(y)]
                row += len(y)
            problem.drawn = np.where(asked, starts + generator.standard_normal(len(starts)), 0.0)
            found[draw] = problem.values(problem.refine(z)[0])
            report(draw + 1)
    finally:
        problem.drawn = np.zeros(len(starts))
        for experiment, y in zip(problem.experiments, measured, strict=True):
            experiment.y = y
    return found


def blind_directions(problem: Problem, z: Array, limit: Threshold) -> list[str]:
    """Combinations of free quantities that the data does not fix within their ranges, in words."""
    _, J = problem.linear(z)
    k = len(problem.names)
    if problem.size > k:  # what the starts can take up says nothing about the free quantities
        starts = J[:, k:]
        J = J[:, :k] - starts @ np.linalg.lstsq(starts, J[:, :k], rcond=None)[0]
    _, values, right = np.linalg.svd(J, full_matrices=False)
    found = []
    for value, direction in zip(values, right, strict=True):
        if value * 0.5 < np.sqrt(limit.rise):  # half of a range does not raise the sum of squares enough
            parts = [problem.names[i] for i in np.argsort(-np.abs(direction)) if abs(direction[i]) > 0.2]
            found.append(parts[0] if len(parts) == 1 else "a combination of " + ", ".join(parts))
    return found
