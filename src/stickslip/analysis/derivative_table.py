"""How derivatives of a motion are shown: the derivatives at the end as a table, for terminals and for notebooks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from html import escape
from typing import Any

from stickslip import markup
from stickslip.checks import Array
from stickslip.trajectory import Trajectory

_ROWS, _COLUMNS, _DOUBTS = 26, 8, 3  # that are shown; of what is left out the number is


class DerivativeTable(ABC):
    """A result with derivatives `end` (2 f, k) of the end of a run, one column per name."""

    names: tuple[str, ...]
    end: Array
    reliable: bool
    reason: str
    trajectory: Trajectory

    @abstractmethod
    def headline(self) -> str:
        """What the derivatives are of, in one line."""

    def count(self) -> str:
        """How many quantities there are, in words."""
        return "1 quantity" if len(self.names) == 1 else f"{len(self.names)} quantities"

    def remarks(self) -> list[str]:
        """What a reader must know beside the numbers, a line each."""
        doubts = self.reason.split("; ")
        more = f"; ... {len(doubts) - _DOUBTS} more in .reason" if len(doubts) > _DOUBTS else ""
        return ["reliable" if self.reliable else f"NOT reliable: {'; '.join(doubts[:_DOUBTS])}{more}"]

    def __repr__(self) -> str:
        return self.text()

    def text(self) -> str:
        """The derivatives at the end as a table."""
        rows, left = self._rows()
        first = max(10, *(len(row[0]) for row in rows)) + 2
        wide = max(12, *(len(name) for name in self.names[:_COLUMNS])) + 2
        lines = [self.headline(), "d / d".ljust(first) + "".join(name.rjust(wide) for name in self.names[:_COLUMNS])]
        for name, *values in rows:
            lines.append(name.ljust(first) + "".join(f"{value + 0.0:{wide}.6g}" for value in values))
        return "\n".join([*lines, *left, *self.remarks()])

    def _repr_html_(self) -> str:
        rows, left = self._rows()
        table = markup.table(rows, ("d / d", *self.names[:_COLUMNS]), self.headline())
        return table + "".join(f"<p>{escape(line)}</p>" for line in (*left, *self.remarks()))

    def _rows(self) -> tuple[list[Any], list[str]]:
        """Names with their derivatives, and what is left out."""
        run = self.trajectory
        names = (*run.coordinate_names, *run.velocity_names)
        rows = [(name, *values.tolist()) for name, values in zip(names, self.end[:, :_COLUMNS], strict=True)]
        left = []
        if len(rows) > _ROWS:
            left.append(f"... {len(rows) - _ROWS} more rows in .end")
        if len(self.names) > _COLUMNS:
            left.append(f"... {len(self.names) - _COLUMNS} more quantities in .end")
        return rows[:_ROWS], left
