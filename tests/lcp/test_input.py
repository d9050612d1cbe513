"""Requests that cannot be served: one line with name, rule, what came and, where there is something, what helps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stickslip.lcp import lemke, solve
from stickslip.lcp.mixed import solve_mlcp
from stickslip.lcp.solve import classify_matrix, enumerate_lcp, solve_lcp

A = np.array([[2.0, 1.0], [1.0, 2.0]])
b = np.array([-5.0, -6.0])
STACK = np.array([A, A])
STACK_b = np.array([b, b])
RAGGED = [[1.0, 2.0], [3.0]]

# what is asked, fragments of the answer
BAD = {
    "A not square": (lambda: solve_lcp(np.ones((2, 3)), b), ["A must be square", "(2, 3)", "one equation"]),
    "A a vector": (lambda: solve_lcp(b, b), ["A must have shape (n, n)", "(k, n, n)", "(2,)"]),
    "A a number": (lambda: solve_lcp(1.0, 1.0), ["A must have shape", "()"]),
    "A with four axes": (lambda: solve_lcp(np.ones((1, 1, 2, 2)), b), ["A must have shape", "(1, 1, 2, 2)"]),
    "stack not square": (lambda: solve_lcp(np.ones((4, 2, 3)), STACK_b), ["A must be square", "(4, 2, 3)"]),
    "b too long": (lambda: solve_lcp(A, [1, 2, 3]), ["b must have shape (2,)", "A of shape (2, 2)", "(3,)"]),
    "b a column": (lambda: solve_lcp(A, b[:, None]), ["b must have shape (2,)", "(2, 1)"]),
    "b a number": (lambda: solve_lcp(A, 1.0), ["b must have shape (2,)", "()"]),
    "b for another stack": (lambda: solve_lcp(STACK, b), ["b must have shape (2, 2)", "A of shape (2, 2, 2)", "(2,)"]),
    "b empty": (lambda: solve_lcp(A, []), ["b must have shape (2,)", "(0,)"]),
    "A with NaN": (lambda: solve_lcp([[1, np.nan], [0, 1]], b), ["A must be finite", "nan", "(0, 1)"]),
    "A with inf": (lambda: solve_lcp(np.diag([1.0, np.inf]), b), ["A must be finite", "inf", "(1, 1)"]),
    "A with -inf": (lambda: solve_lcp(np.diag([1.0, -np.inf]), b), ["A must be finite", "-inf", "(1, 1)"]),
    "b with NaN": (lambda: solve_lcp(A, np.array([0.0, np.nan])), ["b must be finite", "nan", "(1,)"]),
    "b with inf": (lambda: solve_lcp(A, np.array([-np.inf, 0.0])), ["b must be finite", "-inf", "(0,)"]),
    "stack with NaN": (lambda: solve_lcp(STACK, STACK_b * [1, np.nan]), ["b must be finite", "nan", "(0, 1)"]),
    "ragged list": (lambda: solve_lcp(RAGGED, b), ["A must be a rectangular array of real numbers", "list", "asarray"]),
    "ragged b": (lambda: solve_lcp(A, [[1.0], [1.0, 2.0]]), ["b must be a rectangular array", "list"]),
    "string": (lambda: solve_lcp("matrix", b), ["A must be a rectangular array of real numbers", "str 'matrix'"]),
    "list of strings": (
        lambda: solve_lcp(A, ["1", "2"]),
        ["b must be a rectangular array of real numbers", "['1', '2']"],
    ),
    "complex": (lambda: solve_lcp(A * 1j, b), ["A must be a rectangular array of real numbers", "complex128"]),
    "objects": (lambda: solve_lcp(A.astype(object), b), ["A must be a rectangular array of real numbers", "object"]),
    "dates": (lambda: solve_lcp(A, np.array(["2005-01-31"] * 2, "M8[D]")), ["b must be a rectangular", "datetime64"]),
    "A None": (lambda: solve_lcp(None, b), ["A must be a rectangular array of real numbers", "NoneType"]),
    "b None": (lambda: solve_lcp(A, None), ["b must be a rectangular array of real numbers", "NoneType"]),
    "dictionary": (lambda: solve_lcp({}, b), ["A must be a rectangular array of real numbers", "dict"]),
    "unknown method": (lambda: solve_lcp(A, b, "lemk"), ["method must be one of auto, lemke, enumerate", "'lemk'"]),
    "method None": (lambda: solve_lcp(A, b, None), ["method must be one of", "None"]),
    "method of arrays": (lambda: solve_lcp(A, b, 3), ["method must be one of", "3"]),
    "tol zero": (lambda: solve_lcp(A, b, tol=0.0), ["tol must be a number between 0 and 1", "0.0"]),
    "tol negative": (lambda: solve_lcp(A, b, tol=-1e-10), ["tol must be", "-1e-10"]),
    "tol one": (lambda: solve_lcp(A, b, tol=1), ["tol must be", "1"]),
    "tol NaN": (lambda: solve_lcp(A, b, tol=np.nan), ["tol must be", "nan"]),
    "tol a string": (lambda: solve_lcp(A, b, tol="1e-10"), ["tol must be", "'1e-10'"]),
    "tol None": (lambda: solve_lcp(A, b, tol=None), ["tol must be", "None"]),
    "no iterations": (lambda: solve_lcp(A, b, max_iterations=0), ["max_iterations must be a whole number >= 1", "0"]),
    "half an iteration": (lambda: solve_lcp(A, b, max_iterations=0.5), ["max_iterations must be", "0.5"]),
    "iterations True": (lambda: solve_lcp(A, b, max_iterations=True), ["max_iterations must be", "True"]),
    "x0 too short": (lambda: solve_lcp(A, b, "newton", x0=[1]), ["x0 must have shape (2,)", "one start value", "(1,)"]),
    "x0 NaN": (lambda: solve_lcp(A, b, "pgs", x0=[0, np.nan]), ["x0 must be finite", "nan", "(1,)"]),
    "x0 of strings": (lambda: solve_lcp(A, b, "pgs", x0=["a", "b"]), ["x0 must be a rectangular array"]),
    "x0 for a stack": (lambda: solve_lcp(STACK, STACK_b, x0=b), ["x0 is for single problems", "(k, n, n)"]),
    "x0 wrong for lemke": (lambda: solve_lcp(A, b, "lemke", x0=[1]), ["x0 must have shape (2,)"]),
    "21 to enumerate": (lambda: solve_lcp(np.eye(21), -np.ones(21), "enumerate"), ["n <= 20", "n = 21", "'lemke'"]),
    "stack of 21": (lambda: solve_lcp(np.eye(21)[None], np.ones((1, 21)), "enumerate"), ["n <= 20", "n = 21"]),
    "enumerate_lcp of 21": (lambda: enumerate_lcp(np.eye(21), np.ones(21)), ["n <= 20", "n = 21", "one solution"]),
    "enumerate_lcp of a stack": (lambda: enumerate_lcp(STACK, STACK_b), ["A must have shape (n, n), got (2, 2, 2)"]),
    "enumerate_lcp tol": (lambda: enumerate_lcp(A, b, tol=2.0), ["tol must be", "2.0"]),
    "mask of whole numbers": (lambda: solve_mlcp(A, b, [1, 0]), ["free must be a boolean mask of shape (2,)", "int64"]),
    "mask too long": (lambda: solve_mlcp(A, b, [True] * 3), ["free must be a boolean mask of shape (2,)", "(3,)"]),
    "mask None": (lambda: solve_mlcp(A, b, None), ["free must be a boolean mask", "object"]),
    "mixed by enumeration": (
        lambda: solve_mlcp(A, b, [True, False], "enumerate"),
        ["auto, lemke, newton", "'enumerate'"],
    ),
    "mixed stack": (lambda: solve_mlcp(STACK, STACK_b, [True, False]), ["A must have shape (n, n), got (2, 2, 2)"]),
    "mixed tol": (lambda: solve_mlcp(A, b, [True, False], tol=0), ["tol must be", "0"]),
    "mixed iterations": (lambda: solve_mlcp(A, b, [True, False], max_iterations=-1), ["max_iterations must be", "-1"]),
    "class of a vector": (lambda: classify_matrix(b), ["A must have shape (n, n), got (2,)"]),
    "class of a rectangle": (lambda: classify_matrix(np.ones((2, 3))), ["A must be square", "(2, 3)"]),
    "class of NaN": (lambda: classify_matrix([[np.nan]]), ["A must be finite", "nan"]),
    "class tol": (lambda: classify_matrix(A, tol=-1.0), ["tol must be a number from 0", "-1.0"]),
}


@pytest.mark.parametrize(("ask", "fragments"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_clear_line(ask: Callable[[], Any], fragments: list[str]) -> None:
    with pytest.raises(ValueError) as caught:
        ask()
    message = str(caught.value)
    assert "\n" not in message and message.endswith((".", "?")) and len(message) < 250
    for fragment in fragments:
        assert fragment in message


GOOD = {
    "lists": (A.tolist(), b.tolist()),
    "whole numbers": (A.astype(int), b.astype(np.int32)),
    "single precision": (A.astype(np.float32), b.astype(np.float32)),
    "booleans": (np.eye(2, dtype=bool), b),
    "Fortran order": (np.asfortranarray(A), b),
    "every other row": (np.repeat(np.repeat(A, 2, axis=0), 2, axis=1)[::2, ::2], np.repeat(b, 2)[::2]),
    "big endian": (A.astype(">f8"), b.astype(">f8")),
    "memoryviews": (memoryview(A), memoryview(b)),
}


@pytest.mark.parametrize("method", solve.METHODS)
@pytest.mark.parametrize(("matrix", "right"), GOOD.values(), ids=GOOD.keys())
def test_what_numpy_understands_is_welcome(matrix: Any, right: Any, method: str) -> None:
    s = solve_lcp(matrix, right, method)
    assert s.solved
    reference = solve_lcp(np.array(matrix, float), b, method)
    np.testing.assert_array_equal(s.x, reference.x)


def test_input_is_not_changed() -> None:
    """No method changes A or b, also when they are views or read-only arrays."""
    kept_A, kept_b, start = A.copy(), b.copy(), np.array([1.0, 1.0])
    for method in solve.METHODS:
        solve_lcp(kept_A, kept_b, method, x0=start)
        solve_lcp(kept_A[None], kept_b[None], method)
    solve_mlcp(kept_A, kept_b, np.array([True, False]))
    enumerate_lcp(kept_A, kept_b)
    np.testing.assert_array_equal(kept_A, A)
    np.testing.assert_array_equal(kept_b, b)
    np.testing.assert_array_equal(start, [1.0, 1.0])


def test_odd_arrays_do_not_compile_the_solvers_anew() -> None:
    """There is machine code of its own for read-only arrays and for arrays with gaps, which takes a second each."""
    solve_lcp(A, b)
    solve_lcp(A, b, "lemke")
    kernels = (solve._lemke_at_once, lemke.lemke_alone)
    before = [len(kernel.signatures) for kernel in kernels]
    frozen_A, frozen_b = A.copy(), b.copy()
    frozen_A.flags.writeable = frozen_b.flags.writeable = False
    unaligned = np.frombuffer(b"\0" + A.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(2, 2)
    for matrix, right in ((frozen_A, frozen_b), (unaligned, b), (A.T, b), (A, np.repeat(b, 2)[::2])):
        for method in ("auto", "lemke"):
            assert solve_lcp(matrix, right, method).solved
    assert [len(kernel.signatures) for kernel in kernels] == before


def test_the_answer_is_a_value_of_its_own() -> None:
    s, t = solve_lcp(A, b), solve_lcp(A, b)
    s.x[:] = 0.0
    assert t.x[0] > 0.0
    with pytest.raises(AttributeError):
        s.solved = False
    assert s and not solve_lcp([[0.0]], [-1.0])
    assert "x=" in repr(s) and "solved by lemke" in repr(s)
