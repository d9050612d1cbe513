"""What a simulation returns: the motion, its contacts, its energies, and the certificate measured on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.model.system import CONTACT, unknown_name

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
OTHER = "other"  # the column that the impacts of a scene have besides


@dataclass(frozen=True)
class Certificate:
    """Proof that comes with a trajectory, measured on what was returned.

    Attributes
    ----------
    failed_steps : steps that were not solved to the tolerance, the one at which a run stopped among them (0 in a clean
        run).
    max_residual : worst violation of the contact laws in any step, relative to the velocities in it.
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

    def to_dict(self) -> dict[str, float | int]:
        return dict(self.__dict__)

    def __str__(self) -> str:
        failed = f"{self.failed_steps} failed step{'' if self.failed_steps == 1 else 's'}"
        joints = f", largest joint error {self.max_joint_error:.1e} m" if self.max_joint_error > 0.0 else ""
        times = f", restitution left out {self.restitution_left_out} times" if self.restitution_left_out else ""
        return (
            f"{failed}, worst residual {self.max_residual:.1e}, "
            f"deepest penetration {self.max_penetration:.1e} m, "
            f"largest energy gain {self.max_energy_gain:.1e} J{joints}{times}"
        )


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


def empty_impacts(names: tuple[str, ...]) -> ImpactTable:
    columns = {key: np.zeros(0, dtype=np.int64 if key == "contact" else float) for key in IMPACT_COLUMNS}
    return ImpactTable(columns, names)


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
        from stickslip.io.netcdf import to_dataset

        return to_dataset(self)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write to a netCDF file, atomically; a file that is there and is not a trajectory is never replaced."""
        from stickslip.io.netcdf import save

        return save(self, path, overwrite=overwrite)

    def with_attributes(self, **attributes: str) -> Trajectory:
        """The same trajectory with further notes in `attributes`."""
        return replace(self, attributes={**self.attributes, **attributes})
