"""The engine protocol: how one driver runs mechanisms, scenes, event-driven and adaptive motions alike.

An `Engine` marches a `State` by some steps and writes records into a `Block`.  `simulate` is the driver of
`stickslip.run` around an engine: pieces, records, checkpoints, progress.  A caller who steps by hand needs an engine, a
state and a block, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from stickslip import codes
from stickslip.checks import Array

EVENT_COLUMNS = 8


class Measured(NamedTuple):
    """Gaps (n, contacts) [m], and kinetic and potential energies (n, 2) [J] of n states."""

    gap: Array
    energy: Array


class Seen(NamedTuple):
    """States of a motion: times (n,) [s], coordinates, velocities, and energies (n, 2) [J]."""

    t: Array
    q: Array
    u: Array
    energy: Array


class State(Protocol):
    """State of a run between two marches: its clock, the motion, the contact memory, and the book of its certificate.

    The clock is an entry of the book, and the kernel itself writes the array of the book: so no signal can separate
    state and clock.

    Attributes
    ----------
    t0 : time of step 0 [s].
    dt : length of a step [s], or the spacing of records where the engine chooses its steps.
    p : parameters.
    q, u : coordinates and velocities.
    impulse_sum : impulses since the last record [N s], shape (n, 2).
    sizes : lengths of q and u, number of contacts.
    problem_text : words of the engine about a step that it could not do.
    row : all that changes during a run in one array; None where it lies in many.
    """

    row: Any = None
    t0: float
    dt: float
    p: Array
    q: Array
    u: Array
    impulse_sum: Array
    book: Array
    sizes: tuple[int, int, int]
    problem_text: str = ""

    @property
    def step(self) -> int:
        """Number of steps done."""
        return int(self.book[codes.STEPS])

    @property
    def t(self) -> float:
        """Present time [s]."""
        return self.t0 + self.step * self.dt

    def arrays(self) -> dict[str, np.ndarray]:
        """Copies of all that changes during a run, for a checkpoint."""
        ...

    def take(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go back to what `arrays` returned."""
        ...


class Memory(State):
    """State of a mechanism, all in one array, `row`; its fields are views of this array.

    So one assignment copies the state, or takes it back, and no signal can cut the assignment in two.

    Attributes
    ----------
    impulse_before : Lambda_N of the step before [N s], (n,)
    last_loaded : number of the last step with a normal impulse, (n,) int64
    carried : impulses of the step before where it was the first half of an impact, and 1 where a contact sticks, (n, 3)
    reach : gap up to which a contact that carried load in the step before does not count as open [m], (n,)
    drift : how fast a contact that a blow has not parted may come apart since [m/s], (n,)

    The others are described in `State`.
    """

    def __init__(self, row: Array, p: Array, t0: float, dt: float, sizes: tuple[int, int, int]) -> None:
        self.row, self.p, self.t0, self.dt, self.sizes = row, p, t0, dt, sizes
        n_q, n_u, n = sizes
        end = n_q + n_u
        self.q, self.u, self.impulse_before = row[:n_q], row[n_q:end], row[end : end + n]
        self.impulse_sum = row[end + n : end + 3 * n].reshape(n, 2)
        self.carried = row[end + 4 * n : end + 7 * n].reshape(n, 3)
        self.last_loaded = row[end + 3 * n : end + 4 * n].view(np.int64)
        self.reach, self.drift = row[end + 7 * n : end + 8 * n], row[end + 8 * n : end + 9 * n]
        self.book = row[end + 9 * n :]

    @classmethod
    def start(cls, q: Array, u: Array, p: Array, t0: float, contacts: int, dt: float) -> Memory:
        """State at the beginning of a run: q, u at t0 [s], with an empty book."""
        size = len(q) + len(u) + 9 * contacts + codes.BOOK_SIZE
        memory = cls(np.zeros(size), p, t0, dt, (len(q), len(u), contacts))
        memory.q[:], memory.u[:], memory.last_loaded[:] = q, u, -10
        return memory

    def advance(self, steps: int) -> None:
        """Move the clock on."""
        self.book[codes.STEPS] += steps

    def copy(self) -> Memory:
        """A copy to come back to with `return_to`."""
        return Memory(self.row.copy(), self.p, self.t0, self.dt, self.sizes)

    def return_to(self, earlier: Memory) -> None:
        """Write the state of an earlier copy into the array of this state."""
        self.row[:] = earlier.row

    def arrays(self) -> dict[str, np.ndarray]:
        return {"row": self.row.copy()}

    def take(self, arrays: Mapping[str, np.ndarray]) -> None:
        if arrays["row"].shape != self.row.shape:
            raise ValueError(f"the checkpoint's state has shape {arrays['row'].shape}, not {self.row.shape}.")
        self.row[:] = arrays["row"]


