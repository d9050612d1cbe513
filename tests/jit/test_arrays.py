"""Arrays that kernels choose, return and loop over: plain Python and machine code give the same bits."""

import ctypes
import gc

import numpy as np
import pytest

from stickslip.jit import KernelError, entry, kernel, native
from tests.jit.test_language import agrees


@kernel
def counted(n):
    """A new array on the heap, one on the stack, and a part of the first."""
    a, b = np.zeros(n), np.empty(3)
    for i in range(n):
        a[i] = 0.5 * i
    for i in range(3):
        b[i] = n + i
    return a, b, a[1:]


@kernel
def row_of(A, i):
    return A[i]


@kernel
def uses_new_arrays(n):
    total = 0.0
    for k in range(4):
        a, b, rest = counted(n + k)
        for x in a:
            total += x
        total += b[2] * rest[-1]
        row_of(a.reshape(1, n + k), 0)[0] = 7.0  # memory of the caller
        total += a[0]
    return total


@kernel
def gives_arrays(n):
    a, b, rest = counted(n)
    A = np.full((2, n), 3)
    return a, (b, rest), n, A[:, 1:], b.max() > 2.0


@pytest.mark.parametrize("n", [2, 40, 9000])
def test_new_arrays_are_handed_over(n: int) -> None:
    agrees(uses_new_arrays, n)


@pytest.mark.parametrize("usable", [True, False])
@pytest.mark.parametrize("n", [2, 9000])
def test_new_arrays_go_to_python(n: int, usable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    gives_arrays._versions.clear()
    gives_arrays._last = lambda *args: NotImplemented
    usable = usable and native.usable()
    monkeypatch.setattr(native, "usable", lambda: usable)
    a, _, _, A, flag = agrees(gives_arrays, n)
    assert A.shape == (2, n - 1) and A.dtype == np.int64 and flag is True
    assert a.flags.owndata and a.flags.writeable


def test_handed_memory_is_given_back() -> None:
    """A hundred times 80 MB would not fit."""
    if not hasattr(ctypes.CDLL(None), "malloc"):
        pytest.skip("no C library to ask")
    for _ in range(100):
        a = gives_arrays.compiled(5_000_000)[0] if _ == 0 else gives_arrays.compiled(50_000)[0]
    assert a[-1] == 0.5 * 49_999


@kernel
def chosen_by_branch(a, b, x):
    if x > 0.0:
        row, name = a[1], (a, x)
    elif x < 0.0:
        row, name = b[0], (b, -x)
    else:
        row, name = b[:, 0], (a, 1.0)
    row[0] = 9.0
    return row[0] + row[1] + name[0][0, 1] * name[1]


@kernel
def chosen_new_array(n, x):
    if x > 0.0:
        row = np.full(n, 2.0)
    else:
        row = np.full(n + 1, 3.0)
    return row


@kernel
def sum_of_chosen(n, x):
    total = 0.0
    for value in chosen_new_array(n, x):
        total += value
    return total


@pytest.mark.parametrize("x", [-2.0, 0.0, 0.5])
def test_arrays_by_branch(x: float) -> None:
    A = np.arange(6.0).reshape(2, 3)
    agrees(chosen_by_branch, A, 10.0 * A, x)
    agrees(sum_of_chosen, 5, x)
    agrees(sum_of_chosen, 5000, x)
    agrees(chosen_new_array, 5, x)


@kernel
def choices(a, b, x):
    p, q = (1.0, 2.0) if x > 0.0 else (x, 3.0)
    (u, v), w = ((p, q), a) if p > q else ((q, p), b)
    w[0] += u
    return p, q, v


@pytest.mark.parametrize("x", [-2.0, 0.5])
def test_tuples_by_condition(x: float) -> None:
    agrees(choices, np.zeros(2), np.ones(2), x)


@kernel
def loops_over_arrays(A, k):
    total, count = 0.0, 0
    for row in A:
        if row[-1] > 100.0:
            break
        for x in row:
            if x < 0.0:
                continue
            total += x
            row[0] = total
    for n in k:
        count += n
    return total, count, A[-1, -2]


def test_loops_over_arrays() -> None:
    A = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 900.0]])
    agrees(loops_over_arrays, A, np.array([3, 4], np.int32))
    agrees(loops_over_arrays, A[::-1, ::-1], np.array([], np.int32))


