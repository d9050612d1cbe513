"""`simulate`: the time loop. It validates, marches in pieces, shows progress, and never loses what was computed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from stickslip._version import __version__
from stickslip.compiled import sources_hash
from stickslip.complementarity.planar import PlanarSolver, solver_from
from stickslip.interrupts import opened, poll, uninterrupted
from stickslip.jit.cpu import COMPILER
from stickslip.jit.making import Clock, running
from stickslip.kernels import codes
from stickslip.kernels.generate import NotKernels
from stickslip.laws import ImpactLaw, Newton, law_from
from stickslip.model.system import Array, System, real_number, require_system
from stickslip.stepping.adaptive import Adaptive, AdaptiveEngine
from stickslip.stepping.bounds import Bounds
from stickslip.stepping.compiling import FIRST_TIME
from stickslip.stepping.contact_problem import active_contacts, roundings
from stickslip.stepping.cost import tell_time
from stickslip.stepping.engines import DONE, EVENTS_FULL, UNSOLVED, Compiled, Memory, Reference
from stickslip.stepping.event_driven import EventDriven, EventEngine
from stickslip.stepping.moreau_jean import MoreauJean
from stickslip.stepping.moreau_midpoint import MoreauMidpoint, consistent_velocities
from stickslip.stepping.paoli_schatzman import PaoliSchatzman
from stickslip.stepping.penetration import PENETRATION_TOLERANCE, check_penetration, penetration_tolerance
from stickslip.stepping.records import Store
from stickslip.stepping.sliding import sticking_at_start
from stickslip.stepping.stepper import Stepper
from stickslip.stepping.stewart_trinkle import StewartTrinkle
from stickslip.trajectory import IMPACT_COLUMNS, Trajectory

Integrator = Stepper | EventDriven | Adaptive
Engine = Compiled | Reference | EventEngine | AdaptiveEngine
STEPPERS: dict[str, type[Integrator]] = {
    stepper.name: stepper
    for stepper in (MoreauMidpoint, MoreauJean, PaoliSchatzman, StewartTrinkle, Adaptive, EventDriven)
}
"""Every stepper under the name that `stepper=` and `--stepper` take."""
ENGINES = ("auto", "compiled", "reference")
ON_FAILURE = ("stop", "continue")
ON_ENERGY_GAIN = ("warn", "raise", "ignore")
_PIECE_SECONDS = 0.1
_FIRST_PIECE, _FIRST_PIECE_OF_KERNELS = 1, 5_000  # steps
_MAX_RECORDS_PER_PIECE = 50_000
_MANY_STEPS = 10_000_000
_START = "q0 (`start` of a coordinate in a model file)"


def simulate(
    system: System,
    q0: Any,
    u0: Any,
    *,
    dt: float,
    t_end: float,
    stepper: str | Integrator = "moreau-midpoint",
    solver: str | PlanarSolver = "auto",
    law: str | ImpactLaw | None = None,
    params: Mapping[Any, float] | None = None,
    every: int = 1,
    t0: float = 0.0,
    engine: str = "auto",
    initialise: bool = False,
    penetration_tol: float = PENETRATION_TOLERANCE,
    on_failure: str = "stop",
    on_energy_gain: str = "warn",
    progress: bool | Callable[[int], None] | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    resume: bool = False,
) -> Trajectory:
    """Compute the motion of a system from (q0, u0) and return it with its certificate.

    Parameters
    ----------
    system : what moves; see `LagrangianSystem`.
    q0, u0 : initial coordinates and velocities, shape (f,).
    dt, t_end : step size and end time [s]; the number of steps is (t_end - t0) / dt, rounded.  For "event-driven" and
        "adaptive", which choose their steps, dt is the spacing of the records.
    stepper : "moreau-midpoint", "moreau-jean", "paoli-schatzman", "stewart-trinkle", "adaptive", "event-driven" or a
        stepper object such as `MoreauJean(theta=1)`.
    solver : "auto", "lemke", "gauss-seidel", "enumerate", "newton", "augmented-lagrangian" or a solver object.
    law : impact law, an object or "newton", "poisson", "stronge", "walton" with the contacts' own coefficients; None is
        Newton's, as compiled.  Others run on the reference engine; `Stronge` and `Walton` know one contact and stop
        where two are closed at once.
    params : parameter values that differ from the system's own, by name.
    every : record every N-th step; the impulses of a record are sums over the steps since the one before.
    engine : "compiled", "reference" (plain NumPy), or "auto": compiled where stepper and solver have a kernel.
    initialise : first make the initial velocities consistent with the closed contacts by an impact at t0 (dt = 0); it
        stands first in `impacts()`, and the first record is the state after it.
    penetration_tol : deepest initial penetration that is accepted [m].
    on_failure : "stop" at a step whose contact problem is not solved and return what there is, or "continue", counted.
    on_energy_gain : what to do when the contacts put energy in during a step (unequal restitution coefficients can):
        "warn", "raise" `EnergyGain`, which holds the trajectory, or "ignore".  Gains below what one step of the forces
        does are the scheme's resolution and never reported.
    progress : show a progress bar on stderr (None: when the run takes more than two seconds and stderr is a terminal);
        or a function of the number of steps done, called some times a second, which may raise KeyboardInterrupt to end
        the run as Ctrl-C does.
    out : stream the records to this netCDF file while they are computed; the returned trajectory is thinned where it
        would not fit into memory.
    overwrite : allow `out` to replace a trajectory of ours.
    resume : go on with the run that `out` holds where it was interrupted or killed, at its last checkpoint; the end is
        the same, bit for bit.  Starts anew where there is nothing to go on with, and returns a finished run as it is;
        `attributes["resumed"]` of the trajectory says which, and from which t.
        A finished one goes on to a later t_end, but for "event-driven" and "adaptive", which divide the whole run.

    Ctrl-C, a failed step or a state that is no longer finite end the run; the trajectory so far is returned with
    `complete` False and `status` saying where and why.  Bad input raises ValueError before anything is computed.
    """
    run = Run.prepare(
        system,
        q0,
        u0,
        dt,
        t_end,
        stepper,
        solver,
        params,
        every,
        t0,
        engine,
        initialise,
        penetration_tol,
        on_failure,
        on_energy_gain,
        law,
    )
    with uninterrupted():
        store = Store(run, out, overwrite, resume)
        try:
            with opened():
                _warm_up(run, store, sys.stderr.isatty() if progress is None else progress is True)
                _tell_time(run, store)
            store.start_clock()
            with progress_bar(progress, run.system.name, run.steps, run.memory.step) as advance:
                status, complete = _march(run, store, advance)
            trajectory = store.finish(status, complete, time.perf_counter() - store.begin)
        except BaseException as problem:
            store.rescue(time.perf_counter() - store.begin, problem)
            raise
    if isinstance(run.engine, (EventEngine, AdaptiveEngine)):
        trajectory = trajectory.with_attributes(**run.engine.notes())
    if isinstance(run.engine, EventEngine):
        trajectory = replace(trajectory, event_table=run.engine.events())
    if on_energy_gain != "ignore":
        _report_gain(run, trajectory, on_energy_gain)
    return trajectory


class EnergyGain(ArithmeticError):
    """Raised with on_energy_gain="raise"; `trajectory` is the motion that was computed."""

    def __init__(self, message: str, trajectory: Trajectory) -> None:
        super().__init__(message)
        self.trajectory = trajectory


def _report_gain(run: Run, trajectory: Trajectory, what: str) -> None:
    """Warn or raise where a contact gained more energy than the scheme's own resolution, dt h . M^-1 h dt.

    On position level it is what the forces do in a step at the largest speed: an impact ends within its two steps.
    """
    gain = trajectory.certificate.max_energy_gain
    resolution, dt = 0.0, run.dt
    if isinstance(run.engine, (EventEngine, AdaptiveEngine)):
        dt = run.engine.longest_step
    for i in (0, -1):
        t, q, u = float(trajectory.t[i]), trajectory.q[i], trajectory.u[i]
        h = run.system.force(q, u, t, run.memory.p)
        resolution = max(resolution, float(h @ np.linalg.solve(run.system.mass(q, t, run.memory.p), h)) * dt * dt)
    kinetic = float(np.max(trajectory.energy.kinetic, initial=0.0))
    if isinstance(run.stepper, Stepper) and run.stepper.level == "position":
        resolution += math.sqrt(resolution * 2.0 * kinetic)
    if not gain > 2.0 * resolution + 1e-12 * kinetic:
        return
    time_of_gain = run.memory.t0 + run.memory.book[codes.GAIN_STEP] * run.dt
    message = (
        f"the contacts of {run.system.name!r} put {gain:.3g} J in during the step to t = {time_of_gain:.9g} s; "
        "unequal restitution coefficients can do that under Newton's law"
    )
    if what == "raise":
        raise EnergyGain(message, trajectory)
    warnings.warn(message, RuntimeWarning, stacklevel=3)


@dataclass
class Run:
    """A checked request and the state of its execution."""

    system: System
    stepper: Integrator
    solver: PlanarSolver
    engine: Engine
    memory: Memory
    dt: float
    steps: int
    every: int
    go_on: bool
    q0: Array
    u0: Array
    law: ImpactLaw
    first_impacts: Array  # rows of `IMPACT_COLUMNS`, of the impact at t0

    def state(self) -> dict[str, np.ndarray]:
        """What a checkpoint has to hold beside the records; copies, which stay as they are while the run goes on."""
        engine = self.engine.arrays() if isinstance(self.engine, (EventEngine, AdaptiveEngine)) else {}
        return {**self.memory.arrays(), **{f"engine {name}": np.array(value) for name, value in engine.items()}}

    def go_back(self, state: Mapping[str, np.ndarray]) -> None:
        """Take over what `state` returned."""
        if isinstance(self.engine, (EventEngine, AdaptiveEngine)):
            engine = {name.removeprefix("engine "): x for name, x in state.items() if name.startswith("engine ")}
            self.engine.take(engine, self.memory)
        self.memory.take(state)

    def identity(self) -> dict[str, Any]:
        """All that decides the motion: a run goes on from a checkpoint only where it is the same."""
        system, memory = self.system, self.memory
        chooses = isinstance(self.engine, (EventEngine, AdaptiveEngine))  # its steps, some of them as shares of the run
        return {
            **({"t_end": memory.t0 + self.steps * self.dt} if chooses else {}),
            "system": system.name,
            "equations": hashlib.sha256(system.source().encode()).hexdigest(),
            "parameters": memory.p.tolist(),
            "q0": self.q0.tolist(),
            "u0": self.u0.tolist(),
            "t0": memory.t0,
            "dt": self.dt,
            "every": self.every,
            "method": f"{self.stepper!r}, {self.solver!r}, {self.law!r}, {self.engine.name}",
            "on_failure": "continue" if self.go_on else "stop",
            "sources": f"stickslip {__version__} {sources_hash()}, {COMPILER}",
        }

    def notes(self) -> dict[str, str]:
        """What was chosen besides the names of stepper and solver: for the trajectory's attributes and its file."""
        system = self.system
        _, eps_N, eps_T, _ = system.laws(self.memory.p)
        eps_N, eps_T = self.law.coefficients(eps_N, eps_T, system.contact_kinds, system.contact_names)
        laws = [f"{name}: {law}" for name, law in zip(system.contact_names, system.friction_laws, strict=True) if law]
        return {
            **({"friction_laws": "; ".join(laws)} if laws else {}),
            "law": self.law.name,
            "law_options": _options(self.law),
            "restitution_normal": json.dumps(dict(zip(system.contact_names, eps_N.tolist(), strict=True))),
            "restitution_tangential": json.dumps(dict(zip(system.contact_names, eps_T.tolist(), strict=True))),
            "stepper_options": _options(self.stepper),
            "solver_options": _options(self.solver),
        }

    @classmethod
    def prepare(
        cls,
        system: System,
        q0: Any,
        u0: Any,
        dt: Any,
        t_end: Any,
        stepper: Any,
        solver: Any,
        params: Any,
        every: Any,
        t0: Any,
        engine: Any,
        initialise: bool,
        penetration_tol: Any,
        on_failure: Any,
        on_energy_gain: Any,
        law: Any,
    ) -> Run:
        require_system(system)
        start = real_number(t0, "t0")
        steps = _steps(real_number(dt, "dt"), real_number(t_end, "t_end"), start)
        if not (isinstance(every, (int, np.integer)) and not isinstance(every, bool) and every >= 1):
            raise ValueError(f"every must be a whole number >= 1, got {every!r}.")
        for name, value, allowed in (
            ("engine", engine, ENGINES),
            ("on_failure", on_failure, ON_FAILURE),
            ("on_energy_gain", on_energy_gain, ON_ENERGY_GAIN),
        ):
            if value not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}.")
        chosen_solver, chosen_stepper = solver_from(solver), _stepper(stepper)
        q, u, p = system.check(q0, u0, params, start)
        if isinstance(chosen_stepper, Stepper):
            chosen_stepper.check(system, p)
            if chosen_stepper.warning:
                warnings.warn(
                    f"stepper {chosen_stepper.name!r}: {chosen_stepper.warning}", RuntimeWarning, stacklevel=3
                )
        tolerance = penetration_tolerance(penetration_tol)
        check_penetration(system, system.gap(q, start, p), tolerance, _START, "starts")
        if isinstance(chosen_stepper, EventDriven):
            q = chosen_stepper.onto_contacts(system, q, start, p)
        elif isinstance(chosen_stepper, Stepper) and chosen_stepper.level == "position":
            # on position level one step would push a penetration out again, with a velocity of its depth over dt
            q = EventDriven(gap_tol=1e-15).onto_contacts(system, q, start, p)
        first_impacts = np.zeros((0, len(IMPACT_COLUMNS)))
        if initialise:
            u, first_impacts = consistent_velocities(system, start, q, u, chosen_solver, p)
        chosen_law = law_from(law)
        memory = Memory.start(q, u, p, start, system.n_contacts)
        memory.carried[:, 2] = sticking_at_start(system, q, u, start, p, tolerance)
        return cls(
            system,
            chosen_stepper,
            chosen_solver,
            _engine(
                system,
                chosen_stepper,
                chosen_solver,
                engine,
                on_failure == "continue",
                _checked_law(chosen_law, system, p),
                start + steps * float(dt),
                steps,
            ),
            memory,
            float(dt),
            steps,
            int(every),
            on_failure == "continue",
            q,
            u,
            chosen_law,
            first_impacts,
        )


