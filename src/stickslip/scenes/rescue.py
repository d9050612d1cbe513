"""Help for steps of a scene that its kernel cannot solve: the ladder of methods, from quick to thorough.

First Newton, sweeps and piles, as many islands as there are (`Rescue.solve`).  Then, island by island, everything else
(`Rescue.solve_hard`).  `stickslip.scenes.engine` calls both, and counts the step as failed where they do not help.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from stickslip.contact.auto import hard_island
from stickslip.contact.constants import NEWTON_STEPS, SHARP
from stickslip.contact.contacts import Contacts
from stickslip.contact.method import Outcome
from stickslip.contact.newton import newton_iterations
from stickslip.contact.pyramid import pyramid_answers
from stickslip.contact.wedged import wedged_contacts
from stickslip.jit.parallel import team
from stickslip.projections import EPS
from stickslip.scenes import step
from stickslip.scenes.islands.free_bodies import solve_island
from stickslip.scenes.islands.island import SHARPER
from stickslip.scenes.islands.piles import Pile, least_norm
from stickslip.scenes.islands.rolling_newton import proximal_newton, rows_of
from stickslip.scenes.islands.trees import solve_joined_again
from stickslip.scenes.open_step import OpenStep

RESCUE_EFFORT = 60.0  # nominal seconds of work, counted and not timed: runs repeat bit for bit
PILE_EFFORT = 20.0  # nominal seconds on islands of more than PILE_CONTACTS: 5 left one of seven of 448 capsules
RESCUE_EFFORT_EACH = 0.5  # nominal seconds per contact: a few contacts are solved soon or, by rounding, never
RESCUE_ROUNDS = 4  # each with a sharper tolerance
SHARED_WORK = 3e5  # unknowns^3 beside those of the largest island: about half a millisecond
HARD_CONTACTS = 2000  # beyond, the direct methods take minutes
FIRST_EFFORT = 0.1  # nominal seconds of work before laws are looked at that may contradict one another
QUIET = 1e-10  # least alpha of Newton near to impulses: less moves redundant ones by more than the tolerance
HELD = 1e-4, 1e-9, 0.3, 4.0  # of the pull to impulses: first, least, its fall, its rise; beside the diagonal of W
NEAR_ROUNDS, NEAR_STEPS, NEARLY_EXACT, NEAR = 15, 60, 1e-12, 1e-11  # errors: asked for, and that do
RESISTING_STARTS = 3  # of Newton, each from the best impulses of the one before


def worth_sharing(sizes: np.ndarray) -> bool:
    """Whether islands with these numbers of unknowns are solved sooner by threads than one after the other.

    A solution takes some size^3 steps; threads have to be woken, and none can help with the largest island.
    """
    work = sizes.astype(float) ** 3
    return bool(work.sum() - work.max(initial=0.0) > SHARED_WORK)


class Rescue(OpenStep):
    """Solves the islands of a step that the kernel left open."""

    def solve(self) -> float:
        """Solve the islands whose start from the last step was not good enough; returns the worst residual."""
        engine, count = self.engine, int(self.counts[step.ISLANDS])
        limit = step.start_limit(self.options, self.counts)
        open_islands = np.flatnonzero(~(self.residuals[:count] <= limit))
        if self.options.edges > 0:
            for k in open_islands:
                self._solve_pyramid(int(k))
            return float(self.residuals[:count].max(initial=0.0))
        # of islands with joints the time loop has tried all there is; of those that resist rolling, all sweeps
        tried = np.array([bool(self.joined(k)) or self.resists(k) for k in open_islands], bool)
        for k in open_islands[tried]:
            if not self.joined(k):
                self._solve_resisting(int(k))
        open_islands = open_islands[~tried]
        for k in open_islands:
            if self.is_first_touch(k):
                self._begin_by_least_norm(int(k))
        small = [k for k in open_islands if not self.is_pile(k)]
        with team(engine.threads):
            for k in open_islands:
                if self.is_pile(k):
                    self._solve_pile(int(k))
            if engine.threads > 1 and worth_sharing(np.array([self.unknowns(k) for k in small])):
                chosen = np.array(small, np.int64)
                step.solve_in_parallel(
                    engine.world(), self.contacts, engine.problems(), chosen, self.head, self.follow, self.tried(chosen)
                )
                small = []
        for k in small:
            self._solve_small(int(k), bool(self.tried(k)))
        return float(self.residuals[:count].max(initial=0.0))

    def _begin_by_least_norm(self, k: int) -> None:
        """Impulses for sweeps to start from that are as symmetric as the bodies."""
        first, last = int(self.begins[k]), int(self.begins[k + 1])
        problem, _ = self.friction_problem(k)
        mobility = self.active.mobility[self.order[first:last]]
        r = least_norm(problem, mobility.min() / mobility)
        if r is not None:
            self.take(k, r)

    def _solve_small(self, k: int, tried: bool) -> None:
        """On velocities of bodies, or by sweeps, as the kernel has them; tried: the first has been tried already."""
        first = int(self.begins[k])
        # The stages are called one by one from here: compiled as one function they take twice as long to compile.
        self.residuals[k] = solve_island.py_func(
            self.island(k), self.options, self.parent, self.head, self.follow[2 * first :], self.effort[k:],
            float(self.residuals[k]), tried,
        )  # fmt: skip

    def _solve_resisting(self, k: int) -> None:
        """Newton's method, for contacts that resist rolling or spinning."""
        order, dim = self.order[int(self.begins[k]) : int(self.begins[k + 1])], self.options.dim
        rows = rows_of(self.bodies, self.contacts, self.active[order], dim)
        turn = self.active.turn[order]
        z = np.zeros((len(order), 6))
        z[:, :dim] = self.active.r[order, :dim]
        z[:, 3:] = np.divide(turn, rows.length, out=np.zeros_like(turn), where=rows.length > 0.0)

        def judge(z: np.ndarray) -> float:
            self.clock(0.0)
            self.active.r[order, :dim] = z[:, :dim]
            self.active.turn[order] = rows.length * z[:, 3:]
            self.measure(k)
            return float(self.residuals[k])

        for _ in range(RESISTING_STARTS):
            z = proximal_newton(rows, z, self.options.tol, judge)
            judge(z)
            if self.solved(k):
                break

    def _solve_pile(self, k: int) -> None:
        """Sweeps, shared by many threads, and what helps them."""
        order = self.order[int(self.begins[k]) : int(self.begins[k + 1])]
        pile = Pile(self.bodies, self.contacts, self.active, order, self.options, self.head, self.follow, self.clock)
        before, residual = self.active.r[order], self.residuals[k]
        self.effort[k] = int(pile.solve())
        self.residuals[k] = pile.residual
        if not pile.residual <= self.options.tol and not pile.residual <= residual:
            self.active.r[order] = before
            self.measure(k)

    def _solve_pyramid(self, k: int) -> None:
        """An island whose friction cones are pyramids, [S00] (2.11)-(2.16): Lemke, then others; the best is kept."""
        problem, start = self.friction_problem(k)
        answers = pyramid_answers(problem, self.options.edges)
        self.effort[k] = int(self.keep_best(k, start, answers) > 1)

    def solve_hard(self) -> None:
        """Solve the islands that `solve` left, with every method there is."""
        for k in range(int(self.counts[step.ISLANDS])):
            few = self.begins[k + 1] - self.begins[k] <= HARD_CONTACTS
            if not self.solved(k) and few:
                (self._solve_hard_resisting if self.resists(k) else self._solve_hard)(k)

    def measure_all(self) -> None:
        """End velocities and residuals of all islands, from their impulses."""
        for k in range(int(self.counts[step.ISLANDS])):
            self.measure(k)

    def _solve_hard(self, k: int) -> None:
        """An island on which the kernel gave up: what is quick, what takes long; without restitution at last."""
        self.effort[k] = 1
        if self.joined(k):
            self._without_restitution(k, None)
            return
        self._near(k)
        if not self.solved(k):
            self._hard_island(k, FIRST_EFFORT)
        if not self.solved(k):
            self._with_slips_at_midpoint(k)
        wedged = None if self.solved(k) else wedged_contacts(self.friction_problem(k)[0], True)
        if not self.solved(k) and wedged is not None:
            self._without_restitution(k, wedged)
        if not self.solved(k):
            self._thorough(k)
        if not self.solved(k) and wedged is None:
            self._without_restitution(k, None)

    def _solve_hard_resisting(self, k: int) -> None:
        """An island that resists rolling or spinning, and that Newton gave up: with slips of the midpoint.

        Two corners of an edge that turns and sticks have slips at the end of a step that contradict one another by
        how the edge leans.  Those of the midpoint do not.
        """
        self.effort[k] = 1
        if not self.joined(k):
            self._with_slips_at_midpoint(k)
        if not self.joined(k) and not self.solved(k):
            self._without_restitution(k, None)

    def _thorough(self, k: int) -> None:
        """Everything there is for an island without joints, from the best impulses so far."""
        size = int(self.begins[k + 1] - self.begins[k])
        most = PILE_EFFORT if self.is_pile(k) else RESCUE_EFFORT
        self._hard_island(k, float(min(most, RESCUE_EFFORT_EACH * (1 + size))))

    def _near(self, k: int) -> None:
        """Proximal point about the impulses there are: each answer is judged by the measure of the scene.

        The ladder of `contact` asks for the error of a sum over contacts, relative to impulses too.  Redundant contacts
        hardly reach a tenth of the tolerance in it, and all its rungs are climbed in vain.
        """
        if self.is_pile(k):
            return
        problem, start = self.friction_problem(k)
        progress, scale = self.clock(FIRST_EFFORT), problem.mean_diagonal

        def newton(contacts: Contacts, z: np.ndarray, steps: int) -> Outcome:
            with np.errstate(all="ignore"):  # an iterate that runs away is noticed
                return newton_iterations(contacts, z.copy(), NEARLY_EXACT, steps, progress, floor=QUIET)

        def answers() -> Iterator[np.ndarray]:
            z, (a, least, fall, rise) = start, HELD
            for _ in range(NEAR_ROUNDS):
                inner = newton(problem.shifted(a * scale, z), z, NEAR_STEPS)
                if inner.error <= NEAR:
                    z, a = inner.r, max(fall * a, least)
                    yield newton(problem, z, NEWTON_STEPS).r
                    yield z
                else:
                    a *= rise
                if progress.expired:
                    break

        self.keep_best(k, start, answers())

    def _hard_island(self, k: int, effort: float) -> None:
        """Newton, interior point, proximal point and so on, for an island without joints; effort in nominal seconds."""
        problem, z = self.friction_problem(k)
        wanted, start = SHARPER * self.options.tol, z.copy()

        def answers() -> Iterator[np.ndarray]:
            nonlocal z, wanted
            for _ in range(RESCUE_ROUNDS):
                outcome = hard_island(problem, z, wanted, self.clock(effort))
                if math.isfinite(outcome.error):
                    yield outcome.r
                if not outcome.error <= wanted:
                    break
                # Solved as a sum over contacts, relative to impulses too, which the load of a pile makes large; what is
                # asked for is the velocity of the worst contact.
                z, wanted = outcome.r, 0.5 * outcome.error * self.options.tol / self.residuals[k]

        self.keep_best(k, start, answers())

    def _with_slips_at_midpoint(self, k: int) -> None:
        """Solve an island with the slips of the midpoint in place of those at the end of the step.

        Slips at the end of the step may contradict other contacts where mu >= 1.  Where a corner of a body lies in a
        corner of the room, the slip along one wall is the normal velocity at the other one, and half a step of turning
        is added to slips alone.
        """
        order = self.order[int(self.begins[k]) : int(self.begins[k + 1])]
        bias = self.active.bias[order]
        turning = ~self.active.impact[order]  # biases of blows come from restitution
        self._with_biases(k, [np.where(turning[:, None], bias * (1.0, 0.0, 0.0), bias)], False)

    def _without_restitution(self, k: int, wedged: np.ndarray | None) -> None:
        """Solve an island without restitution: at its wedged contacts, else at all, with slips at the midpoint at last.

        Newton's law and friction may contradict one another: a ball that is thrown into a corner with mu >= 1 cannot
        leave both walls, and no impulses make it.  Without restitution and with slips at the midpoint, bias_T = 0 and
        bias_N >= 0.  Then q . d = bias . d >= 0 for all d in the cones with W d = 0, so that no impulses grow without
        bound (`contact.wedged`), and a solution exists.
        """
        order = self.order[int(self.begins[k]) : int(self.begins[k + 1])]
        bias, impact = self.active.bias[order], self.active.impact[order]
        plastic = np.zeros_like(bias)
        plastic[:, 0] = np.maximum(bias[:, 0], 0.0)
        choices = [impact, np.ones(len(order), bool)]
        if wedged is not None:
            choices.insert(0, np.isin(np.arange(len(order)), wedged) & impact)
        self._with_biases(k, [np.where(chosen[:, None], plastic, bias) for chosen in choices], True)

    def _with_biases(self, k: int, others: list[np.ndarray], thorough: bool) -> None:
        """Solve an island with the first of other biases (contacts, 3) that allow it; leave it as it was where none do.

        thorough: try everything there is with the last of them.
        """
        order = self.order[int(self.begins[k]) : int(self.begins[k + 1])]
        rows = self.rows[int(self.row_begins[k]) : int(self.row_begins[k + 1])]
        bias, r, turn = self.active.bias[order], self.active.r[order], self.active.turn[order]
        rods = None if self.joints is None else self.joints.row.impulse[rows]
        tried = bias
        for number, changed in enumerate(others, 1):
            if np.array_equal(changed, tried):
                continue
            tried = changed
            self.active.bias[order], self.active.r[order], self.active.turn[order] = changed, 0.0, 0.0
            self.measure(k)
            self._solve_again(k, thorough and number == len(others))
            if self.solved(k):
                self._sharpen(k)
                # velocities that move nothing by the rounding of its position are what the last such step left over
                left_out = self.options.dt * float(np.abs(changed[:, 0] - bias[:, 0]).max())
                self.counts[step.PLASTIC] += left_out > EPS * float(np.abs(self.bodies.pose[:, :3]).max())
                return
        self.active.bias[order], self.active.r[order], self.active.turn[order] = bias, r, turn
        if rods is not None and self.joints is not None:
            self.joints.row.impulse[rows] = rods
        self.measure(k)

    def _sharpen(self, k: int) -> None:
        """Newton down to rounding on an island without joints: what is left over would be a blow in the next step."""
        if not (self.joined(k) or self.is_pile(k) or self.resists(k)):
            problem, z = self.friction_problem(k)
            outcome = newton_iterations(problem, z.copy(), EPS, NEWTON_STEPS, self.clock(FIRST_EFFORT), floor=SHARP)
            self.keep_best(k, z, [outcome.r])

    def _solve_again(self, k: int, thorough: bool) -> None:
        """An island whose laws were changed."""
        if self.joined(k):
            self.residuals[k] = solve_joined_again(self.island(k), self.options, self.parent)
            return
        if self.resists(k):
            self._solve_resisting(k)
            return
        if self.is_pile(k):
            self._solve_pile(k)
        else:
            self._solve_small(k, False)
        if not self.solved(k):
            self._near(k)
        if not self.solved(k):
            self._hard_island(k, FIRST_EFFORT)
        if not self.solved(k) and thorough:
            self._thorough(k)
