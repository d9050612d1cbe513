"""The default figure of a run: picture, phase portrait, coordinates and velocities, contact states, energies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec

from stickslip.figures import mechanism, portrait, ribbon, style
from stickslip.figures.sheet import dress, sheet
from stickslip.scenario import as_shown
from stickslip.trajectory import Trajectory

if TYPE_CHECKING:
    from stickslip.drawing.primitives import Drawing
    from stickslip.scenario import Scenario
    from stickslip.scenes.scene import Scene

_MOST_LABELS = 8
"""Most series in one panel for which a legend is drawn."""
_NARROW = 5.0  # inches of width below which panels are stacked and legends have the heads of their panels alone
_CLOSE = {"columnspacing": 0.8, "handlelength": 1.2, "handletextpad": 0.5}  # of legends on narrow paper
_MOST_BANDS = 20
"""Most contacts whose states are drawn; of more contacts, the ones with the largest impulses are chosen."""
_FLAT = 10.0  # times the range of a curve: beside a larger one nothing of it is seen


def plot(trajectory: Trajectory, scenario: Scenario | Scene | None = None) -> Figure:
    """Return the figure of a run.

    On top stands the mechanism in its first state beside the phase portrait that tells most; a system without a drawing
    has two portraits, or a wide one.  Below them coordinates stand left and their velocities right, quantities of equal
    unit together.  Then come the states of the contacts (at most the twenty with the largest impulses) and the
    energies.  Coordinates that do not change are left out where others do.
    """
    shown: Scenario | None = as_shown(scenario, trajectory)
    groups = _rows(trajectory)
    drawing = None if shown is None else shown.drawing
    portraits = portrait.telling(trajectory, 2 if drawing is None else 1)
    bands = ribbon.most_loaded(trajectory, _MOST_BANDS)
    head = [2.1] if portraits or drawing is not None else []
    strip = [0.34 + 0.2 * len(bands)] if len(bands) else []
    with style.look():
        figure, axes = sheet(1, 1, sum(head) + 1.45 * len(groups) + sum(strip) + 1.45)
        axes[0].remove()
        narrow = figure.get_figwidth() < _NARROW
        if narrow:
            head = [2.0] * (len(portraits) + (drawing is not None))
            figure.set_figheight(sum(head) + 1.45 * sum(bool(x) for pair in groups for x in pair) + sum(strip) + 1.4)
        places = _places(figure, head, groups, strip, narrow, len(portraits) + (drawing is not None))
        if drawing is not None:
            _picture(figure.add_subplot(places.pop(0)), trajectory, drawing)
        for pair in portraits:
            ax = figure.add_subplot(places.pop(0))
            portrait.draw(ax, trajectory, *pair)
            ax.set_title("phase portrait")
        del places[: len(places) - sum(bool(x) for pair in groups for x in pair) - len(strip) - 1]
        top: Axes | None = None
        for names in (names for pair in groups for names in pair if names):
            ax = figure.add_subplot(places.pop(0), sharex=top)
            top = top or ax
            _histories(ax, trajectory, names)
            ax.tick_params(labelbottom=False)
        assert top is not None
        if strip:
            contact_strip(figure.add_subplot(places.pop(0), sharex=top), trajectory, bands)
        energies(figure.add_subplot(places.pop(0), sharex=top), trajectory)
        top.set_xlim(trajectory.t[0], max(trajectory.t[-1], np.nextafter(trajectory.t[0], np.inf)))
        title = trajectory.system_name if shown is None else shown.title
        dress(figure, title, caption(trajectory, None if shown is None else shown.source))
    return figure


def _places(
    figure: Figure, head: list[float], groups: Any, strip: list[float], narrow: bool, heads: int
) -> list[SubplotSpec]:
    """Places of the panels from top to bottom: one or two `heads`, histories by pairs, strip of contacts, energies."""
    pairs = [[names for names in pair if names] for pair in groups]
    if narrow:
        heights = [*head, *(1.45 for pair in pairs for _ in pair), *strip, 1.4]
        grid = figure.add_gridspec(len(heights), 1, height_ratios=heights)
        return [grid[row, 0] for row in range(len(heights))]
    heights = [*head, *(1.45 for _ in pairs), *strip, 1.45]
    grid = figure.add_gridspec(len(heights), 2, height_ratios=heights)
    places = [] if not head else [grid[0, 0], grid[0, 1]] if heads > 1 else [grid[0, :]]
    for row, pair in enumerate(pairs, len(head)):
        places += [grid[row, column] for column in range(len(pair))]
    return [*places, *(grid[row, :] for row in range(len(head) + len(pairs), len(heights)))]


def _picture(ax: Axes, trajectory: Trajectory, drawing: Drawing) -> None:
    """The mechanism in its first state, in a view that has room for its whole motion."""
    some = np.linspace(0, len(trajectory) - 1, min(len(trajectory), 60)).astype(int)
    box = drawing.fit(trajectory.q[some], trajectory.t[some], trajectory.parameters)
    aspect = float(np.clip((box[1] - box[0]) / (box[3] - box[2]), 0.6, 3.0))
    mechanism.prepare(ax, mechanism.filled(box, aspect))
    states = trajectory.contact_state[0] if len(trajectory.contact_names) else None
    mechanism.draw(ax, drawing(trajectory.q[0], trajectory.t[0], trajectory.parameters), states)
    ax.set_title(f"$t$ = {style.number(float(trajectory.t[0]))} s", loc="left")


def _narrow(ax: Axes) -> bool:
    """Whether a panel stands on narrow paper, where a legend needs the whole head."""
    return ax.figure.bbox.width < _NARROW * ax.figure.dpi


def contact_strip(ax: Axes, trajectory: Trajectory, bands: np.ndarray) -> None:
    """Draw the states of the contacts `bands` over time, with their legend."""
    states = ribbon.draw(ax, trajectory, contacts=bands)
    narrow = _narrow(ax)
    if not (narrow and states):
        ax.set_title(_bands_in_words(len(bands), len(trajectory.contact_names)))
    if states:
        ax.legend(
            handles=ribbon.legend(states), loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(states),
            borderaxespad=0.2, **(_CLOSE if narrow else {"columnspacing": 1.2}),
        )  # fmt: skip
    ax.tick_params(labelbottom=False)


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
    """Names of the quantities on the left and on the right of each row, without those that never change."""
    rows = _by_body(trajectory) if _of_scene(trajectory) else _by_unit(trajectory)
    moving = {name for pair in rows for names in pair for name in names if np.ptp(trajectory[name]) > 0.0}
    kept = [(tuple(n for n in left if n in moving), tuple(n for n in right if n in moving)) for left, right in rows]
    return [pair for pair in kept if any(pair)] or rows


def _of_scene(trajectory: Trajectory) -> bool:
    return all("." in name for name in trajectory.coordinate_names)


def _by_unit(trajectory: Trajectory) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Coordinates that share a unit, and whose velocities do, in the order of the coordinates."""
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for names in zip(trajectory.coordinate_names, trajectory.velocity_names, strict=True):
        key = (trajectory.units.get(names[0], ""), trajectory.units.get(names[1], ""))
        groups.setdefault(key, []).append(names)
    rows = [part for pairs in groups.values() for part in _apart(trajectory, pairs)]
    return [(tuple(q for q, _ in pairs), tuple(u for _, u in pairs)) for pairs in rows]


