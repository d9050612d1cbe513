"""Figures of Stewart's review [S00] about a brick and a rod: ramp, Painleve's problem and its impact version."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from scipy.interpolate import CubicSpline

from stickslip import library
from stickslip.analysis.painleve import painleve
from stickslip.analysis.progress import not_interrupted
from stickslip.events.event_driven import EventDriven
from stickslip.figures import mechanism, style
from stickslip.figures.sheet import sheet
from stickslip.figures.sketch import FORCE, MOTION, arrow
from stickslip.mechanisms.steppers.moreau_midpoint import MoreauMidpoint
from stickslip.mechanisms.steppers.stewart_trinkle import StewartTrinkle
from stickslip.papers import PaperFigure
from stickslip.papers.s00 import finish, proof, worst_certificate
from stickslip.scenario import Scenario
from stickslip.trajectory import Trajectory

ANGLE = 0.38  # of the ramp [rad]: tan = 0.3994
FRICTIONS = (0.2, 0.39, 0.5, 0.8)
FALL = {"friction": 2.0, "angle": 0.8, "height": 1.0, "spin": 4.0}  # Fig. 2.4: ours, the paper gives none
_SHADES = ("#EEF3F7", "#F0B48A")


def fig1_1() -> PaperFigure:
    """The brick on a frictional ramp: it stops and stays where tan(angle) <= mu, and does not creep."""
    runs = {mu: run_of(library.brick_on_ramp(friction=mu, angle=ANGLE), t_end=1.5) for mu in FRICTIONS}
    title = "Brick on a frictional ramp"
    with style.look():
        figure, (left, right) = sheet(1, 2, 2.6, ratios=[0.9, 1.0])
        shown = runs[0.5]
        still(left, library.brick_on_ramp(friction=0.5, angle=ANGLE), shown.q[0], (-0.42, 0.62, -0.34, 0.32))
        _forces_on_brick(left)
        style.panel(left, rf"$\theta$ = {math.degrees(ANGLE):.1f}°, $\tan\theta$ = {math.tan(ANGLE):.3f}")
        for (mu, run), colour in zip(runs.items(), style.SERIES, strict=False):
            right.plot(run.t, run["v_x"], color=colour, label=f"μ = {mu:g}")
        right.set_xlim(0.0, 1.5)
        right.set_ylim(bottom=-0.1)
        style.panel(right, "velocity down the ramp", "t [s]", "v [m/s]")
        right.legend(loc="upper left")
        certificate = worst_certificate(list(runs.values()))
        rest = float(np.abs(np.diff(shown["x"][shown.t > 1.2])).max())
        note = (
            f"[S00] eq. (1.1), $v(0)$ = 1 m/s, Moreau's midpoint rule, Δt = {shown.dt:g} s; μ = 0.5 stops at t = "
            f"{_stop(shown):.3f} s and moves {rest:g} m after; {proof(certificate)}"
        )
        return finish(figure, "Figure 1.1", title, note, shown.parameters, shown.dt, certificate)


def fig1_3() -> PaperFigure:
    """Painleve's problem: the rod, where no or several accelerations exist, and the motion that resolves it."""
    rod = library.painleve_rod(friction=2.0)
    runs = rod_runs(rod, t_end=0.3)
    title = "Painlevé's problem"
    with style.look():
        figure, (a, b, c, d) = sheet(2, 2, [2.6, 2.2])
        still(a, rod, rod.q0, (-0.66, 0.66, -0.2, 1.0))
        _forces_on_rod(a, rod)
        a.set_title("(a) rod sliding to the left")
        _paradox_map(b)
        for (method, run), look in zip(runs.items(), _LINES, strict=True):
            few = run.t <= 5.5e-4
            c.plot(1e3 * run.t[few], _tip_velocity(run)[few], label=method, marker="o", markersize=3.2, **look)
            d.plot(run.t, run["omega"], label=method, **look)
        c.set(xlim=(-0.02, 0.52), ylim=(-1.1, 0.15))
        style.panel(c, "(c) the first five steps from the state of (a)", "t [ms]", "slip velocity of the tip [m/s]")
        style.panel(d, "(d) the motion after it", "t [s]", r"spin $\dot\theta$ [rad/s]")
        hit = painleve(rod.system, rod.q0, rod.u0).resolution
        assert hit is not None
        certificate = worst_certificate(list(runs.values()))
        note = (
            rf"uniform rod, $m$ = 1 kg, $l$ = 1 m, $\tan\theta$ = 2, μ = 2, tip sliding with 1 m/s; no finite force "
            f"keeps it from sinking in, an impulse without collision stops it: $N$ = {hit.normal_impulse[0]:.4f} N s, "
            f"$F$ = {hit.tangential_impulse[0]:.4f} N s; time steppers Δt = {runs['Stewart-Trinkle'].dt:g} s; "
            f"(b) boundary by bisection on the verdict of ss.painleve, line: [S00] (1.5); {proof(certificate)}"
        )
        handles = [*c.get_lines()]
        return finish(figure, "Figure 1.3", title, note, runs["Stewart-Trinkle"].parameters, 1e-4, certificate, handles)


