"""Smooth arcs: the motion in one mode, integrated with dense output and searched for the event that ends it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from stickslip.checks import Array
from stickslip.events.looks import PARTS, Looks, root_between
from stickslip.events.modes import Mode
from stickslip.events.searching import searched_step

SAMPLES = PARTS  # looks at the indicators in every step of the integrator
SIMULTANEOUS = 1e-12  # events closer than this share of the run are one
_NEARLY = 0.3  # of what an indicator changes by between two samples: how near to zero it must come to be looked at


@dataclass(frozen=True, eq=False)
class Stand:
    """Where an integration stands between two steps: all that decides the next one.

    Attributes: t, y, its derivative, the length to try next [s]; armed, grazes of the `Watch`.
    """

    t: float
    y: Array
    rate: Array
    length: float
    armed: np.ndarray
    grazes: int


@dataclass(frozen=True, eq=False)
class Arc:
    """One step of the integrator: the motion in one mode from t_A to t_E, as a function of time.

    `vector(t)` is y of the template `smooth` at one time, or one row per time; `f` coordinates; `stand`,
    before the step.
    """

    t_A: float
    t_E: float
    mode: Mode
    f: int
    dense: Callable[[Any], Array]
    stand: Stand

    def vector(self, t: Any) -> Array:
        return self.dense(t).T

    def state(self, t: Any) -> tuple[Array, Array]:
        """Coordinates and velocities at t, shape (f,); or (k, f) at k times."""
        y = self.vector(t)
        return y[..., : self.f], y[..., self.f : 2 * self.f]

    def crossings(self, value: Callable[[Array, Array], float], rising: bool = False) -> list[float]:
        """Times in the arc at which value(q, u) falls (or rises) through zero: a section."""
        return crossings(self.state, (self.t_A, self.t_E), value, rising)


def crossings(
    state: Callable[[float], tuple[Array, Array]],
    ends: tuple[float, float],
    value: Callable[[Array, Array], float],
    rising: bool,
) -> list[float]:
    """Times between two ends at which value(*state(t)) falls (or rises) through zero."""
    t, sign = np.linspace(*ends, SAMPLES + 1), -1.0 if rising else 1.0

    def at(time: float) -> float:
        return sign * value(*state(time))

    v = [at(time) for time in t]
    return [root_between(at, t[i], t[i + 1]) for i in range(SAMPLES) if v[i] > 0.0 >= v[i + 1]]


def _low_samples(v: Array) -> list[int]:
    """Samples next to which an indicator v (k,) may be below zero, by the parabola through three of them."""
    middle = np.clip(np.arange(len(v)), 1, len(v) - 2)
    own = np.arange(len(v)) - middle  # -1 at the first sample, 1 at the last
    left, here, right = v[middle - 1], v[middle], v[middle + 1]
    bend, tilt = left - 2.0 * here + right, 0.5 * (right - left)
    with np.errstate(divide="ignore", invalid="ignore"):
        place, least = -tilt / bend, here - 0.5 * tilt**2 / bend
    near = (bend > 0.0) & (np.abs(place - own) <= 1.0) & (np.abs(place) <= 1.0)
    low = least <= _NEARLY * np.maximum(np.abs(left - here), np.abs(right - here))
    return [int(i) for i in np.flatnonzero(near & low)]


def lows(values: Array, armed: np.ndarray, tol: Array) -> list[tuple[int, int, int]]:
    """Samples, contacts and parts near which an indicator may be below zero for a moment.

    values (k, n, parts) are those of k samples; armed, tol (n, parts).  A parabola through three samples says how low
    an indicator comes: near an inner sample, or near the first or the last.  Looked at are samples from the first one
    at which it is armed up to the one at which it is below zero.
    """
    least, most = values.min(axis=0), values.max(axis=0)
    # a parabola comes below its samples by a quarter of what they differ by, at most
    with np.errstate(invalid="ignore"):  # some indicators are infinite
        watched = (armed | (most > tol)) & (least <= (_NEARLY + 0.25) * (most - least)) & (most < np.inf)
    found = []
    for k, part in np.argwhere(watched):
        v = values[:, k, part]
        begin = 0 if armed[k, part] else int(np.argmax(v > tol[k, part]))
        below = np.flatnonzero(v[begin:] <= 0.0)
        end = begin + int(below[0]) if len(below) else len(v)
        if end - begin > 2:
            found += [(begin + i, int(k), int(part)) for i in _low_samples(v[begin:end])]
    return found


def short_fall(value: Callable[[float], float], a: float, b: float, tol: float) -> float | None:
    """Where `value` falls to zero between two times, if it does so by more than a tolerance."""
    from scipy.optimize import minimize_scalar

    if not value(a) > 0.0:
        return None
    lowest = minimize_scalar(value, bounds=(a, b), method="bounded", options={"xatol": 1e-9 * (b - a)})
    if not lowest.fun < -tol:
        return None
    return root_between(value, a, float(lowest.x))


@dataclass(frozen=True, eq=False)
class Event:
    """The end of a mode: time t [s], y, and the slots (contact, part) of the indicators that reached zero.

    Without slots the mode ended because the integrator drifted off the contacts, or its steps became too small
    (`stuck`).
    """

    t: float
    y: Array
    slots: list[tuple[int, int]] = field(default_factory=list)
    stuck: bool = False


@dataclass
class Watch:
    """The indicators of a mode, and whether each is armed.

    Many indicators start at zero.  So an indicator is armed once it has been above its tolerance; then a zero is an
    event.  Before, it must fall below minus the tolerance.
    """

    indicators: Callable[[Array, Array], Array]  # (k,), (k, size) -> (k, n, 3)
    tol: Array  # (n, 2)
    gaps: np.ndarray  # (n,) bool: the first indicator is a gap, which may have a minimum between two samples
    armed: np.ndarray
    gap_tol: float
    kinks: int = 0  # how many indicators, the last ones, are levels of kinks
    looks: Callable[[Array, Callable[[Any], Array]], Looks] | None = None  # of the kinks
    corner: Callable[[float, float, Callable[[Any], Array]], float | None] | None = None  # first one inside a step
    longest: Callable[[float], float] | None = None  # step from a time on
    hides: Callable[[float, float, Callable[[Any], Array]], bool] | None = None  # something, in a step: too long
    grazes: int = 0
    grazed: tuple[float, int] | None = None  # time [s] and contact of the last graze
    touches: tuple[tuple[float, int], ...] = ()  # of the kinks, in the last step, see `Looks`

    def event(self, t: Array, dense: Callable[[Any], Array], span: float) -> tuple[float, list[tuple[int, int]]] | None:
        """Time and slots of the first event among the samples t (k,); None without an event."""
        values = self.indicators(t, np.ascontiguousarray(dense(t).T))
        low = values[1:, :, :2].min(axis=0)
        # NaN means that the mode has no finite forces; an indicator that rests at exactly zero (tol = 0) is no event
        suspects = ~np.where(self.armed, low > 0.0, low >= -self.tol)
        dips, short = self._dips(values, t), lows(values[:, :, :2], self.armed, self.tol)
        short = [(i, k, part) for i, k, part in short if part == 1 or not self.gaps[k]]  # of gaps there are `dips`
        found = self._turns(t, dense)
        if not suspects.any() and not dips and not short and not found:
            self.armed |= values[-1, :, :2] > self.tol
            return None
        for k, part in np.argwhere(suspects):
            if (k, part) in found:
                continue
            time = self._root(values[:, k, part], t, dense, int(k), int(part))
            if time is not None:
                found[int(k), int(part)] = time
        for i, k, part in short:
            a, b = t[max(i - 1, 0)], t[min(i + 1, len(t) - 1)]
            time = short_fall(partial(self._value, dense=dense, k=k, part=part), a, b, float(self.tol[k, part]))
            if time is not None and time < found.get((k, part), np.inf):
                found[k, part] = time
        for i, k in dips:
            time = self._graze(t[i], t[i + 1], dense, k)
            if time is not None and time < found.get((k, 0), np.inf):
                found[k, 0] = time
        if not found:
            self.armed |= values[-1, :, :2] > self.tol
            return None
        first = min(found.values())
        return first, [slot for slot, time in found.items() if time <= first + SIMULTANEOUS * span]

    def _turns(self, t: Array, dense: Callable[[Any], Array]) -> dict[tuple[int, int], float]:
        """Times at which kinks turn, by looks that miss none of them: by their slots."""
        if self.looks is None:
            return {}
        looks = self.looks(t, dense)
        self.touches, found = looks.touches, {}
        if len(looks.times) > len(t):
            fine = self.indicators(looks.times, np.ascontiguousarray(dense(looks.times).T))[:, :, 0]
            for k in range(fine.shape[1] - self.kinks, fine.shape[1]):
                time = self._root(fine[:, k], looks.times, dense, k, 0) if fine[1:, k].min() <= self.tol[k, 0] else None
                if time is not None:
                    found[k, 0] = time
        return found

    def _value(self, time: float, dense: Callable[[Any], Array], k: int, part: int) -> float:
        return float(self.indicators(np.array([time]), dense(np.array([time])).T.copy())[0, k, part])

    def _root(self, values: Array, t: Array, dense: Callable[[Any], Array], k: int, part: int) -> float | None:
        armed, tol = bool(self.armed[k, part]), float(self.tol[k, part])
        for i in range(1, len(t)):
            level = 0.0 if armed else -tol
            if not (values[i] > level or (values[i] == level and not armed)):
                if np.isnan(values[i]) or not values[i - 1] > level:
                    return float(t[i - 1])
                return root_between(lambda x: self._value(x, dense, k, part) - level, t[i - 1], t[i])  # noqa: B023
            armed = armed or bool(values[i] > tol)
        return None

    def _dips(self, values: Array, t: Array) -> list[tuple[int, int]]:
        """Intervals and contacts whose gap may have come down to zero and gone up again in between."""
        g, v = values[:, :, 0], values[:, :, 2]
        turns = (v[:-1] < 0.0) & (v[1:] >= 0.0) & (g[:-1] > 0.0) & (g[1:] > 0.0) & self.gaps & self.armed[:, 0]
        if not turns.any():
            return []
        ahead, back = g[:-1] + v[:-1] * np.diff(t)[:, None], g[1:] - v[1:] * np.diff(t)[:, None]
        return [(int(i), int(k)) for i, k in np.argwhere(turns & (np.minimum(ahead, back) <= self.gap_tol))]

    def _graze(self, a: float, b: float, dense: Callable[[Any], Array], k: int) -> float | None:
        """Where the gap closes between two positive samples; a minimum of at most gap_tol below zero only grazes."""
        lowest = root_between(lambda x: self._value(x, dense, k, 2), a, b)
        depth = self._value(lowest, dense, k, 0)
        if depth >= -self.gap_tol:
            if depth <= self.gap_tol:
                self.grazes, self.grazed = self.grazes + 1, (lowest, k)
            return None
        return root_between(lambda x: self._value(x, dense, k, 0), a, lowest)


def _back(solver: Any, stand: Stand, length: float) -> None:
    solver.t, solver.y, solver.f, solver.h_abs = stand.t, stand.y, stand.rate, length


def smooth_arcs(
    rates: Callable[[float, Array], Array],
    mode: Mode,
    f: int,
    t: float,
    y: Array,
    t_end: float,
    watch: Watch,
    tolerances: tuple[float, Array],
    first_step: float | None,
    drifts: Callable[[float, Array], bool],
    span: float,
    stand: Stand | None = None,
) -> Generator[Arc, None, Event | None]:
    """Integrate in one mode and yield its arcs; return the event that ends it, None at t_end.

    With `stand` the integration goes on from this saved state, bit for bit, instead of starting at (t, y).
    """
    from scipy.integrate import DOP853  # takes 0.4 s to load: only event-driven runs pay for it

    rtol, atol = tolerances
    solver = DOP853(rates, t, y, t_end, rtol=rtol, atol=atol, first_step=first_step)
    if stand is not None:
        solver.f, solver.h_abs = stand.rate, stand.length  # the rate belongs to t_A + h, which rounds to t
    while solver.status == "running":
        stand = Stand(solver.t, solver.y, solver.f, solver.h_abs, watch.armed.copy(), watch.grazes)
        if watch.longest is not None:
            solver.max_step = watch.longest(stand.t)
        dense, _ = searched_step(solver, partial(_back, solver, stand), watch.hides, watch.corner)
        if dense is None:
            return Event(solver.t, solver.y.copy(), stuck=True)
        found = watch.event(np.linspace(solver.t_old, solver.t, SAMPLES + 1), dense, span)
        if found is not None:
            time, slots = found
            yield Arc(solver.t_old, time, mode, f, dense, stand)
            return Event(time, dense(time), slots)
        yield Arc(solver.t_old, solver.t, mode, f, dense, stand)
        if solver.status == "running" and drifts(solver.t, solver.y):
            return Event(solver.t, solver.y.copy())
    return None
