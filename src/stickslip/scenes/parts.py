"""Structs that the kernels of a scene hand to one another: arrays that belong together, with names."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stickslip.codes import BOOK_SIZE
from stickslip.scenes.layout import Active, Bodies, Book, Contacts, Geoms, Materials, Options, Pairs, Room, Shapes

BOOK_IN_ALL = BOOK_SIZE + 9
MAX_CONTACTS, LAST_SPEED, RULE_GAIN, CREEP, CREEP_SPEED, OPEN_LOADS, LOADS_NOW, OPEN_NORMALS, NORMALS_NOW = range(
    BOOK_SIZE, BOOK_IN_ALL
)
"""Numbers of the book that a Lagrangian system does not write down; those with NOW are 1 or 0 in the present step."""
(
    PAIRS_OLD, SIDE, POINTS, ACTIVE, ROWS, ISLANDS, AFRESH, CANDIDATES, PLASTIC, HELD, RESTLESS, RESTS, WAIT, TRIED,
    COUNTS,
) = range(15)  # fmt: skip
"""Counters that a scene keeps between calls: pairs in memory, which side is new, contact points, ...

RESTS: 1 where the last step ended at rest; WAIT: steps until that is tried again, TRIED: how often it was in vain.
"""


class World(NamedTuple):
    """A scene as its engine has it; joints and springs are None where there are none."""

    bodies: Bodies
    geoms: Geoms
    materials: Materials
    shapes: Shapes
    joints: Any
    springs: Any
    options: Options
    fused: Any = None  # Fused, where fixed joints make one body of several


class Fused(NamedTuple):
    """Bodies that are parts of composites, see `fusing`."""

    body: np.ndarray  # (f,) members
    holder: np.ndarray  # (f,) the composite of each
    local: np.ndarray  # (f, 7) its pose in the composite
    turn: np.ndarray  # (f,) its angle less that of the composite, in the plane [rad]
    before: np.ndarray  # (g, 6) velocities of the composites before the last step
    number: np.ndarray  # (g,) the composites


class Solids(NamedTuple):
    """What has a form: bodies, their geometries, and the tables of the shapes."""

    bodies: Bodies
    geoms: Geoms
    shapes: Shapes


class Matter(NamedTuple):
    """What decides how bodies meet: materials of their geometries, curves of restitution, options of the run."""

    bodies: Bodies
    geoms: Geoms
    materials: Materials
    curves: np.ndarray
    options: Options


class Near(NamedTuple):
    """Pairs of geometries that are near one another, see `collision.nearby`; without rows no list is kept."""

    world: np.ndarray  # (n, 7) poses of the geometries when the list was made
    spare: np.ndarray  # (n,) how far each may come, with what it travels in the step, until it is made anew [m]
    moved: np.ndarray  # (n, 2) how far each has come since [m], and turned [rad]
    pairs: np.ndarray  # (k, 2) the list
    clear: np.ndarray  # (k,) how far the boxes of a pair are apart where the list was made, at least [m]; nan: unknown
    entry: np.ndarray  # (k,) number in the list of each candidate
    length: np.ndarray  # (1,) pairs in the list; -1: there is none


class Search(NamedTuple):
    """Room and settings of the search for contact points."""

    room: Room
    ignore: np.ndarray  # (k,) keys of pairs of bodies that pass through one another, sorted
    partners: np.ndarray  # (n,) bits of the geometries that each one may ever touch, where there are few
    candidates: np.ndarray  # (c, 2) pairs of geometries that may touch
    near: Near


class Touching(NamedTuple):
    """Contact points of one step and the pairs they belong to."""

    contacts: Contacts
    pairs: Pairs


class Patch(NamedTuple):
    """Points of one pair of geometries in a step: contacts[first:first + points].

    holder, other : poses of the body that the points are told about, and of the other one.
    """

    contacts: Contacts
    first: int
    points: int
    holder: np.ndarray
    other: np.ndarray


class Counted(NamedTuple):
    """Active contacts of a step, and the counters that tell their number and those of candidates and pairs."""

    active: Active
    counts: np.ndarray


class Problems(NamedTuple):
    """The contact problems of a step: islands of active contacts and joint rows."""

    active: Active
    order: np.ndarray  # (N,) active contacts by island
    rows: np.ndarray  # (R,) joint rows by island
    begins: np.ndarray  # (islands + 1,) where the contacts of each island begin in `order`
    row_begins: np.ndarray  # (islands + 1,) where the rows of each island begin in `rows`
    parent: np.ndarray  # (bodies,) room
    label: np.ndarray  # (bodies,) room
    wrench: np.ndarray  # (bodies, 6) room: forces and torques at the midpoint
    residuals: np.ndarray  # (islands,) and, as the last one, that of the free rotations
    effort: np.ndarray  # (islands,) stages beyond those that usually do
    counts: np.ndarray  # counters that are kept between calls, POINTS and others


class Diary(NamedTuple):
    """Notes of a step, and the bodies that have them."""

    channel: np.ndarray  # (bodies,) number among the bodies that are recorded; -1: it is not
    channels: np.ndarray  # (c,) bodies that are recorded
    book: Book


class Span(NamedTuple):
    """Steps that are asked for."""

    t0: float  # time of step 0 [s]
    steps: int
    every: int  # steps between two records
    driven: Any  # (steps, driven bodies, 6) velocities at the end of each step, or None
    resume: bool  # the first step has been solved by the host: it is only checked and finished


class Records(NamedTuple):
    """Rows for the records."""

    q: np.ndarray
    u: np.ndarray
    impulse: np.ndarray  # (records, bodies, 2) normal and tangential, since the record before [N s]
    state: np.ndarray
    gap: np.ndarray
    energy: np.ndarray  # (records, 2) kinetic and potential [J]


class Island(NamedTuple):
    """Bodies that touch or are joined: contacts order[first:last] and joint rows rows[row_first:row_last]."""

    bodies: Bodies
    contacts: Contacts
    active: Active
    order: np.ndarray
    first: int
    last: int
    joints: Any
    rows: np.ndarray
    row_first: int
    row_last: int
