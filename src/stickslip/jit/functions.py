"""Functions that kernels may call beside other kernels: Python's own, those of `math`, and new arrays of NumPy."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from stickslip.jit import memory
from stickslip.jit.arithmetic import binary, common_kind, compare, convert, truth
from stickslip.jit.errors import KernelError
from stickslip.jit.values import REGISTER, Bundle, Constant, Kind, Scalar, Value, View, in_words, kind_of, literal
from stickslip.jit.writer import Writer

Builtin = Callable[[Writer, tuple[Value, ...]], Value]
INTRINSIC = {"sqrt": "llvm.sqrt.f64", "fabs": "llvm.fabs.f64", "copysign": "llvm.copysign.f64"}
"""Functions of `math` that are single instructions, exact on every target."""
LIBRARY = ("fmod",)
"""Functions of `math` that the C library computes, exactly."""
ROUNDING = {"floor": "llvm.floor.f64", "ceil": "llvm.ceil.f64", "trunc": "llvm.trunc.f64"}
"""Functions of `math` whose result is a whole number."""
ARGUMENTS = {"fmod": 2, "copysign": 2}
"""Number of arguments of those that take more than one."""


OWN: dict[Any, Any] = {}
"""Kernels that take the place of functions of `math` and NumPy on every target; `mathematics` puts them here."""
OWN_OF_EXACT: dict[Any, Any] = {}
"""Kernels likewise of functions that are exact: where there is a C library, it is as good and faster."""
SHARED: set[str] = set()
"""Names of kernels marked `inline` that modules of mechanisms and cards call nevertheless, put here by `mathematics`.

