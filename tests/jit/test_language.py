"""Every construct of the kernel language: plain Python and machine code give the same bits."""

import math
from math import sin as sine
from typing import NamedTuple

import numpy as np
import pytest

from stickslip.jit import kernel
from stickslip.jit.marks import rarely
from stickslip.jit.mathematics import KERNELS
from stickslip.jit.plain import plain

BY_NAME = {one.python.__name__: one for one in KERNELS}
INNER = 3
TABLE = np.array([[1.0, 2.0], [3.0, 4.0]])
SIZES = (3, 5, 8)
RECORD = np.dtype([("mass", float), ("kind", np.int64), ("pose", float, (3,)), ("alive", np.bool_)], align=True)


class Motion(NamedTuple):
    q: np.ndarray
    u: np.ndarray
    n: int


def agrees(function, *args):
    """Run a kernel both ways on copies of its arguments; return its result where both agree to the last bit."""

    def copies(value):
        if isinstance(value, np.ndarray):
            return value.copy()
        if isinstance(value, tuple):
            return type(value)(*map(copies, value)) if hasattr(value, "_fields") else tuple(map(copies, value))
        return value

    plain, fast = tuple(map(copies, args)), tuple(map(copies, args))
    with np.errstate(all="ignore"):
        expected = function(*plain)
    found = function.compiled(*fast)
    same(found, expected)
    same(fast, plain)
    return found


def same(found, expected):
    if isinstance(expected, tuple):
        assert isinstance(found, tuple) and len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            same(a, b)
    elif isinstance(expected, np.ndarray) and expected.dtype.names:
        for name in expected.dtype.names:  # not the bytes between fields
            same(np.ascontiguousarray(found[name]), np.ascontiguousarray(expected[name]))
    elif isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(found.view(np.uint8), expected.view(np.uint8))
    elif isinstance(expected, (bool, np.bool_, int, np.integer)) or expected is None:
        assert found == expected, (found, expected)
    else:
        assert np.float64(found).tobytes() == np.float64(expected).tobytes() or (
            found != found and expected != expected
        )


@kernel(inline=True)
def dot(a, b):
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@kernel
def product(A, x, y):
    for i in range(A.shape[0]):
        y[i] = dot(A[i], x)


@kernel
def uses_others(A, x, y):
    product(A, x, y)
    return dot(x, y), A.shape[0], len(x)


@kernel
def blanks(x, n):
    _, a = n, x
    _, _, b = x, n, 2.0 * x
    for _ in range(n):
        a += b
    return a


@kernel
def reads_blank(x):
    _ = 2.0
    _ += x
    return x


def test_the_blank_takes_values_of_any_kind() -> None:
    agrees(blanks, 0.3, 4)
    agrees(reads_blank, 0.3)


@kernel
def counted(a, x):
    a[0] += 1.0
    return x


@kernel
def chained(a, x):
    return 0.0 < x < counted(a, 2.0 * x) < 1.0 <= counted(a, 3.0), 1.0 < x < counted(a, x), 0.1 < counted(a, x) < 9.0


def test_a_comparison_of_several_signs_stops_where_it_is_decided() -> None:
    """Calls behind a sign that does not hold are not done: they may write."""
    for x in (-1.0, 0.2, 0.4, 0.7, 2.0):
        agrees(chained, np.zeros(1), x)


@kernel
def contained(x, n):
    return x in (0.5, x * x, 2), n not in (1, 2, n + 1), n in (1, 2), 3 in (n, 4)


def test_a_number_in_a_tuple() -> None:
    for x, n in ((0.5, 1), (1.0, 3), (0.7, 2), (math.nan, 7)):
        agrees(contained, x, n)


@kernel
def element_by_element(A, b, x, n):
    C = -A * x + b  # rows of b
    column = A[:, :1] / (b - 3.0)
    whole = np.array([n, 2, 3]) // 2
    b[1:] += b[:-1]
    b *= 0.5
    A[1] -= column[1, 0]
    return C, column, whole, b**2, C[-1, 1:-1]


