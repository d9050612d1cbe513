"""`stickslip run` and its relatives with scenes of the library."""

import json

import pytest

from stickslip import library, load
from stickslip.jit import KernelError, web
from tests.thinned import FULL, thinned


def test_run_a_scene_with_json_trajectory_figure_and_film(run, tmp_path):
    out, figure, film = tmp_path / "run.nc", tmp_path / "run.png", tmp_path / "run.gif"
    code, text, _ = run(
        "run", "thrown_cube", "--set", "speed=2", "--t-end", "0.5", "--every", "10", "--json", "--quiet", "--out",
        str(out), "--plot", str(figure), "--animate", str(film),
    )  # fmt: skip
    assert code == 0
    report = json.loads(text)
    assert report["steps"] == 500 and report["certificate"]["failed_steps"] == 0
    assert report["final"]["q"][0] == pytest.approx(4 / (2 * 0.5 * 9.81), abs=1e-5)
    assert report["coordinates"][0] == "cube.x"
    assert load(out)["cube.x"][-1] == report["final"]["q"][0]
    assert figure.stat().st_size > 10_000 and film.stat().st_size > 10_000


def test_summary_of_a_scene_and_another_start(run):
    code, text, err = run("run", "cube_stack", "--set", "cubes=3", "cube3.z=2.6", "--t-end", "0.3")
    assert (code, err) == (0, "")
    assert "Stack of cubes" in text and "0 failed steps" in text
    assert "3 bodies: lowest cube1 at z = 0.5 m, highest cube3 at z = 2." in text and "fastest cube" in text
    code, text, err = run("run", "thrown_cube", "--t-end", "0.01")
    assert (code, err) == (0, "")
    assert "cube.qw = 1, " in text  # a quaternion has no unit


def test_a_scene_runs_with_any_of_its_impact_laws(run):
    code, text, err = run("run", "billiards", "--t-end", "0.01", "--law", "chatterjee-ruina")
    assert (code, err) == (0, "") and "chatterjee-ruina's law" in text


@thinned
def test_runs_that_keep_no_forces_are_exported_too(run, tmp_path, monkeypatch):
    """A resumed run, whose file has no contact points, and one that the event-driven judge does."""
    if not FULL:  # without kernels for a browser, which take seconds

        def none(*_):
            raise KernelError("left to the slow run")

        monkeypatch.setattr(web, "module", none)
    page, out = tmp_path / "run.html", tmp_path / "run.nc"
    assert run("run", "billiards", "--t-end", "0.01", "--out", out)[0] == 0
    code, _, err = run("run", "billiards", "--t-end", "0.02", "--out", out, "--resume", "--export", page)
    assert code == 0 and page.stat().st_size < 1_000_000, err
    page.unlink()
    code, _, err = run("run", "billiards", "--t-end", "0.01", "--stepper", "event-driven", "--export", page)
    assert code == 0 and page.exists(), err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "cube_stak"), "cube_stack"),
        (("run", "cube_stack", "--set", "cubs=3"), "cubes"),
        (("run", "cube_stack", "--set", "cube1.qw=0.5"), "unit quaternion"),
        (("run", "cube_stack", "--law", "stronge-lumped"), "law of a scene must be 'newton', 'stronge', "),
        (("run", "cube_stack", "--every", "0", "--export", "run.html"), "every must be a whole number >= 1, got 0."),
        (("run", "cube_stack", "--solver", "lemke"), "--solver has no meaning for a scene, got 'lemke'"),
        (("run", "cube_stack", "--stepper", "adaptive"), "features that change"),
        (("run", "cube_stack", "--rtol", "1e-6"), "--rtol works with --stepper adaptive, event-driven"),
        (("run", "cube_stack", "--set", "n=5"), "known: cubes, friction, cube1.x, cube1.y, "),
        (("run", "cube_stack", "--set", "cubes=0"), "cubes must be a whole number >= 1, got 0."),
        (("run", "cube_stack", "cube10.z=8"), "or give overlap='resolve' or 'keep' to simulate"),
        (("run", "cube_stack", "cube11.z=8"), "did you mean 'cube10.z'?"),
        (("run", "cube_stack", "friction=-1"), "friction of 'floor' must be at least 0, got -1."),
        (("run", "cube_stack", "--overlap", "push"), "overlap must be one of raise, resolve, keep, got 'push'."),
        (("run", "woodpecker", "--overlap", "keep"), "--overlap is for scenes of bodies, got 'keep'"),
        (("show", "cube_stack", "--latex"), "it has no equations"),
    ],
)
def test_wrong_requests_get_one_line(run, arguments, words):
    code, out, err = run(*arguments)
    assert code == 2 and out == "" and words in err and err.count("\n") == 1


def test_every_scene_is_an_entry_of_the_library():
    assert {"cube_stack", "card_house", "tippe_top", "poured_spheres"} <= set(library.scene_names())
    entry = library.get("domino_row", dominoes=3)
    assert entry.contact_names == ("domino1", "domino2", "domino3") and entry.degrees_of_freedom == 9
    assert 0 < entry.dt < entry.t_end and entry.options == {"tol": 1e-8}
    with pytest.raises(ValueError, match="domino_row"):
        library.get("domino_rov")
