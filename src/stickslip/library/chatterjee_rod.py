"""Chatterjee's rod: struck on its overhanging end, it takes an impulse at the other end that a rigid rod would not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import sympy as sp

from stickslip.checks import whole_number
from stickslip.drawing.primitives import Circle, Drawing, Group, Marker, Placement, Polyline, Primitive, line, rectangle
from stickslip.library.elastic_rod import bending_energy, highest_frequency, kinetic_energy
from stickslip.mechanisms.elements import Contact
from stickslip.mechanisms.lagrangian import LagrangianSystem
from stickslip.scenario import Scenario, require_positive

MODELS = ("torsion", "rigid", "beam")
MAGNIFIED = 10.0
"""Heights in the drawing."""
_UNITS = {"mass": "kg", "hammer": "kg", "stiffness": "N m", "table_stiffness": "N/m"}


def chatterjee_rod(
    *,
    model: str = "torsion",
    segments: int = 12,
    stiffness: float = 1e3,
    table_stiffness: float = 0.0,
    overhang: float = 0.25,
    hinge: float | None = None,
    mass: float = 1.0,
    length: float = 1.0,
    hammer: float = 0.1,
    speed: float = 1.0,
) -> Scenario:
    """Return a uniform rod A-B-D on a table without friction, A beyond its edge B, struck from above at A.

    The rod touches the table at B and D.  q: heights of the ends of its segments and of the hammer [m], small beside
    the length of the rod.  Weight is left out.  Multiplying the stiffness by a number only changes the pace of the
    motion: impulses and velocities do not depend on the stiffness.  So the motion for any stiffness is also the limit
    of a rigid rod.

    model "rigid": one segment; it turns about B, and D lifts without an impulse.
    model "torsion": rigid parts A-C and C-D with a torsion spring at the hinge C.  The blow lifts C and would push D
    down.  So the table gives D an impulse in the instant of the blow, whatever the spring.
    model "beam": `segments` equal parts with torsion springs between them; with many parts an elastic beam.

    Parameters
    ----------
    model : "torsion", "rigid" or "beam"
    segments : number of parts of "beam"
    stiffness : EI/length of the rod [N m]: the spring of "torsion"; a spring of "beam" has `segments` times EI/length
    table_stiffness : of the table under B and D [N/m]; 0 for a rigid table
    overhang : distance from A to B [m]
    hinge : distance from A to C in "torsion" [m]; midway between B and D if not given
    mass, length : of the rod [kg], [m]
    hammer, speed : mass of the hammer [kg], and its speed downwards [m/s]; it does not rebound by itself

    Reference: [S00] section 4.4, Fig. 4.5, after Chatterjee.
    """
    values = {"stiffness": stiffness, "overhang": overhang, "mass": mass, "length": length}
    require_positive({**values, "hammer": hammer, "speed": speed}, *values, "hammer", "speed")
    require_positive({"table_stiffness": table_stiffness}, "table_stiffness", allow_zero=True)
    if not overhang < length:
        raise ValueError(f"overhang must be less than the length {length:g} m, got {overhang:g}.")
    places = _places(model, segments, overhang, 0.5 * (overhang + length) if hinge is None else hinge, length)
    elastic = {} if model == "rigid" else {"stiffness": stiffness}
    soft = {"table_stiffness": table_stiffness} if table_stiffness > 0.0 else {}
    system = _system(places, overhang, length, {"mass": mass, "hammer": hammer, **elastic, **soft})
    pressed = np.full(system.n_dof, -1e-6 * length)  # springs of the table count
    slowest = math.sqrt(min(stiffness / length**2, table_stiffness or math.inf) / mass)
    return Scenario(
        system=system,
        q0=np.zeros(system.n_dof),
        u0=np.where(np.arange(system.n_dof) == system.n_dof - 1, -speed, 0.0),
        dt=0.2 / max(highest_frequency(system, pressed), 200.0 * slowest),
        t_end=1.0 / slowest,
        title="Chatterjee's rod, struck on its overhanging end",
        source="[S00] section 4.4, Fig. 4.5",
        drawing=Drawing(_Shapes(places, overhang, length)),
    )


def _places(model: str, segments: int, overhang: float, hinge: float, length: float) -> list[float]:
    """Distances of the nodes from A [m]."""
    if model not in MODELS:
        raise ValueError(f"model must be one of {', '.join(MODELS)}, got {model!r}.")
    if model == "rigid":
        return [0.0, length]
    if model == "torsion":
        if not overhang < hinge < length:
            raise ValueError(f"hinge must lie between B and D, {overhang:g} < hinge < {length:g} m, got {hinge:g}.")
        return [0.0, hinge, length]
    segments = whole_number(segments, "segments", 2)
    return [float(x) for x in np.linspace(0.0, length, segments + 1)]


def _edge(places: Sequence[float], overhang: float) -> tuple[int, float]:
    """Number of the segment that holds B, and the weight of the segment's right end in the height of B."""
    i = max(k for k, x in enumerate(places[:-1]) if x <= overhang + 1e-12)
    return i, round((overhang - places[i]) / (places[i + 1] - places[i]), 12)


