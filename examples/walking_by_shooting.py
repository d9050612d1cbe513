"""Shooting for a walking gait: a passive walker's step that repeats, by derivatives through the strike of its foot.

The compass walker of Goswami, Thuilot and Espiau (1998) goes down a slope of 3 degrees.  In the middle of a step its
stance leg is upright.  A step later the legs have changed places.  Unknowns: angle of the swing leg, both angular
velocities, and the duration of a step; Newton's method with dx(T) = X dz + f dT.  The gait of the library has a step
of 0.734346391 s and 0.535445415 m.

Run: python examples/walking_by_shooting.py --plot gait.png
"""

import argparse
import math
from dataclasses import replace
from typing import Any

import numpy as np

import stickslip as ss

NAMES = ["x", "y", "theta_1", "theta_2", "v_x", "v_y", "omega_1", "omega_2"]
PLACES = [2, 3, 6, 7]  # angles and angular velocities


def upright(walker: ss.Scenario, swing: float, omega_1: float, omega_2: float) -> ss.Scenario:
    """The walker with leg 1 upright on its foot."""
    return replace(walker, q0=[0.0, 1.0, 0.0, swing], u0=[-omega_1, 0.0, omega_1, omega_2])


def first_guess(walker: ss.Scenario) -> np.ndarray:
    """Swing angle and angular velocities when the stance leg of the library's start is upright, a little changed."""
    run = walker.simulate(dt=1e-3, t_end=0.7, stepper=ss.EventDriven(), progress=False)
    k = int(np.flatnonzero(run["theta_1"] <= 0.0)[0])
    near = np.array([run["theta_2"][k], run["omega_1"][k], run["omega_2"][k]])
    return np.array([*(near * [1.01, 1.02, 0.99]), 0.75])


def shot(walker: ss.Scenario, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
    """What is left of the periodicity, its Jacobian (4, 4), and the derivatives of the step."""
    case = upright(walker, *z[:3])
    found = ss.sensitivity(case, NAMES, t_end=float(z[3]), samples=2)
    run = found.trajectory
    x = np.concatenate([run.q[-1], run.u[-1]])
    # leg 1 turns about its foot: v_x = -omega_1 belongs to a change of omega_1
    D = np.zeros((8, 3))
    D[3, 0], D[[6, 4], 1], D[7, 2] = 1.0, (1.0, -1.0), 1.0
    ahead, behind = (end_of(case, float(z[3]) + step) for step in (1e-5, -1e-5))
    rate = (ahead - behind) / 2e-5
    J = np.column_stack([found.end @ D, rate])[PLACES]
    start = np.array([0.0, *z[:3]])
    swapped = start[[1, 0, 3, 2]]
    J[:, :3] -= np.array([[1, 0, 0], [0, 0, 0], [0, 0, 1], [0, 1, 0]])
    return x[PLACES] - swapped, J, found


def end_of(case: ss.Scenario, t: float) -> np.ndarray:
    run = case.simulate(dt=t, t_end=t, stepper=ss.EventDriven(rtol=1e-11), progress=False)
    return np.concatenate([run.q[-1], run.u[-1]])


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--plot")
    args = options.parse_args(arguments)
    walker = ss.library.compass_gait(slope=math.radians(3.0))
    z, misses = first_guess(walker), []
    for _ in range(8):
        left, J, found = shot(walker, z)
        misses.append(float(np.abs(left).max()))
        if misses[-1] < 1e-10:
            break
        z = z - np.linalg.solve(J, left)
    run = found.trajectory
    length = float(run.q[-1, 0] - run.q[0, 0])
    print(f"a step takes {z[3]:.9f} s and is {length:.9f} m long")
    print("what is left of the periodicity:", " ".join(f"{miss:.1e}" for miss in misses))
    if args.plot:
        draw(upright(walker, *z[:3]), float(z[3]), misses, args.plot)
    return {"duration": float(z[3]), "length": length, "misses": misses}


def draw(case: ss.Scenario, period: float, misses: list[float], path: str) -> None:
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    run = case.simulate(dt=period / 300, t_end=2 * period, stepper=ss.EventDriven(), progress=False)
    for k, name in ((1, "leg 1"), (2, "leg 2")):
        left.plot(run[f"theta_{k}"], run[f"omega_{k}"], "--" if k == 2 else "-", label=name)
        left.plot(run[f"theta_{k}"][0], run[f"omega_{k}"][0], "ko", markersize=3)
    left.set(xlabel="angle in rad", ylabel="angular velocity in rad/s", title="two steps: each leg closes its curve")
    left.legend()
    right.semilogy(misses, "o-")
    right.set(xlabel="step of Newton's method", ylabel="what is left of the periodicity")
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
