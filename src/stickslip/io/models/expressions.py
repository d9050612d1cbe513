"""Expressions in model files: text to SymPy and back, by a grammar of our own.

    sum      := product (("+" | "-") product)*
    product  := sign* power (("*" | "/") sign* power)*
    power    := atom ["**" sign* power]
    atom     := number | name | function "(" sum ("," sum)* ")" | "(" sum ")"

Nothing is ever handed to `eval` or `sympify`.  Length, depth, size, exponents and constants are bounded, so that no
text, however hostile, takes long: every constant part has a finite value in double precision, and powers of whole
numbers stay below 2**1024.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import sympy as sp
from sympy.functions.elementary.hyperbolic import HyperbolicFunction
from sympy.functions.elementary.miscellaneous import MinMaxBase
from sympy.printing.str import StrPrinter

from stickslip.checks import unknown_name

Expr = Any

LONGEST = 10_000
"""Characters of an expression."""
DEEPEST = 32
"""Brackets, functions, signs and exponents inside one another."""
LARGEST = 2_000
"""Numbers, names and operations of an expression, definitions counted as often as they are used."""
HIGHEST_POWER = 64
MOST_SYMBOLS = 500
_MOST_BITS = 1024  # of whole numbers and fractions: beyond, they have no double
_MOST_DIGITS = 40

NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*", re.ASCII)
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<sign>\*\*|<=|>=|==|!=|[-+*/(),<>]))",
    re.ASCII,
)
_WORDS = ("and", "or", "not")


class ExpressionError(ValueError):
    """Text that is no expression; says what was expected, at which column."""


class Function(NamedTuple):
    """A function of the grammar: what SymPy makes of it, its value in double precision, numbers of arguments."""

    make: Callable[..., Expr]
    value: Callable[..., float]
    least: int = 1
    most: int = 1
    jumps: bool = False  # SymPy decides signs of its constants, which may take long: they are folded to numbers


def _reciprocal(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: 1.0 / function(x)


def _step(x: float, at_zero: float = 0.5) -> float:
    return 1.0 if x > 0.0 else 0.0 if x < 0.0 else at_zero


FUNCTIONS: dict[str, Function] = {
    "sin": Function(sp.sin, math.sin),
    "cos": Function(sp.cos, math.cos),
    "tan": Function(sp.tan, math.tan),
    "asin": Function(sp.asin, math.asin),
    "acos": Function(sp.acos, math.acos),
    "atan": Function(sp.atan, math.atan),
    "atan2": Function(sp.atan2, math.atan2, 2, 2, True),
    "sinh": Function(sp.sinh, math.sinh),
    "cosh": Function(sp.cosh, math.cosh),
    "tanh": Function(sp.tanh, math.tanh),
    "asinh": Function(sp.asinh, math.asinh),
    "acosh": Function(sp.acosh, math.acosh),
    "atanh": Function(sp.atanh, math.atanh),
    "exp": Function(sp.exp, math.exp),
    "log": Function(sp.log, math.log),
    "sqrt": Function(sp.sqrt, math.sqrt),
    "erf": Function(sp.erf, math.erf),
    "erfc": Function(sp.erfc, math.erfc),
    "cot": Function(sp.cot, _reciprocal(math.tan)),
    "sec": Function(sp.sec, _reciprocal(math.cos)),
    "csc": Function(sp.csc, _reciprocal(math.sin)),
    "coth": Function(sp.coth, _reciprocal(math.tanh)),
    "sech": Function(sp.sech, _reciprocal(math.cosh)),
    "csch": Function(sp.csch, _reciprocal(math.sinh)),
    "sinc": Function(sp.sinc, lambda x: math.sin(x) / x if x else 1.0),
    "abs": Function(sp.Abs, abs, jumps=True),
    "sign": Function(sp.sign, lambda x: math.copysign(1.0, x) if x else 0.0, jumps=True),
    "floor": Function(sp.floor, math.floor, jumps=True),
    "ceiling": Function(sp.ceiling, math.ceil, jumps=True),
    "mod": Function(sp.Mod, lambda x, y: x % y, 2, 2, True),
    "max": Function(sp.Max, max, 1, 16, True),
    "min": Function(sp.Min, min, 1, 16, True),
    "heaviside": Function(sp.Heaviside, _step, 1, 2, True),
}
"""Functions that an expression may call, beside `piecewise(value, condition, ..., otherwise)`."""
_MOST_INSIDE = {HyperbolicFunction: (sp.Function, 3), MinMaxBase: (MinMaxBase, 3)}
"""What counts inside a function of a kind, and how deep it may stand there.  Powers count as functions.

