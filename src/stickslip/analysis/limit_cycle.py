"""Limit cycles by Newton shooting on a section, with their Floquet multipliers.

    P(x) = x + shift,    P the return map of the section; `shift` only in coordinates that stand in no equation

Event by event, P is computed to the tolerance of the integrator and DP from saltation matrices; with a time stepper, P
is a mean over step sizes and DP a difference quotient.  The multipliers are the eigenvalues of the monodromy matrix: a
cycle is stable if all lie inside the unit circle, but for those that are 1 in any case, one of an autonomous system
(along the flow) and one per coordinate that may shift.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import eig
from scipy.optimize import brentq

from stickslip._version import __version__
from stickslip.analysis.progress import Progress, reported
from stickslip.analysis.return_map import EventMap, NoReturn, Return, Setting
from stickslip.analysis.saltation import Undefined
from stickslip.analysis.sections import TURN, AnySection, PhaseSection
from stickslip.analysis.step_map import MeanReturn, Settled, StepMap, settle
from stickslip.checks import Array, real_number, renamed
from stickslip.events.arcs import SAMPLES
from stickslip.events.book import MotionError
from stickslip.events.event_driven import EventDriven
from stickslip.events.modes import Mode
from stickslip.mechanisms.system import System
from stickslip.on_request import service
from stickslip.scenario import Scenario

FLOW, TRANSLATION = "flow", "translation"
_NEWTON_STEPS = 15
_HALVINGS = 5
_HORIZON = 4.0  # periods that a return may take
_STRETCH = 1e-6  # of differences of the event-driven map, in ranges
_NOTHING = 1e-3  # entries of DP below this are as good as zero: the cycle forgets its start
_Formula = tuple[tuple[float, float], ...]  # places and weights of differences
_CENTRAL: _Formula = ((1.0, 0.5),)
_FOURTH_ORDER: _Formula = ((1.0, 2.0 / 3.0), (2.0, -1.0 / 12.0))
_NEAR_ONE = 0.05  # multipliers closer to 1 are looked at once more, where the cycle may be
_COARSE_STRETCH = 1e-2  # of differences of a mean map with much noise; their own error is of that order squared
_FINE_STRETCH = 3.5e-3  # of fourth-order differences of a mean map with little
_FINE_STEP, _COARSE_STEP = 5e-4, 1e-2  # of the scenario's: default dt where members are even, and where they are not
_FIRST_STEP = 20.0  # in steps: dt of the map whose derivative is good enough for Newton's method


class NoCycle(ArithmeticError):
    """No limit cycle was found; says why."""


@dataclass(frozen=True)
class CycleCertificate:
    """What stands behind a limit cycle.

    Attributes
    ----------
    closure : |P(x) - x| relative to the ranges of coordinates and velocities, worst component
    error : estimated distance to the cycle, relative to the ranges, worst component: (I - DP)^-1 (P(x) - x), which is
        closure / |1 - lambda| along the direction of each multiplier lambda, and the same of the integrator's error
    multiplier_error : estimated error of the multiplier that is nearest to the unit circle; nan where not asked for
    iterations : Newton steps
    trivial_defect : by how much the multipliers that must be 1 differ from 1; nan where they are not computed
    jacobian_error : largest difference between DP from saltation matrices and from differences, relative to the
        largest entry, or to 1e-3 where all are smaller; nan where not asked for.  By a time stepper: the standard error
        of the multipliers
    noise : standard error of the closure (time stepper), else 0
    max_residual : worst violation of a contact law on the way
    failed_steps : of the time stepper
    one_sided : events at which the derivative holds on one side only
    """

    closure: float
    error: float
    multiplier_error: float
    iterations: int
    trivial_defect: float
    jacobian_error: float
    noise: float
    max_residual: float
    failed_steps: int
    one_sided: int


@dataclass(frozen=True, eq=False)
class LimitCycle:
    """A limit cycle.

    Attributes
    ----------
    period : [s];  returns : passages of the section per cycle;  section : in words
    q, u : state on the section, (f,)
    error : how far (q, u) may be off the cycle, an estimate, (2 f,); see `CycleCertificate.error`
    shift : change per cycle of the coordinates that stand in no equation, by name (minus the woodpecker's drop), and
        whole turns of angles
    multipliers : (2 f,) complex, largest first;  kinds : "flow" or "translation" for those that are 1 in any case,
        else ""
    events : what happens on the way, dicts with keys "t" (time since the section [s]), "kind" (one of `EVENT_KINDS`, as
        in `Trajectory.events()`), "contacts" (names) and "speed" (closing velocity of an impact [m/s], else None);
        event-driven only
    orbit : times (k,) and states (k, 2 f) along the cycle
    extrema : lowest and highest value of each coordinate along the cycle, (2, f); to the accuracy of the integrator
        event by event, of the records by a time stepper
    slowest_impact, lowest_gap : smallest closing velocity [m/s] and smallest gap of an open contact [m], inf where
        there is none: both are zero at a graze
    """

    system: str
    method: str
    step: float
    section: str
    period: float
    returns: int
    q: Array
    u: Array
    error: Array
    shift: dict[str, float]
    multipliers: Array
    kinds: tuple[str, ...]
    events: tuple[dict[str, Any], ...]
    orbit: tuple[Array, Array]
    extrema: Array
    slowest_impact: float
    lowest_gap: float
    certificate: CycleCertificate
    coordinate_names: tuple[str, ...]
    velocity_names: tuple[str, ...]
    parameters: dict[str, float]
    units: dict[str, str]

    @property
    def nontrivial(self) -> Array:
        """The multipliers that decide on stability, largest first."""
        return self.multipliers[[kind == "" for kind in self.kinds]]

    @property
    def stability(self) -> str:
        """ "stable", "unstable", or "undecided" where a multiplier is within its own error of the unit circle."""
        size, error = np.abs(self.nontrivial), self.certificate.multiplier_error
        error = 0.0 if math.isnan(error) else error
        if np.any(size - error > 1.0):
            return "unstable"
        return "stable" if np.all(size + error < 1.0) else "undecided"

    @property
    def stable(self) -> bool:
        """Whether all of those lie inside the unit circle, by more than their error; see `stability`."""
        return self.stability == "stable"

    def __repr__(self) -> str:
        off = float(self.certificate.error)
        return (
            f"<LimitCycle of {self.system!r}: period {self.period:.12g} s, {self.stability}, largest multiplier "
            f"{float(np.abs(self.nontrivial).max(initial=0.0)):.6g}, closure {self.certificate.closure:.1e}, "
            f"estimated error {off:.1e} of the ranges; {self.method}>"
        )

    @property
    def x(self) -> Array:
        """(q, u) on the section, (2 f,)."""
        return np.concatenate([self.q, self.u])

    def to_dict(self, orbit: bool = False) -> dict[str, Any]:
        """As plain values, ready for JSON; `orbit` adds the states along the cycle."""
        names = (*self.coordinate_names, *self.velocity_names)
        answer: dict[str, Any] = {
            "system": self.system,
            "method": self.method,
            "step": self.step,
            "section": self.section,
            "period": self.period,
            "returns": self.returns,
            "state": dict(zip(names, self.x.tolist(), strict=True)),
            "error": {name: _plain(value) for name, value in zip(names, self.error.tolist(), strict=True)},
            "extrema": dict(zip(self.coordinate_names, self.extrema.T.tolist(), strict=True)),
            "shift": self.shift,
            "multipliers": [
                {"real": float(m.real), "imag": float(m.imag), "modulus": float(abs(m)), "trivial": kind or None}
                for m, kind in zip(self.multipliers, self.kinds, strict=True)
            ],
            "stable": self.stable,
            "stability": self.stability,
            "events": list(self.events),
            "slowest_impact": _plain(self.slowest_impact),
            "lowest_gap": _plain(self.lowest_gap),
            "certificate": {key: _plain(value) for key, value in asdict(self.certificate).items()},
            "parameters": self.parameters,
            "version": __version__,
        }
        if orbit:
            answer["orbit"] = {"t": self.orbit[0].tolist(), "x": self.orbit[1].tolist()}
        return answer

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write everything, the orbit included, as JSON."""
        path = Path(path)
        if path.suffix.lower() != ".json":
            raise ValueError(f"a limit cycle is saved as .json, got {path.name!r}.")
        if path.exists() and not overwrite:
            raise ValueError(f"{path} exists; give overwrite=True to replace it, or another name.")
        path.write_text(json.dumps(self.to_dict(orbit=True), allow_nan=False) + "\n", encoding="utf-8")
        return path

    def plot(self, path: str | Path) -> Path:
        """Draw the cycle and its multipliers into a .png, .svg or .pdf file."""
        return service("save a figure")(service("draw a limit cycle")(self), path, title=f"Limit cycle: {self.system}")


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


@renamed(advance="progress")
def limit_cycle(
    scenario: Scenario,
    *,
    section: AnySection | None = None,
    stepper: Any = "event-driven",
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
    stepper : "event-driven" or `EventDriven(rtol)`; else a time stepper as `simulate` takes it
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
    setting = Setting.of(scenario, section)
    _check_numbers(returns, settle_returns, members, tol)
    judge = stepper if isinstance(stepper, EventDriven) else EventDriven(rtol=rtol)
    by_events = isinstance(stepper, EventDriven) or stepper == EventDriven.name
    with reported(progress, "settling") as tell:
        tell("settling")
        guess = Guess.of(setting, returns, settle_returns, "moreau-midpoint" if by_events else stepper, judge.rtol)
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
        if value is not None and not (isinstance(value, (int, np.integer)) and value >= low):
            raise ValueError(f"{name} must be a whole number >= {low}, got {value!r}.")
    if not 1e-14 <= real_number(tol, "tol") <= 1e-2:
        raise ValueError(f"tol must lie between 1e-14 and 0.01, got {tol:g}.")


@dataclass(frozen=True, eq=False)
class Guess:
    """Where Newton's method begins: state on the section, its mode where known, ranges, and how long to wait [s]."""

    x: Array
    mode: Mode | None
    scale: Array
    returns: int
    horizon: float

    @classmethod
    def of(cls, setting: Setting, returns: int | None, settle_returns: int, stepper: Any, rtol: float) -> Guess:
        """From a settled motion, or from the scenario's start."""
        scenario = setting.scenario
        if settle_returns == 0:
            return cls._from_start(setting, returns or 1, rtol)
        try:
            settled = settle(setting, settle_returns, stepper, scenario.dt / 10.0)
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
            without_travel(setting, x), settled.mode, one_turn(setting, settled.scale), returns, _HORIZON * period
        )

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
            without_travel(setting, first.x), first.mode, scale, returns, min(scenario.t_end, _HORIZON * second.period)
        )


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


