"""Electrical and hydraulic networks with ideal diodes and switches ([GS05] section 6: the other networks).

Charges are coordinates, currents velocities, inductances masses: a diode is a unilateral constraint on a velocity.
"""

from stickslip.circuits.circuit import Circuit
from stickslip.circuits.hydraulics import HydraulicCircuit
from stickslip.circuits.run import CircuitCertificate, CircuitEnergies, CircuitRun
from stickslip.circuits.signals import PWM, Feedback

__all__ = ["PWM", "Circuit", "CircuitCertificate", "CircuitEnergies", "CircuitRun", "Feedback", "HydraulicCircuit"]
