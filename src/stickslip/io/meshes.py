"""Triangle meshes of files, OBJ and STL, as shapes of a scene: the hulls of their parts, or surfaces as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from stickslip.checks import real_number
from stickslip.io.disk import read_regular
from stickslip.io.printable import visible
from stickslip.scenes.shapes import Compound, ConvexHull, Shape
from stickslip.scenes.triangle_mesh import TriangleMesh

HEADER, TRIANGLE = 84, 50  # bytes of a binary STL file: up to its first triangle, and of each triangle
MOST_PARTS = 1000
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
    readers = {".obj": _read_obj, ".stl": _read_stl}
    if file.suffix.lower() not in readers:
        raise ValueError(f"a mesh must be a file *.obj or *.stl, got {shown!r}.")
    content = read_regular(file, LARGEST_MESH)
    if len(content) > LARGEST_MESH:
        raise ValueError(f"{shown}: a mesh may have at most {LARGEST_MESH} bytes.")
    corners, triangles = readers[file.suffix.lower()](content, shown)
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
    hulls = []
    for number, part in enumerate(parts, 1):
        try:
            hulls.append(ConvexHull(factor * corners[part]))
        except ValueError as problem:
            raise ValueError(f"{shown}, part {number}: {problem}") from None
    return hulls[0] if len(hulls) == 1 else Compound(hulls)


def _read_obj(content: bytes, shown: str) -> tuple[np.ndarray, np.ndarray]:
    """Corners (v, 3) and triangles of an OBJ file; polygons are cut into fans."""
    corners: list[list[float]] = []
    triangles: list[tuple[int, int, int]] = []
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        words = line.split("#")[0].split()
        try:
            if words[:1] == ["v"]:
                corners.append([float(x) for x in words[1:4]])
                if len(corners[-1]) != 3:
                    raise ValueError("a corner has three coordinates")
            elif words[:1] == ["f"]:
                loop = [int(word.split("/")[0]) for word in words[1:]]
                loop = [k - 1 if k > 0 else len(corners) + k for k in loop]
                if len(loop) < 3 or not all(0 <= k < len(corners) for k in loop):
                    raise ValueError("a face has three or more corners that stand above it")
                triangles += [(loop[0], loop[k], loop[k + 1]) for k in range(1, len(loop) - 1)]
        except ValueError as problem:
            raise ValueError(f"{shown}, line {number}: {problem}, got {line.strip()[:60]!r}.") from None
    return np.array(corners, float).reshape(-1, 3), np.array(triangles, np.int64).reshape(-1, 3)


def _read_stl(data: bytes, shown: str) -> tuple[np.ndarray, np.ndarray]:
    """Corners and triangles of an STL file, binary or text; equal corners are one."""
    count = int.from_bytes(data[80:HEADER], "little") if len(data) >= HEADER else -1
    if len(data) == HEADER + TRIANGLE * count:
        rows = np.frombuffer(
            data, np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")]), count, HEADER
        )
        points = rows["corners"].reshape(-1, 3).astype(float)
    else:
        found = []
        for number, line in enumerate(data.decode("ascii", "replace").splitlines(), 1):
            words = line.split()
            if words[:1] == ["vertex"]:
                try:
                    found.append([float(x) for x in words[1:4]])
                except ValueError:
                    raise ValueError(
                        f"{shown}, line {number}: three numbers are needed, got {line.strip()[:60]!r}."
                    ) from None
        if not data.lstrip().startswith(b"solid") or len(found) % 3:
            raise ValueError(f"{shown}: not an STL file: its length is not that of {max(count, 0)} triangles.")
        points = np.array(found, float).reshape(-1, 3)
    if not len(points):
        return points, np.zeros((0, 3), np.int64)
    corners, numbers = np.unique(points, axis=0, return_inverse=True)
    return corners, numbers.reshape(-1, 3)


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
