"""The impact oscillator: a mass on a spring, driven, that strikes a stop."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from stickslip.drawing.common import GROUND
from stickslip.drawing.primitives import Drawing, Group, Marker, Placement, Primitive, Spring, largest, rectangle
from stickslip.mechanisms.elements import Contact
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario, require_positive


def impact_oscillator(
    *,
    mass: float = 1.0,
    stiffness: float = 1.0,
    damping: float = 0.1,
    force: float = 2.0,
    frequency: float = 1.7 / (2 * math.pi),
    clearance: float = 0.5,
    restitution: float = 0.8,
    position: float = 1.0,
    velocity: float = 0.0,
) -> Scenario:
    """Return m dv = (-k x - c v + force cos(2 pi frequency t)) dt + dLambda with a stop at x = -clearance.

    Without impacts the steady amplitude is force / sqrt((k - m w^2)^2 + (c w)^2), with w = 2 pi frequency.  So the
    motion grazes the stop at force = clearance sqrt((k - m w^2)^2 + (c w)^2).  At this force the map from section to
    section has the singularity of a square root.

    Parameters
    ----------
    mass, stiffness, damping : [kg], [N/m], [N s/m]
    force, frequency : of the drive [N], [Hz]
    clearance : distance of the stop from the place where the spring is relaxed [m]
    restitution : coefficient eps_N of the stop in [0, 1]
    position, velocity : initial position [m] and velocity [m/s]

    Reference: free play with stops, [GS05] section 2; grazing: Nordmark, J. Sound Vib. 145 (1991).
    """
    parameters = {
        "mass": mass,
        "stiffness": stiffness,
        "damping": damping,
        "force": force,
        "frequency": frequency,
        "clearance": clearance,
        "restitution": restitution,
    }
    require_positive(parameters, "mass", "frequency")
    return Scenario(
        system=_system(parameters),
        q0=np.array([position]),
        u0=np.array([velocity]),
        dt=1e-3,
        t_end=10.0,
        title="Driven oscillator against a stop",
        source="free play with stops, [GS05] section 2; Nordmark 1991",
        drawing=Drawing(_shapes, span=8.0),
    )


def _system(parameters: dict[str, float]) -> LagrangianSystem:
    t, x, v, mass, stiffness, damping = sp.symbols("t x v mass stiffness damping")
    force, frequency, clearance = sp.symbols("force frequency clearance")
    return LagrangianSystem.from_energies(
        [x],
        velocities=[v],
        kinetic=mass * v**2 / 2,
        potential=stiffness * x**2 / 2,
        forces=[force * sp.cos(2 * sp.pi * frequency * t) - damping * v],
        contacts=[Contact("stop", gap=x + clearance, restitution_normal="restitution")],
        parameters=parameters,
        name="impact_oscillator",
        units={
            **dict.fromkeys(["x", "clearance"], "m"),
            "v": "m/s",
            "mass": "kg",
            "stiffness": "N/m",
            "damping": "N s/m",
            "force": "N",
            "frequency": "Hz",
        },
    )


def _shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    """The block touches the stop with its left face; the spring ends at a wall on the right."""
    size = largest(0.3, 0.6 * p["clearance"])
    wall = 12.0 * p["clearance"] + 4.0 * size
    block = (rectangle(0.0, size, 0.0, size), Marker(0, (0.0, 0.5 * size), (1.0, 0.0)))
    return [
        *GROUND,
        rectangle(-p["clearance"] - 0.3 * size, -p["clearance"], 0.0, 1.4 * size, "wood"),
        rectangle(wall, wall + 0.3 * size, 0.0, 1.4 * size, "wood"),
        Spring((q[0] + size, 0.5 * size), (wall, 0.5 * size), width=0.35 * size, coils=9),
        Group("block", Placement((q[0], 0.0)), block),
    ]
