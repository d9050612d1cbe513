"""The woodpecker's figures of [GS05]: time histories of bird and sleeve, and the limit cycle.

Glocker, Ch. and Studer, C.: Formulation and preparation for numerical evaluation of linear complementarity systems in
dynamics. Multibody System Dynamics 13 (2005). Figures 4 to 6; the same as figures 6 to 8 of [GS03].
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from stickslip import library
from stickslip.figures import PaperFigure, style
from stickslip.trajectory import OPEN, Trajectory

_DT = 1e-5
_T_END = 3.0
_SHOWN = 0.6  # seconds of the time histories: four cycles
_JAM = "#DCE9F4"
_PHI_S0 = -0.2788  # the section of Table I


def fig4() -> PaperFigure:
    """Time history of the woodpecker's angular displacement and velocity."""
    return _histories("Figure 4", "woodpecker", "phi_S", "omega_S")


def fig5() -> PaperFigure:
    """Time history of the sleeve's angular displacement and velocity."""
    return _histories("Figure 5", "sleeve", "phi_M", "omega_M")


def fig6() -> PaperFigure:
    """Limit cycle in the phase space."""
    trajectory = _run()
    start, stop = last_cycle(trajectory)
    with style.look():
        figure = style.new_figure(7.4, 3.9)
        for ax, who, phi, omega in zip(
            figure.subplots(1, 2), ("woodpecker", "sleeve"), ("phi_S", "phi_M"), ("omega_S", "omega_M"), strict=True
        ):
            _portrait(ax, trajectory, phi, omega, start, stop)
            style.panel(ax, who, *(style.axis_label(name, trajectory.units) for name in (phi, omega)))
            _limits(ax, trajectory, phi, vertical=True)
        handles = [
            Line2D([], [], color=style.SERIES[0], linewidth=1.6, label="limit cycle"),
            Line2D([], [], color=style.SERIES[1], linewidth=1.2, linestyle=(0, (1.5, 1.5)), label="impact"),
            Line2D([], [], color="#C3C8CF", linewidth=0.8, label="on the way there"),
            Line2D([], [], color=style.INK, marker="o", markersize=4, linestyle="none", label="Table I"),
            Line2D([], [], color=style.GREY, linewidth=0.8, linestyle=(0, (4, 3)), label="contact closes"),
        ]
        figure.legend(handles=handles, loc="outside upper right", ncols=5, columnspacing=1.3)
        period = trajectory.t[stop] - trajectory.t[start]
        drop = 1e3 * (trajectory["y"][start] - trajectory["y"][stop])
        return _finish(
            figure,
            "Figure 6",
            "Limit cycle of the woodpecker toy in the phase space",
            f"cycle shown: period {period:.4f} s, drop {drop:.2f} mm",
        )


@lru_cache(maxsize=1)
def _run() -> Trajectory:
    trajectory: Trajectory = library.woodpecker().simulate(dt=_DT, t_end=_T_END)
    if not trajectory.complete:
        raise RuntimeError(f"the woodpecker's run {trajectory.status}")
    return trajectory


def last_cycle(trajectory: Trajectory) -> tuple[int, int]:
    """Records between which the last full cycle lies: phi_S falls through the value of Table I."""
    phi_S = trajectory["phi_S"]
    passages = np.flatnonzero((phi_S[:-1] > _PHI_S0) & (phi_S[1:] <= _PHI_S0)) + 1
    return int(passages[-2]), int(passages[-1])


def _histories(number: str, who: str, phi: str, omega: str) -> PaperFigure:
    trajectory = _run()
    shown = trajectory.t <= _SHOWN * (1 + 1e-12)
    with style.look():
        figure = style.new_figure(7.4, 3.1)
        for ax, name in zip(figure.subplots(1, 2), (phi, omega), strict=True):
            _jamming(ax, trajectory, shown)
            t, y = style.thin(trajectory.t[shown], trajectory[name][shown])
            ax.plot(t, y, color=style.SERIES[0], label=style.symbol(name), zorder=3)
            style.panel(ax, "", "t [s]", style.axis_label(name, trajectory.units))
            ax.set_xlim(0.0, _SHOWN)
            _beak_impacts(ax, trajectory)
            if name == phi:
                _limits(ax, trajectory, phi, vertical=False)
        handles = [
            Patch(facecolor=_JAM, label="sleeve's lower edge on the pole"),
            Line2D([], [], color=style.SERIES[1], linewidth=0.9, label="beak strikes"),
            Line2D([], [], color=style.GREY, linewidth=0.8, linestyle=(0, (4, 3)), label="contact closes"),
        ]
        figure.legend(handles=handles, loc="outside upper right", ncols=3, columnspacing=1.3)
        title = f"Time history of the {who}'s angular displacement and velocity"
        return _finish(figure, number, title, f"first {_SHOWN:g} s of {trajectory.t[-1]:g} s")


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
        draw(angle, color=style.GREY, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)


