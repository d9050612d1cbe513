"""A member of an ensemble that marches without a host beside it, as a thread of a card does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stickslip.codes import LARGEST, STEPS
from stickslip.jit import kernel
from stickslip.scenes.layout import Bodies, Book
from stickslip.scenes.parts import Diary, Problems, Records, Search, Span, Touching, World
from stickslip.scenes.step import DONE, EVENTS_FULL, march

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
def march_alone(
    world: World, search: Search, first: Touching, second: Touching, problems: Problems, diary: Diary, q: np.ndarray,
    u: np.ndarray, state: np.ndarray, energy: np.ndarray, events: np.ndarray, told: np.ndarray, t0: float, target: int,
) -> None:  # fmt: skip
    """March until `target` steps are done, or as far as no help of a host is needed.

    Each step is a march of its own, as by hand.  Records stand behind one another where there is more than one row.
    What has needed help once stays where it is.
    """
    if told[STATUS] == DONE or told[STATUS] == EVENTS_FULL:
        told[STATUS] = LOST  # until the end is reached
        do_march(
            world, search, (first, second), problems, diary, (q, u, state, energy, events, told), (t0, target)
        )


@kernel
def do_march(
    world: World, search: Search, sides: tuple[Touching, Touching], problems: Problems, diary: Diary, rows: Any,
    ends: tuple[float, int],
) -> None:  # fmt: skip
    """`march_alone`, of a member that has needed no help yet."""
    (first, second), (q, u, state, energy, events, told), (t0, target) = sides, rows, ends
    own, status, written, good = diary.book, DONE, 0, True
    book = Book(own.numbers, own.impulse, own.state, own.gap, own.loaded, events, own.counts)
    notes, keeps = Diary(diary.channel, diary.channels, book), 1 if energy.shape[0] > 1 else 0
    impulse, gap = np.zeros((1, own.gap.shape[0], 2)), np.zeros((1, own.gap.shape[0]))
    book.counts[0] = 0
    span: Any = Span(t0, 1, 1, None, False)
    while status == DONE and book.numbers[STEPS] < target:
        records = Records(q[written:], u[written:], impulse, state[written:], gap, energy[written:])
        status, done, _ = march(world, search, first, second, problems, notes, span, records)
        if done > 0:
            good = good and in_bounds(world.bodies, energy[written])
            written += keeps
    told[STATUS], told[WRITTEN], told[EVENTS] = status, written, book.counts[0]
    told[SOUND], told[REACHED] = 1 if good else 0, int(book.numbers[STEPS])
