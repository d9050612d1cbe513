"""Friction that depends on the slip of the step it acts in: what one contact contributes to the iteration.

A contact whose coefficient is not constant enters a step with a flag (`holds`).  One that stuck is held by its static
coefficient mu_s; if it slips nevertheless, it is let go and slips to the end of the step.  One that slips has the
coefficient mu(|gamma_T^E|) of its own end velocity, [S00] 4.3, found by a fixed point from mu(|gamma_T^A|) with a
secant through the last two of its pairs (speed of the coefficient, speed at the end).  Its contraction is
Lambda_N beta |mu'|, of order dt; a coefficient that falls makes the fixed point increasing: it arrives at the root next
to gamma_T^A.

Several contacts: every round solves the contact problem of the step with all coefficients frozen, then each contact
answers; nothing returns from slip to stick but by coming to rest, so that the flags change at most once.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from stickslip.jit import entry

UNSET, HELD, SLIDES = 0, 1, 2
CONSTANT, DEPENDS, GRABS = 0, 1, 2  # codes of the laws: constant mu; depends on slip; with graze="grab"
AT_REST = 1e-10  # a slip velocity this small against its terms is zero, as for the contact states
SETTLED, SETTLED_LATE = 1e-13, 1e-11  # of the velocities: a law that the coefficient misses by less is obeyed
STEEPEST = 0.99  # of the slope d end / d speed, up to which the secant is taken
EARLY = 8  # rounds after which the interval of the fixed point is halved


class Slip(NamedTuple):
    """The rounds of a step, one entry per contact.

    mode : UNSET, HELD or SLIDES.
    grab : 1 while a slip that comes near zero may yet be caught.
    speed : where mu was taken [m/s].
    end : speed at the end of the step [m/s], 0 where the contact rests.
    speed_before, end_before : the pair of the round before; -1 where there is none.
    mu_end : the coefficient at `end`.
    static : mu_s.
    low, high : speeds between which the fixed point lies [m/s].
    """

    mode: np.ndarray
    grab: np.ndarray
    speed: np.ndarray
    end: np.ndarray
    speed_before: np.ndarray
    end_before: np.ndarray
    mu_end: np.ndarray
    static: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def room(cls, static: np.ndarray) -> Slip:
        """Arrays for contacts with these static coefficients, all of them UNSET."""
        n = len(static)
        speed, end, speed_before, end_before, mu_end, low, high = np.zeros((7, n))
        mode, grab = np.full(n, UNSET), np.zeros(n, int)
        return cls(mode, grab, speed, end, speed_before, end_before, mu_end, static, low, high)


class Round(NamedTuple):
    """Impulses and end velocity of one contact after a solved round.

    mu : coefficient of the round.  gamma_A, gamma_E : slip at both ends of the step [m/s].  size : of the terms that
    gamma_E is the sum of [m/s].  beta : w_T M^-1 w_T [1/kg].  N, T : impulses [N s].  a : load-independent part of the
    friction bound [N s].
    """

    mu: float
    gamma_A: float
    gamma_E: float
    size: float
    beta: float
    N: float
    T: float
    a: float


@entry(inline=True)
def begin_slip(k: int, code: int, sticks: float, gamma_A: float, slip: Slip) -> None:
    """Set up contact k at its first round in a step; `sticks` is the flag from the step before."""
    slip.mode[k] = HELD if sticks != 0.0 else SLIDES
    slip.grab[k] = 1 if code == GRABS and sticks == 0.0 else 0
    start_slip(k, abs(gamma_A), slip)


@entry(inline=True)
def start_slip(k: int, first: float, slip: Slip) -> None:
    """Begin the fixed point of contact k at a speed."""
    slip.speed[k] = first
    slip.end_before[k] = -1.0
    slip.low[k] = 0.0
    slip.high[k] = math.inf


@entry(inline=True)
def end_speed(gamma_E: float, size: float) -> float:
    """|gamma_T^E|, zero where it is nothing but round-off of terms of this size."""
    return 0.0 if abs(gamma_E) <= AT_REST * size else abs(gamma_E)


@entry(inline=True)
def holds(code: int, mode: int, end: float, gamma_A: float, size: float, loaded: bool) -> bool:
    """Whether a contact sticks after a step: it was held, or it rested at both ends of the step.

    One that comes to rest in the step is not held yet: its own momentum may have done that, and whether its slip goes
    on or turns is for the next step to say, which begins at rest.  With `GRABS` it is.
    """
    if not loaded or end != 0.0:
        return False
    return mode == HELD or code == GRABS or abs(gamma_A) <= AT_REST * size


@entry(inline=True)
def secant(speed: float, end: float, speed_before: float, end_before: float) -> float:
    """Next speed for the fixed point end(speed) = speed; plain where the secant is too steep to be trusted."""
    if end_before < 0.0 or speed == speed_before:
        return end
    slope = (end - end_before) / (speed - speed_before)
    if not slope < STEEPEST:
        return end
    return speed + (end - speed) / (1.0 - slope)


@entry(inline=True)
def next_speed(k: int, slip: Slip, late: bool) -> float:
    """The speed at which contact k tries its coefficient next: secant, or the middle of what encloses the fixed point.

    end(0) >= 0, so that a speed that is too high has a fixed point below it.  Other contacts may move it out of its
    interval: then there is none any more.
    """
    speed, end, low, high = slip.speed, slip.end, slip.low, slip.high
    if end[k] > speed[k]:
        low[k] = speed[k]
    else:
        high[k] = speed[k]
    if not low[k] < high[k]:
        low[k] = 0.0
        high[k] = math.inf
    trial = secant(speed[k], end[k], slip.speed_before[k], slip.end_before[k])
    bounded = high[k] < math.inf
    if bounded and (late or not (low[k] < trial < high[k])):
        trial = 0.5 * (low[k] + high[k])
    return max(0.0, trial)


@entry(inline=True)
def next_slip(k: int, slip: Slip, seen: Round, tol: float, late: bool) -> tuple[bool, float, float]:
    """Judge contact k after a round; (whether its coefficient has to change, defect, contraction).

    The defect is what the law is missed by, as a velocity relative to the size of its terms, to be at most `tol`; mode
    and speed are those of the next round.  `late` asks for halving.
    """
    mode, speed, end, mu_end = slip.mode, slip.speed, slip.end, slip.mu_end
    if not (mu_end[k] >= 0.0 and mu_end[k] < math.inf):
        return True, math.inf, 0.0
    bound = seen.mu * seen.N + seen.a
    rests = end[k] == 0.0 or abs(seen.T) < bound * (1.0 - 1e-12)  # or rebounds within the cone (eps_T > 0)
    if mode[k] == HELD:
        if rests:
            return False, 0.0, 0.0
        mode[k] = SLIDES
        start_slip(k, end[k], slip)
        return True, math.inf, 0.0
    if rests:
        defect = max(0.0, abs(seen.T) - mu_end[k] * seen.N - seen.a) * seen.beta
    else:
        defect = abs(mu_end[k] - seen.mu) * seen.N * seen.beta
    if defect > 0.0:
        defect /= seen.size
    contraction = 0.0
    if abs(end[k] - speed[k]) > 1e-6 * seen.size:
        contraction = abs(mu_end[k] - seen.mu) / abs(end[k] - speed[k]) * seen.N * seen.beta
    if defect <= tol:
        # Slower than before, or turned: would the static coefficient have caught it on the way?
        nearer = seen.gamma_E * seen.gamma_A <= 0.0 or end[k] < abs(seen.gamma_A)
        if slip.grab[k] != 0 and not rests and seen.N > 0.0 and nearer:
            slip.grab[k] = 0
            mode[k] = HELD
            return True, defect, contraction
        return False, defect, contraction
    trial = next_speed(k, slip, late)
    slip.speed_before[k] = speed[k]
    slip.end_before[k] = end[k]
    speed[k] = trial
    return True, defect, contraction
