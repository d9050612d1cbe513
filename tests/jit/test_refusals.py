"""What is outside the kernel language is refused with file, line, source and what helps."""

import ast
import linecache
import math
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from stickslip import jit
from stickslip.jit import KernelError, call_address, cpu, gpu, kernel, syntax, web
from stickslip.jit.statements import Statements

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
def doubles(x):
    return 2.0 * x


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


class Motion(NamedTuple):
    q: float
    u: float


RECORD = np.dtype([("mass", np.float64), ("pose", np.float64, (3,))])
ARGUMENTS = {
    "x": 0.5, "n": 3, "flag": True, "a": np.ones(3), "A": np.ones((2, 3)), "k": np.ones(3, np.int64),
    "pair": (0.5, 2), "motion": Motion(0.5, 1.0), "bodies": np.zeros(2, RECORD),
}  # fmt: skip
"""Names of the kernels below, with what stands for them."""
HEAD = """import math
import numpy as np
from stickslip.jit import call_address, kernel, prange
from stickslip.jit.watching import strayed
from tests.jit.test_refusals import Motion

CONSTANT = np.array([1.0, 2.0])

def from_elsewhere(u):
    return u

@kernel
def helper(u, v=1.0):
    return u * v

@kernel
"""
WORDS = {
    # -- constructs: `syntax` --
    "assert x > 0.0": "`assert`",
    "raise ValueError": "`raise`",
    "return strayed()": "strayed() needs watch() before it",
    "try:\n    x = 1.0\nfinally:\n    x = 2.0": "`try`",
    "try:\n    x = 1.0\nexcept* ValueError:\n    x = 2.0": "`try`",
    "with x:\n    x = 1.0": "`with`",
    "f = lambda: x": "`lambda`",
    "class Inner: pass": "a class",
    "def inner(): pass": "a function cannot be defined",
    "async def inner(): pass": "a function cannot be defined",
    "y = [i for i in a]": "comprehension",
    "y = {i for i in a}": "comprehension",
    "y = {i: i for i in a}": "comprehension",
    "y = sum(i for i in a)": "generator",
    "y = {1: x}": "dictionary",
    "y = {x}": "a set",
    "y = f'{x}'": "text",
    "yield x": "`yield`",
    "yield from a": "`yield`",
    "global y": "`global`",
    "import math": "`import`",
    "from math import sin": "`import`",
    "del x": "`del`",
    "y = (z := x)": "`:=`",
    "match n:\n    case 1: pass": "`match`",
    "y = A @ a": "@",
    "a @= a": "@",
    "for i in range(n): pass\nelse: pass": "`else` of a loop",
    # -- numbers and operators --
    "k[0] = x": "kind float cannot stand for one of kind int",
    "y = math.sin(a)": "a number is wanted here",
    "if a: x = 1.0": "a condition is a number",
    "y = x < a": "operators take numbers",
    "y = -pair": "operators take numbers",
    "y = n ** n": "a power of whole numbers",
    "y = x in a": "`in` is for tuples",
    "y = 1 / 0": "cannot be combined",
    "y = x is n": "`is` asks for None",
    "y = ~x": "bits of floats",
    "y = x & 1": "bits of floats",
    "y = x << 2": "for whole numbers",
    "y = x and 1.0": "join conditions, got a number of kind float",
    "y = flag + flag": "the sum of two truths",
    "y = ~flag": "~ of a truth",
    "y = n + 2**63": "whole numbers have 64 bits",
    "y = ~1.5": "this has no value: bad operand",
    # -- names, tuples, parts --
    "y = nowhere": "nowhere is not known",
    "y = x.real": "has no 'real'",
    "y = x[0]": "has no elements",
    "y = motion.speed": "has no 'speed'; its names: q, u",
    "y = pair[:n]": "a tuple is cut at numbers",
    "y = (*x, 1.0)": "only a tuple can be unpacked",
    "y = a[*x]": "Starred is not in the language",
    "y = pair[7]": "has no element 7",
    "y = pair[n]": "indexed by a number that the translator knows",
    "y = a if flag else x": "a choice between",
    "y = a[::2]": "slices with a step",
    "y = (x, n, x)[::2]": "slices with a step",
    "m = Motion(x, 1.0)\nfor i in range(n): m = Motion(m.q, 2.0)": "m is a struct, which a loop cannot change",
    "y = a[x]": "must be a whole number",
    "y = A[0, 0, 0]": "3 indices for",
    "y = CONSTANT[2:1]": "is empty, or outside",
    "y = CONSTANT[0:9]": "beyond an axis of length 2",
    "y = CONSTANT[2]": "outside an axis of length 2",
    "y = bodies.size_of": "there is no field 'size_of'",
    "y = a.sum()": "write a loop",
    "y = a.reshape()": "reshape takes lengths",
    "y = A[:, 1:].reshape(4)": "no gaps",
    "y = np.zeros(4).reshape(3)": "cannot take the lengths",
    "y = np.ones(2, np.bool_).max()": "largest of truths",
    # -- calls --
    "y = x()": "this cannot be called",
    "y = abs(x=x)": "arguments by name",
    "y = helper()": "takes (u, v), got 0",
    "y = helper(x, z=x)": "has no parameter 'z' left",
    "y = Motion(x)": "Motion takes q, u",
    "y = math.gamma(x)": "gamma is not in the language: write it out with numbers and loops",
    "y = sum(a)": "sum is not in the language: write a loop",
    "y = np.where(flag, x, 1.0)": "np.where is not in the language: write `a if condition else b`",
    "y = np.linalg.norm(a)": "norm is not in the language: write it out",
    "y = from_elsewhere(x)": "from_elsewhere is not in the language: mark it with @kernel",
    "y = math.fabs(x, x)": "fabs takes 1 arguments here, got 2",
    "y = math.sqrt(-1.0)": "sqrt of a constant",
    "y = math.ldexp(x, x)": "exponent of ldexp",
    "y = int(a)": "int takes a number",
    "y = len(x)": "len takes an array",
    "y = max(x)": "max takes two or more",
    "y = call_address(n)": "call_address takes",
    "y = call_address(n, 0, A[:, 0])": "without gaps",
    # -- new arrays --
    "y = np.empty()": "takes a shape",
    "y = np.full(3)": "takes a shape, a value",
    "y = np.zeros_like(x)": "takes an array",
    "y = np.zeros(3, n)": "a type that the translator knows",
    "y = np.zeros(3, np.float32)[0]": "arrays of float32",
    "y = np.zeros(x)": "a length must be a whole number",
    "y = np.zeros(a)": "a shape is a whole number",
    "y = np.array(x, n, 3)": "np.array takes numbers in brackets and",
    "y = np.array([a])": "np.array takes numbers in brackets, got",
    "y = np.array([[x], [x, x]])": "equally long",
    "y = np.zeros(2) + np.zeros(3)": "do not match",
    # -- assignments and loops --
    "y = 0\ny = x": "cannot become float",
    "CONSTANT[0] = x": "constant of its module",
    "A[:, :] = a": "cannot be copied to",
    "np.zeros(2)[:] = np.zeros(3)": "cannot be copied to one of length 2",
    "bodies[0].age = x": "no field 'age'",
    "bodies[0] = x": "field by field",
    "pair[0] = x": "only elements of arrays",
    "x.real = 1.0": "only fields of records",
    "x.real += 1.0": "only fields of records",
    "y, z = x": "2 names take a tuple",
    "[y, z] = pair": "this cannot be assigned to",
    "for A[0, 0] in range(n): pass": "counts in a name",
    "for i in x: pass": "runs over range",
    "for i in range(): pass": "one to three whole numbers",
    "for i in range(n, step=1): pass": "one to three whole numbers",
    "for i in range(x): pass": "range takes whole numbers",
    "for i in range(0, n, n): pass": "step of range",
    "for i in prange(0, n, 2): pass": "prange takes one or two",
    "for i in prange(n): break": "`break` out of a loop over prange",
    "for i in prange(n): return 1.0": "`return` inside a loop over prange",
    "for i in prange(n): y = x\nreturn y": "belongs to one turn",
    "if flag: y = x\nreturn y": "may have no value here",
    "for i in range(n): a = A[0]\nreturn a[0]": "different arrays in different turns",
    "y = (x, x)\nfor i in range(n): y = (x, y[0], x)\nreturn y[0]": "tuples of different forms",
    # -- results --
    "if flag: return x, x\nreturn x": "same number of values",
    "if flag: return a\nreturn a": "arrays are returned by the only",
    "if flag: return 1\nreturn x": "write 0.0 in place of 0",
    "if flag: return x\nreturn": "others none",
    "if flag: return x": "without `return`",
    "return math": "returns numbers, arrays or tuples",
}
"""Bodies of kernels that are refused, with words of the reason."""


