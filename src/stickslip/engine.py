"""TODO"""

from __future__ import annotations

EVENT_COLUMNS = 8


@dataclass
class Memory:
    """State of a run between calls: its clock, the motion, the contact memory, and the book of its certificate.

    All of it lies in one array, `row`; the fields below are views of it.  So the state is copied, and taken back, by
    one assignment that nothing can cut in two, and no part of it can be of another time than the clock.

    Attributes: q, u; impulse_before, (n,) Lambda_N of the step before; impulse_sum, (n, 2) impulses since the last
    record; last_loaded, (n,) int64, number of the last step with a normal impulse; carried, (n, 3) impulses of the step
    before where it was the first half of an impact, and 1 where a contact sticks; reach, (n,) [m], how far a contact
    that carried load in the step before may seem open; book, whose entry STEPS is the clock.
    """

    row: Array
    p: Array
    t0: float
    sizes: tuple[int, int, int]  # of q and u, number of contacts
    problem_text: str = ""

    def __post_init__(self) -> None:
        n_q, n_u, n = self.sizes
        parts = np.split(self.row, np.cumsum([n_q, n_u, n, 2 * n, n, 3 * n, n]))
        self.q, self.u, self.impulse_before, impulse_sum, last_loaded, carried, self.reach, self.book = parts
        self.impulse_sum, self.carried = impulse_sum.reshape(n, 2), carried.reshape(n, 3)
        self.last_loaded = last_loaded.view(np.int64)

    @classmethod
    def start(cls, q: Array, u: Array, p: Array, t0: float, contacts: int) -> Memory:
        size = len(q) + len(u) + 8 * contacts + codes.BOOK_SIZE
        memory = cls(np.zeros(size), p, t0, (len(q), len(u), contacts))
        memory.q[:], memory.u[:], memory.last_loaded[:] = q, u, -10
        return memory

    @property
    def step(self) -> int:
        """Number of steps done."""
        return int(self.book[codes.STEPS])

    @step.setter
    def step(self, number: int) -> None:
        self.book[codes.STEPS] = number

    def copy(self) -> Memory:
        """A copy to come back to with `return_to`."""
        return Memory(self.row.copy(), self.p, self.t0, self.sizes, self.problem_text)

    def return_to(self, earlier: Memory) -> None:
        """Take over the state of an earlier copy, in the same array."""
        self.row[:] = earlier.row

    def arrays(self) -> dict[str, np.ndarray]:
        """All that changes during a run, for a checkpoint."""
        return {"row": self.row.copy()}

    def take(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go back to what `arrays` returned."""
        if arrays["row"].shape != self.row.shape:
            raise ValueError(f"the checkpoint's state has shape {arrays['row'].shape}, not {self.row.shape}.")
        self.row[:] = arrays["row"]


@dataclass
class Block:
    """Room for the records and events of one call; the row after the last record holds the current contact states."""

    q: Array
    u: Array
    impulse: Array
    state: np.ndarray
    events: Array
    records: int = 0
    n_events: int = 0

    @classmethod
    def room(cls, records: int, events: int, dof: int, contacts: int) -> Block:
        return cls(
            np.empty((records + 1, dof)),
            np.empty((records + 1, dof)),
            np.zeros((records + 1, contacts, 2)),
            np.zeros((records + 1, contacts), np.int8),
            np.empty((events + contacts + 1, EVENT_COLUMNS)),
        )