def test_operators_on_arrays_go_element_by_element() -> None:
    rng = np.random.default_rng(4)
    agrees(element_by_element, rng.normal(size=(2, 4)), rng.normal(size=4), 0.3, 7)
    agrees(element_by_element, rng.normal(size=(4, 2)).T[:, ::-1], rng.normal(size=4), 0.3, 7)


@kernel
def chosen_arrays(a, b, x):
    row, pair = a, (x, 1)
    if x > 1.0:
        row = b[1:]
        pair = (2.0 * x, 5)
    elif x > 0.0:
        row, pair = a[2:], (x - 1.0, 7)
    first, second = (x, a[0]) if x > 0.5 else (b[0], -x)
    total = first - second + pair[0] * pair[1]
    for k in range(row.shape[0]):
        total = 0.5 * total + row[k]
    row[0] = total
    return total, row.shape[0]


@pytest.mark.parametrize("x", [-1.0, 0.3, 0.7, 2.0])
def test_branches_choose_arrays_and_tuples(x) -> None:
    agrees(chosen_arrays, np.arange(5.0), np.arange(2.0, 9.0), x)


@kernel
def arrays_in_brackets(x, n):
    table = np.array([[x, 1.0, -x], [2.0, n, 0.5 * x]])
    whole = np.array([n, 2 * n, 3])
    row = [x, 2.0 * x]
    copy = np.array(table)
    copy[0, 0] = 7.0
    return table[1, 2] + row[1] + copy[0, 0], table[0, 0], whole[1] + table.shape[1], np.array((n, x))[0]


def test_arrays_are_made_of_numbers_in_brackets() -> None:
    agrees(arrays_in_brackets, 0.3, 5)


@kernel
def numpy_on_numbers(x, y, n):
    first = np.floor(x) + np.ceil(y) + np.trunc(x * y) + np.sqrt(np.abs(x)) + np.sign(y)
    return first, np.maximum(x, y), np.minimum(x, y), np.sign(n), np.copysign(x, y), np.isnan(x), np.sign(x)


@pytest.mark.parametrize("x", [0.0, -0.0, 2.5, -3.7, math.nan, math.inf])
def test_numpy_on_single_numbers(x) -> None:
    for y in (1.5, -2.0, -math.inf, math.nan):
        agrees(numpy_on_numbers, x, y, -4)


def test_a_lambda_is_a_kernel_where_its_source_is_there() -> None:
    offset = 0.25
    first, second = (kernel(lambda x, y: x - y + offset), kernel(lambda x, y: x * (y if x > 0.5 else -y)))
    agrees(first, 0.75, 0.5)
    agrees(second, 0.75, 0.5)
    agrees(second, 0.25, 0.5)
    agrees(
        kernel(
            lambda x, y: (
                x,
                x + y,
            )
        ),
        0.75,
        0.5,
    )


def test_kernels_call_one_another() -> None:
    rng = np.random.default_rng(1)
    agrees(uses_others, rng.normal(size=(4, 4)), rng.normal(size=4), np.zeros(4))


@kernel
def whole_numbers(a, b):
    return a + b, a - b, a * b, a // b, a % b, a & b, a | b, a ^ b, -a, +a, ~a, abs(a), max(a, b), min(a, b)


@pytest.mark.parametrize("a", [-7, -1, 0, 3, 2**40])
@pytest.mark.parametrize("b", [-5, -1, 2, 7])
def test_whole_numbers_divide_downwards(a: int, b: int) -> None:
    agrees(whole_numbers, a, b)


def test_whole_numbers_divided_by_zero_are_zero_and_wrap_around() -> None:
    assert whole_numbers.compiled(7, 0)[3:5] == (0, 0)
    assert whole_numbers.compiled(-(2**63), -1)[3:5] == (-(2**63), 0)
    assert whole_numbers.compiled(2**62, 2**62)[0] == -(2**63)


@kernel
def shifts(a, b):
    return a << b, a >> b


@pytest.mark.parametrize("a", [-9, 5])
@pytest.mark.parametrize("b", [0, 1, 30])
def test_shifts(a: int, b: int) -> None:
    agrees(shifts, a, b)


