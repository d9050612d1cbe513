"""The slider-crank's figures of [FLG10]: corner motions, speeds, portraits, and the influence of the restitution.

Flores, P., Leine, R. and Glocker, Ch.: Modeling and analysis of planar rigid multibody systems with translational
clearance joints based on the non-smooth dynamics approach. Multibody System Dynamics 23 (2010). Figures 10 to 13.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from stickslip import library
from stickslip.analysis.distinct_impacts import distinct_impacts
from stickslip.analysis.joint_configuration import joint_configuration
from stickslip.figures import style
from stickslip.papers import PaperFigure
from stickslip.trajectory import Certificate, Energies, ImpactTable, Trajectory

TURNS = 2
RESTITUTIONS = (0.1, 0.4, 0.6, 0.9)
_TABLE = 0.4  # restitution of Table 1
_DT, _EVERY, _T_END = 1e-6, 10, 0.16  # two turns take 0.14 s: the crank is free, and slows down
_RECORDED = ("t", "q", "u", "gap", "normal_impulse", "tangential_impulse", "contact_state")
_TOUCH = "#DCE9F4"
_DASHES = (0, (4, 3))
_TURNED = "crank revolutions"


def fig10() -> PaperFigure:
    """Dimensionless motion of the slider's corners."""
    run = _run(_TABLE)
    with style.look():
        figure, axes = _page(4.6, _handles("corner"))
        for i, ax in enumerate(axes):
            _corner(ax, run, i)
            style.panel(ax, f"corner {i + 1}", _TURNED if i >= 2 else "", f"$y_{i + 1}$, normalised")
        configuration = joint_configuration(run)
        title = "Dimensionless motion of the slider's corners"
        note = f"{_span(run)}: {configuration}"
        if np.ptp(run["theta_3"]) < 1e-9:
            note += "; the slider never tilts: corners 1 and 2, and 3 and 4, move alike"
        return _finish(figure, "Figure 10", title, note, [run])


def fig11() -> PaperFigure:
    """Speeds of crank and rod, and the portraits of rod and slider."""
    run = _run(_TABLE)
    with style.look():
        figure, axes = _page(5.0, _handles("portrait"))
        for ax, letter, name, who in zip(
            axes, "ab", ("omega_1", "omega_2"), ("crank speed", "connecting-rod speed"), strict=False
        ):
            _against_turns(ax, run, run[name])
            style.panel(ax, f"({letter}) {who}", _TURNED, style.axis_label(name, run.units))
        _portrait(axes[2], run, run["theta_2"], run["omega_2"])
        style.panel(
            axes[2],
            "(c) connecting-rod portrait",
            *(style.axis_label(name, run.units) for name in ("theta_2", "omega_2")),
        )
        _slider_portrait(axes[3], run)
        axes[3].set_title("(d) slider portrait")
        title = "Speeds of crank and connecting rod, portraits of rod and slider"
        return _finish(figure, "Figure 11", title, f"{_span(run)}: the crank is free", [run])


def fig12() -> PaperFigure:
    """Motion of corner 1 for four coefficients of restitution."""
    runs = [_run(eps) for eps in RESTITUTIONS]
    with style.look():
        figure, axes = _page(4.6, _handles("corner"))
        for i, (ax, run) in enumerate(zip(axes, runs, strict=True)):
            _corner(ax, run, 0)
            style.panel(ax, _restitution_title(i, run), _TURNED if i >= 2 else "", "$y_1$, normalised")
        title = "Influence of restitution on the dimensionless motion of corner 1"
        return _finish(figure, "Figure 12", title, f"slider on a guide for {_touching(runs)} of these two turns", runs)


def fig13() -> PaperFigure:
    """Slider portraits for four coefficients of restitution."""
    runs = [_run(eps) for eps in RESTITUTIONS]
    with style.look():
        figure, axes = _page(5.0, _handles("portrait"))
        for i, (ax, run) in enumerate(zip(axes, runs, strict=True)):
            _slider_portrait(ax, run)
            ax.set_title(_restitution_title(i, run))
            if i < 2:
                ax.set_xlabel("")
        title = "Influence of restitution on the slider portraits"
        return _finish(figure, "Figure 13", title, f"slider on a guide for {_touching(runs)} of these two turns", runs)


