"""Where a search for a limit cycle begins: a state on the section, from a settled motion or from the start."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.analysis.cycle_result import NoCycle
from stickslip.analysis.return_map import EventMap, NoReturn, Setting
from stickslip.analysis.sections import TURN, PhaseSection
from stickslip.analysis.step_map import Settled, recurrence, settle
from stickslip.checks import Array
from stickslip.events.book import MotionError
from stickslip.events.modes import Mode

HORIZON = 4.0  # periods that a return may take
_WALK = 1e-8  # of the integrator while a motion settles, return after return
_NEAR = 1e-4  # of the ranges: states this near are one cycle's, and Newton's method finds it
_AT_IT = 1e-9  # of the ranges: no nearer by this tolerance of the integrator
_STAYS = 0.999  # of a difference that does not shrink
_WINDOW = 4  # returns over which states come nearer or not


@dataclass(frozen=True, eq=False)
class Guess:
    """Where Newton's method begins: state on the section, its mode where known, ranges, and how long to wait [s]."""

    x: Array
    mode: Mode | None
    scale: Array
    returns: int
    horizon: float

    @classmethod
    def of(
        cls,
        setting: Setting,
        returns: int | None,
        settle_returns: int,
        stepper: Any,
        rtol: float,
        tell: Callable[[str], None] = lambda stage: None,
    ) -> Guess:
        """From a settled motion, or from the scenario's start; `tell` is called with the stages of settling."""
        scenario = setting.scenario
        if settle_returns == 0:
            return cls._from_start(setting, returns or 1, rtol)
        if setting.reset is not None:
            return cls._walked(setting, returns, settle_returns, rtol, tell)
        try:
            settled = settle(setting, settle_returns, stepper, scenario.dt / 10.0, tell)
        except NoReturn as problem:
            raise NoCycle(f"no limit cycle: {problem}") from None
        found = returns or settled.recurrence(setting)
        if not found:
            raise NoCycle(
                f"no limit cycle: after {settle_returns} returns (settle_returns) the section's states do not recur "
                "within 16 returns: chaos, or not settled"
            )
        return cls._from_settled(setting, settled, found)

    @classmethod
    def _from_settled(cls, setting: Setting, settled: Settled, returns: int) -> Guess:
        x = settled.points.x[-1].copy()
        period = float(settled.points.t[-1] - settled.points.t[-1 - returns])
        return cls(
            without_travel(setting, x), settled.mode, one_turn(setting, settled.scale), returns, HORIZON * period
        )

    @classmethod
    def _walked(
        cls, setting: Setting, returns: int | None, settle_returns: int, rtol: float, tell: Callable[[str], None]
    ) -> Guess:
        """From a motion that is followed event by event, return after return, since a reset lies between them."""
        scenario = setting.scenario
        x, mode = np.concatenate([scenario.q0, scenario.u0]), None
        step, states, times = EventMap(setting, 1, max(rtol, _WALK), scenario.t_end), [], []
        for count in range(settle_returns):
            tell(f"settling: {count} of {settle_returns} passages of the section")
            try:
                back = step(x, mode, tangent=False)
            except (NoReturn, MotionError) as problem:
                raise NoCycle(f"no limit cycle: after {count} returns {problem}") from None
            x, mode = without_travel(setting, back.x), back.mode
            states.append(x)
            times.append(back.period)
            scale = one_turn(setting, ranges(back.orbit[1]))
            found = _repeats(setting, states, scale, returns)
            if found:
                break
        else:
            found = returns or recurrence(setting, np.array(states), scale)
        if not found:
            raise NoCycle(
                f"no limit cycle: after {settle_returns} returns (settle_returns) the section's states do not recur "
                "within 16 returns: chaos, or not settled"
            )
        return cls(x, mode, scale, found, HORIZON * max(times[-found:]))

    @classmethod
    def _from_start(cls, setting: Setting, returns: int, rtol: float) -> Guess:
        scenario = setting.scenario
        x = np.concatenate([scenario.q0, scenario.u0])
        first = EventMap(setting, 1, rtol, scenario.t_end)(x, None, tangent=False)
        scale = one_turn(setting, ranges(first.orbit[1]))
        if isinstance(setting.section, PhaseSection):
            return cls(x, None, scale, returns, 0.0)
        second = EventMap(setting, returns, rtol, scenario.t_end)(first.x, first.mode, tangent=False)
        return cls(
            without_travel(setting, first.x), first.mode, scale, returns, min(scenario.t_end, HORIZON * second.period)
        )


def _repeats(setting: Setting, states: list[Array], scale: Array, returns: int | None) -> int:
    """Returns of the cycle to which states on the section have come so near that Newton's method is faster; 0: none.

    They must still come nearer: a motion that leaves an unstable cycle is near to it, too.  And they must not come
    nearer to a cycle of fewer returns, as those do that alternate on their way to it.
    """
    for n in (returns,) if returns else range(1, 17):
        before, now = _apart(setting, states, scale, n)
        if not (now < _NEAR and (now < before or now < _AT_IT)):
            continue
        fewer = [_apart(setting, states, scale, m) for m in range(1, n) if n % m == 0 and not returns]
        if all(now > _STAYS * before for before, now in fewer):
            return n
    return 0


def _apart(setting: Setting, states: list[Array], scale: Array, n: int) -> tuple[float, float]:
    """Largest |x_k - x_{k-n}| in ranges, over some returns and over as many later ones; inf where there are few."""
    window = max(n, _WINDOW)
    if len(states) < 2 * window + n:
        return math.inf, math.inf
    x = np.array(states[-2 * window - n :])
    apart = np.abs(setting.difference(x[n:], x[:-n]) / scale).max(axis=1)
    return float(apart[:window].max()), float(apart[window:].max())


def ranges(states: Array) -> Array:
    """Ranges of states (k, 2 f) along a motion; the largest where a component stays what it is."""
    width = np.ptp(states, axis=0)
    return np.asarray(np.where(width > 1e-9 * width.max(), width, width.max()))


def without_travel(setting: Setting, x: Array) -> Array:
    """A state with the coordinates at zero that cycles may shift, and angles without whole turns."""
    x = x.copy()
    x[list(setting.travel)] = 0.0
    for i in setting.turning:
        x[i] = math.remainder(x[i], TURN)
    return x


def one_turn(setting: Setting, scale: Array) -> Array:
    """Ranges of a motion in which an angle that goes on turning has the range of one turn."""
    scale = scale.copy()
    scale[list(setting.turning)] = np.minimum(scale[list(setting.turning)], TURN)
    return scale
