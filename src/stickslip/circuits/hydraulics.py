"""Hydraulic words for circuits: volume for charge, flow for current, pressure for voltage."""

from __future__ import annotations

from typing import Any

from stickslip.circuits.circuit import Circuit
from stickslip.circuits.signals import Gate


class HydraulicCircuit(Circuit):
    """A hydraulic network: the elements of `Circuit` under hydraulic names.

    Pressures in Pa, flows in m^3/s.  In a run, `current` is the flow and `voltage` the pressure difference.
    """

    flow_unit, effort_unit = "m3/s", "Pa"

    def pipe(self, name: str, a: str, b: str, inertance: float, *, flow: float = 0.0) -> None:
        """The inertia of the fluid in a pipe: density x length / area [kg/m^4], with its initial flow [m^3/s]."""
        self.inductor(name, a, b, self._positive(inertance, name, "inertance", "kg/m4"), current=flow)

    def throttle(self, name: str, a: str, b: str, resistance: float) -> None:
        """A laminar throttle: pressure difference = resistance x flow [Pa s/m^3]."""
        self.resistor(name, a, b, self._positive(resistance, name, "resistance", "Pa s/m3"))

    def accumulator(self, name: str, a: str, b: str, capacity: float, *, pressure: float = 0.0) -> None:
        """An accumulator: volume = capacity x pressure [m^3/Pa], with its initial pressure [Pa]."""
        self.capacitor(name, a, b, self._positive(capacity, name, "capacity", "m3/Pa"), voltage=pressure)

    def pump(self, name: str, suction: str, outlet: str, *, flow: Any = None, pressure: Any = None) -> None:
        """A pump from its suction side to its outlet, with a given flow [m^3/s] or a given pressure rise [Pa]."""
        if (flow is None) == (pressure is None):
            raise ValueError(f"pump {name!r} needs either flow= [m3/s] or pressure= [Pa].")
        if flow is not None:
            self.current_source(name, suction, outlet, current=flow)
        else:
            self.source(name, outlet, suction, voltage=pressure)

    def check_valve(self, name: str, a: str, b: str, *, cracking: float = 0.0, resistance: float = 0.0) -> None:
        """A check valve that lets fluid pass from a to b; it opens at the pressure `cracking` [Pa]."""
        opens_at = self._not_negative(cracking, name, "cracking", "Pa")
        self.diode(name, a, b, threshold=opens_at, resistance=resistance)

    def relief_valve(self, name: str, a: str, b: str, pressure: float, *, resistance: float = 0.0) -> None:
        """A relief valve from a to b: closed below its set pressure [Pa], then it holds that pressure."""
        self.diode(name, a, b, threshold=self._positive(pressure, name, "pressure", "Pa"), resistance=resistance)

    def valve(self, name: str, a: str, b: str, *, open: Any, resistance: float = 0.0) -> None:
        """A valve that is open or shut: True, False, a function of t, PWM(...) or Feedback(...)."""
        self._add("valve", self._gated(name, a, b, Gate(open, f"open of {name!r}"), resistance), {"open": 0})
