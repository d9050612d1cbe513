"""A top whose round tip slides on the table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from stickslip.drawing.joint_shapes import bar
from stickslip.drawing.primitives import Circle, Drawing, Marker, Primitive, cos, sin
from stickslip.mechanisms.elements import Contact
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario, require_positive

_POSITIVE = ("mass", "length", "radius", "inertia", "inertia_axis")


def sliding_top(
    *,
    mass: float = 0.1,
    length: float = 0.04,
    radius: float = 0.004,
    inertia: float = 6.0e-5,
    inertia_axis: float = 4.0e-5,
    friction: float = 0.2,
    g: float = 9.81,
    tilt: float = 0.4,
    spin: float = 250.0,
    precession: float = 0.0,
) -> Scenario:
    """Return a top on a round tip that slides on the table with friction in two tangents: it rises.

    Six coordinates: centre of mass x, y, z [m]; precession phi, tilt theta against the vertical, and spin psi [rad].
    The tip is a ball of radius r whose centre lies at the distance l from the centre of mass.  Its spin makes it slide
    across the tilt, and the friction raises the top; where it rolls at last, the rise ends.

    Parameters
    ----------
    mass : [kg];  length : l [m];  radius : r of the tip [m]
    inertia : about the centre of mass, across the axis [kg m^2]
    inertia_axis : about the axis [kg m^2]
    friction : mu
    g : gravity [m/s^2]
    tilt : initial theta [rad]
    spin : initial psi' + phi' cos(theta), angular velocity about the axis [rad/s]
    precession : initial phi' [rad/s]

    Reference: Jellett, A Treatise on the Theory of Friction, 1872; Magnus, Kreisel, 1971.
    """
    parameters = {
        "mass": mass,
        "length": length,
        "radius": radius,
        "inertia": inertia,
        "inertia_axis": inertia_axis,
        "friction": friction,
        "g": g,
    }
    require_positive(parameters, *_POSITIVE)
    if not 0.0 < tilt < math.pi / 2:
        raise ValueError(f"tilt must lie between 0 and pi/2, got {tilt:g} rad.")
    return Scenario(
        system=_system(parameters),
        q0=np.array([length * math.sin(tilt), 0.0, length * math.cos(tilt) + radius, 0.0, tilt, 0.0]),
        u0=np.array([0.0, 0.0, 0.0, precession, 0.0, spin - precession * math.cos(tilt)]),
        dt=1e-4,
        t_end=2.0,
        title="Top that slides on its tip and rises",
        source="Jellett 1872",
        drawing=Drawing(_shapes, span=2.0),
    )


def _system(parameters: Mapping[str, float]) -> LagrangianSystem:
    q = _, _, z, phi, theta, _ = sp.symbols("x y z phi theta psi")
    u = v_x, v_y, v_z, phi_dot, theta_dot, psi_dot = sp.symbols("v_x v_y v_z phi_dot theta_dot psi_dot")
    m, length, r, inertia, inertia_axis, mu, g = sp.symbols("mass length radius inertia inertia_axis friction g")
    turning = inertia * (theta_dot**2 + (phi_dot * sp.sin(theta)) ** 2)
    axis = inertia_axis * (psi_dot + phi_dot * sp.cos(theta)) ** 2
    omega_x = -theta_dot * sp.sin(phi) + psi_dot * sp.sin(theta) * sp.cos(phi)
    omega_y = theta_dot * sp.cos(phi) + psi_dot * sp.sin(theta) * sp.sin(phi)

    def rate(expression: sp.Expr) -> sp.Expr:
        return expression.diff(phi) * phi_dot + expression.diff(theta) * theta_dot

    tip_x, tip_y = length * sp.sin(theta) * sp.cos(phi), length * sp.sin(theta) * sp.sin(phi)
    return LagrangianSystem.from_energies(
        q,
        velocities=u,
        kinetic=m * (v_x**2 + v_y**2 + v_z**2) / 2 + (turning + axis) / 2,
        potential=m * g * z,
        contacts=[
            Contact(
                "tip",
                gap=z - length * sp.cos(theta) - r,
                slip_velocity=[v_x - rate(tip_x) - r * omega_y, v_y - rate(tip_y) + r * omega_x],
                friction=mu,
            )
        ],
        parameters=parameters,
        name="sliding_top",
        positive=_POSITIVE,
        units={
            **dict.fromkeys(["x", "y", "z", "length", "radius"], "m"),
            **dict.fromkeys(["v_x", "v_y", "v_z"], "m/s"),
            **dict.fromkeys(["phi", "theta", "psi"], "rad"),
            **dict.fromkeys(["phi_dot", "theta_dot", "psi_dot"], "rad/s"),
            **dict.fromkeys(["inertia", "inertia_axis"], "kg m^2"),
            "mass": "kg",
            "g": "m/s^2",
        },
    )


def _shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    x, _, z, phi, theta, psi = q
    size = p["length"]
    along = (sin(theta) * cos(phi), cos(theta))
    tip = (x - size * along[0], z - size * along[1])
    head = (x + 0.6 * size * along[0], z + 0.6 * size * along[1])
    return [
        bar("axis", tip, head, length=1.6 * size, width=0.12 * size),
        Circle((x, z), 0.45 * size, "body"),
        Circle((x + 0.3 * size * cos(psi), z + 0.1 * size * sin(psi)), 0.05 * size, "accent"),
        Circle(tip, p["radius"], "joint"),
        Marker(0, (tip[0], tip[1] - p["radius"])),
    ]
