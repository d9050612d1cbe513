"""`stickslip new`, `check`, `import`, and `run` of model files."""

import json
import math
import re

import pytest

from stickslip import library
from stickslip.cli.settings import mechanism_with
from stickslip.io.load import load
from tests.io.models.robots import URDF


@pytest.fixture
def ball(run, tmp_path):
    """The bouncing ball as a file."""
    path = tmp_path / "ball.toml"
    assert run("new", "bouncing_ball", "--out", path) == (0, "", "")
    return path


def test_new_without_a_name_lists_the_entries(run):
    code, out, err = run("new")
    assert (code, err) == (0, "")
    assert all(name in out for name in (*library.names(), *library.scene_names())) and "--empty" in out
    assert max(map(len, out.splitlines())) <= 100


def test_the_commented_mechanism_runs_as_it_is(run, tmp_path):
    path = tmp_path / "mine.toml"
    assert run("new", "--empty", "--out", path) == (0, "", "")
    code, out, err = run("run", path, "--engine", "reference", "--dt", "0.002", "--t-end", "1.6", "--json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert report["final"]["q"] == pytest.approx([1.0, 0.0], abs=1e-3)  # against its stop
    assert report["certificate"]["failed_steps"] == 0
    assert report["energy_book"]["contacts"] == pytest.approx(-9.81 * math.sin(0.6), rel=2e-3)  # -m g h, all lost


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("new", "--empty", "woodpecker"), "--empty writes a mechanism of its own and takes no NAME"),
        (("new", "--set", "friction=1"), "--set needs NAME"),
        (("new", "--out", "x.toml"), "--out needs NAME"),
    ],
)
def test_new_says_what_does_not_go_together(run, arguments, words):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "") and words in err and err.count("\n") == 1


def test_check_tells_of_every_file_and_not_of_the_first_wrong_one_alone(run, ball, tmp_path):
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("stickslip = 1\nname = 3\n")
    code, out, err = run("check", wrong, ball, tmp_path / "none.toml")
    assert code == 2 and "1 coordinate, 1 contact" in out
    first, second = err.splitlines()
    assert "wrong.toml, line 2, name: a text is expected, got 3." in first and "none.toml does not exist" in second


def test_a_summary_on_a_terminal_has_at_most_100_columns_and_in_a_pipe_a_line_each(run, ball, monkeypatch):
    quick = ("run", ball, "--dt", "0.01", "--t-end", "0.6", "--engine", "reference")
    _, piped, _ = run(*quick)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "300")
    _, out, _ = run(*quick)
    lines = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in out.splitlines()]
    assert max(map(len, lines)) <= 100 < max(map(len, piped.splitlines()))
    assert [line.split()[0] for line in lines if line[2:3] != " "] == [line.split()[0] for line in piped.splitlines()]


QUICK = ("--dt", "0.01", "--t-end", "0.6", "--engine", "reference", "--json")


def test_new_check_and_run_agree_with_the_library(run, ball):
    code, out, err = run("check", ball)
    assert (code, err) == (0, "") and "1 coordinate, 1 contact, 3 parameters" in out
    assert "contact 'table' starts with a gap of 1 m" in out
    code, out, err = run("run", ball, *QUICK, "--set", "restitution=0.25", "--set", "y=2")
    assert (code, err) == (0, "")
    report = json.loads(out)
    expected = library.bouncing_ball(restitution=0.25, height=2.0).simulate(dt=0.01, t_end=0.6, engine="reference")
    assert report["final"]["q"] == expected.q[-1].tolist() and report["parameters"]["restitution"] == 0.25
    code, out, err = run("show", ball)
    assert code == 0 and "M du - h dt - dR = 0" in out and "restitution = 0.5" in out


def test_options_of_the_file_hold_until_the_command_line_says_otherwise(run, ball):
    ball.write_text(ball.read_text() + 'stepper = "moreau-jean"\ntheta = 0.75\nevery = 2\n')
    report = json.loads(run("run", ball, *QUICK)[1])
    assert (report["stepper"], report["every"]) == ("moreau-jean", 2) and "theta=0.75" in report["stepper_options"]
    report = json.loads(run("run", ball, *QUICK, "--theta", "1", "--every", "3")[1])
    assert "theta=1.0" in report["stepper_options"] and report["every"] == 3
    code, _, err = run("run", ball, *QUICK, "--stepper", "moreau-midpoint", "--theta", "1")
    assert code == 2 and "--theta works with --stepper moreau-jean, got 'moreau-midpoint'" in err


def test_tolerance_and_counts_of_the_event_driven_integrator(run):
    code, out, err = run(
        "run", "bouncing_ball", "--stepper", "event-driven", "--rtol", "1e-8", "--t-end", "0.6", "--json"
    )
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert "rtol=1e-08" in report["stepper_options"] and report["counts"]["instants"] >= 1
    assert "--rtol works with --stepper adaptive, event-driven" in run("run", "bouncing_ball", "--rtol", "1e-8")[2]


