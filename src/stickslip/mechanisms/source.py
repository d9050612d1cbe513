"""From equations to the Python text of model functions, by the contract in `system.System`."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from functools import lru_cache, reduce
from itertools import count

import sympy as sp
from sympy.core.relational import Relational
from sympy.logic.boolalg import BooleanFunction

from stickslip.mechanisms.derivation import Expr, derivative
from stickslip.mechanisms.symbolic import Equations
from stickslip.mechanisms.system import CONTACT, LAWS


@lru_cache(maxsize=64)
def model_source(equations: Equations, state_laws: frozenset[tuple[str, int]] | None = None) -> str:
    """Return the source of the model functions, as `system.System` asks for them.

    state_laws : coefficients that depend on the state, if others than the equations show.

    The text depends on the equations alone: a system has one text in every process.
    """
    eq = equations.replaced(source_symbols(equations.q, equations.u, equations.t, equations.parameters))
    f, n = len(eq.q), len(eq.kind)
    M = [(f"M[{i}, {j}]", eq.M[i, j]) for i in range(f) for j in range(i, f)]
    mirrored = [f"M[{j}, {i}] = M[{i}, {j}]" for i in range(f) for j in range(i + 1, f)]
    h = [(f"h[{i}]", eq.h[i]) for i in range(f)]
    g = [(f"g[{k}]", eq.g_N[k]) for k in range(n)]
    W = [(f"W_N[{k}, {i}]", eq.W_N[k, i]) for k in range(n) for i in range(f)]
    W += [(f"W_T[{k}, {i}]", eq.W_T[k, i]) for k in range(n) for i in range(f)]
    W += [(f"w_hat[{k}, 0]", eq.w_hat_N[k]) for k in range(n)]
    W += [(f"w_hat[{k}, 1]", eq.w_hat_T[k]) for k in range(n)]
    gates = [(f"c[{k}]", level) for k, level in enumerate(eq.gates)]
    unknown = eq.potential is sp.nan
    energy = [("E[0]", eq.kinetic), ("E[1]", sp.Symbol("math.nan") if unknown else eq.potential)]

    moving = frozenset(eq.state_laws) if state_laws is None else state_laws
    fused = (h + g, []) if eq.mass_constant else (M + h + g, mirrored)
    return "\n\n".join(
        [
            function_source("mass", "q, t, p, M", M, mirrored),
            function_source("force", "q, u, t, p, h", h),
            function_source("gap", "q, t, p, g", g),
            function_source("dynamics", "q, u, t, p, M, h, g", *fused),
            function_source("geometry", "q, t, p, W_N, W_T, w_hat", W),
            *law_sources((eq.mu, eq.eps_N, eq.eps_T, eq.threshold), eq.mu_slip, eq.law_values, moving),
            *([function_source("gates", "q, t, p, c", gates)] if gates else []),
            function_source("energy", "q, u, t, p, E", energy),
        ]
    )


def jacobian_source(equations: Equations) -> str:
    """Return the source of `jacobian`, the exact derivatives of h, as `system.System` asks for it.

    Where a force jumps (sign, Heaviside), its slope is the slope of its branches.
    """
    eq = equations.replaced(source_symbols(equations.q, equations.u, equations.t, equations.parameters))
    entries = []
    for name, variables in (("K", eq.q), ("C", eq.u)):
        for i, force in enumerate(eq.h):
            for j, x in enumerate(variables):
                slope = derivative(force, x).replace(sp.DiracDelta, lambda *_: sp.S.Zero)
                entries.append((f"{name}[{i}, {j}]", slope))
    return function_source("jacobian", "q, u, t, p, K, C, work", entries)


def drift_source(equations: Equations) -> str:
    """Return the source of `drift`, as `system.System` asks for it: zeta = (dW/dt)^T u + d w_hat/dt, with u held."""
    eq = equations.replaced(source_symbols(equations.q, equations.u, equations.t, equations.parameters))

    def rate(row: sp.ImmutableMatrix, w_hat: Expr) -> Expr:
        gamma = sum((w * v for w, v in zip(row, eq.u, strict=True)), w_hat)
        zeta = sum((derivative(gamma, x) * v for x, v in zip(eq.q, eq.u, strict=True)), derivative(gamma, eq.t))
        # gaps and slips are continuous: their second derivative at a kink is that of either branch
        return sp.sympify(zeta).replace(sp.DiracDelta, lambda *_: sp.S.Zero)

    contacts = range(len(eq.kind))
    zeta = [(f"zeta[{k}, 0]", rate(eq.W_N[k, :], eq.w_hat_N[k])) for k in contacts]
    zeta += [(f"zeta[{k}, 1]", rate(eq.W_T[k, :], eq.w_hat_T[k])) for k in contacts]
    return function_source("drift", "q, u, t, p, zeta", zeta)


def sizes_source(equations: Equations) -> str:
    """Return the source of `sizes`, as `system.System` asks for it: how large the terms of each gap are."""
    eq = equations.replaced(source_symbols(equations.q, equations.u, equations.t, equations.parameters))
    gaps = [(k, g) for k, g in enumerate(eq.g_N)]
    return function_source(
        "sizes", "q, t, p, s", [(f"s[{k}]", size_of(g) if eq.kind[k] == CONTACT else sp.S.Zero) for k, g in gaps]
    )


def size_of(expression: Expr) -> Expr:
    """The size of the terms of an expression: times the machine precision it bounds the rounding error, but for a
    factor of the order of the number of operations.

    Running error analysis (Higham, Accuracy and Stability, 3.3): a sum has the sizes of its summands, a product the
    product of sizes, f(x) has |f| + |f'(x)| size(x).  Symbols and numbers count with their values.
    """
    sizes: dict[Expr, Expr] = {}
    for x in sp.postorder_traversal(expression):
        if x not in sizes and isinstance(x, sp.Expr):
            sizes[x] = _size_of_node(x, sizes)
    return sizes[expression]


def _size_of_node(x: Expr, sizes: Mapping[Expr, Expr]) -> Expr:
    """The size of an expression, from those of its arguments."""
    if not x.args:
        return sp.Abs(x)
    if isinstance(x, sp.Piecewise):
        return sp.Piecewise(*((sizes[value], condition) for value, condition in x.args))
    parts = [sizes[part] for part in x.args]
    if x.is_Add:
        return sp.Add(*parts)
    if x.is_Mul:
        return sp.Mul(*parts)
    if isinstance(x, (sp.Max, sp.Min)):
        return sp.Max(*parts)
    if isinstance(x, (sp.Abs, sp.Mod)):
        return parts[0]
    if isinstance(x, (sp.sign, sp.Heaviside, sp.floor, sp.ceiling)):
        return sp.Abs(x)
    if x.is_Pow and x.exp.is_Integer and x.exp > 0:
        return parts[0] ** x.exp
    if x.is_Pow and x.exp.is_number:
        return sp.Abs(x) * (1 + sp.Abs(x.exp) * (parts[0] / sp.Abs(x.base)))  # no size where the base has none: 0 / 0
    total = sp.Abs(x)
    for i, part in enumerate(parts):
        places = [sp.Dummy(real=True) for _ in parts]
        slope = sp.diff(x.func(*places), places[i])
        if not slope.has(sp.Derivative, sp.DiracDelta):
            total += sp.Abs(slope.xreplace(dict(zip(places, x.args, strict=True)))) * part
    return total


LawColumns = tuple[Sequence[Expr], Sequence[Expr], Sequence[Expr], Sequence[Expr]]
"""Friction, normal and tangential restitution, and threshold of all contacts."""


def law_sources(
    columns: LawColumns, mu_slip: Sequence[Expr], law_values: Sequence[Expr], state_laws: Container[tuple[str, int]]
) -> list[str]:
    """Return the sources of `laws` and what belongs to it, from expressions in the symbols of `source_symbols`.

    Coefficients in `state_laws` are nan in `laws`, and in `laws_at` what they are at a state.  `friction` and
    `law_values` are there where a coefficient depends on slip.
    """
    constant, values, moving = [], [], False
    for name, array, column in zip(LAWS, _LAW_ARRAYS, columns, strict=True):
        for k, value in enumerate(column):
            moves = (name, k) in state_laws
            constant.append((f"{array}[{k}]", sp.Symbol("math.nan") if moves else value))
            values.append((f"{array}[{k}]", value))
            moving = moving or moves
    arrays = ", ".join(_LAW_ARRAYS)
    found = [function_source("laws", f"p, {arrays}", constant)]
    if moving:
        strikes = ["approach, inertia = strikes[0], strikes[1]"]
        found.append(function_source("laws_at", f"q, t, p, strikes, {arrays}", values, opening=strikes))
    if not mu_slip:
        return found
    where = "q, t, p" if moving else "p"
    suffix = "_at" if moving else ""
    slips = [(f"mu[{k}]", value) for k, value in enumerate(mu_slip)]
    found.append(function_source(f"friction{suffix}", f"{where}, speed, mu", slips))
    numbers = [(f"c[{i}]", value) for i, value in enumerate(law_values)]
    return [*found, function_source(f"law_values{suffix}", f"{where}, c", numbers)]


_LAW_ARRAYS = ("mu", "eps_N", "eps_T", "threshold")


def source_symbols(q: Sequence[Expr], u: Sequence[Expr], t: Expr, parameters: Sequence[Expr]) -> dict[Expr, Expr]:
    """Map a model's symbols to symbols that are named as they are printed: q[0], u[0], t, p[0]."""
    names = {s: f"q[{i}]" for i, s in enumerate(q)}
    names |= {s: f"u[{i}]" for i, s in enumerate(u)}
    names |= {s: f"p[{i}]" for i, s in enumerate(parameters)}
    names[t] = "t"
    return {s: sp.Symbol(name, real=True) for s, name in names.items()}


