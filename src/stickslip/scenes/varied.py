"""A scene with other surfaces, masses, sizes, loads and starts, by name: what fits and ensembles change.

friction, restitution, ...        of all bodies
BODY.friction, ...                of one body
BODY.mass, BODY.density           of a body that moves
BODY.radius, BODY.size_x, ...     of its shape; BODY.scale, a factor, of any shape (`resized`)
BODY.force_x, BODY.torque_z       constant load on it, in world axes
BODY.x, BODY.qw, BODY.vx, ...     its start, as trajectories name it
BODY.turn_x, BODY.turn_y, ...     in space, a rotation vector in world axes by which its start is turned [rad]
JOINT.torque, JOINT.friction, ... of a joint; JOINT.speed of its motor
gravity_x, gravity_y, gravity_z
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from stickslip.checks import LARGEST, unknown_name
from stickslip.scenes.bodies import COORDINATES, VELOCITIES, Body, Material
from stickslip.scenes.checks import number
from stickslip.scenes.given import material_of
from stickslip.scenes.joints import WITH_AXIS, Force, Joint
from stickslip.scenes.resized import size_names, size_of, with_sizes
from stickslip.scenes.scene import Scene
from stickslip.scenes.shapes import quaternion_product

_SURFACE = ("friction", "restitution", "restitution_tangential", "friction_impact", "patch", "rolling", "stiffness")
_MASSES = ("mass", "density")
_OF_JOINTS = ("torque", "friction", "damping", "armature")
_LENGTHS = ("patch", "rolling", "offset", "radius", "length", "height", "tube", "spacing")
_QUATERNION = ("qw", "qx", "qy", "qz")
TURNS = ("turn_x", "turn_y", "turn_z")
"""Words for a small rotation of the start of a body in space: three numbers, where a quaternion has four."""
_LOADS = {
    2: ("force_x", "force_y", "torque"),
    3: tuple(f"{word}_{axis}" for word in ("force", "torque") for axis in "xyz"),
}
Words = dict[str, float]


def free_names(scene: Scene) -> tuple[str, ...]:
    """Names of what may vary, the start of every body among them."""
    bodies, moving = scene.bodies[1:], [body for body in scene.bodies if body.kind == "moving"]
    names = [*_SURFACE, *scene.parameter_names]
    names += _named(bodies, lambda body: _SURFACE)
    names += _named(moving, lambda body: (*_MASSES, *_LOADS[scene.dim]))
    names += _named(bodies, lambda body: size_names(body.shape))
    names += _named(moving if scene.dim == 3 else (), lambda body: TURNS)
    names += [f"{joint.name}.{word}" for joint in scene.joints for word in _joint_words(joint)]
    return (*names, *scene.coordinate_names, *scene.velocity_names)


def _named(bodies: Iterable[Body], words: Any) -> list[str]:
    return [f"{body.name}.{word}" for body in bodies for word in words(body)]


def _joint_words(joint: Joint) -> tuple[str, ...]:
    """Words for the quantities of a joint that may vary."""
    if joint.kind not in WITH_AXIS:
        return ()
    return (*_OF_JOINTS, *(("speed",) if joint.motor.effort > 0.0 else ()))


def free_units(scene: Scene) -> dict[str, str]:
    """Units of what may vary."""
    found = dict(scene.units)
    for name in free_names(scene):
        word = name.rpartition(".")[2]
        if word in ("mass", "density"):
            found[name] = "kg" if word == "mass" else f"kg/m^{scene.dim}"
        elif word in TURNS:
            found[name] = "rad"
        elif word.startswith("force_"):
            found[name] = "N"
        elif word.startswith("torque"):
            found[name] = "N m"
        elif word.startswith("gravity_"):
            found[name] = "m/s^2"
        elif word in _LENGTHS or word.startswith(("size_", "radii_")):
            found[name] = "m"
    return found


def varied(scene: Scene, values: Mapping[str, float]) -> tuple[Scene, dict[str, float]]:
    """A copy of a scene with some quantities changed, and the values that are left: positions and velocities.

    A mass takes the inertia along: the body keeps its shape and becomes denser.  A size keeps the mass.  A density
    counts for the changed shape.
    """
    other, starts = scene.copy(), {}
    surfaces: Words = {}
    bodies: dict[int, Words] = {}
    by_name = {body.name: body for body in scene.bodies[1:]}
    joints = {joint.name: k for k, joint in enumerate(scene.joints)}
    for name, value in values.items():
        label, _, word = name.rpartition(".")
        if not label and word in _SURFACE:
            surfaces[word] = value
        elif name in scene.parameter_names:
            other.gravity = other.gravity.copy()
            other.gravity["xyz".index(name[-1])] = number(value, name)
        elif label in by_name and word in _words_of(by_name[label]):
            bodies.setdefault(by_name[label].number, {})[word] = value
        elif label in joints and word in _joint_words(scene.joints[joints[label]]):
            other.joints[joints[label]] = _with_effort(other.joints[joints[label]], name, word, value)
        elif name in scene.coordinate_names or name in scene.velocity_names:
            starts[name] = value
        else:
            raise ValueError(unknown_name("quantity", name, free_names(scene)))
    for body in scene.bodies[1:] if surfaces else ():
        other.bodies[body.number] = _with_surface(body, surfaces)
    for k, words in bodies.items():
        other.bodies[k] = _with_words(other.bodies[k], words)
        loads = {word: value for word, value in words.items() if word in _LOADS[scene.dim]}
        if loads:
            other.forces = [*_loaded(other.forces, other.bodies[k], loads)]
    return other, starts


def _words_of(body: Body) -> tuple[str, ...]:
    """Words for the quantities of a body that may vary, without its place and its velocities."""
    words = (*_SURFACE, *size_names(body.shape))
    words += (*_MASSES, *_LOADS[body.dim]) if body.kind == "moving" else ()
    words += TURNS if body.dim == 3 and body.kind == "moving" else ()
    return words + (_QUATERNION if body.dim == 3 and body.kind != "static" else ())


def _with_words(body: Body, words: Words) -> Body:
    """The body with other sizes, then mass, surface and orientation."""
    sizes = {word: value for word, value in words.items() if word in size_names(body.shape)}
    if sizes:
        body = with_sizes(body, sizes)
    if "mass" in words and "density" in words:
        raise ValueError(f"{body.name}.mass and {body.name}.density must not vary together; take one of the two.")
    for word in _MASSES:
        if word in words:
            value = number(words[word], f"{body.name}.{word}", positive=True)
            assert body.shape is not None
            mass = value if word == "mass" else value * body.shape.mass_properties(body.dim).volume
            body = _denser(body, mass, f"{body.name}.{word}", value)
    if any(word in words for word in _SURFACE):
        body = _with_surface(body, words)
    if any(word in words for word in _QUATERNION):
        body = replace(body, orientation=_turn(body, words))
    if any(word in words for word in TURNS):
        body = replace(body, orientation=_turned(body, words))
    return body


def _turned(body: Body, words: Words) -> np.ndarray:
    """The orientation of a body behind the rotation exp(phi), phi in world axes."""
    phi = np.array([number(words.get(word, 0.0), f"{body.name}.{word}") for word in TURNS])
    half = 0.5 * math.sqrt(float(phi @ phi))
    axis = phi * (0.5 if half == 0.0 else 0.5 * math.sin(half) / half)
    turned = quaternion_product(np.array([math.cos(half), *axis]), body.orientation)
    return turned / math.sqrt(float(turned @ turned))


def _turn(body: Body, words: Words) -> np.ndarray:
    """The unit quaternion with some entries given, the others as they are, divided by its length."""
    own = dict(zip(_QUATERNION, body.orientation.tolist(), strict=True))
    turn = np.array([words.get(word, own[word]) for word in _QUATERNION])
    length = math.sqrt(float(turn @ turn))
    if not 1e-6 < length < math.inf:
        raise ValueError(f"{body.name}.qw, qx, qy, qz must not all be zero, got a quaternion of length {length:g}.")
    return turn if abs(length - 1.0) <= 4.0 * np.finfo(float).eps else turn / length


def _denser(body: Body, mass: float, name: str, value: float) -> Body:
    """The body with another mass [kg]; ValueError where its inertia, or the inverse of it, is no number."""
    inertia = body.inertia * (mass / body.mass)
    own = inertia.diagonal()[0 if body.dim == 3 else 2 :]
    if not np.isfinite(inertia).all() or own.min() < 1.0 / LARGEST:
        raise ValueError(f"{name} must leave an inertia that is a number, and so is its inverse, got {value:g}.")
    return replace(body, mass=mass, inertia=inertia)


def _with_surface(body: Body, words: Words) -> Body:
    """The body with some coefficients of its surface changed."""
    own = {each.name: getattr(body.material, each.name) for each in fields(Material)}
    own |= {word: float(value) for word, value in words.items() if word in _SURFACE}
    e_N, e_T = own.pop("restitution"), own.pop("restitution_tangential")
    surface: Any = own
    return replace(body, material=material_of(own.pop("friction"), e_N, e_T, surface, body.dim, repr(body.name)))


def _with_effort(joint: Joint, name: str, word: str, value: float) -> Joint:
    if word == "speed":
        return replace(joint, motor=replace(joint.motor, speed=number(value, name)))
    least = -math.inf if word == "torque" else 0.0
    changed: dict[str, Any] = {word: number(value, name, least=least)}
    return replace(joint, **changed)


def _loaded(forces: list[Force], body: Body, loads: Words) -> Iterable[Force]:
    """Forces of a scene with other constant loads on one body; functions stay beside them."""
    own = [force for force in forces if force.body == body.number]
    push, twist = np.zeros(3), np.zeros(3)
    for force in own:
        push[: body.dim] += 0.0 if force.force is None or callable(force.force) else force.force
        twist[2 if body.dim == 2 else 0 :] += 0.0 if force.torque is None or callable(force.torque) else force.torque
    for word, value in loads.items():
        kind, _, axis = word.partition("_")
        place = "xyz".index(axis or "z")
        (push if kind == "force" else twist)[place] = number(value, f"{body.name}.{word}")
    yield from (force for force in forces if force.body != body.number)
    for force in own:
        called = [part if callable(part) else None for part in (force.force, force.torque)]
        if any(called):
            yield Force(body.number, *called)
    yield Force(body.number, push[: body.dim], twist[2 if body.dim == 2 else 0 :])


def value_in(scene: Scene, name: str) -> float:
    """The value of a quantity in a scene; ValueError where it has none that is one number."""
    label, _, word = name.rpartition(".")
    if not label and word in _SURFACE:
        values = {_surface_value(body, word) for body in scene.bodies[1:]}
        if len(values) != 1:
            raise ValueError(f"{name} must be one number of all bodies, got {len(values)}; name one body, BODY.{word}.")
        return values.pop()
    if name in scene.parameter_names:
        return float(scene.gravity["xyz".index(name[-1])])
    joint = next((joint for joint in scene.joints if joint.name == label), None)
    if joint is not None and word in _joint_words(joint):
        return float(joint.motor.speed if word == "speed" else getattr(joint, word))
    body = next((body for body in scene.bodies[1:] if body.name == label), None)
    if body is None:
        raise ValueError(unknown_name("quantity", name, free_names(scene)))
    if word in _SURFACE:
        return _surface_value(body, word)
    if word in _MASSES:
        assert body.shape is not None or word == "mass"
        return body.mass if word == "mass" else body.mass / body.shape.mass_properties(body.dim).volume  # type: ignore[union-attr]
    if word in size_names(body.shape):
        assert body.shape is not None
        return size_of(body.shape, word)
    if word in _LOADS[body.dim]:
        kind, _, axis = word.partition("_")
        given = [getattr(force, kind) for force in scene.forces if force.body == body.number]
        place = 0 if (kind, body.dim) == ("torque", 2) else "xyz".index(axis)
        return float(sum(value[place] for value in given if isinstance(value, np.ndarray)))
    if word in TURNS:
        return 0.0
    start = dict(zip(COORDINATES[body.dim], _place(body), strict=True))
    start |= dict(zip(VELOCITIES[body.dim], _speed(body), strict=True))
    return float(start[word])


def _surface_value(body: Body, word: str) -> float:
    value = getattr(body.material, word)
    if not isinstance(value, int | float):
        raise ValueError(f"{body.name}.{word} must be a number to have neighbours, got {value!r}.")
    return float(value)


def _place(body: Body) -> list[float]:
    if body.dim == 2:
        return [*body.position[:2].tolist(), body.angle]
    return [*body.position.tolist(), *body.orientation.tolist()]


def _speed(body: Body) -> list[float]:
    if body.dim == 2:
        return [*body.velocity[:2].tolist(), float(body.angular_velocity[2])]
    return [*body.velocity.tolist(), *body.angular_velocity.tolist()]
