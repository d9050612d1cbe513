"""The start of a scene and of bodies that appear later: overlaps, and fast ones that meet before the midpoint."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.checks import real_array
from stickslip.codes import GRAIN
from stickslip.scenes import layout, step
from stickslip.scenes.fusing import gather, misplaced
from stickslip.scenes.islands.gear_rows import gear_error
from stickslip.scenes.islands.row_kinds import LENGTH, ROPE
from stickslip.scenes.rotation import advance, compose
from stickslip.scenes.struck import FIRST
from stickslip.trajectory import IMPACT_COLUMNS

if TYPE_CHECKING:
    from stickslip.scenes.engine import SceneEngine

ROUNDS = 2000
APART = 0.1  # of the extent of the larger body: a joint with a larger position error does not hold any more
AGREES = 1e-9  # of the velocities whose difference a joint row is: what rounding and printed digits explain
OPEN_JOINT = 1e-6  # of the extent of a joint's bodies: a state that is given must not have it further apart
UNIT = 1e-6  # how far the length of a quaternion that is given may be from 1
TAUT = 1e-9  # of the length of a rope: slack by less, it is taut at the start
SAMPLES = 64  # of the way to the first midpoint: the shortest pieces in which bodies are moved there


class Overlap(ValueError):
    """Bodies that overlap and must not."""


def check_start(engine: SceneEngine, t0: float, overlap: str, tolerance: float) -> None:
    """Raise ValueError for bodies that overlap by more than `tolerance` [m], or move them apart (overlap = "resolve").

    Moving apart: each penetrating pair in turn is moved along its normal by its depth, shared by inverse masses.
    """
    if tolerance < 0.0:
        raise ValueError(f"penetration_tol must not be negative [m], got {tolerance:g}.")
    if overlap != "keep":
        _apart(engine, t0, overlap, tolerance, engine.bodies.inv_mass, "at the start")
        engine.carry()


def appearances(engine: SceneEngine, t0: float) -> dict[int, np.ndarray]:
    """Numbers of the bodies that appear after the start, by the step in which they are first there.

    The kernel asks at the middle of a step which bodies are there.
    """
    births, dt = engine.bodies.life[:, 0], engine.options.dt
    found: dict[int, list[int]] = {}
    for birth in np.unique(births[np.isfinite(births) & (births > t0)]):
        k = max(0, int((birth - t0) / dt - 0.5))
        while t0 + k * dt + 0.5 * dt < birth:
            k += 1
        found.setdefault(k, []).extend(np.flatnonzero(births == birth).tolist())
    return {k: np.array(numbers) for k, numbers in found.items()}


def check_appearing(engine: SceneEngine, t: float, fresh: np.ndarray, overlap: str, tolerance: float) -> None:
    """Treat overlaps of bodies that appear in the step whose midpoint is t [s]; `fresh` has their numbers.

    Only they are moved: what has been computed stays where it is, and so do overlaps of other pairs.
    """
    if overlap == "keep":
        return
    aside = _aside(engine)
    mobility = np.zeros(len(engine.bodies.kind))
    mobility[fresh] = engine.bodies.inv_mass[fresh]
    names = ", ".join(repr(engine.body_name(i)) for i in fresh[:4]) + (", ..." if len(fresh) > 4 else "")
    _apart(aside, t, overlap, tolerance, mobility, f"where {names} appear{'s' if len(fresh) == 1 else ''}")
    engine.bodies.pose[fresh] = aside.bodies.pose[fresh]
    engine.carry()


def _aside(engine: SceneEngine) -> SceneEngine:
    """An engine with the same bodies and room of its own: to look for contacts in the middle of a run."""
    other = copy.copy(engine)
    for name in ("bodies", "geoms", "joints", "counts", "parent", "label", "head", "rows", "wrench", "narrow"):
        setattr(other, name, copy.deepcopy(getattr(engine, name)))
    other._grow(engine.contacts_room)  # contacts, pairs and all that is made for so many
    return other


def _apart(engine: SceneEngine, t: float, overlap: str, tolerance: float, mobility: np.ndarray, when: str) -> None:
    """Raise for the pairs in which a body can be moved, or move them, shared by `mobility` (bodies,) [1/kg]."""
    for last in (False,) * ROUNDS + (True,):
        points = points_at_rest(engine, t)
        contacts, bodies = engine.contacts[0], engine.bodies
        share = mobility[contacts.a[:points]] + mobility[contacts.b[:points]]
        deep = np.flatnonzero((contacts.gap[:points] < -tolerance) & (share > 0.0))
        if not len(deep):
            return
        if overlap == "raise" or last:
            _report(engine, deep[np.argmin(contacts.gap[deep])], tolerance, when)
        done = set()
        for c in deep[np.argsort(contacts.gap[deep], kind="stable")]:
            a, b = int(contacts.a[c]), int(contacts.b[c])
            if (a, b) in done:
                continue
            done.add((a, b))
            move = -(contacts.gap[c] - 0.1 * tolerance) * contacts.normal[c] / share[c]
            bodies.pose[a, :3] -= mobility[a] * move
            bodies.pose[b, :3] += mobility[b] * move


def hold_at_first_contact(engine: SceneEngine, t0: float) -> None:
    """Let the bodies go no farther than their first contact on the way to the first midpoint.

    Contacts are looked for at midpoints, so on the first (1 - theta) dt a fast body would sink into another one or pass
    it.  It moves by conservative advancement, gap / (bound of the approach) at a time, to the time tau of its first
    contact, and its start is set back by ((1 - theta) dt - tau) u_0: the first midpoint is where it touches.  Bodies
    that joints connect go together.  A rim that rolls from the start sinks in on a straight way, by what is of second
    order in dt; it does not wait, which would cost dt u_0 / 2.
    """
    bodies, options = engine.bodies, engine.options
    whole = (1.0 - options.theta) * options.dt
    start, velocity = bodies.pose.copy(), bodies.vel.copy()
    time, now = np.full(len(start), whole), 0.0
    earlier, free, group = 0.0, bodies.kind == layout.MOVING, _jointed(engine)
    turns = FIRST * options.dt * np.sum(velocity[:, 3:] ** 2, axis=1) * bodies.radius  # the velocity that turning makes
    touching: set[tuple[int, int]] = set()
    while now < whole and options.predictive:
        bodies.vel[:] = np.where((time < whole)[:, None], 0.0, velocity)
        _place(bodies, start, velocity, np.minimum(time, now))
        gap, a, b, approach, fastest = _approaches(engine, t0, whole - now)
        meets = (gap <= options.slop) & (gap + (whole - now) * approach < -options.slop)
        if now == 0.0:
            resting = (gap <= options.slop) & ~meets
            touching = set(zip(a[resting].tolist(), b[resting].tolist(), strict=True))
        for c in np.flatnonzero(meets & (-approach < turns[a] + turns[b])):
            meets[c] = (int(a[c]), int(b[c])) not in touching
        hits = np.unique(np.concatenate([a[meets], b[meets]]))
        hits = np.isin(group, group[hits[free[hits]]]) & free & (time == whole)
        if np.any(hits):
            time[hits] = earlier if np.any(gap[meets] < -options.slop) else now
            continue
        coming = (gap > options.slop) & (fastest * (whole - now) > gap)
        least = float(np.min(gap[coming] / fastest[coming], initial=whole))
        earlier, now = now, now + max(least, whole / SAMPLES)
    bodies.vel[:], bodies.pose[:] = velocity, start
    held = time < whole
    if np.any(held):
        _place(bodies, start, velocity, np.where(held, time - whole, 0.0))
        bodies.angle += np.where(held, time - whole, 0.0) * velocity[:, 5]
    engine.carry()


def consistent_velocities(engine: SceneEngine, t0: float) -> np.ndarray:
    """Make the start velocities agree with the joints; returns what the joints had to do, as rows of the impact list.

    The plastic impulse of the joints, a projection that is orthogonal in the mass matrix,

        u+ = u - M^-1 J^T (J M^-1 J^T)^+ J u,

    J the rows of the joints without bounds, and of ropes that are taut and come apart: these pull and do not push, see
    `_plastic`.  Velocities that agree up to rounding stay as they are.  One row for each joint that contradicted the
    velocities: minus the speed at which its point came apart, the impulse there [N s].
    """
    none = np.zeros((0, len(IMPACT_COLUMNS) + 1))
    if engine.joints is None:
        return none
    bodies, row = engine.bodies, engine.joints.row
    points_at_rest(engine, t0)
    bilateral = row.used & np.isinf(row.low) & np.isinf(row.high) & (row.soft == 0.0)
    ropes = _taut_ropes(engine)
    rows = np.flatnonzero(bilateral | ropes)
    J, moving = engine.joint_matrix(rows), bodies.kind == layout.MOVING
    vel = bodies.vel
    apart = np.einsum("rbk,bk->r", J, vel)
    parts = np.einsum("rbk,bk->r", np.abs(J), np.abs(vel))
    wrong = np.where(ropes[rows], -apart, np.abs(apart)) > AGREES * parts
    if not np.any(wrong):
        return none
    inverse = np.zeros((len(vel), 6, 6))
    inverse[:, :3, :3] = bodies.inv_mass[:, None, None] * np.eye(3)
    inverse[:, 3:, 3:] = bodies.inv_inertia.reshape(-1, 3, 3)
    response = np.einsum("bij,rbj->rbi", inverse, np.where(moving[:, None], J, 0.0))
    impulse = _plastic(np.einsum("rbi,sbi->rs", J, response), apart, ropes[rows])
    bodies.vel += np.einsum("r,rbi->bi", impulse, response)
    engine.carry()
    found = []
    for j in np.unique(rows[wrong] // layout.ROWS_PER_JOINT):
        own = rows // layout.ROWS_PER_JOINT == j
        along = row.direction[rows[own], :3]
        at_point = np.any(along != 0.0, axis=1)
        speed, push = np.linalg.norm(apart[own][at_point]), np.linalg.norm(impulse[own] @ along)
        joint = engine.scene.joints[engine.joint_number(int(j))]
        a, b = int(engine.channel[joint.a]), int(engine.channel[joint.b])
        first, second = (a, b) if a >= 0 else (b, -1)
        found.append([t0, first, -speed, 0.0, push, 0.0, 0.0, 0.0, second])
    return np.array(found)


def _taut_ropes(engine: SceneEngine) -> np.ndarray:
    """Which rows (R,) are those of ropes and pulleys that have no way to go."""
    joints, mid = engine.joints, engine.bodies.mid
    assert joints is not None
    taut = np.zeros(len(joints.row.used), np.bool_)
    A, B = np.empty(7), np.empty(7)
    for j in np.flatnonzero(joints.link.kind >= ROPE):
        compose(mid[joints.link.a[j]], joints.link.frame_a[j], A)
        compose(mid[joints.link.b[j]], joints.link.frame_b[j], B)
        length = float(joints.link.numbers[j, LENGTH])
        slack = gear_error(joints, int(j), A, B, length)
        s = int(j) * layout.ROWS_PER_JOINT
        taut[s] = joints.row.used[s] and slack <= TAUT * (1.0 + length) + GRAIN * float(np.abs(A[:3]).max())
    return taut


def _plastic(W: np.ndarray, apart: np.ndarray, pulls: np.ndarray) -> np.ndarray:
    """Impulses P (r,) with W P + apart = 0; where `pulls`, P >= 0 and W P + apart >= 0, one of them zero.

    Ropes that would push are let go, and those that would come apart are taken, the worst one at a time.
    """
    scale, taken = 1.0 / np.sqrt(np.diag(W)), ~pulls | (apart < 0.0)
    G, b = scale[:, None] * W * scale, scale * apart
    impulse = np.zeros(len(b))
    for _ in range(10 * len(b)):
        impulse[:] = 0.0
        impulse[taken] = -np.linalg.lstsq(G[np.ix_(taken, taken)], b[taken], rcond=1e-12)[0]
        rest, size = G @ impulse + b, AGREES * np.abs(b).max()
        worse = np.where(pulls & taken, -impulse, np.where(pulls, -rest, 0.0))
        if worse.max() <= size:
            break
        taken[worse.argmax()] ^= True
    return scale * impulse


def place(engine: SceneEngine, q: Any, u: Any, t0: float, reached: bool = False) -> None:
    """Put the bodies where q and u say, as trajectories have them; None leaves places, or velocities, as they are.

    Sizes, finite numbers, unit quaternions and joints that hold together are required; the joints not where q has been
    `reached` by steps, which let them drift by a little.
    """
    scene, bodies, i = engine.scene, engine.bodies, engine.channels
    if q is not None:
        rows = _rows(q, "q", scene.coordinate_names, len(i))
        if scene.dim == 2:
            angle, zero = rows[:, 2], np.zeros(len(i))
            bodies.pose[i] = np.column_stack([rows[:, :2], zero, np.cos(0.5 * angle), zero, zero, np.sin(0.5 * angle)])
            bodies.angle[i] = angle
        else:
            length = np.linalg.norm(rows[:, 3:], axis=1)
            wrong = np.flatnonzero(~(np.abs(length - 1.0) <= UNIT))
            if len(wrong):
                raise ValueError(
                    f"q of {scene.contact_names[wrong[0]]!r} must have a unit quaternion, got one of length "
                    f"{length[wrong[0]]:.9g}; divide it by its length."
                )
            exact = np.abs(length - 1.0) <= 4.0 * np.finfo(float).eps  # those of a run are left as they are
            rows[:, 3:] /= np.where(exact, 1.0, length)[:, None]
            bodies.pose[i] = rows
    if u is not None:
        rows = _rows(u, "u", scene.velocity_names, len(i))
        bodies.vel[i] = 0.0
        bodies.vel[i[:, None], np.array([0, 1, 5] if scene.dim == 2 else range(6))] = rows
    gather(engine, bodies)
    if q is not None:
        for k, off, extent in misplaced(engine):
            if off > OPEN_JOINT * max(extent, 1e-300) and not reached:
                joint = scene.joints[k]
                a, b = scene.bodies[joint.a].name, scene.bodies[joint.b].name
                raise ValueError(
                    f"q must agree with the joints, got bodies {a!r} and {b!r} {off:.3g} m apart at their joint."
                )
        engine.carry()
    if q is not None and engine.joints is not None:
        link = engine.joints.link
        link.error[:] = 0.0
        points_at_rest(engine, t0)
        apart = link.error - OPEN_JOINT * np.maximum(link.extent, 1e-300)
        if np.any(apart > 0.0) and not reached:
            j = int(np.argmax(apart))
            a, b = (engine.body_name(number) for number in (link.a[j], link.b[j]))
            raise ValueError(
                f"q must agree with the joints, got bodies {a!r} and {b!r} {link.error[j]:.3g} m apart at their joint."
            )


def _rows(values: Any, name: str, names: tuple[str, ...], bodies: int) -> np.ndarray:
    """Numbers of a state, one row per body."""
    found = real_array(values, f"{name} must be {len(names)} numbers, got {values!r}.")
    if found.shape != (len(names),):
        raise ValueError(f"{name} must have shape ({len(names)},), {len(names) // bodies} per body, got {found.shape}.")
    wrong = np.flatnonzero(~np.isfinite(found))
    if len(wrong):
        raise ValueError(f"{name} of {names[wrong[0]]!r} must be a finite number, got {found[wrong[0]]}.")
    return found.reshape(bodies, -1)


def allow_joints(engine: SceneEngine, t0: float) -> None:
    """Set the position errors that joints may have: APART of the bodies' extent, beyond what they have at the start."""
    if engine.joints is None:
        return
    link = engine.joints.link
    link.error[:] = 0.0
    points_at_rest(engine, t0)
    link.limit[:] = np.where(link.extent > 0.0, link.error + APART * link.extent, np.inf)  # points have no size
    link.error[:] = link.passed[:] = 0.0


