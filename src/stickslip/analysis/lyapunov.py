"""Lyapunov exponents of a motion, event by event, with saltation matrices; and recurrence of its section."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.analysis.poincare import SectionPoints
from stickslip.analysis.progress import Progress, reported
from stickslip.analysis.saltation import FollowedMotion
from stickslip.checks import Array, real_number, renamed
from stickslip.scenario import Scenario, require_scenario


@dataclass(frozen=True, eq=False)
class Lyapunov:
    """Lyapunov exponents [1/s], largest first, (2 f,); -inf for perturbations that die out in finite time.

    Attributes: t, history, times (k,) and running means (k,) of the largest; error, how much that changed over the last
    half of the run [1/s].
    """

    exponents: Array
    t: Array
    history: Array
    error: float

    @property
    def largest(self) -> float:
        """The largest exponent [1/s]."""
        return float(self.exponents[0])

    def __repr__(self) -> str:
        values = ", ".join(f"{value:.6g}" for value in self.exponents)
        return (
            f"<Lyapunov exponents {values} 1/s; the largest changed by {self.error:.2g} over the last half of "
            f"{self.t[-1]:.6g} s, {len(self.t)} arcs>"
        )


@renamed(transient="skip", advance="progress")
def lyapunov(
    scenario: Scenario,
    *,
    t_end: float | None = None,
    skip: float | None = None,
    rtol: float = 1e-9,
    progress: Progress = None,
) -> Lyapunov:
    """Mean rates at which perturbations of a motion grow, lambda = lim (1/t) ln |dx(t)| / |dx(0)|.

    The result has all 2 f exponents.  Perturbations are carried along with the motion and made orthogonal again after
    every arc (Benettin 1980; Müller 1995 for motions with jumps).  An autonomous system has an exponent 0 along its
    flow, and one for every coordinate that stands in no equation.  A positive exponent shows chaos.

    Parameters
    ----------
    t_end : length of the run [s]; None: ten times the scenario's
    skip : length of the beginning that is left out [s]; None: a fifth of t_end
    rtol : relative tolerance of the event-driven integrator
    progress : show a progress bar on stderr, see `analysis.progress`; a function is called with the share done

    Returns
    -------
    Lyapunov : all exponents [1/s], and the running mean of the largest

    Raises
    ------
    ValueError : skip outside of 0 .. t_end
    Undefined : the motion grazes a contact exactly
    MotionError : the motion cannot go on
    """
    require_scenario(scenario, "lyapunov")
    system = scenario.system
    system.require_planar("lyapunov")
    end = 10.0 * scenario.t_end if t_end is None else real_number(t_end, "t_end")
    begin = 0.2 * end if skip is None else real_number(skip, "skip")
    if not 0.0 <= begin < end:
        raise ValueError(f"skip must lie between 0 and t_end = {end:g} s, got {begin:g}.")
    q, u, p = system.check(scenario.q0, scenario.u0, scenario.params)
    motion = FollowedMotion.of(system, np.concatenate([q, u]), p, 0.0, end, rtol)
    sums, times, history, start = np.zeros(2 * system.n_dof), [], [], None
    with reported(progress, "motion and perturbations", 1.0) as report:
        for arc in motion.arcs():
            motion.passed.clear()
            motion.Phi, R = np.linalg.qr(motion.Phi)
            report(arc.t_A / end)
            if arc.t_A < begin:
                continue
            if start is None:
                start = arc.t_A  # growth counts from here
                continue
            with np.errstate(divide="ignore"):
                sums = sums + np.log(np.abs(np.diag(R)))
            times.append(arc.t_A - start)
            history.append(float(sums[0]))
    if start is None or len(times) < 2:
        raise ValueError(f"t_end - skip = {end - begin:g} s is too short: the motion has no two arcs in it.")
    t = np.array(times)
    running = np.array(history) / t
    half = running[len(running) // 2 :]
    exponents = np.sort(sums / t[-1])[::-1]
    return Lyapunov(exponents, t + begin, running, float(np.ptp(half)) if np.all(np.isfinite(half)) else np.inf)


@dataclass(frozen=True, eq=False)
class Recurrence:
    """Recurrence of the n points of a section: which pairs of points lie near one another.

    Attributes
    ----------
    matrix : (n, n) bool, |x_i - x_j| <= tol of the ranges
    rate : share of pairs that lie near one another
    determinism : share of these pairs on diagonal lines of at least two: 1 for cycles, small for noise
    returns : number of returns after which a point first comes back, median over the points; 0 if most never do
    """

    matrix: np.ndarray
    rate: float
    determinism: float
    returns: int

    def __str__(self) -> str:
        back = f"a point comes back after {self.returns} returns" if self.returns else "most points never come back"
        return f"{len(self.matrix)} points: rate {self.rate:.3g}, determinism {self.determinism:.3g}, {back}"


def recurrence(points: SectionPoints, *, tol: float = 0.02, leave_out: tuple[str, ...] = ()) -> Recurrence:
    """Recurrence of a section (Eckmann, Kamphorst and Ruelle 1987).

    Parameters
    ----------
    points : of a section, at least 3, as `poincare` returns them
    tol : distance that counts as near, relative to the range of each coordinate and velocity over the points, at least
        a tenth of its size
    leave_out : names of coordinates that may shift from cycle to cycle, as the woodpecker's height

    Returns
    -------
    Recurrence : which points lie near one another, and rate, determinism and returns

    Raises
    ------
    ValueError : fewer than 3 points, or tol outside of 0 .. 1
    """
    if len(points) < 3:
        raise ValueError(f"recurrence needs at least 3 points on the section, got {len(points)}; run longer.")
    if not 0.0 < real_number(tol, "tol") < 1.0:
        raise ValueError(f"tol must lie between 0 and 1, got {tol:g}.")
    names = (*points.coordinate_names, *points.velocity_names)
    keep = [i for i, name in enumerate(names) if name not in leave_out]
    x = points.x[:, keep]
    size = np.maximum(np.ptp(x, axis=0), 0.1 * np.abs(x).max(axis=0))  # a settled cycle has no range to speak of
    x = x / np.where(size > 0.0, size, 1.0)
    matrix = np.abs(x[:, None] - x[None, :]).max(axis=-1) <= tol
    n = len(x)
    off = matrix & ~np.eye(n, dtype=bool)
    along = np.zeros_like(off)
    along[:-1, :-1] |= off[:-1, :-1] & off[1:, 1:]
    along[1:, 1:] |= off[1:, 1:] & off[:-1, :-1]
    firsts: list[Any] = [np.flatnonzero(off[i, i + 1 :]) for i in range(n - 1)]
    waits = [int(row[0]) + 1 if len(row) else 0 for row in firsts[: max(1, n // 2)]]
    return Recurrence(
        matrix,
        float(off.sum() / (n * (n - 1))),
        float(along.sum() / off.sum()) if off.any() else 0.0,
        int(np.median(waits)),
    )
