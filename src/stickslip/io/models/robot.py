"""A robot description on its way into a scene: links with geometries and joints, and the list of elements left out.

MJCF, URDF and SDF readers fill it; `content` turns it into the content of a model file.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.checks import unknown_name
from stickslip.io.models.meshes import MeshFile, find_mesh, mesh_geometry, read_mesh
from stickslip.io.models.robot_shapes import Geometry, Pose, Surface, sphere, together
from stickslip.io.models.xml_text import Element
from stickslip.scenes.given import LEAST_PRINCIPAL
from stickslip.scenes.shapes import IDENTITY, MassProperties

MOST_LINKS = 1000
MOST_PASSING = 20_000  # pairs that pass through one another: a model file has no room for more
CARRIER = 1e-5
"""Mass of a link that carries nothing but joints, as a share of the mass that hangs on it."""
SELF_COLLISION = ("apart", "all", "none")
BASE = ("auto", "fixed", "free")


@dataclass(frozen=True)
class ImportOptions:
    """What a user can ask of an import.

    Attributes
    ----------
    self_collision : links of one robot that touch one another: "all", "none", or "apart", all pairs but those that
        overlap at the start.  Neighbours never touch.
    repair : whether inertias that no body has are replaced by the nearest one that a body has.
    corners : most corners of the hull of a mesh.
    base : "fixed" holds the root, "free" lets it move, "auto" does as the file says.
    pose : values of joints at the start by name [rad or m].
    """

    self_collision: str = "apart"
    repair: bool = False
    corners: int = 64
    base: str = "auto"
    pose: Mapping[str, float] = field(default_factory=dict)


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


@dataclass
class Robot:
    """Links, parents first, and notes."""

    name: str
    options: ImportOptions = field(default_factory=ImportOptions)
    folder: Path = field(default_factory=Path)
    links: list[Link] = field(default_factory=list)
    closing: list[dict[str, Any]] = field(default_factory=list)  # joints beside the tree
    exclude: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    gravity: list[float] = field(default_factory=lambda: [0.0, 0.0, -9.81])
    dt: float = 1e-3
    contacts: bool = True
    larger_friction: bool = False  # whether the larger of two frictions counts, as in MuJoCo
    total_mass: float | None = None
    least_mass: float = 0.0
    least_inertia: float = 0.0
    balanced: bool = False  # MuJoCo's balanceinertia
    meshes: dict[Path, MeshFile] = field(default_factory=dict)

    # -- for the readers -----------------------------------------------------------------------------------------------

    def leave_out(self, element: Element, what: str) -> None:
        """Note what is not carried over, with its line."""
        self.notes.append(f"line {element.line}: {what}")

    def unique(self, wanted: str) -> str:
        taken = {"world", *(link.name for link in self.links)}
        name, k = wanted, 2
        while name in taken:
            name, k = f"{wanted} {k}", k + 1
        return name

    def add(self, element: Element, link: Link) -> Link:
        if len(self.links) >= MOST_LINKS:
            raise element.error(f"a robot may have at most {MOST_LINKS} links")
        self.links.append(link)
        return link

    def mesh(self, element: Element, name: str, scale: list[float], pose: Pose, **more: Any) -> Geometry | None:
        """The hull of a mesh's file; None, with a note, where it cannot be read."""
        path = find_mesh(name, self.folder)
        if path is None:
            self.leave_out(
                element, f"the mesh {name!r}: no .obj or .stl file of this name; its shape and mass are left out"
            )
            return None
        try:
            if path not in self.meshes:
                self.meshes[path] = read_mesh(path)
            geometry, off = mesh_geometry(self.meshes[path], scale, self.options.corners, pose, **more)
        except ValueError as problem:
            self.leave_out(element, f"the mesh {name!r}: {problem}".rstrip("."))
            return None
        within = f", within {off:.2g} m" if off > 0.0 else ""
        corners = len(geometry.entry["points"])
        self.leave_out(element, f"the mesh {name!r}, carried over as its convex hull of {corners} corners{within}")
        return geometry

    # -- the model file ------------------------------------------------------------------------------------------------

    def content(self) -> dict[str, Any]:
        """The content of the model file."""
        self._base()
        self._start()
        self._weld()
        masses = self._masses()
        writer = _Writer(self, masses)
        for link in self.links:
            writer.link(link)
        if not writer.bodies and self.links and self.links[0].mass is not None and self.links[0].inertia is not None:
            writer.ghost(self.links[0])
        return writer.content()

    def _base(self) -> None:
        for link in self.links:
            if link.parent is None and self.options.base != "auto" and (link.weighed() is not None or link.axes):
                if self.options.base == "free":
                    link.held, link.free = False, not link.axes
                elif link.free:
                    link.held, link.free = True, False

    def _start(self) -> None:
        """Values of all joints at the start, and the poses of all links there."""
        names = [axis.name for link in self.links for axis in link.axes]
        for name in self.options.pose:
            if name not in names:
                raise ValueError(unknown_name("joint", name, tuple(names[:40])))
        moved = []
        for link in self.links:
            frame = link.place if link.parent is None else link.parent.pose.then(link.place)
            for axis in link.axes:
                axis.start = float(self.options.pose.get(axis.name, axis.zero))
                low, high = axis.limits or (-math.inf, math.inf)
                if not low <= axis.start <= high:
                    axis.start = min(max(axis.start, low), high)
                    moved.append(f"{axis.name!r} at {axis.start:.4g}")
                frame = _turned(frame, axis)
            link.pose = frame
        if moved:
            self.notes.append(
                f"joints whose limits leave out their start begin at the nearest limit: {', '.join(moved)}"
            )
        counted = [f"{axis.name!r} {axis.start:.6g}" for link in self.links for axis in link.axes if axis.start != 0.0]
        if counted:
            self.notes.append(
                f"joints are counted from the start of the run, which has in the file's count: {', '.join(counted)}"
            )

    def _weld(self) -> None:
        """Give the shapes of links without mass on fixed joints to the links that they are fixed to."""
        gone = []
        children: dict[Link, list[Link]] = {}
        for link in self.links:
            if link.parent is not None:
                children.setdefault(link.parent, []).append(link)
        for link in self.links:
            parent = link.parent
            if parent is None or link.axes or link.free or link.static or link.weighed() is not None:
                continue
            for geometry in link.geometries:
                parent.geometries.append(_moved(geometry, link.place))
            for child in children.get(link, []):
                child.parent, child.place = parent, link.place.then(child.place)
                children.setdefault(parent, []).append(child)
            gone.append(link)
        if gone:
            names = ", ".join(repr(link.name) for link in gone)
            self.notes.append(f"links without mass on fixed joints are one with their parents now: {names}")
            into = {link.name: link.parent.name for link in gone if link.parent is not None}
            self.links = [link for link in self.links if link.name not in into]
            self.exclude = [(into.get(a, a), into.get(b, b)) for a, b in self.exclude]

    def _masses(self) -> dict[str, MassProperties]:
        """Mass, centre and inertia of every link that moves."""
        found: dict[str, MassProperties] = {}
        all_links = {link.name: link.weighed() for link in self.links}
        carried: list[str] = []
        for link in reversed(self.links):  # children first
            own = all_links[link.name]
            if link.static:
                continue
            if own is None:
                children = [found[child.name] for child in self.links if child.parent is link and child.name in found]
                above = all_links[link.parent.name] if link.parent is not None else None
                own = carrier(max(children, key=lambda x: x.volume, default=above))
                carried.append(repr(link.name))
            found[link.name] = self._checked(link, own)
        if carried:
            self.notes.append(
                f"links without mass that move have {CARRIER:g} of the mass of a neighbour: {', '.join(carried[::-1])}"
            )
        if self.total_mass is not None:
            total = sum(own.volume for own in all_links.values() if own is not None)
            share = self.total_mass / total
            found = {name: MassProperties(x.volume * share, x.centre, x.inertia * share) for name, x in found.items()}
        return found

    def _checked(self, link: Link, own: MassProperties) -> MassProperties:
        """MuJoCo's bounds, and the repair that a user has asked for."""
        inertia = 0.5 * (own.inertia + own.inertia.T)
        if self.least_inertia > 0.0 or self.balanced:
            values, axes = np.linalg.eigh(inertia)
            values = np.maximum(values, self.least_inertia)
            if self.balanced and values[2] > values[0] + values[1]:
                values[:] = values.mean()
            inertia = axes @ np.diag(values) @ axes.T
        own = MassProperties(max(own.volume, self.least_mass), own.centre, 0.5 * (inertia + inertia.T))
        if self.options.repair:
            fixed = _repaired(own, link)
            if not np.allclose(fixed.inertia, own.inertia, rtol=1e-6, atol=0.0):
                self.notes.append(f"the inertia of link {link.name!r} was repaired: no body has the one in the file")
            own = fixed
        return own


