"""Corners of forces and of friction in velocities along a motion, such as |a|, max(a, b) and min(a, b).

They are no events.  But a motion may lie on one, and where it passes one, the variational equations X' = A X + B have a
jump of A: a collocation step across it is of first order only, and has to be cut there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stickslip.checks import Array
from stickslip.events.arcs import SAMPLES, Arc
from stickslip.events.looks import Levels
from stickslip.mechanisms.corners import Corners

_ON = 1e-12  # levels below, in units of the model, are on the corner
_STEP = 1e-4  # of the state: the longer one of two steps that tell a corner from a bend


@dataclass(frozen=True, eq=False)
class Passed:
    """Corners along an arc: times in order at which one is passed, (time, number) of touches, numbers of open ones."""

    times: list[float]
    touches: tuple[tuple[float, int], ...]
    open: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class VelocityCorners:
    """The corners of a system, with its forces."""

    corners: Corners
    force: Callable[[Array, Array, float, Array], Array]

    @property
    def of_forces(self) -> int:
        """How many of the levels, the first ones, are those of |a|, max and min in forces: a motion may lie on them."""
        return self.corners.of_forces

    def passed(self, arc: Arc, p: Array) -> Passed:
        """Where levels go through zero inside an arc, where they touch it, and of which that cannot be told."""
        levels, times = Levels(self.corners.ranges, self.corners.values), np.linspace(arc.t_A, arc.t_E, SAMPLES + 1)
        looks = levels.looks(arc.dense, arc.f, times, p)
        if looks.free:
            return Passed([], (), ())
        found = [time for time, _ in levels.zeros(arc.dense, looks.times, p)]
        inside = [time for time in found if arc.t_A < time < arc.t_E]
        values = self.corners.values(looks.times, arc.vector(looks.times), p)
        hidden = [j for j in looks.open if np.abs(values[j]).max() > _ON]  # others lie on their corner
        return Passed(inside, looks.touches, tuple(hidden))

    def on(self, t: float, x: Array, p: Array) -> np.ndarray:
        """Which corners of forces a state x (2 f,) lies on, (j,) bool."""
        f = len(x) // 2
        return np.asarray(np.abs(self.corners.levels(x[:f], x[f:], t, p)[: self.of_forces]) <= _ON)

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
