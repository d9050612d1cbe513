"""`simulate_scene`: the time loop of `Scene.simulate`; trajectory, certificate, streaming as those of `simulate`."""

from __future__ import annotations

import hashlib
import math
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from stickslip._version import __version__
from stickslip.compiled import sources_hash
from stickslip.interrupts import opened, poll, uninterrupted
from stickslip.jit.cpu import COMPILER
from stickslip.jit.making import Clock, running
from stickslip.kernels import codes
from stickslip.kernels.scene import layout, step
from stickslip.kernels.scene.layout import ROWS_PER_JOINT
from stickslip.laws.friction import FrictionCurve
from stickslip.model.scene.bodies import COORDINATES, VELOCITIES
from stickslip.model.scene.scene import Scene
from stickslip.model.system import CONTACT, real_number
from stickslip.stepping import scene_tables as tables
from stickslip.stepping.compiling import announced
from stickslip.stepping.engines import Memory
from stickslip.stepping.moreau_jean import MoreauJean
from stickslip.stepping.moreau_midpoint import MoreauMidpoint
from stickslip.stepping.records import Store
from stickslip.stepping.scene_bounds import SceneBounds
from stickslip.stepping.scene_engine import RecordRows, SceneEngine, SceneSystem, arrays_in, room_for
from stickslip.stepping.scene_friction import engine_class
from stickslip.stepping.scene_start import (
    allow_joints,
    check_appearing,
    check_start,
    consistent_velocities,
    hold_at_first_contact,
)
from stickslip.stepping.simulate import ON_FAILURE, _stepper, _steps, progress_bar
from stickslip.trajectory import FORCES, IMPACT_COLUMNS, MOTORS, Certificate, Trajectory

RULES = ("predictive", "gs05")
OVERLAP = ("raise", "resolve", "keep")
CONTRADICTION = 1e-6  # of the velocities that joints ask for: what rounding does not explain
NAMED = 3  # bodies of an island that an error names
LARGEST_ADVISED = 1e-3  # residual up to which a larger tol is worth a thought
_PIECE_SECONDS, _MOST_PIECE_SECONDS = 0.1, 1.0
_COPIES = 50.0  # a piece takes at least so many times as long as the copy of the state that it begins with
_PIECE_BYTES = 2**25


@dataclass(frozen=True)
class _Named:
    name: str
    tol: float = 0.0
    impact_steps: int = 1


@dataclass
class SceneRun:
    """What the record store asks of a run."""

    system: SceneSystem
    stepper: _Named
    solver: _Named
    engine: SceneEngine
    memory: Memory
    dt: float
    steps: int
    every: int
    q0: np.ndarray
    u0: np.ndarray
    overlap: str = "raise"
    penetration_tol: float = 0.0
    fingerprint: str = ""  # of the bodies, shapes, materials, joints and springs at the start
    first_impacts: np.ndarray = field(
        default_factory=lambda: np.zeros((0, len(IMPACT_COLUMNS) + 1))
    )  # of joints, at t0

    def state(self) -> dict[str, np.ndarray]:
        """What a checkpoint has to hold beside the records."""
        return self.engine.snapshot()

    def go_back(self, state: Mapping[str, np.ndarray]) -> None:
        """Take over what `state` returned."""
        self.engine.restore(state)

    def identity(self) -> dict[str, Any]:
        """All that decides the motion: a run goes on from a checkpoint only where it is the same."""
        engine = self.engine
        options = {**engine.options._asdict(), "gravity": engine.options.gravity.tolist()}
        return {
            "scene": self.system.name,
            "bodies": self.fingerprint,
            "friction": _frictions(engine.scene),
            "q0": hashlib.sha256(self.q0.tobytes()).hexdigest(),
            "u0": hashlib.sha256(self.u0.tobytes()).hexdigest(),
            "t0": self.memory.t0,
            "dt": self.dt,
            "every": self.every,
            "method": f"{self.stepper.name}, {options!r}",
            "sources": f"stickslip {__version__} {sources_hash('kernels/scene')}, {COMPILER}",
        }

    def notes(self) -> dict[str, str]:
        """What was chosen besides the names of stepper and solver."""
        return {"law": "newton", "solver_options": f"tol={self.solver.tol:g}"}


