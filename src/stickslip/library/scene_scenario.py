"""A scene with its step size and end time: what library entries of bodies and shapes return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.model.drawing import Drawing
from stickslip.model.scene.bodies import VELOCITIES
from stickslip.model.scene.scene import Scene

if TYPE_CHECKING:
    from stickslip.trajectory import Trajectory

# What `simulate` of a Lagrangian system takes besides, and the only values that a scene knows.
_ONLY = {"solver": ("auto",), "engine": ("auto", "compiled"), "law": ("newton",)}


@dataclass(frozen=True, eq=False)
class SceneScenario:
    """A scene ready to run; runs as a `Scenario` does.

    Attributes
    ----------
    scene : Scene
    dt, t_end : float
        Step size and end time that show the motion well [s].
    title, source : str
        One line for lists and figures; paper and section.
    """

    scene: Scene
    dt: float
    t_end: float
    title: str
    source: str

    def __post_init__(self) -> None:
        if not 0 < self.dt <= self.t_end < np.inf:
            raise ValueError(f"dt must be positive and t_end at least dt, got dt = {self.dt}, t_end = {self.t_end}.")

    @property
    def drawing(self) -> Drawing:
        return self.scene.drawing()

    @property
    def degrees_of_freedom(self) -> int:
        return len(VELOCITIES[self.scene.dim]) * len(self.contact_names)

    @property
    def contact_names(self) -> tuple[str, ...]:
        """One channel of contact records per body that is not static."""
        return tuple(body.name for body in self.scene.bodies if body.kind != "static")

    def simulate(self, **overrides: Any) -> Trajectory:
        """Run the scene; keywords go to `Scene.simulate` and override the scenario's own values."""
        options = {"dt": self.dt, "t_end": self.t_end, **overrides}
        for name, allowed in _ONLY.items():
            value = options.pop(name, allowed[0])
            if value not in allowed:
                raise ValueError(f"{name} of a scene must be {' or '.join(map(repr, allowed))}, got {value!r}.")
        return self.scene.simulate(**options)

    def text(self) -> str:
        """Its bodies, one per line: kind, shape, mass, position and velocity."""
        lines = [f"bodies in {'space' if self.scene.dim == 3 else 'the plane'}"]
        for body in self.scene.bodies[1:]:
            mass = f", {body.mass:g} kg at {_numbers(body.position)} m" if body.kind == "moving" else ""
            motion = f", velocity {_numbers(body.velocity)} m/s" if np.any(body.velocity) else ""
            lines.append(f"  {body.name}: {body.kind} {type(body.shape).__name__.lower()}{mass}{motion}")
        return "\n".join([*lines, ""])


def _numbers(values: np.ndarray) -> str:
    return f"({', '.join(f'{x:g}' for x in values)})"
