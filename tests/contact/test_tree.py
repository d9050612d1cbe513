"""Bodies on trees of joints: factors along the tree against full matrices, mobilities against inverses."""

import numpy as np
import pytest

from stickslip.contact.pool import pool_of
from stickslip.contact.tree_blocks import assemble_tree, factor_tree, mobilities, parts_room, solve_tree
from stickslip.contact.tree_plan import find_plan
from stickslip.contact.tree_problem import OUTSIDE, Rows, Tree, TreeProblem, VelocityProblem, add_all


def random_tree(rng, m, contacts, rows):
    """m bodies, parents before children, on joints with 0 to 6 rates; contacts and rows between any two or none."""
    parent = np.array([rng.integers(-1, i) if i else OUTSIDE for i in range(m)])
    freedom = np.where(parent < 0, 6, rng.integers(0, 4, m))
    S = rng.normal(size=(m, 36))
    S[parent < 0] = np.roll(np.eye(6), 3, axis=1).ravel()  # turns, then shifts
    tree = Tree(parent, rng.normal(size=(m, 3)), freedom, S, np.zeros((m, 6)))
    pairs = np.array([rng.permutation(np.arange(-1, m))[:2] for _ in range(contacts + rows)]).reshape(-1, 2)
    spin = rng.normal(size=(m, 3, 3))
    inertia = np.einsum("bij,bkj->bik", spin, spin) + np.eye(3)
    mass = rng.uniform(0.5, 2.0, m)
    frames = np.array([np.linalg.qr(rng.normal(size=(3, 3)))[0].ravel() for _ in range(contacts)]).reshape(-1, 9)
    bodies = VelocityProblem(
        pairs[:contacts, 0], pairs[:contacts, 1], frames, *rng.normal(size=(2, contacts, 3)),
        np.zeros((contacts, 3)), np.full(contacts, 0.5), np.ones(contacts), mass, inertia.reshape(m, 9), 1.0 / mass,
        np.linalg.inv(inertia).reshape(m, 9), np.zeros((m, 6)),
    )  # fmt: skip
    ends = pairs[contacts:]
    one = np.ones(rows)
    k = Rows(
        ends[:, 0].copy(),
        ends[:, 1].copy(),
        rng.normal(size=(rows, 12)),
        0 * one,
        0 * one,
        -one,
        one,
        one,
        one,
        0 * one,
    )
    return TreeProblem(bodies, np.ones(contacts), k, tree)


def motions(tree):
    """T: velocities of all bodies from the rates, shape (6 m, rates)."""
    m = len(tree.parent)
    T = np.zeros((6 * m, int(tree.freedom.sum())))
    column = 0
    for i in range(m):
        if tree.parent[i] >= 0:
            X = np.eye(6)
            x, y, z = tree.arm[i]
            X[:3, 3:] = -np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
            p = tree.parent[i]
            T[6 * i : 6 * i + 6] = X @ T[6 * p : 6 * p + 6]
        d = tree.freedom[i]
        T[6 * i : 6 * i + 6, column : column + d] = tree.S[i].reshape(6, 6)[:d].T
        column += d
    return T


