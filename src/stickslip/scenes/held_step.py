"""A solved step of a scene as a smooth function of its state: which contacts act, and by which rule, is held.

A step chooses: which contacts are active, whether one is struck, whether it has to close a gap.  With these choices
held (`Held`), contact velocities and end velocities at given impulses are smooth functions of poses, velocities and
sizes.  `looked_at` evaluates them for an engine that stands at a state, with the kernels of the time loop for free
motion, contact points and joints, and with the rules of `islands.problem` written out.  It is what `step_sensitivity`
differentiates.  Joints are in `held_joints`.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from stickslip.jit import entry
from stickslip.scenes import driving, layout, step
from stickslip.scenes.engine import SceneEngine
from stickslip.scenes.held_joints import Memory, RowLook, open_limits, remember, rows_looked_at
from stickslip.scenes.islands.problem import DEEPER, bore, coarse_slop, restitution_of, takes_part, was_held
from stickslip.scenes.islands.slips import curves, gap_beyond, slip_beyond, turn_as_one
from stickslip.scenes.rotation import rotation_with, rotations_at_midpoint, world_matrix

Array = np.ndarray
ZERO, GAP, NEWTON, LAW = range(4)
"""Demands of a contact along its normal: no approach, the gap to be closed, Newton's law, the law of its scheme."""
PLAIN, AS_ONE, CURVED = range(3)
"""Ways in which turning adds to the gap: nothing, that of bodies that turn as one, that of a curved form."""


NEAR = 0.3  # of the distance to the next point: a contact point that has moved by less is the one that it was


class OtherContacts(ArithmeticError):
    """Contact points of a neighbouring state are not those of the step."""


class Held(NamedTuple):
    """The choices of a solved step, m active contacts of n bodies."""

    active: Array  # (m,) numbers of the active contacts among the points of the step
    near: Array  # (m,) number of the point whose gap counts
    keys: Array  # (points, 2) geometries of each point
    local: Array  # (points, 3) its place on its body
    apart: Array  # (points,) how far it is from the next one of its pair [m]
    asks: Array  # (m,) ZERO, GAP, NEWTON, LAW
    kept: Array  # (m,) what the gap counts less [m]
    turned: Array  # (m,) PLAIN, AS_ONE, CURVED
    slides: Array  # (m,) bool: turning counts in the slip
    rebounds: Array  # (m,) bool: tangential restitution acts
    hits: Array  # (m,) bool: friction is that of impacts
    upright: Array  # (m,) bool: which axis the first tangent is made of
    struck: Array  # (n,) bool: bodies whose rotation is that at the midpoint
    rows: Array  # (R,) numbers of the rows of joints that take part
    opened: Array  # (R,) bool: limits that ask for their gap to be closed
    renewed: bool = False  # contacts are linearised anew, as joints are


class Level(NamedTuple):
    """Impulses of a step, and the velocities that it is linearised about; None: those that are expected."""

    r: Array  # (m, dim)
    z: Array  # (R,) of the rows of joints
    about: Array | None  # (n, 6)


class Look(NamedTuple):
    """A step at given impulses."""

    slip: Array  # (m, dim) velocities of the contacts, with what they ask for
    mu: Array  # (m,)
    vel: Array  # (n, 6) at the end of the step
    pose: Array  # (n, 7) at the end of the step
    W: Array  # (m, dim, n, 6) directions of the contacts
    response: Array  # (m, dim, n, 6) velocities by unit impulses, before `to_end`
    to_end: Array  # (n, 6, 6) what changes of these velocities become at the end of the step
    end: Array  # (n, 6) velocities of the contact problem, before `to_end`
    rate: Array  # (R,) velocities of the rows of joints less what they ask for, with their softness
    rows: RowLook
    row_response: Array  # (R, n, 6) velocities by unit impulses of the rows
    bias: Array  # (m, dim) what contacts ask for


class Moment(NamedTuple):
    """The state at which a step begins."""

    pose: Array  # (n, 7)
    vel: Array  # (n, 6)
    t: float  # [s]
    number: int  # of the step
    memory: Memory | None = None  # of the joints


