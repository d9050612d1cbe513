"""Bodies that fixed joints hold together, moved as one: what a step solves is the composite body.

A quarter to a half of the joints of a robot's description are fixed.  A step has no use for them: two bodies that a
fixed joint holds are one rigid body, with the mass, the centre of mass and the inertia of both,

    m = sum m_i,    c = sum m_i x_i / m,    J = sum (J_i + m_i (|r_i|^2 1 - r_i r_i^T)),    r_i = x_i - c.

The composites are rows of the table of bodies behind those of the scene.  Their members keep their rows and numbers,
marked as CARRIED: no step moves them, and their poses and velocities follow from those of the composite whenever
somebody looks.  Geometries and joints of members belong to the composite, at the place where the member has them.

A fixed joint inside a composite has no rows.  Its reaction follows from the balance of momentum of the members, from
the leaves to the root (`balance`).

Not fused are bodies that do not move freely, that come and go at different times, that springs pull at, whose friction
has axes, or that are far from the common centre of mass (REACH); nor are groups with joints of another kind or
loops inside, whose forces are not determined by balance, and those whose velocities at the start do not belong to one
rigid motion (the blow of the joints is listed then).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.jit import entry, kernel
from stickslip.scenes.bodies import Body
from stickslip.scenes.islands.joint_rows import PASSIVE
from stickslip.scenes.islands.row_kinds import ARMATURE, TORQUE, VISCOUS
from stickslip.scenes.layout import ROWS_PER_JOINT, Bodies
from stickslip.scenes.parts import ACTIVE, SIDE, Fused
from stickslip.scenes.rotation import advance, compose, rotate
from stickslip.scenes.shapes import quaternion_product, rotation_matrix

if TYPE_CHECKING:
    from stickslip.scenes.engine import SceneEngine
    from stickslip.scenes.scene import Scene

# Times the radius of the largest member: how far members may be from the common centre of mass.  The first midpoint of
# a run lies on the tangents of the centres of mass: places of bodies that turn as one differ there by (dt omega)^2 / 8
# of the way between their centres.  A palm of 0.1 m on an arm of 1 m (4.5), at 0.06 rad in a step, is 1.8e-4 m off as
# one body, and 2.2e-5 m by itself.  It begins 1e-4 m inside its capsule, one of whose four points is 5e-11 m open from
# then on and carries nothing; the others hold it for 0.15 s, and let it slide by 11 mm.  Of eight robots the largest
# are 1.5 and, where cameras are all that has a shape, 2.9.
REACH = 3.0
AGREES = 1e-9  # of the velocities: what rounding and printed digits explain


@dataclass(frozen=True)
class Composite:
    """Some bodies as one: the pose is that of the centre of mass, turned as the first member is."""

    number: int  # in the table of bodies
    members: tuple[int, ...]
    joints: tuple[int, ...]  # fixed joints that hold them
    mass: float
    inertia: np.ndarray  # (3, 3) in the composite's axes
    pose: np.ndarray  # (7,)
    local: np.ndarray  # (members, 7) poses of the members in it
    vel: np.ndarray  # (6,)


class Fusion:
    """The composites of a scene, which row of the table moves each body, and which joints have rows."""

    def __init__(self, scene: Scene, composites: list[Composite]) -> None:
        n = len(scene.bodies)
        self.composites = composites
        self.holder = np.arange(n + len(composites))  # of each row: the row that moves it
        self.local = np.zeros((n, 7))
        self.local[:, 3] = 1.0
        for composite in composites:
            members = list(composite.members)
            self.holder[members], self.local[members] = composite.number, composite.local
        inside = {k for composite in composites for k in composite.joints}
        self.kept = [k for k in range(len(scene.joints)) if k not in inside]
        self.first = {composite.number: composite.members[0] for composite in composites}

    def in_holder(self, number: int, frame: np.ndarray) -> np.ndarray:
        """A pose in a body as one in what moves it."""
        out = np.empty(7)
        compose.py_func(self.local[number], frame, out)
        return out

    def table(self) -> Fused:
        """The members as kernels see them."""
        pairs = [(i, composite) for composite in self.composites for i in composite.members]
        return Fused(
            np.array([i for i, _ in pairs], np.int64),
            np.array([composite.number for _, composite in pairs], np.int64),
            np.array([self.local[i] for i, _ in pairs]),
            np.zeros(len(pairs)),
            np.zeros((len(self.composites), 6)),
            np.array([composite.number for composite in self.composites], np.int64),
        )


def body_radius(body: Body) -> float:
    """Radius of the sphere about a body's centre of mass that holds its shape [m]; 0 where there is none."""
    if body.kind == "static" or body.shape is None:
        return 0.0
    radii = [float(np.linalg.norm(p.offset - body.centre)) + p.bound for p in body.shape.pieces(body.dim)]
    radius = max(radii, default=0.0)
    return radius if math.isfinite(radius) else 0.0


