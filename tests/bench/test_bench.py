"""`stickslip bench lcp` on a handful of problems: it runs, and it is not fooled by wrong answers."""

import json

import numpy as np
import pytest

from stickslip.bench import lcp as bench_lcp
from stickslip.cli import main


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(bench_lcp, "SIZES", {3: 10, 12: 6})
    monkeypatch.setattr(bench_lcp, "STACK_PROBLEMS", 100)


def test_lcp_as_json(few, capsys):
    assert main(["bench", "lcp", "--quick", "--json"]) == 0
    captured = capsys.readouterr()
    result = json.loads(captured.out)
    assert "n = 3" in captured.err  # progress
    kinds = (*bench_lcp.KINDS, "all")
    assert [(row["n"], row["kind"]) for row in result["groups"]] == [(n, kind) for n in (3, 12) for kind in kinds]
    for row in result["groups"]:
        ours = row["solvers"]["stickslip"]
        assert ours["wrong"] == 0 and ours["ratio"] in (None, 1.0)
    for row in result["stacks"]:
        assert row["solves_per_s"] > 0.0


def test_lcp_as_table(few, capsys):
    assert main(["bench", "lcp", "--quick"]) == 0
    out = capsys.readouterr().out
    for name in ("stickslip", "quantecon", "lemkelcp", "siconos", "degenerate", "solves per second"):
        assert name in out  # measured, or named as not installed


def test_missing_peers_are_named(few, capsys, monkeypatch):
    solvers = bench_lcp.in_process_solvers()
    monkeypatch.setattr(bench_lcp, "in_process_solvers", lambda: {"stickslip": solvers["stickslip"]})
    nowhere = {"installed": False, "version": None, "python": None}
    monkeypatch.setattr(bench_lcp.programs, "find_siconos", lambda: nowhere)
    assert main(["bench", "lcp", "--quick"]) == 0
    assert "not installed: lemkelcp, quantecon, siconos" in " ".join(capsys.readouterr().out.split())


def test_unknown_benchmark(capsys):
    assert main(["bench", "lpc"]) == 2
    assert "there is no benchmark 'lpc'; choose from lcp" in capsys.readouterr().err


A = np.array([[2.0, 1.0], [1.0, 2.0]])
b = np.array([-5.0, -6.0])
RIGHT = np.array([4.0, 7.0]) / 3.0


@pytest.mark.parametrize("rows", [1.0, 1e-9, 1e9])
@pytest.mark.parametrize("columns", [1.0, 1e-9, 1e9])
def test_violation_does_not_depend_on_units(rows, columns):
    R, C = np.array([rows, 1.0]), np.array([1.0, columns])
    scaled, right_hand, x = R[:, None] * A * C, R * b, RIGHT / C
    assert max(bench_lcp.violation(scaled, right_hand, x)) < 1e-15
    for i in range(2):
        wrong = x.copy()
        wrong[i] *= 1.0 + 1e-6
        assert min(bench_lcp.violation(scaled, right_hand, wrong)) > 1e-8
    assert min(bench_lcp.violation(scaled, right_hand, np.zeros(2))) > 0.1
    assert min(bench_lcp.violation(scaled, right_hand, -x)) > 0.1
    assert bench_lcp.violation(scaled, right_hand, np.array([np.nan, 0.0])) == (np.inf, np.inf)


def test_violation_sees_through_a_huge_x():
    """A singular problem without solution: along its null direction b drowns in the sums."""
    S, c = np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([-1.0, 0.5])
    assert bench_lcp.violation(S, c, np.array([1e16, 1e16]))[0] > bench_lcp.TOLERANCE
