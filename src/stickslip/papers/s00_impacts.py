"""Figures of Stewart's review [S00] about impacts: elastic bars, billiards, several contacts at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Patch, Rectangle

from stickslip import library
from stickslip.analysis.progress import not_interrupted
from stickslip.figures import mechanism, style
from stickslip.figures.sheet import sheet
from stickslip.figures.sketch import MOTION, arrow
from stickslip.impacts.impact import impact
from stickslip.laws import Newton, Poisson
from stickslip.library.angled_bar import rigid_velocity
from stickslip.library.chatterjee_rod import MAGNIFIED
from stickslip.papers import PaperFigure
from stickslip.papers.s00 import finish, proof, worst_certificate
from stickslip.papers.s00_rod import run_of, still
from stickslip.scenario import Scenario
from stickslip.trajectory import Trajectory

LENGTHS = (0.1, 0.2, 0.3, 0.4, 0.6)  # of the bars [m], as printed
ANGLES = np.radians(np.linspace(0.0, 90.0, 37))
RATIOS = np.unique(np.concatenate([np.logspace(-4.0, 4.0, 65), np.logspace(-2.0, 0.25, 181)]))  # finer where it bends
SOFTNESS = np.logspace(-4.0, 6.0, 21)
PARTS = (4, 8, 12, 16, 20, 24, 28, 32)  # of the beam
_SCATTER = "#F6E3D6"
_RADIUS = 0.03  # of a billiard ball [m]


# -- Fig. 1.2 ------------------------------------------------------------------------------------------------


STOP = {"contact_stiffness": 3e8, "contact_damping": 1540.0}
"""Stop of Fig. 1.2 [N/m], [N s/m]: the damping, 0.3 of the bar's wave impedance, is calibrated on the vertical bars."""
_TEXT = {90.0: (0.8, 0.9), 0.0: (0.58, 0.62)}
"""Restitutions that the text of [S00] 1.2 gives at an angle [degrees]: "0.8 to 0.9", "around 0.6"."""


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
    pushed = np.flatnonzero(_pushes(run))
    collisions = 1 + int((np.diff(pushed) > 1).sum())
    return Rebound(after / speed, float(run.t[pushed[-1]] - run.t[max(pushed[0] - 1, 0)]), collisions, run)


def _pushes(run: Trajectory) -> np.ndarray:
    """Records at which the stop, hard or giving way, pushes the bar."""
    p = run.parameters
    if "contact_stiffness" not in p:
        return np.asarray(run.normal_impulse[:, 0] > 0.0)
    s, c = math.sin(p["angle"]), math.cos(p["angle"])
    gap, rate = s * run["a_0"] + c * run["w_0"], s * run["v_a0"] + c * run["v_w0"]
    return np.asarray((gap < 0.0) & (-p["contact_stiffness"] * gap - p["contact_damping"] * rate > 0.0))


def fig1_2() -> PaperFigure:
    """Apparent restitution against the angle: elastic bars dropped on a stop."""
    title = "Apparent restitution of bars dropped at an angle"
    certificates, ends = [], []
    with style.look():
        figure, axes = sheet(len(LENGTHS), 2, 1.42, together=True)
        for row, length in enumerate(LENGTHS):
            bar = library.angled_bar(segments=12, length=length, **STOP)
            found = [rebound(bar, float(angle)) for angle in ANGLES]
            certificates += [drop.run for drop in found]
            eps = [drop.restitution for drop in found]
            ends.append((eps[-1], eps[0], min(eps)))
            _restitution(axes[2 * row], length, found, row)
            _durations(axes[2 * row + 1], found, row)
        for ax in axes:
            ax.set(xlim=(-2.0, 92.0), xticks=range(0, 91, 15))
            ax.tick_params(labelbottom=ax in axes[-2:])
        for ax in axes[-2:]:
            ax.set_xlabel("φ [°]")
        certificate = worst_certificate(certificates)
        p = certificates[0].parameters
        vertical, level, least = (f"{min(values):.2f} to {max(values):.2f}" for values in zip(*ends, strict=True))
        note = (
            f"steel bars of 12.7 mm diameter, 12 segments, dropped without spin; stop with a spring of "
            f"{STOP['contact_stiffness']:.0e} N/m and a damper of {STOP['contact_damping']:g} N s/m, no friction, no "
            "plasticity; as in the paper's source one damping is calibrated, here on the vertical bars; what the text "
            f"says, and what comes out: 0.8 to 0.9 vertical, {vertical}; a minimum of 0.1 to 0.2, {least}; around 0.6 "
            f"level, {level}: a level bar loses to its vibrations alone, and the model has no plastic dent; "
            f"{proof(certificate)}"
        )
        handles = [
            Line2D([], [], color=style.SERIES[0], marker="o", markersize=2.5, label="restitution"),
            Patch(facecolor=_SCATTER, edgecolor=style.SERIES[1], linewidth=0.6, label="values in the text of [S00]"),
            Line2D([], [], color=style.SERIES[0], label="collision time"),
            Line2D([], [], color=style.SERIES[1], marker=".", linestyle="none", label="micro-collisions"),
        ]
        return finish(figure, "Figure 1.2", title, note, p, certificates[0].dt, certificate, handles)


