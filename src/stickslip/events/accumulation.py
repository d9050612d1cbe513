"""Impacts that accumulate over several contacts: a rocking block strikes left, right, left, ... and comes to rest.

After a cycle of blows velocities and times are those of the cycle before times a ratio r < 1, ever more exactly as the
motion gets small.  The cycles still to come last D r + D r^2 + ... = D r / (1 - r), D the length of the last one.
Several blows of one contact in a row, which may be an accumulation of its own, count as their first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

MEMORY = 64  # blows that are remembered
_LONGEST = 8  # blows of a cycle
_STEADY = 0.02  # share of 1 - r by which the ratios of two cycles may differ
_ROUND_OFF_BLOWS = 5  # within round-off, that end an accumulation
_WINDOW = 8  # blows that are compared where no order is seen in them
_LOOSE = 0.2  # share of 1 - r by which ratios may differ where no order is seen


@dataclass(frozen=True)
class Blow:
    """Contacts that approach each other with `speed` [m/s] at the time t [s] and collide."""

    t: float
    contacts: tuple[int, ...]
    speed: float


@dataclass(frozen=True)
class Accumulation:
    """Blows that get smaller by a constant ratio per cycle.

    Attributes: contacts, which strike; rest, how long the blows still to come last [s]; error of that, from how much
    the ratios of the last two cycles differ [s]; height, what gaps have at most in a cycle [m].
    """

    contacts: tuple[int, ...]
    rest: float
    error: float
    height: float


def accumulation(blows: Sequence[Blow], noise: float) -> Accumulation | None:
    """The accumulation that the last blows of at least two contacts are part of; None where they do not get smaller.

    Hops that are no higher than `noise`, the round-off of gaps [m], have come to their end in any case.
    """
    last = blows[-_ROUND_OFF_BLOWS:]
    if len(last) == _ROUND_OFF_BLOWS:
        whole = last[-1].t - last[0].t
        height = 0.25 * max(b.speed * (b.t - a.t) for a, b in pairwise(last))
        contacts = tuple(sorted({k for blow in last for k in blow.contacts}))
        if height < noise and len(contacts) > 1:
            return Accumulation(contacts, whole, whole, height)
    for length in range(2, min(_LONGEST, (len(blows) - 1) // 3) + 1):
        last = blows[-3 * length :]
        if all(last[i].contacts == last[i - length].contacts for i in range(length, len(last))):
            return _series(blows, length, _STEADY)
    return _series(blows, _WINDOW, _LOOSE) if len(blows) > 3 * _WINDOW else None


def _series(blows: Sequence[Blow], length: int, steady: float) -> Accumulation | None:
    """The geometric series of cycles of `length` blows; its ratios may differ by a share `steady` of 1 - r."""
    contacts = tuple(sorted({k for blow in blows[-length:] for k in blow.contacts}))
    if len(contacts) < 2:
        return None
    t = np.array([blow.t for blow in blows])
    last, before, first = (float(t[-1 - i * length] - t[-1 - (i + 1) * length]) for i in range(3))
    speeds = [
        max(blow.speed for blow in blows[len(blows) - (i + 1) * length : len(blows) - i * length]) for i in (0, 1)
    ]
    if not (0.0 < last < before < first and 0.0 < speeds[0] < speeds[1]):
        return None
    ratio, older, slower = last / before, before / first, speeds[0] / speeds[1]
    if max(abs(ratio - older), abs(ratio - slower)) > steady * (1.0 - ratio):
        return None
    flight = float(np.diff(t[-1 - length :]).max())
    return Accumulation(
        contacts,
        last * ratio / (1.0 - ratio),
        last * max(abs(ratio - older), abs(ratio - slower)) / (1.0 - ratio) ** 2,
        0.25 * speeds[0] * flight,
    )
