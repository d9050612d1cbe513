"""Kane's double pendulum, whose tip strikes a floor: the classic case of an impact law that makes energy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from stickslip.drawing.common import GROUND
from stickslip.drawing.primitives import Circle, Drawing, Group, Marker, Placement, Primitive, cos, line, rectangle, sin
from stickslip.mechanisms.elements import Contact
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario


def kane_pendulum(
    *,
    mass: float = 1.0,
    length: float = 1.0,
    friction: float = 0.5,
    restitution_normal: float = 0.5,
    restitution_tangential: float = 0.0,
    g: float = 9.81,
    height: float | None = None,
    angles: tuple[float, float] = (math.radians(20.0), math.radians(30.0)),
    velocity: tuple[float, float] = (-0.1, -0.2),
) -> Scenario:
    """Return two equal rods, hinged to each other and to a ceiling, that strike the floor with the tip.

    q = (th_1, th_2) from the vertical; gap height - length (cos th_1 + cos th_2), slip length (sin th_1 + sin th_2).
    With the default numbers the tip touches the floor at the start, and Newton's law raises the kinetic energy to 1.587
    times its value.  Reason: slip reverses, and Newton's coefficient knows only the velocities before and after.

    Parameters
    ----------
    mass, length : of each uniform rod [kg], [m]
    friction, restitution_normal, restitution_tangential : coefficients mu, eps_N, eps_T at the tip
    g : gravity [m/s^2]
    height : of the upper hinge above the floor [m]; if not given, the height at which the tip touches at the start
    angles, velocity : initial angles [rad] and angular velocities [rad/s]

    Reference: Kane 1984; Kane and Levinson 1985; the numbers are the ones usually quoted.
    """
    parameters = {
        "mass": mass,
        "length": length,
        "height": length * (math.cos(angles[0]) + math.cos(angles[1])) if height is None else height,
        "g": g,
        "friction": friction,
        "restitution_normal": restitution_normal,
        "restitution_tangential": restitution_tangential,
    }
    return Scenario(
        system=_system(parameters),
        q0=np.array(angles),
        u0=np.array(velocity),
        dt=1e-4,
        t_end=1.0,
        title="Double pendulum that strikes the floor",
        source="Kane and Levinson 1985",
        drawing=Drawing(_shapes),
    )


def _system(parameters: dict[str, float]) -> LagrangianSystem:
    th_1, th_2, omega_1, omega_2 = sp.symbols("th_1 th_2 omega_1 omega_2")
    mass, length, height, g = sp.symbols("mass length height g")
    coupling = omega_1 * omega_2 * sp.cos(th_1 - th_2)
    return LagrangianSystem.from_energies(
        [th_1, th_2],
        velocities=[omega_1, omega_2],
        kinetic=mass * length**2 * (sp.Rational(4, 3) * omega_1**2 + coupling + omega_2**2 / 3) / 2,
        potential=-mass * g * length * (3 * sp.cos(th_1) + sp.cos(th_2)) / 2,
        contacts=[
            Contact(
                "tip",
                gap=height - length * (sp.cos(th_1) + sp.cos(th_2)),
                slip=length * (sp.sin(th_1) + sp.sin(th_2)),
                friction="friction",
                restitution_normal="restitution_normal",
                restitution_tangential="restitution_tangential",
            )
        ],
        parameters=parameters,
        name="kane_pendulum",
        units={
            **dict.fromkeys(["th_1", "th_2"], "rad"),
            **dict.fromkeys(["omega_1", "omega_2"], "rad/s"),
            **dict.fromkeys(["length", "height"], "m"),
            "mass": "kg",
            "g": "m/s^2",
        },
    )


def _shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    """Floor at y = 0, upper hinge at (0, height); each rod hangs down its own y axis."""
    length, height = p["length"], p["height"]
    thick = 0.02 * length
    knee = length * sin(q[0]), height - length * cos(q[0])
    rod = (rectangle(-thick, thick, -length, 0.0), Circle((0.0, 0.0), 1.3 * thick, "joint"))
    lower = Placement.rotation(knee, q[1])
    return [
        *GROUND,
        line((-0.2 * length, height), (0.2 * length, height)),
        Group("upper rod", Placement.rotation((0.0, height), q[0]), rod),
        Group("lower rod", lower, rod),
        Marker(0, lower((0.0, -length)), (0.0, 1.0)),
    ]
