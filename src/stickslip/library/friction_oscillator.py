"""Two blocks on a moving belt, tied to a wall and to each other by springs: stick-slip vibration."""

from __future__ import annotations

import numpy as np
import sympy as sp

from stickslip.library.scenario import Scenario
from stickslip.model.elements import DryFriction
from stickslip.model.lagrangian import LagrangianSystem


def friction_oscillator(
    *,
    m_1: float = 1.0,
    m_2: float = 1.0,
    k_1: float = 100.0,
    k_2: float = 100.0,
    k_12: float = 120.0,
    damping: float = 0.0,
    friction: float = 0.3,
    friction_ratio: float = 1.3,
    belt_velocity: float = 0.1,
    g: float = 9.81,
) -> Scenario:
    """Return two blocks on a belt: wall - k_1 - block 1 - k_12 - block 2 - k_2 - wall.

    The weights press the blocks on the belt, so that the bounds of Coulomb's law are constant: friction m_1 g
    and friction friction_ratio m_2 g. Each block is a dry friction joint, its sliding velocity is
    v_i - belt_velocity.

    Parameters
    ----------
    m_1, m_2 : masses of the blocks [kg]
    k_1, k_2, k_12 : stiffnesses to the walls and of the coupling [N/m]
    damping : of each block against the wall [N s/m]
    friction : coefficient mu of block 1 on the belt
    friction_ratio : mu of block 2 divided by that of block 1
    belt_velocity : [m/s]
    g : gravity [m/s^2]

    Reference: load-independent friction, [GS05] end of section 6.
    """
    parameters = dict(locals())
    return Scenario(
        system=_system(parameters),
        q0=np.array([0.0, 0.0]),
        u0=np.array([belt_velocity, belt_velocity]),
        dt=1e-3,
        t_end=10.0,
        title="Two-mass friction oscillator on a moving belt",
        source="load-independent friction, [GS05] section 6",
    )


def _system(parameters: dict[str, float]) -> LagrangianSystem:
    t, x_1, x_2, v_1, v_2 = sp.symbols("t x_1 x_2 v_1 v_2")
    m_1, m_2, k_1, k_2, k_12, damping, g = sp.symbols("m_1 m_2 k_1 k_2 k_12 damping g")
    friction, friction_ratio, belt_velocity = sp.symbols("friction friction_ratio belt_velocity")
    return LagrangianSystem.from_energies(
        [x_1, x_2],
        velocities=[v_1, v_2],
        kinetic=(m_1 * v_1**2 + m_2 * v_2**2) / 2,
        potential=(k_1 * x_1**2 + k_2 * x_2**2 + k_12 * (x_1 - x_2) ** 2) / 2,
        forces=[-damping * v_1, -damping * v_2],
        contacts=[
            DryFriction("block 1", x_1 - belt_velocity * t, friction * m_1 * g),
            DryFriction("block 2", x_2 - belt_velocity * t, friction * friction_ratio * m_2 * g),
        ],
        parameters=parameters,
        name="friction_oscillator",
        units={
            **dict.fromkeys(["x_1", "x_2"], "m"),
            **dict.fromkeys(["v_1", "v_2", "belt_velocity"], "m/s"),
            **dict.fromkeys(["m_1", "m_2"], "kg"),
            **dict.fromkeys(["k_1", "k_2", "k_12"], "N/m"),
            "damping": "N s/m",
            "g": "m/s^2",
        },
    )
