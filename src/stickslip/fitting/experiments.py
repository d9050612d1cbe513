"""Experiments: measured motions, impacts and cycles, and what a model predicts of them for given values.

Every experiment gives a row of measured numbers, a row of predicted ones, and the derivatives of the prediction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from stickslip.analysis.limit_cycle import limit_cycle
from stickslip.analysis.progress import not_interrupted
from stickslip.analysis.sensitivity import varied_motion
from stickslip.checks import Array
from stickslip.events.book import MotionError
from stickslip.events.event_driven import EventDriven
from stickslip.events.modes import out_of_contacts
from stickslip.fitting.data import Samples
from stickslip.impacts.impact import impact
from stickslip.laws import ImpactLaw
from stickslip.scenario import Scenario, as_scenario
from stickslip.trajectory.trajectory import Trajectory

Values = Mapping[str, float]

DIFFERENCE = 1e-5
"""Share of a range by which a value is moved where a derivative is a difference of event-driven motions."""
COARSE = 2e-3
"""Share of a range for differences of time stepping, whose impacts fall on a grid of times."""
WITHIN = 0.25
"""Share of the deviation of a start by which it is moved in differences of time stepping."""
TIE = "tie "
"""Channels of numbers that are not measured: the state at the end of a piece minus the start of the next one."""
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
    predict: Callable[[Values], Array], values: Values, names: Sequence[str], steps: Array
) -> tuple[Array, Array]:
    """Predictions and central differences of them; steps : (k,) by which each of the names is moved."""
    y = predict(values)
    J = np.zeros((len(y), len(names)))
    for k, name in enumerate(names):
        step = steps[k]
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


def at_samples(experiment: Motion | Stepped, t: Array, column: Callable[[str], Array]) -> Array:
    """(m,) predictions of a motion from states at times t, `column` by column; q and -q are one orientation."""
    found = np.empty(len(experiment.y))
    for name in dict.fromkeys(experiment.channel.tolist()):
        mine = experiment.channel == name
        found[mine] = np.interp(experiment.t[mine], t, column(name.removeprefix(TIE)))
    for entries in getattr(experiment, "turns", ()):
        away = np.sum(found[entries] * experiment.y[entries], axis=0) < 0.0
        found[entries[:, away]] *= -1.0
    return found


@dataclass(eq=False)
class Motion:
    """A measured motion of a mechanism, predicted event by event, with exact derivatives.

    Attributes
    ----------
    scenario : the mechanism; law : its impact law
    data : what was measured; times count from the start of the whole motion
    rtol : of the event-driven integrator
    t0, until : times between which this motion runs [s]; until None: to its last sample
    ends : whether the state at the end stands behind the predictions, as numbers of the channels "tie STATE"
    replaced : predictions whose derivatives had to be differences
    """

    scenario: Scenario
    law: ImpactLaw
    data: Samples
    starts: Mapping[str, float]
    rtol: float = 1e-9
    t0: float = 0.0
    until: float | None = None
    ends: bool = False
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
        self.times = self.data.t
        labels = np.array(names)[np.concatenate(columns)]
        if self.ends:
            assert self.until is not None
            self.times = np.append(self.times, self.until)
            rows.append(np.full(len(names), len(self.data.t)))
            columns.append(np.arange(len(names)))
            y.append(np.zeros(len(names)))
            labels = np.concatenate([labels, [TIE + name for name in names]])
        self.row, self.column, self.y = np.concatenate(rows), np.concatenate(columns), np.concatenate(y)
        self.t, self.name, self.channel = self.times[self.row], self.data.name, labels

    def _case(self, values: Values) -> Scenario:
        """The scenario with the values, those of the experiment's start first; a piece starts outside of contacts."""
        try:
            case = self.scenario.with_values({**self.data.start, **self.data.params, **values})
        except ValueError as error:
            raise Unpredictable(str(error)) from None
        if self.t0 > 0.0:
            system = case.system
            q0 = out_of_contacts(system, self.t0, case.q0.copy(), system.parameter_vector(case.params))
            case = replace(case, q0=q0)
        return case

    def _follow(self, values: Values, names: tuple[str, ...], until: float) -> tuple[Array, Array]:
        """States (n, 2 f) at the measured times up to `until`, and their derivatives (n, 2 f, k)."""
        times = self.times[self.times <= until]
        n = 2 * self.scenario.system.n_dof
        x = np.zeros((len(self.times), n))
        X = np.zeros((len(self.times), n, len(names)))
        if not len(times):
            return x, X
        end = max(float(times[-1]), self.t0 + 1e-9)
        try:
            judge, case = EventDriven(rtol=self.rtol, zeno=_ZENO), self._case(values)
            if names:
                for number, state, slope in varied_motion(case, names, end, judge, self.law, self.t0).tangents(times):
                    x[number], X[number] = state, slope
            else:
                x[: len(times)] = _sampled(case, times, end, judge, self.law, self.t0)
        except (MotionError, ValueError, FloatingPointError, np.linalg.LinAlgError) as error:
            raise Unpredictable(str(error)) from None
        return x, X

    def motion(self, values: Values, names: tuple[str, ...]) -> tuple[Array, Array]:
        """States (n, 2 f) at all measured times, and their derivatives (n, 2 f, k) by `names`."""
        return self._follow(values, names, np.inf)

    def predict(self, values: Values, until: float = np.inf) -> Array:
        return self._follow(values, (), until)[0][self.row, self.column]

    def slopes(self, values: Values, names: Sequence[str], scales: Array, until: float = np.inf) -> tuple[Array, Array]:
        x, X = self._follow(values, tuple(names), until)
        y, J = x[self.row, self.column], X[self.row, self.column]
        if not np.all(np.isfinite(J)):
            self.replaced += 1
            y, J = differences(lambda moved: self.predict(moved, until), values, names, DIFFERENCE * scales)
        return y, J


