"""Experiments: measured motions, impacts and cycles, and what a model predicts of them for given values.

Every experiment gives a row of measured numbers, a row of predicted ones, and the derivatives of the prediction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from stickslip.analysis.limit_cycle import limit_cycle
from stickslip.analysis.progress import not_interrupted
from stickslip.analysis.sensitivity import varied_motion
from stickslip.checks import Array
from stickslip.events.book import MotionError
from stickslip.events.event_driven import EventDriven
from stickslip.fitting.data import Samples
from stickslip.impacts.impact import impact
from stickslip.laws import ImpactLaw
from stickslip.scenario import Scenario

Values = Mapping[str, float]

DIFFERENCE = 1e-5
"""Share of a range by which a value is moved where a derivative is a difference of event-driven motions."""
COARSE = 2e-3
"""Share of a range for differences of time stepping, whose impacts fall on a grid of times."""
_ZENO = 1e-9  # share of the run within which accumulating impacts are taken as one


class Unpredictable(Exception):
    """The model has no motion for these values; the message says why."""


class Experiment(Protocol):
    """Measured numbers with a prediction.

    Attributes
    ----------
    name : for messages
    y : (m,) measured numbers, all finite
    channel : (m,) names of what was measured: values of one name have one noise
    t : (m,) times at which they were measured [s]; 0 where there is no time
    row : (m,) whole numbers: values of one moment, or of one impact, have one
    starts : name of a start quantity -> the value about which it may vary from experiment to experiment
    """

    name: str
    y: Array
    channel: np.ndarray
    t: Array
    row: np.ndarray
    starts: Mapping[str, float]

    def predict(self, values: Values, until: float) -> Array:
        """(m,) predictions; those later than `until` need not be right."""

    def slopes(self, values: Values, names: Sequence[str], scales: Array, until: float) -> tuple[Array, Array]:
        """(m,) predictions and (m, k) derivatives by `names`; scales : (k,) ranges of the quantities."""


def differences(
    predict: Callable[[Values], Array], values: Values, names: Sequence[str], scales: Array, share: float
) -> tuple[Array, Array]:
    """Predictions and central differences of them."""
    y = predict(values)
    J = np.zeros((len(y), len(names)))
    for k, name in enumerate(names):
        step = share * scales[k]
        sides = []
        for sign in (1.0, -1.0):
            try:
                sides.append((sign * step, predict({**values, name: values[name] + sign * step})))
            except Unpredictable:
                continue
        if not sides:
            raise Unpredictable(f"no motion beside {name} = {values[name]:g}")
        if len(sides) == 1:
            sides.append((0.0, y))
        J[:, k] = (sides[0][1] - sides[1][1]) / (sides[0][0] - sides[1][0])
    return y, J


@dataclass(eq=False)
class Motion:
    """A measured motion of a mechanism, predicted event by event, with exact derivatives.

    Attributes
    ----------
    scenario : the mechanism; law : its impact law
    data : what was measured
    rtol : of the event-driven integrator
    replaced : predictions whose derivatives had to be differences
    """

    scenario: Scenario
    law: ImpactLaw
    data: Samples
    starts: Mapping[str, float]
    rtol: float = 1e-9
    replaced: int = field(default=0)

    def __post_init__(self) -> None:
        system = self.scenario.system
        names = (*system.coordinate_names, *system.velocity_names)
        rows, columns, y = [], [], []
        for name, values in self.data.columns.items():
            there = np.flatnonzero(np.isfinite(values))
            rows.append(there)
            columns.append(np.full(len(there), names.index(name)))
            y.append(values[there])
        self.row, self.column, self.y = np.concatenate(rows), np.concatenate(columns), np.concatenate(y)
        self.t, self.name = self.data.t[self.row], self.data.name
        self.channel = np.array(names)[self.column]

    def _case(self, values: Values) -> Scenario:
        """The scenario with the values, those of the experiment's start first."""
        try:
            return self.scenario.with_values({**self.data.start, **self.data.params, **values})
        except ValueError as error:
            raise Unpredictable(str(error)) from None

    def _follow(self, values: Values, names: tuple[str, ...], until: float) -> tuple[Array, Array]:
        """States (n, 2 f) at the measured times up to `until`, and their derivatives (n, 2 f, k)."""
        times = self.data.t[self.data.t <= until]
        n = 2 * self.scenario.system.n_dof
        x = np.zeros((len(self.data.t), n))
        X = np.zeros((len(self.data.t), n, len(names)))
        if not len(times):
            return x, X
        end = max(float(times[-1]), 1e-9)
        try:
            judge, case = EventDriven(rtol=self.rtol, zeno=_ZENO), self._case(values)
            if names:
                for number, state, slope in varied_motion(case, names, end, judge, self.law).tangents(times):
                    x[number], X[number] = state, slope
            else:
                x[: len(times)] = _sampled(case, times, end, judge, self.law)
        except (MotionError, ValueError, FloatingPointError, np.linalg.LinAlgError) as error:
            raise Unpredictable(str(error)) from None
        return x, X

    def predict(self, values: Values, until: float = np.inf) -> Array:
        return self._follow(values, (), until)[0][self.row, self.column]

    def slopes(self, values: Values, names: Sequence[str], scales: Array, until: float = np.inf) -> tuple[Array, Array]:
        x, X = self._follow(values, tuple(names), until)
        y, J = x[self.row, self.column], X[self.row, self.column]
        if not np.all(np.isfinite(J)):
            self.replaced += 1
            y, J = differences(lambda moved: self.predict(moved, until), values, names, scales, DIFFERENCE)
        return y, J


