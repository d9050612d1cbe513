"""Three masses in a row, of which two touch: the outcome of a collision depends on the ratio of two stiffnesses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from stickslip.drawing.common import GROUND
from stickslip.drawing.primitives import Drawing, Group, Marker, Placement, Primitive, Spring, least, rectangle
from stickslip.mechanisms.elements import Contact
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario, require_positive

MODELS = ("springs", "rigid")
_WIDTH = 0.04  # of a mass in the drawing [m]


def three_masses(
    *,
    model: str = "springs",
    stiffness_1: float = 1e6,
    stiffness_2: float = 1e6,
    m_1: float = 1.0,
    m_2: float = 1.0,
    m_3: float = 1.0,
    restitution: float = 1.0,
    speed: float = 1.0,
    clearance: float = 1e-3,
) -> Scenario:
    """Return three masses on a line: m_1 comes from the left, m_2 and m_3 touch and are at rest.

    model "springs": between neighbours a spring that only pushes, F_i = k_i max(0, x_i - x_i+1).  Multiplying both
    stiffnesses by one number only changes the time that the collision takes.  Its outcome is a function of k_1/k_2 and
    of the masses, so every ratio has its own rigid limit.  For k_1/k_2 -> 0 the masses m_2 and m_3 act as one.  For
    k_1/k_2 -> infinity the impacts come one after the other.
    model "rigid": hard contacts, for `stickslip.impact` and the laws of Newton and Poisson.

    Parameters
    ----------
    model : "springs" or "rigid"
    stiffness_1, stiffness_2 : k_1 between m_1 and m_2, k_2 between m_2 and m_3 [N/m]; without effect in "rigid"
    m_1, m_2, m_3 : [kg]
    restitution : coefficient eps_N of both contacts in "rigid"
    speed : of m_1 at the start [m/s]
    clearance : between m_1 and m_2 at the start [m]

    Reference: [S00] section 4.4, Fig. 4.4.
    """
    if model not in MODELS:
        raise ValueError(f"model must be one of {', '.join(MODELS)}, got {model!r}.")
    masses = {"m_1": m_1, "m_2": m_2, "m_3": m_3}
    springs = {"stiffness_1": stiffness_1, "stiffness_2": stiffness_2}
    parameters = {**masses, **(springs if model == "springs" else {"restitution": restitution})}
    require_positive({**masses, **springs, "speed": speed}, *masses, *springs, "speed")
    require_positive({"clearance": clearance}, "clearance", allow_zero=True)
    fastest = np.sqrt(max(stiffness_1, stiffness_2) * (1.0 / min(m_1, m_2) + 1.0 / min(m_2, m_3)))
    slowest = np.sqrt(min(stiffness_1, stiffness_2) / (m_1 + m_2 + m_3))
    return Scenario(
        system=_system(model, parameters),
        q0=np.array([-clearance, 0.0, 0.0]),
        u0=np.array([speed, 0.0, 0.0]),
        dt=float(min(0.02 / fastest, 0.01 * clearance / speed if clearance > 0.0 else np.inf)),
        t_end=float(clearance / speed + 6.0 / slowest),
        title="Three masses: one strikes two that touch",
        source="[S00] section 4.4, Fig. 4.4",
        drawing=Drawing(_shapes),
    )


def _system(model: str, parameters: dict[str, float]) -> LagrangianSystem:
    x, v = sp.symbols("x_1:4"), sp.symbols("v_1:4")
    masses, stiffness = sp.symbols("m_1:4"), sp.symbols("stiffness_1:3")
    gaps = [x[i + 1] - x[i] for i in range(2)]
    springs = sum(k * sp.Max(0, -gap) ** 2 / 2 for k, gap in zip(stiffness, gaps, strict=True))
    contacts = [
        Contact(f"masses {i + 1} and {i + 2}", gap=gap, restitution_normal="restitution") for i, gap in enumerate(gaps)
    ]
    return LagrangianSystem.from_energies(
        list(x),
        velocities=list(v),
        kinetic=sum(m * speed**2 for m, speed in zip(masses, v, strict=True)) / 2,
        potential=springs if model == "springs" else 0,
        contacts=[] if model == "springs" else contacts,
        parameters=parameters,
        name="three_masses",
        units={
            **{str(place): "m" for place in x},
            **{str(speed): "m/s" for speed in v},
            **{str(m): "kg" for m in masses},
            **({str(k): "N/m" for k in stiffness} if model == "springs" else {}),
        },
    )


def _shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    """Masses 4 cm wide with springs of 4 cm between them, each at the right end of a mass; displacements to scale."""
    side, spring = _WIDTH, "stiffness_1" in p
    pitch = 2.0 * side if spring else side
    shapes: list[Primitive] = [*GROUND]
    for i, x in enumerate(q):
        left = i * pitch + x
        shapes.append(Group(f"mass {i + 1}", Placement((left, 0.0)), (rectangle(0.0, side, 0.0, side),)))
        if i == 2:
            continue
        right = left + side
        if spring:
            end = least(right + side, (i + 1) * pitch + q[i + 1])
            shapes.append(Spring((right, 0.5 * side), (end, 0.5 * side), 0.3 * side))
        else:
            shapes.append(Marker(i, ((i + 1) * pitch + q[i + 1], 0.5 * side), (1.0, 0.0)))
    return shapes
