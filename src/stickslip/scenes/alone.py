"""A member of an ensemble that marches without a host beside it, as a thread of a card does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stickslip.codes import LARGEST, STEPS
from stickslip.jit import kernel
from stickslip.projections import worse
from stickslip.scenes.islands.free_bodies import solve_island
from stickslip.scenes.islands.problem import island_of
from stickslip.scenes.layout import Bodies, Book, Contacts
from stickslip.scenes.parts import ISLANDS, SIDE, Diary, Problems, Records, Span, World
from stickslip.scenes.step import DONE, UNSOLVED, march, start_limit

STATUS, WRITTEN, EVENTS, SOUND, REACHED, TOLD = range(6)
"""What a march tells: its status, records, impacts, whether its numbers are in bounds, and the number of steps done."""
LOST = -1
"""The status of a thread that had no room for an array, and of one that shall not march."""


@kernel
def in_bounds(bodies: Bodies, energy: np.ndarray) -> bool:
    """Whether energies are finite and velocities below all bounds; see `bounds.SceneBounds`."""
    good = math.isfinite(energy[0]) and math.isfinite(energy[1])
    for i in range(bodies.kind.shape[0]):
        if bodies.alive[i]:
            for k in range(6):
                good = good and abs(bodies.vel[i, k]) <= LARGEST
    return good


@kernel
def may_be_solved(world: World, problems: Problems) -> bool:
    """Whether the numbers of an open step are in bounds, and no contact of it resists rolling or spinning."""
    total, bodies = 0.0, world.bodies
    for k in range(problems.counts[ISLANDS]):
        total += problems.residuals[k]
    good = math.isfinite(total) and world.options.resisting is None
    for i in range(bodies.kind.shape[0]):
        if bodies.alive[i]:
            for k in range(6):
                good = good and abs(bodies.free[i, k]) <= LARGEST
    return good


@kernel
def solve_open(world: World, contacts: Contacts, problems: Problems, head: np.ndarray, follow: np.ndarray) -> bool:
    """Solve the islands that a step has left open, as `rescue.Rescue.solve` does first; whether all are solved."""
    if not may_be_solved(world, problems):
        return False
    residuals, limit, worst = problems.residuals, start_limit(world.options, problems.counts), problems.residuals[-1]
    for k in range(problems.counts[ISLANDS]):
        island = island_of(world, contacts, problems, k)
        if not residuals[k] <= limit and island.row_first == island.row_last:  # with joints, all has been tried
            residuals[k] = solve_island(
                island, world.options, problems.parent, head, follow[2 * island.first :], problems.effort[k:],
                residuals[k], world.options.start >= 0.0,
            )  # fmt: skip
        worst = worse(worst, residuals[k])
    return worst <= world.options.tol


@kernel
def march_alone(scene: Any, rows: Any, ends: tuple[float, int]) -> None:
    """March to `ends`, or as far as no host is needed and there is room for impacts.

    scene : World, Search, Touching of both sides, Problems, Diary, and two arrays as room for `solve_island`.
    rows : records q, u, states and energies; impacts; what is told.  Who has needed a host once stays where it is.
    ends : time of step 0 [s], and the number of steps that shall be done.
    """
    told = rows[5]
    if told[STATUS] == DONE:
        told[STATUS] = LOST  # until the end is reached
        do_march(scene, rows, ends)


@kernel
def do_march(scene: Any, rows: Any, ends: tuple[float, int]) -> None:
    """`march_alone`, of a member that has needed no host yet.

    Each step is a march of its own, as by hand.  Records stand behind one another where there is more than one row.
    """
    world, search, first, second, problems, diary, head, follow = scene
    (q, u, state, energy, events, told), (t0, target) = rows, ends
    own, status, written, good = diary.book, DONE, 0, True
    book = Book(own.numbers, own.impulse, own.state, own.gap, own.loaded, events, own.counts)
    notes, keeps = Diary(diary.channel, diary.channels, book), 1 if energy.shape[0] > 1 else 0
    impulse, gap = np.zeros((1, own.gap.shape[0], 2)), np.zeros((1, own.gap.shape[0]))
    most = events.shape[0] - first.contacts.shape[0]  # impacts after which those of a step may find no room
    book.counts[0] = 0
    while status == DONE and book.numbers[STEPS] < target and book.counts[0] <= most:
        span: Any = Span(t0, 1, 1, None, False)
        records = Records(q[written:], u[written:], impulse, state[written:], gap, energy[written:])
        status, done, _ = march(world, search, first, second, problems, notes, span, records)
        if status == UNSOLVED:
            touching = first if problems.counts[SIDE] == 0 else second
            if solve_open(world, touching.contacts, problems, head, follow):
                again: Any = Span(t0, 1, 1, None, True)
                status, done, _ = march(world, search, first, second, problems, notes, again, records)
        if done > 0:
            good = good and in_bounds(world.bodies, energy[written])
            written += keeps
    told[STATUS], told[WRITTEN], told[EVENTS] = status, written, book.counts[0]
    told[SOUND], told[REACHED] = 1 if good else 0, int(book.numbers[STEPS])
