"""All futures of a motion that is not unique: every solution of each step's contact problem is followed.

Where friction is large, the contact problem of a step may have several solutions with different velocities ([S00]
section 3.3.1).  A future is a path: the number of the solution taken at the first such step, the second, and so on.
Solution 0 is the one that `Auto` finds.  Paths are followed in the order of the step at which they leave a known one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.analysis.progress import not_interrupted
from stickslip.contact.planar import Auto, PlanarProblem, PlanarSolution, PlanarSolver, all_solutions
from stickslip.lcp.enumeration import LIMIT as ENUMERATION_LIMIT
from stickslip.scenario import Scenario

if TYPE_CHECKING:
    from stickslip.trajectory import Trajectory

DIFFERENT = 1e-8  # solutions whose velocities differ by more than this share of the velocities of the problem


@dataclass(frozen=True)
class OnPath(PlanarSolver):
    """Takes the solutions that a path names; `met` gets the number of solutions of every step that has several."""

    path: tuple[int, ...] = ()
    met: list[int] = field(default_factory=list, compare=False)

    name = "on-path"

    def _solve(self, problem: PlanarProblem) -> tuple[np.ndarray, np.ndarray, int, str]:
        found = self._different(problem)
        choice = 0
        if len(found) > 1:
            place = len(self.met)
            self.met.append(len(found))
            choice = self.path[place] if place < len(self.path) else 0
        one = found[choice]
        return one.Lambda_N, one.Lambda_T, one.iterations, one.status

    def _different(self, problem: PlanarProblem) -> list[PlanarSolution]:
        """The solution of `Auto`, then those of different velocities; it alone where there are too many contacts."""
        found = [Auto(self.tol).solve(problem)]
        if len(problem.lcp().b) > ENUMERATION_LIMIT:
            return found
        size = DIFFERENT * max(float(problem.size_N.max()), float(problem.size_T.max()))
        velocities = [np.concatenate(problem.slip_velocities(found[0].Lambda_N, found[0].Lambda_T))]
        for one in all_solutions(problem, self.tol):
            velocity = np.concatenate(problem.slip_velocities(one.Lambda_N, one.Lambda_T))
            if one.solved and all(np.abs(velocity - other).max() > size for other in velocities):
                found.append(one)
                velocities.append(velocity)
        return found


@dataclass(frozen=True)
class Futures:
    """Runs, the path of each, and how many paths were met and not followed."""

    runs: list[Trajectory]
    paths: tuple[tuple[int, ...], ...]
    left: int


def futures(scenario: Scenario, most: int, options: dict[str, Any], tell: Callable[[int], None]) -> Futures:
    """Follow up to `most` futures of a scenario; `options` are those of `Scenario.simulate`."""
    refused = sorted({"solver", "engine"} & set(options))
    if refused:
        raise ValueError(f"{refused[0]} cannot be chosen with branch=True: the reference engine lists all solutions.")
    scenario.require_coordinates("branch=True is for mechanisms, got a scene; leave branch out and give disturbances.")
    if getattr(options.get("stepper"), "name", options.get("stepper")) == "event-driven":
        raise ValueError("stepper with branch=True must take steps, got 'event-driven'; leave it out.")
    waiting: deque[tuple[int, ...]] = deque([()])
    runs: list[Trajectory] = []
    paths: list[tuple[int, ...]] = []
    while waiting and len(runs) < most:
        path = waiting.popleft()
        solver = OnPath(path=path)
        chosen = {"progress": False, **options, "solver": solver, "engine": "reference"}
        runs.append(not_interrupted(scenario.simulate(**chosen)))
        paths.append(path)
        tell(len(runs))
        for place in range(len(path), len(solver.met)):
            waited = path + (0,) * (place - len(path))
            waiting.extend((*waited, choice) for choice in range(1, solver.met[place]))
    return Futures(runs, tuple(paths), len(waiting))
