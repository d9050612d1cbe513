"""A scene with step size, end time and options of its run: what a scene of the library is to commands and figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from stickslip.model.drawing import Drawing
from stickslip.model.scene.bodies import COORDINATES, VELOCITIES, Body
from stickslip.model.scene.scene import Scene
from stickslip.model.system import real_number, unknown_name

_ONE_CHOICE = {"solver": ("auto",), "law": ("newton",), "engine": ("auto", "compiled")}
"""Options of `stickslip.simulate` of which a scene has these values alone."""


@dataclass(frozen=True, eq=False)
class SceneScenario:
    """A scene ready to run.

    Attributes
    ----------
    system : the scene.
    dt, t_end : step size and end time that show the motion well [s].
    title, source : for lists and figures.
    options : of `Scene.simulate`, such as the tolerance.
    view : of the drawing: x_min, x_max, y_min, y_max [m]; fitted to the motion where it is None.
    """

    system: Scene
    dt: float
    t_end: float
    title: str
    source: str
    options: Mapping[str, Any] = field(default_factory=dict)
    view: tuple[float, float, float, float] | None = None

    @property
    def drawing(self) -> Drawing:
        """How the scene looks, for figures, films and pages."""
        return self.system.drawing(self.view)

    def starting(self, state: Mapping[str, float]) -> SceneScenario:
        """The same scenario with another start: positions, planar angles and velocities by name, `cube1.vx`."""
        scene = self.system.copy()
        for name, value in state.items():
            _set_start(scene, name, real_number(value, name))
        return replace(self, system=scene)

    def simulate(self, **overrides: Any) -> Any:
        """Run the scene; keywords of `Scene.simulate`, and those of `stickslip.simulate` where scenes have a choice."""
        wanted = {"dt": self.dt, "t_end": self.t_end, **self.options, **overrides}
        for name, allowed in _ONE_CHOICE.items():
            value = wanted.pop(name, allowed[0])
            if value not in allowed:
                raise ValueError(f"{name} of a scene must be {' or '.join(map(repr, allowed))}, got {value!r}.")
        return self.system.simulate(wanted.pop("dt"), wanted.pop("t_end"), **wanted)


def _set_start(scene: Scene, name: str, value: float) -> None:
    """Set one position, planar angle or velocity of a body."""
    label, _, part = name.rpartition(".")
    bodies: dict[str, Body] = {body.name: body for body in scene.bodies if body.kind != "static"}
    if label not in bodies or part not in (*COORDINATES[scene.dim], *VELOCITIES[scene.dim]):
        known = (*scene.coordinate_names, *scene.velocity_names)
        raise ValueError(unknown_name("coordinate or velocity", name, known))
    body = bodies[label]
    position, velocity, spin = body.position.copy(), body.velocity.copy(), body.angular_velocity.copy()
    angle, turn = body.angle, body.orientation
    if part in ("x", "y", "z"):
        position["xyz".index(part)] = value
    elif part == "angle":
        angle, turn = value, np.array([math.cos(0.5 * value), 0.0, 0.0, math.sin(0.5 * value)])
    elif part.startswith("q"):
        raise ValueError(f"{name} is one of four numbers of a unit quaternion: give an orientation in Python.")
    elif part.startswith("v"):
        velocity["xyz".index(part[1])] = value
    else:
        spin[2 if part == "omega" else "xyz".index(part[-1])] = value
    scene.bodies[body.number] = replace(
        body, position=position, velocity=velocity, angular_velocity=spin, angle=angle, orientation=turn
    )
