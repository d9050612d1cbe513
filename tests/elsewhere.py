"""Mechanisms and scenes elsewhere: moved by a distance, turned by an angle, simulated, and moved back.

The physics does not depend on the place of a system; the digits of its coordinates do.  `Place.simulate` runs a system
in another frame and returns the motion in the system's own frame.  So a test can compare it with its closed form,
within `Place.rounding`.  A contact that loses its load for a single step, between steps with load, is an error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import sympy as sp

import stickslip as ss
from stickslip.scenes.scene import Scene
from stickslip.scenes.shapes import rotation_matrix

AXIS = np.array([2.0, -1.0, 0.5]) / math.sqrt(5.25)
"""About which scenes in space are turned."""
AWAY = np.array([0.6, -0.64, 0.48])
"""Direction of the distance, which has nothing to do with the angle."""


@dataclass(frozen=True)
class Place:
    """A frame at a distance [m], turned by an angle [rad]; `quick` for runs of the default test suite."""

    distance: float = 0.0
    angle: float = 0.0
    quick: bool = False

    def __str__(self) -> str:
        return "home" if self == HOME else f"{self.distance:g} m, {self.angle:g} rad" + (" quick" if self.quick else "")

    def span(self, full: float, short: float) -> float:
        """Time to simulate [s]: a short one away from home in the default test suite."""
        return short if self.quick else full

    def rounding(self, run: ss.Trajectory) -> float:
        """Sum of the rounding errors of the coordinates in a run [m]; zero at the origin."""
        return 0.0 if self == HOME else 2.0**-52 * max(1.0, self.distance) * 20 * math.sqrt(max(1, run.steps))

    def speed_rounding(self, run: ss.Trajectory) -> float:
        """Rounding error of a velocity that is zero, or of sums of velocities of order one [m/s].

        Steppers on position level compute velocities from differences of coordinates.
        """
        if self == HOME:
            return 0.0
        digits = 2.0**-52 * 20 * math.sqrt(max(1, run.steps))
        return digits + (self.rounding(run) / run.dt if run.stepper == "paoli-schatzman" else 0.0)

    def simulate(self, what: Any, *start: Any, held: bool = True, **options: Any) -> ss.Trajectory:
        """Run a Scenario, a system with q0 and u0, or a Scene at this place; return the motion in its own frame.

        Pairs of coordinates (x, y) and (x_i, y_i) are turned, angles phi follow, and others are only moved.
        `held`: no contact may lose its load for a single step.
        """
        by_events = options.get("stepper") == "event-driven" or isinstance(options.get("stepper"), ss.EventDriven)
        if self.quick and not isinstance(what, Scene) and not by_events:
            options.setdefault("engine", "reference")
        if isinstance(what, ss.Scenario):
            options = {"dt": what.dt, "t_end": what.t_end, **options}
            options["params"] = {**(what.params or {}), **options.get("params", {})}
            what, start = what.system, start or (what.q0, what.u0)
        if self == HOME:
            run = what.simulate(**options) if isinstance(what, Scene) else ss.simulate(what, *start, **options)
        elif isinstance(what, Scene):
            run = self._back_in_scene(what, self.moved(what).simulate(**options))
        else:
            run = self._mechanism(what, *start, **options)
        if held and run.every == 1:
            # on position level loads below the last digits of coordinates are not told from none; masses are 1 kg
            digits = 10 * 2.0**-52 * self.distance / run.dt if run.stepper == "paoli-schatzman" else 0.0
            assert single_openings(run, digits) == []
        return run

    # -- mechanisms --------------------------------------------------------------------------------------------

    @property
    def _shift(self) -> dict[str, float]:
        return {"P_x": self.distance * AWAY[0], "P_y": self.distance * AWAY[1], "beta": self.angle}

    def _mechanism(self, system: ss.LagrangianSystem, q0: Any, u0: Any, **options: Any) -> ss.Trajectory:
        A, shift = self._frame(system.coordinate_names)
        known = dict(zip(system.parameter_names, system.parameter_values.tolist(), strict=True))
        params = {**known, **{str(key): value for key, value in options.pop("params", {}).items()}, **self._shift}
        run = ss.simulate(
            moved_system(system), A.T @ np.asarray(q0, float) + shift, A.T @ np.asarray(u0, float), params=params,
            **{"penetration_tol": 1e-5, **options},
        )  # fmt: skip
        return replace(
            run,
            q=(run.q - shift) @ A.T,
            u=run.u @ A.T,
            coordinate_names=system.coordinate_names,
            velocity_names=system.velocity_names,
        )

    def _frame(self, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Matrix A (f, f) and shift s (f,) of own = A (there - s)."""
        A, shift, known = np.eye(len(names)), np.zeros(len(names)), self._shift
        turned = turned_pairs(names)
        for i, j in turned:
            A[np.ix_([i, j], [i, j])] = _rotation(self.angle).T
            shift[i], shift[j] = known["P_x"], known["P_y"]
        for i, name in enumerate(names):
            if all(i not in pair for pair in turned):
                shift[i] = known["beta"] if name.startswith("phi") else known["P_x"]
        return A, shift

    # -- scenes ------------------------------------------------------------------------------------------------

    def _scene_frame(self, dim: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rotation (3, 3), its unit quaternion, and origin (3,)."""
        axis = np.array([0.0, 0.0, 1.0]) if dim == 2 else AXIS
        turn = np.array([math.cos(self.angle / 2), *(math.sin(self.angle / 2) * axis)])
        origin = self.distance * AWAY
        if dim == 2:
            origin = origin * [1.0, 1.0, 0.0]
        return rotation_matrix(turn), turn, origin

    def moved(self, scene: Scene) -> Scene:
        """The scene there: bodies, gravity, joints, springs and forces."""
        R, turn, origin = self._scene_frame(scene.dim)
        there = scene.copy()
        there.gravity = R @ scene.gravity
        there.bodies = [scene.bodies[0]] + [
            replace(
                body,
                position=origin + R @ body.position,
                orientation=_product(turn, body.orientation),
                angle=body.angle + (self.angle if scene.dim == 2 else 0.0),
                velocity=R @ body.velocity,
                angular_velocity=R @ body.angular_velocity,
                motion=None if body.motion is None else _turned_motion(body.motion, R, scene.dim),
            )
            for body in scene.bodies[1:]
        ]
        ends = {"joints": scene.joints, "springs": scene.springs}
        for name, entries in ends.items():
            moved = [replace(entry, at_a=origin + R @ entry.at_a, at_b=origin + R @ entry.at_b) for entry in entries]
            setattr(there, name, moved)
        there.joints = [
            replace(
                joint,
                axis=R @ joint.axis,
                across=None if joint.across is None else R @ joint.across,
                over=tuple(origin + R @ point for point in joint.over),
            )
            for joint in there.joints
        ]
        there.forces = [replace(entry, **_turned_force(entry, R, origin, scene.dim)) for entry in scene.forces]
        return there

    def _back_in_scene(self, scene: Scene, run: ss.Trajectory) -> ss.Trajectory:
        R, turn, origin = self._scene_frame(scene.dim)
        d = scene.dim
        q, u = run.q.reshape(len(run), -1, 3 if d == 2 else 7).copy(), run.u.reshape(len(run), -1, 3 * d - 3).copy()
        q[..., :d] = (q[..., :d] - origin[:d]) @ R[:d, :d]
        u[..., :d] = u[..., :d] @ R[:d, :d]
        if d == 2:
            q[..., 2] -= self.angle
        else:
            q[..., 3:] = _product(turn * [1, -1, -1, -1], q[..., 3:])
            u[..., 3:] = u[..., 3:] @ R
        return replace(run, q=q.reshape(run.q.shape), u=u.reshape(run.u.shape))


HOME = Place()
QUICK = Place(1e3, 1.234, quick=True)
FAR = [Place(1.0, 0.3), Place(1e3, 1.234), Place(1e5, -2.1)]
SLOWLY = [pytest.param(place, marks=pytest.mark.slow) for place in FAR]
"""The far places in the slow test suite only."""
EVERYWHERE = pytest.mark.parametrize("place", [HOME, QUICK, *SLOWLY], ids=str)
"""At home and at one other place in the default test suite, moved by 1, 1e3 and 1e5 m and turned in the slow one."""


def single_openings(run: ss.Trajectory, least: float = 0.0) -> list[str]:
    """Contacts that lose their load for one step between steps in which they carry it, each opening by its name.

    Loads of at most `least` [N s] in a step do not count.
    """
    impulse = run.normal_impulse[1:]
    lost = (impulse[:-2] > least) & (impulse[1:-1] <= 0.0) & (impulse[2:] > least)
    return [run.contact_names[k] for k in np.nonzero(lost)[1]]


def turned_pairs(names: tuple[str, ...]) -> list[tuple[int, int]]:
    """Numbers of the coordinates x and y, x_i and y_i, that are turned with one another."""
    pairs = [(name, "y" + name[1:]) for name in names if name.startswith("x")]
    return [(names.index(x), names.index(y)) for x, y in pairs if y in names]


def _moved(system: ss.LagrangianSystem) -> ss.LagrangianSystem:
    equations, given = system.equations(), system.given()
    names = system.coordinate_names
    P_x, P_y, beta = sp.symbols("P_x P_y beta")
    there = sp.symbols([f"{name}_there" for name in names])
    rates = sp.symbols([f"{name}_there" for name in system.velocity_names])
    pairs, own = turned_pairs(names), {}
    c, s = sp.cos(beta), sp.sin(beta)
    for i, j in pairs:
        X, Y = there[i] - P_x, there[j] - P_y
        own |= {equations.q[i]: c * X + s * Y, equations.q[j]: -s * X + c * Y}
        own |= {equations.u[i]: c * rates[i] + s * rates[j], equations.u[j]: -s * rates[i] + c * rates[j]}
    for i, name in enumerate(names):
        if equations.q[i] not in own:
            own[equations.q[i]] = there[i] - (beta if name.startswith("phi") else P_x)
            own[equations.u[i]] = rates[i]
    moved = given.replaced(own)
    forces = None
    if moved.forces is not None:
        forces = [sum(F * own[x].diff(X) for F, x in zip(moved.forces, equations.q, strict=True)) for X in there]
    return ss.LagrangianSystem.from_energies(
        there,
        velocities=rates,
        kinetic=moved.kinetic,
        potential=moved.potential,
        forces=forces,
        contacts=[
            replace(row, gap=_in(row.gap, own), slip=_in(row.slip, own)) for row in system.contacts
        ],
        parameters={
            **dict(zip(system.parameter_names, system.parameter_values.tolist(), strict=True)),
            "P_x": 0.0, "P_y": 0.0, "beta": 0.0,
        },
        name=f"{system.name} elsewhere",
    )  # fmt: skip


def moved_system(system: ss.LagrangianSystem) -> ss.LagrangianSystem:
    """The system in the coordinates of a frame whose place and angle are its parameters P_x, P_y, beta."""
    key = f"{system.source()} {system.friction_laws!r}"
    if key not in _known:
        _known[key] = _moved(system)
    return _known[key]


_known: dict[str, ss.LagrangianSystem] = {}  # by their source: values of parameters belong to runs


def _in(expression: Any, own: dict) -> Any:
    """An expression, or the pairs of a slip, in the coordinates of the other frame."""
    if expression is None:
        return None
    if isinstance(expression, (list, tuple)):
        return [tuple(sp.sympify(part).xreplace(own) for part in pair) for pair in expression]
    return sp.sympify(expression).xreplace(own)


def _rotation(angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s], [s, c]])


def _product(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Product of quaternions (..., 4)."""
    a, b = p[..., :1], p[..., 1:]
    c, d = q[..., :1], q[..., 1:]
    real = a * c - np.sum(b * d, axis=-1, keepdims=True)
    return np.concatenate([real, a * d + c * b + np.cross(b, d)], axis=-1)


def _turned_motion(motion, R, dim):
    def there(t):
        velocity, spin = motion(t)
        return R[:dim, :dim] @ np.asarray(velocity, float), spin if dim == 2 else R @ np.asarray(spin, float)

    return there


def _turned_force(entry, R, origin, dim):
    """Force and torque there; functions of place and velocity are asked with those of the scene at home."""
    turned = {} if entry.force is None else {"force": _turned_vector(entry.force, R[:dim, :dim], R, origin, dim)}
    if entry.torque is None:
        return turned
    turn = np.eye(1) if dim == 2 else R  # a turn about the plane's normal leaves torques alone
    return {**turned, "torque": _turned_vector(entry.torque, turn, R, origin, dim)}


def _turned_vector(value, turn, R, origin, dim):
    if not callable(value):
        return turn @ value
    back = R[:dim, :dim].T
    return lambda t, x, v: turn @ np.atleast_1d(np.asarray(value(t, back @ (x - origin[:dim]), back @ v), float))
