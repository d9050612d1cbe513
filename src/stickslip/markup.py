"""Tables of results: lines of text for terminals, HTML for notebooks, with all text escaped."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

_CELL = "padding:0.15em 0.8em 0.15em 0;text-align:left;vertical-align:top"
MOST_ROWS = 12
"""Rows of a table in a notebook; longer ones end with the number of rows that are left out."""


class Answers(list[Any]):
    """A list of answers; its text has one line for each of the first ones."""

    def __repr__(self) -> str:
        few = self[:MOST_ROWS]
        texts = (", ".join(line.strip() for line in str(answer).splitlines()) for answer in few)
        lines = [f"  {number}: {text}" for number, text in enumerate(texts)]
        left = [f"  ... {len(self) - len(few)} more"] if len(self) > len(few) else []
        return "\n".join([f"{len(self)} answer{'' if len(self) == 1 else 's'}", *lines, *left])


class Curves(ABC):
    """Quantities of one unit over time; the text has the first, least, largest and last value of each."""

    UNIT = "J"

    @abstractmethod
    def curves(self) -> Mapping[str, Any]:
        """The quantities by name, each with a value at each record."""

    def _rows(self) -> list[list[str]]:
        return [
            [name, *(shown(float(x)) for x in (values[0], values.min(), values.max(), values[-1]))]
            for name, values in self.curves().items()
            if len(values)
        ]

    def _head(self) -> list[str]:
        count = max(map(len, self.curves().values()))
        return [f"{count:,} records [{self.UNIT}]", "first", "least", "largest", "last"]

    def __repr__(self) -> str:
        return "\n".join(aligned([self._head(), *self._rows()]))

    def _repr_html_(self) -> str:
        return table(self._rows(), self._head())


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """A line for each row, with columns as wide as their longest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]


def table(rows: Iterable[Sequence[Any]], head: Sequence[str] = (), caption: str = "") -> str:
    """A table of texts and numbers as HTML."""
    lines = [f"<caption style='caption-side:top;text-align:left'>{escape(caption)}</caption>" if caption else ""]
    if head:
        lines.append(
            "<thead><tr>" + "".join(f"<th style='{_CELL}'>{escape(name)}</th>" for name in head) + "</tr></thead>"
        )
    body = "".join(
        "<tr>" + "".join(f"<td style='{_CELL}'>{escape(shown(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table>{''.join(lines)}<tbody>{body}</tbody></table>"


def columns_table(columns: dict[str, Any], count: int, caption: str = "") -> str:
    """A table with named columns as HTML, at most `MOST_ROWS` of its rows."""
    few = min(count, MOST_ROWS)
    rows = [[column[i] for column in columns.values()] for i in range(few)]
    text = table(rows, tuple(columns), caption)
    return text + (f"<p>... {count - few} more</p>" if count > few else "")


def shown(value: Any) -> str:
    """A number with six digits (0 for -0), a vector in brackets, anything else as text."""
    if hasattr(value, "ndim") and value.ndim == 1:
        return f"({', '.join(shown(x) for x in value)})"
    return f"{value + 0.0:.6g}" if isinstance(value, float) else str(value)
