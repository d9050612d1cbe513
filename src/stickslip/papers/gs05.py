"""The woodpecker's figures of [GS05]: time histories of bird and sleeve, and the limit cycle.

Glocker, Ch. and Studer, C.: Formulation and preparation for numerical evaluation of linear complementarity systems in
dynamics. Multibody System Dynamics 13 (2005). Figures 1 and 2 are drawn by `maps`; figures 4 to 6 are figures 6 to 8
of [GS03], too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from stickslip import library
from stickslip.analysis.progress import not_interrupted
from stickslip.figures import style
from stickslip.figures.sheet import dress, sheet
from stickslip.papers import PaperFigure
from stickslip.trajectory import OPEN, Trajectory

_DT = 1e-5
_T_END = 3.0
_SHOWN = 0.6  # seconds of the time histories: four cycles
_JAM = "#DCE9F4"
_DASHES, _DOTS = (0, (4, 3)), (0, (1.5, 1.5))
_PHI_S0 = -0.2788  # the section of Table I


def fig4() -> PaperFigure:
    """Time history of the woodpecker's angular displacement and velocity."""
    return _histories("Figure 4", "woodpecker", "phi_S", "omega_S")


def fig5() -> PaperFigure:
    """Time history of the sleeve's angular displacement and velocity."""
    return _histories("Figure 5", "sleeve", "phi_M", "omega_M")


def fig6() -> PaperFigure:
    """Limit cycle of the woodpecker and of the sleeve in their phase planes."""
    trajectory = _run()
    start, stop = last_cycle(trajectory)
    with style.look():
        handles = [
            Line2D([], [], color=style.SERIES[0], linewidth=1.6, label="limit cycle"),
            Line2D([], [], color=style.SERIES[1], linewidth=1.6, linestyle=_DOTS, label="impact: the velocity jumps"),
            Line2D([], [], color=style.INK, marker="o", markersize=4.5, linestyle="none", label="Table I"),
            Line2D([], [], color=style.GREY, linewidth=0.8, linestyle=_DASHES, label="angle at which a gap closes"),
        ]
        figure, axes = sheet(1, 2, 3.2)
        for ax, who, phi, omega in zip(
            axes, ("woodpecker", "sleeve"), ("phi_S", "phi_M"), ("omega_S", "omega_M"), strict=True
        ):
            _portrait(ax, trajectory, phi, omega, start, stop)
            style.panel(ax, who, *(style.axis_label(name, trajectory.units) for name in (phi, omega)))
            _limits(ax, trajectory, phi, vertical=True)
        period = trajectory.t[stop] - trajectory.t[start]
        drop = 1e3 * (trajectory["y"][start] - trajectory["y"][stop])
        title, note = "Limit cycle in the phase space", f"cycle shown: period {period:.4f} s, drop {drop:.2f} mm"
        return _finish(figure, "Figure 6", title, note, handles)


@lru_cache(maxsize=1)
def _run() -> Trajectory:
    trajectory = not_interrupted(library.woodpecker().simulate(dt=_DT, t_end=_T_END))
    if not trajectory.complete:
        raise RuntimeError(f"the woodpecker's run {trajectory.status}")
    return trajectory


def last_cycle(trajectory: Trajectory) -> tuple[int, int]:
    """First and last record of the last full cycle; a cycle begins where phi_S falls through the value of Table I."""
    phi_S = trajectory["phi_S"]
    passages = np.flatnonzero((phi_S[:-1] > _PHI_S0) & (phi_S[1:] <= _PHI_S0)) + 1
    return int(passages[-2]), int(passages[-1])


def _histories(number: str, who: str, phi: str, omega: str) -> PaperFigure:
    trajectory = _run()
    shown = trajectory.t <= _SHOWN * (1 + 1e-12)
    with style.look():
        handles = [
            Line2D([], [], color=style.SERIES[1], linewidth=0.9, label="beak strikes the pole"),
            Patch(facecolor=_JAM, label="sleeve's lower edge on the pole"),
            Line2D([], [], color=style.GREY, linewidth=0.8, linestyle=_DASHES, label="angle at which a gap closes"),
        ]
        figure, axes = sheet(1, 2, 2.5)
        for ax, name in zip(axes, (phi, omega), strict=True):
            _jamming(ax, trajectory, shown)
            t, y = style.thin(trajectory.t[shown], trajectory[name][shown])
            ax.plot(t, y, color=style.SERIES[0], label=style.symbol(name), zorder=3)
            style.panel(ax, "", "t [s]", style.axis_label(name, trajectory.units))
            ax.set_xlim(0.0, _SHOWN)
            _beak_impacts(ax, trajectory)
            if name == phi:
                _limits(ax, trajectory, phi, vertical=False)
        title = f"Time history of the {who}'s angular displacement and velocity"
        return _finish(figure, number, title, f"first {_SHOWN:g} s of {trajectory.t[-1]:g} s", handles)