def _options(choice: Any) -> str:
    """The options of a stepper, solver or law as one would type them."""
    return ", ".join(f"{field.name}={getattr(choice, field.name)!r}" for field in fields(choice))


def _steps(dt: float, t_end: float, t0: float) -> int:
    if dt <= 0.0:
        raise ValueError(f"dt must be positive [s], got {dt:g}.")
    if t_end - t0 < dt * (1.0 - 1e-9):
        raise ValueError(
            f"t_end must be at least one step after t0 = {t0:g} s, got t_end = {t_end:g} with dt = {dt:g}."
        )
    steps = (t_end - t0) / dt
    if steps > 2**53:
        raise ValueError(f"{steps:.3g} steps are more than can be counted; enlarge dt (now {dt:g} s) or shorten t_end.")
    return max(1, round(steps))


def _stepper(value: Any) -> Integrator:
    if isinstance(value, (Stepper, EventDriven, Adaptive)):
        return value
    if isinstance(value, str) and value in STEPPERS:
        return STEPPERS[value]()
    raise ValueError(f"stepper must be one of {', '.join(STEPPERS)} or a stepper object, got {value!r}.")


def _checked_law(law: ImpactLaw, system: System, p: Array) -> ImpactLaw | None:
    """The law where it is not what the kernels do anyway; its coefficients are checked here."""
    if law == Newton():
        return None
    _, eps_N, eps_T, _ = system.laws(p)
    law.coefficients(eps_N, eps_T, system.contact_kinds, system.contact_names)
    return law