They change nothing but their results: LLVM does one call for all that need it.
"""


def find(function: Any) -> Builtin | None:
    """Translator of a call of `function`; None where it is not in the language."""
    try:
        return _TABLE.get(function)
    except TypeError:  # not hashable
        return None


def add(function: Any, builtin: Builtin) -> None:
    """Let kernels call one more function, translated by `builtin`."""
    _TABLE[function] = builtin


HELPS: dict[Any, str] = {
    enumerate: "count by range, and take the element",
    zip: "count by range, and take an element of each",
    sum: "write a loop: the order of a sum decides its last digit",
    any: "write a loop, or join conditions by `or`",
    all: "write a loop, or join conditions by `and`",
    pow: "write x**y",
    print: "return what you want to see, or call the function itself, which is plain Python",
    np.where: "write `a if condition else b`",
    np.clip: "write min(max(x, low), high)",
    np.sum: "write a loop: the order of a sum decides its last digit",
    np.dot: "write a loop: the order of a sum decides its last digit",
    np.ones_like: "write np.ones(A.shape)",
    np.full_like: "write np.full(A.shape, value)",
}
"""What to write in place of functions that many know."""


def outside(function: Any) -> str:
    """Words for a call of a function that is not in the language, with what helps."""
    name = getattr(function, "__name__", f"an object of type {type(function).__name__}")
    module = (getattr(function, "__module__", None) or "").partition(".")[0]
    try:
        helps = HELPS.get(function)
    except TypeError:  # not hashable
        helps = None
    if helps is None:
        theirs = module in ("builtins", "math", "numpy", "scipy") or isinstance(function, np.ufunc)
        helps = (
            "write it out with numbers and loops" if theirs else "mark it with @kernel (stickslip.jit), or write it out"
        )
    of_numpy = (module == "numpy" or isinstance(function, np.ufunc)) and np.__dict__.get(name) is function
    prefix = "np." if of_numpy else ""
    return f"{prefix}{name} is not in the language: {helps}."


def _expect(name: str, arguments: tuple[Value, ...], *counts: int) -> None:
    if len(arguments) not in counts:
        raise KernelError(f"{name} takes {' or '.join(map(str, counts))} arguments here, got {len(arguments)}.")


def _of_math(name: str) -> Builtin:
    function = getattr(math, name)
    count = ARGUMENTS.get(name, 1)

    def call(writer: Writer, arguments: tuple[Value, ...]) -> Value:
        _expect(name, arguments, count)
        if all(isinstance(x, Constant) and kind_of(x) is not None for x in arguments):
            try:
                return Constant(function(*(x.value for x in arguments)))  # type: ignore[union-attr]
            except (ValueError, ArithmeticError) as problem:
                raise KernelError(f"{name} of a constant: {problem}.") from None
        given = [("double", convert(writer, x, "float")) for x in arguments]
        if name in INTRINSIC:
            return Scalar("float", writer.call("double", INTRINSIC[name], given, {}))
        return Scalar("float", writer.call("double", name, given, {"external": True}))

    return call


def _of_rounding(name: str) -> Builtin:
    def call(writer: Writer, arguments: tuple[Value, ...]) -> Value:
        _expect(name, arguments, 1)
        (x,) = arguments
        if isinstance(x, Constant) and kind_of(x) is not None:
            exact = math.isfinite(x.value)
            return Constant(_fitting(getattr(math, name)(x.value) if exact else x.value))
        if kind_of(x) == "int":
            return x
        rounded = writer.call("double", ROUNDING[name], [("double", convert(writer, x, "float"))], {})
        return whole(writer, Scalar("float", rounded))

    return call


def _fitting(x: Any) -> int:
    """The whole part of a number that the translator knows, as `whole` has it at run time."""
    if x != x:
        return 0
    largest = 2**63 - 1
    return max(-largest - 1, min(largest, int(max(-(2.0**64), min(2.0**64, x))) if isinstance(x, float) else int(x)))


def whole(writer: Writer, x: Value) -> Constant | Scalar:
    """`int(x)`: towards zero; what does not fit is the nearest that does, what is not a number is 0."""
    if kind_of(x) is None:
        raise KernelError(f"int takes a number, got {in_words(x)}.")
    if isinstance(x, Constant):
        return Constant(_fitting(x.value))
    assert isinstance(x, Scalar)
    if x.kind != "float":
        return Scalar("int", convert(writer, x, "int"))
    return Scalar("int", writer.call("i64", "llvm.fptosi.sat.i64.f64", [("double", x.text)], {}))


def _int(writer: Writer, arguments: tuple[Value, ...]) -> Value:
    _expect("int", arguments, 1)
    return whole(writer, arguments[0])


def _float(writer: Writer, arguments: tuple[Value, ...]) -> Value:
    _expect("float", arguments, 1)
    (x,) = arguments
    if isinstance(x, Constant):
        return Constant(float(x.value))
    return Scalar("float", convert(writer, x, "float"))


def _bool(writer: Writer, arguments: tuple[Value, ...]) -> Value:
    _expect("bool", arguments, 1)
    return truth(writer, arguments[0])


def _round(writer: Writer, arguments: tuple[Value, ...]) -> Value:
    _expect("round", arguments, 1)
    (x,) = arguments
    if isinstance(x, Constant) and kind_of(x) is not None:
        return Constant(_fitting(round(x.value) if math.isfinite(x.value) else x.value))
    if kind_of(x) != "float":
        return whole(writer, x)
    nearest = writer.call("double", "llvm.roundeven.f64", [("double", convert(writer, x, "float"))], {})
    return whole(writer, Scalar("float", nearest))


def _abs(writer: Writer, arguments: tuple[Value, ...]) -> Value:
    _expect("abs", arguments, 1)
    (x,) = arguments
    if isinstance(x, Constant):
        return Constant(abs(x.value))
    if kind_of(x) == "float":
        return Scalar("float", writer.call("double", "llvm.fabs.f64", [("double", convert(writer, x, "float"))], {}))
    number = convert(writer, x, "int")
    negative = writer.value(f"icmp slt i64 {number}, 0")
    return Scalar(
        "int", writer.value(f"select i1 {negative}, i64 {writer.value(f'sub i64 0, {number}')}, i64 {number}")
    )


def _extreme(name: str, better: ast.cmpop) -> Builtin:
    def call(writer: Writer, arguments: tuple[Value, ...]) -> Value:
        """Python's choice: the first argument unless a later one is better, so that not-a-number behaves alike."""
        if len(arguments) < 2:
            raise KernelError(f"{name} takes two or more numbers here: write a loop over an array.")
        best = arguments[0]
        for other in arguments[1:]:
            if isinstance(best, Constant) and isinstance(other, Constant):
                best = Constant(getattr(builtins, name)(best.value, other.value))
                continue
            kind = common_kind(best, other)
            kind = "int" if kind == "bool" else kind
            x, y = Scalar(kind, convert(writer, best, kind)), Scalar(kind, convert(writer, other, kind))
            wins = compare(writer, better, y, x)
            assert isinstance(wins, Scalar)
            bound = kind == "float" and (isinstance(best, Constant) or isinstance(other, Constant))
            choose = _by_branch if bound and writer.module.predicts else _by_select
            best = Scalar(kind, choose(writer, wins.text, REGISTER[kind], y.text, x.text))
        return best

    return call