def test_shifts_beyond_the_width() -> None:
    assert shifts.compiled(5, 64) == (0, 0) and shifts.compiled(-5, 200) == (0, -1)


@kernel
def floats(a, b):
    return a + b, a - b, a * b, a / b, a // b, a % b, -a, abs(a), max(a, b), min(a, b)


SPECIAL = [0.0, -0.0, 1.5, -2.25, 1e300, -1e-300, math.inf, -math.inf, math.nan, 5e-324, 0.1]


@pytest.mark.parametrize("a", SPECIAL)
@pytest.mark.parametrize("b", SPECIAL)
def test_floats_with_infinities_and_not_a_number(a: float, b: float) -> None:
    agrees(floats, np.float64(a), np.float64(b))


@kernel
def comparisons(a, b):
    return a == b, a != b, a < b, a <= b, a > b, a >= b, 0.0 < a < b, not a < b, a < b and b < 2.0, a < b or b < 2.0


@pytest.mark.parametrize("a", SPECIAL)
@pytest.mark.parametrize("b", SPECIAL)
def test_comparisons(a: float, b: float) -> None:
    agrees(comparisons, a, b)


@kernel
def mathematics(x):
    return (
        math.sqrt(x), math.sin(x), math.cos(x), math.tan(x), math.atan(x), math.exp(x), math.log(x), math.sinh(x),
        math.cosh(x), math.tanh(x), math.atan2(x, 2.0), math.hypot(x, 3.0), math.copysign(x, -1.0), math.erf(x),
        math.expm1(x), math.log1p(x), math.fmod(x, 0.3), math.floor(x), math.ceil(x), math.trunc(x), round(x), int(x),
        math.isnan(x), math.isinf(x), math.isfinite(x), math.fabs(x), math.pi * x,
        math.asinh(x), math.acosh(1.0 + x * x), math.atanh(x / (1.0 + abs(x))), math.log2(1.0 + x * x),
        math.log10(1.0 + x * x),
    )  # fmt: skip


@pytest.mark.parametrize("x", [1e-3, 0.5, 1.0, 1.5, 2.5, 7.75, 1e3, 123456.789])
def test_functions_of_math_are_those_of_plain_python(x: float) -> None:
    agrees(mathematics, x)


@kernel
def own_ones(x, n):
    return math.sin(x), np.sin(x), sine(x), math.exp(n), math.pow(2, x), np.hypot(x, n), math.cos(0.5), math.atan2(1, 2)


def test_plain_python_takes_functions_of_the_package_however_they_are_named() -> None:
    """Those of the C library differ in the last digit now and then."""
    differ = 0
    for x in np.random.default_rng(1).uniform(-4.0, 4.0, 400).tolist():
        found = own_ones(x, 3)
        assert found == own_ones.compiled(x, 3) and found[0] == found[1] == found[2]
        assert type(found[0]) is float and type(found[1]) is np.float64
        differ += found[0] != math.sin(x)
        assert abs(found[0] - math.sin(x)) <= math.ulp(found[0])
    assert 0 < differ < 100


@kernel
def of_outer_names():
    return INNER


