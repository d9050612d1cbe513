"""Calls of compiled kernels from Python: types, conversions, two ways in."""

import gc
import sys
from typing import NamedTuple

import numpy as np
import pytest

from stickslip.jit import KernelError, kernel, native

RECORD = [("mass", float), ("pose", float, (3,))]


class Pair(NamedTuple):
    a: np.ndarray
    n: int


@kernel
def half(x):
    return 0.5 * x


@kernel
def doubled(n):
    return 2 * n


@kernel
def masses(bodies):
    total = 0.0
    for i in range(bodies.shape[0]):
        total += bodies[i].mass
    return total


@kernel
def total(pair):
    s = 0.0
    for i in range(pair.n):
        s += pair.a[i]
    return s, pair.n > 2


@kernel
def scaled(a, factor):
    for i in range(a.shape[0]):
        a[i] *= factor


@pytest.fixture(params=["native", "slots"], autouse=True)
def way(request, monkeypatch):  # type: ignore[no-untyped-def]
    """Both ways from Python into machine code."""
    for function in (half, doubled, masses, total, scaled):
        function._versions.clear()
        function._last = lambda *args: NotImplemented
    if request.param == "slots":
        monkeypatch.setattr(native, "usable", lambda: False)
    elif not native.usable():
        pytest.skip("this Python has another layout")


def test_numbers_of_all_types() -> None:
    for x in (3.0, np.float64(3.0), np.float32(3.0)):
        assert half.compiled(x) == 1.5 and type(half.compiled(x)) is float
    assert half.compiled(3) == 1.5 and half.compiled(True) == 0.5
    for n in (3, np.int64(3), np.int32(3), np.uint8(3)):
        assert doubled.compiled(n) == 6 and type(doubled.compiled(n)) is int
    assert doubled.compiled(-1) == -2  # the mark of an error in Python's C interface
    for n in (2**63, -(2**63) - 1):
        with pytest.raises(KernelError, match="64 bits"):
            doubled.compiled(n)


def test_types_may_change_from_call_to_call() -> None:
    a = np.arange(6.0)
    for array in (a, a[::2], a.astype(np.int64).astype(float), a.reshape(2, 3)[0]):
        expected = 2.0 * array
        scaled.compiled(array, 2.0)
        np.testing.assert_array_equal(array, expected)
    scaled.compiled(a, 2)
    with pytest.raises(KernelError):
        scaled.compiled([1.0], 2.0)
    with pytest.raises(KernelError):
        scaled.compiled(a)


def test_arrays_that_are_not_aligned_are_refused() -> None:
    odd = np.frombuffer(bytearray(25), dtype=np.uint8)[1:].view(np.float64)
    with pytest.raises(KernelError, match="give a copy"):
        scaled.compiled(odd, 2.0)


def test_records_by_any_object_of_their_type() -> None:
    for _ in range(3):
        bodies = np.ones(4, np.dtype(RECORD))
        assert masses.compiled(bodies) == masses.compiled(bodies.view(np.recarray)) == 4.0


def test_tuples_with_names() -> None:
    assert total.compiled(Pair(np.ones(5), 3)) == (3.0, True)
    assert total.compiled(Pair(np.ones(5), 2)) == (2.0, False)


def test_nothing_leaks() -> None:
    a, pair = np.ones(3), Pair(np.ones(5), 3)
    counts = sys.getrefcount(a), sys.getrefcount(pair.a), sys.getrefcount(pair)
    gc.collect()
    for _ in range(100):
        scaled.compiled(a, 1.0)
        total.compiled(pair)
        half.compiled(3.0)
    assert (sys.getrefcount(a), sys.getrefcount(pair.a), sys.getrefcount(pair)) == counts
