"""`fit`: parameters of laws, masses, sizes and starts from measurements."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any, TypedDict, Unpack

import numpy as np

from stickslip.analysis.progress import Progress, reported
from stickslip.checks import Array, counted, known_keywords, unknown_name
from stickslip.ensembles.run import device_of
from stickslip.fitting import asked, doubts, intervals
from stickslip.fitting.directions import upward
from stickslip.fitting.experiments import TIE, Experiment
from stickslip.fitting.frames import check_frames, open_frames
from stickslip.fitting.notes import Notes
from stickslip.fitting.problem import Problem
from stickslip.fitting.result import Curve, Fit
from stickslip.fitting.search import Search, points_of
from stickslip.fitting.subject import Subject
from stickslip.fitting.together import usual_points
from stickslip.laws import ImpactLaw
from stickslip.scenario import Scenario
from stickslip.scenes.scene import Scene

_UNITS = {
    1e3: "thousandths", 1e-3: "thousands", 180.0 / np.pi: "degrees, or inches,", np.pi / 180.0: "turns",
    1e2: "hundredths",
}  # fmt: skip
_TOO_MUCH = 30.0  # a column this many times what the model says, all over the ranges, has another unit
_NO_UNIT = 30.0  # a factor this far from that of any unit is no unit
_LOOKED_AT = 7  # points of the search at which units are looked at
_ENOUGH = 5  # values of a column that tell a unit


class Computing(TypedDict, total=False):
    """How a fit is computed, where that is to be chosen."""

    shooting: int | None
    device: str


@known_keywords
def fit(
    model: Scenario | Scene | Callable[..., Any],
    data: Any,
    free: Mapping[str, tuple[float, float]],
    *,
    noise: float | Mapping[str, float] | None = None,
    starts: Mapping[str, float] | None = None,
    law: str | ImpactLaw | None = None,
    units: Mapping[str, str] | None = None,
    search: int | None = None,
    seed: int = 0,
    level: float = 0.95,
    profile: bool = True,
    bootstrap: int = 0,
    options: Mapping[str, Any] | None = None,
    notes: Any = None,
    progress: Progress = None,
    **computing: Unpack[Computing],
) -> Fit:
    """Find the parameters with which a model comes nearest to measurements, and how well the data fixes them.

    A search over the ranges is followed by Gauss-Newton steps.  Motions of mechanisms are predicted event by event,
    with exact derivatives.  Scenes, and models of functions, are stepped, with differences.

    Parameters
    ----------
    model : a `Scenario`, a `Scene`, or a function that takes the free quantities as keywords and returns one of them
    data : a measured motion, or a list: a CSV file, a mapping {"t": ..., "y": ...}, a Dataset, a Trajectory.  A mapping
        may also hold "start" (values at its start by name) and "params" (values of this experiment).
        {"before": (n, 2 f), "after": (n, f)} are impacts.  {"period": 0.15, "y": -0.005} is a cycle.
    free : name -> (low, high): parameters, coordinates and velocities of the start, or keywords of the function; of a
        scene "friction", "restitution", "BODY.mass", "BODY.x", ...
    noise : standard deviation of measured values, one for all or by column; None: from the residuals
    starts : coordinate or velocity -> standard deviation with which its start varies from experiment to experiment; of
        bodies in space also "BODY.turn_x" [rad], ...: a rotation about world axes
    law : impact law, as in `simulate`
    units : column -> unit, such as "mm" or "deg", where it is not the model's
    search : points of the search; None: 64 per free quantity of a mechanism that moves in time, 16 of others; 0: only
        the model's own values.  Points run together, as an `ensemble`, where the model can
    seed : of search and bootstrap: a fit with one seed gives one result
    level : probability that an interval holds the truth
    profile : intervals by profile likelihood; False: from the covariance
    bootstrap : number of fits to data made anew
    options : of `simulate` for stepped models (dt, tol, ...), of `limit_cycle` for cycles, {"near": 1e-3} for impacts
    notes : a file that keeps what was computed, so that a fit that was broken off goes on
    progress : as in all analyses
    shooting : pieces into which each motion is cut, with free starts that are tied to the piece before; 1: one piece;
        None: motions of mechanisms are cut where single shooting misses the data by far more than `noise` and a small
        distance grows a hundredfold
    device : where the points of the search run, as in `ensemble`

    Returns
    -------
    Fit : values, intervals, covariance, what the data does not fix, residuals

    Raises
    ------
    ValueError : unknown names, empty ranges, data that cannot be right
    RuntimeError : no point of the search has a motion
    """
    how = asked.how(noise, search=search, seed=seed, level=level, profile=profile, bootstrap=bootstrap, **computing)
    problem, subject = prepared(model, data, free, noise=noise, starts=starts, law=law, units=units, options=options)
    return _fitted(problem, subject, how, notes, progress)


def _fitted(problem: Problem, subject: Subject, how: asked.How, notes: Any, progress: Progress) -> Fit:
    """The fit of a problem, after a look at the units and directions of its data."""
    device_of(how.device, None, "scene" if subject.scenario is None else "mechanism")
    count = usual_points(problem) * len(problem.names) if how.search is None else how.search
    words = (how.estimated, how.seed, count, *(() if how.pieces is None else (how.pieces,)))
    own = subject.own_values(problem.names)
    looked_at = [points_of(problem, own, most, how.seed) for most in (min(count, _LOOKED_AT), _LOOKED_AT)]
    _check_units(problem, looked_at[0], how.estimated)
    _check_directions(problem, looked_at, subject.coordinates)
    check_frames(problem, looked_at[-1])
    opened = Notes.opened(notes, partial(_task, problem, subject, words))
    with closing(opened) as kept, reported(progress, f"fitting {subject.name}") as report:
        task = Search(own, count, how.seed, how.estimated, kept, report, how.device)
        problem, z, chi2, remarks = task.found(problem, subject, how.pieces)
        return _result(problem, z, chi2, subject, kept, report, how, remarks)


def prepared(
    model: Any, data: Any, free: Any, *, noise: Any = None, starts: Any = None, law: Any = None, units: Any = None,
    options: Any = None,
) -> tuple[Problem, Subject]:  # fmt: skip
    """The least-squares problem of a fit, checked, and what is fitted; keywords as for `fit`."""
    names, low, high = asked.ranges(free)
    subject = Subject(model, law, dict(options or {}), names, 0.5 * (low + high))
    deviations = _deviations(starts, subject, names)
    experiments = subject.experiments(data, units, deviations)
    channels = list(dict.fromkeys(name for e in experiments for name in e.channel.tolist()))
    problem = Problem(experiments, names, low, high, deviations, _first_noise(noise, channels, experiments))
    if problem.count <= problem.size and noise is None:
        raise ValueError(
            f"data must hold more values than there are unknowns ({problem.size}), got {problem.count}; give noise=, "
            "or free less."
        )
    return problem, subject


def _task(problem: Problem, subject: Subject, asked: tuple[Any, ...]) -> tuple[Any, ...]:
    """Identity of a fit, for its notes: words, numbers, and predictions of its model at three points.

    A model may be any function; two that predict equal bits at a quarter, a half and three quarters of all ranges, for
    all data, are taken for one.
    """
    words = (subject.name, repr(subject.law), sorted(map(repr, subject.options.items())), *asked)
    numbers = (problem.names, problem.low, problem.high, sorted(problem.sigma.items()), problem.deviations)
    points = (problem.shares(problem.low + share * problem.width) for share in (0.25, 0.5, 0.75))
    channel = "\n".join(problem.channel.tolist())
    return (*words, *numbers, channel, problem.t, problem.y, *(problem.residuals(z) for z in points))


def _result(
    problem: Problem, z: Array, chi2: float, subject: Subject, kept: Notes, report: Callable[..., None],
    how: asked.How, found: Sequence[str],
) -> Fit:  # fmt: skip
    """The `Fit` for unknowns z that are found: values, intervals, curves and blind directions."""
    names, k = problem.names, len(problem.names)
    limit = intervals.threshold(how.level, problem.count, problem.size, not how.estimated)
    at_edge = tuple(i for i in range(k) if z[i] < 1e-7 or z[i] > 1.0 - 1e-7)
    covariance = intervals.covariance(problem, z, at_edge)
    spread = np.sqrt(np.diag(covariance)) / problem.width
    ends: dict[str, tuple[float, float]] = {}
    for i, name in enumerate(names):
        report(f"interval of {name}")
        sides = []
        for side in (-1, 1):
            if how.profile:
                at = kept.number(
                    f"end {name} {side} {how.level}",
                    partial(intervals.profile, problem, z, chi2, i, side, limit, float(spread[i])),
                )
            else:
                at = float(np.clip(z[i] + side * np.sqrt(limit.rise) * spread[i], 0.0, 1.0))
            sides.append(float(problem.low[i] + at * problem.width[i]))
        ends[name] = (sides[0], sides[1])
    drawn = np.zeros((0, k))
    if how.draws:
        drawn = intervals.bootstrap(
            problem, z, how.draws, how.seed, lambda done: report(f"bootstrap {done:g} of {how.draws}")
        )
    values = dict(zip(names, problem.values(z).tolist(), strict=True))
    width = dict(zip(names, problem.width.tolist(), strict=True))
    fixed = {name: bool(ends[name][1] - ends[name][0] < 0.95 * width[name]) for name in names}
    curves = _curves(problem, z)
    remarks = [*found, *doubts.ends(problem, z, at_edge, ends, fixed)]
    remarks += doubts.misfit(curves, chi2, problem.count - problem.size, how.estimated)
    remarks += [*doubts.stepping(problem, z, spread), *open_frames(problem, z)]
    differences = sum(getattr(each, "replaced", 0) for each in problem.experiments)
    if differences:
        remarks.append(
            f"derivatives were differences in {counted(differences, 'prediction')}: the motion has none there"
        )
    noise = {name: sigma for name, sigma in problem.sigma.items() if not name.startswith(TIE)}
    return Fit(
        subject.name, type(subject.law).__name__, names, values, ends, how.level, covariance, fixed,
        tuple(intervals.blind_directions(problem, z, limit)), problem.residuals(z)[: problem.count][~problem.tied],
        noise, how.estimated, chi2, problem.count - problem.size, _starts_of(problem, z), curves,
        {name: (float(problem.low[i]), float(problem.high[i])) for i, name in enumerate(names)}, drawn, tuple(remarks),
        problem.evaluations, how.seed, subject.units,
    )  # fmt: skip


def _starts_of(problem: Problem, z: Array) -> tuple[dict[str, float], ...]:
    return tuple(
        {place.name: problem.of(number, z)[place.name] for place in places}
        for number, places in enumerate(problem.locals)
    )


def _curves(problem: Problem, z: Array) -> tuple[Curve, ...]:
    found = []
    predicted = problem.predictions(z)
    for number, experiment in enumerate(problem.experiments):
        for name in dict.fromkeys(experiment.channel.tolist()):
            if name.startswith(TIE):
                continue
            mine = experiment.channel == name
            rows = problem.experiment == number
            found.append(
                Curve(
                    experiment.name, name, experiment.t[mine], experiment.y[mine], predicted[rows][mine],
                    problem.sigma[name],
                )
            )  # fmt: skip
    return tuple(found)


def _check_units(problem: Problem, points: Sequence[Array], estimated: bool) -> None:
    """ValueError where a column is many times, or a small part of, what the model says anywhere in the ranges.

    A coordinate that the model does not move is all noise: where this is given, it is no sign of a unit.

    estimated : whether the noise is to come from the residuals
    """
    sizes: dict[tuple[str, str], list[float]] = {}
    for z in points:
        for curve in _curves(problem, z):
            measured, predicted = (float(np.sqrt(np.mean(y**2))) for y in (curve.measured, curve.predicted))
            if not estimated:
                predicted = max(predicted, min(measured, curve.sigma))
            if np.isfinite(predicted) and predicted > 0.0 and len(curve.t) >= _ENOUGH:
                sizes.setdefault((curve.experiment, curve.channel), []).append(measured / predicted)
    for (experiment, channel), ratios in sizes.items():
        ratio = min(ratios, key=lambda each: abs(np.log(max(each, 1e-300))))
        if 1.0 / _TOO_MUCH < ratio < _TOO_MUCH:
            continue
        unit = min(_UNITS, key=lambda each: abs(np.log(max(ratio, 1e-300) / each)))
        advice = f"they look like {_UNITS[unit]} of it. Give its unit (units=, --unit), or scale the column."
        if not 1.0 / _NO_UNIT < ratio / unit < _NO_UNIT:
            if estimated and ratio > 1.0:
                continue  # the model does not move this coordinate: residuals say how large its noise is
            advice = "no unit explains this; times must count from the start of the motion, and the model must move so."
        raise ValueError(
            f"{experiment}: column {channel!r} must be in the model's unit, got numbers {ratio:.3g} times what the "
            f"model says; {advice}"
        )


def _check_directions(problem: Problem, looked_at: Sequence[Sequence[Array]], coordinates: Collection[str]) -> None:
    """ValueError where a column falls upward at all points over the ranges.

    looked_at : a few points, and more of them, which are only looked at where the few say so
    """
    common: dict[tuple[str, str], tuple[float, float, float]] = {}
    for number, z in enumerate(z for points in looked_at for z in points):
        found = upward(_curves(problem, z), coordinates)
        common = found if number == 0 else {key: said for key, said in common.items() if key in found}
        if not common:
            return
    (experiment, channel), (data, model, time) = next(iter(common.items()))
    raise ValueError(
        f"{experiment}: column {channel!r} must point the way the model's does, got an acceleration of {data:+.3g} "
        f"over the first {time:.3g} s, where the model has {model:+.3g}: it falls upward; change the sign of the "
        "column, and of what was measured along with it."
    )


def _deviations(starts: Any, subject: Subject, names: Sequence[str]) -> dict[str, float]:
    found = {}
    for name, value in dict(starts or {}).items():
        if name not in subject.may_vary:
            raise ValueError(f"starts: {unknown_name('coordinate or velocity', str(name), subject.may_vary)}")
        if name in names:
            raise ValueError(f"{name!r} must stand either in free= or in starts=, got both.")
        found[str(name)] = asked.positive(value, f"starts[{name!r}]")
    return found


def _first_noise(noise: Any, channels: Sequence[str], experiments: Sequence[Experiment]) -> dict[str, float]:
    """Given standard deviations; where there are none, a tenth of the spread of a column to begin with."""
    if noise is None:
        found = {}
        for name in channels:
            y = np.concatenate([e.y[e.channel == name] for e in experiments])
            spread, size = float(np.std(y)), float(np.max(np.abs(y), initial=0.0))
            found[name] = 0.1 * spread if spread > 1e-9 * size else 0.01 * size or 1.0  # a constant has its rounding
        return found
    given = dict(noise) if isinstance(noise, Mapping) else dict.fromkeys(channels, noise)
    for name in channels:
        if name not in given:
            raise ValueError(f"noise must have a standard deviation for every column, got none for {name!r}.")
        asked.positive(given[name], f"noise[{name!r}]")
    return {name: float(given[name]) for name in channels}
