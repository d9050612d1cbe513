"""Steppers from plain values: a name and the numbers that go with it, as command lines and model files have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stickslip.run.simulate import STEPPERS

OF_STEPPERS = ("projection", "theta", "rtol")
"""Options that are fields of a stepper."""


def stepper_from(options: Mapping[str, Any]) -> Any:
    """What `simulate` takes as `stepper`: the name in `options`, or an object with its projection, theta or rtol."""
    name = options.get("stepper", "moreau-midpoint")
    given = {key: options[key] for key in OF_STEPPERS if options.get(key) is not None}
    if not given:
        return name
    for key in given:
        taking = [other for other, stepper in STEPPERS.items() if key in getattr(stepper, "__dataclass_fields__", {})]
        if name not in taking:
            raise ValueError(f"--{key} works with --stepper {', '.join(taking)}, got {name!r}.")
    return STEPPERS[name](**given)
