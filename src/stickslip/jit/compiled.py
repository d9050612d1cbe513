"""The `compiled` decorator: Numba with a disk cache that belongs to the user and notices every edit of the package.

Numba's own cache looks at the file of the function alone: change a helper in another module and the caller keeps the
old machine code.  Here the cache is named by the content of all compiled sources together; a folder inside one of
theirs (complementarity/friction) is a group of its own, whose edits leave the machine code of the others alone.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import importlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from llvmlite import ir
from numba import njit
from numba.core import cgutils, event
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.targetconfig import ConfigStack, TargetConfig
from numba.core.types.functions import BaseFunction
from numba.extending import intrinsic

from stickslip.jit import Entry, functions
from stickslip.jit.vault import SEAL_LENGTH, Untrusted, cache_folder, leave, vault

PACKAGE = Path(__file__).parent
COMPILED_SOURCES = ("compiled.py", "sets.py", "complementarity", "laws", "kernels")
GROUPS_CALLED = {"kernels/scene": ("complementarity/friction",)}  # groups whose functions a group calls


class _RareCollections(event.Listener):
    """Lets Python's garbage collector run seldom while Numba compiles: many small objects, little garbage.

    Saves a tenth of the compilation for 8 MB more memory.
    """

    THRESHOLDS = (20_000, 10, 10)

    def __init__(self) -> None:
        self._depth = 0
        self._before = gc.get_threshold()

    def on_start(self, event: event.Event) -> None:
        if self._depth == 0 and gc.isenabled():
            self._before = gc.get_threshold()
            gc.set_threshold(*self.THRESHOLDS)
        self._depth += 1

    def on_end(self, event: event.Event) -> None:
        self._depth -= 1
        if self._depth == 0 and gc.get_threshold() == self.THRESHOLDS:
            gc.set_threshold(*self._before)


def _same_flags(flags: Any, other: Any) -> bool:
    """`TargetConfig.__eq__`, from the options that are set alone."""
    if type(flags) is not type(other):
        return NotImplemented
    set_here, set_there, options = flags._values, other._values, flags.options
    if set_here == set_there:
        return True
    return all(
        set_here.get(name, options[name].default) == set_there.get(name, options[name].default)
        for name in set_here.keys() | set_there.keys()
    )


def _is_never_inlined(function: BaseFunction) -> bool:
    """Whether no variant of a builtin is copied into its callers: Numba keeps the copy's code with each call."""
    options = (getattr(template, "_inline", None) for template in function.templates)
    return all(option is None or option.is_never_inline for option in options)


def _remembering(resolve: Callable[..., Any]) -> Callable[..., Any]:
    """Make `BaseFunction.get_call_type` answer a question that it was asked before from memory.

    The answer depends on the typing context, the types of the arguments and the compiler flags of the caller.  The
    memory lies outside the functions: Numba pickles those.
    """
    memory: dict[int, tuple[BaseFunction, dict[Any, list[Any]] | None]] = {}  # by id; the function stays alive

    def get_call_type(self: BaseFunction, context: Any, args: Any, kws: Any) -> Any:
        if id(self) not in memory:
            memory[id(self)] = (self, {} if _is_never_inlined(self) else None)
        answers = memory[id(self)][1]
        if kws or answers is None:
            return resolve(self, context, args, kws)
        top = ConfigStack.top_or_none()
        flags = None if top is None else top._values
        answered = answers.setdefault((context, tuple(args)), [])
        for known, signature in answered:
            if known == flags:
                return signature
        signature = resolve(self, context, args, kws)
        answered.append((None if flags is None else dict(flags), signature))
        return signature

    return get_call_type


def compile_quickly() -> None:
    """Take a third off Numba's compilation, for every function of the process.

    Numba asks some 50,000 times per kernel whether two sets of compiler flags are equal, and each time reads all forty
    options of both through properties; and it hashes the names of all options as often.  It finds the types of
    `x * y` anew at each of some 6000 places, though there are 400 kinds of them.  Same answers here.
    """
    if hasattr(TargetConfig, "_values") and hasattr(TargetConfig, "options"):
        TargetConfig.__eq__ = _same_flags
        TargetConfig.__hash__ = lambda flags: hash(type(flags).__name__)
        BaseFunction.get_call_type = _remembering(BaseFunction.get_call_type)  # type: ignore[method-assign]
    event.register("numba:compile", _RareCollections())


compile_quickly()


