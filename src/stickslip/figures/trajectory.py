"""The default figure of a run: coordinates, velocities, contact states and energies over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stickslip.figures import mechanism, ribbon, style
from stickslip.scenario import as_shown
from stickslip.trajectory import Trajectory

if TYPE_CHECKING:
    from stickslip.scenario import Scenario
    from stickslip.scenes.scene import Scene

_MOST_LABELS = 8
"""Most series in one panel for which a legend is drawn."""
_MOST_BANDS = 20
"""Most contacts whose states are drawn; of more contacts, the ones with the largest impulses are chosen."""


def plot(trajectory: Trajectory, scenario: Scenario | Scene | None = None) -> Figure:
    """Return the figure of a run.

    Coordinates stand left, their velocities right, quantities of equal unit together.  Below them stand the states of
    the contacts (at most the twenty with the largest impulses) and the energies.  With a scenario, or the `Scene` that
    was run, the figure carries its title and the mechanism in its first state.
    """
    shown: Scenario | None = as_shown(scenario, trajectory)
    groups = _rows(trajectory)
    drawing = None if shown is None else shown.drawing
    bands = ribbon.most_loaded(trajectory, _MOST_BANDS)
    contacts = len(bands)
    heights = [1.5] * len(groups) + ([0.42 + 0.24 * contacts] if contacts else []) + [1.5]
    columns = [1.0, 1.0] if drawing is None else [0.72, 1.0, 1.0]
    with style.look():
        figure = style.new_figure(3.9 * sum(columns), sum(heights) + 0.45 * len(heights) + 0.7)
        grid = figure.add_gridspec(len(heights), len(columns), height_ratios=heights, width_ratios=columns)
        first = len(columns) - 2
        top: Axes | None = None
        for row, pair in enumerate(groups):
            for column, names in enumerate(pair):
                if not names:
                    continue
                ax = figure.add_subplot(grid[row, first + column], sharex=top)
                top = top or ax
                _histories(ax, trajectory, names)
                if row == len(groups) - 1:
                    ax.set_xlabel("t [s]")
                else:
                    ax.tick_params(labelbottom=False)
        assert top is not None
        if contacts:
            ax = figure.add_subplot(grid[len(groups), first:], sharex=top)
            states = ribbon.draw(ax, trajectory, contacts=bands)
            ax.set_title(_bands_in_words(contacts, len(trajectory.contact_names)))
            if states:
                ax.legend(
                    handles=ribbon.legend(states), loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(states),
                    borderaxespad=0.2, columnspacing=1.2,
                )  # fmt: skip
            ax.tick_params(labelbottom=False)
        _energies(figure.add_subplot(grid[-1, first:], sharex=top), trajectory)
        top.set_xlim(trajectory.t[0], max(trajectory.t[-1], np.nextafter(trajectory.t[0], np.inf)))
        if drawing is not None:
            ax = figure.add_subplot(grid[:, 0])
            some = np.linspace(0, len(trajectory) - 1, min(len(trajectory), 60)).astype(int)
            box = drawing.fit(trajectory.q[some], trajectory.t[some], trajectory.parameters)
            aspect = float(np.clip((box[1] - box[0]) / (box[3] - box[2]), 0.5, 1.5))
            mechanism.prepare(ax, mechanism.filled(box, aspect))
            ax.set_anchor("N")
            mechanism.draw(ax, drawing(trajectory.q[0], trajectory.t[0], trajectory.parameters))
        title = trajectory.system_name if shown is None else shown.title
        figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
        style.caption(figure, caption(trajectory, None if shown is None else shown.source))
    return figure


def _bands_in_words(shown: int, contacts: int) -> str:
    return "contacts" if shown == contacts else f"contacts: the {shown} of {contacts} with the largest impulses"


def caption(trajectory: Trajectory, source: str | None = None) -> str:
    """Method, certificate and source of a run in two lines."""
    method = (
        f"{trajectory.stepper}, {trajectory.solver} solver, {trajectory.engine} engine, "
        f"Δt = {style.number(trajectory.dt)} s, {trajectory.steps:,} steps"
    )
    status = "" if trajectory.complete else f"\n{trajectory.status}"
    return f"{source + '. ' if source else ''}{method}\ncertificate: {trajectory.certificate}{status}"


def _rows(trajectory: Trajectory) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Names of the quantities on the left and on the right of each row."""
    return _by_body(trajectory) if _of_scene(trajectory) else _by_unit(trajectory)


def _of_scene(trajectory: Trajectory) -> bool:
    return all("." in name for name in trajectory.coordinate_names)


def _by_unit(trajectory: Trajectory) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Coordinates that share a unit, and whose velocities do, in the order of the coordinates."""
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for names in zip(trajectory.coordinate_names, trajectory.velocity_names, strict=True):
        key = (trajectory.units.get(names[0], ""), trajectory.units.get(names[1], ""))
        groups.setdefault(key, []).append(names)
    return [(tuple(q for q, _ in pairs), tuple(u for _, u in pairs)) for pairs in groups.values()]


def _by_body(trajectory: Trajectory) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Of a scene: one quantity of all bodies in each panel; quaternions, which nobody reads, are left out."""
    kinds: dict[str, list[str]] = {}
    for name in (*trajectory.coordinate_names, *trajectory.velocity_names):
        kinds.setdefault(name.rpartition(".")[2], []).append(name)
    pairs = [("x", "vx"), ("y", "vy"), ("z", "vz"), ("angle", "omega"), ("wx", "wy"), ("wz", "")]
    return [(tuple(kinds[q]), tuple(kinds.get(u, ()))) for q, u in pairs if q in kinds]


def _histories(ax: Axes, trajectory: Trajectory, names: tuple[str, ...]) -> None:
    t, *series = style.thin(trajectory.t, *(trajectory[name] for name in names))
    widest_first = np.argsort([-np.ptp(y) for y in series], kind="stable")  # small motions on top of large ones
    scene = _of_scene(trajectory)
    for i, (name, y) in enumerate(zip(names, series, strict=True)):
        label = name.rpartition(".")[0] if scene else style.symbol(name)
        ax.plot(t, y, label=label, zorder=2.0 + 0.01 * list(widest_first).index(i))
    if scene:
        kind, unit = names[0].rpartition(".")[2], trajectory.units.get(names[0], "")
        style.panel(ax, y=f"{style.symbol(kind)} [{style.unit_text(unit)}]")
    elif len(names) <= _MOST_LABELS:
        style.panel(ax, y=style.axis_label(names, trajectory.units))
    else:
        first, last = style.symbol(names[0]), style.axis_label(names[-1], trajectory.units)
        style.panel(ax, y=f"{first}, ..., {last}")
    if 1 < len(names) <= _MOST_LABELS:
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(names), borderaxespad=0.2)


def _energies(ax: Axes, trajectory: Trajectory) -> None:
    energy = trajectory.energy
    t, kinetic, potential, total = style.thin(trajectory.t, energy.kinetic, energy.potential, energy.total)
    factor, unit = style.prefix(np.concatenate([kinetic, potential]), "J")
    ax.plot(t, factor * kinetic, color=style.SERIES[0], label="kinetic")
    if np.isfinite(potential).any():
        ax.plot(t, factor * potential, color=style.SERIES[4], label="potential")
        ax.plot(t, factor * total, color=style.INK, label="total")
    style.panel(ax, "energy", "t [s]", f"E [{unit}]")
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, borderaxespad=0.2)
