"""What a simulation returns: the motion, its contacts, its energies, and the certificate measured on them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.checks import unknown_name
from stickslip.codes import CONTACT
from stickslip.on_request import service

OPEN, STICK, SLIP_PLUS, SLIP_MINUS, IMPACT, CLOSED = range(6)
STATE_NAMES = ("open", "stick", "slip+", "slip-", "impact", "closed")
"""closed: a contact without friction that carries load; slip+ and slip- by the sign of gamma_T."""

IMPACT_COLUMNS = (
    "time",
    "contact",
    "normal_velocity_before",
    "normal_velocity_after",
    "normal_impulse",
    "tangential_impulse",
    "tangential_velocity_before",
    "tangential_velocity_after",
)
EVENT_KINDS = (
    "impact", "closes", "opens", "sticks", "slips", "slip reverses", "accumulation ends", "grazes", "kink",
)  # fmt: skip
"""What can happen to a contact: an impact, a change of its state, the end of infinitely many impacts, a gap that turns
right at zero, and a kink of its gap or slip that is passed."""
STRIKES, CLOSES, OPENS, STICKS, SLIPS, REVERSES, ACCUMULATES, GRAZES, KINK = range(len(EVENT_KINDS))
OTHER = "other"  # the column that the impacts of a scene have besides


FORCES, MOTORS = 1, 2
"""What does work beside contacts and potentials: see `Certificate.forced`."""
USUAL_TOLERANCE = 1e-10
"""Tolerance of a step's residual unless a run asks for another one."""
_ROUNDING = 1e-12
"""Share of the energy in play below which an energy gain is rounding, and is called none in words."""
_STEPS, _WORK = "by the steps", "work of applied forces and steps"  # names of entries of a certificate
_RULE_GAIN = 0.01  # share of the energy in play that an integration rule may add without a warning


