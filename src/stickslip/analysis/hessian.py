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

_STEPS = (4e-3, 5e-4, 6e-5)  # tried one after the other, relative to the quantity
_FOURTH_ORDER = ((1.0, 2.0 / 3.0), (2.0, -1.0 / 12.0))
_LIMIT = 30


@dataclass(frozen=True, eq=False)
class Hessian:
    """Second derivatives of a number.

    Attributes
    ----------
    names : (k,) quantities
    value : the number;  gradient : (k,), its derivatives;  matrix : (k, k), its second derivatives, symmetric
    error : largest difference of entries (i, j) and (j, i), which are found independently, relative to the largest
        entry, in quantities relative to their values
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
    events: str | None = None, contact: str | None = None, slope: Callable[..., Any] | None = None,
    t_end: float | None = None, rtol: float = 1e-12, law: str | ImpactLaw | None = None,
    params: Mapping[Any, float] | None = None,
) -> Hessian:  # fmt: skip
    """Value, gradient and second derivatives of a function of a motion.

    Exact gradients (`gradient`, adjoint) are differenced: order 4, four gradients per quantity.  All of them must have
    the same events in the same order, or the step is made smaller.

    Parameters
    ----------
    objective, wrt, times, events, contact, slope, t_end, rtol, law, params : as for `gradient`; at most 30 quantities

    Raises
    ------
    ValueError : as `gradient`; more than 30 quantities; events that change beside the values, however near
    """
    require_scenario(scenario, "hessian")
    case = with_params(scenario, params)
    names = checked_names(case, wrt)
    if len(names) > _LIMIT:
        raise ValueError(f"hessian takes at most {_LIMIT} quantities, got {len(names)}.")
    options = dict(times=times, events=events, contact=contact, slope=slope, t_end=t_end, rtol=rtol, law=law)

    def at(there: Scenario) -> tuple[float, Array, tuple[Any, ...]]:
        return gradient_with_events(objective, there, names, **options)

    value, gradient, seen = at(case)
    sizes = np.array([abs(value_of(case, name)) or 1.0 for name in names])
    rows = np.array([_row(at, case, name, size, seen) for name, size in zip(names, sizes, strict=True)])
    own = rows * np.outer(sizes, sizes)  # quantities relative to their values
    size = float(np.abs(own).max())
    error = float(np.abs(own - own.T).max()) / size if size > 0.0 else 0.0
    return Hessian(names, value, gradient, 0.5 * (rows + rows.T), error)


def _row(at: Callable[[Scenario], Any], case: Scenario, name: str, size: float, seen: tuple[Any, ...]) -> Array:
    """Derivatives (k,) of the gradient by one quantity."""
    value, said = value_of(case, name), "its events change"
    for share in _STEPS:
        step = share * size
        try:
            ends = [
                [at(moved_to(case, name, value + sign * i * step)) for sign in (1.0, -1.0)] for i, _ in _FOURTH_ORDER
            ]
        except ValueError as problem:
            said = str(problem)
            continue
        if any(found[2] != seen for pair in ends for found in pair):
            continue
        total = sum(w * (pair[0][1] - pair[1][1]) for (_, w), pair in zip(_FOURTH_ORDER, ends, strict=True))
        return np.asarray(total / step)
    raise ValueError(f"hessian: the motion beside {name} = {value:g} has no derivative along the same events: {said}")
