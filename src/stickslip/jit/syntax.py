"""Source of a kernel: its syntax tree, its names, and a check that every construct is in the language."""

from __future__ import annotations

import ast
import functools
import linecache
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stickslip.jit.errors import KernelError

REFUSED: dict[type[ast.AST], str] = {
    ast.Assert: "`assert` is not in the language: return a code that the caller can tell",
    ast.Raise: "`raise` is not in the language: return a code that the caller can tell",
    ast.Try: "`try` is not in the language: nothing in a kernel raises, ask by `if`",
    ast.TryStar: "`try` is not in the language: nothing in a kernel raises, ask by `if`",
    ast.With: "`with` is not in the language",
    ast.Lambda: "`lambda` is not in the language: write a kernel",
    ast.ClassDef: "a class cannot be defined in a kernel",
    ast.FunctionDef: "a function cannot be defined in a kernel: write a kernel beside it",
    ast.AsyncFunctionDef: "a function cannot be defined in a kernel: write a kernel beside it",
    ast.ListComp: "a comprehension is not in the language: write a loop",
    ast.SetComp: "a comprehension is not in the language: write a loop",
    ast.DictComp: "a comprehension is not in the language: write a loop",
    ast.GeneratorExp: "a generator is not in the language: write a loop",
    ast.Dict: "a dictionary is not in the language: take a tuple with names (NamedTuple)",
    ast.Set: "a set is not in the language",
    ast.JoinedStr: "text is not in the language",
    ast.Yield: "`yield` is not in the language",
    ast.YieldFrom: "`yield` is not in the language",
    ast.Await: "`await` is not in the language",
    ast.Global: "`global` is not in the language: pass an array and write to it",
    ast.Nonlocal: "`nonlocal` is not in the language: pass an array and write to it",
    ast.Import: "`import` belongs at the top of the module",
    ast.ImportFrom: "`import` belongs at the top of the module",
    ast.Delete: "`del` is not in the language",
    ast.NamedExpr: "`:=` is not in the language: write two statements",
    ast.Match: "`match` is not in the language: write if",
    ast.MatMult: "the operator @ is not in the language: write a loop",
}
"""Constructs of Python that a kernel cannot have, with what helps."""
LATER = {"TypeAlias": "`type` belongs at the top of the module", "TemplateStr": "text is not in the language"}
"""Likewise, of Pythons newer than the oldest one that this package runs on."""
REFUSED.update((getattr(ast, name), rule) for name, rule in LATER.items() if hasattr(ast, name))


@dataclass(frozen=True)
class Source:
    """A kernel as it is written."""

    function: Callable[..., Any]
    tree: ast.FunctionDef
    file: str
    lines: tuple[str, ...]  # of the file
    parameters: tuple[str, ...]
    stores: Counter[str]  # how often each name is assigned
    single: set[str]  # names assigned once, in the body itself and in no branch or loop
    returns: list[ast.Return]
    loads: set[str]  # names that are read, by `name += value`, too

    def place(self, node: ast.AST | None) -> str:
        """File, line and text of a place in the source."""
        line = getattr(node, "lineno", 1)
        text = self.lines[line - 1].strip() if line <= len(self.lines) else ""
        return f"{self.file}:{line}: `{text}`"


class Written:
    """The text of a module that a program has written: the `__loader__` of that module.

    Its kernels are read from here and its tracebacks show it, whatever becomes of the file that is called so.
    """

    def __init__(self, text: str) -> None:
        self._packed = zlib.compress(text.encode(), 1)  # some 20 kB of 200 kB, for as long as the module lives

    def get_source(self, name: str) -> str:
        """The text, by the name that Python gives to the method."""
        return zlib.decompress(self._packed).decode()


def _lines(function: Callable[..., Any]) -> tuple[str, ...]:
    """The lines of the module of a function."""
    loader = function.__globals__.get("__loader__")
    if isinstance(loader, Written):
        return tuple(loader.get_source("").splitlines(keepends=True))
    file = function.__code__.co_filename
    linecache.checkcache(file)
    return tuple(linecache.getlines(file, function.__globals__))


@functools.lru_cache(maxsize=1024)
def read(function: Callable[..., Any]) -> Source:
    """Read and check the source of a function; see `forget`."""
    try:
        file = function.__code__.co_filename
        lines = _shared(_lines(function))
        if function.__name__ == "<lambda>":
            tree: ast.FunctionDef = _lambda(function, "".join(lines))
        else:
            tree = _functions("".join(lines))[function.__code__.co_firstlineno]
            if tree.name != function.__name__:
                raise OSError("another file by now")
    except (AttributeError, OSError, SyntaxError, KeyError):
        raise KernelError(f"the source of {function.__name__!r} is not there: kernels are written in files.") from None
    top = Counter(name for statement in tree.body for name in _targets(statement))
    source = Source(
        function,
        tree,
        file,
        lines,
        tuple(argument.arg for argument in tree.args.args),
        Counter(),
        set(),
        [],
        set(),
    )
    _Survey(source)
    source.single.update(name for name, count in source.stores.items() if count == 1 and top[name] == 1)
    return source