@dataclass(frozen=True)
class Certificate:
    """Proof that comes with a trajectory, measured on what was returned.

    Attributes
    ----------
    failed_steps : steps that were not solved to the tolerance, the one at which a run stopped among them (0 in a clean
        run).
    max_residual : worst violation of the contact laws in any step, relative to the velocities in it.
    tolerance : largest residual with which a step counts as solved; 0 where it is not known.
    max_penetration : deepest negative gap seen at a midpoint or in the records [m].
    max_energy_gain : largest energy that the contacts put in during one step, Lambda . (gamma_A + gamma_E) / 2 [J]; in
        a scene what its motors do in a step is part of it.
    max_lcp_size : largest LCP solved or implied, three rows per closed frictional contact.
    fallbacks : steps in which the cheap solver was not enough and a later stage of `auto` solved the step.
    contact_work : energy that the contacts, and the motors, limits and friction of a scene's joints, put in over the
        whole run, negative where they dissipate [J].
    projection_energy : energy that position projection added (removed where negative) [J]; 0 without projection.
    projections : steps in which positions were projected.
    integration_energy : energy that the steps themselves added besides contacts and projection [J]: discretisation of
        the smooth motion, work of forces without a potential and of walls that move, bodies that appear or vanish.
        With projection it is summed up step by step; without, it is what E_end - E_0 - contact_work leaves, which is
        the same quantity.  nan where the potential is not known.
    energy_in_play : largest of kinetic energy, range of potential energy and size of contact_work in the records [J]:
        the energy with which gains are compared.  At rest, what the forces would give in one step, or 1e-10 of the
        potential energy.  0 where it is not known, nan where the potential is not.
    forced : what else does work, as a sum.  `FORCES`: forces without a potential, driven bodies, moving walls or bodies
        that come and go, whose work is in `integration_energy` beside the error of the rule.  `MOTORS`: motors of
        joints, whose work is in `max_energy_gain` and `contact_work`.
    friction_rounds : most solves of one step's contact problem that friction laws asked for (0 with constant friction).
    friction_contraction : largest contraction Lambda_N beta |mu'| of their fixed point in any step; at 1 and beyond a
        step may have several solutions.
    max_joint_error : farthest that a joint of a scene was apart at a midpoint [m]; wrong turns times the reach of its
        bodies.
    restitution_left_out : how often an island of a scene was solved without the restitution of some of its contacts,
        because with it Newton's law and friction, or neighbours, contradict one another.
    max_integration_gain : largest energy that the joints of a scene, which do no work, put in during one step [J]: an
        error of the time-stepping rule, that a smaller dt makes smaller.
    """

    failed_steps: int = 0
    max_residual: float = 0.0
    max_penetration: float = 0.0
    max_energy_gain: float = 0.0
    max_lcp_size: int = 0
    fallbacks: int = 0
    contact_work: float = 0.0
    projection_energy: float = 0.0
    projections: int = 0
    integration_energy: float = 0.0
    friction_rounds: int = 0
    friction_contraction: float = 0.0
    max_joint_error: float = 0.0
    restitution_left_out: int = 0
    max_integration_gain: float = 0.0
    tolerance: float = 0.0
    energy_in_play: float = 0.0
    forced: int = 0

    @classmethod
    def worst(cls, certificates: Sequence[Certificate]) -> Certificate:
        """What holds for several runs together: the largest of every number, the smallest energy in play.

        `integration_energy` is the one of largest size.  A number that one of the runs does not know is not known.
        """
        found: dict[str, Any] = {}
        for item in fields(cls):
            values = np.array([getattr(certificate, item.name) for certificate in certificates], dtype=float)
            if item.name == "energy_in_play":
                value = values.min()
            elif item.name in ("integration_energy", "contact_work", "projection_energy"):
                value = math.nan if np.isnan(values).any() else values[np.argmax(np.abs(values))]
            else:
                value = values.max()
            found[item.name] = int(value) if isinstance(item.default, int) else float(value)
        return cls(**found)

    def share(self, energy: float) -> float:
        """An energy [J] as a share of the energy in play; 0 for rounding, nan where either is not known."""
        if energy == 0.0:
            return 0.0
        share = energy / self.energy_in_play if self.energy_in_play != 0.0 else math.copysign(math.inf, energy)
        return 0.0 if abs(share) <= _ROUNDING else share

    @property
    def rule_share(self) -> float:
        """Energy that the integration rule added, as a share of the energy in play; nan where forces did work, too."""
        return math.nan if self.forced & FORCES else self.share(self.integration_energy)

    def doubts(self) -> list[str]:
        """What a reader should not overlook, each with what helps."""
        if self.rule_share > _RULE_GAIN:
            return [f"the steps put in {_percent(self.rule_share)} of the energy in play, try a smaller dt"]
        return []

    def entries(self) -> list[CertificateEntry]:
        """What a reader judges a run by: name, value in words, and the meaning of the number."""
        places = "contacts and motors" if self.forced & MOTORS else "contacts"
        rows = [
            ("failed steps", f"{self.failed_steps}", "Steps whose contact problem was not solved to the tolerance"),
            (
                "worst residual",
                f"{_or_none(self.max_residual)}{self._held_to()}",
                "Violation of the contact laws in any step, relative to the velocities in it",
            ),
            ("deepest penetration", _or_none(self.max_penetration, " m"), "Deepest overlap of bodies that touch"),
            (
                f"energy gained at {places}",
                self._gain(self.max_energy_gain),
                f"Largest energy that {places} put in during one step, as a share of the energy in play",
            ),
            self._by_the_steps(),
        ]
        if self.projections:
            rows.insert(
                -1,
                (
                    "by shifts of positions",
                    self._gain(self.projection_energy),
                    "Energy that shifts of bodies out of one another added, as a share of the energy in play",
                ),
            )
        if self.max_joint_error > 0.0:
            rows.append(
                (
                    "largest joint error",
                    f"{self.max_joint_error:.1e} m",
                    "Farthest that the parts of a joint were apart",
                )
            )
        if self.restitution_left_out:
            rows.append(
                (
                    "restitution left out",
                    f"{self.restitution_left_out} times",
                    "Groups of contacts where Newton's law of restitution and friction contradict one another",
                )
            )
        return [CertificateEntry(*row) for row in rows]

    def _by_the_steps(self) -> tuple[str, str, str]:
        """Energy that the rule added; beside forces without a potential it cannot be told from their work, no error."""
        if not self.forced & FORCES:
            meaning = "Energy that the steps themselves added, as a share of the energy in play"
            return _STEPS, self._gain(self.integration_energy), meaning
        work = self.integration_energy
        value = "unknown" if math.isnan(work) else "none" if self.share(work) == 0.0 else f"{_short(work)} J"
        meaning = "Energy that applied forces and driven bodies put in, no error by itself; that of the steps is in it"
        return _WORK, value, meaning

    def _held_to(self) -> str:
        if self.tolerance == 0.0:
            return ""
        loosened = f", loosened from {USUAL_TOLERANCE:.0e}" if self.tolerance > USUAL_TOLERANCE else ""
        return f" (tolerance {_power(self.tolerance)}{loosened})"

    def _gain(self, energy: float) -> str:
        """An energy gain in words: a share where the energy in play is known, else joules."""
        share = self.share(energy)
        if share == 0.0:
            return "none"
        if not math.isfinite(share):
            return "unknown" if math.isnan(energy) else f"{energy:.1e} J"
        return _percent(share)

    def to_dict(self) -> dict[str, float | int]:
        return dict(self.__dict__)

    def __str__(self) -> str:
        failed = f"{self.failed_steps} failed step{'' if self.failed_steps == 1 else 's'}"
        play = {}
        if self.energy_in_play > 0.0:
            size = _short(self.energy_in_play)
            play = {_STEPS: f" (of {size} J in play)", _WORK: f" ({size} J in play)"}
        parts = [failed]
        for entry in self.entries()[1:]:
            parts.append(f"{entry.name} {entry.value}{play.get(entry.name, '')}")
        return ", ".join(parts)