# -- event by event ------------------------------------------------------------------------------------------


def shoot(
    event_map: EventMap, guess: Guess, tol: float, check: bool, tell: Callable[[str], None] = lambda line: None
) -> LimitCycle:
    """Newton's method on the return map, with its derivative from saltation matrices."""
    x, mode, back, iterations = newton(event_map, *on_contacts(event_map, guess), guess.scale, tol, tell)
    error = jacobian_error(event_map, x, mode, back, guess.scale) if check else math.nan
    return as_cycle(event_map, x, mode, back, guess.scale, iterations, error)


def on_contacts(event_map: EventMap, guess: Guess) -> tuple[Array, Mode | None]:
    """A guess that is on its contacts to the last digit, with its mode: once around; a given start stays as it is."""
    if guess.mode is None:
        return guess.x, None
    try:
        first = event_map(guess.x, None, tangent=False)
    except (NoReturn, MotionError) as problem:
        raise NoCycle(f"no limit cycle: from the guess, {problem}") from None
    return without_travel(event_map.setting, first.x), first.mode


def newton(
    event_map: EventMap, x: Array, mode: Mode | None, scale: Array, tol: float, tell: Callable[[str], None]
) -> tuple[Array, Mode | None, Return, int]:
    """Solve P(x) = x; returns the state, its mode, the return from there, and the number of steps."""
    setting = event_map.setting
    back = _followed(event_map, x, mode)
    for iteration in range(_NEWTON_STEPS + 1):
        gap = setting.difference(back.x, x)
        size = float(np.abs(gap / scale).max())
        tell(f"Newton step {iteration}: closure {size:.1e}")
        if size <= tol:
            return x, mode, back, iteration
        step = newton_step(event_map, x, mode or back.mode, back, gap, scale)
        for halving in range(_HALVINGS + 1):
            trial = x + 0.5**halving * step
            try:
                there = _followed(event_map, trial, mode)
            except (NoCycle, Undefined):
                continue
            better = float(np.abs(setting.difference(there.x, trial) / scale).max())
            if better < size or better <= tol:
                break
        else:
            raise NoCycle(f"Newton's method stops at a closure of {size:.1e}: no step makes it smaller")
        x, back = trial, there
    raise NoCycle(f"Newton's method did not converge in {_NEWTON_STEPS} steps: closure {size:.1e}")


