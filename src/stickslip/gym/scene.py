"""`SceneEnv`: the base of environments with bodies and shapes."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import gymnasium
import numpy as np

from stickslip.checks import Array
from stickslip.gym.mechanism import METADATA, action_of, picture, spaces_of
from stickslip.run.simulator import Simulator, StepError
from stickslip.scenes.scene import Scene


class SceneEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """A scene that an agent drives.

    A subclass builds its scene, gives the bounds of actions and the number of observations to `__init__`, and defines
    `begin`, `act`, `observe`, `reward` and `ended`.  `self.sim` is the `Simulator`.

    Parameters
    ----------
    scene : bodies, joints, materials.
    low, high : bounds of the actions.
    observations : entries of an observation.
    dt : step size [s].
    skip : steps between two actions.
    horizon : actions after which an episode is cut.
    options : of `Simulator`: tol, rule, overlap.
    """

    metadata = METADATA

    def __init__(
        self,
        scene: Scene,
        low: Any,
        high: Any,
        observations: int,
        *,
        dt: float = 1e-3,
        skip: int = 10,
        horizon: int = 500,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode must be None or 'rgb_array', got {render_mode!r}.")
        self.render_mode, self.skip, self.horizon = render_mode, skip, horizon
        self.observation_space, self.action_space = spaces_of(low, high, observations)
        self.sim = Simulator(scene, dt=dt, every=None, **options)
        self._first, self._done = self.sim.save(), 0

    @abstractmethod
    def begin(self, rng: np.random.Generator) -> None:
        """Change the start of an episode, by `self.sim.set_state`; it stands at the start of the scene."""

    @abstractmethod
    def act(self, action: Array) -> None:
        """Set motors, torques and forces of `self.sim`."""

    @abstractmethod
    def observe(self) -> Array:
        """Observations of the agent, (observations,)."""

    @abstractmethod
    def reward(self, action: Array) -> float:
        """The reward of the present state."""

    @abstractmethod
    def ended(self) -> bool:
        """Whether the episode is over."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        self.sim.restore(self._first)
        self.begin(self.np_random)
        self._done = 0
        return np.asarray(self.observe(), np.float64), {}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        space: Any = self.action_space
        chosen = action_of(action, space.low, space.high, space.shape)
        self.act(chosen)
        reason = ""
        try:
            self.sim.step(self.skip)
        except StepError as problem:
            reason = str(problem)
        self._done += 1
        info = {"failed": reason} if reason else {}
        over = bool(reason) or bool(self.ended())
        return (
            np.asarray(self.observe(), np.float64),
            float(self.reward(chosen)),
            over,
            self._done >= self.horizon,
            info,
        )

    def render(self) -> Any:
        """The present as an image (height, width, 3)."""
        return picture(self.sim) if self.render_mode == "rgb_array" else None