SymPy asks for the real and imaginary parts of x in sech(x), several times, and so on inwards; and for the common
factors of x and y in max(x, y).  Each one more takes some times as long: 5 sech took 2 s, 7 more than 4 s.
"""
CONSTANTS = {"pi": (sp.pi, math.pi)}
RESERVED = (*FUNCTIONS, *CONSTANTS, *_WORDS, "piecewise")
"""Names that coordinates, velocities, parameters and definitions cannot have."""


class Part(NamedTuple):
    """A parsed part: its expression, its value in double precision if it is constant, its size, its symbols."""

    expression: Expr
    value: float | None = None
    size: int = 1


def require_name(name: str, what: str) -> None:
    """Raise unless a name can stand in an expression."""
    if not NAME.fullmatch(name):
        raise ExpressionError(
            f"{what} must be a name of letters, digits and _, not beginning with a digit, got {name!r}"
        )
    if name in RESERVED:
        raise ExpressionError(f"{what} must not be {name!r}, which is a function or constant of expressions")


def parse(text: str, names: Mapping[str, Expr | Part]) -> Part:
    """Read an expression in the given names: symbols, or parsed definitions.

    Raises `ExpressionError`, within a fraction of a second, for whatever is no expression within the limits.
    """
    if len(text) > LONGEST:
        raise ExpressionError(f"an expression may have {LONGEST} characters, got {len(text)}")
    try:
        return _Parser(text, names).whole()
    except RecursionError:
        raise ExpressionError("the expression is nested too deeply") from None


_MINUS_ONE = Part(sp.S.NegativeOne, -1.0)


class _Token(NamedTuple):
    kind: str
    text: str
    column: int


def _tokens(text: str) -> list[_Token]:
    found, position = [], 0
    while text[position:].strip():
        match = _TOKEN.match(text, position)
        if match is None:
            position += len(text[position:]) - len(text[position:].lstrip())
            hint = "; powers are written **" if text[position] == "^" else ""
            raise ExpressionError(f"column {position + 1}: {text[position]!r} has no meaning here{hint}")
        kind = str(match.lastgroup)
        found.append(_Token(kind, match[kind], match.start(kind) + 1))
        position = match.end()
    return [*found, _Token("end", "", len(text) + 1)]


class _Parser:
    def __init__(self, text: str, names: Mapping[str, Expr | Part]) -> None:
        self.tokens = _tokens(text)
        self.names = names
        self.next = 0
        self.depth = 0
        self.size = 0

    # -- grammar -------------------------------------------------------------------------------------------------------

    def whole(self) -> Part:
        if len(self.tokens) == 1:
            raise ExpressionError("the expression is empty")
        part = self.sum()
        if self.token.kind != "end":
            raise self.error(f"expected an operator or the end, got {self.token.text!r}")
        if len(part.expression.free_symbols) > MOST_SYMBOLS:
            raise ExpressionError(f"an expression may have {MOST_SYMBOLS} symbols")
        for power in part.expression.atoms(sp.Pow):  # x**60 * x**60
            if power.exp.is_number and abs(float(power.exp)) > HIGHEST_POWER:
                raise ExpressionError(f"exponents may be {HIGHEST_POWER} at most, together they make {power.exp}")
        return part._replace(size=self.size)

    def sum(self) -> Part:
        with self.deeper():
            terms = [self.product(1)]
            while self.token.text in ("+", "-"):
                terms.append(self.product(-1 if self.take().text == "-" else 1))
            if len(terms) == 1:
                return terms[0]
            return self.part(sp.Add(*[term.expression for term in terms]), terms, lambda *x: math.fsum(x))

    def product(self, sign: int) -> Part:
        """One n-ary product: taken two by two, SymPy would distribute numbers over sums, as in 2*(a + b)*c."""
        factors: list[Part] = []
        divide = False
        while True:
            while self.token.text in ("+", "-"):
                sign = -sign if self.take().text == "-" else sign
            factor = self.power()
            factors.append(self.power_of(factor, _MINUS_ONE) if divide else factor)
            if self.token.text not in ("*", "/"):
                break
            divide = self.take().text == "/"
        if sign < 0:
            factors.append(_MINUS_ONE)
        if len(factors) == 1:
            return factors[0]
        return self.part(sp.Mul(*self.flat(factors)), factors, lambda *x: math.prod(x))

    def flat(self, parts: Iterable[Part]) -> list[Expr]:
        return [part.expression for part in parts]

    def signed(self) -> Part:
        if self.token.text in ("+", "-"):
            with self.deeper():
                negative = self.take().text == "-"
                part = self.signed()
                if not negative:
                    return part
                return self.part(-part.expression, [part], lambda x: -x)
        return self.power()

    def power(self) -> Part:
        base = self.atom()
        if self.token.text != "**":
            return base
        self.take()
        with self.deeper():
            return self.power_of(base, self.signed())

    def atom(self) -> Part:
        token = self.take()
        if token.kind == "number":
            return self.number(token)
        if token.kind == "name" and self.token.text == "(":
            return self.call(token)
        if token.kind == "name":
            return self.named(token)
        if token.text == "(":
            part = self.sum()
            self.expect(")")
            return part
        raise self.error(f"expected a number, a name or '(', got {token.text or 'the end'!r}", token)

    def number(self, token: _Token) -> Part:
        if len(token.text) > _MOST_DIGITS:
            raise self.error(f"a number may have {_MOST_DIGITS} digits, got {len(token.text)}", token)
        value = float(token.text)
        if not math.isfinite(value):
            raise self.error(f"{token.text} is too large for a number", token)
        if not token.text.isdigit():
            return Part(sp.Float(value), value)
        return Part(sp.Integer(int(token.text)), value)

    def named(self, token: _Token) -> Part:
        if token.text in self.names:
            found = self.names[token.text]
            if not isinstance(found, Part):
                return Part(found)
            self.grow(found.size)
            return found
        if token.text in CONSTANTS:
            return Part(*CONSTANTS[token.text])
        if token.text in FUNCTIONS:
            raise self.error(f"{token.text} is a function: write {token.text}(...)", token)
        raise self.error(unknown_name("name", token.text, [*self.names, *CONSTANTS]).rstrip("."), token)

    # -- functions -----------------------------------------------------------------------------------------------------

    def call(self, token: _Token) -> Part:
        self.take()
        if token.text == "piecewise":
            return self.piecewise()
        if token.text not in FUNCTIONS:
            if token.text in self.names:
                raise self.error(f"{token.text} is no function; products are written {token.text}*(...)", token)
            raise self.error(unknown_name("function", token.text, [*FUNCTIONS, "piecewise"]).rstrip("."), token)
        arguments = [self.sum()]
        while self.token.text == ",":
            self.take()
            arguments.append(self.sum())
        self.expect(")")
        function = FUNCTIONS[token.text]
        self.require_shallow(token, arguments)
        if not function.least <= len(arguments) <= function.most:
            wanted = function.least if function.least == function.most else f"{function.least} to {function.most}"
            raise self.error(f"{token.text} takes {wanted} arguments, got {len(arguments)}", token)
        constants = sum(argument.value is not None for argument in arguments)
        if function.jumps and (constants == len(arguments) or (constants > 1 and token.text in ("max", "min"))):
            arguments = [_folded(argument) for argument in arguments]
        return self.part(lambda: function.make(*self.flat(arguments)), arguments, function.value, token)

    def require_shallow(self, token: _Token, arguments: Iterable[Part]) -> None:
        """Refuse more inside a function than SymPy can look through in a fraction of a second."""
        make = FUNCTIONS[token.text].make
        for kind, (counted, most) in _MOST_INSIDE.items():
            asked = isinstance(make, type) and issubclass(make, kind)
            if asked and any(_depth(part.expression, counted) > most for part in arguments):
                what = "functions" if counted is sp.Function else "max and min"
                raise self.error(f"inside {token.text} {what} may stand {most} deep in one another", token)

    def piecewise(self) -> Part:
        """piecewise(value, condition, value, condition, ..., otherwise)."""
        values, conditions = [self.sum()], []
        while self.token.text == ",":
            self.take()
            start = self.next
            try:
                conditions.append(self.condition())
            except _NoCondition:
                self.next = start
                values.append(self.sum())
                break
            self.expect(",")
            values.append(self.sum())
        self.expect(")")
        if not conditions or len(values) != len(conditions) + 1:
            raise self.error("piecewise takes value, condition, ..., and last the value otherwise")
        pairs = list(zip(self.flat(values), [*conditions, sp.true], strict=True))
        return Part(sp.Piecewise(*pairs))

    def condition(self) -> Expr:
        with self.deeper():
            terms = [self.conjunction()]
            while self.token.text == "or":
                self.take()
                terms.append(self.conjunction())
            return sp.Or(*terms) if len(terms) > 1 else terms[0]

    def conjunction(self) -> Expr:
        terms = [self.comparison()]
        while self.token.text == "and":
            self.take()
            terms.append(self.comparison())
        return sp.And(*terms) if len(terms) > 1 else terms[0]

    def comparison(self) -> Expr:
        if self.token.text == "not":
            self.take()
            with self.deeper():
                return sp.Not(self.comparison())
        if self.token.text == "(" and self.encloses_condition():
            self.take()
            inner = self.condition()
            self.expect(")")
            return inner
        left = self.sum()
        if self.token.text not in _COMPARISONS:
            raise _NoCondition(f"column {self.token.column}: expected a comparison")
        make = _COMPARISONS[self.take().text]
        right = self.sum()
        if left.value is not None and right.value is not None:
            left, right = _folded(left), _folded(right)
        return make(left.expression, right.expression)

    def encloses_condition(self) -> bool:
        """Whether the bracket that opens here holds a comparison of its own rather than a number."""
        level = 0
        for token in self.tokens[self.next :]:
            level += (token.text == "(") - (token.text == ")")
            if level == 1 and (token.text in _COMPARISONS or token.text in _WORDS):
                return True
            if level == 0:
                return False
        return False

    # -- bounds --------------------------------------------------------------------------------------------------------

    def part(
        self, make: Expr | Callable[[], Expr], parts: Iterable[Part], value: Callable[..., float], token: Any = None
    ) -> Part:
        """Put parts together; the value of a constant is computed first, and refused where it is not finite."""
        values = [part.value for part in parts]
        number = None
        if all(x is not None for x in values):
            try:
                number = float(value(*values))
            except (ArithmeticError, ValueError, TypeError):
                number = math.nan
            if not math.isfinite(number):
                raise self.error("a constant part is not a finite real number", token)
        try:
            expression = make() if callable(make) and not isinstance(make, sp.Basic) else make
        except ZeroDivisionError:  # mod(x, 0)
            raise self.error("the expression divides by zero", token) from None
        if expression.has(sp.zoo, sp.nan, sp.oo, -sp.oo):
            raise self.error("the expression divides by zero", token)
        return Part(expression, number)

    def power_of(self, base: Part, exponent: Part) -> Part:
        if exponent.value is not None and abs(exponent.value) > HIGHEST_POWER:
            raise self.error(f"an exponent may be {HIGHEST_POWER} at most, got {exponent.value:g}")
        if base.expression.is_Rational and exponent.value is not None:
            bits = max(int(base.expression.p).bit_length(), int(base.expression.q).bit_length())
            if bits * abs(exponent.value) > _MOST_BITS:
                raise self.error("a power of numbers is too large")
        if base.expression.is_zero and exponent.value is not None and exponent.value < 0.0:
            raise self.error("the expression divides by zero")
        part = self.part(lambda: sp.Pow(base.expression, exponent.expression), [base, exponent], lambda a, b: a**b)
        if part.expression.has(sp.I):
            raise self.error("a root of a negative number is not real")
        return part

    def grow(self, count: int = 1) -> None:
        self.size += count
        if self.size > LARGEST:
            raise ExpressionError(
                f"an expression may have {LARGEST} numbers, names and operations, its definitions written out"
            )

    def deeper(self) -> _Deeper:
        return _Deeper(self)

    # -- tokens --------------------------------------------------------------------------------------------------------

    @property
    def token(self) -> _Token:
        return self.tokens[self.next]

    def take(self) -> _Token:
        token = self.tokens[self.next]
        self.next += token.kind != "end"
        self.grow()
        return token

    def expect(self, text: str) -> None:
        if self.token.text != text:
            raise self.error(f"expected {text!r}, got {self.token.text or 'the end'!r}")
        self.take()

    def error(self, message: str, token: _Token | None = None) -> ExpressionError:
        return ExpressionError(f"column {(token or self.token).column}: {message}")


class _NoCondition(ExpressionError):
    """The text at this place is a value, not a condition."""


class _Deeper:
    """Counts how deep the parser is."""

    def __init__(self, parser: _Parser) -> None:
        self.parser = parser

    def __enter__(self) -> None:
        self.parser.depth += 1
        if self.parser.depth > DEEPEST:
            raise self.parser.error(f"brackets, functions and powers may be {DEEPEST} deep")

    def __exit__(self, *_: object) -> None:
        self.parser.depth -= 1


_COMPARISONS: dict[str, Callable[[Expr, Expr], Expr]] = {
    "<": sp.Lt,
    "<=": sp.Le,
    ">": sp.Gt,
    ">=": sp.Ge,
    "==": sp.Eq,
    "!=": sp.Ne,
}


def _depth(expression: Expr, kind: type) -> int:
    """How many functions of a kind, or functions and powers, stand inside one another."""
    power = kind is sp.Function and expression.is_Pow and expression.exp != -1
    return max((_depth(part, kind) for part in expression.args), default=0) + (power or isinstance(expression, kind))


def _folded(part: Part) -> Part:
    """A constant as a number that SymPy can compare at once."""
    if part.value is None or part.expression.is_Rational:
        return part
    return Part(sp.Float(part.value), part.value)


# -- writing -----------------------------------------------------------------------------------------------------------


class _FilePrinter(StrPrinter):
    """SymPy's own text, with all digits of numbers and the functions under the names of the grammar."""

    _names = {getattr(function.make, "__name__", name): name for name, function in FUNCTIONS.items()}  # noqa: RUF012

    def _print_Float(self, x: Expr) -> str:
        if x._prec > 53 or sp.Float(float(x)) != x:
            raise ExpressionError(f"{x} has more digits than a double")
        return repr(float(x))

    def _print_Mul(self, x: Expr) -> str:
        """A number below a sum stands behind the sum: SymPy would read 1/(2*(a + b)) as 1/(2*a + 2*b)."""
        factor, rest = x.as_coeff_Mul()
        below = [power for power in sp.Mul.make_args(rest) if power.is_Pow and power.base.is_Add and power.exp == -1]
        if factor.is_Rational and factor.q != 1 and below and rest.is_Mul:
            top = "" if factor.p == 1 else "-" if factor.p == -1 else f"{factor.p}*"
            return f"{top}{self._print(rest)}/{factor.q}"
        text: str = super()._print_Mul(x)
        return text

    def _print_Exp1(self, x: Expr) -> str:
        return "exp(1)"

    def _print_Function(self, x: Expr) -> str:
        name = type(x).__name__
        if name not in self._names:
            raise ExpressionError(f"function {name!r} is not in the language of model files")
        arguments = x.args[:1] if name == "Heaviside" and x.args[1:] == (sp.S.Half,) else x.args
        return f"{self._names[name]}({', '.join(self._print(argument) for argument in arguments)})"

    _print_Heaviside = _print_Abs = _print_Mod = _print_Max = _print_Min = _print_LatticeOp = _print_Function
    _print_sign = _print_floor = _print_ceiling = _print_Function

    def _print_Piecewise(self, x: Expr) -> str:
        if x.args[-1][1] != sp.true:
            raise ExpressionError(f"{x} has no value otherwise")
        parts = [f"{self._print(value)}, {self._print(condition)}" for value, condition in x.args[:-1]]
        return f"piecewise({', '.join(parts)}, {self._print(x.args[-1][0])})"

    def _print_Relational(self, x: Expr) -> str:
        signs = {make: sign for sign, make in _COMPARISONS.items()}
        return f"{self._print(x.lhs)} {signs[type(x)]} {self._print(x.rhs)}"

    def _print_And(self, x: Expr) -> str:
        return " and ".join(f"({self._print(part)})" for part in sorted(x.args, key=sp.default_sort_key))

    def _print_Or(self, x: Expr) -> str:
        return " or ".join(f"({self._print(part)})" for part in sorted(x.args, key=sp.default_sort_key))

    def _print_Not(self, x: Expr) -> str:
        return f"not ({self._print(x.args[0])})"

    def emptyPrinter(self, x: Expr) -> str:
        raise ExpressionError(f"{x} is not in the language of model files")


