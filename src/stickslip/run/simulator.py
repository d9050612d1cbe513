"""`Simulator`: a motion that is stepped by hand, read, and changed between steps.

A simulator prepares its run as `simulate` does, and marches the engine of `simulate`: its states are those of
`simulate`, bit for bit.  A single step of a compiled mechanism goes straight to the kernel (`_Single`); longer marches
go through the driver.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from stickslip import codes
from stickslip.checks import Array, on_top, real_number, unknown_name, whole_number
from stickslip.control import ControlLaw, steps_between
from stickslip.debug import bar_wanted
from stickslip.engine import Block, Measured
from stickslip.interrupts import uninterrupted
from stickslip.jit.making import Clock, running
from stickslip.request import Checks, Records
from stickslip.run.compiling import announced
from stickslip.run.controlled import StepError as StepError
from stickslip.run.controlled import march_with_law
from stickslip.run.driver import Run, march_in_pieces
from stickslip.run.progress import progress_bar
from stickslip.run.records import Store
from stickslip.scenario import as_scenario
from stickslip.scenes.given import gravity_of
from stickslip.scenes.handles import BodyHandle, JointHandle
from stickslip.scenes.rays import Hit
from stickslip.trajectory import STATE_NAMES, Certificate, ContactTable, Trajectory

PENDING = 256
"""Records of single steps that are kept together before they are handed to the store."""
FEW = 100
"""Steps that are done one by one: the driver needs some 250 us to begin and end a march, however short it is."""
NEVER = 2**62
"""Steps between two records of a simulator that is to keep none."""


def _nothing(done: int) -> None:
    """Progress that nobody looks at."""


@dataclass(frozen=True, eq=False, repr=False)
class Snapshot:
    """State of a `Simulator`, for `Simulator.restore`; it can be pickled.

    Attributes
    ----------
    t : time [s]
    identity : what the simulator moves and how, which must be equal where the snapshot is restored
    """

    t: float
    identity: str
    t0: float
    p: Array
    arrays: dict[str, np.ndarray]
    retuned: bool = False
    memory: Array = field(default_factory=lambda: np.zeros(0), repr=False)
    recording: dict[str, Any] | None = field(default=None, repr=False)
    law: ControlLaw | str | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"<Snapshot of {self.identity}: t = {self.t:g} s>"

    def __getstate__(self) -> dict[str, Any]:
        """All but the records of the simulator that made it: elsewhere the recording begins at the snapshot.

        Of the control law goes along by what it is known again, since functions need not be there elsewhere.
        """
        law = self.law.known_by() if isinstance(self.law, ControlLaw) else self.law
        return {**self.__dict__, "recording": None, "law": law}


class Simulator:
    """A motion that is stepped by hand.

    Parameters
    ----------
    moving : a `Scenario` (library entry, model file), a `Scene`, or a system, which needs q0 and u0.
    dt : step size [s]; a scenario has one of its own.
    q0, u0 : coordinates and velocities at the start, of a mechanism.
    params : parameter values that differ from the system's own, by name.
    t0 : time of the start [s].
    every : record every N-th step, for `trajectory`; None records the start and the present alone.
    stepper, solver, law, engine : as in `simulate`; the stepper must have steps of one length.
    options : of `Scene.simulate` for a scene: rule, cone, tol, threads, overlap; checks=Checks(...) for both.

    Examples
    --------
    >>> import stickslip as ss
    >>> sim = ss.Simulator(ss.library.bouncing_ball(), dt=1e-3)
    >>> sim.step(100)
    >>> round(sim.t, 9)
    0.1
    """

    def __init__(
        self,
        moving: Any,
        *,
        dt: float | None = None,
        q0: Any = None,
        u0: Any = None,
        params: Mapping[Any, float] | None = None,
        t0: float = 0.0,
        every: int | None = 1,
        checks: Checks | None = None,
        **options: Any,
    ) -> None:
        self._scenario = as_scenario(moving, dt, q0, u0)
        self._options = {
            **options,
            "records": Records(every=NEVER if every is None else whole_number(every, "every")),
            "checks": checks or Checks(on_energy_gain="ignore"),
        }
        self._t0 = real_number(t0, "t0")
        self._law: ControlLaw | str | None = None  # whose memory this is; a str: `ControlLaw.known_by` of it
        self._memory = np.zeros(0)
        own = self._scenario.parameters
        if on_top(None, params) and not own:
            raise ValueError("params are for mechanisms; a scene has none.")
        if own:
            system = self._scenario.system
            p = system.parameter_vector(on_top(self._scenario.params, params))
            own = dict(zip(system.parameter_names, p.tolist(), strict=True))
        self.params: Params = Params(self, own)
        self._start(self._t0, None, None)

    def _start(self, t: float, q: Any, u: Any, drives: bool = False, here: bool = False) -> None:
        """Stand at a state, None: that of the scenario, with an empty recording.

        drives : motors and forces stay
        here : q is the present one, which has been reached by steps: bodies may overlap, and joints be apart, as far as
            steps leave them
        """
        options = {**self._options, "reached": True} if here else self._options
        run = self._scenario.prepared(t, self.q if here else q, u, dict(self.params), options)
        with uninterrupted():
            with announced(run.system.name, bar_wanted(None)):
                store = Store(run, thins=True)
                run.engine.warm_up(run.state, store.block(0))
            if (before := vars(self).get("_run")) is not None:
                run.engine.succeed(before.engine, drives)
            self._run, self._store, self._since = run, store, time.perf_counter()
            self._single = _Single(run, store)

    # -- the state -----------------------------------------------------------------------------------------------------

    @property
    def scenario(self) -> Any:
        """The moving thing: the `Scenario`, or the scene with its title."""
        return self._scenario

    @property
    def scene(self) -> Any:
        """The scene that moves; ValueError for a mechanism."""
        found = getattr(self._scenario, "scene", None)
        if found is None:
            raise ValueError(f"{self._run.system.name!r} is a mechanism, which has no scene.")
        return found

    @property
    def t(self) -> float:
        """Present time [s]."""
        return self._run.state.t

    @property
    def dt(self) -> float:
        """Step size [s]."""
        return self._run.state.dt

    @property
    def steps(self) -> int:
        """Number of steps since the start, or since the last `set_state`."""
        return self._run.state.step

    @property
    def q(self) -> Array:
        """Coordinates, a copy."""
        return self._run.state.q.copy()

    @property
    def u(self) -> Array:
        """Velocities, a copy."""
        return self._run.state.u.copy()

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the entries of q."""
        return tuple(self._run.system.coordinate_names)

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """Names of the entries of u."""
        return tuple(self._run.system.velocity_names)

    @property
    def energy(self) -> tuple[float, float]:
        """Kinetic and potential energy [J]."""
        state = self._run.state
        kinetic, potential = self._run.engine.measure(state, np.array([state.t]), state.q[None], state.u[None]).energy[
            0
        ]
        return float(kinetic), float(potential)

    @property
    def gravity(self) -> Array:
        """Acceleration of gravity in a scene [m/s^2], a copy; what is set holds from the next step on."""
        dim = self.scene.dim
        return np.array(self._run.engine.acceleration[:dim])

    @gravity.setter
    def gravity(self, value: Any) -> None:
        run = self._run
        given = gravity_of(value, self.scene.dim)
        self._single.flush()
        with uninterrupted():  # the energies of records before are those of the gravity before
            before = run.energies_of_start_and_now()
            run.engine.acceleration[:] = given
            run.retuned = run.retuned or run.energies_of_start_and_now() != before
            run.engine.begin(run.state, run.state.q.copy(), run.state.u.copy(), 1)

    def set_state(self, *, t: float | None = None, q: Any = None, u: Any = None) -> None:
        """Stand at another state; what is not given stays as it is, and so do parameters, motors and forces.

        The state is checked as a start is: sizes, finite numbers, no body inside another.  Where it is refused, the
        simulator stays as it was.  The contact memory, the certificate and the recording begin anew.
        """
        when = self.t if t is None else real_number(t, "t")
        self._start(when, q, self.u if u is None else u, drives=True, here=q is None)

    # -- steps ---------------------------------------------------------------------------------------------------------

    def step(self, n: int = 1) -> None:
        """Do n steps.  A step that cannot be done raises `StepError`; the steps before it are done.

        Ctrl-C leaves the simulator at the end of a step.
        """
        left = 1 if type(n) is int and n == 1 else whole_number(n, "n")
        if left > FEW:
            self._march(left - 1)
            left = 1
        for _ in range(left):
            if self._single.step() != codes.DONE:
                self._march(1)

    def _march(self, n: int, advance: Callable[[int], None] = _nothing) -> None:
        """March through the driver, in pieces."""
        run = self._run
        self._single.flush()
        run.steps = run.state.step + n
        with uninterrupted(), running(Clock()) as clock:
            try:
                reason = march_in_pieces(run, self._store, advance, clock)
                if reason is not None:
                    raise StepError(reason)
            except BaseException:  # single steps go on from the end of the last piece, with nothing pending
                self._single = _Single(run, self._store)
                raise
            self._single.begin()

    def run(
        self,
        t_end: float,
        control: Callable[[Simulator], object] | ControlLaw | None = None,
        rate: float | None = None,
        progress: bool | Callable[[int], None] | None = None,
    ) -> None:
        """March to t_end [s], with a control law that is called now and `rate` times a second.

        control : function of this simulator, which reads states and contacts, and sets parameters, motors and forces;
            or a `ControlLaw`, which is compiled where it is in the kernel language.
        rate : [1/s], that of the `ControlLaw` or once per step where it is not given; 1 / rate must be a whole number
            of steps.
        progress : as in `simulate`.
        """
        left = self._steps_to(real_number(t_end, "t_end"))
        if left < 1:
            raise ValueError(f"t_end must be at least one step after t = {self.t:g} s, got {t_end:g}.")
        with progress_bar(progress, self._run.system.name, left, 0) as advance:
            if isinstance(control, ControlLaw):
                march_with_law(self, control, left, rate, advance)
            else:
                self._run_with(control, t_end, left if control is None else steps_between(rate, self.dt), advance)

    def _steps_to(self, t_end: float) -> int:
        """Number of steps from the present to t_end [s]."""
        return round((t_end - self.t) / self.dt)

    def _run_with(self, control: Any, t_end: float, apart: int, advance: Callable[[int], None]) -> None:
        """March to t_end [s], and call a function of this simulator before every `apart`-th step.

        The function may do steps itself, go back, or set a state, where steps are counted anew: time alone tells how
        many are left.
        """
        if not (control is None or callable(control)):
            raise ValueError(f"control must be a function of the simulator or a ControlLaw, got {control!r}.")
        total = left = self._steps_to(t_end)
        while left > 0:
            if control is not None:
                control(self)
                left = self._steps_to(t_end)
            if left > 0:
                self.step(min(apart, left))
                left = self._steps_to(t_end)
            advance(max(0, total - left))

    @property
    def control_memory(self) -> Array:
        """What the last `ControlLaw` keeps from call to call, a copy."""
        return self._memory.copy()

    def reset(self) -> None:
        """Go back to the start that the simulator was made with; parameters stay, motors are the scene's again.

        A control law begins with its first memory.
        """
        self._start(self._t0, None, None)
        self._law, self._memory = None, np.zeros(0)

    # -- what is there to be read --------------------------------------------------------------------------------------

    def contacts(self) -> ContactTable:
        """The contacts that are closed at the present, with the impulses and forces of the last step."""
        columns = self._run.engine.contact_columns(self._run.state, self._single.last)
        if columns["state"].dtype.kind == "i":
            columns["state"] = np.array(STATE_NAMES, dtype=str)[columns["state"]]
        return ContactTable(columns)

    def ray(self, origin: Any, direction: Any, length: float | None = None, ignore: Any = ()) -> Hit | None:
        """First hit of a ray from `origin` along `direction` in a scene: body, point, normal, distance; or None.

        length : how far it goes [m]; None: without end.
        ignore : bodies that it passes through, by name, number or the `Body` itself; those that hold the origin do not
            count in any case.
        """
        found: Hit | None = self._run.engine.ray(origin, direction, length, ignore)
        return found

    def trajectory(self) -> Trajectory:
        """Records since the start, or since the last `set_state`, with its certificate."""
        self._single.flush()
        store = copy.copy(self._store)
        store.parts, store.events = list(store.parts), list(store.events)
        found = store.finish("stepped by hand", True, time.perf_counter() - self._since)
        shown = None if self._scenario.drawing is None else self._scenario  # so that the run can be drawn and filmed
        found = replace(found, scenario=shown)
        return replace(found, parameters=dict(self.params)) if self.params else found

    @property
    def certificate(self) -> Certificate:
        """The certificate of the steps so far."""
        return self.trajectory().certificate

    # -- what can be changed -------------------------------------------------------------------------------------------

    def joint(self, which: Any) -> JointHandle:
        """A joint of a scene, by its name, its number or the `Joint` itself: its motor can be changed between steps."""
        found: JointHandle = self._run.engine.handle("joint", which)
        return found

    def body(self, which: Any) -> BodyHandle:
        """A body of a scene, by its name, its number or the `Body` itself: a force on it can be set between steps."""
        found: BodyHandle = self._run.engine.handle("body", which)
        return found

    # -- save and restore ----------------------------------------------------------------------------------------------

    def save(self) -> Snapshot:
        """The present state, contact memory and certificate among it, to come back to with `restore`."""
        self._single.flush()
        run = self._run
        self._store.compact()
        recording = {"of": self._store, **self._store.kept()}
        p = np.array(run.state.p, float)
        return Snapshot(
            run.state.t, self._identity(), run.state.t0, p, self._arrays(), run.retuned, self._memory.copy(), recording,
            self._law,
        )  # fmt: skip

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot of this simulator, or of another one of the same system: the steps after it are equal.

        In the simulator that made the snapshot the recording goes back to it, too.  In another one the recording begins
        at the snapshot.  Where it fails, the simulator stays where it was.
        """
        if not isinstance(snapshot, Snapshot):
            raise ValueError(f"snapshot must be what `save` returned, got {type(snapshot).__name__}.")
        if snapshot.identity != self._identity():
            raise ValueError(
                f"snapshot must be one of the same system, dt and method: it is of {snapshot.identity!r}, this "
                f"simulator has {self._identity()!r}."
            )
        run, params, t0, retuned = self._run, self.params._values, self._run.state.t0, self._run.retuned
        law, memory = self._law, self._memory
        with uninterrupted():
            p, arrays, recorded = run.state.p.copy(), run.engine.arrays(run.state), self._store.kept()
            try:
                self._go_to(snapshot)
            except BaseException:  # a snapshot of another scene of this name, or a full memory: nothing has happened
                self.params._values, run.state.p[:], run.state.t0, run.retuned = params, p, t0, retuned
                self._law, self._memory = law, memory
                self._take(arrays)
                self._store.return_to(recorded)
                self._single = self._single.again()
                raise

    def _go_to(self, snapshot: Snapshot) -> None:
        run, kept = self._run, snapshot.recording
        self.params.take(snapshot.p)
        run.state.t0, run.retuned = snapshot.t0, snapshot.retuned
        self._law, self._memory = snapshot.law, snapshot.memory.copy()
        self._take(snapshot.arrays)
        if kept is not None and kept["of"] is self._store:
            self._store.return_to({name: value for name, value in kept.items() if name != "of"})
        else:
            self._store.begin_here()
        self._single = _Single(run, self._store)

    def _identity(self) -> str:
        run = self._run
        own = f"{run.system.name} ({self._made_of})"
        return f"{own}, dt = {run.state.dt!r}, {run.stepper!r}, {run.solver}, every = {self._store.every}"

    @functools.cached_property
    def _made_of(self) -> str:
        """A digest of equations, or of masses, shapes and materials: of all that a snapshot does not hold."""
        known = self._run.identity()
        made = [known.get(name) for name in ("equations", "made_of", "friction")]
        return hashlib.sha256(repr(made).encode()).hexdigest()[:8]

    def _arrays(self) -> dict[str, np.ndarray]:
        engine = self._run.engine
        return {name: value.copy() for name, value in engine.arrays(self._run.state).items()}

    def _take(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._run.engine.take(self._run.state, arrays)

    def __repr__(self) -> str:
        return f"<Simulator {self._run.system.name!r}: t = {self.t:.9g} s, {self.steps} steps of {self.dt:g} s>"

    def copy(self) -> Simulator:
        """Another simulator at the present state; its recording begins there."""
        other = object.__new__(Simulator)
        other.__setstate__(self.__getstate__())
        return other

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Simulator:
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        own = {name: vars(self)[name] for name in ("_scenario", "_options", "_t0")}
        return {**own, "params": dict(self.params), "saved": self.save()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        values, saved = state.pop("params"), state.pop("saved")
        vars(self).update(state, _law=None, _memory=np.zeros(0))
        self.params = Params(self, values)
        self._start(self._t0, None, None)
        self.restore(saved)


class Params(MutableMapping[str, float]):
    """Parameters of a mechanism by name.  A value that is set holds from the next step on."""

    def __init__(self, simulator: Simulator, values: Mapping[str, float]) -> None:
        self._simulator, self._values = simulator, dict(values)

    def __getitem__(self, name: str) -> float:
        self._require(name)
        return self._values[name]

    def __setitem__(self, name: str, value: float) -> None:
        self.update({name: value})

    def update(self, *args: Any, **named: float) -> None:
        """Set several parameters at once; where one is refused, none is changed."""
        given = {str(name): real_number(value, str(name)) for name, value in dict(*args, **named).items()}
        for name in given:
            self._require(name)
        simulator = self._simulator
        run = simulator._run
        changed = {**self._values, **given}
        _, _, p = run.system.check(run.state.q, run.state.u, changed, run.state.t, ("q", "u"))
        simulator._single.flush()
        with uninterrupted():  # names, numbers and what the engine made of them are one thing
            self._values = changed
            before = run.energies_of_start_and_now()
            run.state.p[:] = p
            run.retuned = run.retuned or run.energies_of_start_and_now() != before
            run.engine.begin(run.state, run.state.q.copy(), run.state.u.copy(), 1)

    def take(self, p: Array) -> None:
        """The values of a snapshot."""
        self._values = dict(zip(self._values, p.tolist(), strict=True)) if self._values else {}
        self._simulator._run.state.p[:] = p

    def _require(self, name: str) -> None:
        if name not in self._values:
            if not self._values:
                raise KeyError(f"{name!r}: a scene has no parameters; change its joints by joint(...).")
            raise KeyError(unknown_name("parameter", name, tuple(self._values)))

    def __delitem__(self, name: str) -> None:
        raise TypeError("a parameter cannot be taken away; set it to another value.")

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(self._values)


class _Single:
    """Steps one at a time: one call of the kernel, into arrays that are made once; for compiled mechanisms and scenes.

    A step is entered in one assignment, of `mark`, after its record has been copied.  Ctrl-C between the kernel and
    this assignment leads to `_take` a second time, which gives what the first time would have given.
    """

    def __init__(self, run: Run, store: Store) -> None:
        self.run, self.store, self.state = run, store, run.state
        sizes, contacts = run.state.sizes, run.state.sizes[2]
        self.one = Block.room(1, 2 * contacts + 2, sizes, store.every, run.first_impacts.shape[1])
        self.march = run.engine.once(self.state, self.one)
        self.row = self.state.row
        self.last = None if self.row is None else self.row.copy()  # the state before the last step
        self.begin()

    def begin(self) -> None:
        """Take the contact states of the store, with nothing pending."""
        sizes, columns = self.run.state.sizes, self.run.first_impacts.shape[1]
        self.pending = Block.room(PENDING, PENDING, sizes, self.store.every, columns)
        if self.one.measured is not None:
            self.pending.measured = Measured(np.empty((PENDING, sizes[2])), np.empty((PENDING, 2)))
        self.pending.state[0] = self.one.state[0] = self.store.last_state
        self.begun = self.state.step
        self.mark = (self.begun, 0)  # steps done, events

    def again(self) -> _Single:
        """Steps from here on into arrays that are made anew, with what is pending."""
        other = _Single(self.run, self.store)
        other.pending, other.begun, other.mark = self.pending, self.begun, self.mark
        other.last, other.one.state[0] = self.last, self.one.state[0]
        return other

    def step(self) -> int:
        """Do one step; the status code."""
        if self.mark[0] - self.begun >= PENDING:
            self.flush()
        if self.last is not None:
            self.last[:] = self.row
        try:
            code = self.march()
            if code == codes.DONE:
                self._take()
            elif self.run.engine.counts_failures:  # it has tried all there is
                raise StepError(self.run.engine.reason(self.state, code))
        except BaseException:
            if self.state.step > self.mark[0]:
                self._take()
            raise
        return code

    def _take(self) -> None:
        """Enter the step that the kernel has just done."""
        one, pending, every = self.one, self.pending, self.store.every
        number, events = self.state.step, self.mark[1]
        if one.n_events:
            room = len(pending.events)
            if events + one.n_events > room:
                pending.events = np.concatenate(
                    [pending.events, np.empty((room + one.n_events, pending.events.shape[1]))]
                )
            pending.events[events : events + one.n_events] = one.events[: one.n_events]
        i = (number - 1) // every - self.begun // every
        if number % every == 0:
            pending.q[i], pending.u[i], pending.impulse[i] = one.q[0], one.u[0], one.impulse[0]
            if pending.measured is not None and one.measured is not None:
                pending.measured.gap[i], pending.measured.energy[i] = one.measured.gap[0], one.measured.energy[0]
            pending.state[i + 1] = one.state[0]
        pending.state[i] = one.state[0]
        self.mark = (number, events + one.n_events)

    def flush(self) -> None:
        """Hand the records to the store; `StepError` where the motion makes no sense any more."""
        number, events = self.mark
        if number == self.begun:
            return
        every = self.store.every
        with uninterrupted():
            self.pending.records, self.pending.n_events = number // every - self.begun // every, events
            self.store.take(self.pending)
            self.begin()
        reason = self.store.excess()
        if reason is not None:
            raise StepError(reason)
