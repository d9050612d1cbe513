"""Lagrange's equations of the second kind, derivatives with a limit on their size, and checks of energies.

The equations are those of [GS05] eqs. (6)-(10).
"""

from __future__ import annotations

import functools
import math
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import sympy as sp

Expr = Any
"""A SymPy expression; SymPy's own annotations are too loose to lean on."""


Symbols = tuple[Any, ...]


KEPT = 4096
"""Derivatives and short forms that a process remembers: who builds a mechanism again waits less."""


_FAR = 32.0  # of all symbols from zero, in units of their differences, where rounding errors are compared
_WORSE = 16.0  # times the rounding error of another form, and of a rounded value itself
_SLOPES: dict[type, tuple[Callable[[float], float], Callable[[float], float]]] = {
    sp.sin: (math.sin, math.cos),
    sp.cos: (math.cos, lambda x: -math.sin(x)),
    sp.tan: (math.tan, lambda x: 1.0 + math.tan(x) ** 2),
    sp.exp: (math.exp, math.exp),
    sp.log: (math.log, lambda x: 1.0 / x),
}
"""Functions and their derivatives, for running error analysis."""


def lagrange(
    q: Sequence[Expr],
    u: Sequence[Expr],
    t: Expr,
    T: Expr,
    V: Expr = sp.S.Zero,
    forces: Sequence[Expr] | None = None,
) -> tuple[sp.ImmutableMatrix, sp.ImmutableMatrix]:
    """Derive M and h of M(q, t) du/dt = h(q, u, t) by Lagrange's equations of the second kind.

    With T at most quadratic in u,

        M = d2T/du2,    h = dT/dq - dV/dq - d(dT/du)/dq u - d(dT/du)/dt + forces.

    T may depend on q and t as well (rheonomic systems). Returns M (f, f) and h (f, 1).
    """
    T, V = sp.sympify(T), sp.sympify(V)
    f = len(q)
    momentum = [derivative(T, x) for x in u]
    M = sp.zeros(f, f)
    for i in range(f):
        for j in range(i + 1):
            M[i, j] = M[j, i] = shorten(derivative(momentum[i], u[j]))
    _require_quadratic(M, u)
    _require_regular(M, q)

    if not V.free_symbols.isdisjoint(u):
        raise ValueError(
            "the potential must not depend on velocities, it contains "
            f"{_names(V.free_symbols & set(u))}; give such forces by forces=, in a model file by [forces]."
        )
    h = []
    for i in range(f):
        moving = sum((derivative(momentum[i], q[j]) * u[j] for j in range(f)), derivative(momentum[i], t))
        force = derivative(T, q[i]) - derivative(V, q[i]) - moving
        h.append(shorten(force) + (sp.sympify(forces[i]) if forces is not None else 0))
    return sp.ImmutableMatrix(M), sp.ImmutableMatrix(f, 1, h)


def gradient(expression: Expr, q: Sequence[Expr]) -> list[Expr]:
    """Gradient with respect to q, as a list of f entries."""
    return [shorten(derivative(expression, x)) for x in q]


def derivative(expression: Expr, x: Expr) -> Expr:
    """Differentiate almost everywhere: floor, ceiling and Mod count as smooth between their jumps."""
    if x not in expression.free_symbols:
        return sp.S.Zero
    _require_differentiable(expression, x)
    return _differentiated(expression, x)


@functools.lru_cache(maxsize=KEPT)
def _differentiated(expression: Expr, x: Expr) -> Expr:
    """`derivative`, which has checked that it is no matter of minutes."""
    steps = sorted(expression.atoms(sp.floor, sp.ceiling, sp.Mod), key=sp.default_sort_key)
    if not steps:
        return sp.diff(expression, x)
    frozen: dict[Expr, Expr] = {}  # step functions as constants, because SymPy does not differentiate them
    levels: dict[Expr, Expr] = {}
    for step in steps:
        level = sp.Dummy(real=True)
        if isinstance(step, sp.Mod):
            number, divisor = step.args
            frozen[step] = number - divisor * level
            levels[level] = sp.floor(number / divisor)
        else:
            frozen[step] = level
            levels[level] = step
    return sp.diff(expression.xreplace(frozen), x).xreplace(levels)


LARGEST_DERIVATIVE = 30_000
"""Most symbols, numbers and operations that a derivative may have by the product and chain rules, before shortening."""


LARGEST_EXPANSION = 3_000
"""Most terms that an expression is expanded to; longer ones stay as they are."""


_SIMPLIFIED = 300  # operations up to which SymPy is asked to simplify


_allowance: ContextVar[list[int] | None] = ContextVar("allowance", default=None)


@contextmanager
def limited_derivatives(most: int) -> Iterator[None]:
    """Refuse derivatives once all derivatives taken inside have more than `most` symbols, numbers and operations."""
    token = _allowance.set([most])
    try:
        yield
    finally:
        _allowance.reset(token)


