"""Checks of the overlap at a start that a user gives."""

from __future__ import annotations

from typing import Any

from stickslip.checks import Array, real_number
from stickslip.mechanisms.system import CONTACT, System

PENETRATION_TOLERANCE = 1e-5
"""Deepest penetration of a given state that is accepted [m]; printed states have some ([GS05] Table I: 8.8e-7 m)."""


def penetration_tolerance(value: Any) -> float:
    """The argument penetration_tol as a depth [m], or ValueError."""
    tolerance = real_number(value, "penetration_tol")
    if tolerance < 0.0:
        raise ValueError(f"penetration_tol must not be negative [m], got {tolerance:g}.")
    return tolerance


def check_penetration(system: System, gaps: Array, tolerance: float, state: str, doing: str) -> None:
    """Raise where gaps (n,) are deeper than the tolerance; `state` is the argument that says where the system is."""
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
