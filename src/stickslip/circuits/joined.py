"""A circuit inside a mechanism: its energies and forces in charges, to be added to those of the mechanism.

Magnetic energy is kinetic: T = 1/2 sum L i^2.  Where an inductance depends on a position x, Lagrange's equations give
the force 1/2 L'(x) i^2 on the mechanism (derivative of the co-energy) and the voltage L'(x) x' i in the circuit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import sympy as sp

from stickslip.circuits.network import CURRENT, DIODE, Branch, build
from stickslip.circuits.signals import Constant, Signal
from stickslip.mechanisms.elements import DryFriction, SpragClutch
from stickslip.mechanisms.lagrangian import LagrangianSystem

if TYPE_CHECKING:
    from stickslip.circuits.circuit import Circuit

_PAIRS = ("Zener diode", "varistor")


@dataclass(frozen=True)
class CircuitTerms:
    """Energies, forces and diodes that a circuit adds to a mechanism.

    Attributes
    ----------
    q, u : symbols of the charges and currents of its loops.
    kinetic, potential : magnetic and electric energy [J].
    forces : coordinate -> voltage of sources and resistors in its loop [V].
    contacts : diodes as sprag clutches, Zener diodes and varistors as dry friction.
    charge : element -> charge that has passed through it, as an expression of q.
    start : initial currents of the loops, in the order of u.
    """

    q: tuple[Any, ...]
    u: tuple[Any, ...]
    kinetic: Any
    potential: Any
    forces: dict[Any, Any]
    contacts: tuple[Any, ...]
    charge: dict[str, Any]
    start: tuple[float, ...]


def terms(circuit: Circuit, inductance: Mapping[str, Any] | None = None) -> CircuitTerms:
    """Energies and forces of a circuit in the charges of its loops; see `Circuit.terms`."""
    given = dict(inductance or {})
    for name in given:
        if circuit._known(name).kind != "inductor":
            raise ValueError(f"inductance= names inductors, and {name!r} is a {circuit.elements[name].kind}.")
    branches, frictions = _single_branches(circuit)
    numbers = {branch.name: k for k, branch in enumerate(branches)}
    net = build(branches, _numbers(circuit, branches, numbers), [])
    names = [branches[k].name for k in net.links]
    q = tuple(sp.Symbol(f"q_{name}") for name in names)
    u = tuple(sp.Symbol(f"i_{name}") for name in names)
    charge = [sum(int(net.B[j, k]) * q[j] for j in range(len(q))) for k in range(len(branches))]
    current = [sum(int(net.B[j, k]) * u[j] for j in range(len(u))) for k in range(len(branches))]
    kinetic, potential, forces = sp.Integer(0), sp.Integer(0), dict.fromkeys(q, sp.Integer(0))
    for k, branch in enumerate(branches):
        if branch.inductance:
            kinetic += sp.Rational(1, 2) * given.get(branch.name, branch.inductance) * current[k] ** 2
        if branch.elastance:
            potential += sp.Rational(1, 2) * branch.elastance * (branch.charge + charge[k]) ** 2
        bias = branch.threshold - frictions[branch.name] if branch.name in frictions else branch.threshold
        drop = branch.resistance * current[k] + bias + _expression(branch.source, branch.name)
        for j in range(len(q)):
            forces[q[j]] -= int(net.B[j, k]) * drop
    for name, first, second, coupling, mutual in circuit._mutual:
        ends = [given.get(each, branches[numbers[each]].inductance) for each in (first, second)]
        M = mutual if mutual is not None else coupling * sp.sqrt(ends[0] * ends[1])
        if mutual is not None and (first in given or second in given):
            raise ValueError(f"{name!r} has mutual= in henry beside an inductance that changes; give coupling=.")
        kinetic += M * current[numbers[first]] * current[numbers[second]]
    contacts: list[Any] = [SpragClutch(b.name, charge[k]) for k, b in enumerate(branches) if b.row == DIODE]
    contacts += [DryFriction(name, charge[numbers[name]], bound) for name, bound in frictions.items()]
    start = tuple(float(branches[k].initial_current) for k in net.links)
    passed = {name: charge[numbers[name]] for name in circuit.elements if name in numbers}
    return CircuitTerms(q, u, kinetic, potential, forces, tuple(contacts), passed, start)


def system(circuit: Circuit) -> LagrangianSystem:
    """The circuit alone as a mechanical system; see `Circuit.system`."""
    found = terms(circuit)
    units = {**{str(each): "C" for each in found.q}, **{str(each): "A" for each in found.u}}
    return LagrangianSystem.from_energies(
        found.q, kinetic=found.kinetic, potential=found.potential, forces=found.forces, velocities=found.u,
        contacts=found.contacts, name=circuit.name, units=units,
    )  # fmt: skip


def _single_branches(circuit: Circuit) -> tuple[list[Branch], dict[str, float]]:
    """Branches with one for each Zener diode and varistor, and the friction bounds of those [V]."""
    pairs = {e.name: e for e in circuit.elements.values() if e.kind in _PAIRS}
    frictions: dict[str, float] = {}
    branches = []
    backward = {k for e in pairs.values() for k in list(e.current)[1:]}
    for k, branch in enumerate(circuit.branches):
        if k in backward:
            continue
        if branch.name in pairs:
            other = circuit.branches[list(pairs[branch.name].current)[1]]
            frictions[branch.name] = 0.5 * (branch.threshold + other.threshold)
            branches.append(replace(branch, row=""))
            continue
        if branch.row not in ("", DIODE) or branch.kind == CURRENT or circuit.elements[branch.name].kind == "winding":
            kind = circuit.elements[branch.name].kind
            raise ValueError(
                f"{branch.name!r} is a {kind}, which a Lagrangian system does not have; simulate the circuit by itself."
            )
        branches.append(branch)
    return branches, frictions


def _numbers(circuit: Circuit, branches: list[Branch], numbers: Mapping[str, int]) -> Any:
    """Inductances in numbers; ValueError where a loop has none, as its charge would have no inertia."""
    import numpy as np

    L = np.diag([b.inductance for b in branches])
    net = build(branches, L, [])
    if not net.every_loop_has_inductance():
        raise ValueError(
            f"{circuit.name!r} has loops without an inductor, so its mass matrix is singular; simulate the circuit by "
            "itself, or give each loop a small inductance."
        )
    return L


def _expression(source: Signal | None, name: str) -> Any:
    if source is None:
        return sp.Integer(0)
    if isinstance(source, Constant):
        return source.value
    expression = getattr(source, "expression", None)
    if expression is None:
        raise ValueError(f"voltage of {name!r} must be a number or a SymPy expression of t inside a mechanism.")
    return expression