def from_text(body: str, name: str = "refused"):  # type: ignore[no-untyped-def]
    """A kernel with a body of some lines, and `ARGUMENTS` as its parameters."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    text = f"{HEAD}def {name}({', '.join(ARGUMENTS)}):\n{lines}"
    file = f"<test_refusals.py: {body}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        exec(compile(text, file, "exec"), module)
    return module[name]


@pytest.mark.parametrize("body", WORDS)
def test_refused_bodies(body: str) -> None:
    with pytest.raises(KernelError) as caught:
        from_text(body).text(*ARGUMENTS.values())
    text = str(caught.value)
    assert WORDS[body] in text, text
    assert "test_refusals.py:" in text and "`" in text


def test_kernels_are_written_in_files() -> None:
    module: dict[str, object] = {}
    exec("def nameless(x):\n    return x\n", module)
    with pytest.raises(KernelError, match="kernels are written in files"):
        kernel(module["nameless"]).text(0.5)  # type: ignore[call-overload]


def test_the_line_of_a_refused_operator_is_told() -> None:
    """An operator has no line of its own in Python's syntax tree: that of the expression is told."""
    with pytest.raises(KernelError, match=r"test_refusals\.py:\d\d+: `return a @ b`"):
        matrix.text(np.zeros(2), np.zeros(2))


