"""Event-driven integration: the judge of the time steppers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from stickslip import codes
from stickslip.checks import LARGEST, Array, shown, whole_number
from stickslip.contact.planar import PlanarSolver, solver_from
from stickslip.engine import Block, Measured, Memory
from stickslip.events.arcs import Arc
from stickslip.events.book import Kept, MotionError
from stickslip.events.in_space import SpaceMotion, require_known
from stickslip.events.modes import onto_contacts
from stickslip.events.motion import Motion
from stickslip.events.space_arcs import SpaceKept
from stickslip.laws import ImpactLaw, Newton
from stickslip.mechanisms.engines import DONE, UNSOLVED, MechanismEngine
from stickslip.mechanisms.generate import PlainModule, compiled_module, module_or_plain
from stickslip.mechanisms.system import CONTACT, SPRING, System
from stickslip.trajectory import IMPACT, EventTable


@dataclass(frozen=True)
class EventDriven:
    """Smooth integration from event to event, with impacts between: no step size, only tolerances.

    Between events the motion obeys M du/dt = h + W lambda with the closed contacts as equality constraints, integrated
    by an explicit Runge-Kutta method of order 8 with dense output (DOP853).  Closing gaps, contacts that lose their
    load, slip that stops and stick that ends are roots of indicators on the dense output.  The complementarity problem
    on acceleration level ([GS05] end of 6) finds the next mode, the impact law the velocities after a collision.
    Infinitely many impacts in finite time are summed up once the impacts still to come last less than `zeno` of the
    run.

    Order 8 in smooth phases and across events, which are located to round-off; level: accelerations, impacts on
    velocity level; restitution: any impact law.  `dt` of `simulate` is the spacing of the records, nothing else.
    Reference: [S00] section 4.2; Pfeiffer and Glocker 1996.

    Parameters
    ----------
    rtol : relative tolerance of the integrator for coordinates and velocities
    atol : absolute tolerance, in the units of the coordinates; None: a thousandth of rtol
    gap_tol : gaps below this are closed, and minima of gaps within it graze without an impact [m]
    zeno : share of the run within which accumulating impacts are taken as one
    max_events : most events in a thousandth of the run
    max_step : longest step of the integrator [s]; None: as long as its errors, and what the model's expressions may
        hide, allow.  Functions of your own are not searched: of a short pulse in one, half its length finds it
    """

    rtol: float = 1e-10
    atol: float | None = None
    gap_tol: float = 1e-9
    zeno: float = 1e-7
    max_events: int = 10_000
    max_step: float | None = None

    name = "event-driven"
    level = "acceleration"
    impact_steps = 1

    def __post_init__(self) -> None:
        for key, low, high in (("rtol", 1e-13, 1e-2), ("gap_tol", 1e-15, 1.0), ("zeno", 1e-14, 1e-2)):
            value = getattr(self, key)
            if isinstance(value, bool) or not (isinstance(value, (int, float, np.floating)) and low <= value <= high):
                raise ValueError(f"{key} must be a number between {low:g} and {high:g}, got {shown(value)}.")
        right = isinstance(self.atol, (int, float)) and not isinstance(self.atol, bool)
        if self.atol is not None and not (right and 0.0 < self.atol <= LARGEST):
            raise ValueError(f"atol must be positive, or None for a thousandth of rtol, got {shown(self.atol)}.")
        whole_number(self.max_events, "max_events")
        right = isinstance(self.max_step, (int, float)) and not isinstance(self.max_step, bool)
        if self.max_step is not None and not (right and 0.0 < self.max_step <= LARGEST):
            raise ValueError(f"max_step must be positive [s], or None for no bound, got {shown(self.max_step)}.")

    @property
    def tolerances(self) -> tuple[float, float]:
        """The relative and the absolute one."""
        return float(self.rtol), 1e-3 * float(self.rtol) if self.atol is None else float(self.atol)

    def onto_contacts(self, system: System, q: Array, t: float, p: Array) -> Array:
        """Coordinates of a start without the small penetrations that a printed state may have ([GS05] Table I)."""
        kinds = np.array(system.contact_kinds, dtype=int)
        near = np.flatnonzero((kinds == CONTACT) & (system.start_gap(q, t, p) <= self.gap_tol))
        return onto_contacts(system, t, q, p, near, kinds == SPRING)

    def motion(
        self,
        system: System,
        q: Array,
        u: Array,
        p: Array,
        t0: float,
        t_end: float,
        law: ImpactLaw,
        solver: PlanarSolver,
        kernel: Any = None,
    ) -> Motion:
        """The walk from event to event of a checked state."""
        if len(system.spatial):
            walk: Any = SpaceMotion(
                system, p, law, solver, t0, q.copy(), u.copy(), t_end, *self.tolerances, float(self.gap_tol),
                float(self.zeno), self.max_events,
            )  # fmt: skip
        else:
            kernel = module_or_plain(system.branched, "smooth", "auto") if kernel is None else kernel
            walk = Motion(
                system, kernel, p, law, solver, t0, q.copy(), u.copy(), t_end,
                *self.tolerances, float(self.gap_tol), float(self.zeno), self.max_events,
            )  # fmt: skip
        walk.max_step = np.inf if self.max_step is None else float(self.max_step)
        found: Motion = walk
        return found

    def arcs(
        self,
        system: System,
        q0: Any,
        u0: Any,
        *,
        t_end: float,
        t0: float = 0.0,
        params: Mapping[Any, float] | None = None,
        law: ImpactLaw | None = None,
    ) -> Iterator[Arc]:
        """Yield the motion as smooth arcs with dense output, in the order of time: for sections and closer looks.

        Raises `MotionError` where the motion cannot go on.
        """
        q, u, p = system.check(q0, u0, params, t0)
        return self.motion(system, q, u, p, t0, t_end, law or Newton(), solver_from("auto")).arcs()


def measured(system: System, kernel: Any, q: Array, u: Array, t: Array, p: Array) -> tuple[Array, Array]:
    """Gaps (k, n) and energies (k, 2) of states; `kernel` is that of the system with its branches held."""
    gaps, energies = np.empty((len(t), system.n_contacts)), np.empty((len(t), 2))
    if system.branched is system and kernel is not None:
        kernel.measure(q, u, t, p, gaps, energies)
        return gaps, energies
    for i in range(len(t)):  # each state has branches of its own
        gaps[i], energies[i] = system.gap(q[i], t[i], p), system.energy(q[i], u[i], t[i], p)
    return gaps, energies


@dataclass(eq=False)
class EventEngine(MechanismEngine):
    """Marches a `Motion` over the records of a run: the walk from event to event is the motion's own."""

    system: System
    stepper: EventDriven
    solver: PlanarSolver
    law: ImpactLaw
    t_end: float
    motion: Motion | None = field(default=None, repr=False)
    kernels_alone: bool = False  # functions of users that are no kernels are refused, not run as plain Python

    name = "compiled"
    chooses_steps: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.work = 0.0  # of the contacts up to the last record [J]
        if len(self.system.spatial):
            require_known(self.system)
            self.kernel: Any = None
            self.name = "reference"
            return
        make = compiled_module if self.kernels_alone else module_or_plain
        self.kernel = make(self.system.branched, "smooth", "auto")
        if isinstance(self.kernel, PlainModule):
            self.name = "reference"

    def reason(self, memory: Memory, code: int) -> str:
        return memory.problem_text

    def _tolerances(self) -> tuple[float, float] | None:
        return self.stepper.tolerances

    def _finer(self) -> str:
        return "try a smaller atol and rtol"

    def _longest_step(self, memory: Memory) -> float:
        """0 [s]: no step size limits the accuracy of the contacts' energy, which is known exactly."""
        return 0.0

    def warm_up(self, memory: Memory, block: Block) -> None:
        """Compile the rates and indicators of the system, or load them from the disk cache."""
        if self.kernel is None:
            return
        y = np.concatenate([memory.q, memory.u, np.zeros(4 * self.system.n_contacts + 1)])
        motion = self._start(memory)
        motion._rates(memory.t0, y)
        motion._indicators(np.array([memory.t0]), y[None])

    def _start(self, memory: Memory) -> Motion:
        if self.motion is None:
            self.motion = self.stepper.motion(
                self.system, memory.q, memory.u, memory.p, memory.t0, self.t_end, self.law, self.solver, self.kernel
            )
            self.arcs = self.motion.arcs()
            self.arc: Arc | None = None
            self.totals = np.zeros((self.system.n_contacts, 2))  # impulses up to the last record
            self.written = 0  # impacts in the table so far
            self.struck = np.zeros(self.system.n_contacts, bool)
        return self.motion

    def arrays(self, memory: Memory) -> dict[str, np.ndarray]:
        """The state, and what the present arc began with; only the state before the first arc."""
        if self.motion is None or self.motion.kept is None:
            return memory.arrays()
        happened = np.array(self.motion.happened[: self.motion.kept.happened]).reshape(-1, 3)
        kept = {**self.motion.kept.arrays(), "totals": self.totals, "struck": self.struck, "happened": happened}
        return {**memory.arrays(), **{f"engine {name}": np.array(value) for name, value in kept.items()}}

    def take(self, memory: Memory, arrays: Mapping[str, np.ndarray]) -> None:
        """Go back to the state that `arrays` returned; the arc under way then is computed again."""
        self.motion = None  # an exception may have ended its walk
        kept = {name.removeprefix("engine "): x for name, x in arrays.items() if name.startswith("engine ")}
        if kept:
            of: Any = SpaceKept if self.kernel is None else Kept
            self._start(memory).go_back(of.from_arrays(kept))
            self.totals, self.struck = kept["totals"].copy(), kept["struck"].astype(bool)
            assert self.motion is not None
            self.motion.happened = [(t, int(kind), int(k)) for t, kind, k in kept["happened"].tolist()]
        memory.take(arrays)
        self.work = float(memory.book[codes.CONTACT_WORK])

    def march(self, memory: Memory, n_steps: int, block: Block) -> int:
        """Fill `block` with records of n_steps spacings; UNSOLVED where the motion ends, with the records so far."""
        motion = self._start(memory)
        block.records = 0
        numbers = memory.step + np.arange(1, n_steps + 1)
        times, done, code = memory.t0 + numbers * memory.dt, 0, DONE
        try:
            while done < n_steps:
                arc = self._arc_at(times[done])
                last = arc.t_E >= self.t_end
                count = n_steps if last else int(np.searchsorted(times, arc.t_E, side="left"))
                rows = arc.vector(np.minimum(times[done:count], arc.t_E))
                for number, y in zip(numbers[done:count], rows, strict=True):
                    self._record(memory, y, int(number), block, arc)
                done = count
        except MotionError as problem:
            memory.problem_text = f"failed at t = {problem.t:.9g} s: {problem}"
            code = UNSOLVED
        memory.advance(done)
        self._keep_books(memory, block, motion)
        return code

    def _arc_at(self, time: float) -> Arc:
        """The arc that holds a time; an arc's end belongs to the next one, after the event."""
        while self.arc is None or (self.arc.t_E <= time and self.arc.t_E < self.t_end):
            before = len(self.motion.impacts) if self.motion else 0
            self.arc = next(self.arcs)
            assert self.motion is not None
            for row in self.motion.impacts[before:]:
                self.struck[int(row[1])] = True
        return self.arc

    def _record(self, memory: Memory, y: Array, number: int, block: Block, arc: Arc) -> None:
        f, n = self.system.n_dof, self.system.n_contacts
        memory.q[:], memory.u[:] = y[:f], y[f : 2 * f]
        totals = y[2 * f : 2 * f + 2 * n].reshape(2, n).T
        self.work = float(y[-1])
        memory.impulse_sum[:] = totals - self.totals
        block.state[block.records] = np.where(self.struck, IMPACT, arc.mode.states())
        self.struck[:] = False
        if number % block.every == 0:
            block.record(memory)
            self.totals = totals.copy()

    def _keep_books(self, memory: Memory, block: Block, motion: Motion) -> None:
        new = motion.impacts[self.written :]
        self.written = len(motion.impacts)
        block.events = np.array(new).reshape(len(new), block.events.shape[1])
        block.n_events = len(new)
        book = motion.book
        memory.book[codes.MAX_RESIDUAL] = book.residual
        memory.book[codes.MAX_ENERGY_GAIN] = book.gain
        memory.book[codes.GAIN_STEP] = (book.gain_time - memory.t0) / memory.dt
        # with two tangents that of the last record, else that of the end of its arc
        memory.book[codes.CONTACT_WORK] = self.work if self.kernel is None else book.work
        memory.book[codes.MAX_LCP_SIZE] = book.lcp_size
        memory.book[codes.PROJECTION_ENERGY] = book.projection_energy
        memory.book[codes.PROJECTIONS] = book.projections
        memory.book[codes.ITERATIONS] = book.counts["instants"]
        memory.book[codes.CONSTRAINT_ERROR] = book.constraint_error
        memory.book[codes.CONSTRAINT_RATE] = book.constraint_rate

    def measure(self, memory: Memory, t: Array, q: Array, u: Array) -> Measured:
        return Measured(*measured(self.system, self.kernel, q, u, t, memory.p))

    def _catch_up(self, motion: Motion) -> None:
        """Compute the arc under way again where a run that went on had nothing left to do: it is counted, too."""
        if self.arc is None and motion.kept is not None:
            self._arc_at(-math.inf)

    def notes(self) -> dict[str, str]:
        """How often what happened."""
        if self.motion is None:
            return {}
        self._catch_up(self.motion)
        book = self.motion.book
        error = {"accumulation_error": f"{book.accumulation_error:.3g} s"} if book.accumulation_error else {}
        return {**{key: str(count) for key, count in book.counts.items() if count}, **error}

    def events(self) -> EventTable:
        """The events so far, in the order of time."""
        if self.motion is not None:
            self._catch_up(self.motion)
        return EventTable.of([] if self.motion is None else self.motion.happened, self.system.contact_names, True)
