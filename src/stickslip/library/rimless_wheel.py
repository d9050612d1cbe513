"""The rimless wheel: spokes without a rim roll down a slope, from one impact to the next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import sympy as sp

from stickslip.checks import whole_number
from stickslip.drawing.common import GROUND
from stickslip.drawing.primitives import Circle, Drawing, Group, Marker, Placement, Primitive, cos, line, sin
from stickslip.mechanisms.elements import Contact
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.mechanisms.reset import Reset
from stickslip.scenario import Scenario, require_positive


def rimless_wheel(
    *,
    spokes: int = 8,
    radius: float = 1.0,
    mass: float = 1.0,
    inertia: float = 0.25,
    slope: float = math.radians(12.0),
    g: float = 9.81,
    friction: float = 10.0,
    speed: float | None = None,
) -> Scenario:
    """Return a wheel of spokes without a rim that rolls down a slope, [M90] section 2.

    Hub at (x, y), x down the slope, y normal to it; the spokes stand at angles phi + 2 alpha k from the normal, with
    2 alpha = 2 pi / spokes.  Every spoke is a contact without restitution that sticks.  While the wheel turns about a
    tip, I omega' = m g R sin(phi - ...) with I = J + m R^2.  When the next spoke strikes, omega jumps by the factor

        eta = (J + m R^2 cos(2 alpha)) / (J + m R^2)

    and one step lowers the hub by 2 R sin(alpha) sin(slope).  So the cycle of one step has, right after the impact,

        omega^2 = eta^2 / (1 - eta^2)  4 m g R sin(alpha) sin(slope) / I,      multiplier eta^2

    as long as the wheel gets over the top, omega^2 > 2 m g R (1 - cos(alpha - slope)) / I, and is so slow that its tip
    stays on the ground.  `limit_cycle` finds it where the second spoke closes, with a reset that turns the wheel back
    by one spoke.

    Parameters
    ----------
    spokes : number, at least 4
    radius : length of the spokes R [m]
    mass, inertia : m [kg], and moment of inertia J about the hub [kg m^2]
    slope : [rad], less than alpha, or the wheel may roll on forever faster
    g : gravity [m/s^2]
    friction : coefficient; tips must not slip
    speed : angular velocity at the start, right after an impact [rad/s]; 1.2 times that of the cycle if not given

    Reference: [M90] T. McGeer, Passive dynamic walking, Int. J. Robotics Research 9(2), 1990, section 2.
    """
    whole_number(spokes, "spokes", 4)
    parameters = {
        "radius": radius, "mass": mass, "inertia": inertia, "slope": slope, "g": g, "friction": friction,
    }  # fmt: skip
    require_positive(parameters, "radius", "mass", "inertia", "g")
    alpha = math.pi / spokes
    whole = inertia + mass * radius**2
    eta = (inertia + mass * radius**2 * math.cos(2.0 * alpha)) / whole
    if speed is None:
        gained = 4.0 * mass * g * radius * math.sin(alpha) * abs(math.sin(slope)) / whole
        speed = 1.2 * math.sqrt(gained * eta**2 / (1.0 - eta**2))
    phi, height = -alpha, radius * math.cos(alpha)
    return Scenario(
        system=_system(spokes, parameters),
        q0=np.array([0.0, height, phi]),
        u0=np.array([height * speed, radius * math.sin(alpha) * speed, speed]),
        dt=1e-3,
        t_end=5.0,
        title=f"Rimless wheel with {spokes} spokes",
        source="[M90] section 2",
        drawing=Drawing(partial(_shapes, spokes), span=2.0),
        reset=Reset(section="impact:spoke 2", shift={"phi": -2 * sp.pi / spokes}),
    )


def _system(spokes: int, parameters: Mapping[str, float]) -> LagrangianSystem:
    x, y, phi, v_x, v_y, omega = sp.symbols("x y phi v_x v_y omega")
    radius, mass, inertia, slope, g = sp.symbols("radius mass inertia slope g")
    step = 2 * sp.pi / spokes
    return LagrangianSystem.from_energies(
        [x, y, phi],
        velocities=[v_x, v_y, omega],
        kinetic=(mass * (v_x**2 + v_y**2) + inertia * omega**2) / 2,
        potential=mass * g * (y * sp.cos(slope) - x * sp.sin(slope)),
        contacts=[
            Contact(
                f"spoke {k + 1}",
                gap=y - radius * sp.cos(phi - step * k),
                slip=x - radius * sp.sin(phi - step * k),
                friction="friction",
            )
            for k in range(spokes)
        ],
        parameters=dict(parameters),
        name="rimless_wheel",
        positive=("radius", "mass", "inertia"),
        units={
            **dict.fromkeys(["x", "y", "radius"], "m"),
            **dict.fromkeys(["v_x", "v_y"], "m/s"),
            **dict.fromkeys(["phi", "slope"], "rad"),
            "omega": "rad/s",
            "mass": "kg",
            "inertia": "kg m^2",
            "g": "m/s^2",
        },
    )


def _shapes(spokes: int, q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    """x leads down the slope, to the right."""
    R, step, normal = p["radius"], 2.0 * math.pi / spokes, (sin(p["slope"]), cos(p["slope"]))
    ramp = Placement.rotation((0.0, 0.0), -p["slope"])
    wheel = Placement.rotation(ramp((q[0], q[1])), -q[2] - p["slope"])
    tips = [(R * math.sin(step * k), -R * math.cos(step * k)) for k in range(spokes)]
    items: list[Primitive] = [line((0.0, 0.0), tip, "body-dark") for tip in tips]
    items += [line((0.0, 0.0), (0.0, -0.7 * R), "accent"), Circle((0.0, 0.0), 0.1 * R, "body")]
    marks = [Marker(k, wheel(tip), normal) for k, tip in enumerate(tips)]
    return [Group("slope", ramp, GROUND), Group("wheel", wheel, tuple(items)), *marks]
