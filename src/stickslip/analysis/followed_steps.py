"""Derivatives of the time steps of a scene: the map from step to step, with the choices of each step held.

A solved step says which contacts push, stick and slide, and which rows of joints are at a bound: limits, motors,
friction.  With these sets held its problem is a system of equations for the impulses (`held_laws`).  So their
derivatives follow from those of velocities at held impulses, and end velocities and poses from both.  What a step is at
held impulses (`scenes.held_step`) is differentiated by central differences of order 4 along each column: of free
motion, of contact points, normals and gaps, of joints, and of all rules that are smooth.  The sets themselves are
differentiated exactly, the cone by the slope of the projection onto its disc.

A step that linearises its joints anew solves several problems, one after the other.  Each is differentiated, with the
velocities of the one before (`Level`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from stickslip import codes
from stickslip.analysis.held_laws import (
    MARGIN,
    Change,
    Solved,
    impulse_slopes,
    row_states,
    solved_again,
    states_of,
)
from stickslip.checks import Array
from stickslip.scenes import layout, step
from stickslip.scenes.engine import SceneEngine, SceneState
from stickslip.scenes.held_joints import memory_of
from stickslip.scenes.held_step import (
    Held,
    Level,
    Look,
    Moment,
    OtherContacts,
    held_choices,
    looked_at,
    prepare_at,
    turn_between,
    turned_by,
)
from stickslip.scenes.islands.joint_rows import FRICTION, LIMIT, MOTOR
from stickslip.scenes.shapes import rotation_matrix
from stickslip.scenes.touching import ContactLog

AWAY = 1e-4  # of sizes and velocities: how far differences look; their error is its fourth power
_NEARER = 1e-6  # the same where contacts change farther away: less exact by rounding
_SAME = 1e-7  # share of the velocities by which the end of a step may miss the equations that are differentiated
_NO_EFFECT = 2e-15  # rounding of velocities, relative
_AT_REST = 1e-4  # share of the speed that the run has had, below which velocities are at rest
_CORNER = 1e-3  # of a slope: one-sided slopes that differ by more tell of a corner
_ROUNDING = 1e-11  # [m/s, m]: what contact points and velocities are rounded by
_CONTRADICT = 1e-6  # of what contacts ask for: less is the error of differences
_FAINT = 1e-3  # of the derivatives [1/s]: at rest contacts ask for nothing but rounding
_LEFT_OVER = 1e-10  # of what a column has been: less is rounding
_LEVELS = 24  # problems of a step, one after the other, at most
PLACES = ((1.0, 2.0 / 3.0), (-1.0, -2.0 / 3.0), (2.0, -1.0 / 12.0), (-2.0, 1.0 / 12.0))
"""Places and weights of central differences of order 4."""
_ROW_WORDS = {LIMIT: "limit", MOTOR: "motor", FRICTION: "friction"}


class Column(NamedTuple):
    """One quantity: engines at its neighbouring values, None where it is a place or a velocity of the start."""

    name: str
    engines: tuple[SceneEngine, ...] | None
    away: float


class Sum(NamedTuple):
    """A derivative of a step at held impulses."""

    slip: Array  # (m, dim) velocities of contacts
    mu: Array  # (m,)
    rate: Array  # (R,) velocities of rows of joints
    bounds: Array  # (R, 2)
    end: Array  # (n, 6) velocities of the contact problem
    vel: Array  # (n, 6) end velocities
    shift: Array  # (n, 6) poses, as places and rotation vectors


class Followed(ContactLog):
    """Carries derivatives along a run of a scene, step by step, in place of a table of contact points.

    X (n, 12, k): derivatives of places, turns, velocities and angular velocities of all bodies.
    Z (rows, k): of the impulses of joints in the last step; a link under tension has more inertia by them.
    carried: derivatives of the places of members in composites.
    """

    def __init__(
        self, twin: SceneEngine, columns: tuple[Column, ...], X: Array, carried: Array | None, every: int
    ) -> None:
        super().__init__()
        self.twin, self.columns, self.X, self.carried, self.every = twin, columns, X, carried, every
        self.Z = np.zeros((0 if twin.joints is None else len(twin.joints.row), len(columns)))
        self.largest = np.zeros(len(columns))  # size that each column has had
        self.fastest = 0.0  # speed that the run has had
        self.before: Moment | None = None
        self.pairs_old, self.pushed = 0, 0.0
        self.kept: list[tuple[float, Array, Array]] = []
        self.doubts: list[str] = []
        self.strikes: list[float] = []  # ends of steps in which limits are struck, or ropes come taut [s]

    def begin(self, engine: SceneEngine, t0: float) -> None:
        """Note where a run begins."""
        self.before = moment_of(engine, t0, 0)
        self.pairs_old = int(engine.counts[step.PAIRS_OLD])
        self.keep(engine, t0)

    def keep(self, engine: SceneEngine, t: float) -> None:
        engine.carry()
        self.kept.append((t, *recorded(engine, with_members(engine, self.X, self.carried))))

    def tables(self) -> Any:
        return None, None

    def take(self, engine: SceneEngine, state: SceneState) -> None:
        """Carry the derivatives over the step that has just ended."""
        moment = self.before
        assert moment is not None
        engines = [self.twin, *(each for column in self.columns for each in column.engines or ())]
        if np.all(np.isnan(self.X)) and self.X.size:
            self._go_on(engine, state)
            return
        for each in engines:
            share_contacts(engine, each)
        points, held, leapt = self._held(engine, moment)
        m = len(held.active)
        own, twin = engine.active[:m], self.twin.active[:m]
        held = held._replace(renewed=bool(np.any(own.beyond != twin.beyond)))
        if not held.renewed and np.any(own.bias != twin.bias):
            self.doubts.append(f"t = {moment.t:.9g} s: restitution is left out, which no law allows, to solve the step")
        try:
            levels, looks = self._levels(engine, moment, held)
            if leapt:
                self._require_met(engine, looks[-1], moment.t)
        except ArithmeticError:
            if not leapt:
                raise
            self._lose(moment.t, engine, state)
            return
        solved = solved_of(engine, held, levels[-1], looks[-1])
        self.doubts += doubts_of(self.twin, points, held, solved, moment.t)
        pushed = float(engine.book.numbers[codes.PROJECTIONS])
        if pushed != self.pushed:
            self.doubts.append(f"t = {moment.t:.9g} s: bodies are pushed apart, and that has no derivative here")
        else:
            self._require_met(engine, looks[-1], moment.t)
        self._carry(moment, held, levels, looks, engine)
        if comes_to_bound(moment, held, solved, looks[-1]):
            self.strikes.append(state.t)
        self.pushed = pushed
        self._go_on(engine, state)

    def _go_on(self, engine: SceneEngine, state: SceneState) -> None:
        """Note where the next step begins."""
        self.before = moment_of(engine, state.t, state.step)
        self.pairs_old = int(engine.counts[step.PAIRS_OLD])
        if state.step % self.every == 0:
            self.keep(engine, state.t)

    def _held(self, engine: SceneEngine, moment: Moment) -> tuple[Any, Held, bool]:
        """Contact points and choices of a step, and whether limits or ropes were leapt over (`scenes.islands.leaps`).

        Those take part in what was solved last, though its rows were set up without them.
        """
        points = prepare_at(self.twin, moment, self.pairs_old)
        held = held_choices(self.twin, points)
        if engine.joints is None or self.twin.joints is None:
            return points, held, False
        rows = np.flatnonzero(engine.joints.row.used)
        limits = held.rows[held.rows % layout.ROWS_PER_JOINT == LIMIT]
        own, twin = engine.joints.row.direction, self.twin.joints.row.direction
        turned = any(float(own[row] @ twin[row]) < 0.0 for row in limits)
        if np.array_equal(rows, held.rows) and not turned:
            return points, held, False
        points = prepare_at(self.twin, moment, self.pairs_old, rows)
        return points, held_choices(self.twin, points), True

    def _lose(self, t: float, engine: SceneEngine, state: SceneState) -> None:
        """There is no derivative behind a step."""
        self.doubts.append(f"t = {t:.9g} s: a limit or a rope is leapt over and held back in a way not followed here")
        self.X[:], self.Z[:] = np.nan, np.nan
        self.pushed = float(engine.book.numbers[codes.PROJECTIONS])
        self._go_on(engine, state)

    def _levels(self, engine: SceneEngine, moment: Moment, held: Held) -> tuple[list[Level], list[Look]]:
        """The problems that the step has solved, one after the other; the last has the impulses of the run."""
        active, dim = engine.active[: len(held.active)], engine.options.dim
        if int(engine.counts[step.ACTIVE]) != len(held.active) or np.any(active.contact != held.active):
            raise ArithmeticError(f"the step at t = {moment.t:.9g} s cannot be done again: its contacts are others")
        r, z, target, speed = active.r[:, :dim].copy(), np.zeros(0), np.zeros(0), 0.0
        if engine.joints is not None:
            if not np.array_equal(np.flatnonzero(engine.joints.row.used), held.rows):
                raise ArithmeticError(f"the step at t = {moment.t:.9g} s cannot be done again: its rows are others")
            row = engine.joints.row[held.rows]
            z, target = row.impulse.copy(), row.target
        if engine.joints is not None or held.renewed:
            speed = np.abs(engine.bodies.end).max() + np.abs(engine.bodies.free).max() + self._round_off(engine)
        levels, looks, about = [], [], None
        for _ in range(_LEVELS):
            level = Level(r, z, about)
            look = looked_at(self.twin, moment, self.pairs_old, held, [level])[0]
            levels.append(level)
            looks.append(look)
            off = np.abs(look.rows.target - target).max(initial=0.0)
            if held.renewed:
                off = max(off, np.abs(look.bias - active.bias[:, :dim]).max(initial=0.0))
            if off <= _SAME * speed:
                return levels, looks
            solved = solved_again(mobility_matrix(look), solved_of(engine, held, level, look))
            levels[-1] = Level(solved.r, solved.z, about)
            looks[-1] = looked_at(self.twin, moment, self.pairs_old, held, levels[-1:])[0]
            about = looks[-1].end
        self.doubts.append(f"t = {moment.t:.9g} s: joints are linearised anew in ways that are not followed here")
        level = Level(r, z, engine.bodies.end.copy())
        return [level], looked_at(self.twin, moment, self.pairs_old, held, [level])

    def _require_met(self, engine: SceneEngine, look: Look, t: float) -> None:
        """Raise ArithmeticError where the equations that are differentiated are not those of the step."""
        moves = engine.bodies.kind > layout.STATIC
        size = np.abs(engine.bodies.vel[moves]).max(initial=0.0) + self._round_off(engine)
        size += engine.options.dt * np.linalg.norm(engine.options.gravity)
        if np.abs(look.vel[moves] - engine.bodies.vel[moves]).max(initial=0.0) > _SAME * max(size, 1e-300):
            raise ArithmeticError(f"the step at t = {t:.9g} s does not meet its own equations")

    def _round_off(self, engine: SceneEngine) -> float:
        """A speed [m/s] beside that of the step: what has come to rest has velocities of rounding errors alone."""
        self.fastest = max(self.fastest, float(np.abs(engine.bodies.vel).max(initial=0.0)))
        return _AT_REST * self.fastest

    def _carry(self, moment: Moment, held: Held, levels: list[Level], looks: list[Look], engine: SceneEngine) -> None:
        """X and Z behind the step."""
        parts = [self._slope(moment, held, levels, looks, j) for j in range(len(self.columns))]
        ends = None  # derivatives of the velocities of the level before
        for n, (level, look) in enumerate(zip(levels, looks, strict=True)):
            sums = [part[n] for part in parts]
            if ends is not None:
                about = [self._by_velocities(moment, held, level, look, ends[:, :, j]) for j in range(len(sums))]
                sums = [added(one, other) for one, other in zip(sums, about, strict=True)]
            solved = solved_of(engine, held, level, look)
            dy = self._impulses(moment.t, look, solved, sums)
            ends = np.stack([part.end for part in sums], axis=-1) + response_to(look, dy)
        dvel = np.stack([part.vel for part in sums], axis=-1)
        shift = np.stack([part.shift for part in sums], axis=-1)
        change = np.einsum("nij,njk->nik", look.to_end, response_to(look, dy))
        time = self.twin.options.theta * self.twin.options.dt
        shift[:, :3] += time * change[:, :3]
        shift[:, 3:] += time * np.einsum("nij,njk->nik", left_slopes(time * look.vel[:, 3:]), change[:, 3:])
        self.X = np.concatenate([shift, dvel + change], axis=1)
        self.X[self.twin.bodies.kind <= layout.STATIC] = 0.0
        self.X[:, :, self._without_effect()] = 0.0
        self.Z[:] = 0.0
        self.Z[held.rows] = dy[level.r.size :]

    def _without_effect(self) -> Array:
        """Columns (k,) of quantities that have had no effect so far, such as a mass in free fall: rounding alone.

        Differences of two values of a quantity p, which are AWAY |p| apart, have an error of round-off v / (AWAY |p|).
        """
        size = np.abs(self.X).max(axis=(0, 1), initial=0.0)
        noise = [_NO_EFFECT * self.fastest / column.away if column.engines else 0.0 for column in self.columns]
        return np.asarray((size <= noise) & (self.largest <= noise))

    def _impulses(self, t: float, look: Look, solved: Solved, sums: list[Sum]) -> Array:
        """Derivatives of the impulses of one level, (m dim + R, k)."""
        m, dim = solved.r.shape
        if not m + len(solved.z):
            return np.zeros((0, len(sums)))
        slip = np.stack([part.slip.ravel() for part in sums], axis=-1).reshape(m * dim, len(sums))
        rest = [np.stack([part[i] for part in sums], axis=-1) for i in (1, 2, 3)]
        known = np.all(np.isfinite(slip), axis=0) & np.all(np.isfinite(rest[1]), axis=0)
        change = Change(*(np.where(known, part, 0.0) for part in (slip, *rest)))
        found = impulse_slopes(mobility_matrix(look), solved, change, _FAINT * float(np.abs(self.X).max(initial=0.0)))
        dy = found.impulses
        dy[:, ~known] = np.nan
        if found.missing > _CONTRADICT:
            self.doubts.append(f"t = {t:.9g} s: contacts cannot all hold beside the motion")
        if found.free.size:
            spread = response_to(look, found.free)
            most = max(np.abs(look.response).max(initial=0.0), np.abs(look.row_response).max(initial=0.0))
            if np.abs(spread).max() > 1e-6 * most * np.abs(found.free).max():
                self.doubts.append(
                    f"t = {t:.9g} s: how contacts share their load is open, and the motion depends on it"
                )
            if np.any(self.twin.bodies.taut) and np.abs(found.free[m * dim :]).max(initial=0.0) > 0.0:
                self.doubts.append(f"t = {t:.9g} s: how joints share their load is open, and a taut link depends on it")
        return dy

    def _slope(self, moment: Moment, held: Held, levels: list[Level], looks: list[Look], j: int) -> list[Sum]:
        """Derivatives of the step at held impulses along column j: of its state, and of its quantity; by level."""
        column, X, Z = self.columns[j], self.X[:, :, j], self.Z[:, j]
        total = [nothing(look) for look in looks]
        if not np.all(np.isfinite(X)):
            return [Sum(*(np.full_like(part, np.nan) for part in each)) for each in total]
        size = float((np.abs(X) * measures(self.twin, moment)).max(initial=0.0))
        whole = float(np.abs(X).max())
        self.largest[j] = max(self.largest[j], whole)
        if size > 0.0:

            def beside(away: float) -> Any:
                return lambda s: (self.twin, shifted(moment, s * away * X, s * away * Z), levels)

            quiet = whole <= _LEFT_OVER * self.largest[j]
            found = self._differences(beside, (AWAY / size, _NEARER / size), held, looks, moment.t, quiet)
            total = [added(*pair) for pair in zip(total, found, strict=True)]
        if column.engines is not None:
            at = dict(zip((place for place, _ in PLACES), column.engines, strict=True))
            found = self._differences(
                lambda _: lambda s: (at[s], moment, levels), (column.away,), held, looks, moment.t
            )
            total = [added(*pair) for pair in zip(total, found, strict=True)]
        return total

    def _by_velocities(self, moment: Moment, held: Held, level: Level, look: Look, change: Array) -> Sum:
        """Derivative of a level by the velocities that it is linearised about, along `change` (n, 6)."""
        size = float(np.abs(change).max())
        if not 0.0 < size < np.inf:
            return nothing(look)
        speed = max(
            float(np.abs(look.end).max()), self.twin.options.dt * float(np.linalg.norm(self.twin.options.gravity))
        )
        about = level.about

        def beside(away: float) -> Any:
            return lambda s: (self.twin, moment, [level._replace(about=about + s * away * change)])

        return self._differences(beside, (AWAY * max(speed, 1e-9) / size,), held, [look], moment.t)[0]

    def _differences(
        self, line: Any, ways: tuple[float, ...], held: Held, looks: list[Look], t: float, quiet: bool = False
    ) -> list[Sum]:
        """Differences of order 4 along a line, nan where contacts change on it as near as the last of the ways.

        line(away): engine, state and levels at each of the places, `away` from one to the next; quiet: corners do not
        count, since the line is one of rounding.
        """
        said = ""
        for away in ways:
            there = line(away)
            try:
                near = {}
                for place, _ in PLACES:
                    engine, moment, levels = there(place)
                    near[place] = looked_at(engine, moment, self.pairs_old, held, levels)
            except OtherContacts as problem:
                said = str(problem)
                continue
            found = []
            for n, look in enumerate(looks):
                off = {place: difference(one[n], look) for place, one in near.items()}
                slope = Sum(
                    *(
                        sum(w / away * x for (_, w), x in zip(PLACES, parts, strict=True))
                        for parts in zip(*off.values(), strict=True)
                    )
                )
                if not quiet and has_corner(off, slope, away):
                    self.doubts.append(
                        f"t = {t:.9g} s: a contact point is at a corner: the derivative is a mean of both sides"
                    )
                found.append(slope)
            return found
        self.doubts.append(f"t = {t:.9g} s: beside the motion {said}")
        return [Sum(*(np.full_like(part, np.nan) for part in nothing(look))) for look in looks]


def moment_of(engine: SceneEngine, t: float, number: int) -> Moment:
    """The state at which an engine stands."""
    return Moment(engine.bodies.pose.copy(), engine.bodies.vel.copy(), t, number, memory_of(engine))


def nothing(look: Look) -> Sum:
    """A derivative that is zero."""
    return Sum(
        *(np.zeros_like(part) for part in (look.slip, look.mu, look.rate, look.rows.bounds)),
        *[np.zeros_like(look.vel) for _ in range(3)],
    )


def solved_of(engine: SceneEngine, held: Held, level: Level, look: Look) -> Solved:
    """A level with the laws of its contacts and rows."""
    joint, part = np.divmod(held.rows, layout.ROWS_PER_JOINT)
    axis = np.where((part >= LIMIT) & (part <= FRICTION), joint, -1)
    size = engine.active.mobility[: len(level.r)].copy()
    row_size = np.einsum("rnk,rnk->r", look.rows.D, look.row_response) + look.rows.soft
    return Solved(
        level.r, look.slip, look.mu, size, level.z, look.rate, look.rows.bounds, row_size, axis, look.rows.soft > 0.0
    )


def comes_to_bound(moment: Moment, held: Held, solved: Solved, look: Look) -> bool:
    """Whether a limit or a rope that carried nothing in the step before, and came on, is loaded."""
    if moment.memory is None:
        return False
    before = np.einsum("rnk,nk->r", look.rows.D, moment.vel)
    size = np.einsum("rnk,nk->r", np.abs(look.rows.D), np.abs(moment.vel))
    one_sided = (solved.bounds[:, 0] == 0.0) & (solved.z > 0.0)
    return bool(np.any(one_sided & (moment.memory.impulse[held.rows] == 0.0) & (before < -1e-9 * size)))


def mobility_matrix(look: Look) -> Array:
    """Velocities of contacts and rows by their impulses, with softness, (m dim + R, m dim + R)."""
    n = look.vel.size
    J = np.concatenate([look.W.reshape(-1, n), look.rows.D.reshape(-1, n)])
    V = np.concatenate([look.response.reshape(-1, n), look.row_response.reshape(-1, n)])
    G = J @ V.T
    first = len(G) - len(look.rate)
    G[range(first, len(G)), range(first, len(G))] += look.rows.soft
    return G


def response_to(look: Look, impulses: Array) -> Array:
    """Velocities (n, 6, k) by impulses (m dim + R, k) of contacts and rows, before `to_end`."""
    (n, _), k = look.vel.shape, impulses.shape[1]
    V = np.concatenate([look.response.reshape(-1, 6 * n), look.row_response.reshape(-1, 6 * n)])
    return (V.T @ impulses).reshape(n, 6, k)


def has_corner(off: Mapping[float, Sum], slope: Sum, away: float) -> bool:
    """Whether a step has a corner: f(h) + f(-h) - 2 f(0) grows by two, and not by four, from h to 2 h."""
    for near, back, far, behind, size in zip(off[1.0], off[-1.0], off[2.0], off[-2.0], slope, strict=True):
        bent = 4.0 * (near + back) - (far + behind)
        if np.abs(bent).max(initial=0.0) > _CORNER * away * np.abs(size).max(initial=0.0) + _ROUNDING:
            return True
    return False


def measures(engine: SceneEngine, moment: Moment) -> Array:
    """Factors that make shifts, turns, velocities and angular velocities of the bodies (n, 12) shares of the motion."""
    bodies, options = engine.bodies, engine.options
    radius = np.where(np.isfinite(bodies.radius) & (bodies.radius > 0.0), bodies.radius, 1.0)[:, None]
    speed = np.abs(moment.vel[:, :3]).max() + (np.abs(moment.vel[:, 3:]) * radius).max()
    speed = max(float(speed + options.dt * np.linalg.norm(options.gravity)), 1e-9)
    one = np.ones((len(radius), 3))
    return np.concatenate([one / radius, one, one / speed, one * radius / speed], axis=1)


def added(one: Sum, other: Sum) -> Sum:
    return Sum(*(a + b for a, b in zip(one, other, strict=True)))


def difference(one: Look, look: Look) -> Sum:
    """How a step differs from the step of the run."""
    turn = turn_between(one.pose[:, 3:], look.pose[:, 3:])
    shift = np.concatenate([one.pose[:, :3] - look.pose[:, :3], turn], axis=1)
    finite = np.isfinite(look.rows.bounds)
    bounds = np.where(finite, one.rows.bounds, 0.0) - np.where(finite, look.rows.bounds, 0.0)
    return Sum(
        one.slip - look.slip, one.mu - look.mu, one.rate - look.rate, bounds, one.end - look.end, one.vel - look.vel,
        shift,
    )  # fmt: skip


def shifted(moment: Moment, change: Array, impulses: Array) -> Moment:
    """A state beside another one; change (n, 12), impulses (rows,) of joints in the step before."""
    pose, memory = moment.pose.copy(), moment.memory
    pose[:, :3] += change[:, :3]
    turning = np.any(change[:, 3:6] != 0.0, axis=1)  # others keep their bits
    pose[turning, 3:] = turned_by(change[turning, 3:6], pose[turning, 3:])
    if memory is not None:
        memory = memory._replace(impulse=memory.impulse + impulses)
    return moment._replace(pose=pose, vel=moment.vel + change[:, 6:], memory=memory)


def left_slopes(phi: Array) -> Array:
    """Matrices T (n, 3, 3) with exp [phi + d] = exp [T d] exp [phi] to first order."""
    angle = np.linalg.norm(phi, axis=1)
    small = angle < 1e-3
    x = np.where(small, 1.0, angle)
    f = np.where(small, 0.5 - angle**2 / 24.0, (1.0 - np.cos(x)) / x**2)
    g = np.where(small, 1.0 / 6.0 - angle**2 / 120.0, (x - np.sin(x)) / x**3)
    cross = np.zeros((len(phi), 3, 3))
    cross[:, 0, 1], cross[:, 0, 2], cross[:, 1, 2] = -phi[:, 2], phi[:, 1], -phi[:, 0]
    cross -= cross.transpose(0, 2, 1)
    return np.eye(3) + f[:, None, None] * cross + g[:, None, None] * (cross @ cross)


def doubts_of(engine: SceneEngine, points: Any, held: Held, solved: Solved, t: float) -> list[str]:
    """Reasons where a step is at a corner of its contact laws."""
    pushes, _, margin = states_of(solved)
    found = []
    for i in np.flatnonzero(margin < MARGIN):
        k = held.active[i]
        a, b = engine.body_name(points.a[k]), engine.body_name(points.b[k])
        pushed = pushes[i] and solved.r[i, 0] * solved.size[i] > MARGIN * np.abs(solved.slip[i]).sum()
        said = f"friction between {a!r} and {b!r} is at its bound" if pushed else f"{a!r} and {b!r} just touch"
        found.append(f"t = {t:.9g} s: {said}")
    for i in np.flatnonzero(row_states(solved)[1] < MARGIN):
        j, part = divmod(int(held.rows[i]), layout.ROWS_PER_JOINT)
        number = engine.joint_number(j)
        name = engine.scene.joints[number].name if number < len(engine.scene.joints) else "a spring"
        found.append(f"t = {t:.9g} s: {_ROW_WORDS.get(part, 'rope')} of joint {name!r} is right at its bound")
    return found


def share_contacts(engine: SceneEngine, twin: SceneEngine) -> None:
    """Give a twin the contact points of the step before, which tell loads, and what has not moved."""
    old = int(engine.counts[step.SIDE])  # the end of a step has turned the sides round
    if twin.contacts_room != engine.contacts_room:
        twin._grow(engine.contacts_room, keep=False)
    twin.contacts[1][:] = engine.contacts[old]
    twin.pairs[1].entry[:], twin.pairs[1].table[:] = engine.pairs[old].entry, engine.pairs[old].table


def recorded(engine: SceneEngine, X: Array) -> tuple[Array, Array]:
    """Derivatives of q and u as trajectories have them, from those of the bodies (n, 12, k)."""
    i, k = engine.channels, X.shape[2]
    if engine.scene.dim == 2:
        return X[i][:, [0, 1, 5]].reshape(-1, k), X[i][:, [6, 7, 11]].reshape(-1, k)
    phi, q = X[i, 3:6], engine.bodies.pose[i, 3:]
    turn = np.empty((len(i), 4, k))
    turn[:, 0] = -0.5 * np.einsum("nik,ni->nk", phi, q[:, 1:])
    turn[:, 1:] = 0.5 * (phi * q[:, :1, None] + np.cross(phi, q[:, 1:, None], axis=1))
    return np.concatenate([X[i, :3], turn], axis=1).reshape(-1, k), X[i, 6:].reshape(-1, k)


def with_members(engine: SceneEngine, X: Array, carried: Array | None) -> Array:
    """X with the derivatives of members of composites, which follow from those of the composites.

    carried (members, 6, k): derivatives of the places and turns of members in their composites, in their axes.
    """
    if engine.fused_table is None or carried is None:
        return X
    X, table = X.copy(), engine.fused_table
    for i, h, change in zip(table.body, table.holder, carried, strict=True):
        R, omega = rotation_matrix(engine.bodies.pose[h, 3:]), engine.bodies.vel[h, 3:, None]
        arm = (engine.bodies.pose[i, :3] - engine.bodies.pose[h, :3])[:, None]
        far = np.cross(X[h, 3:6], arm, axis=0) + R @ change[:3]  # how the arm changes
        X[i, :3], X[i, 3:6] = X[h, :3] + far, X[h, 3:6] + R @ change[3:]
        X[i, 6:9] = X[h, 6:9] + np.cross(X[h, 9:], arm, axis=0) + np.cross(omega, far, axis=0)
        X[i, 9:] = X[h, 9:]
    return X
