"""The members of an ensemble of scenes as slabs: what a thread of a card needs to march one of them.

A slab holds all arrays of a scene's engine, with room for as many contact points as the first member needs, and some
more.  A member that needs more, or help of the host, is handed to the CPU.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip import codes
from stickslip.engine import Block
from stickslip.ensembles.observables import NO_SCENE
from stickslip.ensembles.scene_members import EVENTS_PER_PIECE, STEPS_PER_PIECE, not_started
from stickslip.ensembles.scenes import SceneRequest
from stickslip.jit.slabs import Layout, OnSlabs
from stickslip.laws import law_title
from stickslip.run.driver import Run
from stickslip.run.scene_simulate import prepare_run
from stickslip.scenes import layout, step, tables
from stickslip.scenes.alone import TOLD, march_alone
from stickslip.scenes.bodies import COORDINATES, VELOCITIES
from stickslip.scenes.collision.nearby import near_room
from stickslip.scenes.collision.pairs import numbered
from stickslip.scenes.engine import SceneEngine
from stickslip.scenes.friction import SlidingSceneEngine
from stickslip.scenes.parts import Diary, Problems, Search, Touching, World
from stickslip.scenes.rotation import z_axis
from stickslip.scenes.start import Overlap

LEAST_POINTS, SPARE_POINTS = 16, 8
"""Room for contact points: twice as many as the first member has at once, and some more."""
MOST_POINTS = 96
NARROW_ROWS = 64
"""Rows of the working room of the narrow phase, where there is no terrain and no shape needs more."""
MOST_BYTES = 256 * 1024
"""Of a slab and its arena: a thread of a card has 512 KiB."""
SEARCHED = 256
"""Members among which one is looked for that can start: sizes and options are read off it."""
FAR = 0.01
"""Part of a body's radius by which it must be apart from others to start without contacts for sure."""
IMPACT_ROWS = 4
"""Rows of the list of impacts for each contact point."""


KINDS = (layout.LINK, layout.ROW)
"""Records of the tables of joints."""


def refusal(request: SceneRequest, engine: SceneEngine) -> str:
    """What of a scene a card cannot run, in a few words; empty: nothing."""
    scene, options = request.system, engine.options
    born = [body for body in scene.bodies if math.isfinite(body.life[0])]
    reasons = {
        "bodies in one (fixed joints)": engine.fused is not None,
        "springs": engine.springs is not None,
        "forces and motions that are functions": bool(engine.called) or any(body.motion for body in engine.driven),
        "friction laws": isinstance(engine, SlidingSceneEngine),
        "restitution curves": bool(np.any(engine.materials.curve >= 0)),
        "bodies that appear": bool(born),
        f"stepper {request.describe()['stepper']!r}": options.scheme == codes.PAOLI,
        "pyramids for cones": options.edges != 0,
        f"law {law_title(request.options['law'])!r}": options.law != 0,
    }
    return ", ".join(word for word, is_there in reasons.items() if is_there)


@dataclass
class Start:
    """Members of a batch before their march; members that cannot start have an entry in `failed`.

    slabs : (n, kept) bytes;  q0, u0 : (n, coordinates), (n, velocities) as they are recorded
    """

    slabs: np.ndarray
    q0: np.ndarray
    u0: np.ndarray
    failed: dict[int, dict[str, Any]]


