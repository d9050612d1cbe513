"""A body that a user has grabbed on the stage, moved and let go: the start that this makes of a mechanism or scene.

A mechanism cannot follow a hand everywhere.  Its grabbed point comes as near to the hand as constraints and walls
allow, and the rest of the mechanism moves as little as it can, measured by its masses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.drawing import primitives as draw
from stickslip.mechanisms.system import CONSTRAINT, CONTACT, System
from stickslip.on_request import service
from stickslip.page.controls import numbers
from stickslip.scenario import Scenario, SceneScenario

Array = np.ndarray
_SLACK = 1e-3
"""Weight of the way that a mechanism moves, beside the distance between hand and body."""
_MOBILITY = 0.02
"""Share of the largest mobility of a point below which it is not thrown in a direction, such as a slider's across its
guide: it would need a large motion of something else."""


@dataclass(frozen=True)
class Grab:
    """A hand that holds and moves a body.

    body : name of the grabbed body
    point : the grabbed point in the body's own frame [m], for mechanisms; a scene's body is moved as a whole
    to : where the hand lets go [m]: of a mechanism the place of the point, of a scene the way from the body's start
    velocity : of the hand as it lets go [m/s]
    """

    body: str
    point: Array
    to: Array
    velocity: Array

    @classmethod
    def from_request(cls, given: Any) -> Grab:
        """Check a request's field `grab`."""
        if not isinstance(given, Mapping) or not isinstance(given.get("body"), str):
            raise ValueError("grab must name a body, with point, to and velocity.")
        vectors = {}
        for key in ("point", "to", "velocity"):
            values = given.get(key)
            if not isinstance(values, list) or len(values) not in (2, 3):
                raise ValueError(f"grab.{key} must be two or three numbers.")
            checked = numbers({f"grab.{key} {i + 1}": value for i, value in enumerate(values)}, "grab")
            vectors[key] = np.array(list(checked.values()))
        return cls(given["body"], **vectors)


class CannotGrab(ValueError):
    """One line about a body that cannot be grabbed, or not be moved there."""


_TOO_FAR = "the mechanism cannot follow the hand there."


def grabbed_start(scenario: Any, grab: Grab, q: Array, t: float) -> dict[str, float]:
    """The start, by name, after a body of a mechanism with coordinates q at time t was moved; of a scene at its start.

    ValueError where the body cannot be grabbed.
    """
    start: dict[str, float] = service(f"grab a body of a {scenario.kind}")(scenario, grab, q, t)
    return start


def of_scene(scenario: SceneScenario, grab: Grab, q: Array, t: float) -> dict[str, float]:
    """The start after a body of a scene was moved from its start; q and t are not needed."""
    scene = scenario.scene
    body = next((body for body in scene.bodies if body.name == grab.body and body.column >= 0), None)
    if body is None:
        raise ValueError(f"{grab.body[:60]!r} is no body that moves.")
    if any(body.number in (joint.a, joint.b) for joint in scene.joints):
        raise ValueError(f"{body.name} hangs on a joint: it is moved by its sliders or in Python.")
    if len(grab.to) != scene.dim or len(grab.velocity) != scene.dim:
        raise ValueError(f"grab.to and grab.velocity must be {scene.dim} numbers.")
    start = {}
    for i, axis in enumerate("xyz"[: scene.dim]):
        start[f"{body.name}.{axis}"] = float(body.position[i] + grab.to[i])
        start[f"{body.name}.v{axis}"] = float(grab.velocity[i])
    if not np.isfinite(list(start.values())).all():
        raise CannotGrab(f"{body.name} cannot be moved as far as that.")
    return start


def of_mechanism(scenario: Scenario, grab: Grab, q: Array, t: float) -> dict[str, float]:
    """The start after a body of a mechanism was moved, with coordinates q at time t."""
    if scenario.drawing is None:
        raise ValueError("this system has no drawing, so that nothing of it can be grabbed.")
    if not len(grab.point) == len(grab.to) == len(grab.velocity) == 2:
        raise ValueError("grab.point, grab.to and grab.velocity must be two numbers each.")
    point = _Point(scenario, grab, t)
    try:
        with np.errstate(all="ignore"):
            moved = _nearest(scenario.system, point, grab.to, q, point.parameter_vector)
            velocity = _thrown(scenario.system, point, grab.velocity, moved, point.parameter_vector)
    except CannotGrab:
        raise
    except (ValueError, ArithmeticError):  # angles of 1e300, squares beyond all numbers: drawings and solvers give up
        raise CannotGrab(_TOO_FAR) from None
    _require_finite(moved, velocity)
    names = (*scenario.system.coordinate_names, *scenario.system.velocity_names)
    return dict(zip(names, [*moved.tolist(), *velocity.tolist()], strict=True))


