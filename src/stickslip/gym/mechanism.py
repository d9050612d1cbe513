"""Environments of mechanisms: one at a time by `Simulator`, many at a time by the kernel of ensembles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from stickslip.checks import Array, real_array, shown
from stickslip.ensembles.members import Members
from stickslip.gym.task import Task
from stickslip.run.simulator import Simulator, StepError

METADATA: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 50}
VECTOR_METADATA: dict[str, Any] = {**METADATA, "autoreset_mode": AutoresetMode.NEXT_STEP}


def action_of(action: Any, low: np.ndarray, high: np.ndarray, shape: tuple[int, ...]) -> Array:
    """A checked action, cut to its bounds."""
    array = real_array(action, f"action must be an array of numbers of shape {shape}, got {shown(action)}.")
    if array.shape != shape:
        raise ValueError(f"action must have shape {shape}, got {array.shape}.")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"action must be finite, got {array.ravel().tolist()[:8]}.")
    return np.clip(array, low, high)


def spaces_of(low: Any, high: Any, observations: int) -> tuple[Any, Any]:
    """Spaces of observations and actions."""
    seen = gymnasium.spaces.Box(-np.inf, np.inf, (observations,), np.float64)
    return seen, gymnasium.spaces.Box(np.asarray(low, np.float64), np.asarray(high, np.float64), dtype=np.float64)


class MechanismEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """A task with one motion.

    Parameters
    ----------
    task : what is seen, driven and wanted.
    render_mode : None or "rgb_array", for scenarios with a drawing.
    options : stepper, solver, law of `Simulator`.
    """

    metadata = METADATA

    def __init__(self, task: Task, render_mode: str | None = None, **options: Any) -> None:
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode must be None or 'rgb_array', got {render_mode!r}.")
        self.task, self.render_mode = task, render_mode
        self.observation_space, self.action_space = spaces_of(task.low, task.high, task.observations)
        self.sim = Simulator(task.scenario, dt=task.dt, every=None, **options)
        self._done = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin an episode; `options` may have the start: {"q": ..., "u": ...}."""
        super().reset(seed=seed)
        q, u = self.task.start(self.np_random, 1)
        given = {} if options is None else options
        if not isinstance(given, Mapping):
            raise ValueError(f"options must be a mapping, such as {{'q': ..., 'u': ...}}, got {shown(given)}.")
        self.sim.set_state(t=0.0, q=given.get("q", q[0]), u=given.get("u", u[0]))
        self._done = 0
        return self._observed(), {}

    def _state(self) -> tuple[Array, Array]:
        return self.sim.q[None], self.sim.u[None]

    def _observed(self) -> Array:
        return np.asarray(self.task.observe(*self._state())[0], np.float64)

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        task = self.task
        chosen = action_of(action, task.low, task.high, (len(task.low),))[None]
        self.sim.params.update({name: float(x[0]) for name, x in task.drive(*self._state(), chosen).items()})
        reason = ""
        try:
            self.sim.step(task.skip)
        except StepError as problem:
            reason = str(problem)
        self._done += 1
        q, u = self._state()
        ended = bool(task.ended(q, u)[0]) or bool(reason)
        info = {"failed": reason} if reason else {}
        return self._observed(), float(task.reward(q, u, chosen)[0]), ended, self._done >= task.horizon, info

    def render(self) -> Any:
        """The present as an image (height, width, 3), where the scenario has a drawing."""
        if self.render_mode != "rgb_array":
            return None
        return picture(self.sim)


def picture(sim: Simulator) -> np.ndarray:
    """The present of a simulator as an image (360, 480, 3); ValueError where its scenario has no drawing."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from stickslip.figures import mechanism

    run = sim.trajectory()
    shown = run.scenario
    if shown is None or shown.drawing is None:
        raise ValueError("render needs a scenario with a drawing; this one has none.")
    figure = Figure(figsize=(4.8, 3.6), dpi=100)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    q, t = run.q[-1:], run.t[-1:]
    mechanism.prepare(axes, mechanism.filled(shown.drawing.fit(q, t, run.parameters), 4.0 / 3.0))
    mechanism.draw(axes, shown.drawing(q[0], float(t[0]), run.parameters))
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:, :, :3].copy()


class MechanismVectorEnv(gymnasium.vector.VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """A task with many motions, all stepped by one call of a compiled kernel.

    A member's steps are those of `MechanismEnv`, bit for bit.  An episode that is over begins anew at the next step
    (`AutoresetMode.NEXT_STEP`).
    """

    metadata = VECTOR_METADATA

    def __init__(self, task: Task, num_envs: int, render_mode: str | None = None, **options: Any) -> None:
        if render_mode is not None:
            raise ValueError("a vector environment renders nothing: render_mode must be None.")
        self.task, self.num_envs, self.render_mode = task, num_envs, None
        self.single_observation_space, self.single_action_space = spaces_of(task.low, task.high, task.observations)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)
        self.members = Members(task.scenario, num_envs, dt=task.dt, **options)
        self._over = np.zeros(num_envs, bool)
        self._done = np.zeros(num_envs, int)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed[0] if isinstance(seed, list) else seed)
        self._begin(np.ones(self.num_envs, bool))
        return self._observed(), {}

    def _begin(self, which: np.ndarray) -> None:
        q, u = self.task.start(self.np_random, int(which.sum()))
        self.members.begin(which, q, u)
        self._done[which], self._over[which] = 0, False

    def _observed(self) -> Array:
        return np.asarray(self.task.observe(self.members.q, self.members.u), np.float64)

    def step(self, actions: Any) -> tuple[Array, Array, np.ndarray, np.ndarray, dict[str, Any]]:
        task, members = self.task, self.members
        chosen = action_of(actions, task.low, task.high, (self.num_envs, len(task.low)))
        fresh = self._over.copy()
        for name, values in task.drive(members.q, members.u, chosen).items():
            members.set_parameter(name, values)
        before = members._rows[fresh].copy()
        members.advance(task.skip)
        members._rows[fresh] = before
        if fresh.any():
            self._begin(fresh)
        self._done[~fresh] += 1
        q, u, failed = members.q, members.u, members.failed
        reward = np.where(fresh, 0.0, task.reward(q, u, chosen))
        ended = (np.asarray(task.ended(q, u), bool) | failed) & ~fresh
        cut = (self._done >= task.horizon) & ~fresh
        self._over = ended | cut
        return self._observed(), reward, ended, cut, {"failed": failed} if failed.any() else {}
