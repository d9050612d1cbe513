"""From a system and a choice of stepper and solver to an imported module of compiled functions.

One Python file per combination, named by the hash of its content and of every source it depends on.  The file is for
readers: what is executed and translated is the text just made, never what lies in the folder.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import re
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from stickslip import codes
from stickslip.contact.sections import section_row
from stickslip.debug import outside
from stickslip.jit import Kernel, KernelError
from stickslip.jit.cache import remove_old_versions
from stickslip.jit.cpu import COMPILER
from stickslip.jit.sources import sources_hash
from stickslip.jit.syntax import Written
from stickslip.jit.vault import Untrusted, leave, vault
from stickslip.mechanisms.plain_functions import MUST_NOT_WRITE, read_only
from stickslip.mechanisms.system import System

SOLVER_CODES = {
    "gauss-seidel": codes.GAUSS_SEIDEL,
    "lemke": codes.LEMKE,
    "auto": codes.AUTO,
    "enumerate": codes.ENUMERATE,
    "newton": codes.NEWTON,
}
STACK_LIMIT = 12  # contacts; beyond, the arrays of the LCP go to the heap
NEED_DRIFT = ("smooth",)  # templates on acceleration level
_BEGIN, _END = "# -- model: begin\n", "# -- model: end\n"
_JOINING = threading.Lock()
_IMPORTING = threading.RLock()  # no thread sees a module of which another one has executed a part
_MODULES: WeakKeyDictionary[System, dict[Any, Any]] = WeakKeyDictionary()
"""Modules of the systems that are in use, by template, solver and options."""
_TEMPLATES = Path(__file__).parent / "templates"
_STEPPER = (
    "model", "held", "mass", "schemes", "state_laws", "impact_laws", "phases", "contacts", "direct", "pairs", "slip",
    "residual", "step", "projection", "events", "watch", "flight", "lasting", "room", "march",
)  # fmt: skip
PARTS = {
    "stepper": _STEPPER,
    "members": (*_STEPPER, "judged", "members"),
    "controlled": (*_STEPPER, "judged", "controlled"),
    "start": (*_STEPPER, "start"),
    "smooth": ("model", "held", "smooth"),
    "local": ("model", "state_laws", "local"),
}
"""The templates: names of files in `templates`, in the order in which they are joined."""
_IMPORTS = "# -- imports\n"
_MARKS = (
    _IMPORTS,
    _BEGIN,
    _END,
    *(f"# -- {part}\n" for part in sorted({name for parts in PARTS.values() for name in parts})),
)
_PIECES = re.compile(rf"^(?={'|'.join(_MARKS)})", re.MULTILINE)
"""Where a piece of a generated module begins: see `Written`."""


def constants(system: System, solver: str, options: Mapping[str, Any]) -> str:
    """The sizes and switches that a template reads as compile-time constants."""
    n = system.n_contacts
    rows = max(1, 3 * n)
    sections = section_rows(system)
    values = {
        "N_DOF": system.n_dof,
        "N_CONTACTS": n,
        "N_PARAMETERS": max(1, len(system.parameter_names)) + (2 * n + 1 if options.get("OWN_LAW") else 0),
        "N_LCP": rows,
        "N_LCP_COLUMNS": rows + 1,
        "MASS_CONSTANT": system.mass_constant,
        "DIRECTIONS_CONSTANT": system.directions_constant,
        "KINDS": system.contact_kinds or (0,),  # an empty tuple cannot be indexed, not even in a loop that never runs
        "SOLVER": SOLVER_CODES[solver],
        "SCHEME": 0,
        "PROJECTION": 0.0,
        "THETA_VALUE": 0.5,
        "LASTING": False,
        "FRICTION_LAWS": system.has_friction_laws,
        "STATE_LAWS": bool(system.state_laws),
        "SLIDING": system.sliding_codes or (0,),
        "GATED": any(system.gated),
        "GATES": system.gated or (False,),
        "N_SECTION": len(sections[0]),
        "SECTIONS": tuple(x for row in sections for x in row),
        "OWN_LAW": False,
        "LAW": 0,
        "DISSIPATIVE": False,
        "LAW_NUMBERS": len(system.parameter_names),
        "WATCHED": False,
        "SECTION": 0,
        "PLACE": 0,
        "EXTREMES": False,
        "SHARES": False,
        **{key: value for key, value in options.items() if key != "JACOBIAN"},
    }
    return "".join(f"{name} = {value!r}\n" for name, value in values.items())


def section_rows(system: System) -> list[tuple[float, ...]]:
    """The sections of the friction cones, one row of equal length per contact; NotKernels for a user's own class."""
    found = [section_row(section) for section in system.sections if len(system.spatial)] or [np.zeros(1)]
    for name, row in zip(system.contact_names, found, strict=False):
        if row is None:
            raise NotKernels(f"section of contact {name!r} is of a class without a kernel.")
    rows = [row for row in found if row is not None]
    longest = max(len(row) for row in rows)
    return [tuple(np.pad(row, (0, longest - len(row))).tolist()) for row in rows]


