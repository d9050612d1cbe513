"""Joints, springs and forces of a scene, as the user describes them: in world coordinates, at the start."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

KINDS = ("spherical", "revolute", "prismatic", "fixed", "distance")
"""Names of the kernel's kinds, in its order; a planar revolute joint is "revolute"."""


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint between bodies a and b (numbers; 0 is the world).

    Attributes
    ----------
    kind : one of `KINDS`.
    at_a, at_b : joint points [m], world coordinates at the start; equal except for a distance joint.
    axis : direction of the z axis of the joint frame, world coordinates at the start.
    length : of a distance joint [m].
    limits : least and largest angle [rad] or travel [m], measured from the start.
    motor : speed [rad/s or m/s] and largest effort [N m or N].
    friction : effort of dry friction [N m or N].
    name : by which a `Simulator` finds it.
    """

    kind: str
    a: int
    b: int
    at_a: np.ndarray
    at_b: np.ndarray
    axis: np.ndarray
    length: float = 0.0
    limits: tuple[float, float] = (-math.inf, math.inf)
    motor: tuple[float, float] = (0.0, 0.0)
    friction: float = 0.0
    name: str = ""


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
