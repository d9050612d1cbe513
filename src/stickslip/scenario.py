"""A system or a scene with its start, step size and end time: what every library entry and model file gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from stickslip import markup
from stickslip.checks import Array, counted, on_top, real_number, singular, unknown_name
from stickslip.control import ControlLaw
from stickslip.drawing.primitives import Drawing
from stickslip.events.modes import out_of_contacts
from stickslip.mechanisms.penetration import PENETRATION_TOLERANCE, check_penetration
from stickslip.mechanisms.reset import Reset
from stickslip.mechanisms.system import CONSTRAINT, CONTACT, System
from stickslip.on_request import service
from stickslip.request import Checks, Records, RunOptions
from stickslip.scenes.bodies import COORDINATES, VELOCITIES, Body
from stickslip.scenes.scene import UNNAMED, Scene
from stickslip.scenes.varied import free_names, free_units, varied

if TYPE_CHECKING:
    from stickslip.trajectory import Trajectory


def require_positive(values: Mapping[str, Any], *names: str, allow_zero: bool = False) -> None:
    """Raise where a keyword of a library entry is no finite number, negative, or zero."""
    for name in names:
        value = real_number(values[name], name)
        if value < 0.0 or (value == 0.0 and not allow_zero):
            raise ValueError(f"{name} must {'not be negative' if allow_zero else 'be positive'}, got {value:g}.")


_HELP = {
    "LagrangianSystem": " Give it a start: ss.Scenario(system, q0, u0, dt, t_end).",
    "Model": " The scenario of a model file is model.scenario.",
    "str": " ss.read_model(file).scenario is that of a model file.",
    "Scene": " Of scenes: ss.step_sensitivity, or ss.as_mechanism(scene) where that is possible.",
}


def require_scenario(value: Any, what: str) -> None:
    """Raise ValueError unless `value` is a `Scenario` of a mechanism; `what` is what is asked for."""
    needs = f"{what} takes a Scenario, a system with coordinates and velocities, got"
    if not isinstance(value, Scenario):
        raise ValueError(f"{needs} {type(value).__name__}.{_HELP.get(type(value).__name__, '')}")
    value.require_coordinates(f"{needs} {{kind}}.")


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
    reset : Reset, optional
        New names for coordinates at a section, for cycles of walkers and wheels; runs do not need it.
    """

    system: System
    q0: Array
    u0: Array
    dt: float
    t_end: float
    title: str = ""
    source: str = ""
    params: Mapping[str, float] | None = None
    drawing: Drawing | None = None
    reset: Reset | None = None

    kind: ClassVar[str] = "mechanism"
    """The word by which services tell kinds apart, as in "plot a mechanism" (`stickslip.on_request`)."""
    file_kind: ClassVar[str] = "lagrangian"
    """The word for the kind in model files."""
    start_has_sliders: ClassVar[bool] = True
    """Whether there are few enough coordinates for a slider each."""
    foreign_options: ClassVar[Mapping[str, str]] = {"overlap": "is for scenes of bodies"}
    """Options of `stickslip run` that have no meaning here, and why."""
    contact_options: ClassVar[Mapping[str, Any]] = {}
    """Keywords of `simulate` with which a run has its contacts; a mechanism has them anyway."""

    @property
    def steppers(self) -> tuple[str, ...] | None:
        """Names of the steppers that can run it; None: all."""
        return None

    def __post_init__(self) -> None:
        q0, u0, _ = self.system.check(self.q0, self.u0, self.params)
        _require_times(self.dt, self.t_end)
        if self.reset is not None:
            if not isinstance(self.reset, Reset):
                raise ValueError(f"reset must be a Reset, got {type(self.reset).__name__}.")
            self.reset.on(self.system, self.system.parameter_vector(self.params))
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

    def require_coordinates(self, message: str) -> None:
        """Raise ValueError unless there are generalised coordinates; `message` has a place for the {kind} it is."""

    def as_mechanism(self) -> Scenario:
        """The mechanism that an event-driven judge integrates: itself; of a scene, what `as_mechanism` makes of it."""
        return self

    def seen(self, q: Array, u: Array) -> tuple[Array, Array]:
        """States (n, f) of `as_mechanism` in the coordinates and velocities of runs of this scenario."""
        return q, u

    def text(self) -> str:
        """The equations of a mechanism, the bodies of a scene, as text."""
        system: Any = self.system
        return str(system.equations().text())

    def latex(self) -> str:
        """The equations of a mechanism in LaTeX."""
        system: Any = self.system
        return str(system.equations().latex())

    def sizes(self) -> dict[str, int]:
        """Numbers of coordinates, contacts and parameters; of a scene, of bodies by their kind, and joints."""
        system = self.system
        held = len(system.constraints)
        return {
            "coordinates": system.n_dof,
            "contacts": system.n_contacts - held - len(system.spatial),  # a second tangent is no contact of its own
            **({"constraints": held} if held else {}),
            "parameters": len(system.parameter_names),
        }

    def remarks(self) -> list[str]:
        """Lines to read before a run: the gaps of the start, and whether there is a drawing."""
        system = self.system
        gaps = system.gap(self.q0, 0.0, system.parameter_vector(self.params))
        found = []
        columns = zip(system.contact_names, system.contact_kinds, system.gap_units, gaps, strict=True)
        for name, kind, unit, gap in columns:
            if kind == CONTACT:
                state = "touches at the start" if gap == 0.0 else f"starts with a gap of {gap:.4g} {unit}"
                found.append(f"contact {name!r} {state if gap >= 0 else f'starts {-gap:.3g} {unit} deep'}")
            elif kind == CONSTRAINT:
                found.append(f"constraint {name!r} starts with g = {gap:.3g}")
        if self.reset is not None:
            found.append(f"cycles get new names at their section: {self.reset.text}")
        found.append(
            "drawn by [drawing]" if self.drawing is not None else "no [drawing]: --animate makes no film of it"
        )
        return found

    def check_start(self, options: Mapping[str, Any]) -> None:
        """Raise ValueError where contacts overlap beyond the tolerance of a run, or the drawing has no value there."""
        system = self.system
        p = system.parameter_vector(self.params)
        tolerance = options.get("penetration_tol", PENETRATION_TOLERANCE)
        check_penetration(system, system.start_gap(self.q0, 0.0, p), tolerance, "q0", "starts")
        if self.drawing is not None:
            self.drawing(self.q0.tolist(), 0.0, self.parameters)

    def system_of(self, trajectory: Trajectory) -> System | None:
        """The system with whose parameters a run was made; None where it has others, or there is no system."""
        return self.system if set(trajectory.parameters) <= set(self.system.parameter_names) else None

    def starting(self, state: Mapping[str, float]) -> Scenario:
        """The scenario with another start: values of coordinates and velocities by name."""
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

    @property
    def quantities(self) -> tuple[str, ...]:
        """Names that `with_values` takes: parameters, coordinates and velocities of the start."""
        system = self.system
        return (*system.parameter_names, *system.coordinate_names, *system.velocity_names)

    @property
    def units(self) -> Mapping[str, str]:
        """Units of the `quantities` that have one."""
        return self.system.units

    def with_values(self, values: Mapping[str, float]) -> Scenario:
        """The scenario with other values of some `quantities`."""
        params = {name: value for name, value in values.items() if name in self.system.parameter_names}
        states = {name: value for name, value in values.items() if name not in params}
        return replace(self, params={**(self.params or {}), **params}).starting(states)

    def disturbed(self, changes: Mapping[str, float], options: Mapping[str, Any], first: Trajectory) -> Trajectory:
        """Run the scenario with some quantities changed; contacts that the changes have closed too far just touch.

        Parameters
        ----------
        changes : name of a coordinate, velocity or parameter -> what is added to it
        options : of `simulate`
        first : the run with these options and without the changes
        """
        system = self.system
        here = replace(self, **{name: options[name] for name in ("q0", "u0") if name in options})
        names = (*system.coordinate_names, *system.velocity_names)
        values = dict(zip(names, (*here.q0, *here.u0), strict=True))
        moved = here.starting({name: float(values[name] + x) for name, x in changes.items() if name in values})
        params = on_top(self.params, options.get("params"))
        base = dict(zip(system.parameter_names, system.parameter_vector(params), strict=True))
        params |= {name: float(base[name] + x) for name, x in changes.items() if name not in values}
        q0 = out_of_contacts(system, float(options.get("t0", 0.0)), moved.q0, system.parameter_vector(params))
        given = {"progress": False, **options, **({"params": params} if params else {})}
        return moved.simulate(**{**given, "q0": q0, "u0": moved.u0})

    def prepared(self, t: float, q: Any, u: Any, params: Mapping[str, float], options: Mapping[str, Any]) -> Any:
        """A run from a state at t [s], to be stepped by hand; None: the scenario's own start.

        options : `stepper`, `records`, `checks` and so on, as `simulate` takes them
        """
        start = self.q0 if q is None else q, self.u0 if u is None else u
        return service("prepare a mechanism")(self.system, *start, self.dt, t, params, dict(options))

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
        control: ControlLaw | None = None,
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
            params=on_top(self.params, params) or None, stepper=stepper, solver=solver, law=law, t0=t0,
            engine=engine, control=control, progress=progress, records=records, checks=checks,
        )  # fmt: skip
        run: Trajectory = service("simulate a mechanism")(
            self.system,
            self.q0 if q0 is None else q0,
            self.u0 if u0 is None else u0,
            dt=self.dt if dt is None else dt,
            t_end=self.t_end if t_end is None else t_end,
            **chosen,
            **options,
        )
        return replace(run, scenario=self)

    def __repr__(self) -> str:
        """One line; the fields are there to be read."""
        sizes = ", ".join(counted(count, singular(name)) for name, count in self.sizes().items())
        return f"<Scenario {self.system.name!r}: {self.title}; {sizes}; dt = {self.dt:g} s, t_end = {self.t_end:g} s>"

    def _repr_html_(self) -> str:
        values = {
            **dict(zip(self.system.coordinate_names, self.q0.tolist(), strict=True)),
            **dict(zip(self.system.velocity_names, self.u0.tolist(), strict=True)),
        }
        units = self.system.units
        rows: list[tuple[Any, ...]] = [("dt, t_end", f"{self.dt:g} s, {self.t_end:g} s", "")]
        rows += [
            (f"start: {name}", value, units.get(name, "")) for name, value in [*values.items()][: markup.MOST_ROWS]
        ]
        rows += [(name, value, units.get(name, "")) for name, value in self.parameters.items()]
        return markup.table(rows, caption=f"{self.title} ({self.source})" if self.source else self.title)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class SceneScenario(Scenario):
    """A scene ready to run: a `Scenario` whose start stands in its bodies.

    Attributes
    ----------
    scene : Scene
        Also called `system`: it names its coordinates and velocities as a `System` does.
    dt, t_end : float
        Step size and end time that show the motion well [s].
    title, source : str
        One line for lists and figures; where the scene comes from.
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
    reset: None = field(init=False, default=None)

    contact_options: ClassVar[Mapping[str, Any]] = {"contacts": True}
    kind: ClassVar[str] = "scene"
    file_kind: ClassVar[str] = "scene"
    start_has_sliders: ClassVar[bool] = False
    foreign_options: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("solver", "engine", "projection"), "has no meaning for a scene"
    )

    def __init__(
        self, scene: Scene, dt: float, t_end: float, title: str, source: str, options: Mapping[str, Any] | None = None
    ) -> None:
        _require_times(dt, t_end)
        q0, u0 = _start_of(scene)
        values = {"dt": dt, "t_end": t_end, "title": title, "source": source, "options": dict(options or {})}
        for name, value in {"scene": scene, "system": scene, "q0": q0, "u0": u0, **values}.items():
            object.__setattr__(self, name, value)

    @property
    def steppers(self) -> tuple[str, ...]:
        surfaces = (*(body.material for body in self.scene.bodies), *self.scene.pair_laws.values())
        last = () if any(surface.strikes_at_once for surface in surfaces) else ("paoli-schatzman",)
        return ("moreau-midpoint", "moreau-jean", "stewart-trinkle", *last)

    @property
    def parameters(self) -> dict[str, float]:
        return {}

    @property
    def quantities(self) -> tuple[str, ...]:
        """Names that `with_values` takes: surfaces, masses, sizes, loads, and the start of every body."""
        return free_names(self.scene)

    @property
    def units(self) -> Mapping[str, str]:
        return free_units(self.scene)

    def with_values(self, values: Mapping[str, float]) -> SceneScenario:
        scene, starts = varied(self.scene, values)
        fresh = SceneScenario(scene, self.dt, self.t_end, self.title, self.source, self.options)
        return fresh.starting(starts)

    def require_coordinates(self, message: str) -> None:
        raise ValueError(message.format(kind="a scene of bodies and shapes"))

    def as_mechanism(self) -> Scenario:
        found: Scenario = service("take a scene as a mechanism")(self)
        return found

    def seen(self, q: Array, u: Array) -> tuple[Array, Array]:
        found: tuple[Array, Array] = service("see a mechanism as a scene")(self.scene, q, u)
        return found

    def latex(self) -> str:
        raise ValueError(f"{self.scene.name} is a scene of bodies and shapes: it has no equations to print as LaTeX.")

    def sizes(self) -> dict[str, int]:
        kinds = [body.kind for body in self.scene.bodies[1:]]
        bodies = {f"{kind} bodies": kinds.count(kind) for kind in ("moving", "driven", "static") if kind in kinds}
        return {**bodies, "joints": len(self.scene.joints)}

    def remarks(self) -> list[str]:
        return []

    def check_start(self, options: Mapping[str, Any]) -> None:
        """Raise ValueError where bodies overlap beyond the tolerance of a run with the scenario's own options."""
        service("prepare a scene")(self.scene, self.dt, self.t_end, **self.options)

    def system_of(self, trajectory: Trajectory) -> None:
        return None

    def text(self) -> str:
        """Its bodies, one per line: kind, shape, mass, position and velocity."""
        lines = [f"bodies in {'space' if self.scene.dim == 3 else 'the plane'}"]
        for body in self.scene.bodies[1:]:
            mass = f", {body.mass:g} kg at {_numbers(body.position)} m" if body.kind == "moving" else ""
            motion = f", velocity {_numbers(body.velocity)} m/s" if np.any(body.velocity) else ""
            lines.append(f"  {body.name}: {body.kind} {type(body.shape).__name__.lower()}{mass}{motion}")
        return "\n".join([*lines, ""])

    def prepared(self, t: float, q: Any, u: Any, params: Mapping[str, float], options: Mapping[str, Any]) -> Any:
        grouped = {each.name for kind in (Records, Checks) for each in fields(kind)}
        given = {**{name: value for name, value in self.options.items() if name not in grouped}, **options}
        return service("prepare a scene")(self.scene, self.dt, t + self.dt, t0=t, q0=q, u0=u, **given)

    def starting(self, state: Mapping[str, float]) -> SceneScenario:
        """The scenario with another start: positions, planar angles and velocities by name, `cube1.vx`."""
        scene = self.scene.copy()
        for name, value in state.items():
            _set_start(scene, name, real_number(value, name))
        return replace(self, scene=scene)

    def disturbed(self, changes: Mapping[str, float], options: Mapping[str, Any], first: Trajectory) -> Trajectory:
        # The bodies of the scene may stand elsewhere than in the first record, which agrees with the joints.
        names = (*first.coordinate_names, *first.velocity_names)
        values = dict(zip(names, (*first.q[0], *first.u[0]), strict=True))
        moved = self.starting({name: float(values[name] + x) for name, x in changes.items()})
        return moved.simulate(**{"progress": False, "overlap": "resolve", **options})

    def simulate(  # type: ignore[override]  # its start stands in its bodies, and it has no parameters
        self,
        *,
        dt: float | None = None,
        t_end: float | None = None,
        stepper: Any = None,
        solver: Any = "auto",
        law: Any = None,
        engine: Any = "auto",
        rule: str | None = None,
        cone: str | int | None = None,
        tol: float | None = None,
        t0: float | None = None,
        threads: int | None = None,
        overlap: str | None = None,
        control: ControlLaw | None = None,
        progress: bool | Callable[[int], None] | None = None,
        records: Records | None = None,
        checks: Checks | None = None,
        **options: Unpack[RunOptions],
    ) -> Trajectory:
        """Run the scene; keywords are those of `Scene.simulate` and override the scenario's own values.

        None stands for the scenario's own value, or for what `Scene.simulate` does where it is not told.  Of solver
        and engine a scene knows one each.
        """
        for name, value, allowed in (("solver", solver, ("auto",)), ("engine", engine, ("auto", "compiled"))):
            if value not in allowed:
                raise ValueError(f"{name} of a scene must be {' or '.join(map(repr, allowed))}, got {value!r}.")
        groups = [kind for kind, given in ((Records, records), (Checks, checks)) if given is not None]
        grouped = {each.name for kind in groups for each in fields(kind)}
        own = {name: value for name, value in self.options.items() if name not in grouped}
        chosen = _given(
            dt=dt, t_end=t_end, stepper=stepper, law=law, rule=rule, cone=cone, tol=tol, t0=t0, threads=threads,
            overlap=overlap, control=control, progress=progress, records=records, checks=checks,
        )  # fmt: skip
        run = self.scene.simulate(**{"dt": self.dt, "t_end": self.t_end, **own, **chosen, **options})
        return replace(run, scenario=self)


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


