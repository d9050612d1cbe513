"""Bodies that tumble, fall into bins and are hit: steps per second of processor time, beside MuJoCo, in one run.

Each case is one list of bodies, which both programs get.  MuJoCo takes elliptic cones and its default solver.  A case
says what is wanted of it: a rate, a multiple of MuJoCo's, or both.  What is not reached is shown as lost.  Quick runs
end before the bodies touch much: their rates are shown, and nothing is said of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

DT, DENSITY = 1e-3, 1000.0
Say = Callable[[str], None]


class Body(NamedTuple):
    """A body; size: edges of a box, radius of a sphere, or radius and length of a capsule [m]."""

    shape: str
    size: tuple[float, ...]
    mass: float
    position: tuple[float, ...]
    orientation: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)
    velocity: tuple[float, ...] = (0.0, 0.0, 0.0)
    spin: tuple[float, ...] = (0.0, 0.0, 0.0)


class Case(NamedTuple):
    """Bodies on planes, for a time, and what is wanted."""

    bodies: list[Body]
    planes: list[tuple[tuple[float, float, float], float]]  # normal, offset
    friction: float
    restitution: float
    tol: float
    t_end: float  # [s]
    quick: float  # [s], in a quick run
    rate: float  # wanted steps per second, 0: none
    times: float  # wanted multiple of MuJoCo's rate, 0: none


FLOOR = [((0.0, 0.0, 1.0), 0.0)]


def walls_of_bin(half: float) -> list[tuple[tuple[float, float, float], float]]:
    """Floor and four walls at x, y = -half, half."""
    return [*FLOOR, *(((s * (1.0 - k), s * float(k), 0.0), -half) for k in (0, 1) for s in (1.0, -1.0))]


def any_turn(rng: np.random.Generator) -> tuple[float, ...]:
    q = rng.normal(size=4)
    return tuple((q / np.linalg.norm(q)).tolist())


def falling(n: int, half: float, row: int, up: float, one: Callable[[np.random.Generator], Any]) -> list[Body]:
    """n bodies above a bin, `row` by `row` in a layer, layers `up` apart; one: shape, size and volume of a body."""
    rng, bodies = np.random.default_rng(0), []
    for i in range(n):
        shape, size, volume = one(rng)
        x, y = ((2.0 * k + 1.0) / row - 1.0 for k in (i % row, i // row % row))
        at = (half * x, half * y, 0.7 * up + up * (i // row**2))
        bodies.append(Body(shape, size, DENSITY * volume, at, any_turn(rng)))
    return bodies


def any_box(rng: np.random.Generator) -> tuple[str, tuple[float, ...], float]:
    edges = rng.uniform(0.06, 0.1, 3)
    return "box", tuple(edges.tolist()), float(np.prod(edges))


def one_capsule(rng: np.random.Generator) -> tuple[str, tuple[float, ...], float]:
    radius, length = 0.025, 0.07
    return "capsule", (radius, length), float(np.pi * radius**2 * (length + 4.0 / 3.0 * radius))


def brick_wall() -> list[Body]:
    """Ten rows of ten bricks in running bond, and a ball of 30 kg that flies at it with 15 m/s."""
    length, width, height = 0.2, 0.1, 0.08
    bricks = [
        Body(
            "box", (length, width, height), DENSITY * length * width * height,
            ((k - 4.5) * (length + 1e-3) + row % 2 * 0.5 * length, 0.0, (row + 0.5) * height),
        )
        for row in range(10)
        for k in range(10)
    ]  # fmt: skip
    return [*bricks, Body("sphere", (0.15,), 30.0, (0.0, -1.2, 0.45), velocity=(0.0, 15.0, 0.0))]


def cases() -> dict[str, Case]:
    """All cases by name."""
    turn = tuple((np.array([1.0, 0.2, 0.3, 0.1]) / np.linalg.norm([1.0, 0.2, 0.3, 0.1])).tolist())
    cube = Body("box", (0.1, 0.1, 0.1), 1.0, (0.0, 0.0, 0.3), turn, (0.5, 0.0, 0.0), (3.0, 5.0, 1.0))
    boxes, capsules = falling(200, 0.45, 5, 0.18, any_box), falling(1000, 0.6, 8, 0.13, one_capsule)
    return {
        "cube tossed": Case([cube], FLOOR, 0.3, 0.3, 1e-8, 3.0, 3.0, 5e5, 2.0),
        "200 boxes into a bin": Case(boxes, walls_of_bin(0.45), 0.5, 0.0, 1e-6, 1.5, 0.15, 0.0, 1.5),
        "wall of 100 bricks, hit": Case(brick_wall(), FLOOR, 0.5, 0.0, 1e-6, 1.0, 0.05, 0.0, 0.5),
        "1000 capsules": Case(capsules, walls_of_bin(0.6), 0.5, 0.0, 1e-4, 1.0, 0.05, 60.0, 0.0),
    }


def scene_of(case: Case) -> Any:
    """The case as a scene."""
    from stickslip.scenes.scene import Scene
    from stickslip.scenes.shapes import Box, Capsule, HalfSpace, Sphere

    made = {"box": lambda size: Box(size), "sphere": lambda size: Sphere(*size), "capsule": lambda size: Capsule(*size)}
    scene = Scene(dim=3, name="bench")
    for normal, offset in case.planes:
        scene.add_static(HalfSpace(normal, offset=offset), friction=case.friction)
    for body in case.bodies:
        scene.add_body(
            made[body.shape](body.size), mass=body.mass, position=body.position, orientation=body.orientation,
            velocity=body.velocity, angular_velocity=body.spin, friction=case.friction, restitution=case.restitution,
        )  # fmt: skip
    return scene


def mujoco_model(case: Case) -> Any:
    """The case in MuJoCo.  It has no coefficient of restitution: its contacts are damped springs."""
    import mujoco

    def words(values: Any) -> str:
        return " ".join(f"{value:.17g}" for value in values)

    friction = f'friction="{case.friction} 0 0" condim="3"'
    text = "".join(
        f'<geom type="plane" pos="{words(offset * np.array(normal))}" zaxis="{words(normal)}" size="0 0 1" {friction}/>'
        for normal, offset in case.planes
    )
    for body in case.bodies:
        half = 0.5 if body.shape == "box" else 1.0
        size = [half * edge for edge in body.size]
        if body.shape == "capsule":
            size[1] *= 0.5
        text += (
            f'<body pos="{words(body.position)}" quat="{words(body.orientation)}"><freejoint/>'
            f'<geom type="{body.shape}" size="{words(size)}" mass="{body.mass:.17g}" {friction}/></body>'
        )
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><size memory="400M"/><option timestep="{DT}" cone="elliptic"/><worldbody>{text}</worldbody></mujoco>'
    )


def by_mujoco(case: Case, t_end: float) -> dict[str, float]:
    """Rate and deepest penetration in MuJoCo."""
    import mujoco

    model = mujoco_model(case)
    data = mujoco.MjData(model)
    data.qvel[:] = np.ravel([(*body.velocity, *body.spin) for body in case.bodies])
    steps, spent, deepest = round(t_end / DT), 0.0, 0.0
    for _ in range(steps // 10):
        begin = time.process_time()
        mujoco.mj_step(model, data, 10)
        spent += time.process_time() - begin
        deepest = max(deepest, -float(data.contact.dist.min()) if data.ncon else 0.0)
    return {"steps_per_cpu_s": steps / max(spent, 1e-9), "penetration": deepest}


def by_stickslip(case: Case, t_end: float, marched: Callable[..., Any]) -> dict[str, float]:
    """Rate, deepest penetration and steps that failed, here."""
    trajectory, watch = marched(scene_of(case), t_end, case.tol, 0.3 * t_end)
    certificate = trajectory.certificate
    return {
        "steps_per_cpu_s": round(float(trajectory.t[-1]) / DT) / max(watch.cpu, 1e-9),
        "penetration": certificate.max_penetration,
        "failed": certificate.failed_steps,
    }


def verdict(case: Case, ours: float, theirs: float | None) -> str:
    """Whether what is wanted is reached."""
    if ours < case.rate or (case.times > 0.0 and theirs is not None and ours < case.times * theirs):
        return "lost"
    return "needs mujoco" if case.times > 0.0 and theirs is None else "kept"


def faster(row: dict[str, Any], name: str, run: dict[str, float]) -> None:
    """Keep a run of a program if it is faster than the one before."""
    if name not in row or run["steps_per_cpu_s"] > row[name]["steps_per_cpu_s"]:
        row[name] = run


def measure(quick: bool, peer: bool, marched: Callable[..., Any], say: Say) -> dict[str, Any]:
    """Run all cases; `peer`: MuJoCo is installed; `marched`: as in `stickslip.bench.scenes`."""
    rows: dict[str, Any] = {}
    for name, case in cases().items():
        t_end = case.quick if quick else case.t_end
        row: dict[str, Any] = {"t_end": t_end, "tol": case.tol}
        for _ in range(3 if len(case.bodies) == 1 else 1):  # in turn, so that a busy moment hits both; the best counts
            say(name)
            faster(row, "stickslip", by_stickslip(case, t_end, marched))
            if peer and case.times > 0.0:
                say(f"{name} in mujoco")
                faster(row, "mujoco", by_mujoco(case, t_end))
        ours, theirs = row["stickslip"]["steps_per_cpu_s"], row.get("mujoco", {}).get("steps_per_cpu_s")
        row["wanted"] = {"steps_per_cpu_s": case.rate, "times_mujoco": case.times}
        row["verdict"] = "short run" if t_end < case.t_end else verdict(case, ours, theirs)
        rows[name] = row
    return rows


def table(rows: dict[str, Any]) -> Any:
    """The results of `measure` as a Rich table."""
    from rich.table import Table

    shown = Table(title=f"bodies that tumble, fall and are hit, dt = {DT:g} s, one thread")
    columns = (
        "case",
        "tol",
        "steps/processor s",
        "failed",
        "depth [m]",
        "MuJoCo",
        "its depth [m]",
        "ratio",
        "wanted",
        "",
    )
    for column in columns:
        shown.add_column(column, justify="left" if column in ("case", "wanted", "") else "right")
    for name, row in rows.items():
        ours, theirs, wanted = row["stickslip"], row.get("mujoco"), row["wanted"]
        words = [f"{wanted['steps_per_cpu_s']:.3g}"] if wanted["steps_per_cpu_s"] else []
        words += [f"{wanted['times_mujoco']:g} x MuJoCo"] if wanted["times_mujoco"] else []
        beside = ["not installed" if wanted["times_mujoco"] else "", "", ""]
        if theirs is not None:
            ratio = ours["steps_per_cpu_s"] / theirs["steps_per_cpu_s"]
            beside = [f"{theirs['steps_per_cpu_s']:.3g}", f"{theirs['penetration']:.1e}", f"{ratio:.2f}"]
        shown.add_row(
            name, f"{row['tol']:g}", f"{ours['steps_per_cpu_s']:.3g}", str(ours["failed"]),
            f"{ours['penetration']:.1e}", *beside, ", ".join(words), row["verdict"],
        )  # fmt: skip
    return shown