def directions(problem, m):
    """J^T of contacts and rows, shape (6 m, 3 n + k)."""
    n, k, found = len(problem.mobility), len(problem.rows.a), []
    for c in range(3 * n + k):
        r, z, wrench = np.zeros((n, 3)), np.zeros(k), np.zeros((m, 6))
        if c < 3 * n:
            r[c // 3, c % 3] = 1.0
        else:
            z[c - 3 * n] = 1.0
        add_all(problem, r, z, wrench)
        found.append(wrench.ravel())
    return np.array(found).T


@pytest.mark.parametrize("stiff", [1.0, 1e7])
@pytest.mark.parametrize("seed", range(4))
def test_factors_along_the_tree_are_those_of_the_full_matrix(seed, stiff):
    """stiff: rows of joints that close loops; factors with an inverse of D would lose all digits of the other rates."""
    rng = np.random.default_rng(seed)
    m, n, k = 6, 3, 3
    problem = random_tree(rng, m, n, k)
    K, row_K = rng.normal(size=(n, 9)) + 5.0 * np.eye(3).ravel(), stiff * rng.uniform(0.0, 10.0, k)
    pool = pool_of(222 * m, 26 * m, 2 * m)
    plan, pairs = find_plan(problem.contacts, problem.rows, problem.tree.parent, pool)
    parts = parts_room(pool, m, m, np.empty((pairs, 36)))
    assemble_tree(problem, plan, K, np.ones(n, bool), row_K, parts)
    assert factor_tree(problem.tree, plan, parts)
    f, v = rng.normal(size=(m, 6)), np.empty((m, 6))
    T, J = motions(problem.tree), directions(problem, m)
    M, full = np.zeros((6 * m, 6 * m)), np.zeros((3 * n + k, 3 * n + k))
    for i in range(m):
        M[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = problem.contacts.mass[i] * np.eye(3)
        M[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = problem.contacts.inertia[i].reshape(3, 3)
    for i in range(n):
        full[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] = K[i].reshape(3, 3)
    full[3 * n :, 3 * n :] = np.diag(row_K)
    expected = T @ np.linalg.solve(T.T @ (M + J @ full @ J.T) @ T, T.T @ f.ravel())
    solve_tree(problem.tree, plan, parts, f.copy(), v)
    assert v.ravel() == pytest.approx(expected, rel=1e-8, abs=(1e-8 if stiff == 1.0 else 1e-5) * np.abs(expected).max())


def test_mobilities_are_those_of_the_joined_bodies():
    rng = np.random.default_rng(7)
    m, k = 6, 8
    problem = random_tree(rng, m, 0, k)
    pool = pool_of(222 * m, 20 * m, 2 * m)
    plan, pairs = find_plan(problem.contacts, problem.rows, problem.tree.parent, pool)
    parts = parts_room(pool, m, m, np.empty((pairs, 36)))
    assemble_tree(problem, plan, np.empty((0, 9)), np.empty(0, bool), np.zeros(k), parts)
    assert factor_tree(problem.tree, plan, parts)
    T, J = motions(problem.tree), directions(problem, m)
    H = np.zeros((6 * m, 6 * m))
    for i in range(m):
        H[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = problem.contacts.mass[i] * np.eye(3)
        H[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = problem.contacts.inertia[i].reshape(3, 3)
    W = J.T @ T @ np.linalg.solve(T.T @ H @ T, T.T @ J)
    place = np.argsort(plan.order)
    for i in range(k):
        d, a, b = problem.rows.direction[i], problem.rows.a[i], problem.rows.b[i]
        found, on_b = np.empty(2), np.concatenate([d[:3] + d[9:], d[6:9]])
        mobilities(
            problem.tree, place, parts, a, b, np.array([-d[:6], -2.0 * d[:6]]), np.array([on_b, 2.0 * on_b]), found
        )
        assert found == pytest.approx([W[i, i], 4.0 * W[i, i]], rel=1e-9)


def plain_order(problem, m):
    """Bodies without children left, those with the fewest neighbours first, by a look at all of them each time."""
    near = {i: set() for i in range(m)}
    for ends in (problem.contacts, problem.rows):
        for a, b in zip(ends.a, ends.b, strict=True):
            if a >= 0 and b >= 0:
                near[a].add(b)
                near[b].add(a)
    order, left, parent = [], set(range(m)), problem.tree.parent
    while left:
        ready = [i for i in left if not any(parent[j] == i for j in left)]
        i = min(ready, key=lambda i: (len(near[i]), i))
        left.remove(i)
        order.append((i, set(near[i])))
        others = near[i] | ({parent[i]} if parent[i] >= 0 else set())
        for j in near[i]:
            near[j] = (near[j] | others) - {i, j}
            if parent[i] >= 0 and j != parent[i]:
                near[parent[i]].add(j)
    place = {i: k for k, (i, _) in enumerate(order)}
    return [(i, sorted(later, key=place.get)) for i, later in order]


@pytest.mark.parametrize("seed", range(3))
def test_the_plan_takes_the_body_with_the_fewest_neighbours(seed):
    rng = np.random.default_rng(seed)
    m = 30
    problem = random_tree(rng, m, 4 * seed, 6 * seed)
    plan, _ = find_plan(problem.contacts, problem.rows, problem.tree.parent, pool_of(0, 20 * m, 2 * m))
    found = [list(plan.later[plan.begins[k] : plan.begins[k + 1]]) for k in range(m)]
    assert list(zip(plan.order, found, strict=True)) == plain_order(problem, m)
