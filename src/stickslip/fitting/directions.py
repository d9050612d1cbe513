"""Columns that point the other way than the model: rates against their coordinates, and bodies that fall upward."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from stickslip.checks import Array
from stickslip.events.modes import out_of_contacts
from stickslip.fitting.data import Samples
from stickslip.fitting.result import Curve
from stickslip.scenario import Scenario

_ENOUGH = 8  # samples that tell a sign
_CLEARLY = 0.3  # share: the other sign misses the data by this much of what the given one does, and no more
_SMOOTH = 1e-2  # share of its bend by which a predicted flight may differ from a parabola
_CERTAIN = 10.0  # standard errors by which the bend of the data differs from none


def rates_by_coordinate(coordinates: Sequence[str], velocities: Sequence[str]) -> dict[str, str]:
    """Coordinate -> the velocity that is its rate of change.

    In a mechanism, and in a scene of the plane, they stand in one order.  In space orientations are quaternions, which
    are checked with the data; positions of a body have the velocities BODY.vx, BODY.vy, BODY.vz.
    """
    if len(coordinates) == len(velocities):
        return dict(zip(coordinates, velocities, strict=True))
    named = {f"{body}.{axis}": f"{body}.v{axis}" for body, _, axis in (each.rpartition(".") for each in coordinates)}
    return {coordinate: rate for coordinate, rate in named.items() if rate in velocities}


def check_rates(data: Samples, rates: Mapping[str, str]) -> None:
    """ValueError where a velocity has the sign that its coordinate does not move with.

    Distances are means of |difference quotient -+ velocity|: samples beside an impact are few and weigh little.
    """
    for coordinate, rate in rates.items():
        if coordinate not in data.columns or rate not in data.columns:
            continue
        q, u, dt = data.columns[coordinate], data.columns[rate], np.diff(data.t)
        moved, said = np.diff(q) / dt, 0.5 * (u[1:] + u[:-1])
        there = np.isfinite(moved) & np.isfinite(said)
        if there.sum() < _ENOUGH:
            continue
        as_given, turned = (float(np.mean(np.abs(moved - sign * said)[there])) for sign in (1.0, -1.0))
        if turned < _CLEARLY * as_given:
            raise ValueError(
                f"{data.name}: column {rate!r} must have the sign with which {coordinate!r} changes, got the other one "
                f"({turned:.2g} off with it, {as_given:.2g} as given); change the sign of one of them."
            )


def check_start(data: Samples, scenario: Scenario) -> None:
    """ValueError where the start that comes with the data lies deep within a contact: upside down, for instance.

    A measured start may lie a little within: it is moved out of the contact.  Deep is what moves a measured coordinate
    by a third of its range, and by more than ten times its second differences, which contain the noise.
    """
    if not data.start:
        return
    case = scenario.with_values({**data.start, **data.params})
    q0 = np.asarray(case.q0, dtype=float)
    outside = out_of_contacts(case.system, 0.0, q0.copy(), case.system.parameter_vector(case.params))
    for k, name in enumerate(case.system.coordinate_names):
        values = data.columns.get(name, np.zeros(0))
        values = values[np.isfinite(values)]
        if name not in data.start or len(values) < _ENOUGH:
            continue
        rough = float(np.median(np.abs(np.diff(values, 2))))
        if abs(outside[k] - q0[k]) > max(_CLEARLY * float(np.ptp(values)), _CERTAIN * rough):
            raise ValueError(
                f"{data.name}: start {name!r} must lie outside of contacts, got {q0[k]:.4g}, where they end at "
                f"{outside[k]:.4g}; if the column points the other way than the model's, change its sign."
            )


def upward(curves: Sequence[Curve], coordinates: Collection[str]) -> dict[tuple[str, str], tuple[float, float, float]]:
    """(experiment, column) -> acceleration measured and predicted, and how long, where the data falls the other way.

    As long as a model predicts a flight, a coordinate is a parabola in time and a velocity a straight line.  Over this
    time polynomials are fitted to prediction and data.  Data falls the other way where its acceleration is that of the
    model with the other sign, to within 30 %, and ten standard errors away from none.

    coordinates : names of columns that are coordinates; others are velocities
    """
    found = {}
    for curve in curves:
        degree = 2 if curve.channel in coordinates else 1
        n = _flight(curve.t, curve.predicted, degree)
        if n == 0:
            continue
        factor = float(degree)  # second derivative of c t^2, first derivative of c t
        model, _, _ = _leading(curve.t[:n], curve.predicted[:n], degree)
        data, error, _ = _leading(curve.t[:n], curve.measured[:n], degree)
        if abs(data + model) < _CLEARLY * abs(model) and abs(data) > _CERTAIN * error:
            found[curve.experiment, curve.channel] = (factor * data, factor * model, float(curve.t[n - 1]))
    return found


def _flight(t: Array, predicted: Array, degree: int) -> int:
    """Number of first samples over which a prediction is a bent polynomial of this degree; 0: too few."""
    n = len(t)
    while n >= _ENOUGH - 2 + degree - 1:
        if not np.all(np.isfinite(predicted[:n])) or not np.all(np.diff(t[:n]) > 0.0):
            n -= 1
            continue
        leading, _, off = _leading(t[:n], predicted[:n], degree)
        bend = abs(leading) * float(t[n - 1] - t[0]) ** degree
        if off <= _SMOOTH * bend and bend > 1e-9 * float(np.max(np.abs(predicted[:n]))):
            return n
        n = min(n - 1, int(0.9 * n))
    return 0


def _leading(t: Array, y: Array, degree: int) -> tuple[float, float, float]:
    """Leading coefficient of the nearest polynomial, its standard error, and the largest distance from it."""
    span = float(t[-1] - t[0])
    A = np.vander((t - t[0]) / span, degree + 1)
    c = np.linalg.lstsq(A, y, rcond=None)[0]
    off = y - A @ c
    spread = np.sqrt(float(off @ off) / max(len(t) - degree - 1, 1) * np.linalg.inv(A.T @ A)[0, 0])
    return float(c[0]) / span**degree, float(spread) / span**degree, float(np.max(np.abs(off)))
