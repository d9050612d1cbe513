"""Second derivatives of a function of a motion: differences of exact gradients, along one sequence of events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.analysis.gradient import gradient_with_events
from stickslip.analysis.one_sided import moved_to, value_of
from stickslip.analysis.sensitivity import checked_names, with_params
from stickslip.checks import Array
from stickslip.laws import ImpactLaw
from stickslip.scenario import Scenario, require_scenario

_STEPS = (4e-3, 1.4e-3, 5e-4, 1.7e-4, 6e-5)  # tried one after the other, relative to the quantity
_CLOSE = 1e-3  # how far orders 2 and 4 may differ: the error of order 4 is about the square of it
_NOISE = 1e-12  # relative accuracy of gradients, at best
_LIMIT = 30


@dataclass(frozen=True, eq=False)
class Hessian:
    """Second derivatives of a number.

    Attributes
    ----------
    names : (k,) quantities
    value : the number;  gradient : (k,), its derivatives;  matrix : (k, k), its second derivatives, symmetric
    error : estimate, relative to the largest entry, in quantities relative to their values.  The largest of three: the
        difference of entries (i, j) and (j, i), which are found independently; the error of the differences, from
        orders 2 and 4; a jump of the second derivative, of which the matrix has the mean
    """

    names: tuple[str, ...]
    value: float
    gradient: Array
    matrix: Array
    error: float

    def __str__(self) -> str:
        slopes = np.array2string(self.gradient, precision=6, threshold=8, edgeitems=3)
        rows = np.array2string(self.matrix, precision=6, threshold=16, edgeitems=2, prefix="  matrix = ")
        head = f"value {self.value:.9g}, by {', '.join(self.names[:8])}{', ...' if len(self.names) > 8 else ''}"
        return f"{head}; error {self.error:.1e}\n  gradient = {slopes}\n  matrix = {rows}"


def hessian(
    objective: Callable[..., float], scenario: Scenario, wrt: Sequence[str] | str, *, times: Any = None,
    events: str | None = None, impulses: bool = False, contact: str | None = None,
    slope: Callable[..., Any] | None = None, t_end: float | None = None, rtol: float = 1e-12,
    law: str | ImpactLaw | None = None, params: Mapping[Any, float] | None = None,
) -> Hessian:  # fmt: skip
    """Value, gradient and second derivatives of a function of a motion.

    Exact gradients (`gradient`, adjoint) are differenced: order 4, four gradients per quantity.  All of them must have
    the same events in the same order, and order 2 must agree to 1e-3, or the step is made smaller.

    Parameters
    ----------
    objective, wrt, times, events, impulses, contact, slope, t_end, rtol, law, params : as for `gradient`; at most 30
        quantities

    Raises
    ------
    ValueError : as `gradient`; more than 30 quantities; events that change beside the values, however near
    """
    require_scenario(scenario, "hessian")
    case = with_params(scenario, params)
    names = checked_names(case, wrt)
    if len(names) > _LIMIT:
        raise ValueError(f"hessian takes at most {_LIMIT} quantities, got {len(names)}.")
    options = dict(
        times=times, events=events, impulses=impulses, contact=contact, slope=slope, t_end=t_end, rtol=rtol, law=law
    )

    def at(there: Scenario) -> tuple[float, Array, tuple[Any, ...]]:
        return gradient_with_events(objective, there, names, **options)

    here = at(case)
    sizes = np.array([abs(value_of(case, name)) or 1.0 for name in names])
    found = [_row(at, case, name, sizes, i, here) for i, name in enumerate(names)]
    own = np.array([row for row, _ in found]) * np.outer(sizes, sizes)  # quantities relative to their values
    size = float(np.abs(own).max())
    wrong = max(float(np.abs(own - own.T).max()), *(left for _, left in found))
    rows = own / np.outer(sizes, sizes)
    return Hessian(names, here[0], here[1], 0.5 * (rows + rows.T), wrong / size if size > 0.0 else 0.0)


def _row(
    at: Callable[[Scenario], Any], case: Scenario, name: str, sizes: Array, i: int, here: tuple[Any, ...]
) -> tuple[Array, float]:
    """Derivatives (k,) of the gradient by quantity i, and their error, which is that of relative quantities."""
    value, said, found = value_of(case, name), "its events change", []
    _, middle, seen = here
    for share in _STEPS:
        step = share * sizes[i]
        try:
            ends = [[at(moved_to(case, name, value + sign * k * step)) for sign in (1.0, -1.0)] for k in (1, 2)]
        except ValueError as problem:
            said = str(problem)
            continue
        if any(run[2] != seen for pair in ends for run in pair):
            continue
        near, far = ((pair[0][1] - pair[1][1]) / (2.0 * k * step) for k, pair in zip((1, 2), ends, strict=True))
        bent, more = (
            (pair[0][1] + pair[1][1] - 2.0 * middle) / (k * step) for k, pair in zip((1, 2), ends, strict=True)
        )
        row = (4.0 * near - far) / 3.0
        # Smooth gradients have more = 2 bent, up to a cube of the step, which is below its square (`left`).  Where the
        # second derivative jumps, more = bent.
        left, jump, size = (
            float(np.abs(column * sizes).max()) * sizes[i] for column in (row - near, 0.5 * (2.0 * bent - more), row)
        )
        apart = left / size if size > 0.0 else 0.0
        noise = _NOISE * float(np.abs(middle * sizes).max()) / share
        found.append((row, max(apart * left, noise, jump if jump > left else 0.0)))
        if apart <= _CLOSE:
            return found[-1]
    if not found:
        raise ValueError(
            f"hessian: the motion beside {name} = {value:g} has no derivative along the same events: {said}"
        )
    return min(found, key=lambda pair: pair[1])
