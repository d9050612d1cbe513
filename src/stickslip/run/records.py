"""Records of a run: records in memory, or streamed to a file with a thinned copy in memory."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from stickslip import codes
from stickslip._version import __version__
from stickslip.checks import Array
from stickslip.cost import available_memory, in_bytes, require_disk
from stickslip.engine import Block, Measured, Seen
from stickslip.interrupts import poll
from stickslip.io.printable import visible
from stickslip.mechanisms.system import CONTACT
from stickslip.trajectory import IMPACT_COLUMNS, OPEN, OTHER, Certificate, Energies, EventTable, ImpactTable, Trajectory

if TYPE_CHECKING:
    from stickslip.run.driver import Run

_MAX_EVENTS_PER_PIECE = 20_000
_MAX_EVENTS_IN_MEMORY = 1_000_000
_LEVEL = 1e-10  # of the potential energy: far above its round-off, far below what a motion changes it by
COPY_BYTES = 2**27
"""Most bytes of the records kept in memory where a file has them all; thinning them takes up to three times as much."""
CHECKPOINT_SECONDS, CHECKPOINT_SHARE = 10.0, 0.01
"""Least time between two checkpoints [s]; in long runs a hundredth of what has passed."""


@dataclass
class Store:
    """Collects records: in memory, or to a file with a thinned copy in memory."""

    run: Run
    parts: list[tuple[np.ndarray, ...]] = field(default_factory=list)
    events: list[Array] = field(default_factory=list)
    last_state: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int8))
    stride: int = 1
    seen: int = 0
    deepest: float = 0.0
    judged: float = 0.0  # the deepest penetration that was found within its bounds [m]
    most_kinetic: float = 0.0  # [J], of all records
    potential: tuple[float, float] = (math.inf, -math.inf)  # [J], smallest and largest of all records
    events_dropped: bool = False
    unfinished: Array = field(default_factory=lambda: np.zeros((0, len(IMPACT_COLUMNS))))
    writer: Any = None
    taken: Seen | None = None  # the records of the last block
    ending: bool = False  # rows were written that a run which goes on does not have
    thins: bool = False  # records are thinned where they do not fit into memory, without a file that has them all

    def __post_init__(self) -> None:
        run = self.run
        self.out, self.every, self.resume = run.records.out, int(run.records.every), run.records.resume
        records, (n_q, n_u, n) = run.steps // self.every + 2, run.state.sizes
        width = 8 * (1 + n_q + n_u + 3 * n + 2)
        budget = memory_budget() if self.out is None else min(memory_budget(), COPY_BYTES)
        self.limit = max(10, budget // width)
        if self.out is None and records > self.limit:
            raise ValueError(
                f"{records:.3g} records of {in_bytes(width)} would not fit into memory; give every="
                f"{self.every * math.ceil(records / self.limit)} or more, or out='run.nc' to stream them to a file."
            )
        self.unilateral = np.array(run.system.contact_kinds, dtype=int) == CONTACT
        self.gated = np.array(getattr(run.system, "gated", False), dtype=bool)
        self.last_state = np.zeros(n, np.int8)
        self.unfinished = self._no_events()
        self.dropped = np.zeros((n, 2))  # impulses of records that were not kept, for the next one that is
        if self.out is not None:
            from stickslip.io.file_under_way import bytes_held

            held = bytes_held(self.out) if self.resume else 0
            require_disk(float(records) * (width + n), self.out, self.every, held)
        self.last_checkpoint = self.start_clock()
        self.wall_before = 0.0  # [s] of a run that this one goes on with
        self.resumed = "no: there was no run to go on with"
        if self.out is not None and self._go_on():
            return
        if self.out is not None:
            from stickslip.io.stream import StreamWriter

            self.writer = StreamWriter(self.out, self._blank(), overwrite=run.records.overwrite or self.resume)
        try:
            start = np.array([run.state.t0]), run.q0[None], run.u0[None]
            self._append(*start, np.zeros((1, n, 2)), np.zeros((1, n), np.int8))
            self._take_impacts(run.first_impacts)
            self.checkpoint()
        except BaseException:
            if self.writer is not None:
                self.writer.discard()
            raise

    def start_clock(self) -> float:
        """Count the time of the march from now on, and return the present [s]; compiling and reading do not count."""
        self.begin = time.perf_counter()
        return self.begin

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    def checkpoint_now_and_then(self) -> None:
        """Make the run safe against a kill, every few seconds."""
        now = time.perf_counter()
        if now - self.last_checkpoint > max(CHECKPOINT_SECONDS, CHECKPOINT_SHARE * (now - self.begin)):
            self.checkpoint()

    def checkpoint(self) -> None:
        """Write the state of the run to its file."""
        if self.writer is None:
            return
        run, state = self.run, self.run.state
        wall = self.wall_before + time.perf_counter() - self.begin
        kept: dict[str, Any] = {f"run {name}": value for name, value in run.engine.arrays(state).items()}
        about = {"identity": run.identity(), "wall": wall}
        kept |= {
            "about": np.frombuffer(json.dumps(about).encode(), np.uint8),
            "last_state": self.last_state,
            "unfinished": self.unfinished,
            "deepest": np.array([self.deepest, self.judged]),
        }
        status = f"running: safe up to t = {state.t:.9g} s"
        self.writer.checkpoint(kept, self._certificate(), status, state.step, wall)
        self.last_checkpoint = time.perf_counter()

    def _go_on(self) -> bool:
        """Take up the run that the file holds; False where there is none to go on with."""
        from stickslip.io.stream import StreamWriter

        found = StreamWriter.resumed(self.out, self._blank()) if self.resume else None  # type: ignore[arg-type]
        if found is None:
            return False
        self.writer, kept = found
        run = self.run
        try:
            about = json.loads(kept["about"].tobytes())
            self._require_same(about["identity"])
            state = {name.removeprefix("run "): value for name, value in kept.items() if name.startswith("run ")}
            run.engine.take(run.state, state)
            self.last_state, self.unfinished = kept["last_state"].copy(), kept["unfinished"].copy()
            self.deepest, self.judged = kept["deepest"].tolist()
            self.wall_before = float(about["wall"])
            if run.state.step > run.steps:
                raise ValueError(
                    f"the run in {visible(self.out)} is at t = {run.state.t:.9g} s already; give a later t_end."
                )
            ended = ", its end: nothing was left to do" if run.state.step == run.steps else ""
            self.resumed = f"from t = {run.state.t:.9g} s{ended}"
            self._read_back()
            self.writer.take_over()
        except (KeyError, TypeError) as problem:
            self.writer.release()
            raise ValueError(
                f"the checkpoint in {visible(self.out)} is not one of this version ({problem})."
            ) from problem
        except BaseException:
            self.writer.release()
            raise
        return True

    def _require_same(self, before: dict[str, Any]) -> None:
        for name, value in self.run.identity().items():
            if before.get(name) != value:
                shown = f": {before.get(name)!r}, now {value!r}" if len(repr(value)) < 120 else ""
                reason, help_ = f"its {name} {'have' if name.endswith('s') else 'has'} changed", "start it as it was"
                if name == "sources":
                    reason, help_ = "another version of stickslip began it", "finish it with that version"
                file = visible(self.out)
                raise ValueError(
                    f"the run in {file} cannot go on, because {reason}{shown}; {help_}, or give another file."
                )

    def _read_back(self) -> None:
        """The records and impacts of the file, as if they had been computed just now."""
        for rows in self.writer.rows():
            impulse = np.stack([rows["normal_impulse"], rows["tangential_impulse"]], axis=-1)
            energy = np.stack([rows["kinetic_energy"], rows["potential_energy"]], axis=-1)
            self._keep(rows["time"], rows["q"], rows["u"], impulse, rows["contact_state"], rows["gap"], energy)
            self._fit()
            poll()
        columns = self.writer.impact_rows()
        events = np.column_stack([column.astype(float) for column in columns.values()])
        if len(events):
            self.events.append(events[:_MAX_EVENTS_IN_MEMORY])
            self.events_dropped = len(events) > _MAX_EVENTS_IN_MEMORY

    # -- records -------------------------------------------------------------------------------------------------------

    _CHANGING: ClassVar[tuple[str, ...]] = (
        "parts", "events", "last_state", "stride", "seen", "deepest", "judged", "most_kinetic", "potential",
        "events_dropped", "unfinished", "dropped", "last",
    )  # fmt: skip

    @contextlib.contextmanager
    def piece(self) -> Iterator[None]:
        """A march and the taking of its block: state, clock, records and impacts change together or not at all.

        Whatever ends the block early, Ctrl-C among it, leaves the run where it stood before.
        """
        run, mark = self.run, None if self.writer is None else self.writer.mark()
        state, kept = run.engine.arrays(run.state), self.kept()
        try:
            yield
        except BaseException:
            run.engine.take(run.state, state)
            vars(self).update(kept)
            if mark is not None:
                self.writer.return_to(mark)
            raise

    def kept(self) -> dict[str, Any]:
        """Records so far, for `return_to`: lists grow in place; arrays and numbers are only ever replaced."""
        return {name: copy.copy(value) for name, value in vars(self).items() if name in self._CHANGING}

    def return_to(self, kept: dict[str, Any]) -> None:
        """Go back to what `kept` returned."""
        vars(self).update({name: copy.copy(value) for name, value in kept.items()})

    def begin_here(self) -> None:
        """Forget what was recorded: the present state is the first record."""
        state, n = self.run.state, self.run.state.sizes[2]
        self.parts, self.events, self.seen, self.stride, self.deepest = [], [], 0, 1, 0.0
        self.unfinished, self.dropped = self._no_events(), np.zeros((n, 2))
        self._append(np.array([state.t]), state.q[None], state.u[None], np.zeros((1, n, 2)), self.last_state[None])
        self.judged = self.deepest_so_far()

    def compact(self) -> None:
        """Join the last parts while each is as long as the one before: few remain, and records move seldom."""
        while len(self.parts) > 1 and len(self.parts[-1][0]) >= len(self.parts[-2][0]):
            last, before = self.parts.pop(), self.parts.pop()
            self.parts.append(tuple(np.concatenate(pair) for pair in zip(before, last, strict=True)))

    def block(self, steps: int) -> Block:
        """Room for what a march of some steps records."""
        sizes = self.run.state.sizes
        events = min(_MAX_EVENTS_PER_PIECE, steps * max(1, sizes[2])) + sizes[2]
        columns = self.run.first_impacts.shape[1]
        block = Block.room(steps // self.every + 1, events, sizes, self.every, columns)
        block.state[0] = self.last_state
        return block

    def take(self, block: Block) -> None:
        """Keep the records and events of a block."""
        m, state = block.records, self.run.state
        self.taken = None
        if m:
            last = state.step // self.every
            index = np.arange(last - m + 1, last + 1) * self.every
            times = np.asarray(state.t0 + index * state.dt, float)
            measured = None if block.measured is None else Measured(*(x[:m] for x in block.measured))
            self._append(times, block.q[:m], block.u[:m], block.impulse[:m], block.state[:m], measured)
        events = block.events[: block.n_events].copy()
        if self.run.stepper.impact_steps == 2:
            events, self.unfinished = join_impacts(np.concatenate([self.unfinished, events]), state.t, state.dt)
        self._take_impacts(events)
        self.last_state = block.state[m].copy()

    def latest(self) -> Seen:
        """The last block's records and the present state."""
        state = self.run.state
        if self.taken and state.step % self.every == 0:
            return self.taken
        present = Seen(np.array([state.t]), state.q[None], state.u[None], self.run.engine.present_energy(state))
        return Seen(*(np.concatenate(pair) for pair in zip(self.taken or present, present, strict=True)))

    def excess(self) -> str | None:
        """Why the motion has left all bounds; None where it has not.

        A penetration is judged once, when it is new: a law or a parameter that changes sets bounds of its own later.
        """
        deepest = self.deepest_so_far()
        found = self.run.engine.excess(self.run.state, self.latest(), deepest if deepest > self.judged else 0.0)
        if found is None:
            self.judged = deepest
        return found

    def deepest_so_far(self) -> float:
        """Deepest penetration at the midpoints and in the records [m]."""
        return max(float(self.run.state.book[codes.MAX_PENETRATION]), self.deepest)

    def _take_impacts(self, events: Array) -> None:
        if not len(events):
            return
        if self.writer is not None:
            self.writer.append_impacts(_columns(events))
        if self.writer is None or sum(map(len, self.events)) < _MAX_EVENTS_IN_MEMORY:
            self.events.append(events)
        else:
            self.events_dropped = True

    def _no_events(self) -> Array:
        return np.zeros((0, self.run.first_impacts.shape[1]))

    def _append(
        self, t: Array, q: Array, u: Array, impulse: Array, state: np.ndarray, measured: Measured | None = None
    ) -> None:
        """Keep records; what the march did not measure on the way is measured now."""
        t, q, u, impulse, state = (np.ascontiguousarray(x) for x in (t, q, u, impulse, state))
        gap, energy = measured or self.run.engine.measure(self.run.state, t, q, u)
        # a contact that may not close is not there while it is open, see `Contact.closes_when`
        depths = -gap[:, self.unilateral]
        if self.gated.any():
            depths = np.where(self.gated & (state == OPEN), 0.0, -gap)[:, self.unilateral]
        self.deepest = max(self.deepest, float(np.max(depths, initial=0.0)))
        if self.writer is not None:
            self.writer.append(
                t=t,
                q=q,
                u=u,
                normal_impulse=impulse[:, :, 0],
                tangential_impulse=impulse[:, :, 1],
                contact_state=state,
                gap=gap,
                kinetic=energy[:, 0],
                potential=energy[:, 1],
            )
        self.taken = Seen(t, q, u, energy)
        self._keep(t, q, u, impulse, state, gap, energy)
        self._fit()

    def _fit(self) -> None:
        """Thin what is in memory where the file has it all."""
        while (self.writer is not None or self.thins) and sum(len(part[0]) for part in self.parts) > self.limit:
            self._thin()

    def _keep(self, *rows: np.ndarray) -> None:
        """Keep every `stride`-th record in memory; impulses of those between go to the next one that is kept."""
        self.last = tuple(x[-1:].copy() for x in rows)
        kinetic, potential = rows[6].T
        self.most_kinetic = max(self.most_kinetic, float(np.max(kinetic, initial=0.0)))
        least, most = self.potential
        self.potential = (
            min(least, float(potential.min(initial=math.inf))),
            max(most, float(potential.max(initial=-math.inf))),
        )
        kept = np.flatnonzero((self.seen + np.arange(len(rows[0]))) % self.stride == 0)
        self.seen += len(rows[0])
        impulse = rows[3]
        if len(kept):
            chosen = [x[kept] for x in rows]
            if self.stride > 1:  # sums up to each record that is kept, and no further
                chosen[3] = np.add.reduceat(impulse[: kept[-1] + 1], np.append(0, kept[:-1] + 1))
            chosen[3][0] += self.dropped
            self.parts.append(tuple(chosen))
            self.dropped = impulse[kept[-1] + 1 :].sum(axis=0)
        else:
            self.dropped = self.dropped + impulse.sum(axis=0)

    def _joined(self) -> tuple[np.ndarray, ...]:
        return tuple(np.concatenate(columns) for columns in zip(*self.parts, strict=True))

    def _thin(self) -> None:
        """Keep every other record of those in memory, and of those to come."""
        rows = self._joined()
        impulse = rows[3]
        impulse[2::2] += impulse[1::2][: len(impulse[2::2])]
        if len(impulse) % 2 == 0:
            self.dropped = self.dropped + impulse[-1]
        self.parts = [tuple(x[::2].copy() for x in rows)]
        self.stride *= 2

    def finish(self, status: str, complete: bool, wall: float) -> Trajectory:
        """The trajectory; the last state is recorded even between two records."""
        state = self.run.state
        wall += self.wall_before
        self.checkpoint()  # before the rows that only an end has
        self.ending = True
        self._take_impacts(self.unfinished)
        if state.step % self.every and state.t > self.last[0][-1]:
            now = np.array([state.t]), state.q[None], state.u[None]
            self._append(*now, state.impulse_sum[None], self.last_state[None])
        if (self.seen - 1) % self.stride:
            self.parts.append((*self.last[:3], self.dropped[None], *self.last[4:]))
        plain = status
        if self.stride > 1:
            where = "" if self.out is None else f", all records are in {visible(self.out)}"
            status += f"; thinned to every {self.stride * self.every} steps in memory{where}"
        if self.events_dropped:
            status += f"; the later impacts are only in {visible(self.out)}"
        events = np.concatenate(self.events) if self.events else self._no_events()
        trajectory = replace(
            self._trajectory(self._joined(), events),
            certificate=self._certificate(),
            status=status,
            complete=complete,
            wall_s=wall,
        )
        notes = self.run.engine.notes()
        trajectory = replace(trajectory, event_table=self.run.engine.events()).with_attributes(**notes)
        contacts, reactions = self.run.engine.contact_log()
        trajectory = replace(trajectory, contact_table=contacts, reaction_table=reactions)
        if self.writer is not None:
            self.writer.list_events(trajectory.event_table)
            self.writer.note(notes)
            self.writer.close(trajectory.certificate, plain, complete, state.step, wall)
            self.writer = None
        return trajectory.with_attributes(resumed=self.resumed) if self.resume else trajectory

    def rescue(self, wall: float, problem: BaseException) -> None:
        """Leave a readable file behind when `problem` ends the run; the caller reports an error in writing the file."""
        if self.writer is None or self.writer.closed:
            return
        state = self.run.state
        ended = "interrupted" if isinstance(problem, KeyboardInterrupt) else "ended by an error"
        try:
            if not self.ending:
                with contextlib.suppress(OSError):
                    self.checkpoint()
            if not self.writer.closed:
                with contextlib.suppress(OSError):
                    status = f"{ended} at t = {state.t:.9g} s"
                    self.writer.list_events(self.run.engine.events())
                    self.writer.abort(self._certificate(), status, state.step, wall + self.wall_before)
        finally:
            if not self.writer.closed:  # no room for the list of events: the last commit stays, and no claim on it
                self.writer.release()

    def _energy_in_play(self) -> float:
        """Largest of kinetic energy, range of the potential and work of the contacts so far [J]; nan where unknown.

        At rest all three are round-off.  So the energy in play is at least what one step of the forces would give, and
        a share of the potential that is far above the round-off of sums with it.
        """
        least, most = self.potential
        work = abs(float(self.run.state.book[codes.CONTACT_WORK]))
        level = _LEVEL * max(abs(least), abs(most)) if math.isfinite(most - least) else 0.0
        return float(np.max([self.most_kinetic, most - least, work, self.step_energy, level]))

    @cached_property
    def step_energy(self) -> float:
        """Kinetic energy that the forces of the start give a system at rest in a step [J]."""
        return self.run.engine.step_energy(self.run.state)

    def _certificate(self) -> Certificate:
        book, measured = self.run.state.book, self.run.engine.certificate()
        return Certificate(
            tolerance=self.run.tol,
            energy_in_play=self._energy_in_play(),
            forced=int(self.run.system.forced) | measured.pop("forced", 0),
            failed_steps=int(book[codes.FAILED_STEPS]),
            max_residual=float(book[codes.MAX_RESIDUAL]),
            max_penetration=self.deepest_so_far(),
            max_energy_gain=float(book[codes.MAX_ENERGY_GAIN]),
            max_lcp_size=int(book[codes.MAX_LCP_SIZE]),
            fallbacks=int(book[codes.FALLBACKS]),
            contact_work=float(book[codes.CONTACT_WORK]),
            projection_energy=float(book[codes.PROJECTION_ENERGY]),
            projections=int(book[codes.PROJECTIONS]),
            integration_energy=self._integration_energy(),
            friction_rounds=int(book[codes.FRICTION_ROUNDS]),
            friction_contraction=float(book[codes.FRICTION_CONTRACTION]),
            **measured,
        )

    def _integration_energy(self) -> float:
        """Booked step by step where the kernel evaluates energies anyway, else what the rest of the book leaves."""
        run, state = self.run, self.run.state
        if run.engine.books_integration():
            return float(state.book[codes.INTEGRATION_ENERGY])
        if run.retuned:
            return math.nan
        start, end = run.energies_of_start_and_now()
        with np.errstate(invalid="ignore"):  # energies beyond all numbers end a run, and their difference is unknown
            return float(end - start - state.book[codes.CONTACT_WORK] - state.book[codes.PROJECTION_ENERGY])

    def _blank(self) -> Trajectory:
        """Names, units, parameters and method, without a record: the header of a streamed file."""
        n_q, n_u, n = self.run.state.sizes
        none = np.zeros(0), np.zeros((0, n_q)), np.zeros((0, n_u)), np.zeros((0, n, 2)), np.zeros((0, n), np.int8)
        blank = self._trajectory((*none, np.zeros((0, n)), np.zeros((0, 2))), self._no_events())
        listed = self.run.engine.events() is not None  # the list is written where the run ends
        return replace(blank, event_table=EventTable.of([], self.run.system.contact_names, False)) if listed else blank

    def _trajectory(self, rows: tuple[np.ndarray, ...], events: Array) -> Trajectory:
        """Columns of records and rows of impacts as a trajectory of a run that goes on."""
        run, system = self.run, self.run.system
        t, q, u, impulse, state, gap, energy = rows
        return Trajectory(
            t=t,
            q=q,
            u=u,
            gap=gap,
            normal_impulse=np.ascontiguousarray(impulse[:, :, 0]),
            tangential_impulse=np.ascontiguousarray(impulse[:, :, 1]),
            contact_state=state,
            energy=Energies(np.ascontiguousarray(energy[:, 0]), np.ascontiguousarray(energy[:, 1])),
            certificate=Certificate(),
            impact_table=ImpactTable(_columns(events), system.contact_names),
            system_name=system.name,
            coordinate_names=system.coordinate_names,
            velocity_names=system.velocity_names,
            contact_names=system.contact_names,
            contact_kinds=system.contact_kinds,
            parameters=dict(zip(system.parameter_names, run.p0.tolist(), strict=True)),
            units=dict(system.units),
            dt=run.state.dt,
            every=self.every,
            steps=run.state.step,
            stepper=run.stepper.name,
            solver=run.solver,
            engine=run.engine.name,
            status="running",
            complete=False,
            wall_s=0.0,
            version=__version__,
            attributes=run.notes(),
        )


