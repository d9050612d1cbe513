"""Links of a robot description and the joints that they hang on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from stickslip.io.models.robot_shapes import Geometry, Pose, together
from stickslip.scenes.shapes import MassProperties


@dataclass(eq=False)
class Axis:
    """A joint of a link: point and direction in the link's frame, values as the file counts them."""

    name: str
    kind: str  # revolute, prismatic or spherical
    at: np.ndarray
    axis: np.ndarray
    zero: float = 0.0  # value of the joint where the file draws the link
    limits: tuple[float, float] | None = None
    friction: float = 0.0
    damping: float = 0.0
    armature: float = 0.0
    stiffness: float = 0.0  # of a spring
    rest: float = 0.0  # value at which the spring is slack
    motor: dict[str, float] | None = None
    start: float = 0.0  # value at the start of the run


@dataclass(eq=False)
class Link:
    """A rigid part in the frame of its parent."""

    name: str
    parent: Link | None
    place: Pose
    geometries: list[Geometry] = field(default_factory=list)
    axes: list[Axis] = field(default_factory=list)
    free: bool = False
    held: bool = False
    mass: float | None = None
    centre: np.ndarray | None = None  # in the link's frame
    inertia: np.ndarray | None = None  # about the centre, in the link's axes
    gravity_compensation: float = 0.0
    pose: Pose = field(default_factory=Pose)  # in the world, at the start
    line: int = 0  # of the file; 0: not known

    @property
    def static(self) -> bool:
        """Whether it cannot move."""
        link = self
        while not link.held:
            if link.axes or link.free:
                return False
            if link.parent is None:
                return True
            link = link.parent
        return True

    @property
    def root(self) -> Link:
        """The link without a parent that it hangs on."""
        link = self
        while link.parent is not None:
            link = link.parent
        return link

    @property
    def welded(self) -> Link:
        """The link that it moves with, itself or one above it, which has no fixed joint to its parent."""
        link = self
        while link.parent is not None and not link.axes and not link.free:
            link = link.parent
        return link

    def weighed(self) -> MassProperties | None:
        """Mass, centre and inertia: as given, else those of the geometries; None without mass."""
        if self.mass is not None and self.mass <= 0.0:
            return None
        if self.mass is not None and self.inertia is not None and self.centre is not None:
            return MassProperties(self.mass, self.centre, self.inertia)
        own = together([part for geometry in self.geometries if (part := geometry.weighed()) is not None])
        if own is not None and self.mass is not None:
            return MassProperties(self.mass, own.centre, own.inertia * (self.mass / own.volume))
        return own


def turned(frame: Pose, axis: Axis) -> Pose:
    """The frame of a link after a joint has moved from where the file draws it to its start."""
    by = axis.start - axis.zero
    if by == 0.0 or axis.kind == "spherical":
        return frame
    if axis.kind == "prismatic":
        return Pose(frame.position + by * frame.direction(axis.axis), frame.turn)
    turn = np.array([math.cos(0.5 * by), *(math.sin(0.5 * by) * axis.axis)])
    about = Pose(axis.at, turn).then(Pose(-axis.at))
    return frame.then(about)


def moved(geometry: Geometry, place: Pose) -> Geometry:
    """A geometry in the frame in which `place` is its own frame."""
    return replace(geometry, pose=place.then(geometry.pose))