def picture_of(shown: Any) -> tuple[Drawing, str]:
    """The drawing that films show, and its name: `shown` is a `Drawing`, which has no name, or the `Scene` of a run."""
    drawing, name = (shown.drawing(), shown.name) if isinstance(shown, Scene) else (shown, "")
    if not isinstance(drawing, Drawing):
        raise ValueError(
            f"drawing must be the Scene that was run, or the drawing of a scenario, got {type(drawing).__name__}."
        )
    return drawing, name


def as_shown(scenario: Any, trajectory: Trajectory) -> Any:
    """Title, source and picture for figures and pages: a scenario, or one made of the own `Scene` of a run."""
    if scenario is None or isinstance(scenario, Scenario):
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
    return SceneScenario(scenario, trajectory.dt, t_end, _title_of(scenario), "")


def _title_of(scene: Scene) -> str:
    """The name of a scene, or what is in it where it has no name of its own."""
    if scene.name != UNNAMED:
        return scene.name
    moving = sum(body.kind == "moving" for body in scene.bodies)
    return f"Scene of {counted(moving, 'moving body')}"


def as_scenario(moving: Any, dt: float | None, q0: Any, u0: Any) -> Scenario:
    """A scenario of what is to be stepped by hand: a `Scenario`, a `Scene`, or a system with its start.

    dt : step size [s]; None: that of the scenario
    """
    if isinstance(moving, Scenario):
        length = moving.dt if dt is None else real_number(dt, "dt")
        start = {name: value for name, value in (("q0", q0), ("u0", u0)) if value is not None}
        if start and moving.kind == "scene":
            raise ValueError("q0 and u0 are for mechanisms; the start of a scene stands in its bodies.")
        return replace(moving, dt=length, t_end=max(moving.t_end, length), **start)
    if not isinstance(moving, (Scene, System)):
        own = "; give its attribute scenario" if isinstance(getattr(moving, "scenario", None), Scenario) else ""
        raise ValueError(
            f"a Scenario, a Scene, or a system with q0= and u0= is needed, got {type(moving).__name__}{own}."
        )
    if dt is None:
        raise ValueError("dt must be given [s]; only scenarios, such as those of the library, have one.")
    length = real_number(dt, "dt")
    if isinstance(moving, Scene):
        return SceneScenario(moving.copy(), length, length, _title_of(moving), "described in Python")
    if q0 is None or u0 is None:
        raise ValueError("q0 and u0 must be given for a system; library entries have a start of their own.")
    return Scenario(moving, q0, u0, length, length, moving.name, "described in Python")


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
