"""Drawings of the mechanical models: woodpecker, slider-crank and its joint with play, bar, lumped contact.

[GS05] Figure 3, [FLG10] Figures 6 to 9, [PG05] Figures 3 and 12.  Places come from the library's systems: their
coordinates, parameters and gaps.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from stickslip import library
from stickslip.analysis.joint_configuration import configuration_of
from stickslip.drawing.joint_shapes import slider_in_guide
from stickslip.drawing.primitives import Spring, flat
from stickslip.figures import mechanism, style
from stickslip.figures.sheet import dress, sheet
from stickslip.figures.sketch import FORCE, MOTION, angle, arrow, dimension, link, name
from stickslip.laws import Stronge
from stickslip.papers import PaperFigure
from stickslip.papers.pg05_data import Bar
from stickslip.scenario import Scenario

_GROUND: dict[str, Any] = {
    "facecolor": "#F1F1F1",
    "edgecolor": "#C4C7CC",
    "hatch": "////",
    "linewidth": 0.0,
    "zorder": 0,
}


# -- the woodpecker --------------------------------------------------------------------------------------------


def gs05_fig3() -> PaperFigure:
    """The woodpecker toy and its mechanical model."""
    toy = library.woodpecker()
    p = toy.parameters
    title = "Woodpecker toy and mechanical model"
    with style.look():
        figure, (left, right) = sheet(1, 2, 3.9, width=6.6, ratios=[0.8, 1.0])
        mechanism.prepare(left, (-0.017, 0.046, -0.036, 0.036))
        assert toy.drawing is not None
        mechanism.draw(left, toy.drawing(list(toy.q0), 0.0, p))
        left.set_title("toy, state of Table I [mm]")
        _woodpecker_model(right, p)
        right.set_title("model, at rest")
        for ax in (left, right):
            ax.set_anchor("N")  # titles side by side
        gaps = toy.system.gap(np.zeros(3), 0.0, toy.system.parameter_vector(toy.params))
        check = "gaps at rest, (15): " + ", ".join(f"{1e3 * gap:.2g}" for gap in gaps) + " mm"
        note = (
            f"coordinates $y$, $\\varphi_M$, $\\varphi_S$; contacts 1: beak, 2, 3: lower, upper edge of the sleeve; "
            f"{check}; the play of the sleeve is drawn four times as large in the model"
        )
        return _finish(figure, "[GS05] Figure 3", title, note, p, check)


def _woodpecker_model(ax: Axes, p: dict[str, float]) -> None:
    mechanism.prepare(ax, (-0.021, 0.043, -0.03, 0.034))
    r_O, h_M, l_M, l_G, l_S, h_S = (p[key] for key in ("r_O", "h_M", "l_M", "l_G", "l_S", "h_S"))
    r_M = r_O + 4.0 * (p["r_M"] - r_O)
    G, S = (l_M, 0.0), (l_M + l_G, 0.0)
    P, beak = (S[0], h_S), (S[0] - l_S, h_S)
    ax.add_patch(Rectangle((-r_O, -0.03), 2 * r_O, 0.07, facecolor="#EBD9BC", edgecolor="#6E5B45", linewidth=0.8))
    for side in (-1.0, 1.0):
        ax.add_patch(Rectangle((min(side * r_M, side * (r_M + 0.0012)), -h_M), 0.0012, 2 * h_M, facecolor="#4A6885",
                               edgecolor="#1D2D44", linewidth=0.8, zorder=3))  # fmt: skip
    link(ax, (r_M + 0.0012, 0.0), G)
    link(ax, G, S)
    link(ax, S, P)
    link(ax, P, beak)
    turn = np.linspace(0.5, 4.2 * np.pi, 160)
    radius = np.linspace(0.0004, 0.0017, 160)
    ax.plot(G[0] + radius * np.cos(turn), G[1] + radius * np.sin(turn), color="#5C6570", linewidth=1.0, zorder=5)
    ax.annotate(r"$c_\varphi$", G, (13, -9), textcoords="offset points", ha="center")
    name(ax, S, "$S$: $m_S, J_S$", (27, -8))
    name(ax, (0.0, 0.0), "$M$", (-1, 9))
    ax.annotate("$m_M, J_M$", (-r_M - 0.0012, 0.0026), (-4, 0), textcoords="offset points", ha="right", va="center")
    name(ax, G, "$G$", (0, -12))
    for place, text, shift in ((beak, "1", (-1, 9)), ((r_M, -h_M), "2", (10, -6)), ((r_M, h_M), "3", (10, 6))):
        ax.plot(*place, "o", markersize=5, markerfacecolor=style.PAPER, markeredgecolor=style.SERIES[1], zorder=9)
        ax.annotate(text, place, shift, textcoords="offset points", ha="center", va="center", color=style.SERIES[1],
                    fontweight="bold")  # fmt: skip
    dimension(ax, (0.0, 0.0), G, "$l_M$", offset=-0.0105, shift=-7.0)
    dimension(ax, G, S, "$l_G$", offset=-0.0105, shift=-7.0)
    dimension(ax, beak, P, "$l_S$", offset=0.004)
    dimension(ax, P, S, "$h_S$", offset=0.004, shift=11.0)
    dimension(ax, (-r_M, -h_M), (-r_M, 0.0), "$h_M$", offset=0.004, shift=9.0)
    dimension(ax, (0.0, 0.029), (r_O, 0.029), "$r_O$", offset=0.0, shift=7.0)
    dimension(ax, (0.0, -0.024), (r_M, -0.024), "$r_M$", offset=0.0, shift=-7.0)
    arrow(ax, (-0.012, 0.01), (-0.012, 0.018), "$y$", (4, -4), MOTION)
    ax.plot(
        [G[0], G[0] + 0.0118 * math.cos(0.45)], [G[1], G[1] + 0.0118 * math.sin(0.45)], color=style.GREY, linewidth=0.6
    )
    ax.plot([0.0, 0.0105 * math.cos(0.5)], [0.0, 0.0105 * math.sin(0.5)], color=style.GREY, linewidth=0.6, zorder=6)
    angle(ax, G, 0.0105, 0.0, 0.45, r"$\varphi_S$")
    angle(ax, (0.0, 0.0), 0.0088, 0.0, 0.5, r"$\varphi_M$", beyond=1.45)
    arrow(ax, (0.04, 0.03), (0.04, 0.022), "$g$", (4, 2))


# -- the slider-crank --------------------------------------------------------------------------------------------

_CLOSED = 1e-12  # gap of a corner that touches: rounding [m]
_CLEARANCE = 0.008  # drawn play of the joint on each side [m]; Table 1 has 1 mm, which nobody would see


def flg10_fig6() -> PaperFigure:
    """The slider-crank mechanism with a joint with play."""
    machine = library.slider_crank()
    p = machine.parameters
    theta_1 = 0.9
    theta_2 = -math.asin(p["l_1"] * math.sin(theta_1) / p["l_2"])
    title = "Slider-crank with a translational clearance joint"
    with style.look():
        figure, (ax,) = sheet(1, 1, 2.5, width=6.6)
        mechanism.prepare(ax, (-0.07, 0.53, -0.075, 0.165))
        assert machine.drawing is not None
        shapes = machine.drawing([theta_1, theta_2, 0.0], 0.0, p)
        mechanism.draw(ax, [shape for shape in flat(shapes) if type(shape).__name__ not in ("Text", "Marker")])
        pin = (p["l_1"] * math.cos(theta_1), p["l_1"] * math.sin(theta_1))
        end = (pin[0] + p["l_2"] * math.cos(theta_2), 0.0)
        ax.plot([0.0, 0.5], [0.0, 0.0], color=style.GREY, linewidth=0.6, linestyle=(0, (8, 3, 1, 3)), zorder=1)
        angle(ax, (0.0, 0.0), 0.06, 0.0, theta_1, r"$\theta_1$")
        ax.plot([pin[0], pin[0] + 0.12], [pin[1], pin[1]], color=style.GREY, linewidth=0.6)
        angle(ax, pin, 0.1, theta_2, 0.0, r"$\theta_2$", beyond=1.15)
        dimension(ax, (0.0, 0.0), pin, "$l_1$", offset=0.03)
        dimension(ax, pin, end, "$l_2$", offset=0.03)
        for text, place in (
            ("1", (-0.045, -0.02)),
            ("2", (0.62 * pin[0], 0.62 * pin[1])),
            ("3", (0.5 * (pin[0] + end[0]), 0.5 * pin[1])),
            ("4", (end[0] + 0.035, 0.0)),
        ):
            ax.text(*place, text, ha="center", va="center", fontsize=9, fontweight="bold", zorder=9,
                    bbox={"boxstyle": "circle,pad=0.2", "facecolor": style.PAPER, "linewidth": 0.7})  # fmt: skip
        gaps = machine.system.gap([theta_1, theta_2, 0.0], 0.0, machine.system.parameter_vector(None))
        spread = float(np.abs(gaps - p["clearance"]).max())
        check = f"at this state all four corners are {1e3 * p['clearance']:g} mm from the guides, within {spread:.0e} m"
        note = f"1 ground, 2 crank, 3 connecting rod, 4 slider; $\\theta_1$ = {theta_1:g} rad; {check}; play magnified"
        return _finish(figure, "[FLG10] Figure 6", title, note, p, check)


def flg10_fig7() -> PaperFigure:
    """The translational joint with play: slider and guide."""
    machine = _wide_joint()
    p = machine.parameters
    a, b, c = p["a"], p["b"], p["clearance"]
    title = "Translational joint with clearance"
    with style.look():
        figure, (ax,) = sheet(1, 1, 2.2, width=5.2)
        _joint(ax, 0.0, 0.0, 0.0, p)
        mechanism.prepare(ax, (-0.12, 0.115, -0.048, 0.048))
        dimension(ax, (-a, -b), (a, -b), "$2a$", offset=0.012, shift=7.0)
        dimension(ax, (-a, -b), (-a, b), "$2b$", offset=0.012, shift=9.0)
        dimension(ax, (0.075, b), (0.075, b + c), "$c$", offset=0.0, shift=-8.0)
        dimension(ax, (0.095, -b - c), (0.095, b + c), "$d$", offset=0.0, shift=-9.0)
        ax.plot([a, 0.085], [b, b], color=style.GREY, linewidth=0.5)
        ax.text(-0.097, b + c + 0.0055, "guide", fontsize=8.5, va="center", ha="right")
        ax.text(0.0, 0.008, "slider", fontsize=8.5, ha="center", va="center", zorder=9)
        check = "gaps (98)-(104) of the level slider: $c$ at all corners, so that $d = 2(b + c)$"
        gaps = machine.system.gap(_state(machine, 0.0, 0.0), 0.0, machine.system.parameter_vector(machine.params))
        if float(np.abs(gaps - c).max()) > 1e-12:
            raise RuntimeError(f"the gaps of a level slider are not the clearance: {gaps}")
        note = f"{check}; drawn with $c$ = {1e3 * c:g} mm, Table 1 has 1 mm"
        return _finish(figure, "[FLG10] Figure 7", title, note, p, check)


def flg10_fig8() -> PaperFigure:
    """The four ways in which slider and guide touch."""
    machine = _wide_joint()
    p, system = machine.parameters, machine.system
    values = system.parameter_vector(machine.params)
    c, tilt = p["clearance"], _largest_tilt(p)
    leaning = p["b"] + c - p["a"] * math.sin(0.5 * tilt) - p["b"] * math.cos(0.5 * tilt)  # corner 2 at the upper guide
    title = "Different scenarios for the slider and guide interaction"
    with style.look():
        figure, axes = sheet(2, 2, 1.45, width=6.6)
        found = []
        states = ((0.1 * c, 0.5 * tilt), (leaning, 0.5 * tilt), (c, 0.0), (0.0, tilt))  # heights [m] and angles [rad]
        for ax, letter, (height, theta_3) in zip(axes, "abcd", states, strict=True):
            gaps = np.asarray(system.gap(_state(machine, height, theta_3), 0.0, values))
            found.append(configuration_of(gaps <= _CLOSED))
            _joint(ax, 0.0, height, theta_3, p)
            mechanism.prepare(ax, (-0.105, 0.105, -0.05, 0.05))
            closed = [k for k in range(4) if gaps[k] <= _CLOSED]
            for k, place in enumerate(_corners(height, theta_3, p)):
                if k in closed:
                    ax.plot(*place, "o", markersize=6, color=style.SERIES[1], markeredgecolor=style.PAPER, zorder=9)
            ax.set_title(f"({letter}) {found[-1]}")
        if found != ["no contact", "one corner", "two adjacent corners", "two opposite corners"]:
            raise RuntimeError(f"the four states are not the four configurations: {found}")
        check = "four states of the model, told apart by their gaps (98)-(104)"
        note = f"{check}; dots: gaps that are 0; drawn with $c$ = {1e3 * p['clearance']:g} mm, Table 1 has 1 mm"
        return _finish(figure, "[FLG10] Figure 8", title, note, p, check)


def flg10_fig9() -> PaperFigure:
    """A generic position of the slider, with the chain to each corner and the gaps."""
    machine = _wide_joint(clearance=0.025)
    p, system = machine.parameters, machine.system
    l_1, l_2 = 0.1, 0.2  # shorter than Table 1, so that the slider is large in the picture
    theta_1, height, theta_3 = 1.0, 0.006, 0.16
    theta_2 = math.asin((height - l_1 * math.sin(theta_1)) / l_2)
    pin = (l_1 * math.cos(theta_1), l_1 * math.sin(theta_1))
    centre = pin[0] + l_2 * math.cos(theta_2)
    title = "Generic position of the slider inside the guide"
    with style.look():
        figure, (ax,) = sheet(1, 1, 2.7, width=6.6)
        _joint(ax, centre, height, theta_3, p, (centre - 0.085, centre + 0.085))
        mechanism.prepare(ax, (-0.03, centre + 0.1, -0.07, 0.115))
        link(ax, (0.0, 0.0), pin, linewidth=2.4)
        link(ax, pin, (centre, height), linewidth=2.4)
        ax.plot(
            [0.0, centre + 0.09], [0.0, 0.0], color=style.GREY, linewidth=0.6, linestyle=(0, (8, 3, 1, 3)), zorder=1
        )
        angle(ax, (0.0, 0.0), 0.03, 0.0, theta_1, r"$\theta_1$")
        ax.plot([pin[0], pin[0] + 0.06], [pin[1], pin[1]], color=style.GREY, linewidth=0.6)
        angle(ax, pin, 0.05, theta_2, 0.0, r"$\theta_2$", beyond=1.2)
        for turned in (0.0, theta_3):
            ends = [(centre, height), (centre + 0.04 * math.cos(turned), height + 0.04 * math.sin(turned))]
            ax.plot(*np.array(ends).T, color=style.GREY, linewidth=0.6, zorder=8)
        angle(ax, (centre, height), 0.03, 0.0, theta_3, r"$\theta_3$", beyond=1.22)
        name(ax, (centre, height), "$S_3$", (-2, 9))
        half = p["b"] + p["clearance"]
        values = system.parameter_vector({**(machine.params or {}), "l_1": l_1, "l_2": l_2})
        gaps = np.asarray(system.gap([theta_1, theta_2, theta_3], 0.0, values))
        error = 0.0
        for k, (x, y) in enumerate(_corners(height, theta_3, p)):
            wall = half if k < 2 else -half
            place = (centre + x, y)
            error = max(error, abs(abs(wall - y) - gaps[k]))
            ax.plot(
                *np.array([(centre, height), place]).T, color=style.GREY, linewidth=0.7, linestyle=(0, (3, 2)), zorder=8
            )
            sign = 1.0 if k < 2 else -1.0
            dimension(ax, place, (place[0], wall), f"$g_{{N{k + 1}}}$", shift=10.0 if k == 2 else -10.0 * sign)
            ax.plot(*place, "o", color=style.SERIES[1], markersize=4, zorder=9)
            beside = (9 if k % 2 else -9, -4 * sign)
            ax.annotate(f"{k + 1}", place, beside, textcoords="offset points", ha="center", va="center",
                        fontweight="bold", fontsize=8, zorder=9)  # fmt: skip
        check = f"distances in the picture and gaps (98)-(104) of the model agree within {error:.0e} m"
        if error > 1e-12:
            raise RuntimeError(f"the picture is off the gaps by {error} m")
        note = f"{check}; play exaggerated: $c$ = {1e3 * p['clearance']:g} mm; crank and rod shortened"
        return _finish(figure, "[FLG10] Figure 9", title, note, p, check)


def _wide_joint(clearance: float = _CLEARANCE) -> Scenario:
    """The slider-crank with a play that can be seen."""
    return library.slider_crank(clearance=clearance)


def _state(machine: Scenario, height: float, theta_3: float) -> list[float]:
    """Coordinates of the slider-crank with the slider's centre at this height [m] and angle [rad]; crank at 0.9 rad."""
    p = machine.parameters
    return [0.9, math.asin((height - p["l_1"] * math.sin(0.9)) / p["l_2"]), theta_3]


