"""The points of a search as ensembles: every measured motion is run for many points at once.

Motions of scenes are those of single predictions.  Motions of mechanisms are stepped, in compiled code, where single
predictions go from event to event: they find the few points that are worth such a prediction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from stickslip.analysis.sections import PhaseSection
from stickslip.checks import Array, counted
from stickslip.ensembles.run import ensemble
from stickslip.ensembles.scenes import OPTIONS
from stickslip.events.event_driven import EventDriven
from stickslip.fitting.experiments import Impacts, Motion, Stepped, Unpredictable, at_samples
from stickslip.fitting.notes import Notes
from stickslip.fitting.problem import Problem
from stickslip.fitting.subject import Subject
from stickslip.scenario import Scenario

_MANY = 32  # points from which on an ensemble is worth its preparation
_AGAIN = 8  # points with the best stepped motions, whose motions are then predicted one by one
_WORK = 20_000_000  # steps of all members between two notes of what is known
_OF_SCENES = 200  # steps of a mechanism that a step of a scene costs
_EVEN = 1e-6  # share of a spacing by which times may be off an even grid


class NoEnsemble(Exception):
    """The points of a search cannot be an ensemble; the message says why."""


@dataclass(frozen=True)
class Crowd:
    """One measured motion for many values at once: the members of an ensemble.

    Attributes
    ----------
    experiment : the motion, which is predicted one by one elsewhere
    scenario : its model, with the values of this experiment
    spacing : time between states that are kept of each member [s]
    parts : steps in this time
    count : such times, up to the last sample
    options : of `ensemble`
    device : where it runs
    """

    experiment: Motion | Stepped
    scenario: Scenario
    spacing: float
    parts: int
    count: int
    options: Mapping[str, Any]
    device: str

    @property
    def exact(self) -> bool:
        """Whether members are the motions of single predictions."""
        return isinstance(self.experiment, Stepped)

    @property
    def work(self) -> int:
        """Cost of a member, in steps of a mechanism."""
        return self.parts * self.count * (_OF_SCENES if self.exact else 1)

    def predict(self, names: Sequence[str], values: Array) -> Array:
        """(n, m) predictions of all numbers for values (n, k) of the names; nan where there is no motion.

        One step more than to the last sample is taken, so that rounding leaves none out.
        """
        found = np.full((len(values), len(self.experiment.y)), np.nan)
        starts = {number: start for number, row in enumerate(values) if (start := self._start(names, row)) is not None}
        if not starts:
            return found
        there, dt = list(starts), self.spacing / self.parts
        vary = {name: values[there, k] for k, name in enumerate(names)}
        run = ensemble(
            self.scenario, vary, ["points"], device=self.device, paired=True, points=self.count + 1, dt=dt,
            t_end=(self.count * self.parts + 1) * dt, section=PhaseSection(self.spacing), progress=False,
            **self.options,
        ).dataset  # fmt: skip
        t = np.asarray(self.spacing * np.arange(self.count + 1), dtype=np.float64)
        states = np.concatenate([run["point_q"].values, run["point_u"].values], axis=2)[:, : self.count]
        names_of_states = (*self.scenario.system.coordinate_names, *self.scenario.system.velocity_names)
        for number, rows in zip(there, states, strict=True):
            columns = dict(zip(names_of_states, np.vstack([starts[number], rows]).T, strict=True))
            found[number] = at_samples(self.experiment, t, columns.__getitem__)
        return found

    def _start(self, names: Sequence[str], row: Array) -> Array | None:
        """(2 f,) state of a member at the start; None where its values have no motion."""
        try:
            case = self.scenario.with_values(dict(zip(names, row.tolist(), strict=True)))
            if not self.exact:
                case.system.check(case.q0, case.u0, case.params)
        except ValueError:
            return None
        return np.concatenate([case.q0, case.u0])


def _crowd(each: Motion | Stepped, subject: Subject, device: str) -> Crowd:
    moving = subject.moving
    if moving is None:
        raise NoEnsemble("the model is built by a function, value by value")
    case = moving.with_values({**each.data.start, **each.data.params})
    if isinstance(each, Motion):
        spacing, count = _even_times(each.t, float(case.dt))
        parts = max(1, int(np.ceil(spacing / case.dt - 1e-9)))
        return Crowd(each, case, spacing, parts, count, {"law": each.law}, device)
    options = dict(each.options)
    if isinstance(options.get("stepper"), EventDriven) or options.get("stepper") == "event-driven":
        raise NoEnsemble("motions go from event to event")
    dt, every = float(options.pop("dt", getattr(case, "dt", 1e-3))), int(options.pop("every", 1))
    left = [name for name in options if name not in OPTIONS]
    if left:
        raise NoEnsemble(f"ensembles do not take {left[0]!r}")
    last = float(np.max(each.t))
    return Crowd(each, case, every * dt, every, max(1, int(np.ceil(last / (every * dt) - 1e-9))), options, device)


def _even_times(t: Array, dt: float) -> tuple[float, int]:
    """A spacing of which all times are multiples, and their number up to the last; the step where there is none."""
    times = np.unique(np.append(t, 0.0))
    if len(times) > 1:
        spacing = float(np.min(np.diff(times)))
        parts = times / spacing
        if spacing > 0.1 * dt and np.max(np.abs(parts - np.round(parts))) < _EVEN * len(times):
            count = round(float(parts[-1]))
            return float(times[-1]) / count, count
    return dt, max(1, int(np.ceil(float(times[-1]) / dt - 1e-9)))


def usual_points(problem: Problem) -> int:
    """Points of a search for each free quantity: many where an ensemble of a mechanism makes them cheap."""
    motions = [isinstance(each, Motion) for each in problem.experiments]
    cheap = all(motion or isinstance(each, Impacts) for motion, each in zip(motions, problem.experiments, strict=True))
    return 64 if any(motions) and cheap else 16


def score(problem: Problem, z: Array) -> float:
    """Mean of log(1 + r^2): values that a chaotic motion misses weigh little."""
    return float(np.mean(np.log1p(problem.residuals(z)[: problem.count] ** 2)))


@dataclass(frozen=True)
class Look:
    """Scores of the points of a search.

    device : where ensembles run
    how : what tells this search from others of the fit, in notes and reports
    """

    device: str
    kept: Notes
    report: Callable[..., None]
    how: str = ""

    def at(self, problem: Problem, points: Sequence[Array], subject: Subject | None) -> Array:
        """(n,) scores; infinite at points of which stepped motions say that others are nearer to the data.

        subject : of whose motions ensembles are made; None: one by one

        Raises
        ------
        ValueError : another device was asked for than this machine's cores, and there is no ensemble
        """
        if subject is not None and (len(points) >= _MANY or self.device != "cpu"):
            try:
                return self._together(problem, points, _crowds(problem, subject, self.device))
            except (NoEnsemble, ValueError) as reason:
                if self.device != "cpu":
                    raise ValueError(f"device {self.device!r} runs a search as an ensemble: {reason}") from None
                self.report(f"search{self.how}: one by one, since {str(reason).rstrip('.')}")
        return self._alone(problem, points, range(len(points)))

    def _alone(self, problem: Problem, points: Sequence[Array], which: Iterable[int]) -> Array:
        """Scores of some points, one by one; infinite elsewhere."""
        found = np.full(len(points), np.inf)
        for done, number in enumerate(which, 1):
            found[number] = self.kept.number(f"search{self.how} {number}", partial(score, problem, points[number]))
            self.report(f"search{self.how}: {done} of {counted(len(points), 'point')}")
        return found

    def _together(self, problem: Problem, points: Sequence[Array], crowds: Mapping[int, Crowd]) -> Array:
        found = np.empty(len(points))
        most = _at_a_time(crowds, self.device, len(points))
        for first in range(0, len(points), most):
            last = min(first + most, len(points))
            name = f"search{self.how} {first} to {last}"
            found[first:last] = self.kept.row(name, partial(_scores, problem, crowds, points[first:last]))
            self.report(f"search{self.how}: {last} of {counted(len(points), 'point')}, {most} at a time")
        if all(each.exact for each in crowds.values()):
            return found
        best = np.argsort(found, kind="stable")[:_AGAIN].tolist()
        return self._alone(problem, points, sorted({0, *best}))


def _crowds(problem: Problem, subject: Subject, device: str) -> dict[int, Crowd]:
    """The experiments of a problem that are motions, as ensembles; `NoEnsemble` where one cannot be."""
    found = {}
    for number, each in enumerate(problem.experiments):
        if isinstance(each, Motion | Stepped):
            found[number] = _crowd(each, subject, device)
    if not found:
        raise NoEnsemble("impacts and cycles are no motions in time")
    return found


def _scores(problem: Problem, crowds: Mapping[int, Crowd], points: Sequence[Array]) -> Array:
    """(n,) scores from members of ensembles; impacts and cycles are predicted one by one."""
    values = np.array([problem.values(z) for z in points])
    parts = []
    for number, experiment in enumerate(problem.experiments):
        problem.evaluations += len(points)
        if number in crowds:
            parts.append(crowds[number].predict(problem.names, values))
            continue
        alone = np.full((len(points), len(experiment.y)), np.nan)
        for row, z in zip(alone, points, strict=True):
            with suppress(Unpredictable):
                row[:] = experiment.predict(problem.of(number, z), np.inf)
        parts.append(alone)
    r = (np.concatenate(parts, axis=1) - problem.measured()) * problem.weights()
    return np.array([np.mean(np.log1p(row**2)) for row in np.where(np.isfinite(r), r, problem.lost)])


def _at_a_time(crowds: Mapping[int, Crowd], device: str, points: int) -> int:
    """Points whose scores are computed between two notes."""
    if device != "cpu":
        return points
    return int(np.clip(_WORK // max(1, sum(each.work for each in crowds.values())), 16, 1024))