def _sampled(case: Scenario, times: Array, end: float, judge: EventDriven, law: ImpactLaw) -> Array:
    """States (n, 2 f) of an event-driven motion at rising times."""
    n, done = 2 * case.system.n_dof, 0
    x = np.zeros((len(times), n))
    for arc in judge.arcs(case.system, case.q0, case.u0, t_end=end, params=case.params, law=law):
        stop = len(times) if arc.t_E >= end else int(np.searchsorted(times, arc.t_E, side="left"))
        if stop > done:
            x[done:stop] = arc.vector(np.minimum(times[done:stop], arc.t_E))[:, :n]
        done = stop
    return x


@dataclass(eq=False)
class Stepped:
    """A measured motion of whatever can be simulated: a scene, or a model that a function builds from values.

    build : values -> a `Scenario` or a `Scene`;  options : of `simulate`
    """

    build: Callable[..., Any]
    data: Samples
    options: Mapping[str, Any]
    starts: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kept = {name: np.flatnonzero(np.isfinite(values)) for name, values in self.data.columns.items()}
        self.y = np.concatenate([self.data.columns[name][rows] for name, rows in kept.items()])
        self.t = np.concatenate([self.data.t[rows] for rows in kept.values()])
        self.channel = np.concatenate([np.full(len(rows), name) for name, rows in kept.items()])
        self.row, self.name = np.concatenate(list(kept.values())), self.data.name

    def predict(self, values: Values, until: float = np.inf) -> Array:
        wanted = self.data.t[self.data.t <= until]
        if not len(wanted) or wanted[-1] <= 0.0:
            wanted = self.data.t[:2]
        try:
            model = self.build(**values)
            dt = float(self.options.get("dt", getattr(model, "dt", 1e-3)))
            steps = max(1, int(np.ceil(wanted[-1] / dt - 1e-9)))
            options = {**self.options, "dt": dt, "t_end": steps * dt, "progress": False}
            run = not_interrupted(model.simulate(**options))
        except (MotionError, ValueError, RuntimeError) as error:
            raise Unpredictable(str(error)) from None
        if not run.complete:
            raise Unpredictable(f"the motion ends before its time: {run.status}")
        return np.concatenate(
            [np.interp(self.t[self.channel == name], run.t, run[name]) for name in dict.fromkeys(self.channel.tolist())]
        )

    def slopes(self, values: Values, names: Sequence[str], scales: Array, until: float = np.inf) -> tuple[Array, Array]:
        return differences(lambda moved: self.predict(moved, until), values, names, scales, COARSE)


@dataclass(eq=False)
class Impacts:
    """Measured impacts: states before, velocities after; all of them predicted by one stack of impacts.

    q, u, after : (n, f); coordinates, velocities before and after; nan in `after` where nothing was measured
    near : contacts whose measured gap is smaller than this, on either side, are closed [m]
    """

    scenario: Scenario
    law: ImpactLaw
    q: Array
    u: Array
    after: Array
    near: float = 1e-3
    name: str = "impacts"
    starts: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.there = np.isfinite(self.after)
        self.y = self.after[self.there]
        names = np.array(self.scenario.system.velocity_names)
        self.channel = np.broadcast_to(names, self.after.shape)[self.there]
        self.row, self.t = np.nonzero(self.there)[0], np.zeros(len(self.y))

    def predict(self, values: Values, until: float = np.inf) -> Array:
        params = {**(self.scenario.params or {}), **values}
        try:
            hit = impact(
                self.scenario.system, self.q, self.u, self.law, params=params, gap_tol=self.near,
                penetration_tol=self.near,
            )  # fmt: skip
        except (ValueError, RuntimeError) as error:
            raise Unpredictable(str(error)) from None
        return np.asarray(hit.u)[self.there]

    def slopes(self, values: Values, names: Sequence[str], scales: Array, until: float = np.inf) -> tuple[Array, Array]:
        return differences(self.predict, values, names, scales, DIFFERENCE)


@dataclass(eq=False)
class Cycle:
    """Period and shifts per period of a cycle, as a stop-watch and a rule give them.

    measured : "period" [s], names of coordinates (their change over a period), "frequency" [Hz] -> values
    """

    scenario: Scenario
    law: ImpactLaw
    measured: Mapping[str, float]
    options: Mapping[str, Any]
    name: str = "cycle"
    starts: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.channel = np.array(list(self.measured))
        self.y = np.array([self.measured[name] for name in self.measured], dtype=float)
        self.row, self.t = np.arange(len(self.y)), np.zeros(len(self.y))

    def predict(self, values: Values, until: float = np.inf) -> Array:
        try:
            case = self.scenario.with_values(values)
            cycle = limit_cycle(case, law=self.law, check=False, progress=False, **self.options)
        except (MotionError, ValueError, RuntimeError) as error:
            raise Unpredictable(str(error)) from None
        found = {"period": cycle.period, "frequency": 1.0 / cycle.period}
        found.update(cycle.shift)
        return np.array([found.get(name, 0.0) for name in self.measured])

    def slopes(self, values: Values, names: Sequence[str], scales: Array, until: float = np.inf) -> tuple[Array, Array]:
        return differences(self.predict, values, names, scales, DIFFERENCE)