_WEIGHTS = (((sp.Max, sp.Min), 9), ((sp.erf,), 3))
"""Functions that SymPy takes longer with: it compares arguments in pairs, and slopes of erf are new functions."""


def _require_allowed(expression: Expr, x: Expr) -> None:
    """Subtract the size of a derivative by x from the allowance of `limited_derivatives`; raise if it is used up."""
    left = _allowance.get()
    if left is None:
        return
    size: dict[Expr, int] = {}
    slope: dict[Expr, int] = {}  # size of the derivative by x
    for node in sp.postorder_traversal(expression):
        if node not in size:
            weight = next((many for kinds, many in _WEIGHTS if isinstance(node, kinds)), 1)
            size[node] = 1 + weight * sum(size[part] for part in node.args)
            moving = [slope[part] for part in node.args if slope[part]]
            slope[node] = sum(moving) + (0 if node.is_Add else size[node] * len(moving)) if node.args else node == x
    left[0] -= slope[expression]
    if left[0] < 0:
        raise ValueError(
            f"the derivatives would be too long; {str(expression)[:60]}... has too many factors that depend on {x}: "
            "write it shorter."
        )


def _require_differentiable(expression: Expr, x: Expr) -> None:
    """Raise where a derivative would be a matter of minutes: a product of n factors makes n terms of n factors."""
    _require_allowed(expression, x)
    size: dict[Expr, int] = {}
    slope: dict[Expr, int] = {}  # size of the derivative
    for node in sp.postorder_traversal(expression):
        if node in size:
            continue
        sizes = [size[part] for part in node.args]
        size[node] = min(1 + sum(sizes), LARGEST_DERIVATIVE)
        if not node.args:
            slope[node] = 1
        elif node.is_Add:
            slope[node] = sum(slope[part] for part in node.args)
        else:
            slope[node] = sum(slope[part] + size[node] for part in node.args)
        if slope[node] > LARGEST_DERIVATIVE:
            raise ValueError(
                f"the derivative of an expression with {expression.count_ops()} operations would have more than "
                f"{LARGEST_DERIVATIVE} terms: {str(expression)[:60]}...; write it shorter."
            )


def _expanded_terms(expression: Expr) -> int:
    """How many terms an expansion can have, no more than `LARGEST_EXPANSION` + 1."""
    terms: dict[Expr, int] = {}
    for node in sp.postorder_traversal(expression):
        counts = [terms[part] for part in node.args]
        count = 1
        if node.is_Add:
            count = sum(counts)
        elif node.is_Mul:
            count = math.prod(counts)
        elif node.is_Pow and node.exp.is_Integer and counts[0] > 1:
            n = min(abs(int(node.exp)), LARGEST_EXPANSION)
            count = math.comb(n + counts[0] - 1, n)  # multinomial theorem
        elif any(count > LARGEST_EXPANSION for count in counts):
            count = LARGEST_EXPANSION + 1  # arguments of functions are expanded as well
        terms[node] = min(count, LARGEST_EXPANSION + 1)
    return terms[expression]


@functools.lru_cache(maxsize=KEPT)
def shorten(expression: Expr) -> Expr:
    """Return the shortest of three forms of an expression: itself, expanded, expanded with sin^2 = 1 - cos^2.

    This cheap normal form is enough to see that the mass of a pendulum is constant; `sp.simplify` takes
    seconds.  Forms that lose digits are left out: (x - a)^2 is exact where x and a are large and near to one another,
    x^2 - 2 a x + a^2 is not.
    """
    if expression.is_Atom or _expanded_terms(expression) > LARGEST_EXPANSION:
        return expression
    expanded = expand(expression)
    forms = [expression, expanded]
    if any(isinstance(x.base, sp.sin) for x in expanded.atoms(sp.Pow)):
        without_squares = expanded.replace(_is_sine_power, _without_sine_squares)
        if _expanded_terms(without_squares) <= LARGEST_EXPANSION:
            forms.append(expand(without_squares))
    shortest = min(forms, key=lambda form: form.count_ops())
    if shortest is expression or not _loses_digits(shortest, expression):
        return shortest
    return min((form for form in forms if not _loses_digits(form, expression)), key=lambda form: form.count_ops())


def expand(expression: Expr) -> Expr:
    return expression.expand(power_base=False, power_exp=False, log=False, basic=False)


def _loses_digits(form: Expr, other: Expr) -> bool:
    """Whether a form has far larger rounding errors, far from the origin, than another form with equal values.

    False where this is not known, as for functions that are not smooth.
    """
    symbols = sorted(form.free_symbols | other.free_symbols, key=str)
    point = {x: _FAR + math.modf(0.618 * (i + 1))[0] for i, x in enumerate(symbols)}
    try:
        value, error = _rounding_error(form, point)
        _, usual = _rounding_error(other, point)
    except (KeyError, ValueError, ArithmeticError):
        return False
    return error > _WORSE * (usual + abs(value))