@kernel
def extremes(A, k):
    return A.max(), A.min(), k.max(), k.min(), A[0].max()


@pytest.mark.parametrize("odd", [0.0, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("place", [0, 4, 5])
def test_extremes(odd: float, place: int) -> None:
    A = np.array([0.5, -1.0, 3.0, 2.0, -7.0, 1.0])
    A[place] = odd
    agrees(extremes, A.reshape(2, 3), np.array([3, -2, 5], np.int64))


def test_entries_are_machine_code() -> None:
    double = entry(row_of.python)
    A = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(double(A, 1), A[1]) and double.signatures


@kernel
def flattened(A):
    flat = A.reshape(-1)
    total = 0.0
    for k in range(flat.shape[0]):
        total = 2.0 * total + flat[k]
    return total, len(flat), A.reshape(2, -1).shape[1], A.reshape((-1, 3))[1, 2]


@kernel
def flattened_part(A):
    return A[:, 1:3].reshape(6)[2]


@kernel
def flattened_copy(A):
    return A[:, 1:3].copy().reshape(6)[2]


@kernel
def too_large(A):
    B = np.zeros((3, 4))
    return B.reshape(2, 7)[1, 6] + A[0, 0]


def test_reshape_takes_a_length_that_the_others_leave() -> None:
    agrees(flattened, np.arange(12.0).reshape(3, 4))
    agrees(flattened_copy, np.arange(12.0).reshape(3, 4))


@pytest.mark.parametrize("array", [np.arange(12.0).reshape(4, 3).T, np.arange(24.0).reshape(3, 8)[:, ::2]])
def test_arrays_with_gaps_are_not_reshaped(array: np.ndarray) -> None:
    """Until now their numbers came in the order of the memory, gaps included."""
    with pytest.raises(KernelError, match="no gaps"):
        flattened.compiled(array)
    with pytest.raises(KernelError, match="no gaps"):
        flattened_part.compiled(np.ascontiguousarray(array))


def test_reshape_to_another_number_of_elements_is_refused() -> None:
    with pytest.raises(KernelError, match="2, 7"):
        too_large.compiled(np.zeros((3, 4)))


def test_definitions_of_functions_outlive_them() -> None:
    """A function reads its definition when it is freed; garbage is freed in any order, at the end of Python too."""
    functions = [native.function_at(0, f"nobody calls {k}") for k in range(2000)]
    gc.collect()
    junk = [bytes(range(200)) * 1 for _ in range(20000)] + [
        ctypes.create_string_buffer(b"\xff" * 32) for _ in range(5000)
    ]
    for function in functions:
        definition = ctypes.c_int64.from_address(id(function) + 16).value
        assert ctypes.c_int.from_address(definition + 16).value == native.FASTCALL
    assert junk


@kernel
def sum_of_rows(A, m, n):
    total, B = 0.0, A.reshape(m, n)
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            total = 3.0 * total + B[i, j]
    return total, B.size


@kernel
def known_lengths(A, n):
    return A.reshape(2, 3).size, A.reshape(n, -1).size


@kernel
def no_lengths(A):
    return A.reshape().size


@pytest.mark.parametrize(
    "m, n", [(3, 4), (2, 6), (12, 1), (-1, 6), (5, 2), (4, 4), (-3, -4), (0, 3), (2**62, 4), (4, 2**62 + 3), (-4, 1)]
)
def test_lengths_that_are_known_where_the_kernel_runs_are_checked(m: int, n: int) -> None:
    """Until now a shape that did not fit reached beyond the array."""
    A = np.arange(12.0)
    if m * n == 12 and m > 0 and n < 2**60:
        agrees(sum_of_rows, A, m, n)
        return
    assert sum_of_rows.compiled(A, m, n) == (0.0, 0)


def test_known_lengths_of_an_array_of_unknown_length_are_checked() -> None:
    agrees(known_lengths, np.arange(6.0), 2)
    assert known_lengths.compiled(np.arange(5.0), 2) == (0, 0)
    assert known_lengths.compiled(np.arange(7.0), 7) == (0, 7)
    with pytest.raises(KernelError, match="reshape takes lengths"):
        no_lengths.compiled(np.arange(2.0))
