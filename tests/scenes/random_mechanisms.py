"""Random mechanisms as scenes: two to six bodies with joints, limits, motors, dry friction and ground."""

from dataclasses import replace

import numpy as np

import stickslip as ss
from stickslip.scenes.resized import SCALE, resized
from stickslip.scenes.scene import Scene


def random_shape(rng: np.random.Generator, dim: int):
    """A disc or a rectangle in the plane; a sphere, a capsule or a box in space."""
    kind = rng.integers(3)
    if dim == 2:
        if kind == 0:
            return ss.Circle(float(rng.uniform(0.05, 0.15)))
        w, h = rng.uniform(0.05, 0.2, 2)
        return ss.Polygon([(-w, -h), (w, -h), (w, h), (-w, h)])
    if kind == 0:
        return ss.Sphere(float(rng.uniform(0.05, 0.15)))
    if kind == 1:
        return ss.Capsule(float(rng.uniform(0.04, 0.08)), float(rng.uniform(0.1, 0.3)))
    return ss.Box(tuple(rng.uniform(0.1, 0.35, 3)))


def add_bodies(scene: Scene, rng: np.random.Generator, surface: dict[str, float]):
    """Bodies in a row above the ground, with velocities; each with its place."""
    dim, bodies, x = scene.dim, [], 0.0
    for i in range(int(rng.integers(2, 7))):
        turn = float(rng.uniform(-1.5, 1.5)) if dim == 2 else rng.standard_normal(4)
        place = np.zeros(dim)
        place[0], place[-1] = x, rng.uniform(0.3, 0.45)
        if dim == 3:
            turn, place[1] = turn / np.linalg.norm(turn), rng.uniform(-0.1, 0.1)
        body = scene.add_body(
            random_shape(rng, dim), mass=float(10 ** rng.uniform(-1, 1)), position=place, orientation=turn,
            velocity=rng.uniform(-1, 1, dim),
            angular_velocity=float(rng.uniform(-2, 2)) if dim == 2 else rng.uniform(-2, 2, 3),
            name=f"b{i}", **surface,
        )  # fmt: skip
        bodies.append((body, place))
        x += rng.uniform(0.35, 0.5)
    return bodies


def add_joint(scene: Scene, rng: np.random.Generator, one, other) -> None:
    """A joint of a random kind, with limits, a motor and dry friction at random."""
    (a, at_a), (b, at_b), dim = one, other, scene.dim
    kinds = ["revolute", "prismatic", "distance", *(["spherical"] if dim == 3 else []), "fixed"]
    kind = rng.choice(kinds, p=[0.5, 0.2, 0.2, 0.1] if dim == 2 else [0.45, 0.2, 0.15, 0.1, 0.1])
    at, given = (at_a + at_b) / 2 + rng.uniform(-0.03, 0.03, dim), {}
    if rng.random() < 0.5:
        given["limits"] = (-float(rng.uniform(0, 0.3)), float(rng.uniform(0, 0.3)))
    if rng.random() < 0.4:
        given["motor"] = (float(rng.uniform(-3, 3)), float(rng.uniform(0, 5)))
    if rng.random() < 0.3:
        given["friction"] = float(rng.uniform(0, 1))
    axis = rng.standard_normal(dim)
    axis /= np.linalg.norm(axis)
    if kind == "revolute":
        scene.add_revolute(a, b, at, **({} if dim == 2 else {"axis": axis}), **given)
    elif kind == "prismatic":
        scene.add_prismatic(a, b, at, axis, **given)
    elif kind == "distance":
        scene.add_distance(a, b, at_a, at_b + 1e-3)
    else:
        (scene.add_fixed if kind == "fixed" else scene.add_spherical)(a, b, at)


def random_mechanism(seed: int) -> Scene:
    """A tree of joints, at times with a rod that closes a loop; in the plane for even seeds, in space for odd ones."""
    rng, dim = np.random.default_rng(seed), 2 + seed % 2
    scene = ss.Scene(dim=dim)
    surface = {"friction": float(rng.choice([0.0, 0.3, 0.6, 1.0])), "restitution": float(rng.choice([0, 0, 0.3, 0.7]))}
    scene.add_static(ss.HalfPlane((0.0, 1.0)) if dim == 2 else ss.HalfSpace((0.0, 0.0, 1.0)), **surface)
    bodies = add_bodies(scene, rng, surface)
    for i in range(1, len(bodies)):
        add_joint(scene, rng, bodies[int(rng.integers(max(0, i - 2), i))], bodies[i])
    if len(bodies) > 2 and rng.random() < 0.3:
        scene.add_distance(bodies[0][0], bodies[-1][0], bodies[0][1], bodies[-1][1])
    return scene


def permuted(scene: Scene, seed: int) -> tuple[Scene, np.ndarray]:
    """The scene with its moving bodies and joints in another order, and where each body is there."""
    rng, there = np.random.default_rng(seed + 999), scene.copy()
    fixed = [body for body in scene.bodies if body.kind == "static"]
    moving = [body for body in scene.bodies if body.kind != "static"]
    order = rng.permutation(len(moving))
    bodies = fixed + [moving[k] for k in order]
    number = {body.number: i for i, body in enumerate(bodies)}
    there.bodies = [
        replace(body, number=i, column=body.column if body.kind == "static" else i - len(fixed))
        for i, body in enumerate(bodies)
    ]
    joints = [replace(joint, a=number[joint.a], b=number[joint.b]) for joint in scene.joints]
    there.joints = [joints[k] for k in rng.permutation(len(joints))]
    there.ignored = {(min(number[i], number[k]), max(number[i], number[k])) for i, k in scene.ignored}
    return there, np.argsort(order)


def similar(scene: Scene, length: float, time: float) -> Scene:
    """The mechanism with its lengths and times multiplied, gravity and efforts with them: it moves alike."""
    there = scene.copy()
    there.gravity = scene.gravity * length / time**2

    def sized(body):
        if body.kind == "static":
            return body
        return replace(
            body, shape=resized(body.shape, {SCALE: length}), inertia=body.inertia * length**2,
            position=body.position * length, velocity=body.velocity * length / time,
            angular_velocity=body.angular_velocity / time,
        )  # fmt: skip

    def held(joint):
        unit = length if joint.kind == "prismatic" else 1.0
        effort = length**2 / time**2 / unit
        motor = replace(joint.motor, speed=joint.motor.speed * unit / time, effort=joint.motor.effort * effort)
        return replace(
            joint, at_a=joint.at_a * length, at_b=joint.at_b * length, length=joint.length * length,
            limits=tuple(unit * x for x in joint.limits), motor=motor, friction=joint.friction * effort,
        )  # fmt: skip

    there.bodies = [sized(body) for body in scene.bodies]
    there.joints = [held(joint) for joint in scene.joints]
    return there
