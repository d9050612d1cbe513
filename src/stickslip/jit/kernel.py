"""`@kernel`: a function of the language, callable as plain Python and as machine code."""

from __future__ import annotations

import ctypes
import functools
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, overload

import numpy as np

from stickslip.jit import addresses, memory, native, objects, passing, syntax, translate, translations, units
from stickslip.jit.errors import KernelError
from stickslip.jit.handing import Results
from stickslip.jit.making import making
from stickslip.jit.plain import plain as of_python
from stickslip.jit.tiers import Tiers
from stickslip.jit.translate import Body, Program
from stickslip.jit.units import ENTRY
from stickslip.jit.values import ELEMENTS, REGISTER, Bundle, Constant, Scalar, Value, View
from stickslip.jit.writer import Writer


class Kernel:
    """A function of the kernel language.

    Called, it runs as plain Python.  `compiled(...)` runs it as machine code, which is made at the first call with
    arguments of new types.

    Attributes
    ----------
    python : the function itself.
    inline : its text is written in place of its calls by other kernels.
    reorder_sums : sums in it may be reordered: faster, and with other roundings on other machines.
    apart : it has machine code of its own, which all its callers share.
    """

    short_loops = False
    """Loops in it turn a few times, even where the translator does not know how often: copies of their bodies pay."""
    without_calls = False
    """On a card, all that it calls and that may be written in place is."""
    contained = False
    """Though written in place on a card, it is a function on the CPU, which works on copies of its arrays."""
    quick_first = False
    """Its machine code is made quickly at first, and optimised as soon as that pays: see `tiers`."""
    long_work = False
    """Its machine code is optimised at once."""

    def __init__(
        self, python: Callable[..., Any], inline: bool = False, reorder_sums: bool = False, apart: bool = False
    ) -> None:
        functools.update_wrapper(self, python)
        self.python, self.inline, self.reorder_sums, self.apart = python, inline, reorder_sums, apart
        self._versions: dict[Any, Version] = {}
        self._last: Callable[..., Any] = _none_yet
        self._plain: Callable[..., Any] | None = None
        self._lock = threading.Lock()

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.py_func(*args, **named)

    @property
    def py_func(self) -> Callable[..., Any]:
        """The function as plain Python, with the bits of machine code: see `plain`."""
        if self._plain is None:
            self._plain = of_python(self.python)
        return self._plain

    def __reduce__(self) -> str:
        return self.python.__qualname__

    def compiled(self, *args: Any) -> Any:
        """Run the machine code for arguments of these types; make it first where it is not there yet."""
        found = self._last(*args)
        if found is not NotImplemented:
            return found
        given = tuple(map(plain, args))
        return self.version(*given)(*given)

    def version(self, *args: Any) -> Callable[..., Any]:
        """The function of machine code for arguments of these types; it returns NotImplemented for other types."""
        key = tuple(map(signature, args))
        made = self._versions.get(key)
        if made is None:
            with self._lock:
                made = self._versions.get(key)
                if made is None:
                    made = self._versions[key] = self._make(args)
        self._last = made.call
        return made.call

    def expect_long_work(self) -> None:
        """Run optimised machine code from now on, and make it before the next call where it is not there yet."""
        if not self.long_work:
            self.long_work = True
            for version in list(self._versions.values()):
                version.optimise()
            self._last = _none_yet

    @property
    def signatures(self) -> list[Any]:
        """Combinations of argument types that there is machine code for."""
        return list(self._versions)

    def text(self, *args: Any) -> str:
        """LLVM IR for arguments of these types."""
        return self.translated(args).program.module.text()

    def _make(self, args: tuple[Any, ...]) -> Version:
        with making():
            return NativeVersion(self, args) if native.usable() else SlotVersion(self, args)

    def translated(self, args: tuple[Any, ...], program: Program | None = None) -> Translated:
        """Text for arguments that lie in one block of memory: for `SlotVersion` and browsers, and to be read."""
        program = Program(self.short_loops) if program is None else program
        writer = Writer(program.module)
        slots = _Slots(writer)
        values = tuple(slots.take(argument) for argument in args)
        results = _run(self, program, writer, values)
        slots.give(results)
        writer.do("ret void")
        writer.define(f"void @{ENTRY}(ptr %slots)")
        return Translated(program, slots.layout, results)

    def address(self, *args: Any) -> int:
        """Address of machine code that `call_address` calls with arguments of these types."""
        writer = Writer(Program().module)
        values = (_Slots(writer).take(plain(argument)) for argument in args)
        with making():
            address = translate.unit_of(self, tuple(map(passing.by_address, values))).address()
        addresses.known[address] = self.python
        return address


