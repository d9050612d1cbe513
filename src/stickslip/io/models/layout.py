"""The description of model files: every key, its kind and its meaning.  Checking and JSON Schema both come from here.

`schema.json` beside this file is `schema_text()`, shipped for editors; a test holds the two together.
"""

from __future__ import annotations

import difflib
import json
import math
from typing import Any

from stickslip.drawing.primitives import STYLES
from stickslip.io.models.fields import Either, Flag, Key, Kind, ListOf, MapOf, Number, Place, Table, Tagged, Text

FORMAT = 1
"""Version of the format, the value of the key `stickslip`."""
_MOST_STEPS = 2**53  # beyond, a double does not count them one by one

_NUMBER, _POSITIVE, _NOT_NEGATIVE, _UNIT_INTERVAL = Number(), Number(above=0.0), Number(least=0.0), Number(0.0, 1.0)
_EXPRESSION, _TEXT = Text(expression=True), Text()
_POINT = ListOf(_NUMBER, 2, 3)
_STEPPERS = ("moreau-midpoint", "moreau-jean", "paoli-schatzman", "stewart-trinkle", "adaptive", "event-driven")
_SOLVERS = ("auto", "lemke", "gauss-seidel", "enumerate", "newton", "augmented-lagrangian", "alternating")
_LAWS = ("newton", "poisson", "poisson-integrated", "stronge", "stronge-lumped", "walton")


def _head(kind: str) -> dict[str, Key]:
    return {
        "stickslip": Key(Number(whole=True), f"version of the format, {FORMAT}", required=True),
        "name": Key(_TEXT, f"name of the {kind}, for messages and files", required=True),
        "title": Key(_TEXT, "one line for figures"),
        "source": Key(_TEXT, "paper, drawing or person it comes from"),
    }


# -- mechanisms in generalised coordinates -----------------------------------------------------------------------------

