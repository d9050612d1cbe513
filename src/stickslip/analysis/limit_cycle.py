"""Limit cycles by Newton shooting on a section, with their Floquet multipliers.

    P(x) = x + shift,    P the return map of the section; `shift` only in coordinates that stand in no equation

Event by event, P is computed to the tolerance of the integrator and DP from saltation matrices; with a time stepper, P
is a mean over step sizes and DP a difference quotient.  The multipliers are the eigenvalues of the monodromy matrix: a
cycle is stable if all lie inside the unit circle, but for those that are 1 in any case, one of an autonomous system
(along the flow) and one per coordinate that may shift.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from stickslip.analysis.cycle_result import LimitCycle, NoCycle
from stickslip.analysis.guess import Guess
from stickslip.analysis.progress import Progress, reported
from stickslip.analysis.return_map import EventMap, Setting
from stickslip.analysis.saltation import Undefined
from stickslip.analysis.sections import AnySection, with_reset
from stickslip.analysis.shooting import shoot
from stickslip.analysis.step_map import StepMap
from stickslip.analysis.stepped_shooting import shoot_stepped
from stickslip.checks import real_number, renamed, whole_number
from stickslip.events.event_driven import EventDriven
from stickslip.laws import ImpactLaw
from stickslip.mechanisms.reset import Reset
from stickslip.scenario import Scenario

MOST_RETURNS = 1_000_000_000  # of a settling run
_FINE_STEP, _COARSE_STEP = 5e-4, 1e-2  # of the scenario's: default dt where members are even, and where they are not


@renamed(advance="progress")
def limit_cycle(
    scenario: Scenario,
    *,
    section: AnySection | None = None,
    reset: Reset | None = None,
    stepper: Any = "event-driven",
    law: str | ImpactLaw | None = None,
    returns: int | None = None,
    settle_returns: int = 200,
    dt: float | None = None,
    rtol: float = 1e-11,
    members: int = 32,
    tol: float = 1e-9,
    check: bool = True,
    progress: Progress = None,
) -> LimitCycle:
    """Find the limit cycle that a motion settles on, or the one next to its start, with its Floquet multipliers.

    Parameters
    ----------
    scenario : what moves
    section : where cycles are cut, an object or text: `LevelSection`, `ClosingSection`, or `PhaseSection` and
        `DriveSection` for driven systems, see `analysis.sections`; None: the system's own
    reset : new names for coordinates after each return, for walkers and wheels; None: the scenario's own
    stepper : "event-driven" or `EventDriven(rtol)`; else a time stepper as `simulate` takes it
    law : impact law, as in `simulate`
    returns : passages of the section per cycle; None: what the settled motion shows, at most 16
    settle_returns : passages that a time stepper runs before Newton's method takes over; 0: the start is the guess,
        which also finds unstable cycles
    dt : step size of the time stepper [s]; None: 5e-4 of the scenario's, or a hundredth of it at a phase or an impact
        (a tenth while settling)
    rtol : of the event-driven integrator
    members : motions over which the time stepper's return map is averaged, see `analysis.step_map`
    tol : closure at which Newton's method ends, relative to the ranges of the motion (event-driven)
    check : also compute DP by differences, and the largest disagreement (event-driven)
    progress : name the stages on stderr, see `analysis.progress`; a function is called with a line before each stage

    Raises
    ------
    ValueError : a section that does not suit the system, numbers out of range
    NoCycle : the motion does not recur, or Newton's method does not converge
    """
    setting = Setting.of(with_reset(scenario, reset), section, law)
    _check_numbers(returns, settle_returns, members, tol)
    judge = stepper if isinstance(stepper, EventDriven) else EventDriven(rtol=rtol)
    by_events = isinstance(stepper, EventDriven) or stepper == EventDriven.name
    with reported(progress, "settling") as tell:
        tell("settling")
        by = "moreau-midpoint" if by_events else stepper
        guess = Guess.of(setting, returns, settle_returns, by, judge.rtol, tell)
        if by_events:
            found = shoot(EventMap(setting, guess.returns, judge.rtol, guess.horizon), guess, tol, check, tell)
            doubled = (
                found.nontrivial.size and found.nontrivial[0].real < -1.0 and returns is None and settle_returns > 0
            )
            return _doubled(setting, guess, judge.rtol, tol, check, tell, found) if doubled else found
        step_map = StepMap(setting, guess.returns, stepper, scenario.dt, members, guess.horizon)
        fine = (_FINE_STEP if step_map.even else _COARSE_STEP) * scenario.dt if dt is None else real_number(dt, "dt")
        return shoot_stepped(replace(step_map, dt=fine), guess, tell)


def _check_numbers(returns: Any, settle_returns: Any, members: Any, tol: Any) -> None:
    for name, value, low in (("returns", returns, 1), ("settle_returns", settle_returns, 0), ("members", members, 1)):
        if name == "settle_returns" or value is not None:
            whole_number(value, name, low)
    if settle_returns > MOST_RETURNS:
        raise ValueError(f"settle_returns must be {MOST_RETURNS} at most, got {settle_returns}.")
    if not 1e-14 <= real_number(tol, "tol") <= 1e-2:
        raise ValueError(f"tol must lie between 1e-14 and 0.01, got {tol:g}.")


def _doubled(
    setting: Setting,
    guess: Guess,
    rtol: float,
    tol: float,
    check: bool,
    tell: Callable[[str], None],
    single: LimitCycle,
) -> LimitCycle:
    """The cycle of twice the returns that a settled motion shows where the simple one is unstable; else the simple."""
    twice = replace(guess, returns=2 * guess.returns, horizon=2.0 * guess.horizon)
    try:
        double = shoot(EventMap(setting, twice.returns, rtol, twice.horizon), twice, tol, check, tell)
    except (NoCycle, Undefined):
        return single
    apart = np.abs(setting.difference(double.x, single.x) / guess.scale).max()
    return double if apart > 1e-4 and double.stable else single
