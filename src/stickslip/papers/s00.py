"""Figures of Stewart's review [S00]."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from stickslip import library
from stickslip.analysis.progress import not_interrupted
from stickslip.checks import counted
from stickslip.figures import style
from stickslip.figures.sheet import dress, sheet
from stickslip.mechanisms.steppers.stepper import Stepper
from stickslip.papers import PaperFigure
from stickslip.papers.failing_schemes import FailingMidpoint, FailingNewmark
from stickslip.trajectory import Certificate, Trajectory

_G = 9.8213  # as printed
_DT_MIDPOINT, _DT_NEWMARK = 1e-2, 1e-3
_T_MIDPOINT, _T_NEWMARK = 6.0, 2.0
_NUDGE = 1e-15  # of the ball's height, to see what rounding decides [m]
_HEIGHTS = (1.0, 1.01, 1.02, 1.03, 1.04)  # "several initial conditions"; the first is the printed one


def fig4_1() -> PaperFigure:
    """A ball on a table by two schemes that leave the rebound to chance."""
    midpoint = _run(FailingMidpoint(), 1.0, _DT_MIDPOINT, _T_MIDPOINT)
    newmark = [_run(FailingNewmark(), height, _DT_NEWMARK, _T_NEWMARK) for height in _HEIGHTS]
    title = "Trajectories by the midpoint rule and a Newmark scheme"
    with style.look():
        figure, (left, right) = sheet(1, 2, 3.0)
        _elastic(left, _T_MIDPOINT)
        left.plot(midpoint.t, midpoint["y"], color=style.SERIES[0])
        style.panel(left, "(a) midpoint rule, Δt = 0.01 s", "t [s]", "height $q$ [m]")
        for run, colour in zip(newmark, style.SERIES, strict=False):
            right.plot(run.t, run["y"], color=colour, label=f"$q(0)$ = {run['y'][0]:g} m")
        style.panel(right, "(b) Newmark scheme, Δt = 0.001 s", "t [s]", "height $q$ [m]")
        right.legend(loc="upper right")
        grey = Line2D([], [], color=style.GREY, linewidth=0.8, label="elastic ball, exact")
        ours = Line2D([], [], color=style.SERIES[0], label="$q(0)$ = 1 m")
        left.legend(handles=[ours, grey], loc="upper left")
        for ax, end in ((left, _T_MIDPOINT), (right, _T_NEWMARK)):
            ax.set_xlim(0.0, end)
            ax.set_ylim(bottom=-0.02 * ax.get_ylim()[1])
        energy = midpoint.energy.total
        certificate = worst_certificate([midpoint, *newmark])
        parts = _parting(midpoint)
        chance = "" if parts is None else (
            f"; a ball that starts {_NUDGE:.0e} m higher parts from the one in (a) by more than 1 cm after {parts:.1f} "
            "s: the rest of the curve is decided by rounding errors"
        )  # fmt: skip
        note = (
            f"ball dropped from rest, $m$ = 1 kg, $g$ = {_G:g} m/s²; Newmark with β = 0, γ = 1; complementarity of "
            f"positions only: in (a) the energy falls to {energy.min() / energy[0]:.3f} and rises to "
            f"{energy.max() / energy[0]:.2f} times its first value{chance}.  Schemes that fail, kept to show it; their "
            f"own problems: {proof(certificate)}"
        )
        return finish(figure, "Figure 4.1", title, note, midpoint.parameters, _DT_MIDPOINT, certificate)


def _parting(run: Trajectory) -> float | None:
    """Time at which the ball of a run by the midpoint rule parts from one that starts `_NUDGE` higher [s]."""
    other = _run(FailingMidpoint(), 1.0 + _NUDGE, _DT_MIDPOINT, _T_MIDPOINT)
    apart = np.abs(run["y"] - other["y"]) > 0.01
    return float(run.t[np.argmax(apart)]) if apart.any() else None


def finish(
    figure: Figure,
    number: str,
    title: str,
    note: str,
    parameters: Mapping[str, float],
    dt: float,
    certificate: Certificate,
    handles: Sequence[Any] = (),
) -> PaperFigure:
    """Dress a figure of [S00] with number, title, note and legend, and return it with what it was computed from."""
    dress(figure, f"[S00] {number}. {title}", note, handles)
    source = f"[S00] {number.replace('eq. ', 'equation ')}"
    return PaperFigure(title, source, dict(parameters), dt, certificate, figure)


def proof(certificate: Certificate) -> str:
    """Failed steps and worst residual of a certificate in words."""
    residual = f"residual ≤ {certificate.max_residual:.1e}" if certificate.max_residual > 0.0 else "no residual"
    return f"{counted(certificate.failed_steps, 'failed step')}, {residual}"


def _run(stepper: Stepper, height: float, dt: float, t_end: float) -> Trajectory:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the scheme warns that it fails, which the figure shows
        run: Trajectory = library.bouncing_ball(height=height, g=_G, restitution=1.0).simulate(
            stepper=stepper, dt=dt, t_end=t_end, on_energy_gain="ignore"
        )
    if not not_interrupted(run).complete:
        raise RuntimeError(f"the ball's run {run.status}")
    return run


def _elastic(ax: Axes, t_end: float) -> None:
    """Draw the exact height of a ball that is dropped from 1 m and bounces without losses."""
    t = np.linspace(0.0, t_end, 2000)
    fall = np.sqrt(2.0 / _G)
    phase = (t + fall) % (2.0 * fall) - fall
    ax.plot(t, 1.0 - 0.5 * _G * phase**2, color=style.GREY, linewidth=0.8)


def worst_certificate(runs: list[Trajectory]) -> Certificate:
    """One certificate for several runs: the worst of each number."""
    return Certificate.worst([run.certificate for run in runs])