def fig2_4() -> PaperFigure:
    """The impact version of Painleve's problem: a spinning rod falls on the table; configurations over time."""
    rod = falling_rod()
    run = run_of(rod, stepper=StewartTrinkle(), dt=1e-4, t_end=0.7)
    hits = run.impacts()
    first, landed = (float(hits.of(name)["time"][0]) for name in ("tip", "far tip"))
    times = (0.0, 0.12, 0.24, first, 0.42, 0.5, landed)
    title = "Painlevé's problem: impact version"
    with style.look():
        figure, (left, right) = sheet(1, 2, 3.5, ratios=[1.35, 1.0])
        _configurations(left, run, times)
        right.plot(run.t, _tip_velocity(run), color=style.SERIES[0], label="along the table")
        right.plot(run.t, np.gradient(run["tip"], run.t), color=style.SERIES[2], label="normal to it")
        right.axvline(first, color=style.SERIES[1], linewidth=0.8)
        right.annotate("impact", (first, 2.1), (4, 0), textcoords="offset points", color=style.SERIES[1], fontsize=8)
        style.panel(right, "velocity of the tip", "t [s]", "velocity [m/s]")
        right.set_xlim(0.0, run.t[-1])
        right.legend(loc="lower right")
        certificate = run.certificate
        note = (
            f"uniform rod, $l$ = 1 m, μ = {FALL['friction']:g}, ε = 0, centre at rest {FALL['height']:g} m high, "
            f"spinning counterclockwise with {FALL['spin']:g} rad/s; the numbers are times [s]; the tip strikes at t = "
            f"{first:.4f} s while it slides with {hits['tangential_velocity_before'][0]:.2f} m/s, and sticks at once; "
            f"the paper gives no numbers, these are ours; Stewart-Trinkle, Δt = 1e-4 s; {proof(certificate)}"
        )
        return finish(figure, "Figure 2.4", title, note, run.parameters, run.dt, certificate)


def falling_rod() -> Scenario:
    """The rod of Fig. 2.4: spinning counterclockwise, its centre at rest."""
    gap = FALL["height"] - 0.5 * math.sin(FALL["angle"])
    rod = library.painleve_rod(friction=FALL["friction"], angle=FALL["angle"], gap=gap)
    return rod.starting({"v_x": 0.0, "v_y": 0.0, "omega": FALL["spin"]})


def run_of(scenario: Scenario, **options: Any) -> Trajectory:
    """Run a scenario with `options` of its `simulate`; RuntimeError unless the run reaches its end."""
    run = not_interrupted(scenario.simulate(**{"progress": False, **options}))
    if not run.complete:
        raise RuntimeError(f"the run of {run.system_name} {run.status}")
    return run


def rod_runs(rod: Scenario, t_end: float, dt: float = 1e-4) -> dict[str, Trajectory]:
    """Run Painleve's rod by three methods; method in words -> run."""
    return {
        "Moreau midpoint": run_of(rod, stepper=MoreauMidpoint(), dt=dt, t_end=t_end),
        "Stewart-Trinkle": run_of(rod, stepper=StewartTrinkle(), dt=dt, t_end=t_end),
        "event-driven": run_of(rod, stepper=EventDriven(), dt=dt, t_end=t_end),
    }


