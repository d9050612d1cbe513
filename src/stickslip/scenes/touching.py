"""The contact points of the last step of a scene, read from the arrays of its engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stickslip.scenes import layout, notes, step
from stickslip.scenes.handles import joint_loads
from stickslip.scenes.parts import LAST_SPEED
from stickslip.trajectory import ContactTable, ReactionTable, stacked

if TYPE_CHECKING:
    from stickslip.scenes.engine import SceneEngine, SceneState


class ContactLog:
    """Contact points and joint reactions of the records of a run, by time [s]."""

    def __init__(self) -> None:
        self.contacts: dict[float, dict[str, np.ndarray]] = {}
        self.reactions: dict[float, dict[str, np.ndarray]] = {}

    def take(self, engine: SceneEngine, state: SceneState) -> None:
        """Keep those of the step that has just ended."""
        self.contacts[state.t] = contact_columns(engine, True)
        if engine.scene.joints or engine.joints is not None:
            self.reactions[state.t] = reaction_columns(engine)

    def return_to(self, t: float) -> None:
        """Forget the steps after t [s]: a piece of the run was dropped."""
        for kept in (self.contacts, self.reactions):
            while kept and next(reversed(kept)) > t:
                kept.popitem()

    def tables(self) -> tuple[ContactTable, ReactionTable | None]:
        """The tables of the run so far."""
        contacts = ContactTable(stacked(self.contacts) if self.contacts else {"time": np.zeros(0)})
        return contacts, ReactionTable(stacked(self.reactions)) if self.reactions else None


_WORDS = {notes.STICK: "stick", notes.SLIP: "slip", notes.IMPACT: "impact", notes.CLOSED: "closed"}


def reaction_columns(engine: SceneEngine) -> dict[str, np.ndarray]:
    """Force and torque of each joint of a scene on its body b in the last step, and the effort of its motor."""
    found = [engine.handle("joint", k) for k in range(len(engine.scene.joints))]
    force, torque, effort = joint_loads(engine, found)
    names = np.array([joint.name for joint in found], dtype=str)
    return {"joint": names, "force": force, "torque": torque, "motor_effort": effort}


def contact_columns(engine: SceneEngine, begun: bool) -> dict[str, np.ndarray]:
    """Contact points of a scene that carried an impulse in its last step; before the first step there are none."""
    contacts = engine.contacts[1 - int(engine.counts[step.SIDE])]  # the end of a step has turned the sides round
    active = engine.active[: int(engine.counts[step.ACTIVE]) if begun else 0]
    hit = np.any(contacts.hit[active.contact] != 0.0, axis=1)  # by impacts that are done one after the other
    active = active[(active.r[:, 0] > 0.0) | hit]
    found, bodies, dim = contacts[active.contact], engine.bodies, engine.scene.dim
    names = np.array([body.name for body in engine.scene.bodies], dtype=str)
    owner = engine.geoms.owner[found.pair]
    frame = active.frame.reshape(-1, 3, 3)
    r = active.r.copy()
    if dim == 2:
        r[:, 2] = 0.0
    normal = frame[:, 0]
    force = np.einsum("nij,ni->nj", frame, r) + found.hit
    r[:, 0] += np.einsum("ni,ni->n", found.hit, normal)
    v = bodies.vel
    parts = [v[i, :3] + np.cross(v[i, 3:], arm) for i, arm in ((found.b, active.arm_b), (found.a, active.arm_a))]
    slip = np.einsum("nij,nj->ni", frame[:, 1:], parts[0] - parts[1]) + active.bias[:, 1:]
    if dim == 2:
        slip[:, 1] = 0.0
    speed = np.abs(active.before).sum(axis=1) + engine.options.dt * np.linalg.norm(engine.options.gravity)
    struck = active.impact & ~engine.book.loaded[active.contact]
    struck &= -active.before[:, 0] > engine.options.tol * engine.book.numbers[LAST_SPEED]
    struck |= np.any(found.hit != 0.0, axis=1)
    resists = ((active.patch > 0.0) | (active.rolling > 0.0))[:, None]
    words = []
    for i in range(len(active)):
        word = notes.SLIP if np.linalg.norm(slip[i]) > 1e-8 * speed[i] else notes.STICK
        word = word if active.mu[i] > 0.0 else notes.CLOSED
        words.append(_WORDS[notes.IMPACT if struck[i] else word])
    holder = np.where(bodies.kind[found.a] == layout.MOVING, found.a, found.b)
    # Contact points are those of the midpoint.  `mid` may have gone on to the next one, where bodies are pushed apart.
    centre = bodies.pose[holder, :3] - engine.options.theta * engine.options.dt * bodies.vel[holder, :3]
    return {
        "body": names[owner[:, 0]],
        "other": names[owner[:, 1]],
        "point": np.asarray(centre + found.point),
        "normal": np.asarray(normal),
        "gap": np.asarray(found.gap, float),
        "normal_impulse": np.asarray(r[:, 0]),
        "tangential_impulse": np.asarray(force - r[:, :1] * normal),
        "force": np.asarray(force / engine.options.dt),
        "torque": np.einsum("nij,ni->nj", frame, active.turn * resists) / engine.options.dt,
        "state": np.array(words, dtype=str),
    }
