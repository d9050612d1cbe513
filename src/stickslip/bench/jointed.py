"""Robots that are dropped, and a chain with a heavy load: steps per second of processor time, beside MuJoCo.

The robots are files that others have made: `stickslip bench scenes FOLDER` reads those of ROBOTS that the folder has
(Bullet hands them out as `pybullet_data`).  Each falls 0.1 m onto a plane, without motors.  Both programs read one
file.
Wanted are MuJoCo's rate, with elliptic cones, and no step that fails; of the chain, energy within 0.1 %.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

DT, TOL, FRICTION, HEIGHT = 1e-3, 1e-8, 0.5, 0.1
T_END, QUICK = 2.0, 0.1
ROBOTS = (
    "quadruped/minitaur.urdf", "aliengo/aliengo.urdf", "a1/a1.urdf", "quadruped/vision60.urdf",
    "quadruped/spirit40.urdf", "racecar/racecar.urdf", "quadruped/quadruped.urdf", "r2d2.urdf",
)  # fmt: skip
LINKS, LOAD = 50, 1000.0
GENERATED, GENERATED_QUICK = {1: 5, 5: 5, 20: 5, 100: 1}, {5: 1}
Say = Callable[[str], None]


def robot_scene(path: Path) -> tuple[Any, float]:
    """A robot above the ground as a scene, and the height of the ground [m]."""
    from stickslip.io.models.file import model_from_text
    from stickslip.io.models.imports import import_robot
    from stickslip.scenes.collision.overlaps import lowest
    from stickslip.scenes.shapes import HalfSpace

    scenario: Any = model_from_text(import_robot(path).text, path.name).scenario
    scene = scenario.scene
    ground = lowest(scene) - HEIGHT
    scene.add_static(HalfSpace((0, 0, 1), offset=ground), friction=FRICTION)
    return scene, ground


WORTH_OPTIMISING = 0.5
"""End of a motion [s] from which machine code is optimised before it is timed; shorter ones are a test of the bench."""


def chain_scene(links: int, load: float) -> Any:
    """Links on ball joints that swing down from the horizontal, the last one `load` times as heavy as the others."""
    from stickslip.scenes.scene import Scene
    from stickslip.scenes.shapes import Capsule

    scene, before = Scene(dim=3, name="chain"), None
    side = (0.5**0.5, 0.0, 0.5**0.5, 0.0)
    for k in range(links):
        mass = load if k == links - 1 else 1.0
        link = scene.add_body(Capsule(0.02, 0.06), mass=mass, position=(0.1 * k + 0.05, 0, 8), orientation=side)
        scene.add_spherical(before, link, (0.1 * k, 0, 8))
        before = link
    return scene


def timed(scene: Any, t_end: float, tol: float) -> dict[str, Any]:
    """Rate, failed steps, share of time at rest and energy of a march, after one that has loaded all kernels."""
    from stickslip.run.driver import march
    from stickslip.run.records import Store
    from stickslip.run.scene_simulate import prepare_run
    from stickslip.scenes import step

    if t_end >= WORTH_OPTIMISING:
        step.march.expect_long_work()  # two marches of a tenth of a second would run quick code alone
    spent, trajectory = np.inf, None
    for _ in range(2):
        run = prepare_run(scene, DT, t_end, every=10, tol=tol, on_failure="continue", overlap="keep")
        store, begin = Store(run), time.process_time()
        status, complete = march(run, store, lambda step: None)
        spent = time.process_time() - begin
        trajectory = store.finish(status, complete, spent)
    assert trajectory is not None
    energy, swing = trajectory.energy.total, float(np.ptp(trajectory.energy.potential))
    return {
        "steps_per_cpu_s": round(float(trajectory.t[-1]) / DT) / max(spent, 1e-9),
        "failed": trajectory.certificate.failed_steps,
        "rests": float(np.mean(np.all(trajectory.q[1:] == trajectory.q[:-1], axis=1))),
        "energy": float(np.abs(energy - energy[0]).max() / swing) if swing > 0.0 else 0.0,
        "complete": bool(trajectory.t[-1] >= t_end - 0.5 * DT),
    }


def by_mujoco(path: Path, ground: float, t_end: float) -> float:
    """Steps per second of processor time of a robot that falls onto the ground in MuJoCo."""
    import mujoco

    spec = mujoco.MjSpec.from_file(str(path))
    spec.compiler.fusestatic = False
    spec.worldbody.first_body().add_freejoint()
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[10, 10, 1], pos=[0, 0, ground])
    spec.option.timestep, spec.option.cone = DT, mujoco.mjtCone.mjCONE_ELLIPTIC
    model = spec.compile()
    data, steps = mujoco.MjData(model), round(t_end / DT)
    begin = time.process_time()
    mujoco.mj_step(model, data, steps)
    return steps / max(time.process_time() - begin, 1e-9)


def measure_robot(path: Path, t_end: float, peer: bool, say: Say) -> dict[str, Any]:
    """One robot here and, where it is installed and can read the file, in MuJoCo."""
    say(path.name)
    scene, ground = robot_scene(path)
    row: dict[str, Any] = {
        "stickslip": timed(scene, t_end, TOL),
        "mujoco": None,
        "bodies": sum(body.kind == "moving" for body in scene.bodies),
    }
    if peer:
        try:
            row["mujoco"] = by_mujoco(path, ground, t_end)
        except ValueError as problem:  # meshes or words that it does not read
            say(f"{path.name} in mujoco: {problem}")
    return row


def measure(quick: bool, peer: bool, folder: str | None, say: Say) -> dict[str, Any]:
    """Robots of a folder, the chain, and generated friction problems; `peer`: MuJoCo is installed."""
    from stickslip.bench.friction_generated import census

    t_end = QUICK if quick else T_END
    robots: dict[str, Any] = {}
    for name in ROBOTS if folder is not None else ():
        path = Path(str(folder)) / name
        robots[name] = measure_robot(path, t_end, peer, say) if path.is_file() else None
    say(f"chain of {LINKS}")
    chain = timed(chain_scene(LINKS, LOAD), t_end, 1e-10)
    classes = census(GENERATED_QUICK if quick else GENERATED, say)
    generated = {word: sum(row[word] for row in classes) for word in ("problems", "solved", "wrong")}
    return {"t_end": t_end, "folder": folder, "robots": robots, "chain": chain, "generated": generated}


def robot_words(row: dict[str, Any] | None, full: bool) -> list[str]:
    """Cells of a robot: bodies, rate, failed steps, share of time at rest, MuJoCo's rate, their ratio, verdict."""
    if row is None:
        return ["", "no such file", "", "", "", "", ""]
    ours, theirs = row["stickslip"], row["mujoco"]
    cells = [str(row["bodies"]), f"{ours['steps_per_cpu_s']:.3g}", str(ours["failed"]), f"{ours['rests']:.0%}"]
    if theirs is None:
        return [*cells, "not measured", "", "needs mujoco"]
    ratio = ours["steps_per_cpu_s"] / theirs
    kept = ratio >= 1.0 and ours["failed"] == 0
    return [*cells, f"{theirs:.3g}", f"{ratio:.2f}", ("kept" if kept else "lost") if full else "short run"]


