"""A cart-pole is balanced by a force on the cart, from a law that is called 100 times a second.

The gains place the poles of the linearised system (Lagrange's equations of cart and pole) by Riccati's equation. The
cart begins at rest, with the pole leaning by 0.2 rad.

Run: python examples/cart_pole.py --plot cart_pole.png
"""

import argparse
import math

import numpy as np
from scipy.linalg import solve_continuous_are

import stickslip as ss

CART, POLE, HALF, RATE = 1.0, 0.2, 0.5, 100.0  # [kg], [kg], [m], [1/s]


def scene(lean: float) -> ss.Scene:
    """A cart on a rail, and a pole that leans by an angle [rad] to the left."""
    found = ss.Scene(dim=2, gravity=9.81, name="cart-pole")
    cart = found.add_body(ss.Polygon.rectangle(0.4, 0.2), mass=CART, position=(0, 0), name="cart")
    place = (-HALF * math.sin(lean), HALF * math.cos(lean))
    pole = found.add_body(
        ss.Polygon.rectangle(0.04, 2 * HALF), mass=POLE, position=place, orientation=lean, name="pole"
    )
    found.add_prismatic(None, cart, (0, 0), axis=(1, 0), name="rail")
    found.add_revolute(cart, pole, (0, 0), name="pivot")
    return found


def gains() -> np.ndarray:
    """Feedback of (x, angle, speed, turn), least in x^2 + 10 angle^2 + 0.1 F^2 [linear-quadratic regulator]."""
    inertia = POLE * (2 * HALF) ** 2 / 12.0 + POLE * HALF**2
    mass = np.array([[CART + POLE, -POLE * HALF], [-POLE * HALF, inertia]])
    stiffness = np.array([[0.0, 0.0], [0.0, POLE * 9.81 * HALF]])
    A, B = np.zeros((4, 4)), np.zeros((4, 1))
    A[:2, 2:], A[2:, :2] = np.eye(2), np.linalg.solve(mass, stiffness)
    B[2:, 0] = np.linalg.solve(mass, np.array([1.0, 0.0]))
    P = solve_continuous_are(A, B, np.diag([1.0, 10.0, 0.1, 0.1]), np.array([[0.1]]))
    return np.asarray(-10.0 * B.T @ P)[0]


def main(arguments: list[str] | None = None) -> dict[str, float]:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--lean", type=float, default=0.2)
    options.add_argument("--t-end", type=float, default=6.0)
    options.add_argument("--plot")
    args = options.parse_args(arguments)
    sim, gain = ss.Simulator(scene(args.lean), dt=1e-3, every=10), gains()

    def balance(sim: ss.Simulator) -> None:
        rail, pivot = sim.joint("rail"), sim.joint("pivot")
        rail.torque = gain @ [rail.coordinate, args.lean + pivot.coordinate, rail.speed, pivot.speed]

    sim.run(args.t_end, control=balance, rate=RATE)
    x, angle = sim.joint("rail").coordinate, args.lean + sim.joint("pivot").coordinate
    print(f"after {sim.t:g} s: cart at {1e3 * x:.2f} mm, pole at {1e3 * angle:.3f} mrad")
    run = sim.trajectory()
    print(run.certificate)
    if args.plot:
        run.plot(args.plot)
    return {"x": x, "angle": angle}


if __name__ == "__main__":
    main()
