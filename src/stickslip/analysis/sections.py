"""Sections: surfaces at which a motion is looked at once per cycle, as objects or as text.

    LevelSection("phi_S", -0.2788)           "phi_S<-0.2788"   a coordinate or velocity falls through a level
    LevelSection("phi_S", 0.0, rising=True)  "phi_S>0"         it rises through the level
    LevelSection("phi", 0.0, True, TURN)     "phi>0 mod 2pi"   an angle that goes on turning, once per turn
    ClosingSection("beak")                   "impact:beak"     a contact closes; states are taken after the impact
    PhaseSection(0.01)                       "every:0.01"      t = offset + k period [s]
    DriveSection("omega")                    "phase:omega"     every period of a parameter: 2 pi / omega, or 1 / f
                                                               where the unit of the parameter is Hz

`ensemble`, `poincare`, `limit_cycle`, `bifurcation`, `basins`, `continue_cycle` and the option `--section` take both
forms.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stickslip import codes
from stickslip.checks import Array, real_number, unknown_name
from stickslip.mechanisms.reset import Relabelling, Reset
from stickslip.mechanisms.system import System
from stickslip.scenario import Scenario, require_scenario

TURN = 2.0 * math.pi  # [rad]
_HERTZ = ("Hz", "1/s")
_HELP = "write 'phi<0.1', 'phi>0.1', 'phi>0 mod 2pi', 'impact:CONTACT', 'phase:PARAMETER' or 'every:SECONDS'"


@dataclass(frozen=True)
class LevelSection:
    """The section at which the coordinate or velocity `name` falls through `level`, or rises through it.

    name : of a coordinate or velocity of the system
    level : in its unit
    rising : True where it rises through the level; False where it falls
    turn : levels apart by this are one section, 2 pi for an angle that goes on turning; None: one level

    >>> LevelSection("phi_S", -0.2788).text
    'phi_S<-0.2788'
    >>> LevelSection("phi", 0.0, True, TURN).text
    'phi>0.0 mod 2pi'
    """

    name: str
    level: float
    rising: bool = False
    turn: float | None = None

    def __post_init__(self) -> None:
        real_number(self.level, "level of a section")
        if self.turn is not None and not real_number(self.turn, "turn of a section") > 0.0:
            raise ValueError(f"turn of a section must be positive, such as 2 pi, got {self.turn:g}.")

    def __str__(self) -> str:
        every = "" if self.turn is None else f" + k {self._turn_text()}"
        return f"{self.name} {'rises' if self.rising else 'falls'} through {self.level:g}{every}"

    def _turn_text(self) -> str:
        assert self.turn is not None
        return "2pi" if self.turn == TURN else f"{float(self.turn)!r}"

    @property
    def text(self) -> str:
        """The section as text, which `read_section` reads back."""
        every = "" if self.turn is None else f" mod {self._turn_text()}"
        return f"{self.name}{'>' if self.rising else '<'}{float(self.level)!r}{every}"

    def levels(self, low: float, high: float) -> list[float]:
        """The levels of the section between two values."""
        if self.turn is None:
            return [float(self.level)]
        first = math.floor((low - self.level) / self.turn)
        last = math.ceil((high - self.level) / self.turn)
        return [self.level + k * self.turn for k in range(first, last + 1)]

    def place(self, system: System) -> int:
        """Index of the quantity in x = (q, u); ValueError for a name that the system does not have."""
        names = (*system.coordinate_names, *system.velocity_names)
        if self.name not in names:
            raise ValueError(f"section: {unknown_name('coordinate or velocity', self.name, names)}")
        return names.index(self.name)


@dataclass(frozen=True)
class PhaseSection:
    """The section t = offset + k period, for a system that is driven with this period.

    period : [s], positive
    offset : [s]; choose it so that no impact falls on the section
    """

    period: float
    offset: float = 0.0

    def __post_init__(self) -> None:
        if not real_number(self.period, "period of a section") > 0.0:
            raise ValueError(f"period of a section must be positive [s], got {self.period:g}.")
        real_number(self.offset, "offset of a section")

    def __str__(self) -> str:
        return f"every {self.period:.6g} s"

    @property
    def text(self) -> str:
        """The section as text, which `read_section` reads back."""
        return f"every:{float(self.period)!r}"


@dataclass(frozen=True)
class ClosingSection:
    """The section at which the contact named `contact` closes; states are taken right after the impact."""

    contact: str

    def __str__(self) -> str:
        return f"contact {self.contact!r} closes"

    @property
    def text(self) -> str:
        """The section as text, which `read_section` reads back."""
        return f"impact:{self.contact}"

    def place(self, system: System) -> int:
        """Number of the contact in the system; ValueError for a name that the system does not have."""
        if self.contact not in system.contact_names:
            raise ValueError(f"section: {unknown_name('contact', self.contact, system.contact_names)}")
        return system.contact_names.index(self.contact)


@dataclass(frozen=True)
class DriveSection:
    """The section at every period of a parameter: 2 pi / parameter, or 1 / parameter where its unit is Hz.

    It is a `PhaseSection` whose period follows the parameter named `parameter`, also where the parameter is varied.
    """

    parameter: str

    def __str__(self) -> str:
        return f"every period of {self.parameter}"

    @property
    def text(self) -> str:
        """The section as text, which `read_section` reads back."""
        return f"phase:{self.parameter}"

    def cycle(self, names: tuple[str, ...], units: Mapping[str, str]) -> float:
        """One period in the unit of the parameter: 2 pi for an angular velocity, 1 for a frequency."""
        if self.parameter not in names:
            raise ValueError(f"section: {unknown_name('parameter', self.parameter, names)}")
        unit = units.get(self.parameter) or ("Hz" if self.parameter == "frequency" else "rad/s")
        return 1.0 if unit in _HERTZ else TURN

    def at(self, values: Mapping[str, float], units: Mapping[str, str]) -> PhaseSection:
        """The `PhaseSection` at given values of the parameters; ValueError where the parameter is zero or unknown."""
        cycle = self.cycle(tuple(values), units)
        value = abs(values[self.parameter])
        if not value > 0.0:
            raise ValueError(f"section: {self.parameter} must not be zero, a drive without a period, got {value:g}.")
        return PhaseSection(cycle / value)


Section = LevelSection | PhaseSection | ClosingSection
"""A section whose numbers are all known."""
AnySection = Section | DriveSection | str
"""A section as a user may give it."""

SECTIONS = {"woodpecker": LevelSection("phi_S", -0.2788)}
"""Systems whose motion settles on a cycle; the woodpecker's is the section of [GS05] Table I."""
TRAVELS = {"woodpecker": "y"}
"""Coordinates whose way per cycle, the drop, a system is known by."""