def module_source(system: System, template: str, solver: str, options: Mapping[str, Any] | None = None) -> str:
    """Text of the generated module; `options` are compile-time constants of the stepper.

    One of them is no constant: JACOBIAN asks for the derivatives of the forces.
    """
    head, rest = joined(PARTS[template]).split(_BEGIN)
    _, tail = rest.split(_END)
    if system.n_contacts > STACK_LIMIT:
        head = head.replace("local_array", "heap_array as local_array")
        head = head.replace("import dev\n", "import rare as dev\n")  # inlined, its loops would unroll for minutes
    options = options or {}
    model = constants(system, solver, options) + "\n\n" + system.source() + "\n\n" + system.sizes_source()
    if options.get("JACOBIAN"):
        model += "\n\n" + system.jacobian_source()
    if template in NEED_DRIFT:
        model += "\n\n" + system.drift_source()
    stamp = f"# generated for {system.name!r}; {COMPILER}, sources {sources_hash()}\n"
    return stamp + head + _BEGIN + model + _END + tail


def joined(parts: tuple[str, ...]) -> str:
    """The parts of a template as the text of one module: what they import, one name a line, then their code."""
    with _JOINING:  # Python 3.11 cannot parse in two threads at once
        return _joined(parts)


@functools.cache
def _joined(parts: tuple[str, ...]) -> str:
    imports: dict[str, None] = {}  # in order, each once
    bodies = []
    for part in parts:
        text = (_TEMPLATES / f"{part}.py").read_text(encoding="utf-8")
        lines = text.splitlines(keepends=True)
        for node in reversed(ast.parse(text).body):
            is_import = isinstance(node, ast.Import | ast.ImportFrom)
            if is_import or (isinstance(node, ast.Expr) and node.lineno == 1):  # or the docstring
                del lines[node.lineno - 1 : node.end_lineno]
            if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and not _joined_part(node, parts)):
                imports.update(dict.fromkeys(_one_by_one(node)))
        bodies.append(f"# -- {part}\n" + "".join(lines).strip("\n") + "\n")
    return _IMPORTS + "".join(sorted(imports)) + "\n" + "\n\n".join(bodies)


def _joined_part(node: ast.ImportFrom, parts: tuple[str, ...]) -> bool:
    """Whether an import is of a part whose code stands in the module itself."""
    folder, _, name = str(node.module).rpartition(".")
    return folder == "stickslip.mechanisms.templates" and name in parts


def _one_by_one(node: ast.Import | ast.ImportFrom) -> list[str]:
    """The lines of an import, a name each."""
    source = f"from {node.module} import" if isinstance(node, ast.ImportFrom) else "import"
    return [f"{source} {ast.unparse(alias)}\n" for alias in node.names]


def compiled_module(system: System, template: str, solver: str, options: Mapping[str, Any] | None = None) -> ModuleType:
    """The generated module of a system, its machine code from the cache folder where it is there already.

    Its text is written once for each system object, which never changes: a return map asks for it at every return.
    """
    modules = _MODULES.setdefault(system, {})
    key = (template, solver, *sorted((options or {}).items()))
    made: Any = modules.get(key)
    if made is None or sys.modules.get(made.__name__) is not made:
        text = module_source(system, template, solver, options)
        made = modules[key] = import_generated(system, text, f"{template}_{solver}")
    return made


def module_or_plain(system: System, template: str, solver: str) -> Any:
    """The generated module of a system, as plain Python where a user's function is no kernel; that is told once."""
    modules, key = _MODULES.setdefault(system, {}), (template, solver, "plain")
    if key in modules:
        return modules[key]
    try:
        return compiled_module(system, template, solver)
    except NotKernels as reason:
        told = f"{reason} It runs as plain Python, some hundred times slower; {WHAT_HELPS}"
        warnings.warn(told, RuntimeWarning, stacklevel=outside())
    text = module_source(system, template, solver)
    modules[key] = PlainModule(import_generated(system, text, f"{template}_{solver}_plain", kernels=False))
    return modules[key]


