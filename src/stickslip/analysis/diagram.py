"""Bifurcation diagrams by brute force: what a motion does on its section once it has settled, over a parameter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stickslip.analysis.poincare import PhaseSection, Section, SectionPoints, poincare, section_of, translations
from stickslip.library.scenario import Scenario, require_scenario
from stickslip.model.system import Array, real_array, unknown_name
from stickslip.trajectory import Trajectory

_PER_RETURN = 400  # records


@dataclass(frozen=True, eq=False)
class Member:
    """One run of an ensemble on its section.

    Attributes: points on the section; end time [s] and state (2 f,); largest velocities (f,) in the third and in the
    last quarter of the run; status, how it ended.
    """

    points: SectionPoints
    t: float
    final: Array
    speeds: tuple[Array, Array]
    status: str


def run_member(scenario: Scenario, section: Section, *, stepper: Any, dt: float, duration: float, every: int) -> Member:
    """One member; an ensemble on many cores may take the place of the loop that calls this."""
    t0 = section.offset if isinstance(section, PhaseSection) else 0.0
    run: Trajectory = scenario.simulate(
        t0=t0, dt=dt, t_end=t0 + duration, every=every, stepper=stepper, on_energy_gain="ignore",
        penetration_tol=1.0, progress=False,
    )  # fmt: skip
    final = np.concatenate([run.q[-1], run.u[-1]])
    half, last = len(run) // 2, (3 * len(run)) // 4
    speeds = np.abs(run.u[half : last + 1]).max(axis=0), np.abs(run.u[last:]).max(axis=0)
    return Member(poincare(run, section), float(run.t[-1]), final, speeds, run.status)


@dataclass(frozen=True, eq=False)
class BifurcationDiagram:
    """Points on the section over a parameter.

    Attributes
    ----------
    name, values : of the parameter, (m,)
    index : to which value each point belongs, (n,)
    observed : by name, (n,) each: coordinates and velocities on the section, "period" [s] until the next return, and
        "shift of y" per return for coordinates that stand in no equation
    failed : values whose run failed or never returned, with the reason
    """

    system: str
    name: str
    values: Array
    section: str
    index: np.ndarray
    observed: dict[str, Array]
    failed: dict[float, str]
    units: dict[str, str]

    def of(self, observable: str) -> tuple[Array, Array]:
        """Parameter and observable of every point."""
        if observable not in self.observed:
            raise ValueError(unknown_name("observable", observable, self.observed))
        return self.values[self.index], self.observed[observable]

    def branches(self, observable: str, tol: float = 1e-2) -> np.ndarray:
        """How many different values an observable takes at each parameter, up to `tol` of its range; (m,)."""
        values = self.of(observable)[1]
        width = float(np.ptp(values)) if len(values) else 1.0
        counts = np.zeros(len(self.values), dtype=int)
        for i in range(len(self.values)):
            own = np.sort(values[self.index == i])
            counts[i] = int(len(own) > 0) + int((np.diff(own) > tol * width).sum())
        return counts

    def to_dict(self) -> dict[str, Any]:
        """As plain values, ready for JSON."""
        return {
            "system": self.system,
            "parameter": self.name,
            "section": self.section,
            "value": self.values[self.index].tolist(),
            "observed": {key: column.tolist() for key, column in self.observed.items()},
            "failed": {f"{key:.12g}": why for key, why in self.failed.items()},
        }


def bifurcation(
    scenario: Scenario,
    parameter: str,
    values: Sequence[float] | Array,
    *,
    section: Section | None = None,
    stepper: Any = "moreau-midpoint",
    dt: float | None = None,
    duration: float | None = None,
    keep: int = 40,
    follow: bool = False,
    advance: Callable[[int], None] | None = None,
) -> BifurcationDiagram:
    """Run a scenario at every value of a parameter and keep the last returns to its section.

    Parameters
    ----------
    parameter, values : name and values of a parameter of the system, in the order in which they are run
    section : None for the system's own
    stepper, dt : as `simulate` takes them; the scenario's dt where None
    duration : of each run [s]; None: the larger of 10 times the scenario's and 150 periods of a drive
    keep : returns at the end of each run that are kept
    follow : start each run from the end of the one before, to follow an attractor past where it loses its basin
    advance : called with the number of finished runs

    Raises ValueError for a name or number that does not fit; runs that fail are listed, not raised.
    """
    require_scenario(scenario, "a bifurcation diagram")
    system = scenario.system
    if parameter not in system.parameter_names:
        raise ValueError(f"system {system.name!r}: {unknown_name('parameter', parameter, system.parameter_names)}")
    grid = real_array(values, f"values of {parameter} must be numbers, got {values!r}.").ravel()
    if not len(grid) or not np.all(np.isfinite(grid)):
        raise ValueError(f"values of {parameter} must be finite, at least one, got {values!r}.")
    if not (isinstance(keep, int) and keep >= 1):
        raise ValueError(f"keep must be a whole number >= 1, got {keep!r}.")
    for value in (grid.min(), grid.max()):
        system.parameter_vector({**(scenario.params or {}), parameter: float(value)})
    travel, names = translations(scenario), (*system.coordinate_names, *system.velocity_names)
    shifts = {f"shift of {system.coordinate_names[i]}": i for i in travel}
    columns: dict[str, list[Array]] = {key: [] for key in (*names, "period", *shifts)}
    index, failed, start = [], {}, scenario
    for i, value in enumerate(grid):
        here = replace(start, params={**(scenario.params or {}), parameter: float(value)})
        own = section_of(here, section)
        member = run_member(here, own, **run_options(here, own, stepper, dt, duration))
        points = _last(member.points, keep + 1)
        if member.status != "finished" or len(points) < 2:
            why = member.status if member.status != "finished" else f"{len(points)} returns to the section"
            failed[float(value)] = why
        else:
            index += [i] * (len(points) - 1)
            for j, key in enumerate(names):
                columns[key].append(points.x[:-1, j])
            columns["period"].append(points.periods)
            for key, j in shifts.items():
                columns[key].append(np.diff(points.q[:, j]))
            if follow:
                start = _restarted(scenario, member, travel)
        if advance is not None:
            advance(i + 1)
    observed = {key: np.concatenate(parts) if parts else np.zeros(0) for key, parts in columns.items()}
    for i in travel:  # where it is tells nothing, how far it moves does
        del observed[system.coordinate_names[i]]
    return BifurcationDiagram(
        system.name, parameter, grid, str(section_of(scenario, section)), np.array(index, dtype=int), observed, failed,
        {**dict(system.units), "period": "s", **{key: system.units.get(names[i], "") for key, i in shifts.items()}},
    )  # fmt: skip


def run_options(
    scenario: Scenario, section: Section, stepper: Any, dt: float | None, duration: float | None
) -> dict[str, Any]:
    """Step, duration and spacing of records of a member."""
    step = scenario.dt if dt is None else dt
    length = 10.0 * scenario.t_end if duration is None else duration
    every = max(1, round(scenario.t_end / 10.0 / _PER_RETURN / step))
    if isinstance(section, PhaseSection):
        if duration is None:
            length = max(150.0 * section.period, min(length, 400.0 * section.period))
        step = section.period / max(1, round(section.period / step))
        length = round(length / section.period) * section.period + 0.5 * step
        every = 1 if section.period < 4 * _PER_RETURN * step else max(1, round(section.period / step / _PER_RETURN))
    return {"stepper": stepper, "dt": step, "duration": length, "every": every}


def _last(points: SectionPoints, count: int) -> SectionPoints:
    return replace(points, t=points.t[-count:], q=points.q[-count:], u=points.u[-count:])


def _restarted(scenario: Scenario, member: Member, travel: tuple[int, ...]) -> Scenario:
    """The scenario from where a member last passed its section."""
    q, u = member.points.q[-1].copy(), member.points.u[-1].copy()
    q[list(travel)] = scenario.q0[list(travel)]
    return replace(scenario, q0=q, u0=u)


def checked_start(scenario: Scenario, start: Mapping[str, float]) -> Scenario:
    """The scenario with other values of coordinates, velocities and parameters, by name."""
    names = scenario.system.parameter_names
    params = {key: value for key, value in start.items() if key in names}
    state = {key: value for key, value in start.items() if key not in names}
    moved = scenario.starting(state) if state else scenario
    return replace(moved, params={**(scenario.params or {}), **params}) if params else moved
