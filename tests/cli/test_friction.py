"""`stickslip friction solve` and `stickslip bench friction`."""

import json

import numpy as np
import pytest

import stickslip as ss
from stickslip.bench import friction as bench_friction
from stickslip.bench import friction_generated as bench_friction_generated
from stickslip.bench import peers
from stickslip.bench.random_friction import granular, stack
from stickslip.cli import main
from stickslip.figures.friction import cost, profile
from stickslip.figures.style import is_ours, save


@pytest.fixture
def folder(tmp_path):
    """A folder with three problems of our own, two in space and one in the plane."""
    for name, problem in (
        ("a.hdf5", granular(10, np.random.default_rng(1), 3)),
        ("b.dat", stack(8, np.random.default_rng(2), 2)),
        ("c.dat", granular(30, np.random.default_rng(3), 3)),
    ):
        ss.write_friction_problem(ss.FrictionProblem(problem.matrix, problem.q, 0.4, problem.dim), tmp_path / name)
    return tmp_path


def test_solve_a_file(folder, capsys):
    assert main(["friction", "solve", str(folder / "a.hdf5")]) == 0
    assert "1 of 1 solved" in capsys.readouterr().out


def test_solve_a_folder_as_json(folder, capsys):
    assert main(["friction", "solve", str(folder), "--json", "--impulses", "--method", "newton"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["solved"] == 3 and [row["problem"] for row in result["problems"]] == ["a.hdf5", "b.dat", "c.dat"]
    for row in result["problems"]:
        problem = ss.read_friction_problem(folder / row["problem"])
        assert row["error"] == pytest.approx(problem.error(np.array(row["r"])), rel=1e-9, abs=1e-14)
        assert {"method", "iterations", "seconds", "status", "path", "contacts"} <= set(row)


def test_a_file_that_cannot_be_read_does_not_hide_the_others(folder, capsys):
    (folder / "b2.dat").write_text("3\n1\n0\n3\n3\n3 3\n1 2 3\n")
    assert main(["friction", "solve", str(folder), "--json"]) == 2
    result = json.loads(capsys.readouterr().out)
    assert result["solved"] == 3 and result["unreadable"] == 1 and len(result["problems"]) == 4
    bad = result["problems"][2]
    assert bad["problem"] == "b2.dat" and "b2.dat ends too early" in bad["unreadable"] and not bad["solved"]
    assert main(["friction", "solve", str(folder)]) == 2
    table = capsys.readouterr().out
    assert "unreadable" in table and "3 of 4 solved" in table
    assert main(["friction", "solve", str(folder / "b2.dat")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_json_knows_no_infinity(tmp_path, capsys):
    """Lemke's method refuses a large problem with an error that is not a number."""
    problem = granular(200, np.random.default_rng(4), 3)
    ss.write_friction_problem(ss.FrictionProblem(problem.matrix, problem.q, 0.3), tmp_path / "a.dat")
    assert main(["friction", "solve", str(tmp_path / "a.dat"), "--method", "lemke", "--json"]) == 1
    text = capsys.readouterr().out
    assert "Infinity" not in text and "NaN" not in text
    row = json.loads(text, parse_constant=lambda name: pytest.fail(name))["problems"][0]
    assert row["path"][-1]["error"] is None and row["error"] > 0.0


def test_unsolved_is_exit_code_one(folder, capsys):
    assert main(["friction", "solve", str(folder / "c.dat"), "--method", "alternating", "--max-iterations", "1"]) == 1
    assert "0 of 1 solved" in capsys.readouterr().out


def test_convergence_figure(folder, tmp_path, capsys):
    picture = tmp_path / "c.png"
    arguments = ["--method", "auto", "--method", "interior-point", "--plot", str(picture)]
    assert main(["friction", "solve", str(folder / "c.dat"), *arguments]) == 0
    assert is_ours(picture)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.dat"], "there is no file 'nowhere.dat'"),
        (["{folder}", "--method", "magic"], "there is no method 'magic'; choose from auto, gauss-seidel"),
        (["{folder}", "--tol", "2"], "tol must be a number between 0 and 1"),
        (["{folder}/empty"], "has no friction problems"),
        (["{folder}", "--plot", "{folder}/nowhere/x.png"], "nowhere does not exist"),
        (["{folder}", "--plot", "{folder}/x.gif"], "--plot must end in .png, .svg or .pdf"),
        (["{folder}", "--time-limit", "0"], "time_limit must be a positive number"),
    ],
)
def test_bad_requests_get_one_line_and_exit_code_two(folder, capsys, arguments, message):
    (folder / "empty").mkdir()
    assert main(["friction", "solve", *(word.format(folder=folder) for word in arguments)]) == 2
    errors = capsys.readouterr().err.strip().splitlines()
    assert len(errors) == 1 and message in errors[0]


def test_bench_of_a_folder(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(peers, "find_siconos", lambda: {"python": None, "version": None})
    monkeypatch.setattr(bench_friction, "OURS", ("auto", "newton", "alternating"))
    picture = tmp_path / "profiles.png"
    assert main(["bench", "friction", str(folder), "--quick", "--json", "--plot", str(picture)]) == 0
    result = json.loads(capsys.readouterr().out)
    assert is_ours(picture) and len(result["problems"]) == 3
    for row in result["problems"]:
        assert row["results"]["auto"]["solved"] and row["results"]["auto"]["error"] <= 1e-8
    assert bench_friction.table(result).row_count == 3


def test_bench_says_what_is_wrong(capsys, tmp_path):
    assert main(["bench", "friction", str(tmp_path / "nowhere")]) == 2
    assert "there is no folder" in capsys.readouterr().err
    assert main(["bench", "frictionn"]) == 2
    assert "there is no benchmark 'frictionn'" in capsys.readouterr().err


def test_bench_of_generated_problems(tmp_path):
    said = []
    shares = bench_friction_generated.census({1: 1, 6: 1}, said.append)
    assert all(row["wrong"] == 0 and row["problems"] == 2 for row in shares) and len(shares) == 36
    costs = bench_friction_generated.cost((100, 400), said.append)
    assert costs["slopes"]["3"]["bytes"] == pytest.approx(1.0, abs=0.15)
    pyramids = bench_friction_generated.pyramid(2, said.append)
    assert pyramids[0]["velocity"] > pyramids[-1]["velocity"]
    assert len(bench_friction_generated.tables({"census": shares, "cost": costs, "pyramid": pyramids})) == 3
    assert is_ours(save(cost(costs["rows"]), tmp_path / "cost.png"))


def test_performance_profile_by_hand():
    """Two solvers, three problems: A is best on two; B is best on the third, which A does not solve."""
    tau, shares = profile({"A": [1.0, 2.0, np.inf], "B": [2.0, 4.0, 1.0]})
    assert shares["A"][0] == pytest.approx(2 / 3) and shares["A"][-1] == pytest.approx(2 / 3)
    assert shares["B"][0] == pytest.approx(1 / 3) and shares["B"][-1] == 1.0
    assert np.all(np.diff(shares["B"]) >= 0.0) and tau[0] == 1.0


def test_friction_without_a_command(capsys):
    assert main(["friction"]) == 2
    assert capsys.readouterr().err == "stickslip: error: Missing command. (see 'stickslip friction --help')\n"
