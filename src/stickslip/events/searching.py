"""The search of every step of an integrator for what its stages may not see.

These are corners of forces in velocities, narrow functions of place, and pulses in time.  Kinks of gaps and forces in
place and time are events, see `arcs`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from stickslip.checks import Array
from stickslip.events.looks import PARTS, Levels, courses_of
from stickslip.events.paces import hides, narrow_functions, paces_of
from stickslip.mechanisms.corners import corners_of
from stickslip.mechanisms.system import System

_NEAR = 1e-8  # share of a step: corners that near to its ends are at its ends
_HALVINGS = 16  # times that a step is halved for what it may hide
_AIMS = 4  # times that a step is taken anew, to end at a corner


class Searching:
    """A present whose steps are searched.

    Attributes: system, p, f, t, t_end, span, rtol, atol as in `present.Present`; corners, paces, narrow: what is
    searched for, None where there is nothing; max_step, the longest step [s] that is asked for.
    """

    system: System
    p: Array
    f: int
    t: float
    t_end: float
    span: float
    rtol: float
    atol: float
    max_step: float = np.inf

    @abstractmethod
    def _rates(self, t: float, y: Array) -> Array: ...

    @abstractmethod
    def _slips(self, k: int) -> bool:
        """Whether the friction of contact k acts now as one of slip."""

    def _prepare_search(self) -> None:
        self.corners = corners_of(self.system)
        self.paces = paces_of(self.system, self.p, self.t, self.t_end)
        self.narrow = narrow_functions(self.system)

    def _longest(self, t: float) -> float:
        """Longest step [s] from a time on."""
        return self.max_step if self.paces is None else min(self.max_step, self.paces.longest(t))

    def _hides(self, begin: float, end: float, dense: Callable[[Any], Array]) -> bool:
        """Whether a step may pass over something narrow, see `paces`."""
        if self.narrow is None or not end - begin > 1e-9 * self.span:
            return False
        asked = [k < 0 or self._slips(k) for k in self.narrow.contacts]
        if not any(asked):
            return False
        states = courses_of(dense, self.f, np.linspace(begin, end, PARTS + 1))
        return hides(self.narrow.ranges.held(self.p), states, asked)

    def _corner(self, begin: float, end: float, dense: Callable[[Any], Array]) -> float | None:
        """The first corner of forces, or of the friction of a slipping contact, that a step passes in its inside.

        Corners at which forces jump are left to the integrator: a motion may slide along one.  So are levels that are
        zero all along, as far as the motion is known.
        """
        corners = self.corners
        if corners is None:
            return None
        p, times = self.p, np.linspace(begin, end, PARTS + 1)
        levels = Levels(corners.ranges, corners.values)
        asked = np.array([k < 0 or self._slips(k) for k in corners.contacts])
        looks = levels.looks(dense, self.f, times, p, ~asked, self.atol)
        zeros = [] if looks.free else levels.zeros(dense, looks.times, p)
        if not zeros:
            return None
        most = np.abs(corners.values(looks.times, dense(looks.times).T, p)).max(axis=1)
        near = _NEAR * (end - begin)
        for time, j in zeros:
            moves = asked[j] and most[j] > 10.0 * (self.atol + self.rtol * looks.sizes[j])
            if moves and begin + near < time < end - near and not self._jumps(time, end - begin, dense):
                return time
        return None

    def _jumps(self, time: float, length: float, dense: Callable[[Any], Array]) -> bool:
        """Whether accelerations jump at a time of a step: their difference does not fall with the distance."""

        def apart(aside: float) -> tuple[float, float]:
            a, b = (self._rates(t, dense(t))[self.f : 2 * self.f] for t in (time - aside, time + aside))
            return float(np.abs(a - b).max()), float(np.abs(a).max())

        (wide, _), (narrow, size) = apart(1e-6 * length), apart(1e-7 * length)
        return narrow > 0.5 * wide and narrow > 1e-12 * size


def searched_step(
    solver: Any,
    back: Callable[[float], None],
    hides: Callable[[float, float, Callable[[Any], Array]], bool] | None,
    corner: Callable[[float, float, Callable[[Any], Array]], float | None] | None,
) -> tuple[Callable[[Any], Array] | None, str]:
    """One step as a function of time; None and the reason where there is none.

    Across a corner of its forces a step is less exact than its error estimate says, and a corner that it enters and
    leaves again the estimate does not see at all.  So a step with a corner inside is taken anew, as far as the corner.

    back : puts the integrator back to the begin of the step, with a length to try
    """
    aims, halvings, begin = 0, 0, float(solver.t)
    while True:
        message = solver.step()
        if message is not None or not np.all(np.isfinite(solver.y)):
            return None, str(message)
        dense: Callable[[Any], Array] = solver.dense_output()
        if hides is not None and halvings < _HALVINGS and hides(begin, solver.t, dense):
            length, halvings = 0.5 * (solver.t - begin), halvings + 1
        else:
            end = None if corner is None or aims == _AIMS else corner(begin, solver.t, dense)
            if end is None:
                return dense, ""
            length, aims = end - begin, aims + 1
        back(length)
        solver.status = "running"
