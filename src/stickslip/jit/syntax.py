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
    ast.List: "a list is not in the language: make an array, or a tuple",
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

    def place(self, node: ast.AST) -> str:
        """File, line and text of a place in the source."""
        line = getattr(node, "lineno", 1)
        text = self.lines[line - 1].strip() if line <= len(self.lines) else ""
        return f"{self.file}:{line + self.shift}: `{text}`"


@functools.cache
def read(function: Callable[..., Any]) -> Source:
    """Read and check the source of a function."""
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise KernelError(f"the source of {function.__name__!r} is not there: kernels are written in files.") from None
    text = textwrap.dedent("".join(lines))
    tree = ast.parse(text).body[0]
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
    )
    _check(source)
    return source


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
