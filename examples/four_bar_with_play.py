"""A four-bar linkage with play in one hinge, built from links and a joint: where the pin is, what the rocker does.

The crank turns with constant speed; the coupler's pin has play in the rocker's bushing. Once per turn the pin crosses
its play and strikes; in between it rolls and slides along the bushing. Without play the rocker's angle is a matter of
geometry; the deviation from it shrinks in proportion to the clearance.

Run: python examples/four_bar_with_play.py --plot four-bar.png
"""

import argparse
import math
from typing import Any

import numpy as np
import sympy as sp

import stickslip as ss
from stickslip.analysis.distinct_impacts import distinct_impacts

GROUND, CRANK, COUPLER, ROCKER = 0.30, 0.10, 0.30, 0.25  # lengths [m]
SPEED = 30.0  # of the crank [rad/s]
RECORD = 5e-5  # time between records [s]


def model() -> ss.LagrangianSystem:
    theta_2, theta_3, omega_2, omega_3, t = sp.symbols("theta_2 theta_3 omega_2 omega_3 t")
    c, mu, eps = sp.symbols("clearance friction restitution_normal")
    q, u = [theta_2, theta_3], [omega_2, omega_3]
    crank = ss.Link.hinged("crank", (0, 0), SPEED * t, arm=CRANK / 2)
    coupler = ss.Link.hinged(
        "coupler", crank.point(CRANK / 2), theta_2, arm=COUPLER / 2, mass=0.30, inertia=0.30 * COUPLER**2 / 12
    )
    rocker = ss.Link.hinged("rocker", (GROUND, 0), theta_3, arm=ROCKER / 2, mass=0.25, inertia=0.25 * ROCKER**2 / 12)
    kinetic, potential = ss.link_energies([coupler, rocker], q, u, gravity=9.81, time=t)
    hinge = ss.RevoluteClearanceJoint(
        "hinge",
        pin=(coupler, COUPLER / 2, 0),
        bushing=(rocker, ROCKER / 2, 0),
        clearance=c,
        pin_radius=0.01,
        friction=mu,
        restitution_normal=eps,
    )
    return ss.LagrangianSystem.from_energies(
        q,
        velocities=u,
        kinetic=kinetic,
        potential=potential,
        contacts=[hinge],
        parameters={c: 5e-4, mu: 0.05, eps: 0.5},
        name="four-bar",
    )


def without_play(theta_1: float) -> tuple[float, float]:
    """Angles of coupler and rocker by geometry: two circles meet."""
    x, y = GROUND - CRANK * math.cos(theta_1), -CRANK * math.sin(theta_1)
    diagonal = math.hypot(x, y)
    angle = math.atan2(y, x) + math.acos((COUPLER**2 + diagonal**2 - ROCKER**2) / (2 * COUPLER * diagonal))
    return angle, math.atan2(COUPLER * math.sin(angle) - y, COUPLER * math.cos(angle) - x)


def simulate(clearance: float, dt: float, turns: float) -> ss.Trajectory:
    """Run the linkage from the angles and velocities without play; the velocities come from central differences."""
    h = 1e-6
    ahead, behind = np.array(without_play(SPEED * h)), np.array(without_play(-SPEED * h))
    return ss.simulate(
        model(),
        q0=without_play(0.0),
        u0=(ahead - behind) / (2 * h),
        dt=dt,
        t_end=turns * 2 * math.pi / SPEED,
        every=max(1, round(RECORD / dt)),
        params={"clearance": clearance},
    )


def rocker_error(run: ss.Trajectory) -> np.ndarray:
    """Difference of the rocker's angle from its angle in the linkage without play [rad]."""
    return np.asarray(run["theta_3"] - [without_play(SPEED * t)[1] for t in run.t])


