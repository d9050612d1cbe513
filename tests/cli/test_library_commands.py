"""`stickslip list` and `stickslip show`."""

import json

import pytest

from stickslip import cli, library


@pytest.fixture
def run(capsys, monkeypatch):
    monkeypatch.delenv("STICKSLIP_DEBUG", raising=False)

    def run(*arguments):
        code = cli.main(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_list_names_every_system_on_one_line(run):
    code, out, err = run("list")
    assert (code, err) == (0, "")
    lines = {line.split()[0]: line for line in out.splitlines()}
    assert set(lines) == {"name", *library.names(), *library.scene_names()}
    assert lines["woodpecker"].split()[1:3] == ["3", "3"]
    assert "[GS05] section 4, Table I" in lines["woodpecker"] and "hammering down a pole" in lines["woodpecker"]


def test_list_as_json(run):
    code, out, err = run("list", "--json")
    assert (code, err) == (0, "")
    systems = {row["name"]: row for row in json.loads(out)["systems"]}
    assert tuple(systems) == library.names() + library.scene_names()
    assert systems["woodpecker"]["contacts"] == ["beak", "sleeve lower", "sleeve upper"]
    assert systems["woodpecker"]["degrees_of_freedom"] == 3
    assert systems["bouncing_ball"]["settings"]["restitution"] == 0.5


@pytest.mark.parametrize("name", library.names())
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
