"""`ControlLaw`: a law of control that is called at a rate of its own, and compiled where it is in the kernel language.

A law is a function of one argument, which holds what it sees and what it sets.  `MechanismNow` and `SceneNow` say what
that is.  Machine code and plain Python call it with arrays of equal contents, between the steps of the kernel.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from stickslip.checks import Array, real_number
from stickslip.codes import CONTROL_FAILED
from stickslip.debug import outside
from stickslip.jit import Kernel, KernelError, kernel
from stickslip.jit.addresses import known
from stickslip.jit.fingerprint import function_fingerprint
from stickslip.jit.watching import strayed, watch

WHAT_HELPS = "docs/kernels.md says what a kernel may do."
NEVER = -1
"""Number of a step that there is not."""


class MechanismNow(NamedTuple):
    """What a control law of a mechanism sees, and sets.

    Attributes
    ----------
    t : time [s]
    q, u : coordinates and velocities, (f,)
    p : parameters in the order of `system.parameter_names`
    impulse : normal impulses of the contacts in the last step [N s], (n,)
    inputs : parameters that the law sets, as they are before; in the order of `ControlLaw.inputs`
    memory : numbers that the law keeps from call to call
    """

    t: Any
    q: Any
    u: Any
    p: Any
    impulse: Any
    inputs: Any
    memory: Any


class SceneNow(NamedTuple):
    """What a control law of a scene sees, and sets.

    Attributes
    ----------
    t : time [s]
    q, u : coordinates and velocities of the bodies that are not static, as in a trajectory
    coordinate, speed : of the joints in the order of `ControlLaw.joints`, angle [rad] or travel [m] from the start
    torque : effort on each joint beside its motor [N m or N]; the law sets it
    target : angle or travel that a motor with stiffness leads to; the law sets it
    motor_speed : speed that a motor holds, or its damping leads to; the law sets it
    force : force [N], then torque [N m], in world axes on the bodies of `ControlLaw.bodies`, (n, 6), in the plane
        (n, 3) with x, y, torque; the law sets it
    memory : numbers that the law keeps from call to call
    """

    t: Any
    q: Any
    u: Any
    coordinate: Any
    speed: Any
    torque: Any
    target: Any
    motor_speed: Any
    force: Any
    memory: Any


@dataclass(frozen=True, eq=False)
class ControlLaw:
    """A law of control: a function of what it sees, called now and `rate` times a second.

    Parameters
    ----------
    function : function of a `MechanismNow` or a `SceneNow`, which writes into its arrays.  In the kernel language it is
        compiled; else it runs in Python, and a warning says what is in the way.
    inputs : names of the parameters of a mechanism that the law sets.
    joints : names of the joints of a scene that it sees and drives; None: all that have an axis, in their order.
    bodies : names of the bodies of a scene that it pushes.
    memory : what `memory` holds before the first call, such as the sum of an integral part.
    rate : calls per second, once per step where it is not given; 1 / rate must be a whole number of steps.
    compiled : False: run it as plain Python, with equal bits, to look at it with a debugger.

    Examples
    --------
    >>> import stickslip as ss
    >>> def swing(now):
    ...     now.inputs[0] = -0.5 * now.u[0]
    >>> ControlLaw(swing, inputs=["torque"], rate=100)
    <ControlLaw swing: inputs torque, 100 calls/s>
    """

    function: Callable[[Any], object]
    inputs: Sequence[str] = ()
    joints: Sequence[str] | None = None
    bodies: Sequence[str] = ()
    memory: Sequence[float] = ()
    rate: float | None = None
    compiled: bool = True

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ValueError(f"function of a control law must be a function of what it sees, got {self.function!r}.")
        for name in ("inputs", "joints", "bodies"):
            given = getattr(self, name)
            if given is None and name == "joints":
                continue
            if isinstance(given, str) or not all(isinstance(each, str) for each in given):
                raise ValueError(f"{name} of a control law must be a list of names, got {given!r}.")
            if len(set(given)) < len(given):
                raise ValueError(f"{name} of a control law must name each once, got {list(given)!r}.")
            object.__setattr__(self, name, tuple(given))
        memory = tuple(real_number(x, f"memory[{k}]") for k, x in enumerate(self.memory))
        object.__setattr__(self, "memory", memory)
        if self.rate is not None and not real_number(self.rate, "rate") > 0.0:
            raise ValueError(f"rate of a control law must be positive, got {self.rate!r}.")

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    def identity(self) -> str:
        """What decides its motion, for checkpoints: names, memory, and all that its function uses, as it is now.

        Numbers, arrays and functions around it count, and what lists and objects hold.  So a law that keeps something
        elsewhere than in its memory is another one after its first call, and a run cannot go on with it.
        """
        return f"{self._names()}, {function_fingerprint(self.function)}"

    def known_by(self) -> str:
        """By what a law is known again in another process: its names, its memory, and the text of its function."""
        found: Any = getattr(self.function, "python", self.function)
        try:
            text = inspect.getsource(found)
            around = {
                name: repr(value) for name, value in inspect.getclosurevars(found).nonlocals.items()
            } if isinstance(found, FunctionType) else {}  # fmt: skip
        except (OSError, TypeError):
            text, around = repr(type(found)), {}
        return f"{self._names()}, {hashlib.sha256(f'{text}{sorted(around.items())}'.encode()).hexdigest()}"

    def _names(self) -> str:
        return f"{self.inputs}, {self.joints}, {self.bodies}, {self.memory}, {self.rate}"

    def __repr__(self) -> str:
        parts = [f"{name} {', '.join(getattr(self, name))}" for name in ("inputs", "joints", "bodies")
                 if getattr(self, name)]  # fmt: skip
        often = "every step" if self.rate is None else f"{self.rate:g} calls/s"
        return f"<ControlLaw {self.name}: {', '.join([*parts, often])}>"


class Clockwork(NamedTuple):
    """When a law is called, and what it keeps: numbers and arrays as kernels take them.

    Attributes
    ----------
    address : of its machine code
    first, apart : step of its first call; steps between two calls
    called : number of the step before which it was called last, (1,)
    before : its memory before this call, to go back to
    """

    address: int
    first: int
    apart: int
    called: np.ndarray
    before: np.ndarray


@kernel
def is_due(clock: Clockwork, step: int) -> bool:
    """Whether the law has to be called before this step."""
    return (step - clock.first) % clock.apart == 0 and clock.called[0] != step


@kernel
def steps_until_due(clock: Clockwork, step: int) -> int:
    """Steps from here to the next call."""
    return clock.apart - (step - clock.first) % clock.apart


@kernel
def first_wrong(values: np.ndarray) -> int:
    """Place of the first number that is not finite, or -1."""
    for k in range(values.shape[0]):
        if not abs(values[k]) < 1e300:
            return k
    return -1


@kernel
def copy_numbers(source: np.ndarray, to: np.ndarray) -> None:
    """Copy the entries of one array into another one of equal length."""
    for k in range(to.shape[0]):
        to[k] = source[k]


class Controller:
    """A control law at work in an engine.

    Attributes
    ----------
    now : the arrays that the law sees and sets, a `MechanismNow` or a `SceneNow` with t = 0
    clock : `Clockwork`
    plain : whether it runs in Python
    error : what a law in Python has raised
    """

    error: Exception | None = None

    def __init__(self, law: ControlLaw, now: Any, first: int, apart: int) -> None:
        self.law, self.now = law, now
        address, why = _address(law, now)
        self.plain = address == 0
        if self.plain:
            address = -id(self)
            known[address] = functools.partial(_called, _python(law))
        if why:
            warnings.warn(
                f"control law {law.name!r} runs in Python, some ten times slower: {why} {WHAT_HELPS}",
                RuntimeWarning,
                stacklevel=outside(),
            )
        called, before = np.full(1, NEVER, np.int64), now.memory.copy()
        self.clock = Clockwork(address, first, apart, called, before)

    def end(self) -> None:
        """Forget the function of a law in Python."""
        known.pop(-id(self), None)

    def arrays(self) -> dict[str, np.ndarray]:
        """Copies of what changes from call to call, for a checkpoint."""
        return {"control.memory": self.now.memory.copy(), "control.called": self.clock.called.copy()}

    def take(self, arrays: Any) -> None:
        """Go back to what `arrays` returned."""
        self.now.memory[:], self.clock.called[:] = arrays["control.memory"], arrays["control.called"]

    def called(self, serve: Kernel, *given: Any) -> int:
        """Call the law by `serve`, in Python or as machine code; CONTROL_FAILED where it raises.

        Then its memory is that before the call.
        """
        self.error = None
        if not self.plain:
            return int(serve.compiled(*given))
        try:
            return int(serve.py_func(*given))
        except Exception as problem:
            self.now.memory[:], self.error = self.clock.before, problem
            return CONTROL_FAILED


def memory_of(law: ControlLaw) -> Array:
    """Memory for the first call of a law; at least one number, so that the array has one type everywhere."""
    return np.array([*law.memory] or [0.0])


def steps_between(rate: float | None, dt: float) -> int:
    """Steps between two calls; ValueError where they are no whole number."""
    if rate is None:
        return 1
    often = real_number(rate, "rate")
    apart = round(1.0 / (often * dt)) if often > 0.0 else 0
    if apart < 1 or abs(apart * dt * often - 1.0) > 1e-6:
        raise ValueError(f"rate must leave a whole number of steps of {dt:g} s between two calls, got {rate!r}.")
    return apart


def _called(function: Callable[[Any], object], now: Any) -> int:
    function(now)
    return 0


def _python(law: ControlLaw) -> Callable[[Any], object]:
    """The law as plain Python, with the sines and powers of kernels where it is one."""
    function: Any = law.function
    if law.compiled or not isinstance(getattr(function, "python", function), FunctionType):
        return function
    return (function if isinstance(function, Kernel) else Kernel(function)).py_func


def _address(law: ControlLaw, now: Any) -> tuple[int, str]:
    """Address of the machine code of a law, or 0 and why there is none; 0 alone where none is wanted."""
    if not law.compiled:
        return 0, ""
    found: Any = getattr(law.function, "python", getattr(law.function, "py_func", law.function))
    if not isinstance(found, FunctionType):
        return 0, f"it is an object of type {type(found).__name__}, not a function."
    own = Kernel(found, inline=True)
    try:
        return Kernel(_with_lengths(own, now)).address(now), ""
    except KernelError as problem:
        return 0, str(problem)


def _with_lengths(own: Kernel, now: Any) -> Callable[[Any], int]:
    """A law whose arrays have lengths that the translator knows.

    So a number in the law's text that is outside its array is refused with its line, and an index that is computed
    fails the call.  Machine code would read or write whatever lies there.
    """
    n_q, n_u, n_memory = len(now.q), len(now.u), len(now.memory)
    if isinstance(now, MechanismNow):
        n_p, n, n_inputs = len(now.p), len(now.impulse), len(now.inputs)

        def of_mechanism(now: Any) -> int:
            inputs, memory = now.inputs[:n_inputs], now.memory[:n_memory]
            watch()
            own(MechanismNow(now.t, now.q[:n_q], now.u[:n_u], now.p[:n_p], now.impulse[:n], inputs, memory))
            if strayed():
                now.memory[0] = math.nan  # which fails the call
            return 0

        return of_mechanism
    joints, (bodies, wide) = len(now.coordinate), now.force.shape

    def of_scene(now: Any) -> int:
        x, v, torque = now.coordinate[:joints], now.speed[:joints], now.torque[:joints]
        target, speed, force = now.target[:joints], now.motor_speed[:joints], now.force[:bodies, :wide]
        watch()
        own(SceneNow(now.t, now.q[:n_q], now.u[:n_u], x, v, torque, target, speed, force, now.memory[:n_memory]))
        if strayed():
            now.memory[0] = math.nan  # which fails the call
        return 0

    return of_scene
