"""`Scene`: bodies with shapes, joints, springs and forces, put together one by one."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from stickslip.checks import known_keywords
from stickslip.control import ControlLaw
from stickslip.debug import debugging
from stickslip.on_request import service
from stickslip.request import Checks, Records, RunOptions
from stickslip.scenes.bodies import COORDINATES, VELOCITIES, Body, Material, Surface
from stickslip.scenes.checks import number, require_function, turning, vector
from stickslip.scenes.geared import Geared
from stickslip.scenes.given import gravity_of, inertia_of, inertia_of_shape, material_of, time_of
from stickslip.scenes.joints import Force, Joint, Spring
from stickslip.scenes.shapes import IDENTITY, Shape, Unbounded, orientation

if TYPE_CHECKING:
    from stickslip.drawing.primitives import Drawing
    from stickslip.trajectory import Trajectory


UNNAMED = "scene"
"""Name of a scene that got none."""


class Scene(Geared):
    """Rigid bodies with hard contacts and Coulomb friction, in the plane or in space.

    Parameters
    ----------
    dim : 2 (plane: coordinates x, y, angle) or 3 (space: x, y, z, unit quaternion w, x, y, z).
    gravity : [m/s^2], a number (downwards: -y in the plane, -z in space) or a vector.
    name : used in messages, figures and files.

    Angular velocities are in world axes.  The position of a body is that of its centre of mass.

    Examples
    --------
    >>> scene = Scene(dim=3)
    >>> from stickslip import Box, HalfSpace
    >>> floor = scene.add_static(HalfSpace(normal=(0, 0, 1)), friction=0.5)
    >>> cube = scene.add_body(Box((1, 1, 1)), mass=1.0, position=(0, 0, 0.5), velocity=(6, 0, 0))
    >>> trajectory = scene.simulate(dt=1e-3, t_end=2.0)
    """

    def __init__(self, dim: int = 3, gravity: Any = 9.81, name: str = UNNAMED) -> None:
        if dim not in (2, 3) or isinstance(dim, bool):
            raise ValueError(f"dim must be 2 (plane) or 3 (space), got {dim!r}.")
        self.dim = int(dim)
        self.name = str(name)
        self.gravity = gravity_of(gravity, self.dim)
        zero, nothing = np.zeros(3), np.zeros((3, 3))
        self.bodies: list[Body] = [
            Body(
                0,
                "world",
                "static",
                self.dim,
                None,
                math.inf,
                nothing,
                zero,
                IDENTITY,
                0.0,
                zero,
                zero,
                zero,
                Material(),
            )
        ]
        self._names = {"world"}
        self._columns = 0  # bodies with a place in the trajectory
        self.joints: list[Joint] = []
        self.springs: list[Spring] = []
        self.forces: list[Force] = []
        self.ignored: set[tuple[int, int]] = set()
        self.pair_laws: dict[tuple[int, int], Material] = {}

    # -- bodies --------------------------------------------------------------------------------------------------------

    @known_keywords
    def add_static(
        self,
        shape: Shape,
        *,
        position: Any = None,
        orientation: Any = None,
        friction: Any = None,
        restitution: Any = None,
        restitution_tangential: Any = None,
        surface_velocity: Any = None,
        name: str | None = None,
        **surface: Unpack[Surface],
    ) -> Body:
        """Add a body that never moves; position and orientation are those of the shape.

        surface_velocity : of a belt that runs over its surface [m/s], world axes: friction carries bodies along.  Its
            part along a normal does not count, so that faces across the belt are at rest.
        """
        label = self._label(shape, name)
        material = material_of(friction, restitution, restitution_tangential, surface, self.dim, repr(label))
        return self._add("static", shape, material, label, position, orientation, surface_velocity)

    @known_keywords
    def add_driven(
        self,
        shape: Shape,
        *,
        position: Any = None,
        orientation: Any = None,
        velocity: Any = None,
        angular_velocity: Any = None,
        motion: Callable[[float], Any] | None = None,
        friction: Any = None,
        restitution: Any = None,
        restitution_tangential: Any = None,
        name: str | None = None,
        **surface: Unpack[Surface],
    ) -> Body:
        """Add a body whose velocity is prescribed: constant, or a function of time.

        velocity, angular_velocity : constant [m/s], [rad/s].
        motion : function of t [s] that returns the pair (velocity, angular velocity), in world axes; it is called for
            the start of a run and the end of every step, and `velocity`, `angular_velocity` do not count beside it.
            It is taken as continuous: where it jumps, bodies are pushed along without a rebound.
        """
        if motion is not None:
            require_function(motion, "motion", ("t",))
        for value, field in ((velocity, "velocity"), (angular_velocity, "angular_velocity")):
            if callable(value):
                raise ValueError(
                    f"{field} of add_driven must be constant, got a function; "
                    "give motion=function of t that returns (velocity, angular velocity)."
                )
        label = self._label(shape, name)
        material = material_of(friction, restitution, restitution_tangential, surface, self.dim, repr(label))
        return self._add(
            "driven", shape, material, label, position, orientation, velocity, angular_velocity, motion=motion
        )

    @known_keywords
    def add_body(
        self,
        shape: Shape,
        *,
        mass: float | None = None,
        density: float | None = None,
        inertia: Any = None,
        centre_of_mass: Any = None,
        position: Any = None,
        orientation: Any = None,
        velocity: Any = None,
        angular_velocity: Any = None,
        friction: Any = None,
        restitution: Any = None,
        restitution_tangential: Any = None,
        appears: float = -math.inf,
        vanishes: float = math.inf,
        name: str | None = None,
        **surface: Unpack[Surface],
    ) -> Body:
        """Add a body that moves freely.

        Parameters
        ----------
        mass or density : [kg], or [kg/m^3] ([kg/m^2] in the plane); one of the two.
        inertia : about the centre of mass [kg m^2]: a number in the plane; (3,) principal values or (3, 3) in space.
            Computed from the shape where it is not given.
        centre_of_mass : in the coordinates of the shape [m]; the centroid where it is not given.
        position : of the centre of mass [m].
        orientation : angle [rad] or unit quaternion (w, x, y, z).
        velocity, angular_velocity : [m/s], [rad/s], world axes.
        friction : mu, or (mu_1, mu_2) of elliptic friction in space.
        restitution, restitution_tangential : eps_N, eps_T in [0, 1].  Of two bodies that touch, one without a value
            takes the other's; two values make their geometric mean.  eps_N may be a `RestitutionCurve`.
        friction_impact : mu in impacts, where it differs from that of sliding.
        patch, pressure : radius of the disc of contact [m]: friction resists spinning as well (Coulomb-Contensou), with
            "constant" (the default) or "hertz" pressure on the disc.
        rolling : arm rho of the rolling resistance [m]: a torque of up to rho times the normal force.
        stiffness : of the surface beside others, any unit; of two bodies that touch, in series, k l / (k + l).  Its
            ratios count under law="stiffness-ratios"; a pair without any has 1.
        appears, vanishes : the body takes part from the first time until the second [s].
        """
        if not isinstance(shape, Shape):
            raise ValueError(f"shape must be a shape such as Sphere or Box, got {shape!r}.")
        if isinstance(shape, Unbounded):
            shape.mass_properties(self.dim)
        shape.check_dimension(self.dim)
        label = self._label(shape, name)
        with np.errstate(all="ignore"):  # sizes that overflow are refused in one line
            weight, tensor, centre = self._mass(shape, mass, density, inertia, centre_of_mass, label)
        material = material_of(friction, restitution, restitution_tangential, surface, self.dim, repr(label))
        life = (time_of(appears, "appears"), time_of(vanishes, "vanishes"))
        if not life[0] < life[1]:
            raise ValueError(f"vanishes must come after appears = {life[0]:g} s, got {life[1]:g} s.")
        return self._add(
            "moving", shape, material, label, position, orientation, velocity, angular_velocity,
            mass=weight, inertia=tensor, centre=centre, life=life,
        )  # fmt: skip

    def _mass(
        self, shape: Shape, mass: Any, density: Any, inertia: Any, centre_of_mass: Any, label: str
    ) -> tuple[float, np.ndarray, np.ndarray]:
        if (mass is None) == (density is None):
            raise ValueError(f"give mass or density of {label!r}, one of the two.")
        properties = shape.mass_properties(self.dim)
        if mass is not None:
            weight = number(mass, f"mass of {label!r}", positive=True)
        else:
            weight = number(density, f"density of {label!r}", positive=True) * properties.volume
        centre = properties.centre
        tensor = properties.inertia * (weight / properties.volume)
        if centre_of_mass is not None:
            centre = np.zeros(3)
            centre[: self.dim] = vector(centre_of_mass, f"centre_of_mass of {label!r}", self.dim)
            if inertia is None:
                raise ValueError(
                    f"inertia of {label!r} must be given with centre_of_mass: the shape's own is about its centroid."
                )
        if inertia is not None:
            tensor = inertia_of(inertia, self.dim, f"inertia of {label!r}")
        else:
            tensor = inertia_of_shape(shape, tensor, self.dim, label)
        return weight, tensor, centre

    def _label(self, shape: Shape, name: str | None) -> str:
        """The name of the next body: as given, or made of its shape and number."""
        return str(name) if name is not None else f"{type(shape).__name__.lower()}{len(self.bodies)}"

    def _add(
        self,
        kind: str,
        shape: Shape,
        material: Material,
        label: str,
        position: Any = None,
        turn: Any = None,
        velocity: Any = None,
        angular_velocity: Any = None,
        mass: float = math.inf,
        inertia: np.ndarray | None = None,
        centre: np.ndarray | None = None,
        life: tuple[float, float] = (-math.inf, math.inf),
        motion: Callable[[float], Any] | None = None,
    ) -> Body:
        if not isinstance(shape, Shape):
            raise ValueError(f"shape must be a shape such as Sphere or Box, got {shape!r}.")
        shape.check_dimension(self.dim)
        if label in self._names:
            raise ValueError(f"name of a body must be its own, got {label!r} twice.")
        x = np.zeros(3)
        if position is not None:
            x[: self.dim] = vector(position, f"position of {label!r}", self.dim)
        v, w = self._velocities(velocity, angular_velocity, label)
        q, angle = orientation(turn, self.dim, f"orientation of {label!r}")
        column = -1 if kind == "static" else self._columns
        body = Body(
            len(self.bodies), label, kind, self.dim, shape, mass, np.zeros((3, 3)) if inertia is None else inertia, x,
            q, angle, v, w, np.zeros(3) if centre is None else centre, material, life, motion, column,
        )  # fmt: skip
        self.bodies.append(body)
        self._names.add(label)
        self._columns += kind != "static"
        return body

    def _velocities(self, velocity: Any, angular_velocity: Any, label: str) -> tuple[np.ndarray, np.ndarray]:
        v, w = np.zeros(3), np.zeros(3)
        if velocity is not None:
            v[: self.dim] = vector(velocity, f"velocity of {label!r}", self.dim)
        if angular_velocity is not None:
            w[2 if self.dim == 2 else 0 :] = turning(angular_velocity, f"angular_velocity of {label!r}", self.dim)
        return v, w

    # -- laws of pairs -------------------------------------------------------------------------------------------------

    def set_pair(
        self,
        a: Body,
        b: Body,
        *,
        friction: Any = None,
        restitution: Any = None,
        restitution_tangential: Any = None,
        **surface: Unpack[Surface],
    ) -> None:
        """Give two bodies laws of their own; what is None stays as their materials say."""
        key = self._pair(a, b)
        both = " and ".join(repr(self.bodies[i].name) for i in key)
        self.pair_laws[key] = material_of(friction, restitution, restitution_tangential, surface, self.dim, both)

    def ignore(self, a: Body, b: Body) -> None:
        """Let two bodies pass through one another."""
        self.ignored.add(self._pair(a, b))

    def _pair(self, a: Body, b: Body) -> tuple[int, int]:
        i, j = self._number(a), self._number(b)
        if i == j:
            raise ValueError(f"two different bodies are needed, got {self.bodies[i].name!r} twice.")
        return min(i, j), max(i, j)

    # -- springs, forces; joints: see `joining`, `geared` --------------------------------------------------------------

    @known_keywords
    def add_spring(
        self, a: Body | None, b: Body, at_a: Any, at_b: Any, *, stiffness: float, damping: float = 0.0,
        length: float | None = None,
    ) -> Spring:  # fmt: skip
        """A spring [N/m] with damper [N s/m] between points given in world coordinates at the start.

        length : without force [m]; the distance at the start where it is not given.
        """
        p, q = np.zeros(3), np.zeros(3)
        p[: self.dim] = vector(at_a, "at_a", self.dim)
        q[: self.dim] = vector(at_b, "at_b", self.dim)
        rest = float(np.linalg.norm(q - p)) if length is None else number(length, "length", least=0.0)
        i, j = self._ends(a, b)
        spring = Spring(
            i, j, p, q, number(stiffness, "stiffness", least=0.0), number(damping, "damping", least=0.0), rest
        )
        self.springs.append(spring)
        return spring

    @known_keywords
    def add_force(self, body: Body, force: Any = None, torque: Any = None) -> Force:
        """A force [N] at the centre of mass and a torque [N m] in world axes.

        Constant, or functions of (t, position, velocity) that are called in every step, which costs some 20
        microseconds each: time and position at the midpoint of the step, the velocity before it.
        """
        index = self._number(body)
        if body.kind != "moving":
            raise ValueError(f"body must move freely to feel a force, got {body.name!r} ({body.kind}).")
        for value, field in ((force, "force"), (torque, "torque")):
            if callable(value):
                require_function(value, f"{field} on {body.name!r}", ("t", "position", "velocity"))
        push = force if callable(force) or force is None else vector(force, "force", self.dim)
        twist = torque if callable(torque) or torque is None else turning(torque, "torque", self.dim)
        entry = Force(index, push, twist)
        self.forces.append(entry)
        return entry

    # -- running -------------------------------------------------------------------------------------------------------

    def simulate(
        self,
        dt: float,
        t_end: float,
        *,
        stepper: Any = "moreau-midpoint",
        rule: str = "predictive",
        cone: str | int = "circular",
        law: Any = "newton",
        tol: float = 1e-10,
        t0: float = 0.0,
        threads: int = 1,
        overlap: str = "raise",
        control: ControlLaw | None = None,
        progress: bool | Callable[[int], None] | None = None,
        records: Records | None = None,
        checks: Checks | None = None,
        **options: Unpack[RunOptions],
    ) -> Trajectory:
        """Compute the motion and return it with its certificate.

        Order 2 in free flight and with joints, order 1 across impacts and stick-slip transitions.  Contacts obey
        an impact law and Coulomb's law on velocity level.

        Parameters
        ----------
        dt, t_end : step size and end time [s]; the number of steps is (t_end - t0) / dt, rounded.
        stepper : "moreau-midpoint" / `MoreauMidpoint()`, without projection, or "moreau-jean" / `MoreauJean(theta)`:
            Jean's theta-method, whose springs and dampers are implicit, so that stiff ones need no small steps; or
            "stewart-trinkle" / `StewartTrinkle()`, the scheme of [S00] (2.11)-(2.16), of order 1; or
            "paoli-schatzman" / `PaoliSchatzman()`, contacts on position level, of order 1, impacts take two steps.
            "adaptive" / `Adaptive(rtol)` and "event-driven" / `EventDriven(rtol)` run the mechanism that `as_mechanism`
            makes of the scene; dt is the spacing of the records then, and contacts have a column for each point.
        rule : when a contact is active: "predictive" (it would close within the step), or "gs05" (closed
            at the midpoint, [GS05] 5).
        cone : "circular" (elliptic where a body's friction says so), or the number of edges of the pyramid of [S00]
            (2.11)-(2.16), for some tens of contacts at once.
        law : of impacts: "newton"; "stronge" (energetic) or "poisson-integrated", which follow each impact through its
            slip; "poisson" in two steps; "walton" for free balls.  These take several contacts one after the other,
            "chatterjee-ruina" likewise. "poisson-at-once", "stiffness-ratios" and "stiffness-ratios-hertz" take all of
            them together, as "newton" does.
        tol : residual of the contact laws, relative to the velocities at the contacts.
        threads : islands, and the slabs of a large one, are shared among this number of threads; the result does not
            depend on it.
        overlap : bodies that overlap at the start by more than `penetration_tol` [m] are an error ("raise"), are moved
            apart ("resolve"), or stay ("keep"). A body that appears later inside another one stops the run, or is
            moved out, or stays.
        control : a `ControlLaw`, which drives joints and pushes bodies at a rate of its own.
        progress : as in `simulate`.
        records, checks : `Records` and `Checks`; their fields every, out, overwrite, resume, penetration_tol (1e-6 m
            here), on_failure and time_limit are keywords as well.

        Ctrl-C, a failed step or a state that is no longer finite end the run; the trajectory so far is returned with
        `complete` False and `status` saying where and why.

        With the environment variable `STICKSLIP_DEBUG` set, the penetration in the certificate is compared with the
        overlaps of the shapes, computed anew (`scenes.collision.overlaps`); a RuntimeWarning tells where it is below.
        """
        run: Trajectory = service("simulate a scene")(
            self, dt, t_end, progress, stepper=stepper, rule=rule, cone=cone, law=law, tol=tol, t0=t0, threads=threads,
            overlap=overlap, control=control, records=records, checks=checks, **options,
        )  # fmt: skip
        if debugging():
            from stickslip.scenes.collision.overlaps import checked

            run = checked(self, run)
        return replace(run, scenario=self)

    def copy(self) -> Scene:
        """A scene of its own with the same bodies, joints, springs and forces."""
        other = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, list | set | dict):
                setattr(other, name, value.copy())
        return other

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the entries of q: of each body that can move, in the order of the bodies."""
        return tuple(f"{name}.{c}" for name in self.contact_names for c in COORDINATES[self.dim])

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """Names of the entries of u."""
        return tuple(f"{name}.{v}" for name in self.contact_names for v in VELOCITIES[self.dim])

    @property
    def contact_names(self) -> tuple[str, ...]:
        """Names of the bodies that can move: the contact columns of a trajectory have one entry for each."""
        return tuple(body.name for body in self.bodies if body.kind != "static")

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the parameters that a trajectory keeps: the components of gravity."""
        return tuple(f"gravity_{axis}" for axis in "xyz"[: self.dim])

    @property
    def units(self) -> dict[str, str]:
        """Units of the entries of q and u."""
        found = {}
        for name in self.contact_names:
            for c in COORDINATES[self.dim]:
                found[f"{name}.{c}"] = "m" if c in "xyz" else ("rad" if c == "angle" else "1")
            for v in VELOCITIES[self.dim]:
                found[f"{name}.{v}"] = "m/s" if v.startswith("v") else "rad/s"
        return found

    @property
    def n_dof(self) -> int:
        """Velocities of the bodies that move freely."""
        return len(VELOCITIES[self.dim]) * sum(body.kind == "moving" for body in self.bodies)

    def drawing(self, view: tuple[float, float, float, float] | None = None) -> Drawing:
        """How the scene looks, for `stickslip.figures`: as it is in the plane, aslant from above in space."""
        return service("draw a scene")(self, view)

    def __repr__(self) -> str:
        kinds = [body.kind for body in self.bodies[1:]]
        return (
            f"<Scene {self.name!r}, dim = {self.dim}: {kinds.count('moving')} moving, {kinds.count('driven')} driven, "
            f"{kinds.count('static')} static bodies, {len(self.joints)} joints, {len(self.springs)} springs>"
        )
