"""Measured data: what is read, and what is refused in one line."""

import os
import warnings

import numpy as np
import pytest

from stickslip.cli import main
from stickslip.fitting.data import samples_from

KNOWN = ("y", "phi", "v")


def test_a_file_with_units_missing_samples_and_comments(tmp_path):
    path = tmp_path / "film.csv"
    path.write_text("# camera 2\nt [ms], y [mm], phi [deg]\n0, 10, 90\n8, , 45\n16, 12, nan\n", encoding="utf-8")
    (data,) = samples_from(str(path), KNOWN)
    np.testing.assert_allclose(data.t, [0.0, 0.008, 0.016])
    np.testing.assert_allclose(data.columns["y"], [0.010, np.nan, 0.012])
    np.testing.assert_allclose(data.columns["phi"], [np.pi / 2, np.pi / 4, np.nan])
    assert data.count == 4 and data.name == "film.csv"


def test_semicolons_with_decimal_commas(tmp_path):
    path = tmp_path / "film.csv"
    path.write_text("t;y\n0,0;1,5\n0,1;1,25\n", encoding="utf-8")
    (data,) = samples_from(path, KNOWN)
    np.testing.assert_array_equal(data.columns["y"], [1.5, 1.25])


def test_heads_as_other_programs_write_them(tmp_path):
    path = tmp_path / "film.csv"
    path.write_text('"Time (ms)","y (in)",phi [deg]\n0,10,90\n8,,45\n', encoding="utf-8-sig")
    (data,) = samples_from(path, KNOWN)
    np.testing.assert_allclose(data.t, [0.0, 0.008])
    np.testing.assert_allclose(data.columns["y"], [0.254, np.nan])
    (data,) = samples_from({"t": [0.0, 0.1], "y (1)": [1.0, 2.0], "Time": [3.0, 4.0]}, ("y (1)", "Time"))
    assert set(data.columns) == {"y (1)", "Time"}  # names of the model stay what they are


@pytest.mark.parametrize(
    "text",
    [
        "sep=;\nt;y\n0,0;1,5\n0,1;1,25\n",
        '"sep=;"\r\nt;y\r\n0.0;1.5\r\n0.1;1.25\r\n',
        "sep=,\nt,y\n0,1.5\n0.1,1.25\n",
        "t\ty\n0,0\t1,5\n0,1\t1,25\n",
        "t;y\n0,0E+00;15,0E-01\n1,0E-01;1,25\n",
        "t,y,,\n0,1.5,,\n0.1,1.25,,\n",
        "t,y\n0,1.5\n0.1,1.25\n,\n\n,\n",
        "t [ms],y [µm]\r0,1.5e6\r100,1.25e6\r",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_tables_as_spreadsheets_write_them(tmp_path, text, encoding):
    path = tmp_path / "film.csv"
    path.write_bytes(text.encode(encoding))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (data,) = samples_from(path, KNOWN)
    np.testing.assert_allclose(data.t, [0.0, 0.1], rtol=1e-15)
    np.testing.assert_allclose(data.columns["y"], [1.5, 1.25], rtol=1e-15)


@pytest.mark.parametrize("word", ["NaN", "-nan(ind)", "NA", "N/A", "#N/A", "#NV", "NULL", "None", "-", ""])
def test_words_for_missing_samples(tmp_path, word):
    path = tmp_path / "film.csv"
    path.write_text(f"t,y\n0,1\n0.1,{word}\n0.2,-3\n")
    np.testing.assert_array_equal(samples_from(path, KNOWN)[0].columns["y"], [1.0, np.nan, -3.0])


def test_tables_by_their_index_and_units_in_attributes():
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    table = pandas.DataFrame({"y": [1.0, 2.0]}, index=pandas.Index([0.0, 0.1], name="t"))
    film = xarray.DataArray([1e3, 2e3], dims="t", coords={"t": [0.0, 0.1]}, name="y", attrs={"units": "mm"})
    for given in (table, film, film.to_dataset()):
        (data,) = samples_from(given, KNOWN)
        np.testing.assert_allclose(data.t, [0.0, 0.1])
        np.testing.assert_allclose(data.columns["y"], [1.0, 2.0])


def test_mappings_tables_and_lists():
    table = np.array([(0.0, 1.0), (0.1, 2.0)], dtype=[("time", float), ("y", float)])
    one = {"t": [0.0, 0.1], "y": [1.0, 2.0], "start": {"v": -1.0}, "params": {"g": 9.8}, "name": "run 7"}
    first, second = samples_from([table, one], KNOWN)
    np.testing.assert_array_equal(first.columns["y"], second.columns["y"])
    assert second.start == {"v": -1.0} and second.params == {"g": 9.8} and second.name == "run 7"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"y": [1.0]}, "must have a column 't'"),
        ({"t": [0.0, 0.2, 0.1], "y": [1.0, 2.0, 3.0]}, "times must rise, got 0.1 s in row 3 after 0.2 s"),
        ({"t": [-1.0, 0.0], "y": [1.0, 2.0]}, "subtract the first time"),
        ({"t": [0.0, np.nan], "y": [1.0, 2.0]}, "got nan in row 2"),
        ({"t": [0.0, 1.0], "y": [1.0]}, "must have 2 values"),
        ({"t": [0.0], "hight": [1.0]}, "must have a column of a coordinate or velocity"),
        ({"t": [0.0], "y [ell]": [1.0]}, "has the unit 'ell'"),
        ({"t": [0.0], "y": [np.nan]}, "at least one value"),
        ({"t": [0.0], "y": [1.0], "start": {"z": 1.0}}, "start: "),
        ({"t [mm]": [0.0], "y": [1.0]}, "column 't' must have a unit of time"),
        ({"t": [0.0], "y [ms]": [1.0]}, "column 'y' must have a unit of its own kind, got the time unit 'ms'"),
        ({"t": [0.0], "y": [1.0], "y [mm]": [1000.0]}, "one column, got two of 'y'"),
        ({"t": [0.0], "time": [0.0], "y": [1.0]}, "one column, got two of 't'"),
        ({"t": [0.0, 1.0], "y": [1.0, np.inf]}, "column 'y' must hold finite numbers, got inf in row 2"),
        (3.0, "must be a CSV file"),
        ([], "at least one motion"),
    ],
)
def test_what_cannot_be_right_is_named(data, words):
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        samples_from(data, KNOWN)


