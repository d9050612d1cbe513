"""The content of a model file of a robot: bodies, joints, pairs of bodies with their laws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.io.models.robot_links import Axis, Link, turned
from stickslip.io.models.robot_masses import CARRIER, carrier
from stickslip.io.models.robot_pairs import Surfaces, Tree, felt, row, summary
from stickslip.io.models.robot_shapes import Geometry, Pose, Surface, sphere
from stickslip.io.models.robot_ties import Ties
from stickslip.scenes.shapes import IDENTITY, MassProperties

if TYPE_CHECKING:
    from stickslip.io.models.robot import Robot


MOST_PASSING = 20_000  # pairs that pass through one another, or have a friction: a model file has no room for more


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
        self.helpers: set[str] = set()  # those of them that lead joints
        self.label: dict[str, str] = {}  # the body of a link, "world" where it has none
        self.taken = {"world"}
        self.joint_names: set[str] = set()
        self.by_axis: dict[str, dict[str, Any]] = {}  # entries of joints by their names in the file

    def _name(self, wanted: str, taken: set[str]) -> str:
        name, k = wanted, 2
        while name in taken:
            name, k = f"{wanted} {k}", k + 1
        taken.add(name)
        return name

    def joint_name(self, wanted: str) -> str:
        """A name that no joint has."""
        return self._name(wanted, self.joint_names)

    def helper(self, entry: dict[str, Any], link: Link) -> str:
        """Add a body that touches nothing and leads joints of a link; its name."""
        self.helpers.add(name := self._body(entry, link, []))
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
        self.by_axis.setdefault(axis.name, entry)
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
        ties = Ties(self)
        ties.couple()
        for rope in robot.ropes:
            ties.rope(rope)
        joints = self.joints + [entry for entry in closing if entry is not None]
        ignore, pairs = self._pairs({frozenset((entry["a"], entry["b"])) for entry in joints})
        joints += ties.entries
        ghosts = [name for name in self.ghosts if " after " not in name and name not in self.helpers]
        if self.helpers:
            robot.notes.append(
                f"joints that follow others on bodies that move: {len(self.helpers)} balls with {CARRIER:g} of a link's"
                f" mass lead them: {', '.join(map(repr, sorted(self.helpers)))}"
            )
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
        parts = {"ignore": ignore, "joints": joints, "springs": ties.springs, "forces": self.forces, "pairs": pairs}
        for key, value in parts.items():
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
        laws = f"more than {MOST_PASSING} pairs of its {len(names)} bodies have a friction of their own"
        if len(robot.exclude) > 2 * MOST_PASSING:
            raise ValueError(passing)
        excluded = {frozenset((self.label.get(a, a), self.label.get(b, b))) for a, b in robot.exclude}
        number = {name: i for i, name in enumerate(names)}
        partners, out = _by_later(jointed, number), _by_later(excluded, number)
        tree = Tree([self.owner[name] for name in names], robot.options.self_collision == "none")
        surfaces = Surfaces([self.surfaces[name] for name in names])
        without = set(self.ghosts)
        ghosts = np.array([not robot.contacts or name in without for name in names], dtype=bool)
        ignore: list[list[str]] = []
        pairs: list[dict[str, Any]] = []
        mixed = 0
        for i, name in enumerate(names):
            if max(len(ignore), len(pairs)) > MOST_PASSING:
                raise ValueError(passing if len(ignore) > MOST_PASSING else laws)
            loose = ghosts[:i] | ghosts[i]
            loose[out[i]] = True
            held = np.zeros(i, bool)
            held[partners[i]] = True
            found = row(i, tree, surfaces, held, loose, robot.larger_friction)
            ignore += [[names[j], name] for j in found.passing]
            pairs += [{"a": names[j], "b": name, "friction": friction} for j, friction in found.laws]
            mixed += found.mixed
        if mixed:
            robot.notes.append(
                f"{mixed} pairs of bodies have geometries that touch and others that do not, by their masks: all touch"
            )
        return ignore, pairs


def _by_later(pairs: set[frozenset[str]], number: dict[str, int]) -> list[list[int]]:
    """For each body, by number, those before it with which it is in a pair."""
    found: list[list[int]] = [[] for _ in number]
    for pair in pairs:
        both = sorted(number[name] for name in pair if name in number)
        if len(both) == 2:
            found[both[1]].append(both[0])
    return found


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
        entry["friction"] = felt(summary(known))
    bounce = [x.surface.restitution for x in surfaces if x.surface.restitution is not None]
    if bounce:
        entry["restitution"] = max(bounce)
    return entry
