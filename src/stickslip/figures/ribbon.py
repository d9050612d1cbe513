"""Contact states over time: one band per contact, coloured by its state, with a tick at every impact."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from stickslip.figures import style
from stickslip.trajectory import CLOSED, IMPACT, OPEN, SLIP_MINUS, SLIP_PLUS, STATE_NAMES, STICK, Trajectory

_COLUMNS = 1500
_LEGEND = {STICK: "stick", SLIP_PLUS: "slip +", SLIP_MINUS: "slip −", CLOSED: "closed", IMPACT: "impact"}


def runs(t: np.ndarray, state: np.ndarray) -> list[tuple[float, float, int]]:
    """Intervals (start [s], duration [s], state) of equal state; a record's state holds since the record before it."""
    if len(t) < 2:
        return []
    if len(t) > _COLUMNS:  # more records than a figure can show: the state at each of `_COLUMNS` instants
        rows = np.linspace(0, len(t) - 1, _COLUMNS).astype(int)
        t, state = t[rows], state[rows]
    steps = state[1:]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(steps)) + 1])
    stops = np.append(starts[1:], len(steps))
    return [(float(t[a]), float(t[b] - t[a]), int(steps[a])) for a, b in zip(starts, stops, strict=True)]


def most_loaded(trajectory: Trajectory, most: int) -> np.ndarray:
    """Numbers of the `most` contacts with the largest sums of normal impulses, in ascending order."""
    total = np.abs(trajectory.normal_impulse).sum(axis=0)
    return np.sort(np.argsort(-total, kind="stable")[:most])


def draw(
    ax: Axes, trajectory: Trajectory, *, height: float = 0.62, contacts: Sequence[int] | np.ndarray | None = None
) -> list[int]:
    """Draw the bands of `contacts` (all by default), the first one on top; return the states that occur."""
    impacts, chosen = trajectory.impacts(), range(len(trajectory.contact_names)) if contacts is None else contacts
    names = {int(k): trajectory.contact_names[k] for k in chosen}
    seen: set[int] = set()
    for row, k in enumerate(reversed(names)):
        ax.axhline(row, color=style.FAINT, linewidth=1.0, zorder=1)
        found = runs(trajectory.t, trajectory.contact_state[:, k])
        for state in sorted({state for *_, state in found} - {OPEN, IMPACT}):
            seen.add(state)
            bars = [(start, length) for start, length, s in found if s == state]
            ax.broken_barh(
                bars, (row - 0.5 * height, height), facecolor=style.STATE_COLOURS[state], linewidth=0.0,
                zorder=2, label=f"{names[k]}: {STATE_NAMES[state]}",
            )  # fmt: skip
        times = impacts["time"][impacts["contact"] == k]
        if len(times):
            seen.add(IMPACT)
            ax.vlines(
                times, row - 0.5 * height, row + 0.5 * height, color=style.STATE_COLOURS[IMPACT], linewidth=1.0,
                zorder=3, label=f"{names[k]}: impact",
            )  # fmt: skip
    ax.set_yticks(range(len(names)), list(names.values())[::-1])
    ax.set_ylim(-0.6, len(names) - 0.4)
    ax.tick_params(axis="y", length=0)
    ax.grid(False, axis="y")
    ax.spines["left"].set_visible(False)
    return [state for state in _LEGEND if state in seen]


def legend(states: list[int]) -> list[Line2D | Patch]:
    """Legend entries for contact states: a patch for each, a line for an impact."""
    handles: list[Line2D | Patch] = []
    for state in states:
        colour = style.STATE_COLOURS[state]
        if state == IMPACT:
            handles.append(
                Line2D(
                    [],
                    [],
                    color=colour,
                    marker="|",
                    markersize=8,
                    linestyle="none",
                    markeredgewidth=1.4,
                    label="impact",
                )
            )
        else:
            handles.append(Patch(facecolor=colour, label=_LEGEND[state]))
    return handles
