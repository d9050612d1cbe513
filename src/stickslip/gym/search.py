"""Random search for linear policies: enough to show that an environment can be learnt.

The cross-entropy method: draw policies from a normal distribution, keep the best, fit the distribution to them, repeat
[R. Rubinstein and D. Kroese, The Cross-Entropy Method, Springer, 2004].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from stickslip.checks import Array, whole_number


class Found(NamedTuple):
    """The gains (actions, observations) of the best mean policy, and the mean return of each round."""

    gains: Array
    returns: list[float]


def episodes(env: Any, gains: Array, seed: int) -> Array:
    """Return of one episode for each member of a vector environment, member i with the policy a = gains[i] o."""
    seen, _ = env.reset(seed=seed)
    total, alive = np.zeros(env.num_envs), np.ones(env.num_envs, bool)
    while alive.any():
        actions = np.einsum("nao,no->na", gains, seen)
        low, high = env.action_space.low, env.action_space.high
        seen, reward, ended, cut, _ = env.step(np.clip(actions, low, high))
        total += np.where(alive, reward, 0.0)
        alive &= ~(ended | cut)
    return total


def random_search(
    env: Any,
    rounds: int = 10,
    *,
    best: float = 0.2,
    spread: Any = 1.0,
    start: Any = None,
    seed: int = 0,
    said: Callable[[str], None] | None = None,
) -> Found:
    """Search for a linear policy with a vector environment whose members try one policy each.

    Parameters
    ----------
    env : a vector environment, such as `MechanismVectorEnv`.
    rounds : of draws.
    best : share of the policies that are kept.
    spread : standard deviation of the first draw, a number or (actions, observations).
    start : mean of the first draw, zero if not given.
    said : called with a line per round.
    """
    shape = (env.single_action_space.shape[0], env.single_observation_space.shape[0])
    rng, mean = (
        np.random.default_rng(whole_number(seed, "seed", 0)),
        np.zeros(shape) if start is None else np.array(start, float),
    )
    if mean.shape != shape:
        raise ValueError(f"start must have shape {shape}, got {mean.shape}.")
    deviation, kept = np.broadcast_to(np.asarray(spread, float), shape).copy(), max(2, round(best * env.num_envs))
    returns = []
    for k in range(rounds):
        gains = mean + deviation * rng.normal(size=(env.num_envs, *shape))
        gains[0] = mean
        total = episodes(env, gains, seed + k)
        top = gains[np.argsort(-total, kind="stable")[:kept]]
        mean, deviation = top.mean(axis=0), top.std(axis=0) + 1e-3 * deviation
        returns.append(float(total.mean()))
        if said is not None:
            said(f"round {k + 1}: mean return {total.mean():.3f}, best {total.max():.3f}")
    return Found(mean, returns)
