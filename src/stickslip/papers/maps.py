"""Figures of set-valued maps: Upr, Sgn and its decomposition, the contact laws, a regularised law, the friction cone.

[GS05] Figures 1 and 2, [PG05] Figures 1 and 2, [FLG10] Figures 1 to 3, [S00] Figures 2.1 and 2.2.  Graphs are drawn
from the objects of `stickslip.sets` and `stickslip.laws`; dots are steps of runs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon

from stickslip import library
from stickslip.analysis.progress import not_interrupted
from stickslip.contact.contacts import contacts_from
from stickslip.contact.problem import FrictionProblem
from stickslip.contact.pyramid import directions, pyramid_lcp
from stickslip.contact.solve import solve_friction
from stickslip.figures import style
from stickslip.figures.sheet import dress, sheet
from stickslip.figures.sketch import FORCE, MOTION, arrow, axes_cross, dimension
from stickslip.lcp.solve import solve_lcp
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.papers import PaperFigure
from stickslip.papers.s00_friction import pulled_to_and_fro
from stickslip.run.simulate import simulate
from stickslip.sets import Ellipse, Sgn, Upr, decompose_sgn
from stickslip.trajectory import Certificate, Trajectory

_MAP: dict[str, Any] = {"color": style.SERIES[0], "linewidth": 2.2, "solid_capstyle": "round", "zorder": 5}
_BOX = (-1.7, 1.9, -1.75, 1.75)


def graph(ax: Axes, law: Upr | Sgn, box: tuple[float, float, float, float]) -> None:
    """Draw the graph of a set-valued map: values where they are single, segments where they are intervals."""
    sides = (np.linspace(box[0], 0.0, 60)[:-1], np.linspace(0.0, box[1], 60)[1:])
    for x in sides:
        low, high = law.evaluate(x)
        if np.all(low <= high):  # else the set is empty there
            ax.plot(x, low, label="map", **_MAP)
    least, most = (float(value) for value in law.evaluate(0.0))
    ax.plot([0.0, 0.0], [max(least, box[2]), min(most, box[3])], label="set at 0", **_MAP)


def gs05_fig1() -> PaperFigure:
    """The maps Upr and Sgn."""
    return _maps("[GS05] Figure 1")


def pg05_fig1() -> PaperFigure:
    """The maps Upr and Sgn."""
    return _maps("[PG05] Figure 1")


def gs05_fig2() -> PaperFigure:
    """Decomposition of Sgn into two Upr."""
    return _decomposition("[GS05] Figure 2")


def pg05_fig2() -> PaperFigure:
    """Decomposition of Sgn into two Upr."""
    return _decomposition("[PG05] Figure 2")


def flg10_fig1() -> PaperFigure:
    """Upr, Sgn, and the decomposition of Sgn."""
    title = "The maps Upr and Sgn, and the decomposition of Sgn into Upr"
    with style.look():
        figure, axes = sheet(1, 3, 2.3)
        _upr(axes[0], "(a)  ")
        _sgn(axes[1], "(b)  ")
        _split(axes[2], "(c)  ")
        return _finish(figure, "[FLG10] Figure 1", title, *_split_check())


def _maps(source: str) -> PaperFigure:
    with style.look():
        figure, (left, right) = sheet(1, 2, 2.5, width=5.6)
        _upr(left)
        _sgn(right)
        x = np.linspace(-2.0, 2.0, 9)
        inside = Upr().contains([0.0, 0.0, 1.0], [-3.0, 0.0, 0.0]).all() and Sgn().contains(x, np.sign(x)).all()
        outside = (
            Upr().contains([-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]).any() or Sgn().contains([0.0, 1.0], [1.1, 0.0]).any()
        )
        if not inside or outside:
            raise RuntimeError("the maps Upr and Sgn are not what their graphs show")
        check = "14 points on and beside the graphs, told apart by the maps themselves"
        return _finish(figure, source, "The maps Upr and Sgn", check, check)


def _decomposition(source: str) -> PaperFigure:
    with style.look():
        figure, axes = sheet(1, 3, 2.3)
        _sgn(axes[0])
        _half(axes[1], right=True)
        _half(axes[2], right=False)
        return _finish(figure, source, "Decomposition of Sgn into two Upr", *_split_check())


def _upr(ax: Axes, letter: str = "") -> None:
    axes_cross(ax, "$x$", "$-y$", _BOX)
    graph(ax, Upr(), _BOX)
    style.panel(ax, rf"{letter}$-y \in \mathrm{{Upr}}(x)$")


def _sgn(ax: Axes, letter: str = "") -> None:
    axes_cross(ax, "$x$", "$-y$", _BOX)
    graph(ax, Sgn(), _BOX)
    _units(ax)
    style.panel(ax, rf"{letter}$-y \in \mathrm{{Sgn}}(x)$")


def _units(ax: Axes) -> None:
    for value, side in ((1, -1), (-1, 1)):
        ax.annotate(f"${value}$", (0.0, value), (9 * side, 0), textcoords="offset points", ha="center", va="center",
                    fontsize=8.5)  # fmt: skip


def _half(ax: Axes, *, right: bool) -> None:
    """One of the two primitives, moved by one and, the left one, turned: (x_R, 1 - y_R) or (-x_L, y_L - 1)."""
    axes_cross(ax, "$x$", "$-y$", _BOX)
    sign = 1.0 if right else -1.0
    colour = style.SERIES[1] if right else style.SERIES[2]
    look = {**_MAP, "color": colour}
    ax.plot([0.0, sign * 1.6], [sign, sign], label="map", **look)
    ax.plot([0.0, 0.0], [sign, -sign * 1.6], label="set at 0", **look)
    _units(ax)
    formula = r"$1 - y_R,\; -y_R \in \mathrm{Upr}(x_R)$" if right else r"$y_L - 1,\; -y_L \in \mathrm{Upr}(x_L)$"
    style.panel(ax, formula)


def _split(ax: Axes, letter: str) -> None:
    """Both primitives in one panel; Sgn is where both agree, x = x_R - x_L."""
    axes_cross(ax, "$x$", "$-y$", _BOX)
    for sign, colour, text, width in ((1.0, style.SERIES[1], "$x_R$", 3.6), (-1.0, style.SERIES[2], "$x_L$", 1.6)):
        look = {**_MAP, "color": colour, "linewidth": width}
        ax.plot([0.0, sign * 1.6], [sign, sign], **look)
        ax.plot([0.0, 0.0], [sign, -sign * 1.6], **look)
        ax.annotate(text, (sign * 1.2, sign), (0, 7), textcoords="offset points", ha="center", color=colour)
    _units(ax)
    style.panel(ax, rf"{letter}$x = x_R - x_L$")


def _split_check() -> tuple[str, str]:
    x = np.concatenate([np.linspace(-2.0, 2.0, 41), np.zeros(21)])
    minus_y = np.concatenate([np.sign(x[:41]), np.linspace(-1.0, 1.0, 21)])
    split = decompose_sgn(x, -minus_y)
    if not split.holds().all():
        raise RuntimeError("the decomposition of Sgn does not hold")
    check = f"{len(x)} points of the graph decomposed, {_exactness(float(np.max(split.residual())))}"
    return rf"$y_R = 1 + y$, $y_L = 1 - y$, $x = x_R - x_L$; {check}", check


def _exactness(error: float) -> str:
    """Words for an error: "exactly" where it is nothing."""
    return f"within {error:.0e}" if error > 0.0 else "exactly"


# -- contact laws --------------------------------------------------------------------------------------------


def flg10_fig2() -> PaperFigure:
    """Two convex bodies: their gap, and the forces when they touch."""
    title = "Gap of two convex bodies, and the contact forces"
    upper, lower = (
        (Ellipse(0.55, 0.4), np.array([0.25, 0.62]), 0.35),
        (Ellipse(0.7, 0.45), np.array([-0.1, -0.5]), -0.2),
    )
    with style.look():
        figure, (left, right) = sheet(1, 2, 2.7)
        for ax, apart in ((left, True), (right, False)):
            a, b = _nearest(upper, lower)
            shift = np.zeros(2) if apart else b - a
            _body(ax, (upper[0], upper[1] + shift, upper[2]))
            _body(ax, lower)
            a = a + shift
            ax.set_axis_off()
            ax.set_aspect("equal")
            ax.set(xlim=(-1.05, 1.25), ylim=(-1.05, 1.2) if apart else (-1.05, 0.95))
            if apart:
                gap = float(np.linalg.norm(a - b))
                n = (a - b) / gap
                dimension(ax, tuple(b), tuple(a), "$g_N$", offset=-0.16, shift=-9.0)
                for point in (a, b):
                    ax.plot(*point, "o", color=style.INK, markersize=3, zorder=8)
                t = np.array([n[1], -n[0]])
                for point in (a, b):
                    ax.plot(*np.array([point - 0.5 * t, point + 0.5 * t]).T, color=style.GREY, linewidth=0.7,
                            linestyle=(0, (4, 3)), zorder=2)  # fmt: skip
                arrow(ax, tuple(b), tuple(b + 0.3 * n), "", colour=MOTION)
                ax.annotate("$n$", tuple(b + 0.15 * n), (-10, -1), textcoords="offset points", color=MOTION)
                arrow(ax, tuple(b), tuple(b - 0.3 * t), "$t$", (-9, 3), MOTION)
            else:
                arrow(ax, tuple(b), tuple(b + 0.55 * n), r"$\lambda_N$", (4, 0))
                arrow(ax, tuple(b), tuple(b - 0.42 * t), r"$\lambda_T$", (-14, 4))
                arrow(ax, tuple(b), tuple(b - 0.55 * n), r"$-\lambda_N$", (5, -2))
                arrow(ax, tuple(b), tuple(b + 0.42 * t), r"$-\lambda_T$", (2, 4))
        left.set_title("(a) open: the gap")
        right.set_title("(b) closed: the forces")
        defect = _defect(upper, lower)
        check = f"nearest points by projection on each body in turn, {_exactness(defect)}"
        return _finish(figure, "[FLG10] Figure 2", title, f"{check}; gap {gap:.4f} m", check)


_Body = tuple[Ellipse, np.ndarray, float]


def _turn(alpha: float) -> np.ndarray:
    return np.array([[math.cos(alpha), -math.sin(alpha)], [math.sin(alpha), math.cos(alpha)]])


def _project(body: _Body, point: np.ndarray) -> np.ndarray:
    ellipse, centre, alpha = body
    return np.asarray(centre + _turn(alpha) @ ellipse.project(_turn(alpha).T @ (point - centre)))


def _nearest(first: _Body, second: _Body) -> tuple[np.ndarray, np.ndarray]:
    """Nearest points of two ellipses that do not overlap: projections in turn lead there."""
    a = first[1]
    for _ in range(400):
        b = _project(second, a)
        a = _project(first, b)
    return a, b


def _defect(first: _Body, second: _Body) -> float:
    a, b = _nearest(first, second)
    return float(np.linalg.norm(_project(second, a) - b) + np.linalg.norm(_project(first, b) - a))


def _body(ax: Axes, body: _Body) -> None:
    ellipse, centre, alpha = body
    angles = np.linspace(0.0, 2 * np.pi, 121)
    axes = np.array([ellipse.a, ellipse.b], dtype=float)
    outline = centre + (_turn(alpha) @ (axes[:, None] * np.stack([np.cos(angles), np.sin(angles)]))).T
    ax.add_patch(Polygon(outline, closed=True, facecolor="#DDE6EF", edgecolor="#1D2D44", linewidth=1.0, zorder=1))


def flg10_fig3() -> PaperFigure:
    """Signorini's condition and Coulomb's law as set-valued laws, with steps of runs on them."""
    from stickslip.laws import Coulomb

    lazy = library.bouncing_ball(restitution=0.0, height=0.4)
    ball = not_interrupted(lazy.simulate(engine="reference", progress=False, t_end=0.6))
    block = pulled_to_and_fro(Coulomb(0.5))
    title = "Signorini's normal contact law, Coulomb's friction law"
    with style.look():
        figure, (left, right) = sheet(1, 2, 2.6, width=6.4)
        weight = float(ball.parameters["mass"] * ball.parameters["g"])
        axes_cross(left, "$g_N$", r"$\lambda_N$", (-0.25, 1.15, -0.3, 1.9))
        left.plot([0.0, 0.0, 1.0], [1.8, 0.0, 0.0], label="law", **_MAP)
        pushes = ball.normal_impulse[1:, 0] / ball.dt / weight
        lasting = pushes < 1.5  # the blow of the landing is an impulse, no force
        left.plot(ball.gap[1:, 0][lasting] / 0.4, pushes[lasting], ".", color=style.SERIES[1], markersize=4, zorder=6)
        left.set_title("(a) Signorini's condition")
        axes_cross(right, r"$\gamma_T$", r"$-\lambda_T$", (-1.1, 1.25, -1.5, 1.5))
        graph(right, Sgn(), (-1.0, 1.0, -1.0, 1.0))
        speed, force = block["v_x"][1::3], (-block.tangential_impulse[1::3, 0] / block.normal_impulse[1::3, 0]) / 0.5
        right.plot(speed / np.abs(speed).max(), force, ".", color=style.SERIES[1], markersize=4, zorder=6)
        for sign in (1, -1):
            text = r"$\mu\lambda_N$" if sign > 0 else r"$-\mu\lambda_N$"
            right.annotate(
                text, (0.0, sign), (-13 * sign, 3 * sign), textcoords="offset points", ha="center", va="center"
            )
        right.set_title("(b) Coulomb's law")
        certificate = Certificate.worst([ball.certificate, block.certificate])
        note = (
            "(a) a ball that is dropped and stays: gap over the height of the fall, force over the weight; (b) a block "
            f"pulled to and fro: slip velocity over the largest one; certificate: {certificate}"
        )
        handles = [
            Line2D([], [], color=style.SERIES[0], linewidth=2.2, label="law"),
            Line2D([], [], color=style.SERIES[1], marker=".", linestyle="none", label="steps of a run"),
        ]
        dress(figure, f"[FLG10] Figure 3. {title}", note, handles)
        parameters = {"friction": 0.5, "mass": float(ball.parameters["mass"]), "g": float(ball.parameters["g"])}
        return PaperFigure(title, "[FLG10] Figure 3", parameters, ball.dt, certificate, figure)


def _finish(figure: Figure, source: str, title: str, note: str, check: str) -> PaperFigure:
    dress(figure, f"{source}. {title}", note)
    return PaperFigure(title, source, {}, 0.0, None, figure, check=check)


# -- [S00] 2.1 and 2.2 -----------------------------------------------------------------------------------------

_RAMP, _MU, _WIDTHS = 0.3, 0.5, (0.05, 0.02)  # angle [rad], friction, and widths of the regularised law [m/s]


def s00_fig2_1() -> PaperFigure:
    """Coulomb's law made continuous, and what it costs: the brick on a ramp creeps."""
    runs = {width: _creeping(width) for width in _WIDTHS}
    brick = library.brick_on_ramp(friction=_MU, angle=_RAMP, velocity=0.0)
    held = not_interrupted(brick.simulate(engine="reference", t_end=_CREEP_TIME, dt=_CREEP_DT, progress=False))
    title = "Regularized Coulomb law to avoid discontinuity"
    with style.look():
        figure, (left, right) = sheet(1, 2, 2.5)
        box = (-0.2, 0.22, -1.3, 1.3)
        axes_cross(left, "$v$", r"$F/\mu N$", box)
        v = np.linspace(-0.19, 0.19, 400)
        for k, width in enumerate(_WIDTHS):
            left.plot(v, np.tanh(v / width), color=style.SERIES[1 + k], linewidth=1.6, zorder=4)
        graph(left, Sgn(), (-0.19, 0.19, -1.0, 1.0))
        left.set_title("(a) friction over velocity")
        right.plot(held.t, 1e3 * (held["x"] - held["x"][0]), color=style.SERIES[0], linewidth=2.2)
        for k, run in enumerate(runs.values()):
            right.plot(run.t, 1e3 * (run["x"] - run["x"][0]), color=style.SERIES[1 + k], linewidth=1.6)
        right.set_xlim(0.0, _CREEP_TIME)
        style.panel(right, "(b) brick on a ramp that should hold it", "t [s]", "way [mm]")
        handles = [Line2D([], [], color=style.SERIES[0], linewidth=2.2, label="Coulomb, set-valued at 0")] + [
            Line2D([], [], color=style.SERIES[1 + k], linewidth=1.6, label=rf"$\tanh(v/v_0)$, $v_0$ = {width:g} m/s")
            for k, width in enumerate(_WIDTHS)
        ]
        certificate = Certificate.worst([held.certificate, *(run.certificate for run in runs.values())])
        speeds = ", ".join(f"{1e3 * width * math.atanh(math.tan(_RAMP) / _MU):.1f}" for width in _WIDTHS)
        far = float(np.abs(held["x"] - held["x"][0]).max())
        note = (
            rf"μ = {_MU:g}, $\tan\theta$ = {math.tan(_RAMP):.3f} < μ; the regularised laws creep with $v_0\,"
            rf"\mathrm{{artanh}}(\tan\theta/\mu)$ = {speeds} mm/s for ever, the set-valued law moves {far:g} m; "
            f"Δt = {style.number(held.dt)} s; certificate: {certificate}"
        )
        dress(figure, f"[S00] Figure 2.1. {title}", note, handles)
        parameters = {"friction": _MU, "angle": _RAMP}
        return PaperFigure(title, "[S00] Figure 2.1", parameters, held.dt, certificate, figure)


