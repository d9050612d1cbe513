"""Value and gradient of a function of a motion: of its end, of samples, of times of events, or of impulses."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.analysis.adjoint import AdjointMotion, Weights
from stickslip.analysis.differences import derivative
from stickslip.analysis.doubted_terms import doubt_jumps
from stickslip.analysis.sensitivity import (
    ZENO,
    checked_names,
    quantities,
    sensitivity,
    start_of,
    varied_motion,
    with_params,
)
from stickslip.analysis.varied_motion import Moment, VariedMotion
from stickslip.checks import Array, real_array, real_number, shown, unknown_name
from stickslip.events.event_driven import EventDriven
from stickslip.laws import ImpactLaw, law_from
from stickslip.scenario import Scenario, require_scenario
from stickslip.trajectory import EVENT_KINDS, STRIKES

_DIFFERENCE = 1e-3  # largest change of an argument of the objective, relative to it or to 1, in its differences
_NOTHING = 1e-8  # share of the size of states, and of a run, below which a change is rounding
_AT_AN_EVENT = 1e-9  # share of the run: a sample that near to an event is at the event


@dataclass(frozen=True, eq=False)
class _Seen:
    """The arguments of an objective with their derivatives; at `last` [s] all of them are known."""

    arguments: tuple[Array, ...]
    slopes: tuple[Array, ...]  # like the arguments, with the quantities on a further, last axis
    last: float


def gradient(
    objective: Callable[..., float], scenario: Scenario, wrt: Sequence[str] | str, *, times: Any = None,
    events: str | None = None, impulses: bool = False, contact: str | None = None,
    slope: Callable[..., Any] | None = None, method: str = "adjoint", t_end: float | None = None, rtol: float = 1e-11,
    law: str | ImpactLaw | None = None, params: Mapping[Any, float] | None = None,
) -> tuple[float, Array]:  # fmt: skip
    """Value and gradient of a function of a motion, by the adjoint of the derivatives of `sensitivity`.

    The objective is one of four functions:

    - objective(q, u) of the end: coordinates and velocities (f,)
    - objective(t, q, u) of samples, where `times` are given: (n,), (n, f), (n, f)
    - objective(t) of the times of events, where `events` is given: (m,), in their order
    - objective(t, normal, tangential) of impacts, where `impulses` is True: times and impulses (m,) each, with the rows
      of `sensitivity(...).impulses`

    The motion is followed once, and then a sweep goes back along it: the cost does not depend on the number of
    quantities (`analysis.adjoint`).  Where contacts have two tangents, it is made of columns of `sensitivity`, whatever
    the method is, and samples are refused.

    Parameters
    ----------
    objective : function that returns a number
    wrt, t_end, rtol, law, params : as for `sensitivity`
    times : (n,) rising times of the samples [s], from 0 on; the run ends with the last of them
    events : kind of events as in `Trajectory.events()`, such as "impact"
    impulses : whether the objective is one of impulses
    contact : name of the contact whose events or impulses are taken; None: of all contacts
    slope : function of what the objective takes, which returns derivatives of the objective: (by q, by u) of the
        end and of samples, (by t) of events, (by t, by normal, by tangential) of impulses, each shaped as its argument.
        None: central differences of order 8
    method : "adjoint", or "forward", whose cost grows with the number of quantities

    Returns
    -------
    value, gradient : a number, and (k,)

    Raises
    ------
    ValueError : as `sensitivity`; an objective that returns no number; a motion without reliable derivatives up to
        the time that the objective needs; a sample at an event; no event of the kind, no impact
    MotionError : the motion cannot go on
    ArithmeticError : the sweep back disagrees with a forward column that runs along
    """
    if method not in ("adjoint", "forward"):
        raise ValueError(f"method must be 'adjoint' or 'forward', got {method!r}.")
    require_scenario(scenario, "gradient")
    for name, function in (("objective", objective), ("slope", slope)):
        if not callable(function) and (name == "objective" or function is not None):
            raise ValueError(f"{name} must be a function, got {shown(function)}.")
    case = with_params(scenario, params)
    asked = _Asked.checked(case, checked_names(case, wrt), times, (events, impulses, contact), t_end)
    goal = _Goal(objective, slope, (asked.stops,) if asked.sampled else ())
    if len(case.system.spatial):
        return _in_space(asked, case, goal, rtol, law)
    judge = EventDriven(rtol=rtol, zeno=ZENO)
    if method == "forward":
        return _forward(asked, case, goal, judge, law_from(law))
    return _adjoint(asked, case, goal, judge, law_from(law))[:2]


def gradient_with_events(
    objective: Callable[..., float], case: Scenario, names: tuple[str, ...], *, times: Any, events: str | None,
    impulses: bool, contact: str | None, slope: Callable[..., Any] | None, t_end: float | None, rtol: float,
    law: str | ImpactLaw | None,
) -> tuple[float, Array, tuple[Any, ...]]:  # fmt: skip
    """Value and gradient as `gradient` gives them, with kinds and contacts of the events on the way."""
    case.system.require_planar("gradient")
    asked = _Asked.checked(case, names, times, (events, impulses, contact), t_end)
    goal = _Goal(objective, slope, (asked.stops,) if asked.sampled else ())
    return _adjoint(asked, case, goal, EventDriven(rtol=rtol, zeno=ZENO), law_from(law))


@dataclass(frozen=True, eq=False)
class _Asked:
    """The request of a caller: quantities, times of samples or the end [s], kind and contact of events, or impulses."""

    names: tuple[str, ...]
    stops: Array
    sampled: bool
    events: str | None
    impulses: bool
    contact: str | None

    @classmethod
    def checked(
        cls, case: Scenario, names: tuple[str, ...], times: Any, chosen: tuple[str | None, bool, str | None],
        t_end: float | None,
    ) -> _Asked:  # fmt: skip
        events, impulses, contact = chosen
        if not isinstance(impulses, bool | np.bool_):
            raise ValueError(f"impulses must be True or False, got {shown(impulses)}: contact= names a contact.")
        if (times is not None) + (events is not None) + bool(impulses) > 1:
            raise ValueError(
                "gradient takes one of times (an objective of samples), events (of event times) and impulses, got two."
            )
        if contact is not None and events is None and not impulses:
            raise ValueError(
                "contact chooses among events or impulses: give events='impact' or the like, or impulses=True."
            )
        end = case.t_end if t_end is None else real_number(t_end, "t_end")
        if not end > 0.0:
            raise ValueError(f"t_end must be positive, got {end:g}.")
        stops = _checked_times(times, t_end) if times is not None else np.array([end])
        if events is not None and events not in EVENT_KINDS:
            raise ValueError(f"events: {unknown_name('kind of event', events, EVENT_KINDS)}")
        if contact is not None and contact not in case.system.contact_names:
            raise ValueError(f"contact: {unknown_name('contact', contact, case.system.contact_names)}")
        return cls(names, stops, times is not None, events, bool(impulses), contact)

    @property
    def end(self) -> float:
        """When the run ends [s]."""
        return max(float(self.stops[-1]), 1e-300)

    def seen(self, motion: VariedMotion, x: Array, X: Array) -> _Seen:
        """Arguments of the objective: of a motion with states x (n, 2 f) and derivatives X (n, 2 f, k) at the stops."""
        f = motion.f
        doubt_jumps(motion)
        if self.events is not None:
            seen = _seen_events(motion, self.events, self.contact, self.end)
        elif self.impulses:
            seen = _seen_impulses(motion, self.contact, self.end)
        else:
            _refuse_samples_at_events(motion, self.stops, self.end)
            seen = _Seen((x[:, :f], x[:, f:]), (X[:, :f], X[:, f:]), self.end)
            if not self.sampled:
                seen = _Seen((x[-1, :f], x[-1, f:]), (X[-1, :f], X[-1, f:]), self.end)
        _refuse_doubts(motion, seen)
        return seen


def _shapes(arguments: Sequence[Array]) -> str:
    return ", ".join(str(x.shape) for x in arguments)


@dataclass(frozen=True, eq=False)
class _Goal:
    """The objective with what it is given besides states and times of events."""

    objective: Callable[..., float]
    slope: Callable[..., Any] | None
    given: tuple[Array, ...]

    def at(self, *arguments: Array) -> float:
        passed = [value.copy() for value in (*self.given, *arguments)]
        try:
            inspect.signature(self.objective).bind(*passed)
        except TypeError:
            raise ValueError(f"objective must take {len(passed)} arguments, of the shapes {_shapes(passed)}.") from None
        except ValueError:
            pass  # Python cannot see the arguments of a function in C
        try:
            found: Any = self.objective(*passed)
        except IndexError as problem:
            raise ValueError(f"objective: {problem}; its arguments have the shapes {_shapes(passed)}.") from problem
        return real_number(found.item() if getattr(found, "size", 0) == 1 else found, "what the objective returns")

    def slopes(self, arguments: tuple[Array, ...]) -> tuple[Array, ...]:
        """Derivatives by the arguments: given, or central differences of order 8 by each of their entries."""
        if self.slope is not None:
            return _checked_slope(self.slope(*(value.copy() for value in (*self.given, *arguments))), arguments)
        found = tuple(np.zeros_like(x) for x in arguments)
        for number, x in enumerate(arguments):
            for place in np.ndindex(x.shape):
                step = _DIFFERENCE * max(1.0, abs(float(x[place])))

                def moved(share: float, number: int = number, place: Any = place, step: float = step) -> float:
                    there = [value.copy() for value in arguments]
                    there[number][place] += share * step
                    return self.at(*there)

                found[number][place] = _slope_of(moved) / step
        return found


def _forward(asked: _Asked, case: Scenario, goal: _Goal, judge: EventDriven, law: ImpactLaw) -> tuple[float, Array]:
    """The gradient by one column per quantity."""
    motion = varied_motion(case, asked.names, asked.end, judge, law)
    n, stops, columns = 2 * motion.f, asked.stops, len(asked.names)
    x, X = np.empty((len(stops), n)), np.empty((len(stops), n, columns))
    for number, state, here in motion.tangents(stops):
        x[number], X[number] = state, here
    seen = asked.seen(motion, x, X)
    value = goal.at(*seen.arguments)
    if goal.slope is None:
        return value, _differences(goal.at, seen, columns)
    return value, _total(goal.slopes(seen.arguments), seen.slopes)


def _in_space(
    asked: _Asked, case: Scenario, goal: _Goal, rtol: float, law: str | ImpactLaw | None
) -> tuple[float, Array]:
    """The gradient where contacts have two tangents: by columns of `sensitivity`, of the end or of events."""
    if asked.sampled:
        case.system.require_planar("gradient of an objective of samples")
    found = sensitivity(case, asked.names, t_end=asked.end, samples=2, rtol=rtol, law=law)
    if not found.reliable:
        raise ValueError(f"the motion has no reliable derivative: {found.reason}")
    f, run = found.q.shape[1], found.trajectory
    if asked.impulses:
        pushes = found.impulses if asked.contact is None else found.impulses.of(asked.contact)
        _require_impacts(len(pushes), asked.contact, asked.end)
        seen = _Seen(
            (pushes.t, pushes.normal, pushes.tangential), (pushes.dt, pushes.dnormal, pushes.dtangential),
            float(pushes.t[-1]),
        )  # fmt: skip
        return goal.at(*seen.arguments), _total(goal.slopes(seen.arguments), seen.slopes)
    seen = _Seen((run.q[-1], run.u[-1]), (found.end[:f], found.end[f:]), asked.end)
    if asked.events is not None:
        times = found.event_times
        kept = [
            k for k, kind in enumerate(times.kinds)
            if kind == asked.events and (asked.contact is None or asked.contact in times.contacts[k])
        ]  # fmt: skip
        if not kept:
            known = ", ".join(sorted(set(times.kinds))) or "none"
            raise ValueError(f"events: the motion has no event {asked.events!r} up to t_end; events: {known}.")
        seen = _Seen((times.t[kept],), (times.dt[kept],), float(times.t[kept[-1]]))
    return goal.at(*seen.arguments), _total(goal.slopes(seen.arguments), seen.slopes)


def _adjoint(
    asked: _Asked, case: Scenario, goal: _Goal, judge: EventDriven, law: ImpactLaw
) -> tuple[float, Array, tuple[Any, ...]]:
    """The gradient by one motion forward and one sweep back; with kinds and contacts of the events."""
    X, directions = quantities(case, asked.names)
    motion = AdjointMotion(
        **start_of(case, asked.end, judge, law), columns=asked.names, all_X=X, all_directions=directions,
        mixture=_mixture(case, asked.names), stops=asked.stops,
    )  # fmt: skip
    motion.follow()
    seen = asked.seen(motion, motion.sampled, motion.sampled_X[:, :, None])
    value, slopes = goal.at(*seen.arguments), goal.slopes(seen.arguments)
    seen_events = tuple((moment.kind, moment.contacts) for moment in motion.moments)
    found = motion.slopes_back(_weights(asked, motion, slopes))
    along = [np.abs(part) * np.abs(column[..., 0]) for part, column in zip(slopes, seen.slopes, strict=True)]
    size = float(sum(part.sum() for part in along)) + _rounding(motion, slopes, seen)
    motion.checked(found, float(_total(slopes, seen.slopes)[0]), size)
    return value, found, seen_events


def _weights(asked: _Asked, motion: AdjointMotion, slopes: tuple[Array, ...]) -> Weights:
    """Slopes of the objective by samples, times of moments and impulses, where the sweep back meets them."""
    found = Weights(np.zeros((len(asked.stops), 2 * motion.f)), {}, {})
    numbers = {id(moment): number for number, moment in enumerate(motion.moments)}
    if asked.events is None and not asked.impulses:
        whole = np.concatenate(slopes, axis=-1)
        found.samples[:] = whole if asked.sampled else 0.0
        found.samples[-1] = whole[-1] if asked.sampled else whole
        return found
    moments: Sequence[Moment | None]
    if asked.impulses:
        rows = _impact_rows(motion, asked.contact)
        found.pushes.update(zip(rows, np.stack(slopes[1:], axis=-1), strict=True))
        moments = _impact_moments(motion, rows)
    else:
        assert asked.events is not None
        moments = _kept_moments(motion, asked.events, asked.contact)
    for moment, weight in zip(moments, slopes[0], strict=True):
        if moment is not None:
            number = numbers[id(moment)]
            found.events[number] = found.events.get(number, 0.0) + float(weight)
    return found


def _rounding(motion: AdjointMotion, slopes: tuple[Array, ...], seen: _Seen) -> float:
    """A size of the objective's change along the mixture below which it is rounding: of what rests, for one.

    The mixture changes every quantity by its own size.  So states change by their size, or by what the forces would
    have moved them by, and times of events by the length of the run.
    """
    if len(slopes) == 1:
        return float(_NOTHING * motion.span * np.abs(slopes[0]).sum())
    system, here = motion.system, (motion.q, motion.t, motion.p)
    load = np.abs(system.force(motion.q, motion.u, motion.t, motion.p))
    load += motion.book.force * np.abs(system.geometry(*here)[0]).sum(axis=0)
    push = np.abs(np.linalg.inv(system.mass(*here))) @ load
    if len(slopes) == 3:  # times and impulses: these change by momenta
        momentum = float((np.abs(system.mass(*here)) @ (np.abs(motion.u) + push * motion.span)).sum())
        sizes = [motion.span, *(np.abs(x) + momentum for x in seen.arguments[1:])]
    else:
        sizes = [np.abs(x) + push * motion.span**power for x, power in zip(seen.arguments, (2, 1), strict=True)]
    return float(_NOTHING * sum((np.abs(d) * size).sum() for d, size in zip(slopes, sizes, strict=True)))


def _mixture(case: Scenario, names: tuple[str, ...]) -> Array:
    """Shares of the quantities in one column: random, of the size of the quantities."""
    system = case.system
    states = dict(zip((*system.coordinate_names, *system.velocity_names), (*case.q0, *case.u0), strict=True))
    sizes = np.array([abs(float({**case.parameters, **states}[name])) or 1.0 for name in names])
    rng = np.random.default_rng(len(names))
    return np.asarray(sizes * rng.uniform(0.5, 1.5, len(names)) * rng.choice([-1.0, 1.0], len(names)))


def _checked_times(times: Any, t_end: float | None) -> Array:
    """Times of samples, checked."""
    stops = np.atleast_1d(real_array(times, f"times must be rising times of samples [s], got {times!r}."))
    if t_end is not None:
        raise ValueError("the run ends with the last of times: give times or t_end, not both.")
    if stops.ndim != 1 or not len(stops) or not np.all(np.isfinite(stops)):
        raise ValueError(f"times must be a list of finite times of samples [s], got shape {stops.shape}.")
    if stops[0] < 0.0 or not stops[-1] > 0.0 or np.any(np.diff(stops) <= 0.0):
        raise ValueError(f"times must rise, from 0 on, to a last time above 0, got {stops[0]:g} .. {stops[-1]:g}.")
    return stops


def _seen_events(motion: VariedMotion, kind: str, contact: str | None, end: float) -> _Seen:
    """Times of the events of a kind."""
    kept = _kept_moments(motion, kind, contact)
    if not kept:
        found = ", ".join(sorted({moment.kind for moment in motion.moments})) or "none"
        where = f" of contact {contact!r}" if contact is not None else ""
        raise ValueError(f"events: the motion has no event {kind!r}{where} up to t = {end:g} s; events: {found}.")
    for moment in kept:
        if not np.all(np.isfinite(moment.dt)):
            raise ValueError(f"the event {kind!r} at t = {moment.t:.9g} s is met tangentially: its time has no slope.")
        if abs(moment.t - end) <= _AT_AN_EVENT * end:
            raise ValueError(f"the run ends right at the event {kind!r}, t = {moment.t:.9g} s: choose a later t_end.")
    return _Seen((np.array([m.t for m in kept]),), (np.array([m.dt for m in kept]),), kept[-1].t)


def _seen_impulses(motion: VariedMotion, contact: str | None, end: float) -> _Seen:
    """Times and impulses of the impacts of a contact, or of all."""
    rows = _impact_rows(motion, contact)
    _require_impacts(len(rows), contact, end)
    table = np.array([motion.impacts[row] for row in rows], float)
    if end - table[-1, 0] <= _AT_AN_EVENT * end:
        raise ValueError(f"the run ends right at an impact, t = {table[-1, 0]:.9g} s: choose a later t_end.")
    pushes, dt = (np.array(x) for x in zip(*(motion.pushes[row] for row in rows), strict=True))
    return _Seen((table[:, 0], table[:, 4], table[:, 5]), (dt, pushes[:, 0], pushes[:, 1]), float(table[-1, 0]))


def _impact_rows(motion: VariedMotion, contact: str | None) -> list[int]:
    """Numbers of the impacts of a contact, or of all."""
    return [k for k, row in enumerate(motion.impacts) if contact is None or motion.names[int(row[1])] == contact]


def _impact_moments(motion: VariedMotion, rows: list[int]) -> list[Moment | None]:
    """The moments in which impacts happen; None at the start, which does not move."""
    strikes = {moment.t: moment for moment in motion.moments if moment.kind == EVENT_KINDS[STRIKES]}
    return [strikes.get(float(motion.impacts[row][0])) for row in rows]


def _require_impacts(count: int, contact: str | None, end: float) -> None:
    if not count:
        where = f" of contact {contact!r}" if contact is not None else ""
        raise ValueError(f"impulses: the motion has no impact{where} up to t = {end:g} s.")


def _kept_moments(motion: VariedMotion, kind: str, contact: str | None) -> list[Moment]:
    """Events of a kind and a contact, in the order of time."""
    moments = sorted(motion.moments, key=lambda moment: moment.t)
    return [m for m in moments if m.kind == kind and (contact is None or contact in m.contacts)]


def _refuse_samples_at_events(motion: VariedMotion, stops: Array, end: float) -> None:
    """Refuse samples right at events that move in time: their derivatives hold on one side."""
    for moment in motion.moments:
        near = np.abs(stops - moment.t) <= _AT_AN_EVENT * end
        if np.any(near) and not moment.smooth and np.any(moment.dt != 0.0):
            raise ValueError(
                f"the motion has no derivative on both sides: t = {moment.t:.9g} s: a sample, or the end, lies right "
                f"at an event ({moment.kind}); move it."
            )


def _refuse_doubts(motion: VariedMotion, seen: _Seen) -> None:
    """Refuse derivatives that are in doubt before the last of what the objective sees."""
    doubts = sorted((doubt for doubt in motion.doubts if doubt[0] <= seen.last), key=lambda doubt: doubt[0])
    if doubts:
        reason = "; ".join(f"t = {time:.9g} s: {said}" for time, said in doubts[:2])
        more = f" ({len(doubts) - 2} more)" if len(doubts) > 2 else ""
        raise ValueError(f"the motion has no derivative on both sides: {reason}{more}; see ss.sensitivity.")
    if not all(np.all(np.isfinite(slopes)) for slopes in seen.slopes):
        raise ValueError("the motion has no derivative: it is not finite; see ss.sensitivity.")


def _differences(at: Callable[..., float], seen: _Seen, columns: int) -> Array:
    """Derivatives of the objective along every column: central differences of order 8."""
    found = np.zeros(columns)
    for j in range(columns):
        along = [slopes[..., j] for slopes in seen.slopes]
        pairs = zip(seen.arguments, along, strict=True)
        size = max(float((np.abs(d) / np.maximum(1.0, np.abs(x))).max(initial=0.0)) for x, d in pairs)
        if size == 0.0:
            continue
        step = _DIFFERENCE / size

        def moved(share: float, along: list[Array] = along, step: float = step) -> float:
            return at(*(x + share * step * d for x, d in zip(seen.arguments, along, strict=True)))

        found[j] = _slope_of(moved) / step
    return found


def _slope_of(moved: Callable[[float], float]) -> float:
    """Slope at 0 of the objective along a line; refused where differences do not agree."""
    found, error = derivative(lambda share: np.array([moved(share)]))
    if error > 0.0:
        raise ValueError(
            f"the objective has no certain slope: its differences agree to {error:.1e} only. It is not smooth there, "
            "or smooth on a very short scale: give its derivatives as slope=."
        )
    return float(found[0])


def _checked_slope(found: Any, arguments: tuple[Array, ...]) -> tuple[Array, ...]:
    """Given derivatives of the objective, checked."""
    parts = (found,) if len(arguments) == 1 else tuple(found)
    words = (("by t",), ("by q", "by u"), ("by t", "by normal", "by tangential"))[len(arguments) - 1]
    if len(parts) != len(words):
        raise ValueError(f"slope must return ({', '.join(words)}), got {len(parts)} entries.")
    checked = []
    for word, part, x in zip(words, parts, arguments, strict=True):
        values = real_array(part, f"slope must return real numbers {word}, got {part!r}.")
        if not np.all(np.isfinite(values)):
            raise ValueError(f"slope must return finite numbers {word}, got {shown(part)}.")
        if values.shape != x.shape:
            raise ValueError(f"slope must return an array of shape {x.shape} {word}, got {values.shape}.")
        checked.append(values)
    return tuple(checked)


def _total(parts: tuple[Array, ...], slopes: tuple[Array, ...]) -> Array:
    """The gradient from derivatives of the objective by its arguments, and of these by the quantities."""
    pairs = zip(parts, slopes, strict=True)
    return np.asarray(sum(np.tensordot(part, columns, part.ndim) for part, columns in pairs))
