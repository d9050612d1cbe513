"""The woodpecker toy: a bird on a spring and a sleeve that jams, slips and hammers its way down a pole."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from stickslip.library.scenario import Scenario
from stickslip.model.elements import Contact
from stickslip.model.lagrangian import LagrangianSystem


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
