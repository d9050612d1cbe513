"""Random friction problems of known kind, for tests and benchmarks: bodies, contacts between them, one time step.

Every problem is M v = H r + f, u = H^T v, so W = H^T M^-1 H and q = H^T M^-1 f as a running simulation would have them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from stickslip.contact.problem import FrictionProblem

GRAVITY, TIME_STEP = 9.81, 1e-3
GROUND = -1


def contact_directions(
    centres: np.ndarray, a: np.ndarray, b: np.ndarray, points: np.ndarray, normals: np.ndarray
) -> sp.csc_matrix:
    """H of contacts between bodies a and b (GROUND for a fixed one), normals pointing from b to a.

    centres (bodies, d), points and normals (n, d), d = 2 or 3.  A body has d velocities and 1 or 3 angular velocities;
    column d i + 0 is the normal direction of contact i, then the tangential ones.
    """
    n, d = points.shape
    frame = _frames(normals)
    turns = 1 if d == 2 else 3
    width = d + turns
    rows, columns, values = [], [], []
    for bodies, sign in ((a, 1.0), (b, -1.0)):
        there = np.flatnonzero(bodies != GROUND)
        arm = points[there] - centres[bodies[there]]
        for k in range(d):
            t = frame[there, k]
            moment = _cross(arm, t)
            block = sign * np.hstack([t, moment])
            rows.append((width * bodies[there][:, None] + np.arange(width)).ravel())
            columns.append(np.repeat(d * there + k, width))
            values.append(block.ravel())
    shape = (width * len(centres), d * n)
    return sp.csc_matrix((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=shape)


def _cross(arm: np.ndarray, t: np.ndarray) -> np.ndarray:
    if arm.shape[1] == 2:
        return (arm[:, 0] * t[:, 1] - arm[:, 1] * t[:, 0])[:, None]
    return np.cross(arm, t)


def _frames(normals: np.ndarray) -> np.ndarray:
    """Orthonormal frames (n, d, d), the normal first."""
    if normals.shape[1] == 2:
        return np.stack([normals, np.stack([-normals[:, 1], normals[:, 0]], axis=1)], axis=1)
    helper = np.eye(3)[np.argmin(np.abs(normals), axis=1)]
    t1 = np.cross(normals, helper)
    t1 /= np.linalg.norm(t1, axis=1, keepdims=True)
    return np.stack([normals, t1, np.cross(normals, t1)], axis=1)


def _problem(
    centres: np.ndarray,
    mass: np.ndarray,
    inertia: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
    points: np.ndarray,
    normals: np.ndarray,
    mu: np.ndarray,
    shake: float,
    rng: np.random.Generator,
) -> FrictionProblem:
    """One step from velocities of size `shake` [m/s] under gravity along the last axis."""
    d = centres.shape[1]
    turns = 1 if d == 2 else 3
    M = np.concatenate([np.repeat(mass[:, None], d, axis=1), np.repeat(inertia[:, None], turns, axis=1)], axis=1)
    v = shake * rng.standard_normal(M.shape)
    v[:, d - 1] -= GRAVITY * TIME_STEP
    H = contact_directions(centres, a, b, points, normals)
    return FrictionProblem.from_dynamics(sp.diags(M.ravel()), H, (M * v).ravel(), np.zeros(H.shape[1]), mu, d)


def granular(contacts: int, rng: np.random.Generator, dim: int = 3, mass_ratio: float = 1.0) -> FrictionProblem:
    """Balls on a shaken lattice, some of its bonds open, resting on a floor; masses differ by up to `mass_ratio`."""
    side = max(2, int(np.ceil((contacts / dim) ** (1.0 / dim) * 1.15)))
    grid = np.stack(np.meshgrid(*[np.arange(side)] * dim, indexing="ij"), axis=-1).reshape(-1, dim)
    centres = grid + rng.uniform(-0.15, 0.15, grid.shape)
    number = np.arange(len(grid)).reshape((side,) * dim)
    a, b = [], []
    for axis in range(dim):
        a.append(np.delete(number, 0, axis=axis).ravel())
        b.append(np.delete(number, -1, axis=axis).ravel())
    floor = np.take(number, 0, axis=dim - 1).ravel()
    a.append(floor)
    b.append(np.full(len(floor), GROUND))
    first, second = np.concatenate(a), np.concatenate(b)
    chosen = np.sort(rng.choice(len(first), min(contacts, len(first)), replace=False))
    first, second = first[chosen], second[chosen]
    down = np.zeros(dim)
    down[-1] = -0.5
    below = np.where((second == GROUND)[:, None], centres[first] + down, centres[np.maximum(second, 0)])
    gap = centres[first] - below
    normals = gap / np.linalg.norm(gap, axis=1, keepdims=True)
    points = np.where((second == GROUND)[:, None], below, 0.5 * (centres[first] + below))
    mass = mass_ratio ** rng.uniform(0.0, 1.0, len(grid)) if mass_ratio > 1.0 else rng.uniform(0.5, 2.0, len(grid))
    return _problem(centres, mass, 0.1 * mass, first, second, points, normals, _friction(len(first), rng), 1e-3, rng)


def stack(
    contacts: int, rng: np.random.Generator, dim: int = 3, mass_ratio: float = 1.0, copies: int = 1
) -> FrictionProblem:
    """Boxes on top of one another, a contact at every corner: hyperstatic.  `copies` repeats each contact nearby."""
    corners = 2 ** (dim - 1)
    levels = max(1, int(np.ceil(contacts / (corners * copies))))
    centres = np.zeros((levels, dim))
    centres[:, -1] = np.arange(levels) + 0.5
    centres[:, :-1] += rng.uniform(-0.05, 0.05, (levels, dim - 1))
    signs = np.stack(np.meshgrid(*[[-0.5, 0.5]] * (dim - 1), indexing="ij"), axis=-1).reshape(-1, dim - 1)
    upper = np.repeat(np.arange(levels), corners * copies)[:contacts]
    offsets = np.tile(np.repeat(signs, copies, axis=0), (levels, 1))[:contacts]
    points = np.zeros((contacts, dim))
    points[:, :-1] = centres[upper, :-1] + offsets + (copies > 1) * rng.uniform(-0.01, 0.01, offsets.shape)
    points[:, -1] = upper
    normals = np.zeros((contacts, dim))
    normals[:, -1] = 1.0
    mass = mass_ratio ** (np.arange(levels) / max(1, levels - 1))
    return _problem(centres, mass, mass / 6.0, upper, upper - 1, points, normals, _friction(contacts, rng), 1e-3, rng)


def crowded(contacts: int, rng: np.random.Generator, dim: int = 3) -> FrictionProblem:
    """Few bodies with many contacts each, all over a cap: W has rank at most 6 (plane: 3) times the bodies."""
    bodies = int(rng.integers(1, 4))
    owner = rng.integers(0, bodies, contacts)
    normals = rng.standard_normal((contacts, dim))
    normals[:, -1] = np.abs(normals[:, -1]) + 0.3
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    centres = 3.0 * np.arange(bodies)[:, None] * np.eye(dim)[0]
    points = (
        centres[owner] - normals * rng.uniform(0.3, 1.0, (contacts, 1)) + 0.2 * rng.standard_normal((contacts, dim))
    )
    mass = 10.0 ** rng.uniform(-1.0, 1.0, bodies)
    ground = np.full(contacts, GROUND)
    return _problem(centres, mass, 0.2 * mass, owner, ground, points, normals, _friction(contacts, rng), 1e-1, rng)


def rod(contacts: int, rng: np.random.Generator, dim: int = 3) -> FrictionProblem:
    """Slender rods that strike the ground with their tips, far from their centres: friction and normal couple strongly.

    mu |W_NT| > W_NN for many of them (Painleve), each alone or in groups of up to four contacts of one rod.
    """
    bodies = max(1, int(np.ceil(contacts / rng.integers(1, 5))))
    owner = np.sort(rng.integers(0, bodies, contacts))
    angle = rng.uniform(0.2, 1.4, contacts)
    turn = rng.uniform(0.0, 2.0 * np.pi, contacts)
    arm = np.zeros((contacts, dim))
    arm[:, 0] = np.cos(angle) * (np.cos(turn) if dim == 3 else np.sign(np.cos(turn)))
    if dim == 3:
        arm[:, 1] = np.cos(angle) * np.sin(turn)
    arm[:, -1] = -np.sin(angle)
    centres = 5.0 * np.arange(bodies)[:, None] * np.eye(dim)[0]
    normals = np.zeros((contacts, dim))
    normals[:, -1] = 1.0
    mass = np.ones(bodies)
    ground = np.full(contacts, GROUND)
    return _problem(
        centres, mass, mass / 12.0, owner, ground, centres[owner] + arm, normals, _friction(contacts, rng), 1.0, rng
    )


def _friction(contacts: int, rng: np.random.Generator) -> np.ndarray:
    """Coefficients from 0 to 2: one number for all contacts, or a number each; zero at a tenth of the contacts."""
    mu = np.full(contacts, rng.uniform(0.0, 2.0)) if rng.random() < 0.5 else rng.uniform(0.0, 2.0, contacts)
    return np.where(rng.random(contacts) < 0.1, 0.0, mu)


KINDS: dict[str, Callable[[int, np.random.Generator, int], FrictionProblem]] = {
    "granular": granular,
    "stack": stack,
    "redundant": lambda n, rng, dim: stack(n, rng, dim, copies=3),
    "mass ratio 1e6": lambda n, rng, dim: (granular if rng.random() < 0.5 else stack)(n, rng, dim, mass_ratio=1e6),
    "rank deficient": crowded,
    "Painlevé": rod,
}


def random_friction_problem(kind: str, contacts: int, rng: np.random.Generator, dim: int = 3) -> FrictionProblem:
    """A problem of one of `KINDS` with about `contacts` contacts, dim 2 or 3."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}.")
    return KINDS[kind](contacts, rng, dim)