_COORDINATE = Table(
    {
        "velocity": Key(_TEXT, "symbol of its time derivative; <name>_dot if not given"),
        "unit": Key(_TEXT, "unit, for figures and files"),
        "velocity_unit": Key(_TEXT, "unit of the velocity"),
        "start": Key(_NUMBER, "value at the start", default=0.0),
        "start_velocity": Key(_NUMBER, "velocity at the start", default=0.0),
    }
)
_PARAMETER = Either(
    (
        Table(
            {
                "value": Key(_NUMBER, "value; can be changed by --set", required=True),
                "unit": Key(_TEXT, "unit"),
                "positive": Key(Flag(), "refuse values that are not positive", default=False),
                "meaning": Key(_TEXT, "what it is"),
            }
        ),
        _NUMBER,
    )
)
_ENERGIES = Table(
    {
        "kinetic": Key(
            _EXPRESSION, "kinetic energy T(q, u, t) [J], at most quadratic in the velocities", required=True
        ),
        "potential": Key(_EXPRESSION, "potential energy V(q, t) [J]", default="0"),
    },
    "the energies, from which the equations of motion are derived",
)
_EQUATIONS = Table(
    {
        "mass": Key(ListOf(ListOf(_EXPRESSION, 1), 1), "mass matrix M(q, t), rows of expressions", required=True),
        "force": Key(ListOf(_EXPRESSION, 1), "forces h(q, u, t) of M du/dt = h", required=True),
        "potential": Key(_EXPRESSION, "potential energy V(q, t) [J], for the energy book only"),
    },
    "mass matrix and forces as a paper prints them, in place of energies",
)
FRICTION_LAWS = Tagged(
    "law",
    {
        "two-coefficient": Table(
            {
                "static": Key(_EXPRESSION, "coefficient at rest [-]", required=True),
                "kinetic": Key(_EXPRESSION, "coefficient of slip [-]", required=True),
                "graze": Key(Text(choices=("slip", "grab")), "slip that just touches zero", default="slip"),
            }
        ),
        "elliptic": Table(
            {
                "first": Key(_EXPRESSION, "coefficient along the first of two directions of slip [-]", required=True),
                "second": Key(_EXPRESSION, "coefficient along the second one [-]", required=True),
            }
        ),
        "stribeck": Table(
            {
                "static": Key(_EXPRESSION, "coefficient at rest [-]", required=True),
                "kinetic": Key(_EXPRESSION, "coefficient of fast slip [-]", required=True),
                "velocity": Key(_EXPRESSION, "of slip at which friction has fallen [m/s]", required=True),
                "exponent": Key(_EXPRESSION, "of the fall", default="1"),
                "viscous": Key(_EXPRESSION, "rise with the speed [s/m]", default="0"),
            }
        ),
    },
)
RESTITUTION_LAWS = Tagged(
    "law",
    {
        "speed": Table(
            {
                "curve": Key(_EXPRESSION, "coefficient in [0, 1], of the approach speed", required=True),
                "speed": Key(_TEXT, "name of the approach speed [m/s] in the curve", default="v"),
                "mass": Key(_TEXT, "name of the inertia that the contact feels [kg], where the curve has it"),
            }
        )
    },
)
_RESTITUTION = Either((RESTITUTION_LAWS, _EXPRESSION))
_COEFFICIENTS = {
    "friction": Key(Either((FRICTION_LAWS, _EXPRESSION)), "coefficient mu [-], or a law of slip", default="0"),
    "restitution_normal": Key(_RESTITUTION, "coefficient eps_N in [0, 1], or a law of the approach", default="0"),
    "restitution_tangential": Key(_RESTITUTION, "coefficient eps_T in [0, 1], or a law of the approach", default="0"),
    "threshold": Key(_EXPRESSION, "part of the friction bound that does not depend on the load [N]", default="0"),
}
_CONTACT_NAME = Key(_TEXT, "name of the contact", required=True)
_PAIRS = ListOf(ListOf(_EXPRESSION, 2, 2), 1)
_TWO = ListOf(_EXPRESSION, 2, 2)
_SLIP = Either((ListOf(_PAIRS, 2, 2), _PAIRS, _TWO, _EXPRESSION))
SECTIONS = Tagged(
    "shape",
    {
        "polygon": Table({"vertices": Key(ListOf(ListOf(_NUMBER, 2, 2), 3), "corners, anticlockwise about 0")}),
        "power-norm": Table({"p": Key(_NUMBER, "exponent p > 1 of |s_1|^p + |s_2|^p <= 1", required=True)}),
    },
    meaning="section of the friction cone of a contact with two directions of slip; left out: a disc",
)
CONTACTS = Tagged(
    "type",
    {
        "contact": Table(
            {
                "name": _CONTACT_NAME,
                "gap": Key(_EXPRESSION, "distance g_N(q, t) [m], negative when the bodies overlap", required=True),
                "slip": Key(_SLIP, "displacement along the surface [m], or pairs [factor, displacement]; or two such"),
                "slip_velocity": Key(
                    Either((_TWO, _EXPRESSION)), "sliding velocity [m/s], linear in the velocities; or a list of two"
                ),
                "tangent": Key(
                    Either((ListOf(ListOf(_EXPRESSION, 1), 2, 2), ListOf(_EXPRESSION, 1))),
                    "w_T in place of slip, an expression per coordinate; or a list of two such",
                ),
                "tangent_drift": Key(
                    Either((_TWO, _EXPRESSION)), "w_hat_T of gamma_T = w_T u + w_hat_T; or a list of two"
                ),
                "section": Key(SECTIONS, "section of the friction cone, with two directions of slip"),
                "normal": Key(ListOf(_EXPRESSION, 1), "w_N, if it shall not be the gradient of the gap"),
                "normal_drift": Key(_EXPRESSION, "w_hat_N, if it shall not be the time derivative of the gap"),
                "closes_when": Key(_EXPRESSION, "an open contact can close only while this is positive"),
                **_COEFFICIENTS,
            }
        ),
        "stop": Table(
            {
                "name": _CONTACT_NAME,
                "coordinate": Key(_EXPRESSION, "what is bounded, x(q, t) [m or rad]", required=True),
                "lower": Key(_EXPRESSION, "least value"),
                "upper": Key(_EXPRESSION, "largest value"),
                "restitution": Key(_RESTITUTION, "coefficient eps_N in [0, 1], or a law of the approach", default="0"),
            }
        ),
        "clutch": Table(
            {"name": _CONTACT_NAME, "angle": Key(_EXPRESSION, "angle that never turns back [rad]", required=True)}
        ),
        "dry-friction": Table(
            {
                "name": _CONTACT_NAME,
                "displacement": Key(_EXPRESSION, "relative displacement of the two sides [m]", required=True),
                "threshold": Key(_EXPRESSION, "largest friction force [N]", required=True),
            }
        ),
        "prestressed-spring": Table(
            {
                "name": _CONTACT_NAME,
                "displacement": Key(_EXPRESSION, "x(q, t) that the spring holds at 0 [m]", required=True),
                "preload": Key(_EXPRESSION, "force up to which it holds [N]", required=True),
            }
        ),
    },
    default="contact",
    meaning="contacts and other set-valued elements",
)
_RESET = Table(
    {
        "section": Key(_TEXT, "where, such as 'impact:foot 2' or 'phi>0 mod 2pi'"),
        "swap": Key(ListOf(ListOf(_TEXT, 2, 2), 1), "pairs of coordinates that change places"),
        "shift": Key(MapOf(_EXPRESSION), "what is added to a coordinate, an expression of parameters"),
        "flip": Key(ListOf(_TEXT, 1), "coordinates that change their sign"),
        "map": Key(MapOf(_EXPRESSION), "the new value of a coordinate, an affine expression of coordinates"),
    },
    "new names for coordinates after each return to a section, for cycles of walkers and wheels",
)
CONSTRAINTS = Table(
    {
        "name": Key(_TEXT, "name of the constraint", required=True),
        "equation": Key(_EXPRESSION, "g(q, t) that is zero at all times"),
        "velocity": Key(_EXPRESSION, "expression that is zero at all times, linear in the velocities: rolling"),
    },
    "an equation that the motion keeps to: equation or velocity",
)
_TIMES = {
    "dt": Key(_POSITIVE, "step size [s]", required=True),
    "t_end": Key(_POSITIVE, "end time [s]", required=True),
}
_RUN = Table(
    {
        **_TIMES,
        "stepper": Key(Text(choices=_STEPPERS), "time stepper"),
        "solver": Key(Text(choices=_SOLVERS), "solver of each step's contact problem"),
        "law": Key(Text(choices=_LAWS), "impact law"),
        "engine": Key(Text(choices=("auto", "compiled", "reference")), "engine"),
        "every": Key(Number(least=1, whole=True), "record every N-th step"),
        "theta": Key(_UNIT_INTERVAL, "theta of moreau-jean"),
        "rtol": Key(_POSITIVE, "tolerance of adaptive and event-driven"),
        "projection": Key(_POSITIVE, "remove penetrations deeper than this [m]"),
        "penetration_tol": Key(_NOT_NEGATIVE, "deepest penetration at the start that is accepted [m]"),
        "initialise": Key(Flag(), "make the initial velocities consistent with the closed contacts first"),
        "on_failure": Key(Text(choices=("stop", "continue")), "at a contact problem that is not solved"),
    },
    "how to run it; options of the command line go before these",
)
_PAIR = ListOf(_EXPRESSION, 2, 2)


