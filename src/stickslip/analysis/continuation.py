"""Continuation: one limit cycle followed while a parameter changes, past folds, with its bifurcations located.

Pseudo-arclength (Keller 1977): with z the state on the section and a the parameter, both relative to their ranges,

    P(z, a) - z = 0,    tangent . ((z, a) - predicted) = 0

    fold             a real multiplier passes +1        the branch turns around in the parameter
    flip             a real multiplier passes -1        the period doubles
    torus            a complex pair leaves the unit circle (Neimark-Sacker)
    grazing          an impact appears or disappears with closing velocity zero: multipliers jump or blow up there
    border           the slip that follows an impact shrinks to nothing, from there on the impact itself sticks (or the
                     other way round): the branch has a corner, and multipliers jump; where there is no cycle behind,
                     it has met an unstable one (a non-smooth fold)
    switch           the order or number of other events changes (a stick phase appears, say)
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import brentq

from stickslip.analysis.cycle_result import LimitCycle, NoCycle
from stickslip.analysis.guess import Guess
from stickslip.analysis.progress import Progress, reported
from stickslip.analysis.return_map import EventMap, NoReturn, Return, Setting
from stickslip.analysis.saltation import Undefined
from stickslip.analysis.sections import AnySection, with_reset
from stickslip.analysis.shooting import as_cycle, newton, on_contacts
from stickslip.checks import Array, real_number, renamed, unknown_name
from stickslip.events.book import MotionError
from stickslip.events.modes import Mode
from stickslip.laws import ImpactLaw
from stickslip.mechanisms.reset import Reset
from stickslip.scenario import Scenario, require_scenario

_FIRST, _LARGEST, _SMALLEST = 0.02, 0.05, 1e-5  # steps, in ranges of the parameter
_CORRECTIONS = 8
_CHORD = 3  # corrections before dP/da is computed anew
_PARAMETER_STRETCH = 1e-5  # of differences in the parameter, in ranges
_BISECTIONS = 16  # of the last step before events change
_GRAZES = 1e-2  # gaps, closing velocities and slips below this share of what they were count as zero there
_SLIP_ENDS = ("sticks", "slip reverses")
_SHORT = 1e-5  # of the period: a slip that is as good as none
_CORNER = (1e-5, 1e-4, 1e-3, 1e-2)  # ways past a corner of the branch that are tried, in ranges of the parameter


@dataclass(frozen=True, eq=False)
class Special:
    """A bifurcation on a branch: kind, parameter, the multiplier that passes the circle (nan where events change), the
    contact that grazes, how the events change, and the cycle.
    """

    kind: str
    parameter: float
    multiplier: complex
    contact: str
    change: str
    cycle: LimitCycle

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, ready for JSON."""
        number = None if math.isnan(self.multiplier.real) else [self.multiplier.real, self.multiplier.imag]
        return {
            "kind": self.kind,
            "parameter": self.parameter,
            "multiplier": number,
            "contact": self.contact or None,
            "change": self.change or None,
            "period": self.cycle.period,
            "state": self.cycle.x.tolist(),
        }