@functools.cache
def sources_hash(group: str = "") -> str:
    """Hash of everything that machine code in the cache was made from.

    `group` is a folder inside the package whose functions may call all others but are called by none of them, such as
    "complementarity/friction": its sources count for its own functions and those of the groups that call it.
    """
    digest = hashlib.sha256()
    for name in (*COMPILED_SOURCES, *GROUPS_CALLED.get(group, ()), *([group] if group else [])):
        path = PACKAGE / name
        for file in sorted(path.glob("*.py")) if path.is_dir() else [path]:
            if file.is_file():
                digest.update(str(file.relative_to(PACKAGE)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def source_group(file: str) -> str:
    """The group of `sources_hash` that a source file belongs to: its folder below those of `COMPILED_SOURCES`."""
    folder = Path(file).resolve().parent
    if not folder.is_relative_to(PACKAGE):
        return ""  # generated modules are named by their own hash
    relative = folder.relative_to(PACKAGE)
    return relative.as_posix() if len(relative.parts) > 1 and relative.parts[0] in COMPILED_SOURCES else ""


def present_stamps() -> set[str]:
    """The hashes under which functions of the present sources are kept: one for each group."""
    folders = {file.parent for name in COMPILED_SOURCES for file in (PACKAGE / name).rglob("*.py")}
    return {sources_hash(), *(sources_hash(source_group(str(folder / "any.py"))) for folder in folders)}


class PackageLocator(_CacheLocator):
    """Puts the machine code of a function into the user's cache folder, under the hash of the sources."""

    def __init__(self, function: Callable[..., Any], folder: Path, parts: tuple[str, ...], stamp: str) -> None:
        self._py_file = function.__code__.co_filename  # Numba names it where it warns that it cannot cache
        self._line = function.__code__.co_firstlineno
        self.asked_for = cache_folder()
        self.parts = parts
        self._folder = folder
        self._stamp = stamp

    def ensure_cache_path(self) -> None:
        """The folder is made where a file is written."""

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> PackageLocator | None:
        stamp = sources_hash(source_group(file))
        parts = ("numba", stamp, Path(file).resolve().parent.name)
        try:
            folder = vault().path.joinpath(*parts)
        except OSError:
            return None  # read-only home and the like: compile anew in every process
        return cls(function, folder, parts, stamp)


_apart: dict[str, tuple[str, str, Any]] = {}
"""Functions that stand apart, by the name of their machine code: module, name, types of the arguments."""


class _PackageCacheImpl(CompileResultCacheImpl):
    """Keeps with each function the list of those that it calls and that stand apart: they have to be loaded first."""

    _locator_classes = [PackageLocator]  # noqa: RUF012  (Numba's own attribute)

    def reduce(self, cres: Any) -> Any:
        called = {f.name for f in cres.library._final_module.functions if f.is_declaration}
        return {name: _apart[name] for name in sorted(called & _apart.keys())}, super().reduce(cres)

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        needed, payload = payload
        for module, name, arguments in needed.values():
            getattr(importlib.import_module(module), name).compile(arguments)
        if not needed.keys() <= _apart.keys():
            return None  # another process has compiled one of them anew, under another name: compile this one, too
        return super().rebuild(target_context, payload)


class _HashedFiles(IndexDataCacheFile):
    """Machine code in files named by the seal of their content, found through an index that ends with its own seal.

    Whatever is not what its seal says (a damaged disk, a process that was killed, another user) is taken for missing
    before a byte of it is unpickled.  Numba's own files are numbered: two processes that compile at the same time can
    give one number to two functions.
    """

    def __init__(self, asked_for: Path, parts: tuple[str, ...], base: str, stamp: str) -> None:
        super().__init__(str(asked_for.joinpath(*parts)), base, stamp)
        self._asked_for, self._parts, self._base = asked_for, parts, base

    def save(self, key: Any, data: Any) -> None:
        content, place = self._dump(data), vault(self._asked_for)
        name = f"{self._base}.{place.seal(self._base, content)}.nbc"
        place.write(content, *self._parts, name)
        self._save_index({**self._load_index(), key: name})  # of two at once one is lost, and compiled again

    def load(self, key: Any) -> Any:
        name = self._load_index().get(key)
        content = None if name is None else self._read(name)
        if name is None or content is None or name.split(".")[-2] != vault(self._asked_for).seal(self._base, content):
            return None
        return pickle.loads(content)

    def _load_index(self) -> dict[Any, str]:
        content = self._read(self._index_name)
        if content is None or len(content) < SEAL_LENGTH:
            return {}
        body, seal = content[:-SEAL_LENGTH], content[-SEAL_LENGTH:]
        if vault(self._asked_for).seal(self._index_name, body).encode() != seal:
            return {}
        version, stamp, overloads = pickle.loads(body)
        return dict(overloads) if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        body, place = self._dump((self._version, self._source_stamp, overloads)), vault(self._asked_for)
        place.write(body + place.seal(self._index_name, body).encode(), *self._parts, self._index_name)

    def _read(self, name: str) -> bytes | None:
        """What a file holds, or None; a file that others can or could write is the last of its folder we look at."""
        try:
            place = vault(self._asked_for)
            try:
                return place.read(*self._parts, name)
            except Untrusted as reason:
                leave(place.path, str(reason))
                vault(self._asked_for)  # tells it
                return None
        except OSError:
            return None


class SealedCache:
    """Makes a cache of Numba's, for the CPU or a card, read and write sealed files of the user alone."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[call-arg]
        locator = self._impl.locator  # type: ignore[attr-defined]
        self._cache_file = _HashedFiles(
            locator.asked_for,
            locator.parts,
            self._impl.filename_base,  # type: ignore[attr-defined]
            locator.get_source_stamp(),
        )

    def save_overload(self, signature: Any, data: Any) -> None:
        with contextlib.suppress(OSError):  # a full disk costs the next process some seconds, not this one its run
            super().save_overload(signature, data)  # type: ignore[misc]


class _PackageCache(SealedCache, FunctionCache):
    _impl_class = _PackageCacheImpl


def cached(dispatcher: Any, kind: type = _PackageCache) -> Any:
    """Give a compiled function the disk cache of the package; none where there is no folder to write to."""
    with contextlib.suppress(RuntimeError):
        dispatcher._cache = kind(dispatcher.py_func)
    return dispatcher


def _stand_apart(dispatcher: Any) -> None:
    """Let callers of a function call its machine code, as they do by default, but not link and optimise it once more.

    Numba links a copy of every callee into each caller and optimises the whole: machine code five calls below the time
    loop is made six times.
    """
    add = dispatcher.add_overload

    def add_overload(cres: Any) -> None:
        function, context = dispatcher.py_func, dispatcher.targetctx
        _apart[cres.fndesc.llvm_func_name] = (function.__module__, function.__name__, tuple(cres.signature.args))
        context.remove_user_function(cres.entry_point)
        context.insert_user_function(cres.entry_point, cres.fndesc, ())
        add(cres)

    dispatcher.add_overload = add_overload


def _keep_inside(dispatcher: Any) -> None:
    """Let Python run a function that has no wrapper as it is written, slowly: its machine code cannot be called."""

    def add_overload(cres: Any) -> None:
        dispatcher.overloads[tuple(cres.signature.args)] = cres

    dispatcher.add_overload = add_overload
    dispatcher._compile_for_args = lambda *arguments, **named: dispatcher.py_func  # which Numba's dispatcher then calls


@intrinsic
def borrowed(typing_context: Any, array: Any) -> Any:
    """The same array without a reference count, for use inside compiled functions.

    Views of it and calls with it are free of the atomic counting that takes a third of a small solve, and that threads
    wait for when they cut views from one array.  The owner must outlive it: use the owner once more afterwards.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        view.meminfo = ir.Constant(view.meminfo.type, None)
        return view._getvalue()

    return array(array), generate


functions.add(borrowed, lambda writer, arguments: arguments[0])  # kernels count no references


@intrinsic
def call_address(typing_context: Any, address: Any, result: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
    """Call the compiled function of six arguments at an address (`address_of`); `result` has the type it returns.

    Nothing is linked: the caller is compiled without the code of the callee, and may choose it at run time.  The types
    of the arguments have to be those that the address was taken for.
    """

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        convention, kinds = context.call_conv, signature.args[2:]
        pointer = convention.get_function_type(signature.return_type, kinds).as_pointer()
        function = builder.inttoptr(values[0], pointer)
        status, answer = convention.call_function(builder, function, signature.return_type, kinds, values[2:])
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return answer

    return result(address, result, a, b, c, d, e, f), generate


def address_of(dispatcher: Any, arguments: tuple[Any, ...], result: Any) -> int:
    """Address of a compiled function for arguments of these Numba types, compiled where that has not been done."""
    if arguments not in dispatcher.overloads:
        dispatcher.compile(arguments)
    overload = dispatcher.overloads[arguments]
    if overload.signature.return_type != result:
        raise TypeError(f"{dispatcher.__name__} returns {overload.signature.return_type}, not {result}.")
    return int(overload.library.get_pointer_to_function(overload.fndesc.llvm_func_name))


def from_python(dispatcher: Any) -> Entry:
    """A compiled function as Python calls it: machine code by the kernel language, made in a tenth of Numba's time."""
    options = dispatcher.targetoptions
    return Entry(dispatcher.py_func, reorder_sums=bool(options.get("fastmath")))


def compiled(
    function: Callable[..., Any] | None = None,
    *,
    parallel: bool = False,
    inline: bool = False,
    reorder_sums: bool = False,
    inside: bool = False,
    apart: bool = False,
) -> Any:
    """Compile with Numba, IEEE division (no exception on x / 0), cached on disk across processes.

    `inline` saves small functions the passing of their arrays (some 30 ns a call); `reorder_sums` lets the compiler add
    up in vectors, so that the last bits may depend on the processor.  What saves compiling: `inside`, a function that
    only compiled ones call, without the code that takes its arguments from Python (which runs it uncompiled); `apart`,
    a larger one whose callers call it instead of taking a copy of it in.
    """
    if function is None:
        return functools.partial(
            compiled, parallel=parallel, inline=inline, reorder_sums=reorder_sums, inside=inside, apart=apart
        )
    dispatcher = njit(
        error_model="numpy",
        parallel=parallel,
        nogil=True,
        no_cfunc_wrapper=True,
        no_cpython_wrapper=inside,
        forceinline=inline,
        fastmath={"reassoc"} if reorder_sums else False,
    )(function)
    if inside:
        _keep_inside(dispatcher)
    if apart:
        _stand_apart(dispatcher)
    return cached(dispatcher)
