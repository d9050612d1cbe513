"""Triangle meshes of files, OBJ and STL, as shapes of a scene: the hulls of their parts, or surfaces as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from stickslip.checks import real_number
from stickslip.io.disk import read_regular
from stickslip.io.printable import visible
from stickslip.io.triangles import read_obj, read_stl
from stickslip.scenes.shapes import Compound, ConvexHull, Shape
from stickslip.scenes.triangle_mesh import TriangleMesh

MOST_PARTS, MOST_HULL_CORNERS = 1000, 100_000
LARGEST_MESH = 200_000_000
"""Bytes of a file of a mesh that are read."""


def read_mesh(path: str | Path, *, scale: Any = 1.0, exact: bool = False) -> Shape:
    """The shape of an OBJ or STL file: a `ConvexHull`, or a `Compound` of one hull for each part.

    A part is a set of triangles that hang together at common corners.  A hull fills the hollows of its part: cut a body
    that is not convex into convex parts before.  Mass and inertia are those of the hulls.

    scale : metres for each unit of the file.
    exact : the triangles as they are, a `TriangleMesh`: for ground, walls and other things that do not move.
    """
    file, shown = Path(path), visible(path)
    factor = real_number(scale, "scale")
    if not factor > 0.0:
        raise ValueError(f"scale must be positive, got {factor:g}.")
    readers = {".obj": read_obj, ".stl": read_stl}
    if file.suffix.lower() not in readers:
        raise ValueError(f"a mesh must be a file *.obj or *.stl, got {shown!r}.")
    content = read_regular(file, LARGEST_MESH)
    if len(content) > LARGEST_MESH:
        raise ValueError(f"{shown}: a mesh may have at most {LARGEST_MESH} bytes.")
    try:
        corners, triangles = readers[file.suffix.lower()](content)
    except ValueError as problem:
        raise ValueError(f"{shown}: {problem}.") from None
    if not np.all(np.isfinite(corners)):
        raise ValueError(f"{shown}: coordinates must be finite.")
    if exact and len(triangles):
        try:
            return TriangleMesh(factor * corners, triangles)
        except ValueError as problem:
            raise ValueError(f"{shown}: {problem}") from None
    parts = _parts(len(corners), triangles)
    if not parts:
        raise ValueError(f"{shown}: a mesh must have a triangle, got none.")
    if len(parts) > MOST_PARTS:
        raise ValueError(f"{shown}: a mesh may have at most {MOST_PARTS} parts, got {len(parts)}.")
    hulls, corners_of_hulls = [], 0
    for number, part in enumerate(parts, 1):
        try:
            hulls.append(ConvexHull(factor * corners[part]))
        except ValueError as problem:
            raise ValueError(f"{shown}, part {number}: {problem}") from None
        corners_of_hulls += len(hulls[-1].mesh.vertices)
        if corners_of_hulls > MOST_HULL_CORNERS:
            raise ValueError(f"{shown}: the hulls of a mesh may have at most {MOST_HULL_CORNERS} corners together.")
    return hulls[0] if len(hulls) == 1 else Compound(hulls)


def _parts(corners: int, triangles: np.ndarray) -> list[np.ndarray]:
    """Corner numbers of each part, in the order of their first corners."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not len(triangles):
        return []
    rows = np.concatenate([triangles[:, 0], triangles[:, 1]])
    columns = np.concatenate([triangles[:, 1], triangles[:, 2]])
    graph = coo_array((np.ones(len(rows)), (rows, columns)), shape=(corners, corners))
    label = connected_components(graph, directed=False)[1]
    used = np.unique(triangles)
    _, first, of, counts = np.unique(label[used], return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first[of], kind="stable")  # parts by their first corners, corners as they come
    return np.split(used[order], np.cumsum(counts[np.argsort(first)])[:-1])