@dataclass(frozen=True)
class CertificateEntry:
    """One line of a certificate: its name, its value in words, and what it means."""

    name: str
    value: str
    meaning: str


def _percent(share: float) -> str:
    """A share in words, in percent."""
    return f"{_short(100.0 * share)} %"


def _short(value: float) -> str:
    """Two digits of a number; all before the point where there are three to six."""
    return f"{value:,.0f}" if 99.5 <= abs(value) < 1e6 else f"{value:.2g}"


def _power(value: float) -> str:
    """A tolerance with its power of ten, and two digits where one would not be true: 1e-10, 1.5e-10."""
    text = f"{value:.0e}"
    return text if math.isclose(float(text), value, rel_tol=1e-6) else f"{value:.1e}"


def _or_none(value: float, unit: str = "") -> str:
    """A measured size in words: `none` instead of a zero."""
    return "none" if value == 0.0 else f"{value:.1e}{unit}"


@dataclass(frozen=True)
class EnergyBook:
    """Where the energy of a run went [J]: start + contacts + projection + integration + unexplained = end.

    Attributes
    ----------
    start, end : total energy of the first and the last record.
    contacts, projection, integration : as `contact_work`, `projection_energy`, `integration_energy` of `Certificate`;
        the first holds what the motors and the friction of a scene's joints do, too, the last the work of applied
        forces without a potential, such as a push or a drive.
    unexplained : what is left; rounding errors.
    """

    start: float
    end: float
    contacts: float
    projection: float
    integration: float

    @property
    def unexplained(self) -> float:
        return self.end - self.start - (self.contacts + self.projection + self.integration)

    def to_dict(self) -> dict[str, float]:
        return {**self.__dict__, "unexplained": self.unexplained}

    def __str__(self) -> str:
        return "\n".join(f"{name:<12}{value:>24.15g} J" for name, value in self.to_dict().items())


@dataclass(frozen=True)
class Energies:
    """Kinetic, potential and total energy at each record [J], shape (n,); nan where the potential is not known."""

    kinetic: np.ndarray
    potential: np.ndarray

    @property
    def total(self) -> np.ndarray:
        return self.kinetic + self.potential


@dataclass(frozen=True)
class ImpactTable:
    """One row per impact; columns are arrays, `table["time"]`, and `len(table)` counts them.

    `contact` holds contact numbers; `names` translates them.  Columns: see `IMPACT_COLUMNS`; velocities [m/s] before
    and after the step, impulses [N s].  In a scene the contacts are its bodies: `contact` is one of the two, never a
    static one, and a column `other` has the second, -1 where that is static; which of two comes first means nothing.
    """

    columns: dict[str, np.ndarray]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.columns["time"])

    def __getitem__(self, key: str) -> np.ndarray:
        if key not in self.columns:
            raise KeyError(f"no column {key!r}; the columns are {', '.join(self.columns)}")
        return self.columns[key]

    def of(self, contact: str) -> ImpactTable:
        """The impacts of one contact, by name; in a scene those of one body, be it the first or the second of two."""
        if contact not in self.names:
            raise ValueError(unknown_name("contact", contact, self.names))
        number = self.names.index(contact)
        mask = self.columns["contact"] == number
        if OTHER in self.columns:
            mask = mask | (self.columns[OTHER] == number)
        return ImpactTable({key: value[mask] for key, value in self.columns.items()}, self.names)

    def counts(self) -> dict[str, int]:
        """How many impacts each contact has, by name; in a scene an impact of two bodies counts for both."""
        numbers = np.concatenate([self.columns["contact"], self.columns.get(OTHER, np.zeros(0, np.int64))])
        found = np.bincount(numbers[numbers >= 0], minlength=len(self.names))
        return dict(zip(self.names, found.tolist(), strict=True))

    def to_pandas(self) -> Any:
        """As a pandas DataFrame with contact names, that of a static body ""."""
        import pandas as pd

        names = np.array((*self.names, ""), dtype=object)  # number -1 is the last
        return pd.DataFrame(
            {key: names[value] if key in ("contact", OTHER) else value for key, value in self.columns.items()}
        )

    def __str__(self) -> str:
        rows, names = [" ".join(f"{key:>26}" for key in self.columns)], (*self.names, "-")
        shown = min(len(self), 20)
        for i in range(shown):
            cells = [
                names[int(value[i])] if key in ("contact", OTHER) else f"{value[i]:.9g}"
                for key, value in self.columns.items()
            ]
            rows.append(" ".join(f"{cell:>26}" for cell in cells))
        if shown < len(self):
            rows.append(f"... {len(self) - shown} more")
        return "\n".join(rows)