def fusion(scene: Scene) -> Fusion | None:
    """The composites of a scene; None where there are none."""
    fixed = [(k, joint.a, joint.b) for k, joint in enumerate(scene.joints) if joint.kind == "fixed"]
    fixed = [(k, a, b) for k, a, b in fixed if _may_fuse(scene, a) and _may_fuse(scene, b)]
    fixed = [(k, a, b) for k, a, b in fixed if scene.bodies[a].life == scene.bodies[b].life]
    group = list(range(len(scene.bodies)))
    for _, a, b in fixed:
        old, new = group[b], group[a]
        group = [new if g == old else g for g in group]
    composites: list[Composite] = []
    for head in sorted({group[a] for _, a, _ in fixed}):
        members = [i for i in range(len(group)) if group[i] == head]
        joints = [k for k, a, _ in fixed if group[a] == head]
        inside = sum(group[joint.a] == head == group[joint.b] for joint in scene.joints)
        if len(joints) == inside == len(members) - 1:
            composite = _composite(scene, len(group) + len(composites), members, joints)
            if _moves_as_one(scene, composite) and _is_compact(scene, composite):
                composites.append(composite)
    return Fusion(scene, composites) if composites else None


def _may_fuse(scene: Scene, number: int) -> bool:
    body = scene.bodies[number]
    axes = isinstance(body.material.friction, tuple) or any(
        number in pair and isinstance(law.friction, tuple) for pair, law in scene.pair_laws.items()
    )
    return body.kind == "moving" and not axes and not any(number in (s.a, s.b) for s in scene.springs)


def _composite(scene: Scene, number: int, members: list[int], joints: list[int]) -> Composite:
    bodies = [scene.bodies[i] for i in members]
    mass = sum(body.mass for body in bodies)
    c = sum((body.mass * body.position for body in bodies), np.zeros(3)) / mass
    turn = bodies[0].orientation
    R, back = rotation_matrix(turn), turn * np.array([1.0, -1.0, -1.0, -1.0])
    local = np.array([[*(R.T @ (body.position - c)), *quaternion_product(back, body.orientation)] for body in bodies])
    return Composite(
        number, tuple(members), tuple(joints), mass, _inertia(bodies, local), np.array([*c, *turn]), local,
        _common_motion(bodies, c),
    )  # fmt: skip


def _inertia(bodies: list[Any], local: np.ndarray) -> np.ndarray:
    """J of bodies with these poses in a frame about their common centre of mass."""
    total = np.zeros((3, 3))
    for body, pose in zip(bodies, local, strict=True):
        R, r = rotation_matrix(pose[3:]), pose[:3]
        total += R @ body.inertia @ R.T + body.mass * ((r @ r) * np.eye(3) - np.outer(r, r))
    return 0.5 * (total + total.T)


def _common_motion(bodies: list[Any], c: np.ndarray) -> np.ndarray:
    """Twist about the centre of mass c with the momenta that bodies have together."""
    mass = sum(body.mass for body in bodies)
    v = sum((body.mass * body.velocity for body in bodies), np.zeros(3)) / mass
    first = bodies[0].angular_velocity
    if all(np.array_equal(body.angular_velocity, first) for body in bodies):
        return np.array([*v, *first])
    momentum, J = np.zeros(3), np.zeros((3, 3))
    for body in bodies:
        R, r = rotation_matrix(body.orientation), body.position - c
        own = R @ body.inertia @ R.T
        momentum += own @ body.angular_velocity + body.mass * np.cross(r, body.velocity)
        J += own + body.mass * ((r @ r) * np.eye(3) - np.outer(r, r))
    if bodies[0].dim == 2:
        return np.array([*v, 0.0, 0.0, momentum[2] / J[2, 2]])
    return np.array([*v, *np.linalg.solve(J, momentum)])


