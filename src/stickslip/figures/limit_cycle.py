"""Limit cycles: their orbits in phase planes, and their multipliers in the complex plane."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stickslip.analysis.cycle_result import LimitCycle
from stickslip.figures import style
from stickslip.figures.sheet import dress, sheet

_EVENTS = {
    "impact": "o", "closes": "<", "opens": "^", "sticks": "D", "slips": "s", "slip reverses": "d", "grazes": "x",
    "kink": "v",
}  # fmt: skip
"""Markers of the kinds of events, words of `EVENT_KINDS`."""


def draw(cycle: LimitCycle) -> Figure:
    """One phase plane per coordinate that comes back, with the events of the cycle, and the unit circle."""
    planes = [i for i, name in enumerate(cycle.coordinate_names) if name not in cycle.shift]
    planes = planes or list(range(len(cycle.q)))
    columns = min(3, len(planes) + 1)
    lines = math.ceil((len(planes) + 1) / columns)
    with style.look():
        figure, axes = sheet(lines, columns, 3.1, width=3.4 * columns)
        for spare in axes[len(planes) + 1 :]:
            spare.set_axis_off()
        axes = axes[: len(planes) + 1]
        for ax, i in zip(axes[:-1], planes, strict=True):
            _plane(ax, cycle, i)
        _multipliers(axes[-1], cycle)
        kinds = [kind for kind in _EVENTS if any(event["kind"] == kind for event in cycle.events)]
        if kinds:
            handles = [
                axes[0].plot([], [], _EVENTS[kind], color=style.SERIES[1], ms=4, label=kind)[0] for kind in kinds
            ]
            axes[0].legend(handles=handles, loc="best", fontsize=7)
        moves = "".join(
            f", {name} {value:+.6g} {cycle.units.get(name, '')} per cycle" for name, value in cycle.shift.items()
        )
        how = f"{cycle.method}, {'rtol' if cycle.method == 'event-driven' else 'dt'} {style.number(cycle.step)}"
        dress(
            figure,
            f"Limit cycle of {cycle.system.replace('_', ' ')}",
            f"period {cycle.period:.9g} s{moves}; {cycle.returns} passage{'s' if cycle.returns > 1 else ''} of the "
            f"section ({cycle.section}) per cycle; {cycle.stability}; {how}, "
            f"closure {style.number(float(f'{cycle.certificate.closure:.1e}'))}, estimated error "
            f"{style.number(float(f'{cycle.certificate.error:.1e}'))} of the ranges",
        )
    return figure


def _plane(ax: Axes, cycle: LimitCycle, i: int) -> None:
    f = len(cycle.q)
    t, x = cycle.orbit
    ax.plot(x[:, i], x[:, f + i], color=style.SERIES[0], lw=1.0)
    for event in cycle.events:
        at = int(np.searchsorted(t - t[0], event["t"] - 1e-12 * cycle.period))
        at = min(at, len(t) - 1)
        ax.plot(x[at, i], x[at, f + i], _EVENTS[event["kind"]], color=style.SERIES[1], ms=4)
    ax.plot(cycle.q[i], cycle.u[i], "x", color=style.INK, ms=6, mew=1.4)
    q, u = cycle.coordinate_names[i], cycle.velocity_names[i]
    ax.margins(0.06)
    style.panel(ax, style.symbol(q), style.axis_label(q, cycle.units), style.axis_label(u, cycle.units))


def _multipliers(ax: Axes, cycle: LimitCycle) -> None:
    angle = np.linspace(0.0, 2.0 * math.pi, 200)
    ax.plot(np.cos(angle), np.sin(angle), color=style.GREY, lw=0.8)
    trivial = np.array([kind != "" for kind in cycle.kinds])
    ax.plot(cycle.multipliers.real[trivial], cycle.multipliers.imag[trivial], "o", mfc="none", color=style.GREY, ms=7)
    own = cycle.nontrivial
    ax.plot(own.real, own.imag, "o", color=style.SERIES[2] if cycle.stable else style.SERIES[1], ms=4)
    half = 1.15 * max(1.0, float(np.abs(cycle.multipliers).max()))
    ax.set(xlim=(-half, half), ylim=(-half, half), aspect="equal")
    note = " (circle: 1 in any case)" if trivial.any() else ""
    style.panel(ax, f"multipliers{note}", "real part", "imaginary part")