@lru_cache(maxsize=len(RESTITUTIONS))
def _run(restitution: float) -> Trajectory:
    scenario = library.slider_crank(restitution_normal=restitution)
    trajectory: Trajectory = scenario.simulate(dt=_DT, t_end=_T_END, every=_EVERY)
    if not trajectory.complete:
        raise RuntimeError(f"the slider-crank's run {trajectory.status}")
    return _two_turns(trajectory)


def _two_turns(run: Trajectory) -> Trajectory:
    """Records and impacts of the run up to the end of the second turn: the impacts counted are the impacts drawn."""
    n = int(np.sum(_shown(run)))
    table = run.impact_table
    early = table["time"] <= run.t[n - 1]
    return replace(
        run,
        **{name: getattr(run, name)[:n] for name in _RECORDED},
        energy=Energies(run.energy.kinetic[:n], run.energy.potential[:n]),
        impact_table=ImpactTable({key: values[early] for key, values in table.columns.items()}, table.names),
    )


def _span(run: Trajectory) -> str:
    return f"two crank turns, {run.t[-1]:.4f} s"


# -- quantities ----------------------------------------------------------------------------------------------


def turns(run: Trajectory) -> np.ndarray:
    """Revolutions of the crank since the start, shape (n,)."""
    return np.asarray(run["theta_1"] / (2 * np.pi))


def corner_motion(run: Trajectory, corner: int) -> np.ndarray:
    """Dimensionless height of a corner (0..3), [FLG10] eq. (115): 1 at the upper guide, -1 at the lower, 0 in between.

    y_i of the paper is the corner's distance from the place where it would touch the lower guide, 0 to 2 c.
    """
    c = run.parameters["clearance"]
    gap = run.gap[:, corner] / c
    return np.asarray(1.0 - gap if corner < 2 else gap - 1.0)