def _is_compact(scene: Scene, composite: Composite) -> bool:
    """Whether all members are near to the common centre of mass."""
    far = float(np.linalg.norm(composite.local[:, :3], axis=1).max())
    return far <= REACH * max(body_radius(scene.bodies[i]) for i in composite.members)


def _moves_as_one(scene: Scene, composite: Composite) -> bool:
    """Whether the start velocities of the members are those of one rigid body."""
    v, w, c = composite.vel[:3], composite.vel[3:], composite.pose[:3]
    for i in composite.members:
        body = scene.bodies[i]
        arm = body.position - c
        fast = np.abs(v).max() + np.abs(body.velocity).max() + np.abs(w).max() * np.abs(arm).max()
        if np.abs(body.velocity - v - np.cross(w, arm)).max() > AGREES * fast:
            return False
        if np.abs(body.angular_velocity - w).max() > AGREES * max(np.abs(w).max(), np.abs(body.angular_velocity).max()):
            return False
    return True


@kernel
def carry_member(fused: Fused, bodies: Bodies, k: int) -> None:
    """Pose and velocity of member k from those of its composite."""
    i, h = fused.body[k], fused.holder[k]
    compose(bodies.pose[h], fused.local[k], bodies.pose[i])
    v, w = bodies.vel[h], bodies.vel[i]
    x, y, z = bodies.pose[i, 0] - bodies.pose[h, 0], bodies.pose[i, 1] - bodies.pose[h, 1], 0.0
    z = bodies.pose[i, 2] - bodies.pose[h, 2]
    w[0], w[1], w[2] = v[0] + v[4] * z - v[5] * y, v[1] + v[5] * x - v[3] * z, v[2] + v[3] * y - v[4] * x
    w[3], w[4], w[5] = v[3], v[4], v[5]
    bodies.angle[i] = bodies.angle[h] + fused.turn[k]


@entry
def carry_members(fused: Fused, bodies: Bodies) -> None:
    """Poses and velocities of all members from those of their composites."""
    for k in range(fused.body.shape[0]):
        carry_member(fused, bodies, k)


@kernel
def add_member_wrenches(fused: Fused, bodies: Bodies, wrench: np.ndarray) -> None:
    """Add forces and torques on members to those of their composites, at the midpoint."""
    for k in range(fused.body.shape[0]):
        f, h, p = wrench[fused.body[k]], fused.holder[k], fused.local[k]
        if f[0] == 0.0 and f[1] == 0.0 and f[2] == 0.0 and f[3] == 0.0 and f[4] == 0.0 and f[5] == 0.0:
            continue
        x, y, z = rotate(bodies.mid[h], p[0], p[1], p[2])
        g = wrench[h]
        g[0] += f[0]
        g[1] += f[1]
        g[2] += f[2]
        g[3] += f[3] + y * f[2] - z * f[1]
        g[4] += f[4] + z * f[0] - x * f[2]
        g[5] += f[5] + x * f[1] - y * f[0]


@kernel
def note_before(fused: Fused, bodies: Bodies) -> None:
    """Keep the velocities of composites before a step, for the reactions inside."""
    for k in range(fused.number.shape[0]):
        for c in range(6):
            fused.before[k, c] = bodies.vel[fused.number[k], c]


