"""Basins of attraction: on which attractor a motion ends, over a grid of starts.

Every start is run until it has passed its section often enough; the last returns tell what it does:

    cycle        the section's states recur after n returns: told apart by period, shift per cycle and section state
    rest         it comes to rest
    runs away    it gets faster and faster without passing the section
    elsewhere    it goes on within bounds, but passes the section no more
    irregular    it keeps returning, without recurrence

A start that arrives late looks like something of its own before it settles.  Cycles, irregular and escaping motions
with less than RARE of the starts are therefore run on, two and four times as long, and counted where they then are.

A time stepper's cycle may close to the tolerance only after several rounds.  The judge finds the fewest returns after
which a cycle is back, and attractors whose cycles then coincide, at whatever passage, are one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from stickslip.analysis.cycle_result import LimitCycle, NoCycle
from stickslip.analysis.limit_cycle import limit_cycle
from stickslip.analysis.members import Member, MemberOptions, changed, members
from stickslip.analysis.poincare import translations
from stickslip.analysis.progress import Progress, reported
from stickslip.analysis.return_map import NoReturn, Setting
from stickslip.analysis.saltation import Undefined
from stickslip.analysis.same_cycle import Passages, shortest
from stickslip.analysis.sections import AnySection, section_of
from stickslip.checks import Array, counted, renamed, unknown_name
from stickslip.ensembles.plan import axis_values
from stickslip.events.book import MotionError
from stickslip.scenario import Scenario, require_scenario

CYCLE, REST, AWAY, ELSEWHERE, IRREGULAR, FAILED = "cycle", "rest", "runs away", "elsewhere", "irregular", "failed"
RARE = 0.01
_TRANSIENT = (CYCLE, IRREGULAR, AWAY)  # what a motion may seem to do before it settles
_LONGER = (2.0, 4.0)
_LAST = 24  # returns that are looked at
_SHOWN = 8  # attractors in the text of a map
_MOST_RETURNS = 12  # per cycle


@dataclass(eq=False)
class Attractor:
    """Where starts end.

    Attributes
    ----------
    kind : "cycle", "rest", "runs away", "elsewhere", "irregular" or "failed"
    returns : passages of the section per cycle, 0 where it is none
    period, shift : of the time stepper's motion, means over the last cycles
    state : mean state at one of its passages, (2 f,)
    start : a start that ends here, values by name
    share : of the starts
    cycle : the limit cycle by event-driven shooting, once confirmed; verdict : what the judge says
    """

    kind: str
    returns: int = 0
    period: float = np.nan
    shift: dict[str, float] = field(default_factory=dict)
    state: Array = field(default_factory=lambda: np.zeros(0))
    start: dict[str, float] = field(default_factory=dict)
    share: float = 0.0
    cycle: LimitCycle | None = None
    verdict: str = "not confirmed"

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, ready for JSON."""
        return {
            "kind": self.kind,
            "returns": self.returns,
            "period": None if np.isnan(self.period) else self.period,
            "shift": self.shift,
            "state": self.state.tolist(),
            "start": self.start,
            "share": self.share,
            "verdict": self.verdict,
            "judged": None if self.cycle is None else self.cycle.to_dict(),
        }

    def with_fewer(self, returns: int) -> None:
        """Count a cycle that was run through several times once."""
        times, self.returns = self.returns // returns, returns
        self.period /= times
        self.shift = {name: value / times for name, value in self.shift.items()}

    def __str__(self) -> str:
        return self.words({})

    def words(self, units: Mapping[str, str]) -> str:
        """One line; shifts with their units where these are given."""
        if self.kind != CYCLE:
            return f"{self.kind}, {100 * self.share:.1f} % of the starts"
        moves = "".join(
            f", {name} {value:+.5g}{' ' + units[name] if units.get(name) else ''}" for name, value in self.shift.items()
        )
        return f"cycle of {self.returns}, period {self.period:.6g} s{moves}, {100 * self.share:.1f} % of the starts"


