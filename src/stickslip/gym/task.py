"""`Task`: what an environment observes, drives and rewards, written once for one motion and for many."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np

from stickslip.checks import Array
from stickslip.scenario import Scenario


class Task(ABC):
    """Task of an agent: what it sees of a mechanism, what it can do, and what is wanted.

    All functions take and return arrays with one row per member: an environment of one motion has one row.

    Attributes
    ----------
    scenario : the mechanism; what the agent drives are parameters of it.
    dt : step size [s].
    skip : steps between two actions.
    horizon : actions after which an episode is cut.
    low, high : bounds of the actions, (actions,).
    observations : number of entries of an observation.
    """

    scenario: Scenario
    dt: float = 1e-3
    skip: int = 10
    horizon: int = 500
    low: np.ndarray
    high: np.ndarray
    observations: int

    @abstractmethod
    def start(self, rng: np.random.Generator, count: int) -> tuple[Array, Array]:
        """Coordinates and velocities (count, f) of `count` members at the start of an episode."""

    @abstractmethod
    def observe(self, q: Array, u: Array) -> Array:
        """Observations of the agent, (members, observations)."""

    @abstractmethod
    def drive(self, q: Array, u: Array, action: Array) -> Mapping[str, Array]:
        """Values (members,) of parameters that hold until the next action."""

    @abstractmethod
    def reward(self, q: Array, u: Array, action: Array) -> Array:
        """The reward (members,) of the state after an action."""

    @abstractmethod
    def ended(self, q: Array, u: Array) -> np.ndarray:
        """Whether an episode is over, (members,) of bool: the walker has fallen, the ball is lost."""