def _jointed(engine: SceneEngine) -> np.ndarray:
    """A number for each body, the same for bodies that joints connect."""
    group = np.arange(len(engine.bodies.kind))
    moving = engine.bodies.kind == layout.MOVING
    holder = group.copy() if engine.fused is None else engine.fused.holder
    for joint in engine.scene.joints:
        a, b = holder[joint.a], holder[joint.b]
        if moving[a] and moving[b]:
            group[group == group[b]] = group[a]
    return group


def _place(bodies: layout.Bodies, start: np.ndarray, velocity: np.ndarray, time: np.ndarray) -> None:
    """Poses after each body's time [s] of motion with its velocity."""
    for i in np.flatnonzero(np.any(velocity != 0.0, axis=1)):
        advance.py_func(start[i], velocity[i], float(time[i]), bodies.pose[i])


def _approaches(engine: SceneEngine, t0: float, time: float) -> tuple[np.ndarray, ...]:
    """Points in reach within `time` [s]: gaps, bodies a and b, normal velocities, and bounds of the approach."""
    bodies, options = engine.bodies, engine.options
    points = _points(engine, t0 + 0.5 * (options.dt - time), options._replace(dt=time, theta=1.0))
    found = engine.contacts[0][:points]
    a, b, n, x = found.a, found.b, found.normal, found.point
    v, w = bodies.vel[:, :3], bodies.vel[:, 3:]
    holder = np.where(bodies.kind[a] == layout.MOVING, a, b)
    moves = [v[i] + np.cross(w[i], x + (bodies.pose[holder, :3] - bodies.pose[i, :3])) for i in (a, b)]
    speed = np.linalg.norm(v, axis=1) + np.linalg.norm(w, axis=1) * bodies.radius
    return found.gap.copy(), a, b, np.sum(n * (moves[1] - moves[0]), axis=1), speed[a] + speed[b]


