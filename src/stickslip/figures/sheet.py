"""Sheets: figures whose panels keep their size, while title, legend and note get the room that they need around them.

A figure is made in two calls.  `sheet` makes its panels, and `dress` adds title, legend and note when all else is
drawn.  `on_paper` sets the width of the figures that are made within it: panels side by side are then stacked where
the paper is narrow, and types get smaller where a single panel is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.text import Text
from matplotlib.textpath import TextPath

from stickslip.figures import style
from stickslip.figures.style import typeset

_TITLE, _LEGEND, _NOTE = 10.5, 8.5, 6.8  # sizes of the types [pt]
_LINE = 1.45  # distance of lines, in sizes of their type
_EDGE = 0.06  # margin of the paper [inch]
_NARROW = 0.72  # paper below this share of a figure's own width has its panels stacked
_LEAST = 0.76  # smallest factor of the types: 6.5 pt
_UNITS = {"mm": 1.0 / 25.4, "cm": 1.0 / 2.54, "in": 1.0}
_LIMITS = (1.5, 20.0)  # [inch]


@dataclass(frozen=True)
class Paper:
    """Paper that figures are drawn on.

    width : of the figure [inch]; None: each figure has its own.
    bare : without title and note, which a journal sets itself.
    """

    width: float | None = None
    bare: bool = False


_paper: ContextVar[Paper | None] = ContextVar("paper", default=None)


def _on() -> Paper:
    """The paper that `on_paper` asked for last, or one that leaves all to the figures."""
    return _paper.get() or Paper()


@contextmanager
def on_paper(width: float | str | None = None, *, bare: bool = False) -> Iterator[None]:
    """Context in which figures are made with a width, as "85mm" or in inches, and perhaps without words around them."""
    value = inches(width) if isinstance(width, str) else width
    token = _paper.set(Paper(value, bare))
    try:
        yield
    finally:
        _paper.reset(token)


def inches(text: str) -> float:
    """A width such as "85mm", "8.5cm" or "3.35in" in inches."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(mm|cm|in)\s*", text)
    if found is None:
        raise ValueError(f"width must be a number with mm, cm or in behind it, such as 85mm, got {text!r}.")
    value = float(found[1]) * _UNITS[found[2]]
    if not _LIMITS[0] <= value <= _LIMITS[1]:
        least, most = (round(25.4 * limit) for limit in _LIMITS)
        raise ValueError(f"width must lie between {least} and {most} mm, got {text.strip()!r}.")
    return value


def fit(figure: Figure, width: str) -> None:
    """Give a figure that is drawn already another width: its height keeps the proportion, types shrink with it."""
    new, (old, height) = inches(width), figure.get_size_inches()
    scale = min(1.0, max(_LEAST, new / old))
    for text in figure.findobj(Text):
        text.set_fontsize(scale * float(text.get_fontsize()))
    for ax in figure.axes:
        ax.tick_params(labelsize=scale * style.TICKS)
    figure.set_size_inches(new, height * max(new / old, 0.6))


