"""Measured orders: every stepper against the event-driven judge, in norms that suit jumps.

Over a run of length T, with every coordinate and velocity divided by the range the judge gives it:

    q, sup norm    max |q - q*| at the records
    u, L1 norm     (1/T) integral of |u - u*| dt: an impact that comes late by dt costs |jump| dt
    u, graph       Hausdorff distance of the graphs (t/T, u), jumps filled in: small even where u itself is far off

In the sup norm velocities do not converge at all, because the jumps come at shifted times.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from stickslip.analysis.progress import Progress, not_interrupted, reported
from stickslip.checks import Array, counted, renamed, unknown_name
from stickslip.events.event_driven import EventDriven
from stickslip.mechanisms.steppers.adaptive import Adaptive
from stickslip.run.options import STEPPERS
from stickslip.scenario import Scenario, require_scenario
from stickslip.trajectory import Trajectory

NORMS = ("q_sup", "u_L1", "u_graph")
_JUDGE_LEVELS = (1e-4, 1e-6, 1e-8)  # tolerances at which the judge itself is judged
_ROUND_OFF = 1e-12  # errors below say nothing of a method
_ADAPTIVE_LEVELS = (1e-4, 1e-5, 1e-6, 1e-7)
_ADAPTIVE_RECORDS = 200  # at most, since its steps end on them
_SHORT = 0.2  # runs that take less seconds are timed three times
_MOST_POINTS = 200_000
_NEIGHBOURS = 8
_SPLIT = 5e-4  # longest straight piece of a graph, of its height or width


@dataclass(frozen=True)
class Errors:
    """Errors of one run; `step` is dt [s], or rtol of adaptive and event-driven; `seconds` of the march alone.

    `u_graph` is nan for the adaptive rule, whose records are too far apart to draw a graph of.
    """

    stepper: str
    step: float
    q_sup: float
    u_L1: float
    u_graph: float
    seconds: float
    status: str = "finished"


@dataclass(frozen=True, repr=False)
class Convergence:
    """Result of `converge`: errors of every run, slopes by stepper and norm, the judge's tolerance and seconds.

    `floor` is the largest error of the judge with a tolerance a hundred times looser: errors near it say nothing.
    """

    system: str
    t_end: float
    rtol: float
    judge_seconds: float
    floor: dict[str, float]
    rows: tuple[Errors, ...]
    slopes: dict[str, dict[str, float]]

    def __repr__(self) -> str:
        lines = [f"convergence of {self.system} over {self.t_end:g} s: {counted(len(self.rows), 'run')}; slopes:"]
        for stepper, slopes in self.slopes.items():
            lines.append(f"  {stepper:<17}" + ", ".join(f"{norm} {slope:.2f}" for norm, slope in slopes.items()))
        judge = f"judge: event-driven, rtol {self.rtol:g}; its own errors: "
        return "\n".join([*lines, judge + ", ".join(f"{norm} {error:.1e}" for norm, error in self.floor.items())])

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, ready for JSON; what is not a number is None."""

        def plain(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: plain(item) for key, item in value.items()}
            if isinstance(value, (list, tuple)):
                return [plain(item) for item in value]
            return None if isinstance(value, float) and not math.isfinite(value) else value

        return plain(asdict(self))


