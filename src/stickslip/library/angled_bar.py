"""An elastic bar dropped on a stop with one end: vibrations make its apparent restitution depend on the angle."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp

from stickslip.checks import Array, whole_number
from stickslip.drawing.primitives import Drawing, Marker, Polyline, Primitive, cos, line, rectangle, sin
from stickslip.library.elastic_rod import bending_energy, highest_frequency, kinetic_energy, stretching_energy
from stickslip.mechanisms.elements import Contact
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario, require_positive

_MAGNIFIED = 20.0
"""Displacements in the drawing."""


def angled_bar(
    *,
    angle: float = 1.2,
    segments: int = 6,
    length: float = 0.2,
    diameter: float = 0.0127,
    density: float = 7850.0,
    modulus: float = 2.1e11,
    friction: float = 0.0,
    restitution: float = 0.0,
    contact_stiffness: float = 0.0,
    contact_damping: float = 0.0,
    speed: float = 1.0,
) -> Scenario:
    """Return a round steel bar of `segments` parts that falls on a stop with its lower end, without turning.

    q: displacements of the ends of the segments, a_i along the bar and w_i across it.  They are small beside the length
    and count from the moment at which the lower end touches.  Springs resist stretching (E A / h) and bending (E I / h
    at the inner nodes).  Weight is left out: the collision lasts some milliseconds.  With restitution 0 the end node
    gives up its energy in every micro-collision.  The more segments the bar has, the smaller this loss is; then only
    the energy of vibrations is missing from the rebound.  The outcome depends on diameter/length, angle and friction,
    not on the modulus.

    With `contact_stiffness` the stop gives way: a spring and a damper that only push, N = max(0, -k g - c g') while
    g < 0, in place of the hard contact, as in the calibrated model of Stoianovici and Hurmuzlu.  Then the outcome
    hardly depends on the number of segments.  Such a stop has no friction.

    Parameters
    ----------
    angle : of the bar from the horizontal [rad]
    segments : their number, 2 or more
    length, diameter : of the bar [m]
    density, modulus : of its material [kg/m^3], [N/m^2]
    friction, restitution : coefficients mu, eps_N of the end node on the stop
    contact_stiffness, contact_damping : k, c of a stop that gives way [N/m], [N s/m]; 0 for a hard stop
    speed : of the fall [m/s]

    Reference: [S00] section 1.2, Fig. 1.2, after Stoianovici and Hurmuzlu.
    """
    segments = whole_number(segments, "segments", 2)
    values = {"length": length, "diameter": diameter, "density": density, "modulus": modulus, "speed": speed}
    require_positive(values, *values)
    soft = {"contact_stiffness": contact_stiffness, "contact_damping": contact_damping}
    require_positive(soft, *soft, allow_zero=True)
    if contact_stiffness > 0.0 and (friction or restitution):
        raise ValueError("friction and restitution are for a hard stop; leave them out beside contact_stiffness.")
    if contact_damping > 0.0 and contact_stiffness == 0.0:
        raise ValueError("contact_damping is for a stop that gives way; give contact_stiffness as well.")
    area = 0.25 * math.pi * diameter**2
    parameters = {
        "mass": density * area * length,
        "length": length,
        "axial_stiffness": modulus * area,
        "bending_stiffness": modulus * area * diameter**2 / 16.0,
        "angle": angle,
        **(soft if contact_stiffness > 0.0 else {"friction": friction, "restitution": restitution}),
    }
    system = _system(segments, parameters)
    q0, nodes = np.zeros(2 * (segments + 1)), np.ones(segments + 1)
    pressed = q0 - 1e-6 * length if contact_stiffness > 0.0 else q0  # below the stop, where its spring counts
    wave = math.sqrt(modulus / density)
    period = 2.0 * math.pi / 22.373 * length**2 / (0.25 * diameter * wave)  # first bending mode of a free bar
    return Scenario(
        system=system,
        q0=q0,
        u0=-speed * np.concatenate([math.sin(angle) * nodes, math.cos(angle) * nodes]),
        dt=0.2 / highest_frequency(system, pressed),
        t_end=max(1.5 * period, 4.0 * length / wave),
        title="Elastic bar dropped on a stop",
        source="[S00] section 1.2, Fig. 1.2",
        drawing=Drawing(_shapes),
    )


def _system(segments: int, parameters: dict[str, float]) -> LagrangianSystem:
    a, w = sp.symbols(f"a_0:{segments + 1}"), sp.symbols(f"w_0:{segments + 1}")
    v_a, v_w = sp.symbols(f"v_a0:{segments + 1}"), sp.symbols(f"v_w0:{segments + 1}")
    mass, length, stretch, bend, angle = sp.symbols("mass length axial_stiffness bending_stiffness angle")
    h, parts = length / segments, [mass / segments] * segments
    places = [k * h for k in range(segments + 1)]
    gap = a[0] * sp.sin(angle) + w[0] * sp.cos(angle)
    if "contact_stiffness" in parameters:
        rate = v_a[0] * sp.sin(angle) + v_w[0] * sp.cos(angle)
        push = sp.Max(0, -sp.Symbol("contact_stiffness") * gap - sp.Symbol("contact_damping") * rate)
        force = sp.Piecewise((push, gap < 0), (0, True))
        forces = [0] * len([*a, *w])
        forces[0], forces[segments + 1] = force * sp.sin(angle), force * sp.cos(angle)
        stop: dict[str, Any] = {"forces": forces}
    else:
        slip = a[0] * sp.cos(angle) - w[0] * sp.sin(angle)
        stop = {
            "contacts": [Contact("stop", gap=gap, slip=slip, friction="friction", restitution_normal="restitution")]
        }
    return LagrangianSystem.from_energies(
        [*a, *w],
        velocities=[*v_a, *v_w],
        kinetic=kinetic_energy(parts, v_a) + kinetic_energy(parts, v_w),
        potential=stretching_energy(stretch / h, a) + bending_energy([bend / h] * (segments - 1), places, w),
        **stop,
        parameters=parameters,
        name="angled_bar",
        units={
            **dict.fromkeys([str(x) for x in (*a, *w)] + ["length"], "m"),
            **dict.fromkeys([str(x) for x in (*v_a, *v_w)], "m/s"),
            "mass": "kg",
            "axial_stiffness": "N",
            "bending_stiffness": "N m^2",
            "angle": "rad",
            **({"contact_stiffness": "N/m", "contact_damping": "N s/m"} if "forces" in stop else {}),
        },
    )


def rigid_velocity(system: LagrangianSystem, u: Array, params: Mapping[str, float]) -> tuple[float, float]:
    """Velocity of the lower end along the stop and normal to it [m/s], for the rigid part of the motion u.

    A camera sees this part.  It has the bar's momentum and angular momentum: r = (R^T M R)^-1 R^T M u for the rigid
    modes R.
    """
    n = system.n_dof // 2
    R = np.zeros((2 * n, 3))
    R[:n, 0], R[n:, 1], R[n:, 2] = 1.0, 1.0, np.linspace(0.0, 1.0, n)
    M = system.mass(np.zeros(2 * n), 0.0, system.parameter_vector(params))
    along, across, _ = np.linalg.solve(R.T @ M @ R, R.T @ M @ u)
    s, c = math.sin(params["angle"]), math.cos(params["angle"])
    return float(c * along - s * across), float(s * along + c * across)


def _shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    """Displacements are magnified: a bar of 20 cm moves by a millimetre."""
    n = len(q) // 2
    s, c, pitch = sin(p["angle"]), cos(p["angle"]), p["length"] / (n - 1)
    along = [k * pitch + _MAGNIFIED * a for k, a in enumerate(q[:n])]
    across = [_MAGNIFIED * w for w in q[n:]]
    nodes = tuple((c * x - s * y, s * x + c * y) for x, y in zip(along, across, strict=True))
    size = 0.06 * p["length"]
    return [
        rectangle(-size, size, -100.0, 0.0, "ground"),
        line((-size, 0.0), (size, 0.0)),
        Polyline(nodes, "body"),
        *([] if "contact_stiffness" in p else [Marker(0, nodes[0])]),
    ]
