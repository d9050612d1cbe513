"""A ball on a vibrating table: the contact moves, and the bounces lock to it.

The gap y - e(t) contains the time, so that the contact has a velocity of its own. One bounce per period asks for the
take-off velocity U = g / (2 f) and for a table that rises with U (1 - eps) / (1 + eps) at the impact. This orbit is
stable for the amplitude chosen here, so a ball thrown up at about the speed U settles on it.

Run: python examples/ball_on_vibrating_table.py --plot ball.png
"""

import argparse
import math

import numpy as np
import sympy as sp

import stickslip as ss

G, FREQUENCY, RESTITUTION = 9.81, 30.0, 0.8
AMPLITUDE = 0.7 * G / (2 * math.pi * FREQUENCY) ** 2


def model() -> ss.LagrangianSystem:
    y, v, t, mass, g, a, f = sp.symbols("y v t mass g a f")
    return ss.LagrangianSystem.from_energies(
        [y],
        velocities=[v],
        kinetic=mass * v**2 / 2,
        potential=mass * g * y,
        contacts=[ss.Contact("table", gap=y - a * sp.sin(2 * sp.pi * f * t), restitution_normal="eps")],
        parameters={mass: 0.1, g: G, a: AMPLITUDE, f: FREQUENCY, "eps": RESTITUTION},
        name="ball on a vibrating table",
    )


def main(arguments: list[str] | None = None) -> dict[str, float]:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--dt", type=float, default=1e-5)
    options.add_argument("--t-end", type=float, default=4.0)
    options.add_argument("--plot")
    args = options.parse_args(arguments)
    trajectory = ss.simulate(model(), q0=[AMPLITUDE], u0=[0.2], dt=args.dt, t_end=args.t_end)
    impacts = trajectory.impacts()
    period = float(np.diff(impacts["time"][-11:]).mean())
    closing = G / (2 * FREQUENCY) * (1 + (1 - RESTITUTION) / (1 + RESTITUTION))
    mean = -float(impacts["normal_velocity_before"][-10:].mean())
    print(f"{len(impacts)} impacts, the last ten every {period:.6f} s (locked: {1 / FREQUENCY:.6f} s)")
    print(f"closing velocity {mean:.5f} m/s (locked: {closing:.5f} m/s)")
    print(trajectory.certificate)
    if args.plot:
        import matplotlib.pyplot as plt

        plt.plot(trajectory.t, 1e3 * trajectory["y"], trajectory.t, 1e3 * (trajectory["y"] - trajectory["table"]))
        plt.gca().set(xlabel="t in s", ylabel="height of ball and table in mm", xlim=(0, min(0.5, args.t_end)))
        plt.savefig(args.plot)
    return {"period": period, "closing": mean, "expected": closing}


if __name__ == "__main__":
    main()