def _apart(trajectory: Trajectory, pairs: list[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """Coordinates in one row, or in two where some move far less than others and would be flat lines beside them."""
    ranges = [float(np.ptp(trajectory[q])) for q, _ in pairs]
    most = max(ranges)
    small = [pair for pair, size in zip(pairs, ranges, strict=True) if 1e-6 * most < size < most / _FLAT]
    return [[pair for pair in pairs if pair not in small], small] if small else [pairs]


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


def energies(ax: Axes, trajectory: Trajectory, title: str = "energy") -> None:
    """Kinetic, potential and total energy over time; without a title where the legend needs the whole head."""
    energy = trajectory.energy
    t, kinetic, potential, total = style.thin(trajectory.t, energy.kinetic, energy.potential, energy.total)
    factor, unit = style.prefix(np.concatenate([kinetic, potential]), "J")
    ax.plot(
        t, factor * kinetic, color=style.SERIES[0], label="kinetic", linewidth=2.6
    )  # seen on both sides of a total on top of it
    if np.isfinite(potential).any():
        ax.plot(t, factor * potential, color=style.SERIES[4], label="potential")
        ax.plot(t, factor * total, color=style.INK, label="total")
    style.panel(ax, "" if _narrow(ax) else title, "t [s]", f"E [{unit}]")
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, borderaxespad=0.2)
