"""From energies and gaps to equations (Lagrange II), and from equations to the source of model functions.

The equations are those of [GS05] eqs. (6)-(10). The source follows the contract in `system.System`.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from functools import reduce
from itertools import count
from typing import Any

import sympy as sp
from sympy.core.relational import Relational
from sympy.logic.boolalg import BooleanFunction
from sympy.simplify.fu import TR10i

from stickslip.model.system import CLUTCH, CONTACT, FRICTION, SPRING

Expr = Any
"""A SymPy expression; SymPy's own annotations are too loose to lean on."""
Symbols = tuple[Any, ...]


@dataclass(frozen=True)
class Equations:
    """The derived equations of a system with f coordinates and n contacts, as SymPy objects.

    M du - h dt - sum_i (w_Ni dLambda_Ni + w_Ti dLambda_Ti) = 0 and gamma_i = w_i^T u + w_hat_i,
    [GS05] eqs. (6)-(10).

    The directions are rows here: W_N[i, :] is w_Ni^T.
    """

    name: str
    q: Symbols
    u: Symbols
    t: Expr
    parameters: Symbols
    M: sp.ImmutableMatrix  # (f, f)
    h: sp.ImmutableMatrix  # (f, 1)
    contact_names: tuple[str, ...]
    kind: tuple[int, ...]
    g_N: sp.ImmutableMatrix  # (n, 1)
    W_N: sp.ImmutableMatrix  # (n, f)
    w_hat_N: sp.ImmutableMatrix  # (n, 1)
    W_T: sp.ImmutableMatrix  # (n, f)
    w_hat_T: sp.ImmutableMatrix  # (n, 1)
    mu: Symbols
    eps_N: Symbols
    eps_T: Symbols
    threshold: Symbols
    kinetic: Expr
    potential: Expr
    mu_slip: Symbols = ()  # (n,) coefficients while contact k slips with speed[k]; empty where all are constant
    law_values: Symbols = ()  # parameters of the friction laws, one after the other

    @property
    def depends_on_time(self) -> bool:
        """Time stands in an energy, a gap or a slip: a drive or a moving wall can do work."""
        parts = (self.kinetic, self.potential, self.g_N, self.w_hat_N, self.w_hat_T)
        return any(self.t in part.free_symbols for part in parts) or not (
            self.w_hat_N.is_zero_matrix and self.w_hat_T.is_zero_matrix
        )

    @property
    def mass_constant(self) -> bool:
        """M depends on the parameters only."""
        return self.M.free_symbols.isdisjoint({*self.q, self.t})

    @property
    def directions_constant(self) -> bool:
        """M, the directions and the drifts depend on the parameters only."""
        moving = {*self.q, self.t}
        rows = (self.W_N, self.w_hat_N, self.W_T, self.w_hat_T)
        return self.mass_constant and all(x.free_symbols.isdisjoint(moving) for x in rows)

    @property
    def force_depends_on_u(self) -> bool:
        """h contains a velocity."""
        return not self.h.free_symbols.isdisjoint(self.u)

    def replaced(self, names: Mapping[Expr, Expr]) -> Equations:
        """Return the same equations in other symbols."""
        changed: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, sp.Basic):
                changed[field.name] = value.xreplace(names)
            elif isinstance(value, tuple) and any(isinstance(x, sp.Basic) for x in value):
                changed[field.name] = tuple(x.xreplace(names) for x in value)
            else:
                changed[field.name] = value
        return Equations(**changed)

    def text(self) -> str:
        """The equations as plain text."""
        return _as_text(_tidy(self))

    def latex(self) -> str:
        """The equations as LaTeX, one display formula per line, for a document with amsmath."""
        return _as_latex(_tidy(self))


# -- derivation ----------------------------------------------------------------------------------------------


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
    """Refuse derivatives once all of those taken inside have more than `most` symbols, numbers and operations."""
    token = _allowance.set([most])
    try:
        yield
    finally:
        _allowance.reset(token)


