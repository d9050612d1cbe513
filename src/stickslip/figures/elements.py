"""The force laws of set-valued elements: each drawn as the set it is, with the steps of a run on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from stickslip.analysis.progress import not_interrupted
from stickslip.figures import style
from stickslip.figures.sheet import dress, sheet
from stickslip.mechanisms.composed import Masing, Prandtl, Ratchet, Rope
from stickslip.mechanisms.elements import DryFriction, PrestressedSpring, SpragClutch, Stop
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.mechanisms.steppers.moreau_jean import MoreauJean
from stickslip.run.simulate import simulate
from stickslip.trajectory import Trajectory

_x, _v, _t = sp.symbols("x v t")
_DT, _T_END = 0.01, 8.0
_LAW: dict[str, Any] = {"color": style.SERIES[0], "linewidth": 2.0, "solid_capstyle": "round", "zorder": 3}


@dataclass(frozen=True)
class Element:
    """An element with its law.

    Attributes
    ----------
    title : its name in the library.
    law : points of the ideal law, (argument, force), NaN between its pieces.
    argument : label of the horizontal axis.
    run : makes the run whose steps are drawn.
    steps : argument and force of the steps of a run.
    """

    title: str
    law: tuple[list[float], list[float]]
    argument: str
    run: Callable[[], Trajectory]
    steps: Callable[[Trajectory], tuple[np.ndarray, np.ndarray]]


def plot() -> Figure:
    """Return the figure of all elements."""
    runs = [element.run() for element in ELEMENTS]
    with style.look():
        figure, axes = sheet(2, 4, 1.75, width=7.6)
        for ax, element, run in zip(axes, ELEMENTS, runs, strict=True):
            ax.axhline(0.0, color=style.GREY, linewidth=0.6, zorder=1)
            ax.axvline(0.0, color=style.GREY, linewidth=0.6, zorder=1)
            ax.plot(*element.law, **_LAW)
            ax.plot(
                *(values[::6] for values in element.steps(run)), ".", color=style.SERIES[1], markersize=3.2, zorder=4
            )
            ax.margins(x=0.08, y=0.12)
            style.panel(ax, element.title, element.argument, "$f$ [N]" if ax in (axes[0], axes[4]) else "")
        handles = [
            Line2D([], [], color=style.SERIES[0], linewidth=2.0, label="law"),
            Line2D([], [], color=style.SERIES[1], marker=".", linestyle="none", label="steps of a run"),
        ]
        failed = sum(run.certificate.failed_steps for run in runs)
        note = f"a body pulled to and fro behind each element; Δt = {_DT:g} s, {failed} failed steps"
        dress(figure, "Force laws of set-valued elements", note, handles)
    return figure


def _pulled(element: Any, force: float, damping: float) -> Trajectory:
    """A body of 1 kg under force sin(t) [N] and a damper [N s/m], with one element."""
    system = LagrangianSystem.from_energies(
        [_x], velocities=[_v], kinetic=_v**2 / 2, potential=0, forces=[force * sp.sin(_t) - damping * _v],
        contacts=[element], time=_t,
    )  # fmt: skip
    return not_interrupted(simulate(system, [0.0], [0.0], dt=_DT, t_end=_T_END, engine="reference", progress=False))


def _loop(element: Any, nodes: tuple[Any, ...]) -> Trajectory:
    """A body led along sin(t) by a stiff spring, with an element that has nodes of a gram each."""
    rates = sp.symbols(f"w:{len(nodes)}")
    system = LagrangianSystem.from_energies(
        [_x, *nodes], velocities=[_v, *rates], kinetic=_v**2 / 2 + sum(w**2 for w in rates) / 2000,
        potential=1000 * (_x - sp.sin(_t)) ** 2 / 2, contacts=[element], time=_t,
    )  # fmt: skip
    start = [0.0] * (1 + len(nodes))
    return not_interrupted(
        simulate(system, start, [1.0, *start[1:]], dt=_DT, t_end=_T_END, stepper=MoreauJean(theta=1.0),
                 engine="reference", progress=False)
    )  # fmt: skip


def _over_place(sign: float, rows: tuple[int, ...] = (0,)) -> Callable[[Trajectory], tuple[np.ndarray, np.ndarray]]:
    """Force of normal impulses over x; rows beyond the first pull the other way."""

    def steps(run: Trajectory) -> tuple[np.ndarray, np.ndarray]:
        force = sum((sign if k == 0 else -sign) * run.normal_impulse[:, k] for k in rows) / _DT
        lasting = np.abs(force) < 1.3  # blows are impulses, no forces
        return run["x"][lasting], np.asarray(force)[lasting]

    return steps


def _over_rate(run: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    return run["v"][1:], -run.tangential_impulse[1:, 0] / _DT


def _over_free_rate(run: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    return run["v"][1:], (run.normal_impulse[1:, 0] + np.abs(run.tangential_impulse[1:, 0])) / _DT


def _held(run: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    return run["x"][1:], -run.tangential_impulse[1:, 0] / _DT


_s = sp.symbols("s:3")
_MASING = ((2.0, 0.5), (1.0, 0.5), (0.5, 0.4))


def _spring(run: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    return run["x"], 2.0 * (run["x"] - run["s0"])


def _springs(run: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    return run["x"], np.asarray(sum(k * (run["x"] - run[f"s{i}"]) for i, (k, _) in enumerate(_MASING)))


def _masing_law() -> tuple[list[float], list[float]]:
    def virgin(x: np.ndarray) -> np.ndarray:
        return np.asarray(sum(np.minimum(k * x, F) for k, F in _MASING))

    x = np.linspace(0.0, 1.0, 60)
    back = np.linspace(1.0, -1.0, 120)
    top = float(virgin(np.array(1.0)))
    down = top - 2.0 * virgin((1.0 - back) / 2.0)
    return [*x, *back, *back[::-1]], [*virgin(x), *down, *(-down)]


ELEMENTS = (
    Element("Rope", ([-0.4, 0.2, 0.2], [0.0, 0.0, -1.2]), "$x$ [m]",
            lambda: _pulled(Rope("rope", _x, 0.2), 1.0, 2.0), _over_place(-1.0)),
    Element("Stop with play", ([-0.2, -0.2, 0.2, 0.2], [1.2, 0.0, 0.0, -1.2]), "$x$ [m]",
            lambda: _pulled(Stop("play", _x, lower=-0.2, upper=0.2), 1.0, 2.0), _over_place(1.0, (0, 1))),
    Element("Ratchet", ([0.0, 0.0, 0.5], [1.2, 0.0, 0.0]), "$\\dot x$ [m/s]",
            lambda: _pulled(Ratchet("ratchet", _x), 1.0, 2.0), _over_free_rate),
    Element("SpragClutch", ([0.0, 0.0, 0.9], [1.2, 0.0, 0.0]), "$\\dot\\varphi$ [rad/s]",
            lambda: _pulled(SpragClutch("clutch", _x), 1.0, 1.0), _over_free_rate),
    Element("DryFriction", ([-0.4, 0.0, 0.0, 0.4], [-0.5, -0.5, 0.5, 0.5]), "$\\dot x$ [m/s]",
            lambda: _pulled(DryFriction("brake", _x, 0.5), 1.0, 1.0), _over_rate),
    Element("PrestressedSpring", ([-0.5, 0.0, 0.0, 0.5], [-0.5, -0.5, 0.5, 0.5]), "$x$ [m]",
            lambda: _pulled(PrestressedSpring("hold", _x, 0.5), 1.0, 2.0), _held),
    Element("Prandtl", ([0.0, 0.5, 1.0, 0.0, -1.0, 0.0, 1.0], [0.0, 1.0, 1.0, -1.0, -1.0, 1.0, 1.0]), "$x$ [m]",
            lambda: _loop(Prandtl("bolt", _x, _s[0], 2.0, 1.0), (_s[0],)), _spring),
    Element("Masing", _masing_law(), "$x$ [m]",
            lambda: _loop(Masing("joint", _x, _s, _MASING), _s), _springs),
)  # fmt: skip
"""The elements in the order of the figure."""
