"""Newton shooting with a time stepper: the return map is a mean over step sizes, its derivative by differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from stickslip.analysis.cycle_result import (
    FLOW,
    TRANSLATION,
    CycleCertificate,
    LimitCycle,
    NoCycle,
    parameters_of,
    shift_of,
)
from stickslip.analysis.guess import Guess
from stickslip.analysis.shooting import NEWTON_STEPS
from stickslip.analysis.step_map import MeanReturn, StepMap
from stickslip.checks import Array

_Formula = tuple[tuple[float, float], ...]  # places and weights of differences
_CENTRAL: _Formula = ((1.0, 0.5),)
_FOURTH_ORDER: _Formula = ((1.0, 2.0 / 3.0), (2.0, -1.0 / 12.0))
_COARSE_STRETCH = 1e-2  # of differences of a mean map with much noise; their own error is of that order squared
_FINE_STRETCH = 3.5e-3  # of fourth-order differences of a mean map with little
_FIRST_STEP = 20.0  # in steps: dt of the map whose derivative is good enough for Newton's method


def shoot_stepped(step_map: StepMap, guess: Guess, tell: Callable[[str], None]) -> LimitCycle:
    """Newton's method on the mean return map; it ends where the step is below the standard error."""
    setting, x = step_map.setting, guess.x
    if guess.mode is None:
        raise ValueError("a time stepper's cycle starts from a settled motion: settle_returns must be at least 1.")
    B = setting.basis(x, guess.mode, guess.scale)
    inverse = np.asarray(np.linalg.pinv(B), dtype=float)
    rough = replace(step_map, dt=_FIRST_STEP * step_map.dt) if step_map.even else step_map
    A, A_error = _differences(rough, x, B, inverse, _COARSE_STRETCH, _CENTRAL, tell)
    for iteration in range(1, NEWTON_STEPS + 1):
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
        system.name, run.stepper, step_map.dt, setting.words, back.period, step_map.returns, x[:f].copy(),
        x[f:].copy(), off, shift_of(setting, back.x - x), every[order], tuple(marks[i] for i in order), (), orbit,
        np.stack([run.q.min(axis=0), run.q.max(axis=0)]), math.inf, math.inf, certificate, system.coordinate_names,
        system.velocity_names, parameters_of(setting),
        dict(system.units),
    )  # fmt: skip