def _engine(
    system: System,
    stepper: Integrator,
    solver: PlanarSolver,
    wanted: str,
    go_on: bool,
    law: ImpactLaw | None,
    t_end: float,
    steps: int,
) -> Engine:
    if isinstance(stepper, EventDriven):
        if wanted == "reference":
            raise ValueError("the event-driven integrator has no reference engine; use engine='auto' or 'compiled'.")
        return EventEngine(system, stepper, solver, law or Newton(), t_end)
    if isinstance(stepper, Adaptive):
        inner = _engine(system, stepper.stepper, solver, wanted, go_on, law, t_end, steps)
        assert isinstance(inner, (Compiled, Reference))
        return AdaptiveEngine(
            system, stepper, inner, Reference(system, stepper.stepper, solver, go_on, law), t_end, steps
        )
    if law is not None and not stepper.takes_laws:
        raise ValueError(f"law {law.name!r} runs with stepper 'moreau-midpoint' only, got {stepper.name!r}.")
    if law is not None and wanted == "compiled":
        raise ValueError(f"law {law.name!r} has no compiled kernel; use engine='reference' or 'auto'.")
    if wanted == "reference" or law is not None or (wanted == "auto" and not Compiled.available(stepper, solver)):
        return Reference(system, stepper, solver, go_on, law)
    if not Compiled.available(stepper, solver):
        what = f"solver {solver.name!r}" if stepper.scheme is not None else f"stepper {stepper.name!r}"
        raise ValueError(f"{what} has no compiled kernel; use engine='reference' or 'auto'.")
    try:
        return Compiled.build(system, stepper, solver)
    except NotKernels as reason:
        if wanted == "compiled":
            raise ValueError(
                f"{reason} docs/kernels.md says what a kernel may do; or use engine='reference'."
            ) from None
        slower = "engine='reference' runs it, some hundred times slower; docs/kernels.md says what a kernel may do."
        warnings.warn(f"{reason} {slower}", RuntimeWarning, stacklevel=4)
        return Reference(system, stepper, solver, go_on, law)


