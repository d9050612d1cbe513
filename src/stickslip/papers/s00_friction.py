"""Friction laws of Stewart's review [S00]: Figure 4.2, and the instability of eq. (4.1)."""

from __future__ import annotations

import math

import numpy as np
import sympy as sp
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from stickslip import library
from stickslip.analysis.progress import not_interrupted
from stickslip.figures import style
from stickslip.figures.sheet import sheet
from stickslip.laws import Coulomb, FrictionLaw, Stribeck, TwoCoefficient
from stickslip.mechanisms.elements import Contact
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.papers import PaperFigure
from stickslip.papers.s00 import finish, proof, worst_certificate
from stickslip.run.simulate import simulate
from stickslip.trajectory import Trajectory

_STATIC, _KINETIC, _VELOCITY = 0.5, 0.3, 0.15
_LAWS: tuple[tuple[str, FrictionLaw], ...] = (
    ("(a) Standard", Coulomb(_STATIC)),
    ("(b) Two coefficients", TwoCoefficient(_STATIC, _KINETIC)),
    ("(c) Continuous", Stribeck(_STATIC, _KINETIC, _VELOCITY)),
)
_PUSH = "#D5DAE1"
_SPEED = 0.8  # shown to both sides [m/s]
_DT, _T_END = 5e-3, 2.0


def fig4_2() -> PaperFigure:
    """Three one-dimensional friction laws as graphs of the friction force over the sliding velocity."""
    runs = [pulled_to_and_fro(law) for _, law in _LAWS]
    title = "One-dimensional friction models"
    with style.look():
        figure, axes = sheet(1, 3, 2.3)
        for ax, (name, law), run in zip(axes, _LAWS, runs, strict=True):
            _graph(ax, law)
            _steps(ax, run)
            style.panel(ax, name, "sliding velocity [m/s]", r"$F/N$" if name.startswith("(a)") else "")
            ax.set_xlim(-_SPEED, _SPEED)
            ax.set_ylim(-0.62, 0.62)
            if ax is not axes[0]:
                ax.tick_params(labelleft=False)
        certificate = worst_certificate(runs)
        handles = [
            Line2D([], [], color=style.SERIES[0], linewidth=1.8, label="law"),
            Line2D([], [], color=style.SERIES[1], marker=".", linestyle="none", label="steps of a pulled block"),
            Line2D([], [], color=style.PAPER, markeredgecolor=style.SERIES[0], marker="o", markersize=4.5,
                   linestyle="none", label="not in the graph"),
        ]  # fmt: skip
        note = (
            rf"$\mu_s$ = {_STATIC:g}, $\mu_k$ = {_KINETIC:g}, falling over {_VELOCITY:g} m/s in (c); at rest any force "
            rf"up to $\mu_s N$; steps: a block that is pulled to and fro, coefficient and end velocity found together, "
            f"at most {certificate.friction_rounds} rounds a step, contraction ≤ "
            f"{certificate.friction_contraction:.2g}, {proof(certificate)}"
        )
        parameters = {"static": _STATIC, "kinetic": _KINETIC, "stribeck_velocity": _VELOCITY}
        return finish(figure, "Figure 4.2", title, note, parameters, _DT, certificate, handles)


_PUSHED = {"friction": 0.5, "angle": 0.4, "velocity": 0.0, "push": 0.9, "push_frequency": 0.5 * math.pi}
_FALLING = {"friction_kinetic": 0.3, "stribeck_velocity": 0.1}
_BALANCED = {"friction": 0.5, "angle": math.atan(0.5), "velocity": 1e-6}


def eq4_1() -> PaperFigure:
    """Friction-induced instability: a push starts the brick, and where friction falls with the speed it runs away."""
    pushed = {name: _brick(3.0, _PUSHED | more) for name, more in (("constant", {}), ("falling", _FALLING))}
    grown = _brick(1.5, _BALANCED | _FALLING)
    title = "Friction-induced instability of the brick on a ramp"
    with style.look():
        figure, (left, right) = sheet(1, 2, 2.7)
        _after_a_push(left, pushed)
        rate = _growth(right, grown)
        certificate = worst_certificate([*pushed.values(), grown])
        p = pushed["falling"].parameters
        static, kinetic, scale = p["friction"], p["friction_kinetic"], p["stribeck_velocity"]
        note = (
            rf"falling friction: $\mu(v)$ = {kinetic:g} + {static - kinetic:g} $e^{{-v/{scale:g}\,\mathrm{{m/s}}}}$; "
            rf"(a) θ = {p['angle']:g} rad, $F_{{ext}}$ = {p['push']:g} N $\sin({p['push_frequency']:.3g}\,t)$, 1 kg, "
            "shaded while the push exceeds what friction holds; "
            rf"(b) $\tan\theta = \mu(0)$, $v(0)$ = 1e-6 m/s: growth $g\cos\theta\,|\mu'(0)|$ = {rate:.2f} /s; "
            f"Moreau's midpoint rule, Δt = {grown.dt:g} s; {proof(certificate)}"
        )
        handles = [
            Line2D([], [], color=style.SERIES[0], label="friction constant"),
            Line2D([], [], color=style.SERIES[1], label="friction falls with the speed"),
            Patch(facecolor=_PUSH, label="push beyond the limit"),
            Line2D([], [], color=style.INK, linestyle="--", linewidth=0.9, label=r"$\exp(g\cos\theta\,|\mu'(0)|\,t)$"),
        ]
        return finish(figure, "eq. (4.1)", title, note, dict(p), grown.dt, certificate, handles)


