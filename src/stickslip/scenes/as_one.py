"""The start of bodies that turn as one: their first midpoint.

Contacts and joints are looked at where bodies are at midpoints.  On the way to the first one, (1 - theta) dt u_0, they
go along their tangents, and what turns as one comes apart by (dt omega)^2 / 8 of its size.  Joints ask for that to be
closed and contacts do not remember where they stuck, so that they contradict one another in the first step, and what a
hand holds slips in it.  So the starts of bodies that are held by others, which are joined or driven, are set where the
first midpoint belongs to the turn,

    x_M = c + (1 - theta) dt v_c + exp [(1 - theta) dt omega] (x_0 - c).

c is the centre of a driven body among them; or else, where they touch or are joined to something else, a point of the
axis about which they turn; or else the centre of mass.  The first record has the start that was given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stickslip.scenes import layout
from stickslip.scenes.rotation import advance
from stickslip.scenes.start import points_at_rest

if TYPE_CHECKING:
    from stickslip.scenes.engine import SceneEngine

AS_ONE = 1e-12  # of the velocities: more than the rounding of a start; bodies of a run that is gone on with differ more
NEAR = 1e-6  # of the extent of a body: gaps of contacts at the start


def turn_as_one(engine: SceneEngine, t0: float) -> None:
    """Set the starts of bodies that touch one another and turn as one to where their first midpoint belongs to it."""
    bodies, options = engine.bodies, engine.options
    time = (1.0 - options.theta) * options.dt
    turning = np.any(bodies.vel[:, 3:] != 0.0, axis=1) & (bodies.kind > layout.STATIC)
    if time == 0.0 or not options.predictive or np.sum(turning) < 2:
        return
    contacts = engine.contacts[0][: points_at_rest(engine, t0)]
    near = contacts.gap <= NEAR * np.maximum(bodies.radius[contacts.a], bodies.radius[contacts.b])
    touching = {(int(a), int(b)) for a, b in zip(contacts.a[near], contacts.b[near], strict=True)}
    holder = np.arange(len(bodies)) if engine.fused is None else engine.fused.holder
    ends = [(int(holder[joint.a]), int(holder[joint.b])) for joint in engine.scene.joints]
    joined = {(a, b) for a, b in ends if a != b}
    group = np.arange(len(turning))
    held: set[int] = set()  # by contacts
    rigid: set[int] = set(np.flatnonzero(turning & (bodies.kind == layout.DRIVEN)).tolist())  # joined, or driven
    tied: set[int] = set()
    for pairs, found in ((sorted(touching), held), (sorted(joined), rigid)):
        for a, b in pairs:
            if turning[a] and turning[b] and _move_as_one(bodies, a, b):
                group[group == group[b]] = group[a]
                found |= {a, b}
            else:
                tied |= {a, b}
    for number in np.unique(group[sorted(held)]):
        index = np.flatnonzero(group == number)
        if len(rigid.intersection(index.tolist())) > 1:  # one alone contradicts nothing
            _turn(engine, index, tied, time)
    engine.carry()


def _move_as_one(bodies: layout.Bodies, a: int, b: int) -> bool:
    """Whether two bodies move as one rigid body."""
    v, w = bodies.vel[a], bodies.vel[b]
    arm = bodies.pose[b, :3] - bodies.pose[a, :3]
    apart = w[:3] - v[:3] - np.cross(v[3:], arm)
    fast = np.abs(v[:3]).max() + np.abs(w[:3]).max() + np.linalg.norm(v[3:]) * np.abs(arm).max()
    same = np.abs(w[3:] - v[3:]).max() <= AS_ONE * np.abs(v[3:]).max()
    return bool(same and np.abs(apart).max() <= AS_ONE * fast)


def _turn(engine: SceneEngine, index: np.ndarray, tied: set[int], time: float) -> None:
    """Set the starts of the bodies `index`, which turn as one; `tied`: bodies that something else acts on as well."""
    bodies = engine.bodies
    driven = [i for i in index if bodies.kind[i] == layout.DRIVEN]
    first = driven[0] if driven else index[0]
    x, v, w = bodies.pose[first, :3], bodies.vel[first, :3], bodies.vel[first, 3:]
    if driven:
        c, v_c = x.copy(), v.copy()
    elif tied.intersection(index.tolist()):
        square = float(w @ w)
        c, v_c = x + np.cross(w, v) / square, (v @ w) / square * w
    else:
        mass = 1.0 / bodies.inv_mass[index]
        c = mass @ bodies.pose[index, :3] / mass.sum()
        v_c = mass @ bodies.vel[index, :3] / mass.sum()
    about, turned = np.zeros(7), np.zeros(7)
    about[3] = 1.0
    advance.py_func(about, np.concatenate([np.zeros(3), w]), time, turned)
    moving = [i for i in index if bodies.kind[i] == layout.MOVING]
    for i in moving:
        arm = bodies.pose[i, :3] - c
        s, u = turned[3], turned[4:]
        swung = arm + 2.0 * s * np.cross(u, arm) + 2.0 * np.cross(u, np.cross(u, arm))
        # as a change: where nothing turns by much, no digit of the start is lost
        bodies.pose[i, :3] += (swung - arm) + time * (v_c - bodies.vel[i, :3])