def table(result: dict[str, Any]) -> Any:
    """The results of `measure` as a Rich table."""
    from rich.table import Table

    shown = Table(title=f"joints, dt = {DT:g} s, {result['t_end']:g} s, robots to {TOL:g}, wanted: MuJoCo's rate")
    for column in ("case", "bodies", "steps/processor s", "failed", "at rest", "MuJoCo", "ratio", ""):
        shown.add_column(column, justify="left" if column in ("case", "") else "right")
    full = result["t_end"] >= T_END
    for name, row in result["robots"].items():
        shown.add_row(name, *robot_words(row, full))
    if result["folder"] is None:
        shown.add_row("robots", "", "", "", "", "", "", "no files: stickslip bench scenes FOLDER")
    chain, generated = result["chain"], result["generated"]
    words = f"energy within {chain['energy']:.1e}"
    verdict = "kept" if chain["complete"] and chain["failed"] == 0 and chain["energy"] <= 1e-3 else "lost"
    words = f"{words}: {verdict if full else 'short run'}"
    rate = f"{chain['steps_per_cpu_s']:.3g}"
    shown.add_row(f"chain, {LOAD:g} times the load", str(LINKS), rate, str(chain["failed"]), "", "", "", words)
    words = f"{generated['solved']} of {generated['problems']} solved, {generated['wrong']} falsely"
    shown.add_row("generated friction problems", "", "", "", "", "", "", words)
    return shown