def test_awaited_and_outer_names_are_refused_by_the_survey() -> None:
    """Python itself takes these inside other functions only."""
    for construct in (ast.Await, ast.Nonlocal):
        assert construct in syntax.REFUSED


def test_every_construct_of_this_python_is_written_or_refused() -> None:
    """A construct that a newer Python brings is refused, too, in place of an error of our own."""
    outside = {ast.AsyncFor, ast.AsyncWith}  # Python takes them in asynchronous functions alone, which are refused
    for construct in ast.stmt.__subclasses__():
        known = hasattr(Statements, f"do_{construct.__name__}") or construct in syntax.REFUSED
        assert known or construct in outside, construct
    later = [name for name in syntax.LATER if hasattr(ast, name)]
    assert all(getattr(ast, name) in syntax.REFUSED for name in later)


def test_every_refusal_of_the_translator_has_a_test(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[tuple[str, int]] = set()
    begin = KernelError.__init__

    def noting(self, *args, **named):  # type: ignore[no-untyped-def]
        frame = sys._getframe(1)
        seen.add((frame.f_code.co_filename, frame.f_lineno))
        begin(self, *args, **named)

    monkeypatch.setattr(KernelError, "__init__", noting)
    for body in WORDS:
        with pytest.raises(KernelError):
            from_text(body).text(*ARGUMENTS.values())
    for test in (
        test_kernels_are_written_in_files,
        test_refusals_of_calls,
        test_refusals_of_targets_without_a_c_library,
        test_read_only_arrays_stay_as_they_are,
        test_refusals_of_arguments_and_targets,
    ):
        test()
    missing = []
    for file in sorted(Path(jit.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "KernelError":
                lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
                if not any((str(file), line) in seen for line in lines):
                    missing.append(f"{file.name}:{node.lineno}: {ast.unparse(node)[:100]}")
    assert not missing, "\n".join(missing)


@kernel
def scaled_by_a_float(x):
    return math.ldexp(x, x)


@kernel
def of_unknown_size(n):
    return np.zeros(n)[0]


def test_refusals_of_targets_without_a_c_library() -> None:
    with pytest.raises(KernelError, match="exponent of ldexp is a whole number"):
        web.module(scaled_by_a_float, (0.5,))
    with pytest.raises(KernelError, match="on the CPU alone: arrays of unknown or large size"):
        web.module(of_unknown_size, (3,))


def test_refusals_of_calls() -> None:
    for function, args in (
        (calls_itself, (3,)), (apart_calls_itself, (3,)), (keywords, (0.5,)), (tuple_that_grows, (0.5, 3)),
        (array_or_number, (a, 0.5)), (misses_a_value_after_a_loop, (3,)), (changes_kind, (0.5,)), (sums, (a, a)),
        (float_into_whole, (np.zeros(1, np.int64),)),
    ):  # fmt: skip
        with pytest.raises(KernelError):
            function.text(*args)


def test_refusals_of_arguments_and_targets() -> None:
    crooked = np.frombuffer(bytes(17), np.uint8)[1:].view(np.float64)
    made = web.module(doubles, (0.5,))
    for refused, words in (
        (lambda: doubles.compiled(crooked), "give a copy"),
        (lambda: doubles.compiled(2**63), "64 bits"),
        (lambda: doubles.compiled(np.zeros(2, np.float32)), "arrays of float32"),
        (lambda: doubles.compiled("text"), "got str"),
        (lambda: returns_a_function.compiled(0.5), "returns numbers, arrays or tuples"),
        (lambda: web.module(doubles, (np.zeros((2, 2))[:, 0],)), "without gaps"),
        (lambda: made.image(3), "other types"),
        (lambda: list(web._sections(b"no module")), "no WebAssembly"),
        (lambda: web._require_known_imports(b"\1\3env\4sine\0\0"), "a browser has no sine"),
        (lambda: web._end_of_data(b"\1\1\x00"), "laid out in another way"),
        (lambda: web._function_index(b"\7linking\2", "run"), "no function 'run'"),
        (lambda: gpu.target(20), "capability"),
        (lambda: gpu.text(doubles, ((0.5, 0.5),)), "got tuple"),
        (lambda: cpu.described(cpu.Target("nowhere-none-none", "", "")), "was built without"),
    ):
        with pytest.raises(KernelError, match=words):
            refused()


def test_arguments_are_numbers_arrays_and_tuples() -> None:
    for wrong in ("text", [1.0], np.zeros(2, complex), np.zeros(2, np.float32), {}):
        with pytest.raises(KernelError):
            sums.compiled(wrong)


def test_read_only_arrays_stay_as_they_are() -> None:
    frozen = np.zeros(1, np.int64)
    frozen.flags.writeable = False
    with pytest.raises(KernelError, match="read-only"):
        float_into_whole.compiled(frozen)