@dataclass
class SceneStore(Store):
    """The store of `simulate`, with rows of positions that are longer than those of velocities."""

    rows: RecordRows | None = None

    def block(self, steps: int) -> Any:
        run = self.run
        block, self.rows = room_for(steps // run.every + 1, len(run.q0), len(run.u0), run.system.n_contacts)
        block.state[0] = self.last_state
        return block

    @cached_property
    def step_energy(self) -> float:
        """Kinetic energy that gravity and constant forces give to the bodies in a step from rest [J]."""
        engine = self.run.engine
        assert isinstance(engine, SceneEngine)
        bodies = tables.body_table(engine.scene)
        i = np.flatnonzero(bodies.kind == layout.MOVING)
        mass = bodies.mass[i, None]
        change = self.run.dt * (engine.options.gravity + bodies.wrench[i, :3] / mass)
        return 0.5 * float((mass * change * change).sum())

    def _certificate(self) -> Certificate:
        engine = self.run.engine
        assert isinstance(engine, SceneEngine)
        left_out = int(engine.counts[step.PLASTIC])
        return replace(
            super()._certificate(),
            max_joint_error=engine.joint_error(),
            restitution_left_out=left_out,
            max_integration_gain=float(engine.book.numbers[step.RULE_GAIN]),
        )


def simulate_scene(
    scene: Scene,
    dt: Any,
    t_end: Any,
    *,
    stepper: Any,
    rule: Any,
    cone: Any,
    tol: Any,
    every: Any,
    t0: Any,
    threads: Any,
    overlap: Any,
    penetration_tol: Any,
    on_failure: Any,
    progress: bool | None,
    out: str | Path | None,
    overwrite: bool,
    resume: bool,
) -> Trajectory:
    """March a scene; see `Scene.simulate` for the arguments.

    Order 2 in free flight and with joints, order 1 across impacts and stick-slip transitions.  Contacts obey Newton's
    impact law and Coulomb's law on velocity level.  Ctrl-C, a failed step or a state that is not finite end the run;
    the trajectory so far is returned with `complete` False and `status` saying where and why.
    """
    show = sys.stderr.isatty() if progress is None else progress is True
    with announced(scene.name, show):
        run = prepare_run(
            scene, dt, t_end, stepper, rule, cone, tol, every, t0, threads, overlap, penetration_tol, on_failure
        )
    with uninterrupted():
        with announced(scene.name, show):
            store = SceneStore(run, None if out is None else Path(out), overwrite, resume)  # type: ignore[arg-type]
        try:
            with opened(), announced(scene.name, show):
                _warm_up(run, store)
            store.start_clock()
            with progress_bar(progress, scene.name, run.steps, run.memory.step) as advance:
                status, complete = _march(run, store, advance)
            run.memory.q[:], run.memory.u[:] = run.engine.state()
            run.memory.impulse_sum[:] = run.engine.book.impulse
            return store.finish(status, complete, time.perf_counter() - store.begin)
        except BaseException as problem:
            store.rescue(time.perf_counter() - store.begin, problem)
            raise


def _warm_up(run: SceneRun, store: SceneStore) -> None:
    """Compile the march, or load it from the cache; what solves islands follows where it is first needed."""
    block = store.block(0)
    assert store.rows is not None
    run.engine.march(run.memory, run.dt, 0, 1, block, store.rows)


def prepare_run(
    scene: Scene, dt: Any, t_end: Any, stepper: Any, rule: Any, cone: Any, tol: Any, every: Any, t0: Any, threads: Any,
    overlap: Any, penetration_tol: Any, on_failure: Any,
) -> SceneRun:  # fmt: skip
    """Check the arguments of `Scene.simulate` and set up the run."""
    start = real_number(t0, "t0")
    steps = _steps(real_number(dt, "dt"), real_number(t_end, "t_end"), start)
    for name, value in (("every", every), ("threads", threads)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise ValueError(f"{name} must be a whole number >= 1, got {value!r}.")
    for name, value, allowed in (
        ("rule", rule, RULES),
        ("overlap", overlap, OVERLAP),
        ("on_failure", on_failure, ON_FAILURE),
    ):
        if value not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}.")
    tolerance = real_number(tol, "tol")
    if not 0.0 < tolerance < 1.0:
        raise ValueError(f"tol must lie between 0 and 1, got {tolerance:g}.")
    label, theta, implicit = _theta(stepper)
    if not any(body.kind == "moving" for body in scene.bodies):
        raise ValueError(f"scene {scene.name!r} must have a body that moves; use add_body.")
    engine = engine_class(scene)(
        scene, float(dt), theta, implicit, rule == "predictive", tolerance, _edges(scene, cone),
        on_failure == "continue", int(threads),
    )  # fmt: skip
    if overlap == "keep":  # what the user lets be is not pushed apart
        engine.options = engine.options._replace(sink=0.0)
    engine.t0 = start
    depth = real_number(penetration_tol, "penetration_tol")
    check_start(engine, start, overlap, depth)
    first_impacts = consistent_velocities(engine, start)
    q, u = engine.state()
    hold_at_first_contact(engine, start)
    allow_joints(engine, start)
    c = len(engine.channels)
    memory = Memory.start(q, u, scene.gravity[: scene.dim], start, c)
    memory.book = engine.book.numbers  # the clock among them
    return SceneRun(
        _system(scene, c), _Named(label), _Named("auto", tolerance), engine, memory, float(dt), steps, int(every),
        q.copy(), u.copy(), overlap, depth, _fingerprint(engine), first_impacts,
    )  # fmt: skip


def _fingerprint(engine: SceneEngine) -> str:
    tables = (
        engine.bodies, engine.geoms, engine.materials, engine.shapes[:2], engine.joints,
        engine.springs, engine.ignore,
    )  # fmt: skip
    digest = hashlib.sha256()
    for name, array in arrays_in("", tables):
        digest.update(name.encode() + array.tobytes())
    return digest.hexdigest()


def _frictions(scene: Scene) -> str:
    """The frictions of bodies and pairs as text, the same in every process; those of functions by their code."""
    digest = hashlib.sha256()
    for material in (*(body.material for body in scene.bodies), *scene.pair_laws.values()):
        law: Any = material.friction
        if isinstance(law, FrictionCurve) and law.by_function:
            code = getattr(law.curve, "py_func", law.curve).__code__
            law = (code.co_name, code.co_code, code.co_names, [x for x in code.co_consts if not hasattr(x, "co_code")])
        digest.update(repr(law).encode())
    return digest.hexdigest()


def _edges(scene: Scene, cone: Any) -> int:
    """Edges of the pyramid that `cone` asks for; 0 for the circular cone, which in the plane is a pyramid anyway."""
    if isinstance(cone, str) and cone == "circular":
        return 0
    if isinstance(cone, bool) or not isinstance(cone, int | np.integer) or cone < 3:
        raise ValueError(f"cone must be 'circular' or the number of edges of a pyramid, at least 3, got {cone!r}.")
    if scene.joints:
        raise ValueError("cone must be 'circular' in a scene with joints; pyramids are for contacts alone.")
    return int(cone) if scene.dim == 3 else 0


def _theta(value: Any) -> tuple[str, float, bool]:
    """Name and theta of a stepper that scenes have, and whether springs are implicit."""
    stepper = _stepper(value)
    if isinstance(stepper, MoreauMidpoint) and stepper.projection == 0.0:
        return stepper.name, 0.5, False
    if isinstance(stepper, MoreauJean):
        return stepper.name, float(stepper.theta), True
    raise ValueError(
        f"stepper of a scene must be 'moreau-midpoint' or 'moreau-jean' (MoreauJean(theta)), got {value!r}."
    )


def _system(scene: Scene, channels: int) -> SceneSystem:
    coordinates, velocities = COORDINATES[scene.dim], VELOCITIES[scene.dim]
    units = {}
    for name in scene.contact_names:
        units.update({f"{name}.{c}": "m" if c in "xyz" else ("rad" if c == "angle" else "1") for c in coordinates})
        units.update({f"{name}.{v}": "m/s" if v.startswith("v") else "rad/s" for v in velocities})
    return SceneSystem(
        scene.name,
        len(coordinates) * channels,
        channels,
        (CONTACT,) * channels,
        scene.coordinate_names,
        scene.velocity_names,
        scene.contact_names,
        tuple(f"gravity_{axis}" for axis in "xyz"[: scene.dim]),
        units,
        _forced(scene),
    )


def _forced(scene: Scene) -> int:
    """What does work beside contacts, gravity and springs: see `Certificate.forced`."""
    moved = [body for body in scene.bodies if body.kind == "driven"]
    driven = any(body.motion is not None or np.any(body.velocity) or np.any(body.angular_velocity) for body in moved)
    come_and_go = any(np.isfinite(body.life).any() for body in scene.bodies)
    damped = any(spring.damping > 0.0 for spring in scene.springs)
    motors = any(joint.motor[1] > 0.0 for joint in scene.joints)
    return FORCES * bool(scene.forces or driven or come_and_go or damped) + MOTORS * motors


def _appearances(run: SceneRun) -> dict[int, np.ndarray]:
    """Numbers of the bodies that appear after the start, by the step in which they are first there."""
    births: np.ndarray = run.engine.bodies.life[:, 0]
    found: dict[int, list[int]] = {}
    for birth in np.unique(births[np.isfinite(births) & (births > run.memory.t0)]):
        k = max(0, int((birth - run.memory.t0) / run.dt - 0.5))
        while _midpoint(run, k) < birth:
            k += 1
        found.setdefault(k, []).extend(np.flatnonzero(births == birth).tolist())
    return {k: np.array(numbers) for k, numbers in found.items()}


class _CannotAppear(Exception):
    """Bodies overlap others where they appear."""


def _let_appear(run: SceneRun, fresh: np.ndarray) -> None:
    try:
        check_appearing(run.engine, _midpoint(run, run.memory.step), fresh, run.overlap, run.penetration_tol)
    except ValueError as problem:
        raise _CannotAppear(str(problem)) from None


def _midpoint(run: SceneRun, k: int) -> float:
    """Time at which the kernel asks which bodies are there in step k [s]."""
    return run.memory.t0 + k * run.dt + 0.5 * run.dt


def _march(run: SceneRun, store: SceneStore, advance: Any) -> tuple[str, bool]:
    """March to the end and return (status, complete).

    What is compiled on the way (how to solve islands, at the first contact) is none of the run's time.
    """
    with running(Clock()) as clock:
        return _march_in_pieces(run, store, advance, clock)


def _march_in_pieces(run: SceneRun, store: SceneStore, advance: Any, clock: Clock) -> tuple[str, bool]:
    """Pieces take about a tenth of a second each; in large scenes longer: copies of the state cost little."""
    memory = run.memory
    width = 8 * (len(run.q0) + len(run.u0) + 4 * run.system.n_contacts)
    most = max(1, _PIECE_BYTES // max(1, width)) * run.every
    piece, appearances = 1, _appearances(run)
    bounds = SceneBounds(run.engine, memory.t0, run.engine.energies(run.q0, run.u0, memory.t0)[1])
    try:
        while memory.step < run.steps:
            until = min((k for k in appearances if k > memory.step), default=run.steps)
            n = min(run.steps - memory.step, until - memory.step, piece, most)
            begin, before, compiled = time.perf_counter(), memory.step, clock.seconds
            with store.piece():
                copied = time.perf_counter() - begin
                if memory.step in appearances:
                    _let_appear(run, appearances[memory.step])
                block = store.block(n)
                assert store.rows is not None
                with opened():
                    code = run.engine.march(memory, run.dt, n, run.every, block, store.rows)
                store.take(block, memory)
            compiled = clock.seconds - compiled
            store.begin += compiled
            if code != step.DONE:
                return _reason(run, code), False
            excess = _excess(run, store, bounds)
            if excess is not None:
                memory.book[codes.FAILED_STEPS] += 1
                return excess, False
            with opened():
                advance(memory.step)
            store.checkpoint_now_and_then()
            poll()
            elapsed = time.perf_counter() - begin - compiled
            seconds = min(max(_PIECE_SECONDS, _COPIES * copied), _MOST_PIECE_SECONDS)
            wanted = (memory.step - before) * seconds / max(elapsed, 1e-6)
            piece = max(1, int(min(max(piece / 4, wanted), piece * 8, 10_000_000)))
    except KeyboardInterrupt:
        return f"interrupted at t = {memory.t0 + memory.step * run.dt:.9g} s", False
    except _CannotAppear as problem:
        return f"stopped at t = {memory.t0 + memory.step * run.dt:.9g} s: {problem}", False
    except MemoryError as problem:
        return f"stopped at t = {memory.t0 + memory.step * run.dt:.9g} s: {problem or 'the memory is full'}", False
    return "finished", True


def _excess(run: SceneRun, store: SceneStore, bounds: SceneBounds) -> str | None:
    """Why a motion whose steps were all solved must end: it has left all bounds.  None where it has not."""
    engine, memory = run.engine, run.memory
    now, book = memory.t0 + memory.step * run.dt, memory.book
    present = np.array([step.energies(engine.bodies, engine.springs, engine.options.gravity)])
    energy = np.concatenate([store.taken[3], present]) if store.taken else present
    excess = bounds.excess(now, energy, float(book[codes.CONTACT_WORK]), store.deepest_so_far())
    cure = "try a smaller dt or, for stiff springs, MoreauJean(theta=1)"
    return excess and f"failed at t = {now:.9g} s: the motion grows beyond all bounds, with {excess}; {cure}"


def _contradiction(run: SceneRun, island: int) -> str:
    """What to say of an island of joints alone whose rows cannot be met together."""
    engine = run.engine
    assert engine.joints is not None
    rows = engine.rows[engine.row_begins[island] : engine.row_begins[island + 1]]
    numbers = sorted({int(s) // ROWS_PER_JOINT for s in rows})
    words = [_joint_in_words(run, k) for k in numbers if k < len(engine.scene.joints)]
    more = f" and {len(words) - 4} more" if len(words) > 4 else ""
    return (
        f"the joints {', '.join(words[:4])}{more} cannot hold together (residual {engine.residuals[island]:.1e}): "
        "they contradict one another or the motion of a driven body; take one of them away, put a spring "
        "(add_spring) in its place, or change its place or its axis so that all can be met"
    )


def _joint_in_words(run: SceneRun, number: int) -> str:
    bodies, joint = run.engine.scene.bodies, run.engine.scene.joints[number]
    return f"{bodies[joint.a].name!r} - {bodies[joint.b].name!r} ({joint.kind})"


def _apart(run: SceneRun) -> str:
    """What to say of the joint that is farthest beyond what it may be apart."""
    assert run.engine.joints is not None
    link = run.engine.joints.link
    worst = int(np.argmax(link.error - link.limit))
    return (
        f"the joint {_joint_in_words(run, worst)} has come apart by {link.error[worst]:.2g} m, more than "
        f"{link.limit[worst]:.2g} m; try a smaller dt"
    )


def _bodies_in_words(run: SceneRun, island: int) -> str:
    """The bodies of an island that can move, by name, the first few of them."""
    return _names(run, run.engine.island_bodies(island))


def _names(run: SceneRun, numbers: list[int]) -> str:
    """Names of bodies, the first few of them."""
    names = [repr(run.engine.scene.bodies[i].name) for i in numbers]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _advice(run: SceneRun, island: int) -> str:
    """What may help with an island that was not solved."""
    options, residual = run.engine.options, float(run.engine.residuals[island])
    ways = ["a smaller dt"]
    if residual < LARGEST_ADVISED:
        ways.append(f"tol={10.0 ** math.ceil(math.log10(residual)):.0e}")
    if options.edges:
        ways.append("cone='circular'")
    return ", ".join(ways) + ", or on_failure='continue', which takes the best impulses found and counts the step"


def _reason(run: SceneRun, code: int) -> str:
    t = run.memory.t0 + run.memory.step * run.dt
    if code == step.UNSOLVED:
        engine = run.engine
        lost = engine.not_finite()
        if lost:
            return (
                f"failed at t = {t:.9g} s: a contact point, a joint or a force of {_names(run, lost)} is not finite; "
                "try a smaller dt, and look at its shape and at the forces on it"
            )
        count = int(engine.counts[step.ISLANDS])
        if not engine.residuals[-1] <= max(engine.residuals[:count].max(initial=0.0), engine.options.tol):
            return f"failed at t = {t:.9g} s: a body turns too far in one step; try a smaller dt"
        worst = int(np.argmax(engine.residuals[:count]))
        alone = engine.begins[worst + 1] == engine.begins[worst]
        if alone and engine.joint_contradiction(worst) > CONTRADICTION:
            return f"failed at t = {t:.9g} s: {_contradiction(run, worst)}"
        return (
            f"failed at t = {t:.9g} s: an island of {engine.begins[worst + 1] - engine.begins[worst]} contacts and "
            f"{engine.row_begins[worst + 1] - engine.row_begins[worst]} joint rows ({_bodies_in_words(run, worst)}) "
            f"reached a residual of {engine.residuals[worst]:.1e}, not {engine.options.tol:g}; "
            f"try {_advice(run, worst)}"
        )
    if code == step.APART:
        return f"failed at t = {t:.9g} s: {_apart(run)}"
    bodies = run.engine.bodies
    lost = np.flatnonzero(~np.all(np.isfinite(np.hstack([bodies.pose, bodies.vel])), axis=1)).tolist()
    return f"failed at t = {t:.9g} s: the state of {_names(run, lost)} is no longer finite; try a smaller dt"
