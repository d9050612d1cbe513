"""Which impacts of a run are impacts of the mechanism, and which are how a time stepper holds a contact closed."""

from __future__ import annotations

import numpy as np

from stickslip.trajectory import OPEN, ImpactTable, Trajectory

_SAFETY = 3.0


def distinct_impacts(trajectory: Trajectory, *, min_speed: float | None = None) -> ImpactTable:
    """Return the impacts whose approach is faster than `min_speed` [m/s].

    The default of `min_speed` is the speed that the step resolves, see `resolved_speed`. A stepper on velocity level
    holds a contact closed by small rebounds, which the table of impacts lists as well. Forces make their approach
    velocity in a few steps, so it falls like dt while their number grows like 1 / dt.

    A bouncing contact comes to rest after infinitely many impacts, of which a smaller dt resolves more. Give
    `min_speed` for a number that converges.
    """
    table = trajectory.impacts()
    if min_speed is None:
        threshold = resolved_speed(trajectory)[table["contact"]]
    elif min_speed >= 0.0:
        threshold = np.full(len(table), float(min_speed))
    else:
        raise ValueError(f"min_speed must not be negative [m/s], got {min_speed}.")
    keep = np.abs(table["normal_velocity_before"]) > threshold
    return ImpactTable({key: value[keep] for key, value in table.columns.items()}, table.names)


def resolved_speed(trajectory: Trajectory) -> np.ndarray:
    """Slowest approach that a step resolves [m/s], per contact: 3 dt times the gap's acceleration in free flight.

    The acceleration is measured on the second differences of the recorded gaps, of which 99 in 100 are smaller. It is 0
    where the contacts are never open for three records in a row.
    """
    step = trajectory.dt * trajectory.every
    free = (trajectory.contact_state == OPEN).all(axis=1)  # of all contacts: another one's impact bends every gap
    even = np.abs(np.diff(trajectory.t) - step) < 0.5 * trajectory.dt  # the last record may be nearer
    flight = free[:-2] & free[1:-1] & free[2:] & even[:-1] & even[1:]
    bend = np.abs(np.diff(trajectory.gap, 2, axis=0))[flight]
    if not len(bend):
        return np.zeros(trajectory.gap.shape[1])
    return np.asarray(_SAFETY * trajectory.dt * np.quantile(bend, 0.99, axis=0) / step**2)
