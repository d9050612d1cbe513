"""Derivatives of a motion from below and from above, where there is none on both sides: `one_sided`.

Beside a doubtful value p the motion has derivatives: those at p - d and p + d for small d.  As d shrinks by 4,

    a kink         each side tends to a value of its own: it is found by extrapolation in d
    a square root  one side doubles each time: x = x_0 + 2 c sqrt(d), dx/dp = c / sqrt(d) (a graze: Nordmark 1991)
    a jump         the states on both sides do not meet

So kinks and square roots are told apart by what the motion does, not by the name of the event.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from stickslip.analysis.sensitivity import checked_names, sensitivity, with_params
from stickslip.checks import Array, real_number
from stickslip.events.book import MotionError
from stickslip.laws import ImpactLaw
from stickslip.scenario import Scenario, require_scenario

_LONGEST = 8e-3  # first distance from the value, relative to it
_SHRINKS = 4.0  # by this from distance to distance
_DISTANCES = 6
_ROOT = 0.12  # a growth within this share of 2 is that of a square root
_TRUSTED = 1e-4  # extrapolations that differ by more, relative, have not settled


@dataclass(frozen=True, eq=False)
class Side:
    """Derivative from one side of a value.

    Attributes
    ----------
    kind : "derivative", "square root", or "unknown" with a reason
    slope : (2 f,) derivatives of (q, u) at the end; nan unless kind is "derivative"
    root : (2 f,) c of dx/dp = c / sqrt(distance); nan unless kind is "square root"
    error : how far the last two extrapolations differ, relative to the largest entry, or to the slope farther away
    events : (contacts, kind) of the events on this side
    reason : why the side is unknown
    """

    kind: str
    slope: Array
    root: Array
    error: float
    events: tuple[tuple[tuple[str, ...], str], ...]
    reason: str


@dataclass(frozen=True, eq=False)
class OneSided:
    """Derivatives of the end of a motion by one quantity, from below and from above.

    Attributes
    ----------
    name, value : the quantity
    kind : "smooth", "kink", "square root", "jump" or "unknown"
    below, above : `Side`
    jump : (2 f,) by how much the end state differs between both sides as they near the value
    """

    name: str
    value: float
    kind: str
    below: Side
    above: Side
    jump: Array

    def __repr__(self) -> str:
        return f"{self.name} = {self.value:g}: {self.kind}; below {self.below.kind}, above {self.above.kind}"


def one_sided(
    scenario: Scenario, name: str, *, t_end: float | None = None, rtol: float = 1e-11,
    law: str | ImpactLaw | None = None, params: Mapping[Any, float] | None = None,
) -> OneSided:  # fmt: skip
    """Derivatives of the end of a motion by one quantity, from below and from above.

    For values where `sensitivity` is not reliable.  Takes 12 runs with derivatives, at distances from 8e-3 to 8e-6
    of the value.

    Parameters
    ----------
    name : a parameter, coordinate (its start) or velocity (its start)
    t_end, rtol, law, params : as for `sensitivity`

    Raises
    ------
    ValueError : as `sensitivity`
    """
    require_scenario(scenario, "one_sided")
    if not isinstance(name, str):
        raise ValueError(f"name must be one parameter, coordinate or velocity, got {name!r}; call once for each.")
    case = with_params(scenario, params)
    (key,) = checked_names(case, (name,))
    end = case.t_end if t_end is None else real_number(t_end, "t_end")
    value = value_of(case, key)
    distances = np.asarray(_LONGEST * (abs(value) or 1.0) * _SHRINKS ** -np.arange(_DISTANCES), float)
    sides, ends, largest = [], [], 1e-300
    for sign in (-1.0, 1.0):
        side, near, size = _side(case, key, np.asarray(value + sign * distances, float), distances, end, rtol, law)
        sides.append(side)
        ends.append(near)
        largest = max(largest, size)
    return _judged(key, value, sides, ends, largest)


def value_of(case: Scenario, key: str) -> float:
    """The value of a parameter, or of a coordinate or velocity of the start."""
    system = case.system
    states = dict(zip((*system.coordinate_names, *system.velocity_names), (*case.q0, *case.u0), strict=True))
    return float({**case.parameters, **states}[key])


def moved_to(case: Scenario, key: str, value: float) -> Scenario:
    """The scenario with another value of a parameter, or of a coordinate or velocity of the start."""
    system = case.system
    if key in (*system.coordinate_names, *system.velocity_names):
        return case.starting({key: value})
    return replace(case, params={**(case.params or {}), key: value})


def _side(
    case: Scenario, key: str, values: Array, distances: Array, end: float, rtol: float, law: str | ImpactLaw | None
) -> tuple[Side, Array, float]:
    """One side, the states (distances, 2 f) at the end of its runs, and the largest of their slopes."""
    n = 2 * case.system.n_dof
    nothing, slopes, states, seen = np.full(n, np.nan), [], [], []

    def unknown(reason: str) -> tuple[Side, Array, float]:
        return Side("unknown", nothing, nothing, math.nan, (), reason), np.full((len(values), n), np.nan), 0.0

    for value in values:
        try:
            found = sensitivity(moved_to(case, key, float(value)), [key], t_end=end, samples=2, rtol=rtol, law=law)
        except (ValueError, MotionError) as problem:
            return unknown(str(problem))
        if not found.reliable:
            return unknown(found.reason)
        slopes.append(found.end[:, 0])
        states.append(np.concatenate([found.trajectory.q[-1], found.trajectory.u[-1]]))
        seen.append(tuple(zip(found.event_times.contacts, found.event_times.kinds, strict=True)))
    if seen[-1] != seen[-2] or seen[-2] != seen[-3]:
        return unknown("the events change from distance to distance")
    D = np.array(slopes)
    size = np.abs(D).max(axis=1)
    growth = size[-3:] / np.where(size[-4:-1] > 0.0, size[-4:-1], 1.0)
    if np.all(np.abs(growth - math.sqrt(_SHRINKS)) <= _ROOT * math.sqrt(_SHRINKS)):
        whole, less = _extrapolated(D[-4:] * np.sqrt(distances[-4:, None]), np.sqrt(_SHRINKS))
        error = float(np.abs(whole - less).max() / max(np.abs(whole).max(), 1e-300))
        return Side("square root", nothing, whole, error, seen[-1], ""), np.array(states), float(size[-1])
    whole, less = _extrapolated(D[-4:], _SHRINKS)
    error = float(np.abs(whole - less).max() / max(np.abs(whole).max(), size[0], 1e-9))
    if not error <= _TRUSTED:
        side, _, _ = unknown(f"the derivative does not settle beside the value (it differs by {error:.1e})")
        return side, np.array(states), 0.0
    return Side("derivative", whole, nothing, error, seen[-1], ""), np.array(states), float(size[0])


def _extrapolated(rows: Array, factor: float) -> tuple[Array, Array]:
    """Limit of rows at distances that shrink by `factor`, a power series in the distance; and that of one term less."""
    table, less = list(rows), rows[-1]
    for order in range(1, len(rows)):
        power = factor**order
        less = table[-1]
        table = [(power * b - a) / (power - 1.0) for a, b in pairwise(table)]
    return np.asarray(table[-1]), np.asarray(less)


def _judged(key: str, value: float, sides: list[Side], ends: list[Array], largest: float) -> OneSided:
    """Verdict from both sides: smooth, a kink, a root, or a jump; `largest`: slope that was seen beside the value."""
    below, above = sides
    apart = ends[1] - ends[0]
    gap = np.abs(apart).max(axis=1)
    left = apart[-1].copy()
    if not np.all(np.isfinite(gap)):
        return OneSided(key, value, "unknown", below, above, np.full(apart.shape[1], np.nan))
    if gap[-1] > 0.7 * gap[-2] and gap[-1] > 1e-9:  # a kink falls by 4, a square root by 2
        return OneSided(key, value, "jump", below, above, left)
    nothing = np.zeros_like(left)
    if "square root" in (below.kind, above.kind):
        return OneSided(key, value, "square root", below, above, nothing)
    if "unknown" in (below.kind, above.kind):
        return OneSided(key, value, "unknown", below, above, nothing)
    size = max(float(np.abs(below.slope).max()), float(np.abs(above.slope).max()), largest)
    same = np.abs(below.slope - above.slope).max() <= 10.0 * _TRUSTED * size
    return OneSided(key, value, "smooth" if same else "kink", below, above, nothing)
