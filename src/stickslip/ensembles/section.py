"""Sections: where the motion of a member is cut, so that its cycles can be counted and its points kept.

"phi_S<-0.2788"   a coordinate or velocity falls through a level
"phi_S>0"         it rises through the level
"impact:beak"     a contact strikes
"phase:omega"     every period of a parameter: 2 pi / omega, or 1 / f where its unit is Hz
"every:0.01"      every so many seconds
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip import codes
from stickslip.analysis.cycle import SECTIONS
from stickslip.checks import Array, unknown_name
from stickslip.mechanisms.system import System

_HELP = "write 'phi<0.1', 'phi>0.1', 'impact:CONTACT', 'phase:PARAMETER' or 'every:SECONDS'"


@dataclass(frozen=True)
class Cut:
    """A checked section.

    Attributes
    ----------
    kind : code of the kernel, `midpoint.FALLS`, `RISES`, `STRIKES`, `PHASE` or `NO_SECTION`.
    place : number of the coordinate, of the velocity behind the coordinates, or of the contact.
    level : value that the quantity passes.
    cycle : seconds between two points by phase; where a parameter is named, `frequency` is its number and `cycle` the
        angle of a period in its unit: 2 pi, or 1 for Hz.
    """

    kind: int = codes.NO_SECTION
    place: int = 0
    level: float = 0.0
    cycle: float = 0.0
    frequency: int = -1
    text: str = ""

    def cycles(self, P: Array) -> Array:
        """Seconds between two points for members with parameters P (n, parameters); shape (n,)."""
        if self.frequency < 0:
            return np.full(len(P), self.cycle)
        with np.errstate(divide="ignore"):
            return self.cycle / np.abs(P[:, self.frequency])


def default_section(system: System) -> str | None:
    """The section that a library system is known by, as text."""
    known = SECTIONS.get(system.name)
    return None if known is None else f"{known.place}<{known.level!r}"


def default_travel(system: System) -> str | None:
    """The coordinate whose way per cycle the system is known by."""
    known = SECTIONS.get(system.name)
    return None if known is None else known.travel


def cut_of(system: System, text: Any) -> Cut:
    """Read a section, or ValueError."""
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"section must be text; {_HELP}, got {text!r}.")
    kind, colon, rest = (part.strip() for part in text.partition(":"))
    if colon and kind == "impact":
        if rest not in system.contact_names:
            raise ValueError(f"section: {unknown_name('contact', rest, system.contact_names)}")
        return Cut(codes.STRIKES, system.contact_names.index(rest), text=text)
    if colon and kind == "phase":
        if rest not in system.parameter_names:
            raise ValueError(f"section: {unknown_name('parameter', rest, system.parameter_names)}")
        angle = 1.0 if system.units.get(rest) in ("Hz", "1/s") else 2.0 * math.pi
        return Cut(codes.PHASE, cycle=angle, frequency=system.parameter_names.index(rest), text=text)
    if colon and kind == "every":
        seconds = _number(rest, text)
        if not seconds > 0.0:
            raise ValueError(f"section: the seconds must be positive, got {text!r}.")
        return Cut(codes.PHASE, cycle=seconds, text=text)
    found = re.fullmatch(r"(.+?)\s*([<>])\s*(.+)", text.strip())
    if found is None:
        raise ValueError(f"section cannot be read; {_HELP}, got {text!r}.")
    name, sign, level = found.groups()
    known = (*system.coordinate_names, *system.velocity_names)
    if name not in known:
        raise ValueError(f"section: {unknown_name('coordinate or velocity', name, known)}")
    return Cut(codes.FALLS if sign == "<" else codes.RISES, known.index(name), _number(level, text), text=text)


def _number(part: str, text: str) -> float:
    try:
        value = float(part)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"section cannot be read; {_HELP}, got {text!r}.")
    return value
