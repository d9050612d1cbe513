"""Chaplygin's sleigh: a body on a plane that slides along its blade only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from stickslip.drawing.joint_shapes import bar
from stickslip.drawing.primitives import Circle, Drawing, Primitive, cos, sin
from stickslip.mechanisms.elements import Constraint
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario, require_positive

_POSITIVE = ("mass", "inertia", "offset")


def chaplygin_sleigh(
    *,
    mass: float = 1.0,
    inertia: float = 0.1,
    offset: float = 0.3,
    speed: float = -0.2,
    spin: float = 2.0,
) -> Scenario:
    """Return Chaplygin's sleigh, a body whose blade does not slip sideways: a velocity constraint.

    Three coordinates: position x, y of the blade [m] and angle phi [rad]. The centre of mass is `offset` ahead of the
    blade. The constraint is x' sin(phi) - y' cos(phi) = 0. The energy is kept, and yet the sleigh ends in a straight
    slide with its centre of mass ahead: with v along the blade and omega = phi',

        v' = a omega^2,    (I + m a^2) omega' = -m a v omega

    so that v = V tanh(k (t - t_1)), omega = V sqrt(m / (I + m a^2)) / cosh(k (t - t_1)), k = m a V / (I + m a^2).

    Parameters
    ----------
    mass : [kg]
    inertia : about the centre of mass [kg m^2]
    offset : a, distance of the centre of mass from the blade [m]
    speed : initial velocity of the blade along itself [m/s]
    spin : initial angular velocity [rad/s]

    Reference: Chaplygin 1911; Bloch, Nonholonomic Mechanics and Control, 1.7.
    """
    parameters = {"mass": mass, "inertia": inertia, "offset": offset}
    require_positive(parameters, *_POSITIVE)
    return Scenario(
        system=_system(parameters),
        q0=np.zeros(3),
        u0=np.array([speed, 0.0, spin]),
        dt=1e-3,
        t_end=8.0,
        title="Chaplygin's sleigh",
        source="Chaplygin 1911",
        drawing=Drawing(_shapes, view=(-5.8, 1.2, -1.0, 4.8), span=8.0),
    )


def _system(parameters: Mapping[str, float]) -> LagrangianSystem:
    x, y, phi, v_x, v_y, omega = sp.symbols("x y phi v_x v_y omega")
    m, inertia, a = sp.symbols("mass inertia offset")
    centre = (v_x - a * omega * sp.sin(phi), v_y + a * omega * sp.cos(phi))
    return LagrangianSystem.from_energies(
        [x, y, phi],
        velocities=[v_x, v_y, omega],
        kinetic=m * (centre[0] ** 2 + centre[1] ** 2) / 2 + inertia * omega**2 / 2,
        constraints=[Constraint("blade", velocity=v_x * sp.sin(phi) - v_y * sp.cos(phi))],
        parameters=parameters,
        name="chaplygin_sleigh",
        positive=_POSITIVE,
        units={
            **dict.fromkeys(["x", "y", "offset"], "m"),
            **dict.fromkeys(["v_x", "v_y"], "m/s"),
            "phi": "rad",
            "omega": "rad/s",
            "mass": "kg",
            "inertia": "kg m^2",
        },
    )


def _shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    x, y, phi = q
    a = p["offset"]
    nose = (x + 1.6 * a * cos(phi), y + 1.6 * a * sin(phi))
    tail = (x - 0.5 * a * cos(phi), y - 0.5 * a * sin(phi))
    edges = [(x - 0.3 * a * cos(phi), y - 0.3 * a * sin(phi)), (x + 0.3 * a * cos(phi), y + 0.3 * a * sin(phi))]
    return [
        bar("sleigh", tail, nose, length=2.1 * a, width=0.5 * a),
        bar("blade", edges[0], edges[1], length=0.6 * a, width=0.1 * a, style="accent"),
        Circle((x + a * cos(phi), y + a * sin(phi)), 0.12 * a, "joint"),
    ]
