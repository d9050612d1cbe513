"""Figures of an ensemble: observables over one varied quantity, or two as maps; points of the section as a diagram."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stickslip.ensembles.result import Ensemble
from stickslip.figures import style
from stickslip.figures.sheet import dress, page

_SHOWN = ("period", "drop", "passages", "kinetic_end", "max_penetration")
_MOST_POINTS = 800_000


def draw_ensemble(result: Ensemble) -> Figure:
    """Return the figure of an ensemble: observables over one or two varied quantities, others at their first value."""
    dataset = result.dataset
    axes = [str(name) for name in dataset["status"].dims]
    shown = [name for name in _SHOWN if name in dataset][:2]
    diagrams = _diagram_quantities(result)
    with style.look():
        if len(axes) == 2 and "sample" not in axes:
            figure = page(4.6 * len(shown), 3.9)
            for i, name in enumerate(shown):
                _map(figure, figure.add_subplot(1, len(shown), i + 1), dataset[name], axes)
        else:
            rows = len(shown) + len(diagrams)
            figure = page(7.2, 1.0 + 2.2 * rows)
            panels = np.atleast_1d(figure.subplots(rows, 1, sharex=True))
            along = _along(result, axes)
            for ax, name in zip(panels, shown, strict=False):
                _curve(ax, along, dataset[name])
            for ax, (name, label) in zip(panels[len(shown) :], diagrams, strict=True):
                words = style.axis_label(label, json.loads(dataset.attrs.get("units", "{}")))
                _diagram(ax, along, dataset[name].sel({dataset[name].dims[-1]: label}), words)
            figure.align_ylabels(list(panels))
            panels[-1].set_xlabel(_axis_label(along))
            panels[-1].set_xlim(float(along.min()), float(along.max()) if along.size > 1 else None)
        dress(figure, f"{dataset.attrs['title']}, {len(result):,} members", _caption(result))
        return figure


def _along(result: Ensemble, axes: list[str]) -> Any:
    """Values of the quantity on the horizontal axis: the first one that was varied."""
    varied = str(result.dataset.attrs["varied"]).split(",")
    return result.dataset[axes[0] if axes[0] in varied else varied[0]]


def _diagram_quantities(result: Ensemble) -> list[tuple[str, str]]:
    """Name and label of the coordinate or velocity that varies most, relative to its size, on the section."""
    dataset = result.dataset
    if "point_u" not in dataset:
        return []
    best, score = ("point_u", str(dataset["velocity"].values[0])), -1.0
    for name, dimension in (("point_q", "coordinate"), ("point_u", "velocity")):
        for label in dataset[dimension].values:
            values = dataset[name].sel({dimension: label}).values
            values = values[np.isfinite(values)]
            spread = float(np.std(values) / (np.max(np.abs(values)) or 1.0)) if values.size else 0.0
            drifts = name == "point_q" and str(label) == dataset.attrs["travel"]
            if spread > score and not drifts:
                best, score = (name, str(label)), spread
    return [best]


def _axis_label(along: Any) -> str:
    return style.axis_label(str(along.name), {str(along.name): along.attrs.get("units", "")})


def _curve(ax: Axes, along: Any, values: Any) -> None:
    flat = values.values.reshape(along.size, -1)[:, 0] if values.dims[0] == along.dims[0] else values.values.ravel()
    order = np.argsort(along.values, kind="stable")
    marker = "," if len(flat) > 5000 else "." if len(flat) > 20 else "o"
    ax.plot(along.values[order], flat[order], linestyle="none", marker=marker, markersize=2.0, clip_on=marker == ",")
    units = values.attrs.get("units", "")
    ax.set_ylabel(str(values.name).replace("_", " ") + (f" [{style.unit_text(units)}]" if units else ""))


def _diagram(ax: Axes, along: Any, values: Any, words: str) -> None:
    """Every kept point of every member over the varied quantity: a bifurcation diagram."""
    points = values.values.reshape(along.size, -1)
    step = max(1, points.size // _MOST_POINTS)  # leave out whole members: every second point would halve a 2-cycle
    few = points.size < 20_000  # then dots are larger than a pixel: single pixels would be lost
    x = np.repeat(along.values[::step], points.shape[1])
    ax.plot(
        x,
        points[::step].ravel(),
        linestyle="none",
        marker="." if few else ",",
        markersize=1.5,
        color=style.INK,
        rasterized=True,
    )
    ax.set_ylabel(f"{words} on the section")


def _map(figure: Figure, ax: Axes, values: Any, axes: list[str]) -> None:
    first, second = values[axes[0]], values[axes[1]]
    low, high = np.nanpercentile(values.values, [0.5, 99.5]) if np.isfinite(values.values).any() else (0.0, 1.0)
    drawn = ax.pcolormesh(
        second.values,
        first.values,
        values.values,
        cmap="viridis",
        vmin=low,
        vmax=high,
        shading="nearest",
        rasterized=True,
    )
    style.panel(ax, str(values.name).replace("_", " "), _axis_label(second), _axis_label(first))
    ax.grid(visible=False)
    figure.colorbar(drawn, ax=ax, extend="both", label=style.unit_text(values.attrs.get("units", "")))


def _caption(result: Ensemble) -> str:
    notes = result.dataset.attrs
    parts = [
        f"{notes['stepper']}, solver {notes['solver']}, dt = {style.number(float(notes['dt']))} s",
        f"{style.number(float(notes['t_end']))} s of motion, watched from {style.number(float(notes['skip']))} s on",
    ]
    if notes["section"]:
        parts.append(f"section {notes['section']}")
    if result.n_failed:
        parts.append(f"{result.n_failed} failed members left out")
    return ", ".join(parts)