def _require_allowed(expression: Expr, x: Expr) -> None:
    """Take the size of a derivative by x from what `limited_derivatives` allows, or raise where it is too much."""
    left = _allowance.get()
    if left is None:
        return
    size: dict[Expr, int] = {}
    slope: dict[Expr, int] = {}  # size of the derivative by x
    for node in sp.postorder_traversal(expression):
        if node not in size:
            weight = 9 if isinstance(node, (sp.Max, sp.Min)) else 1  # SymPy compares their arguments in pairs
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


def shorten(expression: Expr) -> Expr:
    """Return the shortest of an expression, its expansion, and the latter with sin^2 = 1 - cos^2.

    This cheap normal form is enough to see that the mass of a pendulum is constant; `sp.simplify` takes
    seconds.  Forms that lose digits are left out: (x - a)^2 is exact where x and a are large and near to one another,
    x^2 - 2 a x + a^2 is not.
    """
    if expression.is_Atom or _expanded_terms(expression) > LARGEST_EXPANSION:
        return expression
    expanded = _expand(expression)
    forms = [expression, expanded]
    if any(isinstance(x.base, sp.sin) for x in expanded.atoms(sp.Pow)):
        without_squares = expanded.replace(_is_sine_power, _without_sine_squares)
        if _expanded_terms(without_squares) <= LARGEST_EXPANSION:
            forms.append(_expand(without_squares))
    shortest = min(forms, key=lambda form: form.count_ops())
    if shortest is expression or not _loses_digits(shortest, expression):
        return shortest
    return min((form for form in forms if not _loses_digits(form, expression)), key=lambda form: form.count_ops())


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


def _loses_digits(form: Expr, other: Expr) -> bool:
    """Whether a form has far larger rounding errors than another one of the same value, far from the origin.

    False where that is not known, as for functions that are not smooth.
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


def _expand(expression: Expr) -> Expr:
    return expression.expand(power_base=False, power_exp=False, log=False, basic=False)


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


# -- source --------------------------------------------------------------------------------------------------


def model_source(equations: Equations) -> str:
    """Return the source of the model functions, as `system.System` asks for them.

    The text depends on the equations alone: same system, same text, in every process.
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
    unknown = eq.potential is sp.nan
    energy = [("E[0]", eq.kinetic), ("E[1]", sp.Symbol("math.nan") if unknown else eq.potential)]

    fused = (h + g, []) if eq.mass_constant else (M + h + g, mirrored)
    return "\n\n".join(
        [
            function_source("mass", "q, t, p, M", M, mirrored),
            function_source("force", "q, u, t, p, h", h),
            function_source("gap", "q, t, p, g", g),
            function_source("dynamics", "q, u, t, p, M, h, g", *fused),
            function_source("geometry", "q, t, p, W_N, W_T, w_hat", W),
            laws_source(eq.mu, eq.eps_N, eq.eps_T, eq.threshold),
            *friction_sources(eq.mu_slip, eq.law_values),
            function_source("energy", "q, u, t, p, E", energy),
        ]
    )


def jacobian_source(equations: Equations) -> str:
    """Return the source of `jacobian`, the exact derivatives of h, as `system.System` asks for it.

    Where a force jumps (sign, Heaviside) its slope is that of its branches.
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


def laws_source(mu: Sequence[Expr], eps_N: Sequence[Expr], eps_T: Sequence[Expr], threshold: Sequence[Expr]) -> str:
    """Return the source of `laws`, from expressions in the symbols of `source_symbols`."""
    columns = {"mu": mu, "eps_N": eps_N, "eps_T": eps_T, "threshold": threshold}
    values = [(f"{name}[{k}]", value) for name, column in columns.items() for k, value in enumerate(column)]
    return function_source("laws", "p, mu, eps_N, eps_T, threshold", values)


def friction_sources(mu_slip: Sequence[Expr], law_values: Sequence[Expr]) -> list[str]:
    """Return the sources of `friction` and `law_values`; none where all coefficients are constant."""
    if not mu_slip:
        return []
    return [
        function_source("friction", "p, speed, mu", [(f"mu[{k}]", value) for k, value in enumerate(mu_slip)]),
        function_source("law_values", "p, c", [(f"c[{i}]", value) for i, value in enumerate(law_values)]),
    ]


def source_symbols(q: Sequence[Expr], u: Sequence[Expr], t: Expr, parameters: Sequence[Expr]) -> dict[Expr, Expr]:
    """Map a model's symbols to symbols that are named as they are printed: q[0], u[0], t, p[0]."""
    names = {s: f"q[{i}]" for i, s in enumerate(q)}
    names |= {s: f"u[{i}]" for i, s in enumerate(u)}
    names |= {s: f"p[{i}]" for i, s in enumerate(parameters)}
    names[t] = "t"
    return {s: sp.Symbol(name, real=True) for s, name in names.items()}


