"""Machine code in two tiers: quick at first, optimised as soon as that pays, with equal bits."""

from pathlib import Path

import numpy as np
import pytest

import stickslip as ss
from stickslip.jit import cpu, kernel, objects, tiers
from stickslip.jit.marks import entry
from stickslip.mechanisms import engines, generate


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("STICKSLIP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / objects.FOLDER


def new():
    """A function of a generated module that has no machine code yet."""

    def total(a):
        found = 0.0
        for i in range(a.shape[0]):
            found += a[i] * a[i] / (1.0 + found)
        return found

    return entry(total)


def spring(q, u, t, p):
    return np.array([-4.0 * q[0]])


A = np.linspace(0.1, 3.0, 7)


def tier(function):
    (version,) = function._versions.values()
    return version._tiers


def test_quick_code_comes_first_and_has_the_bits_of_optimised_code(empty_cache, monkeypatch) -> None:
    monkeypatch.setattr(tiers, "PATIENCE", 1e9)
    function = new()
    quick = function(A)
    assert tier(function).is_quick and len(list(empty_cache.glob("*.o"))) == 1
    function.expect_long_work()
    assert function(A) == quick == function.py_func(A)
    assert not tier(function).is_quick and len(list(empty_cache.glob("*.o"))) == 2


def test_quick_code_is_replaced_once_it_has_run_for_long(monkeypatch) -> None:
    monkeypatch.setattr(tiers, "PATIENCE", 0.0)
    function = new()
    first = function(A)
    assert tier(function).is_quick  # nobody calls it again, perhaps
    assert function(A) == first
    assert not tier(function).is_quick
    assert function(A) == first
    assert function(A[::2]) == function.py_func(A[::2])  # an array with gaps: other code


def test_optimised_code_on_disk_is_taken_at_once() -> None:
    function = new()
    function.expect_long_work()
    function(A)
    assert not tier(function).is_quick
    other = new()
    other(A)
    assert not tier(other).is_quick


def test_other_kernels_and_reordered_sums_are_never_quick(monkeypatch) -> None:
    plain = kernel(new().python)
    plain.compiled(A)
    assert not tier(plain).is_quick
    sums = new()
    sums.reorder_sums = True
    sums(A)
    assert not tier(sums).is_quick
    monkeypatch.setattr(cpu, "reorders_sums", lambda text: False)
    quick = new()
    quick.reorder_sums = True
    monkeypatch.setattr(objects, "read", lambda name: None)
    quick(A)
    assert tier(quick).is_quick


def test_long_runs_and_simulators_begin_with_optimised_code(monkeypatch) -> None:
    monkeypatch.setattr(tiers, "PATIENCE", 1e9)
    seen = []

    def make(*arguments):
        seen.append(generate.compiled_module(*arguments))
        return seen[-1]

    monkeypatch.setattr(engines, "compiled_module", make)

    swing = ss.LagrangianSystem(mass=[[1.0]], force=spring, coordinates=["x"], name="swing of two tiers")

    def run():
        found = ss.simulate(swing, [1.0], [0.0], dt=1e-3, t_end=0.5, progress=False)
        return found, tier(seen[-1].march).is_quick

    short, quick = run()
    assert quick
    monkeypatch.setattr(engines, "LONG_RUN", 499)
    long, quick = run()
    assert not quick and seen[0] is seen[1]
    assert np.array_equal(short.q, long.q) and np.array_equal(short.u, long.u)
    seen[0].march.long_work = False
    simulator = ss.Simulator(swing, q0=[1.0], u0=[0.0], dt=1e-3)
    simulator.step()
    assert seen[0].march.long_work and np.array_equal(simulator.q, long.q[1])