def prepare_at(engine: SceneEngine, moment: Moment, pairs_old: int, rows: Array | None = None) -> Any:
    """Put an engine at a state and let it find the contacts of its step; returns the contact points.

    rows: those of joints that take part, where that is held.
    """
    engine.bodies.pose[:], engine.bodies.vel[:] = moment.pose, moment.vel
    engine.carry()
    remember(engine, moment.memory, rows)
    clock: Any = SimpleNamespace(t=moment.t, t0=moment.t - moment.number * engine.options.dt, step=moment.number)
    driving.apply_functions(engine, clock)
    engine.counts[:] = 0
    engine.counts[step.PAIRS_OLD] = pairs_old
    driven = driving.driven_velocities(engine, clock, 1)
    if not step.prepare(
        engine.world(), engine.search(), engine.touching(0), engine.touching(1), engine.problems(), moment.t, driven, 0
    ):
        raise OtherContacts("there are more contact points than in the step")
    return engine.contacts[0][: int(engine.counts[step.POINTS])]


def arms_and_frames(engine: SceneEngine, points: Any, held: Held) -> tuple[Array, Array, Array]:
    """Arms (m, 3) on both bodies and frames (m, 3, 3) of the held contacts, as `islands.problem` has them."""
    bodies, dim = engine.bodies, engine.options.dim
    c = points[held.active]
    a, b, n = c.a, c.b, c.normal
    moves_a, moves_b = bodies.kind[a] == layout.MOVING, bodies.kind[b] == layout.MOVING
    shift = np.where(~moves_a, 0.5, np.where(~moves_b, -0.5, 0.0)) * c.gap
    x = c.point + shift[:, None] * n
    apart = bodies.mid[b, :3] - bodies.mid[a, :3]
    arm_a = x + np.where(moves_a, 0.0, 1.0)[:, None] * apart
    arm_b = x - np.where(moves_a, 1.0, 0.0)[:, None] * apart
    frame = np.zeros((len(c), 3, 3))
    frame[:, 0] = n
    if dim == 2:
        frame[:, 1, 0], frame[:, 1, 1], frame[:, 2, 2] = -n[:, 1], n[:, 0], 1.0
        return arm_a, arm_b, frame
    zero = np.zeros(len(c))
    first = np.where(
        held.upright[:, None],
        np.stack([zero, n[:, 2], -n[:, 1]], axis=1),
        np.stack([-n[:, 2], zero, n[:, 0]], axis=1),
    )
    frame[:, 1] = first / np.linalg.norm(first, axis=1)[:, None]
    frame[:, 2] = np.cross(n, frame[:, 1])
    return arm_a, arm_b, frame


def stretch(engine: SceneEngine, points: Any, held: Held, frame: Array, mu: Array) -> Array:
    """Turn and scale the tangents of elliptic friction in place, as `islands.problem.stretched`; returns mu."""
    mu = mu.copy()
    if engine.options.dim == 2:
        return mu
    for i, k in enumerate(held.active):
        c = points[k]
        p, q = engine.geoms.material[c.pair[0]], engine.geoms.material[c.pair[1]]
        axes_of = engine.materials.axes_of[p, q]
        if axes_of == 0 or not mu[i] > 0.0:
            continue
        w, x, y, z = engine.bodies.mid[c.a if axes_of == 1 else c.b, 3:]
        axis = np.array([1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)])
        axis -= (axis @ frame[i, 0]) * frame[i, 0]
        length = float(np.linalg.norm(axis))
        if length > 1e-9:
            frame[i, 1] = axis / length
            frame[i, 2] = np.cross(frame[i, 0], frame[i, 1])
        aspect = engine.materials.aspect[p, q]
        mean = mu[i] * np.sqrt(aspect)
        frame[i, 1] *= mu[i] / mean
        frame[i, 2] *= mu[i] * aspect / mean
        mu[i] = mean
    return mu


def velocities_before(engine: SceneEngine, held: Held) -> Array:
    """Velocities before the step, (n, 6), those of struck bodies at the midpoint, as `struck.at_midpoint`."""
    bodies, options = engine.bodies, engine.options
    vel = bodies.vel.copy()
    J, old, new, inverse = np.empty(9), np.empty(3), np.empty(3), np.empty(9)
    for i in np.flatnonzero(held.struck):
        world_matrix(bodies.mid[i], bodies.inertia[i], J)
        rotations_at_midpoint(J, bodies.vel[i, 3:], bodies.vel[i, 3:], options.dt, options.theta, old, new, inverse)
        vel[i, 3:] = old
    return vel


