"""A pendulum that swings against a stop at its lowest point: half a swing, and less energy after every impact.

Released at phi_0 it takes K(sin(phi_0 / 2)) sqrt(l / g) down to the stop (K: complete elliptic integral), and leaves it
with eps times its speed: 1 - cos(phi) of the turning points falls by eps^2 each time.

Run: python examples/pendulum_against_stop.py --plot pendulum.png
"""

import argparse
import math

import numpy as np
import sympy as sp
from scipy.special import ellipk
from sympy.physics.mechanics import dynamicsymbols

import stickslip as ss

LENGTH, G, RESTITUTION, ANGLE = 0.5, 9.81, 0.9, 1.2


def model() -> ss.LagrangianSystem:
    phi = dynamicsymbols("phi")
    m, length, g, eps = sp.symbols("m length g eps")
    return ss.LagrangianSystem.from_energies(
        [phi],
        kinetic=m * (length * phi.diff()) ** 2 / 2,
        potential=m * g * length * (1 - sp.cos(phi)),
        contacts=[ss.Stop("stop", length * phi, lower=0, restitution=eps)],
        parameters={m: 0.2, length: LENGTH, g: G, eps: RESTITUTION},
        name="pendulum against a stop",
    )


def main(arguments: list[str] | None = None) -> dict[str, float]:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--dt", type=float, default=1e-4)
    options.add_argument("--t-end", type=float, default=5.0)
    options.add_argument("--plot")
    args = options.parse_args(arguments)
    trajectory = ss.simulate(model(), q0=[ANGLE], u0=[0.0], dt=args.dt, t_end=args.t_end)
    strikes = float(trajectory.impacts()["time"][0])
    expected = float(ellipk(math.sin(ANGLE / 2) ** 2)) * math.sqrt(LENGTH / G)
    omega, phi = trajectory["phi_dot"], trajectory["phi"]
    height = 1 - np.cos(phi[np.flatnonzero((omega[:-1] > 0) & (omega[1:] <= 0))])
    ratio = float((height[1:] / height[:-1]).mean())
    print(f"first impact at t = {strikes:.5f} s (closed form: {expected:.5f} s)")
    print(f"heights of the turning points fall by {ratio:.5f} (eps^2 = {RESTITUTION**2:.5f})")
    print(trajectory.certificate)
    if args.plot:
        import matplotlib.pyplot as plt

        plt.plot(trajectory.t, phi)
        plt.gca().set(xlabel="t in s", ylabel="angle in rad")
        plt.savefig(args.plot)
    return {"strikes": strikes, "expected": expected, "ratio": ratio}


if __name__ == "__main__":
    main()
