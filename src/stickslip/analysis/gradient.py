"""Value and gradient of a function of a motion: of its end, of samples, or of the times of its events."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stickslip.analysis.sensitivity import ZENO, checked_names, doubt_jumps, varied_motion
from stickslip.analysis.slopes import EIGHTH_ORDER
from stickslip.analysis.varied_motion import Moment, VariedMotion
from stickslip.checks import Array, real_array, real_number, unknown_name
from stickslip.events.event_driven import EventDriven
from stickslip.laws import ImpactLaw, law_from
from stickslip.scenario import Scenario, require_scenario
from stickslip.trajectory import EVENT_KINDS

_DIFFERENCE = 1e-3  # largest change of an argument of the objective, relative to it or to 1, in its differences
_AT_AN_EVENT = 1e-9  # share of the run: a sample that near to an event is at the event


@dataclass(frozen=True, eq=False)
class _Seen:
    """What an objective is a function of, with its derivatives; `last` [s] is when the last of it is known."""

    arguments: tuple[Array, ...]
    slopes: tuple[Array, ...]  # like the arguments, with the quantities on a further, last axis
    last: float


def gradient(
    objective: Callable[..., float], scenario: Scenario, wrt: Sequence[str] | str, *, times: Any = None,
    events: str | None = None, contact: str | None = None, slope: Callable[..., Any] | None = None,
    t_end: float | None = None, rtol: float = 1e-11, law: str | ImpactLaw | None = None,
    params: Mapping[Any, float] | None = None,
) -> tuple[float, Array]:  # fmt: skip
    """Value and gradient of a function of a motion, by the forward derivatives of `sensitivity`.

    The objective is one of three functions:

    - objective(q, u) of the end: coordinates and velocities (f,)
    - objective(t, q, u) of samples, where `times` are given: (n,), (n, f), (n, f)
    - objective(t) of the times of events, where `events` is given: (m,), in their order

    The cost grows with the number of quantities.

    Parameters
    ----------
    objective : function that returns a number
    wrt, t_end, rtol, law, params : as for `sensitivity`
    times : (n,) rising times of the samples [s], from 0 on; the run ends with the last of them
    events : kind of events as in `Trajectory.events()`, such as "impact"
    contact : name of the contact whose events are taken; None: of all contacts
    slope : function of what the objective takes, which returns derivatives of the objective: (by q, by u) of the
        end and of samples, (by t) of events, each shaped as its argument.  None: central differences of order 8

    Returns
    -------
    value, gradient : a number, and (k,)

    Raises
    ------
    ValueError : as `sensitivity`; an objective that returns no number; a motion without reliable derivatives up to
        the time that the objective needs; a sample at an event; no event of the kind
    MotionError : the motion cannot go on
    """
    require_scenario(scenario, "gradient")
    scenario.system.require_planar("gradient")
    case = scenario if params is None else replace(scenario, params={**(scenario.params or {}), **params})
    names = checked_names(case, wrt)
    if times is not None and events is not None:
        raise ValueError("gradient takes times (an objective of samples) or events (of event times), got both.")
    if contact is not None and events is None:
        raise ValueError("contact chooses among events: give events as well, such as events='impact'.")
    end = case.t_end if t_end is None else real_number(t_end, "t_end")
    if not end > 0.0:
        raise ValueError(f"t_end must be positive, got {end:g}.")
    stops = _checked_times(times, t_end) if times is not None else np.array([end])
    if events is not None and events not in EVENT_KINDS:
        raise ValueError(f"events: {unknown_name('kind of event', events, EVENT_KINDS)}")
    if contact is not None and contact not in case.system.contact_names:
        raise ValueError(f"contact: {unknown_name('contact', contact, case.system.contact_names)}")
    end = max(float(stops[-1]), 1e-300)
    motion = varied_motion(case, names, end, EventDriven(rtol=rtol, zeno=ZENO), law_from(law))
    f = motion.f
    x, X = np.empty((len(stops), 2 * f)), np.empty((len(stops), 2 * f, len(names)))
    for number, state, here in motion.tangents(stops):
        x[number], X[number] = state, here
    doubt_jumps(motion)
    if events is not None:
        seen = _seen_events(motion, events, contact, end)
    else:
        _refuse_samples_at_events(motion, stops, end)
        seen = _Seen((x[:, :f], x[:, f:]), (X[:, :f], X[:, f:]), end)
        if times is None:
            seen = _Seen((x[-1, :f], x[-1, f:]), (X[-1, :f], X[-1, f:]), end)
    _refuse_doubts(motion, seen)
    given = (stops,) if times is not None else ()

    def at(*arguments: Array) -> float:
        found = objective(*(value.copy() for value in (*given, *arguments)))
        return real_number(float(found), "what the objective returns")

    if slope is None:
        return at(*seen.arguments), _differences(at, seen, len(names))
    found = slope(*(value.copy() for value in (*given, *seen.arguments)))
    return at(*seen.arguments), _by_slope(found, seen, len(names))


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
    moments = sorted(motion.moments, key=lambda moment: moment.t)
    kept: list[Moment] = [m for m in moments if m.kind == kind and (contact is None or contact in m.contacts)]
    if not kept:
        found = ", ".join(sorted({moment.kind for moment in moments})) or "none"
        where = f" of contact {contact!r}" if contact is not None else ""
        raise ValueError(f"events: the motion has no event {kind!r}{where} up to t = {end:g} s; events: {found}.")
    for moment in kept:
        if not np.all(np.isfinite(moment.dt)):
            raise ValueError(f"the event {kind!r} at t = {moment.t:.9g} s is met tangentially: its time has no slope.")
        if abs(moment.t - end) <= _AT_AN_EVENT * end:
            raise ValueError(f"the run ends right at the event {kind!r}, t = {moment.t:.9g} s: choose a later t_end.")
    return _Seen((np.array([m.t for m in kept]),), (np.array([m.dt for m in kept]),), kept[-1].t)


def _refuse_samples_at_events(motion: VariedMotion, stops: Array, end: float) -> None:
    """Refuse samples right at events that move in time: their derivatives hold on one side."""
    for moment in motion.moments:
        near = np.abs(stops - moment.t) <= _AT_AN_EVENT * end
        if np.any(near) and np.any(moment.dt != 0.0):
            raise ValueError(
                f"the motion has no derivative on both sides: t = {moment.t:.9g} s: a sample, or the end, lies right "
                f"at an event ({moment.kind}); move it."
            )


def _refuse_doubts(motion: VariedMotion, seen: _Seen) -> None:
    """Refuse derivatives that are in doubt before the last of what the objective sees."""
    doubts = sorted((doubt for doubt in motion.doubts if doubt[0] <= seen.last), key=lambda doubt: doubt[0])
    if doubts:
        reason = "; ".join(f"t = {time:.9g} s: {said}" for time, said in doubts)
        raise ValueError(f"the motion has no derivative on both sides: {reason}; see ss.sensitivity.")
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

        found[j] = math.fsum(w * (moved(i) - moved(-i)) for i, w in EIGHTH_ORDER) / step
    return found


def _by_slope(found: Any, seen: _Seen, columns: int) -> Array:
    """The gradient from given derivatives of the objective."""
    parts = (found,) if len(seen.arguments) == 1 else tuple(found)
    words = ("by t",) if len(seen.arguments) == 1 else ("by q", "by u")
    if len(parts) != len(words):
        raise ValueError(f"slope must return ({', '.join(words)}), got {len(parts)} entries.")
    total = np.zeros(columns)
    for word, part, x, slopes in zip(words, parts, seen.arguments, seen.slopes, strict=True):
        values = real_array(part, f"slope must return real numbers {word}, got {part!r}.")
        if values.shape != x.shape:
            raise ValueError(f"slope must return an array of shape {x.shape} {word}, got {values.shape}.")
        total += np.tensordot(values, slopes, values.ndim)
    return total
