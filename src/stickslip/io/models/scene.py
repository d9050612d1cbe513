"""Model files of scenes: from checked content to a `SceneScenario`, and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from stickslip.checks import unknown_name
from stickslip.io.models.expressions import ExpressionError, function_of, parse
from stickslip.io.models.fields import Place
from stickslip.io.models.lagrangian import located
from stickslip.laws.friction import FrictionLaw
from stickslip.laws.restitution import RestitutionCurve
from stickslip.scenario import SceneScenario
from stickslip.scenes.bodies import Body
from stickslip.scenes.joints import IN_SPACE, TIES, TWO_POINTS, WITH_AXIS, Joint, Motor
from stickslip.scenes.scene import Scene
from stickslip.scenes.shapes import (
    Box,
    Capsule,
    Circle,
    Compound,
    ConvexHull,
    HalfPlane,
    HalfSpace,
    HeightField,
    Polygon,
    Shape,
    Sphere,
    require_dimension,
)
from stickslip.scenes.smooth_shapes import Cone, Cylinder, Disc, Ellipsoid, RoundedBox, Torus
from stickslip.scenes.triangle_mesh import TriangleMesh

_SHAPES: dict[str, type[Any]] = {
    "circle": Circle,
    "sphere": Sphere,
    "capsule": Capsule,
    "half-plane": HalfPlane,
    "half-space": HalfSpace,
    "polygon": Polygon,
    "box": Box,
    "convex-hull": ConvexHull,
    "height-field": HeightField,
    "ellipsoid": Ellipsoid,
    "cylinder": Cylinder,
    "disc": Disc,
    "cone": Cone,
    "torus": Torus,
    "rounded-box": RoundedBox,
    "triangle-mesh": TriangleMesh,
}
_MATERIAL = (
    "friction",
    "restitution",
    "restitution_tangential",
    "friction_impact",
    "patch",
    "pressure",
    "rolling",
    "stiffness",
)
_OF_CLI = ("stepper", "theta", "rtol", "every")  # options that the command line puts together
MOST_CHARACTERS, MOST_HULLS = 30_000, 1_000  # with these a file is read within a second
_STATE = ("x", "y", "z", "vx", "vy", "vz")


def scenario_from(content: dict[str, Any], place: Place) -> SceneScenario:
    """The scene of a checked file."""
    _require_short(content, place)
    scene = located(place, lambda: Scene(content["dim"], content["gravity"], content["name"]))
    bodies: dict[str, Body | None] = {"world": None}
    hulls: dict[Any, Shape] = {}
    for i, entry in enumerate(content["bodies"]):
        here = place.at("bodies", i)
        bodies[entry["name"]] = located(here, partial(_add_body, scene, entry, here, hulls))
    for part, add in (("joints", _add_joint), ("springs", _add_spring), ("forces", _add_force), ("pairs", _add_pair)):
        for i, entry in enumerate(content[part]):
            here = place.at(part, i)
            located(here, partial(add, scene, bodies, entry, here))
    for i, pair in enumerate(content["ignore"]):
        here = place.at("ignore", i)
        a, b = (_body(bodies, name, here) for name in pair)
        located(here, partial(scene.ignore, a or scene.bodies[0], b or scene.bodies[0]))
    run = content["run"]
    options = {key: value for key, value in run.items() if value is not None and key not in ("dt", "t_end", *_OF_CLI)}
    return SceneScenario(
        scene, run["dt"], run["t_end"], content["title"] or content["name"], content["source"] or place.file, options
    )


def _require_short(content: dict[str, Any], place: Place) -> None:
    """Formulas of motions and forces are short enough to be read within a second."""
    length = 0
    for part, keys in (("bodies", ("motion", "spin")), ("forces", ("force", "torque"))):
        for entry in content[part]:
            given = [entry.get(key) for key in keys]
            texts = [text for value in given for text in (value if isinstance(value, list) else [value])]
            length += sum(len(text) for text in texts if isinstance(text, str))
    if length > MOST_CHARACTERS:
        raise place.error(f"the formulas of a scene may have {MOST_CHARACTERS} characters together, got {length}")


def _body(bodies: Mapping[str, Body | None], name: str, place: Place) -> Body | None:
    if name not in bodies:
        raise place.error(unknown_name("body", name, list(bodies)[:40]))
    return bodies[name]


def _moving(bodies: Mapping[str, Body | None], name: str, place: Place) -> Body:
    body = _body(bodies, name, place)
    if body is None:
        raise place.error("a body of the scene is expected, got the world")
    return body


def _shape(entry: dict[str, Any], dim: int, hulls: dict[Any, Shape]) -> Shape:
    """The shape of an entry; `hulls` holds those that the file had before, by their points."""
    values = {key: value for key, value in entry.items() if key != "type"}
    if entry["type"] == "compound":
        parts = []
        for part in values["parts"]:
            shape, position = _shape(part["shape"], dim, hulls), part["position"] or [0.0] * dim
            turn = () if part["orientation"] is None else (part["orientation"],)
            parts.append((shape, position, *turn))
        return Compound(parts)
    require_dimension(_SHAPES[entry["type"]], dim)
    for key in ("normal", "size"):
        if key in values:
            values[key] = tuple(values[key])
    if entry["type"] == "convex-hull":
        return _hull(values["points"], hulls)
    made: Shape = _SHAPES[entry["type"]](**values)
    return made


def _hull(points: list[list[float]], hulls: dict[Any, Shape]) -> Shape:
    key = tuple(map(tuple, points))
    if key not in hulls:
        if len(hulls) >= MOST_HULLS:
            raise ValueError(f"a file may have at most {MOST_HULLS} different convex hulls, got more.")
        hulls[key] = ConvexHull(points)
    return hulls[key]


def _add_body(scene: Scene, entry: dict[str, Any], place: Place, hulls: dict[Any, Shape]) -> Body:
    values = {key: value for key, value in entry.items() if key not in ("type", "shape") and value is not None}
    shape = _shape(entry["shape"], scene.dim, hulls)
    if isinstance(values.get("friction"), list):
        values["friction"] = tuple(values["friction"])
    if entry["type"] == "static":
        return scene.add_static(shape, **values)
    if entry["type"] == "moving":
        return scene.add_body(shape, **values)
    motion, spin = values.pop("motion", None), values.pop("spin", None)
    if motion is not None or spin is not None:
        values["motion"] = _motion(motion, spin, values, scene.dim, place)
    return scene.add_driven(shape, **values)


def _motion(motion: Any, spin: Any, values: Mapping[str, Any], dim: int, place: Place) -> Callable[[float], Any]:
    """Velocity and angular velocity of a driven body as a function of time."""
    velocity = motion if motion is not None else [repr(x) for x in values.get("velocity", [0.0] * dim)]
    turning = spin
    if turning is None:
        still = 0.0 if dim == 2 else [0.0] * 3
        given = values.get("angular_velocity", still)
        turning = repr(given) if dim == 2 else [repr(x) for x in given]
    if len(velocity) != dim:
        raise place.at("motion").error(f"{dim} expressions are expected, got {len(velocity)}")
    if isinstance(turning, list) != (dim == 3):
        raise place.at("spin").error("three expressions are expected in space, one in the plane")
    v = _function(velocity, ("t",), place.at("motion"))
    w = _function(turning if isinstance(turning, list) else [turning], ("t",), place.at("spin"))
    return lambda t: (v(t), w(t) if dim == 3 else w(t)[0])


def _function(texts: Sequence[str], names: Sequence[str], place: Place) -> Callable[..., list[float]]:
    """A Python function of the names."""
    symbols = {name: sp.Symbol(name, real=True) for name in names}
    try:
        expressions = [parse(text, symbols).expression for text in texts]
    except ExpressionError as problem:
        raise place.error(str(problem)) from None
    return function_of(expressions, symbols.values())


def _add_joint(scene: Scene, bodies: Mapping[str, Body | None], entry: dict[str, Any], place: Place) -> None:
    values = {key: value for key, value in entry.items() if key not in ("type", "a", "b") and value is not None}
    if entry["type"] == "coupling":
        scene.add_coupling(**values)
        return
    a, b = _body(bodies, entry["a"], place.at("a")), _moving(bodies, entry["b"], place.at("b"))
    if isinstance(values.get("motor"), dict):
        try:
            values["motor"] = Motor(**{key: value for key, value in values["motor"].items() if value is not None})
        except ValueError as problem:
            raise place.at("motor").error(str(problem)) from None
    getattr(scene, f"add_{entry['type']}")(a, b, **values)  # the layout knows the kinds that there are


def _add_spring(scene: Scene, bodies: Mapping[str, Body | None], entry: dict[str, Any], place: Place) -> None:
    a, b = _body(bodies, entry["a"], place.at("a")), _moving(bodies, entry["b"], place.at("b"))
    values = {key: value for key, value in entry.items() if key not in ("a", "b") and value is not None}
    scene.add_spring(a, b, **values)


def _add_force(scene: Scene, bodies: Mapping[str, Body | None], entry: dict[str, Any], place: Place) -> None:
    body = _moving(bodies, entry["body"], place.at("body"))
    force, torque = entry["force"], entry["torque"]
    if isinstance(torque, str):
        if scene.dim == 3:
            raise place.at("torque").error("three expressions are expected in space, got one")
        torque = [torque]
    push = _effort(force, scene.dim, scene.dim, place.at("force"))
    twist = _effort(torque, 3 if scene.dim == 3 else 1, scene.dim, place.at("torque"))
    if scene.dim == 2 and isinstance(twist, list):
        twist = twist[0]
    scene.add_force(body, push, twist)


def _effort(texts: list[str] | None, size: int, dim: int, place: Place) -> Any:
    """A force or torque: numbers where it is constant, else a function of (t, position, velocity)."""
    if texts is None:
        return None
    if len(texts) != size:
        raise place.error(f"{size} expressions are expected, got {len(texts)}")
    names = ("t", *_STATE[:dim], *_STATE[3 : 3 + dim])
    try:
        parts = [parse(text, {name: sp.Symbol(name) for name in names}) for text in texts]
    except ExpressionError as problem:
        raise place.error(str(problem)) from None
    if all(part.value is not None for part in parts):
        return [float(part.value or 0.0) for part in parts]
    function = _function(texts, names, place)
    return lambda t, x, v: function(t, *x, *v)


def _add_pair(scene: Scene, bodies: Mapping[str, Body | None], entry: dict[str, Any], place: Place) -> None:
    a, b = (_body(bodies, entry[key], place.at(key)) or scene.bodies[0] for key in ("a", "b"))
    scene.set_pair(a, b, **{key: entry[key] for key in _MATERIAL})


# -- writing -----------------------------------------------------------------------------------------------------------


def is_same(again: SceneScenario, scenario: SceneScenario) -> bool:
    """Whether the scenario that a file gave is the one that was written."""
    return content_of(again) == content_of(scenario)


def content_of(scenario: SceneScenario) -> dict[str, Any]:
    """The content of the file of a scene; ValueError where something in it is a Python function."""
    scene, dim = scenario.scene, scenario.scene.dim
    names = [body.name for body in scene.bodies]
    content: dict[str, Any] = {
        "stickslip": 1,
        "kind": "scene",
        "name": scene.name,
        "title": scenario.title,
        "source": scenario.source,
        "dim": dim,
        "gravity": _numbers(scene.gravity[:dim]),
        "run": {"dt": float(scenario.dt), "t_end": float(scenario.t_end), **scenario.options},
        "bodies": [_body_of(body) for body in scene.bodies[1:]],
    }
    jointed = {(min(j.a, j.b), max(j.a, j.b)) for j in scene.joints if j.kind not in TIES}
    free = [pair for pair in sorted(scene.ignored) if pair not in jointed]
    if free:
        content["ignore"] = [[names[i], names[j]] for i, j in free]
    parts = {
        "joints": [_joint_of(joint, k, names, dim, scene) for k, joint in enumerate(scene.joints, 1)],
        "springs": [
            {
                "a": names[spring.a],
                "b": names[spring.b],
                "at_a": _numbers(spring.at_a[:dim]),
                "at_b": _numbers(spring.at_b[:dim]),
                "stiffness": float(spring.stiffness),
                "damping": float(spring.damping),
                "length": float(spring.length),
            }
            for spring in scene.springs
        ],
        "forces": [_force_of(force, names, dim) for force in scene.forces],
        "pairs": [
            {"a": names[i], "b": names[j], **_material_of(material)}
            for (i, j), material in sorted(scene.pair_laws.items())
        ],
    }
    return {**content, **{key: value for key, value in parts.items() if value}}


def _numbers(values: Any) -> list[float]:
    return [float(x) for x in values]


def _material_of(material: Any) -> dict[str, Any]:
    found = {key: getattr(material, key) for key in _MATERIAL if getattr(material, key) is not None}
    if isinstance(found.get("friction"), FrictionLaw):
        raise ValueError(
            f"a body has the friction law {type(found['friction']).__name__}, and a file holds coefficients: it cannot "
            "be written."
        )
    if isinstance(found.get("restitution"), RestitutionCurve):
        raise ValueError(
            "a body has a RestitutionCurve, and a file of a scene holds coefficients: it cannot be written."
        )
    return {
        key: list(value) if isinstance(value, tuple) else (value if isinstance(value, str) else float(value))
        for key, value in found.items()
    }


def _shape_of(shape: Shape, dim: int) -> dict[str, Any]:
    if isinstance(shape, Compound):
        parts = []
        for part, offset, turn in shape._placed(dim):
            angle = 2.0 * math.atan2(turn[3], turn[0])
            parts.append(
                {
                    "shape": _shape_of(part, dim),
                    "position": _numbers(offset[:dim]),
                    "orientation": angle if dim == 2 else _numbers(turn),
                }
            )
        return {"type": "compound", "parts": parts}
    name = next((name for name, kind in _SHAPES.items() if type(shape) is kind), None)
    if name is None:
        raise ValueError(f"shape {type(shape).__name__} has no place in a file: it cannot be written.")
    keys = {"polygon": ["vertices"], "convex-hull": ["points"]}.get(name) or [
        field.name for field in fields(_SHAPES[name]) if field.init
    ]
    return {"type": name, **{key: np.asarray(getattr(shape, key), dtype=float).tolist() for key in keys}}


def _body_of(body: Body) -> dict[str, Any]:
    """A body with its mass, inertia and centre as numbers, so that nothing is computed anew."""
    dim = body.dim
    if body.motion is not None:
        raise ValueError(
            f"body {body.name!r} moves by a Python function: it cannot be written; a file has expressions."
        )
    found: dict[str, Any] = {"name": body.name}
    if body.kind != "moving":
        found["type"] = body.kind
    found["shape"] = _shape_of(body.shape, dim) if body.shape is not None else {}
    if body.kind == "moving":
        found["mass"] = float(body.mass)
        found["inertia"] = float(body.inertia[2, 2]) if dim == 2 else body.inertia.tolist()
        found["centre_of_mass"] = _numbers(body.centre[:dim])
    found["position"] = _numbers(body.position[:dim])
    found["orientation"] = float(body.angle) if dim == 2 else _numbers(body.orientation)
    if body.kind == "static" and np.any(body.velocity):
        found["surface_velocity"] = _numbers(body.velocity[:dim])
    if body.kind != "static":
        found["velocity"] = _numbers(body.velocity[:dim])
        spin = body.angular_velocity
        found["angular_velocity"] = float(spin[2]) if dim == 2 else _numbers(spin)
    for key, value in zip(("appears", "vanishes"), body.life, strict=True):
        if math.isfinite(value):
            found[key] = float(value)
    return found | _material_of(body.material)


def _motor_of(motor: Motor) -> Any:
    """The motor of a joint as a model file has it."""
    if motor == Motor(motor.speed, motor.effort):
        return [motor.speed, motor.effort]
    return {field.name: getattr(motor, field.name) for field in fields(motor)}


def _joint_of(joint: Joint, k: int, names: list[str], dim: int, scene: Scene) -> dict[str, Any]:
    found: dict[str, Any] = {"type": joint.kind, "a": names[joint.a], "b": names[joint.b]}
    if joint.name != f"{joint.kind}{k}":
        found["name"] = joint.name
    collide = (min(joint.a, joint.b), max(joint.a, joint.b)) not in scene.ignored
    if joint.kind == "coupling":
        own = {key: value for key, value in found.items() if key not in ("a", "b")}
        return {**own, "first": joint.couples[0], "second": joint.couples[1], "ratio": float(joint.law[0])}
    found |= _geometry_of(joint, dim)
    if joint.kind in TIES:  # pairs that they ignore stand in the list `ignore`
        return found
    if joint.kind in WITH_AXIS:
        if joint.limits != (-math.inf, math.inf):
            found["limits"] = list(joint.limits)
        if joint.motor.effort > 0.0:
            found["motor"] = _motor_of(joint.motor)
        for name in ("friction", "damping", "armature", "torque"):
            if getattr(joint, name):
                found[name] = float(getattr(joint, name))
    if collide:
        found["collide"] = True
    return found


def _geometry_of(joint: Joint, dim: int) -> dict[str, Any]:
    """Points, axes and numbers of a joint as a model file has them."""
    found: dict[str, Any] = {}
    if joint.kind == "translational":
        return found
    if joint.kind in TWO_POINTS:
        found |= {"at_a": _numbers(joint.at_a[:dim]), "at_b": _numbers(joint.at_b[:dim])}
    else:
        found["at"] = _numbers(joint.at_a[:dim])
    axis = {"universal": "axis_a", "planar": "normal"}.get(joint.kind, "axis")
    if joint.kind == "prismatic" or (dim == 3 and joint.kind in ("revolute", "gear", *IN_SPACE)):
        found[axis] = _numbers(joint.axis[:dim])
    across = np.zeros(3) if joint.across is None else joint.across
    if joint.kind == "universal":
        found["axis_b"] = _numbers(across)
    if joint.kind == "screw":
        found["lead"] = float(joint.law[0])
    if joint.kind == "gear":
        found["ratio"] = float(joint.law[2])
    if joint.kind == "rack":
        found |= {"along": _numbers(across[:dim]), "mesh": _numbers(joint.over[0][:dim])}
    if joint.kind in ("rope", "pulley"):
        found["length"] = float(joint.length)
    if joint.kind == "pulley":
        found |= {"over_a": _numbers(joint.over[0][:dim]), "over_b": _numbers(joint.over[1][:dim])}
        found["ratio"] = float(joint.law[0])
    return found


def _force_of(force: Any, names: list[str], dim: int) -> dict[str, Any]:
    if callable(force.force) or callable(force.torque):
        raise ValueError(
            f"a force on {names[force.body]!r} is a Python function: it cannot be written; a file has expressions."
        )
    found: dict[str, Any] = {"body": names[force.body]}
    if force.force is not None:
        found["force"] = _numbers(force.force)
    if force.torque is not None:
        found["torque"] = float(force.torque[0]) if dim == 2 else _numbers(force.torque)
    return found
