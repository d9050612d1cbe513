"""Tables of results: lines of text for terminals, HTML for notebooks, with all text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

_CELL = "padding:0.15em 0.8em 0.15em 0;text-align:left;vertical-align:top"
MOST_ROWS = 12
"""Rows of a table in a notebook; longer ones end with the number of rows that are left out."""


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
