"""A robot description on its way into a scene: links with geometries and joints, and the list of elements left out.

MJCF, URDF and SDF readers fill it; `content` turns it into the content of a model file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.checks import unknown_name
from stickslip.io.models.meshes import MOST_SCALED, MOST_SCALES, MeshFile, MeshHull, find_mesh, mesh_hull, read_mesh
from stickslip.io.models.robot_content import Writer
from stickslip.io.models.robot_links import Link, moved, turned
from stickslip.io.models.robot_masses import CARRIER, carrier, repaired
from stickslip.io.models.robot_shapes import Geometry, Pose
from stickslip.io.models.robot_ties import Coupling, Rope, sorted_out, starts
from stickslip.io.models.toml_text import ModelError
from stickslip.io.models.xml_text import Element
from stickslip.scenes.shapes import MassProperties

MOST_LINKS = 1000
SELF_COLLISION = ("apart", "all", "none")
BASE = ("auto", "fixed", "free")


@dataclass(frozen=True)
class ImportOptions:
    """Options of an import.

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


@dataclass
class Robot:
    """Links, parents first, and notes."""

    name: str
    options: ImportOptions = field(default_factory=ImportOptions)
    folder: Path = field(default_factory=Path)
    links: list[Link] = field(default_factory=list)
    closing: list[dict[str, Any]] = field(default_factory=list)  # joints beside the tree
    couplings: list[Coupling] = field(default_factory=list)
    ropes: list[Rope] = field(default_factory=list)
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
    hulls: dict[tuple[Path, tuple[float, ...]], MeshHull] = field(default_factory=dict)  # of a mesh and its scale

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
        link.line = element.line
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
            hull = self._hull(element, name, path, scale)
        except ModelError:
            raise
        except ValueError as problem:
            self.leave_out(element, f"the mesh {name!r}: {problem}".rstrip("."))
            return None
        geometry = Geometry({"type": "convex-hull", "points": hull.points.tolist()}, hull.unit, pose, **more)
        within = f", within {hull.off:.2g} m" if hull.off > 0.0 else ""
        corners = len(hull.points)
        self.leave_out(element, f"the mesh {name!r}, carried over as its convex hull of {corners} corners{within}")
        return geometry

    def _hull(self, element: Element, name: str, path: Path, scale: list[float]) -> MeshHull:
        """The hull of a mesh in a scale, computed once."""
        mesh, key = self.meshes[path], (path, tuple(scale))
        if key not in self.hulls:
            scales = sum(of == path for of, _ in self.hulls)
            if scales and (scales >= MOST_SCALES or (scales + 1) * len(mesh.points) > MOST_SCALED):
                raise element.error(
                    f"the mesh {name!r} may have {MOST_SCALES} scales, with {MOST_SCALED} corners in all of them, "
                    "got more"
                )
            self.hulls[key] = mesh_hull(mesh, scale, self.options.corners)
        return self.hulls[key]

    # -- the model file ------------------------------------------------------------------------------------------------

    def content(self) -> dict[str, Any]:
        """The content of the model file."""
        self._base()
        self._start()
        self._weld()
        masses = self._masses()
        writer = Writer(self, masses)
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
        self.couplings = sorted_out(self)
        values = {
            axis.name: float(self.options.pose.get(axis.name, axis.zero)) for link in self.links for axis in link.axes
        }
        starts(self, values)
        moved = []
        for link in self.links:
            frame = link.place if link.parent is None else link.parent.pose.then(link.place)
            for axis in link.axes:
                axis.start = values[axis.name]
                low, high = axis.limits or (-math.inf, math.inf)
                if not low <= axis.start <= high:
                    axis.start = min(max(axis.start, low), high)
                    moved.append(f"{axis.name!r} at {axis.start:.4g}")
                frame = turned(frame, axis)
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
                parent.geometries.append(moved(geometry, link.place))
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
            fixed = repaired(own, link)
            if not np.allclose(fixed.inertia, own.inertia, rtol=1e-6, atol=0.0):
                self.notes.append(f"the inertia of link {link.name!r} was repaired: no body has the one in the file")
            own = fixed
        return own
