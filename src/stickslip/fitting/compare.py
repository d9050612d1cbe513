"""Laws and models judged by data that they were not fitted to: cross-validation."""

from __future__ import annotations

from collections.abc import Mapping
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
class Comparison:
    """Models beside each other.

    Attributes
    ----------
    names : of the models, the best first
    fits : name -> `Fit` to all data
    errors : name -> (folds,) root mean square of the residuals of data that was left out, in standard deviations
    unknowns : name -> number of free quantities
    """

    names: tuple[str, ...]
    fits: dict[str, Fit]
    errors: dict[str, Array]
    unknowns: dict[str, int]

    def mean(self, name: str) -> float:
        """Root mean square over all folds."""
        return float(np.sqrt(np.mean(self.errors[name] ** 2)))

    def standard_error(self, name: str) -> float:
        """Of the difference to the best model, fold by fold; 0 for the best."""
        difference = self.errors[name] - self.errors[self.names[0]]
        return float(np.std(difference, ddof=1) / np.sqrt(len(difference)))

    def rows(self) -> list[tuple[Any, ...]]:
        best = self.mean(self.names[0])
        return [
            (name, self.unknowns[name], self.mean(name), self.mean(name) - best, self.standard_error(name))
            for name in self.names
        ]

    def __repr__(self) -> str:
        head = ("model", "free", "error left out", "more than best", "standard error")
        shown = [(n, str(k), f"{e:.5g}", f"{d:.3g}", f"{s:.2g}") for n, k, e, d, s in self.rows()]
        return "\n".join(markup.aligned([head, *shown]))

    def _repr_html_(self) -> str:
        head = ("model", "free", "error left out", "more than best", "standard error")
        return markup.table(self.rows(), head, "cross-validation, in standard deviations of the noise")


def compare_fits(
    models: Mapping[str, Mapping[str, Any]],
    data: Any,
    *,
    folds: int = 5,
    noise: float | Mapping[str, float],
    seed: int = 0,
    progress: Progress = None,
    **common: Any,
) -> Comparison:
    """Fit several models or laws, and judge each on data that its fit has not seen.

    Experiments are left out whole; a single experiment, or pairs of impacts, is left out in parts.

    Parameters
    ----------
    models : name -> keywords of `fit`: model, free, law, starts, options
    data : as for `fit`
    folds : parts of the data that are left out one after the other
    noise : standard deviations, for all models alike: they set the unit of the errors
    seed : of the parts and of the searches
    common : keywords of `fit` for all models
    """
    count = whole_number(folds, "folds", 2)
    fits, errors, unknowns = {}, {}, {}
    with reported(progress, "cross-validation", len(models) * (count + 1)) as report:
        done = 0
        for name, keywords in models.items():
            task = {**common, **keywords, "noise": noise, "seed": seed}
            model, free = task.pop("model"), task.pop("free")
            whole = fit(model, data, free, **{**task, "progress": False})
            fits[name], unknowns[name] = whole, len(free)
            done += 1
            report(done)
            problem, _ = prepared(model, data, free, **{key: task[key] for key in _OF_THE_PROBLEM if key in task})
            groups = _groups(problem, count, seed)
            errors[name] = np.empty(count)
            for number in range(count):
                errors[name][number] = _left_out(problem, whole, (groups == number) & ~problem.tied)
                done += 1
                report(done)
    order = sorted(errors, key=lambda each: float(np.mean(errors[each] ** 2)))
    return Comparison(tuple(order), fits, errors, unknowns)


def _left_out(problem: Problem, whole: Fit, out: np.ndarray) -> float:
    """Root mean square of the residuals of values that a fit has not seen; it starts at the fit to all data."""
    begin = problem.shares(np.array([whole.values[name] for name in problem.names]))
    z, _ = problem.refine(begin, left_out=out)
    return float(np.sqrt(np.mean(problem.residuals(z)[: problem.count][out] ** 2)))


def _groups(problem: Problem, folds: int, seed: int) -> np.ndarray:
    """(m,) the part that every measured number belongs to."""
    units = problem.experiment if len(problem.experiments) >= folds else problem.row
    kinds = np.unique(units)
    if len(kinds) < folds:
        raise ValueError(f"folds must be at most the number of moments that were measured, {len(kinds)}, got {folds}.")
    part = np.random.default_rng(whole_number(seed, "seed", 0)).permutation(len(kinds)) % folds
    return np.asarray(part[np.searchsorted(kinds, units)])
