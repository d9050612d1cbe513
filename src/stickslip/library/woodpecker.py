"""The woodpecker toy: a bird on a spring and a sleeve that jams, slips and hammers its way down a pole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp

from stickslip.drawing.primitives import (
    Circle,
    Drawing,
    Group,
    Marker,
    Placement,
    Point,
    Polygon,
    Polyline,
    Primitive,
    Ruler,
    Spring,
    line,
    rectangle,
    smooth,
)
from stickslip.mechanisms.elements import Contact
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario


def woodpecker(
    *,
    r_O: float = 0.0025,
    r_M: float = 0.0031,
    h_M: float = 0.0058,
    l_M: float = 0.010,
    l_G: float = 0.015,
    h_S: float = 0.02,
    l_S: float = 0.0201,
    m_M: float = 0.0003,
    m_S: float = 0.0045,
    J_M: float = 5.0e-9,
    J_S: float = 7.0e-7,
    c_phi: float = 0.0056,
    g: float = 9.81,
    friction: float = 0.3,
    restitution_normal: float = 0.5,
    restitution_sleeve: float = 0.0,
    restitution_tangential: float = 0.0,
) -> Scenario:
    """Return the woodpecker toy with the parameters and the initial state of [GS05] Table I.

    Three degrees of freedom, linearised kinematics [GS05] eqs. (13)-(16): height y of the sleeve [m], angles
    phi_M of the sleeve and phi_S of the woodpecker [rad]. Contacts: the beak, the lower and the upper edge of
    the sleeve.

    Parameters
    ----------
    r_O, r_M : radius of the pole, inner radius of the sleeve [m]
    h_M : half the height of the sleeve [m]
    l_M, l_G : distances M-G (sleeve to spring) and G-S (spring to woodpecker) [m]
    h_S, l_S : distance S-P, length of the beak [m]
    m_M, m_S, J_M, J_S : masses [kg] and moments of inertia [kg m^2] of sleeve and woodpecker
    c_phi : stiffness of the spring [N m/rad]
    g : gravity [m/s^2]
    friction : coefficient of all three contacts
    restitution_normal, restitution_sleeve : normal restitution of the beak, and of the sleeve's edges
    restitution_tangential : tangential restitution of all three contacts

    Reference: [GS05] section 4.
    """
    parameters = dict(locals())
    return Scenario(
        system=_system(parameters),
        q0=np.array([0.0, -0.1036, -0.2788]),
        u0=np.array([-0.3411, 0.0, -7.4583]),
        dt=1e-4,
        t_end=2.0,
        title="Woodpecker toy hammering down a pole",
        source="[GS05] section 4, Table I",
        drawing=Drawing(_shapes, view=(-0.014, 0.050, -0.041, 0.037), follow="y", span=0.5),
    )


def _system(parameters: dict[str, float]) -> LagrangianSystem:
    y, phi_M, phi_S = sp.symbols("y phi_M phi_S")
    v, omega_M, omega_S = sp.symbols("v omega_M omega_S")
    r_O, r_M, h_M, l_M, l_G, h_S, l_S = sp.symbols("r_O r_M h_M l_M l_G h_S l_S")
    m_M, m_S, J_M, J_S, c_phi, g = sp.symbols("m_M m_S J_M J_S c_phi g")
    laws: dict[str, Any] = {"friction": "friction", "restitution_tangential": "restitution_tangential"}

    v_S = v + l_M * omega_M + l_G * omega_S
    return LagrangianSystem.from_energies(
        [y, phi_M, phi_S],
        velocities=[v, omega_M, omega_S],
        kinetic=(m_M * v**2 + J_M * omega_M**2 + m_S * v_S**2 + J_S * omega_S**2) / 2,
        potential=m_M * g * y + m_S * g * (y + l_M * phi_M + l_G * phi_S) + c_phi * (phi_M - phi_S) ** 2 / 2,
        contacts=[  # [GS05] eqs. (15), (16)
            Contact(
                "beak",
                gap=(l_M + l_G - l_S - r_O) - h_S * phi_S,
                tangent=[1, l_M, l_G - l_S],
                restitution_normal="restitution_normal",
                **laws,
            ),
            Contact(
                "sleeve lower",
                gap=(r_M - r_O) + h_M * phi_M,
                tangent=[1, r_M, 0],
                restitution_normal="restitution_sleeve",
                **laws,
            ),
            Contact(
                "sleeve upper",
                gap=(r_M - r_O) - h_M * phi_M,
                tangent=[1, r_M, 0],
                restitution_normal="restitution_sleeve",
                **laws,
            ),
        ],
        parameters=parameters,
        name="woodpecker",
        units={
            **dict.fromkeys(["y", "r_O", "r_M", "h_M", "l_M", "l_G", "h_S", "l_S"], "m"),
            **dict.fromkeys(["phi_M", "phi_S"], "rad"),
            **dict.fromkeys(["omega_M", "omega_S"], "rad/s"),
            **dict.fromkeys(["m_M", "m_S"], "kg"),
            **dict.fromkeys(["J_M", "J_S"], "kg m^2"),
            "v": "m/s",
            "c_phi": "N m/rad",
            "g": "m/s^2",
        },
    )


# -- drawing -------------------------------------------------------------------------------------------------
# [GS05] Figure 3: the pole stands on x = 0, the bird to its right. M is the sleeve's centre, G = M + (l_M, 0) the
# spring, S = G + (l_G, 0) the bird's centre of mass, P = S + (0, h_S), and the beak reaches from P to P - (l_S, 0).
# Placements are linearised as the gaps are, so that a mark touches the pole exactly when its gap closes.


def _shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    y, phi_M, phi_S = q
    sleeve = Placement.linearised((0.0, y), phi_M)
    G = sleeve((p["l_M"], 0.0))
    bird = Placement.linearised(G, phi_S)
    wall = 0.45 * p["r_M"]
    outer, belly = p["r_M"] + wall, 0.58 * p["l_G"]
    return [
        *_pole(y, p["r_O"]),
        Spring(sleeve((outer, 0.0)), bird((belly, 0.0)), width=0.36 * p["l_M"], coils=7, via=G),
        Group("sleeve", sleeve, _sleeve(p, outer)),
        Group("bird", bird, _bird(p["l_G"], p["l_S"], p["h_S"])),
        Marker(0, bird((p["l_G"] - p["l_S"], p["h_S"])), (1.0, 0.0)),
        Marker(1, sleeve((p["r_M"], -p["h_M"])), (1.0, 0.0)),
        Marker(2, sleeve((p["r_M"], p["h_M"])), (1.0, 0.0)),
    ]


def _pole(y: float, r_O: float) -> list[Primitive]:
    """The pole around height y, with a scale in millimetres on its far side."""
    half = 0.1
    return [
        rectangle(-r_O, r_O, y - 2 * half, y + 2 * half, "wood"),
        line((-r_O, y - 2 * half), (-r_O, y + 2 * half)),
        line((r_O, y - 2 * half), (r_O, y + 2 * half)),
        Ruler(-0.0040, y - half, y + half, tick=0.005, factor=1000.0),
    ]


def _sleeve(p: Mapping[str, float], outer: float) -> tuple[Primitive, ...]:
    """The sleeve, cut open: two walls, of which the right one touches the pole with its edges."""
    r_M, h_M = p["r_M"], p["h_M"]
    return (
        line((-r_M, h_M), (r_M, h_M), "guide"),
        line((-r_M, -h_M), (r_M, -h_M), "guide"),
        rectangle(-outer, -r_M, -h_M, h_M),
        rectangle(r_M, outer, -h_M, h_M),
    )


_BIRD = {  # outlines in millimetres around G for Table I, where S = (15, 0), P = (15, 20), the tip (-5.1, 20)
    "tail": "19.5 -11, 18.6 -27.5, 16.8 -26.2, 15.6 -28.4, 14.2 -25.6, 13.6 -11",
    "body": "6.9 21.5, 8.6 25.2, 13 27.3, 18 25.6, 20 20.5, 22.6 13.5, 25.3 4, 24.4 -6.5, 20.5 -14, 15.5 -14.5,"
    "10.8 -10.5, 7.8 -3.5, 7.4 5, 9.4 12, 8.4 16.5",
    "belly": "8.8 11.6, 10.4 13.4, 13 10.5, 14.6 3, 14.4 -5, 14.4 -11.4, 11.2 -9.2, 8.7 -3.2, 8.2 4.8",
    "vent": "14.4 -8, 18.8 -13.3, 15.6 -13.7, 12.2 -11.2",
    "wing": "16.6 11.5, 19.8 11.8, 23 7.5, 24.6 0, 22.6 -9.5, 18.4 -17.5, 16.6 -10, 15.4 1",
    "bar 1": "17.4 6.5, 20.4 7.4, 22.4 6.6",
    "bar 2": "16.8 1.5, 20.2 2.4, 23 1.4",
    "bar 3": "17 -3.6, 20.2 -2.8, 22.6 -3.8",
    "bar 4": "17.6 -8.6, 19.8 -8, 21.4 -8.8",
    "cheek": "8 18, 9.2 20.4, 13.6 20.6, 17.6 17.6, 16 15.4, 11.4 15.6",
    "cap": "8.2 25, 11.6 28.3, 16.6 29.4, 22.6 27.4, 20.2 24, 16.4 23.4, 11.4 24",
    "beak": "8.5 22.6, 8.5 18.2",
    "eye": "12 22.2, 11.7 22.2",
}


@lru_cache(maxsize=8)
def _bird(l_G: float, l_S: float, h_S: float) -> tuple[Primitive, ...]:
    """A woodpecker around G, stretched to the given lengths."""

    def points(part: str) -> tuple[Point, ...]:
        pairs = (pair.split() for pair in _BIRD[part].split(","))
        return tuple((l_G + (float(x) - 15.0) * l_S / 20.1, float(y) * h_S / 20.0) for x, y in pairs)

    size, tip = 0.5 * (l_S / 20.1 + h_S / 20.0), (l_G - l_S, h_S)
    white, pupil = points("eye")
    return (
        Polygon(points("tail"), "body-dark"),
        Polygon((tip, *points("beak")), "body-dark"),
        smooth(points("body"), "body"),
        smooth(points("belly"), "body-light"),
        smooth(points("vent"), "accent"),
        smooth(points("wing"), "body-dark"),
        *(Polyline(points(f"bar {k}"), "body-light") for k in (1, 2, 3, 4)),
        smooth(points("cheek"), "body-light"),
        smooth(points("cap"), "accent"),
        Circle(white, 1.6 * size, "body-light"),
        Circle(pupil, 0.9 * size, "body-dark"),
    )