_CREEP_TIME, _CREEP_DT = 2.0, 1e-3


def _creeping(width: float) -> Trajectory:
    """A brick of 1 kg on a ramp under the force mu N tanh(v / width) in place of Coulomb's."""
    x, v = sp.symbols("x v")
    g = 9.81
    pull = g * math.sin(_RAMP) - _MU * g * math.cos(_RAMP) * sp.tanh(v / width)
    system = LagrangianSystem.from_energies(
        [x], velocities=[v], kinetic=v**2 / 2, forces=[pull], name="brick under a regularised law"
    )
    run = simulate(system, [0.0], [0.0], dt=_CREEP_DT, t_end=_CREEP_TIME, engine="reference", progress=False)
    return not_interrupted(run)


def s00_fig2_2() -> PaperFigure:
    """The friction cone and the pyramid inscribed in it; friction under both for slip in all directions."""
    m, mu = 8, 0.6
    D = mu * directions(m, 3)
    title = "Polyhedral approximation to the friction cone"
    with style.look():
        figure, (left, right) = sheet(1, 2, 3.0)
        _pyramid(left, D)
        angle = np.linspace(0.0, 2 * np.pi, 240)
        right.plot(mu * np.cos(angle), mu * np.sin(angle), color=style.SERIES[0], linewidth=1.8)
        right.plot(*np.column_stack([D, D[:, :1]]), color=style.SERIES[1], linewidth=1.4)
        round_, edged, worst = _frictions(mu, m)
        right.plot(*round_.T, ".", color=style.SERIES[0], markersize=5)
        right.plot(*edged.T, "s", color=style.SERIES[1], markersize=3.4)
        right.set_aspect("equal")
        ticks = [-0.6, -0.3, 0.0, 0.3, 0.6]
        right.set(xlim=(-0.7, 0.7), ylim=(-0.7, 0.7), xticks=ticks, yticks=ticks)
        style.panel(right, "(b) section at normal force 1", "$F_x/N$", "$F_y/N$")
        handles = [
            Line2D([], [], color=style.SERIES[0], linewidth=1.8, marker=".", label="cone; friction under it"),
            Line2D([], [], color=style.SERIES[1], linewidth=1.4, marker="s", markersize=3.4,
                   label=f"pyramid of {m} edges; friction under it"),
        ]  # fmt: skip
        size = np.linalg.norm(round_, axis=1)
        note = (
            f"μ = {mu:g}; friction of a body that slides in {len(round_)} directions, as the solver finds it: on the "
            f"cone its size is μ within {float(np.abs(size - mu).max()):.0e}, on the pyramid it lies on "
            rf"its edges, and its direction is off the slip's by up to $\pi/m$ = {180 / m:g}°"
        )
        check = f"{2 * len(round_)} friction problems solved, residual ≤ {worst:.0e}"
        dress(figure, f"[S00] Figure 2.2. {title}", f"{note}; {check}", handles)
        return PaperFigure(title, "[S00] Figure 2.2", {"friction": mu, "edges": m}, 0.0, None, figure, check=check)


