"""A system or a scene with its start, step size and end time: what every library entry and model file gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from stickslip.checks import Array, real_number, unknown_name
from stickslip.drawing.primitives import Drawing
from stickslip.mechanisms.system import System
from stickslip.on_request import service
from stickslip.request import Checks, Records, RunOptions
from stickslip.scenes.bodies import COORDINATES, VELOCITIES, Body
from stickslip.scenes.scene import Scene

if TYPE_CHECKING:
    from stickslip.trajectory import Trajectory


def require_positive(values: Mapping[str, Any], *names: str, allow_zero: bool = False) -> None:
    """Raise where a keyword of a library entry is no finite number, negative, or zero."""
    for name in names:
        value = real_number(values[name], name)
        if value < 0.0 or (value == 0.0 and not allow_zero):
            raise ValueError(f"{name} must {'not be negative' if allow_zero else 'be positive'}, got {value:g}.")


def require_scenario(value: Any, what: str) -> None:
    """Raise ValueError unless `value` is a `Scenario` of a mechanism; `what` is what is asked for."""
    if not isinstance(value, Scenario) or isinstance(value, SceneScenario):
        kind = "a scene of bodies and shapes" if isinstance(value, SceneScenario) else type(value).__name__
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

    start_has_sliders: ClassVar[bool] = True
    """Whether there are few enough coordinates for a slider each."""

    def __post_init__(self) -> None:
        q0, u0, _ = self.system.check(self.q0, self.u0, self.params)
        _require_times(self.dt, self.t_end)
        for name, state in (("q0", q0), ("u0", u0)):
            state.flags.writeable = False
            object.__setattr__(self, name, state)

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters with their values; a scene has none."""
        return dict(zip(self.system.parameter_names, self.system.parameter_vector(self.params).tolist(), strict=True))

    @property
    def degrees_of_freedom(self) -> int:
        return self.system.n_dof

    @property
    def contact_names(self) -> tuple[str, ...]:
        """Names of the contact columns of a trajectory."""
        return self.system.contact_names

    def text(self) -> str:
        """What it is made of: the equations of a mechanism, the bodies of a scene."""
        system: Any = self.system
        return str(system.equations().text())

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

    def simulate(
        self,
        *,
        dt: float | None = None,
        t_end: float | None = None,
        q0: Any = None,
        u0: Any = None,
        params: Mapping[Any, float] | None = None,
        stepper: Any = None,
        solver: Any = None,
        law: Any = None,
        t0: float | None = None,
        engine: str | None = None,
        progress: bool | Callable[[int], None] | None = None,
        records: Records | None = None,
        checks: Checks | None = None,
        **options: Unpack[RunOptions],
    ) -> Trajectory:
        """Run the scenario; keywords are those of `stickslip.simulate` and override the scenario's own values.

        None stands for the scenario's own value, or for what `stickslip.simulate` does where it is not told.  `params`
        are put on top of the scenario's own.  The fields of `Records` and `Checks` are keywords as well.
        """
        chosen = _given(
            params={**(self.params or {}), **(params or {})} or None, stepper=stepper, solver=solver, law=law, t0=t0,
            engine=engine, progress=progress, records=records, checks=checks,
        )  # fmt: skip
        return service("simulate a mechanism")(
            self.system,
            self.q0 if q0 is None else q0,
            self.u0 if u0 is None else u0,
            dt=self.dt if dt is None else dt,
            t_end=self.t_end if t_end is None else t_end,
            **chosen,
            **options,
        )


