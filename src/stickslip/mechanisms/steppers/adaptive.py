"""Moreau's midpoint rule with extrapolation and automatic step size: large accurate steps between events, small plain
ones across them, after Studer, Leine and Glocker 2008."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from stickslip import codes
from stickslip.checks import LARGEST, Array, shown
from stickslip.contact.planar import PlanarSolver
from stickslip.engine import Block, Measured, Memory
from stickslip.mechanisms.engines import DONE, EVENTS_FULL, UNSOLVED, Compiled, MechanismEngine, Reference
from stickslip.mechanisms.inertia import Contradiction, Inertia, onto_equations
from stickslip.mechanisms.steppers.contact_problem import roundings, spatial_rows, with_tangents
from stickslip.mechanisms.steppers.moreau_midpoint import MoreauMidpoint
from stickslip.mechanisms.system import CLUTCH, CONTACT, FRICTION, System

_GROWTH, _SHRINK, _SAFETY = 5.0, 0.2, 0.9
_BRIEF = 10.0  # a flight shorter than this many smallest steps is not resolved
_STILL = 1e-13  # of the terms of a normal velocity: rounding errors
_DIGITS = 32 * 2.0**-52  # of a coordinate, which the sums of an extrapolation make of its rounding
_LOADED, _UNLOADED = -1, -10  # Memory.last_loaded before a step 0: in the step before, or long ago
_LARGEST = (  # entries of the book that are maxima
    codes.MAX_RESIDUAL,
    codes.MAX_LCP_SIZE,
    codes.FRICTION_ROUNDS,
    codes.FRICTION_CONTRACTION,
)


@dataclass(frozen=True)
class Adaptive:
    """The midpoint rule, extrapolated over K runs with 1, 2, ..., K substeps, in steps that an error estimate chooses.

    A step is smooth if every contact is in the same state (open, stick, slip+, slip-) in all substeps of all runs: then
    its end is extrapolated.  The error expansion of the rule runs in H^2 where the forces do not depend on velocities
    and closed contacts keep their directions, in H otherwise.  Order in smooth phases: 2 K, or K (K - 1 on closed
    contacts whose directions turn).  A step in which a contact changes its state, or across a kink or jump of a law,
    is halved down to `smallest_step`, and then done by one plain midpoint step: order 1 in that step, velocity error of
    a switch O(smallest_step).  Velocity level; restitution: Newton's law in inequality form, for contacts that close.
    `dt` of `simulate` is the spacing of the records, on which steps end: a coarse one lets them grow.
    Reference: Studer, Leine and Glocker, Int. J. Numer. Meth. Engng 76 (2008) 1747-1781.

    Parameters
    ----------
    stepper : the rule that is extrapolated
    rtol : error of a step relative to the largest velocity so far, in the norm of the kinetic energy
    runs : K; None: 2 for rtol >= 1e-4, else 4
    smallest_step : length to which switching times are bisected [s]; None: rtol / 10 of the run
    largest_step : longest step [s]; None: the spacing of the records
    """

    stepper: MoreauMidpoint = field(default_factory=lambda: MoreauMidpoint(lasting=True))
    rtol: float = 1e-6
    runs: int | None = None
    smallest_step: float | None = None
    largest_step: float | None = None

    name = "adaptive"
    level = "velocity"
    impact_steps = 1

    def __post_init__(self) -> None:
        if not isinstance(self.stepper, MoreauMidpoint):
            raise ValueError(f"stepper must be MoreauMidpoint(), whose error expansion is known, got {self.stepper!r}.")
        object.__setattr__(self, "stepper", replace(self.stepper, lasting=True))
        if self.stepper.projection > 0.0:
            raise ValueError("stepper must be without projection, which has no error expansion to extrapolate.")
        if isinstance(self.rtol, bool) or not (isinstance(self.rtol, (int, float)) and 1e-12 <= self.rtol <= 1e-1):
            raise ValueError(f"rtol must lie between 1e-12 and 0.1, got {shown(self.rtol)}.")
        if self.runs is not None and (isinstance(self.runs, bool) or self.runs not in range(2, 9)):
            raise ValueError(f"runs must be a whole number from 2 to 8, got {shown(self.runs)}.")
        for key in ("smallest_step", "largest_step"):
            value = getattr(self, key)
            if value is not None and not (isinstance(value, (int, float)) and 0.0 < value <= LARGEST):
                raise ValueError(f"{key} must be a positive time in seconds, or None, got {shown(value)}.")

    @property
    def columns(self) -> int:
        """K, the number of runs of a step."""
        return self.runs or (2 if self.rtol >= 1e-4 else 4)


@dataclass(frozen=True)
class Trial:
    """A run over a step: its memory at the end, impulses (substeps, n, 2) and states (substeps, n), impacts."""

    memory: Memory
    impulses: Array
    states: np.ndarray
    events: Array

    @property
    def impulse(self) -> Array:
        """Impulses of the whole step, (n, 2)."""
        return np.asarray(self.impulses.sum(axis=0))

    def vector(self) -> Array:
        """The numbers that are extrapolated: all for which the error expansion holds."""
        memory = self.memory
        return np.concatenate([memory.q, memory.u, self.impulse.ravel(), [memory.book[codes.CONTACT_WORK]]])


class Failed(ArithmeticError):
    """A run of the inner rule stopped with this status code."""

    def __init__(self, code: int) -> None:
        super().__init__(f"the midpoint rule stopped with code {code}")
        self.code = code


_Seen = tuple[tuple[Array, Array, Array], Array, Inertia]
"""Directions (W_N, W_T, w_hat), drifts zeta and inertia at a state."""


@dataclass(eq=False)
class AdaptiveEngine(MechanismEngine):
    """Marches the records of a run in steps of its own; the runs of a step are done by another engine."""

    system: System
    stepper: Adaptive
    solver: PlanarSolver
    inner: Compiled | Reference
    rescue: Reference  # for steps that the lean solvers of a kernel leave inaccurate
    t_end: float
    steps_in_all: int
    H: float = 0.0  # next step to try [s]
    barrier: float = math.inf  # a switch is known to lie before this time [s]
    mode: np.ndarray | None = None  # contact states of the last step, if it was smooth
    velocity: float = 0.0  # largest velocity so far, norm of the kinetic energy
    longest_step: float = 0.0  # so far [s]
    counts: dict[str, int] = field(
        default_factory=lambda: {"smooth_steps": 0, "switching_steps": 0, "rejected_steps": 0, "force_evaluations": 0}
    )
    _start: tuple[Any, _Seen] | None = field(default=None, repr=False)  # what was seen where a step begins

    chooses_steps: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return self.inner.name

    def warm_up(self, memory: Memory, block: Block) -> None:
        self.inner.warm_up(memory, block)

    def measure(self, memory: Memory, t: Array, q: Array, u: Array) -> Measured:
        return self.inner.measure(memory, t, q, u)

    def notes(self) -> dict[str, str]:
        return {key: str(value) for key, value in self.counts.items()}

    def _finer(self) -> str:
        return "try a smaller smallest_step, or a smaller rtol"

    def _step_length(self, memory: Memory) -> float:
        return self.plain_step(memory)

    def _longest_step(self, memory: Memory) -> float:
        return self.longest_step

    def arrays(self, memory: Memory) -> dict[str, np.ndarray]:
        """The state, the choice of steps, and what is counted."""
        return {
            **memory.arrays(),
            "engine numbers": np.array([self.H, self.barrier, self.velocity, self.longest_step]),
            "engine mode": np.zeros(0, np.int8) if self.mode is None else self.mode.copy(),
            "engine counts": np.array(list(self.counts.values())),
        }

    def take(self, memory: Memory, arrays: Mapping[str, np.ndarray]) -> None:
        self.H, self.barrier, self.velocity, self.longest_step = arrays["engine numbers"].tolist()
        known = len(arrays["engine mode"]) == self.system.n_contacts > 0
        self.mode = arrays["engine mode"].copy() if known else None
        self.counts = dict(zip(self.counts, arrays["engine counts"].tolist(), strict=True))
        memory.take(arrays)

    def march(self, memory: Memory, n_steps: int, block: Block) -> int:
        """Go on to the records among the next n_steps spacings, at least to the next one; return the status code.

        Steps end on records alone, wherever the calls are cut, so that a run does not depend on the cutting.
        """
        dt, every = memory.dt, block.every
        shortest = min(dt * every, self.stepper.largest_step or math.inf)
        if self.plain_step(memory) > shortest:
            raise ValueError(
                f"smallest_step must not exceed the spacing of the records or largest_step, {shortest:g} s, "
                f"got {self.plain_step(memory):g}."
            )
        block.records = block.n_events = 0
        goal = memory.step + n_steps
        events: list[Array] = []
        code = DONE
        while memory.step < min(goal, self.steps_in_all) and code == DONE and block.records + 1 < len(block.q):
            number = min((memory.step // every + 1) * every, self.steps_in_all)
            try:
                self._reach(memory, memory.t, memory.t0 + number * dt, block.state[block.records], events)
            except Failed as problem:
                code = problem.code
                break
            memory.advance(number - memory.step)
            if number % every == 0:
                block.record(memory)
        block.events = np.array(events).reshape(len(events), block.events.shape[1])
        block.n_events = len(events)
        return code

    def _reach(self, memory: Memory, t: float, t_record: float, state: np.ndarray, events: list[Array]) -> None:
        """Step from t to t_record, updating memory and the contact states."""
        smallest = self.plain_step(memory)
        largest = self.stepper.largest_step or math.inf
        self.H = self.H or max(
            smallest, 1e-3 * (self.t_end - memory.t0)
        )  # no estimate can be trusted on a first long one
        while t < t_record - 1e-9 * smallest:
            rest = t_record - t
            H = min(self.H, largest, rest)
            if t + H >= self.barrier:  # bisect towards the switch
                H = min(max(0.5 * (self.barrier - t), smallest), rest)
            if self.barrier > t + smallest and self._smooth_step(memory, t, H, state):
                t += H
            elif H <= smallest * (1.0 + 1e-9):
                self._plain_step(memory, t, H, state, events)
                t += H

    def plain_step(self, memory: Memory) -> float:
        """Length to which switching times are bisected, and of the steps across them [s]."""
        return self.stepper.smallest_step or 0.1 * self.stepper.rtol * (self.t_end - memory.t0)

    def _smooth_step(self, memory: Memory, t: float, H: float, state: np.ndarray) -> bool:
        """Try an extrapolated step over [t, t + H]; False, with a shorter step to try, where it is refused."""
        columns, mode, trials = self.stepper.columns, self.mode, []
        try:
            for n in range(1, columns + 1):
                trial = self._run(memory, t, H, n)
                mode = trial.states[0] if mode is None else mode
                if np.any(trial.states != mode) or np.any(mode == codes.IMPACT):
                    return self._refuse_switch(t, H)
                trials.append(trial)
        except Failed:
            return self._refuse_switch(t, H)
        assert mode is not None
        power = self._power(mode)
        best, second = extrapolate([trial.vector() for trial in trials], power)
        f = self.system.n_dof
        q, u = self._held(best[:f], best[f : 2 * f], t + H, memory)
        if (
            self._penetrates(memory, t, H, q, u, mode)
            or self._turns_back(q, u, t + H, memory.p, mode)
            or self._lets_go(trials[-1].impulses, H, mode, (q, t + H), memory.p)
            or self._crosses_kink(memory, t, H, q)
        ):
            return self._refuse_switch(t, H)
        error = self._error(memory, t, H, q, u, best[:f] - second[:f], best[f : 2 * f] - second[f : 2 * f])
        factor = _SAFETY * (self.stepper.rtol / max(error, 1e-300)) ** (1.0 / (power * (columns - 1) + 1))
        if not error <= self.stepper.rtol:
            self.counts["rejected_steps"] += 1
            self.H = H * min(_SAFETY, max(_SHRINK, factor))
            return False
        grown = H * min(_GROWTH, factor)
        self.H = grown if H >= self.H else max(self.H, grown)  # a step cut by a record says nothing about longer ones
        impulse = best[2 * f : -1].reshape(-1, 2)
        self._accept(memory, t, q, u, impulse, trials, best[-1])
        self._measure_constraints(memory, t + H)
        self._note_penetration(memory, np.max(-self.system.gap(q, t + H, memory.p), initial=0.0, where=self.touching))
        self.mode, self.longest_step = mode, max(self.longest_step, H)
        state[:] = mode
        self.counts["smooth_steps"] += 1
        return True

    def _crosses_kink(self, memory: Memory, t: float, H: float, q: Array) -> bool:
        """Whether a kink or a jump of the model, such as that of mu(x), lies between the state and q at t + H.

        All midpoints of all runs may lie on one side of it; then no estimate sees what it does in the rest of the step.
        """
        system = self.system.branched
        branches = np.ones(len(system.kink_contacts))
        for _ in branches:  # levels of some kinks depend on other branches
            levels = system.kinks(memory.q, t, np.concatenate([memory.p, branches]))
            branches = np.where(levels < 0.0, -1.0, 1.0)
        if not len(branches):
            return False
        p = np.concatenate([memory.p, branches])
        return bool(np.any(system.kinks(memory.q, t, p) * system.kinks(q, t + H, p) < 0.0))

    def _held(self, q: Array, u: Array, t: float, memory: Memory) -> tuple[Array, Array]:
        """An extrapolated state onto the constraints, which each run of a step has met, but not their combination."""
        if not len(self.system.constraints):
            return q, u
        try:
            q = onto_equations(self.system, t, q, memory.p)
            u, _ = Inertia.at(self.system, q, t, memory.p).onto(u)
        except Contradiction as problem:
            memory.problem_text = str(problem)
            raise Failed(UNSOLVED) from None
        return q, u

    def _measure_constraints(self, memory: Memory, t: float) -> None:
        """Book what is left of the constraints' equations in the present state."""
        index, book = self.system.constraints, memory.book
        if len(index):
            error = np.abs(self.system.gap(memory.q, t, memory.p)[index])
            rate = np.abs(Inertia.at(self.system, memory.q, t, memory.p).rate(memory.u))
            book[codes.CONSTRAINT_ERROR] = max(book[codes.CONSTRAINT_ERROR], float(error.max()))
            book[codes.CONSTRAINT_RATE] = max(book[codes.CONSTRAINT_RATE], float(rate.max()))

    def _refuse_switch(self, t: float, H: float) -> bool:
        """Note that a contact changes its state within [t, t + H]."""
        self.counts["rejected_steps"] += 1
        self.barrier = t + H
        return False

    def _plain_step(self, memory: Memory, t: float, H: float, state: np.ndarray, events: list[Array]) -> None:
        """One step of the rule itself, in which contacts may change their states.

        An impact after which a contact would only hop is the last of its accumulation: it is done without restitution.
        """
        trial = self._run(memory, t, H, 1)
        hops = (trial.states[-1] == codes.IMPACT) & self._brief(trial.memory, t + H, self.plain_step(memory))[1]
        if hops.any():
            trial = self._run(memory, t, H, 1, hops)
        end = trial.memory
        self._accept(memory, t, end.q, end.u, trial.impulse, [trial], end.book[codes.CONTACT_WORK])
        self._note_penetration(memory, end.book[codes.MAX_PENETRATION])
        self._measure_constraints(memory, t + H)
        events.extend(trial.events)
        self._settle(memory, t + H)
        self.barrier, self.mode = math.inf, None
        state[:] = trial.states[-1]
        self.counts["switching_steps"] += 1

    @property
    def touching(self) -> np.ndarray:
        """Which contacts have a gap that can penetrate."""
        return np.array(self.system.contact_kinds, dtype=int) == CONTACT

    @staticmethod
    def _note_penetration(memory: Memory, depth: float) -> None:
        """Of plain steps at their midpoints; of smooth ones at their ends: coarse runs over a step are extrapolated."""
        memory.book[codes.MAX_PENETRATION] = max(memory.book[codes.MAX_PENETRATION], depth)

    def _settle(self, memory: Memory, t: float) -> None:
        """Let contacts go that leave after an impact, but for those whose flight is too short to resolve."""
        gamma_N, brief = self._brief(memory, t, self.plain_step(memory))
        leaves = (gamma_N > 0.0) & ~brief & self.touching
        memory.reach[leaves], memory.last_loaded[leaves] = 0.0, _UNLOADED

    def _brief(self, memory: Memory, t: float, smallest: float) -> tuple[Array, np.ndarray]:
        """Normal velocities, and which contacts would be back after a flight that is too short to resolve.

        A contact that leaves with gamma_N and is pulled back with a returns after 2 gamma_N / a.  Where that is a few
        smallest steps, the errors of which may have made the whole hop, the accumulation of impacts is over.
        """
        system, q, p = self.system, memory.q, memory.p
        W_N, _, w_hat = system.geometry(q, t, p)
        inertia, zeta = Inertia.at(system, q, t, p), system.drift(q, memory.u, t, p)
        pull = W_N @ inertia.accelerate(system.force(q, memory.u, t, p), zeta[inertia.index, 1])[0]
        turn = zeta[:, 0]
        gamma_N = W_N @ memory.u + w_hat[:, 0]
        return gamma_N, (pull + turn < 0.0) & (2.0 * gamma_N < _BRIEF * smallest * (np.abs(pull) + np.abs(turn)))

    def _run(self, memory: Memory, t: float, H: float, n: int, held: np.ndarray | None = None) -> Trial:
        """n substeps of the inner rule over [t, t + H], those `held` without restitution; `memory` stays as it is."""
        contacts, h = self.system.n_contacts, H / n
        turning = self._turning(memory, t, h, held)
        trial = self._trial(memory, t, h, held, turning)
        block = Block.room(n, n * max(1, contacts) + contacts, memory.sizes)
        code = self.inner.march(trial, n, block)
        if code == UNSOLVED and self.inner is not self.rescue:
            trial = self._trial(memory, t, h, held, turning)
            code = self.rescue.march(trial, n, block)
        self.counts["force_evaluations"] += trial.step
        if code not in (DONE, EVENTS_FULL):
            memory.problem_text = trial.problem_text
            memory.book[codes.CULPRIT] = trial.book[codes.CULPRIT]
            raise Failed(code)
        trial.last_loaded[:] = np.where(trial.last_loaded == n - 1, _LOADED, _UNLOADED)
        trial.impulse_before /= h
        trial.u -= self._half_a_turn(trial.q, trial.u, t + H, memory.p, h, turning)
        return Trial(trial, block.impulse[:n], block.state[:n], block.events[: block.n_events])

    def _trial(self, memory: Memory, t: float, h: float, held: np.ndarray | None, turning: np.ndarray) -> Memory:
        """Memory for a run with substeps h that starts where `memory` stands."""
        u = memory.u + self._half_a_turn(memory.q, memory.u, t, memory.p, h, turning)
        trial = Memory.start(memory.q, u, memory.p, t, self.system.n_contacts, h)
        trial.impulse_before[:] = h * memory.impulse_before  # between steps of unequal length it holds forces
        trial.last_loaded[:], trial.reach[:] = memory.last_loaded, memory.reach
        trial.carried[:, 2] = memory.carried[:, 2]  # which contacts stick
        if held is not None:
            trial.reach[held] = np.maximum(trial.reach[held], np.finfo(float).tiny)
        return trial

    def _turning(self, memory: Memory, t: float, h: float, held: np.ndarray | None) -> np.ndarray:
        """Whether the rule holds gamma = 0 of a contact from t on, normal and tangential, (n, 2); see `_half_a_turn`.

        Normal: of contacts that `memory` has as lasting, or `held`, and of clutches that carry a load; tangential: of
        contacts among them, and of dry frictions, that stick, or slip no faster than their direction turns in a
        substep h.  The direction of a clutch or of a dry friction turns where what it is held to is driven.
        """
        system = self.system
        kinds = np.array(system.contact_kinds, dtype=int)
        lasting = memory.reach > 0.0 if held is None else (memory.reach > 0.0) | held
        closed = (lasting & self.touching) | ((kinds == CLUTCH) & (memory.last_loaded == _LOADED))
        held_by_friction = closed | (kinds == FRICTION)
        if system.directions_constant or not held_by_friction.any():
            return np.zeros((len(closed), 2), bool)
        (_, W_T, w_hat), zeta, _ = self._look(memory.q, memory.u, t, memory.p, starts=True)
        zeta_T = zeta[:, 1]
        slides = np.abs(W_T @ memory.u + w_hat[:, 1]) - h * np.abs(zeta_T) > 0.0
        for k in system.spatial:  # both tangents together
            gamma = W_T[k : k + 2] @ memory.u + w_hat[k : k + 2, 1]
            slides[k : k + 2] = np.linalg.norm(gamma) > h * np.linalg.norm(zeta_T[k : k + 2])
        return np.column_stack([closed, with_tangents(kinds, held_by_friction) & ~slides])

    def _look(self, q: Array, u: Array, t: float, p: Array, starts: bool = False) -> _Seen:
        """Directions, drifts and inertia at a state; those of a start are kept: all runs of a step begin there."""
        key = (q.tobytes(), u.tobytes(), t, p.tobytes())
        if self._start is not None and self._start[0] == key:
            return self._start[1]
        directions = self.system.geometry(q, t, p)
        found = directions, self.system.drift(q, u, t, p), Inertia.at(self.system, q, t, p, None, directions)
        if starts:
            self._start = key, found
        return found

    def _half_a_turn(self, q: Array, u: Array, t: float, p: Array, h: float, turning: np.ndarray) -> Array | float:
        """Part of u at (t, q) within a run in substeps h beyond velocities at which `turning` contacts have gamma = 0.

        The rule holds gamma = 0 of a closed contact at its midpoints, by the directions there.  Where directions turn,
        gamma changes by zeta dt: half a substep after a midpoint it is zeta h / 2.  A run that started with gamma = 0
        would see half of the turn alone in its first substep, and might let go or stick for it; after a run that ended
        with zeta h / 2 a contact that lets go would fall.
        """
        if not turning.any():
            return 0.0
        (W_N, W_T, _), zeta, inertia = self._look(q, u, t, p)
        rows = np.stack([W_N, W_T], axis=1)[turning]
        V = inertia.solve(rows.T)
        gamma = 0.5 * h * zeta[turning]
        return np.asarray(V @ np.linalg.lstsq(rows @ V, gamma, rcond=1e-10)[0])

    def _power(self, mode: np.ndarray) -> int:
        """Power of H in which the error of the rule expands."""
        turning = not self.system.directions_constant and bool(np.any(mode != codes.OPEN))
        # a coefficient that depends on the end velocity of its step makes the rule one of first order
        slides = self.system.has_friction_laws and bool(np.isin(mode, (codes.SLIP_PLUS, codes.SLIP_MINUS)).any())
        return 1 if self.system.force_depends_on_u or turning or slides else 2

    def _penetrates(self, memory: Memory, t: float, H: float, q: Array, u: Array, mode: np.ndarray) -> bool:
        """Whether a contact that is open throughout a step falls below its surface, or falls on there.

        A contact that lost its load below the surface, where plain steps had left it, rises: that is no fall.
        """
        system, p = self.system, memory.p
        rounding = roundings(system, q, t + H, p)
        before, after = system.gap(memory.q, t, p), system.gap(q, t + H, p)
        W_N, _, w_hat = system.geometry(q, t + H, p)
        gamma_N = W_N @ u + w_hat[:, 0]
        at_rest = _STILL * (np.abs(W_N) @ np.abs(u) + np.abs(w_hat[:, 0]))
        falls = (after < 0.0) & ((after < before - rounding) | (gamma_N < -at_rest))
        return bool(np.any(falls & self.touching & (mode == codes.OPEN)))

    def _turns_back(self, q: Array, u: Array, t: float, p: Array, mode: np.ndarray) -> bool:
        """Whether a free clutch is overtaken, or a slip has changed its sign, where a step ends.

        The rule looks at velocities at its ends with the directions at its midpoints.  Where these turn, a clutch that
        was overtaken behind the last midpoint would be found by the next step as a blow.
        """
        system = self.system
        if system.directions_constant:
            return False
        kinds = np.array(system.contact_kinds, dtype=int)
        W_N, W_T, w_hat = system.geometry(q, t, p)
        gamma = np.stack([W_N @ u, W_T @ u], axis=1) + w_hat
        at_rest = _STILL * (np.stack([np.abs(W_N) @ np.abs(u), np.abs(W_T) @ np.abs(u)], axis=1) + np.abs(w_hat))
        planar = np.ones(len(kinds))
        planar[[*system.spatial, *(k + 1 for k in system.spatial)]] = 0.0  # of two tangents no sign says anything
        sign = np.select([mode == codes.SLIP_PLUS, mode == codes.SLIP_MINUS], [1.0, -1.0]) * planar
        overtaken = (kinds == CLUTCH) & (mode == codes.OPEN) & (gamma[:, 0] < -at_rest[:, 0])
        return bool(np.any(overtaken) or np.any(sign * gamma[:, 1] < -at_rest[:, 1]))

    def _lets_go(self, impulses: Array, H: float, mode: np.ndarray, place: tuple[Array, float], p: Array) -> bool:
        """Whether a contact loses its load, or its stick, between the last midpoint and the end of a step.

        Load and margin of the friction cone are carried on from the midpoints of the last two substeps.  Where
        directions turn, velocities are held at midpoints, and the impulse of a substep is as of its begin.
        """
        mu, _, _, threshold = self.system.laws_at(*place, p)
        N, T = impulses[-2:, :, 0], np.abs(impulses[-2:, :, 1])
        space = spatial_rows(self.system, np.arange(self.system.n_contacts))
        if space is not None:  # of two tangents, their share of the bound; in the row of the contact
            for i in range(len(N)):
                T[i, space.first] = space.shares(mu, N[i], impulses[-2:][i, :, 1]) * mu[space.first] * N[i, space.first]
                T[i, space.second] = 0.0
        margin = mu * N + threshold * (H / len(impulses)) - T
        ahead = 0.5 if self.system.directions_constant else 1.0  # substeps
        load_at_end, margin_at_end = ((1.0 + ahead) * x[-1] - ahead * x[0] for x in (N, margin))
        loaded = (N > 0.0).all(axis=0)
        return bool(np.any(loaded & (load_at_end <= 0.0)) or np.any((mode == codes.STICK) & (margin_at_end < 0.0)))

    def _error(self, memory: Memory, t: float, H: float, q: Array, u: Array, dq: Array, du: Array) -> float:
        """Estimate |T_KK - T_K,K-1| of u, and of q by the run's time scale, against the largest velocity so far."""
        M = self.system.mass(q, t + H, memory.p)

        def size(v: Array) -> float:
            return math.sqrt(max(0.0, float(v @ M @ v)))

        self.velocity = max(self.velocity, size(u), size(memory.u), size(u - memory.u))
        # far from the origin the last digits of a place are no error of the step
        dq = np.copysign(np.maximum(0.0, np.abs(dq) - _DIGITS * (np.abs(q) + np.abs(memory.q))), dq)
        worst = max(size(du), size(dq) / (self.plain_step(memory) / self.stepper.rtol))
        return worst / self.velocity if worst > 0.0 else 0.0

    def _accept(
        self, memory: Memory, t: float, q: Array, u: Array, impulse: Array, trials: list[Trial], work: float
    ) -> None:
        """Take over the end of a step and what its runs wrote into their books."""
        last, book = trials[-1].memory, memory.book
        memory.q[:], memory.u[:] = q, u
        memory.impulse_sum += impulse
        memory.last_loaded[:], memory.impulse_before[:] = last.last_loaded, last.impulse_before
        memory.carried[:, 2] = last.carried[:, 2]
        memory.reach[:] = np.max([trial.memory.reach for trial in trials], axis=0) * (last.last_loaded == _LOADED)
        for trial in trials:
            other = trial.memory.book
            for item in _LARGEST:
                book[item] = max(book[item], other[item])
            if other[codes.MAX_ENERGY_GAIN] > book[codes.MAX_ENERGY_GAIN]:
                book[codes.MAX_ENERGY_GAIN] = other[codes.MAX_ENERGY_GAIN]
                book[codes.GAIN_STEP] = (t - memory.t0) / memory.dt
            for item in (codes.FAILED_STEPS, codes.ITERATIONS, codes.FALLBACKS):
                book[item] += other[item]
        book[codes.CONTACT_WORK] += work


def extrapolate(rows: list[Array], power: int) -> tuple[Array, Array]:
    """Best value and its predecessor in the table of runs with 1, 2, ... substeps, error expansion in H^power.

    T_jk = T_j,k-1 + (T_j,k-1 - T_j-1,k-1) / ((n_j / n_j-k+1)^power - 1), Aitken and Neville.
    """
    table = [rows[0]]
    for j in range(1, len(rows)):
        line = [rows[j]]
        for k in range(1, j + 1):
            ratio = ((j + 1) / (j - k + 1)) ** power
            line.append(line[-1] + (line[-1] - table[k - 1]) / (ratio - 1.0))
        table = line
    return table[-1], table[-2] if len(table) > 1 else table[-1]
