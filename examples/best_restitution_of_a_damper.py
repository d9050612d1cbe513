"""An impact damper with the best restitution: a gradient of samples through several impacts, and its second derivative.

A mass on a spring carries a loose mass between two walls.  Each strike takes energy out of the vibration.  What is
left is the mean of x^2 over samples of the last part of the motion.  Restitution 1 takes nothing out; restitution 0
makes the loose mass ride along with the wall that it strikes.  In between lies the best value.  Newton's method with
`ss.hessian` finds it, from the best of a coarse grid.

Run: python examples/best_restitution_of_a_damper.py --plot damper.png
"""

import argparse
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

import stickslip as ss

TIMES = np.linspace(10.0, 16.0, 61)


def damper(restitution: float = 0.5) -> ss.Scenario:
    """x of the main mass, y of the loose one; m = k = 1, loose mass 0.2, room 1.6 to either side."""
    x, y, v, w, d, e, m = sp.symbols("x y v w d e m")
    walls = [
        ss.Contact("left wall", gap=d + y - x, restitution_normal=e),
        ss.Contact("right wall", gap=d - y + x, restitution_normal=e),
    ]
    system = ss.LagrangianSystem.from_energies(
        [x, y],
        velocities=[v, w],
        kinetic=v**2 / 2 + m * w**2 / 2,
        potential=x**2 / 2,
        contacts=walls,
        parameters={d: 1.6, e: restitution, m: 0.2},
        name="impact damper",
    )
    return ss.Scenario(system, [1.0, 1.0], [0.0, 0.0], 1e-3, float(TIMES[-1]), "impact damper", "")


def left_over(t: np.ndarray, q: np.ndarray, u: np.ndarray) -> float:
    return float((q[:, 0] ** 2).mean())


def slope(t: np.ndarray, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    by_q = np.zeros_like(q)
    by_q[:, 0] = 2.0 * q[:, 0] / len(t)
    return by_q, np.zeros_like(u)


def measured(e: float) -> tuple[float, float]:
    """What is left at a restitution, and its derivative; the derivative is nan where there is none."""
    case = replace(damper(), params={"e": e})
    try:
        value, found = ss.gradient(left_over, case, ["e"], times=TIMES, slope=slope)
        return value, float(found[0])
    except ValueError:
        run = case.simulate(dt=TIMES[1] - TIMES[0], stepper=ss.EventDriven(), progress=False)
        return float((run.q[-len(TIMES) :, 0] ** 2).mean()), np.nan


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--grid", type=int, default=41)
    options.add_argument("--plot")
    args = options.parse_args(arguments)
    grid = np.linspace(0.05, 0.95, args.grid)
    rows = np.array([measured(float(e)) for e in grid])
    best = float(grid[int(np.argmin(rows[:, 0]))])
    low, high = best - (grid[1] - grid[0]), best + (grid[1] - grid[0])
    path = [best]
    for _ in range(8):
        found = ss.hessian(
            left_over, replace(damper(), params={"e": path[-1]}), ["e"], times=TIMES, slope=slope, rtol=1e-11
        )
        step = -float(found.gradient[0]) / abs(float(found.matrix[0, 0]))
        path.append(float(np.clip(path[-1] + step, low, high)))
        if abs(path[-1] - path[-2]) < 1e-10:
            break
    value, at = measured(path[-1])
    print(f"best restitution {path[-1]:.8f}: {value:.6f} m^2 is left, derivative {at:.1e}")
    print("steps of Newton's method:", " ".join(f"{e:.8f}" for e in path))
    if args.plot:
        draw(grid, rows, path[-1], value, args.plot)
    return {"best": path[-1], "value": value, "derivative": at, "grid": grid, "rows": rows}


def draw(grid: np.ndarray, rows: np.ndarray, best: float, value: float, path: str) -> None:
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    fine = 0.35 * (grid[1] - grid[0])
    for e, (v, s) in zip(grid, rows, strict=True):
        left.plot([e - fine, e + fine], [v - fine * s, v + fine * s], "C0-")
    left.plot(grid, rows[:, 0], "k.", markersize=3, label="runs, with their derivatives")
    left.plot(best, value, "C3o", label=f"best: {best:.4f}")
    left.set(xlabel="restitution", ylabel="mean x$^2$ that is left in m$^2$")
    left.legend()
    for e in (best, 0.95):
        run = replace(damper(), params={"e": e}).simulate(dt=0.01, stepper=ss.EventDriven(), progress=False)
        right.plot(run.t, run["x"], label=f"restitution {e:.2f}")
    right.axvspan(TIMES[0], TIMES[-1], color="0.93")
    right.set(xlabel="t in s", ylabel="x in m")
    right.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
