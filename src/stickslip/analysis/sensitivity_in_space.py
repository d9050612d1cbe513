"""Derivatives of motions whose contacts have two tangents: differences of event-driven runs.

The direction of slip turns as such a contact slides, and near rest it turns ever faster.  So there is no list of jumps
here.  A column is a central difference of order 6 over runs whose events are those of the motion, one by one; how far
it differs from the one of order 4 is its error.  Of several distances the best is taken, sample by sample.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stickslip.analysis.progress import not_interrupted
from stickslip.checks import Array
from stickslip.events.book import MotionError
from stickslip.scenario import Scenario
from stickslip.trajectory import Trajectory

_SHARES = (1e-2, 2e-3, 4e-4, 8e-5)  # of a quantity, or of 1 where it is 0: distances of the runs
_ENOUGH = 1e-6  # of a column: an error that is larger is a doubt
_PLENTY = 1e-9  # of a column: no nearer runs are needed
_SIXTH = np.array([45.0, -9.0, 1.0]) / 60.0
_FOURTH = np.array([8.0, -1.0, 0.0]) / 12.0


@dataclass(frozen=True, eq=False)
class Columns:
    """Derivatives at the samples (n, 2 f, k), of event times (m, k), of impacts (i, 3, k), doubts (time [s], reason).

    An impact has a time, a normal and a tangential impulse; its rows are those of `Trajectory.impacts()`.
    """

    X: Array
    dt: Array
    impacts: Array
    doubts: tuple[tuple[float, str], ...]


def columns_in_space(scenario: Scenario, names: tuple[str, ...], run: Trajectory, options: dict[str, Any]) -> Columns:
    """One column per name beside a run; options: of `simulate`, those of the run."""
    found, doubts = [], []
    for name in names:
        column = _Column(scenario, name, run, options)
        found.append(column.best())
        doubts += column.doubts
    X, dt, impacts = (np.stack(parts, axis=-1) for parts in zip(*found, strict=True))
    return Columns(X, dt, impacts, tuple(doubts))


class _Column:
    """Runs beside a motion that differ in one quantity."""

    def __init__(self, scenario: Scenario, name: str, run: Trajectory, options: dict[str, Any]) -> None:
        system = scenario.system
        states = (*system.coordinate_names, *system.velocity_names)
        start = dict(zip(states, (*scenario.q0, *scenario.u0), strict=True))
        self.name, self.run, self.options = name, run, options
        self.value = float({**scenario.parameters, **start}[name])
        self.at: Callable[[float], Scenario] = (
            (lambda x: scenario.starting({name: x}))
            if name in states
            else (lambda x: replace(scenario, params={**(scenario.params or {}), name: x}))
        )
        self.events, self.impacts = _events(run), run.impacts()
        self.doubts: list[tuple[float, str]] = []

    def best(self) -> tuple[Array, Array, Array]:
        """Derivatives at the samples (n, 2 f), of event times (m,) and impacts (i, 3); nan where no runs tell."""
        times, said = self.run.t, ""
        X, dt = np.full((len(times), 2 * self.run.q.shape[1]), np.nan), np.full(len(self.events), np.nan)
        pushes = np.full((len(self.impacts), 3), np.nan)
        error, late = np.full(len(times), np.inf), np.inf
        for share in _SHARES:
            step = share * (abs(self.value) or 1.0)
            try:
                pairs = [[self._beside(s * i * step) for s in (1.0, -1.0)] for i in (1, 2, 3)]
            except (ValueError, ArithmeticError, MotionError) as problem:
                said = said or str(problem)
                continue
            states, moments, blows = (np.stack([(one[k] - two[k]) / step for one, two in pairs]) for k in range(3))
            sixth, fourth = (np.tensordot(w, states, 1) for w in (_SIXTH, _FOURTH))
            off = np.abs(sixth - fourth).max(axis=1)
            event_dt = _SIXTH @ moments if len(self.events) else dt
            for (t, _), moved in zip(self.events, event_dt, strict=True):  # an event passes these samples on the way
                off[np.abs(times - t) <= 4.0 * step * abs(moved)] = np.inf
            better = off < error
            X[better], error[better] = sixth[better], off[better]
            if np.all(np.isfinite(error)) and error.max() <= _PLENTY * max(np.abs(X).max(), 1e-3):
                dt, pushes = event_dt, np.tensordot(_SIXTH, blows, 1)
                break
            if len(self.events) and np.abs(event_dt - _FOURTH @ moments).max() < late:
                dt, late = event_dt, float(np.abs(event_dt - _FOURTH @ moments).max())
                pushes = np.tensordot(_SIXTH, blows, 1)
        self._judge(X, error, said)
        return X, dt, pushes

    def _judge(self, X: Array, error: Array, said: str) -> None:
        """Doubt what the runs do not tell, at the first sample where they do not."""
        if not np.any(np.isfinite(error)):
            self.doubts.append(
                (float(self.run.t[0]), f"{self.name!r}: no runs beside the motion with its events ({said})")
            )
            return
        size = max(float(np.abs(X[np.isfinite(error)]).max()), 1e-3)
        bad = np.flatnonzero(~(error <= _ENOUGH * size))
        if len(bad):
            first = int(bad[0])
            text = "an event is right at this sample" if np.isinf(error[first]) else f"an error of {error[first]:.1e}"
            self.doubts.append((float(self.run.t[first]), f"{self.name!r}: differences of runs leave {text}"))

    def _beside(self, away: float) -> tuple[Array, Array, Array]:
        """States (n, 2 f), event times (m,) and impacts (i, 3) of the run with the quantity changed by `away`."""
        run = not_interrupted(self.at(self.value + away).simulate(**self.options))
        if not run.complete:
            raise ArithmeticError(run.status)
        events = _events(run)
        if [what for _, what in events] != [what for _, what in self.events]:
            raise ArithmeticError("events come, go or change their order")
        table = run.impacts()
        if table["contact"].tolist() != self.impacts["contact"].tolist():
            raise ArithmeticError("contacts of impacts come or go")
        blows = np.stack([table[key] for key in ("time", "normal_impulse", "tangential_impulse")], axis=-1)
        return np.concatenate([run.q, run.u], axis=1), np.array([t for t, _ in events]), blows


def _events(run: Trajectory) -> list[tuple[float, tuple[str, str]]]:
    """Times and (contact, kind) of the events of a run."""
    table = run.events()
    return [
        (float(t), (str(contact), str(kind)))
        for t, contact, kind in zip(table["time"], table["contact"], table["kind"], strict=True)
    ]
