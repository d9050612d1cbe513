"""Control laws at work in the engine of a scene, and what joints have to show: coordinates and speeds, now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stickslip.checks import unknown_name
from stickslip.codes import CONTROL_FAILED, DONE, STEPS
from stickslip.control import (
    Clockwork,
    ControlLaw,
    Controller,
    SceneNow,
    copy_numbers,
    first_wrong,
    is_due,
    steps_until_due,
)
from stickslip.jit import call_address, entry, kernel
from stickslip.scenes import step
from stickslip.scenes.islands.row_kinds import EFFORT, PRISMATIC, SPEED, STIFFNESS, TARGET, TORQUE, along, turn_about
from stickslip.scenes.joints import WITH_AXIS
from stickslip.scenes.layout import Bodies, Joints
from stickslip.scenes.parts import Diary, Problems, Records, Search, Span, Touching, World
from stickslip.scenes.rotation import compose, z_axis
from stickslip.trajectory import FORCES, MOTORS

if TYPE_CHECKING:
    from stickslip.scenes.engine import SceneEngine, SceneState

NOT_FINITE, NO_MOTOR, MEMORY_WRONG = 0, 1, 2
"""What is wrong with what a law set."""


class SceneSteer(NamedTuple):
    """A control law as kernels take it.

    Attributes
    ----------
    clock : when it is called
    now : what it sees and sets
    joint : rows of its joints in the table
    body : numbers of the bodies that it pushes
    axes : places of the entries of `now.force` among forces and torques
    channels : bodies that are recorded
    pushes, constant : forces and torques that were set by hand, and those of the scene, (bodies, 6)
    by_hand : what may do work, see `Certificate.forced`, (1,)
    wrong : what a law has done wrong, and with which joint or body, (2,)
    """

    clock: Clockwork
    now: SceneNow
    joint: np.ndarray
    body: np.ndarray
    axes: np.ndarray
    channels: np.ndarray
    pushes: np.ndarray
    constant: np.ndarray
    by_hand: np.ndarray
    wrong: np.ndarray


@kernel
def point_velocity(pose: np.ndarray, vel: np.ndarray, place: np.ndarray) -> tuple[float, float, float]:
    """Velocity of the point of a body that is at a place."""
    x, y, z = place[0] - pose[0], place[1] - pose[1], place[2] - pose[2]
    return (
        vel[0] + (vel[4] * z - vel[5] * y), vel[1] + (vel[5] * x - vel[3] * z), vel[2] + (vel[3] * y - vel[4] * x),
    )  # fmt: skip


@kernel
def axis_coordinate(slides: bool, A: np.ndarray, B: np.ndarray, turns: float) -> float:
    """Angle of frame B against A about the axis [rad], nearest to the one seen last, or travel along it [m]."""
    if slides:
        return along(A, B, z_axis(A))
    return turn_about(A, B, turns)


@kernel
def axis_speed(slides: bool, A: np.ndarray, B: np.ndarray, a: Any, b: Any) -> float:
    """Angular velocity [rad/s] or velocity [m/s] of b against a along the axis; a, b: pose and velocities."""
    x, y, z = z_axis(A)
    if slides:
        u0, u1, u2 = point_velocity(a[0], a[1], B)
        v0, v1, v2 = point_velocity(b[0], b[1], B)
        return x * (v0 - u0) + y * (v1 - u1) + z * (v2 - u2)
    return x * (b[1][3] - a[1][3]) + y * (b[1][4] - a[1][4]) + z * (b[1][5] - a[1][5])


@kernel
def look_at_bodies(bodies: Bodies, planar: bool, steer: SceneSteer) -> None:
    """Write coordinates and velocities of the bodies down, as they are recorded."""
    q, u, channels = steer.now.q, steer.now.u, steer.channels
    for c in range(channels.shape[0]):
        i = channels[c]
        if planar:
            q[3 * c], q[3 * c + 1], q[3 * c + 2] = bodies.pose[i, 0], bodies.pose[i, 1], bodies.angle[i]
            u[3 * c], u[3 * c + 1], u[3 * c + 2] = bodies.vel[i, 0], bodies.vel[i, 1], bodies.vel[i, 5]
        else:
            for k in range(7):
                q[7 * c + k] = bodies.pose[i, k]
            for k in range(6):
                u[6 * c + k] = bodies.vel[i, k]


@kernel
def look_at_joints(joints: Joints, bodies: Bodies, steer: SceneSteer) -> None:
    """Write down coordinates and speeds of the joints, and what drives them."""
    now, A, B = steer.now, np.empty(7), np.empty(7)
    for k in range(steer.joint.shape[0]):
        j = steer.joint[k]
        link = joints.link
        a, b = link.a[j], link.b[j]
        compose(bodies.pose[a], link.frame_a[j], A)
        compose(bodies.pose[b], link.frame_b[j], B)
        slides = link.kind[j] == PRISMATIC
        now.coordinate[k] = axis_coordinate(slides, A, B, link.turns[j])
        now.speed[k] = axis_speed(slides, A, B, (bodies.pose[a], bodies.vel[a]), (bodies.pose[b], bodies.vel[b]))
        numbers = link.numbers[j]
        now.torque[k], now.target[k], now.motor_speed[k] = numbers[TORQUE], numbers[TARGET], numbers[SPEED]


@kernel
def judge_joints(joints: Joints, steer: SceneSteer) -> bool:
    """Whether what the law set for joints can be done; what is wrong is written down."""
    now = steer.now
    for k in range(steer.joint.shape[0]):
        numbers = joints.link.numbers[steer.joint[k]]
        steer.wrong[1] = k
        if not (abs(now.torque[k]) < 1e300 and abs(now.target[k]) < 1e300 and abs(now.motor_speed[k]) < 1e300):
            steer.wrong[0] = NOT_FINITE
            return False
        led = numbers[STIFFNESS] > 0.0 and numbers[EFFORT] > 0.0
        if (now.target[k] != numbers[TARGET] and not led) or (
            now.motor_speed[k] != numbers[SPEED] and not numbers[EFFORT] > 0.0
        ):
            steer.wrong[0] = NO_MOTOR
            return False
    return True


@kernel
def drive_joints(joints: Joints, steer: SceneSteer) -> None:
    """Set what the law has set for joints."""
    now = steer.now
    for k in range(steer.joint.shape[0]):
        numbers = joints.link.numbers[steer.joint[k]]
        numbers[TORQUE], numbers[TARGET], numbers[SPEED] = now.torque[k], now.target[k], now.motor_speed[k]
        if now.torque[k] != 0.0:
            steer.by_hand[0] |= FORCES | MOTORS


@kernel
def push_bodies(bodies: Bodies, steer: SceneSteer) -> None:
    """Set the forces of the law on bodies."""
    force, pushes, constant = steer.now.force, steer.pushes, steer.constant
    for k in range(steer.body.shape[0]):
        i = steer.body[k]
        for c in range(steer.axes.shape[0]):
            axis = steer.axes[c]
            pushes[i, axis] = force[k, c]
            bodies.wrench[i, axis] = constant[i, axis] + pushes[i, axis]
            if force[k, c] != 0.0:
                steer.by_hand[0] |= FORCES


@kernel
def serve(world: World, steer: SceneSteer, t: float, number: int) -> int:
    """Call the law before the step of this number and set what it sets; DONE, or CONTROL_FAILED with nothing set."""
    clock, now, bodies = steer.clock, steer.now, world.bodies
    look_at_bodies(bodies, world.options.dim == 2, steer)
    if world.joints is not None:
        look_at_joints(world.joints, bodies, steer)
    for k in range(steer.body.shape[0]):
        for c in range(steer.axes.shape[0]):
            now.force[k, c] = steer.pushes[steer.body[k], steer.axes[c]]
    copy_numbers(now.memory, clock.before)
    seen = SceneNow(
        t, now.q, now.u, now.coordinate, now.speed, now.torque, now.target, now.motor_speed, now.force, now.memory
    )
    call_address(clock.address, 0, seen)
    fits = True
    if world.joints is not None:
        fits = judge_joints(world.joints, steer)
    for k in range(steer.body.shape[0]):
        if fits and first_wrong(now.force[k]) >= 0:
            steer.wrong[0], steer.wrong[1] = NOT_FINITE, steer.joint.shape[0] + k
            fits = False
    if fits and first_wrong(now.memory) >= 0:
        steer.wrong[0] = MEMORY_WRONG
        fits = False
    if not fits:
        copy_numbers(clock.before, now.memory)
        return CONTROL_FAILED
    if world.joints is not None:
        drive_joints(world.joints, steer)
    push_bodies(bodies, steer)
    clock.called[0] = number
    return DONE


@entry
def controlled(
    world: World, search: Search, touching: tuple[Touching, Touching], problems: Problems, diary: Diary, span: Span,
    records: Records, steer: SceneSteer,
) -> tuple[int, int, int]:  # fmt: skip
    """Steps as those of `step.march`, with a control law that is called where it is due."""
    status: Any = np.int64(DONE)
    done: Any = np.int64(0)
    written: Any = np.int64(0)
    first, second = touching
    while done < span.steps and status == DONE:
        number: Any = np.int64(diary.book.numbers[STEPS])
        if is_due(steer.clock, number) and not span.resume:
            t = span.t0 + number * world.options.dt
            status = np.int64(serve(world, steer, t, number))
            if status != DONE:
                break
        n = min(span.steps - done, np.int64(steps_until_due(steer.clock, number)))
        driven = None if span.driven is None else span.driven[done:]
        piece = Span(span.t0, n, span.every, driven, span.resume)
        rest = Records(
            records.q[written:], records.u[written:], records.impulse[written:], records.state[written:],
            records.gap[written:], records.energy[written:],
        )  # fmt: skip
        status, more, rows = step.march(world, search, first, second, problems, diary, piece, rest)
        done += more
        written += rows
    return status, done, written


class SceneController(Controller):
    """A control law at work in a scene."""

    def __init__(self, engine: SceneEngine, law: ControlLaw, memory: np.ndarray, first: int, apart: int) -> None:
        if law.inputs:
            raise ValueError("inputs of a control law are for mechanisms; a scene has joints=[...] and bodies=[...].")
        scene = engine.scene
        kept = list(range(len(scene.joints)) if engine.fused is None else engine.fused.kept)
        self.joint_names = _joints(scene, law)
        numbers = {joint.name: k for k, joint in enumerate(scene.joints)}
        joint = np.array([kept.index(numbers[name]) for name in self.joint_names], np.int64)
        body = np.array([_body(scene, name) for name in law.bodies], np.int64)
        axes = np.array([0, 1, 5] if scene.dim == 2 else range(6), np.int64)
        q, u = engine.state()
        x, v, torque, target, speed = (np.zeros(len(joint)) for _ in range(5))
        force = np.zeros((len(body), len(axes)))
        now = SceneNow(0.0, np.zeros(len(q)), np.zeros(len(u)), x, v, torque, target, speed, force, memory)
        super().__init__(law, now, first, apart)
        wrong = np.zeros(2, np.int64)
        self.steer = SceneSteer(
            self.clock, now, joint, body, axes, engine.channels, engine.pushes, engine.constant, engine.by_hand, wrong
        )

    def changes_energy(self) -> bool:
        """Efforts and forces have no energy of their own."""
        return False

    def reason(self) -> str:
        """Why the law failed, in words."""
        named = f"control law {self.law.name!r}"
        if self.error is not None:
            return f"{named} raised {type(self.error).__name__}: {self.error}"
        what, k = self.steer.wrong.tolist()
        if what == MEMORY_WRONG:
            return f"{named} used an index outside an array, or left a number in its memory that is not finite"
        whose = repr([*self.joint_names, *self.law.bodies][k])
        if what == NO_MOTOR:
            return f"{named} set target or motor_speed of {whose}, which has no motor to follow it; give it a Motor"
        now, n = self.now, len(self.joint_names)
        values = now.force[k - n] if k >= n else np.array([now.torque[k], now.target[k], now.motor_speed[k]])
        worst = next((x for x in values.tolist() if not abs(x) < 1e300), 0.0)
        return f"{named} must set finite efforts, targets and forces, got {worst:g} for {whose}"


def _joints(scene: Any, law: ControlLaw) -> tuple[str, ...]:
    """Names of the joints of a law, which have an axis."""
    known = tuple(joint.name for joint in scene.joints if joint.kind in WITH_AXIS)
    if law.joints is None:
        return known
    for name in law.joints:
        if name not in known:
            raise ValueError(f"joints of a control law: {unknown_name('joint with an axis', name, known)}")
    return tuple(law.joints)


def _body(scene: Any, name: str) -> int:
    """Number of a body that a law pushes."""
    known = tuple(body.name for body in scene.bodies if body.kind == "moving")
    if name not in known:
        raise ValueError(f"bodies of a control law: {unknown_name('body that moves freely', name, known)}")
    return next(body.number for body in scene.bodies if body.name == name)


def call_between(engine: SceneEngine, state: SceneState) -> int:
    """Call the law where it is due before the next step; DONE, or CONTROL_FAILED with nothing set."""
    controller: SceneController = engine.controller
    if not is_due.py_func(controller.clock, state.step):
        return DONE
    return controller.called(serve, engine.world(), controller.steer, state.t, state.step)
