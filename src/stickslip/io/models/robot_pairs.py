"""Which bodies of a robot pass through one another, and which have a friction of their own, by rows of all pairs.

A robot of a thousand links has half a million pairs: each body is compared with all bodies before it at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from stickslip.io.models.robot_links import Link
from stickslip.io.models.robot_shapes import Surface

Array = np.ndarray


class Row(NamedTuple):
    """A body and those before it: who passes through it, who has a friction with it, and who touches it in part."""

    passing: list[int]
    laws: list[tuple[int, float]]
    mixed: int


class Tree:
    """Bodies by their links: who stands still, who is whose neighbour."""

    def __init__(self, owners: Sequence[Link], apart: bool) -> None:
        """`apart`: whether links of one robot never touch one another."""
        number: dict[Any, int] = {None: -1}
        groups = [link.welded for link in owners]

        def numbered(links: Iterable[Link | None]) -> Array:
            return np.array([number.setdefault(link, len(number)) for link in links])

        self.still = np.array([link.static for link in owners])
        self.link, self.group = numbered(owners), numbered(groups)
        self.joined_to = numbered(link.parent if link.axes else None for link in owners)
        self.above = numbered(None if group.parent is None else group.parent.welded for group in groups)
        self.root = numbered(link.root for link in owners) if apart else None

    def neighbours(self, i: int) -> Array:
        """Whether body i and each one before it never touch: one body, or neighbours, or all links of a robot."""
        same = self.group[:i] == self.group[i]
        hangs = (self.joined_to[:i] == self.link[i]) | (self.joined_to[i] == self.link[:i])
        beside = (self.above[:i] == self.group[i]) | (self.above[i] == self.group[:i])
        if self.root is not None:
            beside |= self.root[:i] == self.root[i]
        found: Array = same | np.where(self.still[:i] | self.still[i], hangs, beside)
        return found


class Surfaces:
    """Bodies by the surfaces of their geometries: masks of all of them, one friction for each body."""

    def __init__(self, surfaces: Sequence[list[Surface]]) -> None:
        every = [x for own in surfaces for x in own]
        self.begin = np.cumsum([0, *map(len, surfaces)])
        self.contype, self.conaffinity = _bits(x.contype for x in every), _bits(x.conaffinity for x in every)
        self.some = np.flatnonzero(np.diff(self.begin))  # bodies that have geometries
        one = [summary(own) if own else Surface() for own in surfaces]
        self.priority = np.array([x.priority for x in one])
        self.condim = np.array([x.condim for x in one])
        self.friction = np.array([x.friction or 0.0 for x in one])
        self.felt = np.array([felt(x) for x in one])

    def touch(self, i: int) -> tuple[Array, Array]:
        """Whether some, and whether all, geometries of body i touch those of each body before it, by their masks."""
        some, every = np.zeros(i, bool), np.ones(i, bool)
        begin, own = self.begin[i], slice(self.begin[i], self.begin[i + 1])
        before = self.some[: np.searchsorted(self.some, i)]
        if own.stop > own.start and len(before):
            meets = (self.contype[own, None] & self.conaffinity[:begin]) | (
                self.conaffinity[own, None] & self.contype[:begin]
            ) != 0
            some[before] = np.logical_or.reduceat(meets.any(axis=0), self.begin[before])
            every[before] = np.logical_and.reduceat(meets.all(axis=0), self.begin[before])
        return some, every

    def laws(self, i: int) -> tuple[Array, Array]:
        """MuJoCo's friction of body i with each one before it, and where it is not the geometric mean of the two.

        It is the larger friction, or that of the body with the higher priority.
        """
        one, other = slice(None, i), i
        sides = np.maximum(self.condim[one], self.condim[other])
        larger = np.where(sides > 1, np.maximum(self.friction[one], self.friction[other]), 0.0)
        first = np.where(self.priority[one] > self.priority[other], self.felt[one], self.felt[other])
        wanted = np.where(self.priority[one] == self.priority[other], larger, first)
        return wanted, (self.felt[one] != wanted) | (self.felt[other] != wanted)


def row(i: int, tree: Tree, surfaces: Surfaces, jointed: Array, out: Array, larger_friction: bool) -> Row:
    """Body i against those before it; `jointed` are held by a joint, and `out` are said to pass."""
    still = tree.still[:i] & tree.still[i]
    some, every = surfaces.touch(i)
    open_ = ~(jointed | still)
    passing = open_ & (out | ~some | tree.neighbours(i))
    touching = open_ & ~passing
    mixed = int(np.count_nonzero(touching & ~every))
    laws: list[tuple[int, float]] = []
    if larger_friction:
        wanted, other = surfaces.laws(i)
        where = np.flatnonzero(touching & other)
        laws = list(zip(where.tolist(), wanted[where].tolist(), strict=True))
    return Row(np.flatnonzero(passing).tolist(), laws, mixed)


def summary(surfaces: list[Surface]) -> Surface:
    """One surface for all geometries of a body: those of the highest priority, the largest friction among them."""
    top = max(x.priority for x in surfaces)
    chosen = [x for x in surfaces if x.priority == top]
    return Surface(
        friction=max((x.friction for x in chosen if x.friction is not None), default=None),
        condim=max(x.condim for x in chosen), priority=top,
    )  # fmt: skip


def felt(surface: Surface) -> float:
    """The friction that a surface alone has."""
    return 0.0 if surface.condim == 1 else surface.friction or 0.0


def _bits(masks: Iterable[int]) -> Array:
    """Masks as whole numbers of 64 bits; MuJoCo's have 32."""
    return np.array([(mask + 2**63) % 2**64 - 2**63 for mask in masks], dtype=np.int64)