@dataclass(frozen=True)
class JudgedMotion:
    """The judge's motion: states at given times, and its velocities as polylines that contain the jumps."""

    t: Array
    q: Array
    u: Array
    graph_t: Array
    graph_u: Array
    seconds: float

    @classmethod
    def run(
        cls, scenario: Scenario, stepper: EventDriven, t_end: float, n: int, view: View | None = None
    ) -> JudgedMotion:
        """Integrate to t_end, with n + 1 equidistant states; view: as what states are compared with others."""
        seen = view or scenario.seen
        grid = np.linspace(0.0, t_end, n + 1)
        q, u = (np.empty((n + 1, scenario.system.n_dof)) for _ in range(2))
        graph_t, graph_u, seconds, filled = [], [], 0.0, 0
        arcs = stepper.arcs(scenario.system, scenario.q0, scenario.u0, t_end=t_end, params=scenario.params)
        while True:
            begin = time.perf_counter()
            arc = next(arcs, None)
            seconds += time.perf_counter() - begin
            if arc is None:
                break
            stop = n + 1 if arc.t_E >= t_end else int(np.searchsorted(grid, arc.t_E, side="left"))
            if stop > filled:
                q[filled:stop], u[filled:stop] = arc.state(np.minimum(grid[filled:stop], arc.t_E))
                filled = stop
            samples = np.linspace(arc.t_A, arc.t_E, 9 + int(4000 * (arc.t_E - arc.t_A) / t_end))
            graph_t.append(samples)
            graph_u.append(seen(*arc.state(samples))[1])
        return cls(grid, *seen(q, u), np.concatenate(graph_t), np.concatenate(graph_u), seconds)

    @property
    def scales(self) -> tuple[Array, Array]:
        """Ranges of coordinates and velocities; of one that only round-off moves, the largest range of the others.

        Where round-off moves all of them the scale is the size of the coordinates, for velocities per run: errors of a
        motion that rests are then none, and not quotients of round-off.
        """
        size = max(1.0, float(np.abs(self.q).max()))

        def ranges(x: Array, size: float) -> Array:
            width = np.ptp(x, axis=0)
            largest = width.max() if width.max() > 1e-10 * size else size
            return np.where(width > 1e-8 * largest, width, largest)

        return ranges(self.q, size), ranges(self.u, size / max(1.0, float(self.t[-1])))

    def errors(self, run: Trajectory, stepper: str, step: float) -> Errors:
        """Errors of a run whose records lie on the grid."""
        if not run.complete:
            return Errors(stepper, step, math.nan, math.nan, math.nan, run.wall_s, run.status)
        stride = (len(self.t) - 1) // (len(run) - 1)
        if stepper == Adaptive.name:  # its records are far apart: what lies between them is not its own
            dq, du = run.q - self.q[::stride], run.u - self.u[::stride]
            q_sup, u_L1, _ = self._norms(dq, du, self.graph_t[:2], self.graph_u[:2])
            return Errors(stepper, step, q_sup, u_L1, math.nan, run.wall_s)
        half = max(1, stride // 2)  # also half-way between the records, where the run is taken as straight
        u = np.stack([np.interp(self.t[::half], run.t, component) for component in run.u.T], axis=-1)
        norms = self._norms(run.q - self.q[::stride], u - self.u[::half], run.t, run.u)
        return Errors(stepper, step, *norms, run.wall_s)

    def errors_of_judge(self, other: JudgedMotion, rtol: float) -> Errors:
        """Errors of the judge with another tolerance, on the same grid."""
        norms = self._norms(other.q - self.q, other.u - self.u, other.graph_t, other.graph_u)
        return Errors(EventDriven.name, rtol, *norms, other.seconds)

    def _norms(self, dq: Array, du: Array, graph_t: Array, graph_u: Array) -> tuple[float, float, float]:
        scale_q, scale_u = self.scales
        width = self.t[-1]
        graph = max(
            graph_distance(
                np.column_stack([graph_t / width, graph_u[:, i] / scale_u[i]]),
                np.column_stack([self.graph_t / width, self.graph_u[:, i] / scale_u[i]]),
            )
            for i in range(len(scale_u))
        )
        return float(np.abs(dq / scale_q).max()), float(np.abs(du / scale_u).mean(axis=0).max()), float(graph)


View = Callable[[Array, Array], tuple[Array, Array]]
"""States of a mechanism (n, f), (n, f), as the runs have them that are compared with it."""


@renamed(advance="progress")
def converge(
    scenario: Scenario,
    steppers: Sequence[str] | None = None,
    *,
    dt: float | None = None,
    halvings: int = 4,
    t_end: float | None = None,
    rtol: float = 1e-12,
    progress: Progress = None,
) -> Convergence:
    """Run every stepper with dt, dt/2, ..., dt/2^halvings, and measure its errors against the event-driven judge.

    Parameters
    ----------
    scenario : what moves; all runs begin where the judge does, without initial penetrations.  A scene is judged as the
        mechanism that `as_mechanism` makes of it, and refused where that is not possible.
    steppers : names, all that there are where None
    dt, t_end : coarsest step size and end time [s]; the scenario's own where None
    rtol : of the judge
    progress : name the runs on stderr, see `analysis.progress`; a function is called with a name before each run

    Raises
    ------
    ValueError : unknown stepper, dt or t_end that make no run
    MotionError : the judge itself found no way on
    """
    if not isinstance(scenario, Scenario):
        require_scenario(scenario, "converge")
    known = tuple(STEPPERS) if scenario.steppers is None else (*scenario.steppers, EventDriven.name)
    chosen = known if steppers is None else tuple(steppers)
    for name in chosen:
        if name not in known:
            raise ValueError(unknown_name("stepper", name, known))
    end, coarse = scenario.t_end if t_end is None else t_end, scenario.dt if dt is None else dt
    if not 0.0 < coarse <= end < math.inf:
        raise ValueError(f"dt must be positive and t_end at least dt, got dt = {coarse:g}, t_end = {end:g}.")
    if not 1 <= halvings <= 20:
        raise ValueError(f"halvings must lie between 1 and 20, got {halvings}.")
    with reported(progress, "the judge") as tell:
        return _measured(scenario, chosen, end, max(1, round(end / coarse)), halvings, rtol, tell)


def _measured(
    scenario: Scenario, chosen: tuple[str, ...], end: float, n: int, halvings: int, rtol: float,
    tell: Callable[[str], None],
) -> Convergence:  # fmt: skip
    """Errors of the chosen steppers with n, 2 n, ..., n 2^halvings steps until `end`."""
    judge, moving, view = EventDriven(rtol=rtol), scenario.as_mechanism(), scenario.seen
    system, own = moving.system, moving is scenario
    q, _, p = system.check(moving.q0, moving.u0, moving.params)
    moving = replace(moving, q0=judge.onto_contacts(system, q, 0.0, p))
    scenario = moving if own else scenario
    tell("the judge")
    motion = JudgedMotion.run(moving, judge, end, 2 * n * 2**halvings, view)

    def stepped(stepper: str | Adaptive, count: int) -> Errors:
        name, step = (stepper, end / count) if isinstance(stepper, str) else (stepper.name, stepper.rtol)
        tell(f"{name}, {step:.3g}")

        def run() -> Trajectory:
            result: Trajectory = scenario.simulate(
                dt=end / count, t_end=end, stepper=stepper, on_energy_gain="ignore", progress=False
            )
            return not_interrupted(result)

        first = run()
        errors = motion.errors(first, name, step)
        if first.wall_s > _SHORT:
            return errors
        return replace(errors, seconds=min(first.wall_s, *(run().wall_s for _ in range(2))))  # the clock is coarse

    def judged(tolerance: float) -> Errors:
        tell(f"{EventDriven.name}, rtol = {tolerance:.3g}")
        looser = JudgedMotion.run(moving, EventDriven(rtol=tolerance), end, len(motion.t) - 1, view)
        return motion.errors_of_judge(looser, tolerance)

    rows = []
    for name in chosen:
        if name == EventDriven.name:
            rows += [judged(tolerance) for tolerance in _JUDGE_LEVELS if tolerance > 100.0 * rtol]
        elif name == Adaptive.name:
            count = max(divisor for divisor in range(1, _ADAPTIVE_RECORDS + 1) if n % divisor == 0)
            rows += [stepped(Adaptive(rtol=tolerance), count) for tolerance in _ADAPTIVE_LEVELS]
        else:
            rows += [stepped(name, n * 2**k) for k in range(halvings + 1)]
    last = judged(min(1e-2, 100.0 * rtol))
    if EventDriven.name in chosen:
        rows.append(last)
    floor = asdict(last)
    limits = {norm: float(floor[norm]) for norm in NORMS}
    slopes = {name: {norm: slope(rows, name, norm, limits[norm]) for norm in NORMS} for name in chosen}
    return Convergence(system.name, end, rtol, motion.seconds, limits, tuple(rows), slopes)


def slope(rows: Sequence[Errors], stepper: str, norm: str, floor: float = 0.0) -> float:
    """Slope of log error against log step, least squares over runs well above the judge's own error; nan for < 2."""
    mine = [(row.step, getattr(row, norm)) for row in rows if row.stepper == stepper]
    points = np.array([(step, error) for step, error in mine if error > max(10.0 * floor, _ROUND_OFF)]).reshape(-1, 2)
    if len(points) < 2:
        return math.nan
    return float(np.polyfit(np.log(points[:, 0]), np.log(points[:, 1]), 1)[0])


def graph_distance(a: Array, b: Array) -> float:
    """Hausdorff distance of two polylines (n, 2): the farthest that a point of one is from the other."""
    a, b = _split(a), _split(b)
    return max(_farthest(a, b), _farthest(b, a))


def _split(line: Array) -> Array:
    """The polyline with its long pieces (jumps) cut into short ones, as short as the budget of points allows."""
    line = line[np.append(True, np.any(np.diff(line, axis=0) != 0.0, axis=1))]  # a vertex must not hide its neighbours
    lengths = np.hypot(*np.diff(line, axis=0).T)
    counts = np.maximum(1, np.ceil(lengths / max(_SPLIT, lengths.sum() / _MOST_POINTS))).astype(int)
    if counts.max(initial=1) == 1:
        return line
    piece = np.repeat(np.arange(len(counts)), counts)
    share = (np.arange(len(piece)) - np.repeat(np.cumsum(counts) - counts, counts)) / counts[piece]
    return np.concatenate([line[piece] + share[:, None] * (line[piece + 1] - line[piece]), line[-1:]])


def _farthest(points: Array, line: Array) -> float:
    """Largest distance of points from a polyline: the pieces that meet at the nearest vertices are looked at."""
    _, nearest = cKDTree(line).query(points, k=min(_NEIGHBOURS, len(line)))
    best = np.full(len(points), np.inf)
    for vertex in np.atleast_2d(nearest.T):
        for side in (-1, 0):
            first = np.clip(vertex + side, 0, len(line) - 2)
            start, along = line[first], line[first + 1] - line[first]
            square = np.maximum((along**2).sum(axis=1), 1e-300)
            share = np.clip(((points - start) * along).sum(axis=1) / square, 0.0, 1.0)
            best = np.minimum(best, np.hypot(*(points - start - share[:, None] * along).T))
    return float(best.max())
