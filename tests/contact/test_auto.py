"""`auto` on generated problems of every kind, in any order of the contacts; islands."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import stickslip as ss
from stickslip.bench.random_friction import KINDS, granular, random_friction_problem, stack
from tests.contact import measure


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_generated_problems_are_solved(kind, dim):
    for contacts in (1, 2, 5, 15, 40):
        for seed in range(4):
            problem = random_friction_problem(kind, contacts, np.random.default_rng([contacts, seed, dim]), dim)
            s = ss.solve_friction(problem, time_limit=10.0)
            assert s.solved, f"{contacts} contacts, seed {seed}: {s.status}"
            assert measure.error(problem, s.r) <= 1.01e-8


@pytest.mark.parametrize("tol", [1e-4, 1e-12])
def test_other_tolerances(tol):
    for dim in (2, 3):
        problem = random_friction_problem("granular", 30, np.random.default_rng(dim), dim)
        s = ss.solve_friction(problem, tol=tol)
        assert s.solved and measure.error(problem, s.r) <= 1.01 * tol


@pytest.mark.parametrize("kind", ["stack", "redundant", "granular"])
def test_any_order_of_the_contacts(kind):
    problem = random_friction_problem(kind, 40, np.random.default_rng(1), 3)
    for seed in range(5):
        mixed = measure.shuffled(problem, seed)
        s = ss.solve_friction(mixed, time_limit=10.0)
        assert s.solved, s.status
        assert measure.error(mixed, s.r) <= 1.01e-8


def test_islands_are_solved_as_if_they_were_alone():
    parts = [granular(20, np.random.default_rng(k), 3) for k in range(4)]
    W = sp.block_diag([p.matrix for p in parts])
    together = ss.FrictionProblem(W, np.concatenate([p.q for p in parts]), np.concatenate([p.mu for p in parts]))
    s = ss.solve_friction(measure.shuffled(together, 3), tol=1e-10)
    assert s.solved
    s = ss.solve_friction(together, tol=1e-10)
    for k, part in enumerate(parts):
        begin = sum(len(p.q) for p in parts[:k])
        assert part.error(s.r[begin : begin + len(part.q)]) <= 1e-8


def test_scale_of_the_units_does_not_matter():
    problem = stack(20, np.random.default_rng(2), 3)
    for scale in (1e-18, 1e9):
        s = ss.solve_friction(ss.FrictionProblem(problem.matrix, scale * problem.q, problem.mu))
        assert s.solved


def test_asymmetric_and_slightly_indefinite_matrices_as_files_hold_them():
    problem = stack(24, np.random.default_rng(3), 3)
    rng = np.random.default_rng(4)
    W = problem.matrix.toarray()
    W = W * (1.0 + 2e-7 * rng.standard_normal(W.shape))
    s = ss.solve_friction(ss.FrictionProblem(W, problem.q, problem.mu), time_limit=10.0)
    assert s.solved, s.status


def test_same_input_same_output_bit_for_bit():
    for dim in (2, 3):
        problem = random_friction_problem("stack", 60, np.random.default_rng(5), dim)
        a, b = (ss.solve_friction(problem) for _ in range(2))
        assert a.r.tobytes() == b.r.tobytes() and a.u.tobytes() == b.u.tobytes() and a.iterations == b.iterations


@pytest.mark.parametrize(("kind", "dim"), [("stack", 2), ("stack", 3), ("redundant", 2), ("granular", 2)])
def test_six_hundred_contacts_that_sweeps_leave_unsolved(kind, dim):
    problem = random_friction_problem(kind, 600, np.random.default_rng(12), dim)
    s = ss.solve_friction(problem)
    assert s.solved and measure.error(problem, s.r) <= 1.01e-8, s.status


@pytest.mark.slow
def test_a_thousand_contacts_of_every_kind():
    for kind in KINDS:
        for dim in (2, 3):
            problem = random_friction_problem(kind, 1000, np.random.default_rng(8), dim)
            s = ss.solve_friction(problem, time_limit=120.0)
            assert s.solved and s.error <= 1e-8, s.status


def test_an_easy_problem_waits_for_no_rung_that_it_does_not_need():
    """In a fresh process: Newton's kernels are made by the problem that sweeps leave unsolved, and not before."""
    program = """
import numpy as np, stickslip as ss
from stickslip.bench.random_friction import random_friction_problem
from stickslip.contact import interior_point, newton
for kind in ("granular", "redundant"):
    s = ss.solve_friction(random_friction_problem(kind, 20, np.random.default_rng(0)))
    made = bool(newton.assemble.signatures), bool(interior_point.longest_step.signatures)
    print(s.solved, *dict.fromkeys(stage.method for stage in s.path), *made)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True gauss-seidel False False\nTrue gauss-seidel newton True False\n"
