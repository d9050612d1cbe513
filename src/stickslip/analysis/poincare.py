"""`poincare`: the points of a motion on a section, from a trajectory, with a time stepper, or event by event."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from stickslip.analysis.progress import Progress, not_interrupted
from stickslip.analysis.sections import (
    TURN,
    AnySection,
    ClosingSection,
    DriveSection,
    LevelSection,
    PhaseSection,
    Section,
    read_section,
    reset_of,
    section_of,
    with_reset,
)
from stickslip.checks import Array, real_number, unknown_name
from stickslip.contact.planar import solver_from
from stickslip.events.arcs import SAMPLES, Arc
from stickslip.events.event_driven import EventDriven
from stickslip.events.motion import Motion
from stickslip.laws import Newton
from stickslip.mechanisms.reset import Relabelling, Reset
from stickslip.mechanisms.system import System
from stickslip.scenario import Scenario
from stickslip.trajectory import Trajectory

_WINDOW = 4000  # records that are looked at together
_AT_THE_START = 1e-9  # share of a run within which a motion that starts on its section is still there


@dataclass(frozen=True, eq=False)
class SectionPoints:
    """Points of a motion on its section: times (n,) [s], coordinates and velocities (n, f) at these times."""

    section: Section
    t: Array
    q: Array
    u: Array
    coordinate_names: tuple[str, ...]
    velocity_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.t)

    def __str__(self) -> str:
        if not len(self):
            return f"no point on the section {self.section}"
        names = (*self.coordinate_names, *self.velocity_names)
        last = ", ".join(f"{name} {value:.6g}" for name, value in list(zip(names, self.x[-1], strict=True))[:8])
        periods = f", mean period {self.periods.mean():.6g} s" if len(self) > 1 else ""
        span = f"t = {self.t[0]:.6g} .. {self.t[-1]:.6g} s"
        return f"{len(self)} points on the section {self.section}, {span}{periods}\n  last: {last}"

    def __getitem__(self, name: str) -> Array:
        """A coordinate or velocity at the points, (n,)."""
        names = (*self.coordinate_names, *self.velocity_names)
        if name not in names:
            raise KeyError(unknown_name("coordinate or velocity", name, names))
        return self.x[:, names.index(name)]

    @property
    def x(self) -> Array:
        """States (q, u), (n, 2 f)."""
        return np.concatenate([self.q, self.u], axis=1)

    @property
    def periods(self) -> Array:
        """Times between successive points [s], (n - 1,)."""
        return np.diff(self.t)


def translations(scenario: Scenario) -> tuple[int, ...]:
    """Coordinates that stand in none of the equations: a shift of such a coordinate does not change the motion."""
    return symmetries(scenario)[0]


def symmetries(scenario: Scenario) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Coordinates that stand in none of the equations, and others that do, up to whole turns: angles."""
    system, p = scenario.system, scenario.system.parameter_vector(scenario.params)
    rng = np.random.default_rng(0)
    size = np.maximum(0.1, np.abs(scenario.q0))
    places = [scenario.q0 + size * rng.uniform(-1.0, 1.0, system.n_dof) for _ in range(3)]
    u = scenario.u0 + rng.uniform(-1.0, 1.0, system.n_dof)

    def values(q: Array) -> Array:
        parts = (system.mass(q, 0.0, p), system.force(q, u, 0.0, p), system.gap(q, 0.0, p), *system.geometry(q, 0.0, p))
        return np.concatenate([np.ravel(part) for part in parts])

    def unchanged(i: int, shift: float, rounding: float) -> bool:
        for q in places:
            moved = q.copy()
            moved[i] += shift
            a, b = values(q), values(moved)
            if np.any(np.abs(a - b) > 1e-13 * (np.abs(a) + np.abs(b)) + rounding * np.abs(a).max(initial=0.0)):
                return False
        return True

    free = tuple(i for i in range(system.n_dof) if unchanged(i, 0.7 * size[i], 0.0))
    return free, tuple(i for i in range(system.n_dof) if i not in free and unchanged(i, TURN, 1e-12))


