"""Keys of model files of mechanisms in generalised coordinates."""

from __future__ import annotations

from stickslip.io.models.fields import Either, Flag, Key, ListOf, MapOf, Number, Table, Tagged, Text
from stickslip.io.models.layout_drawing import DRAWING
from stickslip.io.models.layout_parts import (
    EXPRESSION,
    IMPACT_LAWS,
    NOT_NEGATIVE,
    NUMBER,
    POSITIVE,
    SOLVERS,
    STEPPERS,
    TEXT,
    TIMES,
    UNIT_INTERVAL,
    head,
)

_COORDINATE = Table(
    {
        "velocity": Key(TEXT, "symbol of its time derivative; <name>_dot if not given"),
        "unit": Key(TEXT, "unit, for figures and files"),
        "velocity_unit": Key(TEXT, "unit of the velocity"),
        "start": Key(NUMBER, "value at the start", default=0.0),
        "start_velocity": Key(NUMBER, "velocity at the start", default=0.0),
    }
)
_PARAMETER = Either(
    (
        Table(
            {
                "value": Key(NUMBER, "value; can be changed by --set", required=True),
                "unit": Key(TEXT, "unit"),
                "positive": Key(Flag(), "refuse values that are not positive", default=False),
                "meaning": Key(TEXT, "what it is"),
            }
        ),
        NUMBER,
    )
)
_ENERGIES = Table(
    {
        "kinetic": Key(EXPRESSION, "kinetic energy T(q, u, t) [J], at most quadratic in the velocities", required=True),
        "potential": Key(EXPRESSION, "potential energy V(q, t) [J]", default="0"),
    },
    "the energies, from which the equations of motion are derived",
)
_EQUATIONS = Table(
    {
        "mass": Key(ListOf(ListOf(EXPRESSION, 1), 1), "mass matrix M(q, t), rows of expressions", required=True),
        "force": Key(ListOf(EXPRESSION, 1), "forces h(q, u, t) of M du/dt = h", required=True),
        "potential": Key(EXPRESSION, "potential energy V(q, t) [J], for the energy book only"),
    },
    "mass matrix and forces as a paper prints them, in place of energies",
)
FRICTION_LAWS = Tagged(
    "law",
    {
        "two-coefficient": Table(
            {
                "static": Key(EXPRESSION, "coefficient at rest [-]", required=True),
                "kinetic": Key(EXPRESSION, "coefficient of slip [-]", required=True),
                "graze": Key(Text(choices=("slip", "grab")), "slip that just touches zero", default="slip"),
            }
        ),
        "elliptic": Table(
            {
                "first": Key(EXPRESSION, "coefficient along the first of two directions of slip [-]", required=True),
                "second": Key(EXPRESSION, "coefficient along the second one [-]", required=True),
            }
        ),
        "stribeck": Table(
            {
                "static": Key(EXPRESSION, "coefficient at rest [-]", required=True),
                "kinetic": Key(EXPRESSION, "coefficient of fast slip [-]", required=True),
                "velocity": Key(EXPRESSION, "of slip at which friction has fallen [m/s]", required=True),
                "exponent": Key(EXPRESSION, "of the fall", default="1"),
                "viscous": Key(EXPRESSION, "rise with the speed [s/m]", default="0"),
            }
        ),
    },
)
RESTITUTION_LAWS = Tagged(
    "law",
    {
        "speed": Table(
            {
                "curve": Key(EXPRESSION, "coefficient in [0, 1], of the approach speed", required=True),
                "speed": Key(TEXT, "name of the approach speed [m/s] in the curve", default="v"),
                "mass": Key(TEXT, "name of the inertia that the contact feels [kg], where the curve has it"),
            }
        )
    },
)
_RESTITUTION = Either((RESTITUTION_LAWS, EXPRESSION))
_COEFFICIENTS = {
    "friction": Key(Either((FRICTION_LAWS, EXPRESSION)), "coefficient mu [-], or a law of slip", default="0"),
    "restitution_normal": Key(_RESTITUTION, "coefficient eps_N in [0, 1], or a law of the approach", default="0"),
    "restitution_tangential": Key(_RESTITUTION, "coefficient eps_T in [0, 1], or a law of the approach", default="0"),
    "threshold": Key(EXPRESSION, "part of the friction bound that does not depend on the load [N]", default="0"),
}
_CONTACT_NAME = Key(TEXT, "name of the contact", required=True)
_PAIRS = ListOf(ListOf(EXPRESSION, 2, 2), 1)
_TWO = ListOf(EXPRESSION, 2, 2)
_SLIP = Either((ListOf(_PAIRS, 2, 2), _PAIRS, _TWO, EXPRESSION))
SECTIONS = Tagged(
    "shape",
    {
        "polygon": Table({"vertices": Key(ListOf(ListOf(NUMBER, 2, 2), 3), "corners, anticlockwise about 0")}),
        "power-norm": Table({"p": Key(NUMBER, "exponent p > 1 of |s_1|^p + |s_2|^p <= 1", required=True)}),
    },
    meaning="section of the friction cone of a contact with two directions of slip; left out: a disc",
)
CONTACTS = Tagged(
    "type",
    {
        "contact": Table(
            {
                "name": _CONTACT_NAME,
                "gap": Key(EXPRESSION, "distance g_N(q, t) [m], negative when the bodies overlap", required=True),
                "slip": Key(_SLIP, "displacement along the surface [m], or pairs [factor, displacement]; or two such"),
                "slip_velocity": Key(
                    Either((_TWO, EXPRESSION)), "sliding velocity [m/s], linear in the velocities; or a list of two"
                ),
                "tangent": Key(
                    Either((ListOf(ListOf(EXPRESSION, 1), 2, 2), ListOf(EXPRESSION, 1))),
                    "w_T in place of slip, an expression per coordinate; or a list of two such",
                ),
                "tangent_drift": Key(
                    Either((_TWO, EXPRESSION)), "w_hat_T of gamma_T = w_T u + w_hat_T; or a list of two"
                ),
                "section": Key(SECTIONS, "section of the friction cone, with two directions of slip"),
                "normal": Key(ListOf(EXPRESSION, 1), "w_N, if it shall not be the gradient of the gap"),
                "normal_drift": Key(EXPRESSION, "w_hat_N, if it shall not be the time derivative of the gap"),
                "closes_when": Key(EXPRESSION, "an open contact can close only while this is positive"),
                **_COEFFICIENTS,
            }
        ),
        "stop": Table(
            {
                "name": _CONTACT_NAME,
                "coordinate": Key(EXPRESSION, "what is bounded, x(q, t) [m or rad]", required=True),
                "lower": Key(EXPRESSION, "least value"),
                "upper": Key(EXPRESSION, "largest value"),
                "restitution": Key(_RESTITUTION, "coefficient eps_N in [0, 1], or a law of the approach", default="0"),
            }
        ),
        "clutch": Table(
            {"name": _CONTACT_NAME, "angle": Key(EXPRESSION, "angle that never turns back [rad]", required=True)}
        ),
        "dry-friction": Table(
            {
                "name": _CONTACT_NAME,
                "displacement": Key(EXPRESSION, "relative displacement of the two sides [m]", required=True),
                "threshold": Key(EXPRESSION, "largest friction force [N]", required=True),
            }
        ),
        "prestressed-spring": Table(
            {
                "name": _CONTACT_NAME,
                "displacement": Key(EXPRESSION, "x(q, t) that the spring holds at 0 [m]", required=True),
                "preload": Key(EXPRESSION, "force up to which it holds [N]", required=True),
            }
        ),
    },
    default="contact",
    meaning="contacts and other set-valued elements",
)
_RESET = Table(
    {
        "section": Key(TEXT, "where, such as 'impact:foot 2' or 'phi>0 mod 2pi'"),
        "swap": Key(ListOf(ListOf(TEXT, 2, 2), 1), "pairs of coordinates that change places"),
        "shift": Key(MapOf(EXPRESSION), "what is added to a coordinate, an expression of parameters"),
        "flip": Key(ListOf(TEXT, 1), "coordinates that change their sign"),
        "map": Key(MapOf(EXPRESSION), "the new value of a coordinate, an affine expression of coordinates"),
    },
    "new names for coordinates after each return to a section, for cycles of walkers and wheels",
)
CONSTRAINTS = Table(
    {
        "name": Key(TEXT, "name of the constraint", required=True),
        "equation": Key(EXPRESSION, "g(q, t) that is zero at all times"),
        "velocity": Key(EXPRESSION, "expression that is zero at all times, linear in the velocities: rolling"),
    },
    "an equation that the motion keeps to: equation or velocity",
)
_RUN = Table(
    {
        **TIMES,
        "stepper": Key(Text(choices=STEPPERS), "time stepper"),
        "solver": Key(Text(choices=SOLVERS), "solver of each step's contact problem"),
        "law": Key(Text(choices=IMPACT_LAWS), "impact law"),
        "engine": Key(Text(choices=("auto", "compiled", "reference")), "engine"),
        "every": Key(Number(least=1, whole=True), "record every N-th step"),
        "theta": Key(UNIT_INTERVAL, "theta of moreau-jean"),
        "rtol": Key(POSITIVE, "tolerance of adaptive and event-driven"),
        "projection": Key(POSITIVE, "remove penetrations deeper than this [m]"),
        "penetration_tol": Key(NOT_NEGATIVE, "deepest penetration at the start that is accepted [m]"),
        "initialise": Key(Flag(), "make the initial velocities consistent with the closed contacts first"),
        "on_failure": Key(Text(choices=("stop", "continue")), "at a contact problem that is not solved"),
    },
    "how to run it; options of the command line go before these",
)
LAGRANGIAN = Table(
    {
        **head("mechanism"),
        "kind": Key(Text(choices=("lagrangian",)), "a mechanism in generalised coordinates", default="lagrangian"),
        "coordinates": Key(MapOf(_COORDINATE, least=1), "generalised coordinates, in order", required=True),
        "parameters": Key(MapOf(_PARAMETER), "every other symbol of the expressions, with its value", default={}),
        "definitions": Key(
            MapOf(EXPRESSION), "names for parts of expressions; each may use those before it", default={}
        ),
        "energies": Key(_ENERGIES, "kinetic and potential energy"),
        "equations": Key(_EQUATIONS, "mass matrix and forces, in place of energies"),
        "forces": Key(MapOf(EXPRESSION), "generalised forces without a potential, by coordinate [N or N m]"),
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
