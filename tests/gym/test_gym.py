"""Environments: Gymnasium's own checks, one motion and many alike, bad actions, and a search that learns."""

import re
from pathlib import Path

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402

import stickslip.gym as sg  # noqa: E402
from stickslip.run.simulator import StepError  # noqa: E402

TASKS = (sg.Juggling, sg.SlopeWalker)
pytestmark = pytest.mark.filterwarnings("ignore:.*Box observation space.*")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Juggling", "SlopeWalker", "PushBox"])
def test_check_env_passes(name):
    check_env(gymnasium.make(f"stickslip/{name}-v0").unwrapped, skip_render_check=True)
    shown = gymnasium.make(f"stickslip/{name}-v0", render_mode="rgb_array")
    shown.reset(seed=1)
    image = shown.unwrapped.render()
    assert image.shape == (360, 480, 3) and image.std() > 1.0


def test_juggling_passes_check_env():
    check_env(sg.MechanismEnv(sg.Juggling()), skip_render_check=True)


@pytest.mark.parametrize("task", [TASKS[0], pytest.param(TASKS[1], marks=pytest.mark.slow)])
def test_members_of_a_vector_are_single_environments_bit_for_bit(task):
    many, one = sg.MechanismVectorEnv(task(), 5), sg.MechanismEnv(task())
    seen, _ = many.reset(seed=3)
    first, _ = one.reset(seed=0, options={"q": many.members.q[2], "u": many.members.u[2]})
    assert first.tolist() == seen[2].tolist()
    rng = np.random.default_rng(0)
    for _ in range(40):
        actions = rng.uniform(-0.3, 0.3, (5, 1))
        seen, reward, ended, cut, _ = many.step(actions)
        alone = one.step(actions[2])
        assert alone[0].tolist() == seen[2].tolist() and alone[1:4] == (reward[2], ended[2], cut[2])
        if ended[2]:
            return


@pytest.mark.parametrize("threads", [1, 2])
def test_members_of_a_vector_of_scenes_are_single_environments_bit_for_bit(threads):
    """Beside Gymnasium's own vector of single environments, through the end of an episode and the next one's start."""
    many = gymnasium.make_vec("stickslip/PushBox-v0", num_envs=3, threads=threads, horizon=4)
    plain = gymnasium.vector.SyncVectorEnv([lambda: sg.PushBox(horizon=4)] * 3)
    assert many.metadata["autoreset_mode"] == plain.metadata["autoreset_mode"]
    assert many.observation_space == plain.observation_space and many.action_space == plain.action_space
    first, other = many.reset(seed=3)[0], plain.reset(seed=3)[0]
    assert np.array_equal(first, other) and len(np.unique(first[:, 1])) == 3
    rng, cuts = np.random.default_rng(0), 0
    for _ in range(6):
        actions = rng.uniform([0.0, -0.1], [0.3, 0.1], (3, 2))
        found, wanted = many.step(actions), plain.step(actions)
        assert all(np.array_equal(a, b) for a, b in zip(found[:4], wanted[:4], strict=True)) and found[4] == {}
        cuts += int(found[3].sum())
    assert cuts == 3
    many.close()


def test_a_vector_of_scenes_refuses_bad_input_and_names_failed_members():
    box = sg.PushBox()
    with pytest.raises(ValueError, match="make must make a new SceneEnv at each call"):
        sg.SceneVectorEnv(lambda: box, 2)
    many = sg.SceneVectorEnv(sg.PushBox, 2)
    with pytest.raises(ValueError, match="seed must be a whole number or 2 of them, got 3"):
        many.reset(seed=[1, 2, 3])
    many.reset(seed=0)
    for actions, words in ((np.zeros(2), r"shape \(2, 2\)"), ([[0.1, 0.0], [np.nan, 0.0]], "action must be finite")):
        with pytest.raises(ValueError, match=words):
            many.step(actions)
    assert all(env.sim.t == 0.0 for env in many.envs)

    def stuck(n):
        raise StepError("no way on")

    many.envs[1].sim.step = stuck
    _, _, ended, _, info = many.step(np.full((2, 2), 0.1))
    assert ended.tolist() == [False, True] and info["failed"][1] == "no way on" and info["_failed"].tolist() == [0, 1]
    del many.envs[1].sim.step
    _, reward, ended, _, info = many.step(np.full((2, 2), 0.1))
    assert reward[1] == 0.0 and not ended.any() and info == {} and many.envs[1].sim.t == 0.0
    many.close()


def test_an_episode_that_is_over_begins_anew_at_the_next_step():
    task = sg.Juggling()
    task.horizon = 3
    env = sg.MechanismVectorEnv(task, 2)
    env.reset(seed=0)
    for _ in range(3):
        _, _, ended, cut, _ = env.step(np.zeros((2, 1)))
    assert cut.all() and not ended.any()
    seen, reward, ended, cut, _ = env.step(np.zeros((2, 1)))
    assert not reward.any() and not cut.any() and (seen[:, 2:4] == 0.0).all() and (env.members.steps == 0).all()


def test_bad_actions_are_one_line_and_change_nothing():
    env, many = sg.MechanismEnv(sg.Juggling()), sg.MechanismVectorEnv(sg.Juggling(), 2)
    before, _ = env.reset(seed=0)
    many.reset(seed=0)
    masked = np.ma.masked_array([0.5], True)
    for action, words in (
        ([np.nan], "action must be finite"),
        ([0.0, 0.0], r"action must have shape \(1,\)"),
        ([0.5 + 1j], "action must be"),
        (masked, "action must be a plain array"),
        ("up", "action must be an array of numbers"),
    ):
        with pytest.raises(ValueError, match=words):
            env.step(action)
    with pytest.raises(ValueError, match=r"shape \(2, 1\)"):
        many.step(np.zeros(2))
    with pytest.raises(ValueError, match="options must be a mapping"):
        env.reset(options=[1.0])
    assert env.sim.t == 0.0 and env._observed().tolist() == before.tolist() and not many.members.steps.any()


def test_a_short_search_learns_to_juggle():
    """Returns of 0 to 400: the mean over the policies that are drawn rises from 11 to above 100 in six rounds."""
    found = sg.random_search(sg.MechanismVectorEnv(sg.Juggling(), 200), 6)
    assert found.returns[0] < 30.0 and found.returns[-1] > 100.0


@pytest.mark.slow
def test_searches_learn_to_walk_and_to_push():
    walker = sg.random_search(sg.MechanismVectorEnv(sg.SlopeWalker(), 200), 10)
    assert walker.returns[0] < 40.0 and walker.returns[-1] > 80.0
    start = np.zeros((2, 7))
    start[0, 6] = 0.2
    spread = np.array([[0.0] * 7, [2.0, 1.0, 0.5, 2.0, 0.5, 0.1, 0.02]])
    box = sg.random_search(sg.SceneVectorEnv(sg.PushBox, 12), 4, start=start, spread=spread)
    assert box.returns[-1] > 1.5 * box.returns[0]


def test_the_example_of_the_documentation_runs():
    text = (Path(__file__).parents[2] / "docs" / "robots.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```text\n(import gymnasium.*?)^```", text, re.MULTILINE | re.DOTALL)
    exec(compile(block, "docs/robots.md", "exec"), {})
