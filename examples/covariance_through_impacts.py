"""Covariance of a bouncing ball through its impacts: one run with derivatives against a million runs.

The height and the velocity of the start are normally distributed.  To first order the covariance at the end is
X S X^T with X = dx/d(start) of `ss.sensitivity`.  Derivatives that hold the times of impacts give another one.

Run: python examples/covariance_through_impacts.py --plot covariance.png
"""

import argparse
import time
from typing import Any

import numpy as np

import stickslip as ss

HEIGHT, SPREAD, SPEED_SPREAD, TIME = 1.0, 0.01, 0.02, 1.0


def ball() -> ss.Scenario:
    return ss.library.bouncing_ball(restitution=0.8)


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--members", type=int, default=1_000_000)
    options.add_argument("--dt", type=float, default=5e-4)
    options.add_argument("--plot")
    args = options.parse_args(arguments)
    found = ss.sensitivity(ball(), ["y", "v"], t_end=TIME, samples=2)
    spread = np.diag([SPREAD**2, SPEED_SPREAD**2])
    exact = found.end @ spread @ found.end.T
    steps = ss.step_sensitivity(ball(), ["y", "v"], dt=5e-3, t_end=TIME, every=1000)
    held = steps.end @ spread @ steps.end.T
    start = time.process_time()
    members = ss.ensemble(
        ball(),
        {"y": f"normal:{HEIGHT}:{SPREAD}", "v": f"normal:0:{SPEED_SPREAD}"},
        ["final"],
        samples=args.members,
        seed=1,
        dt=args.dt,
        t_end=TIME,
    )
    ends = np.column_stack([members["final_q"].values.reshape(-1), members["final_u"].values.reshape(-1)])
    seconds = time.process_time() - start
    measured = np.cov(ends.T)
    error = float(np.abs(measured - exact).max() / np.abs(exact).max())
    worst = float(np.abs(measured / exact - 1.0).max())
    print("covariance of (y, v) by derivatives of the motion:  ", exact.ravel()[[0, 1, 3]])
    print(f"covariance of {args.members} members ({seconds:.0f} s):", measured.ravel()[[0, 1, 3]])
    print("covariance by derivatives of time steps (wrong):    ", held.ravel()[[0, 1, 3]])
    print(f"motion against members: {100 * worst:.2f} % in the worst entry")
    if args.plot:
        draw(ends, found, exact, held, args.plot)
    return {"exact": exact, "measured": measured, "held": held, "error": error, "worst": worst, "seconds": seconds}


def draw(ends: np.ndarray, found: Any, exact: np.ndarray, held: np.ndarray, path: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
    some = ends[:: max(1, len(ends) // 5000)]
    axes.plot(some[:, 0], some[:, 1], ".", markersize=1, color="0.6", label="members")
    turn = np.linspace(0, 2 * np.pi, 200)
    centre = np.array([found.trajectory.q[-1, 0], found.trajectory.u[-1, 0]])
    for C, style, name in ((exact, "C0-", "motion, 2 sigma"), (held, "C3--", "time steps, 2 sigma")):
        values, vectors = np.linalg.eigh(C)
        circle = np.array([np.cos(turn), np.sin(turn)])
        ring = centre[:, None] + 2.0 * vectors @ (np.sqrt(np.maximum(values, 0))[:, None] * circle)
        axes.plot(ring[0], ring[1], style, label=name)
    axes.set(xlabel="height in m", ylabel="velocity in m/s", title=f"after one bounce, t = {TIME:g} s")
    axes.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
