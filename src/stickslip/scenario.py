"""A system with its initial state, step size and end time: what every library entry returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stickslip.checks import Array, real_number, unknown_name
from stickslip.drawing.primitives import Drawing
from stickslip.mechanisms.system import System


def require_positive(values: Mapping[str, Any], *names: str, allow_zero: bool = False) -> None:
    """Raise where a keyword of a library entry is no finite number, negative, or zero."""
    for name in names:
        value = real_number(values[name], name)
        if value < 0.0 or (value == 0.0 and not allow_zero):
            raise ValueError(f"{name} must {'not be negative' if allow_zero else 'be positive'}, got {value:g}.")


def require_scenario(value: Any, what: str) -> None:
    """Raise ValueError unless `value` is a `Scenario`; `what` is what is asked for."""
    if not isinstance(value, Scenario):
        kind = "a scene of bodies and shapes" if hasattr(value, "scene") else type(value).__name__
        raise ValueError(f"{what} takes a Scenario, a system with coordinates and velocities, got {kind}.")


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

    def starting(self, state: Mapping[str, float]) -> Scenario:
        """The same scenario with another start: values of coordinates and velocities by name."""
        q0, u0 = self.q0.copy(), self.u0.copy()
        for name, value in state.items():
            if name in self.system.coordinate_names:
                q0[self.system.coordinate_names.index(name)] = value
            elif name in self.system.velocity_names:
                u0[self.system.velocity_names.index(name)] = value
            else:
                known = (*self.system.coordinate_names, *self.system.velocity_names)
                raise ValueError(unknown_name("coordinate or velocity", name, known))
        return replace(self, q0=q0, u0=u0)

    def simulate(self, **overrides: Any) -> Any:
        """Run the scenario; keywords go to `stickslip.simulate` and override the scenario's own values.

        `params` are put on top of the scenario's own.
        """
        from stickslip.run.simulate import simulate  # the library returns scenarios and runs them on request only

        options = {"q0": self.q0, "u0": self.u0, "dt": self.dt, "t_end": self.t_end, **overrides}
        params = {**(self.params or {}), **(overrides.get("params") or {})}
        if params:
            options["params"] = params
        return simulate(self.system, options.pop("q0"), options.pop("u0"), **options)