def test_plain_python_follows_the_names_of_its_module(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    def inner(x):  # type: ignore[no-untyped-def]
        return math.sin(x) + len("ab") + offset

    offset = 1.5
    assert plain(inner)(0.5) == BY_NAME["sin"](0.5) + 2 + 1.5
    assert plain(of_outer_names.python) is of_outer_names.python  # it calls nothing of `math`
    assert of_outer_names() == 3
    monkeypatch.setitem(globals(), "INNER", 4)
    assert of_outer_names() == 4
    array = np.linspace(0.0, 1.0, 5)
    assert np.array_equal(plain(lambda x: np.sin(x) + np.sum(x))(array), np.sin(array) + np.sum(array))


@kernel
def truncated(x):
    return int(x), round(x), math.floor(x)


def test_what_does_not_fit_is_the_nearest_that_does() -> None:
    assert truncated.compiled(math.nan) == (0, 0, 0)
    assert truncated.compiled(1e300) == (2**63 - 1,) * 3 and truncated.compiled(-math.inf) == (-(2**63),) * 3
    for x in (-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, -7.0, 3.999):
        agrees(truncated, x)


@kernel
def exponents(x, e):
    mantissa, exponent = math.frexp(x)
    return mantissa, exponent, math.ldexp(x, e)


@pytest.mark.parametrize("x", SPECIAL)
@pytest.mark.parametrize("e", [-1100, -3, 0, 5, 1])
def test_exponents(x: float, e: int) -> None:
    agrees(exponents, x, e)


def test_exponents_beyond_all_bounds() -> None:
    assert exponents.compiled(1.0, 2**62)[2] == math.inf and exponents.compiled(1.0, -(2**62))[2] == 0.0


@kernel
def powers(x):
    return x**0, x**1, x**2, x**3, x**7, x**-2, x**0.5


@pytest.mark.parametrize("x", [0.3, 1.7, 12.5])
def test_powers_are_products_within_rounding(x: float) -> None:
    np.testing.assert_allclose(powers.compiled(x), powers(x), rtol=4e-16)


@kernel
def loops(n, out):
    count = 0
    for i in range(n):
        if i == 7:
            continue
        if i > 12:
            break
        for j in range(i, 0, -2):
            out[i] += j
        count += 1
    k = 0
    while k < n:
        k += 3
    last = 0
    while True:
        last += 1
        if last * last > n:
            break
    for i in range(n, n - 4, -1):
        count += i
    return count, k, last


@pytest.mark.parametrize("n", [0, 1, 5, 20])
def test_loops(n: int) -> None:
    agrees(loops, n, np.zeros(30, np.int64))


@kernel
def of_tuples(pair, x):
    a, b = pair
    a, b = b, a
    total = 0.0
    for scale, row in ((1.0, a), (2.0, b)):
        total += scale * row[0]
    for size in SIZES:
        if size == 5:
            continue
        total += size
    k = int(x)
    return total, SIZES[k], SIZES[1], TABLE[k, 1], len(SIZES), (a[1] if x > 1.0 else b[1])


@pytest.mark.parametrize("x", [0.5, 1.5])
def test_tuples_and_tables(x: float) -> None:
    agrees(of_tuples, (np.array([1.0, 2.0]), np.array([3.0, 4.0])), x)


@kernel
def of_names(motion, dt):
    for i in range(motion.n):
        motion.q[i] += dt * motion.u[i]
    again = Motion(motion.u, motion.q, motion.n + 1)
    again.q[0] = 9.0
    return again.n


def test_named_tuples() -> None:
    agrees(of_names, Motion(np.zeros(3), np.ones(3), 3), 0.1)


@kernel
def of_records(bodies, k):
    body = bodies[k]
    body.mass = 2.0 * body.mass
    body.pose[1] = bodies.pose[k, 0] + 1.0
    bodies.kind[k] += 3
    bodies[0].alive = body.mass > 1.0
    total = 0.0
    for i in range(bodies.shape[0]):
        if bodies.alive[i]:
            total += bodies.mass[i]
    return total, bodies[k].kind


def test_records() -> None:
    bodies = np.zeros(4, RECORD).view(np.recarray)
    bodies.mass, bodies.kind, bodies.alive = 1.5, 2, True
    bodies.pose[:] = np.arange(12.0).reshape(4, 3)
    agrees(of_records, bodies, 2)


@kernel
def of_parts(A, n):
    column = A[:, 1]
    block = A[1:3, :n]
    block[0, 0] = column[2]
    A[0] = A[1]
    A[2, 1:3] = 7.0
    rest = A[n:]
    row = rest[0]
    flat = A.reshape((A.shape[0] * A.shape[1],))
    flat[0] += 1.0
    return row[0], rest.shape[0], block.shape[1], A.size, A.ndim


def test_parts_of_arrays() -> None:
    agrees(of_parts, np.arange(20.0).reshape(4, 5), 2)


def test_arrays_with_gaps() -> None:
    A = np.arange(80.0).reshape(8, 10)
    expected = A.copy()
    with np.errstate(all="ignore"):
        uses_others(expected[::2, ::3], expected[1, :4], expected[3, ::3])
    uses_others.compiled(A[::2, ::3], A[1, :4], A[3, ::3])
    np.testing.assert_array_equal(A, expected)


@kernel
def of_new_arrays(n):
    small = np.zeros(4)
    counts = np.full(3, 7)
    large = np.empty((n, 2))
    flags = np.zeros(n, dtype=np.bool_)
    ones = np.ones((2, 2))
    for i in range(n):
        large[i, 0], large[i, 1] = i, 0.5 * i
        flags[i] = i % 2 == 0
    twin = large.copy()
    twin[0, 0] = 5.0
    like = np.zeros_like(small)
    total = small[3] + counts[2] + ones[1, 1] + twin[0, 0] + large[0, 0] + like[0]
    for i in range(n):
        if flags[i]:
            total += large[i, 1]
    return total


@pytest.mark.parametrize("n", [1, 6, 5000])
def test_new_arrays(n: int) -> None:
    agrees(of_new_arrays, n)


@kernel(inline=True)
def workspace(n):
    floats = np.zeros(2 * n)
    return floats[:n], floats[n:].reshape((n, 1))


@kernel
def arrays_in_branches_and_loops(n):
    total = 0.0
    if n > 3:
        room = np.ones(n)
        total += room[n - 1]
        if n > 100:
            return -1.0
    for i in range(n):
        row, column = workspace(n)
        row[i] += i
        column[0, 0] = 2.0
        total += row[i] + column[0, 0] + row[0]
    return total


@pytest.mark.parametrize("n", [0, 2, 5, 50, 200])
def test_new_arrays_in_branches_and_loops(n: int) -> None:
    agrees(arrays_in_branches_and_loops, n)


def test_new_arrays_are_given_back() -> None:
    import resource

    arrays_in_branches_and_loops.compiled(90)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(2000):
        arrays_in_branches_and_loops.compiled(90)  # 130 kB in each turn, 23 GB in all
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10_000


@kernel
def of_small_types(a, b, c, d):
    a[0] = 300 % 256 - 50
    b[0] = 200
    c[0] = -70000
    d[0] = a[1] < b[1]
    return a[1] + b[1] + c[1], d[1]


def test_small_types() -> None:
    arrays = (
        np.array([0, -7], np.int8),
        np.array([0, 250], np.uint8),
        np.array([0, 9], np.int32),
        np.array([False, True]),
    )
    agrees(of_small_types, *arrays)


@kernel
def several_results(x):
    if x > 1.0:
        return 1.0, 2
    if x > 0.0:
        return x, 3
    return 0.0, 4


@pytest.mark.parametrize("x", [-1.0, 0.5, 2.0])
def test_several_results(x: float) -> None:
    agrees(several_results, x)


@kernel
def with_default(x, scale=2.0, joints=None):
    if joints is not None:
        return x * joints[0]
    return x * scale


@kernel
def calls_with_names(x, joints):
    return with_default(x), with_default(x, joints=joints), with_default(x, scale=3.0), with_default(*(x, 5.0))


def test_defaults_names_and_none() -> None:
    agrees(calls_with_names, 1.5, np.array([10.0]))


@kernel
def names_in_branches(x):
    if x > 0.0:
        a = 1.0
        b = 2
    else:
        a = -1.0
        b = 3
    found = 0
    for i in range(3):
        found = i
    return a, b, found


@pytest.mark.parametrize("x", [-1.0, 1.0])
def test_names_of_all_branches_have_a_value(x: float) -> None:
    agrees(names_in_branches, x)


def test_a_kernel_is_still_a_function() -> None:
    assert product.__name__ == "product" and dot(np.ones(2), np.ones(2)) == 2.0


def test_threads_share_one_version() -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda k: loops.compiled(k % 9, np.zeros(30, np.int64)), range(200)))
    assert found == [loops(k % 9, np.zeros(30, np.int64)) for k in range(200)]