def _none_yet(*args: Any) -> Any:
    return NotImplemented


class Entry(Kernel):
    """A kernel that Python calls as machine code: `entry(...)` is `entry.compiled(...)`."""

    quick_first = True

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.compiled(*args, **named)


@overload
def kernel(function: Callable[..., Any]) -> Kernel: ...


@overload
def kernel(
    *, inline: bool = False, reorder_sums: bool = False, apart: bool = False
) -> Callable[[Callable[..., Any]], Kernel]: ...


def kernel(
    function: Callable[..., Any] | None = None, *, inline: bool = False, reorder_sums: bool = False, apart: bool = False
) -> Any:
    """Mark a function as one of the kernel language.

    inline : write its text in place of its calls, where small functions share arrays, tuples and constants.
    reorder_sums : let the compiler reorder sums: only where no result depends on their rounding.
    apart : give it machine code of its own, built once for all its callers: larger functions.
    """
    if function is None:
        return functools.partial(Kernel, inline=inline, reorder_sums=reorder_sums, apart=apart)
    return Kernel(function, inline, reorder_sums, apart)


@overload
def entry(function: Callable[..., Any]) -> Entry: ...


@overload
def entry(
    *, inline: bool = False, reorder_sums: bool = False, apart: bool = False, long_work: bool = False
) -> Callable[[Callable[..., Any]], Entry]: ...


def entry(
    function: Callable[..., Any] | None = None,
    *,
    inline: bool = False,
    reorder_sums: bool = False,
    apart: bool = False,
    long_work: bool = False,
) -> Any:
    """Mark a function of the kernel language that Python calls as machine code; options as of `kernel`.

    apart : kernels that call it share its machine code with Python.
    long_work : a single call may last for seconds: its machine code is optimised before the first one.
    """

    def made(function: Callable[..., Any]) -> Entry:
        found = Entry(function, inline, reorder_sums, apart)
        found.long_work = long_work
        return found

    return made if function is None else made(function)


@dataclass(frozen=True)
class Translated:
    """Text of a kernel whose arguments lie in one block of memory: see `SlotVersion`."""

    program: Program
    layout: list[str]
    results: Results


def _run(kernel: Kernel, program: Program, writer: Writer, values: tuple[Value, ...]) -> Results:
    """Write a kernel, or the call of its unit, into a function that Python calls."""
    body = Body(program, writer)
    result = body.outermost(kernel, values)
    source = syntax.read(kernel.python)
    try:
        return Results(writer, result, body.heap, kernel.python.__name__)
    except KernelError as problem:
        raise KernelError(problem.rule, source.place(source.tree)) from None


class Version(Protocol):
    """Machine code of a kernel for one combination of argument types."""

    @property
    def call(self) -> Callable[..., Any]:
        """Runs the code; returns NotImplemented for arguments of other types."""

    def optimise(self) -> None:
        """Replace code that was made quickly."""


