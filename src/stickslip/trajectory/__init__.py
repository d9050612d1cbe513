"""Results of a simulation: the motion, its contacts, its energies, and the certificate measured on them."""

from stickslip.trajectory.certificate import FORCES, MOTORS, USUAL_TOLERANCE, Certificate, CertificateEntry
from stickslip.trajectory.contact_table import ContactTable, ReactionTable, stacked
from stickslip.trajectory.energy import Energies, EnergyBook
from stickslip.trajectory.tables import (
    ACCUMULATES,
    CLOSED,
    CLOSES,
    EVENT_KINDS,
    GRAZES,
    IMPACT,
    IMPACT_COLUMNS,
    KINK,
    OPEN,
    OPENS,
    OTHER,
    REVERSES,
    SLIP_MINUS,
    SLIP_PLUS,
    SLIPS,
    STATE_NAMES,
    STICK,
    STICKS,
    STRIKES,
    EventTable,
    ImpactTable,
)  # fmt: skip
from stickslip.trajectory.trajectory import Trajectory

__all__ = [
    "ACCUMULATES", "CLOSED", "CLOSES", "EVENT_KINDS", "FORCES", "GRAZES", "IMPACT", "IMPACT_COLUMNS", "KINK", "MOTORS",
    "OPEN", "OPENS", "OTHER", "REVERSES", "SLIPS", "SLIP_MINUS", "SLIP_PLUS", "STATE_NAMES", "STICK", "STICKS",
    "STRIKES", "USUAL_TOLERANCE", "Certificate", "CertificateEntry", "ContactTable", "Energies", "EnergyBook",
    "EventTable", "ImpactTable", "ReactionTable", "Trajectory", "stacked",
]  # fmt: skip
