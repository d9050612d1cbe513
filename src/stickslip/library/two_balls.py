"""Two balls on a table: one rolls against the other, and friction between them throws the first one up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp

from stickslip.drawing.common import GROUND
from stickslip.drawing.primitives import Circle, Drawing, Group, Marker, Placement, Primitive, hypot, largest, line
from stickslip.mechanisms.elements import Contact
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario, require_positive


def two_balls(
    *,
    friction: float = 0.2,
    restitution: float = 0.0,
    speed: float = 1.0,
    clearance: float = 0.05,
    mass: float = 0.17,
    radius: float = 0.03,
    g: float = 9.81,
) -> Scenario:
    """Return two equal balls on a table, in the plane of their centres, with three contacts.

    Each ball can touch the table, and the balls can touch each other.  q = (x_1, y_1, phi_1, x_2, y_2, phi_2): centres,
    heights above the place where a ball rests, and turns, counterclockwise.  Ball 1 rolls to the right.  When it meets
    ball 2, its front goes down with the rolling speed: friction pushes ball 1 up, and ball 2 into the table.  With
    equal coefficients of friction, restitution 0 and sliding all along, the impulse N between the balls gives ball 1 a
    vertical velocity mu N / m.  The table does not hold ball 1; it has to be inelastic.

    Parameters
    ----------
    friction, restitution : coefficients mu, eps_N of all contacts
    speed : of ball 1 at the start, rolling [m/s]
    clearance : between the balls at the start [m]
    mass, radius : of each ball [kg], [m]
    g : gravity [m/s^2]

    Reference: [S00] section 4.4, Fig. 4.3.
    """
    parameters = {"mass": mass, "radius": radius, "g": g, "friction": friction, "restitution": restitution}
    require_positive({**parameters, "speed": speed}, "mass", "radius", "speed")
    require_positive({"clearance": clearance}, "clearance", allow_zero=True)
    return Scenario(
        system=_system(parameters),
        q0=np.array([0.0, 0.0, 0.0, 2.0 * radius + clearance, 0.0, 0.0]),
        u0=np.array([speed, 0.0, -speed / radius, 0.0, 0.0, 0.0]),
        dt=1e-4,
        t_end=0.2,
        title="Two balls colliding on a table",
        source="[S00] section 4.4, Fig. 4.3",
        drawing=Drawing(_shapes),
    )


def _system(parameters: dict[str, float]) -> LagrangianSystem:
    x_1, y_1, phi_1, x_2, y_2, phi_2 = q = sp.symbols("x_1 y_1 phi_1 x_2 y_2 phi_2")
    u = sp.symbols("v_x1 v_y1 omega_1 v_x2 v_y2 omega_2")
    mass, radius, g = sp.symbols("mass radius g")
    apart = sp.sqrt((x_2 - x_1) ** 2 + (y_2 - y_1) ** 2)
    n_x, n_y = (x_2 - x_1) / apart, (y_2 - y_1) / apart
    laws: dict[str, Any] = {"friction": "friction", "restitution_normal": "restitution"}
    return LagrangianSystem.from_energies(
        list(q),
        velocities=list(u),
        kinetic=mass * sum(u[i] ** 2 * (sp.Rational(2, 5) * radius**2 if i % 3 == 2 else 1) for i in range(6)) / 2,
        potential=mass * g * (y_1 + y_2),
        contacts=[
            Contact("table 1", gap=y_1, slip=x_1 + radius * phi_1, **laws),
            Contact("table 2", gap=y_2, slip=x_2 + radius * phi_2, **laws),
            # gamma_T = t . (v_2 - v_1) - r (omega_1 + omega_2) with t = (-n_y, n_x)
            Contact(
                "balls",
                gap=apart - 2 * radius,
                slip=[(-n_y, x_2 - x_1), (n_x, y_2 - y_1), (-radius, phi_1 + phi_2)],
                **laws,
            ),
        ],
        parameters=parameters,
        name="two_balls",
        units={
            **dict.fromkeys(["x_1", "y_1", "x_2", "y_2", "radius"], "m"),
            **dict.fromkeys(["v_x1", "v_y1", "v_x2", "v_y2"], "m/s"),
            **dict.fromkeys(["phi_1", "phi_2"], "rad"),
            **dict.fromkeys(["omega_1", "omega_2"], "rad/s"),
            "mass": "kg",
            "g": "m/s^2",
        },
    )


def _shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    """A mark between the balls sits on the left side of ball 2."""
    r = p["radius"]
    shapes: list[Primitive] = [*GROUND]
    centres = [(q[0], q[1] + r), (q[3], q[4] + r)]
    for i, centre in enumerate(centres):
        ball = (Circle((0.0, 0.0), r), line((0.0, 0.0), (0.0, 0.9 * r), "body-light"))
        shapes.append(Group(f"ball {i + 1}", Placement.rotation(centre, q[3 * i + 2]), ball))
        shapes.append(Marker(i, (centre[0], centre[1] - r)))
    x, y = centres[1][0] - centres[0][0], centres[1][1] - centres[0][1]
    distance = largest(hypot(x, y), 1e-300)
    n = (x / distance, y / distance)
    shapes.append(Marker(2, (centres[1][0] - r * n[0], centres[1][1] - r * n[1]), n))
    return shapes