@dataclass
class Block:
    """Room for the records and events of one march; the row after the last record holds the current contact states.

    every : steps between two records.
    measured : gaps and energies of the records, where the march measures them on the way.
    """

    q: Array
    u: Array
    impulse: Array
    state: np.ndarray
    events: Array
    every: int = 1
    records: int = 0
    n_events: int = 0
    measured: Measured | None = None

    @classmethod
    def room(
        cls, records: int, events: int, sizes: tuple[int, int, int], every: int = 1, columns: int = EVENT_COLUMNS
    ) -> Block:
        """Room for some records and events of a state of these sizes, see `State`."""
        n_q, n_u, contacts = sizes
        return cls(
            np.empty((records + 1, n_q)),
            np.empty((records + 1, n_u)),
            np.zeros((records + 1, contacts, 2)),
            np.zeros((records + 1, contacts), np.int8),
            np.empty((events + contacts + 1, columns)),
            every,
        )

    def record(self, state: State) -> None:
        """Write a state as the next record; the sum of its impulses begins anew."""
        i = self.records
        self.q[i], self.u[i], self.impulse[i] = state.q, state.u, state.impulse_sum
        state.impulse_sum[:] = 0.0
        self.state[i + 1] = self.state[i]
        self.records += 1


class OutOfTime(Exception):
    """The time limit of a run is over in the middle of a step; says what was under way."""


