"""Laws and models judged by data that they were not fitted to: cross-validation, and data that was kept back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip import markup
from stickslip.analysis.progress import Progress, reported
from stickslip.checks import Array, whole_number
from stickslip.fitting.fit import fit, prepared
from stickslip.fitting.problem import Problem
from stickslip.fitting.result import Fit

_OF_THE_PROBLEM = ("noise", "starts", "law", "units", "options")


@dataclass(frozen=True, eq=False)
class Missed:
    """What predictions miss of data that their fit has not seen, unit by unit.

    A unit is an experiment; where there are fewer experiments than parts, a moment or an impact.

    sums : (n,) sums of squares of the residuals of a unit, in standard deviations;  counts : (n,) their numbers
    """

    sums: Array
    counts: Array

    @property
    def error(self) -> float:
        """Root mean square of all residuals."""
        return float(np.sqrt(np.sum(self.sums) / np.sum(self.counts)))

    @property
    def standard_error(self) -> float:
        """Of `error`, from the differences of the units: of a ratio of sums, and of its root; nan for one unit."""
        return _spread(self.sums - self.error**2 * self.counts) / max(2.0 * self.error * self.counts.sum(), 1e-300)


def _spread(x: Array) -> float:
    """Standard error of the sum of independent numbers; nan for one number."""
    return float(np.sqrt(len(x)) * np.std(x, ddof=1)) if len(x) > 1 else np.nan


def apart(expected: Missed, kept: Missed) -> float:
    """By how many standard errors the error of other data is larger than what was expected."""
    return (kept.error - expected.error) / float(np.hypot(expected.standard_error, kept.standard_error))


@dataclass(frozen=True, eq=False)
class Comparison:
    """Models beside each other.

    Attributes
    ----------
    names : of the models, the best first
    fits : name -> `Fit` to all data
    errors : name -> (folds,) root mean square of the residuals of data that was left out, in standard deviations
    unknowns : name -> number of free quantities
    expected : name -> `Missed`, of data that was left out: the error to expect of other data
    kept : name -> `Missed`, of data that was kept back; empty where none was
    """

    names: tuple[str, ...]
    fits: dict[str, Fit]
    errors: dict[str, Array]
    unknowns: dict[str, int]
    expected: dict[str, Missed]
    kept: dict[str, Missed]

    def mean(self, name: str) -> float:
        """Root mean square of all residuals of data that was left out."""
        return self.expected[name].error

    def standard_error(self, name: str) -> float:
        """Of the difference to the best model, unit by unit; 0 for the best."""
        mine, best = self.expected[name], self.expected[self.names[0]]
        difference = (mine.sums - mine.error**2 * mine.counts) / max(mine.error, 1e-300)
        difference -= (best.sums - best.error**2 * best.counts) / max(best.error, 1e-300)
        return _spread(difference) / (2.0 * float(np.sum(mine.counts)))

    def apart(self, name: str) -> float:
        """By how many standard errors the error of the data kept back is larger than what was expected."""
        return apart(self.expected[name], self.kept[name])

    def rows(self) -> list[tuple[Any, ...]]:
        """Per model: name, free quantities, error of data left out and its standard error, difference to the best and
        its standard error; where data was kept back, its error, the standard error, and how far it is apart.
        """
        best = self.mean(self.names[0])
        found = []
        for name in self.names:
            row: tuple[Any, ...] = (name, self.unknowns[name], self.mean(name), self.expected[name].standard_error)
            row += (self.mean(name) - best, self.standard_error(name))
            if self.kept:
                row += (self.kept[name].error, self.kept[name].standard_error, self.apart(name))
            found.append(row)
        return found

    def _head(self) -> tuple[str, ...]:
        head = ("model", "free", "error left out", "+-", "more than best", "standard error")
        return (*head, "kept back", "+-", "apart") if self.kept else head

    def __repr__(self) -> str:
        shown = []
        for name, unknowns, error, off, more, beside, *kept in self.rows():
            cells = [name, str(unknowns), f"{error:.5g}", f"{off:.2g}", f"{more:.3g}", f"{beside:.2g}"]
            shown.append((*cells, *(f"{x:{form}}" for x, form in zip(kept, (".5g", ".2g", "+.1f"), strict=bool(kept)))))
        return "\n".join(markup.aligned([self._head(), *shown]))

    def _repr_html_(self) -> str:
        return markup.table(self.rows(), self._head(), "cross-validation, in standard deviations of the noise")


def compare_fits(
    models: Mapping[str, Mapping[str, Any]],
    data: Any,
    *,
    kept: Any = None,
    folds: int = 5,
    noise: float | Mapping[str, float],
    seed: int = 0,
    progress: Progress = None,
    **common: Any,
) -> Comparison:
    """Fit several models or laws, and judge each on data that its fit has not seen.

    Experiments are left out whole; a single experiment, or pairs of impacts, is left out in parts.  The error of data
    that was left out is the one to expect of other data of one kind.  That of fitted data is smaller: a fit takes up
    some of the chance in its own data.

    Parameters
    ----------
    models : name -> keywords of `fit`: model, free, law, starts, options
    data : as for `fit`
    kept : data that was kept back, as for `fit`: predicted by the fits to all of `data`
    folds : parts of the data that are left out one after the other
    noise : standard deviations, for all models alike: they set the unit of the errors
    seed : of the parts and of the searches
    common : keywords of `fit` for all models
    """
    count = whole_number(folds, "folds", 2)
    fits, errors, unknowns = {}, {}, {}
    expected: dict[str, Missed] = {}
    others: dict[str, Missed] = {}
    with reported(progress, "cross-validation", len(models) * (count + 1)) as report:
        done = 0

        def step() -> None:
            nonlocal done
            done += 1
            report(done)

        for name, keywords in models.items():
            task = {**common, **keywords, "noise": noise, "seed": seed}
            model, free = task.pop("model"), task.pop("free")
            asked = {key: task[key] for key in _OF_THE_PROBLEM if key in task}
            problem, _ = prepared(model, data, free, **asked)
            unseen = None if kept is None else kept_back(problem, prepared(model, kept, free, **asked)[0])
            whole = fit(model, data, free, **{**task, "progress": False})
            fits[name], unknowns[name] = whole, len(free)
            step()
            errors[name], expected[name], other = judged(problem, whole, unseen, count, seed, step)
            if other is not None:
                others[name] = other
    order = sorted(errors, key=lambda each: expected[each].error)
    return Comparison(tuple(order), fits, errors, unknowns, expected, others)


def kept_back(problem: Problem, kept: Problem) -> Problem:
    """The problem of data that was kept back; ValueError where a fit to the other problem has seen some of it."""
    for other in kept.experiments:
        for each in problem.experiments:
            if np.array_equal(each.y, other.y) and np.array_equal(each.channel, other.channel):
                raise ValueError(
                    f"kept must hold data that the fit has not seen, got {other.name} with the values of {each.name}, "
                    "which is fitted."
                )
    return kept


def judged(
    problem: Problem, whole: Fit, kept: Problem | None, folds: int, seed: int, step: Callable[[], None] = lambda: None
) -> tuple[Array, Missed, Missed | None]:
    """Errors of parts that were left out, what was missed of them, and of data that was kept back, if any.

    whole : the fit to all data;  kept : the problem of the data kept back
    """
    errors, expected = _left_out(problem, whole, folds, seed, step)
    if kept is None:
        return errors, expected, None
    return errors, expected, _predicted(kept, whole, _by_experiment(problem, folds))


def _left_out(problem: Problem, whole: Fit, folds: int, seed: int, step: Callable[[], None]) -> tuple[Array, Missed]:
    """Errors (folds,) of the parts that were left out, and what was missed of all of them.

    Each part is predicted by a fit to the others, which begins at the fit to all.
    """
    kinds, unit = np.unique(problem.experiment if _by_experiment(problem, folds) else problem.row, return_inverse=True)
    if len(kinds) < folds:
        raise ValueError(f"folds must be at most the number of moments that were measured, {len(kinds)}, got {folds}.")
    part = (np.random.default_rng(whole_number(seed, "seed", 0)).permutation(len(kinds)) % folds)[unit]
    begin = problem.shares(np.array([whole.values[name] for name in problem.names]))
    squares, errors = np.empty(problem.count), np.empty(folds)
    for number in range(folds):
        out = (part == number) & ~problem.tied
        z, _ = problem.refine(begin, left_out=out)
        squares[out] = problem.residuals(z)[: problem.count][out] ** 2
        errors[number] = np.sqrt(np.mean(squares[out]))
        step()
    return errors, _missed(squares, unit, ~problem.tied)


def _by_experiment(problem: Problem, folds: int) -> bool:
    """Whether whole experiments are left out; where there are fewer than parts, moments and impacts are."""
    return len(problem.experiments) >= folds


def _predicted(problem: Problem, whole: Fit, whole_experiments: bool) -> Missed:
    """What a fit misses of data that it has not seen, with every start where it was measured."""
    z = problem.shares(np.array([whole.values[name] for name in problem.names]))
    unit = np.unique(problem.experiment if whole_experiments else problem.row, return_inverse=True)[1]
    return _missed(problem.residuals(z)[: problem.count] ** 2, unit, ~problem.tied)


def _missed(squares: Array, unit: np.ndarray, there: np.ndarray) -> Missed:
    counts = np.asarray(np.bincount(unit[there]), dtype=float)
    sums = np.asarray(np.bincount(unit[there], squares[there]), dtype=float)
    return Missed(sums[counts > 0], counts[counts > 0])
