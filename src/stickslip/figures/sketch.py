"""Marks of technical sketches: dimension lines, arrows of forces and velocities, angles, names of points."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Arc, FancyBboxPatch, Polygon
from matplotlib.patheffects import withStroke

from stickslip.figures import style

FORCE, MOTION = style.SERIES[1], style.SERIES[2]
"""Colours of arrows: of forces, and of velocities."""
_HALO = [withStroke(linewidth=2.4, foreground=style.PAPER)]

Point = Any  # two numbers: a tuple or an array


def arrow(
    ax: Axes,
    start: Point,
    end: Point,
    text: str = "",
    shift: tuple[float, float] = (0.0, 0.0),
    colour: str = FORCE,
    *,
    width: float = 1.4,
) -> None:
    """A labelled arrow in world coordinates; the label stands `shift` points from its head."""
    look = {"arrowstyle": "-|>", "color": colour, "linewidth": width, "shrinkA": 0.0, "shrinkB": 0.0}
    ax.annotate("", end, start, arrowprops=look, zorder=8)
    if text:
        ax.annotate(text, end, shift, textcoords="offset points", fontsize=9, color=colour, zorder=9,
                    path_effects=_HALO)  # fmt: skip


def dimension(ax: Axes, start: Point, end: Point, text: str, *, offset: float = 0.0, shift: float = 5.0) -> None:
    """A dimension line from `start` to `end`, moved to its left by `offset` in world units, with thin help lines.

    shift : distance of the text from the line, to its left [pt].
    """
    a, b = np.array(start, dtype=float), np.array(end, dtype=float)
    along = (b - a) / np.linalg.norm(b - a)
    left = np.array([-along[1], along[0]])
    p, q = a + offset * left, b + offset * left
    for base, tip in ((a, p), (b, q)):
        ax.plot(*np.array([base, tip]).T, color=style.GREY, linewidth=0.5, zorder=7)
    look = {"arrowstyle": "<|-|>", "color": style.INK, "linewidth": 0.7, "shrinkA": 0.0, "shrinkB": 0.0,
            "mutation_scale": 7}  # fmt: skip
    ax.annotate("", tuple(q), tuple(p), arrowprops=look, zorder=8)
    middle = 0.5 * (p + q)
    ax.annotate(text, tuple(middle), tuple(shift * left), textcoords="offset points", ha="center", va="center",
                fontsize=8.5, zorder=9, path_effects=_HALO)  # fmt: skip


def angle(ax: Axes, centre: Point, radius: float, start: float, end: float, text: str, *, beyond: float = 1.25) -> None:
    """An arc from the angle `start` to `end` [rad] with its name, `beyond` radii from the centre."""
    ax.add_patch(
        Arc(centre, 2 * radius, 2 * radius, theta1=math.degrees(min(start, end)), theta2=math.degrees(max(start, end)),
            color=style.INK, linewidth=0.8, zorder=8)
    )  # fmt: skip
    middle = 0.5 * (start + end)
    place = (centre[0] + beyond * radius * math.cos(middle), centre[1] + beyond * radius * math.sin(middle))
    ax.text(*place, text, ha="center", va="center", fontsize=9, zorder=9, path_effects=_HALO)


def name(ax: Axes, point: Point, text: str, shift: tuple[float, float] = (5.0, 5.0), *, dot: bool = True) -> None:
    """The name of a point, `shift` points from it."""
    if dot:
        ax.plot(*point, "o", color=style.INK, markersize=2.8, zorder=8)
    ax.annotate(text, point, shift, textcoords="offset points", ha="center", va="center", fontsize=8.5, zorder=9,
                path_effects=_HALO)  # fmt: skip


def link(ax: Axes, *points: Point, **look: Any) -> None:
    """A line through points, as thick as a link of a model."""
    x, y = np.array(points, dtype=float).T
    ax.plot(x, y, **{"color": "#1D2D44", "linewidth": 1.6, "solid_capstyle": "round", "zorder": 4, **look})


def axes_cross(ax: Axes, x: str, y: str, box: tuple[float, float, float, float]) -> None:
    """Coordinate axes through the origin with arrows at their ends, in place of a frame; `box` is what is shown."""
    ax.set_axis_off()
    ax.set_xlim(box[0], box[1])
    ax.set_ylim(box[2], box[3])
    for start, end, text, shift in (
        ((box[0], 0.0), (box[1], 0.0), x, (-2, 5)),
        ((0.0, box[2]), (0.0, box[3]), y, (6, -4)),
    ):
        arrow(ax, start, end, colour=style.GREY, width=0.8)
        ax.annotate(text, end, shift, textcoords="offset points", fontsize=9, ha="left" if x != text else "right",
                    va="bottom" if x == text else "center")  # fmt: skip


def box(ax: Axes, centre: Point, width: float, height: float, text: str, *, decision: bool = False) -> None:
    """A box of a flowchart with its words; a decision is a rhombus."""
    x, y = centre
    fill: dict[str, Any] = {"facecolor": "#EEF3F7", "edgecolor": style.GREY, "linewidth": 0.8, "zorder": 3}
    if decision:
        corners = ((x - 0.5 * width, y), (x, y + 0.5 * height), (x + 0.5 * width, y), (x, y - 0.5 * height))
        ax.add_patch(Polygon(corners, closed=True, **{**fill, "facecolor": "#FAE9D3"}))
    else:
        size = 0.06 * min(width, height)
        ax.add_patch(
            FancyBboxPatch((x - 0.5 * width, y - 0.5 * height), width, height,
                           boxstyle=f"round,pad=0,rounding_size={size}", **fill)
        )  # fmt: skip
    ax.text(x, y, text, ha="center", va="center", fontsize=7.6, linespacing=1.45, zorder=5)


def flow(ax: Axes, *points: Point, text: str = "", shift: tuple[float, float] = (5.0, 0.0)) -> None:
    """An arrow of a flowchart through points, with a word at its begin."""
    for a, b in pairwise(points[:-1]):
        ax.plot(*np.array([a, b]).T, color=style.INK, linewidth=0.9, zorder=2)
    arrow(ax, points[-2], points[-1], colour=style.INK, width=0.9)
    if text:
        ax.annotate(text, points[0], shift, textcoords="offset points", fontsize=7.6, va="center")
