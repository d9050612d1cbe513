"""A ball that bounces on a table at rest, or on one that vibrates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from stickslip.drawing.common import GROUND
from stickslip.drawing.primitives import Circle, Drawing, Group, Marker, Placement, Primitive, line, rectangle, sin
from stickslip.mechanisms.elements import Contact
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario


def bouncing_ball(
    *,
    restitution: float = 0.5,
    height: float = 1.0,
    velocity: float = 0.0,
    mass: float = 1.0,
    g: float = 9.81,
) -> Scenario:
    """Return a ball dropped on a table at rest: m dv = -m g dt + dLambda, gap y.

    Dropped from rest it lands at t_1 = sqrt(2 height / g) and comes to rest, after infinitely many bounces,
    at t_1 (1 + restitution) / (1 - restitution): an accumulation point.

    Parameters
    ----------
    restitution : coefficient eps_N in [0, 1]
    height, velocity : initial height [m] and velocity [m/s] of the lowest point of the ball
    mass : [kg]
    g : gravity [m/s^2]

    Reference: [S00] section 4.2, Fig. 4.1 (there with g = 9.8213 m/s^2).
    """
    return Scenario(
        system=_system({"mass": mass, "g": g, "restitution": restitution}, sp.S.Zero, "bouncing_ball"),
        q0=np.array([height]),
        u0=np.array([velocity]),
        dt=1e-3,
        t_end=2.0,
        title="Bouncing ball",
        source="[S00] section 4.2, Fig. 4.1",
        drawing=Drawing(_shapes),
    )


def bouncing_ball_on_table(
    *,
    restitution: float = 0.8,
    amplitude: float = 0.002,
    frequency: float = 30.0,
    height: float = 0.02,
    velocity: float = 0.0,
    mass: float = 1.0,
    g: float = 9.81,
) -> Scenario:
    """Return a ball on a table that moves with e(t) = amplitude sin(2 pi frequency t): a rheonomic contact.

    The gap is y - e(t), so that w_hat_N = -de/dt. A ball that rides on the table lifts off once the table's largest
    acceleration, amplitude (2 pi frequency)^2, exceeds g. Its bounces may lock to the table or become chaotic.

    Parameters
    ----------
    restitution : coefficient eps_N in [0, 1]
    amplitude, frequency : of the table [m], [Hz]
    height, velocity : initial height [m] and velocity [m/s] of the lowest point of the ball
    mass : [kg]
    g : gravity [m/s^2]

    Reference: explicit time in the gap as in [GS05] eqs. (7)-(10).
    """
    t = sp.Symbol("t")
    table = sp.Symbol("amplitude") * sp.sin(2 * sp.pi * sp.Symbol("frequency") * t)
    parameters = {
        "mass": mass,
        "g": g,
        "restitution": restitution,
        "amplitude": amplitude,
        "frequency": frequency,
    }
    return Scenario(
        system=_system(parameters, table, "bouncing_ball_on_table"),
        q0=np.array([height]),
        u0=np.array([velocity]),
        dt=1e-4,
        t_end=2.0,
        title="Bouncing ball on a vibrating table",
        source="rheonomic contact, [GS05] section 3",
        drawing=Drawing(_shapes, span=1.0),
    )


def _system(parameters: dict[str, float], table: sp.Expr, name: str) -> LagrangianSystem:
    y, v, mass, g = sp.symbols("y v mass g")
    units = {"y": "m", "v": "m/s", "mass": "kg", "g": "m/s^2", "amplitude": "m", "frequency": "Hz"}
    return LagrangianSystem.from_energies(
        [y],
        velocities=[v],
        kinetic=mass * v**2 / 2,
        potential=mass * g * y,
        contacts=[Contact("table", gap=y - table, restitution_normal="restitution")],
        parameters=parameters,
        name=name,
        units={key: unit for key, unit in units.items() if key in ("y", "v") or key in parameters},
    )


def _shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    """The ball is a point in the model: here it lies above the point that touches."""
    moving = "amplitude" in p
    radius = 0.008 if moving else 0.06
    ball = Placement((0.0, q[0]))
    return [
        *(_vibrating_table(t, p) if moving else GROUND),
        Group(
            "ball",
            ball,
            (
                Circle((0.0, radius), radius),
                Circle((-0.35 * radius, 1.4 * radius), 0.2 * radius, "body-light"),
                Marker(0, (0.0, 0.0)),
            ),
        ),
    ]


def _vibrating_table(t: float, p: Mapping[str, float]) -> list[Primitive]:
    height = p["amplitude"] * sin(2 * math.pi * p["frequency"] * t)
    plate = (
        rectangle(-0.03, 0.03, -0.005, 0.0, "wood"),
        rectangle(-0.004, 0.004, -0.1, -0.005, "wood"),
        line((-0.03, 0.0), (0.03, 0.0)),
    )
    return [Group("table", Placement((0.0, height)), plate)]
