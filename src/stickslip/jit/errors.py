"""Errors of the translator about a kernel that is not in the language."""

from __future__ import annotations

import ast
from typing import Protocol


class Place(Protocol):
    """Something that knows file and line of a part of a source."""

    def place(self, node: ast.AST) -> str:
        """File, line and text."""


class KernelError(Exception):
    """A kernel cannot be translated: file, line and source of the place, the rule, and what helps."""

    def __init__(self, rule: str, place: str = "") -> None:
        super().__init__(f"{place}: {rule}" if place else rule)
        self.rule, self.place = rule, place

    def at(self, source: Place, node: ast.AST) -> KernelError:
        """The error with the place in the source where it was found, unless it has one already."""
        return self if self.place else KernelError(self.rule, source.place(node))
