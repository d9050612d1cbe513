"""What is outside the kernel language is refused with file, line, source and what helps."""

import math

import numpy as np
import pytest

from stickslip.jit import KernelError, call_address, kernel

CONSTANT = np.array([1.0, 2.0])


@kernel
def changes_kind(x):
    n = 0
    n = n + x
    return n


@kernel
def misses_a_value(x):
    if x > 0.0:
        y = 1.0
    return y


@kernel
def misses_a_value_after_a_loop(n):
    for i in range(n):
        last = i
    return last


@kernel
def array_or_number(a, x):
    if x > 0.0:
        row = a
    else:
        row = (x, a)
    return row[0]


@kernel
def swaps_arrays(a, b, n):
    for _ in range(n):
        a, b = b, a
    return a[0]


@kernel
def changes_a_list(x):
    numbers = [x, x]
    numbers[0] = 1.0
    return numbers[0]


@kernel
def ragged(x):
    return np.array([[x, x], [x]])[0, 0]


@kernel
def tuple_that_grows(x, n):
    pair = (x, x)
    for _ in range(n):
        pair = (x, x, pair[0])
    return pair[0]


@kernel
def asserts(x):
    assert x > 0.0
    return x


@kernel
def comprehends(x):
    return sum(x for _ in range(3))


@kernel
def raises(x):
    if x < 0.0:
        raise ValueError
    return x


@kernel
def unknown_function(x):
    return math.gamma(x)


@kernel
def unknown_name(x):
    return x + nowhere  # noqa: F821


@kernel
def unlike_lengths(a):
    return np.zeros(2) + np.zeros(3)


@kernel
def sums(a):
    return a.sum()


@kernel
def writes_a_constant(x):
    CONSTANT[0] = x
    return x


@kernel
def float_into_whole(k):
    k[0] = 0.5
    return 0


@kernel
def calls_itself(n):
    if n > 0:
        return calls_itself(n - 1)
    return 0


@kernel
def sometimes_returns(x):
    if x > 0.0:
        return 1.0


@kernel
def steps(n, step):
    total = 0
    for i in range(0, n, step):
        total += i
    return total


@kernel
def else_of_a_loop(n):
    for _ in range(n):
        pass
    else:
        n = 0
    return n


@kernel
def returns_a_function(x):
    return math.sin


@kernel(apart=True)
def apart_calls_itself(n):
    return apart_calls_itself(n - 1) if n > 0 else 0


@kernel
def address_with_gaps(code, a):
    return call_address(code, 0, a[:, 0])


@kernel
def address_alone(code):
    return call_address(code)


@kernel
def truths_alone(k):
    return k.max()


@kernel
def wrong_index(x):
    return CONSTANT[5]


@kernel
def tuple_by_number(pair, k):
    return pair[k]


@kernel
def bits_of_floats(x):
    return x & 1


@kernel
def keywords(*x):
    return x


@kernel
def matrix(a, b):
    return a @ b


a = np.ones(3)


@pytest.mark.parametrize(
    "function, args, words",
    [
        (changes_kind, (0.5,), "begin with 0.0"),
        (misses_a_value, (0.5,), "y may have no value here"),
        (misses_a_value_after_a_loop, (3,), "last may have no value here"),
        (array_or_number, (a, 0.5), "row stands for different values"),
        (swaps_arrays, (a, a, 3), "different arrays in different turns"),
        (changes_a_list, (0.5,), "only elements of arrays can be assigned"),
        (ragged, (0.5,), "all rows of an array are equally long"),
        (tuple_that_grows, (0.5, 3), "tuples of different forms"),
        (asserts, (0.5,), "assert"),
        (comprehends, (0.5,), "generator"),
        (raises, (0.5,), "raise"),
        (unknown_function, (0.5,), "gamma is not in the language"),
        (unknown_name, (0.5,), "nowhere is not known"),
        (unlike_lengths, (a,), "axes of lengths 2 and 3 do not match"),
        (sums, (a,), ".sum() of an array"),
        (writes_a_constant, (0.5,), "constant of its module"),
        (float_into_whole, (np.zeros(1, np.int64),), "write int(...)"),
        (calls_itself, (3,), "calls itself"),
        (sometimes_returns, (0.5,), "without `return`"),
        (steps, (3, 1), "step of range"),
        (else_of_a_loop, (3,), "`else` of a loop"),
        (returns_a_function, (0.5,), "returns numbers, arrays or tuples of them"),
        (apart_calls_itself, (3,), "calls itself"),
        (address_with_gaps, (7, np.zeros((2, 2))), "takes arrays without gaps"),
        (address_alone, (7,), "call_address takes an address"),
        (truths_alone, (np.zeros(2, bool),), "largest of truths"),
        (wrong_index, (0.5,), "outside an axis of length 2"),
        (tuple_by_number, ((1.0, 2.0), 1), "indexed by a number that the translator knows"),
        (bits_of_floats, (0.5,), "bits of floats"),
        (keywords, (0.5,), "plain parameters"),
        (matrix, (a, a), "@"),
    ],
)
def test_refused_with_place_and_help(function, args, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(KernelError) as caught:
        function.compiled(*args)
    text = str(caught.value)
    assert words in text, text
    assert "test_refusals.py:" in text and "`" in text and "\n" not in text


def test_arguments_are_numbers_arrays_and_tuples() -> None:
    for wrong in ("text", [1.0], np.zeros(2, complex), np.zeros(2, np.float32), {}):
        with pytest.raises(KernelError):
            sums.compiled(wrong)


def test_read_only_arrays_stay_as_they_are() -> None:
    frozen = np.zeros(1, np.int64)
    frozen.flags.writeable = False
    with pytest.raises(KernelError, match="read-only"):
        float_into_whole.compiled(frozen)
