"""Blocks on a moving belt, tied to a wall and to each other by springs: stick-slip vibration."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from stickslip.drawing.primitives import (
    Circle,
    Drawing,
    Group,
    Marker,
    Placement,
    Primitive,
    Spring,
    Text,
    line,
    rectangle,
)
from stickslip.laws.friction import Coulomb, FrictionLaw, Stribeck, TwoCoefficient
from stickslip.mechanisms.elements import Contact, DryFriction
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario


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
    force: float = 2.0,
    frequency: float = 1.2,
    g: float = 9.81,
) -> Scenario:
    """Return two blocks on a belt: wall - k_1 - block 1 - k_12 - block 2 - k_2 - wall.

    The weights press the blocks on the belt, so that the bounds of Coulomb's law are constant: friction m_1 g
    and friction friction_ratio m_2 g. Each block is a dry friction joint; its sliding velocity is
    v_i - belt_velocity. Without excitation the blocks end up sliding all the time: a constant coefficient of
    friction feeds no vibration. The force on block 1 keeps stick and slip alternating.

    Parameters
    ----------
    m_1, m_2 : masses of the blocks [kg]
    k_1, k_2, k_12 : stiffnesses to the walls and of the coupling [N/m]
    damping : of each block against the wall [N s/m]
    friction : coefficient mu of block 1 on the belt
    friction_ratio : mu of block 2 divided by mu of block 1
    belt_velocity : [m/s]
    force, frequency : of the harmonic force on block 1 [N], [Hz]
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
        drawing=Drawing(_shapes, view=(-0.50, 0.50, -0.12, 0.17), span=5.0),
    )


def _system(parameters: dict[str, float]) -> LagrangianSystem:
    t, x_1, x_2, v_1, v_2 = sp.symbols("t x_1 x_2 v_1 v_2")
    m_1, m_2, k_1, k_2, k_12, damping, g = sp.symbols("m_1 m_2 k_1 k_2 k_12 damping g")
    friction, friction_ratio, belt_velocity = sp.symbols("friction friction_ratio belt_velocity")
    force, frequency = sp.symbols("force frequency")
    return LagrangianSystem.from_energies(
        [x_1, x_2],
        velocities=[v_1, v_2],
        kinetic=(m_1 * v_1**2 + m_2 * v_2**2) / 2,
        potential=(k_1 * x_1**2 + k_2 * x_2**2 + k_12 * (x_1 - x_2) ** 2) / 2,
        forces=[force * sp.sin(2 * sp.pi * frequency * t) - damping * v_1, -damping * v_2],
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
            "force": "N",
            "frequency": "Hz",
            "g": "m/s^2",
        },
    )


_REST, _WALL, _HALF, _HEIGHT, _DRUM = 0.18, 0.42, 0.06, 0.09, 0.03
"""Where the blocks rest, where the walls stand, half the width and the height of a block, radius of a drum [m]."""


def _shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    blocks = [-_REST + q[0], _REST + q[1]]
    ends = [-_WALL, blocks[0] - _HALF, blocks[0] + _HALF, blocks[1] - _HALF, blocks[1] + _HALF, _WALL]
    middle = 0.5 * _HEIGHT
    shapes: list[Primitive] = [*_belt(t * p["belt_velocity"], _WALL - 0.02, _DRUM), *_walls()]
    for start, end in zip(ends[::2], ends[1::2], strict=True):
        shapes.append(Spring((start, middle), (end, middle), width=0.035, coils=8))
    for k, x in enumerate(blocks):
        box = (
            rectangle(-_HALF, _HALF, 0.0, _HEIGHT),
            Marker(k, (0.0, 0.0)),
            Text((0.0, middle), f"{k + 1}", style="body-light"),
        )
        shapes.append(Group(f"block {k + 1}", Placement((x, 0.0)), box))
    return shapes


def _walls() -> list[Primitive]:
    return [
        rectangle(-100.0, -_WALL, 0.0, 0.13, "ground"),
        rectangle(_WALL, 100.0, 0.0, 0.13, "ground"),
        line((-_WALL, 0.0), (-_WALL, 0.13)),
        line((_WALL, 0.0), (_WALL, 0.13)),
    ]


def _belt(travel: float, end: float, radius: float) -> list[Primitive]:
    """Shapes of a belt on two drums at x = -end and x = end [m]; seams and drums show its `travel` [m]."""
    seam, thick = 2.0 * radius, 0.27 * radius
    shapes: list[Primitive] = [rectangle(-end, end, -2 * radius, 0.0, "wood"), line((-end, 0.0), (end, 0.0))]
    first = travel % seam - end
    for k in range(math.floor(2.0 * end / seam)):
        shapes.append(line((first + k * seam, -thick), (first + k * seam, 0.0), "edge"))
    for x in (-end, end):
        drum = (
            Circle((0.0, 0.0), radius, "wood"),
            line((-0.6 * radius, 0.0), (0.6 * radius, 0.0)),
            Circle((0.0, 0.0), radius / 6.0, "joint"),
        )
        shapes.append(Group("drum", Placement.rotation((x, -radius), -travel / radius), drum))
    return shapes


