"""`stickslip list` and `stickslip show`."""

import json

import pytest

from stickslip import library
from stickslip.cli import listing


def test_list_has_a_table_for_each_kind_within_a_hundred_columns(run):
    code, out, err = run("list")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 100
    mechanisms, scenes, circuits = out.index("Mechanisms"), out.index("Scenes"), out.index("Circuits")
    rows = {line.split()[0]: line for line in out.splitlines() if line[:1].islower() and "  " in line}
    assert set(rows) == {"name", *library.names(), *library.scene_names(), *library.circuit_names()}
    assert mechanisms < out.index("\nwoodpecker ") < scenes < out.index("\ncube_stack ") < circuits
    assert rows["woodpecker"].split()[1:5] == ["3", "3", "[GS05]", "4"] and "hammering down" in rows["woodpecker"]
    assert rows["cube_stack"].split()[1:] == ["60", "10", "Stack", "of", "cubes"]  # of no paper


def test_list_as_json(run):
    code, out, err = run("list", "--json")
    assert (code, err) == (0, "")
    systems = {row["name"]: row for row in json.loads(out)["systems"]}
    assert tuple(systems) == library.names() + library.scene_names() + library.circuit_names()
    assert systems["woodpecker"]["contacts"] == ["beak", "sleeve lower", "sleeve upper"]
    assert systems["woodpecker"]["degrees_of_freedom"] == 3
    assert systems["woodpecker"]["source"] == "[GS05] section 4, Table I" and systems["arch"]["kind"] == "scene"
    assert systems["bouncing_ball"]["settings"]["restitution"] == 0.5


def test_a_second_list_derives_nothing(run, tmp_path, monkeypatch):
    tmp_path.chmod(0o700)
    monkeypatch.setenv("STICKSLIP_CACHE", str(tmp_path / "cache"))
    asked = []
    monkeypatch.setattr(listing, "_names", lambda: asked.append(1) or ("woodpecker", "cube_stack"))
    first, second = run("list", "--json"), run("list", "--json")
    assert first == second and len(asked) == 1
    assert json.loads(first[1])["systems"] == json.loads(json.dumps([listing.describe(n) for n in listing._names()]))
    monkeypatch.setattr(listing, "PACKAGE", tmp_path)  # other sources
    (tmp_path / "one.py").touch()
    assert run("list", "--json") == first and len(asked) == 3


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "four_bar" else []) for name in library.names()]
)
def test_show_prints_equations_and_settings(run, name):
    code, out, err = run("show", name)
    assert (code, err) == (0, "")
    assert library.get(name).system.equations().text() in out
    for key in library.keywords(name):
        assert f"  {key} " in out


def test_show_gives_values_with_units(run):
    _, out, _ = run("show", "woodpecker")
    assert "= 0.0056 N m/rad" in out and "--set NAME=VALUE" in out


def test_show_latex_is_latex_alone(run):
    code, out, err = run("show", "woodpecker", "--latex")
    assert (code, err) == (0, "")
    assert out == library.woodpecker().system.equations().latex()
    assert out.startswith("\\begin{align*}") and out.endswith("\\end{align*}\n")


def test_show_of_an_unknown_system(run):
    code, out, err = run("show", "wodpecker")
    assert (code, out) == (2, "")
    assert "did you mean 'woodpecker'?" in err and err.count("\n") == 1


def test_a_scene_is_listed_and_shown_by_its_bodies(run):
    _, out, _ = run("list", "--json")
    row = {row["name"]: row for row in json.loads(out)["systems"]}["billiards"]
    assert row["degrees_of_freedom"] == 24 and row["contacts"] == ["thrown", "ball1", "ball2", "ball3"]
    code, out, err = run("show", "billiards")
    assert (code, err) == (0, "")
    assert "ball3: moving sphere, 0.17 kg at (0.122, 0, 0.03) m" in out and "table: static halfspace" in out
    assert all(f"  {key} " in out for key in library.keywords("billiards"))
    code, out, err = run("show", "billiards", "--latex")
    assert (code, out) == (2, "") and "billiards is a scene" in err and err.count("\n") == 1


def test_a_scene_runs_as_other_entries_do(run, tmp_path):
    picture = tmp_path / "balls.png"
    code, out, err = run("run", "billiards", "--t-end", 0.06, "--set", "friction=0.3", "--json", "--plot", picture)
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert report["certificate"]["failed_steps"] == 0 and report["impacts"]["by_contact"]["thrown"] >= 1
    assert picture.exists()
    code, _, err = run("run", "billiards", "--set", "ball1.u=1")
    assert code == 2 and "unknown parameter 'ball1.u'" in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "name", "why"),
    [
        ("converge", "poured_spheres", "it takes 1 to 12 bodies that move, got 300"),
        ("limit-cycle", "billiards", "billiards is a scene of bodies and shapes"),
    ],
)
def test_commands_that_need_coordinates_refuse_scenes(run, command, name, why):
    code, out, err = run(command, name)
    assert (code, out) == (2, "")
    assert why in err and err.count("\n") == 1


@pytest.mark.parametrize("name", ["bouncing_ball", "cube_stack"])
def test_show_as_json_has_what_the_text_has(run, name):
    code, out, err = run("show", name, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["equations"] in run("show", name)[1] and found["settings"] == library.keywords(name)
    assert sum(found["sizes"].values()) > 0