def _portrait(ax: Axes, trajectory: Trajectory, phi: str, omega: str, start: int, stop: int) -> None:
    x, y = trajectory[phi], trajectory[omega]
    jumps = np.searchsorted(trajectory.t, trajectory.impacts()["time"] - 0.5 * trajectory.dt)
    before = _rows(0, start, jumps)
    ax.plot(x[before], y[before], color="#C3C8CF", linewidth=0.5, zorder=2, label="transient")
    rows = _rows(start, stop, jumps)
    smooth_y = y[rows].copy()
    jumped = np.isin(rows, jumps)
    # nan where the velocity jumps: the line is interrupted, and a dotted one says what the impact did
    xs, ys = np.insert(x[rows], np.flatnonzero(jumped), np.nan), np.insert(smooth_y, np.flatnonzero(jumped), np.nan)
    ax.plot(xs, ys, color=style.SERIES[0], linewidth=1.6, zorder=4, label="limit cycle")
    for k in jumps[(jumps > start) & (jumps <= stop)]:
        ax.plot(
            x[k - 1 : k + 1],
            y[k - 1 : k + 1],
            color=style.SERIES[1],
            linewidth=1.2,
            linestyle=(0, (1.5, 1.5)),
            zorder=4,
        )
    ax.plot(x[0], y[0], color=style.INK, marker="o", markersize=4, linestyle="none", zorder=5, label="Table I")
    ax.margins(x=0.05)
    _arrows(ax, x[start:stop], y[start:stop])


def _rows(start: int, stop: int, jumps: np.ndarray, every: int = 20) -> np.ndarray:
    """Records to draw: every 20th, and both sides of each jump."""
    mine = jumps[(jumps > start) & (jumps <= stop)]
    return np.unique(np.concatenate([np.arange(start, stop + 1, every), [stop], mine - 1, mine]))


def _arrows(ax: Axes, x: np.ndarray, y: np.ndarray, count: int = 4) -> None:
    """Arrow heads along the curve, evenly by its length on paper."""
    size = np.array([np.ptp(x), np.ptp(y)])
    length = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x) / size[0], np.diff(y) / size[1]))])
    for fraction in (np.arange(count) + 0.5) / count:
        k = int(np.searchsorted(length, fraction * length[-1]))
        ahead = min(len(x) - 1, int(np.searchsorted(length, length[k] + 0.004)))
        ax.annotate(
            "",
            (x[ahead], y[ahead]),
            (x[k], y[k]),
            arrowprops={"arrowstyle": "-|>", "color": style.SERIES[0], "linewidth": 0.0, "mutation_scale": 11},
            zorder=5,
        )


def _finish(figure: Figure, number: str, title: str, note: str) -> PaperFigure:
    trajectory = _run()
    p, c = trajectory.parameters, trajectory.certificate
    source = f"[GS05] {number}"
    figure.suptitle(f"{source}.  {title}", x=0.01, ha="left", fontsize=10.5, fontweight="bold")
    style.caption(
        figure,
        f"Table I (μ = {p['friction']:g}, $\\varepsilon_{{N1}}$ = {p['restitution_normal']:g}, "
        f"$\\varepsilon_{{N2,3}}$ = {p['restitution_sleeve']:g}, $\\varepsilon_T$ = {p['restitution_tangential']:g}); "
        f"Moreau's midpoint rule, Δt = {trajectory.dt:g} s, {trajectory.steps:,} steps; {note}\n"
        f"certificate: {c.failed_steps} failed steps, residual ≤ {c.max_residual:.1e}, penetration ≤ "
        f"{c.max_penetration:.1e} m, energy gain per step ≤ {c.max_energy_gain:.1e} J, LCP size ≤ {c.max_lcp_size}",
    )
    return PaperFigure(title, source, p, trajectory.dt, c, figure)
