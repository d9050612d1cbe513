"""Gear rattle: a loose gear hammers between the flanks of a driven one (an impact pair)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from stickslip.drawing.primitives import (
    Box,
    Drawing,
    Group,
    Marker,
    Placement,
    Point,
    Polygon,
    Primitive,
    Text,
    line,
    sin,
)
from stickslip.mechanisms.elements import Stop
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario, require_positive

_POSITIVE = ("inertia", "radius", "backlash")


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

    On the line of action the loose gear runs ahead of its mate by s = radius (phi - e(t)). The flanks allow
    |s| <= backlash / 2: two rheonomic contacts. Between impacts only a viscous drag acts on the gear.

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
    require_positive(parameters, *_POSITIVE)
    return Scenario(
        system=_system(parameters),
        q0=np.array([0.0]),
        u0=np.array([0.0]),
        dt=1e-5,
        t_end=1.0,
        title="Gear rattle: a loose gear between two flanks",
        source="free play with stops, [GS05] section 2",
        drawing=Drawing(_shapes, view=_view(backlash), span=0.2),
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
        positive=_POSITIVE,
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


def _view(backlash: float) -> Box:
    return -11.0 * backlash, 11.0 * backlash, -6.5 * backlash, 6.5 * backlash


def _shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    """The mesh under a magnifying glass: gears look like racks, and the play on the line of action is to scale."""
    radius, play = p["radius"], p["backlash"]
    mate = radius * p["amplitude"] * sin(2 * math.pi * p["frequency"] * t)
    pitch = 8.0 * play
    half = 0.25 * (pitch - play)  # half a tooth on the line of action; the gap between two teeth is 2 half + play
    loose = (
        Polygon(_rack(pitch, half, -1.0), "body"),
        Marker(0, (-half, 0.0), (1.0, 0.0)),
        Marker(1, (half, 0.0), (-1.0, 0.0)),
    )
    return [
        Group("driven gear", Placement((mate + 0.5 * pitch, 0.0)), (Polygon(_rack(pitch, half, 1.0), "wood"),)),
        Group("loose gear", Placement((radius * q[0], 0.0)), loose),
        line((-20.0 * play, 0.0), (20.0 * play, 0.0), "guide"),
        Text((0.0, 5.2 * play), "loose gear", style="body-light"),
        Text((0.0, -5.2 * play), "driven gear"),
    ]


def _rack(pitch: float, half: float, sign: float) -> tuple[Point, ...]:
    """Outline of teeth that point up (sign 1) or down (sign -1), 2 `half` wide on the line of action."""
    foot, head, slope = 0.25 * pitch, 0.21 * pitch, 0.3
    outline: list[Point] = []
    for k in range(-6, 7):
        outline += [
            (k * pitch - half - slope * foot, -sign * foot),
            (k * pitch - half + slope * head, sign * head),
            (k * pitch + half - slope * head, sign * head),
            (k * pitch + half + slope * foot, -sign * foot),
        ]
    back = -sign * 2.0 * pitch
    return (*outline, (outline[-1][0], back), (outline[0][0], back))
