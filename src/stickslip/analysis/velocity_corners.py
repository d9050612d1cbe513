"""Corners of forces and of friction in velocities, such as |a|, max(a, b) and min(a, b).

They are no events.  But a motion may lie on one, and where it passes one, the variational equations X' = A X + B have a
jump of A: a collocation step across it is of first order only, and has to be cut there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from stickslip.checks import Array
from stickslip.events.arcs import SAMPLES, Arc, root_between

_ON = 1e-12  # levels below, in units of the model, are on the corner
_STEP = 1e-4  # of the state: the longer one of two steps that tell a corner from a bend


@dataclass(frozen=True, eq=False)
class VelocityCorners:
    """Levels (j, ...) of the corners as a function of q (f, ...), u, t, p: zero right on them.

    The first `of_forces` are those of |a|, max and min in forces, which a motion may lie on.
    """

    levels: Callable[[Array, Array, Any, Array], Array]
    of_forces: int
    force: Callable[[Array, Array, float, Array], Array]

    @classmethod
    def of(cls, system: Any) -> VelocityCorners | None:
        """The corners of a system's forces; None without any, and where forces are no expressions."""
        import sympy as sp

        try:
            equations = system.equations()
        except (AttributeError, ValueError):  # another kind of system, or one that was given as functions
            return None
        velocities, found = set(equations.u), []
        for term in equations.h.atoms(sp.Abs, sp.Max, sp.Min):
            if term.free_symbols & velocities:
                found += levels_of(term)
        count = len(found)
        found += [level for level in _other_levels(equations) if level not in found]
        if not found:
            return None
        parameters = equations.parameters
        values = sp.lambdify([equations.q, equations.u, equations.t, parameters], found, "numpy")

        def levels(q: Array, u: Array, t: Any, p: Array) -> Array:
            with np.errstate(all="ignore"):
                rows = values(q, u, t, p[: len(parameters)])
            return np.array([np.broadcast_to(row, np.shape(u[0])) for row in rows], dtype=float)

        return cls(levels, count, system.force)

    def passed(self, arc: Arc, p: Array) -> list[float]:
        """Times inside an arc, in order, at which a level goes through zero."""
        times = np.linspace(arc.t_A, arc.t_E, SAMPLES + 1)

        def at(t: Any) -> Array:
            y = arc.vector(t).T
            return self.levels(y[: arc.f], y[arc.f : 2 * arc.f], t, p)

        rows = at(times)
        found = []
        for j, i in np.argwhere(rows[:, :-1] * rows[:, 1:] < 0.0):

            def level(t: float, j: int = int(j)) -> float:
                return float(at(t)[j])

            found.append(root_between(level, float(times[i]), float(times[i + 1])))
        return sorted(time for time in found if arc.t_A < time < arc.t_E)

    def on(self, t: float, x: Array, p: Array) -> np.ndarray:
        """Which corners of forces a state x (2 f,) lies on, (j,) bool."""
        f = len(x) // 2
        return np.asarray(np.abs(self.levels(x[:f], x[f:], t, p)[: self.of_forces]) <= _ON)

    def bends(self, t: float, x: Array, p: Array, moved: Array, changed: Array) -> bool:
        """Whether forces have a corner at x along one of the columns `moved` (2 f, k) with parameters `changed` (m, k).

        The second difference over the step stays at a corner, and falls with the step where forces are smooth.
        """
        f = len(x) // 2
        for d, e in zip(moved.T, changed.T, strict=True):
            size = max(float(np.abs(d).max(initial=0.0)), float(np.abs(e).max(initial=0.0)))
            if not 0.0 < size < np.inf:
                continue

            def at(s: float, d: Array = d / size, e: Array = e / size) -> Array:
                y = x + s * d
                return self.force(y[:f], y[f:], t, p + s * e)

            here = at(0.0)
            long, short = (float(np.abs(at(s) - 2.0 * here + at(-s)).max()) / s for s in (_STEP, 0.1 * _STEP))
            if short > max(0.5 * long, 1e-9 * max(1.0, float(np.abs(here).max()))):
                return True
        return False


def levels_of(term: Any) -> list[Any]:
    """What is zero at the corners of |a|, max, min, sign, Heaviside or of conditions."""
    import sympy as sp
    from sympy.core.relational import Relational

    if isinstance(term, sp.Piecewise):
        return [relation.lhs - relation.rhs for _, condition in term.args for relation in condition.atoms(Relational)]
    if isinstance(term, (sp.Max, sp.Min)):
        return [a - b for a, b in combinations(term.args, 2)]
    return [term.args[0]]


def _other_levels(equations: Any) -> list[Any]:
    """Levels in velocities: of steps and conditions in forces, and of all corners of friction in the speed of slip."""
    import sympy as sp

    stepped, kinked = (sp.sign, sp.Heaviside, sp.Piecewise), (sp.Abs, sp.Max, sp.Min)
    velocities, found = set(equations.u), []
    found += [level for term in equations.h.atoms(*stepped) for level in levels_of(term)]
    slip = equations.W_T * sp.Matrix(equations.u) + equations.w_hat_T
    for k, value in enumerate(equations.mu_slip):
        speed = {sp.Symbol(f"speed[{k}]", nonnegative=True): sp.Abs(slip[k])}
        found += [level.xreplace(speed) for term in value.atoms(*stepped, *kinked) for level in levels_of(term)]
    return [level for level in dict.fromkeys(found) if level.free_symbols & velocities]