def _largest_tilt(p: dict[str, float]) -> float:
    """Angle at which the slider touches both guides with opposite corners [rad]: a sin + b cos = b + c."""
    a, b, c = p["a"], p["b"], p["clearance"]
    return math.asin((b + c) / math.hypot(a, b)) - math.atan2(b, a)


def _corners(height: float, theta_3: float, p: dict[str, float]) -> list[tuple[float, float]]:
    """Corners 1 to 4 of the slider with its centre at (0, height) [m], as in (98)-(105)."""
    c, s = math.cos(theta_3), math.sin(theta_3)
    local = ((-p["a"], p["b"]), (p["a"], p["b"]), (-p["a"], -p["b"]), (p["a"], -p["b"]))
    return [(c * x - s * y, height + s * x + c * y) for x, y in local]


def _joint(
    ax: Axes, x: float, y: float, theta: float, p: dict[str, float], span: tuple[float, float] = (-0.095, 0.095)
) -> None:
    """Guides along x, and the slider with its centre at (x, y) [m], turned by theta [rad]."""
    shapes = slider_in_guide(x, y, 0.0, half_length=p["a"], half_width=p["b"], clearance=p["clearance"], span=span,
                             contacts=())  # fmt: skip
    mechanism.draw(ax, [shape for shape in shapes if getattr(shape, "name", "") != "slider"])
    corners = [(x + px, py) for px, py in _corners(y, theta, p)]
    outline = np.array([corners[k] for k in (0, 1, 3, 2)])
    ax.fill(*outline.T, facecolor="#C9D6E3", edgecolor="#1D2D44", linewidth=0.9, zorder=3)