def function_source(
    name: str,
    arguments: str,
    assignments: Sequence[tuple[str, Expr]],
    closing: Sequence[str] = (),
    opening: Sequence[str] = (),
) -> str:
    """Return the source of a function that assigns expressions to array entries, common parts computed once.

    opening, closing : lines before and behind.
    """
    shared, results = sp.cse(
        angles_apart([sp.sympify(value) for _, value in assignments]),
        symbols=(sp.Symbol(f"x{i}") for i in count()),
        order="canonical",
        list=True,
    )
    lines = list(opening)
    pairs = sine_cosine_pairs([*(value for _, value in shared), *results])
    printer = Printer(lines, pairs)
    for symbol, value in shared:
        boolean = isinstance(value, (Relational, BooleanFunction))
        lines.append(f"{symbol} = {printer.condition(value) if boolean else printer.text(value)}")
    for (target, _), value in zip(assignments, results, strict=True):
        lines.append(f"{target} = {printer.text(value)}")
    body = "\n".join(f"    {line}" for line in [*lines, *closing] or ["pass"])
    return f"@dev\ndef {name}({arguments}):\n{body}\n"


def angles_apart(expressions: list[Expr]) -> list[Expr]:
    """Write sines and cosines of sums by sines and cosines of the summands, where fewer are then to be computed.

    sin(b - a) and cos(b - a) cost nothing beside sines and cosines of a and b, which gaps and weights ask for anyhow.
    """
    known = set().union(*(x.atoms(sp.sin, sp.cos) for x in expressions)) if expressions else set()
    sums = sorted((x for x in known if x.args[0].is_Add), key=sp.default_sort_key)
    for angle in dict.fromkeys(x.args[0] for x in sums):
        written = {x: sp.expand_trig(x) for x in sums if x.args[0] == angle}
        after = (known - set(written)).union(*(x.atoms(sp.sin, sp.cos) for x in written.values()))
        if len(after) < len(known):
            known = after
            expressions = [x.xreplace(written) for x in expressions]
    return expressions


