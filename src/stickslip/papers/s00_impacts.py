"""Figures of Stewart's review [S00] about impacts: elastic bars, billiards, several contacts at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from stickslip import library
from stickslip.figures import mechanism, style
from stickslip.impacts.impact import impact
from stickslip.laws import Newton, Poisson
from stickslip.library.angled_bar import rigid_velocity
from stickslip.library.chatterjee_rod import MAGNIFIED
from stickslip.papers import PaperFigure
from stickslip.papers.s00 import worst_certificate
from stickslip.papers.s00_rod import arrow, heading, run_of, still
from stickslip.scenario import Scenario
from stickslip.trajectory import Trajectory

LENGTHS = (0.1, 0.2, 0.3, 0.4, 0.6)  # of the bars [m], as printed
ANGLES = np.radians(np.linspace(0.0, 90.0, 37))
RATIOS = np.logspace(-4.0, 4.0, 97)
SOFTNESS = np.logspace(-4.0, 4.0, 17)
PARTS = (4, 8, 12, 16, 24, 32)  # of the beam


# -- Fig. 1.2 ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rebound:
    """One bar dropped: restitution of the rigid motion, duration [s], number of contacts in succession, and the run."""

    restitution: float
    duration: float
    collisions: int
    run: Trajectory


def rebound(bar: Scenario, angle: float, **options: Any) -> Rebound:
    """Drop the bar of a scenario at another angle [rad]; restitution is -gamma_N^+ / gamma_N^- of the rigid motion."""
    speed = float(np.hypot(bar.u0[0], bar.u0[-1]))
    half = bar.system.n_dof // 2
    u0 = -speed * np.repeat([math.sin(angle), math.cos(angle)], half)
    run = run_of(bar, u0=u0, params={"angle": angle}, **options)
    _, after = rigid_velocity(bar.system, run.u[-1], run.parameters)  # type: ignore[arg-type]
    pushed = np.flatnonzero(run.normal_impulse[:, 0] > 0.0)
    collisions = 1 + int((np.diff(pushed) > 1).sum())
    return Rebound(after / speed, float(run.t[pushed[-1]] - run.t[pushed[0] - 1]), collisions, run)


def fig1_2() -> PaperFigure:
    """Apparent restitution against the angle: elastic bars dropped on a stop."""
    title = "Apparent restitution of bars dropped at an angle"
    certificates = []
    with style.look():
        figure = style.new_figure(7.4, 9.6)
        axes = figure.subplots(len(LENGTHS), 2, sharex=True)
        for row, length in enumerate(LENGTHS):
            bar = library.angled_bar(segments=12, length=length)
            found = [rebound(bar, float(angle)) for angle in ANGLES]
            certificates += [drop.run for drop in found]
            _restitution(axes[row, 0], length, found, row)
            _durations(axes[row, 1], found, row)
        for ax in axes[-1]:
            ax.set_xlabel("φ [°]")
        heading(figure, "Figure 1.2", title)
        certificate = worst_certificate(certificates)
        p = certificates[0].parameters
        style.caption(
            figure,
            "steel bars of 12.7 mm diameter, 12 segments, dropped without spin on a stop without friction; no damping, "
            "no plasticity, so that vertical bars keep more than the 0.8 to 0.9 of the experiment; "
            f"{certificate.failed_steps} failed steps, residual ≤ {certificate.max_residual:.1e}",
        )
    return PaperFigure(title, "[S00] Figure 1.2", p, certificates[0].dt, certificate, figure)


def _restitution(ax: Axes, length: float, found: list[Rebound], row: int) -> None:
    ax.plot(np.degrees(ANGLES), [drop.restitution for drop in found], "o-", markersize=2.5, color=style.SERIES[0])
    ax.set_ylim(0.0, 1.05)
    style.panel(ax, f"({'abcde'[row]}) length {1e3 * length:g} mm", "", "ε")


def _durations(ax: Axes, found: list[Rebound], row: int) -> None:
    ax.plot(np.degrees(ANGLES), [1e6 * drop.duration for drop in found], color=style.SERIES[0])
    style.panel(ax, "collision time and micro-collisions" if row == 0 else "", "", "time [µs]")
    ax.set_ylim(bottom=0.0)
    right = ax.twinx()
    right.plot(np.degrees(ANGLES), [drop.collisions for drop in found], ".", color=style.SERIES[1])
    right.set_ylabel("micro-collisions", color=style.SERIES[1])
    right.set_ylim(bottom=0.0)
    right.grid(False)


# -- Fig. 2.3 ------------------------------------------------------------------------------------------------


def fig2_3() -> PaperFigure:
    """Billiards: a ball thrown at the first of three, elevation and plan views."""
    scenario = library.billiards()
    run = scenario.simulate(progress=False)
    bodies = [body for body in scenario.scene.bodies if body.kind == "moving"]
    title = "Billiards with partly elastic impacts"
    shown = np.searchsorted(run.t, np.arange(0.0, run.t[-1] + 1e-9, 0.05)).clip(max=len(run.t) - 1)
    with style.look():
        figure = style.new_figure(7.6, 4.6)
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[0.55, 1.0])
        for body, colour in zip(bodies, style.SERIES, strict=False):
            path, turn = body.path(run), _turned(run, body.name)
            for ax, axis in ((above, 2), (below, 1)):
                ax.plot(path[:, 0], path[:, axis], color=colour, linewidth=1.0, label=body.name)
                for i in shown:
                    _ball(ax, path[i, [0, axis]], 0.03, colour, turn[i] if axis == 2 else None)
        above.axhline(0.0, color=style.INK, linewidth=1.0)
        for ax, (label, low, high) in ((above, ("z [m]", -0.01, 0.14)), (below, ("y [m]", -0.2, 0.12))):
            ax.set_aspect("equal")
            ax.set_ylim(low, high)
            ax.set_ylabel(label)
        above.set_title("elevation")
        below.set_title("plan")
        above.set_xlim(-0.48, 0.95)
        below.set_xlabel("x [m]")
        below.legend(loc="lower right", ncols=4)
        heading(figure, "Figure 2.3", title)
        c, hops = run.certificate, [1e3 * (run[f"ball{k}.z"].max() - 0.03) for k in (1, 2, 3)]
        spins = ", ".join(f"{spin:+.0f}" for spin in bounce_spins(run))
        style.caption(
            figure,
            "balls every 0.05 s, ε = 0.9 along the normals and the tangents, μ = 0.6; spin of the thrown ball about y "
            f"after each bounce: {spins} rad/s; hops of the balls in the row: "
            f"{hops[0]:.2f}, {hops[1]:.2f}, {hops[2]:.2f} mm; Δt = {run.dt:g} s; {c.failed_steps} failed steps, "
            f"residual ≤ {c.max_residual:.1e}",
        )
    return PaperFigure(title, "[S00] Figure 2.3", run.parameters, run.dt, c, figure)


def bounce_spins(run: Trajectory) -> list[float]:
    """Spin of the thrown ball about the y axis after its impacts with a ball and with the table [rad/s]."""
    times = run.impacts().of("thrown")["time"]
    apart = times[np.concatenate([[True], np.diff(times) > 0.01])]  # impacts within 10 ms are one event
    after = np.minimum(np.searchsorted(run.t, apart + 5e-3), len(run.t) - 1)
    return [float(spin) for spin in run["thrown.wy"][after]]


def _turned(run: Trajectory, name: str) -> np.ndarray:
    """Angle about the y axis, integrated, (n,) [rad]."""
    return np.concatenate([[0.0], np.cumsum(run[f"{name}.wy"][1:] * np.diff(run.t))])


def _ball(ax: Axes, centre: np.ndarray, radius: float, colour: str, turn: float | None) -> None:
    ax.add_patch(Circle(tuple(centre), radius, facecolor="none", edgecolor=colour, linewidth=0.7, alpha=0.8))
    if turn is not None:
        end = centre + radius * np.array([math.sin(turn), math.cos(turn)])
        ax.plot([centre[0], end[0]], [centre[1], end[1]], color=colour, linewidth=0.7)


# -- Fig. 4.3 ------------------------------------------------------------------------------------------------


def fig4_3() -> PaperFigure:
    """Two balls on a table collide without restitution; ball 1 jumps."""
    balls = library.two_balls(friction=0.4)
    run = run_of(balls)
    hits = run.impacts().of("balls")
    title = "Two balls colliding inelastically"
    with style.look():
        figure = style.new_figure(7.4, 3.4)
        left, right = figure.subplots(1, 2, width_ratios=[1.0, 1.0])
        i = int(np.searchsorted(run.t, hits["time"][0] - run.dt))
        still(left, balls, run.q[i], (run.q[i, 0] - 0.07, run.q[i, 3] + 0.07, -0.035, 0.095))
        _contacts_of_balls(left, run.q[i])
        for k, colour in ((1, style.SERIES[0]), (2, style.SERIES[1])):
            right.plot(run.t, 1e3 * run[f"y_{k}"], color=colour, label=f"ball {k}")
        style.panel(right, "height over the table", "t [s]", "y [mm]")
        right.legend(loc="upper right")
        heading(figure, "Figure 4.3", title)
        c = run.certificate
        style.caption(
            figure,
            f"ball 1 rolls with 1 m/s, ball 2 at rest; μ = 0.4, ε = 0 at all contacts; impulse between the balls "
            f"{hits['normal_impulse'][0]:.4f} N s, and {abs(hits['tangential_impulse'][0]):.4f} N s of friction lift "
            f"ball 1 with {run['v_y1'].max():.3f} m/s; Δt = {run.dt:g} s; {c.failed_steps} failed steps, "
            f"residual ≤ {c.max_residual:.1e}",
        )
    return PaperFigure(title, "[S00] Figure 4.3", run.parameters, run.dt, c, figure)


def _contacts_of_balls(ax: Axes, q: np.ndarray) -> None:
    r, middle = 0.03, 0.5 * (q[0] + q[3])
    for text, place in (("1", (q[0], -0.008)), ("2", (q[3], -0.008)), ("3", (middle, 0.064))):
        ax.annotate(text, place, ha="center", va="center", fontsize=9, fontweight="bold")
    ax.annotate("ball 1", (q[0], r - 0.011), ha="center", color=style.PAPER, fontsize=8, zorder=9)
    ax.annotate("ball 2", (q[3], r - 0.011), ha="center", color=style.PAPER, fontsize=8, zorder=9)
    arrow(ax, (q[0] - 0.03, 0.075), (q[0] + 0.01, 0.075), "v", (3, -3))
    arrow(ax, (middle - 0.003, r), (middle - 0.003, r + 0.028), "", (0, 0))
    arrow(ax, (middle + 0.003, r), (middle + 0.003, r - 0.028), "", (0, 0))


# -- Fig. 4.4 ------------------------------------------------------------------------------------------------


def masses_after(ratio: float, stiffness: float = 1e6, **options: Any) -> Trajectory:
    """Three masses with springs k_1 = ratio k_2 until all have parted; the stiffer spring has `stiffness` [N/m]."""
    k_1, k_2 = (stiffness, stiffness / ratio) if ratio > 1.0 else (stiffness * ratio, stiffness)
    return run_of(library.three_masses(stiffness_1=k_1, stiffness_2=k_2), **options)


def masses_rigid() -> dict[str, np.ndarray]:
    """Velocities after the impact of rigid masses, restitution 1, under the laws of Newton and Poisson."""
    rigid = library.three_masses(model="rigid", clearance=0.0, restitution=1.0)
    return {law.name.capitalize(): impact(rigid.system, rigid.q0, rigid.u0, law).u for law in (Newton(), Poisson())}


def fig4_4() -> PaperFigure:
    """Three masses: velocities after the collision against the ratio of the stiffnesses."""
    runs = [masses_after(float(ratio)) for ratio in RATIOS]
    laws = masses_rigid()
    title = "Three masses problem"
    with style.look():
        figure = style.new_figure(7.4, 4.6)
        above, below = figure.subplots(2, 1, height_ratios=[0.28, 1.0])
        scenario = library.three_masses(clearance=0.03)
        still(above, scenario, scenario.q0, (-0.09, 0.26, -0.012, 0.062))
        for text, x in (("$m_1$", -0.01), ("$m_2$", 0.1), ("$m_3$", 0.18)):
            above.annotate(text, (x, 0.02), ha="center", va="center", color=style.PAPER, fontsize=9, zorder=9)
        for text, x in (("$k_1$", 0.03), ("$k_2$", 0.14)):
            above.annotate(text, (x, 0.036), ha="center", fontsize=9)
        arrow(above, (-0.05, 0.05), (-0.015, 0.05), "v", (3, -3))
        end = np.array([run.u[-1] for run in runs])
        for k in range(3):
            below.semilogx(RATIOS, end[:, k], color=style.SERIES[k], label=f"$v_{k + 1}$")
        for (name, u), (mark, size) in zip(laws.items(), (("<", 7), (">", 7)), strict=True):
            for k in range(3):
                label = f"rigid, {name}" if k == 0 else None
                below.plot(
                    [RATIOS[0] * 1.15 if name == "Newton" else RATIOS[0] * 1.8], [u[k]], mark, color=style.SERIES[k],
                    markersize=size, markeredgecolor=style.INK, label=label,
                )  # fmt: skip
        below.axhline(0.0, color=style.GREY, linewidth=0.7)
        style.panel(below, "velocities after the collision, per velocity before", "$k_1/k_2$", "$v_i/v$")
        below.legend(loc="center left", ncols=2)
        heading(figure, "Figure 4.4", title)
        certificate = worst_certificate(runs)
        style.caption(
            figure,
            "equal masses, springs that only push; left end: m₂ and m₃ leave together, as under rigid laws; right end: "
            "one impact after the other, m₃ leaves alone; the stiffnesses themselves do not matter; Moreau's midpoint "
            f"rule; energy kept to {_energy_error(runs):.1e}",
        )
    return PaperFigure(title, "[S00] Figure 4.4", runs[0].parameters, runs[0].dt, certificate, figure)


def _energy_error(runs: list[Trajectory]) -> float:
    return max(float(abs(run.energy.total[-1] / run.energy.total[0] - 1.0)) for run in runs)


# -- Fig. 4.5 ------------------------------------------------------------------------------------------------


def impulse_at_D(run: Trajectory) -> np.ndarray:
    """Impulse at D up to each record, divided by the whole impulse of the hammer, shape (n,)."""
    hammer = float(run.normal_impulse[:, run.contact_names.index("hammer")].sum())
    if "D" in run.contact_names:
        return np.asarray(np.cumsum(run.normal_impulse[:, run.contact_names.index("D")]) / hammer)
    last = [name for name in run.coordinate_names if name.startswith("w_")][-1]
    force = run.parameters["table_stiffness"] * np.maximum(0.0, -run[last])
    return np.concatenate([[0.0], np.cumsum(0.5 * (force[1:] + force[:-1]) * np.diff(run.t))]) / hammer


def beam(segments: int) -> Trajectory:
    """Run the elastic beam until D has left the table for good.

    The run has few steps, so it takes an engine that compiles nothing.
    """
    rod = library.chatterjee_rod(model="beam", segments=segments)
    return run_of(rod, engine="reference", dt=2.0 * rod.dt, t_end=0.3 * rod.t_end)


def fig4_5() -> PaperFigure:
    """Chatterjee's rod: rigid, with a torsion spring, as an elastic beam; the impulse at D."""
    rods = {model: library.chatterjee_rod(model=model) for model in ("rigid", "torsion")}
    rods["beam"] = library.chatterjee_rod(model="beam", segments=12)
    single = {model: run_of(rods[model], engine="reference") for model in ("rigid", "torsion")}
    stiff = run_of(library.chatterjee_rod(stiffness=1e7), engine="reference")
    beams = {n: beam(n) for n in PARTS}
    soft = [run_of(library.chatterjee_rod(stiffness=1e3, table_stiffness=1e3 * float(x))) for x in SOFTNESS]
    title = "Rod and table example of Chatterjee"
    with style.look():
        figure = style.new_figure(7.8, 5.2)
        grid = figure.add_gridspec(2, 3, height_ratios=[0.55, 1.0])
        pictures = {"rigid": single["rigid"], "torsion": single["torsion"], "beam": beams[12]}
        for column, (model, words) in enumerate((("rigid", "rigid"), ("torsion", "torsion spring"), ("beam", "beam"))):
            ax = figure.add_subplot(grid[0, column])
            _bent(ax, rods[model], pictures[model])
            ax.set_title(f"({'abc'[column]}) {words}")
        time = figure.add_subplot(grid[1, 0])
        for label, run, look in (
            ("rigid", single["rigid"], {"color": style.GREY}),
            ("torsion, 1e3 N m", single["torsion"], {"color": style.SERIES[0], "linewidth": 2.6}),
            ("torsion, 1e7 N m", stiff, {"color": style.INK, "linestyle": "--", "linewidth": 0.9}),
            (f"beam, {PARTS[-1]} parts", beams[PARTS[-1]], {"color": style.SERIES[1]}),
        ):
            pace = math.sqrt(run.parameters.get("stiffness", 1e3))
            time.plot(run.t * pace, impulse_at_D(run), label=label, **look)
        time.set_xlim(0.0, 0.3)
        style.panel(time, "impulse at D so far", r"$t\,\sqrt{EI/(m l^3)}$", "D so far / hammer in all")
        time.set_ylim(-0.01, 0.4)
        time.legend(loc="upper left", fontsize=7.5)
        parts = figure.add_subplot(grid[1, 1])
        parts.plot(PARTS, [impulse_at_D(run)[-1] for run in beams.values()], "o-", color=style.SERIES[1])
        parts.set_ylim(0.0, 0.3)
        parts.set_xlim(0.0, PARTS[-1] + 2)
        style.panel(parts, "beam of n parts", "n", "D / hammer")
        table = figure.add_subplot(grid[1, 2])
        table.semilogx(SOFTNESS, [impulse_at_D(run)[-1] for run in soft], "o-", color=style.SERIES[0], markersize=3)
        style.panel(table, "soft table, torsion spring", r"$k_{table}\,l^2/k_{spring}$", "D / hammer")
        heading(figure, "Figure 4.5", title)
        certificate = worst_certificate([*single.values(), stiff, *beams.values(), *soft])
        first = single["torsion"].normal_impulse[1]
        style.caption(
            figure,
            "uniform rod, a quarter of it over the edge B, struck at A by a hammer of a tenth of its mass; deflections "
            f"magnified; the torsion spring's impulse at D is {first[2] / first[0]:.4f} of the hammer's at the first "
            "instant, at any stiffness; rigid: none, which a table much softer than the spring gives as well; "
            f"{certificate.failed_steps} failed steps, residual ≤ {certificate.max_residual:.1e}",
        )
    return PaperFigure(
        title, "[S00] Figure 4.5", single["torsion"].parameters, single["torsion"].dt, certificate, figure
    )


def _bent(ax: Axes, rod: Scenario, run: Trajectory) -> None:
    """The rod a moment after the blow, deflections magnified to a tenth of its length."""
    pace = math.sqrt(run.parameters.get("stiffness", 1e3))
    i = min(int(np.searchsorted(run.t, 0.03 / pace)), len(run.t) - 1)
    q = run.q[i] * (0.1 / np.abs(run.q[i][:-1]).max())
    q[-1] = max(q[-1], q[0])  # by the midpoint rule the hammer goes in by dt/2 of its way
    mechanism.prepare(ax, (-0.14, 1.1, -0.3, 0.32))
    assert rod.drawing is not None
    mechanism.draw(ax, rod.drawing(q / MAGNIFIED, 0.0, run.parameters), run.contact_state[i])
    for text, x, y in (("A", -0.1, q[0]), ("B", 0.3, -0.09), ("D", 1.0, -0.09)):
        ax.annotate(text, (x, y), ha="center", va="center", fontsize=8.5, zorder=9)
    if len(q) == 4:
        ax.annotate("C", (0.625, q[1] + 0.06), ha="center", fontsize=8.5)
