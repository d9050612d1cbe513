"""A circuit with its step size and end time: what an entry of the library gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from stickslip.circuits.circuit import Circuit


@dataclass(frozen=True, eq=False)
class CircuitScenario:
    """A circuit ready to run.

    Attributes
    ----------
    circuit : Circuit
    dt, t_end : float
        Step size and end time that show the motion well [s].
    title, source : str
        One line for lists and figures; paper or section that the circuit comes from.
    options : dict
        Keywords of `Circuit.simulate` that suit the circuit, such as `locate`.
    """

    circuit: Circuit
    dt: float
    t_end: float
    title: str
    source: str
    options: Mapping[str, Any] = field(default_factory=dict)

    kind: ClassVar[str] = "circuit"

    @property
    def degrees_of_freedom(self) -> int:
        """Number of loops: of currents that can be chosen freely."""
        return len(self.circuit.network().links)

    @property
    def contact_names(self) -> tuple[str, ...]:
        """Names of the elements that switch; of a bridge, its diodes."""
        net = self.circuit.network()
        return tuple(net.branches[k].name for k in net.row_branches)

    def simulate(self, **options: Any) -> Any:
        """Run the circuit; keywords are those of `Circuit.simulate` and override the scenario's own values."""
        return self.circuit.simulate(**{"dt": self.dt, "t_end": self.t_end, **self.options, **options})

    def text(self) -> str:
        """Elements between their nodes, and tree and loops of the network."""
        lines = [f"{each.name}: {each.kind} between {', '.join(each.nodes)}" for each in self.circuit.elements.values()]
        return "\n".join([*lines, self.circuit.loops(), ""])

    def __repr__(self) -> str:
        return f"<CircuitScenario {self.circuit.name!r}: {self.title}; dt = {self.dt:g} s, t_end = {self.t_end:g} s>"
