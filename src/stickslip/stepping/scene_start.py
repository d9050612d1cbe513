"""Bodies that overlap at the start: reported with pair and depth, or moved apart on request."""

from __future__ import annotations

import numpy as np

from stickslip.kernels.scene import step
from stickslip.stepping.scene_engine import SceneEngine

ROUNDS = 2000


def check_start(engine: SceneEngine, t0: float, overlap: str, tolerance: float) -> None:
    """Raise ValueError for bodies that overlap by more than `tolerance` [m], or move them apart (overlap = "resolve").

    Moving apart: each penetrating pair in turn is moved along its normal by its depth, shared by inverse masses.
    """
    if tolerance < 0.0:
        raise ValueError(f"penetration_tol must not be negative [m], got {tolerance:g}.")
    if overlap == "keep":
        return
    for _ in range(ROUNDS if overlap == "resolve" else 1):
        points = _points(engine, t0)
        contacts = engine.contacts[0]
        deep = np.flatnonzero(contacts.gap[:points] < -tolerance)
        if not len(deep):
            break
        if overlap == "raise":
            _report(engine, deep[np.argmin(contacts.gap[deep])], tolerance)
        bodies, done = engine.bodies, set()
        for c in deep[np.argsort(contacts.gap[deep], kind="stable")]:
            a, b = int(contacts.a[c]), int(contacts.b[c])
            if (a, b) in done:
                continue
            done.add((a, b))
            share = bodies.inv_mass[a] + bodies.inv_mass[b]
            move = -(contacts.gap[c] - 0.1 * tolerance) * contacts.normal[c] / share
            bodies.pose[a, :3] -= bodies.inv_mass[a] * move
            bodies.pose[b, :3] += bodies.inv_mass[b] * move
    else:
        points = _points(engine, t0)
        gap = engine.contacts[0].gap[:points]
        if np.any(gap < -tolerance):
            _report(engine, int(np.argmin(gap)), tolerance)


def _points(engine: SceneEngine, t0: float) -> int:
    """Contact points of the start, as if no time passed."""
    moving = engine.bodies.vel.copy()
    engine.bodies.vel[:] = 0.0
    still = engine.options._replace(dt=1e-12, gravity=np.zeros(3))
    while not step.prepare(
        engine.bodies, engine.geoms, engine.materials, engine.hulls, engine.polygons, engine.fields, engine.joints,
        engine.springs, still, engine.narrow, engine.ignore, engine.candidates, engine.contacts[0], engine.pairs[0],
        engine.contacts[1], engine.pairs[1], engine.active, engine.order, engine.rows, engine.begins, engine.row_begins,
        engine.parent, engine.label, engine.wrench, engine.residuals, engine.counts, t0, None, 0,
    ):  # fmt: skip
        engine._grow(2 * engine.contacts_room)
    engine.bodies.vel[:] = moving
    points = int(engine.counts[step.POINTS])
    engine.counts[:] = 0
    if engine.joints is not None:
        engine.joints.row.impulse[:] = 0.0
    return points


def _report(engine: SceneEngine, c: int, tolerance: float) -> None:
    contacts, bodies = engine.contacts[0], engine.scene.bodies
    a, b = bodies[int(contacts.a[c])].name, bodies[int(contacts.b[c])].name
    raise ValueError(
        f"bodies {a!r} and {b!r} overlap by {-contacts.gap[c]:.3g} m at the start, more than penetration_tol = "
        f"{tolerance:g} m; move them, or use overlap='resolve' (or ignore)."
    )
