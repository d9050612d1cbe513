"""Figures of friction problems: convergence of methods, performance profiles, cost against contacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from stickslip.figures.style import FAINT, GREY, SERIES, look, new_figure, number, panel

LINES = ("-", "--", ":", "-.")
MOST_NAMED = 11  # curves in one figure up to which each has a name in the legend


def _styles(count: int) -> list[tuple[str, str]]:
    """Colour and line of each curve: all colours with one kind of line, then with the next."""
    return [(SERIES[k % len(SERIES)], LINES[k // len(SERIES) % len(LINES)]) for k in range(count)]


def convergence(histories: Mapping[str, np.ndarray], title: str, tol: float) -> Figure:
    """Least error so far against time, one curve per name.

    histories : name -> rows (time [s], error)
    tol : tolerance to draw as a line
    """
    with look():
        figure = new_figure(6.8, 3.8)
        ax = figure.add_subplot()
        drawn = {name: h[np.isfinite(h[:, 1]) & (h[:, 1] > 0.0)] for name, h in histories.items()}
        several = len(drawn) > MOST_NAMED
        for (name, history), (colour, line) in zip(drawn.items(), _styles(len(drawn)), strict=True):
            if len(history):
                mark = "o" if len(history) < 60 else None
                least = np.minimum.accumulate(history[:, 1])
                look_of = {"color": SERIES[0], "alpha": 0.6} if several else {"color": colour, "linestyle": line}
                ax.plot(1e3 * history[:, 0], least, label=name, marker=mark, markersize=2.5, **look_of)
        ax.axhline(tol, color=GREY, linewidth=0.8, linestyle=(0, (4, 3)))
        ax.annotate(f"tolerance {number(tol)}", (1.0, tol), xycoords=("axes fraction", "data"), ha="right", va="bottom",
                    fontsize=7, color=GREY)  # fmt: skip
        ax.set_yscale("log")
        ax.set_xscale("log")
        panel(ax, title, "time [ms]", "least error so far")
        if 1 < len(histories) <= MOST_NAMED:
            ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return figure


def profile(seconds: Mapping[str, Sequence[float]], points: int = 400) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Performance profile of Dolan and More: the share of problems that a solver solves within tau times the best time.

    seconds : solver -> seconds per problem, inf where it did not solve; a problem without a solver counts for none
    points : number of values of tau >= 1

    Returns tau (points,), and per solver the shares (points,).
    """
    times = np.array(list(seconds.values()), dtype=float)
    best = times.min(axis=0)
    ratios = np.where(np.isfinite(times), times / np.where(np.isfinite(best), best, 1.0), np.inf)
    largest = float(np.max(ratios[np.isfinite(ratios)], initial=2.0))
    tau = np.geomspace(1.0, 1.2 * largest, points)
    # A little room for round-off: the best solver itself has the ratio 1.
    shares = (ratios[:, None, :] <= tau[None, :, None] * (1.0 + 1e-12)).mean(axis=2)
    return tau, dict(zip(seconds, shares, strict=True))


def performance_profiles(seconds: Mapping[str, Sequence[float]], title: str) -> Figure:
    """Figure of performance profiles (see `profile`), drawn as steps: the higher a curve, the better its solver."""
    tau, shares = profile(seconds)
    with look():
        figure = new_figure(6.8, 4.0)
        ax = figure.add_subplot()
        order = sorted(shares, key=lambda name: -float(shares[name].sum()))
        for name, (colour, line) in zip(order, _styles(len(order)), strict=True):
            ax.step(tau, shares[name], line, where="post", color=colour, label=name)
        ax.set_xscale("log")
        ax.set_ylim(0.0, 1.02)
        panel(ax, title, "time / time of the fastest solver", "share of problems solved")
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return figure


def cost(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Figure of the time of a sweep [s] and of memory against the number of contacts, both axes logarithmic."""
    with look():
        figure = new_figure(6.8, 3.2)
        panels = figure.subplots(1, 2)
        for ax, key, unit, label in (
            (panels[0], "sweep_s", 1.0, "one sweep [s]"),
            (panels[1], "bytes", 1e-6, "memory [MB]"),
        ):
            for dim, colour in zip((2, 3), SERIES, strict=False):
                some = [row for row in rows if row["dim"] == dim]
                if not some:
                    continue
                n = np.array([row["contacts"] for row in some], dtype=float)
                y = unit * np.array([row[key] for row in some])
                ax.loglog(n, y, "o-", color=colour, markersize=3.5, label="plane" if dim == 2 else "space")
                ax.loglog(n, y[0] * n / n[0], color=FAINT, linewidth=2.5, zorder=0)
            panel(ax, "", "contacts", label)
        panels[0].legend(title="grey: slope 1")
        return figure
