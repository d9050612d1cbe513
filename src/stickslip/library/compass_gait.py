"""The compass gait: two stiff legs that walk down a slope by themselves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from stickslip.drawing.common import GROUND
from stickslip.drawing.primitives import Circle, Drawing, Group, Marker, Placement, Primitive, cos, line, sin
from stickslip.mechanisms.elements import Contact
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.mechanisms.reset import Reset
from stickslip.scenario import Scenario, require_positive

_STARTS = {  # right after a step of the cycle of [GTE98], in powers 1, 3, 5 of (slope / 3 degrees)^(1/3)
    "angle": (0.26827841, 0.00289173, -0.00012786),
    "stance": (-1.39476004, 0.33034251, -0.02805599),
    "swing": (-1.39722628, 1.15459130, -0.13478484),
}


def compass_gait(
    *,
    a: float = 0.5,
    b: float = 0.5,
    m: float = 5.0,
    m_H: float = 10.0,
    slope: float = math.radians(3.0),
    g: float = 9.81,
    friction: float = 2.0,
    ahead: float = 0.2,
    angle: float | None = None,
    stance_velocity: float | None = None,
    swing_velocity: float | None = None,
    torque: float | None = None,
) -> Scenario:
    """Return the passive compass walker of [GTE98]: a hip, two stiff legs with point feet, no motor and no knee.

    Hip at (x, y), x down the slope, y normal to it; legs at angles theta_1 and theta_2 from the normal, positive with
    the foot in front.  A foot strikes without restitution and sticks; then the other one is free to swing.  Stiff legs
    of one length scuff in the middle of a step.  As in [GTE98] this is left out of account: a foot that has lifted off
    passes the ground, and touches it again only when it is `ahead` of the other one (`Contact(closes_when=...)`).

    The library's limit cycle is one step: at the section foot 2 strikes, and a reset swaps the legs.  At 3 degrees a
    step takes 0.734346391 s and is 0.535445415 m long; the period doubles near 4.4 degrees, and again and again.

    Parameters
    ----------
    a, b : from the foot to the mass of a leg, and from there to the hip [m]
    m, m_H : masses of a leg and of the hip [kg]
    slope : [rad]
    g : gravity [m/s^2]
    friction : coefficient; feet must not slip
    ahead : distance by which a swinging foot must be in front before it may touch the ground [m]
    angle : of the front leg at the start, right after a step; the other one is behind by as much [rad]
    stance_velocity, swing_velocity : angular velocities of the front and of the other leg at the start [rad/s]; these
        three are near the cycle if not given
    torque : at the hip, on leg 1 and its opposite on leg 2 [N m]; the passive walker has none, and no such parameter

    Reference: [GTE98] A. Goswami, B. Thuilot and B. Espiau, A study of the passive gait of a compass-like biped robot,
    Int. J. Robotics Research 17(12), 1998.
    """
    parameters = {
        "a": a, "b": b, "m": m, "m_H": m_H, "slope": slope, "g": g, "friction": friction, "ahead": ahead,
    }  # fmt: skip
    if torque is not None:
        parameters["torque"] = torque
    require_positive(parameters, "a", "b", "m", "m_H", "g", "ahead")
    length = a + b
    large = (abs(slope) / math.radians(3.0)) ** (1.0 / 3.0)  # steps of passive walkers grow with the slope like this
    start = {
        key: sum(c * large**power for c, power in zip(row, (1, 3, 5), strict=True)) for key, row in _STARTS.items()
    }
    pace = math.sqrt(g / 9.81 / length)
    theta = start["angle"] if angle is None else float(angle)
    omega_1 = pace * start["stance"] if stance_velocity is None else float(stance_velocity)
    omega_2 = pace * start["swing"] if swing_velocity is None else float(swing_velocity)
    x, y = -length * math.sin(theta), length * math.cos(theta)
    return Scenario(
        system=_system(parameters),
        q0=np.array([x, y, theta, -theta]),
        u0=np.array([-length * math.cos(theta) * omega_1, -length * math.sin(theta) * omega_1, omega_1, omega_2]),
        dt=1e-3,
        t_end=5.0,
        title="Compass gait down a slope",
        source="[GTE98]",
        drawing=Drawing(_shapes, span=3.0),
        reset=Reset(section="impact:foot 2", swap=[("theta_1", "theta_2")]),
    )


def _system(parameters: Mapping[str, float]) -> LagrangianSystem:
    x, y, v_x, v_y = sp.symbols("x y v_x v_y")
    theta, omega = sp.symbols("theta_1:3"), sp.symbols("omega_1:3")
    a, b, m, m_H, slope, g, ahead = sp.symbols("a b m m_H slope g ahead")
    length = a + b

    kinetic = m_H * (v_x**2 + v_y**2) / 2
    potential = m_H * g * (y * sp.cos(slope) - x * sp.sin(slope))
    for angle, turn in zip(theta, omega, strict=True):
        velocity = v_x + b * sp.cos(angle) * turn, v_y + b * sp.sin(angle) * turn
        place = x + b * sp.sin(angle), y - b * sp.cos(angle)
        kinetic += m * (velocity[0] ** 2 + velocity[1] ** 2) / 2
        potential += m * g * (place[1] * sp.cos(slope) - place[0] * sp.sin(slope))
    return LagrangianSystem.from_energies(
        [x, y, *theta],
        velocities=[v_x, v_y, *omega],
        kinetic=kinetic,
        potential=potential,
        forces={theta[0]: sp.Symbol("torque"), theta[1]: -sp.Symbol("torque")} if "torque" in parameters else None,
        contacts=[
            Contact(
                f"foot {k + 1}",
                gap=y - length * sp.cos(theta[k]),
                slip=x + length * sp.sin(theta[k]),
                friction="friction",
                closes_when=length * (sp.sin(theta[k]) - sp.sin(theta[1 - k])) - ahead,
            )
            for k in range(2)
        ],
        parameters=dict(parameters),
        name="compass_gait",
        positive=("a", "b", "m", "m_H", "ahead"),
        units={
            **dict.fromkeys(["x", "y", "a", "b", "ahead"], "m"),
            **dict.fromkeys(["v_x", "v_y"], "m/s"),
            **dict.fromkeys(["theta_1", "theta_2", "slope"], "rad"),
            **dict.fromkeys(["omega_1", "omega_2"], "rad/s"),
            **dict.fromkeys(["m", "m_H"], "kg"),
            "g": "m/s^2",
            **({"torque": "N m"} if "torque" in parameters else {}),
        },
    )


def _shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    """x leads down the slope, to the right."""
    ramp = Placement.rotation((0.0, 0.0), -p["slope"])
    hip, length = ramp((q[0], q[1])), p["a"] + p["b"]
    normal = (sin(p["slope"]), cos(p["slope"]))
    shapes: list[Primitive] = [Group("slope", ramp, GROUND)]
    for k, style in enumerate(("body-dark", "accent")):
        leg = Placement.rotation(hip, q[2 + k] - p["slope"])
        items = line((0.0, 0.0), (0.0, -length), style), Circle((0.0, -p["b"]), 0.04 * length, style)
        shapes += [Group(f"leg {k + 1}", leg, items), Marker(k, leg((0.0, -length)), normal)]
    return [*shapes, Circle(hip, 0.07 * length, "body")]
