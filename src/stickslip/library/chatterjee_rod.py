"""Chatterjee's rod: struck on its overhanging end, it takes an impulse at the other end that a rigid rod would not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from stickslip.library.elastic_rod import bending_energy, kinetic_energy
from stickslip.library.scenario import Scenario, require_positive
from stickslip.model.drawing import Circle, Drawing, Marker, Polyline, Primitive, line, rectangle
from stickslip.model.elements import Contact
from stickslip.model.lagrangian import LagrangianSystem

MODELS = ("torsion", "rigid", "beam")
_UNITS = {"mass": "kg", "stiffness": "N m", "table_stiffness": "N/m"}


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
    blow: float = 0.1,
) -> Scenario:
    """Return a uniform rod A-B-D that lies on a table without friction, A over its edge B, struck downwards at A.

    q: heights of the ends of its segments [m], small beside its length; without weight.  The start is the moment of the
    blow, u = M^-1 w_A blow, and the reactions of the table belong to the same instant (`initialise`).  Multiplying the
    stiffness by a number only changes the pace of the motion: impulses and velocities do not depend on it.

    model "rigid": one segment; it turns about B, and D lifts without an impulse.
    model "torsion": rigid parts A-C and C-D with a torsion spring at the hinge C; the impulse at D is there at once.
    model "beam": `segments` equal parts with torsion springs between, an elastic beam for many of them.

    Parameters
    ----------
    model : "torsion", "rigid" or "beam"
    segments : number of parts of "beam"
    stiffness : EI/length of the rod [N m]: the spring of "torsion"; the springs of "beam" have `segments` times that
    table_stiffness : of the table under B and under each node beyond [N/m]; 0 for a rigid table
    overhang : distance from A to B [m]
    hinge : distance from A to C in "torsion" [m]; midway between B and D if not given
    mass, length : of the rod [kg], [m]
    blow : impulse at A [N s]

    Reference: [S00] section 4.4, Fig. 4.5, after Chatterjee.
    """
    values = {"stiffness": stiffness, "overhang": overhang, "mass": mass, "length": length, "blow": blow}
    require_positive(values, *values)
    require_positive({"table_stiffness": table_stiffness}, "table_stiffness", allow_zero=True)
    if not overhang < length:
        raise ValueError(f"overhang must be less than the length {length:g} m, got {overhang:g}.")
    places = _places(model, segments, overhang, 0.5 * (overhang + length) if hinge is None else hinge, length)
    elastic = {} if model == "rigid" else {"stiffness": stiffness}
    soft = {"table_stiffness": table_stiffness} if table_stiffness > 0.0 else {}
    system = _system(places, overhang, length, {"mass": mass, **elastic, **soft})
    q0 = np.zeros(len(places))
    struck = np.where(np.arange(len(places)) == 0, -blow, 0.0)
    shortest = float(np.diff(places).min())
    quickest = np.sqrt(stiffness * len(places) * 12.0 / (mass * shortest / length)) / shortest
    quickest = max(quickest, np.sqrt(4.0 * table_stiffness / (mass * shortest / length)))
    slowest = np.sqrt(stiffness * length / (mass * length**3))
    if soft:
        slowest = min(slowest, np.sqrt(table_stiffness / mass))
    dt = float(0.05 / quickest)
    return Scenario(
        system=system,
        q0=q0,
        u0=np.linalg.solve(system.mass(q0), struck),
        dt=dt,
        t_end=max(dt, float(1.0 / slowest)),
        title="Chatterjee's rod, struck on its overhanging end",
        source="[S00] section 4.4, Fig. 4.5",
        drawing=Drawing(_Shapes(places, overhang, length)),
        initialise=not soft,
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
    if isinstance(segments, bool) or not isinstance(segments, int) or segments < 2:
        raise ValueError(f"segments must be a whole number >= 2, got {segments!r}.")
    return [float(x) for x in np.linspace(0.0, length, segments + 1)]


def _supports(places: Sequence[float], overhang: float) -> tuple[int, float, list[int]]:
    """Segment of B and the share of its right end there; nodes beyond B."""
    i = max(k for k, x in enumerate(places[:-1]) if x <= overhang + 1e-12)
    share = (overhang - places[i]) / (places[i + 1] - places[i])
    share = round(share, 12)
    return i, share, [k for k, x in enumerate(places) if x > overhang + 1e-12]


def _heights(places: Sequence[float], overhang: float, w: Sequence[sp.Expr]) -> dict[str, sp.Expr]:
    """Heights over the table by name: B, inner nodes, D."""
    i, share, beyond = _supports(places, overhang)
    gaps = {"B": w[i] if share == 0.0 else (1.0 - share) * w[i] + share * w[i + 1]}
    inner = {"C": w[1]} if len(places) == 3 else {f"node {k}": w[k] for k in beyond[:-1]}
    return gaps | (inner if len(beyond) > 1 else {}) | {"D": w[-1]}


def _system(
    places: Sequence[float], overhang: float, length: float, parameters: dict[str, float]
) -> LagrangianSystem:
    n = len(places) - 1
    w, v = sp.symbols(f"w_0:{n + 1}"), sp.symbols(f"v_0:{n + 1}")
    mass, stiffness, table = sp.symbols("mass stiffness table_stiffness")
    gaps = _heights(places, overhang, w)
    springs = [stiffness * (1 if n == 2 else n)] * (n - 1)
    masses = [mass * ((b - a) / length) for a, b in zip(places[:-1], places[1:], strict=True)]
    soft = "table_stiffness" in parameters
    support = sum(table * sp.Max(0, -gap) ** 2 / 2 for gap in gaps.values()) if soft else 0
    return LagrangianSystem.from_energies(
        list(w),
        velocities=list(v),
        kinetic=kinetic_energy(masses, v),
        potential=bending_energy(springs, places, w) + support,
        contacts=[] if soft else [Contact(name, gap=gap) for name, gap in gaps.items()],
        parameters=parameters,
        name="chatterjee_rod",
        units={
            **{str(x): "m" for x in w},
            **{str(x): "m/s" for x in v},
            **{name: _UNITS[name] for name in parameters},
        },
    )


class _Shapes:
    """The rod as a line through its nodes; heights are drawn as they are."""

    def __init__(self, places: Sequence[float], overhang: float, length: float) -> None:
        self.places, self.overhang, self.length = tuple(places), overhang, length

    def __call__(self, q: Sequence[float], t: float, p: Mapping[str, float]) -> list[Primitive]:
        edge, far = self.overhang, self.length + 100.0
        i, share, beyond = _supports(self.places, edge)
        nodes = list(zip(self.places, q, strict=True))
        shapes: list[Primitive] = [
            rectangle(edge, far, -100.0, 0.0, "ground"),
            line((edge, 0.0), (far, 0.0)),
            line((edge, 0.0), (edge, -100.0)),
            Polyline(tuple(nodes), "body"),
        ]
        shapes += [Circle(node, 0.006 * self.length, "joint") for node in nodes[1:-1]]
        if "table_stiffness" not in p:
            shapes.append(Marker(0, (edge, (1.0 - share) * q[i] + share * q[i + 1])))
            shapes += [Marker(k + 1, nodes[node]) for k, node in enumerate(beyond)]
        return shapes