def directions(frame: Array, arm_a: Array, arm_b: Array, ends: tuple[Array, Array], n: int, dim: int) -> Array:
    """Velocities of contacts from those of all bodies, (m, dim, n, 6)."""
    W, number, f = np.zeros((len(frame), dim, n, 6)), np.arange(len(frame)), frame[:, :dim]
    for sign, side, arm in ((-1.0, ends[0], arm_a), (1.0, ends[1], arm_b)):
        W[number, :, side] += sign * np.concatenate([f, np.cross(arm[:, None], f)], axis=2)
    return W


def mobilities(bodies: Any) -> Array:
    """Velocities by unit impulses and angular impulses, (n, 6, 6); zero for bodies that do not move freely."""
    n = len(bodies.kind)
    found = np.zeros((n, 6, 6))
    moving = np.flatnonzero(bodies.kind == layout.MOVING)
    found[moving[:, None], range(3), range(3)] = bodies.inv_mass[moving, None]
    found[moving, 3:, 3:] = bodies.inv_inertia[moving].reshape(-1, 3, 3)
    return found


def belts(engine: SceneEngine, ends: tuple[Array, Array], normal: Array) -> Array:
    """Share of belts on static bodies in velocities along normals, where they do not count, (m,)."""
    bodies, total = engine.bodies, np.zeros(len(normal))
    for sign, side in ((-1.0, ends[0]), (1.0, ends[1])):
        still = bodies.kind[side] == layout.STATIC
        total += sign * np.where(still, np.einsum("mi,mi->m", normal, bodies.vel[side, :3]), 0.0)
    return total


def matched(points: Any, held: Held) -> Any:
    """The points in the order of the step; OtherContacts where they are not those of it."""
    keys, local = points.pair, points.local
    if len(points) != len(held.keys) or np.any(keys != held.keys):
        raise OtherContacts("contact points come or go")
    if np.all(np.linalg.norm(local - held.local, axis=1) <= NEAR * held.apart):
        return points
    order = np.arange(len(points))
    for i in range(len(points)):
        group = np.flatnonzero(np.all(held.keys == held.keys[i], axis=1))
        order[i] = group[int(np.argmin(np.linalg.norm(local[group] - held.local[i], axis=1)))]
    if len(np.unique(order)) != len(order):
        raise OtherContacts("contact points come or go")
    return points[order]


def spacing(keys: Array, local: Array) -> Array:
    """How far each contact point is from the next one of its pair, (points,); inf where it is alone."""
    found = np.full(len(keys), np.inf)
    for i in range(len(keys)):
        group = np.flatnonzero(np.all(keys == keys[i], axis=1))
        group = group[group != i]
        if len(group):
            found[i] = np.linalg.norm(local[group] - local[i], axis=1).min()
    return found


class Asked(NamedTuple):
    """Demands of the contacts of a step."""

    bias: Array  # (m, 3)
    mu: Array  # (m,)
    before: Array  # (m, 3)
    arm_a: Array
    arm_b: Array
    frame: Array


def asked(engine: SceneEngine, points: Any, held: Held, about: Array | None = None) -> Asked:
    """Bias, friction and frames of the held contacts; about: velocities that slips are linearised about."""
    options, materials, geoms, dt = engine.options, engine.materials, engine.geoms, engine.options.dt
    c, m = points[held.active], len(held.active)
    arm_a, arm_b, frame = arms_and_frames(engine, points, held)
    p, q = geoms.material[c.pair[:, 0]], geoms.material[c.pair[:, 1]]
    mu = np.where(held.hits, materials.mu_impact[p, q], materials.mu[p, q])
    mu = stretch(engine, points, held, frame, mu)
    vel, ends = velocities_before(engine, held), (c.a, c.b)
    W = directions(frame, arm_a, arm_b, ends, len(engine.bodies.kind), 3)
    belt = belts(engine, ends, c.normal)
    before = np.einsum("mdnk,nk->md", W, vel)
    before[:, 0] -= belt
    eps_N, eps_T = restitutions(engine, (p, q), before[:, 0], W[:, 0]), materials.eps_T[p, q]
    ahead = engine.bodies.ahead if about is None or not held.renewed else about
    more, u0, beyond = turning_parts(engine, points, held, (arm_a, arm_b, frame), (vel, ahead), before[:, 0])
    near = points.gap[held.near]
    floor = np.where(held.asks == GAP, -(near - held.kept) / dt, np.where(held.asks == NEWTON, -eps_N * u0, 0.0))
    bias = np.zeros((m, 3))
    bias[:, 0] = np.where(held.asks == LAW, eps_N * u0, more - floor) - belt
    bias[:, 1:] = np.where(held.rebounds[:, None], eps_T[:, None] * before[:, 1:], 0.0) + beyond
    if options.dim == 2:
        bias[:, 2] = 0.0
    return Asked(bias, mu, before, arm_a, arm_b, frame)