class NativeVersion:
    """Machine code that Python calls as a C function of its own: see `native`."""

    def __init__(self, kernel: Kernel, args: tuple[Any, ...]) -> None:
        self._name, at_once = kernel.python.__name__, not kernel.quick_first or kernel.long_work
        self._results: Results | None = None  # where they are more than plain numbers
        native.make_known()
        found, objects_known, file = None, native.objects_in(args), ""
        if translations.is_kept(kernel.python):
            file = translations.file_of(kernel.python, str(kernel.short_loops), args)
            found = translations.read(file, not at_once)
        if found is None or not objects_known.keys() >= set(found.names):
            found = self._translated(kernel, args, not at_once)
            if file and self._results is None:
                translations.write(file, found)
        self._units, self._kept = found.needs, {name: objects_known[name] for name in found.names}
        self._tiers = Tiers(found.text, self._units, self._loaded, at_once)

    def _translated(self, kernel: Kernel, args: tuple[Any, ...], soon: bool) -> translations.Text:
        program = Program(kernel.short_loops, soon=soon)
        writer = Writer(program.module)
        other = writer.label()
        reader = native.Reader(writer, other)
        reader.require(writer.value(f"icmp eq i64 %count, {len(args)}"))
        values = tuple(reader.argument(reader.field("%arguments", 8 * k), sample) for k, sample in enumerate(args))
        thread = reader.call("PyEval_SaveThread")
        results = _run(kernel, program, writer, values)
        reader.call("PyEval_RestoreThread", thread)
        writer.do(f"ret ptr {reader.result(results.numbers, results.is_tuple or not results.is_plain)}")
        writer.ended = True
        writer.begin(other)
        reader.call("Py_IncRef", reader.address(NotImplemented))
        writer.do(f"ret ptr {reader.address(NotImplemented)}")
        writer.define(f"ptr @{ENTRY}(ptr %self, ptr %arguments, i64 %count)")
        self._results = None if results.is_plain else results
        return translations.Text(program.module.text(), tuple(reader.objects), tuple(program.units.values()))

    def _loaded(self, code: bytes, soon: bool) -> Callable[..., Any]:
        """Python function of machine code; what the code names is kept as long as this version."""
        native.make_objects_known(self._kept)
        function = native.function_at(units.load(code, self._units, soon), self._name)
        return function if self._results is None else _with_arrays(function, self._results)

    @property
    def call(self) -> Callable[..., Any]:
        return self._tiers.best

    def optimise(self) -> None:
        self._tiers.optimise()


def _with_arrays(function: Callable[..., Any], results: Results) -> Callable[..., Any]:
    """A function of machine code whose results are more than plain numbers."""

    def call(*args: Any) -> Any:
        found = function(*args)
        return found if found is NotImplemented else results.python(found)

    return call


class SlotVersion:
    """Machine code with arguments and results in one block of memory, eight bytes each, called by ctypes.

    An array is its address, its lengths and, where it has gaps, its strides.
    """

    def __init__(self, kernel: Kernel, args: tuple[Any, ...]) -> None:
        translated = kernel.translated(args)
        results = translated.results
        code = objects.built(translated.program.module.text())
        address = units.load(code, translated.program.units.values(), False)
        self._run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)
        self._pack = struct.Struct("=" + "".join(translated.layout))
        self._unpack = struct.Struct("=" + "".join("d" if kind == "float" else "q" for kind, _ in results.numbers))
        self._results = results
        self._signature = tuple(map(signature, args))

    def call(self, *args: Any) -> Any:
        args = tuple(map(plain, args))
        if tuple(map(signature, args)) != self._signature:
            return NotImplemented
        room = ctypes.create_string_buffer(max(8, self._pack.size + self._unpack.size))
        values: list[Any] = []
        for argument in args:
            _flatten(argument, values)
        self._pack.pack_into(room, 0, *values)
        self._run(room)
        found = self._unpack.unpack_from(room, self._pack.size)
        kinds = (kind for kind, _ in self._results.numbers)
        return self._results.python(bool(x) if kind == "bool" else x for x, kind in zip(found, kinds, strict=True))

    def optimise(self) -> None:
        """Its code is optimised from the first."""


_TYPES: dict[np.dtype[Any], np.dtype[Any]] = {}
"""One object for each type of records: machine code tells types by their addresses."""


