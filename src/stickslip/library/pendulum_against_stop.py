"""A pendulum that swings against a stop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from stickslip.drawing.primitives import Circle, Drawing, Group, Marker, Placement, Primitive, line, rectangle
from stickslip.mechanisms.elements import Stop
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario, require_positive


def pendulum_against_stop(
    *,
    mass: float = 1.0,
    length: float = 1.0,
    stop_angle: float = -0.2,
    restitution: float = 0.7,
    damping: float = 0.0,
    g: float = 9.81,
    angle: float = 1.0,
    velocity: float = 0.0,
) -> Scenario:
    """Return a point mass on a massless rod, m l^2 d(omega) = -(m g l sin(phi) + damping omega) dt + l dLambda.

    The stop keeps the angle above `stop_angle`; its gap is the arc length (phi - stop_angle) l. With
    restitution 1 and without damping the energy is kept.

    Parameters
    ----------
    mass, length : [kg], [m]
    stop_angle : angle at which the rod touches the stop [rad], zero hanging down
    restitution : coefficient eps_N in [0, 1]
    damping : viscous, in the bearing [N m s/rad]
    g : gravity [m/s^2]
    angle, velocity : initial angle [rad] and angular velocity [rad/s]

    Reference: free play with stops, [GS05] section 2.
    """
    parameters = {
        "mass": mass,
        "length": length,
        "stop_angle": stop_angle,
        "restitution": restitution,
        "damping": damping,
        "g": g,
    }
    require_positive(parameters, "mass", "length")
    return Scenario(
        system=_system(parameters),
        q0=np.array([angle]),
        u0=np.array([velocity]),
        dt=1e-3,
        t_end=10.0,
        title="Pendulum against a stop",
        source="free play with stops, [GS05] section 2",
        drawing=Drawing(_shapes, span=6.0),
    )


def _system(parameters: dict[str, float]) -> LagrangianSystem:
    phi, omega, mass, length, stop_angle, damping, g = sp.symbols("phi omega mass length stop_angle damping g")
    return LagrangianSystem.from_energies(
        [phi],
        velocities=[omega],
        kinetic=mass * (length * omega) ** 2 / 2,
        potential=mass * g * length * (1 - sp.cos(phi)),
        forces=[-damping * omega],
        contacts=[Stop("stop", length * phi, lower=length * stop_angle, restitution="restitution")],
        parameters=parameters,
        name="pendulum_against_stop",
        positive=("mass", "length"),
        units={
            "phi": "rad",
            "omega": "rad/s",
            "mass": "kg",
            "length": "m",
            "stop_angle": "rad",
            "damping": "N m s/rad",
            "g": "m/s^2",
        },
    )


def _shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    """The rod touches the block at 0.62 of its length; the angle between them, times the length, is the gap."""
    length = p["length"]
    thick, touch = 0.012 * length, 0.62 * length
    stop = Placement.rotation((0.0, 0.0), p["stop_angle"])
    pendulum = Placement.rotation((0.0, 0.0), q[0])
    block = (
        rectangle(-0.26 * length, -0.16 * length, -touch - 0.09 * length, -touch + 0.09 * length, "ground"),
        rectangle(-0.16 * length, -thick, -touch - 0.06 * length, -touch + 0.06 * length, "wood"),
        line((-thick, -touch - 0.06 * length), (-thick, -touch + 0.06 * length)),
    )
    rod = (
        rectangle(-thick, thick, -length, 0.0),
        Circle((0.0, -length), 0.075 * length),
        Circle((-0.025 * length, -0.975 * length), 0.015 * length, "body-light"),
    )
    return [
        rectangle(-0.14 * length, 0.14 * length, 0.0, 0.07 * length, "ground"),
        line((-0.14 * length, 0.0), (0.14 * length, 0.0)),
        line((0.0, 0.0), (0.0, -1.15 * length), "guide"),
        Group("stop", stop, block),
        Group("pendulum", pendulum, rod),
        Circle((0.0, 0.0), 0.02 * length, "joint"),
        Marker(0, pendulum((-thick, -touch)), pendulum.turn((1.0, 0.0))),
    ]
