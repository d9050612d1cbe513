"""The slider-crank mechanism whose slider has play in its guide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp

from stickslip.drawing.joint_shapes import bar, bearing, magnification, slider_in_guide
from stickslip.drawing.primitives import Box, Circle, Drawing, Point, Primitive, Text, cos, sin
from stickslip.mechanisms.elements import Constraint, Contact
from stickslip.mechanisms.joints import Link, TranslationalClearanceJoint, link_energies
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario, require_positive

UNITS = {
    **dict.fromkeys(["l_1", "l_2", "a", "b", "clearance"], "m"),
    **dict.fromkeys(["m_1", "m_2", "m_3"], "kg"),
    **dict.fromkeys(["J_1", "J_2", "J_3"], "kg m^2"),
    **dict.fromkeys(["theta_1", "theta_2", "theta_3"], "rad"),
    **dict.fromkeys(["omega_1", "omega_2", "omega_3"], "rad/s"),
    "g": "m/s^2",
}
BUILDS = ("equations", "parts")
CRANKS = ("free", "driven")


_POSITIVE = ("l_1", "l_2", "a", "b", "clearance", "m_1", "m_2", "m_3", "J_1", "J_2", "J_3")


def slider_crank(
    *,
    l_1: float = 0.153,
    l_2: float = 0.306,
    a: float = 0.05,
    b: float = 0.025,
    clearance: float = 0.001,
    m_1: float = 0.038,
    m_2: float = 0.038,
    m_3: float = 0.076,
    J_1: float = 7.4e-5,
    J_2: float = 5.9e-4,
    J_3: float = 2.7e-6,
    g: float = 9.81,
    friction: float = 0.01,
    restitution_normal: float = 0.4,
    restitution_tangential: float = 0.0,
    crank_speed: float = 150.0,
    slider_angle: float = 0.0,
    built_from: str = "equations",
    crank: str = "free",
) -> Scenario:
    """Return the slider-crank with a translational clearance joint of [FLG10] Table 1.

    Three degrees of freedom: angles theta_1 of the crank, theta_2 of the connecting rod, theta_3 of the slider [rad].
    Four contacts: the slider's corners, 1 and 2 at the upper guide, 3 and 4 at the lower, 1 and 3 on the crank's side.
    The crank is free: it starts with `crank_speed` and no torque acts on it; or it is driven, by the constraint
    theta_1 = crank_speed t. At the start crank and rod lie in line and the velocities are those of the mechanism
    without play.

    Parameters
    ----------
    l_1, l_2 : lengths of crank and rod [m]
    a, b : half the slider's length and width [m]
    clearance : play c on each side [m]; the guides are d = 2 (b + c) apart
    m_1, m_2, m_3 : masses of crank, rod and slider [kg], centres of mass in the middle
    J_1, J_2, J_3 : their moments of inertia about these [kg m^2]
    g : gravity, across the guide [m/s^2]
    friction, restitution_normal, restitution_tangential : of all four contacts
    crank_speed : initial angular velocity of the crank [rad/s]
    slider_angle : initial angle of the slider [rad]; with 0, as in the paper, the slider never tilts: both corners of a
        side touch at one time, and their impulses balance each other
    built_from : "equations", printed in [FLG10] (89)-(105), or "parts": links and a `TranslationalClearanceJoint`, from
        which the equations are derived
    crank : "free", or "driven" with constant speed, as the text of [FLG10] 6.1 has it

    Reference: [FLG10] section 6; the text leaves d open and prescribes a constant speed, but plots a varying one.
    """
    parameters = {
        key: value
        for key, value in locals().items()
        if key not in ("crank_speed", "slider_angle", "built_from", "crank")
    }
    require_positive(parameters, *_POSITIVE)
    if built_from not in BUILDS:
        raise ValueError(f"built_from must be one of {', '.join(BUILDS)}, got {built_from!r}.")
    if crank not in CRANKS:
        raise ValueError(f"crank must be one of {', '.join(CRANKS)}, got {crank!r}.")
    constraints = []
    if crank == "driven":
        parameters["crank_speed"] = crank_speed
        constraints = [Constraint("crank", equation=sp.Symbol("theta_1") - sp.Symbol("crank_speed") * sp.Symbol("t"))]
    build = from_equations if built_from == "equations" else from_parts
    system = build(parameters, constraints)
    return Scenario(
        system=system,
        q0=np.array([0.0, 0.0, slider_angle]),
        u0=np.array([crank_speed, -crank_speed * l_1 / l_2, 0.0]),
        dt=1e-5,
        t_end=0.42,
        title="Slider-crank with play between slider and guide",
        source="[FLG10] section 6, Table 1",
        drawing=Drawing(_shapes, view=view(l_1, l_2, a, b), span=0.084),
    )


def from_equations(parameters: Mapping[str, float], constraints: Sequence[Constraint] = ()) -> LagrangianSystem:
    """The system from the mass matrix, forces and gaps as [FLG10] (89)-(105) prints them."""
    q, u = sp.symbols("theta_1:4"), sp.symbols("omega_1:4")
    l_1, l_2, a, b, c = sp.symbols("l_1 l_2 a b clearance")
    m_1, m_2, m_3, J_1, J_2, J_3, g = sp.symbols("m_1:4 J_1:4 g")
    (theta_1, theta_2, theta_3), (omega_1, omega_2, _) = q, u
    sin, cos = sp.sin, sp.cos

    coupling = (m_2 / 2 + m_3) * l_1 * l_2
    M_12 = coupling * cos(theta_2 - theta_1)  # [FLG10] eq. (91)
    mass = [
        [J_1 + (m_1 / 4 + m_2 + m_3) * l_1**2, M_12, 0],  # (90)
        [M_12, J_2 + (m_2 / 4 + m_3) * l_2**2, 0],  # (93)
        [0, 0, J_3],  # (94)
    ]
    weight_1, weight_2 = (m_1 / 2 + m_2 + m_3) * g * l_1, (m_2 / 2 + m_3) * g * l_2
    force = [
        coupling * sin(theta_2 - theta_1) * omega_2**2 - weight_1 * cos(theta_1),  # (95)
        -coupling * sin(theta_2 - theta_1) * omega_1**2 - weight_2 * cos(theta_2),  # (96)
        0,  # (97)
    ]
    half = b + c  # d / 2
    x, y = l_1 * cos(theta_1) + l_2 * cos(theta_2), l_1 * sin(theta_1) + l_2 * sin(theta_2)
    a_x, a_y, b_x, b_y = a * cos(theta_3), a * sin(theta_3), b * sin(theta_3), b * cos(theta_3)
    gaps = [half - y + a_y - b_y, half - y - a_y - b_y, half + y - a_y - b_y, half + y + a_y - b_y]  # (98)-(104), even
    slips = [x - a_x - b_x, x + a_x - b_x, x - a_x + b_x, x + a_x + b_x]  # (99)-(105), odd
    return LagrangianSystem.from_equations(
        q,
        velocities=u,
        mass=mass,
        force=force,
        potential=weight_1 * sin(theta_1) + weight_2 * sin(theta_2),
        contacts=[
            Contact(f"corner {i + 1}", gap=gap, slip=slip, **_LAWS)
            for i, (gap, slip) in enumerate(zip(gaps, slips, strict=True))
        ],
        constraints=constraints,
        parameters=parameters,
        name="slider_crank",
        positive=_POSITIVE,
        units={**UNITS, **({"crank_speed": "rad/s"} if constraints else {})},
    )


def from_parts(parameters: Mapping[str, float], constraints: Sequence[Constraint] = ()) -> LagrangianSystem:
    """The system from its parts: crank, rod and slider, hinged to each other, and the slider's play in its guide."""
    q, u = sp.symbols("theta_1:4"), sp.symbols("omega_1:4")
    l_1, l_2, a, b, c = sp.symbols("l_1 l_2 a b clearance")
    m_1, m_2, m_3, J_1, J_2, J_3, g = sp.symbols("m_1:4 J_1:4 g")

    crank = Link.hinged("crank", (0, 0), q[0], arm=l_1 / 2, mass=m_1, inertia=J_1)
    rod = Link.hinged("rod", crank.point(l_1 / 2), q[1], arm=l_2 / 2, mass=m_2, inertia=J_2)
    slider = Link("slider", centre=rod.point(l_2 / 2), angle=q[2], mass=m_3, inertia=J_3)
    kinetic, potential = link_energies([crank, rod, slider], q, u, gravity=g)
    guide = TranslationalClearanceJoint("corner", slider, half_length=a, half_width=b, clearance=c, **_LAWS)
    return LagrangianSystem.from_energies(
        q,
        velocities=u,
        kinetic=kinetic,
        potential=potential,
        contacts=[guide],
        constraints=constraints,
        parameters=parameters,
        name="slider_crank",
        positive=_POSITIVE,
        units={**UNITS, **({"crank_speed": "rad/s"} if constraints else {})},
    )