@dataclass(frozen=True, eq=False, init=False)
class SceneScenario(Scenario):
    """A scene ready to run: a `Scenario` whose start stands in its bodies.

    Attributes
    ----------
    scene : Scene
        Also called `system`: it names its coordinates and velocities as a `System` does.
    dt, t_end, title, source
        As those of `Scenario`.
    options : dict
        Keywords of `Scene.simulate`, such as the tolerance, that suit the scene.
    """

    scene: Scene = field(kw_only=True)
    options: Mapping[str, Any] = field(kw_only=True)
    system: Any = field(init=False)
    q0: Array = field(init=False)
    u0: Array = field(init=False)
    params: None = field(init=False, default=None)
    drawing: Drawing = field(init=False, repr=False)

    start_has_sliders: ClassVar[bool] = False

    def __init__(
        self, scene: Scene, dt: float, t_end: float, title: str, source: str, options: Mapping[str, Any] | None = None
    ) -> None:
        _require_times(dt, t_end)
        q0, u0 = _start_of(scene)
        values = {"dt": dt, "t_end": t_end, "title": title, "source": source, "options": dict(options or {})}
        for name, value in {"scene": scene, "system": scene, "q0": q0, "u0": u0, **values}.items():
            object.__setattr__(self, name, value)

    @property
    def parameters(self) -> dict[str, float]:
        return {}

    def text(self) -> str:
        """Its bodies, one per line: kind, shape, mass, position and velocity."""
        lines = [f"bodies in {'space' if self.scene.dim == 3 else 'the plane'}"]
        for body in self.scene.bodies[1:]:
            mass = f", {body.mass:g} kg at {_numbers(body.position)} m" if body.kind == "moving" else ""
            motion = f", velocity {_numbers(body.velocity)} m/s" if np.any(body.velocity) else ""
            lines.append(f"  {body.name}: {body.kind} {type(body.shape).__name__.lower()}{mass}{motion}")
        return "\n".join([*lines, ""])

    def starting(self, state: Mapping[str, float]) -> SceneScenario:
        """The scenario with another start: positions, planar angles and velocities by name, `cube1.vx`."""
        scene = self.scene.copy()
        for name, value in state.items():
            _set_start(scene, name, real_number(value, name))
        return replace(self, scene=scene)

    def simulate(  # type: ignore[override]  # its start stands in its bodies, and it has no parameters
        self,
        *,
        dt: float | None = None,
        t_end: float | None = None,
        stepper: Any = None,
        solver: Any = "auto",
        law: Any = "newton",
        engine: Any = "auto",
        rule: str | None = None,
        cone: str | int | None = None,
        tol: float | None = None,
        t0: float | None = None,
        threads: int | None = None,
        overlap: str | None = None,
        progress: bool | Callable[[int], None] | None = None,
        records: Records | None = None,
        checks: Checks | None = None,
        **options: Unpack[RunOptions],
    ) -> Trajectory:
        """Run the scene; keywords are those of `Scene.simulate` and override the scenario's own values.

        None stands for the scenario's own value, or for what `Scene.simulate` does where it is not told.  Of solver,
        law and engine a scene knows one each.
        """
        for name, value, allowed in (
            ("solver", solver, ("auto",)),
            ("engine", engine, ("auto", "compiled")),
            ("law", law, ("newton",)),
        ):
            if value not in allowed:
                raise ValueError(f"{name} of a scene must be {' or '.join(map(repr, allowed))}, got {value!r}.")
        groups = [kind for kind, given in ((Records, records), (Checks, checks)) if given is not None]
        grouped = {each.name for kind in groups for each in fields(kind)}
        own = {name: value for name, value in self.options.items() if name not in grouped}
        chosen = _given(
            dt=dt, t_end=t_end, stepper=stepper, rule=rule, cone=cone, tol=tol, t0=t0, threads=threads,
            overlap=overlap, progress=progress, records=records, checks=checks,
        )  # fmt: skip
        return self.scene.simulate(**{"dt": self.dt, "t_end": self.t_end, **own, **chosen, **options})


# A scene is drawn when it is asked for, as it is then.
SceneScenario.drawing = property(lambda scenario: scenario.scene.drawing())  # type: ignore[assignment]


def _given(**values: Any) -> dict[str, Any]:
    """The keywords of a call that were given."""
    return {name: value for name, value in values.items() if value is not None}


def _require_times(dt: float, t_end: float) -> None:
    if not 0 < dt <= t_end < np.inf:
        raise ValueError(f"dt must be positive and t_end at least dt, got dt = {dt}, t_end = {t_end}.")


def _start_of(scene: Scene) -> tuple[Array, Array]:
    """Coordinates and velocities of the bodies that can move, as trajectories have them."""
    moving = [body for body in scene.bodies if body.kind != "static"]
    if scene.dim == 2:
        q = [(*body.position[:2], body.angle) for body in moving]
        u = [(*body.velocity[:2], body.angular_velocity[2]) for body in moving]
    else:
        q = [(*body.position, *body.orientation) for body in moving]
        u = [(*body.velocity, *body.angular_velocity) for body in moving]
    return np.array(q, float).ravel(), np.array(u, float).ravel()


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
