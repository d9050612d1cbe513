"""A fit: measured values over the prediction, residuals in standard deviations, values with their intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from stickslip.figures import style
from stickslip.figures.sheet import dress, sheet
from stickslip.fitting.result import Curve, Fit

_MOST = 4  # columns of data that are drawn
_FEW = 3  # values of a column that are drawn with their standard deviations


def plot(result: Fit) -> Figure:
    """Panels of the first columns of the data with their residuals, and one row per free quantity."""
    curves = [curve for curve in result.curves if len(curve.t)][:_MOST]
    heights = [height for _ in curves for height in (1.6, 0.9)] + [0.34 * len(result.names) + 0.7]
    with style.look():
        figure, axes = sheet(len(heights), 1, heights)
        for k, curve in enumerate(curves):
            _draw(axes[2 * k], axes[2 * k + 1], curve)
        _intervals(axes[-1], result)
        more = len(result.curves) - len(curves)
        words = (
            f"{len(result.residuals)} values, chi² {result.chi2:.4g} of {result.degrees_of_freedom} degrees of freedom"
        )
        note = words + (f"; {more} more columns are not drawn" if more else "")
        dress(figure, f"{result.model.replace('_', ' ')}: fitted to measurements", note)
    return figure


def _draw(above: Any, below: Any, curve: Curve) -> None:
    """One column of one experiment, and its residuals."""
    timed = bool(np.ptp(curve.t)) if len(curve.t) else False
    x = curve.t if timed else np.arange(1, len(curve.t) + 1)
    above.plot(
        x,
        curve.predicted,
        color=style.SERIES[0],
        lw=1.2,
        label="fitted",
        marker="" if timed else "_",
        ls="-" if timed else "",
    )
    if len(curve.t) <= _FEW:  # a period or a drop: without its error nobody could judge how near the fit is
        above.errorbar(x, curve.measured, curve.sigma, fmt=".", color=style.SERIES[1], lw=0.8, label="measured")
        away = 3.0 * curve.sigma + np.max(np.abs(curve.predicted - curve.measured))
        above.set_ylim(np.min(curve.measured) - away, np.max(curve.measured) + away)
        above.set_xlim(0.0, len(curve.t) + 1.0)
        below.set_xlim(0.0, len(curve.t) + 1.0)
        for ax in (above, below):
            ax.set_xticks(x)
    else:
        above.plot(x, curve.measured, ".", ms=3.5, mew=0.0, color=style.SERIES[1], label="measured")
    above.legend(loc="upper right", ncols=2)
    style.panel(above, "", "", f"{style.symbol(curve.channel)}")
    above.set_title(curve.experiment, loc="left", fontsize=8)
    above.tick_params(labelbottom=False)
    r = (curve.predicted - curve.measured) / curve.sigma
    below.axhspan(-2.0, 2.0, color=style.GREY, alpha=0.18, lw=0.0)
    below.axhline(0.0, color=style.GREY, lw=0.6)
    below.plot(x, r, ".", ms=3.0, mew=0.0, color=style.SERIES[1])
    style.panel(below, "", "t [s]" if timed else "number", "residual / σ")


def _intervals(ax: Any, result: Fit) -> None:
    """Every free quantity as a share of its range, with its interval."""
    for k, name in enumerate(result.names):
        low, high = result.bounds[name]
        at = [(x - low) / (high - low) for x in (*result.intervals[name], result.values[name])]
        colour = style.SERIES[0] if result.identifiable[name] else style.GREY
        ax.plot(at[:2], [k, k], color=colour, lw=3.0, alpha=0.5, solid_capstyle="butt")
        ax.plot(at[2], k, "o", ms=4.5, color=colour)
        ends = result.intervals[name]
        text = f"{result.values[name]:.5g}  [{ends[0]:.5g}, {ends[1]:.5g}]"
        ax.annotate(text, (1.0, k), xytext=(4, 0), textcoords="offset points", va="center", fontsize=7.5)
    ax.set_yticks(range(len(result.names)), [style.symbol(name) for name in result.names])
    ax.set_ylim(len(result.names) - 0.5, -0.5)
    ax.set_xlim(0.0, 1.0)
    ax.set_xlabel(f"share of the range, with {100 * result.level:g} % interval")