class PlainModule:
    """The functions of a generated module, run as plain Python."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        return found.py_func if isinstance(found, Kernel) else found


def import_generated(system: System, source: str, kind: str, kernels: bool = True) -> ModuleType:
    """Execute generated text as a module with a name of its own; `kind` makes the name readable.

    kernels : functions of users are made kernels, and checked; False: the module is to run as plain Python.
    """
    digest = hashlib.sha256(source.encode()).hexdigest()[:20]
    word = re.sub(r"\W+", "_", system.name)[:40]
    name = f"stickslip_generated_{word}_{kind.replace('-', '_')}_{digest}"
    with _IMPORTING:
        return sys.modules[name] if name in sys.modules else _executed(system, source, name, kernels)


def _pieces(source: str) -> list[str]:
    """Text of a module in pieces, of which modules of other systems share those of the template."""
    return [piece for piece in _PIECES.split(source) if piece]


def _executed(system: System, source: str, name: str, kernels: bool) -> ModuleType:
    """The module of generated text, entered among the modules of the process."""
    path = _write_once(name, source)
    module = ModuleType(name)
    module.__file__ = str(path)
    written = module.__dict__["__loader__"] = Written(*_pieces(source))
    for key, function in system.inject.items():
        module.__dict__[key] = Kernel(_written(system, key, function), inline=True) if kernels else function
    sys.modules[name] = module
    try:
        for code in written.codes(str(path)):
            exec(code, module.__dict__)
        if system.inject and kernels:
            _require_kernels(system, module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


WHAT_HELPS = "docs/kernels.md says what a kernel may do."


class NotKernels(ValueError):
    """A function that a user wrote is outside the kernel language."""


def _written(system: System, key: str, function: Any) -> Callable[..., Any]:
    """A user's function as it is written; raises for an object that is called."""
    found: Any = getattr(function, "python", getattr(function, "py_func", function))
    if not isinstance(found, FunctionType):
        raise NotKernels(
            f"{key.removeprefix('user_')} of system {system.name!r} is an object of type {type(found).__name__}, not a "
            "function: write it with def or lambda, and its numbers in parameters= or in names around it, as in "
            "def make(k): def force(q, u, t, p): ..."
        )
    return found


def _require_kernels(system: System, module: ModuleType) -> None:
    """Raise where a model function calls a user's function that cannot be translated, or that writes to the state."""
    f, n, e = system.n_dof, system.n_contacts, len(system.parameter_values)
    q, t, p, row = np.zeros(f), 0.0, np.zeros(max(1, e)), np.zeros(n)
    arguments: dict[str, tuple[Any, ...]] = {
        "mass": (q, t, p, np.zeros((f, f))),
        "force": (q, q, t, p, np.zeros(f)),
        "gap": (q, t, p, row),
        "geometry": (q, t, p, np.zeros((n, f)), np.zeros((n, f)), np.zeros((n, 2))),
        "laws": (p, row, row, row, row),
        "energy": (q, q, t, p, np.zeros(2)),
        "friction": (p, row, row),
        "laws_at": (q, t, p, (row, row), row, row, row, row),
        "friction_at": (q, t, p, row, row),
    }
    for name, given in arguments.items():
        function = module.__dict__.get(name)
        if isinstance(function, Kernel) and (system.injected_into is None or name in system.injected_into):
            try:
                function.text(*given)
            except KernelError as problem:
                raise NotKernels(f"{name} of system {system.name!r} is not in the kernel language: {problem}") from None
            try:
                function.text(*(read_only(x) if x is q or x is p else x for x in given))
            except KernelError as problem:
                raise ValueError(f"{name} of system {system.name!r} {MUST_NOT_WRITE}: {problem}") from None


def _write_once(name: str, source: str) -> Path:
    """Put the source into the user's cache folder unless it is there; where none can be had, the path is a name."""
    file, text = f"{name}.py", source.encode()
    try:
        place = vault()
        try:
            if place.read("modules", file) == text:
                return place.path / "modules" / file
        except FileNotFoundError:
            pass
        except Untrusted as reason:
            leave(place.path, str(reason))
            place = vault()
        path = place.write(text, "modules", file)
    except OSError:
        return Path(file)
    remove_old_versions()  # where the cache grows, what nobody needs any more makes room
    return path
