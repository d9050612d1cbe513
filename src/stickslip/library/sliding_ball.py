"""A ball that slides and rolls on a table, which may turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from stickslip.drawing.primitives import Circle, Drawing, Marker, Primitive, cos, line, sin
from stickslip.mechanisms.elements import Contact
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario, require_positive

_POSITIVE = ("mass", "radius", "inertia")


def sliding_ball(
    *,
    mass: float = 0.17,
    radius: float = 0.028,
    inertia: float | None = None,
    friction: float = 0.2,
    g: float = 9.81,
    turn: float = 0.0,
    x: float = 0.0,
    y: float = 0.0,
    speed_x: float = 1.0,
    speed_y: float = 0.0,
    spin_x: float = -60.0,
    spin_y: float = 20.0,
    spin_z: float = 0.0,
) -> Scenario:
    """Return a ball on a table with friction in two tangents: it slides first and rolls then.

    Six coordinates: the centre x, y, z [m] and three turns a, b, c about the fixed axes [rad], whose derivatives are
    the angular velocities. With the table's angular velocity Omega the ball slides with

        gamma_1 = v_x - R omega_y + Omega y,    gamma_2 = v_y + R omega_x - Omega x.

    On a table at rest the direction of slip is constant: the centre runs along a parabola.  A homogeneous ball rolls
    after |gamma| / (7/2 mu g), with the velocity 5/7 v + 2/7 (R omega_y, -R omega_x) of its start.  On a table that
    turns it then runs in circles, see `ball_on_turntable`.

    Parameters
    ----------
    mass, radius : m [kg], R [m]
    inertia : I about the centre [kg m^2]; None: 2/5 m R^2
    friction : mu
    g : gravity [m/s^2]
    turn : Omega, angular velocity of the table [rad/s]
    x, y : initial place of the centre [m]
    speed_x, speed_y : initial velocity of the centre [m/s]
    spin_x, spin_y, spin_z : initial angular velocities [rad/s]

    Reference: Coriolis, Theorie mathematique des effets du jeu de billard, 1835.
    """
    own = 0.4 * mass * radius**2 if inertia is None else inertia
    parameters = {"mass": mass, "radius": radius, "inertia": own, "friction": friction, "g": g, "turn": turn}
    require_positive(parameters, *_POSITIVE)
    return Scenario(
        system=_system(parameters),
        q0=np.array([x, y, radius, 0.0, 0.0, 0.0]),
        u0=np.array([speed_x, speed_y, 0.0, spin_x, spin_y, spin_z]),
        dt=1e-3,
        t_end=1.0,
        title="Ball that slides, then rolls",
        source="Coriolis 1835",
        drawing=Drawing(_shapes, view=(-0.2, 1.2, -0.5, 0.9), span=1.0),
    )


def _system(parameters: Mapping[str, float]) -> LagrangianSystem:
    q = x, y, z, *_ = sp.symbols("x y z a b c")
    u = v_x, v_y, v_z, omega_x, omega_y, omega_z = sp.symbols("v_x v_y v_z omega_x omega_y omega_z")
    m, R, inertia, mu, g, turn = sp.symbols("mass radius inertia friction g turn")
    return LagrangianSystem.from_energies(
        q,
        velocities=u,
        kinetic=m * (v_x**2 + v_y**2 + v_z**2) / 2 + inertia * (omega_x**2 + omega_y**2 + omega_z**2) / 2,
        potential=m * g * z,
        contacts=[
            Contact(
                "table",
                gap=z - R,
                slip_velocity=[v_x - R * omega_y + turn * y, v_y + R * omega_x - turn * x],
                friction=mu,
            )
        ],
        parameters=parameters,
        name="sliding_ball",
        positive=_POSITIVE,
        units={
            **dict.fromkeys(["x", "y", "z", "radius"], "m"),
            **dict.fromkeys(["v_x", "v_y", "v_z"], "m/s"),
            **dict.fromkeys(["a", "b", "c"], "rad"),
            **dict.fromkeys(["omega_x", "omega_y", "omega_z", "turn"], "rad/s"),
            "mass": "kg",
            "inertia": "kg m^2",
            "g": "m/s^2",
        },
    )


def _shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    angle = p["turn"] * t
    spokes = [(cos(angle), sin(angle)), (-sin(angle), cos(angle))]
    place = (q[0], q[1])
    return [*(line((-s[0], -s[1]), s) for s in spokes), Circle(place, p["radius"], "accent"), Marker(0, place)]
