"""Gear rattle: a loose gear hammers between the flanks of a driven one (an impact pair)."""

from __future__ import annotations

import numpy as np
import sympy as sp

from stickslip.library.scenario import Scenario
from stickslip.model.elements import Stop
from stickslip.model.lagrangian import LagrangianSystem


def gear_rattle(
    *,
    inertia: float = 1e-3,
    radius: float = 0.05,
    backlash: float = 2e-4,
    amplitude: float = 0.01,
    frequency: float = 25.0,
    drag: float = 5e-3,
    restitution: float = 0.7,
) -> Scenario:
    """Return a loose gear whose mate turns with e(t) = amplitude sin(2 pi frequency t).

    On the line of action the loose gear runs ahead of its mate by s = radius (phi - e(t)); the flanks allow
    |s| <= backlash / 2, two rheonomic contacts. Between impacts only a viscous drag acts on the gear.

    Parameters
    ----------
    inertia : of the loose gear [kg m^2]
    radius : of the base circle [m]
    backlash : whole play on the line of action [m]
    amplitude, frequency : of the driven gear's angle [rad], [Hz]
    drag : viscous drag [N m s/rad]
    restitution : coefficient eps_N of the flanks in [0, 1]

    Reference: free play with stops, [GS05] section 2.
    """
    parameters = dict(locals())
    return Scenario(
        system=_system(parameters),
        q0=np.array([0.0]),
        u0=np.array([0.0]),
        dt=1e-5,
        t_end=1.0,
        title="Gear rattle: a loose gear between two flanks",
        source="free play with stops, [GS05] section 2",
    )


def _system(parameters: dict[str, float]) -> LagrangianSystem:
    t, phi, omega = sp.symbols("t phi omega")
    inertia, radius, backlash = sp.symbols("inertia radius backlash")
    amplitude, frequency, drag = sp.symbols("amplitude frequency drag")
    lead = radius * (phi - amplitude * sp.sin(2 * sp.pi * frequency * t))
    return LagrangianSystem.from_energies(
        [phi],
        velocities=[omega],
        kinetic=inertia * omega**2 / 2,
        forces=[-drag * omega],
        contacts=[Stop("flank", lead, lower=-backlash / 2, upper=backlash / 2, restitution="restitution")],
        parameters=parameters,
        name="gear_rattle",
        units={
            "phi": "rad",
            "omega": "rad/s",
            "inertia": "kg m^2",
            "radius": "m",
            "backlash": "m",
            "amplitude": "rad",
            "frequency": "Hz",
            "drag": "N m s/rad",
        },
    )