def slider_position(run: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """Dimensionless position of the slider's centre: along the stroke and across the play, both from -1 to 1."""
    p = run.parameters
    x = p["l_1"] * np.cos(run["theta_1"]) + p["l_2"] * np.cos(run["theta_2"])
    y = p["l_1"] * np.sin(run["theta_1"]) + p["l_2"] * np.sin(run["theta_2"])
    return (x - p["l_2"]) / p["l_1"], y / p["clearance"]


def _shown(run: Trajectory) -> np.ndarray:
    return np.asarray(turns(run) <= TURNS)


def _impact_rows(run: Trajectory, corner: int | None = None) -> np.ndarray:
    """Records at which distinct impacts have happened, of one corner or of all."""
    table = distinct_impacts(run)
    times = table["time"] if corner is None else table["time"][table["contact"] == corner]
    return np.unique(np.searchsorted(run.t, times - 0.5 * run.dt).clip(max=len(run) - 1))


def _touching(runs: list[Trajectory]) -> str:
    return ", ".join(f"{100 * (1 - joint_configuration(run).share['no contact']):.0f} %" for run in runs)


# -- drawing -------------------------------------------------------------------------------------------------


def _page(height: float, handles: list[Any]) -> tuple[Figure, list[Axes]]:
    """A figure with a legend across its head and two rows of two panels beneath."""
    figure = style.new_figure(7.4, height)
    grid = figure.add_gridspec(3, 2, height_ratios=[0.26, 0.5 * (height - 1.2), 0.5 * (height - 1.2)])
    head = figure.add_subplot(grid[0, :])
    head.set_axis_off()
    head.legend(handles=handles, loc="center left", ncols=len(handles), borderaxespad=0.0, columnspacing=1.6)
    return figure, [figure.add_subplot(grid[1 + k // 2, k % 2]) for k in range(4)]


def _handles(kind: str) -> list[Any]:
    guide = Line2D([], [], color=style.GREY, linewidth=0.8, linestyle=_DASHES, label="guide")
    impact = Line2D([], [], color=style.SERIES[1], marker="o", markersize=3.5, linestyle="none", label="impact")
    if kind == "corner":
        return [guide, Patch(facecolor=_TOUCH, label="corner on the guide"), impact]
    return [guide, Line2D([], [], color=style.INK, marker="o", markersize=4.5, linestyle="none", label="start"), impact]


def _corner(ax: Axes, run: Trajectory, corner: int) -> None:
    shown, turned, y = _shown(run), turns(run), corner_motion(run, corner)
    _shade(ax, turned[shown], joint_configuration(run).closed[shown, corner])
    ax.plot(*style.thin(turned[shown], y[shown]), color=style.SERIES[0], linewidth=1.0, zorder=3, label="motion")
    rows = _impact_rows(run, corner)
    rows = rows[shown[rows]]
    _dots(ax, turned[rows], y[rows])
    _guides(ax)
    ax.set_xlim(0, TURNS)
    ax.set_ylim(-1.15, 1.15)


def _against_turns(ax: Axes, run: Trajectory, values: np.ndarray) -> None:
    shown = _shown(run)
    ax.plot(*style.thin(turns(run)[shown], values[shown]), color=style.SERIES[0], linewidth=1.0, label="motion")
    ax.set_xlim(0, TURNS)


def _portrait(ax: Axes, run: Trajectory, x: np.ndarray, y: np.ndarray) -> None:
    rows = np.flatnonzero(_shown(run))
    struck = _impact_rows(run)
    struck = struck[struck <= rows[-1]]
    some = np.unique(np.concatenate([rows[:: max(1, len(rows) // 4000)], struck - 1, struck]))
    ax.plot(x[some], y[some], color=style.SERIES[0], linewidth=0.9, zorder=3, label="motion")
    _dots(ax, x[struck], y[struck])
    ax.plot(x[0], y[0], color=style.INK, marker="o", markersize=4.5, linestyle="none", zorder=5)
    ax.margins(x=0.05)


def _slider_portrait(ax: Axes, run: Trajectory) -> None:
    _portrait(ax, run, *slider_position(run))
    _guides(ax)
    style.panel(ax, "", "$x$, normalised", "$y$, normalised")
    ax.set_xlim(-1.08, 1.08)
    ax.set_ylim(-1.15, 1.15)


def _guides(ax: Axes) -> None:
    for side in (-1.0, 1.0):
        ax.axhline(side, color=style.GREY, linewidth=0.8, linestyle=_DASHES, zorder=1)
    ax.set_yticks([-1, -0.5, 0, 0.5, 1])


def _dots(ax: Axes, x: np.ndarray, y: np.ndarray) -> None:
    ax.plot(x, y, color=style.SERIES[1], marker="o", markersize=2.6, linestyle="none", zorder=4, label="impact")


def _shade(ax: Axes, x: np.ndarray, closed: np.ndarray) -> None:
    """Shade where a corner stays on the guide for more than a hundredth of a turn."""
    edges = np.diff(np.concatenate([[False], closed, [False]]).astype(int))
    starts, stops = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    for begin, end in zip(x[np.maximum(starts - 1, 0)], x[stops - 1], strict=True):
        if end - begin > 0.01:
            ax.axvspan(begin, end, facecolor=_TOUCH, linewidth=0.0, zorder=0)


def _restitution_title(i: int, run: Trajectory) -> str:
    return f"({'abcd'[i]}) $\\varepsilon_N$ = {run.parameters['restitution_normal']:g}"


def _finish(figure: Figure, number: str, title: str, note: str, runs: list[Trajectory]) -> PaperFigure:
    p, dt = runs[0].parameters, runs[0].dt
    c = Certificate.worst([run.certificate for run in runs])
    source = f"[FLG10] {number}"
    figure.suptitle(f"{source}.  {title}", x=0.01, ha="left", fontsize=10.5, fontweight="bold")
    eps = ", ".join(f"{run.parameters['restitution_normal']:g}" for run in runs)
    style.caption(
        figure,
        f"Table 1 (c = {1e3 * p['clearance']:g} mm, μ = {p['friction']:g}, $\\varepsilon_N$ = {eps}, "
        f"$\\varepsilon_T$ = {p['restitution_tangential']:g}); Moreau's midpoint rule, Δt = {style.number(dt)} s, "
        f"{sum(run.steps for run in runs):,} steps\n{note}\n"
        f"certificate: {c}; LCP size ≤ {c.max_lcp_size}",
    )
    return PaperFigure(title, source, p, dt, c, figure)
