"""A brick that slides on a frictional ramp and stops, if friction is strong enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from stickslip.drawing.common import GROUND
from stickslip.drawing.primitives import Drawing, Group, Marker, Placement, Primitive, line, rectangle
from stickslip.laws.friction import Stribeck
from stickslip.mechanisms.elements import Contact
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario


def brick_on_ramp(
    *,
    friction: float = 0.5,
    angle: float = 0.38,
    velocity: float = 1.0,
    mass: float = 1.0,
    g: float = 9.81,
    push: float = 0.0,
    push_frequency: float = 2.0,
    friction_kinetic: float | None = None,
    stribeck_velocity: float = 0.1,
) -> Scenario:
    """Return a brick on a ramp: x down the ramp, y normal to it, gap y, slip x.

    Sliding down, m dv/dt = m g sin(angle) - friction m g cos(angle) + F_ext. For friction > tan(angle), F_ext = 0 the
    brick stops at t = velocity / (g (friction cos(angle) - sin(angle))) and stays; F_ext = push sin(push_frequency t)
    moves it as soon as it exceeds m g (friction cos(angle) - sin(angle)), and not before.

    With `friction_kinetic` the coefficient falls with the speed, mu(v) = mu_k + (mu - mu_k) exp(-v/v_s).  Where
    tan(angle) > mu_k that is the friction-induced instability of [S00] 4.3: once it slides, friction falls, it slides
    faster, and it goes on when the push has ended.  A small velocity grows with the rate g cos(angle) (mu - mu_k)/v_s.

    Parameters
    ----------
    friction : coefficient
    angle : slope of the ramp [rad]
    velocity : initial velocity down the ramp [m/s]
    mass : [kg]
    g : gravity [m/s^2]
    push, push_frequency : amplitude [N] and frequency [rad/s] of the force F_ext down the ramp, [S00] 4.3
    friction_kinetic : coefficient mu_k of a fast brick; Coulomb's law with `friction` alone if not given
    stribeck_velocity : v_s, over which the coefficient falls to mu_k [m/s]

    Reference: [S00] section 1.1, Fig. 1.1, eq. (1.1).
    """
    parameters = {
        "mass": mass,
        "g": g,
        "angle": angle,
        "friction": friction,
        "push": push,
        "push_frequency": push_frequency,
    }
    if friction_kinetic is not None:
        parameters |= {"friction_kinetic": friction_kinetic, "stribeck_velocity": stribeck_velocity}
    return Scenario(
        system=_system(parameters),
        q0=np.array([0.0, 0.0]),
        u0=np.array([velocity, 0.0]),
        dt=1e-3,
        t_end=2.0,
        title="Brick on a frictional ramp",
        source="[S00] section 1.1, Fig. 1.1",
        drawing=Drawing(_shapes),
    )


def _system(parameters: dict[str, float]) -> LagrangianSystem:
    x, y, v_x, v_y, mass, g, angle = sp.symbols("x y v_x v_y mass g angle")
    t, push, push_frequency = sp.symbols("t push push_frequency")
    falls = "friction_kinetic" in parameters
    law = Stribeck("friction", "friction_kinetic", "stribeck_velocity") if falls else "friction"
    return LagrangianSystem.from_energies(
        [x, y],
        velocities=[v_x, v_y],
        kinetic=mass * (v_x**2 + v_y**2) / 2,
        potential=mass * g * (y * sp.cos(angle) - x * sp.sin(angle)),
        forces=[push * sp.sin(push_frequency * t), 0],
        contacts=[Contact("ramp", gap=y, slip=x, friction=law)],
        parameters=parameters,
        name="brick_on_ramp",
        units={
            **dict.fromkeys(["x", "y"], "m"),
            **dict.fromkeys(["v_x", "v_y"], "m/s"),
            "mass": "kg",
            "g": "m/s^2",
            "angle": "rad",
            "push": "N",
            "push_frequency": "rad/s",
            **({"stribeck_velocity": "m/s"} if falls else {}),
        },
    )


def _shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    """x leads down the ramp, to the right."""
    width, height = 0.20, 0.12
    ramp = Placement.rotation((0.0, 0.0), -p["angle"])
    brick = Placement.rotation(ramp((q[0], q[1])), -p["angle"])
    return [
        Group("ramp", ramp, GROUND),
        Group("start", ramp, (line((0.0, 0.0), (0.0, 0.35 * height), "guide"),)),
        Group("brick", brick, (rectangle(-0.5 * width, 0.5 * width, 0.0, height), Marker(0, (0.0, 0.0)))),
    ]
