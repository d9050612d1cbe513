"""`CircuitRun`: what the simulation of a circuit returns, by the names of its elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stickslip import markup
from stickslip.checks import unknown_name
from stickslip.on_request import service
from stickslip.trajectory import Certificate, CertificateEntry

JUMP_COLUMNS = ("time", "element", "charge", "flux", "before", "after", "energy_change")
_RINGS = 0.01
"""Share of the largest current from which on ringing is told."""
EVENT_COLUMNS = ("time", "element", "kind")


@dataclass(frozen=True)
class CircuitCertificate(Certificate):
    """The certificate of a circuit: the fields of `Certificate`, in words of circuits.

    max_residual : worst violation of the voltage law or of the law of a diode, relative to voltages and currents.
    max_energy_gain : largest energy that ideal elements put in during one step [J].  Ideal elements do no work.
    contact_work : minus what thresholds, breakdown voltages and jumps took [J].
    integration_energy : what the rule added by all steps [J]; negative where it damps.
    energy_in_play : largest stored energy, or the energy that sources gave where it is more [J].
    ringing : largest change of a current in an instant at the end of a step, as a share of the largest current.  Above
        some thousandths, currents of loops without an inductor ring from step to step.
    """

    ringing: float = 0.0

    def doubts(self) -> list[str]:
        found = super().doubts()
        if self.ringing > _RINGS:
            found.append(
                f"currents of loops without inductors ring by {100.0 * self.ringing:.2g} %, try theta=1 or locate=True"
            )
        return found

    def entries(self) -> list[CertificateEntry]:
        held = f" (tolerance {self.tolerance:.0e})"
        residual = "none" if self.max_residual == 0.0 else f"{self.max_residual:.1e}"
        rule = self.rule_share
        rows = [
            CertificateEntry("failed steps", f"{self.failed_steps}", "Steps that were not solved to the tolerance"),
            CertificateEntry(
                "worst residual",
                residual + held,
                "Violation of Kirchhoff's laws and of the laws of the elements in any step, as a share",
            ),
            CertificateEntry(
                "energy gained at ideal elements",
                self._gain(self.max_energy_gain),
                "Largest energy that ideal elements put in during one step, as a share of the energy in play",
            ),
            CertificateEntry(
                "by the steps",
                "none" if rule == 0.0 else f"{100.0 * rule:.2g} %",
                "Energy that the rule added, or took where negative, as a share of the energy in play",
            ),
        ]
        if self.ringing > _RINGS:
            rows.append(
                CertificateEntry(
                    "ringing of currents",
                    f"{100.0 * self.ringing:.2g} %",
                    "Change of currents in an instant in which nothing switches, as a share of the largest current",
                )
            )
        return rows


@dataclass(frozen=True, repr=False)
class CircuitEnergies(markup.Curves):
    """Energy in inductors, in capacitors, and both together, at each record [J]."""

    magnetic: np.ndarray
    electric: np.ndarray

    @property
    def total(self) -> np.ndarray:
        return self.magnetic + self.electric

    def curves(self) -> dict[str, np.ndarray]:
        """The energies by name."""
        return {"magnetic": self.magnetic, "electric": self.electric, "total": self.total}


class CircuitBook(dict[str, float]):
    """Where the energy went [J], by name; `print` has one line for each."""

    def __str__(self) -> str:
        return "\n".join(f"{name:<12}{value:>24.15g} J" for name, value in self.items())


@dataclass(frozen=True)
class Table:
    """Rows with named columns: `table["time"]`, `len(table)`."""

    columns: dict[str, np.ndarray]

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]], names: Sequence[str], texts: Sequence[str]) -> Table:
        return cls({n: np.array([row[n] for row in rows], dtype=str if n in texts else float) for n in names})

    def __len__(self) -> int:
        return len(self.columns["time"])

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.columns:
            raise KeyError(unknown_name("column", name, self.columns))
        return self.columns[name]

    def of_element(self, name: str) -> Table:
        """The rows of one element."""
        mask = self.columns["element"] == name
        return Table({key: values[mask] for key, values in self.columns.items()})

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.columns)

    def __str__(self) -> str:
        if not len(self):
            return f"none ({', '.join(self.columns)})"
        rows = [" ".join(f"{name:>16}" for name in self.columns)]
        for i in range(min(len(self), 40)):
            cells = [f"{v[i]:>16}" if v.dtype.kind == "U" else f"{v[i]:>16.9g}" for v in self.columns.values()]
            rows.append(" ".join(cells))
        return "\n".join([*rows, *([f"... {len(self) - 40} more"] if len(self) > 40 else [])])


@dataclass(frozen=True, eq=False)
class CircuitRun:
    """A computed run of a circuit with n records.

    Currents flow through an element from its first to its second node; its voltage is that of the first node against
    the second.  So `voltage * current` is the power that the element takes; a source that gives power has a negative
    current.

    Attributes
    ----------
    t : (n,) times [s].
    q, u : (n, loops) charges and currents of the loops.
    events : table of what switched: `time`, `element`, `kind`.
    energy : `magnetic`, `electric`, `total` [J].
    book : where the energy went [J].
    certificate : see `CircuitCertificate`.
    status : "finished", or where and why the run ended early.
    """

    t: np.ndarray
    q: np.ndarray
    u: np.ndarray
    currents: np.ndarray  # (n, elements)
    voltages: np.ndarray
    modes: np.ndarray  # (n, elements that switch), numbers of words in `mode_words`
    energy: CircuitEnergies
    certificate: CircuitCertificate
    events: Table
    jump_table: Table
    book: Mapping[str, float]
    system_name: str
    loop_names: tuple[str, ...]
    element_names: tuple[str, ...]
    element_kinds: tuple[str, ...]
    switching: tuple[str, ...]
    mode_words: tuple[str, ...]
    dt: float
    every: int
    steps: int
    theta: float
    located: bool
    units: tuple[str, str] = ("A", "V")
    status: str = "finished"
    complete: bool = True
    wall_s: float = 0.0
    version: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        return (
            f"<CircuitRun of {self.system_name!r}: {len(self)} records, t = {self.t[0]:g} .. {self.t[-1]:g} s, "
            f"dt = {self.dt:g} s, theta = {self.theta:g}, {self.status}; {self.certificate}>"
        )

    def current(self, element: str) -> np.ndarray:
        """Current through an element at each record, shape (n,) [A]."""
        return self.currents[:, self._number(element)]

    def voltage(self, element: str) -> np.ndarray:
        """Voltage of an element at each record, shape (n,) [V]; of inductors and what blocks, the mean over a step."""
        return self.voltages[:, self._number(element)]

    def mode(self, element: str) -> np.ndarray:
        """Mode of an element that switches, at each record, in words, shape (n,)."""
        if element not in self.switching:
            self._number(element)
            raise ValueError(f"{element!r} does not switch; those that do: {', '.join(self.switching) or 'none'}.")
        return np.array(self.mode_words)[self.modes[:, self.switching.index(element)]]

    def impacts(self) -> Table:
        """Jumps of charges and fluxes.

        Columns: time; element; charge [C] of a capacitor or flux [V s] of an inductor; its voltage [V] or current [A]
        before and after; change of the energy that it stores [J].
        """
        return self.jump_table

    def energy_book(self) -> CircuitBook:
        """start + sources - resistors - thresholds - jumps + rule + unexplained = end [J]."""
        return CircuitBook(self.book)

    def _number(self, element: str) -> int:
        if element not in self.element_names:
            raise ValueError(unknown_name("element", element, self.element_names))
        return self.element_names.index(element)

    def to_xarray(self) -> Any:
        """The run as an xarray.Dataset with units; method, status and certificate in its attributes."""
        return service("circuit run as a dataset")(self)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write to a netCDF file that `ss.load` reads; a file that is no circuit run is never replaced."""
        saved: Path = service("save a circuit run")(self, path, overwrite=overwrite)
        return saved

    def plot(self, elements: Sequence[str] | None = None) -> Any:
        """Figure with voltages, currents, modes and energies over time; of some elements alone where they are named."""
        return service("plot a circuit")(self, elements)
