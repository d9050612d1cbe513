"""What a motion from event to event keeps for its certificate, and how it says that there is no way on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


class MotionError(ArithmeticError):
    """No way on: `t` [s] is where."""

    def __init__(self, t: float, message: str) -> None:
        super().__init__(message)
        self.t = t


@dataclass
class Book:
    """What the certificate is made of, and how often what happened."""

    residual: float = 0.0
    gain: float = 0.0
    gain_time: float = 0.0
    work: float = 0.0
    lcp_size: int = 0
    projection_energy: float = 0.0
    projections: int = 0
    counts: Counter[str] = field(default_factory=Counter)
