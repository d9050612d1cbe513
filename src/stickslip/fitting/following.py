"""A chaotic motion followed from its start: the part of the data that counts grows as far as the prediction meets it.

In a chaotic motion the sum of squares of all samples has countless minima.  That of the first few samples has one.  Its
values predict a little more of the motion to within the noise, and this part fixes the values better: about as much
better as a small distance grows over it.  So each step begins within the valley of the next, however far a small
distance grows over the whole motion.  Parts of a fixed share of the time (a quarter, a half) would leave the valley.

On the minima of chaotic motions and on multiple shooting: H. U. Voss, J. Timmer, J. Kurths, Nonlinear dynamical system
identification from uncertain and indirect measurements, Int. J. Bifurcation and Chaos 14 (2004) 1905-1933.  Parts that
grow as far as they are met are not in this paper.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stickslip.checks import Array
from stickslip.fitting.problem import Problem

_OFF = 4.0  # standard deviations: from its first sample that is further off on, a motion is not met
_AHEAD = 20  # one sample beyond per this many that are met: the residuals there show the way
_FIRST = 4  # moments beyond two per unknown with which a motion begins
_TRIES = 15  # predictions of one refinement


def followed(problem: Problem, z: Array, report: Callable[[float], None] = lambda share: None) -> tuple[Array, float]:
    """The minimum that is reached from z when each motion counts as far as it is met, and a little further.

    report : called with the share of the moments that count
    """
    rows = [np.flatnonzero(problem.experiment == number) for number in range(len(problem.experiments))]
    moments = [np.unique(problem.t[mine]) for mine in rows]
    counted, every = [0] * len(rows), sum(map(len, moments))
    while True:
        r = np.abs(problem.residuals(z)[: problem.count])
        for number, mine in enumerate(rows):
            met = _met(problem.t[mine], r[mine], moments[number])
            if met < len(moments[number]):
                met = max(met + max(1, met // _AHEAD), counted[number] + 1, 2 * problem.size + _FIRST)
            counted[number] = max(counted[number], min(met, len(moments[number])))
        report(sum(counted) / every)
        if sum(counted) == every:
            return problem.refine(z)
        left_out, until = np.zeros(problem.count, dtype=bool), 0.0
        for number, mine in enumerate(rows):
            last = float(moments[number][counted[number] - 1])
            left_out[mine], until = problem.t[mine] > last, max(until, last)
        z, _ = problem.refine(z, until=until, left_out=left_out, tries=_TRIES)


def _met(t: Array, r: Array, moments: Array) -> int:
    """Number of moments before the first one with a residual that is too large."""
    off = t[r > _OFF]
    return len(moments) if not len(off) else int(np.searchsorted(moments, off.min()))
