"""A gripper takes a box from the ground, lifts it by 0.3 m and turns it upside down, by motors with limited efforts.

The hand hangs on a slide (lift) with a hinge (wrist), and two fingers slide in it. One finger is held in its place by a
stiff position motor, the other presses with 25 N: friction 0.8 would carry 40 N, and the box weighs 4.9 N. Position
motors are implicit, so that no gain makes them unstable.

Run: python examples/gripper.py --plot gripper.png
"""

import argparse
import math

import numpy as np

import stickslip as ss

LIFT, TURN, PRESS, MASS = 0.3, math.pi, 25.0, 0.5


def scene() -> ss.Scene:
    """The ground, a box, and the gripper around it."""
    found = ss.Scene(dim=3, name="gripper")
    found.add_static(ss.HalfSpace((0, 0, 1)), friction=0.5, name="ground")
    found.add_body(ss.Box((0.06, 0.06, 0.1)), mass=MASS, position=(0, 0, 0.05), friction=0.8, name="box")
    carriage = found.add_body(ss.Box((0.06, 0.06, 0.04)), mass=1.0, position=(0, 0, 0.5), name="carriage")
    hand = found.add_body(ss.Box((0.05, 0.16, 0.03)), mass=0.8, position=(0, 0, 0.2), name="hand")
    found.add_prismatic(None, carriage, (0, 0, 0.5), (0, 0, 1), name="lift")
    found.add_revolute(carriage, hand, (0, 0, 0.2), (1, 0, 0), name="wrist", damping=0.05)
    for name, side in (("left", 1), ("right", -1)):
        finger = found.add_body(
            ss.Box((0.04, 0.015, 0.1)), mass=0.1, position=(0, 0.05 * side, 0.12), friction=0.8, name=name
        )
        found.add_prismatic(
            hand, finger, (0, 0.05 * side, 0.2), (0, -side, 0), limits=(-0.01, 0.05), name=f"{name} finger"
        )
    return found


def smooth(t: float, begin: float, end: float) -> float:
    """0 before `begin`, 1 after `end`, without a jump in speed."""
    s = min(max((t - begin) / (end - begin), 0.0), 1.0)
    return s * s * (3.0 - 2.0 * s)


def control(sim: ss.Simulator) -> None:
    """Press for 0.3 s, lift for 1 s, turn for 1.5 s, hold."""
    sim.joint("lift").motor = ss.Motor(
        target=LIFT * smooth(sim.t, 0.3, 1.3), stiffness=2e4, damping=400.0, effort=200.0
    )
    sim.joint("wrist").motor = ss.Motor(
        target=TURN * smooth(sim.t, 1.4, 2.9), stiffness=400.0, damping=10.0, effort=30.0
    )
    sim.joint("left finger").motor = ss.Motor(target=0.0125, stiffness=1e5, damping=500.0)
    sim.joint("right finger").torque = PRESS


def main(arguments: list[str] | None = None) -> dict[str, float]:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--dt", type=float, default=1e-3)
    options.add_argument("--t-end", type=float, default=3.5)
    options.add_argument("--plot")
    args = options.parse_args(arguments)
    sim = ss.Simulator(scene(), dt=args.dt, every=10, tol=1e-8)
    sim.run(args.t_end, control=control, rate=100)
    box, hand = sim.body("box"), sim.body("hand")
    run, w = sim.trajectory(), box.orientation
    down = 1.0 - 2.0 * (w[1] ** 2 + w[2] ** 2)  # of the box's own z axis, in world axes
    slip = float(np.linalg.norm(box.position - hand.position)) - 0.15
    print(f"box at {np.round(box.position, 4)}, its top points to {down:+.4f}, slipped {1e3 * slip:.3f} mm")
    print(run.certificate)
    if args.plot:
        run.plot(args.plot)
    return {"height": float(box.position[2]), "down": float(down), "slip": slip}


if __name__ == "__main__":
    main()
