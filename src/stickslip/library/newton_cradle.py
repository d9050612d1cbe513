"""Newton's cradle: a row of balls that touch, the test of an impact law with several contacts at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from stickslip.drawing.primitives import Circle, Drawing, Group, Marker, Placement, Primitive, line, rectangle
from stickslip.mechanisms.elements import Contact
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario, require_positive


def newton_cradle(
    *,
    balls: int = 3,
    mass: float = 1.0,
    length: float = 0.3,
    radius: float = 0.02,
    clearance: float = 0.0,
    restitution: float = 1.0,
    g: float = 9.81,
    lift: float = 0.05,
) -> Scenario:
    """Return a row of equal balls on strings, small angles: q = displacements to the right, gaps x_2 - x_1 + clearance.

    If the balls touch, all contacts act at once, and neither Newton's nor Poisson's law sends the last ball off alone.
    Under Newton's law with restitution e, a ball that strikes n - 1 others at v sends them off at (1 + e) v / n each
    and goes on at v (1 - (n - 1) (1 + e) / n).  All strings swing alike, so that all balls meet again: with e = 1 the
    first ball then swings out alone.  Balls that swing together count as touching, by every stepper and step size.
    With a clearance, however small, one contact acts after the other, and both laws send the last ball off alone.

    Parameters
    ----------
    balls : their number, 2 or more
    mass : of each ball [kg]
    length, radius : of the strings and the balls [m]; the radius is for the drawing only
    clearance : between neighbours at rest [m]
    restitution : coefficient eps_N of every contact
    g : gravity [m/s^2]
    lift : by which the first ball is drawn to the left at the start [m]

    Reference: the laws of [GS05] eqs. (11), (12) with several contacts closed.
    """
    if not isinstance(balls, int) or balls < 2:
        raise ValueError(f"balls must be a whole number >= 2, got {balls!r}.")
    parameters = {
        "mass": mass,
        "length": length,
        "clearance": clearance,
        "g": g,
        "restitution": restitution,
    }
    require_positive({**parameters, "radius": radius}, "mass", "length", "radius")
    require_positive(parameters, "clearance", allow_zero=True)
    return Scenario(
        system=_system(balls, parameters),
        q0=np.array([-lift] + [0.0] * (balls - 1)),
        u0=np.zeros(balls),
        dt=1e-4,
        t_end=1.0,
        title=f"Newton's cradle of {balls} balls",
        source="several contacts, [GS05] section 3",
        drawing=Drawing(_Shapes(radius)),
    )


def _system(balls: int, parameters: dict[str, float]) -> LagrangianSystem:
    x = sp.symbols(f"x_1:{balls + 1}")
    v = sp.symbols(f"v_1:{balls + 1}")
    mass, length, clearance, g = sp.symbols("mass length clearance g")
    contacts = [
        Contact(f"balls {i + 1} and {i + 2}", gap=x[i + 1] - x[i] + clearance, restitution_normal="restitution")
        for i in range(balls - 1)
    ]
    return LagrangianSystem.from_energies(
        list(x),
        velocities=list(v),
        kinetic=mass * sum(speed**2 for speed in v) / 2,
        potential=mass * g * sum(place**2 for place in x) / (2 * length),
        contacts=contacts,
        parameters=parameters,
        name="newton_cradle",
        positive=("mass", "length"),
        units={
            **{str(place): "m" for place in x},
            **{str(speed): "m/s" for speed in v},
            **dict.fromkeys(["length", "clearance"], "m"),
            "mass": "kg",
            "g": "m/s^2",
        },
    )


class _Shapes:
    """Balls hang from y = 0 at distances 2 radius + clearance; a mark sits on the left side of the right ball."""

    def __init__(self, radius: float) -> None:
        self.radius = radius

    def __call__(self, q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
        r, length = self.radius, p["length"]
        pitch = 2.0 * r + p["clearance"]
        width = pitch * len(q)
        shapes: list[Primitive] = [
            rectangle(-0.7 * width, 1.5 * width, 0.0, 0.5 * r, "ground"),
            line((-0.7 * width, 0.0), (1.5 * width, 0.0)),
        ]
        for i, x in enumerate(q):
            centre = (i * pitch + x, -length)
            shapes.append(line((i * pitch, 0.0), centre, "guide"))
            shapes.append(Group(f"ball {i + 1}", Placement(centre), (Circle((0.0, 0.0), r),)))
        for i in range(len(q) - 1):
            shapes.append(Marker(i, ((i + 1) * pitch + q[i + 1] - r, -length), (1.0, 0.0)))
        return shapes
