"""Maps of impact regimes: colours, names in the middle of their regions, hatching where the slip reverses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from scipy import ndimage

from stickslip.figures import style
from stickslip.figures.sheet import dress, sheet
from stickslip.impacts.impact import Impact

TINTS = {
    "open": "#FFFFFF",
    "backward slip": "#F1D5E4",
    "stick": "#CBE1F0",
    "forward slip": "#FAE3B8",
    "released": "#E4E7EB",
    "frictionless": "#CFEBDF",
}
BOUNDS = {
    "backward slip": r"$\Lambda_T = +\mu\,\Lambda_N$",
    "stick": r"$|\Lambda_T| < \mu\,\Lambda_N$",
    "forward slip": r"$\Lambda_T = -\mu\,\Lambda_N$",
    "released": r"$\Lambda_N = 0$",
    "frictionless": r"$\Lambda_T = 0$",
}
HATCH = "#7B8593"
"""Colour of the hatching where the slip reverses."""
_HALO = [withStroke(linewidth=2.6, foreground=style.PAPER)]
"""A rim of paper around words that lie on hatching or lines."""
_ROOM = 0.17  # least distance from a text to the edge of its region [inch]; narrower regions get no text


def cells(ax: Axes, x: np.ndarray, y: np.ndarray, values: np.ndarray, colours: Sequence[str]) -> None:
    """Draw coloured cells with centres x, y; `values` (len(y), len(x)) are indices into `colours`."""
    extent = (*_ends(x), *_ends(y))
    ax.imshow(
        values,
        extent=extent,
        origin="lower",
        aspect="auto",
        interpolation="nearest",
        cmap=ListedColormap(list(colours)),
        vmin=-0.5,
        vmax=len(colours) - 0.5,
        zorder=0,
    )
    ax.set(xlim=extent[:2], ylim=extent[2:])
    ax.grid(visible=False)


def below_zero(ax: Axes, x: np.ndarray, y: np.ndarray, values: np.ndarray, colour: str) -> None:
    """Fill the region where `values`, given at the cell centres x, y, are below zero; its edge is a smooth line."""
    (x_low, x_high), (y_low, y_high) = _ends(x), _ends(y)
    across, along = np.concatenate([[x_low], x, [x_high]]), np.concatenate([[y_low], y, [y_high]])
    padded = np.pad(values, 1, mode="edge")
    ax.contourf(across, along, padded, levels=[min(-1.0, float(padded.min())), 0.0], colors=[colour], zorder=0)
    ax.set(xlim=(x_low, x_high), ylim=(y_low, y_high))
    ax.grid(visible=False)


def regimes(ax: Axes, x: np.ndarray, y: np.ndarray, state: np.ndarray) -> None:
    """Draw regimes by colour; `state` holds codes as in `Impact.state_code`, shape (len(y), len(x))."""
    cells(ax, x, y, state, [TINTS[name] for name in Impact.STATES])


def hatch(ax: Axes, x: np.ndarray, y: np.ndarray, where: np.ndarray) -> None:
    """Hatch the cells with centres x, y in which `where` (len(y), len(x)) is True."""
    if where.any() and not where.all():
        drawn = ax.contourf(x, y, where.astype(float), levels=[0.5, 1.5], colors="none", hatches=["////"], zorder=1)
        drawn.set_edgecolor(HATCH)
        drawn.set_linewidth(0.0)
    elif where.all():
        ax.patch.set(hatch="////", edgecolor=HATCH)


def name_regions(
    ax: Axes, x: np.ndarray, y: np.ndarray, values: np.ndarray, texts: Mapping[int, str], **options: Any
) -> list[tuple[float, float, str]]:
    """Write each region's text where it is farthest from the region's edge; return the places."""
    rows, columns = values.shape
    sampling = (3.0 / rows, 1.8 / columns)  # a text is wider than high: room to the left and right counts for less
    places = []
    for value, text in texts.items():
        parts, count = ndimage.label(values == value)
        for k in range(1, count + 1):
            mask = parts == k
            depth = ndimage.distance_transform_edt(np.pad(mask, 1), sampling=sampling)[1:-1, 1:-1]
            if depth.max() < _ROOM:
                continue
            # Of all places almost as far from the edge, take the one nearest the middle: a long band is named there.
            i, j = np.nonzero(depth >= 0.97 * depth.max())
            centre = np.argmin(np.hypot((i - i.mean()) / rows, (j - j.mean()) / columns))
            places.append((float(x[j[centre]]), float(y[i[centre]]), text))
    look = {
        "ha": "center", "va": "center", "fontsize": 9, "linespacing": 1.4, "zorder": 6, "path_effects": _HALO, **options
    }  # fmt: skip
    for x_0, y_0, text in places:
        ax.text(x_0, y_0, text, **look)
    return places


def name_regimes(ax: Axes, x: np.ndarray, y: np.ndarray, state: np.ndarray) -> None:
    """Write the name of each regime and its bound on the impulses into the regime's region (see `name_regions`)."""
    texts = {Impact.STATES.index(name): f"{name}\n{bound}" for name, bound in BOUNDS.items()}
    name_regions(ax, x, y, state, texts)


def regime_handles(state: np.ndarray) -> list[Patch]:
    """Legend entries of the regimes that occur in `state`."""
    present = np.unique(state)
    return [
        Patch(facecolor=TINTS[name], edgecolor=style.GREY, linewidth=0.4, label=name)
        for code, name in enumerate(Impact.STATES)
        if code in present
    ]


def reversal_handle(text: str = "tangential velocity changes its sign") -> Patch:
    """Legend entry of the hatching that `hatch` draws."""
    return Patch(facecolor="none", edgecolor=HATCH, hatch="//////", linewidth=0.0, label=text)


def map_figure(
    x: tuple[str, np.ndarray], y: tuple[str, np.ndarray], state: np.ndarray, reversal: np.ndarray, title: str, note: str
) -> Figure:
    """A regime map of any pair of quantities, each given by its label and the centres of its cells."""
    with style.look():
        handles: list[Any] = regime_handles(state)
        if reversal.any():
            handles.append(reversal_handle("slip reverses"))
        figure, (ax,) = sheet(1, 1, 4.2, width=7.0)
        regimes(ax, x[1], y[1], state)
        hatch(ax, x[1], y[1], reversal)
        name_regimes(ax, x[1], y[1], state)
        style.panel(ax, "", x[0], y[0])
        dress(figure, title, note, handles)
        return figure


def _ends(values: np.ndarray) -> tuple[float, float]:
    half = 0.5 * (values[1] - values[0]) if len(values) > 1 else 0.5
    return float(values[0] - half), float(values[-1] + half)