class _Point:
    """The grabbed point as a function of the coordinates, by the drawing of the mechanism."""

    def __init__(self, scenario: Scenario, grab: Grab, t: float) -> None:
        self._scenario, self._grab, self.t = scenario, grab, t
        self.parameter_vector = scenario.system.parameter_vector(scenario.params)

    def __call__(self, q: Array) -> Array:
        assert self._scenario.drawing is not None
        for shape in self._scenario.drawing(q.tolist(), self.t, self._scenario.parameters):
            if isinstance(shape, draw.Group) and shape.name == self._grab.body:
                place, (x, y) = shape.placement, self._grab.point
                return np.array([place.c * x - place.s * y, place.s * x + place.c * y]) + place.origin
        raise CannotGrab(f"{self._grab.body[:60]!r} is no body that can be grabbed.")

    def slopes(self, q: Array) -> Array:
        """Derivatives of the point by the coordinates, (2, f), by central differences."""
        columns = []
        for k in range(len(q)):
            step = np.zeros_like(q)
            step[k] = 1e-6 * max(1.0, abs(q[k]))
            columns.append((self(q + step) - self(q - step)) / (2.0 * step[k]))
        return np.column_stack(columns)


def _nearest(system: System, point: _Point, to: Array, q: Array, p: Array) -> Array:
    """Coordinates with which the point is nearest to the hand, without penetration and on all constraints."""
    from scipy.optimize import minimize

    kinds, t = np.array(system.contact_kinds), point.t
    M, J, way = system.mass(q, t, p), point.slopes(q), to - point(q)
    if not np.any(way):
        return q
    if not J.any():
        raise CannotGrab("this body does not move with the mechanism's coordinates, so that it cannot be grabbed.")
    shortest = _least(M, J, 1e-9) @ way
    effort = float(shortest @ M @ shortest) or 1.0
    _require_finite(shortest, np.array(effort))
    scale = np.sqrt(np.diag(M).max() / np.diag(M)) * max(float(np.abs(shortest).max()), 1e-12)

    def distance(x: Array) -> float:
        off, step = point(q + scale * x) - to, scale * x
        return float(off @ off / (way @ way) + _SLACK * (step @ M @ step) / effort)

    size = float(np.linalg.norm(way))
    rules = []
    if (kinds == CONTACT).any():
        rules.append({"type": "ineq", "fun": lambda x: system.start_gap(q + scale * x, t, p)[kinds == CONTACT] / size})
    if (kinds == CONSTRAINT).any():
        rules.append({"type": "eq", "fun": lambda x: system.gap(q + scale * x, t, p)[kinds == CONSTRAINT] / size})
    found = minimize(distance, np.zeros_like(q), method="SLSQP", constraints=rules, options={"maxiter": 200})
    moved: Array = q + scale * found.x
    return moved


def _thrown(system: System, point: _Point, velocity: Array, q: Array, p: Array) -> Array:
    """Velocities of least kinetic energy with which the point has the hand's velocity, where constraints allow it."""
    if not velocity.any():
        return np.zeros_like(q)
    held = np.flatnonzero(np.array(system.contact_kinds) >= CONSTRAINT)
    W = system.geometry(q, point.t, p)[0][held]
    rows = np.vstack([point.slopes(q), W])
    wanted = np.concatenate([velocity, np.zeros(len(held))])
    found: Array = _least(system.mass(q, point.t, p), rows, _MOBILITY) @ wanted
    return found


def _least(M: Array, rows: Array, share: float) -> Array:
    """M^-1 R^T (R M^-1 R^T)^+: what moves by R is given, and the whole moves least in the metric of the masses.

    LAPACK may never come back from numbers that are not finite: they are refused before it sees them.
    """
    _require_finite(M, rows)
    free = np.linalg.lstsq(M, rows.T, rcond=None)[0]
    mobility = rows @ free
    _require_finite(mobility)
    found: Array = free @ np.linalg.pinv(mobility, rcond=share)
    return found


def _require_finite(*arrays: Array) -> None:
    if not all(np.isfinite(array).all() for array in arrays):
        raise CannotGrab(_TOO_FAR)
