"""Robots that stand on position motors: steps per second of processor time and drift, beside MuJoCo and Bullet.

`stickslip bench scenes FOLDER` reads the files of ROBOTS that the folder has (Bullet hands them out as
`pybullet_data`).  All joints are held at the pose of the start.  Here and in MuJoCo the effort is
stiffness (target - x) - damping u within its limit: here all of it at the end of the step, in MuJoCo its damping
("implicitfast", with elliptic cones).  Bullet takes its own position motors, with their gains, within that limit.
Springs of the joints in the file stay beside the motors.  A joint whose limits leave out its pose begins, and is held,
at the nearest limit.  Robots do not collide with themselves.  Time and drift are counted after a while in which the
robot settles: the humanoid sways for some seconds on its ankles.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

DT, TOL, FRICTION = 1e-3, 1e-8, 0.8
SETTLE, T_END, QUICK = 6.0, 10.0, 0.1
PIECE = 20  # steps of a call
Say = Callable[[str], None]
Place = tuple[np.ndarray, np.ndarray]
"""Position and quaternion of the trunk, which is the heaviest body."""


@dataclass(frozen=True)
class Robot:
    """A robot's file, and how it is held: stiffness [N m/rad], damping [N m s/rad], largest effort [N m]."""

    file: str
    stiffness: float
    damping: float
    effort: float
    pose: dict[str, float] = field(default_factory=dict)


LEGS = {f"{leg}_{part}_joint": x for leg in ("FR", "FL", "RR", "RL") for part, x in (("upper", 0.9), ("lower", -1.8))}
ROBOTS = {
    "quadruped": Robot("a1/a1.urdf", 300.0, 5.0, 33.5, LEGS),
    "humanoid": Robot("mjcf/humanoid.xml", 500.0, 20.0, 200.0),
}


@dataclass
class Start:
    """The robot as a scene, the height of the ground that the bench has added to it (None: the file has one)."""

    scene: Any
    ground: float | None


def started(path: Path, robot: Robot) -> Start:
    """The robot on the ground."""
    from stickslip.io.models.imports import import_robot
    from stickslip.scenes.collision.overlaps import lowest
    from stickslip.scenes.shapes import HalfSpace

    scenario: Any = import_robot(path, base="free", pose=robot.pose, self_collision="none").scenario
    scene = scenario.scene
    if any(isinstance(body.shape, HalfSpace) for body in scene.bodies):
        return Start(scene, None)
    ground = lowest(scene)
    scene.add_static(HalfSpace((0, 0, 1), offset=ground), friction=FRICTION, name="floor of the bench")
    return Start(scene, ground)


def watched(step: Callable[[int], object], place: Callable[[], Place], t_end: float) -> dict[str, float]:
    """Rate and drift between `SETTLE`, or half of a shorter time, and t_end; how far the trunk has sunk and turned."""
    settle, (start, upright) = min(SETTLE, 0.5 * t_end), place()
    for _ in range(round(settle / DT) // PIECE):
        step(PIECE)
    first, pieces, begin = place()[0], round((t_end - settle) / DT) // PIECE, time.process_time()
    for _ in range(pieces):
        step(PIECE)
    spent, (last, turned) = time.process_time() - begin, place()
    return {
        "steps_per_cpu_s": pieces * PIECE / max(spent, 1e-9),
        "drift": float(np.linalg.norm(last - first)),
        "sunk": float(start[2] - last[2]),
        "turned": 2.0 * math.acos(min(1.0, abs(float(upright @ turned)))),
    }


def by_stickslip(path: Path, robot: Robot, start: Start, t_end: float) -> dict[str, float]:
    from stickslip.run.simulator import Simulator
    from stickslip.scenes.joints import Motor

    sim = Simulator(start.scene, dt=DT, every=None, tol=TOL)
    for joint in start.scene.joints:
        if joint.kind == "revolute":
            spring = joint.motor.stiffness  # of the file, as a motor's row
            motor = Motor(stiffness=robot.stiffness + spring, damping=robot.damping, effort=robot.effort)
            sim.joint(joint.name).motor = motor
    trunk = max((body for body in start.scene.bodies if body.kind == "moving"), key=lambda body: body.mass)
    found = watched(sim.step, lambda: (sim.body(trunk).position, sim.body(trunk).orientation), t_end)
    return {**found, "failed": sim.certificate.failed_steps}


def by_mujoco(path: Path, robot: Robot, start: Start, t_end: float) -> dict[str, float]:
    import mujoco

    spec = mujoco.MjSpec.from_file(str(path))
    spec.compiler.fusestatic = False
    spec.option.timestep, spec.option.cone = DT, mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.solver, spec.option.enableflags = mujoco.mjtSolver.mjSOL_NEWTON, 0
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    for geom in spec.geoms:
        plane = geom.type == mujoco.mjtGeom.mjGEOM_PLANE
        geom.contype, geom.conaffinity = (0, 1) if plane else (1, 0)
    root = spec.worldbody.first_body()
    if not root.joints:
        root.add_freejoint()
    if start.ground is not None:
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_PLANE, size=[10, 10, 1], pos=[0, 0, start.ground], contype=0, conaffinity=1,
            friction=[FRICTION, 0.005, 0.0001],
        )  # fmt: skip
    hinges = [joint.name for joint in spec.joints if joint.type == mujoco.mjtJoint.mjJNT_HINGE]
    for name in hinges:
        spec.add_actuator(
            name=f"{name} held", target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT,
            gaintype=mujoco.mjtGain.mjGAIN_FIXED, gainprm=[robot.stiffness, *[0.0] * 9],
            biastype=mujoco.mjtBias.mjBIAS_AFFINE, biasprm=[0.0, -robot.stiffness, -robot.damping, *[0.0] * 7],
            forcelimited=True, forcerange=[-robot.effort, robot.effort],
        )  # fmt: skip
    model = spec.compile()
    data = mujoco.MjData(model)
    for name in hinges:
        at, joint = robot.pose.get(name, 0.0), model.joint(name)
        at = float(np.clip(at, *joint.range)) if joint.limited[0] else at
        data.qpos[model.joint(name).qposadr[0]] = data.ctrl[model.actuator(f"{name} held").id] = at
    trunk = int(np.argmax(model.body_mass))
    mujoco.mj_forward(model, data)
    return watched(
        lambda n: mujoco.mj_step(model, data, n), lambda: (data.xipos[trunk].copy(), data.xquat[trunk].copy()), t_end
    )


