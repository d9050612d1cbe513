"""Phase portraits: velocity over coordinate, interrupted where an impact changes the velocity, jumps dotted."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from stickslip.figures import style
from stickslip.trajectory import Trajectory

DOTS = (0, (1.5, 1.5))
"""Dashes of the line of a jump."""
_MOST_JUMPS = 400
"""Most jumps that are drawn; in a figure of more they would hide the motion."""
_POINTS = 6000


def jump_rows(trajectory: Trajectory) -> np.ndarray:
    """Records at which an impact has changed velocities."""
    times = np.unique(trajectory.impacts()["time"])
    rows = np.searchsorted(trajectory.t, times - 0.5 * trajectory.dt)
    return np.unique(rows[(rows > 0) & (rows < len(trajectory))])


def draw(ax: Axes, trajectory: Trajectory, coordinate: str, velocity: str) -> None:
    """Draw the portrait of a coordinate over the whole run, with a dot at its start."""
    x, y = trajectory[coordinate], trajectory[velocity]
    jumps = jump_rows(trajectory)
    if trajectory.every > 1 or len(jumps) > _MOST_JUMPS:
        jumps = jumps[:0]  # between records so far apart there is more than the jump
    some = np.linspace(0, len(x) - 1, min(len(x), _POINTS)).astype(int)
    rows = np.unique(np.concatenate([some, jumps - 1, jumps]))
    gaps = np.flatnonzero(np.isin(rows, jumps))
    ax.plot(
        np.insert(x[rows], gaps, np.nan), np.insert(y[rows], gaps, np.nan), color=style.SERIES[0], linewidth=0.9,
        zorder=3, label="motion",
    )  # fmt: skip
    for k in jumps:
        ax.plot(x[k - 1 : k + 1], y[k - 1 : k + 1], color=style.SERIES[1], linewidth=0.9, linestyle=DOTS, zorder=2)
    ax.plot(x[0], y[0], color=style.INK, marker="o", markersize=4.0, linestyle="none", zorder=5, label="start")
    ax.margins(x=0.05)
    style.panel(ax, "", *(style.axis_label(name, trajectory.units) for name in (coordinate, velocity)))


def telling(trajectory: Trajectory, most: int = 2) -> list[tuple[str, str]]:
    """Coordinates and velocities whose portraits tell most, at most `most` of them.

    First come those whose velocities impacts change most beside their range, and then those that swing most often.
    """
    names = list(zip(trajectory.coordinate_names, trajectory.velocity_names, strict=False))
    jumps = jump_rows(trajectory)
    scores = []
    for k, (q, u) in enumerate(names):
        x, v = trajectory[q], trajectory[u]
        if np.ptp(x) == 0.0 or np.ptp(v) == 0.0:
            continue
        jumped = float(np.abs(v[jumps] - v[jumps - 1]).max(initial=0.0) / np.ptp(v))
        turns = int(np.count_nonzero(np.diff(np.sign(v[np.abs(v) > 1e-9 * np.abs(v).max()]))))
        scores.append((-round(jumped, 1), -min(turns, 40), k))
    return [names[k] for *_, k in sorted(scores)[:most]]