def restitutions(engine: SceneEngine, materials: tuple[Array, Array], u0: Array, along: Array) -> Array:
    """eps_N of contacts (m,) at their approaches u0; along (m, n, 6): directions of their normals."""
    p, q = materials
    eps = engine.materials.eps_N[p, q].copy()
    curved = np.flatnonzero(engine.materials.curve[p, q] >= 0)
    if len(curved):
        mobility = mobilities(engine.bodies)
        for i in curved:
            size = float(np.einsum("nj,njk,nk->", along[i], mobility, along[i]))
            number = (int(p[i]), int(q[i]))
            eps[i] = restitution_of(engine.materials, engine.shapes.curves, *number, float(-u0[i]), size)
    return eps


def scratch_contacts(held: Held, places: tuple[Array, Array, Array]) -> Any:
    """The held contacts as the kernels of `slips` take them."""
    room = layout.records(layout.ACTIVE, len(held.active))
    room.contact[:] = held.active
    room.arm_a[:], room.arm_b[:], room.frame[:] = places[0], places[1], places[2].reshape(-1, 9)
    return room


def turning_parts(
    engine: SceneEngine, points: Any, held: Held, places: tuple[Array, Array, Array], vel: tuple[Array, Array],
    u0: Array,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Additions by turning: to gap rates (m,), approaches with it (m,), and slips (m, 2).

    vel: velocities before, and those that slips are linearised about.
    """
    geoms, dt, m = engine.geoms, engine.options.dt, len(held.active)
    if not (np.any(held.turned != PLAIN) or np.any(held.slides)):
        return np.zeros(m), u0, np.zeros((m, 2))
    room, out = scratch_contacts(held, places), np.zeros((m, 4))
    flags = np.column_stack([held.turned != PLAIN, held.slides])
    turning_of(geoms, points, room, *vel, flags, dt, out)
    return out[:, 0], u0 + out[:, 1], out[:, 2:]


@entry
def turning_of(
    geoms: Any, contacts: Any, active: Any, vel: Array, ahead: Array, flags: Array, dt: float, out: Array
) -> None:
    """Write what turning adds to contacts: to the gap over this step and over the one before, and to the slip.

    flags (m, 2): whether gap and slip count; vel: velocities before; ahead: those that are expected; out (m, 4).
    """
    for i in range(out.shape[0]):
        if flags[i, 0]:
            out[i, 0] = gap_beyond(ahead, geoms, contacts, active, i, dt)
            out[i, 1] = gap_beyond(vel, geoms, contacts, active, i, -dt)
        if flags[i, 1]:
            out[i, 2], out[i, 3] = slip_beyond(ahead, geoms, contacts, active, i, dt)


def looked_at(engine: SceneEngine, moment: Moment, pairs_old: int, held: Held, levels: Sequence[Level]) -> list[Look]:
    """The step of an engine from a state, with held choices, and with the impulses of each of its levels."""
    points = matched(prepare_at(engine, moment, pairs_old, held.rows), held)
    if np.any(engine.bodies.struck != held.struck):
        raise OtherContacts("bodies are struck or not")
    if engine.joints is not None and not np.all(engine.joints.row.used[held.rows]):
        raise OtherContacts("limits of joints or ropes take part or not")
    return [_level_looked_at(engine, points, held, level) for level in levels]


def _level_looked_at(engine: SceneEngine, points: Any, held: Held, level: Level) -> Look:
    """One level of a prepared step."""
    bodies, dim = engine.bodies, engine.options.dim
    found, rows = asked(engine, points, held, level.about), rows_looked_at(engine, held.rows, held.opened, level.about)
    c, mobility = points[held.active], mobilities(bodies)
    W = directions(found.frame, found.arm_a, found.arm_b, (c.a, c.b), len(bodies.kind), dim)
    response = np.einsum("njk,mdnk->mdnj", mobility, W)
    pulls = np.einsum("njk,rnk->rnj", mobility, rows.D)
    end = bodies.free + np.einsum("md,mdnk->nk", level.r, response) + np.einsum("r,rnk->nk", level.z, pulls)
    if dim == 2:
        end[:, 2:5] = 0.0
    slip = np.einsum("mdnk,nk->md", W, end) + found.bias[:, :dim]
    rate = np.einsum("rnk,nk->r", rows.D, end) + rows.soft * level.z - rows.target
    vel, slope = at_end(engine, held, end)
    pose, moves = bodies.pose.copy(), bodies.kind > layout.STATIC
    pose[moves] = moved(bodies.mid[moves], vel[moves], engine.options.theta * engine.options.dt)
    return Look(slip, found.mu, vel, pose, W, response, slope, end, rate, rows, pulls, found.bias[:, :dim])


def at_end(engine: SceneEngine, held: Held, end: Array) -> tuple[Array, Array]:
    """Velocities at the end of the step, as `struck.to_end`, and how they follow those of the contact problem."""
    bodies, options = engine.bodies, engine.options
    vel, slope = end.copy(), np.tile(np.eye(6), (len(end), 1, 1))
    J, K, inverse, phi, omega = np.empty(9), np.empty(9), np.empty(9), np.empty(3), np.empty(3)
    for i in np.flatnonzero(held.struck):
        world_matrix(bodies.mid[i], bodies.inertia[i], J)
        L = J.reshape(3, 3) @ end[i, 3:]
        rotation_with(J, L, end[i, 3:], options.theta * options.dt, omega, inverse, phi, K)
        vel[i, 3:] = omega
        slope[i, 3:, 3:] = inverse.reshape(3, 3) @ J.reshape(3, 3)
    return vel, slope


def moved(pose: Array, vel: Array, time: float) -> Array:
    """Poses (n, 7) that go on with constant velocities for a time, as `rotation.advance`."""
    out = pose.copy()
    out[:, :3] += time * vel[:, :3]
    out[:, 3:] = turned_by(time * vel[:, 3:], pose[:, 3:])
    return out


def turned_by(phi: Array, q: Array) -> Array:
    """Quaternions (n, 4) turned by rotation vectors phi (n, 3) in world axes."""
    half = 0.5 * np.linalg.norm(phi, axis=1)
    w, v = np.cos(half), 0.5 * np.sinc(half / np.pi)[:, None] * phi
    s, u = q[:, 0], q[:, 1:]
    found = np.empty_like(q)
    found[:, 0] = w * s - np.einsum("ni,ni->n", v, u)
    found[:, 1:] = w[:, None] * u + s[:, None] * v + np.cross(v, u)
    return found / np.linalg.norm(found, axis=1)[:, None]


def turn_between(q: Array, p: Array) -> Array:
    """Rotation vectors (n, 3), in world axes, that turn the quaternions p (n, 4) into q."""
    w = np.einsum("ni,ni->n", q, p)
    v = q[:, 1:] * p[:, :1] - p[:, 1:] * q[:, :1] - np.cross(q[:, 1:], p[:, 1:])
    v = np.where(w[:, None] < 0.0, -v, v)
    sine = np.linalg.norm(v, axis=1)
    return np.where(sine > 0.0, 2.0 * np.arctan2(sine, np.abs(w)) / np.where(sine > 0.0, sine, 1.0), 2.0)[:, None] * v


def held_choices(engine: SceneEngine, points: Any) -> Held:
    """The choices of the step that an engine has prepared."""
    options, bodies, geoms, dt = engine.options, engine.bodies, engine.geoms, engine.options.dt
    active = engine.active[: int(engine.counts[step.ACTIVE])]
    index = active.contact.copy()
    m, c = len(index), points[index]
    rows = np.zeros(0, np.int64) if engine.joints is None else np.flatnonzero(engine.joints.row.used)
    blank = Held(
        index, index.copy(), points.pair.copy(), points.local.copy(), spacing(points.pair, points.local),
        np.full(m, ZERO), np.zeros(m), np.full(m, PLAIN), np.zeros(m, bool),
        active.impact | (not options.predictive), np.zeros(m, bool), np.abs(c.normal[:, 0]) < 0.7, bodies.struck.copy(),
        rows, open_limits(engine, rows),
    )  # fmt: skip
    vel, materials = velocities_before(engine, blank), engine.materials
    arm_a, arm_b, frame = arms_and_frames(engine, points, blank)
    room = scratch_contacts(blank, (arm_a, arm_b, frame))
    W = directions(frame, arm_a, arm_b, (c.a, c.b), len(bodies.kind), 3)
    belt = belts(engine, (c.a, c.b), c.normal)
    u0 = np.einsum("mnk,nk->m", W[:, 0], vel) - belt
    v0 = np.einsum("mnk,nk->m", W[:, 0], bodies.free) - belt
    eps = restitutions(engine, (geoms.material[c.pair[:, 0]], geoms.material[c.pair[:, 1]]), u0, W[:, 0])
    for i in range(m):
        p, q, gap = geoms.material[c.pair[i, 0]], geoms.material[c.pair[i, 1]], c.gap[i]
        blow = u0[i] < 0.0 and gap + dt * u0[i] <= options.slop and -u0[i] > abs(v0[i] - u0[i])
        kept = was_held(bodies, points, int(index[i]), float(-u0[i]))
        blank.hits[i] = materials.mu_impact[p, q] >= 0.0 and blow and not kept
        blow = blow and not bore(bodies, points, int(index[i]), float(-u0[i]))
        if not options.predictive:
            bounces = bool(materials.eps_N[p, q] > 0.0 or materials.curve[p, q] >= 0)
            speeds, slop = (float(u0[i]), float(v0[i])), coarse_slop(bodies, c.a[i], c.b[i], options.slop)
            blank.asks[i] = LAW
            if takes_part(bodies, points, int(index[i]), options, speeds, slop, bounces)[1]:
                blank.asks[i], blank.near[i] = (GAP, index[i]) if gap > 0.0 else (ZERO, 0)
            continue
        still = not (bodies.struck[c.a[i]] or bodies.struck[c.b[i]]) and not blow
        blank.slides[i] = still and active.mu[i] > 0.0
        ahead = bodies.ahead
        u, v = float(u0[i]), float(v0[i])
        if active.turning[i] and turn_as_one(ahead[c.a[i]], ahead[c.b[i]]):
            more = gap_beyond(ahead, geoms, points, room, i, dt)
            held = u + gap_beyond(vel, geoms, points, room, i, -dt)
            if not (more < 0.0 or (eps[i] > 0.0 and abs(held) > more)):
                blank.turned[i], u, v = AS_ONE, held, v + more
        elif still and curves(ahead, geoms, points, room, i):
            blank.turned[i] = CURVED
            u, v = u + gap_beyond(vel, geoms, points, room, i, -dt), v + gap_beyond(ahead, geoms, points, room, i, dt)
        _choose_floor(engine, points, blank, i, (u, v, float(eps[i])), bool(active.impact[i]))
    return blank


def _choose_floor(
    engine: SceneEngine, points: Any, held: Held, i: int, seen: tuple[float, float, float], impact: bool
) -> None:
    """Write what contact i asks for along its normal; seen: approach before, without impulses, and eps_N."""
    options, k = engine.options, held.active[i]
    u, v, eps = seen
    group = np.flatnonzero(np.all(held.keys == held.keys[k], axis=1))
    gaps, gap = points.gap[group], float(points.gap[k])
    widest, least = float(gaps.max()), float(gaps.min())
    slop = options.slop
    if widest > slop:
        slop = float(coarse_slop(engine.bodies, points.a[k], points.b[k], slop))
    floor = 0.0
    if widest > slop:
        beside = group[gap - gaps <= slop]
        near = int(beside[int(np.argmin(points.gap[beside]))])
        kept = options.slop if np.any(points.impulse[group]) else 0.0
        if points.gap[near] - kept > 0.0:
            kept -= DEEPER * kept if points.gap[near] - least > kept else 0.0
            held.asks[i], held.near[i], held.kept[i] = GAP, near, kept
            floor = -(float(points.gap[near]) - kept) / options.dt
    if (impact and -eps * u > floor) or (not impact and u > 0.0 and v > 0.0 and gap <= slop):
        held.asks[i] = NEWTON
