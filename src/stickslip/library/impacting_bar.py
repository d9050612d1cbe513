"""A bar that falls on a half-space and strikes it with one tip."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from stickslip.drawing.common import GROUND, pointed_rod
from stickslip.drawing.primitives import Circle, Drawing, Group, Marker, Placement, Primitive
from stickslip.mechanisms.elements import Contact
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario


def impacting_bar(
    *,
    mass: float = 1.0,
    half_length: float = 0.5,
    inertia: float | None = None,
    friction: float = 0.5,
    restitution_normal: float = 0.5,
    restitution_tangential: float = 0.0,
    g: float = 9.81,
    angle: float = 1.0,
    gap: float = 0.1,
    velocity: tuple[float, float, float] = (0.5, -1.0, 0.0),
) -> Scenario:
    """Return a bar striking a half-space: q = (x, y, phi), gap y - s sin(phi), slip x + s cos(phi).

    Only the tip C touches (0 < phi < pi), as in the paper: [PG05] eqs. (16)-(19). For a slender bar and
    friction above 4/3 the sliding tip can jam (Painleve).

    Parameters
    ----------
    mass : [kg]
    half_length : s, half the length of the bar [m]
    inertia : about the centre of mass [kg m^2]; if not given, mass half_length^2 / 3, the inertia of a slender bar
    friction, restitution_normal, restitution_tangential : coefficients mu, eps_N, eps_T
    g : gravity [m/s^2]
    angle, gap : initial inclination phi [rad] and gap of the tip [m]
    velocity : initial (x, y) velocity [m/s] and spin [rad/s]

    Reference: [PG05] section 4.
    """
    parameters = {
        "mass": mass,
        "half_length": half_length,
        "inertia": mass * half_length**2 / 3 if inertia is None else inertia,
        "g": g,
        "friction": friction,
        "restitution_normal": restitution_normal,
        "restitution_tangential": restitution_tangential,
    }
    return Scenario(
        system=_system(parameters),
        q0=np.array([0.0, gap + half_length * math.sin(angle), angle]),
        u0=np.array(velocity),
        dt=1e-4,
        t_end=0.2,
        title="Oblique impact of a bar on a half-space",
        source="[PG05] section 4",
        drawing=Drawing(_shapes),
    )


def _system(parameters: dict[str, float]) -> LagrangianSystem:
    x, y, phi, u_x, u_y, u_phi = sp.symbols("x y phi u_x u_y u_phi")
    mass, half_length, inertia, g = sp.symbols("mass half_length inertia g")
    return LagrangianSystem.from_energies(
        [x, y, phi],
        velocities=[u_x, u_y, u_phi],
        kinetic=(mass * (u_x**2 + u_y**2) + inertia * u_phi**2) / 2,
        potential=mass * g * y,
        contacts=[
            Contact(
                "tip",
                gap=y - half_length * sp.sin(phi),
                slip=x + half_length * sp.cos(phi),
                friction="friction",
                restitution_normal="restitution_normal",
                restitution_tangential="restitution_tangential",
            )
        ],
        parameters=parameters,
        name="impacting_bar",
        positive=("mass", "half_length", "inertia"),
        units={
            **dict.fromkeys(["x", "y", "half_length"], "m"),
            **dict.fromkeys(["u_x", "u_y"], "m/s"),
            "phi": "rad",
            "u_phi": "rad/s",
            "mass": "kg",
            "inertia": "kg m^2",
            "g": "m/s^2",
        },
    )


def _shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    """The tip C lies at half_length (cos phi, -sin phi) from the centre: the bar leans to the left."""
    x, y, phi = q
    s, thick = p["half_length"], 0.035 * p["half_length"]
    placement = Placement.rotation((x, y), -phi)
    bar = (pointed_rod(s, thick), Circle((0.0, 0.0), 0.6 * thick, "joint"))
    return [
        *GROUND,
        Group("bar", placement, bar),
        Marker(0, placement((s, 0.0))),
    ]