def newton_step(event_map: EventMap, x: Array, mode: Mode, back: Return, gap: Array, scale: Array) -> Array:
    """dx with DP dx - dx = -gap, on the section and on the closed contacts."""
    assert back.DP is not None
    B = event_map.setting.basis(x, mode, scale)
    inverse = np.linalg.pinv(B)
    A = inverse @ back.DP @ B - np.eye(B.shape[1])
    held = gap - B @ (inverse @ gap)  # what closed contacts hold is taken as it came back
    return np.asarray(B @ np.linalg.lstsq(A, -inverse @ gap, rcond=1e-13)[0] + held)


def _followed(event_map: EventMap, x: Array, mode: Mode | None) -> Return:
    try:
        return event_map(x, mode)
    except Undefined:
        raise
    except (NoReturn, MotionError) as problem:
        raise NoCycle(f"no limit cycle: {problem}") from None


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


def jacobian_error(event_map: EventMap, x: Array, mode: Mode | None, back: Return, scale: Array) -> float:
    """Largest difference between DP and central differences of P, relative to the largest entry of DP or to 1e-3."""
    assert back.DP is not None
    B = event_map.setting.basis(x, mode or back.mode, scale)
    if not B.shape[1]:
        return 0.0
    columns = [
        (event_map(x + _STRETCH * b, mode, False).x - event_map(x - _STRETCH * b, mode, False).x) / (2.0 * _STRETCH)
        for b in B.T
    ]
    exact, measured = back.DP @ B / scale[:, None], np.stack(columns, axis=-1) / scale[:, None]
    return float(np.abs(exact - measured).max() / max(np.abs(exact).max(), _NOTHING))


