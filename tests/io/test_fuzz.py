"""Files of any content: an answer or one line, quickly; never a crash, a traceback of another kind, or code that runs.

The default run takes some hundred inputs of each kind, `-m slow` many thousands.  What once went wrong stays in CORPUS.
"""

import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import stickslip as ss
from stickslip.io.load import load
from stickslip.io.models.file import model_from_text
from stickslip.io.models.toml_text import ModelError
from tests.fuzz.targets import (
    DISC,
    answers,
    friction_bytes,
    model_texts,
    read_lines,
    read_model_text,
    read_robot,
    trajectory_bytes,
)
from tests.io.models.robots import MJCF, SDF, URDF

ROOT = Path(__file__).parent.parent.parent
FEW = settings(max_examples=60, suppress_health_check=list(HealthCheck))
MANY = settings(max_examples=20_000, suppress_health_check=list(HealthCheck))
# -- model files -------------------------------------------------------------------------------------------------------

BALL, GEAR, _ = model_texts()
WORDS = [
    "1e999",
    "-1",
    "0",
    "nan",
    "inf",
    "true",
    '""',
    "[]",
    "{}",
    '"x"',
    "9" * 30,
    "[[contacts]]",
    "[run]",
    "name",
    "\\u0000",
]
WORDS += ['"sin(y)**64"', '"y/0"', "1979-05-27", "'''", '"""', "[[[[", "{ a = 1 }", "=", "#", "\n", "\r", "\x00", "é"]