def poincare(
    source: Trajectory | Scenario,
    section: AnySection | None = None,
    *,
    reset: Reset | None = None,
    stepper: Any = "moreau-midpoint",
    dt: float | None = None,
    t_end: float | None = None,
    every: int = 1,
    progress: Progress = None,
) -> SectionPoints:
    """The points of a motion on a section.

    Parameters
    ----------
    source : a trajectory, between whose records coordinates are interpolated by cubics and velocities linearly; or a
        scenario, which is run here (with `EventDriven()` points are exact to its tolerance)
    section : an object or text, see `analysis.sections`; None: the system's own (scenarios only)
    reset : new names for coordinates after each point, for walkers and wheels (scenarios only); None: the scenario's
        own.  The motion goes on as it is, and points have the new names
    stepper, dt, t_end, every, progress : of the run, as in `simulate`; dt, t_end None: the scenario's own

    Returns
    -------
    SectionPoints : times [s], coordinates and velocities at the passages of the section

    Raises
    ------
    ValueError : no section for a trajectory, a section that cannot be read, or a name that the system does not have
    """
    if isinstance(source, Trajectory):
        if section is None:
            raise ValueError("section must be given for a trajectory, such as LevelSection('y', 0.0) or 'y<0'.")
        if reset is not None:
            raise ValueError(
                "reset belongs to a scenario, whose equations it must leave as they are; give the scenario."
            )
        known = read_section(section)
        return points_of(
            source, known.at(source.parameters, source.units) if isinstance(known, DriveSection) else known
        )
    source = with_reset(source, reset)
    chosen, relabelling = section_of(source, section), reset_of(source, section)
    end = source.t_end if t_end is None else real_number(t_end, "t_end")
    if stepper == EventDriven.name or isinstance(stepper, EventDriven):
        judge = stepper if isinstance(stepper, EventDriven) else EventDriven()
        return points_by_events(source, chosen, relabelling, judge, end)
    run = source.simulate(
        dt=source.dt if dt is None else dt,
        t_end=end,
        stepper=stepper,
        every=every,
        on_energy_gain="ignore",
        progress=progress,
    )
    if not not_interrupted(run).complete:
        raise ArithmeticError(f"{run.stepper} with dt = {run.dt:g} s {run.status}")
    return points_of(run, chosen, relabelling)


def points_by_events(
    scenario: Scenario,
    section: Section,
    reset: Relabelling | None,
    judge: EventDriven,
    t_end: float,
    note: Callable[[Arc], None] = lambda arc: None,
) -> SectionPoints:
    """The points of a motion from event to event; `note` is called with each of its arcs.  Raises `MotionError`."""
    system, f, found = scenario.system, scenario.system.n_dof, []
    q, u, p = system.check(scenario.q0, scenario.u0, scenario.params)
    motion = judge.motion(system, q, u, p, 0.0, t_end, Newton(), solver_from("auto"))
    for t, arc, names in passages(motion, section, reset, note):
        x = names(arc.vector(t)[: 2 * f])
        found.append((t, x[:f], x[f:]))
    return _points(section, found, system.coordinate_names, system.velocity_names)


def passages(
    motion: Motion, section: Section, reset: Relabelling | None = None, note: Callable[[Arc], None] = lambda arc: None
) -> Iterator[tuple[float, Arc, Relabelling]]:
    """Times at which a motion from event to event meets a section, each with its arc, and the names from then on.

    The motion goes on as it is: a reset changes the names alone in which the next passage is looked for.
    """
    start, apart, system = motion.t, _AT_THE_START * motion.span, motion.system
    names = Relabelling.none(system.n_dof, system.n_contacts)
    place = section.place(system) if isinstance(section, ClosingSection) else -1
    for arc in motion.arcs():
        note(arc)
        if isinstance(section, ClosingSection):
            contact = names.partner[place]
            rows = [row for row in motion.impacts if row[0] == arc.t_A and row[1] == contact and row[2] < 0.0]
            if rows and arc.t_A > start + apart:
                names = names if reset is None else reset.after(names)
                yield arc.t_A, arc, names
            continue
        before = -math.inf
        while True:
            times = [t for t in _times_in(arc, section, system, names) if t > max(start + apart, before)]
            if not times:
                break
            before = times[0]
            names = names if reset is None else reset.after(names)
            yield before, arc, names