def _by_select(writer: Writer, condition: str, type_: str, yes: str, no: str) -> str:
    return writer.value(f"select i1 {condition}, {type_} {yes}, {type_} {no}")


def _by_branch(writer: Writer, condition: str, type_: str, yes: str, no: str) -> str:
    """A choice behind a branch: the processor guesses it, and goes on before both numbers are there.

    The word `expect` makes LLVM keep the branch, whichever way it goes.
    """
    end, other, slot = writer.label(), writer.label(), writer.slot(type_)
    writer.do(f"store {type_} {no}, ptr {slot}")
    guessed = writer.call("i1", "llvm.expect.i1", [("i1", condition), ("i1", "false")], {})
    writer.branch(guessed, other, end)
    writer.begin(other)
    writer.do(f"store {type_} {yes}, ptr {slot}")
    writer.jump(end)
    writer.begin(end)
    return writer.value(f"load {type_}, ptr {slot}")


def _is(name: str, instruction: str) -> Builtin:
    """Question about a float: `instruction` compares x, or its size, with a number."""

    def call(writer: Writer, arguments: tuple[Value, ...]) -> Value:
        _expect(name, arguments, 1)
        (x,) = arguments
        if isinstance(x, Constant):
            return Constant(getattr(math, name)(x.value))
        number = convert(writer, x, "float")
        if name == "isnan":
            return Scalar("bool", writer.value(f"fcmp uno double {number}, {number}"))
        size = writer.call("double", "llvm.fabs.f64", [("double", number)], {})
        return Scalar("bool", writer.value(f"fcmp {instruction} double {size}, {literal('float', math.inf)}"))

    return call


def _len(writer: Writer, arguments: tuple[Value, ...]) -> Value:
    _expect("len", arguments, 1)
    (x,) = arguments
    if isinstance(x, View):
        return memory.size_value(x.dims[0])
    if isinstance(x, Constant) and isinstance(x.value, tuple):
        return Constant(len(x.value))
    if hasattr(x, "items"):
        return Constant(len(x.items))
    raise KernelError(f"len takes an array or a tuple, got {in_words(x)}.")


def _divmod(writer: Writer, arguments: tuple[Value, ...]) -> Value:
    _expect("divmod", arguments, 2)
    a, b = arguments
    return Bundle((binary(writer, ast.FloorDiv(), a, b), binary(writer, ast.Mod(), a, b)))


def _frexp(writer: Writer, arguments: tuple[Value, ...]) -> Value:
    """Mantissa and exponent of x = m 2^e; e = 0 where x is infinite or not a number."""
    _expect("frexp", arguments, 1)
    (x,) = arguments
    if isinstance(x, Constant):
        return Constant(math.frexp(x.value))
    number, slot = convert(writer, x, "float"), writer.slot("i32")
    mantissa = writer.call("double", "frexp", [("double", number), ("ptr", slot)], {"external": True})
    exponent = writer.value(f"sext i32 {writer.value(f'load i32, ptr {slot}')} to i64")
    size = writer.call("double", "llvm.fabs.f64", [("double", number)], {})
    finite = writer.value(f"fcmp olt double {size}, {literal('float', math.inf)}")
    return Bundle(
        (Scalar("float", mantissa), Scalar("int", writer.value(f"select i1 {finite}, i64 {exponent}, i64 0")))
    )


def _ldexp(writer: Writer, arguments: tuple[Value, ...]) -> Value:
    """m 2^e, rounded where it is denormal; infinite where it does not fit."""
    _expect("ldexp", arguments, 2)
    mantissa, exponent = arguments
    if kind_of(exponent) not in ("int", "bool"):
        raise KernelError(f"the exponent of ldexp is a whole number, got {in_words(exponent)}.")
    number = convert(writer, exponent, "int")
    for bound, wrong in ((-4400, "slt"), (4400, "sgt")):  # beyond, every number is 0 or infinite
        beyond = writer.value(f"icmp {wrong} i64 {number}, {bound}")
        number = writer.value(f"select i1 {beyond}, i64 {bound}, i64 {number}")
    narrow = writer.value(f"trunc i64 {number} to i32")
    given = [("double", convert(writer, mantissa, "float")), ("i32", narrow)]
    return Scalar("float", writer.call("double", "ldexp", given, {"external": True}))


