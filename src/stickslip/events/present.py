"""The present of a motion from event to event: state, mode, books, and the accelerations of closed contacts."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.checks import Array
from stickslip.contact.planar import PlanarSolver
from stickslip.events.acceleration import AccelerationProblem, Accelerations
from stickslip.events.accumulation import MEMORY, Blow
from stickslip.events.arcs import Event, Stand, Watch
from stickslip.events.book import EventBook, Kept, MotionError
from stickslip.events.modes import ROUND_OFF, Mode, onto_contacts
from stickslip.impacts.impact import Impact
from stickslip.laws import ImpactLaw
from stickslip.laws.slip import CONSTANT
from stickslip.mechanisms.system import SPRING, LawError, System

_GAP_NOISE = 1e-15  # round-off of gaps that are made of numbers of size 1


@dataclass
class Present:
    """State and mode of a motion at its present time, with what it remembers of the way.

    Attributes: kernel, the compiled template `smooth`; p, parameters; law, solver for impacts; rtol, gap_tol,
    zeno, max_events as in `EventDriven`; t, q, u, mode, the present; impacts, rows of the impact table so far;
    force_scale, acceleration_scale (n, 2), sizes of the forces and accelerations in the present mode.
    """

    system: System
    kernel: Any
    p: Array
    law: ImpactLaw
    solver: PlanarSolver
    t: float
    q: Array
    u: Array
    t_end: float
    rtol: float
    atol: float
    gap_tol: float
    zeno: float
    max_events: int
    impacts: list[tuple[float, ...]] = field(default_factory=list)
    book: EventBook = field(default_factory=EventBook)

    def __post_init__(self) -> None:
        self.plain = self.system  # with the kinks that it has
        self.system = self.plain.branched
        self.p = np.concatenate([self.p, np.ones(len(self.system.kink_contacts))])
        system, n = self.system, self.system.n_contacts
        self._choose_branches()
        _, eps_N, eps_T, _ = system.laws(self.p)
        self.law.coefficients(eps_N, eps_T, system.contact_kinds, system.contact_names)  # for its checks
        self.kinds = np.array(system.contact_kinds, dtype=int)
        self.f, self.span = system.n_dof, self.t_end - self.t
        self.integrals = np.zeros(4 * n + 1)
        self.mode = Mode.free(n)
        self.disarmed: set[tuple[int, int]] = set()
        self.recent: deque[float] = deque()
        self.last_step: float | None = None
        self.du = np.zeros(self.f)
        self.stopped = np.zeros(n, bool)  # contacts that slipped before the last impact, by friction that depends on it
        self.hit: Impact | None = None  # the last impact
        self.watch: Watch | None = None
        self.stand: Stand | None = None  # where `arcs` goes on, in place of a start
        self.grazes_before = 0  # grazes counted before the present mode
        self.grazed = (self.t, 0)  # time [s] and contact of the last graze
        self.touches: tuple[tuple[float, int], ...] = ()  # time [s] and number of the kinks that the last arc touches
        self.blows: deque[Blow] = deque(maxlen=MEMORY)  # collisions of late
        self.happened: list[tuple[float, int, int]] = []  # time [s], kind and contact of events, as in `EventTable`
        self.kept: Kept | None = None  # what the present arc began with
        self.force_scale, self.acceleration_scale = np.zeros((n, 2)), np.zeros((n, 2))

    def in_mode(self, mode: Mode) -> Array:
        """The parameters in a mode: those of the system, and the branches of its kinks."""
        if not len(mode.branches):
            return self.p
        return np.concatenate([self.p[: -len(mode.branches)], mode.branches])

    @property
    def _branches(self) -> Array:
        return self.p[len(self.plain.parameter_names) :]

    def _restitution(self) -> Array:
        """eps_N (n,) of an impact in which contacts come back as fast as they separate now."""
        system = self.system
        _, eps_N, eps_T, _ = system.laws_at(self.q, self.t, self.p, -self.u)
        return self.law.coefficients(eps_N, eps_T, system.contact_kinds, system.contact_names)[0]

    def _choose_branches(self) -> None:
        """Take the branches of the present state; right at a kink, the branch of the side to which the state moves."""
        for _ in self.system.kink_contacts:  # levels of some kinks depend on other branches
            levels, noise = self.system.kinks(self.q, self.t, self.p), self._kink_noise()
            ahead = self.system.kinks(self.q + 1e-6 * self.u, self.t + 1e-6, self.p)
            sides = np.where(np.abs(levels) > noise, levels, np.where(np.abs(ahead) > noise, ahead, 1.0))
            sides[[j for j, _ in self._gates]] = 1.0  # of these more than the state decides, see `_open_gates`
            if np.array_equal(np.sign(sides), self._branches):
                break
            self._branches[:] = np.sign(sides)

    @property
    def _gates(self) -> list[tuple[int, int]]:
        """Pairs of a branch and the contact that may close only while it is +1, see `Contact.closes_when`."""
        system = self.system
        return [(j, system.kink_contacts[j][0]) for j, gate in enumerate(system.kink_gates) if gate]

    def _open_gates(self, closed: np.ndarray) -> None:
        """Choose the gates of a start: open for closed contacts, and where the condition holds outside the surface."""
        gates = self._gates
        self._branches[[j for j, _ in gates]] = 1.0
        if gates:
            g, levels = self.system.gap(self.q, self.t, self.p), self.system.kinks(self.q, self.t, self.p)
            for j, k in gates:
                self._branches[j] = 1.0 if closed[k] or (levels[j] > 0.0 and g[k] >= -self.gap_tol) else -1.0

    def _shut_gates(self, closed: np.ndarray) -> None:
        """Contacts that are open though their condition does not hold are there no more."""
        gates = [(j, k) for j, k in self._gates if self._branches[j] > 0.0 and not closed[k]]
        if gates:
            levels = self.system.kinks(self.q, self.t, self.p)
            for j, _ in gates:
                self._branches[j] = 1.0 if levels[j] >= -self._kink_noise() else -1.0

    def _kink_noise(self) -> float:
        """Size below which the level of a kink counts as zero: its rounding error right at the kink."""
        return 100.0 * _GAP_NOISE * max(1.0, float(np.abs(self.q).max(initial=0.0)))

    def _gap_noise(self) -> Array:
        """Round-off of the gaps, (n,) [m]: hops must be higher than that to be seen."""
        W_N, _, _ = self.system.geometry(self.q, self.t, self.p)
        return np.asarray(_GAP_NOISE * np.maximum(1.0, np.abs(W_N) @ np.abs(self.q)))

    def _vector(self) -> Array:
        return np.concatenate([self.q, self.u, self.integrals])

    def _take(self, event: Event) -> None:
        self.t = event.t
        self.q, self.u, self.integrals = (part.copy() for part in np.split(event.y, [self.f, 2 * self.f]))

    def _rates(self, t: float, y: Array) -> Array:
        out = np.empty(len(y))
        self.kernel.rates(t, y, self.p, self.mode.constraints, out)
        return out

    def du_now(self) -> Array:
        """Accelerations at the present state in the present mode."""
        return self._rates(self.t, self._vector())[self.f : 2 * self.f]

    def _zeta(self) -> Array:
        return self.system.drift(self.q, self.u, self.t, self.p)

    def _accelerations(
        self, closed: np.ndarray, sense: Array, stopped: np.ndarray | None = None
    ) -> tuple[AccelerationProblem, Accelerations | None]:
        """The acceleration problem and its solution, None where there is none.

        Candidates whose friction depends on slip and that are let go get the coefficient of a slip that begins, and the
        sense of it is put into `sense`.
        """
        index = np.flatnonzero(closed)
        for _ in range(1 + len(index)):
            problem = self._problem(index, sense[index], stopped)
            solution = problem.solve()[0]
            if solution is None or not self.system.has_friction_laws:
                break
            loose = problem.candidate & (np.abs(solution.slide) > ROUND_OFF * problem.scale(solution)[:, 1])
            loose &= np.array(self.system.sliding_codes)[problem.index] != CONSTANT  # without the constraints
            if not loose.any():
                solution = problem.least_friction(solution, ROUND_OFF)
                break
            sense[problem.index[loose]] = np.sign(solution.slide[loose])
        return problem, solution

    def _problem(self, index: np.ndarray, s: Array, stopped: np.ndarray | None) -> AccelerationProblem:
        """The acceleration problem of the contacts `index` at the present state."""
        try:
            return AccelerationProblem.at(self.system, self.t, self.q, self.u, self.p, index, s, stopped)
        except LawError as problem:
            raise MotionError(self.t, str(problem).rstrip(".")) from None

    def _project(self, index: np.ndarray) -> None:
        """Remove what is left of the gaps of closed contacts; its energy is booked."""
        before = self.q
        springs = (self.kinds == SPRING) & (self.mode.stick != 0)
        index = np.union1d(index, np.flatnonzero(springs)).astype(int)
        self.q = onto_contacts(self.system, self.t, self.q, self.p, index, self.kinds == SPRING)
        if np.any(self.q != before):
            energies = [sum(self.system.energy(q, self.u, self.t, self.p)) for q in (before, self.q)]
            self.book.projection_energy += energies[1] - energies[0]
            self.book.projections += 1

    def _book_impulses(self, Lambda: Array, gamma_A: Array, gamma_E: Array) -> float:
        """Add impulses to those of the run; return their work [J]."""
        n = self.system.n_contacts
        self.integrals[:n] += Lambda[:, 0]
        self.integrals[n : 2 * n] += Lambda[:, 1]
        work = float((Lambda * 0.5 * (gamma_A + gamma_E))[self.kinds != SPRING].sum())
        self.integrals[-1] += work
        self.book.work = float(self.integrals[-1])
        return work