def sine_cosine_pairs(expressions: Sequence[Expr]) -> frozenset[Expr]:
    """Angles of which both are asked for: `sincos` finds them together, at little more than the cost of one."""
    known = set().union(*(x.atoms(sp.sin, sp.cos) for x in expressions)) if expressions else set()
    return frozenset(x.args[0] for x in known if {sp.sin(x.args[0]), sp.cos(x.args[0])} <= known)


_MATH_FUNCTIONS = {
    "sin": "math.sin",
    "cos": "math.cos",
    "tan": "math.tan",
    "asin": "math.asin",
    "acos": "math.acos",
    "atan": "math.atan",
    "atan2": "math.atan2",
    "sinh": "math.sinh",
    "cosh": "math.cosh",
    "tanh": "math.tanh",
    "asinh": "math.asinh",
    "acosh": "math.acosh",
    "atanh": "math.atanh",
    "exp": "math.exp",
    "log": "math.log",
    "erf": "math.erf",
    "erfc": "math.erfc",
    "floor": "math.floor",
    "ceiling": "math.ceil",
    "Abs": "math.fabs",
}


_RECIPROCALS = {"cot": "tan", "sec": "cos", "csc": "sin", "coth": "tanh", "sech": "cosh", "csch": "sinh"}


_BRANCHES = ("Heaviside", "Max", "Min", "Piecewise", "sign", "sinc")