def _march(run: Run, store: Store, advance: Any) -> tuple[str, bool]:
    """March to the end in pieces of about a tenth of a second; return (status, complete)."""
    memory, total = run.memory, run.steps
    bounds = Bounds(run.system, run.q0, run.u0, memory.p, memory.t0, memory.t0 + total * run.dt)
    piece = _FIRST_PIECE_OF_KERNELS if isinstance(run.engine, Compiled) else _FIRST_PIECE
    try:
        while memory.step < total:
            n = min(total - memory.step, piece, _MAX_RECORDS_PER_PIECE * run.every)
            begin = time.perf_counter()
            before = memory.step
            code = _march_piece(run, store, run.engine, n)
            if code == UNSOLVED and isinstance(run.engine, Compiled):
                code = _rescue(run, store)
            if code not in (DONE, EVENTS_FULL):
                memory.book[codes.FAILED_STEPS] += 1
                return _reason(run, code), False
            excess = _excess(run, store, bounds)
            if excess is not None:
                memory.book[codes.FAILED_STEPS] += 1
                return excess, False
            elapsed = time.perf_counter() - begin
            with opened():
                advance(memory.step)
            store.checkpoint_now_and_then()
            poll()
            done = max(1, memory.step - before)
            wanted = done * _PIECE_SECONDS / max(elapsed, 1e-6)
            piece = max(1, int(min(max(piece / 4, wanted), piece * 4, 50_000_000)))
    except KeyboardInterrupt:
        return f"interrupted at t = {memory.t0 + memory.step * run.dt:.9g} s", False
    except MemoryError:
        return f"stopped at t = {memory.t0 + memory.step * run.dt:.9g} s: the memory is full; record less often", False
    return "finished", True


