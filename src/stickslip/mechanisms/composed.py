"""Set-valued elements in series and in parallel, [GS05] sections 2 and 3: elasto-plastic elements, Masing's, ropes.

Parallel elements act on one displacement: their forces add.  Elements in series carry one force: their displacements
add, and the point between them is a coordinate of the mechanism, the `node`, with an inertia of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from stickslip.mechanisms.elements import Contact, DryFriction, SpragClutch, Stop, require_number_in

Expr = Any
"""A number, a SymPy expression, or the name of a parameter."""


@dataclass(frozen=True)
class Prandtl:
    """Elasto-plastic element (Prandtl, Jenkin): a spring in series with dry friction.

        f = stiffness (displacement - node),    f in threshold Sgn(d node/dt)

    The spring acts between `displacement` x(q, t) [m] and the coordinate `node` [m], the friction between `node` and
    the ground.  The force is elastic up to `threshold` [N]; then the node slides.  Its loop between x = -X and X has
    the area 4 F (X - F / k).  The energy of the spring, stiffness (x - node)^2 / 2, is part of the system's potential;
    `LagrangianSystem.from_energies` adds it.

    The node needs a mass in the kinetic energy.  With a small one, take `MoreauJean(theta=1)`: an implicit step makes
    it follow without vibration.
    """

    name: str
    displacement: Expr
    node: Expr
    stiffness: Expr
    threshold: Expr

    def __post_init__(self) -> None:
        require_number_in(f"Prandtl element {self.name!r}: stiffness", self.stiffness, 0.0, open_end=True)
        require_number_in(f"Prandtl element {self.name!r}: threshold", self.threshold, 0.0)
        for what in ("displacement", "node", "stiffness"):
            if isinstance(getattr(self, what), str):
                raise ValueError(f"Prandtl element {self.name!r}: {what} must be a SymPy expression, not text.")

    @property
    def energy(self) -> Expr:
        """Potential energy of the spring [J]."""
        return self.stiffness * (self.displacement - self.node) ** 2 / 2

    def contacts(self) -> tuple[Contact, ...]:
        """Return the row of the friction, which is always active."""
        return DryFriction(self.name, self.node, self.threshold).contacts()


@dataclass(frozen=True)
class Masing:
    """Masing's friction: Prandtl elements in parallel, which slide one after the other.

        f(x) = sum_i min(k_i x, F_i)  on the virgin curve;    f(X) - 2 f((X - x) / 2)  on the way back from X

    The way back is the virgin curve at twice the scale (Masing's rule).  `elements` are pairs (stiffness [N/m],
    threshold [N]), `nodes` the coordinates of their sliders, one each; see `Prandtl`.
    """

    name: str
    displacement: Expr
    nodes: Sequence[Expr]
    elements: Sequence[tuple[Expr, Expr]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", tuple(self.nodes))
        object.__setattr__(self, "elements", tuple(tuple(pair) for pair in self.elements))
        if len(self.nodes) != len(self.elements) or not self.nodes:
            raise ValueError(
                f"Masing friction {self.name!r} needs a node for each of its elements, got {len(self.nodes)} nodes and "
                f"{len(self.elements)} pairs (stiffness, threshold)."
            )

    @property
    def parts(self) -> tuple[Prandtl, ...]:
        """The elements, named "<name> 1", "<name> 2", ..."""
        return tuple(
            Prandtl(f"{self.name} {i + 1}", self.displacement, node, k, F)
            for i, (node, (k, F)) in enumerate(zip(self.nodes, self.elements, strict=True))
        )

    @property
    def energy(self) -> Expr:
        """Potential energy of the springs [J]."""
        return sp.Add(*(part.energy for part in self.parts))

    def contacts(self) -> tuple[Contact, ...]:
        """Return the rows of the sliders."""
        return tuple(row for part in self.parts for row in part.contacts())

    def virgin(self, x: Expr) -> Expr:
        """Force of the first loading from x = 0, for numbers or expressions x >= 0."""
        return sum(sp.Min(k * x, F) for k, F in self.elements)


@dataclass(frozen=True)
class Rope:
    """Rope that goes slack: distance(q, t) <= length, Upr on displacement level.

        g = length - distance >= 0,    -Lambda in Upr(gamma^+ + eps gamma^-)

    `distance` and `length` [m]; `restitution` eps in [0, 1], 0 for a rope that does not spring back.
    """

    name: str
    distance: Expr
    length: Expr
    restitution: Expr = 0

    def contacts(self) -> tuple[Contact, ...]:
        """Return the contact of the rope, closed where it is taut."""
        return Stop(self.name, self.distance, upper=self.length, restitution=self.restitution).contacts()


@dataclass(frozen=True)
class Ratchet:
    """Ratchet with fine teeth: d displacement/dt >= 0, Upr on velocity level; a `SpragClutch` for displacements [m]."""

    name: str
    displacement: Expr

    def contacts(self) -> tuple[Contact, ...]:
        """Return the row of the ratchet, which is always active."""
        return SpragClutch(self.name, self.displacement).contacts()


def stored_energy(elements: Sequence[Any]) -> Expr:
    """Potential energy that elements store in springs of their own [J]."""
    return sp.Add(*(element.energy for element in elements if getattr(element, "energy", None) is not None))
