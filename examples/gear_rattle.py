"""Gear rattle: a loose gear hammers between the flanks of a driven one, an impact pair with a moving gap.

Without drag there is a motion with one impact on each flank per period: the gear crosses with the speed w while its
mate turns half a period on. From the play, w pi / Omega = 2 A sin(alpha) + b, and from Newton's law the flank recedes
with w (1 - eps) / (1 + eps) = -A Omega cos(alpha): a quadratic equation for w.

Run: python examples/gear_rattle.py --plot rattle.png
"""

import argparse
import math

import numpy as np
import sympy as sp

import stickslip as ss

PLAY, AMPLITUDE, OMEGA, RESTITUTION = 1.2e-3, 5e-4, 2 * math.pi * 25.0, 0.3


def model() -> ss.LagrangianSystem:
    s, v, t, mass, b, A, W = sp.symbols("s v t mass b A W")
    return ss.LagrangianSystem.from_energies(
        [s],
        velocities=[v],
        kinetic=mass * v**2 / 2,
        contacts=[ss.Stop("flank", s - A * sp.sin(W * t), lower=-b / 2, upper=b / 2, restitution="eps")],
        parameters={mass: 0.4, b: PLAY, A: AMPLITUDE, W: OMEGA, "eps": RESTITUTION},
        name="gear rattle",
    )


def main(arguments: list[str] | None = None) -> dict[str, float]:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--dt", type=float, default=1e-6)
    options.add_argument("--t-end", type=float, default=2.0)
    options.add_argument("--plot")
    args = options.parse_args(arguments)
    trajectory = ss.simulate(model(), q0=[0.0], u0=[0.15], dt=args.dt, t_end=args.t_end, every=10)
    impacts = trajectory.impacts()
    interval = float(np.diff(impacts["time"][-21:]).mean())
    w = sp.Symbol("w", positive=True)
    sine, cosine = (w * sp.pi / OMEGA - PLAY) / 2, w * (1 - RESTITUTION) / (1 + RESTITUTION) / OMEGA
    expected = float(max(sp.solve(sine**2 + cosine**2 - AMPLITUDE**2, w)))
    speed = float(np.abs(trajectory.u[-1, 0]))
    print(f"{len(impacts)} impacts, the last twenty every {interval:.7f} s (half a period: {math.pi / OMEGA:.7f} s)")
    print(f"crossing speed {speed:.6f} m/s (closed form: {expected:.6f} m/s)")
    print(trajectory.certificate)
    if args.plot:
        import matplotlib.pyplot as plt

        plt.plot(trajectory.t, 1e3 * trajectory["flank lower"], trajectory.t, 1e3 * trajectory["flank upper"])
        plt.gca().set(xlabel="t in s", ylabel="gaps of the flanks in mm", xlim=(0, min(0.2, args.t_end)))
        plt.savefig(args.plot)
    return {"interval": interval, "speed": speed, "expected": expected}


if __name__ == "__main__":
    main()
