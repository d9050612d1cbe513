"""Newton shooting event by event: the return map to the tolerance of the integrator, its derivative from saltation."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.linalg import eig
from scipy.optimize import brentq

from stickslip.analysis.cycle_result import (
    FLOW,
    TRANSLATION,
    CycleCertificate,
    LimitCycle,
    NoCycle,
    parameters_of,
    plain_or_none,
    shift_of,
)
from stickslip.analysis.guess import Guess, without_travel
from stickslip.analysis.return_map import EventMap, NoReturn, Return, Setting
from stickslip.analysis.saltation import Undefined
from stickslip.checks import Array
from stickslip.events.arcs import SAMPLES
from stickslip.events.book import MotionError
from stickslip.events.event_driven import EventDriven
from stickslip.events.modes import Mode
from stickslip.mechanisms.system import System

NEWTON_STEPS = 15
_HALVINGS = 5
_STRETCH = 1e-6  # of differences of the event-driven map, in ranges
_NOTHING = 1e-3  # entries of DP below this are as good as zero: the cycle forgets its start
_REST = 1e3  # of the closure: a cycle that is not larger cannot be told from rest
_NEAR_ONE = 0.05  # multipliers closer to 1 are looked at once more, where the cycle may be


def shoot(
    event_map: EventMap, guess: Guess, tol: float, check: bool, tell: Callable[[str], None] = lambda line: None
) -> LimitCycle:
    """Newton's method on the return map, with its derivative from saltation matrices."""
    x, mode, back, iterations = newton(event_map, *on_contacts(event_map, guess), guess.scale, tol, tell)
    range_now = float((np.ptp(back.orbit[1], axis=0) / guess.scale).max())
    if range_now <= _REST * tol:
        raise NoCycle(
            f"no limit cycle: the motion comes to rest; after its last return it moves by {range_now:.1e} of the "
            "ranges of the start"
        )
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
    for iteration in range(NEWTON_STEPS + 1):
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
    raise NoCycle(f"Newton's method did not converge in {NEWTON_STEPS} steps: closure {size:.1e}")


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
    """Distance of x to the cycle, (2 f,), and error of the multiplier nearest to the unit circle, both estimated.

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
    for arc, end in back.arcs:
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
            "speed": plain_or_none(switch.speed),
        }
        for switch in back.switches
    )
    return LimitCycle(
        system.name, EventDriven.name, event_map.rtol, setting.words, back.period, event_map.returns,
        x[:f].copy(), x[f:].copy(), off, shift_of(setting, back.x - x), multipliers, kinds, events, back.orbit,
        extrema_of(back, f), back.slowest_impact, float(back.grazes.min(initial=math.inf)), certificate,
        system.coordinate_names, system.velocity_names, parameters_of(setting), dict(system.units),
    )  # fmt: skip


def _contacts(system: System, slots: tuple[tuple[int, int], ...]) -> list[str]:
    """Names of the contacts that an event belongs to; slots beyond the contacts are kinks."""
    n = system.n_contacts
    numbers = [j for k, _ in slots for j in ((k,) if k < n else system.branched.kink_contacts[k - n])]
    return [system.contact_names[k] for k in dict.fromkeys(numbers)]
