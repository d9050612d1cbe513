"""`stickslip bench scenes`: stack of cubes, ramp and thrown cube, here and in MuJoCo, Bullet and Drake, in one run.

Bodies that tumble, fall and are hit follow (`stickslip.bench.tumbling`), with what is wanted of them, then robots of a
folder and a chain (`stickslip.bench.jointed`), and robots that stand (`stickslip.bench.standing`).  Then comes the cost
of a step against the number of contacts (`stickslip.bench.piles`).  Creep, drift and lift are distances [m] from the
exact motion.  All programs take one step size; each takes its default solver.  Speeds are given by the wall clock and
by processor time, which other jobs on the machine do not slow down.
"""

from __future__ import annotations

import importlib.util
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from stickslip.bench import jointed, standing, tumbling
from stickslip.bench import piles as bench_piles

DT, G, FRICTION = 1e-3, 9.81, 0.5
ANGLE, SPEED = 0.38, 6.0
HYDROELASTIC_MODULUS = (
    1e6  # [Pa] of Drake's cubes: the stiffest of 1e5, 1e6, 1e7 with which the thrown cube does not tip over
)
PEERS = {"mujoco": "mujoco", "bullet": "pybullet", "drake": "pydrake"}
PARTS: dict[str, Any] = {"tumbling": tumbling, "jointed": jointed, "standing": standing}
Cubes = tuple[list[tuple[float, float, float]], float, float]
"""Positions of the cubes, angle of the ground about y [rad], speed of the first cube along x."""


class Watch:
    """Context manager that adds up the wall-clock and processor time [s] of its blocks."""

    def __init__(self) -> None:
        self.wall, self.cpu = 0.0, 0.0

    def __enter__(self) -> None:
        self.wall, self.cpu = self.wall - time.perf_counter(), self.cpu - time.process_time()

    def __exit__(self, *problem: object) -> None:
        self.wall, self.cpu = self.wall + time.perf_counter(), self.cpu + time.process_time()


CASES: dict[str, tuple[Cubes, float]] = {
    "stack": (([(0.0, 0.0, 0.5 + k) for k in range(10)], 0.0, 0.0), 10.0),
    "ramp": (([(0.5 * math.sin(ANGLE), 0.0, 0.5 * math.cos(ANGLE))], ANGLE, 0.0), 5.0),
    "thrown": (([(0.0, 0.0, 0.5)], 0.0, SPEED), 2.0),
}


def marched(scene: Any, t_end: float, tol: float = 1e-10, warm: float | None = None) -> tuple[Any, Watch]:
    """Trajectory of a scene, and the time of its march; `warm`: time of a run before, which loads all kernels [s]."""
    from stickslip.run.driver import march
    from stickslip.run.records import Store
    from stickslip.run.scene_simulate import prepare_run

    scene.simulate(DT, t_end if warm is None else warm, every=10, tol=tol)
    run = prepare_run(scene, DT, t_end, every=10, tol=tol, on_failure="continue")
    store, watch = Store(run), Watch()
    with watch:
        status, complete = march(run, store, lambda step: None)
    return store.finish(status, complete, watch.wall), watch


def _stickslip(cubes: Cubes, t_end: float) -> tuple[np.ndarray, Watch]:
    """Run the cubes in stickslip; positions (records, cubes, 3) [m], and the time of the run."""
    from stickslip.scenes.scene import Scene
    from stickslip.scenes.shapes import Box, HalfSpace

    positions, angle, speed = cubes
    scene = Scene(dim=3, gravity=G, name="bench")
    scene.add_static(HalfSpace((math.sin(angle), 0.0, math.cos(angle))), friction=FRICTION)
    for k, position in enumerate(positions):
        scene.add_body(
            Box((1, 1, 1)), mass=1.0, position=position, orientation=_turn(angle), friction=FRICTION,
            velocity=(speed if k == 0 else 0.0, 0.0, 0.0),
        )  # fmt: skip
    trajectory, watch = marched(scene, t_end)
    return trajectory.q.reshape(len(trajectory), len(positions), 7)[:, :, :3], watch


def _turn(angle: float) -> tuple[float, float, float, float]:
    return math.cos(0.5 * angle), 0.0, math.sin(0.5 * angle), 0.0