# -- the bar and the lumped contact ------------------------------------------------------------------------------


def pg05_fig3() -> PaperFigure:
    """The bar that strikes a half-space, and its free body diagram."""
    bar = library.impacting_bar()
    p = bar.parameters
    phi, s = math.radians(55.0), p["half_length"]
    C = np.zeros(2)
    S = np.array([-s * math.cos(phi), s * math.sin(phi)])
    top = 2.0 * S
    title = "Mechanical model of the bar, and its free body diagram"
    with style.look():
        figure, (left, right) = sheet(1, 2, 2.9, width=6.4)
        for ax, free in ((left, False), (right, True)):
            if not free:
                ax.add_patch(Rectangle((-1.9 * s, -0.35 * s), 3.2 * s, 0.35 * s, **_GROUND))
                ax.plot([-1.9 * s, 1.3 * s], [0.0, 0.0], color="#6E5B45", linewidth=1.0)
            link(ax, tuple(C), tuple(top), linewidth=4.0, color="#4A6885")
            name(ax, tuple(S), "$S$", (-9, -7))
            name(ax, tuple(C), "$C$", (9, -8))
        angle(left, (0.0, 0.0), 0.45 * s, math.pi - phi, math.pi, r"$\varphi$", beyond=0.62)
        dimension(left, tuple(C), tuple(S), "$s$", offset=-0.16 * s, shift=-7.0)
        dimension(left, tuple(S), tuple(top), "$s$", offset=-0.16 * s, shift=-7.0)
        left.annotate(r"$m,\ \Theta_S$", tuple(S), (-26, 8), textcoords="offset points", ha="center")
        arrow(left, (-1.75 * s, 0.0), (-1.35 * s, 0.0), "$e_x$", (2, 4), style.INK)
        arrow(left, (-1.75 * s, 0.0), (-1.75 * s, 0.4 * s), "$e_y$", (4, -3), style.INK)
        name(left, (-1.75 * s, 0.0), "$O$", (-7, -7))
        dimension(left, (S[0], 0.0), tuple(S), "$y$", offset=0.0, shift=7.0)
        arrow(right, (0.0, -0.75 * s), (0.0, -0.05 * s), r"$\Lambda_N$", (5, -18))
        arrow(right, (-0.75 * s, -0.02 * s), (-0.05 * s, -0.02 * s), r"$\Lambda_T$", (-30, -12))
        arrow(right, (0.0, 0.0), (0.0, 0.55 * s), r"$\gamma_N$", (4, -4), MOTION)
        arrow(right, (0.0, 0.0), (0.55 * s, 0.0), r"$\gamma_T$", (-2, 6), MOTION)
        for ax in (left, right):
            mechanism.prepare(ax, (-1.95 * s, 1.05 * s, -0.85 * s, 1.85 * s))
        left.set_title("model")
        right.set_title("free body diagram")
        q = [float(S[0]), float(S[1]), phi]
        gap = float(bar.system.gap(q, 0.0, bar.system.parameter_vector(bar.params))[0])
        if abs(gap) > 1e-12:
            raise RuntimeError(f"the tip of the drawn bar is {gap} m off the half-space")
        check = f"gap of the model at the drawn state: {abs(gap):.0e} m"
        note = f"$g_N = y - s\\sin\\varphi$; {check}"
        return _finish(figure, "[PG05] Figure 3", title, note, p, check)


