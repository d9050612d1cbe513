"""`as_mechanism`: a scene whose contacts have fixed features as a mechanism, for the judge and for all analyses.

A contact has a fixed feature where a point of a body, with or without a radius, meets a half-space, or where two balls
meet: its gap is one smooth function of the coordinates, and so is its slip.  Corners of boxes, polygons and hulls, the
ends of capsules, and balls on half-spaces are such contacts, one each.  Where features change (an edge on a face, two
boxes) there is no such function, and the scene is refused.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from stickslip.mechanisms.elements import Contact
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.mechanisms.system import System
from stickslip.run.free_bodies import FreeBodies
from stickslip.run.scene_features import Core
from stickslip.run.scene_joints_as_rows import Rows, joint_rows
from stickslip.run.scene_pairs import OnPlane, Pair
from stickslip.run.scene_symbols import Symbols, kinetic_energy, of_moving, of_static, unit_length, vector
from stickslip.run.scene_system import SceneSystem
from stickslip.scenario import Scenario, SceneScenario
from stickslip.scenes.bodies import Body
from stickslip.scenes.scene import Scene
from stickslip.scenes.shapes import rotation_matrix, turn_from_z
from stickslip.scenes.tables import material_tables

MOST_BODIES = 12

Ball = tuple[np.ndarray, float]
"""A point of a body, from its centre of mass in body axes [m], and its radius [m]."""


def as_mechanism(what: Scene | SceneScenario) -> Scenario:
    """A scene as a mechanism: coordinates are those of its trajectories, x, y, angle or x, y, z, quaternion per body.

    Laws and joints become contacts and constraints, so that the event-driven judge, sensitivities and all that asks for
    a mechanism take the scene.  Velocities are rates of the coordinates: in space those of the quaternion.

    Raises
    ------
    ValueError : more than 12 bodies that move, driven bodies, motors with gains and a largest effort, functions as
        forces, curves or patches as laws, pairs of shapes whose features change.
    """
    given: Any = what  # a scenario has a scene, times and a title
    scene: Scene = getattr(given, "scene", given)
    return _scenario(given, scene, _derived(scene, touching=True))


def judged(what: Scene | SceneScenario) -> Scenario:
    """A scene as the event-driven judge integrates it: in space with features that change, else `as_mechanism`."""
    given: Any = what
    scene: Scene = getattr(given, "scene", given)
    if scene.dim == 2:
        return as_mechanism(what)
    _require_simple(scene)
    pairs = scene_pairs(scene)
    if not pairs:
        return as_mechanism(what)
    joined = scene.joints or scene.springs
    bodies = _derived(scene, touching=False) if joined else FreeBodies(scene, _name(scene))
    return _scenario(given, scene, SceneSystem(bodies, scene.bodies, pairs))


def _derived(scene: Scene, touching: bool) -> LagrangianSystem:
    """The mechanism of bodies, joints and loads, and of contacts with fixed features where `touching`."""
    moving = _require_simple(scene)
    symbols = {body.number: of_moving(body) if body.kind == "moving" else of_static(body) for body in scene.bodies}
    kinetic: Any = sum(kinetic_energy(body, symbols[body.number]) for body in moving)
    potential: Any = -sum(body.mass * symbols[body.number].x.dot(vector(scene.gravity)) for body in moving)
    rows = Rows([], [], {})
    for body in moving:
        rows.constraints.extend(unit_length(body, symbols[body.number]))
    if touching:
        rows.contacts.extend(_contacts(scene, symbols))
    kinetic += joint_rows(scene, symbols, rows)
    potential += _loads(scene, symbols, rows)
    q = [x for body in moving for x in symbols[body.number].q]
    u = [x for body in moving for x in symbols[body.number].u]
    return LagrangianSystem.from_energies(
        q, velocities=u, kinetic=kinetic, potential=potential, forces=rows.forces, contacts=rows.contacts,
        constraints=rows.constraints, name=_name(scene),
    )  # fmt: skip


def _scenario(given: Any, scene: Scene, system: System) -> Scenario:
    start = [_start(body) for body in scene.bodies if body.kind == "moving"]
    dt, t_end = getattr(given, "dt", 1e-3), getattr(given, "t_end", 1.0)
    title = getattr(given, "title", scene.name)
    return Scenario(
        system, np.concatenate([q for q, _ in start]), np.concatenate([u for _, u in start]), dt, t_end, title,
        "a scene as a mechanism",
    )  # fmt: skip


def seen_as_scene(scene: Scene, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and velocities (n, f) of the mechanism of a scene, as the trajectories of the scene have them."""
    if scene.dim == 3:
        count = sum(body.kind == "moving" for body in scene.bodies)
        x, v = q.reshape(-1, count, 7), u.reshape(-1, count, 7)
        turn, rate = x[..., 3:], v[..., 3:]
        w = 2.0 * (
            turn[..., :1] * rate[..., 1:] - rate[..., :1] * turn[..., 1:] - np.cross(rate[..., 1:], turn[..., 1:])
        )
        u = np.concatenate([v[..., :3], w], axis=-1).reshape(len(q), -1)
    return q, u