def plain(argument: Any) -> Any:
    """An argument as one of the types that machine code knows: subclasses and narrow numbers become plain ones."""
    if isinstance(argument, np.ndarray):
        if not argument.flags.aligned:
            raise KernelError("an array must lie at addresses that are multiples of its numbers' size: give a copy.")
        known = _TYPES.setdefault(argument.dtype, argument.dtype)
        return argument.view(np.ndarray) if known is argument.dtype else argument.view(known, np.ndarray)
    if isinstance(argument, (bool, np.bool_)):
        return bool(argument)
    if isinstance(argument, (int, np.integer)):
        if not -(2**63) <= argument < 2**63:
            raise KernelError(f"whole numbers have 64 bits, got {argument}.")
        return int(argument)
    if isinstance(argument, (float, np.floating)):
        return float(argument)
    if isinstance(argument, tuple):
        items = map(plain, argument)
        return type(argument)(*items) if hasattr(argument, "_fields") else tuple(items)
    return argument


def signature(argument: Any) -> Any:
    """Type of an argument, as far as machine code depends on it."""
    if isinstance(argument, np.ndarray):
        if argument.dtype.fields is None and argument.dtype not in ELEMENTS:
            raise KernelError(f"arrays of {argument.dtype} are not in the language.")
        return (argument.dtype, argument.ndim, argument.flags.c_contiguous, argument.flags.writeable)
    if isinstance(argument, (bool, np.bool_)):
        return "bool"
    if isinstance(argument, (int, np.integer)):
        return "int"
    if isinstance(argument, (float, np.floating)):
        return "float"
    if argument is None:
        return None
    if isinstance(argument, tuple):
        return (type(argument), tuple(map(signature, argument)))
    raise KernelError(f"a kernel takes numbers, arrays, tuples of them and None, got {type(argument).__name__}.")


def _flatten(argument: Any, values: list[Any]) -> None:
    """Append what the block of arguments holds of one."""
    if isinstance(argument, np.ndarray):
        values.append(argument.ctypes.data)
        values.extend(argument.shape)
        if not argument.flags.c_contiguous:
            values.extend(argument.strides)
    elif isinstance(argument, tuple):
        for item in argument:
            _flatten(item, values)
    elif argument is not None:
        values.append(argument)


class _Slots:
    """Reads arguments from the block of memory of a call, and writes results behind them."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.layout: list[str] = []

    def place(self, code: str) -> str:
        self.layout.append(code)
        return memory.offset(self.writer, "%slots", 8 * (len(self.layout) - 1))

    def number(self, type_: str, code: str) -> str:
        return self.writer.value(f"load {type_}, ptr {self.place(code)}, align 8")

    def take(self, argument: Any) -> Value:
        """Value of an argument."""
        kind = signature(argument)
        if kind is None:
            return Constant(None)
        if kind == "float":
            return Scalar("float", self.number("double", "d"))
        if kind == "int":
            return Scalar("int", self.number("i64", "q"))
        if kind == "bool":
            return Scalar("bool", self.writer.value(f"icmp ne i64 {self.number('i64', 'q')}, 0"))
        if isinstance(argument, tuple):
            names = getattr(type(argument), "_fields", ())
            return Bundle(tuple(self.take(item) for item in argument), tuple(names))
        pointer = self.number("ptr", "q")
        dims = tuple(self.number("i64", "q") for _ in argument.shape)
        if argument.flags.c_contiguous:
            strides = memory.packed_strides(self.writer, dims, argument.itemsize)
        else:
            strides = tuple(self.number("i64", "q") for _ in argument.shape)
        return View(argument.dtype, pointer, dims, strides, not argument.flags.writeable, argument.flags.c_contiguous)

    def give(self, results: Results) -> None:
        """Write the results behind the arguments."""
        base = len(self.layout)
        for k, (kind, register) in enumerate(results.numbers):
            number, type_ = register, REGISTER[kind]
            if kind == "bool":
                number, type_ = self.writer.value(f"zext i1 {number} to i64"), "i64"
            place = memory.offset(self.writer, "%slots", 8 * (base + k))
            self.writer.do(f"store {type_} {number}, ptr {place}, align 8")
