"""Whether two cycles are one and the same: run through several times, or found at another of its passages.

The return map of n passages has the fixed points of every divisor of n as well, so a cycle that was looked for with too
many returns closes all the same: its period is a multiple, its multipliers are powers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip.analysis.cycle_result import LimitCycle
from stickslip.analysis.guess import Guess, ranges, without_travel
from stickslip.analysis.return_map import EventMap, Setting
from stickslip.analysis.shooting import shoot
from stickslip.checks import Array

_SAME = 1e-5  # of the ranges of a motion, and of its period; shooting leaves 1e-9
_HORIZON = 4.0  # periods that a return may take
_TOL = 1e-9


@dataclass(frozen=True, eq=False)
class Passages:
    """A cycle with its states on the section, one after the other, (returns, 2 f)."""

    setting: Setting
    cycle: LimitCycle
    states: Array

    def coincides(self, other: Passages) -> bool:
        """Whether the other cycle is this one, at whatever passage it was found."""
        if self.cycle.returns != other.cycle.returns:
            return False
        if abs(self.cycle.period - other.cycle.period) > _SAME * self.cycle.period:
            return False
        return bool((self.distances(other.states[-1]) < _SAME).any())

    def distances(self, x: Array) -> Array:
        """Of a state from each passage, in ranges of the motion, (returns,)."""
        gaps = self.setting.difference(self.states, x) / ranges(self.cycle.orbit[1])
        return np.asarray(np.abs(gaps).max(axis=1))


def shortest(setting: Setting, cycle: LimitCycle) -> Passages:
    """The cycle with the fewest returns that closes, shot anew where they are fewer than it was found with."""
    horizon = _HORIZON * cycle.period
    once = EventMap(setting, 1, cycle.step, horizon)
    x, mode, states = cycle.x, None, []
    for _ in range(cycle.returns):
        back = once(x, mode, tangent=False)
        x, mode = back.x, back.mode
        states.append(x)
    found = Passages(setting, cycle, np.array(states))
    closing = np.flatnonzero(found.distances(cycle.x) < _SAME) + 1  # passages after which it is back
    fewest = next((int(n) for n in closing if cycle.returns % n == 0), cycle.returns)
    if fewest == cycle.returns:
        return found
    guess = Guess(without_travel(setting, x), mode, ranges(cycle.orbit[1]), fewest, horizon)
    single = shoot(EventMap(setting, fewest, cycle.step, horizon), guess, _TOL, check=True)
    return Passages(setting, single, found.states[-fewest:])
