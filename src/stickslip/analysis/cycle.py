"""Cycles of a motion: when a coordinate passes a level, the period between, and how far another one moves per cycle.

    section: x falls through `level`;  period T_k = t_{k+1} - t_k;  drop D_k = y(t_k) - y(t_{k+1})

On the way to a limit cycle period and drop approach their limits geometrically; three successive values give the
limit (Aitken).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip.analysis.poincare import poincare
from stickslip.analysis.sections import LevelSection
from stickslip.checks import Array
from stickslip.events.event_driven import EventDriven
from stickslip.scenario import Scenario


@dataclass(frozen=True)
class Cycle:
    """Period [s] and drop per cycle of a motion that has settled; `spread` is how much single periods differ [s]."""

    period: float
    drop: float
    spread: float
    cycles: int


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


def judged_cycle(
    scenario: Scenario, section: LevelSection, travel: str, rtol: float = 1e-12, t_end: float = 7.0
) -> Cycle:
    """Period and drop by event-driven integration."""
    points = poincare(scenario, section, stepper=EventDriven(rtol=rtol), t_end=t_end)
    return settled_cycle(points.t, points[travel])


def stepped_cycle(
    scenario: Scenario, section: LevelSection, travel: str, stepper: str, dt: float, t_end: float = 12.0, skip: int = 20
) -> Cycle:
    """Period and drop by a time stepper: the mean over the cycles after the first `skip`."""
    every = max(1, round(1e-5 / dt))  # records closer than 1e-5 s do not change the interpolated passages
    points = poincare(scenario, section, stepper=stepper, dt=dt, t_end=t_end, every=every, progress=False)
    return mean_cycle(points.t, points[travel], skip)
