"""The figure of a scene's run: pictures at four instants, displacements of the bodies, energies, contact states."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stickslip.drawing.primitives import Box
from stickslip.figures import mechanism, ribbon, style
from stickslip.figures.sheet import dress, sheet
from stickslip.figures.trajectory import caption, contact_strip, energies
from stickslip.scenario import SceneScenario, as_shown
from stickslip.scenes.bodies import COORDINATES
from stickslip.scenes.scene import Scene
from stickslip.trajectory import Trajectory

PICTURES = 4
MOST_BANDS = 12
"""Most bodies whose contact states are drawn: those with the largest impulses."""
MOST_LINES = 8  # bodies up to which each has a line; for more bodies the median and the largest are drawn


def plot(trajectory: Trajectory, scenario: SceneScenario | Scene) -> Figure:
    """Return the figure: the scene at four instants, displacements of the bodies, energies, contact states.

    scenario : the `Scene` that was run, or the entry of the library.
    """
    shown: SceneScenario = as_shown(scenario, trajectory)
    bands = ribbon.most_loaded(trajectory, MOST_BANDS)
    strip = [0.34 + 0.2 * len(bands)] if len(bands) and np.any(trajectory.normal_impulse) else []
    with style.look():
        records = np.linspace(0, len(trajectory) - 1, PICTURES).astype(int)
        boxes = _boxes(trajectory, shown, records)
        aspect = float(np.clip((boxes[0][1] - boxes[0][0]) / (boxes[0][3] - boxes[0][2]), 0.45, 2.2))
        figure, axes = sheet(1, 1, 1.0)
        axes[0].remove()
        width = figure.get_figwidth()
        across = PICTURES if width > 5.0 else PICTURES // 2  # pictures in a row
        tall = float(np.clip(width / across / aspect, 0.9, 3.2)) + 0.22  # height of the pictures with their times
        heights = [tall] * (PICTURES // across) + [1.9] * (1 if across == PICTURES else 2) + strip
        figure.set_figheight(sum(heights))
        grid = figure.add_gridspec(len(heights), 2 * across, height_ratios=heights)
        for k, record in enumerate(records):
            column = 2 * (k % across)
            ax = figure.add_subplot(grid[k // across, column : column + 2])
            mechanism.prepare(ax, mechanism.filled(boxes[k], aspect))
            mechanism.draw(ax, shown.drawing(trajectory.q[record], trajectory.t[record], trajectory.parameters))
            ax.set_title(f"$t$ = {trajectory.t[record]:.3g} s")
        row = PICTURES // across
        left = figure.add_subplot(grid[row, :across] if across == PICTURES else grid[row, :])
        _displacements(left, trajectory, shown)
        place = grid[row, across:] if across == PICTURES else grid[row + 1, :]
        energies(figure.add_subplot(place, sharex=left), trajectory, "")
        if strip:
            ax = figure.add_subplot(grid[-1, :], sharex=left)
            contact_strip(ax, trajectory, bands)
            ax.tick_params(labelbottom=True)
            ax.set_xlabel("t [s]")
        left.set_xlim(trajectory.t[0], trajectory.t[-1])
        dress(figure, shown.title, caption(trajectory, shown.source))
    return figure


def gallery(runs: Sequence[tuple[SceneScenario, Trajectory]], columns: int = 4) -> Figure:
    """Return one picture per scene: its last record, with the title and the time."""
    with style.look():
        rows = -(-len(runs) // columns)
        figure = style.new_figure(2.6 * columns, 2.3 * rows)
        for k, (scenario, trajectory) in enumerate(runs):
            ax = figure.add_subplot(rows, columns, k + 1)
            (box,) = _boxes(trajectory, scenario, np.array([len(trajectory) - 1]))
            mechanism.prepare(ax, mechanism.filled(_with_surroundings(box, scenario), 1.3))
            mechanism.draw(ax, scenario.drawing(trajectory.q[-1], trajectory.t[-1], trajectory.parameters))
            ax.set_title(f"{scenario.title}, t = {trajectory.t[-1]:.3g} s", fontsize=7.5)
    return figure


def _boxes(trajectory: Trajectory, scenario: SceneScenario, records: np.ndarray) -> list[Box]:
    """View of each picture [m]: one box for all, or boxes that follow bodies that travel many times their size."""
    return mechanism.windows(scenario.drawing, trajectory.q[records], trajectory.t[records], trajectory.parameters)


def _with_surroundings(box: Box, scenario: SceneScenario) -> Box:
    """The box of a view; of a scene with a single body a wider one, so that the ground below the body is seen."""
    x, X, y, Y = box
    if len(scenario.scene.contact_names) > 1:
        return box
    margin = 0.35 * max(X - x, Y - y)
    return x - margin, X + margin, y - margin, Y + margin


def _displacements(ax: Axes, trajectory: Trajectory, scenario: SceneScenario) -> None:
    """Distance of each body's centre from where it started; of many bodies the median and the largest."""
    dim, names = scenario.scene.dim, scenario.scene.contact_names
    x = trajectory.q.reshape(len(trajectory), len(names), len(COORDINATES[dim]))[:, :, :dim]
    moved = np.linalg.norm(x - x[0], axis=2)
    lines = dict(zip(names, moved.T, strict=True))
    if len(names) > MOST_LINES:
        lines = {"largest": moved.max(axis=1), "median": np.median(moved, axis=1), "least": moved.min(axis=1)}
    t, *series = style.thin(trajectory.t, *lines.values())
    factor, unit = style.prefix(np.concatenate(series), "m")
    for name, y in zip(lines, series, strict=True):
        ax.plot(t, factor * y, label=name)
    style.panel(ax, "distance from the start", "t [s]", f"distance [{unit}]")
    ax.legend(loc="best", ncols=1 if len(lines) <= 4 else 2, fontsize=7)
