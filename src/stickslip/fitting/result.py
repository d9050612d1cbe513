"""The result of a fit: values, intervals, what the data does not fix, residuals; saved, printed, drawn."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stickslip import markup
from stickslip.checks import Array, counted
from stickslip.io.disk import replacing
from stickslip.io.printable import plain
from stickslip.on_request import service


@dataclass(frozen=True, eq=False)
class Curve:
    """Measured and predicted values of one channel of one experiment: t, measured, predicted (n,)."""

    experiment: str
    channel: str
    t: Array
    measured: Array
    predicted: Array
    sigma: float


@dataclass(frozen=True, eq=False)
class Fit:
    """Parameters from measurements.

    Attributes
    ----------
    model : name of the model;  law : its impact law
    names : free quantities;  values : their values by name
    intervals : name -> (low, high), within which the truth lies with probability `level`
    covariance : (k, k), of the free quantities in the order of `names`; from the linearised model
    identifiable : name -> whether the data bounds the quantity within its range
    unfixed : combinations of quantities that the data does not fix, in words
    residuals : (m,) predicted minus measured, in standard deviations, experiment by experiment
    noise : channel -> standard deviation of its values;  noise_estimated : whether the data gave it
    chi2, degrees_of_freedom : sum of squares of residuals; measured numbers minus unknowns
    starts : per experiment, the fitted values of its start quantities
    bootstrap : (draws, k) values from data made anew; empty where none was asked for
    curves : measured and predicted values
    remarks : what the reader should know
    evaluations : predictions that were made;  seed : of search and bootstrap
    units : of quantities and channels that have one
    """

    model: str
    law: str
    names: tuple[str, ...]
    values: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    level: float
    covariance: Array
    identifiable: dict[str, bool]
    unfixed: tuple[str, ...]
    residuals: Array
    noise: dict[str, float]
    noise_estimated: bool
    chi2: float
    degrees_of_freedom: int
    starts: tuple[Mapping[str, float], ...]
    curves: tuple[Curve, ...]
    bounds: dict[str, tuple[float, float]]
    bootstrap: Array = field(default_factory=lambda: np.zeros((0, 0)))
    remarks: tuple[str, ...] = ()
    evaluations: int = 0
    seed: int = 0
    units: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        rows = [
            (name, self.values[name], *self.intervals[name], self.units.get(name, ""), self._said(name))
            for name in self.names
        ]
        head = ("", "value", f"{100 * self.level:g} % from", "to", "unit", "")
        return markup.table(rows, head, f"fit of {self.model} ({self.law})")

    @property
    def standard_errors(self) -> dict[str, float]:
        """Name -> root of its entry on the diagonal of the covariance."""
        return dict(zip(self.names, np.sqrt(np.diag(self.covariance)).tolist(), strict=True))

    @property
    def bootstrap_intervals(self) -> dict[str, tuple[float, float]]:
        """Name -> (low, high), which hold the share `level` of the values of the bootstrap; empty without one."""
        if not len(self.bootstrap):
            return {}
        low, high = np.quantile(self.bootstrap, [0.5 - 0.5 * self.level, 0.5 + 0.5 * self.level], axis=0)
        return {name: (float(low[k]), float(high[k])) for k, name in enumerate(self.names)}

    def _said(self, name: str) -> str:
        return "" if self.identifiable[name] else "not fixed by the data"

    def text(self) -> str:
        """Values with their intervals, as a table."""
        count = counted(self.degrees_of_freedom, "degree")
        wide = max(8, *(len(name) for name in self.names))
        lines = [
            f"fit of {self.model} ({self.law}): {counted(len(self.residuals), 'value')} in "
            f"{counted(len(self.starts), 'experiment')}, chi^2 {self.chi2:.4g} of {count} of freedom",
            f"{'':{wide}}  {'value':>12}  {f'{100 * self.level:g} % interval':>27}",
        ]
        for name in self.names:
            low, high = self.intervals[name]
            said = "   ".join(word for word in (self.units.get(name, ""), self._said(name)) if word)
            lines.append(f"{name:{wide}}  {self.values[name]:12.6g}  [{low:12.6g}, {high:12.6g}]  {said}".rstrip())
        for name, (low, high) in self.bootstrap_intervals.items():
            lines.append(f"bootstrap, {counted(len(self.bootstrap), 'fit')}: {name} [{low:.6g}, {high:.6g}]")
        noise = ", ".join(f"{name} {x:.3g} {self.units.get(name, '')}".rstrip() for name, x in self.noise.items())
        lines.append(f"noise ({'from the residuals' if self.noise_estimated else 'given'}): {noise}")
        lines += [f"not fixed: {words}" for words in self.unfixed]
        lines += [f"note: {words}" for words in self.remarks]
        return "\n".join(lines)

    def report(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "model": self.model,
            "law": self.law,
            "values": {name: plain(value) for name, value in self.values.items()},
            "intervals": {name: [plain(low), plain(high)] for name, (low, high) in self.intervals.items()},
            "bootstrap_intervals": {name: list(ends) for name, ends in self.bootstrap_intervals.items()},
            "units": {name: self.units[name] for name in self.names if name in self.units},
            "level": self.level,
            "covariance": [[plain(x) for x in row] for row in self.covariance.tolist()],
            "identifiable": dict(self.identifiable),
            "unfixed": list(self.unfixed),
            "noise": {name: plain(value) for name, value in self.noise.items()},
            "noise_estimated": self.noise_estimated,
            "chi2": plain(self.chi2),
            "degrees_of_freedom": self.degrees_of_freedom,
            "starts": [dict(each) for each in self.starts],
            "residuals": [plain(x) for x in self.residuals.tolist()],
            "remarks": list(self.remarks),
            "evaluations": self.evaluations,
            "seed": self.seed,
        }

    def save(self, path: str | Path) -> Path:
        """Write the report to a JSON file, whole or not at all, and return its path."""
        target = Path(path)
        with replacing(target) as draft:
            draft.write_text(json.dumps(self.report(), indent=1, allow_nan=False) + "\n", encoding="utf-8")
        return target

    def plot(self) -> Any:
        """A figure: measured values over the prediction, residuals, and intervals."""
        return service("plot a fit")(self)
