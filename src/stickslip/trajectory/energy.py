"""Energies of a run: at every record, and where they went from its beginning to its end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickslip import markup


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

    def _repr_html_(self) -> str:
        return markup.table(((name, value, "J") for name, value in self.to_dict().items()), caption="energy")

    def __str__(self) -> str:
        return "\n".join(f"{name:<12}{value:>24.15g} J" for name, value in self.to_dict().items())


@dataclass(frozen=True, repr=False)
class Energies(markup.Curves):
    """Kinetic, potential and total energy at each record [J], shape (n,); nan where the potential is not known."""

    kinetic: np.ndarray
    potential: np.ndarray

    @property
    def total(self) -> np.ndarray:
        return self.kinetic + self.potential

    def curves(self) -> dict[str, np.ndarray]:
        """The energies by name."""
        return {"kinetic": self.kinetic, "potential": self.potential, "total": self.total}
