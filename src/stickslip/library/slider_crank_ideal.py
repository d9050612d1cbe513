"""The slider-crank mechanism without play: the limit of the mechanism with play as the clearance vanishes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from stickslip.drawing.joint_shapes import slider_in_guide
from stickslip.drawing.primitives import Drawing, Primitive, cos, sin, sqrt
from stickslip.library.slider_crank import UNITS, crank_and_rod, guide_span, view
from stickslip.mechanisms.joints import Link, link_energies
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario, require_positive

_POSITIVE = ("l_1", "l_2", "a", "b", "m_1", "m_2", "m_3", "J_1", "J_2")


def slider_crank_ideal(
    *,
    l_1: float = 0.153,
    l_2: float = 0.306,
    a: float = 0.05,
    b: float = 0.025,
    m_1: float = 0.038,
    m_2: float = 0.038,
    m_3: float = 0.076,
    J_1: float = 7.4e-5,
    J_2: float = 5.9e-4,
    g: float = 9.81,
    crank_speed: float = 150.0,
) -> Scenario:
    """Return the slider-crank with an ideal, frictionless translational joint.

    One degree of freedom, the crank's angle theta_1 [rad]. The slider is held on the guide's centre line,

        l_1 sin(theta_1) + l_2 sin(theta_2) = 0,    theta_3 = 0,

    so that the rod's angle is theta_2 = -asin(l_1/l_2 sin(theta_1)). The energy is kept.

    Parameters
    ----------
    l_1, l_2 : lengths of crank and rod [m], l_1 < l_2
    a, b : half the slider's length and width [m], for the drawing only
    m_1, m_2, m_3 : masses of crank, rod and slider [kg], centres of mass in the middle
    J_1, J_2 : moments of inertia of crank and rod about these [kg m^2]
    g : gravity, across the guide [m/s^2]
    crank_speed : initial angular velocity of the crank [rad/s]

    Reference: [FLG10] section 6.1, which takes the initial velocities from this mechanism.
    """
    parameters = {key: value for key, value in locals().items() if key != "crank_speed"}
    require_positive(parameters, *_POSITIVE)
    if not l_1 < l_2:
        raise ValueError(f"l_1 must be less than l_2, so that the crank can turn, got {l_1:g} and {l_2:g} m.")
    return Scenario(
        system=_system(parameters),
        q0=np.zeros(1),
        u0=np.array([crank_speed]),
        dt=1e-5,
        t_end=0.42,
        title="Slider-crank without play",
        source="[FLG10] section 6.1",
        drawing=Drawing(_shapes, view=view(l_1, l_2, a, b), span=0.084),
    )


def _system(parameters: Mapping[str, float]) -> LagrangianSystem:
    theta_1, omega_1 = sp.symbols("theta_1 omega_1")
    l_1, l_2, m_1, m_2, m_3, J_1, J_2, g = sp.symbols("l_1 l_2 m_1 m_2 m_3 J_1 J_2 g")
    theta_2 = -sp.asin(l_1 / l_2 * sp.sin(theta_1))
    crank = Link.hinged("crank", (0, 0), theta_1, arm=l_1 / 2, mass=m_1, inertia=J_1)
    rod = Link.hinged("rod", crank.point(l_1 / 2), theta_2, arm=l_2 / 2, mass=m_2, inertia=J_2)
    slider = Link("slider", centre=rod.point(l_2 / 2), mass=m_3)
    kinetic, potential = link_energies([crank, rod, slider], [theta_1], [omega_1], gravity=g)
    known = {"theta_1", "omega_1", *parameters}
    return LagrangianSystem.from_energies(
        [theta_1],
        velocities=[omega_1],
        kinetic=kinetic,
        potential=potential,
        parameters=parameters,
        name="slider_crank_ideal",
        positive=_POSITIVE,
        units={name: unit for name, unit in UNITS.items() if name in known},
    )


def _shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    l_1, l_2, a, b = (p[key] for key in ("l_1", "l_2", "a", "b"))
    pin = (l_1 * cos(q[0]), l_1 * sin(q[0]))
    x = pin[0] + sqrt(l_2**2 - pin[1] ** 2)
    joint = slider_in_guide(
        x, 0.0, 0.0, half_length=a, half_width=b, clearance=0.0, span=guide_span(l_1, l_2, a), contacts=()
    )
    return [*joint, *crank_and_rod(pin, (x, 0.0), p)]