@dataclass(frozen=True, eq=False)
class EventTable:
    """What happened to the contacts of a run, one row per event and contact, in the order of time.

    Attributes
    ----------
    time : (n,) [s]
    kind : (n,) words of `EVENT_KINDS`
    contact : (n,) names
    exact : whether times are those of the events (event-driven); else changes of state have the times of the records
        that show them, and what is between two records is not seen
    names : of all contacts of the run
    """

    time: np.ndarray
    kind: np.ndarray
    contact: np.ndarray
    exact: bool
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, rows: Sequence[tuple[float, int, int]], names: tuple[str, ...], exact: bool) -> EventTable:
        """From rows of time, number of the kind, and number of the contact."""
        ordered = sorted(rows, key=lambda row: row[0])
        return cls(
            np.array([row[0] for row in ordered], dtype=float),
            np.array([EVENT_KINDS[row[1]] for row in ordered], dtype=str),
            np.array([(*names, "")[row[2]] for row in ordered], dtype=str),  # -1: none, a kink of the forces
            exact,
            names,
        )

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, key: str) -> np.ndarray:
        if key not in ("time", "kind", "contact"):
            raise KeyError(f"no column {key!r}; the columns are time, kind, contact")
        column: np.ndarray = getattr(self, key)
        return column

    def of_kind(self, kind: str) -> EventTable:
        """The events of one kind."""
        if kind not in EVENT_KINDS:
            raise ValueError(unknown_name("kind of event", kind, EVENT_KINDS))
        return self._where(self.kind == kind)

    def of_contact(self, contact: str) -> EventTable:
        """The events of one contact, by name."""
        if contact not in self.names:
            raise ValueError(unknown_name("contact", contact, self.names))
        return self._where(self.contact == contact)

    def _where(self, mask: np.ndarray) -> EventTable:
        return EventTable(self.time[mask], self.kind[mask], self.contact[mask], self.exact, self.names)

    def counts(self) -> dict[str, int]:
        """How many events there are of each kind that occurs."""
        return {kind: int((self.kind == kind).sum()) for kind in EVENT_KINDS if np.any(self.kind == kind)}

    def to_pandas(self) -> Any:
        """As a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame({"time": self.time, "kind": self.kind, "contact": self.contact})

    def __str__(self) -> str:
        return "\n".join(self.lines(40))

    def lines(self, most: int | None = None) -> list[str]:
        """The table as text: a heading, then a line per event, or the first `most` and how many there are."""
        shown = len(self) if most is None else min(len(self), most)
        width = max((len(kind) for kind in self.kind[:shown]), default=4)
        rows = [f"{'time [s]':>18}  {'kind':<{width}}  contact"]
        rows += [f"{self.time[i]:>18.12g}  {self.kind[i]:<{width}}  {self.contact[i]}" for i in range(shown)]
        if shown < len(self):
            rows.append(
                f"... {len(self) - shown} more: {', '.join(f'{n} {kind}' for kind, n in self.counts().items())}"
            )
        return rows


def _seen_events(t: np.ndarray, states: np.ndarray, impacts: ImpactTable) -> list[tuple[float, int, int]]:
    """The events that records (n,) and (n, c) and the table of impacts show; the first record has no step before it."""
    rows = [(float(time), STRIKES, int(k)) for time, k in zip(impacts["time"], impacts["contact"], strict=True)]
    for k in range(states.shape[1]):
        told = np.flatnonzero(states[1:, k] != IMPACT) + 1
        seen = states[told, k]
        for i in np.flatnonzero(seen[1:] != seen[:-1]):
            last, state = seen[i], seen[i + 1]
            if OPEN in (state, last):
                kind = CLOSES if last == OPEN else OPENS
            else:
                kind = STICKS if state == STICK else (SLIPS if last == STICK else REVERSES)
            rows.append((float(t[told[i + 1]]), kind, k))
    return rows


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A computed motion with n records of f coordinates and c contacts.

    Attributes
    ----------
    t : (n,) times [s]; the first record is the initial state.
    q, u : (n, f) coordinates and velocities.
    gap : (n, c) gap distances at the records [m].
    normal_impulse, tangential_impulse : (n, c) [N s], summed over the steps since the record before.
    contact_state : (n, c) int8, state in the step that ended at the record; `states()` gives words.
    energy : `kinetic`, `potential`, `total` [J].
    certificate : see `Certificate`.
    status : "finished", or where and why the run ended early.
    wall_s : seconds that the march took, without the compilation of its kernel.
    attributes : notes in words; `law`, its options and coefficients, and the options of stepper and solver are there.
    """

    t: np.ndarray
    q: np.ndarray
    u: np.ndarray
    gap: np.ndarray
    normal_impulse: np.ndarray
    tangential_impulse: np.ndarray
    contact_state: np.ndarray
    energy: Energies
    certificate: Certificate
    impact_table: ImpactTable
    system_name: str
    coordinate_names: tuple[str, ...]
    velocity_names: tuple[str, ...]
    contact_names: tuple[str, ...]
    contact_kinds: tuple[int, ...]
    parameters: Mapping[str, float]
    units: Mapping[str, str]
    dt: float
    every: int
    steps: int
    stepper: str
    solver: str
    engine: str
    status: str = "finished"
    complete: bool = True
    wall_s: float = 0.0
    version: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    event_table: EventTable | None = None  # of an event-driven run; see `events()`

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        span = f", t = {self.t[0]:g} .. {self.t[-1]:g} s" if len(self) else ""
        return (
            f"<Trajectory of {self.system_name!r}: {len(self)} records{span}, "
            f"dt = {self.dt:g} s, {self.stepper} / {self.solver} ({self.engine}), {self.status}; {self.certificate}>"
        )

    def __getitem__(self, name: str) -> np.ndarray:
        """A coordinate, velocity or contact gap over time, by name."""
        for names, values in (
            (self.coordinate_names, self.q),
            (self.velocity_names, self.u),
            (self.contact_names, self.gap),
        ):
            if name in names:
                return values[:, names.index(name)]
        known = (*self.coordinate_names, *self.velocity_names, *self.contact_names)
        raise KeyError(unknown_name("coordinate, velocity or contact", name, known))

    def states(self) -> np.ndarray:
        """Contact states as words, shape (n, c)."""
        return np.array(STATE_NAMES)[self.contact_state]

    def impacts(self) -> ImpactTable:
        """Every impact of the run, also those between records."""
        return self.impact_table

    def events(self) -> EventTable:
        """What happened, and when: impacts, contacts that close, open, stick, slip, reverse.

        Exact times come from a run with `EventDriven`, also from its file; from other runs the changes of state that
        the records show, with the times of those records (`exact` is False).
        """
        if self.event_table is not None:
            return self.event_table
        rows = _seen_events(self.t, self.contact_state, self.impact_table)
        return EventTable.of(rows, self.contact_names, False)

    def energy_book(self) -> EnergyBook:
        """Energy at the start and at the end, and what took it from one to the other."""
        total, certificate = self.energy.total, self.certificate
        return EnergyBook(
            float(total[0]),
            float(total[-1]),
            certificate.contact_work,
            certificate.projection_energy,
            certificate.integration_energy,
        )

    @cached_property
    def penetration(self) -> np.ndarray:
        """Depth of penetration at each record [m], shape (n,)."""
        unilateral = np.array(self.contact_kinds, dtype=int) == CONTACT
        if not unilateral.any():
            return np.zeros(len(self))
        return np.maximum(0.0, -self.gap[:, unilateral]).max(axis=1)

    def to_xarray(self) -> Any:
        """As an xarray.Dataset with units, parameters, method and version in its attributes."""
        return service("trajectory as a dataset")(self)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write to a netCDF file, atomically; a file that is there and is not a trajectory is never replaced."""
        return service("save a trajectory")(self, path, overwrite=overwrite)

    def with_attributes(self, **attributes: str) -> Trajectory:
        """A copy of the trajectory with further notes in `attributes`."""
        return replace(self, attributes={**self.attributes, **attributes})
