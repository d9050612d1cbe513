"""Two blocks on a moving belt, tied to walls and to each other by springs; block 1 is shaken: stick and slip.

The weights press the blocks on the belt: dry friction with a constant bound R = mu m g, which may stick. At first both
ride the belt, x = v t, until the spring of block 2, which is not shaken, overcomes friction: k v t = R.

Run: python examples/friction_oscillator.py --plot blocks.png
"""

import argparse

import numpy as np
import sympy as sp

import stickslip as ss

MASS, STIFFNESS, COUPLING, BELT, BOUND, FORCE, OMEGA = 1.0, 100.0, 120.0, 0.1, 3.0, 2.0, 7.5


def model() -> ss.LagrangianSystem:
    t = sp.Symbol("t")
    x, u = sp.symbols("x_1 x_2"), sp.symbols("v_1 v_2")
    m, k, c, belt, R, F, w = sp.symbols("m k c belt R F w")
    return ss.LagrangianSystem.from_energies(
        x,
        velocities=u,
        kinetic=m * (u[0] ** 2 + u[1] ** 2) / 2,
        potential=(k * (x[0] ** 2 + x[1] ** 2) + c * (x[0] - x[1]) ** 2) / 2,
        forces=[F * sp.sin(w * t), 0],
        contacts=[ss.DryFriction(f"block {i + 1}", x[i] - belt * t, R) for i in range(2)],
        parameters={m: MASS, k: STIFFNESS, c: COUPLING, belt: BELT, R: BOUND, F: FORCE, w: OMEGA},
        name="two blocks on a belt",
    )


def main(arguments: list[str] | None = None) -> dict[str, float]:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--dt", type=float, default=1e-4)
    options.add_argument("--t-end", type=float, default=20.0)
    options.add_argument("--plot")
    args = options.parse_args(arguments)
    trajectory = ss.simulate(model(), q0=[0.0, 0.0], u0=[BELT, BELT], dt=args.dt, t_end=args.t_end)
    states = trajectory.states()
    slips = trajectory.t[np.argmax(np.char.startswith(states[:, 1], "slip"))]
    expected = BOUND / (STIFFNESS * BELT)
    share = (states[1:] == "stick").mean(axis=0)
    print(f"block 2 slips at t = {slips:.5f} s (closed form: {expected:.5f} s)")
    print(f"sticking: block 1 {100 * share[0]:.1f} %, block 2 {100 * share[1]:.1f} % of the time")
    print(trajectory.certificate)
    if args.plot:
        import matplotlib.pyplot as plt

        plt.plot(trajectory.t, trajectory.u)
        plt.gca().set(xlabel="t in s", ylabel="velocities in m/s", xlim=(0, min(8.0, args.t_end)))
        plt.savefig(args.plot)
    return {"slips": float(slips), "expected": expected, "share_1": float(share[0]), "share_2": float(share[1])}


if __name__ == "__main__":
    main()
