"""A four-bar linkage with play in the joint between coupler and rocker."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp

from stickslip.checks import Array
from stickslip.drawing.joint_shapes import bar, bearing, magnification, pin_in_bushing
from stickslip.drawing.primitives import Circle, Drawing, Point, Primitive, Text, cos, sin
from stickslip.mechanisms.joints import Link, RevoluteClearanceJoint, link_energies
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario, require_positive

_POSITIVE = ("l_0", "l_1", "l_2", "l_3", "m_2", "m_3", "J_2", "J_3", "clearance")


def four_bar(
    *,
    l_0: float = 0.30,
    l_1: float = 0.10,
    l_2: float = 0.30,
    l_3: float = 0.25,
    m_2: float = 0.30,
    m_3: float = 0.25,
    J_2: float = 2.25e-3,
    J_3: float = 1.3e-3,
    clearance: float = 0.0005,
    pin_radius: float = 0.01,
    g: float = 9.81,
    friction: float = 0.05,
    restitution_normal: float = 0.5,
    restitution_tangential: float = 0.0,
    crank_speed: float = 30.0,
) -> Scenario:
    """Return a crank-rocker whose coupler ends in a pin with play in a bushing of the rocker.

    A motor turns the crank with constant speed, theta_1 = crank_speed t. Two degrees of freedom: the angles theta_2 of
    the coupler and theta_3 of the rocker [rad], both against the line of the ground. One contact, of the pin with the
    bushing. At the start the pin is centred, and angles and velocities are those of the linkage without play.

    Parameters
    ----------
    l_0, l_1, l_2, l_3 : distance of the bearings, lengths of crank, coupler and rocker [m]
    m_2, m_3 : masses of coupler and rocker [kg], centres of mass in the middle
    J_2, J_3 : their moments of inertia about these [kg m^2]
    clearance : the bushing's radius less the pin's [m]
    pin_radius : [m]
    g : gravity [m/s^2]
    friction, restitution_normal, restitution_tangential : of pin and bushing
    crank_speed : angular velocity of the crank [rad/s]

    Reference: built from the elements of `stickslip.mechanisms.joints`.
    """
    parameters = dict(locals())
    require_positive(parameters, *_POSITIVE)
    require_positive(parameters, "pin_radius", allow_zero=True)
    shortest, longest = min(l_0, l_1, l_2, l_3), max(l_0, l_1, l_2, l_3)
    if l_1 > shortest or shortest + longest >= 0.5 * (l_0 + l_1 + l_2 + l_3):
        raise ValueError(
            "the crank l_1 must be the shortest link, and shorter with the longest than the other two together, so "
            f"that it can turn (Grashof), got l_0..l_3 = {l_0:g}, {l_1:g}, {l_2:g}, {l_3:g} m."
        )
    q0 = np.array(assembled(0.0, parameters))
    crank = 1.15 * max(l_1, pin_radius)
    return Scenario(
        system=_system(parameters),
        q0=q0,
        u0=_rates(0.0, q0, parameters),
        dt=1e-5,
        t_end=0.84,
        title="Four-bar linkage with play in a hinge",
        source="elements of stickslip.mechanisms.joints",
        drawing=Drawing(_shapes, view=(-1.25 * crank, l_0 + 0.75 * l_3, -crank, 1.15 * max(l_2, l_3)), span=0.42),
    )


def assembled(theta_1: float, p: Mapping[str, float]) -> tuple[float, float]:
    """Angles theta_2 of the coupler and theta_3 of the rocker [rad] in the linkage without play, elbow up.

    theta_1 : angle of the crank [rad]
    p : values of the parameters l_0, l_1, l_2, l_3 [m]
    """
    x, y = p["l_0"] - p["l_1"] * math.cos(theta_1), -p["l_1"] * math.sin(theta_1)
    diagonal = math.hypot(x, y)
    at_crank = math.acos((p["l_2"] ** 2 + diagonal**2 - p["l_3"] ** 2) / (2 * p["l_2"] * diagonal))
    theta_2 = math.atan2(y, x) + at_crank
    pin_x, pin_y = p["l_2"] * math.cos(theta_2) - x, p["l_2"] * math.sin(theta_2) - y
    return theta_2, math.atan2(pin_y, pin_x)


def _rates(theta_1: float, q: Array, p: Mapping[str, float]) -> Array:
    """Angular velocities of coupler and rocker in the linkage without play [rad/s].

    They solve l_1 omega_1 e_1 + l_2 omega_2 e_2 = l_3 omega_3 e_3, with e_i the unit vector across link i.
    """

    def across(angle: float) -> Array:
        return np.array([-math.sin(angle), math.cos(angle)])

    columns = np.column_stack([p["l_2"] * across(q[0]), -p["l_3"] * across(q[1])])
    return np.asarray(np.linalg.solve(columns, -p["l_1"] * p["crank_speed"] * across(theta_1)), dtype=float)


def _system(parameters: Mapping[str, float]) -> LagrangianSystem:
    theta_2, theta_3, omega_2, omega_3, t = sp.symbols("theta_2 theta_3 omega_2 omega_3 t")
    l_0, l_1, l_2, l_3, m_2, m_3, J_2, J_3 = sp.symbols("l_0:4 m_2:4 J_2:4")
    clearance, pin_radius, g, crank_speed = sp.symbols("clearance pin_radius g crank_speed")
    laws: dict[str, Any] = {law: sp.Symbol(law) for law in ("friction", "restitution_normal", "restitution_tangential")}
    q, u = [theta_2, theta_3], [omega_2, omega_3]

    crank = Link.hinged("crank", (0, 0), crank_speed * t, arm=l_1 / 2)
    coupler = Link.hinged("coupler", crank.point(l_1 / 2), theta_2, arm=l_2 / 2, mass=m_2, inertia=J_2)
    rocker = Link.hinged("rocker", (l_0, 0), theta_3, arm=l_3 / 2, mass=m_3, inertia=J_3)
    kinetic, potential = link_energies([coupler, rocker], q, u, gravity=g, time=t)
    hinge = RevoluteClearanceJoint(
        "hinge", (coupler, l_2 / 2, 0), (rocker, l_3 / 2, 0), clearance=clearance, pin_radius=pin_radius, **laws
    )
    return LagrangianSystem.from_energies(
        q,
        velocities=u,
        kinetic=kinetic,
        potential=potential,
        contacts=[hinge],
        parameters=parameters,
        name="four_bar",
        positive=_POSITIVE,
        units={
            **dict.fromkeys(["l_0", "l_1", "l_2", "l_3", "clearance", "pin_radius"], "m"),
            **dict.fromkeys(["m_2", "m_3"], "kg"),
            **dict.fromkeys(["J_2", "J_3"], "kg m^2"),
            **dict.fromkeys(["theta_2", "theta_3"], "rad"),
            **dict.fromkeys(["omega_2", "omega_3", "crank_speed"], "rad/s"),
            "g": "m/s^2",
        },
    )


def pin_and_bushing(q: Sequence[float], t: float, p: Mapping[str, float]) -> tuple[Point, Point, Point]:
    """The crank's end, the pin on the coupler, and the bushing on the rocker [m]."""
    angle = p["crank_speed"] * t
    end = (p["l_1"] * cos(angle), p["l_1"] * sin(angle))
    pin = (end[0] + p["l_2"] * cos(q[0]), end[1] + p["l_2"] * sin(q[0]))
    bushing = (p["l_0"] + p["l_3"] * cos(q[1]), p["l_3"] * sin(q[1]))
    return end, pin, bushing


# -- drawing -------------------------------------------------------------------------------------------------


def _shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    end, pin, bushing = pin_and_bushing(q, t, p)
    R, c, ground = p["pin_radius"], p["clearance"], (p["l_0"], 0.0)
    magnify = magnification(c, 2.0 * R)
    shown = (bushing[0] + magnify * (pin[0] - bushing[0]), bushing[1] + magnify * (pin[1] - bushing[1]))
    note = f"play drawn {magnify:.3g} ×" if magnify > 1.0 else ""
    return [
        *bearing((0.0, 0.0), R),
        *bearing(ground, R),
        bar("rocker", ground, bushing, length=p["l_3"], width=1.2 * R),
        *pin_in_bushing(bushing, pin, pin_radius=R, clearance=c, magnify=magnify),
        bar("coupler", end, shown, length=p["l_2"], width=0.9 * R, style="body-dark"),
        bar("crank", (0.0, 0.0), end, length=p["l_1"], width=1.2 * R, style="accent"),
        *(Circle(point, 0.4 * R, "joint") for point in ((0.0, 0.0), end, ground, shown)),
        Text((0.5 * p["l_0"], -4.0 * R), note),
    ]