def _rounded(name: str) -> Builtin:
    """`np.floor` and the like, whose results are floats."""

    def call(writer: Writer, arguments: tuple[Value, ...]) -> Value:
        _expect(f"np.{name}", arguments, 1)
        return Scalar(
            "float", writer.call("double", ROUNDING[name], [("double", convert(writer, arguments[0], "float"))], {})
        )

    return call


def _sign(writer: Writer, arguments: tuple[Value, ...]) -> Value:
    """-1, 0 or 1; what is not a number stays so."""
    _expect("np.sign", arguments, 1)
    kind: Kind = "float" if kind_of(arguments[0]) == "float" else "int"
    x = Scalar(kind, convert(writer, arguments[0], kind))
    type_, found = REGISTER[kind], literal(kind, 0)
    questions: list[tuple[ast.cmpop, str]] = [(ast.Lt(), literal(kind, -1)), (ast.Gt(), literal(kind, 1))]
    if kind == "float":
        found = x.text
        questions.insert(0, (ast.Eq(), literal(kind, 0)))
    for question, answer in questions:
        holds = compare(writer, question, x, Constant(0))
        assert isinstance(holds, Scalar)
        found = writer.value(f"select i1 {holds.text}, {type_} {answer}, {type_} {found}")
    return Scalar(kind, found)


def _of_two(name: str, better: ast.cmpop) -> Builtin:
    """`np.maximum`, `np.minimum`: not a number where one of both is."""
    extreme = _extreme(name, better)

    def call(writer: Writer, arguments: tuple[Value, ...]) -> Value:
        _expect(f"np.{name}imum", arguments, 2)
        a, b = arguments
        if common_kind(a, b) != "float":
            return extreme(writer, arguments)
        x, y = convert(writer, a, "float"), convert(writer, b, "float")
        chosen = extreme(writer, (Scalar("float", x), Scalar("float", y)))
        assert isinstance(chosen, Scalar)
        wrong = writer.value(f"fcmp uno double {y}, {y}")
        return Scalar("float", writer.value(f"select i1 {wrong}, double {y}, double {chosen.text}"))

    return call


OF_NUMPY = {
    np.arcsin: math.asin, np.arccos: math.acos, np.arctan: math.atan, np.arctan2: math.atan2, np.power: math.pow,
    np.arcsinh: math.asinh, np.arccosh: math.acosh, np.arctanh: math.atanh,
    **{getattr(np, name): getattr(math, name) for name in (
        "sqrt", "fabs", "copysign", "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "log", "log1p", "log2",
        "log10", "hypot", "fmod", "isnan", "isinf", "isfinite", "frexp", "ldexp",
    )},
}  # fmt: skip
"""Functions of NumPy on single numbers, with those of `math` that stand for them."""
_TABLE: dict[Any, Builtin] = {
    **{getattr(math, name): _of_math(name) for name in (*INTRINSIC, *LIBRARY)},
    **{getattr(math, name): _of_rounding(name) for name in ROUNDING},
    math.frexp: _frexp,
    math.ldexp: _ldexp,
    math.isnan: _is("isnan", "uno"),
    math.isinf: _is("isinf", "oeq"),
    math.isfinite: _is("isfinite", "olt"),
    abs: _abs,
    bool: _bool,
    divmod: _divmod,
    float: _float,
    int: _int,
    len: _len,
    max: _extreme("max", ast.Gt()),
    min: _extreme("min", ast.Lt()),
    np.float64: _float,
    np.int64: _int,
    np.bool_: _bool,
    round: _round,
}
_TABLE |= {function: _TABLE[other] for function, other in OF_NUMPY.items() if other in _TABLE}
_TABLE |= {getattr(np, name): _rounded(name) for name in ROUNDING}
_TABLE |= {
    np.abs: _abs,
    np.sign: _sign,
    np.maximum: _of_two("max", ast.Gt()),
    np.minimum: _of_two("min", ast.Lt()),
}