_LINES: tuple[dict[str, Any], ...] = (
    {"color": style.SERIES[4], "linewidth": 3.2},
    {"color": style.SERIES[0], "linewidth": 1.8},
    {"color": style.INK, "linewidth": 0.9, "linestyle": "--"},
)


def paradox(angle: float, friction: float) -> bool:
    """Whether the rod that slides to the left at this angle [rad] has no acceleration."""
    rod = library.painleve_rod(angle=angle)
    return painleve(rod.system, rod.q0, rod.u0, params={"friction": friction}).verdict == "none"


def paradox_boundary(points: int = 31, highest: float = 4.0) -> tuple[np.ndarray, np.ndarray]:
    """Angles [rad] and the least friction from which on the sliding rod has no acceleration, by bisection.

    The first and the last angle are those at which this friction is `highest`.
    """

    def bisected(without: float, within: float, test: Callable[[float], bool], times: int = 30) -> float:
        for _ in range(times):
            middle = 0.5 * (without + within)
            without, within = (without, middle) if test(middle) else (middle, within)
        return within

    steep = math.atan(2.0)
    ends = [bisected(outer, steep, lambda x: paradox(x, highest)) for outer in (0.05, 1.55)]
    angles = np.linspace(ends[0], ends[1], points)
    least = [bisected(0.0, highest, lambda mu, x=x: paradox(float(x), mu)) for x in angles]  # type: ignore[misc]
    return angles, np.array(least)


def _paradox_map(ax: Axes) -> None:
    angles, least = paradox_boundary()
    ax.set_facecolor(_SHADES[0])
    # straight lines between the points of a convex curve would cut it off: the fill follows a spline through them
    fine = np.linspace(angles[0], angles[-1], 400)
    ax.fill_between(np.degrees(fine), CubicSpline(angles, least)(fine), 4.0, facecolor=_SHADES[1], linewidth=0.0)
    theta = np.radians(np.linspace(5.0, 88.0, 400))
    # [S00] (1.5), uniform rod: the bracket is zero at mu = (1 + 3 cos^2) / (3 sin cos)
    ax.plot(np.degrees(theta), (1 + 3 * np.cos(theta) ** 2) / (3 * np.sin(theta) * np.cos(theta)), color=style.INK)
    ax.plot(np.degrees(angles), least, ".", color=style.INK, markersize=3.0)
    ax.plot([math.degrees(math.atan(2.0))], [4.0 / 3.0], "o", color=style.INK, markersize=4)
    ax.annotate(r"$\mu$ = 4/3, $\tan\theta$ = 2", (63.4, 4 / 3), (0, -11), textcoords="offset points", ha="center",
                fontsize=8)  # fmt: skip
    ax.plot([math.degrees(math.atan(2.0))], [2.0], "*", color=style.PAPER, markersize=10, markeredgecolor=style.INK)
    ax.annotate("state of (a)", (63.4, 2.0), (-8, -3), textcoords="offset points", fontsize=8, ha="right")
    ax.text(58.0, 3.1, "no acceleration:\nPainlevé's paradox", ha="center", va="center", fontsize=8.5)
    ax.text(26.0, 0.6, "one acceleration", ha="center", va="center", fontsize=8.5)
    ax.set(xlim=(0.0, 90.0), ylim=(0.0, 4.0), xticks=range(0, 91, 15))
    ax.grid(visible=False)
    style.panel(ax, r"(b) sliding rod, $\dot\theta$ = 0", "θ [°]", "μ")


def _tip_velocity(run: Trajectory) -> np.ndarray:
    half = 0.5 * run.parameters["length"]
    return np.asarray(run["v_x"] + half * np.sin(run["theta"]) * run["omega"])


def _stop(run: Trajectory) -> float:
    return float(run.t[np.argmax(np.abs(run["v_x"]) <= 1e-12)])


def still(ax: Axes, scenario: Scenario, q: np.ndarray, box: tuple[float, float, float, float]) -> None:
    """Draw the mechanism of a scenario in the state q into an axis that shows `box` [m], without contact marks."""
    assert scenario.drawing is not None
    p = dict(zip(scenario.system.parameter_names, scenario.system.parameter_values.tolist(), strict=True))
    mechanism.prepare(ax, box)
    mechanism.draw(ax, without_marks(scenario.drawing(list(q), 0.0, p)))


