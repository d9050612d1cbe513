"""`poincare`: the points of a motion on a section, from a trajectory, with a time stepper, or event by event."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from stickslip.analysis.progress import Progress
from stickslip.analysis.sections import (
    TURN,
    AnySection,
    ClosingSection,
    DriveSection,
    LevelSection,
    PhaseSection,
    Section,
    read_section,
    section_of,
)
from stickslip.checks import Array, real_number, unknown_name
from stickslip.contact.planar import solver_from
from stickslip.events.arcs import SAMPLES, Arc
from stickslip.events.event_driven import EventDriven
from stickslip.events.motion import Motion
from stickslip.laws import Newton
from stickslip.mechanisms.system import System
from stickslip.scenario import Scenario
from stickslip.trajectory import Trajectory

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
        known = read_section(section)
        return _of_records(
            source, known.at(source.parameters, source.units) if isinstance(known, DriveSection) else known
        )
    chosen = section_of(source, section)
    end = source.t_end if t_end is None else real_number(t_end, "t_end")
    if stepper == EventDriven.name or isinstance(stepper, EventDriven):
        judge = stepper if isinstance(stepper, EventDriven) else EventDriven()
        q, u, p = source.system.check(source.q0, source.u0, source.params)
        motion = judge.motion(source.system, q, u, p, 0.0, end, Newton(), solver_from("auto"))
        found = [(t, *arc.state(t)) for t, arc in passages(motion, chosen)]
        return _points(chosen, found, source.system.coordinate_names, source.system.velocity_names)
    run = source.simulate(
        dt=source.dt if dt is None else dt,
        t_end=end,
        stepper=stepper,
        every=every,
        on_energy_gain="ignore",
        progress=progress,
    )
    if not run.complete:
        raise ArithmeticError(f"{run.stepper} with dt = {run.dt:g} s {run.status}")
    return _of_records(run, chosen)


def passages(motion: Motion, section: Section) -> Iterator[tuple[float, Arc]]:
    """Times at which a motion from event to event meets a section, each with the arc that holds it."""
    start, apart = motion.t, _AT_THE_START * motion.span
    contact = section.place(motion.system) if isinstance(section, ClosingSection) else -1
    for arc in motion.arcs():
        if isinstance(section, ClosingSection):
            rows = [row for row in motion.impacts if row[0] == arc.t_A and row[1] == contact and row[2] < 0.0]
            if rows and arc.t_A > start + apart:
                yield arc.t_A, arc
            continue
        for t in _times_in(arc, section, motion.system, motion.t_end):
            if t > start + apart:
                yield t, arc


def _times_in(arc: Arc, section: LevelSection | PhaseSection, system: System, t_end: float) -> list[float]:
    if isinstance(section, PhaseSection):
        first = math.floor((arc.t_A - section.offset) / section.period) + 1
        last = math.floor((arc.t_E - section.offset) / section.period)
        return [section.offset + k * section.period for k in range(first, last + 1)]
    place, sign = section.place(system), -1.0 if section.rising else 1.0
    samples = sign * (arc.vector(np.linspace(arc.t_A, arc.t_E, SAMPLES + 1))[:, place] - section.level)
    if not np.any((samples[:-1] > 0.0) & (samples[1:] <= 0.0)):
        return []
    return arc.crossings(lambda q, u: float(np.concatenate([q, u])[place] - section.level), section.rising)


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


def _of_records(run: Trajectory, section: Section) -> SectionPoints:
    names = run.coordinate_names, run.velocity_names
    if isinstance(section, ClosingSection):
        if section.contact not in run.contact_names:
            raise ValueError(f"section: {unknown_name('contact', section.contact, run.contact_names)}")
        times = np.unique(run.impacts().of(section.contact)["time"])
        rows = np.minimum(np.searchsorted(run.t, times * (1.0 - 1e-12), side="left"), len(run) - 1)
        return _points(section, [(run.t[i], run.q[i], run.u[i]) for i in np.unique(rows)], *names)
    found = []
    for k, part in _parts(run, section):
        h, ends = run.t[k + 1] - run.t[k], slice(k, k + 2)
        q = hermite(part, h, run.q[ends], run.u[ends])
        found.append((float(run.t[k] + part * h), q, (1.0 - part) * run.u[k] + part * run.u[k + 1]))
    return _points(section, found, *names)


def _parts(run: Trajectory, section: LevelSection | PhaseSection) -> Iterator[tuple[int, float]]:
    """Records before each passage, and the part of the way to the next one."""
    if isinstance(section, PhaseSection):
        first = math.floor((run.t[0] - section.offset) / section.period) + 1
        last = math.floor((run.t[-1] * (1.0 + 1e-12) - section.offset) / section.period)
        times = section.offset + section.period * np.arange(first, last + 1)
        rows = np.clip(np.searchsorted(run.t, times, side="right") - 1, 0, len(run) - 2)
        yield from (
            (int(k), float((t - run.t[k]) / (run.t[k + 1] - run.t[k]))) for k, t in zip(rows, times, strict=True)
        )
        return
    if section.name not in (*run.coordinate_names, *run.velocity_names):
        known = (*run.coordinate_names, *run.velocity_names)
        raise ValueError(f"section: {unknown_name('coordinate or velocity', section.name, known)}")
    sign = -1.0 if section.rising else 1.0
    x = sign * (run[section.name] - section.level)
    smooth = section.name in run.coordinate_names
    slopes = sign * run.u[:, run.coordinate_names.index(section.name)] if smooth else x
    for k in np.flatnonzero((x[:-1] > 0.0) & (x[1:] <= 0.0)):
        if smooth:
            yield int(k), crossing(run.t[k + 1] - run.t[k], x[k : k + 2], slopes[k : k + 2])
        else:
            yield int(k), float(x[k] / (x[k] - x[k + 1]))


def hermite(s: float, h: float, x: Array, v: Array) -> Array:
    """Cubic polynomials with values x and slopes v (first axis) at both ends of a step h, at s h with 0 <= s <= 1."""
    rest = 1.0 - s
    return np.asarray(
        rest * rest * (1.0 + 2.0 * s) * x[0] + s * s * (3.0 - 2.0 * s) * x[1] + s * rest * h * (rest * v[0] - s * v[1])
    )


def crossing(h: float, x: Array, slopes: Array) -> float:
    """The part of a step at which the cubic polynomial through both ends is zero."""
    return float(brentq(lambda s: float(hermite(s, h, x, slopes)), 0.0, 1.0))
