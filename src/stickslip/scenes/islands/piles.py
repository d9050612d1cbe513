"""Large piles: sweeps over all contacts, and Newton on the patches that sweeps do not solve.

A sweep (`pile`) brings most contacts of a pile to their laws soon.  Where a few stay behind, Gauss-Seidel does not
contract: friction with slip makes its map expand on a group of heavily loaded contacts, and the iterates stay in a
region of stick, slip and separation in which there is no solution.  Newton's method leaves such a region.  So

    sweeps with momentum, in turns with and without a pull to anchors, and until the residual of every contact is small
    or ROUNDS are over
        a patch: the contacts that violate their laws, and their neighbours up to a few bodies away
        Newton on the patch, the impulses of all other contacts held
        such turns of sweeps over all contacts, then plain ones, which spread what is left over

A round that gains little is followed by less momentum (what expands, expands faster with it) and a wider patch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.contact.auto import hard_islands
from stickslip.contact.constants import (
    CHECK_EVERY,
    GOES,
    MOMENTUM,
    PULL,
    SMALL_PATCH,
    SOFT_TOL,
    SOFTER,
    SWEEPS,
    TURN,
    TURNS,
)
from stickslip.contact.contacts import Contacts
from stickslip.contact.method import Progress
from stickslip.contact.newton import compile_newton, newton_iterations
from stickslip.scenes import layout
from stickslip.scenes.islands.island import (
    GRAINS,
    block_system,
    contact_defects,
    end_velocities,
    island_residual,
    right_side,
    take_impulses,
)
from stickslip.scenes.islands.pile import POINT, Sorted, Sweeping, solve_pile
from stickslip.scenes.islands.slabs import Lists, slabs_of
from stickslip.scenes.islands.sphere_contacts import CONTACT
from stickslip.scenes.parts import Island

AIM = 0.5  # of the tolerance, for the first sweeps: what is left over disturbs the next step
SPHERES_MOMENTUM, WEAKER = 0.93, 0.9
SPREAD = 30  # plain sweeps after turns
ROUNDS, PATIENCE = 20, 8  # at most, and in a row without a smaller residual: 10 rounds solved what 60 did
RINGS, MOST_RINGS = 2, 6  # neighbours that belong to a patch
PATCH_CONTACTS = 6000  # beyond, a patch is no patch
PATCH_EFFORT = 0.2  # nominal seconds of work
PATCH_TOLERANCE = 1e-3  # of that of the pile
SOFT_STEPS = 60  # Newton steps for each of the problems that lead to impulses of least norm
FIRST_TOUCH_EFFORT = 1.0  # nominal seconds of work on them
GAIN = 0.8  # of the least residual: a round that does not get below has gained little


def least_norm(problem: Contacts, weights: np.ndarray) -> np.ndarray | None:
    """Impulses near to those of least norm among the solutions, None where that would take long.

    For contacts that carry nothing yet.  As `newton.soften` does for islands of few contacts: the solutions of
    (W + a D, q), a from 0.1 down, lead there, and sweeps that start from them stay near.  weights: D of each contact.
    """
    progress, best, r = Progress(effort=FIRST_TOUCH_EFFORT), None, np.zeros_like(problem.q)
    progress.leave_out(compile_newton)
    for a in SOFTER:
        outcome = newton_iterations(problem.shifted(a * weights, 0.0 * r), r, SOFT_TOL, SOFT_STEPS, progress, floor=0.0)
        if not outcome.error <= SOFT_TOL:
            break
        best = r = outcome.r
    return best


@dataclass
class Pile:
    """One large island of a step.

    order : its contacts, numbers in `active`
    head, follow : room, as in `slabs_of`
    clock : makes the `Progress` of some nominal seconds of work, or raises `OutOfTime`
    """

    bodies: Any
    contacts: Any
    active: Any
    order: np.ndarray
    options: layout.Options
    head: np.ndarray
    follow: np.ndarray
    clock: Callable[[float], Progress]

    def __post_init__(self) -> None:
        arguments = (self.bodies, self.contacts, self.active, self.order, 0, len(self.order))
        self.sorted = slabs_of(*arguments, Lists(self.head, self.follow), self.options.dim)
        self.room = layout.records(POINT, len(self.order)), layout.records(CONTACT, len(self.order))
        begins = self.sorted[1]
        alone = bool(np.all(begins[1::2] == begins[2::2]))  # contacts of spheres alone
        self.momentum, self.rising = (SPHERES_MOMENTUM, 0) if alone else (MOMENTUM, CHECK_EVERY)
        self.residual = math.inf

    def solve(self) -> bool:
        """Improve the impulses in `active`, and set `residual` and the end velocities; whether patches were needed."""
        tol = self.options.tol
        self.sweep(SWEEPS, tol, self.momentum, SWEEPS)
        for number in range(GOES):
            if self.residual <= tol:
                return False
            if number > 0 and np.count_nonzero(self.patch(RINGS)) <= SMALL_PATCH:
                break  # sweeps run away on a few contacts
            self.settle(TURNS, self.momentum)
        if self.residual <= tol:
            return False
        self.solve_patches()
        return True

    def settle(self, turns: int, momentum: float) -> None:
        """Turns of sweeps, every second one without a pull to anchors, and plain ones, until the tolerance is met."""
        tol = self.options.tol
        for turn in range(turns):
            if not self.residual <= tol:
                self.sweep(TURN, tol, momentum, pull=PULL if turn % 2 == 0 else 0.0)
        if not self.residual <= tol:
            self.sweep(SPREAD, tol, 0.0)

    def solve_patches(self) -> None:
        """Patches and sweeps in turn; where they do not get to the tolerance, the best impulses are kept."""
        tol = self.options.tol
        least, best, rings, momentum, in_vain = self.residual, self.impulses(), RINGS, self.momentum, 0
        for _ in range(ROUNDS):
            self.solve_patch(rings)
            self.settle(TURNS, momentum)
            if self.residual <= tol:
                return
            gained = self.residual <= GAIN * least
            if not gained:
                momentum *= WEAKER
            rings = RINGS if gained or rings == MOST_RINGS else rings + 1
            in_vain += 1
            if self.residual < least:
                least, best, in_vain = self.residual, self.impulses(), 0
            if in_vain == PATIENCE:
                break
        self.active.r[self.order] = best
        self.measure()

    def sweep(self, sweeps: int, tol: float, momentum: float, free: int = 0, pull: float = PULL) -> None:
        """Gauss-Seidel over all contacts; the first `free` sweeps without anchors, to half the tolerance."""
        self.clock(0.0)
        problem = (self.bodies, self.contacts, self.active, self.options.dim, Sorted(*self.sorted), *self.room)
        solve_pile(*problem, Sweeping(free, sweeps, AIM * tol, tol, momentum, pull, self.rising))
        self.measure()

    def measure(self) -> None:
        """End velocities and residual, from the impulses."""
        dim, edges = self.options.dim, self.options.edges
        island = self.part(self.order)
        end_velocities(island, dim)
        self.residual = float(island_residual(island, dim, edges, GRAINS))

    def part(self, order: np.ndarray) -> Island:
        """Some of the contacts, as an island."""
        return Island(self.bodies, self.contacts, self.active, order, 0, len(order), None, order, 0, 0)

    def impulses(self) -> np.ndarray:
        return np.array(self.active.r[self.order])

    def solve_patch(self, rings: int) -> None:
        """Newton, and what helps it, on the contacts that violate their laws and their neighbours."""
        dim = self.options.dim
        order = self.order[self.patch(rings)]
        if len(order) > PATCH_CONTACTS:
            return
        problem, z = self.problem_of(order)
        r, _, _ = hard_islands(problem, z, PATCH_TOLERANCE * self.options.tol, self.clock(PATCH_EFFORT))
        if np.all(np.isfinite(r)):
            take_impulses(self.part(order), dim, r)

    def patch(self, rings: int) -> np.ndarray:
        """Which contacts violate their laws by more than the tolerance, or touch a body that such a one leads to."""
        defect = np.empty(len(self.order))
        contact_defects(self.part(self.order), self.options.dim, self.options.edges, defect)
        chosen = defect > self.options.tol / self.residual * defect.max()
        c = self.active.contact[self.order]
        a, b, moving = self.contacts.a[c], self.contacts.b[c], self.bodies.kind == layout.MOVING
        for _ in range(rings):
            touched = np.zeros(len(moving), bool)
            touched[a[chosen]] = touched[b[chosen]] = True
            touched &= moving
            chosen = touched[a] | touched[b]
        return chosen

    def problem_of(self, order: np.ndarray) -> tuple[Contacts, np.ndarray]:
        """The contact problem of some contacts, the impulses of all others held, scaled; and its impulses."""
        dim, n = self.options.dim, len(order)
        part = self.part(order)
        data, indptr, indices = block_system(part, dim, self.head, self.follow)
        u, z, mu = np.empty(dim * n), np.empty(dim * n), np.empty(n)
        right_side(part, dim, self.bodies.end, u, mu, z)
        problem = Contacts(data, indptr, indices, np.zeros(dim * n), mu)
        return Contacts(data, indptr, indices, u - problem.product(z), mu), z