@dataclass(frozen=True, eq=False)
class Branch:
    """Cycles along a parameter, in the order they were found, and the bifurcations between them.

    Attributes: name, of the parameter; values (n,); cycles; specials; status, how it ended.
    """

    name: str
    values: Array
    cycles: tuple[LimitCycle, ...]
    specials: tuple[Special, ...]
    status: str

    @property
    def stable(self) -> np.ndarray:
        """Which cycles are stable, (n,) bool."""
        return np.array([cycle.stable for cycle in self.cycles])

    def __str__(self) -> str:
        if not len(self.values):
            return f"no cycle over {self.name}: {self.status}"
        span = f"{self.values[0]:.6g} .. {self.values[-1]:.6g}"
        found = [f"{each.kind} at {each.parameter:.6g}" for each in self.specials[:4]] or ["no bifurcation"]
        head = f"{len(self.cycles)} cycles over {self.name} = {span}, {int(self.stable.sum())} stable: {self.status}"
        return "\n  ".join([head, *found])

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, ready for JSON."""
        return {
            "parameter": self.name,
            "status": self.status,
            "points": [
                {
                    "value": float(value),
                    "period": cycle.period,
                    "shift": cycle.shift,
                    "state": cycle.x.tolist(),
                    "multipliers": [[float(m.real), float(m.imag)] for m in cycle.nontrivial],
                    "stable": cycle.stable,
                }
                for value, cycle in zip(self.values, self.cycles, strict=True)
            ],
            "bifurcations": [special.to_dict() for special in self.specials],
        }


@dataclass(frozen=True, eq=False)
class _Point:
    """A cycle during continuation: section state, parameter, return, and the direction of the branch."""

    x: Array
    a: float
    mode: Mode | None
    back: Return
    cycle: LimitCycle


@renamed(most="max_cycles", advance="progress")
def continue_cycle(
    scenario: Scenario,
    parameter: str,
    start: float,
    end: float,
    *,
    section: AnySection | None = None,
    reset: Reset | None = None,
    law: str | ImpactLaw | None = None,
    returns: int | None = None,
    settle_returns: int = 200,
    rtol: float = 1e-11,
    tol: float = 1e-9,
    max_cycles: int = 400,
    largest_step: float = _LARGEST,
    progress: Progress = None,
) -> Branch:
    """Follow the limit cycle of a scenario from one value of a parameter to another, event by event.

    Parameters
    ----------
    parameter, start, end : name and values of a parameter of the system; the scenario settles at `start`
    section, reset, law, returns, settle_returns, rtol, tol : as in `limit_cycle`
    max_cycles : cycles of the branch at most
    largest_step : in (z, a), relative to their ranges
    progress : show a progress bar on stderr, see `analysis.progress`; a function is called with how far the parameter
        is from `start`, after each cycle

    The branch ends at `end`, at `start` again after a fold, or where the cycle disappears, and says which.
    """
    require_scenario(scenario, "continuation")
    system = scenario.system
    if parameter not in system.parameter_names:
        raise ValueError(f"system {system.name!r}: {unknown_name('parameter', parameter, system.parameter_names)}")
    first, last = real_number(start, "start"), real_number(end, "end")
    if first == last:
        raise ValueError(f"start and end of {parameter} must differ, got {first:g} twice.")
    if not 1e-4 <= real_number(largest_step, "largest_step") <= 1.0:
        raise ValueError(f"largest_step must lie between 1e-4 and 1, got {largest_step:g}.")
    setting = Setting.of(with_reset(scenario, reset), section, law).with_parameter(parameter, first)
    setting.with_parameter(parameter, last)
    with reported(progress if progress is None or progress is True else False, "settling") as tell:
        guess = Guess.of(setting, returns, settle_returns, "moreau-midpoint", rtol, tell)
    event_map = EventMap(setting, guess.returns, rtol, guess.horizon)
    walk = _Walk(event_map, parameter, (first, last), guess.scale, tol, largest_step)
    with reported(progress, f"{parameter} from {first:g} to {last:g}", abs(last - first)) as report:
        return walk.run(guess, max_cycles, lambda value: report(abs(value - first)))


class _Walk:
    """The state of a continuation."""

    def __init__(
        self, event_map: EventMap, name: str, ends: tuple[float, float], scale: Array, tol: float, largest: float
    ) -> None:
        self.map, self.name, self.ends, self.scale, self.tol, self.largest = event_map, name, ends, scale, tol, largest
        self.width = abs(ends[1] - ends[0])
        self.specials: list[Special] = []
        self.slope = np.zeros(len(scale))

    def run(self, guess: Guess, most: int, advance: Callable[[float], None]) -> Branch:
        x, mode, back, _ = newton(self.map, *on_contacts(self.map, guess), self.scale, self.tol, lambda line: None)
        points = [self._point(x, self.ends[0], mode, back)]
        direction = self._tangent(points[0], None)
        step, status = min(_FIRST, self.largest), f"{most} cycles"
        while len(points) < most:
            here = points[-1]
            try:
                there = self._correct(here, direction, step)
            except (NoCycle, Undefined):
                there = None
            if there is None or there.back.signature != here.back.signature:
                if step > _SMALLEST * 64.0 and there is None:
                    step *= 0.5
                    continue
                last, special = self._change_of_events(here, there, direction, step)
                self.specials.append(special)
                if last is not here:
                    points.append(last)
                if there is None:
                    there, direction = self._past_corner(last, direction)
                    if there is None:
                        self.specials[-1] = special = self._at_border(special, last)
                        status = f"the cycle ends at {self.name} = {special.parameter:.9g} ({special.kind})"
                        break
                    step = min(_FIRST, self.largest)
                else:
                    direction = self._tangent(there, direction)
                self.specials[-1] = self._with_change(special, last, there)
                points.append(there)  # it goes on behind, with other events
                advance(there.a)
                continue
            self._locate(here, there, direction, step)
            inside = min(self.ends) - 1e-12 * self.width <= there.a <= max(self.ends) + 1e-12 * self.width
            if not inside:
                edge = max(self.ends) if there.a > max(self.ends) else min(self.ends)
                try:
                    points.append(self._between(here, there, edge))
                    status = f"reached {self.name} = {edge:g}"
                except (NoCycle, Undefined) as problem:
                    status = f"the last cycle is at {self.name} = {here.a:.9g}; at {edge:g} itself: {problem}"
                break
            points.append(there)
            advance(there.a)
            direction = self._tangent(there, direction)
            step = min(1.4 * step, self.largest)
        values = np.array([point.a for point in points])
        return Branch(self.name, values, tuple(point.cycle for point in points), tuple(self.specials), status)

    def _point(self, x: Array, a: float, mode: Mode | None, back: Return) -> _Point:
        return _Point(x, a, mode, back, as_cycle(self.map.at(self.name, a), x, mode, back, self.scale, 0, math.nan))

    # -- predictor and corrector -----------------------------------------------------------------------------

    def _linear(self, x: Array, mode: Mode | None, back: Return) -> tuple[Array, Array, Array]:
        """B (2 f, r), its inverse, and A = DP - I in the coordinates of B (r, r)."""
        assert back.DP is not None
        B = self.map.setting.basis(x, mode or back.mode, self.scale)
        inverse = np.asarray(np.linalg.pinv(B), dtype=float)
        return B, inverse, inverse @ back.DP @ B - np.eye(B.shape[1])

    def _slope(self, x: Array, a: float, mode: Mode | None) -> Array:
        """dP/da (2 f,) in ranges of the parameter, by central differences."""
        step = _PARAMETER_STRETCH * self.width
        try:
            ahead, behind = (self.map.at(self.name, a + s * step)(x, mode, False).x for s in (1.0, -1.0))
        except (NoReturn, MotionError, ValueError) as problem:
            raise NoCycle(str(problem)) from None
        return np.asarray(self.map.setting.difference(ahead, behind) / (2.0 * _PARAMETER_STRETCH))

    def _tangent(self, point: _Point, before: Array | None) -> Array:
        """Unit vector (dx / scale, da / width) along the branch, on from `before`, or towards the far end."""
        B, inverse, A = self._linear(point.x, point.mode, point.back)
        self.slope = self._slope(point.x, point.a, point.mode)
        slope = inverse @ self.slope
        _, _, V = np.linalg.svd(np.column_stack([A, slope]))
        tangent = np.append(B @ V[-1, :-1] / self.scale, V[-1, -1])
        tangent /= np.linalg.norm(tangent)
        towards = self.ends[1] - self.ends[0]
        sign = np.sign(tangent[-1] * towards) if before is None else np.sign(tangent @ before)
        return np.asarray(tangent * (sign or 1.0))

    def _correct(self, here: _Point, direction: Array, step: float) -> _Point:
        """The cycle at a distance along the branch; raises `NoCycle` or `Undefined`."""
        setting = self.map.setting
        predicted = np.append(here.x / self.scale, here.a / self.width) + step * direction
        x, a = predicted[:-1] * self.scale, float(predicted[-1] * self.width)
        slope = self.slope  # that of the last cycle is good enough to converge, mostly
        for correction in range(_CORRECTIONS):
            back = self._follow(x, a, here.mode)
            gap = setting.difference(back.x, x)
            off = float(direction @ (np.append(x / self.scale, a / self.width) - predicted))
            if np.abs(gap / self.scale).max() <= self.tol and abs(off) <= self.tol:
                return self._point(x, a, here.mode, back)
            if correction == _CHORD:
                slope = self._slope(x, a, here.mode)
            B, inverse, A = self._linear(x, here.mode, back)
            border = np.append(direction[:-1] @ (B / self.scale[:, None]), direction[-1])
            matrix = np.vstack([np.column_stack([A, inverse @ slope]), border])
            d = np.linalg.lstsq(matrix, -np.append(inverse @ gap, off), rcond=1e-13)[0]
            if not np.linalg.norm(d) < 10.0:
                break
            x = x + B @ d[:-1] + (gap - B @ (inverse @ gap))
            a += float(d[-1]) * self.width
        raise NoCycle(f"no cycle near {self.name} = {a:g}")

    def _follow(self, x: Array, a: float, mode: Mode | None) -> Return:
        try:
            return self.map.at(self.name, a)(x, mode)
        except (NoReturn, MotionError, ValueError) as problem:  # also parameters out of range
            raise NoCycle(str(problem)) from None

    def _between(self, here: _Point, there: _Point, a: float) -> _Point:
        """The cycle at a value between those of two known ones; raises `NoCycle` or `Undefined`."""
        try:
            return self._at_value(here, a)
        except NoCycle:
            share = (a - here.a) / (there.a - here.a)
            return self._at_value(here, a, here.x + share * self.map.setting.difference(there.x, here.x))

    def _at_value(self, here: _Point, a: float, guess: Array | None = None) -> _Point:
        """The cycle at a given value, next to a known one; raises `NoCycle` or `Undefined`."""
        event_map, x = self.map.at(self.name, a), here.x if guess is None else guess
        x, mode, back, _ = newton(event_map, x, here.mode, self.scale, self.tol, lambda line: None)
        return self._point(x, a, mode, back)

    # -- bifurcations ----------------------------------------------------------------------------------------

    def _locate(self, here: _Point, there: _Point, direction: Array, step: float) -> None:
        """Find the folds, flips and tori between two cycles with the same events."""
        for kind, test in _TESTS.items():
            a, b = test(here.cycle.nontrivial), test(there.cycle.nontrivial)
            if not a * b < 0.0:
                continue

            def value(length: float, test: Callable[[Array], float] = test) -> float:
                return test(self._correct(here, direction, length).cycle.nontrivial)

            try:
                root = brentq(lambda s: a if s == 0.0 else value(s), 0.0, step, xtol=1e-9 * step)  # noqa: B023
                found = self._correct(here, direction, float(root))
            except (NoCycle, Undefined):
                continue
            critical = _critical(kind, found.cycle.nontrivial)
            self.specials.append(Special(kind, found.a, critical, "", "", found.cycle))

    def _change_of_events(
        self, here: _Point, there: _Point | None, direction: Array, step: float
    ) -> tuple[_Point, Special]:
        """The last cycle with the same events as `here`, by bisection, and what happens behind it."""
        low, high, last, before = 0.0, step, here, here
        behind = there
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            try:
                point: _Point | None = self._correct(here, direction, middle)
            except (NoCycle, Undefined):
                point = None
            if point is not None and point.back.signature == here.back.signature:
                low, before, last = middle, last, point
            else:
                high, behind = middle, point or behind
        contact, value = self._graze(here, before, last)
        if behind is not None:  # events change there: what is extrapolated may not leave the bracket
            room = 2.0 * (high - low) * self.width
            value = float(np.clip(value, last.a - room, last.a + room))
        kind = "grazing" if contact else "switch"
        return last, Special(kind, value, complex(math.nan, math.nan), contact, self._change(last, behind), last.cycle)

    def _past_corner(self, last: _Point, direction: Array) -> tuple[_Point | None, Array]:
        """The first cycle with other events behind a corner, if any, and the direction of the branch there.

        A branch may turn by more than a right angle where an event changes: no plane across its old direction meets it
        any more.  The parameter is therefore given, a little further on.
        """
        sense = float(np.sign(direction[-1])) or 1.0
        for way in (sense * w for w in _CORNER):
            try:
                there = self._at_value(last, last.a + way * self.width)
            except (NoCycle, Undefined):
                continue
            if there.back.signature != last.back.signature:
                ahead = np.append((there.x - last.x) / self.scale, (there.a - last.a) / self.width)
                return there, self._tangent(there, ahead)
        return None, direction

    def _with_change(self, special: Special, last: _Point, there: _Point) -> Special:
        """A special point with the change of events across it; a border where the slip after an impact vanishes."""
        kind, contact = special.kind, special.contact
        change = self._change(last, there) if special.change in ("", "no cycle behind") else special.change
        if kind == "switch":
            short = self._short_slip(last) or self._short_slip(there)
            kind, contact = ("border", short) if short else (kind, contact)
        return replace(special, kind=kind, contact=contact, change=change)

    def _at_border(self, special: Special, last: _Point) -> Special:
        """A special point as a border where an impact of the last cycle lies between slip and stick."""
        names = self.map.setting.scenario.system.contact_names
        between = [switch for switch in last.back.switches if switch.one_sided and switch.closes]
        if special.kind != "switch" or not between:
            return special
        return replace(special, kind="border", contact=names[between[0].closes[0]])

    def _short_slip(self, point: _Point) -> str:
        """The contact whose slip ends right behind its impact, "" where there is none."""
        switches, names = point.back.switches, self.map.setting.scenario.system.contact_names
        for impact, after in pairwise(switches):
            same = set(impact.closes) & {k for k, _ in after.slots}
            if after.kind in _SLIP_ENDS and same and after.t - impact.t < _SHORT * point.back.period:
                return names[min(same)]
        return ""

    def _graze(self, first: _Point, before: _Point, last: _Point) -> tuple[str, float]:
        """The contact whose gap, or closing velocity, has come down to zero, and the parameter where it does."""
        names = self.map.setting.scenario.system.contact_names
        closest = int(np.argmin(last.back.grazes)) if len(names) else 0
        gaps = [float(point.back.grazes[closest]) if len(names) else math.inf for point in (first, before, last)]
        if gaps[2] < _GRAZES * gaps[0]:
            return names[closest], _root((before.a, gaps[1]), (last.a, gaps[2]))
        impacts = [[switch for switch in p.back.switches if switch.kind == "impact"] for p in (first, before, last)]
        if impacts[2]:
            i = int(np.argmin([switch.speed for switch in impacts[2]]))
            speeds = [rows[i].speed for rows in impacts]
            if speeds[2] < _GRAZES * speeds[0]:  # its square goes to zero in proportion to the distance
                return names[impacts[2][i].closes[0]], _root((before.a, speeds[1] ** 2), (last.a, speeds[2] ** 2))
        return "", last.a

    def _change(self, last: _Point, behind: _Point | None) -> str:
        """Which events disappear and which appear, in words."""
        if behind is None:
            return "no cycle behind"
        names = self.map.setting.scenario.system.contact_names

        def words(point: _Point) -> list[str]:
            rows = point.back.signature
            return [f"{' and '.join(names[k] for k, _ in slots)}: {kind}" for kind, slots in rows]

        changes = [line for line in difflib.ndiff(words(last), words(behind)) if line[0] in "+-"]
        return ", ".join(changes)


def _root(first: tuple[float, float], last: tuple[float, float]) -> float:
    """Where the line through two points (a, value) is zero; the second where it does not fall."""
    (a, v), (b, w) = first, last
    return b - w * (b - a) / (w - v) if v > w and a != b else b


def _fold(multipliers: Array) -> float:
    return float(np.prod(multipliers - 1.0).real)


def _flip(multipliers: Array) -> float:
    return float(np.prod(multipliers + 1.0).real)


def _torus(multipliers: Array) -> float:
    """Positive while the largest complex pair is inside; a constant where there is none."""
    pairs = multipliers[np.abs(multipliers.imag) > 1e-9 * np.abs(multipliers)]
    return 1.0 - float(np.abs(pairs).max()) if len(pairs) else 1.0


_TESTS: dict[str, Callable[[Array], float]] = {"fold": _fold, "flip": _flip, "torus": _torus}


def _critical(kind: str, multipliers: Array) -> complex:
    """The multiplier on the unit circle."""
    target = {"fold": 1.0, "flip": -1.0}.get(kind)
    distance = np.abs(multipliers - target) if target is not None else np.abs(np.abs(multipliers) - 1.0)
    return complex(multipliers[int(np.argmin(distance))])
