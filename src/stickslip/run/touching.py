"""The contacts of the present, read from the arrays of an engine: what `Simulator.contacts` shows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stickslip import codes
from stickslip.engine import Block, Memory
from stickslip.run.driver import Run
from stickslip.scenes import notes, step
from stickslip.scenes.engine import SceneEngine
from stickslip.scenes.parts import LAST_SPEED
from stickslip.trajectory import STATE_NAMES
from stickslip.trajectory.contact_table import ContactTable

_WORDS = {notes.STICK: "stick", notes.SLIP: "slip", notes.IMPACT: "impact", notes.CLOSED: "closed"}


def mechanism_contacts(run: Run, before: Mapping[str, np.ndarray] | None) -> ContactTable:
    """Contacts of a mechanism in its last step, which is done once more from the state `before` it."""
    state, system, names = run.state, run.system, np.array(run.system.contact_names, dtype=str)
    n = len(names)
    impulse, label = np.zeros((n, 2)), np.zeros(n, np.int8)
    if before is not None and state.step > 0:
        assert isinstance(state, Memory)
        again = Memory(before["row"].copy(), state.p, state.t0, state.dt, state.sizes)
        again.impulse_sum[:] = 0.0
        block = Block.room(1, 2 * n + 2, state.sizes, 1)
        code = run.engine.march(again, 1, block)
        if code == codes.UNSOLVED and run.engine.helper is not None:
            run.engine.helper.march(again, 1, block)
        impulse, label = block.impulse[0], block.state[0]
    gap = np.asarray(system.gap(state.q, state.t, state.p))
    closed = np.flatnonzero(label != codes.OPEN)
    return ContactTable(
        {
            "contact": names[closed],
            "gap": gap[closed],
            "normal_impulse": impulse[closed, 0],
            "tangential_impulse": impulse[closed, 1],
            "normal_force": impulse[closed, 0] / state.dt,
            "tangential_force": impulse[closed, 1] / state.dt,
            "state": np.array(STATE_NAMES, dtype=str)[label[closed]],
        }
    )


def scene_contacts(engine: SceneEngine, begun: bool) -> ContactTable:
    """Contact points of a scene that carried an impulse in its last step; before the first step there are none."""
    contacts = engine.contacts[int(engine.counts[step.SIDE])]
    active = engine.active[: int(engine.counts[step.ACTIVE]) if begun else 0]
    active = active[active.r[:, 0] > 0.0]
    found, bodies, dim = contacts[active.contact], engine.bodies, engine.scene.dim
    names = np.array([body.name for body in engine.scene.bodies], dtype=str)
    frame = active.frame.reshape(-1, 3, 3)
    r = active.r.copy()
    if dim == 2:
        r[:, 2] = 0.0
    force = np.einsum("nij,ni->nj", frame, r)
    normal = frame[:, 0]
    v = bodies.vel
    parts = [v[i, :3] + np.cross(v[i, 3:], arm) for i, arm in ((found.b, active.arm_b), (found.a, active.arm_a))]
    slip = np.einsum("nij,nj->ni", frame[:, 1:], parts[0] - parts[1]) + active.bias[:, 1:]
    if dim == 2:
        slip[:, 1] = 0.0
    speed = np.abs(active.before).sum(axis=1) + engine.options.dt * np.linalg.norm(engine.options.gravity)
    struck = active.impact & ~engine.book.loaded[active.contact]
    struck &= -active.before[:, 0] > engine.options.tol * engine.book.numbers[LAST_SPEED]
    words = []
    for i in range(len(active)):
        word = notes.SLIP if np.linalg.norm(slip[i]) > 1e-8 * speed[i] else notes.STICK
        word = word if active.mu[i] > 0.0 else notes.CLOSED
        words.append(_WORDS[notes.IMPACT if struck[i] else word])
    centre = np.where((bodies.kind[found.a] == 2)[:, None], bodies.mid[found.a, :3], bodies.mid[found.b, :3])
    return ContactTable(
        {
            "body": names[found.a],
            "other": names[found.b],
            "point": np.asarray(centre + found.point),
            "normal": np.asarray(normal),
            "gap": np.asarray(found.gap, float),
            "normal_impulse": np.asarray(r[:, 0]),
            "tangential_impulse": np.asarray(force - r[:, :1] * normal),
            "force": np.asarray(force / engine.options.dt),
            "state": np.array(words, dtype=str),
        }
    )
