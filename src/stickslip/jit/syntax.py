"""Source of a kernel: its syntax tree, its names, and a check that every construct is in the language."""

from __future__ import annotations

import ast
import dataclasses
import functools
import linecache
import threading
import types
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
    lines: tuple[str, ...]  # of the file, or of the part of it that the tree's numbers of lines refer to
    parameters: tuple[str, ...]
    stores: Counter[str]  # how often each name is assigned
    single: set[str]  # names assigned once, in the body itself and in no branch or loop
    returns: list[ast.Return]
    loads: set[str]  # names that are read, by `name += value`, too
    before: int = 0  # lines of the file before those

    def place(self, node: ast.AST | None) -> str:
        """File, line and text of a place in the source."""
        line = getattr(node, "lineno", 1)
        text = self.lines[line - 1].strip() if line <= len(self.lines) else ""
        return f"{self.file}:{line + self.before}: `{text}`"


class Piece:
    """A text that kernels stand in: a file, or a part of a text that a program has written.

    Generated modules share pieces: what a piece says is parsed, compiled and surveyed once in a process.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = tuple(text.splitlines(keepends=True))
        self._sources: dict[tuple[int, str], Source] = {}

    @functools.cached_property
    def tree(self) -> ast.Module:
        """Syntax tree of the text."""
        with _PARSING:
            return ast.parse(self.text)

    @functools.cached_property
    def _functions(self) -> dict[int, ast.FunctionDef]:
        """Functions by the line in which each begins, its decorators with it."""
        found: dict[int, ast.FunctionDef] = {}
        blocks: list[Any] = [self.tree]
        while blocks:
            block = blocks.pop()
            for part in ("body", "orelse", "finalbody", "handlers", "cases"):
                for statement in getattr(block, part, ()):
                    if isinstance(statement, ast.FunctionDef):
                        found[min([statement.lineno, *(mark.lineno for mark in statement.decorator_list)])] = statement
                    if hasattr(statement, "body"):
                        blocks.append(statement)
        return found

    def source(self, function: Callable[..., Any], before: int) -> Source:
        """Source of a function of this piece, before which its file has some lines."""
        place = function.__code__.co_firstlineno - before, function.__name__
        found = self._sources.get(place)
        if found is None:
            tree = self._functions[place[0]]
            if tree.name != function.__name__:
                raise OSError("another file by now")
            found = self._sources[place] = surveyed(function, tree, self.lines, before)
        file = function.__code__.co_filename
        return dataclasses.replace(found, function=function, file=file, before=before)

    def code(self, file: str, before: int) -> types.CodeType:
        """Code of the text as a part of a file, before which the file has some lines."""
        return _moved(self._code, file, before)

    @functools.cached_property
    def _code(self) -> types.CodeType:
        return compile(self.tree, "", "exec", dont_inherit=True)


_PARSING = threading.Lock()  # Python 3.11 cannot parse in two threads at once


def _moved(code: types.CodeType, file: str, lines: int) -> types.CodeType:
    """Code as it is where its text stands some lines further down, in a file."""
    constants = tuple(
        _moved(part, file, lines) if isinstance(part, types.CodeType) else part for part in code.co_consts
    )
    return code.replace(co_filename=file, co_firstlineno=code.co_firstlineno + lines, co_consts=constants)


class Written:
    """The text of a module that a program has written, in pieces: the `__loader__` of that module.

    Its kernels are read from here and its tracebacks show it, whatever becomes of the file that is called so.
    """

    def __init__(self, *pieces: str) -> None:
        self._packed = [zlib.compress(piece.encode(), 1) for piece in pieces]  # some 20 kB of 200 kB, while it lives

    def get_source(self, name: str) -> str:
        """The text, by the name that Python gives to the method."""
        return "".join(self._texts())

    def _texts(self) -> list[str]:
        return [zlib.decompress(packed).decode() for packed in self._packed]

    @property
    def pieces(self) -> list[tuple[int, Piece]]:
        """The pieces, and how many lines are before each."""
        return _pieces(self)

    def codes(self, file: str) -> list[types.CodeType]:
        """Code to be executed, piece by piece."""
        return [piece.code(file, before) for before, piece in self.pieces]


@functools.lru_cache(maxsize=16)
def _pieces(written: Written) -> list[tuple[int, Piece]]:
    found, before = [], 0
    for text in written._texts():
        found.append((before, piece_of(text)))
        before += text.count("\n")
    return found


@functools.lru_cache(maxsize=64)
def piece_of(text: str) -> Piece:
    """The piece of a text: one for all modules that it stands in."""
    return Piece(text)


@functools.lru_cache(maxsize=64)
def _piece_of_lines(lines: tuple[str, ...]) -> Piece:
    return Piece("".join(lines))


def _place_of(function: Callable[..., Any]) -> tuple[int, Piece]:
    """The piece that a function stands in, and how many lines of its file are before it."""
    loader, line = function.__globals__.get("__loader__"), function.__code__.co_firstlineno
    if isinstance(loader, Written):
        return next(found for found in reversed(loader.pieces) if found[0] < line)
    file = function.__code__.co_filename
    linecache.checkcache(file)
    return 0, _piece_of_lines(tuple(linecache.getlines(file, function.__globals__)))


@functools.lru_cache(maxsize=1024)
def read(function: Callable[..., Any]) -> Source:
    """Read and check the source of a function; see `forget`."""
    try:
        before, piece = _place_of(function)
        if function.__name__ == "<lambda>":
            return surveyed(function, _lambda(function, piece.text, before), piece.lines, before)
        return piece.source(function, before)
    except (AttributeError, OSError, SyntaxError, KeyError, StopIteration):
        raise KernelError(f"the source of {function.__name__!r} is not there: kernels are written in files.") from None


def surveyed(function: Callable[..., Any], tree: ast.FunctionDef, lines: tuple[str, ...], before: int = 0) -> Source:
    """The source of a function, checked."""
    top = Counter(name for statement in tree.body for name in _targets(statement))
    file, parameters = function.__code__.co_filename, tuple(argument.arg for argument in tree.args.args)
    source = Source(function, tree, file, lines, parameters, Counter(), set(), [], set(), before)
    _Survey(source)
    source.single.update(name for name, count in source.stores.items() if count == 1 and top[name] == 1)
    return source


def forget() -> None:
    """Let go of all trees and texts: of one stepper of one system some 13 MB, of which machine code needs nothing.

    They are read again where a kernel is made for arguments of other types.
    """
    for kept in (read, piece_of, _pieces, _piece_of_lines):
        kept.cache_clear()
    for file, entry in list(linecache.cache.items()):
        if len(entry) > 1 and entry[1] is not None:  # it has a time: it lies in a file, and can be read again
            del linecache.cache[file]


def _lambda(function: Callable[..., Any], text: str, before: int) -> ast.FunctionDef:
    """A `lambda` as a function with one `return`; `text` is that of its file from behind some lines on.

    Several may stand in one line: the one is taken that all instructions of the function come from.
    """
    code = function.__code__
    places = [(line - before, column) for line, _, column, _ in code.co_positions() if line and column]
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
        stored: set[str] = set()
        for statement in source.tree.body:
            self.visit(statement, statement, stored)

    def visit(self, node: ast.AST, around: ast.AST, stored: set[str]) -> None:
        """Add the names that a part of the source assigns; `around` is the part that holds it: operators have no line.

        It sees every node of every kernel, so it asks for types once, and for nothing of those that say nothing.
        """
        kind, source = type(node), self.source
        if kind is ast.Name:
            if type(node.ctx) is ast.Store:  # type: ignore[attr-defined]
                source.stores[node.id] += 1  # type: ignore[attr-defined]
                stored.add(node.id)  # type: ignore[attr-defined]
            else:
                source.loads.add(node.id)  # type: ignore[attr-defined]
            return
        rule = REFUSED.get(kind)
        if rule is not None:
            raise KernelError(f"{rule}.", source.place(node if hasattr(node, "lineno") else around))
        outer = stored
        if kind is ast.Return:
            source.returns.append(node)  # type: ignore[arg-type]
        elif kind is ast.AugAssign and isinstance(node.target, ast.Name):  # type: ignore[attr-defined]
            source.loads.add(node.target.id)  # type: ignore[attr-defined]
        elif kind is ast.For or kind is ast.While:
            stored = set()
        for name in kind._fields:
            child = getattr(node, name, None)
            if type(child) is list:
                for part in child:
                    if type(part) not in _SILENT:
                        self.visit(part, node, stored)
            elif type(child) not in _SILENT:
                self.visit(child, node, stored)  # type: ignore[arg-type]
        if stored is not outer:
            if node.orelse:  # type: ignore[attr-defined]
                raise KernelError("`else` of a loop is not in the language.", source.place(node))
            node.stored = stored  # type: ignore[attr-defined]
            outer |= stored


_SILENT = {
    kind
    for family in (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
    for kind in family.__subclasses__()
    if kind not in REFUSED
} | {type(None), bool, int, float, complex, str, bytes, type(...), ast.Constant}
"""Types of what stands in a syntax tree and assigns, reads and refuses nothing."""
