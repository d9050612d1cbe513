"""Steppers by name, and from plain values: a name and the numbers that go with it, as command lines have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stickslip.checks import did_you_mean
from stickslip.events.event_driven import EventDriven
from stickslip.mechanisms.steppers.adaptive import Adaptive
from stickslip.mechanisms.steppers.moreau_jean import MoreauJean
from stickslip.mechanisms.steppers.moreau_midpoint import MoreauMidpoint
from stickslip.mechanisms.steppers.paoli_schatzman import PaoliSchatzman
from stickslip.mechanisms.steppers.stepper import Stepper
from stickslip.mechanisms.steppers.stewart_trinkle import StewartTrinkle

Integrator = Stepper | EventDriven | Adaptive
STEPPERS: dict[str, type[Integrator]] = {
    stepper.name: stepper
    for stepper in (MoreauMidpoint, MoreauJean, PaoliSchatzman, StewartTrinkle, Adaptive, EventDriven)
}
"""Every stepper under the name that `stepper=` and `--stepper` take."""
OF_STEPPERS = ("projection", "theta", "rtol")
"""Options that are fields of a stepper."""


def chosen_stepper(value: Any) -> Integrator:
    """The stepper that `stepper=` asks for, by its name or as an object."""
    if isinstance(value, (Stepper, EventDriven, Adaptive)):
        return value
    if isinstance(value, str) and value in STEPPERS:
        return STEPPERS[value]()
    raise ValueError(
        f"stepper must be one of {', '.join(STEPPERS)} or a stepper object, got {value!r}"
        f"{did_you_mean(value, STEPPERS)}"
    )


def stepper_from(options: Mapping[str, Any]) -> Any:
    """The value for `stepper` of `simulate`: the name in `options`, or an object with its projection, theta or rtol."""
    name = options.get("stepper", "moreau-midpoint")
    given = {key: options[key] for key in OF_STEPPERS if options.get(key) is not None}
    if not given:
        return name
    for key in given:
        taking = [other for other, stepper in STEPPERS.items() if key in getattr(stepper, "__dataclass_fields__", {})]
        if name not in taking:
            raise ValueError(f"--{key} works with --stepper {', '.join(taking)}, got {name!r}.")
    return STEPPERS[name](**given)


def number_of_steps(dt: float, t_end: float, t0: float) -> int:
    """Number of steps of length dt [s] from t0 to t_end, rounded; ValueError where it would be less than one."""
    if dt <= 0.0:
        raise ValueError(f"dt must be positive [s], got {dt:g}.")
    if t_end - t0 < dt * (1.0 - 1e-9):
        raise ValueError(
            f"t_end must be at least one step after t0 = {t0:g} s, got t_end = {t_end:g} with dt = {dt:g}."
        )
    steps = (t_end - t0) / dt
    if steps > 2**53:
        raise ValueError(f"{steps:.3g} steps are more than can be counted; enlarge dt (now {dt:g} s) or shorten t_end.")
    return max(1, round(steps))
