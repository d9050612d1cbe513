"""Keys of model files of scenes."""

from __future__ import annotations

import math
from typing import Any

from stickslip.io.models.fields import Either, Flag, Key, Kind, ListOf, Number, Table, Tagged, Text
from stickslip.io.models.layout_parts import (
    EXPRESSION,
    NOT_NEGATIVE,
    NUMBER,
    POINT,
    POSITIVE,
    SCENE_LAWS,
    STEPPERS,
    TEXT,
    TIMES,
    UNIT_INTERVAL,
    head,
)

_FLAT_BOX = "in the plane a box is a polygon of four vertices"


class Shapes(Kind):
    """Shapes; those of a compound are shapes again."""

    def table(self) -> Tagged:
        radius = Key(POSITIVE, "[m]", required=True)
        normal, offset = Key(POINT, "points out of the solid", required=True), Key(NUMBER, "[m]", default=0.0)
        part = Table(
            {
                "shape": Key(self, "shape of the part", required=True),
                "position": Key(POINT, "[m]"),
                "orientation": Key(_TURN, "angle [rad] or unit quaternion"),
            }
        )
        return Tagged(
            "type",
            {
                "circle": Table({"radius": radius}),
                "sphere": Table({"radius": radius}),
                "capsule": Table({"radius": radius, "length": Key(POSITIVE, "of its segment [m]", required=True)}),
                "half-plane": Table({"normal": normal, "offset": offset}),
                "half-space": Table({"normal": normal, "offset": offset}),
                "polygon": Table({"vertices": Key(ListOf(POINT, 3), "corners of a convex polygon [m]", required=True)}),
                "box": Table({"size": Key(ListOf(POSITIVE, 3, 3, _FLAT_BOX), "full edge lengths [m]", required=True)}),
                "ellipsoid": Table({"radii": Key(ListOf(POSITIVE, 3, 3), "semi-axes [m]", required=True)}),
                "cylinder": Table({"radius": radius, "length": Key(POSITIVE, "along z [m]", required=True)}),
                "disc": Table({"radius": radius, "length": Key(POSITIVE, "thickness along z [m]", required=True)}),
                "cone": Table({"radius": radius, "height": Key(POSITIVE, "along z [m]", required=True)}),
                "torus": Table(
                    {"radius": radius, "tube": Key(POSITIVE, "radius of the ring's tube [m]", required=True)}
                ),
                "rounded-box": Table(
                    {"size": Key(ListOf(POSITIVE, 3, 3), "full edge lengths [m]", required=True), "radius": radius}
                ),
                "convex-hull": Table({"points": Key(ListOf(POINT, 4), "[m]", required=True)}),
                "height-field": Table(
                    {
                        "heights": Key(ListOf(ListOf(NUMBER, 2), 2), "over a grid in x and y [m]", required=True),
                        "spacing": Key(POSITIVE, "of the grid [m]", default=1.0),
                    }
                ),
                "triangle-mesh": Table(
                    {
                        "vertices": Key(ListOf(POINT, 3), "corners [m]", required=True),
                        "triangles": Key(
                            ListOf(ListOf(NUMBER, 3, 3), 1),
                            "three corner numbers each, from 0, seen from outside",
                            required=True,
                        ),
                    }
                ),
                "compound": Table({"parts": Key(ListOf(part, 1), "shapes that move as one body", required=True)}),
            },
        )

    def check(self, value: Any, place: Any) -> Any:
        if len(place.path) > 24:
            raise place.error("compounds are nested too deeply")
        return self.table().check(value, place)

    def schema(self) -> dict[str, Any]:
        return {"$ref": "#/$defs/shape"}