def read_section(section: Any) -> Section | DriveSection:
    """Read a section from its text, or return the section itself; ValueError for other text.

    Names are not checked yet.

    >>> read_section("phi_S<-0.2788")
    LevelSection(name='phi_S', level=-0.2788, rising=False, turn=None)
    """
    if isinstance(section, LevelSection | PhaseSection | ClosingSection | DriveSection):
        return section
    if not isinstance(section, str) or not section.strip():
        raise ValueError(
            f"section must be a LevelSection, PhaseSection, ClosingSection, DriveSection or text; {_HELP}, "
            f"got {section if isinstance(section, str) else type(section).__name__!s}."
        )
    kind, colon, rest = (part.strip() for part in section.partition(":"))
    if colon and kind == "impact":
        return ClosingSection(rest)
    if colon and kind == "phase":
        return DriveSection(rest)
    if colon and kind == "every":
        seconds = _number(rest, section)
        if not seconds > 0.0:
            raise ValueError(f"section: the seconds must be positive, got {section!r}.")
        return PhaseSection(seconds)
    found = re.fullmatch(r"(.+?)\s*([<>])\s*(.+)", section.strip())
    if found is None:
        raise ValueError(f"section cannot be read; {_HELP}, got {section!r}.")
    name, sign, level = found.groups()
    level, each, turn = (part.strip() for part in level.partition(" mod "))
    if not each:
        return LevelSection(name, _number(level, section), rising=sign == ">")
    value = TURN if turn == "2pi" else _number(turn, section)
    if not value > 0.0:
        raise ValueError(f"section: the turn must be positive, got {section!r}.")
    return LevelSection(name, _number(level, section), sign == ">", value)


def _number(part: str, text: str) -> float:
    try:
        value = float(part)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"section cannot be read; {_HELP}, got {text!r}.")
    return value