@dataclass(frozen=True, eq=False, repr=False)
class BasinMap:
    """Attractors over a grid of starts.

    Attributes: names and axes, of what is varied; labels, number of the attractor at every grid point, shape of the
    grid; attractors, most frequent first.
    """

    system: str
    names: tuple[str, ...]
    axes: tuple[Array, ...]
    labels: np.ndarray
    attractors: tuple[Attractor, ...]
    units: dict[str, str]

    def __repr__(self) -> str:
        grid = ", ".join(f"{name} {len(axis)}" for name, axis in zip(self.names, self.axes, strict=True))
        few = self.attractors[:_SHOWN]
        lines = [
            f"basins of {self.system}: {self.labels.size} starts ({grid}), {counted(len(self.attractors), 'attractor')}"
        ]
        lines += [f"  {number}: {attractor.words(self.units)}" for number, attractor in enumerate(few)]
        return "\n".join(lines + [f"  ... {len(self.attractors) - len(few)} more"] * (len(self.attractors) > len(few)))

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, ready for JSON."""
        return {
            "system": self.system,
            "axes": {name: axis.tolist() for name, axis in zip(self.names, self.axes, strict=True)},
            "labels": self.labels.tolist(),
            "attractors": [attractor.to_dict() for attractor in self.attractors],
        }


@renamed(duration="t_end", advance="progress", tell="progress")
def basins(
    scenario: Scenario,
    vary: Mapping[str, Any],
    *,
    section: AnySection | None = None,
    tol: float = 0.03,
    confirm: bool = False,
    stepper: Any = "moreau-midpoint",
    dt: float | None = None,
    t_end: float | None = None,
    device: str | None = None,
    progress: Progress = None,
) -> BasinMap:
    """Run a scenario from every start of a grid and tell the attractors apart.

    Parameters
    ----------
    vary : values of coordinates, velocities or parameters by name, arrays or text such as "-1:1:41"; the grid is their
        product.  Starts that penetrate a contact are taken as they are: the contact is closed
    section, stepper, dt, t_end, device : as in `bifurcation`
    tol : cycles whose period, shift or section state differ by more than this, relative, are different
    confirm : judge every cycle by event-driven shooting from where it was found: `Attractor.cycle`; those that turn
        out to be the same are one attractor then
    progress : show a progress bar on stderr, see `analysis.progress`; a function is called with the number of finished
        runs, and then with lines: late starts that run on, cycles that are judged
    """
    require_scenario(scenario, "a map of basins")
    if not vary:
        raise ValueError("vary must name at least one coordinate, velocity or parameter.")
    system = scenario.system
    known = (*system.coordinate_names, *system.velocity_names, *system.parameter_names)
    for name in vary:
        if name not in known:
            raise ValueError(f"vary: {unknown_name('coordinate, velocity or parameter', name, known)}")
    axes = tuple(axis_values(name, values) for name, values in vary.items())
    options = MemberOptions(stepper, dt, t_end, _LAST, device, None if progress is None else progress is True)
    grid = dict(zip(vary, axes, strict=True))
    starts = [dict(zip(vary, map(float, values), strict=True)) for values in product(*axes)]
    with reported(progress, f"{len(starts)} starts", len(starts)) as report:
        sorter = _Sorter(scenario, section, options, tol, report)
        runs = members(scenario, grid, section, options, report)
        labels = [
            sorter.label(sorter.outcome(here, member, start))
            for start, (here, member) in zip(starts, runs, strict=True)
        ]
        for longer in _LONGER:
            labels = sorter.run_on(starts, labels, longer)
        numbers, chosen = _by_share(np.array(labels), sorter.found)
        if confirm:
            numbers, chosen = _by_share(_judged(scenario, section, chosen, report)[numbers], chosen)
    shape = tuple(len(axis) for axis in axes)
    return BasinMap(system.name, tuple(vary), axes, numbers.reshape(shape), tuple(chosen), dict(system.units))


def _by_share(numbers: np.ndarray, found: list[Attractor]) -> tuple[np.ndarray, list[Attractor]]:
    """Numbers and attractors, the most frequent first, without those that no start ends on."""
    counts = np.bincount(numbers, minlength=len(found))
    order = np.argsort(-counts, kind="stable")
    for attractor, count in zip(found, counts, strict=True):
        attractor.share = float(count / len(numbers))
    return np.argsort(order)[numbers], [found[k] for k in order if counts[k]]


def _judged(
    scenario: Scenario, section: AnySection | None, found: list[Attractor], report: Callable[[str], None]
) -> np.ndarray:
    """Judge the attractors; returns for each the number of the first attractor with its confirmed cycle, or its own."""
    cycles: list[Passages | None] = []
    first = np.arange(len(found))
    for k, attractor in enumerate(found):
        report(f"judging outcome {k + 1} of {len(found)}")
        here = judge(scenario, attractor, section)
        if here is not None:
            first[k] = next((i for i, there in enumerate(cycles) if there is not None and there.coincides(here)), k)
        cycles.append(here)
    return first


@dataclass(eq=False)
class _Sorter:
    """Tells the attractors apart that starts end on: `found`, in the order in which they turn up."""

    scenario: Scenario
    section: AnySection | None
    options: MemberOptions
    tol: float
    report: Callable[[str], None]
    found: list[Attractor] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.travel = translations(self.scenario)

    def outcome(self, here: Scenario, member: Member, start: dict[str, float]) -> Attractor:
        return _attractor(here, member, start, self.travel, self.tol)

    def label(self, outcome: Attractor) -> int:
        return _label(self.found, outcome, self.tol)

    def run_on(self, starts: list[dict[str, float]], labels: list[int], longer: float) -> list[int]:
        """The labels after rare outcomes that need not last have been run `longer` times as long."""
        counts = np.bincount(labels, minlength=len(self.found))
        rare = {
            k
            for k, attractor in enumerate(self.found)
            if attractor.kind in _TRANSIENT and counts[k] < RARE * len(labels)
        }
        late = [i for i, label in enumerate(labels) if label in rare]
        if not late:
            return labels
        vary = {name: np.array([starts[i][name] for i in late]) for name in starts[0]}
        t_end = longer * self.options.length(self.scenario, section_of(self.scenario, self.section))
        options = replace(self.options, t_end=t_end)
        after = list(labels)

        def advance(done: int) -> None:
            self.report(f"late starts run on, {longer:g} times as long: {done} of {len(late)}")

        if options.device is None:  # on a device they have a bar of their own
            advance(0)
        runs = members(self.scenario, vary, self.section, options, advance, paired=True)
        for i, (here, member) in zip(late, runs, strict=True):
            outcome = self.outcome(here, member, starts[i])
            after[i] = self.label(outcome)
            if after[i] == labels[i]:
                self.found[after[i]] = outcome  # it stays, and is known better
        return after


def judge(scenario: Scenario, attractor: Attractor, section: AnySection | None = None) -> Passages | None:
    """Confirm a cycle by event-driven shooting from its state on the section; `verdict` says what came out.

    The cycle counts with the fewest returns that close it, and so does the attractor then.  Returned where it is
    confirmed: the cycle on its section.
    """
    if attractor.kind != CYCLE:
        attractor.verdict = "no cycle to judge"
        return None
    f = scenario.system.n_dof
    names = (*scenario.system.coordinate_names, *scenario.system.velocity_names)
    params = {key: value for key, value in attractor.start.items() if key not in names}
    here = changed(scenario, {**params, **dict(zip(names, attractor.state[: 2 * f].tolist(), strict=True))})
    try:
        cycle = limit_cycle(
            here, section=section, returns=attractor.returns, settle_returns=4 * attractor.returns, progress=False
        )
        found = shortest(Setting.of(here, section), cycle)
    except (NoCycle, NoReturn, Undefined, MotionError) as problem:
        attractor.verdict = f"not found by the judge: {problem}"
        return None
    cycle = attractor.cycle = found.cycle
    attractor.with_fewer(cycle.returns)
    error = abs(cycle.period - attractor.period) / cycle.period
    if error >= 0.05:
        attractor.verdict = f"the judge finds another cycle, period {cycle.period:.6g} s"
        return None
    attractor.verdict = f"{cycle.stability} by the judge, periods differ by {error:.1e}"
    return found


def _attractor(
    scenario: Scenario, member: Member, start: dict[str, float], travel: tuple[int, ...], tol: float
) -> Attractor:
    """The attractor in which one member of the grid ends."""
    f, points = scenario.system.n_dof, member.points
    if member.status != "finished":
        return Attractor(FAILED, start=start, verdict=member.status)
    if len(points) < 4 or points.t[-1] < member.t - 3.0 * float(points.periods.max(initial=0.0)):
        return Attractor(_without_returns(scenario, member), start=start, state=member.final)
    x, t = points.x[-_LAST:].copy(), points.t[-_LAST:]
    shifts = {scenario.system.coordinate_names[i]: x[:, i].copy() for i in travel}
    x[:, list(travel)] = 0.0
    scale = np.maximum(np.abs(x).max(axis=0), 1e-6 * np.abs(x).max())
    for n in range(1, min(_MOST_RETURNS, len(x) // 2) + 1):
        if np.abs((x[n:] - x[:-n]) / scale).max() < tol:
            cycles = (len(t) - 1) // n
            span = cycles * n
            place = int(np.argmin(x[-n:, f:].sum(axis=1)))  # the same passage for every member
            return Attractor(
                CYCLE,
                n,
                float((t[-1] - t[-1 - span]) / cycles),
                {key: float((v[-1] - v[-1 - span]) / cycles) for key, v in shifts.items()},
                x[len(x) - n + place :: -n].mean(axis=0),
                start,
            )
    return Attractor(IRREGULAR, start=start, state=x[-1], period=float(np.diff(t).mean()))


def _without_returns(scenario: Scenario, member: Member) -> str:
    """Words for a motion that no longer passes its section, from the second half of its run.

    It runs away if it moves one way at nearly its largest speed all the time, and comes to an end faster than ever.
    """
    f = scenario.system.n_dof
    speeds = np.maximum(np.abs(member.least[f:]), np.abs(member.largest[f:]))
    way, fastest = (member.largest - member.least)[:f], int(np.argmax(speeds))
    usual = max(float(np.abs(scenario.u0).max()), float(np.abs(member.points.u).max(initial=0.0)), 1e-9)
    if speeds[fastest] <= 1e-6 * usual:
        return REST
    forth = way >= 0.3 * speeds * 0.5 * member.t
    last = np.abs(member.final[f:]) >= 0.9 * speeds
    return AWAY if np.any(forth & last & (speeds > usual)) else ELSEWHERE


def _label(found: list[Attractor], new: Attractor, tol: float) -> int:
    """Number of the attractor that a new one is; appended where it is not known yet."""
    for k, old in enumerate(found):
        if old.kind != new.kind or old.returns != new.returns:
            continue
        if new.kind != CYCLE:
            return k
        scale = np.maximum(np.abs(old.state), 1e-2 * np.abs(old.state).max())
        near = [abs(old.period - new.period) / old.period, *np.abs((old.state - new.state) / scale)]
        near += [abs(old.shift[key] - new.shift[key]) / max(abs(old.shift[key]), 1e-12) for key in old.shift]
        if max(near) < 2.0 * tol:
            return k
    found.append(new)
    return len(found) - 1