def text_of(expression: Expr) -> str:
    """Write an expression as text that `parse` reads back as an equal expression, or raise `ExpressionError`."""
    expression = sp.sympify(expression, strict=True)
    plain = {symbol: sp.Symbol(symbol.name) for symbol in expression.free_symbols}
    others = {symbol: name for symbol, name in plain.items() if symbol != name}
    wanted = expression.xreplace(others) if others else expression  # which makes it anew: mod(t, 0.1) would change
    text = _FilePrinter().doprint(wanted)
    for name in (symbol.name for symbol in plain.values()):
        require_name(name, "a symbol")
    if parse(text, {symbol.name: symbol for symbol in plain.values()}).expression != wanted:
        raise ExpressionError(f"{text[:80]} does not read back as it was")
    return text


def function_of(expressions: Iterable[Expr], symbols: Iterable[Expr]) -> Callable[..., list[float]]:
    """A Python function of the symbols; its source is printed from parsed expressions, never taken from a file."""
    function: Callable[..., list[float]] = sp.lambdify(list(symbols), list(expressions), modules=[_VALUES, "math"])
    return function


_VALUES = {getattr(function.make, "__name__", name): function.value for name, function in FUNCTIONS.items()}
"""Functions that Python's `math` lacks or calls otherwise."""
