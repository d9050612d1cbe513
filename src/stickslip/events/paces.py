"""How long steps of the integrator may be where functions of time or place change fast.

A step across a pulse that none of its stages sees has no error, as far as its estimate tells.  What rests, or flies
freely, takes steps as long as the run.  So the run is halved beforehand, until every function of time changes by little
more than its own size within a part: its rate is bounded over all of it (`mechanisms.ranges`).

Where a function of place is narrow, such as a bump of the ground, the motion decides when it is met.  There a step is
taken anew, half as long, until the bounds over its parts say no more than what is seen between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from stickslip.checks import Array
from stickslip.mechanisms.corners import speed_of, speed_symbol
from stickslip.mechanisms.ranges import Course, Range, Ranges

_CHANGE = 8.0  # of half of what a function has for values: by so much it may change within a part
_MOST = 2048  # parts; a function that needs more of them is fast everywhere, and every step notices it
_LEAST = 1e-9  # share of the run: shorter parts are not halved
_SEEN = 4.0  # times the change that the stages of a step see: so much a function may change between them
_NOTHING = 1e-2  # changes below this, and this share of a function, do not count: a peak of exp, tanh or atan has 1
_SHORTER = 0.25  # of a part: a step ends before a next one that is shorter than this


@dataclass(frozen=True, eq=False)
class Paces:
    """The parts of a run, by their ends (rising)."""

    ends: Array

    def longest(self, t: float) -> float:
        """The longest step from t on: through the next part, or up to it where it is far shorter."""
        ends = self.ends
        i = int(np.searchsorted(ends, t, side="right"))  # the end of the present part
        if i >= len(ends) - 1:
            return float("inf")
        own, following = ends[i] - ends[max(i - 1, 0)], ends[i + 1] - ends[i]
        left = float(ends[i] - t)
        enters = following >= _SHORTER * own or left < 1e-3 * following
        return left + float(following) if enters else left


def paces_of(system: Any, p: Array, begin: float, end: float) -> Paces | None:
    """The parts of a run from begin to end [s]; None where one part will do."""
    try:
        equations = system.equations()
    except (AttributeError, ValueError):  # another kind of system, or one that was given as functions
        return None
    functions = _functions_of_time(equations)
    if functions is None or not end > begin:
        return None
    found = [_parts(Ranges([x], functions.symbols), begin, end) for x in functions.held(p).expressions]
    ends = np.unique(np.concatenate([[begin, end], *found]))
    return Paces(ends) if len(ends) > 2 else None


@dataclass(frozen=True, eq=False)
class Narrow:
    """Functions of place, velocity and time that may be narrow.

    ranges : of the functions, by (q, u, t);  contacts : (j,) of whose friction a function is part; -1 for all others
    """

    ranges: Ranges
    contacts: tuple[int, ...]


def narrow_functions(system: Any) -> Narrow | None:
    """The functions of a system that may be narrow; None where there are none."""
    try:
        equations = system.equations()
    except (AttributeError, ValueError):
        return None
    return _narrow_functions(equations)


@lru_cache(maxsize=64)
def _narrow_functions(equations: Any) -> Narrow | None:
    import sympy as sp

    rows = (equations.M, equations.h, equations.g_N, equations.W_N, equations.W_T, equations.w_hat_N, equations.w_hat_T)
    found = {(-1, x) for part in rows for x in _narrow_in(part, {*equations.q, *equations.u})}
    for k in range(len(equations.kind)):
        speed = speed_symbol(k)
        laws = [law[k] for law in (equations.mu, equations.threshold, equations.mu_slip) if law]
        atoms = _narrow_in(sp.Tuple(*laws), {*equations.q, *equations.u, speed})
        found |= {(k, x.xreplace({speed: speed_of(equations, k)})) for x in atoms}
    if not found:
        return None
    ordered = sorted(found, key=lambda pair: (pair[0], sp.default_sort_key(pair[1])))
    symbols = (*equations.q, *equations.u, equations.t)
    return Narrow(Ranges([x for _, x in ordered], symbols, equations.parameters), tuple(k for k, _ in ordered))


def _narrow_in(part: Any, moving: set[Any]) -> set[Any]:
    """What may be narrow in an expression or matrix, as the `moving` symbols move."""
    import sympy as sp

    kinds = (sp.exp, sp.tanh, sp.sinh, sp.cosh, sp.erf, sp.erfc, sp.atan)
    found = {x for x in part.atoms(*kinds) if moving & x.free_symbols}
    return found | {x for x in part.atoms(sp.Pow) if _is_bump(x, moving)}


def _is_bump(power: Any, moving: set[Any]) -> bool:
    """Whether a power is like 1 / (1 + (k (x - a))^2): of a sum of what does not move and even powers of what does.

    Other negative powers, such as inverses of distances, are no bumps; their bounds are wide where terms cancel.
    """
    base, exponent = power.as_base_exp()
    if not (exponent.is_number and exponent.is_negative and base.is_Add):
        return False
    terms = [term for term in base.args if term.free_symbols & moving]
    factors = [factor.as_base_exp() for term in terms for factor in term.as_ordered_factors()]
    even = [(of, n) for of, n in factors if of.free_symbols & moving]
    return 0 < len(terms) < len(base.args) and all(
        n.is_Integer and n.is_positive and n % 2 == 0 and of.is_polynomial(*moving) for of, n in even
    )


def hides(functions: Ranges, states: tuple[list[Course], list[Course]], asked: list[bool]) -> bool:
    """Whether functions may change within the parts of a step by far more than what its stages see.

    states : courses of all symbols, over the parts and at the stages;  asked : of which functions
    """
    over, at = (functions.courses(given, rates=False) for given in states)
    time = states[0][-1].value
    length = np.asarray(time.high) - np.asarray(time.low)
    for part, point, counts in zip(over, at, asked, strict=True):
        if not counts:
            continue
        seen = np.atleast_1d(0.5 * (np.asarray(point.value.low) + np.asarray(point.value.high)))
        change = np.ptp(seen)
        allowed = _SEEN * change + _NOTHING * (1.0 + np.abs(seen).max())
        room = np.asarray(part.value.high) - np.asarray(part.value.low)
        if not np.any(room > allowed):
            continue
        with np.errstate(all="ignore"):  # bounds of the rate are nearer where terms cancel, such as in x^2 + y^2
            room = np.fmin(room, part.rate.size * length)
        if np.any(room > allowed):
            return True
    return False


@lru_cache(maxsize=64)
def _functions_of_time(equations: Any) -> Ranges | None:
    """Functions of time and parameters in the equations of motion, but for polynomials and what has corners."""
    import sympy as sp

    cornered = (sp.Abs, sp.Max, sp.Min, sp.sign, sp.Heaviside, sp.Piecewise, sp.floor, sp.ceiling, sp.Mod)
    known = {equations.t, *equations.parameters}
    rows = (equations.M, equations.h, equations.g_N, equations.W_N, equations.W_T, equations.w_hat_N, equations.w_hat_T)
    laws = (sp.Tuple(*law) for law in (equations.mu, equations.threshold, equations.mu_slip))
    atoms = {x for part in (*rows, *laws) for x in part.atoms(sp.Function, sp.Pow) if equations.t in x.free_symbols}
    found = [
        x for x in atoms
        if x.free_symbols <= known and not x.atoms(*cornered) and not (x.is_Pow and x.is_polynomial(equations.t))
    ]  # fmt: skip
    if not found:
        return None
    return Ranges(sorted(found, key=sp.default_sort_key), [equations.t], equations.parameters)


def _parts(ranges: Ranges, begin: float, end: float) -> Array:
    """Ends of parts within which a function changes little; none where it is fast everywhere."""
    a, b, calm = np.array([begin]), np.array([end]), []
    least, most = np.inf, -np.inf  # that the function has been seen to be
    while len(a):
        middle = 0.5 * (a + b)
        point = ranges.courses([Course(Range(middle, middle), Range(1.0, 1.0))])[0].value
        values = np.broadcast_to(point.low, len(a))
        values = values[np.isfinite(values)]
        least, most = min(least, float(values.min(initial=np.inf))), max(most, float(values.max(initial=-np.inf)))
        course = ranges.courses([Course(Range(a, b), Range(1.0, 1.0))])[0]
        low, high, rate = (np.broadcast_to(x, len(a)) for x in (course.value.low, course.value.high, course.rate.size))
        with np.errstate(invalid="ignore"):
            change = np.fmin(rate * (b - a), high - low)
            width = max(most - least, 0.0)
            quiet = (change <= 1e-12 * np.maximum(np.abs(low), np.abs(high))) | (
                rate * (b - a) <= 0.5 * _CHANGE * np.maximum(width, 0.25 * (high - low))
            )
        quiet |= b - a <= _LEAST * (end - begin)
        calm += [*b[quiet]]
        a, b, middle = a[~quiet], b[~quiet], middle[~quiet]
        if len(calm) + 2 * len(a) > _MOST:
            return np.zeros(0)
        a, b = np.append(a, middle), np.append(middle, b)
    return np.array(sorted(calm))
