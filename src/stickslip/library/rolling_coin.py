"""A coin that rolls on a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from stickslip.drawing.primitives import Circle, Drawing, Polygon, Primitive, cos, line, sin
from stickslip.mechanisms.elements import Constraint
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario, require_positive

_POSITIVE = ("mass", "radius", "g")


def rolling_coin(
    *,
    mass: float = 0.01,
    radius: float = 0.012,
    g: float = 9.81,
    tilt: float = 1.2,
    heading_rate: float = 6.0,
    roll_rate: float | None = None,
) -> Scenario:
    """Return a thin coin that rolls on its edge without slip: two velocity constraints.

    Five coordinates: position x, y of the centre [m], heading psi of its plane, tilt theta against the table (pi/2
    stands upright) and roll phi about its axis [rad]. With s = phi' + psi' cos(theta), the spin about its axis,

        x' + R s cos(psi) - R theta' sin(psi) sin(theta) = 0
        y' + R s sin(psi) + R theta' cos(psi) sin(theta) = 0.

    It rolls in a circle with constant tilt where 3/2 R s psi' sin(theta) - 1/4 R psi'^2 sin(theta) cos(theta)
    = -g cos(theta), up to the factor m R (thin coin: moments of inertia m R^2 / 2 and m R^2 / 4).

    Parameters
    ----------
    mass, radius : [kg], [m]
    g : gravity [m/s^2]
    tilt : initial theta [rad]
    heading_rate : initial psi' [rad/s]
    roll_rate : initial phi' [rad/s]; None: that of the circle with constant tilt

    Reference: Routh, Advanced Rigid Dynamics, 1905; O'Reilly, Nonlinear Dynamics 10 (1996) 287.
    """
    parameters = {"mass": mass, "radius": radius, "g": g}
    require_positive(parameters, *_POSITIVE)
    if not 0.0 < tilt < math.pi:
        raise ValueError(f"tilt must lie between 0 and pi, got {tilt:g} rad.")
    if roll_rate is None:
        roll_rate = steady_spin(tilt, heading_rate, radius, g) - heading_rate * math.cos(tilt)
    spin = roll_rate + heading_rate * math.cos(tilt)
    return Scenario(
        system=_system(parameters),
        q0=np.array([0.0, 0.0, 0.0, tilt, 0.0]),
        u0=np.array([-radius * spin, 0.0, heading_rate, 0.0, roll_rate]),
        dt=1e-4,
        t_end=2.0,
        title="Coin that rolls on a table",
        source="Routh 1905",
        drawing=Drawing(_shapes, span=2.0),
    )


def steady_spin(tilt: float, heading_rate: float, radius: float, g: float) -> float:
    """Spin phi' + psi' cos(theta) of a circle with constant tilt [rad/s]."""
    if heading_rate == 0.0:
        raise ValueError("heading_rate must not be zero for a circle; give roll_rate.")
    pull = 0.25 * radius * heading_rate**2 * math.sin(tilt) - g
    return pull * math.cos(tilt) / (1.5 * radius * heading_rate * math.sin(tilt))


def _system(parameters: Mapping[str, float]) -> LagrangianSystem:
    q = _, _, psi, theta, _ = sp.symbols("x y psi theta phi")
    u = v_x, v_y, psi_dot, theta_dot, phi_dot = sp.symbols("v_x v_y psi_dot theta_dot phi_dot")
    m, R, g = sp.symbols("mass radius g")
    spin = phi_dot + psi_dot * sp.cos(theta)
    across, along = m * R**2 / 4, m * R**2 / 2
    rise = R * sp.cos(theta) * theta_dot
    return LagrangianSystem.from_energies(
        q,
        velocities=u,
        kinetic=m * (v_x**2 + v_y**2 + rise**2) / 2
        + (across * (theta_dot**2 + (psi_dot * sp.sin(theta)) ** 2) + along * spin**2) / 2,
        potential=m * g * R * sp.sin(theta),
        constraints=[
            Constraint(
                "rolling x", velocity=v_x + R * spin * sp.cos(psi) - R * theta_dot * sp.sin(psi) * sp.sin(theta)
            ),
            Constraint(
                "rolling y", velocity=v_y + R * spin * sp.sin(psi) + R * theta_dot * sp.cos(psi) * sp.sin(theta)
            ),
        ],
        parameters=parameters,
        name="rolling_coin",
        positive=_POSITIVE,
        units={
            **dict.fromkeys(["x", "y", "radius"], "m"),
            **dict.fromkeys(["v_x", "v_y"], "m/s"),
            **dict.fromkeys(["psi", "theta", "phi"], "rad"),
            **dict.fromkeys(["psi_dot", "theta_dot", "phi_dot"], "rad/s"),
            "mass": "kg",
            "g": "m/s^2",
        },
    )


def _shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    x, y, psi, theta, _ = q
    R = p["radius"]
    return [*coin_from_above(x, y, psi, theta, R), Circle((x, y), 0.1 * R, "joint")]


def coin_from_above(x: float, y: float, psi: float, theta: float, R: float) -> list[Primitive]:
    """A tilted coin seen from above: an ellipse, its tangent at the table, and the point that touches."""
    ahead, aside = (cos(psi), sin(psi)), (cos(theta) * sin(psi), -cos(theta) * cos(psi))

    def rim(a: float) -> tuple[float, float]:
        c, s = R * math.cos(a), R * math.sin(a)
        return x + c * ahead[0] + s * aside[0], y + c * ahead[1] + s * aside[1]

    contact = rim(0.5 * math.pi)
    ends = [(contact[0] + s * R * ahead[0], contact[1] + s * R * ahead[1]) for s in (-1.0, 1.0)]
    ellipse = Polygon(tuple(rim(2.0 * math.pi * k / 16) for k in range(16)), "body")
    return [ellipse, line(ends[0], ends[1]), Circle(contact, 0.06 * R, "accent")]
