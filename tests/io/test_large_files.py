"""Large files of every kind: an answer or one line within a second, and what loops over lines find."""

import functools
import random
import sys
import time
import zlib

import h5py
import numpy as np
import pytest
import xarray as xr

import stickslip as ss
from stickslip.ensembles.files import FORMAT, save_dataset
from stickslip.fitting import tables
from stickslip.io import words
from stickslip.io.models.imports import import_robot
from stickslip.io.triangles import once_each, read_obj, read_stl
from stickslip.io.words import NoNumber, Words, parsed
from tests.circuits.networks import PERIOD, bridge
from tests.io.trajectories import trajectory

SECOND = 1.5  # of the processor; what takes less than a second on an idle machine
CORNERS = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"


# -- the bulk readers say what loops over lines say --------------------------------------------------------------------


def plain_obj(text):
    """Corners and triangles of an OBJ file, line by line; None for one that is wrong."""
    corners, triangles = [], []
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        found = line.split("#")[0].split()
        try:
            if found[:1] == ["v"]:
                corners.append([float(x) for x in found[1:4]])
                if len(corners[-1]) != 3:
                    return None
            elif found[:1] == ["f"]:
                loop = [int(word.split("/")[0]) for word in found[1:]]
                loop = [k - 1 if k > 0 else len(corners) + k for k in loop]
                if len(loop) < 3 or not all(0 <= k < len(corners) for k in loop):
                    return None
                triangles += [(loop[0], loop[k], loop[k + 1]) for k in range(1, len(loop) - 1)]
        except ValueError:
            return None
    return np.array(corners).reshape(-1, 3), np.array(triangles, int).reshape(-1, 3)


def any_obj(dice):
    def number():
        usual = dice.random() < 0.98
        return dice.choice(["0", "1", "-1.5", ".5", "1e-3", "+2"] if usual else ["x", "1.2.3", "1-2", "", "1e", "#"])

    def corner():
        usual = dice.random() < 0.98
        return dice.choice(["%d", "%d/1", "%d//2", "%d/1/2"]) % dice.choice([1, 2, 4, -1, -2]) if usual else (
            dice.choice(["x", "0", "99", "/", "1/x", ""])
        )  # fmt: skip

    def line():
        kind = dice.random()
        if kind < 0.45:
            return "v " + " ".join(number() for _ in range(3 if dice.random() < 0.97 else dice.randint(0, 6)))
        if kind < 0.85:
            return "f " + " ".join(corner() for _ in range(dice.choice([3, 4, 5] if dice.random() < 0.97 else [0, 2])))
        return dice.choice(["", "g a", "vn 1 2 3", "  ", "v#", "# v 1 2 3", "f 1 2 3#4 5", "face 1", "v 1 2 3 # f"])

    ends = dice.choice(["\n", "\r\n", "\r"])
    return CORNERS + ends.join(dice.choice(["", " ", "\t"]) + line() for _ in range(dice.randint(0, 12)))


@pytest.mark.parametrize("chunk", [7, 1_000_000])
def test_triangles_are_those_that_a_loop_over_lines_finds(chunk, monkeypatch):
    monkeypatch.setattr(words, "CHUNK", chunk)
    dice, read = random.Random(chunk), 0
    for _ in range(100 if chunk < 10 else 400):
        text = any_obj(dice)
        expected = plain_obj(text)
        if expected is None:
            with pytest.raises(ValueError, match="line"):
                read_obj(text.encode())
            continue
        found, read = read_obj(text.encode()), read + 1
        assert np.array_equal(found.corners, expected[0]) and np.array_equal(found.triangles, expected[1])
    assert 30 < read < 390


def test_the_line_that_is_wrong_is_told(monkeypatch):
    for chunk in (5, 1_000_000):
        monkeypatch.setattr(words, "CHUNK", chunk)
        for line, rule in (
            ("v 0 0 x", "three numbers"),
            ("v 1 2", "three coord"),
            ("f 1 2 9", "above"),
            ("f 1 /2 3", "whole"),
        ):
            with pytest.raises(ValueError, match=f"line 6: a .*{rule}.*, got '{line}'"):
                read_obj(f"{CORNERS}# f\n{line}\nv 0 0 0\n".encode())
    assert len(read_obj(f"{CORNERS}f 1 2 9\nf 1 2\nf 1 2 3\n".encode(), lenient=True).triangles) == 1
    with pytest.raises(ValueError, match="line 2: a corner has three coordinates"):
        read_stl(b"solid a\nvertex 1 2\n")


