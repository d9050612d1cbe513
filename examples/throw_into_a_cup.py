"""A throw that bounces twice into a cup: Newton's method on exact derivatives through the bounces.

A ball with spin bounces on a rough floor: an impact changes v_x, v_y and the spin.  Wanted are the velocities of the
throw that bring it to the rim of a cup at a given time.  Two unknowns, two equations, and the derivatives of
`ss.sensitivity` with the moving times of the bounces in them: the error squares in every step.  With the derivatives
of time steps, which hold the times of impacts, Newton's method only creeps.

Run: python examples/throw_into_a_cup.py --plot cup.png
"""

import argparse
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

import stickslip as ss

RADIUS, MASS, CUP, RIM, TIME = 0.02, 0.0027, 1.6, 0.1, 1.4


def throw() -> ss.Scenario:
    """A table tennis ball, as a thin shell: J = 2/3 m r^2."""
    x, y, alpha, v_x, v_y, omega = sp.symbols("x y alpha v_x v_y omega")
    m, r, g, mu, e = sp.symbols("m r g mu e")
    table = ss.Contact("table", gap=y - r, slip=x + r * alpha, friction=mu, restitution_normal=e)
    system = ss.LagrangianSystem.from_energies(
        [x, y, alpha],
        velocities=[v_x, v_y, omega],
        kinetic=m * (v_x**2 + v_y**2) / 2 + m * r**2 * omega**2 / 3,
        potential=m * g * y,
        contacts=[table],
        parameters={m: MASS, r: RADIUS, g: 9.81, mu: 0.25, e: 0.85},
        name="thrown ball",
    )
    return ss.Scenario(system, [0, 0.5, 0], [1.0, 1.1, 0], 1e-3, TIME, "a throw", "")


def aimed(case: ss.Scenario, derivatives: str, most: int = 12) -> tuple[ss.Scenario, list[float]]:
    """Newton's method on (v_x, v_y): the throw, and the distance from the cup before every step [m]."""
    misses: list[float] = []
    for _ in range(most):
        if derivatives == "motion":
            found: Any = ss.sensitivity(case, ["v_x", "v_y"], samples=2)
            end = found.trajectory.q[-1]
        else:
            found = ss.step_sensitivity(case, ["v_x", "v_y"], dt=5e-3, every=1000)
            end = case.simulate(dt=TIME, stepper=ss.EventDriven(rtol=1e-11), progress=False).q[-1]
        miss = end[:2] - [CUP, RIM]
        misses.append(float(np.hypot(*miss)))
        if misses[-1] < 1e-12:
            break
        step = np.linalg.solve(found.end[:2], miss)
        u0 = np.array(case.u0, float)
        u0[:2] -= step * min(1.0, 0.4 / max(float(np.abs(step).max()), 1e-300))  # at most 0.4 m/s at once
        case = replace(case, u0=u0)
    return case, misses


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--plot")
    args = options.parse_args(arguments)
    start = throw()
    thrown, misses = aimed(start, "motion")
    _, others = aimed(start, "steps", len(misses) + 2)
    run = thrown.simulate(dt=2e-3, stepper=ss.EventDriven(rtol=1e-11), progress=False)
    bounces = len(run.impacts()["time"])
    print(f"throw with v_x = {thrown.u0[0]:.6f} m/s, v_y = {thrown.u0[1]:.6f} m/s: {bounces} bounces, then the cup")
    print("distance from the cup [m], derivatives of the motion:    ", " ".join(f"{miss:.1e}" for miss in misses))
    print("distance from the cup [m], derivatives of the time steps:", " ".join(f"{miss:.1e}" for miss in others))
    if args.plot:
        draw(start, run, misses, others, args.plot)
    return {"misses": misses, "others": others, "bounces": bounces, "u0": thrown.u0}


def draw(start: ss.Scenario, run: Any, misses: list[float], others: list[float], path: str) -> None:
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4), layout="constrained", width_ratios=[2, 1])
    first = start.simulate(dt=2e-3, stepper=ss.EventDriven(), progress=False)
    left.plot(first["x"], first["y"], color="0.7", label="first try")
    left.plot(run["x"], run["y"], label="found")
    left.plot([CUP - 0.06, CUP - 0.04, CUP + 0.04, CUP + 0.06], [RIM, 0, 0, RIM], color="k", label="cup")
    left.axhline(0, color="k", linewidth=0.5)
    left.set(xlabel="x in m", ylabel="y in m", aspect="equal")
    left.legend(loc="upper center")
    right.semilogy(np.maximum(misses, 1e-16), "o-", label="derivatives of the motion")
    right.semilogy(others, "s-", label="derivatives of time steps")
    right.set(xlabel="step of Newton's method", ylabel="distance from the cup in m")
    right.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