def test_units_belong_to_columns_and_times_to_runs():
    data = {"t": [0.0, 1500.0], "y": [1.0, 2.0]}
    with pytest.raises(ValueError, match="units: unknown column 'yy'"):
        samples_from(data, KNOWN, {"yy": "mm"})
    with pytest.raises(ValueError, match="times must be in seconds, got 1500 at the end, where a run of the model"):
        samples_from(data, KNOWN, usual=2.0)
    assert samples_from(data, KNOWN, {"t": "ms"}, usual=2.0)[0].t[-1] == 1.5
    assert samples_from(data, KNOWN, {"t": "s"}, usual=2.0)[0].t[-1] == 1500.0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty file"),
        ("t,y\n0,1\n1\n", "row 3 must have 2 fields, got 1"),
        ("t,y\n0,one\n", "column 'y', row 2 must be a number, got 'one'"),
        ("t,t\n0,1\n", "a name of its own"),
        ("t,y\n0,0,1,5\n", "got 4; where commas stand before decimals, put semicolons or tabs between columns"),
        ("t,y\n0,1,\n", "got 3; leave out the sign at its end"),
        ("t,y\n0,1\n0.1;0.9\n", "row 3 must have 2 fields, got 1, with semicolons between its numbers"),
        ("t;y\n0,1;1.000,5\n", "row 2 must be a number, got '0,1'; the file has points and commas within numbers"),
        ("t;y\n0.1;1,000\n", "row 2 must be a number, got '1,000'; the file has points and commas within numbers"),
        ("t,y\ns,mm\n0,1\n", "got 's'; units belong into the first line"),
        ("t y\n0 1\n", "must name the columns, with a comma, a semicolon or a tab between them, got 't y'"),
        ("Camera 3\nt,y\n0,1\n", "got 'Camera 3'; put # before a line that is a comment"),
        ("0,1\n0.1,0.9\n", "must name the columns, got the numbers 0, 1"),
        ('t,y\n0,"' + 200_000 * "1", "column 'y', row 2 must be a number, got '\"1"),
    ],
)
def test_files_that_cannot_be_read_are_named(tmp_path, text, words):
    path = tmp_path / "film.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=words):
        samples_from(path, KNOWN)


def test_only_regular_files_are_opened(tmp_path):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    with pytest.raises(ValueError, match="is a pipe"):
        samples_from(path, KNOWN)