def _brick(t_end: float, keywords: dict[str, float]) -> Trajectory:
    run = not_interrupted(library.brick_on_ramp(**keywords).simulate(t_end=t_end, engine="reference"))
    if not run.complete:
        raise RuntimeError(f"the brick's run {run.status}")
    return run


def _after_a_push(ax: Axes, runs: dict[str, Trajectory]) -> None:
    p = runs["constant"].parameters
    t = runs["constant"].t
    held = p["mass"] * p["g"] * (p["friction"] * math.cos(p["angle"]) - math.sin(p["angle"]))
    pulled = t[p["push"] * np.sin(p["push_frequency"] * t) > held]
    ax.axvspan(pulled[0], pulled[-1], facecolor=_PUSH, label="push beyond the limit")
    for (name, run), colour in zip(runs.items(), style.SERIES, strict=False):
        ax.plot(run.t, run["v_x"], color=colour, label=f"μ {name}")
    ax.set_ylim(-0.05, 1.5)
    style.panel(ax, "(a) after one push", "t [s]", "v [m/s]")


def _growth(ax: Axes, run: Trajectory) -> float:
    """Draw the velocity of a brick that friction just holds; return the rate of (4.1), linearised at v = 0 [1/s]."""
    p = run.parameters
    slope = (p["friction"] - p["friction_kinetic"]) / p["stribeck_velocity"]
    rate = p["g"] * math.cos(p["angle"]) * slope
    ax.plot(run.t, run["v_x"], color=style.SERIES[1], label="computed")
    line = run["v_x"][0] * np.exp(rate * run.t)
    below = line < 1.0
    ax.plot(run.t[below], line[below], color=style.INK, linestyle="--", linewidth=0.9, label="linearised")
    ax.set_yscale("log")
    style.panel(ax, "(b) the smallest motion grows", "t [s]", "v [m/s]")
    return rate


def _graph(ax: Axes, law: FrictionLaw) -> None:
    """The set-valued graph: branches of slip, the segment of stick, and open ends where they do not meet."""
    speed = np.geomspace(1e-9, _SPEED, 400)
    mu = law(speed)
    for sign in (1.0, -1.0):
        ax.plot(sign * speed, sign * mu, color=style.SERIES[0], linewidth=1.8)
        if mu[0] < law.at_rest * (1.0 - 1e-6):
            ax.plot(
                [0.0], [sign * mu[0]], "o", color=style.PAPER, markeredgecolor=style.SERIES[0], markersize=4.5, zorder=5
            )
    ax.plot([0.0, 0.0], [-law.at_rest, law.at_rest], color=style.SERIES[0], linewidth=1.8)


def _steps(ax: Axes, run: Trajectory) -> None:
    """Draw -Lambda_T / Lambda_N of every third step over the velocity at the end of the step."""
    ax.plot(
        run["v_x"][1::3], (-run.tangential_impulse[:, 0] / np.maximum(run.normal_impulse[:, 0], 1e-300))[1::3],
        ".", color=style.SERIES[1], markersize=2.6, zorder=4,
    )  # fmt: skip


def pulled_to_and_fro(law: FrictionLaw) -> Trajectory:
    """A block of 1 kg, N = 10 N, on a floor, pulled by 7 sin(2 pi t) N."""
    t, x, y, v_x, v_y = sp.symbols("t x y v_x v_y")
    system = LagrangianSystem.from_energies(
        [x, y],
        velocities=[v_x, v_y],
        kinetic=(v_x**2 + v_y**2) / 2,
        potential=10 * y,
        forces=[7 * sp.sin(2 * sp.pi * t), 0],
        contacts=[Contact("floor", gap=y, slip=x, friction=law)],
        name="block pulled to and fro",
    )
    run = simulate(system, [0.0, 0.0], [0.0, 0.0], dt=_DT, t_end=_T_END, engine="reference")
    if not not_interrupted(run).complete:
        raise RuntimeError(f"the block's run {run.status}")
    return run