def _march_piece(run: Run, store: Store, engine: Engine, n: int) -> int:
    """March n steps and keep what they leave, both or neither; return the status code.

    A kernel is soon done, and Ctrl-C waits for it.  Elsewhere it comes at once, and the piece is dropped.
    """
    with store.piece():
        block = store.block(n)
        with contextlib.nullcontext() if isinstance(engine, Compiled) else opened():
            code = engine.march(run.memory, run.dt, n, run.every, block)
        if engine is not run.engine and code == DONE:
            run.memory.book[codes.FALLBACKS] += 1
        store.take(block, run.memory)
    return code


def _tell_time(run: Run, store: Store) -> None:
    """Say how long a run of many steps will take, from a few of them done on a copy."""
    engine, left = run.engine, run.steps - run.memory.step
    if isinstance(engine, (Compiled, Reference)) and left >= _MANY_STEPS:

        def trial(n: int) -> None:
            engine.march(run.memory.copy(), run.dt, n, n + 1, store.block(n))

        tell_time(run.system.name, left, trial, store.writer is not None)


def _rescue(run: Run, store: Store) -> int:
    """One step by the reference engine: its solvers polish what the kernel's lean versions leave inaccurate."""
    assert isinstance(run.stepper, Stepper)
    return _march_piece(run, store, Reference(run.system, run.stepper, run.solver, run.go_on), 1)