def without_marks(shapes: list[Any]) -> list[Any]:
    """Shapes of a drawing without the marks of contacts, in world coordinates."""
    from stickslip.drawing.primitives import Marker, flat

    return [shape for shape in flat(shapes) if not isinstance(shape, Marker)]


def _forces_on_brick(ax: Axes) -> None:
    along = np.array([math.cos(ANGLE), -math.sin(ANGLE)])
    up = np.array([math.sin(ANGLE), math.cos(ANGLE)])
    foot = np.array([0.0, 0.0])
    centre = 0.06 * up
    for begin, vector, text, shift, colour in (
        (foot, 0.24 * up, "$N$", (4, 0), FORCE),
        (foot, -0.26 * along, "$F$", (-2, 6), FORCE),
        (centre, np.array([0.0, -0.26]), "$mg$", (4, 0), FORCE),
        (centre + 0.12 * along, 0.22 * along, "$v$", (4, 2), MOTION),
    ):
        arrow(ax, tuple(begin), tuple(begin + vector), text, shift, colour)


def _forces_on_rod(ax: Axes, rod: Scenario) -> None:
    tip = np.array([rod.q0[0] - 0.5 * math.cos(rod.q0[2]), 0.0])
    for begin, vector, text, shift, colour in (
        (tip, np.array([0.0, 0.3]), "$N$", (-12, 0), FORCE),
        (tip, np.array([0.32, 0.0]), r"$F = \mu N$", (2, -12), FORCE),
        (rod.q0[:2], np.array([0.0, -0.28]), "$mg$", (5, 0), FORCE),
        (tip + np.array([-0.06, 0.04]), np.array([-0.25, 0.0]), "$v$", (-2, 5), MOTION),
    ):
        arrow(ax, tuple(begin), tuple(begin + vector), text, shift, colour)
    ax.annotate(r"$\theta$", (tip[0] + 0.09, 0.04), fontsize=9)
    ax.annotate("$(x, y)$", tuple(rod.q0[:2]), (8, -2), textcoords="offset points", fontsize=8)
    ax.annotate(r"$(x_c, y_c)$", tuple(tip), (-18, -13), textcoords="offset points", fontsize=8)


def _configurations(ax: Axes, run: Trajectory, times: tuple[float, ...]) -> None:
    """The rod at several times, each with its time beyond the upper end, and a scale."""
    half = 0.5 * run.parameters["length"]
    mechanism.prepare(ax, (-1.12, 0.62, -0.2, 1.52))
    ax.axhspan(-0.2, 0.0, color="#F1F1F1", zorder=0)
    ax.axhline(0.0, color=style.INK, linewidth=1.0)
    for k, time in enumerate(times):
        i = int(np.argmin(np.abs(run.t - time)))
        x, y, theta = run.q[i]
        ends = np.array([x, y]) + half * np.outer([-1.0, 1.0], [math.cos(theta), math.sin(theta)])
        shade = 0.25 + 0.75 * k / (len(times) - 1)
        struck = abs(run.t[i] - times[3]) < 1e-9
        colour = style.SERIES[1] if struck else style.SERIES[0]
        ax.plot(*ends.T, color=colour, alpha=shade, linewidth=2.4, solid_capstyle="round", zorder=2 + k)
        ax.plot([x], [y], "o", color=colour, alpha=shade, markersize=3.5, zorder=2 + k)
        upper = ends[int(np.argmax(ends[:, 1] - 1e-3 * ends[:, 0]))]  # of two equal ones the left
        beyond = upper + 0.1 * (upper - np.array([x, y])) / half + np.array([0.0, 0.05 * (k == len(times) - 1)])
        ax.annotate(f"{run.t[i]:.2f}", tuple(beyond), ha="center", va="center", fontsize=7.5, zorder=20,
                    color=style.SERIES[1] if struck else style.INK)  # fmt: skip
    ax.plot([0.05, 0.55], [-0.1, -0.1], color=style.INK, linewidth=2.0, solid_capstyle="butt")
    ax.annotate("0.5 m", (0.3, -0.1), (0, 3), textcoords="offset points", ha="center", fontsize=7.5)
    ax.set_title("configurations, times in s")