def multipliers_of(setting: Setting, back: Return, scale: Array) -> tuple[Array, tuple[str, ...], float]:
    """Eigenvalues of the monodromy matrix, largest first; those that are 1 in any case are taken out and marked.

    Their directions, the flow f and the shifts e_i, span an invariant space; the others are the eigenvalues of what
    the matrix does to the rest.  Also: by how much Phi f = f and Phi e_i = e_i are violated.
    """
    assert back.Phi is not None
    Phi, n = back.Phi * scale / scale[:, None], len(scale)
    kinds = [TRANSLATION for _ in setting.travel] + ([] if setting.driven else [FLOW])
    known = [np.eye(n)[i] for i in setting.travel] + ([] if setting.driven else [back.field_A / scale])
    defect = max((float(np.linalg.norm(Phi @ v - v) / np.linalg.norm(v)) for v in known), default=0.0)
    Q = np.linalg.qr(np.array(known).T, mode="complete")[0] if known else np.eye(n)
    rest = Q[:, len(known) :]
    values = np.linalg.eigvals(rest.T @ Phi @ rest).astype(complex)
    inside = Q[:, : len(known)]
    own = np.linalg.eigvals(inside.T @ Phi @ inside).astype(complex) if known else np.zeros(0, complex)
    every, marks = np.concatenate([values, own]), [""] * len(values) + kinds
    order = np.argsort(-np.abs(every), kind="stable")
    return every[order], tuple(marks[i] for i in order), defect