_TURN = Either((NUMBER, ListOf(NUMBER, 4, 4)))
_SPIN = Either((NUMBER, ListOf(NUMBER, 3, 3)))
_BODY = Key(TEXT, 'name of a body, or "world"', required=True)
_MATERIAL = {
    "friction": Key(Either((NOT_NEGATIVE, ListOf(POSITIVE, 2, 2))), "mu, or two along the body's x axis and across"),
    "restitution": Key(UNIT_INTERVAL, "eps_N in [0, 1]"),
    "restitution_tangential": Key(UNIT_INTERVAL, "eps_T in [0, 1]"),
    "friction_impact": Key(NOT_NEGATIVE, "mu in impacts, where it is another one than in sliding"),
    "patch": Key(NOT_NEGATIVE, "radius of the disc of contact, which resists spinning [m]; in space"),
    "pressure": Key(Text(choices=("constant", "hertz")), "pressure on the patch"),
    "rolling": Key(NOT_NEGATIVE, "arm of the rolling resistance [m]"),
    "stiffness": Key(POSITIVE, "beside other surfaces; ratios count under law stiffness-ratios"),
}
_PLACED = {
    "name": Key(TEXT, "name of the body", required=True),
    "shape": Key(Shapes(), "shape of the body", required=True),
    "position": Key(POINT, "of the centre of mass [m]; of the shape where the body does not move freely"),
    "orientation": Key(_TURN, "angle [rad] in the plane, unit quaternion [w, x, y, z] in space"),
    **_MATERIAL,
}
_MOVING = {
    "velocity": Key(POINT, "[m/s]"),
    "angular_velocity": Key(_SPIN, "[rad/s], world axes"),
}
BODIES = Tagged(
    "type",
    {
        "moving": Table(
            {
                **_PLACED,
                **_MOVING,
                "mass": Key(POSITIVE, "[kg]; or density"),
                "density": Key(POSITIVE, "[kg/m^3], in the plane [kg/m^2]"),
                "inertia": Key(
                    Either((POSITIVE, ListOf(NUMBER, 3, 3), ListOf(ListOf(NUMBER, 3, 3), 3, 3))),
                    "about the centre of mass [kg m^2]; computed from the shape if not given",
                ),
                "centre_of_mass": Key(POINT, "in the coordinates of the shape [m]"),
                "appears": Key(Number(infinite=True), "takes part from this time on [s]", default=-math.inf),
                "vanishes": Key(Number(infinite=True), "takes part until this time [s]", default=math.inf),
            }
        ),
        "static": Table({**_PLACED, "surface_velocity": Key(POINT, "of a belt on its surface [m/s], world axes")}),
        "driven": Table(
            {
                **_PLACED,
                **_MOVING,
                "motion": Key(ListOf(EXPRESSION, 2, 3), "velocity as expressions in t [m/s]"),
                "spin": Key(Either((ListOf(EXPRESSION, 3, 3), EXPRESSION)), "angular velocity in t [rad/s]"),
            }
        ),
    },
    default="moving",
    meaning="bodies",
)
_ENDS = {"a": Key(TEXT, 'name of a body, or "world"', default="world"), "b": _BODY}
_JOINED = {**_ENDS, "name": Key(TEXT, "kind and number if not given")}
_COLLIDE = Key(Flag(), "whether the two bodies still collide", default=False)
_MOTOR = Table(
    {
        "speed": Key(NUMBER, "wanted [rad/s or m/s]"),
        "effort": Key(Number(least=0.0, infinite=True), "largest [N m or N]; no bound if not given"),
        "target": Key(NUMBER, "wanted angle [rad] or travel [m], from the start"),
        "stiffness": Key(NOT_NEGATIVE, "[N m/rad or N/m]"),
        "damping": Key(NOT_NEGATIVE, "[N m s/rad or N s/m]"),
    },
    "a motor that leads to a target",
)
_COLLIDES = Key(Flag(), "whether the two bodies still collide", default=True)
_AXIS = Key(POINT, "direction of the axis", required=True)
_DRIVE = {
    "limits": Key(ListOf(Number(infinite=True), 2, 2), "least and largest angle [rad] or travel [m] from the start"),
    "motor": Key(
        Either((ListOf(NUMBER, 2, 2), _MOTOR)), "speed [rad/s or m/s] and largest effort [N m or N], or a table"
    ),
    "friction": Key(NOT_NEGATIVE, "effort of dry friction [N m or N]", default=0.0),
    "damping": Key(NOT_NEGATIVE, "viscous [N m s/rad or N s/m]", default=0.0),
    "armature": Key(NOT_NEGATIVE, "inertia of a rotor [kg m^2 or kg]", default=0.0),
    "torque": Key(NUMBER, "effort that acts all the time [N m or N]", default=0.0),
    "collide": _COLLIDE,
}
_AT = Key(POINT, "joint point at the start [m]", required=True)
_ROPE = {
    **_JOINED,
    "at_a": Key(POINT, "end on a [m]", required=True),
    "at_b": Key(POINT, "end on b [m]", required=True),
    "length": Key(POSITIVE, "of the rope [m]; what it spans at the start if not given"),
    "collide": _COLLIDES,
}
JOINTS = Tagged(
    "type",
    {
        "revolute": Table({**_JOINED, "at": _AT, "axis": Key(POINT, "of the hinge, in space"), **_DRIVE}),
        "prismatic": Table(
            {**_JOINED, "at": _AT, "axis": Key(POINT, "direction in which it slides", required=True), **_DRIVE}
        ),
        "fixed": Table(
            {**_JOINED, "at": Key(POINT, "where [m]; b's centre of mass if not given"), "collide": _COLLIDE}
        ),
        "spherical": Table({**_JOINED, "at": _AT, "collide": _COLLIDE}),
        "distance": Table(
            {
                **_JOINED,
                "at_a": Key(POINT, "end on a [m]", required=True),
                "at_b": Key(POINT, "end on b [m]", required=True),
                "collide": _COLLIDES,
            }
        ),
        "universal": Table(
            {
                **_JOINED,
                "at": _AT,
                "axis_a": Key(POINT, "of the pin that is fixed in a", required=True),
                "axis_b": Key(POINT, "of the pin that is fixed in b, at a right angle", required=True),
                "collide": _COLLIDE,
            }
        ),
        "cylindrical": Table({**_JOINED, "at": _AT, "axis": _AXIS, "collide": _COLLIDE}),
        "screw": Table(
            {**_JOINED, "at": _AT, "axis": _AXIS, "lead": Key(NUMBER, "travel per turn [m]", required=True), **_DRIVE}
        ),
        "planar": Table(
            {**_JOINED, "at": _AT, "normal": Key(POINT, "of the plane", required=True), "collide": _COLLIDE}
        ),
        "translational": Table({**_JOINED, "collide": _COLLIDES}),
        "gear": Table(
            {
                **_JOINED,
                "at_a": Key(POINT, "centre of a's wheel [m]", required=True),
                "at_b": Key(POINT, "centre of b's wheel [m]", required=True),
                "axis": Key(POINT, "of both wheels, in space"),
                "ratio": Key(NUMBER, "radius of b over that of a; negative in a ring", required=True),
                "collide": _COLLIDE,
            }
        ),
        "rack": Table(
            {
                **_JOINED,
                "at": Key(POINT, "centre of the pinion, b [m]", required=True),
                "along": Key(POINT, "direction of the rack, a", required=True),
                "mesh": Key(POINT, "where the pinion meets the rack at the start [m]", required=True),
                "collide": _COLLIDE,
            }
        ),
        "coupling": Table(
            {
                "first": Key(Text(), "name of a joint", required=True),
                "second": Key(Text(), "name of a joint", required=True),
                "ratio": Key(NUMBER, "coordinate of the first over that of the second", required=True),
                "name": _JOINED["name"],
                "collide": _COLLIDES,
            }
        ),
        "rope": Table(_ROPE),
        "pulley": Table(
            {
                **_ROPE,
                "over_a": Key(POINT, "where the rope from a runs over [m]", required=True),
                "over_b": Key(POINT, "where the rope from b runs over [m]", required=True),
                "ratio": Key(NUMBER, "pull at b over pull at a", default=1.0),
            }
        ),
    },
    meaning="joints, in world coordinates at the start",
)
SPRINGS = Table(
    {
        **_ENDS,
        "at_a": Key(POINT, "end on a [m]", required=True),
        "at_b": Key(POINT, "end on b [m]", required=True),
        "stiffness": Key(NOT_NEGATIVE, "[N/m]", required=True),
        "damping": Key(NOT_NEGATIVE, "[N s/m]", default=0.0),
        "length": Key(NOT_NEGATIVE, "without force [m]; the distance at the start if not given"),
    }
)
FORCES = Table(
    {
        "body": _BODY,
        "force": Key(ListOf(EXPRESSION, 2, 3), "[N], numbers or expressions in t, x, y, z, vx, vy, vz"),
        "torque": Key(Either((ListOf(EXPRESSION, 3, 3), EXPRESSION)), "[N m], the same"),
    }
)
PAIRS = Table({"a": _BODY, "b": _BODY, **_MATERIAL}, "laws of two bodies, before those of their materials")
_SCENE_RUN = Table(
    {
        **TIMES,
        "stepper": Key(Text(choices=STEPPERS), "time stepper"),
        "theta": Key(UNIT_INTERVAL, "theta of moreau-jean"),
        "rtol": Key(POSITIVE, "tolerance of adaptive and event-driven"),
        "rule": Key(Text(choices=("predictive", "gs05")), "when a contact is active"),
        "cone": Key(Either((Number(least=3, whole=True), Text(choices=("circular",)))), "edges of friction pyramids"),
        "law": Key(
            Text(choices=SCENE_LAWS),
            "impact law",
        ),
        "tol": Key(POSITIVE, "residual of the contact laws"),
        "every": Key(Number(least=1, whole=True), "record every N-th step"),
        "threads": Key(Number(least=1, whole=True), "threads that share the islands"),
        "overlap": Key(Text(choices=("raise", "resolve", "keep")), "bodies that overlap at the start"),
        "penetration_tol": Key(NOT_NEGATIVE, "overlap at the start that is accepted [m]"),
        "on_failure": Key(Text(choices=("stop", "continue")), "at a step that is not solved"),
    },
    "how to run it; options of the command line go before these",
)
SCENE = Table(
    {
        **head("scene"),
        "kind": Key(Text(choices=("scene",)), "rigid bodies with shapes", required=True),
        "dim": Key(Number(2, 3, whole=True), "2 (plane) or 3 (space)", default=3),
        "gravity": Key(Either((NUMBER, POINT)), "[m/s^2] downwards (-y or -z), or a vector", default=9.81),
        "bodies": Key(ListOf(BODIES, 1), "bodies", required=True),
        "joints": Key(ListOf(JOINTS), "joints", default=[]),
        "springs": Key(ListOf(SPRINGS), "springs with dampers", default=[]),
        "forces": Key(ListOf(FORCES), "forces and torques", default=[]),
        "pairs": Key(ListOf(PAIRS), "laws of pairs of bodies", default=[]),
        "ignore": Key(ListOf(ListOf(TEXT, 2, 2)), "pairs of bodies that pass through one another", default=[]),
        "run": Key(_SCENE_RUN, "how to run it", required=True),
    },
    "rigid bodies with shapes, in the plane or in space",
)
