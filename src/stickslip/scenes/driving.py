"""Drives of a scene from outside: bodies that follow a function of time, and forces that are functions.

They are evaluated in Python, before the kernel does the steps that need them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stickslip.scenes.checks import called, motion_at, turning, vector

if TYPE_CHECKING:
    from stickslip.scenes.engine import SceneEngine, SceneState


def start_driven(engine: SceneEngine, t0: float) -> None:
    """Give the driven bodies that follow a function their velocities at t0."""
    dim = engine.scene.dim
    for body in engine.driven:
        if body.motion is not None:
            v = engine.bodies.vel[body.number]
            v[:dim], v[3 if dim == 3 else 5 :] = motion_at(body.motion, t0, body.name, dim)


def driven_velocities(engine: SceneEngine, state: SceneState, n: int) -> np.ndarray | None:
    """Velocities of the driven bodies at the ends of the next n steps, (n, bodies, 6)."""
    if not any(body.motion is not None for body in engine.driven):
        return None
    table = np.zeros((n, len(engine.driven), 6))
    dim = engine.scene.dim
    for d, body in enumerate(engine.driven):
        table[:, d, :3], table[:, d, 3:] = body.velocity, body.angular_velocity
        if body.motion is not None:
            for k in range(n):
                t = state.t0 + (state.step + k + 1.0) * engine.options.dt
                table[k, d, :dim], table[k, d, 3 if dim == 3 else 5 :] = motion_at(body.motion, t, body.name, dim)
    return table


def apply_functions(engine: SceneEngine, state: SceneState) -> None:
    """Evaluate forces that are functions, at the midpoint of the step, with the velocities before, as springs are.

    With the place before the step an oscillator loses or gains what is of first order in dt.
    """
    if not engine.called:
        return
    dim, half = engine.scene.dim, (1.0 - engine.options.theta) * engine.options.dt
    t = state.t + half
    wrench = engine.bodies.wrench
    wrench[:] = engine.constant + engine.pushes
    for force in engine.called:
        i = force.body
        v = engine.bodies.vel[i, :dim].copy()
        x = engine.bodies.pose[i, :dim] + half * v
        where = f"on {engine.scene.bodies[i].name!r} at t = {state.t:g} s"
        if callable(force.force):
            name = f"force {where}"
            wrench[i, :dim] += vector(called(force.force, (t, x, v), name), name, dim)
        if callable(force.torque):
            name = f"torque {where}"
            wrench[i, 3 if dim == 3 else 5 :] += turning(called(force.torque, (t, x, v), name), name, dim)
