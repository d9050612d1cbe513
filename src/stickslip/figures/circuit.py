"""The figure of a circuit's run: voltages, currents, what conducts, energies over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stickslip.checks import unknown_name
from stickslip.circuits.run import CircuitRun
from stickslip.figures import ribbon, style
from stickslip.figures.sheet import dress, sheet

_MOST_LINES = 6
"""Most elements in one panel; of more, those whose values differ most."""
_QUIET = ("blocks", "open", "locked", "shut")


def plot(run: CircuitRun, elements: Sequence[str] | None = None) -> Figure:
    """Return the figure of a run; of the named elements, or of those that do most."""
    for name in elements or ():
        if name not in run.element_names:
            raise ValueError(unknown_name("element", name, run.element_names))
    flow, effort = run.units
    bands = [name for name in run.switching if elements is None or name in elements]
    heights = [1.7, 1.7] + ([0.4 + 0.26 * len(bands)] if bands else []) + [1.3]
    with style.look():
        figure, axes = sheet(len(heights), 1, [height + 0.3 for height in heights])
        for ax in axes[1:]:
            ax.sharex(axes[0])
        panels = (
            (axes[0], run.voltages, effort, "voltage" if effort == "V" else "pressure"),
            (axes[1], run.currents, flow, "current" if flow == "A" else "flow"),
        )
        chosen = [_chosen(run, values, elements) for _, values, _, _ in panels]
        drawn = sorted({k for each in chosen for k in each})
        for (ax, values, unit, word), these in zip(panels, chosen, strict=True):
            order = drawn if len(drawn) <= len(style.SERIES) else list(these)
            _lines(ax, run, these, values, unit, {k: style.SERIES[n % len(style.SERIES)] for n, k in enumerate(order)})
            ax.set_title(word, pad=4.0)
        if bands:
            _bands(axes[2], run, bands)
        magnetic, electric = ("magnetic", "electric") if flow == "A" else ("kinetic", "potential")
        factor, unit = style.prefix(run.energy.total, "J")
        parts = ((run.energy.magnetic, magnetic), (run.energy.electric, electric), (run.energy.total, "total"))
        for k, (values, label) in enumerate(parts):
            t, shown = style.thin(run.t, values)
            axes[-1].plot(t, factor * shown, color=style.SERIES[k], label=label)
        axes[-1].legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, borderaxespad=0.2)
        style.panel(axes[-1], "energy", "t [s]", f"E [{unit}]")
        for ax in axes[:-1]:
            ax.tick_params(labelbottom=False)
        axes[0].set_xlim(run.t[0], max(run.t[-1], np.nextafter(run.t[0], np.inf)))
        rule = "events located" if run.located else f"$\\theta$ = {style.number(run.theta)}"
        ended = "" if run.complete else f"\n{run.status}"
        note = f"Δt = {style.number(run.dt)} s, {run.steps:,} steps, {rule}\ncertificate: {run.certificate}{ended}"
        dress(figure, run.system_name, note)
    return figure


def _chosen(run: CircuitRun, values: np.ndarray, elements: Sequence[str] | None) -> dict[int, str]:
    """Numbers and labels of the elements to draw: the named ones, or those with the largest and different values.

    Elements whose curves coincide share a line and its label; a minus sign stands before one with the opposite sign.
    """
    if elements is not None:
        return {run.element_names.index(name): name for name in elements}
    sizes = [float(f"{size:.9g}") for size in np.abs(values).max(axis=0)]
    found: dict[int, str] = {}
    for k in sorted(range(len(sizes)), key=lambda k: (-sizes[k], "source" in run.element_kinds[k])):
        name = run.element_names[k]
        if sizes[k] == 0.0 or "." in name:
            continue
        pairs = [(j, sign) for j in found for sign in (1.0, -1.0)]
        close = 1e-6 * sizes[k]
        like = next(((j, s) for j, s in pairs if np.abs(values[:, k] - s * values[:, j]).max() <= close), None)
        if like is not None:
            found[like[0]] += f", {name if like[1] > 0.0 else f'-{name}'}"
        elif len(found) < _MOST_LINES:
            found[k] = name
    return dict(sorted(found.items()))


def _lines(
    ax: Axes, run: CircuitRun, chosen: Mapping[int, str], values: np.ndarray, unit: str, colours: Mapping[int, str]
) -> None:
    """A line for each chosen element; an element has one colour in all panels where colours suffice."""
    factor, label = style.prefix(values[:, list(chosen)], unit) if chosen else (1.0, unit)
    for k, name in chosen.items():
        t, shown = style.thin(run.t, values[:, k])
        ax.plot(t, factor * shown, color=colours[k], label=name)
    letter = {"A": "$i$", "V": "$u$"}.get(unit, "$Q$" if "/s" in unit else "$p$")
    ax.set_ylabel(f"{letter} [{style.unit_text(label)}]")
    if chosen:
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(chosen), borderaxespad=0.2, columnspacing=1.2)


def _bands(ax: Axes, run: CircuitRun, names: list[str]) -> None:
    """One band per element that switches, filled while it conducts."""
    quiet = [k for k, word in enumerate(run.mode_words) if word in _QUIET]
    for row, name in enumerate(reversed(names)):
        ax.axhline(row, color=style.FAINT, linewidth=1.0, zorder=1)
        modes = run.modes[:, run.switching.index(name)].astype(int)
        bars = [(start, length) for start, length, mode in ribbon.runs(run.t, modes) if mode not in quiet]
        ax.broken_barh(bars, (row - 0.31, 0.62), facecolor=style.SERIES[0], linewidth=0.0, zorder=2)
    ax.set_yticks(range(len(names)), list(reversed(names)))
    ax.set_ylim(-0.6, len(names) - 0.4)
    ax.set_title("conducts")
