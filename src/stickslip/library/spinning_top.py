"""A top that spins on its tip."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from stickslip.drawing.joint_shapes import bar
from stickslip.drawing.primitives import Circle, Drawing, Primitive, cos, sin
from stickslip.mechanisms.elements import Constraint
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario, require_positive

_POSITIVE = ("mass", "length", "inertia", "inertia_axis")


def spinning_top(
    *,
    mass: float = 0.1,
    length: float = 0.04,
    inertia: float = 6.0e-5,
    inertia_axis: float = 4.0e-5,
    g: float = 9.81,
    tilt: float = 0.4,
    spin: float = 250.0,
    precession: float | None = None,
) -> Scenario:
    """Return a symmetric top whose tip stays where it is: three constraints on the six coordinates of a free body.

    Coordinates: centre of mass x, y, z [m]; precession phi, tilt theta against the vertical, and spin psi [rad]. The
    constraints hold the tip; their reactions are the force on it. With A the moment of inertia about the tip, across,
    and n = psi' + phi' cos(theta), the top precesses steadily where A phi'^2 cos(theta) - C n phi' + m g l = 0.

    Parameters
    ----------
    mass : [kg];  length : l, of the tip from the centre of mass [m]
    inertia : about the centre of mass, across the axis [kg m^2]
    inertia_axis : C, about the axis [kg m^2]
    g : gravity [m/s^2]
    tilt : initial theta [rad]
    spin : n, angular velocity about the axis [rad/s]
    precession : initial phi' [rad/s]; None: that of the slow steady precession, 0 where the spin is too small for it

    Reference: Lagrange 1788; Goldstein, Classical Mechanics, 5.7.
    """
    parameters = {"mass": mass, "length": length, "inertia": inertia, "inertia_axis": inertia_axis, "g": g}
    require_positive(parameters, *_POSITIVE)
    if not 0.0 < tilt < math.pi:
        raise ValueError(f"tilt must lie between 0 and pi, got {tilt:g} rad.")
    if precession is None:
        precession = steady_precession(tilt, spin, parameters) or 0.0
    across = length * math.sin(tilt)
    return Scenario(
        system=_system(parameters),
        q0=np.array([across, 0.0, length * math.cos(tilt), 0.0, tilt, 0.0]),
        u0=np.array([0.0, across * precession, 0.0, precession, 0.0, spin - precession * math.cos(tilt)]),
        dt=2e-4,
        t_end=2.0,
        title="Top on its tip",
        source="Lagrange 1788",
        drawing=Drawing(_shapes, view=(-0.06, 0.06, -0.01, 0.08), span=2.0),
    )


def steady_precession(tilt: float, spin: float, p: Mapping[str, float]) -> float | None:
    """The slow one of the two rates phi' with constant tilt [rad/s]; None where the spin is too small for any."""
    A, C, push = p["inertia"] + p["mass"] * p["length"] ** 2, p["inertia_axis"], p["mass"] * p["g"] * p["length"]
    square = (C * spin) ** 2 - 4.0 * A * math.cos(tilt) * push
    if square < 0.0 or spin == 0.0:
        return None
    return 2.0 * push / (C * spin + math.copysign(math.sqrt(square), spin))


def _system(parameters: Mapping[str, float]) -> LagrangianSystem:
    q = x, y, z, phi, theta, _ = sp.symbols("x y z phi theta psi")
    u = v_x, v_y, v_z, phi_dot, theta_dot, psi_dot = sp.symbols("v_x v_y v_z phi_dot theta_dot psi_dot")
    m, length, inertia, inertia_axis, g = sp.symbols("mass length inertia inertia_axis g")
    turning = inertia * (theta_dot**2 + (phi_dot * sp.sin(theta)) ** 2)
    axis = inertia_axis * (psi_dot + phi_dot * sp.cos(theta)) ** 2
    return LagrangianSystem.from_energies(
        q,
        velocities=u,
        kinetic=m * (v_x**2 + v_y**2 + v_z**2) / 2 + (turning + axis) / 2,
        potential=m * g * z,
        constraints=[
            Constraint("tip x", equation=x - length * sp.sin(theta) * sp.cos(phi)),
            Constraint("tip y", equation=y - length * sp.sin(theta) * sp.sin(phi)),
            Constraint("tip z", equation=z - length * sp.cos(theta)),
        ],
        parameters=parameters,
        name="spinning_top",
        positive=_POSITIVE,
        units={
            **dict.fromkeys(["x", "y", "z", "length"], "m"),
            **dict.fromkeys(["v_x", "v_y", "v_z"], "m/s"),
            **dict.fromkeys(["phi", "theta", "psi"], "rad"),
            **dict.fromkeys(["phi_dot", "theta_dot", "psi_dot"], "rad/s"),
            **dict.fromkeys(["inertia", "inertia_axis"], "kg m^2"),
            "mass": "kg",
            "g": "m/s^2",
        },
    )


def _shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    x, _, z, _, _, psi = q
    size = p["length"]
    return [
        bar("axis", (0.0, 0.0), (1.6 * x, 1.6 * z), length=1.6 * size, width=0.12 * size),
        Circle((x, z), 0.45 * size, "body"),
        Circle((x + 0.3 * size * cos(psi), z + 0.1 * size * sin(psi)), 0.05 * size, "accent"),
        Circle((0.0, 0.0), 0.06 * size, "joint"),
    ]