def function_source(
    name: str, arguments: str, assignments: Sequence[tuple[str, Expr]], closing: Sequence[str] = ()
) -> str:
    """Return the source of a function that assigns expressions to array entries, common parts computed once."""
    shared, results = sp.cse(
        angles_apart([sp.sympify(value) for _, value in assignments]),
        symbols=(sp.Symbol(f"x{i}") for i in count()),
        order="canonical",
        list=True,
    )
    lines: list[str] = []
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
    """Sines and cosines of sums written by those of the summands, where fewer are left to compute that way.

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


class Printer:
    """Prints expressions as Python that Numba compiles for CPU and GPU: floats, `math`, conditional expressions.

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
            if part.is_Number:
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


# -- display -------------------------------------------------------------------------------------------------

_CONTACT_ROWS: tuple[tuple[int, str], ...] = (
    (CONTACT, "unilateral contact: -Lambda_N in Upr(xi_N)"),
    (CLUTCH, "one-way clutch: gamma_N >= 0"),
    (FRICTION, "dry friction: -lambda_T in threshold Sgn(gamma_T)"),
    (SPRING, "prestressed spring: -lambda_T in threshold Sgn(x)"),
)
_PAGE_WIDTH = 110


def _tidy(eq: Equations) -> Equations:
    """The same equations for reading: common factors out, sin a sin b + cos a cos b joined to cos(a - b)."""

    def shortest(x: Expr) -> Expr:
        joined = TR10i(_expand(x))
        return min((x, joined, sp.factor_terms(joined), sp.factor_terms(x)), key=lambda form: form.count_ops())

    rows = ("M", "h", "g_N", "W_N", "w_hat_N", "W_T", "w_hat_T")
    return replace(eq, **{name: getattr(eq, name).applyfunc(shortest) for name in rows})


def _contact_parts(eq: Equations, k: int) -> list[tuple[str, str, Expr]]:
    """(text name, LaTeX name, value) of everything that contact k has."""
    normal = eq.kind[k] in (CONTACT, CLUTCH)
    tangential = not eq.W_T[k, :].is_zero_matrix
    parts: list[tuple[str, str, Expr]] = []
    if eq.kind[k] in (CONTACT, SPRING):
        parts.append(("g_N", f"g_{{N{k + 1}}}", eq.g_N[k]) if normal else ("x", f"x_{{{k + 1}}}", eq.g_N[k]))
    if normal:
        parts.append(("w_N", rf"\mathbf{{w}}_{{N{k + 1}}}", eq.W_N[k, :]))
        parts.append(("w_hat_N", rf"\hat w_{{N{k + 1}}}", eq.w_hat_N[k]))
    if tangential:
        parts.append(("w_T", rf"\mathbf{{w}}_{{T{k + 1}}}", eq.W_T[k, :]))
        parts.append(("w_hat_T", rf"\hat w_{{T{k + 1}}}", eq.w_hat_T[k]))
    if eq.kind[k] == CONTACT:
        parts.append(("eps_N", rf"\varepsilon_{{N{k + 1}}}", eq.eps_N[k]))
    if tangential and normal:
        parts.append(("mu", rf"\mu_{{{k + 1}}}", eq.mu[k]))
        if eq.mu_slip and eq.mu_slip[k] != eq.mu[k]:
            speed = {sp.Symbol(f"speed[{k}]", nonnegative=True): sp.Symbol("v", nonnegative=True)}
            parts.append(("mu(|v|)", rf"\mu_{{{k + 1}}}(v)", eq.mu_slip[k].xreplace(speed)))
        parts.append(("eps_T", rf"\varepsilon_{{T{k + 1}}}", eq.eps_T[k]))
    if not eq.threshold[k].is_zero:
        parts.append(("threshold", f"a_{{{k + 1}}}", eq.threshold[k]))
    return parts


