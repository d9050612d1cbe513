"""What the certificate takes for rounding is rounding: rows of joints, held against extended precision."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.engine import Block
from stickslip.run.scene_simulate import prepare_run
from stickslip.scenes import step
from stickslip.scenes.islands import trees
from stickslip.scenes.islands.island import LOAD_ROUNDING

EXACT = np.longdouble


def chain(links, ratio, away=0.0, inertia=None):
    """Links of 0.1 m on ball joints, from the wall at x = away [m]; the last one has `ratio` times the mass."""
    scene, before = ss.Scene(), None
    given = {} if inertia is None else {"inertia": (inertia,) * 3}
    for k in range(links):
        mass = ratio if k == links - 1 else 1.0
        place = (away + 0.1 * k + 0.05, 0, 0)
        link = scene.add_body(ss.Box((0.08, 0.02, 0.03)), mass=mass, position=place, **given)
        scene.add_spherical(before, link, at=(away + 0.1 * k, 0, 0))
        before = link
    return scene


def violations(scene, dt, steps):
    """Of each step: largest violation of a joint row, computed exactly from the impulses, largest pull, speed [m/s]."""
    run = prepare_run(scene, dt, steps * dt)
    engine, found = run.engine, []
    block = Block.room(1, 10, run.state.sizes, columns=run.first_impacts.shape[1])
    for _ in range(steps):
        assert engine.march(run.state, 1, block) == step.DONE
        assert engine.book.numbers[step.MAX_RESIDUAL] <= 1e-10
        row, bodies = engine.joints.row, engine.bodies
        used = np.flatnonzero(row.used)
        J, x = engine.joint_matrix(used).astype(EXACT), row.impulse[used].astype(EXACT)
        turned = np.einsum("bij,rbj->rbi", bodies.inv_inertia.reshape(-1, 3, 3).astype(EXACT), J[:, :, 3:])
        answer = np.concatenate([bodies.inv_mass[:, None].astype(EXACT) * J[:, :, :3], turned], axis=2)
        v = bodies.free.astype(EXACT) + np.einsum("rbk,r->bk", answer, x)
        w = np.einsum("rbk,bk->r", J, v) - row.target[used]
        pull = np.abs(np.einsum("rbk,rbk->r", J, answer) * x).max()
        found.append((np.abs(w).max(), pull, np.abs(bodies.free[:, :3]).max()))
    return np.array(found, float).T


@pytest.mark.parametrize(
    ("links", "ratio", "away", "inertia"),
    [(1, 1.0, 0.0, 1e-9), (2, 1e9, 1e5, None), (20, 1e6, 1e3, None), (20, 1e-6, 0.0, None)],
)
def test_joint_rows_are_solved_to_the_rounding_of_their_pulls_or_far_below_the_tolerance(links, ratio, away, inertia):
    wrong, pull, speed = violations(chain(links, ratio, away, inertia), 1e-4, 20)
    assert np.all(wrong <= np.maximum(LOAD_ROUNDING * pull, 1e-10 * trees.EXACT * speed))