def state_error(
    event_map: EventMap, x: Array, mode: Mode | None, back: Return, scale: Array, derivative_error: float
) -> tuple[Array, float]:
    """How far x may be off the cycle, (2 f,), and the error of the multiplier that is nearest to the unit circle.

    A closure r of the return map moves its fixed point by (I - DP)^-1 r = sum_i v_i (l_i . r) / (1 - lambda_i), with
    the right and left eigenvectors v_i, l_i.  So does the error of P itself, seen in a run with ten times the
    tolerance.  Where a multiplier is near 1 the fixed point may be a double one: there 1 - lambda changes over the
    distance to it as much as it has, and the estimate would be half of the truth.
    """
    assert back.DP is not None
    setting = event_map.setting
    B = setting.basis(x, mode or back.mode, scale)
    if not B.shape[1]:
        return np.abs(setting.difference(back.x, x)), 0.0
    inverse = np.linalg.pinv(B)
    A = inverse @ back.DP @ B
    r = inverse @ setting.difference(back.x, x)
    values, left, right = eig(A, left=True, right=True)
    weak = int(np.argmin(np.abs(1.0 - np.abs(values))))
    step, noise, drift = np.linalg.pinv(np.eye(len(A)) - A) @ r, np.full(len(A), event_map.rtol), 0.0
    checked = math.isfinite(derivative_error)
    if checked:
        coarse = replace(event_map, rtol=min(10.0 * event_map.rtol, 1e-3))(x, mode, tangent=False)
        noise = np.abs(inverse @ setting.difference(coarse.x, back.x))
    spread = np.abs(np.linalg.pinv(np.eye(len(A)) - A)) @ noise
    aligned = float(np.abs(left[:, weak].conj() @ right[:, weak]))
    own = derivative_error * max(float(np.abs(A).max()), _NOTHING) / max(aligned, 1e-300) if checked else math.nan
    if checked and abs(1.0 - values[weak]) < _NEAR_ONE:
        with contextlib.suppress(NoCycle, Undefined):
            there = _followed(event_map, x + B @ (step + np.sign(step) * spread), mode)
            assert there.DP is not None
            others = np.linalg.eigvals(inverse @ there.DP @ B)
            drift = float(np.abs(others - values[weak]).min())
    gain = 1.0 / max(1.0 - drift / max(abs(1.0 - values[weak]), 1e-300), 1e-3)
    error = gain * (np.abs(B @ step) + np.abs(B) @ spread)
    return np.asarray(error), own + 3.0 * drift


def extrema_of(back: Return, f: int) -> Array:
    """Lowest and highest value of each coordinate on the way, (2, f): where its velocity passes zero, or a sample."""
    low, high = back.orbit[1][:, :f].min(axis=0), back.orbit[1][:, :f].max(axis=0)
    for arc in back.arcs:
        end = min(arc.t_E, back.t)
        t = np.linspace(arc.t_A, end, SAMPLES + 1)
        u = arc.state(t)[1]
        for j, i in np.argwhere(u[:-1] * u[1:] < 0.0):
            turn = brentq(lambda s: float(arc.state(s)[1][i]), t[j], t[j + 1], xtol=1e-15)  # noqa: B023
            value = float(arc.state(turn)[0][i])
            low[i], high[i] = min(low[i], value), max(high[i], value)
    return np.stack([low, high])


