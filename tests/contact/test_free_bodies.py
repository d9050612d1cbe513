"""Contact problems of free bodies, with their velocities as unknowns: matrices, Newton, interior point, ladder."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.contact.pool import pool_of
from stickslip.contact.tree_blocks import assemble_tree, factor_matrix, solve_matrix
from stickslip.contact.tree_interior import interior_tree
from stickslip.contact.tree_ladder import solve_free_laws
from stickslip.contact.tree_newton import measure_tree, newton_tree, plain_rules, tree_room
from stickslip.contact.tree_plan import find_plan
from stickslip.contact.tree_problem import TreeProblem, VelocityProblem, tree_motion_room
from stickslip.jit import entry, kernel
from stickslip.scenes import engine as scene_engine
from stickslip.scenes.islands.free_bodies import row_room


def cross_matrix(p):
    return np.array([[0.0, -p[2], p[1]], [p[2], 0.0, -p[0]], [-p[1], p[0], 0.0]])


def dense(problem):
    """M and J of a problem as full matrices, row by row from their definitions."""
    n, m = len(problem.mu), len(problem.mass)
    M, J = np.zeros((6 * m, 6 * m)), np.zeros((3 * n, 6 * m))
    for j in range(m):
        M[6 * j : 6 * j + 3, 6 * j : 6 * j + 3] = problem.mass[j] * np.eye(3)
        M[6 * j + 3 : 6 * j + 6, 6 * j + 3 : 6 * j + 6] = problem.inertia[j].reshape(3, 3)
    for i in range(n):
        F = problem.frame[i].reshape(3, 3)
        for body, sign, arm in ((problem.a[i], -1.0, problem.arm_a[i]), (problem.b[i], 1.0, problem.arm_b[i])):
            if body >= 0:
                J[3 * i : 3 * i + 3, 6 * body : 6 * body + 6] += sign * F @ np.hstack([np.eye(3), -cross_matrix(arm)])
    return M, J


def pile(seed, m=5, extra=4):
    """m bodies on one another and on a floor, points on their faces, pressed together and pushed about."""
    rng = np.random.default_rng(seed)
    pairs = [(j - 1, j) for j in range(m) for _ in range(3)]
    pairs += [tuple(rng.choice(m, 2, replace=False)) for _ in range(extra)]
    n = len(pairs)
    frames = np.empty((n, 9))
    for i in range(n):
        normal = np.array([0.0, 0.0, 1.0]) + 0.3 * rng.normal(size=3)
        normal /= np.linalg.norm(normal)
        side = np.cross(normal, [1.0, 0.0, 0.0])
        side /= np.linalg.norm(side)
        frames[i] = np.concatenate([normal, side, np.cross(normal, side)])
    roots = rng.normal(size=(m, 3, 3))
    inertia = 0.1 * np.eye(3) + 0.05 * roots @ roots.transpose(0, 2, 1)
    inverse = np.linalg.inv(inertia)
    mass, free = rng.uniform(0.5, 2.0, m), rng.normal(size=(m, 6)) - [0, 0, 2.0, 0, 0, 0]
    problem = VelocityProblem(
        np.array([a for a, _ in pairs]), np.array([b for _, b in pairs]), frames, rng.uniform(-0.5, 0.5, (n, 3)),
        rng.uniform(-0.5, 0.5, (n, 3)), np.zeros((n, 3)), rng.uniform(0.1, 0.8, n), np.ones(n), mass,
        inertia.reshape(m, 9), 1.0 / mass, inverse.reshape(m, 9), free,
    )  # fmt: skip
    M, J = dense(problem)
    W = J @ np.linalg.solve(M, J.T)
    problem.size[:] = [np.trace(W[3 * i : 3 * i + 3, 3 * i : 3 * i + 3]) / 3.0 for i in range(n)]
    return problem


def violation(problem, r):
    """Largest violation of Signorini's and Coulomb's laws [m/s], from their definitions, impulses in their cones."""
    M, J = dense(problem)
    v = problem.free.ravel() + np.linalg.solve(M, J.T @ r.ravel())
    u, mobility = (J @ v).reshape(-1, 3) + problem.bias, problem.size
    friction, limit = np.linalg.norm(r[:, 1:], axis=1), problem.mu * r[:, 0]
    slip = np.linalg.norm(u[:, 1:], axis=1)
    against = slip * friction + np.einsum("ij,ij->i", u[:, 1:], r[:, 1:])  # 0 where slip is against friction
    largest = max(1.0, float(r[:, 0].max()))
    return max(
        float(np.max(-u[:, 0])),
        float(np.max(-r[:, 0] * mobility)),
        float(np.max(np.minimum(r[:, 0] * mobility, np.abs(u[:, 0])))),
        float(np.max((friction - limit) * mobility)),
        float(np.max(np.minimum((limit - friction) * mobility, slip))),
        float(np.max(np.where(slip > 1e-6, against, 0.0))) / largest,
    )


@kernel
def whole(problem, pool):
    """The problem without joints and rows, its plan, and room for it."""
    m = problem.mass.shape[0]
    free = TreeProblem(problem, problem.size, row_room(pool, 0), None)
    plan, pairs = find_plan(problem, free.rows, np.full(m, -1, np.int64), pool)
    return free, plan, tree_room(free, np.empty((pairs, 36)), pool)


@entry
def solved_by_blocks(problem, K, wrench):
    n, m = K.shape[0], wrench.shape[0]
    pool = pool_of(62 * n + 110 * m, 3 * n + 9 * m + 2, n + m)
    free, plan, room = whole(problem, pool)
    x = np.empty(wrench.shape)
    assemble_tree(free, plan, K, np.ones(n, np.bool_), np.empty(0), room.parts)
    factor_matrix(free, plan, room.parts)
    solve_matrix(free, plan, room.parts, wrench.copy(), x)
    return x


@entry
def by_ladder(problem, r, tol):
    n, m = r.shape[0], problem.mass.shape[0]
    pool = pool_of(62 * n + 110 * m, 3 * n + 9 * m + 2, n + m)
    free, plan, room = whole(problem, pool)
    motion = tree_motion_room(n, 0, m)
    motion.contacts.r[:] = r
    error, stage = solve_free_laws(free, plan, motion, room, tol, 1.0, 3, False)
    return motion.contacts.r.copy(), error, stage


@entry
def by_parts(problem, r, kind):
    """Impulses after the interior point method alone (1) or Newton alone (2), and their error."""
    n, m = r.shape[0], problem.mass.shape[0]
    pool = pool_of(62 * n + 110 * m, 3 * n + 9 * m + 2, n + m)
    free, plan, room = whole(problem, pool)
    motion = tree_motion_room(n, 0, m)
    motion.contacts.r[:] = r
    rules = plain_rules(3, 1e-9, 60, 0.0, 0.0) if kind == 1 else plain_rules(3, 1e-12, 60, 1e-4, 0.0)
    if kind == 1:
        interior_tree(free, plan, plan, motion, rules, room, 1.0, 1.0)
    else:
        newton_tree(free, plan, plan, motion, rules, room, 0.0)
    return motion.contacts.r.copy(), measure_tree(free, plan, motion, rules, room, False)


@pytest.mark.parametrize("seed", range(3))
def test_blocks_solve_the_full_system(seed):
    problem, rng = pile(seed, m=9, extra=12), np.random.default_rng(seed)
    K = rng.normal(size=(len(problem.mu), 3, 3)) + 3.0 * np.eye(3)  # no symmetry, as contacts that slip have it
    M, J = dense(problem)
    A = M + sum(J[3 * i : 3 * i + 3].T @ K[i] @ J[3 * i : 3 * i + 3] for i in range(len(K)))
    wrench = rng.normal(size=problem.free.shape)
    x = solved_by_blocks(problem, K.reshape(-1, 9).copy(), wrench)
    assert x.ravel() == pytest.approx(np.linalg.solve(A, wrench.ravel()), rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("seed", range(20))
def test_ladder_finds_impulses_that_obey_the_laws(seed):
    problem = pile(seed)
    r, error, _ = by_ladder(problem, np.zeros((len(problem.mu), 3)), 1e-10)
    assert error <= 1e-10 and violation(problem, r) <= 1e-8
    again, _, stage = by_ladder(problem, r, 1e-10)
    assert stage == 1 and again == pytest.approx(r, abs=1e-9)  # what is solved stays


def test_each_method_alone_gets_near():
    found = {kind: 0 for kind in (1, 2)}
    for seed in range(10):
        problem = pile(seed)
        for kind, enough in ((1, 2e-4), (2, 1e-9)):
            r, error = by_parts(problem, np.zeros((len(problem.mu), 3)), kind)
            assert np.all(np.isfinite(r))
            if error <= enough:
                found[kind] += 1
                assert violation(problem, r) <= 100 * enough
    assert min(found.values()) >= 6, found


def test_four_feet_carry_alike_at_first_touch():
    """A plate on four points, pressed down: W is singular, and all four carry a quarter."""
    arms = np.array([[x, y, -0.1] for x in (-0.5, 0.5) for y in (-0.5, 0.5)])
    frame = np.tile([0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0], (4, 1))
    none, inertia = np.zeros((4, 3)), np.diag([0.3, 0.3, 0.5]).reshape(1, 9)
    problem = VelocityProblem(
        np.full(4, -1), np.zeros(4, int), frame, none, arms, none, np.full(4, 0.5), np.full(4, 2.0), np.array([2.0]),
        inertia, np.array([0.5]), np.linalg.inv(inertia.reshape(3, 3)).reshape(1, 9),
        np.array([[0.0, 0.0, -1.0, 0.0, 0.0, 0.0]]),
    )  # fmt: skip
    r, error, _ = by_ladder(problem, np.zeros((4, 3)), 1e-12)
    assert error <= 1e-12 and r[:, 0] == pytest.approx(np.full(4, 0.5), rel=1e-6)


def tossed():
    scene, turn = ss.Scene(dim=3), np.array([1.0, 0.2, 0.3, 0.1])
    scene.add_static(ss.HalfSpace((0, 0, 1)))
    scene.add_body(
        ss.Box((0.1, 0.1, 0.1)), mass=1.0, position=(0, 0, 0.3), orientation=turn / np.linalg.norm(turn),
        velocity=(0.5, 0, 0), angular_velocity=(3, 5, 1), friction=0.3, restitution=0.3,
    )  # fmt: skip
    return scene


def test_a_tumbling_cube_needs_no_host(monkeypatch):
    """All steps of a toss are solved inside the time loop; by the host it moves alike."""

    def called(self, state, block):
        raise AssertionError("the time loop asked for help")

    with monkeypatch.context() as patch:
        patch.setattr(scene_engine.SceneEngine, "_rescue", called)
        run = tossed().simulate(dt=1e-3, t_end=1.0, tol=1e-8)
    assert run.certificate.failed_steps == 0 and run.certificate.max_residual <= 1e-8 and run.q[-1, 2] < 0.051
    monkeypatch.setattr(scene_engine, "NEWTON_CONTACTS", 0)
    other = tossed().simulate(dt=1e-3, t_end=0.3, tol=1e-8)
    assert np.ptp(other.u[:, 2]) > 1.0
    assert run.q[:301] == pytest.approx(other.q, abs=1e-6)
