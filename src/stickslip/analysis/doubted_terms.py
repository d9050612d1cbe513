"""Doubts that the terms of a model raise: jumps that are no events, corners and ranges of parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.checks import Array
from stickslip.mechanisms.corners import levels_of

if TYPE_CHECKING:
    from stickslip.analysis.varied_motion import VariedMotion

_ON = 1e-12  # share of a level's terms below which it is zero
_ASIDE = 1e-9  # share of a parameter by which it is moved, to see whether it may be
_WIDE, _NARROW, _FALLS = "1e-6", "1e-18", 1e-4  # distances to a step of a force, and by how much its two sides near
_DIGITS = 50
_PLACES = 24  # at which the two sides of a step are compared


def doubt_jumps(motion: VariedMotion) -> None:
    """Doubt forces that may jump where no event is: sign of a velocity, floor of a coordinate, and the like.

    Of functions the text is not known.  There differences tell.
    """
    system: Any = motion.system
    if motion.slopes.error > 0.0:
        motion.doubt(
            0.0,
            f"differences of the functions of {system.name!r} agree to {motion.slopes.error:.1e} only: they are not "
            "smooth, or smooth on a very short scale",
        )
    equations = _equations(motion)
    if equations is None:
        return
    import sympy as sp

    velocities, moving = set(equations.u), {*equations.q, *equations.u, equations.t}
    speeds = [sp.Symbol(f"speed[{k}]", nonnegative=True) for k in range(len(equations.kind))]
    for entry in (*equations.h, *equations.W_T, *equations.w_hat_T, *equations.mu_slip):
        fast = velocities | (set(speeds) & entry.free_symbols)
        steps = [x for x in entry.atoms(sp.sign, sp.Heaviside) if x.free_symbols & fast]
        steps += [x for x in entry.atoms(sp.Piecewise) if any(c.free_symbols & fast for _, c in x.args)]
        rounded = entry.atoms(sp.floor, sp.ceiling, sp.Mod)
        kept = [x for x in steps if not _meets(entry, x, fast, motion)]
        kept += [x for x in rounded if x.free_symbols & (moving | fast)]
        if kept:
            said = str(named(kept[0], motion))[:60]
            motion.doubt(0.0, f"{said} may jump, and is no event: the derivative does not know of the jump")
            return


def _meets(entry: Any, step: Any, fast: set[Any], motion: VariedMotion) -> bool:
    """Whether both sides of an expression meet where a step in it changes sides, as those of sign(v) v^2 do.

    They are compared near zeros of the step's levels at random places.  Both sides must near one another as the
    distance falls.  Each of the terms with the step has to be seen: max(0, -x) sign(v) says nothing at x > 0.
    """
    import mpmath
    import sympy as sp

    equations: Any = _equations(motion)
    branches = equations.parameters[len(equations.parameters) - len(motion.system.kink_contacts) :]
    values = dict(zip(equations.parameters, motion.p.tolist(), strict=False))
    values = {symbol: value for symbol, value in values.items() if symbol not in branches}
    mark = sp.Dummy(real=True)
    summed = sp.Add.make_args(sp.expand_mul(entry.xreplace({step: mark})))
    terms = [x.xreplace({mark: step}) for x in summed if x.has(mark)]
    rng = np.random.default_rng(0)
    for level in levels_of(step):
        if not level.free_symbols & fast:
            continue  # it turns with place and time: an event
        seen = np.zeros(len(terms), dtype=bool)
        for factor in _factors(level):
            x = next((y for y in _by_speed(factor, fast) if not factor.diff(y).has(y)), None)
            if x is None:
                return False
            others = sorted((entry.free_symbols | level.free_symbols) - {x} - set(values), key=str)
            zero = sp.lambdify(others, (x - factor / factor.diff(x)).expand().xreplace(values), "mpmath")
            sides = sp.lambdify([x, *others], [y.xreplace(values) for y in (entry, *terms)], "mpmath")
            for _ in range(_PLACES):
                place = [_somewhere(y, y in branches, rng) for y in others]
                with mpmath.workdps(_DIGITS):
                    try:
                        at = zero(*place)
                        wide, narrow = (
                            [abs(a - b) for a, b in zip(sides(at + d, *place), sides(at - d, *place), strict=True)]
                            for d in (mpmath.mpf(_WIDE), mpmath.mpf(_NARROW))
                        )
                        if not narrow[0] <= _FALLS * wide[0] + mpmath.mpf("1e-30"):
                            return False
                    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
                        return False
                seen |= np.array([x > 0 for x in wide[1:]], dtype=bool)
        if not seen.all():
            return False
    return True


def _factors(level: Any) -> list[Any]:
    """The factors of a level that are no numbers: it is zero where one of them is."""
    import sympy as sp

    try:
        return [factor for factor, _ in sp.factor_list(level)[1]]
    except sp.PolynomialError:
        return [level]


def _by_speed(factor: Any, fast: set[Any]) -> list[Any]:
    """The symbols of a factor, velocities first."""
    return sorted(factor.free_symbols, key=lambda symbol: (symbol not in fast, str(symbol)))


def _somewhere(symbol: Any, branch: bool, rng: np.random.Generator) -> Any:
    """A number for a symbol, of either sign where it may be negative."""
    import mpmath

    sign = 1.0 if symbol.is_nonnegative else float(rng.choice([-1.0, 1.0]))
    return mpmath.mpf(sign if branch else sign * float(rng.uniform(0.1, 1.0)) * 10.0 ** float(rng.integers(0, 2)))


def doubt_corners_of_parameters(motion: VariedMotion) -> None:
    """Doubt columns that move a parameter which is right at a corner of a term, such as a = 1 in max(a, 1)."""
    equations = _equations(motion)
    if equations is None:
        return
    import sympy as sp

    known, p = set(equations.parameters), motion.p[: len(equations.parameters)]
    turning = (sp.Abs, sp.Max, sp.Min, sp.sign, sp.Heaviside, sp.Piecewise, sp.floor, sp.ceiling, sp.Mod)
    rows = [equations.M, equations.h, equations.g_N, equations.W_T, equations.w_hat_N, equations.w_hat_T]
    laws = (equations.mu, equations.eps_N, equations.eps_T, equations.threshold, equations.mu_slip)
    terms = [x for part in (*rows, *(sp.Tuple(*law) for law in laws)) for x in part.atoms(*turning)]
    for term in dict.fromkeys(terms):
        for level in levels_of(term):
            if not level.free_symbols or not level.free_symbols <= known:
                continue
            slopes = [level.diff(symbol) for symbol in equations.parameters]
            value, *rates = (float(x) for x in sp.lambdify([equations.parameters], [level, *slopes], "math")(p))
            value -= round(value) if isinstance(term, (sp.floor, sp.ceiling, sp.Mod)) else 0.0
            terms_of = float(np.abs(np.array(rates)) @ np.abs(p))
            moved = np.array(rates) @ motion.directions[: len(p)]
            if abs(value) <= _ON * terms_of:
                for j in np.flatnonzero(moved):
                    said = str(named(term, motion))[:60]
                    motion.doubt(
                        motion.t,
                        f"{motion.columns[j]!r} moves {said}, which is right at its corner: the derivative is that of "
                        "one side, if any",
                    )


def has_rough_powers(motion: VariedMotion) -> bool:
    """Whether forces have powers such as max(0, -x)^(3/2), whose derivatives are not smooth beside a kink."""
    equations = _equations(motion)
    if equations is None:
        return False
    import sympy as sp

    powers = [x for part in _acting(equations) for x in part.atoms(sp.Pow)]
    return any(not x.exp.is_integer and x.base.atoms(sp.Abs, sp.Max, sp.Min, sp.Piecewise) for x in powers)


def has_inverses(motion: VariedMotion) -> bool:
    """Whether there are inverse functions with ends, such as asin(sin(x)), which has corners that nobody knows of."""
    equations = _equations(motion)
    if equations is None:
        return False
    import sympy as sp

    return any(part.atoms(sp.asin, sp.acos, sp.atan, sp.atan2) for part in _acting(equations))


def _acting(equations: Any) -> tuple[Any, ...]:
    """What acts between impacts."""
    import sympy as sp

    rows = (equations.M, equations.h, equations.W_N, equations.W_T, equations.w_hat_N, equations.w_hat_T)
    return (*rows, *(sp.Tuple(*law) for law in (equations.mu, equations.threshold, equations.mu_slip)))


def doubt_ranges(motion: VariedMotion, z: Array) -> None:
    """Doubt columns that move a coefficient, or a parameter, which is at the end of its range; z, the start."""
    D = motion.basis()[:, 2 * motion.f + 1 :]

    def values(Z: Array) -> Array:
        parts = motion.slopes.parts(Z)
        return np.concatenate([parts.mu, parts.eps_N, parts.eps_T])

    here = np.real(values(z[:, None].astype(complex) if motion.slopes.exact else z[:, None]))[:, 0]
    n = motion.slopes.n
    at_end = (here == 0.0) | ((here == 1.0) & (np.arange(3 * n) >= n))
    moved = motion.slopes.slopes(values, z[:, None], D)[:, 0]
    found = np.argwhere(at_end[:, None] & (np.abs(moved) > 0.0))
    for i, j in found:
        word = ("friction", "restitution_normal", "restitution_tangential")[i // n]
        motion.doubt(
            motion.t,
            f"{motion.columns[j]!r} moves {word} of contact {motion.names[i % n]!r}, which is {here[i]:g}, the end of "
            "its range: the derivative is that of one side",
        )
    for j in sorted(set(np.flatnonzero(np.any(motion.directions != 0.0, axis=0)).tolist()) - {j for _, j in found}):
        refused = [_refusal(motion, sign * motion.directions[:, j]) for sign in (1.0, -1.0)]
        if any(refused):
            motion.doubt(
                motion.t,
                f"{motion.columns[j]!r} is at the end of its range, and the derivative that of one side: beside it "
                f"{next(filter(None, refused))}",
            )


def _refusal(motion: VariedMotion, direction: Array) -> str:
    """Why parameters that are moved a little are refused; empty where they are not."""
    names = motion.system.parameter_names
    there = motion.p + _ASIDE * np.where(motion.p != 0.0, np.abs(motion.p), 1.0) * direction
    try:
        motion.system.check(motion.q, motion.u, dict(zip(names, there[: len(names)].tolist(), strict=True)), motion.t)
    except ValueError as problem:
        return str(problem)
    return ""


def _equations(motion: VariedMotion) -> Any:
    """Equations of a motion in symbols; None where they are not known, or differences tell."""
    system: Any = motion.system
    if not motion.slopes.exact or not callable(getattr(system, "equations", None)):
        return None
    return system.equations()


def named(x: Any, motion: VariedMotion) -> Any:
    """An expression in the names of a model: systems with kinks have numbers in their place."""
    import sympy as sp

    equations, system = _equations(motion), motion.system
    pairs = zip(
        (*equations.q, *equations.u, *equations.parameters),
        (*system.coordinate_names, *system.velocity_names, *system.parameter_names),
        strict=False,
    )
    named = {symbol: sp.Symbol(name) for symbol, name in pairs}
    speeds = {sp.Symbol(f"speed[{k}]", nonnegative=True): sp.Symbol("v") for k in range(len(equations.kind))}
    return x.xreplace(named | speeds)