def _times_in(arc: Arc, section: LevelSection | PhaseSection, system: System, names: Relabelling) -> list[float]:
    """Times in an arc at which a section is passed, in the names that hold there."""
    if isinstance(section, PhaseSection):
        first = math.floor((arc.t_A - section.offset) / section.period) + 1
        last = math.floor((arc.t_E - section.offset) / section.period)
        return [section.offset + k * section.period for k in range(first, last + 1)]
    place, sign, n = section.place(system), -1.0 if section.rising else 1.0, 2 * system.n_dof
    samples = names(arc.vector(np.linspace(arc.t_A, arc.t_E, SAMPLES + 1))[:, :n])[:, place]
    found = []
    for level in section.levels(samples.min(), samples.max()):
        ahead = sign * (samples - level)
        if np.any((ahead[:-1] > 0.0) & (ahead[1:] <= 0.0)):
            found += arc.crossings(
                lambda q, u: float(names(np.concatenate([q, u]))[place] - level),  # noqa: B023
                section.rising,
            )
    return sorted(found)


def _points(
    section: Section,
    found: list[tuple[float, Array, Array]],
    coordinate_names: tuple[str, ...],
    velocity_names: tuple[str, ...],
) -> SectionPoints:
    f = len(coordinate_names)
    t = np.array([row[0] for row in found])
    q, u = (np.array([row[i] for row in found]).reshape(len(found), f) for i in (1, 2))
    return SectionPoints(section, t, q, u, coordinate_names, velocity_names)


def points_of(run: Trajectory, section: Section, reset: Relabelling | None = None) -> SectionPoints:
    """The points of a run on a section, in new names after each where there is a reset."""
    names = run.coordinate_names, run.velocity_names
    if reset is not None:
        return _renamed_points(run, section, reset)
    if isinstance(section, ClosingSection):
        if section.contact not in run.contact_names:
            raise ValueError(f"section: {unknown_name('contact', section.contact, run.contact_names)}")
        times = np.unique(run.impacts().of(section.contact)["time"])
        rows = np.minimum(np.searchsorted(run.t, times * (1.0 - 1e-12), side="left"), len(run) - 1)
        rows, first = np.unique(rows, return_index=True)
        return _points(
            section, [_after_impact(run, int(i), times[j]) for i, j in zip(rows, first, strict=True)], *names
        )
    return _points(section, list(_found_in(run, section)), *names)


def _renamed_points(run: Trajectory, section: Section, reset: Relabelling) -> SectionPoints:
    """The points of a run on a section that gets new names at each of them: passage after passage."""
    f, names = len(run.coordinate_names), Relabelling.none(len(run.coordinate_names), len(run.contact_names))
    found: list[tuple[float, Array, Array]] = []
    if isinstance(section, ClosingSection):
        place, impacts = run.contact_names.index(section.contact), run.impacts()
        times = [np.unique(impacts.of(name)["time"]) for name in run.contact_names]
        t = run.t[0]
        while True:
            own = times[names.partner[place]]
            later = own[np.searchsorted(own, t, side="right") :]
            if not len(later):
                break
            t, names = later[0], reset.after(names)
            i = min(int(np.searchsorted(run.t, t * (1.0 - 1e-12), side="left")), len(run) - 1)
            time, q, u = _after_impact(run, i, t)
            x = names(np.concatenate([q, u]))
            found.append((time, x[:f], x[f:]))
        return _points(section, found, run.coordinate_names, run.velocity_names)
    first, window = 0, _WINDOW
    while first < len(run) - 1:
        last = min(first + window, len(run))
        x = names(np.concatenate([run.q[first:last], run.u[first:last]], axis=1))
        here = _Records(run.t[first:last], x[:, :f], x[:, f:], run.coordinate_names, run.velocity_names)
        after = found[-1][0] if found else -math.inf
        point = next((point for point in _found_in(here, section) if point[0] > after + 1e-12 * run.t[-1]), None)
        if point is None:
            if last == len(run):
                break
            first = last - 1
            continue
        names = reset.after(names)
        state = reset(np.concatenate(point[1:]))
        found.append((point[0], state[:f], state[f:]))
        first = max(first, int(np.searchsorted(run.t, point[0], side="right")) - 1)
    return _points(section, found, run.coordinate_names, run.velocity_names)