def _reason(run: Run, code: int) -> str:
    memory, system = run.memory, run.system
    t = memory.t0 + memory.step * run.dt
    if isinstance(run.engine, EventEngine):
        return memory.problem_text
    if np.abs(memory.u).max() > math.sqrt(codes.LARGEST):
        code = codes.BLOWN_UP  # whatever stumbled over it first
    if code == codes.UNSOLVED:
        number = _closed(run, t)
        closed = f"{number} closed contact{'' if number == 1 else 's'}"
        detail = memory.problem_text or f"{run.solver.name} found no solution within {run.solver.tol:g}"
        if isinstance(run.engine, Reference) and run.engine.law is not None:
            return f"failed at t = {t:.9g} s with {closed}: {detail}"
        hint = "a smaller dt" if run.solver.name == "auto" else "solver='auto' or a smaller dt"
        return f"failed at t = {t:.9g} s with {closed}: {detail}; try {hint}"
    ahead, place = (1.0, "the end") if getattr(run.stepper, "at_end", False) else (0.5, "the middle")
    where = f"at q = {(memory.q + ahead * run.dt * memory.u).tolist()}, {place} of the step"
    if code == codes.MASS_INDEFINITE:
        return f"failed at t = {t:.9g} s: the mass matrix is not positive definite {where}; try a smaller dt"
    if code == codes.GAP_NOT_A_NUMBER:
        name = system.contact_names[int(memory.book[codes.CULPRIT])]
        text = memory.problem_text or f"the gap of contact {name!r} is not a number"
        return f"failed at t = {t:.9g} s: {text}, {where}; check roots, logarithms and quotients in the gap"
    if code == codes.MATRIX_INDEFINITE:
        return (
            f"failed at t = {t:.9g} s: the iteration matrix M - theta dt dh/du - (theta dt)^2 dh/dq is not positive "
            "definite, forces grow faster than this step can follow; try a smaller dt"
        )
    return f"failed at t = {t:.9g} s: the motion grows beyond all bounds in the next step; {_finer(run)}"


def _finer(run: Run) -> str:
    """What helps against an unstable motion."""
    if isinstance(run.engine, AdaptiveEngine):
        return "try a smaller smallest_step, or a smaller rtol"
    stiff = " or, for stiff forces, the implicit stepper MoreauJean(theta=1)"
    return f"try a smaller dt{'' if run.stepper.name == MoreauJean.name else stiff}"


def _excess(run: Run, store: Store, bounds: Bounds) -> str | None:
    """Why a motion whose steps were all solved must end: it has left all bounds.  None where it has not.

    An event-driven motion is known to its tolerance, so that its energy is what it is.
    """
    if isinstance(run.engine, EventEngine):
        return None
    memory = run.memory
    now, book = memory.t0 + memory.step * run.dt, memory.book
    dt = run.engine.plain_step(memory) if isinstance(run.engine, AdaptiveEngine) else run.dt
    t, q, u, energy = store.states()
    work = float(book[codes.CONTACT_WORK])
    excess = bounds.excess(t, q, u, energy[:, 0], energy[:, 1], work, dt)
    excess = excess or bounds.too_deep(store.deepest_so_far(), now, memory.q)
    return excess and f"failed at t = {now:.9g} s: the motion grows beyond all bounds, with {excess}; {_finer(run)}"


def _closed(run: Run, t: float) -> int:
    """Contacts in the problem of the step that begins at t, where the stepper evaluates its gaps."""
    memory, part = run.memory, 1.0 if getattr(run.stepper, "at_end", False) else 0.5
    where = memory.q + part * run.dt * memory.u, t + part * run.dt, memory.p
    return len(active_contacts(run.system, run.system.gap(*where), roundings(run.system, *where), run.dt, memory.reach))


def _warm_up(run: Run, store: Store, show: bool) -> None:
    """Compile the kernel, which takes seconds the first time, and say so."""
    if not show or isinstance(run.engine, Reference):
        run.engine.warm_up(run.memory, run.dt, store.block(0))
        return
    from rich.console import Console

    with Console(stderr=True).status(f"preparing the kernel of {run.system.name} (compiled once, then cached)"):
        run.engine.warm_up(run.memory, run.dt, store.block(0))


@contextlib.contextmanager
def progress_bar(
    wanted: bool | Callable[[int], None] | None, name: str, steps: int, first: int = 0
) -> Iterator[Callable[[int], None]]:
    """A bar on stderr that appears after two seconds, or the caller's own; called with the number of steps done.

    first : steps done before.  Kernels that are compiled on the way are announced, and their time is none of the rate.
    """
    if callable(wanted):
        yield wanted
        return
    show = sys.stderr.isatty() if wanted is None else wanted
    if not show:
        yield lambda step: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %  {task.fields[rate]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(name, total=steps, rate="")
    begin = time.perf_counter()
    shown = False

    def appear() -> None:
        nonlocal shown
        bar.start()
        shown = True

    def compiling() -> None:
        bar.update(task, rate=FIRST_TIME)
        appear()

    def advance(step: int) -> None:
        elapsed = time.perf_counter() - begin
        if not shown and elapsed > 2.0:
            appear()
        if shown:
            rate = (step - first) / max(elapsed - clock.seconds, 1e-9)
            bar.update(task, completed=step, rate=f"{rate:.2g} steps/s")

    try:
        with running(Clock(compiling)) as clock:
            yield advance
    finally:
        if shown:
            bar.stop()