def pin_path(run: ss.Trajectory) -> np.ndarray:
    """The pin's centre in its bushing, in clearances, shape (n, 2)."""
    theta_1, theta_2, theta_3 = SPEED * run.t, run["theta_2"], run["theta_3"]
    x = CRANK * np.cos(theta_1) + COUPLER * np.cos(theta_2) - ROCKER * np.cos(theta_3) - GROUND
    y = CRANK * np.sin(theta_1) + COUPLER * np.sin(theta_2) - ROCKER * np.sin(theta_3)
    return np.column_stack([x, y]) / run.parameters["clearance"]


def force(run: ss.Trajectory, records: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Times, and mean normal forces between pin and bushing over some records [N]."""
    impulse = run.normal_impulse[1:, 0]
    impulse = impulse[: len(impulse) // records * records].reshape(-1, records).sum(axis=1)
    return run.t[records::records], impulse / (records * run.dt * run.every)


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--clearances", type=float, nargs="+", default=[5e-4, 1e-4], help="[m]")
    options.add_argument("--dt", type=float, default=1e-6)
    options.add_argument("--turns", type=float, default=4.0)
    options.add_argument("--plot")
    args = options.parse_args(arguments)
    runs = [simulate(clearance, args.dt, args.turns) for clearance in args.clearances]
    errors = [float(np.abs(rocker_error(run)).max()) for run in runs]
    for run, error in zip(runs, errors, strict=True):
        hits = len(distinct_impacts(run, min_speed=0.01))
        print(
            f"c = {1e3 * run.parameters['clearance']:g} mm: rocker off by {1e3 * error:.3f} mrad at most, "
            f"{hits} impacts in {args.turns:g} turns, mean force up to {force(run)[1].max():.0f} N"
        )
        print(run.certificate)
    if args.plot:
        draw(runs, args.plot)
    return {"errors": errors, "certificates": [run.certificate for run in runs]}


def draw(runs: list[ss.Trajectory], path: str) -> None:
    from stickslip.figures import mechanism, style
    from stickslip.figures.sheet import dress

    with style.look():
        figure = style.new_figure(7.4, 5.6)
        scene, bushing, error, load = figure.subplots(2, 2).ravel()
        picture = ss.library.four_bar(clearance=runs[0].parameters["clearance"])
        parameters = dict(zip(picture.system.parameter_names, picture.system.parameter_values, strict=True))
        row = int(np.searchsorted(runs[0].t, 0.3 * 2 * math.pi / SPEED))
        mechanism.prepare(scene, picture.drawing.view)
        mechanism.draw(scene, picture.drawing(runs[0].q[row], runs[0].t[row], parameters), runs[0].contact_state[row])
        circle = np.linspace(0, 2 * math.pi, 181)
        bushing.plot(np.cos(circle), np.sin(circle), color=style.GREY, linewidth=0.8)
        for run, colour in zip(runs, style.SERIES, strict=False):
            turns, label = SPEED * run.t / (2 * math.pi), f"c = {1e3 * run.parameters['clearance']:g} mm"
            late = turns >= turns[-1] - 1
            bushing.plot(*pin_path(run)[late].T, color=colour, linewidth=0.8)
            error.plot(turns, 1e3 * rocker_error(run), color=colour, linewidth=0.9, label=label)
            times, mean = force(run)
            load.plot(SPEED * times / (2 * math.pi), mean, color=colour, linewidth=0.7, label=label)
        bushing.set(xlim=(-1.12, 1.12), ylim=(-1.12, 1.12), aspect="equal")
        style.panel(bushing, "pin's centre in its play, last turn", "$x / c$", "$y / c$")
        style.panel(error, "rocker, against the linkage without play", "crank revolutions", r"$\Delta\theta_3$ [mrad]")
        style.panel(load, "force in the hinge", "crank revolutions", r"$\lambda_N$ [N], mean over 0.2 ms")
        load.legend(loc="upper right", ncols=len(runs))
        note = f"crank at {SPEED:g} rad/s, Δt = {style.number(runs[0].dt)} s; {runs[0].certificate}"
        dress(figure, "Four-bar linkage with play in a hinge", note)
    style.save(figure, path, title="Four-bar linkage with play in a hinge")


if __name__ == "__main__":
    main()
