"""Operators on numbers: Python's meaning, in instructions that are defined for every operand.

Whole numbers have 64 bits and wrap around.  A quotient by zero is what NumPy makes of it: infinite or not a number for
floats, 0 for whole numbers.  Nothing is fused or reordered, so that every target computes the same bits.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from stickslip.jit.errors import KernelError
from stickslip.jit.values import REGISTER, Constant, Kind, Scalar, Value, in_words, items_of, kind_of, literal
from stickslip.jit.writer import Writer

_FOLD: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_FOLD_ONE: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_PLAIN: dict[type[ast.operator], str] = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}
_BITS: dict[type[ast.operator], str] = {ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor"}
_COMPARE: dict[type[ast.cmpop], tuple[str, str, Callable[[Any, Any], bool]]] = {
    ast.Eq: ("eq", "oeq", operator.eq),
    ast.NotEq: ("ne", "une", operator.ne),
    ast.Lt: ("slt", "olt", operator.lt),
    ast.LtE: ("sle", "ole", operator.le),
    ast.Gt: ("sgt", "ogt", operator.gt),
    ast.GtE: ("sge", "oge", operator.ge),
}
LARGEST_POWER = 64
"""Whole exponents up to this size are products; others call `mathematics.pow`."""


def convert(writer: Writer, value: Value, kind: Kind) -> str:
    """Text of a number as another kind: whole numbers to floats, truths to both, and nothing that loses digits."""
    own = kind_of(value)
    if own is None:
        raise KernelError(f"a number is wanted here, got {in_words(value)}; write a loop over the elements.")
    if isinstance(value, Constant):
        if own == "float" and kind != "float":
            raise KernelError(f"a float cannot stand for a number of kind {kind}: write int(...), or a comparison.")
        if kind == "int" and not -(2**63) <= value.value < 2**63:
            raise KernelError(f"whole numbers have 64 bits, got {value.value}.")
        return literal(kind, value.value)
    assert isinstance(value, Scalar)
    if own == kind:
        return value.text
    if kind == "float":
        return writer.value(f"{'uitofp' if own == 'bool' else 'sitofp'} {REGISTER[own]} {value.text} to double")
    if kind == "int" and own == "bool":
        return writer.value(f"zext i1 {value.text} to i64")
    if kind == "bool" and own == "int":
        return writer.value(f"icmp ne i64 {value.text}, 0")
    raise KernelError(f"a number of kind {own} cannot stand for one of kind {kind}: write int(...), or a comparison.")


def truth(writer: Writer, value: Value) -> Constant | Scalar:
    """Whether a number is not zero, as `if` asks."""
    kind = kind_of(value)
    if isinstance(value, Constant) and (kind is not None or value.value is None):
        return Constant(bool(value.value))
    if kind == "float":
        assert isinstance(value, Scalar)
        return Scalar("bool", writer.value(f"fcmp une double {value.text}, {literal('float', 0.0)}"))
    if kind is None:
        raise KernelError(f"a condition is a number or a comparison, got {in_words(value)}.")
    return Scalar("bool", convert(writer, value, "bool"))


def common_kind(a: Value, b: Value) -> Kind:
    """Kind in which two numbers meet."""
    kinds = {kind_of(a), kind_of(b)}
    if None in kinds:
        wrong = a if kind_of(a) is None else b
        raise KernelError(f"operators take numbers, got {in_words(wrong)}; write a loop over the elements.")
    if "float" in kinds:
        return "float"
    return "bool" if kinds == {"bool"} else "int"


def binary(writer: Writer, op: ast.operator, a: Value, b: Value) -> Constant | Scalar:
    """`a op b`."""
    if isinstance(a, Constant) and isinstance(b, Constant):
        return Constant(_folded(op, a.value, b.value))
    kind = common_kind(a, b)
    if kind == "bool" and isinstance(op, ast.Add):
        raise KernelError("the sum of two truths is 2 in Python and True in NumPy: write int(...) or `or`.")
    if isinstance(op, ast.Pow):
        return _power(writer, a, b, kind)
    if isinstance(op, (ast.BitAnd, ast.BitOr, ast.BitXor)):
        if kind == "float":
            raise KernelError("bits of floats are not in the language.")
        x, y = convert(writer, a, kind), convert(writer, b, kind)
        return Scalar(kind, writer.value(f"{_BITS[type(op)]} {REGISTER[kind]} {x}, {y}"))
    if isinstance(op, ast.Div) or kind == "float":
        return _of_floats(writer, op, convert(writer, a, "float"), convert(writer, b, "float"))
    return _of_whole_numbers(writer, op, convert(writer, a, "int"), convert(writer, b, "int"), b)


def _folded(op: ast.operator, a: Any, b: Any) -> Any:
    try:
        return _FOLD[type(op)](a, b)
    except (TypeError, ValueError, ArithmeticError) as problem:
        raise KernelError(f"{a!r} and {b!r} cannot be combined: {problem}.") from None


def _of_floats(writer: Writer, op: ast.operator, x: str, y: str) -> Scalar:
    loose = "reassoc " if writer.reorder_sums and isinstance(op, (ast.Add, ast.Sub, ast.Mult)) else ""
    if type(op) in _PLAIN:
        return Scalar("float", writer.value(f"f{_PLAIN[type(op)]} {loose}double {x}, {y}"))
    if isinstance(op, ast.Div):
        return Scalar("float", writer.value(f"fdiv double {x}, {y}"))
    if isinstance(op, (ast.Mod, ast.FloorDiv)):
        return _floored(writer, isinstance(op, ast.Mod), x, y)
    raise KernelError("this operator is for whole numbers.")


def _floored(writer: Writer, remainder: bool, x: str, y: str) -> Scalar:
    """Remainder with the sign of y, or the whole quotient that belongs to it; as CPython and NumPy define them."""
    zero = literal("float", 0.0)
    own = writer.module.operators.get("fmod")
    rest = writer.value(f"frem double {x}, {y}") if own is None else own(writer, x, y)
    other_sign = writer.value(
        f"xor i1 {writer.value(f'fcmp olt double {y}, {zero}')}, {writer.value(f'fcmp olt double {rest}, {zero}')}"
    )
    shifted = writer.value(f"fadd double {rest}, {y}")
    some = writer.value(f"fcmp une double {rest}, {zero}")
    signed_zero = writer.call("double", "llvm.copysign.f64", [("double", zero), ("double", y)], {})
    moved = writer.value(f"select i1 {other_sign}, double {shifted}, double {rest}")
    modulus = writer.value(f"select i1 {some}, double {moved}, double {signed_zero}")
    by_zero = writer.value(f"fcmp oeq double {y}, {zero}")
    if remainder:
        return Scalar("float", writer.value(f"select i1 {by_zero}, double {rest}, double {modulus}"))
    # the quotient is nearly whole: rounded to the nearest one
    exact = writer.value(f"fdiv double {writer.value(f'fsub double {x}, {rest}')}, {y}")
    lower = writer.value(f"fsub double {exact}, {literal('float', 1.0)}")
    below = writer.value(f"and i1 {some}, {other_sign}")
    quotient = writer.value(f"select i1 {below}, double {lower}, double {exact}")
    down = writer.call("double", "llvm.floor.f64", [("double", quotient)], {})
    left = writer.value(f"fsub double {quotient}, {down}")
    up = writer.value(f"fadd double {down}, {literal('float', 1.0)}")
    more = writer.value(f"fcmp ogt double {left}, {literal('float', 0.5)}")
    whole = writer.value(f"select i1 {more}, double {up}, double {down}")
    plain = writer.value(f"fdiv double {x}, {y}")
    signless = writer.value(f"fcmp une double {quotient}, {zero}")
    zero_of = writer.call("double", "llvm.copysign.f64", [("double", zero), ("double", plain)], {})
    found = writer.value(f"select i1 {signless}, double {whole}, double {zero_of}")
    return Scalar("float", writer.value(f"select i1 {by_zero}, double {plain}, double {found}"))


def _of_whole_numbers(writer: Writer, op: ast.operator, x: str, y: str, divisor: Value) -> Scalar:
    if type(op) in _PLAIN:
        return Scalar("int", writer.value(f"{_PLAIN[type(op)]} i64 {x}, {y}"))
    if isinstance(op, (ast.LShift, ast.RShift)):
        return _shift(writer, isinstance(op, ast.LShift), x, y)
    safe = isinstance(divisor, Constant) and int(divisor.value) not in (0, -1)
    return _divided(writer, isinstance(op, ast.Mod), x, y, safe)  # `//` or `%`: `syntax` refuses @


def _divided(writer: Writer, remainder: bool, x: str, y: str, safe: bool) -> Scalar:
    """Quotient rounded down, or its remainder; 0 where y = 0, and -x for y = -1, where the processor would stop."""
    divisor = y
    if not safe:
        none, minus = writer.value(f"icmp eq i64 {y}, 0"), writer.value(f"icmp eq i64 {y}, -1")
        divisor = writer.value(f"select i1 {writer.value(f'or i1 {none}, {minus}')}, i64 1, i64 {y}")
    rest = writer.value(f"srem i64 {x}, {divisor}")
    some = writer.value(f"icmp ne i64 {rest}, 0")
    other_sign = writer.value(f"icmp slt i64 {writer.value(f'xor i64 {rest}, {divisor}')}, 0")
    down = writer.value(f"and i1 {some}, {other_sign}")
    if remainder:
        shifted = writer.value(f"add i64 {rest}, {divisor}")
        return Scalar("int", writer.value(f"select i1 {down}, i64 {shifted}, i64 {rest}"))
    quotient = writer.value(f"sdiv i64 {x}, {divisor}")
    result = writer.value(f"sub i64 {quotient}, {writer.value(f'zext i1 {down} to i64')}")
    if not safe:
        result = writer.value(f"select i1 {minus}, i64 {writer.value(f'sub i64 0, {x}')}, i64 {result}")
        result = writer.value(f"select i1 {none}, i64 0, i64 {result}")
    return Scalar("int", result)


def _shift(writer: Writer, left: bool, x: str, y: str) -> Scalar:
    """Shift by y bits; beyond 63 nothing is left but the sign of a shift to the right."""
    beyond = writer.value(f"icmp ugt i64 {y}, 63")
    count = writer.value(f"select i1 {beyond}, i64 63, i64 {y}")
    if not left:
        return Scalar("int", writer.value(f"ashr i64 {x}, {count}"))
    moved = writer.value(f"shl i64 {x}, {count}")
    return Scalar("int", writer.value(f"select i1 {beyond}, i64 0, i64 {moved}"))


def _power(writer: Writer, a: Value, b: Value, kind: Kind) -> Constant | Scalar:
    """Products for whole exponents that are known, by repeated squares; `mathematics.pow` for others."""
    whole = isinstance(b, Constant) and kind_of(b) == "int" and abs(int(b.value)) <= LARGEST_POWER
    if whole:
        assert isinstance(b, Constant)
        exponent = abs(int(b.value))
        negative = int(b.value) < 0
        factor: Constant | Scalar = Scalar(*_as("float" if negative else kind, writer, a))
        result: Constant | Scalar | None = None
        while exponent:
            if exponent & 1:
                result = factor if result is None else binary(writer, ast.Mult(), result, factor)
            exponent >>= 1
            if exponent:
                factor = binary(writer, ast.Mult(), factor, factor)
        result = Constant(1.0 if factor.kind == "float" else 1) if result is None else result  # type: ignore[union-attr]
        return binary(writer, ast.Div(), Constant(1.0), result) if negative else result
    if kind != "float":
        raise KernelError("a power of whole numbers needs an exponent that is a number in the source.")
    x, y = convert(writer, a, "float"), convert(writer, b, "float")
    return Scalar("float", writer.module.operators["pow"](writer, x, y))


def _as(kind: Kind, writer: Writer, value: Value) -> tuple[Kind, str]:
    wanted: Kind = "int" if kind == "bool" else kind
    return wanted, convert(writer, value, wanted)


def compare(writer: Writer, op: ast.cmpop, a: Value, b: Value) -> Constant | Scalar:
    """`a op b`; `is` and `is not` ask for None, and the answer is known to the translator."""
    if isinstance(op, (ast.Is, ast.IsNot)):
        if not (isinstance(b, Constant) and b.value is None):
            raise KernelError("`is` asks for None only: compare numbers by ==.")
        same = isinstance(a, Constant) and a.value is None
        return Constant(same if isinstance(op, ast.Is) else not same)
    if isinstance(op, (ast.In, ast.NotIn)):
        if isinstance(a, Constant) and isinstance(b, Constant):
            return Constant((a.value in b.value) == isinstance(op, ast.In))
        return _contained(writer, op, a, b)
    whole, real, fold = _COMPARE[type(op)]
    if isinstance(a, Constant) and isinstance(b, Constant):
        return Constant(bool(fold(a.value, b.value)))
    kind = common_kind(a, b)
    if kind == "float":
        return Scalar(
            "bool", writer.value(f"fcmp {real} double {convert(writer, a, 'float')}, {convert(writer, b, 'float')}")
        )
    return Scalar("bool", writer.value(f"icmp {whole} i64 {convert(writer, a, 'int')}, {convert(writer, b, 'int')}"))


def _contained(writer: Writer, op: ast.cmpop, a: Value, b: Value) -> Constant | Scalar:
    """`a in b`, `a not in b`, for a number and a tuple of numbers."""
    items = items_of(b)
    if items is None:
        raise KernelError("`in` is for tuples: write a loop.")
    found: Constant | Scalar = Constant(False)
    for item in items:
        found = binary(writer, ast.BitOr(), found, compare(writer, ast.Eq(), a, item))
    return found if isinstance(op, ast.In) else binary(writer, ast.BitXor(), found, Constant(True))


def unary(writer: Writer, op: ast.unaryop, value: Value) -> Constant | Scalar:
    """`-x`, `+x`, `~x`; `not x` is a condition, see `truth`."""
    kind = kind_of(value)
    if kind is None:
        raise KernelError(f"operators take numbers, got {in_words(value)}.")
    if isinstance(value, Constant):
        return Constant(_FOLD_ONE[type(op)](value.value))
    assert isinstance(value, Scalar)
    if isinstance(op, ast.Invert):
        if kind == "float":
            raise KernelError("bits of floats are not in the language.")
        if kind == "bool":
            raise KernelError("~ of a truth is a number in Python and a truth in NumPy: write `not`.")
        return Scalar("int", writer.value(f"xor i64 {convert(writer, value, 'int')}, -1"))
    if kind == "float":
        return value if isinstance(op, ast.UAdd) else Scalar("float", writer.value(f"fneg double {value.text}"))
    number = convert(writer, value, "int")
    return Scalar("int", number if isinstance(op, ast.UAdd) else writer.value(f"sub i64 0, {number}"))
