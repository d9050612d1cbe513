"""A compressor with a worn bearing, from scratch: a crank, a connecting rod whose big end has play, a piston.

The crank turns with constant speed.  Piston and rod have two degrees of freedom, the piston's place s and the rod's
angle phi; the only thing that moves them is the crank's pin, which strikes, slides and rolls in the rod's bushing.

    crank pin   (R cos Omega t, R sin Omega t)
    rod         from the piston's pin (s, 0), at the angle phi, to its bushing (s + L cos phi, L sin phi)
    contact     c - |pin - bushing| >= 0

Without play s follows from geometry.  With play s may deviate by about c, and the bearing knocks where the force on the
rod changes its side.

Run: python examples/compressor_with_worn_bearing.py --plot compressor.png
"""

import argparse
import math
from typing import Any

import numpy as np
import sympy as sp

import stickslip as ss
from stickslip.analysis.distinct_impacts import distinct_impacts

R, L = 0.03, 0.12  # crank and rod [m]
PISTON, ROD = 0.4, 0.25  # masses [kg]
SPEED = 100.0  # of the crank [rad/s], 955 turns a minute


def model() -> ss.LagrangianSystem:
    """Energies by links, the worn bearing by a joint with play."""
    s, phi, v, omega, t = sp.symbols("s phi v omega t")
    clearance, mu, eps = sp.symbols("clearance friction restitution_normal")
    crank = ss.Link.hinged("crank", (0, 0), SPEED * t, arm=R / 2)  # driven: no mass needed
    piston = ss.Link("piston", centre=(s, 0), mass=PISTON)
    rod = ss.Link.hinged("rod", (s, 0), phi, arm=L / 2, mass=ROD, inertia=ROD * L**2 / 12)
    kinetic, potential = ss.link_energies([piston, rod], [s, phi], [v, omega], gravity=9.81, time=t)
    bearing = ss.RevoluteClearanceJoint(
        "bearing",
        pin=(crank, R / 2, 0),
        bushing=(rod, L / 2, 0),
        clearance=clearance,
        pin_radius=0.012,
        friction=mu,
        restitution_normal=eps,
    )
    return ss.LagrangianSystem.from_energies(
        [s, phi],
        velocities=[v, omega],
        kinetic=kinetic,
        potential=potential,
        contacts=[bearing],
        parameters={clearance: 1e-4, mu: 0.05, eps: 0.3},
        name="compressor",
        units={"s": "m", "v": "m/s", "phi": "rad", "omega": "rad/s", "clearance": "m"},
    )


def without_play(t: np.ndarray | float) -> tuple[Any, Any]:
    """Piston and rod by geometry: R sin + L sin(phi) closes, the piston lies left of the crank."""
    angle = SPEED * np.asarray(t)
    phi = np.arcsin(R * np.sin(angle) / L)
    return R * np.cos(angle) - L * np.cos(phi), phi


def simulate(clearance: float, dt: float, turns: float, engine: str = "auto") -> ss.Trajectory:
    """Run the machine from the place and the velocities without play; the velocities come from central differences."""
    h = 1e-6
    u0 = (np.array(without_play(h)) - np.array(without_play(-h))) / (2 * h)
    return ss.simulate(
        model(),
        q0=np.array(without_play(0.0)),
        u0=u0,
        dt=dt,
        t_end=turns * 2 * math.pi / SPEED,
        every=max(1, round(2e-5 / dt)),
        params={"clearance": clearance},
        stepper=ss.MoreauMidpoint(
            projection=1e-3 * clearance
        ),  # else the pin would sink into its bushing by a quarter c
        engine=engine,
    )


def deviation(run: ss.Trajectory) -> np.ndarray:
    """Difference of the piston's place from its place in the machine without play, in units of the clearance."""
    return np.asarray((run["s"] - without_play(run.t)[0]) / run.parameters["clearance"])


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--clearances", type=float, nargs="+", default=[2e-4, 1e-4, 5e-5], help="[m]")
    options.add_argument("--dt", type=float, default=1e-6)
    options.add_argument("--turns", type=float, default=4.0)
    options.add_argument("--engine", default="auto")
    options.add_argument("--plot")
    args = options.parse_args(arguments)
    runs = [simulate(clearance, args.dt, args.turns, args.engine) for clearance in args.clearances]
    rows = []
    for run in runs:
        knocks = distinct_impacts(run, min_speed=0.02)
        hardest = float(np.abs(knocks["normal_velocity_before"]).max(initial=0.0))
        rows.append(
            {
                "clearance": run.parameters["clearance"],
                "deviation": float(np.abs(deviation(run)).max()),
                "knocks": len(knocks),
                "hardest": hardest,
                "certificate": run.certificate,
            }
        )
        print(
            f"c = {1e3 * run.parameters['clearance']:g} mm: piston off by {rows[-1]['deviation']:.2f} c at most, "
            f"{len(knocks) / args.turns:.1f} knocks a turn, the hardest with {hardest:.3f} m/s"
        )
        print(f"  {run.certificate}")
    if args.plot:
        draw(runs, args.plot)
    return {"rows": rows}


def draw(runs: list[ss.Trajectory], path: str) -> None:
    from stickslip.figures import style

    with style.look():
        figure = style.new_figure(7.4, 4.6)
        off, pin, load = figure.subplot_mosaic([["off", "pin"], ["load", "pin"]], width_ratios=[1.6, 1]).values()
        circle = np.linspace(0, 2 * math.pi, 181)
        pin.plot(np.cos(circle), np.sin(circle), color=style.GREY, linewidth=0.8)
        for run, colour in zip(runs, style.SERIES, strict=False):
            turns, label = SPEED * run.t / (2 * math.pi), f"c = {1e3 * run.parameters['clearance']:g} mm"
            off.plot(turns, deviation(run), color=colour, linewidth=0.9)
            late = turns >= turns[-1] - 1
            x = R * np.cos(SPEED * run.t) - run["s"] - L * np.cos(run["phi"])
            y = R * np.sin(SPEED * run.t) - L * np.sin(run["phi"])
            pin.plot(*(z[late] / run.parameters["clearance"] for z in (x, y)), color=colour, linewidth=0.8, label=label)
            force = run.normal_impulse[1:, 0].reshape(-1) / (run.dt * run.every)
            smooth = np.convolve(force, np.full(25, 1 / 25), mode="same")
            load.plot(turns[1:], smooth, color=colour, linewidth=0.7)
        pin.set(xlim=(-1.12, 1.12), ylim=(-1.12, 1.12), aspect="equal")
        style.panel(pin, "pin in its bushing, last turn", "$x / c$", "$y / c$")
        style.panel(off, "piston less ideal piston", "", "$\\Delta s / c$")
        style.panel(load, "force of the bearing, mean over 0.5 ms", "turns", "$\\lambda_N$ [N]")
        pin.legend(fontsize=7, loc="center")
    print("written", style.save(figure, path))


if __name__ == "__main__":
    main()
