"""How a scene is given joints of more than one freedom, screws, gears, racks, couplings, ropes and pulleys."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stickslip.checks import known_keywords, unknown_name
from stickslip.scenes.bodies import Body
from stickslip.scenes.checks import number, unit, vector
from stickslip.scenes.joining import Joining
from stickslip.scenes.joints import WITH_AXIS, Joint

Z = np.array([0.0, 0.0, 1.0])
NO_LOSSES = (0.0, 0.0, 0.0, 0.0)
SQUARE = 1e-9  # cosine of an angle that counts as right


class Geared(Joining):
    """The joints and gears of a `Scene`, which is the one class that is made of it."""

    @known_keywords
    def add_universal(
        self, a: Body | None, b: Body, at: Any, axis_a: Any, axis_b: Any, *, collide: bool = False,
        name: str | None = None,
    ) -> Joint:  # fmt: skip
        """A cross (Cardan joint) at the point `at`, in space: b turns about `axis_a` of a and `axis_b` of its own.

        The axes are at right angles.  A shaft along w that is bent by beta turns another one by
        cos(beta) / (1 - sin(beta)^2 cos(theta)^2) times its own speed.
        """
        self._only_in_space("universal", "add_revolute")
        first, second = unit(axis_a, "axis_a", 3), unit(axis_b, "axis_b", 3)
        if abs(first @ second) > SQUARE:
            raise ValueError(
                f"axis_a and axis_b of a universal joint must be at right angles, got {axis_a!r} and {axis_b!r}."
            )
        return self._joint("universal", a, b, at, first, None, None, NO_LOSSES, collide, name, across=second)

    @known_keywords
    def add_cylindrical(
        self, a: Body | None, b: Body, at: Any, axis: Any, *, collide: bool = False, name: str | None = None
    ) -> Joint:
        """A shaft in a sleeve, in space: b turns about and slides along `axis`, fixed in a, through `at`."""
        self._only_in_space("cylindrical", "add_prismatic")
        direction = unit(axis, "axis", 3)
        return self._joint("cylindrical", a, b, at, direction, None, None, NO_LOSSES, collide, name)

    @known_keywords
    def add_screw(
        self, a: Body | None, b: Body, at: Any, axis: Any, *, lead: float, limits: Any = None, motor: Any = None,
        friction: float = 0.0, damping: float = 0.0, armature: float = 0.0, torque: float = 0.0,
        collide: bool = False, name: str | None = None,
    ) -> Joint:  # fmt: skip
        """A screw along `axis` through `at`, in space: a turn of b against a shifts it by `lead`.

        lead : travel per turn [m], positive for a right-handed thread.
        limits, motor, friction, damping, armature, torque : of the turn, as for `add_revolute`.
        """
        self._only_in_space("screw", "add_rack")
        direction, rise = unit(axis, "axis", 3), number(lead, "lead of a screw")
        if rise == 0.0:
            raise ValueError("lead of a screw must not be 0; use add_revolute.")
        losses = (friction, damping, armature, torque)
        return self._joint("screw", a, b, at, direction, limits, motor, losses, collide, name, law=(rise,))

    @known_keywords
    def add_planar(
        self, a: Body | None, b: Body, at: Any, normal: Any, *, collide: bool = False, name: str | None = None
    ) -> Joint:
        """Keep b on the plane through `at` of a, in space: it shifts there and turns about the normal."""
        self._only_in_space("planar", "a scene of dim=2")
        direction = unit(normal, "normal", 3)
        return self._joint("planar", a, b, at, direction, None, None, NO_LOSSES, collide, name)

    @known_keywords
    def add_translational(self, a: Body | None, b: Body, *, collide: bool = True, name: str | None = None) -> Joint:
        """Keep b from turning against a (None: the world); it is free to shift.

        collide : whether the two bodies touch one another; True by default, since nothing holds them near.
        """
        self._ends(a, b)
        point = b.position[: self.dim]
        return self._joint("translational", a, b, point, Z, None, None, NO_LOSSES, collide, name)

    @known_keywords
    def add_gear(
        self, a: Body | None, b: Body, at_a: Any, at_b: Any, axis: Any = None, *, ratio: float, collide: bool = False,
        name: str | None = None,
    ) -> Joint:  # fmt: skip
        """Let two wheels with parallel axes roll on one another without slip, as gears do; joints hold their centres.

        at_a, at_b : centres of the wheels [m].
        axis : of both wheels; needed in space.
        ratio : r_b / r_a of the pitch radii, teeth of b over teeth of a.  Positive for wheels side by side, which turn
            in opposite ways; negative for a wheel in a ring, and for a belt: they turn alike.  The distance of the
            centres gives the radii.
        """
        k = number(ratio, "ratio of a gear")
        if k in (0.0, -1.0):
            raise ValueError(
                f"ratio of a gear must be neither 0 nor -1, got {k:g}: wheels of one radius that turn alike are "
                "add_coupling of their joints."
            )
        direction = Z
        if self.dim == 3:
            if axis is None:
                raise ValueError("axis of a gear in space must be given.")
            direction = unit(axis, "axis", 3)
        p, q = self._points(at_a, at_b)
        line = (q - p) - ((q - p) @ direction) * direction
        length = float(np.linalg.norm(line))
        if length == 0.0:
            raise ValueError("at_a and at_b of a gear must be apart, across its axis.")
        radius = length / (1.0 + k)
        gear = Joint("gear", *self._ends(a, b), p, q, direction, across=line / length, law=(radius, k * radius, k))
        return self._keep(gear, collide, name)

    @known_keywords
    def add_rack(
        self, rack: Body | None, pinion: Body, at: Any, along: Any, mesh: Any, *, collide: bool = False,
        name: str | None = None,
    ) -> Joint:  # fmt: skip
        """Let a pinion roll along a rack (None: the world) without slip; joints hold both.

        at : centre of the pinion [m].
        along : direction of the rack.
        mesh : point of the pitch circle that is at the rack at the start [m], at a right angle to `along` from `at`.
        """
        centre, touch = self._points(at, mesh)
        direction = np.zeros(3)
        direction[: self.dim] = unit(along, "along", self.dim)
        arm = touch - centre
        radius = float(np.linalg.norm(arm))
        if radius == 0.0 or abs(arm @ direction) > SQUARE * radius:
            raise ValueError("mesh of a rack must be apart from `at`, at a right angle to `along`.")
        axis = np.cross(direction, arm) / radius
        if self.dim == 2:
            axis, radius = Z, math.copysign(radius, axis[2])
        ends = self._ends(rack, pinion)
        gear = Joint("rack", *ends, centre, centre, axis, across=direction, law=(radius,), over=(touch,))
        return self._keep(gear, collide, name)

    @known_keywords
    def add_coupling(
        self, first: Joint | str, second: Joint | str, *, ratio: float, collide: bool = True, name: str | None = None
    ) -> Joint:
        """Couple two joints: the coordinate of `first` is `ratio` times that of `second`, both counted from the start.

        Bevel and worm gears, belts, a rack with its pinion.  The joints are revolute, prismatic or screws: their
        angle counts.  One body of each is the world or a static one: others have `add_gear` and `add_rack`.
        """
        joints = [self._known_joint(joint, what) for joint, what in ((first, "first"), (second, "second"))]
        moving = []
        for joint, what in zip(joints, ("first", "second"), strict=True):
            if joint.kind not in WITH_AXIS:
                raise ValueError(
                    f"{what} of a coupling must be revolute, prismatic or a screw, got a {joint.kind} one."
                )
            still = [self.bodies[i].kind == "static" for i in (joint.a, joint.b)]
            if not any(still):
                raise ValueError(
                    f"{what} of a coupling must hang on the world or a static body, got {joint.name!r} between "
                    f"{self.bodies[joint.a].name!r} and {self.bodies[joint.b].name!r}; use add_gear or add_rack."
                )
            moving.append(joint.b if still[0] else joint.a)
        k = number(ratio, "ratio of a coupling")
        if k == 0.0:
            raise ValueError("ratio of a coupling must not be 0.")
        ends = self._ends(self.bodies[moving[0]], self.bodies[moving[1]])
        names = (joints[0].name, joints[1].name)
        return self._keep(
            Joint("coupling", *ends, joints[0].at_b, joints[1].at_b, Z, law=(k,), couples=names), collide, name
        )

    @known_keywords
    def add_rope(
        self, a: Body | None, b: Body, at_a: Any, at_b: Any, *, length: float | None = None, collide: bool = True,
        name: str | None = None,
    ) -> Joint:  # fmt: skip
        """A massless rope from the point `at_a` of a to the point `at_b` of b: it pulls where it is taut.

        length : [m]; the distance at the start where it is not given, and no less.  A rope that comes taut stops the
            points from parting, without a rebound.
        """
        p, q = self._points(at_a, at_b)
        size = self._rope_length(length, float(np.linalg.norm(q - p)))
        return self._keep(Joint("rope", *self._ends(a, b), p, q, Z, size), collide, name)

    @known_keywords
    def add_pulley(
        self, a: Body, b: Body, at_a: Any, at_b: Any, over_a: Any, over_b: Any, *, ratio: float = 1.0,
        length: float | None = None, collide: bool = True, name: str | None = None,
    ) -> Joint:  # fmt: skip
        """A massless rope from `at_a` of a over the points `over_a`, `over_b` of the world to `at_b` of b.

        |at_a - over_a| + ratio |at_b - over_b| <= length.  It pulls b with `ratio` times the force at a.

        ratio : parts of the rope that carry b over those that carry a: 2 for b on a loose pulley.
        length : [m]; what the left side is at the start where it is not given, and no less.
        """
        k = number(ratio, "ratio of a pulley", positive=True)
        p, q = self._points(at_a, at_b)
        over = self._points(over_a, over_b, ("over_a", "over_b"))
        parts = [float(np.linalg.norm(point - end)) for point, end in zip(over, (p, q), strict=True)]
        if min(parts) == 0.0:
            raise ValueError("over_a and over_b of a pulley must be apart from at_a and at_b.")
        size = self._rope_length(length, parts[0] + k * parts[1])
        return self._keep(Joint("pulley", *self._ends(a, b), p, q, Z, size, law=(k,), over=over), collide, name)

    def _only_in_space(self, kind: str, instead: str) -> None:
        if self.dim == 2:
            raise ValueError(f"a {kind} joint is a joint of space; use {instead} in the plane.")

    def _points(self, first: Any, second: Any, names: tuple[str, str] = ("at_a", "at_b")) -> tuple[np.ndarray, ...]:
        found = np.zeros((2, 3))
        for row, value, field in zip(found, (first, second), names, strict=True):
            row[: self.dim] = vector(value, field, self.dim)
        return found[0], found[1]

    @staticmethod
    def _rope_length(length: float | None, now: float) -> float:
        size = now if length is None else number(length, "length", positive=True)
        if size < now * (1.0 - 1e-12) or size == 0.0:
            raise ValueError(
                f"length of a rope must be at least what it spans at the start, {now:g} m, got {size:g} m."
            )
        return size

    def _known_joint(self, joint: Joint | str, what: str) -> Joint:
        names = [other.name for other in self.joints]
        label = joint.name if isinstance(joint, Joint) else joint
        if label not in names:
            raise ValueError(unknown_name(f"{what} joint of a coupling", str(label), tuple(names)))
        return self.joints[names.index(label)]
