"""Weighted least squares of all experiments together, in shares of the ranges of the free quantities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from stickslip.checks import Array
from stickslip.fitting.experiments import TIE, Experiment, Unpredictable

LOST = 1e3
"""Least residual, in standard deviations, of every number of an experiment that the model cannot predict."""
_FAR = 10.0  # a prediction that is there may be off by this many times the size of its column, and counts as better
_ENOUGH = 1e-10  # relative change of values that ends an iteration
_SETTLED = 1e-7  # relative change of the sum of squares that does: a hundredth of a standard deviation and less
_ROUGH = 1e-3  # where only a part of the data counts: its minimum is a place to go on from
_MOST = 60  # predictions of one refinement
_REMEMBERED = 8  # predictions that are kept, with and without derivatives


@dataclass(frozen=True)
class Place:
    """Where a start quantity of one experiment stands in the vector of all: index, name, standard deviation."""

    at: int
    name: str
    deviation: float


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
    _known: dict[tuple[str, bytes, float], Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        k = len(self.names)
        self.locals: list[list[Place]] = []
        for experiment in self.experiments:
            free = getattr(experiment, "free", {})  # starts of pieces
            own = [(name, free[name] if name in free else self.deviations[name]) for name in experiment.starts]
            self.locals.append([Place(k + i, name, deviation) for i, (name, deviation) in enumerate(own)])
            k += len(experiment.starts)
        self.size = k
        self.drawn = np.zeros(k - len(self.names))  # starts of the bootstrap: measured anew, this far from the centres
        self.y = np.concatenate([e.y for e in self.experiments])
        self.channel = np.concatenate([e.channel for e in self.experiments])
        self.t = np.concatenate([e.t for e in self.experiments])
        self.experiment = np.concatenate([np.full(len(e.y), i) for i, e in enumerate(self.experiments)])
        rows = np.concatenate([e.row for e in self.experiments])
        self.row = self.experiment * (1 + int(rows.max(initial=0))) + rows  # values of one moment have one number
        self.tied = np.char.startswith(self.channel.astype(str), TIE)
        sizes = {name: float(np.max(np.abs(self.y[self.channel == name]))) for name in set(self.channel.tolist())}
        self._sizes = np.array([sizes[name] for name in self.channel.tolist()])

    @property
    def count(self) -> int:
        """Measured numbers, and ties between the pieces of motions."""
        return len(self.y)

    def tie(self, share: float) -> None:
        """Let the pieces of motions be apart by this share of what their states range over."""
        for experiment in self.experiments:
            for name, spread in getattr(experiment, "spread", {}).items():
                self.sigma[TIE + name] = share * spread

    @property
    def width(self) -> Array:
        return self.high - self.low

    @property
    def measured_starts(self) -> np.ndarray:
        """(starts,) whether a start quantity was measured; starts of pieces of a motion were not."""
        pairs = zip(self.experiments, self.locals, strict=True)
        return np.array([p.name not in getattr(e, "free", {}) for e, places in pairs for p in places], dtype=bool)

    def noise_shares(self) -> list[float]:
        """Noise of the columns, as a share of what each ranges over."""
        found = []
        for name in dict.fromkeys(self.channel[~self.tied].tolist()):
            size = float(np.std(self.y[self.channel == name]))
            if size > 0.0:
                found.append(min(1.0, self.sigma[name] / size))
        return found

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
            found[place.name] = centre + float(z[place.at]) * place.deviation
        return found

    def weights(self) -> Array:
        """(m,) 1 / sigma of every measured number."""
        return 1.0 / np.array([self.sigma[name] for name in self.channel.tolist()])

    @property
    def lost(self) -> Array:
        """(m,) residuals where there is no prediction: more than a prediction is off, however small the noise."""
        return np.maximum(LOST, _FAR * self._sizes * self.weights())

    def predictions(self, z: Array, until: float = np.inf) -> Array:
        """(m,) what the model says at unknowns z; nan for experiments that it cannot predict."""
        return self._kept(("y", z.tobytes(), until), lambda: self._predicted(z, until))

    def slopes(self, z: Array, until: float = np.inf) -> tuple[Array, Array]:
        """Predictions (m,) and their derivatives by the unknowns (m, size); nan where there are none."""
        return self._kept(("J", z.tobytes(), until), lambda: self._derived(z, until))

    def _kept(self, key: tuple[str, bytes, float], compute: Callable[[], Any]) -> Any:
        """What was computed last for a key: intervals, curves and noise begin where a refinement has ended."""
        if key not in self._known:
            while len(self._known) >= _REMEMBERED:
                self._known.pop(next(iter(self._known)))
            self._known[key] = compute()
        return self._known[key]

    def _predicted(self, z: Array, until: float) -> Array:
        parts = []
        for number, experiment in enumerate(self.experiments):
            self.evaluations += 1
            try:
                parts.append(experiment.predict(self.of(number, z), until))
            except Unpredictable:
                parts.append(np.full(len(experiment.y), np.nan))
        return np.concatenate(parts)

    def _derived(self, z: Array, until: float) -> tuple[Array, Array]:
        y, J = np.full(self.count, np.nan), np.zeros((self.count, self.size))
        k, row = len(self.names), 0
        for number, experiment in enumerate(self.experiments):
            own = self.locals[number]
            names = (*self.names, *(place.name for place in own))
            scales = np.concatenate([self.width, [place.deviation for place in own]])
            rows = slice(row, row + len(experiment.y))
            row = rows.stop
            self.evaluations += 1
            try:
                y[rows], slope = experiment.slopes(self.of(number, z), names, scales, until)
            except Unpredictable:
                continue
            J[rows, :k] = slope[:, :k] * scales[:k]
            for i, place in enumerate(own):
                J[rows, place.at] = slope[:, k + i] * scales[k + i]
        return y, J

    def _weighted(self, y: Array, z: Array, until: float) -> Array:
        """Residuals of predictions y, and behind them those of the starts."""
        r = (y - self.measured()) * self.weights()
        r = np.where(np.isfinite(r), r, self.lost)
        r[self.t > until] = 0.0
        return np.concatenate([r, z[len(self.names) :] - self.drawn])

    def measured(self) -> Array:
        """(m,) measured numbers as the experiments hold them now."""
        return np.concatenate([e.y for e in self.experiments])

    def residuals(self, z: Array, until: float = np.inf) -> Array:
        """(m + starts,) deviations in standard deviations, and those of the starts; 0 later than `until`."""
        return self._weighted(self.predictions(z, until), z, until)

    def linear(self, z: Array, until: float = np.inf) -> tuple[Array, Array]:
        """Residuals and their derivatives by the unknowns, (m + starts, size)."""
        y, slope = self.slopes(z, until)
        k = len(self.names)
        J = np.zeros((self.count + self.size - k, self.size))
        J[: self.count] = np.where(np.isfinite(slope), slope, 0.0) * self.weights()[:, None]
        J[: self.count][self.t > until] = 0.0
        J[self.count :, k:] = np.eye(self.size - k)
        return self._weighted(y, z, until), J

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

        def at(x: Array) -> tuple[Array, Array]:
            point = z.copy()
            point[free] = x
            r, J = self.linear(point, until)
            if left_out is not None:
                r[: self.count][left_out], J[: self.count][left_out] = 0.0, 0.0
            return r, J[:, free]

        inside = np.clip(z[free], np.where(free < k, 1e-9, -np.inf), np.where(free < k, 1.0 - 1e-9, np.inf))
        settled, enough = (_SETTLED, _ENOUGH) if until == np.inf else (_ROUGH, _ROUGH)
        found = least_squares(
            lambda x: at(x)[0], inside, lambda x: at(x)[1], bounds=(least, most), x_scale="jac", ftol=settled,
            xtol=enough, gtol=1e-12, max_nfev=tries,
        )  # fmt: skip
        end = z.copy()
        end[free] = found.x
        return end, 2.0 * float(found.cost)

    def spreads(self, z: Array) -> dict[str, float]:
        """Standard deviations of the channels that the residuals at z speak for."""
        r = self.residuals(z)[: self.count] / self.weights()
        ties = int(self.tied.sum())  # each takes back one unknown, the start of a piece
        share = max(1e-3, 1.0 - (self.size - ties) / max(self.count - ties, 1))
        found = {}
        for name in dict.fromkeys(self.channel[~self.tied].tolist()):
            mine = r[self.channel == name]
            size = float(np.max(np.abs(self.y[self.channel == name]), initial=0.0))
            floor = 1e-12 * max(size, 1e-9)  # measured without noise: as good as the arithmetic
            found[name] = max(float(np.sqrt(np.mean(mine**2) / share)), floor)
        return found
