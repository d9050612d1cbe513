"""A one-way clutch: a drive that swings to and fro turns a flywheel one way."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from stickslip.drawing.primitives import Circle, Drawing, Group, Marker, Placement, Primitive, line, rectangle, sin
from stickslip.mechanisms.elements import SpragClutch
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario, require_positive


def one_way_clutch(
    *, inertia: float = 0.02, damping: float = 0.05, amplitude: float = 0.6, frequency: float = 2.0
) -> Scenario:
    """Return a flywheel behind a sprag clutch on a shaft that swings, psi = amplitude sin(2 pi frequency t).

    The wheel is never slower than the shaft: phi' - psi' >= 0, Upr on velocity level.  While the clutch is engaged the
    wheel has the speed of the shaft.  It runs free from tan(omega t) = damping / (inertia omega) on, where the shaft
    slows down more than the damping does, with phi' falling by exp(-damping t / inertia).

    Parameters
    ----------
    inertia, damping : of the flywheel [kg m^2], [N m s/rad]
    amplitude, frequency : of the shaft's swing [rad], [Hz]

    Reference: sprag clutches, [GS05] section 2.
    """
    parameters = {"inertia": inertia, "damping": damping, "amplitude": amplitude, "frequency": frequency}
    require_positive(parameters, "inertia", "amplitude", "frequency")
    require_positive(parameters, "damping", allow_zero=True)
    return Scenario(
        system=_system(parameters),
        q0=np.zeros(1),
        u0=np.array([2.0 * math.pi * frequency * amplitude]),
        dt=1e-3,
        t_end=4.0 / frequency,
        title="One-way clutch between a swinging shaft and a flywheel",
        source="sprag clutches, [GS05] section 2",
        drawing=Drawing(_shapes, span=2.0 / frequency),
    )


def _system(parameters: Mapping[str, float]) -> LagrangianSystem:
    t, phi, omega, inertia, damping, amplitude, frequency = sp.symbols(
        "t phi omega inertia damping amplitude frequency"
    )
    shaft = amplitude * sp.sin(2 * sp.pi * frequency * t)
    return LagrangianSystem.from_energies(
        [phi],
        velocities=[omega],
        kinetic=inertia * omega**2 / 2,
        potential=0,
        forces=[-damping * omega],
        contacts=[SpragClutch("clutch", phi - shaft)],
        parameters=dict(parameters),
        name="one_way_clutch",
        positive=("inertia",),
        time=t,
        units={
            "phi": "rad",
            "omega": "rad/s",
            "inertia": "kg m^2",
            "damping": "N m s/rad",
            "amplitude": "rad",
            "frequency": "Hz",
        },
    )


def _shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    """The wheel with a mark, and the shaft with a crank in front of it."""
    shaft = Placement.rotation((0.0, 0.0), p["amplitude"] * sin(2.0 * math.pi * p["frequency"] * t))
    wheel = Placement.rotation((0.0, 0.0), q[0])
    rim = (
        Circle((0.0, 0.0), 1.0, "body"),
        Circle((0.0, 0.0), 0.8, "body-light"),
        *(line((0.0, 0.0), (0.82 * math.cos(a), 0.82 * math.sin(a)), "body-dark") for a in (0.0, 2.094, 4.189)),
        Circle((0.9, 0.0), 0.05, "accent"),
        Circle((0.0, 0.0), 0.3, "body"),
    )
    crank = (
        Circle((0.0, 0.0), 0.2, "body-dark"),
        rectangle(-0.06, 0.06, 0.0, 0.62, "accent"),
        Circle((0.0, 0.0), 0.05, "joint"),
    )
    return [Group("wheel", wheel, rim), Group("shaft", shaft, crank), Marker(0, wheel((0.25, 0.0)))]
