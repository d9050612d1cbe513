"""Ready-made circuits with ideal diodes and switches: rectifiers and a converter."""

from __future__ import annotations

import math
from collections.abc import Callable

import sympy as sp

from stickslip.circuits.circuit import Circuit
from stickslip.circuits.scenario import CircuitScenario
from stickslip.circuits.signals import PWM
from stickslip.scenario import require_positive

__all__ = ["bridge_rectifier", "buck_converter", "half_wave_rectifier"]


def half_wave_rectifier(
    *, amplitude: float = 100.0, frequency: float = 50.0, resistance: float = 10.0, inductance: float = 0.05
) -> CircuitScenario:
    """Return a source, a diode, a resistor and an inductor in one loop.

    The inductor keeps the current going when the source has changed its sign: the diode blocks at the angle beta with
    sin(beta - phi) + sin(phi) exp(-beta / tan(phi)) = 0, tan(phi) = omega L / R.  The mean current is
    amplitude (1 - cos(beta)) / (2 pi R).

    Parameters
    ----------
    amplitude, frequency : of the source [V], [Hz]
    resistance, inductance : of the load [ohm], [H]

    Reference: [GS05] section 6.
    """
    require_positive(locals(), "amplitude", "frequency", "resistance", "inductance")
    t = sp.Symbol("t")
    net = Circuit("half wave rectifier")
    net.source("V", "a", "0", voltage=amplitude * sp.sin(2 * sp.pi * frequency * t))
    net.diode("D", "a", "b")
    net.resistor("R", "b", "c", resistance)
    net.inductor("L", "c", "0", inductance)
    period = 1.0 / frequency
    return CircuitScenario(
        net, period / 400, 5.0 * period, "Half-wave rectifier with resistor and inductor", "[GS05] section 6",
        {"locate": True},
    )  # fmt: skip


def bridge_rectifier(
    *,
    amplitude: float = 20.0,
    frequency: float = 50.0,
    source_resistance: float = 0.5,
    source_inductance: float = 1e-3,
    capacitance: float = 1e-3,
    resistance: float = 100.0,
    voltage: float = 18.4,
) -> CircuitScenario:
    """Return a source behind a resistor and an inductor, a bridge of four diodes, a capacitor and a load.

    Parameters
    ----------
    amplitude, frequency : of the source [V], [Hz]
    source_resistance, source_inductance : between source and bridge [ohm], [H]
    capacitance, resistance : behind the bridge [F], [ohm]
    voltage : of the capacitor at the start [V]

    Reference: [GS05] section 6.
    """
    require_positive(locals(), "amplitude", "frequency", "source_resistance", "source_inductance", "capacitance",
                     "resistance")  # fmt: skip
    t = sp.Symbol("t")
    net = Circuit("bridge rectifier")
    net.source("V", "s", "b", voltage=amplitude * sp.sin(2 * sp.pi * frequency * t))
    net.resistor("Rs", "s", "s2", source_resistance)
    net.inductor("Ls", "s2", "a", source_inductance)
    net.bridge("B", ac=("a", "b"), dc=("p", "m"))
    net.capacitor("C", "p", "m", capacitance, voltage=voltage)
    net.resistor("R", "p", "m", resistance)
    period = 1.0 / frequency
    return CircuitScenario(
        net, period / 400, 5.0 * period, "Diode bridge with capacitor and load", "[GS05] section 6", {"locate": True}
    )


def buck_converter(
    *,
    input_voltage: float = 24.0,
    duty: float = 0.5,
    frequency: float = 1e4,
    inductance: float = 1e-3,
    capacitance: float = 1e-4,
    resistance: float = 100.0,
) -> CircuitScenario:
    """Return a converter that lowers a voltage: a switch, a diode, an inductor, a capacitor and a load.

    With a large load resistance the current ends before the next pulse (discontinuous conduction), and the mean output
    is V 2 / (1 + sqrt(1 + 8 L f / (R duty^2))); with a small one it is duty V.  The capacitor starts at this voltage.

    Parameters
    ----------
    input_voltage : [V]
    duty : share of a period in which the switch is closed, between 0 and 1
    frequency : of the pulses [Hz]
    inductance, capacitance, resistance : [H], [F], [ohm]

    Reference: [GS05] section 6.
    """
    require_positive(locals(), "input_voltage", "duty", "frequency", "inductance", "capacitance", "resistance")
    if not duty < 1.0:
        raise ValueError(f"duty must be less than 1, got {duty:g}.")
    K = 2.0 * inductance * frequency / resistance
    start = input_voltage * max(duty, 2.0 / (1.0 + math.sqrt(1.0 + 4.0 * K / duty**2)))
    net = Circuit("buck converter")
    net.source("V", "in", "0", voltage=input_voltage)
    net.switch("S", "in", "x", closed=PWM(1.0 / frequency, duty))
    net.diode("D", "0", "x")
    net.inductor("L", "x", "out", inductance)
    net.capacitor("C", "out", "0", capacitance, voltage=start)
    net.resistor("R", "out", "0", resistance)
    return CircuitScenario(
        net, 0.01 / frequency, 20.0 / frequency, "Buck converter: switch, diode, inductor and capacitor",
        "[GS05] section 6", {"locate": True},
    )  # fmt: skip


ENTRIES: dict[str, Callable[..., CircuitScenario]] = {
    entry.__name__: entry for entry in (half_wave_rectifier, bridge_rectifier, buck_converter)
}
"""The circuits as entries of `stickslip.library`, by name."""