@kernel
def tuples_that_change(a, n):
    best, far = (a[0], 0), ((0.0, 1.0), -1)
    for i in range(n):
        if a[i] > best[0]:
            best = (a[i], i)
        elif i > 2:
            far = ((best[0], a[i]), i)
            continue
        if a[i] > 100.0:
            break
    (x, y), k = far
    return best, x, y, k


@kernel
def moved(point, n):
    for _ in range(n):
        point = (point[1], 0.5 * point[0] + 1.0)
    return point


@kernel
def nested_results(x):
    if x < 0.0:
        return x, (1.0, (True, 2)), 0.0
    if x == 0.0:
        return 0.0, (x, (False, 3)), 1.0
    return 1.0, (2.0 * x, (x > 1.0, 4)), x


@pytest.mark.parametrize("n", [0, 1, 3, 7])
def test_tuples_that_change(n: int) -> None:
    agrees(tuples_that_change, np.array([1.0, 5.0, -2.0, 3.0, 4.0, 900.0, 2.0]), n)
    agrees(moved, (1.0, 2.0), n)


@pytest.mark.parametrize("x", [-1.0, 0.0, 0.5, 2.0])
def test_results_of_tuples_in_tuples(x: float) -> None:
    agrees(nested_results, x)


@kernel
def long_and_short(a, n):
    total = 0.0
    for i in range(n):
        for j in range(3):
            total += a[i + j]
    return total