def _after_impact(run: Trajectory, i: int, t: float) -> tuple[float, Array, Array]:
    """Time, coordinates and velocities right after an impact at t, from the first record i behind it.

    Where records are further apart than steps, the motion is followed back from there, to second order.
    """
    back = float(run.t[i]) - float(t)
    if not back > 1e-9 * run.dt or i + 1 >= len(run):
        return float(run.t[i]), run.q[i], run.u[i]
    rate = (run.u[i + 1] - run.u[i]) / (run.t[i + 1] - run.t[i])
    return float(t), run.q[i] - back * run.u[i] + 0.5 * back**2 * rate, run.u[i] - back * rate


class _Records(NamedTuple):
    """Some records of a run: times (k,), coordinates and velocities (k, f), and their names."""

    t: Array
    q: Array
    u: Array
    coordinate_names: tuple[str, ...]
    velocity_names: tuple[str, ...]


def _found_in(run: Trajectory | _Records, section: LevelSection | PhaseSection) -> Iterator[tuple[float, Array, Array]]:
    """Time, coordinates and velocities of each passage between records."""
    for k, part in _parts(run, section):
        h, ends = run.t[k + 1] - run.t[k], slice(k, k + 2)
        q = hermite(part, h, run.q[ends], run.u[ends])
        yield float(run.t[k] + part * h), q, (1.0 - part) * run.u[k] + part * run.u[k + 1]


def _parts(run: Trajectory | _Records, section: LevelSection | PhaseSection) -> Iterator[tuple[int, float]]:
    """Records before each passage, and the part of the way to the next one."""
    if isinstance(section, PhaseSection):
        first = math.floor((run.t[0] - section.offset) / section.period) + 1
        last = math.floor((run.t[-1] * (1.0 + 1e-12) - section.offset) / section.period)
        times = section.offset + section.period * np.arange(first, last + 1)
        rows = np.clip(np.searchsorted(run.t, times, side="right") - 1, 0, len(run.t) - 2)
        yield from (
            (int(k), float((t - run.t[k]) / (run.t[k + 1] - run.t[k]))) for k, t in zip(rows, times, strict=True)
        )
        return
    if section.name not in (*run.coordinate_names, *run.velocity_names):
        known = (*run.coordinate_names, *run.velocity_names)
        raise ValueError(f"section: {unknown_name('coordinate or velocity', section.name, known)}")
    sign = -1.0 if section.rising else 1.0
    smooth = section.name in run.coordinate_names
    place = (run.coordinate_names if smooth else run.velocity_names).index(section.name)
    values, rates = (run.q if smooth else run.u)[:, place], sign * run.u[:, place]
    found: list[tuple[int, float]] = []
    for level in section.levels(float(values.min()), float(values.max())):
        x = sign * (values - level)
        for k in np.flatnonzero((x[:-1] > 0.0) & (x[1:] <= 0.0)):
            cubic = smooth and crossing(run.t[k + 1] - run.t[k], x[k : k + 2], rates[k : k + 2])
            found.append((int(k), float(cubic) if smooth else float(x[k] / (x[k] - x[k + 1]))))
    yield from sorted(found)


def hermite(s: float, h: float, x: Array, v: Array) -> Array:
    """Cubic polynomials with values x and slopes v (first axis) at both ends of a step h, at s h with 0 <= s <= 1."""
    rest = 1.0 - s
    return np.asarray(
        rest * rest * (1.0 + 2.0 * s) * x[0] + s * s * (3.0 - 2.0 * s) * x[1] + s * rest * h * (rest * v[0] - s * v[1])
    )


def crossing(h: float, x: Array, slopes: Array) -> float:
    """The part of a step at which the cubic polynomial through both ends is zero."""
    return float(brentq(lambda s: float(hermite(s, h, x, slopes)), 0.0, 1.0))
