"""Members of an ensemble that are stepped by hand: what `Simulator` is to `simulate`, for many motions at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from stickslip import codes
from stickslip.checks import Array, unknown_name
from stickslip.ensembles.cpu import _advance, _rescue
from stickslip.ensembles.request import prepare
from stickslip.scenario import Scenario


class Members:
    """Many motions of one mechanism, each with its own state and parameters, taken forward together.

    Parameters
    ----------
    scenario : the mechanism; every member begins at its start.
    count : number of members.
    dt : step size [s]; that of the scenario where it is not given.
    options : stepper, solver, law, params and penetration_tol of `ensemble`.

    A member keeps its contact memory between calls: its steps are those of `Simulator`, bit for bit.
    """

    def __init__(self, scenario: Scenario, count: int, *, dt: float | None = None, **options: Any) -> None:
        first = scenario.system.coordinate_names[0]
        values = {first: np.full(count, float(scenario.q0[0]))}
        step = scenario.dt if dt is None else dt
        self._request = prepare(scenario, values, ["final"], dt=dt, t_end=step, paired=True, **options)
        self.system, self.dt, self.count = scenario.system, float(step), count
        self._fresh, _ = self._request.rows(0, count)
        self._rows, self._P = self._request.rows(0, count)
        _advance(self._request, self._rows, self._P, 0, 0, 0)

    @property
    def q(self) -> Array:
        """Coordinates (members, f), a copy."""
        return self._rows[:, : self.system.n_dof].copy()

    @property
    def u(self) -> Array:
        """Velocities (members, f), a copy."""
        f = self.system.n_dof
        return self._rows[:, f : 2 * f].copy()

    @property
    def steps(self) -> np.ndarray:
        """Steps of each member since its start."""
        return self._rows[:, self._request.module.STEPS_DONE].astype(int)

    @property
    def failed(self) -> np.ndarray:
        """Members that stand still: a step was not solved, or the motion blew up."""
        return np.asarray(self._rows[:, self._request.module.STATUS] != codes.DONE)

    def set_parameter(self, name: str, values: Any) -> None:
        """Give a parameter one value per member; it holds from the next step on."""
        names = self.system.parameter_names
        if name not in names:
            raise ValueError(unknown_name("parameter", name, names))
        array = np.broadcast_to(np.asarray(values, float), (self.count,))
        if not np.all(np.isfinite(array)):
            raise ValueError(f"{name} must be finite, got {array[~np.isfinite(array)][0]}.")
        self._P[:, names.index(name)] = array

    def begin(self, which: np.ndarray, q: Array, u: Array) -> None:
        """Let members begin anew: `which` (members,) of bool, q and u (chosen, f)."""
        f, chosen = self.system.n_dof, np.flatnonzero(which)
        self._rows[chosen] = self._fresh[chosen]
        self._rows[chosen, :f], self._rows[chosen, f : 2 * f] = q, u

    def advance(self, steps: int) -> None:
        """Take every member that has not failed forward by this number of steps."""
        request, rows, P, layout = self._request, self._rows, self._P, self._request.module
        end = rows[:, layout.STEPS_DONE] + steps
        _advance(request, rows, P, 0, self.count, steps)
        for i in np.flatnonzero(rows[:, layout.STATUS] == codes.UNSOLVED).tolist():
            while rows[i, layout.STATUS] == codes.UNSOLVED and _rescue(request, layout, rows[i], P[i]):
                left = int(end[i] - rows[i, layout.STEPS_DONE])
                if left:
                    _advance(request, rows, P, i, i + 1, left)
