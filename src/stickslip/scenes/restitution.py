"""Restitution that depends on the approach, in scenes: curves of pairs of materials as machine code.

The curve of a pair is its own, or that of one body where the other has none, or the geometric mean of both.  It becomes
a kernel of two numbers, approach speed [m/s] and inertia that the contact feels [kg], which the step calls by address.
"""

from __future__ import annotations

import functools
import hashlib
import linecache
from typing import Any

import numpy as np

from stickslip.jit import Entry
from stickslip.laws.restitution import RestitutionCurve
from stickslip.scenes.bodies import Material

SPEEDS = np.concatenate([[0.0], np.logspace(-6, 3, 37)])
"""Approach speeds [m/s] at which a curve is looked at when it is given."""


def checked(curve: RestitutionCurve, whose: str) -> RestitutionCurve:
    """The curve, if it depends on nothing but speed and mass, and lies in [0, 1] at some speeds and masses."""
    others = curve.curve.free_symbols - {curve.speed, curve.mass}
    if others:
        names = ", ".join(sorted(str(symbol) for symbol in others))
        raise ValueError(f"restitution of {whose} must depend on speed and mass alone, got {names} as well.")
    function = _function(_text(curve.at(*_symbols())))
    for mass in (1e-6, 1.0, 1e3):
        for speed in SPEEDS:
            value = function.py_func(float(speed), mass)
            if not 0.0 <= value <= 1.0:
                raise ValueError(
                    f"restitution of {whose} must lie in [0, 1], got {value:g} at {speed:g} m/s and {mass:g} kg; write "
                    "sp.Max(0, ...) where it falls below zero."
                )
    return curve


def curve_of(first: Material, second: Material, own: Material) -> str | None:
    """Text of the curve of two materials, `own` that of the pair; None where restitution is a number."""
    values = [own.restitution] if own.restitution is not None else [first.restitution, second.restitution]
    given = [value for value in values if value is not None]
    if not any(isinstance(value, RestitutionCurve) for value in given):
        return None
    import sympy as sp

    parts = [value.at(*_symbols()) if isinstance(value, RestitutionCurve) else sp.Float(value) for value in given]
    return _text(parts[0] if len(parts) == 1 else sp.sqrt(parts[0] * parts[1]))


def addresses(texts: list[str]) -> np.ndarray:
    """Addresses of the machine code of curves, (n,); at least one number, so that the array has one type everywhere."""
    return np.array([_function(text).address(1.0, 1.0) for text in texts] or [0], np.int64)


def _symbols() -> tuple[Any, Any]:
    import sympy as sp

    return sp.Symbol("speed", nonnegative=True), sp.Symbol("mass", positive=True)


def _text(expression: Any) -> str:
    """The expression in Python, with the functions of `math`."""
    import sympy as sp

    return str(sp.pycode(expression))


@functools.cache
def _function(text: str) -> Entry:
    """A kernel that computes the expression."""
    source = f"def curve(speed, mass):\n    return 1.0 * ({text})\n"
    file = f"<restitution {hashlib.sha256(source.encode()).hexdigest()[:20]}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    import math

    names: dict[str, Any] = {"math": math}
    exec(compile(source, file, "exec"), names)
    return Entry(names["curve"])
