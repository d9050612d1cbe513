"""Progress bars: on a terminal by Rich, in a notebook as HTML, which needs no widgets."""

from __future__ import annotations

import sys
import time
from html import escape
from importlib import import_module
from typing import Any

from stickslip.debug import bar_wanted

_BETWEEN = 0.2  # seconds between two pictures of a bar in a notebook: each is a message to the browser


def in_notebook() -> bool:
    """Whether Python runs in a notebook, which shows pages and bars itself."""
    kernel = sys.modules.get("IPython")
    shell = None if kernel is None else kernel.get_ipython()
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


def new_bar(progress: Any, *, rate: bool = False) -> Any:
    """A bar that is not shown before `start`; None where none is wanted.

    progress : the option of a run: True, False, or None for bars on terminals and in notebooks
    rate : show the field `rate` of its task, and the time that is left
    """
    if in_notebook() and (progress is None or progress is True):
        return NotebookBar()
    if not bar_wanted(progress):
        return None
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not rate:
        return Progress(console=console, transient=True)
    return Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %  {task.fields[rate]}"),
        TimeRemainingColumn(), console=console, transient=True,
    )  # fmt: skip


class NotebookBar:
    """One task as a bar below its cell, with the methods of `rich.progress.Progress` that we use.

    It goes when the work is done, as a bar on a terminal does.
    """

    def __init__(self) -> None:
        self._task: dict[str, Any] = {}
        self._handle: Any = None
        self._last = 0.0

    def add_task(self, description: str, total: float | None = None, **fields: Any) -> int:
        self._task = {"description": description, "total": total, "completed": 0.0, "rate": "", **fields}
        return 0

    def update(self, task: int, **changes: Any) -> None:
        self._task.update(changes)
        if self._handle is not None and time.perf_counter() - self._last > _BETWEEN:
            self._draw(self.html())

    def advance(self, task: int, advance: float = 1.0) -> None:
        self.update(task, completed=self._task["completed"] + advance)

    def start(self) -> None:
        if self._handle is None:
            self._draw(self.html())

    def stop(self) -> None:
        if self._handle is not None:
            self._draw("")

    def html(self) -> str:
        """The bar now: words, share, rate."""
        total, done = self._task["total"], self._task["completed"]
        known = total is not None and total > 0
        share = f"value='{done:g}' max='{total:g}'" if known else ""
        words = [f"{100.0 * done / total:.0f} %" if known else "", self._task["rate"]]
        end = " ".join(escape(word) for word in words if word)
        return f"<div>{escape(self._task['description'])} <progress {share}></progress> {end}</div>"

    def _draw(self, html: str) -> None:
        shown = import_module("IPython.display")  # comes with the notebook
        self._last = time.perf_counter()
        if self._handle is None:
            self._handle = shown.display(shown.HTML(html), display_id=True)
        else:
            self._handle.update(shown.HTML(html))
