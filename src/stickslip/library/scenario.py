"""A system with its initial state, step size and end time: what every library entry returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.model.drawing import Drawing
from stickslip.model.system import Array, System


@dataclass(frozen=True, eq=False)
class Scenario:
    """A system ready to run.

    Attributes
    ----------
    system : System
    q0, u0 : (f,) array
        Initial coordinates and velocities, in the system's units.
    dt, t_end : float
        Step size and end time that show the motion well [s].
    title : str
        One line for lists and figures.
    source : str
        Paper and section the system comes from.
    params : dict, optional
        Parameters that differ from the system's defaults.
    drawing : Drawing, optional
        How the system looks, for films and pages.
    """

    system: System
    q0: Array
    u0: Array
    dt: float
    t_end: float
    title: str
    source: str
    params: Mapping[str, float] | None = None
    drawing: Drawing | None = None

    def __post_init__(self) -> None:
        q0, u0, _ = self.system.check(self.q0, self.u0, self.params)
        if not 0 < self.dt <= self.t_end < np.inf:
            raise ValueError(f"dt must be positive and t_end at least dt, got dt = {self.dt}, t_end = {self.t_end}.")
        for name, state in (("q0", q0), ("u0", u0)):
            state.flags.writeable = False
            object.__setattr__(self, name, state)

    def simulate(self, **overrides: Any) -> Any:
        """Run the scenario; keywords go to `stickslip.simulate` and override the scenario's own values.

        `params` are put on top of the scenario's own.
        """
        from stickslip.stepping.simulate import (
            simulate,
        )  # the library returns scenarios and runs them on request only

        options = {"q0": self.q0, "u0": self.u0, "dt": self.dt, "t_end": self.t_end, **overrides}
        params = {**(self.params or {}), **(overrides.get("params") or {})}
        if params:
            options["params"] = params
        return simulate(self.system, options.pop("q0"), options.pop("u0"), **options)