def test_resume_needs_a_file_and_goes_on(run, ball, tmp_path):
    assert "--resume needs --out" in run("run", ball, *QUICK, "--resume")[2]
    out = tmp_path / "run.nc"
    code, text, _ = run("run", ball, *QUICK, "--out", out, "--resume")
    assert code == 0 and json.loads(text)["resumed"] == "no: there was no run to go on with"
    code, text, _ = run("run", ball, "--dt", "0.01", "--t-end", "1", *QUICK[4:], "--out", out, "--resume")
    assert code == 0 and json.loads(text)["steps"] == 100 and json.loads(text)["resumed"] == "from t = 0.6 s"
    again = run("run", ball, "--dt", "0.01", "--t-end", "1", *QUICK[4:-1], "--out", out, "--resume")[1]
    assert "resumed     from t = 1 s, its end: nothing was left to do" in again
    whole = library.bouncing_ball().simulate(dt=0.01, t_end=1.0, engine="reference")
    assert load(out).q.tolist() == whole.q.tolist()


def test_a_robot_becomes_a_model_file(run, tmp_path):
    robot, model = tmp_path / "cart.urdf", tmp_path / "cart.toml"
    robot.write_text(URDF)
    code, out, err = run("import", robot, "--out", model)
    assert (code, out) == (0, "") and "stickslip: left out or changed: line 11: a cylinder" in err
    code, out, err = run("check", model, "--json")
    assert code == 0 and json.loads(out)["files"][0]["sizes"] == {"moving bodies": 2, "joints": 2}
    assert "Left out or changed of cart.urdf" in model.read_text()
    assert run("import", robot, "--out", model)[0] == 2  # it exists


def test_scenes_are_written_too(run):
    code, out, err = run("new", "rolling_disc", "--set", "angle=0.2")
    assert (code, err) == (0, "") and 'kind = "scene"' in out
    assert "unknown parameter 'angel'; did you mean 'angle'?" in run("new", "rolling_disc", "--set", "angel=1")[2]


def test_the_schema_can_be_had(run):
    code, out, _ = run("check", "--schema")
    assert code == 0 and json.loads(out)["title"] == "stickslip model file"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run", "none.toml"], "none.toml does not exist"),
        (["check"], "check needs the names of model files"),
        (["check", "none.toml"], "none.toml does not exist; give the name of a model file.\n"),
        (["check", "cube_stack"], "'stickslip new cube_stack --out cube_stack.toml' writes one."),
        (["new", "woodpeker"], "unknown library entry 'woodpeker'; did you mean 'woodpecker'?"),
        (["import", "none.xml"], "none.xml is no file"),
        (["show", "none.toml"], "none.toml does not exist"),
    ],
)
def test_wrong_requests_are_one_line(run, arguments, expected):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "") and expected in err
    assert err.startswith("stickslip: error: ") and err.count("\n") == 1


def test_wrong_files_are_one_line_with_the_place(run, ball):
    ball.write_text(ball.read_text().replace("gap =", "gapp ="))
    code, _, err = run("check", ball)
    assert code == 2 and "ball.toml, line" in err and "did you mean 'gap'?" in err and err.count("\n") == 1
    code, _, err = run("run", ball, "--set", "fricton=1")
    assert code == 2


SLAB = """stickslip = 1
kind = "scene"
name = "slab"
dim = 2

[[bodies]]
name = "ground"
type = "static"
shape = { type = "half-plane", normal = [0, 1], offset = 0.0 }

[[bodies]]
name = "disc"
shape = { type = "circle", radius = 0.1 }
position = [0, 0.08]
mass = 1

[run]
dt = 1e-3
t_end = 1.0
"""


PENDULUM = """
stickslip = 1
name = "pendulum"

[coordinates]
phi = { velocity = "omega", unit = "rad", velocity_unit = "rad/s", start = START }

[parameters]
l = { value = 2.0, unit = "m" }

[energies]
kinetic = "l**2*omega**2/2"
potential = "-9.81*l*cos(phi)"

[[contacts]]
type = "stop"
name = "stop"
coordinate = "phi"
lower = -0.2

[[contacts]]
type = "contact"
name = "wall"
gap = "l*sin(phi) + 0.4"
FRICTION

[run]
dt = 1e-3
t_end = 0.01
engine = "reference"
"""


