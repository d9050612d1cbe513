"""Many motions on their sections, for diagrams and basins: in turn in this process, or as an ensemble on a device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from stickslip.analysis.poincare import SectionPoints, points_by_events, points_of
from stickslip.analysis.progress import not_interrupted
from stickslip.analysis.sections import AnySection, PhaseSection, Section, given_section, reset_of, section_of
from stickslip.checks import Array, real_number, whole_number
from stickslip.events.arcs import Arc
from stickslip.events.book import MotionError
from stickslip.events.event_driven import EventDriven
from stickslip.mechanisms.reset import Relabelling
from stickslip.scenario import Scenario
from stickslip.trajectory import Trajectory

_PER_RETURN = 400  # records


@dataclass(frozen=True, eq=False)
class Member:
    """One motion on its section.

    Attributes
    ----------
    points : the last points of the motion on the section
    t, final : end time [s] and state (2 f,)
    least, largest : of (q, u) over the second half of the motion, (2 f,)
    status : "finished", or why not
    """

    points: SectionPoints
    t: float
    final: Array
    least: Array
    largest: Array
    status: str


@dataclass(frozen=True)
class MemberOptions:
    """Options of the runs of members.

    Attributes
    ----------
    stepper : time stepper.
    dt, t_end : step size and end time [s]; None: the scenario's own.
    points : number of points of the section that are kept.
    device : None runs members in turn in this process; others as in `ensemble` ("cpu": all cores), with its progress
        bar.
    """

    stepper: Any = "moreau-midpoint"
    dt: float | None = None
    t_end: float | None = None
    points: int = 40
    device: str | None = None
    progress: bool | None = None

    def __post_init__(self) -> None:
        whole_number(self.points, "points")
        for name in ("dt", "t_end"):
            value = getattr(self, name)
            if value is not None and not real_number(value, name) > 0.0:
                raise ValueError(f"{name} must be positive [s], got {value:g}.")

    def length(self, scenario: Scenario, section: Section) -> float:
        """Length of a run [s]: ten times the scenario's, or 150 to 400 periods of a drive."""
        if self.t_end is not None:
            return float(self.t_end)
        length = 10.0 * scenario.t_end
        if isinstance(section, PhaseSection):
            length = min(max(length, 150.0 * section.period), 400.0 * section.period)
        return length


