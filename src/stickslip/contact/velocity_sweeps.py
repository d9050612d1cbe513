"""Gauss-Seidel on the velocities of the bodies, with momentum: contacts one after the other, each solved exactly."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stickslip.contact.blocks import invert_2, invert_3
from stickslip.contact.one_contact import change_3d, one_contact_2d
from stickslip.contact.velocity_problem import (
    Motion,
    VelocityProblem,
    apply_frame,
    body_velocities,
    relative_velocity,
    world_vector,
)
from stickslip.jit import kernel

RISE, MOST = 0.1, 0.9  # momentum grows by RISE with each sweep, up to MOST
BURST = 1.2  # a change that grows by this factor from sweep to sweep ends the momentum


class Local(NamedTuple):
    """The block of W of each contact, and its inverse; shape (n, dim, dim)."""

    D: np.ndarray
    S: np.ndarray


@kernel
def push(problem: VelocityProblem, i: int, d: np.ndarray, v: np.ndarray) -> None:
    """Add M^-1 J^T of impulse d at contact i to the velocities."""
    x, y, z = world_vector(problem.frame[i], d)
    for body, sign, p in (
        (problem.a[i], -1.0, problem.arm_a[i]),
        (problem.b[i], 1.0, problem.arm_b[i]),
    ):
        if body >= 0:
            w, m = v[body], sign * problem.inv_mass[body]
            w[0] += m * x
            w[1] += m * y
            w[2] += m * z
            e, f, g = apply_frame(
                problem.inv_inertia[body], p[1] * z - p[2] * y, p[2] * x - p[0] * z, p[0] * y - p[1] * x
            )
            w[3] += sign * e
            w[4] += sign * f
            w[5] += sign * g


@kernel(apart=True)
def local_blocks(problem: VelocityProblem, dim: int) -> Any:
    """The blocks of all contacts."""
    n, m = problem.a.shape[0], problem.mass.shape[0]
    D, S, d, v = np.empty((n, dim, dim)), np.empty((n, dim, dim)), np.empty(3), np.zeros((m, 6))
    for i in range(n):
        for k in range(dim):
            d[0], d[1], d[2] = 0.0, 0.0, 0.0
            d[k] = 1.0
            for body in (problem.a[i], problem.b[i]):
                if body >= 0:
                    for j in range(6):
                        v[body, j] = 0.0
            push(problem, i, d, v)
            x, y, z = relative_velocity(problem, i, v)
            D[i, 0, k], D[i, 1, k] = x, y
            if dim == 3:
                D[i, 2, k] = z
        if dim == 3:
            invert_3(D[i], S[i])
        else:
            invert_2(D[i], S[i])
    return Local(D, S)


@kernel
def sweep(problem: VelocityProblem, local: Local, motion: Motion, before: np.ndarray, beta: float, dim: int) -> float:
    """Solve contacts one after the other, from y = r + beta (r - before); returns the sum of size |r - y|^2 [J].

    The velocities belong to y on entry and to the new impulses on return.
    """
    total, d = 0.0, np.zeros(3)
    for i in range(motion.r.shape[0]):
        r, b, D, S = motion.r[i], before[i], local.D[i], local.S[i]
        x, y, z = relative_velocity(problem, i, motion.v)
        u0, u1, u2 = x + problem.bias[i, 0], y + problem.bias[i, 1], z + problem.bias[i, 2]
        y0, y1, y2 = r[0] + beta * (r[0] - b[0]), r[1] + beta * (r[1] - b[1]), r[2] + beta * (r[2] - b[2])
        b[0], b[1], b[2] = r[0], r[1], r[2]
        if dim == 3:
            r[0], r[1], r[2] = change_3d(D, S, u0, u1, u2, y0, y1, y2, problem.mu[i], b[1], b[2])
        else:
            q0, q1 = u0 - D[0, 0] * y0 - D[0, 1] * y1, u1 - D[1, 0] * y0 - D[1, 1] * y1
            r[0], r[1] = one_contact_2d(D, S, q0, q1, problem.mu[i])
        d[0], d[1], d[2] = r[0] - y0, r[1] - y1, r[2] - y2
        change = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
        if change > 0.0:
            push(problem, i, d, motion.v)
            total += problem.size[i] * change
    return total


@kernel(apart=True)
def momentum_sweeps(problem: VelocityProblem, local: Local, motion: Motion, count: int, dim: int) -> None:
    """Sweeps from the impulses of a motion."""
    body_velocities(problem, motion.r, motion.v)
    before, earlier, beta, last = motion.r.copy(), motion.v.copy(), 0.0, np.inf
    for _ in range(count):
        for j in range(earlier.shape[0]):
            for k in range(6):
                v = motion.v[j, k]
                motion.v[j, k] = v + beta * (v - earlier[j, k])
                earlier[j, k] = v
        change = sweep(problem, local, motion, before, beta, dim)
        beta = 0.0 if change > BURST * BURST * last else min(MOST, beta + RISE)
        last = change
