"""Non-uniqueness made visible: repeat a run with random disturbances and sort its ends ([S00] section 3.3.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.analysis.futures import futures
from stickslip.analysis.progress import Progress, not_interrupted, reported
from stickslip.checks import Array, real_number, truth, unknown_name, whole_number
from stickslip.scenario import Scenario

if TYPE_CHECKING:
    from stickslip.trajectory import Trajectory


MOST_RUNS = 1_000_000


@dataclass(frozen=True, eq=False)
class Outcome:
    """Runs that ended alike.

    Attributes
    ----------
    runs : their numbers, from 0 to n - 1, (m,)
    share : m / n
    q, u : mean end state, (f,)
    spread : largest distance of one of them from the mean, in the units of `Outcomes.scale`
    example : the run nearest to the mean
    """

    runs: np.ndarray
    share: float
    q: Array
    u: Array
    spread: float
    example: Trajectory = field(repr=False)


@dataclass(frozen=True, eq=False, repr=False)
class Outcomes:
    """Result of `outcomes`: the kinds of ends, the most frequent first.

    Attributes
    ----------
    kinds : tuple of `Outcome`
    labels : kind of every run, -1 where it failed, (n,)
    ends : end states (q, u) of all runs, nan where they failed, (n, ...)
    starts : disturbed quantities of all runs, (n, d), in the order of `names`
    names : of the disturbed quantities
    undisturbed : kind that the run without disturbances belongs to; None where its end is of no kind
    scale : by which coordinates and velocities were divided before they were compared
    failed : runs that did not start or not reach the end: number and reason
    paths : with branch=True, which solution each run took at each step that has several
    left : with branch=True, futures that were met and not followed, because n runs were done
    """

    kinds: tuple[Outcome, ...]
    labels: np.ndarray
    ends: Array
    starts: Array
    names: tuple[str, ...]
    undisturbed: int | None
    scale: Array
    failed: tuple[str, ...] = ()
    paths: tuple[tuple[int, ...], ...] = ()
    left: int = 0

    def __len__(self) -> int:
        return len(self.kinds)

    def __repr__(self) -> str:
        lines = [f"{len(self)} outcome{'' if len(self) == 1 else 's'} of {len(self.labels)} runs"]
        for k, kind in enumerate(self.kinds):
            note = ", the undisturbed run among them" if k == self.undisturbed else ""
            names = (*kind.example.coordinate_names, *kind.example.velocity_names)
            values = zip(names, (*kind.q, *kind.u), strict=True)
            state = ", ".join(f"{name} = {value:.4g}" for name, value in values)
            lines.append(f"  {100 * kind.share:.0f} %: {state}{note}")
        lines += [f"  failed: {text}" for text in self.failed]
        if self.left:
            lines.append(f"  met and not followed: {self.left}; a larger n follows more futures")
        return "\n".join(lines)


def outcomes(
    scenario: Scenario,
    disturbances: Mapping[str, float] | float | None = None,
    n: int = 100,
    *,
    branch: bool = False,
    seed: int = 0,
    apart: float = 0.05,
    progress: Progress = None,
    **options: Any,
) -> Outcomes:
    """Repeat a scenario with random disturbances of its start and parameters, and tell the kinds of its ends apart.

    Where a motion is not unique, computed ones depend on rounding; disturbances show what can happen.  Every run adds
    normally distributed numbers to the named quantities.  A disturbed configuration that penetrates is put back onto
    its contacts; a draw that the system refuses counts as failed.  Scenes of bodies work alike, without parameters.
    End states, divided by the scale of the motion, belong together if a chain of states leads from one to the other
    with gaps of less than `apart` (single linkage).

    With branch=True nothing is random: where the contact problem of a step has several solutions, every one of them is
    followed ([S00] section 3.3.1).  Shares then count futures and are no probabilities.

    Parameters
    ----------
    disturbances : name of a coordinate, velocity or parameter -> standard deviation; a number for all velocities alike
    n : number of runs; with branch=True the largest number
    branch : follow all solutions of steps that have several, by the reference engine, without disturbances
    seed : of the random numbers
    apart : distance at which ends differ, as a share of the largest coordinate and velocity of their unit in all runs
    progress : show a progress bar on stderr, see `analysis.progress`; a function is called with the number of runs
    options : passed to `Scenario.simulate` (dt, t_end, stepper, ...); with q0, u0 that start is disturbed

    Examples
    --------
    >>> import stickslip as ss
    >>> rod = ss.library.painleve_rod(friction=2.0, spin=-6.0, slip=-1.0)
    >>> found = ss.outcomes(rod, {"v_y": 0.01}, 20, t_end=0.05, dt=1e-3, engine="reference")
    >>> len(found)  # it lifts off, or it jams
    2
    """
    if truth(branch, "branch"):
        return _branched(scenario, disturbances, n, apart, progress, options)
    deviations = _checked(scenario, disturbances, n, apart)
    rng = np.random.default_rng(whole_number(seed, "seed", 0))
    names = tuple(deviations)
    draws = rng.normal(size=(n, len(names))) * np.array(list(deviations.values()))
    first = not_interrupted(scenario.simulate(**{"progress": False, **options}))
    runs: dict[int, Trajectory] = {}
    failed: dict[int, str] = {}
    with reported(progress, f"{n} runs of {scenario.system.name}", n) as tell:
        for i, draw in enumerate(draws):
            tell(i + 1)
            try:
                run = not_interrupted(scenario.disturbed(dict(zip(names, draw, strict=True)), options, first))
            except ValueError as problem:  # a mass below zero, say
                failed[i] = str(problem)
                continue
            if run.complete:
                runs[i] = run
            else:
                failed[i] = run.status
    return _sorted(runs, failed, first, names, draws, apart)


def _branched(
    scenario: Scenario, disturbances: Any, n: int, apart: float, progress: Progress, options: dict[str, Any]
) -> Outcomes:
    """`outcomes` over all solutions of steps that have several."""
    if disturbances is not None:
        raise ValueError("disturbances and branch=True exclude each other: futures are followed without disturbances.")
    _checked(scenario, 1.0, n, apart)
    with reported(progress, f"futures of {scenario.system.name}", n) as tell:
        found = futures(scenario, n, options, tell)
    runs = {i: run for i, run in enumerate(found.runs) if run.complete}
    failed = {i: run.status for i, run in enumerate(found.runs) if not run.complete}
    result = _sorted(runs, failed, found.runs[0], (), np.zeros((len(found.runs), 0)), apart)
    return replace(result, paths=found.paths, left=found.left)


def _sorted(
    runs: dict[int, Trajectory],
    failed: dict[int, str],
    first: Trajectory,
    names: tuple[str, ...],
    starts: Array,
    apart: float,
) -> Outcomes:
    """Runs by their numbers, sorted into kinds of ends."""
    n = len(starts)
    if not runs:
        raise RuntimeError(f"none of {n} runs reached its end; the first {failed[0]}")
    good, numbers = list(runs.values()), np.array(list(runs))
    ends = np.array([np.concatenate([run.q[-1], run.u[-1]]) for run in good])  # of a scene q is longer than u
    scale = _scale(good)
    labels = _linked(ends / scale, apart)
    kinds = _kinds(good, numbers, ends, scale, labels, n)
    order = {old: new for new, old in enumerate(kind for kind, _ in kinds)}
    labels = np.array([order[label] for label in labels])
    return Outcomes(
        kinds=tuple(kind for _, kind in kinds),
        labels=_spread_out(labels, numbers, n, -1),
        ends=_spread_out(ends, numbers, n, np.nan),
        starts=starts,
        names=names,
        undisturbed=_place(first, ends / scale, labels, scale, apart),
        scale=scale,
        failed=tuple(f"run {i}: {reason}" for i, reason in failed.items()),
    )


def _checked(scenario: Any, disturbances: Any, n: Any, apart: Any) -> dict[str, float]:
    """Standard deviations by name; raises where something is not as it should be."""
    if not isinstance(scenario, Scenario):
        raise ValueError(f"scenario must be a Scenario such as library.painleve_rod(), got {type(scenario).__name__}.")
    system = scenario.system
    if isinstance(disturbances, (int, float)) and not isinstance(disturbances, bool):
        disturbances = dict.fromkeys(system.velocity_names, disturbances)
    if not isinstance(disturbances, Mapping) or not disturbances:
        raise ValueError(f"disturbances must map names to standard deviations, got {disturbances!r}.")
    known = (*system.coordinate_names, *system.velocity_names, *scenario.parameters)
    for name, deviation in disturbances.items():
        if name not in known:
            raise ValueError(f"disturbances: {unknown_name('coordinate, velocity or parameter', name, known)}")
        if real_number(deviation, f"disturbance of {name}") < 0.0:
            raise ValueError(f"disturbance of {name} must not be negative, got {deviation:g}.")
    if whole_number(n, "n") > MOST_RUNS:
        raise ValueError(f"n must be {MOST_RUNS} at most, got {n}.")
    if not 0.0 < real_number(apart, "apart") < 1.0:
        raise ValueError(f"apart must lie between 0 and 1, got {apart:g}.")
    return {name: float(deviation) for name, deviation in disturbances.items()}


def _scale(runs: list[Trajectory]) -> Array:
    """Largest value of each coordinate and velocity in all runs, shared by those of one unit; 1 where all are zero."""
    first = runs[0]
    names = (*first.coordinate_names, *first.velocity_names)
    reach = np.max([np.concatenate([np.abs(run.q).max(axis=0), np.abs(run.u).max(axis=0)]) for run in runs], axis=0)
    units = [first.units.get(name, name) for name in names]
    shared = np.array([max(x for x, other in zip(reach, units, strict=True) if other == unit) for unit in units])
    return np.where(shared > 0.0, shared, 1.0)


def _linked(points: Array, apart: float) -> np.ndarray:
    """Labels of single linkage, (n,): connected components of the graph of pairs nearer than `apart`."""
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial.distance import pdist, squareform

    if len(points) == 1:
        return np.zeros(1, dtype=int)
    return np.asarray(connected_components(squareform(pdist(points, "chebyshev") < apart))[1])


def _spread_out(values: np.ndarray, numbers: np.ndarray, n: int, missing: float) -> np.ndarray:
    """`values` of the runs `numbers` among all n, with `missing` for the others."""
    rows = np.full((n, *values.shape[1:]), missing, dtype=values.dtype)
    rows[numbers] = values
    return rows


def _kinds(
    runs: list[Trajectory], numbers: np.ndarray, ends: Array, scale: Array, labels: np.ndarray, n: int
) -> list[tuple[int, Outcome]]:
    """Every kind of end with its label, the most frequent first."""
    f = len(runs[0].q[-1])
    kinds = []
    for label in range(int(labels.max()) + 1):
        members = np.flatnonzero(labels == label)
        mean = ends[members].mean(axis=0)
        distance = np.abs((ends[members] - mean) / scale).max(axis=1)
        nearest = runs[int(members[np.argmin(distance)])]
        outcome = Outcome(numbers[members], len(members) / n, mean[:f], mean[f:], float(distance.max()), nearest)
        kinds.append((label, outcome))
    return sorted(kinds, key=lambda kind: -kind[1].share)


def _place(run: Trajectory, points: Array, labels: np.ndarray, scale: Array, apart: float) -> int | None:
    """The kind that a further run belongs to."""
    if not run.complete:
        return None
    distance = np.abs(points - np.concatenate([run.q[-1], run.u[-1]]) / scale).max(axis=1)
    nearest = int(np.argmin(distance))
    return int(labels[nearest]) if distance[nearest] < apart else None
