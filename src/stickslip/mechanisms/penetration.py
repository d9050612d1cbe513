"""Checks of the overlap at a start that a user gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip.checks import LARGEST, Array, real_number, shown
from stickslip.mechanisms.inertia import Inertia
from stickslip.mechanisms.system import CONTACT, System

PENETRATION_TOLERANCE = 1e-5
"""Deepest penetration of a given state that is accepted [m]; printed states have some ([GS05] Table I: 8.8e-7 m)."""

_HELD = 1e-6  # of the velocities in a constraint: what printed digits may violate it by


def penetration_tolerance(value: Any) -> float:
    """The argument penetration_tol as a depth [m], or ValueError."""
    tolerance = real_number(value, "penetration_tol")
    if tolerance < 0.0:
        raise ValueError(f"penetration_tol must not be negative [m], got {tolerance:g}.")
    return tolerance


def gap_tolerance(value: Any) -> float:
    """The argument gap_tol as a distance [m], or ValueError."""
    if isinstance(value, bool) or not (isinstance(value, (int, float)) and 0.0 <= value <= LARGEST):
        raise ValueError(f"gap_tol must be a distance >= 0 [m], got {shown(value)}.")
    return float(value)


def check_state(system: System, q: Array, t: float, p: Array, penetration_tol: Any) -> None:
    """Raise where a configuration that a user asks about penetrates, or is off its constraints."""
    check_penetration(system, system.start_gap(q, t, p), penetration_tolerance(penetration_tol), "q", "is given")


def check_penetration(system: System, gaps: Array, tolerance: float, state: str, doing: str) -> None:
    """Raise where gaps (n,) are deeper than the tolerance, or the equation of a constraint is off by more.

    `state` is the argument that says where the system is.
    """
    check_constraints(system, gaps, tolerance, state, doing)
    rows = zip(system.contact_names, system.contact_kinds, system.gap_units, gaps, strict=True)
    for name, kind, unit, gap in rows:
        if kind == CONTACT and gap < -tolerance:
            raise ValueError(
                f"contact {name!r} {doing} with a penetration of {-gap:.3g} {unit}, more than penetration_tol = "
                f"{tolerance:g} {unit}; move {state}, or raise penetration_tol."
            )


def check_constraints(system: System, gaps: Array, tolerance: float, state: str, doing: str) -> None:
    """Raise where the equation of a constraint is off by more than the tolerance; `gaps` (n,) has its values."""
    for k in system.constraints:
        if not abs(gaps[k]) <= tolerance:
            raise ValueError(
                f"constraint {system.contact_names[k]!r} {doing} with g = {gaps[k]:.3g}, which must be zero within "
                f"penetration_tol = {tolerance:g}; move {state}, or raise penetration_tol."
            )


def held_velocities(
    system: System, q: Array, u: Array, p: Array, t: float, depth: float = PENETRATION_TOLERANCE
) -> Array:
    """Velocities that keep to the constraints to the last digit; ValueError where the state given violates one."""
    if not len(system.constraints):
        return u
    check_constraints(system, system.gap(q, t, p), depth, "q", "is given")
    inertia = Inertia.at(system, q, t, p)
    rate, size = inertia.rate(u), inertia.size(u)
    if np.any(np.abs(rate) > _HELD * size):
        worst = int(np.argmax(np.abs(rate)))
        name = system.contact_names[inertia.index[worst]]
        raise ValueError(f"constraint {name!r} is violated by u: its velocity is {rate[worst]:.3g} and must be zero.")
    return inertia.onto(u)[0]
