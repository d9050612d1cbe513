"""Kernels with machine code of their own, and calls by address."""

import gc
import linecache
import os
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from stickslip.jit import call_address, entry, kernel, objects, syntax, translate, units
from tests.jit.test_language import RECORD, agrees


class Shapes(NamedTuple):
    sizes: np.ndarray
    code: np.ndarray


@kernel(apart=True)
def weighted(a, n, factor, extra):
    total = 0.0
    for i in range(n):
        total += factor * a[i]
    if extra is not None:
        total += extra[0]
    return total, n > 2


@kernel(apart=True)
def filled(n, value):
    a = np.empty(n)
    for i in range(n):
        a[i] = value
    return a


@kernel
def calls_units(a, extra):
    one, flag = weighted(a, 3, 2.0, None)
    two, _ = weighted(a, a.shape[0], 3.0, extra)
    new = filled(4, one)
    three, _ = weighted(new, 2, 1.0, None)
    return one, two, three, flag


@entry(apart=True)
def shared(a):
    return weighted(a, 1, 1.0, None)[0] + 1.0


def test_kernels_apart() -> None:
    agrees(calls_units, np.arange(5.0), np.array([7.0]))
    assert shared(np.array([2.0])) == 3.0


def test_numbers_make_no_new_unit_and_units_are_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("STICKSLIP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("stickslip.jit.units.known", {})
    monkeypatch.setattr("stickslip.jit.units._by_name", {})
    for marked in (calls_units, shared):
        marked._versions.clear()
        marked._last = lambda *args: NotImplemented
    calls_units.compiled(np.arange(5.0), np.array([7.0]))
    files = {path.name for path in (tmp_path / "cache" / objects.FOLDER).iterdir()}
    assert len(files) == 4  # calls_units, filled; weighted with and without extra
    shared(np.array([2.0]))
    assert (
        len({path.name for path in (tmp_path / "cache" / objects.FOLDER).iterdir()} - files) == 2
    )  # it, and what Python calls


def test_trees_and_texts_can_be_forgotten() -> None:
    """Machine code needs neither; where it is made for other types, the source is read again, of no file, too."""
    agrees(calls_units, np.arange(5.0), np.array([7.0]))
    file = "<written by a test>"
    text = "def twice(x):\n    return 2 * x\n"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {}
    exec(compile(text, file, "exec"), names)
    twice = kernel(names["twice"])
    assert twice.compiled(1.5) == 3.0
    one, other = (syntax.read(each.python) for each in (weighted, filled))
    assert one.lines is other.lines  # not once for each function
    tree = weakref.ref(one.tree)
    del one, other
    syntax.forget()
    gc.collect()
    assert tree() is None and __file__ not in linecache.cache
    assert twice.compiled(2) == 4
    agrees(calls_units, np.arange(5.0)[::2], np.array([7.0]))
    assert all(unit.is_packed for unit in translate.units.known.values() if unit is not None and unit.is_optimised)
    del linecache.cache[file]


def test_a_changed_callee_changes_the_name_of_its_callers() -> None:
    def made(step: float):  # type: ignore[no-untyped-def]
        @kernel(apart=True)
        def below(x):
            return x + step

        @kernel(apart=True)
        def above(x):
            return 2.0 * below(x)

        return above

    names = {translate.unit_of(made(step), (translate.Constant(1.0),)).name for step in (1.0, 2.0, 1.0)}
    assert len(names) == 2


@kernel
def first_way(shapes, bodies, k, x):
    return int(shapes.sizes[k] * bodies[k].mass + x)


@kernel
def second_way(shapes, bodies, k, x):
    bodies[k].pose[1] = x
    return -k


@kernel
def by_table(shapes, bodies, x):
    total = 0
    for k in range(2):
        if shapes.code[k] != 0:
            total += call_address(shapes.code[k], 0, shapes, bodies, k, x)
    return total


def test_calls_by_address() -> None:
    shapes, bodies = Shapes(np.array([3.0, 4.0]), np.zeros(2, np.int64)), np.zeros(2, RECORD).view(np.recarray)
    bodies["mass"] = 2.0
    assert agrees(by_table, shapes, bodies, 0.5) == 0
    shapes.code[0] = first_way.address(shapes, bodies, 0, 0.0)
    assert agrees(by_table, shapes, bodies, 0.5) == 6
    shapes.code[1] = second_way.address(shapes, bodies, 0, 0.0)
    assert agrees(by_table, shapes, bodies, 0.5) == 5
    assert shapes.code[1] == second_way.address(shapes, bodies, 5, 7.0)  # made once


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_units_are_built_behind_a_fork() -> None:
    """The thread that builds is not there in the child; what it had begun is done before."""
    program = (
        "import os, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "import numpy as np\n"
        "from tests.jit.test_units import filled, shared\n"
        "from stickslip.jit.translate import unit_of\n"
        "from stickslip.jit.values import Scalar\n"
        "unit = unit_of(filled, (Scalar('int', ''), Scalar('float', '')))\n"
        "if (child := os.fork()) == 0:\n"
        "    os._exit(0 if shared(np.array([2.0])) == 3.0 and unit.address() else 1)\n"
        "raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=60.0, check=False).returncode == 0


def test_a_child_has_threads_of_its_own_whatever_ended_its_first_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C right behind a fork ended what made them anew, and the child waited for threads of its parent."""
    own = units.builders()
    assert units.builders() is own
    monkeypatch.setattr(units, "_builders", (os.getpid() + 1, own))
    assert units.builders() is not own
