"""Work-precision plot: errors of every stepper against step size and against computing time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from stickslip.analysis.convergence import NORMS, Convergence
from stickslip.figures import style
from stickslip.figures.sheet import dress, sheet

_TITLES = {"q_sup": "coordinates, sup norm", "u_L1": "velocities, L1 norm", "u_graph": "velocities, graph"}
_MARKERS = "osD^vP"
_WITHOUT_STEP = ("adaptive", "event-driven")  # these two have a tolerance, and no step size
_EXACT = 1e-12  # relative errors below are rounding: they would squeeze all others into a corner


def work_precision(result: Convergence, title: str) -> Figure:
    """Errors against step size (above) and against seconds (below), one column per norm."""
    steppers = list(result.slopes)
    with style.look():
        figure, axes = sheet(2, len(NORMS), 2.5, width=9.6)
        handles = [Line2D([], [], label=stepper, **_line(i)) for i, stepper in enumerate(steppers)]
        handles.append(Line2D([], [], label="order 1", **_GUIDE))
        for k, ax in enumerate(axes):
            line, norm = divmod(k, len(NORMS))
            by_step = line == 0
            for i, stepper in enumerate(steppers):
                if not (by_step and stepper in _WITHOUT_STEP):
                    points = _points(result, stepper, NORMS[norm], "step" if by_step else "seconds")
                    shown = points[points[:, 1] > _EXACT]
                    ax.loglog(*shown.T, **_line(i))
                    if len(shown) < len(points):
                        _tell_exact(ax, stepper, points)
            if by_step:
                _first_order(ax, result, NORMS[norm])
            ax.margins(0.06)
            _whole_decades(ax)
            labels = ("dt [s]" if by_step else "time [s]", "relative error" if norm == 0 else "")
            style.panel(ax, _TITLES[NORMS[norm]] if by_step else "", *labels)
        note = f"errors against the event-driven judge, rtol {style.number(result.rtol)}"
        dress(figure, f"{title}: measured orders", note, handles)
        return figure


_GUIDE: dict[str, Any] = {"color": style.GREY, "linewidth": 0.8, "linestyle": (0, (4, 3))}


def _line(i: int) -> dict[str, Any]:
    """Marker and colour of stepper i; those that lie over one another can be told apart by their markers."""
    return {"marker": _MARKERS[i % len(_MARKERS)], "markersize": 4, "color": style.SERIES[i % len(style.SERIES)]}


def _points(result: Convergence, stepper: str, norm: str, quantity: str) -> np.ndarray:
    rows = [(getattr(row, quantity), getattr(row, norm)) for row in result.rows if row.stepper == stepper]
    points = np.array(rows, dtype=float).reshape(-1, 2)
    return points[np.all(np.isfinite(points) & (points > 0.0), axis=1)]


def _first_order(ax: Axes, result: Convergence, norm: str) -> None:
    """A line of slope 1 through the finest error of the first time stepper."""
    for stepper in result.slopes:
        points = _points(result, stepper, norm, "step")
        if stepper not in _WITHOUT_STEP and len(points) > 1:
            steps = points[[0, -1], 0]
            ax.loglog(steps, points[-1, 1] * steps / steps[-1], **_GUIDE)
            return


def _tell_exact(ax: Axes, stepper: str, points: np.ndarray) -> None:
    """Words for a stepper whose errors are rounding."""
    worst, fastest = points[:, 1].max(), points[:, 0].min()
    words = f"{stepper}: {style.number(float(f'{worst:.0e}'))} in {fastest:.1g} s"
    ax.annotate(words, (0.03, 0.04), xycoords="axes fraction", color=style.GREY, fontsize=7)


def _whole_decades(ax: Axes) -> None:
    """Labels at powers of ten alone; the ends of a short vertical axis are such powers, so that two stand at least."""
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_formatter(NullFormatter())
        axis.set_major_locator(LogLocator(numticks=6))
    low, high = ax.get_ylim()
    if high / low < 1e2:
        ax.set_ylim(10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high)))
