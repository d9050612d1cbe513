"""From a list of branches to loops: a tree, the loop matrix, and the matrices of the equations of motion.

Coordinates are the charges q through the links of a tree; their rates u = q' are loop currents.  With the loop matrix B
(links x branches) the branch currents are i = B^T u, and Kirchhoff's voltage law reads

    M u' + R u + K q = e(t) + W lam + G mu,   M = B L B^T,  R = B R_b B^T,  K = B C^-1 B^T,

inductance as mass, resistance as damping, 1 / C as stiffness, voltage as force, flux as impulse.  Columns of W belong
to diodes, thyristors and switches, columns of G to current sources and transformers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from stickslip.circuits.signals import Gate, Signal

VOLTAGE, CAPACITOR, VALVE, RESISTOR, INDUCTOR, CURRENT = range(6)
"""Kinds of branches in the order in which they enter the tree; inductors and current sources become links."""
DIODE, SWITCH, THYRISTOR = "diode", "switch", "thyristor"


@dataclass
class Branch:
    """One branch from node `start` to node `end`; drop = L i' + R i + (charge + q) / C + source - lam."""

    name: str
    start: str
    end: str
    kind: int
    inductance: float = 0.0
    resistance: float = 0.0
    elastance: float = 0.0  # 1 / C
    charge: float = 0.0  # of the capacitor at the beginning [C]
    initial_current: float = 0.0  # of the inductor at the beginning [A]
    source: Signal | None = None  # voltage drop [V]
    threshold: float = 0.0  # voltage drop that only dissipates: forward voltage of a diode [V]
    current: Signal | None = None  # prescribed current [A]
    row: str = ""  # DIODE, SWITCH, THYRISTOR or none
    gate: Gate | None = None


class Element(NamedTuple):
    """An element of a netlist under its name: its current and its voltage as sums over branches."""

    name: str
    kind: str
    nodes: tuple[str, ...]
    current: dict[int, float]
    voltage: dict[int, float]
    rows: dict[str, int]  # words of modes -> branches


class Winding(NamedTuple):
    """An ideal transformer: sum of turns x current is zero, voltages are in the ratio of turns."""

    name: str
    turns: dict[int, float]


@dataclass
class Network:
    """Matrices of a circuit, and which row belongs to which branch."""

    branches: list[Branch]
    tree: list[int]
    links: list[int]
    B: np.ndarray  # links x branches
    L: np.ndarray  # branches x branches
    windings: Sequence[Winding] = ()
    M: np.ndarray = field(init=False)
    R: np.ndarray = field(init=False)
    K: np.ndarray = field(init=False)
    W: np.ndarray = field(init=False)  # of diodes, thyristors, switches
    G: np.ndarray = field(init=False)  # of current sources, then transformers
    row_branches: list[int] = field(init=False)
    source_branches: list[int] = field(init=False)
    current_branches: list[int] = field(init=False)

    def __post_init__(self) -> None:
        B, branches = self.B, self.branches
        self.M = B @ self.L @ B.T
        self.R = (B * [b.resistance for b in branches]) @ B.T
        self.K = (B * [b.elastance for b in branches]) @ B.T
        self.row_branches = [k for k, b in enumerate(branches) if b.row]
        self.source_branches = [k for k, b in enumerate(branches) if b.source is not None]
        self.current_branches = [k for k, b in enumerate(branches) if b.current is not None]
        self.W = B[:, self.row_branches]
        columns = [B[:, [k]] for k in self.current_branches]
        columns += [B[:, list(w.turns)] @ np.array([list(w.turns.values())]).T for w in self.windings]
        self.G = np.hstack(columns) if columns else np.zeros((len(self.links), 0))

    @property
    def held(self) -> np.ndarray:
        """Voltages of the branches that do not change: thresholds of diodes, initial charges of capacitors [V]."""
        return -np.array([b.threshold + b.elastance * b.charge for b in self.branches])

    def every_loop_has_inductance(self) -> bool:
        """Whether every loop current carries inductance: M is regular."""
        return _regular(self.M)

    def charges_slowly(self, blocked: np.ndarray) -> bool:
        """Whether every current that charges capacitors meets inductance or resistance; `blocked` rows carry none."""
        held = np.hstack([self.W[:, blocked], self.G])
        free = _null_space(_scaled(self.M) + _scaled(self.R) + _scaled(held @ held.T))
        return float(np.abs(_scaled(self.K) @ free).max(initial=0.0)) < 1e-9


