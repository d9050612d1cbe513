"""The slider-crank's figures of [FLG10]: corner motions, speeds, portraits, and the influence of the restitution.

Flores, P., Leine, R. and Glocker, Ch.: Modeling and analysis of planar rigid multibody systems with translational
clearance joints based on the non-smooth dynamics approach. Multibody System Dynamics 23 (2010). Figures 10 to 13.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from stickslip.analysis.progress import not_interrupted
from stickslip.figures import style
from stickslip.figures.sheet import dress, sheet
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
    """Dimensionless motion of the slider's corners; corners that move alike share a panel."""
    run = _run(_TABLE)
    groups = _alike(run)
    with style.look():
        figure, axes = sheet(len(groups), 1, 1.75 if len(groups) < 4 else 1.3)
        for ax, corners in zip(axes, groups, strict=True):
            _corner(ax, run, corners)
            names = [f"{i + 1}" for i in corners]
            words = f"corners {' and '.join(names)}" if len(names) > 1 else f"corner {names[0]}"
            label = ", ".join(f"$y_{name}$" for name in names)
            style.panel(ax, words, _TURNED if ax is axes[-1] else "", f"{label} [1]")
        configuration = joint_configuration(run)
        title = "Dimensionless motion of the slider's corners"
        note = f"{_span(run)}: {configuration}"
        if len(groups) < 4:
            note += "; the slider never tilts: corners 1 and 2, and 3 and 4, move alike, and each pair has one panel"
        return _finish(figure, "Figure 10", title, note, [run], _handles("corner"))


def _alike(run: Trajectory) -> list[tuple[int, ...]]:
    """Groups of corners with one motion: pairs on one side of a slider that never tilts, else each corner alone."""
    return [(0, 1), (2, 3)] if np.ptp(run["theta_3"]) < 1e-9 else [(0,), (1,), (2,), (3,)]


def fig11() -> PaperFigure:
    """Speeds of crank and rod, and the portraits of rod and slider."""
    run = _run(_TABLE)
    with style.look():
        figure, axes = sheet(2, 2, 2.05)
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
        return _finish(figure, "Figure 11", title, f"{_span(run)}: the crank is free", [run], _handles("portrait"))


def fig12() -> PaperFigure:
    """Motion of corner 1 for four coefficients of restitution."""
    runs = [_run(eps) for eps in RESTITUTIONS]
    with style.look():
        figure, axes = sheet(2, 2, 1.75)
        for i, (ax, run) in enumerate(zip(axes, runs, strict=True)):
            _corner(ax, run, (0,))
            style.panel(ax, _restitution_title(i, run), _TURNED if i >= 2 else "", "$y_1$ [1]")
        title = "Influence of restitution on the dimensionless motion of corner 1"
        note = f"slider on a guide for {_touching(runs)} of these two turns"
        return _finish(figure, "Figure 12", title, note, runs, _handles("corner"))


def fig13() -> PaperFigure:
    """Slider portraits for four coefficients of restitution."""
    runs = [_run(eps) for eps in RESTITUTIONS]
    with style.look():
        figure, axes = sheet(2, 2, 2.0)
        for i, (ax, run) in enumerate(zip(axes, runs, strict=True)):
            _slider_portrait(ax, run)
            ax.set_title(_restitution_title(i, run))
            if i < 2:
                ax.set_xlabel("")
        title = "Influence of restitution on the slider portraits"
        note = f"slider on a guide for {_touching(runs)} of these two turns"
        return _finish(figure, "Figure 13", title, note, runs, _handles("portrait"))


@lru_cache(maxsize=len(RESTITUTIONS))
def _run(restitution: float) -> Trajectory:
    scenario = library.slider_crank(restitution_normal=restitution)
    trajectory = not_interrupted(scenario.simulate(dt=_DT, t_end=_T_END, every=_EVERY))
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


def _handles(kind: str) -> list[Any]:
    guide = Line2D([], [], color=style.GREY, linewidth=0.8, linestyle=_DASHES, label="guide")
    impact = Line2D([], [], color=style.SERIES[1], marker="o", markersize=3.5, linestyle="none", label="impact")
    if kind == "corner":
        return [guide, Patch(facecolor=_TOUCH, label="corner on the guide"), impact]
    return [guide, Line2D([], [], color=style.INK, marker="o", markersize=4.5, linestyle="none", label="start"), impact]


def _corner(ax: Axes, run: Trajectory, corners: tuple[int, ...]) -> None:
    """The motion of one corner, or of several that move alike."""
    shown, turned, y = _shown(run), turns(run), corner_motion(run, corners[0])
    _shade(ax, turned[shown], joint_configuration(run).closed[shown][:, list(corners)].any(axis=1))
    ax.plot(*style.thin(turned[shown], y[shown]), color=style.SERIES[0], linewidth=1.0, zorder=3, label="motion")
    rows = np.unique(np.concatenate([_impact_rows(run, corner) for corner in corners]))
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
    style.panel(ax, "", "$x$ [1]", "$y$ [1]")
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


def _finish(
    figure: Figure, number: str, title: str, note: str, runs: list[Trajectory], handles: Sequence[Any]
) -> PaperFigure:
    p, dt = runs[0].parameters, runs[0].dt
    c = Certificate.worst([run.certificate for run in runs])
    source = f"[FLG10] {number}"
    eps = ", ".join(f"{run.parameters['restitution_normal']:g}" for run in runs)
    words = (
        f"Table 1 (c = {1e3 * p['clearance']:g} mm, μ = {p['friction']:g}, $\\varepsilon_N$ = {eps}, "
        f"$\\varepsilon_T$ = {p['restitution_tangential']:g}); Moreau's midpoint rule, Δt = {style.number(dt)} s, "
        f"{sum(run.steps for run in runs):,} steps\n{note}\n"
        f"certificate: {c}; LCP size ≤ {c.max_lcp_size}"
    )
    dress(figure, f"{source}. {title}", words, handles)
    return PaperFigure(title, source, p, dt, c, figure)