def test_files_that_are_not_there_or_cannot_be_read_are_named(tmp_path, capsys):
    (tmp_path / "folder.csv").mkdir()
    for name, words in (
        ("none.csv", "there is no file"),
        ("folder.csv", "is a folder"),
        ("a/b.csv", "there is no file"),
    ):
        with pytest.raises(ValueError, match=words):
            samples_from(tmp_path / name, KNOWN)
        assert main(["fit", "bouncing_ball", str(tmp_path / name), "--free", "restitution=0.3:1"]) == 2
        assert words in capsys.readouterr().err


def test_columns_that_are_not_used_are_told(tmp_path):
    """Nothing is dropped in silence: a name may be misspelt; units and gaps of such a column are nobody's concern."""
    path = tmp_path / "film.csv"
    path.write_text("t,y,ph\u001b [px],frame\n0,1,,7\n1,2,inf,8\n", encoding="utf-8")
    told = r"film.csv: columns 'ph\\x1b', 'frame' are not used; the model has y, phi, v; did you mean 'phi'\?"
    with pytest.warns(RuntimeWarning, match=told):
        (data,) = samples_from(path, KNOWN)
    assert list(data.columns) == ["y"]
    with pytest.warns(RuntimeWarning, match=r"data: column 'z' is not used; the model has y, phi, v\."):
        samples_from({"t": [0.0], "y": [1.0], "z": [1.0]}, KNOWN)


def _tumbling(frame):
    """Samples of a body that turns about a tilted axis, with angular velocities in world or body axes."""
    t = np.linspace(0.0, 0.5, 40)
    tilt = np.array([np.cos(0.4), np.sin(0.4), 0.0, 0.0])  # about x
    half = 0.5 * 3.0 * t
    spin = np.stack([np.cos(half), 0 * t, np.sin(half), 0 * t], 1)  # about the body's y
    w, x, y, z = tilt
    a, b, c, d = spin.T
    q = np.stack([w * a - x * b - y * c - z * d, w * b + x * a + y * d - z * c, w * c - x * d + y * a + z * b,
                  w * d + x * c - y * b + z * a], 1)  # fmt: skip
    own = np.array([0.0, 3.0, 0.0])
    world = np.array([0.0, 3.0 * np.cos(0.8), 3.0 * np.sin(0.8)])
    rate = np.broadcast_to(own if frame == "body" else world, (40, 3))
    names = [f"cube.{n}" for n in ("qw", "qx", "qy", "qz", "wx", "wy", "wz")]
    return {"t": t, **dict(zip(names, np.concatenate([q, rate], 1).T, strict=True))}, names


def test_rotations_in_world_axes_pass_and_body_axes_are_recognised():
    good, names = _tumbling("world")
    assert samples_from(good, names)[0].count == 40 * 7
    wrong, names = _tumbling("body")
    with pytest.raises(ValueError, match="must be in world axes, got one in the axes of the body"):
        samples_from(wrong, names)


@pytest.mark.parametrize(
    ("entries", "signs", "told"),
    [
        ((0, 1, 2, 3), (1, -1, -1, -1), "must be from body to world, got one from world to body"),
        ((1, 2, 3, 0), (1, 1, 1, 1), "order of the quaternion .* must be qw, qx, qy, qz"),
        ((3, 0, 1, 2), (1, 1, 1, 1), "order of the quaternion .* must be qw, qx, qy, qz"),
    ],
)
def test_quaternions_the_other_way_round_or_in_another_order_are_recognised(entries, signs, told):
    """They have length one; the angular velocity beside them shows that they turn otherwise."""
    good, names = _tumbling("world")
    turned = {name: sign * good[names[k]] for name, k, sign in zip(names[:4], entries, signs, strict=True)}
    with pytest.raises(ValueError, match=told):
        samples_from({**good, **turned}, names)


def test_times_that_are_far_too_long_for_the_step_need_a_unit():
    """Frames or milliseconds in place of seconds: a simulation would take hundreds of steps between two samples."""
    data = {"t": np.arange(5.0) * 6.757, "y": np.zeros(5)}
    with pytest.raises(ValueError, match=r"must be in seconds, got samples 6\.757 apart, 6757 steps"):
        samples_from(data, KNOWN, step=1e-3)
    assert samples_from(data, KNOWN, {"t": "ms"}, step=1e-3)[0].t[1] == pytest.approx(6.757e-3)
    assert samples_from(data, KNOWN, {"t": "s"}, step=1e-3)[0].count == 5


def test_quaternions_have_length_one():
    data, names = _tumbling("world")
    data["cube.qw"] = 2.0 * data["cube.qw"]
    with pytest.raises(ValueError, match="must have length 1"):
        samples_from(data, names)
