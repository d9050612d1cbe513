"""Machine code in two tiers: quick at first, optimised as soon as that pays, with equal bits."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import stickslip as ss
from stickslip.jit import cpu, kernel, objects, tiers, units
from stickslip.jit import entry as plain_entry
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
    assert tier(function).is_quick and tier(function)._optimising is None  # nobody calls it again, perhaps
    assert function(A) == first
    tier(function)._optimising.join()
    assert function(A) == first
    assert not tier(function).is_quick
    assert function(A) == first
    assert function(A[::2]) == function.py_func(A[::2])  # an array with gaps: other code


@kernel(apart=True)
def halves(a, k):
    return a[k] / (1.0 + k)


@kernel(apart=True)
def sums(a):
    found = 0.0
    for k in range(a.shape[0]):
        found += halves(a, k) * 0.1
    return found


@pytest.fixture
def of_units(monkeypatch):
    """An entry that calls units, which have no machine code yet."""
    monkeypatch.setattr(units, "known", {})
    monkeypatch.setattr(units, "_by_name", {})

    def calls(a):
        return sums(a) - halves(a, 1)

    return plain_entry(calls)


def test_units_are_quick_at_first_and_optimised_with_their_caller(of_units, empty_cache, monkeypatch) -> None:
    monkeypatch.setattr(tiers, "PATIENCE", 1e9)
    quick = of_units(A)
    assert tier(of_units).is_quick and not any(unit.is_optimised for unit in units.known.values())
    before = [unit.address(soon=True) for unit in units.known.values()]
    assert len(list(empty_cache.glob("*.o"))) == 3
    of_units.expect_long_work()
    assert of_units(A) == quick == of_units.py_func(A)
    assert not tier(of_units).is_quick and all(unit.is_optimised for unit in units.known.values())
    assert len(list(empty_cache.glob("*.o"))) == 6
    assert not set(before) & {unit.address() for unit in units.known.values()}


def test_longer_texts_are_given_more_patience(of_units, monkeypatch) -> None:
    monkeypatch.setattr(tiers, "PIECE", 10)
    first = of_units(A)
    tier(of_units)._spent = 1.5 * tiers.PATIENCE
    assert of_units(A) == first and tier(of_units)._optimising is None
    tier(of_units)._spent = 1e6
    assert of_units(A) == first
    tier(of_units)._optimising.join()
    assert of_units(A) == first and not tier(of_units).is_quick


def test_optimising_that_a_fork_stops_begins_anew(of_units, monkeypatch) -> None:
    monkeypatch.setattr(tiers, "PATIENCE", 0.0)
    work = tiers.Optimising._work
    monkeypatch.setattr(tiers.Optimising, "_work", lambda self: None)
    first = of_units(A)
    assert of_units(A) == first
    begun = tier(of_units)._optimising
    tiers._stop_all()
    assert begun.is_over and not begun.is_done
    monkeypatch.setattr(tiers.Optimising, "_work", work)
    assert of_units(A) == first and tier(of_units)._optimising is not begun
    tier(of_units)._optimising.join()
    assert of_units(A) == first and not tier(of_units).is_quick


def test_python_ends_while_threads_optimise(tmp_path: Path) -> None:
    """Each thread ends behind the piece that it has begun: the other pieces are left."""
    program = (
        "import time\n"
        "from stickslip.jit import tiers\n"
        "class Piece:\n"
        "    text = 'a'\n"
        "    def optimise(self):\n"
        "        print('one', flush=True)\n"
        "        time.sleep(0.2)\n"
        "tiers.Optimising([Piece() for _ in range(1000)])\n"
    )
    found = subprocess.run([sys.executable, "-c", program], timeout=60.0, check=True, capture_output=True, text=True)
    assert 1 <= found.stdout.count("one") <= tiers.MOST_THREADS


def test_a_function_for_long_work_is_optimised_at_once() -> None:
    function = plain_entry(long_work=True)(new().python)
    function(A)
    assert not tier(function).is_quick


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