def as_cycle(
    event_map: EventMap, x: Array, mode: Mode | None, back: Return, scale: Array, iterations: int, error: float
) -> LimitCycle:
    """The result of a converged shooting; `error` is that of its derivative, nan where it was not checked."""
    setting, system = event_map.setting, event_map.setting.scenario.system
    multipliers, kinds, defect = multipliers_of(setting, back, scale)
    off, multiplier_error = state_error(event_map, x, mode, back, scale, error)
    f = system.n_dof
    certificate = CycleCertificate(
        float(np.abs(setting.difference(back.x, x) / scale).max()),
        float((off / scale).max()),
        multiplier_error,
        iterations,
        defect if any(kinds) else math.nan,
        error,
        0.0,
        back.residual,
        0,
        sum(switch.one_sided for switch in back.switches),
    )
    events = tuple(
        {
            "t": switch.t - back.t_A,
            "kind": switch.kind,
            "contacts": _contacts(system, switch.slots),
            "speed": _plain(switch.speed),
        }
        for switch in back.switches
    )
    return LimitCycle(
        system.name, EventDriven.name, event_map.rtol, str(setting.section), back.period, event_map.returns,
        x[:f].copy(), x[f:].copy(), off, _shift(setting, back.x - x), multipliers, kinds, events, back.orbit,
        extrema_of(back, f), back.slowest_impact, float(back.grazes.min(initial=math.inf)), certificate,
        system.coordinate_names, system.velocity_names, _parameters(setting), dict(system.units),
    )  # fmt: skip


def _contacts(system: System, slots: tuple[tuple[int, int], ...]) -> list[str]:
    """Names of the contacts that an event belongs to; slots beyond the contacts are kinks."""
    n = system.n_contacts
    numbers = [j for k, _ in slots for j in ((k,) if k < n else system.branched.kink_contacts[k - n])]
    return [system.contact_names[k] for k in dict.fromkeys(numbers)]


def _shift(setting: Setting, change: Array) -> dict[str, float]:
    names = setting.scenario.system.coordinate_names
    turns = {names[i]: TURN * round(float(change[i]) / TURN) for i in setting.turning}
    return {names[i]: float(change[i]) for i in setting.travel} | {name: turn for name, turn in turns.items() if turn}


def _parameters(setting: Setting) -> dict[str, float]:
    return dict(zip(setting.scenario.system.parameter_names, setting.p.tolist(), strict=True))


# -- by a time stepper ---------------------------------------------------------------------------------------


def shoot_stepped(step_map: StepMap, guess: Guess, tell: Callable[[str], None]) -> LimitCycle:
    """Newton's method on the mean return map; it ends where the step is below the standard error."""
    setting, x = step_map.setting, guess.x
    if guess.mode is None:
        raise ValueError("a time stepper's cycle starts from a settled motion: settle_returns must be at least 1.")
    B = setting.basis(x, guess.mode, guess.scale)
    inverse = np.asarray(np.linalg.pinv(B), dtype=float)
    rough = replace(step_map, dt=_FIRST_STEP * step_map.dt) if step_map.even else step_map
    A, A_error = _differences(rough, x, B, inverse, _COARSE_STRETCH, _CENTRAL, tell)
    for iteration in range(1, _NEWTON_STEPS + 1):
        back = step_map(x)
        whole = setting.difference(back.x, x)
        gap, noise = inverse @ whole, np.linalg.norm(inverse @ back.noise)
        step = np.linalg.solve(np.eye(len(A)) - A, gap)
        tell(f"Newton step {iteration}: closure {np.linalg.norm(gap):.1e}, standard error {noise:.1e}")
        if np.linalg.norm(gap) <= 3.0 * noise + 1e-12:
            break
        x = x + B @ step + (whole - B @ gap)  # what closed contacts hold comes back as it will be
    else:
        raise NoCycle(
            f"Newton's method on {step_map.members} motions with dt = {step_map.dt:g} s did not converge: closure "
            f"{np.linalg.norm(gap):.1e}, standard error {noise:.1e}; take a smaller dt or more members"
        )
    stretch, formula = (_FINE_STRETCH, _FOURTH_ORDER) if step_map.even else (_COARSE_STRETCH, _CENTRAL)
    A, A_error = _differences(step_map, x, B, inverse, stretch, formula, tell)
    return _as_stepped_cycle(step_map, x, back, guess, A, A_error, iteration)