def _system(places: Sequence[float], overhang: float, length: float, parameters: dict[str, float]) -> LagrangianSystem:
    n = len(places) - 1
    w, v = sp.symbols(f"w_0:{n + 1}"), sp.symbols(f"v_0:{n + 1}")
    z, v_z, mass, hammer, stiffness, table = sp.symbols("z v_z mass hammer stiffness table_stiffness")
    i, share = _edge(places, overhang)
    gaps = {"B": w[i] if share == 0.0 else (1.0 - share) * w[i] + share * w[i + 1], "D": w[-1]}
    springs = [stiffness * (1 if n == 2 else n)] * (n - 1)
    masses = [mass * ((b - a) / length) for a, b in pairwise(places)]
    soft = "table_stiffness" in parameters
    support = sum(table * sp.Max(0, -gap) ** 2 / 2 for gap in gaps.values()) if soft else 0
    return LagrangianSystem.from_energies(
        [*w, z],
        velocities=[*v, v_z],
        kinetic=kinetic_energy(masses, v) + hammer * v_z**2 / 2,
        potential=bending_energy(springs, places, w) + support,
        contacts=[
            Contact("hammer", gap=z - w[0]),
            *([] if soft else [Contact(name, gap=gap) for name, gap in gaps.items()]),
        ],
        parameters=parameters,
        name="chatterjee_rod",
        units={
            **{str(x): "m" for x in (*w, z)},
            **{str(x): "m/s" for x in (*v, v_z)},
            **{name: _UNITS[name] for name in parameters},
        },
    )


class _Shapes:
    """The rod as a line through its nodes; heights are magnified."""

    def __init__(self, places: Sequence[float], overhang: float, length: float) -> None:
        self.places, self.overhang, self.length = tuple(places), overhang, length

    def __call__(self, q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
        q = [MAGNIFIED * x for x in q]
        edge, far = self.overhang, self.length + 100.0
        i, share = _edge(self.places, edge)
        nodes = list(zip(self.places, q[:-1], strict=True))
        size = 0.04 * self.length
        shapes: list[Primitive] = [
            rectangle(edge, far, -100.0, 0.0, "ground"),
            line((edge, 0.0), (far, 0.0)),
            line((edge, 0.0), (edge, -100.0)),
            Polyline(tuple(nodes), "body"),
            Group("hammer", Placement((0.0, q[-1])), (rectangle(-0.5 * size, 0.5 * size, 0.0, 2.0 * size),)),
            Marker(0, (0.0, q[-1])),
        ]
        shapes += [Circle(node, 0.006 * self.length, "joint") for node in nodes[1:-1]]
        if "table_stiffness" not in p:
            shapes.append(Marker(1, (edge, (1.0 - share) * q[i] + share * q[i + 1])))
            shapes.append(Marker(2, nodes[-1]))
        return shapes
