"""Derivatives of the time steps of a scene: the map from step to step, with the choices of each step held.

A solved step says which contacts push, stick and slide.  With these sets held its contact problem is a system of
equations for the impulses r:

    c_N = 0,  c_T = 0  where it pushes and sticks,      r_T + mu r_N c_T / |c_T| = 0  where it slides,

c the velocities of the contacts with what they ask for.  So dr follows from dc at held impulses, and end velocities and
poses from dr.  What a step is at held impulses (`scenes.held_step`) is differentiated by central differences of order 4
along each column: of free motion, of contact points, normals and gaps, and of all rules that are smooth.  The sets
themselves are differentiated exactly, the cone by the slope of the projection onto its disc.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from stickslip import codes
from stickslip.analysis.progress import not_interrupted
from stickslip.analysis.sensitivity import known_names
from stickslip.checks import Array, real_number, whole_number
from stickslip.laws.friction import FrictionLaw
from stickslip.mechanisms.steppers.moreau_jean import MoreauJean
from stickslip.mechanisms.steppers.moreau_midpoint import MoreauMidpoint
from stickslip.mechanisms.steppers.stewart_trinkle import StewartTrinkle
from stickslip.run.driver import drive
from stickslip.run.options import chosen_stepper
from stickslip.run.scene_simulate import prepare_run
from stickslip.scenario import SceneScenario
from stickslip.scenes import layout, step
from stickslip.scenes.engine import SceneEngine, SceneState, materials_of
from stickslip.scenes.held_step import (
    Held,
    Look,
    Moment,
    OtherContacts,
    held_choices,
    looked_at,
    prepare_at,
    turn_between,
    turned_by,
)
from stickslip.scenes.tables import body_table
from stickslip.scenes.touching import ContactLog
from stickslip.scenes.varied import free_names, value_in
from stickslip.trajectory import Trajectory

STEPPERS = (MoreauMidpoint, MoreauJean, StewartTrinkle)
_AWAY = 1e-4  # of sizes and velocities: how far differences look; their error is its fourth power
_NEARER = 1e-6  # the same where contacts change farther away: less exact by rounding
_MARGIN = 1e-7  # contacts nearer to the edge of their law, relative, are at a corner of it
_SAME = 1e-7  # share of the velocities by which the end of a step may miss the equations that are differentiated
_CORNER = 1e-3  # of a slope: one-sided slopes that differ by more tell of a corner
_ROUNDING = 1e-11  # [m/s, m]: what contact points and velocities are rounded by
_CONTRADICT = 1e-6  # of what contacts ask for: less is the error of differences
_FAINT = 1e-3  # of the derivatives [1/s]: at rest contacts ask for nothing but rounding
_RANK = 1e-9  # relative: directions of impulses below do not change velocities
_PLACES = ((1.0, 2.0 / 3.0), (-1.0, -2.0 / 3.0), (2.0, -1.0 / 12.0), (-2.0, 1.0 / 12.0))
"""Places and weights of central differences of order 4."""
_OPTIONS = ("rule", "tol")  # of a scenario that its neighbours take


class Column(NamedTuple):
    """One quantity: engines at its neighbouring values, None where it is a place or a velocity of the start."""

    name: str
    engines: tuple[SceneEngine, ...] | None
    away: float


class Sum(NamedTuple):
    """A derivative of a step at held impulses: velocities of contacts, friction, end velocities, poses as shifts."""

    slip: Array  # (m, dim)
    mu: Array  # (m,)
    vel: Array  # (n, 6)
    shift: Array  # (n, 6) places and rotation vectors


class Solved(NamedTuple):
    """A step as it was solved: r (m, dim) impulses, slip (m, dim), mu (m,), size (m,) mobilities [1/kg]."""

    r: Array
    slip: Array
    mu: Array
    size: Array


class Followed(ContactLog):
    """Carries derivatives along a run of a scene, step by step, in place of a table of contact points.

    X (n, 12, k): derivatives of places, turns, velocities and angular velocities of all bodies.
    """

    def __init__(self, twin: SceneEngine, columns: tuple[Column, ...], X: Array, every: int) -> None:
        super().__init__()
        self.twin, self.columns, self.X, self.every = twin, columns, X, every
        self.before: Moment | None = None
        self.pairs_old, self.pushed = 0, 0.0
        self.kept: list[tuple[float, Array, Array]] = []
        self.doubts: list[str] = []

    def begin(self, engine: SceneEngine, t0: float) -> None:
        """Note where a run begins."""
        self.before = Moment(engine.bodies.pose.copy(), engine.bodies.vel.copy(), t0, 0)
        self.pairs_old = int(engine.counts[step.PAIRS_OLD])
        self.keep(engine, t0)

    def keep(self, engine: SceneEngine, t: float) -> None:
        self.kept.append((t, *recorded(engine, self.X)))

    def tables(self) -> Any:
        return None, None

    def take(self, engine: SceneEngine, state: SceneState) -> None:
        """Carry the derivatives over the step that has just ended."""
        moment = self.before
        assert moment is not None
        engines = [self.twin, *(each for column in self.columns for each in column.engines or ())]
        for each in engines:
            share_contacts(engine, each)
        points = prepare_at(self.twin, moment, self.pairs_old)
        held = held_choices(self.twin, points)
        solved, look = self._solved(engine, moment, held)
        self.doubts += doubts_of(self.twin, points, held, solved, moment.t)
        pushed = float(engine.book.numbers[codes.PROJECTIONS])
        if pushed != self.pushed:
            self.doubts.append(f"t = {moment.t:.9g} s: bodies are pushed apart, and that has no derivative here")
        else:
            self._require_met(engine, look, moment.t)
        self._carry(moment, held, solved, look)
        self.pushed = pushed
        self.before = Moment(engine.bodies.pose.copy(), engine.bodies.vel.copy(), state.t, state.step)
        self.pairs_old = int(engine.counts[step.PAIRS_OLD])
        if state.step % self.every == 0:
            self.keep(engine, state.t)

    def _solved(self, engine: SceneEngine, moment: Moment, held: Held) -> tuple[Solved, Look]:
        """Impulses and contact velocities of the step, and the step at these impulses."""
        active, dim = engine.active[: len(held.active)], engine.options.dim
        if int(engine.counts[step.ACTIVE]) != len(held.active) or np.any(active.contact != held.active):
            raise ArithmeticError(f"the step at t = {moment.t:.9g} s cannot be done again: its contacts are others")
        r = active.r[:, :dim].copy()
        look = looked_at(self.twin, moment, self.pairs_old, held, r)
        return Solved(r, look.slip, look.mu, active.mobility.copy()), look

    def _require_met(self, engine: SceneEngine, look: Look, t: float) -> None:
        """Raise ArithmeticError where the equations that are differentiated are not those of the step."""
        moves = engine.bodies.kind > layout.STATIC
        size = np.abs(engine.bodies.vel[moves]).max(initial=0.0) + engine.options.dt * np.linalg.norm(
            engine.options.gravity
        )
        if np.abs(look.vel[moves] - engine.bodies.vel[moves]).max(initial=0.0) > _SAME * max(size, 1e-300):
            raise ArithmeticError(f"the step at t = {t:.9g} s does not meet its own equations")

    def _carry(self, moment: Moment, held: Held, solved: Solved, look: Look) -> None:
        """X behind the step."""
        parts = [self._slope(moment, held, solved, look, j) for j in range(len(self.columns))]
        k, (m, dim) = len(parts), solved.r.shape
        dvel = np.stack([part.vel for part in parts], axis=-1)
        shift = np.stack([part.shift for part in parts], axis=-1)
        if m:
            G = np.einsum("mdnk,MDnk->mdMD", look.W, look.response).reshape(m * dim, m * dim)
            dslip = np.stack([part.slip for part in parts], axis=-1).reshape(m * dim, k)
            dmu = np.stack([part.mu for part in parts], axis=-1)
            known = np.all(np.isfinite(dslip), axis=0)
            dr, free, missing = impulse_slopes(G, np.where(known, dslip, 0.0), np.where(known, dmu, 0.0), solved)
            dr[:, ~known] = np.nan
            if missing > _CONTRADICT * (np.abs(dslip[:, known]).max(initial=0.0) + _FAINT * np.abs(self.X).max()):
                self.doubts.append(f"t = {moment.t:.9g} s: contacts cannot all hold beside the motion")
            change = np.einsum("mdnk,mdj->nkj", look.response, dr.reshape(m, dim, k))
            change = np.einsum("nij,njk->nik", look.to_end, change)
            if free.size:
                spread = np.einsum("mdnk,mdj->nkj", look.response, free.reshape(m, dim, -1))
                if np.abs(spread).max() > 1e-6 * np.abs(look.response).max() * np.abs(free).max():
                    self.doubts.append(
                        f"t = {moment.t:.9g} s: how contacts share their load is open, and the motion depends on it"
                    )
            time = self.twin.options.theta * self.twin.options.dt
            shift[:, :3] += time * change[:, :3]
            shift[:, 3:] += time * np.einsum("nij,njk->nik", left_slopes(time * look.vel[:, 3:]), change[:, 3:])
            dvel = dvel + change
        self.X = np.concatenate([shift, dvel], axis=1)
        self.X[self.twin.bodies.kind == layout.STATIC] = 0.0

    def _slope(self, moment: Moment, held: Held, solved: Solved, look: Look, j: int) -> Sum:
        """Derivative of the step at held impulses along column j: of its state, and of its quantity."""
        column, X = self.columns[j], self.X[:, :, j]
        total = Sum(np.zeros_like(look.slip), np.zeros_like(look.mu), np.zeros_like(look.vel), np.zeros_like(look.vel))
        if not np.all(np.isfinite(X)):
            return Sum(*(np.full_like(part, np.nan) for part in total))
        size = float((np.abs(X) * measures(self.twin, moment)).max(initial=0.0))
        if size > 0.0:

            def beside(away: float) -> Any:
                return lambda s: (self.twin, shifted(moment, s * away * X))

            total = added(
                total, self._differences(beside, (_AWAY / size, _NEARER / size), held, solved, look, moment.t)
            )
        if column.engines is not None:
            at = dict(zip((place for place, _ in _PLACES), column.engines, strict=True))
            ways = (column.away,)
            total = added(
                total, self._differences(lambda _: lambda s: (at[s], moment), ways, held, solved, look, moment.t)
            )
        return total

    def _differences(self, line: Any, ways: tuple[float, ...], held: Held, solved: Solved, look: Look, t: float) -> Sum:
        """Differences of order 4 along a line, nan where contacts change on it as near as the last of the ways.

        line(away): engine and state at each of the places, `away` from one to the next.
        """
        said = ""
        for away in ways:
            there = line(away)
            try:
                near = {}
                for place, _ in _PLACES:
                    engine, moment = there(place)
                    near[place] = looked_at(engine, moment, self.pairs_old, held, solved.r)
            except OtherContacts as problem:
                said = str(problem)
                continue
            off = {place: difference(one, look) for place, one in near.items()}
            found = Sum(
                *(
                    sum(w / away * x for (_, w), x in zip(_PLACES, parts, strict=True))
                    for parts in zip(*off.values(), strict=True)
                )
            )
            if has_corner(off, found, away):
                self.doubts.append(
                    f"t = {t:.9g} s: a contact point is at a corner: the derivative is a mean of both sides"
                )
            return found
        self.doubts.append(f"t = {t:.9g} s: beside the motion {said}")
        return Sum(*(np.full_like(part, np.nan) for part in (look.slip, look.mu, look.vel, look.vel)))


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
    return Sum(one.slip - look.slip, one.mu - look.mu, one.vel - look.vel, shift)


def shifted(moment: Moment, change: Array) -> Moment:
    """A state beside another one; change (n, 12)."""
    pose = moment.pose.copy()
    pose[:, :3] += change[:, :3]
    turning = np.any(change[:, 3:6] != 0.0, axis=1)  # others keep their bits
    pose[turning, 3:] = turned_by(change[turning, 3:6], pose[turning, 3:])
    return moment._replace(pose=pose, vel=moment.vel + change[:, 6:])


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


def states_of(solved: Solved) -> tuple[Any, Any, Array]:
    """Which contacts push and slide, by the projections of their laws, and how near they are to a corner, (m,) each.

    With rho the inverse of the mobility: a contact pushes where r_N - rho c_N > 0, and slides where |r_T - rho c_T|
    exceeds mu r_N.
    """
    rho = 1.0 / np.where(solved.size > 0.0, solved.size, 1.0)
    r, c = solved.r, rho[:, None] * solved.slip
    push = r[:, 0] - c[:, 0]
    size = np.abs(r).sum(axis=1) + np.abs(c).sum(axis=1)
    reach, bound = np.linalg.norm(r[:, 1:] - c[:, 1:], axis=1), solved.mu * r[:, 0]
    pushes, slides = push > 0.0, (reach > bound) & (solved.mu > 0.0)
    margin = np.abs(push)
    margin = np.where(pushes & (solved.mu > 0.0), np.minimum(margin, np.abs(reach - bound)), margin)
    return pushes, slides, np.where(size > 0.0, margin / np.where(size > 0.0, size, 1.0), 0.0)


def impulse_slopes(G: Array, dslip: Array, dmu: Array, solved: Solved) -> tuple[Array, Array, float]:
    """dr (m dim, k), directions in which impulses are open (m dim, j), and how far the equations contradict [m/s].

    G (m dim, m dim): velocities of contacts by impulses; dslip, dmu: derivatives at held impulses.
    """
    (m, dim), k = solved.r.shape, dslip.shape[1]
    pushes, slides, _ = states_of(solved)
    A, B = np.eye(m * dim), np.zeros((m * dim, k))
    unit = np.repeat(solved.size, dim)  # impulses as velocities, so that all rows are of one kind
    H = G / unit
    for i in np.flatnonzero(pushes):
        rows = slice(i * dim, (i + 1) * dim)
        tangents = slice(i * dim + 1, (i + 1) * dim)
        A[i * dim], B[i * dim] = H[i * dim], -dslip[i * dim]
        if not solved.mu[i] > 0.0:
            continue
        if not slides[i]:
            A[rows], B[rows] = H[rows], -dslip[rows]
            continue
        c = solved.slip[i, 1:]
        speed = float(np.linalg.norm(c))
        s = c / speed if speed > 0.0 else -solved.r[i, 1:] / max(float(np.linalg.norm(solved.r[i, 1:])), 1e-300)
        turn = solved.mu[i] * solved.r[i, 0] * (np.eye(dim - 1) - np.outer(s, s)) / max(speed, 1e-300)
        turn *= solved.size[i]
        A[tangents] += turn @ H[tangents]
        A[tangents, i * dim] += solved.mu[i] * s
        B[tangents] = -turn @ dslip[tangents] - solved.size[i] * solved.r[i, 0] * np.outer(s, dmu[i])
    U, sizes, V = np.linalg.svd(A)
    good = sizes > _RANK * sizes[0]
    dr = V[good].T @ ((U[:, good].T @ B) / sizes[good, None])
    missing = float(np.abs(U[:, ~good].T @ B).max(initial=0.0))
    return dr / unit[:, None], V[~good].T / unit[:, None], missing


def doubts_of(engine: SceneEngine, points: Any, held: Held, solved: Solved, t: float) -> list[str]:
    """Reasons where a step is at a corner of its contact laws."""
    pushes, _, margin = states_of(solved)
    found = []
    for i in np.flatnonzero(margin < _MARGIN):
        k = held.active[i]
        a, b = engine.body_name(points.a[k]), engine.body_name(points.b[k])
        pushed = pushes[i] and solved.r[i, 0] * solved.size[i] > _MARGIN * np.abs(solved.slip[i]).sum()
        said = f"friction between {a!r} and {b!r} is at its bound" if pushed else f"{a!r} and {b!r} just touch"
        found.append(f"t = {t:.9g} s: {said}")
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


def scene_steps(
    scenario: SceneScenario, wrt: Sequence[str] | str, stepper: Any, dt: float | None, t_end: float | None, every: int
) -> tuple[tuple[str, ...], Followed, Trajectory]:
    """Run a scene with derivatives along it; the quantities, what was kept, and the run."""
    scene, own = scenario.scene, chosen_stepper(stepper)
    length = scenario.dt if dt is None else real_number(dt, "dt")
    end = scenario.t_end if t_end is None else real_number(t_end, "t_end")
    count = whole_number(every, "every")
    names = known_names(wrt, free_names(scene), "quantity")
    _require_known(scenario, own)
    options = {name: value for name, value in scenario.options.items() if name in _OPTIONS}
    run = prepare_run(scene, length, end, stepper=own, penetration_tol=1.0, on_energy_gain="ignore", **options)
    engine: Any = run.engine
    q, u = engine.state()
    if np.abs(q - run.q0).max(initial=0.0) > 1e-12 or np.abs(u - run.u0).max(initial=0.0) > 1e-12:
        raise ValueError("step_sensitivity: the run moves its start onto contacts; begin half a step away from them.")

    def neighbour(values: Mapping[str, float]) -> tuple[SceneEngine, Any]:
        other = scenario.with_values(values).scene if values else scene
        near: Any = prepare_run(other, length, end, stepper=own, overlap="keep", **options).engine
        return near, body_table(other)

    twin, _ = neighbour({})
    n = len(engine.bodies.kind)
    columns, X = [], np.zeros((n, 12, len(names)))
    for j, name in enumerate(names):
        column, X[:, :, j] = _column(scenario, name, neighbour, body_table(scene))
        columns.append(column)
    followed = Followed(twin, tuple(columns), X, count)
    followed.begin(engine, 0.0)
    engine.log = followed
    trajectory = not_interrupted(drive(run, False))
    if not trajectory.complete:
        raise ArithmeticError(f"{own.name} with dt = {length:g} s {trajectory.status}")
    if followed.kept[-1][0] != trajectory.t[-1]:
        followed.keep(engine, float(trajectory.t[-1]))
    return names, followed, trajectory


def _column(scenario: SceneScenario, name: str, neighbour: Any, start: Any) -> tuple[Column, Array]:
    """A quantity with engines beside it, and the derivative of the start by it, (n, 12)."""
    value = value_in(scenario.scene, name)
    away = _AWAY * (abs(value) or 1.0)
    engines, X = [], np.zeros((len(start.kind), 12))
    for place, weight in _PLACES:
        try:
            engine, there = neighbour({name: value + place * away})
        except ValueError as problem:
            raise ValueError(
                f"wrt: {name} = {value:g} must have neighbours on both sides, and at {value + place * away:.9g} "
                f"there is none ({problem})"
            ) from None
        engines.append(engine)
        turn = turn_between(there.pose[:, 3:], start.pose[:, 3:])
        X += (
            weight / away * np.concatenate([there.pose[:, :3] - start.pose[:, :3], turn, there.vel - start.vel], axis=1)
        )
    scene = scenario.scene
    of_start = name in scene.coordinate_names or name in scene.velocity_names
    alone = of_start and not scene.springs  # springs are tied to points of the world at the start
    return Column(name, None if alone else tuple(engines), away), X


def _require_known(scenario: SceneScenario, own: Any) -> None:
    """Refuse steppers and scenes whose steps have no equations here."""
    if type(own) not in STEPPERS:
        known = ", ".join(kind.name for kind in STEPPERS)
        raise ValueError(f"stepper must be one of {known} for step_sensitivity, got {getattr(own, 'name', own)!r}.")
    scene, surfaces = scenario.scene, list(materials_of(scenario.scene))
    for found, word in (
        (scene.joints, "joints"),
        (scene.springs and isinstance(own, MoreauJean), "springs under moreau-jean, which are implicit"),
        (any(isinstance(surface.friction, FrictionLaw) for surface in surfaces), "friction that depends on slip"),
        (any(surface.resists for surface in surfaces), "resistance to rolling or spinning"),
        (scenario.options.get("cone", "circular") != "circular", "pyramids in place of the friction cone"),
        (scenario.options.get("law", "newton") != "newton", "impact laws other than Newton's"),
    ):
        if found:
            raise ValueError(
                f"step_sensitivity knows no derivative of steps with {word}, which scene {scene.name!r} has."
            )
