"""Islands with joints on which Newton gave up: impulses from other starts, for a caller that judges them.

Bounded rows (motors, limits, dry friction) beside contacts that stick and slip: Newton may go round between modes
of which none fits, from zero as well, where the problem has one solution.  The proximal point

    z_k+1 solves the same laws with (W + a 1, q - a z_k),    a from START down

makes the inner problems well posed; a Newton step from the modes each of them ends in, on the problem itself, is soon
the answer.  a rises again where an inner problem is not solved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stickslip.kernels.scene.newton import newton_alone

START, FLOOR, LARGEST = 0.1, 1e-9, 100.0  # of a, relative to the unit diagonal of W
FALL, RISE = 0.3, 4.0
ROUNDS = 60
NEWTON_STEPS = 60
NEARLY_EXACT, INNER_SOLVED = 1e-12, 1e-11  # errors of the inner problems that are asked for, and that do
WORK = 1e10  # unknowns^3 of all inner problems: about a minute


@dataclass(frozen=True)
class JointIsland:
    """W, q, mu of an island, scaled, shapes (n, n), (n,), (contacts,); low, high, grain of its rows, (rows,)."""

    W: np.ndarray
    q: np.ndarray
    mu: np.ndarray
    low: np.ndarray
    high: np.ndarray
    grain: np.ndarray
    dim: int

    def newton(self, z: np.ndarray) -> tuple[np.ndarray, float]:
        """Impulses from the start z, and their error."""
        r = z.copy()
        error = newton_alone(
            self.W, self.q, self.mu, self.low, self.high, self.grain, self.dim, r, NEARLY_EXACT, NEWTON_STEPS
        )
        return r, float(error)

    def shifted(self, a: float, z: np.ndarray) -> JointIsland:
        """The inner problem (W + a 1, q - a z)."""
        W = self.W + a * np.eye(len(z))
        return JointIsland(W, self.q - a * z, self.mu, self.low, self.high, self.grain, self.dim)


def joint_answers(island: JointIsland, z: np.ndarray) -> Iterator[np.ndarray]:
    """Impulses by Newton from zero, then by proximal point from z and from zero; solutions as a rule, not always."""
    zero = np.zeros_like(z)
    yield island.newton(zero)[0]
    yield from proximal_answers(island, z)
    yield from proximal_answers(island, zero)


def proximal_answers(island: JointIsland, z: np.ndarray) -> Iterator[np.ndarray]:
    """Each solution of an inner problem, after Newton on the problem itself, and as it is."""
    a = START
    for _ in range(min(ROUNDS, 1 + int(WORK / max(1, len(z)) ** 3))):
        x, error = island.shifted(a, z).newton(z)
        if error <= INNER_SOLVED:
            z, a = x, max(FALL * a, FLOOR)
            yield island.newton(x)[0]
        else:
            a = min(RISE * a, LARGEST)
        yield x
