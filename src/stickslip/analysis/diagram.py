"""Bifurcation diagrams by brute force: what a motion does on its section once it has settled, over a parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stickslip.analysis.members import Member, MemberOptions, changed, members, run_member
from stickslip.analysis.poincare import SectionPoints, translations
from stickslip.analysis.progress import Progress, reported
from stickslip.analysis.sections import AnySection, reset_of, section_of, section_words, with_reset
from stickslip.checks import Array, renamed, unknown_name
from stickslip.ensembles.plan import axis_values
from stickslip.mechanisms.reset import Reset
from stickslip.scenario import Scenario, require_scenario


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

    def __repr__(self) -> str:
        values = f"{len(self.values)} values of {self.name}"
        if len(self.values):
            values += f" from {self.values[0]:.6g} to {self.values[-1]:.6g}"
        failed = f", {len(self.failed)} without a return" if self.failed else ""
        return (
            f"<BifurcationDiagram of {self.system!r}: {values}, {len(self.index)} points of "
            f"{', '.join(self.observed)}{failed}; section: {self.section}>"
        )

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, ready for JSON."""
        return {
            "system": self.system,
            "parameter": self.name,
            "section": self.section,
            "value": self.values[self.index].tolist(),
            "observed": {key: column.tolist() for key, column in self.observed.items()},
            "failed": {f"{key:.12g}": why for key, why in self.failed.items()},
        }


@renamed(duration="t_end", keep="points", advance="progress")
def bifurcation(
    scenario: Scenario,
    parameter: str,
    values: Any,
    *,
    section: AnySection | None = None,
    reset: Reset | None = None,
    stepper: Any = "moreau-midpoint",
    dt: float | None = None,
    t_end: float | None = None,
    points: int = 40,
    follow: bool = False,
    device: str | None = None,
    progress: Progress = None,
) -> BifurcationDiagram:
    """Run a scenario at every value of a parameter and keep the last returns to its section.

    Parameters
    ----------
    parameter, values : name of a parameter of the system, and its values as `ensemble` takes them: an array, or text
        such as "0.2:0.4:101"
    section : an object or text, see `analysis.sections`; None for the system's own
    reset : new names for coordinates after each return, for walkers and wheels; None: the scenario's own
    follow : start each run from the end of the one before, to follow an attractor past where it loses its basin
    stepper, dt : as `simulate` takes them; the scenario's dt where None
    t_end : of each run [s]; None: ten times the scenario's, or 150 to 400 periods of a drive
    points : returns at the end of each run that are kept
    device : None: one after the other in this process; else an `ensemble` on "cpu" (all cores), "gpu", "dask:ADDRESS"
    progress : show a progress bar on stderr, see `analysis.progress`; a function is called with the number of runs

    Raises ValueError for a name or number that does not fit; runs that fail are listed, not raised.
    """
    require_scenario(scenario, "a bifurcation diagram")
    scenario = with_reset(scenario, reset)
    system = scenario.system
    if parameter not in system.parameter_names:
        raise ValueError(f"system {system.name!r}: {unknown_name('parameter', parameter, system.parameter_names)}")
    chosen = MemberOptions(stepper, dt, t_end, points, device, None if progress is None else progress is True)
    chosen = replace(chosen, points=points + 1)  # n returns lie between n + 1 points
    grid = axis_values(parameter, values)
    for value in (grid.min(), grid.max()):
        system.parameter_vector({**(scenario.params or {}), parameter: float(value)})
    runs: list[tuple[float, Member]] = []
    with reported(progress, f"{len(grid)} runs", len(grid)) as report:
        for run in _runs(scenario, parameter, grid, section, chosen, follow, report):
            runs.append(run)
    return _diagram(scenario, parameter, grid, section, runs)


def _diagram(
    scenario: Scenario, parameter: str, grid: Array, section: AnySection | None, runs: list[tuple[float, Member]]
) -> BifurcationDiagram:
    """The points of all members over the parameter."""
    system, travel = scenario.system, translations(scenario)
    names = (*system.coordinate_names, *system.velocity_names)
    shifts = {f"shift of {system.coordinate_names[i]}": i for i in travel}
    columns: dict[str, list[Array]] = {key: [] for key in (*names, "period", *shifts)}
    index: list[int] = []
    failed: dict[float, str] = {}
    for i, (value, member) in enumerate(runs):
        points = member.points
        if member.status != "finished" or len(points) < 2:
            why = member.status if member.status != "finished" else f"{len(points)} returns to the section"
            failed[value] = why
            continue
        index += [i] * (len(points) - 1)
        for j, key in enumerate(names):
            columns[key].append(points.x[:-1, j])
        columns["period"].append(points.periods)
        for key, j in shifts.items():
            columns[key].append(np.diff(points.q[:, j]))
    observed = {key: np.concatenate(parts) if parts else np.zeros(0) for key, parts in columns.items()}
    for i in travel:  # where it is tells nothing, how far it moves does
        del observed[system.coordinate_names[i]]
    words = section_words(scenario, section_of(scenario, section), reset_of(scenario, section))
    return BifurcationDiagram(
        system.name, parameter, grid, words, np.array(index, dtype=int), observed, failed,
        {**dict(system.units), "period": "s", **{key: system.units.get(names[i], "") for key, i in shifts.items()}},
    )  # fmt: skip


def _runs(
    scenario: Scenario, parameter: str, grid: Array, section: AnySection | None, options: MemberOptions, follow: bool,
    report: Callable[[int], None],
) -> Iterator[tuple[float, Member]]:  # fmt: skip
    """Each value with its member."""
    if not follow:
        found = members(scenario, {parameter: grid}, section, options, report)
        yield from ((float(value), member) for value, (_, member) in zip(grid, found, strict=True))
        return
    start, travel = scenario, translations(scenario)
    for i, value in enumerate(grid, 1):
        here = changed(start, {parameter: float(value)})
        member = run_member(here, section, options)
        if member.status == "finished" and len(member.points):
            start = _restarted(scenario, member.points, travel)
        yield float(value), member
        report(i)


def _restarted(scenario: Scenario, points: SectionPoints, travel: tuple[int, ...]) -> Scenario:
    """The scenario from where a member last passed its section."""
    q, u = points.q[-1].copy(), points.u[-1].copy()
    q[list(travel)] = scenario.q0[list(travel)]
    return replace(scenario, q0=q, u0=u)