def _frictions(mu: float, m: int, count: int = 24) -> tuple[np.ndarray, np.ndarray, float]:
    """Friction over normal impulse of a body that slides in `count` directions, on the cone and on the pyramid.

    The third value is the worst residual of all these problems.
    """
    found: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    worst = 0.0
    for angle in 2.0 * np.pi * (np.arange(count) + 0.3) / count:
        problem = FrictionProblem(np.eye(3), [-1.0, 3.0 * math.cos(angle), 3.0 * math.sin(angle)], mu)
        solution = solve_friction(problem)
        found[0].append(solution.r[1:] / solution.r[0])
        A, b, B = pyramid_lcp(contacts_from(np.eye(3), problem.q, problem.mu, 3), m)
        answer = solve_lcp(A, b)
        r = B @ answer.x
        found[1].append(r[1:] / r[0])
        worst = max(worst, float(solution.error), float(answer.residual))
    return np.array(found[0]), np.array(found[1]), worst


def _pyramid(ax: Axes, D: np.ndarray) -> None:
    """Cone and pyramid aslant from above, in the projection (x, y, z) -> (x, z + 0.35 y)."""

    def seen(x: np.ndarray, y: np.ndarray, z: np.ndarray | float) -> np.ndarray:
        return np.stack([x, z + 0.35 * y], axis=-1)

    mu = float(np.linalg.norm(D[:, 0]))
    angle = np.linspace(0.0, 2 * np.pi, 240)
    rim = seen(mu * np.cos(angle), mu * np.sin(angle), 1.0)
    ax.plot(*rim.T, color=style.SERIES[0], linewidth=1.8, zorder=5)
    for side in (int(np.argmin(rim[:, 0])), int(np.argmax(rim[:, 0]))):
        ax.plot([0.0, rim[side, 0]], [0.0, rim[side, 1]], color=style.SERIES[0], linewidth=1.8, zorder=2)
    corners = seen(D[0], D[1], 1.0)
    for k, (corner, after) in enumerate(zip(corners, np.roll(corners, -1, axis=0), strict=True)):
        behind = D[1, k] > 1e-9 or D[1, (k + 1) % D.shape[1]] > 1e-9
        ax.add_patch(Polygon([(0.0, 0.0), tuple(corner), tuple(after)], closed=True, facecolor="#FBE3D2",
                             alpha=0.35 if behind else 0.75, edgecolor="none", zorder=1 if behind else 3))  # fmt: skip
        hidden = (0, (3, 2)) if D[1, k] > 1e-9 else "-"
        ax.plot([0.0, corner[0]], [0.0, corner[1]], color=style.SERIES[1], linewidth=1.0, linestyle=hidden, zorder=4)
        ax.plot(*np.array([corner, after]).T, color=style.SERIES[1], linewidth=1.4, zorder=6)
    arrow(ax, (0.0, 0.0), (0.0, 1.35), "$n$", (5, -6), style.INK)
    first = corners[0]
    arrow(ax, (0.0, 1.0), tuple(first), "", colour=MOTION)
    ax.annotate(r"$\mu d_1$", tuple(0.5 * (np.array([0.0, 1.0]) + first)), (0, 5), textcoords="offset points",
                ha="center", color=MOTION, zorder=9)  # fmt: skip
    ax.annotate(r"$n + \mu d_1$", tuple(first), (5, -8), textcoords="offset points", color=FORCE)
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.set(xlim=(-0.8, 1.05), ylim=(-0.08, 1.45))
    ax.set_title("(a) cone and pyramid")
