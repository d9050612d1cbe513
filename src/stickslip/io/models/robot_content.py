"""The content of a model file of a robot: bodies, joints, pairs of bodies with their laws."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.io.models.robot_links import Axis, Link, turned
from stickslip.io.models.robot_masses import CARRIER, carrier
from stickslip.io.models.robot_shapes import Geometry, Pose, Surface, sphere
from stickslip.scenes.shapes import IDENTITY, MassProperties

if TYPE_CHECKING:
    from stickslip.io.models.robot import Robot


MOST_PASSING = 20_000  # pairs that pass through one another: a model file has no room for more


class Writer:
    """Bodies, joints and pairs of the model file of a robot."""

    def __init__(self, robot: Robot, masses: dict[str, MassProperties]) -> None:
        self.robot, self.masses = robot, masses
        self.bodies: list[dict[str, Any]] = []
        self.joints: list[dict[str, Any]] = []
        self.forces: list[dict[str, Any]] = []
        self.owner: dict[str, Link] = {}
        self.surfaces: dict[str, list[Surface]] = {}
        self.ghosts: list[str] = []
        self.summaries: dict[str, Surface] = {}
        self.label: dict[str, str] = {}  # the body of a link, "world" where it has none
        self.taken = {"world"}
        self.joint_names: set[str] = set()
        # looked up once: robots of a thousand links have half a million pairs
        self.still = {link: link.static for link in robot.links}
        self.group = {link: link.welded for link in robot.links}
        self.root = {link: link.root for link in robot.links}

    def _name(self, wanted: str, taken: set[str]) -> str:
        name, k = wanted, 2
        while name in taken:
            name, k = f"{wanted} {k}", k + 1
        taken.add(name)
        return name

    def _body(self, entry: dict[str, Any], link: Link, touching: list[Geometry]) -> str:
        entry["name"] = self._name(entry["name"], self.taken)
        self.bodies.append(entry)
        self.owner[entry["name"]] = link
        self.surfaces[entry["name"]] = [geometry.surface for geometry in touching]
        if not touching:
            self.ghosts.append(entry["name"])
        return str(entry["name"])

    def link(self, link: Link) -> None:
        if link.static:
            self._static(link)
            return
        base = "world" if link.parent is None else self.label[link.parent.name]
        for axis in link.axes[:-1]:
            base = self._carrier(link, axis, base)
        own = self._moving(link)
        if link.axes:
            self._joint(link, link.axes[-1], base, own)
        elif not link.free:
            self.joints.append(
                {"type": "fixed", "a": base, "b": own, "name": self._name(f"{own} fixed", self.joint_names)}
            )

    def _static(self, link: Link) -> None:
        touching = [geometry for geometry in link.geometries if geometry.touches]
        ended = [geometry for geometry in touching if geometry.unit is not None]
        self.label[link.name] = "world"
        for geometry in touching:
            if geometry.unit is None:
                place = link.pose.then(geometry.pose)
                self._body(_entry(link.name, "static", geometry.entry, place, geometry), link, [geometry])
        if ended:
            entry = _entry(link.name, "static", shape_entry(ended), link.pose, *ended)
            self.label[link.name] = self._body(entry, link, ended)

    def ghost(self, link: Link) -> None:
        """A ball of 1 mm for a link that neither moves nor has a shape, so that the scene is not empty."""
        ball = sphere(1e-3, Pose())
        self._body(_entry(link.name, "static", ball.entry, link.pose), link, [])

    def _moving(self, link: Link) -> str:
        own = self.masses[link.name]
        touching = [geometry for geometry in link.geometries if geometry.touches and geometry.unit is not None]
        if any(geometry.touches and geometry.unit is None for geometry in link.geometries):
            self.robot.notes.append(f"link {link.name!r} moves: its shape without end (plane) is left out")
        shown = touching or [sphere(1e-3, Pose(own.centre))]
        entry = _entry(link.name, "moving", shape_entry(shown), link.pose, *touching)
        del entry["type"]
        entry |= {
            "mass": float(own.volume),
            "inertia": own.inertia.tolist(),
            "centre_of_mass": _numbers(own.centre),
            "position": _numbers(link.pose.point(own.centre)),
        }
        name = self._body(entry, link, touching)
        self.label[link.name] = name
        if link.gravity_compensation:
            lift = -link.gravity_compensation * own.volume * np.array(self.robot.gravity)
            self.forces.append({"body": name, "force": _numbers(lift)})
        return name

    def _carrier(self, link: Link, axis: Axis, base: str) -> str:
        """A small body between two joints of one link."""
        own, frame = carrier(self.masses[link.name]), self._frame(link, axis, after=True)
        entry = _entry(f"{link.name} after {axis.name}", "moving", {"type": "sphere", "radius": 1e-3}, frame)
        del entry["type"]
        entry |= {"mass": own.volume, "inertia": own.inertia.tolist(), "position": _numbers(frame.point(axis.at))}
        entry["orientation"] = _numbers(IDENTITY)
        name = self._body(entry, link, [])
        self._joint(link, axis, base, name)
        return name

    def _frame(self, link: Link, until: Axis, after: bool) -> Pose:
        """The link's frame where the joints before `until` (and itself, if `after`) have moved to the start."""
        frame = link.place if link.parent is None else link.parent.pose.then(link.place)
        for axis in link.axes:
            if axis is until and not after:
                break
            frame = turned(frame, axis)
            if axis is until:
                break
        return frame

    def _joint(self, link: Link, axis: Axis, a: str, b: str) -> None:
        frame = self._frame(link, axis, after=False)
        entry: dict[str, Any] = {"type": axis.kind, "a": a, "b": b, "name": self._name(axis.name, self.joint_names)}
        entry["at"] = _numbers(frame.point(axis.at))
        if axis.kind == "spherical":
            self.joints.append(entry)
            return
        if axis.kind == "prismatic":  # the point goes along with b
            entry["at"] = _numbers(turned(frame, axis).point(axis.at))
        entry["axis"] = _numbers(frame.direction(axis.axis))
        if axis.limits is not None:
            low, high = (x - axis.start for x in axis.limits)
            entry["limits"] = [min(low, 0.0), max(high, 0.0)]
        for key in ("friction", "damping", "armature"):
            if getattr(axis, key) > 0.0:
                entry[key] = float(getattr(axis, key))
        if axis.motor is not None:
            entry["motor"] = {**axis.motor, "target": axis.motor.get("target", 0.0) - axis.start}
            if not axis.motor.get("stiffness"):
                del entry["motor"]["target"]
        elif axis.stiffness > 0.0:
            entry["motor"] = {"target": axis.rest - axis.start, "stiffness": axis.stiffness}
        self.joints.append(entry)

    # -- pairs ---------------------------------------------------------------------------------------------------------

    def content(self) -> dict[str, Any]:
        robot = self.robot
        closing = [self._closed(entry) for entry in robot.closing]
        joints = self.joints + [entry for entry in closing if entry is not None]
        ignore, pairs = self._pairs({frozenset((entry["a"], entry["b"])) for entry in joints})
        ghosts = [name for name in self.ghosts if " after " not in name]
        if ghosts:
            robot.notes.append(
                f"links without a shape that touches: a ball of 1 mm stands for each, which touches nothing: "
                f"{', '.join(map(repr, ghosts))}"
            )
        carriers = [name for name in self.ghosts if " after " in name]
        if carriers:
            robot.notes.append(
                f"links with several joints: {len(carriers)} balls with {CARRIER:g} of the link's mass stand between "
                f"the joints"
            )
        content: dict[str, Any] = {
            "stickslip": 1,
            "kind": "scene",
            "name": robot.name,
            "dim": 3,
            "gravity": robot.gravity,
            "run": {"dt": robot.dt, "t_end": 1.0},
            "bodies": self.bodies,
        }
        for key, value in (("ignore", ignore), ("joints", joints), ("forces", self.forces), ("pairs", pairs)):
            if value:
                content[key] = value
        return content

    def _closed(self, entry: dict[str, Any]) -> dict[str, Any] | None:
        """A joint beside the tree, with the names of bodies instead of links."""
        a, b = (self.label.get(entry[key], "world") for key in ("a", "b"))
        if b == "world" or b not in self.masses:
            a, b = b, a
        if a == b or b not in self.masses:
            self.robot.notes.append(f"the joint {entry['name']!r} of two bodies that do not move is left out")
            return None
        at = self.links_point(entry)
        found = {"type": entry["type"], "a": a, "b": b, "name": self._name(entry["name"], self.joint_names)}
        return found | ({"at": at} if at is not None else {})

    def links_point(self, entry: dict[str, Any]) -> list[float] | None:
        """The world point of a joint beside the tree, given in the frame of a link."""
        if "at" not in entry:
            return None
        link = next((link for link in self.robot.links if link.name == entry["of"]), None)
        return _numbers(link.pose.point(entry["at"]) if link is not None else entry["at"])

    def _pairs(self, jointed: set[frozenset[str]]) -> tuple[list[list[str]], list[dict[str, Any]]]:
        """Pairs that pass through one another, and pairs with laws of their own."""
        robot, names = self.robot, [body["name"] for body in self.bodies]
        passing = f"more than {MOST_PASSING} pairs of its {len(names)} bodies pass through one another"
        if len(robot.exclude) > 2 * MOST_PASSING:
            raise ValueError(passing)
        excluded = {frozenset((self.label.get(a, a), self.label.get(b, b))) for a, b in robot.exclude}
        partners: dict[str, set[str]] = {name: set() for name in names}  # by joints, then by <exclude>
        out: dict[str, set[str]] = {name: set() for name in names}
        for found, named in ((jointed, partners), (excluded, out)):
            for pair in found:
                for a, b in itertools.permutations(pair, 2):
                    if a in named:
                        named[a].add(b)
        ignore: list[list[str]] = []
        pairs: list[dict[str, Any]] = []
        ghosts, mixed = set(self.ghosts), 0
        touch = functools.cache(_touch)
        masks = {name: frozenset((x.contype, x.conaffinity) for x in self.surfaces.get(name, ())) for name in names}
        for i, a in enumerate(names):
            if len(ignore) > MOST_PASSING:
                raise ValueError(passing)
            first, loose = self.owner[a], a in ghosts or not robot.contacts
            for b in names[:i]:
                second = self.owner[b]
                if b in partners[a] or (self.still[first] and self.still[second]):
                    continue
                if loose or b in ghosts or b in out[a]:
                    ignore.append([b, a])
                    continue
                some, all_of_them = touch(masks[a], masks[b])
                if not some or self._neighbours(first, second):
                    ignore.append([b, a])
                    continue
                mixed += not all_of_them
                law = self._law(a, b)
                if law is not None:
                    pairs.append({"a": b, "b": a, "friction": law})
        if mixed:
            robot.notes.append(
                f"{mixed} pairs of bodies have geometries that touch and others that do not, by their masks: all touch"
            )
        return ignore, pairs

    def _neighbours(self, a: Link, b: Link) -> bool:
        """Whether two links never touch: one body, or neighbours, or links of a robot whose links do not touch."""
        own, other = self.group[a], self.group[b]
        if self.still[a] or self.still[b]:
            joined = [link.parent for link in (a, b) if link.axes]
            return own is other or a in joined or b in joined
        if own is other:
            return True
        for link, neighbour in ((own, other), (other, own)):
            if link.parent is not None and self.group[link.parent] is neighbour:
                return True
        return self.robot.options.self_collision == "none" and self.root[a] is self.root[b]

    def _law(self, a: str, b: str) -> float | None:
        """MuJoCo's friction of two bodies where it is not the geometric mean: the larger one, or that of priority."""
        if not self.robot.larger_friction:
            return None
        for name in (a, b):
            if name not in self.summaries:
                self.summaries[name] = _summary(self.surfaces[name])
        one, other = self.summaries[a], self.summaries[b]
        if one.priority != other.priority:
            wanted = _felt(max(one, other, key=lambda x: x.priority))
        else:
            sides = max(one.condim, other.condim)
            wanted = max(one.friction or 0.0, other.friction or 0.0) if sides > 1 else 0.0
        return None if _felt(one) == _felt(other) == wanted else wanted


