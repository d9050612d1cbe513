"""A quadruped and a humanoid, read from their files, stand for 10 s on position motors at all joints.

The files are those that Bullet hands out as pybullet_data; their folder is found where it is installed, or named by
--robots. Motors hold the pose of the start: effort = stiffness (target - x) - damping u at the end of each step, within
an effort limit, by the motors' own rows in the contact problem. So gains need no tuning to the step. Springs of the
file's joints stay. The humanoid sways on its ankles by some millimetres for six seconds; its feet do not move.

Run: python examples/robots_that_stand.py --plot standing.png
"""

import argparse
import importlib.util
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import stickslip as ss
from stickslip.figures.scene import gallery
from stickslip.scenes.collision.overlaps import lowest

LEGS = {f"{leg}_{part}_joint": x for leg in ("FR", "FL", "RR", "RL") for part, x in (("upper", 0.9), ("lower", -1.8))}
ROBOTS = {  # file, pose at the start, stiffness [N m/rad], damping [N m s/rad], largest effort [N m]
    "quadruped": ("a1/a1.urdf", LEGS, 300.0, 5.0, 33.5),
    "humanoid": ("mjcf/humanoid.xml", {}, 500.0, 20.0, 200.0),
}


def folder() -> Path | None:
    """Where pybullet_data is installed."""
    found = importlib.util.find_spec("pybullet_data")
    return Path(found.origin).parent if found is not None and found.origin else None


def standing(file: Path, pose: dict[str, float], stiffness: float, damping: float, effort: float) -> ss.Simulator:
    """The robot on the ground with a motor at each joint."""
    found = ss.import_robot(file, base="free", pose=pose, self_collision="none")
    scene = found.scenario.scene
    if not any(isinstance(body.shape, ss.HalfSpace) for body in scene.bodies):
        scene.add_static(ss.HalfSpace((0, 0, 1), offset=lowest(scene)), friction=0.8, name="floor of the example")
    sim = ss.Simulator(scene, dt=1e-3, every=20, tol=1e-8)
    for joint in scene.joints:
        if joint.kind == "revolute":
            spring = joint.motor.stiffness
            sim.joint(joint.name).motor = ss.Motor(stiffness=stiffness + spring, damping=damping, effort=effort)
    return sim


def main(arguments: list[str] | None = None) -> dict[str, float]:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--robots", type=Path, default=folder(), help="folder with the files")
    options.add_argument("--t-end", type=float, default=10.0)
    options.add_argument("--plot")
    args = options.parse_args(arguments)
    if args.robots is None:
        raise SystemExit("name the folder of pybullet_data by --robots, or install it.")
    result, runs = {}, []
    for name, (file, *settings) in ROBOTS.items():
        sim = standing(args.robots / file, *settings)
        trunk = max((body for body in sim.scene.bodies if body.kind == "moving"), key=lambda body: body.mass)
        sim.run(0.6 * args.t_end)
        begin = sim.body(trunk).position
        sim.run(args.t_end)
        drift = float(np.linalg.norm(sim.body(trunk).position - begin))
        tilt = float(2.0 * np.arcsin(np.linalg.norm(sim.body(trunk).orientation[1:3])))
        settled = 0.6 * args.t_end
        print(f"{name}: trunk at {begin[2]:.4f} m; from {settled:.3g} to {sim.t:.3g} s it moves {1e3 * drift:.3f} mm")
        print(sim.certificate)
        result |= {f"{name} drift": drift, f"{name} tilt": tilt, f"{name} failed": sim.certificate.failed_steps}
        runs.append((sim.scenario, sim.trajectory()))
    if args.plot:
        gallery(runs, columns=2).savefig(args.plot, dpi=160)
        plt.close("all")
    return result


if __name__ == "__main__":
    main()