def test_points_once_each_are_those_of_numpy():
    points = np.random.default_rng(2).integers(-2, 2, (500, 3)) / 2.0
    corners, numbers = once_each(points)
    expected = np.unique(points + 0.0, axis=0, return_inverse=True)
    assert np.array_equal(corners, expected[0]) and np.array_equal(numbers, expected[1].ravel())


def test_words_and_numbers():
    found = Words(b"a 1 2 # 3\n\n  b 4\n# c 5\n", "#")
    assert found.line.tolist() == [0, 0, 0, 2, 2] and found.place.tolist() == [0, 1, 2, 0, 1]
    assert found.numbers(found.place > 0).tolist() == [1.0, 2.0, 4.0]
    text = np.frombuffer(b"1 2 3-4 5", np.uint8)
    with pytest.raises(NoNumber) as wrong:
        parsed(text, np.array([0, 2, 4, 8]))
    assert wrong.value.word == 2
    assert not len(parsed(text[:0], np.zeros(0, int)))


def test_tables_in_pieces_are_those_in_one(tmp_path, monkeypatch):
    path = tmp_path / "film.csv"
    path.write_text('# a\nt;"a b";c\n0;1,5;\n\n# b\n1;NA; "3" \n2;nan;-1e3\n')
    whole = tables.read_csv(path)
    assert np.array_equal(whole["a b"], [1.5, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(whole["c"], [np.nan, 3.0, -1000.0], equal_nan=True)
    monkeypatch.setattr(words, "CHUNK", 3)
    pieces = tables.read_csv(path)
    assert all(np.array_equal(whole[name], pieces[name], equal_nan=True) for name in ("t", "a b", "c"))
    wrong = {
        "2;x;1": "column 'a b', row 4 must be a number, got 'x'",
        "2;1": "row 4 must have 3 fields",
        "2;1 2;3": "must be a number",
        "2;nan 5;3": "must be a number",
        '2;";3': "must be a number",
        "0,5;1;1\n1;1.5;1": "numbers up to row 4 have decimal commas, and later ones points",
    }
    for row, rule in wrong.items():
        path.write_text(f"t;a b;c\n0;1;2\n1;2;3\n{row}\n")
        with pytest.raises(ValueError, match=rule):
            tables.read_csv(path)


# -- within a second ---------------------------------------------------------------------------------------------------


def filled(unit, size, head=""):
    return head + unit * ((size - len(head)) // len(unit))


def sphere(count):
    points = np.random.default_rng(1).normal(size=(count, 3))
    return points / np.linalg.norm(points, axis=1)[:, None]


def hulls(parts, corners):
    """Text of an OBJ file of parts, each with its corners on a sphere."""
    texts = []
    for k in range(parts):
        texts += [f"v {x:.4f} {y:.4f} {z:.4f}\n" for x, y, z in sphere(corners) + np.array([3 * k, 0, 0])]
        texts.append("f " + " ".join(str(k * corners + i + 1) for i in range(corners)) + "\n")
    return "".join(texts)


MESHES = {
    "corners": lambda size: filled("v 0 0 0\n", size),
    "triangles": lambda size: filled("f 1 2 3\n", size, CORNERS),
    "from behind": lambda size: filled("f -1 -2 -3 -4\n", size, CORNERS),
    "one face": lambda size: filled("1 2 3 4 ", size, CORNERS + "f "),
    "slashes": lambda size: filled("f 1//1 2//1 3//1\n", size, CORNERS) + "f " + "/" * size,
    "empty lines": lambda size: filled("\r", size),
    "comments": lambda size: filled("#v 1\n", size),
    "wrong at the end": lambda size: filled("v 0 0 0\n", size) + "v 0 0 x\n",
    "one number": lambda size: filled("9", size, "v "),
    "hull of many corners": lambda size: hulls(1, size // 34),
    "many hulls": lambda size: hulls(1000, max(4, size // 34_000)),
}
TABLES = {
    "rows": lambda size: filled("1,1\n", size, "t,y\n"),
    "missing": lambda size: filled(",nan\n", size, "t,y\n"),
    "columns": lambda size: filled(",", size),
    "columns with names": lambda size: ",".join(f"c{k}" for k in range(size // 8)) + "\n",
    "quotes": lambda size: filled('"1","1"\n', size, "t,y\n"),
    "a long row": lambda size: filled(",", size, "t,y\n"),
    "wrong at the end": lambda size: filled("1,1\n", size, "t,y\n") + "1,x\n",
}
PROBLEMS = {
    "dense, a number a line": lambda size: dense(3 * int((size / 2) ** 0.5 / 3)),
    "blocks": lambda size: blocks(size // 45),
    "blocks without width": lambda size: no_width(size // 4),
    "dump": lambda size: "3 0\n2\n9 9\n1\nCSparse\n" + filled("0:1\n", size),
    "words": lambda size: filled("0 ", size, "3 1\n0\n"),
    "lines": lambda size: filled("\n", size),
}


def dense(n):
    return f"3 {n // 3}\n0\n{n} {n}\n{n} {n}\n" + "0\n" * (n * n) + "0 " * (n + n // 3)


def blocks(n):
    ends = " ".join(str(3 * k + 3) for k in range(n))
    rows = " ".join(map(str, range(n + 1)))
    head = (
        f"3 {n}\n1\n{3 * n} {3 * n}\n{n} {n} {n}\n{ends}\n{ends}\n{n + 1} {n}\n{rows}\n{' '.join(map(str, range(n)))}\n"
    )
    return head + "".join(f"{k}\n1 0 0 0 1 0 0 0 1\n" for k in range(n)) + "0 " * (3 * n) + "0.5 " * n


def no_width(count):
    ends = " ".join(["0"] * 99 + ["300"])
    return f"3 100\n1\n300 300\n{count} 100 100\n{ends}\n{ends}\n101 1\n{'0 ' * 100}1\n0\n" + "0 " * count


def answered(read, *arguments):
    """What the reader said, in one line, within a second."""
    begin = time.process_time()
    try:
        read(*arguments)
        said = ""
    except ValueError as error:
        said = str(error)
    assert time.process_time() - begin < SECOND
    assert "\n" not in said and len(said) < 1500
    return said


SIZES = [100_000, pytest.param(8_000_000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("case", MESHES)
def test_a_mesh_is_an_answer_or_one_line_within_a_second(case, size, tmp_path):
    path = tmp_path / "any.obj"
    path.write_text(MESHES[case](size))
    answered(ss.read_mesh, path)
    if size > 1_000_000:
        (tmp_path / "robot.xml").write_text(
            '<mujoco><asset><mesh name="m" file="any.obj"/></asset><worldbody><body><freejoint/>'
            '<geom type="mesh" mesh="m"/><geom type="sphere" size="1"/></body></worldbody></mujoco>'
        )
        answered(import_robot, tmp_path / "robot.xml")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("case", TABLES)
def test_a_table_is_an_answer_or_one_line_within_a_second(case, size, tmp_path):
    path = tmp_path / "any.csv"
    path.write_text(TABLES[case](size))
    answered(tables.read_csv, path)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("case", PROBLEMS)
def test_a_friction_file_is_an_answer_or_one_line_within_a_second(case, size, tmp_path):
    path = tmp_path / "any.dat"
    path.write_text(PROBLEMS[case](size))
    said = answered(ss.read_friction_problem, path)
    assert bool(said) == (case not in ("dense, a number a line", "blocks")), said


@pytest.mark.parametrize("size", [3_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_mesh_of_a_hundred_thousand_triangles_is_read(size, tmp_path):
    """Rough ground, as a surface and as a hull, and a ball, whose hull has more corners than a hull may have."""
    m = int((size / 2) ** 0.5)
    x, y = (a.ravel() for a in np.meshgrid(np.arange(m + 1), np.arange(m + 1), indexing="ij"))
    z = np.random.default_rng(3).uniform(0.0, 0.3, len(x))
    a = np.flatnonzero((x < m) & (y < m)) + 1
    faces = np.concatenate([np.stack([a, a + m + 1, a + m + 2], 1), np.stack([a, a + m + 2, a + 1], 1)])
    text = "".join(f"v {a} {b} {c:.6f}\n" for a, b, c in zip(x, y, z, strict=True))
    (tmp_path / "ground.obj").write_text(text + "".join(f"f {a} {b} {c}\n" for a, b, c in faces))
    begin = time.process_time()
    surface, hull = ss.read_mesh(tmp_path / "ground.obj", exact=True), ss.read_mesh(tmp_path / "ground.obj")
    assert time.process_time() - begin < 2 * SECOND
    assert len(surface.triangles) == 2 * m * m and np.isclose(np.ptp(hull.mesh.vertices[:, 0]), m)


def test_a_mesh_in_many_scales_is_refused(tmp_path):
    (tmp_path / "a.obj").write_text("".join(f"v {x} {y} {z}\n" for x, y, z in sphere(400)))
    meshes = "".join(f'<mesh name="m{k}" file="a.obj" scale="{k + 1} 1 1"/>' for k in range(101))
    geoms = "".join(f'<geom type="mesh" mesh="m{k}"/>' for k in range(101))
    (tmp_path / "robot.xml").write_text(
        f"<mujoco><asset>{meshes}</asset><worldbody><body>{geoms}</body></worldbody></mujoco>"
    )
    assert "may have 100 scales, with 200000 corners in all of them" in answered(import_robot, tmp_path / "robot.xml")


def test_an_array_that_was_never_written_is_refused(tmp_path):
    """Chunks that the file does not hold would be filled with zeros, to the end of the memory."""
    path, saved = tmp_path / "any.hdf5", tmp_path / "any.nc"
    ss.write_friction_problem(ss.FrictionProblem(np.eye(3), -np.ones(3), [0.5], 3), path)
    with h5py.File(path, "a") as file:
        del file["fclib_local/W/p"]
        file.create_dataset("fclib_local/W/p", (10**9,), "i4", chunks=(2**20,), compression="gzip")
    assert "variable p has less data than its size says" in answered(ss.read_friction_problem, path)
    ss.library.bouncing_ball().simulate(dt=0.1, t_end=0.5, engine="reference").save(saved)
    with h5py.File(saved, "a") as file:
        del file["time"]
        file.create_dataset("time", (10**10,), "f8", chunks=(2**20,), compression="gzip")
    assert "variable time has less data than its size says" in answered(ss.load, saved)


def a_trajectory(path):
    ss.library.bouncing_ball().simulate(dt=0.1, t_end=0.5, engine="reference").save(path)
    return ss.load, "time"


def a_circuit(path):
    bridge().simulate(dt=PERIOD / 5, t_end=PERIOD).save(path)
    return ss.load, "time"


def an_ensemble(path):
    notes = {"stickslip_format": FORMAT, "fingerprint": "any"}
    save_dataset(xr.Dataset({"drop": ("time", np.zeros(4))}, {"time": np.arange(4.0)}, notes), path)
    return ss.load_ensemble, "time"


def a_friction_problem(path):
    ss.write_friction_problem(ss.FrictionProblem(np.eye(3), -np.ones(3), [0.5], 3), path)
    return ss.read_friction_problem, "fclib_local/W/p"


@functools.cache
def packed_zeros(count):
    return zlib.compress(bytes(count), 6)


def fill_with_zeros(file, name, pieces, width=2**22):
    """Exchange a variable for one whose zeros lie in the file, packed: a thousandth of their size."""
    del file[name]
    dataset = file.create_dataset(name, (pieces * width,), "<f8", chunks=(width,), compression="gzip")
    for k in range(pieces):
        dataset.id.write_direct_chunk((k * width,), packed_zeros(8 * width))


@pytest.mark.parametrize("digests", [True, False])
@pytest.mark.parametrize("make", [a_trajectory, a_circuit, an_ensemble, a_friction_problem])
@pytest.mark.parametrize("pieces", [5, pytest.param(240, marks=pytest.mark.slow)])
def test_zeros_that_unpack_to_gigabytes_are_refused(tmp_path, make, digests, pieces):
    """160 MB of one file of 200 kB, 8 GB of one of 8 MB; digests are refused no later than their absence."""
    path = tmp_path / "any.hdf5"
    read, name = make(path)
    with h5py.File(path, "a") as file:
        fill_with_zeros(file, name, pieces)
        if not digests and "digest" in file:
            del file["digest"]
    before = peak()
    begin = time.process_time()
    said = answered(read, path)
    assert "unpack" in said and "write it without compression" in said and "\n" not in said
    assert time.process_time() - begin < 1.0 and peak() - before < 50e6


def peak():
    """Bytes of memory that this process has had at most."""
    resource = pytest.importorskip("resource")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def test_pieces_without_end_are_refused(tmp_path):
    read, _ = a_trajectory(tmp_path / "any.nc")
    with h5py.File(tmp_path / "any.nc", "a") as file:
        del file["time"]
        file.create_dataset("time", (10**9,), "f8", chunks=(1,))
    assert "has less data than its size says" in answered(read, tmp_path / "any.nc")


def test_texts_that_are_all_one_are_refused(tmp_path):
    """Texts of any length are pointers in HDF5: a thousand of them to one long text are as many copies of it."""
    path, count = tmp_path / "any.nc", 100
    trajectory(contacts=tuple(f"c{k}" for k in range(count))).save(path)
    with h5py.File(path, "a") as file:
        del file["contact"], file["digest"]
        dataset = file.create_dataset("contact", (count,), h5py.string_dtype(), chunks=(count,))
        dataset[...] = ["x" * 50_000, *(f"c{k}" for k in range(1, count))]
        place = dataset.id.get_chunk_info(0).byte_offset
    data = bytearray(path.read_bytes())
    pointer = bytes(data[place : place + 16])
    data[place : place + 16 * count] = pointer * count
    path.write_bytes(bytes(data))
    with h5py.File(path, "r") as file:
        assert len(file["contact"].asstr()[count - 1]) == 50_000
    assert "variable contact has more text than the file" in answered(ss.load, path)