def _as_text(eq: Equations) -> str:
    def line(symbols: Iterable[Expr]) -> str:
        return ", ".join(str(s) for s in symbols)

    blocks = [
        f"{eq.name}\n"
        f"  coordinates  q = ({line(eq.q)})\n"
        f"  velocities   u = ({line(eq.u)})\n"
        f"  parameters   {line(eq.parameters) or 'none'}",
        "M du - h dt - dR = 0",
        _matrix_text("M", eq.M),
        _matrix_text("h", eq.h),
        f"T = {eq.kinetic}\nV = {eq.potential}",
    ]
    meaning = dict(_CONTACT_ROWS)
    for k, name in enumerate(eq.contact_names):
        rows = [f"contact {k + 1} {name!r}, {meaning[eq.kind[k]]}"]
        for label, _, value in _contact_parts(eq, k):
            shown = f"({line(value)})" if isinstance(value, sp.MatrixBase) else str(value)
            rows.append(f"  {label:<9} = {shown}")
        blocks.append("\n".join(rows))
    return "\n\n".join(blocks) + "\n"


def _matrix_text(name: str, matrix: sp.ImmutableMatrix) -> str:
    """Columns where they fit on a page, otherwise one entry per line."""
    cells = [[str(entry) for entry in matrix[i, :]] for i in range(matrix.rows)]
    widths = [max(len(row[j]) for row in cells) for j in range(matrix.cols)]
    if len(name) + 5 + sum(widths) + 2 * len(widths) <= _PAGE_WIDTH:
        margin = " " * (len(name) + 3)
        rows = ["[" + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + "]" for row in cells]
        return f"{name} = " + f"\n{margin}".join(rows)
    return "\n".join(
        f"{name}[{i + 1}, {j + 1}] = {cell}" if matrix.cols > 1 else f"{name}[{i + 1}] = {cell}"
        for i, row in enumerate(cells)
        for j, cell in enumerate(row)
    )


def _as_latex(eq: Equations) -> str:
    names = {s: _latex_name(s) for s in (*eq.q, *eq.u, *eq.parameters)}
    names |= {u: rf"\dot{{{names[x]}}}" for x, u in zip(eq.q, eq.u, strict=True) if u.name == f"{x.name}_dot"}

    def tex(x: Expr) -> str:
        return str(sp.latex(x, symbol_names=names, mat_str="pmatrix", mat_delim=""))

    rows = [
        r"\mathbf{M}\,\mathrm{d}\mathbf{u} - \mathbf{h}\,\mathrm{d}t - \mathrm{d}\mathbf{R} &= 0",
        rf"\mathbf{{q}} &= {tex(sp.Matrix(eq.q))}, \quad \mathbf{{u}} = {tex(sp.Matrix(eq.u))}",
        rf"\mathbf{{M}} &= {tex(eq.M)}",
        rf"\mathbf{{h}} &= {tex(eq.h)}",
    ]
    for k in range(len(eq.kind)):
        for _, label, value in _contact_parts(eq, k):
            rows.append(f"{label} &= {tex(value.T if isinstance(value, sp.MatrixBase) else value)}")
    return "\\begin{align*}\n" + " \\\\\n".join(rows) + "\n\\end{align*}\n"


def _latex_name(symbol: Expr) -> str:
    """SymPy's LaTeX for a symbol such as m_S or phi_M; words such as friction stand upright."""
    text = str(sp.latex(symbol))
    if len(symbol.name.split("_")[0]) == 1 or text.startswith("\\"):
        return text
    word = symbol.name.replace("_", "\\_")
    return rf"\mathrm{{{word}}}"
