"""Corners of forces in velocities, |a|, max(a, b) and min(a, b): they are no events, but a motion may lie on one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from stickslip.checks import Array

_ON = 1e-12  # levels below, in units of the model, are on the corner
_STEP = 1e-4  # of the state: the longer one of two steps that tell a corner from a bend


@dataclass(frozen=True, eq=False)
class VelocityCorners:
    """Levels (j,) of the corners as a function of q, u, t, p: zero right on them."""

    levels: Callable[[Array, Array, float, Array], Array]
    force: Callable[[Array, Array, float, Array], Array]

    @classmethod
    def of(cls, system: Any) -> VelocityCorners | None:
        """The corners of a system's forces; None without any, and where forces are no expressions."""
        import sympy as sp

        try:
            equations = system.equations()
        except (AttributeError, ValueError):  # another kind of system, or one that was given as functions
            return None
        velocities, found = set(equations.u), []
        for term in equations.h.atoms(sp.Abs, sp.Max, sp.Min):
            if term.free_symbols & velocities:
                pairs = [*combinations(term.args, 2)] if len(term.args) > 1 else [(term.args[0], sp.S.Zero)]
                found += [a - b for a, b in pairs]
        if not found:
            return None
        parameters = equations.parameters
        values = sp.lambdify([equations.q, equations.u, equations.t, parameters], found, "numpy")

        def levels(q: Array, u: Array, t: float, p: Array) -> Array:
            return np.array(values(q, u, t, p[: len(parameters)]), dtype=float)

        return cls(levels, system.force)

    def on(self, t: float, x: Array, p: Array) -> np.ndarray:
        """Which corners a state x (2 f,) lies on, (j,) bool."""
        f = len(x) // 2
        return np.asarray(np.abs(self.levels(x[:f], x[f:], t, p)) <= _ON)

    def bends(self, t: float, x: Array, p: Array, moved: Array, changed: Array) -> bool:
        """Whether forces have a corner at x along one of the columns `moved` (2 f, k) with parameters `changed` (m, k).

        The second difference over the step stays at a corner, and falls with the step where forces are smooth.
        """
        f = len(x) // 2
        for d, e in zip(moved.T, changed.T, strict=True):
            size = max(float(np.abs(d).max(initial=0.0)), float(np.abs(e).max(initial=0.0)))
            if not 0.0 < size < np.inf:
                continue

            def at(s: float, d: Array = d / size, e: Array = e / size) -> Array:
                y = x + s * d
                return self.force(y[:f], y[f:], t, p + s * e)

            here = at(0.0)
            long, short = (float(np.abs(at(s) - 2.0 * here + at(-s)).max()) / s for s in (_STEP, 0.1 * _STEP))
            if short > max(0.5 * long, 1e-9 * max(1.0, float(np.abs(here).max()))):
                return True
        return False