def _name(scene: Scene) -> str:
    return "".join(c if c.isalnum() or c == "_" else "_" for c in scene.name) or "scene"


def _start(body: Body) -> tuple[np.ndarray, np.ndarray]:
    if body.dim == 2:
        return np.array([*body.position[:2], body.angle]), np.array([*body.velocity[:2], body.angular_velocity[2]])
    Q, w = body.orientation, body.angular_velocity
    rate = 0.5 * np.concatenate([[-w @ Q[1:]], Q[0] * w + np.cross(w, Q[1:])])  # omega Q / 2
    return np.array([*body.position, *Q]), np.array([*body.velocity, *rate])


def _require_simple(scene: Scene) -> list[Body]:
    """The bodies that move; ValueError for what has no form as a mechanism here."""
    refusal = f"scene {scene.name!r} cannot be a mechanism for the event-driven judge:"
    moving = [body for body in scene.bodies if body.kind == "moving"]
    if not 1 <= len(moving) <= MOST_BODIES:
        raise ValueError(f"{refusal} it takes 1 to {MOST_BODIES} bodies that move, got {len(moving)}.")
    for body in scene.bodies:
        if body.kind == "driven":
            raise ValueError(f"{refusal} body {body.name!r} is driven.")
        if body.life != (-math.inf, math.inf):
            raise ValueError(f"{refusal} body {body.name!r} appears or vanishes.")
    for material in (*(body.material for body in scene.bodies), *scene.pair_laws.values()):
        plain = material.friction is None or isinstance(material.friction, (int, float))
        curve = not (material.restitution is None or isinstance(material.restitution, (int, float)))
        if not plain or curve or material.resists or material.friction_impact is not None:
            raise ValueError(f"{refusal} its friction and restitution must be numbers, without patch and rolling.")
    for force in scene.forces:
        if callable(force.force) or callable(force.torque):
            raise ValueError(f"{refusal} a force on {scene.bodies[force.body].name!r} is a function.")
    return moving


# -- contacts ----------------------------------------------------------------------------------------------------------


def _balls(body: Body) -> list[Ball] | None:
    """Points of a body that may touch a half-space, from its centre of mass; None where a piece has others."""
    found: list[Ball] = []
    for piece in [] if body.shape is None else body.shape.pieces(body.dim):
        R, at = rotation_matrix(piece.turn), piece.offset - body.centre
        if piece.kind == "sphere":
            found.append((at, piece.size[0]))
        elif piece.kind == "capsule":
            found += [(at + sign * piece.size[1] * R[:, 2], piece.size[0]) for sign in (-1.0, 1.0)]
        elif piece.kind in ("hull", "polygon") and piece.mesh is not None and piece.part == 0.0:
            found += [(at + R @ corner, piece.size[0]) for corner in piece.mesh.vertices]
        else:
            return None
    return found


def _round(body: Body) -> list[Ball] | None:
    """The balls of a body that is made of balls alone; None for others."""
    pieces = [] if body.shape is None else body.shape.pieces(body.dim)
    return _balls(body) if all(piece.kind == "sphere" for piece in pieces) else None


def _planes(body: Body) -> list[tuple[np.ndarray, float]] | None:
    """Normals and offsets of a static body that is made of half-spaces, in the world; None for others."""
    pieces = [] if body.shape is None else body.shape.pieces(body.dim)
    if not all(piece.kind == "plane" for piece in pieces):
        return None
    found = []
    for piece in pieces:
        R = rotation_matrix(body.orientation)
        n = R @ rotation_matrix(piece.turn) @ np.array([0.0, 0.0, 1.0])
        found.append((n, float(n @ (body.position + R @ piece.offset))))
    return found


def _meeting(scene: Scene) -> list[tuple[Body, Body, Any]]:
    """Pairs of bodies that may touch, the second of which moves, with their laws."""
    table, numbers, _ = material_tables(scene)
    found = []
    for j, b in enumerate(scene.bodies):
        for a in scene.bodies[:j]:
            first, second = (a, b) if b.kind == "moving" else (b, a)
            shapeless = a.shape is None or b.shape is None
            if (
                shapeless
                or second.kind != "moving"
                or (min(a.number, b.number), max(a.number, b.number)) in scene.ignored
            ):
                continue
            found.append((first, second, table[numbers[first.number], numbers[second.number]]))
    return found


def _contacts(scene: Scene, symbols: dict[int, Symbols]) -> list[Contact]:
    return [contact for a, b, law in _meeting(scene) for contact in _pair(a, b, symbols, law)]


def scene_pairs(scene: Scene) -> list[Pair | OnPlane]:
    """Pairs of pieces of a scene in space that may touch; ValueError for shapes without corners, edges and faces."""
    found: list[Pair | OnPlane] = []
    for a, b, law in _meeting(scene):
        bodies, names = (a.number, b.number), (a.name, b.name)
        cores, planes = _cores(b), _planes(a) if a.kind == "static" else None
        if planes is not None:
            found += [OnPlane(bodies, names, core, n, level, law) for n, level in planes for core in cores]
        else:
            found += [Pair(bodies, names, first, second, law) for first in _cores(a) for second in cores]
    return found


