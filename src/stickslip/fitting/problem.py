"""Weighted least squares of all experiments together, in shares of the ranges of the free quantities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import least_squares

from stickslip.checks import Array
from stickslip.fitting.experiments import Experiment, Unpredictable

LOST = 1e3
"""Residual, in standard deviations, of every number of an experiment that the model cannot predict."""
_ENOUGH = 1e-10  # relative change of the sum of squares, and of values, that ends an iteration
_MOST = 60  # predictions of one refinement


@dataclass(frozen=True)
class Place:
    """Where a free quantity of one experiment stands in the vector of all: `at` is its index, `name` its name."""

    at: int
    name: str


@dataclass(eq=False)
class Problem:
    """The unknowns of a fit, and their residuals.

    The unknowns are the free quantities, one value for all experiments, and behind them the start quantities of every
    experiment.  Both are shares z: value = low + z (high - low); a start quantity is centre + z * its deviation.

    Attributes
    ----------
    experiments : what was measured
    names, low, high : (k,) free quantities with their ranges
    deviations : start quantity -> standard deviation of its start from experiment to experiment
    sigma : channel -> standard deviation of a measured number
    """

    experiments: Sequence[Experiment]
    names: tuple[str, ...]
    low: Array
    high: Array
    deviations: Mapping[str, float]
    sigma: dict[str, float]
    evaluations: int = field(default=0)

    def __post_init__(self) -> None:
        k = len(self.names)
        self.locals: list[list[Place]] = []
        for experiment in self.experiments:
            self.locals.append([Place(k + i, name) for i, name in enumerate(experiment.starts)])
            k += len(experiment.starts)
        self.size = k
        self.y = np.concatenate([e.y for e in self.experiments])
        self.channel = np.concatenate([e.channel for e in self.experiments])
        self.t = np.concatenate([e.t for e in self.experiments])
        self.experiment = np.concatenate([np.full(len(e.y), i) for i, e in enumerate(self.experiments)])
        rows = np.concatenate([e.row for e in self.experiments])
        self.row = self.experiment * (1 + int(rows.max(initial=0))) + rows  # values of one moment have one number

    @property
    def count(self) -> int:
        """Measured numbers."""
        return len(self.y)

    @property
    def width(self) -> Array:
        return self.high - self.low

    def values(self, z: Array) -> Array:
        """(k,) values of the free quantities."""
        return self.low + z[: len(self.names)] * self.width

    def shares(self, values: Array) -> Array:
        """The unknowns at given values of the free quantities, every experiment at the centre of its start."""
        z = np.zeros(self.size)
        z[: len(self.names)] = (values - self.low) / self.width
        return z

    def of(self, number: int, z: Array) -> dict[str, float]:
        """Values of the quantities of one experiment."""
        found = dict(zip(self.names, self.values(z).tolist(), strict=True))
        for place in self.locals[number]:
            centre = self.experiments[number].starts[place.name]
            found[place.name] = centre + float(z[place.at]) * self.deviations[place.name]
        return found

    def weights(self) -> Array:
        """(m,) 1 / sigma of every measured number."""
        return 1.0 / np.array([self.sigma[name] for name in self.channel.tolist()])

    def residuals(self, z: Array, until: float = np.inf) -> Array:
        """(m + starts,) deviations in standard deviations, and those of the starts; 0 later than `until`."""
        parts = []
        for number, experiment in enumerate(self.experiments):
            self.evaluations += 1
            try:
                predicted = experiment.predict(self.of(number, z), until)
                parts.append(predicted - experiment.y)
            except Unpredictable:
                parts.append(np.full(len(experiment.y), np.nan))
        r = np.concatenate(parts) * self.weights()
        r = np.where(np.isfinite(r), r, LOST)
        r[self.t > until] = 0.0
        return np.concatenate([r, z[len(self.names) :]])

    def linear(self, z: Array, until: float = np.inf) -> tuple[Array, Array]:
        """Residuals and their derivatives by the unknowns, (m + starts, size)."""
        r, J = [], np.zeros((self.count + self.size - len(self.names), self.size))
        row = 0
        for number, experiment in enumerate(self.experiments):
            own = self.locals[number]
            names = (*self.names, *(place.name for place in own))
            scales = np.concatenate([self.width, [self.deviations[place.name] for place in own]])
            rows = slice(row, row + len(experiment.y))
            self.evaluations += 1
            try:
                y, slope = experiment.slopes(self.of(number, z), names, scales, until)
            except Unpredictable:
                y, slope = np.full(len(experiment.y), np.nan), np.zeros((len(experiment.y), len(names)))
            r.append(y - experiment.y)
            slope = np.where(np.isfinite(slope), slope * scales, 0.0)
            J[rows, : len(self.names)] = slope[:, : len(self.names)]
            for i, place in enumerate(own):
                J[rows, place.at] = slope[:, len(self.names) + i]
            row = rows.stop
        weights = self.weights()
        weighted = np.concatenate(r) * weights
        weighted = np.where(np.isfinite(weighted), weighted, LOST)
        J[: self.count] *= weights[:, None]
        late = np.flatnonzero(self.t > until)
        weighted[late], J[late] = 0.0, 0.0
        J[self.count :, len(self.names) :] = np.eye(self.size - len(self.names))
        return np.concatenate([weighted, z[len(self.names) :]]), J

    def refine(
        self, z: Array, until: float = np.inf, held: Sequence[int] = (), tries: int = _MOST,
        left_out: np.ndarray | None = None,
    ) -> tuple[Array, float]:  # fmt: skip
        """The nearest minimum of the sum of squares, and that sum.

        until : values that were measured later do not count [s]
        held : unknowns that stay where they are
        tries : most predictions
        left_out : (m,) values that do not count
        """
        free = np.array([i for i in range(self.size) if i not in set(held)], dtype=int)
        if not len(free):
            return z, float(np.sum(self.residuals(z, until) ** 2))
        k = len(self.names)
        least = np.where(free < k, 0.0, -np.inf)
        most = np.where(free < k, 1.0, np.inf)
        point = z.copy()
        known: dict[bytes, tuple[Array, Array]] = {}

        def at(x: Array) -> tuple[Array, Array]:
            key = x.tobytes()
            if key not in known:
                known.clear()
                point[free] = x
                r, J = self.linear(point, until)
                if left_out is not None:
                    r[: self.count][left_out], J[: self.count][left_out] = 0.0, 0.0
                known[key] = r, J[:, free]
            return known[key]

        inside = np.clip(z[free], np.where(free < k, 1e-9, -np.inf), np.where(free < k, 1.0 - 1e-9, np.inf))
        found = least_squares(
            lambda x: at(x)[0], inside, lambda x: at(x)[1], bounds=(least, most), x_scale="jac", ftol=_ENOUGH,
            xtol=_ENOUGH, gtol=1e-12, max_nfev=tries,
        )  # fmt: skip
        end = z.copy()
        end[free] = found.x
        return end, 2.0 * float(found.cost)

    def spreads(self, z: Array) -> dict[str, float]:
        """Standard deviations of the channels that the residuals at z speak for."""
        r = self.residuals(z)[: self.count] / self.weights()
        share = max(1e-3, 1.0 - self.size / max(self.count, 1))
        found = {}
        for name in dict.fromkeys(self.channel.tolist()):
            mine = r[self.channel == name]
            size = float(np.max(np.abs(self.y[self.channel == name]), initial=0.0))
            floor = 1e-12 * max(size, 1e-9)  # measured without noise: as good as the arithmetic
            found[name] = max(float(np.sqrt(np.mean(mine**2) / share)), floor)
        return found
