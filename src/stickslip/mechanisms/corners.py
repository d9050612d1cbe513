"""Corners of forces and of friction in velocities, such as |a|, max(a, b) and min(a, b): where they are.

They are no events: a motion goes through them, or lies on them.  But a step of the integrator across one is of first
order only, and so is a step of the variational equations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.relational import Relational

from stickslip.checks import Array
from stickslip.mechanisms.ranges import Ranges
from stickslip.mechanisms.symbolic import Equations
from stickslip.mechanisms.system import TANGENT


@dataclass(frozen=True, eq=False)
class Corners:
    """Levels of corners: zero right on them.

    Attributes
    ----------
    expressions : (j,) of q, u, t and the parameters; the first `of_forces` are those of |a|, max and min in forces
    contacts : (j,) of whose friction a level is a corner; -1 for forces
    ranges : of the expressions, by (q, u, t)
    """

    expressions: tuple[Any, ...]
    of_forces: int
    contacts: tuple[int, ...]
    ranges: Ranges
    function: Callable[..., Any]

    def levels(self, q: Array, u: Array, t: Any, p: Array) -> Array:
        """The levels (j, ...) of coordinates (f, ...) and velocities (f, ...)."""
        with np.errstate(all="ignore"):
            rows = self.function(q, u, t, p[: len(self.ranges.parameters)])
        return np.array([np.broadcast_to(row, np.shape(u[0])) for row in rows], dtype=float)

    def values(self, t: Array, y: Array, p: Array) -> Array:
        """The levels (j, k) at k times, of the states y (k, 2 f or more)."""
        f = len(self.ranges.symbols) // 2
        return self.levels(y.T[:f], y.T[f : 2 * f], t, p)


def corners_of(system: Any) -> Corners | None:
    """The corners of a system's forces and friction; None without any, and where forces are no expressions."""
    try:
        equations = system.equations()
    except (AttributeError, ValueError):  # another kind of system, or one that was given as functions
        return None
    return _corners_of(equations)


@lru_cache(maxsize=64)
def _corners_of(equations: Equations) -> Corners | None:
    velocities, found = set(equations.u), []
    for term in equations.h.atoms(sp.Abs, sp.Max, sp.Min):
        if term.free_symbols & velocities:
            found += levels_of(term)
    count = len(found)
    others = {level: k for level, k in _other_levels(equations).items() if level not in found}
    found += others
    if not found:
        return None
    parameters = equations.parameters
    ranges = Ranges(found, (*equations.q, *equations.u, equations.t), parameters)
    function = sp.lambdify([equations.q, equations.u, equations.t, parameters], found, "numpy")
    return Corners(tuple(found), count, (*(-1 for _ in range(count)), *others.values()), ranges, function)


def speed_symbol(k: int) -> Any:
    """What stands for the speed of slip of contact k in its friction."""
    return sp.Symbol(f"speed[{k}]", nonnegative=True)


def speed_of(equations: Equations, k: int) -> Any:
    """The speed of slip of contact k, of one tangent or two."""
    spatial = k + 1 < len(equations.kind) and equations.kind[k + 1] == TANGENT
    rows, u = range(k, k + 1 + spatial), sp.Matrix(equations.u)
    slips = [(equations.W_T[row, :] * u)[0] + equations.w_hat_T[row] for row in rows]
    return sp.sqrt(sum(slip**2 for slip in slips)) if spatial else sp.Abs(slips[0])


def levels_of(term: Any) -> list[Any]:
    """What is zero at the corners of |a|, max, min, sign, Heaviside or of conditions."""
    if isinstance(term, sp.Piecewise):
        return [relation.lhs - relation.rhs for _, condition in term.args for relation in condition.atoms(Relational)]
    if isinstance(term, (sp.Max, sp.Min)):
        return [a - b for a, b in combinations(term.args, 2)]
    return [term.args[0]]


def _other_levels(equations: Equations) -> dict[Any, int]:
    """Levels in velocities: of steps and conditions in forces, and of all corners of friction in the speed of slip.

    With the contacts whose friction it is; -1 for forces.
    """
    stepped, kinked = (sp.sign, sp.Heaviside, sp.Piecewise), (sp.Abs, sp.Max, sp.Min)
    velocities: set[Any] = set(equations.u)
    found: dict[Any, int] = {}
    found |= {level: -1 for term in equations.h.atoms(*stepped) for level in levels_of(term)}
    for k, value in enumerate(equations.mu_slip):
        speed = {speed_symbol(k): speed_of(equations, k)}
        levels = [level.xreplace(speed) for term in value.atoms(*stepped, *kinked) for level in levels_of(term)]
        found |= {level: k for level in levels if level not in found}
    return {level: k for level, k in found.items() if level.free_symbols & velocities}