def _style(default: str) -> dict[str, Key]:
    return {"style": Key(Text(choices=tuple(STYLES)), "what it is, which decides how it looks", default=default)}


_FLAT_SHAPES = {
    "line": Table({"points": Key(ListOf(_PAIR, 2), "[m]", required=True), **_style("edge")}),
    "polygon": Table(
        {
            "points": Key(ListOf(_PAIR, 3), "corners [m]", required=True),
            "smooth": Key(Flag(), "a smooth outline through the points", default=False),
            **_style("body"),
        }
    ),
    "rectangle": Table(
        {
            "x": Key(_PAIR, "left and right [m]", required=True),
            "y": Key(_PAIR, "bottom and top [m]", required=True),
            **_style("body"),
        }
    ),
    "circle": Table(
        {
            "centre": Key(_PAIR, "[m]", required=True),
            "radius": Key(_EXPRESSION, "[m]", required=True),
            **_style("body"),
        }
    ),
    "spring": Table(
        {
            "start": Key(_PAIR, "[m]", required=True),
            "end": Key(_PAIR, "[m]", required=True),
            "width": Key(_EXPRESSION, "of its coils [m]", required=True),
            "coils": Key(Number(1, 50, whole=True), "number of coils", default=6),
            "via": Key(_PAIR, "point towards which it bends [m]"),
            **_style("spring"),
        }
    ),
    "text": Table(
        {
            "point": Key(_PAIR, "[m]", required=True),
            "text": Key(_TEXT, "words", required=True),
            "anchor": Key(Text(choices=("left", "centre", "right")), "side at the point", default="centre"),
            **_style("label"),
        }
    ),
    "marker": Table(
        {
            "contact": Key(_TEXT, "its name; of a stop with two sides '<name> lower' or '<name> upper'", required=True),
            "point": Key(_PAIR, "where it happens [m]", required=True),
            "normal": Key(_PAIR, "from the obstacle to the body", default=["0", "1"]),
        }
    ),
}
_FORMS = {
    **_FLAT_SHAPES,
    "ruler": Table(
        {
            "x": Key(_EXPRESSION, "where it stands [m]", required=True),
            "low": Key(_EXPRESSION, "its lower end [m]", required=True),
            "high": Key(_EXPRESSION, "its upper end [m]", required=True),
            "tick": Key(_POSITIVE, "distance of its ticks [m]", required=True),
            "factor": Key(_POSITIVE, "of the numbers beside it, such as 1000 for millimetres", default=1.0),
        }
    ),
    "group": Table(
        {
            "name": Key(_TEXT, "name of the rigid body", required=True),
            "at": Key(_PAIR, "where its own origin is [m]", default=["0", "0"]),
            "angle": Key(_EXPRESSION, "by which it is turned [rad]"),
            "small_angle": Key(_EXPRESSION, "the same, with cos = 1 and sin = angle as in linearised gaps [rad]"),
            "axis": Key(_PAIR, "in place of an angle: where its x-axis points; its length is the scale"),
            "items": Key(ListOf(Tagged("type", _FLAT_SHAPES), 1, 500), "shapes in its own frame", required=True),
        }
    ),
}
DRAWING = Table(
    {
        "view": Key(ListOf(_NUMBER, 4, 4), "x_min, x_max, y_min, y_max worth seeing [m]; fitted if not given"),
        "follow": Key(_TEXT, "coordinate along which the view moves up and down"),
        "span": Key(_POSITIVE, "seconds of motion that make a good film"),
        "shapes": Key(ListOf(Tagged("type", _FORMS), 1, 500), "shapes, from back to front", required=True),
    },
    "how it looks: for films and the page",
)
LAGRANGIAN = Table(
    {
        **_head("mechanism"),
        "kind": Key(Text(choices=("lagrangian",)), "a mechanism in generalised coordinates", default="lagrangian"),
        "coordinates": Key(MapOf(_COORDINATE, least=1), "generalised coordinates, in order", required=True),
        "parameters": Key(MapOf(_PARAMETER), "every other symbol of the expressions, with its value", default={}),
        "definitions": Key(
            MapOf(_EXPRESSION), "names for parts of expressions; each may use those before it", default={}
        ),
        "energies": Key(_ENERGIES, "kinetic and potential energy"),
        "equations": Key(_EQUATIONS, "mass matrix and forces, in place of energies"),
        "forces": Key(MapOf(_EXPRESSION), "generalised forces without a potential, by coordinate [N or N m]"),
        "contacts": Key(ListOf(CONTACTS), "contacts and other set-valued elements", default=[]),
        "constraints": Key(
            ListOf(CONSTRAINTS), "equations that always hold: closed loops, drives, rolling", default=[]
        ),
        "drawing": Key(DRAWING, "how it looks: for films and the page"),
        "reset": Key(_RESET, "new names at a section, for cycles of walkers and wheels"),
        "run": Key(_RUN, "how to run it", required=True),
    },
    "a mechanism in generalised coordinates",
)

