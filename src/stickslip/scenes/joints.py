"""Joints, springs and forces of a scene, as the user describes them: in world coordinates, at the start."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.scenes.checks import number
from stickslip.scenes.given import two_numbers

KINDS = (
    "spherical", "revolute", "prismatic", "fixed", "distance", "spring", "universal", "cylindrical", "screw", "planar",
    "translational", "gear", "rack", "coupling", "rope", "pulley",
)  # fmt: skip
"""Names of the kernel's kinds, in its order; a planar revolute joint is "revolute", a `Spring` is no joint."""
WITH_AXIS = ("revolute", "prismatic", "screw")
"""Kinds with a coordinate of their own: an angle, a travel, the angle of the screw."""
TWO_POINTS = ("distance", "gear", "rope", "pulley")
"""Kinds with a point on each body."""
IN_SPACE = ("universal", "cylindrical", "screw", "planar")
"""Kinds that the plane has not."""
TIES = ("distance", "translational", "coupling", "rope", "pulley")
"""Kinds whose bodies touch one another as others do, unless `collide=False`."""


@dataclass(frozen=True)
class Motor:
    """Motor of a revolute or prismatic joint; lengths and forces where the joint slides, angles and torques elsewhere.

    Without stiffness and damping it holds its speed exactly, as far as its largest effort allows.  With them its effort
    is stiffness (target - x) + damping (speed - u), at the end of each step: no gain makes it unstable.

    Parameters
    ----------
    speed : wanted [rad/s or m/s].
    effort : largest [N m or N]; 0: no motor.
    target : wanted angle [rad] or travel [m], counted from the start.
    stiffness : [N m/rad or N/m].
    damping : [N m s/rad or N s/m].
    """

    speed: float = 0.0
    effort: float = math.inf
    target: float = 0.0
    stiffness: float = 0.0
    damping: float = 0.0

    def __post_init__(self) -> None:
        for field in ("speed", "target"):
            number(getattr(self, field), f"{field} of motor")
        for field in ("stiffness", "damping"):
            number(getattr(self, field), f"{field} of motor", least=0.0)
        if not (isinstance(self.effort, float) and math.isinf(self.effort)):
            number(self.effort, "effort of motor", least=0.0)
        if math.isinf(self.effort) and self.stiffness + self.damping == 0.0:
            raise ValueError("effort of motor must be finite where it has no stiffness or damping, got inf.")


NO_MOTOR = Motor(effort=0.0)


def motor_of(value: Any) -> Motor:
    """The motor that `motor=` of a joint asks for: None, (speed, largest effort) or a `Motor`."""
    if value is None:
        return NO_MOTOR
    if isinstance(value, Motor):
        return value
    speed, effort = two_numbers(value, "motor")
    return Motor(number(speed, "speed of motor"), number(effort, "effort of motor", least=0.0))


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint between bodies a and b (numbers; 0 is the world).

    Attributes
    ----------
    kind : one of `KINDS`.
    at_a, at_b : joint points [m], world coordinates at the start; equal but for the kinds `TWO_POINTS`.
    axis : direction of the z axis of the joint frame, world coordinates at the start.
    length : of a distance joint, a rope, and the rope of a pulley [m].
    limits : least and largest angle [rad] or travel [m], measured from the start.
    motor : what drives it, an effort of 0 for none.
    friction : effort of dry friction [N m or N].
    damping : of viscous friction [N m s/rad or N s/m].
    armature : inertia of a rotor that turns with the joint [kg m^2 or kg].
    torque : effort that acts all the time [N m or N].
    name : by which a `Simulator` finds it.
    across : direction of the x axis of the joint frame, where it matters: the second axis of a universal joint, the
        line of centres of a gear, the direction of a rack.
    law : lead [m] of a screw; radii [m] of a gear, negative for a ring, and their ratio; radius [m] of a pinion, with
        the sign of its turn; ratio of a coupling or a pulley.
    over : points of the world [m]: those that the rope of a pulley runs over; where a pinion meets its rack first.
    couples : the names of the two joints of a coupling.
    """

    kind: str
    a: int
    b: int
    at_a: np.ndarray
    at_b: np.ndarray
    axis: np.ndarray
    length: float = 0.0
    limits: tuple[float, float] = (-math.inf, math.inf)
    motor: Motor = NO_MOTOR
    friction: float = 0.0
    damping: float = 0.0
    armature: float = 0.0
    torque: float = 0.0
    name: str = ""
    across: np.ndarray | None = None
    law: tuple[float, ...] = ()
    over: tuple[np.ndarray, ...] = ()
    couples: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Spring:
    """A linear spring with damper between points of bodies a and b: force k (length - l_0) + c d(length)/dt."""

    a: int
    b: int
    at_a: np.ndarray
    at_b: np.ndarray
    stiffness: float
    damping: float
    length: float


@dataclass(frozen=True, eq=False)
class Force:
    """A force [N] at the centre of mass and a torque [N m]; numbers, or function(t, position, velocity) of them."""

    body: int
    force: np.ndarray | Callable[..., object] | None
    torque: np.ndarray | Callable[..., object] | None
