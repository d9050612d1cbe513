"""`Trajectory`: the motion of a system, as a run returns it and a file keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from stickslip import markup
from stickslip.checks import unknown_name
from stickslip.codes import CONTACT
from stickslip.on_request import service
from stickslip.trajectory.certificate import Certificate
from stickslip.trajectory.contact_table import ContactTable, ReactionTable, closed_contacts
from stickslip.trajectory.energy import Energies, EnergyBook
from stickslip.trajectory.tables import OTHER, STATE_NAMES, EventTable, ImpactTable, seen_events


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
    scenario : the `Scenario` or `Scene` that was run, for pictures; files do not keep it.
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
    contact_table: ContactTable | None = field(default=None, repr=False)  # of a scene; see `contacts()`
    reaction_table: ReactionTable | None = field(default=None, repr=False)  # of a scene; see `reactions()`
    scenario: Any = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        span = f", t = {self.t[0]:g} .. {self.t[-1]:g} s" if len(self) else ""
        return (
            f"<Trajectory of {self.system_name!r}: {len(self)} records{span}, "
            f"dt = {self.dt:g} s, {self.stepper} / {self.solver} ({self.engine}), {self.status}; {self.certificate}>"
        )

    def __str__(self) -> str:
        span = f", t = {self.t[0]:g} .. {self.t[-1]:g} s" if len(self) else ""
        laws, _, energies = str(self.certificate).partition(", energy gained")
        steps = f"{self.steps:,} steps of {self.dt:g} s"
        return "\n".join(
            (
                f"{self.system_name}: {len(self):,} records{span}, {steps}, {self.status}",
                f"  {self.stepper}, {self._law_in_words()}solver {self.solver}, {self.engine} engine",
                f"  {laws}",
                *([f"  energy gained{energies}"] if energies else []),
            )
        )

    def _law_in_words(self) -> str:
        """The impact law, where it is not Newton's."""
        law = self.attributes.get("law", "newton")
        return "" if law == "newton" else f"law {law}, "

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
        """Events with their times: impacts, contacts that close, open, stick, slip, reverse.

        Exact times come from a run with `EventDriven`, also from its file; from other runs the changes of state that
        the records show, with the times of those records (`exact` is False).
        """
        if self.event_table is not None:
            return self.event_table
        rows = seen_events(self.t, self.contact_state, self.impact_table)
        return EventTable.of(rows, self.contact_names, False)

    def contacts(self) -> ContactTable:
        """Closed contacts at each record: names, gap, impulses, forces and state, with a column `time`.

        A mechanism has impulses that are summed since the record before, and forces that are their mean.  A scene has
        the contact points of the step that ended at the record, with point and normal; it must be run with
        contacts=True.
        """
        if self.contact_table is not None:
            return self.contact_table
        if OTHER in self.impact_table.columns:
            raise ValueError(
                "contacts of a scene must be recorded: give contacts=True to simulate (files do not keep them)."
            )
        return closed_contacts(self)

    def reactions(self) -> ReactionTable:
        """Force and torque of each joint of a scene at each record; the scene must be run with contacts=True."""
        if self.reaction_table is None:
            raise ValueError(
                "reactions of joints must be recorded: give contacts=True to simulate of a scene (files do not keep "
                "them)."
            )
        return self.reaction_table

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
        """The run as an xarray.Dataset with units, parameters, method and version in its attributes."""
        return service("trajectory as a dataset")(self)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write to a netCDF file, atomically; a file that is there and is not a trajectory is never replaced."""
        return service("save a trajectory")(self, path, overwrite=overwrite)

    def plot(self, path: str | Path | None = None, *, scenario: Any = None) -> Any:
        """The figure of the run: coordinates, velocities, contact states, energies; of a scene, pictures of it.

        path : file to write as well, PNG, SVG or PDF.
        scenario : what was run, where the run does not know it, as after `load`.
        """
        shown = self._shown(scenario)
        figure = service("plot a mechanism" if shown is None else f"plot a {shown.kind}")(self, shown)
        if path is not None:
            service("save a figure")(figure, path, title=self.system_name)
        return figure

    def animate(self, path: str | Path, *, scenario: Any = None, **options: Any) -> Path:
        """Write a film of the run, GIF or MP4.

        options : start, span [s], slower, fps, title, progress, see `stickslip.figures.animation.animate`.
        """
        shown = self._shown(scenario)
        if shown is None or shown.drawing is None:
            raise ValueError(
                f"{self.system_name!r} has no drawing, so there is no film of it; give drawing= to its Scenario."
            )
        options.setdefault("title", shown.title)
        film: Path = service("film a run")(self, shown.drawing, path, **options)
        return film

    def show(self, *, scenario: Any = None, browser: bool = True) -> Any:
        """Show the run as a page: in the notebook, or in the browser, from a file that is returned.

        browser : open the browser; else the file is only written.
        """
        return service("show a run")(self, self._shown(scenario), browser)

    def _shown(self, scenario: Any) -> Any:
        """Scenario that the run is drawn with: the scenario given, that of the run, its library entry, or None."""
        found = scenario if scenario is not None else self.scenario
        return service("scenario of a run")(self, found)

    def _repr_html_(self) -> str:
        rows = [
            ("records", f"{len(self)}, t = {self.t[0]:g} .. {self.t[-1]:g} s" if len(self) else "0"),
            ("method", f"{self.stepper}, {self._law_in_words()}{self.solver}, dt = {self.dt:g} s ({self.engine})"),
            ("status", self.status),
            ("impacts", len(self.impact_table)),
            *((entry.name, entry.value) for entry in self.certificate.entries()),
        ]
        return markup.table(rows, caption=self.system_name)

    def with_attributes(self, **attributes: str) -> Trajectory:
        """A copy of the trajectory with further notes in `attributes`."""
        return replace(self, attributes={**self.attributes, **attributes})