def by_bullet(path: Path, robot: Robot, start: Start, t_end: float) -> dict[str, float]:
    import pybullet as b

    client = b.connect(b.DIRECT)
    try:
        b.setGravity(0, 0, -9.81)
        b.setTimeStep(DT)
        if start.ground is None:
            body = max(b.loadMJCF(str(path)), key=b.getNumJoints)
        else:
            plane = b.createMultiBody(0, b.createCollisionShape(b.GEOM_PLANE), basePosition=[0, 0, start.ground])
            b.changeDynamics(plane, -1, lateralFriction=FRICTION)
            body = b.loadURDF(str(path))
        b.changeDynamics(body, -1, activationState=b.ACTIVATION_STATE_DISABLE_SLEEPING)
        for k in range(b.getNumJoints(body)):
            about = b.getJointInfo(body, k)
            if about[2] == b.JOINT_REVOLUTE:
                at = robot.pose.get(about[1].decode(), 0.0)
                b.resetJointState(body, k, at)
                b.setJointMotorControl2(body, k, b.POSITION_CONTROL, targetPosition=at, force=robot.effort)
        links = range(-1, b.getNumJoints(body))
        trunk = max(links, key=lambda k: b.getDynamicsInfo(body, k)[0])

        def place() -> Place:
            found = b.getBasePositionAndOrientation(body) if trunk < 0 else b.getLinkState(body, trunk)
            return np.array(found[0]), np.array(found[1])

        return watched(lambda n: [b.stepSimulation() for _ in range(n)], place, t_end)
    finally:
        b.disconnect(client)


PROGRAMS = {"stickslip": by_stickslip, "mujoco": by_mujoco, "bullet": by_bullet}


def measure(quick: bool, missing: Collection[str], folder: str | None, say: Say) -> dict[str, Any]:
    """The robots of a folder in all programs that are installed; None for a robot whose file is not there."""
    t_end = QUICK if quick else T_END
    robots: dict[str, Any] = {}
    for name, robot in ROBOTS.items() if folder is not None else ():
        path = Path(str(folder)) / robot.file
        if not path.is_file():
            robots[name] = None
            continue
        start, robots[name] = started(path, robot), {}
        for program, run in PROGRAMS.items():
            if program in missing:
                continue
            say(f"{name} stands in {program}")
            try:
                robots[name][program] = run(path, robot, start, t_end)
            except (ImportError, ValueError, RuntimeError) as problem:  # not whole, or words that it does not read
                say(f"{name} in {program}: {problem}")
    return {"t_end": t_end, "folder": folder, "robots": robots}


def table(result: dict[str, Any]) -> Any:
    """The results of `measure` as a Rich table."""
    from rich.table import Table

    shown = Table(title=f"robots that stand on position motors, dt = {DT:g} s, {result['t_end']:g} s")
    for column in ("robot", "program", "steps/processor s", "drift [m]", "sunk [m]", "turned [rad]", "failed"):
        shown.add_column(column, justify="left" if column in ("robot", "program") else "right")
    for name, programs in result["robots"].items():
        if programs is None:
            shown.add_row(name, "no such file", "", "", "", "", "")
        for program, row in (programs or {}).items():
            cells = [f"{row['steps_per_cpu_s']:.3g}", *(f"{row[key]:.1e}" for key in ("drift", "sunk", "turned"))]
            shown.add_row(name, program, *cells, str(row.get("failed", "")))
    if result["folder"] is None:
        shown.add_row("none", "no files: stickslip bench scenes FOLDER", "", "", "", "", "")
    return shown