def test_messages_speak_of_the_file_and_of_the_units_of_gaps(run, tmp_path):
    path = tmp_path / "pendulum.toml"

    def told(command, start="1.0", friction="", old="", new=""):
        path.write_text(PENDULUM.replace("START", start).replace("FRICTION", friction).replace(old, new))
        return run(command, path)

    code, out, _ = told("check")
    assert code == 0 and "'stop' starts with a gap of 1.2 rad" in out and "'wall' starts with a gap of 2.083 m" in out
    code, _, err = told("run", start="-0.3")
    assert code == 2 and "a penetration of 0.1 rad, more than penetration_tol = 1e-05 rad; move q0 (`start`" in err
    code, _, err = told("check", friction="friction = 0.3")
    assert code and "has friction = 0.3 but no tangential direction; give it slip or tangent." in err
    code, _, err = told("check", old='potential = "', new='potential = "omega')
    assert code and "give such forces by forces=, in a model file by [forces]." in err


def test_a_drawing_without_a_value_at_the_start_is_told_by_check(run, ball):
    assert "drawn by [drawing]" in run("check", ball)[1]
    ball.write_text(ball.read_text().replace('at = [0.0, "y"]', 'at = [0.0, "sqrt(-y)"]'))
    code, _, err = run("check", ball)
    assert code == 1 and "].at[1]: this expression has no value at t = 0 s, q = [1.0]" in err and err.count("\n") == 1


def test_a_drawing_that_fails_during_the_motion_leaves_the_run(run, ball, tmp_path):
    ball.write_text(ball.read_text().replace('at = [0.0, "y"]', 'at = [0.0, "log(y - 0.5)"]'))
    out, page, again = tmp_path / "run.nc", tmp_path / "run.html", tmp_path / "again.nc"
    code, text, err = run("run", ball, *QUICK, "--out", out, "--export", page)
    assert code == 1 and json.loads(text)["files"] == {"out": str(out)} and load(out).complete and not page.exists()
    assert re.search(r"ball\.toml, line \d+, drawing\.shapes\[\d\]\.at\[1\]: .* at t = 0\.32 s", err)
    assert err.count("\n") == 1
    code, text, _ = run("run", ball, *QUICK[:-1], "--out", again, "--export", page)
    assert code == 1 and "0 failed steps" in text and f"written     {again}" in text


@pytest.mark.slow
def test_a_file_makes_a_film_and_a_page(run, ball, tmp_path):
    code, _, err = run("run", ball, *QUICK[:-1], "--animate", tmp_path / "ball.gif", "--export", tmp_path / "ball.html")
    assert code == 0, err
    assert (tmp_path / "ball.gif").read_bytes()[:6] == b"GIF89a"
    assert '"name":"ball","items":[{"kind":"circle"' in (tmp_path / "ball.html").read_text().replace(" ", "")


def test_a_start_that_overlaps_is_told_by_check(run, ball, tmp_path):
    text = ball.read_text()
    assert run("check", ball)[0] == 0
    ball.write_text(text.replace("start = 1.0", "start = -0.5"))
    code, out, err = run("check", ball)
    assert code == 1 and "starts 0.5 m deep" in out and "starts with a penetration of 0.5 m" in err
    slab = tmp_path / "slab.toml"
    slab.write_text(SLAB)
    code, out, err = run("check", slab)
    assert code == 1 and "bodies 'disc' and 'ground' overlap by 0.02 m at the start" in err and err.count("\n") == 1
    assert json.loads(run("check", slab, "--json")[1])["files"][0]["problem"].startswith("bodies 'disc'")
    slab.write_text(SLAB.replace("0.08", "0.1"))
    assert run("check", slab)[0] == 0


def test_a_film_of_what_has_no_drawing_is_refused_before_the_run(run, ball, tmp_path, monkeypatch):
    ball.write_text(re.sub(r"\[drawing\].*\[run\]", "[run]", ball.read_text(), flags=re.S))
    assert "no [drawing]: --animate makes no film of it" in run("check", ball)[1]
    monkeypatch.setattr(library.Scenario, "simulate", lambda *_, **__: pytest.fail("the run began"))
    code, _, err = run("run", ball, "--animate", tmp_path / "ball.gif")
    assert code == 2 and "--animate: bouncing_ball has no drawing, so there is no film of it" in err


def test_other_commands_take_a_mechanism_from_a_file(run, ball, tmp_path):
    scenario = mechanism_with(["restitution=0.4", "y=2"], str(ball))
    assert scenario.params["restitution"] == 0.4 and scenario.q0[0] == 2.0
    code, _, err = run("sweep", ball, "--vary", "restituton=0.4:0.6:3")
    assert code == 2 and "'restituton'" in err
    slab = tmp_path / "slab.toml"
    slab.write_text(SLAB)
    code, _, err = run("limit-cycle", slab)
    assert code == 2 and "slab.toml is a scene of bodies and shapes" in err
    code, _, err = run("limit-cycle", ball)
    assert code == 2 and "has no section of its own" in err


def test_a_setting_that_a_file_does_not_have(run, ball):
    code, _, err = run("run", ball, "--set", "restituton=1")
    assert code == 2 and "unknown parameter 'restituton'; did you mean 'restitution'?" in err