def _scaled(A: np.ndarray) -> np.ndarray:
    size = float(np.abs(A).max(initial=0.0))
    return A / size if size > 0.0 else A


def _regular(A: np.ndarray) -> bool:
    return _null_space(_scaled(A)).shape[1] == 0


def _null_space(A: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(A)
    return np.asarray(vectors[:, values <= 1e-12 * max(float(values[-1]), 1e-300)])


def build(branches: list[Branch], L: np.ndarray, windings: Sequence[Winding]) -> Network:
    """Tree and loops of a circuit; ValueError where Kirchhoff's laws contradict the sources."""
    if not branches:
        raise ValueError("the circuit has no elements; add some, such as net.resistor('R', 'a', 'b', 100.0).")
    _refuse_ends(branches)
    tree = _tree(branches)
    _refuse_loops_and_cuts(branches, tree)
    links = [k for k in range(len(branches)) if k not in tree]
    if not links:
        raise ValueError("the circuit has no loop: no current can flow; close a path between its nodes.")
    B = np.zeros((len(links), len(branches)))
    for row, link in enumerate(links):
        B[row, link] = 1.0
        for branch, sign in _path(branches, tree, branches[link].end, branches[link].start):
            B[row, branch] = sign
    return Network(branches, tree, links, B, L, windings)


def _refuse_ends(branches: list[Branch]) -> None:
    touching: dict[str, list[str]] = {}
    for branch in branches:
        for node in (branch.start, branch.end):
            touching.setdefault(node, []).append(branch.name)
    for node, names in touching.items():
        if len(names) == 1:
            raise ValueError(
                f"node {node!r} floats: only {names[0]!r} touches it, so no current can flow; connect it or leave "
                f"{names[0]!r} out."
            )


def _find(parent: dict[str, str], node: str) -> str:
    while parent.setdefault(node, node) != node:
        node = parent[node]
    return node


def _tree(branches: list[Branch]) -> list[int]:
    """Branches of a spanning tree by Kruskal's algorithm, in the order of their kinds."""
    parent: dict[str, str] = {}
    tree = []
    for k in sorted(range(len(branches)), key=lambda k: branches[k].kind):
        a, b = _find(parent, branches[k].start), _find(parent, branches[k].end)
        if a != b:
            parent[a] = b
            tree.append(k)
    return sorted(tree)


def _refuse_loops_and_cuts(branches: list[Branch], tree: list[int]) -> None:
    for k, branch in enumerate(branches):
        if branch.kind == VOLTAGE and k not in tree:
            ring = [branch.name, *(branches[j].name for j, _ in _path(branches, tree, branch.end, branch.start))]
            raise ValueError(
                f"sources {', '.join(sorted(ring))} form a loop without impedance; put a resistor between them."
            )
    for k in tree:
        if branches[k].kind == CURRENT:
            parent: dict[str, str] = {}
            for other in branches:
                if other.kind != CURRENT:
                    parent[_find(parent, other.start)] = _find(parent, other.end)
            side = _find(parent, branches[k].start)
            cut = [b.name for b in branches if (_find(parent, b.start) == side) != (_find(parent, b.end) == side)]
            raise ValueError(
                f"current sources {', '.join(sorted(cut))} are the only way to node {branches[k].start!r}: their "
                "currents cannot be chosen; put a resistor or a capacitor beside one of them."
            )


def _path(branches: list[Branch], tree: list[int], start: str, end: str) -> list[tuple[int, float]]:
    """Branches of the tree from one node to another, with the sign of traversal."""
    before: dict[str, tuple[str, int, float]] = {}
    waiting = [start]
    while waiting:
        node = waiting.pop()
        if node == end:
            break
        for k in tree:
            b = branches[k]
            for here, there, sign in ((b.start, b.end, 1.0), (b.end, b.start, -1.0)):
                if here == node and there not in before and there != start:
                    before[there] = (node, k, sign)
                    waiting.append(there)
    path = []
    while end != start:
        end, k, sign = before[end]
        path.append((k, sign))
    return path[::-1]
