"""Meshes of OBJ and STL files as shapes."""

import math
import struct
import time

import numpy as np
import pytest

import stickslip as ss
from stickslip.io.meshes import _parts

CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
FACES = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))


def obj(*shifts):
    """Text of an OBJ file of cubes of edge 2 at some places."""
    lines = ["# cubes"]
    for k, shift in enumerate(shifts):
        lines += [f"o cube{k}", *(f"v {x} {y} {z}" for x, y, z in CORNERS + np.array(shift))]
        lines += ["f " + " ".join(f"{8 * k + c + 1}//1" for c in face) for face in FACES]
    return "\n".join(lines)


def triangles():
    return np.array([CORNERS[[face[0], face[k], face[k + 1]]] for face in FACES for k in (1, 2)])


def test_a_cube_of_a_file_moves_as_a_box(tmp_path):
    (tmp_path / "cube.obj").write_text(obj((0, 0, 0)))
    shape = ss.read_mesh(tmp_path / "cube.obj", scale=0.05)
    runs = []
    for each in (shape, ss.Box((0.1, 0.1, 0.1))):
        scene = ss.Scene()
        scene.add_static(ss.HalfSpace((0, 0, 1)), friction=0.3)
        scene.add_body(each, mass=1.0, position=(0, 0, 0.05), velocity=(1, 0, 0))
        runs.append(scene.simulate(dt=1e-3, t_end=0.1))
    assert np.allclose(runs[0].q, runs[1].q, atol=1e-12)


def test_parts_of_a_file_are_hulls_of_their_own(tmp_path):
    (tmp_path / "two.obj").write_text(obj((0, 0, 0), (5, 0, 0)))
    shape = ss.read_mesh(tmp_path / "two.obj")
    assert isinstance(shape, ss.Compound) and len(shape.parts) == 2
    assert np.isclose(shape.mass_properties(3).volume, 16.0) and np.allclose(
        shape.mass_properties(3).centre, (2.5, 0, 0)
    )


def test_stl_as_text_and_as_bytes(tmp_path):
    words = ["solid cube"]
    for triangle in triangles():
        words += [
            "facet normal 0 0 0",
            "outer loop",
            *(f"vertex {x} {y} {z}" for x, y, z in triangle),
            "endloop",
            "endfacet",
        ]
    (tmp_path / "text.stl").write_text("\n".join([*words, "endsolid cube"]))
    data = b"\0" * 80 + struct.pack("<I", 12)
    for triangle in triangles():
        data += struct.pack("<12fH", 0, 0, 0, *triangle.ravel(), 0)
    (tmp_path / "bytes.STL").write_bytes(data)
    for name in ("text.stl", "bytes.STL"):
        shape = ss.read_mesh(tmp_path / name)
        assert isinstance(shape, ss.ConvexHull) and np.isclose(shape.mass_properties(3).volume, 8.0)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.txt", b"", "obj or"),
        ("a.obj", b"v 0 0 0\nv 1 0 0\nf 1 2 3\n", "line 3"),
        ("a.obj", b"v 0 0 x\n", "line 1"),
        ("a.obj", b"v 0 0 0\n", "a triangle"),
        ("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "part 1"),
        ("a.stl", b"\0" * 90, "not an STL file"),
    ],
)
def test_a_file_that_is_no_mesh_is_refused_in_one_line(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=words):
        ss.read_mesh(tmp_path / name)


def test_a_byte_order_mark_hides_no_corner(tmp_path):
    """It took the first corner, and shifted the numbers of all others, where it stood before it."""
    text = "\n".join(obj((0, 0, 0)).splitlines()[2:])
    (tmp_path / "cube.obj").write_bytes(b"\xef\xbb\xbf" + text.encode())
    shape = ss.read_mesh(tmp_path / "cube.obj")
    assert isinstance(shape, ss.ConvexHull) and np.array_equal(np.sort(shape.points, axis=0), np.sort(CORNERS, axis=0))


def test_a_text_of_stl_that_was_cut_off_is_refused(tmp_path):
    """Without its last triangles it was read as a mesh with a hole."""
    words = ["solid"]
    for triangle in triangles():
        words += ["facet normal 0 0 0", "outer loop", *(f"vertex {x} {y} {z}" for x, y, z in triangle)]
        words += ["endloop", "endfacet"]
    path = tmp_path / "cut.stl"
    path.write_bytes("\r\n".join(["\ufeff" + words[0], *words[1:], "endsolid"]).encode())
    assert isinstance(ss.read_mesh(path, exact=True), ss.TriangleMesh)
    path.write_text("\n".join(words[:-7]))
    with pytest.raises(ValueError, match=r"cut.stl: the text of an STL file must end with endsolid: it was cut off."):
        ss.read_mesh(path, exact=True)


def test_an_exact_mesh_keeps_its_hollows(tmp_path):
    groove = tmp_path / "groove.obj"
    corners = [(x, y, abs(y)) for x in (-1, 1) for y in (-1, 0, 1)]
    faces = ["1 4 5 2", "2 5 6 3"]
    groove.write_text("".join(f"v {x} {y} {z}\n" for x, y, z in corners) + "".join(f"f {face}\n" for face in faces))
    shape = ss.read_mesh(groove, exact=True)
    assert isinstance(shape, ss.TriangleMesh) and len(shape.triangles) == 4
    scene = ss.Scene()
    scene.add_static(shape)
    scene.add_body(ss.Sphere(0.2), mass=1.0, position=(0.1, 0.0, 0.4))
    rests = scene.simulate(dt=1e-3, t_end=1.0)
    assert rests.q[-1, 2] == pytest.approx(0.2 * math.sqrt(2), abs=1e-9)


def test_a_file_of_many_loose_triangles_is_refused_at_once(tmp_path):
    """Each is a part of its own: to find them takes as long as there are triangles, and no longer."""
    path, count = tmp_path / "loose.stl", 40_000
    rows = np.zeros(count, np.dtype([("numbers", "<f4", 12), ("more", "<u2")]))
    rows["numbers"] = np.random.default_rng(1).normal(size=(count, 12))
    path.write_bytes(bytes(80) + struct.pack("<I", count) + rows.tobytes())
    begin = time.process_time()
    with pytest.raises(ValueError, match=f"at most 1000 parts, got {count}"):
        ss.read_mesh(path)
    assert time.process_time() - begin < 1.0


def test_parts_are_sorted_by_their_first_corners():
    triangles = np.array([[7, 8, 9], [0, 4, 6], [4, 6, 1], [9, 10, 11], [2, 3, 5]])
    assert [part.tolist() for part in _parts(13, triangles)] == [[0, 1, 4, 6], [2, 3, 5], [7, 8, 9, 10, 11]]