def _restitution(ax: Axes, length: float, found: list[Rebound], row: int) -> None:
    ax.axhspan(0.1, 0.2, facecolor=_SCATTER, linewidth=0.0, zorder=0)
    for angle, (low, high) in _TEXT.items():
        ax.add_patch(Rectangle((angle - 1.5, low), 3.0, high - low, facecolor=_SCATTER, edgecolor=style.SERIES[1],
                               linewidth=0.6, zorder=1))  # fmt: skip
    ax.plot(np.degrees(ANGLES), [drop.restitution for drop in found], "o-", markersize=2.2, color=style.SERIES[0])
    ax.set_ylim(0.0, 1.05)
    style.panel(ax, f"({'abcde'[row]}) length {1e3 * length:g} mm", "", "$\\varepsilon$")


def _durations(ax: Axes, found: list[Rebound], row: int) -> None:
    ax.plot(np.degrees(ANGLES), [1e3 * drop.duration for drop in found], color=style.SERIES[0])
    style.panel(ax, "", "", "time [ms]")
    ax.set_ylim(bottom=0.0)
    right = ax.twinx()
    right.plot(np.degrees(ANGLES), [drop.collisions for drop in found], ".", color=style.SERIES[1])
    right.set_ylabel("number", color=style.SERIES[1])
    right.set_ylim(bottom=0.0)
    right.spines["right"].set_visible(True)
    right.spines["right"].set_color(style.SERIES[1])
    right.tick_params(axis="y", colors=style.SERIES[1], labelcolor=style.SERIES[1])
    right.grid(False)
    ax.spines["left"].set_color(style.SERIES[0])
    ax.tick_params(axis="y", colors=style.SERIES[0], labelcolor=style.SERIES[0])
    ax.yaxis.label.set_color(style.SERIES[0])


# -- Fig. 2.3 ------------------------------------------------------------------------------------------------


def fig2_3() -> PaperFigure:
    """Billiards: a ball thrown at the first of three, elevation and plan views, by [S00]'s own scheme."""
    scenario = library.billiards()
    run = not_interrupted(scenario.simulate(stepper="stewart-trinkle", progress=False))
    bodies = [body for body in scenario.scene.bodies if body.kind == "moving"]
    title = "Billiards with partly elastic impacts"
    with style.look():
        figure, (above, below) = sheet(2, 1, [0.9, 1.75])
        for body, colour in zip(bodies, style.SERIES, strict=False):
            path, turn = body.path(run), _turned(run, body.name)
            for ax, axis in ((above, 2), (below, 1)):
                ax.plot(path[:, 0], path[:, axis], color=colour, linewidth=1.0, label=body.name)
                for i in _apart(path, 2.0 * _RADIUS):
                    _ball(ax, path[i, [0, axis]], _RADIUS, colour, turn[i] if axis == 2 else None, filled=i == 0)
        above.axhline(0.0, color=style.INK, linewidth=1.0)
        paths = np.concatenate([body.path(run) for body in bodies])
        margin = 1.3 * _RADIUS
        for ax, axis, label in ((above, 2, "z [m]"), (below, 1, "y [m]")):
            ax.set_aspect("equal")
            ax.set_xlim(paths[:, 0].min() - margin, paths[:, 0].max() + margin)
            ax.set_ylim(paths[:, axis].min() - margin, paths[:, axis].max() + margin)
            ax.set_ylabel(label)
        above.set_title("elevation")
        below.set_title("plan")
        below.set_xlabel("x [m]")
        c, hops = run.certificate, [1e3 * (run[f"ball{k}.z"].max() - 0.03) for k in (1, 2, 3)]
        spins = ", ".join(f"{spin:+.0f}" for spin in bounce_spins(run))
        note = (
            "scheme (2.11)-(2.13) of the paper, circular cones (2.17)-(2.18); filled: start; a ball is drawn again "
            "when it has moved by its diameter; ε = 0.9 along the normals and, beyond the paper, the tangents, "
            f"μ = 0.6; spin of the thrown ball about $y$ after each bounce: {spins} rad/s; hops of the balls "
            f"in the row: {hops[0]:.2f}, {hops[1]:.2f}, {hops[2]:.2f} mm; sizes and speeds are ours, the paper gives "
            f"none; Δt = {run.dt:g} s; {proof(c)}"
        )
        words = ("thrown ball", "ball 1", "ball 2", "ball 3")
        handles = [Line2D([], [], color=colour, label=word) for word, colour in zip(words, style.SERIES, strict=False)]
        return finish(figure, "Figure 2.3", title, note, run.parameters, run.dt, c, handles)


