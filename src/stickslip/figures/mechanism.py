"""Mechanisms in matplotlib: the primitives of `stickslip.drawing.primitives` as artists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Circle as CirclePatch
from matplotlib.patches import Polygon as PolygonPatch

from stickslip.drawing import primitives as shapes
from stickslip.figures import style
from stickslip.trajectory import IMPACT, OPEN

_OUTLINE = "#1D2D44"
_FILL: dict[str, dict[str, Any]] = {
    "ground": {"facecolor": "#F1F1F1", "edgecolor": "#C4C7CC", "hatch": "////", "linewidth": 0.0},
    "wood": {"facecolor": "#EBD9BC", "edgecolor": "none"},
    "body": {"facecolor": "#4A6885", "edgecolor": _OUTLINE, "linewidth": 0.8},
    "body-light": {"facecolor": "#F7F1E5", "edgecolor": "none"},
    "body-dark": {"facecolor": "#22334A", "edgecolor": "none"},
    "accent": {"facecolor": "#B3262E", "edgecolor": "none"},
    "floor": {"facecolor": "#F3F3F1", "edgecolor": "none"},
    "wall": {"facecolor": "#E9EAEA", "edgecolor": "#C4C7CC", "linewidth": 0.6},
    "shadow": {"facecolor": "#D3D5D8", "edgecolor": "none"},
    "facet": {"facecolor": "#5E7F9F", "edgecolor": _OUTLINE, "linewidth": 0.5},
    "facet-light": {"facecolor": "#8CA9C4", "edgecolor": _OUTLINE, "linewidth": 0.5},
    "facet-dark": {"facecolor": "#3C566F", "edgecolor": _OUTLINE, "linewidth": 0.5},
    "joint": {"facecolor": style.PAPER, "edgecolor": _OUTLINE, "linewidth": 1.0},
}
_STROKE: dict[str, dict[str, Any]] = {
    "edge": {"color": "#6E5B45", "linewidth": 1.0},
    "spring": {"color": "#5C6570", "linewidth": 1.3},
    "guide": {"color": "#A7ADB5", "linewidth": 0.7},
    "floor-line": {"color": "#DADDE1", "linewidth": 0.7},
    "body-light": {"color": "#F7F1E5", "linewidth": 1.6},
    "label": {"color": style.GREY, "linewidth": 0.7},
}
_FALLBACK_FILL = {"facecolor": "#DDE1E6", "edgecolor": _OUTLINE, "linewidth": 0.8}
_FALLBACK_STROKE = {"color": _OUTLINE, "linewidth": 1.2}
_FAR_AWAY = 0.15  # share of the box of the whole motion; bodies that take less of it are followed by the view
_ANCHOR = {"left": "left", "centre": "center", "right": "right"}


def draw(ax: Axes, primitives: Iterable[shapes.Primitive], states: Sequence[int] | None = None) -> list[Artist]:
    """Add a mechanism to an axis, contact markers on top, and return the artists.

    states : contact state per contact number; all open where it is None.
    """
    flat = shapes.flat(primitives)
    artists: list[Artist] = []
    for order, shape in enumerate(flat):
        if not isinstance(shape, shapes.Marker):
            artists.append(_artist(ax, shape, 1.0 + 1e-3 * order))
    for shape in flat:
        if isinstance(shape, shapes.Marker):
            artists.extend(_marker(ax, shape, OPEN if states is None else int(states[shape.contact])))
    return artists


def prepare(ax: Axes, box: shapes.Box) -> None:
    """Let an axis show `box` [m] to scale, without a frame."""
    ax.set_axis_off()
    ax.set_aspect("equal", adjustable="box")
    ax.set_xlim(box[0], box[1])
    ax.set_ylim(box[2], box[3])


def filled(box: shapes.Box, aspect: float) -> shapes.Box:
    """The smallest box around `box` whose width is `aspect` times its height."""
    width, height = box[1] - box[0], box[3] - box[2]
    x, y = 0.5 * (box[0] + box[1]), 0.5 * (box[2] + box[3])
    width, height = max(width, aspect * height), max(height, width / aspect)
    return x - 0.5 * width, x + 0.5 * width, y - 0.5 * height, y + 0.5 * height


def windows(drawing: shapes.Drawing, q: np.ndarray, t: np.ndarray, p: Mapping[str, float]) -> list[shapes.Box]:
    """A view for each state [m]: one box for all, or boxes that follow bodies that travel far for their size."""
    whole = drawing.fit(q, t, p)
    single = [drawing.fit(q[k : k + 1], t[k : k + 1], p) for k in range(len(t))]
    width, height = max(box[1] - box[0] for box in single), max(box[3] - box[2] for box in single)
    if max(width, height) > _FAR_AWAY * max(whole[1] - whole[0], whole[3] - whole[2]):
        return [whole] * len(t)
    middles = [(0.5 * (box[0] + box[1]), 0.5 * (box[2] + box[3])) for box in single]
    return [(x - 0.5 * width, x + 0.5 * width, y - 0.5 * height, y + 0.5 * height) for x, y in middles]


def _artist(ax: Axes, shape: shapes.Primitive, z: float) -> Artist:
    if isinstance(shape, shapes.Polygon):
        fill = _FILL.get(shape.style, _FALLBACK_FILL)
        return ax.add_patch(PolygonPatch(np.array(shape.points), closed=True, joinstyle="round", zorder=z, **fill))
    if isinstance(shape, shapes.Circle):
        return ax.add_patch(CirclePatch(shape.centre, shape.radius, zorder=z, **_FILL.get(shape.style, _FALLBACK_FILL)))
    if isinstance(shape, shapes.Text):
        anchor, colour = _ANCHOR[shape.anchor], _STROKE.get(shape.style, _FALLBACK_STROKE)["color"]
        return ax.text(
            *shape.point, shape.text, ha=anchor, va="center", fontsize=6.5, color=colour, clip_on=True, zorder=z
        )
    if isinstance(shape, shapes.Spring):
        x, y = shape.wire().T
    elif isinstance(shape, shapes.Polyline):
        x, y = np.array(shape.points).T
    else:
        raise ValueError(f"no picture is known for a {type(shape).__name__}.")
    stroke = _STROKE.get(shape.style, _FALLBACK_STROKE)
    return ax.add_line(Line2D(x, y, solid_capstyle="round", solid_joinstyle="round", zorder=z, **stroke))


def _marker(ax: Axes, marker: shapes.Marker, state: int) -> list[Artist]:
    """A hollow ring while open, a disk in the colour of the state when closed, a burst at an impact."""
    x, y = [marker.point[0]], [marker.point[1]]
    label = f"contact {marker.contact}"
    if state == OPEN:
        ring = Line2D(
            x, y, marker="o", markersize=5.5, markerfacecolor="#FFFFFFD0", markeredgecolor=style.GREY,
            markeredgewidth=1.0, zorder=5, label=label,
        )  # fmt: skip
        return [ax.add_line(ring)]
    colour = style.STATE_COLOURS[state]
    artists: list[Artist] = []
    if state == IMPACT:
        rays = {"marker": (8, 2, 0.0), "markersize": 22.0, "markeredgecolor": colour, "markeredgewidth": 1.6}
        artists.append(ax.add_line(Line2D(x, y, linestyle="none", zorder=5, **rays)))  # type: ignore[arg-type]
    disk = Line2D(
        x, y, marker="o", markersize=9.5 if state == IMPACT else 8.0, markerfacecolor=colour,
        markeredgecolor=style.PAPER, markeredgewidth=1.2, zorder=6, label=label,
    )  # fmt: skip
    artists.append(ax.add_line(disk))
    return artists