def points_at_rest(engine: SceneEngine, t0: float) -> int:
    """Contact points of the start, as if no time passed."""
    moving = engine.bodies.vel.copy()
    engine.bodies.vel[:] = 0.0
    points = _points(engine, t0, engine.options._replace(dt=1e-12))
    engine.bodies.vel[:] = moving
    return points


def _points(engine: SceneEngine, t: float, options: layout.Options) -> int:
    """Number of the contact points of a step with these options, without gravity; they stand in engine.contacts[0]."""
    still = options._replace(gravity=np.zeros(3))
    while not step.prepare(
        engine.world()._replace(options=still), engine.search(), engine.touching(0), engine.touching(1),
        engine.problems(), t, None, 0,
    ):  # fmt: skip
        engine._grow(2 * engine.contacts_room)
    points = int(engine.counts[step.POINTS])
    engine.counts[:] = 0
    if engine.joints is not None:
        engine.joints.row.impulse[:] = 0.0
    return points


def _report(engine: SceneEngine, c: int, tolerance: float, when: str) -> None:
    contacts, bodies = engine.contacts[0], engine.scene.bodies
    first, second = (int(number) for number in engine.geoms.owner[contacts.pair[c]])
    a, b = bodies[first].name, bodies[second].name
    if any({joint.a, joint.b} == {first, second} for joint in engine.scene.joints):
        when += " (collide=False of their joint lets them)"
    raise Overlap(
        f"bodies {a!r} and {b!r} overlap by {-contacts.gap[c]:.3g} m {when}, more than penetration_tol = "
        f"{tolerance:g} m; move them, or give overlap='resolve' or 'keep' to simulate, "
        "--overlap to the command run, or overlap under [run] of a model file."
    )
