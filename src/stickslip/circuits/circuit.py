"""`Circuit`: elements between named nodes, and the run of the network that they form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stickslip.checks import real_number, shown, unknown_name
from stickslip.circuits.network import (
    CAPACITOR,
    CURRENT,
    DIODE,
    INDUCTOR,
    RESISTOR,
    SWITCH,
    THYRISTOR,
    VALVE,
    VOLTAGE,
    Branch,
    Element,
    Network,
    Winding,
    build,
)
from stickslip.circuits.signals import Gate, signal
from stickslip.on_request import service


class Circuit:
    """An electrical network with ideal diodes and switches, as a non-smooth mechanical system.

    Elements lie between two nodes, which are texts.  The current of an element flows from its first to its second
    node, and its voltage is that of the first node against the second.

    Examples
    --------
    >>> net = Circuit("charge of a capacitor")
    >>> net.source("V", "a", "0", voltage=10.0)
    >>> net.resistor("R", "a", "b", 100.0)
    >>> net.capacitor("C", "b", "0", 1e-6)
    >>> run = net.simulate(dt=1e-6, t_end=1e-4, theta=0.5)
    >>> round(float(run.voltage("C")[-1]), 3)
    6.321
    """

    flow_unit, effort_unit = "A", "V"

    def __init__(self, name: str = "circuit") -> None:
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"name must be a text, got {shown(name)}.")
        self.name = name
        self.branches: list[Branch] = []
        self.elements: dict[str, Element] = {}
        self._mutual: list[tuple[str, str, str, float | None, float | None]] = []
        self._windings: list[Winding] = []

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}: {len(self.elements)} elements, {len(self.nodes())} nodes>"

    def nodes(self) -> tuple[str, ...]:
        """Names of the nodes, in the order in which they came."""
        return tuple(dict.fromkeys(node for b in self.branches for node in (b.start, b.end)))

    # Elements that are linear

    def resistor(self, name: str, a: str, b: str, resistance: float) -> None:
        """A resistor [ohm]; the damper of mechanics."""
        value = self._positive(resistance, name, "resistance", "ohm")
        self._add("resistor", Branch(name, a, b, RESISTOR, resistance=value))

    def inductor(self, name: str, a: str, b: str, inductance: float, *, current: float = 0.0) -> None:
        """An inductor [H] with its initial current [A]; the mass of mechanics."""
        value = self._positive(inductance, name, "inductance", "H")
        start = real_number(current, f"current of {name!r}")
        self._add("inductor", Branch(name, a, b, INDUCTOR, inductance=value, initial_current=start))

    def capacitor(self, name: str, a: str, b: str, capacitance: float, *, voltage: float = 0.0) -> None:
        """A capacitor [F] with its initial voltage [V]; the spring of mechanics."""
        value = self._positive(capacitance, name, "capacitance", "F")
        charge = value * real_number(voltage, f"voltage of {name!r}")
        self._add("capacitor", Branch(name, a, b, CAPACITOR, elastance=1.0 / value, charge=charge))

    def coupled(
        self, name: str, first: str, second: str, *, coupling: float | None = None, mutual: float | None = None
    ) -> None:
        """Mutual inductance of two inductors: a factor between -1 and 1, or in henry."""
        if (coupling is None) == (mutual is None):
            raise ValueError(f"{name!r} needs either coupling= (between -1 and 1) or mutual= [H].")
        if coupling is not None and not abs(real_number(coupling, f"coupling of {name!r}")) <= 1.0:
            raise ValueError(f"coupling of {name!r} must lie between -1 and 1, got {coupling:g}.")
        self._unused(name)
        for each in (first, second):
            element = self._known(each)
            if element.kind != "inductor":
                raise ValueError(f"{name!r} couples inductors, and {each!r} is a {element.kind}.")
        if first == second:
            raise ValueError(f"{name!r} couples {first!r} with itself; name two inductors.")
        self._mutual.append((name, first, second, coupling, mutual))

    def transformer(self, name: str, primary: tuple[str, str], secondary: tuple[str, str], ratio: float) -> None:
        """An ideal transformer: voltage of the primary = ratio x voltage of the secondary, no power is lost.

        Its windings are the elements `name.primary` and `name.secondary`.
        """
        value = real_number(ratio, f"ratio of {name!r}")
        if value == 0.0:
            raise ValueError(f"ratio of {name!r} must not be 0: turns of the primary by turns of the secondary.")
        self._unused(name)
        ends = {"primary": self._pair(primary, "primary", name), "secondary": self._pair(secondary, "secondary", name)}
        for word, (a, b) in ends.items():
            self._add("winding", Branch(f"{name}.{word}", a, b, VALVE))
        first = len(self.branches) - 2
        self._windings.append(Winding(name, {first: value, first + 1: 1.0}))

    # Sources

    def source(self, name: str, a: str, b: str, *, voltage: Any) -> None:
        """A voltage source [V], node a against node b: a number, a function or SymPy expression of t, or PWM."""
        self._add("source", Branch(name, a, b, VOLTAGE, source=signal(voltage, f"voltage of {name!r}")))

    def current_source(self, name: str, a: str, b: str, *, current: Any) -> None:
        """A current source [A] that drives current through itself from a to b; the prescribed motion of mechanics."""
        self._add("current source", Branch(name, a, b, CURRENT, current=signal(current, f"current of {name!r}")))

    # Elements that switch

    def diode(self, name: str, a: str, b: str, *, threshold: float = 0.0, resistance: float = 0.0) -> None:
        """A diode from anode a to cathode b: ideal, or with a forward voltage [V] and a resistance [ohm].

        0 <= i  perp  threshold + resistance i - v >= 0: the sprag clutch of mechanics.
        """
        branch = self._valve(name, a, b, threshold, resistance)
        self._add("diode", branch, {"conducts": 0})

    def zener(
        self, name: str, a: str, b: str, voltage: float, *, threshold: float = 0.0, resistance: float = 0.0
    ) -> None:
        """A Zener diode from anode a to cathode b that breaks down at `voltage` [V] from b to a.

        v = threshold for i > 0, -voltage for i < 0, in between for i = 0; `resistance` acts in both directions.  Dry
        friction with a bias force in mechanics.
        """
        breakdown = self._positive(voltage, name, "voltage", "V")
        self._pair_of_valves("Zener diode", name, a, b, threshold, breakdown, resistance)

    def varistor(self, name: str, a: str, b: str, voltage: float, *, resistance: float = 0.0) -> None:
        """A varistor, spark gap or pair of Zener diodes: v = voltage Sgn(i) [V]; dry friction in mechanics."""
        bound = self._positive(voltage, name, "voltage", "V")
        self._pair_of_valves("varistor", name, a, b, bound, bound, resistance)

    def switch(self, name: str, a: str, b: str, *, closed: Any, resistance: float = 0.0) -> None:
        """A switch: True, False, a function of t, PWM(...) with exact edges, or Feedback(...).

        One that opens under current is an impact: the flux jumps.
        """
        self._add("switch", self._gated(name, a, b, Gate(closed, f"closed of {name!r}"), resistance), {"closed": 0})

    def thyristor(
        self, name: str, a: str, b: str, *, fired: Any, threshold: float = 0.0, resistance: float = 0.0
    ) -> None:
        """A thyristor: a diode that is locked until it is fired, and again when its current has ended."""
        branch = self._valve(name, a, b, threshold, resistance)
        branch.row, branch.gate = THYRISTOR, Gate(fired, f"fired of {name!r}")
        if branch.gate.feedback is not None:
            raise ValueError(f"fired of {name!r} must be True, False, a function of t or PWM(...), got Feedback.")
        self._add("thyristor", branch, {"conducts": 0})

    def bridge(
        self, name: str, *, ac: tuple[str, str], dc: tuple[str, str], threshold: float = 0.0, resistance: float = 0.0
    ) -> None:
        """A bridge of four diodes: `name.D1` a to p, `name.D2` b to p, `name.D3` m to a, `name.D4` m to b.

        The element `name` has the current that leaves p and the voltage of p against m.
        """
        self._unused(name)
        (a, b), (p, m) = self._pair(ac, "ac", name), self._pair(dc, "dc", name)
        first = len(self.branches)
        for k, (start, end) in enumerate(((a, p), (b, p), (m, a), (m, b)), 1):
            self.diode(f"{name}.D{k}", start, end, threshold=threshold, resistance=resistance)
        self.elements[name] = Element(
            name, "bridge", (a, b, p, m), {first: 1.0, first + 1: 1.0}, {first: -1.0, first + 2: -1.0},
            {f"D{k + 1}": first + k for k in range(4)},
        )  # fmt: skip

    # The network

    def network(self) -> Network:
        """Tree, loops and matrices; ValueError for a netlist that contradicts Kirchhoff's laws."""
        n = len(self.branches)
        L = np.diag([b.inductance for b in self.branches]) if n else np.zeros((0, 0))
        for _, first, second, coupling, mutual in self._mutual:
            i, j = (next(iter(self.elements[each].current)) for each in (first, second))
            value = float(mutual) if mutual is not None else float(coupling or 0.0) * math.sqrt(L[i, i] * L[j, j])
            L[i, j] += value
            L[j, i] += value
        self._require_energy(L)
        return build(self.branches, L, self._windings)

    def _require_energy(self, L: np.ndarray) -> None:
        """Refuse couplings by which the magnetic energy could be negative, with the strongest of them."""
        coils = [k for k, branch in enumerate(self.branches) if branch.inductance > 0.0]
        values = np.linalg.eigvalsh(L[np.ix_(coils, coils)]) if self._mutual else np.ones(1)
        if values[0] >= -1e-12 * values[-1]:
            return

        def ends(item: tuple[Any, ...]) -> tuple[int, int]:
            i, j = (next(iter(self.elements[each].current)) for each in item[1:3])
            return i, j

        def share(item: tuple[Any, ...]) -> float:
            i, j = ends(item)
            return float(abs(L[i, j]) / math.sqrt(L[i, i] * L[j, j]))

        strongest = max(self._mutual, key=share)
        i, j = ends(strongest)
        name, first, second = strongest[:3]
        raise ValueError(
            f"{name!r} couples {first!r} and {second!r} too much: magnetic energy could be negative; mutual "
            f"must be at most {math.sqrt(L[i, i] * L[j, j]):g} H."
        )

    def loops(self) -> str:
        """Tree and links in words, and each loop with the direction in which it passes its branches."""
        net = self.network()
        names = [b.name for b in net.branches]
        lines = [f"tree: {', '.join(names[k] for k in net.tree)}", f"links: {', '.join(names[k] for k in net.links)}"]
        for row, link in enumerate(net.links):
            parts = [f"{'+' if net.B[row, k] > 0 else '-'}{names[k]}" for k in np.flatnonzero(net.B[row])]
            lines.append(f"loop of {names[link]}: {' '.join(parts)}")
        return "\n".join(lines)

    def terms(self, inductance: dict[str, Any] | None = None) -> Any:
        """Energies, forces and diodes in the charges of the loops (`CircuitTerms`), to join the circuit to a mechanism.

        inductance : inductor -> SymPy expression of the mechanism's coordinates, in the place of its number.  Every
            loop needs an inductor; switches, thyristors, current sources and transformers have no place here.
        """
        from stickslip.circuits.joined import terms  # SymPy: only where it is used

        return terms(self, inductance)

    def system(self) -> Any:
        """The circuit as a `LagrangianSystem` with charges as coordinates, for `ss.simulate` and all its steppers."""
        from stickslip.circuits.joined import system

        return system(self)

    def simulate(
        self,
        *,
        dt: float,
        t_end: float,
        theta: float | None = None,
        locate: bool = False,
        every: int = 1,
        tol: float = 1e-10,
        progress: Any = None,
    ) -> Any:
        """Simulate the circuit from t = 0 and return a `CircuitRun`.

        Parameters
        ----------
        dt, t_end : step and end [s].
        theta : 1/2 or 1, or between.  None: 1/2 where every loop has an inductor, else 1; with `locate`, 1 only in
            modes in which sources and capacitors alone form a loop.
        locate : cut steps at the instants at which diodes switch: second order throughout.
        every : record every N-th step.
        tol : largest residual with which a step counts as solved.
        progress : True, False, None (a bar on a terminal, after two seconds), or a function of the number of steps.
        """
        return service("simulate a circuit")(
            self, dt=dt, t_end=t_end, theta=theta, locate=locate, every=every, tol=tol, progress=progress
        )

    # Checks

    def _add(self, kind: str, branch: Branch, rows: dict[str, int] | None = None) -> None:
        self._unused(branch.name)
        self._ends(branch.name, branch.start, branch.end)
        k = len(self.branches)
        self.branches.append(branch)
        words = {word: k + offset for word, offset in (rows or {}).items()}
        ends = (branch.start, branch.end)
        self.elements[branch.name] = Element(branch.name, kind, ends, {k: 1.0}, {k: 1.0}, words)

    def _pair_of_valves(
        self, kind: str, name: str, a: str, b: str, forward: float, backward: float, resistance: float
    ) -> None:
        """Two diodes side by side in opposite directions: together dry friction with two bounds."""
        first = self._valve(name, a, b, forward, resistance)
        self._add(kind, first, {"forward": 0})
        k = len(self.branches)
        self.branches.append(self._valve(f"{name} backward", b, a, backward, resistance))
        word = "breakdown" if kind == "Zener diode" else "backward"
        self.elements[name] = Element(
            name, kind, (a, b), {k - 1: 1.0, k: -1.0}, {k - 1: 1.0}, {"forward": k - 1, word: k}
        )

    def _valve(self, name: str, a: str, b: str, threshold: float, resistance: float) -> Branch:
        return Branch(
            name, a, b, VALVE, row=DIODE,
            threshold=self._not_negative(threshold, name, "threshold", "V"),
            resistance=self._not_negative(resistance, name, "resistance", "ohm"),
        )  # fmt: skip

    def _gated(self, name: str, a: str, b: str, gate: Gate, resistance: float) -> Branch:
        held = self._not_negative(resistance, name, "resistance", "ohm")
        return Branch(name, a, b, VALVE, row=SWITCH, gate=gate, resistance=held)

    def _unused(self, name: str) -> None:
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"the name of an element must be a text, got {shown(name)}.")
        if name in self.elements or name in (each[0] for each in (*self._mutual, *self._windings)):
            raise ValueError(f"the circuit has an element {name!r} already; names must be unique.")

    def _ends(self, name: str, a: Any, b: Any) -> None:
        for node in (a, b):
            if not isinstance(node, str) or not node:
                raise ValueError(f"the nodes of {name!r} must be texts such as 'a' or '0', got {shown(node)}.")
        if a == b:
            raise ValueError(f"{name!r} has both ends at node {a!r}; it needs two nodes.")

    def _pair(self, nodes: Any, what: str, name: str) -> tuple[str, str]:
        if not isinstance(nodes, (tuple, list)) or len(nodes) != 2:
            raise ValueError(f"{what} of {name!r} must be two nodes, such as ('a', 'b'), got {shown(nodes)}.")
        self._ends(f"{name}.{what}", *nodes)
        return nodes[0], nodes[1]

    def _positive(self, value: Any, name: str, what: str, unit: str) -> float:
        number = real_number(value, f"{what} of {name!r}")
        if not number > 0.0:
            raise ValueError(f"{what} of {name!r} must be positive [{unit}], got {number:g}.")
        return number

    def _not_negative(self, value: Any, name: str, what: str, unit: str) -> float:
        number = real_number(value, f"{what} of {name!r}")
        if not number >= 0.0:
            raise ValueError(f"{what} of {name!r} must not be negative [{unit}], got {number:g}.")
        return number

    def _known(self, name: str) -> Element:
        if name not in self.elements:
            raise ValueError(unknown_name("element", name, self.elements))
        return self.elements[name]


class StateProbe:
    """Currents and voltages of a state that is not recorded; what a feedback sees."""

    def __init__(self, circuit: Circuit, net: Network, u: np.ndarray, q: np.ndarray, volts: np.ndarray) -> None:
        self._circuit, self._net, self._u, self._q, self._volts = circuit, net, u, q, volts

    def current(self, element: str) -> float:
        weights = self._circuit._known(element).current
        return float(sum(w * (self._u @ self._net.B[:, k]) for k, w in weights.items()))

    def voltage(self, element: str) -> float:
        found = self._circuit._known(element)
        if found.kind not in ("resistor", "capacitor", "source"):
            raise ValueError(
                f"a feedback sees the voltages of capacitors, resistors and sources, and {element!r} is a {found.kind}."
            )
        (k,) = found.voltage
        branch, through = self._net.branches[k], self._net.B[:, k]
        if branch.source is not None:
            return float(self._volts[self._net.source_branches.index(k)])
        stored = branch.elastance * (branch.charge + self._q @ through)
        return float(stored + branch.resistance * (self._u @ through))