_LAWS: dict[str, Any] = {law: sp.Symbol(law) for law in ("friction", "restitution_normal", "restitution_tangential")}


# -- drawing -------------------------------------------------------------------------------------------------


def _shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    l_1, l_2, a, b, c = (p[key] for key in ("l_1", "l_2", "a", "b", "clearance"))
    magnify = magnification(c, b)
    pin = (l_1 * cos(q[0]), l_1 * sin(q[0]))
    x, y = pin[0] + l_2 * cos(q[1]), pin[1] + l_2 * sin(q[1])
    joint = slider_in_guide(
        x, y, q[2], half_length=a, half_width=b, clearance=c, span=guide_span(l_1, l_2, a), magnify=magnify
    )
    note = f"play drawn {magnify:.3g} ×" if magnify > 1.0 else ""
    return [
        *joint,
        *crank_and_rod(pin, (x, magnify * y), p),
        Text((guide_span(l_1, l_2, a)[1], -2.4 * b - magnify * c), note, "right"),  # the rod passes over the other end
    ]


def crank_and_rod(pin: Point, end: Point, p: Mapping[str, float]) -> list[Primitive]:
    """Shapes of bearing, crank and rod; `pin` joins crank and rod, `end` is the rod's other hinge [m]."""
    size = p["b"]
    return [
        *bearing((0.0, 0.0), 0.5 * size),
        bar("rod", pin, end, length=p["l_2"], width=0.4 * size),
        bar("crank", (0.0, 0.0), pin, length=p["l_1"], width=0.5 * size, style="body-dark"),
        *(Circle(point, 0.16 * size, "joint") for point in ((0.0, 0.0), pin, end)),
    ]


def guide_span(l_1: float, l_2: float, a: float) -> tuple[float, float]:
    """Ends of the guides along x [m], with room for the slider's whole stroke."""
    return l_2 - l_1 - 1.1 * a, l_2 + l_1 + 1.6 * a


def view(l_1: float, l_2: float, a: float, b: float) -> Box:
    """The part of the plane that the mechanism needs: x_min, x_max, y_min, y_max [m]."""
    half = 1.12 * max(l_1, 2.0 * b)
    return -half, guide_span(l_1, l_2, a)[1] + 0.3 * a, -half, half