_COMPLEX = ("re", "im", "arg", "conjugate")


_CONSTANTS = {sp.pi: "math.pi", sp.E: "math.e", sp.oo: "math.inf", -sp.oo: "-math.inf"}


_RELATIONS = {sp.Gt: ">", sp.Ge: ">=", sp.Lt: "<", sp.Le: "<=", sp.Eq: "==", sp.Ne: "!="}


_LONGEST_PRODUCT = 64


def _is_idle(factor: Expr, factors: Sequence[Expr]) -> bool:
    """Whether a factor is a Heaviside(x) beside Max(0, x), as in the slope of Max(0, x)**2: it changes no bit."""
    return isinstance(factor, sp.Heaviside) and sp.Max(0, factor.args[0]) in factors


class Printer:
    """Prints expressions as text of the kernel language: floats, `math`, conditional expressions.

    Sub-expressions that would have to be printed twice (the base of a power, the argument of sign) are
    assigned to variables y0, y1, ... first; those lines are appended to `lines`.  Of the angles in `pairs`, sine and
    cosine are computed together where the first of them is printed.
    """

    def __init__(self, lines: list[str], pairs: frozenset[Expr] = frozenset()) -> None:
        self.lines = lines
        self.pairs = pairs
        self.turned: dict[Expr, tuple[str, str]] = {}  # angles of `pairs` so far: names of sine and cosine
        self.variables = (f"y{i}" for i in count())

    def text(self, x: Expr) -> str:
        """Return a Python expression of type float."""
        if x.is_Symbol:
            return str(x.name)
        if x in _CONSTANTS:
            return _CONSTANTS[x]
        if x.is_number:
            return self._number(x)
        if x.is_Add:
            terms = [self.text(term) for term in x.args]
            signed = [f" - {term[1:]}" if term.startswith("-") else f" + {term}" for term in terms[1:]]
            return terms[0] + "".join(signed)
        if x.is_Mul:
            return self._product(x)
        if x.is_Pow:
            return self._power(x.base, x.exp)
        if isinstance(x, sp.Piecewise):
            return self._piecewise(x)
        return self._function(x)

    def factor(self, x: Expr, divisor: bool = False) -> str:
        """Return the text of an expression that may stand in a product, or behind a division sign."""
        text = self.text(x)
        return f"({text})" if x.is_Add or text.startswith("-") or (divisor and x.is_Mul) else text

    def condition(self, x: Expr) -> str:
        """Return a Python expression of type bool."""
        if x is sp.true or x is sp.false:
            return str(bool(x))
        if x.is_Symbol:
            return str(x.name)
        if type(x) in _RELATIONS:
            return f"{self.text(x.lhs)} {_RELATIONS[type(x)]} {self.text(x.rhs)}"
        if isinstance(x, (sp.And, sp.Or)):
            word = " and " if isinstance(x, sp.And) else " or "
            return word.join(f"({self.condition(part)})" for part in sorted(x.args, key=sp.default_sort_key))
        if isinstance(x, sp.Not):
            return f"not ({self.condition(x.args[0])})"
        raise ValueError(f"the condition {x} has no compiled form; use comparisons with And, Or, Not.")

    def variable(self, x: Expr) -> str:
        """Return a name (or number) for an expression that is needed more than once."""
        if x.is_Symbol or x.is_number:
            return self.factor(x)
        text = self.text(x)
        name = next(self.variables)
        self.lines.append(f"{name} = {text}")
        return name

    def _number(self, x: Expr) -> str:
        if not (x.is_real and x.is_finite):
            raise ValueError(f"{x} is not a finite real number; an expression divides by zero or is complex.")
        value = float(x)
        if not math.isfinite(value):
            raise ValueError(f"a constant of the equations, {str(x)[:40]}, is beyond double precision.")
        return repr(value)

    def _product(self, x: Expr) -> str:
        coefficient, _ = x.as_coeff_Mul()
        above, below = [], []
        for part in x.args:
            if part.is_Number or _is_idle(part, x.args):
                continue
            if part.is_Pow and part.exp.is_Rational and part.exp < 0:
                below.append(self._power(part.base, -part.exp))
            else:
                above.append(self.factor(part))
        sign = "-" if coefficient < 0 else ""
        if abs(float(coefficient)) != 1.0 or not above:
            above.insert(0, self._number(abs(coefficient)))
        quotient = f" / ({' * '.join(below)})" if len(below) > 1 else "".join(f" / {part}" for part in below)
        return sign + " * ".join(above) + quotient

    def _power(self, base: Expr, exponent: Expr) -> str:
        if base is sp.E:
            return f"math.exp({self.text(exponent)})"
        if exponent.is_Float and float(2 * exponent).is_integer():
            exponent = sp.Rational(int(2 * exponent), 2)
        doubled = 2 * exponent
        if not (doubled.is_Integer and abs(doubled) <= 2 * _LONGEST_PRODUCT):
            return f"math.pow({self.text(base)}, {self.text(exponent)})"
        if exponent < 0:
            return f"(1.0 / {self._power(base, -exponent)})"
        if exponent == 1:
            return self.factor(base, divisor=True)
        if exponent == sp.S.Half:
            return f"math.sqrt({self.text(base)})"
        whole, half = divmod(int(doubled), 2)
        name = self.variable(base)
        return f"({' * '.join([name] * whole + [f'math.sqrt({name})'] * half)})"

    def _turned(self, angle: Expr) -> tuple[str, str]:
        """Names of the sine and the cosine of an angle."""
        if angle not in self.turned:
            text, k = self.text(angle), len(self.turned)
            self.turned[angle] = f"s{k}", f"c{k}"
            self.lines.append(f"s{k}, c{k} = sincos({text})")
        return self.turned[angle]

    def _piecewise(self, x: Expr) -> str:
        text = "math.nan"
        for value, condition in reversed(x.args):
            if condition is sp.true:
                text = self.text(value)
            else:
                text = f"({self.text(value)} if {self.condition(condition)} else {text})"
        return text

    def _function(self, x: Expr) -> str:
        name = type(x).__name__
        if name in ("sin", "cos") and x.args[0] in self.pairs:
            return self._turned(x.args[0])[name == "cos"]
        if name in _MATH_FUNCTIONS:
            text = f"{_MATH_FUNCTIONS[name]}({', '.join(self.text(argument) for argument in x.args)})"
            return f"float({text})" if name in ("floor", "ceiling") else text  # Python's floor returns an int
        if name in ("Max", "Min"):  # of two arguments at a time, which is all that CUDA has
            first, *rest = (self.text(argument) for argument in sorted(x.args, key=sp.default_sort_key))
            return reduce(lambda a, b: f"{name.lower()}({a}, {b})", rest, first)
        if name in _RECIPROCALS:
            return f"(1.0 / math.{_RECIPROCALS[name]}({self.text(x.args[0])}))"
        if name == "sign":
            value = self.variable(x.args[0])
            return f"(1.0 if {value} > 0.0 else (-1.0 if {value} < 0.0 else 0.0))"
        if name == "Heaviside":
            value, at_zero = self.variable(x.args[0]), self.text(x.args[1])
            return f"(1.0 if {value} > 0.0 else (0.0 if {value} < 0.0 else {at_zero}))"
        if name == "Mod":
            return f"({self.factor(x.args[0], divisor=True)} % {self.factor(x.args[1], divisor=True)})"
        if name == "sinc":
            value = self.variable(x.args[0])
            return f"(math.sin({value}) / {value} if {value} != 0.0 else 1.0)"
        if name in _COMPLEX:
            raise ValueError(f"{x} is complex: write Abs and powers of real quantities, or declare positive=True.")
        if name == "DiracDelta":
            raise ValueError(
                f"{x} comes from differentiating a jump: energies and slips must be continuous in q and t."
            )
        known = sorted([*_MATH_FUNCTIONS, *_RECIPROCALS, *_BRANCHES, "Mod", "sqrt"], key=str.lower)
        raise ValueError(f"function {name!r} in {x} has no compiled form; known: {', '.join(known)}.")