def gather(engine: SceneEngine, bodies: Bodies) -> None:
    """Poses and velocities of composites from those of their members, which may have been given anew."""
    if engine.fused is None:
        return
    scene, table = engine.scene, engine.fused_table
    for composite in engine.fused.composites:
        i, h = list(composite.members), composite.number
        first = i[0]
        turn = bodies.pose[first, 3:]
        shift = rotation_matrix(turn) @ composite.local[0, :3]
        bodies.pose[h, :3], bodies.pose[h, 3:] = bodies.pose[first, :3] - shift, turn
        bodies.angle[h] = bodies.angle[first]
        mass = np.array([scene.bodies[k].mass for k in i])
        w = bodies.vel[first, 3:]
        bodies.vel[h, :3] = bodies.vel[first, :3] - np.cross(w, shift)
        bodies.vel[h, 3:] = w
        if not np.all(bodies.vel[i, 3:] == w):  # a state that is given: what momenta there are together
            momentum = np.zeros(3)
            for k in i:
                R, r = rotation_matrix(bodies.pose[k, 3:]), bodies.pose[k, :3] - bodies.pose[h, :3]
                own = R @ scene.bodies[k].inertia @ R.T @ bodies.vel[k, 3:]
                momentum += own + scene.bodies[k].mass * np.cross(r, bodies.vel[k, :3])
            R = rotation_matrix(turn)
            if scene.dim == 3:
                bodies.vel[h, 3:] = np.linalg.solve(R @ composite.inertia @ R.T, momentum)
            else:
                bodies.vel[h, 5] = momentum[2] / composite.inertia[2, 2]
            bodies.vel[h, :3] = mass @ bodies.vel[i, :3] / mass.sum()
    turns = bodies.angle[table.body] - bodies.angle[table.holder]
    table.turn[:] = turns


def misplaced(engine: SceneEngine) -> list[tuple[int, float, float]]:
    """Fixed joints of composites, how far their members are from where they belong [m], and the extent [m]."""
    if engine.fused is None:
        return []
    found, place = [], np.empty(7)
    for composite in engine.fused.composites:
        for k in composite.joints:
            joint, worst = engine.scene.joints[k], 0.0
            for i in (joint.a, joint.b):
                compose.py_func(engine.bodies.pose[composite.number], engine.fused.local[i], place)
                now = engine.bodies.pose[i]
                turned = min(np.abs(now[3:] - place[3:]).max(), np.abs(now[3:] + place[3:]).max())
                off = np.linalg.norm(now[:3] - place[:3]) + 2.0 * turned * engine.bodies.radius[composite.number]
                worst = max(worst, float(off))
            found.append((k, worst, float(engine.bodies.radius[composite.number])))
    return found