def pg05_fig12() -> PaperFigure:
    """Stronge's lumped contact: normal and tangential springs, and the law of the normal one."""
    e, ratio = 0.5, 1.21
    upright = Bar(0.3, e, 0.0).impacts(0.0, 0.5 * math.pi, Stronge(e, model="lumped", stiffness_ratio=ratio))
    rebound = float(np.ravel(upright.normal_velocity_after)[0])
    title = "Stronge's lumped model of the contact"
    with style.look():
        figure, (left, right) = sheet(1, 2, 2.7, width=6.4)
        _lumped(left)
        u = np.linspace(0.0, 1.0, 2)
        right.plot(u, u, color=style.SERIES[0], linewidth=1.8)
        back = 1.0 - e * e  # where the force ends: the stiffer branch gives e^2 of the work back
        right.plot([1.0, back], [1.0, 0.0], color=style.SERIES[1], linewidth=1.8)
        right.fill_between([0.0, 1.0], [0.0, 1.0], color=style.SERIES[0], alpha=0.12, linewidth=0.0)
        right.fill_between([back, 1.0], [0.0, 1.0], color=style.SERIES[1], alpha=0.25, linewidth=0.0)
        right.annotate(
            "compression:\nslope $k$", (0.45, 0.45), (-8, 8), textcoords="offset points", ha="right", fontsize=8.5
        )
        right.annotate(
            "restitution:\nslope $k/e_*^2$",
            (1.0, 0.5),
            (6, 0),
            textcoords="offset points",
            fontsize=8.5,
            va="center",
        )
        right.set(xlim=(0.0, 1.4), ylim=(0.0, 1.12), xticks=[0.0, back, 1.0], yticks=[0.0, 1.0])
        style.panel(right, "normal spring", r"$u_3/u_{3,\max}$", r"$F_3/F_{3,\max}$")
        work = (0.5 * (1.0 - back)) / 0.5
        check = (
            f"work given back over work taken: {work:.4f} = $e_*^2$; an upright bar rebounds with {rebound:.4f} of its "
            f"velocity by this law, $e_*$ = {e:g}"
        )
        note = (
            r"massless springs $k$ along the normal and $k/\eta^2$ along the tangent, the latter in series with a "
            f"Coulomb element of friction $\\mu$; {check}"
        )
        return _finish(figure, "[PG05] Figure 12", title, note, {"restitution": e, "stiffness_ratio": ratio}, check)


