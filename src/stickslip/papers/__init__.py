"""Figures of papers drawn anew, schemes that papers show to fail, and classics that no ladder of solvers uses.

`gs05.fig4()` draws Figure 4 of [GS05] from scratch and returns a `PaperFigure`.  A new figure needs its function and a
line in `_KEYS`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stickslip.checks import unknown_name
from stickslip.trajectory import Certificate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KEYS = {
    "gs05-fig1": "maps.gs05_fig1",
    "gs05-fig2": "maps.gs05_fig2",
    "gs05-fig3": "models.gs05_fig3",
    "gs05-fig4": "gs05.fig4",
    "gs05-fig5": "gs05.fig5",
    "gs05-fig6": "gs05.fig6",
    "pg05-fig1": "maps.pg05_fig1",
    "pg05-fig2": "maps.pg05_fig2",
    "pg05-fig3": "models.pg05_fig3",
    "pg05-fig4": "pg05.fig4",
    "pg05-fig5": "pg05.fig5",
    "pg05-fig6": "pg05.fig6",
    "pg05-fig7": "pg05.fig7",
    "pg05-fig8": "pg05.fig8",
    "pg05-fig9": "pg05.fig9",
    "pg05-fig10": "pg05.fig10",
    "pg05-fig11": "pg05.fig11",
    "pg05-fig12": "models.pg05_fig12",
    "pg05-fig13": "pg05.fig13",
    "flg10-fig1": "maps.flg10_fig1",
    "flg10-fig2": "maps.flg10_fig2",
    "flg10-fig3": "maps.flg10_fig3",
    "flg10-fig4": "flowcharts.flg10_fig4",
    "flg10-fig5": "flowcharts.flg10_fig5",
    "flg10-fig6": "models.flg10_fig6",
    "flg10-fig7": "models.flg10_fig7",
    "flg10-fig8": "models.flg10_fig8",
    "flg10-fig9": "models.flg10_fig9",
    "flg10-fig10": "flg10.fig10",
    "flg10-fig11": "flg10.fig11",
    "flg10-fig12": "flg10.fig12",
    "flg10-fig13": "flg10.fig13",
    "s00-fig1.1": "s00_rod.fig1_1",
    "s00-fig1.2": "s00_impacts.fig1_2",
    "s00-fig1.3": "s00_rod.fig1_3",
    "s00-fig2.1": "maps.s00_fig2_1",
    "s00-fig2.2": "maps.s00_fig2_2",
    "s00-fig2.3": "s00_impacts.fig2_3",
    "s00-fig2.4": "s00_rod.fig2_4",
    "s00-fig4.1": "s00.fig4_1",
    "s00-fig4.2": "s00_friction.fig4_2",
    "s00-eq4.1": "s00_friction.eq4_1",
    "s00-fig4.3": "s00_impacts.fig4_3",
    "s00-fig4.4": "s00_impacts.fig4_4",
    "s00-fig4.5": "s00_impacts.fig4_5",
}
"""Key of a figure, as in `stickslip reproduce KEY` -> module and function in this folder."""


@dataclass(frozen=True)
class PaperFigure:
    """A figure of a paper, drawn anew.

    Attributes
    ----------
    title : what the figure shows.
    source : paper and number of the figure.
    parameters : of the run behind the figure.
    dt : step size of this run [s]; 0 for a figure of impacts, which take no time.
    certificate : of this run, or the worst of several; None for a drawing without a run.
    figure : the picture.
    check : what was checked of a drawing without a run, in words.
    """

    title: str
    source: str
    parameters: Mapping[str, float]
    dt: float
    certificate: Certificate | None
    figure: Figure
    check: str = ""


def keys() -> tuple[str, ...]:
    """Keys of all figures that can be reproduced."""
    return tuple(_KEYS)


def check_key(key: str) -> None:
    """Raise ValueError if no figure has this key."""
    if key not in _KEYS:
        raise ValueError(unknown_name("figure", key, _KEYS))


def reproduce(key: str) -> PaperFigure:
    """Compute and draw the figure with this key, such as "gs05-fig4"; ValueError for a key that does not exist."""
    check_key(key)
    module, function = _KEYS[key].split(".")
    figure: PaperFigure = getattr(importlib.import_module(f"{__name__}.{module}"), function)()
    return figure
