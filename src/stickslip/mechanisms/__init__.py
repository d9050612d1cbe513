"""Mechanical systems: what they answer, their derivation from energies, and the elements between their parts.

Names are loaded on first use: `mechanisms.system` alone needs no SymPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stickslip.mechanisms.elements import Contact, DryFriction, PrestressedSpring, SpragClutch, Stop
    from stickslip.mechanisms.joints import Link, RevoluteClearanceJoint, TranslationalClearanceJoint, link_energies
    from stickslip.mechanisms.lagrangian import LagrangianSystem
    from stickslip.mechanisms.symbolic import Equations
    from stickslip.mechanisms.system import System

__all__ = [
    "Contact",
    "DryFriction",
    "Equations",
    "LagrangianSystem",
    "Link",
    "PrestressedSpring",
    "RevoluteClearanceJoint",
    "SpragClutch",
    "Stop",
    "System",
    "TranslationalClearanceJoint",
    "link_energies",
]

_MODULES = {
    "Contact": "elements",
    "DryFriction": "elements",
    "Equations": "symbolic",
    "LagrangianSystem": "lagrangian",
    "Link": "joints",
    "PrestressedSpring": "elements",
    "RevoluteClearanceJoint": "joints",
    "SpragClutch": "elements",
    "Stop": "elements",
    "System": "system",
    "TranslationalClearanceJoint": "joints",
    "link_energies": "joints",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
