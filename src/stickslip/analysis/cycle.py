"""Cycles of a motion: when a coordinate passes a level, the period between, and how far another one moves per cycle.

    section: x falls through `level`;  period T_k = t_{k+1} - t_k;  drop D_k = y(t_k) - y(t_{k+1})

A motion that settles on a limit cycle approaches both geometrically; three successive values tell the limit (Aitken).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from stickslip.checks import Array
from stickslip.events.arcs import Arc
from stickslip.events.event_driven import EventDriven
from stickslip.scenario import Scenario
from stickslip.trajectory import Trajectory


@dataclass(frozen=True)
class Section:
    """Where a system's cycles are cut: coordinate `place` falls through `level`; `travel` is the one that drops."""

    place: str
    level: float
    travel: str


SECTIONS = {"woodpecker": Section("phi_S", -0.2788, "y")}
"""Systems whose motion settles on a cycle; the woodpecker's is the section of [GS05] Table I."""


@dataclass(frozen=True)
class Cycle:
    """Period [s] and drop per cycle of a motion that has settled; `spread` is how much single periods differ [s]."""

    period: float
    drop: float
    spread: float
    cycles: int


def passages_of_arcs(arcs: Iterable[Arc], place: int, travel: int, level: float) -> tuple[Array, Array]:
    """Times at which q[place] falls through the level, and q[travel] then, to the accuracy of the arcs."""
    times: list[float] = []
    travels: list[float] = []
    for arc in arcs:
        for time in arc.crossings(lambda q, u: float(q[place] - level)):
            times.append(time)
            travels.append(float(arc.state(time)[0][travel]))
    return np.array(times), np.array(travels)


def passages_of_records(trajectory: Trajectory, section: Section) -> tuple[Array, Array]:
    """Times at which a coordinate falls through the level of a section, and the travel then, from records.

    Between records the coordinate is the cubic polynomial of coordinates and velocities at both ends.
    """
    t, names = trajectory.t, trajectory.coordinate_names
    i, j = names.index(section.place), names.index(section.travel)
    x = trajectory.q[:, i] - section.level
    times, travels = [], []
    for k in np.flatnonzero((x[:-1] > 0.0) & (x[1:] <= 0.0)):
        h, ends = t[k + 1] - t[k], slice(k, k + 2)
        part = crossing(h, x[ends], trajectory.u[ends, i])
        times.append(t[k] + part * h)
        travels.append(float(hermite(part, h, trajectory.q[ends, j], trajectory.u[ends, j])))
    return np.array(times), np.array(travels)


def hermite(s: float, h: float, x: Array, v: Array) -> Array:
    """Cubic polynomials with values x and slopes v (first axis) at both ends of a step h, at the part s of it."""
    rest = 1.0 - s
    return np.asarray(
        rest * rest * (1.0 + 2.0 * s) * x[0] + s * s * (3.0 - 2.0 * s) * x[1] + s * rest * h * (rest * v[0] - s * v[1])
    )


def crossing(h: float, x: Array, slopes: Array) -> float:
    """The part of a step at which the cubic polynomial through both ends is zero."""
    return float(brentq(lambda s: float(hermite(s, h, x, slopes)), 0.0, 1.0))


def mean_cycle(times: Array, travels: Array, skip: int) -> Cycle:
    """Mean over all cycles after the first `skip`: for methods whose single cycles scatter with the step size."""
    if len(times) < skip + 2:
        raise ValueError(f"the motion passes its section {len(times)} times; a mean needs more than {skip + 1}.")
    periods = np.diff(times)[skip:]
    count = len(periods)
    return Cycle(
        float((times[-1] - times[skip]) / count),
        float((travels[skip] - travels[-1]) / count),
        float(np.ptp(periods)),
        count,
    )


def settled_cycle(times: Array, travels: Array) -> Cycle:
    """The limit of periods and drops that converge geometrically: Aitken's extrapolation of the last three."""
    if len(times) < 5:
        raise ValueError(f"the motion passes its section {len(times)} times; the limit needs at least 5.")
    periods, drops = np.diff(times), -np.diff(travels)
    return Cycle(_aitken(periods), _aitken(drops), float(np.ptp(periods[-3:])), len(periods))


def _aitken(x: Array) -> float:
    first, second, last = (float(value) for value in x[-3:])
    bend = last - 2.0 * second + first
    return last - (last - second) ** 2 / bend if bend != 0.0 else last


def judged_cycle(scenario: Scenario, section: Section, rtol: float = 1e-12, t_end: float = 7.0) -> Cycle:
    """Period and drop by event-driven integration."""
    names = scenario.system.coordinate_names
    place, travel = names.index(section.place), names.index(section.travel)
    arcs = EventDriven(rtol=rtol).arcs(scenario.system, scenario.q0, scenario.u0, t_end=t_end, params=scenario.params)
    return settled_cycle(*passages_of_arcs(arcs, place, travel, section.level))


def stepped_cycle(
    scenario: Scenario, section: Section, stepper: str, dt: float, t_end: float = 12.0, skip: int = 20
) -> Cycle:
    """Period and drop by a time stepper: the mean over the cycles after the first `skip`."""
    every = max(1, round(1e-5 / dt))  # records closer than that tell nothing more
    run = scenario.simulate(dt=dt, t_end=t_end, stepper=stepper, every=every, on_energy_gain="ignore", progress=False)
    if not run.complete:
        raise ArithmeticError(f"{stepper} with dt = {dt:g} s {run.status}")
    return mean_cycle(*passages_of_records(run, section), skip)