def _cores(body: Body) -> list[Core]:
    found = []
    for piece in [] if body.shape is None else body.shape.pieces(body.dim):
        core = Core.of(body, piece)
        if core is None:
            raise ValueError(
                f"body {body.name!r} cannot be part of a mechanism for the event-driven judge: it knows balls, "
                f"capsules, boxes and hulls, on one another and on static half-spaces, got a "
                f"{type(body.shape).__name__}."
            )
        found.append(core)
    return found


def _pair(a: Body, b: Body, symbols: dict[int, Symbols], law: Any) -> list[Contact]:
    """Contacts of body b, which moves, with body a."""
    planes = _planes(a) if a.kind == "static" else None
    balls, own = _balls(b), symbols[b.number]
    if planes is not None and balls is not None:
        return [
            _on_plane(f"{b.name} {k} on {a.name}" + (f" {i}" if i else ""), a, own, ball, plane, law)
            for i, plane in enumerate(planes)
            for k, ball in enumerate(balls)
        ]
    first, second = _round(a), _round(b)
    if first is not None and second is not None:
        return [
            _of_balls(f"{a.name} {i} and {b.name} {k}", (a, b), symbols, p, q, law)
            for i, p in enumerate(first)
            for k, q in enumerate(second)
        ]
    raise ValueError(
        f"bodies {a.name!r} and {b.name!r} cannot be part of a mechanism for the event-driven judge: their contact has "
        "features that change; points, balls and corners on half-spaces, and balls on balls have none that do."
    )


def _laws(law: Any, slips: list[Any]) -> dict[str, Any]:
    """Slip, friction and restitution of a contact; none of a tangent where nothing acts along it."""
    found: dict[str, Any] = {"restitution_normal": float(law.eps_N)}
    if law.mu > 0.0:
        found["slip_velocity"] = slips[0] if len(slips) == 1 else slips
        found["friction"] = float(law.mu)
        found["restitution_tangential"] = float(law.eps_T)
    return found


def _tangents(n: np.ndarray, dim: int) -> list[np.ndarray]:
    if dim == 2:
        return [np.array([n[1], -n[0], 0.0])]
    R = rotation_matrix(turn_from_z(n))
    return [R[:, 0], R[:, 1]]


def _on_plane(name: str, a: Body, own: Symbols, ball: Ball, plane: tuple[np.ndarray, float], law: Any) -> Contact:
    """A point of a body, with a radius, on a half-space."""
    (local, radius), (n, offset) = ball, plane
    arm = own.direction(local)
    gap = (own.x + arm).dot(vector(n)) - offset - radius
    velocity = own.velocity(arm - radius * vector(n)) - vector(a.velocity)  # less that of a belt
    return Contact(name, gap=gap, **_laws(law, [velocity.dot(vector(t)) for t in _tangents(n, a.dim)]))


def _of_balls(name: str, pair: tuple[Body, Body], symbols: dict[int, Symbols], p: Ball, q: Ball, law: Any) -> Contact:
    """Two balls."""
    a, b = (symbols[body.number] for body in pair)
    arm_a, arm_b = a.direction(p[0]), b.direction(q[0])
    line = (b.x + arm_b) - (a.x + arm_a)
    distance = sp.sqrt(line.dot(line))
    n = line / distance
    relative = b.velocity(arm_b - q[1] * n) - a.velocity(arm_a + p[1] * n)
    gap = distance - p[1] - q[1]
    if pair[0].dim == 2:
        return Contact(name, gap=gap, **_laws(law, [relative.dot(vector((n[1], -n[0], 0)))]))
    if law.mu > 0.0:  # derivatives of such tangents have more than 30,000 terms
        raise ValueError(
            f"bodies {pair[0].name!r} and {pair[1].name!r} cannot be part of a mechanism for the judge: balls with "
            "friction on balls in space have tangents that turn; without friction they are taken."
        )
    return Contact(name, gap=gap, **_laws(law, []))


# -- springs and forces ------------------------------------------------------------------------------------------------


def _loads(scene: Scene, symbols: dict[int, Symbols], rows: Rows) -> Any:
    """Potential of springs; their dampers and the forces of the scene join the generalised forces."""
    potential: Any = 0
    for spring in scene.springs:
        length, rate = rows.length(scene, symbols, spring)
        potential += float(spring.stiffness) * (length - float(spring.length)) ** 2 / 2
        if spring.damping > 0.0:
            rows.add_effort(symbols, (spring.a, spring.b), rate, -float(spring.damping) * rate)
    for force in scene.forces:
        own = symbols[force.body]
        push = np.zeros(3)
        if force.force is not None:
            push[: scene.dim] = np.asarray(force.force)
            rows.add_effort(symbols, (force.body,), own.v.dot(vector(push)), 1)
        if force.torque is not None:
            twist = np.asarray(force.torque, float)
            twist = np.array([0.0, 0.0, twist[0]]) if scene.dim == 2 else twist
            rows.add_effort(symbols, (force.body,), own.w.dot(vector(twist)), 1)
    return potential
