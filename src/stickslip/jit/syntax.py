"""Source of a kernel: its syntax tree, its names, and a check that every construct is in the language."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stickslip.jit.errors import KernelError

REFUSED: dict[type[ast.AST], str] = {
    ast.Assert: "`assert` is not in the language: return a code that the caller can tell",
    ast.Raise: "`raise` is not in the language: return a code that the caller can tell",
    ast.Try: "`try` is not in the language: nothing in a kernel raises",
    ast.With: "`with` is not in the language",
    ast.Lambda: "`lambda` is not in the language: write a kernel",
    ast.ClassDef: "a class cannot be defined in a kernel",
    ast.FunctionDef: "a function cannot be defined in a kernel: write a kernel beside it",
    ast.AsyncFunctionDef: "a function cannot be defined in a kernel: write a kernel beside it",
    ast.ListComp: "a comprehension is not in the language: write a loop",
    ast.SetComp: "a comprehension is not in the language: write a loop",
    ast.DictComp: "a comprehension is not in the language: write a loop",
    ast.GeneratorExp: "a generator is not in the language: write a loop",
    ast.Dict: "a dictionary is not in the language",
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


@dataclass(frozen=True)
class Source:
    """A kernel as it is written."""

    function: Callable[..., Any]
    tree: ast.FunctionDef
    file: str
    shift: int  # line of the file in front of the first line of `tree`
    lines: tuple[str, ...]
    parameters: tuple[str, ...]
    stores: Counter[str]  # how often each name is assigned
    single: frozenset[str]  # names assigned once, in the body itself and in no branch or loop
    returns: int
    reads_blank: bool  # the name `_` is read somewhere

    def place(self, node: ast.AST) -> str:
        """File, line and text of a place in the source."""
        line = getattr(node, "lineno", 1)
        text = self.lines[line - 1].strip() if line <= len(self.lines) else ""
        return f"{self.file}:{line + self.shift}: `{text}`"


@functools.cache
def read(function: Callable[..., Any]) -> Source:
    """Read and check the source of a function."""
    try:
        if function.__name__ == "<lambda>":
            tree, text, first = _lambda(function)
        else:
            lines, first = inspect.getsourcelines(function)
            text = textwrap.dedent("".join(lines))
            tree = ast.parse(text).body[0]
    except (OSError, TypeError, SyntaxError):
        raise KernelError(f"the source of {function.__name__!r} is not there: kernels are written in files.") from None
    file = inspect.getsourcefile(function) or "?"
    if not isinstance(tree, ast.FunctionDef):
        raise KernelError(f"{file}:{first}: a kernel is a function with `def`.")
    stores = Counter(
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    top = Counter(name for statement in tree.body for name in _targets(statement))
    source = Source(
        function,
        tree,
        file,
        first - 1,
        tuple(text.splitlines()),
        tuple(argument.arg for argument in tree.args.args),
        stores,
        frozenset(name for name, count in stores.items() if count == 1 and top[name] == 1),
        sum(isinstance(node, ast.Return) for node in ast.walk(tree)),
        any(isinstance(node, ast.Name) and node.id == "_" and _is_read(node, tree) for node in ast.walk(tree)),
    )
    _check(source)
    return source


def _is_read(name: ast.Name, tree: ast.AST) -> bool:
    """Whether a place of a name reads it: by itself, or by `name += value`."""
    changed = (node.target for node in ast.walk(tree) if isinstance(node, ast.AugAssign))
    return isinstance(name.ctx, ast.Load) or any(target is name for target in changed)


def _lambda(function: Callable[..., Any]) -> tuple[ast.stmt, str, int]:
    """A `lambda` as a function with one `return`; the text of its file, and the number of that text's first line.

    Several may stand in one line: the one is taken that all instructions of the function come from.
    """
    text = "".join(inspect.findsource(function)[0])
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
    return ast.copy_location(tree, node), text, 1


def _targets(statement: ast.stmt) -> list[str]:
    """Names that a statement of the body itself assigns."""
    if isinstance(statement, ast.Assign):
        targets: list[ast.expr] = list(statement.targets)
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets = [statement.target]
    else:
        return []
    return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]


def stored_names(body: list[ast.stmt]) -> set[str]:
    """Names that statements assign, in branches and loops, too."""
    return {
        node.id
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _check(source: Source) -> None:
    arguments = source.tree.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs:
        raise KernelError("a kernel has plain parameters: no *args, **kwargs or keywords", source.place(source.tree))
    for node in ast.walk(source.tree):
        if node is source.tree:
            continue
        rule = REFUSED.get(type(node))
        if rule is not None:
            raise KernelError(f"{rule}.", source.place(node))
        if isinstance(node, (ast.For, ast.While)) and node.orelse:
            raise KernelError("`else` of a loop is not in the language.", source.place(node))