def _jamming(ax: Axes, trajectory: Trajectory, shown: np.ndarray) -> None:
    """Shade the times in which the sleeve's lower edge touches the pole: it slips, sticks and slips again."""
    closed = trajectory.contact_state[shown, trajectory.contact_names.index("sleeve lower")] != OPEN
    t = trajectory.t[shown]
    edges = np.diff(np.concatenate([[False], closed, [False]]).astype(int))
    starts, stops = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    for a, b in zip(starts, stops, strict=True):
        begin, end = t[max(a - 1, 0)], t[b - 1]
        if end - begin > 1e-3:
            ax.axvspan(begin, end, facecolor=_JAM, linewidth=0.0, zorder=0)


def _beak_impacts(ax: Axes, trajectory: Trajectory) -> None:
    for time in trajectory.impacts().of("beak")["time"]:
        if time <= _SHOWN:
            ax.axvline(time, color=style.SERIES[1], linewidth=0.9, zorder=2)


def _limits(ax: Axes, trajectory: Trajectory, phi: str, *, vertical: bool) -> None:
    """Angles at which a gap of [GS05] eq. (15) closes."""
    p = trajectory.parameters
    if phi == "phi_S":
        angles = {"beak": (p["l_M"] + p["l_G"] - p["l_S"] - p["r_O"]) / p["h_S"]}
    else:
        play = (p["r_M"] - p["r_O"]) / p["h_M"]
        angles = {"lower edge": -play, "upper edge": play}
    for angle in angles.values():
        draw = ax.axvline if vertical else ax.axhline
        draw(angle, color=style.GREY, linewidth=0.7, linestyle=_DASHES, zorder=1)


def _portrait(ax: Axes, trajectory: Trajectory, phi: str, omega: str, start: int, stop: int) -> None:
    x, y = trajectory[phi], trajectory[omega]
    jumps = np.searchsorted(trajectory.t, trajectory.impacts()["time"] - 0.5 * trajectory.dt)
    mine = jumps[(jumps > start) & (jumps <= stop)]
    some = np.linspace(start, stop, min(stop - start + 1, 1500)).astype(int)
    rows = np.unique(np.concatenate([some, mine - 1, mine]))
    # NaN interrupts the line where the velocity jumps; a dotted line shows the jump
    gaps = np.flatnonzero(np.isin(rows, mine))
    ax.plot(
        np.insert(x[rows], gaps, np.nan), np.insert(y[rows], gaps, np.nan), color=style.SERIES[0], linewidth=1.6,
        zorder=4, label="limit cycle",
    )  # fmt: skip
    for k in mine:
        # on the line where the gap closes: heavier than it, on a white ground that interrupts it
        ax.plot(x[k - 1 : k + 1], y[k - 1 : k + 1], color=style.PAPER, linewidth=3.4, zorder=2, label="ground")
        ax.plot(x[k - 1 : k + 1], y[k - 1 : k + 1], color=style.SERIES[1], linewidth=1.8, linestyle=_DOTS, zorder=3)
    ax.plot(x[0], y[0], color=style.INK, marker="o", markersize=4.5, linestyle="none", zorder=6, label="Table I")
    ax.margins(x=0.05)
    _arrows(ax, x[start : stop + 1], y[start : stop + 1], mine - start)


def _arrows(ax: Axes, x: np.ndarray, y: np.ndarray, jumps: np.ndarray, count: int = 5) -> None:
    """Arrow heads along the smooth parts of the curve, evenly by its length on paper."""
    pieces = np.hypot(np.diff(x) / np.ptp(x), np.diff(y) / np.ptp(y))
    pieces[jumps - 1] = 0.0
    length = np.concatenate([[0.0], np.cumsum(pieces)])
    for fraction in (np.arange(count) + 0.5) / count:
        before, k, ahead, after = (
            int(np.searchsorted(length, fraction * length[-1] + shift)) for shift in (-0.05, -0.015, 0.015, 0.05)
        )
        if ((jumps > before) & (jumps <= after)).any() or ahead == k:
            continue  # an arrow at a jump points nowhere
        arrow = {"arrowstyle": "-|>", "color": style.SERIES[0], "linewidth": 0.0, "mutation_scale": 13}
        ax.annotate("", (x[ahead], y[ahead]), (x[k], y[k]), arrowprops=arrow, zorder=5)


def _finish(figure: Figure, number: str, title: str, note: str, handles: Sequence[Any]) -> PaperFigure:
    trajectory = _run()
    p, c = trajectory.parameters, trajectory.certificate
    source = f"[GS05] {number}"
    words = (
        f"Table I (μ = {p['friction']:g}, $\\varepsilon_{{N1}}$ = {p['restitution_normal']:g}, "
        f"$\\varepsilon_{{N2,3}}$ = {p['restitution_sleeve']:g}, $\\varepsilon_T$ = {p['restitution_tangential']:g}); "
        f"Moreau's midpoint rule, Δt = {style.number(trajectory.dt)} s, {trajectory.steps:,} steps; {note}\n"
        f"certificate: {c}; LCP size ≤ {c.max_lcp_size}"
    )
    dress(figure, f"{source}. {title}", words, handles)
    return PaperFigure(title, source, p, trajectory.dt, c, figure)