def _touch(a: frozenset[tuple[int, int]], b: frozenset[tuple[int, int]]) -> tuple[bool, bool]:
    """Whether some, and whether all, geometries of two bodies touch, by their masks (contype, conaffinity)."""
    meets = [bool(x[0] & y[1] or y[0] & x[1]) for x in a for y in b]
    return any(meets), all(meets)


def _summary(surfaces: list[Surface]) -> Surface:
    """One surface for all geometries of a body: those of the highest priority, the largest friction among them."""
    top = max(x.priority for x in surfaces)
    chosen = [x for x in surfaces if x.priority == top]
    return Surface(
        friction=max((x.friction for x in chosen if x.friction is not None), default=None),
        condim=max(x.condim for x in chosen), priority=top,
    )  # fmt: skip


def _felt(surface: Surface) -> float:
    return 0.0 if surface.condim == 1 else surface.friction or 0.0


def _numbers(values: Any) -> list[float]:
    return [float(x) for x in values]


def shape_entry(geometries: list[Geometry]) -> dict[str, Any]:
    """Geometries as the shape of a body."""
    parts = []
    for geometry in geometries:
        part: dict[str, Any] = {"shape": geometry.entry, "position": _numbers(geometry.pose.position)}
        if not np.array_equal(geometry.pose.turn, IDENTITY):
            part["orientation"] = _numbers(geometry.pose.turn)
        parts.append(part)
    only = geometries[0].pose
    if len(parts) == 1 and not only.position.any() and np.array_equal(only.turn, IDENTITY):
        return geometries[0].entry
    return {"type": "compound", "parts": parts}


def _entry(name: str, kind: str, shape: dict[str, Any], pose: Pose, *surfaces: Geometry) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": name, "type": kind, "shape": shape}
    entry |= {"position": _numbers(pose.position), "orientation": _numbers(pose.turn)}
    known = [geometry.surface for geometry in surfaces if geometry.surface.friction is not None]
    if known:
        entry["friction"] = _felt(_summary(known))
    bounce = [x.surface.restitution for x in surfaces if x.surface.restitution is not None]
    if bounce:
        entry["restitution"] = max(bounce)
    return entry
