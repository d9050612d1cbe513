"""`SceneVectorEnv`: many copies of an environment with bodies and shapes, stepped in threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import gymnasium
import numpy as np

from stickslip.checks import Array, whole_number
from stickslip.ensembles.cpu import cores
from stickslip.gym.mechanism import VECTOR_METADATA, action_of
from stickslip.gym.scene import SceneEnv

Stepped = tuple[Array, float, bool, bool, dict[str, Any]]


class SceneVectorEnv(gymnasium.vector.VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Many copies of a `SceneEnv`, each with a `Simulator` of its own.

    A member's numbers are those of a single environment with its seed, bit for bit, whatever the number of threads.  A
    seed s gives member i the seed s + i.  An episode that is over begins anew at the next step, whose action counts for
    nothing and whose reward is 0 (`AutoresetMode.NEXT_STEP`).

    Parameters
    ----------
    make : what makes a member: a subclass of `SceneEnv`, or a function without arguments.
    num_envs : number of members.
    threads : that step the members; default: all cores.  The compiled steps run side by side, while the members' own
        functions (`act`, `observe`, `reward`, `ended`), which are Python, take turns.
    """

    metadata = VECTOR_METADATA

    def __init__(
        self,
        make: Callable[[], SceneEnv],
        num_envs: int,
        render_mode: str | None = None,
        *,
        threads: int | None = None,
    ) -> None:
        if render_mode is not None:
            raise ValueError("a vector environment renders nothing: render_mode must be None.")
        self.num_envs, self.render_mode = whole_number(num_envs, "num_envs"), None
        self.threads = min(self.num_envs, cores() if threads is None else whole_number(threads, "threads"))
        self.envs = [make() for _ in range(self.num_envs)]
        for i, env in enumerate(self.envs):
            if not isinstance(env, SceneEnv) or env in self.envs[:i]:
                raise ValueError(f"make must make a new SceneEnv at each call, got {env!r}.")
        first = self.envs[0]
        self.single_observation_space, self.single_action_space = first.observation_space, first.action_space
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, self.num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, self.num_envs)
        self._over = np.zeros(self.num_envs, bool)
        self._pool = ThreadPoolExecutor(self.threads, "scenes") if self.threads > 1 else None

    def _each(self, work: Callable[[int], Any]) -> list[Any]:
        """Results of `work` for all members.  All threads are done when it returns, or raises what one has raised."""
        if self._pool is None:
            return [work(i) for i in range(self.num_envs)]
        shares = [range(k, self.num_envs, self.threads) for k in range(self.threads)]
        waiting = [self._pool.submit(lambda share: [work(i) for i in share], share) for share in shares]
        try:
            wait(waiting)
        except BaseException:  # Ctrl-C: no member may still be on its way when others go on
            wait(waiting)
            raise
        found = [future.result() for future in waiting]
        return [found[i % self.threads][i // self.threads] for i in range(self.num_envs)]

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin an episode in all members; `seed`: of the first member, or one for each."""
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int | np.integer) else seed
        if seeds is not None and len(seeds) != self.num_envs:
            raise ValueError(f"seed must be a whole number or {self.num_envs} of them, got {len(seeds)}.")
        found = self._each(lambda i: self.envs[i].reset(seed=None if seeds is None else seeds[i], options=options))
        self._over[:] = False
        return np.stack([seen for seen, _ in found]), self._infos([info for _, info in found])

    def step(self, actions: Any) -> tuple[Array, Array, np.ndarray, np.ndarray, dict[str, Any]]:
        space: Any = self.single_action_space
        chosen = action_of(actions, space.low, space.high, (self.num_envs, *space.shape))

        def work(i: int) -> Stepped:
            if not self._over[i]:
                return self.envs[i].step(chosen[i])
            seen, info = self.envs[i].reset()
            return seen, 0.0, False, False, info

        found = self._each(work)
        seen, reward, ended, cut = (np.array([row[k] for row in found]) for k in range(4))
        self._over = ended | cut
        return seen, reward, ended, cut, self._infos([row[4] for row in found])

    def _infos(self, own: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Words of the members, in Gymnasium's form: an array for each name, and a mask of those that have said it."""
        infos: dict[str, Any] = {}
        for i, info in enumerate(own):
            if info:
                infos = self._add_info(infos, info, i)
        return infos

    def close_extras(self, **kwargs: Any) -> None:
        """Let the threads end."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