# -- scenes ------------------------------------------------------------------------------------------------------------


_FLAT_BOX = "in the plane a box is a polygon of four vertices"


class _Shapes(Kind):
    """Shapes; those of a compound are shapes again."""

    def table(self) -> Tagged:
        radius = Key(_POSITIVE, "[m]", required=True)
        normal, offset = Key(_POINT, "points out of the solid", required=True), Key(_NUMBER, "[m]", default=0.0)
        part = Table(
            {
                "shape": Key(self, "shape of the part", required=True),
                "position": Key(_POINT, "[m]"),
                "orientation": Key(_TURN, "angle [rad] or unit quaternion"),
            }
        )
        return Tagged(
            "type",
            {
                "circle": Table({"radius": radius}),
                "sphere": Table({"radius": radius}),
                "capsule": Table({"radius": radius, "length": Key(_POSITIVE, "of its segment [m]", required=True)}),
                "half-plane": Table({"normal": normal, "offset": offset}),
                "half-space": Table({"normal": normal, "offset": offset}),
                "polygon": Table(
                    {"vertices": Key(ListOf(_POINT, 3), "corners of a convex polygon [m]", required=True)}
                ),
                "box": Table({"size": Key(ListOf(_POSITIVE, 3, 3, _FLAT_BOX), "full edge lengths [m]", required=True)}),
                "ellipsoid": Table({"radii": Key(ListOf(_POSITIVE, 3, 3), "semi-axes [m]", required=True)}),
                "cylinder": Table({"radius": radius, "length": Key(_POSITIVE, "along z [m]", required=True)}),
                "disc": Table({"radius": radius, "length": Key(_POSITIVE, "thickness along z [m]", required=True)}),
                "cone": Table({"radius": radius, "height": Key(_POSITIVE, "along z [m]", required=True)}),
                "torus": Table(
                    {"radius": radius, "tube": Key(_POSITIVE, "radius of the ring's tube [m]", required=True)}
                ),
                "rounded-box": Table(
                    {"size": Key(ListOf(_POSITIVE, 3, 3), "full edge lengths [m]", required=True), "radius": radius}
                ),
                "convex-hull": Table({"points": Key(ListOf(_POINT, 4), "[m]", required=True)}),
                "height-field": Table(
                    {
                        "heights": Key(ListOf(ListOf(_NUMBER, 2), 2), "over a grid in x and y [m]", required=True),
                        "spacing": Key(_POSITIVE, "of the grid [m]", default=1.0),
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


_TURN = Either((_NUMBER, ListOf(_NUMBER, 4, 4)))
_SPIN = Either((_NUMBER, ListOf(_NUMBER, 3, 3)))
_BODY = Key(_TEXT, 'name of a body, or "world"', required=True)
_MATERIAL = {
    "friction": Key(Either((_NOT_NEGATIVE, ListOf(_POSITIVE, 2, 2))), "mu, or two along the body's x axis and across"),
    "restitution": Key(_UNIT_INTERVAL, "eps_N in [0, 1]"),
    "restitution_tangential": Key(_UNIT_INTERVAL, "eps_T in [0, 1]"),
    "friction_impact": Key(_NOT_NEGATIVE, "mu in impacts, where it is another one than in sliding"),
    "patch": Key(_NOT_NEGATIVE, "radius of the disc of contact, which resists spinning [m]; in space"),
    "pressure": Key(Text(choices=("constant", "hertz")), "pressure on the patch"),
    "rolling": Key(_NOT_NEGATIVE, "arm of the rolling resistance [m]"),
}
_PLACED = {
    "name": Key(_TEXT, "name of the body", required=True),
    "shape": Key(_Shapes(), "shape of the body", required=True),
    "position": Key(_POINT, "of the centre of mass [m]; of the shape where the body does not move freely"),
    "orientation": Key(_TURN, "angle [rad] in the plane, unit quaternion [w, x, y, z] in space"),
    **_MATERIAL,
}
_MOVING = {
    "velocity": Key(_POINT, "[m/s]"),
    "angular_velocity": Key(_SPIN, "[rad/s], world axes"),
}
BODIES = Tagged(
    "type",
    {
        "moving": Table(
            {
                **_PLACED,
                **_MOVING,
                "mass": Key(_POSITIVE, "[kg]; or density"),
                "density": Key(_POSITIVE, "[kg/m^3], in the plane [kg/m^2]"),
                "inertia": Key(
                    Either((_POSITIVE, ListOf(_NUMBER, 3, 3), ListOf(ListOf(_NUMBER, 3, 3), 3, 3))),
                    "about the centre of mass [kg m^2]; computed from the shape if not given",
                ),
                "centre_of_mass": Key(_POINT, "in the coordinates of the shape [m]"),
                "appears": Key(Number(infinite=True), "takes part from this time on [s]", default=-math.inf),
                "vanishes": Key(Number(infinite=True), "takes part until this time [s]", default=math.inf),
            }
        ),
        "static": Table({**_PLACED, "surface_velocity": Key(_POINT, "of a belt on its surface [m/s], world axes")}),
        "driven": Table(
            {
                **_PLACED,
                **_MOVING,
                "motion": Key(ListOf(_EXPRESSION, 2, 3), "velocity as expressions in t [m/s]"),
                "spin": Key(Either((ListOf(_EXPRESSION, 3, 3), _EXPRESSION)), "angular velocity in t [rad/s]"),
            }
        ),
    },
    default="moving",
    meaning="bodies",
)
_ENDS = {"a": Key(_TEXT, 'name of a body, or "world"', default="world"), "b": _BODY}
_JOINED = {**_ENDS, "name": Key(_TEXT, "kind and number if not given")}
_COLLIDE = Key(Flag(), "whether the two bodies still collide", default=False)
_MOTOR = Table(
    {
        "speed": Key(_NUMBER, "wanted [rad/s or m/s]"),
        "effort": Key(Number(least=0.0, infinite=True), "largest [N m or N]; no bound if not given"),
        "target": Key(_NUMBER, "wanted angle [rad] or travel [m], from the start"),
        "stiffness": Key(_NOT_NEGATIVE, "[N m/rad or N/m]"),
        "damping": Key(_NOT_NEGATIVE, "[N m s/rad or N s/m]"),
    },
    "a motor that leads to a target",
)
_COLLIDES = Key(Flag(), "whether the two bodies still collide", default=True)
_AXIS = Key(_POINT, "direction of the axis", required=True)
_DRIVE = {
    "limits": Key(ListOf(Number(infinite=True), 2, 2), "least and largest angle [rad] or travel [m] from the start"),
    "motor": Key(
        Either((ListOf(_NUMBER, 2, 2), _MOTOR)), "speed [rad/s or m/s] and largest effort [N m or N], or a table"
    ),
    "friction": Key(_NOT_NEGATIVE, "effort of dry friction [N m or N]", default=0.0),
    "damping": Key(_NOT_NEGATIVE, "viscous [N m s/rad or N s/m]", default=0.0),
    "armature": Key(_NOT_NEGATIVE, "inertia of a rotor [kg m^2 or kg]", default=0.0),
    "torque": Key(_NUMBER, "effort that acts all the time [N m or N]", default=0.0),
    "collide": _COLLIDE,
}
_AT = Key(_POINT, "joint point at the start [m]", required=True)
_ROPE = {
    **_JOINED,
    "at_a": Key(_POINT, "end on a [m]", required=True),
    "at_b": Key(_POINT, "end on b [m]", required=True),
    "length": Key(_POSITIVE, "of the rope [m]; what it spans at the start if not given"),
    "collide": _COLLIDES,
}
JOINTS = Tagged(
    "type",
    {
        "revolute": Table({**_JOINED, "at": _AT, "axis": Key(_POINT, "of the hinge, in space"), **_DRIVE}),
        "prismatic": Table(
            {**_JOINED, "at": _AT, "axis": Key(_POINT, "direction in which it slides", required=True), **_DRIVE}
        ),
        "fixed": Table(
            {**_JOINED, "at": Key(_POINT, "where [m]; b's centre of mass if not given"), "collide": _COLLIDE}
        ),
        "spherical": Table({**_JOINED, "at": _AT, "collide": _COLLIDE}),
        "distance": Table(
            {
                **_JOINED,
                "at_a": Key(_POINT, "end on a [m]", required=True),
                "at_b": Key(_POINT, "end on b [m]", required=True),
                "collide": _COLLIDES,
            }
        ),
        "universal": Table(
            {
                **_JOINED,
                "at": _AT,
                "axis_a": Key(_POINT, "of the pin that is fixed in a", required=True),
                "axis_b": Key(_POINT, "of the pin that is fixed in b, at a right angle", required=True),
                "collide": _COLLIDE,
            }
        ),
        "cylindrical": Table({**_JOINED, "at": _AT, "axis": _AXIS, "collide": _COLLIDE}),
        "screw": Table(
            {**_JOINED, "at": _AT, "axis": _AXIS, "lead": Key(_NUMBER, "travel per turn [m]", required=True), **_DRIVE}
        ),
        "planar": Table(
            {**_JOINED, "at": _AT, "normal": Key(_POINT, "of the plane", required=True), "collide": _COLLIDE}
        ),
        "translational": Table({**_JOINED, "collide": _COLLIDES}),
        "gear": Table(
            {
                **_JOINED,
                "at_a": Key(_POINT, "centre of a's wheel [m]", required=True),
                "at_b": Key(_POINT, "centre of b's wheel [m]", required=True),
                "axis": Key(_POINT, "of both wheels, in space"),
                "ratio": Key(_NUMBER, "radius of b over that of a; negative in a ring", required=True),
                "collide": _COLLIDE,
            }
        ),
        "rack": Table(
            {
                **_JOINED,
                "at": Key(_POINT, "centre of the pinion, b [m]", required=True),
                "along": Key(_POINT, "direction of the rack, a", required=True),
                "mesh": Key(_POINT, "where the pinion meets the rack at the start [m]", required=True),
                "collide": _COLLIDE,
            }
        ),
        "coupling": Table(
            {
                "first": Key(Text(), "name of a joint", required=True),
                "second": Key(Text(), "name of a joint", required=True),
                "ratio": Key(_NUMBER, "coordinate of the first over that of the second", required=True),
                "name": _JOINED["name"],
                "collide": _COLLIDES,
            }
        ),
        "rope": Table(_ROPE),
        "pulley": Table(
            {
                **_ROPE,
                "over_a": Key(_POINT, "where the rope from a runs over [m]", required=True),
                "over_b": Key(_POINT, "where the rope from b runs over [m]", required=True),
                "ratio": Key(_NUMBER, "pull at b over pull at a", default=1.0),
            }
        ),
    },
    meaning="joints, in world coordinates at the start",
)
SPRINGS = Table(
    {
        **_ENDS,
        "at_a": Key(_POINT, "end on a [m]", required=True),
        "at_b": Key(_POINT, "end on b [m]", required=True),
        "stiffness": Key(_NOT_NEGATIVE, "[N/m]", required=True),
        "damping": Key(_NOT_NEGATIVE, "[N s/m]", default=0.0),
        "length": Key(_NOT_NEGATIVE, "without force [m]; the distance at the start if not given"),
    }
)
FORCES = Table(
    {
        "body": _BODY,
        "force": Key(ListOf(_EXPRESSION, 2, 3), "[N], numbers or expressions in t, x, y, z, vx, vy, vz"),
        "torque": Key(Either((ListOf(_EXPRESSION, 3, 3), _EXPRESSION)), "[N m], the same"),
    }
)
PAIRS = Table({"a": _BODY, "b": _BODY, **_MATERIAL}, "laws of two bodies, before those of their materials")
_SCENE_RUN = Table(
    {
        **_TIMES,
        "stepper": Key(Text(choices=("moreau-midpoint", "moreau-jean")), "time stepper"),
        "theta": Key(_UNIT_INTERVAL, "theta of moreau-jean"),
        "rule": Key(Text(choices=("predictive", "gs05")), "when a contact is active"),
        "cone": Key(Either((Number(least=3, whole=True), Text(choices=("circular",)))), "edges of friction pyramids"),
        "law": Key(Text(choices=("newton", "stronge", "poisson", "poisson-integrated", "walton")), "impact law"),
        "tol": Key(_POSITIVE, "residual of the contact laws"),
        "every": Key(Number(least=1, whole=True), "record every N-th step"),
        "threads": Key(Number(least=1, whole=True), "threads that share the islands"),
        "overlap": Key(Text(choices=("raise", "resolve", "keep")), "bodies that overlap at the start"),
        "penetration_tol": Key(_NOT_NEGATIVE, "overlap at the start that is accepted [m]"),
        "on_failure": Key(Text(choices=("stop", "continue")), "at a step that is not solved"),
    },
    "how to run it; options of the command line go before these",
)
SCENE = Table(
    {
        **_head("scene"),
        "kind": Key(Text(choices=("scene",)), "rigid bodies with shapes", required=True),
        "dim": Key(Number(2, 3, whole=True), "2 (plane) or 3 (space)", default=3),
        "gravity": Key(Either((_NUMBER, _POINT)), "[m/s^2] downwards (-y or -z), or a vector", default=9.81),
        "bodies": Key(ListOf(BODIES, 1), "bodies", required=True),
        "joints": Key(ListOf(JOINTS), "joints", default=[]),
        "springs": Key(ListOf(SPRINGS), "springs with dampers", default=[]),
        "forces": Key(ListOf(FORCES), "forces and torques", default=[]),
        "pairs": Key(ListOf(PAIRS), "laws of pairs of bodies", default=[]),
        "ignore": Key(ListOf(ListOf(_TEXT, 2, 2)), "pairs of bodies that pass through one another", default=[]),
        "run": Key(_SCENE_RUN, "how to run it", required=True),
    },
    "rigid bodies with shapes, in the plane or in space",
)


# -- circuits ----------------------------------------------------------------------------------------------------------

_NODES = Key(ListOf(_TEXT, 2, 2), "its two nodes; current flows from the first to the second", required=True)
_FORWARD = Key(_NOT_NEGATIVE, "forward voltage [V]", default=0.0)
_ON = Key(_NOT_NEGATIVE, "resistance while it conducts [ohm]", default=0.0)
_PULSES = Table(
    {
        "period": Key(_POSITIVE, "length of a period [s]", required=True),
        "duty": Key(_UNIT_INTERVAL, "share of a period that is high, 0 and 1 excluded", required=True),
        "high": Key(_NUMBER, "value in this share", default=1.0),
        "low": Key(_NUMBER, "value in the rest", default=0.0),
        "start": Key(_NUMBER, "instant of a rising edge [s]", default=0.0),
    }
)
_SIGNAL, _GATE = Either((_PULSES, _EXPRESSION)), Either((_PULSES, Flag()))
_TWO_ENDS = {
    "resistor": {"resistance": Key(_POSITIVE, "resistance [ohm]", required=True)},
    "inductor": {
        "inductance": Key(_POSITIVE, "inductance [H]", required=True),
        "current": Key(_NUMBER, "current at the start [A]", default=0.0),
    },
    "capacitor": {
        "capacitance": Key(_POSITIVE, "capacitance [F]", required=True),
        "voltage": Key(_NUMBER, "voltage at the start [V]", default=0.0),
    },
    "source": {"voltage": Key(_SIGNAL, "voltage [V]: number, expression of t, or pulses", required=True)},
    "current_source": {"current": Key(_SIGNAL, "current [A]: number, expression of t, or pulses", required=True)},
    "diode": {"threshold": _FORWARD, "resistance": _ON},
    "zener": {
        "voltage": Key(_POSITIVE, "breakdown voltage [V]", required=True),
        "threshold": _FORWARD,
        "resistance": _ON,
    },
    "varistor": {"voltage": Key(_POSITIVE, "bound of its voltage [V]", required=True), "resistance": _ON},
    "switch": {"closed": Key(_GATE, "true, false, or pulses", required=True), "resistance": _ON},
    "thyristor": {
        "fired": Key(_GATE, "true, false, or pulses", required=True),
        "threshold": _FORWARD,
        "resistance": _ON,
    },
}
"""Elements between two nodes: keywords of the methods of `Circuit`, in their order."""
_MORE_ENDS = {
    "bridge": Table(
        {
            "ac": Key(ListOf(_TEXT, 2, 2), "nodes of its input", required=True),
            "dc": Key(ListOf(_TEXT, 2, 2), "nodes of its output, plus first", required=True),
            "threshold": _FORWARD,
            "resistance": _ON,
        }
    ),
    "transformer": Table(
        {
            "primary": Key(ListOf(_TEXT, 2, 2), "nodes of its primary", required=True),
            "secondary": Key(ListOf(_TEXT, 2, 2), "nodes of its secondary", required=True),
            "ratio": Key(_NUMBER, "turns of the primary by those of the secondary", required=True),
        }
    ),
    "coupled": Table(
        {
            "inductors": Key(ListOf(_TEXT, 2, 2), "names of two inductors", required=True),
            "coupling": Key(Number(-1.0, 1.0), "coupling factor"),
            "mutual": Key(_NUMBER, "mutual inductance [H]"),
        }
    ),
}
_ELEMENT = Tagged(
    "type", {**{name: Table({"nodes": _NODES, **keys}) for name, keys in _TWO_ENDS.items()}, **_MORE_ENDS}
)
CIRCUIT = Table(
    {
        **{key: value for key, value in _head("circuit").items() if key in ("stickslip", "name")},
        "kind": Key(Text(choices=("circuit",)), "an electrical circuit with ideal diodes and switches", required=True),
        "elements": Key(MapOf(_ELEMENT, least=1), "elements by name, in [elements.NAME]", required=True),
        "run": Key(
            Table(
                {
                    **_TIMES,
                    "theta": Key(Number(0.5, 1.0), "rule of the steps"),
                    "locate": Key(Flag(), "cut steps where diodes switch"),
                    "every": Key(Number(least=1, whole=True), "record every N-th step"),
                }
            ),
            "how to run it; options of the command line go before these",
            required=True,
        ),
    },
    "an electrical circuit: elements between named nodes",
)

KINDS = {"lagrangian": LAGRANGIAN, "scene": SCENE, "circuit": CIRCUIT}


def checked_content(content: dict[str, Any], place: Place) -> dict[str, Any]:
    """The content of a model file with all keys checked and defaults filled in, or `ModelError`."""
    if "stickslip" not in content:
        near = difflib.get_close_matches("stickslip", content, n=1)
        raise place.error(
            f"the key 'stickslip' is missing{f', did you mean it by {near[0]!r}' if near else ''}: a model file begins "
            f"with stickslip = {FORMAT}"
        )
    version = Number(whole=True, least=1).check(content["stickslip"], place.at("stickslip"))
    if version > FORMAT:
        raise place.at("stickslip").error(f"format {version} is newer than {FORMAT}, which this version reads; update")
    for key, meant in (("elements", "circuit"), ("bodies", "scene")):
        if key in content and "kind" not in content:
            raise place.error(f"the key 'kind' is missing: a file with {key!r} begins with kind = \"{meant}\"")
    kind = content.get("kind", "lagrangian")
    table = KINDS.get(kind) if isinstance(kind, str) else None
    if table is None:
        raise place.at("kind").error(f"one of {', '.join(KINDS)} is expected, got {kind!r}")
    checked: dict[str, Any] = table.check(content, place)
    dt, t_end = checked["run"]["dt"], checked["run"]["t_end"]
    if t_end < dt:
        raise place.at("run", "t_end").error(f"at least one step, dt = {dt:g} s, is expected")
    if (steps := t_end / dt) > _MOST_STEPS:
        raise place.at("run", "t_end").error(
            f"{steps:.3g} steps are more than can be counted; shorten t_end or enlarge dt"
        )
    return checked


def json_schema() -> dict[str, Any]:
    """The JSON Schema of model files, for editors that complete and check TOML."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "stickslip model file",
        "oneOf": [table.schema() for table in KINDS.values()],
        "$defs": {"shape": _Shapes().table().schema()},
    }


def schema_text() -> str:
    """The JSON Schema as text."""
    return json.dumps(json_schema(), indent=1, allow_nan=False) + "\n"