class SceneSlabs:
    """The slabs of a request, and the program that marches them.

    Attributes
    ----------
    program : kernel, layout and arena.
    rows : of records that a launch writes; 1: none is needed.
    points : contact points that there is room for.
    """

    def __init__(self, request: SceneRequest, rows: int) -> None:
        self.request, self.rows = request, rows
        run = self._first_run()
        problem = refusal(request, run.engine)  # type: ignore[arg-type]
        if problem:
            raise ValueError(f"device 'gpu' cannot run scene {request.system.name!r}: it has {problem}; use 'cpu'.")
        self.points = self._points(run)
        self.run = self._first_run()  # anew: the first one has gone on
        self.base = self._with_room(self.run)
        arguments = self._arguments(self.base)
        self.layout = Layout(arguments, self._scratch(arguments))
        arena = self._arena()
        if self.layout.size + arena > MOST_BYTES:
            raise ValueError(
                f"device 'gpu' cannot run scene {request.system.name!r}: a member takes {self.layout.size + arena:,} "
                f"bytes, more than {MOST_BYTES:,}; use 'cpu'."
            )
        self.program = OnSlabs(
            march_alone, self.layout, tuple(self.room_of_rows(1)), (0.0, 0), numbered(self.base.shapes)[1], arena
        )
        self.first = np.zeros(self.layout.kept, np.uint8)
        self.layout.pack(arguments, self.first)

    def _first_run(self) -> Run:
        """The run of the first member that can start."""
        last = min(SEARCHED, self.request.plan.size)
        columns = self.request.plan.members(0, last)
        for i in range(last):
            try:
                return self._run({name: float(values[i]) for name, values in columns.items()})
            except ValueError as problem:
                said = problem
        raise ValueError(f"device 'gpu': none of the first {last} members can start ({said}); use 'cpu'.")

    def _run(self, values: Mapping[str, float]) -> Run:
        request = self.request
        scene = request.scenario.with_values(values).scene
        return prepare_run(scene, request.dt, request.t_end, **request.options)

    def _points(self, run: Run) -> int:
        """Contact points to have room for: those of the first member, and some more."""
        engine, state = run.engine, run.state
        while state.step < run.steps:
            n = min(run.steps - state.step, STEPS_PER_PIECE)
            block = Block.room(n + 1, EVENTS_PER_PIECE, state.sizes, 1, run.first_impacts.shape[1])
            if engine.march(state, n, block) not in (codes.DONE, codes.EVENTS_FULL):
                break
        most = int(state.book[step.MAX_CONTACTS])
        return min(MOST_POINTS, max(LEAST_POINTS, 2 * most + SPARE_POINTS))

    def _with_room(self, run: Run) -> SceneEngine:
        """The engine of a run with room for as many points, and no more, and an empty list of impacts."""
        engine: Any = run.engine
        engine._grow(self.points, keep=False)
        engine.book = engine.book._replace(events=np.zeros((0, engine.book.events.shape[1])))
        kinds = set(engine.geoms.kind.tolist())
        if not kinds & {layout.FIELD, layout.SURFACE}:
            rows = max(
                [NARROW_ROWS, *(2 * engine.geoms.table[:, 1]), *engine.geoms.table[:, 3], *engine.geoms.table[:, 5]]
            )
            engine.narrow = layout.records(layout.CORNER, int(rows))
        return engine

    def _arena(self) -> int:
        """Bytes for the arrays of a step: the matrix of all contacts of an island twice, and rows for each contact."""
        unknowns = self.request.system.dim * min(self.points, LEAST_POINTS)
        return 3 * 8 * unknowns * unknowns + 2048 * self.points

    def _arguments(self, engine: Any) -> tuple[Any, ...]:
        """Arguments of the kernel for a member with this engine; the room for its contacts is that of the first one."""
        room: Any = self.base
        shapes, _ = numbered(engine.shapes)
        book = room.book._replace(
            numbers=engine.book.numbers, impulse=engine.book.impulse, state=engine.book.state, gap=engine.book.gap
        )
        return (
            World(engine.bodies, engine.geoms, engine.materials, shapes, engine.joints, None, engine.options, None),
            Search(room.narrow, engine.ignore, engine.partners, room.candidates, near_room(0)),
            Touching(room.contacts[0], room.pairs[0]),
            Touching(room.contacts[1], room.pairs[1]),
            room.problems()._replace(counts=engine.counts),
            Diary(engine.channel, engine.channels, book),
            room.head,
            room.follow,
        )

    @staticmethod
    def _scratch(arguments: tuple[Any, ...]) -> list[np.ndarray]:
        """Arrays whose values a step makes itself."""
        search: Search = arguments[1]
        problems: Problems = arguments[4]
        return [search.room, search.candidates, problems.active, problems.order, problems.wrench]

    def room_of_rows(self, n: int) -> list[np.ndarray]:
        """Records q, u, states, energies; impacts, and what is told, for n members."""
        q, u, channels = self.run.state.sizes
        events = max(64, IMPACT_ROWS * self.points)
        shapes = ((self.rows, q), (self.rows, u), (self.rows, channels), (self.rows, 2), (events, 9), (TOLD,))
        kinds = (float, float, np.int8, float, float, np.int64)
        return [np.zeros((n, *shape), kind) for shape, kind in zip(shapes, kinds, strict=True)]

    # -- starts --------------------------------------------------------------------------------------------------------

    def starts(self, columns: Mapping[str, np.ndarray]) -> Start:
        """The members with these values, ready to march."""
        n = len(next(iter(columns.values())))
        q, u, _ = self.run.state.sizes
        start = Start(np.tile(self.first, (n, 1)), np.zeros((n, q)), np.zeros((n, u)), {})
        free = self._free_starts(columns, start)
        for i in np.flatnonzero(~free).tolist():
            self._start_one({name: float(values[i]) for name, values in columns.items()}, i, start)
        return start

    def _start_one(self, values: Mapping[str, float], i: int, start: Start) -> None:
        """Set one member up as a single run does."""
        try:
            run = self._run(values)
            self.layout.pack(self._arguments(run.engine), start.slabs[i])
            start.q0[i], start.u0[i] = run.q0, run.u0
        except Overlap:
            start.failed[i] = not_started(codes.PENETRATES)
        except ValueError:
            start.failed[i] = not_started(NO_SCENE)

    def _free_starts(self, columns: Mapping[str, np.ndarray], start: Start) -> np.ndarray:
        """Set up all members that differ in their starts alone, and start with nothing near; tells which these are.

        Where nothing is near, places and velocities are all that a start says: no overlap is looked for in vain, and
        no body is held back on its way to the first midpoint.  Joints may change places and velocities.
        """
        n, scene, engine = len(start.slabs), self.request.system, self.base
        by_name = {body.name: body for body in scene.bodies if body.kind != "static"}
        words = (*COORDINATES[scene.dim], *VELOCITIES[scene.dim])
        if engine.joints is not None or not all(
            name.rpartition(".")[0] in by_name and name.rpartition(".")[2] in words for name in columns
        ):
            return np.zeros(n, bool)
        table = tables.body_table(scene)
        pose, angle, vel = (np.repeat(part[None], n, axis=0) for part in (table.pose, table.angle, table.vel))
        good = np.ones(n, bool)
        for values in columns.values():
            good &= np.isfinite(values)
        for body in by_name.values():
            own = {name.rpartition(".")[2]: v for name, v in columns.items() if name.rpartition(".")[0] == body.name}
            _set_places(body, own, pose[:, body.number], angle[:, body.number], good)
            for word, v in own.items():
                if word in VELOCITIES[scene.dim]:
                    k = 5 if word == "omega" else "xyz".index(word[-1]) + (3 if word[0] == "w" else 0)
                    vel[:, body.number, k] = v
        good &= self._is_far(pose, vel)
        bodies = self.layout.views(start.slabs)[0][0]
        bodies["pose"], bodies["angle"], bodies["vel"] = pose, angle, vel
        moving = engine.channels
        if scene.dim == 2:
            start.q0[:] = np.dstack([pose[:, moving, :2], angle[:, moving, None]]).reshape(n, -1)
            start.u0[:] = vel[:, moving][:, :, [0, 1, 5]].reshape(n, -1)
        else:
            start.q0[:], start.u0[:] = pose[:, moving].reshape(n, -1), vel[:, moving].reshape(n, -1)
        return good

    def _is_far(self, pose: np.ndarray, vel: np.ndarray) -> np.ndarray:
        """Which members (n,) have no bodies near one another, and none near what stands still, in the first step."""
        engine, dt = self.base, self.request.dt
        bodies, geoms = engine.bodies, engine.geoms
        movers = np.flatnonzero(bodies.kind > layout.STATIC)
        x, r = pose[:, movers, :3], bodies.radius[movers]
        on_mover = np.isin(geoms.body, movers)
        if not (np.isfinite(r).all() and np.isfinite(geoms.bound[on_mover]).all()):
            return np.zeros(len(pose), bool)
        with np.errstate(all="ignore"):
            speed = np.abs(vel[:, movers, :3]).sum(axis=2) + np.abs(vel[:, movers, 3:]).sum(axis=2) * r
            fall = dt * dt * float(np.abs(engine.options.gravity).sum())
            reach = r * (1.0 + FAR) + 4.0 * (dt * speed + fall) + 1e3 * engine.options.slop
            far = np.isfinite(reach).all(axis=1)
            for g in np.flatnonzero(~on_mover):
                world = geoms.world[g]
                if geoms.kind[g] == layout.PLANE:
                    height = (x - world[:3]) @ np.array(z_axis.py_func(world))
                    far &= (height > reach).all(axis=1)
                else:
                    apart = np.linalg.norm(x - world[:3], axis=2) > reach + float(geoms.bound[g])
                    far &= apart.all(axis=1)
            for k in range(1, len(movers)):
                apart = np.linalg.norm(x[:, k:] - x[:, :-k], axis=2) > reach[:, k:] + reach[:, :-k]
                far &= apart.all(axis=1)
        return far

    # -- ends ----------------------------------------------------------------------------------------------------------

    def ends(self, slabs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q and u of many members as they are recorded, and their books."""
        views = self.layout.views(slabs)
        bodies, numbers, i, n = views[0][0], views[5][2][0], self.base.channels, len(slabs)
        if self.request.system.dim == 2:
            q = np.dstack([bodies["pose"][:, i, :2], bodies["angle"][:, i, None]])
            return q.reshape(n, -1), bodies["vel"][:, i][:, :, [0, 1, 5]].reshape(n, -1), numbers
        return bodies["pose"][:, i].reshape(n, -1), bodies["vel"][:, i].reshape(n, -1), numbers

    def engine_of(self, slab: np.ndarray) -> SceneEngine:
        """An engine that knows the bodies and the gravity of a member, for its energies."""
        views, engine = self.layout.views(slab), copy.copy(self.base)
        bodies = layout.records(layout.BODY, len(self.base.bodies))
        bodies[...] = views[0][0]
        engine.bodies = bodies
        if engine.joints is not None:
            parts = [layout.records(kind, len(part)) for kind, part in zip(KINDS, engine.joints, strict=True)]
            for part, own in zip(parts, views[0][4], strict=True):
                part[...] = own
            engine.joints = layout.Joints(*parts)
        engine.options = engine.options._replace(gravity=views[0][6][4].copy())
        return engine


def _set_places(
    body: Any, own: Mapping[str, np.ndarray], pose: np.ndarray, angle: np.ndarray, good: np.ndarray
) -> None:
    """Write the varied place of one body into pose (n, 7) and angle (n,); `good` is False where it has none."""
    for word, values in own.items():
        if word in ("x", "y", "z"):
            pose[:, "xyz".index(word)] = values
        elif word == "angle":
            angle[:] = values
            for i, half in enumerate((0.5 * values).tolist()):
                pose[i, 3], pose[i, 6] = math.cos(half), math.sin(half)
    turns = [word for word in ("qw", "qx", "qy", "qz") if word in own]
    if turns:
        for word in turns:
            pose[:, 3 + "wxyz".index(word[1])] = own[word]
        for i, turn in enumerate(pose[:, 3:]):
            length = math.sqrt(float(turn @ turn))
            if not 1e-6 < length < math.inf:
                good[i] = False
            elif abs(length - 1.0) > 4.0 * np.finfo(float).eps:
                pose[i, 3:] = turn / length