def balance(engine: SceneEngine, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Force [N] and torque [N m], about b's centre of mass, of fixed joint k of a composite on b in the last step.

    What the part of the composite on b's side gains in momentum, less what all else gives it.
    """
    assert engine.fused is not None
    composite = next(c for c in engine.fused.composites if k in c.joints)
    joint, scene = engine.scene.joints[k], engine.scene
    side, todo = {joint.b}, [joint.b]
    edges = [(scene.joints[j].a, scene.joints[j].b) for j in composite.joints if j != k]
    while todo:
        i = todo.pop()
        for a, b in edges:
            for other in (b if a == i else None, a if b == i else None):
                if other is not None and other not in side:
                    side.add(other)
                    todo.append(other)
    total = np.zeros(6)
    arms = _arms(engine, composite)
    for i in side:
        total += _gain(engine, composite, i, arms[i]) - _given(engine, composite, i, arms[i])
    arm = arms[joint.b]
    force = total[:3] / engine.options.dt
    return force, total[3:] / engine.options.dt - np.cross(arm, force)


def arm_of(engine: SceneEngine, number: int) -> np.ndarray:
    """From the centre of mass of what moves a body to its own, at the midpoint of the last step [m]."""
    if engine.fused is None or engine.fused.holder[number] == number:
        return np.zeros(3)
    composite = next(c for c in engine.fused.composites if number in c.members)
    return _arms(engine, composite)[number]


def _arms(engine: SceneEngine, composite: Composite) -> dict[int, np.ndarray]:
    """From the composite's centre of mass to those of its members at the midpoint of the last step [m]."""
    pose, mid = engine.bodies.pose[composite.number], np.empty(7)
    advance.py_func(pose, engine.bodies.vel[composite.number], -engine.options.theta * engine.options.dt, mid)
    R = rotation_matrix(mid[3:])
    return {i: R @ local[:3] for i, local in zip(composite.members, composite.local, strict=True)}


def _gain(engine: SceneEngine, composite: Composite, i: int, arm: np.ndarray) -> np.ndarray:
    """Gain of member i in momentum, and in angular momentum about the composite's centre, in the last step.

    As the rule of rotations has it: momenta of both ends of the step, with the body turned there from the midpoint.
    """
    options, h = engine.options, composite.number
    row = [c.number for c in engine.fused.composites].index(h) if engine.fused is not None else 0
    before, after = engine.fused_table.before[row], engine.bodies.vel[h]
    body, R = engine.scene.bodies[i], rotation_matrix(engine.bodies.pose[i, 3:])
    J_end, gain = R @ body.inertia @ R.T, np.zeros(6)
    for sign, vel, time in ((1.0, after, options.theta), (-1.0, before, options.theta - 1.0)):
        turned = np.empty(7)
        advance.py_func(np.array([0.0, 0, 0, 1, 0, 0, 0]), np.array([0.0, 0, 0, *vel[3:]]), time * options.dt, turned)
        Q = rotation_matrix(turned[3:])
        r = Q @ arm
        moving = np.cross(vel[3:], r)
        gain[:3] += sign * body.mass * (vel[:3] + moving)
        gain[3:] += sign * body.mass * np.cross(r, moving)
        back = np.empty(7)
        advance.py_func(
            np.array([0.0, 0, 0, 1, 0, 0, 0]), np.array([0.0, 0, 0, *after[3:]]), -options.theta * options.dt, back
        )
        J = rotation_matrix(back[3:]) @ J_end @ rotation_matrix(back[3:]).T  # at the midpoint
        gain[3:] += sign * (Q @ J @ vel[3:])
    # about the centre as it moves on: the momentum of the common motion has its arm at the midpoint
    gain[3:] += body.mass * np.cross(arm, after[:3] - before[:3])
    return gain


def _given(engine: SceneEngine, composite: Composite, i: int, arm: np.ndarray) -> np.ndarray:
    """Impulses on member i but for those of fixed joints, about the composite's centre."""
    options, body, h = engine.options, engine.scene.bodies[i], composite.number
    total, own = np.zeros(6), engine.bodies.wrench[i]
    force = options.dt * (body.mass * options.gravity + own[:3])
    total[:3] += force
    total[3:] += np.cross(arm, force) + options.dt * own[3:]
    contacts = engine.contacts[1 - int(engine.counts[SIDE])]
    active = engine.active[: int(engine.counts[ACTIVE])]
    found = contacts[active.contact]
    owner = engine.geoms.owner[found.pair]
    r = active.r.copy()
    if options.dim == 2:
        r[:, 2] = 0.0
    frame = active.frame.reshape(-1, 3, 3)
    impulse = np.einsum("nij,ni->nj", frame, r) + found.hit
    resists = ((active.patch > 0.0) | (active.rolling > 0.0))[:, None]
    turn = np.einsum("nij,ni->nj", frame, active.turn * resists)
    for side, sign, arms in ((0, -1.0, active.arm_a), (1, 1.0, active.arm_b)):
        mine = owner[:, side] == i
        total[:3] += sign * impulse[mine].sum(axis=0)
        total[3:] += sign * (np.cross(arms[mine], impulse[mine]) + turn[mine]).sum(axis=0)
    if engine.joints is not None and engine.fused is not None:
        for place, k in enumerate(engine.fused.kept):
            joint = engine.scene.joints[k]
            for number, sign, first in ((joint.a, -1.0, 3), (joint.b, 1.0, 6)):
                if number == i and engine.fused.holder[i] == h:
                    rows = engine.joints.row[place * ROWS_PER_JOINT : (place + 1) * ROWS_PER_JOINT]
                    along = np.where(rows.used, rows.impulse, 0.0) + rows.blow
                    data = engine.joints.link.numbers[place]
                    if data[ARMATURE] + options.dt * data[VISCOUS] == 0.0:
                        along[PASSIVE] = options.dt * data[TORQUE]
                    d = rows.direction
                    total[:3] += sign * along @ (d[:, :3] + d[:, 9:] if first == 6 else d[:, :3])
                    total[3:] += sign * along @ d[:, first : first + 3]
    return total
