"""Sliders of an entry: its keywords, its initial state, its step size and end time, with ranges that make sense.

A range is a suggestion: the field beside a slider takes any number, and the entry itself says what is impossible.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

PAGE_STEPS, PAGE_RECORDS = 200_000, 20_000
"""Of a run that a page asks for."""
PARAMETER, START, RUN = "parameter", "start", "run"
_UNIT_INTERVAL = ("restitution",)
FRICTION, RESTITUTION, THRESHOLD = "friction", "restitution", "threshold"
_LAWS = (FRICTION, RESTITUTION)
_RATIO = 4.0  # a positive parameter runs from a quarter of its value to four times it


@dataclass(frozen=True)
class Control:
    """One slider.

    Attributes
    ----------
    key : its name in a request.
    section : `PARAMETER`, `START` or `RUN`.
    name, unit : for its label.
    index : place in a keyword that is a tuple; -1 for a number.
    value : the entry's own value.
    low, high : ends of the slider.
    log : whether it moves by factors.
    whole : whether it takes whole numbers only.
    law : kind of the contact law that it is a coefficient of, "friction", "restitution" or "threshold"; "" for others.
    meaning : what it is, in words.
    """

    key: str
    section: str
    name: str
    unit: str
    value: float
    low: float
    high: float
    index: int = -1
    log: bool = False
    whole: bool = False
    law: str = ""
    meaning: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def controls(
    keywords: Mapping[str, Any], scenario: Any, units: Mapping[str, str] | None = None,
    meanings: Mapping[str, str] | None = None,
) -> list[Control]:  # fmt: skip
    """All sliders of an entry: its keywords with values, units and meanings, and the scenario that has them."""
    known = {**(units or {}), **_units(scenario)}
    parameters = _parameters(keywords, known, laws_of(scenario), meanings or {})
    return [*parameters, *_start(scenario), *_run(scenario)]


def laws_of(scenario: Any) -> dict[str, str]:
    """Parameters of a mechanism that are coefficients of its contact laws, with the kind of the law.

    A parameter is a coefficient where some contact has its very value for it, also after the parameter has changed.
    """
    if scenario.kind != "mechanism":
        return {}
    system, found = scenario.system, {}
    p = system.parameter_vector(scenario.params)
    for i, name in enumerate(system.parameter_names):
        other = p.copy()
        other[i] = 0.5 * p[i] if p[i] != 0.0 else 0.5  # within the range of every law
        try:
            before, after = system.laws(p), system.laws(other)
        except (ValueError, ArithmeticError):
            continue
        kinds = zip((FRICTION, RESTITUTION, RESTITUTION, THRESHOLD), before, after, strict=True)
        held = [kind for kind, x, y in kinds if np.any((x == p[i]) & (y == other[i]))]
        if held:
            found[name] = held[0]
    return found


def _parameters(
    keywords: Mapping[str, Any], units: Mapping[str, str], laws: Mapping[str, str], meanings: Mapping[str, str]
) -> list[Control]:
    found = []
    for key, default in keywords.items():
        values = default if isinstance(default, tuple) else (default,)
        for index, value in enumerate(values):
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue  # words, and values that the entry finds itself
            place = index if isinstance(default, tuple) else -1
            label = key if place < 0 else f"{key} {index + 1}"
            law = next((word for word in _LAWS if word in key), laws.get(key, ""))
            control = _control(key, label, units.get(key, ""), value, place, law)
            found.append(replace(control, meaning=meanings.get(key, "")))
    return sorted(found, key=lambda control: not control.law)  # laws first


def _control(key: str, label: str, unit: str, value: float, index: int, law: str) -> Control:
    whole = isinstance(value, int)
    low, high, log = bounds(law if law in _LAWS else key, float(value), unit)
    if whole:
        low, high, log = max(1.0, math.floor(value / 2)), max(2.0 * value, value + 4.0), False
    return Control(key, PARAMETER, label, unit, float(value), low, high, index, log, whole, law)


def bounds(key: str, value: float, unit: str = "") -> tuple[float, float, bool]:
    """Lower end, upper end, and whether the slider moves by factors."""
    if any(word in key for word in _UNIT_INTERVAL):
        return min(0.0, value), max(1.0, value), False
    if "friction" in key:
        return 0.0, max(1.0, 2.0 * value), False
    if unit == "rad" or "angle" in key:
        return min(-0.5 * math.pi, 2.0 * value), max(0.5 * math.pi, 2.0 * value), False
    if "velocity" in key or "speed" in key or unit.endswith("/s"):
        most = 2.0 * abs(value) or 1.0
        return -most, most, False
    if value > 0.0:
        return value / _RATIO, value * _RATIO, True
    most = 2.0 * abs(value) or 1.0
    return (0.0, most, False) if value == 0.0 else (-most, most, False)


def _start(scenario: Any) -> list[Control]:
    """Coordinates and velocities of the start, where there are few enough for sliders."""
    if not scenario.start_has_sliders:
        return []
    system = scenario.system
    found = []
    for names, values, moves in (
        (system.coordinate_names, scenario.q0, False),
        (system.velocity_names, scenario.u0, True),
    ):
        for key, value in zip(names, values, strict=True):
            unit, x = system.units.get(key, ""), float(value)
            most = 2.0 * abs(x) or (1.0 if moves or unit == "rad" else 0.1)
            found.append(Control(key, START, key, unit, x, -most, most))
    return found


def _run(scenario: Any) -> list[Control]:
    dt, t_end = float(scenario.dt), float(scenario.t_end)
    return [
        Control("dt", RUN, "dt", "s", dt, dt / 10.0, dt * 10.0, log=True),
        Control("t_end", RUN, "t_end", "s", t_end, t_end / 10.0, t_end * 4.0, log=True),
    ]


def _units(scenario: Any) -> Mapping[str, str]:
    return getattr(scenario.system, "units", {})


def require_sizes(keywords: Mapping[str, Any], scenario: Any, wanted: Mapping[str, Any]) -> None:
    """Raise where a number of things, such as balls, is beyond its slider: a system of any size is not for a page."""
    for control in controls(keywords, scenario):
        if not (control.whole and control.section == PARAMETER and control.key in wanted):
            continue
        value = wanted[control.key]
        if not control.low <= value <= control.high:
            raise ValueError(
                f"{control.key} must lie between {control.low:g} and {control.high:g} on the page, got {value}; "
                "`stickslip run` takes others."
            )


def with_values(known: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords of an entry from the numbers of a request; whole numbers and tuples as its `known` defaults are."""
    keywords: dict[str, Any] = {}
    for key, value in values.items():
        default = known.get(key)
        if isinstance(default, tuple):
            if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != len(default):
                raise ValueError(f"{key} must be {len(default)} numbers, got {value!r}.")
            keywords[key] = tuple(_number(f"{key} {i + 1}", x) for i, x in enumerate(value))
        elif isinstance(default, str):
            if not isinstance(value, str):
                raise ValueError(f"{key} must be a word, got {value!r}.")
            keywords[key] = value
        else:
            number = _number(key, value)
            whole = isinstance(default, int) and not isinstance(default, bool)
            if whole and not number.is_integer():
                raise ValueError(f"{key} must be a whole number, got {number:g}.")
            keywords[key] = int(number) if whole else number
    return keywords


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} must be a number, got {value!r:.60}.")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{name} must be finite.") from None
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {number}.")
    return number


def numbers(values: Any, what: str) -> dict[str, float]:
    """A mapping of names to numbers from a request."""
    if not isinstance(values, Mapping):
        raise ValueError(f"{what} must map names to numbers, got {type(values).__name__}.")
    return {str(key): _number(str(key), value) for key, value in values.items()}
