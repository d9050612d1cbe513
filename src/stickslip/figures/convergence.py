"""Work-precision plot: errors of every stepper against step size and against computing time."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from stickslip.analysis.convergence import NORMS, Convergence
from stickslip.figures import style

_TITLES = {"q_sup": "coordinates, sup norm", "u_L1": "velocities, L1 norm", "u_graph": "velocities, graph"}
_MARKERS = "osD^vP"


def work_precision(result: Convergence, title: str) -> Figure:
    """Errors against step size (above) and against seconds (below), one column per norm."""
    steppers = list(result.slopes)
    with style.look():
        figure = style.new_figure(9.6, 5.6)
        grid = figure.add_gridspec(3, len(NORMS), height_ratios=[0.2, 2.4, 2.4])
        head = figure.add_subplot(grid[0, :])
        head.set_axis_off()
        handles = []
        for column, norm in enumerate(NORMS):
            for line, quantity in enumerate(("step", "seconds")):
                ax = figure.add_subplot(grid[1 + line, column])
                for i, stepper in enumerate(steppers):
                    points = _points(result, stepper, norm, quantity)
                    if quantity == "step" and stepper in ("adaptive", "event-driven"):
                        continue  # these two have a tolerance, and no step size
                    marker, colour = _MARKERS[i % len(_MARKERS)], style.SERIES[i % len(style.SERIES)]
                    (drawn,) = ax.loglog(*points.T, marker=marker, markersize=4, color=colour, label=stepper)
                    if column == 0 and line == 1:
                        handles.append(drawn)
                ax.margins(0.08)
                ax.xaxis.set_minor_formatter(NullFormatter())
                if quantity == "step":
                    _first_order(ax, result, norm)
                style.panel(
                    ax,
                    _TITLES[norm] if line == 0 else "",
                    "dt [s]" if line == 0 else "seconds",
                    "relative error" if column == 0 else "",
                )
        head.legend(handles=handles, loc="center left", ncols=max(1, len(handles)), borderaxespad=0.0)
        figure.suptitle(f"{title}: errors against the event-driven judge, rtol {result.rtol:g}", x=0.01, ha="left")
        return figure


def _points(result: Convergence, stepper: str, norm: str, quantity: str) -> np.ndarray:
    rows = [(getattr(row, quantity), getattr(row, norm)) for row in result.rows if row.stepper == stepper]
    points = np.array(rows, dtype=float).reshape(-1, 2)
    return points[np.all(np.isfinite(points) & (points > 0.0), axis=1)]


def _first_order(ax: Axes, result: Convergence, norm: str) -> None:
    """A line of slope 1 through the finest error of the first time stepper."""
    for stepper in result.slopes:
        points = _points(result, stepper, norm, "step")
        if stepper not in ("adaptive", "event-driven") and len(points) > 1:
            steps = points[[0, -1], 0]
            ax.loglog(steps, points[-1, 1] * steps / steps[-1], color=style.GREY, linewidth=0.8, linestyle=(0, (4, 3)))
            ax.annotate(
                "order 1", (steps[0], points[-1, 1] * steps[0] / steps[-1]), color=style.GREY, fontsize=7, ha="right"
            )
            return
