"""A ball that rolls on a turntable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from stickslip.drawing.primitives import Circle, Drawing, Primitive, cos, line, sin
from stickslip.mechanisms.elements import Constraint
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario, require_positive

_POSITIVE = ("mass", "radius", "inertia")


def ball_on_turntable(
    *,
    mass: float = 0.5,
    radius: float = 0.02,
    inertia: float = 8.0e-5,
    turn: float = 5.0,
    x: float = 0.15,
    speed: float = 0.3,
) -> Scenario:
    """Return a ball that rolls without slip on a table that turns: two velocity constraints.

    Five coordinates: position x, y of the ball's centre [m] and three turns a, b, c about the fixed axes [rad], whose
    derivatives are the angular velocities omega_x, omega_y, omega_z. With the table's angular velocity Omega

        v_x - R omega_y + Omega y = 0,    v_y + R omega_x - Omega x = 0.

    The velocity turns with the constant rate Omega I / (I + m R^2): the ball runs in a circle, 2/7 as fast as the table
    for a homogeneous ball, I = 2/5 m R^2.

    Parameters
    ----------
    mass, radius : m [kg], R [m]
    inertia : I about the centre [kg m^2]
    turn : Omega, angular velocity of the table [rad/s]
    x : initial distance from the axis of the table [m]
    speed : initial velocity of the centre, along y [m/s]

    Reference: Earnshaw 1844; Weltner, Am. J. Phys. 47 (1979) 984.
    """
    parameters = {"mass": mass, "radius": radius, "inertia": inertia, "turn": turn}
    require_positive(parameters, *_POSITIVE)
    return Scenario(
        system=_system(parameters),
        q0=np.array([x, 0.0, 0.0, 0.0, 0.0]),
        u0=np.array([0.0, speed, (turn * x - speed) / radius, 0.0, 0.0]),
        dt=1e-3,
        t_end=6.0,
        title="Ball on a turntable",
        source="Earnshaw 1844",
        drawing=Drawing(_shapes, view=(-0.45, 0.45, -0.45, 0.45), span=6.0),
    )


def _system(parameters: Mapping[str, float]) -> LagrangianSystem:
    q = x, y, *_ = sp.symbols("x y a b c")
    u = v_x, v_y, omega_x, omega_y, omega_z = sp.symbols("v_x v_y omega_x omega_y omega_z")
    m, R, inertia, turn = sp.symbols("mass radius inertia turn")
    return LagrangianSystem.from_energies(
        q,
        velocities=u,
        kinetic=m * (v_x**2 + v_y**2) / 2 + inertia * (omega_x**2 + omega_y**2 + omega_z**2) / 2,
        constraints=[
            Constraint("rolling x", velocity=v_x - R * omega_y + turn * y),
            Constraint("rolling y", velocity=v_y + R * omega_x - turn * x),
        ],
        parameters=parameters,
        name="ball_on_turntable",
        positive=_POSITIVE,
        units={
            **dict.fromkeys(["x", "y", "radius"], "m"),
            **dict.fromkeys(["v_x", "v_y"], "m/s"),
            **dict.fromkeys(["a", "b", "c"], "rad"),
            **dict.fromkeys(["omega_x", "omega_y", "omega_z", "turn"], "rad/s"),
            "mass": "kg",
            "inertia": "kg m^2",
        },
    )


def _shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    angle = p["turn"] * t
    spokes = [(0.4 * cos(angle), 0.4 * sin(angle)), (-0.4 * sin(angle), 0.4 * cos(angle))]
    return [
        Circle((0.0, 0.0), 0.4, "guide"),
        *(line((-tip[0], -tip[1]), tip) for tip in spokes),
        Circle((q[0], q[1]), p["radius"], "accent"),
    ]
