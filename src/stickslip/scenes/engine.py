"""The engine of a scene: its arrays, and the calls of its kernel.

`stickslip.scenes.start` prepares a start, `rescue` solves steps that the kernel cannot, `reasons` says why a run ended,
`bounds` whether its motion makes sense.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from stickslip import codes
from stickslip.control import steps_until_due
from stickslip.cost import require_memory
from stickslip.engine import Block, Engine, Measured, Seen, State, beyond_bounds
from stickslip.scenes import driving, handles, layout, rays, reasons, restitution, steering, step, touching
from stickslip.scenes import tables as tables
from stickslip.scenes.bodies import Material
from stickslip.scenes.bounds import SceneBounds
from stickslip.scenes.collision.broad_phase import partners_of
from stickslip.scenes.collision.narrow_phase import store_pairs
from stickslip.scenes.collision.nearby import near_room
from stickslip.scenes.collision.pairs import link_pairs
from stickslip.scenes.fusing import carry_members, fusion, gather
from stickslip.scenes.notes import rotor_energy
from stickslip.scenes.parts import Diary, Problems, Records, Search, Span, Touching, World
from stickslip.scenes.rescue import Rescue
from stickslip.scenes.scene import Scene
from stickslip.scenes.start import appearances, check_appearing
from stickslip.scenes.touching import ContactLog
from stickslip.trajectory import FORCES

SWEEPS = 300
SINK = 1e-3  # of the smaller body's radius: contacts that are deeper are pushed apart
NEWTON_CONTACTS = 2000  # of an island without joints, up to which the time loop solves it itself
EXACT_BELOW = 1e-9
"""Tolerances below ask for rest without drift: small remainders are not handed on from step to step."""
STEPS_BETWEEN_LOOKS = 20  # at the clock, where a run has a time limit
EVENTS_AT_ONCE = 4096
CURE = "try a smaller dt or, for stiff springs, MoreauJean(theta=1)"
_POINT_BYTES = 2 * (layout.CONTACT.itemsize + layout.PAIR.itemsize + 64) + layout.ACTIVE.itemsize + 200


def materials_of(scene: Scene) -> Iterator[Material]:
    """Surfaces of all bodies, and those that were set for pairs."""
    yield from (body.material for body in scene.bodies)
    yield from scene.pair_laws.values()


class SceneState(State):
    """State of a scene: the arrays of its engine, which the kernel writes, the clock among them."""

    def __init__(self, engine: SceneEngine, t0: float) -> None:
        self.engine, self.t0, self.dt = engine, t0, engine.options.dt
        self.p = engine.scene.gravity[: engine.scene.dim]
        self.book, self.impulse_sum = engine.book.numbers, engine.book.impulse
        q, u = engine.state()
        self.sizes = (len(q), len(u), len(engine.channels))

    @property
    def q(self) -> np.ndarray:  # type: ignore[override]
        return self.engine.state()[0]

    @property
    def u(self) -> np.ndarray:  # type: ignore[override]
        return self.engine.state()[1]

    def arrays(self) -> dict[str, np.ndarray]:
        return self.engine.snapshot()

    def take(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.engine.restore(arrays)
        if self.engine.log is not None:
            self.engine.log.return_to(self.t)


class SceneEngine(Engine):
    """Marches a scene; keeps all arrays between calls.

    Attributes: overlap, penetration_tol [m], what is done with bodies that appear inside others, see `Scene.simulate`.
    """

    name = "compiled"
    counts_failures: ClassVar[bool] = True

    def __init__(
        self,
        scene: Scene,
        dt: float,
        theta: float,
        implicit: bool,
        predictive: bool,
        tol: float,
        edges: int,
        go_on: bool,
        threads: int,
        law: int = 0,
    ) -> None:
        materials, material_of, curves = tables.material_tables(scene)
        self.scene, self.materials, self.threads, self.go_on = scene, materials, threads, go_on
        self.fused = fusion(scene)
        self.fused_table: Any = None if self.fused is None else self.fused.table()
        self.bodies = tables.body_table(scene, self.fused)
        self.geoms, self.shapes = tables.geom_tables(scene, material_of, self.fused)
        self.joints, self.springs = tables.joint_table(scene, implicit, self.fused), tables.spring_table(scene)
        start = 0.1 * tol if tol <= EXACT_BELOW else tol
        self.options = layout.Options(
            scene.dim,
            dt,
            theta,
            implicit,
            scene.gravity.copy(),
            tables.slop_of(scene),
            predictive,
            tol,
            start,
            NEWTON_CONTACTS,
            SWEEPS,
            edges,
            go_on,
            SINK if predictive else 0.0,
            law,
            np.zeros(0) if law else None,
            np.zeros(0) if any(material.resists for material in materials_of(scene)) else None,
        )
        self.acceleration = self.options.gravity
        n = len(self.bodies)
        keys = sorted(min(i, j) * n + max(i, j) for i, j in scene.ignored)
        self.ignore = np.array(keys, np.int64)
        self.partners = partners_of(self.geoms.owner, self.geoms.body, scene.ignored)
        self.near = near_room(len(self.geoms.kind))
        self.channels = np.array([body.number for body in scene.bodies if body.kind != "static"], np.int64)
        self.channel = np.full(n, -1, np.int64)
        self.channel[self.channels] = np.arange(len(self.channels))
        gather(self, self.bodies)
        self.driven = [body for body in scene.bodies if body.kind == "driven"]
        self.called = [force for force in scene.forces if callable(force.force) or callable(force.torque)]
        self.wrench, self.pushes = np.zeros((n, 6)), np.zeros((n, 6))
        self.successor: SceneEngine | None = None  # the engine of the simulator, once it stands at another state
        self.by_hand = np.zeros(1, np.int64)  # what a hand has set to do work, see `note_drive`
        self.constant = self.bodies.wrench.copy()  # forces and torques of the scene that are numbers
        self.narrow = tables.narrow_room(self.geoms)
        link_pairs(self.shapes, self.geoms, self.narrow)
        self.shapes = self.shapes._replace(curves=restitution.addresses(curves))
        self.counts = tables.counters()
        self.parent, self.label, self.head = (np.full(n, -1, np.int64) for _ in range(3))
        self.rows = np.zeros(0 if self.joints is None else len(self.joints.row), np.int64)
        self.book = tables.book_room(len(self.channels), 0, 0)
        self._grow(4 * len(self.geoms.kind) + 64)
        self.t0, self.overlap, self.penetration_tol = 0.0, "keep", 0.0
        self.appearing: dict[int, np.ndarray] = {}  # numbers of the bodies by the step in which they appear
        self._once: Any = None  # block, contacts and arguments of `march_once`
        self.log: ContactLog | None = None  # contact points of every record, where they are asked for

    # -- room ----------------------------------------------------------------------------------------------------------

    def _grow(self, n: int, keep: bool = True) -> None:
        """Make room for n contact points and pairs; `keep`: with those of the last step."""
        require_memory(
            n * _POINT_BYTES,
            f"room for {n:.3g} contact points of {len(self.bodies.kind) - 1} bodies",
            "take fewer bodies or a machine with more memory",
        )
        old: Any = getattr(self, "contacts", None)
        old_pairs: Any = getattr(self, "pairs", None)
        self.candidates = np.zeros((2 * n, 2), np.int64)
        self.contacts_room = n
        contacts = [layout.records(layout.CONTACT, n) for _ in range(2)]
        pairs = [tables.pair_room(n) for _ in range(2)]
        if old is not None and keep:
            for k in range(2):
                contacts[k][: len(old[k])] = old[k]
                pairs[k].entry[: len(old_pairs[k].entry)] = old_pairs[k].entry
                store_pairs(pairs[k], int(self.counts[step.PAIRS_OLD]))
        self.contacts, self.pairs = contacts, pairs
        self.active = layout.records(layout.ACTIVE, n)
        bodies = len(self.bodies.kind) + len(self.rows)
        self.order, self.follow = np.zeros(n, np.int64), np.zeros(2 * n, np.int64)
        self.begins, self.row_begins = np.zeros(bodies + 2, np.int64), np.zeros(bodies + 2, np.int64)
        self.residuals, self.effort = np.zeros(bodies + 2), np.zeros(bodies + 2, np.int64)
        room = tables.book_room(len(self.channels), n, EVENTS_AT_ONCE + 2 * n)
        self.book = room._replace(
            numbers=self.book.numbers, impulse=self.book.impulse, state=self.book.state, gap=self.book.gap
        )

    # -- marching ------------------------------------------------------------------------------------------------------

    def begin(self, state: SceneState, q0: np.ndarray, u0: np.ndarray, steps: int) -> None:
        self.bounds = SceneBounds(self, state.t0, self.energies(q0, u0, state.t0)[1])
        self.appearing = appearances(self, state.t0)

    def march(self, state: SceneState, steps: int, block: Block) -> int:
        target = state.step + steps
        block.records, block.n_events = 0, 0
        rows, channels = block.state.shape
        block.measured = Measured(np.full((rows, channels), np.inf), np.zeros((rows, 2)))
        code = self._march_to(state, target, block)
        block.state[block.records] = self.book.state
        return code

    def _march_to(self, state: SceneState, target: int, block: Block) -> int:
        """March until `target` steps are done, with help for steps that the kernel cannot do alone."""
        checked = -1  # the last step for which bodies that appear were looked at
        while True:
            if checked < state.step < target:
                checked = state.step
                if not self._let_appear(state):
                    return reasons.CANNOT_APPEAR
            until = min((k for k in self.appearing if k > state.step), default=target)
            left = min(target, until, state.step + 1 if self.called else target) - state.step
            if self.log is not None:  # a march ends where a record is due
                left = min(left, block.every - state.step % block.every)
            if self.deadline < math.inf:  # steps in contact take far longer than those of a flight
                left = min(left, STEPS_BETWEEN_LOOKS)
                if time.perf_counter() > self.deadline:
                    return step.DONE
            if self.controller is not None and self.controller.plain:
                if (code := self.call_law(state)) != step.DONE:
                    return code
                left = min(left, steps_until_due.py_func(self.controller.clock, state.step))
            driving.apply_functions(self, state)
            code = self._helped(state, block, self._call(state, left, block, False))
            if self.log is not None and code == step.DONE and state.step % block.every == 0 < state.step:
                self.log.take(self, state)
            if code not in (step.DONE, step.NO_ROOM) or state.step >= target:
                return code

    def _helped(self, state: SceneState, block: Block, code: int) -> int:
        """Do what the kernel asks for: solve the step it stands in, or make room for more contact points."""
        if code == step.UNSOLVED:
            code = self._rescue(state, block)
            if code == step.UNSOLVED:
                self._note_failure()
        if code == step.NO_ROOM:
            self._grow(2 * self.contacts_room)
        return code

    def once(self, state: SceneState, block: Block) -> Callable[[], int]:
        """Steps one by one, with arguments of the kernel that are made once."""
        if self.called or self.appearing or any(body.motion for body in self.driven):
            return lambda: self.march(state, 1, block)
        rows, channels = block.state.shape
        block.measured = Measured(np.full((rows, channels), np.inf), np.zeros((rows, 2)))
        return functools.partial(self._march_once, state, block)

    def _march_once(self, state: SceneState, block: Block) -> int:
        if self._once is None or self._once[0] is not block or self._once[1] is not self.contacts:
            self._once = (block, self.contacts, self._arguments(state, 1, block, False))
        self.book.counts[0] = 0
        code, _, block.records = step.march(*self._once[2])
        block.n_events = int(self.book.counts[0])
        if block.n_events:
            self._keep_events(block, 0)
        if code not in (step.DONE, step.EVENTS_FULL):
            code = self._helped(state, block, code)
            if code == step.NO_ROOM:
                code = self._march_to(state, state.step + 1, block)
        block.state[block.records] = self.book.state
        return step.DONE if code == step.EVENTS_FULL else code

    def contact_columns(self, state: SceneState, before: np.ndarray | None) -> dict[str, np.ndarray]:
        return touching.contact_columns(self, state.step > 0)

    def ray(self, origin: Any, direction: Any, length: Any, ignore: Any) -> Any:
        return rays.cast(self, origin, direction, length, ignore)

    def contact_log(self) -> tuple[Any, Any]:
        return (None, None) if self.log is None else self.log.tables()

    def handle(self, kind: str, which: Any) -> Any:
        return handles.joint_handle(self, which) if kind == "joint" else handles.body_handle(self, which)

    def succeed(self, before: Any, drives: bool) -> None:
        handles.succeed(before, self, drives)

    def control(self, law: Any, memory: np.ndarray, first: int, apart: int) -> None:
        if self.controller is not None:
            self.controller.end()
        self.controller = law and steering.SceneController(self, law, memory, first, apart)

    def call_law(self, state: SceneState) -> int:
        return steering.call_between(self, state)

    def _let_appear(self, state: SceneState) -> bool:
        """Make room for the bodies that appear in the next step; False where they overlap others and must not."""
        if state.step in self.appearing:
            middle = state.t + 0.5 * state.dt  # where the kernel asks which bodies are there
            try:
                check_appearing(self, middle, self.appearing[state.step], self.overlap, self.penetration_tol)
            except ValueError as problem:
                state.problem_text = str(problem)
                return False
        return True

    def reason(self, state: SceneState, code: int) -> str:
        return reasons.reason(self, state, code)

    def excess(self, state: SceneState, seen: Seen, depth: float) -> str | None:
        excess = self.bounds.excess(state.t, seen.energy, float(state.book[codes.CONTACT_WORK]), depth)
        return excess and beyond_bounds(state.t, excess, CURE)

    def step_energy(self, state: SceneState) -> float:
        """Kinetic energy that gravity and constant forces give to the bodies in a step from rest [J]."""
        bodies = tables.body_table(self.scene, self.fused)
        i = np.flatnonzero(bodies.kind == layout.MOVING)
        mass = bodies.mass[i, None]
        change = state.dt * (self.options.gravity + bodies.wrench[i, :3] / mass)
        return 0.5 * float((mass * change * change).sum())

    def certificate(self) -> dict[str, Any]:
        return {
            "max_joint_error": self.joint_error(),
            "restitution_left_out": int(self.counts[step.PLASTIC]),
            "contacts_left_out": int(self.counts[step.HELD]),
            "max_integration_gain": float(self.book.numbers[step.RULE_GAIN]),
            "max_creep": float(self.book.numbers[step.CREEP]),
            "open_loads": int(self.book.numbers[step.OPEN_LOADS]),
            "open_normals": int(self.book.numbers[step.OPEN_NORMALS]),
            "forced": int(self.by_hand[0]),
        }

    def _call(self, state: SceneState, n: int, block: Block, resume: bool) -> int:
        self.book.counts[0] = 0
        given = self._arguments(state, n, block, resume)
        if self.controller is None or self.controller.plain:
            code, _, written = step.march(*given)
        else:
            world, search, first, second, *rest = given
            code, _, written = steering.controlled(world, search, (first, second), *rest, self.controller.steer)
        block.records += written
        if self.book.counts[0]:
            self._keep_events(block, block.n_events)
        return step.DONE if code == step.EVENTS_FULL else code

    def _arguments(self, state: SceneState, n: int, block: Block, resume: bool) -> tuple[Any, ...]:
        """Arguments of the kernel for n steps; it writes records behind those that the block has."""
        assert block.measured is not None
        measured = block.measured
        records = (block.q, block.u, block.impulse, block.state, measured.gap, measured.energy)
        return (
            self.world(), self.search(), self.touching(0), self.touching(1), self.problems(),
            Diary(self.channel, self.channels, self.book),
            Span(state.t0, n, block.every, driving.driven_velocities(self, state, n), resume),
            Records(*(rows[block.records :] for rows in records)),
        )  # fmt: skip

    def arguments_elsewhere(self, state: SceneState, rows: int) -> tuple[Any, ...] | None:
        """Arguments of the march for a host of its own, with room for some records; None where it needs Python.

        That is where bodies appear, are driven by functions or feel forces that are functions, and for restitution
        that is a function: the march calls them or waits for them.
        """
        self.begin(state, state.q, state.u, 1)
        alone = not (self.called or self.appearing or self.driven or self.controller or np.any(self.shapes.curves))
        if not alone:
            return None
        self._grow(2 * self.contacts_room, keep=False)
        moving = self.bodies.kind == layout.MOVING
        for name in ("mid", "free", "end", "travel"):  # a step writes these before it reads them
            self.bodies[name][moving] = 0.0
        self.bodies.inv_inertia[moving & ~self.bodies.isotropic.astype(bool)] = 0.0
        self.bodies.stir[:] = 0.0
        _, _, channels = state.sizes
        block = Block(
            np.zeros((rows, state.sizes[0])), np.zeros((rows, state.sizes[1])), np.zeros((rows, channels, 2)),
            np.zeros((rows, channels), np.int8), np.zeros((0, 0)),
            measured=Measured(np.full((rows, channels), np.inf), np.zeros((rows, 2))),
        )  # fmt: skip
        return self._arguments(state, 1, block, False)

    def _keep_events(self, block: Block, before: int) -> None:
        """Put the impacts that the kernel wrote behind the first `before` ones of the block."""
        found = self.book.events[: int(self.book.counts[0])]
        block.events = np.concatenate([block.events[:before], found])
        block.n_events = before + len(found)

    def world(self) -> World:
        return World(
            self.bodies, self.geoms, self.materials, self.shapes, self.joints, self.springs, self.options,
            self.fused_table,
        )  # fmt: skip

    def search(self) -> Search:
        self.near.length[0] = -1  # whatever was changed since
        return Search(self.narrow, self.ignore, self.partners, self.candidates, self.near)

    def touching(self, side: int) -> Touching:
        """Contact points of the steps with an even number (side 0) or an odd one, as they are written in turn."""
        return Touching(self.contacts[side], self.pairs[side])

    def problems(self) -> Problems:
        return Problems(
            self.active, self.order, self.rows, self.begins, self.row_begins, self.parent, self.label, self.wrench,
            self.residuals, self.effort, self.counts,
        )  # fmt: skip

    def push(self, body: int, part: slice, value: np.ndarray) -> None:
        """Set a force [N] or torque [N m] in world axes on a body, beside those of the scene, until it is set anew."""
        self.pushes[body, part] = value
        self.bodies.wrench[body, part] = self.constant[body, part] + self.pushes[body, part]
        if np.any(value != 0.0):
            self.note_drive(FORCES)

    def note_drive(self, kinds: int) -> None:
        """Write down that forces or motors, a sum as in `Certificate.forced`, may do work from now on."""
        self.by_hand[0] |= kinds

    def _solve(self, rescue: Rescue) -> float:
        """Solve the islands of a step whose start was not good enough; returns the worst residual."""
        return rescue.solve()

    def _rescue(self, state: SceneState, block: Block) -> int:
        """Solve the step the kernel stands in, with every method there is, and finish it."""
        if self.bounds.too_fast(self.bodies.free):
            return step.UNSOLVED
        if not math.isfinite(self.residuals[: int(self.counts[step.ISLANDS])].sum()) and reasons.not_finite(self):
            return step.UNSOLVED
        code, rows = step.UNSOLVED, -1
        while code == step.UNSOLVED and rows != int(
            self.counts[step.ROWS]
        ):  # more where limits are passed, see `leaps`
            rows = int(self.counts[step.ROWS])
            rescue = Rescue(self, self.contacts[int(self.counts[step.SIDE])])
            try:
                if not self._solve(rescue) <= self.options.tol and self.options.edges == 0:
                    rescue.solve_hard()
            except (ArithmeticError, ValueError, np.linalg.LinAlgError):
                # A method that cannot work on this problem: the step has failed, and what was computed before is kept.
                rescue.measure_all()
            if not self.worst() <= self.options.tol and not self.go_on:
                return step.UNSOLVED
            code = self._call(state, 1, block, True)
        return code

    def worst(self) -> float:
        """Worst residual of the step: of its islands, and of the free rotations."""
        islands = self.residuals[: int(self.counts[step.ISLANDS])]
        return float(np.maximum(islands.max(initial=0.0), self.residuals[-1]))

    def joint_error(self) -> float:
        """Farthest that a joint has been apart, or beyond a limit, at a midpoint so far [m]."""
        if self.joints is None:
            return 0.0
        link = self.joints.link
        return float(max(link.error.max(initial=0.0), link.passed.max(initial=0.0)))

    def joint_matrix(self, rows: np.ndarray) -> np.ndarray:
        """Velocities of joint rows from those of all bodies, (rows, bodies, 6)."""
        assert self.joints is not None
        link, d = self.joints.link, self.joints.row.direction[rows]
        J, number = np.zeros((len(rows), len(self.bodies.kind), 6)), np.arange(len(rows))
        first, second = d[:, :6], np.hstack([d[:, :3] + d[:, 9:], d[:, 6:9]])
        for sign, side, along in ((-1.0, link.a, first), (1.0, link.b, second)):
            J[number, side[rows // layout.ROWS_PER_JOINT]] += sign * along
        return J

    def _note_failure(self) -> None:
        """The step at which a run stops is in the book, with its residual."""
        numbers, worst = self.book.numbers, self.worst()
        numbers[codes.FAILED_STEPS] += 1
        numbers[codes.MAX_RESIDUAL] = max(numbers[codes.MAX_RESIDUAL], math.inf if math.isnan(worst) else worst)

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, np.ndarray]:
        """The bytes of all arrays that change during a run, for a checkpoint."""
        found = {name: np.frombuffer(array.tobytes(), np.uint8) for name, array in self._changing()}
        return {"room": np.array(self.contacts_room), **found}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go back to what `snapshot` returned."""
        if self.contacts_room != int(arrays["room"]):
            self._grow(int(arrays["room"]), keep=False)
        for name, array in self._changing():
            if arrays[name].nbytes != array.nbytes:
                raise ValueError(f"the checkpoint's {name} has {arrays[name].nbytes} bytes, not {array.nbytes}.")
            np.ndarray(array.nbytes, np.uint8, array)[:] = arrays[name]

    def _changing(self) -> Iterator[tuple[str, np.ndarray]]:
        tables = {
            "bodies": self.bodies, "geoms": self.geoms, "contacts": self.contacts, "pairs": self.pairs,
            "active": self.active, "order": self.order, "follow": self.follow, "begins": self.begins,
            "row_begins": self.row_begins, "residuals": self.residuals, "effort": self.effort, "rows": self.rows,
            "joints": self.joints, "wrench": self.wrench, "pushes": self.pushes, "counts": self.counts,
            "parent": self.parent, "label": self.label, "head": self.head, "book": self.book[:5],
            "by_hand": self.by_hand, "fused": self.fused_table, "gravity": self.options.gravity,
        }  # fmt: skip
        for name, table in tables.items():
            yield from arrays_in(name, table)

    # -- records -------------------------------------------------------------------------------------------------------

    def measure(self, state: SceneState, t: np.ndarray, q: np.ndarray, u: np.ndarray) -> Measured:
        """The gaps as they are now, and the energies of q and u; a march measures its own records."""
        energy = np.array([self.energies(*each) for each in zip(q, u, t, strict=True)]).reshape(-1, 2)
        return Measured(np.tile(self.book.gap, (len(q), 1)), energy)

    def energies(self, q: np.ndarray, u: np.ndarray, t: float) -> tuple[float, float]:
        """Kinetic and potential energy of a recorded state [J]."""
        bodies, i = self.bodies.copy(), self.channels
        if self.scene.dim == 2:
            x, y, angle = q.reshape(-1, 3).T
            zero = np.zeros_like(x)
            bodies.pose[i] = np.column_stack([x, y, zero, np.cos(0.5 * angle), zero, zero, np.sin(0.5 * angle)])
            bodies.vel[i[:, None], np.array([0, 1, 5])] = u.reshape(-1, 3)
        else:
            bodies.pose[i], bodies.vel[i] = q.reshape(-1, 7), u.reshape(-1, 6)
        gather(self, bodies)
        bodies.alive[:] = self._are_there(t)
        return self._energies_of(bodies)

    def present_energy(self, state: SceneState) -> np.ndarray:
        if not np.array_equal(self.bodies.alive, self._are_there(state.t)):
            return super().present_energy(state)
        return np.array([self._energies_of(self.bodies)])

    def _are_there(self, t: float) -> np.ndarray:
        """Which bodies are there at the end t of a step: those of its midpoint, at t0 those of the first one."""
        middle, life = max(t, self.t0 + self.options.dt) - 0.5 * self.options.dt, self.bodies.life
        there: np.ndarray = (life[:, 0] <= middle) & (middle < life[:, 1])
        return there

    def _energies_of(self, bodies: Any) -> tuple[float, float]:
        """Kinetic and potential energy of a table of bodies, with the rotors of joints [J]."""
        kinetic, potential = step.energies(bodies, self.springs, self.options.gravity)
        rotors = 0.0 if self.joints is None else rotor_energy(self.joints, bodies)
        return kinetic + rotors, potential

    def carry(self) -> None:
        """Put the members of composites where these are."""
        if self.fused_table is not None:
            carry_members(self.fused_table, self.bodies)

    def body_name(self, row: Any) -> str:
        """Name of a body, or of the first member of a composite."""
        number = int(row) if self.fused is None else self.fused.first.get(int(row), int(row))
        return self.scene.bodies[number].name

    def joint_number(self, row: int) -> int:
        """Number in the scene of the joint with this place in the table; springs follow behind the joints."""
        if self.fused is None:
            return row
        kept = self.fused.kept
        return kept[row] if row < len(kept) else row - len(kept) + len(self.scene.joints)

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """q and u as they are recorded."""
        i = self.channels
        if self.scene.dim == 2:
            q = np.column_stack([self.bodies.pose[i, :2], self.bodies.angle[i]])
            return q.ravel(), self.bodies.vel[i][:, [0, 1, 5]].ravel()
        return self.bodies.pose[i].ravel(), self.bodies.vel[i].ravel()


def arrays_in(name: str, table: Any) -> Iterator[tuple[str, np.ndarray]]:
    """The arrays of nested tuples and lists, with names of their own."""
    if isinstance(table, np.ndarray):
        yield name, table
    elif table is not None:
        for k, part in enumerate(table):
            yield from arrays_in(f"{name}.{k}", part)