def _rounding_error(expression: Expr, point: Mapping[Expr, float]) -> tuple[float, float]:
    """Value of an expression and a bound of its rounding error in units of the machine's: running error analysis.

    Symbols are exact.  KeyError at a function whose derivative is not in `_SLOPES`.
    """
    found: dict[Expr, tuple[float, float]] = {}
    for node in sp.postorder_traversal(expression):
        if node in found:
            continue
        parts = [found[part] for part in node.args]
        if node.is_Number or node.is_NumberSymbol:
            value, error = float(node), 0.0
        elif node.is_Symbol:
            value, error = point[node], 0.0
        elif node.is_Add:
            value = math.fsum(x for x, _ in parts)
            error = sum(e for _, e in parts) + (abs(value) if len(parts) == 2 else sum(abs(x) for x, _ in parts))
        elif node.is_Mul:
            value = math.prod(x for x, _ in parts)
            rest = [math.prod(x for j, (x, _) in enumerate(parts) if j != i) for i in range(len(parts))]
            error = sum(e * abs(others) for (_, e), others in zip(parts, rest, strict=True)) + abs(value)
        elif node.is_Pow and node.exp.is_Number:
            (base, off), power = parts[0], float(node.exp)
            value = base**power
            if isinstance(value, complex):
                raise ValueError("a root of a negative number")
            error = abs(power * base ** (power - 1.0)) * off + abs(value)
        else:
            function, slope = _SLOPES[type(node)]
            value = function(parts[0][0])
            error = abs(slope(parts[0][0])) * parts[0][1] + abs(value)
        found[node] = value, error
    return found[expression]


def _is_sine_power(x: Expr) -> bool:
    return bool(x.is_Pow and isinstance(x.base, sp.sin) and x.exp.is_Integer and x.exp >= 2)


def _without_sine_squares(power: Expr) -> Expr:
    pairs, rest = divmod(int(power.exp), 2)
    return (1 - sp.cos(power.base.args[0]) ** 2) ** pairs * power.base**rest


def _require_quadratic(M: sp.Matrix, u: Sequence[Expr]) -> None:
    for entry in M:
        if entry.free_symbols.isdisjoint(u):
            continue
        most = _SIMPLIFIED if _allowance.get() is None else _SIMPLIFIED // 10
        if entry.count_ops() > most or not sp.simplify(entry).free_symbols.isdisjoint(u):
            shown = str(entry)
            raise ValueError(
                "the kinetic energy must be quadratic in the velocities, but its second derivative is "
                f"{shown if len(shown) < 300 else shown[:300] + '...'}."
            )


def _within_range(M: sp.Matrix, point: Mapping[Expr, Expr]) -> bool:
    """Whether no part of M is beyond double precision at a point; exp(exp(1e9 x)) would take SymPy for ever."""
    values: dict[Expr, Expr] = {symbol: sp.Float(number) for symbol, number in point.items()}
    for node in (node for entry in M for node in sp.postorder_traversal(entry)):
        if node in values:
            continue
        value = node.func(*[values[part] for part in node.args]) if node.args else node
        values[node] = value.evalf(15) if node.args and isinstance(value, sp.Expr) else value
        if isinstance(value, sp.Expr) and value.is_number and not abs(values[node]) < sys.float_info.max:
            return False
    return True


def _require_regular(M: sp.Matrix, q: Sequence[Expr]) -> None:
    for i, x in enumerate(q):
        if all(entry.is_zero for entry in M[i, :]):
            raise ValueError(
                f"the kinetic energy does not contain the velocity of coordinate {str(x)!r}: its row of the mass "
                "matrix is zero; give it a mass, and write velocities with the symbols of velocities= "
                "(for a plain symbol x, x.diff() is 1 in SymPy)."
            )
    # A generic point decides: a determinant that vanishes identically vanishes there, and expanding it is slow.
    generator = random.Random(0)
    symbols = sorted(M.free_symbols, key=sp.default_sort_key)
    point = {s: sp.Rational(generator.randint(500, 1500), 1009) for s in symbols}
    if not _within_range(M, point):
        return
    value = M.xreplace(point).evalf(30)
    if not all(entry.is_real and entry.is_finite for entry in value):
        return
    scale = [sp.sqrt(abs(value[i, i])) for i in range(M.rows)]
    if any(s.is_zero for s in scale):
        singular = True
    else:
        singular = abs(sp.Matrix(M.rows, M.cols, lambda i, j: value[i, j] / scale[i] / scale[j]).det()) < 1e-20
    if singular:
        raise ValueError(
            "the mass matrix is singular for all parameters: the kinetic energy must contain every velocity "
            f"independently, got {M.tolist()}."
        )


def _names(symbols: Iterable[Expr]) -> str:
    return ", ".join(sorted(str(s) for s in symbols))
