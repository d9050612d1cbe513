"""Environments for reinforcement learning, by the interface of Gymnasium: `pip install 'stickslip[gym]'`.

A `Task` says what is observed, driven and rewarded; `MechanismEnv` steps it one by one, `MechanismVectorEnv` many at a
time on the kernel of ensembles.  `SceneEnv` is the base of environments with bodies and shapes, `SceneVectorEnv` steps
many of them in threads.
"""

try:
    import gymnasium as _gymnasium
except ImportError as problem:
    raise ImportError("stickslip.gym needs gymnasium: pip install 'stickslip[gym]'.") from problem

from stickslip.gym.examples import Juggling, PushBox, SlopeWalker
from stickslip.gym.mechanism import MechanismEnv, MechanismVectorEnv
from stickslip.gym.scene import SceneEnv
from stickslip.gym.scenes import SceneVectorEnv
from stickslip.gym.search import Found, random_search
from stickslip.gym.task import Task

__all__ = [
    "Found",
    "Juggling",
    "MechanismEnv",
    "MechanismVectorEnv",
    "PushBox",
    "SceneEnv",
    "SceneVectorEnv",
    "SlopeWalker",
    "Task",
    "random_search",
]

for _name in ("Juggling", "SlopeWalker", "PushBox"):
    if f"stickslip/{_name}-v0" not in _gymnasium.registry:
        _gymnasium.register(
            f"stickslip/{_name}-v0",
            entry_point=f"stickslip.gym.examples:one_{_name}",
            vector_entry_point=f"stickslip.gym.examples:many_{_name}",
        )