def _differences(
    step_map: StepMap,
    x: Array,
    B: Array,
    inverse: Array,
    stretch: float,
    formula: _Formula,
    tell: Callable[[str], None],
) -> tuple[Array, float]:
    """Jacobian of the mean map in the coordinates of B, by differences of the places and weights in `formula`, and its
    standard error.
    """
    columns, noises = [], []
    for j, b in enumerate(B.T):
        tell(f"differences, {j + 1} of {B.shape[1]}")
        slope, variance = np.zeros(len(x)), np.zeros(len(x))
        for place, weight in formula:
            ahead, behind = step_map(x + place * stretch * b), step_map(x - place * stretch * b)
            slope += weight * (ahead.x - behind.x) / stretch
            variance += (weight / stretch) ** 2 * (ahead.noise**2 + behind.noise**2)
        columns.append(inverse @ slope)
        noises.append(np.linalg.norm(inverse @ np.sqrt(variance)))
    return np.stack(columns, axis=-1), float(max(noises))


def _as_stepped_cycle(
    step_map: StepMap, x: Array, back: MeanReturn, guess: Guess, A: Array, A_error: float, iterations: int
) -> LimitCycle:
    setting, system, f = step_map.setting, step_map.setting.scenario.system, step_map.setting.scenario.system.n_dof
    values = np.linalg.eigvals(A).astype(complex)
    kinds = [TRANSLATION for _ in setting.travel] + ([] if setting.driven else [FLOW])
    dropped = 2 * f - len(values) - len(kinds)  # what closed contacts hold forgets its perturbations
    every = np.concatenate([values, np.zeros(dropped), np.ones(len(kinds))])
    marks = [""] * (len(values) + dropped) + kinds
    order = np.argsort(-np.abs(every), kind="stable")
    assert guess.mode is not None
    B = setting.basis(x, guess.mode, guess.scale)
    gap = setting.difference(back.x, x)
    away = np.abs(np.linalg.pinv(B)) @ (np.abs(gap) + back.noise)
    off = np.abs(B) @ (np.abs(np.linalg.pinv(np.eye(len(A)) - A)) @ away)
    certificate = CycleCertificate(
        float(np.abs(gap / guess.scale).max()),
        float((off / guess.scale).max()),
        A_error,
        iterations,
        math.nan,
        A_error,
        float(np.abs(back.noise / guess.scale).max()),
        back.certificate.max_residual,
        back.certificate.failed_steps,
        0,
    )
    run = step_map._run(x, step_map.dt, back.period, max(1, round(back.period / step_map.dt / 4000)))
    orbit = run.t - run.t[0], np.concatenate([run.q, run.u], axis=1)
    return LimitCycle(
        system.name, run.stepper, step_map.dt, str(setting.section), back.period, step_map.returns, x[:f].copy(),
        x[f:].copy(), off, _shift(setting, back.x - x), every[order], tuple(marks[i] for i in order), (), orbit,
        np.stack([run.q.min(axis=0), run.q.max(axis=0)]), math.inf, math.inf, certificate, system.coordinate_names,
        system.velocity_names, _parameters(setting),
        dict(system.units),
    )  # fmt: skip