def forget() -> None:
    """Let go of all trees and texts: of one stepper of one system some 13 MB, of which machine code needs nothing.

    They are read again where a kernel is made for arguments of other types.
    """
    for kept in (read, parsed, _functions, _shared):
        kept.cache_clear()
    for file, entry in list(linecache.cache.items()):
        if len(entry) > 1 and entry[1] is not None:  # it has a time: it lies in a file, and can be read again
            del linecache.cache[file]


@functools.lru_cache(maxsize=64)
def _shared(lines: tuple[str, ...]) -> tuple[str, ...]:
    """The lines of a file, once for all its functions."""
    return lines


@functools.lru_cache(maxsize=2)
def parsed(text: str) -> ast.Module:
    """Syntax tree of a module's text; who makes a module of kernels asks for it first, and none is parsed twice."""
    return ast.parse(text)


@functools.lru_cache(maxsize=32)
def _functions(text: str) -> dict[int, ast.FunctionDef]:
    """Functions of a module's text, by the line in which each begins, its decorators with it."""
    found: dict[int, ast.FunctionDef] = {}
    blocks: list[ast.AST] = [parsed(text)]
    while blocks:
        for statement in ast.iter_child_nodes(blocks.pop()):
            if isinstance(statement, ast.FunctionDef):
                found[min([statement.lineno, *(mark.lineno for mark in statement.decorator_list)])] = statement
            if isinstance(statement, (ast.stmt, ast.ExceptHandler)) and hasattr(statement, "body"):
                blocks.append(statement)
    return found


def _lambda(function: Callable[..., Any], text: str) -> ast.FunctionDef:
    """A `lambda` as a function with one `return`; `text` is that of its file.

    Several may stand in one line: the one is taken that all instructions of the function come from.
    """
    code = function.__code__
    places = [(line, column) for line, _, column, _ in code.co_positions() if line and column]
    found = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Lambda)
        and tuple(argument.arg for argument in node.args.args) == code.co_varnames[: code.co_argcount]
        and all(
            (node.body.lineno, node.body.col_offset)
            <= place
            < (node.body.end_lineno or 0, node.body.end_col_offset or 0)
            for place in places
        )
    ]
    if not found:
        raise OSError("another file by now")
    node = min(found, key=lambda one: ((one.end_lineno or 0) - one.lineno, (one.end_col_offset or 0) - one.col_offset))
    tree = ast.parse("def nameless(): return 0").body[0]
    assert isinstance(tree, ast.FunctionDef)
    tree.args, tree.body = node.args, [ast.copy_location(ast.Return(node.body), node.body)]
    return ast.copy_location(tree, node)


def _targets(statement: ast.stmt) -> list[str]:
    """Names that a statement of the body itself assigns."""
    if isinstance(statement, ast.Assign):
        targets: list[ast.expr] = list(statement.targets)
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets = [statement.target]
    else:
        return []
    return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]


def stored_names(loop: ast.For | ast.While) -> set[str]:
    """Names that a loop assigns, in branches and loops inside, too."""
    found: set[str] = loop.stored  # type: ignore[union-attr]  # `_Survey` wrote it there
    return found


class _Survey:
    """One walk through a kernel: `source` gets what it assigns, reads and returns; all constructs are checked."""

    def __init__(self, source: Source) -> None:
        self.source = source
        arguments = source.tree.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs:
            raise KernelError(
                "a kernel has plain parameters: no *args, no **kwargs, none behind * or before /.",
                source.place(source.tree),
            )
        for statement in source.tree.body:
            self.visit(statement)

    def visit(self, node: ast.AST, around: ast.AST | None = None) -> set[str]:
        """Names that a part of the source assigns; `around` is the part that holds it: operators have no line."""
        kind = type(node)
        rule = REFUSED.get(kind)
        if rule is not None:
            raise KernelError(f"{rule}.", self.source.place(node if hasattr(node, "lineno") else around))
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                self.source.stores[node.id] += 1
                return {node.id}
            self.source.loads.add(node.id)
            return set()
        if isinstance(node, ast.Return):
            self.source.returns.append(node)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self.source.loads.add(node.target.id)
        found: set[str] = set()
        for name in kind._fields:
            child = getattr(node, name, None)
            for part in child if isinstance(child, list) else (child,):
                if isinstance(part, ast.AST):
                    found |= self.visit(part, node)
        if isinstance(node, (ast.For, ast.While)):
            if node.orelse:
                raise KernelError("`else` of a loop is not in the language.", self.source.place(node))
            node.stored = found  # type: ignore[union-attr]
        return found