@st.composite
def edited(draw, texts):
    """A valid file with some of its lines and words changed."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(1, 4))):
        begin = draw(st.integers(0, len(text)))
        end = draw(st.integers(begin, min(len(text), begin + 12)))
        text = text[:begin] + draw(st.sampled_from(WORDS) | st.text(max_size=4)) + text[end:]
    return text


CORPUS = [
    "",
    "stickslip = 1",
    "stickslip = true\n",
    "stickslip = 1\nkind = []\n",
    "stickslip = 99999999999999999999\n",
    "[stickslip]\n",
    "a = " + "[" * 900,
    "a" * 10_000,
    "a.b.c = 1\na.b = 2\n",
    BALL.replace("y = {", '"y" = {'),
    BALL.replace('kinetic = "', 'kinetic = "-'),
    BALL.replace("dt = ", "dt = 1e-320 # "),
    BALL.replace("mass = {", "mass = { value = 1e-320, unit = 'kg' }\nother = {"),
    BALL + "every = 99999999999999999999999\n",
    DISC.replace("radius = 0.1", "radius = 1e-300"),
    DISC.replace("radius = 0.1", "radius = 1e300"),
    DISC.replace("[0.0, 0.1]", "[1e308, 1e308]"),
    DISC.replace('{ type = "circle", radius = 0.1 }', "{ type = 'compound', parts = [] }"),
    DISC.replace('b = "disc"', 'b = "world"'),
    DISC.replace("at = [0.0, 0.0]", "at = [0.0, 0.0]\nlimits = [1.0, -1.0]"),
    DISC.replace("at = [0.0, 0.0]", "at = [0.0, 0.0]\nlimits = [nan, inf]"),
    DISC.replace('name = "disc"\ndim', 'name = "world"\ndim').replace('name = "disc"\nshape', 'name = "world"\nshape'),
]


@pytest.mark.parametrize("text", CORPUS, ids=range(len(CORPUS)))
def test_corpus_of_model_files(text):
    read_model_text(text)


@FEW
@given(edited([BALL, GEAR, DISC]))
def test_changed_model_files(text):
    read_model_text(text)


@pytest.mark.slow
@MANY
@given(edited([BALL, GEAR, DISC]))
def test_many_changed_model_files(text):
    read_model_text(text)


@FEW
@given(edited([BALL, GEAR, DISC]))
def test_every_key_has_a_line(text):
    read_lines(text)


@FEW
@given(edited([MJCF, URDF, SDF]))
def test_changed_robot_files(text):
    read_robot(text.encode("utf-8", "surrogatepass"))


@pytest.mark.slow
@settings(max_examples=5_000, suppress_health_check=list(HealthCheck))
@given(edited([MJCF, URDF, SDF]))
def test_many_changed_robot_files(text):
    read_robot(text.encode("utf-8", "surrogatepass"))


# -- binary files ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", name="trajectory_bytes")
def saved_trajectory():
    return trajectory_bytes()


@pytest.fixture(scope="module", name="fclib_bytes")
def saved_problem():
    return friction_bytes(".hdf5")


def damaged(content, generator):
    """Some bytes changed, a piece moved, or the end cut off."""
    data = bytearray(content)
    for _ in range(int(generator.integers(1, 6))):
        place = int(generator.integers(len(data)))
        kind = generator.integers(4)
        if kind == 0:
            data[place] ^= 1 << int(generator.integers(8))
        elif kind == 1:
            data[place : place + 8] = generator.bytes(8)
        elif kind == 2:
            data[place : place + 8] = b"\xff" * 8
        else:
            del data[place + int(generator.integers(len(data))) :]
        if len(data) < 10:
            break
    return bytes(data)


def read_damaged(content, path, reader, count, seed):
    generator = np.random.default_rng(seed)
    for _ in range(count):
        Path(path).write_bytes(damaged(content, generator))
        answers(reader, path)


def test_damaged_trajectories(trajectory_bytes, tmp_path):
    read_damaged(trajectory_bytes, tmp_path / "run.nc", load, 60, 1)


def test_damaged_friction_files(fclib_bytes, tmp_path):
    read_damaged(fclib_bytes, tmp_path / "problem.hdf5", ss.read_friction_problem, 60, 2)


@pytest.mark.slow
def test_many_damaged_trajectories(trajectory_bytes, tmp_path):
    read_damaged(trajectory_bytes, tmp_path / "run.nc", load, 10_000, 3)


@pytest.mark.slow
def test_many_damaged_friction_files(fclib_bytes, tmp_path):
    read_damaged(fclib_bytes, tmp_path / "problem.hdf5", ss.read_friction_problem, 10_000, 4)


def test_pointers_that_lead_outside_are_refused(fclib_bytes, tmp_path):
    """SciPy would follow them out of the array."""
    path = tmp_path / "problem.hdf5"
    for name, change in (
        ("i", lambda x: x + 1000),
        ("i", lambda x: -x - 1),
        ("p", lambda x: x[::-1]),
        ("p", lambda x: x * 9),
    ):
        path.write_bytes(fclib_bytes)
        with h5py.File(path, "r+") as file:
            dataset = file[f"fclib_local/W/{name}"]
            dataset[...] = change(dataset[...])
        with pytest.raises(ValueError, match=r"fclib_local/W/[ip] must (lie between|begin with 0|have)"):
            ss.read_friction_problem(path)


def test_other_files_are_not_opened(trajectory_bytes, tmp_path):
    """Neither through links nor through storage outside the file."""
    secret = tmp_path / "secret.nc"
    secret.write_bytes(trajectory_bytes)
    for kind in ("link", "storage"):
        path = tmp_path / "run.nc"
        path.write_bytes(trajectory_bytes)
        with h5py.File(path, "r+") as file:
            shape = file["q"].shape
            del file["q"]
            if kind == "link":
                file["q"] = h5py.ExternalLink(str(secret), "q")
            else:
                file.create_dataset("q", shape, "<f8", external=[(str(secret), 0, 10**6)])
        with pytest.raises(ValueError, match="not a dataset of the file itself"):
            load(path)


@FEW
@given(st.binary(max_size=200) | st.text(alphabet="0123456789 .-e\n\tcolCS:,by", max_size=200).map(str.encode))
def test_any_dat_file(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / f"any{os.getpid()}.dat"
    path.write_bytes(content)
    answers(ss.read_friction_problem, path)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["expressions", "models", "requests"])
def test_fuzzing_guided_by_coverage(target, tmp_path):
    """With atheris where it is installed: inputs that reach new lines are kept and changed further."""
    pytest.importorskip("atheris")
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "tests.fuzz",
        "--atheris",
        target,
        "--count",
        "1e9",
        "--seconds",
        "30",
    ]
    done = subprocess.run([*command, "--findings", str(tmp_path)], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "stat::number_of_executed_units" in done.stderr


def test_complaints_of_models_are_their_own_kind():
    with pytest.raises(ModelError):
        model_from_text("stickslip = 1\n", "any.toml")