def _sampled(case: Scenario, times: Array, end: float, judge: EventDriven, law: ImpactLaw, t0: float) -> Array:
    """States (n, 2 f) of an event-driven motion at rising times."""
    n, done = 2 * case.system.n_dof, 0
    x = np.zeros((len(times), n))
    for arc in judge.arcs(case.system, case.q0, case.u0, t_end=end, t0=t0, params=case.params, law=law):
        stop = len(times) if arc.t_E >= end else int(np.searchsorted(times, arc.t_E, side="left"))
        if stop > done:
            x[done:stop] = arc.vector(np.minimum(times[done:stop], arc.t_E))[:, :n]
        done = stop
    return x


@dataclass(eq=False)
class Stepped:
    """A measured motion of whatever can be simulated: a scene, or a model that a function builds from values.

    Attributes
    ----------
    build : values of `names` -> a `Scenario` or a `Scene`
    names : free quantities, which `build` takes; other values are put into the start of what it returns
    states : names of coordinates and velocities
    options : of `simulate`
    data, starts, t0, until, ends : as of a `Motion`
    steps : quantity -> step of its differences, where it is not a share of its range
    finer : steps in time in place of one that was asked for
    """

    build: Callable[..., Any]
    names: tuple[str, ...]
    states: tuple[str, ...]
    data: Samples
    options: Mapping[str, Any]
    starts: Mapping[str, float] = field(default_factory=dict)
    t0: float = 0.0
    until: float | None = None
    ends: bool = False
    steps: dict[str, float] = field(default_factory=dict)
    finer: int = 1

    def __post_init__(self) -> None:
        kept = {name: np.flatnonzero(np.isfinite(values)) for name, values in self.data.columns.items()}
        y = [self.data.columns[name][rows] for name, rows in kept.items()]
        t = [self.data.t[rows] for rows in kept.values()]
        channel = [np.full(len(rows), name) for name, rows in kept.items()]
        rows = list(kept.values())
        if self.ends:
            assert self.until is not None
            y.append(np.zeros(len(self.states)))
            t.append(np.full(len(self.states), self.until))
            channel.append(np.array([TIE + name for name in self.states]))
            rows.append(np.full(len(self.states), len(self.data.t)))
        self.y, self.t, self.row = np.concatenate(y), np.concatenate(t), np.concatenate(rows)
        self.channel, self.name = np.concatenate(channel), self.data.name
        self.turns = self._quaternions()

    def _quaternions(self) -> list[np.ndarray]:
        """Per body whose quaternion was measured, (4, n) numbers of its entries among the values."""
        found = []
        for name in (name for name in self.data.columns if name.endswith(".qw")):
            entries = [f"{name[:-2]}{axis}" for axis in ("qw", "qx", "qy", "qz")]
            rows = [np.flatnonzero(self.channel == each) for each in entries]
            if all(np.array_equal(self.row[each], self.row[rows[0]]) for each in rows[1:]):
                found.append(np.stack(rows))
        return found

    def _model(self, values: Values) -> Any:
        """What is simulated: built from the free quantities, with the start of this experiment."""
        model = self.build(**{name: values[name] for name in self.names if name in values})
        start = {name: x for name, x in {**self.data.start, **self.data.params}.items() if name not in self.names}
        start.update({name: value for name, value in values.items() if name not in self.names})
        return as_scenario(model, getattr(model, "dt", 1e-3), None, None).with_values(start) if start else model

    def run(self, values: Values, until: float = np.inf) -> Trajectory:
        """The simulated motion, up to the last sample before a time."""
        wanted = self.t[self.t <= until].max(initial=0.0)
        if wanted <= self.t0:
            wanted = float(np.sort(self.t)[: 2 * len(self.states)].max())
        try:
            model = self._model(values)
            dt = float(self.options.get("dt", getattr(model, "dt", 1e-3))) / self.finer
            every = int(self.options.get("every", 1))  # a whole number of records: the last sample lies before the last
            steps = every * max(1, int(np.ceil((wanted - self.t0) / (every * dt) - 1e-9)))
            options = {**self.options, "dt": dt, "t_end": self.t0 + steps * dt, "progress": False}
            if self.t0 > 0.0:
                options |= {"t0": self.t0, "overlap": "keep"}
            found: Trajectory = not_interrupted(model.simulate(**options))
        except (MotionError, ValueError, RuntimeError) as error:
            raise Unpredictable(str(error)) from None
        if not found.complete:
            raise Unpredictable(f"the motion ends before its time: {found.status}")
        return found

    def predict(self, values: Values, until: float = np.inf) -> Array:
        run = self.run(values, until)
        return at_samples(self, run.t, run.__getitem__)

    def slopes(self, values: Values, names: Sequence[str], scales: Array, until: float = np.inf) -> tuple[Array, Array]:
        exact = isinstance(self.options.get("stepper"), EventDriven) or self.options.get("stepper") == "event-driven"
        coarse, within = (DIFFERENCE, DIFFERENCE) if exact else (COARSE, WITHIN)
        share = np.array([coarse if name in self.names else within for name in names])
        steps = np.array([self.steps.get(name, x) for name, x in zip(names, share * scales, strict=True)])
        return differences(lambda moved: self.predict(moved, until), values, names, steps)


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
        return differences(self.predict, values, names, DIFFERENCE * scales)


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
        return differences(self.predict, values, names, DIFFERENCE * scales)
