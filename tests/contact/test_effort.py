"""Work is counted, not timed, so a problem takes one way on every machine; and a time limit, if given, is kept."""

import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp

import stickslip as ss
from stickslip.bench.random_friction import granular, stack
from stickslip.contact import method
from stickslip.contact.effort import factorisation_cost, factorise
from stickslip.contact.method import Progress


def hard(n=80, seed=0):
    """Heavy boxes on light ones, which sweeps and Newton leave to the interior point."""
    return stack(n, np.random.default_rng(seed), 3, mass_ratio=1e6)


def test_the_clock_has_no_say_unless_it_is_asked(monkeypatch):
    problem = hard()
    usual = ss.solve_friction(problem)
    assert usual.solved and len(usual.path) > 3, "the problem must be hard enough to reach the later stages"
    true_clock = time.perf_counter
    monkeypatch.setattr(method.time, "perf_counter", lambda: 1e4 * true_clock())
    hurried = ss.solve_friction(problem)
    assert hurried.seconds > 100.0 * usual.seconds
    assert hurried.r.tobytes() == usual.r.tobytes() and hurried.iterations == usual.iterations
    assert [stage[:4] for stage in hurried.path] == [stage[:4] for stage in usual.path]


def test_an_unsolvable_problem_ends_by_itself_and_always_in_the_same_place():
    """Impulses that cannot be enough: the effort ends, without a clock."""
    W = np.diag([0.0, 1.0, 1.0])  # nothing can push along the normal
    answers = [ss.solve_friction(ss.FrictionProblem(W, [-1.0, 0.2, 0.0], 0.5), "gauss-seidel") for _ in range(2)]
    assert not answers[0].solved
    assert answers[0].r.tobytes() == answers[1].r.tobytes() and answers[0].iterations == answers[1].iterations


def test_progress_counts_work_and_shares():
    progress = Progress(effort=10.0, plan=10.0)
    progress.spend(4.0)
    assert progress.affords(6.0) and not progress.affords(6.1) and not progress.expired
    part = progress.part(1.0)
    part.spend(1.5)
    assert part.expired and not progress.expired  # one count, two limits
    assert progress.share == pytest.approx(0.25 * 4.5)
    progress.spend(5.0)
    assert progress.expired and progress.share == pytest.approx(0.25 * 2.0)  # never nothing


def test_what_does_not_fit_into_the_time_is_not_begun():
    progress = Progress(time_limit=100.0)
    assert progress.affords(50.0) and not progress.affords(150.0)
    progress.spend(1.0)
    progress.clock.begin -= 4.0  # this machine takes four seconds for a nominal one
    assert progress.affords(20.0) and not progress.affords(30.0)


@pytest.mark.parametrize("method", ["auto", "newton", "interior-point", "proximal-point"])
def test_time_limits_are_kept(method):
    problem = granular(4000, np.random.default_rng(1), 3)
    problem.contacts_in("velocity")
    ss.solve_friction(hard(12), method, max_iterations=2)
    s = ss.solve_friction(problem, method, tol=1e-13, time_limit=0.02)
    assert not s.solved and s.seconds < 1.0  # a loaded machine included; one interior point step alone took as long
    assert "time limit of 0.02 s" in s.status or "would take longer than what is left" in s.status


@pytest.mark.parametrize(("make", "n", "dim"), [(granular, 900, 3), (granular, 2000, 2), (stack, 2000, 3)])
def test_fill_in_is_foreseen(make, n, dim):
    contacts = make(n, np.random.default_rng(2), dim).contacts_in("velocity")
    A = (contacts.matrix + contacts.mean_diagonal * sp.eye(len(contacts.q))).tocsc()
    true = factorise(A).L.nnz
    cost = factorisation_cost(contacts.indptr, contacts.indices, dim)
    assert cost == contacts.factorisation_cost == contacts.permuted(np.arange(n)).factorisation_cost
    assert 1.2e-7 * true < cost < 2e-6 * true


def test_a_small_first_problem_loads_little():
    """Anderson, islands and Newton are compiled when they are needed, not by the first call."""
    code = (
        "import numpy as np, stickslip as ss\n"
        "from stickslip.contact import islands, newton\n"
        "assert ss.solve_friction(ss.FrictionProblem(np.eye(3), [-1.0, 3.0, 4.0], 0.5)).solved\n"
        "print(len(islands.sweep_islands.signatures), len(newton.assemble.signatures))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "0"]


def test_what_takes_long_says_so(monkeypatch, capsys):
    monkeypatch.setattr(method, "SILENT", 1e-6)
    problem = hard()
    quiet, loud = (ss.solve_friction(problem, progress=progress) for progress in (False, True))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 3 and all("friction problem of 80 contacts: not solved yet after" in line for line in lines)
    assert any("newton ended at error" in line for line in lines)
    assert loud.r.tobytes() == quiet.r.tobytes()
    assert ss.solve_friction(problem).solved and capsys.readouterr().err == ""
