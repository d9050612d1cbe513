"""What docs/kernels.md says of the language: each row of its tables and each difference has a kernel here."""

import math
import re
import threading
from pathlib import Path

import numpy as np
import pytest

from stickslip import jit
from stickslip.jit import KernelError, cpu, gpu, kernel, tiers, units, web
from stickslip.mechanisms import engines
from tests.jit.test_language import agrees
from tests.jit.test_refusals import ARGUMENTS, from_text

PAGE = (Path(__file__).parents[2] / "docs" / "kernels.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """The text under a heading."""
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def rows(title: str) -> dict[str, str]:
    """First and second column of the table in a section."""
    lines = [line for line in section(title).splitlines() if line.startswith("| ")][1:]
    return {first: second for first, second in (line.strip("| ").split(" | ", 1) for line in lines)}


def differences() -> list[str]:
    """The points of the section on differences from Python."""
    return [line[2:] for line in section("What is different from Python").splitlines() if line.startswith("- ")]


def both(body: str) -> None:
    """A kernel of this body gives the same bits both ways."""
    agrees(from_text(body, "agreeing"), *{**ARGUMENTS, "bodies": ARGUMENTS["bodies"].view(np.recarray)}.values())


AGREE = {
    "numbers": ["return x, n, flag", "return n * 2**62 // 7 if n > 9 else n"],
    "arrays": [
        "return a[0], A[1, 2], k[0]",
        "return np.zeros((1, 2, 1, 3), np.int32)[0, 1, 0, 2], np.ones(2, np.uint8)[1]",
        "return np.ones(2, np.int8)[0], np.zeros(2, np.bool_)[0], A[:, 1][1], bodies.mass[1]",
    ],
    "tuples": [
        "t = (x, (n, a))\nreturn t[1][1][0], t[1][0]",
        "t = (x, n)\nfor i in range(3): t = (t[0] * 2.0, t[1] + i)\nreturn t",
        "return (x, n) + (x,), pair[1:], (x,), ()",
    ],
    "structs": ["return motion.q, Motion(x, motion.u).u, Motion(u=x, q=1.0).q"],
    "lists": ["y = [x, 2.0]\nreturn y[0] + y[1], len(y)"],
    "operators": [
        "return x + n, x - n, x * n, x / n, x // 0.3, -x % 0.3, -n // 2, -n % 2, n**3, 4.0 * x**2, -x, +n, ~n",
        "return n & 6, n | 8, n ^ 1, n << 2, -n >> 1, x < n <= 3, x != 0.5, flag and n > 2, flag or n > 9, not x",
        "return motion is None, None is None, n in (1, 3), n not in (1, 3), x if flag else 2.0",
        "return a + A, A * a - 1.0, A / 2.0, a // 2.0, -a % 0.7, a**2, k & 1, k << 2, ~k, -a",
        "a[1:] += a[:-1]\nA *= 2.0\nx -= 1.0\nn <<= 1\nreturn x, n",
    ],
    "statements": [
        "y: float = x\nz = w = y\nwhile z < 9.0:\n    z += 1.0\n    if z > 7.0: break\n"
        "    if z > 3.0: continue\n    w += z\n"
        "else_ = 1\nif w > 3.0: pass\nelif w > 2.0: w = 1.0\nelse: w = 2.0\nreturn w, z, else_",
    ],
    "loops": [
        "s = 0.0\nfor i in range(9, 0, -2): s += i\nfor v in a: s += v\nfor row in A: s += row[1]\nreturn s",
        "s = 0.0\nfor v in (x, 1.0, n): s += v\nfor u, w in ((x, 1.0), (2.0, x)): s += u * w\nreturn s",
    ],
    "parts of arrays": [
        "return a[1], A[1, 2], a[1:n], A[:, 1].copy(), A.shape, A.size, A.ndim, a[-1], a[1:-1]",
        "return A.reshape(3, 2), A.reshape(-1), A.reshape((2, 3)), A.copy(), a.max(), k.min()",
    ],
    "choices": [
        "if x > 0.0: row = A[0]\nelse: row = A[1]\nreturn row[0]",
        "p, q = (a, A[0]) if x > 1.0 else (A[0], a)\nreturn p[0] - q[1]",
    ],
    "new arrays": [
        "y = np.empty(n)\ny[:] = x\nreturn y, np.zeros((2, n)), np.ones(2), np.full(2, x), np.zeros_like(k)",
        "return np.empty_like(a).size, np.array([x, 1.0]), np.array([[n, 1], [2, n]]), np.zeros(300)[n]",
    ],
    "records": ["bodies[1].pose[2] = x\nbodies[0].mass = 3.0\nreturn bodies.mass[0], bodies[1].pose[2]"],
    "calls": ["return helper(x), helper(v=2.0, u=x), helper(x, v=3.0), helper(*pair)"],
    "results": ["return x, (n, flag), a[1:], np.zeros(2), (x,), None", "return"],
    "threads": ["for i in prange(3): a[i] = i * x"],
}
"""Bodies of kernels for each row of the table "What is in it"; rows that need more have a test of their own."""
ELSEWHERE = {
    "functions": "test_every_function_of_the_page",
    "`lambda`": "test_a_lambda_in_a_file",
    "`rarely(x)`": "test_rarely_is_its_condition",
    "calls by address": "test_a_call_by_address",
}


def test_every_row_of_what_is_in_the_language_has_a_kernel() -> None:
    assert set(rows("What is in it")) == AGREE.keys() | ELSEWHERE.keys()
    assert all(name in globals() for name in ELSEWHERE.values())


@pytest.mark.parametrize("row", AGREE)
def test_rows_of_what_is_in_the_language(row: str) -> None:
    for body in AGREE[row]:
        both(body)


def test_every_function_of_the_page() -> None:
    """The functions that the page lists are in the language, on numbers in the middle of their range."""
    own, of_math, of_numpy = re.findall(r"`((?:math\.|np\.)?[a-z0-9_ ]+)`", rows("What is in it")["functions"])[:3]
    calls = []
    for name in own.split():
        special = {"len": "len(a)", "divmod": "divmod(n, 2)", "range": "", "max": "max(x, 1.0)", "min": "min(x, 1.0)"}
        calls.append(special.get(name, f"{name}(x)"))
    two = {"atan2": "x, 2.0", "pow": "x, 1.5", "hypot": "x, 2.0", "fmod": "x, 0.2", "copysign": "x, -1.0"}
    given = {**two, "ldexp": "x, n", "acosh": "x + 1.0"}
    for holder, names in (("math", of_math), ("np", of_numpy)):
        for name in names.removeprefix(f"{holder}.").split():
            calls.append(f"{holder}.{name}({given.get(name, 'x, 1.0' if name.endswith('imum') else 'x')})")
    assert len(calls) > 50
    both(f"return {', '.join(call for call in calls if call)}")


twice = kernel(lambda x: 2.0 * x)


def test_a_lambda_in_a_file() -> None:
    agrees(twice, 0.3)


@kernel
def seldom(x):
    return 1.0 if jit.marks.rarely(x > 1.0) else x


def test_rarely_is_its_condition() -> None:
    agrees(seldom, 0.5)
    agrees(seldom, 1.5)


@kernel(apart=True)
def third(n):
    return n // 3


@kernel
def by_address(table, n):
    return jit.call_address(table[0], 0, n)


def test_a_call_by_address() -> None:
    assert by_address.compiled(np.array([third.address(7)]), 9) == 3


# -- differences -------------------------------------------------------------------------------------------------------

DIFFER = {
    "A name of a number keeps the kind": [("y = 1.0\ny = n\nreturn y", 3.0)],
    "Where a float and a whole number": [
        ("return max(1, x)", 1.0), ("return n if flag else x", 3.0), ("if flag: return x\nreturn 1", 0.5),
    ],
    "Elements of narrow arrays": [
        ("y = np.full(1, 100, np.int8)\nreturn y[0] + y[0]", 200),
        ("y = np.zeros(1, np.int8)\ny[0] = 300\nreturn y[0]", 300 - 2**8),
    ],
    "A whole number that is compared": [("return n + 2**62 == float(2**62), n + 2**62 > 2.0**62", (True, False))],
    "Indices are not checked": [
        ("return a[:n + 2].size, a[n + 2:].size", (5, -2)), ("return a[-1], a[1:-1].size", (1.0, 1)),
    ],
    "A quotient by zero": [
        ("return x / 0.0, x // 0.0, n // 0, n % 0, 1.0 / (x - x)", (math.inf, math.inf, 0, 0, math.inf)),
        ("return math.isnan(x % 0.0), math.isnan((-x) ** 0.5), math.isnan(math.sqrt(-x))", (True, True, True)),
    ],
    "What is not a number": [("return math.isnan(math.copysign(1.0, (x - x) / (x - x)))", False)],
    "Of zeros of both signs": [("return max(x - x, -0.0), np.maximum(0.0, -0.0) == 0.0", (0.0, True))],
    "`int(x)` of a number": [
        ("return int(x * 1e300), int(-1e300), int((x - x) / (x - x))", (2**63 - 1, -(2**63), 0)),
        ("return int(math.inf), int(math.nan), round(1e300), math.floor(-1e300)", (2**63 - 1, 0, 2**63 - 1, -(2**63))),
    ],
    "`math.sin`": [
        ("return math.exp(x * 1e4), math.log(x - x), math.isnan(math.log(-x))", (math.inf, -math.inf, True)),
    ],
    "`x**3`": [
        ("return (x + 0.1) ** 3 == (x + 0.1) * (x + 0.1) * (x + 0.1), x**1.5 == math.pow(x, 1.5)", (True, True)),
    ],
    "Whole numbers wrap": [("return n + (2**63 - 1), n * 2**62, n << 64, n << -1", (-(2**63) + 2, -(2**62), 0, 0))],
    "`A.reshape(m, n)`": [("return A.reshape(n, 5).size", 0)],
}  # fmt: skip
"""Bodies of kernels with what their machine code returns, for the differences from Python by their first words."""


def test_every_difference_of_the_page_has_a_kernel() -> None:
    names = (*DIFFER, "Names of the module")
    for difference in differences():
        assert sum(difference.startswith(name) for name in names) == 1, difference
    assert len(differences()) == len(names)


@pytest.mark.parametrize("name", DIFFER)
def test_differences_from_python(name: str) -> None:
    for body, wanted in DIFFER[name]:
        found = from_text(body, "different").compiled(*ARGUMENTS.values())
        assert found == wanted and type(found) is type(wanted), body


SIZE = 2


@kernel
def reads_a_name(x):
    return x * SIZE


def test_names_of_the_module_are_taken_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert reads_a_name.compiled(1.0) == 2.0
    monkeypatch.setitem(reads_a_name.python.__globals__, "SIZE", 3)
    assert (reads_a_name(1.0), reads_a_name.compiled(1.0)) == (3.0, 2.0)


# -- refusals ----------------------------------------------------------------------------------------------------------

REFUSED = {
    "a name that has a value on some ways only": ["if flag: y = x\nreturn y", "for i in range(n): pass\nreturn i"],
    "a name of an array that a loop changes from turn to turn": ["for i in range(n): a = A[0]\nreturn a[0]"],
    "`return` or `break` out of a loop over `prange`, sums over its turns": [
        "for i in prange(n): return 1.0", "for i in prange(n): break",
        "s = 0.0\nfor i in prange(n): s += 1.0\nreturn s",
    ],
    "dictionaries, text, comprehensions, `try`, `raise`, `assert`, `with`, lists that change, `lambda` in a kernel": [
        "y = {1: x}", "y = f'{x}'", "y = [i for i in a]", "try: pass\nfinally: pass", "raise ValueError", "assert flag",
        "with x: pass", "y = [x]\ny[0] = 1.0", "f = lambda: x", "y = [x]\ny.append(x)",
        "try: pass\nexcept* ValueError: pass", "return 'text'",
    ],
    "`@`, `.sum()`, `np.dot`": ["y = A @ a", "y = a.sum()", "y = np.dot(a, a)"],
    "comparisons and functions of whole arrays": ["y = a < 1.0", "y = np.sqrt(a)", "y = abs(a)", "y = a == a"],
    "slices with a step, `else` of a loop, a step of `range` that changes": [
        "y = a[::2]", "y = (x, n, x)[::2]", "for i in range(n): pass\nelse: pass", "for i in range(0, 9, n): pass",
    ],
    "`A[:] = a` where `a` has fewer axes": ["A[:] = a"],
    "arrays from one of several `return`s": ["if flag: return a\nreturn a"],
    "`*args`, `**kwargs`, keywords alone, `global`": ["global y"],
    "a float into an array of whole numbers": ["k[0] = x", "k[:] = 2.0", "k += 0.5"],
    "powers of whole numbers, unless the exponent is a number in the source": ["return n**n", "return 2**n"],
    "`and`, `or` of numbers whose value is asked for": ["y = x and n", "y = n or 1", "return flag and n"],
    "sums and `~` of truths": ["return flag + flag", "return ~flag"],
    "a whole number of the source beyond 64 bits": ["return n + 2**63", "return 2**64"],
    "what has no value in Python: `1.0 / 0.0`, `1 < (2, 3)`": [
        "return 1.0 / 0.0", "return 1 < (2, 3)", "return ~1.5", "return 1 in 2", "return float('x')",
        "return 10**400 * x",
    ],
    "a kernel that calls itself": [],
    "an array with gaps to a kernel that is called by its address": ["y = call_address(n, 0, A[:, 0])"],
}  # fmt: skip
"""Bodies of kernels for each row of the table "What is refused, and why"."""


def test_every_row_of_what_is_refused_has_a_kernel() -> None:
    assert rows("What is refused, and why").keys() == REFUSED.keys()


@pytest.mark.parametrize("row", REFUSED)
def test_rows_of_what_is_refused(row: str) -> None:
    for body in REFUSED[row]:
        with pytest.raises(KernelError, match=r"(?s)test_refusals\.py: .*>:\d+: `"):
            from_text(body).compiled(*ARGUMENTS.values())


@kernel
def itself(x):
    return itself(x)


@kernel
def starred(*x):
    return x


@kernel
def doubly_starred(**x):
    return x


@kernel
def by_keyword_alone(*, x):
    return x


@pytest.mark.parametrize("function", [itself, starred, doubly_starred, by_keyword_alone])
def test_signatures_and_recursion_are_refused(function) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(KernelError, match=r"test_page\.py:\d+: "):
        function.compiled(0.5)


# -- other statements --------------------------------------------------------------------------------------------------


@kernel
def busy(n):
    total = 0.0
    for i in range(n):
        total += math.sqrt(i * 1.0)
    return total


def test_other_threads_of_python_run_meanwhile() -> None:
    busy.compiled(10)
    thread = threading.Thread(target=busy.compiled, args=(30_000_000,))
    thread.start()
    while_it_runs = 0
    while thread.is_alive():
        while_it_runs += 1
    assert while_it_runs > 100  # it would be one turn if the other thread held Python's lock


def test_numbers_that_the_page_names() -> None:
    quick = section("Quick and optimised machine code")
    assert f"{engines.LONG_RUN:,} steps" in quick
    shipped = re.search(r"^PATIENCE = (.*)$", Path(tiers.__file__).read_text(), re.MULTILINE)  # tests have another one
    assert shipped is not None and f"{shipped[1]} s per {tiers.PIECE:,} letters" in quick
    assert units.MOST_BUILDERS == 8 and "(at most eight)" in section("Machine code of its own")
    assert gpu.LONGEST_UNROLLED == 12 and "up to twelve are written out" in PAGE
    assert web.STACK == 2**20 and "the stack, 1 MiB" in PAGE
    first, last = (".".join(map(str, version)) for version in cpu.TESTED)
    assert f"llvmlite {first} to {last}" in PAGE


def test_files_that_the_page_names() -> None:
    """`How it is made` names modules of the translator."""
    folder = Path(jit.__file__).parent
    first = section("How it is made").split("\n\n")[0]
    names = set(re.findall(r"`([a-z]+)`", first))
    assert len(names) > 10
    assert all((folder / f"{name}.py").exists() for name in names), names