def _turned(frame: Pose, axis: Axis) -> Pose:
    """The frame of a link after a joint has moved from where the file draws it to its start."""
    by = axis.start - axis.zero
    if by == 0.0 or axis.kind == "spherical":
        return frame
    if axis.kind == "prismatic":
        return Pose(frame.position + by * frame.direction(axis.axis), frame.turn)
    turn = np.array([math.cos(0.5 * by), *(math.sin(0.5 * by) * axis.axis)])
    about = Pose(axis.at, turn).then(Pose(-axis.at))
    return frame.then(about)


def _moved(geometry: Geometry, place: Pose) -> Geometry:
    from dataclasses import replace

    return replace(geometry, pose=place.then(geometry.pose))


def carrier(of: MassProperties | None) -> MassProperties:
    """Mass of a link that has none: a ball with a small share of a neighbour's mass and inertia."""
    if of is None:
        return MassProperties(CARRIER, np.zeros(3), 1e-2 * CARRIER * np.eye(3))
    return MassProperties(CARRIER * of.volume, np.zeros(3), CARRIER * float(np.trace(of.inertia)) / 3.0 * np.eye(3))


def _repaired(own: MassProperties, link: Link) -> MassProperties:
    """The nearest inertia that a body has: its second moments, 1/2 tr(I) 1 - I, have no negative principal value.

    An inertia of zero is that of the shapes, or of a ball of 0.1 m.
    """
    inertia = own.inertia
    largest = float(np.abs(inertia).max())
    if largest == 0.0:
        shapes = together([part for geometry in link.geometries if (part := geometry.weighed()) is not None])
        if shapes is None:
            return MassProperties(own.volume, own.centre, 0.4 * own.volume * 0.1**2 * np.eye(3))
        return MassProperties(own.volume, own.centre, shapes.inertia * (own.volume / shapes.volume))
    moments, axes = np.linalg.eigh(0.5 * float(np.trace(inertia)) * np.eye(3) - inertia)
    least = 1e-3 * largest
    if np.all(moments >= 0.0) and np.linalg.eigvalsh(inertia)[0] > 1e3 * LEAST_PRINCIPAL * largest:
        return own
    second = axes @ np.diag(np.maximum(moments, least)) @ axes.T
    fixed = float(np.trace(second)) * np.eye(3) - second
    return MassProperties(own.volume, own.centre, 0.5 * (fixed + fixed.T))


# -- the file ----------------------------------------------------------------------------------------------------------


class _Writer:
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
            frame = _turned(frame, axis)
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
            entry["at"] = _numbers(_turned(frame, axis).point(axis.at))
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