def _apart(path: np.ndarray, distance: float) -> list[int]:
    """Records of a path that lie at least `distance` [m] from all chosen before; the first, and the last if it may."""
    chosen = [0]
    for i in range(1, len(path), 5):
        if np.linalg.norm(path[chosen, :2] - path[i, :2], axis=1).min() >= distance:
            chosen.append(i)
    return chosen


def bounce_spins(run: Trajectory) -> list[float]:
    """Spin of the thrown ball about the y axis after its impacts with a ball and with the table [rad/s]."""
    times = run.impacts().of("thrown")["time"]
    apart = times[np.concatenate([[True], np.diff(times) > 0.01])]  # impacts within 10 ms are one event
    after = np.minimum(np.searchsorted(run.t, apart + 5e-3), len(run.t) - 1)
    return [float(spin) for spin in run["thrown.wy"][after]]


def _turned(run: Trajectory, name: str) -> np.ndarray:
    """Angle about the y axis, integrated, (n,) [rad]."""
    return np.concatenate([[0.0], np.cumsum(run[f"{name}.wy"][1:] * np.diff(run.t))])


def _ball(
    ax: Axes, centre: np.ndarray, radius: float, colour: str, turn: float | None, *, filled: bool = False
) -> None:
    tint = {"facecolor": to_rgba(colour, 0.18) if filled else "none", "edgecolor": colour}
    ax.add_patch(Circle(tuple(centre), radius, linewidth=0.8, **tint))
    if turn is not None:
        end = centre + radius * np.array([math.sin(turn), math.cos(turn)])
        ax.plot([centre[0], end[0]], [centre[1], end[1]], color=colour, linewidth=0.8)


# -- Fig. 4.3 ------------------------------------------------------------------------------------------------


def fig4_3() -> PaperFigure:
    """Two balls on a table collide without restitution; ball 1 jumps."""
    balls = library.two_balls(friction=0.4)
    run = run_of(balls)
    hits = run.impacts().of("balls")
    title = "Two balls colliding inelastically"
    with style.look():
        figure, (left, right) = sheet(1, 2, 2.2, ratios=[0.85, 1.0])
        i = int(np.searchsorted(run.t, hits["time"][0] - run.dt))
        still(left, balls, run.q[i], (run.q[i, 0] - 0.05, run.q[i, 3] + 0.05, -0.03, 0.088))
        _contacts_of_balls(left, run.q[i])
        for k, colour in ((1, style.SERIES[0]), (2, style.SERIES[4])):
            right.plot(run.t, 1e3 * run[f"y_{k}"], color=colour, label=f"ball {k}")
        style.panel(right, "height over the table", "t [s]", "y [mm]")
        right.set_xlim(0.0, run.t[-1])
        right.legend(loc="upper right")
        c = run.certificate
        note = (
            f"ball 1 rolls with 1 m/s, ball 2 at rest; μ = 0.4, ε = 0 at all contacts; impulse between the balls "
            f"{hits['normal_impulse'][0]:.4f} N s, and {abs(hits['tangential_impulse'][0]):.4f} N s of friction lift "
            f"ball 1 with {run['v_y1'].max():.3f} m/s; Δt = {run.dt:g} s; {proof(c)}"
        )
        return finish(figure, "Figure 4.3", title, note, run.parameters, run.dt, c)