def run_member(scenario: Scenario, given: AnySection | None, options: MemberOptions) -> Member:
    """One motion by `simulate`, on the section given or on the scenario's own."""
    section, reset = section_of(scenario, given), reset_of(scenario, given)
    step, length = scenario.dt if options.dt is None else options.dt, options.length(scenario, section)
    if (options.stepper == EventDriven.name or isinstance(options.stepper, EventDriven)) and not isinstance(
        section, PhaseSection
    ):
        judge = options.stepper if isinstance(options.stepper, EventDriven) else EventDriven()
        return _by_events(scenario, section, reset, judge, length, options.points)
    every, t0 = max(1, round(scenario.t_end / 10.0 / _PER_RETURN / step)), 0.0
    if isinstance(section, PhaseSection):
        t0, step = section.offset, section.period / max(1, round(section.period / step))
        length = round(length / section.period) * section.period + 0.5 * step
        every = max(1, round(section.period / step / (4 * _PER_RETURN)))
    run: Trajectory = scenario.simulate(
        t0=t0, dt=step, t_end=t0 + length, every=every, stepper=options.stepper, on_energy_gain="ignore",
        penetration_tol=1.0, progress=False,
    )  # fmt: skip
    not_interrupted(run)
    x = np.concatenate([run.q, run.u], axis=1)
    late = x[len(x) // 2 :]
    return Member(
        _last(points_of(run, section, reset), options.points), float(run.t[-1]), x[-1], late.min(axis=0),
        late.max(axis=0), run.status,
    )  # fmt: skip


def _by_events(
    scenario: Scenario, section: Section, reset: Relabelling | None, judge: EventDriven, length: float, count: int
) -> Member:
    """One motion from event to event: its points are not those between records."""
    f, seen = scenario.system.n_dof, [np.concatenate([scenario.q0, scenario.u0])]
    times = [0.0]

    def note(arc: Arc) -> None:
        times.append(arc.t_E)
        seen.append(arc.vector(arc.t_E)[: 2 * f])

    status, points = "finished", SectionPoints(
        section, np.zeros(0), np.zeros((0, f)), np.zeros((0, f)), scenario.system.coordinate_names,
        scenario.system.velocity_names,
    )  # fmt: skip
    try:
        points = points_by_events(scenario, section, reset, judge, length, note)
    except MotionError as problem:
        status = f"failed at t = {problem.t:.9g} s: {problem}"
    late = np.array(seen)[np.array(times) >= 0.5 * times[-1]]
    return Member(_last(points, count), times[-1], seen[-1], late.min(axis=0), late.max(axis=0), status)


def members(
    scenario: Scenario,
    vary: Mapping[str, Array],
    section: AnySection | None,
    options: MemberOptions,
    report: Callable[[int], None] | None = None,
    paired: bool = False,
) -> Iterator[tuple[Scenario, Member]]:
    """The motions of a grid, the last name fastest, or of paired values; each with its scenario."""
    if options.device is not None:
        yield from _on_device(scenario, vary, section, options, paired)
        return
    for count, values in enumerate(_combined(vary, paired), 1):
        here = changed(scenario, dict(zip(vary, map(float, values), strict=True)))
        yield here, run_member(here, section, options)
        if report is not None:
            report(count)


def _combined(vary: Mapping[str, Array], paired: bool) -> Iterator[tuple[Any, ...]]:
    return zip(*vary.values(), strict=True) if paired else product(*vary.values())


def changed(scenario: Scenario, values: Mapping[str, float]) -> Scenario:
    """The scenario with other values of coordinates, velocities and parameters, by name."""
    names = scenario.system.parameter_names
    params = {key: value for key, value in values.items() if key in names}
    state = {key: value for key, value in values.items() if key not in names}
    moved = scenario.starting(state) if state else scenario
    return replace(moved, params={**(scenario.params or {}), **params}) if params else moved


def _last(points: SectionPoints, count: int) -> SectionPoints:
    return replace(points, t=points.t[-count:], q=points.q[-count:], u=points.u[-count:])


def _on_device(
    scenario: Scenario, vary: Mapping[str, Array], section: AnySection | None, options: MemberOptions, paired: bool
) -> Iterator[tuple[Scenario, Member]]:
    from stickslip.ensembles.observables import STATUS_NAMES
    from stickslip.ensembles.run import ensemble

    if reset_of(scenario, section) is not None:
        raise ValueError(
            "device must be left out where the section has a reset: members of an ensemble know no new names."
        )
    own = section_of(scenario, section)
    length = options.length(scenario, own)
    result = ensemble(
        scenario, vary, ["points", "extremes", "final"], device=str(options.device), dt=options.dt, t_end=length,
        stepper=options.stepper, section=given_section(scenario, section), points=options.points, skip=0.5 * length,
        penetration_tol=1.0, params=scenario.params, paired=paired, progress=options.progress,
    ).to_xarray()  # fmt: skip
    names, shape = tuple(result["status"].dims), result["status"].shape
    columns = {
        key: result[key].transpose(*names, ...).values.reshape(int(np.prod(shape)), *result[key].shape[len(shape) :])
        for key in ("status", "time_reached", "point_time", "point_q", "point_u", "final_q", "final_u", "least_q",
                    "least_u", "largest_q", "largest_u")
    }  # fmt: skip
    system = scenario.system
    for i, values in enumerate(_combined(vary, paired)):
        there = np.isfinite(columns["point_time"][i])
        points = SectionPoints(
            own, columns["point_time"][i][there], columns["point_q"][i][there], columns["point_u"][i][there],
            system.coordinate_names, system.velocity_names,
        )  # fmt: skip
        both = [np.append(columns[f"{key}_q"][i], columns[f"{key}_u"][i]) for key in ("final", "least", "largest")]
        status = STATUS_NAMES[int(columns["status"][i])]
        here = changed(scenario, dict(zip(vary, map(float, values), strict=True)))
        yield here, Member(points, float(columns["time_reached"][i]), both[0], both[1], both[2], status)