def _mujoco(cubes: Cubes, t_end: float) -> tuple[np.ndarray, Watch]:
    import mujoco

    positions, angle, speed = cubes
    w, x, y, z = _turn(angle)
    boxes = "".join(
        f'<body pos="{p[0]} {p[1]} {p[2]}" quat="{w} {x} {y} {z}"><freejoint/>'
        f'<geom type="box" size=".5 .5 .5" mass="1" friction="{FRICTION} 0 0" condim="3"/></body>'
        for p in positions
    )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{DT}" gravity="0 0 {-G}" cone="elliptic"/><worldbody>'
        f'<geom type="plane" size="0 0 1" quat="{w} {x} {y} {z}" friction="{FRICTION} 0 0" condim="3"/>{boxes}'
        "</worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    data.qvel[0] = speed
    records, steps, watch = [data.qpos.copy()], round(t_end / DT), Watch()
    for _ in range(steps // 10):
        with watch:
            mujoco.mj_step(model, data, 10)
        records.append(data.qpos.copy())
    return np.array(records).reshape(len(records), len(positions), 7)[:, :, :3], watch


def _bullet(cubes: Cubes, t_end: float) -> tuple[np.ndarray, Watch]:
    import pybullet as b

    positions, angle, speed = cubes
    w, x, y, z = _turn(angle)
    client = b.connect(b.DIRECT)
    try:
        b.setGravity(0, 0, -G)
        b.setTimeStep(DT)
        ground = b.createMultiBody(
            0, b.createCollisionShape(b.GEOM_PLANE, planeNormal=[math.sin(angle), 0, math.cos(angle)])
        )
        shape = b.createCollisionShape(b.GEOM_BOX, halfExtents=[0.5] * 3)
        bodies = [b.createMultiBody(1.0, shape, basePosition=p, baseOrientation=[x, y, z, w]) for p in positions]
        for body in (ground, *bodies):
            # Bullet multiplies the coefficients of two bodies, and puts bodies to sleep unless told not to
            b.changeDynamics(body, -1, lateralFriction=math.sqrt(FRICTION), restitution=0.0, linearDamping=0.0)
            b.changeDynamics(body, -1, angularDamping=0.0, activationState=b.ACTIVATION_STATE_DISABLE_SLEEPING)
        b.resetBaseVelocity(bodies[0], [speed, 0, 0])
        records, watch = [_bullet_positions(b, bodies)], Watch()
        for _ in range(round(t_end / DT) // 10):
            with watch:
                for _ in range(10):
                    b.stepSimulation()
            records.append(_bullet_positions(b, bodies))
    finally:
        b.disconnect(client)
    return np.array(records), watch


def _bullet_positions(b: Any, bodies: list[int]) -> list[Any]:
    return [b.getBasePositionAndOrientation(body)[0] for body in bodies]


def _drake(cubes: Cubes, t_end: float) -> tuple[np.ndarray, Watch]:
    from pydrake.math import RigidTransform
    from pydrake.multibody.math import SpatialVelocity
    from pydrake.systems.analysis import Simulator

    positions, _, speed = cubes
    diagram, plant, bodies = _drake_scene(cubes)
    simulator = Simulator(diagram)
    root = simulator.get_mutable_context()
    context = plant.GetMyMutableContextFromRoot(root)
    for body, position in zip(bodies, positions, strict=True):
        plant.SetFreeBodyPose(context, body, RigidTransform(_drake_turn(cubes), position))
    plant.SetFreeBodySpatialVelocity(context, bodies[0], SpatialVelocity([0, 0, 0], [speed, 0, 0]))
    simulator.Initialize()

    def where() -> list[np.ndarray]:
        return [plant.EvalBodyPoseInWorld(context, body).translation() for body in bodies]

    records, watch = [where()], Watch()
    for k in range(round(t_end / DT) // 10):
        with watch:
            simulator.AdvanceTo(10 * (k + 1) * DT)
        records.append(where())
    return np.array(records), watch


def _drake_scene(cubes: Cubes) -> tuple[Any, Any, list[Any]]:
    """The cubes in Drake with hydroelastic contact.

    In Drake's point contact two boxes touch in one point, and stacks fall.
    """
    from pydrake.geometry import (
        AddCompliantHydroelasticProperties,
        AddContactMaterial,
        AddRigidHydroelasticProperties,
        Box,
        HalfSpace,
        ProximityProperties,
    )
    from pydrake.math import RigidTransform
    from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
    from pydrake.multibody.tree import SpatialInertia
    from pydrake.systems.framework import DiagramBuilder

    positions, _, _ = cubes
    soft, hard = ProximityProperties(), ProximityProperties()
    for properties in (soft, hard):
        AddContactMaterial(friction=CoulombFriction(FRICTION, FRICTION), properties=properties)
    AddCompliantHydroelasticProperties(1.0, HYDROELASTIC_MODULUS, soft)
    AddRigidHydroelasticProperties(1.0, hard)
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=DT)
    plant.mutable_gravity_field().set_gravity_vector([0, 0, -G])
    world = RigidTransform(_drake_turn(cubes), [0, 0, 0])
    plant.RegisterCollisionGeometry(plant.world_body(), world, HalfSpace(), "ground", hard)
    inertia = SpatialInertia.SolidBoxWithMass(1.0, 1.0, 1.0, 1.0)
    bodies = [plant.AddRigidBody(f"cube{k}", inertia) for k in range(len(positions))]
    for body in bodies:
        plant.RegisterCollisionGeometry(body, RigidTransform(), Box(1, 1, 1), body.name(), soft)
    plant.Finalize()
    return builder.Build(), plant, bodies


def _drake_turn(cubes: Cubes) -> Any:
    from pydrake.math import RotationMatrix

    return RotationMatrix.MakeYRotation(cubes[1])


PROGRAMS: dict[str, Callable[[Cubes, float], tuple[np.ndarray, Watch]]] = {
    "stickslip": _stickslip,
    "mujoco": _mujoco,
    "bullet": _bullet,
    "drake": _drake,
}


def deviations(case: str, x: np.ndarray) -> dict[str, float]:
    """Distances of positions x (records, cubes, 3) from the exact motion of the case [m], by name."""
    if case == "thrown":
        return {
            "stop": float(x[-1, 0, 0] - SPEED**2 / (2 * FRICTION * G)),
            "lift": float((x[:, 0, 2] - 0.5).max()),
            "sink": float((0.5 - x[:, 0, 2]).max()),
        }
    moved = np.linalg.norm(x - x[0], axis=2)
    return {"drift" if case == "stack" else "creep": float(moved[-1].max()), "most": float(moved.max())}


def measure(quick: bool, say: Callable[[str], None], folder: str | None = None) -> dict[str, Any]:
    """Run all cases in all programs that are installed, bodies that tumble, robots of a folder, and the piles."""
    results = measure_cases(quick, say)
    peer = "mujoco" not in results["missing"]
    results["tumbling"] = tumbling.measure(quick, peer, marched, say)
    results["jointed"] = jointed.measure(quick, peer, folder, say)
    results["standing"] = standing.measure(quick, results["missing"], folder, say)
    return {**results, "cost": bench_piles.measure(quick, say)}


def measure_cases(quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """Stack, ramp and thrown cube in all programs that are installed."""
    results: dict[str, Any] = {"dt": DT, "missing": [], "cases": {}}
    for name, module in PEERS.items():
        if importlib.util.find_spec(module) is None:
            results["missing"].append(name)
    for case, (cubes, t_end) in CASES.items():
        results["cases"][case] = {}
        duration = 0.2 * t_end if quick and case != "thrown" else t_end
        for name, program in PROGRAMS.items():
            if name in results["missing"]:
                continue
            say(f"{case} in {name}")
            try:
                x, watch = program(cubes, duration)
            except ImportError as problem:  # installed, but not whole
                say(f"{name}: {problem}")
                results["missing"].append(name)
                continue
            results["cases"][case][name] = {
                **deviations(case, x),
                "t_end": duration,
                "steps_per_s": round(duration / DT) / max(watch.wall, 1e-9),
                "steps_per_cpu_s": round(duration / DT) / max(watch.cpu, 1e-9),
            }
    return results


def table(results: dict[str, Any]) -> Any:
    """The results of `measure` as Rich tables."""
    from rich.console import Group
    from rich.table import Table

    missing = f"; not installed: {', '.join(results['missing'])}" if results["missing"] else ""
    shown = Table(title=f"scenes, dt = {results['dt']:g} s{missing}")
    for column in ("case", "program", "deviation [m]", "steps/s", "steps/processor s"):
        shown.add_column(column, justify="right" if column.startswith("steps") else "left")
    for case, programs in results["cases"].items():
        for name, row in programs.items():
            speeds = ("t_end", "steps_per_s", "steps_per_cpu_s")
            words = ", ".join(f"{key} {value:.1e}" for key, value in row.items() if key not in speeds)
            shown.add_row(case, name, words, *(f"{row[key]:.3g}" for key in speeds[1:]))
    others = (part.table(results[name]) for name, part in PARTS.items())
    return Group(shown, *others, bench_piles.table(results["cost"]))
