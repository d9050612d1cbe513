"""A coin that slides and rolls on its edge."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from stickslip.drawing.primitives import Circle, Drawing, Marker, Primitive, cos, sin
from stickslip.library.rolling_coin import coin_from_above, steady_spin
from stickslip.mechanisms.elements import Contact
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario, require_positive

_POSITIVE = ("mass", "radius", "g")


def sliding_coin(
    *,
    mass: float = 0.01,
    radius: float = 0.012,
    friction: float = 0.3,
    g: float = 9.81,
    tilt: float = 1.2,
    heading_rate: float = 6.0,
    roll_rate: float | None = None,
    speed_x: float | None = None,
    speed_y: float = 0.0,
) -> Scenario:
    """Return a thin coin on its edge with friction in two tangents: it rolls where friction allows, else it slides.

    Six coordinates: centre x, y, z [m], heading psi of its plane, tilt theta against the table (pi/2 stands upright)
    and roll phi about its axis [rad]. With s = phi' + psi' cos(theta), the spin about its axis, the edge slides with

        gamma_1 = x' + R s cos(psi) - R theta' sin(psi) sin(theta)
        gamma_2 = y' + R s sin(psi) + R theta' cos(psi) sin(theta).

    Parameters
    ----------
    mass, radius : [kg], [m]
    friction : mu
    g : gravity [m/s^2]
    tilt : initial theta [rad]
    heading_rate : initial psi' [rad/s]
    roll_rate : initial phi' [rad/s]; None: that of the circle with constant tilt, see `rolling_coin`
    speed_x : initial x' [m/s]; None: that of rolling
    speed_y : initial y' [m/s]

    Reference: Kessler and O'Reilly, Regular and Chaotic Dynamics 7 (2002) 49.
    """
    parameters = {"mass": mass, "radius": radius, "friction": friction, "g": g}
    require_positive(parameters, *_POSITIVE)
    if not 0.0 < tilt < math.pi:
        raise ValueError(f"tilt must lie between 0 and pi, got {tilt:g} rad.")
    if roll_rate is None:
        roll_rate = steady_spin(tilt, heading_rate, radius, g) - heading_rate * math.cos(tilt)
    spin = roll_rate + heading_rate * math.cos(tilt)
    along = -radius * spin if speed_x is None else speed_x
    return Scenario(
        system=_system(parameters),
        q0=np.array([0.0, 0.0, radius * math.sin(tilt), 0.0, tilt, 0.0]),
        u0=np.array([along, speed_y, 0.0, heading_rate, 0.0, roll_rate]),
        dt=1e-4,
        t_end=2.0,
        title="Coin that slides or rolls on its edge",
        source="Kessler and O'Reilly 2002",
        drawing=Drawing(_shapes, span=2.0),
    )


def _system(parameters: Mapping[str, float]) -> LagrangianSystem:
    q = _, _, z, psi, theta, _ = sp.symbols("x y z psi theta phi")
    u = v_x, v_y, v_z, psi_dot, theta_dot, phi_dot = sp.symbols("v_x v_y v_z psi_dot theta_dot phi_dot")
    m, R, mu, g = sp.symbols("mass radius friction g")
    spin = phi_dot + psi_dot * sp.cos(theta)
    across, along = m * R**2 / 4, m * R**2 / 2
    return LagrangianSystem.from_energies(
        q,
        velocities=u,
        kinetic=m * (v_x**2 + v_y**2 + v_z**2) / 2
        + (across * (theta_dot**2 + (psi_dot * sp.sin(theta)) ** 2) + along * spin**2) / 2,
        potential=m * g * z,
        contacts=[
            Contact(
                "edge",
                gap=z - R * sp.sin(theta),
                slip_velocity=[
                    v_x + R * spin * sp.cos(psi) - R * theta_dot * sp.sin(psi) * sp.sin(theta),
                    v_y + R * spin * sp.sin(psi) + R * theta_dot * sp.cos(psi) * sp.sin(theta),
                ],
                friction=mu,
            )
        ],
        parameters=parameters,
        name="sliding_coin",
        positive=_POSITIVE,
        units={
            **dict.fromkeys(["x", "y", "z", "radius"], "m"),
            **dict.fromkeys(["v_x", "v_y", "v_z"], "m/s"),
            **dict.fromkeys(["psi", "theta", "phi"], "rad"),
            **dict.fromkeys(["psi_dot", "theta_dot", "phi_dot"], "rad/s"),
            "mass": "kg",
            "g": "m/s^2",
        },
    )


def _shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    x, y, _, psi, theta, _ = q
    R = p["radius"]
    contact = (x + R * cos(theta) * sin(psi), y - R * cos(theta) * cos(psi))
    return [
        *coin_from_above(x, y, psi, theta, R),
        Circle((x, y), 0.1 * R, "joint"),
        Marker(0, contact),
    ]
