"""A scene with its step size and end time: what library entries of bodies and shapes return."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.checks import real_number, unknown_name
from stickslip.drawing.primitives import Drawing
from stickslip.scenes.bodies import COORDINATES, VELOCITIES, Body
from stickslip.scenes.scene import Scene

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
    options : dict
        Keywords of `Scene.simulate`, such as the tolerance, that suit the scene.
    """

    scene: Scene
    dt: float
    t_end: float
    title: str
    source: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 < self.dt <= self.t_end < np.inf:
            raise ValueError(f"dt must be positive and t_end at least dt, got dt = {self.dt}, t_end = {self.t_end}.")

    @property
    def drawing(self) -> Drawing:
        return self.scene.drawing()

    @property
    def system(self) -> Scene:
        """The scene, which names its coordinates and velocities as a `System` does."""
        return self.scene

    @property
    def degrees_of_freedom(self) -> int:
        return self.scene.n_dof

    @property
    def contact_names(self) -> tuple[str, ...]:
        """One channel of contact records per body that is not static."""
        return self.scene.contact_names

    def starting(self, state: Mapping[str, float]) -> SceneScenario:
        """The same scenario with another start: positions, planar angles and velocities by name, `cube1.vx`."""
        scene = self.scene.copy()
        for name, value in state.items():
            _set_start(scene, name, real_number(value, name))
        return replace(self, scene=scene)

    def simulate(self, **overrides: Any) -> Trajectory:
        """Run the scene; keywords go to `Scene.simulate` and override the scenario's own values."""
        options = {"dt": self.dt, "t_end": self.t_end, **self.options, **overrides}
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


def as_shown(scenario: Any, trajectory: Trajectory) -> Any:
    """What figures and pages ask for title, source and picture: a scenario, or one made of the own `Scene` of a run."""
    if scenario is None or hasattr(scenario, "title"):
        return scenario
    if not isinstance(scenario, Scene):
        raise ValueError(
            f"scenario must be the Scene or the library entry that was run, got {type(scenario).__name__}."
        )
    if scenario.coordinate_names != trajectory.coordinate_names:
        raise ValueError(
            f"scene {scenario.name!r} must be the one that was run, got {len(scenario.contact_names)} bodies that can "
            f"move where the run has {len(trajectory.contact_names)}, or others; run it again after changes."
        )
    t_end = max(float(trajectory.t[-1]), trajectory.dt)
    return SceneScenario(scenario, trajectory.dt, t_end, scenario.name, "")


def _numbers(values: np.ndarray) -> str:
    return f"({', '.join(f'{x:g}' for x in values)})"


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