class Engine(Protocol):
    """An engine does the steps of a run.  The type of its states tells the kind of systems that it marches.

    Attributes
    ----------
    name : "compiled" or "reference", as trajectories and files have it
    first_piece : steps of the first march, when nobody knows yet how long a step takes
    soon_done : a march takes as long as it was estimated, so that Ctrl-C can wait for its end
    chooses_steps : the engine divides the time between records itself
    counts_failures : a step that ends a march is counted in the book already
    helper : the engine that does a step which this one left unsolved, or None
    deadline : when the run has to end, by `time.perf_counter`; a march that takes long raises `OutOfTime` then
    talks : a step that takes long says so on stderr
    controller : the control law at work, a `stickslip.control.Controller`, or None
    acceleration : of gravity in a scene (3,) [m/s^2], which can be changed between steps; None for a mechanism
    """

    first_piece: ClassVar[int] = 1
    soon_done: ClassVar[bool] = False
    chooses_steps: ClassVar[bool] = False
    counts_failures: ClassVar[bool] = False
    helper: Engine | None = None
    deadline: float = math.inf
    talks: bool = False
    controller: Any = None
    acceleration: Any = None

    @property
    def name(self) -> str: ...

    def begin(self, state: Any, q0: Array, u0: Array, steps: int) -> None:
        """Note the start (q0, u0) of a run of some steps; `state` may be that of a later checkpoint."""

    def warm_up(self, state: Any, block: Block) -> None:
        """Compile, or load from the disk cache, without doing a step."""
        self.march(state, 0, block)

    def march(self, state: Any, steps: int, block: Block) -> int:
        """Do up to `steps` steps, filling `block` from its beginning; return the status code, `codes.DONE` or why not.

        State and block change together: both hold exactly the steps that were done.
        """
        ...

    def once(self, state: Any, block: Block) -> Callable[[], int]:
        """A function that does one step as `march` does, into this block; made once, it is called many times."""
        return lambda: self.march(state, 1, block)

    def contact_columns(self, state: Any, before: Array | None) -> dict[str, np.ndarray]:
        """Columns of the table of contacts that were closed in the last step, see `ContactTable`.

        before : `state.row` before the last step, where there is one
        """
        ...

    def handle(self, kind: str, which: Any) -> Any:
        """A body or a joint (`kind`) of a scene, to be read and driven between steps."""
        raise ValueError(f"{kind} is for scenes; a mechanism is changed by its `params`.")

    def succeed(self, before: Any, drives: bool) -> None:
        """Take the place of an engine of one simulator; `drives`: with motors and forces that were set by hand."""
        return None  # a mechanism is driven by its parameters, which stay with the simulator

    def ray(self, origin: Any, direction: Any, length: Any, ignore: Any) -> Any:
        """First hit of a ray in a scene, see `Simulator.ray`."""
        raise ValueError("ray is for scenes; a mechanism has no shapes.")

    def measure(self, state: Any, t: Array, q: Array, u: Array) -> Measured:
        """Gaps and energies of states of this run."""
        ...

    def present_energy(self, state: Any) -> Array:
        """Kinetic and potential energy of the present state (1, 2) [J]."""
        return self.measure(state, np.array([state.t]), state.q[None], state.u[None]).energy

    def reason(self, state: Any, code: int) -> str:
        """Why a march ended with this code, and what helps, in words."""
        ...

    def excess(self, state: Any, seen: Seen, depth: float) -> str | None:
        """Why a motion whose steps were all solved must end: it has left all bounds.  None where it has not.

        seen : the latest states; depth : deepest penetration so far [m].
        """
        return None

    def books_integration(self) -> bool:
        """Whether the book has what the integration rule does to the energy, step by step."""
        return False

    def step_energy(self, state: Any) -> float:
        """Kinetic energy that the forces of the start give a system at rest in one step [J]."""
        return 0.0

    def resolution(self, state: Any, trajectory: Any) -> float:
        """Energy gain of contacts that is the scheme's own resolution [J]; infinite: no gain is reported."""
        return math.inf

    def certificate(self) -> dict[str, Any]:
        """Entries of the certificate that only this engine measures."""
        return {}

    def notes(self) -> dict[str, str]:
        """Facts that only this engine knows, such as counts of its steps, for the attributes of the trajectory."""
        return {}

    def events(self) -> Any:
        """The table of events so far, of an engine that keeps one; else None."""
        return None

    def contact_log(self) -> tuple[Any, Any]:
        """Tables of contact points and joint reactions of all records, of an engine that keeps them; else None."""
        return None, None

    def arrays(self, state: Any) -> dict[str, np.ndarray]:
        """Copies of all that changes during a run, for a checkpoint: the state, and what the engine keeps besides."""
        found: dict[str, np.ndarray] = state.arrays()
        if self.controller is not None:
            found |= self.controller.arrays() | {"control.parameters": np.array(state.p, float)}
        return found

    def take(self, state: Any, arrays: Mapping[str, np.ndarray]) -> None:
        """Go back to what `arrays` returned."""
        state.take(arrays)
        if self.controller is not None:
            self.controller.take(arrays)
            state.p[:] = arrays["control.parameters"]

    def control(self, law: Any, memory: Array, first: int, apart: int) -> None:
        """Call a control law before step `first`, and before every `apart`-th step from there on; None: no more."""
        if law is not None:
            raise ValueError("control is for steppers with steps of one length; use 'moreau-midpoint'.")

    def call_law(self, state: Any) -> int:
        """Call the control law where it is due before the next step; DONE or CONTROL_FAILED."""
        return codes.DONE


def beyond_bounds(t: float, excess: str, cure: str) -> str:
    """The sentence of a run that ends at t [s] because its motion has left all bounds.

    excess : quantity that is too large, in words
    cure : advice
    """
    return f"failed at t = {t:.9g} s: the motion grows beyond all bounds, with {excess}; {cure}"
