"""A solenoid whose plunger strikes a stop: a circuit and a mechanism in one system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from stickslip.circuits.circuit import Circuit
from stickslip.drawing.primitives import Drawing, Group, Marker, Placement, Primitive, Spring, line, rectangle
from stickslip.mechanisms.elements import Stop
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario, require_positive


def solenoid(
    *,
    voltage: float = 12.0,
    resistance: float = 6.0,
    inductance: float = 0.02,
    reach: float = 2e-3,
    mass: float = 0.05,
    stiffness: float = 200.0,
    stroke: float = 4e-3,
    restitution: float = 0.3,
) -> Scenario:
    """Return a coil that is switched on and pulls its plunger against a spring until it strikes a stop.

    q: gap x between plunger and stop [m], and the charge that has passed [C].  The inductance grows as the plunger
    comes, L(x) = L_0 / (1 + x / reach).  Lagrange's equations give the pull L'(x) i^2 / 2 on the plunger and the
    voltage L'(x) x' i in the coil.

    Parameters
    ----------
    voltage, resistance, inductance : of source and coil [V], [ohm], and L_0 of the closed coil [H]
    reach : gap at which the inductance is half of L_0 [m]
    mass, stiffness : of plunger and spring [kg], [N/m]
    stroke : gap at the start, where the spring is relaxed [m]
    restitution : coefficient eps_N of the stop

    Reference: circuits in mechanisms, [GS05] section 6.
    """
    parameters = {
        "voltage": voltage, "resistance": resistance, "inductance": inductance, "reach": reach, "mass": mass,
        "stiffness": stiffness, "stroke": stroke, "restitution": restitution,
    }  # fmt: skip
    require_positive(parameters, "resistance", "inductance", "reach", "mass", "stiffness", "stroke")
    return Scenario(
        system=_system(parameters),
        q0=np.array([stroke, 0.0]),
        u0=np.zeros(2),
        dt=2e-5,
        t_end=0.06,
        title="Solenoid that strikes a stop",
        source="circuits in mechanisms, [GS05] section 6",
        drawing=Drawing(_shapes, span=0.06),
    )


def _system(parameters: Mapping[str, float]) -> LagrangianSystem:
    x, v = sp.symbols("x v")
    p = {name: sp.Symbol(name) for name in parameters}
    net = Circuit("solenoid")  # its numbers are replaced by the parameters' symbols below
    net.source("V", "a", "0", voltage=1.0)
    net.inductor("L", "a", "0", 1.0)
    coil = net.terms(inductance={"L": p["inductance"] * p["reach"] / (p["reach"] + x)})
    (charge,), (current,) = coil.q, coil.u
    sign = 1 if coil.forces[charge] > 0 else -1  # of the loop's direction in that of the source's voltage
    return LagrangianSystem.from_energies(
        [x, charge],
        velocities=[v, current],
        kinetic=p["mass"] * v**2 / 2 + coil.kinetic,
        potential=p["stiffness"] * (x - p["stroke"]) ** 2 / 2,
        forces={charge: sign * p["voltage"] - p["resistance"] * current},
        contacts=[Stop("stop", x, lower=0, restitution="restitution")],
        parameters=dict(parameters),
        name="solenoid",
        positive=("mass", "inductance", "reach"),
        units={
            **dict.fromkeys(["x", "reach", "stroke"], "m"),
            str(charge): "C",
            str(current): "A",
            "v": "m/s",
            "voltage": "V",
            "resistance": "ohm",
            "inductance": "H",
            "mass": "kg",
            "stiffness": "N/m",
        },
    )


def _shapes(q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
    """The coil in section, the plunger coming out of it to the right, and the spring behind the plunger."""
    s = p["stroke"]
    half, length, wall = 0.8 * s, 5.0 * s, 0.35 * s
    plunger = (rectangle(0.0, length, -half, half, "body"),)
    end = length + 5.0 * s
    return [
        rectangle(-1.2 * s, 0.0, -2.2 * s, 2.2 * s, "ground"),
        line((0.0, -2.2 * s), (0.0, 2.2 * s)),
        rectangle(0.4 * s, 3.6 * s, 1.1 * s, 1.1 * s + 2.4 * wall, "accent"),
        rectangle(0.4 * s, 3.6 * s, -1.1 * s - 2.4 * wall, -1.1 * s, "accent"),
        Spring((q[0] + length, 0.0), (end, 0.0), width=0.9 * s, coils=7),
        rectangle(end, end + 0.4 * s, -1.6 * s, 1.6 * s, "ground"),
        Group("plunger", Placement((q[0], 0.0)), plunger),
        Marker(0, (q[0], 0.0), (1.0, 0.0)),
    ]