def _contacts_of_balls(ax: Axes, q: np.ndarray) -> None:
    r, middle = 0.03, 0.5 * (q[0] + q[3])
    for text, place in (("1", (q[0], -0.008)), ("2", (q[3], -0.008)), ("3", (middle, 0.064))):
        ax.annotate(text, place, ha="center", va="center", fontsize=9, fontweight="bold")
    ax.annotate("ball 1", (q[0], r - 0.011), ha="center", color=style.PAPER, fontsize=8, zorder=9)
    ax.annotate("ball 2", (q[3], r - 0.011), ha="center", color=style.PAPER, fontsize=8, zorder=9)
    arrow(ax, (q[0] - 0.03, 0.075), (q[0] + 0.01, 0.075), "$v$", (3, -3), MOTION)
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
        figure, (above, below) = sheet(2, 1, [0.85, 2.9])
        scenario = library.three_masses(clearance=0.03)
        still(above, scenario, scenario.q0, (-0.09, 0.26, -0.012, 0.058))
        for text, x in (("$m_1$", -0.01), ("$m_2$", 0.1), ("$m_3$", 0.18)):
            above.annotate(text, (x, 0.02), ha="center", va="center", color=style.PAPER, fontsize=9, zorder=9)
        for text, x in (("$k_1$", 0.03), ("$k_2$", 0.14)):
            above.annotate(text, (x, 0.036), ha="center", fontsize=9)
        arrow(above, (-0.05, 0.05), (-0.015, 0.05), "$v$", (3, -3), MOTION)
        end = np.array([run.u[-1] for run in runs])
        for k in range(3):
            below.semilogx(RATIOS, end[:, k], color=style.SERIES[k], label=f"$v_{k + 1}$")
        handles = [*below.get_lines()]
        for (name, u), mark, place in zip(laws.items(), ("s", "D"), (1.3, 2.6), strict=True):
            for k, size in enumerate((7.0, 9.5, 4.5)):  # v_2 = v_3 under both laws: a small mark on a large one
                below.plot([RATIOS[0] * place], [u[k]], mark, color=style.SERIES[k], markersize=size,
                           markeredgecolor=style.PAPER, zorder=5)  # fmt: skip
            handles.append(Line2D([], [], color=style.GREY, marker=mark, linestyle="none", label=f"rigid, {name}"))
        below.axhline(0.0, color=style.GREY, linewidth=0.7)
        style.panel(below, "velocities after the collision, per velocity before", "$k_1/k_2$", "$v_i/v$")
        below.set_xlim(RATIOS[0], RATIOS[-1])
        certificate = worst_certificate(runs)
        note = (
            "equal masses, springs that only push; left end: $m_2$ and $m_3$ leave together, as under rigid laws; "
            "right end: one impact after the other, $m_3$ leaves alone; the bends at ratios from 0.03 to 0.3 "
            "are true: there $m_2$ and $m_3$ swing against each other, and the last push on $m_2$ meets them in "
            "another phase; the "
            f"stiffnesses themselves do not matter; {len(RATIOS)} ratios, Moreau's midpoint rule; energy kept to "
            f"{_energy_error(runs):.1e}"
        )
        return finish(figure, "Figure 4.4", title, note, runs[0].parameters, runs[0].dt, certificate, handles)


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
    first = single["torsion"].normal_impulse[1]
    shares = {n: float(impulse_at_D(run)[-1]) for n, run in beams.items()}
    many = [share for n, share in shares.items() if n >= 12]
    whole, elastic = (float(impulse_at_D(run)[-1]) for run in (single["torsion"], soft[-1]))
    title = "Rod and table example of Chatterjee"
    with style.look():
        figure, axes = sheet(2, 3, [1.25, 2.2])
        pictures = {"rigid": single["rigid"], "torsion": single["torsion"], "beam": beams[12]}
        for ax, (model, words) in zip(
            axes, (("rigid", "(a) rigid"), ("torsion", "(b) torsion spring"), ("beam", "(c) beam")), strict=False
        ):
            _bent(ax, rods[model], pictures[model])
            ax.set_title(words)
        time, table, parts = axes[3:]
        for label, run, look in (
            ("rigid", single["rigid"], {"color": style.GREY}),
            ("torsion spring, $10^3$ N m", single["torsion"], {"color": style.SERIES[0], "linewidth": 2.8}),
            ("torsion spring, $10^7$ N m", stiff, {"color": style.INK, "linestyle": "--", "linewidth": 0.9}),
            (f"beam, {PARTS[-1]} parts", beams[PARTS[-1]], {"color": style.SERIES[1]}),
        ):
            pace = math.sqrt(run.parameters.get("stiffness", 1e3))
            time.plot(run.t * pace, impulse_at_D(run), label=label, **look)
        handles = [*time.get_lines()]
        time.set_xlim(-0.005, 0.3)
        style.panel(time, "impulse at D so far", r"$t\,\sqrt{EI/(m l^3)}$", "D / hammer")
        table.semilogx(SOFTNESS, [impulse_at_D(run)[-1] for run in soft], "o-", color=style.SERIES[0], markersize=3)
        table.axhline(whole, color=style.INK, linestyle="--", linewidth=0.9)
        table.annotate("hard table", (SOFTNESS[0], whole), (3, 3), textcoords="offset points", fontsize=7.5)
        style.panel(table, "(b) on a soft table", r"$k_{table}\,l^2/k_{spring}$")
        parts.axhspan(min(many), max(many), facecolor=_SCATTER, linewidth=0.0)
        parts.plot(PARTS, list(shares.values()), "o-", color=style.SERIES[1], markersize=3.5)
        parts.annotate("no limit seen", (PARTS[-1], min(many)), (0, -4), textcoords="offset points", ha="right",
                       va="top", fontsize=7.5)  # fmt: skip
        parts.set_xlim(0.0, PARTS[-1] + 2)
        style.panel(parts, "(c) beam of $n$ parts", "$n$")
        for ax in (time, table, parts):
            ax.set_ylim(-0.01, 0.3)
        certificate = worst_certificate([*single.values(), stiff, *beams.values(), *soft])
        note = (
            "uniform rod, a quarter of it over the edge B, struck at A by a hammer of a tenth of its mass; deflections "
            "magnified; D / hammer: impulse at D, divided by the hammer's whole impulse\n"
            f"(b) in the first instant D gets {first[2] / first[0]:.4f} of what the hammer gives then, at any "
            f"stiffness (9/62 in closed form); the hammer pushes on, and in the end it is {whole:.3f} of the whole; an "
            "elastic table gives back the energy that it takes, so that D bounces: the share does not tend to that of "
            f"the hard table, and is {elastic:.3f} at the right end; where the table is much softer than the spring it "
            "is 0, the rigid rod's\n"
            f"(c) between {min(many):.3f} and {max(many):.3f} for {12} to {PARTS[-1]} parts, in no order: each node "
            f"that touches stops at once, and which ones touch depends on their places; {proof(certificate)}"
        )
        run = single["torsion"]
        return finish(figure, "Figure 4.5", title, note, run.parameters, run.dt, certificate, handles)


def _bent(ax: Axes, rod: Scenario, run: Trajectory) -> None:
    """The rod a moment after the blow, deflections magnified to a tenth of its length."""
    pace = math.sqrt(run.parameters.get("stiffness", 1e3))
    i = min(int(np.searchsorted(run.t, 0.03 / pace)), len(run.t) - 1)
    q = run.q[i] * (0.1 / np.abs(run.q[i][:-1]).max())
    q[-1] = max(q[-1], q[0])  # by the midpoint rule the hammer goes in by dt/2 of its way
    mechanism.prepare(ax, (-0.14, 1.1, -0.3, 0.32))
    assert rod.drawing is not None
    mechanism.draw(ax, rod.drawing(q / MAGNIFIED, 0.0, run.parameters), run.contact_state[i])
    for text, x, y in (("A", -0.1, q[0]), ("B", 0.31, -0.09), ("D", 1.0, -0.09)):
        ax.annotate(text, (x, y), ha="center", va="center", fontsize=8.5, zorder=9)
    if len(q) == 4:
        ax.annotate("C", (0.625, q[1] + 0.06), ha="center", fontsize=8.5)