def _lumped(ax: Axes) -> None:
    """Body, massless contact point with two springs, friction element, half-space."""
    mechanism.prepare(ax, (-1.5, 1.7, -0.75, 1.95))
    ax.add_patch(Rectangle((-1.4, -0.7), 3.0, 0.4, **_GROUND))
    ax.plot([-1.4, 1.6], [-0.3, -0.3], color="#6E5B45", linewidth=1.0)
    ax.add_patch(Rectangle((-0.7, 1.0), 1.9, 0.6, facecolor="#4A6885", edgecolor="#1D2D44", linewidth=0.8, zorder=3))
    ax.text(0.25, 1.3, "body: $m^{-1}$, (23)", color=style.PAPER, ha="center", va="center", fontsize=8.5, zorder=9)
    point = (0.0, 0.0)
    link(ax, (1.2, 1.0), (1.2, 0.0))
    for spring in (Spring((0.0, 1.0), point, 0.28), Spring(point, (1.2, 0.0), 0.24)):
        ax.plot(*spring.wire().T, color="#5C6570", linewidth=1.3, zorder=4)
    ax.add_patch(
        Rectangle((-0.16, -0.3), 0.32, 0.16, facecolor="#F0B48A", edgecolor="#1D2D44", linewidth=0.8, zorder=5)
    )
    link(ax, point, (0.0, -0.14))
    name(ax, point, "$C$", (-9, 2))
    ax.annotate("$k$", (0.0, 0.5), (-16, 0), textcoords="offset points", va="center")
    ax.annotate(r"$k/\eta^2$", (0.6, 0.0), (0, 9), textcoords="offset points", ha="center")
    ax.annotate(r"$\mu$", (-0.16, -0.22), (-9, 0), textcoords="offset points", va="center", ha="center")
    arrow(ax, (-0.95, 0.75), (-0.95, 0.25), "$u_3$", (4, 2), MOTION)
    arrow(ax, (-0.95, 0.75), (-0.45, 0.75), "$u_1$", (-6, 5), MOTION)
    arrow(ax, (-1.25, -0.3), (-1.25, 0.35), "$F_3$", (4, -4), FORCE)
    arrow(ax, (-1.25, -0.3), (-0.6, -0.3), "$F_1$", (-6, 5), FORCE)
    ax.set_title("lumped contact")


def _finish(figure: Figure, source: str, title: str, note: str, parameters: dict[str, Any], check: str) -> PaperFigure:
    dress(figure, f"{source}. {title}", note)
    return PaperFigure(title, source, dict(parameters), 0.0, None, figure, check=check)