def test_loops_of_unknown_length_are_not_copied() -> None:
    """LLVM copies the body of a loop some times over unless it is told not to: that takes a third of its time."""
    a = np.arange(9.0)
    text = long_and_short.text(a, 4)
    assert text.count("!llvm.loop !") == 1 and '!0 = !{!"llvm.loop.unroll.disable"}' in text
    agrees(long_and_short, a, 4)


@kernel(reorder_sums=True)
def loose_sum(a):
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i]
    return total


def test_loops_whose_sums_may_be_reordered_are_left_to_the_compiler() -> None:
    """The copies of a loop's body decide the order of its sums, and so the last digits."""
    assert "!llvm.loop" not in loose_sum.text(np.arange(9.0))


class Marked:
    """A function as another compiler's mark leaves it: a callable with the Python function as `py_func`."""

    def __init__(self, function):
        self.py_func = function

    def __call__(self, *args):
        return self.py_func(*args)


@Marked
def marked_square(x):
    return x * x


@kernel
def by_a_marked_one(x):
    return marked_square(x) + 1.0


def test_a_function_that_is_marked_for_another_compiler_is_taken_by_its_source():
    assert agrees(by_a_marked_one, 3.0) == 10.0


@kernel
def seldom_divided(x, y):
    total = x
    if rarely(x > 10.0 and y != 0.0):
        total += x / y
    return total


def test_what_seldom_holds_is_a_condition_as_any_other():
    for x, y in ((1.0, 3.0), (11.0, 3.0), (11.0, 0.0), (math.nan, 3.0)):
        agrees(seldom_divided, x, y)
    assert "llvm.expect" in seldom_divided.text(1.0, 2.0)


class Pair(NamedTuple):
    part: np.ndarray
    whole: np.ndarray


@kernel
def side_by_side(x, y):
    return Pair(x[1:], y)


@kernel
def beside_a_new_one(x, n):
    return side_by_side(x, np.zeros((n, 36)))


@kernel
def beside_a_small_one(x):
    return side_by_side(x, np.zeros(3))


@kernel
def other_memory(n):
    a = np.empty((n, 36))
    for i in range(n):
        for k in range(36):
            a[i, k] = -1.0
    return a[0, 0]


@kernel
def new_arrays_that_go_through_another(x, n):
    pair, small = beside_a_new_one(x, n), beside_a_small_one(x)
    pair.whole[n - 1, 35], pair.part[0], small.whole[2] = 7.0, 5.0, 3.0
    return other_memory(n) + pair.whole[n - 1, 35] + x[1] + small.whole[2]


def test_a_new_array_that_a_called_function_returns_lives_on():
    """The function that made the array hands it on; parts of its own arguments stay parts of these."""
    for n in (1, 2, 40):
        assert agrees(new_arrays_that_go_through_another, np.zeros(4), n) == 14.0