def sheet(
    rows: int,
    columns: int,
    heights: float | Sequence[float],
    *,
    width: float = 7.2,
    ratios: Sequence[float] | None = None,
    together: bool = False,
    **options: Any,
) -> tuple[Figure, list[Axes]]:
    """A figure with `rows` x `columns` panels, which are returned row by row.

    Parameters
    ----------
    heights : of the rows with their labels [inch]; one number for all.
    width : of the figure [inch], unless `on_paper` says another one.
    ratios : of the widths of the columns.
    together : whether panels stay side by side on narrow paper.
    options : of all panels, such as `projection="3d"`.
    """
    own = [float(heights)] * rows if isinstance(heights, (int, float)) else [float(h) for h in heights]
    given = _on().width
    scale = 1.0
    if given is not None and given < _NARROW * width and columns > 1 and not together:
        scale = min(1.0, max(_LEAST, given * columns / width))
        own, rows, columns, ratios = [h for h in own for _ in range(columns)], rows * columns, 1, None
    elif given is not None and given < width:
        scale = max(_LEAST, given / width)
        own = [h * max(0.6, given / width) for h in own]
    figure = style.new_figure(width if given is None else given, sum(own))
    figure.scale = scale  # type: ignore[attr-defined]
    grid = figure.add_gridspec(rows, columns, height_ratios=own, width_ratios=ratios)
    return figure, [figure.add_subplot(grid[k // columns, k % columns], **options) for k in range(rows * columns)]


def page(width: float, height: float) -> Figure:
    """An empty figure [inch], narrower where `on_paper` asks for it: its panels lie as they are, with smaller types."""
    given = _on().width
    if given is None or given >= width:
        return style.new_figure(width if given is None else given, height)
    figure = style.new_figure(given, height * max(0.6, given / width))
    figure.scale = max(_LEAST, given / width)  # type: ignore[attr-defined]
    return figure


def dress(figure: Figure, title: str, note: str = "", handles: Sequence[Any] = ()) -> None:
    """Write title and legend above the panels of a figure and the note below them; the figure grows by their room.

    All words of the figure are typeset (`style.typeset`).  A line that is too long for the paper is broken.
    """
    paper, scale = _on(), getattr(figure, "scale", 1.0)
    _typeset_all(figure, scale)
    width, panels = figure.get_size_inches()
    room = 0.965 * 72.0 * (width - 2.0 * _EDGE)  # letters are rounded to whole dots, mostly up
    heading = [] if paper.bare else _wrapped(typeset(title), room, _TITLE * scale, "bold")
    lines = [] if paper.bare else [part for line in typeset(note).split("\n") for part in _wrapped(line, room, _NOTE)]
    columns = _columns([typeset(h.get_label()) for h in handles], room, _LEGEND * scale) if handles else 1
    legend_rows = -(-len(handles) // columns)
    above = _EDGE + sum(
        count * size * scale * _LINE / 72.0 + 0.04 for count, size in ((len(heading), _TITLE), (legend_rows, _LEGEND))
        if count
    )  # fmt: skip
    below = _EDGE + (len(lines) * _NOTE * _LINE / 72.0 + 0.04 if lines else 0.0)
    total = panels + above + below
    figure.set_size_inches(width, total)
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0.0, below / total, 1.0, panels / total), w_pad=0.04, h_pad=0.04)
    left = _EDGE / width
    if heading:
        text = figure.suptitle(
            "\n".join(heading), x=left, y=1.0 - _EDGE / total, ha="left", va="top", fontsize=_TITLE * scale,
            fontweight="bold", linespacing=1.25,
        )  # fmt: skip
        text.set_in_layout(False)
    if handles:
        top = total - _EDGE - (len(heading) * _TITLE * scale * _LINE / 72.0 + 0.04 if heading else 0.0)
        legend = figure.legend(
            handles=list(handles), loc="upper left", bbox_to_anchor=(left, top / total), ncols=columns,
            borderaxespad=0.0, borderpad=0.1, columnspacing=_SPACING, handletextpad=_PAD, handlelength=_HANDLE,
            fontsize=_LEGEND * scale,
        )  # fmt: skip
        legend.set_in_layout(False)
        for entry in legend.get_texts():
            entry.set_text(typeset(entry.get_text()))
    if lines:
        text = figure.supxlabel(
            "\n".join(lines), x=left, y=_EDGE / total, ha="left", va="bottom", fontsize=_NOTE, color=style.GREY,
            linespacing=1.4,
        )  # fmt: skip
        text.set_in_layout(False)


_SPACING, _PAD, _HANDLE = 1.6, 0.5, 1.6  # of a legend: between columns, before a text, length of a handle [em]


def _typeset_all(figure: Figure, scale: float) -> None:
    """Set formulas in all words of the panels, and shrink the types by `scale`."""
    for ax in figure.axes:
        ticks = {id(label) for axis in _axes_of(ax) for label in axis.get_ticklabels(which="both")}
        for text in ax.findobj(Text):
            if id(text) in ticks:
                continue
            written = text.get_text()
            if written:
                text.set_text(typeset(written))
            if scale != 1.0:
                text.set_fontsize(scale * float(text.get_fontsize()))
        if scale != 1.0:
            ax.tick_params(labelsize=scale * style.TICKS)


def _axes_of(ax: Any) -> list[Any]:
    return [getattr(ax, name) for name in ("xaxis", "yaxis", "zaxis") if hasattr(ax, name)]


def _columns(labels: Sequence[str], room: float, size: float) -> int:
    """Most columns of a legend with these labels that fit into `room` [pt]."""
    widths = [_length(label, size) + (_HANDLE + _PAD) * size for label in labels]
    for columns in range(len(labels), 1, -1):
        rows, longer = divmod(len(labels), columns)  # the first columns of a legend have one entry more
        ends = np.cumsum([0, *(rows + (k < longer) for k in range(columns))])
        needed = [max(widths[a:b]) for a, b in pairwise(ends)]
        if sum(needed) + _SPACING * size * (columns - 1) <= room:
            return columns
    return 1


@lru_cache(maxsize=4096)
def _length(text: str, size: float, weight: str = "normal") -> float:
    """Length of a line [pt]."""
    if not text.strip():
        return 0.35 * size * len(text)
    return float(TextPath((0, 0), text, size=size, prop=FontProperties(weight=weight)).get_extents().x1)


def _wrapped(line: str, room: float, size: float, weight: str = "normal") -> list[str]:
    """Parts of a line that fit into `room` [pt], cut between words, never within a formula."""
    words = re.split(r" +(?=(?:[^$]*\$[^$]*\$)*[^$]*$)", line)
    lines, used, space = [words[0]], _length(words[0], size, weight), 0.35 * size
    for word in words[1:]:
        length = _length(word, size, weight)
        if used + space + length > room and lines[-1]:
            lines.append(word)
            used = length
        else:
            lines[-1] += f" {word}"
            used += space + length
    return lines
