"""The certificate of a run: what was measured step by step, and whether that gives reason to doubt the run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from stickslip import markup

FORCES, MOTORS = 1, 2
"""Sources of work beside contacts and potentials: see `Certificate.forced`."""
USUAL_TOLERANCE = 1e-10
"""Tolerance of a step's residual unless a run asks for another one."""
CREEP = 1e-6
"""Creep of sticking contacts [m] up to which the words of a certificate leave it out."""
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
        With projection it is summed up step by step; without, it is E_end - E_0 - contact_work, by
        the balance of energy.  nan where the potential is not known.
    energy_in_play : largest of kinetic energy, range of potential energy and size of contact_work in the records [J]:
        the energy with which gains are compared.  At rest, what the forces would give in one step, or 1e-10 of the
        potential energy.  0 where it is not known, nan where the potential is not.
    constrained : number of constraints.
    forced : what else does work, as a sum.  `FORCES`: forces without a potential, driven bodies, moving walls or bodies
        that come and go, whose work is in `integration_energy` beside the error of the rule.  `MOTORS`: motors of
        joints, whose work is in `max_energy_gain` and `contact_work`.  A torque at a joint is both.  What a `Simulator`
        is given between steps counts from then on.
    friction_rounds : most solves of one step's contact problem that friction laws asked for (0 with constant friction).
    friction_contraction : largest contraction Lambda_N beta |mu'| of their fixed point in any step; at 1 and beyond a
        step may have several solutions.
    max_joint_error : farthest that a joint of a scene was apart, or beyond a limit, at a midpoint [m]; wrong turns
        times the extent of its bodies.
    restitution_left_out : how often an island of a scene was solved without the restitution of some of its contacts,
        because with it Newton's law and friction, or neighbours, contradict one another.
    contacts_left_out : most contacts of a scene's step that joints hold along their normals, and that are left out: no
        impulse there moves anything.  The bodies may overlap at them; `max_penetration` has the depth.
    open_loads : steps of a scene in which bodies slid and turned on four points of a plane or more, or slid on several
        faces, as a capsule across two belts.  The laws do not say which point carries how much, and friction follows
        the loads: the motion is one of several.
    open_normals : steps of a scene in which edges or corners that are not in mirror image carried load on one another.
        Their shapes leave the normal open; it is taken halfway between the faces.
    max_constraint_error : largest |g| of a constraint g(q, t) = 0 at the end of a step, in the unit of its equation.
    max_constraint_rate : largest |a . u + b| of a constraint at the end of a step, in the unit of its equation per
        second; 0 for a stepper on position level, whose velocities are differences of positions.
    max_creep : a bound on how far a contact of a scene that sticks by the law, its friction inside the bound, has slid
        all the same [m]: the fastest slip of such contacts in a step times dt, summed up over the run.
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
    contacts_left_out: int = 0
    open_loads: int = 0
    open_normals: int = 0
    max_integration_gain: float = 0.0
    max_creep: float = 0.0
    max_constraint_error: float = 0.0
    max_constraint_rate: float = 0.0
    constrained: int = 0
    tolerance: float = 0.0
    energy_in_play: float = 0.0
    forced: int = 0

    @classmethod
    def worst(cls, certificates: Sequence[Certificate]) -> Certificate:
        """The certificate of several runs together: the largest of every number, the smallest energy in play.

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
        """Warnings to a reader of the certificate, each with advice."""
        if self.rule_share > _RULE_GAIN:
            return [f"the steps put in {_percent(self.rule_share)} of the energy in play, try a smaller dt"]
        return []

    def _repr_html_(self) -> str:
        return markup.table(
            ((entry.name, entry.value, entry.meaning) for entry in self.entries()), caption="certificate"
        )

    def with_all_lines(self) -> Certificate:
        """A certificate that has every line that one of a scene may get."""
        return replace(
            self, projections=1, max_joint_error=1.0, max_creep=1.0, restitution_left_out=1, contacts_left_out=1,
            open_loads=1, open_normals=1,
        )  # fmt: skip

    def entries(self) -> list[CertificateEntry]:
        """Lines by which a reader judges a run: name, value in words, and the meaning of the number."""
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
        ]
        if self.projections:
            rows.append(
                (
                    "by shifts of positions",
                    self._gain(self.projection_energy),
                    "Energy that shifts of bodies out of one another added, as a share of the energy in play",
                )
            )
        return [CertificateEntry(*row) for row in (*rows, self._by_the_steps(), *self._special_entries())]

    def _special_entries(self) -> list[tuple[str, str, str]]:
        """Rows of numbers that most runs do not have: joints, creep, constraints, laws and contacts left out."""
        rows = []
        if self.max_joint_error > 0.0:
            rows.append(
                (
                    "largest joint error",
                    f"{self.max_joint_error:.1e} m",
                    "Farthest that the parts of a joint were apart",
                )
            )
        if self.max_creep > CREEP:
            rows.append(
                (
                    "creep of sticking contacts",
                    f"at most {self.max_creep:.1e} m",
                    "Fastest slip of contacts that stick, in each step, times dt, over the whole run",
                )
            )
        if self.constrained:
            rows.append(
                (
                    "constraints off by",
                    f"{_or_none(self.max_constraint_error)} (position), "
                    f"{_or_none(self.max_constraint_rate)} (velocity)",
                    "Largest violation of a constraint's equation and of its derivative, in their units",
                )
            )
        if self.constrained and abs(self.share(self.projection_energy)) > _RULE_GAIN:
            rows.append(
                (
                    "by their corrections",
                    self._gain(self.projection_energy),
                    "Energy that shifts onto the constraints at the ends of steps added, as a share of that in play",
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
        if self.contacts_left_out:
            rows.append(
                (
                    "contacts left out",
                    f"up to {self.contacts_left_out} at a time",
                    "Contacts between links whose joints leave them no way along the normal",
                )
            )
        return rows + self._choices()

    def _choices(self) -> list[tuple[str, str, str]]:
        """Rows of steps whose motion is one of several that meet the laws."""
        rows = []
        if self.open_loads:
            rows.append(
                (
                    "shares of load open",
                    _steps(self.open_loads),
                    "Bodies slide and turn on four points or more, or slide on several faces: no law says which "
                    "carries how much, and friction follows the loads",
                )
            )
        if self.open_normals:
            rows.append(
                (
                    "normals open",
                    _steps(self.open_normals),
                    "Edges or corners press on one another: no law gives the normal, it is halfway between the faces",
                )
            )
        return rows

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
            play = {_STEPS: f" (of {size} J exchanged)", _WORK: f" ({size} J exchanged)"}
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


def _steps(count: int) -> str:
    return f"in {count} step{'' if count == 1 else 's'}"


def _or_none(value: float, unit: str = "") -> str:
    """A measured size in words: `none` instead of a zero."""
    return "none" if value == 0.0 else f"{value:.1e}{unit}"
