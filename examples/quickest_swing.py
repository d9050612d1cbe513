"""The quickest swing of a pendulum to a stop, by a weak motor: an optimum that lies on a corner.

The motor's torque is bounded and too weak to lift the pendulum at once.  A stop at the lowest point throws the
pendulum back with restitution 0.9.  So the motor pushes down first, with all its torque, and up from the time s on
("bang-bang").  The time at which the upper stop is struck has the derivative of `ss.gradient` by s, through the strike
of the lower stop.  Its sign changes by a jump: the quickest motor turns right when the lower stop is struck.  There the
two events change places, the time has a kink, and no derivative is zero.  Halving by signs finds it all the same.

Run: python examples/quickest_swing.py --plot swing.png
"""

import argparse
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

import stickslip as ss

TORQUE, GOAL, HORIZON, START = 0.6, 1.4, 4.0, 0.3  # in m g l; rad; in sqrt(l / g); rad


def pendulum(s: float) -> ss.Scenario:
    """m = g = l = 1: phi'' = -sin(phi) + torque, with stops at 0 and at GOAL."""
    phi, omega, t, turn = sp.symbols("phi omega t s")
    system = ss.LagrangianSystem.from_energies(
        [phi],
        velocities=[omega],
        kinetic=omega**2 / 2,
        potential=1 - sp.cos(phi),
        forces=[TORQUE * sp.Piecewise((-1, t < turn), (1, True))],
        time=t,
        contacts=[
            ss.Contact("lower stop", gap=phi, restitution_normal=0.9),
            ss.Contact("upper stop", gap=GOAL - phi, restitution_normal=0.5),
        ],
        parameters={turn: s},
        name="pendulum with a weak motor",
    )
    return ss.Scenario(system, [START], [0.0], 1e-3, HORIZON, "swing", "")


def strike(case: ss.Scenario, s: float) -> tuple[float, float]:
    """Time at which the upper stop is struck, and its derivative by s."""
    found, slope = ss.gradient(
        lambda t: t[0],
        replace(case, params={"s": s}),
        ["s"],
        events="impact",
        contact="upper stop",
        slope=lambda t: np.eye(len(t))[0],
    )
    return found, float(slope[0])


def struck_first(case: ss.Scenario) -> float:
    """When a motor that only pushes down strikes the lower stop."""
    run = replace(case, params={"s": HORIZON}).simulate(dt=0.1, stepper=ss.EventDriven(rtol=1e-12), progress=False)
    return float(run.impacts()["time"][0])


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--width", type=float, default=1e-7, help="of the last interval")
    options.add_argument("--plot")
    args = options.parse_args(arguments)
    low, high = 0.7, 0.95
    case = pendulum(low)
    below, above = strike(case, low), strike(case, high)
    tried = [(low, *below), (high, *above)]
    while high - low > args.width:
        s = 0.5 * (low + high)
        here = strike(case, s)
        tried.append((s, *here))
        if here[1] < 0.0:
            low, below = s, here
        else:
            high, above = s, here
    lower = struck_first(case)
    print(f"quickest: torque turns at {0.5 * (low + high):.7f}, upper stop struck at {min(below[0], above[0]):.7f}")
    print(f"lower stop struck at {lower:.7f}; derivatives of the time on both sides: {below[1]:.6f}, {above[1]:.6f}")
    if args.plot:
        draw(case, np.array(tried), 0.5 * (low + high), args.plot)
    return {"turn": 0.5 * (low + high), "time": min(below[0], above[0]), "below": below[1], "above": above[1],
            "lower": lower, "first": tried[0][1]}  # fmt: skip


def draw(case: ss.Scenario, tried: np.ndarray, best: float, path: str) -> None:
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for s, color in ((0.7, "0.6"), (best + 1e-7, "C0"), (0.95, "C1")):
        t_end = strike(case, s)[0]
        run = replace(case, params={"s": s}).simulate(
            dt=t_end / 400, t_end=t_end, stepper=ss.EventDriven(), progress=False
        )
        left.plot(run.t, run["phi"], color=color, label=f"s = {s:.3f}: strikes at {t_end:.3f}")
    left.axhline(GOAL, color="k", linewidth=0.8)
    left.axhline(0.0, color="k", linewidth=0.8)
    left.set(xlabel="t in sqrt(l / g)", ylabel="angle in rad")
    left.legend()
    for s, value, slope in [*tried, *((s, *strike(case, s)) for s in np.linspace(0.72, 0.94, 12))]:
        right.plot([s - 0.01, s + 0.01], [value - 0.01 * slope, value + 0.01 * slope], "C0-", linewidth=1)
        right.plot(s, value, "k.", markersize=3)
    right.axvline(best, color="C3", linewidth=0.8)
    right.set(xlabel="s in sqrt(l / g)", ylabel="time of the strike, with its derivative")
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
