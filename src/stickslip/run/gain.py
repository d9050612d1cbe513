"""Warnings about contacts that put energy in."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from stickslip import codes
from stickslip.trajectory import Trajectory

if TYPE_CHECKING:
    from stickslip.run.driver import Run


class EnergyGain(ArithmeticError):
    """Raised with on_energy_gain="raise"; `trajectory` is the motion that was computed."""

    def __init__(self, message: str, trajectory: Trajectory) -> None:
        super().__init__(message)
        self.trajectory = trajectory


def report_gain(run: Run, trajectory: Trajectory, what: str) -> None:
    """Warn or raise where the contacts gained more energy in a step than the scheme's own resolution."""
    gain = trajectory.certificate.max_energy_gain
    kinetic = float(np.max(trajectory.energy.kinetic, initial=0.0))
    if not gain > 2.0 * run.engine.resolution(run.state, trajectory) + 1e-12 * kinetic:
        return
    time_of_gain = run.state.t0 + run.state.book[codes.GAIN_STEP] * run.state.dt
    message = (
        f"the contacts of {run.system.name!r} put {gain:.3g} J in during the step to t = {time_of_gain:.9g} s; "
        "unequal restitution coefficients can do that under Newton's law"
    )
    if what == "raise":
        raise EnergyGain(message, trajectory)
    warnings.warn(message, RuntimeWarning, stacklevel=3)