def given_section(scenario: Scenario, section: AnySection | None = None) -> Section | DriveSection:
    """The given section, else that of the scenario's reset, the system's own (`SECTIONS`), or the period of its drive.

    Raises ValueError for a system without any of them.
    """
    require_scenario(scenario, "a Poincaré section")
    system = scenario.system
    if section is not None:
        return read_section(section)
    if scenario.reset is not None and scenario.reset.section is not None:
        return read_section(scenario.reset.section)
    if system.name in SECTIONS:
        return SECTIONS[system.name]
    if "frequency" in system.parameter_names and scenario.parameters["frequency"] > 0.0 and is_driven(scenario):
        return DriveSection("frequency")
    name = system.coordinate_names[0]
    raise ValueError(
        f"system {system.name!r} has no section of its own; give one, such as LevelSection({name!r}, 0.0), that is "
        f"'{name}<0' (--section '{name}<0')."
    )


def section_of(scenario: Scenario, section: AnySection | None = None) -> Section:
    """The section of `given_section` at the parameters of the scenario, checked."""
    chosen = given_section(scenario, section)
    if isinstance(chosen, DriveSection):
        return chosen.at(scenario.parameters, scenario.system.units)
    if isinstance(chosen, LevelSection | ClosingSection):
        chosen.place(scenario.system)
    return chosen


def with_reset(scenario: Scenario, reset: Reset | None) -> Scenario:
    """The scenario with another reset; the scenario itself where none is given."""
    require_scenario(scenario, "a Poincaré section")
    return scenario if reset is None else replace(scenario, reset=reset)


def reset_of(scenario: Scenario, section: AnySection | None = None) -> Relabelling | None:
    """The reset at a section with its contacts; None where there is none, or it belongs to another section.

    Raises ValueError where the equations are others after the reset.
    """
    reset = scenario.reset
    if reset is None:
        return None
    chosen = given_section(scenario, section)
    if reset.section is not None and read_section(reset.section) != chosen:
        return None
    p, found = scenario.system.parameter_vector(scenario.params), section_of(scenario, section)
    later = found.period if isinstance(found, PhaseSection) else 0.0
    return reset.on(scenario.system, p).with_contacts(scenario.system, scenario.q0, scenario.u0, p, later)


def section_words(scenario: Scenario, section: Section, reset: Relabelling | None) -> str:
    """A section in words, with the new names that a reset gives there."""
    return str(section) if reset is None or scenario.reset is None else f"{section}, then {scenario.reset.text}"


def is_driven(scenario: Scenario) -> bool:
    """Whether the equations depend on time, through forces or through gaps that move."""
    system = scenario.system
    p = system.parameter_vector(scenario.params)

    def values(t: float) -> Array:
        parts = (system.mass(scenario.q0, t, p), system.force(scenario.q0, scenario.u0, t, p),
                 system.gap(scenario.q0, t, p), *system.geometry(scenario.q0, t, p))  # fmt: skip
        return np.concatenate([np.ravel(part) for part in parts])

    start, span = values(0.0), scenario.t_end
    return any(np.any(values(share * span) != start) for share in (0.1234567, 0.381966, 0.7))


def watched(system: System, section: Section | DriveSection | None) -> tuple[int, int, float]:
    """The section as kernels of members know it: its kind (`codes.FALLS`, ...), the number of the coordinate, velocity
    or contact, and the level.  ValueError for names that the system does not have.
    """
    if section is None:
        return codes.NO_SECTION, 0, 0.0
    if isinstance(section, LevelSection):
        if section.turn is not None:
            raise ValueError(
                f"an ensemble knows one level of a section, not one per turn, got {section.text!r}; leave the device "
                "out, or cut where a velocity or another coordinate passes a level."
            )
        return codes.RISES if section.rising else codes.FALLS, section.place(system), float(section.level)
    if isinstance(section, ClosingSection):
        return codes.STRIKES, section.place(system), 0.0
    if isinstance(section, PhaseSection) and section.offset:
        raise ValueError(
            f"a PhaseSection of an ensemble has no offset, got {section.offset:g} s; leave the device out."
        )
    if isinstance(section, DriveSection):
        section.cycle(system.parameter_names, system.units)
    return codes.PHASE, 0, 0.0


def cycles(system: System, section: PhaseSection | DriveSection, P: Array) -> Array:
    """Seconds between two points by phase for members with parameters P (n, parameters); shape (n,)."""
    if isinstance(section, PhaseSection):
        return np.full(len(P), float(section.period))
    cycle = section.cycle(system.parameter_names, system.units)
    with np.errstate(divide="ignore"):
        return cycle / np.abs(P[:, system.parameter_names.index(section.parameter)])
