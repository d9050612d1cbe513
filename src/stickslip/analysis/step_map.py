"""The return map of a section by a time stepper, as a mean over where its steps begin.

With a fixed step dt every impact comes up to dt late, by an amount that jumps with the state.  So single returns
scatter by O(dt), and their difference quotients mean nothing.  The mean over n motions that begin on the section 1/(2
n), 3/(2 n), ... of a step later is smooth again.  The places of an event within its step are spread evenly, so that the
error of the mean falls with dt / n.  Driven motions begin at their phase; their mean is over step sizes near dt, and
its error falls with dt / sqrt(n).  The bias of the scheme, O(dt), remains.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.analysis.poincare import SectionPoints, poincare, points_of
from stickslip.analysis.progress import not_interrupted
from stickslip.analysis.return_map import NoReturn, Setting
from stickslip.analysis.sections import LevelSection, PhaseSection
from stickslip.checks import Array
from stickslip.events.modes import Mode
from stickslip.mechanisms.generate import STACK_LIMIT
from stickslip.run.options import chosen_stepper
from stickslip.trajectory import IMPACT, OPEN, SLIP_PLUS, STICK, Certificate, Trajectory

_GOLDEN = 0.5 * (5.0**0.5 - 1.0)
_SPREAD = 0.02  # of the step sizes around dt
_RECORDS = 4000  # per cycle
_LOOKS = 40  # returns of a settled motion that are looked at closely
_SOON = 0.3  # of the horizon, in which most motions have come back
_ROOM = 64  # passages of the section that are kept
_LONGER = 16.0  # at most, each run of a motion that settles than the run before
_QUIET = 3.0  # times as long as the time up to the last passage: a run without passages that is long enough
_GROUPS = 4  # of members, from whose means the error of the whole mean is seen


@dataclass(frozen=True, eq=False)
class MeanReturn:
    """State (2 f,) and period [s] on return, means over the members, and their standard errors."""

    x: Array
    period: float
    noise: Array
    period_noise: float
    certificate: Certificate


@dataclass(frozen=True, eq=False)
class StepMap:
    """The mean return map.

    Attributes: stepper, as `simulate` takes it; dt [s]; members, how many motions; returns and horizon as in
    `EventMap`.
    """

    setting: Setting
    returns: int
    stepper: Any
    dt: float
    members: int
    horizon: float

    def __call__(self, x: Array) -> MeanReturn:
        """Raises `NoReturn`, and ArithmeticError where a run fails."""
        times, states, certificate = self._together(x) if self.even else self._one_by_one(x)
        return MeanReturn(
            np.mean(states, axis=0), float(np.mean(times)), self._error(states), float(self._error(times)), certificate
        )

    @property
    def even(self) -> bool:
        """Whether members begin at evenly spread parts of a step, as an ensemble; else at several step sizes."""
        chosen = chosen_stepper(self.stepper)
        kernel = getattr(chosen, "scheme", None) is not None and getattr(chosen, "level", "") == "velocity"
        small = self.setting.scenario.system.n_contacts <= STACK_LIMIT
        section = self.setting.section
        level = isinstance(section, LevelSection) and section.turn is None
        return kernel and small and level and self.setting.reset is None

    def _error(self, values: Array) -> Any:
        """Standard error of the mean over members, the first axis.

        Of even members from the means of every fourth: these are even as well, and their errors larger.
        """
        if self.even and self.members >= 2 * _GROUPS:
            means = [np.mean(values[k::_GROUPS], axis=0) for k in range(_GROUPS)]
            return np.std(means, axis=0) / np.sqrt(_GROUPS)
        return np.std(values, axis=0) / np.sqrt(max(1, self.members))

    def _together(self, x: Array) -> tuple[Array, Array, Certificate]:
        """Times [s] and states of the members on return, (n,) and (n, 2 f)."""
        once = self._run(x, self.dt, self.dt, 1)
        ahead = np.concatenate([once.q[-1], once.u[-1]]) - x
        parts = (np.arange(self.members) + 0.5) / self.members
        starts = x + parts[:, None] * ahead
        room = _ROOM + 4 * self.returns
        for horizon in (_SOON * self.horizon, self.horizon):
            found = self._ensemble(starts, horizon, room)
            passages = found["passages"].values
            while passages.max() > room:  # the last ones were kept, the first ones are asked for
                horizon *= 0.9 * room / passages.max()
                found = self._ensemble(starts, horizon, room)
                passages = found["passages"].values
            if passages.min() >= self.returns:
                break
        else:
            raise self._no_return(int(passages.min()))
        k = self.returns - 1
        states = np.concatenate([found["point_q"].values[:, k], found["point_u"].values[:, k]], axis=1)
        worst = Certificate(max_residual=float(found["max_residual"].max()))
        return found["point_time"].values[:, k] + parts * self.dt, states, worst

    def _ensemble(self, starts: Array, duration: float, room: int) -> Any:
        from stickslip.ensembles.run import ensemble

        setting = self.setting
        scenario, system = setting.scenario, setting.scenario.system
        names = (*system.coordinate_names, *system.velocity_names)
        result = ensemble(
            scenario, dict(zip(names, starts.T, strict=True)), ["period", "points"], dt=self.dt, t_end=duration,
            stepper=self.stepper, law=setting.law, params=scenario.params, paired=True, penetration_tol=1.0,
            progress=False, section=setting.section, points=room,
        )  # fmt: skip
        if result.n_failed:
            raise ArithmeticError(f"{chosen_stepper(self.stepper).name} with dt = {self.dt:g} s: {result.failed(1)[0]}")
        return result.to_xarray()

    def _no_return(self, count: int) -> NoReturn:
        return NoReturn(
            f"the motion passes its section ({self.setting.section}) {count} times within {self.horizon:.4g} s, "
            f"{self.returns} were asked for"
        )

    def _one_by_one(self, x: Array) -> tuple[Array, Array, Certificate]:
        states, times, worst = [], [], Certificate()
        for member in range(self.members):
            share = _SPREAD * ((member * _GOLDEN) % 1.0 - 0.5) if self.members > 1 else 0.0
            t, y, certificate = self._return(x, self.dt * (1.0 + share))
            states.append(y)
            times.append(t)
            if certificate.max_residual >= worst.max_residual:
                worst = certificate
        return np.array(times), np.array(states), worst

    def _return(self, x: Array, dt: float) -> tuple[float, Array, Certificate]:
        section, f = self.setting.section, self.setting.scenario.system.n_dof
        if isinstance(section, PhaseSection):
            duration = self.returns * section.period
            dt = duration / round(duration / dt)
            run = self._run(x, dt, duration, round(duration / dt))
            x = np.concatenate([run.q[-1], run.u[-1]])
            for _ in range(self.returns if self.setting.reset is not None else 0):
                assert self.setting.reset is not None
                x = self.setting.reset(x)
            return duration, x, run.certificate
        run = self._run(x, dt, self.horizon, max(1, round(self.horizon / dt / _RECORDS)))
        points = points_of(run, section, self.setting.reset)
        later = points.t > run.t[1]  # it starts on its section
        if later.sum() < self.returns:
            raise self._no_return(int(later.sum()))
        i = np.flatnonzero(later)[self.returns - 1]
        return float(points.t[i] - run.t[0]), points.x[i, : 2 * f], run.certificate

    def _run(self, x: Array, dt: float, duration: float, every: int) -> Trajectory:
        scenario, f = self.setting.scenario, self.setting.scenario.system.n_dof
        t0 = self.setting.t_A
        run: Trajectory = scenario.simulate(
            q0=x[:f], u0=x[f:], t0=t0, dt=dt, t_end=t0 + duration, every=every, stepper=self.stepper,
            law=self.setting.law, on_energy_gain="ignore", penetration_tol=1.0, progress=False,
        )  # fmt: skip
        if not not_interrupted(run).complete:
            raise ArithmeticError(f"{run.stepper} with dt = {dt:g} s {run.status}")
        return run


@dataclass(frozen=True, eq=False)
class Settled:
    """A motion after its transient: points on the section, ranges of (q, u) per cycle, and the mode on the section."""

    points: SectionPoints
    scale: Array
    mode: Mode

    def recurrence(self, setting: Setting) -> int:
        """The smallest n with x_k = x_{k-n} over the last points; 0 where no n exists."""
        return recurrence(setting, self.points.x, self.scale)


def recurrence(setting: Setting, x: Array, scale: Array, most: int = 16, tol: float = 0.02, noise: float = 0.1) -> int:
    """The smallest n with x_k = x_{k-n} over the last states x (k, 2 f) on a section; 0 where no n exists.

    Equality holds up to `tol` of the ranges.  Returns of a time stepper scatter, so twice the difference of the best n
    is allowed, too.  The result is 0 unless the best n has a difference below `noise`.
    """
    apart = np.full(most + 1, np.inf)
    for n in range(1, most + 1):
        last = x[-max(n, 8) :]
        before = x[-max(n, 8) - n : -n]
        if len(before) == len(last):
            apart[n] = np.abs(setting.difference(last, before) / scale).max()
    near = np.flatnonzero(apart <= max(tol, 2.0 * float(apart.min())))
    return int(near[0]) if apart.min() < noise else 0


def settle(
    setting: Setting, returns: int, stepper: Any, dt: float, tell: Callable[[str], None] = lambda stage: None
) -> Settled:
    """Run a time stepper until the section has been passed `returns` times; raises `NoReturn` where it is not.

    A run that was too short is done again, longer.  It ends where a longer run passes the section no more often.
    """
    scenario, t0 = setting.scenario, setting.t_A
    duration, wanted = scenario.t_end, max(returns, 2)
    if isinstance(setting.section, PhaseSection):
        duration = (wanted + 0.5) * setting.section.period
    before = -1  # passages of the run before
    for _ in range(12):
        tell(f"settling: {max(before, 0)} of {wanted} passages of the section, next look after {duration:.3g} s")
        every = max(1, round(duration / dt / (_RECORDS * max(wanted // 8, 1))))
        run = scenario.simulate(
            t0=t0, dt=dt, t_end=t0 + duration, every=every, stepper=stepper, law=setting.law,
            on_energy_gain="ignore", penetration_tol=1.0, progress=False,
        )  # fmt: skip
        if not not_interrupted(run).complete:
            raise ArithmeticError(f"{run.stepper} with dt = {dt:g} s {run.status}")
        points = poincare(run, setting.section)
        if len(points) >= wanted:
            return _looked_at(setting, points, stepper, dt)
        none_new = len(points) == before and duration > _QUIET * (points.t[-1] - t0 if len(points) else 0.0)
        if none_new and (len(points) >= 2 or duration > 100.0 * scenario.t_end):
            break
        before = len(points)
        duration *= min(_LONGER, 1.2 * wanted / before) if before >= 4 else 4.0
    passed = f"the motion passes its section ({setting.section}) {len(points)} times in {run.t[-1] - t0:.4g} s"
    last = f", last at t = {points.t[-1]:.4g} s" if len(points) else ""
    why = "it has come to rest" if not np.any(run.u[-1]) else "it comes to rest, runs away, or needs another start"
    raise NoReturn(f"{passed}{last}; {why}")


def _looked_at(setting: Setting, points: SectionPoints, stepper: Any, dt: float) -> Settled:
    """A settled motion once more from its last return, over some cycles, with close records."""
    period = float(points.periods[-16:].max())
    x = points.x[-1].copy()
    x[list(setting.travel)] = 0.0
    duration = (min(len(points), _LOOKS) + 0.5) * period
    fine = StepMap(setting, 1, stepper, dt, 1, duration)
    run = fine._run(x, dt, duration, max(1, round(period / dt / _RECORDS)))
    again = poincare(run, setting.section)
    if len(again) < 2:
        raise NoReturn(f"the settled motion passes its section ({setting.section}) no more")
    return _settled(run, again)


def _settled(run: Trajectory, points: SectionPoints) -> Settled:
    last = run.t >= points.t[max(0, len(points) - 17)]
    x = np.concatenate([run.q, run.u], axis=1)[last]
    width = np.ptp(x, axis=0)
    scale = np.where(width > 1e-9 * width.max(), width, max(float(width.max()), 1e-300))
    states = run.contact_state[min(int(np.searchsorted(run.t, points.t[-1])), len(run) - 1)]
    closed, stick = (states != OPEN) & (states != IMPACT), states == STICK
    sense = np.where(closed & ~stick, np.where(states == SLIP_PLUS, 1.0, -1.0), 0.0)
    return Settled(points, scale, Mode(closed, sense, closed.astype(np.int64), stick.astype(np.int64), sense.copy()))