# -- one block, with a choice of friction laws ---------------------------------------------------------------


def block_on_belt(
    *,
    mass: float = 1.0,
    stiffness: float = 1.0,
    load: float = 1.0,
    belt_velocity: float = 0.2,
    friction_static: float = 1.0,
    friction_kinetic: float = 0.6,
    stribeck_velocity: float = 0.1,
    law: str | FrictionLaw = "two-coefficient",
) -> Scenario:
    """Return a block that a load presses on a moving belt and a spring ties to a wall: the classic of stick-slip.

    The block rides with the belt until the spring pulls with friction_static load.  Then it slips back, under the
    smaller kinetic coefficient, until it is as fast as the belt again.  For law="two-coefficient" the period T and the
    turning points x are, with w = sqrt(stiffness / mass) and D = (mu_s - mu_k) load / stiffness,

        T = T_stick + T_slip,    T_stick = 2 D / v,    T_slip = (2 / w) (pi - atan(D w / v)),
        x = mu_k load / stiffness -+ sqrt(D^2 + (v / w)^2).

    Parameters
    ----------
    mass : [kg]
    stiffness : of the spring, relaxed at x = 0 [N/m]
    load : force that presses the block on the belt, its weight included [N]
    belt_velocity : v [m/s]
    friction_static, friction_kinetic : coefficients mu_s >= mu_k
    stribeck_velocity : speed over which mu falls from mu_s to mu_k with law="stribeck" [m/s]
    law : "two-coefficient", "stribeck", "coulomb" (mu_s alone), or a friction law in these parameters

    Reference: [S00] section 4.3.
    """
    parameters = {key: value for key, value in locals().items() if key != "law"}
    return Scenario(
        system=_block_system(parameters, _law(law)),
        q0=np.array([0.0, 0.0]),
        u0=np.array([belt_velocity, 0.0]),
        dt=1e-3,
        t_end=25.0,
        title="Block on a moving belt, with static and kinetic friction",
        source="[S00] section 4.3",
        drawing=Drawing(_block_shapes, view=(-1.45, 1.9, -0.5, 0.75), span=10.0),
    )


def _law(law: str | FrictionLaw) -> FrictionLaw:
    if isinstance(law, FrictionLaw):
        return law
    static, kinetic, velocity = "friction_static", "friction_kinetic", "stribeck_velocity"
    named: dict[str, FrictionLaw] = {
        "two-coefficient": TwoCoefficient(static, kinetic),
        "stribeck": Stribeck(static, kinetic, velocity),
        "coulomb": Coulomb(static),
    }
    if law not in named:
        raise ValueError(f"law must be one of {', '.join(named)} or a friction law, got {law!r}.")
    return named[law]


def _block_system(parameters: dict[str, float], law: FrictionLaw) -> LagrangianSystem:
    t, x, y, v_x, v_y = sp.symbols("t x y v_x v_y")
    mass, stiffness, load, belt_velocity = sp.symbols("mass stiffness load belt_velocity")
    return LagrangianSystem.from_energies(
        [x, y],
        velocities=[v_x, v_y],
        kinetic=mass * (v_x**2 + v_y**2) / 2,
        potential=stiffness * x**2 / 2 + load * y,
        contacts=[Contact("belt", gap=y, slip=x - belt_velocity * t, friction=law)],
        parameters=parameters,
        name="block_on_belt",
        units={
            **dict.fromkeys(["x", "y"], "m"),
            **dict.fromkeys(["v_x", "v_y", "belt_velocity", "stribeck_velocity"], "m/s"),
            "mass": "kg",
            "stiffness": "N/m",
            "load": "N",
        },
    )


def _block_shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    half, height, wall, drum = 0.2, 0.3, -1.1, 0.12
    box = (rectangle(-half, half, 0.0, height), Marker(0, (0.0, 0.0)))
    return [
        *_belt(t * p["belt_velocity"], 1.4, drum),
        rectangle(-100.0, wall, 0.0, 0.45, "ground"),
        line((wall, 0.0), (wall, 0.45)),
        Spring((wall, 0.5 * height), (q[0] - half, 0.5 * height), width=0.12, coils=8),
        Group("block", Placement((q[0], q[1])), box),
    ]
