"""Calls of compiled kernels from Python: types, conversions, two ways in."""

import gc
import sys
from typing import NamedTuple

import numpy as np
import pytest

from stickslip.jit import KernelError, kernel, native
from stickslip.jit.marks import contained

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


@contained
def swing(q, u, other, p, n):
    """A loop that changes two arrays; `other` may be one of them."""
    for _ in range(n):
        u[0] -= p[0] * q[0]
        q[0] += p[1] * u[0]
        other[1] += 1.0
    return n + 1


@kernel
def swings(x, n):
    q, u, p = np.zeros(2), np.zeros(2), np.zeros(2)
    q[0], p[0], p[1] = x, 0.5, 0.25
    count = swing(q, u, p, p, n)
    count += swing(q, u, q, p, n)  # one array twice
    count += swing(u, q, p, np.array([x, x]), n)
    return q[0], q[1], u[0], u[1], p[1], count


@kernel
def swings_in_rows(A, x, n):
    B = np.zeros((3, 2))
    B[0, 0], B[1, 0], B[2, 0] = x, 1.0, 0.5
    count = swing(B[0], B[1], B[0], B[2], n) + swing(A[0], A[1], A[1], A[2], n)
    return B[0, 0], B[0, 1], B[1, 0], count


def test_a_contained_loop_works_on_copies_and_changes_what_it_was_given() -> None:
    """Also where one array is passed twice, and where parts of an array are."""
    for n in (0, 1, 7):
        assert swings.compiled(0.75, n) == swings(0.75, n)
        A, B = np.arange(6.0).reshape(3, 2), np.arange(6.0).reshape(3, 2)
        assert swings_in_rows.compiled(A, 0.75, n) == swings_in_rows(B, 0.75, n)
        assert A.tobytes() == B.tobytes()
    text = swings.text(0.75, 3)
    heads = [line for line in text.splitlines() if "@swing." in line and line.startswith("define")]
    assert all("noinline" in head for head in heads)  # none is written in place
    assert [head.count("noalias") for head in heads] == [2, 2, 4]  # p twice, q twice, each once
