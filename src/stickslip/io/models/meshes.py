"""Files of meshes, OBJ and STL, as convex hulls with the mass of the mesh."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stickslip.io.disk import NotRegular, read_regular
from stickslip.io.models.robot_shapes import directions
from stickslip.io.triangles import read_obj, read_stl
from stickslip.scenes.shapes import MOST_ADDED, MOST_CORNERS, MassProperties

LARGEST_MESH = 50_000_000
"""Bytes of a file of a mesh that are read."""
MOST_POINTS, MOST_SCALED, MOST_SCALES = 2_000_000, 200_000, 100
"""Corners of a mesh; corners of one mesh in all its scales together, and its scales."""
_BLOCK = 32  # directions that all corners are looked at along together


class MeshFile(NamedTuple):
    """Corners (n, 3) [m] and triangles (m, 3), numbers of corners."""

    points: np.ndarray
    triangles: np.ndarray


def find_mesh(name: str, folder: Path) -> Path | None:
    """The file that a description in `folder` calls by `name`; None where there is none.

    package://robot/meshes/a.stl is looked for from the folder upwards.  Only .obj and .stl are opened.
    """
    inner = re.sub(r"^(?:package|model|file)://", "", name)
    if Path(inner).suffix.lower() not in (".obj", ".stl"):
        return None
    tails = [inner, inner.partition("/")[2]] if inner != name else [inner]
    for place in (folder, *list(folder.absolute().parents)[:4]):
        for tail in tails:
            if tail and os.path.isfile(place / tail):  # False for a name that no file can have
                return place / tail
        if inner == name:  # a plain name stands beside the description
            break
    return None


def read_mesh(path: Path) -> MeshFile:
    """An OBJ or STL file; ValueError in one line where it is none."""
    try:
        content = read_regular(path, LARGEST_MESH)
    except (OSError, NotRegular) as problem:
        raise ValueError(f"the mesh {path.name!r} cannot be read: {problem}.") from None
    if len(content) > LARGEST_MESH:
        raise ValueError(f"the mesh {path.name!r} has more than {LARGEST_MESH} bytes.")
    try:
        found = MeshFile(*(read_obj if path.suffix.lower() == ".obj" else read_stl)(content, lenient=True))
    except ValueError as problem:
        raise ValueError(f"the mesh {path.name!r} cannot be read: {problem}.") from None
    if len(found.points) < 4 or not np.all(np.isfinite(found.points)) or np.abs(found.points).max() > 1e9:
        raise ValueError(f"the mesh {path.name!r} must have four corners or more, all finite numbers.")
    if len(found.points) > MOST_POINTS:
        raise ValueError(f"the mesh {path.name!r} may have at most {MOST_POINTS} corners, got {len(found.points)}.")
    return found


def volume_of(mesh: MeshFile) -> MassProperties:
    """Volume, centre and inertia at unit density, summed over tetrahedra as in `mesh_mass_properties`."""
    middle = 0.5 * (mesh.points.min(axis=0) + mesh.points.max(axis=0))
    a, b, c = (mesh.points[mesh.triangles[:, k]] - middle for k in range(3))
    v = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6.0
    s, volume = a + b + c, float(v.sum())
    if volume == 0.0:
        return MassProperties(0.0, middle, np.zeros((3, 3)))
    centre = (v[:, None] * s).sum(axis=0) / (4.0 * volume)
    second = sum(np.einsum("i,ij,ik->jk", v, x, x) for x in (a, b, c, s)) / 20.0 - volume * np.outer(centre, centre)
    sign = 1.0 if volume > 0.0 else -1.0  # a mesh that is inside out
    inertia = sign * (float(np.trace(second)) * np.eye(3) - second)
    return MassProperties(sign * volume, middle + centre, inertia)


class Hull(NamedTuple):
    """Corners (n, 3) of a convex hull, and by how much corners that were left out stand off [m]."""

    points: np.ndarray
    off: float


def hull_of(points: np.ndarray, corners: int) -> Hull:
    """The convex hull of points with at most `corners` corners, those that are farthest in directions spread evenly.

    A flat mesh is thickened by 1e-3 of its size, which `off` tells.
    """
    from scipy.spatial import ConvexHull, QhullError

    size = float(np.ptp(points, axis=0).max())
    if size == 0.0:
        raise ValueError("a mesh must not be a single point.")
    off, near = 0.0, points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(near[:: max(1, len(near) // 20000)], full_matrices=False)
    for axis in axes:
        if np.ptp(near @ axis) < 1e-6 * size:
            off = max(off, 1e-3 * size)
            points = np.concatenate([points - 0.5e-3 * size * axis, points + 0.5e-3 * size * axis])
    try:
        own = _outermost(points, max(corners, MOST_CORNERS))
    except QhullError:
        raise ValueError("the corners of a mesh must span a volume.") from None
    if len(own) <= corners:
        return Hull(own, off)
    chosen: set[int] = set()
    for count in (corners, 2 * corners, 4 * corners):
        for block in np.array_split(directions(count), -(-count // _BLOCK)):
            for k in np.argmax(own @ block.T, axis=0).tolist():
                if len(chosen) < corners:
                    chosen.add(k)
    kept = own[sorted(chosen)]
    planes = ConvexHull(kept).equations
    blocks = np.array_split(planes, -(-len(planes) // _BLOCK))
    highest = max(float((own @ block[:, :3].T + block[:, 3]).max()) for block in blocks)
    return Hull(kept, off + max(0.0, highest))


def _outermost(points: np.ndarray, corners: int) -> np.ndarray:
    """The corners of the hull; all points where the hull of many points has more than `corners`."""
    from scipy.spatial import ConvexHull

    if len(points) > MOST_ADDED:
        begun = ConvexHull(points, qhull_options=f"Qt TA{MOST_ADDED}")  # a tenth of the time where it has that many
        if len(begun.vertices) > corners:
            return points
    return np.asarray(points[ConvexHull(points).vertices])


class MeshHull(NamedTuple):
    """Corners (n, 3) of a scaled mesh's hull, its mass at unit density, and by how much corners stand off [m]."""

    points: np.ndarray
    unit: MassProperties
    off: float


def mesh_hull(mesh: MeshFile, scale: Sequence[float], corners: int) -> MeshHull:
    """The hull of a scaled mesh with the mesh's mass; with its own where the mesh encloses nothing."""
    points = mesh.points * np.asarray(scale, float)
    triangles = mesh.triangles if np.prod(scale) >= 0.0 else mesh.triangles[:, ::-1]
    hull = hull_of(points, corners)
    unit = volume_of(MeshFile(points, triangles)) if len(triangles) else None
    if unit is None or unit.volume <= 0.0:
        from stickslip.scenes.shapes import ConvexHull

        unit = ConvexHull(hull.points).mass_properties(3)
    return MeshHull(hull.points, unit, hull.off)