def join_impacts(rows: Array, now: float, dt: float) -> tuple[Array, Array]:
    """Join the two rows of an impact that takes two steps; returns finished rows, and rows that may go on.

    Velocities before are those of the first row, velocities after those of the second, impulses are summed.
    """
    time, contact = IMPACT_COLUMNS.index("time"), IMPACT_COLUMNS.index("contact")
    after = [IMPACT_COLUMNS.index(name) for name in ("normal_velocity_after", "tangential_velocity_after")]
    impulse = [IMPACT_COLUMNS.index(name) for name in ("normal_impulse", "tangential_impulse")]
    joined: list[Array] = []
    first_half: dict[tuple[float, ...], Array] = {}  # contact -> its row that may still find its second half
    met: Counter[tuple[float, ...]] = Counter()  # rows of a pair of bodies in a step: its points, in their order
    for row in rows:
        pair = (row[contact], *row[len(IMPACT_COLUMNS) :])
        here = (row[time], *pair)
        key = (*pair, met[here])
        met[here] += 1
        first = first_half.pop(key, None)
        if first is not None and row[time] - first[time] < 1.5 * dt:
            first[after] = row[after]
            first[impulse] += row[impulse]
        else:
            joined.append(row.copy())
            first_half[key] = joined[-1]
    waiting = {id(row) for row in first_half.values() if row[time] > now - 0.5 * dt}
    none = np.zeros((0, rows.shape[1]))
    finished = [row for row in joined if id(row) not in waiting]
    unfinished = [row for row in joined if id(row) in waiting]
    return np.array(finished) if finished else none, np.array(unfinished) if unfinished else none


def _columns(events: Array) -> dict[str, Array]:
    """The columns of a table of impacts; those of a scene, with one more, know the second body."""
    names = (*IMPACT_COLUMNS, OTHER)[: events.shape[1]]
    return {
        name: np.ascontiguousarray(events[:, i], dtype=np.int64 if name in ("contact", OTHER) else float)
        for i, name in enumerate(names)
    }


def memory_budget() -> int:
    """Bytes that records may take: a quarter of the memory that is free."""
    return available_memory() // 4
