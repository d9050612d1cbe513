"""Angular velocities that were measured without orientations: whether they are in world axes.

With quaternions beside them the data tells by itself (`data.py`).  Without them the model has to: it predicts how the
body is turned, and so its angular velocity in world axes and in the axes of the body.  Until the first contact no
coefficient matters, and a start that is right tells the frame.  Where the start was taken from the same wrong numbers
nothing tells it before the body has turned by an impact: then a remark says that the frame is open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stickslip.checks import Array
from stickslip.fitting.data import Samples
from stickslip.fitting.experiments import Stepped, Unpredictable
from stickslip.fitting.problem import Problem

_ENOUGH = 8  # samples that tell a frame
_CLEARLY = 0.3  # share: one frame misses the data by this much of what the other one does, and no more
_SMALL = 0.1  # share of the rates: what the right frame may miss, and what counts as no change
_SAME = 1e-3  # share of the rates by which predictions differ that do not depend on the free quantities
_AXES = ("x", "y", "z")


@dataclass(frozen=True, eq=False)
class Rates:
    """Angular velocities (n, 3) of one body at the samples: measured, and predicted in both frames; nan: not there."""

    name: str
    body: str
    measured: Array
    world: Array
    own: Array

    @property
    def size(self) -> float:
        return float(np.nanmedian(np.linalg.norm(self.world, axis=1)))

    def off(self, predicted: Array, rows: np.ndarray) -> float:
        """Median distance of what was measured from a prediction, in some rows [rad/s]."""
        return float(np.median(np.sqrt(np.nansum((self.measured - predicted)[rows] ** 2, axis=1))))


def _bodies(data: Samples) -> list[str]:
    """Bodies in space with an angular velocity among the columns, and no whole quaternion."""
    named = {label.rpartition(".")[0] for label in data.columns if label.rpartition(".")[2] in ("wx", "wy", "wz")}
    return sorted(b for b in named if not all(f"{b}.{each}" in data.columns for each in ("qw", "qx", "qy", "qz")))


def _rates(problem: Problem, z: Array) -> list[Rates]:
    """One per experiment and body."""
    found = []
    for number, experiment in enumerate(problem.experiments):
        if not isinstance(experiment, Stepped):
            continue
        bodies, data = _bodies(experiment.data), experiment.data
        try:
            run = experiment.run(problem.of(number, z)) if bodies else None
        except Unpredictable:
            continue
        for body in bodies:
            assert run is not None
            gap = np.full(len(data.t), np.nan)
            measured = np.stack([data.columns.get(f"{body}.w{axis}", gap) for axis in _AXES], 1)
            w, x, y, z_ = (np.interp(data.t, run.t, run[f"{body}.q{axis}"]) for axis in ("w", *_AXES))
            world = np.stack([np.interp(data.t, run.t, run[f"{body}.w{axis}"]) for axis in _AXES], 1)
            found.append(Rates(data.name, body, measured, world, _turned_back(w, np.stack([x, y, z_], 1), world)))
    return found


def _turned_back(w: Array, v: Array, rates: Array) -> Array:
    """Vectors (n, 3) of world axes in those of bodies with quaternions (w, v), of any length."""
    length = np.sqrt(w**2 + np.sum(v**2, axis=1))
    w, v = w / length, v / length[:, None]
    side = 2.0 * np.cross(rates, v)
    return np.asarray(rates + w[:, None] * side + np.cross(side, v))


def check_frames(problem: Problem, points: Sequence[Array]) -> None:
    """ValueError where angular velocities are clearly those that the model has in the axes of the body.

    Samples of the first flight count, whose predictions are those of all points; where they are too few, all do, and
    the point that is nearest in either frame.
    """
    looked: dict[tuple[str, str], list[Rates]] = {}
    for z in points:
        for each in _rates(problem, z):
            looked.setdefault((each.name, each.body), []).append(each)
    for (name, body), several in looked.items():
        first = several[0]
        there = np.any(np.isfinite(first.measured), axis=1)
        differ = np.max([np.max(np.abs(each.world - first.world), axis=1) for each in several], axis=0)
        flight = there & (differ <= _SAME * first.size)
        rows = flight if flight.sum() >= _ENOUGH else there
        if rows.sum() < _ENOUGH:
            continue
        as_given, turned = (min(each.off(pick(each), rows) for each in several) for pick in (_world, _own))
        if as_given > _SMALL * first.size and turned < _CLEARLY * as_given:
            raise ValueError(
                f"{name}: the angular velocity of {body!r} must be in world axes, got one in the axes of the body: "
                f"{turned:.2g} rad/s from the model's there, {as_given:.2g} as given; turn it by the orientation."
            )


def _world(rates: Rates) -> Array:
    return rates.world


def _own(rates: Rates) -> Array:
    return rates.own


def open_frames(problem: Problem, z: Array) -> list[str]:
    """Remarks on bodies whose angular velocities might be in the axes of the body, for all that the fit knows.

    A start may have been taken from the same numbers: only what comes after a change of the angular velocity counts.
    """
    found = []
    for each in _rates(problem, z):
        changed = np.linalg.norm(each.world - each.world[0], axis=1) > _SMALL * each.size
        rows = changed & np.any(np.isfinite(each.measured), axis=1)
        if rows.sum() >= _ENOUGH:
            as_given, turned = (each.off(rates, rows) for rates in (each.world, each.own))
            if as_given < _CLEARLY * turned:
                continue
        found.append(
            f"angular velocities of {each.body!r} in {each.name} count as those in world axes; without its quaternion "
            "the data cannot tell them from ones in the axes of the body"
        )
    return found
