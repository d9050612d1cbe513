"""Bifurcation diagrams, branches of cycles, basins of attraction, recurrence and Lyapunov exponents."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from stickslip.analysis.basins import CYCLE, BasinMap
from stickslip.analysis.continuation import Branch
from stickslip.analysis.cycle_result import LimitCycle
from stickslip.analysis.diagram import BifurcationDiagram
from stickslip.analysis.lyapunov import Lyapunov, Recurrence
from stickslip.checks import counted
from stickslip.figures import style
from stickslip.figures.sheet import dress, page

_SPECIALS = {"fold": ">", "flip": "D", "torus": "P", "grazing": "o", "border": "^", "switch": "s"}


def diagram(result: BifurcationDiagram, observables: Sequence[str]) -> Figure:
    """Points on the section over the parameter, one panel per observable."""
    with style.look():
        figure = page(7.2, 2.6 * len(observables) + 0.6)
        axes = [figure.add_subplot(len(observables), 1, k + 1) for k in range(len(observables))]
        for ax, name in zip(axes, observables, strict=True):
            a, values = result.of(name)
            size = 3.0 if len(result.values) < 400 else 0.6
            ax.plot(a, values, ".", ms=size, color=style.SERIES[0], mew=0.0)
            unit = result.units.get(name, "")
            label = name if " " in name else style.symbol(name)
            style.panel(ax, "", "", f"{label} [{style.unit_text(unit)}]" if unit else label)
        axes[-1].set_xlabel(style.axis_label(result.name, result.units))
        for ax in axes:
            ax.set_xlim(*_edges(np.asarray(result.values)))
            lost = list(result.failed)  # they fall down, or stop
            ax.plot(
                lost, [0.03] * len(lost), "x", ms=4, color=style.SERIES[1], transform=ax.get_xaxis_transform(),
                scalex=False, scaley=False,
            )  # fmt: skip
        figure.align_ylabels(axes)
        title = f"{result.system.replace('_', ' ')} over {style.symbol(result.name)}: the last returns"
        failed = f"; {counted(len(result.failed), 'value')} without returns (crosses)" if result.failed else ""
        note = f"section: {result.section}; {len(result.values)} values, {len(result.index)} points{failed}"
        dress(figure, title, note)
    return figure


def branch(result: Branch) -> Figure:
    """A branch of cycles: period, or the state on the section of a driven system, and the largest multiplier.

    Stable parts are thick, bifurcations marked.
    """
    values, cycles, stable = _with_specials(result)
    label, quantity = _moving(result)
    with style.look():
        figure = page(7.2, 5.0)
        above, below = figure.add_subplot(2, 1, 1), figure.add_subplot(2, 1, 2)
        for ax, words, of in ((above, label, quantity), (below, "largest |multiplier|", _largest)):
            y = np.array([of(cycle) for cycle in cycles])
            ax.plot(values, y, color=style.GREY, lw=0.8, ls="--")
            ax.plot(values, np.where(stable, y, np.nan), color=style.SERIES[0], lw=1.8, marker=".", ms=3)
            style.panel(ax, "", "", words)
        below.axhline(1.0, color=style.GREY, lw=0.6)
        for special in result.specials:
            marker = _SPECIALS[special.kind]
            words = f"{special.kind} at {special.parameter:.6g}"
            words += f" ({special.contact})" if special.contact else ""
            above.plot(special.parameter, quantity(special.cycle), marker, color=style.SERIES[1], ms=6, label=words)
            below.plot(special.parameter, _largest(special.cycle), marker, color=style.SERIES[1], ms=6)
        figure.align_ylabels([above, below])
        if result.specials:
            above.legend(loc="best")
        below.set_xlabel(style.axis_label(result.name, result.cycles[0].units))
        title = f"Cycles of {result.cycles[0].system.replace('_', ' ')} over {style.symbol(result.name)}"
        dress(figure, title, f"{len(result.cycles)} cycles, thick: stable; {result.status}")
    return figure


def _largest(cycle: LimitCycle) -> float:
    return float(np.abs(cycle.nontrivial).max(initial=0.0))


def _moving(result: Branch) -> tuple[str, Callable[[LimitCycle], float]]:
    """Label and value of the quantity in the upper panel of a branch.

    It is the period.  Where a drive sets the period, it is the coordinate or velocity on the section that changes most.
    """
    first = result.cycles[0]
    if "flow" in first.kinds:
        return "period [s]", lambda cycle: cycle.period
    states = np.array([cycle.x for cycle in result.cycles])
    size = np.maximum(np.abs(states).max(axis=0), 1e-300)
    place = int(np.argmax(np.ptp(states, axis=0) / size))
    name = (*first.coordinate_names, *first.velocity_names)[place]
    return f"{style.axis_label(name, first.units)} on the section", lambda cycle: float(cycle.x[place])


def _with_specials(result: Branch) -> tuple[np.ndarray, list[LimitCycle], np.ndarray]:
    """Values, cycles and stability along the branch, with each bifurcation that ends a stable part put in its place."""
    values, cycles, stable = list(result.values), list(result.cycles), list(result.stable)
    for special in result.specials:
        for i in range(len(values) - 1):
            between = min(values[i], values[i + 1]) <= special.parameter <= max(values[i], values[i + 1])
            if between and stable[i] != stable[i + 1]:
                values.insert(i + 1, special.parameter)
                cycles.insert(i + 1, special.cycle)
                stable.insert(i + 1, True)
                break
    return np.array(values), cycles, np.array(stable)


def basins(result: BasinMap) -> Figure:
    """Map of the attractor of every start, over one or two of the varied quantities; others at their middle value."""
    labels = result.labels
    for axis in range(labels.ndim - 1, 1, -1):
        labels = np.take(labels, labels.shape[axis] // 2, axis=axis)
    count = len(result.attractors)
    colours = [*style.SERIES, style.GREY, style.INK]
    colour_map = ListedColormap([colours[k % len(colours)] for k in range(max(1, count))])
    with style.look():
        figure = page(7.4, 5.2 if labels.ndim > 1 else 2.4)
        ax = figure.add_subplot()
        ax.grid(False)
        x = result.axes[0]
        y = result.axes[1] if labels.ndim > 1 else np.array([0.0])
        grid = labels.T if labels.ndim > 1 else labels[None, :]
        ax.imshow(
            grid, origin="lower", aspect="auto", cmap=colour_map, vmin=-0.5, vmax=max(1, count) - 0.5,
            interpolation="nearest", extent=(*_edges(x), *_edges(y)),
        )  # fmt: skip
        style.panel(ax, "", style.axis_label(result.names[0], result.units))
        if labels.ndim > 1:
            ax.set_ylabel(style.axis_label(result.names[1], result.units))
        else:
            ax.set_yticks([])
        handles = [Patch(color=colours[k % len(colours)], label=_words(result, k)) for k in range(count)]
        dress(figure, f"Basins of attraction: {result.system.replace('_', ' ')}", "", handles)
    return figure


def _words(result: BasinMap, k: int) -> str:
    attractor = result.attractors[k]
    text = attractor.words(result.units)
    if attractor.kind == CYCLE and attractor.cycle is not None:
        largest = attractor.cycle.nontrivial[0]
        number = f"{largest.real:.4f}" if abs(largest.imag) < 1e-9 else f"{abs(largest):.4f} in modulus"
        text += f"; judge: {attractor.cycle.period:.9g} s, largest multiplier {number}"
    return text


def _edges(x: np.ndarray) -> tuple[float, float]:
    half = 0.5 * (x[1] - x[0]) if len(x) > 1 else 0.5
    return float(x[0] - half), float(x[-1] + half)


def recurrence(result: Recurrence, title: str) -> Figure:
    """Recurrence plot of the returns to a section: a dot where return i and return j lie close together."""
    with style.look():
        figure = page(4.6, 4.9)
        ax = figure.add_subplot()
        ax.grid(False)
        ax.imshow(result.matrix, origin="lower", cmap=ListedColormap([style.PAPER, style.SERIES[0]]), vmin=0, vmax=1,
                  interpolation="nearest")  # fmt: skip
        style.panel(ax, "", "return", "return")
        dress(
            figure,
            f"{title}: returns that come back",
            f"recurrence rate {result.rate:.3f}, determinism {result.determinism:.3f}, "
            + (
                f"comes back after {counted(result.returns, 'return')}"
                if result.returns
                else "most points never come back"
            ),
        )
    return figure


def lyapunov(result: Lyapunov, title: str) -> Figure:
    """Running mean of the largest Lyapunov exponent [1/s] over time [s]."""
    with style.look():
        figure = page(6.4, 3.0)
        ax = figure.add_subplot()
        ax.plot(result.t, result.history, color=style.SERIES[0])
        ax.axhline(0.0, color=style.GREY, lw=0.6)
        style.panel(ax, "", "t [s]", "largest Lyapunov exponent [1/s]")
        low, high = np.percentile(result.history, [2, 98])
        room = 0.3 * max(high - low, abs(high), 1e-3)
        ax.set_ylim(min(low, 0.0) - room, max(high, 0.0) + room)
        dress(figure, title, f"{result.largest:.4g} ± {result.error:.1g} per second")
    return figure
