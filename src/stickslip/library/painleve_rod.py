"""Painleve's rod: a rigid rod that slides or falls on a rough table and may jam without a collision."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from stickslip.drawing.common import GROUND, pointed_rod
from stickslip.drawing.primitives import Circle, Drawing, Group, Marker, Placement, Primitive
from stickslip.mechanisms.elements import Contact
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario, require_positive


def painleve_rod(
    *,
    friction: float = 2.0,
    angle: float = 1.1071487177940904,
    mass: float = 1.0,
    length: float = 1.0,
    inertia: float | None = None,
    restitution: float = 0.0,
    g: float = 9.81,
    slip: float = -1.0,
    approach: float = 0.0,
    spin: float = 0.0,
    gap: float = 0.0,
) -> Scenario:
    """Return a rod over a table, q = (x, y, theta): centre of mass, and angle from the horizontal, counterclockwise.

    Both tips can touch.  The lower tip lies at x - (l/2) cos(theta), y - (l/2) sin(theta).  While it slides to the
    left, its vertical acceleration under the normal force N and the friction mu N is

        y_c'' = [1/m - l^2/(4 J) cos(theta) (mu sin(theta) - cos(theta))] N + (l/2) sin(theta) theta'^2 - g.

    Where the bracket is negative, no finite N exists (at theta' = 0), or two exist, N = 0 among them (fast spin).  For
    a slender rod this happens from mu = 4/3 on, first at tan(theta) = 2, which is the default angle.

    Parameters
    ----------
    friction : coefficient mu of both tips
    angle : theta at the start [rad], between 0 and pi
    mass, length : [kg], [m]
    inertia : about the centre of mass [kg m^2]; if not given, mass length^2 / 12, the inertia of a slender rod
    restitution : coefficient eps_N of both tips
    g : gravity [m/s^2]
    slip, approach : velocity of the lower tip at the start along the table and normal to it [m/s]
    spin : theta' at the start [rad/s]
    gap : height of the lower tip at the start [m]

    Reference: [S00] sections 1.3, 2.3 and 3.3.1, Figs. 1.3 and 2.4.
    """
    parameters = {
        "mass": mass,
        "length": length,
        "inertia": mass * length**2 / 12 if inertia is None else inertia,
        "g": g,
        "friction": friction,
        "restitution": restitution,
    }
    require_positive(parameters, "mass", "length", "inertia")
    require_positive({"gap": gap}, "gap", allow_zero=True)
    if not 0.0 <= angle <= math.pi:
        raise ValueError(f"angle must lie between 0 and pi [rad], got {angle:g}.")
    run, rise = 0.5 * length * math.cos(angle), 0.5 * length * math.sin(angle)
    return Scenario(
        system=_system(parameters),
        q0=np.array([0.0, gap + rise, angle]),
        u0=np.array([slip - rise * spin, approach + run * spin, spin]),
        dt=1e-4,
        t_end=1.0,
        title="Painlevé's rod on a rough table",
        source="[S00] section 1.3, Figs. 1.3 and 2.4",
        drawing=Drawing(_shapes),
    )


def _system(parameters: dict[str, float]) -> LagrangianSystem:
    x, y, theta, v_x, v_y, omega = sp.symbols("x y theta v_x v_y omega")
    mass, length, inertia, g = sp.symbols("mass length inertia g")
    run, rise = length / 2 * sp.cos(theta), length / 2 * sp.sin(theta)
    return LagrangianSystem.from_energies(
        [x, y, theta],
        velocities=[v_x, v_y, omega],
        kinetic=(mass * (v_x**2 + v_y**2) + inertia * omega**2) / 2,
        potential=mass * g * y,
        contacts=[
            Contact(
                name, gap=y + side * rise, slip=x + side * run, friction="friction", restitution_normal="restitution"
            )
            for name, side in (("tip", -1), ("far tip", 1))
        ],
        parameters=parameters,
        name="painleve_rod",
        units={
            **dict.fromkeys(["x", "y", "length"], "m"),
            **dict.fromkeys(["v_x", "v_y"], "m/s"),
            "theta": "rad",
            "omega": "rad/s",
            "mass": "kg",
            "inertia": "kg m^2",
            "g": "m/s^2",
        },
    )


def _shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    x, y, theta = q
    half, thick = 0.5 * p["length"], 0.012 * p["length"]
    placement = Placement.rotation((x, y), theta)
    return [
        *GROUND,
        Group("rod", placement, (pointed_rod(half, thick), Circle((0.0, 0.0), 0.7 * thick, "joint"))),
        Marker(0, placement((-half, 0.0))),
        Marker(1, placement((half, 0.0))),
    ]
