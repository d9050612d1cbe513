"""A step that the kernel of a scene left open: its islands, their problems, and what impulses are worth.

`stickslip.scenes.rescue` solves them.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip import codes
from stickslip.contact.contacts import Contacts
from stickslip.contact.method import Progress
from stickslip.debug import say
from stickslip.engine import OutOfTime
from stickslip.scenes import step
from stickslip.scenes.islands.island import (
    GRAINS,
    block_system,
    end_velocities,
    island_residual,
    right_side,
    take_impulses,
)
from stickslip.scenes.parts import Island

if TYPE_CHECKING:
    from stickslip.scenes.engine import SceneEngine

PILE_CONTACTS = 400  # of an island, from which sweeps on body velocities are faster than a matrix


class OpenStep:
    """The step in which the kernel stands, with the arrays of its engine, which are written in place.

    contacts: the contact points of this step.  It lasts no longer than the step: an engine
    that needs more room makes new arrays.
    """

    def __init__(self, engine: SceneEngine, contacts: Any) -> None:
        self.engine, self.options, self.counts = engine, engine.options, engine.counts
        self.contacts = contacts
        self.bodies, self.joints, self.rows = engine.bodies, engine.joints, engine.rows
        self.active, self.order = engine.active, engine.order
        self.begins, self.row_begins = engine.begins, engine.row_begins
        self.residuals, self.effort = engine.residuals, engine.effort
        self.head, self.follow, self.parent = engine.head, engine.follow, engine.parent

    def joined(self, k: Any) -> Any:
        """Whether an island has joints; k: its number, or many."""
        return self.row_begins[k + 1] > self.row_begins[k]

    def resists(self, k: Any) -> bool:
        """Whether a contact of an island resists rolling or spinning."""
        active = self.active[self.order[self.begins[k] : self.begins[k + 1]]]
        return bool(np.any(active.patch > 0.0) or np.any(active.rolling > 0.0))

    def tried(self, k: Any) -> Any:
        """Whether the time loop has tried an island without joints itself; k: its number, or many."""
        return (self.begins[k + 1] - self.begins[k] <= self.options.newton) & (self.options.start >= 0.0)

    def unknowns(self, k: Any) -> int:
        """Unknowns of an island without joints."""
        return int(self.options.dim * (self.begins[k + 1] - self.begins[k]))

    def is_pile(self, k: Any) -> bool:
        """Whether sweeps without a matrix are faster on an island without joints."""
        return bool(self.begins[k + 1] - self.begins[k] > PILE_CONTACTS)

    def is_first_touch(self, k: Any) -> bool:
        """Whether many contacts, none of which carries anything yet, are all there is in an island."""
        first, last = self.begins[k], self.begins[k + 1]
        if last - first <= self.options.newton:
            return False  # Newton finds impulses of least norm itself
        return not np.any(self.active.r[self.order[first:last]])

    def solved(self, k: int) -> bool:
        """Whether the residual of an island is within the tolerance."""
        return bool(self.residuals[k] <= self.options.tol)

    def measure(self, k: int) -> None:
        """End velocities and residual of an island, from its impulses."""
        island = self.island(k)
        end_velocities(island, self.options.dim)
        self.residuals[k] = island_residual(island, self.options.dim, self.options.edges, GRAINS)

    def island(self, k: int) -> Island:
        """Island k of the step."""
        first, last = int(self.begins[k]), int(self.begins[k + 1])
        rows = int(self.row_begins[k]), int(self.row_begins[k + 1])
        return Island(self.bodies, self.contacts, self.active, self.order, first, last, self.joints, self.rows, *rows)

    def take(self, k: int, r: np.ndarray) -> None:
        """Write impulses of an island, scaled, into the arrays of the step."""
        take_impulses(self.island(k), self.options.dim, r)

    def friction_problem(self, k: int) -> tuple[Contacts, np.ndarray]:
        """The contact problem of an island without joints, scaled, and its impulses."""
        island, dim = self.island(k), self.options.dim
        n = island.last - island.first
        data, indptr, indices = block_system(island, dim, self.head, self.follow)
        q, z, mu = np.empty(dim * n), np.empty(dim * n), np.empty(n)
        right_side(island, dim, self.bodies.free, q, mu, z)
        return Contacts(data, indptr, indices, q, mu), z

    def keep_best(self, k: int, best: np.ndarray, answers: Iterable[np.ndarray]) -> int:
        """Measure impulses of an island until it is solved; the best are taken, returns how many were tried.

        `best`: those it has, with the residual in the book.
        """
        least = math.inf if math.isnan(self.residuals[k]) else float(self.residuals[k])
        tried = 0
        for r in answers:
            tried += 1
            self.clock(0.0)
            self.take(k, r)
            self.measure(k)
            if self.residuals[k] < least:
                least, best = float(self.residuals[k]), r
            if least <= self.options.tol:
                break
        if not self.residuals[k] <= least:
            self.take(k, best)
            self.measure(k)
        return tried

    def clock(self, effort: float) -> Progress:
        """Progress of some nominal seconds of work, which ends at the deadline of the run.

        Raises OutOfTime where the deadline is over.
        """
        left = self.engine.deadline - time.perf_counter()
        if left <= 0.0:
            n = int(np.diff(self.begins[: int(self.counts[step.ISLANDS]) + 1]).max(initial=0))
            raise OutOfTime(
                f"a step whose largest island has {n} contacts, at a residual of {self.engine.worst():.1e}, not "
                f"{self.options.tol:g}"
            )
        t = self.engine.t0 + self.options.dt * self.engine.book.numbers[codes.STEPS]
        tell = (
            functools.partial(say, f"{self.engine.scene.name}, contacts at t = {t:.6g} s")
            if self.engine.talks
            else None
        )
        return Progress(left, effort=effort, tell=tell)
