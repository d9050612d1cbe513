"""Friction that depends on the slip of the step it acts in: what one contact contributes to the iteration.

A contact whose coefficient is not constant enters a step with a flag (`holds`).  One that stuck is held by its static
coefficient mu_s; if it slips nevertheless, it is let go and slips to the end of the step.  One that slips has the
coefficient mu(|gamma_T^E|) of its own end velocity, [S00] 4.3, found by a fixed point from mu(|gamma_T^A|) with a
secant through the last two of its pairs (speed of the coefficient, speed at the end).  Its contraction is
Lambda_N beta |mu'|, of order dt; a coefficient that falls makes the fixed point increasing: it arrives at the root next
to gamma_T^A.

Several contacts: every round solves the contact problem of the step with all coefficients frozen, then each contact
answers; nothing returns from slip to stick but by coming to rest, so that the flags change at most once.

The arrays of a step, one entry per contact: mode; grab, 1 while a slip that comes near zero may yet be caught;
speed at which mu was taken; end, the speed at the end of the step, 0 where it rests; speed_before and end_before, the
pair of the round before, -1 where there is none; mu_end, the coefficient at `end`; static, mu_s; low and high, speeds
between which the fixed point lies.
"""

from __future__ import annotations

import math

from stickslip.jit import entry

UNSET, HELD, SLIDES = 0, 1, 2
CONSTANT, DEPENDS, GRABS = 0, 1, 2  # codes of the laws: constant mu; depends on slip; with graze="grab"
AT_REST = 1e-10  # a slip velocity this small against its terms is zero, as for the contact states
SETTLED, SETTLED_LATE = 1e-13, 1e-11  # of the velocities: a law that the coefficient misses by less is obeyed
STEEPEST = 0.99  # of the slope d end / d speed, up to which the secant is taken
EARLY = 8  # rounds after which the interval of the fixed point is halved


@entry(inline=True)
def begin_slip(k: int, code: int, sticks: float, gamma_A: float, sliding) -> None:  # type: ignore[no-untyped-def]
    """Set up contact k at its first round in a step; `sticks` is the flag from the step before."""
    mode, grab = sliding[0], sliding[1]
    mode[k] = HELD if sticks != 0.0 else SLIDES
    grab[k] = 1 if code == GRABS and sticks == 0.0 else 0
    start_slip(k, abs(gamma_A), sliding)


@entry(inline=True)
def start_slip(k: int, first: float, sliding) -> None:  # type: ignore[no-untyped-def]
    """Begin the fixed point of contact k at a speed."""
    _, _, speed, _, _, end_before, _, _, low, high = sliding
    speed[k] = first
    end_before[k] = -1.0
    low[k] = 0.0
    high[k] = math.inf


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
def next_speed(k: int, sliding, late: bool) -> float:  # type: ignore[no-untyped-def]
    """The speed at which contact k tries its coefficient next: secant, or the middle of what encloses the fixed point.

    end(0) >= 0, so that a speed that is too high has a fixed point below it.  Other contacts may move it out of its
    interval: then there is none any more.
    """
    _, _, speed, end, speed_before, end_before, _, _, low, high = sliding
    if end[k] > speed[k]:
        low[k] = speed[k]
    else:
        high[k] = speed[k]
    if not low[k] < high[k]:
        low[k] = 0.0
        high[k] = math.inf
    trial = secant(speed[k], end[k], speed_before[k], end_before[k])
    bounded = high[k] < math.inf
    if bounded and (late or not (low[k] < trial < high[k])):
        trial = 0.5 * (low[k] + high[k])
    return max(0.0, trial)


@entry(inline=True)
def next_slip(  # type: ignore[no-untyped-def]
    k: int, sliding, mu: float, gamma_A: float, gamma_E: float, size: float, beta: float, N: float, T: float, a: float,
    tol: float, late: bool,
) -> tuple[bool, float, float]:  # fmt: skip
    """Judge contact k after a round; (whether its coefficient has to change, defect, contraction).

    The defect is what the law is missed by, as a velocity relative to `size`, to be at most `tol`; mode and speed are
    those of the next round.  `late` asks for halving.
    """
    mode, grab, speed, end, speed_before, end_before, mu_end, _, _, _ = sliding
    if not (mu_end[k] >= 0.0 and mu_end[k] < math.inf):
        return True, math.inf, 0.0
    rests = end[k] == 0.0 or abs(T) < (mu * N + a) * (1.0 - 1e-12)  # or rebounds within the cone (eps_T > 0)
    if mode[k] == HELD:
        if rests:
            return False, 0.0, 0.0
        mode[k] = SLIDES
        start_slip(k, end[k], sliding)
        return True, math.inf, 0.0
    if rests:
        defect = max(0.0, abs(T) - mu_end[k] * N - a) * beta
    else:
        defect = abs(mu_end[k] - mu) * N * beta
    if defect > 0.0:
        defect /= size
    contraction = 0.0
    if abs(end[k] - speed[k]) > 1e-6 * size:
        contraction = abs(mu_end[k] - mu) / abs(end[k] - speed[k]) * N * beta
    if defect <= tol:
        # Slower than before, or turned: would the static coefficient have caught it on the way?
        if grab[k] != 0 and not rests and N > 0.0 and (gamma_E * gamma_A <= 0.0 or end[k] < abs(gamma_A)):
            grab[k] = 0
            mode[k] = HELD
            return True, defect, contraction
        return False, defect, contraction
    trial = next_speed(k, sliding, late)
    speed_before[k] = speed[k]
    end_before[k] = end[k]
    speed[k] = trial
    return True, defect, contraction
